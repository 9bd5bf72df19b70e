// crypto/util.js: what every algorithm needs: errors, conversions of arguments, usages. runtime.md 5.4.
//
// User code can replace every global and every method of a prototype. What touches secrets is therefore taken before it runs, or
// is a function of the host; usages are bits and keys are records that no user code ever sees.
import { DOMException } from '../events.js';

const { crypto_copy, crypto_first_bits } = host;
const { apply } = Reflect;
const { isView } = ArrayBuffer;
const bufferLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
const TypedArray = Object.getPrototypeOf(globalThis.Uint8Array.prototype);
export const { Uint8Array } = globalThis;
const typedArrayLength = Object.getOwnPropertyDescriptor(TypedArray, 'length').get;
const typedArrayTag = Object.getOwnPropertyDescriptor(TypedArray, Symbol.toStringTag).get;

export const fail = (name, message) => new DOMException(message, name);
export const operationError = (message) => fail('OperationError', message);
export const dataError = (message) => fail('DataError', message);
export const invalidAccess = (message) => fail('InvalidAccessError', message);
export const notSupported = (message) => fail('NotSupportedError', message);

export const typedArrayName = (v) => apply(typedArrayTag, v, []);

export function isBufferSource(v) {
    if (isView(v)) return true;
    try {
        apply(bufferLength, v, []);
        return true;
    } catch {
        return false;
    }
}

export function needBufferSource(v, what) {
    if (!isBufferSource(v)) throw new TypeError(`${what} must be an ArrayBuffer, a typed array or a DataView.`);
    return v;
}

// A Uint8Array that no user code has, and its length without a getter that user code could have replaced.
export const copyOf = crypto_copy;
export const sizeOf = (bytes) => apply(typedArrayLength, bytes, []);

export const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';

export function integer(v, max, what) {
    const n = Number(v);
    if (!Number.isFinite(n)) throw new TypeError(`${what} is not a finite number.`);
    const i = Math.trunc(n);
    if (i < 0 || i > max) throw new TypeError(`${what} is not between 0 and ${max}.`);
    return i;
}

// ---- Members of a dictionary of parameters

const absentField = (name) => new TypeError(`Missing field "${name}" in "algorithm".`);

export const member = {
    integer(raw, name, max) {
        const v = raw[name];
        if (v === undefined) throw absentField(name);
        return integer(v, max, `"${name}"`);
    },
    optionalInteger(raw, name, max) {
        const v = raw[name];
        return v === undefined ? undefined : integer(v, max, `"${name}"`);
    },
    bytes(raw, name) {
        const v = raw[name];
        if (v === undefined) throw absentField(name);
        return copyOf(needBufferSource(v, `"${name}"`));
    },
    optionalBytes(raw, name) {
        const v = raw[name];
        return v === undefined ? undefined : copyOf(needBufferSource(v, `"${name}"`));
    },
    string(raw, name) {
        const v = raw[name];
        if (v === undefined) throw absentField(name);
        return String(v);
    },
};
export { absentField };

// ---- Usages: bits in the order in which a key lists them

export const ENCRYPT = 1, DECRYPT = 2, SIGN = 4, VERIFY = 8, DERIVE_KEY = 16, DERIVE_BITS = 32, WRAP = 64, UNWRAP = 128;
const usageNames = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey'];

export function usageNamesOf(bits) {
    const names = [];
    for (let i = 0, n = 0; i < 8; i++) {
        if (bits & (1 << i)) Object.defineProperty(names, n++, { value: usageNames[i], writable: true, enumerable: true, configurable: true });
    }
    return names;
}

export function usageBit(name) {
    for (let i = 0; i < 8; i++) if (usageNames[i] === name) return 1 << i;
    return 0;
}

// A sequence of usages as bits; a name that is none is kept for the algorithm to refuse.
export class Usages {
    constructor(list) {
        this.bits = 0;
        this.unknown = undefined;
        if (!isObject(list) || typeof list[Symbol.iterator] !== 'function') throw new TypeError('The usages of a key must be a sequence of strings.');
        for (const name of list) {
            const bit = usageBit(String(name));
            if (bit === 0) this.unknown ??= String(name);
            this.bits |= bit;
        }
    }
}

// what: "generate", "import secret", "import public", "import private"
export function checkUsages(usages, allowed, what, name) {
    const bad = usages.unknown ?? usageNamesOf(usages.bits & ~allowed)[0];
    if (bad !== undefined) throw fail('SyntaxError', `Attempt to ${what} ${name} key with invalid usage "${bad}".`);
}

export function needUsages(bits) {
    if (bits === 0) throw fail('SyntaxError', 'Secret/private CryptoKeys must have at least one usage.');
}

// The first `bits` bits of a buffer: what follows them in the last byte is zero.
export const firstBits = crypto_first_bits;
