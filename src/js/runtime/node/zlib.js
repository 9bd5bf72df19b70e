// node/zlib.js: node:zlib over the libraries zlib, brotli and zstd.
import { Buffer, kMaxLength } from './buffer.js';
import { zlib as constants } from './constants.js';
import { err, nodeError, validateFunction, validateUint32 } from './errors.js';
import { isAnyArrayBuffer } from './types.js';
import Stream from './stream.js';

const { Transform, finished } = Stream;
const { zlib_new, zlib_new_params, zlib_params, zlib_reset, zlib_step, zlib_crc32 } = host;

const DEFLATE = 1;
const INFLATE = 2;
const GZIP = 3;
const GUNZIP = 4;
const DEFLATERAW = 5;
const INFLATERAW = 6;
const UNZIP = 7;
const BROTLI_DECODE = 8;
const BROTLI_ENCODE = 9;
const ZSTD_COMPRESS = 10;
const ZSTD_DECOMPRESS = 11;

// What Node 22 has and the list of constants.js has not.
Object.assign(constants, {
    ZSTD_COMPRESS, ZSTD_DECOMPRESS, ZSTD_e_continue: 0, ZSTD_e_flush: 1, ZSTD_e_end: 2, ZSTD_fast: 1, ZSTD_dfast: 2, ZSTD_greedy: 3, ZSTD_lazy: 4,
    ZSTD_lazy2: 5, ZSTD_btlazy2: 6, ZSTD_btopt: 7, ZSTD_btultra: 8, ZSTD_btultra2: 9, ZSTD_c_compressionLevel: 100, ZSTD_c_windowLog: 101,
    ZSTD_c_hashLog: 102, ZSTD_c_chainLog: 103, ZSTD_c_searchLog: 104, ZSTD_c_minMatch: 105, ZSTD_c_targetLength: 106, ZSTD_c_strategy: 107,
    ZSTD_c_enableLongDistanceMatching: 160, ZSTD_c_ldmHashLog: 161, ZSTD_c_ldmMinMatch: 162, ZSTD_c_ldmBucketSizeLog: 163, ZSTD_c_ldmHashRateLog: 164,
    ZSTD_c_contentSizeFlag: 200, ZSTD_c_checksumFlag: 201, ZSTD_c_dictIDFlag: 202, ZSTD_c_nbWorkers: 400, ZSTD_c_jobSize: 401, ZSTD_c_overlapLog: 402,
    ZSTD_d_windowLogMax: 100, ZSTD_CLEVEL_DEFAULT: 3,
});
const {
    Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FINISH, Z_BLOCK, Z_DEFAULT_CHUNK, Z_DEFAULT_COMPRESSION, Z_DEFAULT_STRATEGY,
    Z_DEFAULT_MEMLEVEL, Z_DEFAULT_WINDOWBITS, Z_MIN_CHUNK, Z_MIN_LEVEL, Z_MAX_LEVEL, Z_MIN_MEMLEVEL, Z_MAX_MEMLEVEL, Z_MIN_WINDOWBITS,
    Z_MAX_WINDOWBITS, Z_FIXED, Z_BUF_ERROR,
} = constants;

const CODES = { Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6 };
for (const [name, n] of Object.entries({ ...CODES })) CODES[n] = name;

// A number of the options within bounds, or the default.
function bounded(value, name, min, max, dflt) {
    if (value === undefined) return dflt;
    if (typeof value !== 'number') throw err.ERR_INVALID_ARG_TYPE(name, 'number', value);
    if (Number.isNaN(value)) return dflt;
    if (!Number.isFinite(value)) throw err.ERR_OUT_OF_RANGE(name, 'a finite number', value);
    if (value < min || value > max) throw err.ERR_OUT_OF_RANGE(name, `>= ${min} and <= ${max}`, value);
    return value;
}

function bytesOf(data, name = 'buffer') {
    if (typeof data === 'string') return Buffer.from(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (isAnyArrayBuffer(data)) return new Uint8Array(data);
    throw err.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], data);
}

const isZlib = (mode) => mode < BROTLI_DECODE;

