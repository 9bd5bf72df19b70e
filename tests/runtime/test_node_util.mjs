// node:util and node:assert; values as console shows them.
import assert from 'node:assert';
import bareAssert, { strictEqual, AssertionError } from 'assert';
import strict from 'node:assert/strict';
import * as utilModule from 'node:util';
import * as bareUtil from 'util';
import util, { inspect } from 'node:util';
import nodeTest, { mock } from 'node:test';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

test('node:x and x are one module', () => {
    equal(utilModule, bareUtil);
    equal(assert, bareAssert);
    equal(strictEqual, assert.strictEqual);
});

class Foo {
    constructor() {
        this.a = 1;
    }
}
class Bar extends Foo {}

test('inspect: plain values', () => {
    equal(inspect({ a: 1, b: 'x', c: [1, 2, { d: null }], [Symbol('s')]: undefined }), "{ a: 1, b: 'x', c: [ 1, 2, { d: null } ], Symbol(s): undefined }");
    equal(inspect({ a: { b: { c: { d: 1 } } } }), '{ a: { b: { c: [Object] } } }');
    equal(inspect([1, , 3]), '[ 1, <1 empty item>, 3 ]');
    equal(inspect("it's"), '"it\'s"');
    equal(inspect(-0), '-0');
    equal(inspect('a\nb'), "'a\\nb'");
    equal(inspect(Array.from({ length: 101 }, () => 0)).endsWith('... 1 more item\n]'), true);
});

test('inspect: objects of classes', () => {
    equal(inspect(new Foo()), 'Foo { a: 1 }');
    equal(inspect(new Bar()), 'Bar { a: 1 }');
    equal(inspect(Bar), '[class Bar extends Foo]');
    equal(inspect(Object.create(null)), '[Object: null prototype] {}');
    equal(inspect(new Map([['a', { b: 1 }]])), "Map(1) { 'a' => { b: 1 } }");
    equal(inspect(new Set([1])), 'Set(1) { 1 }');
    equal(inspect(new Map([[1, 2]]).entries()), '[Map Entries] { [ 1, 2 ] }');
    equal(inspect(new Uint8Array([1, 2])), 'Uint8Array(2) [ 1, 2 ]');
    equal(inspect(new ArrayBuffer(2)), 'ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }');
    equal(inspect(new Date(0)), '1970-01-01T00:00:00.000Z');
    equal(inspect(/a/g), '/a/g');
    equal(inspect({ get a() { return 1; }, set a(v) {} }), '{ a: [Getter/Setter] }');
    equal(inspect((function () { return arguments; })(1)), "[Arguments] { '0': 1 }");
    equal(inspect(new WeakSet()), 'WeakSet { <items unknown> }');
    equal(inspect(Object('a')), "[String: 'a']");
});

test('inspect: promises and proxies, without running their code', async () => {
    equal(inspect(Promise.resolve({ a: 1 })), 'Promise { { a: 1 } }');
    equal(inspect(new Promise(() => {})), 'Promise { <pending> }');
    const failed = Promise.reject(3);
    equal(inspect(failed), 'Promise { <rejected> 3 }');
    await failed.catch(() => {});
    let touched = 0;
    const proxy = new Proxy({ a: 1 }, { get: () => touched++, ownKeys: () => (touched++, []) });
    equal(inspect(proxy), 'Proxy({ a: 1 })');
    equal(inspect(proxy, { showProxy: true }).startsWith('Proxy ['), true);
    equal(touched, 0);
});

test('inspect: circles, custom, errors', () => {
    const a = { b: {} };
    a.b.c = a;
    equal(inspect(a), '<ref *1> { b: { c: [Circular *1] } }');
    equal(inspect({ [inspect.custom]: (depth, options) => `custom ${depth} ${options.depth}` }), 'custom 2 2');
    const error = new TypeError('outer', { cause: 'inner' });
    error.code = 'X';
    const text = inspect(error);
    ok(text.startsWith('TypeError: outer\n    at '), text);
    ok(text.endsWith("{\n  code: 'X',\n  [cause]: 'inner'\n}"), text);
    equal(inspect(Object.assign(new Error('no stack'), { stack: undefined })), '[Error: no stack]');
    const numbered = new RangeError('foo');
    numbered.name = 404;
    ok(inspect(numbered).startsWith('404 [RangeError]: foo'), inspect(numbered));
    equal(inspect(Object.assign(new Error('x'), { stack: 404 })), '[404]');
});

test('inspect: options', () => {
    equal(inspect({ a: 1 }, { colors: true }), '{ a: \x1b[33m1\x1b[39m }');
    equal(inspect({ b: 1, a: 2 }, { sorted: true }), '{ a: 2, b: 1 }');
    equal(inspect([[[[]]]], false, 0), '[ [Array] ]');
    equal(inspect({ a: [1, 2] }, { compact: false }), '{\n  a: [\n    1,\n    2\n  ]\n}');
    equal(inspect(['abcdef'], { maxStringLength: 2 }), "[ 'ab'... 4 more characters ]");
});

test('inspect: objects of the platform show what they have', () => {
    const text = inspect(new Response('x', { status: 201 }));
    ok(text.startsWith('Response {') && text.includes('status: 201'), text);
});

