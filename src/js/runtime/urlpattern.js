// urlpattern.js: URLPattern. runtime.md 5.3; URL Pattern standard.
//
// A pattern is eight patterns, one for each component of a URL. Each is read as tokens, these as parts (fixed text, :names, groups,
// wildcards), and the parts make a regular expression and the text that the component's attribute shows.
import { expose } from './core.js';
import { URL } from './url.js';

const { url_parse, url_set } = host;

const COMPONENTS = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];
const SPECIAL = { __proto__: null, http: '80', https: '443', ws: '80', wss: '443', ftp: '21', file: '' };

// ---- Canonical forms: what a URL would make of a component

const DUMMY = 'https://dummy.invalid/';
const SET = { username: 1, password: 2, hostname: 4, port: 5, pathname: 6, search: 7, hash: 8 };
const getters = Object.fromEntries(COMPONENTS.map((name) => [name, Object.getOwnPropertyDescriptor(URL.prototype, name).get]));
const read = (href, name) => getters[name].call(new URL(href));

function canonical(name, value, base = DUMMY) {
    if (value === '') return '';
    const parts = url_set(base, SET[name], value);
    if (parts === undefined) throw new TypeError(`Invalid ${name}: ${value}`);
    return read(parts[0], name);
}
const canonicalProtocol = (value) => {
    if (value === '') return '';
    const parts = /^[A-Za-z0-9+.-]*$/.test(value) ? url_parse(`${value}://dummy.invalid/`, undefined) : undefined;
    if (parts === undefined) throw new TypeError(`Invalid protocol: ${value}`);
    return read(parts[0], 'protocol').slice(0, -1);
};
const canonicalUsername = (value) => canonical('username', value);
const canonicalPassword = (value) => canonical('password', value);
const canonicalHostname = (value) => canonical('hostname', value);
const canonicalIPv6 = (value) => {
    if (!/^[0-9a-fA-F[\]:]*$/.test(value)) throw new TypeError(`Invalid hostname: ${value}`);
    return value.toLowerCase();
};
const canonicalPort = (value, protocol) => canonical('port', value, protocol !== undefined && protocol !== '' && url_parse(`${protocol}://dummy.invalid/`, undefined) !== undefined ? `${protocol}://dummy.invalid/` : DUMMY);
const canonicalPathname = (value) => {
    if (value === '' || value[0] === '/') return canonical('pathname', value);
    return canonical('pathname', `/-${value}`).slice(2);
};
const canonicalOpaque = (value) => {
    if (value === '') return '';
    const parts = url_parse(`data:${value}`, undefined);
    if (parts === undefined) throw new TypeError(`Invalid pathname: ${value}`);
    return read(parts[0], 'pathname');
};
const canonicalSearch = (value) => canonical('search', value).slice(1);
const canonicalHash = (value) => canonical('hash', value).slice(1);

// ---- Tokens

const OPEN = 0, CLOSE = 1, REGEXP = 2, NAME = 3, CHAR = 4, ESCAPED = 5, MODIFIER = 6, ASTERISK = 7, END = 8, INVALID = 9;
const NAME_START = /[$_\p{ID_Start}]/u;
const NAME_PART = /[$_\u200C\u200D\p{ID_Continue}]/u;
const ASCII = /^[\x00-\x7f]$/;

