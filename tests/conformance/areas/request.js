import { answer, caught, check, message } from '../case.js';

const at = (path) => `https://example.com${path}`;
const put = { method: 'PUT', path: '/some/path?x=1&y=%20', headers: { 'x-extra': 'yes', 'content-type': 'text/x-own' }, body: 'payload' };

check('an inbound request has its method, URL and headers', ({ request }) => [request.method, request.url, request.headers.get('X-Extra'), request.headers.get('content-type')],
    ['PUT', 'http://conformance.test/some/path?x=1&y=%20', 'yes', 'text/x-own'], { request: put });
check('the body of an inbound request', async ({ request }) => [request.bodyUsed, await request.text(), request.bodyUsed], [false, 'payload', true], { request: put });
check('an inbound request without a body', async ({ request }) => [request.body, request.bodyUsed, await request.text(), request.bodyUsed], [null, false, '', false]);
check('an inbound body in chunks', async ({ request }) => [request.headers.get('content-length'), await request.text()], [null, 'one two three'],
    { request: { method: 'POST', body: ['one ', 'two ', 'three'] } });
check('headers of an inbound request cannot be changed', ({ request }) => caught(() => request.headers.set('a', 'b')), 'TypeError');
check('the URL is normalised', ({ request }) => request.url, 'http://conformance.test/b/%C3%A9?q=%27', { request: { path: '/a/../b/%C3%A9?q=%27' } });
check('a URL without a query keeps its question mark', ({ request }) => request.url, 'http://conformance.test/p?', { request: { path: '/p?' } });
check('cf of an inbound request is an object', ({ request }) => typeof request.cf, 'object');
check('an inbound signal is not aborted', ({ request }) => [request.signal instanceof AbortSignal, request.signal.aborted], [true, false]);
check('an inbound request is an instance of Request', ({ request }) => [request instanceof Request, request.constructor.name, String(request)], [true, 'Request', '[object Request]']);
check('redirect of an inbound request', ({ request }) => request.redirect, 'manual');

check('a request from a URL', () => {
    const r = new Request(at('/a?b#c'));
    return [r.url, r.method, [...r.headers], r.body, r.redirect, r.bodyUsed];
}, ['https://example.com/a?b#c', 'GET', [], null, 'follow', false]);
check('a request from a URL object', () => new Request(new URL(at('/x y'))).url, 'https://example.com/x%20y');
check('a relative URL is refused', () => caught(() => new Request('/relative')), 'TypeError');
check('methods are upper-cased', () => ['get', 'Post', 'pAtCh', 'DELETE'].map((method) => new Request(at('/'), { method }).method), ['GET', 'POST', 'PATCH', 'DELETE']);
check('an invalid method', () => message(() => new Request(at('/'), { method: 'NO WAY' })), 'TypeError: Invalid HTTP method string: NO WAY');
check('GET and HEAD take no body', () => ['GET', 'HEAD'].map((method) => caught(() => new Request(at('/'), { method, body: 'x' }))), ['TypeError', 'TypeError']);
check('a request from a request takes what is not given', async () => {
    const first = new Request(at('/'), { method: 'POST', body: 'abc', headers: { a: '1' } });
    const second = new Request(first, { headers: { b: '2' } });
    return [second.method, [...second.headers], await second.text(), first.bodyUsed];
}, ['POST', [['b', '2']], 'abc', true]);
check('a new URL with the parts of another request', async () => {
    const first = new Request(at('/one'), { method: 'POST', body: 'abc', headers: { a: '1' } });
    const second = new Request(at('/two'), first);
    return [second.url, second.method, second.headers.get('a'), await second.text()];
}, ['https://example.com/two', 'POST', '1', 'abc']);
check('clone tees the body', async () => {
    const r = new Request(at('/'), { method: 'POST', body: 'twice' });
    const copy = r.clone();
    return [await r.text(), await copy.text(), copy.method, copy.url === r.url];
}, ['twice', 'twice', 'POST', true]);
check('clone of a used request is refused', async () => {
    const r = new Request(at('/'), { method: 'POST', body: 'x' });
    await r.text();
    return caught(() => r.clone());
}, 'TypeError');
check('headers of a clone are its own', () => {
    const r = new Request(at('/'), { headers: { a: '1' } });
    const copy = r.clone();
    copy.headers.set('a', '2');
    return [r.headers.get('a'), copy.headers.get('a')];
}, ['1', '2']);
check('a signal is followed', () => {
    const controller = new AbortController();
    const r = new Request(at('/'), { signal: controller.signal });
    const before = r.signal.aborted;
    controller.abort();
    return [before, r.signal.aborted];
}, [false, true]);
check('redirect modes', () => ['follow', 'manual', 'error'].map((redirect) => message(() => new Request(at('/'), { redirect }).redirect)).map((m) => m.split(':')[0]),
    ['nothing was thrown', 'nothing was thrown', 'TypeError']);
check('an unknown redirect mode', () => caught(() => new Request(at('/'), { redirect: 'elsewhere' })), 'TypeError');
check('a content type comes from the body', () => [
    new Request(at('/'), { method: 'POST', body: 'x' }), new Request(at('/'), { method: 'POST', body: new URLSearchParams('a=1') }),
    new Request(at('/'), { method: 'POST', body: new Blob(['x'], { type: 'image/png' }) }), new Request(at('/'), { method: 'POST', body: new Uint8Array(1) }),
].map((r) => r.headers.get('content-type')), ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded;charset=UTF-8', 'image/png', null]);
check('a given content type stays', () => new Request(at('/'), { method: 'POST', body: 'x', headers: { 'Content-Type': 'a/b' } }).headers.get('content-type'), 'a/b');
check('duplex is ignored', async () => new Request(at('/'), { method: 'POST', duplex: 'half', body: new Blob(['s']).stream() }).text(), 's');
check('the constructor needs an argument and new', () => [caught(() => new Request()), caught(() => Request(at('/')))], ['TypeError', 'TypeError']);
check('properties are accessors of the prototype', () => {
    const names = ['url', 'method', 'headers', 'body', 'bodyUsed', 'signal', 'redirect', 'cf'];
    return [Object.keys(new Request(at('/'))), names.filter((name) => !(name in Request.prototype))];
}, [[], []]);
answer('methods reach the handler', (request) => new Response(request.method), ['DELETE', 'PATCH', 'OPTIONS', 'POST'].map((method) => ({ status: 200, body: method })),
    { request: ['DELETE', 'PATCH', 'OPTIONS', 'POST'].map((method) => ({ method })) });
answer('header values of several lines are joined', (request) => new Response(request.headers.get('x-list')), { body: 'a, b' }, { request: { headers: { 'x-list': ['a', 'b'] } } });
answer('the handler gets the Host of the request', (request) => new Response(new URL(request.url).host), { body: 'other.example:8080' }, { request: { headers: { host: 'other.example:8080' } } });
check('methods that a fetch cannot have', () => ['CONNECT', 'TRACE', 'TRACK'].map((method) => caught(() => new Request('http://a/', { method }))), ['TypeError', 'nothing was thrown', 'TypeError'],
    { celld: Array(3).fill('TypeError'), why: 'Fetch standard: CONNECT, TRACE and TRACK are forbidden' });
