// node/crypto/kdf.js: hkdf, pbkdf2, scrypt.
import { validateFunction, validateInt32, validateInteger, validateObject, validateString, validateUint32 } from '../errors.js';
import { checkIterations } from '../../crypto/derive.js';
import { isCryptoKey } from '../../crypto/keys.js';
import { bytesOf, Buffer, errors, hashOf, later, opensslError } from './common.js';
import { isKeyObject, materialOf, secretMaterial } from './keyobject.js';

const { crypto_digest, crypto_hkdf, crypto_pbkdf2, crypto_scrypt } = host;

function needHash(name) {
    const hash = hashOf(name), empty = crypto_digest(hash, undefined);
    if (empty === undefined) throw errors.ERR_CRYPTO_INVALID_DIGEST(name);
    return { hash, size: empty.byteLength };
}

// ---- HKDF

function hkdfKey(key) {
    if (isKeyObject(key) || isCryptoKey(key)) {
        const { type } = materialOf(key);
        if (type !== 'secret') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, 'secret');
        return secretMaterial(key);
    }
    return bytesOf(key, 'utf8', 'ikm', ['string', 'SecretKeyObject', 'ArrayBuffer', 'TypedArray', 'DataView', 'Buffer']);
}

function hkdfArguments(digest, key, salt, info, length) {
    validateString(digest, 'digest');
    key = hkdfKey(key);
    salt = bytesOf(salt, 'utf8', 'salt');
    info = bytesOf(info, 'utf8', 'info');
    validateInteger(length, 'length', 0, 2 ** 31 - 1);
    if (info.byteLength > 1024) throw errors.ERR_OUT_OF_RANGE('info', 'must not contain more than 1024 bytes', info.byteLength);
    return [digest, key, salt, info, length];
}

function runHkdf([digest, key, salt, info, length]) {
    const { hash, size } = needHash(digest);
    if (length > 255 * size) throw errors.ERR_CRYPTO_INVALID_KEYLEN();
    const out = crypto_hkdf(hash, key, salt, info, length);
    if (out === undefined) throw opensslError('HKDF failed');
    return out;
}

export function hkdfSync(digest, ikm, salt, info, keylen) {
    return runHkdf(hkdfArguments(digest, ikm, salt, info, keylen));
}
export function hkdf(digest, ikm, salt, info, keylen, callback) {
    const args = hkdfArguments(digest, ikm, salt, info, keylen);
    later(callback, () => [runHkdf(args)]);
}

// ---- PBKDF2

function pbkdf2Arguments(password, salt, iterations, length, digest) {
    validateString(digest, 'digest');
    password = bytesOf(password, 'utf8', 'password');
    salt = bytesOf(salt, 'utf8', 'salt');
    validateInt32(iterations, 'iterations', 1);
    validateInt32(length, 'keylen', 0);
    return [digest, password, salt, iterations, length];
}

function runPbkdf2([digest, password, salt, iterations, length]) {
    const { hash, size } = needHash(digest);
    checkIterations(iterations, Math.ceil(length / size));
    const out = crypto_pbkdf2(hash, password, salt, iterations, length);
    if (out === undefined) throw errors.ERR_CRYPTO_PBKDF2_ERROR();
    return Buffer.from(out);
}

export function pbkdf2Sync(password, salt, iterations, keylen, digest) {
    return runPbkdf2(pbkdf2Arguments(password, salt, iterations, keylen, digest));
}
export function pbkdf2(password, salt, iterations, keylen, digest, callback) {
    if (typeof digest === 'function') [digest, callback] = [undefined, digest];
    const args = pbkdf2Arguments(password, salt, iterations, keylen, digest);
    later(callback, () => [runPbkdf2(args)]);
}

// ---- scrypt

// It runs in the turn: about two seconds.
const SCRYPT_COST_MAX = 2 ** 20;

// One of two names of an option; not both.
function option(options, name, other, valid) {
    const has = options[name] !== undefined, hasOther = options[other] !== undefined;
    if (has) valid(options[name], name);
    if (hasOther) {
        if (has) throw errors.ERR_INCOMPATIBLE_OPTION_PAIR(name, other);
        valid(options[other], other);
    }
    return has ? options[name] : hasOther ? options[other] : undefined;
}

function scryptArguments(password, salt, length, options) {
    password = bytesOf(password, 'utf8', 'password');
    salt = bytesOf(salt, 'utf8', 'salt');
    validateInt32(length, 'keylen', 0);
    let N = 16384, r = 8, p = 1, maxmem = 32 << 20;
    if (options !== undefined && options !== null) {
        validateObject(options, 'options');
        N = option(options, 'N', 'cost', validateUint32) || N;
        r = option(options, 'r', 'blockSize', validateUint32) || r;
        p = option(options, 'p', 'parallelization', validateUint32) || p;
        if (options.maxmem !== undefined) {
            validateInteger(options.maxmem, 'maxmem', 0);
            maxmem = options.maxmem || maxmem;
        }
    }
    return [password, salt, N, r, p, maxmem, length];
}

function runScrypt(args) {
    const [, , N, r, p, maxmem] = args;
    if (N < 2 || (N & (N - 1)) !== 0 || N > 2 ** 31) throw errors.ERR_CRYPTO_INVALID_SCRYPT_PARAMS(': the cost is no power of two above 1');
    if (128 * N * r > maxmem) throw errors.ERR_CRYPTO_INVALID_SCRYPT_PARAMS(': memory limit exceeded');
    if (N * r * p > SCRYPT_COST_MAX) throw new RangeError(`Scrypt failed: cost exceeds maximum (${SCRYPT_COST_MAX}).`);
    const out = crypto_scrypt(...args);
    if (out === undefined) throw errors.ERR_CRYPTO_INVALID_SCRYPT_PARAMS();
    return Buffer.from(out);
}

export function scryptSync(password, salt, keylen, options) {
    return runScrypt(scryptArguments(password, salt, keylen, options));
}
export function scrypt(password, salt, keylen, options, callback) {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    const args = scryptArguments(password, salt, keylen, options);
    later(callback, () => [runScrypt(args)]);
}
