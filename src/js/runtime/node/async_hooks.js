// node/async_hooks.js: node:async_hooks on the frames of ../core.js.
import { currentFrame, frameWith, runIn, setFrame } from '../core.js';
import { err, notImplemented, validateFunction, validateObject, validateString } from './errors.js';

// Values travel from one event to another, its I/O does not: frameWith() leaves the context of who calls.

export class AsyncLocalStorage {
    #default;
    #name;
    #disabled = false;
    constructor(options = {}) {
        validateObject(options, 'options');
        const { defaultValue, name } = options;
        if (name !== undefined) validateString(name, 'options.name');
        this.#default = defaultValue;
        this.#name = name ?? '';
    }
    get name() {
        return this.#name;
    }
    #with(store) {
        const map = new Map(currentFrame()?.store);
        map.set(this, store);
        this.#disabled = false;
        return frameWith(map);
    }
    run(store, fn, ...args) {
        return runIn(this.#with(store), fn, undefined, ...args);
    }
    exit(fn, ...args) {
        const map = new Map(currentFrame()?.store);
        map.delete(this);
        return runIn(frameWith(map), fn, undefined, ...args);
    }
    enterWith(store) {
        setFrame(this.#with(store));
    }
    disable() {
        this.#disabled = true;
        const map = new Map(currentFrame()?.store);
        if (map.delete(this)) setFrame(frameWith(map));
    }
    getStore() {
        if (this.#disabled) return this.#default;
        const store = currentFrame()?.store;
        return store !== undefined && store.has(this) ? store.get(this) : this.#default;
    }
    static bind(fn) {
        validateFunction(fn, 'fn');
        return new AsyncResource('Bound function').bind(fn);
    }
    static snapshot() {
        const store = currentFrame()?.store;
        return function snapshot(fn, ...args) {
            return runIn(frameWith(store), fn, this, ...args);
        };
    }
}

let lastId = 1;

export class AsyncResource {
    #store;
    #id = ++lastId;
    #trigger;
    constructor(type, options = {}) {
        validateString(type, 'type');
        if (typeof options === 'number') options = { triggerAsyncId: options };
        const { triggerAsyncId = 1 } = options ?? {};
        if (!Number.isSafeInteger(triggerAsyncId) || triggerAsyncId < -1) throw err.ERR_INVALID_ASYNC_ID('triggerAsyncId', triggerAsyncId);
        this.#store = currentFrame()?.store;
        this.#trigger = triggerAsyncId;
    }
    runInAsyncScope(fn, self, ...args) {
        return runIn(frameWith(this.#store), fn, self, ...args);
    }
    emitDestroy() {
        return this;
    }
    asyncId() {
        return this.#id;
    }
    triggerAsyncId() {
        return this.#trigger;
    }
    bind(fn, self) {
        validateFunction(fn, 'fn');
        const resource = this;
        const bound =
            self === undefined
                ? function (...args) {
                      return resource.runInAsyncScope(fn, this, ...args);
                  }
                : (...args) => resource.runInAsyncScope(fn, self, ...args);
        Object.defineProperties(bound, {
            length: { value: fn.length, configurable: true },
            name: { value: fn.name, configurable: true },
            asyncResource: { value: resource, enumerable: true, configurable: true, writable: true },
        });
        return bound;
    }
    static bind(fn, type, self) {
        return new AsyncResource(type || fn?.name || 'bound-anonymous-fn').bind(fn, self);
    }
}

const resource = { __proto__: null };
export default {
    AsyncLocalStorage,
    AsyncResource,
    asyncWrapProviders: Object.freeze({ __proto__: null }),
    createHook: notImplemented('async_hooks.createHook'),
    executionAsyncId: () => 0,
    executionAsyncResource: () => resource,
    triggerAsyncId: () => 0,
};
