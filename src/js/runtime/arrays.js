// arrays.js: methods of arrays that can be ended. V8's own look for terminations where they call something, but not in their loops, so
// `[].indexOf.call({ length: 2 ** 53 - 1 }, 1)`, or `fill` of an array of 2 ** 32 - 1 holes, would hold the thread for hours.
//
// Arrays of ordinary length go to V8 as ever; each method has its own line for that, so that the optimizer sees through it. For what is
// longer, or no array, the same method runs on a proxy of it: each element is a call then.
import { Set, WeakMap } from './primordials.js';
import { isNumberObject, isProxy, isStringObject } from './node/types.js';

const { apply, getOwnPropertyDescriptor, ownKeys, set } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { defineProperty } = Object;
const { isConcatSpreadable, iterator } = Symbol;
const { max, min, trunc } = Math;
const arrays = Array.prototype;
const { concat, copyWithin, every, fill, filter, flat, flatMap, forEach, includes, indexOf, join, lastIndexOf, map, push, reduce, reduceRight, reverse, shift, slice, some, sort, splice } = arrays;
const { toLocaleString, toReversed, toSorted, toSpliced, unshift, with: withOther } = arrays;
const { from } = Array;
const { stringify } = JSON;
const { raw } = String;
const functionText = Function.prototype.toString;

const MOST = 2 ** 24; // Elements: V8 gets through them in a second or two, and no more fit into a heap of 128 MiB.
const TEXT_MAX = 2 ** 29 - 24; // Of V8's strings.

// Whether V8's loops over it end soon.
function short(object) {
    if (object === null || object === undefined) return true; // V8 refuses it.
    if (typeof object !== 'object' && typeof object !== 'function') return typeof object === 'string';
    const own = getOwnPropertyDescriptor(object, 'length');
    return own === undefined ? isView(object) && object.length <= MOST : typeof own.value === 'number' && own.value <= MOST;
}

const forward = { get: (object, key) => object[key], set: (object, key, value) => set(object, key, value) };
const slowly = (object) => (short(object) ? object : new Proxy(Object(object), forward));

function long(method, self, args) {
    const veiled = slowly(self);
    const result = apply(method, veiled, args);
    return result === veiled ? Object(self) : result;
}
// The same for a method whose first argument is a function that gets the object as its last one.
function longCalling(method, self, args) {
    const fn = args[0];
    if (typeof fn !== 'function' || short(self)) return apply(method, self, args);
    const object = Object(self);
    args[0] = function (...given) {
        given[given.length - 1] = object;
        return apply(fn, this, given);
    };
    return long(method, object, args);
}

const lengthOf = (object) => min(max(trunc(+object.length) || 0, 0), 2 ** 53 - 1);

// V8 knows at once what is too long for a text.
function longJoin(method, self, args) {
    if (short(self)) return apply(method, self, args);
    const length = lengthOf(self);
    const separator = method === join && args[0] !== undefined ? (args[0] = `${args[0]}`) : ',';
    if (separator.length * (length - 1) > TEXT_MAX) throw new RangeError('Invalid string length');
    return long(method, self, args);
}

// What sort() and toSorted() put in order: for theirs V8 reserves room for the whole length, and ends the process where that is too much.
// A proxy can tell V8 another length than the one that was looked at.
const sortable = (object) => isArray(object) && !isProxy(object) && object.length <= MOST;
function sortedValues(object, length, holes, compare) {
    const values = [];
    for (let i = 0; i < length; i++) if (holes || i in object) apply(push, values, [object[i]]);
    return apply(sort, values, [compare]);
}
class Sorting { // Methods of classes are strict: what cannot be written throws.
    static long(self, compare) {
        if (typeof compare !== 'function') apply(sort, [], [compare]); // May throw.
        if (self === null || self === undefined) return apply(sort, self, []); // Throws.
        const object = Object(self);
        const length = lengthOf(object);
        const values = sortedValues(object, length, false, compare);
        let i = 0;
        for (; i < values.length; i++) object[i] = values[i];
        for (; i < length; i++) delete object[i];
        return object;
    }
    static longCopy(self, compare) {
        if (typeof compare !== 'function') apply(sort, [], [compare]); // May throw.
        if (self === null || self === undefined) return apply(sort, self, []); // Throws.
        const length = lengthOf(self);
        if (length > 2 ** 32 - 1) throw new RangeError('Invalid array length');
        return sortedValues(Object(self), length, true, compare);
    }
}

// Whether flat() finds short arrays only. Elements with a getter are read twice.
function shortWithin(array, depth) {
    if (array.length > MOST) return false;
    if (depth >= 1) for (let i = 0; i < array.length; i++) if (isArray(array[i]) && !shortWithin(array[i], depth - 1)) return false;
    return true;
}
// Appends the elements of source to target, and in place of arrays theirs, so many levels deep.
function flatten(target, at, source, depth) {
    const length = lengthOf(source);
    for (let i = 0; i < length; i++) {
        if (!(i in source)) continue;
        const value = source[i];
        if (depth > 0 && isArray(value)) at = flatten(target, at, value, depth - 1);
        else defineProperty(target, at++, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    }
    return at;
}

const spread = (value) => ((typeof value !== 'object' && typeof value !== 'function') || value === null || isArray(value) || !value[isConcatSpreadable] ? value : slowly(value));

// Strict: `this` is what they were called on.
class Methods {
    copyWithin(...args) { return isArray(this) && this.length <= MOST ? apply(copyWithin, this, args) : long(copyWithin, this, args); }
    every(...args) { return isArray(this) && this.length <= MOST ? apply(every, this, args) : longCalling(every, this, args); }
    fill(...args) { return isArray(this) && this.length <= MOST ? apply(fill, this, args) : long(fill, this, args); }
    filter(...args) { return isArray(this) && this.length <= MOST ? apply(filter, this, args) : longCalling(filter, this, args); }
    forEach(...args) { return isArray(this) && this.length <= MOST ? apply(forEach, this, args) : longCalling(forEach, this, args); }
    includes(...args) { return isArray(this) && this.length <= MOST ? apply(includes, this, args) : long(includes, this, args); }
    indexOf(...args) { return isArray(this) && this.length <= MOST ? apply(indexOf, this, args) : long(indexOf, this, args); }
    join(...args) { return isArray(this) && this.length <= MOST ? apply(join, this, args) : longJoin(join, this, args); }
    lastIndexOf(...args) { return isArray(this) && this.length <= MOST ? apply(lastIndexOf, this, args) : long(lastIndexOf, this, args); }
    map(...args) { return isArray(this) && this.length <= MOST ? apply(map, this, args) : longCalling(map, this, args); }
    reduce(...args) { return isArray(this) && this.length <= MOST ? apply(reduce, this, args) : longCalling(reduce, this, args); }
    reduceRight(...args) { return isArray(this) && this.length <= MOST ? apply(reduceRight, this, args) : longCalling(reduceRight, this, args); }
    reverse(...args) { return isArray(this) && this.length <= MOST ? apply(reverse, this, args) : long(reverse, this, args); }
    shift(...args) { return isArray(this) && this.length <= MOST ? apply(shift, this, args) : long(shift, this, args); }
    slice(...args) { return isArray(this) && this.length <= MOST ? apply(slice, this, args) : long(slice, this, args); }
    some(...args) { return isArray(this) && this.length <= MOST ? apply(some, this, args) : longCalling(some, this, args); }
    sort(...args) { return sortable(this) ? apply(sort, this, args) : Sorting.long(this, args[0]); }
    splice(...args) { return isArray(this) && this.length <= MOST ? apply(splice, this, args) : long(splice, this, args); }
    toLocaleString(...args) { return isArray(this) && this.length <= MOST ? apply(toLocaleString, this, args) : longJoin(toLocaleString, this, args); }
    toReversed(...args) { return isArray(this) && this.length <= MOST ? apply(toReversed, this, args) : long(toReversed, this, args); }
    toSorted(...args) { return sortable(this) ? apply(toSorted, this, args) : Sorting.longCopy(this, args[0]); }
    toSpliced(...args) { return isArray(this) && this.length <= MOST ? apply(toSpliced, this, args) : long(toSpliced, this, args); }
    unshift(...args) { return isArray(this) && this.length <= MOST ? apply(unshift, this, args) : long(unshift, this, args); }
    with(...args) { return isArray(this) && this.length <= MOST ? apply(withOther, this, args) : long(withOther, this, args); }
    concat(...args) {
        for (let i = 0; i < args.length; i++) args[i] = spread(args[i]);
        return apply(concat, spread(this), args);
    }
    flat(...args) {
        if (this === null || this === undefined) return apply(flat, this, args); // Throws.
        const depth = args[0] === undefined ? 1 : trunc(+args[0]) || 0;
        if (isArray(this) && shortWithin(this, depth)) return apply(flat, this, [depth]);
        const target = isArray(this) ? apply(slice, this, [0, 0]) : []; // Of the same species.
        flatten(target, 0, Object(this), depth);
        return target;
    }
    flatMap(fn, thisArg) {
        if (typeof fn !== 'function') return apply(flatMap, this, [fn]); // Throws.
        const self = this;
        const given = (value, i) => {
            const result = thisArg === undefined ? fn(value, i, self) : apply(fn, thisArg, [value, i, self]);
            return isArray(result) ? slowly(result) : result;
        };
        return apply(flatMap, slowly(this), [given]);
    }
}
class OfArray {
    from(...args) {
        const items = args[0];
        if (!short(items) && (items[iterator] ?? null) === null) args[0] = slowly(items);
        return apply(from, this, args);
    }
}
// The keys that a replacer names which is longer than most: V8 would look at each of its holes.
function keysOf(replacer) {
    const keys = [], known = new Set();
    const length = lengthOf(replacer);
    for (let i = 0; i < length; i++) {
        const item = replacer[i];
        if (typeof item !== 'string' && typeof item !== 'number' && !isStringObject(item) && !isNumberObject(item)) continue;
        const key = `${item}`;
        if (!known.has(key)) apply(push, keys, [key]);
        known.add(key);
    }
    return keys;
}
class OfJSON {
    stringify(value, replacer, space) {
        return stringify(value, isArray(replacer) && replacer.length > MOST ? keysOf(replacer) : replacer, space);
    }
}
class OfString {
    raw(...args) {
        const strings = args[0];
        if (strings !== null && strings !== undefined) args[0] = { raw: slowly(strings.raw) };
        return apply(raw, this, args);
    }
}
const texts = new WeakMap(); // function -> what toString() of it says
class OfFunction {
    toString() {
        return texts.get(this) ?? apply(functionText, this, []);
    }
}

// Puts them in place of V8's, with the same names, lengths and attributes.
export function replaceArrayMethods() {
    for (const [target, { prototype }] of [[arrays, Methods], [Array, OfArray], [String, OfString], [JSON, OfJSON], [Function.prototype, OfFunction]]) {
        for (const key of ownKeys(prototype)) {
            if (key === 'constructor') continue;
            const before = getOwnPropertyDescriptor(target, key);
            const { value } = getOwnPropertyDescriptor(prototype, key);
            defineProperty(value, 'length', { value: before.value.length });
            defineProperty(target, key, { ...before, value });
            texts.set(value, apply(functionText, before.value, []));
        }
    }
}
