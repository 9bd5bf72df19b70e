// streams/base.js: what all streams stand on: promises, queues, strategies. Streams standard, 7 and 8.
import { expose } from '../core.js';

// What user code may replace later is taken now.
const uncurry = (fn) => Function.prototype.call.bind(fn);
const promiseResolve = Promise.resolve.bind(Promise);
const promiseReject = Promise.reject.bind(Promise);
const promiseThen = uncurry(Promise.prototype.then);
const promiseDeferred = Promise.withResolvers.bind(Promise);
export const apply = Reflect.apply;
export const noop = () => {};

export const resolved = (v) => promiseResolve(v);
export const deferred = promiseDeferred;
export const then = promiseThen;
export const handled = (promise) => {
    promiseThen(promise, undefined, noop);
    return promise;
};
export const rejected = (error) => promiseReject(error);

// Calls ok when `result`, what an algorithm gave, is fulfilled: always later.
export function settle(result, ok, failed) {
    promiseThen(promiseResolve(result), ok, failed);
}

// The same, two turns of the microtasks later when it gave a promise: as WebIDL resolves one promise with another. Who runs first is
// visible where a start and a cancel meet.
export function settleLate(result, ok, failed) {
    if (result === undefined) settle(result, ok, failed);
    else promiseThen(promiseThen(promiseThen(promiseResolve(result))), ok, failed);
}

// Calls the start method of user code. When it throws, the stream is errored, as on Workers: the constructor does not throw.
export function beginWith(controller, start, object) {
    if (start === undefined) return controller.begin(undefined);
    let result;
    try {
        result = apply(start, object, [controller.public]);
    } catch (error) {
        result = promiseReject(error);
    }
    controller.begin(result, true);
}

// A promise that is made when somebody asks for it; its rejection is never reported.
export class Signal {
    settled = 0; // 1 fulfilled, 2 rejected
    value = undefined;
    made = undefined; // what deferred() gave
    get promise() {
        if (this.made === undefined) {
            this.made = promiseDeferred();
            if (this.settled === 1) this.made.resolve(this.value);
            else if (this.settled === 2) this.made.reject(this.value);
            promiseThen(this.made.promise, undefined, noop);
        }
        return this.made.promise;
    }
    resolve(value) {
        if (this.settled !== 0) return;
        this.settled = 1;
        this.value = value;
        if (this.made !== undefined) this.made.resolve(value);
    }
    reject(error) {
        if (this.settled !== 0) return;
        this.settled = 2;
        this.value = error;
        if (this.made !== undefined) this.made.reject(error);
    }
    static rejected(error) {
        const s = new Signal();
        s.reject(error);
        return s;
    }
    static resolved(value) {
        const s = new Signal();
        s.resolve(value);
        return s;
    }
}

