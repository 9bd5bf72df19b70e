// node/buffer.js: node:buffer.
import { Blob, File } from '../blob.js';
import { inspect } from '../inspect.js';
import { BASE64, HEX, LATIN1, UTF16LE, UTF8, ASCII, BASE64URL, canonicalName, decode, encode, encodingOf } from './encodings.js';
import { err, nodeError, validateArray, validateInteger, validateNumber, validateString } from './errors.js';
import { addNumbers } from './buffer_numbers.js';
import { isAnyArrayBuffer, isUint8Array } from './types.js';

const { buffer_find, buffer_compare, buffer_check } = host;

export const kMaxLength = 2147483647;
export const kStringMaxLength = 536870888;
export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength };

// What every Buffer is made by: Buffer itself may be called without `new`.
class FastBuffer extends Uint8Array {}

export function Buffer(value, encodingOrOffset, length) {
    if (typeof value === 'number') {
        if (typeof encodingOrOffset === 'string') throw err.ERR_INVALID_ARG_TYPE('string', 'string', value);
        return Buffer.alloc(value);
    }
    return Buffer.from(value, encodingOrOffset, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(FastBuffer.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });
Object.defineProperty(Buffer, 'name', { value: 'Buffer', configurable: true });
Buffer.poolSize = 8192;

const asBuffer = (bytes) => Object.setPrototypeOf(bytes, FastBuffer.prototype);
const needEncoding = (name) => {
    const encoding = encodingOf(name);
    if (encoding === undefined) throw err.ERR_UNKNOWN_ENCODING(name);
    return encoding;
};
const encodingOrUtf8 = (name) => (name === undefined || name === null || name === '' ? UTF8 : needEncoding(name));
const needBytes = (v, name, types = ['Buffer', 'Uint8Array']) => {
    if (!isUint8Array(v)) throw err.ERR_INVALID_ARG_TYPE(name, types, v);
};

function needSize(size) {
    validateNumber(size, 'size');
    if (!(size >= 0 && size <= kMaxLength)) throw err.ERR_OUT_OF_RANGE('size', `>= 0 && <= ${kMaxLength}`, size);
}

// ---- Making

function fromString(text, name) {
    if (typeof name !== 'string' || name === '') name = 'utf8';
    return asBuffer(encode(text, needEncoding(name)));
}

function fromArrayBuffer(buffer, offset, length) {
    if (offset === undefined) offset = 0;
    else if (Number.isNaN((offset = +offset))) offset = 0;
    const most = buffer.byteLength - offset;
    if (most < 0) throw err.ERR_BUFFER_OUT_OF_BOUNDS('offset');
    if (length === undefined) length = most;
    else if ((length = +length) > 0) {
        if (length > most) throw err.ERR_BUFFER_OUT_OF_BOUNDS('length');
    } else length = 0;
    return new FastBuffer(buffer, offset, length);
}

function fromArrayLike(list) {
    if (!(list.length > 0)) return new FastBuffer();
    if (list.length > kMaxLength) throw err.ERR_INVALID_ARG_VALUE('length', list.length);
    const b = new FastBuffer(list.length);
    if (ArrayBuffer.isView(list)) b.set(list);
    else for (let i = 0; i < b.length; i++) b[i] = list[i];
    return b;
}

Buffer.from = function from(value, encodingOrOffset, length) {
    if (typeof value === 'string') return fromString(value, encodingOrOffset);
    if (typeof value === 'object' && value !== null) {
        if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
        const primitive = value.valueOf?.();
        if (primitive !== undefined && primitive !== null && primitive !== value && (typeof primitive === 'string' || typeof primitive === 'object')) {
            return Buffer.from(primitive, encodingOrOffset, length);
        }
        if (value.length !== undefined || isAnyArrayBuffer(value.buffer)) return typeof value.length === 'number' ? fromArrayLike(value) : new FastBuffer();
        if (value.type === 'Buffer' && Array.isArray(value.data)) return fromArrayLike(value.data);
        if (typeof value[Symbol.toPrimitive] === 'function') {
            const text = value[Symbol.toPrimitive]('string');
            if (typeof text === 'string') return fromString(text, encodingOrOffset);
        }
    }
    throw err.ERR_INVALID_ARG_TYPE('first argument', ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'], value);
};
Buffer.copyBytesFrom = function copyBytesFrom(view, offset = 0, length = undefined) {
    if (!ArrayBuffer.isView(view) || view instanceof DataView) throw err.ERR_INVALID_ARG_TYPE('view', ['TypedArray'], view);
    if (view.length === 0) return new FastBuffer();
    validateInteger(offset, 'offset', 0);
    if (offset >= view.length) return new FastBuffer();
    if (length !== undefined) validateInteger(length, 'length', 0);
    const part = view.slice(offset, length === undefined ? view.length : offset + length);
    return new FastBuffer(part.buffer, part.byteOffset, part.byteLength);
};
Buffer.of = function of(...items) {
    const b = new FastBuffer(items.length);
    for (let i = 0; i < items.length; i++) b[i] = items[i];
    return b;
};
Buffer.alloc = function alloc(size, fill, encoding) {
    needSize(size);
    const b = new FastBuffer(size);
    if (fill !== undefined && fill !== 0 && size > 0) {
        if (encoding !== undefined && typeof encoding !== 'string') throw err.ERR_INVALID_ARG_TYPE('encoding', 'string', encoding);
        return b.fill(fill, encoding);
    }
    return b;
};
Buffer.allocUnsafe = function allocUnsafe(size) {
    needSize(size);
    return new FastBuffer(size);
};
Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) {
    needSize(size);
    return new FastBuffer(size);
};
export function SlowBuffer(size) {
    needSize(size);
    return new FastBuffer(size);
}
Object.setPrototypeOf(SlowBuffer.prototype, Uint8Array.prototype);
Object.setPrototypeOf(SlowBuffer, Uint8Array);

Buffer.isBuffer = function isBuffer(b) {
    return b instanceof Buffer;
};
Buffer.isEncoding = function isEncoding(name) {
    return typeof name === 'string' && name.length !== 0 && encodingOf(name) !== undefined;
};
Buffer.compare = function compare(a, b) {
    needBytes(a, 'buf1');
    needBytes(b, 'buf2');
    return a === b ? 0 : buffer_compare(a, b);
};
Buffer.byteLength = function byteLength(value, encoding) {
    if (typeof value !== 'string') {
        if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) return value.byteLength;
        throw err.ERR_INVALID_ARG_TYPE('string', ['string', 'Buffer', 'ArrayBuffer'], value);
    }
    switch (encodingOf(encoding ?? 'utf8') ?? UTF8) {
        case LATIN1:
        case ASCII:
            return value.length;
        case UTF16LE:
            return value.length * 2;
        case HEX:
            return value.length >>> 1;
        case BASE64:
        case BASE64URL: {
            let n = value.length;
            if (value.charCodeAt(n - 1) === 0x3d) n--;
            if (n > 1 && value.charCodeAt(n - 1) === 0x3d) n--;
            return (n * 3) >>> 2;
        }
        default:
            return utf8Length(value);
    }
};
function utf8Length(text) {
    let n = text.length;
    for (let i = 0; i < text.length; i++) {
        const c = text.charCodeAt(i);
        if (c < 0x80) continue;
        n += c < 0x800 ? 1 : 2;
        if (c >= 0xd800 && c < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++; // A pair has four bytes of two units.
    }
    return n;
}
Buffer.concat = function concat(list, length) {
    validateArray(list, 'list');
    if (list.length === 0) return new FastBuffer();
    list.forEach((b, i) => {
        if (!isUint8Array(b)) throw err.ERR_INVALID_ARG_TYPE(`list[${i}]`, ['Buffer', 'Uint8Array'], b);
    });
    if (length === undefined) length = list.reduce((n, b) => n + b.length, 0);
    else validateInteger(length, 'length', 0);
    const all = Buffer.allocUnsafe(length);
    let at = 0;
    for (const b of list) {
        if (at >= length) break;
        all.set(b.length > length - at ? b.subarray(0, length - at) : b, at);
        at += b.length;
    }
    return all;
};

// ---- Methods

const methods = {
    toString(encoding, start, end) {
        const length = this.length;
        start = start === undefined || !(start > 0) ? 0 : start >= length ? length : Math.trunc(start);
        end = end === undefined || end > length ? length : end <= 0 ? 0 : Math.trunc(end) || 0;
        if (end <= start) return '';
        return decode(this, start, end, encoding === undefined ? UTF8 : needEncoding(encoding));
    },
    toJSON() {
        return { type: 'Buffer', data: Array.from(this) };
    },
    equals(other) {
        needBytes(other, 'otherBuffer');
        return this === other || (this.byteLength === other.byteLength && buffer_compare(this, other) === 0);
    },
    compare(target, targetStart, targetEnd, sourceStart, sourceEnd) {
        needBytes(target, 'target');
        const bound = (v, name, dflt, max) => {
            if (v === undefined) return dflt;
            validateInteger(v, name, 0, max);
            return v;
        };
        targetStart = bound(targetStart, 'targetStart', 0);
        sourceStart = bound(sourceStart, 'sourceStart', 0);
        targetEnd = bound(targetEnd, 'targetEnd', target.length, target.length);
        sourceEnd = bound(sourceEnd, 'sourceEnd', this.length, this.length);
        if (sourceStart >= sourceEnd) return targetStart >= targetEnd ? 0 : -1;
        if (targetStart >= targetEnd) return 1;
        return buffer_compare(this.subarray(sourceStart, sourceEnd), target.subarray(targetStart, targetEnd));
    },
    copy(target, targetStart, sourceStart, sourceEnd) {
        if (!isUint8Array(target)) throw err.ERR_INVALID_ARG_TYPE('target', ['Buffer', 'Uint8Array'], target);
        const whole = (v, dflt) => (v === undefined ? dflt : Math.trunc(Number(v)) || 0);
        targetStart = whole(targetStart, 0);
        if (targetStart < 0) throw err.ERR_OUT_OF_RANGE('targetStart', '>= 0', targetStart);
        sourceStart = whole(sourceStart, 0);
        if (sourceStart < 0) throw err.ERR_OUT_OF_RANGE('sourceStart', '>= 0', sourceStart);
        sourceEnd = whole(sourceEnd, this.length);
        if (sourceEnd < 0) throw err.ERR_OUT_OF_RANGE('sourceEnd', '>= 0', sourceEnd);
        if (targetStart >= target.length || sourceStart >= sourceEnd || sourceStart >= this.length) return 0;
        const count = Math.min(sourceEnd - sourceStart, target.length - targetStart, this.length - sourceStart);
        Uint8Array.prototype.set.call(target, new Uint8Array(this.buffer, this.byteOffset + sourceStart, count), targetStart);
        return count;
    },
    fill(value, start, end, encoding) {
        if (typeof value === 'string') {
            if (start === undefined || typeof start === 'string') [encoding, start, end] = [start, 0, this.length];
            else if (typeof end === 'string') [encoding, end] = [end, this.length];
            const code = encodingOrUtf8(validEncodingArgument(encoding));
            if (value.length === 0) value = 0;
            else {
                const bytes = encode(value, code);
                if (bytes.length === 0) throw err.ERR_INVALID_ARG_VALUE('value', value);
                value = bytes.length === 1 ? bytes[0] : bytes;
            }
        } else if (typeof value === 'boolean') value = +value;
        if (start === undefined) {
            start = 0;
            end = this.length;
        } else {
            validateNumber(start, 'offset', 0, kMaxLength);
            if (end === undefined) end = this.length;
            else validateNumber(end, 'end', 0, this.length);
            if (start >= end) return this;
        }
        if (isUint8Array(value)) {
            if (value.length === 0) throw err.ERR_INVALID_ARG_VALUE('value', value);
            for (let at = start; at < end; at += value.length) {
                Uint8Array.prototype.set.call(this, at + value.length > end ? value.subarray(0, end - at) : value, at);
            }
        } else {
            Uint8Array.prototype.fill.call(this, Number(value) & 255, start, end);
        }
        return this;
    },
    write(text, offset, length, encoding) {
        if (typeof text !== 'string') throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'argument must be a string');
        if (offset === undefined) return writeAs(this, text, 0, this.length, UTF8);
        if (length === undefined && typeof offset === 'string') [encoding, length, offset] = [offset, this.length, 0];
        else {
            validateInteger(offset, 'offset', 0, this.length);
            const rest = this.length - offset;
            if (length === undefined) length = rest;
            else if (typeof length === 'string') [encoding, length] = [length, rest];
            else {
                validateInteger(length, 'length', 0, this.length);
                length = Math.min(length, rest);
            }
        }
        return writeAs(this, text, offset, length, encodingOrUtf8(encoding));
    },
    slice(start, end) {
        return this.subarray(start, end);
    },
    subarray(start, end) {
        const length = this.length;
        const clamp = (v, dflt) => {
            if (v === undefined) return dflt;
            v = Math.trunc(Number(v)) || 0;
            return v < 0 ? Math.max(v + length, 0) : Math.min(v, length);
        };
        start = clamp(start, 0);
        end = clamp(end, length);
        return new FastBuffer(this.buffer, this.byteOffset + start, Math.max(end - start, 0));
    },
    indexOf(value, byteOffset, encoding) {
        return find(this, value, byteOffset, encoding, false);
    },
    lastIndexOf(value, byteOffset, encoding) {
        return find(this, value, byteOffset, encoding, true);
    },
    includes(value, byteOffset, encoding) {
        return find(this, value, byteOffset, encoding, false) !== -1;
    },
    swap16() {
        return swap(this, 2);
    },
    swap32() {
        return swap(this, 4);
    },
    swap64() {
        return swap(this, 8);
    },
    inspect(depth, options) {
        const max = INSPECT.max;
        const shown = Math.min(max, this.length);
        let text = decode(this, 0, shown, HEX).replace(/(.{2})/g, '$1 ').trim();
        const more = this.length - shown;
        if (more > 0) text += ` ... ${more} more byte${more > 1 ? 's' : ''}`;
        const extras = Object.keys(this).filter((key) => !/^\d+$/.test(key));
        if (extras.length > 0) {
            const object = { __proto__: null };
            for (const key of extras) object[key] = this[key];
            text += `${this.length > 0 ? ', ' : ''}${inspect(object, { ...options, breakLength: Infinity, compact: true }).slice(27, -2)}`;
        }
        return `<${this.constructor.name}${text === '' ? '' : ` ${text}`}>`;
    },
};
methods[inspect.custom] = methods.inspect;
methods.toLocaleString = methods.toString;

