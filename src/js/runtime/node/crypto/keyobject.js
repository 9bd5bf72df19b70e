// node/crypto/keyobject.js: KeyObject and its three kinds. Their keys are the host's, or bytes that no user code has.
import { normalize } from '../../crypto/algorithms.js';
import { dataOf, isCryptoKey, jwkText } from '../../crypto/keys.js';
import { copyOf, Usages } from '../../crypto/util.js';
import { validateObject, validateString } from '../errors.js';
import { Buffer, errors, isBytes, nodeError, opensslError } from './common.js';

const { crypto_equal, crypto_key_encode, crypto_key_equal, crypto_key_info, crypto_key_parts } = host;
const OURS = Symbol();
export const types = { __proto__: null, RSA: 'rsa', 'RSA-PSS': 'rsa-pss', EC: 'ec', ED25519: 'ed25519', ED448: 'ed448', X25519: 'x25519', X448: 'x448', DSA: 'dsa', DH: 'dh', DHX: 'dh' };
export const jwkCurves = { __proto__: null, prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };
const okpNames = { __proto__: null, ed25519: 'Ed25519', ed448: 'Ed448', x25519: 'X25519', x448: 'X448' };

export class KeyObject {
    #type;
    #material;
    #extractable;
    constructor(...args) {
        if (args[0] !== OURS) throw new TypeError('Illegal constructor');
        this.#type = args[1];
        this.#material = args[2];
        this.#extractable = args[3];
    }
    static from(key) {
        if (!isCryptoKey(key)) throw errors.ERR_INVALID_ARG_TYPE('key', 'CryptoKey', key);
        const data = dataOf(key);
        return newKeyObject(data.type, data.material, data.extractable);
    }
    get type() {
        return this.#type;
    }
    equals(other) {
        if (!isKeyObject(other)) throw errors.ERR_INVALID_ARG_TYPE('otherKeyObject', 'KeyObject', other);
        if (other.#type !== this.#type || !other.#extractable || !this.#extractable) return false;
        if (this.#type === 'secret') return crypto_equal(this.#material, other.#material) === true;
        return crypto_key_equal(this.#material, other.#material);
    }
    export(options = {}) {
        validateObject(options, 'options');
        if (!this.#extractable) throw errors.ERR_CRYPTO_OPERATION_FAILED('The key came from a CryptoKey that is not extractable');
        if (this.#type === 'secret') return exportSecret(this.#material, options);
        return exportKey(this.#type, this.#material, options);
    }
    toCryptoKey(algorithm, extractable, keyUsages) {
        if (this.#type !== 'secret' && types[crypto_key_info(this.#material)[0]] === 'dsa') {
            throw nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The toCryptoKey method is not implemented');
        }
        const usages = new Usages(keyUsages);
        const a = normalize('importKey', algorithm);
        extractable = Boolean(extractable) && this.#extractable;
        if (this.#type === 'secret') return a.run(a, 'raw', copyOf(this.#material), extractable, usages);
        const isPublic = this.#type === 'public';
        const der = crypto_key_encode(this.#material, 'DER', isPublic ? 'SubjectPublicKeyInfo' : 'PrivateKeyInfo', isPublic ? 'public' : 'private');
        return a.run(a, isPublic ? 'spki' : 'pkcs8', copyOf(der), extractable, usages);
    }
    get [Symbol.toStringTag]() {
        return 'KeyObject';
    }
    static internals = { material: (key) => key.#material, is: (v) => typeof v === 'object' && v !== null && #type in v };
}
const { material, is } = KeyObject.internals;
delete KeyObject.internals;
export const isKeyObject = is;

export class SecretKeyObject extends KeyObject {
    get symmetricKeySize() {
        return material(this).length;
    }
}

const typeOf = (key) => types[crypto_key_info(material(key))[0]];

class AsymmetricKeyObject extends KeyObject {
    get asymmetricKeyType() {
        return typeOf(this);
    }
    get asymmetricKeyDetails() {
        const type = typeOf(this), [, bits, curve, divisor] = crypto_key_info(material(this));
        if (type === 'rsa' || type === 'rsa-pss') {
            const exponent = Buffer.from(crypto_key_parts(material(this), false)[1]).toString('hex');
            return { modulusLength: bits, publicExponent: BigInt(`0x${exponent}`) };
        }
        if (type === 'dsa') return { modulusLength: bits, divisorLength: divisor };
        return type === 'ec' ? { namedCurve: curve } : {};
    }
}
export class PublicKeyObject extends AsymmetricKeyObject {}
export class PrivateKeyObject extends AsymmetricKeyObject {}

const kinds = { __proto__: null, secret: SecretKeyObject, public: PublicKeyObject, private: PrivateKeyObject };
export const newKeyObject = (type, key, extractable = true) => new kinds[type](OURS, type, key, extractable);

// { type, material } of a KeyObject or a CryptoKey.
export function materialOf(key) {
    return isKeyObject(key) ? { type: key.type, material: material(key) } : dataOf(key);
}
export const secretMaterial = (key) => materialOf(key).material;

// ---- Encodings

function exportSecret(bytes, options) {
    const { format = 'buffer' } = options;
    if (format === 'jwk') return { kty: 'oct', k: jwkText(bytes), ext: true };
    if (format !== 'buffer') throw errors.ERR_INVALID_ARG_VALUE('options.format', format);
    return Buffer.from(copyOf(bytes).buffer);
}

function exportJwk(type, key) {
    const info = crypto_key_info(key), kind = types[info[0]], isPrivate = type === 'private';
    const parts = crypto_key_parts(key, isPrivate).map((part) => (part === undefined ? undefined : jwkText(part)));
    if (kind === 'rsa') {
        const [n, e, d, p, q, dp, dq, qi] = parts;
        return isPrivate ? { kty: 'RSA', n, e, d, p, q, dp, dq, qi } : { kty: 'RSA', n, e };
    }
    if (kind === 'ec') {
        const crv = jwkCurves[info[2]], [x, y, d] = parts;
        if (crv === undefined) throw errors.ERR_CRYPTO_JWK_UNSUPPORTED_CURVE(info[2]);
        return isPrivate ? { kty: 'EC', x, y, crv, d } : { kty: 'EC', x, y, crv };
    }
    if (okpNames[kind] !== undefined) {
        const [x, d] = parts;
        const jwk = isPrivate ? { crv: okpNames[kind], d, x, kty: 'OKP' } : { crv: okpNames[kind], x, kty: 'OKP' };
        return kind === 'ed25519' ? { alg: 'EdDSA', ...jwk } : jwk;
    }
    throw errors.ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE(); // DSA
}

// Checks { format, type, cipher, passphrase } for the export of a key; name: what errors call them.
export function checkEncoding(type, options, name = 'options') {
    validateObject(options, name);
    const { format, cipher, passphrase } = options;
    if (format !== undefined) validateString(format, `${name}.format`);
    if (format !== undefined && format !== 'pem' && format !== 'der' && format !== 'jwk') throw errors.ERR_INVALID_ARG_VALUE(`${name}.format`, format);
    if (format === 'jwk') {
        if (cipher !== undefined || passphrase !== undefined) throw errors.ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS('jwk', 'does not support encryption');
        return;
    }
    if (options.type !== undefined) validateString(options.type, `${name}.type`);
    const known = type === 'public' ? ['pkcs1', 'spki'] : ['pkcs1', 'pkcs8', 'sec1'];
    if (options.type !== undefined && !known.includes(options.type)) throw errors.ERR_INVALID_ARG_VALUE(`${name}.type`, options.type);
    if (type === 'public' || cipher === undefined || cipher === null) {
        if (type === 'private' && passphrase !== undefined && passphrase !== null) throw errors.ERR_INVALID_ARG_VALUE(`${name}.cipher`, cipher);
        return;
    }
    validateString(cipher, `${name}.cipher`);
    if (format === 'der' && (options.type === 'pkcs1' || options.type === 'sec1')) {
        throw errors.ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS(options.type, 'does not support encryption');
    }
    if (typeof passphrase !== 'string' && !isBytes(passphrase)) {
        throw errors.ERR_INVALID_ARG_TYPE(`${name}.passphrase`, ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], passphrase);
    }
}

export function exportKey(type, key, options) {
    checkEncoding(type, options);
    const { format = 'pem', cipher, passphrase } = options;
    if (format === 'jwk') return exportJwk(type, key);
    const form = options.type ?? (type === 'public' ? 'spki' : 'pkcs8'), kind = types[crypto_key_info(key)[0]];
    if (form === 'pkcs1' && kind !== 'rsa') throw errors.ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS('pkcs1', 'can only be used for RSA keys');
    if (form === 'sec1' && kind !== 'ec') throw errors.ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS('sec1', 'can only be used for EC keys');
    const secret = type === 'private' && cipher !== undefined && cipher !== null;
    const structure = form === 'spki' ? 'SubjectPublicKeyInfo' : form !== 'pkcs8' ? 'type-specific' : secret ? 'EncryptedPrivateKeyInfo' : 'PrivateKeyInfo';
    const out = crypto_key_encode(
        key, format.toUpperCase(), structure, type, secret ? cipher : undefined,
        secret ? (typeof passphrase === 'string' ? Buffer.from(passphrase, options.encoding) : passphrase) : undefined);
    if (out === undefined) throw opensslError(secret ? undefined : `Failed to encode ${type} key`);
    return format === 'pem' ? Buffer.from(out).toString('utf8') : Buffer.from(out);
}
