// http.js: Request and Response. runtime.md 5.1.
import { currentContext, shape } from './core.js';
import { Body, bodyOf, bodyState, setBody, BodyState } from './body.js';
import { Headers, flatHeaders, freezeHeaders, lazyHeaders } from './headers.js';
import { abortSignal, isSignal, newSignal } from './abort.js';
import { parseUrl } from './url.js';
import { DOMException } from './events.js';
import { isWebSocket, ownWebSocket } from './websocket.js';

const { status_text } = host;

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const BODYLESS = new Set(['GET', 'HEAD']);
export const REDIRECTS = new Set([301, 302, 303, 307, 308]);
export const NULL_BODY = new Set([101, 204, 205, 304]);

const dictionary = (init, what) => {
    if (init === undefined || init === null) return {};
    if (typeof init !== 'object' && typeof init !== 'function') throw new TypeError(`${what} is not an object.`);
    return init;
};

export class Request extends Body {
    #method;
    #url;
    #headers;
    #redirect = 'follow';
    #signal = null;
    #cf = undefined;
    #fetcher = null;
    #context = undefined; // what tells when the client is gone, of an inbound one
    #owner = undefined;
    #inbound = false;
    #integrity = '';
    #cache = undefined;

    constructor(input, init = undefined) {
        super();
        if (input === INBOUND) {
            this.#method = init.method;
            this.#url = init.url;
            this.#headers = init.headers;
            this.#cf = init.cf;
            this.#context = init.context;
            this.#owner = init.owner;
            this.#inbound = true;
            this.#redirect = 'manual'; // Sent on, it brings back what the client would have got.
            if (init.body !== null) setBody(this, init.body, init.owner);
            return;
        }
        const from = input instanceof Request ? input : null;
        if (init instanceof Request) init = { method: init.method, headers: init.headers, body: bodyState(init) === null ? undefined : init.body, redirect: init.redirect, signal: init.#signal ?? undefined, cf: init.cf };
        init = dictionary(init, 'The second argument of Request');
        this.#owner = currentContext();
        this.#url = from !== null ? from.#url : parseUrl(String(input), 'Invalid URL: ');
        this.#method = 'method' in init && init.method !== undefined ? methodOf(init.method) : from !== null ? from.#method : 'GET';
        if (init.headers !== undefined && init.headers !== null) this.#headers = new Headers(init.headers);
        else this.#headers = from !== null ? new Headers(from.headers) : new Headers();
        if (init.redirect !== undefined) {
            if (init.redirect !== 'follow' && init.redirect !== 'manual') throw new TypeError('Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make sense at the edge; use "manual" and check the response status code).');
            this.#redirect = String(init.redirect);
        } else if (from !== null) this.#redirect = from.#redirect;
        if (init.integrity !== undefined && init.integrity !== null && init.integrity !== '') throw new TypeError("The 'integrity' field on 'RequestInitializerDict' is not implemented.");
        if (init.cache !== undefined && init.cache !== null) {
            if (!['no-store', 'no-cache', 'reload'].includes(init.cache)) throw new TypeError(`Unsupported cache mode: ${init.cache}`);
            this.#cache = init.cache;
        } else if (from !== null) this.#cache = from.#cache;
        if (init.signal !== undefined) {
            if (init.signal !== null && !isSignal(init.signal)) throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
            this.#signal = init.signal;
        } else if (from !== null) this.#signal = from.#signal;
        this.#cf = init.cf !== undefined ? init.cf : from !== null ? from.#cf : undefined;
        this.#fetcher = init.fetcher ?? (from !== null ? from.#fetcher : null);
        let body = null;
        if (init.body !== undefined && init.body !== null) body = bodyOf(init.body);
        else if (from !== null && init.body === undefined) body = takeBody(from);
        if (body !== null && BODYLESS.has(this.#method)) throw new TypeError('Request with a GET or HEAD method cannot have a body.');
        setBody(this, body);
        if (body !== null && body.type !== null && init.body !== undefined && !this.#headers.has('content-type')) this.#headers.append('Content-Type', body.type);
    }
    get method() {
        return this.#method;
    }
    get url() {
        return this.#url;
    }
    get headers() {
        return this.#headers;
    }
    get redirect() {
        return this.#redirect;
    }
    get signal() {
        if (this.#signal === null) {
            const signal = (this.#signal = newSignal(this.#owner));
            if (this.#inbound) {
                const context = this.#context;
                const before = context.gone;
                context.gone = () => {
                    before?.();
                    abortSignal(signal, new DOMException('The client has disconnected', 'AbortError'));
                };
            }
        }
        return this.#signal;
    }
    get cf() {
        return this.#cf;
    }
    get fetcher() {
        return this.#fetcher;
    }
    get integrity() {
        return this.#integrity;
    }
    get keepalive() {
        return false;
    }
    get cache() {
        return this.#cache;
    }
    clone() {
        const state = bodyState(this);
        if (state !== null && state.unusable) throw new TypeError('Cannot clone a request whose body has been used.');
        state?.check();
        const copy = new Request(this, { body: null });
        if (state !== null) setBody(copy, state.tee());
        return copy;
    }

    static internals = {
        is: (v) => typeof v === 'object' && v !== null && #method in v,
        signal: (r) => r.#signal,
        setSignal: (r, signal) => (r.#signal = signal),
        context: (r) => r.#context,
    };
}
export const { is: isRequest, signal: requestSignal, setSignal: setRequestSignal, context: requestContext } = Request.internals;
delete Request.internals;
shape(Request);

const INBOUND = { toString: () => 'inbound' };
// A request that came in for the context `owner`. body: BodyState or null. context: has gone(), called when the client is gone.
export const inboundRequest = (method, url, load, body, cf, owner, context = owner) =>
    new Request(INBOUND, { method, url, headers: lazyHeaders(load, true), body, cf, context, owner });

function methodOf(value) {
    const method = String(value);
    if (!METHOD.test(method)) throw new TypeError(`Invalid HTTP method string: ${method}`);
    const upper = method.toUpperCase();
    if (upper === 'CONNECT' || upper === 'TRACE' || upper === 'TRACK') throw new TypeError(`Invalid HTTP method string: ${method}`);
    return upper;
}

// A request made of another takes its body over: the other one is used up.
function takeBody(from) {
    const state = bodyState(from);
    if (state === null) return null;
    if (state.unusable) throw new TypeError('Cannot construct a Request with a Request object that has already been used.');
    const mine = new BodyState(state.kind, state.value, state.type, state.length);
    mine.context = state.context; // Not ours by that.
    state.used = true;
    return mine;
}

export class Response extends Body {
    #status = 200;
    #statusText = undefined; // undefined: that of the status
    #headers;
    #url = '';
    #redirected = false;
    #type = 'default';
    #webSocket = null;
    #cf = undefined;
    #encodeBody = 'automatic';

    constructor(body = null, init = undefined) {
        super();
        if (init === undefined) {
            this.#headers = new Headers();
        } else {
            init = dictionary(init, 'The second argument of Response');
            if (init.status !== undefined) {
                const status = Math.trunc(Number(init.status));
                this.#status = status;
            }
            this.#webSocket = init.webSocket ?? null;
            if (this.#webSocket !== null && !isWebSocket(this.#webSocket)) throw new TypeError("Failed to construct 'Response': member webSocket is not of type WebSocket.");
            if (this.#webSocket !== null) {
                if (this.#status !== 101) throw new RangeError('Responses with a WebSocket must have status code 101.');
            } else if (!(this.#status >= 200 && this.#status <= 599)) {
                throw new RangeError(`Responses may only be constructed with status codes in the range 200 to 599, inclusive.`);
            }
            if (init.statusText !== undefined) {
                this.#statusText = String(init.statusText);
                if (/[^\t\x20-\x7e\x80-\xff]/.test(this.#statusText)) throw new TypeError('Invalid statusText');
            }
            this.#headers = new Headers(init.headers ?? undefined);
            if (init.cf !== undefined) this.#cf = init.cf;
            if (init.encodeBody !== undefined) {
                if (init.encodeBody !== 'automatic' && init.encodeBody !== 'manual') throw new TypeError(`encodeBody: unexpected value: ${init.encodeBody}`);
                this.#encodeBody = init.encodeBody;
            }
        }
        const state = bodyOf(body);
        if (state !== null) {
            if (NULL_BODY.has(this.#status)) {
                if (!(state.kind === 'text' && state.value === '') && !(state.kind === 'bytes' && state.value.length === 0)) throw new TypeError(`Response with null body status (101, 204, 205, or 304) cannot have a body.`);
            } else {
                setBody(this, state);
                if (state.type !== null && !this.#headers.has('content-type')) this.#headers.append('Content-Type', state.type);
            }
        }
    }
    get status() {
        return this.#status;
    }
    get statusText() {
        return this.#statusText ?? status_text(this.#status);
    }
    get ok() {
        return this.#status >= 200 && this.#status <= 299;
    }
    get headers() {
        return this.#headers;
    }
    get url() {
        return this.#url;
    }
    get redirected() {
        return this.#redirected;
    }
    get type() {
        return this.#type;
    }
    get webSocket() {
        return this.#webSocket;
    }
    get cf() {
        return this.#cf;
    }
    clone() {
        if (this.#webSocket !== null) throw new TypeError('Cannot clone a response to a WebSocket handshake.');
        const state = bodyState(this);
        if (state !== null && state.unusable) throw new TypeError('Cannot clone a response whose body has been used.');
        state?.check();
        const copy = new Response(null, { status: this.#status < 200 ? 200 : this.#status, statusText: this.#statusText, headers: this.#headers, cf: this.#cf, encodeBody: this.#encodeBody });
        copy.#status = this.#status;
        copy.#url = this.#url;
        copy.#redirected = this.#redirected;
        copy.#type = this.#type;
        if (state !== null) setBody(copy, state.tee());
        return copy;
    }
    static json(data, init = undefined) {
        const text = JSON.stringify(data);
        if (text === undefined) throw new TypeError('Value is not JSON serializable');
        const response = new Response(text, init);
        const given = init?.headers !== undefined && init.headers !== null && new Headers(init.headers).has('content-type');
        if (!given) response.#headers.set('Content-Type', 'application/json');
        return response;
    }
    static redirect(url, status = 302) {
        const location = parseUrl(String(url), 'Unable to parse URL: ');
        status = Math.trunc(Number(status));
        if (!REDIRECTS.has(status)) throw new RangeError(`${status} is not a redirect status code.`);
        const response = new Response(null, { status, headers: { Location: location } });
        freezeHeaders(response.#headers);
        return response;
    }
    static error() {
        const response = new Response(null);
        response.#status = 0;
        response.#statusText = '';
        response.#type = 'error';
        freezeHeaders(response.#headers);
        return response;
    }

    static internals = {
        is: (v) => typeof v === 'object' && v !== null && #encodeBody in v,
        encodeBody: (r) => r.#encodeBody,
        ownStatusText: (r) => r.#statusText ?? '',
        // A response that came in, by fetch or from a binding. state: BodyState or null.
        received(status, statusText, flat, url, redirected, state, webSocket) {
            const r = new Response(null);
            r.#status = status;
            r.#statusText = statusText;
            r.#headers = lazyHeaders(() => flat, true);
            r.#url = url;
            r.#redirected = redirected;
            r.#webSocket = webSocket ?? null;
            if (r.#webSocket !== null) ownWebSocket(r.#webSocket);
            setBody(r, state);
            return r;
        },
    };
}
export const { is: isResponse, encodeBody: responseEncoding, ownStatusText, received: receivedResponse } = Response.internals;
delete Response.internals;
shape(Response);

export { flatHeaders };
