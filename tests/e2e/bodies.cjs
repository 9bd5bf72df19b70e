// e2e/bodies.cjs: bodies of requests and responses over the wire: tests/runtime/bodies.mjs answers.
'use strict';
const http = require('node:http');
const path = require('node:path');
const zlib = require('node:zlib');
const { check, equal, ok, program, run, until } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');

const ask = (port, target, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
        const r = http.request({ port, host: '127.0.0.1', path: target, method, headers }, (answer) => {
            const chunks = [];
            answer.on('data', (d) => chunks.push(d));
            answer.on('error', reject);
            answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }));
        });
        r.on('error', reject);
        r.end(body);
    });

check('bodies', async () => {
    const upstream = http.createServer((request, response) => {
        response.setHeader('content-encoding', 'gzip');
        response.setHeader('x-accept', request.headers['accept-encoding'] ?? '');
        response.end(zlib.gzipSync('from far away '.repeat(100)));
    });
    await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const config = { script: 'bodies', flags: [], handlerBudgetMs: 500, bindings: [{ type: 'service', name: 'SELF', service: 'bodies', entrypoint: '' }, { type: 'plain_text', name: 'ORIGIN', text: `http://127.0.0.1:${upstream.address().port}` }] };
    const p = program('../runtime/js_run', ['--config', JSON.stringify(config), '--listen', '0', `${runtime}/bodies.mjs`]);
    const port = Number((await p.line(/(\d+)/))[1]);

    const late = ['/never', '/held', '/slow', '/stalled'].map((target) => ask(port, target).catch((error) => ({ status: error.code, body: '' }))); // Looked at every second.
    for (const size of [1, 1000, 70000, 2000000]) {
        const body = Buffer.alloc(size, 'abcdefg');
        for (const how of ['text', 'stream', 'clone', 'buffer', 'pass']) {
            const answer = await ask(port, `/${how}`, { method: 'POST', body });
            equal(answer.status, 200, `${how} ${size}`);
            ok(answer.body.equals(body), `${how} ${size}: ${answer.body.length} bytes`);
        }
    }
    const proxied = await ask(port, '/proxy');
    equal(proxied.headers['content-encoding'], 'gzip');
    equal(zlib.gunzipSync(proxied.body).toString(), 'from far away '.repeat(100), 'passed on as it came');
    equal((await ask(port, '/decoded')).body.toString(), 'from far away '.repeat(100));
    for (const [coding, open] of [['gzip', zlib.gunzipSync], ['deflate', zlib.inflateSync], ['br', zlib.brotliDecompressSync]]) {
        const answer = await ask(port, `/encode?${coding}`);
        equal(answer.headers['content-encoding'], coding);
        equal(open(answer.body).toString(), 'compress me', coding);
    }
    equal((await ask(port, '/manual')).body.toString(), 'compressed already, says the Worker');
    await ask(port, '/twice').catch(() => {}); // Whatever the client gets, the process goes on.
    const error = await ask(port, '/error');
    equal(error.status, 500);
    equal(error.body.toString(), 'Worker failed: Return value from serve handler must not be an error response (like Response.error())');
    equal((await ask(port, '/caller')).body.toString(), 'left');
    await until(() => `${p.stdout}${p.stderr}`.includes('waitUntil() did not settle within 0.5 seconds of the answer.'), 'the end of what the call left behind');
    const [never, held, slow, stalled] = (await Promise.all(late)).map(({ status, body }) => `${status} ${body}`);
    for (const over of [never, held]) equal(over, '500 Worker failed: the handler did not settle within 0.5 seconds');
    equal(slow, '200 ');
    equal(stalled, 'ECONNRESET ', 'cut off, not ended');
    p.child.kill('SIGTERM');
    await p.exited;
    upstream.closeAllConnections();
    upstream.close();
}, 60);

run();
