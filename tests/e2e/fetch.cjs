// e2e/fetch.cjs: fetch of a Worker against Node's own server: tests/runtime/fetch.mjs runs inside, this is the other side.
'use strict';
const http = require('node:http');
const zlib = require('node:zlib');
const path = require('node:path');
const { check, equal, ok, program, run, sleep } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');
const seen = { aborted: 0, sockets: 0, slow: 0 };

const routes = {
    '/hello': (request, response) => response.end('hello'),
    '/head': (request, response) => response.end(JSON.stringify({ method: request.method, headers: request.headers })),
    '/echo': (request, response) => {
        response.setHeader('x-length', request.headers['content-length'] ?? 'none');
        request.pipe(response);
    },
    '/cookies': (request, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        response.end();
    },
    '/gzip': (request, response) => {
        response.setHeader('content-encoding', 'gzip');
        response.end(zlib.gzipSync('zipped '.repeat(1000)));
    },
    '/redirect': (request, response, query) => {
        response.writeHead(Number(query.get('status')), { location: query.get('to') });
        response.end('moved');
    },
    '/loop': (request, response) => {
        response.writeHead(302, { location: '/loop' });
        response.end();
    },
    '/cut': (request, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half');
        setTimeout(() => response.destroy(), 20);
    },
    '/slow': async (request, response) => {
        seen.slow++;
        response.on('close', () => (seen.aborted += response.writableEnded ? 0 : 1));
        await sleep(5000);
        response.end('late');
    },
    '/drip': async (request, response) => {
        response.on('close', () => (seen.aborted += response.writableEnded ? 0 : 1));
        for (let i = 0; i < 500 && !response.destroyed; i++) {
            response.write('drop ');
            await sleep(10);
        }
        response.end();
    },
    '/seen': (request, response) => response.end(JSON.stringify(seen)),
    '/big': (request, response, query) => {
        const chunk = Buffer.alloc(65536, 'x');
        let left = Number(query.get('bytes'));
        const more = () => {
            while (left > 0) {
                const part = chunk.subarray(0, Math.min(left, chunk.length));
                left -= part.length;
                if (!response.write(part)) return response.once('drain', more);
            }
            response.end();
        };
        more();
    },
};

check('fetch against a real server', async () => {
    const server = http.createServer((request, response) => {
        const url = new URL(request.url, 'http://x');
        (routes[url.pathname] ?? ((q, r) => r.writeHead(404).end('nothing here')))(request, response, url.searchParams);
    });
    server.on('connection', () => seen.sockets++);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const config = { script: 'test', flags: [], bindings: [{ type: 'plain_text', name: 'ORIGIN', text: `http://127.0.0.1:${server.address().port}` }] };
    const p = program('../runtime/js_run', ['--config', JSON.stringify(config), `${runtime}/fetch.mjs`, `harness.js=${runtime}/harness.js`]);
    const code = await p.exited;
    console.log(p.stdout + p.stderr);
    equal(code, 0, 'exit code');
    ok(seen.sockets < 30, `${seen.sockets} connections`); // They are kept.
    const impatient = { ...config, fetchTimeoutMs: 200 };
    const q = program('../runtime/js_run', ['--config', JSON.stringify(impatient), `${runtime}/fetch_timeout.mjs`, `harness.js=${runtime}/harness.js`]);
    const late = await q.exited;
    console.log(q.stdout + q.stderr);
    equal(late, 0, 'exit code');
    server.closeAllConnections();
    server.close();
}, 60);

run();
