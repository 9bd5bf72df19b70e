// node/crypto/common.js: what the files of node:crypto share: errors, data that comes in, results that go out.
import { builtinModule } from '../../builtin.js';
import { err, nodeError, validateFunction, validateString } from '../errors.js';

const { crypto_error } = host;

export const { Buffer } = builtinModule('node:buffer');
export const streams = () => builtinModule('node:stream');

// code -> [class, text]
const CODES = {
    ERR_CRYPTO_ECDH_INVALID_FORMAT: [TypeError, (format) => `Invalid ECDH format: ${format}`],
    ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY: [Error, () => 'Public key is not valid for specified curve'],
    ERR_CRYPTO_HASH_FINALIZED: [Error, () => 'Digest already called'],
    ERR_CRYPTO_HASH_UPDATE_FAILED: [Error, () => 'Hash update failed'],
    ERR_CRYPTO_INCOMPATIBLE_KEY: [Error, (name, why) => `Incompatible ${name}: ${why}`],
    ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS: [Error, (type, why) => `The selected key encoding ${type} ${why}.`],
    ERR_CRYPTO_INVALID_AUTH_TAG: [TypeError, (length) => `Invalid authentication tag length: ${length}`],
    ERR_CRYPTO_INVALID_CURVE: [TypeError, () => 'Invalid EC curve name'],
    ERR_CRYPTO_INVALID_DIGEST: [TypeError, (name) => `Invalid digest: ${name}`],
    ERR_CRYPTO_INVALID_IV: [TypeError, () => 'Invalid initialization vector'],
    ERR_CRYPTO_INVALID_JWK: [TypeError, () => 'Invalid JWK data'],
    ERR_CRYPTO_INVALID_KEYLEN: [RangeError, () => 'Invalid key length'],
    ERR_CRYPTO_INVALID_KEYTYPE: [RangeError, () => 'Invalid key type'],
    ERR_CRYPTO_INVALID_KEYPAIR: [RangeError, () => 'Invalid key pair'],
    ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE: [TypeError, (actual, expected) => `Invalid key object type ${actual}, expected ${expected}.`],
    ERR_CRYPTO_INVALID_SCRYPT_PARAMS: [RangeError, (why = '') => `Invalid scrypt params${why}`],
    ERR_CRYPTO_INVALID_STATE: [Error, (name) => `Invalid state for operation ${name}`],
    ERR_CRYPTO_JWK_UNSUPPORTED_CURVE: [Error, (name) => `Unsupported JWK EC curve: ${name}.`],
    ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE: [Error, () => 'Key type is invalid for JWK export'],
    ERR_CRYPTO_OPERATION_FAILED: [Error, (text) => text],
    ERR_CRYPTO_PBKDF2_ERROR: [Error, () => 'PBKDF2 error'],
    ERR_CRYPTO_SIGN_KEY_REQUIRED: [Error, () => 'No key provided to sign'],
    ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH: [RangeError, () => 'Input buffers must have the same byte length'],
    ERR_CRYPTO_UNKNOWN_CIPHER: [Error, () => 'Unknown cipher'],
    ERR_CRYPTO_UNKNOWN_DH_GROUP: [Error, () => 'Unknown DH group'],
    ERR_INCOMPATIBLE_OPTION_PAIR: [TypeError, (a, b) => `Option "${a}" cannot be used in combination with option "${b}"`],
    ERR_MISSING_OPTION: [TypeError, (name) => `${name} is required`],
    ERR_MISSING_PASSPHRASE: [TypeError, (text) => text],
};
export const errors = { ...err };
for (const code of Object.keys(CODES)) errors[code] = (...args) => nodeError(CODES[code][0], code, CODES[code][1](...args));

// The last failure of OpenSSL as Node shows it; otherwise an Error with a text of ours.
export function opensslError(text, Base = Error) {
    const last = crypto_error();
    if (last === undefined) return new Base(text);
    const error = new Base(text === undefined ? last[0] : text);
    if (text === undefined) {
        error.library = last[1];
        error.reason = last[2];
        error.code = `ERR_OSSL_${last[2].toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
    }
    return error;
}

export const isBytes = (v) => ArrayBuffer.isView(v) || v instanceof ArrayBuffer || v instanceof SharedArrayBuffer;

// Data to read: a string in an encoding, or bytes as they are.
export function bytesOf(value, encoding, name, types = ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView']) {
    if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
    if (!isBytes(value)) throw errors.ERR_INVALID_ARG_TYPE(name, types, value);
    return value;
}

// A result: a Buffer, or a string in an encoding.
export function encoded(buffer, encoding) {
    const bytes = Buffer.from(buffer);
    return encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes;
}

// OpenSSL's name of a hash: RSA-SHA256 and the like are names of the hash alone here.
export function hashOf(name) {
    const lower = name.toLowerCase();
    if (lower.startsWith('rsa-')) return lower.slice(4).replace('/', '-');
    if (lower === 'ecdsa-with-sha1' || lower === 'dsa-sha' || lower === 'dsa-sha1' || lower === 'ssl3-sha1') return 'sha1';
    if (lower === 'ssl3-md5') return 'md5';
    return name;
}

// fn's result goes to callback(error, ...results) later on, as Node does with what it gives to its threads.
export function later(callback, fn) {
    validateFunction(callback, 'callback');
    let results, failure;
    try {
        results = fn();
    } catch (error) {
        failure = error;
    }
    queueMicrotask(() => (failure === undefined ? callback(null, ...results) : callback(failure)));
}

// Makes `fn` a class that can be called with or without `new`, above a class of streams.
export function inherit(fn, base) {
    Object.setPrototypeOf(fn.prototype, base.prototype);
    Object.setPrototypeOf(fn, base);
    return fn;
}

export { nodeError, validateString };
