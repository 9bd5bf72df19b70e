import { connect } from 'cloudflare:sockets';
import { answer, caught, check, drain, message, sleep, streamOf, text, utf8 } from '../case.js';

const json = async (promise) => (await promise).json();

check('GET', async ({ origin }) => json(fetch(`${origin}/echo?a=1#part`)), { method: 'GET', path: '/echo?a=1', headers: {}, body: '' });
check('POST with headers', ({ origin }) => json(fetch(`${origin}/echo`, { method: 'POST', body: 'data', headers: { 'X-A': '1', 'content-type': 'text/x' } })),
    { method: 'POST', path: '/echo', headers: { 'x-a': '1', 'content-type': 'text/x' }, body: 'data' });
check('a Request', ({ origin }) => json(fetch(new Request(`${origin}/echo`, { method: 'PUT', body: 'p' }))),
    { method: 'PUT', path: '/echo', headers: { 'content-type': 'text/plain;charset=UTF-8' }, body: 'p' });
check('a Request and init', ({ origin }) => json(fetch(new Request(`${origin}/echo`, { headers: { a: '1' } }), { method: 'DELETE', headers: { b: '2' } })),
    { method: 'DELETE', path: '/echo', headers: { b: '2' }, body: '' });
check('a URL object', async ({ origin }) => (await fetch(new URL('/text', origin))).text(), 'grüße');
check('user and password in the URL are not sent', async ({ origin }) => {
    const url = origin.replace('//', '//user:pw@');
    const r = await fetch(`${url}/echo?a=@`);
    const redirected = await fetch(`${origin}/redirect?to=${encodeURIComponent(`${url}/echo`)}`);
    const where = (r) => r.url.replace(url, 'with').replace(origin, 'without');
    return [where(new Request(`${url}/a`)), where(r), await r.json(), where(redirected), (await redirected.json()).headers];
}, ['with/a', 'with/echo?a=@', { method: 'GET', path: '/echo?a=@', headers: {}, body: '' }, 'with/echo', {}]);
check('properties of a response', async ({ origin }) => {
    const r = await fetch(`${origin}/text`);
    return [r.status, r.statusText, r.ok, r.redirected, r.url.replace(origin, ''), r.type, r.headers.get('content-type'), r.bodyUsed, r instanceof Response];
}, [200, 'OK', true, false, '/text', 'default', 'text/plain; charset=utf-8', false, true]);
check('an error status is no failure', async ({ origin }) => {
    const r = await fetch(`${origin}/status?code=503&text=Too%20tired`);
    return [r.status, r.ok, r.statusText, await r.text()];
}, [503, false, 'Too tired', '']);
check('headers of a response', async ({ origin }) => {
    const { headers } = await fetch(`${origin}/headers`);
    return [headers.get('x-one'), headers.get('x-two'), headers.getSetCookie()];
}, ['1', 'a, b', ['a=1; Path=/', 'b=2']]);
check('headers of a response cannot be changed', async ({ origin }) => {
    const r = await fetch(`${origin}/text`);
    return caught(() => r.headers.set('a', 'b'));
}, 'TypeError');
check('a copy of a response can be changed', async ({ origin }) => {
    const r = await fetch(`${origin}/text`);
    const copy = new Response(r.body, r);
    copy.headers.set('x-mine', '1');
    return [copy.headers.get('x-mine'), copy.status, await copy.text()];
}, ['1', 200, 'grüße']);
check('redirects are followed', async ({ origin }) => {
    const r = await fetch(`${origin}/redirect?to=/text`);
    return [r.status, r.redirected, r.url.replace(origin, ''), await r.text()];
}, [200, true, '/text', 'grüße']);
check('redirect: manual', async ({ origin }) => {
    const r = await fetch(`${origin}/redirect?to=/text`, { redirect: 'manual' });
    return [r.status, r.redirected, r.headers.get('location'), await r.text()];
}, [302, false, '/text', 'moved']);
check('a POST that is redirected by 302 becomes a GET', ({ origin }) => json(fetch(`${origin}/redirect?to=/echo`, { method: 'POST', body: 'x' })),
    { method: 'GET', path: '/echo', headers: { 'content-type': 'text/plain;charset=UTF-8' }, body: '' },
    { celld: { method: 'GET', path: '/echo', headers: {}, body: '' }, why: 'Fetch standard: the headers that describe a body go with it; workerd keeps them' });
check('a POST that is redirected by 307 stays one', ({ origin }) => json(fetch(`${origin}/redirect?code=307&to=/echo`, { method: 'POST', body: 'x' })),
    { method: 'POST', path: '/echo', headers: { 'content-type': 'text/plain;charset=UTF-8' }, body: 'x' });