// text: an array of code points. Tokens: { type, index, value }. lenient: what makes no sense is INVALID instead of an exception.
function tokenize(text, lenient) {
    const tokens = [];
    let at = 0;
    const add = (type, end, from = at, to = end) => {
        tokens.push({ type, index: at, value: text.slice(from, to).join('') });
        at = end;
    };
    const bad = (end, why) => {
        if (!lenient) throw new TypeError(`Invalid pattern "${text.join('')}": ${why} at ${at}`);
        add(INVALID, end);
    };
    while (at < text.length) {
        const c = text[at];
        if (c === '*') add(ASTERISK, at + 1);
        else if (c === '+' || c === '?') add(MODIFIER, at + 1);
        else if (c === '\\') {
            if (at === text.length - 1) bad(at + 1, 'nothing is escaped');
            else add(ESCAPED, at + 2, at + 1);
        } else if (c === '{') add(OPEN, at + 1);
        else if (c === '}') add(CLOSE, at + 1);
        else if (c === ':') {
            let end = at + 1;
            while (end < text.length && (end === at + 1 ? NAME_START : NAME_PART).test(text[end])) end++;
            if (end === at + 1) bad(at + 1, 'a name is missing');
            else add(NAME, end, at + 1);
        } else if (c === '(') {
            const end = groupEnd(text, at + 1);
            if (end < 0 || end === at + 2) bad(at + 1, 'a group is malformed');
            else add(REGEXP, end, at + 1, end - 1);
        } else add(CHAR, at + 1);
    }
    tokens.push({ type: END, index: text.length, value: '' });
    return tokens;
}

// The position behind the ) of a group; -1: malformed.
function groupEnd(text, start) {
    let depth = 1;
    for (let i = start; i < text.length; i++) {
        const c = text[i];
        if (!ASCII.test(c) || (i === start && c === '?')) return -1;
        if (c === '\\') {
            if (i === text.length - 1 || !ASCII.test(text[i + 1])) return -1;
            i++;
        } else if (c === ')') {
            if (--depth === 0) return i + 1;
        } else if (c === '(') {
            depth++;
            if (text[i + 1] !== '?') return -1; // Capturing groups are ours.
        }
    }
    return -1;
}

// ---- Parts

const FIXED = 0, REGEX = 1, SEGMENT = 2, FULL = 3;

const escapeRegExp = (text) => text.replace(/[.+*?^${}()[\]|/\\]/g, '\\$&');
const escapePattern = (text) => text.replace(/[+*?:{}()\\]/g, '\\$&');
const segmentOf = (options) => `[^${escapeRegExp(options.delimiter)}]+?`;

function parseParts(input, options, encode) {
    const tokens = tokenize([...input], false);
    const segment = segmentOf(options);
    const parts = [];
    const names = new Set();
    let at = 0, pending = '', number = 0;
    const take = (type) => (tokens[at].type === type ? tokens[at++] : null);
    const takeGroup = (name) => take(REGEXP) ?? (name === null ? take(ASTERISK) : null);
    const takeModifier = () => (take(MODIFIER) ?? take(ASTERISK))?.value ?? '';
    const need = (type) => {
        if (take(type) === null) throw new TypeError(`Invalid pattern "${input}": unexpected "${tokens[at].value}" at ${tokens[at].index}`);
    };
    const takeText = () => {
        let text = '';
        for (let t; (t = take(CHAR) ?? take(ESCAPED)) !== null; ) text += t.value;
        return text;
    };
    const flush = () => {
        if (pending !== '') parts.push({ type: FIXED, value: encode(pending), modifier: '', name: '', prefix: '', suffix: '' });
        pending = '';
    };
    const add = (prefix, name, group, suffix, modifier) => {
        if (name === null && group === null && modifier === '') {
            pending += prefix;
            return;
        }
        flush();
        if (name === null && group === null) {
            if (prefix !== '') parts.push({ type: FIXED, value: encode(prefix), modifier, name: '', prefix: '', suffix: '' });
            return;
        }
        let value = group === null ? segment : group.type === ASTERISK ? '.*' : group.value;
        const type = value === segment ? SEGMENT : value === '.*' ? FULL : REGEX;
        if (type !== REGEX) value = '';
        const key = name !== null ? name.value : `${number++}`;
        if (names.has(key)) throw new TypeError(`Invalid pattern "${input}": the name "${key}" occurs twice`);
        names.add(key);
        parts.push({ type, value, modifier, name: key, prefix: encode(prefix), suffix: encode(suffix) });
    };
    while (at < tokens.length) {
        const char = take(CHAR);
        const name = take(NAME);
        const group = takeGroup(name);
        if (name !== null || group !== null) {
            let prefix = char === null ? '' : char.value;
            if (prefix !== '' && prefix !== options.prefix) {
                pending += prefix;
                prefix = '';
            }
            flush();
            add(prefix, name, group, '', takeModifier());
            continue;
        }
        const fixed = char ?? take(ESCAPED);
        if (fixed !== null) {
            pending += fixed.value;
            continue;
        }
        if (take(OPEN) !== null) {
            const prefix = takeText();
            const inner = take(NAME);
            const innerGroup = takeGroup(inner);
            const suffix = takeText();
            need(CLOSE);
            add(prefix, inner, innerGroup, suffix, takeModifier());
            continue;
        }
        flush();
        need(END);
    }
    return parts;
}

