// Durable Objects behind wires: names, calls, stubs, streams, sockets, and what goes wrong. services.md 1.2; runtime.md 6.
import { DurableObject, RpcTarget } from 'cloudflare:workers';
import { equal, ok, rejects as rejected, run, same, test, throws } from 'harness.js';

export default run;

const disposed = [];
class Counter extends RpcTarget {
    #n = 0;
    constructor(n = 0) {
        super();
        this.#n = n;
    }
    add(n = 1) {
        return (this.#n += n);
    }
    get value() {
        return this.#n;
    }
    next() {
        return new Counter(this.#n + 1);
    }
    async slow() {
        await scheduler.wait(20);
        return this.#n;
    }
    [Symbol.dispose]() {
        disposed.push(this.#n);
    }
}

export class Room extends DurableObject {
    kept = null;
    calls = [];
    constructor(ctx, env) {
        super(ctx, env);
        if (this.ctx.id.name === 'broken constructor') throw new RangeError('no such room');
    }
    echo(value) {
        return value;
    }
    nothing() {}
    disposed() {
        return disposed;
    }
    ownId() {
        return [String(this.ctx.id), this.ctx.id.name ?? null];
    }
    fail(what) {
        if (what === 'text') throw 'just text';
        throw Object.assign(new RangeError('over there'), { code: 9, f() {} });
    }
    counter(n) {
        return new Counter(n);
    }
    pair() {
        return { one: new Counter(1), two: new Counter(2), plain: [1, 2] };
    }
    fn(base) {
        return (n) => base + n;
    }
    object() {
        return { a: { b: { c: 7 } }, list: [1] };
    }
    async callback(fn, n) {
        return (await fn(n)) + 1;
    }
    async visit(counter) {
        await counter.add(5);
        return counter.value;
    }
    keep(fn) {
        this.kept = fn.dup();
    }
    async useKept(n) {
        return this.kept(n);
    }
    forget() {
        this.kept[Symbol.dispose]();
        this.kept = null;
    }
    home(stub) {
        return stub;
    }
    order(n) {
        this.calls.push(n);
    }
    taken() {
        return this.calls.splice(0);
    }
    hang() {
        return new Promise(() => {});
    }
    abort() {
        this.ctx.abort('reset by hand');
    }
    abortWith(reason) {
        this.ctx.abort(reason);
    }
    failInBlock() {
        return this.ctx.blockConcurrencyWhile(() => {
            throw new RangeError('in a block');
        });
    }
    async later(ms) {
        await scheduler.wait(ms);
        this.ctx.abort('reset while others wait');
    }
    stream(count, size) {
        let n = 0;
        return new ReadableStream({
            type: 'bytes',
            pull: (c) => {
                this.pulled = ++n;
                if (n > count) {
                    c.close();
                    c.byobRequest?.respond(0);
                } else c.enqueue(new Uint8Array(size).fill(n));
            },
            cancel: (reason) => {
                this.cancelled = reason?.message ?? String(reason);
            },
        }, { highWaterMark: 0 });
    }
    values() {
        return new ReadableStream({
            start(c) {
                c.enqueue({ n: 1 });
                c.enqueue('two');
                c.close();
            },
        });
    }
    failing() {
        return new ReadableStream({
            pull(c) {
                c.error(new Error('stream broke'));
            },
        });
    }
    seen() {
        return [this.pulled, this.cancelled, this.signals];
    }
    async lengths(stream) {
        const lengths = [];
        for await (const chunk of stream) lengths.push(chunk.length);
        return lengths;
    }
    async write(stream, count) {
        const writer = stream.getWriter();
        for (let i = 0; i < count; i++) await writer.write(new Uint8Array(10000));
        await writer.close();
    }
    sink() {
        const got = (this.got = []);
        return new WritableStream({
            write(chunk) {
                if (chunk === 'bad') throw new Error('not that');
                got.push(chunk.length ?? chunk);
            },
            close() {
                got.push('closed');
            },
            abort(reason) {
                got.push(`aborted ${reason.message}`);
            },
        });
    }
    sunk() {
        return this.got;
    }
    watch(signal) {
        return new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve(`aborted: ${signal.reason}`));
        });
    }
    response() {
        return new Response('from rpc', { status: 201, headers: { a: 'b' } });
    }
    big(n) {
        return 'x'.repeat(n);
    }
    get property() {
        return 11;
    }
    async count() {
        const n = ((await this.ctx.storage.get('n')) ?? 0) + 1;
        await this.ctx.storage.put('n', n);
        return n;
    }
    bad() {
        return Symbol('no');
    }
    badStub() {
        return { target: new Counter(3), symbol: Symbol('no') };
    }

