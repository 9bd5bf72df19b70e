// fleet.mjs: the measuring half of `tools/bench fleet`, which says how it is called. No peer of celld runs a fleet on machines of
// its own, so there is nothing beside its figures but the aims.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { at } from './load.mjs';
import { binary, copyApp, cpu, dir, figure, freePort, launch, sleep, top } from './peers.mjs';
import { rate } from './wrk.mjs';

const { values: opts } = parseArgs({
    args: process.argv.slice(3),
    options: {
        only: { type: 'string', default: 'idle,writes,forward,takeover,handoff,rolling' },
        seconds: { type: 'string' },
        cells: { type: 'string' },
        resident: { type: 'string' },
        watched: { type: 'string' },
        delay: { type: 'string', default: '10' },
        ttl: { type: 'string' },
        threads: { type: 'string', default: '2' },
        quick: { type: 'boolean', default: false },
    },
});
const number = (name, usual, quick) => Number(opts[name] ?? (opts.quick ? quick : usual));
const seconds = number('seconds', 4, 1), cells = number('cells', 1000, 150), resident = number('resident', 200, 30);
const watched = number('watched', 50, 20), ttl = number('ttl', 10000, 3000), idleSeconds = opts.quick ? 6 : 30;
const run = promisify(execFile);
const wanted = opts.only.split(',');
const say = (text) => process.stderr.write(`${text}\n`);

// ---- The table

const row = (part, what, value, aim = '') => console.log(`${part.padEnd(9)} ${what.padEnd(58)} ${String(value).padStart(10)}  ${aim}`);
const ms = (x) => (x === undefined ? '-' : `${figure(x)} ms`);
const sorted = (list) => [...list].sort((a, b) => a - b);
const spread = (part, what, list, aim = '') => {
    const s = sorted(list);
    row(part, `${what}, p50`, ms(at(s, 0.5)));
    row(part, `${what}, p99`, ms(at(s, 0.99)), aim);
    row(part, `${what}, longest`, ms(s.at(-1)));
};

// ---- A store, and nodes on it

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

class Node {
    constructor(fleet, name) {
        Object.assign(this, { fleet, name, work: path.join(fleet.dir, name) });
    }
    async start() {
        const env = { ...process.env, ...this.fleet.env, AWS_ACCESS_KEY_ID: this.name, CELLD_NODE: this.name, CELLD_WATCH: this.work };
        const child = (this.child = spawn(binary, ['--listen', `127.0.0.1:${this.port ?? 0}`], { stdio: ['ignore', 'pipe', 'pipe'], env }));
        running.add(child);
        let text = '';
        child.stderr.on('data', (d) => process.env.BENCH_LOG && process.stderr.write(d));
        this.ended = new Promise((resolve) => child.on('exit', (code, signal) => (running.delete(child), resolve(signal ?? code))));
        await new Promise((resolve, reject) => {
            child.stdout.on('data', (d) => {
                if (process.env.BENCH_LOG) process.stderr.write(d);
                if (this.text === undefined && /internal listening on .*\n/.test((text += d))) resolve();
            });
            this.ended.then((how) => reject(new Error(`${this.name} ended with ${how}`)));
        });
        this.port = Number(text.match(/^celld listening on 127\.0\.0\.1:(\d+)/m)[1]);
        this.internal = Number(text.match(/internal listening on 127\.0\.0\.1:(\d+)/)[1]);
        return Object.assign(this, { pid: child.pid, url: `http://127.0.0.1:${this.port}/` });
    }
    async stop() {
        this.child.kill('SIGTERM');
        const how = await this.ended;
        if (how !== 0) throw new Error(`${this.name} ended with ${how}`);
    }
    phases = async () => (await (await fetch(`http://127.0.0.1:${this.internal}/state`)).json()).phases;
}