const INSPECT = { max: 50 };

function validEncodingArgument(encoding) {
    if (encoding !== undefined && encoding !== null && typeof encoding !== 'string') throw err.ERR_INVALID_ARG_TYPE('encoding', 'string', encoding);
    if (typeof encoding === 'string' && encoding !== '' && encodingOf(encoding) === undefined) throw err.ERR_UNKNOWN_ENCODING(encoding);
    return encoding;
}

// Whole characters only.
function writeAs(b, text, offset, length, encoding) {
    let bytes = encode(text, encoding);
    length = Math.min(length, b.length - offset);
    if (bytes.length > length) {
        if (encoding === UTF16LE) length &= ~1;
        else if (encoding === UTF8) while (length > 0 && (bytes[length] & 0xc0) === 0x80) length--;
        bytes = bytes.subarray(0, length);
    }
    Uint8Array.prototype.set.call(b, bytes, offset);
    return bytes.length;
}

function find(b, value, offset, encoding, backwards) {
    if (typeof offset === 'string') [encoding, offset] = [offset, undefined];
    offset = offset === undefined ? NaN : +offset;
    if (Number.isNaN(offset)) offset = backwards ? b.length : 0;
    offset = Math.trunc(offset);
    if (typeof value === 'number') {
        const byte = new Uint8Array([value]);
        return locate(b, byte, offset, backwards, 1);
    }
    if (typeof value === 'string') {
        const code = encodingOrUtf8(encoding);
        return locate(b, encode(value, code), offset, backwards, code === UTF16LE ? 2 : 1);
    }
    if (isUint8Array(value)) return locate(b, value, offset, backwards, encodingOf(encoding) === UTF16LE ? 2 : 1);
    throw err.ERR_INVALID_ARG_TYPE('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
}
function locate(b, needle, offset, backwards, step) {
    if (offset < 0) offset += b.length;
    if (offset < 0) {
        if (backwards) return -1;
        offset = 0;
    }
    if (needle.length === 0) return Math.min(offset, b.length);
    if (offset >= b.length && !backwards) return -1;
    return buffer_find(b, needle, Math.min(offset, b.length), backwards, step);
}

function swap(b, size) {
    if (b.length % size !== 0) throw err.ERR_INVALID_BUFFER_SIZE(`${size * 8}-bits`);
    for (let i = 0; i < b.length; i += size) {
        for (let j = 0; j < size / 2; j++) [b[i + j], b[i + size - 1 - j]] = [b[i + size - 1 - j], b[i + j]];
    }
    return b;
}

// asciiSlice, utf8Write...: what Node's own modules use, and old packages.
for (const [name, code] of Object.entries({ ascii: ASCII, base64: BASE64, base64url: BASE64URL, hex: HEX, latin1: LATIN1, ucs2: UTF16LE, utf8: UTF8 })) {
    methods[`${name}Slice`] = function (start = 0, end = this.length) {
        if (start > this.length || end > this.length || start < 0 || end < 0) throw err.ERR_OUT_OF_RANGE('start', `>= 0 && <= ${this.length}`, start);
        return end <= start ? '' : decode(this, start, end, code);
    };
    methods[`${name}Write`] = function (text, offset = 0, length = this.length - offset) {
        validateString(text, 'argument');
        if (offset < 0 || offset > this.length) throw err.ERR_BUFFER_OUT_OF_BOUNDS('offset');
        if (length < 0 || length > this.length - offset) throw err.ERR_BUFFER_OUT_OF_BOUNDS('length');
        return writeAs(this, text, offset, length, code);
    };
}
addNumbers(methods);
for (const key of Reflect.ownKeys(methods)) {
    Object.defineProperty(FastBuffer.prototype, key, { value: methods[key], writable: true, configurable: true, enumerable: typeof key === 'string' });
}
for (const [name, get] of [
    ['parent', (b) => b.buffer],
    ['offset', (b) => b.byteOffset],
]) {
    Object.defineProperty(FastBuffer.prototype, name, {
        enumerable: true,
        get() {
            return this instanceof Buffer ? get(this) : undefined;
        },
    });
}

// ---- The rest of the module

const bytesIn = (v, name = 'input') => {
    if (!ArrayBuffer.isView(v) && !isAnyArrayBuffer(v)) throw err.ERR_INVALID_ARG_TYPE(name, ['ArrayBuffer', 'Buffer', 'TypedArray'], v);
    if ((v.buffer ?? v).detached) throw err.ERR_INVALID_STATE('Cannot validate on a detached buffer');
    return v;
};
export const isUtf8 = (input) => buffer_check(bytesIn(input), false);
export const isAscii = (input) => buffer_check(bytesIn(input), true);

const TRANSCODE_MAX = 128 * 1024 * 1024;
export function transcode(source, from, to) {
    if (!isUint8Array(source)) throw err.ERR_INVALID_ARG_TYPE('source', ['Buffer', 'Uint8Array'], source);
    const text = [UTF8, UTF16LE, LATIN1, ASCII];
    const a = encodingOf(from);
    const b = encodingOf(to);
    if (!text.includes(a) || !text.includes(b)) {
        const error = err.ERR_INVALID_ARG_VALUE('encoding', text.includes(a) ? to : from);
        error.message = 'Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]';
        throw Object.assign(error, { code: 'U_ILLEGAL_ARGUMENT_ERROR' });
    }
    if ((a === UTF16LE && source.length % 2 !== 0) || (a === UTF8 && b === UTF16LE && !buffer_check(source, false))) throw new Error('Unable to transcode buffer');
    if (source.length >= TRANSCODE_MAX) throw new RangeError('Source buffer is too large for transcode');
    let decoded = decode(source, 0, source.length, a);
    if (b === ASCII) decoded = decoded.replace(/[^\x00-\x7f]/gu, '?');
    else if (b === LATIN1) decoded = decoded.replace(/[^\x00-\xff]/gu, '?');
    return asBuffer(encode(decoded, b));
}

function resolveObjectURL() {
    return undefined; // There are no object URLs.
}

const exports = {
    Blob,
    Buffer,
    File,
    SlowBuffer,
    atob: globalThis.atob,
    btoa: globalThis.btoa,
    constants,
    isAscii,
    isUtf8,
    kMaxLength,
    kStringMaxLength,
    resolveObjectURL,
    transcode,
};
Object.defineProperty(exports, 'INSPECT_MAX_BYTES', {
    enumerable: true,
    configurable: true,
    get: () => INSPECT.max,
    set(v) {
        validateNumber(v, 'INSPECT_MAX_BYTES', 0);
        INSPECT.max = v;
    },
});
export default exports;
export { canonicalName };
