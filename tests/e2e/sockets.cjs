// e2e/sockets.cjs BIN: WebSockets of a Worker over the wire: tests/runtime/sockets.mjs runs inside, `ws` is the other side.
'use strict';
const path = require('node:path');
const http = require('node:http');
const { WebSocket, WebSocketServer } = require('ws');
const { check, equal, ok, program, raw, run, sleep, until } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');
const files = [`${runtime}/sockets.mjs`, `harness.js=${runtime}/harness.js`];
const config = (bindings = {}, flags = ['web_socket_auto_reply_to_close']) =>
    JSON.stringify({ script: 'test', flags, bindings: Object.entries(bindings).map(([name, text]) => ({ type: 'plain_text', name, text })) });

const serve = async (bindings, flags) => {
    const p = program('../runtime/js_run', ['--listen', 0, '--config', config(bindings, flags), ...files]);
    p.port = Number((await p.line(/listening (\d+)/))[1]);
    p.seen = async () => (await fetch(`http://127.0.0.1:${p.port}/seen`, { headers: { connection: 'close' } })).json();
    return p;
};
const open = (port, where, protocols = []) =>
    new Promise((resolve, reject) => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}${where}`, protocols);
        ws.heard = [];
        ws.on('message', (data, binary) => ws.heard.push(binary ? data : data.toString()));
        ws.on('close', (code, reason) => (ws.closed = { code, reason: reason.toString() }));
        ws.on('upgrade', (response) => (ws.answer = response.headers));
        ws.on('open', () => resolve(ws));
        ws.on('error', reject);
    });
const hear = async (ws, n) => {
    await until(() => ws.heard.length >= n || ws.closed, `${n} messages`);
    return ws.heard[n - 1];
};
const same = (got, want) => equal(JSON.stringify(got), JSON.stringify(want));

check('a socket of a response', async () => {
    const p = await serve();
    const ws = await open(p.port, '/echo');
    equal(ws.answer['x-mine'], 'yes');
    ws.send('grüß dich €');
    equal(await hear(ws, 1), 'grüß dich €');
    ws.send(Buffer.from([1, 2, 3]));
    ok((await hear(ws, 2)).equals(Buffer.from([1, 2, 3])), 'bytes come back');
    ws.send(Buffer.alloc(3 << 20, 'x'));
    equal((await hear(ws, 3)).length, 3 << 20);
    ws.send('async');
    equal(await hear(ws, 4), 'later');
    ws.close(4444, 'bye');
    await until(() => ws.closed, 'close');
    same(ws.closed, { code: 4444, reason: 'bye' });
    same(await p.seen(), [['/echo', 4444, 'bye', true, 3]]);
    await p.stop();
});

check('the Worker speaks first, chooses a protocol, closes', async () => {
    const p = await serve();
    const ws = await open(p.port, '/greet');
    equal(await hear(ws, 1), 'hello');
    ws.send('close');
    await until(() => ws.closed, 'close');
    same(ws.closed, { code: 4000, reason: 'asked' });
    const two = await open(p.port, '/protocol', ['one', 'two']);
    equal(two.protocol, 'two');
    two.terminate();
    await until(async () => (await p.seen()).length === 2, 'two sockets closed');
    same((await p.seen())[1].slice(0, 2), ['/protocol', 1006]);
    await p.stop();
});

check('a listener that throws does not end the socket', async () => {
    const p = await serve();
    const ws = await open(p.port, '/echo');
    ws.send('throw');
    ws.send('on');
    equal(await hear(ws, 1), 'on');
    ok(p.stderr.includes('thrown by a listener'), p.stderr);
    ws.close();
    await until(() => ws.closed, 'close');
    p.child.kill('SIGTERM');
    equal(await p.exited, 0);
});

check('without the switch the Worker closes itself', async () => {
    const p = await serve({}, []);
    const ws = await open(p.port, '/late');
    ws.close(4100);
    await until(() => ws.closed, 'close');
    same(ws.closed, { code: 4001, reason: 'late' });
    await p.stop();
});

check('a request that wants no socket', async () => {
    const p = await serve();
    const response = await fetch(`http://127.0.0.1:${p.port}/echo`, { headers: { connection: 'close' } });
    equal(response.status, 500);
    ok((await response.text()).includes('Worker tried to return WebSocket in a response'), 'says why');
    p.child.kill('SIGTERM');
    equal(await p.exited, 0);
});

