// url.js: URL and URLSearchParams over ada. runtime.md 5.3; URL standard.
//
// The host parses; what it gives is the text of the URL and where its parts begin and end, so that a part is cut out when somebody
// asks for it.
import { expose } from './core.js';
import { encodeUtf8 } from './encoding.js';

const { url_parse, url_parts, url_set, utf8_decode } = host;

// The URL as the WHATWG writes it, or a TypeError that says what is wrong.
export function parseUrl(text, message) {
    const href = url_parts(text, undefined, undefined);
    if (href === undefined) throw new TypeError(`${message}${text}`);
    return href;
}

// Positions in what url_parse gives.
const HREF = 0, PROTOCOL_END = 1, USERNAME_END = 2, HOST_START = 3, HOST_END = 4, PORT = 5, PATHNAME = 6, SEARCH = 7, HASH = 8, ORIGIN = 9;
// What url_set sets.
const SET_PROTOCOL = 0, SET_USERNAME = 1, SET_PASSWORD = 2, SET_HOST = 3, SET_HOSTNAME = 4, SET_PORT = 5, SET_PATHNAME = 6, SET_SEARCH = 7, SET_HASH = 8;

const needArguments = (count, given, what) => {
    if (given < count) throw new TypeError(`${what}: ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};
const places = new Int32Array(8);
function parse(url, base) {
    const href = url_parts(`${url}`, base === undefined ? undefined : `${base}`, places);
    return href === undefined ? undefined : [href, places[0], places[1], places[2], places[3], places[4], places[5], places[6], places[7], undefined];
}

export class URL {
    #parts;
    #params = null; // URLSearchParams

    constructor(url, base = undefined) {
        needArguments(1, arguments.length, "Failed to construct 'URL'");
        const parts = url === PARSED ? base : parse(url, base);
        if (parts === undefined) throw new TypeError('Invalid URL string.');
        this.#parts = parts;
    }

    static canParse(url, base = undefined) {
        needArguments(1, arguments.length, "Failed to execute 'canParse' on 'URL'");
        return url_parts(`${url}`, base === undefined ? undefined : `${base}`, undefined) !== undefined;
    }
    static parse(url, base = undefined) {
        needArguments(1, arguments.length, "Failed to execute 'parse' on 'URL'");
        const parts = parse(url, base);
        return parts === undefined ? null : new URL(PARSED, parts);
    }
    static createObjectURL() {
        throw new Error('URL.createObjectURL() is not implemented');
    }
    static revokeObjectURL() {
        throw new Error('URL.revokeObjectURL() is not implemented');
    }

    #set(which, value) {
        const parts = url_set(this.#parts[HREF], which, `${value}`);
        if (parts !== undefined) this.#parts = parts;
    }
    // Where the host begins: ada counts the @ before it.
    #hostStart() {
        const parts = this.#parts;
        const start = parts[HOST_START];
        return parts[HOST_END] > start && parts[HREF][start] === '@' ? start + 1 : start;
    }

    get href() {
        return this.#parts[HREF];
    }
    set href(value) {
        const parts = parse(value, undefined);
        if (parts === undefined) throw new TypeError('Invalid URL string.');
        this.#parts = parts;
        this.#reload();
    }
    get origin() {
        return (this.#parts[ORIGIN] ??= url_parse(this.#parts[HREF], undefined)[ORIGIN]);
    }
    get protocol() {
        return this.#parts[HREF].slice(0, this.#parts[PROTOCOL_END]);
    }
    set protocol(value) {
        this.#set(SET_PROTOCOL, value);
    }
    get username() {
        const parts = this.#parts;
        const start = parts[PROTOCOL_END] + 2;
        return start < parts[USERNAME_END] ? parts[HREF].slice(start, parts[USERNAME_END]) : '';
    }
    set username(value) {
        this.#set(SET_USERNAME, value);
    }
    get password() {
        const parts = this.#parts;
        return parts[HOST_START] > parts[USERNAME_END] ? parts[HREF].slice(parts[USERNAME_END] + 1, parts[HOST_START]) : '';
    }
    set password(value) {
        this.#set(SET_PASSWORD, value);
    }
    get host() {
        const start = this.#hostStart();
        return start === this.#parts[HOST_END] ? '' : this.#parts[HREF].slice(start, this.#parts[PATHNAME]);
    }
    set host(value) {
        this.#set(SET_HOST, value);
    }
    get hostname() {
        return this.#parts[HREF].slice(this.#hostStart(), this.#parts[HOST_END]);
    }
    set hostname(value) {
        this.#set(SET_HOSTNAME, value);
    }
    get port() {
        return this.#parts[PORT] < 0 ? '' : `${this.#parts[PORT]}`;
    }
    set port(value) {
        this.#set(SET_PORT, value);
    }
    get pathname() {
        const parts = this.#parts;
        const end = parts[SEARCH] >= 0 ? parts[SEARCH] : parts[HASH] >= 0 ? parts[HASH] : undefined;
        return parts[HREF].slice(parts[PATHNAME], end);
    }
    set pathname(value) {
        this.#set(SET_PATHNAME, value);
    }
    get search() {
        const parts = this.#parts;
        if (parts[SEARCH] < 0) return '';
        const search = parts[HREF].slice(parts[SEARCH], parts[HASH] >= 0 ? parts[HASH] : undefined);
        return search === '?' ? '' : search;
    }
    set search(value) {
        this.#set(SET_SEARCH, value);
        this.#reload();
    }
    get hash() {
        const parts = this.#parts;
        if (parts[HASH] < 0) return '';
        const hash = parts[HREF].slice(parts[HASH]);
        return hash === '#' ? '' : hash;
    }
    set hash(value) {
        this.#set(SET_HASH, value);
    }
    get searchParams() {
        return (this.#params ??= newParams(this.search.slice(1), (text) => this.#set(SET_SEARCH, text)));
    }
    toString() {
        return this.#parts[HREF];
    }
    toJSON() {
        return this.#parts[HREF];
    }

    // The parameters follow the URL.
    #reload() {
        if (this.#params !== null) replaceParams(this.#params, this.search.slice(1));
    }

    // What somebody needs who connects to it; undefined: not valid.
    static parts(text) {
        const parts = parse(text, undefined);
        if (parts === undefined) return undefined;
        const url = new URL(PARSED, parts);
        return { href: parts[HREF], protocol: url.protocol, host: url.host, hostname: url.hostname, port: url.port, path: url.pathname + url.search };
    }
    static isURL = (v) => typeof v === 'object' && v !== null && #parts in v;
}
const PARSED = Object.freeze({ toString: () => 'parsed' });
export const { isURL, parts: parseUrlParts } = URL;
delete URL.isURL;
delete URL.parts;

// ---- application/x-www-form-urlencoded

const SPECIAL = /[%+]/;
const ODD = /[!'()~]|%20/g;
const encodeOdd = (c) => (c === '%20' ? '+' : `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const PLAIN = /^[\w*.-]*$/;

const wellFormed = (text) => (text.isWellFormed() ? text : text.toWellFormed());

function decodePart(text) {
    if (!SPECIAL.test(text)) return wellFormed(text);
    text = text.replaceAll('+', ' ');
    if (!text.includes('%')) return wellFormed(text);
    const bytes = encodeUtf8(text);
    let to = 0;
    for (let i = 0; i < bytes.length; i++, to++) {
        const high = bytes[i] === 0x25 ? hex(bytes[i + 1]) : -1;
        const low = high >= 0 ? hex(bytes[i + 2]) : -1;
        if (low < 0) bytes[to] = bytes[i];
        else {
            bytes[to] = high * 16 + low;
            i += 2;
        }
    }
    return utf8_decode(bytes.subarray(0, to), false);
}
const hex = (c) => (c >= 48 && c <= 57 ? c - 48 : c >= 65 && c <= 70 ? c - 55 : c >= 97 && c <= 102 ? c - 87 : -1);

const encodePart = (text) => (PLAIN.test(text) ? text : encodeURIComponent(text).replace(ODD, encodeOdd));

const asItIs = (text) => text;
function parsePairs(text) { // [name, value, ...]
    const pairs = [];
    if (text === '') return pairs;
    const decode = !SPECIAL.test(text) && text.isWellFormed() ? asItIs : decodePart;
    for (const piece of text.split('&')) {
        if (piece === '') continue;
        const at = piece.indexOf('=');
        pairs.push(decode(at < 0 ? piece : piece.slice(0, at)), at < 0 ? '' : decode(piece.slice(at + 1)));
    }
    return pairs;
}

const string = (v) => wellFormed(`${v}`);

export class URLSearchParams {
    #pairs; // [name, value, ...]
    #changed = null; // (text) => void: of the URL that these belong to

    constructor(init = '') {
        if (init !== null && (typeof init === 'object' || typeof init === 'function')) this.#pairs = pairsOf(init);
        else {
            const text = `${init}`;
            this.#pairs = parsePairs(text[0] === '?' ? text.slice(1) : text);
        }
    }

    #tell() {
        if (this.#changed !== null) this.#changed(this.toString());
    }

    get size() {
        return this.#pairs.length / 2;
    }
    append(name, value) {
        const pairs = this.#pairs;
        needArguments(2, arguments.length, "Failed to execute 'append' on 'URLSearchParams'");
        pairs.push(string(name), string(value));
        this.#tell();
    }
    delete(name, value = undefined) {
        const pairs = this.#pairs;
        needArguments(1, arguments.length, "Failed to execute 'delete' on 'URLSearchParams'");
        name = string(name);
        if (value !== undefined) value = string(value);
        let to = 0;
        for (let i = 0; i < pairs.length; i += 2) {
            if (pairs[i] === name && (value === undefined || pairs[i + 1] === value)) continue;
            pairs[to++] = pairs[i];
            pairs[to++] = pairs[i + 1];
        }
        pairs.length = to;
        this.#tell();
    }
    get(name) {
        const pairs = this.#pairs;
        needArguments(1, arguments.length, "Failed to execute 'get' on 'URLSearchParams'");
        name = string(name);
        for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return pairs[i + 1];
        return null;
    }
    getAll(name) {
        const pairs = this.#pairs;
        needArguments(1, arguments.length, "Failed to execute 'getAll' on 'URLSearchParams'");
        name = string(name);
        const values = [];
        for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) values.push(pairs[i + 1]);
        return values;
    }
    has(name, value = undefined) {
        const pairs = this.#pairs;
        needArguments(1, arguments.length, "Failed to execute 'has' on 'URLSearchParams'");
        name = string(name);
        if (value !== undefined) value = string(value);
        for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name && (value === undefined || pairs[i + 1] === value)) return true;
        return false;
    }
    set(name, value) {
        const pairs = this.#pairs;
        needArguments(2, arguments.length, "Failed to execute 'set' on 'URLSearchParams'");
        name = string(name);
        value = string(value);
        let to = 0;
        let found = false;
        for (let i = 0; i < pairs.length; i += 2) {
            if (pairs[i] === name) {
                if (found) continue;
                found = true;
                pairs[to++] = name;
                pairs[to++] = value;
            } else {
                pairs[to++] = pairs[i];
                pairs[to++] = pairs[i + 1];
            }
        }
        pairs.length = to;
        if (!found) pairs.push(name, value);
        this.#tell();
    }
    sort() {
        const pairs = this.#pairs;
        const order = [];
        for (let i = 0; i < pairs.length; i += 2) order.push([pairs[i], pairs[i + 1]]);
        order.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
        for (let i = 0; i < order.length; i++) [pairs[2 * i], pairs[2 * i + 1]] = order[i];
        this.#tell();
    }
    forEach(callback, self = undefined) {
        this.#pairs; // The brand.
        needArguments(1, arguments.length, "Failed to execute 'forEach' on 'URLSearchParams'");
        if (typeof callback !== 'function') throw new TypeError("Failed to execute 'forEach' on 'URLSearchParams': parameter 1 is not of type 'Function'.");
        for (let i = 0; i < this.#pairs.length; i += 2) callback.call(self, this.#pairs[i + 1], this.#pairs[i], this);
    }
    #iterate(kind) {
        this.#pairs; // The brand.
        return new Pairs(this, kind);
    }
    keys() {
        return this.#iterate(0);
    }
    values() {
        return this.#iterate(1);
    }
    entries() {
        return this.#iterate(2);
    }
    toString() {
        const pairs = this.#pairs;
        let text = '';
        for (let i = 0; i < pairs.length; i += 2) text += `${i > 0 ? '&' : ''}${encodePart(pairs[i])}=${encodePart(pairs[i + 1])}`;
        return text;
    }

    static internals = {
        of: (params) => params.#pairs,
        isParams: (v) => typeof v === 'object' && v !== null && #pairs in v,
        make(text, changed) {
            const params = new URLSearchParams();
            params.#pairs = parsePairs(text);
            params.#changed = changed;
            return params;
        },
        replace: (params, text) => (params.#pairs = parsePairs(text)),
    };
}
const { of: listOf, make: newParams, replace: replaceParams, isParams } = URLSearchParams.internals;
export { isParams };
delete URLSearchParams.internals;
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

// A sequence of pairs or a record.
function pairsOf(init) {
    const pairs = [];
    const iterate = init[Symbol.iterator];
    if (iterate !== undefined && iterate !== null) {
        if (typeof iterate !== 'function') throw new TypeError("Failed to construct 'URLSearchParams': the argument is not iterable.");
        if (isParams(init) && iterate === URLSearchParams.prototype.entries) return listOf(init).slice();
        for (const item of init) {
            if (item === null || (typeof item !== 'object' && typeof item !== 'function') || typeof item[Symbol.iterator] !== 'function') throw new TypeError('Invalid URL search params sequence.');
            const pair = [...item];
            if (pair.length !== 2) throw new TypeError('Invalid URL search params sequence.');
            pairs.push(string(pair[0]), string(pair[1]));
        }
        return pairs;
    }
    const record = new Map();
    for (const key of Reflect.ownKeys(init)) {
        if (!Reflect.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
        if (typeof key === 'string') record.set(string(key), string(init[key]));
    }
    for (const [name, value] of record) pairs.push(name, value);
    return pairs;
}

// An iterator over parameters; what changes meanwhile is seen.
class Pairs {
    #params;
    #kind;
    #at = 0;
    constructor(params, kind) {
        this.#params = params;
        this.#kind = kind;
    }
    next() {
        const pairs = listOf(this.#params);
        const at = this.#at;
        if (at >= pairs.length) return { value: undefined, done: true };
        this.#at += 2;
        return { value: this.#kind === 2 ? [pairs[at], pairs[at + 1]] : pairs[at + this.#kind], done: false };
    }
}
delete Pairs.prototype.constructor;
Object.setPrototypeOf(Pairs.prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
Object.defineProperty(Pairs.prototype, 'next', { enumerable: true });
Object.defineProperty(Pairs.prototype, Symbol.toStringTag, { value: 'URLSearchParams Iterator', configurable: true });

expose({ URL, URLSearchParams });
