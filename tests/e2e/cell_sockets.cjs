// e2e/cell_sockets.cjs BIN: clients of a Durable Object's WebSockets: tests/runtime/cell_sockets.mjs answers, `ws` is the client.
'use strict';
const path = require('node:path');
const { WebSocket } = require('ws');
const { check, equal, ok, program, run, sleep, until } = require('./harness.cjs');

const worker = path.join(__dirname, '../runtime/cell_sockets.mjs');
const config = JSON.stringify({ script: 'test', flags: ['web_socket_auto_reply_to_close'], bindings: [{ type: 'durable_object', name: 'ROOM', class: 'Room', script: '' }] });

const serve = async (splice) => {
    const p = program('../runtime/js_run', ['--listen', 0, '--splice', splice, '--config', config, worker]);
    p.port = Number((await p.line(/listening (\d+)/))[1]);
    p.seen = async () => (await fetch(`http://127.0.0.1:${p.port}/seen`, { headers: { connection: 'close' } })).json();
    return p;
};
const open = (port) =>
    new Promise((resolve, reject) => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}/socket`, ['one', 'two']);
        ws.heard = [];
        ws.on('message', (data, binary) => ws.heard.push(binary ? data : data.toString()));
        ws.on('close', (code, reason) => (ws.closed = { code, reason: reason.toString() }));
        ws.on('open', () => resolve(ws));
        ws.on('error', reject);
    });
const hear = async (ws, n) => {
    await until(() => ws.heard.length >= n || ws.closed, `${n} messages`);
    return ws.heard[n - 1];
};
const same = (got, want) => equal(JSON.stringify(got), JSON.stringify(want));

// 0: the Worker's isolate passes messages on; 1: the host does.
for (const splice of [0, 1]) {
    check(`sockets of a cell, splice ${splice}`, async () => {
        const p = await serve(splice);
        const ws = await open(p.port);
        equal(ws.protocol, 'two');
        equal(await hear(ws, 1), 'welcome');
        ws.send('grüß dich €');
        equal(await hear(ws, 2), 'grüß dich €');
        ws.send(Buffer.from([1, 2, 3]));
        ok((await hear(ws, 3)).equals(Buffer.from([1, 2, 3])), 'bytes come back');
        ws.send(Buffer.alloc(3 << 20, 'x'));
        equal((await hear(ws, 4)).length, 3 << 20);
        ws.close(4444, 'bye');
        await until(() => ws.closed, 'close');
        same(ws.closed, { code: 4444, reason: 'bye' });
        await until(async () => (await p.seen()).length === 1, 'the cell hears of it');
        same(await p.seen(), [[4444, 'bye', true]]);

        const two = await open(p.port);
        two.send('close');
        await until(() => two.closed, 'closed by the cell');
        same(two.closed, { code: 4001, reason: 'as asked' });

        const three = await open(p.port);
        await hear(three, 1);
        three.terminate();
        await until(async () => (await p.seen()).length === 3, 'the cell hears of a lost client');
        equal((await p.seen())[2][0], 1006);

        const four = await open(p.port);
        four.send('reset');
        await until(() => four.closed, 'closed after a reset');
        same(four.closed, { code: 1012, reason: '' });

        const slow = await open(p.port);
        slow.pause();
        slow.send('much');
        await sleep(100);
        slow.resume();
        await until(() => slow.heard.length === 51 || slow.closed, 'all that a slow client was sent');
        equal(slow.heard.length, 51, JSON.stringify(slow.closed));
        ok(slow.heard.slice(1).every((m, i) => m.length === 100000 && m[0] === i), 'in its order');

        if (splice === 1) { // What the cell does not take stays with its client, but for what the kernel keeps for both.
            const eager = await open(p.port);
            await hear(eager, 1);
            eager.send('hold');
            for (let i = 0; i < 192; i++) eager.send(Buffer.alloc(65536, i));
            await sleep(250);
            ok(eager.bufferedAmount > 4 << 20, `${eager.bufferedAmount} bytes of 12 MiB are still here`);
            await until(() => eager.heard.length === 193 || eager.closed, 'all that it sent', 30000);
            equal(eager.heard.length, 193, JSON.stringify(eager.closed));
            ok(eager.heard.slice(1).every((m, i) => m.length === 65536 && m[0] === i), 'in its order');
        }

        const five = await open(p.port);
        await hear(five, 1);
        await p.stop();
        await until(() => five.closed && slow.closed, 'closed at the end');
        ok([1001, 1012, 1006].includes(five.closed.code), `${five.closed.code}`);
    });
}

run();
