import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
import { bytes, caught, check, message, streamOf, text } from '../case.js';

class Counter extends RpcTarget {
    #n = 0;
    up(by = 1) { return (this.#n += by); }
    get value() { return this.#n; }
}
let made = 0;

export class Named extends WorkerEntrypoint {
    constructor(ctx, env) {
        super(ctx, env);
        made++;
        this.own = 'own property';
    }
    add(a, b) { return a + b; }
    async later(x) { return x; }
    echo(...args) { return args; }
    kinds(v) { return [typeof v, v?.constructor?.name]; }
    made() { return made; }
    text() { return this.env.ORIGIN.slice(0, 4); }
    fail() { throw Object.assign(new RangeError('not like this'), { code: 'E_OWN', detail: { a: 1 } }); }
    failText() { throw 'only text'; }
    counter() { return new Counter(); }
    call(fn) { return fn(20); }
    multiplier(by) { return (x) => x * by; }
    stream() { return streamOf('over ', 'rpc'); }
    response() { return new Response('a response', { status: 201, headers: { 'x-a': '1' } }); }
    async read(stream) { return text(stream); }
    get accessor() { return 'from a getter'; }
    nothing() {}
    instance() { return new (class Plain { constructor() { this.a = 1; } })(); }
    async background() { this.ctx.waitUntil(Promise.resolve()); return 'ok'; }
    fetch(request) { return new Response(`fetched ${request.method} ${new URL(request.url).pathname}`); }
    #hidden() { return 'never'; }
}

check('a method', ({ env }) => env.NAMED.add(1, 2), 3);
check('an async method', ({ env }) => env.NAMED.later('x'), 'x');
check('every call is a promise', ({ env }) => typeof env.NAMED.add(1, 2).then, 'function');
check('values go there and back', ({ env }) => env.NAMED.echo(null, undefined, 1.5, 'ü', 10n, true, [1, [2]], { a: { b: 1 } }, new Date(5), bytes(1, 2), new Map([[1, 2]]), new Set([3]), /x/g),
    [null, undefined, 1.5, 'ü', 10n, true, [1, [2]], { a: { b: 1 } }, new Date(5), bytes(1, 2), new Map([[1, 2]]), new Set([3]), /x/g]);
check('arguments are copies', async ({ env }) => {
    const o = { list: [1] };
    const [copy] = await env.NAMED.echo(o);
    return [copy !== o, copy];
}, [true, { list: [1] }]);
check('cycles', async ({ env }) => {
    const a = { n: 1 };
    a.self = a;
    const [b] = await env.NAMED.echo(a);
    return [b.self === b, b.n];
}, [true, 1]);
check('an instance for each call', async ({ env }) => {
    const first = await env.NAMED.made();
    return (await env.NAMED.made()) - first;
}, 1);
check('nothing is returned', ({ env }) => env.NAMED.nothing(), undefined);
check('env in an entrypoint', ({ env }) => env.NAMED.text(), 'http');
check('an error', async ({ env }) => {
    try {
        return await env.NAMED.fail();
    } catch (e) {
        return [e instanceof RangeError, e.name, e.message, e.remote];
    }
}, [true, 'RangeError', 'not like this', true], {});
check('an error that is none', async ({ env }) => {
    try {
        return await env.NAMED.failText();
    } catch (e) {
        return e;
    }
}, new Error('only text'), { celld: 'only text', why: 'runtime.md 6.4: what is no Error crosses by value; workerd makes an Error of it' });
check('a method that is not there', ({ env }) => message(env.NAMED.absent()), 'TypeError: The RPC receiver does not implement the method "absent".');
check('own properties and private methods are not there', async ({ env }) => [await caught(env.NAMED.own()), await caught(env.NAMED.hidden())], ['TypeError', 'TypeError']);
check('reserved names', async ({ env }) => [await caught(() => env.NAMED.alarm()), await caught(() => env.NAMED.webSocketMessage())], ['TypeError', 'TypeError']);
check('fetch of a binding', async ({ env }) => {
    const r = await env.NAMED.fetch('http://any.example/path', { method: 'POST' });
    return [r.status, await r.text()];
}, [200, 'fetched POST /path']);
check('fetch of a binding with a request', async ({ env }) => (await env.NAMED.fetch(new Request('http://any.example/r', { method: 'PUT', body: 'x' }))).text(), 'fetched PUT /r');
check('fetch of a binding with a relative URL', ({ env }) => caught(env.NAMED.fetch('/relative')), 'TypeError');
check('fetch of the default entrypoint', async ({ env }) => (await env.SELF.fetch('http://x/', { headers: { 'x-case': 'a method' } })).json(), 3);
check('what cannot be cloned', async ({ env }) => [await caught(env.NAMED.echo(Symbol('s'))), await caught(env.NAMED.echo(new WeakMap())), await caught(env.NAMED.instance())], ['DataCloneError', 'DataCloneError', 'DataCloneError']);
check('an RpcTarget', async ({ env }) => {
    using counter = await env.NAMED.counter();
    return [await counter.up(), await counter.up(5), await counter.value];
}, [1, 6, 6]);
check('a function as an argument', ({ env }) => env.NAMED.call((x) => x + 1), 21);
check('a function as a result', async ({ env }) => {
    using times = await env.NAMED.multiplier(3);
    return times(7);
}, 21);
check('a pipelined call', ({ env }) => env.NAMED.counter().up(9), 9);
check('a property', ({ env }) => env.NAMED.accessor, 'from a getter');
check('a stream as a result', async ({ env }) => text(await env.NAMED.stream()), 'over rpc');
check('a stream as an argument', ({ env }) => env.NAMED.read(streamOf('sent ', 'along')), 'sent along');
check('a response as a result', async ({ env }) => {
    const r = await env.NAMED.response();
    return [r.status, r.headers.get('x-a'), await r.text()];
}, [201, '1', 'a response']);
check('waitUntil of an entrypoint', ({ env }) => env.NAMED.background(), 'ok');
check('calls at once', ({ env }) => Promise.all([1, 2, 3].map((n) => env.NAMED.add(n, n))), [2, 4, 6]);
check('ctx.exports', async ({ ctx }) => [await ctx.exports.Named.add(4, 4), typeof ctx.exports.default], [8, 'function']);
check('the binding object', ({ env }) => [typeof env.NAMED, env.NAMED.constructor.name, Object.prototype.toString.call(env.NAMED)], ['object', 'Fetcher', '[object Fetcher]'], {});
check('a value of 1 MiB', async ({ env }) => (await env.NAMED.echo('x'.repeat(1 << 20)))[0].length, 1 << 20);
check('a value of 33 MiB', ({ env }) => caught(env.NAMED.kinds('x'.repeat(33 << 20))), 'Error', {});
