// rpc_message.js: values as they travel between a caller and a callee. runtime.md 6.2, 6.3.
//
// A message is { data, live }. data is a copy of the value that structured clone can carry, so it can go to another isolate or node.
// What structured clone does not know (stubs, streams, Headers, errors with their properties) is taken out of the copy: data is then
// { root, slots, types, payloads }, slots say where such an object belongs ([container, key, number, ...]), types and payloads what it
// is made of, and live holds, by the same number, what cannot be copied at all: the clients of stubs, and shared streams. live is null
// for a message without any of this, and data the value itself.
import { AbortSignal, abortSignal, isSignal, newSignal, onAbort } from './abort.js';
import { Blob, File, blobBytes, isBlob } from './blob.js';
import { BodyState, bodyState, knownBody, setBody } from './body.js';
import { ERRORS } from './cell_reset.js';
import { runIn } from './core.js';
import { DOMException } from './events.js';
import { compatibility } from './globals.js';
import { Headers, flatHeaders } from './headers.js';
import { Request, Response, isRequest, isResponse, requestSignal } from './http.js';
import { shareReadable, shareWritable } from './rpc_streams.js';
import { ReadableStream } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { URL } from './url.js';
import { newStub, promiseOf, propertyOf, stubRef } from './rpc.js';
import { isTarget, isTargetProxy, newTarget } from './rpc_target.js';
import { newFetcher, channelOf } from './service.js';
import { push } from './primordials.js';

const { value_kind, message_copy, class_name, entries, report } = host;

// As ../ops_rpc.c numbers them.
const PROXY = 1, FUNCTION = 2, ARRAY = 3, ERROR = 4, MAP = 5, SET = 6, VIEW = 7, PLAIN = 8;

const ObjectPrototype = Object.prototype;
const WRAPPERS = [Number.prototype, String.prototype, Boolean.prototype, BigInt.prototype];
const { getPrototypeOf, isExtensible } = Reflect;
const { isInteger } = Number;

export const dataCloneError = (text) => new DOMException(text, 'DataCloneError');
const refuse = (v) => {
    throw dataCloneError(`Could not serialize object of type "${typeName(v)}". This type does not support serialization.`);
};
const typeName = (v) => (promiseOf(v) !== undefined ? 'RpcPromise' : propertyOf(v) !== undefined ? 'RpcProperty' : class_name(v) || 'Object');

// A place in the copy that is filled by what travels beside it.
class Beside {
    constructor(number) {
        this.number = number;
    }
}

// How stubs are treated whose owner puts them into a message.
const DUPLICATE = 0, TRANSFER = 1;
export const RETURN = 2; // RETURN: transferred once the caller has the result, and calls made on it have ended

class Encoder {
    #seen = new Map(); // object -> its copy, or Beside
    #slots = [];
    #types = [];
    #payloads = [];
    #live = [];
    #given = null; // stubs that are transferred
    #plain = false; // In an error, which brings no capabilities
    #context;
    #ownership;

    constructor(context, ownership) {
        this.#context = context;
        this.#ownership = ownership;
    }

