import { DurableObject } from 'cloudflare:workers';
import { answer, bytes, caught, check, drain, message, sleep, streamOf, text, utf8 } from '../case.js';

const LARGE = 3 << 20;
const large = () => new Uint8Array(LARGE).map((_, i) => i * 7);
const digest = async (data) => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', data)).subarray(0, 4));

export class Server extends DurableObject {
    seen = [];
    waiting = [];
    async fetch(request) {
        const url = new URL(request.url);
        const route = this.routes[url.pathname];
        return route === undefined ? new Response('no such route', { status: 404 }) : route(request, url);
    }
    routes = {
        // X-Real-IP is celld's: the area headers tells.
        '/echo': async (request) => Response.json([request.method, request.url, Array.from(request.headers).filter(([name]) => /^(x-(?!real-ip)|content-type)/.test(name)), await request.text()]),
        '/method': (request) => new Response(request.method),
        '/url': (request) => new Response(request.url),
        '/body': async (request) => Response.json([request.body === null, request.bodyUsed, request.headers.get('content-type')?.replace(/boundary=.*/, 'boundary') ?? null, (await request.text()).length > 0]),
        '/bytes': async (request) => new Response(await request.arrayBuffer()),
        '/form': async (request) => {
            const form = await request.formData();
            return Response.json(await Promise.all(Array.from(form, async ([name, value]) => [name, typeof value === 'string' ? value : [value.name, value.type, await value.text()]])));
        },
        '/digest': async (request) => Response.json(await digest(await request.arrayBuffer())),
        '/large': () => new Response(large()),
        '/through': (request) => new Response(request.body),
        '/status': (request, url) => new Response(null, { status: Number(url.searchParams.get('code')), statusText: url.searchParams.get('text') ?? undefined }),
        '/headers': () => {
            const headers = new Headers({ 'x-one': '1', 'content-type': 'text/x-own' });
            headers.append('x-two', 'a');
            headers.append('x-two', 'b');
            headers.append('set-cookie', 'a=1; Path=/');
            headers.append('set-cookie', 'b=2');
            return new Response('with headers', { headers });
        },
        '/json': () => Response.json({ a: [1, { b: null }] }),
        '/redirect': (request, url) => new Response('moved', { status: Number(url.searchParams.get('code') ?? 302), headers: { location: url.searchParams.get('to') } }),
        '/around': () => new Response(null, { status: 302, headers: { location: '/around' } }),
        '/throw': () => { throw Object.assign(new RangeError('from the object'), { code: 'E_OWN', detail: { a: 1 } }); },
        '/reject': async () => { await sleep(1); throw new TypeError('later'); },
        '/text': () => { throw 'only text'; },
        '/nothing': () => undefined,
        '/number': () => 5,
        '/used': async () => {
            const r = new Response('x');
            await r.text();
            return r;
        },
        '/breaks': () => {
            let n = 0;
            return new Response(new ReadableStream({
                async pull(c) {
                    await sleep(5);
                    if (n++ === 0) c.enqueue(utf8('begun '));
                    else c.error(new RangeError('broken off'));
                },
            }));
        },
        // A chunk for each call of next().
        '/steps': () => new Response(new ReadableStream({
            pull: (c) => new Promise((resolve) => this.waiting.push((chunk) => {
                if (chunk === null) c.close();
                else c.enqueue(utf8(chunk));
                resolve();
            })),
        })),
        // What comes is seen while it comes.
        '/listen': async (request) => {
            for (const reader = request.body.getReader(); ;) {
                const { done, value } = await reader.read();
                if (done) return new Response(this.seen.join(''));
                this.seen.push(new TextDecoder().decode(value));
            }
        },
        '/endless': () => new Response(new ReadableStream({
            pull: async (c) => {
                await sleep(1);
                c.enqueue(new Uint8Array(1000));
            },
            cancel: (reason) => void this.seen.push('cancelled'),
        })),
        '/never': () => new Promise(() => {}),
        '/slow': async (request, url) => {
            const name = url.searchParams.get('name');
            this.seen.push(`${name} begins`);
            await sleep(Number(url.searchParams.get('ms')));
            this.seen.push(`${name} ends`);
            return new Response(name);
        },
        '/signal': (request) => {
            this.seen.push(`signal ${request.signal instanceof AbortSignal} ${request.signal.aborted}`);
            return new Promise((resolve) => request.signal.addEventListener('abort', () => {
                this.seen.push(`aborted ${request.signal.reason?.name}: ${request.signal.reason?.message}`);
                resolve(new Response('too late'));
            }));
        },
        '/cf': (request) => Response.json(request.cf ?? null),
        '/self': async (request, url) => {
            const r = await this.env.Server.get(this.ctx.id).fetch('http://self/method', { method: 'PUT' });
            return new Response(`${await r.text()} from myself`);
        },
        '/other': (request, url) => this.env.Server.getByName(url.searchParams.get('name')).fetch('http://other/url'),
        '/out': () => fetch(`${this.env.ORIGIN}/text`),
        '/class': (request) => new Response(`${request.constructor.name} ${request.headers.constructor.name} ${request.redirect} ${Object.isFrozen(request)}`),
        '/set': (request) => {
            try {
                request.headers.set('x-a', '1');
                return new Response('could be set');
            } catch (e) {
                return new Response(e.name);
            }
        },
        '/unread': () => new Response('not read'),
        '/gzip': () => new Response('unpacked '.repeat(100), { headers: { 'content-encoding': 'gzip' } }),
    };
    next(chunk) { this.waiting.shift()(chunk); }
    ready() { return this.waiting.length; }
    log() { return this.seen; }
}
export class Mute extends DurableObject {
    hello() { return 'hello'; }
}

