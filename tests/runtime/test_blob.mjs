// Blob and File.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

test('parts of every kind', async () => {
    const b = new Blob(['é', Uint8Array.of(33), new Blob(['blob']), Uint16Array.of(0x4241).buffer, 12, null, { toString: () => 'o' }]);
    equal(await b.text(), 'é!blobAB12nullo');
    equal(b.size, 16);
    equal(b.type, '');
    equal(new Blob().size, 0);
    equal(await new Blob(new Set(['a', 'b'])).text(), 'ab');
    equal(await new Blob(['\ud800']).text(), '\ufffd');
    for (const bad of ['x', 1, null, {}]) throws(() => new Blob(bad), 'TypeError');
    throws(() => new Blob([Symbol()]), 'TypeError');
    throws(() => Blob(), 'TypeError');
});

test('types are normalised', () => {
    for (const [type, want] of [['FoO/bAr', 'foo/bar'], ['a\u0019b', ''], ['\u0080', ''], [null, 'null'], [undefined, '']]) {
        equal(new Blob([], { type }).type, want);
        equal(new File([], 'f', { type }).type, want);
        equal(new Blob([]).slice(0, 0, type).type, want);
    }
    throws(() => new Blob([], { endings: 'native' }), 'TypeError', "The 'endings' field on 'Options' is not implemented.");
    throws(() => new Blob([], 'x'), 'TypeError');
});

test('limits', () => {
    const big = new Blob([new ArrayBuffer(128 << 20)]);
    throws(() => new Blob([' ', big]), 'RangeError', 'Blob size 134217729 exceeds limit 134217728');
    throws(() => new Blob([new ArrayBuffer(1, { maxByteLength: 2 })]), 'TypeError', 'Cannot create a Blob with a resizable ArrayBuffer');
});

test('slices', async () => {
    const b = new Blob(['0123456789'], { type: 'a/b' });
    for (const [args, want] of [[[], '0123456789'], [[2], '23456789'], [[2, 4], '23'], [[-3], '789'], [[-3, -1], '78'], [[4, 2], ''], [[20], ''], [[0, 1e20], '0123456789'], [[NaN, 1.9], '0']]) {
        equal(await b.slice(...args).text(), want, String(args));
    }
    equal(b.slice(1).type, '');
    equal(b.slice(1, 2, 'C/D').type, 'c/d');
    equal(await b.slice(2, 8).slice(1, 3).text(), '34');
});

test('what leaves is a copy', async () => {
    const source = Uint8Array.of(1, 2, 3);
    const b = new Blob([source]);
    source[0] = 9;
    (await b.bytes())[1] = 9;
    new Uint8Array(await b.arrayBuffer())[2] = 9;
    for await (const chunk of b.stream()) chunk[0] = 9;
    same([...(await b.bytes())], [1, 2, 3]);
    equal((await b.slice(1).arrayBuffer()).byteLength, 2);
});

test('text', async () => {
    equal(await new Blob([Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xff)]).text(), 'a\ufffd');
    await rejects(() => Blob.prototype.text.call({}), 'TypeError');
});

test('streams of large blobs come in pieces', async () => {
    const bytes = new Uint8Array(200000).map((_, i) => i);
    const chunks = [];
    for await (const chunk of new Blob([bytes]).stream()) chunks.push(chunk);
    ok(chunks.length > 1);
    same([...new Uint8Array(await new Blob(chunks).arrayBuffer())].length, 200000);
    const reader = new Blob(['abc']).stream().getReader({ mode: 'byob' });
    same([...(await reader.read(new Uint8Array(2))).value], [97, 98]);
    same([...(await reader.read(new Uint8Array(2))).value], [99]);
    equal((await reader.read(new Uint8Array(2))).done, true);
});

test('files', async () => {
    const f = new File(['a', 'b'], 'n\ud800', { type: 'X/Y', lastModified: 12.7 });
    ok(f instanceof Blob);
    equal(f.name, 'n\ufffd');
    equal(f.lastModified, 12);
    equal(f.type, 'x/y');
    equal(await f.text(), 'ab');
    equal(f.slice(1) instanceof File, false);
    ok(Math.abs(new File([], 'x').lastModified - Date.now()) < 60000);
    throws(() => new File([]), 'TypeError');
    throws(() => new File('x', 'y'), 'TypeError');
    equal(Object.prototype.toString.call(f), '[object File]');
});

test('bodies', async () => {
    const r = new Response(new Blob(['x'], { type: 'text/x' }));
    equal(r.headers.get('content-type'), 'text/x');
    equal(new Response(new Blob(['x'])).headers.has('content-type'), false);
    const b = await new Response('test', { headers: { 'content-type': 'text/plain, x/y, Text/HTML' } }).blob();
    equal(b.type, 'text/html');
    equal(await b.text(), 'test');
    equal((await new Response('x', { headers: { 'content-type': 'text/html;Charset="a b"' } }).blob()).type, 'text/html;charset="a b"');
});

export default run;