function regExpOf(parts, options) {
    let source = '^';
    for (const { type, value, modifier, prefix, suffix } of parts) {
        if (type === FIXED) {
            source += modifier === '' ? escapeRegExp(value) : `(?:${escapeRegExp(value)})${modifier}`;
            continue;
        }
        const inner = type === SEGMENT ? segmentOf(options) : type === FULL ? '.*' : value;
        const once = modifier === '' || modifier === '?';
        if (prefix === '' && suffix === '') {
            source += once ? `(${inner})${modifier}` : `((?:${inner})${modifier})`;
            continue;
        }
        const before = escapeRegExp(prefix), after = escapeRegExp(suffix);
        if (once) source += `(?:${before}(${inner})${after})${modifier}`;
        else source += `(?:${before}((?:${inner})(?:${after}${before}(?:${inner}))*)${after})${modifier === '*' ? '?' : ''}`;
    }
    try {
        return new RegExp(`${source}$`, options.ignoreCase ? 'vi' : 'v');
    } catch (error) {
        throw new TypeError(`Invalid pattern: ${error.message}`);
    }
}

const isNumber = (name) => name[0] >= '0' && name[0] <= '9';
const firstOf = (text) => String.fromCodePoint(text.codePointAt(0));

function textOf(parts, options) {
    let text = '';
    for (let i = 0; i < parts.length; i++) {
        const { type, value, modifier, name, prefix, suffix } = parts[i];
        if (type === FIXED) {
            text += modifier === '' ? escapePattern(value) : `{${escapePattern(value)}}${modifier}`;
            continue;
        }
        const before = parts[i - 1], next = parts[i + 1];
        const named = !isNumber(name);
        let grouped = suffix !== '' || (prefix !== '' && prefix !== options.prefix);
        if (!grouped && named && type === SEGMENT && modifier === '' && next !== undefined && next.prefix === '' && next.suffix === '') {
            grouped = next.type === FIXED ? NAME_PART.test(firstOf(next.value)) : isNumber(next.name);
        }
        if (!grouped && prefix === '' && before !== undefined && before.type === FIXED && options.prefix !== '') grouped = before.value.endsWith(options.prefix);
        if (grouped) text += '{';
        text += escapePattern(prefix);
        if (named) text += `:${name}`;
        if (type === REGEX) text += `(${value})`;
        else if (type === SEGMENT) text += named ? '' : `(${segmentOf(options)})`;
        else if (!named && (before === undefined || before.type === FIXED || before.modifier !== '' || grouped || prefix !== '')) text += '*';
        else text += '(.*)';
        if (type === SEGMENT && named && suffix !== '' && NAME_PART.test(firstOf(suffix))) text += '\\';
        text += escapePattern(suffix);
        if (grouped) text += '}';
        text += modifier;
    }
    return text;
}

