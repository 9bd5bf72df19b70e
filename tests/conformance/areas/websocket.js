import { bytes, caught, check, message, sleep, socket } from '../case.js';

// A handler that accepts the socket and gives it to `use`.
const accept = (use, init) => (request, env, ctx) => {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    use(server, { request, env, ctx });
    return new Response(null, { status: 101, webSocket: client, ...init });
};
const echo = accept((ws) => ws.addEventListener('message', async ({ data }) => ws.send(data instanceof Blob ? await data.arrayBuffer() : data)));

socket('echo of text', echo, [['text', 'hello'], ['text', 'wörld'], ['text', ''], ['wait', 50], ['close', 1000]], ['text hello', 'text wörld', 'text ', 'close 1000']);
socket('echo of bytes', echo, [['bytes', [1, 2, 255]], ['wait', 50], ['close', 1000, 'done']], ['bytes 0102ff', 'close 1000 done']);
socket('a message of 70,000 characters', accept((ws) => ws.addEventListener('message', ({ data }) => ws.send(String(data.length)))), [['text', 'm'.repeat(70000)], ['wait', 50], ['close', 1000]], ['text 70000', 'close 1000']);
socket('the server sends first', accept((ws) => ws.send('welcome')), [['wait', 30], ['close', 1000]], ['text welcome', 'close 1000']);
socket('the server closes', accept((ws) => ws.addEventListener('message', () => ws.close(3001, 'enough'))), [['text', 'x']], ['close 3001 enough']);
socket('binary messages are ArrayBuffers', accept((ws) => ws.addEventListener('message', ({ data }) => ws.send(`${data?.constructor?.name} ${data.byteLength ?? data.size}`))),
    [['bytes', [1, 2, 3]], ['wait', 30], ['close', 1000]], ['text Blob 3', 'close 1000']);
socket('binaryType can be chosen', accept((ws) => { ws.binaryType = 'arraybuffer'; ws.addEventListener('message', ({ data }) => ws.send(`${data?.constructor?.name} ${data.byteLength}`)); }),
    [['bytes', [1, 2, 3]], ['wait', 30], ['close', 1000]], ['text ArrayBuffer 3', 'close 1000']);
socket('a protocol is chosen', (request) => accept(() => {}, { headers: { 'sec-websocket-protocol': request.headers.get('sec-websocket-protocol').split(',')[1].trim() } })(request),
    [['wait', 10], ['close', 1000]], ['protocol two', 'close 1000'], { request: { protocols: ['one', 'two'] } });
socket('messages sent at once keep their order', accept((ws) => { for (let i = 0; i < 5; i++) ws.send(String(i)); ws.close(1000, 'end'); }), [], ['text 0', 'text 1', 'text 2', 'text 3', 'text 4', 'close 1000 end']);
socket('kinds of data', accept((ws) => { ws.send(bytes(1).buffer); ws.send(new Uint8Array([1, 2, 3]).subarray(1)); ws.close(1000); }), [], ['bytes 01', 'bytes 0203', 'close 1000']);
socket('work goes on after the answer', accept(async (ws) => { await sleep(20); ws.send('later'); ws.close(1000); }), [], ['text later', 'close 1000']);
socket('onmessage', accept((ws) => { ws.onmessage = (e) => ws.send(`${e.type} ${e instanceof MessageEvent} ${e.target === ws}`); }), [['text', 'x'], ['wait', 30], ['close', 1000]], ['text message true true', 'close 1000']);
socket('a pair can be spread', (request) => {
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.close(1000, 'spread');
    return new Response(null, { status: 101, webSocket: client });
}, [], ['close 1000 spread']);
socket('the state of an open socket', accept((ws) => { ws.send(`${ws.readyState} ${ws.url} ${ws.protocol} ${ws.extensions}`); ws.close(1000); }), [], ['text 1 null  ', 'close 1000']);

const pair = () => {
    const { 0: a, 1: b } = new WebSocketPair();
    a.accept();
    b.accept();
    return [a, b];
};
check('a pair used locally', async () => {
    const [a, b] = pair();
    const seen = [];
    b.addEventListener('message', ({ data }) => { seen.push(data); b.send(`${data}!`); });
    const back = new Promise((resolve) => a.addEventListener('message', ({ data }) => resolve(data)));
    a.send('x');
    return [await back, seen];
}, ['x!', ['x']]);
check('a local close', async () => {
    const [a, b] = pair();
    const closed = new Promise((resolve) => b.addEventListener('close', resolve));
    a.close(3000, 'bye');
    const e = await closed;
    return [e.code, e.reason, e.wasClean, e instanceof CloseEvent];
}, [3000, 'bye', true, true]);
check('send before accept', () => caught(() => new WebSocketPair()[0].send('x')), 'TypeError');
check('send after close', () => {
    const [a] = pair();
    a.close(1000);
    return message(() => a.send('x'));
}, "TypeError: Can't call WebSocket send() after close().");
check('codes that cannot be sent', () => [0, 999, 1005, 1006, 5000].map((code) => caught(() => pair()[0].close(code))), Array(5).fill('InvalidAccessError'));
check('codes that only an endpoint itself may send', () => [1001, 2999].map((code) => caught(() => pair()[0].close(code))), ['nothing was thrown', 'nothing was thrown'],
    { celld: ['InvalidAccessError', 'InvalidAccessError'], why: 'runtime.md 5.5: 1000 and 3000 to 4999' });
