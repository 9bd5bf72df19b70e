// streams/default.js: the controller of streams of values. Streams standard, 4.6.
import { expose } from '../core.js';
import { Queue, apply, beginWith, illegal, isSize, rejected, settle, settleLate } from './base.js';
import { READABLE, errorStream, closeStream, pendingReads, fulfilRead } from './readable.js';

export class DefaultController {
    stream; highWaterMark; size; pull; cancel; queue; sizes; total; started; closing; pulling; again; pulled; failed;
    face;
    constructor(stream, highWaterMark, size, pull, cancel) {
        this.stream = stream;
        this.highWaterMark = highWaterMark;
        this.size = size; // undefined: 1 for each
        this.pull = pull; // (controller) => what it gives
        this.cancel = cancel; // (reason) => what it gives
        this.queue = new Queue();
        this.sizes = size === undefined ? null : new Queue();
        this.total = 0;
        this.started = false;
        this.closing = false;
        this.pulling = false;
        this.again = false;
        this.pulled = undefined; // reactions, made once
        this.failed = undefined;
        this.face = undefined; // ReadableStreamDefaultController
        stream.controller = this;
    }
    get public() {
        return (this.face ??= new ReadableStreamDefaultController(MAKE, this));
    }
    // start: what the start algorithm gave.
    begin(start) {
        settleLate(start, () => {
            this.started = true;
            this.pullIfNeeded();
        }, (error) => this.error(error));
    }
    get desired() {
        const { state } = this.stream;
        return state === READABLE ? this.highWaterMark - this.total : state === 2 ? null : 0;
    }
    get open() {
        return !this.closing && this.stream.state === READABLE;
    }
    wantsMore() {
        if (!this.open || !this.started) return false;
        return pendingReads(this.stream) > 0 || this.highWaterMark - this.total > 0;
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
    enqueue(chunk) {
        if (pendingReads(this.stream) > 0) {
            fulfilRead(this.stream, chunk, false);
        } else {
            let size = 1;
            if (this.size !== undefined) {
                try {
                    const measure = this.size;
                    size = measure(chunk);
                    if (!isSize(size)) throw new RangeError('The size of a chunk is not a finite number that is not negative.');
                } catch (error) {
                    this.error(error);
                    throw error;
                }
                this.sizes.push(size);
            }
            this.queue.push(chunk);
            this.total += size;
        }
        this.pullIfNeeded();
    }
    // The first chunk of a queue that is not empty.
    take() {
        const chunk = this.queue.shift();
        this.total -= this.sizes === null ? 1 : this.sizes.shift();
        if (this.total < 0) this.total = 0; // Rounding.
        if (this.closing && this.queue.length === 0) {
            this.clear();
            closeStream(this.stream);
        } else this.pullIfNeeded();
        return chunk;
    }
    read(request) {
        if (this.queue.length > 0) request.chunk(this.take());
        else {
            this.stream.reader.requests.push(request);
            this.pullIfNeeded();
        }
    }
    close() {
        if (!this.open) return;
        this.closing = true;
        if (this.queue.length > 0) return;
        this.clear();
        closeStream(this.stream);
    }
    error(error) {
        if (this.stream.state !== READABLE) return;
        this.reset();
        this.clear();
        errorStream(this.stream, error);
    }
    reset() {
        this.queue.clear();
        this.sizes?.clear();
        this.total = 0;
    }
    clear() { // What can be collected.
        this.pull = this.cancel = this.size = undefined;
    }
    cancelSteps(reason) {
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
    released() {}
}

const MAKE = Symbol('make');

export class ReadableStreamDefaultController {
    #c;
    constructor(make, controller) {
        if (make !== MAKE) throw illegal();
        this.#c = controller;
    }
    get desiredSize() {
        return this.#c.desired;
    }
    close() {
        if (!this.#c.open) throw new TypeError('This ReadableStream is closed.');
        this.#c.close();
    }
    enqueue(chunk = undefined) {
        if (!this.#c.open) throw new TypeError('Unable to enqueue');
        this.#c.enqueue(chunk);
    }
    error(reason = undefined) {
        this.#c.error(reason);
    }
}

// Of an underlying source that user code gave; stream: its state.
export function defaultOf(stream, source, methods, highWaterMark, size) {
    const { start, pull, cancel } = methods;
    const c = new DefaultController(
        stream,
        highWaterMark,
        size,
        pull === undefined ? () => {} : (self) => apply(pull, source, [self.public]),
        cancel === undefined ? () => {} : (reason) => apply(cancel, source, [reason]),
    );
    beginWith(c, start, source);
}
expose({ ReadableStreamDefaultController });