class Fleet {
    static async open(what, names, env = {}) {
        const fleet = new Fleet(), storePort = await freePort();
        fleet.dir = fs.mkdtempSync(path.join(dir, 'fleet-'));
        fleet.store = await launch([process.execPath, path.join(top, 'tests/peers/store.mjs'), String(storePort), opts.delay], storePort);
        fleet.env = {
            CELLD_BUCKET: 's3://bench', S3_ENDPOINT: `http://127.0.0.1:${storePort}`, AWS_SECRET_ACCESS_KEY: 'b', CELLD_TTL_MS: String(ttl),
            CELLD_THREADS: opts.threads, CELLD_MAX_RESIDENT_CELLS: '0', ...env,
        };
        say(`${what}: a store that takes ${opts.delay} ms, and ${names.length} nodes`);
        await run(binary, ['deploy', copyApp('cells', path.join(dir, 'deployed'))], { env: { ...process.env, ...fleet.env, AWS_ACCESS_KEY_ID: 'deploy' } });
        fleet.nodes = await Promise.all(names.map((name) => new Node(fleet, name).start()));
        return fleet;
    }
    requests = async () => (await fetch(`${this.store.url}requests`)).json();
    async close() {
        for (const node of this.nodes) if (node.child.exitCode === null) node.child.kill('SIGKILL');
        await Promise.all(this.nodes.map((node) => node.ended));
        await this.store.stop();
    }
}
const total = (requests) => Object.entries(requests.by).reduce((sum, [who, n]) => sum + (['nobody', 'deploy'].includes(who) ? 0 : n), 0); // Of nodes.

// How many of each kind there were between two looks, the most frequent first.
const kindsOf = (before, after) =>
    Object.entries(after.kinds).map(([kind, n]) => [kind, n - (before.kinds[kind] ?? 0)]).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
const tellKinds = (part, before, after, per) => kindsOf(before, after).forEach(([kind, n]) => row(part, `for each cell, ${kind}`, figure(n / per)));

// Requests over kept connections; a lost one is an answer with status 0.
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
const ask = (port, target) =>
    new Promise((resolve) => {
        const r = http.get({ port, host: '127.0.0.1', path: target, agent }, (answer) => {
            answer.resume().on('end', () => resolve(answer.statusCode)).on('error', () => resolve(0));
        });
        r.setTimeout(60000, () => r.destroy()).on('error', () => resolve(0));
    });

// work(i) for each i below count, 64 at a time.
async function each(count, work) {
    let next = 0;
    await Promise.all(Array.from({ length: Math.min(64, count) }, async () => {
        while (next < count) await work(next++);
    }));
}
const make = (port, prefix, count) => each(count, async (i) => {
    for (let left = 20, status; (status = await ask(port, `${prefix}${i}`)) !== 200; await sleep(50)) {
        if (--left === 0) throw new Error(`${prefix}${i}: ${status}`);
    }
});

// ---- What there is to measure

async function measureIdle() {
    const fleet = await Fleet.open('idle', ['a', 'b', 'c'], { CELLD_TTL_MS: '10000' });
    try {
        await make(fleet.nodes[0].port, '/count/i', 30);
        say(`idle: until all is folded, then ${idleSeconds} s`);
        await sleep(opts.quick ? 4000 : 15000);
        const used = fleet.nodes.map((node) => cpu(node.pid)), before = await fleet.requests();
        await sleep(idleSeconds * 1000);
        const after = await fleet.requests();
        for (const [i, node] of fleet.nodes.entries()) {
            row('idle', `store requests/s of node ${node.name}`, figure(((after.by[node.name] ?? 0) - (before.by[node.name] ?? 0)) / idleSeconds), '1 at most');
            row('idle', `CPU of node ${node.name}`, `${figure((cpu(node.pid) - used[i]) / idleSeconds / 1e4)} %`);
        }
        for (const [kind, n] of kindsOf(before, after)) row('idle', `store requests/s of all, ${kind}`, figure(n / idleSeconds));
    } finally {
        await fleet.close();
    }
}

async function measureWrites() {
    for (const posture of ['bucket', 'fleet']) {
        const fleet = await Fleet.open(`writes, ${posture}`, ['a', 'b', 'c'], { CELLD_DURABILITY: posture });
        try {
            const [node] = fleet.nodes;
            await make(node.port, '/count/w', 200);
            await sleep(2500); // The ensemble is named a second after the first write.
            say(`writes, ${posture}: ${seconds} s each with 1, 16 and 64 connections`);
            const lone = await rate(node, '/count/w', 1, 1, seconds);
            row('writes', `${posture}: a lone write, p50`, ms(lone.p50), posture === 'fleet' ? '2 ms at most' : '');
            row('writes', `${posture}: a lone write, p99`, ms(lone.p99));
            for (const connections of [16, 64]) {
                const r = await rate(node, '/count/w', 200, connections, seconds);
                row('writes', `${posture}: writes/s, ${connections} connections, 200 cells`, figure(r.rps));
                row('writes', `${posture}: p50, ${connections} connections`, ms(r.p50));
                row('writes', `${posture}: p99, ${connections} connections`, ms(r.p99));
            }
        } finally {
            await fleet.close();
        }
    }
}