check('the message of a code that cannot be sent', () => message(() => pair()[0].close(1005)), 'InvalidAccessError: Invalid WebSocket close code: 1005.');
check('a reason that is too long', () => caught(() => pair()[0].close(1000, 'x'.repeat(124))), 'SyntaxError');
check('constants', () => [WebSocket.CONNECTING, WebSocket.OPEN, WebSocket.CLOSING, WebSocket.CLOSED, WebSocket.READY_STATE_OPEN], [0, 1, 2, 3, 1]);
check('accept twice', () => {
    const [a] = pair();
    return caught(() => a.accept());
}, 'nothing was thrown', {});
check('attachments', () => {
    const [a] = pair();
    const before = a.deserializeAttachment();
    a.serializeAttachment({ id: 1, list: [2] });
    return [before, a.deserializeAttachment()];
}, [null, { id: 1, list: [2] }]);
check('an attachment that is too large', () => caught(() => pair()[0].serializeAttachment('x'.repeat(16385))), 'Error');
check('a response with a socket', () => {
    const { 0: client } = new WebSocketPair();
    const r = new Response(null, { status: 101, webSocket: client });
    return [r.status, r.webSocket === client, new Response('x').webSocket];
}, [101, true, null]);
check('an outbound socket', async ({ origin }) => {
    const ws = new WebSocket(origin.replace('http', 'ws'));
    const states = [ws.readyState];
    await new Promise((resolve) => ws.addEventListener('open', resolve));
    states.push(ws.readyState);
    const got = new Promise((resolve) => ws.addEventListener('message', ({ data }) => resolve(data)));
    ws.send('over there');
    const data = await got;
    const closed = new Promise((resolve) => ws.addEventListener('close', resolve));
    ws.close(1000, 'ok');
    const { code, wasClean } = await closed;
    return [states, data, code, wasClean];
}, [[0, 1], 'over there', 1000, true]);
check('an outbound socket that the server closes', async ({ origin }) => {
    const ws = new WebSocket(origin.replace('http', 'ws'));
    await new Promise((resolve) => ws.addEventListener('open', resolve));
    const closed = new Promise((resolve) => ws.addEventListener('close', resolve));
    ws.send('close me');
    const { code, reason } = await closed;
    return [code, reason];
}, [4001, 'as you wish']);
check('a protocol of an outbound socket', async ({ origin }) => {
    const ws = new WebSocket(origin.replace('http', 'ws'), ['first', 'second']);
    await new Promise((resolve) => ws.addEventListener('open', resolve));
    const { protocol } = ws;
    ws.close(1000);
    return protocol;
}, 'first');
check('fetch with Upgrade', async ({ origin }) => {
    const r = await fetch(origin, { headers: { upgrade: 'websocket' } });
    const ws = r.webSocket;
    ws.accept();
    const got = new Promise((resolve) => ws.addEventListener('message', ({ data }) => resolve(data)));
    ws.send('via fetch');
    const data = await got;
    ws.close(1000);
    return [r.status, data];
}, [101, 'via fetch']);
check('addresses and protocols that cannot be', () => [caught(() => new WebSocket('ftp://a')), caught(() => new WebSocket('not a url')), caught(() => new WebSocket('ws://a', ['a', 'a'])), caught(() => new WebSocket('ws://a', 'a b'))],
    ['SyntaxError', 'SyntaxError', 'SyntaxError', 'SyntaxError']);
check('a connection that is refused', async () => {
    const ws = new WebSocket('ws://127.0.0.1:1/');
    return new Promise((resolve) => {
        const seen = [];
        ws.addEventListener('error', (e) => { seen.push(e.type); setTimeout(resolve, 5, seen); });
    });
}, ['error']);
socket('through to another server', (request, env) => fetch(env.ORIGIN, request), [['text', 'spliced'], ['wait', 50], ['close', 1000]], ['text spliced', 'close 1000']);
const upgrade = { headers: { Upgrade: 'websocket' } };
check('fetch of a socket that is refused', async ({ origin }) => {
    const r = await fetch(`${origin}/refused`, upgrade);
    return [r.status, r.webSocket, r.headers.get('x-why'), r.redirected, await r.text()];
}, [403, null, 'members only', false, 'no socket']);
check('a refused socket whose answer nobody reads', async ({ origin }) => {
    const r = await fetch(`${origin}/refused`, upgrade);
    await r.body.cancel();
    return [r.status, r.bodyUsed];
}, [403, true]);
check('fetch of a socket that moved', async ({ origin }) => {
    const r = await fetch(`${origin}/moved`, upgrade);
    const manual = await fetch(`${origin}/moved`, { ...upgrade, redirect: 'manual' });
    const { webSocket } = r;
    webSocket.accept();
    const seen = new Promise((resolve) => webSocket.addEventListener('message', (event) => resolve(event.data)));
    webSocket.send('hello');
    const data = await seen;
    webSocket.close();
    return [r.status, r.redirected, r.url.replace(origin, ''), data, manual.status, manual.webSocket, manual.headers.get('location')];
}, [101, true, '/socket', 'hello', 302, null, '/socket']);
