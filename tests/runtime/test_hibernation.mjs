// Hibernatable WebSockets, and gates of cells that are called: services.md 1.8; runtime.md 2.3 to 2.6.
import { DurableObject } from 'cloudflare:workers';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

export default run;

let instances = 0;
export class Room extends DurableObject {
    log = [];
    constructor(ctx, env) {
        super(ctx, env);
        this.number = ++instances;
        this.flood = floods[ctx.id.name] ??= new Flood(); // It may go to sleep in between.
        if (ctx.id.name === 'sleepy flood') ctx.blockConcurrencyWhile(() => scheduler.wait(100));
    }
    async fetch(request) {
        const url = new URL(request.url);
        const [client, server] = Object.values(new WebSocketPair());
        const tags = url.searchParams.getAll('tag');
        this.ctx.acceptWebSocket(server, tags.length > 0 ? tags : undefined);
        server.serializeAttachment({ user: url.pathname.slice(1) });
        if (url.searchParams.has('early')) server.send('early');
        return new Response(null, { status: 101, webSocket: client });
    }
    async webSocketMessage(ws, message) {
        const { user } = ws.deserializeAttachment();
        if (message === 'who') ws.send(`${user} ${this.ctx.getTags(ws)} ${this.number}`);
        else if (message === 'all') for (const other of this.ctx.getWebSockets()) other.send(`from ${user}`);
        else if (this.flood.takes(message)) return;
        else if (message === 'flood?') ws.send(this.flood.seen);
        else if (message === 'hold') this.ctx.blockConcurrencyWhile(() => scheduler.wait(100));
        else if (message === 'rename') ws.serializeAttachment({ user: 'renamed' });
        else if (message === 'same') ws.send(String(this.ctx.getWebSockets().includes(ws) && this.ctx.getWebSockets()[0] === this.ctx.getWebSockets()[0]));
        else if (message === 'bye') ws.close(4001, 'told so');
        else if (message === 'throw') throw new Error('of a message');
        else if (message === 'slow') {
            this.ctx.setHibernatableWebSocketEventTimeout(20);
            await new Promise(() => {});
        } else if (message === 'auto?') ws.send(String(this.ctx.getWebSocketAutoResponseTimestamp(ws) instanceof Date));
        else if (typeof message === 'string') ws.send(`echo ${message}`);
        else ws.send(message);
    }
    webSocketClose(ws, code, reason, wasClean) {
        this.ctx.storage.put('closed', [code, reason, wasClean, this.ctx.getWebSockets().length, ws.readyState]);
        if (code === 4998) ws.close(4997, 'of the handler');
        else if (code !== 4999) ws.close(code === 1005 ? 1000 : code, reason);
    }
    webSocketError(ws, error) {
        this.ctx.storage.put('error', error.message);
    }
    spam() {
        spam(this.ctx.getWebSockets()[0]);
    }
    count(tag) {
        return this.ctx.getWebSockets(tag).length;
    }
    stored(key) {
        return this.ctx.storage.get(key);
    }
    which() {
        return this.number;
    }
    auto(request, response) {
        this.ctx.setWebSocketAutoResponse(request === undefined ? undefined : new WebSocketRequestResponsePair(request, response));
        const pair = this.ctx.getWebSocketAutoResponse();
        return pair === null ? null : [pair.request, pair.response];
    }
    errors() {
        const texts = [];
        const text = (fn) => {
            try {
                texts.push(`${fn()}`);
            } catch (error) {
                texts.push(`${error.name}: ${error.message}`);
            }
        };
        const pair = () => new WebSocketPair()[0];
        text(() => this.ctx.acceptWebSocket(pair(), Array.from({ length: 11 }, (_, i) => `${i}`)));
        text(() => this.ctx.acceptWebSocket(pair(), ['x'.repeat(257)]));
        const accepted = pair();
        accepted.accept();
        text(() => this.ctx.acceptWebSocket(accepted));
        text(() => this.ctx.getTags(accepted));
        text(() => this.ctx.acceptWebSocket({}));
        text(() => this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('x'.repeat(2049), '')));
        text(() => this.ctx.setHibernatableWebSocketEventTimeout(604800001));
        text(() => pair().serializeAttachment('x'.repeat(16385)));
        return texts;
    }
    abort() {
        this.ctx.abort('on purpose');
    }
    // Two increments with something to wait for in between.
    async increment(hold) {
        const work = async () => {
            const n = (await this.ctx.storage.get('n')) ?? 0;
            await scheduler.wait(2);
            await this.ctx.storage.put('n', n + 1);
        };
        await (hold ? this.ctx.blockConcurrencyWhile(work) : work());
    }
    // What follows the call comes before what is in it.
    async order() {
        const seen = ['before'];
        const block = this.ctx.blockConcurrencyWhile(() => seen.push('inside'));
        seen.push('after');
        await block;
        return seen;
    }
    // A stub that is made inside the section leads into it.
    reenter(ask) {
        return this.ctx.blockConcurrencyWhile(async () => [await ask((n) => n + 1), await ask((n) => n + 2)]);
    }
    nest(depth) {
        return depth === 0 ? 'bottom' : this.ctx.blockConcurrencyWhile(async () => this.nest(depth - 1));
    }
    async replace() {
        const { storage } = this.ctx;
        const wrappers = ['id', 'storage', 'props', 'exports', 'container', 'facets'].map((name) => (this.ctx[name] = { name }));
        await this.ctx.blockConcurrencyWhile(() => storage.put('wrapped', true));
        return [wrappers.every((it) => this.ctx[it.name] === it), await storage.get('wrapped')];
    }
    async throwing() {
        try {
            await this.ctx.storage.transaction(async (txn) => {
                await txn.put('rolled', 1);
                throw new Error('back');
            });
        } catch (error) {
            return [error.message, (await this.ctx.storage.get('rolled')) ?? null, this.number];
        }
    }
}