function compile(input, options, encode) {
    const parts = parseParts(input, options, encode);
    return {
        text: textOf(parts, options),
        regExp: regExpOf(parts, options),
        names: parts.filter((p) => p.type !== FIXED).map((p) => p.name),
        hasGroups: parts.some((p) => p.type === REGEX),
        matchesAll: parts.length === 1 && parts[0].type === FULL && parts[0].modifier === '' && parts[0].prefix === '' && parts[0].suffix === '',
    };
}
const PLAIN = { delimiter: '', prefix: '', ignoreCase: false };
const HOSTNAME = { delimiter: '.', prefix: '', ignoreCase: false };
const isSpecial = (protocol) => Object.keys(SPECIAL).some((scheme) => protocol.regExp.test(scheme));

// ---- A pattern of a whole URL in one text

function splitPattern(input) {
    const text = [...input];
    const tokens = tokenize(text, true);
    const result = {};
    let state = 'init', start = 0, at = 0, step = 1, groups = 0, brackets = 0, special = false;
    const tokenAt = (i) => tokens[i < tokens.length ? i : tokens.length - 1];
    const is = (i, value) => {
        const t = tokenAt(i);
        return t.value === value && (t.type === CHAR || t.type === ESCAPED || t.type === INVALID);
    };
    const isSearch = () => {
        if (is(at, '?')) return true;
        if (tokens[at].value !== '?') return false;
        const before = at === 0 ? undefined : tokens[at - 1].type;
        return before !== NAME && before !== REGEXP && before !== CLOSE && before !== ASTERISK;
    };
    const isHash = () => is(at, '#');
    const component = () => text.slice(tokenAt(start).index, tokens[at].index).join('');
    const go = (next, skip) => {
        if (state !== 'init' && state !== 'authority' && state !== 'done') result[state] = component();
        if (state !== 'init' && next !== 'done') {
            const order = ['protocol', 'authority', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];
            const from = order.indexOf(state), to = order.indexOf(next);
            if (from < 4 && to > 4) result.hostname ??= '';
            if (from < 6 && to > 6) result.pathname ??= special ? '/' : '';
            if (from < 7 && to > 7) result.search ??= '';
        }
        state = next;
        at += skip;
        start = at;
        step = 0;
    };
    const back = (next) => {
        at = start;
        step = 0;
        state = next;
    };
    for (; at < tokens.length; at += step) {
        step = 1;
        if (tokens[at].type === END) {
            if (state === 'init') {
                at = start;
                step = 0;
                if (isHash()) go('hash', 1);
                else if (isSearch()) go('search', 1);
                else go('pathname', 0);
                continue;
            }
            if (state === 'authority') {
                back('hostname');
                continue;
            }
            go('done', 0);
            break;
        }
        if (tokens[at].type === OPEN) {
            groups++;
            continue;
        }
        if (groups > 0) {
            if (tokens[at].type !== CLOSE) continue;
            groups--;
        }
        const isPath = is(at, '/');
        switch (state) {
            case 'init':
                if (is(at, ':')) back('protocol');
                break;
            case 'protocol':
                if (is(at, ':')) {
                    special = isSpecial(compile(component(), PLAIN, canonicalProtocol));
                    const slashes = is(at + 1, '/') && is(at + 2, '/');
                    go(slashes || special ? 'authority' : 'pathname', slashes ? 3 : 1);
                }
                break;
            case 'authority':
                if (is(at, '@')) back('username');
                else if (isPath || isSearch() || isHash()) back('hostname');
                break;
            case 'username':
                if (is(at, ':')) go('password', 1);
                else if (is(at, '@')) go('hostname', 1);
                break;
            case 'password':
                if (is(at, '@')) go('hostname', 1);
                break;
            case 'hostname':
                if (is(at, '[')) brackets++;
                else if (is(at, ']')) brackets--;
                else if (is(at, ':') && brackets === 0) go('port', 1);
                else if (isPath) go('pathname', 0);
                else if (isSearch()) go('search', 1);
                else if (isHash()) go('hash', 1);
                break;
            case 'port':
                if (isPath) go('pathname', 0);
                else if (isSearch()) go('search', 1);
                else if (isHash()) go('hash', 1);
                break;
            case 'pathname':
                if (isSearch()) go('search', 1);
                else if (isHash()) go('hash', 1);
                break;
            case 'search':
                if (isHash()) go('hash', 1);
                break;
        }
    }
    if (result.hostname !== undefined) result.port ??= '';
    return result;
}

