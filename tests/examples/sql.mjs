export default async ({ get, restart, equal, same, ok }) => {
    const add = (text, ...tags) => get('/diary', { method: 'POST', body: JSON.stringify({ text, tags }) });
    const list = async (query = '') => (await (await get(`/diary${query}`)).json()).map(({ id }) => id);
    const first = await add('buy tea', 'shop', 'tea');
    same([first.status, first.headers.get('location')], [201, '/diary/1']);
    equal((await add('drink tea', 'tea')).headers.get('location'), '/diary/2');
    equal((await add('rest')).headers.get('location'), '/diary/3');
    same(await (await get('/diary/1')).json(), { id: 1, text: 'buy tea', tags: ['shop', 'tea'] });
    same(await (await get('/diary/3')).json(), { id: 3, text: 'rest', tags: [] });
    same(await list(), [3, 2, 1]);
    same(await list('?tag=tea'), [2, 1]);
    same(await list('?find=buy&tag=tea'), [1]);
    same(await list("?find=%27%20OR%201=1"), []);
    // A note whose tags are refused is not there either.
    const twice = await add('never', 'x', 'x');
    equal(twice.status, 422);
    ok(/UNIQUE constraint failed/.test((await twice.json()).error));
    equal((await add('')).status, 422);
    same(await list(), [3, 2, 1]);
    equal((await get('/diary/2', { method: 'PUT', body: 'drink much tea' })).status, 204);
    equal((await get('/diary/9', { method: 'PUT', body: 'x' })).status, 404);
    equal((await get('/diary/1', { method: 'DELETE' })).status, 204);
    for (const signal of ['SIGKILL', 'SIGTERM']) {
        await restart(signal);
        same(await list('?tag=tea'), [2]);
        equal((await (await get('/diary/2')).json()).text, 'drink much tea');
        equal((await get('/diary/1')).status, 404);
    }
    same(await (await get('/another')).json(), []);
};