test('format', () => {
    equal(util.format('%s %d %i %j %o %%', 'a', 1.5, '42x', { b: 1 }, [1]), 'a 1.5 42 {"b":1} [ 1, [length]: 1 ] %');
    equal(util.format('a', { b: 1 }, 'c'), 'a { b: 1 } c');
    equal(util.format('%s'), '%s');
    throws(() => util.formatWithOptions('x', 1), 'TypeError', /"inspectOptions"/);
});

test('assert throws AssertionError that tells', () => {
    const error = throws(() => assert.strictEqual(1, 2), 'AssertionError', 'Expected values to be strictly equal:\n\n1 !== 2\n');
    equal(error.code, 'ERR_ASSERTION');
    equal(error.actual, 1);
    equal(error.generatedMessage, true);
    ok(error instanceof AssertionError);
    throws(() => assert.deepStrictEqual({ a: 1 }, { a: 2 }), 'AssertionError', 'Expected values to be strictly deep-equal:\n+ actual - expected\n\n  {\n+   a: 1\n-   a: 2\n  }\n');
    throws(() => assert(0, 'own'), 'AssertionError', 'own');
    throws(() => assert.equal(1, 2), 'AssertionError', '1 == 2');
    throws(() => assert.ok(false, new RangeError('mine')), 'RangeError', 'mine');
    throws(() => strict.equal(1, '1'), 'AssertionError');
    assert.equal(1, '1');
});

test('deep equality', () => {
    assert.deepStrictEqual(new Map([[{ a: 1 }, new Set([1])]]), new Map([[{ a: 1 }, new Set([1])]]));
    assert.deepEqual(new Set([1, { a: '2' }]), new Set([{ a: 2 }, '1']));
    assert.notDeepStrictEqual([0], [-0]);
    assert.notDeepStrictEqual(new Date(0), new Date(1));
    assert.notDeepStrictEqual(new Uint8Array([1]), new Int8Array([1]));
    assert.notDeepStrictEqual(Object.create(null), {});
    assert.notDeepStrictEqual([1, , 3], [1, undefined, 3]);
    assert.notDeepEqual({ a: 1 }, { a: 1, b: undefined });
    const x = {};
    x.x = x;
    const y = {};
    y.x = y;
    assert.deepStrictEqual(x, y);
    equal(util.isDeepStrictEqual({ a: [NaN] }, { a: [NaN] }), true);
    assert.partialDeepStrictEqual({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } });
});

test('what is thrown', async () => {
    assert.throws(() => { throw new TypeError('bad'); }, TypeError);
    assert.throws(() => { throw new TypeError('bad'); }, { name: 'TypeError', message: /ba/ });
    throws(() => assert.throws(() => {}), 'AssertionError', 'Missing expected exception.');
    throws(() => assert.throws(() => { throw new Error('a'); }, /b/), 'AssertionError');
    await assert.rejects(Promise.reject(new Error('x')), { message: 'x' });
    await rejects(() => assert.rejects(async () => {}), 'AssertionError', 'Missing expected rejection.');
    await assert.doesNotReject(async () => {});
});

test('promisify and callbackify', async () => {
    const later = (value, done) => setTimeout(() => (value === 'bad' ? done(new Error(value)) : done(null, value)), 1);
    equal(await util.promisify(later)('x'), 'x');
    await rejects(util.promisify(later)('bad'), 'Error', 'bad');
    const got = await new Promise((resolve) => util.callbackify(async (a) => a + 1)(1, (error, value) => resolve([error, value])));
    same(got, [null, 2]);
    throws(() => util.promisify(1), 'TypeError', 'The "original" argument must be of type function. Received type number (1)');
});

test('parseArgs', () => {
    const { values, positionals } = util.parseArgs({
        args: ['-f', '--bar', 'b', 'rest', '-vv'],
        options: { foo: { type: 'boolean', short: 'f' }, bar: { type: 'string' }, verbose: { type: 'boolean', short: 'v', multiple: true } },
        allowPositionals: true,
    });
    same({ ...values }, { foo: true, bar: 'b', verbose: [true, true] });
    same(positionals, ['rest']);
    equal(throws(() => util.parseArgs({ args: ['--no'], options: {} }), 'TypeError').code, 'ERR_PARSE_ARGS_UNKNOWN_OPTION');
});

test('the rest of util', () => {
    equal(util.types.isProxy(new Proxy({}, {})), true);
    equal(util.types.isUint8Array(new Uint8Array()), true);
    equal(util.types.isGeneratorFunction(function* () {}), true);
    equal(util.stripVTControlCharacters('\x1b[31ma\x1b[39m'), 'a');
    equal(util.styleText('red', 'a'), '\x1b[31ma\x1b[39m');
    equal(String(new util.MIMEType('Text/Plain; charset="utf-8"')), 'text/plain;charset=utf-8');
    equal(util.getSystemErrorName(-2), 'ENOENT');
    function A() {}
    function B() {}
    util.inherits(A, B);
    ok(new A() instanceof B);
    equal(util.deprecate((a) => a + 1, 'old')(1), 2);
});

test('mock.fn', () => {
    const fn = mock.fn((a) => a * 2);
    equal(fn(2), 4);
    equal(fn.mock.callCount(), 1);
    same(fn.mock.calls[0].arguments, [2]);
    fn.mock.mockImplementationOnce(() => 'once');
    equal(fn(1), 'once');
    equal(fn(1), 2);
    const o = { m: () => 1 };
    mock.method(o, 'm', () => 5);
    equal(o.m(), 5);
    mock.restoreAll();
    equal(o.m(), 1);
    equal(typeof nodeTest.describe, 'function');
});

export default run;
