import { DurableObject } from 'cloudflare:workers';
import { bytes, caught, check, message, sleep, socket } from '../case.js';

export class Chat extends DurableObject {
    log = [];
    async fetch(request) {
        const url = new URL(request.url);
        const { searchParams } = url;
        if (url.pathname === '/refuse') return new Response('not now', { status: 403 });
        if (url.pathname === '/throw') throw new RangeError('no socket');
        const { 0: client, 1: server } = new WebSocketPair();
        const headers = request.headers.has('sec-websocket-protocol') ? { 'sec-websocket-protocol': request.headers.get('sec-websocket-protocol').split(',')[0].trim() } : undefined;
        const init = { status: 101, webSocket: client, headers };
        if (url.pathname === '/plain') {
            server.accept();
            server.binaryType = 'arraybuffer';
            server.addEventListener('message', ({ data }) => this.plainMessage(server, data));
            server.addEventListener('close', (e) => {
                this.log.push(['close event', e.code, e.reason, e.wasClean]);
                if (server.readyState === WebSocket.CLOSING || server.readyState === WebSocket.OPEN) server.close(e.code === 1005 ? 1000 : e.code, e.reason);
            });
            return new Response(null, init);
        }
        if (searchParams.has('before')) server.serializeAttachment('from before');
        this.ctx.acceptWebSocket(server, searchParams.has('tag') ? searchParams.getAll('tag') : undefined);
        if (searchParams.has('user')) server.serializeAttachment({ user: searchParams.get('user') });
        if (searchParams.has('early')) server.send('early');
        if (searchParams.has('listen')) server.addEventListener('message', () => this.log.push('event'));
        return new Response(null, init);
    }
    plainMessage(ws, data) {
        if (data === 'close') ws.close(3002, 'as asked');
        else if (data === 'abort') this.ctx.abort('while connected');
        else if (data === 'count') ws.send(`${this.ctx.getWebSockets().length}`);
        else ws.send(data);
    }
    async webSocketMessage(ws, data) {
        const { ctx } = this;
        if (typeof data !== 'string') return ws.send(data);
        const [command, ...args] = data.split(' ');
        const rest = args.join(' ');
        switch (command) {
            case 'who': return ws.send(JSON.stringify(ws.deserializeAttachment()));
            case 'rename': return ws.serializeAttachment({ user: rest });
            case 'tags': return ws.send(JSON.stringify(ctx.getTags(ws)));
            case 'count': return ws.send(`${ctx.getWebSockets(...args).length}`);
            case 'all':
                for (const other of ctx.getWebSockets()) other.send(rest);
                return undefined;
            case 'close': return ws.close(Number(args[0]), args[1]);
            case 'shut': return ws.close();
            case 'throw': throw new Error('of a message');
            case 'reject': return Promise.reject(new Error('of a message'));
            case 'state': return ws.send(`${ws.readyState} ${ws.constructor.name} ${ws instanceof WebSocket} ${ws.url} ${ws.protocol} ${ws.extensions}`);
            case 'same': return ws.send(`${ctx.getWebSockets().includes(ws)} ${ctx.getWebSockets()[0] === ctx.getWebSockets()[0]} ${this.last === undefined ? 'first' : this.last === ws}`, (this.last = ws));
            case 'sleep':
                await sleep(Number(args[0]));
                return ws.send(`slept ${args[0]}`);
            case 'after-close':
                ws.close(1000, 'bye');
                this.log.push(caught(() => ws.send('too late')));
                return undefined;
            case 'codes': return ws.send(JSON.stringify([0, 999, 1005, 1006, 5000].map((code) => caught(() => ws.close(code)))));
            case 'again': return ws.send(`${message(() => ws.accept())} ${caught(() => ctx.acceptWebSocket(ws))}`);
            case 'kind': return ws.send(typeof data);
            case 'stamp': return ws.send(`${ctx.getWebSocketAutoResponseTimestamp(ws)?.constructor.name ?? null}`);
            case 'abort': return ctx.abort('while connected');
            default: return ws.send(data);
        }
    }
    webSocketClose(ws, ...args) {
        this.log.push(['close', ...args, ws.readyState, this.ctx.getWebSockets().length]);
        const [code, reason] = args;
        if (code === 1005) ws.close(3000, 'there was none');
        else if (code === 4998) ws.close(4997, 'yours');
        else if (code !== 4999) ws.close(code, reason);
    }
    webSocketError(ws, error) {
        this.log.push(['error', error instanceof Error]);
    }
    logged() { return this.log; }
    count(...tags) { return this.ctx.getWebSockets(...tags).length; }
    tell(text, ...tags) {
        for (const ws of this.ctx.getWebSockets(...tags)) ws.send(text);
    }
    tags() { return this.ctx.getWebSockets().map((ws) => this.ctx.getTags(ws)); }
    attachments() { return this.ctx.getWebSockets().map((ws) => ws.deserializeAttachment()); }
    closeAll(code, reason) {
        for (const ws of this.ctx.getWebSockets()) ws.close(code, reason);
    }
    auto(...pair) {
        if (pair.length === 0) this.ctx.setWebSocketAutoResponse();
        else if (pair[0] !== null) this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(...pair));
        const set = this.ctx.getWebSocketAutoResponse();
        return set === null ? null : [set.constructor.name, set.request, set.response];
    }
    autoErrors() {
        const { ctx } = this;
        return [
            caught(() => new WebSocketRequestResponsePair('x')), caught(() => new WebSocketRequestResponsePair()), caught(() => ctx.setWebSocketAutoResponse({ request: 'a', response: 'b' })),
            caught(() => ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('x'.repeat(2049), ''))), caught(() => ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('', 'x'.repeat(2049)))),
            caught(() => ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('x'.repeat(2048), 'y'.repeat(2048)))),
        ];
    }
    timeouts() {
        const { ctx } = this;
        const seen = [ctx.getHibernatableWebSocketEventTimeout()];
        for (const ms of [1000, 0, 604800000, undefined]) {
            ctx.setHibernatableWebSocketEventTimeout(ms);
            seen.push(ctx.getHibernatableWebSocketEventTimeout());
        }
        return [...seen, message(() => ctx.setHibernatableWebSocketEventTimeout(604800001)), caught(() => ctx.setHibernatableWebSocketEventTimeout(-1))];
    }
    timeout(ms) { this.ctx.setHibernatableWebSocketEventTimeout(ms); }
    errors() {
        const { ctx } = this;
        const half = () => new WebSocketPair()[0];
        const accepted = half();
        accepted.accept();
        return [
            message(() => ctx.acceptWebSocket(accepted)),
            message(() => ctx.acceptWebSocket(half(), Array.from({ length: 11 }, (_, i) => `${i}`))),
            message(() => ctx.acceptWebSocket(half(), ['x'.repeat(257)])).replace(/x+/, 'x'),
            message(() => ctx.getTags(accepted)),
            caught(() => ctx.acceptWebSocket({})),
            caught(() => ctx.acceptWebSocket()),
            caught(() => ctx.getTags({})),
            caught(() => ctx.acceptWebSocket(half(), 'not a list')),
            caught(() => half().serializeAttachment('x'.repeat(16385))),
            caught(() => half().serializeAttachment(() => {})),
            caught(() => half().serializeAttachment()),
        ];
    }
    limits() {
        const { 0: a, 1: b } = new WebSocketPair();
        this.ctx.acceptWebSocket(b, Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(256, 'x')));
        const tags = this.ctx.getTags(b);
        b.serializeAttachment('x'.repeat(16000));
        return [tags.length, tags[0].length, b.deserializeAttachment().length, b.readyState, typeof a];
    }
    copies() {
        const ws = new WebSocketPair()[0];
        const value = { list: [1], date: new Date(5), map: new Map([[1, bytes(1)]]) };
        ws.serializeAttachment(value);
        value.list.push(2);
        return [ws.deserializeAttachment(), ws.deserializeAttachment() === ws.deserializeAttachment()];
    }
}
// No handlers of its own.
export class Quiet extends DurableObject {
    fetch() {
        const { 0: client, 1: server } = new WebSocketPair();
        this.ctx.acceptWebSocket(server);
        server.send('quiet');
        return new Response(null, { status: 101, webSocket: client });
    }
    count() { return this.ctx.getWebSockets().length; }
}

