// encoding.js: TextEncoder and TextDecoder. runtime.md 5.3.
import { expose } from './core.js';

export const encodeUtf8 = host.utf8_encode;

// UTF-8 as bodies are read: a byte order mark is dropped.
export function decodeUtf8(bytes) {
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
    return host.utf8_decode(bytes, false);
}

export class TextEncoder {
    get encoding() {
        return 'utf-8';
    }
    encode(text = '') {
        return encodeUtf8(text);
    }
}
expose({ TextEncoder });
