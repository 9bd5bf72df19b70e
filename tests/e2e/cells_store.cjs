// e2e/cells_store.cjs BIN CELLD: nodes on a real S3 server, behind a proxy that delays, resets, answers 500 after the store
// has acted, and goes away. tools/stores/cells starts both. Whatever happens, the ledger is right; a node recovers, or
// fences and is started again.
'use strict';
const { spawnSync } = require('node:child_process');
const { check, equal, ok, until, sleep, run } = require('./harness.cjs');
const { LEDGER, Ledger, project, deploy, node, fresh } = require('./cells_nodes.cjs');

const set = (name) => process.env[name] ?? (console.error(`${name} is not set; run tools/stores/cells`), process.exit(1));
const s3 = { S3_ENDPOINT: set('CELLD_STORE_ENDPOINT'), AWS_REGION: set('CELLD_STORE_REGION'), AWS_ACCESS_KEY_ID: set('CELLD_STORE_ACCESS_KEY'), AWS_SECRET_ACCESS_KEY: set('CELLD_STORE_SECRET_KEY') };
let prefixes = 0;
const place = () => `s3://${set('CELLD_STORE_BUCKET')}/cells-${process.pid}-${++prefixes}`;
const control = async (method, what, body) => {
    const r = await fetch(set('CELLD_FAULT_CONTROL') + what, { method, body: body && JSON.stringify(body) });
    if (!r.ok) throw new Error(`${method} ${what}: ${r.status} ${await r.text()}`);
    return r.json();
};

// A supervisor: a node that fences, or cannot start because the store is away, is started again; any other end is a failure.
const supervised = async (bucket, env, options = {}) => {
    const s = { fences: 0 };
    const start = async () => {
        s.program = node(bucket, { env: { ...s3, ...env }, ...options });
        const { program } = s;
        program.exited.then((code) => {
            if (s.stopping) return;
            const fence = code === 3 && /^SELF-FENCE: /m.test(program.stderr);
            const unreached = code === 1 && /^Error: deploy\/current.json: /m.test(program.stderr); // Nor can it start.
            if (!fence && !unreached) return (s.failed ??= new Error(`exit ${code}: ${program.stderr}`));
            s.fences += fence ? 1 : 0;
            sleep(500).then(start).catch((e) => (s.failed ??= e));
        });
        await program.ready(90000).catch((e) => {
            if (program.child.exitCode === null) throw e;
        });
    };
    await start();
    s.ask = (target, options) => (s.program.port ? s.program.ask(target, options) : sleep(50).then(() => ({ status: 0, text: 'starting' })));
    s.stop = async () => {
        s.stopping = true;
        s.program.child.kill('SIGTERM');
        equal(await s.program.exited, 0, `exit code: ${s.program.stderr}`);
    };
    return s;
};

// Writes while the path is disturbed; then what is there is what was told.
const disturbed = async (env, trouble) => {
    const bucket = place();
    await deploy(project(LEDGER, ['Ledger']), bucket, s3);
    const s = await supervised(bucket, env);
    const one = new Ledger(['a', 'b', 'c', 'd']);
    for (let i = 0; i < 8; i++) equal((await one.write(s.ask)).status, 200);
    const stop = one.start(s.ask, 8, { patient: true });
    await trouble(s, one);
    await control('DELETE', '/rules');
    const before = one.acknowledged;
    await until(() => s.failed || one.acknowledged > before + 8, 'writes go through again', 60000);
    await stop();
    if (s.failed) throw s.failed;
    await one.check(s.ask, 60000);
    console.log(`     ${one.acknowledged} acknowledged of ${one.next} writes, ${s.fences} fences`);
    await s.stop();
    const after = await node(bucket, { env: { ...s3, ...env } }).ready(90000); // From the bucket alone.
    await one.check(after.ask, 60000);
    await after.stop();
    return s;
};

check('a store that is slow, resets before and after it acted, answers 500 after it acted, and answers twice', () =>
    disturbed({ CELLD_TTL_MS: '5000' }, async () => {
        for (const rules of [
            [{ do: 'delay', ms: 50, jitter: 400, p: 0.3 }],
            [{ do: 'lose-request', p: 0.1 }, { do: 'lose-response', p: 0.1 }],
            [{ do: 'status-after', status: 500, code: 'InternalError', p: 0.15 }, { do: 'status', status: 503, p: 0.1 }],
            [{ do: 'repeat', method: 'PUT', p: 0.2 }, { do: 'truncate', method: 'GET', bytes: 10, p: 0.2 }],
            [{ method: 'PUT', path: '/log/', do: 'status-after', status: 500, code: 'InternalError', p: 0.5 }],
        ]) {
            await control('PUT', '/rules', rules);
            await sleep(2500);
        }
    }), 240);

const away = Number(process.env.E2E_AWAY_S ?? 6); // 20 in a long run.
check(`a store that is away for ${away} s, within the lease`, async () => {
    const s = await disturbed({ CELLD_TTL_MS: String(away * 1000 + 15000) }, async () => {
        await control('POST', '/down');
        await sleep(away * 1000);
        await control('POST', '/up');
    });
    equal(s.fences, 0, 'the lease was long enough');
}, 240);

check(`a store that is away for ${away} s, longer than the lease: the node fences, and its successor serves`, async () => {
    const s = await disturbed({ CELLD_TTL_MS: '3000' }, async () => {
        await control('POST', '/down');
        await sleep(away * 1000);
        await control('POST', '/up');
    });
    ok(s.fences > 0, 'it did not fence');
}, 240);

check('a store that takes requests and answers nothing for longer than the lease', async () => {
    const s = await disturbed({ CELLD_TTL_MS: '3000' }, async () => {
        await control('POST', '/hang');
        await sleep(away * 1000);
        await control('POST', '/resume');
    });
    ok(s.fences > 0, 'it did not fence');
}, 240);

check('a work directory whose files may not grow refuses writes and loses none', async () => {
    const bucket = place();
    await deploy(project(LEDGER, ['Ledger']), bucket, s3);
    const program = await node(bucket, { env: s3 }).ready(60000);
    const one = new Ledger(['a', 'b']);
    const limit = (bytes) => equal(spawnSync('prlimit', ['--pid', program.child.pid, `--fsize=${bytes}:`]).status, 0);
    for (let i = 0; i < 6; i++) equal((await one.write(program.ask)).status, 200);
    limit(500000);
    const statuses = new Set();
    for (let i = 0; i < 30; i++) statuses.add((await one.write(program.ask, undefined, 50000)).status);
    equal([...statuses].sort().join(), '200,500', 'until there was no room');
    await one.check(program.ask);
    limit('unlimited');
    for (let i = 0; i < 4; i++) equal((await one.write(program.ask, undefined, 50000)).status, 200, 'there is room again');
    await one.check(program.ask);
    await program.stop();
}, 120);

run();
