// service.js: service bindings and ctx.exports: what users see of them. runtime.md 6.5.
//
// What is behind a binding is a channel: a client (rpc_target.js) that also takes requests:
//
//     fetch(context, request, signal)   request: { method, url, fields, cf, state }, state being its BodyState or null.
//                                       A promise of { status, statusText, fields, state, webSocket }; rejected with Failure.
//     address                           what stands for it in another isolate: { script, entrypoint, props }
//     withProps(props)                  of entrypoints of the own script
//
// Nothing of a channel is in reach of user code.
import { needContext, shape } from './core.js';
import { BodyState, bodyState } from './body.js';
import { flatHeaders } from './headers.js';
import { NULL_BODY, REDIRECTS, Request, receivedResponse, requestSignal } from './http.js';
import { stateOf, wildcard } from './rpc.js';
import { decodeThrown } from './rpc_message.js';
import { Failure, Group } from './rpc_target.js';
import { LoopbackChannel } from './service_local.js';

const { message_copy, url_parse } = host;

const REDIRECTS_MAX = 20;
const PROPS_MAX = 1 << 20;
const ONE_TIME =
    'A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring the body to be retransmitted. ' +
    'To avoid this error in the future, construct this request from a buffer-like body initializer.';
const BODY_FIELDS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']);
const nothing = () => {};

// fetch(input, init) of a binding. Redirects are followed, to the same service.
async function send(channel, input, init) {
    const context = needContext();
    const request = new Request(input, init);
    const signal = requestSignal(request) ?? null;
    signal?.throwIfAborted();
    let { method } = request;
    let url = withoutFragment(request.url);
    let fields = flatHeaders(request.headers), state = bodyState(request);
    state?.need();
    for (let hops = 0; ; hops++) {
        const parts = await once(context, channel, { method, url, fields, cf: request.cf, state }, signal);
        const location = REDIRECTS.has(parts.status) && request.redirect === 'follow' ? field(parts.fields, 'location') : undefined;
        if (location === undefined) return receivedResponse(parts.status, parts.statusText, parts.fields, url, hops > 0, answerBody(method, parts), parts.webSocket);
        parts.state?.cancel()?.catch(nothing);
        if (hops === REDIRECTS_MAX) throw new TypeError('Too many redirects.');
        const next = url_parse(location, url);
        if (next === undefined) throw new TypeError(`The service redirected ${url} to an invalid URL: ${location}`);
        url = withoutFragment(next[0]);
        const toGet = (parts.status === 303 && method !== 'GET' && method !== 'HEAD') || ((parts.status === 301 || parts.status === 302) && method === 'POST');
        if (toGet) {
            method = 'GET';
            state = null;
            fields = fields.filter((_, i) => !BODY_FIELDS.has(fields[i & ~1].toLowerCase()));
        } else if (state !== null && state.kind !== 'text' && state.kind !== 'bytes') throw new TypeError(ONE_TIME);
    }
}

async function once(context, channel, request, signal) {
    try {
        return await channel.fetch(context, request, signal);
    } catch (failure) {
        if (!(failure instanceof Failure)) throw failure;
        throw failure.message === undefined ? failure.error : decodeThrown(failure.message, new Group(context));
    } finally {
        if (request.state !== null) request.state.used = true;
    }
}

const withoutFragment = (url) => {
    const at = url.indexOf('#');
    return at < 0 ? url : url.slice(0, at);
};

// As of an answer over HTTP: none for HEAD, and else an empty one where the handler gave none.
function answerBody(method, { status, state }) {
    if (method !== 'HEAD') return state ?? (NULL_BODY.has(status) ? null : new BodyState('text', '', null, 0));
    state?.cancel()?.catch(nothing);
    return null;
}

function field(fields, name) {
    for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === name) return fields[i + 1];
    return undefined;
}

// ---- Fetcher

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

// Stubs of Durable Objects: durable.js has their channels.
const objectOf = (stub) => {
    const channel = channelOf(stub);
    if (channel?.id === undefined) throw new TypeError('Illegal invocation');
    return channel;
};
class ObjectStub extends Fetcher {
    get id() {
        return objectOf(this).id;
    }
    get name() {
        return objectOf(this).name;
    }
}
shape(ObjectStub, 'DurableObject');

export const newObjectStub = (channel) => wildcard(new ChannelState(channel), ObjectStub.prototype, false);
export const newFetcher = (channel) => wildcard(new ChannelState(channel), Fetcher.prototype, false);
export const newExport = (name) => wildcard(new ChannelState(new LoopbackChannel(name)), LoopbackServiceStub.prototype, true);