export class Queue {
    #items = [];
    #head = 0;
    get length() {
        return this.#items.length - this.#head;
    }
    push(item) {
        const items = this.#items;
        items[items.length] = item;
    }
    peek() {
        return this.#items[this.#head];
    }
    at(i) {
        return this.#items[this.#head + i];
    }
    shift() {
        const items = this.#items;
        const item = items[this.#head];
        items[this.#head++] = undefined;
        if (this.#head === items.length) {
            items.length = 0;
            this.#head = 0;
        } else if (this.#head > 64 && this.#head * 2 > items.length) {
            const rest = items.length - this.#head;
            for (let i = 0; i < rest; i++) items[i] = items[this.#head + i];
            items.length = rest;
            this.#head = 0;
        }
        return item;
    }
    clear() {
        this.#items = [];
        this.#head = 0;
    }
}

// ---- WebIDL

export function dictionary(v, what) {
    if (v === undefined || v === null) return undefined;
    if (typeof v !== 'object' && typeof v !== 'function') throw new TypeError(`${what} is not an object.`);
    return v;
}
export function callback(object, name, what) {
    const fn = object[name];
    if (fn === undefined) return undefined;
    if (typeof fn !== 'function') throw new TypeError(`${what}.${name} is not a function.`);
    return fn;
}
export const illegal = () => new TypeError('Illegal constructor');

// ---- Strategies

// [high water mark or undefined, size or undefined for 1 each, whether there is a size] of a strategy that user code gave.
export function strategyOf(strategy) {
    strategy = dictionary(strategy, 'The queuing strategy');
    if (strategy === undefined) return [undefined, undefined, false];
    let { highWaterMark } = strategy;
    if (highWaterMark !== undefined) highWaterMark = Number(highWaterMark);
    const size = callback(strategy, 'size', 'strategy');
    return [highWaterMark, size === undefined || size === countSize ? undefined : (chunk) => Number(size(chunk)), size !== undefined];
}
export function markOf(highWaterMark, otherwise) {
    if (highWaterMark === undefined) return otherwise;
    if (!(highWaterMark >= 0)) throw new RangeError('Invalid highWaterMark');
    return highWaterMark;
}

const { size: byteLengthSize } = {
    size(chunk) {
        return chunk?.byteLength; // Workers does not throw here.
    },
};
const { size: countSize } = {
    size() {
        return 1;
    },
};
function initOf(init, name) {
    if (init === undefined || init === null || (typeof init !== 'object' && typeof init !== 'function')) throw new TypeError(`Failed to construct '${name}': the argument is not an object.`);
    const { highWaterMark } = init;
    if (highWaterMark === undefined) throw new TypeError(`Failed to construct '${name}': highWaterMark is required.`);
    return Number(highWaterMark);
}
export class ByteLengthQueuingStrategy {
    #highWaterMark;
    constructor(init) {
        this.#highWaterMark = initOf(init, 'ByteLengthQueuingStrategy');
    }
    get highWaterMark() {
        return this.#highWaterMark;
    }
    get size() {
        this.#highWaterMark;
        return byteLengthSize;
    }
}
export class CountQueuingStrategy {
    #highWaterMark;
    constructor(init) {
        this.#highWaterMark = initOf(init, 'CountQueuingStrategy');
    }
    get highWaterMark() {
        return this.#highWaterMark;
    }
    get size() {
        this.#highWaterMark;
        return countSize;
    }
}
expose({ ByteLengthQueuingStrategy, CountQueuingStrategy });

// A size that a strategy computed.
export const isSize = (size) => typeof size === 'number' && size >= 0 && size !== Infinity;

// ---- Views and buffers

const getter = (object, key) => uncurry(Object.getOwnPropertyDescriptor(object, key).get);
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype);
const tagOf = getter(TypedArray, Symbol.toStringTag);
const typed = { buffer: getter(TypedArray, 'buffer'), at: getter(TypedArray, 'byteOffset'), length: getter(TypedArray, 'byteLength') };
const data = { buffer: getter(DataView.prototype, 'buffer'), at: getter(DataView.prototype, 'byteOffset'), length: getter(DataView.prototype, 'byteLength') };
const constructors = { __proto__: null };
for (const cls of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array]) {
    constructors[cls.name] = cls;
}
export const isView = ArrayBuffer.isView;
export const U8 = Uint8Array;
export const View = DataView;
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
const bufferDetached = getter(ArrayBuffer.prototype, 'detached');
const bufferTransfer = uncurry(ArrayBuffer.prototype.transfer);
const bufferSlice = uncurry(ArrayBuffer.prototype.slice);

// What a view looks at, whatever its properties say: { buffer, at, length, make, element }. Out of bounds or detached: length 0.
export function window(view) {
    const tag = tagOf(view);
    const make = tag === undefined ? View : constructors[tag] ?? globalThis[tag]; // V8 adds Float16Array after the snapshot.
    const get = tag === undefined ? data : typed;
    try {
        return { buffer: get.buffer(view), at: get.at(view), length: get.length(view), make, element: make.BYTES_PER_ELEMENT ?? 1 };
    } catch { // DataView's getters throw when the buffer is gone.
        return { buffer: get.buffer(view), at: 0, length: 0, make, element: 1 };
    }
}
export function isArrayBuffer(v) {
    try {
        bufferLength(v);
        return true;
    } catch {
        return false;
    }
}
export const lengthOf = bufferLength;
export const isDetached = bufferDetached;
export const transfer = (buffer) => bufferTransfer(buffer); // TypeError when it is detached or cannot be
export const sliceBuffer = bufferSlice;

// A copy of a part of a buffer's bytes.
export function copyBytes(to, toAt, from, fromAt, length) {
    setBytes(new U8(to, toAt, length), new U8(from, fromAt, length));
}
const setBytes = uncurry(TypedArray.set);