    encode(value) {
        try {
            const data = { __proto__: null, root: null, slots: this.#slots, types: this.#types, payloads: this.#payloads };
            this.#place(data, 'root', this.#walk(value));
            const message = this.#types.length === 0 ? { data: data.root, live: null, given: null } : { data, live: this.#live, given: this.#given };
            // What is no object needs no copy. A symbol is refused there.
            if ((typeof message.data === 'object' && message.data !== null) || typeof message.data === 'symbol') message.data = message_copy(message.data);
            if (this.#ownership === TRANSFER) for (const ref of this.#given ?? []) ref.dispose();
            return message;
        } catch (error) {
            dropLive(this.#types, this.#live);
            throw error;
        }
    }

    #place(container, key, value) {
        if (value instanceof Beside) {
            push(this.#slots, container, key, value.number);
            value = null;
        }
        container[key] = value;
    }
    #beside(v, type, payload = null, live = null) {
        if (this.#plain && live !== null) {
            dropLive([type], [live]);
            refuse(v);
        }
        const number = this.#types.length;
        push(this.#types, type);
        push(this.#payloads, payload);
        push(this.#live, live);
        const beside = new Beside(number);
        if (v !== null) this.#seen.set(v, beside);
        return beside;
    }

    #walk(v) {
        if (v === null || (typeof v !== 'object' && typeof v !== 'function')) return v;
        const known = this.#seen.get(v);
        if (known !== undefined) return known;
        const cap = this.#capability(v);
        if (cap !== undefined) return cap;
        switch (value_kind(v)) {
            case PROXY: return this.#proxy(v);
            case FUNCTION: return this.#stubOf(v, this.#duplicate(v, (d) => typeof d === 'function', 'function'));
            case ARRAY: return this.#container(v, new Array(v.length));
            case ERROR: return this.#error(v);
            case MAP: return this.#collection(v, 'map');
            case SET: return this.#collection(v, 'set');
            case VIEW: return this.#view(v);
            case PLAIN: return v;
            default:
        }
        const proto = getPrototypeOf(v);
        if (proto === ObjectPrototype) return this.#container(v, { __proto__: null });
        if (isTarget(v)) return this.#stubOf(v, this.#duplicate(v, isTarget, 'RpcTarget'));
        return this.#platform(v) ?? (WRAPPERS.includes(proto) ? v : refuse(v));
    }

    #container(v, copy) {
        this.#seen.set(v, copy);
        for (const key of Object.keys(v)) this.#place(copy, key, this.#walk(v[key]));
        return copy;
    }
    #list(values) {
        const copy = new Array(values.length);
        for (let i = 0; i < values.length; i++) this.#place(copy, i, this.#walk(values[i]));
        return copy;
    }
    #collection(v, type) {
        const beside = this.#beside(v, type); // First: what is in it may refer to it.
        this.#payloads[beside.number] = this.#list(entries(v));
        return beside;
    }
    // A view brings its own part of the buffer only.
    #view(v) {
        if (v.byteLength === v.buffer.byteLength && v.buffer instanceof ArrayBuffer) return v;
        const copy = new Uint8Array(v.byteLength);
        copy.set(new Uint8Array(v.buffer, v.byteOffset, v.byteLength));
        const view = v instanceof DataView ? new DataView(copy.buffer) : new (intrinsicOf(v))(copy.buffer);
        this.#seen.set(v, view);
        return view;
    }

