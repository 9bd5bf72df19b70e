// encoding.js: TextEncoder and TextDecoder, atob and btoa. runtime.md 5.3.
import { expose } from './core.js';
import { DOMException } from './events.js';
import { encodingOf } from './encoding_labels.js';

const { utf8_encode, utf8_into, utf8_decode, utf8_decode_part, legacy_table, legacy_decode } = host;
const typedArrayTag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const { apply } = Reflect;

export const encodeUtf8 = utf8_encode;

// UTF-8 as bodies are read: a byte order mark is dropped.
export function decodeUtf8(bytes) {
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
    return utf8_decode(bytes, false);
}

export class TextEncoder {
    #brand;
    get encoding() {
        this.#brand;
        return 'utf-8';
    }
    encode(input = '') {
        this.#brand;
        return utf8_encode(input);
    }
    encodeInto(source, destination) {
        this.#brand;
        if (arguments.length < 2) throw new TypeError(`Failed to execute 'encodeInto' on 'TextEncoder': 2 arguments required, but only ${arguments.length} present.`);
        source = `${source}`;
        if (apply(typedArrayTag, destination, []) !== 'Uint8Array') throw new TypeError("Failed to execute 'encodeInto' on 'TextEncoder': parameter 2 is not of type 'Uint8Array'.");
        // A unit takes a byte at least: what is longer than the room is not looked at.
        const room = destination.length;
        const [read, written] = utf8_into(source.length > room ? source.slice(0, room) : source, destination);
        return { read, written };
    }
}

const MARK = 0xfeff;
const BOM = new Set(['utf-8', 'utf-16le', 'utf-16be']);
const NOTHING = new Uint8Array(0);
const tables = new Map(); // encoding -> ArrayBuffer

function tableOf(encoding) {
    let table = tables.get(encoding);
    if (table === undefined) tables.set(encoding, (table = legacy_table(encoding)));
    return table;
}

export function dictionary(options) {
    if (options === undefined || options === null) return undefined;
    if (typeof options !== 'object' && typeof options !== 'function') throw new TypeError('The options are not an object.');
    return options;
}

export class TextDecoder {
    #encoding = 'utf-8';
    #fatal = false;
    #ignoreBOM = false;
    #state = null; // of the host, in the middle of a stream
    #streaming = false;
    #begun = false; // the place for a byte order mark is behind us

    constructor(label = 'utf-8', options = undefined) {
        const name = encodingOf.get(`${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase());
        if (name === undefined || name === 'replacement') throw new RangeError(`"${label}" is not a valid encoding.`);
        this.#encoding = name;
        options = dictionary(options);
        if (options !== undefined) {
            this.#fatal = Boolean(options.fatal);
            this.#ignoreBOM = Boolean(options.ignoreBOM);
        }
    }
    get encoding() {
        return this.#encoding;
    }
    get fatal() {
        return this.#fatal;
    }
    get ignoreBOM() {
        return this.#ignoreBOM;
    }
    decode(input = NOTHING, options = undefined) {
        options = dictionary(options);
        const stream = options !== undefined && Boolean(options.stream);
        if (!this.#streaming) this.#begun = false;
        const text = this.#encoding === 'utf-8' && !this.#streaming && !stream ? utf8_decode(input, this.#fatal) : this.#part(input, !stream);
        if (text === undefined) {
            this.#streaming = false;
            throw new TypeError('Failed to decode input.');
        }
        this.#streaming = stream;
        if (this.#begun || text === '') return text;
        this.#begun = true;
        return !this.#ignoreBOM && text.charCodeAt(0) === MARK && BOM.has(this.#encoding) ? text.slice(1) : text;
    }
    #part(input, last) {
        const state = (this.#state ??= new Uint8Array(8));
        if (this.#encoding === 'utf-8') return utf8_decode_part(input, this.#fatal, state, last);
        return legacy_decode(input, this.#fatal, state, last, this.#encoding, tableOf(this.#encoding));
    }
}

const NOT_BASE64 =
    "atob() called with invalid base64-encoded data. (Only whitespace, '+', '/', alphanumeric ASCII characters, and up to two " +
    "terminal '=' signs when the input data length is divisible by 4 are allowed.)";

const functions = {
    atob(data) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'atob': 1 argument required, but only 0 present.");
        const bytes = host.atob(`${data}`);
        if (bytes === undefined) throw new DOMException(NOT_BASE64, 'InvalidCharacterError');
        return bytes;
    },
    btoa(data) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'btoa': 1 argument required, but only 0 present.");
        const text = host.btoa(`${data}`);
        if (text === undefined) throw new DOMException('btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.', 'InvalidCharacterError');
        return text;
    },
};
expose({ TextEncoder, TextDecoder, ...functions });