    async fetch(request) {
        const url = new URL(request.url);
        switch (url.pathname) {
            case '/echo': return new Response(request.body, { headers: { method: request.method, x: request.headers.get('x') ?? '' } });
            case '/url': return new Response(request.url);
            case '/bare': return new Response(null);
            case '/text': return new Response(`text of ${url.host}`);
            case '/json': return Response.json({ got: await request.json() });
            case '/large': return new Response('y'.repeat(3 << 20));
            case '/stream': return new Response(this.stream(5, 50000));
            case '/broken': return new Response(this.failing());
            case '/throw': throw new TypeError('thrown there');
            case '/none': return 'no response';
            case '/wait':
                return new Promise((resolve) => {
                    request.signal.addEventListener('abort', () => {
                        this.signals = request.signal.reason.message;
                    });
                });
            case '/redirect': return Response.redirect('http://room/text');
            case '/empty': return new Response(null, { status: 204 });
            case '/abort': return this.abort();
            case '/socket': {
                const [client, server] = Object.values(new WebSocketPair());
                server.accept();
                server.send('hello');
                server.addEventListener('message', ({ data }) => {
                    if (data === 'close me') server.close(4001, 'as you wish');
                    else if (data === 'reset') this.ctx.abort('gone');
                    else server.send(typeof data === 'string' ? `echo ${data}` : data);
                });
                server.addEventListener('close', (e) => {
                    this.closed = [e.code, e.reason, e.wasClean];
                });
                return new Response(null, { status: 101, webSocket: client, headers: { 'sec-websocket-protocol': 'chat' } });
            }
            default: return new Response('not here', { status: 404 });
        }
    }
    closedWith() {
        return this.closed;
    }
}
export class Plain {
    constructor() {}
    method() {}
}

// An RpcPromise is a function, too: it is not to be called.
const rejects = (promise, ...what) => rejected(typeof promise === 'function' && promise.constructor.name !== 'RpcPromise' && promise.constructor.name !== 'RpcProperty' ? promise : (async () => promise)(), ...what);
const room = (env, name) => env.ROOM.getByName(name);
const HEX = /^[0-9a-f]{64}$/;
const eventually = async (fn, what) => {
    for (let i = 0; i < 200; i++) {
        if (await fn()) return;
        await scheduler.wait(5);
    }
    ok(false, what);
};

// ---- Names

test('ids of names', (env) => {
    const a = env.ROOM.idFromName('a');
    ok(HEX.test(String(a)), String(a));
    equal(a.name, 'a');
    equal(a.jurisdiction, undefined);
    ok(a.equals(env.ROOM.idFromName('a')));
    ok(!a.equals(env.ROOM.idFromName('b')));
    ok(String(a) !== String(env.PLAIN.idFromName('a')), 'classes have ids of their own');
    ok(String(a) !== String(env.ROOM.newUniqueId()));
    const many = Array.from({ length: 1100 }, (_, i) => String(env.ROOM.idFromName(`n${i}`))); // More than are remembered.
    equal(new Set(many).size, many.length);
    for (const i of [0, 600, 1099]) equal(String(env.ROOM.idFromName(`n${i}`)), many[i]);
    equal(a.constructor.name, 'DurableObjectId');
    equal(env.ROOM.constructor.name, 'DurableObjectNamespace');
    equal(env.ROOM.idFromName('ä'.repeat(512)).name.length, 512);
    equal(env.ROOM.idFromName('ä'.repeat(513)).name, undefined, 'more than 1024 bytes');
    throws(() => a.equals('a'), 'TypeError');
    throws(() => env.ROOM.idFromName(), 'TypeError', /1 argument required/);
    throws(() => new a.constructor(), 'TypeError', 'Illegal constructor');
    throws(() => new env.ROOM.constructor(), 'TypeError', 'Illegal constructor');
});

