// core.js: what every other module stands on: frames, the context of an event, operations of the host.
//
// `host` is the parameter of the prelude: the host functions of ../ops.h. It is never reachable from globalThis, and neither is
// anything here. While the snapshot is built host functions exist but must not be called.
//
// A frame is what async functions carry along: which event they work for, the values of AsyncLocalStorage, and of a cell the critical
// section that it runs in (gate.js).
import { Map, Promise, Set, apply, boxed, hide, resolved, then } from './primordials.js';

const { frame_get, frame_set, event_end, report, timer_start } = host;

export class Frame {
    constructor(context, store, section = undefined) {
        this.context = context; // undefined in the global scope
        this.store = store; // undefined, or a Map: AsyncLocalStorage -> value
        this.section = section; // undefined, or the Section of a cell's gate
    }
}

export const currentFrame = frame_get;
export const setFrame = frame_set;

export const currentContext = () => frame_get()?.context;
// The current frame with other values of AsyncLocalStorage.
export function frameWith(store) {
    const frame = frame_get();
    return new Frame(frame?.context, store, frame?.section);
}

export function runIn(frame, fn, self, ...args) {
    const before = frame_get();
    frame_set(frame);
    try {
        return apply(fn, self, args);
    } finally {
        frame_set(before);
    }
}

const ANOTHER_EVENT =
    'Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, and others) ' +
    "created in the context of one request handler cannot be accessed from a different request's handler. " +
    'This is a limitation of Cloudflare Workers which allows us to improve overall performance.';
const ANOTHER_OBJECT =
    'Cannot perform I/O on behalf of a different Durable Object. I/O objects (such as streams, request/response bodies, and others) ' +
    'created in the context of one Durable Object cannot be accessed from a different Durable Object in the same isolate. ' +
    'This is a limitation of Cloudflare Workers which allows us to improve overall performance.';

// The context of the event that runs now. Throws in the global scope.
export function needContext() {
    const context = frame_get()?.context;
    if (context === undefined) {
        throw new Error(
            'Disallowed operation called within global scope. Fetches, timers, sockets and calls of bindings belong into a handler.',
        );
    }
    if (context.ended) throw new Error('The event that this code belongs to has ended; it cannot start anything any more.');
    return context;
}

// Asserts that an object made in `context` is used by it; nobody owns what was made in the global scope. what: the I/O type, for the
// message. All events of a cell have one context. runtime.md 2.7.
export function checkContext(context, what) {
    if (context === undefined) return;
    const current = frame_get()?.context;
    if (current === context) return;
    const ofCell = current !== undefined && current.gate !== null;
    throw new Error(`${ofCell ? ANOTHER_OBJECT : ANOTHER_EVENT} (I/O type: ${what})`);
}

// One delivery from outside. It lives until its handler has answered, its body is through and waitUntil's promises are settled.
// CDN-Loop (RFC 8586) tells whose Workers a request has come through: "celld; loops=3", beside what others say there. Those that
// fetch their own address for ever are ended by that, and not only by their time.
const DEPTH_MAX = 16;
const LOOPS = /^\s*celld\s*;\s*loops=/i;
const isLoops = (fields, i) => fields[i].toLowerCase() === 'cdn-loop';

export function checkDepth(from) {
    if (from.depth >= DEPTH_MAX) throw new Error('Subrequest depth limit exceeded.');
}
// The fields of a request that leaves: what user code says of celld does not count.
export function withLoops(context, fields) {
    checkDepth(context);
    const out = [], told = [];
    for (let i = 0; i < fields.length; i += 2) {
        if (isLoops(fields, i)) told.push(...fields[i + 1].split(',').filter((part) => !LOOPS.test(part) && part.trim() !== '').map((part) => part.trim()));
        else out.push(fields[i], fields[i + 1]);
    }
    told.push(`celld; loops=${context.depth + 1}`);
    out.push('CDN-Loop', told.join(', '));
    return out;
}

