export default async ({ get, equal, same }) => {
    equal(await (await get('/')).text(), '"plain text"');
    same(await (await get('/add/2/40')).json(), { sum: 42 });
    same(await (await get('/find?a=1&b=2&b=3')).json(), { query: { a: '1', b: ['2', '3'] } });
    const echo = await get('/echo', { method: 'POST', body: '{"x":[1,{"y":null}]}' });
    equal(echo.status, 202);
    same(await echo.json(), { x: [1, { y: null }] });
    equal((await get('/me')).status, 401);
    equal(await (await get('/me', { headers: { 'x-user': 'Ada' } })).text(), 'you are Ada');
    equal((await get('/thing', { method: 'DELETE' })).status, 204);
    equal(await (await get('/files/a/b/c.txt')).json(), 'a/b/c.txt');
    const fail = await get('/fail');
    equal(fail.status, 500);
    same(await fail.json(), { status: 500, error: 'did not work' });
    equal((await get('/nowhere')).status, 404);
    const ask = await get('/add/1/2', { method: 'OPTIONS', headers: { origin: 'https://example.com' } });
    equal(ask.status, 204);
    equal(ask.headers.get('access-control-allow-origin'), 'https://example.com');
};
