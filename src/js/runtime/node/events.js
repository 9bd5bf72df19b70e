// node/events.js: node:events.
import { inspect } from '../inspect.js';
import { AbortError, err, validateAbortSignal, validateFunction, validateNumber, validateObject, validateString } from './errors.js';

const kCapture = Symbol('kCapture');
const kRejection = Symbol.for('nodejs.rejection');
export const errorMonitor = Symbol('events.errorMonitor');
const kMaxTargetListeners = Symbol('events.maxEventTargetListeners');

let defaultMaxListeners = 10;
let captureByDefault = false;

const isEventTarget = (v) => typeof v?.addEventListener === 'function';

export function EventEmitter(options) {
    EventEmitter.init.call(this, options);
}
EventEmitter.init = function (options) {
    if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
        this._events = { __proto__: null };
        this._eventsCount = 0;
    }
    this._maxListeners ??= undefined;
    if (options?.captureRejections) {
        if (typeof options.captureRejections !== 'boolean') throw err.ERR_INVALID_ARG_TYPE('options.captureRejections', 'boolean', options.captureRejections);
        this[kCapture] = true;
    } else {
        this[kCapture] = captureByDefault;
    }
};
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;
Object.defineProperty(EventEmitter.prototype, kCapture, { value: false, writable: true, enumerable: false });

const limitOf = (emitter) => (emitter._maxListeners === undefined ? defaultMaxListeners : emitter._maxListeners);
function needListener(listener) {
    validateFunction(listener, 'listener');
}

function rejected(emitter, result, type, args) {
    if (!emitter[kCapture]) return;
    let then;
    try {
        then = result.then;
        if (typeof then !== 'function') return;
        then.call(result, undefined, (error) => {
            queueTick(() => {
                if (typeof emitter[kRejection] === 'function') return emitter[kRejection](error, type, ...args);
                const before = emitter[kCapture];
                try {
                    emitter[kCapture] = false; // An error handler that fails again must not come back here.
                    emitter.emit('error', error);
                } finally {
                    emitter[kCapture] = before;
                }
            });
        });
    } catch (error) {
        emitter.emit('error', error);
    }
}
const queueTick = (fn) => globalThis.process.nextTick(fn);

EventEmitter.prototype.setMaxListeners = function setMaxListeners(n) {
    validateNumber(n, 'setMaxListeners', 0);
    this._maxListeners = n;
    return this;
};
EventEmitter.prototype.getMaxListeners = function getMaxListeners() {
    return limitOf(this);
};