// Messages of 64 KiB with numbers in them, 4 MiB in all.
const FLOOD = 64;
const floods = {};
class Flood {
    seen = '';
    next = 0;
    takes(message) {
        if (!(message instanceof ArrayBuffer) || message.byteLength !== 65536) return false;
        const n = new Uint32Array(message)[0];
        if (n !== this.next++) this.seen = `${n} after ${this.next - 2}`;
        else if (this.next === FLOOD) this.seen = 'all';
        return true;
    }
}
function flood(ws) {
    for (let i = 0; i < FLOOD; i++) ws.send(new Uint32Array(16384).fill(i));
}
const spam = (ws) => {
    for (let i = 0; i < 70; i++) ws.send(new Uint8Array(1 << 20));
};

// Sockets that are accepted with accept().
export class Plain extends DurableObject {
    flood = new Flood();
    heard = [];
    async fetch(request) {
        const [client, server] = Object.values(new WebSocketPair());
        this.socket = server;
        const accept = () => server.accept();
        if (request.url.endsWith('late')) this.late = accept;
        else accept();
        server.addEventListener('message', ({ data }) => {
            if (this.flood.takes(data)) return;
            if (data === 'hold') this.ctx.blockConcurrencyWhile(() => scheduler.wait(100));
            else server.send(this.flood.seen);
        });
        server.addEventListener('error', ({ message }) => this.heard.push(message));
        server.addEventListener('close', ({ code }) => this.heard.push(code));
        return new Response(null, { status: 101, webSocket: client });
    }
    accept() {
        this.late();
    }
    spam() {
        spam(this.socket);
    }
    said() {
        return this.heard;
    }
}

class Client {
    got = [];
    wanted = null;
    constructor(ws) {
        this.ws = ws;
        ws.accept();
        ws.addEventListener('message', ({ data }) => this.push(data));
        ws.addEventListener('close', ({ code, reason, wasClean }) => this.push(`close ${code} ${reason} ${wasClean}`));
    }
    push(what) {
        this.got.push(what);
        this.wanted?.();
    }
    async next() {
        while (this.got.length === 0) await new Promise((resolve) => (this.wanted = resolve));
        return this.got.shift();
    }
    async ask(text) {
        this.ws.send(text);
        return this.next();
    }
}

async function join(stub, path) {
    const response = await stub.fetch(`http://room/${path}`, { headers: { upgrade: 'websocket' } });
    equal(response.status, 101);
    return new Client(response.webSocket);
}
const asleep = () => scheduler.wait(60);