async function measureForward() {
    const fleet = await Fleet.open('forward', ['a', 'b', 'c']);
    try {
        const [owner, other] = fleet.nodes;
        await make(owner.port, '/noop/f', 50);
        await make(owner.port, '/count/f', 50);
        await sleep(2500);
        say(`forward: ${seconds} s each`);
        for (const [kind, what] of [['noop', 'an empty call'], ['count', 'a write']]) {
            for (const [node, where] of [[owner, 'at its node'], [other, 'by another node']]) {
                await rate(node, `/${kind}/f`, 50, 1, 1);
                const one = await rate(node, `/${kind}/f`, 50, 1, seconds), many = await rate(node, `/${kind}/f`, 50, 32, seconds);
                row('forward', `${what} ${where}, 1 connection, p50`, ms(one.p50));
                row('forward', `${what} ${where}, 1 connection, p99`, ms(one.p99));
                row('forward', `${what} ${where}, requests/s of 32 connections`, figure(many.rps));
            }
        }
    } finally {
        await fleet.close();
    }
}

// When the lease of a node ends, by the clock of this machine.
async function leaseEnd(fleet, name) {
    const list = await (await fetch(`${fleet.store.url}bench?prefix=nodes/`)).text();
    const ends = [];
    for (const [, key] of list.matchAll(/<Key>([^<]+)<\/Key>/g)) {
        const lease = await (await fetch(`${fleet.store.url}bench/${decodeURIComponent(key)}`)).json();
        if (key.includes(name)) ends.push(lease.expires_ms);
    }
    return Math.max(...ends);
}

async function measureTakeover() {
    const fleet = await Fleet.open('takeover', ['dying', 'b', 'c']);
    try {
        const [dying, other] = fleet.nodes;
        say(`takeover: ${cells} cells of one node`);
        await make(dying.port, '/count/t', cells);
        await sleep(2000);
        dying.child.kill('SIGKILL');
        const killed = Date.now(), end = await leaseEnd(fleet, 'dying'), before = await fleet.requests();
        say('takeover: killed');
        // Each cell is asked once its node's lease has ended: until then it could only wait.
        let probe = 0;
        while ((await ask(other.port, '/count/t0')) !== 200) {
            if (++probe > 3000) throw new Error('never taken over');
            await sleep(10);
        }
        const claimable = Date.now(), waits = [];
        let again = 0, failed = 0;
        await each(cells, async (i) => {
            const from = performance.now();
            for (let tries = 0; ; tries++) {
                const status = await ask(other.port, `/count/t${i}`);
                if (status === 200) break;
                if (tries === 0) again++;
                if (tries === 200) {
                    failed++;
                    break;
                }
                await sleep(20);
            }
            waits.push(performance.now() - from);
        });
        const last = Date.now(), after = await fleet.requests();
        row('takeover', `lease of the killed node ended after (TTL ${ttl} ms)`, ms(end - killed));
        row('takeover', 'from the end of the lease to the first cell served', ms(claimable - end), '2000 ms at most');
        row('takeover', `from the end of the lease to the last of ${cells} served`, ms(last - end));
        row('takeover', 'cells not served on the first request after that', again, '0');
        row('takeover', 'cells never served', failed, '0');
        spread('takeover', 'a request to a cell, 64 at a time', waits);
        row('takeover', 'store requests from the kill on', total(after) - total(before));
        tellKinds('takeover', before, after, cells);
    } finally {
        await fleet.close();
    }
}

// Asks cells again and again, as a client does for what can be repeated, at any of the nodes; the longest time between two good
// answers of each.
function watch(nodes, prefix, count) {
    const gaps = new Array(count).fill(0), bad = new Map();
    let on = true;
    const one = async (i) => {
        let last = performance.now(), turn = i;
        while (on) {
            const status = await ask(nodes[turn % nodes.length].port, `${prefix}${i}`);
            const now = performance.now();
            if (status === 200) {
                gaps[i] = Math.max(gaps[i], now - last);
                last = now;
            } else {
                turn++;
                bad.set(status, (bad.get(status) ?? 0) + 1);
            }
            await sleep(10);
        }
    };
    const all = Promise.all(gaps.map((_, i) => one(i)));
    return { gaps, bad, reset: () => gaps.fill(0), stop: () => ((on = false), all) };
}

