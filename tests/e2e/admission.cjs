// e2e/admission.cjs: CELLD_MAX_REQUESTS: more requests wait for CELLD_ADMISSION_WAIT_MS, then they are refused.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { check, equal, until, run, spawn } = require('./harness.cjs');

const celld = process.argv[3];
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-admission-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));

const SOURCE = `

export default {
    async fetch(request) {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname === '/wait') await scheduler.wait(Number(searchParams.get('ms')));
        if (pathname === '/throw') throw new Error('thrown');
        return new Response('done');
    },
};
`;
const WAIT_MS = 2000;
let port;
let node;
const ask = (target) =>
    new Promise((resolve, reject) => {
        const r = http.get({ port, host: '127.0.0.1', path: target, agent: false }, (answer) => {
            let text = '';
            answer.on('data', (d) => (text += d));
            answer.on('end', () => resolve({ status: answer.statusCode, text, after: answer.headers['retry-after'] }));
        });
        r.on('error', reject);
    });

check('it starts', async () => {
    fs.writeFileSync(path.join(root, 'wrangler.json'), JSON.stringify({ name: 'admission', main: 'index.js', compatibility_date: '2026-08-01' }));
    fs.writeFileSync(path.join(root, 'index.js'), SOURCE);
    port = await new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const free = s.address().port;
            s.close(() => resolve(free));
        });
    });
    const env = { ...process.env, CELLD_THREADS: '2', CELLD_MAX_REQUESTS: '2', CELLD_ADMISSION_WAIT_MS: String(WAIT_MS) };
    node = spawn(celld, ['dev', root, '--port', String(port), '--no-watch'], { env });
    await until(() => node.stdout.includes('ready  http'), 'ready', 60000);
}, 90);

check('those that find no place in time are refused', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => ask(`/wait?ms=${3 * WAIT_MS}`)));
    equal(all.filter((a) => a.status === 200).length, 2, 'served');
    for (const a of all.filter((x) => x.status !== 200)) {
        equal(a.status, 503);
        equal(a.text, 'Worker refused: the node has as many requests as it may (CELLD_MAX_REQUESTS)');
        equal(a.after, '1');
    }
}, 60);

check('those that find one are served, on whatever shard it comes free', async () => {
    // Ten at a time, of which eight wait; errors give their place back too.
    for (let round = 0; round < 5; round++) {
        const all = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(i % 3 === 0 ? '/throw' : '/wait?ms=20')));
        equal(all.filter((a) => a.status === 503).length, 0, 'refused');
        equal(all.filter((a) => a.status === 500).length, 4, 'thrown');
    }
}, 60);

check('a client that leaves gives its place in the queue back', async () => {
    const holders = [ask(`/wait?ms=${WAIT_MS / 2}`), ask(`/wait?ms=${WAIT_MS / 2}`)];
    for (let i = 0; i < 6; i++) {
        const s = net.connect(port, '127.0.0.1', () => s.write('GET /wait?ms=10000 HTTP/1.1\r\nHost: x\r\n\r\n', () => s.destroy()));
        s.on('error', () => {});
    }
    equal((await Promise.all(holders)).every((a) => a.status === 200), true);
    equal((await ask('/')).text, 'done');
}, 60);

check('it ends', async () => {
    node.child.kill('SIGINT');
    equal(await node.exited, 0);
}, 60);

run();