// ---- A client of the Worker

// Each conversation has an object for itself.
const talk = (name, script, expected, options) => socket(name, (request, env) => env.Chat.getByName(name).fetch(request), script, expected, options);
const end = [['wait', 50], ['close', 1000]];

talk('echo of text', [['text', 'hello'], ['text', 'wörld'], ['text', ''], ...end], ['text hello', 'text wörld', 'text ', 'close 1000']);
talk('echo of bytes', [['bytes', [1, 2, 255]], ['bytes', []], ...end], ['bytes 0102ff', 'bytes ', 'close 1000']);
talk('a message of 100,000 characters', [['text', 'm'.repeat(100000)], ...end], [`text ${'m'.repeat(100000)}`, 'close 1000']);
talk('messages in their order', [...Array.from({ length: 20 }, (_, i) => ['text', `${i}.`]), ...end], [...Array.from({ length: 20 }, (_, i) => `text ${i}.`), 'close 1000']);
talk('a handler does not wait for another one', [['text', 'sleep 30'], ['text', 'fast'], ['wait', 200], ['close', 1000]], ['text fast', 'text slept 30', 'close 1000']);
talk('the object sends first', end, ['text early', 'close 1000'], { request: { path: '/?early' } });
talk('the object closes', [['text', 'close 3001 enough']], ['close 3001 enough']);
talk('the object closes without a code', [['text', 'shut']], ['close 1005']);
talk('the client closes', [['text', 'a'], ['wait', 30], ['close', 4000, 'that is all']], ['text a', 'close 4000 that is all']);
talk('the client closes without a code', [['text', 'a'], ['wait', 30], ['close']], ['text a', 'close 3000 there was none']);
talk('the handler closes with a code of its own', [['text', 'a'], ['wait', 30], ['close', 4998, 'mine']], ['text a', 'close 4997 yours']);
talk('a protocol', end, ['protocol one', 'close 1000'], { request: { protocols: ['one', 'two'] } });
talk('a socket that is refused', [], ['status 403', 'close 1006'], { request: { path: '/refuse' } });
talk('an exception in place of a socket', [], ['status 500', 'close 1006'], { request: { path: '/throw' } });
talk('an exception of a handler', [['text', 'throw'], ['text', 'reject'], ['text', 'still here'], ...end], ['text still here', 'close 1000']);
talk('the state of a socket', [['text', 'state'], ...end], ['text 1 WebSocket true null  ', 'close 1000']);
talk('the same socket each time', [['text', 'same'], ['wait', 20], ['text', 'same'], ...end], ['text true true first', 'text true true true', 'close 1000']);
talk('codes that cannot be sent', [['text', 'codes'], ...end], ['text ["InvalidAccessError","InvalidAccessError","InvalidAccessError","InvalidAccessError","InvalidAccessError"]', 'close 1000']);
talk('accepting twice', [['text', 'again'], ...end], ['text TypeError: Can\'t accept() WebSocket after enabling hibernation. Error', 'close 1000']);
talk('an attachment', [['text', 'who'], ['text', 'rename bob'], ['text', 'who'], ...end], ['text {"user":"ann"}', 'text {"user":"bob"}', 'close 1000'], { request: { path: '/?user=ann' } });
talk('no attachment', [['text', 'who'], ...end], ['text null', 'close 1000']);
talk('an attachment from before', [['text', 'who'], ...end], ['text "from before"', 'close 1000'], { request: { path: '/?before' } });
talk('tags', [['text', 'tags'], ['text', 'count a'], ['text', 'count c'], ['text', 'count'], ...end], ['text ["a","b"]', 'text 1', 'text 0', 'text 1', 'close 1000'], { request: { path: '/?tag=a&tag=b&tag=a' } });
talk('accept(): echo', [['text', 'hello'], ['bytes', [1, 2]], ...end], ['text hello', 'bytes 0102', 'close 1000'], { request: { path: '/plain' } });
talk('accept(): the object closes', [['text', 'close']], ['close 3002 as asked'], { request: { path: '/plain' } });
talk('accept(): not among getWebSockets()', [['text', 'count'], ...end], ['text 0', 'close 1000'], { request: { path: '/plain' } });
const auto = async (request, env) => {
    const stub = env.Chat.getByName(new URL(request.url).pathname);
    await stub.auto('ping', 'pong');
    return stub.fetch(new Request('http://x/', request));
};
socket('an automatic answer', auto, [['text', 'stamp'], ['wait', 30], ['text', 'ping'], ['wait', 20], ['text', 'stamp'], ...end], ['text null', 'text pong', 'text Date', 'close 1000'], { request: { path: '/auto-1' } });
socket('what is not answered automatically', auto, [['text', 'ping '], ['text', 'PING'], ['bytes', [112, 105, 110, 103]], ...end], ['text ping ', 'text PING', 'bytes 70696e67', 'close 1000'], { request: { path: '/auto-2' } });

