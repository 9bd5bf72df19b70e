// compression.js: CompressionStream and DecompressionStream. runtime.md 5.2; Compression standard.
import { expose } from './core.js';
import { isArrayBuffer, isView, U8, window } from './streams/base.js';
import { own } from './streams/readable.js';
import { SIDES, TransformState, TransformStream } from './streams/transform.js';

const { codec_new, codec_step, codec_stop } = host;
const FORMATS = ['gzip', 'deflate', 'deflate-raw', 'brotli', 'zstd']; // in the host's order
const AGAIN = 0, ENDED = 2, FAILED = 3;
const NOTHING = new U8(0);
// As on Workers one may write all before one reads; but what unpacks to more than this waits.
const UNPACKED = 8 << 20;

// The bytes of a chunk, in place.
function chunkBytes(chunk) {
    if (isView(chunk)) {
        const w = window(chunk);
        return new U8(w.buffer, w.at, w.length);
    }
    if (isArrayBuffer(chunk)) return new U8(chunk);
    throw new TypeError('This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side.');
}

class Codec {
    codec; unpack; more; ended;
    constructor(format, unpack) {
        this.codec = codec_new(FORMATS.indexOf(format), unpack);
        this.unpack = unpack;
        this.more = format === 'zstd'; // frames may follow each other
        this.ended = false; // the format says that nothing follows
    }
    // Runs over bytes, gives pieces to the stream as long as it takes them; a promise when there is more than that.
    run(bytes, at, last, stream) {
        for (;;) {
            const [next, output, outcome] = codec_step(this.codec, bytes, at, last);
            if (outcome === FAILED) throw new TypeError(this.unpack ? 'Decompression failed.' : 'Compression failed.');
            at = next;
            if (output !== undefined) stream.enqueue(output);
            this.ended = outcome === ENDED;
            if (this.ended && at < bytes.byteLength) throw new TypeError('Trailing bytes after end of compressed data');
            if (outcome !== AGAIN) return undefined;
            if (stream.backpressure && stream.readable.state === 0 && output !== undefined) return this.later(bytes.slice(at), last, stream);
        }
    }
    async later(rest, last, stream) {
        await stream.change.promise;
        return this.run(rest, 0, last, stream);
    }
    transform(chunk, stream) {
        const bytes = chunkBytes(chunk);
        if (bytes.byteLength === 0) return undefined;
        if (this.ended && this.unpack && !this.more) throw new TypeError('Trailing bytes after end of compressed data');
        return this.run(bytes, 0, false, stream);
    }
    async flush(stream) {
        if (this.unpack) {
            if (!this.ended) await this.run(NOTHING, 0, true, stream);
            if (!this.ended) throw new TypeError('Called close() on a decompression stream with incomplete data');
        } else await this.run(NOTHING, 0, true, stream);
        codec_stop(this.codec);
    }
}

function stateOf(name, given, format, unpack) {
    if (given === 0) throw new TypeError(`Failed to construct '${name}': 1 argument required, but only 0 present.`);
    format = `${format}`;
    if (!FORMATS.includes(format)) throw new TypeError("The compression format must be either 'deflate', 'deflate-raw', 'gzip', 'brotli' or 'zstd'.");
    const codec = new Codec(format, unpack);
    const state = new TransformState({
        transform: (chunk, stream) => codec.transform(chunk, stream),
        flush: (stream) => codec.flush(stream),
        cancel: () => codec_stop(codec.codec),
    }, { bytes: true, readableMark: unpack ? UNPACKED : Infinity });
    own(state.readable);
    own(state.writable);
    return state;
}

export class CompressionStream extends TransformStream {
    constructor(format) {
        super(SIDES, stateOf('CompressionStream', arguments.length, format, false));
    }
}
export class DecompressionStream extends TransformStream {
    constructor(format) {
        super(SIDES, stateOf('DecompressionStream', arguments.length, format, true));
    }
}
expose({ CompressionStream, DecompressionStream });
