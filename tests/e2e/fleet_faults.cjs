// e2e/fleet_faults.cjs BIN CELLD: three nodes under load, and what a fleet has to bear: nodes that are killed, frozen, cut
// from the bucket or from each other, told to end; disks and buckets that go away. A ledger tells what was lost, doubled or
// refused and done all the same (nothing may be), and how long each object answered nobody.
//
//   FLEET_STORE=file|s3  FLEET_POSTURE=bucket|fleet|both  FLEET_ALL=1 (all situations, long times)  E2E_ROUNDS  FLEET_CELLS
//
// tools/stores/fleet runs all of it on both stores.
'use strict';
const { check, equal, ok, until, sleep, run } = require('./harness.cjs');
const { Ledger } = require('./fleet_ledger.cjs');
const { Fleet } = require('./fleet_nodes.cjs');

const store = process.env.FLEET_STORE ?? 'file';
const all = process.env.FLEET_ALL === '1';
const rounds = Number(process.env.E2E_ROUNDS ?? 1);
const cells = Number(process.env.FLEET_CELLS ?? (all ? 24 : 8));
const TTL_MS = Number(process.env.FLEET_TTL_MS ?? 3000);
const LATE_MS = Number(process.env.FLEET_LATE_MS ?? 15000); // What a takeover may take behind the lease on a machine with other work.

// A fleet under load while one thing after the other happens to it; then everything is there.
const under_load = async (options, happens) => {
    const fleet = await new Fleet({ store, ttl: TTL_MS, patience: all ? 2000 : 5000, ...options }).open();
    const ledger = new Ledger(Array.from({ length: cells }, (_, i) => `j${i}`));
    // Most of them to the first node, some to each.
    await Promise.all(ledger.names.map((name, i) => ledger.write(fleet.asks[i % 4 === 3 ? 1 + ((i >> 2) % 2) : 0], name)));
    if (options.posture === 'fleet') await fleet.proven_by_followers();
    const stop = ledger.start(fleet.asks);
    for (const happen of happens) {
        ledger.homes.clear();
        await until(() => ledger.homes.size === cells * fleet.asks.length, 'all clients are served where they ask first', LATE_MS);
        ledger.window();
        await happen(fleet, ledger);
    }
    await stop();
    fleet.check();
    await ledger.check(fleet.asks);
    await fleet.close();
};

// disturb() starts a window; this ends it when all objects answer again.
const recovered = async (fleet, ledger, what, ms) => {
    const before = Date.now();
    await until(() => fleet.failed || [...ledger.objects.values()].every((o) => o.last > before), `${what}: all objects answer`, LATE_MS);
    fleet.check();
    const gaps = ledger.gaps();
    ledger.report(what);
    ok(gaps.at(-1) <= ms, `${what}: an object answered nobody for ${gaps.at(-1)} ms, bound ${ms}`);
};
const nothing_failed = (ledger, allowed = /^0 (ECONNREFUSED|ECONNRESET|EPIPE|not up|cut)/) => {
    for (const why of ledger.failures.keys()) ok(allowed.test(why), `a request ended with ${why}`);
};

const situations = {
    'the owner is killed, with its disk every other time, and comes back': async (fleet, ledger) => {
        for (let round = 0; round < (all ? 2 : 1); round++) {
            const [owner] = await fleet.by_residents();
            ledger.window();
            await owner.kill();
            if (round % 2 === 0) owner.wipe();
            await recovered(fleet, ledger, `${owner.name} killed${round % 2 === 0 ? ', its disk lost' : ''}`, fleet.ttl + LATE_MS);
            await owner.start();
        }
    },
    'a frozen owner loses its objects, and fences when it wakes': async (fleet, ledger) => {
        const [owner, other] = await fleet.by_residents();
        ledger.window();
        owner.stays_down = true;
        owner.program.child.kill('SIGSTOP');
        await recovered(fleet, ledger, `${owner.name} frozen`, fleet.ttl + LATE_MS);
        // What is asked of it now it hears when it wakes: it may say anything but what was.
        const late = ledger.names.map((name) => ledger.read((path) => owner.ask(path, { ms: 30000 }), name));
        await sleep(all ? fleet.ttl : 200);
        await until(async () => (await other.state()).residents.length > 0, 'the other one has objects');
        owner.program.child.kill('SIGCONT');
        equal(await owner.program.exited, 3, owner.program.stderr);
        ok(/^SELF-FENCE: /m.test(owner.program.stderr), owner.program.stderr);
        await Promise.all(late);
        owner.stays_down = false;
        await owner.start();
    },
    'all nodes end and start again, one after the other: nothing fails but by 503': async (fleet, ledger) => {
        for (const m of fleet.members) {
            ledger.window();
            const start = Date.now();
            await m.end();
            const took = Date.now() - start;
            await recovered(fleet, ledger, `${m.name} ended in ${took} ms`, LATE_MS);
            nothing_failed(ledger);
            await m.start();
            nothing_failed(ledger);
        }
    },
    'two nodes end at once': async (fleet, ledger) => {
        const [one, two] = fleet.members;
        ledger.window();
        await Promise.all([one.end(), two.end()]);
        await recovered(fleet, ledger, `${one.name} and ${two.name} ended`, fleet.ttl + LATE_MS);
        nothing_failed(ledger);
        await Promise.all([one.start(), two.start()]);
    },
    'nodes that cannot reach each other': async (fleet, ledger) => {
        const [owner, one, two] = await fleet.by_residents();
        ledger.window();
        fleet.part(owner, one, true);
        await sleep(all ? 10000 : 2000);
        await recovered(fleet, ledger, `${owner.name} and ${one.name} parted`, LATE_MS);
        if (all) {
            ledger.window();
            fleet.part(owner, two, true); // Alone: the bucket proves.
            await sleep(10000);
            await recovered(fleet, ledger, `${owner.name} alone`, LATE_MS);
            fleet.part(owner, two, false);
        }
        fleet.part(owner, one, false);
        await recovered(fleet, ledger, 'together again', LATE_MS);
    },
};

