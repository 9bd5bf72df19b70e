import { caught, check } from '../case.js';

const parts = (u) => [u.protocol, u.username, u.password, u.host, u.port, u.pathname, u.search, u.hash];

check('parts of a URL', () => parts(new URL('https://me:pw@Example.COM:8443/a/./b/../c?q=1#f')), ['https:', 'me', 'pw', 'example.com:8443', '8443', '/a/c', '?q=1', '#f']);
check('relative to a base', () => ['x', '../x', '/x', '//h/x', '?q', '#f', ''].map((u) => new URL(u, 'http://a/b/c/d?e#g').href),
    ['http://a/b/c/x', 'http://a/b/x', 'http://a/x', 'http://h/x', 'http://a/b/c/d?q', 'http://a/b/c/d?e#f', 'http://a/b/c/d?e']);
check('default ports vanish', () => [new URL('http://a:80/').href, new URL('https://a:443/').port, new URL('https://a:80/').port], ['http://a/', '', '80']);
check('setters', () => {
    const u = new URL('http://a/b');
    u.protocol = 'https';
    u.host = 'h:1';
    u.pathname = 'x y';
    u.search = 'q=ä';
    u.hash = 'f';
    u.username = 'u:';
    return u.href;
}, 'https://u%3A@h:1/x%20y?q=%C3%A4#f');
check('setters ignore what cannot be', () => {
    const u = new URL('http://a/');
    u.port = '99999';
    u.host = '';
    u.protocol = 'nope:';
    return u.href;
}, 'http://a/');
check('href cannot become invalid', () => {
    const u = new URL('http://a/');
    return [caught(() => { u.href = 'nonsense'; }), u.href];
}, ['TypeError', 'http://a/']);
check('invalid URLs', () => ['', 'no scheme', 'http://', 'http://a b/', 'http://[::1', 'http://a:99999/', 'http://%zz/'].map((u) => caught(() => new URL(u))), Array(7).fill('TypeError'));
check('canParse and parse', () => [URL.canParse('http://a'), URL.canParse('a'), URL.canParse('a', 'http://b'), URL.parse('a'), URL.parse('a', 'http://b/').href], [true, false, true, null, 'http://b/a']);
check('origin', () => ['https://a:443/x', 'http://a:8080', 'blob:https://a/id', 'data:,x', 'file:///x'].map((u) => new URL(u).origin), ['https://a', 'http://a:8080', 'https://a', 'null', 'null']);
check('internationalised hosts', () => [new URL('http://bücher.example/ü').href, new URL('http://日本.jp').host], ['http://xn--bcher-kva.example/%C3%BC', 'xn--wgv71a.jp']);
check('IPv4 and IPv6 hosts', () => ['http://127.1/', 'http://0x7f.0.0.1/', 'http://[::ffff:1.2.3.4]/', 'http://[0:0::1]:8/'].map((u) => new URL(u).host), ['127.0.0.1', '127.0.0.1', '[::ffff:102:304]', '[::1]:8']);
check('other schemes', () => [parts(new URL('mailto:a@b')), parts(new URL('data:text/plain,a#b'))], [['mailto:', '', '', '', '', 'a@b', '', ''], ['data:', '', '', '', '', 'text/plain,a', '', '#b']]);
check('toString, toJSON, JSON', () => {
    const u = new URL('http://a');
    return [String(u), u.toJSON(), JSON.stringify({ u }), Object.prototype.toString.call(u)];
}, ['http://a/', 'http://a/', '{"u":"http://a/"}', '[object URL]']);
check('searchParams and search follow each other', () => {
    const u = new URL('http://a/?x=1');
    const { searchParams } = u;
    searchParams.append('y', '2 3');
    const first = u.search;
    u.search = '?z=9';
    return [first, searchParams.get('z'), searchParams.get('x'), u.searchParams === searchParams];
}, ['?x=1&y=2+3', '9', null, true]);
check('the query vanishes with its last parameter', () => {
    const u = new URL('http://a/?x=1');
    u.searchParams.delete('x');
    return u.href;
}, 'http://a/');
check('tabs and newlines are removed', () => new URL('ht\ntp://a/b\tc').href, 'http://a/bc');
check('createObjectURL', () => caught(() => URL.createObjectURL(new Blob([]))), 'Error');

check('URLSearchParams from what', () => [
    new URLSearchParams('?a=1&b=2'), new URLSearchParams([['a', '1'], ['a', '2']]), new URLSearchParams({ a: '1', b: 'ü' }), new URLSearchParams(new URLSearchParams('x=y')), new URLSearchParams(),
].map(String), ['a=1&b=2', 'a=1&a=2', 'a=1&b=%C3%BC', 'x=y', '']);
check('get, getAll, has, size', () => {
    const p = new URLSearchParams('a=1&a=2&b');
    return [p.get('a'), p.getAll('a'), p.get('b'), p.get('c'), p.has('b'), p.has('c'), p.size];
}, ['1', ['1', '2'], '', null, true, false, 3]);
check('has and delete with a value', () => {
    const p = new URLSearchParams('a=1&a=2');
    const seen = [p.has('a', '2'), p.has('a', '3')];
    p.delete('a', '1');
    return [...seen, String(p)];
}, [true, false, 'a=2']);
check('set keeps the first place', () => {
    const p = new URLSearchParams('a=1&b=2&a=3');
    p.set('a', '9');
    p.set('c', '1');
    return String(p);
}, 'a=9&b=2&c=1');
check('sort is stable and by code units', () => {
    const p = new URLSearchParams('z=1&a=2&z=0&\ufb03=4&\ud83c\udf08=5');
    p.sort();
    return [...p].map(([name, value]) => name + value);
}, ['a2', 'z1', 'z0', '\ud83c\udf085', '\ufb034']);
check('escapes of forms', () => String(new URLSearchParams([['a b', "*-._~!'()&=+"]])), 'a+b=*-._%7E%21%27%28%29%26%3D%2B');
check('percent decoding', () => [...new URLSearchParams('a=%C3%BC+%zz&%62=%')], [['a', 'ü %zz'], ['b', '%']]);
check('iterators and forEach', () => {
    const p = new URLSearchParams('a=1&b=2');
    const seen = [];
    p.forEach((value, name) => seen.push(name + value));
    return [[...p.keys()], [...p.values()], [...p.entries()], seen];
}, [['a', 'b'], ['1', '2'], [['a', '1'], ['b', '2']], ['a1', 'b2']]);
check('pairs that are none', () => [caught(() => new URLSearchParams([['a']])), caught(() => new URLSearchParams().get()), caught(() => new URLSearchParams().append('a'))], ['TypeError', 'TypeError', 'TypeError']);
check('a URL needs new and an argument', () => [caught(() => URL('http://a')), caught(() => new URL()), caught(() => new URL('a', 'b'))], ['TypeError', 'TypeError', 'TypeError']);
