export default async ({ get, equal, same }) => {
    same(await (await get('/rpc?name=Ada')).json(), { text: 'Good morning, Ada', length: 17 });
    same(await (await get('/rpc?name=Ada&loud')).json(), { text: 'GOOD MORNING, ADA', length: 17 });
    equal(await (await get('/fetch', { method: 'POST', body: 'x'.repeat(200000) })).text(), 'greeter got POST with 200000 characters\n');
    equal(await (await get('/admin')).text(), 'Good morning');
    const error = await get('/error');
    equal(error.status, 422);
    equal(await error.text(), 'RangeError: Whom shall I greet?');
};
