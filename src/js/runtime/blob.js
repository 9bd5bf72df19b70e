// blob.js: Blob and File. runtime.md 5.1.
//
// A blob is a view of bytes that nobody changes: slices look at the same buffer, and what leaves is a copy.
import { expose } from './core.js';
import { dictionary, encodeUtf8 } from './encoding.js';
import { extractMime, mimeText } from './mime.js';
import { bytesStream } from './streams.js';
import { push } from './primordials.js';

const { utf8_decode } = host;
const SIZE_MAX = 128 << 20;

const asInteger = (v, otherwise) => {
    if (v === undefined) return otherwise;
    v = Math.trunc(Number(v));
    return Number.isNaN(v) ? 0 : v;
};

function typeOf(type) {
    type = `${type}`;
    return /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
}

// The bytes of one part of a new blob.
function partOf(part) {
    if (typeof part === 'object' && part !== null) {
        if (is(part)) return blobBytes(part);
        const view = ArrayBuffer.isView(part);
        const buffer = view ? part.buffer : part;
        if (view || part instanceof ArrayBuffer) {
            if (buffer.resizable || buffer.growable) throw new TypeError('Cannot create a Blob with a resizable ArrayBuffer');
            return view ? new Uint8Array(buffer, part.byteOffset, part.byteLength) : new Uint8Array(part);
        }
    }
    return encodeUtf8(`${part}`);
}

function join(parts) {
    const object = (typeof parts === 'object' && parts !== null) || typeof parts === 'function';
    const method = object ? parts[Symbol.iterator] : undefined;
    if (typeof method !== 'function') throw new TypeError('The parts of a Blob are not a sequence.');
    const list = [];
    let size = 0;
    for (const part of { [Symbol.iterator]: () => Reflect.apply(method, parts, []) }) {
        const bytes = partOf(part);
        size += bytes.byteLength;
        if (size > SIZE_MAX) throw new RangeError(`Blob size ${size} exceeds limit ${SIZE_MAX}`);
        push(list, bytes);
    }
    const all = new Uint8Array(size);
    let at = 0;
    for (const bytes of list) { // Converting a later part can have detached an earlier one: what it had is zeros.
        all.set(bytes, at);
        at += bytes.byteLength;
    }
    return all;
}

export class Blob {
    #bytes;
    #type = '';

    constructor(blobParts = undefined, options = undefined) {
        if (blobParts === MADE) {
            this.#bytes = options.bytes;
            this.#type = options.type;
            return;
        }
        const bytes = blobParts === undefined ? new Uint8Array(0) : join(blobParts);
        options = dictionary(options);
        if (options !== undefined) {
            const { endings, type } = options;
            if (endings !== undefined && `${endings}` !== 'transparent') throw new TypeError("The 'endings' field on 'Options' is not implemented.");
            if (type !== undefined) this.#type = typeOf(type);
        }
        this.#bytes = bytes;
    }
    static bytes = (b) => b.#bytes;
    static is = (b) => #bytes in b;

    get size() {
        return this.#bytes.byteLength;
    }
    get type() {
        return this.#type;
    }
    slice(start = undefined, end = undefined, type = undefined) {
        const { byteLength: size } = this.#bytes;
        const clamp = (v) => (v < 0 ? Math.max(size + v, 0) : Math.min(v, size));
        const from = clamp(asInteger(start, 0)), to = clamp(asInteger(end, size));
        return new Blob(MADE, { bytes: this.#bytes.subarray(from, Math.max(from, to)), type: type === undefined ? '' : typeOf(type) });
    }
    async text() {
        return utf8_decode(this.#bytes, false).replace(/^\ufeff/, '');
    }
    async bytes() {
        return this.#bytes.slice();
    }
    async arrayBuffer() {
        return this.#bytes.slice().buffer;
    }
    stream() {
        return bytesStream(this.#bytes);
    }
}
const MADE = Symbol('made');

export class File extends Blob {
    #name;
    #lastModified;

    constructor(fileBits, fileName, options = undefined) {
        if (fileBits === MADE) {
            super(MADE, options);
            this.#name = fileName;
            this.#lastModified = options.lastModified;
            return;
        }
        if (arguments.length < 2) throw new TypeError(`Failed to construct 'File': 2 arguments required, but only ${arguments.length} present.`);
        if (fileBits === undefined) throw new TypeError('The parts of a Blob are not a sequence.');
        super(fileBits, options);
        this.#name = `${fileName}`.toWellFormed();
        const time = options?.lastModified;
        this.#lastModified = time === undefined ? Date.now() : asInteger(time, 0);
    }
    get name() {
        return this.#name;
    }
    get lastModified() {
        return this.#lastModified;
    }
}

// A blob of bytes that nobody else has. contentType: of a message; '' for none.
export function blobOf(bytes, contentType) {
    const mime = contentType === '' ? null : extractMime(contentType);
    return new Blob(MADE, { bytes, type: mime === null ? '' : mimeText(mime) });
}
export const fileOf = (bytes, name, type, lastModified = Date.now()) => new File(MADE, name, { bytes, type: typeOf(type), lastModified });
export const { bytes: blobBytes, is } = Blob;
export const isBlob = (v) => typeof v === 'object' && v !== null && is(v);
delete Blob.bytes;
delete Blob.is;
expose({ Blob, File });