export class Context {
    constructor(id) {
        this.id = id;
        this.frame = new Frame(this, undefined);
        this.gate = null; // the input gate, of a cell's
        this.cell = null; // cells.js: whose context it is
        this.holds = 1;
        this.background = 0; // of them: promises given to waitUntil()
        this.ended = false;
        this.waiting = null; // ids of operations in progress
        this.timers = null; // Map: id -> timer
        this.timerNumbers = null; // Set of what timers.js gave out
        this.atEnd = null; // Set of functions
        this.sockets = 0; // open ones that its answer brought: they keep it
        this.gone = null; // called when the client is gone
        this.task = null; // of worker.js: what a fetch event is about
        this.startedAt = null; // milliseconds of the host's clock, once somebody looked
        this.settledAt = null; // when its handler was done
        this.aborted = null; // { reason } after abort()
        this.depth = 0; // calls between entrypoints, and fetches that came back to a celld, that led here
        this.traffic = null; // rpc_target.js
        this.leave = null; // of a call: ends what its handler holds
    }
    hold() {
        this.holds++;
    }
    release() {
        if (--this.holds === 0) this.end();
    }
    waitUntil(promise) {
        this.hold();
        this.background++;
        const done = () => {
            this.background--;
            this.release();
        };
        then(resolved(promise), done, (error) => {
            report('waitUntil', error);
            done();
        });
    }
    onEnd(fn) {
        (this.atEnd ??= new Set()).add(fn);
    }
    // It need not be called any more: an event may live as long as its cell.
    offEnd(fn) {
        this.atEnd?.delete(fn);
    }
    end() {
        if (this.ended) return;
        this.ended = true;
        if (this.waiting !== null) for (const id of this.waiting) waiting.delete(id);
        if (this.atEnd !== null) for (const fn of this.atEnd) fn();
        contexts.delete(this.id);
        event_end(this.id);
    }
}
hide(Frame, Context);

const contexts = new Map(); // id -> Context
export function addContext(context) {
    contexts.set(context.id, context);
    return context;
}
export const newContext = (id) => addContext(new Context(id));
export const contextOf = (id) => contexts.get(id);
export const eachContext = (fn) => contexts.forEach(fn);

// Settings of the node that reach JavaScript; setup() of worker.js fills them in.
export const limits = { handlerBudgetMs: 300000, fetchTimeoutMs: 120000, outboundWebSockets: 32 };

// ---- Operations of the host

let lastOperation = 0;
const waiting = new Map(); // id -> { resolve, reject, context, section }

// Starts op(event, promise, ...args) for the current event: a promise of what it gives.
export function start(op, ...args) {
    return startFor(needContext(), op, ...args);
}

// A promise of { value }, for results that are objects: see boxed().
export function startBoxed(op, ...args) {
    const context = needContext();
    return new Promise((resolve, reject) => begin(context, op, args, (value) => resolve(boxed(value)), reject));
}

export function startFor(context, op, ...args) {
    return new Promise((resolve, reject) => begin(context, op, args, resolve, reject));
}

function begin(context, op, args, resolve, reject) {
    const id = ++lastOperation;
    const section = context.gate === null ? undefined : frame_get()?.section;
    op(context.id, id, ...args); // throws: rejected
    waiting.set(id, { resolve, reject, context, section });
    (context.waiting ??= new Set()).add(id);
}

// Called by the host: exactly once for each operation, unless its event has ended.
export function complete(id, error, value) {
    const wait = waiting.get(id);
    if (wait === undefined) return;
    waiting.delete(id);
    wait.context.waiting.delete(id);
    const { gate } = wait.context;
    if (gate === null || gate.lets(wait.section)) settle(wait, error, value);
    else gate.queue(() => settle(wait, error, value));
}
function settle(wait, error, value) {
    if (error !== undefined) wait.reject(error);
    else wait.resolve(value);
}

