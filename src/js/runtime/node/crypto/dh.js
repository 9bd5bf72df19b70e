// node/crypto/dh.js: Diffie-Hellman over numbers and over curves.
import { validateInt32, validateObject, validateString } from '../errors.js';
import { copyOf } from '../../crypto/util.js';
import { bytesOf, Buffer, encoded, errors, isBytes, later, nodeError, opensslError } from './common.js';
import { isKeyObject, materialOf } from './keyobject.js';

const { crypto_curves, crypto_derive, crypto_dh_group, crypto_ec_point, crypto_key_from_ec, crypto_key_info, crypto_modexp, crypto_prime, crypto_prime_check, random_fill } = host;

const NUMBER_BYTES_MAX = 2048;
const BYTES = ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];
const bufferOf = (bytes) => Buffer.from(copyOf(bytes).buffer); // A copy.
const big = (bytes) => BigInt(`0x${bufferOf(bytes).toString('hex') || '0'}`);

function bytesOfBig(n, size) {
    let hex = n.toString(16);
    if (hex.length % 2 === 1) hex = `0${hex}`;
    const bytes = Buffer.from(hex, 'hex');
    return bytes.length >= size ? bytes : Buffer.concat([Buffer.alloc(size - bytes.length), bytes]);
}

const states = new WeakMap(); // { prime, generator, publicKey, privateKey } or { curve, ... }
function stateOf(self) {
    const state = states.get(self);
    if (state === undefined) throw new TypeError('Illegal invocation');
    return state;
}

// ---- Groups of numbers

