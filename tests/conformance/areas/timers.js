import { answer, caught, check, message, sleep } from '../case.js';

check('setTimeout', () => new Promise((resolve) => setTimeout((...args) => resolve(args), 1, 'a', 2)), ['a', 2]);
check('timers fire in the order of their times', async () => {
    const seen = [];
    for (const ms of [20, 1, 10]) setTimeout(() => seen.push(ms), ms);
    await sleep(40);
    return seen;
}, [1, 10, 20]);
check('timers of one time fire in order', async () => {
    const seen = [];
    for (const n of [1, 2, 3]) setTimeout(() => seen.push(n), 2);
    await sleep(10);
    return seen;
}, [1, 2, 3]);
check('clearTimeout', async () => {
    let fired = false;
    clearTimeout(setTimeout(() => { fired = true; }, 1));
    clearTimeout(undefined);
    clearTimeout(123456);
    await sleep(5);
    return fired;
}, false);
check('setInterval and clearInterval', async () => {
    let n = 0;
    await new Promise((resolve) => {
        const id = setInterval(() => {
            if (++n < 3) return;
            clearInterval(id);
            resolve();
        }, 1);
    });
    await sleep(20);
    return n;
}, 3);
check('an id is a number', () => {
    const id = setTimeout(() => {}, 1);
    clearTimeout(id);
    return [typeof id, id > 0];
}, ['object', true], { celld: ['number', true], why: 'runtime.md 5.7: the globals return numbers, node:timers returns objects; workerd returns objects with nodejs_compat' });
check('what is no function', () => [caught(() => setTimeout('code', 1)), caught(() => setInterval({}, 1)), caught(() => setTimeout())], ['TypeError', 'TypeError', 'TypeError']);
check('microtasks run before timers', async () => {
    const seen = [];
    setTimeout(() => seen.push('timeout'), 0);
    queueMicrotask(() => seen.push('microtask'));
    Promise.resolve().then(() => seen.push('promise'));
    seen.push('now');
    await sleep(5);
    return seen;
}, ['now', 'microtask', 'promise', 'timeout']);
check('setImmediate', async () => {
    const seen = [];
    const dropped = setImmediate(() => seen.push('never'));
    clearImmediate(dropped);
    setImmediate((x) => seen.push(x), 'arg');
    await sleep(5);
    return seen;
}, ['arg']);
check('queueMicrotask wants a function', () => caught(() => queueMicrotask(1)), 'TypeError');
check('scheduler.wait', async () => [await scheduler.wait(2), typeof scheduler.wait], [undefined, 'function']);
check('scheduler.wait with a signal that is aborted', () => message(scheduler.wait(1, { signal: AbortSignal.abort(new RangeError('r')) })), 'RangeError: r');
check('this of a callback', () => new Promise((resolve) => setTimeout(function () { resolve(this === undefined || this === globalThis); }, 1)), true);
check('a timer that throws harms no other', async () => {
    let after = false;
    const f = (e) => e.preventDefault();
    addEventListener('error', f);
    setTimeout(() => { throw new Error('in a timer'); }, 1);
    setTimeout(() => { after = true; }, 2);
    await sleep(10);
    removeEventListener('error', f);
    return after;
}, true);
check('the clock stands still in a turn', () => {
    const before = Date.now();
    for (let i = 0, x = 0; i < 2e7; i++) x += i;
    return Date.now() === before;
}, false, { celld: true, why: 'runtime.md 2.8: one value for the whole turn; workerd does so only where it is deployed' });
check('the clock moves at I/O', async () => {
    const before = Date.now();
    await sleep(20);
    return Date.now() - before >= 15;
}, true);
check('performance', () => [typeof performance.now(), performance.timeOrigin, performance.now() === Date.now() || performance.now() >= 0, performance instanceof Performance], ['number', 0, true, true]);
check('Date and performance are of one clock', () => Math.abs(performance.now() + performance.timeOrigin - Date.now()) <= 1, true);
check('negative and odd times', async () => {
    const seen = [];
    setTimeout(() => seen.push('negative'), -5);
    setTimeout(() => seen.push('nan'), NaN);
    setTimeout(() => seen.push('text'), '1');
    setTimeout(() => seen.push('none'));
    await sleep(20);
    return seen.sort();
}, ['nan', 'negative', 'none', 'text']);
check('timers of node:timers/promises', async () => {
    const { setTimeout: wait } = await import('node:timers/promises');
    return wait(1, 'value');
}, 'value');
const late = [];
answer('a timer left behind never fires', async (request) => {
    if (new URL(request.url).pathname === '/seen') {
        await sleep(60);
        return Response.json(late);
    }
    setTimeout(() => late.push('fired'), 30);
    return new Response('answered');
}, [{ body: 'answered' }, { body: '[]' }], { request: [{}, { path: '/seen' }] });
const kept = [];
answer('waitUntil keeps timers', async (request, env, ctx) => {
    if (new URL(request.url).pathname === '/seen') {
        await sleep(60);
        return Response.json(kept);
    }
    ctx.waitUntil(sleep(30).then(() => kept.push('fired')));
    return new Response('answered');
}, [{ body: 'answered' }, { body: '["fired"]' }], { request: [{}, { path: '/seen' }] });