test('ids of text', (env) => {
    const text = String(env.ROOM.newUniqueId());
    equal(String(env.ROOM.idFromString(text)), text);
    equal(String(env.ROOM.idFromString(text.toUpperCase())), text);
    equal(env.ROOM.idFromString(text).name, undefined);
    throws(() => env.ROOM.idFromString('abc'), 'TypeError', 'Invalid Durable Object ID: must be 64 hex digits');
    throws(() => env.ROOM.idFromString('z'.repeat(64)), 'TypeError', 'Invalid Durable Object ID: must be 64 hex digits');
    throws(() => env.ROOM.idFromString('0'.repeat(64)), 'TypeError', 'Durable Object ID is not valid for this namespace.');
    throws(() => env.PLAIN.idFromString(text), 'TypeError', 'Durable Object ID is not valid for this namespace.');
    throws(() => env.PLAIN.get(env.ROOM.idFromName('a')), 'TypeError', 'Durable Object ID is not valid for this namespace.');
    throws(() => env.ROOM.get('a'), 'TypeError', /not of type 'DurableObjectId'/);
    throws(() => env.ROOM.newUniqueId({ jurisdiction: 'eu' }), 'Error', 'Jurisdiction restrictions are not implemented');
    throws(() => env.ROOM.jurisdiction('eu'), 'Error', 'Jurisdiction restrictions are not implemented');
    equal(env.ROOM.jurisdiction(null), env.ROOM);
});

test('stubs have id and name, and are no promises', async (env) => {
    const stub = room(env, 'a');
    equal(stub.name, 'a');
    ok(stub.id.equals(env.ROOM.idFromName('a')));
    equal(stub.then, undefined);
    equal(await stub, stub);
    equal(stub.constructor.name, 'DurableObject');
});

test('ctx.exports has the namespaces of classes with storage', async (env, ctx) => {
    const { Room: namespace } = ctx.exports;
    equal(String(namespace.idFromName('a')), String(env.ROOM.idFromName('a')));
    equal(await namespace.getByName('exported').echo(5), 5);
    equal(ctx.exports.Plain, undefined);
});

test('a cell knows its id', async (env) => {
    same(await room(env, 'named').ownId(), [String(env.ROOM.idFromName('named')), 'named']);
    const id = env.ROOM.newUniqueId();
    const unique = env.ROOM.get(id);
    equal(unique.name, undefined);
    same(await unique.ownId(), [String(id), null]);
});

// ---- Calls

test('values there and back', async (env) => {
    const stub = room(env, 'values');
    for (const value of [1, 'ü', null, undefined, true, 1n, [1, [2]], { a: { b: 1 } }, 'x'.repeat(100000)]) same(String(await stub.echo(value)), String(value));
    const date = new Date(5);
    equal((await stub.echo(date)).getTime(), 5);
    const map = await stub.echo(new Map([[1, { a: new Set([2]) }]]));
    ok(map.get(1).a.has(2));
    same([...(await stub.echo(new Uint8Array([1, 2, 3])))], [1, 2, 3]);
    equal((await stub.echo(new Headers({ a: 'b' }))).get('a'), 'b');
    equal((await stub.echo(new URL('http://a/b'))).pathname, '/b');
    equal(await (await stub.echo(new Blob(['blob']))).text(), 'blob');
    const cyclic = { list: [] };
    cyclic.list.push(cyclic);
    const copy = await stub.echo(cyclic);
    equal(copy.list[0], copy);
    equal(await stub.nothing(), undefined);
    equal(await stub.property, 11);
    const error = await stub.echo(Object.assign(new TypeError('as a value'), { extra: 1 }));
    ok(error instanceof TypeError && error.message === 'as a value' && error.extra === 1);
});

test('what a method throws', async (env) => {
    const error = await rejects(room(env, 'throws').fail(), 'RangeError', 'over there');
    equal(error.remote, true);
    equal(error.code, 9);
    equal(error.f, undefined);
    let text;
    await room(env, 'throws').fail('text').catch((e) => (text = e));
    equal(text, 'just text');
    await rejects(room(env, 'throws').missing(), 'TypeError', 'The RPC receiver does not implement the method "missing".');
    await rejects(room(env, 'throws').alarm(), 'TypeError', "'alarm' is a reserved method and cannot be called over RPC.");
    await rejects(room(env, 'throws').kept, 'TypeError', /does not implement/);
    await rejects(room(env, 'throws').bad(), 'DataCloneError');
    await rejects(room(env, 'throws').badStub(), 'DataCloneError');
    await rejects(room(env, 'throws').echo(Symbol('a')), 'DataCloneError');
});

