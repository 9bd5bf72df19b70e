// node/crypto/keys.js: keys that come in and keys that are made.
import { isCryptoKey, jwkBytes } from '../../crypto/keys.js';
import { RSA_GENERATE_MAX } from '../../crypto/rsa.js';
import { copyOf } from '../../crypto/util.js';
import { validateFunction, validateInt32, validateInteger, validateObject, validateOneOf, validateString } from '../errors.js';
import { PROMISE_ARGS } from '../util.js';
import { bytesOf, Buffer, errors, isBytes, later, nodeError, opensslError } from './common.js';
import { checkEncoding, exportKey, isKeyObject, jwkCurves, materialOf, newKeyObject, types } from './keyobject.js';

const { crypto_key_decode, crypto_key_from_ec, crypto_key_from_raw, crypto_key_from_rsa, crypto_key_generate, crypto_key_info, crypto_x509_new, crypto_x509_key, random_fill } = host;

// ---- Secrets

export function createSecretKey(key, encoding) {
    const bytes = copyOf(bytesOf(key, encoding, 'key'));
    return newKeyObject('secret', bytes);
}

// ---- JSON Web Keys

const groups = Object.fromEntries(Object.entries(jwkCurves).map(([group, curve]) => [curve, group]));
const sizes = { __proto__: null, 'P-256': 32, 'P-384': 48, 'P-521': 66 };

function jwkPart(jwk, name, what) {
    const v = jwk[name];
    if (v === undefined) throw new TypeError(`${what} JWK missing ${name} parameter`);
    validateString(v, `key.${name}`);
    try {
        return jwkBytes(jwk, name);
    } catch {
        throw errors.ERR_CRYPTO_INVALID_JWK();
    }
}

function padded(bytes, size) {
    if (bytes.length > size) throw errors.ERR_CRYPTO_INVALID_JWK();
    const out = new Uint8Array(size);
    out.set(bytes, size - bytes.length);
    return out;
}

function ecFromJwk(jwk, isPrivate) {
    if (jwk.crv === undefined) throw new TypeError('EC JWK missing crv parameter');
    const size = sizes[jwk.crv];
    if (size === undefined) throw errors.ERR_INVALID_ARG_VALUE('key.crv', jwk.crv);
    const point = new Uint8Array(1 + 2 * size);
    point[0] = 4;
    point.set(padded(jwkPart(jwk, 'x', 'EC'), size), 1);
    point.set(padded(jwkPart(jwk, 'y', 'EC'), size), 1 + size);
    return crypto_key_from_ec(groups[jwk.crv], point, isPrivate ? jwkPart(jwk, 'd', 'EC') : undefined);
}

function rsaFromJwk(jwk, isPrivate) {
    const part = (name) => jwkPart(jwk, name, 'RSA');
    const n = part('n'), e = part('e');
    return isPrivate ? crypto_key_from_rsa(n, e, part('d'), part('p'), part('q'), part('dp'), part('dq'), part('qi')) : crypto_key_from_rsa(n, e);
}

function fromJwk(jwk, isPrivate) {
    let key;
    switch (jwk.kty) {
        case 'RSA':
            key = rsaFromJwk(jwk, isPrivate);
            break;
        case 'EC':
            key = ecFromJwk(jwk, isPrivate);
            break;
        case 'OKP':
            if (jwk.crv === undefined) throw new TypeError('OKP JWK missing crv parameter');
            validateOneOf(jwk.crv, 'key.crv', ['Ed25519', 'X25519']);
            key = crypto_key_from_raw(jwk.crv, isPrivate, jwkPart(jwk, isPrivate ? 'd' : 'x', 'OKP'));
            break;
        default:
            throw nodeError(TypeError, 'ERR_INVALID_ARG_VALUE', `JWK ${isPrivate ? 'private' : 'public'} key import is not implemented for this key type`);
    }
    if (key === undefined) throw errors.ERR_CRYPTO_INVALID_JWK();
    return key;
}

// ---- PEM and DER

const derTypes = ['spki', 'pkcs8', 'pkcs1', 'sec1'];

// The keys that all of this is for: runtime.md 3.5.
const kinds = new Set(['rsa', 'ec', 'ed25519', 'x25519', 'dsa']);
const curves = new Set([...Object.keys(jwkCurves), 'secp224r1']);
function known(key) {
    if (key === undefined) return undefined;
    const [type, , curve] = crypto_key_info(key);
    return kinds.has(types[type]) && (curve === undefined || curves.has(curve)) ? key : undefined;
}
const INPUTS = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey'];

