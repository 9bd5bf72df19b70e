// streams/byte.js: the controller of streams of bytes. Streams standard, 4.7 and 4.8.
//
// A buffer that comes in or goes out is transferred, so that the other side cannot change it behind our back.
import { expose } from '../core.js';
import { Queue, U8, apply, beginWith, copyBytes, illegal, isDetached, isView, lengthOf, rejected, resolved, settle, settleLate, sliceBuffer, then, transfer, window } from './base.js';
import { CLOSED, READABLE, closeStream, errorStream, fulfilRead, pendingIntos, pendingReads } from './readable.js';

// Whom a pull-into is for.
const DEFAULT = 0, BYOB = 1, NONE = 2;

export class ByteController {
    stream; highWaterMark; pull; cancel; autoAllocate; queue; total; intos; started; closing; pulling; again; pulled;
    failed; request; face; emptied; joins;
    constructor(stream, highWaterMark, pull, cancel, autoAllocate) {
        this.stream = stream;
        this.highWaterMark = highWaterMark;
        this.pull = pull;
        this.cancel = cancel;
        this.autoAllocate = autoAllocate;
        this.queue = new Queue(); // { buffer, at, length }
        this.total = 0;
        this.intos = []; // buffers to fill: { buffer, size, at, length, filled, min, element, make, whose, partial }
        this.started = false;
        this.closing = false;
        this.pulling = false;
        this.again = false;
        this.pulled = undefined;
        this.failed = undefined;
        this.request = null; // ReadableStreamBYOBRequest of intos[0]
        this.face = undefined;
        this.joins = false; // small chunks, for default readers
        this.emptied = undefined; // for sources of the runtime: a reader took the last byte of the queue
        stream.controller = this;
    }
    get public() {
        return (this.face ??= new ReadableByteStreamController(MAKE, this));
    }
    begin(start) {
        settleLate(start, () => {
            this.started = true;
            this.pullIfNeeded();
        }, (error) => this.error(error));
    }
    get desired() {
        const { state } = this.stream;
        return state === READABLE ? this.highWaterMark - this.total : state === CLOSED ? 0 : null;
    }
    get open() {
        return !this.closing && this.stream.state === READABLE;
    }
    wantsMore() {
        if (!this.open || !this.started) return false;
        return pendingReads(this.stream) > 0 || pendingIntos(this.stream) > 0 || this.highWaterMark - this.total > 0;
    }
    pullIfNeeded() {
        if (!this.wantsMore()) return;
        if (this.pulling) {
            this.again = true;
            return;
        }
        this.pulling = true;
        if (this.pulled === undefined) {
            this.pulled = () => {
                this.pulling = false;
                if (!this.again) return;
                this.again = false;
                this.pullIfNeeded();
            };
            this.failed = (error) => this.error(error);
        }
        let result;
        try {
            const { pull } = this;
            result = pull(this);
        } catch (error) {
            result = rejected(error);
        }
        settle(result, this.pulled, this.failed);
    }

    // ---- What the source does

