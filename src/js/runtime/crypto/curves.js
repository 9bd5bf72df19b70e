// crypto/curves.js: ECDSA and ECDH over the curves of NIST, Ed25519 and X25519.
import { define, hashName, readHash } from './algorithms.js';
import { checkJwk, finishJwk, isCryptoKey, dataOf, jwkBytes, jwkText, newKey } from './keys.js';
import { absentField, checkUsages, dataError, DERIVE_BITS, DERIVE_KEY, firstBits, invalidAccess, member, needUsages, notSupported, operationError, SIGN, sizeOf, Uint8Array, VERIFY } from './util.js';

const { crypto_derive, crypto_equal, crypto_key_decode, crypto_key_encode, crypto_key_from_ec, crypto_key_from_raw, crypto_key_generate, crypto_key_info, crypto_key_parts, crypto_sign, crypto_verify } = host;

// Decodes SPKI or PKCS #8; type: OpenSSL's.
export function decodeKey(format, type, data) {
    const key = format === 'spki'
        ? crypto_key_decode('DER', 'SubjectPublicKeyInfo', type, 'public', data, undefined)
        : crypto_key_decode('DER', 'PrivateKeyInfo', type, 'private', data, undefined);
    if (key === undefined) throw dataError(`Invalid ${format === 'spki' ? 'SPKI' : 'PKCS8'} input.`);
    return key;
}

export function encodeKey(format, key) {
    if (format === 'spki' && key.type !== 'public') throw invalidAccess(`Asymmetric spki export requires public key (not "${key.type}").`);
    if (format === 'pkcs8' && key.type !== 'private') throw invalidAccess(`Asymmetric pkcs8 export requires private key (not "${key.type}").`);
    const out = format === 'spki'
        ? crypto_key_encode(key.material, 'DER', 'SubjectPublicKeyInfo', 'public')
        : crypto_key_encode(key.material, 'DER', 'PrivateKeyInfo', 'private');
    if (out === undefined) throw operationError(`${key.type === 'public' ? 'Public' : 'Private'} key export failed.`);
    return out;
}

export function keyPair(algorithm, extractable, usages, publicUsages, privateUsages, material) {
    return {
        publicKey: newKey('public', algorithm, true, usages.bits & publicUsages, material),
        privateKey: newKey('private', algorithm, extractable, usages.bits & privateUsages, material),
    };
}

// The usages that a key of this type can have, checked.
function checkImport(a, isPrivate, usages, publicUsages, privateUsages) {
    checkUsages(usages, isPrivate ? privateUsages : publicUsages, isPrivate ? 'import private' : 'import public', a.name);
    if (isPrivate) needUsages(usages.bits);
}

// ---- The curves of NIST

const curves = {
    __proto__: null,
    'P-256': { group: 'prime256v1', size: 32, alg: 'ES256' },
    'P-384': { group: 'secp384r1', size: 48, alg: 'ES384' },
    'P-521': { group: 'secp521r1', size: 66, alg: 'ES512' },
};

const readCurve = (raw) => ({ __proto__: null, curve: member.string(raw, 'namedCurve') });

function needCurve(name) {
    const curve = curves[name];
    if (curve === undefined) throw notSupported(`Unrecognized or unimplemented EC curve "${name}" requested.`);
    return curve;
}

const generateEc = (publicUsages, privateUsages) => (a, extractable, usages) => {
    checkUsages(usages, publicUsages | privateUsages, 'generate', a.name);
    const { group } = needCurve(a.curve);
    needUsages(usages.bits & privateUsages);
    const material = crypto_key_generate('EC', group);
    if (material === undefined) throw operationError(`Error generating EC "${a.curve}" key.`);
    return keyPair(a, extractable, usages, publicUsages, privateUsages, material);
};

// The key made anew of its numbers: checked, on a named curve, with a point that is not compressed.
function fromCoordinates(curve, x, y, d) {
    const point = new Uint8Array(1 + 2 * curve.size);
    point[0] = 4;
    point.set(x, 1);
    point.set(y, 1 + curve.size);
    const key = crypto_key_from_ec(curve.group, point, d);
    if (key === undefined) throw dataError('Invalid EC key: the point is not on the curve, or not that of the private key.');
    return key;
}

function ecFromDer(a, format, data, curve) {
    const decoded = decodeKey(format, 'EC', data);
    if (crypto_key_info(decoded)[2] !== curve.group) throw dataError(`"algorithm.namedCurve" "${a.curve}" does not match the curve specified by the input key data.`);
    const parts = crypto_key_parts(decoded, format === 'pkcs8'); // Not destructured: that calls what user code can replace.
    if (parts[0] === undefined || parts[1] === undefined) throw dataError('The key has no public point.');
    return fromCoordinates(curve, new Uint8Array(parts[0]), new Uint8Array(parts[1]), parts[2]);
}

