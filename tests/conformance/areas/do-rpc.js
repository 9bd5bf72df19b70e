import { DurableObject, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
import { bytes, caught, check, drain, message, sleep, streamOf, text, utf8 } from '../case.js';

class Counter extends RpcTarget {
    #n = 0;
    constructor(owner) {
        super();
        this.owner = owner;
    }
    up(by = 1) { return (this.#n += by); }
    get value() { return this.#n; }
    fail() { throw new RangeError('of a target'); }
    child() { return new Counter(this.owner); }
    [Symbol.dispose]() { this.owner?.disposed.push(`counter ${this.#n}`); }
}
class OwnError extends Error {
    constructor(text, options) {
        super(text, options);
        this.name = 'OwnError';
        this.status = 402;
    }
}
class Base extends DurableObject {
    inherited() { return 'inherited'; }
    get inheritedGetter() { return 'inherited too'; }
}
export class Callee extends Base {
    disposed = [];
    log = [];
    own = 'own property';
    ownFunction = () => 'own function';
    kept = null;
    add(a, b) { return a + b; }
    async later(x) { await sleep(1); return x; }
    echo(...args) { return args; }
    kinds(v) { return [typeof v, v?.constructor?.name]; }
    count(...args) { return args.length; }
    nothing() {}
    get accessor() { return 'from a getter'; }
    get asyncAccessor() { return sleep(1).then(() => 'later'); }
    get nested() { return { deep: { er: 5, twice: (x) => x * 2 } }; }
    get failing() { throw new RangeError('of a getter'); }
    static still() { return 'static'; }
    #hidden() { return 'never'; }
    fail() { throw Object.assign(new RangeError('not like this'), { code: 'E_OWN', detail: { a: [1] } }); }
    async reject() { throw new TypeError('later'); }
    failOwn() { throw new OwnError('of my own'); }
    failCause() { throw new Error('outer', { cause: new TypeError('inner') }); }
    failMany() { throw new AggregateError([new Error('one'), new TypeError('two')], 'many'); }
    failDom() { throw new DOMException('by name', 'NotFoundError'); }
    failText() { throw 'only text'; }
    failNull() { throw null; }
    counter() { return new Counter(this); }
    counters() { return { a: new Counter(this), list: [new Counter(this)] }; }
    multiplier(by) { return (x) => x * by; }
    call(fn, ...args) { return fn(...args); }
    async callTwice(fn) { return [await fn(1), await fn(2)]; }
    async useTarget(target) { return [await target.up(2), await target.up(3), await target.value]; }
    keep(fn) { this.kept = fn.dup(); }
    async useKept(x) { return this.kept(x); }
    giveBack(stub) { return stub; }
    async takesApart({ f, list: [g] }) { return [await f(1), await g(2)]; }
    log1(x) { this.log.push(x); return this.log.length; }
    logged() { return this.log; }
    async slowLog(x, ms) { await sleep(ms); this.log.push(x); }
    disposals() { return this.disposed; }
    withDispose() { return { value: 1, [Symbol.dispose]: () => this.disposed.push('plain') }; }
    stream() { return streamOf('over ', 'rpc'); }
    values() {
        return new ReadableStream({
            start(c) {
                for (const v of [1, 'two', { three: [3] }]) c.enqueue(v);
                c.close();
            },
        });
    }
    brokenStream() {
        let n = 0;
        return new ReadableStream({
            type: 'bytes',
            async pull(c) {
                await sleep(1);
                if (n++ === 0) c.enqueue(utf8('begun'));
                else c.error(new RangeError('broken off'));
            },
        });
    }
    large(n) { return new Response('x'.repeat(n)).body; }
    async read(stream) { return text(stream); }
    async readValues(stream) { return drain(stream); }
    writable() {
        const log = this.log;
        return new WritableStream({ write(chunk) { log.push(new TextDecoder().decode(chunk)); }, close() { log.push('closed'); }, abort(e) { log.push(`aborted ${e.message}`); } });
    }
    async writeTo(stream) {
        const writer = stream.getWriter();
        await writer.write(utf8('from the '));
        await writer.write(utf8('object'));
        await writer.close();
    }
    response() { return new Response('a response', { status: 201, headers: { 'x-a': '1' } }); }
    async readRequest(request) { return [request.method, request.url, request.headers.get('x-a'), await request.text()]; }
    headers(h) { return new Headers([...h, ['x-b', '2']]); }
    async listens(signal) {
        this.log.push(`${signal.aborted}`);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        this.log.push(signal.reason.message);
    }
    instance() { return new (class Plain { constructor() { this.a = 1; } })(); }
    symbol() { return Symbol('s'); }
    async ask(stub, a, b) { return stub.add(a, b); }
    neighbour(name) { return this.env.Callee.getByName(name); }
    service() { return this.env.SERVICE; }
    async useService(service) { return service.hello('object'); }
    exported() { return this.ctx.exports.Service; }
    size(v) { return v.length; }
    make(n) { return 'x'.repeat(n); }
    me() { return this; }
    promise() { return { inside: Promise.resolve(1) }; }
}
export class Bare extends DurableObject {}
export class Service extends WorkerEntrypoint {
    hello(name) { return `hello ${name}`; }
    async fromObject(stub) { return stub.add(20, 1); }
}

const callee = ({ env }, name = 'common') => env.Callee.getByName(name);
const thrown = async (promise, look) => {
    try {
        await promise;
    } catch (e) {
        return look(e);
    }
    return 'nothing was thrown';
};
const orName = (promise) => promise.then((value) => value, (e) => e.name);
const PROMISES = (celld) => ({ celld, why: 'runtime.md 6.1: a promise of a call is what it will give, also as an argument; workerd refuses it' });
async function until(get, what) {
    for (let i = 0; i < 200; i++) {
        const value = await get();
        if (what(value)) return value;
        await sleep(5);
    }
    throw new Error('it did not come');
}

// ---- Methods

check('a method', (t) => callee(t).add(1, 2), 3);
check('an async method', (t) => callee(t).later('x'), 'x');
check('every call is a promise', async (t) => {
    const call = callee(t).add(1, 2);
    return [typeof call.then, typeof call.catch, typeof call.finally, call.constructor.name, await call];
}, ['function', 'function', 'function', 'RpcPromise', 3]);
check('values go there and back', (t) => callee(t).echo(null, undefined, 1.5, -0, NaN, 'ü', 10n, true, [1, [2]], { a: { b: 1 } }, new Date(5), bytes(1, 2), new Map([[1, 2]]), new Set([3]), /x/g),
    [null, undefined, 1.5, -0, NaN, 'ü', 10n, true, [1, [2]], { a: { b: 1 } }, new Date(5), bytes(1, 2), new Map([[1, 2]]), new Set([3]), /x/g]);
check('binary values', (t) => callee(t).echo(bytes(1, 2, 3).buffer, new Uint8Array([1, 2, 3, 4]).subarray(1, 3), new Float64Array([0.5]), new DataView(bytes(9, 8).buffer, 1), new Uint16Array([256])),
    [bytes(1, 2, 3).buffer, bytes(2, 3), new Float64Array([0.5]), new DataView(bytes(8).buffer), new Uint16Array([256])]);
check('errors as values', async (t) => {
    const [a, b] = await callee(t).echo(new RangeError('as a value'), Object.assign(new Error('with'), { own: 1 }));
    return [a instanceof RangeError, a.message, b.message, b.own];
}, [true, 'as a value', 'with', 1]);
check('arguments are copies', async (t) => {
    const o = { list: [1] };
    const [copy, same] = await callee(t).echo(o, o);
    return [copy !== o, copy === same, copy];
}, [true, true, { list: [1] }]);
check('cycles', async (t) => {
    const a = { n: 1 };
    a.self = a;
    const [b] = await callee(t).echo(a);
    return [b.self === b, b.n];
}, [true, 1]);
check('the number of arguments', async (t) => [await callee(t).count(), await callee(t).count(undefined), await callee(t).count(1, undefined), await callee(t).count(...Array(100).fill(0))], [0, 1, 2, 100]);
check('nothing is returned', (t) => callee(t).nothing(), undefined);
check('a method can be taken along', async (t) => {
    const { add } = callee(t);
    return [await add(1, 2), typeof add, add.constructor.name];
}, [3, 'function', 'RpcProperty']);
check('inherited methods', async (t) => [await callee(t).inherited(), await callee(t).inheritedGetter], ['inherited', 'inherited too']);
check('calls at once', (t) => Promise.all(Array.from({ length: 20 }, (_, n) => callee(t).add(n, n))), Array.from({ length: 20 }, (_, n) => 2 * n));
check('calls begin in their order', async (t) => {
    const stub = callee(t, 'order');
    await Promise.all(Array.from({ length: 20 }, (_, n) => stub.log1(n)));
    return stub.logged();
}, Array.from({ length: 20 }, (_, n) => n));
check('a call does not wait for another one', async (t) => {
    const stub = callee(t, 'overtaken');
    await Promise.all([stub.slowLog('slow', 40), stub.slowLog('fast', 1)]);
    return stub.logged();
}, ['fast', 'slow']);
check('values of 1 MiB', async (t) => [await callee(t).size('x'.repeat(1 << 20)), (await callee(t).make(1 << 20)).length], [1 << 20, 1 << 20]);
check('an argument that is too large', (t) => caught(callee(t).size('x'.repeat(33 << 20))), 'Error');

// ---- Names

check('getters', async (t) => [await callee(t).accessor, await callee(t).asyncAccessor, await message(callee(t).failing)], ['from a getter', 'later', 'RangeError: of a getter']);
check('what a getter gives, further inside', async (t) => [await callee(t).nested.deep.er, await callee(t).nested.deep.twice(4)], [5, 8]);
check('a method that is not there', async (t) => [await message(callee(t).absent()), await message(callee(t).absent), await message(t.env.Bare.getByName('a').hello())],
    ['TypeError: The RPC receiver does not implement the method "absent".', 'TypeError: The RPC receiver does not implement the method "absent".', 'TypeError: The RPC receiver does not implement the method "hello".']);
check('what an instance has itself', async (t) => [await message(callee(t).own), await message(callee(t).ownFunction()), await message(callee(t).ctx), await message(callee(t).env)],
    ['own', 'ownFunction', 'ctx', 'env'].map((name) => `TypeError: The RPC receiver does not implement the method "${name}".`));
check('private and static methods', async (t) => [await caught(callee(t).hidden()), await caught(callee(t).still())], Array(2).fill('TypeError'));
check('what is no function is not called', async (t) => [await message(callee(t).accessor()), await message(callee(t).nested.deep.er())], ['TypeError: "accessor" is not a function.', 'TypeError: "nested.deep.er" is not a function.']);
for (const name of ['alarm', 'webSocketMessage', 'webSocketClose', 'webSocketError', 'dup']) {
    check(`the name ${name}`, (t) => message(() => callee(t)[name]()), `TypeError: '${name}' is a reserved method and cannot be called over RPC.`);
}
check('names with an order of their own', async (t) => [await caught(() => callee(t).constructor()), await caught(() => callee(t).fetch()), callee(t).then, callee(t)[Symbol.iterator]], ['TypeError', 'TypeError', undefined, undefined]);

// ---- Errors

check('an error', (t) => thrown(callee(t).fail(), (e) => [e instanceof RangeError, e.name, e.message, e.remote, e.durableObjectReset]), [true, 'RangeError', 'not like this', true, undefined]);
check('own properties of an error', (t) => thrown(callee(t).fail(), (e) => [e.code, e.detail]), ['E_OWN', { a: [1] }]);
check('a rejection', (t) => message(callee(t).reject()), 'TypeError: later');
check('an error of an own class', (t) => thrown(callee(t).failOwn(), (e) => [e.constructor.name, e.name, e.message, e.status]), ['Error', 'OwnError', 'of my own', 402]);
check('the cause of an error', (t) => thrown(callee(t).failCause(), (e) => [e.message, e.cause instanceof TypeError, e.cause?.message]), ['outer', true, 'inner']);
check('an AggregateError', (t) => thrown(callee(t).failMany(), (e) => [e.name, e.message, e.errors?.map((x) => `${x.name}: ${x.message}`)]), ['AggregateError', 'many', ['Error: one', 'TypeError: two']]);
check('a DOMException', (t) => thrown(callee(t).failDom(), (e) => [e instanceof DOMException, e.name, e.message, e.code]), [true, 'NotFoundError', 'by name', 8]);
check('an error that is none', (t) => thrown(callee(t).failText(), (e) => e), new Error('only text'), { celld: 'only text', why: 'runtime.md 6.4: what is no Error crosses by value; workerd makes an Error of it' });
check('an error is what the caller can hold', async (t) => {
    const call = callee(t).fail();
    await sleep(5);
    return caught(call);
}, 'RangeError');
check('arguments that cannot be cloned', async (t) => [await caught(callee(t).echo(Symbol('s'))), await caught(callee(t).echo(new WeakMap())), await caught(callee(t).echo(new (class Own {})()))], Array(3).fill('DataCloneError'));
check('results that cannot be cloned', async (t) => [await caught(callee(t).instance()), await caught(callee(t).symbol()), await caught(callee(t).me())], Array(3).fill('DataCloneError'));
check('the message of what cannot be cloned', async (t) => [await message(callee(t).instance()), await message(callee(t).echo(new (class Own {})()))],
    ['Plain', 'Own'].map((name) => `DataCloneError: Could not serialize object of type "${name}". This type does not support serialization.`));
check('ids are not cloned', (t) => caught(callee(t).echo(t.env.Callee.newUniqueId())), 'DataCloneError');

// ---- Stubs from the object

check('an RpcTarget', async (t) => {
    using counter = await callee(t).counter();
    return [counter.constructor.name, await counter.up(), await counter.up(5), await counter.value];
}, ['RpcStub', 1, 6, 6]);
check('an error of an RpcTarget', async (t) => {
    using counter = await callee(t).counter();
    return [await message(counter.fail()), await caught(counter.absent()), await counter.up()];
}, ['RangeError: of a target', 'TypeError', 1]);
check('a function', async (t) => {
    using times = await callee(t).multiplier(3);
    return [await times(7), typeof times];
}, [21, 'function']);
check('stubs inside a result', async (t) => {
    using result = await callee(t).counters();
    return [await result.a.up(), await result.list[0].up(2), await result.a.up()];
}, [1, 2, 2]);
check('a stub of a stub', async (t) => {
    using counter = await callee(t).counter();
    using child = await counter.child();
    await counter.up(4);
    return [await child.up(), await counter.value];
}, [1, 4]);
check('a stub that was disposed', async (t) => {
    const counter = await callee(t).counter();
    counter[Symbol.dispose]();
    return message(() => counter.up());
}, 'Error: RPC stub used after being disposed.');
check('a duplicate of a stub', async (t) => {
    const counter = await callee(t).counter();
    using other = counter.dup();
    counter[Symbol.dispose]();
    return other.up(3);
}, 3);
check('the object hears of disposal', async (t) => {
    const stub = callee(t, 'disposal');
    const counter = await stub.counter();
    await counter.up(7);
    const other = counter.dup();
    counter[Symbol.dispose]();
    await sleep(10);
    const before = await stub.disposals();
    other[Symbol.dispose]();
    return [before, await until(() => stub.disposals(), (list) => list.length > 0)];
}, [[], ['counter 7']]);
check('a plain result that is disposed', async (t) => {
    const stub = callee(t, 'plain-disposal');
    const result = await stub.withDispose();
    const before = await stub.disposals();
    result[Symbol.dispose]();
    return [result.value, before, await until(() => stub.disposals(), (list) => list.length > 0)];
}, [1, [], ['plain']]);
check('a stub that nobody wanted', async (t) => {
    const stub = callee(t, 'unwanted');
    const call = stub.counter();
    await call;
    call[Symbol.dispose]();
    return until(() => stub.disposals(), (list) => list.length > 0);
}, ['counter 0']);
check('a stub comes back', async (t) => {
    const stub = callee(t);
    using counter = await stub.counter();
    await counter.up(2);
    using again = await stub.giveBack(counter);
    return [await again.up(), await counter.value];
}, [3, 3]);

// ---- Stubs from the caller

check('a function as an argument', (t) => callee(t).call((x, y) => x + y, 20, 1), 21);
check('an async function as an argument', (t) => callee(t).callTwice(async (x) => { await sleep(1); return x * 10; }), [10, 20]);
check('a function that throws', (t) => message(callee(t).call(() => { throw new RangeError('of a callback'); })), 'RangeError: of a callback');
check('an RpcTarget as an argument', (t) => callee(t).useTarget(new Counter()), [2, 5, 5]);
check('functions inside arguments', (t) => callee(t).takesApart({ f: (x) => x + 1, list: [(x) => x * 10] }), [2, 20]);
check('a function that is kept', async (t) => {
    const stub = callee(t, 'keeps');
    let seen = 0;
    await stub.keep((x) => { seen += x; return seen; });
    return [await stub.useKept(5), await stub.useKept(6), seen];
}, [5, 11, 11]);
check('a function that is given back', async (t) => {
    const fn = (x) => `called with ${x}`;
    using back = await callee(t).giveBack(fn);
    return back(1);
}, 'called with 1');
check('an object calls back into the caller, which calls the object', async (t) => {
    const stub = callee(t);
    return stub.call(async (x) => stub.add(x, await stub.add(1, 1)), 40);
}, 42);
check('new RpcStub', async (t) => {
    const { RpcStub } = await import('cloudflare:workers');
    using stub = new RpcStub(new Counter());
    return callee(t).useTarget(stub);
}, [2, 5, 5]);

// ---- Pipelines

check('a pipelined call', (t) => callee(t).counter().up(9), 9);
check('a pipeline of several calls', (t) => callee(t).counter().child().child().up(2), 2);
check('a pipelined property', async (t) => [await callee(t).counter().value, await callee(t).nested.deep.er], [0, 5]);
check('several calls on one promise', async (t) => {
    using counter = callee(t).counter();
    return await Promise.all([counter.up(), counter.up(), counter.up(), counter.value]);
}, [1, 2, 3, 3]);
check('a pipelined call of a function', (t) => callee(t).multiplier(3)(5), 15);
check('a pipeline into a plain result', async (t) => [await callee(t).giveBack({ a: { b: 7 } }).a.b, await callee(t).counters().a.up(3)], [7, 3]);
check('a pipeline after a failure', async (t) => [await message(callee(t).fail().up()), await message(callee(t).absent().up())], ['RangeError: not like this', 'TypeError: The RPC receiver does not implement the method "absent".']);
check('a pipeline into what has no methods', (t) => caught(callee(t).add(1, 2).up()), 'TypeError');
check('a promise as an argument', (t) => orName(callee(t).add(callee(t).add(1, 2), callee(t).later(10))), 'DataCloneError', PROMISES(13));
check('a promise of a stub as an argument', (t) => orName(callee(t).useTarget(callee(t).counter())), 'DataCloneError', PROMISES([2, 5, 5]));
check('a promise of another object as an argument', (t) => orName(callee(t).add(callee(t, 'another').add(1, 2), 10)), 'DataCloneError', PROMISES(13));

// ---- Streams and more

check('a stream as a result', async (t) => text(await callee(t).stream()), 'over rpc');
check('a stream as an argument', (t) => callee(t).read(streamOf('sent ', 'along')), 'sent along');
check('a stream of values', (t) => orName(callee(t).values().then(drain)), 'Error', { celld: [1, 'two', { three: [3] }], why: 'runtime.md 6.3: streams of values cross, too; workerd refuses them' });
check('a stream that breaks off', async (t) => {
    const stream = await callee(t).brokenStream();
    return message(text(stream));
}, 'Error: ReadableStream received over RPC disconnected prematurely.');
check('a large stream', async (t) => (await text(await callee(t).large(1 << 20))).length, 1 << 20);
check('a stream that is sent is locked', async (t) => {
    const stream = streamOf('x');
    await callee(t).read(stream);
    return stream.locked;
}, true);
check('a writable stream as a result', async (t) => {
    const stub = callee(t, 'writable');
    const writer = (await stub.writable()).getWriter();
    await writer.write(utf8('to the '));
    await writer.write(utf8('object'));
    await writer.close();
    return until(() => stub.logged(), (list) => list.length > 2);
}, ['to the ', 'object', 'closed']);
check('a writable stream as an argument', async (t) => {
    const { readable, writable } = new TransformStream();
    const read = text(readable);
    await callee(t).writeTo(writable);
    return read;
}, 'from the object');
check('a response as a result', async (t) => {
    const r = await callee(t).response();
    return [r.status, r.headers.get('x-a'), await r.text()];
}, [201, '1', 'a response']);
check('a request as an argument', (t) => callee(t).readRequest(new Request('http://x/y', { method: 'POST', body: 'inside', headers: { 'x-a': '1' } })), ['POST', 'http://x/y', '1', 'inside']);
check('headers there and back', async (t) => Array.from(await callee(t).headers(new Headers({ 'x-a': '1' }))), [['x-a', '1'], ['x-b', '2']]);
check('a signal as an argument', async (t) => {
    const stub = callee(t, 'signal');
    const controller = new AbortController();
    const call = orName(stub.listens(controller.signal));
    await sleep(100);
    controller.abort(new Error('stop it'));
    return [await call, await stub.logged()];
}, ['DataCloneError', []], { celld: [undefined, ['false', 'stop it']], why: 'runtime.md 6.2: signals cross; workerd refuses it' });

// ---- Stubs of objects and services

check('a stub of an object as an argument', (t) => callee(t).ask(callee(t, 'asked'), 1, 2), 3);
check('a stub of an object as a result', async (t) => {
    const stub = await callee(t).neighbour('next');
    return stub.add(2, 2);
}, 4);
check('a pipeline through a stub of an object', (t) => callee(t).neighbour('next').add(3, 3), 6);
check('a service as an argument', (t) => callee(t).useService(t.env.SERVICE), 'hello object');
check('a service as a result', async (t) => (await callee(t).service()).hello('caller'), 'hello caller');
check('an entrypoint of ctx.exports as a result', (t) => orName(callee(t).exported().then((service) => service.hello('caller'))), 'DataCloneError', { celld: 'hello caller', why: 'runtime.md 6.2: what has an address crosses; workerd refuses it' });
check('a stub of an object for a service', (t) => t.env.SERVICE.fromObject(callee(t)), 21);
