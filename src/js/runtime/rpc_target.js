// rpc_target.js: the callee's side of JS RPC: objects that can be called, and how a call runs. runtime.md 6.1.
//
// What a stub talks to is a client:
//
//     call(context, path, message) -> Call   message: the arguments as one array; undefined: the property's value is wanted
//     retain() / release()                   one reference each; the last one lets the target go
//
// A client sees names and messages (rpc_message.js) and no JavaScript object of the other side, so that it may be in another isolate.
// The clients here have their target in this isolate: it still belongs to one event, and each call is a turn of its own for that event.
import { currentFrame, runIn, startTimer } from './core.js';
import { RETURN, decode, dropMessage, encode, encodeThrown, reportThrown, settleMessage } from './rpc_message.js';
import { promiseOf, propertyOf, stubRef } from './rpc.js';
import { channelOf } from './service.js';
import { Set, hide } from './primordials.js';

const { report, value_kind } = host;
const PROXY = 1;
const { apply, getPrototypeOf } = Reflect;
const ObjectPrototype = Object.prototype;
const resolved = Promise.resolve();
const nothing = () => {};

export class RpcTarget {}

// ---- What an event has to do with calls

export const NO_LONGER = 'The execution context which hosts this callback is no longer running.';

// Kept for an event from its first call, in either direction, until it ends.
class Traffic {
    #serving = null;
    #calls = null;
    #refs = null;
    constructor(context) {
        context.onEnd(() => {
            for (const deferred of this.#serving ?? []) {
                deferred.reject(context.aborted === null ? new Failure(new Error(NO_LONGER)) : new Failure(undefined, encodeThrown(context.aborted.reason, context)));
            }
            for (const call of this.#calls ?? []) call.cancel();
            for (const ref of this.#refs ?? []) ref.dispose();
        });
    }
    // Deferred: calls that run in it
    get serving() {
        return (this.#serving ??= new Set());
    }
    // Call: what it asked for, and other things with cancel()
    get calls() {
        return (this.#calls ??= new Set());
    }
    // stubs that it holds
    get refs() {
        return (this.#refs ??= new Set());
    }
}
export const trafficOf = (context) => (context.traffic ??= new Traffic(context));

// Why a call failed: a message of the callee, or an error of the runtime's own.
export class Failure {
    constructor(error, message = undefined) {
        this.error = error;
        this.message = message;
    }
}

export class Deferred {
    settled = false;
    value = undefined; // what it was resolved with
    // among: a Set that it is in until it is settled.
    constructor(among = null) {
        this.among = among;
        among?.add(this);
        this.promise = new Promise((resolve, reject) => {
            this.resolve = (value) => {
                if (this.settled) return false;
                this.value = value;
                return this.#settle(resolve, value);
            };
            this.reject = (error) => this.#settle(reject, error);
        });
    }
    #settle(how, value) {
        if (this.settled) return false;
        this.settled = true;
        this.among?.delete(this);
        how(value);
        return true;
    }
}

// One call under way. result: a promise of { message, disposer }, disposer telling that the pipeline is to be kept until the caller
// disposes of the result; rejected with Failure. pipeline: a client for what the call will give; the caller releases it, once.
export class Call {
    constructor(result, pipeline, cancel = nothing) {
        this.result = result;
        this.pipeline = pipeline;
        this.cancel = cancel;
    }
}

// A client that is not known yet.
export class PendingClient {
    #client;
    #refs = 1;
    constructor(promise) {
        this.#client = promise;
        promise.catch(nothing);
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs === 0) this.#client.then((client) => client.release(), nothing);
    }
    call(context, path, message) {
        return pendingCall(this.#client, message, (client) => client.call(context, path, message));
    }
}

// The client of what a call here gives: the pipeline of its answer.
class ServedClient {
    #deferred;
    #refs = 1;
    constructor(deferred) {
        this.#deferred = deferred;
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs !== 0) return;
        const { value, promise } = this.#deferred;
        if (value !== undefined) value.pipeline.release();
        else promise.then(({ pipeline }) => pipeline.release(), nothing);
    }
    call(context, path, message) {
        const { value, promise } = this.#deferred;
        if (value !== undefined) return value.pipeline.call(context, path, message);
        this.#refs++; // Until it has been called: the caller may let go at once.
        return pendingCall(promise, message, ({ pipeline }) => {
            const call = pipeline.call(context, path, message);
            this.release();
            return call;
        });
    }
}

// The Call that make() gives of what the promise gives. Where that fails nobody makes one, and the message is dropped.
export function pendingCall(promise, message, make) {
    const call = promise.then(make, (failure) => {
        dropMessage(message);
        throw failure;
    });
    return new Call(call.then((c) => c.result), new PendingClient(call.then((c) => c.pipeline)), () => call.then((c) => c.cancel(), nothing));
}

export function failedCall(error) {
    const failure = Promise.reject(error instanceof Failure ? error : new Failure(error));
    failure.catch(nothing);
    return new Call(failure, new PendingClient(failure));
}

// ---- Receivers: what a name means

// Which properties of an object can be asked for.
const OWN = 0; // plain objects and functions: what they have themselves
const CLASS = 1; // instances of RpcTarget and of entrypoints: what their classes have
const NONE = 2; // values that have no properties for others

export class Receiver {
    constructor(value, access, reserved, ctx = undefined) {
        this.value = value;
        this.access = access;
        this.reserved = reserved;
        this.ctx = ctx; // [env, ctx] for entrypoints that are no classes
    }
}
const RESERVED = new Set(['dup', 'constructor']);
// runtime.md 6.1
const RESERVED_ENTRYPOINT = new Set([
    ...RESERVED, 'fetch', 'connect', 'alarm', 'webSocketMessage', 'webSocketClose', 'webSocketError', 'scheduled', 'queue', 'then',
]);
export const classReceiver = (instance) => new Receiver(instance, CLASS, RESERVED_ENTRYPOINT);
export const objectReceiver = (object, env, ctx) => new Receiver(object, OWN, RESERVED_ENTRYPOINT, [env, ctx]);

const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
const isFunction = (v) => typeof v === 'function' && promiseOf(v) === undefined && propertyOf(v) === undefined;
// Whether RpcTarget is among the prototypes, also of a Proxy.
export function isTarget(v) {
    for (let proto = getPrototypeOf(v); proto !== null; proto = getPrototypeOf(proto)) if (proto === RpcTarget.prototype) return true;
    return false;
}
export const isTargetProxy = (v) => getPrototypeOf(v) === ObjectPrototype || isTarget(v) || isFunction(v);
// How `new RpcStub(v)` sees v; undefined: not at all.
function accessOf(v) {
    if (getPrototypeOf(v) === ObjectPrototype) return OWN;
    if (isTarget(v)) return CLASS;
    return isFunction(v) ? OWN : undefined;
}

const missing = (name) => {
    throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
};

function property(object, access, reserved, name) {
    if (reserved.has(name)) throw new TypeError(`'${name}' is a reserved method and cannot be called over RPC.`);
    if (access === NONE) missing(name);
    if (Object.hasOwn(object, name) !== (access === OWN)) missing(name);
    const value = object[name];
    if (access === CLASS && value === ObjectPrototype[name]) missing(name);
    return value;
}

// The value at the path, and what it is called on.
function find(receiver, path) {
    let { value: object, access } = receiver;
    const { reserved } = receiver;
    if (path.length === 0) return { value: object, self: object };
    let inStub = false;
    for (let i = 0; i < path.length - 1; i++) {
        object = property(object, access, reserved, path[i]);
        if (!isObject(object)) missing(path[i]);
        if (getPrototypeOf(object) === ObjectPrototype) access = OWN;
        else if (isTarget(object)) access = CLASS;
        else if (stubRef(object) !== undefined || channelOf(object) !== undefined || (inStub && propertyOf(object) !== undefined)) {
            access = CLASS;
            inStub = true;
        } else if (isFunction(object)) access = OWN;
        else missing(path[i]);
    }
    return { value: property(object, access, reserved, path[path.length - 1]), self: object };
}

// An entrypoint that is a plain object has handlers, which take (argument, env, ctx). runtime.md 6.1.
function callHandler(fn, self, args, name, [env, ctx]) {
    const { length } = fn;
    if (length > 3) {
        throw new TypeError(
            `Cannot call handler function "${name}" over RPC because it has the wrong number of arguments. A simple function handler can only be called over RPC if it has ` +
            'exactly the arguments (arg, env, ctx), where only the first argument comes from the client. To support multi-argument RPC functions, use class-based syntax (extending WorkerEntrypoint) instead.',
        );
    }
    if (args.length !== 1) {
        throw new TypeError(
            `Attempted to call RPC function "${name}" with the wrong number of arguments. When calling a top-level handler function that is not declared as part of a class, you ` +
            'must always send exactly one argument. In order to support variable numbers of arguments, the server must use class-based syntax (extending WorkerEntrypoint) instead.',
        );
    }
    return apply(fn, self, [args[0], env, ctx]);
}

// ---- Running a call

// The stubs that came with a message.
export class Group {
    #refs = new Set();
    constructor(context) {
        this.context = context;
    }
    add(ref) {
        this.#refs.add(ref);
    }
    get empty() {
        return this.#refs.size === 0;
    }
    disown() {
        this.#refs.clear();
    }
    dispose() {
        for (const ref of this.#refs) ref.dispose();
        this.#refs.clear();
    }
}

// Runs fn for an event in a turn of its own, after those that were posted before.
const post = (frame, fn) => runIn(frame, startTimer, undefined, frame.context, 0, fn);

// Runs a call for `context`, in a turn of its own if it is posted. make() gives the receiver, in that turn. The Call's result is settled
// when the event ends, too.
export function serve(context, make, path, message, logged, posted = true, frame = context.frame) {
    const deferred = new Deferred(trafficOf(context).serving); // of { message, disposer, pipeline }
    const run = () => {
        if (context.ended) dropMessage(message);
        else if (posted) post(frame, () => invoke(context, make, path, message, deferred, logged));
        else invoke(context, make, path, message, deferred, logged);
    };
    const fail = (failure) => {
        dropMessage(message);
        deferred.reject(failure);
    };
    const waits = settleMessage(message);
    if (waits === undefined) run();
    else waits.then(run, fail);
    return new Call(deferred.promise, new ServedClient(deferred));
}

function invoke(context, make, path, message, deferred, logged) {
    const group = new Group(context);
    let value;
    const fail = (error) => {
        if (logged) reportThrown('rpc', error);
        deferred.reject(new Failure(undefined, encodeThrown(error, context)));
        group.dispose();
    };
    try {
        const receiver = make();
        const found = find(receiver, path);
        value = found.value;
        if (message !== undefined) {
            const name = path.length === 0 ? '(this)' : path.join('.');
            if (typeof value !== 'function') throw new TypeError(`"${name}" is not a function.`);
            const args = decode(message, group);
            value = receiver.ctx === undefined ? apply(value, found.self, args) : callHandler(value, found.self, args, name, receiver.ctx);
        }
    } catch (error) {
        dropMessage(message);
        return fail(error);
    }
    const give = (result) => {
        try {
            if (!deferred.settled) answer(context, result, deferred);
            group.dispose();
        } catch (error) {
            fail(error);
        }
    };
    if (isObject(value)) resolved.then(() => value).then(give, fail);
    else give(value);
}

function answer(context, value, deferred) {
    let access = NONE, dispose;
    if (isObject(value)) {
        if (getPrototypeOf(value) === ObjectPrototype && value_kind(value) !== PROXY) {
            access = OWN;
            const own = value[Symbol.dispose];
            if (typeof own === 'function') dispose = own;
            Reflect.deleteProperty(value, Symbol.dispose); // The caller's copy gets one of its own.
        } else if (channelOf(value) !== undefined) access = CLASS;
    }
    const message = encode(value, context, RETURN);
    let pipeline;
    // What is a single stub serves for the calls made on the result, too.
    if (access === NONE && message.live !== null && message.data.types.length === 1 && message.data.types[0] === 'stub') pipeline = message.live[0].retain();
    else pipeline = new LocalClient(context, new Receiver(value, access, RESERVED), dispose, true);
    const { given } = message;
    if (given !== null) pipeline = new GivingClient(pipeline, given);
    if (!deferred.resolve({ message, pipeline, disposer: dispose !== undefined })) {
        dropMessage(message);
        pipeline.release();
    }
}

// Stubs that are returned are the caller's from now on; the callee's own are needed for calls on the result as long as those last.
class GivingClient {
    #client;
    #given;
    #refs = 1;
    constructor(client, given) {
        this.#client = client;
        this.#given = given;
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs !== 0) return;
        for (const ref of this.#given) ref.dispose();
        this.#client.release();
    }
    call(context, path, message) {
        return this.#client.call(context, path, message);
    }
}

// ---- Clients of objects

class LocalClient {
    #context;
    #receiver;
    #dispose;
    #refs = 1;
    #holds = false; // The event goes on as long as somebody can call.
    #frame; // One made inside a critical section of a cell leads into that section. runtime.md 2.3

    constructor(context, receiver, dispose, holds) {
        this.#context = context;
        const frame = context.gate === null ? undefined : currentFrame();
        this.#frame = frame?.section === undefined || frame.context !== context ? context.frame : frame;
        this.#receiver = receiver;
        this.#dispose = dispose;
        if (holds) this.hold();
    }
    get context() {
        return this.#context;
    }
    get frame() {
        return this.#frame;
    }
    hold() {
        if (this.#holds || this.#context.ended) return;
        this.#holds = true;
        this.#context.hold();
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs !== 0) return;
        const context = this.#context;
        const { value } = this.#receiver;
        const dispose = this.#dispose;
        const leave = this.#holds ? () => context.release() : nothing;
        this.#receiver = this.#dispose = undefined;
        if (dispose === undefined || context.ended) return leave();
        post(this.#frame, () => {
            try {
                apply(dispose, value, []);
            } catch (error) {
                report('dispose', error);
            }
            leave();
        });
    }
    call(from, path, message) {
        const receiver = this.#receiver;
        if (this.#context.ended || receiver === undefined) {
            dropMessage(message);
            return failedCall(new Error(NO_LONGER));
        }
        const call = serve(this.#context, () => receiver, path, message, false, true, this.#frame);
        const done = () => this.release();
        this.retain(); // The stub may go while the call runs.
        call.result.then(done, done);
        return call;
    }
}

const disposerOf = (v) => {
    const dispose = v[Symbol.dispose];
    return typeof dispose === 'function' ? dispose : undefined;
};

// A client of an object that RpcTarget or a function is; of plain objects only for new RpcStub().
export const newTarget = (context, v, holds) => new LocalClient(context, new Receiver(v, accessOf(v) ?? NONE, RESERVED), disposerOf(v), holds);
export function explicitTarget(context, v) {
    if (!isObject(v) || accessOf(v) === undefined) throw new TypeError('RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives.');
    return newTarget(context, v, false);
}
// For one call on a value that the caller has got already.
export const valueTarget = (context, v) => new LocalClient(context, new Receiver(v, isObject(v) ? (accessOf(v) ?? (channelOf(v) !== undefined ? CLASS : NONE)) : NONE, RESERVED), undefined, false);


hide(Traffic, Call, Group);
