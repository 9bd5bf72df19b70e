// streams/pipe.js: from a readable to a writable stream. Streams standard, 4.9.1 (pipe).
import { isSignal, offAbort, onAbort } from '../abort.js';
import { deferred, dictionary, noop, resolved, settle, then } from './base.js';
import { CLOSED, ERRORED, READABLE, Reader, cancelStream } from './readable.js';
import { DONE, ERRORING, FAILED, WRITABLE, Writer } from './writable.js';

export function pipeOptions(options) {
    options = dictionary(options, 'The options of a pipe');
    if (options === undefined) return { preventAbort: false, preventCancel: false, preventClose: false, signal: undefined };
    const preventAbort = Boolean(options.preventAbort), preventCancel = Boolean(options.preventCancel), preventClose = Boolean(options.preventClose);
    const { signal } = options;
    if (signal !== undefined && !isSignal(signal)) throw new TypeError('options.signal is not an AbortSignal.');
    return { preventAbort, preventCancel, preventClose, signal };
}

// Neither is locked. A promise of the end.
export function pipe(source, destination, options) {
    return new Pipe(source, destination, options).done.promise;
}

// It is its own read request (chunk, close, error) and the write request of all its writes (resolve, reject).
class Pipe {
    source; destination; options; reader; writer; done; ending; open; idle; step; aborted; stopped;
    constructor(source, destination, options) {
        this.source = source;
        this.destination = destination;
        this.options = options;
        this.reader = new Reader(source, false);
        this.writer = new Writer(destination);
        this.done = deferred();
        this.ending = false;
        this.open = 0; // chunks that were read and are not written yet
        this.idle = undefined; // called when open is 0
        this.stopped = false;
        this.step = () => this.next();
        source.disturbed = true;
        if (options.signal !== undefined) {
            this.aborted = () => this.abort();
            if (options.signal.aborted) return void this.abort();
            onAbort(options.signal, this.aborted);
        }
        this.watch();
        if (!this.ending) then(resolved(undefined), this.step);
    }

    // ---- Why it ends

    watch() {
        const { source, destination, reader, writer } = this;
        if (source.state === ERRORED) this.sourceFailed();
        if (destination.state === ERRORING || destination.state === FAILED) this.destinationFailed();
        if (source.state === CLOSED) this.sourceClosed();
        if (destination.ending || destination.state === DONE) this.destinationClosed();
        if (this.ending) return;
        then(reader.closed.promise, () => this.sourceClosed(), () => this.sourceFailed());
        then(writer.closed.promise, undefined, () => this.destinationFailed());
    }
    sourceFailed() {
        const { error } = this.source;
        this.shutdown(this.options.preventAbort ? undefined : () => this.destination.abort(error), true, error);
    }
    destinationFailed() {
        const { error } = this.destination;
        this.shutdown(this.options.preventCancel ? undefined : () => cancelStream(this.source, error), true, error);
    }
    sourceClosed() {
        if (this.source.state === ERRORED) return;
        this.shutdown(this.options.preventClose ? undefined : () => this.writer.closeWithErrors(), false);
    }
    destinationClosed() {
        const error = new TypeError('This destination writable stream is closed.');
        this.shutdown(this.options.preventCancel ? undefined : () => cancelStream(this.source, error), true, error);
    }
    abort() {
        this.stopped = true;
        const error = this.options.signal.reason;
        const { preventAbort, preventCancel } = this.options;
        this.shutdown(() => {
            const one = !preventAbort && this.destination.state === WRITABLE ? this.destination.abort(error) : undefined;
            const two = !preventCancel && this.source.state === READABLE ? cancelStream(this.source, error) : undefined;
            return both(one, two);
        }, true, error);
    }

    shutdown(action, failed, error) {
        if (this.ending) return;
        this.ending = true;
        const rest = () => {
            if (action === undefined) return this.finish(failed, error);
            settle(action(), () => this.finish(failed, error), (worse) => this.finish(true, worse));
        };
        const { destination } = this;
        if (destination.state === WRITABLE && !destination.ending && this.open > 0) this.idle = rest;
        else if (destination.state === WRITABLE && !destination.ending) then(resolved(undefined), rest);
        else rest();
    }
    finish(failed, error) {
        this.writer.release();
        this.reader.release();
        if (this.options.signal !== undefined) offAbort(this.options.signal, this.aborted);
        if (failed) this.done.reject(error);
        else this.done.resolve(undefined);
    }

    // ---- The loop

    next() {
        const { source, destination, writer } = this;
        while (!this.ending && destination.state === WRITABLE) {
            if (destination.ending) return this.destinationClosed();
            if (writer.desired <= 0) {
                then(writer.ready.promise, this.step, noop);
                return;
            }
            if (source.state !== READABLE) return; // watch() sees to it.
            const c = source.controller;
            if (c.queue.length === 0) return this.reader.read(this);
            this.open++;
            writer.write(c.take(), this);
        }
    }
    // Not from inside the source's enqueue().
    chunk(value) {
        if (this.stopped) return; // By the signal, before it came.
        this.open++;
        then(resolved(undefined), () => {
            this.writer.write(value, this);
            this.next();
        });
    }
    close() {}
    error() {}

    resolve() {
        if (--this.open > 0 || this.idle === undefined) return;
        const { idle } = this;
        this.idle = undefined;
        then(resolved(undefined), idle);
    }
    reject() {
        this.resolve();
    }
}

// Fulfilled when both are; rejected as the first that is.
function both(one, two) {
    if (one === undefined || two === undefined) return one ?? two;
    const { promise, resolve, reject } = deferred();
    let left = 2;
    const ok = () => {
        if (--left === 0) resolve(undefined);
    };
    then(one, ok, reject);
    then(two, ok, reject);
    return promise;
}
