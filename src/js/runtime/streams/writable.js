// streams/writable.js: WritableStream. Streams standard, 5.
//
// As in readable.js there are plain objects behind the public ones: WritableState, Writer, WritableController. A write request is an
// object with resolve() and reject(reason).
import { checkContext, expose } from '../core.js';
import { abortSignal, newSignal } from '../abort.js';
import { DOMException } from '../events.js';
import { Queue, Signal, apply, beginWith, callback, deferred, illegal, isSize, markOf, rejected, resolved, settle, settleLate, strategyOf } from './base.js';

export const WRITABLE = 0, ERRORING = 1, FAILED = 2, DONE = 3;
const CLOSE = Symbol('close'); // in the queue

export const closedError = () => new TypeError('This WritableStream has been closed.');
const releasedError = () => new TypeError('This WritableStream writer has been released.');
const lockedError = () => new TypeError('This WritableStream is currently locked to a writer.');

export class WritableState {
    state = WRITABLE;
    error = undefined;
    writer = undefined;
    controller = undefined;
    requests = new Queue();
    writing = undefined; // the write request in flight
    closeRequest = undefined; // deferred
    closing = undefined; // the one in flight
    pendingAbort = undefined; // { promise, resolve, reject, reason, wasErroring }
    aborted = undefined; // the promise of the first abort(): those that come later get it too
    backpressure = false;
    owner = undefined; // as of ReadableState
    face = undefined; // WritableStream
    get public() {
        return (this.face ??= new WritableStream(MAKE, this));
    }
    get locked() {
        return this.writer !== undefined;
    }
    // Whether close() was called.
    get ending() {
        return this.closeRequest !== undefined || this.closing !== undefined;
    }

    abort(reason) {
        if (this.state === DONE || this.state === FAILED) return this.aborted ?? resolved(undefined);
        this.controller.signalAbort(reason);
        if (this.state === DONE || this.state === FAILED) return resolved(undefined);
        if (this.pendingAbort !== undefined) return this.pendingAbort.promise;
        const wasErroring = this.state === ERRORING;
        const { promise, resolve, reject } = deferred();
        this.aborted = promise;
        this.pendingAbort = { promise, resolve, reject, reason: wasErroring ? undefined : reason, wasErroring };
        if (!wasErroring) this.startErroring(reason);
        return promise;
    }
    close() {
        if (this.state === DONE || this.state === FAILED) return rejected(closedError());
        const { promise } = (this.closeRequest = deferred());
        const { writer } = this;
        if (writer !== undefined && this.backpressure && this.state === WRITABLE) writer.ready.resolve(undefined);
        this.controller.close();
        return promise;
    }

    // ---- What the controller does

    fail(error) {
        if (this.state === WRITABLE) this.startErroring(error);
        else this.finishErroring();
    }
    startErroring(reason) {
        this.state = ERRORING;
        this.error = reason;
        if (this.writer !== undefined) this.writer.refuse(reason);
        if (this.writing === undefined && this.closing === undefined && this.controller.started) this.finishErroring();
    }
    finishErroring() {
        this.state = FAILED;
        this.controller.reset();
        const { error, requests } = this;
        this.requests = new Queue();
        while (requests.length > 0) requests.shift().reject(error);
        const abort = this.pendingAbort;
        if (abort === undefined) return this.rejectClosed();
        this.pendingAbort = undefined;
        if (abort.wasErroring) {
            abort.reject(error);
            return this.rejectClosed();
        }
        settle(this.controller.abortSteps(abort.reason), () => {
            abort.resolve(undefined);
            this.rejectClosed();
        }, (failure) => {
            abort.reject(failure);
            this.rejectClosed();
        });
    }
    rejectClosed() {
        if (this.closeRequest !== undefined) {
            this.closeRequest.reject(this.error);
            this.closeRequest = undefined;
        }
        if (this.writer !== undefined) this.writer.closed.reject(this.error);
    }
    written() {
        const request = this.writing;
        this.writing = undefined;
        request.resolve(undefined);
    }
    writeFailed(error) {
        const request = this.writing;
        this.writing = undefined;
        request.reject(error);
        this.fail(error);
    }
    closed() {
        const request = this.closing;
        this.closing = undefined;
        request.resolve(undefined);
        if (this.state === ERRORING) {
            this.error = undefined;
            if (this.pendingAbort !== undefined) {
                this.pendingAbort.resolve(undefined);
                this.pendingAbort = undefined;
            }
        }
        this.state = DONE;
        if (this.writer !== undefined) this.writer.closed.resolve(undefined);
    }
    closeFailed(error) {
        const request = this.closing;
        this.closing = undefined;
        request.reject(error);
        if (this.pendingAbort !== undefined) {
            this.pendingAbort.reject(error);
            this.pendingAbort = undefined;
        }
        this.fail(error);
    }
    setBackpressure(backpressure) {
        const { writer } = this;
        if (writer !== undefined && backpressure !== this.backpressure) {
            if (backpressure) writer.ready = new Signal();
            else writer.ready.resolve(undefined);
        }
        this.backpressure = backpressure;
    }
}

