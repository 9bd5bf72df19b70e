// Methods of arrays on what is long, or no array: they are ended like any loop, and give what V8's own would.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';
import { DurableObject } from 'cloudflare:workers';

const { prototype } = Array;
const LONG = 2 ** 53 - 10;
const FULL = 2 ** 32 - 1;

// What each method is called with, besides the object.
const ARGUMENTS = {
    concat: [], copyWithin: [1, 0], every: [() => true], fill: [1], filter: [() => true], flat: [], flatMap: [(v) => v], forEach: [() => {}], includes: [1],
    indexOf: [1], join: [], lastIndexOf: [1], map: [(v) => v], reduce: [(v) => v, 0], reduceRight: [(v) => v, 0], reverse: [], shift: [], slice: [1],
    some: [() => false], sort: [], splice: [0, 1], toLocaleString: [], toReversed: [], toSorted: [], toSpliced: [0, 1], unshift: [1], with: [0, 1],
};
// These refuse a length that an array cannot have.
const REFUSED = ['map', 'slice', 'toReversed', 'toSorted', 'toSpliced', 'with'];

// What the one line is that would hold the thread: fn() is called somewhere on its way.
const hostile = (object, length, fn) => {
    for (const at of [3, length - 5]) Object.defineProperty(object, at, { get: fn, set: fn, configurable: true });
    object.length = length;
    return object;
};
const holder = (fn) => hostile({ [Symbol.isConcatSpreadable]: true }, LONG, fn);
const holes = (fn) => hostile([], FULL, fn);

export class Cell extends DurableObject {
    async object(method) {
        return prototype[method].apply(holder(() => this.ctx.abort('ended')), ARGUMENTS[method]).length;
    }
    async array(method) {
        return prototype[method].apply(holes(() => this.ctx.abort('ended')), ARGUMENTS[method]).length;
    }
    async other(name) {
        const end = () => this.ctx.abort('ended');
        const long = holder(end);
        switch (name) {
            case 'nested flat': return [[holes(end)]].flat(2);
            case 'nested flatMap': return [1].flatMap(() => holes(end));
            case 'concat': return [].concat(1, hostile({ [Symbol.isConcatSpreadable]: true }, FULL - 1, end));
            case 'join': return prototype.join.call(hostile({}, FULL, end), '');
            case 'from': return Array.from(hostile({}, FULL, end));
            case 'from of another class': return Array.from.call(Object, long);
            case 'raw': return String.raw({ raw: long });
            case 'stringify': return JSON.stringify({ a: 1 }, holes(end));
            case 'inherited length': return prototype.indexOf.call(Object.create(long), 1);
            case 'getter of the length': return prototype.indexOf.call({ get length() { return LONG; }, get 3() { return end(); } }, 1);
        }
    }
}

let cells = 0;
const ends = (env, kind, name) => rejects(() => env.CELL.getByName(`${++cells}`)[kind](name), 'Error', 'ended');

test('long objects', async (env) => {
    for (const method of Object.keys(ARGUMENTS)) {
        if (method === 'concat') continue; // Of no such length.
        if (REFUSED.includes(method)) throws(() => prototype[method].apply(holder(() => 0), ARGUMENTS[method]), 'RangeError', 'Invalid array length');
        else if (method === 'join' || method === 'toLocaleString') throws(() => prototype[method].call(holder(() => 0)), 'RangeError', 'Invalid string length');
        else await ends(env, 'object', method);
    }
});

test('long arrays', async (env) => {
    for (const method of Object.keys(ARGUMENTS)) {
        if (method === 'concat' || method === 'includes') continue; // V8 knows of holes there.
        else if (method === 'join' || method === 'toLocaleString') throws(() => prototype[method].call(holes(() => 0)), 'RangeError', 'Invalid string length');
        else await ends(env, 'array', method);
    }
});

test('what is within something', async (env) => {
    for (const name of ['nested flat', 'nested flatMap', 'concat', 'join', 'from', 'from of another class', 'raw', 'stringify', 'inherited length', 'getter of the length']) await ends(env, 'other', name);
});

// ---- The same results

const MANY = 2 ** 24 + 1; // Longer than what V8 is trusted with.
const few = (length) => {
    const list = [3, 1, 2, , 5];
    list.length = length;
    return list;
};
const plain = (list) => ({ keys: Object.keys(list).slice(0, 8), values: Object.values(list).slice(0, 8), length: list.length });

