// e2e/cells_limits.cjs: what runs out or jumps: disks, memory, clocks, and the time that a node is given to end.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { check, equal, ok, until, sleep, run, spawn } = require('./harness.cjs');
const { LEDGER, Ledger, project, deploy, node, fresh } = require('./cells_nodes.cjs');

const fenced = (program, code) => {
    equal(code, 3, `exit code: ${program.stderr}`);
    ok(/^SELF-FENCE: /m.test(program.stderr), program.stderr);
};

// The size that no file of a program may pass from now on; undefined: there is no limit any more.
const limitFiles = (program, bytes = 'unlimited') => {
    const { status, stderr } = spawnSync('prlimit', ['--pid', program.child.pid, `--fsize=${bytes}:`]);
    equal(status, 0, String(stderr));
};

check('files that may not grow: writes are refused, and it goes on when there is room, or fences', async () => {
    const dir = fresh('bucket');
    const bucket = `file://${dir}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b', 'c']);
    const start = () => node(bucket, { env: { CELLD_TTL_MS: '3000', CELLD_LTX_DURABILITY_TIMEOUT_SECS: '2' } }).ready();
    let program = await start();
    for (let i = 0; i < 6; i++) equal((await one.write(program.ask)).status, 200);
    for (const ms of [500, 6000]) {
        const sizes = fs.readdirSync(dir).map((f) => fs.statSync(path.join(dir, f)).size);
        limitFiles(program, Math.max(...sizes) + 300000);
        const statuses = new Set();
        const refused = () => statuses.has(500) || statuses.has(503) || statuses.has(0);
        const gone = () => program.child.exitCode !== null;
        for (let from = Date.now(); (Date.now() < from + ms || !refused()) && !gone();) {
            const answers = await Promise.all(Array.from({ length: 6 }, () => one.write(program.ask, undefined, 100000)));
            answers.forEach((a) => statuses.add(a.status));
        }
        if (!gone()) limitFiles(program);
        await sleep(200);
        await until(async () => gone() || (await one.write(program.ask, 'a')).status === 200, 'there is room again', 30000);
        if (gone()) {
            fenced(program, await program.exited);
            program = await start();
        }
        await one.check(program.ask);
    }
    program.child.kill('SIGTERM');
    equal(await program.exited, 0, `exit code: ${program.stderr}`);
}, 180);

const CLOCK = `
import { DurableObject } from 'cloudflare:workers';
export class Clock extends DurableObject {
    async arm(ms) {
        await this.ctx.storage.setAlarm(Date.now() + ms);
        return Date.now();
    }
    alarm() {
        const rings = this.ctx.storage.kv.get('rings') ?? 0;
        this.ctx.storage.kv.put('rings', rings + 1);
    }
    async look() {
        return { rings: this.ctx.storage.kv.get('rings') ?? 0, alarm: await this.ctx.storage.getAlarm(), now: Date.now() };
    }
}
export default {
    async fetch(request, env) {
        const [, name, method, ...args] = new URL(request.url).pathname.split('/');
        return Response.json(await env.CLOCK.getByName(name)[method](...args.map(Number)));
    },
};`;

// The clock of programs with the environment is ahead by what set() says; the monotonic one is left alone.
const fakeClock = () => {
    const library = fs.readdirSync('/usr/lib').map((d) => `/usr/lib/${d}/faketime/libfaketimeMT.so.1`).find((f) => fs.existsSync(f));
    ok(library, 'libfaketimeMT.so.1 is not there (package faketime)');
    const file = path.join(fresh('clock'), 'time');
    const set = (seconds) => {
        fs.writeFileSync(`${file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`);
        fs.renameSync(`${file}.new`, file);
    };
    set(0);
    // The runtime of the address sanitizer wants to be the first library; it is the second one here.
    const asan = [process.env.ASAN_OPTIONS, 'verify_asan_link_order=0'].filter(Boolean).join(':');
    return { set, env: { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1', ASAN_OPTIONS: asan } };
};

check('steps of the clock across an alarm', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(CLOCK, ['Clock']), bucket);
    const clock = fakeClock();
    const program = await node(bucket, { env: { ...clock.env, CELLD_THREADS: '1', CELLD_TTL_MS: '3000' } }).ready();
    const rings = async (name) => (await program.json(`/${name}/look`)).rings;
    await program.json('/far/arm/3600000');
    await program.json('/farther/arm/10800000');
    clock.set(7200);
    const now = (await program.json('/near/look')).now;
    ok(now - Date.now() > 7000e3, 'the clock is not fake');
    await program.json('/near/arm/200'); // Whoever arms makes the shard look; without that it would within a minute.
    await program.json('/near2/arm/200');
    await until(async () => (await rings('far')) === 1, 'an alarm that a step made due', 65000);
    await until(async () => (await rings('near')) === 1, 'a near alarm', 10000);
    equal(await rings('farther'), 0, 'an alarm that is not due yet');
    await program.json('/back/arm/1500');
    clock.set(0); // Two hours back: due in two hours.
    await sleep(2500);
    equal(await rings('back'), 0, 'an alarm of the future');
    clock.set(7260);
    await program.json('/near/arm/100');
    await until(async () => (await rings('back')) === 1, 'the alarm when its time has come', 65000);
    equal(await rings('far'), 1, 'no alarm rings twice');
    await program.stop(); // Nor did any of it cost the lease.
}, 180);

check('a clock that jumps ahead makes another node take over; the one that was alive fences, and nothing is lost', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b', 'c']);
    const env = { CELLD_TTL_MS: '4000' };
    const right = await node(bucket, { name: 'right', env }).ready();
    for (let i = 0; i < 9; i++) equal((await one.write(right.ask)).status, 200);
    const clock = fakeClock();
    clock.set(3600);
    const ahead = await node(bucket, { name: 'ahead', env: { ...env, ...clock.env } }).ready();
    const stop = one.start(right.ask, 4);
    await until(async () => (await one.write(ahead.ask)).status === 200, 'the one that is ahead takes over', 30000);
    await stop();
    fenced(right, await right.exited);
    await one.check(ahead.ask);
    // Its lease is of the future for everybody but itself.
    await ahead.stop();
    const after = await node(bucket, { name: 'ahead', env }).ready();
    await one.check(after.ask);
    await after.stop();
}, 120);

const RESIDENT = `
import { DurableObject } from 'cloudflare:workers';
export class Resident extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        this.keep = new Array(200).fill(ctx.id.name);
    }
    add(n) {
        const sum = (this.ctx.storage.kv.get('sum') ?? 0) + n;
        this.ctx.storage.kv.put('sum', sum);
        return sum;
    }
    heap() {
        for (const a = []; ; ) a.push(new Array(1e4).fill(a.length));
    }
    buffers() {
        for (const a = []; ; ) a.push(new Uint8Array(1 << 20).fill(1));
    }
}
export default {
    async fetch(request, env) {
        const [, name, method, n] = new URL(request.url).pathname.split('/');
        return Response.json(await env.RESIDENT.getByName(name)[method](Number(n)));
    },
};`;

const resident = Number(process.env.E2E_RESIDENT ?? 500); // 2,000 in a long run.
check(`memory runs out while ${resident} objects are resident: the others go on`, async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(RESIDENT, ['Resident']), bucket);
    const program = await node(bucket, { env: { CELLD_HEAP_LIMIT_MB: '48', CELLD_MAX_RESIDENT_CELLS: '4000' } }).ready();
    const count = resident;
    const each = async (n) => {
        let next = 0;
        const sums = new Map();
        const one = async () => {
            while (next < count) {
                const i = next++;
                let r;
                await until(async () => (r = await program.ask(`/c${i}/add/${n}`)).status === 200, `c${i}: ${JSON.stringify(r)}`, 60000);
                sums.set(i, Number(r.text));
            }
        };
        await Promise.all(Array.from({ length: 32 }, one));
        return sums;
    };
    for (const [, sum] of await each(1)) equal(sum, 1);
    for (const how of ['heap', 'buffers']) {
        const greedy = program.ask(`/greedy/${how}`, { ms: 60000 });
        let beside = 0;
        const look = setInterval(() => program.ask('/c7/add/0').then((r) => (beside += r.status === 200 ? 1 : 0)), 50);
        const answer = await greedy;
        equal(answer.status, 500, answer.text);
        const why = how === 'heap' ? "Durable Object's isolate exceeded its memory limit and was reset." : 'Array buffer allocation failed';
        equal(answer.text, `Worker failed: ${why}`);
        await until(() => beside > 0, 'others are served', 30000);
        clearInterval(look);
    }
    for (const [i, sum] of await each(0)) equal(sum, 1, `c${i}`);
    await program.stop();
}, 300);

check('SIGTERM while writers run: what was acknowledged is sealed, and the next start recovers nothing', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b', 'c', 'd']);
    const work = fresh('work');
    for (let round = 0; round < 3; round++) {
        const program = await node(bucket, { work }).ready();
        ok(!/recovery_claimed/.test(program.stdout), program.stdout);
        await one.check(program.ask);
        const before = one.acknowledged;
        const stop = one.start(program.ask, 12);
        await until(() => one.acknowledged > before + 30, 'writes');
        await program.stop();
        await stop();
    }
    const from = Date.now();
    const program = await node(bucket, { work }).ready();
    ok(Date.now() - from < 8000, `a start after a graceful end took ${Date.now() - from} ms`); // Less than a lease.
    await one.check(program.ask);
    await program.stop();
}, 120);

const ROOM = `
import { DurableObject } from 'cloudflare:workers';
export class Room extends DurableObject {
    fetch(request) {
        const [client, server] = Object.values(new WebSocketPair());
        this.ctx.acceptWebSocket(server);
        server.serializeAttachment({ said: 0 });
        return new Response(null, { status: 101, webSocket: client });
    }
    webSocketMessage(ws, text) {
        const { said } = ws.deserializeAttachment();
        ws.serializeAttachment({ said: said + 1 });
        this.ctx.storage.kv.put('said', (this.ctx.storage.kv.get('said') ?? 0) + 1);
        ws.send(text + ' ' + (said + 1) + ' ' + this.ctx.storage.kv.get('said'));
    }
    webSocketClose(ws, code) {
        this.ctx.storage.kv.put('closed', code);
    }
}
export default { fetch: (request, env) => env.ROOM.getByName('room').fetch(request) };`;

check('hibernating WebSockets hear 1012 when their node ends, and come back to what was stored', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(ROOM, ['Room']), bucket);
    const work = fresh('work');
    const open = (port) =>
        new Promise((resolve, reject) => {
            const ws = new WebSocket(`ws://127.0.0.1:${port}/`);
            ws.heard = [];
            ws.onmessage = (m) => ws.heard.push(m.data);
            ws.onclose = (e) => (ws.closed = e);
            ws.onopen = () => resolve(ws);
            ws.onerror = () => reject(new Error('no socket'));
        });
    let said = 0;
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM']) {
        const program = await node(bucket, { work, env: { CELLD_IDLE_EVICT_S: '1', CELLD_TTL_MS: '1500' } }).ready();
        const sockets = await Promise.all(Array.from({ length: 20 }, () => open(program.port)));
        for (const ws of sockets) ws.send('a');
        await until(() => sockets.every((ws) => ws.heard.length === 1), 'answers');
        said += 20;
        equal(Math.max(...sockets.map((ws) => Number(ws.heard[0].split(' ')[2]))), said, 'all were counted');
        if (signal === 'SIGTERM') {
            await sleep(2500); // The object is evicted; its sockets stay.
            sockets[0].send('b');
            await until(() => sockets[0].heard.length === 2, 'an answer after it woke up', 20000);
            equal(sockets[0].heard[1], `b 2 ${++said}`);
            await program.stop();
        } else await program.kill();
        await until(() => sockets.every((ws) => ws.closed), 'all are closed');
        equal([...new Set(sockets.map((ws) => ws.closed.code))].join(), signal === 'SIGTERM' ? '1012' : '1006');
    }
}, 120);

run();
