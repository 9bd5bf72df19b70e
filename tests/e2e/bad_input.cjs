// e2e/bad_input.cjs: Workers that misbehave and clients that do: each gets a clear answer, and the node serves on.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { check, equal, ok, until, sleep, run, spawn } = require('./harness.cjs');

const celld = process.argv[3];
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-bad-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));

const SOURCE = `
const log = [];
const bytes = (n) => new Uint8Array(n);
export default {
    async fetch(request, env, ctx) {
        const { pathname } = new URL(request.url);
        switch (pathname) {
            case '/ok': return new Response('ok');
            case '/log': return Response.json(log);
            case '/loop': console.log('loops'); for (;;);
            case '/finalizers': {
                const registry = new FinalizationRegistry(() => { console.log('loops'); for (;;); });
                for (let i = 0; i < 1000; i++) registry.register({}, i);
                for (let i = 0; i < 300; i++) bytes(1 << 20);
                return new Response('ok');
            }
            case '/chain': for (;;) await null;
            case '/heap': for (const a = []; ; ) a.push(new Array(1e5).fill(a.length));
            case '/buffers': { const a = []; for (;;) a.push(bytes(1 << 24).fill(1)); }
            case '/wasm': for (const a = []; ; ) a.push(new Uint8Array(new WebAssembly.Memory({ initial: 256 }).buffer).fill(1));
            case '/never': {
                request.signal.addEventListener('abort', () => log.push(request.signal.reason.message));
                return scheduler.wait(60000);
            }
            case '/self': return fetch(request);
            case '/null': throw null;
            case '/proxy': throw new Proxy({}, { get() { throw new Error('get'); }, getPrototypeOf() { throw new Error('prototype'); } });
            case '/text': return 'no Response';
            case '/used': { const r = new Response('x'); await r.text(); return r; }
            case '/half': {
                let n = 0;
                return new Response(new ReadableStream({ pull(c) { if (n++ < 3) c.enqueue(bytes(1000)); else throw new Error('half-way'); } }));
            }
            case '/strings': return new Response(new ReadableStream({ start(c) { c.enqueue({ no: 'bytes' }); c.close(); } }));
            case '/dead': return fetch('http://127.0.0.1:9/');
            case '/upload': {
                let n = 0;
                for await (const chunk of request.body) n += chunk.length;
                return new Response(String(n));
            }
            case '/getter': return new Response('x', { get status() { throw new Error('in a getter'); } });
            case '/rejected': ctx.waitUntil(Promise.reject(new Error('in the background'))); return new Response('ok');
            case '/deep': { const f = () => f(); return f(); }
            case '/ws': {
                const [client, server] = Object.values(new WebSocketPair());
                server.accept();
                server.addEventListener('message', () => { throw new Error('in a listener'); });
                return new Response(null, { status: 101, webSocket: client });
            }
        }
        return new Response(null, { status: 404 });
    },
};
`;

let port;
let node;
const ask = (target, { method = 'GET', body, headers = {}, ms = 60000 } = {}) =>
    new Promise((resolve, reject) => {
        const r = http.request({ port, host: '127.0.0.1', path: target, method, headers, agent: false }, (answer) => {
            let text = '';
            answer.setEncoding('latin1');
            answer.on('data', (d) => (text += d));
            answer.on('error', () => resolve({ status: answer.statusCode, text, cut: true }));
            answer.on('end', () => resolve({ status: answer.statusCode, text, cut: !answer.complete }));
        });
        r.setTimeout(ms, () => r.destroy(new Error('too late')));
        // A reset can overtake the head of the answer.
        r.on('error', (e) => (e.code === 'ECONNRESET' ? resolve({ status: 0, text: '', cut: true }) : reject(e)));
        if (typeof body === 'function') body(r);
        else r.end(body);
    });
