// node/crypto/cipher.js: symmetric ciphers as streams, and encryption with RSA.
import { builtinModule } from '../../builtin.js';
import { isCryptoKey } from '../../crypto/keys.js';
import { copyOf } from '../../crypto/util.js';
import { validateNumber, validateObject, validateString, validateUint32 } from '../errors.js';
import { bytesOf, Buffer, encoded, errors, hashOf, inherit, isBytes, opensslError, streams } from './common.js';
import { isKeyObject, materialOf } from './keyobject.js';
import { keyInput } from './keys.js';

const { crypto_cipher_final, crypto_cipher_info, crypto_cipher_new, crypto_cipher_tag, crypto_cipher_update, crypto_digest, crypto_names, crypto_rsa } = host;
const { Transform } = streams();

const states = new WeakMap(); // Cipheriv or Decipheriv -> State

class State {
    constructor(info, handle, options) {
        this.handle = handle;
        this.authenticated = info[6];
        this.blockSize = info[2];
        this.tagLength = options?.authTagLength;
        this.padding = true;
        this.done = false;
        this.tag = undefined;
        this.pending = undefined; // The tag that was set, until the first data comes.
        this.decoder = undefined;
        this.encoding = undefined;
    }
}

function secretOf(key, encoding) {
    if (isKeyObject(key) || isCryptoKey(key)) {
        const { type, material } = materialOf(key);
        if (type !== 'secret') throw errors.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(type, 'secret');
        return material;
    }
    return bytesOf(key, encoding, 'key', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey']);
}

function newState(algorithm, key, iv, options, encrypt) {
    validateString(algorithm, 'algorithm');
    const encoding = options?.encoding;
    const bytes = secretOf(key, encoding);
    if (iv !== null) iv = bytesOf(iv, encoding, 'iv', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'null']);
    if (options?.authTagLength !== undefined) validateUint32(options.authTagLength, 'options.authTagLength');
    const info = crypto_cipher_info(algorithm);
    if (info === undefined) throw errors.ERR_CRYPTO_UNKNOWN_CIPHER();
    const [, , , ivLength, keyLength, mode, authenticated] = info;
    if (mode === 'ccm' || mode === 'ocb' || mode === 'siv') throw errors.ERR_METHOD_NOT_IMPLEMENTED(`crypto.createCipheriv with ${mode.toUpperCase()}`);
    if (bytes.byteLength !== keyLength) throw errors.ERR_CRYPTO_INVALID_KEYLEN();
    if ((iv?.byteLength ?? 0) !== ivLength && !(authenticated && iv !== null && iv.byteLength > 0)) throw errors.ERR_CRYPTO_INVALID_IV();
    const tag = options?.authTagLength;
    if (authenticated && tag !== undefined && (tag > 16 || !(tag === 4 || tag === 8 || tag >= 12))) throw errors.ERR_CRYPTO_INVALID_AUTH_TAG(tag);
    const handle = crypto_cipher_new(algorithm, encrypt, bytes, iv, true);
    if (handle === undefined) throw opensslError('Failed to initialize the cipher');
    return new State(info, handle, options);
}

// Text that comes out piece by piece must not be cut inside a character.
function output(state, bytes, encoding, last) {
    if (!encoding || encoding === 'buffer') return Buffer.from(bytes);
    if (state.decoder === undefined) {
        const { StringDecoder } = builtinModule('node:string_decoder');
        state.decoder = new StringDecoder(encoding);
        state.encoding = encoding;
    } else if (!sameEncoding(state.encoding, encoding)) {
        throw new Error('Cannot change encoding');
    }
    return state.decoder.write(Buffer.from(bytes)) + (last ? state.decoder.end() : '');
}
const sameEncoding = (a, b) => a === b || a.toLowerCase().replace('-', '') === b.toLowerCase().replace('-', '');

