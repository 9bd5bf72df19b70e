// fetch.js: requests that go out. runtime.md 5.1; Fetch standard, 4.
import { limits, needContext, startFor, startTimer, stopTimer, withLoops } from './core.js';
import { BodyState, bodyState, codingOf } from './body.js';
import { fetchData } from './dataurl.js';
import { flatHeaders } from './headers.js';
import { NULL_BODY, REDIRECTS, Request, receivedResponse, requestSignal } from './http.js';
import { ReadableStream, bytesOf, ownStream } from './streams.js';
import { encodeUtf8 } from './encoding.js';
import { askWebSocket } from './websocket.js';

const { fetch_start, fetch_write, source_close, url_parse } = host;

const REDIRECTS_MAX = 20;
const BODY_FIELDS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']);
const PRIVATE_FIELDS = new Set(['authorization', 'cookie', 'host', 'proxy-authorization']);
// Said by the connection, not by user code.
const OURS = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer', 'proxy-connection']);

export async function fetch(input, init = undefined) {
    if (arguments.length === 0) throw new TypeError("Failed to execute 'fetch': 1 argument required, but only 0 present.");
    const context = needContext();
    const request = new Request(input, init);
    return send(context, request);
}

async function send(context, request) {
    const signal = requestSignal(request);
    signal?.throwIfAborted();
    let url = request.url, method = request.method;
    let fields = withLoops(context, flatHeaders(request.headers)), state = bodyState(request);
    state?.need();
    const upgrade = request.headers.get('upgrade')?.toLowerCase() === 'websocket';
    for (let hops = 0; ; hops++) {
        const scheme = url.slice(0, url.indexOf(':') + 1);
        if (scheme === 'data:' && hops === 0) return fetchData(url, method);
        if (scheme !== 'http:' && scheme !== 'https:') throw new TypeError(`Fetch API cannot load: ${url}`);
        const answer = await (upgrade ? askWebSocket(context, url, fields) : once(context, method, url, fields, state, signal));
        const location = REDIRECTS.has(answer.status) && request.redirect !== 'manual' ? find(answer.fields, 'location') : undefined;
        if (location === undefined) return respond(context, request, url, hops > 0, answer, signal);
        source_close(answer.source);
        if (hops === REDIRECTS_MAX) throw new TypeError('Too many redirects.');
        const next = url_parse(location, url);
        if (next === undefined) throw new TypeError(`The server redirected ${url} to an invalid URL: ${location}`);
        const from = url_parse(url, undefined);
        url = next[0];
        if (!url.includes('#') && from[0].includes('#')) url += from[0].slice(from[0].indexOf('#'));
        const toGet = (answer.status === 303 && method !== 'GET' && method !== 'HEAD') || ((answer.status === 301 || answer.status === 302) && method === 'POST');
        if (toGet) {
            method = 'GET';
            state = null;
            fields = without(fields, BODY_FIELDS);
        } else if (state !== null && state.kind !== 'text' && state.kind !== 'bytes') {
            throw new TypeError('A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring the body to be retransmitted. To avoid this error in the future, construct this request from a buffer-like body initializer.');
        }
        if (from[9] !== next[9]) fields = without(fields, PRIVATE_FIELDS);
    }
}

const find = (fields, name) => {
    for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === name) return fields[i + 1];
    return undefined;
};
const without = (fields, names) => fields.filter((_, i) => !names.has(fields[i & ~1].toLowerCase()));

// The head as the host sends it.
function headOf(fields) {
    let text = '', encoding = false;
    for (let i = 0; i < fields.length; i += 2) {
        const name = fields[i].toLowerCase();
        if (OURS.has(name)) continue;
        encoding ||= name === 'accept-encoding';
        text += `${fields[i]}: ${fields[i + 1]}\r\n`;
    }
    if (!encoding) text += 'Accept-Encoding: gzip, br\r\n';
    return text;
}

// A URL as it goes to the server: without fragment, and without user and password, which nobody sends.
function addressOf(url) {
    const at = url.indexOf('#');
    const address = at < 0 ? url : url.slice(0, at);
    return address.includes('@') ? address.replace(/^(https?:\/\/)[^/?]*@/, '$1') : address;
}