class Codec {
    constructor(mode, options = {}) {
        options ??= {};
        this.mode = mode;
        const flushes = isZlib(mode) ? [Z_NO_FLUSH, Z_BLOCK] : mode >= ZSTD_COMPRESS ? [0, 2] : [0, 3];
        const end = isZlib(mode) ? Z_FINISH : 2;
        this.chunkSize = bounded(options.chunkSize, 'options.chunkSize', Z_MIN_CHUNK, Infinity, Z_DEFAULT_CHUNK);
        this.flush = bounded(options.flush, 'options.flush', ...flushes, 0);
        this.finish = bounded(options.finishFlush, 'options.finishFlush', ...flushes, end);
        this.max = bounded(options.maxOutputLength, 'options.maxOutputLength', 1, kMaxLength, kMaxLength);
        this.info = options.info;
        if (isZlib(mode)) {
            const inflates = mode === INFLATE || mode === GUNZIP || mode === UNZIP;
            // 0: the window of the stream's own header.
            let bits = (options.windowBits === undefined || options.windowBits === 0) && inflates ? 0 : bounded(options.windowBits, 'options.windowBits', mode === GZIP ? Z_MIN_WINDOWBITS + 1 : Z_MIN_WINDOWBITS, Z_MAX_WINDOWBITS, Z_DEFAULT_WINDOWBITS);
            if (mode === DEFLATERAW && bits === 8) bits = 9; // zlib cannot do 8 without a header.
            this.level = bounded(options.level, 'options.level', Z_MIN_LEVEL, Z_MAX_LEVEL, Z_DEFAULT_COMPRESSION);
            const mem = bounded(options.memLevel, 'options.memLevel', Z_MIN_MEMLEVEL, Z_MAX_MEMLEVEL, Z_DEFAULT_MEMLEVEL);
            this.strategy = bounded(options.strategy, 'options.strategy', Z_DEFAULT_STRATEGY, Z_FIXED, Z_DEFAULT_STRATEGY);
            const { dictionary } = options;
            if (dictionary !== undefined && !ArrayBuffer.isView(dictionary) && !isAnyArrayBuffer(dictionary)) {
                throw err.ERR_INVALID_ARG_TYPE('options.dictionary', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], dictionary);
            }
            this.handle = zlib_new(mode, bits, this.level, mem, this.strategy, dictionary);
        } else {
            const params = [];
            const zstd = mode >= ZSTD_COMPRESS;
            for (const [key, value] of Object.entries(options.params ?? {})) {
                const n = Number(key);
                if (Number.isNaN(n) || n < 0 || (!zstd && n > 9)) throw zstd ? err.ERR_ZSTD_INVALID_PARAM(key) : err.ERR_BROTLI_INVALID_PARAM(key);
                if (typeof value !== 'number' && typeof value !== 'boolean') throw err.ERR_INVALID_ARG_TYPE('options.params[key]', 'number', value);
                params.push(n, Number(value));
            }
            this.handle = zlib_new_params(mode, params, options.pledgedSrcSize ?? -1);
            if (this.handle === undefined && zstd) throw err.ERR_ZLIB_INITIALIZATION_FAILED();
        }
        if (this.handle === undefined) throw err.ERR_ZLIB_INITIALIZATION_FAILED();
        this.ended = false;
    }
    reset() {
        zlib_reset(this.handle);
        this.ended = false;
    }
    // All that bytes give with this flush, as pieces; give(piece) is called for each.
    run(bytes, flush, give) {
        let at = 0;
        const many = this.mode === GUNZIP || this.mode === UNZIP;
        for (;;) {
            if (this.ended && many) {
                // Another member may follow; what does not look like one is ignored.
                while (at < bytes.length && bytes[at] === 0) at++;
                if (at >= bytes.length || bytes[at] !== 0x1f || (at + 1 < bytes.length && bytes[at + 1] !== 0x8b)) return bytes.length;
                this.reset();
            }
            const [next, output, more, ended, code, message] = zlib_step(this.handle, bytes, at, flush);
            const stuck = next === at && output === undefined;
            at = next;
            if (output !== undefined) give(Buffer.from(output.buffer, output.byteOffset, output.byteLength));
            if (message !== undefined) throw this.error(message, code);
            this.ended = ended;
            if (ended) {
                if (many && at < bytes.length) continue;
                return at;
            }
            if (more) continue;
            if (at < bytes.length && !stuck) continue;
            if (flush === this.finish && this.unfinished(flush)) throw this.error('unexpected end of file', Z_BUF_ERROR);
            return at;
        }
    }
    // A stream that must end here and does not.
    unfinished(flush) {
        switch (this.mode) {
            case BROTLI_DECODE:
            case ZSTD_DECOMPRESS:
                return flush === 2;
            default:
                return isZlib(this.mode) && flush === Z_FINISH;
        }
    }
    tooLarge() {
        const error = err.ERR_BUFFER_TOO_LARGE(this.max);
        if (!isZlib(this.mode)) error.message = 'Memory limit exceeded'; // As workerd says it.
        return error;
    }
    error(message, code) {
        const error = new Error(message);
        error.errno = code;
        error.code = isZlib(this.mode) || message === 'unexpected end of file' ? CODES[code] : this.mode === BROTLI_DECODE ? `ERR_${message.replace(/^_?ERROR_/, '_ERROR_')}` : zstdCode(code, message);
        if (this.mode === ZSTD_DECOMPRESS && code !== Z_BUF_ERROR) error.message = `Zstd decompression failed: ${message}`;
        if (this.mode === BROTLI_DECODE && code !== Z_BUF_ERROR) error.message = 'Decompression failed';
        return error;
    }
}
const ZSTD_CODES = { 10: 'ZSTD_error_prefix_unknown', 14: 'ZSTD_error_frameParameter_unsupported', 16: 'ZSTD_error_frameParameter_windowTooLarge', 20: 'ZSTD_error_corruption_detected', 22: 'ZSTD_error_checksum_wrong', 30: 'ZSTD_error_dictionary_corrupted', 32: 'ZSTD_error_dictionary_wrong', 40: 'ZSTD_error_parameter_unsupported', 42: 'ZSTD_error_parameter_outOfBound', 64: 'ZSTD_error_memory_allocation', 72: 'ZSTD_error_srcSize_wrong' };
const zstdCode = (code, message) => ZSTD_CODES[-code] ?? `ZSTD_error_${message}`;

