// rpc.js: the caller's side of JS RPC: RpcStub, RpcPromise, RpcProperty. runtime.md 6.1.
//
// All three are Proxies, because any name may be a method of the callee. What stands behind one is kept in a private field of the
// proxy, where no trap and no user code sees it, and in its handler.
import { checkContext, needContext, shape } from './core.js';
import { custom } from './inspect.js';
import { decode, decodeThrown, dropMessage, encodeArguments } from './rpc_message.js';
import { hide } from './primordials.js';
import { Group, RpcTarget, explicitTarget, failedCall, trafficOf, valueTarget } from './rpc_target.js';

const DEPTH_MAX = 64;
const { get, getPrototypeOf, setPrototypeOf } = Reflect;
const nothing = () => {};

class Same {
    constructor(object) {
        return object;
    }
}
class Inside extends Same {
    #state;
    constructor(object, state) {
        super(object);
        this.#state = state;
    }
    static of(v) {
        return ((typeof v === 'object' && v !== null) || typeof v === 'function') && #state in v ? v.#state : undefined;
    }
}
const stateOf = Inside.of;

// An object of the class with that prototype on which every unknown name is a property of the callee. state: has client(path).
export function wildcard(state, prototype, callable) {
    const proxy = new Proxy(callable ? bareFunction(prototype) : Object.create(prototype), new Traps(state));
    new Inside(proxy, state);
    return proxy;
}
function bareFunction(prototype) {
    const target = () => {};
    delete target.name;
    delete target.length;
    setPrototypeOf(target, prototype);
    return target;
}
class Traps {
    constructor(state) {
        this.state = state;
    }
    get(target, key, receiver) {
        // A `then` would make the object a promise. What promises have is in the prototype of those that are.
        if (typeof key === 'symbol' || key === 'then' || key in target) return get(target, key, receiver);
        return new PropertyState(this.state, key).object;
    }
    apply(target, self, args) {
        return this.state.apply(args);
    }
}

