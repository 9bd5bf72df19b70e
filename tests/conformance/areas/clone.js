import { bytes, caught, check } from '../case.js';

const name = (v) => v?.constructor?.name;

check('primitives', () => [undefined, null, true, 1.5, 'ü', 10n, NaN, -0].map((v) => structuredClone(v)), [undefined, null, true, 1.5, 'ü', 10n, NaN, -0]);
check('objects and arrays', () => structuredClone({ a: [1, { b: 2 }], c: undefined }), { a: [1, { b: 2 }], c: undefined });
check('cycles and shared references', () => {
    const a = { list: [] };
    a.self = a;
    a.again = a.list;
    const b = structuredClone(a);
    return [b !== a, b.self === b, b.again === b.list];
}, [true, true, true]);
check('Date, RegExp, Map, Set', () => structuredClone([new Date(5), /a+/gi, new Map([[1, { x: 2 }]]), new Set(['s'])]), [new Date(5), /a+/gi, new Map([[1, { x: 2 }]]), new Set(['s'])]);
check('errors', () => {
    const e = structuredClone(new RangeError('bad', { cause: 'why' }));
    return [e instanceof RangeError, e.name, e.message, e.cause];
}, [true, 'RangeError', 'bad', 'why']);
check('buffers and views', () => {
    const source = bytes(1, 2, 3, 4);
    const [buffer, view, again] = structuredClone([source.buffer, source.subarray(1, 3), new Uint16Array(source.buffer)]);
    return [buffer, view, again, view.buffer === buffer, again.buffer === buffer];
}, [bytes(1, 2, 3, 4).buffer, bytes(2, 3), Uint16Array.of(0x0201, 0x0403), true, true]);
check('transfer', () => {
    const { buffer } = bytes(1, 2);
    const moved = structuredClone(buffer, { transfer: [buffer] });
    return [moved, buffer.byteLength, buffer.detached];
}, [bytes(1, 2).buffer, 0, true]);
check('functions, symbols and weak maps', () => [() => {}, Symbol('s'), new WeakMap(), new Promise(() => {})].map((v) => caught(() => structuredClone(v))), Array(4).fill('DataCloneError'));
check('a function inside', () => caught(() => structuredClone({ deep: [{ f() {} }] })), 'DataCloneError');
check('getters are read, prototypes are lost', () => {
    class P { constructor() { this.own = 1; } get shared() { return 2; } }
    const c = structuredClone(new P());
    return [name(c), c.own, c.shared, structuredClone({ get g() { return 3; } })];
}, ['Object', 1, undefined, { g: 3 }]);
check('what a getter throws', () => caught(() => structuredClone({ get g() { throw new RangeError(); } })), 'RangeError');
check('boxed primitives', () => {
    const [n, s, b] = structuredClone([Object(1), Object('s'), Object(true)]);
    return [typeof n, n.valueOf(), typeof s, s.valueOf(), typeof b, b.valueOf()];
}, ['object', 1, 'object', 's', 'object', true]);
check('sparse arrays', () => {
    const a = structuredClone([1, , 3]);
    return [a.length, 1 in a];
}, [3, false]);
check('a transfer list of what cannot move', () => [caught(() => structuredClone(1, { transfer: [{}] })), caught(() => { const b = new ArrayBuffer(1); structuredClone(b, { transfer: [b, b] }); })], ['TypeError', 'nothing was thrown'],
    { celld: ['DataCloneError', 'DataCloneError'], why: 'HTML standard: a DataCloneError for what cannot be moved, and for what is listed twice' });
check('a detached buffer', () => {
    const b = new ArrayBuffer(2);
    structuredClone(b, { transfer: [b] });
    return caught(() => structuredClone(b));
}, 'DataCloneError');
check('host objects', () => [caught(() => structuredClone(new URL('http://a'))), caught(() => structuredClone(new EventTarget())), caught(() => structuredClone(new TextEncoder()))], ['DataCloneError', 'DataCloneError', 'DataCloneError']);
check('an argument is needed', () => caught(() => structuredClone()), 'TypeError');
check('a DOMException', () => {
    const e = structuredClone(new DOMException('m', 'AbortError'));
    return [e.name, e.message, e.code];
}, ['AbortError', 'm', 20]);
check('host objects inside', () => [caught(() => structuredClone({ a: [new URL('http://a')] })), caught(() => structuredClone(new Map([[1, new AbortController().signal]])))], ['DataCloneError', 'DataCloneError']);
