// CompressionStream, DecompressionStream, TextEncoderStream, TextDecoderStream.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const bytes = (...b) => Uint8Array.from(b);
const text = (s) => new TextEncoder().encode(s);
const streamOf = (...chunks) => ReadableStream.from(chunks);
const through = (transform, ...chunks) => new Response(streamOf(...chunks).pipeThrough(transform)).bytes();
const FORMATS = ['gzip', 'deflate', 'deflate-raw', 'brotli', 'zstd'];

test('there and back', async () => {
    const noise = new Uint8Array(300000);
    for (let i = 0, x = 1; i < noise.length; i++) noise[i] = (x = (Math.imul(x, 1103515245) + 12345) >>> 0) >>> (i % 24);
    for (const format of FORMATS) {
        for (const chunks of [[text('hello')], [text('he'), bytes(), text('llo')], [], [noise], [new Uint8Array(1000000)]]) {
            const packed = await through(new CompressionStream(format), ...chunks);
            ok(packed.length > 0);
            const got = await through(new DecompressionStream(format), packed);
            const want = new Uint8Array(await new Blob(chunks).arrayBuffer());
            equal(got.length, want.length, format);
            ok(got.every((b, i) => b === want[i]), format);
            const single = await through(new DecompressionStream(format), ...Array.from(packed.subarray(0, 50), (b) => bytes(b)), packed.slice(50));
            equal(single.length, want.length, `${format} byte by byte`);
        }
    }
});

test('known bytes', async () => {
    const deflate = bytes(120, 156, 75, 173, 40, 72, 77, 46, 73, 77, 81, 200, 47, 45, 41, 40, 45, 1, 0, 48, 173, 6, 36);
    equal(new TextDecoder().decode(await through(new DecompressionStream('deflate'), deflate)), 'expected output');
    equal(new TextDecoder().decode(await through(new DecompressionStream('deflate-raw'), deflate.slice(2, -4))), 'expected output');
    equal(new TextDecoder().decode(await through(new DecompressionStream('deflate'), deflate.buffer)), 'expected output');
});

test('what is malformed, cut off or too long', async () => {
    for (const format of FORMATS) {
        const packed = await through(new CompressionStream(format), text('expected output'));
        await rejects(through(new DecompressionStream(format), packed.subarray(0, -1)), 'TypeError', 'Called close() on a decompression stream with incomplete data');
        await rejects(through(new DecompressionStream(format)), 'TypeError', 'Called close() on a decompression stream with incomplete data');
        await rejects(through(new DecompressionStream(format), packed, bytes(0, 0, 0, 0, 0)), 'TypeError');
        await rejects(through(new DecompressionStream(format), bytes(...packed, 0, 0, 0, 0, 0)), 'TypeError');
        await rejects(through(new DecompressionStream(format), bytes(0xff, 0xff, 0xff, 0xff, 0xff)), 'TypeError');
        await rejects(through(new DecompressionStream(format), 'text'), 'TypeError');
        await rejects(through(new CompressionStream(format), {}), 'TypeError');
    }
    const gzip = await through(new CompressionStream('gzip'), text('a'));
    await rejects(through(new DecompressionStream('gzip'), gzip, bytes(1)), 'TypeError', 'Trailing bytes after end of compressed data');
    const zstd = await through(new CompressionStream('zstd'), text('a'));
    equal(new TextDecoder().decode(await through(new DecompressionStream('zstd'), zstd, zstd)), 'aa');
    for (const bad of ['x', '', 'GZIP', undefined]) throws(() => new CompressionStream(bad), 'TypeError');
    throws(() => new DecompressionStream(), 'TypeError');
});

test('a bomb unpacks as fast as it is read', async () => {
    const packed = await through(new CompressionStream('gzip'), new Uint8Array(20 << 20));
    ok(packed.length < 30000);
    const stream = new DecompressionStream('gzip');
    const writer = stream.writable.getWriter();
    let written = false;
    writer.write(packed).then(() => (written = true), () => {});
    const reader = stream.readable.getReader();
    equal((await reader.read()).value.length, 65536);
    equal((await reader.read()).value.length, 65536);
    await scheduler.wait(1);
    equal(written, false);
    await reader.cancel();
});

test('all may be written before anything is read', async () => {
    const stream = new CompressionStream('gzip');
    const writer = stream.writable.getWriter();
    await writer.write(new Uint8Array(new SharedArrayBuffer(100)));
    await writer.write(crypto.getRandomValues(new Uint8Array(65536)));
    await writer.close();
    equal((await new Response(stream.readable.pipeThrough(new DecompressionStream('gzip'))).bytes()).length, 65636);
});

test('byob readers', async () => {
    const reader = streamOf(await through(new CompressionStream('gzip'), text('hello'))).pipeThrough(new DecompressionStream('gzip')).getReader({ mode: 'byob' });
    const { value } = await reader.readAtLeast(4, new Uint8Array(4));
    equal(new TextDecoder().decode(value), 'hell');
    equal(new TextDecoder().decode((await reader.read(new Uint8Array(4))).value), 'o');
    equal((await reader.read(new Uint8Array(4))).done, true);
});

test('text to bytes', async () => {
    const e = new TextEncoderStream();
    equal(e.encoding, 'utf-8');
    same([...(await through(e, 'a', '\ud83d', '\ude3a', '', 12, '\ud83d', 'x', '\ud83d'))], [...text('a😺12\ufffdx\ufffd')]);
    await rejects(through(new TextEncoderStream(), Symbol()), 'TypeError');
});

test('bytes to text', async () => {
    const d = new TextDecoderStream('utf-16le', { fatal: true, ignoreBOM: true });
    same([d.encoding, d.fatal, d.ignoreBOM], ['utf-16le', true, true]);
    const join = async (transform, ...chunks) => {
        let all = '';
        for await (const chunk of streamOf(...chunks).pipeThrough(transform)) {
            ok(chunk !== '');
            all += chunk;
        }
        return all;
    };
    equal(await join(new TextDecoderStream(), bytes(0xef), bytes(0xbb, 0xbf, 0x61, 0xf0, 0x9f), bytes(0x98, 0xba).buffer, bytes(0xe2)), 'a😺\ufffd');
    await rejects(join(new TextDecoderStream('utf-8', { fatal: true }), bytes(0xe2)), 'TypeError');
    await rejects(join(new TextDecoderStream(), 'x'), 'TypeError');
    await rejects(join(new TextDecoderStream(), undefined), 'TypeError');
    throws(() => new TextDecoderStream('x'), 'RangeError');
});

export default run;
