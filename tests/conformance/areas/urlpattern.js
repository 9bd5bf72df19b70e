import { caught, check } from '../case.js';

const groups = (pattern, input) => new URLPattern(pattern).exec(input)?.pathname.groups ?? null;

check('a named group', () => groups({ pathname: '/books/:id' }, 'https://x.example/books/12'), { id: '12' });
check('no match', () => [new URLPattern({ pathname: '/a' }).test('https://x.example/b'), new URLPattern({ pathname: '/a' }).exec('https://x.example/b')], [false, null]);
check('a wildcard', () => groups({ pathname: '/files/*' }, 'https://x.example/files/a/b'), { 0: 'a/b' });
check('a regular expression', () => [groups({ pathname: '/:n(\\d+)' }, 'https://x.example/12'), groups({ pathname: '/:n(\\d+)' }, 'https://x.example/ab')], [{ n: '12' }, null]);
check('modifiers', () => ['/a', '/a/b', '/a/b/c', '/'].map((path) => new URLPattern({ pathname: '/:x?/:y*' }).test(`https://e.example${path}`)), [true, true, true, false]);
check('a string pattern', () => {
    const p = new URLPattern('https://*.example.com/:page');
    return [p.protocol, p.hostname, p.pathname, p.test('https://a.example.com/x'), p.test('http://a.example.com/x')];
}, ['https', '*.example.com', '/:page', true, false]);
check('a pattern and its base', () => new URLPattern('/:x', 'https://example.com').exec('https://example.com/y').pathname.groups, { x: 'y' });
check('a dictionary as input', () => new URLPattern({ pathname: '/:a' }).exec({ pathname: '/b' }).pathname.groups, { a: 'b' });
check('all parts of a match', () => {
    const m = new URLPattern({ search: 'q=:q' }).exec('https://h.example:81/p?q=1#f');
    return [m.protocol.input, m.hostname.input, m.port.input, m.pathname.input, m.search.groups, m.hash.input, m.inputs];
}, ['https', 'h.example', '81', '/p', { q: '1' }, 'f', ['https://h.example:81/p?q=1#f']]);
check('ignoreCase', () => [new URLPattern({ pathname: '/Ab' }, { ignoreCase: true }).test('https://x.example/aB'), new URLPattern({ pathname: '/Ab' }).test('https://x.example/aB')], [true, false]);
check('hasRegExpGroups', () => [new URLPattern({ pathname: '/:a' }).hasRegExpGroups, new URLPattern({ pathname: '/(a|b)' }).hasRegExpGroups], [false, true]);
check('patterns that cannot be', () => [caught(() => new URLPattern({ pathname: '/:a/:a' })), caught(() => new URLPattern({ pathname: '/(' })), caught(() => new URLPattern('/relative'))], ['TypeError', 'TypeError', 'TypeError']);
check('a group that is not there', () => {
    const g = groups({ pathname: '/a/:b?' }, 'https://x.example/a');
    return ['b' in g, g.b];
}, [true, undefined]);
check('the class', () => [URLPattern.name, Object.prototype.toString.call(new URLPattern({}))], ['URLPattern', '[object URLPattern]']);
