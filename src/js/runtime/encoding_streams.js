// encoding_streams.js: TextEncoderStream and TextDecoderStream. runtime.md 5.2; Encoding standard, 7.5.
import { expose } from './core.js';
import { TextDecoder, encodeUtf8 } from './encoding.js';
import { apply } from './streams/base.js';
import { SIDES, TransformState, TransformStream } from './streams/transform.js';

const { decode } = TextDecoder.prototype;
const STREAM = Object.freeze({ __proto__: null, stream: true });

export class TextEncoderStream extends TransformStream {
    #brand;
    constructor() {
        let high = ''; // the first half of a pair
        super(SIDES, new TransformState({
            transform(chunk, stream) {
                let text = high + `${chunk}`;
                high = '';
                const last = text.charCodeAt(text.length - 1);
                if (last >= 0xd800 && last <= 0xdbff) {
                    high = text.slice(-1);
                    text = text.slice(0, -1);
                }
                if (text !== '') stream.enqueue(encodeUtf8(text));
            },
            flush(stream) {
                if (high !== '') stream.enqueue(encodeUtf8(high));
            },
        }));
    }
    get encoding() {
        this.#brand;
        return 'utf-8';
    }
}

export class TextDecoderStream extends TransformStream {
    #decoder;
    constructor(label = 'utf-8', options = undefined) {
        const decoder = new TextDecoder(label, options);
        super(SIDES, new TransformState({
            transform(chunk, stream) {
                if (chunk === undefined) throw new TypeError('The chunk is neither an ArrayBuffer nor a view of one.');
                const text = apply(decode, decoder, [chunk, STREAM]);
                if (text !== '') stream.enqueue(text);
            },
            flush(stream) {
                const text = apply(decode, decoder, []);
                if (text !== '') stream.enqueue(text);
            },
        }));
        this.#decoder = decoder;
    }
    get encoding() {
        return this.#decoder.encoding;
    }
    get fatal() {
        return this.#decoder.fatal;
    }
    get ignoreBOM() {
        return this.#decoder.ignoreBOM;
    }
}
expose({ TextEncoderStream, TextDecoderStream });
