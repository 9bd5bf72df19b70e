// URLPattern.
import { equal, ok, run, same, test, throws } from 'harness.js';

const COMPONENTS = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];
const shown = (p) => COMPONENTS.map((name) => p[name]).join(' ');

test('names, wildcards, groups', () => {
    const p = new URLPattern({ pathname: '/books/:id(\\d+)/:rest*' });
    equal(shown(p), '* * * * * /books/:id(\\d+)/:rest* * *');
    same(p.exec('https://h/books/42/a/b').pathname, { input: '/books/42/a/b', groups: { id: '42', rest: 'a/b' } });
    same([p.test('https://h/books/x'), p.test('https://h/books/42'), p.hasRegExpGroups], [false, true, true]);
    const groups = new URLPattern('/:x{.:ext}?', 'https://h').exec('https://h/name').pathname.groups;
    same([groups.x, 'ext' in groups, groups.ext], ['name', true, undefined]);
});

test('a pattern of a whole URL', () => {
    const p = new URLPattern('https://:sub.example.com:8080/a/*\\?q=:q#*');
    equal(shown(p), 'https * * :sub.example.com 8080 /a/* q=:q *');
    const m = p.exec('https://www.example.com:8080/a/b/c?q=1#h');
    same([m.hostname.groups, m.pathname.groups, m.search.groups, m.hash.groups, m.inputs], [{ sub: 'www' }, { 0: 'b/c' }, { q: '1' }, { 0: 'h' }, ['https://www.example.com:8080/a/b/c?q=1#h']]);
    equal(p.test('https://a.b.example.com:8080/a/?q=1'), false);
    equal(shown(new URLPattern('https://example.com/foo')), 'https * * example.com  /foo * *');
    equal(shown(new URLPattern('http{s}?://*.example.com')), 'http{s}? * * *.example.com  * * *');
    equal(shown(new URLPattern('data\\:foobar')), 'data * *   foobar * *');
    equal(shown(new URLPattern('https://u\\:p@h/')), 'https u p h  / * *');
    equal(shown(new URLPattern('https://[\\:\\:1]:1/')), 'https * * [\\:\\:1] 1 / * *');
    equal(shown(new URLPattern('https://h/path?x')), 'https * * h  /path x *');
    equal(shown(new URLPattern('https://h/path{:x}?#y')), 'https * * h  /path:x?  y');
});

test('bases', () => {
    equal(shown(new URLPattern('/foo', 'https://h:99/bar?q#f')), 'https * * h 99 /foo * *');
    equal(shown(new URLPattern('?x=*', 'https://h/bar')), 'https * * h  /bar x=* *');
    equal(shown(new URLPattern({ pathname: 'c', baseURL: 'https://h/a/b*' })), 'https * * h  /a/c * *');
    ok(new URLPattern({ pathname: '/x' }).test('/x', 'https://h'), 'a base of the input');
    throws(() => new URLPattern('/foo'), 'TypeError');
    throws(() => new URLPattern('/foo', 'nope'), 'TypeError');
    throws(() => new URLPattern({}, 'https://h'), 'TypeError');
    equal(new URLPattern({ pathname: '/x' }).test('/x'), false);
    throws(() => new URLPattern({ pathname: '/x' }).test({ pathname: '/x' }, 'https://h'), 'TypeError');
});

test('components in the form of URLs', () => {
    equal(new URLPattern({ protocol: 'HTTPS:' }).protocol, 'https');
    equal(new URLPattern({ hostname: 'ÜNI.com' }).hostname, 'xn--ni-wka.com');
    equal(new URLPattern({ pathname: '/ü /a' }).pathname, '/%C3%BC%20/a');
    equal(new URLPattern({ search: '?ä' }).search, '%C3%A4');
    equal(new URLPattern({ protocol: 'http', port: '80' }).port, '');
    equal(new URLPattern({ port: '8080' }).port, '8080');
    ok(new URLPattern({ pathname: '/a/b' }).test('https://h/a/c/../b'), 'dots');
    ok(new URLPattern({ protocol: 'javascript', pathname: 'var x = 1;' }).test('javascript:var x = 1;'), 'opaque');
    for (const bad of [{ hostname: 'a b' }, { port: 'x' }, { protocol: '://' }, { hostname: '[xyz]' }]) throws(() => new URLPattern(bad), 'TypeError');
});

test('what is no pattern', () => {
    for (const pathname of ['/(', '/(a(b))', '/:', '/:a:a', '/:a/:a', '/{a', '/a}', '/(?x)', '/\\', '/(ä)', '/([)', '/a**?']) throws(() => new URLPattern({ pathname }), 'TypeError');
});

test('case', () => {
    equal(new URLPattern({ pathname: '/Foo' }).test('https://h/foo'), false);
    ok(new URLPattern({ pathname: '/Foo' }, { ignoreCase: true }).test('https://h/foo'), 'ignored');
    ok(new URLPattern('/Foo', 'https://h', { ignoreCase: true }).test('https://h/fOO'), 'ignored with a base');
});

test('texts say what was meant', () => {
    const text = (pathname) => new URLPattern({ pathname }).pathname;
    same(['/:a/b', '/{:a}b', '/:a(.*)', '/(.*)', '/*', '/{a}?', '/a\\:b', '{/:x}', '/:a.', '/{:a}(b)', '/x{y}', '/:foo*'].map(text),
        ['/:a/b', '/{:a}b', '/:a(.*)', '/*', '/*', '/{a}?', '/a\\:b', '/:x', '/:a.', '/{:a}(b)', '/xy', '/:foo*']);
});

test('any URL', () => {
    const p = new URLPattern();
    ok(p.test('https://h/') && p.test('mailto:x'), 'everything');
    same(p.exec({}).inputs, [{}]);
    equal(Object.prototype.toString.call(p), '[object URLPattern]');
});

export default run;
