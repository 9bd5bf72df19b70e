// e2e/cells_pressure.cjs: a node whose memory is short, and what its operators see and do. fleet.md 4.8, 4.10;
// operations.md 5.6, 5.7.
'use strict';
const http = require('node:http');
const { check, equal, ok, until, sleep, run, spawn } = require('./harness.cjs');
const { ask, project, deploy, node, fresh } = require('./cells_nodes.cjs');

const HOLDER = (block) => `
const BLOCK = ${block};
import { DurableObject } from 'cloudflare:workers';
export class Holder extends DurableObject {
    block = new Uint8Array(BLOCK).fill(1); // What an object costs while it is in memory.
    add(n) {
        const sum = (this.ctx.storage.kv.get('sum') ?? 0) + n;
        if (n !== 0) this.ctx.storage.kv.put('sum', sum);
        return sum;
    }
    async arm(ms) {
        await this.ctx.storage.setAlarm(Date.now() + ms);
        return true;
    }
    alarm() {
        this.ctx.storage.kv.put('rings', (this.ctx.storage.kv.get('rings') ?? 0) + 1);
    }
    rings() {
        return this.ctx.storage.kv.get('rings') ?? 0;
    }
    own() {
        return this.ctx.id.toString();
    }
    async fetch(request) {
        await new Promise((done) => setTimeout(done, Number(request.url.split('/')[5] ?? 1500)));
        return Response.json(this.add(0));
    }
}
export default {
    async fetch(request, env) {
        const [, name, method, n] = new URL(request.url).pathname.split('/');
        const stub = env.HOLDER.getByName(name);
        return method === 'fetch' ? stub.fetch(request) : Response.json(await stub[method](Number(n)));
    },
};`;

// The internal listener of a node.
const operator = (program) => {
    const at = Number(program.stdout.match(/internal listening on 127\.0\.0\.1:(\d+)/)[1]);
    const call = (target, options) => ask(at, target, options).then((r) => ({ ...r, json: r.text.startsWith('{') ? JSON.parse(r.text) : undefined }));
    return { call, state: async () => (await call('/state')).json };
};

const start = async (bucket, env = {}) => {
    const program = await node(bucket, { env }).ready();
    await until(() => /internal listening/.test(program.stdout), 'the internal listener');
    return Object.assign(program, operator(program));
};

// Each of count objects is asked until it answers; gives what each said, and how many were refused.
const each = async (program, count, what) => {
    const said = new Map();
    let next = 0;
    let refused = 0;
    const one = async () => {
        while (next < count) {
            const i = next++;
            for (const end = Date.now() + 120000; ;) {
                const r = await program.ask(`/c${i}/${what(i)}`, { ms: 60000 });
                if (r.status === 200) {
                    said.set(i, JSON.parse(r.text));
                    break;
                }
                ok(Date.now() < end, `c${i}: ${r.status} ${r.text}`);
                ok(r.status === 500 || r.status === 503, `c${i}: ${r.status} ${r.text}`);
                refused++;
                await sleep(50);
            }
        }
    };
    await Promise.all(Array.from({ length: 16 }, one));
    return { said, refused };
};

