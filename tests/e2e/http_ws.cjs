// e2e/http_ws.cjs BIN: WebSockets on the real system: our server against ws and raw frames, our client against ws.
'use strict';
const http = require('node:http');
const { WebSocket, WebSocketServer } = require('ws');
const { check, equal, ok, until, sleep, serve, raw, program, run } = require('./harness.cjs');

const MiB = 1024 * 1024;

const open = (server, options = {}, protocols = []) =>
    new Promise((resolve, reject) => {
        const ws = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, protocols, options);
        ws.heard = [];
        ws.on('message', (data, binary) => ws.heard.push({ data, binary }));
        ws.on('close', (code, reason) => (ws.closed = { code, reason: reason.toString() }));
        ws.on('open', () => resolve(ws));
        ws.on('error', reject);
        ws.on('unexpected-response', (_, response) => reject(new Error(String(response.statusCode))));
    });
const heard = async (ws, n) => {
    await until(() => ws.heard.length >= n || ws.closed, `${n} messages`);
    equal(ws.heard.length, n);
    return ws.heard[n - 1];
};

check('ws: text, binary and every length come back', async () => {
    const server = await serve();
    const ws = await open(server);
    equal(ws.extensions, '', 'an extension was accepted');
    let n = 0;
    for (const text of ['', 'hello', 'grüß dich €😀']) {
        ws.send(text);
        const got = await heard(ws, ++n);
        equal(got.data.toString(), text);
        equal(got.binary, false);
    }
    for (const size of [0, 1, 125, 126, 127, 65535, 65536, 65537, 10 * MiB]) {
        ws.send(Buffer.alloc(size, 'b'));
        const got = await heard(ws, ++n);
        equal(got.data.length, size);
        ok(got.binary && got.data.equals(Buffer.alloc(size, 'b')), `binary of ${size}`);
    }
    ws.close(1000, 'bye');
    await until(() => ws.closed, 'close');
    equal(ws.closed.code, 1000);
    await until(async () => (await server.stats()).sockets === 0, 'socket gone');
    const stats = await server.stats();
    equal(stats.code, 1000);
    equal(stats.clean, true);
    await server.stop();
});

check('ws: fragments and pings between them', async () => {
    const server = await serve();
    const ws = await open(server);
    const pongs = [];
    ws.on('pong', (d) => pongs.push(d.toString()));
    ws.send('one ', { fin: false });
    ws.ping('between');
    ws.send('two ', { fin: false });
    ws.send('three', { fin: true });
    equal((await heard(ws, 1)).data.toString(), 'one two three');
    await until(() => pongs.length === 1, 'pong');
    equal(pongs[0], 'between');
    ws.terminate();
    await until(async () => (await server.stats()).code === 1006, 'loss noticed');
    await server.stop();
});

check('ws: close codes and reasons both ways', async () => {
    const server = await serve();
    for (const [code, reason] of [[1000, ''], [1001, 'away'], [3000, 'mine'], [4999, 'ü'.repeat(60)]]) {
        const ours = await open(server);
        ours.close(code, reason);
        await until(() => ours.closed, 'close');
        equal(ours.closed.code, code);
        await until(async () => (await server.stats()).code === code, `server heard ${code}`);
        const theirs = await open(server);
        theirs.send(`close ${code} ${reason}`);
        await until(() => theirs.closed, 'close');
        equal(theirs.closed.code, code);
        equal(theirs.closed.reason, reason);
    }
    const none = await open(server);
    none.close();
    await until(() => none.closed, 'close');
    equal(none.closed.code, 1005);
    await server.stop();
});

check('ws: subprotocols, refusals, limits', async () => {
    const server = await serve({ message_max: 1000 });
    equal((await open(server, {}, ['other', 'bounce'])).protocol, 'bounce');
    await open(server, { protocolVersion: 8 }).then(() => ok(false, 'version 8'), (e) => equal(e.message, '426'));
    const ws = await open(server);
    ws.on('error', () => {});
    ws.send('x'.repeat(1000));
    await heard(ws, 1);
    ws.send('x'.repeat(1001));
    await until(() => ws.closed, 'close');
    equal(ws.closed.code, 1009);
    await server.stop();
});

