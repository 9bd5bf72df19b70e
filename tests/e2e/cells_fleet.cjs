// e2e/cells_fleet.cjs BIN CELLD: two nodes on one bucket. Each answers for the other's Durable Objects: calls, stubs that are
// called again, streams both ways, WebSockets; and when one is killed the other takes its objects over.
'use strict';
const { check, equal, ok, until, run } = require('./harness.cjs');
const { project, deploy, node, fresh } = require('./cells_nodes.cjs');

const ROOM = `
import { DurableObject, RpcTarget } from 'cloudflare:workers';
class Counter extends RpcTarget {
    #n = 0;
    add(n) { return (this.#n += n); }
    tell(f) { return f(this.#n); }
}
export class Room extends DurableObject {
    visit() {
        const n = (this.ctx.storage.kv.get('n') ?? 0) + 1;
        this.ctx.storage.kv.put('n', n);
        return n;
    }
    counter() { return new Counter(); }
    fail() { throw new TypeError('not here'); }
    async fetch(request) {
        if (request.headers.get('upgrade') === 'websocket') {
            const [client, server] = Object.values(new WebSocketPair());
            this.ctx.acceptWebSocket(server);
            return new Response(null, { status: 101, webSocket: client });
        }
        let left = 64, got = 0;
        for await (const chunk of request.body ?? []) got += chunk.length;
        const body = new ReadableStream({ type: 'bytes', pull(c) { left-- > 0 ? c.enqueue(new Uint8Array(16384).fill(got % 251)) : c.close(); } });
        return new Response(body, { headers: { got: String(got) } });
    }
    webSocketMessage(ws, message) { ws.send('echo ' + message); }
}
export default {
    async fetch(request, env) {
        const [, what, name] = new URL(request.url).pathname.split('/');
        const room = env.ROOM.getByName(name);
        if (what === 'visit') return Response.json(await room.visit());
        if (what === 'stub') {
            using counter = await room.counter();
            await counter.add(1);
            const told = await counter.tell((n) => 'told ' + n);
            return Response.json([await counter.add(2), told, await room.counter().add(5)]);
        }
        if (what === 'fail') return Response.json(await room.fail().catch((e) => [e.name, e.message]));
        return room.fetch(request);
    },
};`;

const talk = (port, name) =>
    new Promise((resolve, reject) => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}/socket/${name}`);
        ws.heard = [];
        ws.addEventListener('message', (e) => ws.heard.push(e.data));
        ws.addEventListener('close', (e) => (ws.code = e.code));
        ws.addEventListener('open', () => resolve(ws));
        ws.addEventListener('error', () => reject(new Error(`no socket of ${name}`)));
    });

check("two nodes answer for each other's objects, and one for all when the other is killed", async () => {
    const bucket = `file://${fresh('bucket')}`;
    const env = { CELLD_TTL_MS: '3000' };
    await deploy(project(ROOM, ['Room']), bucket);
    const [one, two] = await Promise.all(['one', 'two'].map((name) => node(bucket, { name, env }).ready()));
    equal(await one.json('/visit/a'), 1);
    equal(await two.json('/visit/b'), 1);
    equal(await two.json('/visit/a'), 2, 'a is of the other node');
    equal(await one.json('/visit/b'), 2, 'b is of the other node');
    equal(JSON.stringify(await two.json('/stub/a')), '[3,"told 1",5]');
    equal(JSON.stringify(await two.json('/fail/a')), '["TypeError","not here"]');

    const sent = Buffer.alloc(3 << 20, 7);
    const answer = await fetch(`http://127.0.0.1:${two.port}/stream/a`, { method: 'POST', body: sent });
    equal(answer.headers.get('got'), String(sent.length));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    equal(bytes.length, 64 * 16384);
    ok(bytes.every((b) => b === sent.length % 251), 'the stream is whole');

    const ws = await talk(two.port, 'a');
    ws.send('hello');
    await until(() => ws.heard.length === 1, 'an echo over both nodes');
    equal(ws.heard[0], 'echo hello');

    await one.kill();
    await until(() => ws.code !== undefined, 'the socket of the killed node is closed');
    equal(ws.code, 1012);
    equal(await two.json('/visit/a', { ms: 20000 }), 3, 'a after the takeover');
    equal(await two.json('/visit/b'), 3);
    two.child.kill('SIGTERM');
    equal(await two.exited, 0, two.stderr);
}, 90);

run();
