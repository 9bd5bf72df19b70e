// URL, URLSearchParams.
import { equal, ok, run, same, test, throws } from 'harness.js';

const parts = (u) => [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash];

test('parts', () => {
    same(parts(new URL('HTTPS://u:p@EXAMPLE.com:8443/a/../b?q=1#h')), ['https://u:p@example.com:8443/b?q=1#h', 'https://example.com:8443', 'https:', 'u', 'p', 'example.com:8443', 'example.com', '8443', '/b', '?q=1', '#h']);
    same(parts(new URL('http://x:80')), ['http://x/', 'http://x', 'http:', '', '', 'x', 'x', '', '/', '', '']);
    same(parts(new URL('mailto:a@b')), ['mailto:a@b', 'null', 'mailto:', '', '', '', '', '', 'a@b', '', '']);
    same(parts(new URL('web+demo:/.//not-a-host/')), ['web+demo:/.//not-a-host/', 'null', 'web+demo:', '', '', '', '', '', '//not-a-host/', '', '']);
    same(parts(new URL('http://u@h/?#')), ['http://u@h/?#', 'http://h', 'http:', 'u', '', 'h', 'h', '', '/', '', '']);
    same(parts(new URL('file:///c:/x')), ['file:///c:/x', 'null', 'file:', '', '', '', '', '', '/c:/x', '', '']);
    equal(new URL('blob:https://a.b/c').origin, 'https://a.b');
    equal(new URL('http://ünï.com/ö?ü#ä').href, 'http://xn--n-nga1b.com/%C3%B6?%C3%BC#%C3%A4');
    equal(new URL('../c?x', 'http://h/a/b/').href, 'http://h/a/c?x');
});

test('what is no URL', () => {
    throws(() => new URL('nope'), 'TypeError', 'Invalid URL string.');
    throws(() => new URL(), 'TypeError');
    throws(() => new URL('/x', 'nope'), 'TypeError');
    throws(() => URL('http://x'), 'TypeError');
    same([URL.canParse('nope'), URL.canParse('nope', 'http://x'), URL.parse('nope'), URL.parse('a', 'http://x/').href], [false, true, null, 'http://x/a']);
    throws(() => URL.createObjectURL(new Blob([])), 'Error', /createObjectURL/);
    throws(() => Object.getOwnPropertyDescriptor(URL.prototype, 'href').get.call({}), 'TypeError');
});

test('setters', () => {
    const u = new URL('http://h/p');
    u.protocol = 'https';
    u.username = 'a b';
    u.password = 'x@';
    u.host = 'other:99';
    u.pathname = 'q r';
    u.search = 's=1';
    u.hash = 'z';
    equal(u.href, 'https://a%20b:x%40@other:99/q%20r?s=1#z');
    u.port = '';
    u.hostname = 'n.example';
    u.port = '70000'; // out of range: stays
    u.hash = '';
    u.search = '';
    equal(u.href, 'https://a%20b:x%40@n.example/q%20r');
    throws(() => (u.href = 'bad'), 'TypeError');
    u.href = 'http://new/';
    equal(JSON.stringify({ u }), '{"u":"http://new/"}');
    equal(`${u}`, 'http://new/');
    throws(() => (u.origin = 'x'), 'TypeError');
});

test('parameters and their URL', () => {
    const u = new URL('http://h/?a=1&b=%20+c#f');
    const p = u.searchParams;
    equal(p, u.searchParams);
    same([...p], [['a', '1'], ['b', '  c']]);
    p.append('d', 'ä&');
    equal(u.href, 'http://h/?a=1&b=++c&d=%C3%A4%26#f');
    p.set('a', '2');
    p.delete('b');
    equal(u.search, '?a=2&d=%C3%A4%26');
    u.search = '?x=y';
    same([...p.keys()], ['x']);
    u.href = 'http://h/?z';
    same([...p], [['z', '']]);
    p.delete('z');
    equal(u.href, 'http://h/');
    equal(u.search, '');
});

test('parameters are made of texts, pairs, records', () => {
    equal(`${new URLSearchParams('?a=b&&c=%zz&=e&f')}`, 'a=b&c=%25zz&=e&f=');
    equal(`${new URLSearchParams([['a', 1], new Set(['b', 2])])}`, 'a=1&b=2');
    equal(`${new URLSearchParams({ a: 'x y', b: '*-._~!\'()' })}`, "a=x+y&b=*-._%7E%21%27%28%29");
    equal(`${new URLSearchParams(new URLSearchParams('q=1'))}`, 'q=1');
    equal(`${new URLSearchParams(null)}`, 'null=');
    equal(`${new URLSearchParams(undefined)}`, '');
    equal(new URLSearchParams('a=%FE%FF%e2%82%ac').get('a'), '\ufffd\ufffd\u20ac');
    equal(new URLSearchParams('a=%EF%BB%BFx').get('a'), '\ufeffx');
    equal(new URLSearchParams({ a: '\ud800' }).get('a'), '\ufffd');
    throws(() => new URLSearchParams([['a']]), 'TypeError');
    throws(() => new URLSearchParams([1]), 'TypeError');
    throws(() => new URLSearchParams({ [Symbol.iterator]: 1 }), 'TypeError');
});

test('asking', () => {
    const p = new URLSearchParams('a=1&a=2&b=3');
    same([p.get('a'), p.get('x'), p.getAll('a'), p.has('a'), p.has('a', '2'), p.has('a', '9'), p.size], ['1', null, ['1', '2'], true, true, false, 3]);
    p.delete('a', '1');
    equal(`${p}`, 'a=2&b=3');
    p.append('a', '0');
    p.sort();
    equal(`${p}`, 'a=2&a=0&b=3');
    const seen = [];
    p.forEach((value, name, of) => seen.push(value, name, of === p));
    same(seen, ['2', 'a', true, '0', 'a', true, '3', 'b', true]);
    for (const name of ['append', 'set']) throws(() => p[name]('a'), 'TypeError');
    for (const name of ['get', 'getAll', 'has', 'delete', 'forEach']) throws(() => p[name](), 'TypeError');
});

test('sorting goes by units of UTF-16', () => {
    const p = new URLSearchParams('\ufffd=1&\ud83c\udf08=2&a=3');
    p.sort();
    same([...p.values()], ['3', '2', '1']);
});

test('an iterator sees what changes', () => {
    const p = new URLSearchParams('a=1&b=2&c=3');
    const seen = [];
    for (const [name] of p) {
        seen.push(name);
        p.delete(name);
    }
    same(seen, ['a', 'c']);
    equal(Object.prototype.toString.call(p.entries()), '[object URLSearchParams Iterator]');
    ok(p[Symbol.iterator] === p.entries, 'entries');
    throws(() => p.entries().next.call({}), 'TypeError');
});

export default run;
