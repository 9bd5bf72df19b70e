// crypto/algorithms.js: the registry of algorithms, and how a name or an object becomes one of them ("normalize an algorithm").
import { isObject, notSupported } from './util.js';

// operation -> Map: lower-case name -> { name, read, run }
const registry = {
    __proto__: null,
    digest: new Map(), encrypt: new Map(), decrypt: new Map(), sign: new Map(), verify: new Map(), generateKey: new Map(), importKey: new Map(),
    exportKey: new Map(), deriveBits: new Map(), keyLength: new Map(), wrapKey: new Map(), unwrapKey: new Map(),
};
const messages = {
    __proto__: null,
    digest: (name) => `Unrecognized or unimplemented digest algorithm "${name}" requested.`,
    generateKey: (name) => `Unrecognized key generation algorithm "${name}" requested.`,
    importKey: (name) => `Unrecognized key import algorithm "${name}" requested.`,
    keyLength: (name) => `Unrecognized derived key type "${name}" requested.`,
};

const { get: mapGet, set: mapSet } = Map.prototype;
const { apply } = Reflect;
const { toLowerCase } = String.prototype;

const noParameters = () => ({ __proto__: null });

// operations: { sign: [read, run], ... }. read(raw) reads the parameters from the user's object; run does the operation.
export function define(name, operations) {
    for (const operation of Object.keys(operations)) {
        const [read, run] = operations[operation];
        apply(mapSet, registry[operation], [name.toLowerCase(), { name, read: read ?? noParameters, run }]);
    }
}

export const find = (operation, name) => apply(mapGet, registry[operation], [apply(toLowerCase, name, [])]);

// { name, run, ... parameters }. Reads the user's object once, name first.
export function normalize(operation, algorithm, other = undefined) {
    let raw = algorithm;
    if (!isObject(raw)) raw = { __proto__: null, name: String(raw) };
    const given = raw.name;
    if (given === undefined) throw new TypeError('Missing field "name" in "algorithm".');
    const name = String(given);
    const entry = find(operation, name) ?? (other === undefined ? undefined : find(other, name));
    if (entry === undefined) {
        throw notSupported((messages[operation] ?? ((n) => `Unrecognized or unimplemented ${operation} algorithm "${n}" requested.`))(name));
    }
    const normal = entry.read(raw);
    normal.name = entry.name;
    normal.run = entry.run;
    return normal;
}

// ---- Hashes: the standard's name -> OpenSSL's, and the sizes of a block and of the hash in bits

const hashes = { __proto__: null, 'SHA-1': ['SHA1', 512, 160], 'SHA-224': ['SHA2-224', 512, 224], 'SHA-256': ['SHA2-256', 512, 256], 'SHA-384': ['SHA2-384', 1024, 384], 'SHA-512': ['SHA2-512', 1024, 512], MD5: ['MD5', 512, 128] };
export const hashName = (name) => hashes[name][0];
export const hashBlock = (name) => hashes[name][1];
export const hashBits = (name) => hashes[name][2];

const { crypto_digest } = host;
for (const name of Object.keys(hashes)) define(name, { digest: [undefined, (a, data) => crypto_digest(hashes[name][0], data)] });

// The "hash" of parameters: the standard's name.
export function readHash(raw) {
    const hash = raw.hash;
    if (hash === undefined) throw new TypeError('Missing field "hash" in "algorithm".');
    return normalize('digest', hash).name;
}
