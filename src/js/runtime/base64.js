// base64.js: Uint8Array as base64 and as hexadecimal digits, which V8 has by itself since 14.0. ECMA-262 2026, 23.3.
import { apply } from './primordials.js';

const { buffer_decode } = host;
const HEX = 1, BASE64 = 2, BASE64URL = 3; // Encodings of buffer_decode, as in ops_node.c.
const MOST = Infinity;

const TypedArray = Object.getPrototypeOf(Uint8Array);
const tagOf = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;
const lengthOf = Object.getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;
const { at } = TypedArray.prototype;
const { charCodeAt, replaceAll } = String.prototype;
const code = (text, index) => apply(charCodeAt, text, [index]);

function check(bytes) {
    if (apply(tagOf, bytes, []) !== 'Uint8Array') throw new TypeError('This is no Uint8Array.');
}
function checkText(text) {
    if (typeof text !== 'string') throw new TypeError('The first argument is not a string.');
}
const SPELLINGS = { alphabet: ['base64', 'base64url'], lastChunkHandling: ['loose', 'strict', 'stop-before-partial'] };
function options(given) {
    if (given === undefined) return {};
    if ((typeof given !== 'object' || given === null) && typeof given !== 'function') throw new TypeError('The options are not an object.');
    return given;
}
function option(given, name) {
    const value = given[name], known = SPELLINGS[name];
    if (value === undefined) return known[0];
    for (let i = 0; i < known.length; i++) if (value === known[i]) return value;
    throw new TypeError(`The option ${name} has an unknown value.`);
}

// Of each ASCII character: its six bits, or -1.
const DIGITS = new Int8Array(128).fill(-1);
for (let i = 0; i < 64; i++) DIGITS['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.charCodeAt(i)] = i;
function digit(unit, url) {
    if (url && (unit === 45 || unit === 95)) return unit === 45 ? 62 : 63;
    return unit > 127 || (url && (unit === 43 || unit === 47)) ? -1 : DIGITS[unit];
}
function skipSpace(text, index) {
    for (; index < text.length; index++) {
        const unit = code(text, index);
        if (unit !== 32 && unit !== 9 && unit !== 10 && unit !== 12 && unit !== 13) break;
    }
    return index;
}

// { read, bytes, count, bad }: what a text gives, up to `most` bytes; bad: a SyntaxError lies behind that.
function decode(text, alphabet, last, most) {
    const url = alphabet === 'base64url', strict = last === 'strict';
    const room = Math.ceil((text.length * 3) / 4);
    const bytes = new Uint8Array(room < most ? room : most);
    let read = 0, count = 0, bits = 0, digits = 0;
    const end = (at, bad) => ({ read: bad ? read : at, bytes, count, bad });
    // The bits that a chunk of two or three digits has. False: they are too many.
    const partial = () => {
        const spare = digits === 2 ? 4 : 2;
        if (strict && (bits & ((1 << spare) - 1)) !== 0) return false;
        bits >>= spare;
        if (digits === 3) bytes[count++] = bits >> 8;
        bytes[count++] = bits;
        return true;
    };
    if (most === 0) return end(0, false);
    for (let index = 0; ; ) {
        index = skipSpace(text, index);
        if (index === text.length) {
            if (digits === 0) return end(text.length, false);
            if (last === 'stop-before-partial') return end(read, false);
            if (strict || digits === 1) return end(0, true);
            partial();
            return end(text.length, false);
        }
        const unit = code(text, index++);
        if (unit === 61) {
            if (digits < 2) return end(0, true);
            index = skipSpace(text, index);
            if (digits === 2) {
                if (index === text.length) return end(read, last !== 'stop-before-partial');
                if (code(text, index) === 61) index = skipSpace(text, index + 1);
            }
            return index < text.length || !partial() ? end(0, true) : end(text.length, false);
        }
        const value = digit(unit, url);
        if (value < 0) return end(0, true);
        const left = most - count;
        if ((left === 1 && digits === 2) || (left === 2 && digits === 3)) return end(read, false);
        bits = (bits << 6) | value;
        if (++digits < 4) continue;
        bytes[count++] = bits >> 16;
        bytes[count++] = bits >> 8;
        bytes[count++] = bits;
        bits = digits = 0;
        read = index;
        if (count === most) return end(read, false);
    }
}

const hexDigit = (unit) => (unit >= 48 && unit <= 57 ? unit - 48 : (unit |= 32) >= 97 && unit <= 102 ? unit - 87 : -1);
function decodeHex(text, most) {
    const pairs = text.length >> 1;
    const bytes = new Uint8Array(pairs < most ? pairs : most);
    let count = 0;
    if (text.length % 2 !== 0) return { read: 0, bytes, count, bad: true };
    for (; count < bytes.length; count++) {
        const high = hexDigit(code(text, 2 * count)), low = hexDigit(code(text, 2 * count + 1));
        if (high < 0 || low < 0) return { read: 2 * count, bytes, count, bad: true };
        bytes[count] = (high << 4) | low;
    }
    return { read: 2 * count, bytes, count, bad: false };
}

const refuse = (what) => {
    throw new SyntaxError(`The text is no ${what}.`);
};
function whole({ bytes, count, bad }, what) {
    if (bad) refuse(what);
    if (count === bytes.length) return bytes;
    const exact = new Uint8Array(count);
    for (let i = 0; i < count; i++) exact[i] = bytes[i];
    return exact;
}
function put(into, { read, bytes, count, bad }, what) {
    for (let i = 0; i < count; i++) into[i] = bytes[i];
    if (bad) refuse(what);
    return { read, written: count };
}
// Throws when it is detached, or ends behind its buffer.
const valid = (bytes) => apply(at, bytes, [0]);

const statics = {
    fromBase64(string) {
        checkText(string);
        const given = options(arguments[1]);
        const alphabet = option(given, 'alphabet'), last = option(given, 'lastChunkHandling');
        return whole(decode(string, alphabet, last, MOST), 'base64');
    },
    fromHex(string) {
        checkText(string);
        return whole(decodeHex(string, MOST), 'hexadecimal digits');
    },
};
const methods = {
    toBase64() {
        check(this);
        const given = options(arguments[0]);
        const alphabet = option(given, 'alphabet'), bare = Boolean(given.omitPadding);
        valid(this);
        const text = buffer_decode(this, 0, apply(lengthOf, this, []), alphabet === 'base64' ? BASE64 : BASE64URL);
        if (alphabet === 'base64') return bare ? apply(replaceAll, text, ['=', '']) : text;
        return bare ? text : `${text}${['', '', '==', '='][text.length % 4]}`;
    },
    toHex() {
        check(this);
        valid(this);
        return buffer_decode(this, 0, apply(lengthOf, this, []), HEX);
    },
    setFromBase64(string) {
        check(this);
        checkText(string);
        const given = options(arguments[1]);
        const alphabet = option(given, 'alphabet'), last = option(given, 'lastChunkHandling');
        valid(this);
        return put(this, decode(string, alphabet, last, apply(lengthOf, this, [])), 'base64');
    },
    setFromHex(string) {
        check(this);
        checkText(string);
        valid(this);
        return put(this, decodeHex(string, apply(lengthOf, this, [])), 'hexadecimal digits');
    },
};
for (const [to, from] of [[Uint8Array, statics], [Uint8Array.prototype, methods]]) {
    for (const name of Object.keys(from)) Object.defineProperty(to, name, { value: from[name], writable: true, configurable: true, enumerable: false });
}
