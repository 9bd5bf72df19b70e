// node/mime.js: util.MIMEType and util.MIMEParams.
import { err } from './errors.js';

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NOT_QUOTED = /[^\t\u0020-\u007e\u0080-\u00ff]/;

const token = (value, what) => {
    value = String(value);
    const at = value.search(NOT_TOKEN);
    if (value === '' || at !== -1) throw err.ERR_INVALID_MIME_SYNTAX(what, value, at);
    return value;
};
const encode = (value) => (value.length > 0 && !NOT_TOKEN.test(value) ? value : `"${value.replace(/[\\"]/g, '\\$&')}"`);

export class MIMEParams {
    #data = new Map();
    #source = '';
    #read() {
        if (this.#source === '') return;
        const text = this.#source;
        this.#source = '';
        let at = 0;
        while (at < text.length) {
            at += /^[\t\n\r ]*/.exec(text.slice(at))[0].length;
            let end = at;
            while (end < text.length && text[end] !== ';' && text[end] !== '=') end++;
            const name = text.slice(at, end).toLowerCase();
            at = end;
            let value = '';
            if (text[at] === '=') {
                at++;
                if (text[at] === '"') {
                    at++;
                    while (at < text.length && text[at] !== '"') {
                        if (text[at] === '\\' && at + 1 < text.length) at++;
                        value += text[at++];
                    }
                    at++;
                    while (at < text.length && text[at] !== ';') at++;
                } else {
                    end = text.indexOf(';', at);
                    if (end === -1) end = text.length;
                    value = text.slice(at, end).replace(/[\t\n\r ]+$/, '');
                    at = end;
                    if (value === '') {
                        at++;
                        continue;
                    }
                }
                if (name !== '' && !NOT_TOKEN.test(name) && !NOT_QUOTED.test(value) && !this.#data.has(name)) this.#data.set(name, value);
            }
            at++;
        }
    }
    delete(name) {
        this.#read();
        this.#data.delete(name);
    }
    get(name) {
        this.#read();
        return this.#data.get(name) ?? null;
    }
    has(name) {
        this.#read();
        return this.#data.has(name);
    }
    set(name, value) {
        this.#read();
        name = String(name);
        value = String(value);
        token(name, 'parameter name');
        const at = value.search(NOT_QUOTED);
        if (at !== -1) throw err.ERR_INVALID_MIME_SYNTAX('parameter value', value, at);
        this.#data.set(name, value);
    }
    *entries() {
        this.#read();
        yield* this.#data.entries();
    }
    *keys() {
        this.#read();
        yield* this.#data.keys();
    }
    *values() {
        this.#read();
        yield* this.#data.values();
    }
    toJSON() {
        return this.toString();
    }
    toString() {
        this.#read();
        return [...this.#data].map(([name, value]) => `${name}=${encode(value)}`).join('; ');
    }
    static from(source) {
        const params = new MIMEParams();
        params.#source = source;
        return params;
    }
}
const paramsFrom = MIMEParams.from;
delete MIMEParams.from;
Object.defineProperty(MIMEParams.prototype, Symbol.iterator, { value: MIMEParams.prototype.entries, writable: true, configurable: true });

export class MIMEType {
    #type;
    #subtype;
    #params;
    constructor(text) {
        text = String(text).replace(/^[\t\n\r ]+/, '');
        const slash = text.indexOf('/');
        const type = slash === -1 ? text : text.slice(0, slash);
        let at = type.search(NOT_TOKEN);
        if (type === '' || slash === -1 || at !== -1) throw err.ERR_INVALID_MIME_SYNTAX('type', text, at);
        let end = text.indexOf(';', slash);
        if (end === -1) end = text.length;
        const subtype = text.slice(slash + 1, end).replace(/[\t\n\r ]+$/, '');
        at = subtype.search(NOT_TOKEN);
        if (subtype === '' || at !== -1) throw err.ERR_INVALID_MIME_SYNTAX('subtype', text, at);
        this.#type = type.toLowerCase();
        this.#subtype = subtype.toLowerCase();
        this.#params = paramsFrom(text.slice(end + 1));
    }
    get type() {
        return this.#type;
    }
    set type(value) {
        this.#type = token(value, 'type').toLowerCase();
    }
    get subtype() {
        return this.#subtype;
    }
    set subtype(value) {
        this.#subtype = token(value, 'subtype').toLowerCase();
    }
    get essence() {
        return `${this.#type}/${this.#subtype}`;
    }
    get params() {
        return this.#params;
    }
    toJSON() {
        return this.toString();
    }
    toString() {
        const params = this.#params.toString();
        return params === '' ? this.essence : `${this.essence};${params}`;
    }
}
