// streams/transform.js: TransformStream. Streams standard, 6.
import { expose } from '../core.js';
import { apply, callback, deferred, illegal, markOf, rejected, settle, settleLate, strategyOf, then } from './base.js';
import { ERRORED, newReadable, newReadableBytes } from './readable.js';
import { ERRORING, FAILED, newWritable } from './writable.js';

// What is behind a TransformStream. methods: transform(chunk, state), flush(state), cancel(reason); any may be missing.
export class TransformState {
    transform; flush; cancel; finishing; face; backpressure; change; writable; readable;
    constructor(methods, { writableMark = 1, writableSize, readableMark = 0, readableSize, bytes = false, start } = {}) {
        const { transform, flush, cancel } = methods;
        this.transform = transform; // undefined: chunks as they are
        this.flush = flush;
        this.cancel = cancel;
        this.finishing = undefined; // deferred: flush or cancel is under way
        this.face = undefined; // TransformStreamDefaultController
        this.backpressure = true;
        this.change = deferred(); // of the backpressure
        this.writable = newWritable((chunk) => this.sinkWrite(chunk), () => this.sinkClose(), (reason) => this.sinkAbort(reason), writableMark, writableSize, start);
        const pull = () => this.sourcePull();
        const stop = (reason) => this.sourceCancel(reason);
        this.readable = bytes ? newReadableBytes(pull, stop, readableMark, start) : newReadable(pull, stop, readableMark, readableSize, start);
    }
    get public() {
        return (this.face ??= new TransformStreamDefaultController(MAKE, this));
    }

    // ---- What transformers do

    enqueue(chunk) {
        const { controller } = this.readable;
        if (!controller.open) throw new TypeError('The readable side of this TransformStream is no longer readable.');
        try {
            controller.enqueue(chunk);
        } catch (error) {
            this.failWritable(error);
            throw this.readable.error;
        }
        if (!controller.wantsMore() !== this.backpressure) this.setBackpressure(true);
    }
    fail(error) {
        this.readable.controller.error(error);
        this.failWritable(error);
    }
    terminate() {
        this.readable.controller.close();
        this.failWritable(new TypeError('The transform stream has been terminated'));
    }

    // ---- Inside

    failWritable(error) {
        this.clear();
        this.writable.controller.errorIfNeeded(error);
        this.unblock();
    }
    unblock() {
        if (this.backpressure) this.setBackpressure(false);
    }
    setBackpressure(backpressure) {
        this.change.resolve(undefined);
        this.change = deferred();
        this.backpressure = backpressure;
    }
    clear() {
        this.transform = this.flush = this.cancel = NOTHING;
    }
    sinkWrite(chunk) {
        if (!this.backpressure) return this.run(chunk);
        return then(this.change.promise, () => {
            const { state, error } = this.writable;
            if (state === ERRORING) throw error;
            return this.run(chunk);
        });
    }
    run(chunk) {
        const { transform } = this;
        let result;
        try {
            result = transform === undefined ? this.enqueue(chunk) : transform(chunk, this);
        } catch (error) {
            result = rejected(error);
        }
        if (result === undefined) return undefined;
        const { promise, resolve, reject } = deferred();
        settle(result, resolve, (error) => {
            this.fail(error);
            reject(error);
        });
        return promise;
    }
    // Calls one of the transformer's last steps, once; then ok() or failed(error) decide about the other side.
    finish(step, argument, ok, failed) {
        if (this.finishing !== undefined) return this.finishing.promise;
        const end = (this.finishing = deferred());
        let result;
        try {
            result = step === undefined ? undefined : step(argument);
        } catch (error) {
            result = rejected(error);
        }
        this.clear();
        settleLate(result, () => {
            try {
                ok();
                end.resolve(undefined);
            } catch (error) {
                end.reject(error);
            }
        }, (error) => {
            failed(error);
            end.reject(error);
        });
        return end.promise;
    }
    sinkAbort(reason) {
        const { readable } = this;
        return this.finish(this.cancel, reason, () => {
            if (readable.state === ERRORED) throw readable.error;
            readable.controller.error(reason);
        }, (error) => readable.controller.error(error));
    }
    sinkClose() {
        const { readable } = this;
        return this.finish(this.flush, this, () => {
            if (readable.state === ERRORED) throw readable.error;
            if (readable.controller.finish !== undefined) readable.controller.finish();
            else readable.controller.close();
        }, (error) => readable.controller.error(error));
    }
    sourcePull() {
        this.setBackpressure(false);
        return this.change.promise;
    }
    sourceCancel(reason) {
        const { writable } = this;
        return this.finish(this.cancel, reason, () => {
            if (writable.state === FAILED) throw writable.error;
            writable.controller.errorIfNeeded(reason);
            this.unblock();
        }, (error) => {
            writable.controller.errorIfNeeded(error);
            this.unblock();
        });
    }
}
const NOTHING = () => {};
// For subclasses of the runtime: super(SIDES, state), where state has a readable and a writable.
export const SIDES = Symbol('sides');
const MAKE = Symbol('make');

export class TransformStream {
    #t;
    constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
        if (transformer === SIDES) {
            this.#t = writableStrategy;
            return;
        }
        if (transformer !== undefined && (transformer === null || (typeof transformer !== 'object' && typeof transformer !== 'function'))) {
            throw new TypeError('The transformer is not an object.');
        }
        const [writableMark, writableSize] = strategyOf(writableStrategy);
        const [readableMark, readableSize] = strategyOf(readableStrategy);
        const given = transformer ?? {};
        const cancel = callback(given, 'cancel', 'transformer');
        const flush = callback(given, 'flush', 'transformer');
        const { readableType } = given;
        const start = callback(given, 'start', 'transformer');
        const transform = callback(given, 'transform', 'transformer');
        const { writableType } = given;
        if (readableType !== undefined) throw new RangeError('The transformer has a readableType, which is not allowed.');
        if (writableType !== undefined) throw new RangeError('The transformer has a writableType, which is not allowed.');
        const begun = deferred();
        const t = (this.#t = new TransformState({
            transform: transform === undefined ? undefined : (chunk, self) => apply(transform, given, [chunk, self.public]),
            flush: flush === undefined ? undefined : (self) => apply(flush, given, [self.public]),
            cancel: cancel === undefined ? undefined : (reason) => apply(cancel, given, [reason]),
        }, { writableMark: markOf(writableMark, 1), writableSize, readableMark: markOf(readableMark, 0), readableSize, start: begun.promise }));
        begun.resolve(start === undefined ? undefined : apply(start, given, [t.public]));
    }
    get readable() {
        return this.#t.readable.public;
    }
    get writable() {
        return this.#t.writable.public;
    }
}

export class TransformStreamDefaultController {
    #t;
    constructor(make, state) {
        if (make !== MAKE) throw illegal();
        this.#t = state;
    }
    get desiredSize() {
        return this.#t.readable.controller.desired;
    }
    enqueue(chunk = undefined) {
        this.#t.enqueue(chunk);
    }
    error(reason = undefined) {
        this.#t.fail(reason);
    }
    terminate() {
        this.#t.terminate();
    }
}
expose({ TransformStream, TransformStreamDefaultController });
