// service.js: service bindings and ctx.exports: requests and calls to entrypoints. runtime.md 6.5.
//
// What is behind a binding is a channel: a client (rpc_target.js) that also takes requests. The one here opens a new event of this
// isolate for each call, with a new instance of the entrypoint.
import { needContext, newContext, runIn, shape, startTimer } from './core.js';
import { BodyState, bodyState, knownBody } from './body.js';
import { offAbort, onAbort } from './abort.js';
import { env } from './bindings.js';
import { flatHeaders } from './headers.js';
import { Request, inboundRequest, isResponse, receivedResponse, requestSignal } from './http.js';
import { begin, stateOf, wildcard } from './rpc.js';
import { decodeThrown, dropMessage, encodeThrown, reportThrown } from './rpc_message.js';
import { openReadable, shareReadable } from './rpc_streams.js';
import { Call, Deferred, Failure, Group, classReceiver, failedCall, objectReceiver, serve, trafficOf } from './rpc_target.js';
import { ExecutionContext, entrypoint, entrypointHandler } from './worker.js';

const { event_open, message_copy, url_parse } = host;

const DEPTH_MAX = 16;
const REDIRECTS_MAX = 20;
const PROPS_MAX = 1 << 20;
const USED = 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.';
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const BODY_FIELDS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']);
const nothing = () => {};

// ---- Events of calls

// An event that works for `from`: its context, and end(), for when its handler is through.
function openEvent(from) {
    if (from.depth >= DEPTH_MAX) throw new Error('Subrequest depth limit exceeded.');
    const context = newContext(event_open());
    context.depth = from.depth + 1;
    return context;
}

// The caller does not want the answer any more: the request's signal tells, and what waitUntil does not hold ends. runtime.md 2.6.
function hangUp(context, leave) {
    if (context.ended) return;
    runIn(context.frame, () => {
        context.gone?.();
        startTimer(context, 0, leave);
    });
}

const once = (fn) => {
    let done = false;
    return () => {
        if (done) return;
        done = true;
        fn();
    };
};

