// Service bindings to the own script, ctx.exports, cloudflare:workers.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';
import { DurableObject, ServiceStub, WorkerEntrypoint, env as importedEnv, exports as importedExports, waitUntil, withEnv, withExports } from 'cloudflare:workers';

const early = importedEnv.WHO; // Reading it in the global scope is allowed.
let earlyCall;
try {
    waitUntil(Promise.resolve());
} catch (error) {
    earlyCall = error.message;
}

const ballast = () => new Array(1 << 17).fill(0.5); // a MiB of the heap
const seen = [];
export class Echo extends WorkerEntrypoint {
    made = seen.push('new');
    async fetch(request) {
        const url = new URL(request.url);
        switch (url.pathname) {
            case '/echo': return new Response(request.body, { headers: { 'x-method': request.method, 'x-type': request.headers.get('content-type') ?? '' } });
            case '/text': return new Response(`${this.env.WHO} ${await request.text()}`);
            case '/throw': throw Object.assign(new RangeError('too far'), { code: 42 });
            case '/nothing': return undefined;
            case '/props': return Response.json(this.ctx.props);
            case '/redirect': return Response.redirect(new URL('/text', request.url).href, 303);
            case '/loop': return Response.redirect(request.url);
            case '/deep': return this.ctx.exports.Echo.fetch(request.url);
            case '/slow':
                request.signal.addEventListener('abort', () => seen.push(`aborted: ${request.signal.reason.message}`));
                await scheduler.wait(10000);
                return new Response('late');
            case '/forever':
                return new Response(new ReadableStream({
                    type: 'bytes',
                    pull(controller) {
                        controller.enqueue(new Uint8Array(1000));
                    },
                    cancel() {
                        seen.push('cancelled');
                    },
                }, { highWaterMark: 0 }));
            case '/broken':
                return new Response(new ReadableStream({
                    pull(controller) {
                        controller.enqueue(new Uint8Array(10));
                        controller.error(new Error('broke'));
                    },
                }, { highWaterMark: 0 }));
            case '/later':
                this.ctx.waitUntil(scheduler.wait(5).then(() => seen.push('later')));
                return new Response('now');
            case '/socket': {
                const { 0: client, 1: server } = new WebSocketPair();
                if (url.search === '?heavy') {
                    server.ballast = ballast();
                    server.addEventListener('close', () => server.close(1000));
                }
                server.accept();
                server.addEventListener('message', async ({ data }) => {
                    await scheduler.wait(1); // The event lives as long as the socket.
                    server.send(`${this.env.WHO}: ${data}`);
                });
                server.addEventListener('close', ({ code }) => seen.push(`closed ${code}`));
                return new Response(null, { status: 101, webSocket: client });
            }
            case '/client': {
                const { webSocket } = await this.ctx.exports.Echo.fetch(`${url.origin}/socket`);
                webSocket.accept();
                return new Response('left open');
            }
            default: return new Response('no', { status: 404, statusText: 'Nowhere', headers: { 'set-cookie': 'a=1' } });
        }
    }
}
export const plain = {
    async fetch(request, env, ctx) {
        ok(this === plain, 'this');
        return new Response(`${request.method} ${env.WHO} ${JSON.stringify(ctx.props)}`);
    },
};
export const Wrapped = new Proxy(Echo, {});
export class Cell extends DurableObject {}
export class Legacy {
    fetch() {}
}
export function helper() {}

const url = 'http://svc';

test('a request and its answer', async (env) => {
    const response = await env.ECHO.fetch(`${url}/echo`, { method: 'POST', body: 'hello' });
    same([response.status, response.headers.get('x-method'), response.headers.get('x-type'), await response.text()], [200, 'POST', 'text/plain;charset=UTF-8', 'hello']);
    throws(() => response.headers.set('a', 'b'), 'TypeError', "Can't modify immutable headers.");
    const none = await env.ECHO.fetch(new Request(`${url}/x`));
    same([none.status, none.statusText, none.ok, none.headers.getSetCookie(), none.url], [404, 'Nowhere', false, ['a=1'], `${url}/x`]);
});