test('a class that is no DurableObject has no methods for others', async (env) => {
    await rejects(env.PLAIN.getByName('a').method(), 'TypeError', /^The receiving Durable Object does not support RPC, because its class was not declared with `extends DurableObject`\./);
});

test('a constructor that throws, and a class that is not there', async (env) => {
    const broken = room(env, 'broken constructor');
    equal((await rejects(broken.echo(1), 'RangeError', 'no such room')).durableObjectReset, true);
    await rejects(broken.echo(1), 'RangeError', 'no such room');
    await rejects(env.NONE.getByName('a').echo(1), undefined, /Nobody/);
});

test('more than 32 MiB', async (env) => {
    await rejects(room(env, 'big').echo('x'.repeat(33 << 20)), 'Error', /limited to 32MiB/);
    await rejects(room(env, 'big').big(33 << 20), 'Error', /limited to 32MiB/);
    equal((await room(env, 'big').big(1 << 20)).length, 1 << 20);
});

test('calls on one stub start in their order', async (env) => {
    const stub = room(env, 'order');
    const calls = [];
    for (let i = 0; i < 20; i++) calls.push(stub.order(i));
    await Promise.all(calls);
    same(await stub.taken(), [...Array(20).keys()]);
});

test('another script, and back', async (env) => {
    equal(await env.FAR.getByName('a').where(), 'far');
    same(await env.FAR.getByName('a').relay('b', { c: 1 }), { c: 1 });
    const stub = await env.FAR.getByName('a').stub('z');
    equal(stub.name, 'z');
    equal(await stub.echo(3), 3);
    const back = await room(env, 'b').home(room(env, 'c'));
    equal(back.name, 'c');
    equal(await back.echo(4), 4);
});

// ---- Stubs

test('targets and functions that a cell gives', async (env) => {
    using counter = await room(env, 'targets').counter(1);
    equal(await counter.add(2), 3);
    equal(await counter.value, 3);
    using next = await counter.next();
    equal(await next.value, 4);
    using fn = await room(env, 'targets').fn(10);
    equal(await fn(5), 15);
    using pair = await room(env, 'targets').pair();
    equal(await pair.one.add(), 2);
    equal(await pair.two.add(), 3);
    same(pair.plain, [1, 2]);
});

test('the disposer of a target runs once nobody has it', async (env) => {
    const counter = await room(env, 'disposal').counter(77);
    const dup = counter.dup();
    counter[Symbol.dispose]();
    await rejects(async () => counter.add(), 'Error', 'RPC stub used after being disposed.');
    await scheduler.wait(5);
    ok(!(await room(env, 'disposal').disposed()).includes(77));
    equal(await dup.value, 77);
    dup[Symbol.dispose]();
    await eventually(async () => (await room(env, 'disposal').disposed()).includes(77), 'disposed');
});

test('calls on what has not come yet', async (env) => {
    const stub = room(env, 'pipeline');
    equal(await stub.counter(5).add(2), 7);
    equal(await stub.counter(5).next().next().value, 7);
    equal(await stub.object().a.b.c, 7);
    same(await stub.object().list, [1]);
    await rejects(stub.object().a.missing.c, 'TypeError', /missing/);
    await rejects(stub.object().a.b(), 'TypeError', /not a function/);
    await rejects(stub.fail().a.b(), 'RangeError', 'over there');
    await rejects(stub.echo(1).a, 'TypeError');
    const object = stub.object();
    same(await Promise.all([object.a.b.c, object.list, object]), [7, [1], { a: { b: { c: 7 } }, list: [1] }]);
    // A promise as an argument.
    equal(await stub.echo(stub.counter(8).value), 8);
    using echoed = await stub.echo(stub.counter(9));
    equal(await echoed.add(), 10);
});

test('functions and targets that a caller gives', async (env) => {
    const stub = room(env, 'callbacks');
    equal(await stub.callback((n) => n * 2, 4), 9);
    await rejects(stub.callback(() => { throw new SyntaxError('in the callback'); }), 'SyntaxError', 'in the callback');
    const mine = new Counter(1);
    equal(await stub.visit(mine), 6);
    equal(mine.value, 6);
    const fn = (n) => n;
    await stub.keep((n) => n + 100);
    equal(await stub.useKept(5), 105);
    equal(await stub.useKept(6), 106);
    await stub.forget();
    using back = await stub.home(fn);
    equal(await back(3), 3);
});