check('a client that does not read is not read from', async () => {
    const p = await serve();
    const ws = await open(p.port, '/echo');
    ws.pause();
    const chunk = Buffer.alloc(1 << 20, 'y');
    for (let i = 0; i < 40; i++) ws.send(chunk);
    await sleep(300);
    const used = p.memory();
    ok(used < 400 << 20, `${used >> 20} MiB`);
    ok(ws.bufferedAmount > 16 << 20, `${ws.bufferedAmount} bytes wait here`);
    ws.resume();
    await until(() => ws.heard.length === 40, 'all of it', 15000);
    ws.terminate();
    await until(async () => (await p.seen()).length === 1, 'the end');
    await p.stop();
}, 30);

check('stopping cuts what is open', async () => {
    const p = await serve();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(p.port, '/echo')));
    await p.stop();
    await until(() => sockets.every((ws) => ws.closed), 'all closed');
});

// ---- The Worker as client

const server = async () => {
    const listener = http.createServer((request, response) => response.writeHead(404).end());
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: (list) => (list.has('two') ? 'two' : false) });
    listener.on('upgrade', (request, socket, head) => {
        socket.on('error', () => {});
        if (request.url === '/refuse') return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
        sockets.handleUpgrade(request, socket, head, (ws) => {
            if (request.url === '/close') ws.close(4002, 'by the server');
            if (request.url === '/vanish') setTimeout(() => socket.destroy(), 20);
            if (request.url === '/garbage') socket.write(Buffer.from([0xff, 0xff, 0xff]));
            if (request.url === '/greet') ws.send('first');
            ws.on('message', (data, binary) => ws.send(data, { binary }));
            ws.on('error', () => {});
        });
    });
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return { origin: `ws://127.0.0.1:${listener.address().port}`, close: () => (listener.closeAllConnections(), listener.close()) };
};

check('the Worker opens sockets', async () => {
    const s = await server();
    const p = program('../runtime/js_run', ['--config', config({ ORIGIN: s.origin }, []), ...files]);
    const code = await p.exited;
    if (code !== 0) console.log(p.stdout + p.stderr);
    equal(code, 0, 'exit code');
    s.close();
}, 60);

check('a socket of a binding is passed on, and used', async () => {
    const p = await serve();
    const ws = await open(p.port, '/loop/echo');
    await sleep(50); // The callee's event has answered long ago.
    ws.send('through');
    equal(await hear(ws, 1), 'through');
    ws.send('async');
    equal(await hear(ws, 2), 'later');
    ws.close(4321, 'both');
    await until(() => ws.closed, 'close');
    same(ws.closed, { code: 4321, reason: 'both' });
    same(await p.seen(), [['/echo', 4321, 'both', true, 3]]);
    const get = async (where, headers) => (await fetch(`http://127.0.0.1:${p.port}${where}`, { headers: { connection: 'close', ...headers } })).text();
    equal(await get('/loop/mine'), '["hello","one"]');
    same((await p.seen())[1], ['/greet', 4100, 'enough', true, 3]);
    await p.stop();
});

check('a socket of a subrequest is passed on', async () => {
    const s = await server();
    const p = await serve({ ORIGIN: `${s.origin}/echo` });
    const ws = await open(p.port, '/proxy/echo');
    ws.send('through');
    equal(await hear(ws, 1), 'through');
    ws.close(4567, 'both');
    await until(() => ws.closed, 'close');
    same(ws.closed, { code: 4567, reason: 'both' });
    s.close();
    await p.stop();
});

run();
