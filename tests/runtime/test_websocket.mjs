// WebSocket and WebSocketPair without a network.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const pairOf = () => {
    const [a, b] = new WebSocketPair();
    a.accept();
    b.accept();
    return [a, b];
};
const next = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));

test('a pair carries messages both ways, in order', async () => {
    const [a, b] = pairOf();
    const seen = [];
    b.addEventListener('message', (e) => {
        seen.push(e.data);
        b.send(`echo ${e.data}`);
    });
    a.send('one');
    a.send(2);
    equal((await next(a, 'message')).data, 'echo one');
    await scheduler.wait(1);
    same(seen, ['one', '2']);
    same([a.readyState, a.url, a.protocol, a.extensions, a.bufferedAmount], [WebSocket.OPEN, null, '', '', 0]);
});

test('what was sent before the other half was accepted waits', async () => {
    const pair = new WebSocketPair();
    same(Object.keys(pair), ['0', '1']);
    pair[0].accept();
    pair[0].send('early');
    await scheduler.wait(1);
    pair[1].accept();
    equal((await next(pair[1], 'message')).data, 'early');
});

test('binary messages are copied', async () => {
    const [a, b] = pairOf();
    const bytes = new Uint8Array([0, 1, 2, 3]);
    a.send(bytes.subarray(1, 3));
    bytes.fill(9);
    const first = (await next(b, 'message')).data;
    ok(first instanceof ArrayBuffer, 'an ArrayBuffer');
    same([...new Uint8Array(first)], [1, 2]);
    b.binaryType = 'nonsense';
    equal(b.binaryType, 'arraybuffer');
    b.binaryType = 'blob';
    a.send(new ArrayBuffer(2));
    ok((await next(b, 'message')).data instanceof Blob, 'a Blob');
});

test('closing: the half that hears of it answers itself', async () => {
    const [a, b] = pairOf();
    const codes = [];
    a.onclose = (e) => codes.push('a', e.code, e.reason, e.wasClean);
    b.onclose = (e) => codes.push('b', e.code, e.reason, e.wasClean, b.readyState);
    a.close(4000, 'bye');
    equal(a.readyState, WebSocket.CLOSING);
    throws(() => a.send('x'), 'TypeError', "Can't call WebSocket send() after close().");
    a.close();
    await scheduler.wait(1);
    same(codes, ['b', 4000, 'bye', true, WebSocket.CLOSING]);
    b.send('last words');
    equal((await next(a, 'message')).data, 'last words');
    b.close(3001, 'too');
    await scheduler.wait(1);
    same(codes.slice(5), ['a', 3001, 'too', true]);
    same([a.readyState, b.readyState], [3, 3]);
});

test('half-open is a choice', async () => {
    const [a, b] = new WebSocketPair();
    a.accept({ allowHalfOpen: false });
    b.accept();
    let state;
    a.onclose = () => (state = a.readyState);
    b.close(1000);
    await next(b, 'close');
    same([state, b.readyState], [3, 3]);
});

test('codes and reasons of close()', () => {
    const [a] = pairOf();
    for (const code of [999, 1001, 1005, 1006, 2999, 5000, 0]) throws(() => a.close(code), 'InvalidAccessError', `Invalid WebSocket close code: ${code}.`);
    throws(() => a.close(1000, 'é'.repeat(62)), 'SyntaxError');
    throws(() => a.close(undefined, 'why'), 'InvalidAccessError');
    a.close(1000, 'a'.repeat(123));
});

test('accepting', () => {
    const [a, b] = new WebSocketPair();
    throws(() => a.send('x'), 'TypeError', /^You must call one of accept\(\)/);
    throws(() => a.close(), 'TypeError', /^You must call one of accept\(\)/);
    a.accept();
    a.accept();
    throws(() => a.send(), 'TypeError');
    ok(b instanceof WebSocket, 'its class');
});

test('an exception of a listener stays with it', async () => {
    const [a, b] = pairOf();
    const seen = [];
    addEventListener('error', (e) => {
        seen.push(e.error.message);
        e.preventDefault();
    }, { once: true });
    b.onmessage = (e) => {
        if (e.data === 'bad') throw new Error('mine');
        seen.push(e.data);
    };
    a.send('bad');
    a.send('good');
    await scheduler.wait(1);
    same(seen, ['mine', 'good']);
});

test('attachments', () => {
    const [a] = new WebSocketPair();
    equal(a.deserializeAttachment(), null);
    const value = { list: [1, new Date(5)], map: new Map([['k', 'v']]) };
    a.serializeAttachment(value);
    const back = a.deserializeAttachment();
    same([back.list[1].getTime(), back.map.get('k'), back === value], [5, 'v', false]);
    throws(() => a.serializeAttachment('x'.repeat(16400)), 'Error', /^A WebSocket 'attachment' cannot be larger than 16384 bytes/);
    throws(() => a.serializeAttachment(() => {}), 'DataCloneError');
});

test('addresses and protocols', async () => {
    for (const url of ['', 'nope', 'ftp://x/', 'ws://x/#f', 'mailto:a']) throws(() => new WebSocket(url), 'SyntaxError');
    for (const protocols of ['a b', '', ['x', 'x'], 'ä', ['a,b']]) throws(() => new WebSocket('ws://localhost/', protocols), 'SyntaxError');
    throws(() => new WebSocket(), 'TypeError');
    const ws = new WebSocket('wss://127.0.0.1:9/p?q');
    same([ws.url, ws.readyState, ws.protocol, WebSocket.CONNECTING, ws.CLOSED, WebSocket.READY_STATE_OPEN], ['wss://127.0.0.1:9/p?q', 0, '', 0, 3, 1]);
    throws(() => ws.accept(), 'TypeError');
    throws(() => ws.send('x'), 'InvalidStateError');
    const closed = next(ws, 'close');
    ok((await next(ws, 'error')).message.startsWith('Uncaught Error: Failed to establish the WebSocket connection'), 'an error');
    equal((await closed).code, 1006);
});

test('a server that is not there', async () => {
    const ws = new WebSocket('ws://127.0.0.1:1/');
    const error = await next(ws, 'error');
    ok(error.message.startsWith('Uncaught Error: Failed to establish the WebSocket connection'), error.message);
    equal(ws.readyState, WebSocket.CLOSED);
});

test('close() while connecting', async () => {
    const ws = new WebSocket('ws://127.0.0.1:1/');
    ws.close();
    const e = await next(ws, 'close');
    same([e.code, e.wasClean, ws.readyState], [1006, false, 3]);
});

test('responses', () => {
    const pair = new WebSocketPair();
    const response = new Response(null, { status: 101, webSocket: pair[0] });
    same([response.status, response.webSocket === pair[0]], [101, true]);
    throws(() => response.clone(), 'TypeError');
    throws(() => new Response(null, { status: 200, webSocket: pair[1] }), 'RangeError');
    throws(() => new Response(null, { status: 101, webSocket: {} }), 'TypeError');
    throws(() => new Response(null, { status: 101 }), 'RangeError');
});

test('pairs of request and response', () => {
    const p = new WebSocketRequestResponsePair('ping', 'pong');
    same([p.request, p.response], ['ping', 'pong']);
    throws(() => new WebSocketRequestResponsePair('x'), 'TypeError');
});

export default run;
