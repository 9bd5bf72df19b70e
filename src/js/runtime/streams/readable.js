// streams/readable.js: ReadableStream and its readers. Streams standard, 4.1 to 4.5, 4.9.
//
// Each public object has a plain object behind it, which the runtime works with and user code never sees: ReadableState behind
// ReadableStream, Reader behind the two readers. A read request is an object with chunk(value), close(value) and error(reason).
import { checkContext, currentContext, expose } from '../core.js';
import { Queue, Signal, callback, deferred, dictionary, isView, isDetached, lengthOf, markOf, rejected, resolved, strategyOf, then, window } from './base.js';
import { DefaultController, defaultOf } from './default.js';
import { ByteController, byteOf } from './byte.js';
import { tee } from './tee.js';
import { pipe, pipeOptions } from './pipe.js';
import { iteratorOf, sourceOfIterable } from './iterate.js';
import { checkWritable, isWritable, writableState } from './writable.js';

export const READABLE = 0, CLOSED = 1, ERRORED = 2;
const undefinedOf = () => undefined;

export class ReadableState {
    state = READABLE;
    reader = undefined;
    error = undefined;
    disturbed = false;
    controller = undefined;
    length = -1; // of all it will give, in bytes, when that is known
    owner = undefined; // the context that may use it; undefined: anybody, as what user code makes
    face = undefined; // ReadableStream
    get public() {
        return (this.face ??= new ReadableStream(MAKE, this));
    }
    get locked() {
        return this.reader !== undefined;
    }
}

export class Reader {
    stream; byob; requests; closed;
    constructor(stream, byob) {
        if (stream.reader !== undefined) throw new TypeError('This ReadableStream is currently locked to a reader.');
        this.stream = stream;
        this.byob = byob;
        this.requests = new Queue();
        this.closed = stream.state === READABLE ? new Signal() : stream.state === CLOSED ? Signal.resolved(undefined) : Signal.rejected(stream.error);
        stream.reader = this;
    }
    // Of a default reader that has a stream.
    read(request) {
        const { stream } = this;
        stream.disturbed = true;
        if (stream.state === READABLE) stream.controller.read(request);
        else if (stream.state === CLOSED) request.close(undefined);
        else request.error(stream.error);
    }
    // min: elements
    readInto(view, min, request, partial = false) {
        const { stream } = this;
        stream.disturbed = true;
        if (stream.state === ERRORED) request.error(stream.error);
        else stream.controller.readInto(view, min, request, partial);
    }
    release() {
        const { stream } = this;
        const error = new TypeError('This ReadableStream reader has been released.');
        if (stream.state === READABLE && this.closed.settled === 0) this.closed.reject(error);
        else this.closed = Signal.rejected(error);
        stream.controller.released();
        stream.reader = undefined;
        this.stream = undefined;
        const { requests } = this;
        this.requests = new Queue();
        while (requests.length > 0) requests.shift().error(error);
    }
}

// ---- What controllers do to their streams

export const pendingReads = (stream) => (stream.reader !== undefined && !stream.reader.byob ? stream.reader.requests.length : 0);
export const pendingIntos = (stream) => (stream.reader !== undefined && stream.reader.byob ? stream.reader.requests.length : 0);
export function fulfilRead(stream, chunk, done) {
    const request = stream.reader.requests.shift();
    if (done) request.close(chunk);
    else request.chunk(chunk);
}
export function closeStream(stream) {
    stream.state = CLOSED;
    const { reader } = stream;
    if (reader === undefined) return;
    reader.closed.resolve(undefined);
    if (reader.byob) return;
    const { requests } = reader;
    reader.requests = new Queue();
    while (requests.length > 0) requests.shift().close(undefined);
}
export function errorStream(stream, error) {
    stream.state = ERRORED;
    stream.error = error;
    const { reader } = stream;
    if (reader === undefined) return;
    reader.closed.reject(error);
    const { requests } = reader;
    reader.requests = new Queue();
    while (requests.length > 0) requests.shift().error(error);
}
export function cancelStream(stream, reason) {
    stream.disturbed = true;
    if (stream.state === CLOSED) return resolved(undefined);
    if (stream.state === ERRORED) return rejected(stream.error);
    closeStream(stream);
    const { reader } = stream;
    if (reader !== undefined && reader.byob) {
        const { requests } = reader;
        reader.requests = new Queue();
        while (requests.length > 0) requests.shift().close(undefined);
    }
    return then(resolved(stream.controller.cancelSteps(reason)), undefinedOf);
}

// A stream of the runtime. pull(controller) and cancel(reason) as in default.js.
export function newReadable(pull, cancel, highWaterMark = 1, size = undefined, start = undefined) {
    const stream = new ReadableState();
    new DefaultController(stream, highWaterMark, size, pull, cancel).begin(start);
    return stream;
}
export function newReadableBytes(pull, cancel, highWaterMark = 0, start = undefined) {
    const stream = new ReadableState();
    new ByteController(stream, highWaterMark, pull, cancel, undefined).begin(start);
    return stream;
}

