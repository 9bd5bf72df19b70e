import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import assert from 'node:assert';
import { Buffer } from 'node:buffer';
import diagnostics from 'node:diagnostics_channel';
import EventEmitter, { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import querystring from 'node:querystring';
import { PassThrough, Readable, Transform, Writable, pipeline } from 'node:stream';
import { text as streamText } from 'node:stream/consumers';
import { pipeline as pipelinePromise } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as nodeTimeout } from 'node:timers';
import { fileURLToPath, format, parse, pathToFileURL } from 'node:url';
import util from 'node:util';
import { caught, check, sleep } from '../case.js';

const code = (fn) => { try { fn(); } catch (e) { return e.code ?? e.name; } };

check('Buffer: encodings', () => ['hex', 'base64', 'base64url', 'latin1', 'utf16le', 'ascii'].map((e) => Buffer.from('hü~>', 'utf8').toString(e)), ['68c3bc7e3e', 'aMO8fj4=', 'aMO8fj4', 'hÃ¼~>', '써纼', 'hC<~>']);
check('Buffer: from', () => [Buffer.from('ff00', 'hex'), Buffer.from([1, 257]), Buffer.from(new Uint8Array([1, 2]).buffer, 1), Buffer.from('YQ==', 'base64')].map((b) => [...b]), [[255, 0], [1, 1], [2], [97]]);
check('Buffer: alloc, concat, compare, equals', () => [Buffer.alloc(3, 'ab').toString(), Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString(), Buffer.compare(Buffer.from('a'), Buffer.from('b')), Buffer.from('x').equals(Buffer.from('x'))], ['aba', 'ab', -1, true]);
check('Buffer: numbers', () => {
    const b = Buffer.alloc(16);
    b.writeUInt32BE(0xdeadbeef, 0);
    b.writeDoubleLE(1.5, 4);
    b.writeInt16LE(-2, 12);
    return [b.readUInt32BE(0), b.readDoubleLE(4), b.readInt16LE(12), b.readBigUInt64BE(0) > 0n];
}, [0xdeadbeef, 1.5, -2, true]);
check('Buffer: searching', () => {
    const b = Buffer.from('hello world');
    return [b.indexOf('o'), b.lastIndexOf('o'), b.includes('wor'), b.indexOf('x'), b.subarray(0, 5).toString(), b.slice(-5).toString()];
}, [4, 7, true, -1, 'hello', 'world']);
check('Buffer: JSON, length, isBuffer', () => [JSON.stringify(Buffer.from('a')), Buffer.byteLength('ü'), Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding('utf-8')], ['{"type":"Buffer","data":[97]}', 2, true, false, true]);
check('Buffer: fill, swap, write', () => [Buffer.alloc(4).fill('xy').toString(), Buffer.from([1, 2, 3, 4]).swap16(), Buffer.alloc(3).write('abcdef')].map((v) => (Buffer.isBuffer(v) ? [...v] : v)), ['xyxy', [2, 1, 4, 3], 3]);
check('Buffer: errors', () => [code(() => Buffer.from(5)), caught(() => Buffer.alloc(-1)), code(() => Buffer.alloc(1).readUInt8(1))], ['ERR_INVALID_ARG_TYPE', 'RangeError', 'ERR_OUT_OF_RANGE']);
check('Buffer is a Uint8Array and a global', () => [Buffer.from('a') instanceof Uint8Array, globalThis.Buffer === Buffer], [true, true]);
check('EventEmitter', () => {
    const e = new EventEmitter();
    const seen = [];
    e.on('x', (...args) => seen.push(...args));
    e.once('x', () => seen.push('once'));
    e.prependListener('x', () => seen.push('first'));
    return [e.emit('x', 1, 2), e.emit('x', 3), e.emit('none'), seen, e.listenerCount('x'), e.eventNames()];
}, [true, true, false, ['first', 1, 2, 'once', 'first', 3], 2, ['x']]);
check('EventEmitter: error', () => caught(() => new EventEmitter().emit('error', new RangeError('unhandled'))), 'RangeError');
check('events.once', async () => {
    const e = new EventEmitter();
    setTimeout(() => e.emit('ready', 'a', 'b'), 1);
    return once(e, 'ready');
}, ['a', 'b']);
check('path', () => [path.join('/a', '../b', './c'), path.resolve('/x', 'y', '..', 'z'), path.basename('/a/b.txt', '.txt'), path.extname('a.tar.gz'), path.dirname('/a/b'), path.relative('/a/b', '/a/c/d'), path.isAbsolute('a'), path.normalize('/a//b/..')],
    ['/b/c', '/x/z', 'b', '.gz', '/a', '../c/d', false, '/a']);
check('path.parse, format, win32', () => [path.parse('/a/b.c'), path.format({ dir: '/x', base: 'y' }), path.win32.join('a', 'b'), path.sep], [{ root: '/', dir: '/a', base: 'b.c', ext: '.c', name: 'b' }, '/x/y', 'a\\b', '/']);
check('util.inspect', () => [util.inspect({ a: [1, { b: { c: {} } }], s: 'x', f() {} }), util.inspect(new Map([[1, 'a']])), util.inspect([undefined, null, -0, 1n]), util.inspect('it\'s')],
    ["{ a: [ 1, { b: [Object] } ], s: 'x', f: [Function: f] }", "Map(1) { 1 => 'a' }", '[ undefined, null, -0, 1n ]', '"it\'s"']);
check('util.format', () => util.format('%s %d %i %j %o %%', 'a', 1.5, '2.9', { x: 1 }, [1]), "a 1.5 2 {\"x\":1} [ 1, [length]: 1 ] %");
check('util.promisify, inherits, types', async () => [await util.promisify((x, cb) => cb(null, x + 1))(1), util.types.isDate(new Date()), util.isDeepStrictEqual({ a: [1] }, { a: [1] }), await caught(util.promisify((cb) => cb(new RangeError('x')))())], [2, true, true, 'RangeError']);
check('assert', () => [caught(() => assert.equal(1, 2)), caught(() => assert.deepStrictEqual({ a: 1 }, { a: 1 })), caught(() => assert.throws(() => {})), code(() => assert(false))], ['AssertionError', 'nothing was thrown', 'AssertionError', 'ERR_ASSERTION']);
check('AsyncLocalStorage', async () => {
    const als = new AsyncLocalStorage();
    const seen = [];
    await als.run('outer', async () => {
        seen.push(als.getStore());
        await sleep(1);
        seen.push(als.getStore());
        als.run('inner', () => seen.push(als.getStore()));
        await Promise.all([Promise.resolve().then(() => seen.push(als.getStore())), new Promise((r) => setTimeout(() => { seen.push(als.getStore()); r(); }, 1))]);
        als.exit(() => seen.push(als.getStore()));
    });
    return [seen, als.getStore()];
}, [['outer', 'outer', 'inner', 'outer', 'outer', undefined], undefined]);
check('AsyncLocalStorage: snapshot, bind, AsyncResource', () => {
    const als = new AsyncLocalStorage();
    const snapshot = als.run(1, () => AsyncLocalStorage.snapshot());
    const resource = als.run(2, () => new AsyncResource('X'));
    const bound = als.run(3, () => AsyncLocalStorage.bind(() => als.getStore()));
    return [snapshot(() => als.getStore()), resource.runInAsyncScope(() => als.getStore()), bound()];
}, [1, 2, 3]);
check('querystring', () => [querystring.parse('a=1&b=2&a=3&c=%20'), querystring.stringify({ a: [1, 2], b: 'x y' }), querystring.escape('ü')], [{ a: ['1', '3'], b: '2', c: ' ' }, 'a=1&a=2&b=x%20y', '%C3%BC']);
check('url', () => [parse('http://u:p@h:1/p?q=1#f').pathname, fileURLToPath('file:///a/b%20c'), pathToFileURL('/x y').href, format({ protocol: 'http', host: 'a', pathname: '/b' })], ['/p', '/a/b c', 'file:///x%20y', 'http://a/b']);
check('string_decoder', () => {
    const d = new StringDecoder('utf8');
    return [d.write(Buffer.from([0xe2, 0x82])), d.write(Buffer.from([0xac])), d.end(Buffer.from([0xe2]))];
}, ['', '€', '\ufffd']);
check('stream: Readable and async iteration', async () => {
    const seen = [];
    for await (const chunk of Readable.from(['a', 'b'])) seen.push(chunk);
    return seen;
}, ['a', 'b']);
check('stream: a pipeline', () => new Promise((resolve) => {
    const seen = [];
    const upper = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); } });
    pipeline(Readable.from(['x', 'y']), upper, new Writable({ write(chunk, encoding, done) { seen.push(String(chunk)); done(); } }), (error) => resolve([error ?? null, seen]));
}), [null, ['X', 'Y']]);
check('stream/promises and consumers', async () => {
    const pass = new PassThrough();
    const read = streamText(pass);
    await pipelinePromise(Readable.from(['one ', 'two']), pass);
    return read;
}, 'one two');
check('stream: to and from the web', async () => [await streamText(Readable.fromWeb(new Response('web').body)), await new Response(Readable.toWeb(Readable.from([Buffer.from('node')]))).text()], ['web', 'node']);
check('stream: an error destroys', () => new Promise((resolve) => {
    const r = new Readable({ read() { this.destroy(new RangeError('bad')); } });
    r.on('error', (e) => resolve([e.name, r.destroyed]));
    r.resume();
}), ['RangeError', true]);
check('timers', async () => {
    const t = nodeTimeout(() => {}, 1000);
    const has = [typeof t.ref, typeof t.unref, t.hasRef(), typeof t.refresh];
    clearTimeout(t);
    return has;
}, ['function', 'function', true, 'function'], {});
check('process', () => [process.platform, process.argv.length >= 0, typeof process.version, process.versions.node.split('.').length, process.pid, typeof process.cwd(), process.exitCode, typeof process.hrtime.bigint(), process.title], ['linux', true, 'string', 3, 1, 'string', undefined, 'bigint', 'workerd'], {});
check('process.env has text vars', () => [process.env.ORIGIN?.slice(0, 4), process.env.NOT_THERE, (process.env.MADE = 1, process.env.MADE)], ['http', undefined, '1']);
check('process.nextTick', async () => {
    const seen = [];
    queueMicrotask(() => seen.push('micro'));
    process.nextTick((x) => seen.push(x), 'tick');
    await sleep(2);
    return seen.sort();
}, ['micro', 'tick']);
check('process.getBuiltinModule', () => [process.getBuiltinModule('node:path') === path || typeof process.getBuiltinModule('node:path').join, process.getBuiltinModule('nope')], [true, undefined]);
check('diagnostics_channel', () => {
    const seen = [];
    const c = diagnostics.channel('own');
    const f = (m, name) => seen.push(m, name);
    c.subscribe(f);
    c.publish({ a: 1 });
    c.unsubscribe(f);
    c.publish('lost');
    return [seen, c.hasSubscribers];
}, [[{ a: 1 }, 'own'], false]);
check('names without node:', async () => (await import('path')).default.join('a', 'b'), 'a/b');
check('stubs can be imported and say what is missing', async () => {
    const { spawn } = await import('node:child_process');
    return [typeof spawn, code(() => spawn('ls'))];
}, ['function', 'ERR_METHOD_NOT_IMPLEMENTED']);
check('a module that does not exist', () => caught(import(['node', 'nothing'].join(':'))), 'Error');
