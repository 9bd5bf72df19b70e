// node/string_decoder.js: node:string_decoder: bytes that come in pieces, as text without torn characters.
import { Buffer } from './buffer.js';
import { BASE64, BASE64URL, UTF16LE, UTF8, canonicalName, decode, encodingOf } from './encodings.js';
import { err } from './errors.js';

const state = new WeakMap();

// How many bytes at the end of b are the beginning of a character, and how many it will have.
function utf8Tail(b) {
    for (let back = 1; back <= Math.min(3, b.length); back++) {
        const byte = b[b.length - back];
        if ((byte & 0xc0) === 0x80) continue;
        const size = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
        if (size <= back) return 0;
        if (back > 1) {
            // A second byte that cannot follow the first makes it malformed at once.
            const second = b[b.length - back + 1];
            if ((byte === 0xe0 && second < 0xa0) || (byte === 0xed && second > 0x9f) || (byte === 0xf0 && second < 0x90) || (byte === 0xf4 && second > 0x8f)) return 0;
        }
        return back;
    }
    return 0;
}

function tailOf(encoding, b) {
    switch (encoding) {
        case UTF8:
            return utf8Tail(b);
        case UTF16LE: {
            const odd = b.length % 2;
            const last = b.length - odd;
            // The first half of a pair waits for the second.
            return last >= 2 && (b[last - 1] & 0xfc) === 0xd8 ? odd + 2 : odd;
        }
        case BASE64:
        case BASE64URL:
            return b.length % 3;
        default:
            return 0;
    }
}

function needed(encoding, held) {
    if (held.length === 0) return 0;
    if (encoding === UTF8) return (held[0] >= 0xf0 ? 4 : held[0] >= 0xe0 ? 3 : 2) - held.length;
    if (encoding === UTF16LE) return held.length >= 2 ? 4 - held.length : 2 - held.length;
    return 3 - held.length;
}

export function StringDecoder(encoding) {
    const code = encoding === undefined || encoding === null || encoding === '' ? UTF8 : encodingOf(encoding);
    if (code === undefined) throw err.ERR_UNKNOWN_ENCODING(encoding);
    state.set(this, { code, held: new Uint8Array(0) });
    this.encoding = canonicalName(code);
}
StringDecoder.prototype.write = function write(chunk) {
    if (typeof chunk === 'string') return chunk;
    if (!ArrayBuffer.isView(chunk)) throw err.ERR_INVALID_ARG_TYPE('buf', ['Buffer', 'TypedArray', 'DataView'], chunk);
    const s = state.get(this);
    if (s === undefined) throw err.ERR_INVALID_THIS('StringDecoder');
    let bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (s.held.length > 0) {
        const all = new Uint8Array(s.held.length + bytes.length);
        all.set(s.held);
        all.set(bytes, s.held.length);
        bytes = all;
    }
    const tail = tailOf(s.code, bytes);
    s.held = bytes.slice(bytes.length - tail);
    return decode(bytes, 0, bytes.length - tail, s.code);
};
StringDecoder.prototype.end = function end(chunk) {
    const s = state.get(this);
    if (s === undefined) throw err.ERR_INVALID_THIS('StringDecoder');
    let text = chunk === undefined ? '' : this.write(chunk);
    if (s.held.length > 0) text += decode(s.held, 0, s.held.length, s.code);
    s.held = new Uint8Array(0);
    return text;
};
StringDecoder.prototype.text = function text(chunk, offset) {
    state.get(this).held = new Uint8Array(0);
    return this.write(chunk.subarray(offset));
};
Object.defineProperties(StringDecoder.prototype, {
    lastChar: {
        configurable: true,
        enumerable: true,
        get() {
            const last = Buffer.alloc(4);
            last.set(state.get(this).held);
            return last;
        },
    },
    lastNeed: {
        configurable: true,
        enumerable: true,
        get() {
            const s = state.get(this);
            return needed(s.code, s.held);
        },
    },
    lastTotal: {
        configurable: true,
        enumerable: true,
        get() {
            const s = state.get(this);
            return s.held.length + needed(s.code, s.held);
        },
    },
});

export default { StringDecoder };
