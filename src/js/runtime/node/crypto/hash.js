// node/crypto/hash.js: createHash, createHmac, hash.
import { validateString, validateUint32 } from '../errors.js';
import { bytesOf, Buffer, encoded, errors, hashOf, inherit, nodeError, opensslError, streams } from './common.js';
import { isCryptoKey } from '../../crypto/keys.js';
import { isKeyObject, materialOf, secretMaterial } from './keyobject.js';

const { crypto_digest, crypto_hash_copy, crypto_hash_final, crypto_hash_new, crypto_hash_update } = host;
const { Transform } = streams();

const states = new WeakMap(); // Hash or Hmac -> { handle, length, done, result }
const UTF8 = new Set([undefined, null, 'utf8', 'utf-8', 'UTF8', 'UTF-8', 'buffer']);

function stateOf(self) {
    const state = states.get(self);
    if (state === undefined) throw new TypeError('Illegal invocation');
    return state;
}

function update(self, data, encoding) {
    const state = stateOf(self);
    if (state.done || state.result !== undefined) throw errors.ERR_CRYPTO_HASH_FINALIZED();
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
        throw errors.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
    }
    if (typeof data === 'string' && !UTF8.has(encoding)) data = Buffer.from(data, encoding);
    crypto_hash_update(state.handle, data);
    return self;
}

const transform = {
    _transform(chunk, encoding, callback) {
        try {
            update(this, chunk, encoding);
            callback();
        } catch (error) {
            callback(error);
        }
    },
    _flush(callback) {
        try {
            this.push(Buffer.from(finish(stateOf(this))));
            callback();
        } catch (error) {
            callback(error);
        }
    },
};

// The digest, once: what a stream has given is still there for digest().
function finish(state) {
    state.result ??= crypto_hash_final(state.handle, state.length);
    if (state.result === undefined) throw opensslError('Unsupported state or unable to set the length of the digest');
    return state.result;
}

function newHash(algorithm, length) {
    const name = hashOf(algorithm), handle = crypto_hash_new(name);
    if (handle === undefined) throw opensslError('Digest method not supported');
    if (length !== undefined && !name.toLowerCase().startsWith('shake') && length !== crypto_digest(name, undefined).byteLength) {
        throw opensslError('Unsupported state or unable to set the length of the digest');
    }
    return { handle, length, done: false, result: undefined };
}

export function Hash(algorithm, options) {
    const other = states.get(algorithm);
    const self = Reflect.construct(Transform, [options], new.target ?? Hash);
    const length = options?.outputLength;
    if (length !== undefined) validateUint32(length, 'options.outputLength');
    if (other !== undefined) {
        states.set(self, { handle: crypto_hash_copy(other.handle), length: length ?? other.length, done: false, result: undefined });
        return self;
    }
    validateString(algorithm, 'algorithm');
    states.set(self, newHash(algorithm, length));
    return self;
}
inherit(Hash, Transform);
Object.assign(Hash.prototype, {
    ...transform,
    copy(options) {
        const state = stateOf(this);
        if (state.done || state.result !== undefined) throw errors.ERR_CRYPTO_HASH_FINALIZED();
        return new Hash(this, options);
    },
    update(data, encoding) {
        return update(this, data, encoding);
    },
    digest(encoding) {
        const state = stateOf(this);
        if (state.done) throw errors.ERR_CRYPTO_HASH_FINALIZED();
        state.done = true;
        return encoded(finish(state), encoding === undefined ? undefined : String(encoding));
    },
});

export function createHash(algorithm, options) {
    return new Hash(algorithm, options);
}

// ---- HMAC

function hmacKey(key, encoding) {
    if (isKeyObject(key) || isCryptoKey(key)) {
        const { type } = materialOf(key);
        if (type !== 'secret') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, 'secret');
        return secretMaterial(key);
    }
    return bytesOf(key, encoding, 'key', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey']);
}

export function Hmac(algorithm, key, options) {
    validateString(algorithm, 'hmac');
    const bytes = hmacKey(key, options?.encoding);
    const self = Reflect.construct(Transform, [options], new.target ?? Hmac);
    const handle = crypto_hash_new(hashOf(algorithm), bytes);
    if (handle === undefined) throw nodeError(Error, 'ERR_CRYPTO_INVALID_DIGEST', 'Digest method not supported');
    states.set(self, { handle, length: undefined, done: false, result: undefined });
    return self;
}
inherit(Hmac, Transform);
Object.assign(Hmac.prototype, {
    ...transform,
    update(data, encoding) {
        return update(this, data, encoding);
    },
    digest(encoding) {
        const state = stateOf(this);
        encoding = encoding === undefined ? undefined : String(encoding);
        if (state.done) return encoded(new Uint8Array(0), encoding); // As Node does.
        state.done = true;
        return encoded(finish(state), encoding);
    },
});

export function createHmac(hmac, key, options) {
    return new Hmac(hmac, key, options);
}

// ---- In one go

export function hash(algorithm, input, options = 'hex') {
    validateString(algorithm, 'algorithm');
    if (typeof input !== 'string' && !ArrayBuffer.isView(input)) {
        throw errors.ERR_INVALID_ARG_TYPE('input', ['string', 'Buffer', 'TypedArray', 'DataView'], input);
    }
    const encoding = typeof options === 'object' && options !== null ? (options.outputEncoding ?? 'hex') : options;
    validateString(encoding, 'outputEncoding');
    if (encoding !== 'buffer' && !Buffer.isEncoding(encoding)) throw errors.ERR_INVALID_ARG_VALUE('outputEncoding', encoding);
    const length = options?.outputLength;
    if (length !== undefined) {
        const state = newHash(algorithm, length);
        crypto_hash_update(state.handle, input);
        return encoded(finish(state), encoding);
    }
    const result = crypto_digest(hashOf(algorithm), typeof input === 'string' ? Buffer.from(input) : input);
    if (result === undefined) throw opensslError('Digest method not supported');
    return encoded(result, encoding);
}