// Of the node, the one child of celld dev.
const resident = () => {
    const pid = fs.readFileSync(`/proc/${node.child.pid}/task/${node.child.pid}/children`, 'latin1').trim();
    return Number(fs.readFileSync(`/proc/${pid}/status`, 'latin1').match(/VmRSS:\s+(\d+) kB/)[1]) * 1024;
};
const answers = async (target, status, text) => {
    const r = await ask(target);
    equal(`${r.status} ${r.text}`, `${status} ${text}`, target);
};
const serves = () => until(async () => (await ask('/ok', { ms: 2000 }).catch(() => ({}))).text === 'ok', 'an answer', 40000);

check('it starts', async () => {
    fs.mkdirSync(path.join(root, 'p'));
    fs.writeFileSync(path.join(root, 'p/wrangler.json'), JSON.stringify({ name: 'bad', main: 'index.js', compatibility_date: '2026-08-01' }));
    fs.writeFileSync(path.join(root, 'p/index.js'), SOURCE);
    port = await new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const free = s.address().port;
            s.close(() => resolve(free));
        });
    });
    const env = { ...process.env, CELLD_THREADS: '2', CELLD_HEAP_LIMIT_MB: '32' };
    node = spawn(celld, ['dev', path.join(root, 'p'), '--port', String(port), '--no-watch'], { env });
    const gone = node.exited.then((code) => {
        throw new Error(`exit ${code}: ${node.stdout}${node.stderr}`);
    });
    gone.catch(() => {});
    await Promise.race([until(() => node.stdout.includes('ready  http'), 'ready', 60000), gone]);
}, 90);

check('errors of a handler', async () => {
    await answers('/null', 500, 'Worker failed: null');
    await answers('/proxy', 500, 'Worker failed: an error without a text');
    await answers('/text', 500, "Worker failed: Incorrect type for Promise: the Promise did not resolve to 'Response'.");
    await answers('/used', 500, 'Worker failed: Body has already been used. It can only be used once. Use tee() first if you need to read it twice.');
    await answers('/dead', 500, 'Worker failed: Network connection lost.');
    await answers('/getter', 500, 'Worker failed: in a getter');
    await answers('/deep', 500, 'Worker failed: Maximum call stack size exceeded');
    await answers('/rejected', 200, 'ok');
    await until(() => node.stdout.includes('in the background'), 'the rejected waitUntil in the log');
}, 60);

check('a body that fails half-way is cut off, not ended', async () => {
    const half = await ask('/half');
    ok(half.status === 200 || half.status === 0, String(half.status));
    ok(half.text.length <= 3000, String(half.text.length));
    equal(half.cut, true, 'cut');
    equal((await ask('/strings')).cut, true, 'a chunk that is no bytes');
}, 60);

check('a client that leaves a handler that answers late', async () => {
    await ask('/never', { ms: 300 }).catch(() => {});
    await until(async () => {
        const logs = [];
        for (let i = 0; i < 8; i++) logs.push((await ask('/log')).text); // Whichever shard it was.
        return logs.some((l) => l.includes('The client has disconnected'));
    }, 'the abort', 20000);
}, 60);

check('a hundred megabytes of body, and heads that are too large', async () => {
    const mib = Buffer.alloc(1 << 20, 'x');
    const r = await ask('/upload', {
        method: 'POST',
        body(request) {
            let left = 100;
            const more = () => {
                while (left > 0) if ((left--, !request.write(mib))) return request.once('drain', more);
                request.end();
            };
            more();
        },
    });
    equal(r.text, String(100 << 20));
    const bomb = await ask('/ok', { headers: Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`x-${i}`, 'y'])) });
    equal(bomb.status, 431);
    equal((await ask('/ok', { headers: { 'x-long': 'y'.repeat(140000) } })).status, 431);
    equal((await ask(`/${'a'.repeat(20000)}`)).status, 414);
    const raw = (text) =>
        new Promise((resolve) => {
            let got = '';
            const s = net.connect(port, '127.0.0.1', () => s.write(text));
            s.on('data', (d) => (got += d)).on('error', () => {}).on('close', () => resolve(got.split('\r\n')[0]));
        });
    const chunked = 'POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    equal(await raw(`${chunked}5\r\nhello\r\nzz\r\n`), 'HTTP/1.1 400 Bad Request');
    equal(await raw(`${chunked}ffffffffff\r\nhello`), 'HTTP/1.1 413 Content Too Large');
    const garbage = net.connect(port, '127.0.0.1');
    garbage.end(Buffer.from([0, 1, 2, 3, 255, 254, 10, 10]));
    await new Promise((resolve) => garbage.on('close', resolve).on('error', () => {}).resume());
    await answers('/ok', 200, 'ok');
}, 90);

