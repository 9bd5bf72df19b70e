// node/querystring.js: node:querystring.
import { Buffer } from './buffer.js';
import { err } from './errors.js';

const PLAIN = /^[A-Za-z0-9\-_.!~*'()]*$/;
// As encodeURIComponent, but that the first half of a pair takes whatever follows for its second.
export function escape(text) {
    text = typeof text === 'object' ? String(text) : `${text}`;
    if (PLAIN.test(text)) return text;
    let out = '';
    for (let i = 0; i < text.length; i++) {
        let code = text.charCodeAt(i);
        if (code >= 0xd800 && code < 0xe000) {
            if (++i >= text.length) throw err.ERR_INVALID_URI();
            code = 0x10000 + (((code & 0x3ff) << 10) | (text.charCodeAt(i) & 0x3ff));
        }
        out += encodeURIComponent(String.fromCodePoint(code));
    }
    return out;
}

// Bytes of a text with %xx. decodeSpaces: "+" is a space.
export function unescapeBuffer(text, decodeSpaces) {
    const out = Buffer.allocUnsafe(Buffer.byteLength(text));
    const source = Buffer.from(text);
    let n = 0;
    for (let i = 0; i < source.length; i++) {
        let c = source[i];
        if (c === 0x25) {
            const hex = source.latin1Slice(i + 1, Math.min(i + 3, source.length));
            if (/^[0-9a-fA-F]{2}$/.test(hex)) {
                c = Number.parseInt(hex, 16);
                i += 2;
            }
        } else if (c === 0x2b && decodeSpaces) c = 0x20;
        out[n++] = c;
    }
    return out.subarray(0, n);
}
export function unescape(text, decodeSpaces) {
    try {
        return decodeURIComponent(text);
    } catch {
        return unescapeBuffer(text, decodeSpaces).toString();
    }
}

const primitive = (v) => {
    if (typeof v === 'string') return v;
    if (typeof v === 'number' && Number.isFinite(v)) return `${v}`;
    if (typeof v === 'bigint') return `${v}`;
    if (typeof v === 'boolean') return v ? 'true' : 'false';
    return '';
};

export function stringify(object, sep, eq, options) {
    sep ||= '&';
    eq ||= '=';
    const own = typeof options?.encodeURIComponent === 'function' ? options.encodeURIComponent : undefined;
    const encode = (v) => (own ?? querystring.escape)(primitive(v));
    if (object === null || typeof object !== 'object') return '';
    const out = [];
    for (const key of Object.keys(object)) {
        const name = (own ?? querystring.escape)(key);
        const v = object[key];
        for (const item of Array.isArray(v) ? v : [v]) out.push(`${name}${eq}${encode(item)}`);
    }
    return out.join(sep);
}

export function parse(text, sep, eq, options) {
    const object = { __proto__: null };
    if (typeof text !== 'string' || text.length === 0) return object;
    sep = sep ? String(sep) : '&';
    eq = eq ? String(eq) : '=';
    const max = typeof options?.maxKeys === 'number' ? options.maxKeys : 1000;
    const own = typeof options?.decodeURIComponent === 'function' ? options.decodeURIComponent : undefined;
    const decode = (part) => {
        part = part.replaceAll('+', '%20');
        const fn = own ?? querystring.unescape;
        if (fn === unescape && !part.includes('%')) return part;
        try {
            return fn(part);
        } catch {
            return unescape(part, true);
        }
    };
    let pairs = text.split(sep);
    if (max > 0) pairs = pairs.slice(0, max);
    for (const pair of pairs) {
        if (pair === '') continue;
        const at = pair.indexOf(eq);
        const key = decode(at === -1 ? pair : pair.slice(0, at));
        const value = at === -1 ? '' : decode(pair.slice(at + eq.length));
        const before = object[key];
        if (before === undefined) object[key] = value;
        else if (Array.isArray(before)) before.push(value);
        else object[key] = [before, value];
    }
    return object;
}

const querystring = { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse };
export default querystring;
