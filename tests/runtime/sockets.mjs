// A Worker for e2e/sockets.cjs: WebSockets over the wire. It serves sockets, and its test() opens some to env.ORIGIN.
import { equal, ok, rejects, run, same, test } from 'harness.js';

const seen = [];

function accept(request) {
    const { pathname } = new URL(request.url);
    const [client, server] = new WebSocketPair();
    if (pathname === '/late') {
        server.accept({ allowHalfOpen: true });
        setTimeout(() => server.close(4001, 'late'), 50);
    } else server.accept();
    if (pathname === '/greet') server.send('hello');
    server.addEventListener('message', ({ data }) => {
        if (data === 'throw') throw new Error('thrown by a listener');
        if (data === 'close') return server.close(4000, 'asked');
        if (data === 'async') return void scheduler.wait(5).then(() => server.send('later'));
        server.send(data);
    });
    server.addEventListener('close', (e) => seen.push([pathname, e.code, e.reason, e.wasClean, server.readyState]));
    server.addEventListener('error', (e) => seen.push([pathname, 'error', e.message]));
    const headers = { 'x-mine': 'yes' };
    if (pathname === '/protocol') headers['Sec-WebSocket-Protocol'] = 'two';
    return new Response(null, { status: 101, webSocket: client, headers });
}

async function proxy(request, env) {
    const response = await fetch(env.ORIGIN.replace('ws:', 'http:'), request);
    return new Response(null, { status: 101, webSocket: response.webSocket });
}

// Opens a socket to this Worker itself and says what came back.
async function mine(request, ctx) {
    const { webSocket } = await ctx.exports.default.fetch('http://inside/greet', { headers: { Upgrade: 'websocket' } });
    webSocket.accept();
    const heard = [];
    webSocket.addEventListener('message', (e) => heard.push(e.data));
    webSocket.send('one');
    while (heard.length < 2) await next(webSocket, 'message');
    webSocket.close(4100, 'enough');
    await next(webSocket, 'close');
    return Response.json(heard);
}

const next = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));

test('new WebSocket', async (env) => {
    const ws = new WebSocket(`${env.ORIGIN}/echo`, ['one', 'two']);
    await next(ws, 'open');
    same([ws.readyState, ws.protocol, ws.extensions], [1, 'two', '']);
    ws.send('grüß');
    equal((await next(ws, 'message')).data, 'grüß');
    ws.send(new Uint8Array([1, 2]));
    same([...new Uint8Array((await next(ws, 'message')).data)], [1, 2]);
    ws.close(4321, 'done');
    const e = await next(ws, 'close');
    same([e.code, e.reason, e.wasClean, ws.readyState], [4321, 'done', true, 3]);
});

test('the server closes', async (env) => {
    const ws = new WebSocket(`${env.ORIGIN}/close`);
    const e = await next(ws, 'close');
    same([e.code, e.reason, e.wasClean, ws.readyState], [4002, 'by the server', true, 2]);
    ws.send('still');
    ws.close();
    equal(ws.readyState, 3);
});

test('the server vanishes', async (env) => {
    const ws = new WebSocket(`${env.ORIGIN}/vanish`);
    const e = await next(ws, 'close');
    same([e.code, e.wasClean, ws.readyState], [1006, false, 3]);
    ws.send('nobody hears it');
});

test('the server breaks the protocol', async (env) => {
    const ws = new WebSocket(`${env.ORIGIN}/garbage`);
    const error = await next(ws, 'error');
    ok(/^Uncaught Error: WebSocket protocol error; protocolError.statusCode = 1002/.test(error.message), error.message);
});

test('fetch with Upgrade', async (env) => {
    const origin = env.ORIGIN.replace('ws:', 'http:');
    const response = await fetch(`${origin}/greet`, { headers: { Upgrade: 'websocket' } });
    same([response.status, response.body], [101, null]);
    const ws = response.webSocket;
    await scheduler.wait(20); // What the server says first waits for accept().
    ws.accept();
    equal((await next(ws, 'message')).data, 'first');
    ws.close(1000, 'bye');
    equal((await next(ws, 'close')).code, 1000);
    const refused = await fetch(`${origin}/refuse`, { headers: { Upgrade: 'websocket' } });
    same([refused.status, refused.webSocket, await refused.text()], [403, null, '']);
});

test('a thousand messages in order', async (env) => {
    const ws = new WebSocket(`${env.ORIGIN}/echo`);
    await next(ws, 'open');
    const got = [];
    const done = new Promise((resolve) => ws.addEventListener('message', (e) => got.push(e.data) === 1000 && resolve()));
    for (let i = 0; i < 1000; i++) ws.send(`message ${i}`);
    await done;
    ok(got.every((text, i) => text === `message ${i}`), 'in order');
    ws.close();
});

export default {
    ...run,
    fetch(request, env, ctx) {
        if (request.url.endsWith('/seen')) return Response.json(seen);
        if (request.url.endsWith('/loop/echo')) return ctx.exports.default.fetch('http://inside/echo', request);
        if (request.url.endsWith('/loop/forget')) return ctx.exports.default.fetch('http://inside/echo', request).then(() => new Response('forgotten'));
        if (request.url.endsWith('/loop/mine')) return mine(request, ctx);
        if (request.url.endsWith('/proxy/echo')) return proxy(request, env);
        return accept(request);
    },
};
