import { bytes, caught, check, text } from '../case.js';

const form = (...pairs) => pairs.reduce((f, [name, ...rest]) => (f.append(name, ...rest), f), new FormData());
const parse = (body, type = 'multipart/form-data; boundary=B') => new Response(body, { headers: { 'content-type': type } }).formData();
const part = (head, body) => `--B\r\n${head}\r\n\r\n${body}\r\n`;

check('a blob of parts', async () => {
    const b = new Blob(['a', bytes(98), bytes(99).buffer, new Blob(['d']), 'ü'], { type: 'Text/Plain' });
    return [b.size, b.type, await b.text()];
}, [6, 'text/plain', 'abcdü']);
check('an empty blob', async () => [new Blob().size, new Blob([]).type, await new Blob().text()], [0, '', '']);
check('slices', async () => {
    const b = new Blob(['0123456789'], { type: 'a/b' });
    return [await b.slice(2, 4).text(), await b.slice(-3).text(), await b.slice(5, 2).text(), b.slice(0, 1).type, b.slice(0, 1, 'X/Y').type, b.slice(0, 99).size];
}, ['23', '789', '', '', 'x/y', 10]);
check('arrayBuffer, bytes, stream', async () => {
    const b = new Blob(['ab']);
    return [await b.arrayBuffer(), await b.bytes(), await text(b.stream())];
}, ['«ArrayBuffer 61 62»', '«Uint8Array 61 62»', 'ab']);
check('a blob keeps what it was made of', async () => {
    const source = bytes(1, 2);
    const b = new Blob([source]);
    source[0] = 9;
    return b.bytes();
}, bytes(1, 2));
check('a view gives its window', () => new Blob([new Uint8Array([1, 2, 3]).subarray(1, 2)]).bytes(), bytes(2));
check('a type with characters that are not allowed', () => new Blob([], { type: 'a/ü' }).type, '');
check('parts must be a sequence', () => [caught(() => new Blob('text')), caught(() => new Blob({})), caught(() => new Blob(1))], ['TypeError', 'TypeError', 'TypeError']);
check('other parts become text', () => new Blob([1, null, {}]).text(), '1null[object Object]');
check('a file', async () => {
    const f = new File(['x'], 'name.txt', { type: 'text/plain', lastModified: 12 });
    return [f.name, f.type, f.lastModified, f.size, f instanceof Blob, await f.text(), String(f)];
}, ['name.txt', 'text/plain', 12, 1, true, 'x', '[object File]']);
check('a file needs a name', () => [caught(() => new File([])), typeof new File([], 'n').lastModified], ['TypeError', 'number']);
check('a slice of a file is a blob', () => new File(['abc'], 'n').slice(0, 1) instanceof File, false);

check('FormData keeps order and repeats', () => {
    const f = form(['a', '1'], ['b', '2'], ['a', '3']);
    return [f.get('a'), f.getAll('a'), f.has('b'), f.get('c'), [...f.keys()]];
}, ['1', ['1', '3'], true, null, ['a', 'b', 'a']]);
check('set and delete', () => {
    const f = form(['a', '1'], ['b', '2'], ['a', '3']);
    f.set('a', '9');
    f.delete('b');
    return [...f];
}, [['a', '9']]);
check('a blob becomes a file', () => {
    const f = form(['a', new Blob(['x'], { type: 'a/b' })], ['b', new Blob(['x']), 'named'], ['c', new File(['x'], 'own')]);
    return [f.get('a').name, f.get('a').type, f.get('b').name, f.get('c').name, f.get('a') instanceof File];
}, ['a', 'a/b', 'named', 'own', true]);
check('a file name is for blobs', () => caught(() => new FormData().append('a', 'text', 'name')), 'nothing was thrown', { celld: 'TypeError', why: 'XHR standard: a file name comes with a Blob only; workerd drops it' });
check('other values become text', () => [...form(['a', 1], ['b', null], ['c', undefined])], [['a', '1'], ['b', 'null'], ['c', 'undefined']]);
check('forEach and iteration', () => {
    const f = form(['a', '1'], ['b', '2']);
    const seen = [];
    f.forEach((value, name) => seen.push(name, value));
    return [seen, [...f.values()], [...f.entries()]];
}, [['a', '1', 'b', '2'], ['1', '2'], [['a', '1'], ['b', '2']]]);
check('multipart: fields and files', async () => {
    const f = await parse(part('Content-Disposition: form-data; name="a"', 'one\r\ntwo') + part('Content-Disposition: form-data; name="f"; filename="x.png"\r\nContent-Type: image/png', '\u0001') + '--B--\r\n');
    return [f.get('a'), f.get('f').name, f.get('f').type, f.get('f').size];
}, ['one\r\ntwo', 'x.png', 'image/png', 1]);
check('multipart: UTF-8', async () => [...(await parse(part('Content-Disposition: form-data; name="ü%22"', 'ä') + '--B--')).entries()], [['ü%22', 'ä']]);
check('multipart: a quoted boundary', async () => (await parse('--a b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--a b--', 'multipart/form-data; boundary="a b"')).get('a'), '1');
check('multipart: no parts', async () => [...(await parse('--B--\r\n'))], []);
check('multipart: cut off', () => caught(parse(part('Content-Disposition: form-data; name="a"', '1'))), 'TypeError');
check('multipart: no boundary', () => caught(parse('x', 'multipart/form-data')), 'TypeError');
check('form data of another type', () => caught(parse('{}', 'application/json')), 'TypeError');
check('form data without a type', () => caught(new Response(bytes(1)).formData()), 'TypeError');
check('there and back', async () => {
    const f = await new Response(form(['a b', 'x\r\ny'], ['f', new File(['z'], 'q.txt', { type: 'text/css' })], ['ü', 'ö'])).formData();
    const file = f.get('f');
    return [[...f.keys()], f.get('ü'), file.name, file.type, await file.text()];
}, [['a b', 'f', 'ü'], 'ö', 'q.txt', 'text/css', 'z']);
check('a form that is urlencoded', async () => [...(await parse('a=1&a=2&%C3%BC=', 'application/x-www-form-urlencoded'))], [['a', '1'], ['a', '2'], ['ü', '']]);
check('an upload', async ({ request }) => {
    const f = await request.formData();
    return [f.get('title'), f.get('file').name, await f.get('file').text()];
}, ['hello', 'a.txt', 'content'], { request: { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=B' },
    body: part('Content-Disposition: form-data; name="title"', 'hello') + part('Content-Disposition: form-data; name="file"; filename="a.txt"', 'content') + '--B--\r\n' } });