test('each call has an instance of its own', async (env) => {
    seen.length = 0;
    await Promise.all([env.ECHO.fetch(url), env.ECHO.fetch(url)]);
    same(seen, ['new', 'new']);
});

test('streams go through both ways, chunk by chunk', async (env) => {
    let pulled = 0;
    const body = new ReadableStream({
        async pull(controller) {
            if (++pulled > 5) return controller.close();
            await scheduler.wait(1);
            controller.enqueue(new TextEncoder().encode(`${pulled} `));
        },
    }, { highWaterMark: 0 });
    const response = await env.ECHO.fetch(`${url}/echo`, { method: 'POST', body });
    equal(pulled, 0, 'nobody has read yet:');
    equal(await response.text(), '1 2 3 4 5 ');
});

test('a body that is given away is used', async (env) => {
    const request = new Request(`${url}/echo`, { method: 'POST', body: 'once' });
    await env.ECHO.fetch(request);
    await rejects(env.ECHO.fetch(request), 'TypeError');
});

test('errors come with name, message and properties', async (env) => {
    const error = await rejects(env.ECHO.fetch(`${url}/throw`), 'RangeError', 'too far');
    same([error instanceof RangeError, error.code, error.remote], [true, 42, true]);
    await rejects(env.ECHO.fetch(`${url}/nothing`), 'TypeError', "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
    const broken = await env.ECHO.fetch(`${url}/broken`);
    await rejects(broken.text(), 'Error', 'broke');
});

test('relative URLs are refused', async (env) => {
    await rejects(env.ECHO.fetch('/x'), 'TypeError', 'Invalid URL: /x');
    await rejects(env.ECHO.fetch(), 'TypeError');
});

test('redirects are followed within the service', async (env) => {
    const response = await env.ECHO.fetch(`${url}/redirect`, { method: 'POST', body: 'gone' });
    same([await response.text(), response.redirected, response.url], ['me ', true, `${url}/text`]);
    equal((await env.ECHO.fetch(`${url}/redirect`, { redirect: 'manual' })).status, 303);
    await rejects(env.ECHO.fetch(`${url}/loop`), 'TypeError', 'Too many redirects.');
});

test('chains of calls have an end', async (env) => {
    await rejects(env.ECHO.fetch(`${url}/deep`), 'Error', 'Subrequest depth limit exceeded.');
});

test('objects are entrypoints, too', async (env, ctx) => {
    equal(await (await env.PLAIN.fetch(url, { method: 'put' })).text(), 'PUT me {"a":[1]}');
    equal(await (await ctx.exports.plain.fetch(url)).text(), 'GET me {}');
    equal(await (await ctx.exports.Wrapped.fetch(`${url}/text`)).text(), 'me ');
});

test('a signal ends the callee', async (env) => {
    seen.length = 0;
    const controller = new AbortController();
    const answer = env.ECHO.fetch(`${url}/slow`, { signal: controller.signal });
    await scheduler.wait(2);
    controller.abort(new Error('enough'));
    await rejects(answer, 'Error', 'enough');
    same(seen, ['new', 'aborted: The client has disconnected']);
    await rejects(env.ECHO.fetch(url, { signal: AbortSignal.abort() }), 'AbortError');
});

test('a signal ends the body, and cancelling it reaches the callee', async (env) => {
    seen.length = 0;
    const controller = new AbortController();
    const response = await env.ECHO.fetch(`${url}/forever`, { signal: controller.signal });
    const reader = response.body.getReader();
    equal((await reader.read()).value.length, 1000);
    controller.abort(new Error('enough'));
    await rejects(reader.read(), 'Error', 'enough');
    await (await env.ECHO.fetch(`${url}/forever`)).body.cancel();
    await scheduler.wait(1);
    same(seen, ['new', 'cancelled', 'new', 'cancelled']);
});

test('waitUntil of the callee goes on after its answer', async (env) => {
    seen.length = 0;
    equal(await (await env.ECHO.fetch(`${url}/later`)).text(), 'now');
    await scheduler.wait(20);
    same(seen, ['new', 'later']);
});

test('a WebSocket of the callee', async (env) => {
    seen.length = 0;
    const { status, webSocket } = await env.ECHO.fetch(`${url}/socket`, { headers: { upgrade: 'websocket' } });
    equal(status, 101);
    webSocket.accept();
    const answer = new Promise((resolve) => webSocket.addEventListener('message', ({ data }) => resolve(data)));
    await scheduler.wait(2);
    webSocket.send('hello');
    equal(await answer, 'me: hello');
    webSocket.close(1000);
    await scheduler.wait(2);
    equal(await (await env.ECHO.fetch(`${url}/client`)).text(), 'left open');
    await scheduler.wait(5);
    same(seen, ['new', 'closed 1000', 'new', 'new', 'closed 1006']);
});

// Each is 150 times a MiB, and the heap has 128.
test('a stream that is through is not kept by the event that sent it', async (env) => {
    for (let i = 0; i < 150; i++) {
        const body = new ReadableStream({
            start(controller) {
                controller.enqueue(new Uint8Array([120]));
                controller.close();
            },
        });
        body.ballast = ballast();
        equal(await (await env.ECHO.fetch(`${url}/text`, { method: 'POST', body })).text(), 'me x');
    }
});
test('a socket that is closed is not kept by the event that got it', async (env) => {
    for (let i = 0; i < 150; i++) {
        const { webSocket } = await env.ECHO.fetch(`${url}/socket?heavy`, { headers: { upgrade: 'websocket' } });
        webSocket.accept();
        const closed = new Promise((resolve) => webSocket.addEventListener('close', resolve));
        webSocket.close(1000);
        equal((await closed).code, 1000);
    }
});

test('ctx.exports: what is there, and props', async (env, ctx) => {
    same(Object.keys(ctx.exports).sort(), ['Echo', 'Wrapped', 'default', 'plain']);
    const props = { who: 'x', at: [1] };
    const stub = ctx.exports.Echo({ props });
    props.at.push(2);
    same(await (await stub.fetch(`${url}/props`)).json(), { who: 'x', at: [1] });
    same(await (await ctx.exports.Echo.fetch(`${url}/props`)).json(), {});
    throws(() => ctx.exports.Echo(5), 'TypeError');
    throws(() => ctx.exports.Echo({ props: 5 }), 'TypeError');
    same([env.ECHO.constructor.name, ctx.exports.Echo.constructor.name, env.ECHO instanceof ServiceStub, ctx.exports.Echo instanceof ServiceStub, typeof env.ECHO], ['Fetcher', 'LoopbackServiceStub', true, true, 'object']);
    throws(() => new ServiceStub(), 'TypeError');
});

test('the module cloudflare:workers', async (env, ctx) => {
    equal(early, 'me');
    ok(earlyCall.startsWith('Disallowed operation called within global scope.'), earlyCall);
    ok(importedEnv !== env && importedEnv.ECHO === env.ECHO, 'the same things');
    same(Object.keys(importedEnv), Object.keys(env));
    same(Object.keys(importedExports), Object.keys(ctx.exports));
    const inside = await withEnv({ WHO: 'you' }, async () => {
        await scheduler.wait(1);
        return [importedEnv.WHO, importedEnv.ECHO];
    });
    same(inside, ['you', null]);
    equal(importedEnv.WHO, 'me');
    equal(withEnv(null, () => importedEnv.WHO), undefined);
    equal(withExports({ x: 1 }, () => importedExports.x), 1);
    equal(withExports('text', () => importedExports.plain), ctx.exports.plain);
});

export default { ...run, fetch: () => new Response('default') };
