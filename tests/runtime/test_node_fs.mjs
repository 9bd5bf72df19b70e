// node:fs: the bundle, /tmp, /dev; node:zlib.
import fs, { constants, createReadStream, createWriteStream, promises } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { promisify } from 'node:util';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

test('the bundle can be read and not written', () => {
    ok(fs.readFileSync('/bundle/harness.js', 'utf8').includes('export function equal'));
    ok(fs.readdirSync('/bundle').includes('index.js'));
    ok(fs.statSync('harness.js').isFile(), 'relative to /bundle');
    equal(throws(() => fs.writeFileSync('/bundle/x', ''), 'Error').code, 'EPERM');
    equal(throws(() => fs.writeFileSync('/bundle/harness.js', ''), 'Error').code, 'EPERM');
    equal(throws(() => fs.readFileSync('/bundle/none'), 'Error', "ENOENT: no such file or directory, open '/bundle/none'").errno, -2);
});

test('files and folders of /tmp', () => {
    fs.mkdirSync('/tmp/a/b', { recursive: true });
    fs.writeFileSync('/tmp/a/b/f', 'one');
    fs.appendFileSync('/tmp/a/b/f', ' two');
    equal(fs.readFileSync('/tmp/a/b/f').toString(), 'one two');
    fs.symlinkSync('b/f', '/tmp/a/l');
    equal(fs.readFileSync('/tmp/a/l', 'utf8'), 'one two');
    equal(fs.realpathSync('/tmp/a/l'), '/tmp/a/b/f');
    ok(fs.lstatSync('/tmp/a/l').isSymbolicLink());
    fs.renameSync('/tmp/a/b/f', '/tmp/a/g');
    equal(fs.existsSync('/tmp/a/l'), false, 'a link that leads nowhere');
    same(fs.readdirSync('/tmp/a', { recursive: true }), ['b', 'g', 'l']);
    equal(throws(() => fs.rmdirSync('/tmp/a'), 'Error').code, 'ENOTEMPTY');
    fs.cpSync('/tmp/a', '/tmp/c', { recursive: true });
    equal(fs.readFileSync('/tmp/c/g', 'utf8'), 'one two');
    fs.rmSync('/tmp/a', { recursive: true });
    equal(fs.existsSync('/tmp/a'), false);
    equal(fs.statSync('/tmp/a', { throwIfNoEntry: false }), undefined);
    equal(fs.statSync('/tmp/no/such', { throwIfNoEntry: false }), undefined);
    throws(() => fs.openSync('/a'.repeat(49)), 'Error', 'File path has too many segments');
});

test('descriptors', () => {
    const fd = fs.openSync('/tmp/d', 'w+');
    equal(fs.writeSync(fd, 'hello'), 5);
    const b = Buffer.alloc(3);
    equal(fs.readSync(fd, b, 0, 3, 1), 3);
    equal(b.toString(), 'ell');
    fs.ftruncateSync(fd, 2);
    equal(fs.fstatSync(fd).size, 2);
    fs.closeSync(fd);
    equal(throws(() => fs.closeSync(fd), 'Error').code, 'EBADF');
    throws(() => fs.openSync('/tmp/d', 'wx'), 'Error', /^EEXIST/);
    equal(fs.readFileSync('/dev/null').length, 0);
    equal(constants.O_CREAT, 64);
});

test('callbacks and promises', async () => {
    await promises.writeFile('/tmp/p', 'text');
    equal(await readFile('/tmp/p', 'utf8'), 'text');
    equal(await promisify(fs.readFile)('/tmp/p', 'utf8'), 'text');
    const error = await rejects(promises.stat('/tmp/none'), 'Error');
    equal(error.code, 'ENOENT');
    equal((await new Promise((resolve) => fs.unlink('/tmp/none', resolve))).code, 'ENOENT');
    throws(() => fs.readFile('/tmp/p'), 'TypeError');
    const handle = await promises.open('/tmp/p');
    equal((await handle.read()).bytesRead, 4);
    await handle.close();
});

test('streams', async () => {
    await pipeline(['a', 'b'], createWriteStream('/tmp/s'));
    let text = '';
    for await (const chunk of createReadStream('/tmp/s', { encoding: 'utf8', start: 1 })) text += chunk;
    equal(text, 'b');
});

test('zlib: there and back', async () => {
    const data = Buffer.from('hello hello hello '.repeat(1000));
    for (const [pack, unpack] of [['gzip', 'gunzip'], ['deflate', 'inflate'], ['deflateRaw', 'inflateRaw'], ['brotliCompress', 'brotliDecompress'], ['zstdCompress', 'zstdDecompress'], ['gzip', 'unzip']]) {
        const packed = zlib[`${pack}Sync`](data);
        ok(packed.length < 500, pack);
        ok(zlib[`${unpack}Sync`](packed).equals(data), unpack);
        ok((await promisify(zlib[unpack])(await promisify(zlib[pack])(data))).equals(data), pack);
    }
    equal(zlib.crc32('hello'), 907060870);
});

test('zlib: options and errors', () => {
    const error = throws(() => zlib.gunzipSync(Buffer.from('not gzip')), 'Error', 'incorrect header check');
    equal(error.code, 'Z_DATA_ERROR');
    throws(() => zlib.gunzipSync(zlib.gzipSync('abc').subarray(0, 10)), 'Error', 'unexpected end of file');
    throws(() => zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(1000)), { maxOutputLength: 10 }), 'RangeError', 'Cannot create a Buffer larger than 10 bytes');
    const dictionary = Buffer.from('hello world');
    const packed = zlib.deflateSync('hello world', { dictionary });
    equal(zlib.inflateSync(packed, { dictionary }).toString(), 'hello world');
    throws(() => zlib.inflateSync(packed), 'Error', 'Missing dictionary');
    throws(() => zlib.gzipSync('x', { level: 99 }), 'RangeError', /^The value of "options.level" is out of range/);
    throws(() => zlib.gzipSync(5), 'TypeError');
});

test('zlib: streams', async () => {
    const chunks = [];
    await pipeline(
        [Buffer.alloc(100000, 'abc')],
        zlib.createGzip(),
        zlib.createGunzip(),
        async function (source) {
            for await (const c of source) chunks.push(c);
        },
    );
    ok(Buffer.concat(chunks).equals(Buffer.alloc(100000, 'abc')));
    const gz = zlib.createDeflate();
    gz.write('abc');
    await new Promise((resolve) => gz.flush(resolve));
    equal(zlib.inflateSync(gz.read(), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).toString(), 'abc');
});

export default run;