function useTag(state) {
    if (state.pending === undefined) return;
    const tag = state.pending;
    state.pending = undefined;
    if (crypto_cipher_tag(state.handle, tag) === undefined) throw errors.ERR_CRYPTO_INVALID_AUTH_TAG(tag.byteLength);
}

const shared = {
    _transform(chunk, encoding, callback) {
        try {
            this.push(this.update(chunk, encoding));
            callback();
        } catch (error) {
            callback(error);
        }
    },
    _flush(callback) {
        try {
            this.push(this.final());
            callback();
        } catch (error) {
            callback(error);
        }
    },
    update(data, inputEncoding, outputEncoding) {
        const state = states.get(this);
        if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
            throw errors.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
        }
        if (state.done) throw errors.ERR_CRYPTO_INVALID_STATE('update');
        useTag(state);
        const out = crypto_cipher_update(state.handle, bytesOf(data, inputEncoding, 'data'), false);
        if (out === undefined) throw opensslError('Trying to add data in unsupported state');
        return output(state, out, outputEncoding, false);
    },
    setAutoPadding(on = true) {
        const state = states.get(this);
        if (state.done) throw errors.ERR_CRYPTO_INVALID_STATE('setAutoPadding');
        state.padding = Boolean(on);
        return this;
    },
    setAAD(buffer, options) {
        const state = states.get(this);
        if (options !== undefined) {
            validateObject(options, 'options');
            if (options.plaintextLength !== undefined) validateUint32(options.plaintextLength, 'options.plaintextLength');
            if (options.encoding !== undefined) validateString(options.encoding, 'options.encoding');
        }
        const bytes = bytesOf(buffer, options?.encoding, 'buffer');
        if (state.done || !state.authenticated) throw errors.ERR_CRYPTO_INVALID_STATE('setAAD');
        useTag(state);
        if (crypto_cipher_update(state.handle, bytes, true) === undefined) throw errors.ERR_CRYPTO_INVALID_STATE('setAAD');
        return this;
    },
};

export function Cipheriv(cipher, key, iv, options) {
    const state = newState(cipher, key, iv, options, true);
    const self = Reflect.construct(Transform, [options], new.target ?? Cipheriv);
    states.set(self, state);
    return self;
}
inherit(Cipheriv, Transform);
Object.assign(Cipheriv.prototype, shared, {
    final(outputEncoding) {
        const state = states.get(this);
        if (state.done) throw errors.ERR_CRYPTO_INVALID_STATE('final');
        state.done = true;
        const out = crypto_cipher_final(state.handle, state.padding);
        if (out === undefined) throw opensslError();
        if (state.authenticated) state.tag = crypto_cipher_tag(state.handle, state.tagLength ?? 16);
        return output(state, out, outputEncoding, true);
    },
    getAuthTag() {
        const state = states.get(this);
        if (!state.done || state.tag === undefined) throw errors.ERR_CRYPTO_INVALID_STATE('getAuthTag');
        return Buffer.from(state.tag);
    },
});

export function Decipheriv(cipher, key, iv, options) {
    const state = newState(cipher, key, iv, options, false);
    const self = Reflect.construct(Transform, [options], new.target ?? Decipheriv);
    states.set(self, state);
    return self;
}
inherit(Decipheriv, Transform);
Object.assign(Decipheriv.prototype, shared, {
    final(outputEncoding) {
        const state = states.get(this);
        if (state.done) throw errors.ERR_CRYPTO_INVALID_STATE('final');
        state.done = true;
        useTag(state);
        const out = crypto_cipher_final(state.handle, state.padding);
        if (out === undefined) throw state.authenticated ? new Error('Unsupported state or unable to authenticate data') : opensslError();
        return output(state, out, outputEncoding, true);
    },
    setAuthTag(tag, encoding) {
        const state = states.get(this);
        const bytes = bytesOf(tag, encoding, 'buffer');
        if (state.done || !state.authenticated || state.tag !== undefined) throw errors.ERR_CRYPTO_INVALID_STATE('setAuthTag');
        const length = bytes.byteLength;
        if (length > 16 || !(length === 4 || length === 8 || length >= 12) || (state.tagLength !== undefined && length !== state.tagLength)) {
            throw errors.ERR_CRYPTO_INVALID_AUTH_TAG(length);
        }
        state.tag = state.pending = copyOf(bytes);
        return this;
    },
});

