// e2e/cells_bad.cjs: what is broken in the bucket is named and refused, never skipped; and Workers that ask their
// objects for what they may not have.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { check, equal, ok, until, sleep, run } = require('./harness.cjs');
const { LEDGER, Ledger, project, deploy, node, fresh, port } = require('./cells_nodes.cjs');

// The embedded store, while nobody serves from it or somebody does: one transaction for each edit.
const open = (bucket) => {
    const db = new DatabaseSync(path.join(bucket.slice(7), 'objects.sqlite3'), { timeout: 10000 });
    const bytes = (key) => Buffer.from(key);
    const store = {
        keys: (pattern) => db.prepare('SELECT key FROM objects ORDER BY key').all().map((r) => Buffer.from(r.key).toString()).filter((k) => pattern.test(k)),
        get: (key) => Buffer.from(db.prepare('SELECT body FROM objects WHERE key = ?').get(bytes(key)).body),
        // A new generation: a token of what was there before fits no more.
        put: (key, body) => db.prepare('INSERT OR REPLACE INTO objects (key, modified_ms, body) VALUES (?, ?, ?)').run(bytes(key), Date.now(), body),
        delete: (key) => db.prepare('DELETE FROM objects WHERE key = ?').run(bytes(key)),
        flip: (key, at) => {
            const body = store.get(key);
            body[at < 0 ? body.length + at : at] ^= 0x10;
            store.put(key, body);
        },
        together: (edit) => {
            db.exec('BEGIN IMMEDIATE');
            edit();
            db.exec('COMMIT');
        },
        // Nobody else reads or writes meanwhile.
        busy: async (meanwhile) => {
            db.exec('BEGIN EXCLUSIVE');
            await meanwhile();
            db.exec('COMMIT');
        },
        close: () => db.close(),
    };
    return store;
};

const env = { CELLD_TTL_MS: '1500' };
const says = (program, ...words) => until(() => program.stdout.split('\n').some((line) => words.every((w) => line.includes(w))), `a line with ${words.join(', ')}: ${program.stdout}`, 30000);

check('a slot of a dead session that is broken or missing is named, and nothing is served until it is whole', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b']);
    const first = await node(bucket, { env }).ready();
    for (let i = 0; i < 12; i++) await one.write(first.ask);
    await first.kill();
    const store = open(bucket);
    const slots = store.keys(/^log\/one\/[0-9a-f]{64}\/[0-9a-f]{16}$/);
    ok(slots.length >= 5, slots.join(' '));
    const good = new Map(slots.map((key) => [key, store.get(key)]));
    const [s2, s3, s4, s5] = slots.slice(1);
    store.flip(s2, good.get(s2).length >> 1);
    const second = node(bucket, { env });
    const listens = () => second.stdout.includes('celld listening');
    await says(second, 'log_slot_corrupt', s2);
    // The next break is there in the moment in which the one before is mended: in between it would go through.
    const next = async (mend, spoil, event, key) => {
        store.together(() => (store.put(mend, good.get(mend)), spoil()));
        await says(second, event, key);
        ok(!listens(), 'it serves over a hole');
    };
    await next(s2, () => store.put(s3, good.get(s3).subarray(0, good.get(s3).length - 9)), 'log_slot_corrupt', s3);
    await next(s3, () => store.put(s4, good.get(s5)), 'log_slot_corrupt', s4); // Whole, but of another number.
    await next(s4, () => store.delete(s5), 'log_slot_missing', s5);
    store.put(s5, good.get(s5));
    await second.ready();
    await one.check(second.ask);
    store.close();
    await second.stop();
}, 120);