function ecFromJwk(a, jwk, curve, extractable, usages) {
    checkJwk(jwk, 'EC', a.name === 'ECDSA' ? 'sig' : 'enc', extractable, usages);
    if (jwk.crv !== a.curve) throw dataError(`The "crv" of the JSON Web Key ("${jwk.crv}") does not match the requested curve "${a.curve}".`);
    if (a.name === 'ECDSA' && jwk.alg !== undefined && jwk.alg !== curve.alg) {
        throw dataError(`The "alg" of the JSON Web Key ("${jwk.alg}") does not match the requested curve "${a.curve}".`);
    }
    const x = jwkBytes(jwk, 'x'), y = jwkBytes(jwk, 'y'), d = jwk.d === undefined ? undefined : jwkBytes(jwk, 'd');
    if (sizeOf(x) !== curve.size || sizeOf(y) !== curve.size || (d !== undefined && sizeOf(d) !== curve.size)) {
        throw dataError(`The numbers of a JSON Web Key on ${a.curve} have ${curve.size} bytes.`);
    }
    return fromCoordinates(curve, x, y, d);
}

const importEc = (publicUsages, privateUsages) => (a, format, data, extractable, usages) => {
    const curve = needCurve(a.curve);
    const isPrivate = format === 'pkcs8' || (format === 'jwk' && data.d !== undefined);
    checkImport(a, isPrivate, usages, publicUsages, privateUsages);
    let material;
    if (format === 'raw') {
        const point = crypto_key_from_ec(curve.group, data, undefined);
        if (point === undefined) throw dataError('Failed to import raw EC key data: it is no point of the curve.');
        const [x, y] = crypto_key_parts(point, false);
        material = fromCoordinates(curve, new Uint8Array(x), new Uint8Array(y), undefined);
    } else if (format === 'jwk') {
        material = ecFromJwk(a, data, curve, extractable, usages);
    } else {
        material = ecFromDer(a, format, data, curve);
    }
    return newKey(isPrivate ? 'private' : 'public', a, extractable, usages.bits, material);
};

function rawPoint(key, curve) {
    const [x, y] = crypto_key_parts(key.material, false);
    const point = new Uint8Array(1 + 2 * curve.size);
    point[0] = 4;
    point.set(new Uint8Array(x), 1);
    point.set(new Uint8Array(y), 1 + curve.size);
    return point.buffer;
}

function exportEc(format, key) {
    const curve = curves[key.curve];
    if (format === 'raw') {
        if (key.type !== 'public') throw invalidAccess('Raw export of elliptic curve keys is only allowed for public keys.');
        return rawPoint(key, curve);
    }
    if (format !== 'jwk') return encodeKey(format, key);
    const [x, y, d] = crypto_key_parts(key.material, key.type === 'private');
    const jwk = { kty: 'EC', crv: key.curve, x: jwkText(x), y: jwkText(y) };
    if (key.type === 'private') jwk.d = jwkText(d);
    return finishJwk(jwk, key);
}

// ---- ECDSA

const readEcdsa = (raw) => {
    if (raw.hash === undefined) throw new TypeError('Missing "hash" in AlgorithmIdentifier. (ECDSA has it at each use, not at the key.)');
    return { __proto__: null, hash: readHash(raw) };
};

function signing(key, type, what) {
    if (key.type !== type) throw invalidAccess(`Asymmetric ${what} requires a ${type} key.`);
}

define('ECDSA', {
    generateKey: [readCurve, generateEc(VERIFY, SIGN)],
    importKey: [readCurve, importEc(VERIFY, SIGN)],
    exportKey: [undefined, exportEc],
    sign: [readEcdsa, (a, key, data) => {
        signing(key, 'private', 'signing');
        const out = crypto_sign(key.material, hashName(a.hash), 0, 0, true, false, data);
        if (out === undefined) throw operationError('ECDSA signing failed.');
        return out;
    }],
    verify: [readEcdsa, (a, key, data, signature) => {
        signing(key, 'public', 'verification');
        return crypto_verify(key.material, hashName(a.hash), 0, 0, true, false, data, signature);
    }],
});

// ---- Shared secrets: ECDH and X25519

const readPublic = (raw) => {
    const key = raw.public;
    if (key === undefined) throw absentField('public');
    if (!isCryptoKey(key)) throw new TypeError('"public" is not of type \'CryptoKey\'.');
    return { __proto__: null, public: dataOf(key) };
};

function deriveShared(a, key, length) {
    const peer = a.public;
    if (key.type !== 'private') throw invalidAccess(`The deriveBits operation is only valid for a private key, not "${key.type}".`);
    if (peer.type !== 'public') throw invalidAccess(`The provided key has type "${peer.type}", not "public"`);
    if (peer.name !== key.name) throw invalidAccess(`Private key for derivation is using "${key.name}" while public key is using "${peer.name}".`);
    if (peer.curve !== key.curve) throw invalidAccess(`Private key for derivation is using curve "${key.curve}" while public key is using "${peer.curve}".`);
    const secret = crypto_derive(key.material, peer.material);
    if (secret === undefined) {
        throw operationError(key.name === 'X25519' ? 'Detected small order secure curve points, aborting EDDH derivation' : 'Failed to generate shared ECDH secret.');
    }
    if (length === null) return secret;
    const most = secret.byteLength * 8;
    if (length > most) throw operationError(`Derived key length (${length} bits) is too long (should be at most ${most} bits).`);
    return firstBits(secret, length);
}

