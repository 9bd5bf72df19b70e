// eventsource.js: EventSource. runtime.md 5.6; HTML standard, 9.2.
import { expose, needContext, startTimer, stopTimer } from './core.js';
import { abortSignal, newSignal } from './abort.js';
import { DOMException, ErrorEvent, Event, EventTarget, MessageEvent, dispatch, handlerAttributes, reportUncaught, trust } from './events.js';
import { fetch } from './fetch.js';
import { TextDecoder, TextEncoder } from './encoding.js';
import { ReadableStream, bytesOf, isDisturbed } from './streams.js';
import { URL, parseUrlParts } from './url.js';

const CONNECTING = 0, OPEN = 1, CLOSED = 2;
const RETRY_MS = 2000, RETRY_MS_MIN = 1000, RETRY_MS_MAX = 10000;
const STANDARD = new Set(['open', 'message', 'error']);
const FROM = Object.freeze({});

// The lines of an event stream, and what they mean.
class Parser {
    constructor(deliver) {
        this.deliver = deliver; // ({ type, data, id })
        this.decoder = new TextDecoder();
        this.rest = '';
        this.afterCr = false;
        this.reset();
        this.lastId = ''; // of the last event that was complete
        this.id = '';
        this.retry = undefined;
    }
    reset() {
        this.data = '';
        this.type = '';
    }
    push(bytes) {
        let text = this.decoder.decode(bytes, { stream: true });
        if (this.afterCr && text !== '') {
            if (text[0] === '\n') text = text.slice(1);
            this.afterCr = false;
        }
        if (text.endsWith('\r')) this.afterCr = true;
        const lines = (this.rest + text).split(/\r\n|\n|\r/);
        this.rest = lines.pop();
        for (const line of lines) this.line(line);
    }
    line(line) {
        if (line === '') {
            const { data, type } = this;
            this.reset();
            this.lastId = this.id;
            if (data !== '' && data !== '\n') this.deliver({ type: type || 'message', data: data.slice(0, -1), id: this.lastId });
            return;
        }
        const colon = line.indexOf(':');
        const field = colon < 0 ? line : line.slice(0, colon);
        let value = colon < 0 ? '' : line.slice(colon + 1);
        if (value[0] === ' ') value = value.slice(1);
        if (field === 'data') this.data += `${value}\n`;
        else if (field === 'event') this.type = value;
        else if (field === 'id') {
            if (!value.includes('\0')) this.id = value;
        } else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
    }
}

export class EventSource extends EventTarget {
    #url = '';
    #fetcher = null;
    #state = CONNECTING;
    #context;
    #signal = null; // of the request that is under way
    #reader = null;
    #timer = 0;
    #retry = RETRY_MS;
    #lastId = '';
    #empty = false; // the last answer had no body

    constructor(url, init = undefined) {
        super();
        if (url === FROM) return;
        if (arguments.length === 0) throw new TypeError("Failed to construct 'EventSource': 1 argument required, but only 0 present.");
        this.#context = needContext();
        if (init?.withCredentials) throw new DOMException('The init.withCredentials option is not supported. It must be false or undefined.', 'NotSupportedError');
        const parts = parseUrlParts(`${url}`);
        if (parts === undefined) throw new DOMException(`Cannot open an EventSource to '${url}'. The URL is invalid.`, 'SyntaxError');
        this.#url = parts.href;
        this.#fetcher = init?.fetcher ?? null;
        this.#open();
    }