// DH_check_pub_key: 1 too small, 2 too large.
function checkPeer(peer, prime) {
    const y = big(peer), p = big(prime);
    if (y <= 1n) throw nodeError(Error, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too small');
    if (y >= p - 1n) throw nodeError(Error, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too large');
}

const shared = {
    generateKeys(encoding) {
        const state = stateOf(this);
        if (state.privateKey === undefined) {
            const size = state.prime.byteLength, bytes = new Uint8Array(size + 8), p = big(state.prime);
            random_fill(bytes); // 64 bits more than the prime has: what is left of them by the remainder is even.
            state.privateKey = bytesOfBig(p > 5n ? (big(bytes) % (p - 3n)) + 2n : 1n, 1);
        }
        state.publicKey = Buffer.from(crypto_modexp(state.generator, state.privateKey, state.prime));
        return this.getPublicKey(encoding);
    },
    computeSecret(otherPublicKey, inputEncoding, outputEncoding) {
        const state = stateOf(this);
        const peer = bytesOf(otherPublicKey, inputEncoding, 'otherPublicKey', BYTES);
        if (state.privateKey === undefined) throw new Error('No private key - did you forget to generate one?');
        checkPeer(peer, state.prime);
        const secret = Buffer.from(crypto_modexp(peer, state.privateKey, state.prime)), size = state.prime.byteLength;
        return encoded(secret.length < size ? Buffer.concat([Buffer.alloc(size - secret.length), secret]) : secret, encodingOf(outputEncoding));
    },
    getPrime(encoding) {
        return encoded(stateOf(this).prime, encodingOf(encoding));
    },
    getGenerator(encoding) {
        return encoded(stateOf(this).generator, encodingOf(encoding));
    },
    getPublicKey(encoding) {
        const { publicKey } = stateOf(this);
        if (publicKey === undefined) throw new Error('No public key - did you forget to generate one?');
        return encoded(publicKey, encodingOf(encoding));
    },
    getPrivateKey(encoding) {
        const { privateKey } = stateOf(this);
        if (privateKey === undefined) throw new Error('No private key - did you forget to generate one?');
        return encoded(privateKey, encodingOf(encoding));
    },
};
const encodingOf = (encoding) => (encoding === undefined || encoding === null ? undefined : encoding);

export function DiffieHellman(sizeOrKey, keyEncoding, generator, generatorEncoding) {
    const self = new.target === undefined ? Object.create(DiffieHellman.prototype) : this;
    if (typeof sizeOrKey !== 'number' && typeof sizeOrKey !== 'string' && !isBytes(sizeOrKey)) {
        throw errors.ERR_INVALID_ARG_TYPE('sizeOrKey', ['number', ...BYTES], sizeOrKey);
    }
    if (typeof sizeOrKey === 'number') validateInt32(sizeOrKey, 'sizeOrKey');
    if (keyEncoding && keyEncoding !== 'buffer' && !Buffer.isEncoding(keyEncoding)) {
        generatorEncoding = generator;
        generator = keyEncoding;
        keyEncoding = undefined;
    }
    let base;
    if (generator === undefined || generator === null || generator === 0) base = 2;
    else if (typeof generator === 'number') base = generator;
    else base = bytesOf(generator, generatorEncoding, 'generator', ['number', ...BYTES]);
    if (typeof base === 'number') {
        validateInt32(base, 'generator', 2);
        base = bytesOfBig(BigInt(base), 1);
    } else if (base.byteLength > NUMBER_BYTES_MAX) {
        throw errors.ERR_OUT_OF_RANGE('generator', `at most ${NUMBER_BYTES_MAX} bytes: the generator is too large`, base.byteLength);
    } else if (big(base) <= 1n) {
        throw opensslDh('bad generator');
    }
    let prime;
    if (typeof sizeOrKey === 'number') {
        if (sizeOrKey < 2) throw opensslDh('modulus too small');
        prime = safePrime(sizeOrKey, big(base));
    } else {
        prime = bufferOf(bytesOf(sizeOrKey, keyEncoding, 'sizeOrKey', BYTES));
        if (prime.byteLength > NUMBER_BYTES_MAX) throw errors.ERR_OUT_OF_RANGE('sizeOrKey', `at most ${NUMBER_BYTES_MAX} bytes`, prime.byteLength);
        const p = big(prime);
        if (p % 2n === 0n || p < 3n || p <= big(base)) throw opensslDh('bad modulus');
    }
    states.set(self, { prime: Buffer.from(prime), generator: Buffer.from(base), publicKey: undefined, privateKey: undefined });
    return self;
}
const opensslDh = (reason) => Object.assign(new Error(`error:02800000:Diffie-Hellman routines::${reason}`), {
    library: 'Diffie-Hellman routines', reason, code: `ERR_OSSL_DH_${reason.toUpperCase().replaceAll(' ', '_')}`,
});

// The search runs in the turn, and safe primes are rare.
const PRIME_BITS_MAX = 2048;
function safePrime(bits, generator) {
    if (bits > PRIME_BITS_MAX) throw errors.ERR_OUT_OF_RANGE('sizeOrKey', `<= ${PRIME_BITS_MAX}`, bits);
    const conditions = bits < 8 ? [] : generator === 2n ? [24, 23] : generator === 5n ? [60, 59] : [12, 11];
    const prime = crypto_prime(bits, true, ...conditions.map((n) => Buffer.from([n])));
    if (prime === undefined) throw opensslError('Failed to generate a prime');
    return prime;
}

const NOT_PRIME = 1, NOT_SAFE = 2, UNCHECKED = 4; // DH_CHECK_P_NOT_PRIME and so on.
const verifyError = {
    get() {
        const state = stateOf(this);
        if (state.group) return 0;
        const p = big(state.prime), g = big(state.generator);
        if (!crypto_prime_check(state.prime)) return NOT_PRIME | NOT_SAFE | (g === 2n || g === 5n ? 0 : UNCHECKED);
        return crypto_prime_check(bytesOfBig((p - 1n) / 2n, 1)) ? 0 : NOT_SAFE;
    },
    enumerable: true,
    configurable: true,
};
Object.assign(DiffieHellman.prototype, shared, {
    setPublicKey(key, encoding) {
        const state = stateOf(this), bytes = bytesOf(key, encoding, 'key', BYTES);
        checkPeer(bytes, state.prime);
        state.publicKey = bufferOf(bytes);
        return this;
    },
    setPrivateKey(key, encoding) {
        stateOf(this).privateKey = bufferOf(bytesOf(key, encoding, 'key', BYTES));
        return this;
    },
});
Object.defineProperty(DiffieHellman.prototype, 'verifyError', verifyError);

const groupBits = { __proto__: null, modp1: 768, modp2: 1024, modp5: 1536, modp14: 2048, modp15: 3072, modp16: 4096, modp17: 6144, modp18: 8192 };
export function DiffieHellmanGroup(name) {
    const self = new.target === undefined ? Object.create(DiffieHellmanGroup.prototype) : this;
    validateString(name, 'name');
    const bits = groupBits[name.toLowerCase()];
    if (bits === undefined) throw errors.ERR_CRYPTO_UNKNOWN_DH_GROUP();
    states.set(self, { prime: Buffer.from(crypto_dh_group(bits)), generator: Buffer.from([2]), publicKey: undefined, privateKey: undefined, group: true });
    return self;
}
Object.assign(DiffieHellmanGroup.prototype, shared);
Object.defineProperty(DiffieHellmanGroup.prototype, 'verifyError', verifyError);

export const createDiffieHellman = (sizeOrKey, keyEncoding, generator, generatorEncoding) => new DiffieHellman(sizeOrKey, keyEncoding, generator, generatorEncoding);
export const getDiffieHellman = (name) => new DiffieHellmanGroup(name);
export const createDiffieHellmanGroup = getDiffieHellman;

// ---- Curves

const forms = { __proto__: null, compressed: 2, uncompressed: 4, hybrid: 6 };
function formOf(format = 'uncompressed') {
    const form = forms[format];
    if (form === undefined) throw errors.ERR_CRYPTO_ECDH_INVALID_FORMAT(format);
    return form;
}

const privateSize = (curve) => (crypto_ec_point(curve, undefined, Buffer.from([1]), 2).byteLength - 1);

export function ECDH(curve) {
    const self = new.target === undefined ? Object.create(ECDH.prototype) : this;
    validateString(curve, 'curve');
    if (crypto_ec_point(curve, undefined, Buffer.from([1]), 2) === null) throw errors.ERR_CRYPTO_INVALID_CURVE();
    states.set(self, { curve, publicKey: undefined, privateKey: undefined });
    return self;
}
Object.assign(ECDH.prototype, {
    generateKeys(encoding, format) {
        const state = stateOf(this), size = privateSize(state.curve);
        for (;;) { // Numbers above the order of the group are none.
            const bytes = new Uint8Array(size);
            random_fill(bytes);
            if (state.curve === 'secp521r1' || state.curve === 'P-521') bytes[0] &= 1;
            const point = crypto_ec_point(state.curve, undefined, bytes, 4);
            if (point === undefined) continue;
            state.privateKey = Buffer.from(bytes);
            state.publicKey = Buffer.from(point);
            return this.getPublicKey(encoding, format);
        }
    },
    computeSecret(otherPublicKey, inputEncoding, outputEncoding) {
        const state = stateOf(this);
        const peer = bytesOf(otherPublicKey, inputEncoding, 'otherPublicKey', BYTES);
        const key = crypto_key_from_ec(state.curve, peer, undefined);
        if (key === undefined) throw errors.ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY();
        if (state.privateKey === undefined) throw new Error('Failed to compute ECDH key');
        const own = crypto_key_from_ec(state.curve, state.publicKey, state.privateKey);
        const secret = own === undefined ? undefined : crypto_derive(own, key);
        if (secret === undefined) throw errors.ERR_CRYPTO_INVALID_KEYPAIR();
        return encoded(secret, encodingOf(outputEncoding));
    },
    getPrivateKey(encoding) {
        const { privateKey } = stateOf(this);
        if (privateKey === undefined) throw new Error('Failed to get ECDH private key');
        return encoded(privateKey, encodingOf(encoding));
    },
    getPublicKey(encoding, format) {
        const { curve, publicKey } = stateOf(this), form = formOf(format);
        if (publicKey === undefined) throw new Error('Failed to get ECDH public key');
        return encoded(crypto_ec_point(curve, publicKey, undefined, form), encodingOf(encoding));
    },
    setPrivateKey(key, encoding) {
        const state = stateOf(this), bytes = bytesOf(key, encoding, 'key', BYTES);
        const point = crypto_ec_point(state.curve, undefined, bytes, 4);
        if (point === undefined) throw Object.assign(new Error('Private key is not valid for specified curve.'), { code: 'ERR_CRYPTO_OPERATION_FAILED' });
        state.privateKey = bufferOf(bytes);
        state.publicKey = Buffer.from(point);
        return this;
    },
    setPublicKey(key, encoding) {
        const state = stateOf(this), point = crypto_ec_point(state.curve, bytesOf(key, encoding, 'key', BYTES), undefined, 4);
        if (point === undefined) throw Object.assign(new Error('Failed to convert Buffer to EC_POINT'), { code: 'ERR_CRYPTO_OPERATION_FAILED' });
        state.publicKey = Buffer.from(point);
        return this;
    },
});
ECDH.convertKey = function convertKey(key, curve, inputEncoding, outputEncoding, format) {
    validateString(curve, 'curve');
    const point = crypto_ec_point(curve, bytesOf(key, inputEncoding, 'key', BYTES), undefined, formOf(format));
    if (point === null) throw errors.ERR_CRYPTO_INVALID_CURVE();
    if (point === undefined) throw Object.assign(new Error('Failed to convert Buffer to EC_POINT'), { code: 'ERR_CRYPTO_OPERATION_FAILED' });
    return encoded(point, encodingOf(outputEncoding));
};
export const createECDH = (curve) => new ECDH(curve);
export const getCurves = () => {
    const there = new Set(crypto_curves());
    return ['prime256v1', 'secp224r1', 'secp256k1', 'secp384r1', 'secp521r1'].filter((name) => there.has(name));
};

// ---- Of keys

export function diffieHellman(options, callback) {
    validateObject(options, 'options');
    const { privateKey, publicKey } = options;
    if (!isKeyObject(privateKey)) throw errors.ERR_INVALID_ARG_VALUE('options.privateKey', privateKey);
    if (!isKeyObject(publicKey)) throw errors.ERR_INVALID_ARG_VALUE('options.publicKey', publicKey);
    if (privateKey.type !== 'private') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(privateKey.type, 'private');
    if (publicKey.type === 'secret') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(publicKey.type, 'private or public');
    const own = materialOf(privateKey).material, peer = materialOf(publicKey).material;
    const type = privateKey.asymmetricKeyType, other = publicKey.asymmetricKeyType;
    if (!['dh', 'ec', 'x448', 'x25519'].includes(type) || type !== other || crypto_key_info(own)[2] !== crypto_key_info(peer)[2]) {
        throw errors.ERR_CRYPTO_INCOMPATIBLE_KEY('key types for Diffie-Hellman', `${type} and ${other}`);
    }
    const run = () => {
        const secret = crypto_derive(own, peer);
        if (secret === undefined) throw opensslError();
        return Buffer.from(secret);
    };
    if (callback === undefined) return run();
    later(callback, () => [run()]);
}
