// structuredClone.
import { equal, ok, run, same, test, throws } from 'harness.js';

test('values', () => {
    const date = new Date(5), map = new Map([[1, { a: [undefined, null, 1n, NaN] }]]);
    const copy = structuredClone({ date, map, set: new Set(['x']), re: /a/gi, bytes: Uint8Array.of(1, 2) });
    ok(copy.date instanceof Date && copy.date !== date);
    equal(copy.date.getTime(), 5);
    same(Object.keys(copy.map.get(1).a), ['0', '1', '2', '3']);
    equal(copy.map.get(1).a[2], 1n);
    ok(copy.set.has('x') && copy.re.flags === 'gi');
    same([...copy.bytes], [1, 2]);
    const cycle = {};
    cycle.self = cycle;
    const two = structuredClone(cycle);
    equal(two.self, two);
    const error = structuredClone(new RangeError('x', { cause: 1 }));
    ok(error instanceof RangeError && error.message === 'x');
});

test('what cannot be cloned', () => {
    throws(() => structuredClone(() => {}), 'DataCloneError');
    throws(() => structuredClone({ a: Symbol() }), 'DataCloneError');
    throws(() => structuredClone(), 'TypeError');
    throws(() => structuredClone(1, 1), 'TypeError');
    throws(() => structuredClone(1, { transfer: 1 }), 'TypeError');
    throws(() => structuredClone({ get a() { throw new SyntaxError('mine'); } }), 'SyntaxError', 'mine');
});

test('transfer', () => {
    const buffer = Uint8Array.of(1, 2, 3).buffer;
    const got = structuredClone({ buffer }, { transfer: [buffer] });
    equal(buffer.byteLength, 0);
    equal(got.buffer.byteLength, 3);
    throws(() => structuredClone(1, { transfer: [buffer] }), 'DataCloneError');
    const b = new ArrayBuffer(1);
    throws(() => structuredClone(1, { transfer: [b, b] }), 'DataCloneError');
    throws(() => structuredClone(1, { transfer: [{}] }), 'DataCloneError');
    equal(b.byteLength, 1);
    equal(structuredClone(null, { transfer: new Set([b]) }), null);
    equal(b.byteLength, 0);
});

export default run;
