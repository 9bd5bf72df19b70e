// node/http.js: node:http and node:https: the client, over fetch. Servers are not there: a Worker is one by its fetch handler.
import { fetch } from '../fetch.js';
import { Buffer } from './buffer.js';
import { AbortError, err, nodeError, notImplemented, validateAbortSignal, validateFunction, validateInteger, validateObject } from './errors.js';
import EventEmitter from './events.js';
import { http as numbers } from './http_constants.js';
import Stream from './stream.js';
import { clearTimeout, setTimeout } from './timers.js';
import { urlToHttpOptions } from './url.js';

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const BAD_PATH = /[^\u0021-\u00ff]/;

export function validateHeaderName(name, label = 'Header name') {
    if (typeof name !== 'string' || !TOKEN.test(name)) throw nodeError(TypeError, 'ERR_INVALID_HTTP_TOKEN', `${label} must be a valid HTTP token ["${name}"]`);
}
export function validateHeaderValue(name, value) {
    if (value === undefined) throw nodeError(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
    if (BAD_VALUE.test(value)) throw nodeError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

// ---- What comes in

// Of these the first counts, set-cookie is a list, cookies are joined by "; ", and all others by ", ".
const FIRST = new Set([
    'content-type', 'content-length', 'user-agent', 'referer', 'host', 'authorization', 'proxy-authorization', 'if-modified-since', 'if-unmodified-since',
    'from', 'location', 'max-forwards', 'retry-after', 'etag', 'last-modified', 'server', 'age', 'expires',
]);

export class IncomingMessage extends Stream.Readable {
    constructor(socket) {
        super(socket?.readableHighWaterMark ? { highWaterMark: socket.readableHighWaterMark } : undefined);
        this.httpVersionMajor = 1;
        this.httpVersionMinor = 1;
        this.httpVersion = '1.1';
        this.complete = false;
        this.headers = {};
        this.headersDistinct = {};
        this.rawHeaders = [];
        this.trailers = {};
        this.rawTrailers = [];
        this.trailersDistinct = {};
        this.joinDuplicateHeaders = false;
        this.aborted = false;
        this.upgrade = null;
        this.url = '';
        this.method = null;
        this.statusCode = null;
        this.statusMessage = null;
        this.socket = typeof socket === 'object' ? socket : undefined;
        this.req = undefined;
        this.reader_ = undefined;
        Object.defineProperty(this, 'reader_', { enumerable: false });
    }
    get connection() {
        return this.socket;
    }
    set connection(value) {
        this.socket = value;
    }
    setTimeout(ms, callback) {
        if (callback) this.on('timeout', callback);
        return this;
    }
    _addHeaderLine(field, value, dest) {
        const name = field.toLowerCase();
        const before = dest[name];
        if (name === 'set-cookie') {
            if (before !== undefined) before.push(value);
            else dest[name] = [value];
        } else if (!Object.hasOwn(dest, name)) dest[name] = value;
        else if (!FIRST.has(name) || this.joinDuplicateHeaders) dest[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    _read() {
        if (this.reader_ === undefined) return void this.push(null);
        this.reader_.read().then(
            ({ done, value }) => {
                if (!done) return this.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
                this.complete = true;
                return this.push(null);
            },
            (error) => this.destroy(error),
        );
        return undefined;
    }
    _destroy(error, callback) {
        if (!this.complete && this.reader_ !== undefined) this.reader_.cancel(error ?? undefined).catch(() => {});
        callback(error);
    }
}

// ---- What goes out

const kept = new WeakMap(); // OutgoingMessage -> Map: lower-case name -> [name, value]

export class OutgoingMessage extends Stream.Writable {
    constructor(options) {
        super(options);
        kept.set(this, new Map());
        this.headersSent = false;
        this.sendDate = false;
        this.socket = null;
        this.finished = false;
    }
    get connection() {
        return this.socket;
    }
    setHeader(name, value) {
        if (this.headersSent) throw nodeError(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot set headers after they are sent to the client');
        validateHeaderName(name);
        for (const v of Array.isArray(value) ? value : [value]) validateHeaderValue(name, v);
        kept.get(this).set(name.toLowerCase(), [name, value]);
        return this;
    }
    setHeaders(headers) {
        for (const [name, value] of headers) this.setHeader(name, value);
        return this;
    }
    appendHeader(name, value) {
        const before = this.getHeader(name);
        return this.setHeader(name, before === undefined ? value : [before, value].flat());
    }
    getHeader(name) {
        if (typeof name !== 'string') throw err.ERR_INVALID_ARG_TYPE('name', 'string', name);
        return kept.get(this).get(name.toLowerCase())?.[1];
    }
    getHeaderNames() {
        return [...kept.get(this).keys()];
    }
    getRawHeaderNames() {
        return [...kept.get(this).values()].map(([name]) => name);
    }
    getHeaders() {
        const all = { __proto__: null };
        for (const [key, [, value]] of kept.get(this)) all[key] = value;
        return all;
    }
    hasHeader(name) {
        if (typeof name !== 'string') throw err.ERR_INVALID_ARG_TYPE('name', 'string', name);
        return kept.get(this).has(name.toLowerCase());
    }
    removeHeader(name) {
        if (typeof name !== 'string') throw err.ERR_INVALID_ARG_TYPE('name', 'string', name);
        if (this.headersSent) throw nodeError(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot remove headers after they are sent to the client');
        kept.get(this).delete(name.toLowerCase());
    }
    flushHeaders() {}
    addTrailers() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED('http.OutgoingMessage.addTrailers');
    }
}

export class Agent extends EventEmitter {
    constructor(options) {
        super();
        this.options = { __proto__: null, path: null, noDelay: true, ...options };
        this.requests = { __proto__: null };
        this.sockets = { __proto__: null };
        this.freeSockets = { __proto__: null };
        this.keepAliveMsecs = this.options.keepAliveMsecs || 1000;
        this.keepAlive = this.options.keepAlive || false;
        this.maxSockets = this.options.maxSockets || Infinity;
        this.maxFreeSockets = this.options.maxFreeSockets || 256;
        this.maxTotalSockets = this.options.maxTotalSockets || Infinity;
        this.scheduling = this.options.scheduling || 'lifo';
        this.totalSocketCount = 0;
        this.defaultPort = 80;
        this.protocol = 'http:';
    }
    getName(options = {}) {
        return `${options.host || 'localhost'}:${options.port || ''}:${options.localAddress || ''}${options.family === 4 || options.family === 6 ? `:${options.family}` : ''}`;
    }
    createConnection() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED('http.Agent.createConnection'); // The platform keeps the connections.
    }
    destroy() {}
}
class HttpsAgent extends Agent {
    constructor(options) {
        super(options);
        this.defaultPort = 443;
        this.protocol = 'https:';
    }
}
Object.defineProperty(HttpsAgent, 'name', { value: 'Agent', configurable: true });

// A path must not name another host: what fetch would read as one is refused.
function checkPath(path) {
    if (BAD_PATH.test(path)) throw nodeError(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
    if (/^[a-z][a-z0-9+.-]*:/i.test(path) || /^[\\/]{2}/.test(path)) throw err.ERR_INVALID_ARG_VALUE('options.path', path, 'must be a path on the host of the request');
}

function optionsOf(input, options, callback) {
    if (typeof input === 'string') input = urlToHttpOptions(new globalThis.URL(input));
    else if (input instanceof globalThis.URL) input = urlToHttpOptions(input);
    else [callback, options, input] = [options, input, null];
    if (typeof options === 'function') [callback, options] = [options, input ?? {}];
    else options = { ...input, ...options };
    return [options, callback];
}

export class ClientRequest extends OutgoingMessage {
    #chunks = [];
    #abort = new AbortController();
    #timer;
    #began = false;
    constructor(input, given, cb, secure = false) {
        super({ autoDestroy: false });
        const [options, callback] = optionsOf(input, given, cb);
        const { agent } = options;
        if (agent !== undefined && agent !== null && agent !== false && typeof agent !== 'object') throw err.ERR_INVALID_ARG_TYPE('options.agent', ['Agent-like Object', 'undefined', 'false'], agent);
        this.agent = agent ?? (secure ? httpsAgent : httpAgent);
        const wanted = secure || agent?.protocol === 'https:' ? 'https:' : 'http:';
        this.protocol = options.protocol || wanted;
        if (this.protocol !== wanted) throw nodeError(TypeError, 'ERR_INVALID_PROTOCOL', `Protocol "${this.protocol}" not supported. Expected "${wanted}"`);
        for (const key of ['hostname', 'host']) {
            if (options[key] !== undefined && options[key] !== null && typeof options[key] !== 'string') throw err.ERR_INVALID_ARG_TYPE(`options.${key}`, ['string', 'undefined', 'null'], options[key]);
        }
        this.host = options.hostname || options.host || 'localhost';
        this.port = options.port || options.defaultPort || (secure ? 443 : 80);
        if (options.method !== undefined && options.method !== null && typeof options.method !== 'string') throw err.ERR_INVALID_ARG_TYPE('options.method', 'string', options.method);
        this.method = options.method ? options.method.toUpperCase() : 'GET';
        validateHeaderName(this.method, 'Method');
        this.path = options.path || '/';
        checkPath(this.path);
        this.aborted = false;
        this.reusedSocket = false;
        this.maxHeadersCount = null;
        this.res = null;
        if (options.insecureHTTPParser !== undefined && typeof options.insecureHTTPParser !== 'boolean') throw err.ERR_INVALID_ARG_TYPE('options.insecureHTTPParser', 'boolean', options.insecureHTTPParser);
        if (callback !== undefined) {
            validateFunction(callback, 'cb');
            this.once('response', callback);
        }
        const { headers } = options;
        if (Array.isArray(headers)) {
            const flat = Array.isArray(headers[0]) ? headers.flat() : headers;
            for (let i = 0; i + 1 < flat.length; i += 2) this.appendHeader(flat[i], flat[i + 1]);
        } else if (headers) {
            validateObject(headers, 'options.headers');
            for (const key of Object.keys(headers)) this.setHeader(key, headers[key]);
        }
        const usual = secure ? 443 : 80;
        if (!this.hasHeader('host') && options.setHost !== false) this.setHeader('Host', Number(this.port) === usual ? this.host : `${this.host}:${this.port}`);
        if (options.auth && !this.hasHeader('authorization')) this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
        if (options.timeout !== undefined) this.setTimeout(options.timeout);
        if (options.signal) {
            validateAbortSignal(options.signal, 'options.signal');
            const stop = () => this.destroy(new AbortError(undefined, { cause: options.signal.reason }));
            if (options.signal.aborted) globalThis.process.nextTick(stop);
            else options.signal.addEventListener('abort', stop, { once: true });
        }
    }
    _write(chunk, encoding, callback) {
        this.#chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
        callback();
    }
    _final(callback) {
        callback();
        this.finished = true;
        this.#send().catch((error) => this.destroy(error));
    }
    async #send() {
        if (this.#began || this.destroyed) return;
        this.#began = true;
        checkPath(this.path);
        this.headersSent = true;
        const headers = new globalThis.Headers();
        for (const [name, value] of kept.get(this).values()) {
            if (name.toLowerCase() === 'host') continue; // The address says it.
            for (const v of Array.isArray(value) ? value : [value]) headers.append(name, String(v));
        }
        const host = this.host.includes(':') && !this.host.startsWith('[') ? `[${this.host}]` : this.host;
        const bodyless = this.method === 'GET' || this.method === 'HEAD';
        const response = await fetch(`${this.protocol}//${host}:${this.port}${this.path.startsWith('/') ? '' : '/'}${this.path}`, {
            method: this.method,
            headers,
            body: bodyless || this.#chunks.length === 0 ? undefined : Buffer.concat(this.#chunks),
            redirect: 'manual',
            signal: this.#abort.signal,
        });
        this.#clear();
        if (this.destroyed) return;
        const message = new IncomingMessage();
        message.statusCode = response.status;
        message.statusMessage = response.statusText || numbers.STATUS_CODES[response.status] || '';
        message.req = this;
        for (const [name, value] of response.headers) {
            message.rawHeaders.push(name, value);
            message._addHeaderLine(name, value, message.headers);
            (message.headersDistinct[name] ??= []).push(value);
        }
        message.reader_ = response.body?.getReader();
        this.res = message;
        message.on('close', () => this.emit('close'));
        if (!this.emit('response', message)) message.resume(); // Nobody listens: the body is not kept.
    }
    #clear() {
        if (this.#timer !== undefined) clearTimeout(this.#timer);
        this.#timer = undefined;
    }
    _destroy(error, callback) {
        this.#clear();
        if (this.res === null) this.#abort.abort();
        else if (error) this.res.destroy(error);
        if (this.res === null && error === null && !this.aborted) error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
        callback(error);
    }
    abort() {
        if (this.aborted) return;
        this.aborted = true;
        globalThis.process.nextTick(() => this.emit('abort'));
        this.destroy();
    }
    setTimeout(ms, callback) {
        validateInteger(ms, 'msecs', 0);
        this.timeout = ms;
        if (callback !== undefined) {
            validateFunction(callback, 'callback');
            this.once('timeout', callback);
        }
        this.#clear();
        if (ms > 0) this.#timer = setTimeout(() => this.emit('timeout'), ms);
        return this;
    }
    setNoDelay() {}
    setSocketKeepAlive() {}
    onSocket() {}
    clearTimeout(callback) {
        this.setTimeout(0, callback);
    }
}

const httpAgent = new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 });
const httpsAgent = new HttpsAgent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 });

// Classes that Node lets be called without new.
const callable = (cls, name) => {
    const proxy = new Proxy(cls, { apply: (target, self, args) => new target(...args) });
    Object.defineProperty(cls, 'name', { value: name, configurable: true });
    cls.prototype.constructor = proxy;
    return proxy;
};
const shared = {
    ClientRequest: callable(ClientRequest, 'ClientRequest'),
    IncomingMessage: callable(IncomingMessage, 'IncomingMessage'),
    OutgoingMessage: callable(OutgoingMessage, 'OutgoingMessage'),
};

const request = (secure) => (input, options, callback) => new ClientRequest(input, options, callback, secure);
const get = (secure) => (input, options, callback) => {
    const req = new ClientRequest(input, options, callback, secure);
    req.end();
    return req;
};

export const http = {
    ...shared,
    Agent: callable(Agent, 'Agent'),
    METHODS: numbers.METHODS,
    STATUS_CODES: numbers.STATUS_CODES,
    Server: notImplemented('http.Server'),
    ServerResponse: notImplemented('http.ServerResponse'),
    _connectionListener: notImplemented('http._connectionListener'),
    createServer: notImplemented('http.createServer'),
    get: get(false),
    globalAgent: httpAgent,
    maxHeaderSize: 16384,
    request: request(false),
    setMaxIdleHTTPParsers() {},
    validateHeaderName,
    validateHeaderValue,
    WebSocket: globalThis.WebSocket,
    CloseEvent: globalThis.CloseEvent,
    MessageEvent: globalThis.MessageEvent,
};
export const https = {
    Agent: callable(HttpsAgent, 'Agent'),
    Server: notImplemented('https.Server'),
    createServer: notImplemented('https.createServer'),
    get: get(true),
    globalAgent: httpsAgent,
    request: request(true),
};
