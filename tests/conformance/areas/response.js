import { answer, caught, check, streamOf, text } from '../case.js';

check('defaults', () => {
    const r = new Response();
    return [r.status, r.statusText, r.ok, r.body, r.bodyUsed, r.redirected, r.url, [...r.headers], r.webSocket];
}, [200, 'OK', true, null, false, false, '', [], null]);
check('status, text and headers', () => {
    const r = new Response('x', { status: 404, statusText: 'Gone fishing', headers: { 'X-A': '1' } });
    return [r.status, r.statusText, r.ok, r.headers.get('x-a')];
}, [404, 'Gone fishing', false, '1']);
check('ok is true for 2xx', () => [200, 204, 299, 300, 404, 500].map((status) => new Response(null, { status }).ok), [true, true, true, false, false, false]);
check('statuses out of range', () => [0, 100, 199, 600, 1000].map((status) => caught(() => new Response(null, { status }))), Array(5).fill('RangeError'));
check('101 needs a WebSocket', () => caught(() => new Response(null, { status: 101 })), 'RangeError');
check('statuses without a body refuse one', () => [204, 205, 304].map((status) => caught(() => new Response('x', { status }))), ['TypeError', 'TypeError', 'TypeError']);
check('statuses without a body take null', () => [204, 205, 304].map((status) => new Response(null, { status }).status), [204, 205, 304]);
check('null as init', () => new Response('x', null).status, 200);
check('init from another response', () => {
    const r = new Response('b', new Response('a', { status: 202, headers: { x: 'y' } }));
    return [r.status, r.headers.get('x')];
}, [202, 'y']);
check('Response.json', async () => {
    const r = Response.json({ a: [1, null, 'ü'] });
    return [r.status, r.headers.get('content-type'), await r.text()];
}, [200, 'application/json', '{"a":[1,null,"ü"]}']);
check('Response.json with init', () => {
    const r = Response.json(1, { status: 201, headers: { 'content-type': 'application/problem+json' } });
    return [r.status, r.headers.get('content-type')];
}, [201, 'application/problem+json']);
check('Response.json of what JSON cannot say', () => [caught(() => Response.json(undefined)), caught(() => Response.json(1n)), caught(() => Response.json(Symbol('s')))],
    ['nothing was thrown', 'TypeError', 'nothing was thrown'], { celld: ['TypeError', 'TypeError', 'TypeError'], why: 'Fetch standard: what JSON.stringify gives undefined for is refused; workerd sends nothing' });
check('Response.redirect', () => {
    const r = Response.redirect('https://example.com/a b', 301);
    return [r.status, r.headers.get('location'), r.body, Response.redirect('https://example.com/').status];
}, [301, 'https://example.com/a%20b', null, 302]);
check('Response.redirect with other statuses', () => [200, 300, 304, 309].map((status) => caught(() => Response.redirect('https://example.com/', status))), Array(4).fill('RangeError'));
check('Response.redirect refuses what is no URL', () => caught(() => Response.redirect('http://[bad')), 'TypeError');
check('Response.error', () => {
    const r = Response.error();
    return [r.type, r.status, r.ok, r.body];
}, ['error', 0, false, null]);
check('the type of a made response', () => new Response('x').type, 'default');
check('clone tees the body', async () => {
    const r = new Response(streamOf('a', 'b'), { status: 201, headers: { x: '1' } });
    const copy = r.clone();
    return [copy.status, copy.headers.get('x'), await text(copy.body), await r.text()];
}, [201, '1', 'ab', 'ab']);
check('clone of a used response is refused', async () => {
    const r = new Response('x');
    await r.text();
    return caught(() => r.clone());
}, 'TypeError');
check('clones have headers of their own', () => {
    const r = new Response('x', { headers: { a: '1' } });
    r.clone().headers.set('a', '2');
    return r.headers.get('a');
}, '1');
check('the class', () => [String(new Response()), Response.name, Response.length, caught(() => Response('x'))], ['[object Response]', 'Response', 0, 'TypeError']);
check('headers can be changed', () => {
    const r = new Response('x', { headers: [['a', '1'], ['a', '2']] });
    r.headers.append('b', '3');
    return [...r.headers];
}, [['a', '1, 2'], ['b', '3'], ['content-type', 'text/plain;charset=UTF-8']]);

answer('a string', () => new Response('grüße'), { status: 200, statusText: 'OK', body: 'grüße', headers: { 'content-type': 'text/plain;charset=UTF-8' } });
answer('bytes have no content type', () => new Response(new Uint8Array([104, 105])), { body: 'hi', headers: { 'content-type': null } });
answer('a stream', () => new Response(streamOf('one ', 'two')), { status: 200, body: 'one two', headers: { 'content-type': null } });
answer('no body', () => new Response(null, { status: 204 }), { status: 204, body: '' });
answer('a status without a reason of its own', () => new Response('x', { status: 599 }), { status: 599, statusText: 'Server Error', body: 'x' });
answer('a reason of its own', () => new Response('x', { status: 200, statusText: 'Fine' }), { status: 200, statusText: 'Fine' });
answer('usual statuses', (request) => new Response('x', { status: Number(request.headers.get('x-status')) }),
    [201, 202, 400, 401, 403, 404, 418, 429, 500, 503].map((status) => ({ status })), { request: [201, 202, 400, 401, 403, 404, 418, 429, 500, 503].map((status) => ({ headers: { 'x-status': String(status) } })) });
answer('several cookies stay apart', () => {
    const r = new Response('x');
    r.headers.append('set-cookie', 'a=1; Path=/');
    r.headers.append('set-cookie', 'b=2');
    return r;
}, { headers: { 'set-cookie': 'a=1; Path=/ | b=2' } });
answer('a redirect', () => Response.redirect('https://example.com/there', 307), { status: 307, headers: { location: 'https://example.com/there' }, body: '' });
answer('HEAD has no body', () => new Response('hidden', { headers: { 'x-a': '1' } }), { status: 200, body: '', headers: { 'x-a': '1' } }, { request: { method: 'HEAD' } });
answer('a promise of a response', () => new Promise((resolve) => setTimeout(resolve, 5, new Response('later'))), { status: 200, body: 'later' });
answer('a thenable of a response', () => ({ then: (resolve) => resolve(new Response('thenable')) }), { status: 200, body: 'thenable' });
answer('a FormData body', () => {
    const form = new FormData();
    form.set('a', '1');
    return new Response(new Response(form).headers.get('content-type').replace(/boundary=.+$/, 'boundary=…'));
}, { body: 'multipart/form-data; boundary=…' });
answer('a chunk of no bytes', () => new Response(streamOf('a', new Uint8Array(0), 'b')), { body: 'ab' });
answer('a slow stream', () => new Response(new ReadableStream({
    async pull(controller) {
        this.n = (this.n ?? 0) + 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (this.n > 3) controller.close();
        else controller.enqueue(new TextEncoder().encode(`${this.n};`));
    },
})), { body: '1;2;3;' });
answer('a body of 200,000 bytes', () => new Response('x'.repeat(200000)), { status: 200, body: 'x'.repeat(200000) });
