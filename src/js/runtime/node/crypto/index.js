// node/crypto/index.js: node:crypto. runtime.md 3.5.
import { crypto as webcrypto } from '../../crypto.js';
import { crypto as numbers } from '../constants.js';
import { notImplemented } from '../errors.js';
import { errors, isBytes } from './common.js';
import * as cipher from './cipher.js';
import * as dh from './dh.js';
import * as hash from './hash.js';
import * as kdf from './kdf.js';
import * as keyobject from './keyobject.js';
import * as keys from './keys.js';
import * as random from './random.js';
import * as sign from './sign.js';
import { Certificate, X509Certificate } from './x509.js';

const { crypto_equal } = host;

function timingSafeEqual(buf1, buf2) {
    if (!isBytes(buf1)) throw errors.ERR_INVALID_ARG_TYPE('buf1', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], buf1);
    if (!isBytes(buf2)) throw errors.ERR_INVALID_ARG_TYPE('buf2', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], buf2);
    const equal = crypto_equal(buf1, buf2);
    if (equal === undefined) throw errors.ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH();
    return equal;
}

const HASHES = [
    'RSA-MD5', 'RSA-RIPEMD160', 'RSA-SHA1', 'RSA-SHA224', 'RSA-SHA256', 'RSA-SHA3-224', 'RSA-SHA3-256', 'RSA-SHA3-384', 'RSA-SHA3-512',
    'RSA-SHA384', 'RSA-SHA512', 'RSA-SHA512/224', 'RSA-SHA512/256', 'blake2b512', 'blake2s256', 'md5', 'md5-sha1', 'ripemd160', 'sha1', 'sha224',
    'sha256', 'sha3-224', 'sha3-256', 'sha3-384', 'sha3-512', 'sha384', 'sha512', 'sha512-224', 'sha512-256',
];

const absent = (...names) => Object.fromEntries(names.map((name) => [name, notImplemented(`crypto.${name}`)]));

const { createHash, createHmac, Hash, Hmac } = hash;
const { KeyObject, PublicKeyObject, PrivateKeyObject, SecretKeyObject } = keyobject;
const { createPrivateKey, createPublicKey, createSecretKey, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync } = keys;
const { Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCipherInfo, getCiphers, privateDecrypt, privateEncrypt, publicDecrypt, publicEncrypt } = cipher;

export default {
    ...absent('Cipher', 'Decipher', 'argon2', 'argon2Sync', 'createCipher', 'createDecipher', 'decapsulate', 'encapsulate', 'setEngine', 'setFips'),
    ...dh,
    ...kdf,
    ...random,
    Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCipherInfo, getCiphers, privateDecrypt, privateEncrypt, publicDecrypt, publicEncrypt,
    Hash, Hmac, createHash, createHmac, hash: hash.hash,
    KeyObject, PublicKeyObject, PrivateKeyObject, SecretKeyObject,
    createPrivateKey, createPublicKey, createSecretKey, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync,
    ...sign,
    Certificate, X509Certificate,
    constants: Object.freeze({ __proto__: null, ...numbers }),
    fips: false,
    getFips: () => 0,
    getHashes: () => [...HASHES],
    getRandomValues: (array) => webcrypto.getRandomValues(array),
    secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
    subtle: webcrypto.subtle,
    timingSafeEqual,
    webcrypto,
};
