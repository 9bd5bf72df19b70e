// crypto/symmetric.js: AES and HMAC.
import { define, hashBlock, hashName, readHash } from './algorithms.js';
import { checkJwk, finishJwk, jwkBytes, jwkText, newKey } from './keys.js';
import { checkUsages, copyOf, dataError, DECRYPT, ENCRYPT, member, needUsages, notSupported, operationError, SIGN, sizeOf, Uint8Array, UNWRAP, VERIFY, WRAP } from './util.js';

const { crypto_crypt, crypto_ctr, crypto_equal, crypto_hmac, random_fill } = host;

function randomBytes(length) {
    const bytes = new Uint8Array(length);
    random_fill(bytes);
    return bytes;
}

// ---- AES

const aesUsages = ENCRYPT | DECRYPT | WRAP | UNWRAP;
const aesLength = (bits) => bits === 128 || bits === 192 || bits === 256;

const generateAes = (allowed) => (a, extractable, usages) => {
    checkUsages(usages, allowed, 'generate', a.name);
    if (!aesLength(a.length)) throw operationError(`Generated AES key length must be 128, 192, or 256 bits but requested ${a.length}.`);
    needUsages(usages.bits);
    return newKey('secret', a, extractable, usages.bits, randomBytes(a.length / 8));
};

const importAes = (allowed, suffix) => (a, format, data, extractable, usages) => {
    checkUsages(usages, allowed, 'import secret', a.name);
    let bytes;
    if (format === 'raw') {
        bytes = data;
    } else if (format === 'jwk') {
        checkJwk(data, 'oct', 'enc', extractable, usages);
        bytes = jwkBytes(data, 'k');
        if (data.alg !== undefined && data.alg !== `A${sizeOf(bytes) * 8}${suffix}`) {
            throw dataError(`The "alg" of the JSON Web Key ("${data.alg}") does not match ${a.name} with ${sizeOf(bytes) * 8} bits.`);
        }
    } else throw notSupported(`Unrecognized key import format "${format}".`);
    const length = sizeOf(bytes) * 8;
    if (!aesLength(length)) throw dataError(`Imported AES key length must be 128, 192, or 256 bits but provided ${length}.`);
    needUsages(usages.bits);
    return newKey('secret', { name: a.name, length }, extractable, usages.bits, bytes);
};

const exportSecret = (alg) => (format, key) => {
    if (format === 'raw') return copyOf(key.material).buffer;
    if (format === 'jwk') return finishJwk({ kty: 'oct', k: jwkText(key.material), alg: alg(key) }, key);
    throw notSupported(`${key.name} key only supports exporting "raw" & "jwk", not "${format}".`);
};

function derivedAes(a) {
    if (!aesLength(a.length)) throw operationError(`Derived AES key must be 128, 192, or 256 bits in length but provided ${a.length}.`);
    return a.length;
}

// In workerd the parameters of signing are one dictionary for all algorithms, and those of importing are another: members that an
// algorithm does not use are read, once, all the same.
const alsoReads = (name) => (raw) => {
    void raw[name];
    return { __proto__: null };
};

function aes(name, suffix, allowed, operations) {
    const readLength = (raw) => ({ __proto__: null, length: member.integer(raw, 'length', 0xffff) });
    define(name, {
        ...operations,
        generateKey: [readLength, generateAes(allowed)],
        importKey: [alsoReads('length'), importAes(allowed, suffix)],
        exportKey: [undefined, exportSecret((key) => `A${key.length}${suffix}`)],
        keyLength: [readLength, derivedAes],
    });
}
const cipherOf = (key, mode) => `AES-${key.length}-${mode}`;

const undecryptable = (key) => operationError(
    `Decryption failed. The ciphertext may have been altered or cut, or the key or another parameter of ${key.name} is not the one it was encrypted with.`);

// AES-GCM
const readGcm = (raw) => ({
    __proto__: null,
    additionalData: member.optionalBytes(raw, 'additionalData'),
    iv: member.bytes(raw, 'iv'),
    tagLength: member.optionalInteger(raw, 'tagLength', 0xff) ?? 128,
});
function checkGcm(a) {
    if (a.iv.length === 0) throw operationError('AES-GCM IV must not be empty.');
    if (a.tagLength !== 32 && a.tagLength !== 64 && !(a.tagLength >= 96 && a.tagLength <= 128 && a.tagLength % 8 === 0)) {
        throw operationError(`Invalid AES-GCM tag length ${a.tagLength}.`);
    }
}
function encryptGcm(a, key, data) {
    checkGcm(a);
    const out = crypto_crypt(cipherOf(key, 'GCM'), true, key.material, a.iv, a.additionalData, a.tagLength / 8, data);
    if (out === undefined) throw operationError('AES-GCM encryption failed.');
    return out;
}
function decryptGcm(a, key, data) {
    checkGcm(a);
    if (data.byteLength < a.tagLength / 8) {
        throw operationError(`Ciphertext length of ${data.byteLength * 8} bits must be greater than or equal to the size of the AES-GCM tag length of ${a.tagLength} bits.`);
    }
    const out = crypto_crypt(cipherOf(key, 'GCM'), false, key.material, a.iv, a.additionalData, a.tagLength / 8, data);
    if (out === undefined) throw undecryptable(key);
    return out;
}
aes('AES-GCM', 'GCM', aesUsages, { encrypt: [readGcm, encryptGcm], decrypt: [readGcm, decryptGcm] });

