import { answer, caught, check, message, utf8 } from '../case.js';

check('names are without case, and sorted', () => [...new Headers({ B: '2', a: '1', C: '3' })], [['a', '1'], ['b', '2'], ['c', '3']]);
check('from pairs', () => [...new Headers([['a', '1'], ['A', '2']])], [['a', '1, 2']]);
check('from another', () => {
    const first = new Headers({ a: '1' });
    const second = new Headers(first);
    second.set('a', '2');
    return [first.get('a'), second.get('a')];
}, ['1', '2']);
check('from a Map and a generator', () => [[...new Headers(new Map([['x', '1']]))], [...new Headers((function* () { yield ['y', '2']; })())]], [[['x', '1']], [['y', '2']]]);
check('pairs that are none', () => [caught(() => new Headers([['a']])), caught(() => new Headers([['a', 'b', 'c']])), caught(() => new Headers('a: b'))], ['TypeError', 'TypeError', 'TypeError']);
check('append, get, has, delete, set', () => {
    const h = new Headers();
    h.append('X', '1');
    h.append('x', '2');
    const seen = [h.get('x'), h.has('X'), h.get('none'), h.has('none')];
    h.set('X', '3');
    seen.push(h.get('x'));
    h.delete('x');
    return [...seen, h.has('x')];
}, ['1, 2', true, null, false, '3', false]);
check('values lose the space around them', () => new Headers({ a: '  b c\t' }).get('a'), 'b c');
check('values become strings', () => [...new Headers({ a: 1, b: null, c: undefined, d: true })], [['a', '1'], ['b', 'null'], ['c', 'undefined'], ['d', 'true']]);
check('an empty value', () => new Headers({ a: '' }).get('a'), '');
check('an invalid name', () => ['a b', 'a:', '(x)'].map((name) => caught(() => new Headers([[name, 'x']]))), Array(3).fill('TypeError'));
check('an empty name, and one that is not ASCII', () => ['', 'ä'].map((name) => caught(() => new Headers([[name, 'x']]))), ['nothing was thrown', 'nothing was thrown'],
    { celld: ['TypeError', 'TypeError'], why: 'Fetch standard: a name is a token of at least one ASCII character; workerd takes both' });
check('an invalid value', () => ['a\nb', 'a\rb', 'a\0b'].map((value) => caught(() => new Headers({ a: value }))), Array(3).fill('TypeError'));
check('cookies stay apart', () => {
    const h = new Headers([['set-cookie', 'a=1'], ['Set-Cookie', 'b=2']]);
    return [h.getSetCookie(), [...h], h.get('set-cookie'), h.getAll('set-cookie')];
}, [['a=1', 'b=2'], [['set-cookie', 'a=1'], ['set-cookie', 'b=2']], 'a=1, b=2', ['a=1', 'b=2']]);
check('getAll is for set-cookie', () => caught(() => new Headers().getAll('x')), 'TypeError');
check('set replaces all cookies', () => {
    const h = new Headers([['set-cookie', 'a=1'], ['set-cookie', 'b=2']]);
    h.set('set-cookie', 'c=3');
    return h.getSetCookie();
}, ['c=3']);
check('iterators', () => {
    const h = new Headers({ a: '1', b: '2' });
    return [[...h.keys()], [...h.values()], [...h.entries()], [...h[Symbol.iterator]()]];
}, [['a', 'b'], ['1', '2'], [['a', '1'], ['b', '2']], [['a', '1'], ['b', '2']]]);
check('forEach', () => {
    const seen = [];
    const h = new Headers({ b: '2', a: '1' });
    h.forEach(function (value, name, all) { seen.push(name, value, all === h, this.mark); }, { mark: 7 });
    return seen;
}, ['a', '1', true, 7, 'b', '2', true, 7]);
check('missing arguments', () => {
    const h = new Headers();
    return [caught(() => h.get()), caught(() => h.set('a')), caught(() => h.append('a')), caught(() => h.has()), caught(() => h.delete())];
}, Array(5).fill('TypeError'));
check('methods need a Headers', () => caught(() => Headers.prototype.get.call({}, 'a')), 'TypeError');
check('the class', () => [String(new Headers()), Object.keys(new Headers({ a: '1' }))], ['[object Headers]', []]);
check('null as init', () => caught(() => new Headers(null)), 'TypeError');
check('characters up to U+00FF', () => new Headers({ a: 'é\u00ff' }).get('a'), 'é\u00ff');
check('names of every token character', () => new Headers({ "!#$%&'*+-.^_`|~09az": 'x' }).get("!#$%&'*+-.^_`|~09AZ"), 'x');

answer('own fields reach the client', () => new Response('x', { headers: { 'X-Custom': 'value', 'Cache-Control': 'no-store' } }), { headers: { 'x-custom': 'value', 'cache-control': 'no-store' } });
answer('fields given twice', () => new Response('x', { headers: [['x-a', '1'], ['x-a', '2']] }), { headers: { 'x-a': '1 | 2' } });
answer('all fields of a request can be listed', (request) => new Response([...request.headers.keys()].filter((name) => name.startsWith('x-')).join()), { body: 'x-a,x-b,x-case' },
    { request: { headers: { 'X-B': '1', 'X-A': '2' } }, celld: { body: 'x-a,x-b,x-case,x-real-ip' }, why: 'runtime.md 5.1: every request says in CF-Connecting-IP and X-Real-IP where it comes from, as on Cloudflare; workerd by itself sets neither' });
answer('a cookie field of a request', (request) => new Response(request.headers.get('cookie')), { body: 'a=1; b=2' }, { request: { headers: { cookie: 'a=1; b=2' } } });
answer('hop-by-hop fields are not sent on', () => new Response('x', { headers: { 'keep-alive': 'timeout=99', 'x-a': '1' } }), { status: 200, body: 'x', headers: { 'x-a': '1' } });
check('messages of invalid names and values', () => [message(() => new Headers([['a b', 'x']])), message(() => new Headers([['a', 'x\ny']]))], ['TypeError: Invalid header name.', 'TypeError: Invalid header value.']);
// The client of the cases takes each byte for a character.
const onTheWire = (text) => String.fromCharCode(...utf8(text));
answer('values beyond ASCII leave as UTF-8', () => new Response('x', { headers: { 'X-Latin': 'caf\u00e9', 'X-Wide': '\u4e16 \u{1f600}' } }),
    { headers: { 'x-latin': onTheWire('caf\u00e9'), 'x-wide': onTheWire('\u4e16 \u{1f600}') } });
answer('a status text beyond ASCII leaves as UTF-8', () => new Response('x', { statusText: 'gr\u00fcn' }), { statusText: onTheWire('gr\u00fcn') });
check('values that come in are UTF-8', ({ request }) => [request.headers.get('x-wide'), request.headers.get('x-byte')], ['gr\u00fc\u00df \u4e16', 'caf\ufffd'],
    { request: { headers: { 'x-wide': onTheWire('gr\u00fc\u00df \u4e16'), 'x-byte': 'caf\u00e9' } } });