export class Writer {
    stream; closed; ready;
    constructor(stream) {
        if (stream.writer !== undefined) throw lockedError();
        this.stream = stream;
        stream.writer = this;
        const { state, error } = stream;
        this.closed = state === DONE ? Signal.resolved(undefined) : state === FAILED ? Signal.rejected(error) : new Signal();
        this.ready = state === WRITABLE ? (stream.backpressure && !stream.ending ? new Signal() : Signal.resolved(undefined)) : state === DONE ? Signal.resolved(undefined) : Signal.rejected(error);
    }
    get desired() {
        const { state, controller } = this.stream;
        return state === WRITABLE ? controller.desired : state === DONE ? 0 : null;
    }
    write(chunk, request) {
        const { stream } = this;
        const size = stream.controller.measure(chunk);
        if (stream !== this.stream) return request.reject(releasedError());
        if (stream.state === FAILED) return request.reject(stream.error);
        if (stream.ending || stream.state === DONE) return request.reject(closedError());
        if (stream.state === ERRORING) return request.reject(stream.error);
        stream.requests.push(request);
        stream.controller.write(chunk, size);
    }
    closeWithErrors() { // For pipes.
        const { stream } = this;
        if (stream.ending || stream.state === DONE) return resolved(undefined);
        return stream.state === FAILED ? rejected(stream.error) : stream.close();
    }
    refuse(error) {
        if (this.ready.settled === 0) this.ready.reject(error);
        else this.ready = Signal.rejected(error);
    }
    release() {
        const error = releasedError();
        this.refuse(error);
        if (this.closed.settled === 0) this.closed.reject(error);
        else this.closed = Signal.rejected(error);
        this.stream.writer = undefined;
        this.stream = undefined;
    }
}