const server = ({ env }, name) => env.Server.getByName(name);
const from = async (t, ...args) => (await server(t, 'common').fetch(...args)).text();
const json = async (t, ...args) => (await server(t, 'common').fetch(...args)).json();
async function until(get, what) {
    for (let i = 0; i < 200; i++) {
        const value = await get();
        if (what(value)) return value;
        await sleep(5);
    }
    throw new Error('it did not come');
}
const settles = (promise) => promise.then((value) => value, (e) => [e.name, e.message]);

// ---- Requests

for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) check(`method ${method}`, (t) => from(t, 'http://x/method', { method }), method);
check('method HEAD', async (t) => {
    const r = await server(t, 'common').fetch('http://x/method', { method: 'HEAD' });
    return [r.status, r.body === null, r.headers.get('content-type'), await r.text()];
}, [200, true, 'text/plain;charset=UTF-8', '']);
check('a method in small letters', (t) => from(t, 'http://x/method', { method: 'post' }), 'POST');
check('the URL', (t) => Promise.all(['http://any.host/url', 'https://x:8443/url?a=b&c=%20d', 'http://x/url#part', 'HTTP://UPPER/url?ü=ß'].map((url) => from(t, url))),
    ['http://any.host/url', 'https://x:8443/url?a=b&c=%20d', 'http://x/url', 'http://upper/url?%C3%BC=%C3%9F']);
check('a URL object', (t) => from(t, new URL('http://x/url?of=object')), 'http://x/url?of=object');
check('URLs that cannot be', async (t) => [await caught(server(t, 'common').fetch('/relative')), await caught(server(t, 'common').fetch('')), await caught(server(t, 'common').fetch())], ['TypeError', 'TypeError', 'TypeError']);
check('the message of a relative URL', (t) => message(server(t, 'common').fetch('/relative')), 'TypeError: Invalid URL: /relative');
check('a request object', (t) => json(t, new Request('http://x/echo', { method: 'POST', body: 'of a request', headers: { 'x-a': '1' } })), ['POST', 'http://x/echo', [['content-type', 'text/plain;charset=UTF-8'], ['x-a', '1']], 'of a request']);
check('a request object and options', (t) => json(t, new Request('http://x/echo', { method: 'POST', body: 'first', headers: { 'x-a': '1' } }), { method: 'PUT', body: 'second', headers: { 'x-b': '2' } }),
    ['PUT', 'http://x/echo', [['content-type', 'text/plain;charset=UTF-8'], ['x-b', '2']], 'second']);