function runSync(mode, data, options) {
    const bytes = bytesOf(data);
    const codec = new Codec(mode, options);
    const pieces = [];
    let length = 0;
    codec.run(bytes, codec.finish, (piece) => {
        length += piece.length;
        if (length > codec.max) throw codec.tooLarge();
        pieces.push(piece);
    });
    const buffer = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length);
    return codec.info ? { buffer, engine: new CLASSES[mode](options) } : buffer;
}

function runAsync(mode, data, options, callback) {
    if (typeof options === 'function') [callback, options] = [options, undefined];
    validateFunction(callback, 'callback');
    bytesOf(data);
    new Codec(mode, options); // Wrong options throw at once.
    globalThis.process.nextTick(() => {
        let result;
        try {
            result = runSync(mode, data, options);
        } catch (error) {
            callback(error);
            return;
        }
        callback(null, result);
    });
}

// ---- Streams

class ZlibBase extends Transform {
    constructor(options, mode) {
        options ??= {};
        const codec = new Codec(mode, options);
        super({ autoDestroy: true, ...options });
        Object.defineProperty(this, '_codec', { value: codec, writable: true, enumerable: false });
        this.bytesWritten = 0;
        this._handle = codec.handle;
        this._chunkSize = codec.chunkSize;
        this._defaultFlushFlag = codec.flush;
        this._finishFlushFlag = codec.finish;
        this._maxOutputLength = codec.max;
        this._level = codec.level;
        this._strategy = codec.strategy;
        this._mode = mode;
        this._given = 0;
    }
    get _closed() {
        return this._codec === null;
    }
    _run(bytes, flush, callback) {
        if (this._codec === null) return callback();
        try {
            this._codec.run(bytes, flush, (piece) => {
                this._given += piece.length;
                if (this._given > this._codec.max) throw this._codec.tooLarge();
                for (let at = 0; at < piece.length; at += this._chunkSize) this.push(piece.subarray(at, at + this._chunkSize));
            });
        } catch (error) {
            this.destroy(error);
            return callback(error);
        }
        this.bytesWritten += bytes.length;
        if (this._codec.ended && !isPacker(this._mode) && this._mode !== GUNZIP && this._mode !== UNZIP) this.push(null);
        return callback();
    }
    _transform(chunk, encoding, callback) {
        const flush = chunk[FLUSH];
        if (this._codec !== null && this._codec.ended && !isPacker(this._mode) && this._mode !== GUNZIP && this._mode !== UNZIP) return callback();
        const last = this.writableEnded && this.writableLength === chunk.byteLength;
        return this._run(bytesOf(chunk), flush ?? (last ? this._codec?.finish : this._codec?.flush), callback);
    }
    _flush(callback) {
        if (this._codec === null || (this._codec.ended && this.bytesWritten > 0)) return callback();
        return this._run(new Uint8Array(0), this._codec.finish, callback);
    }
    _final(callback) {
        callback();
    }
    flush(kind, callback) {
        if (typeof kind === 'function' || (kind === undefined && !callback)) [callback, kind] = [kind, isZlib(this._mode) ? Z_FULL_FLUSH : 1];
        if (this.writableFinished) {
            if (callback) globalThis.process.nextTick(callback);
        } else if (this.writableEnded) {
            if (callback) this.once('end', callback);
        } else {
            const empty = Buffer.alloc(0);
            empty[FLUSH] = kind;
            this.write(empty, '', callback);
        }
    }
    params(level, strategy, callback) {
        bounded(level, 'level', Z_MIN_LEVEL, Z_MAX_LEVEL);
        bounded(strategy, 'strategy', Z_DEFAULT_STRATEGY, Z_FIXED);
        if (this._level !== level || this._strategy !== strategy) {
            this.flush(Z_SYNC_FLUSH, () => {
                if (this._codec === null) return;
                if (!zlib_params(this._codec.handle, level, strategy)) return void this.destroy(new Error('Failed to set parameters'));
                this._level = level;
                this._strategy = strategy;
                callback?.();
            });
        } else {
            globalThis.process.nextTick(callback);
        }
    }
    reset() {
        if (this._codec === null) throw nodeError(Error, 'ERR_INTERNAL_ASSERTION', 'zlib binding closed');
        this._codec.reset();
    }
    close(callback) {
        if (callback) finished(this, () => callback());
        this.destroy();
    }
    _destroy(error, callback) {
        this._codec = null;
        this._handle = null;
        callback(error);
    }
    _processChunk(chunk, flush, callback) {
        if (typeof callback === 'function') return void this._run(bytesOf(chunk), flush, callback);
        const pieces = [];
        this._codec.run(bytesOf(chunk), flush, (piece) => pieces.push(piece));
        return Buffer.concat(pieces);
    }
}
const FLUSH = Symbol('flush');
const isPacker = (mode) => mode === DEFLATE || mode === GZIP || mode === DEFLATERAW || mode === BROTLI_ENCODE || mode === ZSTD_COMPRESS;