test('messages reach the handler, and the socket answers', async ({ ROOM }) => {
    const room = ROOM.getByName('awake');
    const one = await join(room, 'ann?tag=a&tag=b&tag=a');
    const two = await join(room, 'bob?tag=b&early');
    equal(await two.next(), 'early');
    equal(await one.ask('hello'), 'echo hello');
    equal(await one.ask('who'), `ann a,b ${await room.which()}`);
    one.ws.send(new Uint8Array([1, 2, 3]));
    same([...new Uint8Array(await one.next())], [1, 2, 3]);
    one.ws.send('all');
    equal(await one.next(), 'from ann');
    equal(await two.next(), 'from ann');
    same([await room.count(), await room.count('a'), await room.count('b'), await room.count('c')], [2, 1, 2, 0]);
    equal(await one.ask('same'), 'true');
    one.ws.close(3000, 'done');
    equal(await one.next(), 'close 3000 done true');
    same(await room.stored('closed'), [3000, 'done', true, 2, 2]);
    equal(await room.count(), 1);
    equal(await two.ask('bye'), 'close 4001 told so true');
});

test('the handler of a close has the last word', async ({ ROOM }) => {
    const room = ROOM.getByName('closing');
    const [one, two] = [await join(room, 'ann'), await join(room, 'bob')];
    one.ws.close(4998, 'of the client');
    equal(await one.next(), 'close 4997 of the handler true');
    two.ws.close(4999, 'alone');
    await scheduler.wait(20);
    same(await room.stored('closed'), [4999, 'alone', true, 1, 2]);
    equal(await room.count(), 0);
});

test('blockConcurrencyWhile() begins in a turn of its own', async ({ ROOM }) => {
    same(await ROOM.getByName('order').order(), ['before', 'after', 'inside']);
});

test('a socket outlives its instance, with tags and attachment', async ({ ROOM }) => {
    const room = ROOM.getByName('sleepy');
    const one = await join(room, 'ann?tag=x');
    const before = Number((await one.ask('who')).split(' ')[2]);
    one.ws.send('rename');
    await asleep();
    const after = Number((await one.ask('who')).replace('renamed x ', ''));
    ok(after > before, `${after} is a new instance, ${before} was the old one`);
    equal(await one.ask('same'), 'true');
    await asleep();
    for (let i = 0; i < 20; i++) one.ws.send(`m${i}`); // While nobody is in memory.
    for (let i = 0; i < 20; i++) equal(await one.next(), `echo m${i}`);
    await asleep();
    one.ws.close(1000, 'later');
    equal(await one.next(), 'close 1000 later true');
    same(await room.stored('closed'), [1000, 'later', true, 1, 2]);
    equal(await room.count(), 0);
});

test('an automatic answer wakes nobody', async ({ ROOM }) => {
    const room = ROOM.getByName('sleepy too');
    equal(await room.auto(), null);
    const one = await join(room, 'ann');
    same(await room.auto('ping', 'pong'), ['ping', 'pong']);
    const which = await room.which();
    equal(await one.ask('auto?'), 'false');
    await asleep();
    equal(await one.ask('ping'), 'pong');
    equal(await one.ask('ping'), 'pong');
    await asleep();
    equal(await room.which(), which + 1); // This call did.
    equal(await one.ask('auto?'), 'true');
    equal(await room.auto(), null);
    equal(await one.ask('ping'), 'echo ping');
    one.ws.close(4999, ''); // The handler does not answer it, and without the switch nobody does.
    equal(await one.next(), 'close 1006 WebSocket disconnected without sending Close frame. false');
});

test('what a handler throws stays there; one that is too slow is given up', async ({ ROOM }) => {
    const room = ROOM.getByName('errors');
    const one = await join(room, 'ann');
    one.ws.send('throw');
    one.ws.send('slow');
    equal(await one.ask('still there'), 'echo still there');
    await scheduler.wait(50);
    same(await room.errors(), [
        'Error: a Hibernatable WebSocket cannot have more than 10 tags',
        `Error: "${'x'.repeat(257)}" is longer than the max tag length (256 characters).`,
        'Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`',
        'Error: only hibernatable websockets can have tags.',
        "TypeError: Failed to execute 'acceptWebSocket' on 'DurableObjectState': parameter 1 is not of type 'WebSocket'.",
        'RangeError: Request cannot be larger than 2048 bytes. A request of size 2049 was provided.',
        'Error: Event timeout should not exceed 604800000 ms.',
        "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes. 'attachment' was 16391 bytes.",
    ]);
    one.ws.close();
});

