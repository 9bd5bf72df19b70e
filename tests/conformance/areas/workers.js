import * as workers from 'cloudflare:workers';
import { env as moduleEnv, WorkerEntrypoint, waitUntil } from 'cloudflare:workers';
import { answer, caught, check, message, sleep, streamOf, utf8 } from '../case.js';

const loadTimer = caught(() => setTimeout(() => {}, 1));
const loadRandom = caught(() => crypto.randomUUID());
const loadFetch = await message(() => fetch('http://127.0.0.1:1/'));
let requests = 0;

let held; // what another request made
export class Named extends WorkerEntrypoint {
    fetch(request) {
        if (request.method === 'PUT') {
            const pair = new WebSocketPair();
            pair[0].accept();
            const timers = { id: setTimeout(() => { timers.fired = true; }, 5) };
            held = {
                request, pair, timers, text: new Response('text'), binary: new Response(utf8('x')), late: new Response('late'), body: new Response('body').body,
                own: new Response(streamOf('own')), identity: new IdentityTransformStream(), zip: new CompressionStream('gzip'), controller: new AbortController(), blob: new Blob(['blob']),
            };
            this.ctx.waitUntil(sleep(50));
            return new Response('held');
        }
        if (request.method === 'DELETE') return held.late;
        return Response.json([this.env.TEXT, typeof this.ctx.waitUntil, this instanceof WorkerEntrypoint, typeof this.ctx.props]);
    }
}

check('vars', ({ env }) => [env.TEXT, env.NUMBER, env.LIST, env.OBJECT, env.FLAG], ['a text', 12, [1, 'two'], { deep: { er: true } }, false]);
check('env has its bindings as own properties', ({ env }) => ['TEXT', 'NUMBER', 'SELF', 'NAMED'].filter((name) => !Object.hasOwn(env, name)), []);
check('a binding that is not there', ({ env }) => [env.NOTHING, 'NOTHING' in env], [undefined, false]);
check('env of cloudflare:workers', ({ env }) => [moduleEnv.TEXT, moduleEnv.LIST, Object.keys(moduleEnv).length === Object.keys(env).length], ['a text', [1, 'two'], true]);
check('exports of cloudflare:workers', () => ['DurableObject', 'WorkerEntrypoint', 'RpcTarget', 'RpcStub', 'WorkflowEntrypoint', 'env', 'exports', 'waitUntil', 'withEnv'].filter((name) => !(name in workers)), []);
check('ctx', ({ ctx }) => [typeof ctx.waitUntil, typeof ctx.passThroughOnException, ctx.props, typeof ctx.exports], ['function', 'function', {}, 'object'], {});
check('waitUntil takes anything', ({ ctx }) => [ctx.waitUntil(Promise.resolve(1)), ctx.waitUntil(2), ctx.waitUntil(undefined), caught(() => ctx.waitUntil())], [undefined, undefined, undefined, 'TypeError']);
check('waitUntil of the module', async () => {
    let done = false;
    waitUntil(sleep(1).then(() => { done = true; }));
    await sleep(5);
    return done;
}, true);
check('methods of ctx need it', ({ ctx }) => caught(() => { const { waitUntil: loose } = ctx; loose(1); }), 'TypeError');
answer('module state lives between requests', () => new Response(String(++requests)), [{ body: '1' }, { body: '2' }], { request: [{}, {}] });
check('a default object gets this', async function ({ env }) { return (await env.SELF.fetch('http://x/', { headers: { 'x-case': 'vars' } })).json(); }, ['a text', 12, [1, 'two'], { deep: { er: true } }, false]);
check('a class entrypoint', async ({ env }) => (await env.NAMED.fetch('http://x/')).json(), ['a text', 'function', true, 'object']);
check('a class entrypoint of one\'s own making', ({ env, ctx }) => new Named(ctx, env).env === env, true);
check('fetch while the module loads', () => loadFetch.split('.')[0], 'Error: Disallowed operation called within global scope');
check('timers while the module loads', () => loadTimer, 'Error');
check('random values while the module loads', () => loadRandom, 'Error', { celld: 'nothing was thrown', why: 'runtime.md 2.8: random values are there while a module loads' });
check('import.meta', () => [import.meta.url, import.meta.main], [undefined, undefined], { celld: ['file:///bundle/index.js', true], why: 'runtime.md 3.1: a URL below file:///bundle, and main of the entry' });
check('waitUntil outlives the answer', async ({ ctx }) => {
    ctx.waitUntil(sleep(5));
    return 'answered';
}, 'answered');
check('errors of waitUntil are kept from the answer', ({ ctx }) => {
    ctx.waitUntil(Promise.reject(new Error('x')));
    return message(() => 1);
}, 'nothing was thrown');

const other = (type) =>
    'Error: Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, and others) created in the context of one ' +
    "request handler cannot be accessed from a different request's handler. This is a limitation of Cloudflare Workers which allows us to improve overall " +
    `performance. (I/O type: ${type})`;
const SOURCE = other('ReadableStreamSource'), SINK = other('Writable'), SOCKET = other('Native'), SIGNAL = other('RefcountedCanceler');
const hold = ({ env }) => env.NAMED.fetch('http://x/', { method: 'PUT', body: 'sent' });

check('bodies of another request', async (t) => {
    await hold(t);
    const { request, text, binary, late } = held;
    return [text.status, request.method, text.bodyUsed, await message(text.text()), await message(binary.bytes()), await message(request.text()), await message(() => late.clone())];
}, [200, 'PUT', false, SOURCE, SOURCE, SOURCE, SOURCE]);
check('streams of another request', async (t) => {
    await hold(t);
    const { body, identity, zip } = held;
    const reader = body.getReader();
    const seen = [await message(reader.read()), await message(identity.readable.cancel()), await message(identity.writable.close()), await message(zip.writable.getWriter().write(utf8('x')))];
    return [...seen, await message(zip.readable.getReader().read())];
}, [SOURCE, SOURCE, SINK, SINK, SOURCE]);
check('sockets and signals of another request', async (t) => {
    await hold(t);
    const { pair, controller } = held;
    const seen = [() => pair[0].send('x'), () => pair[0].close(), () => pair[0].readyState, () => pair[1].accept(), () => controller.signal.aborted, () => controller.abort(), () => AbortSignal.any([controller.signal])];
    return [...seen.map(message), controller.signal.reason, pair[0].url];
}, [SOCKET, SOCKET, SOCKET, SOCKET, SIGNAL, SIGNAL, SIGNAL, '«undefined»', null]);
check('a timer of another request', async (t) => {
    await hold(t);
    clearTimeout(held.timers.id);
    await sleep(20);
    return held.timers.fired;
}, true);
check('a response of another request', async (t) => {
    await hold(t);
    return message(t.env.NAMED.fetch('http://x/', { method: 'DELETE' }));
}, SOURCE);
check('what another request made and is no I/O', async (t) => {
    await hold(t);
    return [await held.own.text(), await held.blob.text()];
}, ['own', 'blob']);
check('names of cloudflare:workers', () => ['abortIsolate', 'cache', 'restore', 'tracing'].map((name) => name in workers), Array(4).fill(true),
    { celld: Array(4).fill(false), why: 'runtime.md 3.4: abortIsolate, cache, restore and tracing are absent, and an import of one fails with its name' });