// { bytes, form, type, passphrase } of what a caller gives as a key.
function encodedInput(input, name) {
    if (typeof input === 'string') return { bytes: Buffer.from(input), form: 'PEM' };
    if (isBytes(input)) return { bytes: input, form: 'PEM' };
    const { key, format = 'pem', type, passphrase, encoding } = input;
    validateOneOf(format, `${name}.format`, ['pem', 'der', 'jwk']);
    if (typeof key !== 'string' && !isBytes(key)) throw errors.ERR_INVALID_ARG_TYPE('key', INPUTS, key);
    if (type !== undefined && type !== null) validateString(type, `${name}.type`);
    if (format === 'der' && type !== undefined && !derTypes.includes(type)) throw errors.ERR_INVALID_ARG_VALUE(`${name}.type`, type);
    if (passphrase !== undefined && passphrase !== null && typeof passphrase !== 'string' && !isBytes(passphrase)) {
        throw errors.ERR_INVALID_ARG_TYPE(`${name}.passphrase`, INPUTS.slice(0, 5), passphrase);
    }
    return {
        bytes: bytesOf(key, format === 'pem' ? 'utf8' : encoding, `${name}.key`),
        form: format.toUpperCase(),
        type,
        passphrase: typeof passphrase === 'string' ? Buffer.from(passphrase, encoding) : (passphrase ?? undefined),
    };
}

function decodePrivate({ bytes, form, type, passphrase }) {
    const der = form === 'DER';
    // What says it is PKCS #8 is nothing else; the others may be anything, as in Node.
    const all = der && type === 'pkcs8' ? ['PrivateKeyInfo', 'EncryptedPrivateKeyInfo'] : [undefined];
    let key;
    for (const structure of all) key ??= crypto_key_decode(form, structure, undefined, 'private', bytes, passphrase);
    key = known(key);
    if (key === undefined && passphrase === undefined && !der && Buffer.from(copyOf(bytes)).includes('ENCRYPTED')) {
        throw errors.ERR_MISSING_PASSPHRASE('Failed to parse private key');
    }
    if (key === undefined) throw opensslError('Failed to parse private key');
    return key;
}

function decodePublic(input) {
    const { bytes, form, type, passphrase } = input, der = form === 'DER';
    if (!der && Buffer.from(copyOf(bytes)).includes('-----BEGIN CERTIFICATE')) {
        const certificate = crypto_x509_new(bytes);
        if (certificate !== undefined) return crypto_x509_key(certificate);
    }
    const structure = der && type === 'spki' ? 'SubjectPublicKeyInfo' : der && type === 'pkcs1' ? 'type-specific' : undefined;
    const key = known(crypto_key_decode(form, structure, der && type === 'pkcs1' ? 'RSA' : undefined, 'public', bytes, passphrase));
    if (key !== undefined) return key;
    const own = type === 'spki' ? undefined : known(crypto_key_decode(form, undefined, undefined, 'private', bytes, passphrase));
    if (own === undefined) throw opensslError('Failed to parse public key');
    return own;
}

const isJwk = (input) => typeof input === 'object' && input !== null && input.format === 'jwk';

// The key that `input` is: { type, material }. Public: private keys do too, for their public half.
export function keyInput(input, wanted, name = 'key') {
    let given = input;
    if (typeof given === 'object' && given !== null && !isBytes(given) && !isKeyObject(given) && !isCryptoKey(given) && !isJwk(given)) {
        if (isKeyObject(given.key) || isCryptoKey(given.key)) given = given.key;
        else if (isJwk({ format: given.format })) given = { key: given.key, format: 'jwk' };
    }
    if (isKeyObject(given) || isCryptoKey(given)) {
        const key = materialOf(given);
        if (key.type === 'secret' || (wanted === 'private' && key.type !== 'private')) {
            throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(key.type, wanted === 'private' ? 'private' : 'private or public');
        }
        return { type: key.type, material: key.material };
    }
    if (isJwk(given)) {
        validateObject(given.key, `${name}.key`);
        const isPrivate = wanted === 'private' || given.key.d !== undefined;
        return { type: wanted, material: fromJwk(given.key, isPrivate) };
    }
    if (typeof given !== 'string' && !isBytes(given) && (typeof given !== 'object' || given === null)) {
        throw errors.ERR_INVALID_ARG_TYPE('options.key', INPUTS, input);
    }
    const encoded = encodedInput(given, name);
    return { type: wanted, material: wanted === 'private' ? decodePrivate(encoded) : decodePublic(encoded) };
}

export function createPrivateKey(key) {
    if (isKeyObject(key)) throw errors.ERR_INVALID_ARG_TYPE('key', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'Object'], key);
    return newKeyObject('private', keyInput(key, 'private').material);
}

export function createPublicKey(key) {
    const { type, material } = keyInput(key, 'public');
    if (isKeyObject(key) && type === 'public') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, 'private');
    return newKeyObject('public', material);
}

// ---- Generation

export function generateKeySync(type, options) {
    validateString(type, 'type');
    validateObject(options, 'options');
    const { length } = options;
    if (type === 'hmac') validateInteger(length, 'options.length', 8, 65536);
    else if (type === 'aes') validateOneOf(length, 'options.length', [128, 192, 256]);
    else throw errors.ERR_INVALID_ARG_VALUE('type', type, 'must be a supported key type');
    const bytes = new Uint8Array(Math.floor(length / 8));
    random_fill(bytes);
    return newKeyObject('secret', bytes);
}
export function generateKey(type, options, callback) {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    validateFunction(callback, 'callback');
    const key = generateKeySync(type, options);
    later(callback, () => [key]);
}

