// crypto.js: crypto, SubtleCrypto, CryptoKey. runtime.md 5.4; Web Cryptography API.
//
// Every method runs in the call: what comes later is only the promise. Algorithms register themselves in crypto/algorithms.js.
import { expose } from './core.js';
import { decodeUtf8, encodeUtf8 } from './encoding.js';
import './crypto/curves.js';
import './crypto/derive.js';
import './crypto/rsa.js';
import './crypto/symmetric.js';
import { find, normalize } from './crypto/algorithms.js';
import { DigestStream } from './crypto/digeststream.js';
import { CryptoKey, needKey, readJwk } from './crypto/keys.js';
import { copyOf, dataError, DECRYPT, DERIVE_BITS, DERIVE_KEY, ENCRYPT, fail, invalidAccess, isBufferSource, isObject, needBufferSource, notSupported, SIGN, typedArrayName, UNWRAP, usageNamesOf, Usages, VERIFY, WRAP } from './crypto/util.js';

const { crypto_equal, crypto_uuid, random_fill } = host;
const { parse, stringify } = JSON;
const OURS = Symbol();

function needArguments(args, count, method) {
    if (args.length < count) {
        throw new TypeError(`Failed to execute '${method}' on 'SubtleCrypto': ${count} argument${count === 1 ? '' : 's'} required, but only ${args.length} present.`);
    }
}

// The key is one of this algorithm, and may be used like this.
function allow(key, name, usage) {
    if (key.name !== name) throw invalidAccess(`Requested algorithm "${name}" does not match this CryptoKey's algorithm "${key.name}".`);
    if ((key.usages & usage) === 0) throw invalidAccess(`Requested key usage "${usageNamesOf(usage)[0]}" does not match any usage listed in this CryptoKey.`);
}

const formats = ['raw', 'spki', 'pkcs8', 'jwk'];
function needFormat(format, what) {
    const name = String(format);
    for (let i = 0; i < formats.length; i++) if (formats[i] === name) return name;
    throw notSupported(`Unrecognized key ${what} format "${name}".`);
}

function exportData(format, key) {
    const entry = find('exportKey', key.name);
    if (entry === undefined) throw notSupported(`Keys of ${key.name} cannot be exported.`);
    if (!key.extractable) throw invalidAccess(`Attempt to export non-extractable ${key.name} key.`);
    return entry.run(format, key);
}

const lengthOf = (length) => (length === undefined || length === null ? null : Number(length) >>> 0);

// JSON of a key, with spaces behind it so that AES-KW, which wants whole blocks of 8 bytes, can wrap it.
function jwkBytesPadded(jwk, name) {
    const text = stringify(jwk), bytes = encodeUtf8(text);
    const rest = bytes.length % 8;
    return name === 'AES-KW' && rest !== 0 ? encodeUtf8(text + '        '.substring(rest)) : bytes;
}

