import { answer, check } from '../case.js';

check('inbound request has method, url and headers', ({ request }) => [request.method, request.url, request.headers.get('x-extra')],
    ['POST', 'http://conformance.test/a/b?c=d', 'yes'], { request: { method: 'POST', path: '/a/b?c=d', headers: { 'x-extra': 'yes' }, body: 'x' } });
answer('hello', () => new Response('hello'), { status: 200, body: 'hello', headers: { 'content-type': 'text/plain;charset=UTF-8' } });
