import { check, answer } from './case.js';
import { caught } from './case.js';
import json from './data.json';
import words from './words.txt';
import data from './data.bin';
import wasm from './add.wasm';
import def, { named, live, bump } from './lib/esm.js';
import * as space from './lib/esm.js';
import { fromB, early } from './lib/cycle_a.js';
import { ready, order } from './lib/tla.js';
export { bump as exportedAgain } from './lib/esm.js';

check('default and named exports', () => [def, named, typeof space], ['the default', 'named', 'object']);
check('bindings are live', () => {
    const before = live;
    bump();
    return live - before;
}, 1);
check('a namespace', () => [Object.keys(space).sort(), Object.prototype.toString.call(space), caught(() => { space.named = 1; })], [['bump', 'default', 'live', 'named', 'url'], '[object Module]', 'TypeError']);
check('JSON', () => json, { a: [1, { b: null }], text: 'ü' });
check('text', () => words, 'some wörds\n');
check('data', () => [data instanceof ArrayBuffer, [...new Uint8Array(data)]], [true, [0, 1, 254, 255]]);
check('WebAssembly', () => [wasm instanceof WebAssembly.Module, new WebAssembly.Instance(wasm).exports.add(2, 40)], [true, 42]);
check('WebAssembly, asynchronously', async () => (await WebAssembly.instantiate(wasm)).exports.add(-1, 1), 0);
check('a cycle', () => [fromB(), early], ['a sees b', 'undefined yet']);
check('top-level await', () => [ready, order], ['waited', ['before', 'after']]);
check('dynamic import', async () => {
    const first = await import('./lib/lazy.js');
    const second = await import('./lib/lazy.js');
    return [first.value, first === second, first.default(2)];
}, ['lazy', true, 4]);
check('dynamic import of a module known already', async () => (await import('./lib/esm.js')) === space, true);
check('a specifier that is computed', async () => (await import(`./lib/${['la', 'zy'].join('')}.js`)).value, 'lazy');
check('dynamic import of other kinds', async () => [(await import('./data.json')).default.text, (await import('./words.txt')).default.length], ['ü', 11]);
check('a module that is not there', () => caught(import('./lib/nothing.js')), 'Error');
check('a module that throws', async () => {
    const { name, message } = await import('./lib/throws.js').catch((e) => e);
    return [name, message];
}, ['RangeError', 'while loading']);
check('a module in a folder above', async () => (await import('./lib/up.js')).words, 'some wörds\n');
check('built-in modules', async () => [typeof (await import('cloudflare:workers')).WorkerEntrypoint, typeof (await import('node:path')).join], ['function', 'function']);
check('a built-in that is not there', () => caught(import('cloudflare:nothing')), 'Error');
check('import.meta', () => [import.meta.url, import.meta.main, space.url], [undefined, undefined, undefined],
    { celld: ['file:///bundle/main.js', false, 'file:///bundle/lib/esm.js'], why: 'runtime.md 3.1: a URL below file:///bundle, and main of the entry' });
check('modules are strict', () => (function () { return this; })(), undefined);
check('a module runs once', async () => {
    await import('./lib/once.js');
    await import('./lib/once.js');
    return globalThis.timesRun;
}, 1);
check('import attributes', async () => {
    try {
        return (await import('./data.json', { with: { type: 'json' } })).default.text;
    } catch (e) {
        return e.message;
    }
}, 'Unrecognized import attributes specified', { celld: 'ü', why: 'runtime.md 3.1: type: "json" is understood; workerd refuses all of them' });
check('unknown import attributes', async () => (await caught(import('./lib/esm.js', { with: { type: 'nonsense' } }))) !== 'nothing was thrown', true);
answer('a class from another module', async () => new (await import('./lib/respond.js')).Answer('from a module').make(), { status: 200, body: 'from a module' });