async function measureHandoff() {
    const fleet = await Fleet.open('handoff', ['leaving', 'b', 'c'], { CELLD_IDLE_EVICT_S: '2' });
    try {
        const [leaving, ...others] = fleet.nodes;
        say(`handoff: ${cells} cells that sleep`);
        await make(leaving.port, '/count/d', cells);
        // For as long as more and more of them do.
        for (let awake = cells + 1, since = Date.now(); awake > 0 && Date.now() - since < 30000; await sleep(500)) {
            const now = (await leaving.phases()).resident ?? 0;
            if (now < awake) [awake, since] = [now, Date.now()];
        }
        say(`handoff: ${resident} cells that do not, ${watched} of them asked without a pause`);
        await make(leaving.port, '/count/r', resident);
        const w = watch(others, '/count/r', Math.min(watched, resident));
        await sleep(1500);
        const calm = sorted(w.gaps).at(-1);
        row('handoff', `cells of the node by phase`, JSON.stringify(await leaving.phases()).replaceAll('"', ''));
        w.reset();
        const before = await fleet.requests(), from = performance.now();
        await leaving.stop();
        const took = performance.now() - from, after = await fleet.requests();
        await sleep(1000);
        await w.stop();
        row('handoff', `${cells} dormant and ${resident} resident cells: the node ended in`, ms(took));
        row('handoff', 'store requests', total(after) - total(before));
        tellKinds('handoff', before, after, cells + resident);
        row('handoff', 'longest gap of a watched cell before that', ms(calm));
        spread('handoff', 'gap of a watched cell', w.gaps, '150 ms at most');
        row('handoff', 'answers other than 200', JSON.stringify(Object.fromEntries(w.bad)));
        say('handoff: the cells that slept');
        const waits = [];
        let again = 0;
        await each(Math.min(cells, 1000), async (i) => {
            const begun = performance.now();
            for (let tries = 0; (await ask(others[0].port, `/count/d${i}`)) !== 200; tries++) {
                if (tries === 0) again++;
                if (tries === 100) throw new Error(`/count/d${i} is not served`);
                await sleep(20);
            }
            waits.push(performance.now() - begun);
        });
        spread('handoff', 'first request to a cell that slept', waits);
        row('handoff', 'of those not served on the first request', again, '0');
    } finally {
        await fleet.close();
    }
}

async function measureRolling() {
    const fleet = await Fleet.open('rolling', ['a', 'b', 'c']);
    try {
        const { nodes } = fleet, count = Math.min(watched, resident);
        await Promise.all(nodes.map((node, k) => make(node.port, `/count/n${k}-`, Math.ceil(resident / 3))));
        for (const node of nodes) await make(node.port, '/count/m', count);
        const w = watch(nodes, '/count/m', count);
        await sleep(1500);
        w.reset();
        const took = [];
        for (const node of nodes) {
            say(`rolling: node ${node.name} ends and starts again`);
            const from = performance.now();
            await node.stop();
            await node.start();
            took.push(performance.now() - from);
            await sleep(1000);
        }
        await w.stop();
        row('rolling', 'a node was away for, longest of 3', ms(Math.max(...took)));
        spread('rolling', 'gap of a watched cell', w.gaps, '150 ms at most');
        row('rolling', 'answers other than 200 (0: connection refused)', JSON.stringify(Object.fromEntries(w.bad)));
    } finally {
        await fleet.close();
    }
}

// ----

const parts = { idle: measureIdle, writes: measureWrites, forward: measureForward, takeover: measureTakeover, handoff: measureHandoff, rolling: measureRolling };
for (const name of wanted) if (parts[name] === undefined) throw new Error(`--only: no part ${name}; there are ${Object.keys(parts).join(', ')}`);
console.log(`celld alone, nodes with ${opts.threads} shards on one machine, store of ${opts.delay} ms, TTL ${ttl} ms; load of the machine before: ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
row('part', 'what', 'figure', 'aim');
let bad = 0;
try {
    for (const name of wanted) {
        await parts[name]().catch((error) => {
            bad++;
            row(name, 'not measured', error.message.split('\n')[0]);
            if (process.env.BENCH_LOG) say(error.stack);
        });
    }
} finally {
    await run('rm', ['-rf', dir]); // Tens of thousands of directories: rmSync would hold this process for that long.
}
process.exit(bad === 0 ? 0 : 1);