export class SubtleCrypto {
    #brand;
    constructor(...args) {
        if (args[0] !== OURS) throw new TypeError('Illegal constructor');
    }
    static #check(self) {
        if (!isObject(self) || !(#brand in self)) throw new TypeError('Illegal invocation');
    }

    async encrypt(algorithm, key, data) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 3, 'encrypt');
        const k = needKey(key, 'The key');
        needBufferSource(data, 'The data');
        const a = normalize('encrypt', algorithm);
        allow(k, a.name, ENCRYPT);
        return a.run(a, k, data);
    }
    async decrypt(algorithm, key, data) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 3, 'decrypt');
        const k = needKey(key, 'The key');
        needBufferSource(data, 'The data');
        const a = normalize('decrypt', algorithm);
        allow(k, a.name, DECRYPT);
        return a.run(a, k, data);
    }
    async sign(algorithm, key, data) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 3, 'sign');
        const k = needKey(key, 'The key');
        needBufferSource(data, 'The data');
        const a = normalize('sign', algorithm);
        allow(k, a.name, SIGN);
        return a.run(a, k, data);
    }
    async verify(algorithm, key, signature, data) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 4, 'verify');
        const k = needKey(key, 'The key');
        needBufferSource(signature, 'The signature');
        needBufferSource(data, 'The data');
        const a = normalize('verify', algorithm);
        allow(k, a.name, VERIFY);
        return a.run(a, k, data, signature);
    }
    async digest(algorithm, data) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 2, 'digest');
        needBufferSource(data, 'The data');
        const a = normalize('digest', algorithm);
        return a.run(a, data);
    }
    async generateKey(algorithm, extractable, keyUsages) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 3, 'generateKey');
        const usages = new Usages(keyUsages);
        const a = normalize('generateKey', algorithm);
        return a.run(a, Boolean(extractable), usages);
    }
    async deriveBits(algorithm, baseKey, length = null) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 2, 'deriveBits');
        const k = needKey(baseKey, 'The base key');
        const bits = lengthOf(length);
        const a = normalize('deriveBits', algorithm);
        allow(k, a.name, DERIVE_BITS);
        return a.run(a, k, bits);
    }
    async deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 5, 'deriveKey');
        const k = needKey(baseKey, 'The base key');
        const usages = new Usages(keyUsages);
        const a = normalize('deriveBits', algorithm);
        const into = normalize('importKey', derivedKeyType);
        const size = normalize('keyLength', derivedKeyType);
        allow(k, a.name, DERIVE_KEY);
        const secret = a.run(a, k, size.run(size));
        return into.run(into, 'raw', copyOf(secret), Boolean(extractable), usages);
    }
    async importKey(format, keyData, algorithm, extractable, keyUsages) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 5, 'importKey');
        const form = needFormat(format, 'import');
        if (form !== 'jwk' && !isBufferSource(keyData)) {
            throw new TypeError('Import data provided for "raw", "pkcs8", or "spki" import formats must be a buffer source.');
        }
        if (form === 'jwk' && (!isObject(keyData) || isBufferSource(keyData))) {
            throw new TypeError('Import data provided for "jwk" import format must be a JsonWebKey.');
        }
        const usages = new Usages(keyUsages);
        const data = form === 'jwk' ? readJwk(keyData) : undefined;
        const a = normalize('importKey', algorithm);
        return a.run(a, form, data ?? copyOf(keyData), Boolean(extractable), usages);
    }
    async exportKey(format, key) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 2, 'exportKey');
        return exportData(needFormat(format, 'export'), needKey(key, 'The key'));
    }
    async wrapKey(format, key, wrappingKey, wrapAlgorithm) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 4, 'wrapKey');
        const form = needFormat(format, 'export');
        const k = needKey(key, 'The key'), wrapping = needKey(wrappingKey, 'The wrapping key');
        const a = normalize('wrapKey', wrapAlgorithm, 'encrypt');
        allow(wrapping, a.name, WRAP);
        const data = exportData(form, k);
        return a.run(a, wrapping, form === 'jwk' ? jwkBytesPadded(data, a.name) : data);
    }
    async unwrapKey(format, wrappedKey, unwrappingKey, unwrapAlgorithm, unwrappedKeyAlgorithm, extractable, keyUsages) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 7, 'unwrapKey');
        const form = needFormat(format, 'import');
        needBufferSource(wrappedKey, 'The wrapped key');
        const unwrapping = needKey(unwrappingKey, 'The unwrapping key');
        const usages = new Usages(keyUsages);
        const a = normalize('unwrapKey', unwrapAlgorithm, 'decrypt');
        const into = normalize('importKey', unwrappedKeyAlgorithm);
        allow(unwrapping, a.name, UNWRAP);
        let data = copyOf(a.run(a, unwrapping, wrappedKey));
        if (form === 'jwk') {
            let jwk;
            try {
                jwk = parse(decodeUtf8(data));
            } catch {
                throw dataError('The unwrapped key is not the JSON of a JSON Web Key.');
            }
            if (!isObject(jwk)) throw dataError('The unwrapped key is not the JSON of a JSON Web Key.');
            data = readJwk(jwk);
        }
        return into.run(into, form, data, Boolean(extractable), usages);
    }
    timingSafeEqual(a, b) {
        SubtleCrypto.#check(this);
        needArguments(arguments, 2, 'timingSafeEqual');
        const equal = crypto_equal(needBufferSource(a, 'The first argument'), needBufferSource(b, 'The second argument'));
        if (equal === undefined) throw new TypeError('Input buffers must have the same byte length.');
        return equal;
    }
}

const integerTypes = ['Uint8Array', 'Int8Array', 'Uint8ClampedArray', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array', 'BigInt64Array', 'BigUint64Array'];
const subtle = new SubtleCrypto(OURS);

export class Crypto {
    #brand;
    constructor(...args) {
        if (args[0] !== OURS) throw new TypeError('Illegal constructor');
    }
    static #check(self) {
        if (!isObject(self) || !(#brand in self)) throw new TypeError('Illegal invocation');
    }
    get subtle() {
        Crypto.#check(this);
        return subtle;
    }
    getRandomValues(array) {
        Crypto.#check(this);
        if (arguments.length === 0) throw new TypeError("Failed to execute 'getRandomValues' on 'Crypto': 1 argument required, but only 0 present.");
        if (!ArrayBuffer.isView(array)) throw new TypeError("Failed to execute 'getRandomValues' on 'Crypto': the argument is not of type 'ArrayBufferView'.");
        const type = typedArrayName(array);
        let known = false;
        for (let i = 0; i < integerTypes.length; i++) known ||= integerTypes[i] === type;
        if (!known) throw fail('TypeMismatchError', 'ArrayBufferView argument to getRandomValues() must be an integer-typed view.');
        if (array.byteLength > 65536) {
            throw fail('QuotaExceededError', `getRandomValues() only accepts buffers of size <= 64K but provided ${array.byteLength} bytes.`);
        }
        random_fill(array);
        return array;
    }
    randomUUID() {
        Crypto.#check(this);
        return crypto_uuid();
    }
}

export const crypto = new Crypto(OURS);

expose({ Crypto, CryptoKey, SubtleCrypto });
Object.defineProperty(Crypto.prototype, 'DigestStream', { value: DigestStream, writable: true, configurable: true, enumerable: true });
Object.defineProperty(globalThis, 'crypto', { value: crypto, writable: true, configurable: true, enumerable: true });
