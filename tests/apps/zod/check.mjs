export default async ({ get, equal, same }) => {
    const post = (body) => get('/', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
    const good = await post({ customer: 'ada@example.com', items: [{ sku: 'A-1' }], note: '  soon ', due: '2026-12-24T10:00:00Z', total: '12.5' });
    equal(good.status, 201);
    same(await good.json(), { customer: 'ada@example.com', items: [{ sku: 'A-1', quantity: 1 }], note: 'soon', due: '2026-12-24', total: 12.5 });
    const bad = await post({ customer: 'ada', items: [], due: 'x', total: -1 });
    equal(bad.status, 422);
    same(Object.keys((await bad.json()).error), ['customer', 'items', 'due', 'total']);
    equal((await post('{')).status, 400);
};