// ---- The Worker as the client

class Client {
    got = [];
    constructor(ws) {
        this.ws = ws;
        ws.accept();
        ws.addEventListener('message', ({ data }) => this.got.push(data));
        ws.addEventListener('close', ({ code, reason, wasClean }) => this.got.push(['close', code, reason, wasClean]));
    }
    async next() {
        for (let i = 0; this.got.length === 0; i++) {
            if (i === 200) throw new Error('nothing came');
            await sleep(5);
        }
        return this.got.shift();
    }
    ask(text) {
        this.ws.send(text);
        return this.next();
    }
}
const chat = ({ env }, name) => env.Chat.getByName(name);
const join = async (stub, query = '', path = '/') => new Client((await stub.fetch(`http://x${path}?${query}`, { headers: { upgrade: 'websocket' } })).webSocket);
async function until(get, what) {
    for (let i = 0; i < 200; i++) {
        const value = await get();
        if (what(value)) return value;
        await sleep(5);
    }
    throw new Error('it did not come');
}

check('the answer to a request for a socket', async (t) => {
    const r = await chat(t, 'answer').fetch('http://x/', { headers: { upgrade: 'websocket' } });
    const ws = r.webSocket;
    const seen = [r.status, r.body, ws.constructor.name, ws.readyState, caught(() => ws.send('x'))];
    ws.accept();
    ws.close(1000);
    return seen;
}, [101, null, 'WebSocket', 1, 'TypeError']);
check('a socket in the Worker', async (t) => (await join(chat(t, 'in-worker'))).ask('hello'), 'hello');
check('several sockets', async (t) => {
    const stub = chat(t, 'several');
    const [a, b, c] = [await join(stub, 'tag=x'), await join(stub, 'tag=x&tag=y'), await join(stub)];
    const counts = [await stub.count(), await stub.count('x'), await stub.count('y'), await stub.count('z')];
    a.ws.send('all together');
    return [counts, await a.next(), await b.next(), await c.next()];
}, [[3, 2, 1, 0], 'together', 'together', 'together']);
check('a method sends', async (t) => {
    const stub = chat(t, 'method-sends');
    const [a, b] = [await join(stub, 'tag=left'), await join(stub, 'tag=right')];
    await stub.tell('to the right', 'right');
    await stub.tell('to all');
    return [await a.next(), await b.next(), await b.next()];
}, ['to all', 'to the right', 'to all']);
check('tags of several sockets', async (t) => {
    const stub = chat(t, 'tags-of-several');
    await join(stub, 'tag=1');
    await join(stub);
    await join(stub, 'tag=3&tag=2');
    return (await stub.tags()).map((list) => list.join()).sort();
}, ['', '1', '3,2']);
check('attachments of several sockets', async (t) => {
    const stub = chat(t, 'attachments-of-several');
    await join(stub, 'user=ann');
    const bob = await join(stub, 'user=bob');
    bob.ws.send('rename eve');
    await bob.ask('kind');
    return (await stub.attachments()).map((v) => v.user).sort();
}, ['ann', 'eve']);
check('attachments are copies', (t) => chat(t, 'copies').copies(), [{ list: [1], date: new Date(5), map: new Map([[1, bytes(1)]]) }, false]);
check('what the close handler is told', async (t) => {
    const stub = chat(t, 'told-close');
    const client = await join(stub);
    await client.ask('a');
    client.ws.close(4001, 'grüße');
    return [await until(() => stub.logged(), (log) => log.length > 0), await client.next()];
}, [[['close', 4001, 'grüße', true, 2, 1]], ['close', 4001, 'grüße', true]]);
check('what the close handler is told of a close without a code', async (t) => {
    const stub = chat(t, 'told-close-1005');
    const client = await join(stub);
    await client.ask('a');
    client.ws.close();
    return (await until(() => stub.logged(), (log) => log.length > 0))[0].slice(0, 4);
}, ['close', 1005, '', true]);
check('a socket that was closed is gone', async (t) => {
    const stub = chat(t, 'gone');
    const client = await join(stub);
    const other = await join(stub);
    client.ws.close(1000, 'bye');
    await until(() => stub.logged(), (log) => log.length > 0);
    return [await until(() => stub.count(), (n) => n === 1), await other.ask('still')];
}, [1, 'still']);
check('the close of the object', async (t) => {
    const stub = chat(t, 'object-closes');
    const client = await join(stub);
    await stub.closeAll(3005, 'all out');
    return client.next();
}, ['close', 3005, 'all out', true]);
check('the client answers the close of the object', async (t) => {
    const stub = chat(t, 'client-answers');
    const client = await join(stub);
    await stub.closeAll(3005, 'all out');
    await client.next();
    client.ws.close(3005, 'all out');
    return [await until(() => stub.count(), (n) => n === 0), (await stub.logged()).map((entry) => entry.slice(0, 4))];
}, [0, [['close', 3005, 'all out', true]]]);
check('send after close', async (t) => {
    const stub = chat(t, 'after-close');
    const client = await join(stub);
    client.ws.send('after-close');
    return [await client.next(), (await stub.logged())[0]];
}, [['close', 1000, 'bye', true], 'TypeError']);
check('listeners of a hibernatable socket hear nothing', async (t) => {
    const stub = chat(t, 'listeners');
    const client = await join(stub, 'listen');
    return [await client.ask('a'), await stub.logged()];
}, ['a', []]);
check('the close of a plain socket', async (t) => {
    const stub = chat(t, 'plain-close');
    const client = await join(stub, '', '/plain');
    await client.ask('a');
    client.ws.close(4002, 'over');
    return [await until(() => stub.logged(), (log) => log.length > 0), await client.next()];
}, [[['close event', 4002, 'over', true]], ['close', 4002, 'over', true]]);
check('bytes in the Worker', async (t) => {
    const client = await join(chat(t, 'bytes'));
    client.ws.binaryType = 'arraybuffer';
    return client.ask(bytes(1, 2, 3));
}, bytes(1, 2, 3).buffer);
check('messages before accept() wait', async (t) => {
    const { webSocket } = await chat(t, 'before-accept').fetch('http://x/?early', { headers: { upgrade: 'websocket' } });
    await sleep(20);
    return new Client(webSocket).next();
}, 'early');
check('abort() and a socket', async (t) => {
    const client = await join(chat(t, 'abort'));
    client.ws.send('abort');
    await sleep(30);
    client.ws.send('still here');
    const got = await client.next();
    return typeof got === 'string' ? got : got.slice(0, 2);
}, ['close', 1006], { celld: 'still here', why: 'services.md 1.8: the host keeps a hibernatable socket, and the next instance has it; workerd loses it with the instance' });
check('abort() and a plain socket', async (t) => {
    const client = await join(chat(t, 'abort-plain'), '', '/plain');
    client.ws.send('abort');
    const [what, code, , wasClean] = await client.next();
    return [what, code, wasClean];
}, ['close', 1006, false]);
check('a close that no handler answers', async (t) => {
    const seen = [];
    for (const client of [await join(chat(t, 'no-answer')), await join(t.env.Quiet.getByName('a'))]) {
        client.ws.close(4999, 'alone');
        await sleep(200);
        seen.push(client.got.filter((what) => what !== 'quiet'));
    }
    return seen;
}, [[], []], { celld: [[['close', 4999, 'alone', true]], [['close', 4999, 'alone', true]]], why: 'runtime.md 5.5: web_socket_auto_reply_to_close holds for hibernatable sockets, too; workerd leaves the client waiting' });
check('messages without a handler', async (t) => {
    const stub = t.env.Quiet.getByName('b');
    const client = await join(stub);
    client.ws.send('into the void');
    return [await client.next(), await stub.count()];
}, ['quiet', 1]);