// The entrypoint `name` of this script.
export class LoopbackChannel {
    #name;
    #props;
    constructor(name, props = undefined) {
        this.#name = name;
        this.#props = props;
    }
    get name() {
        return this.#name;
    }
    withProps(props) {
        return new LoopbackChannel(this.#name, props);
    }
    retain() {
        return this;
    }
    release() {}

    call(from, path, message) {
        let context;
        try {
            context = openEvent(from);
        } catch (error) {
            dropMessage(message);
            return failedCall(error);
        }
        const leave = once(() => context.release());
        const receiver = () => {
            const target = entrypoint(this.#name);
            const ctx = new ExecutionContext(context, this.#props === undefined ? {} : message_copy(this.#props));
            return typeof target === 'function' ? classReceiver(new target(ctx, env())) : objectReceiver(target, env(), ctx);
        };
        const call = serve(context, receiver, path, message, true);
        call.result.then(leave, leave);
        call.cancel = () => hangUp(context, leave);
        return call;
    }

    // A promise of the answer's parts; the body is for the event of the caller.
    fetch(from, request, signal) {
        const context = openEvent(from);
        const deferred = new Deferred();
        const leave = once(() => context.release());
        const traffic = trafficOf(from);
        const call = new Call(deferred.promise, undefined, () => hangUp(context, leave));
        const stop = () => {
            deferred.reject(new Failure(signal.reason));
            call.cancel();
        };
        const { serving } = trafficOf(context);
        const settled = () => {
            traffic.calls.delete(call);
            serving.delete(deferred);
            if (signal !== null) offAbort(signal, stop);
        };
        traffic.calls.add(call);
        serving.add(deferred);
        if (signal !== null) onAbort(signal, stop);
        deferred.promise.then(settled, settled);
        const fail = (error) => {
            reportThrown('fetch', error);
            deferred.reject(new Failure(undefined, encodeThrown(error, context)));
            leave();
        };
        const respond = (response) => {
            try {
                if (!isResponse(response)) throw new TypeError("Incorrect type for Promise: the Promise did not resolve to 'Response'.");
                answer(context, from, response, deferred, signal);
                leave();
            } catch (error) {
                fail(error);
            }
        };
        const inbound = this.#request(context, from, request);
        runIn(context.frame, startTimer, undefined, context, 0, () => {
            try {
                const handler = entrypointHandler(entrypoint(this.#name), 'fetch', context, this.#props === undefined ? {} : message_copy(this.#props));
                if (handler === undefined) throw new Error('Handler does not export a fetch() function.');
                const result = handler(inbound);
                if (isResponse(result)) respond(result);
                else Promise.resolve(result).then(respond, fail);
            } catch (error) {
                fail(error);
            }
        });
        return deferred.promise;
    }

    // The request as the callee sees it: the body is taken from the caller's.
    #request(context, from, { method, url, fields, cf, state }) {
        const body = state === null ? null : move(state, from, context, null);
        return inboundRequest(method, url, () => fields, body, cf === undefined ? undefined : message_copy(cf), context);
    }
}

// A body for another event.
function move(state, from, to, signal) {
    const known = knownBody(state);
    if (known !== undefined) return known;
    const share = runIn(from.frame, shareReadable, undefined, runIn(from.frame, () => state.stream), from);
    const failure = (error) => decodeThrown(encodeThrown(error, from), new Group(to));
    return new BodyState('stream', runIn(to.frame, openReadable, undefined, share, to, failure, signal), state.type, state.length);
}

function answer(context, from, response, deferred, signal) {
    const state = bodyState(response);
    if (state !== null && state.unusable) throw new TypeError(USED);
    if (deferred.settled) return; // Nobody waits.
    if (from.ended) return;
    const parts = {
        status: response.status, statusText: response.statusText, fields: flatHeaders(response.headers),
        state: state === null ? null : move(state, context, from, signal), webSocket: response.webSocket,
    };
    deferred.resolve(parts);
}

// ---- Requests over a channel

// fetch(input, init) of a binding.
async function send(channel, input, init) {
    const from = needContext();
    const request = new Request(input, init);
    const signal = requestSignal(request) ?? null;
    signal?.throwIfAborted();
    let { method, url } = request;
    let fields = flatHeaders(request.headers), state = bodyState(request);
    if (state !== null && state.unusable) throw new TypeError(USED);
    for (let hops = 0; ; hops++) {
        let parts;
        try {
            parts = await channel.fetch(from, { method, url, fields, cf: request.cf, state }, signal);
        } catch (failure) {
            if (!(failure instanceof Failure)) throw failure;
            throw failure.message === undefined ? failure.error : decodeThrown(failure.message, new Group(from));
        }
        if (state !== null) state.used = true;
        const location = REDIRECTS.has(parts.status) && request.redirect === 'follow' ? field(parts.fields, 'location') : undefined;
        if (location === undefined) return receivedResponse(parts.status, parts.statusText, parts.fields, url, hops > 0, parts.state, parts.webSocket);
        parts.state?.cancel()?.catch(nothing);
        if (hops === REDIRECTS_MAX) throw new TypeError('Too many redirects.');
        const next = url_parse(location, url);
        if (next === undefined) throw new TypeError(`The service redirected ${url} to an invalid URL: ${location}`);
        url = next[0];
        const toGet = (parts.status === 303 && method !== 'GET' && method !== 'HEAD') || ((parts.status === 301 || parts.status === 302) && method === 'POST');
        if (toGet) {
            method = 'GET';
            state = null;
            fields = fields.filter((_, i) => !BODY_FIELDS.has(fields[i & ~1].toLowerCase()));
        } else if (state !== null && state.kind !== 'text' && state.kind !== 'bytes') {
            throw new TypeError('A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring the body to be retransmitted. To avoid this error in the future, construct this request from a buffer-like body initializer.');
        }
    }
}
const field = (fields, name) => {
    for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === name) return fields[i + 1];
    return undefined;
};

// ---- The objects that users see

class ChannelState {
    constructor(channel) {
        this.channel = channel;
    }
    client() {
        return this.channel;
    }
    // ctx.exports.Name({ props })
    apply([options]) {
        if (typeof options !== 'object' || options === null) throw new TypeError('The options of an entrypoint in ctx.exports are an object: { props }.');
        const { props = {} } = options;
        if (typeof props !== 'object' || props === null) throw new TypeError('The props of an entrypoint are an object.');
        const copy = message_copy(props);
        if (JSON.stringify(copy)?.length > PROPS_MAX) throw new TypeError('The props of an entrypoint are limited to 1 MiB.');
        return newFetcher(this.channel.withProps(copy));
    }
}
const channelState = (v) => {
    const state = stateOf(v);
    return state instanceof ChannelState ? state : undefined;
};
export const channelOf = (v) => channelState(v)?.channel;

export class Fetcher {
    constructor() {
        throw new TypeError('Illegal constructor');
    }
    async fetch(input, init = undefined) {
        const state = channelState(this);
        if (state === undefined) throw new TypeError('Illegal invocation');
        if (arguments.length === 0) throw new TypeError("Failed to execute 'fetch' on 'Fetcher': 1 argument required, but only 0 present.");
        return send(state.channel, input, init);
    }
    connect() {
        throw new Error('connect() of a service binding is not implemented in celld.');
    }
}
shape(Fetcher);
// Entrypoints in ctx.exports: callable, to get one with props.
export class LoopbackServiceStub extends Fetcher {}
shape(LoopbackServiceStub);

export const newFetcher = (channel) => wildcard(new ChannelState(channel), Fetcher.prototype, false);
export const newExport = (name) => wildcard(new ChannelState(new LoopbackChannel(name)), LoopbackServiceStub.prototype, true);
