// events.js: Event, EventTarget and the events of the platform, DOMException. runtime.md 5.6.
//
// A list of listeners is never changed: whoever changes it makes a new one. So a dispatch walks over the list that it found, without
// a copy. An exception of a listener goes to the caller of dispatchEvent, as on Workers: the listeners after it are not called.
import { expose, shape } from './core.js';

const { report } = host;

// ---- DOMException: an Error for people, but no subclass of Error (WebIDL, 3.14)

const CODES = {
    INDEX_SIZE_ERR: 1, DOMSTRING_SIZE_ERR: 2, HIERARCHY_REQUEST_ERR: 3, WRONG_DOCUMENT_ERR: 4, INVALID_CHARACTER_ERR: 5,
    NO_DATA_ALLOWED_ERR: 6, NO_MODIFICATION_ALLOWED_ERR: 7, NOT_FOUND_ERR: 8, NOT_SUPPORTED_ERR: 9, INUSE_ATTRIBUTE_ERR: 10,
    INVALID_STATE_ERR: 11, SYNTAX_ERR: 12, INVALID_MODIFICATION_ERR: 13, NAMESPACE_ERR: 14, INVALID_ACCESS_ERR: 15,
    VALIDATION_ERR: 16, TYPE_MISMATCH_ERR: 17, SECURITY_ERR: 18, NETWORK_ERR: 19, ABORT_ERR: 20, URL_MISMATCH_ERR: 21,
    QUOTA_EXCEEDED_ERR: 22, TIMEOUT_ERR: 23, INVALID_NODE_TYPE_ERR: 24, DATA_CLONE_ERR: 25,
};
const CODE_OF_NAME = {
    __proto__: null,
    IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7,
    NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12,
    InvalidModificationError: 13, NamespaceError: 14, InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18,
    NetworkError: 19, AbortError: 20, URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24,
    DataCloneError: 25,
};

class ErrorObject {
    constructor(target, message) {
        return Reflect.construct(Error, [message], target);
    }
}

class DOMExceptionState extends ErrorObject {
    #name;
    #message;
    constructor(target, message, name) {
        super(target, message);
        this.#message = message;
        this.#name = name;
        Error.captureStackTrace(this, target); // V8 writes the stack's first line now, of our name and of a message that is our own.
        delete this.message;
    }
    static name = (e) => e.#name;
    static message = (e) => e.#message;
}
const { name: nameOf, message: messageOf } = DOMExceptionState;

export const DOMException = class {
    constructor(message = '', name = 'Error') {
        return new DOMExceptionState(new.target, `${message}`, typeof name === 'object' && name !== null ? nameOption(name) : `${name}`);
    }
    get name() {
        return nameOf(this);
    }
    get message() {
        return messageOf(this);
    }
    get code() {
        return CODE_OF_NAME[nameOf(this)] ?? 0;
    }
};
// Node's form: { name, cause }.
const nameOption = (options) => `${options.name ?? 'Error'}`;
Object.defineProperty(DOMException, 'name', { value: 'DOMException', configurable: true });
Object.setPrototypeOf(DOMException.prototype, Error.prototype);
constants(DOMException, CODES);

function constants(cls, values) {
    for (const [name, value] of Object.entries(values)) {
        for (const target of [cls, cls.prototype]) Object.defineProperty(target, name, { value, enumerable: true });
    }
}

// ---- Event

const BUBBLES = 1, CANCELABLE = 2, COMPOSED = 4, PREVENTED = 8, STOPPED = 16, STOPPED_NOW = 32, DISPATCHING = 64, TRUSTED = 128;

