// WebAssembly: memories that threads could share are refused wherever they are made; all else is V8's.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const HEAD = [0, 97, 115, 109, 1, 0, 0, 0];
const memory = (...limits) => new Uint8Array([...HEAD, 5, 1 + limits.length, 1, ...limits, 7, 5, 1, 1, 109, 2, 0]); // exported as m
const PLAIN = memory(1, 1, 2), SHARED = memory(3, 1, 2);
// A custom section before it, and a size of several bytes.
const HIDDEN = new Uint8Array([...HEAD, 0, 3, 1, 97, 5, 5, 0x84, 0x80, 0x80, 0x00, 1, 3, 1, 2]);
const REFUSED = /shared memories are not supported/;

test('a shared memory is refused', () => {
    throws(() => new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }), 'TypeError', REFUSED);
    throws(() => new (new WebAssembly.Memory({ initial: 1 }).constructor)({ initial: 1, maximum: 2, shared: true }), 'TypeError', REFUSED);
    let asked = 0;
    const sly = { initial: 1, maximum: 2, get shared() { return asked++ > 0; } };
    ok(new WebAssembly.Memory(sly).buffer instanceof ArrayBuffer);
    equal(asked, 1);
});

test('a module that defines one is refused', async () => {
    for (const bytes of [SHARED, SHARED.buffer, new DataView(SHARED.buffer), HIDDEN]) {
        throws(() => new WebAssembly.Module(bytes), 'CompileError', REFUSED);
        await rejects(WebAssembly.compile(bytes), 'CompileError', REFUSED);
        await rejects(WebAssembly.instantiate(bytes), 'CompileError', REFUSED);
    }
    throws(() => new (new WebAssembly.Module(PLAIN).constructor)(SHARED), 'CompileError', REFUSED);
});

test('others are as ever', async () => {
    const made = new WebAssembly.Memory({ initial: 1, maximum: 3 });
    equal(made.grow(1), 1);
    throws(() => made.grow(2), 'RangeError');
    ok(made instanceof WebAssembly.Memory && new WebAssembly.Module(PLAIN) instanceof WebAssembly.Module);
    equal(WebAssembly.Memory.name + WebAssembly.Module.length, 'Memory1');
    class Mine extends WebAssembly.Memory {}
    ok(new Mine({ initial: 1 }) instanceof Mine);
    const { instance, module } = await WebAssembly.instantiate(PLAIN, {});
    equal(instance.exports.m.buffer.byteLength, 65536);
    same(WebAssembly.Module.exports(module), [{ name: 'm', kind: 'memory' }]);
    ok((await WebAssembly.instantiate(module)) instanceof WebAssembly.Instance);
    ok((await WebAssembly.compile(PLAIN.buffer)) instanceof WebAssembly.Module);
    for (const bad of [undefined, null, 1, 'x', {}]) {
        throws(() => new WebAssembly.Module(bad), 'TypeError');
        throws(() => new WebAssembly.Memory(bad), 'TypeError');
        await rejects(WebAssembly.compile(bad), 'TypeError');
    }
    throws(() => new WebAssembly.Module(new Uint8Array([1, 2, 3])), 'CompileError');
    throws(() => new WebAssembly.Module(new Uint8Array(0)), 'CompileError');
    await rejects(WebAssembly.instantiate(), 'TypeError');
});

export default run;
