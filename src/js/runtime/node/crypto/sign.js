// node/crypto/sign.js: signatures, in one go and as streams.
import { validateFunction, validateString } from '../errors.js';
import { bytesOf, Buffer, encoded, errors, hashOf, inherit, later, nodeError, opensslError, streams } from './common.js';
import { keyInput } from './keys.js';

const { crypto_digest, crypto_hash_final, crypto_hash_new, crypto_hash_update, crypto_key_info, crypto_sign, crypto_verify } = host;
const { Writable } = streams();
const PKCS1 = 1, PSS = 6; // RSA_*_PADDING

const states = new WeakMap(); // Sign or Verify -> { handle, hash, done }

// Padding, length of the salt, and whether signatures are r and s, for this key.
function schemeOf(key, options, what) {
    const type = crypto_key_info(key)[0];
    if (type === 'DSA') throw nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', `${what} with DSA keys is not currently supported`);
    const integer = (name, usual) => {
        const v = options?.[name];
        if (v === undefined) return usual;
        if (!Number.isInteger(v)) throw errors.ERR_INVALID_ARG_VALUE(`options.${name}`, v);
        return v;
    };
    const padding = integer('padding', type === 'RSA-PSS' ? PSS : PKCS1), salt = integer('saltLength', -2);
    const encoding = options?.dsaEncoding;
    if (encoding !== undefined && encoding !== 'der' && encoding !== 'ieee-p1363') throw errors.ERR_INVALID_ARG_VALUE('options.dsaEncoding', encoding);
    const rsa = type === 'RSA' || type === 'RSA-PSS';
    return { type, padding: rsa ? padding : 0, salt: padding === PSS ? salt : 0, ieee: encoding === 'ieee-p1363' };
}

const optionsOf = (key) => (typeof key === 'object' && key !== null && !ArrayBuffer.isView(key) ? key : undefined);

function newState(algorithm) {
    validateString(algorithm, 'algorithm');
    const hash = hashOf(algorithm), handle = crypto_hash_new(hash);
    if (handle === undefined) throw errors.ERR_CRYPTO_INVALID_DIGEST(algorithm);
    return { handle, hash, done: false };
}

const writable = {
    _write(chunk, encoding, callback) {
        this.update(chunk, encoding);
        callback();
    },
    update(data, encoding) {
        const state = states.get(this);
        if (state.done) throw new Error(`${state.verb} context has already been finalized`);
        if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
            throw errors.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
        }
        crypto_hash_update(state.handle, bytesOf(data, encoding, 'data'));
        return this;
    },
};

function finish(self) {
    const state = states.get(self);
    if (state.done) throw new Error(`${state.verb} context has already been finalized`);
    state.done = true;
    return { digest: crypto_hash_final(state.handle), hash: state.hash };
}

export function Sign(algorithm, options) {
    const state = newState(algorithm);
    const self = Reflect.construct(Writable, [options], new.target ?? Sign);
    states.set(self, { ...state, verb: 'Signing' });
    return self;
}
inherit(Sign, Writable);
Object.assign(Sign.prototype, {
    ...writable,
    sign(privateKey, encoding) {
        if (!privateKey) throw errors.ERR_CRYPTO_SIGN_KEY_REQUIRED();
        const { material } = keyInput(privateKey, 'private'), scheme = schemeOf(material, optionsOf(privateKey), 'Signing');
        const { digest, hash } = finish(this);
        const out = crypto_sign(material, hash, scheme.padding, scheme.salt, scheme.ieee, true, digest);
        if (out === undefined && scheme.type === 'ED25519') throw new Error('Failed to set signature digest'); // It has its own.
        if (out === undefined) throw opensslError();
        return encoded(out, encoding);
    },
});
export function createSign(algorithm, options) {
    return new Sign(algorithm, options);
}

export function Verify(algorithm, options) {
    const state = newState(algorithm);
    const self = Reflect.construct(Writable, [options], new.target ?? Verify);
    states.set(self, { ...state, verb: 'Verification' });
    return self;
}
inherit(Verify, Writable);
Object.assign(Verify.prototype, {
    ...writable,
    verify(key, signature, encoding) {
        if (!key) throw errors.ERR_CRYPTO_SIGN_KEY_REQUIRED();
        const { material } = keyInput(key, 'public'), scheme = schemeOf(material, optionsOf(key), 'Verifying');
        signature = bytesOf(signature, encoding, 'signature', ['string', 'Buffer', 'TypedArray', 'DataView']);
        const { digest, hash } = finish(this);
        return crypto_verify(material, hash, scheme.padding, scheme.salt, scheme.ieee, true, digest, signature);
    },
});
export function createVerify(algorithm, options) {
    return new Verify(algorithm, options);
}

// ---- In one go

function oneShot(algorithm, data, key, wanted) {
    if (algorithm !== undefined && algorithm !== null) validateString(algorithm, 'algorithm');
    if (typeof data === 'string' || !(ArrayBuffer.isView(data) || data instanceof ArrayBuffer)) {
        throw errors.ERR_INVALID_ARG_TYPE('data', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], data);
    }
    if (!key) throw errors.ERR_CRYPTO_SIGN_KEY_REQUIRED();
    const { material } = keyInput(key, wanted), scheme = schemeOf(material, optionsOf(key), wanted === 'private' ? 'Signing' : 'Verifying');
    let hash = algorithm === undefined || algorithm === null ? undefined : hashOf(algorithm);
    if (hash !== undefined && crypto_digest(hash, undefined) === undefined) throw errors.ERR_CRYPTO_INVALID_DIGEST(algorithm);
    if (hash === undefined && (scheme.padding !== 0 || scheme.type === 'EC')) hash = 'sha256';
    return [material, hash, scheme.padding, scheme.salt, scheme.ieee, false, data];
}

export function sign(algorithm, data, key, callback) {
    if (callback !== undefined) validateFunction(callback, 'callback');
    const args = oneShot(algorithm, data, key, 'private');
    const run = () => {
        const out = crypto_sign(...args);
        if (out === undefined) throw opensslError();
        return Buffer.from(out);
    };
    if (callback === undefined) return run();
    later(callback, () => [run()]);
}

export function verify(algorithm, data, key, signature, callback) {
    if (callback !== undefined) validateFunction(callback, 'callback');
    const args = oneShot(algorithm, data, key, 'public');
    if (typeof signature === 'string' || !(ArrayBuffer.isView(signature) || signature instanceof ArrayBuffer)) {
        throw errors.ERR_INVALID_ARG_TYPE('signature', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], signature);
    }
    const run = () => crypto_verify(...args, signature);
    if (callback === undefined) return run();
    later(callback, () => [run()]);
}