check('headers of a request', (t) => json(t, 'http://x/echo', { headers: [['X-One', 'a'], ['x-one', 'b'], ['x-two', 'ü']] }), ['GET', 'http://x/echo', [['x-one', 'a, b'], ['x-two', 'ü']], '']);
check('kinds of bodies', async (t) => {
    const bodies = ['text', bytes(1, 2), bytes(1).buffer, new Blob(['b'], { type: 'text/x' }), new URLSearchParams({ a: '1' }), streamOf('s'), ''];
    return Promise.all(bodies.map((body) => json(t, 'http://x/body', { method: 'POST', body })));
}, [[false, false, 'text/plain;charset=UTF-8', true], [false, false, null, true], [false, false, null, true], [false, false, 'text/x', true], [false, false, 'application/x-www-form-urlencoded;charset=UTF-8', true], [false, false, null, true], [false, false, 'text/plain;charset=UTF-8', false]]);
check('no body', (t) => json(t, 'http://x/body', { method: 'POST' }), [true, false, null, false]);
check('a form', async (t) => {
    const form = new FormData();
    form.append('a', '1');
    form.append('a', 'zwei ü');
    form.append('f', new File(['inside'], 'x.txt', { type: 'text/plain' }));
    return json(t, 'http://x/form', { method: 'POST', body: form });
}, [['a', '1'], ['a', 'zwei ü'], ['f', ['x.txt', 'text/plain', 'inside']]]);
check('every byte', async (t) => {
    const all = new Uint8Array(256).map((_, i) => i);
    const back = new Uint8Array(await (await server(t, 'common').fetch('http://x/bytes', { method: 'POST', body: all })).arrayBuffer());
    return [back.length, back.every((b, i) => b === i)];
}, [256, true]);
check('a large body there', async (t) => {
    const [here, there] = [await digest(large()), await json(t, 'http://x/digest', { method: 'POST', body: large() })];
    return here.join() === there.join();
}, true);
check('a large stream there', async (t) => {
    const data = large();
    const body = new ReadableStream({
        start(c) {
            for (let i = 0; i < data.length; i += 100000) c.enqueue(data.slice(i, i + 100000));
            c.close();
        },
    });
    return (await digest(large())).join() === (await json(t, 'http://x/digest', { method: 'POST', body })).join();
}, true);
check('a body is read while it is written', async (t) => {
    const { readable, writable } = new TransformStream();
    const stub = server(t, 'listener');
    const answer = stub.fetch('http://x/listen', { method: 'POST', body: readable });
    const writer = writable.getWriter();
    await writer.write(utf8('first '));
    const early = await until(() => stub.log(), (log) => log.length > 0);
    await writer.write(utf8('second'));
    await writer.close();
    return [early, await (await answer).text()];
}, [['first '], 'first second']);
check('a body that the object does not read', async (t) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    writer.write(utf8('into the void')).catch(() => {});
    const r = await server(t, 'common').fetch('http://x/unread', { method: 'POST', body: readable });
    return [r.status, await r.text()];
}, [200, 'not read']);
check('a request body that fails', async (t) => {
    let n = 0;
    const body = new ReadableStream({
        async pull(c) {
            await sleep(2);
            if (n++ === 0) c.enqueue(utf8('begun'));
            else c.error(new RangeError('broken off'));
        },
    });
    return caught(server(t, 'failing-body').fetch('http://x/listen', { method: 'POST', body }));
}, 'nothing was thrown', { celld: 'RangeError', why: 'the reader hears that the body broke off, so that nobody takes it for whole; workerd ends it as if it were' });
check('a request that was used', async (t) => {
    const request = new Request('http://x/echo', { method: 'POST', body: 'once' });
    await request.text();
    return caught(server(t, 'common').fetch(request));
}, 'TypeError');
check('request.cf', (t) => json(t, 'http://x/cf', { cf: { own: [1, 'two'], deep: { er: true } } }), { own: [1, 'two'], deep: { er: true } });
check('the request of an object', (t) => from(t, 'http://x/class'), 'Request Headers manual false');
check('headers of the request cannot be set', (t) => from(t, 'http://x/set'), 'TypeError');