const needArguments = (count, given, what) => {
    if (given < count) throw new TypeError(`${what}: ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};
const needDictionary = (init, what) => {
    if (init === undefined || init === null) return undefined;
    if (typeof init !== 'object' && typeof init !== 'function') throw new TypeError(`${what}: the options are not an object.`);
    return init;
};

export class Event {
    #type;
    #flags = 0;
    #target = undefined;

    constructor(type, init = undefined) {
        if (arguments.length === 0) needArguments(1, 0, `Failed to construct '${new.target.name}'`);
        this.#type = `${type}`;
        if (init !== undefined) {
            init = needDictionary(init, `Failed to construct '${new.target.name}'`);
            if (init !== undefined) this.#flags = (init.bubbles ? BUBBLES : 0) | (init.cancelable ? CANCELABLE : 0) | (init.composed ? COMPOSED : 0);
        }
    }
    get type() {
        return this.#type;
    }
    get target() {
        return this.#target;
    }
    get srcElement() {
        return this.#target;
    }
    get currentTarget() {
        return this.#target;
    }
    get eventPhase() {
        return (this.#flags & DISPATCHING) !== 0 ? 2 : 0;
    }
    get bubbles() {
        return (this.#flags & BUBBLES) !== 0;
    }
    get cancelable() {
        return (this.#flags & CANCELABLE) !== 0;
    }
    get composed() {
        return (this.#flags & COMPOSED) !== 0;
    }
    get defaultPrevented() {
        return (this.#flags & PREVENTED) !== 0;
    }
    get returnValue() {
        return (this.#flags & PREVENTED) === 0;
    }
    get isTrusted() {
        return (this.#flags & TRUSTED) !== 0;
    }
    get timeStamp() {
        this.#type; // The brand.
        return 0;
    }
    get cancelBubble() {
        return (this.#flags & STOPPED) !== 0;
    }
    set cancelBubble(value) {
        if (value) this.#flags |= STOPPED;
    }
    composedPath() {
        return (this.#flags & DISPATCHING) !== 0 ? [this.#target] : [];
    }
    preventDefault() {
        if ((this.#flags & CANCELABLE) !== 0) this.#flags |= PREVENTED;
    }
    stopPropagation() {
        this.#flags |= STOPPED;
    }
    stopImmediatePropagation() {
        this.#flags |= STOPPED | STOPPED_NOW;
    }

    static internals = {
        isEvent: (v) => typeof v === 'object' && v !== null && #type in v,
        typeOf: (e) => e.#type,
        trust(e) {
            e.#flags |= TRUSTED;
            return e;
        },
        begin(e, target) {
            if ((e.#flags & DISPATCHING) !== 0) throw new DOMException('The event is already being dispatched.', 'InvalidStateError');
            e.#flags |= DISPATCHING;
            e.#target = target;
        },
        stopped: (e) => (e.#flags & STOPPED_NOW) !== 0,
        finish(e) {
            e.#flags &= ~(DISPATCHING | STOPPED | STOPPED_NOW);
            return (e.#flags & PREVENTED) === 0;
        },
    };
}
const { isEvent, typeOf, begin, stopped, finish } = Event.internals;
export const { trust } = Event.internals;
delete Event.internals;
constants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

// ---- EventTarget

class Listener {
    constructor(callback, once, attribute) {
        this.callback = callback; // a function or an object with handleEvent; of an attribute: any object, or null
        this.once = once;
        this.attribute = attribute; // that of `onfoo`
        this.removed = false;
    }
}

const usable = (callback) => typeof callback === 'function' || (typeof callback === 'object' && callback !== null);
const noCapture = (options, what) => {
    if (options === undefined || options === null) return;
    if (typeof options === 'boolean') {
        if (options) throw new TypeError(`${what}(): useCapture must be false.`);
        return;
    }
    if (typeof options !== 'object') throw new TypeError(`${what}(): options must be an object or a boolean.`);
    if (options.capture) throw new TypeError(`${what}(): options.capture must be false.`);
};

const globalListeners = new Map();

export class EventTarget {
    #listeners = null; // Map: type -> [Listener]

    static #of(target, make) {
        if (target === undefined || target === null || target === globalThis) return globalListeners;
        const listeners = target.#listeners;
        return listeners === null && make ? (target.#listeners = new Map()) : listeners;
    }

    addEventListener(type, callback, options = undefined) {
        const listeners = EventTarget.#of(this, true);
        needArguments(2, arguments.length, "Failed to execute 'addEventListener' on 'EventTarget'");
        type = `${type}`;
        let once = false;
        let signal;
        const none = callback === undefined || callback === null;
        if (options !== undefined) {
            if (!none) noCapture(options, 'addEventListener');
            if (typeof options === 'object' && options !== null) {
                if (options.passive && !none) throw new TypeError('addEventListener(): options.passive must be false.');
                once = Boolean(options.once);
                signal = options.signal;
                if (signal !== undefined && !isSignal(signal)) throw new TypeError("Failed to execute 'addEventListener' on 'EventTarget': options.signal is not an AbortSignal.");
            }
        }
        if (none) return;
        if (typeof callback !== 'function' && (typeof callback !== 'object' || typeof callback.handleEvent !== 'function')) {
            throw new TypeError("Failed to execute 'addEventListener' on 'EventTarget': the listener is neither a function nor an object with a handleEvent method.");
        }
        if (signal?.aborted) return;
        if (listeners === globalListeners && SERVICE_WORKER.has(type)) throw new Error(`Service Worker syntax is not supported: addEventListener("${type}") in the global scope is never called. Export a ${type}() handler from the main module instead (export default { ${type}() { ... } }).`);
        const list = listeners.get(type);
        if (list === undefined) listeners.set(type, [new Listener(callback, once, false)]);
        else {
            for (const l of list) if (l.callback === callback && !l.attribute) return;
            listeners.set(type, [...list, new Listener(callback, once, false)]);
        }
        if (signal !== undefined) onAbort(signal, () => remove(this, type, callback));
        if (isSignal(this)) signalChanged(this);
    }

    removeEventListener(type, callback, options = undefined) {
        EventTarget.#of(this, false);
        needArguments(2, arguments.length, "Failed to execute 'removeEventListener' on 'EventTarget'");
        if (callback !== undefined && callback !== null) noCapture(options, 'removeEventListener');
        remove(this, `${type}`, callback);
        if (isSignal(this)) signalChanged(this);
    }

    dispatchEvent(event) {
        const listeners = EventTarget.#of(this, false);
        needArguments(1, arguments.length, "Failed to execute 'dispatchEvent' on 'EventTarget'");
        if (!isEvent(event)) throw new TypeError("Failed to execute 'dispatchEvent' on 'EventTarget': the argument is not an Event.");
        return run(this ?? globalThis, listeners, event);
    }

    static internals = {
        listenersOf: EventTarget.#of,
        // Calls the listeners of an event that the runtime made.
        dispatch: (target, event) => run(target, EventTarget.#of(target, false), event),
        // Whether anybody listens.
        hears: (target, type) => {
            const list = EventTarget.#of(target, false)?.get(type);
            return list !== undefined && list.some((l) => l.callback !== null);
        },
    };
}
const { listenersOf } = EventTarget.internals;
export const { dispatch, hears } = EventTarget.internals;
delete EventTarget.internals;

const SERVICE_WORKER = new Set(['fetch', 'scheduled', 'tail', 'trace', 'alarm', 'queue', 'email', 'install', 'activate']);

function remove(target, type, callback) {
    const listeners = listenersOf(target, false);
    const list = listeners?.get(type);
    if (list === undefined) return;
    const at = list.findIndex((l) => l.callback === callback && !l.attribute);
    if (at < 0) return;
    list[at].removed = true;
    if (list.length === 1) listeners.delete(type);
    else listeners.set(type, list.toSpliced(at, 1));
}

function run(target, listeners, event) {
    begin(event, target);
    try {
        const type = typeOf(event);
        const list = listeners === null ? undefined : listeners.get(type);
        if (list !== undefined && !stopped(event)) {
            for (let i = 0; i < list.length; i++) {
                const l = list[i];
                if (l.removed) continue;
                if (l.once) remove(target, type, l.callback);
                const callback = l.callback;
                if (typeof callback === 'function') {
                    const result = callback.call(target, event);
                    if (l.attribute && result === false) event.preventDefault();
                } else if (callback !== null && typeof callback.handleEvent === 'function') callback.handleEvent(event);
                if (stopped(event)) break;
            }
        }
    } finally {
        finish(event);
    }
    return !event.defaultPrevented;
}

// The attribute on<type> of a class of EventTargets: its place among the listeners is where it was first set.
export function handlerAttributes(cls, ...types) {
    const define = (type) => {
        const slot = (target) => listenersOf(target, true).get(type)?.find((l) => l.attribute);
        const accessors = {
            get [`on${type}`]() {
                return slot(this)?.callback ?? null;
            },
            set [`on${type}`](value) {
                setHandler(this, type, usable(value) ? value : null);
                if (isSignal(this)) signalChanged(this);
            },
        };
        Object.defineProperty(cls.prototype, `on${type}`, { ...Object.getOwnPropertyDescriptor(accessors, `on${type}`), enumerable: true, configurable: true });
    };
    types.forEach(define);
}

function setHandler(target, type, callback) {
    const listeners = listenersOf(target, true);
    const list = listeners.get(type) ?? [];
    const known = list.find((l) => l.attribute);
    if (known !== undefined) known.callback = callback;
    else if (callback !== null) listeners.set(type, [...list, new Listener(callback, false, true)]);
}

// abort.js comes later, and needs EventTarget.
let isSignal, onAbort, signalChanged;
export const provideSignals = (is, on, changed) => ([isSignal, onAbort, signalChanged] = [is, on, changed]);

// ---- Events with something in them

export class CustomEvent extends Event {
    #detail = null;
    constructor(type, init = undefined) {
        super(type, init);
        if (init?.detail !== undefined) this.#detail = init.detail;
    }
    get detail() {
        return this.#detail;
    }
}

export class ErrorEvent extends Event {
    #message = '';
    #filename = '';
    #lineno = 0;
    #colno = 0;
    #error = undefined;
    constructor(type, init = undefined) {
        super(type, init);
        if (init === undefined || init === null) return;
        if (init.message !== undefined) this.#message = `${init.message}`;
        if (init.filename !== undefined) this.#filename = `${init.filename}`;
        if (init.lineno !== undefined) this.#lineno = init.lineno >>> 0;
        if (init.colno !== undefined) this.#colno = init.colno >>> 0;
        this.#error = init.error;
    }
    get message() {
        return this.#message;
    }
    get filename() {
        return this.#filename;
    }
    get lineno() {
        return this.#lineno;
    }
    get colno() {
        return this.#colno;
    }
    get error() {
        return this.#error;
    }
}

export class MessageEvent extends Event {
    #data = null;
    #origin = '';
    #lastEventId = '';
    #source = null;
    #ports = null;
    constructor(type, init = undefined) {
        if (init === DATA) {
            super('message');
            trust(this);
            this.#data = type;
            return;
        }
        super(type, init);
        if (init === undefined || init === null) return;
        if (init.data !== undefined) this.#data = init.data;
        if (init.origin !== undefined) this.#origin = `${init.origin}`;
        if (init.lastEventId !== undefined) this.#lastEventId = `${init.lastEventId}`;
        this.#source = init.source ?? null;
        if (init.ports !== undefined) this.#ports = [...init.ports];
    }
    get data() {
        return this.#data;
    }
    get origin() {
        return this.#origin;
    }
    get lastEventId() {
        return this.#lastEventId;
    }
    get source() {
        return this.#source;
    }
    get ports() {
        return (this.#ports ??= []);
    }
}
const DATA = Object.freeze({});
// A message that the runtime delivers.
export const messageEvent = (data) => new MessageEvent(data, DATA);

export class CloseEvent extends Event {
    #code = 0;
    #reason = '';
    #wasClean = false;
    constructor(type, init = undefined) {
        super(type, init);
        if (init === undefined || init === null) return;
        if (init.code !== undefined) this.#code = init.code & 0xffff;
        if (init.reason !== undefined) this.#reason = `${init.reason}`.toWellFormed();
        this.#wasClean = Boolean(init.wasClean);
    }
    get code() {
        return this.#code;
    }
    get reason() {
        return this.#reason;
    }
    get wasClean() {
        return this.#wasClean;
    }
}

export class PromiseRejectionEvent extends Event {
    #promise;
    #reason;
    constructor(type, init) {
        needArguments(2, arguments.length, "Failed to construct 'PromiseRejectionEvent'");
        super(type, init);
        if (init?.promise === undefined) throw new TypeError("Failed to construct 'PromiseRejectionEvent': the member promise is required.");
        this.#promise = init.promise;
        this.#reason = init.reason;
    }
    get promise() {
        return this.#promise;
    }
    get reason() {
        return this.#reason;
    }
}

// ---- Events that only the platform could make, and this one does not

const illegal = () => {
    throw new TypeError('Illegal constructor');
};
export const illegalClass = (name, Base) => Base === undefined ? { [name]: class { constructor() { illegal(); } } }[name] : { [name]: class extends Base { constructor() { illegal(); } } }[name];
const ExtendableEvent = illegalClass('ExtendableEvent', Event);

// ---- The global scope

const WorkerGlobalScope = illegalClass('WorkerGlobalScope', EventTarget);
const ServiceWorkerGlobalScope = illegalClass('ServiceWorkerGlobalScope', WorkerGlobalScope);
Object.setPrototypeOf(globalThis, ServiceWorkerGlobalScope.prototype);

function locationOf(error) {
    let stack;
    try {
        stack = error instanceof Error ? error.stack : undefined;
    } catch {
        return {};
    }
    const found = typeof stack === 'string' ? /\n\s+at (?:.*\()?(.+?):(\d+):(\d+)\)?/.exec(stack) : null;
    return found === null ? {} : { filename: found[1], lineno: Number(found[2]), colno: Number(found[3]) };
}

const textOf = (error) => {
    try {
        return error instanceof Error ? `${error.name}: ${error.message}` : `${error}`;
    } catch {
        return 'an error without a text';
    }
};

// What nobody caught: an error event, and the log unless a listener prevents that.
export function reportUncaught(error, where) {
    if (hears(globalThis, 'error')) {
        const event = trust(new ErrorEvent('error', { cancelable: true, message: `Uncaught ${textOf(error)}`, error, ...locationOf(error) }));
        try {
            if (!dispatch(globalThis, event)) return;
        } catch (another) {
            report(where, another);
        }
    }
    report(where, error);
}

export function reportError(error) {
    if (arguments.length === 0) throw new TypeError("Failed to execute 'reportError' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Value'.");
    reportUncaught(error, 'reportError');
}

// A rejection that nobody handles, and one that somebody handles after all.
export function reportRejection(handled, promise, reason) {
    const type = handled ? 'rejectionhandled' : 'unhandledrejection';
    if (hears(globalThis, type)) {
        const event = trust(new PromiseRejectionEvent(type, { promise, reason, cancelable: !handled }));
        try {
            if (!dispatch(globalThis, event)) return;
        } catch (another) {
            report(type, another);
        }
    }
    if (!handled) report('promise', reason);
}

expose({
    Event, EventTarget, CustomEvent, ErrorEvent, MessageEvent, CloseEvent, PromiseRejectionEvent, DOMException,
    ExtendableEvent, FetchEvent: illegalClass('FetchEvent', ExtendableEvent), ScheduledEvent: illegalClass('ScheduledEvent', ExtendableEvent),
    TailEvent: illegalClass('TailEvent', ExtendableEvent), TraceEvent: illegalClass('TraceEvent', ExtendableEvent),
    WorkerGlobalScope, ServiceWorkerGlobalScope,
});
shape(EventTarget);
Object.defineProperty(globalThis, 'reportError', { value: reportError, writable: true, configurable: true, enumerable: true });
