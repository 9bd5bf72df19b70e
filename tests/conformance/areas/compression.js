import { bytes, caught, check, fromHex, streamOf, text, toHex } from '../case.js';

const through = (stream, data) => new Response(streamOf(data).pipeThrough(stream));

for (const format of ['gzip', 'deflate', 'deflate-raw']) {
    check(`${format}, there and back`, async () => {
        const packed = await through(new CompressionStream(format), 'again and '.repeat(500)).bytes();
        return [packed.length < 200, await through(new DecompressionStream(format), packed).text() === 'again and '.repeat(500)];
    }, [true, true]);
}
check('gzip begins with its mark', async () => toHex(await through(new CompressionStream('gzip'), 'x').bytes()).slice(0, 6), '1f8b08');
check('foreign gzip', () => through(new DecompressionStream('gzip'), fromHex('1f8b080000000000000' + '3cb48cdc9c95728cf2fca49010085114a0d0b000000')).text(), 'hello world');
check('foreign zlib', () => through(new DecompressionStream('deflate'), fromHex('789ccb48cdc9c957c840500019f403f0')).text().then((t) => t.length > 0, (e) => e.name), 'TypeError');
check('many small chunks', async () => {
    const packed = await through(new CompressionStream('deflate'), 'in pieces').bytes();
    return text(streamOf(...Array.from(packed, (b) => bytes(b))).pipeThrough(new DecompressionStream('deflate')));
}, 'in pieces');
check('an empty stream', async () => {
    const packed = await new Response(streamOf().pipeThrough(new CompressionStream('gzip'))).bytes();
    return [packed.length > 0, await through(new DecompressionStream('gzip'), packed).text()];
}, [true, '']);
check('garbage', () => caught(through(new DecompressionStream('gzip'), bytes(1, 2, 3, 4)).text()), 'TypeError');
check('a stream that is cut off', async () => {
    const packed = await through(new CompressionStream('gzip'), 'whole').bytes();
    return caught(through(new DecompressionStream('gzip'), packed.subarray(0, packed.length - 4)).text());
}, 'TypeError');
check('bytes behind the end', async () => {
    const packed = await through(new CompressionStream('gzip'), 'whole').bytes();
    return caught(text(streamOf(packed, bytes(0)).pipeThrough(new DecompressionStream('gzip'))));
}, 'TypeError');
check('unknown formats', () => [caught(() => new CompressionStream('lzma')), caught(() => new DecompressionStream('x')), caught(() => new CompressionStream())], ['TypeError', 'TypeError', 'TypeError']);
check('chunks of other kinds', async () => {
    const { readable, writable } = new CompressionStream('gzip');
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    readable.getReader().read().catch(() => {});
    return caught(writer.write(1));
}, 'TypeError');
check('a response that is packed', async () => {
    const r = new Response(new Blob(['a'.repeat(1000)]).stream().pipeThrough(new CompressionStream('gzip')), { headers: { 'content-encoding': 'gzip' }, encodeBody: 'manual' });
    return [r.headers.get('content-encoding'), await through(new DecompressionStream('gzip'), await r.bytes()).text() === 'a'.repeat(1000)];
}, ['gzip', true]);
