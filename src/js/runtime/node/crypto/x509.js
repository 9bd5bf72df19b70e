// node/crypto/x509.js: X509Certificate.
import { validateBoolean, validateObject, validateString } from '../errors.js';
import { bytesOf, Buffer, errors } from './common.js';
import { isKeyObject, materialOf, newKeyObject } from './keyobject.js';

const { crypto_digest, crypto_key_info, crypto_key_parts, crypto_x509_check, crypto_x509_info, crypto_x509_issued, crypto_x509_key, crypto_x509_new, crypto_x509_verify } = host;
const { crypto_key_encode, crypto_spkac } = host;

const HOST_FLAGS = { __proto__: null, wildcards: 2, partialWildcards: 4, multiLabelWildcards: 8, singleLabelSubdomains: 16 };

// Flags of X509_check_host from the options of Node.
function flagsOf(options) {
    if (options === undefined) return 0;
    validateObject(options, 'options');
    const { subject = 'default', wildcards = true, partialWildcards = true, multiLabelWildcards = false, singleLabelSubdomains = false } = options;
    validateString(subject, 'options.subject');
    const booleans = { wildcards, partialWildcards, multiLabelWildcards, singleLabelSubdomains };
    for (const [name, value] of Object.entries(booleans)) validateBoolean(value, `options.${name}`);
    let flags = 0;
    if (subject === 'always') flags |= 1;
    else if (subject === 'never') flags |= 32;
    else if (subject !== 'default') throw errors.ERR_INVALID_ARG_VALUE('options.subject', subject);
    if (!wildcards) flags |= HOST_FLAGS.wildcards;
    if (!partialWildcards) flags |= HOST_FLAGS.partialWildcards;
    if (multiLabelWildcards) flags |= HOST_FLAGS.multiLabelWildcards;
    if (singleLabelSubdomains) flags |= HOST_FLAGS.singleLabelSubdomains;
    return flags;
}

const colons = (bytes) => Buffer.from(bytes).toString('hex').toUpperCase().match(/../g).join(':');

// "CN=a\nO=b" as { CN: 'a', O: 'b' }; a name that is there twice has an array.
function named(text) {
    const names = new Map();
    for (const line of text.split('\n')) {
        const at = line.indexOf('='), name = line.slice(0, at), value = line.slice(at + 1);
        names.set(name, names.has(name) ? [].concat(names.get(name), value) : value);
    }
    return Object.fromEntries(names);
}

export class X509Certificate {
    #handle;
    #info;
    #key;
    constructor(buffer) {
        const bytes = bytesOf(buffer, 'utf8', 'buffer', ['string', 'Buffer', 'TypedArray', 'DataView']);
        this.#handle = crypto_x509_new(bytes);
        if (this.#handle === undefined) throw errors.ERR_INVALID_ARG_VALUE('buffer', buffer, 'is not a valid X.509 certificate');
        this.#info = crypto_x509_info(this.#handle);
    }
    get subject() {
        return this.#info[0];
    }
    get subjectAltName() {
        return this.#info[1];
    }
    get infoAccess() {
        return this.#info[2];
    }
    get issuer() {
        return this.#info[3];
    }
    get issuerCertificate() {
        return undefined; // Of connections only.
    }
    get validFrom() {
        return this.#info[4];
    }
    get validTo() {
        return this.#info[5];
    }
    get validFromDate() {
        return new Date(this.validFrom);
    }
    get validToDate() {
        return new Date(this.validTo);
    }
    get serialNumber() {
        return this.#info[6];
    }
    get keyUsage() {
        return this.#info[7];
    }
    get ca() {
        return this.#info[8];
    }
    get raw() {
        return Buffer.from(new Uint8Array(this.#info[10]));
    }
    get fingerprint() {
        return colons(crypto_digest('SHA1', this.#info[10]));
    }
    get fingerprint256() {
        return colons(crypto_digest('SHA256', this.#info[10]));
    }
    get fingerprint512() {
        return colons(crypto_digest('SHA512', this.#info[10]));
    }
    get publicKey() {
        return (this.#key ??= newKeyObject('public', crypto_x509_key(this.#handle)));
    }
    toString() {
        return this.#info[9];
    }
    toJSON() {
        return this.toString();
    }
    #check(what, name, text, options) {
        const flags = flagsOf(options);
        validateString(text, name);
        const found = crypto_x509_check(this.#handle, what, text, flags);
        if (found === null) throw errors.ERR_INVALID_ARG_VALUE(name, text);
        return found === undefined ? undefined : found === true ? text : found;
    }
    checkHost(name, options) {
        return this.#check('host', 'name', name, options);
    }
    checkEmail(email, options) {
        return this.#check('email', 'email', email, options);
    }
    checkIP(ip, options) {
        return this.#check('ip', 'ip', ip, options);
    }
    checkIssued(otherCert) {
        if (!(#handle in Object(otherCert))) throw errors.ERR_INVALID_ARG_TYPE('otherCert', 'X509Certificate', otherCert);
        return crypto_x509_issued(this.#handle, otherCert.#handle);
    }
    checkPrivateKey(privateKey) {
        if (!isKeyObject(privateKey)) throw errors.ERR_INVALID_ARG_TYPE('privateKey', 'KeyObject', privateKey);
        if (privateKey.type !== 'private') throw errors.ERR_INVALID_ARG_TYPE('privateKey', 'PrivateKeyObject', privateKey);
        return crypto_x509_verify(this.#handle, materialOf(privateKey).material, true);
    }
    verify(publicKey) {
        if (!isKeyObject(publicKey)) throw errors.ERR_INVALID_ARG_TYPE('publicKey', 'KeyObject', publicKey);
        if (publicKey.type !== 'public') throw errors.ERR_INVALID_ARG_VALUE('publicKey', publicKey);
        return crypto_x509_verify(this.#handle, materialOf(publicKey).material, false);
    }
    toLegacyObject() {
        const key = materialOf(this.publicKey).material, [type, bits, curve] = crypto_key_info(key);
        const object = {
            subject: named(this.subject),
            issuer: named(this.issuer),
            subjectaltname: this.subjectAltName,
            infoAccess: this.infoAccess === undefined ? undefined : accessOf(this.infoAccess),
            ca: this.ca,
            valid_from: this.validFrom,
            valid_to: this.validTo,
            fingerprint: this.fingerprint,
            fingerprint256: this.fingerprint256,
            fingerprint512: this.fingerprint512,
            ext_key_usage: this.keyUsage,
            serialNumber: this.serialNumber,
            raw: this.raw,
        };
        if (type === 'RSA') {
            const [n, e] = crypto_key_parts(key, false);
            object.modulus = Buffer.from(n).toString('hex').toUpperCase();
            object.exponent = `0x${BigInt(`0x${Buffer.from(e).toString('hex')}`).toString(16)}`;
            object.pubkey = Buffer.from(crypto_key_encode(key, 'DER', 'SubjectPublicKeyInfo', 'public'));
            object.bits = bits;
        } else if (type === 'EC') {
            object.asn1Curve = curve;
            object.bits = bits;
        }
        return object;
    }
}

// "OCSP - URI:http://a" as { 'OCSP - URI': ['http://a'] }
function accessOf(text) {
    const access = new Map();
    for (const line of text.split('\n')) {
        const at = line.indexOf(':', line.indexOf(' - '));
        if (at > 0) access.set(line.slice(0, at), [...(access.get(line.slice(0, at)) ?? []), line.slice(at + 1)]);
    }
    return Object.fromEntries(access);
}

// ---- SPKAC: public keys signed by browsers of old

export function Certificate() {
    return new.target === undefined ? Object.create(Certificate.prototype) : this;
}
const spkac = (value, encoding) => crypto_spkac(bytesOf(value, encoding, 'spkac'));
const spkacs = {
    exportChallenge: (value, encoding) => Buffer.from(spkac(value, encoding)?.[2] ?? ''),
    exportPublicKey: (value, encoding) => Buffer.from(spkac(value, encoding)?.[1] ?? ''),
    verifySpkac: (value, encoding) => spkac(value, encoding)?.[0] ?? false,
};
Object.assign(Certificate, spkacs);
Object.assign(Certificate.prototype, spkacs);