// Node's classes may be called without new.
function makeClass(name, mode) {
    const cls = { [name]: class extends ZlibBase { constructor(options) { super(options, mode); } } }[name];
    const callable = new Proxy(cls, { apply: (target, self, args) => new target(...args) });
    cls.prototype.constructor = callable;
    return callable;
}
const MODES = {
    Deflate: DEFLATE, Inflate: INFLATE, Gzip: GZIP, Gunzip: GUNZIP, DeflateRaw: DEFLATERAW, InflateRaw: INFLATERAW, Unzip: UNZIP,
    BrotliCompress: BROTLI_ENCODE, BrotliDecompress: BROTLI_DECODE, ZstdCompress: ZSTD_COMPRESS, ZstdDecompress: ZSTD_DECOMPRESS,
};
const CLASSES = {};
const zlib = {};
for (const [name, mode] of Object.entries(MODES)) {
    const cls = makeClass(name, mode);
    CLASSES[mode] = cls;
    const method = name[0].toLowerCase() + name.slice(1);
    zlib[name] = cls;
    zlib[`create${name}`] = { [`create${name}`]: (options) => new cls(options) }[`create${name}`];
    zlib[method] = { [method]: (data, options, callback) => runAsync(mode, data, options, callback) }[method];
    zlib[`${method}Sync`] = { [`${method}Sync`]: (data, options) => runSync(mode, data, options) }[`${method}Sync`];
}
zlib.crc32 = function crc32(data, value = 0) {
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw err.ERR_INVALID_ARG_TYPE('data', ['Buffer', 'TypedArray', 'DataView', 'string'], data);
    validateUint32(value, 'value');
    return zlib_crc32(bytesOf(data), value);
};
zlib.constants = Object.freeze({ ...constants });
zlib.codes = Object.freeze({ ...CODES });
for (const [name, value] of Object.entries(constants)) if (/^Z_|^(DEFLATE|INFLATE|GZIP|GUNZIP|UNZIP)/.test(name)) Object.defineProperty(zlib, name, { value, enumerable: false });

export default zlib;
