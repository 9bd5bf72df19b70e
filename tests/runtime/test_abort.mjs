// AbortController, AbortSignal.
import { equal, ok, run, same, test, throws } from 'harness.js';

test('a controller aborts its signal, once', () => {
    const c = new AbortController();
    const seen = [];
    c.signal.onabort = (e) => seen.push(`on${e.type}`, e.isTrusted);
    c.signal.addEventListener('abort', () => seen.push('listener'));
    equal(c.signal, c.signal);
    c.signal.throwIfAborted();
    c.abort();
    c.abort('again');
    same(seen, ['onabort', true, 'listener']);
    same([c.signal.aborted, c.signal.reason.name, c.signal.reason.message, c.signal.reason.code], [true, 'AbortError', 'The operation was aborted', 20]);
    throws(() => c.signal.throwIfAborted(), 'AbortError');
    throws(() => new AbortSignal(), 'TypeError', 'Illegal constructor');
    throws(() => { c.signal.aborted = false; }, 'TypeError');
});

test('reasons', () => {
    const c = new AbortController();
    c.abort('why');
    equal(c.signal.reason, 'why');
    equal(AbortSignal.abort(5).reason, 5);
    equal(AbortSignal.abort().reason.name, 'AbortError');
});

test('onabort is an attribute of the prototype', () => {
    const { signal } = new AbortController();
    ok('onabort' in AbortSignal.prototype, 'there');
    equal(signal.onabort, null);
    for (const v of [1, 'x', undefined]) {
        signal.onabort = () => {};
        signal.onabort = v;
        equal(signal.onabort, null);
    }
    const object = {};
    signal.onabort = object;
    equal(signal.onabort, object);
});

test('timeout', async () => {
    const signal = AbortSignal.timeout(2);
    await new Promise((resolve) => (signal.onabort = resolve));
    same([signal.reason.name, signal.reason.code], ['TimeoutError', 23]);
    throws(() => AbortSignal.timeout(-1), 'TypeError');
    throws(() => AbortSignal.timeout(), 'TypeError');
});

test('any: the first that aborts', () => {
    const a = new AbortController();
    const b = new AbortController();
    const any = AbortSignal.any([a.signal, b.signal]);
    const nested = AbortSignal.any([any, AbortSignal.any([])]);
    const seen = [];
    nested.onabort = () => seen.push('nested', any.aborted);
    any.onabort = () => seen.push('any', nested.aborted);
    b.abort('b');
    a.abort('a');
    same(seen, ['any', true, 'nested', true]);
    same([any.reason, nested.reason], ['b', 'b']);
    const already = AbortSignal.any([new AbortController().signal, AbortSignal.abort('early')]);
    same([already.aborted, already.reason], [true, 'early']);
    throws(() => AbortSignal.any([{}]), 'TypeError');
    throws(() => AbortSignal.any(), 'TypeError');
});

test('a signal of any() that somebody listens to survives collection', async () => {
    const c = new AbortController();
    let told = 0;
    (() => {
        AbortSignal.any([c.signal]).onabort = () => told++;
        AbortSignal.any([c.signal]).addEventListener('abort', () => told++);
        const t = new EventTarget();
        t.addEventListener('x', () => {}, { signal: AbortSignal.any([c.signal]) });
    })();
    await scheduler.wait(1);
    for (let i = 0; i < 40; i++) new Array(1e5).fill({});
    c.abort();
    equal(told, 2);
});

test('a request has a signal', () => {
    const c = new AbortController();
    const request = new Request('http://x/', { signal: c.signal });
    ok(request.signal.aborted === false, 'not aborted');
    c.abort();
    ok(request.signal.aborted, 'aborted');
    ok(new Request('http://x/').signal instanceof AbortSignal, 'lazily');
    throws(() => new Request('http://x/', { signal: {} }), 'TypeError');
});

export default run;
