// messaging.js: MessageChannel, MessagePort, BroadcastChannel. runtime.md 5.6.
//
// The two ports of a channel live in the same isolate. A message is cloned when it is posted and delivered in a task of its own, for
// the event that posted it; code of the global scope, which has no tasks, delivers with the microtasks.
import { absent, currentContext, expose, startTimer, webInterfaces } from './core.js';
import { Blob, File, blobBytes, blobOf, fileOf } from './blob.js';
import { DOMException, Event, EventTarget, dispatch, handlerAttributes, hears, messageEvent, reportUncaught, trust } from './events.js';
import { Headers } from './headers.js';
import { WeakMap } from './primordials.js';

const { clone } = host;
const MAKE = Object.freeze({});

// Classes whose objects cannot be cloned, though V8 would.
const refused = [];
export const refuseClones = (cls) => refused.push(cls);

const resolved = Promise.resolve();

// Deliveries that wait are made together, in order.
const queues = new WeakMap(); // context -> functions
function task(fn) {
    const context = currentContext();
    if (context === undefined || context.ended) return void resolved.then(fn);
    const queue = queues.get(context);
    if (queue !== undefined) return void (queue[queue.length] = fn);
    const first = [fn];
    queues.set(context, first);
    startTimer(context, 0, () => {
        queues.delete(context);
        for (const each of first) each();
    });
}

function deliver(target, event) {
    try {
        dispatch(target, event);
    } catch (error) {
        reportUncaught(error, 'message');
    }
}

// A clone of an object of the platform; undefined: it is none. Most of them cannot be cloned.
export function platformClone(value) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (value instanceof File) return fileOf(blobBytes(value), value.name, value.type, value.lastModified);
    if (value instanceof Blob) return blobOf(blobBytes(value), value.type);
    if (value instanceof Headers) return new Headers(value);
    if (value instanceof DOMException) return new DOMException(value.message, value.name);
    for (let p = Object.getPrototypeOf(value), i = 0; p !== null && i < 8; p = Object.getPrototypeOf(p), i++) {
        if (webInterfaces.has(p)) throw new DOMException(`${value.constructor?.name} object could not be cloned.`, 'DataCloneError');
    }
}

function copy(value) {
    const platform = platformClone(value);
    if (platform !== undefined) return platform;
    if (refused.some((cls) => value instanceof cls)) throw new DOMException(`${value.constructor?.name} object could not be cloned.`, 'DataCloneError');
    return clone(value, undefined);
}

export class MessagePort extends EventTarget {
    #other = null; // null: closed
    #waiting = null; // messages until it is started; null: it is

    constructor(make) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        super();
        this.#waiting = [];
    }
    static pair() {
        const one = new MessagePort(MAKE), two = new MessagePort(MAKE);
        one.#other = two;
        two.#other = one;
        return [one, two];
    }
    postMessage(message, options = undefined) {
        const other = this.#other;
        if (arguments.length === 0) throw new TypeError("Failed to execute 'postMessage' on 'MessagePort': 1 argument required, but only 0 present.");
        const list = Array.isArray(options) ? options : options?.transfer;
        if (list !== undefined && list !== null && [...list].length > 0) throw new Error('Transfer list is not supported');
        const value = copy(message);
        if (other === null) return;
        if (other.#waiting !== null) other.#waiting.push(value);
        else task(() => other.#receive(value));
    }
    #receive(value) {
        if (this.#other !== null && hears(this, 'message')) deliver(this, messageEvent(value));
    }
    start() {
        const waiting = this.#waiting;
        this.#waiting = null;
        for (const value of waiting ?? []) task(() => this.#receive(value));
    }
    close() {
        const other = this.#other;
        if (other === null) return;
        this.#other = other.#other = null;
        for (const port of [this, other]) task(() => deliver(port, trust(new Event('close'))));
    }
}
const { pair } = MessagePort;
delete MessagePort.pair;
handlerAttributes(MessagePort, 'message', 'messageerror', 'close');
const { get, set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
Object.defineProperty(MessagePort.prototype, 'onmessage', {
    get,
    set(value) {
        set.call(this, value);
        start.call(this);
    },
});
const { start } = MessagePort.prototype;

export class MessageChannel {
    #ports = pair();
    get port1() {
        return this.#ports[0];
    }
    get port2() {
        return this.#ports[1];
    }
}

// Its name exists so that bundles load.
export class BroadcastChannel extends EventTarget {
    constructor() {
        throw absent('BroadcastChannel');
    }
}

expose({ MessagePort, MessageChannel, BroadcastChannel });
