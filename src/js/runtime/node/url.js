// node/url.js: node:url: the old parser of URLs, and helpers for the new one.
import { err, validateObject, validateString } from './errors.js';
import { parse as parseQuery, stringify as stringifyQuery } from './querystring.js';
import { win32 } from './path.js';

const { url_parse } = host;
const { URL, URLSearchParams } = globalThis;

export function Url() {
    for (const key of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) this[key] = null;
}

const HOSTLESS = new Set(['javascript', 'javascript:']);
const SLASHED = new Set(['http', 'http:', 'https', 'https:', 'ftp', 'ftp:', 'gopher', 'gopher:', 'file', 'file:', 'ws', 'ws:', 'wss', 'wss:']);
const MAX_HOST = 255;
const ESCAPED = /[\t\n\r "'<>\\^`{|}]/g;
const FORBIDDEN = /[\0\t\n\r #%/:<>?@[\\\]^|]/;
const FORBIDDEN6 = /[\0\t\n\r #%/<>?@\\^|]/;

const invalid = (input) => Object.assign(err.ERR_INVALID_URL(), { input });

export function domainToASCII(domain) {
    const parts = url_parse(`ws://${domain}`, undefined);
    return parts === undefined ? '' : new URL(parts[0]).hostname;
}
export function domainToUnicode(domain) {
    const ascii = domainToASCII(domain);
    return ascii === '' ? '' : require('punycode/').toUnicode(ascii);
}

export function parse(url, parseQueryString, slashesDenoteHost) {
    if (url instanceof Url) return url;
    const u = new Url();
    u.parse(url, parseQueryString, slashesDenoteHost);
    return u;
}

Url.prototype.parse = function (url, parseQueryString, slashesDenoteHost) {
    validateString(url, 'url');
    let rest = url.replace(/^[\s\ufeff]+|[\s\ufeff]+$/g, '');
    const at = rest.search(/[?#]/);
    rest = at === -1 ? rest.replaceAll('\\', '/') : rest.slice(0, at).replaceAll('\\', '/') + rest.slice(at);
    if (!slashesDenoteHost && !/[#@]/.test(rest)) {
        const simple = /^(\/\/?(?!\/)[^?\s]*)(\?[^\s]*)?$/.exec(rest);
        if (simple !== null) {
            this.path = rest;
            this.href = rest;
            this.pathname = simple[1];
            if (simple[2]) {
                this.search = simple[2];
                this.query = parseQueryString ? parseQuery(this.search.slice(1)) : this.search.slice(1);
            } else if (parseQueryString) {
                this.search = null;
                this.query = { __proto__: null };
            }
            return this;
        }
    }
    const proto = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
    let lower;
    if (proto !== undefined) {
        lower = proto.toLowerCase();
        this.protocol = lower;
        rest = rest.slice(proto.length);
    }
    let slashes = false;
    if (slashesDenoteHost || proto || /^\/\/[^@/]+@[^@/]+/.test(rest)) {
        slashes = rest.startsWith('//');
        if (slashes && !(lower && HOSTLESS.has(lower))) {
            rest = rest.slice(2);
            this.slashes = true;
        }
    }
    if (!HOSTLESS.has(lower) && (slashes || (proto && !SLASHED.has(proto)))) rest = parseAuthority(this, rest, url);
    if (!HOSTLESS.has(lower)) rest = rest.replace(ESCAPED, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
    const hash = rest.indexOf('#');
    if (hash !== -1) {
        this.hash = rest.slice(hash);
        rest = rest.slice(0, hash);
    }
    const question = rest.indexOf('?');
    if (question !== -1) {
        this.search = rest.slice(question);
        this.query = rest.slice(question + 1);
        if (parseQueryString) this.query = parseQuery(this.query);
        rest = rest.slice(0, question);
    } else if (parseQueryString) {
        this.search = null;
        this.query = { __proto__: null };
    }
    if (rest !== '') this.pathname = rest;
    if (SLASHED.has(lower) && this.hostname && !this.pathname) this.pathname = '/';
    if (this.pathname || this.search) this.path = (this.pathname || '') + (this.search || '');
    this.href = this.format();
    return this;
};

// Takes [auth@]host[:port] off the beginning of rest.
function parseAuthority(u, rest, url) {
    let end = rest.search(/[#/?]/);
    if (end === -1) end = rest.length;
    const at = rest.lastIndexOf('@', end - 1 < 0 ? 0 : end - 1);
    let start = 0;
    if (at !== -1 && at < end && rest[at] === '@') {
        try {
            u.auth = decodeURIComponent(rest.slice(0, at));
        } catch {
            throw err.ERR_INVALID_URI();
        }
        start = at + 1;
    }
    const stop = rest.slice(start, end).search(/[\t\n\r "%';<>\\^`{|}]/);
    const authority = stop === -1 ? rest.slice(start, end) : rest.slice(start, start + stop);
    rest = stop === -1 ? rest.slice(end) : rest.slice(start + stop);
    u.host = authority;
    const port = /:[0-9]*$/.exec(authority)?.[0];
    let name = authority;
    if (port !== undefined) {
        if (port !== ':') u.port = port.slice(1);
        name = authority.slice(0, -port.length);
    }
    u.hostname = name;
    const six = name.startsWith('[') && name.endsWith(']');
    if (!six) {
        // A character that no host has ends it, and begins the path.
        const bad = name.search(/[^a-zA-Z0-9.\-_+\u0080-\uffff~!$&'()*,;=:]/);
        if (bad !== -1) {
            u.hostname = name.slice(0, bad);
            rest = `/${name.slice(bad)}${rest}`;
        }
    }
    if (u.hostname.length > MAX_HOST) u.hostname = '';
    else u.hostname = u.hostname.toLowerCase();
    if (u.hostname !== '') {
        if (six) {
            if (FORBIDDEN6.test(u.hostname)) throw invalid(url);
        } else {
            const ascii = /[^\x00-\x7f]|xn--/.test(u.hostname) ? domainToASCII(u.hostname) : u.hostname;
            if (ascii === '' || FORBIDDEN.test(ascii)) throw invalid(url);
            u.hostname = ascii;
        }
    }
    u.host = (u.hostname || '') + (u.port ? `:${u.port}` : '');
    if (six) {
        u.hostname = u.hostname.slice(1, -1);
        if (rest !== '' && rest[0] !== '/') rest = `/${rest}`;
        else if (rest === '') rest = '/';
    }
    return rest;
}

Url.prototype.format = function () {
    let auth = this.auth || '';
    if (auth) auth = `${encodeURIComponent(auth).replace(/%3A/i, ':')}@`;
    let protocol = this.protocol || '';
    let pathname = this.pathname || '';
    let hash = this.hash || '';
    let host = '';
    if (this.host) host = auth + this.host;
    else if (this.hostname) {
        host = auth + (this.hostname.includes(':') && !/^\[.*\]$/.test(this.hostname) ? `[${this.hostname}]` : this.hostname);
        if (this.port) host += `:${this.port}`;
    }
    const query = this.query !== null && typeof this.query === 'object' ? stringifyQuery(this.query) : '';
    let search = this.search || (query && `?${query}`) || '';
    if (protocol && !protocol.endsWith(':')) protocol += ':';
    pathname = pathname.replace(/[?#]/g, (c) => (c === '#' ? '%23' : '%3F'));
    if (this.slashes || SLASHED.has(protocol)) {
        if (this.slashes || host) {
            if (pathname && pathname[0] !== '/') pathname = `/${pathname}`;
            host = `//${host}`;
        } else if (protocol.startsWith('file')) {
            host = '//';
        }
    }
    search = search.replaceAll('#', '%23');
    if (hash && hash[0] !== '#') hash = `#${hash}`;
    if (search && search[0] !== '?') search = `?${search}`;
    return protocol + host + pathname + search + hash;
};

export function format(url, options) {
    if (typeof url === 'string') url = parse(url);
    else if (typeof url !== 'object' || url === null) throw err.ERR_INVALID_ARG_TYPE('urlObject', ['Object', 'string'], url);
    else if (url instanceof URL) {
        let { fragment = true, unicode = false, search = true, auth = true } = {};
        if (options !== undefined) {
            validateObject(options, 'options');
            ({ fragment = true, unicode = false, search = true, auth = true } = options);
        }
        const copy = new URL(url.href);
        if (!fragment) copy.hash = '';
        if (!search) copy.search = '';
        if (!auth) copy.username = copy.password = '';
        if (!unicode || copy.hostname === '') return copy.href;
        return copy.href.replace(copy.hostname, domainToUnicode(copy.hostname));
    } else if (!(url instanceof Url)) {
        return Url.prototype.format.call(url);
    }
    return url.format();
}

export const resolve = (source, relative) => parse(source, false, true).resolve(relative);
Url.prototype.resolve = function (relative) {
    return this.resolveObject(parse(relative, false, true)).format();
};
export function resolveObject(source, relative) {
    return source ? parse(source, false, true).resolveObject(relative) : relative;
}

Url.prototype.resolveObject = function (relative) {
    if (typeof relative === 'string') relative = parse(relative, false, true);
    const result = new Url();
    Object.assign(result, this);
    result.hash = relative.hash;
    if (relative.href === '') {
        result.href = result.format();
        return result;
    }
    if (relative.slashes && !relative.protocol) {
        const { protocol } = result;
        Object.assign(result, relative, { protocol });
        if (SLASHED.has(result.protocol) && result.hostname && !result.pathname) result.path = result.pathname = '/';
        result.href = result.format();
        return result;
    }
    if (relative.protocol && relative.protocol !== result.protocol) {
        if (!SLASHED.has(relative.protocol)) {
            Object.assign(result, relative);
            result.href = result.format();
            return result;
        }
        result.protocol = relative.protocol;
        if (!relative.host && !/^file:?$/.test(relative.protocol) && !HOSTLESS.has(relative.protocol)) {
            const pieces = (relative.pathname || '').split('/');
            while (pieces.length > 0 && !(relative.host = pieces.shift()));
            relative.host ||= '';
            relative.hostname ||= '';
            if (pieces[0] !== '') pieces.unshift('');
            if (pieces.length < 2) pieces.unshift('');
            result.pathname = pieces.join('/');
        } else {
            result.pathname = relative.pathname;
        }
        result.search = relative.search;
        result.query = relative.query;
        result.host = relative.host || '';
        result.auth = relative.auth;
        result.hostname = relative.hostname || relative.host;
        result.port = relative.port;
        if (result.pathname || result.search) result.path = (result.pathname || '') + (result.search || '');
        result.slashes ||= relative.slashes;
        result.href = result.format();
        return result;
    }
    return resolvePath(result, relative);
};

// Both are of one scheme: what differs are the paths.
function resolvePath(result, relative) {
    const sourceAbsolute = result.pathname?.[0] === '/';
    const relativeAbsolute = relative.host || relative.pathname?.[0] === '/';
    let mustBeAbsolute = relativeAbsolute || sourceAbsolute || (result.host && relative.pathname);
    const removeDots = mustBeAbsolute;
    let source = (result.pathname && result.pathname.split('/')) || [];
    const path = (relative.pathname && relative.pathname.split('/')) || [];
    const noHost = result.protocol && !SLASHED.has(result.protocol);
    if (noHost) {
        result.hostname = '';
        result.port = null;
        if (result.host) {
            if (source[0] === '') source[0] = result.host;
            else source.unshift(result.host);
        }
        result.host = '';
        if (relative.protocol) {
            relative.hostname = null;
            relative.port = null;
            result.auth = null;
            if (relative.host) {
                if (path[0] === '') path[0] = relative.host;
                else path.unshift(relative.host);
            }
            relative.host = null;
        }
        mustBeAbsolute = mustBeAbsolute && (path[0] === '' || source[0] === '');
    }
    if (relativeAbsolute) {
        if (relative.host || relative.host === '') {
            if (result.host !== relative.host) result.auth = null;
            result.host = relative.host;
            result.port = relative.port;
        }
        if (relative.hostname || relative.hostname === '') {
            if (result.hostname !== relative.hostname) result.auth = null;
            result.hostname = relative.hostname;
        }
        result.search = relative.search;
        result.query = relative.query;
        source = path;
    } else if (path.length > 0) {
        source.pop();
        source = source.concat(path);
        result.search = relative.search;
        result.query = relative.query;
    } else if (relative.search !== null && relative.search !== undefined) {
        if (noHost) {
            result.hostname = result.host = source.shift();
            splitAuth(result);
        }
        result.search = relative.search;
        result.query = relative.query;
        if (result.pathname !== null || result.search !== null) result.path = (result.pathname || '') + (result.search || '');
        result.href = result.format();
        return result;
    }
    if (source.length === 0) {
        result.pathname = null;
        result.path = result.search ? `/${result.search}` : null;
        result.href = result.format();
        return result;
    }
    const last = source[source.length - 1];
    const slashAtEnd = ((result.host || relative.host || source.length > 1) && (last === '.' || last === '..')) || last === '';
    let up = 0;
    for (let i = source.length - 1; i >= 0; i--) {
        if (source[i] === '.') source.splice(i, 1);
        else if (source[i] === '..') {
            source.splice(i, 1);
            up++;
        } else if (up > 0) {
            source.splice(i, 1);
            up--;
        }
    }
    if (!mustBeAbsolute && !removeDots) while (up-- > 0) source.unshift('..');
    if (mustBeAbsolute && source[0] !== '' && source[0]?.[0] !== '/') source.unshift('');
    if (slashAtEnd && !source.join('/').endsWith('/')) source.push('');
    const isAbsolute = source[0] === '' || source[0]?.[0] === '/';
    if (noHost) {
        result.hostname = result.host = isAbsolute ? '' : source.length > 0 ? source.shift() : '';
        splitAuth(result);
    }
    mustBeAbsolute ||= result.host && source.length > 0;
    if (mustBeAbsolute && !isAbsolute) source.unshift('');
    if (source.length === 0) {
        result.pathname = null;
        result.path = null;
    } else {
        result.pathname = source.join('/');
    }
    if (result.pathname !== null || result.search !== null) result.path = (result.pathname || '') + (result.search || '');
    result.auth = relative.auth || result.auth;
    result.slashes ||= relative.slashes;
    result.href = result.format();
    return result;
}
function splitAuth(result) {
    const at = result.host?.indexOf('@') ?? -1;
    if (at <= 0) return;
    result.auth = result.host.slice(0, at);
    result.host = result.hostname = result.host.slice(at + 1);
}

Url.prototype.parseHost = function () {
    const port = /:[0-9]*$/.exec(this.host)?.[0];
    let { host } = this;
    if (port !== undefined) {
        if (port !== ':') this.port = port.slice(1);
        host = host.slice(0, -port.length);
    }
    if (host) this.hostname = host;
};

// ---- Files

const isUrl = (v) => v instanceof URL || Boolean(v?.href && v.protocol && v.auth === undefined && v.path === undefined);

function filePath(url, windows) {
    if (url.protocol !== 'file:') throw err.ERR_INVALID_URL_SCHEME('file');
    const { pathname } = url;
    if (windows) {
        if (/%2f|%5c/i.test(pathname)) throw Object.assign(err.ERR_INVALID_FILE_URL_PATH('must not include encoded \\ or / characters'), { input: url });
        const path = decodeURIComponent(pathname.replaceAll('/', '\\'));
        if (url.hostname !== '') return `\\\\${domainToUnicode(url.hostname)}${path}`;
        if (!/^\\[a-zA-Z]:/.test(path)) throw Object.assign(err.ERR_INVALID_FILE_URL_PATH('must be absolute'), { input: url });
        return path.slice(1);
    }
    if (url.hostname !== '') throw err.ERR_INVALID_FILE_URL_HOST('linux');
    if (/%2f/i.test(pathname)) throw Object.assign(err.ERR_INVALID_FILE_URL_PATH('must not include encoded / characters'), { input: url });
    return decodeURIComponent(pathname);
}
export function fileURLToPath(path, options) {
    if (typeof path === 'string') path = new URL(path);
    else if (!isUrl(path)) throw err.ERR_INVALID_ARG_TYPE('path', ['string', 'URL'], path);
    return filePath(path, options?.windows === true);
}
export const fileURLToPathBuffer = (path, options) => globalThis.Buffer.from(fileURLToPath(path, options));

export function pathToFileURL(path, options) {
    validateString(path, 'path');
    const windows = options?.windows === true;
    const encode = (text) => text.replace(/[%\\\n\r\t?#]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
    const p = require('./path.js');
    if (windows && path.startsWith('\\\\')) {
        const [, , server, ...rest] = path.split('\\');
        if (!server || rest.length === 0) throw err.ERR_INVALID_ARG_VALUE('path', path, 'Missing UNC resource path');
        const url = new URL('file:///');
        url.hostname = domainToASCII(server);
        url.pathname = `/${rest.map(encode).join('/')}`;
        return url;
    }
    let full = windows ? win32.resolve(path) : p.posix.resolve(path);
    if (/[\\/]$/.test(path) && !/[\\/]$/.test(full)) full += windows ? '\\' : '/';
    if (windows) return new URL(`file:///${full.split('\\').map((piece) => piece.replace(/[%\n\r\t?#]/g, encode)).join('/')}`);
    return new URL(`file://${encode(full)}`);
}

export function urlToHttpOptions(url) {
    const options = {
        __proto__: null,
        ...url,
        protocol: url.protocol,
        hostname: typeof url.hostname === 'string' && url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
        hash: url.hash,
        search: url.search,
        pathname: url.pathname,
        path: `${url.pathname || ''}${url.search || ''}`,
        href: url.href,
    };
    if (url.port !== '') options.port = Number(url.port);
    if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    return options;
}

export default {
    Url,
    parse,
    resolve,
    resolveObject,
    format,
    URL,
    URLSearchParams,
    domainToASCII,
    domainToUnicode,
    pathToFileURL,
    fileURLToPath,
    fileURLToPathBuffer,
    urlToHttpOptions,
};
