// body.js: what Request and Response share: a body that can be read once. runtime.md 5.1.
//
// A body stays what it was made of, text, bytes or a source of the host, until somebody asks for a stream. So a short text goes
// from user code to the host, and JSON from the host to user code, without a stream in between.
import { checkContext, currentContext, runIn, shape, startBoxed } from './core.js';
import { ReadableStream, bytesStream, dropStream, isDisturbed, sourceStream, streamLength, streamOwner, readAll } from './streams.js';
import { Blob, blobBytes, blobOf } from './blob.js';
import { FormData, formDataOf, formDataToBody } from './formdata.js';
import { URLSearchParams } from './url.js';
import { decodeUtf8, encodeUtf8 } from './encoding.js';
import { CompressionStream, DecompressionStream } from './compression.js';
import { boxed, hide } from './primordials.js';

const { source_read, source_close, request_body } = host;
const USED = 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.';

// kind: 'text', 'bytes' (Uint8Array), 'source' (host handle), 'stream', or 'collected': the host has all of it (id of the event)
export class BodyState {
    constructor(kind, value, type = null, length = -1) {
        this.kind = kind;
        this.value = value;
        this.type = type; // what Content-Type it brings
        this.length = length; // bytes, when a stream or source knows it
        this.coding = null; // of a source: what DecompressionStream calls the form it has
        this.used = false;
        this.context = undefined; // who may use it: set once a Request or Response has it. Streams know that themselves.
    }
    get stream() {
        if (this.kind !== 'stream') {
            this.value = this.context === undefined ? this.#open() : runIn(this.context.frame, () => this.#open());
            this.kind = 'stream';
        }
        return this.value;
    }
    #open() {
        switch (this.kind) {
            case 'text': return bytesStream(encodeUtf8(this.value));
            case 'bytes': return bytesStream(this.value);
            case 'collected': return bytesStream(request_body(this.value, false));
            default: return this.coding === null ? sourceStream(this.value) : sourceStream(this.value).pipeThrough(new DecompressionStream(this.coding));
        }
    }
    // The bytes as they came, compressed, for somebody who passes them on; undefined when nobody knows them any more.
    encodedStream(coding) {
        if (this.kind !== 'source' || this.coding !== coding || this.used) return undefined;
        this.kind = 'stream';
        return (this.value = sourceStream(this.value));
    }
    get disturbed() {
        return this.used || (this.kind === 'stream' && isDisturbed(this.value));
    }
    get unusable() {
        return this.disturbed || (this.kind === 'stream' && this.value.locked);
    }
    // Asserts that the event that runs now may use it. runtime.md 2.7.
    check() {
        const owner = this.kind === 'stream' ? streamOwner(this.value) : this.context;
        if (owner !== undefined) checkContext(owner, 'ReadableStreamSource');
    }
    // Asserts that the event that runs now may read it, and that nobody has.
    need() {
        if (this.unusable) throw new TypeError(USED);
        this.check();
    }
    tee() {
        if (this.kind === 'text' || this.kind === 'bytes' || this.kind === 'collected') return new BodyState(this.kind, this.value, this.type, this.length);
        const [one, two] = this.stream.tee();
        this.value = one;
        return new BodyState('stream', two, this.type, this.length);
    }
    // The rest as one Uint8Array, { value }; marks it used.
    async bytes() {
        this.used = true;
        switch (this.kind) {
            case 'text': return boxed(encodeUtf8(this.value));
            case 'bytes': return boxed(this.value.slice());
            case 'source': return this.coding === null ? readSource(this.value) : readAll(this.stream);
            case 'collected': return boxed(request_body(this.value, false));
            default: return readAll(this.value);
        }
    }
    cancel(reason) {
        if (this.kind === 'source') source_close(this.value);
        else if (this.kind === 'stream' && !this.value.locked) return dropStream(this.value, reason);
    }
}

hide(BodyState);

const CODINGS = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'brotli' };
// What DecompressionStream calls a Content-Encoding; null for those that pass as they are.
export const codingOf = (encoding) => CODINGS[encoding.trim().toLowerCase()] ?? null;

// The body if all of it is there, for somebody else: this one is used then. undefined: it is a stream.
export function knownBody(state) {
    const { kind, value, type, length } = state;
    if (kind === 'source' || kind === 'stream') return undefined;
    state.used = true;
    return kind === 'collected' ? new BodyState('bytes', request_body(value, false), type, length) : new BodyState(kind, value, type, length);
}

