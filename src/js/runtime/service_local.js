// service_local.js: calls to entrypoints of the same isolate: each opens an event with a new instance of the entrypoint. runtime.md 6.5.
import { checkDepth, newContext, runIn, startTimer } from './core.js';
import { BodyState, bodyState, knownBody } from './body.js';
import { offAbort, onAbort } from './abort.js';
import { env, scriptName } from './bindings.js';
import { flatHeaders } from './headers.js';
import { inboundRequest, isResponse } from './http.js';
import { decodeThrown, dropMessage, encodeThrown, reportThrown } from './rpc_message.js';
import { openReadable, shareReadable } from './rpc_streams.js';
import { Call, Deferred, Failure, Group, classReceiver, failedCall, objectReceiver, serve, trafficOf } from './rpc_target.js';
import { lendWebSocket } from './websocket.js';
import { ExecutionContext, entrypoint, entrypointHandler } from './worker.js';

const { event_open, message_copy, now } = host;

// The context of a call's event; its handler's hold is given back by leave(), once.
export function callContext(id, depth) {
    const context = newContext(id);
    context.depth = depth;
    let left = false;
    context.leave = () => {
        if (left) return;
        left = true;
        context.settledAt = now();
        context.release();
    };
    return context;
}

function openEvent(from) {
    checkDepth(from);
    return callContext(event_open(), from.depth + 1);
}

// The caller does not want the answer any more: the request's signal tells, and after one more turn nothing but waitUntil keeps the
// event. runtime.md 2.6.
export function hangUp(context) {
    if (context.ended) return;
    runIn(context.frame, () => {
        context.gone?.();
        startTimer(context, 0, context.leave);
    });
}

const propsOf = (props) => (props === undefined ? {} : message_copy(props));

// Runs a method of the entrypoint `name` for a call's context, which the caller lets go with leave().
export function serveCall(context, name, props, path, message, posted) {
    const receiver = () => {
        const target = entrypoint(name);
        const ctx = new ExecutionContext(context, propsOf(props));
        return typeof target === 'function' ? classReceiver(new target(ctx, env())) : objectReceiver(target, env(), ctx);
    };
    return serve(context, receiver, path, message, true, posted);
}

// Runs run(), which gives a Response or a promise of one: respond(parts) or fail(error).
export function answerRequest(run, respond, fail) {
    const answered = (response) => {
        let parts;
        try {
            if (!isResponse(response)) throw new TypeError("Incorrect type for Promise: the Promise did not resolve to 'Response'.");
            if (response.status === 0) throw new TypeError('Return value from serve handler must not be an error response (like Response.error())');
            const state = bodyState(response);
            state?.need();
            parts = { status: response.status, statusText: response.statusText, fields: flatHeaders(response.headers), state, webSocket: response.webSocket };
        } catch (error) {
            return fail(error);
        }
        respond(parts);
    };
    try {
        const result = run();
        if (isResponse(result)) answered(result);
        else Promise.resolve(result).then(answered, fail);
    } catch (error) {
        fail(error);
    }
}

// Runs the fetch handler of the entrypoint `name`: respond(parts) or fail(message), once each, if the event does not end before.
export function serveFetch(context, name, props, request, respond, fail) {
    const failed = (error) => {
        reportThrown('fetch', error);
        fail(encodeThrown(error, context));
        context.leave();
    };
    const run = () => {
        const handler = entrypointHandler(entrypoint(name), 'fetch', context, propsOf(props));
        if (handler === undefined) throw new Error('Handler does not export a fetch() function.');
        return handler(request);
    };
    const answered = (parts) => {
        try {
            if (!context.ended) respond(parts);
            context.leave();
        } catch (error) {
            failed(error);
        }
    };
    answerRequest(run, answered, failed);
}

// The entrypoint `name` of this script.
export class LoopbackChannel {
    #name;
    #props;
    constructor(name, props = undefined) {
        this.#name = name;
        this.#props = props;
    }
    withProps(props) {
        return new LoopbackChannel(this.#name, props);
    }
    // Where other isolates find it.
    get address() {
        return { script: scriptName(), entrypoint: this.#name, props: this.#props };
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
        const call = serveCall(context, this.#name, this.#props, path, message, true);
        call.result.then(context.leave, context.leave);
        call.cancel = () => hangUp(context);
        return call;
    }

    fetch(from, { method, url, fields, cf, state }, signal) {
        const context = openEvent(from);
        const deferred = new Deferred();
        const call = new Call(deferred.promise, undefined, () => hangUp(context));
        watch(from, context, call, deferred, signal);
        const body = state === null ? null : move(state, from, context, false, null);
        const request = inboundRequest(method, url, () => fields, body, cf === undefined ? undefined : message_copy(cf), context);
        const respond = (parts) => {
            if (deferred.settled || from.ended) return; // Nobody waits.
            if (parts.webSocket !== null) lendWebSocket(parts.webSocket, context, from);
            deferred.resolve({ ...parts, state: parts.state === null ? null : move(parts.state, context, from, true, signal) });
        };
        const fail = (message) => deferred.reject(new Failure(undefined, message));
        runIn(context.frame, startTimer, undefined, context, 0, () => serveFetch(context, this.#name, this.#props, request, respond, fail));
        return deferred.promise;
    }
}

// While a request is answered: the end of either event, and the signal, end it.
function watch(from, context, call, deferred, signal) {
    const { calls } = trafficOf(from);
    const { serving } = trafficOf(context);
    const stop = () => {
        deferred.reject(new Failure(signal.reason));
        call.cancel();
    };
    const settled = () => {
        calls.delete(call);
        serving.delete(deferred);
        if (signal !== null) offAbort(signal, stop);
    };
    calls.add(call);
    serving.add(deferred);
    if (signal !== null) onAbort(signal, stop);
    deferred.promise.then(settled, settled);
}

// A body for another event. holds: it keeps the event that it comes from. What goes wrong on the way reaches its reader.
function move(state, from, to, holds, signal) {
    const known = knownBody(state);
    if (known !== undefined) return known;
    const share = runIn(from.frame, () => shareReadable(state.stream, from, holds));
    const failure = (error) => decodeThrown(encodeThrown(error, from), new Group(to));
    return new BodyState('stream', runIn(to.frame, openReadable, undefined, share, to, failure, signal), state.type, state.length);
}