// Only where a node can be cut from it.
const of_bucket = {
    'a node without its bucket fences, and its objects go to others': async (fleet, ledger) => {
        for (const state of all ? ['cut', 'silent'] : ['cut']) {
            const [owner] = await fleet.by_residents();
            ledger.window();
            owner.stays_down = true;
            owner.bucket.set(state);
            equal(await owner.program.exited, 3, owner.program.stderr);
            await recovered(fleet, ledger, `the bucket ${state} for ${owner.name}`, fleet.ttl + LATE_MS);
            owner.bucket.set('open');
            owner.stays_down = false;
            await owner.start();
        }
    },
};

const of_followers = {
    'a follower is restarted, then one loses its disk, then the owner dies': async (fleet, ledger) => {
        const [owner, one, two] = await fleet.by_residents();
        for (const [follower, lost] of [[one, false], [two, true]]) {
            ledger.window();
            await follower.kill();
            if (lost) follower.wipe();
            await follower.start();
            await recovered(fleet, ledger, `${follower.name} restarted${lost ? ' without its disk' : ''}`, fleet.ttl + LATE_MS);
        }
        ledger.window();
        await owner.kill();
        owner.wipe();
        await recovered(fleet, ledger, `${owner.name} killed, its disk lost`, fleet.ttl + LATE_MS);
        await owner.start();
    },
};

const away = Number(process.env.E2E_AWAY_S ?? (all ? 30 : 4));
const BACKLOG_S = 10; // What followers may hold that the bucket does not have (fleet.md 6.3); after that writes wait.
const outage = async (fleet, ledger) => {
    ledger.window();
    for (const m of fleet.members) m.bucket.set('cut');
    await sleep(Math.min(away, BACKLOG_S - 3) * 1000);
    const { done } = ledger.counts;
    ok(ledger.gaps().at(-1) < 2000, `an object answered nobody for ${ledger.gaps().at(-1)} ms`);
    await sleep(Math.max(0, away - BACKLOG_S + 3) * 1000);
    for (const m of fleet.members) m.bucket.set('open');
    await recovered(fleet, ledger, `no bucket for ${away} s`, Math.max(0, away - BACKLOG_S) * 1000 + 5000);
    ok(done > 5 * Math.min(away, BACKLOG_S - 3), `writes and reads are answered meanwhile: ${done}`);
    equal(fleet.members.reduce((n, m) => n + m.fences, 0), 0, 'the lease was long enough');
};

const long = all ? 300 : 120;
const postures = { both: ['fleet', 'bucket'] }[process.env.FLEET_POSTURE] ?? [process.env.FLEET_POSTURE ?? 'fleet'];
for (let round = 0; round < rounds; round++) {
    for (const posture of postures) {
        const of = (name, happens, options) => check(`${store}, ${posture}: ${name}`, () => under_load({ posture, ...options }, happens), long);
        const mine = { ...situations, ...(store === 's3' && of_bucket), ...(posture === 'fleet' && of_followers) };
        const few = store === 's3' ? Object.entries(of_bucket) : Object.entries(mine).slice(0, 3);
        if (all) for (const [name, happen] of Object.entries(mine)) of(name, [happen]);
        else of(few.map(([name]) => name).join('; '), few.map(([, happen]) => happen)); // On one fleet.
        if (store === 's3' && posture === 'fleet') of(`the bucket is away for ${away} s, and writes are acknowledged for the first ${BACKLOG_S}`, [outage], { ttl: away * 2000 + 20000 });
    }
}
run();