// ---- Answers

check('statuses', async (t) => Promise.all([200, 204, 304, 404, 500, 599].map(async (code) => {
    const r = await server(t, 'common').fetch(`http://x/status?code=${code}`);
    return [r.status, r.ok, r.body === null];
})), [[200, true, false], [204, true, true], [304, false, true], [404, false, false], [500, false, false], [599, false, false]]);
check('statusText', async (t) => [(await server(t, 'common').fetch('http://x/status?code=200&text=Fine')).statusText, (await server(t, 'common').fetch('http://x/status?code=404')).statusText], ['Fine', 'Not Found']);
check('headers of an answer', async (t) => {
    const { headers } = await server(t, 'common').fetch('http://x/headers');
    return [headers.get('x-one'), headers.get('x-two'), headers.get('content-type'), headers.getSetCookie()];
}, ['1', 'a, b', 'text/x-own', ['a=1; Path=/', 'b=2']]);
check('headers of an answer cannot be set', async (t) => {
    const r = await server(t, 'common').fetch('http://x/headers');
    return [caught(() => r.headers.set('x-a', '1')), new Response(r.body, r).headers.get('x-one')];
}, ['TypeError', '1']);
check('what an answer says of itself', async (t) => {
    const r = await server(t, 'common').fetch('http://x/url');
    return [r.constructor.name, r.url, r.redirected, r.type, r.bodyUsed, await r.text(), r.bodyUsed];
}, ['Response', 'http://x/url', false, 'default', false, 'http://x/url', true]);
check('JSON', (t) => json(t, 'http://x/json'), { a: [1, { b: null }] });
check('a clone of an answer', async (t) => {
    const r = await server(t, 'common').fetch('http://x/url');
    const other = r.clone();
    return [await r.text(), await other.text()];
}, ['http://x/url', 'http://x/url']);
check('a large body back', async (t) => {
    const r = await server(t, 'common').fetch('http://x/large');
    return (await digest(await r.arrayBuffer())).join() === (await digest(large())).join();
}, true);
check('a body there and back', async (t) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const answer = server(t, 'common').fetch('http://x/through', { method: 'POST', body: readable });
    writer.write(utf8('one '));
    writer.write(utf8('two'));
    writer.close();
    return (await answer).text();
}, 'one two');
check('an answer is read while it is written', async (t) => {
    const stub = server(t, 'steps');
    const reader = (await stub.fetch('http://x/steps')).body.getReader();
    const seen = [];
    for (const chunk of ['a', 'b', null]) {
        const read = reader.read();
        await until(() => stub.ready(), (n) => n > 0);
        await stub.next(chunk);
        const { done, value } = await read;
        seen.push(done ? 'done' : new TextDecoder().decode(value));
    }
    return seen;
}, ['a', 'b', 'done']);
check('an answer that breaks off', async (t) => {
    const r = await server(t, 'common').fetch('http://x/breaks');
    const reader = r.body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    return [r.status, first, await caught(reader.read())];
}, [200, 'begun ', 'RangeError']);
check('an answer that is cancelled', async (t) => {
    const stub = server(t, 'cancelled');
    const r = await stub.fetch('http://x/endless');
    const reader = r.body.getReader();
    await reader.read();
    await reader.cancel('enough');
    await sleep(300);
    return stub.log();
}, [], { celld: ['cancelled'], why: 'runtime.md 2.6: who makes the answer hears that nobody reads it any more; workerd does not say so' });
check('content-encoding is left alone', async (t) => {
    const r = await server(t, 'common').fetch('http://x/gzip');
    return r.headers.get('content-encoding');
}, 'gzip');
check('an answer of another server', (t) => from(t, 'http://x/out'), 'grüße');
check('an answer of another object', (t) => from(t, 'http://x/other?name=else'), 'http://other/url');
check('an object calls itself', (t) => from(t, 'http://x/self'), 'PUT from myself');

