// e2e/edge.cjs: what a Worker is told of its client, and handlers that never answer: tests/runtime/edge.mjs answers.
'use strict';
const http = require('node:http');
const path = require('node:path');
const { check, equal, ok, program, raw, run, until } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');
const HUNG = "500 Worker failed: The Workers runtime canceled this request because it detected that your Worker's code had hung and would never generate a response.";

const ask = (port, target, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
        const r = http.request({ port, host: '127.0.0.1', path: target, method, headers, agent: false }, (answer) => {
            let text = '';
            answer.on('data', (d) => (text += d));
            answer.on('end', () => resolve(`${answer.statusCode} ${text}`));
            answer.on('error', reject);
        });
        r.on('error', reject);
        r.end(body);
    });

const service = (name, script) => ({ type: 'service', name, service: script, entrypoint: '' });
const serve = async (...options) => {
    const config = { script: 'test', flags: [], bindings: [service('SELF', 'test'), service('FAR', 'far')] };
    const p = program('../runtime/js_run', ['--config', JSON.stringify(config), '--script', `far=${runtime}/edge.far.mjs`, '--listen', '0', ...options, `${runtime}/edge.mjs`]);
    p.port = Number((await p.line(/listening (\d+)/))[1]);
    p.end = async () => {
        p.child.kill('SIGTERM');
        equal(await p.exited, 0, p.stderr);
    };
    return p;
};

const told = async (p, headers) => JSON.parse((await ask(p.port, '/client', { headers })).slice(4)).map(([name, value]) => `${name}: ${value}`).join(', ');

check('a client does not say who it is', async () => {
    const p = await serve();
    equal(await told(p, {}), 'cf-connecting-ip: 127.0.0.1, x-real-ip: 127.0.0.1');
    equal(
        await told(p, { 'CF-Connecting-IP': '9.9.9.9', 'x-real-ip': '9.9.9.9', 'X-Celld-Scope': 'a', 'x-celld-': 'b', 'x-celldom': 'c', 'X-Forwarded-For': '8.8.8.8' }),
        'cf-connecting-ip: 127.0.0.1, x-celldom: c, x-forwarded-for: 8.8.8.8, x-real-ip: 127.0.0.1',
    );
    await p.end();
});

check('a trusted proxy does', async () => {
    const p = await serve('--proxy', '1');
    equal(await told(p, {}), 'cf-connecting-ip: 127.0.0.1, x-real-ip: 127.0.0.1');
    equal(await told(p, { 'X-Real-IP': '9.9.9.9', 'x-celld-scope': 'a' }), 'cf-connecting-ip: 9.9.9.9, x-real-ip: 9.9.9.9');
    equal(await told(p, { 'X-Real-IP': '9.9.9.9', 'cf-connecting-ip': '7.7.7.7' }), 'cf-connecting-ip: 7.7.7.7, x-real-ip: 9.9.9.9');
    await p.end();
});

check('what a client is told has bounds', async () => {
    const p = await serve();
    const refused = '500 Worker failed: The headers of a response take more than 131072 bytes.';
    equal(await ask(p.port, '/large', { headers: { 'x-size': '14000' } }), '200 x');
    equal(await ask(p.port, '/large', { headers: { 'x-size': '132000' } }), refused);
    equal(await ask(p.port, '/stream'), refused);
    equal(await ask(p.port, '/words'), `500 Worker failed: ${'word '.repeat(4000).slice(0, 8192)} ... (cut: 20000 characters)`);
    equal(await ask(p.port, '/stack'), '500 Worker failed: Invalid header name.');
    await until(() => /Invalid header name\.\n    at Object\.fetch/.test(p.stderr), 'a stack without frames of the prelude');
    await p.end();
});

check('a request whose body is broken', async () => {
    const p = await serve();
    const broken = async (body) => {
        const c = await raw(p.port);
        await c.send(`POST /text HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`);
        await c.ended(body);
        const [head, text] = c.text().split('\r\n\r\n');
        return `${head.slice(9, 12)} ${text}`;
    };
    const bad = await broken('5\r\nhello\r\nzz\r\n');
    ok(/^400 invalid request body: [A-Z]/.test(bad), bad);
    equal(await broken('ffffffffff\r\nhello'), '413 request body too large');
    await p.end();
});

check('a head of 1,000 fields and one of 120 KiB', async () => {
    const p = await serve();
    equal(await ask(p.port, '/fields', { headers: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x-n${i}`, 'y'])) }), '200 1000');
    equal(await ask(p.port, '/fields', { headers: { 'x-n': 'y'.repeat(120 << 10) } }), '200 1');
    await p.end();
});

check('a handler that can never answer is ended at once', async () => {
    const p = await serve();
    const begun = Date.now();
    for (const target of ['/never', '/late', '/stopped', '/forgotten', '/far']) equal(await ask(p.port, target), HUNG, target);
    equal(await ask(p.port, '/read', { method: 'POST', body: 'x' }), HUNG, 'with a body that was collected');
    equal(await ask(p.port, '/read', { method: 'POST', body: 'x', headers: { 'transfer-encoding': 'chunked' } }), HUNG, 'with a body in pieces');
    ok(Date.now() - begun < 5000, `after ${Date.now() - begun} ms`);
    equal(await ask(p.port, '/background'), '200 ok');
    equal(await ask(p.port, '/never'), HUNG, 'beside work that is left behind');
    await p.end();
}, 30);

check('one that waits for something does answer', async () => {
    const p = await serve();
    equal(await ask(p.port, '/wait'), '200 waited');
    equal(await ask(p.port, '/callee'), '200 waited');
    const keep = ask(p.port, '/keep');
    equal(await ask(p.port, '/promised'), '200 kept', 'what another request promised');
    equal(await keep, '200 ok');
    const busy = ask(p.port, '/busy'); // Later requests do not make up for it.
    const never = ask(p.port, '/never');
    const next = [ask(p.port, '/busy')];
    equal(await busy, '200 ok');
    next.push(ask(p.port, '/busy'));
    equal(await Promise.race([never, next[1]]), HUNG, 'while others come and go');
    await Promise.all(next);
    await p.end();
}, 30);

run();