function lost(error) {
    if (error?.status === undefined) return error; // The caller's own.
    delete error.status;
    const certificate = /certificate|SSL|TLS/i.test(error.message);
    const failure = new Error(certificate ? error.message : 'Network connection lost.');
    if (!certificate) {
        failure.retryable = true;
        failure.cause = error;
    }
    return failure;
}

// One request and the head of its answer: { status, fields, source }.
async function once(context, method, url, fields, state, signal) {
    let length = 0, bytes = null, timer = 0, source = 0;
    if (state !== null) {
        if (state.kind === 'text') bytes = encodeUtf8(state.value);
        else if (state.kind === 'bytes') bytes = state.value;
        length = bytes !== null ? bytes.length : state.length;
        state.used = true;
    }
    return new Promise((resolve, reject) => {
        const give = (error) => {
            if (source !== 0) source_close(source);
            reject(error);
        };
        const aborted = () => give(signal.reason);
        const settle = () => {
            stopTimer(timer);
            signal?.removeEventListener('abort', aborted);
        };
        const started = startFor(context, (event, id) => (source = fetch_start(event, id, method, addressOf(url), headOf(fields), length)));
        signal?.addEventListener('abort', aborted, { once: true });
        timer = startTimer(context, limits.fetchTimeoutMs, () => give(new Error(`The server did not answer within ${limits.fetchTimeoutMs / 1000} seconds.`)));
        started.then(
            ([status, answered]) => {
                settle();
                resolve({ status, fields: answered, source, socket: null });
            },
            (error) => {
                settle();
                reject(lost(error));
            },
        );
        if (length !== 0 && source !== 0) upload(context, source, bytes, state).catch((error) => give(lost(error)));
    });
}

async function upload(context, source, bytes, state) {
    if (bytes !== null) return startFor(context, fetch_write, source, bytes, true).catch(answeredEarly);
    const reader = state.stream.getReader();
    for (;;) {
        let done, value;
        try {
            ({ done, value } = await reader.read());
        } catch (error) {
            source_close(source);
            throw error;
        }
        try {
            await startFor(context, fetch_write, source, done ? undefined : bytesOf(value), done);
        } catch (error) {
            reader.cancel(error).catch(() => {});
            return answeredEarly(error);
        }
        if (done) return;
    }
}

// The answer may be complete before the request is: then nobody reads the rest, and the answer counts. If the connection broke,
// the start of the answer or its body says so.
const answeredEarly = () => undefined;

function respond(context, request, url, redirected, { status, fields, source, socket }, signal) {
    let state = null;
    if (request.method === 'HEAD' || NULL_BODY.has(status)) {
        if (source !== 0) source_close(source);
    } else {
        const length = find(fields, 'content-length');
        state = new BodyState('source', source, null, length !== undefined && /^\d+$/.test(length) ? Number(length) : -1);
        const encoding = find(fields, 'content-encoding');
        const coding = encoding === undefined ? null : codingOf(encoding);
        if (coding !== null) {
            state.coding = coding;
            state.length = -1;
        }
        if (signal != null) state = new BodyState('stream', abortable(state, source, signal), null, state.length);
    }
    return receivedResponse(status, undefined, fields, url, redirected, state, socket);
}

// Aborted after its head has come, the answer's body fails with the reason.
function abortable(state, source, signal) {
    const reader = state.stream.getReader();
    let stop;
    return ownStream(new ReadableStream({
        type: 'bytes',
        start(controller) {
            stop = () => {
                controller.error(signal.reason);
                source_close(source);
                reader.cancel(signal.reason).catch(() => {});
            };
            if (signal.aborted) stop();
            else signal.addEventListener('abort', stop, { once: true });
        },
        async pull(controller) {
            const { done, value } = await reader.read();
            if (signal.aborted) return;
            if (!done) return controller.enqueue(value);
            signal.removeEventListener('abort', stop);
            controller.close();
            controller.byobRequest?.respond(0);
        },
        cancel(reason) {
            signal.removeEventListener('abort', stop);
            return reader.cancel(reason);
        },
    }, { highWaterMark: 0 }));
}


Object.defineProperty(globalThis, 'fetch', { value: fetch, writable: true, configurable: true, enumerable: true });