class WritableController {
    stream; highWaterMark; size; writeSteps; closeSteps; abortAlgorithm; queue; sizes; total; started; aborted; reason;
    signal; face; wrote; failed;
    constructor(stream, highWaterMark, size, write, close, abort) {
        this.stream = stream;
        this.highWaterMark = highWaterMark;
        this.size = size;
        this.writeSteps = write; // (chunk, controller) => what it gives
        this.closeSteps = close;
        this.abortAlgorithm = abort;
        this.queue = new Queue();
        this.sizes = size === undefined ? null : new Queue();
        this.total = 0;
        this.started = false;
        this.aborted = false;
        this.reason = undefined; // of the abort
        this.signal = undefined; // made when somebody asks for it
        this.face = undefined;
        this.wrote = undefined; // reactions, made once
        this.failed = undefined;
        stream.controller = this;
        stream.setBackpressure(this.desired <= 0);
    }
    get public() {
        return (this.face ??= new WritableStreamDefaultController(MAKE, this));
    }
    // called: user code has a start method.
    begin(start, called = false) {
        const begun = () => {
            this.started = true;
            this.advance();
        };
        if (start === undefined && !called && this.stream.state === WRITABLE) begun(); // At once, as on Workers.
        else settleLate(start, begun, (error) => {
            this.started = true;
            this.stream.fail(error);
        });
    }
    get desired() {
        return this.highWaterMark - this.total;
    }
    signalAbort(reason) {
        if (this.aborted) return;
        if (reason === undefined) reason = new DOMException('The stream was aborted.', 'AbortError');
        this.aborted = true;
        this.reason = reason;
        if (this.signal !== undefined) abortSignal(this.signal, reason);
    }
    get abortSignal() {
        if (this.signal === undefined) {
            this.signal = newSignal();
            if (this.aborted) abortSignal(this.signal, this.reason);
        }
        return this.signal;
    }
    abortSteps(reason) {
        const { abortAlgorithm } = this;
        let result;
        try {
            result = abortAlgorithm(reason);
        } catch (error) {
            result = rejected(error);
        }
        this.clear();
        return result;
    }
    measure(chunk) {
        if (this.size === undefined) return 1;
        try {
            const measure = this.size;
            return measure(chunk);
        } catch (error) {
            this.errorIfNeeded(error);
            return 1;
        }
    }
    write(chunk, size) {
        if (!isSize(size)) return this.errorIfNeeded(new RangeError('The size of a chunk is not a finite number that is not negative.'));
        this.queue.push(chunk);
        this.sizes?.push(size);
        this.total += size;
        const { stream } = this;
        if (!stream.ending && stream.state === WRITABLE) stream.setBackpressure(this.desired <= 0);
        this.advance();
    }
    close() {
        this.queue.push(CLOSE);
        this.sizes?.push(0);
        this.advance();
    }
    errorIfNeeded(error) {
        if (this.stream.state === WRITABLE) this.error(error);
    }
    error(error) {
        this.clear();
        this.stream.startErroring(error);
    }
    advance() {
        const { stream } = this;
        if (!this.started || stream.writing !== undefined) return;
        if (stream.state === ERRORING) return stream.finishErroring();
        if (this.queue.length === 0) return;
        const chunk = this.queue.peek();
        if (chunk === CLOSE) this.runClose();
        else this.runWrite(chunk);
    }
    shift() {
        const chunk = this.queue.shift();
        if (chunk !== CLOSE) this.total -= this.sizes === null ? 1 : this.sizes.shift();
        if (this.total < 0) this.total = 0; // Rounding.
    }
    runClose() {
        const { stream } = this;
        stream.closing = stream.closeRequest;
        stream.closeRequest = undefined;
        this.shift();
        const { closeSteps } = this;
        let result;
        try {
            result = closeSteps();
        } catch (error) {
            result = rejected(error);
        }
        this.clear();
        settle(result, () => stream.closed(), (error) => stream.closeFailed(error));
    }
    runWrite(chunk) {
        const { stream } = this;
        stream.writing = stream.requests.shift();
        if (this.wrote === undefined) {
            this.wrote = () => {
                stream.written();
                const { state } = stream;
                this.shift();
                if (!stream.ending && state === WRITABLE) stream.setBackpressure(this.desired <= 0);
                this.advance();
            };
            this.failed = (error) => {
                if (stream.state === WRITABLE) this.clear();
                stream.writeFailed(error);
            };
        }
        const { writeSteps } = this;
        let result;
        try {
            result = writeSteps(chunk, this);
        } catch (error) {
            result = rejected(error);
        }
        settle(result, this.wrote, this.failed);
    }
    reset() {
        this.queue.clear();
        this.sizes?.clear();
        this.total = 0;
    }
    clear() {
        this.writeSteps = this.closeSteps = this.abortAlgorithm = NOTHING;
    }
}
const NOTHING = () => {};

// A stream of the runtime.
export function newWritable(write, close, abort, highWaterMark = 1, size = undefined, start = undefined) {
    const stream = new WritableState();
    new WritableController(stream, highWaterMark, size, write, close, abort).begin(start);
    return stream;
}

// I/O ownership, as in readable.js.
export const checkWritable = ({ owner }) => {
    if (owner !== undefined) checkContext(owner, 'Writable');
};

// ---- The public side

const MAKE = Symbol('make');

