// node/test.js: node:test, as far as code that runs inside a Worker needs it: suites run at once, and mocks.
import { err, validateFunction, validateInteger, validateObject } from './errors.js';

class MockContext {
    #implementation;
    #original;
    #once = new Map();
    #calls = [];
    #restore;
    constructor(implementation, original, restore, times) {
        this.#implementation = implementation;
        this.#original = original;
        this.#restore = restore;
        this.times = times;
        Object.defineProperty(this, 'times', { enumerable: false });
    }
    get calls() {
        return this.#calls.slice();
    }
    callCount() {
        return this.#calls.length;
    }
    mockImplementation(fn) {
        validateFunction(fn, 'implementation');
        this.#implementation = fn;
    }
    mockImplementationOnce(fn, at = this.#calls.length) {
        validateFunction(fn, 'implementation');
        validateInteger(at, 'onCall', this.#calls.length);
        this.#once.set(at, fn);
    }
    resetCalls() {
        this.#calls.length = 0;
    }
    restore() {
        this.#restore?.();
        this.#implementation = this.#original;
        this.#once.clear();
    }
    static run(mock, self, args, target) {
        const at = mock.#calls.length;
        let fn = mock.#once.get(at) ?? mock.#implementation;
        mock.#once.delete(at);
        if (at >= mock.times) fn = mock.#original;
        const call = { arguments: args, error: undefined, result: undefined, stack: new Error(), target, this: self };
        try {
            call.result = target === undefined ? Reflect.apply(fn, self, args) : Reflect.construct(fn, args, target);
            if (target !== undefined) call.this = call.result;
            return call.result;
        } catch (error) {
            call.error = error;
            throw error;
        } finally {
            mock.#calls.push(call);
        }
    }
}
const { run } = MockContext;
delete MockContext.run;

function mocked(original, implementation, restore, times = Infinity) {
    const context = new MockContext(implementation, original, restore, times);
    const proxy = new Proxy(original, {
        apply: (_, self, args) => run(context, self, args, undefined),
        construct: (_, args, target) => run(context, undefined, args, target === proxy ? original : target),
        get: (target, key, receiver) => (key === 'mock' ? context : Reflect.get(target, key, receiver)),
    });
    return proxy;
}

export class MockTracker {
    #mocks = [];
    fn(original = function () {}, implementation = original, options = undefined) {
        if (original !== null && typeof original === 'object') [original, implementation, options] = [function () {}, undefined, original];
        else if (implementation !== null && typeof implementation === 'object') [implementation, options] = [original, implementation];
        validateFunction(original, 'original');
        implementation ??= original;
        validateFunction(implementation, 'implementation');
        const fn = mocked(original, implementation, undefined, options?.times);
        this.#mocks.push(fn.mock);
        return fn;
    }
    method(object, name, implementation, options) {
        if (implementation !== null && typeof implementation === 'object') [implementation, options] = [undefined, implementation];
        if (object === null || (typeof object !== 'object' && typeof object !== 'function')) throw err.ERR_INVALID_ARG_TYPE('object', 'Object', object);
        const { getter = false, setter = false, times } = options ?? {};
        const own = Object.getOwnPropertyDescriptor(object, name);
        let d = own;
        for (let p = object; d === undefined && p !== null; p = Object.getPrototypeOf(p)) d = Object.getOwnPropertyDescriptor(p, name);
        const slot = getter ? 'get' : setter ? 'set' : 'value';
        const original = d?.[slot];
        if (typeof original !== 'function') throw err.ERR_INVALID_ARG_VALUE('methodName', original, 'must be a method');
        const restore = () => (own === undefined ? delete object[name] : Object.defineProperty(object, name, own));
        const fn = mocked(original, implementation ?? original, restore, times);
        Object.defineProperty(object, name, { ...d, configurable: true, [slot]: fn });
        this.#mocks.push(fn.mock);
        return fn;
    }
    getter(object, name, implementation, options) {
        return this.method(object, name, implementation, { ...options, getter: true });
    }
    setter(object, name, implementation, options) {
        return this.method(object, name, implementation, { ...options, setter: true });
    }
    property(object, name, value) {
        validateObject(object, 'object', { functions: true });
        const own = Object.getOwnPropertyDescriptor(object, name);
        Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: own?.enumerable ?? true });
        this.#mocks.push({ restore: () => (own === undefined ? delete object[name] : Object.defineProperty(object, name, own)) });
        return object;
    }
    module() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED('test.mock.module');
    }
    get timers() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED('test.mock.timers');
    }
    restoreAll() {
        for (const mock of this.#mocks) mock.restore();
    }
    reset() {
        this.restoreAll();
        this.#mocks = [];
    }
}

export const mock = new MockTracker();

const hooks = { before: [], after: [], beforeEach: [], afterEach: [] };
const hook = (list) => (fn) => void hooks[list].push(fn);

function parse(name, options, fn) {
    if (typeof name === 'function') [fn, options, name] = [name, undefined, name.name];
    else if (name !== null && typeof name === 'object') [fn, options, name] = [options, name, options?.name ?? ''];
    else if (typeof options === 'function') [fn, options] = [options, undefined];
    return { name: name ?? '<anonymous>', options: options ?? {}, fn: fn ?? (() => {}) };
}

class TestContext {
    constructor(name) {
        this.name = name;
        this.mock = new MockTracker();
        this.signal = new AbortController().signal;
    }
    get assert() {
        return require('./assert.js').default;
    }
    diagnostic(text) {
        console.log(text);
    }
    skip() {}
    todo() {}
    plan() {}
    before(fn) {
        return fn(this);
    }
    after() {}
    beforeEach() {}
    afterEach() {}
    test(...args) {
        return test(...args);
    }
}

export async function test(...args) {
    const { name, options, fn } = parse(...args);
    if (options.skip) return;
    const context = new TestContext(name);
    for (const f of hooks.beforeEach) await f(context);
    try {
        if (fn.length > 1) await new Promise((resolve, reject) => fn(context, (error) => (error ? reject(error) : resolve())));
        else await fn(context);
    } finally {
        for (const f of hooks.afterEach) await f(context);
    }
}
export async function suite(...args) {
    const { name, options, fn } = parse(...args);
    if (!options.skip) await fn(new TestContext(name));
}
test.test = test;
test.it = test;
test.describe = suite;
test.suite = suite;
for (const fn of [test, suite]) {
    fn.skip = async () => {};
    fn.todo = async () => {};
    fn.only = (...args) => fn(...args);
}
export const it = test;
export const describe = suite;
export const before = hook('before');
export const after = hook('after');
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');
export const run_ = () => {
    throw err.ERR_METHOD_NOT_IMPLEMENTED('test.run');
};
const snapshot = { setDefaultSnapshotSerializers() {}, setResolveSnapshotPath() {} };
Object.assign(test, { before, after, beforeEach, afterEach, mock, run: run_, snapshot, MockTracker });
export default test;