const resident = Number(process.env.E2E_RESIDENT ?? 24); // 2,000 in a long run.
check(`the memory limit is reached with ${resident} objects: the node sheds and goes on, and nothing is lost`, async () => {
    const bucket = `file://${fresh('bucket')}`;
    const block = Math.round(((160 << 20) / resident)); // So that they, and not the program, are most of it.
    await deploy(project(HOLDER(block), ['Holder']), bucket);
    const limits = { CELLD_HEAP_LIMIT_MB: '1024', CELLD_MAX_RESIDENT_CELLS: '8000', CELLD_OPERATION_DEADLINE_MS: '1000', CELLD_TTL_MS: '4000' };
    let program = await start(bucket, { ...limits, CELLD_MAX_RSS_MB: '0' });
    const empty = (await program.state()).in_use_bytes;
    for (const [i, sum] of (await each(program, resident, () => 'add/1')).said) equal(sum, 1, `c${i}`);
    await sleep(1100);
    const before = await program.state();
    equal(before.occupied, resident);
    equal(before.residents.length, resident);
    equal(before.shedding, null);
    const full = before.in_use_bytes;
    ok(full > empty + (120 << 20), `${resident} objects take ${full - empty} bytes`);
    await program.stop();

    // Six in ten are left when it has shed enough.
    const limit = Math.round((empty + (full - empty) * 0.6) / 0.8 / 1048576);
    ok(limit * 1048576 < full * 0.95, `the limit would be ${limit} MiB of ${full >> 20}`);
    program = await start(bucket, { ...limits, CELLD_MAX_RSS_MB: String(limit) });
    await program.json('/armed/arm/3000');
    let most = 0;
    let shedding = null;
    let watching = true;
    const watch = (async () => {
        for (; watching; await sleep(200)) {
            const s = await program.state();
            if (s?.occupied === undefined) continue; // A shard collects garbage.
            most = Math.max(most, s.occupied);
            shedding ??= s.shedding;
        }
    })();
    const { said, refused } = await each(program, resident, () => 'add/1');
    for (const [i, sum] of said) ok(sum >= 2 && sum <= 2 + refused, `c${i}: ${sum}`);
    await until(() => shedding !== null, 'that the node sheds', 20000); // It looks once a second: all may be there before.
    watching = false;
    await watch;
    equal(shedding, 'memory');
    let after;
    await until(async () => (after = await program.state()).shedding === null, 'enough memory again', 60000);
    ok(after.node_load.shed_cells > 0, 'cells were shed');
    ok(after.in_use_bytes <= limit * 1048576, `${after.in_use_bytes} bytes in use, the limit is ${limit} MiB`);
    console.log(`     ${empty >> 20} MiB empty, ${full >> 20} MiB with all, limit ${limit} MiB: ${after.in_use_bytes >> 20} MiB and ${after.occupied} objects of at most ${most}, ${after.node_load.shed_cells} shed, ${refused} refused`);
    await until(async () => (await program.ask('/armed/rings')).text === '1', 'the alarm of an object that may have gone', 60000);
    await program.stop();
    // What was shed went into the bucket: a node with room has all of it.
    program = await start(bucket, { ...limits, CELLD_MAX_RSS_MB: '0' });
    const again = await each(program, resident, () => 'add/0');
    for (const [i, sum] of again.said) equal(sum, said.get(i), `c${i}`);
    await program.stop();
}, 300);

check('a call without room is refused, whether it was fetch() or a method', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(HOLDER(1000), ['Holder']), bucket);
    const program = await start(bucket, { CELLD_THREADS: '1', CELLD_MAX_RESIDENT_CELLS: '1', CELLD_OPERATION_DEADLINE_MS: '200' });
    void program.ask('/a/fetch/60000'); // Nothing makes it leave meanwhile.
    await until(async () => (await program.state()).occupied === 1, 'the object that has the room');
    const answers = await Promise.all(['/b/add/1', '/b/fetch'].map((target) => fetch(`http://127.0.0.1:${program.port}${target}`)));
    for (const r of answers) {
        equal(r.status, 503, r.url);
        equal(await r.text(), '{"error":"CapacityExhausted"}');
        equal(r.headers.get('retry-after'), '1');
        equal(r.headers.get('x-celld-reason'), 'capacity');
    }
    await program.kill();
}, 60);

