export default async ({ get, equal }) => {
    const count = async (method) => (await get('/visits', { method })).text();
    equal(await count('GET'), '0\n');
    equal(await count('POST'), '1\n');
    equal(await count('POST'), '2\n');
    const all = await Promise.all(Array.from({ length: 50 }, () => count('POST')));
    equal(all.map(Number).sort((a, b) => a - b).join(), Array.from({ length: 50 }, (_, i) => i + 3).join());
    equal(await count('GET'), '52\n');
    equal(await (await get('/other')).text(), '0\n');
    equal((await get('/visits', { method: 'PUT' })).status, 405);
};
