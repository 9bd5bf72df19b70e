// e2e/cells_balance.cjs BIN CELLD: nodes on one bucket share objects out: a full one sends new ones to the other, dormant ones
// go to a node that joins, and readiness waits for the fleet. fleet.md 4.6, 9.6, 9.9; operations.md 5.6, 5.7, 5.11.
'use strict';
const { check, equal, until, run } = require('./harness.cjs');
const { project, deploy, node, fresh, ask, LEDGER } = require('./cells_nodes.cjs');

const HEALTH = '/.well-known/celld/health';
const operated = (bucket, name, env) => {
    const n = node(bucket, { name, env: { CELLD_TTL_MS: '3000', ...env } });
    n.operator = (path, options) => ask(Number(n.stdout.match(/internal listening on [\d.]+:(\d+)/)[1]), path, options);
    n.state = async () => JSON.parse((await n.operator('/state')).text);
    return n;
};

check('a full node sends new objects to one with room, and dormant ones are shared out', async () => {
    const bucket = `file://${fresh('bucket')}`;
    await deploy(project(LEDGER, ['Ledger']), bucket);
    const names = Array.from({ length: 12 }, (_, i) => `cell${i}`);
    const env = { CELLD_REBALANCE_INTERVAL_MS: '400', CELLD_PLACEMENT_WEIGHT: '1' };
    const a = await operated(bucket, 'a', { ...env, CELLD_IDLE_EVICT_S: '1', CELLD_MAX_RESIDENT_CELLS: '4' }).ready();
    await until(async () => (await a.ask(HEALTH)).status === 200, 'a fleet of one is ready');
    for (const name of names) equal((await a.ask(`/${name}/w1`)).status, 200);
    equal((await a.state()).owned_cells, 12);

    const b = await operated(bucket, 'b', env).ready();
    await until(async () => (await b.ask(HEALTH)).status === 200, 'the second node is ready');
    await until(async () => (await a.state()).rebalanced >= 5, 'half of what is dormant goes to b', 20000);
    const [at, to] = [await a.state(), await b.state()];
    equal(at.owned_cells + to.owned_cells, 12);
    equal(at.node_load.placement_weight, 1);
    for (const name of names) for (const n of [a, b]) equal((await n.ask(`/${name}`)).text, '{"count":1,"rows":[[1,"w1"]]}');

    equal((await b.operator('/rebalance/pause', { method: 'POST' })).text, '{"rebalance_paused":true}');
    equal((await b.state()).node_load.rebalance_paused, true);
    // Eight open calls of new objects at a: it has room for four, and b for the rest.
    const news = Array.from({ length: 8 }, (_, i) => `new${i}`);
    for (const answer of await Promise.all(news.map((name) => a.ask(`/${name}/w1`)))) equal(answer.status, 200);
    equal((await b.operator('/rebalance/resume', { method: 'POST' })).text, '{"rebalance_paused":false}');

    equal((await a.state()).drain, null);
    a.child.kill('SIGTERM');
    equal(await a.exited, 0, a.stderr);
    for (const name of [...names, ...news]) equal((await b.ask(`/${name}`)).text, '{"count":1,"rows":[[1,"w1"]]}');
    b.child.kill('SIGTERM');
    equal(await b.exited, 0, b.stderr);
}, 90);

run();
