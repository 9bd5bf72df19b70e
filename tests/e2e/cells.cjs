// e2e/cells.cjs: writers at full speed against nodes that are killed at random moments. No acknowledged write is missing,
// and none is there twice. E2E_ROUNDS: rounds of each kind (100 for a long run).
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { check, equal, ok, until, sleep, run } = require('./harness.cjs');
const { LEDGER, Ledger, project, deploy, node, dev, fresh } = require('./cells_nodes.cjs');

const rounds = Number(process.env.E2E_ROUNDS ?? 4);
const seed = Number(process.env.E2E_SEED ?? Date.now() % 1e6);
console.log(`seed ${seed}`); // Of the moments, which is not all there is to chance here.
let state = seed;
const random = (n) => ((state = (Math.imul(state, 1103515245) + 12345) >>> 0), (state >>> 8) % n);

let sets = 0;
const ledger = () => (sets++, new Ledger(['a', 'b', 'c', 'd'].map((n) => n + sets)));

// start(round) answers a program; each round is checked as a whole, and all of it once more at the end.
const storm = async (start, kill) => {
    const done = [];
    let one = ledger();
    for (let round = 0; round < rounds; round++) {
        const from = Date.now();
        const program = await start(round);
        await program.ready();
        const ready = Date.now();
        await one.check(program.ask);
        if (process.env.E2E_ROUNDS) console.log(`     round ${round}: ready ${ready - from} ms, read ${Date.now() - ready} ms`);
        if (round % 10 === 9) (done.push(one), (one = ledger()));
        const stop = one.start(program.ask, 12, { size: round % 3 === 2 ? 20000 : 10 });
        const enough = one.acknowledged + random(random(4) === 0 ? 1000 : 100);
        const late = Date.now() + 3000;
        while (one.acknowledged < enough && Date.now() < late) await sleep(1);
        await kill(program);
        await stop();
    }
    const program = await start(rounds);
    await program.ready();
    for (const each of [...done, one]) await each.check(program.ask);
    const writes = [...done, one].reduce((sum, l) => sum + l.acknowledged, 0);
    ok(writes > rounds, 'writes went through');
    console.log(`     ${rounds} rounds, ${writes} acknowledged writes`);
    return program;
};

check('a node is killed while it writes; its work directory stays or is lost', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const work = fresh('work');
    const last = await storm(
        (round) => {
            if (round % 2 === 1) fs.rmSync(work, { recursive: true });
            return node(bucket, { work, env: { CELLD_TTL_MS: '1500' } });
        },
        (program) => program.kill(),
    );
    await last.stop();
}, 30 + rounds * 15);

check('a node of another name takes over from one that was killed', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const last = await storm(
        (round) => node(bucket, { name: `n${round}`, env: { CELLD_TTL_MS: '1500' } }),
        (program) => program.kill(),
    );
    await last.stop();
}, 30 + rounds * 20);

check('celld dev is killed while it writes, or its node is', async () => {
    const dir = project(LEDGER, ['Ledger']);
    let n = 0;
    const last = await storm(
        (round) => {
            if (round % 2 === 1) fs.rmSync(path.join(dir, '.celld/dev/runtime'), { recursive: true, force: true });
            return dev(dir);
        },
        async (program) => {
            const pid = program.child.pid;
            const child = Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
            if (n++ % 2 === 0) {
                await program.kill();
                await until(() => !fs.existsSync(`/proc/${child}`), 'the node goes with celld dev');
                return;
            }
            process.kill(child, 'SIGKILL');
            const code = await program.exited;
            equal(code, 1, `exit code: ${program.stderr}`);
            ok(program.stderr.includes('the local celld node exited with signal 9'), program.stderr);
        },
    );
    last.child.kill('SIGINT');
    equal(await last.exited, 0, 'exit code');
}, 30 + rounds * 15);

run();
