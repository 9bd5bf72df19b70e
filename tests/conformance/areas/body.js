import { answer, bytes, caught, check, message, sleep, streamOf, text, utf8 } from '../case.js';

const USED = 'TypeError: Body has already been used. It can only be used once. Use tee() first if you need to read it twice.';

check('text, json, arrayBuffer, bytes', async () => [
    await new Response('ü').text(), await new Response('{"a":1}').json(), await new Response('ab').arrayBuffer(), await new Response('ab').bytes(),
], ['ü', { a: 1 }, '«ArrayBuffer 61 62»', '«Uint8Array 61 62»']);
check('blob takes the content type', async () => {
    const blob = await new Response('ab', { headers: { 'content-type': 'Text/X' } }).blob();
    return [blob.size, blob.type, await blob.text()];
}, [2, 'text/x', 'ab'], {});
check('an empty body', async () => {
    const r = new Response();
    return [await r.text(), r.bodyUsed, await r.text(), (await r.arrayBuffer()).byteLength];
}, ['', false, '', 0]);
check('an empty body is no JSON', () => caught(new Response('').json()), 'SyntaxError');
check('invalid JSON', () => caught(new Response('{').json()), 'SyntaxError');
check('a body is read once', async () => {
    const r = new Response('x');
    await r.text();
    return [r.bodyUsed, await message(r.text()), await message(r.json())];
}, [true, USED, USED]);
check('a locked body is not readable', async () => {
    const r = new Response('x');
    r.body.getReader();
    return [r.bodyUsed, await caught(r.text())];
}, [false, 'TypeError']);
check('reading the stream makes it used', async () => {
    const r = new Response('abc');
    const reader = r.body.getReader();
    const first = await reader.read();
    return [first.value, first.done, (await reader.read()).done, r.bodyUsed];
}, ['«Uint8Array 61 62 63»', false, true, true]);
check('a byte order mark is dropped', async () => (await new Response(bytes(0xef, 0xbb, 0xbf, 0x61)).text()).length, 1);
check('invalid UTF-8 is replaced', () => new Response(bytes(0x61, 0xff, 0x62)).text(), 'a\ufffdb');
check('views give their window', () => new Response(new Uint8Array([1, 2, 3, 4]).subarray(1, 3)).bytes(), bytes(2, 3));
check('a DataView and a Uint16Array', async () => [await new Response(new DataView(new ArrayBuffer(2))).bytes(), await new Response(Uint16Array.of(0x0201)).bytes()], [bytes(0, 0), bytes(1, 2)]);
check('bytes are copied', async () => {
    const source = bytes(1, 2);
    const r = new Response(source);
    source[0] = 9;
    return r.bytes();
}, bytes(1, 2));
check('URLSearchParams', () => new Response(new URLSearchParams({ a: '1 2', b: 'ü' })).text(), 'a=1+2&b=%C3%BC');
check('numbers and objects become text', async () => [await new Response(12).text(), await new Response({}).text(), await new Response(null).text()], ['12', '[object Object]', '']);
check('a stream of text and binary chunks', () => new Response(streamOf('a', bytes(98), 'c')).text(), 'abc');
check('chunks that are no bytes', () => caught(new Response(new ReadableStream({ start(c) { c.enqueue(1); c.close(); } })).text()), 'TypeError');
check('a stream that fails', () => message(new Response(new ReadableStream({ start(c) { c.error(new RangeError('broke')); } })).text()), 'RangeError: broke');
check('a stream that is locked is refused', () => {
    const stream = streamOf('a');
    stream.getReader();
    return caught(() => new Response(stream));
}, 'nothing was thrown', { celld: 'TypeError', why: 'Fetch standard: refused by the constructor; workerd fails when the body is used' });
check('the stream given is the body', () => {
    const stream = streamOf('a');
    return new Response(stream).body === stream;
}, true);
check('the body is always the same stream', () => {
    const r = new Response('x');
    return [r.body === r.body, r.body instanceof ReadableStream];
}, [true, true]);
check('two readers wait', async () => {
    const r = new Response('x');
    const first = r.text();
    return [await caught(r.text()), await first];
}, ['TypeError', 'x']);
check('tee of a body', async () => {
    const [a, b] = new Response('both').body.tee();
    return [await text(a), await text(b)];
}, ['both', 'both']);
check('lone surrogates', () => new Response('a\ud800').bytes(), bytes(0x61, 0xed, 0xa0, 0x80),
    { celld: bytes(0x61, 0xef, 0xbf, 0xbd), why: 'Fetch standard: a lone surrogate becomes U+FFFD; workerd sends bytes that are no UTF-8' });
check('a shared buffer is not taken for bytes', () => caught(() => new Response(new SharedArrayBuffer(2)).status), 'nothing was thrown');
check('async iteration of a body', async () => {
    let seen = '';
    for await (const chunk of new Response('abc').body) seen += new TextDecoder().decode(chunk);
    return seen;
}, 'abc');

check('form data from a form', async ({ request }) => [...(await request.formData())], [['a', '1'], ['b', 'x y'], ['a', 'ü']],
    { request: { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1&b=x+y&a=%C3%BC' } });
check('JSON from a client', async ({ request }) => request.json(), { deep: [1, { ok: true }] }, { request: { method: 'POST', body: '{"deep":[1,{"ok":true}]}' } });
check('a body of no bytes', async ({ request }) => [request.body === null, (await request.bytes()).length], [false, 0],
    { request: { method: 'POST', headers: { 'content-length': '0' }, body: '' } });
check('a body of 300 KB', async ({ request }) => {
    let size = 0;
    for await (const chunk of request.body) size += chunk.length;
    return size;
}, 300000, { request: { method: 'POST', body: 'z'.repeat(300000) } });
answer('a body goes back as it comes', (request) => new Response(request.body), { body: 'round trip' }, { request: { method: 'POST', body: ['round ', 'trip'] } });
answer('through a transform', (request) => new Response(request.body.pipeThrough(new TransformStream({
    transform(chunk, controller) { controller.enqueue(utf8(new TextDecoder().decode(chunk).toUpperCase())); },
}))), { body: 'SHOUT' }, { request: { method: 'POST', body: 'shout' } });
answer('an answer before the body is read', async () => {
    await sleep(1);
    return new Response('early');
}, { status: 200, body: 'early' }, { request: { method: 'POST', body: 'ignored' } });