// ---- Requests

test('requests', async (env) => {
    const stub = room(env, 'http');
    const response = await stub.fetch('http://room/text');
    equal(response.status, 200);
    equal(response.url, 'http://room/text');
    equal(response.headers.get('content-type'), 'text/plain;charset=UTF-8');
    equal(await response.text(), 'text of room');
    same(await (await stub.fetch(new Request('http://room/json', { method: 'POST', body: '[1]' }))).json(), { got: [1] });
    const echoed = await stub.fetch('http://room/echo', { method: 'PUT', body: new Uint8Array([1, 2]), headers: { x: 'y' } });
    equal(echoed.headers.get('method'), 'PUT');
    equal(echoed.headers.get('x'), 'y');
    same([...(await echoed.bytes())], [1, 2]);
    equal((await (await stub.fetch('http://room/large')).text()).length, 3 << 20);
    equal((await (await stub.fetch('http://room/echo', { method: 'POST', body: 'z'.repeat(2 << 20) })).text()).length, 2 << 20);
    equal((await (await stub.fetch('http://room/stream')).bytes()).length, 250000);
    const { readable, writable } = new TransformStream();
    const through = stub.fetch('http://room/echo', { method: 'POST', body: readable });
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode('first '));
    await writer.write(new TextEncoder().encode('second'));
    await writer.close();
    equal(await (await through).text(), 'first second');
    equal((await stub.fetch('http://room/empty')).status, 204);
    equal((await stub.fetch('http://room/empty')).body, null);
    equal(await (await stub.fetch('http://room/url#part')).text(), 'http://room/url');
    const bare = await stub.fetch('http://room/bare');
    ok(bare.body !== null, 'an answer without a body has an empty one');
    equal(await bare.text(), '');
    const head = await stub.fetch('http://room/text', { method: 'HEAD' });
    same([head.status, head.body], [200, null]);
    equal((await stub.fetch('http://room/nowhere')).status, 404);
    const followed = await stub.fetch('http://room/redirect');
    equal(await followed.text(), 'text of room');
    ok(followed.redirected);
    equal((await stub.fetch('http://room/redirect', { redirect: 'manual' })).status, 302);
    await rejects(stub.fetch('/relative'), 'TypeError');
    await rejects(stub.fetch(), 'TypeError');
});

test('requests that fail', async (env) => {
    const stub = room(env, 'http');
    const error = await rejects(stub.fetch('http://room/throw'), 'TypeError', 'thrown there');
    equal(error.remote, true);
    await rejects(stub.fetch('http://room/none'), 'TypeError', /did not resolve to 'Response'/);
    await rejects((await stub.fetch('http://room/broken')).text(), 'Error', 'stream broke');
    await rejects(env.PLAIN.getByName('a').fetch('http://x'), 'Error', 'Handler does not export a fetch() function.');
});

test('a request that is given up', async (env) => {
    const stub = room(env, 'given up');
    const controller = new AbortController();
    const answer = stub.fetch('http://room/wait', { signal: controller.signal });
    await scheduler.wait(5);
    controller.abort(new Error('no longer'));
    await rejects(answer, 'Error', 'no longer');
    await eventually(async () => (await stub.seen())[2] !== undefined, 'the signal there');
    equal((await stub.seen())[2], 'The client has disconnected');
    await rejects(stub.fetch('http://room/wait', { signal: AbortSignal.abort(new Error('before')) }), 'Error', 'before');
    // A body that nobody reads to its end.
    const response = await stub.fetch('http://room/stream');
    const reader = response.body.getReader();
    await reader.read();
    await reader.cancel(new Error('enough'));
    await eventually(async () => (await stub.seen())[1] === 'enough', 'cancelled there');
});

// ---- Streams

test('streams from a cell', async (env) => {
    const stub = room(env, 'streams');
    const sizes = [];
    for await (const chunk of await stub.stream(3, 1000)) sizes.push(chunk.length);
    same(sizes, [1000, 1000, 1000]);
    const values = [];
    for await (const value of await stub.values()) values.push(value);
    same(values, [{ n: 1 }, 'two']);
    await rejects((await stub.failing()).getReader().read(), 'Error', 'ReadableStream received over RPC disconnected prematurely.');
    equal(await (await stub.response()).text(), 'from rpc');
});