check('raw: malformed frames get 1002, 1007 and an end', async () => {
    const server = await serve();
    const mask = '\0\0\0\0';
    const cases = [
        ['unmasked', '\x81\x02hi', 1002],
        ['reserved bit', `\xc1\x82${mask}hi`, 1002],
        ['unknown opcode', `\x83\x80${mask}`, 1002],
        ['fragmented close', `\x08\x80${mask}`, 1002],
        ['continuation of nothing', `\x80\x80${mask}`, 1002],
        ['not UTF-8', `\x81\x82${mask}\xfc!`, 1007],
        ['close 1006', `\x88\x82${mask}\x03\xee`, 1002],
        ['huge', `\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff${mask}`, 1009],
    ];
    for (const [what, bytes, code] of cases) {
        const c = await raw(server.port);
        await c.send('GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
            'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
        await until(() => c.text().includes('\r\n\r\n'), 'handshake');
        ok(c.text().includes('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='), c.text());
        const from = c.got.length;
        await c.send(Buffer.from(bytes, 'latin1'));
        await c.ended(what);
        const frame = c.got.subarray(from);
        equal(frame[0], 0x88, what);
        equal(frame.readUInt16BE(2), code, what);
        c.destroy();
    }
    await server.stop();
});

check('ws: a reader that stops slows the server, not its memory', async () => {
    const server = await serve();
    const ws = await open(server);
    ws.pause();
    const before = server.memory();
    const data = Buffer.alloc(100000, 'x');
    for (let i = 0; i < 500; i++) ws.send(data);
    await sleep(1000);
    ok(server.memory() - before < 24 * MiB, `grew by ${server.memory() - before} bytes`);
    ws.resume();
    await until(() => ws.heard.length === 500, 'all came back', 15000);
    ws.close();
    await until(() => ws.closed, 'close');
    await server.stop();
});

check('ws: five hundred parked sockets cost little and hear of the end', async () => {
    const server = await serve();
    const first = await Promise.all(Array.from({ length: 50 }, () => open(server, { perMessageDeflate: false })));
    const before = server.memory();
    const more = await Promise.all(Array.from({ length: 450 }, () => open(server, { perMessageDeflate: false })));
    const each = (server.memory() - before) / more.length;
    ok(each < 16 * 1024, `${Math.round(each)} bytes each`);
    equal((await server.stats()).sockets, 500);
    const stopped = server.stop();
    await until(() => [...first, ...more].every((ws) => ws.closed), 'all closed');
    [...first, ...more].forEach((ws) => equal(ws.closed.code, 1012));
    await stopped;
});

// ---- Our client

const wss = async (options, use) => {
    const server = http.createServer((_, response) => response.end('plain'));
    const sockets = new WebSocketServer({ server, path: '/ws', ...options });
    const closes = [];
    sockets.on('connection', (ws) => {
        ws.on('message', (data, binary) => ws.send(data, { binary }));
        ws.on('close', (code, reason) => closes.push(`${code} ${reason}`));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        await use(server.address().port, closes);
    } finally {
        sockets.clients.forEach((ws) => ws.terminate());
        sockets.close();
        server.closeAllConnections();
        server.close();
    }
};
const ask = async (port, ...steps) => {
    const p = program('http_ask', [port, ...steps]);
    const code = await p.exited;
    equal(p.stderr, '');
    equal(code, 0, 'exit');
    return p.stdout.trimEnd().split('\n');
};

check('our client talks to ws', () =>
    wss({ handleProtocols: (offered) => (offered.has('bounce') ? 'bounce' : false), perMessageDeflate: true }, async (port, closes) => {
        equal((await ask(port, 'ws:/ws:24')).join('|'), 'ws 24 1000 clean bounce');
        await until(() => closes.length === 1, 'close');
        equal(closes[0], '1000 done');
    }),
);

check('our client is refused', () =>
    wss({ verifyClient: (_, done) => done(false, 403, 'No') }, async (port) => {
        const lines = await ask(port, 'ws:/ws:1', 'ws:/none:1');
        equal(lines[0], 'error not supported 403 the server did not switch protocols');
        equal(lines[1], 'error not supported 400 the server did not switch protocols');
    }),
);

run();
