// What tools/bench cells measures. The name of the object is the second part of the path:
//   /noop/NAME    an RPC call that does nothing      /sql/NAME     one INSERT and one SELECT, by fetch()
//   /count/NAME   RPC; reads, adds one, writes       /echo/NAME    a WebSocket that may hibernate
import { DurableObject } from 'cloudflare:workers';

export class Counter extends DurableObject {
    noop() {
        return 0;
    }
    async count() {
        const n = ((await this.ctx.storage.get('n')) ?? 0) + 1;
        await this.ctx.storage.put('n', n);
        return n;
    }
}

export class Table extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        this.sql = ctx.storage.sql;
        this.sql.exec('CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY, at INTEGER, url TEXT)');
    }
    fetch(request) {
        this.sql.exec('INSERT INTO visits (at, url) VALUES (?, ?)', Date.now(), request.url);
        return Response.json(this.sql.exec('SELECT id, at, url FROM visits ORDER BY id DESC LIMIT 1').one());
    }
}

export class Echo extends DurableObject {
    fetch() {
        const { 0: client, 1: server } = new WebSocketPair();
        this.ctx.acceptWebSocket(server);
        return new Response(null, { status: 101, webSocket: client });
    }
    webSocketMessage(socket, message) {
        socket.send(message);
    }
    webSocketClose(socket) {
        socket.close();
    }
}

const named = (namespace, name) => namespace.get(namespace.idFromName(name));

export default {
    async fetch(request, env) {
        const [, what, name] = new URL(request.url).pathname.split('/');
        switch (what) {
            case 'noop':
                return new Response(String(await named(env.COUNTER, name).noop()));
            case 'count':
                return new Response(String(await named(env.COUNTER, name).count()));
            case 'sql':
                return named(env.TABLE, name).fetch(request);
            case 'echo':
                return named(env.ECHO, name).fetch(request);
            default:
                return new Response('ready');
        }
    },
};
