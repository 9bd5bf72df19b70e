// cells.mjs: the measuring half of `tools/bench cells`, which says how it is called.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

import * as load from './load.mjs';
import { binary, copyApp, cpu, descriptors, dir, figure, forget, freePort, launch, line, median, memory, servers, sleep, top } from './peers.mjs';
import { rate } from './wrk.mjs';

const { values: opts } = parseArgs({
    args: process.argv.slice(3),
    options: {
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '4' },
        only: { type: 'string', default: 'noop,count,sql,echo,first,idle,parked,store' },
        connections: { type: 'string', default: '64' },
        idle: { type: 'string', default: '1000,10000' },
        parked: { type: 'string', default: '5000' },
        store: { type: 'string', default: '1,100,5000' },
        delay: { type: 'string', default: '10' },
        alone: { type: 'boolean', default: false },
    },
});
const run = promisify(execFile);
const connections = Number(opts.connections);
const names = opts.alone ? ['celld'] : ['celld', 'workerd'];
const wanted = opts.only.split(',');
const numbers = (text) => text.split(',').map(Number);

async function start(name, options = {}, env = {}) {
    const port = await freePort();
    return launch(servers[name]('cells', port, options), port, { CELLD_MAX_RESIDENT_CELLS: '0', ...env });
}

// Each server in turn, round by round: { celld: [result, ...], workerd: [...] }, undefined for one that failed.
async function rounds(count, measure) {
    const results = { celld: [], workerd: [] };
    for (let round = 0; round < count; round++) {
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
            try {
                results[name].push(await measure(name));
            } catch (error) {
                console.log(`        ${name}: ${String(error.message).split('\n')[0]}`);
            }
            await sleep(100);
        }
    }
    return results;
}
const tell = (of, results, lines) => {
    for (const [key, what, unit] of lines) {
        const [a, b] = ['celld', 'workerd'].map((name) => (results[name].length > 0 ? median(results[name].map((r) => r[key])) : undefined));
        line(of, what, unit, a, b);
    }
};

// ---- Rates

const RATES = { noop: ['/noop/n', 1], count: ['/count/c', 1], sql: ['/sql/s', 1000] };

async function measureRate(name, what) {
    const server = await start(name);
    const [prefix, count] = RATES[what];
    try {
        if (count > 1) await load.sequence(server.port, prefix, 0, count, 8);
        await rate(server, prefix, count, connections, 1);
        return await rate(server, prefix, count, connections, Number(opts.seconds));
    } finally {
        await server.stop();
    }
}

async function measureEcho(name) {
    const server = await start(name);
    try {
        const sockets = await load.sockets(server.port, '/echo/e', connections, connections);
        await load.echo(sockets, 1);
        const before = cpu(server.pid);
        const { trips, seconds, p50, p99 } = await load.echo(sockets, Number(opts.seconds));
        const used = cpu(server.pid) - before;
        sockets.forEach((s) => s.destroy());
        return { rps: trips / seconds, p50, p99, cpu: used / trips };
    } finally {
        await server.stop();
    }
}

const PER_REQUEST = [['rps', `requests/s, ${connections} conns`, ''], ['cpu', 'CPU per request', 'us'], ['p50', 'p50', 'ms'], ['p99', 'p99', 'ms']];

// ---- First requests

async function measureFirst(name) {
    const result = {};
    forget(name, 'cells');
    let server = await start(name);
    try {
        for (const kind of ['noop', 'count', 'sql']) {
            await load.sequence(server.port, `/${kind}/warm`, 0, 100, 1);
            result[`new-${kind}`] = load.at(await load.sequence(server.port, `/${kind}/f`, 0, 300, 1), 0.5);
        }
        await server.stop();
        server = await start(name);
        for (const kind of ['count', 'sql']) {
            await load.sequence(server.port, `/${kind}/warm`, 0, 100, 1);
            result[`old-${kind}`] = load.at(await load.sequence(server.port, `/${kind}/f`, 0, 300, 1), 0.5);
        }
        return result;
    } finally {
        await server.stop();
    }
}

// ---- What idle objects and sockets cost

async function measureIdle(name, kind, count) {
    forget(name, 'cells');
    const server = await start(name, { resident: true });
    try {
        await load.sequence(server.port, `/${kind}/warm`, 0, 200, 8);
        await sleep(1000);
        const kib = memory(server.pid, 'VmRSS') * 1024, fds = descriptors(server.pid);
        await load.sequence(server.port, `/${kind}/i`, 0, count, 8);
        await sleep(3000);
        return { kib: (memory(server.pid, 'VmRSS') * 1024 - kib) / count, fds: (descriptors(server.pid) - fds) / count };
    } finally {
        await server.stop();
        forget(name, 'cells');
    }
}