// ---- URLPatternInit

function dictionary(input) {
    const init = {};
    for (const name of [...COMPONENTS, 'baseURL']) {
        const value = input?.[name];
        if (value !== undefined) init[name] = `${value}`.toWellFormed();
    }
    return init;
}

const strip = (text, end) => (end === ':' ? (text.endsWith(':') ? text.slice(0, -1) : text) : text[0] === end ? text.slice(1) : text);

// The components of init and of its base. defaults: undefined, or '' for all. pattern: it is one, and stays as it is written.
function complete(init, pattern, defaults) {
    const result = {};
    for (const name of COMPONENTS) result[name] = defaults;
    let base;
    if (init.baseURL !== undefined) {
        const parsed = url_parse(init.baseURL, undefined);
        if (parsed === undefined) throw new TypeError(`Invalid base URL: ${init.baseURL}`);
        base = new URL(parsed[0]);
        const of = (name) => {
            let text = getters[name].call(base);
            if (name === 'protocol') text = text.slice(0, -1);
            if (name === 'search' || name === 'hash') text = text.slice(1);
            return pattern ? escapePattern(text) : text;
        };
        const none = (...names) => names.every((name) => init[name] === undefined);
        if (none('protocol')) result.protocol = of('protocol');
        if (!pattern && none('protocol', 'hostname', 'port', 'username')) result.username = of('username');
        if (!pattern && none('protocol', 'hostname', 'port', 'username', 'password')) result.password = of('password');
        if (none('protocol', 'hostname')) {
            result.hostname = of('hostname');
            if (none('port')) {
                result.port = of('port');
                if (none('pathname')) {
                    result.pathname = of('pathname');
                    if (none('search')) {
                        result.search = of('search');
                        if (none('hash')) result.hash = of('hash');
                    }
                }
            }
        }
    }
    const set = (name, encode, end) => {
        if (init[name] === undefined) return;
        const text = end === undefined ? init[name] : strip(init[name], end);
        result[name] = pattern ? text : encode(text);
    };
    set('protocol', canonicalProtocol, ':');
    set('username', canonicalUsername);
    set('password', canonicalPassword);
    set('hostname', canonicalHostname);
    const protocol = result.protocol ?? '';
    set('port', (text) => canonicalPort(text, protocol));
    if (init.pathname !== undefined) {
        let path = init.pathname;
        const absolute = path[0] === '/' || (pattern && path.length > 1 && (path[0] === '\\' || path[0] === '{') && path[1] === '/');
        const basePath = base === undefined ? '' : getters.pathname.call(base);
        if (base !== undefined && basePath[0] === '/' && !absolute) {
            const text = pattern ? escapePattern(basePath) : basePath;
            path = text.slice(0, text.lastIndexOf('/') + 1) + path;
        }
        result.pathname = pattern ? path : protocol === '' || protocol in SPECIAL ? canonicalPathname(path) : canonicalOpaque(path);
    }
    set('search', canonicalSearch, '?');
    set('hash', canonicalHash, '#');
    return result;
}

const isDictionary = (v) => v === undefined || v === null || typeof v === 'object' || typeof v === 'function';

export class URLPattern {
    #components = {};

    constructor(input = undefined, baseOrOptions = undefined, options = undefined) {
        let base;
        if (isDictionary(baseOrOptions) && arguments.length < 3) options = baseOrOptions;
        else base = `${baseOrOptions}`;
        if (!isDictionary(options)) throw new TypeError("Failed to construct 'URLPattern': the options are not an object.");
        const ignoreCase = Boolean(options?.ignoreCase);
        let init;
        if (isDictionary(input)) {
            if (base !== undefined) throw new TypeError("Failed to construct 'URLPattern': a base URL goes with a string only; use the member baseURL.");
            init = dictionary(input);
        } else {
            init = splitPattern(`${input}`.toWellFormed());
            if (base === undefined && init.protocol === undefined) throw new TypeError("Failed to construct 'URLPattern': a relative pattern needs a base URL.");
            if (base !== undefined) init.baseURL = base;
        }
        const all = complete(init, true, undefined);
        for (const name of COMPONENTS) all[name] ??= '*';
        if (all.protocol in SPECIAL && all.port === SPECIAL[all.protocol]) all.port = '';
        const c = this.#components;
        const plain = { ...PLAIN, ignoreCase };
        c.protocol = compile(all.protocol, PLAIN, canonicalProtocol);
        c.username = compile(all.username, PLAIN, canonicalUsername);
        c.password = compile(all.password, PLAIN, canonicalPassword);
        c.hostname = compile(all.hostname, HOSTNAME, /^(?:\[|\{\[|\\\[)/.test(all.hostname) ? canonicalIPv6 : canonicalHostname);
        c.port = compile(all.port, PLAIN, (text) => canonicalPort(text));
        c.pathname = isSpecial(c.protocol) ? compile(all.pathname, { delimiter: '/', prefix: '/', ignoreCase }, canonicalPathname) : compile(all.pathname, plain, canonicalOpaque);
        c.search = compile(all.search, plain, canonicalSearch);
        c.hash = compile(all.hash, plain, canonicalHash);
    }

    // What the components of input are; null: no URL.
    #inputs(input, base) {
        if (isDictionary(input)) {
            if (base !== undefined) throw new TypeError('A base URL goes with a string only; use the member baseURL.');
            const init = dictionary(input);
            try {
                return complete(init, false, '');
            } catch {
                return null;
            }
        }
        const parsed = url_parse(`${input}`, base === undefined ? undefined : `${base}`);
        if (parsed === undefined) return null;
        const url = new URL(parsed[0]);
        const values = {};
        for (const name of COMPONENTS) values[name] = getters[name].call(url);
        values.protocol = values.protocol.slice(0, -1);
        values.search = values.search.slice(1);
        values.hash = values.hash.slice(1);
        return values;
    }

    test(input = undefined, base = undefined) {
        const components = this.#components;
        const values = this.#inputs(input, base);
        return values !== null && COMPONENTS.every((name) => components[name].matchesAll || components[name].regExp.test(values[name]));
    }

    exec(input = undefined, base = undefined) {
        const components = this.#components;
        const values = this.#inputs(input, base);
        if (values === null) return null;
        const result = { inputs: [isDictionary(input) ? dictionary(input) : `${input}`] };
        if (base !== undefined) result.inputs.push(`${base}`);
        for (const name of COMPONENTS) {
            const found = components[name].matchesAll ? [values[name], values[name]] : components[name].regExp.exec(values[name]);
            if (!Array.isArray(found)) return null; // exec() may be the user's own.
            const groups = {};
            components[name].names.forEach((key, i) => (groups[key] = found[i + 1]));
            result[name] = { input: values[name], groups };
        }
        return result;
    }

    get protocol() {
        return this.#components.protocol.text;
    }
    get username() {
        return this.#components.username.text;
    }
    get password() {
        return this.#components.password.text;
    }
    get hostname() {
        return this.#components.hostname.text;
    }
    get port() {
        return this.#components.port.text;
    }
    get pathname() {
        return this.#components.pathname.text;
    }
    get search() {
        return this.#components.search.text;
    }
    get hash() {
        return this.#components.hash.text;
    }
    get hasRegExpGroups() {
        const components = this.#components;
        return COMPONENTS.some((name) => components[name].hasGroups);
    }
}

expose({ URLPattern });
