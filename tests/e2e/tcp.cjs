// e2e/tcp.cjs BIN: TCP of a Worker: tests/runtime/tcp.mjs runs inside, this is the other side.
'use strict';
const net = require('node:net');
const path = require('node:path');
const { check, equal, program, run, until } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');

check('TCP against a real server', async () => {
    const open = new Set();
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
        open.add(socket);
        socket.on('close', () => open.delete(socket));
        socket.on('error', () => {});
        socket.on('end', () => socket.end());
        socket.on('data', (data) => {
            if (data.toString() === 'x') socket.resetAndDestroy();
            else if (data.toString() === 'e') socket.end('bye');
            else socket.write(data);
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const config = { script: 'test', flags: [], bindings: [{ type: 'plain_text', name: 'PORT', text: `${server.address().port}` }] };
    const p = program('../runtime/js_run', ['--config', JSON.stringify(config), `${runtime}/tcp.mjs`, `harness.js=${runtime}/harness.js`]);
    const code = await p.exited;
    if (code !== 0) console.log(p.stdout + p.stderr);
    equal(code, 0, 'exit code');
    await until(() => open.size === 0, 'all connections closed');
    server.close();
}, 60);

run();