test('objects', () => {
    const make = (length = 5) => ({ 0: 3, 1: 1, 2: 2, 4: 5, get length() { return length; }, set length(v) { length = v; } });
    const seen = [];
    const object = make();
    prototype.forEach.call(object, function (v, i, o) { seen.push(v, i, o === object, this.x); }, { x: 'x' });
    same(seen, [3, 0, true, 'x', 1, 1, true, 'x', 2, 2, true, 'x', 5, 4, true, 'x']);
    equal(prototype.reduce.call(object, (a, v, i, o) => (o === object ? a + v : NaN)), 11);
    equal(prototype.reduceRight.call(object, (a, v) => `${a}${v}`), '5213');
    equal(prototype.reverse.call(object), object);
    same(plain(object), { keys: ['0', '2', '3', '4', 'length'], values: [5, 2, 1, 3, 5], length: 5 });
    equal(prototype.sort.call(object), object);
    same(plain(object), { keys: ['0', '1', '2', '3', 'length'], values: [1, 2, 3, 5, 5], length: 5 });
    equal(prototype.shift.call(object), 1);
    equal(prototype.unshift.call(object, 7, 8), 6);
    same(prototype.splice.call(object, 1, 2, 'x'), [8, 2]);
    same(prototype.slice.call(object, 0), [7, 'x', 3, 5, null]);
    same(prototype.toSorted.call(make()), [1, 2, 3, 5, null]);
    same(prototype.flatMap.call(make(), (v) => [v, [v]]), [3, [3], 1, [1], 2, [2], 5, [5]]);
    equal(prototype.lastIndexOf.call(make(), 1), 1);
    equal(prototype.lastIndexOf.call(make(), 1, undefined), -1);
    same(prototype.concat.call({ length: 1 }, [1]).length, 2);
    same(prototype.map.call(new Uint8Array([1, 2]), (v) => v * 2), [2, 4]);
    same(prototype.filter.call('abc', (c) => c > 'a'), ['b', 'c']);
    (function () { same(prototype.slice.call(arguments, 1), [2, 3]); })(1, 2, 3);
    const getters = { get length() { return 1; }, get 0() { return this === getters; } };
    same(prototype.slice.call(getters), [true]);
    const frozen = Object.freeze({ 0: 2, 1: 1, length: 2 });
    throws(() => prototype.sort.call(frozen), 'TypeError');
    throws(() => prototype.fill.call(Object.freeze({ get length() { return 1; }, 0: 1 }), 2), 'TypeError');
    for (const method of Object.keys(ARGUMENTS)) for (const self of [null, undefined]) throws(() => prototype[method].apply(self, ARGUMENTS[method]), 'TypeError');
    throws(() => prototype.sort.call({}, 5), 'TypeError', /comparison function/i);
    throws(() => [].flatMap(5), 'TypeError', /is not (a function|callable)/); // V8's own words
});

test('arrays', () => {
    equal(few(MANY).indexOf(5), 4);
    same(few(5).flat(), [3, 1, 2, 5]);
    same([1, [2, [3, [4]]]].flat(), [1, 2, [3, [4]]]);
    same([1, [2, [3, [4]]]].flat(Infinity), [1, 2, 3, 4]);
    same([1, [2]].flat(0), [1, [2]]);
    same([1, [2]].flat(NaN), [1, [2]]);
    const loop = [];
    loop.push(loop);
    throws(() => loop.flat(Infinity), 'RangeError');
    class List extends Array {}
    ok(List.of(1, [2]).flat() instanceof List && List.of(1).map((v) => v) instanceof List);
    same([1].concat(2, [3], { length: 1, 0: 4, [Symbol.isConcatSpreadable]: true }, { length: 9 }), [1, 2, 3, 4, { length: 9 }]);
    const proxy = new Proxy([3, 1, 2], {});
    equal(proxy.sort(), proxy);
    same(proxy, [1, 2, 3]);
    for (const method of ['sort', 'toSorted']) {
        let asked = 0;
        const liar = new Proxy([3, 1, 2], { get: (target, key) => (key === 'length' && asked++ > 0 ? FULL : target[key]) });
        equal(liar[method]()[0], 1);
    }
});

test('a long list of keys for JSON', () => {
    const keys = ['b', 1, new String('a'), new Number(2), 'b', {}, null];
    const value = { a: 1, b: { a: 2, c: 3 }, 1: 4, 2: 5, 3: 6, null: 7 };
    const want = JSON.stringify(value, keys, 1);
    keys.length = MANY;
    equal(JSON.stringify(value, keys, 1), want);
    equal(want.replaceAll(/\s/g, ''), '{"b":{"a":2},"1":4,"a":1,"2":5}');
    equal(JSON.stringify.length, 3);
    equal(String(JSON.stringify), 'function stringify() { [native code] }');
});

test('from and raw', () => {
    same(Array.from('abc'), ['a', 'b', 'c']);
    same(Array.from({ length: 2 }, (v, i) => i), [0, 1]);
    same(Array.from({ get length() { return 2; }, 0: 'a' }), ['a', null]);
    same(Array.from(new Map([[1, 2]])), [[1, 2]]);
    same(Array.from(5), []);
    throws(() => Array.from(null), 'TypeError');
    equal(String.raw`a${1}\n`, 'a1\\n');
    equal(String.raw({ raw: 'xyz' }, 0, 1), 'x0y1z');
    equal(String.raw({ raw: { length: 2, 0: 'a', 1: 'b' } }, '-'), 'a-b');
    throws(() => String.raw(), 'TypeError');
    throws(() => String.raw({}), 'TypeError');
});

test('they look like those of V8', () => {
    for (const [object, name, length] of [[prototype, 'indexOf', 1], [prototype, 'splice', 2], [prototype, 'flat', 0], [prototype, 'with', 2], [Array, 'from', 1], [String, 'raw', 1], [Function.prototype, 'toString', 0]]) {
        const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(object, name);
        same([value.name, value.length, writable, enumerable, configurable, 'prototype' in value], [name, length, true, false, true, false]);
        same(Reflect.ownKeys(value), ['length', 'name']);
        equal(`${value}`, `function ${name}() { [native code] }`);
        throws(() => new value(), 'TypeError');
    }
    equal(`${() => 1}`, '() => 1');
    throws(() => Function.prototype.toString.call({}), 'TypeError');
});

export default run;