// ---- I/O ownership: runtime.md 2.7. User code comes through the checks, the runtime itself does not need them.

// The state of a stream, readable or writable, belongs to the event that runs now.
export function own(stream, context = currentContext()) {
    stream.owner = context;
    return stream;
}
export const checkReadable = ({ owner }) => {
    if (owner !== undefined) checkContext(owner, 'ReadableStreamSource');
};

// ---- The public side

const toInteger = (v) => {
    v = Number(v);
    if (!(Math.abs(v) <= Number.MAX_SAFE_INTEGER)) throw new TypeError('The value cannot be converted because it is not an integer.');
    v = Math.trunc(v);
    if (v < 0) throw new TypeError('The value cannot be converted because it is negative.');
    return v;
};

const MAKE = Symbol('make');
const lockedError = () => new TypeError('This ReadableStream is currently locked to a reader.');

export class ReadableStream {
    #s;
    constructor(underlyingSource = undefined, strategy = undefined) {
        if (underlyingSource === MAKE) {
            this.#s = strategy;
            return;
        }
        if (underlyingSource !== undefined && (underlyingSource === null || (typeof underlyingSource !== 'object' && typeof underlyingSource !== 'function'))) {
            throw new TypeError('The underlying source is not an object.');
        }
        const stream = (this.#s = new ReadableState());
        stream.face = this;
        const source = underlyingSource ?? {};
        const [mark, size, sized] = strategyOf(strategy);
        let { autoAllocateChunkSize } = source;
        if (autoAllocateChunkSize !== undefined) autoAllocateChunkSize = toInteger(autoAllocateChunkSize);
        const cancel = callback(source, 'cancel', 'underlyingSource');
        const pull = callback(source, 'pull', 'underlyingSource');
        const start = callback(source, 'start', 'underlyingSource');
        const { type } = source;
        if (type !== undefined && `${type}` !== 'bytes') throw new TypeError(`"${type}" is not a type of streams; only "bytes" is.`);
        if (type === undefined) {
            defaultOf(stream, underlyingSource, { start, pull, cancel }, markOf(mark, 1), size);
            return;
        }
        if (sized) throw new RangeError('A stream of bytes has no size function in its strategy.');
        if (autoAllocateChunkSize === 0) throw new TypeError('The autoAllocateChunkSize option cannot be zero.');
        const { expectedLength } = source; // A body of it has a Content-Length.
        if (expectedLength !== undefined) stream.length = toInteger(expectedLength);
        byteOf(stream, underlyingSource, { start, pull, cancel }, markOf(mark, 0), autoAllocateChunkSize);
    }
    static state = (s) => s.#s;
    static is = (v) => #s in v;

    static from(asyncIterable) {
        const source = sourceOfIterable(asyncIterable);
        return newReadable(source.pull, source.cancel, 0).public;
    }
    get locked() {
        return this.#s.locked;
    }
    cancel(reason = undefined) {
        try {
            if (this.#s.locked) return rejected(lockedError());
            checkReadable(this.#s);
            return cancelStream(this.#s, reason);
        } catch (error) {
            return rejected(error);
        }
    }
    getReader(options = undefined) {
        const stream = this.#s;
        options = dictionary(options, 'The options of getReader()');
        const mode = options === undefined ? undefined : options.mode;
        if (mode === undefined) return new ReadableStreamDefaultReader(MAKE, stream);
        if (`${mode}` !== 'byob') throw new TypeError(`mode must be undefined or "byob", not "${mode}".`);
        return new ReadableStreamBYOBReader(MAKE, stream);
    }
    pipeThrough(transform, options = undefined) {
        const stream = this.#s;
        if (transform === null || (typeof transform !== 'object' && typeof transform !== 'function')) throw new TypeError('The transform is not an object with readable and writable.');
        const { readable } = transform;
        if (!isReadable(readable)) throw new TypeError('transform.readable is not a ReadableStream.');
        const { writable } = transform;
        if (!isWritable(writable)) throw new TypeError('transform.writable is not a WritableStream.');
        const how = pipeOptions(options);
        if (stream.locked) throw lockedError();
        const to = writableState(writable);
        if (to.locked) throw new TypeError('This WritableStream is currently locked to a writer.');
        checkReadable(stream);
        checkWritable(to);
        then(pipe(stream, to, how), undefined, undefinedOf);
        return readable;
    }
    pipeTo(destination, options = undefined) {
        let stream, to, how;
        try {
            stream = this.#s;
            if (!isWritable(destination)) throw new TypeError('The destination is not a WritableStream.');
            to = writableState(destination);
            how = pipeOptions(options);
            if (stream.locked) throw lockedError();
            if (to.locked) throw new TypeError('This WritableStream is currently locked to a writer.');
            checkReadable(stream);
            checkWritable(to);
        } catch (error) {
            return rejected(error);
        }
        return pipe(stream, to, how);
    }
    tee() {
        checkReadable(this.#s);
        const [one, two] = tee(this.#s);
        one.owner = two.owner = this.#s.owner;
        return [one.public, two.public];
    }
    values(options = undefined) {
        const stream = this.#s;
        options = dictionary(options, 'The options of values()');
        return iteratorOf(new Reader(stream, false), options !== undefined && Boolean(options.preventCancel));
    }
}
export const { state: readableState } = ReadableStream;
const { is } = ReadableStream;
export const isReadable = (v) => typeof v === 'object' && v !== null && is(v);
delete ReadableStream.state;
delete ReadableStream.is;
Object.defineProperty(ReadableStream.prototype, Symbol.asyncIterator, { value: ReadableStream.prototype.values, writable: true, configurable: true });

// ---- Readers

class ReadRequest {
    promise; resolve; error;
    constructor() {
        const { promise, resolve, reject } = deferred();
        this.promise = promise;
        this.resolve = resolve;
        this.error = reject;
    }
    chunk(value) {
        this.resolve({ value, done: false });
    }
    close(value) {
        this.resolve({ value, done: true });
    }
}

const released = () => new TypeError('This ReadableStream reader has been released.');
function cancelRead(stream, reason) {
    if (stream === undefined) return rejected(released());
    checkReadable(stream);
    return cancelStream(stream, reason);
}

function readerOf(make, stream, byob) {
    if (make !== MAKE) {
        stream = make;
        if (!isReadable(stream)) throw new TypeError('The stream is not a ReadableStream.');
        stream = readableState(stream);
    }
    if (stream.locked) throw lockedError();
    if (byob && !(stream.controller instanceof ByteController)) throw new TypeError('This ReadableStream does not support BYOB reads.');
    return new Reader(stream, byob);
}

export class ReadableStreamDefaultReader {
    #r;
    constructor(stream, state = undefined) {
        this.#r = readerOf(stream, state, false);
    }
    get closed() {
        try {
            return this.#r.closed.promise;
        } catch (error) {
            return rejected(error);
        }
    }
    cancel(reason = undefined) {
        try {
            return cancelRead(this.#r.stream, reason);
        } catch (error) {
            return rejected(error);
        }
    }
    read() {
        try {
            const { stream } = this.#r;
            if (stream === undefined) return rejected(released());
            checkReadable(stream);
            if (stream.state === READABLE) {
                const c = stream.controller;
                if (c.queue.length > 0) { // It is there: no request.
                    stream.disturbed = true;
                    return resolved({ value: c.take(), done: false });
                }
            }
            const request = new ReadRequest();
            this.#r.read(request);
            return request.promise;
        } catch (error) {
            return rejected(error);
        }
    }
    releaseLock() {
        if (this.#r.stream !== undefined) this.#r.release();
    }
}

export class ReadableStreamBYOBReader {
    #r;
    constructor(stream, state = undefined) {
        this.#r = readerOf(stream, state, true);
    }
    get closed() {
        try {
            return this.#r.closed.promise;
        } catch (error) {
            return rejected(error);
        }
    }
    cancel(reason = undefined) {
        try {
            return cancelRead(this.#r.stream, reason);
        } catch (error) {
            return rejected(error);
        }
    }
    read(view, options = undefined) {
        try {
            const reader = this.#r;
            const w = viewOf(view);
            let min = 1;
            options = dictionary(options, 'The options of read()');
            if (options !== undefined && options.min !== undefined) min = toInteger(options.min);
            return readInto(reader, w, min);
        } catch (error) {
            return rejected(error);
        }
    }
    // Beyond the standard: at least `minimum` elements, unless the stream ends before.
    readAtLeast(minimum, view) {
        try {
            const reader = this.#r;
            minimum = toInteger(minimum);
            const w = viewOf(view);
            if (minimum * w.element > w.length) return rejected(new TypeError(`Minimum bytes to read (${minimum * w.element}) exceeds size of buffer (${w.length}).`));
            return readInto(reader, w, minimum, true);
        } catch (error) {
            return rejected(error);
        }
    }
    releaseLock() {
        if (this.#r.stream !== undefined) this.#r.release();
    }
}

function viewOf(view) {
    if (!isView(view)) throw new TypeError('You must call read() on a "byob" reader with a positive-sized TypedArray object.');
    return window(view);
}

function readInto(reader, w, min, partial = false) {
    if (w.length === 0) throw new TypeError('You must call read() on a "byob" reader with a positive-sized TypedArray object.');
    if (isDetached(w.buffer)) throw new TypeError('The underlying ArrayBuffer has been detached.');
    if (lengthOf(w.buffer) === 0) throw new TypeError('Unable to use a zero-length ArrayBuffer.');
    if (min === 0) throw new TypeError(`Requested invalid minimum number of bytes to read (${min}).`);
    if (min * w.element > w.length) throw new RangeError(`Minimum bytes to read (${min * w.element}) exceeds size of buffer (${w.length}).`);
    if (reader.stream === undefined) throw released();
    checkReadable(reader.stream);
    const request = new ReadRequest();
    reader.readInto(w, min, request, partial);
    return request.promise;
}

expose({ ReadableStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader });
