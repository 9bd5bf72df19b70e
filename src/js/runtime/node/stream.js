// node/stream.js: node:stream: the package readable-stream, which is Node's own streams, with our Buffer and events.
import Stream from 'readable-stream/lib/stream.js';
import { Buffer } from './buffer.js';
import { AbortError, err } from './errors.js';

const { Readable, Writable, Duplex, finished } = Stream;
const { ReadableStream, WritableStream } = globalThis;

// ---- To and from the streams of the platform

const bytes = (chunk) => (typeof chunk === 'string' || Buffer.isBuffer(chunk) ? Buffer.from(chunk) : chunk);
const asWeb = (chunk, objects) => {
    if (objects) return chunk;
    const b = bytes(chunk);
    return ArrayBuffer.isView(b) ? new Uint8Array(b.buffer, b.byteOffset, b.byteLength) : b;
};

function readableToWeb(readable, options = {}) {
    if (readable === null || typeof readable?.on !== 'function' || typeof readable.read !== 'function') throw err.ERR_INVALID_ARG_TYPE('streamReadable', 'stream.Readable', readable);
    if (readable.destroyed || !readable.readable) {
        const closed = new ReadableStream({});
        closed.cancel().catch(() => {});
        return closed;
    }
    const objects = readable.readableObjectMode;
    const strategy = options.strategy ?? (objects ? { highWaterMark: readable.readableHighWaterMark } : { highWaterMark: readable.readableHighWaterMark, size: (c) => c?.byteLength ?? 1 });
    let controller;
    let over = false;
    readable.pause();
    const cleanup = finished(readable, (error) => {
        if (error?.code === 'ERR_STREAM_PREMATURE_CLOSE') error = new AbortError(undefined, { cause: error });
        cleanup();
        readable.on('error', () => {});
        if (over) return;
        over = true;
        if (error) controller.error(error);
        else controller.close();
    });
    readable.on('data', (chunk) => {
        if (over) return;
        controller.enqueue(asWeb(chunk, objects));
        if (controller.desiredSize <= 0) readable.pause();
    });
    return new ReadableStream(
        {
            start(c) {
                controller = c;
            },
            pull: () => void readable.resume(),
            cancel(reason) {
                over = true;
                readable.destroy(reason);
            },
        },
        strategy,
    );
}

function readableFromWeb(stream, options = {}) {
    if (!(stream instanceof ReadableStream)) throw err.ERR_INVALID_ARG_TYPE('readableStream', 'ReadableStream', stream);
    const reader = stream.getReader();
    let over = false;
    const readable = new Readable({
        objectMode: options.objectMode ?? false,
        highWaterMark: options.highWaterMark,
        encoding: options.encoding,
        signal: options.signal,
        read() {
            reader.read().then(
                ({ done, value }) => {
                    if (done) readable.push(null);
                    else readable.push(value);
                },
                (error) => readable.destroy(error),
            );
        },
        destroy(error, callback) {
            if (over) return callback(error);
            reader.cancel(error ?? undefined).then(
                () => callback(error),
                (e) => callback(error ?? e),
            );
        },
    });
    reader.closed.then(
        () => (over = true),
        (error) => {
            over = true;
            readable.destroy(error);
        },
    );
    return readable;
}

function writableToWeb(writable) {
    if (writable === null || typeof writable?.write !== 'function' || typeof writable.on !== 'function') throw err.ERR_INVALID_ARG_TYPE('streamWritable', 'stream.Writable', writable);
    if (writable.destroyed || !writable.writable) {
        const closed = new WritableStream();
        closed.close();
        return closed;
    }
    let controller;
    let drained;
    let closing;
    const cleanup = finished(writable, (error) => {
        if (error?.code === 'ERR_STREAM_PREMATURE_CLOSE') error = new AbortError(undefined, { cause: error });
        cleanup();
        writable.on('error', () => {});
        if (error) {
            drained?.reject(error);
            closing?.reject(error);
            controller.error(error);
        } else if (closing) {
            closing.resolve();
        } else {
            controller.error(new AbortError());
        }
    });
    writable.on('drain', () => drained?.resolve());
    const objects = writable.writableObjectMode;
    return new WritableStream(
        {
            start(c) {
                controller = c;
            },
            write(chunk) {
                if (!writable.writableNeedDrain && writable.write(chunk)) return undefined;
                drained = Promise.withResolvers();
                return drained.promise.finally(() => (drained = undefined));
            },
            abort: (reason) => void writable.destroy(reason),
            close() {
                closing = Promise.withResolvers();
                writable.end();
                return closing.promise;
            },
        },
        objects ? { highWaterMark: writable.writableHighWaterMark } : { highWaterMark: writable.writableHighWaterMark, size: (c) => c?.byteLength ?? c?.length ?? 1 },
    );
}

function writableFromWeb(stream, options = {}) {
    if (!(stream instanceof WritableStream)) throw err.ERR_INVALID_ARG_TYPE('writableStream', 'WritableStream', stream);
    const writer = stream.getWriter();
    let over = false;
    const writable = new Writable({
        highWaterMark: options.highWaterMark,
        objectMode: options.objectMode ?? false,
        decodeStrings: options.decodeStrings ?? true,
        signal: options.signal,
        write(chunk, encoding, callback) {
            if (typeof chunk === 'string' && options.decodeStrings !== false && !options.objectMode) chunk = Buffer.from(chunk, encoding);
            writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
        },
        final(callback) {
            (over ? Promise.resolve() : writer.close()).then(() => callback(), callback);
        },
        destroy(error, callback) {
            if (over || (error === null && writable.writableFinished)) return callback(error);
            (error !== null ? writer.abort(error) : writer.close()).then(
                () => callback(error),
                () => callback(error),
            );
        },
    });
    writer.closed.then(
        () => {
            over = true;
            if (!writable.writableEnded) writable.destroy(Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }));
        },
        (error) => {
            over = true;
            writable.destroy(error);
        },
    );
    return writable;
}

// A duplex tells the writes that wait, as a writable does.
Duplex.prototype.destroy = Writable.prototype.destroy;

Readable.toWeb = readableToWeb;
Readable.fromWeb = readableFromWeb;
Writable.toWeb = writableToWeb;
Writable.fromWeb = writableFromWeb;
Duplex.toWeb = (duplex) => ({ readable: readableToWeb(duplex), writable: writableToWeb(duplex) });
Duplex.fromWeb = (pair, options = {}) => Duplex.from({ readable: readableFromWeb(pair.readable, options), writable: writableFromWeb(pair.writable, options) });

Stream._isUint8Array ??= (v) => v instanceof Uint8Array;
Stream._uint8ArrayToBuffer ??= (v) => Buffer.from(v.buffer, v.byteOffset, v.byteLength);
Stream.Stream = Stream;

export default Stream;