    // Name, message, cause and the properties that can be carried.
    #error(v) {
        const payload = { __proto__: null, name: 'Error', message: '', dom: false, props: { __proto__: null } };
        const beside = this.#beside(v, 'error', payload);
        payload.dom = v instanceof DOMException;
        payload.name = `${v.name}`;
        payload.message = `${v.message}`;
        for (const key of new Set([...Object.keys(v), ...['cause', 'errors'].filter((name) => Object.hasOwn(v, name))])) {
            if (key === 'stack' || key === 'message' || key === 'name') continue;
            const mark = this.#mark();
            const outer = this.#plain;
            try {
                this.#plain = true;
                const copy = this.#walk(v[key]);
                if (!(copy instanceof Beside)) message_copy(copy);
                this.#place(payload.props, key, copy);
            } catch {
                this.#undo(mark); // It cannot be carried: dropped.
            } finally {
                this.#plain = outer;
            }
        }
        return beside;
    }
    #mark() {
        return [this.#slots.length, this.#types.length, [...this.#seen]];
    }
    #undo([slots, types, seen]) {
        this.#slots.length = slots;
        dropLive(this.#types.splice(types), this.#live.splice(types));
        this.#payloads.length = types;
        this.#seen = new Map(seen);
    }

    // ---- What the platform's objects are made of

    #platform(v) {
        if (v instanceof Headers) return this.#beside(v, 'headers', flatHeaders(v));
        if (isRequest(v)) return this.#request(v);
        if (isResponse(v)) return this.#response(v);
        if (isBlob(v)) return this.#beside(v, v instanceof File ? 'file' : 'blob', { bytes: blobBytes(v), type: v.type, name: v.name, time: v.lastModified });
        if (v instanceof URL) return this.#beside(v, 'url', v.href);
        if (isSignal(v)) return this.#signal(v);
        if (v instanceof ReadableStream) return this.#readable(v);
        if (v instanceof WritableStream) return this.#beside(v, 'writable', null, shareWritable(v, this.#context, this.#ownership === RETURN));
        return undefined;
    }
    #readable(v) {
        return this.#beside(v, 'readable', null, shareReadable(v, this.#context, this.#ownership === RETURN));
    }
    #body(v) {
        const state = bodyState(v);
        if (state === null) return null;
        state.need();
        const known = knownBody(state);
        if (known === undefined) return { kind: 'stream', type: state.type, length: state.length, stream: this.#readable(state.stream).number };
        const { kind, value, type, length } = known;
        return { kind, value, type, length };
    }
    #request(v) {
        const body = this.#body(v);
        const signal = requestSignal(v);
        return this.#beside(v, 'request', {
            url: v.url, method: v.method, headers: flatHeaders(v.headers), redirect: v.redirect, cf: v.cf === undefined ? undefined : this.#walk(v.cf), body,
            signal: signal === null || signal === undefined ? -1 : (this.#seen.get(signal) ?? this.#signal(signal)).number,
        });
    }
    #response(v) {
        if (v.webSocket !== null) throw dataCloneError('A Response with a WebSocket cannot be sent over RPC; return it from fetch().');
        if (v.status === 0) refuse(v);
        const body = this.#body(v);
        return this.#beside(v, 'response', { status: v.status, statusText: v.statusText, headers: flatHeaders(v.headers), cf: v.cf === undefined ? undefined : this.#walk(v.cf), body });
    }
    #signal(v) {
        const beside = this.#beside(v, 'signal', { aborted: v.aborted, reason: null }, v);
        if (v.aborted) this.#place(this.#payloads[beside.number], 'reason', this.#walk(v.reason));
        return beside;
    }

    // ---- Capabilities

    #capability(v) {
        const ref = stubRef(v);
        if (ref !== undefined) {
            const client = ref.client(); // Throws when it was disposed, or belongs to another event.
            if (this.#ownership !== DUPLICATE) push(this.#given ??= [], ref);
            if (this.#ownership === RETURN && client.context === this.#context) client.hold();
            return this.#beside(v, 'stub', null, client.retain());
        }
        const channel = channelOf(v);
        if (channel !== undefined) return this.#beside(v, 'service', null, channel);
        const promise = promiseOf(v) ?? propertyOf(v);
        if (promise === undefined) return undefined;
        if (this.#ownership === RETURN) refuse(v);
        return this.#beside(v, 'promise', null, promise.send(this.#context));
    }
    #stubOf(v, target) {
        return this.#beside(v, 'stub', null, newTarget(this.#context, target, this.#ownership === RETURN));
    }
    #proxy(v) {
        if (!isTargetProxy(v)) {
            throw dataCloneError('Proxy could not be serialized because it is not a valid RPC receiver type. The Proxy must emulate either a plain object or an RpcTarget, as indicated by the Proxy\'s prototype chain.');
        }
        return this.#stubOf(v, this.#duplicate(v, isTargetProxy, 'Proxy'));
    }
    // With rpc_params_dup_stubs an argument that knows how to duplicate itself is duplicated; another one is given away.
    #duplicate(v, fits, what) {
        if (this.#ownership !== DUPLICATE) return v;
        const { dup } = v;
        if (typeof dup !== 'function') return v;
        const copy = Reflect.apply(dup, v, []);
        if (((typeof copy === 'object' && copy !== null) || typeof copy === 'function') && fits(copy)) return copy;
        const kind = what === 'Proxy' ? 'the same underlying type (RpcTarget or Function) as the Proxy itself represents' : `another ${what}`;
        throw dataCloneError(`Couldn't create a stub for the ${what} because it has a dup() method which did not return ${kind}. Either remove the dup() method or make sure it returns ${what === 'function' ? 'a function' : 'an RpcTarget'}.`);
    }
}

const TypedArray = getPrototypeOf(Uint8Array.prototype);
const tagOf = Object.getOwnPropertyDescriptor(TypedArray, Symbol.toStringTag).get;
const VIEWS = { Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array };
const intrinsicOf = (v) => VIEWS[Reflect.apply(tagOf, v, [])] ?? Uint8Array;

// What is its own copy. Long texts are not taken as such: somebody has to see how large the message is.
const SHORT = 1 << 16;
const isSimple = (v) => (typeof v === 'string' ? v.length <= SHORT : v === null || (typeof v !== 'object' && typeof v !== 'function' && typeof v !== 'symbol' && typeof v !== 'bigint'));

// The value as a message of `context`. Throws DataCloneError and what getters throw.
export const encode = (value, context, ownership) => (isSimple(value) ? { data: value, live: null, given: null } : new Encoder(context, ownership).encode(value));

// The arguments of a call, in an array of the caller's own, which may become the message.
export function encodeArguments(args, context) {
    let simple = args.length <= 16;
    for (let i = 0; simple && i < args.length; i++) simple = isSimple(args[i]);
    if (simple) return { data: args, live: null, given: null };
    return encode(args, context, compatibility('rpc_params_dup_stubs') ? DUPLICATE : TRANSFER);
}

// What a message holds is given up: nobody will open it.
export function dropMessage(message) {
    if (message !== undefined && message.live !== null) dropLive(message.data.types, message.live);
}
function dropLive(types, live) {
    for (let i = 0; i < live.length; i++) {
        if (types[i] === 'stub' || types[i] === 'readable' || types[i] === 'writable') live[i].release();
        else if (types[i] === 'promise' && live[i].data !== undefined) dropMessage(live[i]);
    }
}

