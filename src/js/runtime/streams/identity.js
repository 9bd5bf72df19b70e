// streams/identity.js: streams whose bytes go through as they are: IdentityTransformStream, FixedLengthStream. runtime.md 5.2.
//
// A write is done when its bytes were read; nothing is kept in between.
import { expose } from '../core.js';
import { encodeUtf8 } from '../encoding.js';
import { deferred, dictionary, isArrayBuffer, isView, sliceBuffer, window } from './base.js';
import { newReadableBytes, own } from './readable.js';
import { newWritable } from './writable.js';
import { SIDES, TransformStream } from './transform.js';

class Identity {
    left; demand; write; ended; readable; writable;
    // expected: bytes, or -1. mark: bytes that may wait to be written, or undefined.
    constructor(expected, mark) {
        this.left = expected;
        this.demand = undefined; // deferred: somebody reads
        this.write = undefined; // { bytes, given, resolve, reject }
        this.ended = false;
        if (mark !== undefined && expected >= 0 && mark > expected) mark = expected;
        const size = mark === undefined ? undefined : (chunk) => (typeof chunk === 'string' ? encodeUtf8(chunk).byteLength : chunk?.byteLength ?? 0);
        this.readable = own(newReadableBytes(() => this.pull(), (reason) => this.cancel(reason)));
        this.readable.length = expected;
        this.readable.controller.emptied = () => this.written();
        this.writable = own(newWritable((chunk) => this.take(chunk), () => this.close(), (reason) => this.abort(reason), mark ?? 1, size));
    }
    pull() {
        if (this.readable.controller.total === 0) this.written();
        this.demand ??= deferred();
        const { promise } = this.demand;
        this.give();
        return promise;
    }
    take(chunk) {
        let bytes;
        try {
            bytes = copyOf(chunk);
        } catch (error) {
            this.readable.controller.error(error);
            throw error;
        }
        if (this.left >= 0 && bytes.byteLength > this.left) {
            const error = new TypeError('Attempt to write too many bytes through a FixedLengthStream.');
            this.readable.controller.error(error);
            throw error;
        }
        if (this.left >= 0) this.left -= bytes.byteLength;
        if (bytes.byteLength === 0) return undefined;
        const { promise, resolve, reject } = deferred();
        this.write = { bytes, given: false, resolve, reject };
        this.give();
        return promise;
    }
    // A write and a read have met.
    give() {
        const { write, demand } = this;
        if (write === undefined || write.given || demand === undefined) return;
        this.demand = undefined;
        write.given = true;
        const { controller } = this.readable;
        const { byteLength } = write.bytes;
        // Whoever gets the bytes finds them written.
        if (controller.total === 0 && (controller.intos.length === 0 || controller.intos[0].length - controller.intos[0].filled >= byteLength)) this.written();
        controller.enqueueOwned(write.bytes, 0, byteLength);
        demand.resolve(undefined);
        if (controller.total === 0) this.written();
    }
    written() {
        const { write } = this;
        if (write === undefined || !write.given) return;
        this.write = undefined;
        write.resolve(undefined);
    }
    close() {
        if (this.left > 0) {
            const error = new TypeError('FixedLengthStream did not see all expected bytes before close().');
            this.readable.controller.error(error);
            throw error;
        }
        this.readable.controller.finish();
        this.demand?.resolve(undefined);
    }
    abort(reason) {
        this.readable.controller.error(reason);
        this.demand?.resolve(undefined);
        this.write?.reject(reason);
        this.write = undefined;
    }
    cancel(reason) {
        this.writable.controller.errorIfNeeded(reason);
        this.write?.reject(reason);
        this.write = undefined;
    }
}

// An ArrayBuffer with the bytes of a chunk.
function copyOf(chunk) {
    if (isView(chunk)) {
        const w = window(chunk);
        return w.buffer instanceof ArrayBuffer ? sliceBuffer(w.buffer, w.at, w.at + w.length) : new Uint8Array(w.buffer, w.at, w.length).slice().buffer;
    }
    if (isArrayBuffer(chunk)) return sliceBuffer(chunk, 0);
    if (typeof SharedArrayBuffer !== 'undefined' && chunk instanceof SharedArrayBuffer) return new Uint8Array(chunk).slice().buffer;
    if (typeof chunk === 'string') return encodeUtf8(chunk).buffer;
    throw new TypeError('This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side.');
}

function markOf(strategy) {
    const mark = dictionary(strategy, 'The queuing strategy')?.highWaterMark;
    return mark === undefined ? undefined : Number(mark);
}

export class IdentityTransformStream extends TransformStream {
    constructor(strategy = undefined, fixed = undefined) {
        super(SIDES, new Identity(strategy === SIDES ? fixed.length : -1, markOf(strategy === SIDES ? fixed.strategy : strategy)));
    }
}

export class FixedLengthStream extends IdentityTransformStream {
    constructor(expectedLength, strategy = undefined) {
        const length = Number(expectedLength);
        if (arguments.length === 0 || !(length >= 0 && length <= Number.MAX_SAFE_INTEGER && Number.isInteger(length))) {
            throw new TypeError('FixedLengthStream requires an integer expected length less than 2^53.');
        }
        super(SIDES, { length, strategy });
    }
}
Object.defineProperty(IdentityTransformStream, 'length', { value: 0, configurable: true });
expose({ IdentityTransformStream, FixedLengthStream });
