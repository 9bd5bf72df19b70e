import { answer, caught, check, message, sleep } from '../case.js';

check('abort', () => {
    const c = new AbortController();
    const seen = [];
    c.signal.addEventListener('abort', (e) => seen.push(e.type, e.target === c.signal));
    const before = [c.signal.aborted, c.signal.reason];
    c.abort();
    c.abort();
    return [before, c.signal.aborted, c.signal.reason.name, seen];
}, [[false, undefined], true, 'AbortError', ['abort', true]]);
check('onabort', () => {
    const c = new AbortController();
    const seen = [c.signal.onabort];
    c.signal.onabort = function () { seen.push(this === c.signal || this === undefined); };
    c.abort();
    return seen.length;
}, 2);
check('a reason of one\'s own', () => {
    const c = new AbortController();
    c.abort('because');
    return [c.signal.reason, (() => { try { c.signal.throwIfAborted(); } catch (e) { return e; } })()];
}, ['because', 'because']);
check('throwIfAborted', () => new AbortController().signal.throwIfAborted(), undefined);
check('AbortSignal.abort', () => [AbortSignal.abort().aborted, AbortSignal.abort().reason.name, AbortSignal.abort(3).reason], [true, 'AbortError', 3]);
check('AbortSignal.timeout', async () => {
    const s = AbortSignal.timeout(5);
    const before = s.aborted;
    await sleep(30);
    return [before, s.aborted, s.reason.name, s.reason instanceof DOMException];
}, [false, true, 'TimeoutError', true]);
check('AbortSignal.any', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const any = AbortSignal.any([a.signal, b.signal]);
    let seen = 0;
    any.onabort = () => seen++;
    b.abort('b');
    a.abort('a');
    return [any.aborted, any.reason, seen];
}, [true, 'b', 1]);
check('AbortSignal.any of what is aborted, and of nothing', () => [AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason, AbortSignal.any([]).aborted], [1, false]);
check('signals have no constructor', () => [caught(() => new AbortSignal()), new AbortController().signal instanceof AbortSignal, new AbortController().signal instanceof EventTarget], ['TypeError', true, true]);
check('the signal is always the same', () => {
    const c = new AbortController();
    return c.signal === c.signal;
}, true);
check('scheduler.wait with a signal', async () => {
    const c = new AbortController();
    const waiting = scheduler.wait(5000, { signal: c.signal });
    c.abort(new RangeError('no longer'));
    return message(waiting);
}, 'RangeError: no longer');
check('a listener is called once', () => {
    const c = new AbortController();
    let n = 0;
    c.signal.addEventListener('abort', () => n++);
    c.abort();
    c.abort();
    return n;
}, 1);
check('an abort in a listener', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    a.signal.addEventListener('abort', () => b.abort(a.signal.reason));
    a.abort('both');
    return b.signal.reason;
}, 'both');

const gone = [];
answer('a client that leaves aborts the signal', async (request, env, ctx) => {
    if (new URL(request.url).pathname === '/seen') {
        for (let i = 0; i < 50 && gone.length === 0; i++) await sleep(10);
        return Response.json(gone);
    }
    request.signal.addEventListener('abort', () => gone.push(request.signal.aborted));
    ctx.waitUntil(sleep(1000));
    await sleep(3000);
    return new Response('too late');
}, [{ aborted: true }, { status: 200, body: '[]' }], { request: [{ abort: 100 }, { path: '/seen' }],
    celld: [{ aborted: true }, { status: 200, body: '[true]' }], why: 'runtime.md 2.6; workerd by itself, without the network around it, does not tell the Worker' });
const cancelled = [];
answer('a client that leaves cancels the body', async (request, env, ctx) => {
    if (new URL(request.url).pathname === '/seen') {
        for (let i = 0; i < 50 && cancelled.length === 0; i++) await sleep(10);
        return Response.json(cancelled);
    }
    ctx.waitUntil(sleep(1000));
    return new Response(new ReadableStream({
        async pull(c) { await sleep(5); c.enqueue(new TextEncoder().encode('on and on ')); },
        cancel() { cancelled.push('cancelled'); },
    }));
}, [{ aborted: true }, { status: 200, body: '[]' }], { request: [{ abort: 200 }, { path: '/seen' }],
    celld: [{ aborted: true }, { status: 200, body: '["cancelled"]' }], why: 'runtime.md 2.6; workerd by itself, without the network around it, does not tell the Worker' });
