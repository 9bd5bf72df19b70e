// node/encodings.js: the encodings of Buffer, by the numbers of ../../ops_node.c.
const { buffer_decode, buffer_encode } = host;

export const UTF8 = 0;
export const HEX = 1;
export const BASE64 = 2;
export const BASE64URL = 3;
export const LATIN1 = 4;
export const ASCII = 5;
export const UTF16LE = 6;

const NAMES = {
    __proto__: null,
    utf8: UTF8, 'utf-8': UTF8, hex: HEX, base64: BASE64, base64url: BASE64URL, latin1: LATIN1, binary: LATIN1, ascii: ASCII,
    ucs2: UTF16LE, 'ucs-2': UTF16LE, utf16le: UTF16LE, 'utf-16le': UTF16LE,
};
const CANONICAL = ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le'];

// The number of an encoding; undefined: there is none of that name.
export const encodingOf = (name) => NAMES[name] ?? NAMES[String(name).toLowerCase()];
export const canonicalName = (encoding) => CANONICAL[encoding];

const STRING_MAX = 536870888; // V8's

export function decode(bytes, start, end, encoding) {
    const count = end - start;
    if (count > STRING_MAX / 2) {
        const length = encoding === HEX ? count * 2 : encoding === BASE64 || encoding === BASE64URL ? Math.ceil(count / 3) * 4 : encoding === UTF16LE ? count / 2 : count;
        if (length > STRING_MAX) throw new RangeError('String is too long for a V8 string');
    }
    return buffer_decode(bytes, start, end, encoding);
}
export const encode = buffer_encode; // (string, encoding)