// Runs fn(...args) in the frame, for something that arrived for it: at once, or when the input gate of its cell lets it in.
export function arrive(frame, fn, ...args) {
    const { gate } = frame.context;
    if (gate === null || gate.lets(frame.section)) runIn(frame, fn, undefined, ...args);
    else gate.queue(() => runIn(frame, fn, undefined, ...args));
}

// ---- Classes as the web platform has them

// Makes classes visible to user code: not enumerable, with Symbol.toStringTag, and methods and accessors enumerable.
export function expose(classes) {
    for (const [name, cls] of Object.entries(classes)) {
        if (typeof cls === 'function' && cls.prototype !== undefined) shape(cls, name);
        Object.defineProperty(globalThis, name, { value: cls, writable: true, configurable: true, enumerable: false });
    }
}

// Prototypes of the platform's classes: their accessors are what console shows of an object, and structured clone must not take
// their instances for plain objects.
export const webInterfaces = new Set();
export const markPlatform = () => host.platform_mark([...webInterfaces]);

export function shape(cls, name = cls.name.replace(/^_|\d+$/g, '')) { // The bundler renames some: _Name, Name2.
    webInterfaces.add(cls.prototype);
    Object.defineProperty(cls, 'name', { value: name, configurable: true });
    for (const target of [cls.prototype, cls]) {
        for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(target))) {
            if (key === 'constructor' || !d.configurable) continue;
            if (target === cls && (key === 'prototype' || key === 'name' || key === 'length')) continue;
            Object.defineProperty(target, key, { ...d, enumerable: true });
        }
    }
    if (!Object.hasOwn(cls.prototype, Symbol.toStringTag)) {
        Object.defineProperty(cls.prototype, Symbol.toStringTag, { value: name, configurable: true });
    }
    return cls;
}

// These getters give a value that programs may put their own in place of: tests and tracing wrap what ctx gives. The new value is the
// object's own.
export function replaceable(cls, ...names) {
    for (const name of names) {
        const { get } = Object.getOwnPropertyDescriptor(cls.prototype, name);
        const set = { [name](value) { Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true }); } }[name];
        Object.defineProperty(cls.prototype, name, { get, set, enumerable: true, configurable: true });
    }
}

// A name that exists so that bundles load, and says so when it is used.
export function absentClass(name) {
    const cls = { [name]: class { constructor() { throw absent(name); } } }[name];
    return cls;
}
export function absentFunction(name) {
    return { [name]: () => { throw absent(name); } }[name];
}
export const absent = (name) => new Error(`${name} is not implemented in celld.`);

// ---- Timers of the host: fn runs once in its frame, unless the context ends before. free: the input gate does not hold it.

let lastTimer = 0;
const timers = new Map(); // id -> { fn, frame, context, free }
export function startTimer(context, ms, fn, free = context.gate === null) {
    const id = ++lastTimer;
    timer_start(context.id, id, ms);
    timers.set(id, { fn, frame: frame_get(), context, free });
    if (context.timers === null) {
        context.timers = new Set();
        context.onEnd(() => context.timers.forEach((t) => timers.delete(t)));
    }
    context.timers.add(id);
    return id;
}
export function stopTimer(id) {
    const t = timers.get(id);
    if (t === undefined) return;
    timers.delete(id);
    t.context.timers.delete(id);
    if (!t.context.ended) host.timer_stop(t.context.id, id);
}
export function fireTimer(id) {
    const t = timers.get(id);
    if (t === undefined) return;
    if (!t.free && !t.context.gate.lets(t.frame?.section)) {
        t.free = true; // It has its place in the queue, and can still be stopped.
        return t.context.gate.queue(() => fireTimer(id));
    }
    timers.delete(id);
    t.context.timers.delete(id);
    frame_set(t.frame);
    try {
        t.fn();
    } finally {
        frame_set(undefined);
    }
}