    static from(stream) {
        if (!(stream instanceof ReadableStream)) throw new TypeError("Failed to execute 'from' on 'EventSource': parameter 1 is not of type 'ReadableStream'.");
        if (stream.locked) throw new TypeError('This ReadableStream is locked.');
        if (isDisturbed(stream)) throw new TypeError('This ReadableStream has already been read from.');
        const source = new EventSource(FROM);
        source.#context = needContext();
        source.#fetcher = undefined;
        source.#state = OPEN;
        const reader = stream.getReader();
        Promise.resolve().then(() => source.#read(reader));
        return source;
    }

    get url() {
        return this.#url;
    }
    get readyState() {
        return this.#state;
    }
    get withCredentials() {
        return false;
    }
    close() {
        if (this.#state === CLOSED) return;
        this.#state = CLOSED;
        this.#stop();
    }
    [Symbol.dispose]() {
        this.close();
    }
    #stop() {
        stopTimer(this.#timer);
        if (this.#signal !== null) abortSignal(this.#signal, new DOMException('The operation was aborted', 'AbortError'));
        this.#reader?.cancel().catch(() => {});
        this.#signal = this.#reader = null;
    }

    #fire(event) {
        try {
            dispatch(this, trust(event));
            // Any type of event has its attribute.
            if (!STANDARD.has(event.type) && typeof this[`on${event.type}`] === 'function') this[`on${event.type}`](event);
            return true;
        } catch (error) {
            reportUncaught(error, 'eventsource');
            return false;
        }
    }
    #fail(error) {
        if (this.#state === CLOSED) return;
        this.#state = CLOSED;
        this.#stop();
        this.#fire(new ErrorEvent('error', { message: `Uncaught ${error?.name}: ${error?.message}`, error }));
    }
    // The server is gone: try again in a while.
    #again(error) {
        if (this.#state === CLOSED) return;
        this.#state = CONNECTING;
        this.#signal = this.#reader = null;
        this.#fire(new ErrorEvent('error', { message: `Uncaught ${error.name}: ${error.message}`, error }));
        if (this.#state !== CONNECTING || this.#context.ended) return;
        this.#timer = startTimer(this.#context, this.#retry, () => this.#open());
    }

    async #open() {
        const headers = { Accept: 'text/event-stream', 'Cache-Control': 'no-cache' };
        if (this.#lastId !== '') headers['Last-Event-ID'] = this.#lastId;
        const signal = (this.#signal = newSignal());
        let response;
        try {
            const init = { headers, signal };
            response = await (this.#fetcher !== null ? this.#fetcher.fetch(this.#url, init) : fetch(this.#url, init));
        } catch (error) {
            return this.#fail(error);
        }
        if (this.#state === CLOSED) return;
        const type = response.headers.get('content-type');
        const why = !response.ok ? `The response status code was ${response.status}.`
            : type === null ? 'No content type header was present in the response.'
            : /^\s*text\/event-stream\s*(;|$)/i.test(type) ? undefined : `The content type '${type}' is invalid.`;
        if (why !== undefined) {
            response.body?.cancel().catch(() => {});
            return this.#fail(new DOMException(why, 'AbortError'));
        }
        if (response.redirected) this.#url = response.url;
        if (response.body === null) {
            if (this.#empty) return this.#fail(new Error('The server provided no content.'));
            this.#empty = true;
            return this.#again(new Error('The server provided no content. Will try reconnecting.'));
        }
        return this.#read(response.body.getReader());
    }

    async #read(reader) {
        if (this.#state === CLOSED) return void reader.cancel().catch(() => {});
        this.#state = OPEN;
        this.#reader = reader;
        this.#fire(new Event('open'));
        const origin = this.#url === '' ? '' : new URL(this.#url).origin;
        const parser = new Parser(({ type, data, id }) => {
            if (this.#state === OPEN && !this.#fire(new MessageEvent(type, { data, origin, lastEventId: id }))) this.#fail(new Error('A listener of the EventSource failed.'));
        });
        parser.id = parser.lastId = this.#lastId;
        try {
            for (;;) {
                const { done, value } = await reader.read();
                if (done || this.#state === CLOSED) break;
                parser.push(typeof value === 'string' ? new TextEncoder().encode(value) : bytesOf(value));
                this.#lastId = parser.lastId;
                if (parser.retry !== undefined) this.#retry = Math.min(Math.max(parser.retry, RETRY_MS_MIN), RETRY_MS_MAX);
            }
        } catch (error) {
            return error?.retryable && this.#fetcher !== undefined ? this.#again(error) : this.#fail(error);
        }
        if (this.#fetcher === undefined) this.#fail(new Error('The server disconnected.'));
        else this.#again(new Error('The server disconnected.'));
    }
}
handlerAttributes(EventSource, 'open', 'message', 'error');
for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSED })) {
    for (const target of [EventSource, EventSource.prototype]) Object.defineProperty(target, name, { value, enumerable: true });
}

expose({ EventSource });
