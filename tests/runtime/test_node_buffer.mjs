// node:buffer, node:string_decoder, node:querystring, node:url, node:path, node:punycode, node:os.
import { Buffer as ImportedBuffer, constants, isAscii, isUtf8, transcode } from 'node:buffer';
import os from 'node:os';
import path from 'node:path';
import win32 from 'node:path/win32';
import punycode from 'node:punycode';
import qs from 'node:querystring';
import { StringDecoder } from 'node:string_decoder';
import url, { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { equal, ok, run, same, test, throws } from 'harness.js';

test('Buffer is a global, and a Uint8Array', () => {
    equal(Buffer, ImportedBuffer);
    const b = Buffer.from('abc');
    ok(b instanceof Uint8Array);
    ok(b.map((x) => x + 1) instanceof Buffer, 'map gives a Buffer');
    equal(Buffer.name, 'Buffer');
    equal(inspect(b), '<Buffer 61 62 63>');
    equal(JSON.stringify(b), '{"type":"Buffer","data":[97,98,99]}');
});

test('encodings', () => {
    const text = 'äöü€😀';
    equal(Buffer.from(text).toString('hex'), 'c3a4c3b6c3bce282acf09f9880');
    for (const encoding of ['utf8', 'utf16le', 'hex', 'base64', 'base64url', 'latin1', 'ascii']) {
        const bytes = Buffer.from([1, 2, 0x41, 0x7f]);
        equal(Buffer.from(bytes.toString(encoding), encoding).equals(bytes), true, encoding);
    }
    equal(Buffer.from('_-8', 'base64').toString('hex'), 'ffef');
    equal(Buffer.from('zz', 'hex').length, 0);
    equal(Buffer.from([0xff, 0x61]).toString(), '\ufffda');
    equal(Buffer.from('Ā', 'latin1')[0], 0);
    equal(Buffer.from([0xe1]).toString('ascii'), 'a');
    equal(Buffer.byteLength(text), 13);
    equal(Buffer.byteLength('YWJj', 'base64'), 3);
    equal(throws(() => Buffer.from('x', 'nope'), 'TypeError', 'Unknown encoding: nope').code, 'ERR_UNKNOWN_ENCODING');
    const b = Buffer.alloc(4);
    equal(b.write('€€'), 3, 'whole characters only');
});

test('numbers', () => {
    const b = Buffer.alloc(8);
    b.writeInt32BE(-2, 0);
    equal(b.readUInt32BE(0), 0xfffffffe);
    equal(b.readInt32LE(0), -16777217);
    b.writeUIntLE(0x123456789a, 0, 5);
    equal(b.readUIntLE(0, 5), 0x123456789a);
    b.writeDoubleLE(1.5);
    equal(b.readDoubleLE(), 1.5);
    b.writeBigInt64BE(-5n);
    equal(b.readBigInt64BE(), -5n);
    equal(b.readBigUint64BE(), 2n ** 64n - 5n);
    throws(() => b.writeUInt8(256), 'RangeError', 'The value of "value" is out of range. It must be >= 0 and <= 255. Received 256');
    throws(() => b.readUInt8(8), 'RangeError', 'The value of "offset" is out of range. It must be >= 0 and <= 7. Received 8');
});

test('searching, comparing, filling', () => {
    const b = Buffer.from('abcabc');
    equal(b.indexOf('c'), 2);
    equal(b.indexOf('c', 3), 5);
    equal(b.lastIndexOf(Buffer.from('ab')), 3);
    equal(b.includes('x'), false);
    equal(b.indexOf(99, -1), 5);
    equal(Buffer.compare(Buffer.from('a'), Buffer.from('b')), -1);
    equal(b.compare(Buffer.from('xabc'), 1, 4, 0, 3), 0);
    equal(Buffer.alloc(5, 'ab').toString(), 'ababa');
    equal(Buffer.concat([Buffer.from('a'), new Uint8Array([98])]).toString(), 'ab');
    equal(Buffer.from('abcd').swap16().toString(), 'badc');
    const part = b.subarray(1, 3);
    part[0] = 0x7a;
    equal(b.toString(), 'azcabc', 'one memory');
    equal(isUtf8(Buffer.from([0xff])), false);
    equal(isAscii(Buffer.from('a')), true);
    equal(transcode(Buffer.from('€'), 'utf8', 'latin1').toString(), '?');
    equal(constants.MAX_STRING_LENGTH, 536870888);
    throws(() => Buffer.from(5), 'TypeError', /^The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object\. Received type number \(5\)$/);
});

test('StringDecoder keeps torn characters', () => {
    const d = new StringDecoder('utf8');
    equal(d.write(Buffer.from([0xe2, 0x82])), '');
    equal(d.write(Buffer.from([0xac, 0x41])), '€A');
    equal(d.end(Buffer.from([0xe2])), '\ufffd');
    const b = new StringDecoder('base64');
    equal(b.write(Buffer.from('ab')) + b.write(Buffer.from('cd')) + b.end(), 'YWJjZA==');
});

test('path', () => {
    equal(path.join('/a', '../b', './c'), '/b/c');
    equal(path.resolve('x'), '/x');
    equal(path.relative('/a/b/c', '/a/d'), '../../d');
    same(path.parse('/home/x.tar.gz'), { root: '/', dir: '/home', base: 'x.tar.gz', ext: '.gz', name: 'x.tar' });
    equal(win32.join('C:\\a', '..', 'b'), 'C:\\b');
    equal(path.win32, win32);
    equal(path.posix, path);
    equal(win32.basename('C:\\a\\b.txt', '.txt'), 'b');
    equal(path.matchesGlob('/a/b.js', '/a/*.js'), true);
});

test('querystring', () => {
    same({ ...qs.parse('a=1&a=2&b=%20x+y') }, { a: ['1', '2'], b: ' x y' });
    equal(qs.stringify({ a: [1, 'ä'], b: true }), 'a=1&a=%C3%A4&b=true');
});

test('url', () => {
    const u = url.parse('http://user:pass@Host.com:8/p/a?q=1#h', true);
    equal(u.host, 'host.com:8');
    equal(u.auth, 'user:pass');
    equal(u.query.q, '1');
    equal(url.resolve('http://a.com/b/c', '../d'), 'http://a.com/d');
    equal(url.format({ protocol: 'http', host: 'x.y', pathname: 'a?b', query: { c: 1 } }), 'http://x.y/a%3Fb?c=1');
    equal(fileURLToPath('file:///a%20b'), '/a b');
    equal(pathToFileURL('/a b#').href, 'file:///a%20b%23');
    equal(url.domainToASCII('español.com'), 'xn--espaol-zwa.com');
    equal(url.domainToUnicode('xn--espaol-zwa.com'), 'español.com');
    equal(url.URL, URL);
});

test('punycode and os', () => {
    equal(punycode.encode('mañana'), 'maana-pta');
    equal(punycode.decode('maana-pta'), 'mañana');
    equal(os.EOL, '\n');
    equal(os.platform(), 'linux');
    equal(os.constants.signals.SIGTERM, 15);
});

export default run;
