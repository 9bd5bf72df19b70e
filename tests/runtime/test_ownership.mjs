// I/O objects of one event, used by another one. runtime.md 2.7.
import { equal, rejects, run, same, test, throws } from 'harness.js';
import { WorkerEntrypoint } from 'cloudflare:workers';

const bytes = (text) => new TextEncoder().encode(text);
const refused = (type) =>
    'Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, and others) created in the context of one ' +
    "request handler cannot be accessed from a different request's handler. This is a limitation of Cloudflare Workers which allows us to improve overall " +
    `performance. (I/O type: ${type})`;
const SOURCE = refused('ReadableStreamSource'), SINK = refused('Writable'), SOCKET = refused('Native'), SIGNAL = refused('RefcountedCanceler');

const early = new Response('of nobody'); // Made in the global scope.
let held; // what the other event made
let fired;

export class Other extends WorkerEntrypoint {
    // Keeps what make() gives, and the event for as long as that is needed.
    async fetch(request) {
        if (new URL(request.url).pathname === '/give') return held;
        held = this.make(request);
        if (new URL(request.url).pathname === '/hold') this.ctx.waitUntil(new Promise((resolve) => (held.release = resolve)));
        return new Response('made');
    }
    make(request) {
        const pair = new WebSocketPair();
        pair[0].accept();
        const [tee] = new Response('tee').body.tee();
        const timers = { fired: new Promise((resolve) => (fired = resolve)) };
        timers.id = setTimeout(() => fired('it fired'), 1);
        return {
            request,
            signal: request.signal,
            text: new Response('text'),
            binary: new Response(bytes('x')),
            json: Response.json({ a: 1 }),
            form: new Request('http://x/', { method: 'POST', body: new URLSearchParams('a=b') }),
            own: new Response(new ReadableStream({ start: (c) => (c.enqueue(bytes('own')), c.close()) })),
            body: new Response('body').body,
            late: new Response('late'),
            blob: new Blob(['blob']),
            blobStream: new Blob(['blob']).stream(),
            tee,
            identity: new IdentityTransformStream(),
            zip: new CompressionStream('gzip'),
            pair,
            controller: new AbortController(),
            timers,
            rewritten: new HTMLRewriter().transform(new Response('<p>')),
        };
    }
}

const hold = async (env) => {
    equal(await (await env.OTHER.fetch('http://other/hold', { method: 'POST', body: 'sent' })).text(), 'made');
    return held;
};

test('bodies', async (env) => {
    const o = await hold(env);
    for (const [body, how] of [[o.text, 'text'], [o.binary, 'arrayBuffer'], [o.json, 'json'], [o.form, 'formData'], [o.request, 'text'], [o.rewritten, 'text']]) {
        equal(body.bodyUsed, false);
        await rejects(() => body[how](), 'Error', SOURCE);
    }
    throws(() => o.late.clone(), 'Error', SOURCE);
    throws(() => o.request.clone(), 'Error', SOURCE);
    await rejects(() => new Request(o.form).text(), 'Error', SOURCE); // Passing it on does not make it ours.
    await rejects(() => new Response(o.late.body, o.late).text(), 'Error', SOURCE);
    same([o.text.status, o.request.method, o.json.headers.get('content-type')], [200, 'POST', 'application/json']);
    o.release();
});

test('streams of the platform', async (env) => {
    const o = await hold(env);
    for (const stream of [o.body, o.blobStream, o.late.body]) {
        equal(stream.locked, false);
        throws(() => stream.tee(), 'Error', SOURCE);
        await rejects(() => stream.cancel(), 'Error', SOURCE);
        await rejects(() => stream.pipeTo(new WritableStream()), 'Error', SOURCE);
        const reader = stream.getReader();
        await rejects(() => reader.read(), 'Error', SOURCE);
        reader.releaseLock();
        await rejects(() => stream.values().next(), 'Error', SOURCE);
    }
    const byob = o.tee.getReader({ mode: 'byob' });
    await rejects(() => byob.read(new Uint8Array(1)), 'Error', SOURCE);
    await rejects(() => byob.cancel(), 'Error', SOURCE);
    for (const { readable, writable } of [o.identity, o.zip]) {
        await rejects(() => readable.getReader().read(), 'Error', SOURCE);
        await rejects(() => writable.close(), 'Error', SINK);
        await rejects(() => new Response('x').body.pipeTo(writable), 'Error', SINK);
        const writer = writable.getWriter();
        await rejects(() => writer.write(bytes('x')), 'Error', SINK);
        await rejects(() => writer.abort(), 'Error', SINK);
    }
    o.release();
});

test('sockets and signals', async (env) => {
    const o = await hold(env);
    const [accepted, waiting] = o.pair;
    throws(() => waiting.accept(), 'Error', SOCKET);
    throws(() => accepted.send('x'), 'Error', SOCKET);
    throws(() => accepted.close(), 'Error', SOCKET);
    throws(() => accepted.readyState, 'Error', SOCKET);
    accepted.addEventListener('message', () => {});
    const { signal } = o.controller;
    for (const s of [signal, o.signal]) {
        throws(() => s.aborted, 'Error', SIGNAL);
        throws(() => s.throwIfAborted(), 'Error', SIGNAL);
        throws(() => AbortSignal.any([s]), 'Error', SIGNAL);
        equal(s.reason, undefined);
    }
    throws(() => o.controller.abort(), 'Error', SIGNAL);
    await rejects(() => fetch('http://127.0.0.1:1/', { signal }), 'Error', SIGNAL);
    clearTimeout(o.timers.id); // Not one of ours: nothing happens.
    equal(await o.timers.fired, 'it fired');
    o.release();
});

test('an answer of another event is refused', async (env) => {
    const o = await hold(env);
    held = o.text;
    await rejects(() => env.OTHER.fetch('http://other/give'), 'Error', SOURCE);
    held = early;
    equal(await (await env.OTHER.fetch('http://other/give')).text(), 'of nobody');
    o.release();
});

test('what is no I/O', async (env) => {
    const o = await hold(env);
    equal(await o.own.text(), 'own');
    equal(await o.blob.text(), 'blob');
    equal(o.late.body.locked, false);
    o.release();
});

test('it stays so when the event has ended', async (env) => {
    await (await env.OTHER.fetch('http://other/short')).text();
    const o = held;
    await scheduler.wait(1);
    await rejects(() => o.text.text(), 'Error', SOURCE);
    throws(() => o.controller.signal.aborted, 'Error', SIGNAL);
});

export default run;
