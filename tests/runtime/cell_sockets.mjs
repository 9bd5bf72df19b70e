// cell_sockets.mjs: a Worker that answers with the sockets of a Durable Object, for tests/e2e/cell_sockets.cjs.
import { DurableObject } from 'cloudflare:workers';

export class Room extends DurableObject {
    seen = [];
    async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/seen') return Response.json(this.seen);
        const [client, server] = Object.values(new WebSocketPair());
        server.accept();
        server.send('welcome');
        server.addEventListener('message', ({ data }) => {
            if (data === 'hold') this.ctx.blockConcurrencyWhile(() => scheduler.wait(500));
            else if (data === 'close') server.close(4001, 'as asked');
            else if (data === 'reset') this.ctx.abort('reset');
            else if (data === 'much') for (let i = 0; i < 50; i++) server.send(new Uint8Array(100000).fill(i));
            else server.send(data);
        });
        server.addEventListener('close', ({ code, reason, wasClean }) => {
            this.seen.push([code, reason, wasClean]);
        });
        return new Response(null, { status: 101, webSocket: client, headers: { 'Sec-WebSocket-Protocol': 'two' } });
    }
}

export default {
    fetch(request, env) {
        return env.ROOM.getByName('room').fetch(request);
    },
};
