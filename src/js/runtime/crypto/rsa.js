// crypto/rsa.js: RSASSA-PKCS1-v1_5, RSA-PSS and RSA-OAEP.
import { define, hashName, readHash } from './algorithms.js';
import { decodeKey, encodeKey, keyPair } from './curves.js';
import { checkJwk, finishJwk, jwkBytes, jwkText, newKey } from './keys.js';
import { absentField, checkUsages, copyOf, dataError, DECRYPT, ENCRYPT, invalidAccess, member, needUsages, notSupported, operationError, SIGN, typedArrayName, Uint8Array, UNWRAP, VERIFY, WRAP } from './util.js';

const { crypto_key_check, crypto_key_from_rsa, crypto_key_generate, crypto_key_info, crypto_key_parts, crypto_rsa, crypto_sign, crypto_verify } = host;

// The search for primes runs in the turn: seconds for this length, minutes for the next.
export const RSA_GENERATE_MAX = 4096;
const RSA_IMPORT_MAX = 16384;
const PKCS1 = 1, OAEP = 4, PSS = 6; // RSA_*_PADDING of OpenSSL
const digestSize = { __proto__: null, MD5: 16, 'SHA-1': 20, 'SHA-224': 28, 'SHA-256': 32, 'SHA-384': 48, 'SHA-512': 64 };

const readGenerate = (raw) => {
    const hash = readHash(raw);
    const modulusLength = member.integer(raw, 'modulusLength', 0xffffffff);
    const exponent = raw.publicExponent;
    if (exponent === undefined) throw absentField('publicExponent');
    if (typedArrayName(exponent) !== 'Uint8Array') throw new TypeError('"publicExponent" is not a Uint8Array.');
    return { __proto__: null, hash, modulusLength, publicExponent: copyOf(exponent) };
};
const readImport = (raw) => ({ __proto__: null, hash: readHash(raw) });

function exponentOf(bytes) {
    let v = 0;
    for (let i = 0; i < bytes.length && v <= 65537; i++) v = v * 256 + bytes[i];
    return v;
}

const generateRsa = (publicUsages, privateUsages) => (a, extractable, usages) => {
    checkUsages(usages, publicUsages | privateUsages, 'generate', a.name);
    if (a.modulusLength % 8 !== 0 || a.modulusLength < 512 || a.modulusLength > RSA_GENERATE_MAX) {
        throw operationError(`The modulus length must be a multiple of 8 and between 512 and ${RSA_GENERATE_MAX}, but ${a.modulusLength} was requested.`);
    }
    const e = exponentOf(a.publicExponent);
    if (e !== 3 && e !== 65537) throw operationError(`The "publicExponent" must be either 3 or 65537, but got ${e > 65537 ? 'a larger number' : e}.`);
    needUsages(usages.bits & privateUsages);
    const material = crypto_key_generate('RSA', a.modulusLength, e);
    if (material === undefined) throw operationError('RSA key generation failed.');
    return keyPair(a, extractable, usages, publicUsages, privateUsages, material);
};

const jwkAlgorithms = new Set([
    ...['1', '224', '256', '384', '512'].flatMap((n) => [`RS${n}`, `PS${n}`]), 'RSA-OAEP', ...['224', '256', '384', '512'].map((n) => `RSA-OAEP-${n}`),
]);

function rsaFromJwk(a, jwk, alg, use, extractable, usages) {
    checkJwk(jwk, 'RSA', use, extractable, usages);
    if (jwk.alg !== undefined && !jwkAlgorithms.has(jwk.alg)) {
        throw dataError(`Unrecognized or unimplemented algorithm "${jwk.alg}" listed in JSON Web Key Algorithm parameter.`);
    }
    if (jwk.alg !== undefined && jwk.alg !== alg(a.hash)) throw dataError(`The "alg" of the JSON Web Key ("${jwk.alg}") does not match ${a.name} with ${a.hash}.`);
    const n = jwkBytes(jwk, 'n'), e = jwkBytes(jwk, 'e');
    let key;
    if (jwk.d === undefined) {
        key = crypto_key_from_rsa(n, e);
    } else {
        if (jwk.oth !== undefined) throw notSupported('Multi-prime private keys not supported.');
        const part = (name) => jwkBytes(jwk, name);
        key = crypto_key_from_rsa(n, e, part('d'), part('p'), part('q'), part('dp'), part('dq'), part('qi'));
    }
    if (key === undefined) throw dataError('The numbers of the RSA key do not belong together.');
    return key;
}