const INLINE_MAX = 1 << 20;
// Whether a body goes along in the message of its request or answer, and not as a stream beside it: when all of it is there, and not large.
export const goesInline = ({ kind, value, length }) => kind !== 'source' && kind !== 'stream' && (kind === 'collected' ? length : value.length) <= INLINE_MAX;

async function readSource(source) {
    const chunks = [];
    let length = 0;
    for (let chunk; (chunk = (await startBoxed(source_read, source)).value) !== undefined; length += chunk.length) chunks[chunks.length] = chunk;
    if (chunks.length === 1) return boxed(chunks[0]);
    const all = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
        all.set(chunk, at);
        at += chunk.length;
    }
    return boxed(all);
}

// What goes out for a response or request whose Content-Encoding says that it is compressed: bytes that came so go on as they are,
// others are compressed now. runtime.md 5.1, encodeBody.
export function encodedBody(state, encoding) {
    const coding = encoding === null ? null : codingOf(encoding);
    if (state === null || coding === null) return state;
    const as = state.encodedStream(coding);
    return new BodyState('stream', as ?? state.stream.pipeThrough(new CompressionStream(coding)));
}

// What user code may give as a body; null for none.
export function bodyOf(init) {
    if (init === null || init === undefined) return null;
    if (typeof init === 'string') return new BodyState('text', init, 'text/plain;charset=UTF-8');
    if (typeof init === 'object') {
        if (init instanceof ReadableStream) {
            if (init.locked || isDisturbed(init)) throw new TypeError('This ReadableStream is disturbed (has already been read from), and cannot be used as a body.');
            return new BodyState('stream', init, null, streamLength(init));
        }
        if (ArrayBuffer.isView(init)) return new BodyState('bytes', new Uint8Array(init.buffer, init.byteOffset, init.byteLength).slice());
        if (isBuffer(init)) return new BodyState('bytes', new Uint8Array(init.slice(0)));
        if (init instanceof Blob) return new BodyState('bytes', blobBytes(init), init.type || null);
        if (init instanceof URLSearchParams) return new BodyState('text', init.toString(), 'application/x-www-form-urlencoded;charset=UTF-8');
        if (init instanceof FormData) {
            const { bytes, type } = formDataToBody(init);
            return new BodyState('bytes', bytes, type);
        }
        if (init[Symbol.asyncIterator] !== undefined || (init[Symbol.iterator] !== undefined && !(init instanceof String))) {
            return new BodyState('stream', ReadableStream.from(init));
        }
    }
    return new BodyState('text', String(init), 'text/plain;charset=UTF-8');
}

const isBuffer = (v) => v instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && v instanceof SharedArrayBuffer);

export class Body {
    #state = null;

    static of = (body) => body.#state;
    static set = (body, state, context = currentContext()) => {
        body.#state = state;
        if (state !== null) state.context ??= context;
    };

    get body() {
        return this.#state === null ? null : this.#state.stream;
    }
    get bodyUsed() {
        return this.#state !== null && this.#state.disturbed;
    }
    #take() {
        const state = this.#state;
        state?.need();
        return state;
    }
    async text() {
        const state = this.#take();
        if (state === null) return '';
        if (state.kind === 'text') {
            state.used = true;
            return state.value.isWellFormed() ? state.value : state.value.toWellFormed();
        }
        if (state.kind === 'collected') {
            state.used = true;
            return request_body(state.value, true);
        }
        return decodeUtf8((await state.bytes()).value);
    }
    async json() {
        return JSON.parse(await this.text());
    }
    async #bytes() {
        const state = this.#take();
        return state === null ? boxed(new Uint8Array(0)) : state.bytes();
    }
    async bytes() {
        return (await this.#bytes()).value;
    }
    async arrayBuffer() {
        const { value: bytes } = await this.#bytes();
        return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
    }
    async blob() {
        const type = this.headers.get('content-type') ?? '';
        return blobOf((await this.#bytes()).value, type);
    }
    async formData() {
        const type = this.headers.get('content-type');
        return formDataOf((await this.#bytes()).value, type);
    }
}
export const { of: bodyState, set: setBody } = Body;
delete Body.of;
delete Body.set;
shape(Body);
