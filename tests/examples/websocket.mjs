export default async ({ get, origin, equal }) => {
    equal((await get('/')).status, 426);
    const ws = new WebSocket(origin.replace('http', 'ws'));
    ws.binaryType = 'arraybuffer';
    const next = (what) => new Promise((resolve, reject) => {
        ws.addEventListener(what, resolve, { once: true });
        ws.addEventListener('error', () => reject(new Error('the socket failed')), { once: true });
    });
    await next('open');
    ws.send('hello');
    equal((await next('message')).data, 'HELLO');
    ws.send(new Uint8Array([1, 2, 255]));
    equal(String(new Uint8Array((await next('message')).data)), '1,2,255');
    ws.send('bye');
    const { code, reason, wasClean } = await next('close');
    equal(code, 1000);
    equal(reason, '3 messages');
    equal(wasClean, true);
};