// ---- Redirects

check('a redirect is followed, to the object', async (t) => {
    const r = await server(t, 'common').fetch('http://x/redirect?to=http://elsewhere/url');
    return [r.status, r.url, r.redirected, await r.text()];
}, [200, 'http://elsewhere/url', true, 'http://elsewhere/url']);
check('a redirect that is not followed', async (t) => {
    const r = await server(t, 'common').fetch('http://x/redirect?to=/url', { redirect: 'manual' });
    return [r.status, r.headers.get('location'), r.redirected, await r.text()];
}, [302, '/url', false, 'moved']);
check('redirect: error', (t) => caught(server(t, 'common').fetch('http://x/redirect?to=/url', { redirect: 'error' })), 'TypeError');
check('a redirect of a POST', (t) => Promise.all([301, 302, 303, 307, 308].map((code) => from(t, `http://x/redirect?to=/method&code=${code}`, { method: 'POST', body: 'x' }))), ['GET', 'GET', 'GET', 'POST', 'POST']);
check('redirects without end', (t) => caught(server(t, 'common').fetch('http://x/around')), 'TypeError');

// ---- Errors

check('an exception', async (t) => {
    try {
        return await server(t, 'common').fetch('http://x/throw');
    } catch (e) {
        return [e.name, e.message, e instanceof RangeError, e.remote, e.durableObjectReset];
    }
}, ['RangeError', 'from the object', true, true, undefined]);
check('own properties of an exception', async (t) => {
    try {
        return await server(t, 'common').fetch('http://x/throw');
    } catch (e) {
        return [e.code, e.detail];
    }
}, ['E_OWN', { a: 1 }]);
check('a rejection', (t) => message(server(t, 'common').fetch('http://x/reject')), 'TypeError: later');
check('what is thrown is no error', async (t) => {
    try {
        return await server(t, 'common').fetch('http://x/text');
    } catch (e) {
        return e;
    }
}, new Error('only text'), { celld: 'only text', why: 'runtime.md 6.4: what is no Error crosses by value; workerd makes an Error of it' });
check('what is returned is no response', async (t) => [await message(server(t, 'common').fetch('http://x/nothing')), await message(server(t, 'common').fetch('http://x/number'))],
    Array(2).fill("TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'."));
check('a response that was used', (t) => caught(server(t, 'common').fetch('http://x/used')), 'TypeError');
check('no handler', (t) => message(t.env.Mute.getByName('a').fetch('http://x/')), 'Error: Handler does not export a fetch() function.');
check('an exception breaks nothing', async (t) => {
    const stub = server(t, 'lives');
    return [await caught(stub.fetch('http://x/throw')), await (await stub.fetch('http://x/method')).text()];
}, ['RangeError', 'GET']);

// ---- Leaving

check('a signal that is aborted already', async (t) => [await message(server(t, 'gone').fetch('http://x/slow?name=a&ms=1', { signal: AbortSignal.abort() })), await server(t, 'gone').log()], ['AbortError: The operation was aborted', []]);
check('a caller that aborts', async (t) => {
    const controller = new AbortController();
    const asked = server(t, 'aborts').fetch('http://x/never', { signal: controller.signal });
    await sleep(10);
    controller.abort();
    return message(asked);
}, 'AbortError: The operation was aborted');
check('a reason of its own', async (t) => {
    const controller = new AbortController();
    const asked = server(t, 'aborts').fetch('http://x/never', { signal: controller.signal });
    controller.abort(new RangeError('mine'));
    return message(asked);
}, 'RangeError: mine');
check('a time limit', (t) => caught(server(t, 'aborts').fetch('http://x/never', { signal: AbortSignal.timeout(20) })), 'TimeoutError');
check('the object hears of it', async (t) => {
    const stub = server(t, 'signal');
    const controller = new AbortController();
    const asked = stub.fetch('http://x/signal', { signal: controller.signal });
    asked.catch(() => {});
    await until(() => stub.log(), (log) => log.length > 0);
    controller.abort();
    return until(() => stub.log(), (log) => log.length > 1);
}, ['signal true false', 'aborted AbortError: The client has disconnected']);
check('aborting while the answer comes', async (t) => {
    const controller = new AbortController();
    const r = await server(t, 'aborted-body').fetch('http://x/endless', { signal: controller.signal });
    const reader = r.body.getReader();
    await reader.read();
    controller.abort();
    for (;;) {
        try {
            if ((await reader.read()).done) return 'ended';
        } catch (e) {
            return e.name;
        }
    }
}, 'AbortError');