define('ECDH', {
    generateKey: [readCurve, generateEc(0, DERIVE_KEY | DERIVE_BITS)],
    importKey: [readCurve, importEc(0, DERIVE_KEY | DERIVE_BITS)],
    exportKey: [undefined, exportEc],
    deriveBits: [readPublic, deriveShared],
});

// ---- Curve25519

const generateOkp = (publicUsages, privateUsages) => (a, extractable, usages) => {
    checkUsages(usages, publicUsages | privateUsages, 'generate', a.name);
    needUsages(usages.bits & privateUsages);
    const material = crypto_key_generate(a.type);
    if (material === undefined) throw operationError(`Error constructing ${a.name} private key.`);
    return keyPair(a, extractable, usages, publicUsages, privateUsages, material);
};

function okpFromJwk(a, jwk, extractable, usages) {
    const crv = a.type === 'X25519' ? 'X25519' : 'Ed25519';
    checkJwk(jwk, 'OKP', a.type === 'X25519' ? 'enc' : 'sig', extractable, usages);
    if (jwk.crv !== crv) throw dataError(`The "crv" of the JSON Web Key ("${jwk.crv}") is not "${crv}".`);
    if (crv === 'Ed25519' && jwk.alg !== undefined && jwk.alg !== 'EdDSA' && jwk.alg !== 'Ed25519') {
        throw dataError(`The "alg" of the JSON Web Key ("${jwk.alg}") does not match ${crv}.`);
    }
    const x = jwkBytes(jwk, 'x'), d = jwk.d === undefined ? undefined : jwkBytes(jwk, 'd');
    if (sizeOf(x) !== 32 || (d !== undefined && sizeOf(d) !== 32)) throw dataError(`The numbers of a JSON Web Key on ${crv} have 32 bytes.`);
    const key = crypto_key_from_raw(a.type, d !== undefined, d ?? x);
    if (key === undefined || crypto_equal(crypto_key_parts(key, false)[0], x) !== true) {
        throw dataError(`The public key ("x") of the JSON Web Key is not that of its private key ("d").`);
    }
    return key;
}

const importOkp = (publicUsages, privateUsages) => (a, format, data, extractable, usages) => {
    const isPrivate = format === 'pkcs8' || (format === 'jwk' && data.d !== undefined);
    checkImport(a, isPrivate, usages, publicUsages, privateUsages);
    let material;
    if (format === 'raw') {
        if (sizeOf(data) !== 32) throw dataError(`${a.name} raw keys must be exactly 32-bytes (provided ${sizeOf(data)}).`);
        material = crypto_key_from_raw(a.type, false, data);
        if (material === undefined) throw dataError(`Invalid ${a.name} key.`);
    } else if (format === 'jwk') {
        material = okpFromJwk(a, data, extractable, usages);
    } else {
        material = decodeKey(format, a.type, data);
    }
    return newKey(isPrivate ? 'private' : 'public', a, extractable, usages.bits, material);
};

function exportOkp(format, key) {
    if (format === 'raw') {
        if (key.type !== 'public') throw invalidAccess(`Raw export of ${key.name} keys is only allowed for public keys.`);
        return crypto_key_parts(key.material, false)[0];
    }
    if (format !== 'jwk') return encodeKey(format, key);
    const [x, d] = crypto_key_parts(key.material, key.type === 'private');
    const jwk = { kty: 'OKP', crv: key.name === 'X25519' ? 'X25519' : 'Ed25519', x: jwkText(x) };
    if (key.type === 'private') jwk.d = jwkText(d);
    return finishJwk(jwk, key);
}

function okp(name, type, publicUsages, privateUsages, operations) {
    const node = name === 'NODE-ED25519';
    const read = (raw) => {
        const a = { __proto__: null, type, curve: undefined };
        if (node) {
            a.curve = member.string(raw, 'namedCurve');
            if (a.curve !== name) throw notSupported(`EDDSA curve "${a.curve}" isn't supported.`);
        }
        return a;
    };
    define(name, {
        generateKey: [read, generateOkp(publicUsages, privateUsages)],
        importKey: [read, importOkp(publicUsages, privateUsages)],
        exportKey: [undefined, exportOkp],
        ...operations,
    });
}

const eddsa = {
    sign: [undefined, (a, key, data) => {
        signing(key, 'private', 'signing');
        const out = crypto_sign(key.material, undefined, 0, 0, false, false, data);
        if (out === undefined) throw operationError(`${key.name} signing failed.`);
        return out;
    }],
    verify: [undefined, (a, key, data, signature) => {
        signing(key, 'public', 'verification');
        return crypto_verify(key.material, undefined, 0, 0, false, false, data, signature);
    }],
};
okp('Ed25519', 'ED25519', VERIFY, SIGN, eddsa);
okp('NODE-ED25519', 'ED25519', VERIFY, SIGN, eddsa);
okp('X25519', 'X25519', 0, DERIVE_KEY | DERIVE_BITS, { deriveBits: [readPublic, deriveShared] });
