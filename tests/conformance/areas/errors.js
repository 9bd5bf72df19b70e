import { WorkerEntrypoint } from 'cloudflare:workers';
import { answer, check, sleep, utf8 } from '../case.js';

const SEEN = 'runtime.md 2.11: the client is told the message of the exception; workerd says Internal Server Error';
const failed = (message) => ({ status: 500, body: `Worker failed: ${message}`, headers: { 'content-type': 'text/plain; charset=utf-8' } });
const fails = (name, run, text, options) => answer(name, run, { status: 500, body: 'Internal Server Error' }, { celld: failed(text), why: SEEN, ...options });

export class Named extends WorkerEntrypoint {
    fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/throw') throw Object.assign(new RangeError('from there'), { extra: 1 });
        if (pathname === '/none') return undefined;
        return new Response('named');
    }
}
export class Silent extends WorkerEntrypoint {
    hello() { return 1; }
}

fails('an exception', () => { throw new Error('thrown at once'); }, 'thrown at once');
fails('a rejection', async () => { await sleep(1); throw new TypeError('thrown later'); }, 'thrown later');
fails('throw null', () => { throw null; }, 'null');
fails('throw undefined', () => { throw undefined; }, 'undefined');
fails('throw a string', () => { throw 'just text'; }, 'just text');
fails('throw an object', () => { throw { some: 'thing' }; }, '[object Object]');
fails('undefined is no response', () => undefined, "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
fails('a string is no response', async () => 'text', "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
fails('a request is no response', (request) => request, "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
fails('an object like a response', () => ({ status: 200, body: null, headers: new Headers() }), "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
fails('a response that was used', async () => {
    const r = new Response('x');
    await r.text();
    return r;
}, 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.');
answer('Response.error() cannot be sent', () => Response.error(), { status: 500 }, { celld: { status: 500 }, why: SEEN });
answer('a rejected waitUntil changes nothing', (request, env, ctx) => {
    ctx.waitUntil(Promise.reject(new Error('in the background')));
    return new Response('fine');
}, { status: 200, body: 'fine' });
answer('a rejection that nobody waits for changes nothing', () => {
    Promise.reject(new Error('left alone'));
    return new Response('fine');
}, { status: 200, body: 'fine' });
answer('a timer that throws changes nothing', async () => {
    setTimeout(() => { throw new Error('in a timer'); }, 1);
    await sleep(10);
    return new Response('fine');
}, { status: 200, body: 'fine' });
answer('a stream that fails after its head', () => {
    let n = 0;
    return new Response(new ReadableStream({
        async pull(c) {
            await sleep(5);
            if (n++ === 0) c.enqueue(utf8('begun '));
            else c.error(new Error('broken'));
        },
    }));
}, { status: 200, body: 'begun ' }, { celld: { status: 200, aborted: true, body: 'begun ' }, why: 'runtime.md 2.11: the connection breaks off, so that nobody takes the answer for whole; workerd ends it as if it were' });
answer('the Worker lives after an error', (request) => {
    if (new URL(request.url).pathname === '/bad') throw new Error('once');
    return new Response('still here');
}, [{ status: 500 }, { status: 200, body: 'still here' }], { request: [{ path: '/bad' }, {}], celld: [{ status: 500 }, { status: 200, body: 'still here' }], why: SEEN });
answer('passThroughOnException has no effect', (request, env, ctx) => {
    ctx.passThroughOnException();
    return new Response(String(ctx.passThroughOnException.length));
}, { status: 200, body: '0' });
check('an exception through a service binding', async ({ env }) => {
    try {
        return await env.NAMED.fetch('http://x/throw');
    } catch (e) {
        return [e.name, e.message, e instanceof RangeError];
    }
}, ['RangeError', 'from there', true]);
check('no response through a service binding', async ({ env }) => {
    try {
        return await env.NAMED.fetch('http://x/none');
    } catch (e) {
        return e.name;
    }
}, 'TypeError');
check('an entrypoint without fetch', async ({ env }) => {
    try {
        return await env.SILENT.fetch('http://x/');
    } catch (e) {
        return e.message;
    }
}, 'Handler does not export a fetch() function.');
check('errors have stacks that name the function', () => {
    function here() { return new Error('x').stack; }
    return [here().includes('here'), here().startsWith('Error: x\n    at ')];
}, [true, true]);
check('Error.cause and AggregateError', async () => {
    const e = await Promise.any([Promise.reject(1), Promise.reject(2)]).catch((error) => error);
    return [e.name, e.errors, new Error('x', { cause: 'c' }).cause];
}, ['AggregateError', [1, 2], 'c']);
check('Error.captureStackTrace and prepareStackTrace', () => {
    const holder = {};
    Error.captureStackTrace(holder);
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = (error, frames) => frames.length > 0 && typeof frames[0].getFunctionName;
    const shape = new Error('x').stack;
    Error.prepareStackTrace = prepareStackTrace;
    return [typeof holder.stack, shape];
}, ['string', 'function']);
