// crypto/digeststream.js: DigestStream: a hash of what is written to it. runtime.md 5.4.
import { WritableStream } from '../streams/writable.js';
import { shape } from '../core.js';
import { hashName, normalize } from './algorithms.js';
import { isBufferSource, isObject } from './util.js';

const { crypto_hash_final, crypto_hash_new, crypto_hash_update } = host;

const checksums = { __proto__: null, crc32: 'CRC32', crc32c: 'CRC32C', crc64nvme: 'CRC64-NVME', 'crc64-nvme': 'CRC64-NVME' };

function newHash(algorithm) {
    const name = isObject(algorithm) ? algorithm.name : algorithm;
    const checksum = typeof name === 'string' ? checksums[name.toLowerCase()] : undefined;
    return crypto_hash_new(checksum ?? hashName(normalize('digest', algorithm).name));
}

export class DigestStream extends WritableStream {
    #digest;
    #written = 0n;
    #dispose;

    constructor(algorithm) {
        if (arguments.length === 0) throw new TypeError("Failed to construct 'DigestStream': 1 argument required, but only 0 present.");
        const hash = newHash(algorithm);
        const { promise, resolve, reject } = Promise.withResolvers();
        promise.then(undefined, () => {}); // Who does not ask for the digest need not hear of its failure.
        let controller;
        super({
            start: (c) => (controller = c),
            write: (chunk) => {
                if (typeof chunk !== 'string' && !isBufferSource(chunk)) {
                    throw new TypeError('DigestStream is a byte stream but received an object of non-ArrayBuffer/ArrayBufferView/string type on its writable side.');
                }
                this.#written += BigInt(crypto_hash_update(hash, chunk));
            },
            close: () => resolve(crypto_hash_final(hash)),
            abort: (reason) => reject(reason),
        });
        this.#digest = promise;
        this.#dispose = () => {
            const reason = new TypeError('The DigestStream was disposed.');
            reject(reason);
            controller.error(reason);
        };
    }
    get digest() {
        return this.#digest;
    }
    [Symbol.dispose]() {
        this.#dispose();
    }
    get bytesWritten() {
        return this.#written;
    }
}
shape(DigestStream);