check('operators see the cells of a node, activate one and evict one', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(HOLDER(1000), ['Holder']), bucket);
    const program = await start(bucket);
    const { call, state } = program;
    const scope = `Holder:${await program.json('/a/own')}`;
    let s = await state();
    equal(s.ownership, 'file');
    equal(JSON.stringify(s.residents), JSON.stringify([scope]));
    equal(JSON.stringify(s.phases), JSON.stringify({ resident: 1 }));
    equal(s.deployment.script, 'cells');
    ok(s.node_load.sampled_ms > Date.now() - 5000, 'a sample');
    ok(s.node_load.rss_bytes >= s.node_load.in_use_bytes && s.node_load.open_fds < s.node_load.fd_limit, JSON.stringify(s.node_load));
    await until(async () => (await state()).owned_cells === 1, 'the records of what is on the disk were read');
    await program.json('/a/add/0');
    equal(await program.json('/a/add/1'), 1);
    s = await state();
    equal(s.published[scope].epoch, 1);
    ok(s.published[scope].txid >= 1 && s.publishes >= 1, JSON.stringify(s));
    equal(JSON.stringify([s.stops, s.handed_off, s.handoff_failed, s.remote_route_refreshes, s.drain]), '[0,0,0,0,null]');
    await program.json('/a/add/-1');

    const command = async (...words) => {
        const p = spawn(process.argv[3], ['cell', ...words, '--bucket', bucket]);
        equal(await p.exited, 0, p.stderr);
        return [p.stdout, p.stderr];
    };
    equal(JSON.stringify(await command('list')), JSON.stringify([`${scope}\n`, '']));
    equal(JSON.stringify(JSON.parse((await command('list', 'Holder', '--json'))[0])), JSON.stringify({ scope, class: 'Holder', id: scope.split(':')[1], reserved: false }));
    equal((await command('list', '--all', '--after', scope))[1].replace(/\d+\.\d/, 'N'), '0 cells, 1 requests, N s\nno cells\n');
    equal(JSON.stringify(await command('gc', '--dry-run')), JSON.stringify(['', 'no superseded epochs to delete\n']));

    const evict = async (status, error) => {
        const r = await call(`/evict/${scope}`, { method: 'POST' });
        equal(r.status, status, r.text);
        equal(JSON.stringify(r.json), JSON.stringify(error ? { ok: false, error } : { ok: true }));
    };
    const slow = program.ask('/a/fetch');
    await sleep(300);
    await evict(409, { kind: 'refused', reason: 'cell_active' });
    equal((await slow).status, 200);
    await program.json('/a/add/3');
    await evict(200);
    await evict(200); // Already absent.
    equal((await state()).occupied, 0);
    const there = await call(`/cell/${scope}`);
    equal(there.status, 200, there.text);
    equal(JSON.stringify(there.json), JSON.stringify({ route: 'local', cell: scope }));
    equal((await state()).occupied, 1);
    equal(await program.json('/a/add/0'), 3);
    await program.json('/a/arm/600000');
    await evict(409, { kind: 'refused', reason: 'alarm_imminent' });

    for (const path of ['/cell/', '/cell/..', '/evict/a%3Ab', '/evict/a/b']) {
        const r = await call(path);
        equal(r.status, 400, path);
        equal(r.text, '{"error":"malformed_cell_scope"}');
    }
    const other = await node(bucket, { name: 'other' }).ready();
    await until(() => /internal listening/.test(other.stdout), 'the internal listener');
    const elsewhere = await operator(other).call(`/cell/${scope}`);
    equal(elsewhere.status, 307, elsewhere.text);
    equal(elsewhere.json.route, 'remote');
    equal(elsewhere.json.addr, program.stdout.match(/internal listening on (\S+)/)[1]);
    ok(elsewhere.json.epoch >= 2 && elsewhere.json.peer_protocol === 1 && /\/[0-9a-f]{64}$/.test(elsewhere.json.node), elsewhere.text);
    equal((await operator(other).state()).remote_route_refreshes, 1);
    await other.stop();

    const wrong = await call('/cell/Nobody:1');
    equal(wrong.status, 503);
    ok(/no script has the class/.test(wrong.json.error), wrong.text);
    const post = await new Promise((done) => http.request({ port: (program.stdout.match(/internal listening on [\d.]+:(\d+)/))[1], path: '/state', method: 'POST' }, (r) => done(r.resume())).end());
    equal(post.statusCode, 405);
    equal(post.headers.allow, 'GET');
    equal((await call('/nothing')).status, 404);
    await program.stop();
}, 60);

run();