// A hundred sockets for each object. Both put idle objects to sleep, workerd after ten seconds.
async function measureParked(name, count) {
    const server = await start(name, {}, { CELLD_IDLE_EVICT_S: '5' });
    try {
        const warm = await load.sockets(server.port, '/echo/warm', 200, 2);
        await sleep(1000);
        const before = memory(server.pid, 'VmRSS');
        const sockets = await load.sockets(server.port, '/echo/p', count, Math.ceil(count / 100));
        const awake = memory(server.pid, 'VmRSS');
        await sleep(15000);
        const result = { awake: ((awake - before) * 1024) / count, kib: ((memory(server.pid, 'VmRSS') - before) * 1024) / count };
        [...warm, ...sockets].forEach((s) => s.destroy());
        return result;
    } finally {
        await server.stop();
    }
}

// ---- A store that takes its time

async function measureStore() {
    const port = await freePort(), storePort = await freePort();
    const project = copyApp('cells', path.join(dir, 'deployed'));
    const store = await launch([process.execPath, path.join(top, 'tests/peers/store.mjs'), String(storePort), opts.delay], storePort);
    const env = {
        CELLD_BUCKET: 's3://bench', S3_ENDPOINT: `http://127.0.0.1:${storePort}`, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b',
        CELLD_WATCH: path.join(dir, 'watch'), CELLD_MAX_RESIDENT_CELLS: '0',
    };
    const requests = async () => (await fetch(`${store.url}requests`)).json();
    await run(binary, ['deploy', project], { env: { ...process.env, ...env } });
    const put = [];
    for (let i = 0; i < 50; i++) {
        const from = performance.now();
        await (await fetch(`${store.url}bench/probe-${i}`, { method: 'PUT', body: 'x'.repeat(1024) })).arrayBuffer();
        put.push(performance.now() - from);
    }
    const server = await launch([binary, '--listen', `127.0.0.1:${port}`], port, env);
    try {
        console.log(`store   one PUT takes ${figure(median(put))} ms`);
        const lone = await load.sequence(server.port, '/count/lone', 0, 1, 1).then(() => rate(server, '/count/l', 1, 1, 3));
        console.log(`store   a lone write takes ${figure(lone.p50)} ms: ${figure(lone.p50 / median(put))} PUTs`);
        const fresh = load.at(await load.sequence(server.port, '/count/new', 0, 30, 1), 0.5);
        console.log(`store   first write to a new object ${figure(fresh)} ms: ${figure(fresh / median(put))} PUTs`);
        for (const cells of numbers(opts.store)) {
            const conns = Math.max(connections, Math.min(cells * 2, 1024));
            await load.sequence(server.port, '/count/b', 0, cells, 64);
            await rate(server, '/count/b', cells, conns, 1);
            const before = await requests();
            const r = await rate(server, '/count/b', cells, conns, Number(opts.seconds));
            const puts = (await requests()).PUT - before.PUT;
            console.log(`store   ${String(cells).padStart(5)} cells, ${String(conns).padStart(4)} conns: ${figure(r.rps).padStart(6)} writes/s, ${figure((puts / r.requests) * 1000)} PUTs per 1,000, ` +
                `p50 ${figure(r.p50)} ms, p99 ${figure(r.p99)} ms, CPU ${figure(r.cpu)} us`);
        }
    } finally {
        await server.stop();
        await store.stop();
    }
}

// ----

console.log(`celld beside workerd with objects on the local disk, ${opts.rounds} rounds of ${opts.seconds} s; ratio: celld / workerd`);
try {
    const count = Number(opts.rounds);
    for (const what of ['noop', 'count', 'sql']) {
        if (wanted.includes(what)) tell(what, await rounds(count, (name) => measureRate(name, what)), PER_REQUEST);
    }
    if (wanted.includes('echo')) tell('echo', await rounds(count, measureEcho), PER_REQUEST);
    if (wanted.includes('first')) {
        tell('first', await rounds(count, measureFirst), [['new-noop', 'new, no storage', 'ms'], ['new-count', 'new, one key', 'ms'],
            ['new-sql', 'new, a table', 'ms'], ['old-count', 'inactive, one key', 'ms'], ['old-sql', 'inactive, a table', 'ms']]);
    }
    for (const n of wanted.includes('idle') ? numbers(opts.idle) : []) {
        for (const kind of ['noop', 'count', 'sql']) {
            tell('idle', await rounds(1, (name) => measureIdle(name, kind, n)), [['kib', `${kind}, memory, of ${n}`, 'KiB'], ['fds', `${kind}, descriptors`, '']]);
        }
    }
    for (const n of wanted.includes('parked') ? numbers(opts.parked) : []) {
        tell('parked', await rounds(1, (name) => measureParked(name, n)), [['awake', `a socket, of ${n}`, 'KiB'], ['kib', 'when its object sleeps', 'KiB']]);
    }
    if (wanted.includes('store')) await measureStore();
} finally {
    fs.rmSync(dir, { recursive: true, force: true });
}