// AES-CBC
const readCbc = (raw) => ({ __proto__: null, iv: member.bytes(raw, 'iv') });
const cryptCbc = (encrypt) => (a, key, data) => {
    if (a.iv.length !== 16) throw operationError(`AES-CBC IV must be 16 bytes long (provided ${a.iv.length} bytes).`);
    const out = crypto_crypt(cipherOf(key, 'CBC'), encrypt, key.material, a.iv, undefined, 0, data);
    if (out === undefined) throw encrypt ? operationError('AES-CBC encryption failed.') : undecryptable(key);
    return out;
};
aes('AES-CBC', 'CBC', aesUsages, { encrypt: [readCbc, cryptCbc(true)], decrypt: [readCbc, cryptCbc(false)] });

// AES-CTR
const readCtr = (raw) => ({ __proto__: null, counter: member.bytes(raw, 'counter'), length: member.integer(raw, 'length', 0xff) });
function cryptCtr(a, key, data) {
    if (a.counter.length !== 16) throw operationError(`Counter must have length of 16 bytes (provided ${a.counter.length}).`);
    if (a.length < 1 || a.length > 128) throw operationError(`Invalid counter of ${a.length} bits length provided.`);
    const out = crypto_ctr(cipherOf(key, 'CTR'), key.material, a.counter, a.length, data);
    if (out === undefined) throw operationError('Counter block values will repeat.');
    return out;
}
aes('AES-CTR', 'CTR', aesUsages, { encrypt: [readCtr, cryptCtr], decrypt: [readCtr, cryptCtr] });

// AES-KW
const wrapKw = (wrap) => (a, key, data) => {
    const out = crypto_crypt(cipherOf(key, 'WRAP'), wrap, key.material, undefined, undefined, 0, data);
    if (out === undefined) {
        throw operationError(wrap ? 'AES-KW wraps at least 16 bytes, a multiple of 8.' : 'AES-KW key unwrap failed: the wrapped key was altered, or made with another key.');
    }
    return out;
};
aes('AES-KW', 'KW', WRAP | UNWRAP, { wrapKey: [undefined, wrapKw(true)], unwrapKey: [undefined, wrapKw(false)] });

// ---- HMAC

const hmacAlg = { __proto__: null, 'SHA-1': 'HS1', 'SHA-224': 'HS224', 'SHA-256': 'HS256', 'SHA-384': 'HS384', 'SHA-512': 'HS512' };
const readHmac = (raw) => ({ __proto__: null, hash: readHash(raw), length: member.optionalInteger(raw, 'length', 0xffffffff) });

function generateHmac(a, extractable, usages) {
    checkUsages(usages, SIGN | VERIFY, 'generate', a.name);
    const length = a.length ?? hashBlock(a.hash);
    if (length === 0 || length > 1 << 24) throw operationError(`HMAC keys of ${length} bits cannot be generated.`);
    needUsages(usages.bits);
    return newKey('secret', { name: a.name, hash: a.hash, length }, extractable, usages.bits, randomBytes(Math.ceil(length / 8)));
}

function importHmac(a, format, data, extractable, usages) {
    checkUsages(usages, SIGN | VERIFY, 'import secret', a.name);
    let bytes;
    if (format === 'raw') {
        bytes = data;
    } else if (format === 'jwk') {
        checkJwk(data, 'oct', 'sig', extractable, usages);
        bytes = jwkBytes(data, 'k');
        if (data.alg !== undefined && data.alg !== hmacAlg[a.hash]) {
            throw dataError(`The "alg" of the JSON Web Key ("${data.alg}") does not match ${a.name} with ${a.hash}.`);
        }
    } else throw notSupported(`Unrecognized key import format "${format}".`);
    const bits = sizeOf(bytes) * 8, length = a.length ?? bits;
    if (bits === 0) throw dataError('HMAC keys must not be empty.');
    if (length === 0 || length > bits || length <= bits - 8) {
        throw dataError(`Imported HMAC key length (${length}) must be a value up to 7 bits less than, and no greater than, the bit length of the key data (${bits}).`);
    }
    needUsages(usages.bits);
    return newKey('secret', { name: a.name, hash: a.hash, length }, extractable, usages.bits, bytes);
}

function derivedHmac(a) {
    if (a.length === 0) throw new TypeError('HMAC key length must be a non-zero unsigned long integer.');
    return a.length ?? hashBlock(a.hash);
}

define('HMAC', {
    sign: [alsoReads('hash'), (a, key, data) => crypto_hmac(hashName(key.hash), key.material, data)],
    verify: [alsoReads('hash'), (a, key, data, signature) => crypto_equal(crypto_hmac(hashName(key.hash), key.material, data), signature) === true],
    generateKey: [readHmac, generateHmac],
    importKey: [readHmac, importHmac],
    exportKey: [undefined, exportSecret((key) => hmacAlg[key.hash])],
    keyLength: [readHmac, derivedHmac],
});