check('floor, lease and ownership records that cannot be read are named', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b']);
    const first = await node(bucket, { env }).ready();
    for (let i = 0; i < 4; i++) await one.write(first.ask);
    await first.kill();
    const store = open(bucket);
    const lease = store.get('nodes/one.json');
    const floor = store.keys(/^log\/one\/[0-9a-f]{64}\//)[0].replace(/[^/]*$/, 'floor.json');
    const [owner] = store.keys(/^cells\/Ledger:.*\/owner.json$/);
    const owned = store.get(owner);
    store.put('nodes/one.json', Buffer.from('{"v":1,"node":"one"'));
    store.put(floor, Buffer.from('{"v":1,"floor":-3}'));
    store.put(owner, Buffer.from('{"v":9,"session":"","epoch":1}'));
    const second = node(bucket, { env });
    await says(second, 'node_lease_unreadable', 'nodes/one.json');
    store.put('nodes/one.json', lease);
    await says(second, 'log_floor_corrupt', floor);
    ok(!second.stdout.includes('celld listening'), 'it serves');
    store.delete(floor);
    await second.ready();
    const answers = await Promise.all(['a', 'b'].map((name) => second.ask(`/${name}`)));
    equal(answers.map((a) => a.status).sort().join(), '200,500', JSON.stringify(answers));
    ok(answers.find((a) => a.status === 500).text.includes(owner), JSON.stringify(answers));
    store.put(owner, owned);
    await one.check(second.ask);
    store.close();
    await second.stop();
}, 120);

check('segments of an object that are broken or missing keep that object away, and no other', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b', 'c']);
    for (let round = 0; round < 2; round++) { // Two epochs each, without a work directory.
        const program = await node(bucket, { env }).ready();
        for (let i = 0; i < 9; i++) await one.write(program.ask);
        await program.stop();
    }
    const store = open(bucket);
    const chains = new Map();
    for (const key of store.keys(/^cells\/Ledger:[^/]*\/ltx\/e.*\.ltx$/)) chains.set(key.split('/')[1], [...(chains.get(key.split('/')[1]) ?? []), key]);
    equal(chains.size, 3);
    const spoiled = [...chains.values()].slice(0, 2).map((keys) => keys.find((k) => k.includes('/e0000000000000002/')) ?? keys.at(-1));
    const good = spoiled.map((key) => store.get(key));
    for (const spoil of [
        () => (store.flip(spoiled[0], -20), store.flip(spoiled[1], 200)),
        () => (store.put(spoiled[0], good[0].subarray(0, 100)), store.put(spoiled[1], good[0])), // Of another object.
        () => (store.put(spoiled[0], Buffer.alloc(0)), store.put(spoiled[1], Buffer.concat([good[1], Buffer.from('x')]))),
    ]) {
        spoiled.forEach((key, i) => store.put(key, good[i]));
        spoil();
        const program = await node(bucket, { env }).ready();
        const answers = await Promise.all(one.names.map((name) => program.ask(`/${name}`)));
        equal(answers.map((a) => a.status).sort().join(), '200,500,500', JSON.stringify(answers));
        for (const key of spoiled) {
            await says(program, 'restore_failed', 'corrupt', key);
            ok(answers.some((a) => a.text.includes(path.basename(key))), `no answer names ${key}: ${JSON.stringify(answers)}`);
        }
        spoiled.forEach((key, i) => store.put(key, good[i]));
        await one.check(program.ask); // The same process: what was refused is tried again.
        await program.stop();
    }
    store.close();
}, 120);

check('a kept database that was changed behind our back is not used', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const one = new Ledger(['a', 'b']);
    const work = fresh('work');
    const first = await node(bucket, { work, env }).ready();
    for (let i = 0; i < 6; i++) await one.write(first.ask, undefined, 5000);
    await first.stop();
    const kept = fs.readdirSync(work, { recursive: true }).filter((f) => fs.statSync(path.join(work, f)).size > 10000).map((f) => path.join(work, f));
    equal(kept.length, 2, fs.readdirSync(work, { recursive: true }).join(' '));
    const fd = fs.openSync(kept[0], 'r+'); // A row's text: nothing that SQLite would notice.
    const text = Buffer.alloc(fs.fstatSync(fd).size);
    fs.readSync(fd, text);
    fs.writeSync(fd, 'yyyy', text.indexOf('xxxxxxxx') + 2);
    fs.closeSync(fd);
    fs.truncateSync(kept[1], 8192);
    const second = await node(bucket, { work, env: { ...env, CELLD_VERIFY_LOCAL: '1' } }).ready();
    await one.check(second.ask);
    for (const file of kept) await says(second, 'cell_snapshot_refused', path.basename(path.dirname(path.dirname(file))));
    await second.stop();
}, 90);

