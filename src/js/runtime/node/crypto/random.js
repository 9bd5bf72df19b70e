// node/crypto/random.js: random bytes and numbers, primes.
import { validateBoolean, validateFunction, validateInt32, validateInteger, validateNumber, validateObject, validateUint32 } from '../errors.js';
import { Buffer, errors, isBytes, later, opensslError } from './common.js';

const { crypto_prime, crypto_prime_check, crypto_uuid, random_fill } = host;
const BYTES_MAX = 2 ** 31 - 1;

function checkSize(size, name = 'size', max = BYTES_MAX) {
    validateNumber(size, name);
    if (!(size >= 0 && size <= max)) throw errors.ERR_OUT_OF_RANGE(name, `>= 0 && <= ${max}`, size);
    return Math.trunc(size);
}

export function randomBytes(size, callback) {
    size = checkSize(size);
    if (callback !== undefined) validateFunction(callback, 'callback');
    const bytes = Buffer.alloc(size);
    random_fill(bytes);
    if (callback === undefined) return bytes;
    later(callback, () => [bytes]);
}
export const pseudoRandomBytes = randomBytes;

// The part of a buffer that is to be filled, in its elements.
function part(buffer, offset, size) {
    if (!isBytes(buffer)) throw errors.ERR_INVALID_ARG_TYPE('buf', ['ArrayBuffer', 'ArrayBufferView'], buffer);
    const unit = buffer.BYTES_PER_ELEMENT ?? 1, length = buffer.byteLength / unit;
    offset = offset === undefined ? 0 : checkSize(offset, 'offset', length);
    if (size === undefined) size = length - offset;
    else size = checkSize(size, 'size', BYTES_MAX);
    if (size + offset > length) throw errors.ERR_OUT_OF_RANGE('size + offset', `<= ${length}`, size + offset);
    const view = ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
    return view.subarray(offset * unit, (offset + size) * unit);
}

export function randomFillSync(buffer, offset = 0, size = undefined) {
    const view = part(buffer, offset, size);
    if (view.length > 0) random_fill(view);
    return buffer;
}

export function randomFill(buffer, offset, size, callback) {
    if (typeof offset === 'function') [offset, size, callback] = [undefined, undefined, offset];
    else if (typeof size === 'function') [size, callback] = [undefined, size];
    validateFunction(callback, 'callback');
    const view = part(buffer, offset, size);
    if (view.length > 0) random_fill(view);
    later(callback, () => [buffer]);
}

// ---- Integers

const RANGE_MAX = 2 ** 48 - 1;
const six = new Uint8Array(6);

function random48() {
    random_fill(six);
    let v = 0;
    for (let i = 0; i < 6; i++) v = v * 256 + six[i];
    return v;
}

export function randomInt(min, max, callback) {
    const minGiven = !(max === undefined || typeof max === 'function');
    if (!minGiven) [min, max, callback] = [0, min, max];
    if (callback !== undefined) validateFunction(callback, 'callback');
    if (!Number.isSafeInteger(min)) throw errors.ERR_INVALID_ARG_TYPE('min', 'a safe integer', min);
    if (!Number.isSafeInteger(max)) throw errors.ERR_INVALID_ARG_TYPE('max', 'a safe integer', max);
    if (max <= min) throw errors.ERR_OUT_OF_RANGE('max', `greater than the value of "min" (${min})`, max);
    const range = max - min;
    if (!(range <= RANGE_MAX)) throw errors.ERR_OUT_OF_RANGE(minGiven ? 'max - min' : 'max', `<= ${RANGE_MAX}`, range);
    const limit = 2 ** 48 - (2 ** 48 % range); // Beyond it the numbers would be biased.
    let v;
    do v = random48();
    while (v >= limit);
    const n = (v % range) + min;
    if (callback === undefined) return n;
    later(callback, () => [n]);
}

export function randomUUID(options) {
    if (options !== undefined) {
        validateObject(options, 'options');
        if (options.disableEntropyCache !== undefined) validateBoolean(options.disableEntropyCache, 'options.disableEntropyCache');
    }
    return crypto_uuid();
}

// ---- Primes

function bigBytes(v) {
    let hex = v.toString(16);
    if (hex.length % 2 === 1) hex = `0${hex}`;
    return Buffer.from(hex, 'hex');
}

function primeNumber(value, name) {
    if (value === undefined) return undefined;
    if (typeof value === 'bigint') {
        if (value < 0n) throw errors.ERR_OUT_OF_RANGE(name, '>= 0', value);
        return bigBytes(value);
    }
    if (!isBytes(value)) throw errors.ERR_INVALID_ARG_TYPE(name, ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'], value);
    return value;
}

const small = (bytes) => (bytes === undefined || bytes.byteLength > 4 ? NaN : Number(`0x${Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength).toString('hex') || '0'}`));

// The search runs in the turn.
const PRIME_BITS_MAX = 4096;

function checkPrimeOptions(options) {
    validateObject(options, 'options');
    const { safe = false, bigint = false } = options;
    const add = primeNumber(options.add, 'options.add'), rem = primeNumber(options.rem, 'options.rem');
    validateBoolean(safe, 'options.safe');
    validateBoolean(bigint, 'options.bigint');
    return { safe, bigint, add, rem };
}

function makePrime(size, options = {}) {
    validateInt32(size, 'size', 1);
    const { safe, bigint, add, rem } = checkPrimeOptions(options);
    if (size > PRIME_BITS_MAX) throw errors.ERR_OUT_OF_RANGE('size', `<= ${PRIME_BITS_MAX}`, size);
    if (add !== undefined) {
        // The pairs that Diffie-Hellman asks for: OpenSSL would search for ever for what there is not.
        const pair = `${small(add)},${small(rem)}`;
        if (!['12,11', '24,23', '60,59'].includes(pair) || size < 6) throw errors.ERR_OUT_OF_RANGE('options.add', '12, 24 or 60, with "options.rem" one less', options.add);
    }
    const out = crypto_prime(size, safe, add, rem);
    if (out === undefined) throw opensslError('Error while generating prime');
    return bigint ? BigInt(`0x${Buffer.from(out).toString('hex')}`) : out;
}

export function generatePrimeSync(size, options = {}) {
    return makePrime(size, options);
}
export function generatePrime(size, options, callback) {
    validateInt32(size, 'size', 1);
    if (typeof options === 'function') [options, callback] = [{}, options];
    validateFunction(callback, 'callback');
    checkPrimeOptions(options);
    later(callback, () => [makePrime(size, options)]);
}

const CHECKS_MAX = 2 ** 31 - 1; // OpenSSL decides how many it takes.

function isPrime(candidate, options) {
    const bytes = primeNumber(candidate, 'candidate');
    if (bytes === undefined) throw errors.ERR_INVALID_ARG_TYPE('candidate', ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'], candidate);
    validateObject(options, 'options');
    const { checks = 0 } = options;
    validateInteger(checks, 'options.checks', 0, CHECKS_MAX);
    return crypto_prime_check(bytes);
}
export function checkPrimeSync(candidate, options = {}) {
    return isPrime(candidate, options);
}
export function checkPrime(candidate, options, callback) {
    if (typeof options === 'function') [options, callback] = [{}, options];
    validateFunction(callback, 'callback');
    const prime = isPrime(candidate, options);
    later(callback, () => [prime]);
}
