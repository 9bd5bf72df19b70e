// node/stream_consumers.js: node:stream/consumers.
import { Blob } from '../blob.js';
import { Buffer } from './buffer.js';

async function chunks(stream) {
    const list = [];
    for await (const chunk of stream) list.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    return list;
}

async function buffer(stream) {
    return Buffer.concat((await chunks(stream)).map((c) => (ArrayBuffer.isView(c) ? new Uint8Array(c.buffer, c.byteOffset, c.byteLength) : new Uint8Array(c))));
}

export default {
    async arrayBuffer(stream) {
        const b = await buffer(stream);
        return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength);
    },
    async blob(stream) {
        return new Blob(await chunks(stream));
    },
    buffer,
    async json(stream) {
        return JSON.parse((await buffer(stream)).toString());
    },
    async text(stream) {
        const text = (await buffer(stream)).toString();
        return text.startsWith('\ufeff') ? text.slice(1) : text;
    },
};
