export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, socket, restart, until, sleep, equal, same, ok }) => {
    const ask = async (path) => (await get(path)).json();
    same(await ask('/yard'), { name: 'yard', visits: 1, starts: 1, settings: { zones: [] }, plants: [], due: 0 });
    same(await ask('/yard/plant/rose/fern'), ['fern 0 never', 'rose 0 never']);
    same(await ask('/yard/settings/north'), { zones: ['north'], sprinkler: true });
    same(await ask('/yard/both'), [
        { columns: [], rows: [], meta: { rows_read: 2, rows_written: 2 } },
        { columns: ['name', 'water'], rows: [['fern', 10], ['rose', 10]], meta: { rows_read: 2, rows_written: 0 } },
    ]);
    same(await ask('/yard/give/park/tulip'), { here: 'park', plants: ['tulip of yard 1 never'] });
    same(await ask('/yard/tracked'), [{ identifier: 'yard' }]);
    equal((await get('/')).status, 500, 'no name:');

    // Two alarms of one actor, each in its time; a socket hears of it.
    const s = await socket('/yard/socket');
    s.send('hello');
    equal(await s.next(), 'heard hello');
    equal(await ask('/yard/water/rose/1'), 1);
    equal(await ask('/yard/water/fern/2'), 2);
    equal(await s.next(), 'rose watered');
    equal(await s.next(), 'fern watered');
    same((await ask('/yard')).plants, ['fern 11 today', 'rose 11 today']);

    // It leaves memory, the socket stays, pings are answered without it, a message and an alarm wake it.
    await ask('/yard/water/rose/3');
    await sleep(1700);
    s.send('ping');
    equal(await s.next(), 'pong');
    equal(await s.next(), 'rose watered');
    s.send('again');
    equal(await s.next(), 'heard again');

    // What is due while celld is down happens when it is back, without a request.
    for (const signal of ['SIGKILL', 'SIGTERM']) {
        const before = await ask('/yard');
        await ask('/yard/water/fern/1');
        await restart(signal, () => sleep(1500));
        let now;
        await until(async () => (now = await ask('/yard')).due === 0, `the alarm after ${signal}`);
        equal(now.plants[0], before.plants[0].replace(/\d+/, (n) => Number(n) + 1));
        ok(now.visits > before.visits && now.name === 'yard', 'visits go on');
        same(now.settings, { zones: ['north'], sprinkler: true });
    }
    same((await ask('/park')).plants, ['tulip of yard 1 never']);
};
