// JS RPC within one isolate: calls, properties, visibility, values, stubs, pipelining, disposal, errors.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';
import { RpcPromise, RpcProperty, RpcStub, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

class Counter extends RpcTarget {
    disposed = 0;
    #value;
    constructor(value = 0) {
        super();
        this.#value = value;
    }
    add(by) {
        return (this.#value += by);
    }
    get value() {
        return this.#value;
    }
    fetch(a, b) {
        return `${a} ${b}`;
    }
    [Symbol.dispose]() {
        this.disposed++;
    }
}
class Opaque {
    secret() {
        return 1;
    }
}

let instances = 0;
let leaked;
export class Service extends WorkerEntrypoint {
    constructor(ctx, env) {
        super(ctx, env);
        instances++;
        this.arrow = () => 'hidden';
        this.inner = { f: () => 'hidden' };
    }
    sync(...args) {
        return args;
    }
    async echo(value) {
        return value;
    }
    kinds(value) {
        return [Object.prototype.toString.call(value), value?.constructor?.name];
    }
    get constant() {
        return { a: 1, f: (x) => x * 2, deep: { g: (x) => x + 1 }, opaque: new Opaque(), text: 'hi', counter: new Counter(5) };
    }
    get double() {
        return (x) => x * 2;
    }
    get later() {
        return scheduler.wait(1).then(() => 123);
    }
    get broken() {
        throw new Error('property');
    }
    fail() {
        const error = new TypeError('no good', { cause: new Error('the cause') });
        error.code = 7;
        error.skipped = () => {};
        error.list = [1, new Date(5)];
        throw error;
    }
    failOddly() {
        throw { plain: 'value' };
    }
    custom() {
        throw Object.assign(new Error('mine'), { name: 'MyError' });
    }
    dom() {
        throw new DOMException('stop', 'AbortError');
    }
    opaque() {
        return { inside: new Opaque() };
    }
    bare() {
        return { __proto__: null, a: 1 };
    }
    counter(value) {
        return new Counter(value);
    }
    wrapped(value) {
        return { sum: 1, counter: new Counter(value), more: [{ counter: new Counter(value + 1) }] };
    }
    fn() {
        return Object.assign((a, b) => a ^ b, { tag: 'x' });
    }
    async use(counter, by) {
        return counter.add(by);
    }
    async call(f, ...args) {
        return f(...args);
    }
    async keep(counter) {
        const mine = counter.dup();
        return {
            counter: counter.dup(),
            original: (by) => counter.add(by),
            mine: (by) => mine.add(by),
            [Symbol.dispose]() {
                mine[Symbol.dispose]();
            },
        };
    }
    leak(counter) {
        leaked = counter.dup();
        return { plain: true };
    }
    hold(counter) {
        const { ctx } = this;
        counter.dup();
        return { noop() {}, stop: () => ctx.abort(new RangeError('stopped')) };
    }
    nested(f) {
        return { value: f() };
    }
    passed(f) {
        return f();
    }
    fetch() {
        return new Response('http');
    }
    alarm() {}
    stream() {
        const parts = ['a', 'b', 'c'];
        return new ReadableStream({
            type: 'bytes',
            async pull(controller) {
                await scheduler.wait(1);
                if (parts.length > 0) controller.enqueue(new TextEncoder().encode(parts.shift()));
                else controller.close();
            },
        }, { highWaterMark: 0 });
    }
    async read(stream) {
        return new Response(stream).text();
    }
    async write(stream) {
        const writer = stream.getWriter();
        await writer.write(new Uint8Array([65]));
        await writer.close();
    }
    async writeForever(stream) {
        const writer = stream.getWriter();
        for (;;) await writer.write(new Uint8Array([65]));
    }
    async giveUp(stream) {
        stream.getWriter().abort(new Error('boom')).catch(() => {});
    }
    async aborted(signal) {
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return signal.reason;
    }
    never() {
        return new Promise(() => {});
    }
}
export class Front extends WorkerEntrypoint {
    counter(value) {
        return this.env.S.counter(value);
    }
    wrapped(value) {
        return this.env.S.wrapped(value);
    }
}
export const handlers = {
    one: async (arg, env, ctx) => [arg, env.TWELVE, typeof ctx.waitUntil],
    short: (arg) => arg * 2,
    long: (a, b, env, ctx) => a,
    plainValue: 5,
};

const missing = (name) => `The RPC receiver does not implement the method "${name}".`;
const reserved = (name) => `'${name}' is a reserved method and cannot be called over RPC.`;
const DISPOSED = 'RPC stub used after being disposed.';
const turn = () => scheduler.wait(1);

test('a call', async ({ S }) => {
    same(await S.sync(1, 'two', [3]), [1, 'two', [3]]);
    const promise = S.sync(1);
    ok(promise instanceof RpcPromise && typeof promise.then === 'function', 'a promise, also of what is not async');
    await promise;
    instances = 0;
    await Promise.all([S.echo(1), S.echo(2)]);
    equal(instances, 2, 'an instance for each call:');
    ok(S.sync instanceof RpcProperty, 'a property');
    same([S.sync.constructor.name, promise.constructor.name, new RpcStub(() => {}).constructor.name], ['RpcProperty', 'RpcPromise', 'RpcStub']);
    for (const cls of [RpcPromise, RpcProperty]) throws(() => new cls(), 'TypeError', 'Illegal constructor');
});

test('properties', async ({ S }) => {
    equal(await S.double(4), 8);
    equal(await S.constant.f(4), 8);
    equal(await S.constant.deep.g(4), 5);
    equal(await S.constant.text, 'hi');
    equal(await S.constant.counter.add(2), 7);
    equal(await (await S.constant.f)(3), 6);
    equal(await S.later, 123);
    equal(await S.later.finally(() => {}), 123);
    await rejects(() => S.broken, 'Error', 'property');
    equal(await S.broken.catch(() => 'caught'), 'caught');
    equal(await S.broken.then(() => 1, () => 'caught'), 'caught');
});

test('what is visible', async ({ S }) => {
    await rejects(() => S.arrow(), 'TypeError', missing('arrow'));
    await rejects(() => S.inner.f(), 'TypeError', missing('inner'));
    await rejects(() => S.inner, 'TypeError', missing('inner'));
    await rejects(() => S.env, 'TypeError', missing('env'));
    await rejects(() => S.ctx.waitUntil(), 'TypeError', missing('ctx'));
    await rejects(() => S.nothing(), 'TypeError', missing('nothing'));
    await rejects(() => S.constant.opaque.secret(), 'TypeError', missing('opaque'));
    await rejects(() => S.constant.text(), 'TypeError', '"constant.text" is not a function.');
    await rejects(() => S.constant(), 'TypeError', '"constant" is not a function.');
    for (const name of ['alarm', 'webSocketMessage', 'webSocketClose', 'webSocketError', 'scheduled', 'queue', 'dup']) {
        await rejects(() => S[name](), 'TypeError', reserved(name));
    }
    // Names that a local object would answer itself are asked for through a property that has none of its own.
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
        const stub = new RpcStub(new Counter());
        equal(typeof stub[name], 'function');
    }
    const stub = new RpcStub(new Counter());
    await rejects(() => stub.disposed, 'TypeError', missing('disposed'));
    equal(await stub.fetch(1, 2), '1 2', 'fetch is an ordinary name there:');
    equal(await (await S.fetch('http://x/')).text(), 'http');
    equal(S.then, undefined);
});

test('what is written on methods and results is their own', async ({ S }) => {
    const a = S.sync(1), b = S.sync(2);
    for (const [one, other] of [[a, b], [S.echo, S.sync]]) {
        same(Reflect.ownKeys(one), []);
        one.note = 'mine';
        equal(one.note, 'mine');
        ok('note' in one && Object.hasOwn(one, 'note') && !('note' in other));
        ok(other.note instanceof RpcProperty);
        Object.setPrototypeOf(one, null);
        equal(Object.getPrototypeOf(one), null);
        ok(Object.getPrototypeOf(other) === (other === b ? RpcPromise : RpcProperty).prototype);
        delete one.note;
        ok(one.note instanceof RpcProperty && typeof other.name === 'function');
        throws(() => Object.freeze(one), 'TypeError');
    }
    same(await b, await S.sync(2));
});

test('entrypoints that are objects', async ({ H }) => {
    same(await H.one(5), [5, 12, 'function']);
    equal(await H.short(5), 10);
    await rejects(() => H.long(1, 2), 'TypeError', /^Cannot call handler function "long" over RPC because it has the wrong number of arguments\./);
    await rejects(() => H.one(), 'TypeError', /^Attempted to call RPC function "one" with the wrong number of arguments\./);
    await rejects(() => H.one(1, 2), 'TypeError', /^Attempted to call/);
    equal(await H.plainValue, 5);
    await rejects(() => H.toString2(1), 'TypeError', missing('toString2'));
});

test('values are copied as structured clone does', async ({ S }) => {
    const cyclic = { a: [1, , 3], u: undefined, n: null, big: 12n, nan: NaN, zero: -0, date: new Date(5), re: /x/gi };
    cyclic.self = cyclic;
    const got = await S.echo(cyclic);
    ok(got !== cyclic && got.self === got && !(1 in got.a) && got.a.length === 3 && 'u' in got, 'shape');
    same([String(got.big), Number.isNaN(got.nan), Object.is(got.zero, -0), got.date.getTime(), String(got.re)], ['12', true, true, 5, '/x/gi']);
    const map = new Map([['a', { x: 1 }], [{ k: 1 }, new Set([1, 'b'])]]);
    map.set('me', map);
    const other = await S.echo(map);
    same([other.size, [...other.keys()][1], [...[...other.values()][1]], other.get('me') === other], [3, { k: 1 }, [1, 'b'], true]);
    const view = new Uint16Array([1, 2, 3, 4]).subarray(1, 3);
    const copy = await S.echo({ view, again: view });
    same([[...copy.view], copy.view.buffer.byteLength, copy.view === copy.again, copy.view.constructor.name], [[2, 3], 4, true, 'Uint16Array']);
    equal((await S.echo(new DataView(new ArrayBuffer(8), 2, 3))).byteLength, 3);
    equal((await S.echo(new ArrayBuffer(3))).byteLength, 3);
    same(await S.echo(JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}')).then((v) => [Object.keys(v), Object.getPrototypeOf(v) === Object.prototype]), [['__proto__', 'constructor'], true]);
    same(await S.kinds(new Number(5)), ['[object Number]', 'Number']);
    const match = 'xabc'.match(/b/);
    equal((await S.echo(match)).index, 2);
});

test('what cannot be copied', async ({ S }) => {
    const type = (name) => `Could not serialize object of type "${name}". This type does not support serialization.`;
    await rejects(() => S.opaque(), 'DataCloneError', type('Opaque'));
    await rejects(() => S.echo(new Opaque()), 'DataCloneError', type('Opaque'));
    await rejects(() => S.bare(), 'DataCloneError', type('Object'));
    await rejects(() => S.echo(new WeakMap()), 'DataCloneError', type('WeakMap'));
    await rejects(() => S.echo(Promise.resolve(1)), 'DataCloneError', type('Promise'));
    await rejects(() => S.echo(Symbol('x')), 'DataCloneError');
    await rejects(() => S.echo({ a: [Symbol('x')] }), 'DataCloneError');
    await rejects(() => S.echo(new SharedArrayBuffer(4)), 'DataCloneError', type('SharedArrayBuffer'));
    await rejects(() => S.echo(new Uint8Array(33 << 20)), 'Error', /^Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: 346\d{5} bytes\.$/);
    await rejects(() => S.echo({ get a() { throw new RangeError('getter'); } }), 'RangeError', 'getter');
});

test('objects of the platform', async ({ S }) => {
    const headers = await S.echo(new Headers([['a', '1'], ['set-cookie', 'x'], ['set-cookie', 'y']]));
    same([headers instanceof Headers, headers.get('a'), headers.getSetCookie()], [true, '1', ['x', 'y']]);
    const request = await S.echo(new Request('http://x/y', { method: 'PUT', headers: { q: '1' }, body: 'text', redirect: 'manual', cf: { a: [1] } }));
    same([request instanceof Request, request.method, request.url, request.redirect, request.headers.get('q'), request.cf, await request.text()], [true, 'PUT', 'http://x/y', 'manual', '1', { a: [1] }, 'text']);
    const response = await S.echo({ r: new Response('body', { status: 404, statusText: 'Gone away', headers: { a: 'b' } }) });
    same([response.r instanceof Response, response.r.status, response.r.statusText, response.r.headers.get('a'), await response.r.text()], [true, 404, 'Gone away', 'b', 'body']);
    const blob = await S.echo(new Blob(['ab', 'cd'], { type: 'text/x' }));
    same([blob.constructor.name, blob.type, await blob.text()], ['Blob', 'text/x', 'abcd']);
    const file = await S.echo(new File(['ab'], 'n.txt', { type: 'text/x', lastModified: 5 }));
    same([file.constructor.name, file.name, file.lastModified, await file.text()], ['File', 'n.txt', 5, 'ab']);
    const url = await S.echo(new URL('http://x/?a#b'));
    same([url instanceof URL, url.href], [true, 'http://x/?a#b']);
    const used = new Response('x');
    await used.text();
    await rejects(() => S.echo(used), 'TypeError');
});

test('streams to read', async ({ S }) => {
    equal(await new Response(await S.stream()).text(), 'abc');
    equal(await S.read(new Response('from here').body), 'from here');
    equal(await S.read(new ReadableStream({ start: (c) => (c.enqueue(new Uint8Array([66])), c.close()) })), 'B');
    const values = await S.echo(new ReadableStream({ start: (c) => (c.enqueue({ v: 1 }), c.enqueue([2]), c.close()) }));
    const got = [];
    for await (const value of values) got.push(value);
    same(got, [{ v: 1 }, [2]]);
    const locked = new ReadableStream();
    locked.getReader();
    await rejects(() => S.read(locked), 'TypeError', 'The ReadableStream has been locked to a reader.');
});

test('streams to write, and pairs of streams', async ({ S }) => {
    const written = [];
    await S.write(new WritableStream({ write: (chunk) => void written.push([...chunk]), close: () => void written.push('closed') }));
    same(written, [[65], 'closed']);
    await rejects(() => S.writeForever(new WritableStream({ write: () => { throw new Error('full'); } })), 'Error', 'full');
    let reason;
    await S.giveUp(new WritableStream({ abort: (r) => void (reason = r) }));
    await turn();
    equal(reason.message, 'WritableStream received over RPC was disconnected because the remote execution context has ended.');
    const { readable, writable } = new TransformStream();
    const reading = S.read(readable);
    await writable.abort('no more');
    await rejects(reading, 'Error', 'ReadableStream received over RPC disconnected prematurely.');
    const identity = new IdentityTransformStream();
    const there = await S.echo(identity.readable);
    const back = await S.echo(identity.writable);
    const text = new Response(there).text();
    const writer = back.getWriter();
    await writer.write(new TextEncoder().encode('round'));
    await writer.close();
    equal(await text, 'round');
});

test('signals', async ({ S }) => {
    equal((await S.aborted(AbortSignal.abort(new Error('before')))).message, 'before');
    const controller = new AbortController();
    const answer = S.aborted(controller.signal);
    await turn();
    controller.abort('later');
    equal(await answer, 'later');
});

test('errors', async ({ S }) => {
    const error = await rejects(() => S.fail(), 'TypeError', 'no good');
    same([error instanceof TypeError, error.code, error.remote, 'skipped' in error, error.list[1].getTime(), error.cause.message, error.cause instanceof Error], [true, 7, true, false, 5, 'the cause', true]);
    ok(error.stack.startsWith('TypeError: no good\n') && error.stack.includes('at async') && !error.stack.includes('Service.fail'), error.stack);
    same(await S.failOddly().catch((e) => e), { plain: 'value' });
    const custom = await rejects(() => S.custom(), 'MyError', 'mine');
    ok(custom instanceof Error, 'an Error');
    ok((await rejects(() => S.dom(), 'AbortError', 'stop')) instanceof DOMException, 'a DOMException');
    const value = await S.echo(Object.assign(new RangeError('as a value'), { extra: new Map([[1, 2]]) }));
    same([value instanceof RangeError, value.message, value.extra.get(1), value.remote], [true, 'as a value', 2, undefined]);
    const loop = new Error('loop');
    loop.cause = loop;
    const back = await S.echo([loop, loop]);
    ok(back[0] === back[1] && back[0].cause === back[0], 'cycles');
});

test('stubs of local objects', async () => {
    const counter = new Counter(4);
    const stub = new RpcStub(counter);
    same([await stub.add(1), await stub.value, typeof stub], [5, 5, 'function']);
    ok(stub instanceof RpcStub, 'its class');
    const other = stub.dup();
    stub[Symbol.dispose]();
    stub[Symbol.dispose]();
    await rejects(() => stub.add(1), 'Error', DISPOSED);
    throws(() => stub.dup(), 'Error', DISPOSED);
    equal(await other.add(1), 6);
    await turn();
    equal(counter.disposed, 0);
    other[Symbol.dispose]();
    await turn();
    equal(counter.disposed, 1);
    equal(await new RpcStub({ sum: (a, b) => a + b }).sum(1, 2), 3);
    const f = new RpcStub(Object.assign((a) => a * 2, { own: 'x' }));
    same([await f(4), await f.own], [8, 'x']);
    class Open extends RpcTarget {
        add(by) {
            return by + 1;
        }
    }
    equal(await new RpcStub(new Proxy(new Open(), {})).add(1), 2);
    throws(() => new RpcStub(new Opaque()), 'TypeError', 'RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives.');
    throws(() => new RpcStub(5), 'TypeError');
});

test('stubs travel, and go home', async ({ S }) => {
    const stub = await S.counter(10);
    same([await stub.add(1), await stub.value], [11, 11]);
    same(await Promise.all([stub.add(1), stub.add(1), stub.add(1)]), [12, 13, 14], 'calls start in order');
    const mine = new Counter(1);
    equal(await S.use(mine, 2), 3);
    await turn();
    equal(mine.disposed, 1, 'the callee has let it go:');
    const f = await S.fn();
    same([await f(3, 6), await f.tag], [5, 'x']);
    equal(await S.call((a, b) => a + b, 1, 2), 3);
    const again = await S.echo(stub);
    equal(await again.add(1), 15);
    const service = await S.echo(S);
    same(await service.sync(1), [1]);
});

test('stubs in arguments stay the caller\'s', async ({ S }) => {
    const counter = new Counter(0);
    const stub = new RpcStub(counter);
    await S.use(stub, 1);
    await S.use(stub, 1);
    equal(await stub.add(1), 3);
    equal(counter.disposed, 0);
    class Dup extends Counter {
        static made = [];
        dup() {
            const copy = new Dup(this.value);
            Dup.made.push(copy);
            return copy;
        }
    }
    const own = new Dup(5);
    await S.use(own, 1);
    await turn();
    same([own.disposed, Dup.made.length, Dup.made[0].disposed], [0, 1, 1]);
});

test('pipelining', async ({ S, F }) => {
    equal(await S.counter(12).add(3), 15);
    equal(await S.wrapped(5).sum, 1);
    equal(await S.wrapped(5).counter.add(1), 6);
    equal(await S.wrapped(5).more[0].counter.add(1).catch((e) => e.message), missing('more'), 'arrays are values:');
    equal(await F.counter(12).add(3), 15);
    const counter = F.wrapped(20).counter;
    same(await Promise.all([counter.add(1), counter.add(2)]), [21, 23]);
    await rejects(() => S.sync(1).foo(), 'TypeError', missing('foo'));
    await rejects(() => S.fail().foo(), 'TypeError', 'no good');
    const result = S.wrapped(1);
    await result;
    equal(await result.counter.add(1), 2, 'also after the result has come:');
    await rejects(() => S.echo(S.opaque()), 'DataCloneError');
    same(await S.sync(S.double(4), { n: S.constant.a }), [8, { n: 1 }], 'a promise as an argument:');
    equal(await S.use(S.counter(1), 4), 5);
    equal(await S.passed(() => ({ x: 5 })).x, 5);
    await rejects(() => S.nested(() => 1), 'DataCloneError', /"RpcPromise"/);
    let deep = new RpcStub({});
    throws(() => {
        for (let i = 0; i < 100; i++) deep = deep.x;
    }, 'TypeError', 'RPC pipelined property path is too deep (max 64).');
});

test('disposal', async ({ S }) => {
    const result = await S.wrapped(1);
    same([await result.counter.add(1), Object.keys(result)], [2, ['sum', 'counter', 'more']]);
    result[Symbol.dispose]();
    await rejects(() => result.counter.add(1), 'Error', DISPOSED);
    await rejects(() => result.more[0].counter.add(1), 'Error', DISPOSED);

    const counter = new Counter(0);
    const kept = await S.keep(counter);
    await rejects(() => kept.original(1), 'Error', DISPOSED);
    equal(await kept.mine(1), 1);
    equal(await kept.counter.add(1), 2);
    kept[Symbol.dispose]();
    await rejects(() => kept.mine(1), 'Error', DISPOSED);
    await turn();
    equal(counter.disposed, 1);

    const promise = S.counter(1);
    promise[Symbol.dispose]();
    await rejects(() => promise.add(1), 'Error', 'RPC promise used after being disposed.');
    equal(await promise, undefined);
});

test('what an event holds goes with it', async ({ S }) => {
    const counter = new Counter(0);
    same(await S.leak(counter).then((r) => r.plain), true);
    await turn();
    equal(counter.disposed, 1);
    await rejects(() => leaked.add(1), 'Error');

    const held = new Counter(0);
    const result = await S.hold(held);
    await result.noop();
    await turn();
    equal(held.disposed, 0, 'the callee lives as long as its result does:');
    await rejects(() => result.stop(), 'RangeError', 'stopped');
    await turn();
    equal(held.disposed, 1);
    await rejects(() => result.noop(), 'Error', 'The execution context which hosts this callback is no longer running.');
});

test('proxies', async ({ S }) => {
    const counter = new Counter(0);
    const proxy = new Proxy(counter, { get: (t, p) => (p === 'add' ? (by) => t.add(by + 100) : Reflect.get(t, p)) });
    equal(await S.use(proxy, 1), 101);
    equal(await S.call(new Proxy((i) => i * 3, { apply: (t, self, args) => t(...args) + 2 }), 2), 8);
    const hidden = new Proxy(new Counter(0), { getPrototypeOf: () => Opaque.prototype });
    await rejects(() => S.use(hidden, 1), 'DataCloneError', /^Proxy could not be serialized because it is not a valid RPC receiver type\./);
    await rejects(() => S.echo(new Proxy(new Opaque(), {})), 'DataCloneError');
});

test('patched prototypes do not break calls', async ({ S }) => {
    const { then } = Promise.prototype;
    const { toString } = Object.prototype;
    Object.defineProperty(Object.prototype, 'root', { set() { throw new Error('setter'); }, configurable: true });
    try {
        same(await S.sync({ root: 1, f: [1] }), [{ root: 1, f: [1] }]);
    } finally {
        delete Object.prototype.root;
        Promise.prototype.then = then;
        Object.prototype.toString = toString;
    }
});

export default run;