check('a WebSocket frame that is too large, and a listener that throws', async () => {
    const open = () => new Promise((resolve, reject) => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}/ws`);
        ws.onopen = () => resolve(ws);
        ws.onerror = () => reject(new Error('no socket'));
    });
    const large = await open();
    const closed = new Promise((resolve) => (large.onclose = resolve));
    large.send(new Uint8Array(33 << 20));
    equal((await closed).code, 1009);
    const thrower = await open();
    thrower.send('x');
    await until(() => node.stdout.includes('in a listener'), 'the error of the listener in the log');
    thrower.close();
    await answers('/ok', 200, 'ok');
}, 90);

check('memory: the heap and array buffers run out, and the node serves on', async () => {
    await answers('/heap', 500, 'Worker failed: Worker exceeded memory limit.');
    await until(() => /Worker exceeded memory limit\. Its heap may take \d+ MiB \(CELLD_HEAP_LIMIT_MB\)/.test(node.stdout), 'the limit in the log');
    await serves();
    await answers('/wasm', 500, 'Worker failed: Worker exceeded memory limit.');
    await serves();
    const before = resident();
    equal((await ask('/buffers')).status, 500);
    await until(() => resident() < before + (60 << 20), 'the memory of the buffers given back');
    await serves();
}, 180);

check('endless loops are ended while the other shard serves', async () => {
    const endless = ask('/loop');
    await sleep(500);
    // A connection meets either shard: within two seconds the other one accepts those of the shard that loops.
    const begun = Date.now();
    for (let i = 0; i < 20; i++) equal((await ask('/ok', { ms: 8000 })).text, 'ok');
    ok(Date.now() - begun < 8000, `twenty answers took ${Date.now() - begun} ms`);
    const loop = await endless;
    equal(`${loop.status} ${loop.text}`, '500 Worker failed: Worker exceeded CPU time limit.');
    await serves();
    await until(() => node.stdout.includes('One turn of JavaScript may run for 30 seconds'), 'the limit in the log');
    const chain = await ask('/chain');
    equal(`${chain.status} ${chain.text}`, '500 Worker failed: Worker exceeded CPU time limit.');
    await serves();
}, 200);

check('a Worker that fetches itself is ended by depth', async () => {
    const r = await ask('/self', { ms: 10000 });
    equal(r.status, 500);
    ok(r.text.includes('Subrequest depth limit exceeded.'), r.text);
    await until(() => node.stdout.split('GET /self 500').length - 1 === 17, 'seventeen answers');
});

check('it ends as it should, though turns do not', async () => {
    const lines = () => node.stdout.split('loops').length;
    const before = lines();
    const endless = ask('/loop');
    await until(() => lines() === before + 1, 'the line of the loop');
    equal((await ask('/finalizers')).text, 'ok'); // By the other shard.
    await until(() => lines() === before + 2, 'the line of the finalizer');
    const begun = Date.now();
    node.child.kill('SIGINT');
    equal((await endless).status, 500);
    equal(await node.exited, 0, 'exit code');
    ok(Date.now() - begun < 10000, `it took ${Date.now() - begun} ms`); // The turn has 30 s.
    ok(node.stderr.includes('stopping: a turn of bad did not end and is told to'), node.stderr);
}, 60);

run();