check('a store that ignores conditions is refused', async () => {
    // As little of S3 as the node asks for before it gives up.
    const objects = new Map();
    const server = http.createServer(async (request, response) => {
        const key = new URL(request.url, 'http://x').pathname;
        const parts = [];
        for await (const part of request) parts.push(part);
        if (request.method === 'PUT') {
            objects.set(key, Buffer.concat(parts));
            response.writeHead(200, { etag: `"${objects.size}-${Date.now()}"`, 'content-length': 0 }).end();
        } else if (request.method === 'DELETE') {
            objects.delete(key);
            response.writeHead(204).end();
        } else if (objects.has(key)) {
            response.writeHead(200, { etag: '"x"', 'content-length': objects.get(key).length }).end(objects.get(key));
        } else {
            const body = '<Error><Code>NoSuchKey</Code></Error>';
            response.writeHead(404, { 'content-type': 'application/xml', 'content-length': body.length }).end(request.method === 'HEAD' ? undefined : body);
        }
    });
    const at = port();
    await new Promise((resolve) => server.listen(at, '127.0.0.1', resolve));
    const program = node('s3://bucket', { env: { S3_ENDPOINT: `http://127.0.0.1:${at}`, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' } });
    equal(await program.exited, 1, `exit code: ${program.stdout}${program.stderr}`);
    ok(/condition/.test(program.stderr), program.stderr);
    ok(!program.stdout.includes('celld listening'), program.stdout);
    server.closeAllConnections();
    server.close();
}, 60);

const GREEDY = `
import { DurableObject } from 'cloudflare:workers';
export class Greedy extends DurableObject {
    sql(text) {
        try {
            return [...this.ctx.storage.sql.exec(text).raw()];
        } catch (e) {
            return String(e.message);
        }
    }
    async put(key, size, sync) {
        try {
            if (sync) this.ctx.storage.kv.put(key, new Uint8Array(size));
            else await this.ctx.storage.put(key, new Uint8Array(size));
            return 'stored';
        } catch (e) {
            return e.constructor.name + ': ' + e.message;
        }
    }
    async keys() {
        return [...(await this.ctx.storage.list()).keys()];
    }
    many(n) {
        return this.ctx.storage.put(Object.fromEntries(Array.from({ length: n }, (_, i) => ['k' + i, i]))).then(() => 'stored', (e) => e.message);
    }
    forever(rows) {
        this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS heap (x)');
        for (let i = 0; i < rows; i++) this.ctx.storage.sql.exec('INSERT INTO heap VALUES (randomblob(100))');
        return this.ctx.storage.sql.exec('SELECT count(*) AS n FROM heap').one().n;
    }
    wait() {
        return scheduler.wait(20000);
    }
    // One statement that has no end, in the turn of a write.
    statement() {
        this.ctx.storage.sql.exec('INSERT INTO heap VALUES (1)');
        return this.ctx.storage.sql.exec('WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r').one();
    }
}
export default {
    async fetch(request, env) {
        const [name, method, ...args] = await request.json();
        return Response.json(await env.GREEDY.getByName(name)[method](...args));
    },
};`;

check('SQL and values over their limits, and an object that writes without end', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(GREEDY, ['Greedy']), bucket);
    const program = await node(bucket, { env: { CELLD_TTL_MS: '10000' } }).ready();
    const call = async (...words) => {
        const r = await program.ask('/', { method: 'POST', body: JSON.stringify(words), ms: 90000 });
        return r.status === 200 ? JSON.parse(r.text) : `${r.status} ${r.text}`;
    };
    const file = path.join(fresh('out'), 'x.db');
    for (const text of [
        `ATTACH '${file}' AS x`, `VACUUM INTO '${file}'`, "SELECT load_extension('x.so')", "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')", 'SELECT * FROM _cf_KV', "INSERT INTO _cf_KV VALUES ('k', 'v')", 'DELETE FROM _cf_alarm', 'CREATE TABLE _cf_mine (x)',
        'DROP TABLE _cf_alarm', 'CREATE VIEW v AS SELECT * FROM _cf_KV; SELECT * FROM v', 'ALTER TABLE _cf_alarm RENAME TO mine', 'PRAGMA journal_mode=WAL',
        'PRAGMA writable_schema=1', 'PRAGMA max_page_count=1', 'PRAGMA locking_mode=NORMAL', 'PRAGMA temp_store_directory=1', 'BEGIN', 'COMMIT', 'SAVEPOINT x',
        "UPDATE sqlite_master SET sql = ''", 'CREATE VIRTUAL TABLE v USING csv(filename=x)', "SELECT * FROM pragma_database_list", "SELECT * FROM sqlite_dbpage",
        "SELECT fts3_tokenizer('x')", 'DETACH main', 'CREATE TEMP TABLE t (x)', 'CREATE TEMP TRIGGER t AFTER INSERT ON _cf_KV BEGIN SELECT 1; END',
    ]) {
        const answer = await call('sql', 'sql', text);
        equal(typeof answer, 'string', `${text}: ${JSON.stringify(answer)}`);
    }
    ok(!fs.existsSync(file), 'a file was made');
    const large = await call('limits', 'put', 'k', 2200100, false);
    ok(/larger|limit|exceed|too big|maximum/i.test(large), large);
    equal(await call('limits', 'put', 'k', 2200100, true), large);
    ok(/larger|limit|exceed|too big|maximum|length/i.test(await call('limits', 'put', 'x'.repeat(2049), 1, false)), 'key');
    equal(await call('limits', 'many', 128), 'stored');
    equal((await call('limits', 'keys')).length, 128, 'what was refused left nothing');
    // Who goes away while an object works for him is no error of the Worker.
    equal((await program.ask('/', { method: 'POST', body: '["slow", "wait"]', ms: 300 })).text, 'too late');
    // One turn that never ends is ended by the watch, also within a statement; what it wrote is gone with it.
    equal(await call('endless', 'forever', 10), 10);
    const endless = call('endless', 'statement');
    let beside = 0;
    const look = setInterval(() => call(`beside${beside}`, 'forever', 1).then((n) => (beside += n === 1 ? 1 : 0)), 300);
    const ended = await endless;
    clearInterval(look);
    ok(/^500 /.test(ended), ended);
    ok(/CPU time|reset|transaction|memory/i.test(ended), ended);
    ok(beside > 0, 'no other object was served');
    await until(async () => (await call('endless', 'forever', 1)) === 11, 'the object is back, with what was acknowledged', 30000);
    const said = program.stdout + program.stderr;
    ok(!said.includes('will never generate'), said);
    await program.stop();
}, 180);

check('a node that fences ends the turns that run', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(GREEDY, ['Greedy']), bucket);
    const program = await node(bucket, { env: { CELLD_TTL_MS: '3000' } }).ready();
    const ask = (...words) => program.ask('/', { method: 'POST', body: JSON.stringify(words) });
    equal((await ask('a', 'forever', 1)).text, '1');
    const endless = ask('a', 'statement');
    const store = open(bucket);
    const from = Date.now();
    store.delete('nodes/one.json');
    store.close();
    equal(await program.exited, 3, `exit code: ${program.stderr}`);
    ok(/^SELF-FENCE: /m.test(program.stderr), program.stderr);
    ok(Date.now() - from < 25000, `it took ${Date.now() - from} ms`); // A turn has 30 s.
    ok((await endless).status !== 200, 'an answer after the fence');
}, 60);