const simple = { __proto__: null, ed25519: 'ED25519', x25519: 'X25519' };

function uint32(value, name) {
    if (typeof value !== 'number') throw errors.ERR_INVALID_ARG_TYPE(name, 'number', value);
    if (!Number.isInteger(value)) throw errors.ERR_OUT_OF_RANGE(name, 'an integer', value);
    if (value < 0 || value > 0xffffffff) throw errors.ERR_OUT_OF_RANGE(name, '>= 0 && < 4294967296', value);
}

function makeKey(type, options) {
    if (type in simple) return crypto_key_generate(simple[type]);
    validateObject(options, 'options');
    if (type === 'rsa') {
        const { modulusLength, publicExponent = 0x10001 } = options;
        uint32(modulusLength, 'options.modulusLength');
        uint32(publicExponent, 'options.publicExponent');
        if (modulusLength > RSA_GENERATE_MAX) throw errors.ERR_OUT_OF_RANGE('options.modulusLength', `<= ${RSA_GENERATE_MAX}`, modulusLength);
        return crypto_key_generate('RSA', modulusLength, publicExponent);
    }
    if (type === 'ec') {
        const { namedCurve, paramEncoding } = options;
        validateString(namedCurve, 'options.namedCurve');
        if (paramEncoding !== undefined && paramEncoding !== null) validateOneOf(paramEncoding, 'options.paramEncoding', ['named', 'explicit']);
        if (paramEncoding === 'explicit') throw errors.ERR_METHOD_NOT_IMPLEMENTED('crypto.generateKeyPair with explicit parameters');
        const key = known(crypto_key_generate('EC', namedCurve));
        if (key === undefined) throw errors.ERR_CRYPTO_INVALID_CURVE();
        return key;
    }
    checkDh(options);
    throw errors.ERR_METHOD_NOT_IMPLEMENTED('crypto.generateKeyPair("dh")');
}

// Keys of Diffie-Hellman are not made yet: createDiffieHellman does without them.
function checkDh({ group, groupName = group, prime, primeLength, generator }) {
    if (generator !== undefined) validateInt32(generator, 'options.generator', 0);
    if (groupName !== undefined) {
        if (prime !== undefined) throw errors.ERR_INCOMPATIBLE_OPTION_PAIR('group', 'prime');
        if (primeLength !== undefined) throw errors.ERR_INCOMPATIBLE_OPTION_PAIR('group', 'primeLength');
        if (generator !== undefined) throw errors.ERR_INCOMPATIBLE_OPTION_PAIR('group', 'generator');
        validateString(groupName, 'options.group');
    } else if (prime !== undefined) {
        if (primeLength !== undefined) throw errors.ERR_INCOMPATIBLE_OPTION_PAIR('prime', 'primeLength');
        if (!isBytes(prime)) throw errors.ERR_INVALID_ARG_TYPE('options.prime', ['Buffer', 'TypedArray', 'ArrayBuffer'], prime);
        if (prime.byteLength > 1024) throw errors.ERR_OUT_OF_RANGE('options.prime', 'at most 1024 bytes', prime.byteLength);
    } else if (primeLength !== undefined) {
        validateInt32(primeLength, 'options.primeLength', 0);
        throw nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'Generating DH keys from a prime length is not yet implemented');
    } else {
        throw errors.ERR_MISSING_OPTION('At least one of the group, prime, or primeLength options');
    }
}

const keyPairTypes = ['rsa', 'ec', 'ed25519', 'x25519', 'dh'];

function makePair(type, options) {
    validateString(type, 'type');
    validateOneOf(type, 'type', keyPairTypes);
    if (options !== undefined) validateObject(options, 'options');
    const { publicKeyEncoding, privateKeyEncoding } = options ?? {};
    for (const [kind, encoding] of [['public', publicKeyEncoding], ['private', privateKeyEncoding]]) {
        if (encoding === undefined || encoding === null) continue;
        if (typeof encoding !== 'object') throw errors.ERR_INVALID_ARG_TYPE(`options.${kind}KeyEncoding`, 'object', encoding);
        checkEncoding(kind, encoding, `options.${kind}KeyEncoding`);
    }
    const material = makeKey(type, options);
    if (material === undefined) throw opensslError('Failed to generate the key pair');
    return {
        publicKey: publicKeyEncoding ? exportKey('public', material, publicKeyEncoding) : newKeyObject('public', material),
        privateKey: privateKeyEncoding ? exportKey('private', material, privateKeyEncoding) : newKeyObject('private', material),
    };
}

export function generateKeyPairSync(type, options) {
    return makePair(type, options);
}
export function generateKeyPair(type, options, callback) {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    validateFunction(callback, 'callback');
    later(callback, () => {
        const { publicKey, privateKey } = makePair(type, options);
        return [publicKey, privateKey];
    });
}
Object.defineProperty(generateKeyPair, PROMISE_ARGS, { value: ['publicKey', 'privateKey'] });