EventEmitter.prototype.emit = function emit(type, ...args) {
    const events = this._events;
    if (type === 'error') {
        if (events !== undefined && events[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
        if (events === undefined || events.error === undefined) {
            const [error] = args;
            if (error instanceof Error) throw error;
            let text;
            try {
                text = inspect(error);
            } catch {
                text = error;
            }
            throw Object.assign(err.ERR_UNHANDLED_ERROR(text), { context: error });
        }
    }
    const handler = events?.[type];
    if (handler === undefined) return false;
    const call = (fn) => {
        const result = Reflect.apply(fn, this, args);
        if (result !== undefined && result !== null) rejected(this, result, type, args);
    };
    if (typeof handler === 'function') call(handler);
    else for (const fn of handler.slice()) call(fn);
    return true;
};

function add(target, type, listener, prepend) {
    needListener(listener);
    let events = target._events;
    if (events === undefined) {
        events = target._events = { __proto__: null };
        target._eventsCount = 0;
    } else if (events.newListener !== undefined) {
        target.emit('newListener', type, listener.listener ?? listener);
        events = target._events;
    }
    let existing = events[type];
    if (existing === undefined) {
        events[type] = listener;
        target._eventsCount++;
        return target;
    }
    if (typeof existing === 'function') existing = events[type] = prepend ? [listener, existing] : [existing, listener];
    else if (prepend) existing.unshift(listener);
    else existing.push(listener);
    const max = limitOf(target);
    if (max > 0 && existing.length > max && !existing.warned) {
        existing.warned = true;
        const warning = new Error(
            `Possible EventEmitter memory leak detected. ${existing.length} ${String(type)} listeners added to ${inspect(target, { depth: -1 })}. ` +
                `MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`,
        );
        Object.assign(warning, { name: 'MaxListenersExceededWarning', emitter: target, type, count: existing.length });
        globalThis.process?.emitWarning?.(warning);
    }
    return target;
}

EventEmitter.prototype.addListener = function addListener(type, listener) {
    return add(this, type, listener, false);
};
EventEmitter.prototype.on = EventEmitter.prototype.addListener;
EventEmitter.prototype.prependListener = function prependListener(type, listener) {
    return add(this, type, listener, true);
};

function onceWrap(target, type, listener) {
    const state = { fired: false, wrapped: undefined };
    const wrapped = function (...args) {
        if (state.fired) return undefined;
        target.removeListener(type, wrapped);
        state.fired = true;
        return Reflect.apply(listener, target, args);
    };
    Object.defineProperty(wrapped, 'name', { value: 'bound onceWrapper', configurable: true });
    wrapped.listener = listener;
    return wrapped;
}
EventEmitter.prototype.once = function once(type, listener) {
    needListener(listener);
    return this.on(type, onceWrap(this, type, listener));
};
EventEmitter.prototype.prependOnceListener = function prependOnceListener(type, listener) {
    needListener(listener);
    return this.prependListener(type, onceWrap(this, type, listener));
};

EventEmitter.prototype.removeListener = function removeListener(type, listener) {
    needListener(listener);
    const events = this._events;
    const list = events?.[type];
    if (list === undefined) return this;
    if (list === listener || list.listener === listener) {
        this._eventsCount--;
        if (this._eventsCount === 0) this._events = { __proto__: null };
        else delete events[type];
        if (events.removeListener) this.emit('removeListener', type, list.listener ?? listener);
        return this;
    }
    if (typeof list === 'function') return this;
    const at = list.findLastIndex((fn) => fn === listener || fn.listener === listener);
    if (at === -1) return this;
    list.splice(at, 1);
    if (list.length === 1) events[type] = list[0];
    if (events.removeListener !== undefined) this.emit('removeListener', type, listener);
    return this;
};
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;
EventEmitter.prototype.removeAllListeners = function removeAllListeners(type) {
    const events = this._events;
    if (events === undefined) return this;
    if (events.removeListener === undefined) {
        if (arguments.length === 0) {
            this._events = { __proto__: null };
            this._eventsCount = 0;
        } else if (events[type] !== undefined) {
            if (--this._eventsCount === 0) this._events = { __proto__: null };
            else delete events[type];
        }
        return this;
    }
    if (arguments.length === 0) {
        for (const key of Reflect.ownKeys(events)) if (key !== 'removeListener') this.removeAllListeners(key);
        this.removeAllListeners('removeListener');
        this._events = { __proto__: null };
        this._eventsCount = 0;
        return this;
    }
    const list = events[type];
    if (typeof list === 'function') this.removeListener(type, list);
    else if (list !== undefined) for (let i = list.length - 1; i >= 0; i--) this.removeListener(type, list[i]);
    return this;
};

const listenersOf = (emitter, type, unwrap) => {
    const list = emitter._events?.[type];
    if (list === undefined) return [];
    const all = typeof list === 'function' ? [list] : list.slice();
    return unwrap ? all.map((fn) => fn.listener ?? fn) : all;
};
EventEmitter.prototype.listeners = function listeners(type) {
    return listenersOf(this, type, true);
};
EventEmitter.prototype.rawListeners = function rawListeners(type) {
    return listenersOf(this, type, false);
};
EventEmitter.prototype.listenerCount = function listenerCount(type, listener) {
    const list = listenersOf(this, type, false);
    if (listener === undefined || listener === null) return list.length;
    return list.filter((fn) => fn === listener || fn.listener === listener).length;
};
EventEmitter.prototype.eventNames = function eventNames() {
    return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
};

// ---- Functions of the module

const listen = (emitter, name, fn, flags) => {
    if (typeof emitter.on === 'function') {
        if (flags?.once) emitter.once(name, fn);
        else emitter.on(name, fn);
    } else if (isEventTarget(emitter)) {
        emitter.addEventListener(name, fn, flags);
    } else {
        throw err.ERR_INVALID_ARG_TYPE('emitter', 'EventEmitter', emitter);
    }
};
const unlisten = (emitter, name, fn) => {
    if (typeof emitter.removeListener === 'function') emitter.removeListener(name, fn);
    else if (isEventTarget(emitter)) emitter.removeEventListener(name, fn);
    else throw err.ERR_INVALID_ARG_TYPE('emitter', 'EventEmitter', emitter);
};

export async function once(emitter, name, options = {}) {
    validateObject(options, 'options');
    const { signal } = options;
    validateAbortSignal(signal, 'options.signal');
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    return new Promise((resolve, reject) => {
        const failed = (error) => {
            emitter.removeListener(name, done);
            signal?.removeEventListener('abort', aborted);
            reject(error);
        };
        const done = (...args) => {
            emitter.removeListener?.('error', failed);
            signal?.removeEventListener('abort', aborted);
            resolve(args);
        };
        const aborted = () => {
            unlisten(emitter, name, done);
            emitter.removeListener?.('error', failed);
            reject(new AbortError(undefined, { cause: signal.reason }));
        };
        listen(emitter, name, done, { once: true });
        if (name !== 'error' && typeof emitter.once === 'function') emitter.once('error', failed);
        signal?.addEventListener('abort', aborted, { once: true });
    });
}

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

export function on(emitter, event, options = {}) {
    validateObject(options, 'options');
    const { signal, close } = options;
    validateAbortSignal(signal, 'options.signal');
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    const high = options.highWaterMark ?? options.highWatermark ?? Number.MAX_SAFE_INTEGER;
    const low = options.lowWaterMark ?? options.lowWatermark ?? 1;
    const values = [];
    const waiting = [];
    let error = null;
    let finished = false;
    let paused = false;
    const handler = (...args) => {
        const wait = waiting.shift();
        if (wait !== undefined) return wait.resolve({ value: args, done: false });
        values.push(args);
        if (!paused && values.length > high) {
            paused = true;
            emitter.pause?.();
        }
    };
    const failed = (e) => {
        const wait = waiting.shift();
        if (wait !== undefined) wait.reject(e);
        else error = e;
        iterator.return();
    };
    const aborted = () => failed(new AbortError(undefined, { cause: signal.reason }));
    const closed = () => iterator.return();
    const stop = () => {
        unlisten(emitter, event, handler);
        if (event !== 'error' && typeof emitter.on === 'function') emitter.removeListener('error', failed);
        for (const name of close ?? []) unlisten(emitter, name, closed);
        signal?.removeEventListener('abort', aborted);
    };
    const iterator = Object.setPrototypeOf(
        {
            next() {
                if (values.length > 0) {
                    const value = values.shift();
                    if (paused && values.length < low) {
                        emitter.resume?.();
                        paused = false;
                    }
                    return Promise.resolve({ value, done: false });
                }
                if (error !== null) {
                    const e = error;
                    error = null;
                    return Promise.reject(e);
                }
                if (finished) return Promise.resolve({ value: undefined, done: true });
                return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
            },
            return() {
                stop();
                finished = true;
                for (const wait of waiting.splice(0)) wait.resolve({ value: undefined, done: true });
                return Promise.resolve({ value: undefined, done: true });
            },
            throw(e) {
                if (!(e instanceof Error)) throw err.ERR_INVALID_ARG_TYPE('EventEmitter.AsyncIterator', 'Error', e);
                failed(e);
            },
            [Symbol.asyncIterator]() {
                return this;
            },
        },
        AsyncIteratorPrototype,
    );
    listen(emitter, event, handler);
    if (event !== 'error' && typeof emitter.on === 'function') emitter.on('error', failed);
    for (const name of close ?? []) listen(emitter, name, closed);
    signal?.addEventListener('abort', aborted, { once: true });
    return iterator;
}

export function listenerCount(emitter, type) {
    if (typeof emitter.listenerCount === 'function') return emitter.listenerCount(type);
    return EventEmitter.prototype.listenerCount.call(emitter, type);
}
export function getEventListeners(emitter, type) {
    if (typeof emitter.listeners === 'function') return emitter.listeners(type);
    if (isEventTarget(emitter)) return emitter[Symbol.for('celld.listeners')]?.(type) ?? [];
    throw err.ERR_INVALID_ARG_TYPE('emitter', ['EventEmitter', 'EventTarget'], emitter);
}
export function getMaxListeners(emitter) {
    if (typeof emitter?.getMaxListeners === 'function') return limitOf(emitter);
    if (isEventTarget(emitter)) return emitter[kMaxTargetListeners] ?? defaultMaxListeners;
    throw err.ERR_INVALID_ARG_TYPE('emitter', ['EventEmitter', 'EventTarget'], emitter);
}
export function setMaxListeners(n = defaultMaxListeners, ...targets) {
    validateNumber(n, 'setMaxListeners', 0);
    if (targets.length === 0) {
        defaultMaxListeners = n;
        return;
    }
    for (const target of targets) {
        if (typeof target.setMaxListeners === 'function') target.setMaxListeners(n);
        else if (isEventTarget(target)) Object.defineProperty(target, kMaxTargetListeners, { value: n, writable: true, configurable: true });
        else throw err.ERR_INVALID_ARG_TYPE('eventTargets', ['EventEmitter', 'EventTarget'], target);
    }
}
export function addAbortListener(signal, listener) {
    if (signal === undefined) throw err.ERR_INVALID_ARG_TYPE('signal', 'AbortSignal', signal);
    validateAbortSignal(signal, 'signal');
    validateFunction(listener, 'listener');
    let remove;
    if (signal.aborted) queueMicrotask(() => listener());
    else {
        signal.addEventListener('abort', listener, { once: true });
        remove = () => signal.removeEventListener('abort', listener);
    }
    return {
        [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
            remove?.();
        },
    };
}

// An emitter whose listeners run in the async context of its construction.
let EventEmitterAsyncResource;
function asyncResourceClass() {
    if (EventEmitterAsyncResource !== undefined) return EventEmitterAsyncResource;
    const { AsyncResource } = require('./async_hooks.js');
    EventEmitterAsyncResource = class EventEmitterAsyncResource extends EventEmitter {
        #resource;
        constructor(options = undefined) {
            let name;
            if (typeof options === 'string') [name, options] = [options, undefined];
            else {
                if (new.target === EventEmitterAsyncResource) validateString(options?.name, 'options.name');
                name = options?.name || new.target.name;
            }
            super(options);
            this.#resource = new AsyncResource(name, options);
            this.#resource.eventEmitter = this;
        }
        emit(type, ...args) {
            return this.#resource.runInAsyncScope(super.emit, this, type, ...args);
        }
        emitDestroy() {
            this.#resource.emitDestroy();
        }
        get asyncId() {
            return this.#resource.asyncId();
        }
        get triggerAsyncId() {
            return this.#resource.triggerAsyncId();
        }
        get asyncResource() {
            return this.#resource;
        }
    };
    return EventEmitterAsyncResource;
}

Object.assign(EventEmitter, {
    once,
    on,
    getEventListeners,
    getMaxListeners,
    EventEmitter,
    usingDomains: false,
    captureRejectionSymbol: kRejection,
    errorMonitor,
    setMaxListeners,
    listenerCount,
    addAbortListener,
});
Object.defineProperties(EventEmitter, {
    captureRejections: {
        get: () => captureByDefault,
        set(v) {
            if (typeof v !== 'boolean') throw err.ERR_INVALID_ARG_TYPE('EventEmitter.captureRejections', 'boolean', v);
            captureByDefault = v;
        },
        enumerable: true,
        configurable: true,
    },
    defaultMaxListeners: {
        get: () => defaultMaxListeners,
        set(v) {
            validateNumber(v, 'defaultMaxListeners', 0);
            defaultMaxListeners = v;
        },
        enumerable: true,
        configurable: true,
    },
    EventEmitterAsyncResource: { get: asyncResourceClass, enumerable: true, configurable: true },
});
Object.defineProperty(EventEmitter, 'name', { value: 'EventEmitter', configurable: true });
export default EventEmitter;