test('a reset keeps the sockets', async ({ ROOM }) => {
    const room = ROOM.getByName('reset');
    const one = await join(room, 'ann');
    const which = Number((await one.ask('who')).split(' ')[2]);
    await rejects(room.abort(), 'Error', 'on purpose');
    ok(Number((await one.ask('who')).split(' ')[2]) > which, 'a new instance');
    one.ws.close(1000, '');
    equal(await one.next(), 'close 1000  true');
});

test('sections nest 64 deep', async ({ ROOM }) => {
    equal(await ROOM.getByName('nest').nest(64), 'bottom');
    await rejects(ROOM.getByName('deep').nest(65), 'Error', /^blockConcurrencyWhile\(\) calls are nested too deeply\./);
});

test('programs may put wrappers in the place of what ctx has', async ({ ROOM }) => {
    same(await ROOM.getByName('wrapped').replace(), [true, true]);
});

test('increments interleave at await, unless a section holds the gate', async ({ ROOM }) => {
    const many = (name, hold) => Promise.all(Array.from({ length: 5 }, () => ROOM.getByName(name).increment(hold)));
    await many('loose', false);
    equal(await ROOM.getByName('loose').stored('n'), 1);
    await many('held', true);
    equal(await ROOM.getByName('held').stored('n'), 5);
    same(await ROOM.getByName('held').reenter(async (inc) => (await inc(20)) * 2), [42, 44]);
    same(await ROOM.getByName('held').throwing(), ['back', null, await ROOM.getByName('held').which()]);
});

// A cell takes no more than 1 MiB and a message of what its clients send: the rest stays with them.
const HELD = (FLOOD - 18) * 65536;

test('a client that floods a busy cell is held up, and loses nothing', async ({ ROOM, PLAIN }) => {
    for (const room of [ROOM.getByName('flood'), PLAIN.getByName('flood')]) {
        const one = await join(room, 'ann');
        one.ws.send('hold');
        flood(one.ws);
        await scheduler.wait(50);
        ok(one.ws.bufferedAmount >= HELD, `${one.ws.bufferedAmount} bytes wait at the client`);
        equal(await one.ask('flood?'), 'all');
        ok(one.ws.bufferedAmount < 1 << 20, `${one.ws.bufferedAmount} bytes wait at the end`);
        one.ws.close(1000, '');
    }
});

test('the same of one that sleeps, and of one that has not accepted yet', async ({ ROOM, PLAIN }) => {
    const sleepy = ROOM.getByName('sleepy flood');
    const one = await join(sleepy, 'ann');
    await asleep();
    flood(one.ws);
    await scheduler.wait(50);
    ok(one.ws.bufferedAmount >= HELD, `${one.ws.bufferedAmount} bytes wait at the client`);
    equal(await one.ask('flood?'), 'all');
    one.ws.close(1000, '');

    const late = PLAIN.getByName('late');
    const two = await join(late, 'late');
    flood(two.ws);
    await scheduler.wait(50);
    ok(two.ws.bufferedAmount >= HELD, `${two.ws.bufferedAmount} bytes wait at the client`);
    await late.accept();
    equal(await two.ask('flood?'), 'all');
    two.ws.close(1000, '');
});

test('a client that takes nothing is given up', async ({ ROOM, PLAIN }) => {
    const text = 'the other side takes messages too slowly: 64 MiB wait for it';
    const upgrade = { headers: { upgrade: 'websocket' } };
    const [room, plain] = [ROOM.getByName('spam'), PLAIN.getByName('spam')];
    const sockets = [await room.fetch('http://room/ann', upgrade), await plain.fetch('http://room/ann', upgrade)]; // Nobody accepts them.
    await room.spam();
    await plain.spam();
    await scheduler.wait(20);
    equal(await room.stored('error'), `WebSocket protocol error 1008: ${text}`);
    equal(await room.count(), 0);
    same(await plain.said(), [`Uncaught Error: WebSocket protocol error; protocolError.statusCode = 1008; protocolError.description = ${text}`, 1008]);
    equal(sockets.length, 2);
});