// ---- What the object sets

check('errors', (t) => chat(t, 'errors').errors(), [
    'Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`', 'Error: a Hibernatable WebSocket cannot have more than 10 tags',
    'Error: "x" is longer than the max tag length (256 characters).', 'Error: only hibernatable websockets can have tags.', 'TypeError', 'TypeError', 'TypeError', 'TypeError', 'Error', 'DataCloneError', 'TypeError',
]);
check('what is just within the limits', (t) => chat(t, 'limits').limits(), [10, 256, 16000, 1, 'object']);
check('the pair of the automatic answer', async (t) => {
    const stub = chat(t, 'auto-set');
    return [await stub.auto(null), await stub.auto('a', 'b'), await stub.auto(null), await stub.auto('ü', ''), await stub.auto(), await stub.auto(null)];
}, [null, ['WebSocketRequestResponsePair', 'a', 'b'], ['WebSocketRequestResponsePair', 'a', 'b'], ['WebSocketRequestResponsePair', 'ü', ''], null, null]);
check('pairs that cannot be', (t) => chat(t, 'auto-errors').autoErrors(), ['TypeError', 'TypeError', 'TypeError', 'RangeError', 'RangeError', 'nothing was thrown']);
check('the time limit of an event', (t) => chat(t, 'timeouts').timeouts(), [null, 1000, null, 604800000, null, 'Error: Event timeout should not exceed 604800000 ms.', 'TypeError']);
check('a handler over its time limit', async (t) => {
    const stub = chat(t, 'over-time');
    await stub.timeout(20);
    const client = await join(stub);
    client.ws.send('sleep 300');
    return [await client.ask('fast'), await client.ask('kind')];
}, ['fast', 'string']);