// Promises in a message are replaced by what they give before the message is delivered. undefined: there are none.
export function settleMessage(message) {
    if (message === undefined || message.live === null) return undefined;
    const waits = [];
    message.data.types.forEach((type, i) => {
        if (type === 'promise' && !('data' in message.live[i])) push(waits, message.live[i].then((result) => (message.live[i] = result)));
    });
    return waits.length === 0 ? undefined : Promise.all(waits);
}

// ---- Opening

function makeError({ name, message, dom }) {
    if (dom) return new DOMException(message, name);
    const error = new (Object.hasOwn(ERRORS, name) ? ERRORS[name] : Error)(message);
    if (error.name !== name) Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true, enumerable: false });
    return error;
}

const pairs = (flat) => {
    const list = [];
    for (let i = 0; i < flat.length; i += 2) push(list, [flat[i], flat[i + 1]]);
    return list;
};
const withBody = (holder, body, to, made) => {
    if (body !== null) setBody(holder, new BodyState(body.kind, body.kind === 'stream' ? made[body.stream] : body.value, body.type, body.length), to.context);
    return holder;
};

const makers = {
    error: makeError,
    map: () => new Map(),
    set: () => new Set(),
    headers: (flat) => new Headers(pairs(flat)),
    url: (href) => new URL(href),
    blob: ({ bytes, type }) => new Blob([bytes], { type }),
    file: ({ bytes, type, name, time }) => new File([bytes], name, { type, lastModified: time }),
    request: ({ url, method, headers, redirect, cf, body, signal }, live, to, made) =>
        withBody(new Request(url, { method, headers: pairs(headers), redirect, cf, ...(signal < 0 ? {} : { signal: made[signal] }) }), body, to, made),
    response: ({ status, statusText, headers, cf, body }, live, to, made) => withBody(new Response(null, { status, statusText, headers: pairs(headers), cf }), body, to, made),
    signal({ aborted }, source, to) {
        const signal = newSignal(to.context);
        if (!aborted && source !== null) {
            onAbort(source, () => {
                if (!to.context.ended) runIn(to.context.frame, abortSignal, undefined, signal, source.reason);
            });
        }
        return signal;
    },
    readable: (_, share, to) => share.open(to.context),
    writable: (_, share, to) => share.open(to.context),
    stub: (_, client, to) => newStub(client, to.context, to),
    service: (_, channel) => channel.object?.() ?? newFetcher(channel),
    promise: (_, message, to) => decode(message, to),
};
export const knownType = (type) => typeof type === 'string' && Object.hasOwn(makers, type);

// to: { context, add(ref) }: whose the value is, and who owns its stubs.
export function decode(message, to) {
    const { data, live } = message;
    if (live === null) return data;
    message.live = []; // Taken.
    const { slots, types, payloads } = data;
    const made = [];
    for (let i = 0; i < types.length; i++) made[i] = makers[types[i]](payloads[i], live[i], to, made);
    for (let i = 0; i < slots.length; i += 3) slots[i][slots[i + 1]] = made[slots[i + 2]];
    for (let i = 0; i < types.length; i++) fill(types[i], made[i], payloads[i]);
    return data.root;
}

function fill(type, object, payload) {
    if (type === 'map') for (let i = 0; i < payload.length; i += 2) object.set(payload[i], payload[i + 1]);
    else if (type === 'set') for (const member of payload) object.add(member);
    else if (type === 'signal' && payload.aborted) abortSignal(object, payload.reason);
    else if (type === 'error') {
        for (const key of Object.keys(payload.props)) {
            Object.defineProperty(object, key, { value: payload.props[key], writable: true, configurable: true, enumerable: key !== 'cause' && key !== 'errors' });
        }
    }
}

// ---- What is thrown

// The error, or another value, as the caller gets it; never fails.
export function encodeThrown(error, context) {
    try {
        return encode(error, context, RETURN);
    } catch {
        let text = 'The callee threw a value that cannot be sent.';
        try {
            text = `${error?.message ?? error}`;
        } catch {}
        return encode(new Error(text), context, RETURN);
    }
}

// Called in an async function that the caller awaits, so that the error's stack is the caller's.
export function decodeThrown(message, to) {
    const error = decode(message, to);
    if (error instanceof Error && isExtensible(error)) {
        error.remote = true;
        logged.add(error);
    }
    return error;
}

// An error is logged where it was thrown, not again by each caller that lets it pass.
const logged = new WeakSet();
export function reportThrown(where, error) {
    if (!logged.has(error)) report(where, error);
}
