// e2e/cells_handoff.cjs BIN CELLD: nodes on one bucket that are told to end while others serve: what they had is handed over, so
// nobody waits for a lease to end, and no write is lost. fleet.md 9.2.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { check, equal, ok, until, run } = require('./harness.cjs');
const { project, deploy, node, fresh, LEDGER, Ledger, ask } = require('./cells_nodes.cjs');

const TTL_MS = 20000;

// Asks one object again and again, as a client may ask for what can be repeated; the longest time between two good answers.
const watch = (port, name) => {
    const seen = { gap: 0, bad: new Map(), good: 0 };
    let on = true, last = Date.now();
    const done = (async () => {
        while (on) {
            const { status, text } = await ask(port, `/${name}`);
            if (status === 200) {
                seen.gap = Math.max(seen.gap, Date.now() - last);
                last = Date.now();
                seen.good++;
            } else seen.bad.set(`${status} ${text.slice(0, 80)}`, status);
            await new Promise((r) => setTimeout(r, 5));
        }
    })();
    seen.stop = () => ((on = false), done);
    return seen;
};

check('each of three nodes ends in turn under load: its objects go to the others at once', async () => {
    const bucket = `file://${fresh('bucket')}`;
    const env = { CELLD_TTL_MS: String(TTL_MS) };
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => node(bucket, { name, env }).ready()));
    const names = Array.from({ length: 12 }, (_, i) => `cell${i}`);
    const ledger = new Ledger(names);
    // The first one gets them all.
    for (const name of names) equal((await ledger.write(nodes[0].ask, name)).status, 200);
    for (let turn = 0; turn < 2; turn++) {
        const [going, staying] = [nodes[turn], nodes[2]];
        const stop = ledger.start(staying.ask, 4, { patient: true });
        const watched = names.map((name) => watch(staying.port, name));
        await until(() => watched.every((w) => w.good > 1), 'all objects are asked');
        const start = Date.now();
        going.child.kill('SIGTERM');
        equal(await going.exited, 0, going.stderr);
        const took = Date.now() - start;
        await until(async () => (await Promise.all(names.map((n) => staying.ask(`/${n}`)))).every((a) => a.status === 200), 'all objects answer');
        await stop();
        await Promise.all(watched.map((w) => w.stop()));
        const gaps = watched.map((w) => w.gap).sort((x, y) => x - y);
        console.log(`# turn ${turn}: ended in ${took} ms; longest gap of an object: ${gaps.join(' ')} ms`);
        ok(gaps.at(-1) < TTL_MS / 2, `nobody waited for the lease: ${gaps}`);
        for (const w of watched) for (const [text, status] of w.bad) equal(status, 503, text);
    }
    await ledger.check(nodes[2].ask);
    nodes[2].child.kill('SIGTERM'); // Nobody is left to take anything.
    equal(await nodes[2].exited, 0, nodes[2].stderr);
}, 90);

check('two nodes that end at once: the third one has it all', async () => {
    const bucket = `file://${fresh('bucket')}`;
    const env = { CELLD_TTL_MS: '3000' };
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => node(bucket, { name, env }).ready()));
    const ledger = new Ledger(['x0', 'x1', 'x2', 'x3', 'y0', 'y1', 'y2', 'y3']);
    for (const name of ledger.names) equal((await ledger.write(name[0] === 'x' ? a.ask : b.ask, name)).status, 200);
    const stop = ledger.start(c.ask, 3, { patient: true });
    a.child.kill('SIGTERM');
    b.child.kill('SIGTERM');
    equal(await a.exited, 0, a.stderr);
    equal(await b.exited, 0, b.stderr);
    await ledger.check(c.ask, 10000);
    await stop();
    await ledger.check(c.ask);
    c.child.kill('SIGTERM');
    equal(await c.exited, 0, c.stderr);
}, 90);

check('a node that is told to come back has its objects there before it says that it serves', async () => {
    const bucket = `file://${fresh('bucket')}`, work = fresh('work');
    const env = { CELLD_TTL_MS: '20000', CELLD_LOG: 'info' };
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const ledger = new Ledger(['a', 'b', 'c']);
    const end = async (program) => {
        const [, port] = program.stdout.match(/internal listening on [\d.]+:(\d+)/);
        equal((await ask(Number(port), '/shutdown?handoff=preserve', { method: 'POST' })).status, 200);
        equal(await program.exited, 0, program.stderr);
    };
    const first = await node(bucket, { work, env }).ready();
    for (const name of ledger.names) equal((await ledger.write(first.ask, name)).status, 200);
    await end(first);
    const marker = path.join(work, 'reload.json');
    equal(JSON.parse(fs.readFileSync(marker, 'utf8')).cells.length, 3);
    const second = await node(bucket, { work, env }).ready();
    await until(async () => (await second.ask('/.well-known/celld/health')).status === 200, 'it serves', 15000);
    ok(/reload_resumed.*cells=3 failed=0/.test(second.stdout + second.stderr), second.stdout + second.stderr);
    ok(!fs.existsSync(marker), 'the marker is used up');
    await ledger.check(second.ask);
    await end(second);
    // Of another life: it is not for us.
    const words = JSON.parse(fs.readFileSync(marker, 'utf8'));
    fs.writeFileSync(marker, JSON.stringify({ ...words, generation: 'x'.repeat(words.generation.length) }));
    const third = await node(bucket, { work, env }).ready();
    await until(async () => (await third.ask('/.well-known/celld/health')).status === 200, 'it serves', 15000);
    ok(/reload_marker.*another session/.test(third.stdout + third.stderr) && !fs.existsSync(marker), third.stdout + third.stderr);
    await ledger.check(third.ask);
    await third.stop();
}, 60);

run();
