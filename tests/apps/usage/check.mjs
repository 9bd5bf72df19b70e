export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, restart, until, sleep, equal, same, ok }) => {
    const read = async (path) => (await get(path)).json();
    const post = async (path) => (await get(path, { method: 'POST' })).json();
    const billed = async (name) => (await read(`/${name}/bills`)).reduce((sum, { amount }) => sum + amount, 0);

    equal(await post('/ann/use/3'), 3);
    equal(await post('/ann/use/4'), 7);
    equal((await read('/ann/state')).armed, true);
    await until(async () => (await billed('ann')) === 7, 'the first period is billed');
    await until(async () => (await read('/ann/state')).period === 1, 'and over');
    same(await read('/ann/state'), { period: 1, used: 0, armed: false });
    // A second period, and many users at once.
    await post('/ann/use/5');
    await Promise.all(Array.from({ length: 30 }, (_, i) => post(`/user${i}/use/${i + 1}`)));
    await until(async () => (await read('/x/total')).total === 7 + 5 + 465, 'all are billed');
    same(await read('/ann/bills'), [{ period: 0, amount: 7, tries: 1 }, { period: 1, amount: 5, tries: 1 }]);
    equal((await read('/x/total')).users, 31);

    // An alarm that fails is tried again, and knows.
    await post('/bob/fail/1');
    await post('/bob/use/2');
    await until(async () => (await read('/bob/state')).period === 1, 'the second try', 15);
    const bob = await read('/bob/state');
    same([bob.faults, bob.seen, bob.armed], [0, { retryCount: 0, isRetry: false }, false]);
    same(await read('/bob/bills'), [{ period: 0, amount: 2, tries: 2 }]);

    // One that is due while celld is down comes when it is back, without a request to that user.
    for (const [signal, n] of [['SIGKILL', 100], ['SIGTERM', 200]]) {
        const before = await billed('cat');
        equal(await post(`/cat/use/${n}`), n);
        await restart(signal, () => sleep(1000));
        await until(async () => (await billed('cat')) === before + n, `the alarm after ${signal}`, 100);
    }
    // One that is due later than that keeps its time.
    await post('/dan/use/1');
    await restart('SIGKILL');
    await until(async () => (await billed('dan')) === 1, 'an alarm that was armed before');

    // Forgotten means no alarm and no data.
    await post('/eve/use/9');
    await get('/eve', { method: 'DELETE' });
    same(await read('/eve/state'), { armed: false });
    await restart('SIGTERM', () => sleep(1000));
    await sleep(500);
    equal(await billed('eve'), 0);
};
