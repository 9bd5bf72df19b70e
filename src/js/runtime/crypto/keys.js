// crypto/keys.js: CryptoKey, and JSON Web Keys.
import { dataError, isObject, usageBit, usageNamesOf } from './util.js';

const { crypto_base64url, crypto_base64url_decode } = host;

// What a key is, for the algorithms. material: a Uint8Array that no user code has seen, or a key of the host.
export class KeyData {
    constructor(type, algorithm, extractable, usages, material) {
        this.type = type; // "secret", "public", "private"
        this.name = algorithm.name;
        this.hash = algorithm.hash; // canonical name, or undefined
        this.length = algorithm.length; // bits of a secret, or undefined
        this.curve = algorithm.curve;
        this.modulusLength = algorithm.modulusLength;
        this.publicExponent = algorithm.publicExponent; // a Uint8Array
        this.extractable = extractable;
        this.usages = usages; // bits
        this.material = material;
    }
}

function describe(data) {
    const algorithm = { name: data.name };
    if (data.modulusLength !== undefined) {
        algorithm.modulusLength = data.modulusLength;
        algorithm.publicExponent = new Uint8Array(data.publicExponent);
    }
    if (data.curve !== undefined) algorithm.namedCurve = data.curve;
    if (data.hash !== undefined) algorithm.hash = { name: data.hash };
    if (data.length !== undefined) algorithm.length = data.length;
    return algorithm;
}

const OURS = Symbol();

export class CryptoKey {
    #data;
    #algorithm = undefined;
    #usages = undefined;
    constructor(...args) {
        if (args[0] !== OURS) throw new TypeError('Illegal constructor');
        this.#data = args[1];
    }
    get type() {
        return this.#data.type;
    }
    get extractable() {
        return this.#data.extractable;
    }
    get algorithm() {
        return (this.#algorithm ??= describe(this.#data));
    }
    get usages() {
        return (this.#usages ??= usageNamesOf(this.#data.usages));
    }
    static internals = { data: (key) => key.#data, is: (v) => isObject(v) && #data in v };
}
export const { data: dataOf, is: isCryptoKey } = CryptoKey.internals;
delete CryptoKey.internals;

export const newKey = (...data) => new CryptoKey(OURS, new KeyData(...data));
export const keyOf = (data) => new CryptoKey(OURS, data);

export function needKey(v, what) {
    if (!isCryptoKey(v)) throw new TypeError(`${what} is not of type 'CryptoKey'.`);
    return dataOf(v);
}

// ---- JSON Web Keys

const fields = ['alg', 'crv', 'd', 'dp', 'dq', 'e', 'ext', 'k', 'key_ops', 'kty', 'n', 'oth', 'p', 'q', 'qi', 'use', 'x', 'y'];

// Reads a JsonWebKey, once, in the order of WebIDL.
export function readJwk(value) {
    if (!isObject(value)) throw new TypeError('Import data provided for "jwk" import format must be a JsonWebKey.');
    const jwk = { __proto__: null };
    for (let i = 0; i < fields.length; i++) {
        const v = value[fields[i]];
        if (v === undefined) continue;
        if (fields[i] === 'ext') jwk.ext = Boolean(v);
        else if (fields[i] === 'oth') jwk.oth = v;
        else if (fields[i] === 'key_ops') {
            if (!isObject(v) || typeof v[Symbol.iterator] !== 'function') throw new TypeError('"key_ops" is not a sequence.');
            jwk.key_ops = new Set();
            jwk.repeated = false;
            for (const op of v) {
                const name = String(op);
                if (jwk.key_ops.has(name)) jwk.repeated = true;
                jwk.key_ops.add(name);
            }
        } else jwk[fields[i]] = String(v);
    }
    return jwk;
}

// The checks that are the same for every type of key. use: what its "use" must be where there are usages.
export function checkJwk(jwk, kty, use, extractable, usages) {
    if (jwk.kty !== kty) throw dataError(`The "kty" of the JSON Web Key ("${jwk.kty}") is not "${kty}".`);
    if (usages.bits !== 0 && jwk.use !== undefined && jwk.use !== use) {
        throw dataError(`The "use" of the JSON Web Key ("${jwk.use}") is not "${use}".`);
    }
    if (jwk.key_ops !== undefined) {
        if (jwk.repeated) throw dataError('The "key_ops" of the JSON Web Key has duplicates.');
        let bits = 0;
        for (const op of jwk.key_ops) bits |= usageBit(op);
        if ((usages.bits & ~bits) !== 0) throw dataError('All usages of the key must be in the "key_ops" of the JSON Web Key.');
    }
    if (jwk.ext === false && extractable) throw dataError('The JSON Web Key is not extractable ("ext" is false).');
}

export function jwkBytes(jwk, name) {
    const bytes = jwk[name] === undefined ? undefined : crypto_base64url_decode(jwk[name]);
    if (bytes === undefined) throw dataError(`The "${name}" of the JSON Web Key is ${jwk[name] === undefined ? 'missing' : 'not base64url'}.`);
    return bytes;
}

export const jwkText = crypto_base64url;

export function finishJwk(jwk, data) {
    jwk.key_ops = usageNamesOf(data.usages);
    jwk.ext = data.extractable;
    return jwk;
}