// The same, callable, for what each call makes two of, its method and its result: such a function is dear, so they share one, and have
// one of their own only when somebody looks closer at them than to call them or to ask for a name.
class SharedTraps extends Traps {
    #own = null;
    own(shared) {
        return (this.#own ??= bareFunction(getPrototypeOf(shared)));
    }
    get(shared, key, receiver) {
        return super.get(this.#own ?? shared, key, receiver);
    }
    // Here V8 would ask the shared one to agree, as it does for properties that cannot be changed any more: a TypeError.
    preventExtensions() {
        return false;
    }
}
for (const name of ['has', 'deleteProperty', 'defineProperty', 'getOwnPropertyDescriptor', 'ownKeys', 'getPrototypeOf', 'setPrototypeOf']) {
    const plain = Reflect[name];
    SharedTraps.prototype[name] = function (shared, a, b) {
        return plain(this.own(shared), a, b);
    };
}
hide(Traps);
function passing(state, shared) {
    const proxy = new Proxy(shared, new SharedTraps(state));
    new Inside(proxy, state);
    return proxy;
}

// Starts a call, or the read of a property, for the event that runs now: { promise, call, state }.
function begin(state, name, args) {
    let context, call;
    const result = new ResultState();
    try {
        context = needContext();
        const path = [];
        const client = state.client(path);
        if (name !== undefined) path.push(name);
        const message = args === undefined ? undefined : encodeArguments(args, context);
        call = client.call(context, path, message);
    } catch (error) {
        call = failedCall(error);
    }
    result.start(context, call);
    return result;
}

// An async function, so that an error that is made in it has the stack of who awaits; V8 follows a promise with one reaction only.
async function receive(context, call, result) {
    const calls = context === undefined ? undefined : trafficOf(context).calls;
    let answer;
    calls?.add(call);
    try {
        answer = await call.result;
        calls?.delete(call);
    } catch (failure) {
        calls?.delete(call);
        call.pipeline.release();
        throw failure.message === undefined ? failure.error : decodeThrown(failure.message, new Group(context));
    }
    if (result.disposed || context.ended) {
        dropMessage(answer.message);
        call.pipeline.release();
        return undefined;
    }
    const group = new Group(context);
    let value;
    try {
        value = decode(answer.message, group);
    } catch (error) {
        dropMessage(answer.message);
        call.pipeline.release();
        throw error;
    }
    return result.arrived(value, group, answer.disposer);
}

// ---- RpcPromise

class ResultState {
    context = undefined;
    promise = undefined;
    disposed = false;
    #call = undefined; // while it runs
    #value = undefined;
    #object = undefined;

    start(context, call) {
        this.context = context;
        this.#call = call;
        this.promise = receive(context, call, this);
    }
    get object() {
        return (this.#object ??= passing(this, anyPromise));
    }
    // The result has come: it gets a disposer for all that came with it.
    arrived(value, group, disposer) {
        const { pipeline } = this.#call;
        this.#call = undefined;
        this.#value = value;
        let kept = disposer ? pipeline : undefined; // Its release runs the disposer of the callee's object.
        if (!disposer) pipeline.release();
        if (((typeof value !== 'object' || value === null) && typeof value !== 'function') || stubRef(value) !== undefined) {
            group.disown();
            return value;
        }
        const { refs } = trafficOf(this.context);
        const dispose = () => {
            group.dispose();
            kept?.release();
            kept = undefined;
            refs.delete(owner);
        };
        const owner = { dispose };
        if (kept !== undefined) refs.add(owner);
        Object.defineProperty(value, Symbol.dispose, { value: dispose, writable: true, configurable: true, enumerable: false });
        return value;
    }
    // The client for one call on the result.
    client() {
        if (this.disposed) throw new Error('RPC promise used after being disposed.');
        if (this.context !== undefined) checkContext(this.context, this.#call !== undefined ? 'Pipeline' : 'JsRpcPromise');
        this.promise.catch(nothing); // Who calls on the result hears of the failure there.
        if (this.#call !== undefined) return this.#call.pipeline;
        const ref = stubRef(this.#value);
        if (ref !== undefined) return ref.client();
        if ((typeof this.#value !== 'object' || this.#value === null) && typeof this.#value !== 'function') throw new TypeError("Can't pipeline on RPC that did not return an object.");
        return valueTarget(this.context, this.#value);
    }
    apply(args) {
        return begin(this, undefined, args).object;
    }
    // As an argument: a promise of the message that takes its place at the callee.
    send(context) {
        return read(this, undefined, context);
    }
    dispose() {
        if (this.disposed) return;
        this.disposed = true;
        this.#value?.[Symbol.dispose]?.();
    }
}

// The value of a property as a message, for another call's arguments.
function read(state, name, context) {
    const path = [];
    const client = state.client(path);
    if (name !== undefined) path.push(name);
    const call = client.call(context, path, undefined);
    const message = call.result.then((answer) => {
        call.pipeline.release();
        return answer.message;
    });
    message.catch(nothing);
    return message;
}

const illegal = () => {
    throw new TypeError('Illegal constructor');
};

const resultOf = (v) => {
    const state = stateOf(v);
    if (!(state instanceof ResultState)) throw new TypeError('Illegal invocation');
    return state;
};
export class RpcPromise {
    constructor() {
        illegal();
    }
    then(fulfilled, rejected) {
        return resultOf(this).promise.then(fulfilled, rejected);
    }
    catch(rejected) {
        return resultOf(this).promise.catch(rejected);
    }
    finally(fn) {
        return resultOf(this).promise.finally(fn);
    }
    [Symbol.dispose]() {
        resultOf(this).dispose();
    }
}

// ---- RpcProperty

class PropertyState {
    #parent;
    #name;
    #depth;
    constructor(parent, name) {
        this.#parent = parent;
        this.#name = name;
        this.#depth = parent instanceof PropertyState ? parent.#depth + 1 : 0;
        if (this.#depth > DEPTH_MAX) throw new TypeError(`RPC pipelined property path is too deep (max ${DEPTH_MAX}).`);
    }
    get object() {
        return passing(this, anyProperty);
    }
    client(path) {
        const client = this.#parent.client(path);
        path.push(this.#name);
        return client;
    }
    apply(args) {
        return begin(this.#parent, this.#name, args).object;
    }
    read() {
        return begin(this.#parent, this.#name, undefined).promise;
    }
    send(context) {
        return read(this.#parent, this.#name, context);
    }
}

const propertyState = (v) => {
    const state = stateOf(v);
    if (!(state instanceof PropertyState)) throw new TypeError('Illegal invocation');
    return state;
};
export class RpcProperty {
    constructor() {
        illegal();
    }
    then(fulfilled, rejected) {
        return propertyState(this).read().then(fulfilled, rejected);
    }
    catch(rejected) {
        return propertyState(this).read().catch(rejected);
    }
    finally(fn) {
        return propertyState(this).read().finally(fn);
    }
}

// ---- RpcStub

class RefState {
    #client;
    #context;
    constructor(client, context) {
        this.#client = client;
        this.#context = context;
        trafficOf(context).refs.add(this);
    }
    client() {
        if (this.#client === undefined) throw new Error('RPC stub used after being disposed.');
        checkContext(this.#context, 'Client');
        return this.#client;
    }
    apply(args) {
        return begin(this, undefined, args).object;
    }
    dispose() {
        const client = this.#client;
        if (client === undefined) return;
        this.#client = undefined;
        trafficOf(this.#context).refs.delete(this);
        client.release();
    }
}

const refOf = (v) => {
    const state = stateOf(v);
    if (!(state instanceof RefState)) throw new TypeError('Illegal invocation');
    return state;
};
export class RpcStub {
    constructor(target) {
        if (arguments.length === 0) throw new TypeError("Failed to construct 'RpcStub': 1 argument required, but only 0 present.");
        const context = needContext();
        return stubObject(new RefState(explicitTarget(context, target), context));
    }
    dup() {
        const ref = refOf(this);
        return stubObject(new RefState(ref.client().retain(), needContext()));
    }
    [Symbol.dispose]() {
        refOf(this).dispose();
    }
}
const stubObject = (ref) => wildcard(ref, RpcStub.prototype, true);

// A stub that owns one reference to the client; group disposes of it.
export function newStub(client, context, group) {
    const ref = new RefState(client, context);
    group.add(ref);
    return stubObject(ref);
}

const of = (Class) => (v) => {
    const state = stateOf(v);
    return state instanceof Class ? state : undefined;
};
export const stubRef = of(RefState);
export const promiseOf = of(ResultState);
export const propertyOf = of(PropertyState);
export { stateOf, begin };

const anyPromise = bareFunction(RpcPromise.prototype), anyProperty = bareFunction(RpcProperty.prototype);

// Their methods are not to be seen when somebody lists them, but have the web platform's other shape.
for (const cls of [RpcPromise, RpcProperty, RpcStub, RpcTarget]) shape(cls);
// The proxies are functions, and have no name of their own.
for (const cls of [RpcPromise, RpcProperty, RpcStub]) {
    const text = `${cls.name} {}`;
    Object.defineProperty(cls.prototype, custom, { value: () => text, writable: true, configurable: true, enumerable: false });
}