// ---- At once

check('requests run at once', async (t) => {
    const stub = server(t, 'at-once');
    const names = ['a', 'b', 'c'];
    const answers = await Promise.all(names.map((name, i) => stub.fetch(`http://x/slow?name=${name}&ms=${90 - i * 30}`).then((r) => r.text())));
    return [answers, await stub.log()];
}, [['a', 'b', 'c'], ['a begins', 'b begins', 'c begins', 'c ends', 'b ends', 'a ends']]);
check('fifty requests', async (t) => {
    const stub = server(t, 'fifty');
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => stub.fetch(`http://x/url?${i}`).then((r) => r.text())));
    return answers.every((url, i) => url === `http://x/url?${i}`);
}, true);
check('requests to fifty objects', async (t) => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => server(t, `of-fifty-${i}`).fetch(`http://x/url?${i}`).then((r) => r.text())));
    return answers.every((url, i) => url === `http://x/url?${i}`);
}, true);

// ---- For a client of the Worker

const forward = (name) => (request, env) => env.Server.getByName(name).fetch(request);
answer('the request of a client', forward('client'), { status: 200, body: '["POST","http://conformance.test/echo",[["x-a","1"],["x-case","the%20request%20of%20a%20client"]],"from outside"]' }, { request: { method: 'POST', path: '/echo', body: 'from outside', headers: { 'x-a': '1' } } });
answer('the headers for a client', forward('client'), { status: 200, body: 'with headers', headers: { 'x-one': '1', 'x-two': 'a | b', 'set-cookie': 'a=1; Path=/ | b=2', 'content-type': 'text/x-own' } }, { request: { path: '/headers' } });
answer('a status for a client', forward('client'), { status: 418, statusText: 'Teapot', body: '' }, { request: { path: '/status?code=418&text=Teapot' } });
answer('no content for a client', forward('client'), { status: 204, body: '' }, { request: { path: '/status?code=204' } });
answer('a HEAD of a client', forward('client'), { status: 200, body: '' }, { request: { path: '/url', method: 'HEAD' } });
answer('a HEAD of a client that gives no body', forward('client'), { status: 200, body: '' }, { request: { path: '/status?code=200', method: 'HEAD' } });
answer('a client sends in parts', forward('client'), { status: 200, body: 'in some parts' }, { request: { method: 'POST', path: '/through', body: ['in ', 'some ', 'parts'] } });
answer('a large body for a client', forward('client'), (({ status: 200 })), { request: { path: '/large', latin1: true } });
answer('a redirect for a client', forward('client'), { status: 302, headers: { location: '/url' }, body: 'moved' }, { request: { path: '/redirect?to=/url' } });
answer('an exception for a client', forward('client'), { status: 500, body: 'Internal Server Error' }, { request: { path: '/throw' }, celld: { status: 500, body: 'Worker failed: from the object' }, why: 'runtime.md 2.11: the client is told the message of the exception; workerd says Internal Server Error' });
answer('an answer is changed on its way', async (request, env) => {
    const r = await env.Server.getByName('client').fetch(request);
    const changed = new Response(r.body, r);
    changed.headers.set('x-changed', 'yes');
    return changed;
}, { status: 200, body: 'with headers', headers: { 'x-changed': 'yes', 'x-one': '1' } }, { request: { path: '/headers' } });