check('a call that no object got is a refusal: 503, not 500', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const program = await node(bucket, { env: { CELLD_TTL_MS: '20000', CELLD_OPERATION_DEADLINE_MS: '300' } }).ready();
    equal((await program.ask('/old/w1')).status, 200);
    const store = open(bucket);
    let answer;
    await store.busy(async () => { answer = await program.ask('/new'); });
    equal(`${answer.status} ${answer.text}`, '503 {"error":"AcquireFailed"}');
    equal((await program.ask('/new')).status, 200);
    store.close();
    await program.stop();
}, 60);

const SLOW = `
import { DurableObject } from 'cloudflare:workers';
export class Late extends DurableObject {
    hello() { return 'hello'; }
}
export default {
    async fetch(request, env) {
        const late = Array.from({ length: 16 }, (_, i) => env.LATE.getByName('n' + i));
        if (new URL(request.url).pathname === '/late') await scheduler.wait(700);
        return Response.json(await Promise.all(late.map((stub) => stub.hello())));
    },
};`;

check('a request that was accepted before the node was told to end gets its objects of all shards', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(SLOW, ['Late']), bucket);
    const program = await node(bucket, { env: { CELLD_TTL_MS: '20000' } }).ready();
    equal((await program.ask('/')).status, 200);
    const late = program.ask('/late');
    await sleep(300);
    program.child.kill('SIGTERM');
    const { status, text } = await late;
    equal(status, 200, text);
    equal(await program.exited, 0, program.stderr);
}, 60);

run();