export class WritableStream {
    #s;
    constructor(underlyingSink = undefined, strategy = undefined) {
        if (underlyingSink === MAKE) {
            this.#s = strategy;
            return;
        }
        if (underlyingSink !== undefined && (underlyingSink === null || (typeof underlyingSink !== 'object' && typeof underlyingSink !== 'function'))) {
            throw new TypeError('The underlying sink is not an object.');
        }
        const stream = (this.#s = new WritableState());
        stream.face = this;
        const sink = underlyingSink ?? {};
        const [mark, size] = strategyOf(strategy);
        const abort = callback(sink, 'abort', 'underlyingSink');
        const close = callback(sink, 'close', 'underlyingSink');
        const start = callback(sink, 'start', 'underlyingSink');
        const { type } = sink;
        const write = callback(sink, 'write', 'underlyingSink');
        if (type !== undefined) throw new RangeError('Invalid underlying sink type. Only undefined is valid.');
        const c = new WritableController(
            stream,
            markOf(mark, 1),
            size,
            write === undefined ? NOTHING : (chunk, self) => apply(write, sink, [chunk, self.public]),
            close === undefined ? NOTHING : () => apply(close, sink, []),
            abort === undefined ? NOTHING : (reason) => apply(abort, sink, [reason]),
        );
        beginWith(c, start, sink);
    }
    static state = (s) => s.#s;
    static is = (v) => #s in v;

    get locked() {
        return this.#s.locked;
    }
    abort(reason = undefined) {
        try {
            if (this.#s.locked) return rejected(lockedError());
            checkWritable(this.#s);
            return this.#s.abort(reason);
        } catch (error) {
            return rejected(error);
        }
    }
    close() {
        try {
            const stream = this.#s;
            if (stream.locked) return rejected(lockedError());
            if (stream.ending) return rejected(closedError());
            checkWritable(stream);
            return stream.close();
        } catch (error) {
            return rejected(error);
        }
    }
    getWriter() {
        return new WritableStreamDefaultWriter(MAKE, this.#s);
    }
}
export const { state: writableState } = WritableStream;
const { is } = WritableStream;
export const isWritable = (v) => typeof v === 'object' && v !== null && is(v);
delete WritableStream.state;
delete WritableStream.is;

export class WritableStreamDefaultWriter {
    #w;
    constructor(stream, state = undefined) {
        if (stream !== MAKE) {
            if (!isWritable(stream)) throw new TypeError('The stream is not a WritableStream.');
            state = writableState(stream);
        }
        this.#w = new Writer(state);
    }
    get closed() {
        try {
            return this.#w.closed.promise;
        } catch (error) {
            return rejected(error);
        }
    }
    get desiredSize() {
        if (this.#w.stream === undefined) throw releasedError();
        return this.#w.desired;
    }
    get ready() {
        try {
            return this.#w.ready.promise;
        } catch (error) {
            return rejected(error);
        }
    }
    abort(reason = undefined) {
        try {
            const { stream } = this.#w;
            if (stream === undefined) return rejected(releasedError());
            checkWritable(stream);
            return stream.abort(reason);
        } catch (error) {
            return rejected(error);
        }
    }
    close() {
        try {
            const { stream } = this.#w;
            if (stream === undefined) return rejected(releasedError());
            checkWritable(stream);
            return stream.ending ? rejected(closedError()) : stream.close();
        } catch (error) {
            return rejected(error);
        }
    }
    releaseLock() {
        if (this.#w.stream !== undefined) this.#w.release();
    }
    write(chunk = undefined) {
        try {
            const { stream } = this.#w;
            if (stream === undefined) return rejected(releasedError());
            checkWritable(stream);
            const request = deferred();
            this.#w.write(chunk, request);
            return request.promise;
        } catch (error) {
            return rejected(error);
        }
    }
}

export class WritableStreamDefaultController {
    #c;
    constructor(make, controller) {
        if (make !== MAKE) throw illegal();
        this.#c = controller;
    }
    get signal() {
        return this.#c.abortSignal;
    }
    error(reason = undefined) {
        this.#c.errorIfNeeded(reason);
    }
}
expose({ WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController });
