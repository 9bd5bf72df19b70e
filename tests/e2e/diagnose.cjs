// e2e/diagnose.cjs: celld diagnose against nodes that are there, gone, or of another fleet.
'use strict';
const { check, equal, ok, until, run, spawn } = require('./harness.cjs');
const { node, fresh } = require('./cells_nodes.cjs');

const celld = process.argv[3];
const diagnose = async (bucket, ...words) => {
    const program = spawn(celld, ['diagnose', '--bucket', bucket, '--listen', '127.0.0.1:0', ...words]);
    const code = await program.exited;
    return { code, rows: program.stdout.trim().split('\n'), error: program.stderr.trim() };
};
const start = async (bucket, name) => {
    const program = await node(bucket, { name }).ready();
    await until(() => program.stdout.includes('node_lease_acquired'), 'a lease');
    program.internal = program.stdout.match(/advertise=(\S+)\)/)[1];
    return program;
};

check('each live node is probed; one that died is told', async () => {
    const bucket = `file://${fresh('bucket')}`;
    const [one, two] = [await start(bucket, 'one'), await start(bucket, 'two')];
    const all = await diagnose(bucket);
    equal(all.code, 0, all.error);
    ok(all.rows.includes('ok fleet: 2 node lease(s) enumerated'), all.rows.join('\n'));
    for (const [name, p] of Object.entries({ one, two })) {
        const row = all.rows.find((r) => r.startsWith(`ok peer ${name} at ${p.internal}: (signed direct probe) protocol=1 `));
        ok(row, all.rows.join('\n'));
    }
    await two.kill();
    const rest = await diagnose(bucket, '--read-only', '--json');
    equal(rest.code, 1);
    equal(rest.error, 'Error: fleet diagnostics failed for 1 peer(s)');
    const found = rest.rows.map(JSON.parse);
    equal(found.find((r) => r.check === `peer two at ${two.internal}`).detail, 'connection refused');
    ok(found.some((r) => r.verdict === 'ok' && r.check.startsWith('peer one at ')), rest.rows.join('\n'));
    ok(found.some((r) => r.verdict === 'skip' && r.check === 'bucket write probe'), rest.rows.join('\n'));
    await one.stop();
});

check('a node that nobody has seen, a bucket that is none', async () => {
    const named = await diagnose(`file://${fresh('bucket')}`, '--peer', 'nobody');
    equal(named.code, 1);
    equal(named.rows.at(-1), 'fail peer nobody: no lease record');
    const program = spawn(celld, ['diagnose']);
    equal(await program.exited, 1);
    ok(program.stderr.startsWith('Error: `celld diagnose` requires --bucket '), program.stderr);
});

run();
