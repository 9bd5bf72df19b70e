export default async ({ get, equal, same }) => {
    const post = (body) => get('/price', { method: 'POST', body });
    same(await (await post('{"net":100}')).json(), { net: 100, tax: 20, gross: 120, currency: 'EUR' });
    same(await (await post('{"net":10,"rate":"reduced"}')).json(), { net: 10, tax: 0.5, gross: 10.5, currency: 'EUR' });
    equal((await post('{"net":"x"}')).status, 422);
    equal((await post('net=1')).status, 400);
    equal((await get('/price')).status, 405);
    equal((await get('/')).status, 404);
};