    enqueue(view) {
        const w = window(view);
        if (isDetached(w.buffer)) throw new TypeError('The underlying ArrayBuffer has been detached.');
        if (!this.open) return;
        this.enqueueOwned(transfer(w.buffer), w.at, w.length);
    }
    // Bytes that nobody else has.
    enqueueOwned(buffer, at, length) {
        if (!this.open) return;
        if (this.intos.length > 0) {
            const first = this.intos[0];
            if (isDetached(first.buffer)) throw new TypeError("The byobRequest's buffer was detached.");
            this.invalidate();
            first.buffer = transfer(first.buffer);
            if (first.whose === NONE) this.requeue(first);
        }
        const { reader } = this.stream;
        if (reader !== undefined && !reader.byob) {
            while (reader.requests.length > 0 && this.total > 0) this.fillRead(reader.requests.shift());
            if (reader.requests.length === 0) {
                this.push(buffer, at, length);
            } else {
                if (this.intos.length > 0) this.intos.shift();
                fulfilRead(this.stream, new U8(buffer, at, length), false);
            }
        } else {
            this.push(buffer, at, length);
            if (reader !== undefined) for (const into of this.fillIntos()) this.commit(into);
        }
        this.pullIfNeeded();
    }
    close() {
        if (!this.open) return;
        if (this.total > 0) {
            this.closing = true;
            return;
        }
        if (this.intos.length > 0 && this.intos[0].filled % this.intos[0].element !== 0) {
            const error = new TypeError('This ReadableStream was closed with a partial read pending.');
            this.error(error);
            throw error;
        }
        this.clear();
        closeStream(this.stream);
    }
    // Closes and ends the reads that wait.
    finish() {
        this.close();
        this.endReads();
    }
    endReads() {
        if (this.stream.state === CLOSED && this.intos.length > 0) this.respond(0);
    }
    error(error) {
        if (this.stream.state !== READABLE) return;
        this.forget();
        this.reset();
        this.clear();
        errorStream(this.stream, error);
    }
    respond(count) {
        const first = this.intos[0];
        if (this.stream.state === CLOSED) {
            if (count !== 0) throw new TypeError('The bytesWritten must be zero after the stream is closed.');
        } else {
            if (count === 0) throw new TypeError('The bytesWritten must be more than zero while the stream is open.');
            if (first.filled + count > first.length) throw new RangeError(`Too many bytes [${count}] in response to a BYOB read request.`);
        }
        first.buffer = transfer(first.buffer);
        this.responded(count);
    }
    respondWithNewView(w) {
        const first = this.intos[0];
        if (this.stream.state === CLOSED) {
            if (w.length !== 0) throw new TypeError('The view byte length must be zero after the stream is closed.');
        } else if (w.length === 0) throw new TypeError('The view byte length must be more than zero while the stream is open.');
        if (first.at + first.filled !== w.at) throw new RangeError('The given view has an invalid byte offset.');
        if (first.size !== lengthOf(w.buffer)) throw new RangeError('The underlying ArrayBuffer is not the correct length.');
        if (first.filled + w.length > first.length) throw new RangeError('The view is not the correct length.');
        first.buffer = transfer(w.buffer);
        this.responded(w.length);
    }
    // ReadableStreamBYOBRequest, or null.
    get byobRequest() {
        if (this.request === null && this.intos.length > 0) {
            const first = this.intos[0];
            this.request = new ReadableStreamBYOBRequest(MAKE, this, new U8(first.buffer, first.at + first.filled, first.length - first.filled));
        }
        return this.request;
    }

    // ---- What readers do

    read(request) {
        if (this.total > 0) return this.fillRead(request);
        if (this.autoAllocate !== undefined) {
            let buffer;
            try {
                buffer = new Buffer(this.autoAllocate);
            } catch (error) {
                return request.error(error);
            }
            this.intos[this.intos.length] = { buffer, size: this.autoAllocate, at: 0, length: this.autoAllocate, filled: 0, min: 1, element: 1, make: U8, whose: DEFAULT, partial: false };
        }
        this.stream.reader.requests.push(request);
        this.pullIfNeeded();
    }
    // The first chunk of a queue that is not empty.
    take() {
        if (this.joins && this.queue.length > 1) return this.takeJoined();
        const { buffer, at, length } = this.queue.shift();
        this.total -= length;
        this.drained();
        return new U8(buffer, at, length);
    }
    takeJoined() {
        let count = 0, size = 0;
        while (count < this.queue.length && (count === 0 || size + this.queue.at(count).length <= this.autoAllocate)) size += this.queue.at(count++).length;
        const buffer = new Buffer(size);
        for (let at = 0; count > 0; count--) {
            const entry = this.queue.shift();
            copyBytes(buffer, at, entry.buffer, entry.at, entry.length);
            at += entry.length;
        }
        this.total -= size;
        this.drained();
        return new U8(buffer, 0, size);
    }
    // partial: what there is at the end of the stream is no end yet (readAtLeast).
    readInto(w, min, request, partial = false) {
        let buffer;
        try {
            buffer = transfer(w.buffer);
        } catch (error) {
            return request.error(error);
        }
        const into = { buffer, size: lengthOf(buffer), at: w.at, length: w.length, filled: 0, min: min * w.element, element: w.element, make: w.make, whose: BYOB, partial };
        if (this.intos.length === 0) {
            if (this.stream.state === CLOSED) return request.close(new into.make(buffer, into.at, 0));
            if (this.total > 0) {
                if (this.fillInto(into)) {
                    const view = this.converted(into);
                    this.drained();
                    return request.chunk(view);
                }
                if (this.closing) {
                    const error = new TypeError('This ReadableStream was closed with a partial read pending.');
                    this.error(error);
                    return request.error(error);
                }
            }
        }
        this.intos[this.intos.length] = into;
        this.stream.reader.requests.push(request);
        if (this.intos.length === 1) this.pullIfNeeded();
    }
    cancelSteps(reason) {
        this.forget();
        this.reset();
        const { cancel } = this;
        let result;
        try {
            result = cancel(reason);
        } catch (error) {
            result = rejected(error);
        }
        this.clear();
        return result;
    }
    released() {
        if (this.intos.length === 0) return;
        this.intos[0].whose = NONE;
        this.intos.length = 1;
    }

