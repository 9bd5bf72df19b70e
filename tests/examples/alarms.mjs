export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, restart, until, sleep, equal, same }) => {
    const add = async (text, seconds) => (await get(`/ann?in=${seconds}`, { method: 'POST', body: text })).status;
    const list = async () => (await get('/ann')).json();
    equal(await add('tomorrow', 86400), 202);
    equal(await add('soon', 1), 202);
    equal(await add('at once', 0), 202);
    equal(await add('never', 'x'), 400);
    await until(async () => (await list()).come.join() === 'at once,soon', 'two have come');
    same(await list(), { later: ['tomorrow'], come: ['at once', 'soon'] });
    for (const signal of ['SIGTERM', 'SIGKILL']) {
        equal(await add(signal, 1), 202);
        await restart(signal, () => sleep(1500));
        await until(async () => (await list()).come.at(-1) === signal, `what was due while celld was down, after ${signal}`);
    }
    same(await list(), { later: ['tomorrow'], come: ['at once', 'soon', 'SIGTERM', 'SIGKILL'] });
    same(await (await get('/bob')).json(), { later: [], come: [] });
};