const importRsa = (alg, use, publicUsages, privateUsages) => (a, format, data, extractable, usages) => {
    if (format === 'raw') throw notSupported('Unrecognized key import format "raw".');
    const isPrivate = format === 'pkcs8' || (format === 'jwk' && data.d !== undefined);
    checkUsages(usages, isPrivate ? privateUsages : publicUsages, isPrivate ? 'import private' : 'import public', a.name);
    if (isPrivate) needUsages(usages.bits);
    let material;
    if (format === 'jwk') {
        material = rsaFromJwk(a, data, alg, use, extractable, usages);
    } else {
        material = decodeKey(format, 'RSA', data);
        if (!crypto_key_check(material, isPrivate)) throw dataError('The numbers of the RSA key do not belong together.');
    }
    const modulusLength = crypto_key_info(material)[1];
    if (modulusLength < 256 || modulusLength > RSA_IMPORT_MAX) throw dataError(`Imported RSA keys have 256 to ${RSA_IMPORT_MAX} bits, not ${modulusLength}.`);
    const publicExponent = new Uint8Array(crypto_key_parts(material, false)[1]);
    if (publicExponent.length === 0 || (publicExponent[publicExponent.length - 1] & 1) === 0 || exponentOf(publicExponent) < 3) {
        throw dataError(`Imported RSA key has invalid publicExponent ${exponentOf(publicExponent)}.`);
    }
    return newKey(isPrivate ? 'private' : 'public', { name: a.name, hash: a.hash, modulusLength, publicExponent }, extractable, usages.bits, material);
};

const exportRsa = (alg) => (format, key) => {
    if (format === 'raw') throw notSupported(`${key.name} keys cannot be exported in "raw" format.`);
    if (format !== 'jwk') return encodeKey(format, key);
    const [n, e, d, p, q, dp, dq, qi] = crypto_key_parts(key.material, key.type === 'private');
    const jwk = { kty: 'RSA', alg: alg(key.hash), n: jwkText(n), e: jwkText(e) };
    if (key.type === 'private') {
        Object.assign(jwk, { d: jwkText(d), p: jwkText(p), q: jwkText(q), dp: jwkText(dp), dq: jwkText(dq), qi: jwkText(qi) });
    }
    return finishJwk(jwk, key);
};

function rsa(name, alg, use, publicUsages, privateUsages, operations) {
    define(name, {
        generateKey: [readGenerate, generateRsa(publicUsages, privateUsages)],
        importKey: [readImport, importRsa(alg, use, publicUsages, privateUsages)],
        exportKey: [undefined, exportRsa(alg)],
        ...operations,
    });
}

const suffix = (hash) => (hash === 'SHA-1' ? '1' : hash.slice(hash.indexOf('-') + 1));

// ---- Signatures

function sign(key, padding, salt, data) {
    if (key.type !== 'private') throw invalidAccess('Asymmetric signing requires a private key.');
    const out = crypto_sign(key.material, hashName(key.hash), padding, salt, false, false, data);
    if (out === undefined) throw operationError(`${key.name} signing failed: the key is too small for ${key.hash}${padding === PSS ? ` and a salt of ${salt} bytes` : ''}.`);
    return out;
}
function verify(key, padding, salt, data, signature) {
    if (key.type !== 'public') throw invalidAccess('Asymmetric verification requires a public key.');
    return crypto_verify(key.material, hashName(key.hash), padding, salt, false, false, data, signature);
}

rsa('RSASSA-PKCS1-v1_5', (hash) => `RS${suffix(hash)}`, 'sig', VERIFY, SIGN, {
    sign: [undefined, (a, key, data) => sign(key, PKCS1, 0, data)],
    verify: [undefined, (a, key, data, signature) => verify(key, PKCS1, 0, data, signature)],
});

const readPss = (raw) => ({ __proto__: null, saltLength: member.integer(raw, 'saltLength', 0xffffffff) });
rsa('RSA-PSS', (hash) => `PS${suffix(hash)}`, 'sig', VERIFY, SIGN, {
    sign: [readPss, (a, key, data) => sign(key, PSS, a.saltLength, data)],
    verify: [readPss, (a, key, data, signature) => verify(key, PSS, a.saltLength, data, signature)],
});

// ---- Encryption

const readOaep = (raw) => ({ __proto__: null, label: member.optionalBytes(raw, 'label') });
rsa('RSA-OAEP', (hash) => (hash === 'SHA-1' ? 'RSA-OAEP' : `RSA-OAEP-${suffix(hash)}`), 'enc', ENCRYPT | WRAP, DECRYPT | UNWRAP, {
    encrypt: [readOaep, (a, key, data) => {
        if (key.type !== 'public') throw invalidAccess('Encryption with RSA-OAEP requires a public key.');
        const out = crypto_rsa(key.material, 0, OAEP, hashName(key.hash), a.label, data);
        if (out === undefined) throw operationError(`RSA-OAEP encrypts at most ${Math.max(0, key.modulusLength / 8 - 2 * digestSize[key.hash] - 2)} bytes with this key.`);
        return out;
    }],
    decrypt: [readOaep, (a, key, data) => {
        if (key.type !== 'private') throw invalidAccess('Decryption with RSA-OAEP requires a private key.');
        const out = crypto_rsa(key.material, 1, OAEP, hashName(key.hash), a.label, data);
        if (out === undefined) throw operationError('RSA-OAEP decryption failed: the ciphertext was altered, or made with another key or label.');
        return out;
    }],
});