    // ---- Inside

    push(buffer, at, length) {
        this.queue.push({ buffer, at, length });
        this.total += length;
    }
    pushCopy(buffer, at, length) {
        let copy;
        try {
            copy = sliceBuffer(buffer, at, at + length);
        } catch (error) {
            this.error(error);
            throw error;
        }
        this.push(copy, 0, length);
    }
    // What was filled in for a reader that is gone goes to the next one.
    requeue(into) {
        if (into.filled > 0) this.pushCopy(into.buffer, into.at, into.filled);
        this.intos.shift();
    }
    fillRead(request) {
        request.chunk(this.take());
    }
    // Whether `into` has as much as it wants.
    fillInto(into) {
        const most = Math.min(this.total, into.length - into.filled);
        const filled = into.filled + most;
        const whole = filled - filled % into.element;
        const ready = whole >= into.min;
        let left = ready ? whole - into.filled : most;
        while (left > 0) {
            const head = this.queue.peek();
            const count = Math.min(left, head.length);
            copyBytes(into.buffer, into.at + into.filled, head.buffer, head.at, count);
            if (head.length === count) this.queue.shift();
            else {
                head.at += count;
                head.length -= count;
            }
            this.total -= count;
            into.filled += count;
            left -= count;
        }
        return ready;
    }
    fillIntos() {
        const full = [];
        while (this.intos.length > 0 && this.total > 0 && this.fillInto(this.intos[0])) full[full.length] = this.intos.shift();
        return full;
    }
    converted(into) {
        return new into.make(transfer(into.buffer), into.at, into.filled / into.element);
    }
    commit(into) {
        fulfilRead(this.stream, this.converted(into), this.stream.state === CLOSED && !(into.partial && into.filled > 0));
    }
    responded(count) {
        const first = this.intos[0];
        this.invalidate();
        if (this.stream.state === CLOSED) this.respondedClosed(first);
        else this.respondedOpen(count, first);
        this.pullIfNeeded();
    }
    respondedClosed(first) {
        if (first.whose === NONE) this.intos.shift();
        const full = [];
        for (let i = pendingIntos(this.stream); i > 0; i--) full[full.length] = this.intos.shift();
        for (const into of full) this.commit(into);
    }
    respondedOpen(count, into) {
        into.filled += count;
        if (into.whose === NONE) {
            this.requeue(into);
            for (const full of this.fillIntos()) this.commit(full);
            return;
        }
        if (into.filled < into.min) return;
        this.intos.shift();
        const rest = into.filled % into.element;
        if (rest > 0) this.pushCopy(into.buffer, into.at + into.filled - rest, rest);
        into.filled -= rest;
        const more = this.fillIntos();
        this.commit(into);
        for (const full of more) this.commit(full);
    }
    drained() {
        if (this.emptied !== undefined && this.total === 0) this.emptied();
        if (this.total === 0 && this.closing) {
            this.clear();
            closeStream(this.stream);
        } else this.pullIfNeeded();
    }
    invalidate() {
        if (this.request === null) return;
        invalidate(this.request);
        this.request = null;
    }
    forget() {
        this.invalidate();
        this.intos.length = 0;
    }
    reset() {
        this.queue.clear();
        this.total = 0;
    }
    clear() {
        this.pull = this.cancel = undefined;
    }
}
const Buffer = ArrayBuffer;
const MAKE = Symbol('make');