check('303 becomes a GET', async ({ origin }) => (await json(fetch(`${origin}/redirect?code=303&to=/echo`, { method: 'PUT', body: 'x' }))).method, 'GET');
check('twenty redirects', async ({ origin }) => (await fetch(`${origin}/hops?left=20`)).text(), 'arrived');
check('endless redirects', ({ origin }) => caught(fetch(`${origin}/around`)), 'TypeError');
check('a location that is no URL', ({ origin }) => caught(fetch(`${origin}/redirect?to=http://[`)), 'TypeError');
for (const encoding of ['gzip', 'br']) {
    check(`${encoding} is decoded`, async ({ origin }) => {
        const r = await fetch(`${origin}/${encoding}`);
        const body = await r.text();
        return [r.headers.get('content-encoding'), body.length, body.slice(0, 9)];
    }, [encoding, 900, 'unpacked ']);
}
check('a body in chunks', async ({ origin }) => (await fetch(`${origin}/chunks?count=3`)).text(), 'chunk 2;chunk 1;chunk 0;');
check('chunks come as they are sent', async ({ origin }) => (await drain((await fetch(`${origin}/chunks?count=4`)).body)).length > 1, true);
check('a body of 2 MiB', async ({ origin }) => (await (await fetch(`${origin}/big?size=2097152`)).arrayBuffer()).byteLength, 2097152);
check('a stream goes out in chunks', ({ origin }) => json(fetch(`${origin}/framing`, { method: 'POST', body: streamOf('a', 'b', 'c') })), [null, 'chunked', 3]);
check('a string goes out with its length', ({ origin }) => json(fetch(`${origin}/framing`, { method: 'POST', body: 'four' })), ['4', null, 4]);
check('POST without a body has length 0', ({ origin }) => json(fetch(`${origin}/framing`, { method: 'POST' })), ['0', null, 0]);
check('FixedLengthStream goes out with its length', async ({ origin }) => {
    const { readable, writable } = new FixedLengthStream(5);
    const writer = writable.getWriter();
    const sent = writer.write(utf8('fives')).then(() => writer.close());
    const seen = await json(fetch(`${origin}/framing`, { method: 'POST', body: readable }));
    await sent;
    return seen;
}, ['5', null, 5]);
check('an upload of 1 MiB arrives whole', async ({ origin }) => {
    const data = new Uint8Array(1 << 20).map((_, i) => i * 7);
    const digest = Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', data)), (b) => b.toString(16).padStart(2, '0')).join('');
    return (await (await fetch(`${origin}/digest`, { method: 'POST', body: data })).text()) === `${data.length} ${digest}`;
}, true);
check('FormData goes out as multipart', async ({ origin }) => {
    const form = new FormData();
    form.append('a', '1');
    const { headers, body } = await json(fetch(`${origin}/echo`, { method: 'POST', body: form }));
    const boundary = headers['content-type'].split('boundary=')[1].replaceAll('"', '');
    return [headers['content-type'].split(';')[0], body.includes(boundary), body.includes('name="a"\r\n\r\n1\r\n')];
}, ['multipart/form-data', true, true]);
check('multipart comes in as FormData', async ({ origin }) => {
    const form = await (await fetch(`${origin}/multipart`)).formData();
    const file = form.get('f');
    return [form.get('a'), file.name, file.type, await file.text()];
}, ['1', 'x.txt', 'text/plain', 'file']);
check('a refused connection', async () => caught(fetch('http://127.0.0.1:1/')), 'Error');
check('a connection that breaks before the answer', ({ origin }) => message(fetch(`${origin}/hangup`)), 'Error: Network connection lost.');
check('a body that breaks off', async ({ origin }) => caught((await fetch(`${origin}/broken`)).text()), 'Error');
check('an unknown scheme', () => message(fetch('gopher://example.com/')), 'TypeError: Fetch API cannot load: gopher://example.com/');
check('a relative URL', () => caught(fetch('/relative')), 'TypeError');
check('fetch without arguments rejects', () => caught(() => fetch()), 'TypeError');
check('a GET with a body', ({ origin }) => caught(fetch(`${origin}/echo`, { body: 'x' })), 'TypeError');
check('a signal that is aborted already', ({ origin }) => message(fetch(`${origin}/text`, { signal: AbortSignal.abort(new RangeError('enough')) })), 'RangeError: enough');
check('abort while waiting for the answer', async ({ origin }) => {
    const controller = new AbortController();
    const pending = fetch(`${origin}/never`, { signal: controller.signal });
    setTimeout(() => controller.abort(), 10);
    return caught(pending);
}, 'AbortError');
check('abort while reading the body', async ({ origin }) => {
    const controller = new AbortController();
    const r = await fetch(`${origin}/chunks?count=1000`, { signal: controller.signal });
    const reader = r.body.getReader();
    await reader.read();
    controller.abort();
    return caught((async () => { while (!(await reader.read()).done); })());
}, 'AbortError');
check('AbortSignal.timeout', ({ origin }) => caught(fetch(`${origin}/never`, { signal: AbortSignal.timeout(10) })), 'TimeoutError');
check('several at once', async ({ origin }) => Promise.all([30, 10, 20].map(async (ms) => (await fetch(`${origin}/slow?ms=${ms}`)).text())), ['late', 'late', 'late']);
check('a body that is not wanted', async ({ origin }) => {
    const r = await fetch(`${origin}/big?size=1000000`);
    await r.body.cancel();
    return [(await fetch(`${origin}/text`)).status, r.bodyUsed];
}, [200, true]);
check('an answer is read twice through clone', async ({ origin }) => {
    const r = await fetch(`${origin}/text`);
    const copy = r.clone();
    return [await r.text(), await copy.text()];
}, ['grüße', 'grüße']);
check('a header of the user wins', async ({ origin }) => (await json(fetch(`${origin}/echo`, { headers: { accept: 'x/y', 'user-agent': 'me', 'x-z': '1' } }))).headers, { 'x-z': '1' });
check('an inbound request is sent on', async ({ request, origin }) => {
    const seen = await json(fetch(`${origin}/echo`, request));
    return [seen.method, seen.headers['x-mine'], seen.body];
}, ['POST', 'kept', 'along'], { request: { method: 'POST', headers: { 'x-mine': 'kept' }, body: 'along' } });
check('HEAD', async ({ origin }) => {
    const r = await fetch(`${origin}/text`, { method: 'HEAD' });
    return [r.status, await r.text()];
}, [200, '']);
check('fetch is a function', () => [fetch.name, typeof globalThis.fetch], ['fetch', 'function']);
answer('a response is passed on', (request, env) => fetch(`${env.ORIGIN}/text`), { status: 200, body: 'grüße', headers: { 'content-type': 'text/plain; charset=utf-8' } });
answer('a passed on stream', (request, env) => fetch(`${env.ORIGIN}/chunks?count=2`), { status: 200, body: 'chunk 1;chunk 0;' });
answer('a decoded body is passed on', async (request, env) => {
    const r = await fetch(`${env.ORIGIN}/gzip`);
    return new Response(await text(r.body));
}, { status: 200, body: 'unpacked '.repeat(100) });
answer('fetch in waitUntil', async (request, env, ctx) => {
    ctx.waitUntil(sleep(1).then(() => fetch(`${env.ORIGIN}/text`)).then((r) => r.text()));
    return new Response('at once');
}, { status: 200, body: 'at once' });
check('values of headers beyond ASCII, sent', async ({ origin }) => {
    const { headers } = await json(fetch(`${origin}/echo`, { headers: { 'x-latin': 'caf\u00e9', 'x-wide': '\u4e16 \u{1f600}' } }));
    return [headers['x-latin'], headers['x-wide']].map((bytes) => new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
}, ['caf\u00e9', '\u4e16 \u{1f600}']);
check('values of headers beyond ASCII, received', async ({ origin }) => {
    const { headers } = await fetch(`${origin}/wide`);
    return [headers.get('x-utf'), headers.get('x-byte')];
}, ['gr\u00fc\u00dfe \u4e16', 'caf\ufffd']);
check('connect() looks at addresses and options at once', () => {
    const at = (address, options) => caught(() => {
        const socket = connect(address, options);
        socket.opened.catch(() => {});
        socket.closed.catch(() => {});
    });
    const hostname = '127.0.0.1';
    const ports = [65536, 99999, -1, NaN, 'x', undefined, '1', null].map((port) => at({ hostname, port }));
    const options = [null, 'x', 5, { secureTransport: 'maybe' }, { highWaterMark: -1 }, { highWaterMark: 'x' }, { allowHalfOpen: 'x' }].map((value) => at('127.0.0.1:1', value));
    const addresses = ['127.0.0.1', '127.0.0.1:99999', '', null, { hostname: 'a b', port: 1 }, { hostname: 'a'.repeat(300), port: 1 }, { hostname: '[::1]', port: 1 }].map((value) => at(value));
    return [ports, options, addresses].map((list) => list.map((name) => (name === 'TypeError' ? 'x' : name === 'nothing was thrown' ? '-' : name)).join(' '));
}, ['x x x x x x - -', 'x x x x x x -', 'x x x x x x -']);
check('a redirect to another origin', async ({ origin }) => {
    const other = `${origin.replace('127.0.0.1', 'localhost')}/echo`;
    const { headers } = await json(fetch(`${origin}/redirect?to=${encodeURIComponent(other)}`, { headers: { cookie: 'a=1', authorization: 'Basic x', 'x-other': 'y' } }));
    return headers;
}, { cookie: 'a=1', 'x-other': 'y' }, { celld: { 'x-other': 'y' }, why: 'runtime.md 5.1: a redirect to another origin drops Cookie, too; workerd drops Authorization alone' });
check('what servers are told of the way', async ({ origin }) => (await fetch(`${origin}/loops`)).text(), 'none',
    { celld: 'celld; loops=1', why: 'RFC 8586: CDN-Loop says how often a request has come through Workers, so that one which fetches its own address ends' });
