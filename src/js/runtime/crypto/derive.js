// crypto/derive.js: PBKDF2 and HKDF.
import { define, hashBits, hashName, readHash } from './algorithms.js';
import { newKey } from './keys.js';
import { checkUsages, DERIVE_BITS, DERIVE_KEY, fail, member, needUsages, notSupported, operationError } from './util.js';

const { crypto_hkdf, crypto_pbkdf2 } = host;

// It runs in the turn: more would hold up everything else of the shard.
const PBKDF2_ITERATIONS_MAX = 100000;
const PBKDF2_BLOCKS_MAX = 255, PBKDF2_ROUNDS_MAX = 2500000; // The latter for all blocks together: one to two seconds.

// blocks: outputs of the hash that the derived bytes take.
export function checkIterations(iterations, blocks) {
    if (iterations > PBKDF2_ITERATIONS_MAX) {
        throw notSupported(`Pbkdf2 failed: iteration counts above ${PBKDF2_ITERATIONS_MAX} are not supported (requested ${iterations}).`);
    }
    if (blocks > PBKDF2_BLOCKS_MAX || blocks * iterations > PBKDF2_ROUNDS_MAX) {
        throw new RangeError(`Pbkdf2 failed: ${blocks} blocks of the hash with ${iterations} iterations each are not supported.`);
    }
}

function importSecret(a, format, data, extractable, usages) {
    if (format !== 'raw') throw notSupported(`Unrecognized key import format "${format}".`);
    checkUsages(usages, DERIVE_BITS | DERIVE_KEY, 'import secret', a.name);
    if (extractable) throw fail('SyntaxError', `${a.name} key cannot be extractable.`);
    needUsages(usages.bits);
    return newKey('secret', { name: a.name }, false, usages.bits, data);
}

function needLength(a, length) {
    if (length === null || length % 8 !== 0) {
        throw operationError(length === null ? `${a.name} derivation requires a length.` : `${a.name} derives whole bytes; ${length} bits are not.`);
    }
}

define('PBKDF2', {
    importKey: [undefined, importSecret],
    keyLength: [undefined, () => null],
    deriveBits: [
        (raw) => ({ __proto__: null, hash: readHash(raw), iterations: member.integer(raw, 'iterations', 0xffffffff), salt: member.bytes(raw, 'salt') }),
        (a, key, length) => {
            needLength(a, length);
            if (a.iterations === 0) throw operationError('PBKDF2 requires a positive number of iterations (requested 0).');
            checkIterations(a.iterations, Math.ceil(length / hashBits(a.hash)));
            const out = crypto_pbkdf2(hashName(a.hash), key.material, a.salt, a.iterations, length / 8);
            if (out === undefined) throw operationError('PBKDF2 deriveBits failed.');
            return out;
        },
    ],
});

define('HKDF', {
    importKey: [undefined, importSecret],
    keyLength: [undefined, () => null],
    deriveBits: [
        (raw) => ({ __proto__: null, hash: readHash(raw), info: member.bytes(raw, 'info'), salt: member.bytes(raw, 'salt') }),
        (a, key, length) => {
            needLength(a, length);
            const out = crypto_hkdf(hashName(a.hash), key.material, a.salt, a.info, length / 8);
            if (out === undefined) throw operationError(`HKDF deriveBits failed: ${length} bits are more than ${a.hash} can give.`);
            return out;
        },
    ],
});