export class ReadableByteStreamController {
    #c;
    constructor(make, controller) {
        if (make !== MAKE) throw illegal();
        this.#c = controller;
    }
    get byobRequest() {
        return this.#c.byobRequest;
    }
    get desiredSize() {
        return this.#c.desired;
    }
    close() {
        const c = this.#c;
        if (!c.open) throw new TypeError('This ReadableByteStreamController is closed.');
        c.close();
        // As on Workers the reads that wait end also when the source does not respond(0); it may still do that.
        if (c.intos.length > 0) then(resolved(undefined), () => c.endReads());
    }
    enqueue(chunk) {
        const c = this.#c;
        if (!isView(chunk)) throw new TypeError('The chunk is not a view of an ArrayBuffer.');
        const w = window(chunk);
        if (w.length === 0 || lengthOf(w.buffer) === 0) throw new TypeError('Cannot enqueue a zero-length ArrayBuffer.');
        if (!c.open) throw new TypeError('This ReadableByteStreamController is closed.');
        c.enqueue(chunk);
    }
    error(reason = undefined) {
        this.#c.error(reason);
    }
}

export class ReadableStreamBYOBRequest {
    #c;
    #view;
    constructor(make, controller, view) {
        if (make !== MAKE) throw illegal();
        this.#c = controller;
        this.#view = view;
    }
    static invalidate(request) {
        request.#c = undefined;
        request.#view = null;
    }
    get view() {
        return this.#view;
    }
    // Beyond the standard: how many bytes the reader wants at least.
    get atLeast() {
        if (this.#c === undefined) return null;
        const first = this.#c.intos[0];
        return Math.max(first.min - first.filled, 1);
    }
    respond(bytesWritten) {
        if (this.#c === undefined) throw new TypeError('This ReadableStreamBYOBRequest has been invalidated.');
        if (arguments.length === 0) throw new TypeError("Failed to execute 'respond': 1 argument required, but only 0 present.");
        const count = Number(bytesWritten);
        if (!(Math.abs(count) <= Number.MAX_SAFE_INTEGER) || count <= -1) throw new TypeError('The value cannot be converted because it is not an integer.');
        if (isDetached(window(this.#view).buffer)) throw new TypeError('The byobRequest.view is zero-length or was detached');
        this.#c.respond(Math.trunc(count));
    }
    respondWithNewView(view) {
        if (this.#c === undefined) throw new TypeError('This ReadableStreamBYOBRequest has been invalidated.');
        if (!isView(view)) throw new TypeError('The view is not a view of an ArrayBuffer.');
        const w = window(view);
        if (isDetached(w.buffer)) throw new TypeError('The underlying ArrayBuffer has been detached.');
        this.#c.respondWithNewView(w);
    }
}
const { invalidate } = ReadableStreamBYOBRequest;
delete ReadableStreamBYOBRequest.invalidate;

// Of an underlying source that user code gave. As on Workers a default reader too reads into a buffer, which the source sees as a
// byobRequest, and small chunks are joined up to its size.
const BUFFER = 4096;
export function byteOf(stream, source, methods, highWaterMark, autoAllocate) {
    const { start, pull, cancel } = methods;
    const c = new ByteController(
        stream,
        highWaterMark,
        pull === undefined ? () => {} : (self) => apply(pull, source, [self.public]),
        cancel === undefined ? () => {} : (reason) => apply(cancel, source, [reason]),
        autoAllocate ?? BUFFER,
    );
    c.joins = true;
    beginWith(c, start, source);
}
expose({ ReadableByteStreamController, ReadableStreamBYOBRequest });