test('a stream goes no further than its credit', async (env) => {
    const stub = room(env, 'credit');
    const stream = await stub.stream(1000, 10000);
    await scheduler.wait(20);
    const [pulled] = await stub.seen();
    ok(pulled >= 6 && pulled <= 8, `${pulled} chunks of 10000 bytes`);
    const reader = stream.getReader();
    for (let i = 0; i < 50; i++) equal((await reader.read()).value.length, 10000);
    await scheduler.wait(20);
    ok((await stub.seen())[0] <= 58);
    await reader.cancel(new Error('done with it'));
    await eventually(async () => (await stub.seen())[1] === 'done with it', 'cancelled there');
});

test('streams to a cell', async (env) => {
    const stub = room(env, 'streams to');
    const source = new ReadableStream({
        type: 'bytes',
        start(c) {
            for (let i = 1; i <= 10; i++) c.enqueue(new Uint8Array(20000 + i));
            c.close();
        },
    });
    const lengths = await stub.lengths(source);
    equal(lengths.reduce((a, b) => a + b), 200055);
    ok(source.locked);
});

test('writable streams', async (env) => {
    const stub = room(env, 'writables');
    let written = 0;
    const mine = new WritableStream({
        write(chunk) {
            written += chunk.length;
        },
    });
    await stub.write(mine, 20);
    equal(written, 200000);
    let writer = (await stub.sink()).getWriter();
    await writer.write(new Uint8Array(7));
    await writer.write('text');
    await writer.close();
    same(await stub.sunk(), [7, 4, 'closed']);
    writer = (await stub.sink()).getWriter();
    await writer.write('bad');
    await rejects(writer.closed, 'Error', 'not that');
    writer = (await stub.sink()).getWriter();
    await writer.abort(new Error('changed my mind'));
    await eventually(async () => (await stub.sunk())[0] === 'aborted changed my mind', 'aborted there');
});

test('signals', async (env) => {
    const stub = room(env, 'signals');
    const controller = new AbortController();
    const told = stub.watch(controller.signal);
    await scheduler.wait(5);
    controller.abort('because');
    equal(await told, 'aborted: because');
});

// ---- Sockets

const socketOf = async (stub) => {
    const response = await stub.fetch('http://room/socket', { headers: { upgrade: 'websocket' } });
    equal(response.status, 101);
    const got = [], closed = Promise.withResolvers();
    const socket = response.webSocket;
    socket.accept();
    socket.addEventListener('message', ({ data }) => got.push(data));
    socket.addEventListener('close', (e) => closed.resolve([e.code, e.reason, e.wasClean]));
    return { socket, got, closed: closed.promise };
};

test('a socket that a cell answers with', async (env) => {
    const stub = room(env, 'sockets');
    const { socket, got, closed } = await socketOf(stub);
    equal(socket.protocol, 'chat');
    socket.send('one');
    socket.send(new Uint8Array([1, 2, 3]));
    await eventually(() => got.length === 3, 'messages');
    same(got.slice(0, 2), ['hello', 'echo one']);
    same([...new Uint8Array(got[2])], [1, 2, 3]);
    socket.close(4000, 'bye');
    await eventually(async () => (await stub.closedWith()) !== undefined, 'closed there');
    same(await stub.closedWith(), [4000, 'bye', true]);
});

test('a socket that the cell closes, or loses', async (env) => {
    const stub = room(env, 'sockets 2');
    const one = await socketOf(stub);
    one.socket.send('close me');
    same(await one.closed, [4001, 'as you wish', true]);
    const two = await socketOf(stub);
    two.socket.send('reset');
    equal((await two.closed)[0], 1006);
});

// ---- What goes wrong

test('a reset ends every call, and breaks the stub', async (env) => {
    const stub = room(env, 'reset');
    const other = room(env, 'reset');
    const hanging = other.hang();
    const counter = await stub.counter(1);
    await scheduler.wait(5);
    const error = await rejects(stub.abort(), 'Error', 'reset by hand');
    equal(error.durableObjectReset, true);
    equal(error.retryable, true);
    await rejects(hanging, 'Error', 'reset by hand');
    await rejects(counter.add(), 'Error', 'reset by hand');
    await rejects(stub.echo(1), 'Error', 'reset by hand');
    await rejects(stub.fetch('http://room/text'), 'Error', 'reset by hand');
    equal(await room(env, 'reset').echo(2), 2);
    await rejects(room(env, 'reset 2').fetch('http://room/abort'), 'Error', 'reset by hand');
});

test('the reason of a reset', async (env) => {
    const reasons = [[new RangeError('an error'), 'RangeError: an error'], ['TypeError: a text', 'TypeError: a text'], [new Error('plain'), 'Error: plain'], [7, '7']];
    for (const [reason, text] of reasons) await rejects(room(env, 'reasons').abortWith(reason), 'Error', text);
    await rejects(room(env, 'reasons').failInBlock(), 'RangeError', 'in a block');
});

test('refusals', async (env) => {
    let error = await rejects(room(env, 'refuse:owner unreachable').echo(1), 'Error', 'owner unreachable');
    equal(error.retryable, true);
    equal(error.durableObjectReset, undefined);
    await rejects(room(env, 'refuse:owner unreachable').fetch('http://x'), 'Error', 'owner unreachable');
    error = await rejects(room(env, 'overloaded').echo(1), 'Error', 'cell overload: admission refused');
    equal(error.overloaded, true);
    const response = await room(env, 'overloaded').fetch('http://x');
    equal(response.status, 503);
    equal(response.headers.get('retry-after'), '1');
    equal(response.headers.get('x-celld-overload'), 'cell');
    same(await response.json(), { error: 'cell admission refused' });
    error = await rejects(room(env, 'lost:went away').echo(1), 'Error', 'went away');
    equal(error.durableObjectReset, true);
    await rejects(room(env, 'lost:went away').fetch('http://x'), 'Error', 'went away');
    const stub = room(env, 'lost:RangeError: too far');
    for (let i = 0; i < 2; i++) error = await rejects(stub.echo(1), 'RangeError', 'too far');
    equal(error.durableObjectReset, true);
    await rejects(room(env, 'lost:TimeoutError: too late').echo(1), 'TimeoutError', 'too late');
    await rejects(room(env, 'lost:Error: RangeError: as a text').echo(1), 'Error', 'RangeError: as a text');
    await rejects(room(env, 'lost:went away').counter(1).add(1), 'Error', 'went away');
});

test('answers that make no sense', async (env) => {
    const id = '01000000';
    const value = (hex) => `ff0f${hex}`;
    for (const hex of ['', '00', '03', `ff${id}`, `63${id}`, `03${id}`, `03${id}00`, `03${id}ff0f`, `0302000000${value('30')}`, `03${id}${value('30')}`, `04${id}${value('30')}`, `01${id}${value('30')}`, `02${id}${value('30')}`, `06${id}00`, `08${id}01`, `0807000000ffffffff`, `05${id}${value('4900')}`, `0f${id}`.slice(0, 8)]) {
        const error = await rejects(room(env, `reply:${hex}`).echo(1), 'Error', /ill-formed message on a wire|never generate a response/);
        await rejects(room(env, `reply:${hex}`).fetch('http://x'), 'Error');
        ok(error !== undefined, hex);
    }
});

test('calls that make no sense', async (env) => {
    const id = '01000000';
    for (const hex of ['', '01', `01${id}ff0f30`, `02${id}ff0f30`, `03${id}ff0f30`, `0601000000`, `08${id}01000000`, `63${id}`]) {
        await rejects(room(env, `inject:${hex}`).echo(1), 'Error', undefined);
    }
});

test('a counter', async (env) => {
    const counts = await Promise.all(Array.from({ length: 10 }, () => room(env, 'counter').count()));
    same(counts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('thousands of calls leave nothing behind', async (env) => {
    const stub = room(env, 'many');
    for (let i = 0; i < 2000; i++) equal(await stub.echo(i), i);
});

test('calls on stubs that a cell gave are requests of it', async (env) => {
    using counter = await room(env, 'counting').counter(7);
    const ends = await Promise.allSettled(Array.from({ length: 9 }, () => counter.slow()));
    same(ends.slice(0, 8).map(({ value }) => value), new Array(8).fill(7)); // As many as tests/runtime/cells.c lets in.
    const { reason } = ends[8];
    equal(`${reason}`, 'Error: cell overload: admission refused');
    same([reason.overloaded, reason.retryable], [true, true]);
    equal(await counter.slow(), 7);
    equal(await counter.next().next().value, 9);
});