export function createCipheriv(cipher, key, iv, options) {
    return new Cipheriv(cipher, key, iv, options);
}
export function createDecipheriv(cipher, key, iv, options) {
    return new Decipheriv(cipher, key, iv, options);
}

// ---- What there is

export function getCiphers() {
    const all = crypto_names('ciphers').map((name) => name.toLowerCase());
    return [...new Set(all.filter((name) => !/null|ccm|ocb|siv|wrap|hmac|etm/.test(name) && crypto_cipher_info(name) !== undefined))].sort();
}

export function getCipherInfo(nameOrNid, options) {
    if (typeof nameOrNid !== 'string' && typeof nameOrNid !== 'number') throw errors.ERR_INVALID_ARG_TYPE('nameOrNid', ['string', 'number'], nameOrNid);
    if (options !== undefined) validateObject(options, 'options');
    const { keyLength, ivLength } = options ?? {};
    if (keyLength !== undefined) validateNumber(keyLength, 'options.keyLength');
    if (ivLength !== undefined) validateNumber(ivLength, 'options.ivLength');
    const found = crypto_cipher_info(nameOrNid);
    if (found === undefined) return undefined;
    const [name, nid, blockSize, iv, key, mode, authenticated] = found;
    if (keyLength !== undefined && keyLength !== key) return undefined;
    if (ivLength !== undefined && ivLength !== iv && !(authenticated && ivLength > 0)) return undefined;
    const info = { name: name.toLowerCase(), nid };
    return { ...info, blockSize, ivLength: ivLength ?? iv, keyLength: key, mode };
}

// ---- RSA

const PKCS1 = 1, OAEP = 4;
const ENCRYPT = 0, DECRYPT = 1, SIGN = 2, RECOVER = 3;

const rsaCrypt = (use, wanted, usual, keyName) => (key, buffer) => {
    if (key === undefined) throw errors.ERR_MISSING_ARGS(keyName);
    if (buffer === undefined) throw errors.ERR_MISSING_ARGS('buffer');
    const options = typeof key === 'object' && key !== null && !isBytes(key) ? key : {}; // A KeyObject may carry them too.
    const { padding = usual, oaepHash = 'sha1', encoding } = options;
    validateNumber(padding, 'options.padding');
    validateString(oaepHash, 'options.oaepHash');
    const label = options.oaepLabel === undefined ? undefined : bytesOf(options.oaepLabel, encoding, 'key.oaepLabel');
    if (label !== undefined && padding !== OAEP && (use === ENCRYPT || use === DECRYPT)) throw new Error('Failed to set the OAEP label');
    const { material } = keyInput(key, wanted);
    const data = bytesOf(buffer, encoding, 'buffer');
    const hash = hashOf(oaepHash);
    if (padding === OAEP && crypto_digest(hash, undefined) === undefined) throw errors.ERR_CRYPTO_INVALID_DIGEST(oaepHash);
    const out = crypto_rsa(material, use, padding, hash, label, data);
    if (out === undefined) throw opensslError();
    return Buffer.from(out);
};
export const publicEncrypt = rsaCrypt(ENCRYPT, 'public', OAEP, 'key');
export const privateDecrypt = rsaCrypt(DECRYPT, 'private', OAEP, 'privateKey');
export const privateEncrypt = rsaCrypt(SIGN, 'private', PKCS1, 'privateKey');
export const publicDecrypt = rsaCrypt(RECOVER, 'public', PKCS1, 'key');
