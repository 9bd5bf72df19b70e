// node/timers.js: node:timers and node:timers/promises: timers as objects.
import * as platform from '../timers.js';
import { AbortError, validateAbortSignal, validateBoolean, validateFunction, validateNumber, validateObject } from './errors.js';

const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom');
const MAKE = Symbol('make');

export class Timeout {
    #id;
    #start;
    #ref = true;
    constructor(make, start) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        this.#start = start;
        this.#id = start();
    }
    ref() {
        this.#ref = true;
        return this;
    }
    unref() {
        this.#ref = false;
        return this;
    }
    hasRef() {
        return this.#ref;
    }
    refresh() {
        platform.clearTimeout(this.#id);
        this.#id = this.#start();
        return this;
    }
    close() {
        platform.clearTimeout(this.#id);
        return this;
    }
    [Symbol.toPrimitive]() {
        return this.#id;
    }
    [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
        this.close();
    }
}

export class Immediate {
    #id;
    #ref = true;
    constructor(make, fn, args) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        this.#id = platform.setImmediate(fn, ...args);
    }
    ref() {
        this.#ref = true;
        return this;
    }
    unref() {
        this.#ref = false;
        return this;
    }
    hasRef() {
        return this.#ref;
    }
    [Symbol.toPrimitive]() {
        return this.#id;
    }
    [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
        platform.clearImmediate(this.#id);
    }
}

// Node's bounds: what is too long or no number runs after one millisecond.
const bounded = (ms) => ((ms *= 1) >= 1 && ms <= 2147483647 ? ms : 1);

export function setTimeout(fn, ms, ...args) {
    validateFunction(fn, 'callback');
    return new Timeout(MAKE, () => platform.setTimeout(fn, bounded(ms), ...args));
}
export function setInterval(fn, ms, ...args) {
    validateFunction(fn, 'callback');
    return new Timeout(MAKE, () => platform.setInterval(fn, bounded(ms), ...args));
}
export function setImmediate(fn, ...args) {
    validateFunction(fn, 'callback');
    return new Immediate(MAKE, fn, args);
}
const clear = (timer) => {
    if (timer !== undefined && timer !== null && timer !== '') platform.clearTimeout(typeof timer === 'object' ? timer[Symbol.toPrimitive]?.() : timer);
};
export const clearTimeout = (timer) => clear(timer);
export const clearInterval = (timer) => clear(timer);
export const clearImmediate = (timer) => clear(timer);

// Timers of old: an object with _idleTimeout and _onTimeout.
export function enroll(item, ms) {
    item._idleTimeout = ms;
}
export function unenroll(item) {
    clear(item._timer);
}
export function active(item) {
    clear(item._timer);
    item._timer = setTimeout(() => item._onTimeout?.(), item._idleTimeout);
}

// ---- node:timers/promises

const checkOptions = (options) => {
    validateObject(options, 'options');
    validateAbortSignal(options.signal, 'options.signal');
    if (options.ref !== undefined) validateBoolean(options.ref, 'options.ref');
    return options.signal;
};

function promised(start, stop) {
    return (signal, value) => {
        if (signal?.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
        return new Promise((resolve, reject) => {
            const aborted = () => {
                stop(timer);
                reject(new AbortError(undefined, { cause: signal.reason }));
            };
            const timer = start(() => {
                signal?.removeEventListener('abort', aborted);
                resolve(value);
            });
            signal?.addEventListener('abort', aborted, { once: true });
        });
    };
}

export const promises = {
    async setTimeout(ms, value, options = {}) {
        if (ms !== undefined) validateNumber(ms, 'delay');
        return promised((fn) => setTimeout(fn, ms), clearTimeout)(checkOptions(options), value);
    },
    async setImmediate(value, options = {}) {
        return promised((fn) => setImmediate(fn), clearImmediate)(checkOptions(options), value);
    },
    async *setInterval(ms, value, options = {}) {
        if (ms !== undefined) validateNumber(ms, 'delay');
        const signal = checkOptions(options);
        if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
        let due = 0;
        let wake;
        const timer = setInterval(() => {
            due++;
            wake?.();
            wake = undefined;
        }, ms);
        const aborted = () => wake?.();
        signal?.addEventListener('abort', aborted, { once: true });
        try {
            while (!signal?.aborted) {
                if (due === 0) await new Promise((resolve) => (wake = resolve));
                for (; due > 0; due--) yield value;
            }
            throw new AbortError(undefined, { cause: signal.reason });
        } finally {
            clearInterval(timer);
            signal?.removeEventListener('abort', aborted);
        }
    },
    scheduler: {
        wait: (ms, options) => promises.setTimeout(ms, undefined, options),
        yield: () => promises.setImmediate(),
    },
};
Object.defineProperty(setTimeout, PROMISIFIED, { value: promises.setTimeout, configurable: true });
Object.defineProperty(setImmediate, PROMISIFIED, { value: promises.setImmediate, configurable: true });

export default {
    Immediate,
    Timeout,
    _unrefActive: active,
    active,
    clearImmediate,
    clearInterval,
    clearTimeout,
    enroll,
    promises,
    setImmediate,
    setInterval,
    setTimeout,
    unenroll,
};
