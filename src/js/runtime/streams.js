// streams.js: the streams of the platform, and what the runtime itself needs of them. runtime.md 5.2.
import { ReadableStream } from 'web-streams-polyfill';
import { expose, start } from './core.js';

export { ReadableStream };
const { source_read, source_close } = host;

export const isDisturbed = (stream) => stream._disturbed;

// The stream of a body that the host reads.
export function sourceStream(source) {
    return new ReadableStream({
        type: 'bytes',
        async pull(controller) {
            const chunk = await start(source_read, source);
            if (chunk !== undefined) return controller.enqueue(chunk);
            controller.close();
            controller.byobRequest?.respond(0);
        },
        cancel: () => source_close(source),
    }, { highWaterMark: 0 });
}

// The stream of bytes that are there. What it gives are copies.
export function bytesStream(bytes) {
    let at = 0;
    return new ReadableStream({
        type: 'bytes',
        pull(controller) {
            const chunk = bytes.slice(at, (at += CHUNK));
            if (chunk.length > 0) controller.enqueue(chunk);
            if (at < bytes.length) return;
            controller.close();
            controller.byobRequest?.respond(0);
        },
    }, { highWaterMark: 0 });
}
const CHUNK = 65536;

// All bytes of a stream of bytes.
export async function readAll(stream) {
    const chunks = [];
    let length = 0;
    const reader = stream.getReader();
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const bytes = bytesOf(value);
        chunks.push(bytes);
        length += bytes.length;
    }
    const all = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
        all.set(chunk, at);
        at += chunk.length;
    }
    return all;
}

// A chunk of a body as bytes.
export function bytesOf(chunk) {
    if (chunk instanceof Uint8Array) return chunk;
    if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
    throw new TypeError('This ReadableStream did not return bytes.');
}

expose({ ReadableStream });
