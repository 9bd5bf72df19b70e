// streams.js: the streams of the platform (streams/*.js), and what the runtime itself needs of them. runtime.md 5.2.
import { startBoxed } from './core.js';
import { U8, isArrayBuffer, isView, window } from './streams/base.js';
import { READABLE, Reader, cancelStream, newReadableBytes, own, readableState } from './streams/readable.js';
import { boxed } from './primordials.js';
import './streams/writable.js';
import './streams/transform.js';
import './streams/identity.js';

export { ReadableStream } from './streams/readable.js';
const { source_read, source_close } = host;

// A stream made as user code makes them, which is I/O all the same: it belongs to the event that runs now, or to another context.
export function ownStream(stream, context) {
    own(readableState(stream), context);
    return stream;
}
// The event that a stream belongs to; undefined: anybody may use it.
export const streamOwner = (stream) => readableState(stream).owner;
export const dropStream = (stream, reason) => cancelStream(readableState(stream), reason);

export const isDisturbed = (stream) => readableState(stream).disturbed;
// How many bytes the whole stream gives, when it knows that; else -1.
export const streamLength = (stream) => readableState(stream).length;

// The stream of a body that the host reads.
export function sourceStream(source) {
    const pull = async (controller) => {
        const { value: chunk } = await startBoxed(source_read, source);
        if (chunk === undefined) controller.finish();
        else controller.enqueueOwned(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    };
    return own(newReadableBytes(pull, () => source_close(source))).public;
}

// The stream of bytes that are there. What it gives are copies.
const CHUNK = 65536;
export function bytesStream(bytes) {
    let at = 0;
    return own(newReadableBytes((controller) => {
        const chunk = bytes.slice(at, (at += CHUNK));
        if (chunk.byteLength > 0) controller.enqueueOwned(chunk.buffer, 0, chunk.byteLength);
        if (at >= bytes.byteLength) controller.finish();
    }, () => {})).public;
}

// Calls take(bytes) for each chunk of a stream of bytes; waits for what it gives, when that is a promise. The stream is cancelled when
// take() fails, or a chunk has no bytes.
export async function eachChunk(stream, take) {
    const reader = new Reader(readableState(stream), false);
    const state = reader.stream;
    try {
        for (;;) {
            let chunk;
            if (state.state === READABLE && state.controller.queue.length > 0) {
                state.disturbed = true;
                chunk = state.controller.take();
            } else {
                const read = await next(reader);
                if (read === undefined) return;
                chunk = read.value;
            }
            const wait = take(bytesOf(chunk));
            if (wait !== undefined) await wait;
        }
    } catch (error) {
        cancelStream(state, error).catch(() => {});
        throw error;
    } finally {
        reader.release();
    }
}
// { value }, or undefined at the end.
const next = (reader) => new Promise((resolve, reject) => reader.read({ chunk: (value) => resolve(boxed(value)), close: resolve, error: reject }));

// All bytes of a stream of bytes, as { value }.
export async function readAll(stream) {
    const chunks = [];
    let length = 0;
    await eachChunk(stream, (bytes) => {
        chunks[chunks.length] = bytes;
        length += bytes.byteLength;
    });
    if (chunks.length === 1 && chunks[0].byteLength === chunks[0].buffer.byteLength) return boxed(chunks[0]);
    const all = new U8(length);
    for (let i = 0, at = 0; i < chunks.length; at += chunks[i++].byteLength) all.set(chunks[i], at);
    return boxed(all);
}

// A chunk of a body as bytes.
export function bytesOf(chunk) {
    if (isView(chunk)) {
        if (chunk instanceof U8) return chunk;
        const w = window(chunk);
        return new U8(w.buffer, w.at, w.length);
    }
    if (isArrayBuffer(chunk)) return new U8(chunk);
    throw new TypeError('This ReadableStream did not return bytes.');
}
