// node/fs_streams.js: ReadStream and WriteStream of node:fs.
import { Buffer } from './buffer.js';
import { err, validateAbortSignal, validateFunction, validateInteger } from './errors.js';
import { flagsOf, fdOf, optionsOf, pathOf } from './fs_sync.js';
import Stream from './stream.js';

const { Readable, Writable, finished } = Stream;

// fs: looked at when a stream is used, so that patched functions count.
export function makeStreams(fs, FileHandle) {
    const nextTick = (fn, ...args) => globalThis.process.nextTick(fn, ...args);

    function begin(stream, path, options, dfltFlags) {
        stream.fd = null;
        if (options.fd instanceof FileHandle) {
            stream.fd = options.fd.fd;
            stream.handle = options.fd;
        } else if (options.fd !== undefined && options.fd !== null) stream.fd = fdOf(options.fd);
        if (stream.fd === null) stream.path = typeof path === 'string' || Buffer.isBuffer(path) ? (pathOf(path), path) : pathOf(path);
        stream.flags = options.flags ?? dfltFlags;
        flagsOf(stream.flags);
        stream.mode = options.mode ?? 0o666;
        stream.start = options.start;
        stream.end_ = options.end;
        stream.bytes_ = 0;
        stream.closed_ = false;
        if (options.fs !== undefined && (options.fs === null || typeof options.fs !== 'object')) throw err.ERR_INVALID_ARG_TYPE('options.fs', 'Object', options.fs);
        stream.fs_ = options.fs ?? fs;
        for (const name of ['open', 'close', 'read', 'write']) {
            if (options.fs?.[name] !== undefined) validateFunction(options.fs[name], `options.fs.${name}`);
        }
        if (options.signal !== undefined) validateAbortSignal(options.signal, 'signal');
        for (const key of ['start', 'end']) if (options[key] !== undefined && options[key] !== Infinity) validateInteger(options[key], key, 0);
    }
    function openFor(stream, callback) {
        if (stream.fd !== null) return callback();
        stream.fs_.open(stream.path, stream.flags, stream.mode, (error, fd) => {
            if (error) return callback(error);
            stream.fd = fd;
            callback();
            stream.emit('open', fd);
            stream.emit('ready');
            return undefined;
        });
        return undefined;
    }
    function closeFor(stream, error, callback) {
        if (stream.fd === null || stream.closed_) return callback(error);
        stream.closed_ = true;
        if (stream.handle !== undefined) {
            stream.handle.close().then(
                () => callback(error),
                (e) => callback(e ?? error),
            );
            return undefined;
        }
        stream.fs_.close(stream.fd, (e) => callback(e ?? error));
        stream.fd = null;
        return undefined;
    }
    const hidden = (o) => {
        for (const key of ['end_', 'bytes_', 'closed_', 'fs_', 'handle']) Object.defineProperty(o, key, { writable: true, configurable: true, enumerable: false, value: undefined });
    };

    class ReadStream extends Readable {
        constructor(path, options) {
            const o = optionsOf(options, {});
            super({ highWaterMark: 65536, ...o, autoDestroy: o.autoClose ?? o.autoDestroy ?? true, emitClose: o.emitClose ?? true });
            hidden(this);
            begin(this, path, o, 'r');
            this.end = o.end ?? Infinity;
            this.pos = this.start;
            if (this.start !== undefined && this.start > this.end) throw err.ERR_OUT_OF_RANGE('start', `<= "end" (here: ${this.end})`, this.start);
        }
        _construct(callback) {
            openFor(this, callback);
        }
        _read(size) {
            size = this.pos !== undefined ? Math.min(this.end - this.pos + 1, size) : Math.min(this.end - this.bytes_ + 1, size);
            if (!(size > 0)) {
                this.push(null);
                return;
            }
            const buffer = Buffer.allocUnsafe(size);
            this.fs_.read(this.fd, buffer, 0, size, this.pos ?? null, (error, count) => {
                if (error) return void this.destroy(error);
                if (count > 0) {
                    if (this.pos !== undefined) this.pos += count;
                    this.bytes_ += count;
                    this.push(buffer.subarray(0, count));
                } else {
                    this.push(null);
                }
                return undefined;
            });
        }
        _destroy(error, callback) {
            closeFor(this, error, callback);
        }
        get bytesRead() {
            return this.bytes_;
        }
        get pending() {
            return this.fd === null;
        }
        close(callback) {
            if (callback) finished(this, callback);
            this.destroy();
        }
    }

    class WriteStream extends Writable {
        constructor(path, options) {
            const o = optionsOf(options, {});
            super({ ...o, decodeStrings: true, autoDestroy: o.autoClose ?? o.autoDestroy ?? true, emitClose: o.emitClose ?? true });
            hidden(this);
            begin(this, path, o, 'w');
            this.pos = this.start;
            if (o.encoding) this.setDefaultEncoding(o.encoding);
        }
        _construct(callback) {
            openFor(this, callback);
        }
        _write(chunk, encoding, callback) {
            this.fs_.write(this.fd, chunk, 0, chunk.length, this.pos ?? null, (error, count) => {
                if (error) return callback(error);
                this.bytes_ += count;
                if (this.pos !== undefined) this.pos += count;
                if (count < chunk.length) return this._write(chunk.subarray(count), encoding, callback);
                return callback();
            });
        }
        _destroy(error, callback) {
            closeFor(this, error, callback);
        }
        get bytesWritten() {
            return this.bytes_;
        }
        get pending() {
            return this.fd === null;
        }
        close(callback) {
            if (callback) {
                if (this.closed) return void nextTick(callback);
                this.on('close', callback);
            }
            if (this.autoClose === false) this.on('finish', this.destroy);
            this.end();
            return undefined;
        }
        destroySoon() {
            this.end();
        }
    }
    // As functions they may be called without new.
    const callable = (cls, name) =>
        Object.defineProperty(
            new Proxy(cls, { apply: (target, self, args) => new target(...args) }),
            'name',
            { value: name, configurable: true },
        );
    const Read = callable(ReadStream, 'ReadStream');
    const Write = callable(WriteStream, 'WriteStream');
    ReadStream.prototype.constructor = Read;
    WriteStream.prototype.constructor = Write;
    return {
        ReadStream: Read,
        WriteStream: Write,
        FileReadStream: Read,
        FileWriteStream: Write,
        createReadStream: (path, options) => new Read(path, options),
        createWriteStream: (path, options) => new Write(path, options),
    };
}
