// headers.js: Headers. runtime.md 5.1; Fetch standard, 5.1.
//
// Fields are kept as they were given, [lower-case name, value, name as written], in order; sorting and joining happen when
// somebody iterates. That makes the two ends that matter, a head that comes in and one that goes out, cheap.
import { shape } from './core.js';
import { Map } from './primordials.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const BAD_VALUE = /[\0\r\n]/;
const OUTER_SPACE = /^[\t\n\r ]+|[\t\n\r ]+$/g;
const COOKIE = 'set-cookie';

function nameOf(name) {
    name = String(name);
    if (!TOKEN.test(name)) throw new TypeError('Invalid header name.');
    return name;
}

function valueOf(value) {
    value = String(value);
    const first = value.charCodeAt(0), last = value.charCodeAt(value.length - 1);
    if (first <= 32 || last <= 32) value = value.replace(OUTER_SPACE, '');
    if (BAD_VALUE.test(value)) throw new TypeError('Invalid header value.');
    return value;
}

// A field more.
const add = (fields, lower, value, name) => {
    const at = fields.length;
    fields[at] = lower;
    fields[at + 1] = value;
    fields[at + 2] = name;
};

const need = (count, given, name) => {
    if (given < count) throw new TypeError(`Failed to execute '${name}' on 'Headers': ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};

export class Headers {
    #fields; // [lower, value, written, ...], or null: load it
    #load = null; // () => [name, value, ...] of the host
    #immutable = false;

    constructor(init = undefined) {
        this.#fields = [];
        if (init !== undefined) this.#fill(init);
    }

    // A head that came in: read when somebody asks. Names and values are valid.
    static #lazy(load, immutable) {
        const h = new Headers();
        h.#fields = null;
        h.#load = load;
        h.#immutable = immutable;
        return h;
    }
    static #flat(h) { // [name, value, ...] as written
        const fields = h.#all();
        const flat = new Array((fields.length / 3) * 2);
        for (let i = 0, j = 0; i < fields.length; i += 3) {
            flat[j++] = fields[i + 2];
            flat[j++] = fields[i + 1];
        }
        return flat;
    }
    static #freeze(h) {
        h.#all();
        h.#immutable = true;
    }
    static internals = { lazy: Headers.#lazy, flat: Headers.#flat, freeze: Headers.#freeze, is: (v) => #fields in v };

    #all() {
        if (this.#fields === null) {
            const flat = this.#load();
            this.#load = null;
            const fields = (this.#fields = new Array((flat.length / 2) * 3));
            for (let i = 0, j = 0; i < flat.length; i += 2, j += 3) {
                fields[j] = flat[i].toLowerCase();
                fields[j + 1] = flat[i + 1];
                fields[j + 2] = flat[i];
            }
        }
        return this.#fields;
    }

    #fill(init) {
        if (typeof init !== 'object' && typeof init !== 'function' || init === null) {
            throw new TypeError("Failed to construct 'Headers': the argument is not an object.");
        }
        if (#fields in init && init[Symbol.iterator] === Headers.prototype[Symbol.iterator]) {
            this.#fields = init.#all().slice();
            return;
        }
        if (init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
            for (const pair of init) {
                if ((typeof pair !== 'object' && typeof pair !== 'function') || pair === null || pair[Symbol.iterator] == null) {
                    throw new TypeError("Failed to construct 'Headers': an element of the sequence is not a sequence.");
                }
                const [name, value, ...more] = pair;
                if (more.length > 0 || [...pair].length !== 2) throw new TypeError('To initialize a Headers object from a sequence, each inner sequence must have exactly two elements.');
                this.append(name, value);
            }
            return;
        }
        for (const key of Reflect.ownKeys(init)) {
            const d = Reflect.getOwnPropertyDescriptor(init, key);
            if (d === undefined || !d.enumerable) continue;
            if (typeof key === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
            this.append(key, init[key]);
        }
    }

    #change() {
        if (this.#immutable) throw new TypeError("Can't modify immutable headers.");
        return this.#all();
    }

    append(name, value) {
        need(2, arguments.length, 'append');
        name = nameOf(name);
        value = valueOf(value);
        const lower = name.toLowerCase();
        add(this.#change(), lower, value, name);
    }
    delete(name) {
        need(1, arguments.length, 'delete');
        const lower = nameOf(name).toLowerCase();
        const fields = this.#change();
        for (let i = fields.length - 3; i >= 0; i -= 3) if (fields[i] === lower) fields.splice(i, 3);
    }
    get(name) {
        need(1, arguments.length, 'get');
        const lower = nameOf(name).toLowerCase();
        const fields = this.#all();
        let joined = null;
        for (let i = 0; i < fields.length; i += 3) {
            if (fields[i] === lower) joined = joined === null ? fields[i + 1] : `${joined}, ${fields[i + 1]}`;
        }
        return joined;
    }
    getAll(name) {
        need(1, arguments.length, 'getAll');
        if (nameOf(name).toLowerCase() !== COOKIE) throw new TypeError('getAll() can only be used with the header name "Set-Cookie".');
        return this.getSetCookie();
    }
    getSetCookie() {
        const fields = this.#all();
        const values = [];
        for (let i = 0; i < fields.length; i += 3) if (fields[i] === COOKIE) values[values.length] = fields[i + 1];
        return values;
    }
    has(name) {
        need(1, arguments.length, 'has');
        const lower = nameOf(name).toLowerCase();
        const fields = this.#all();
        for (let i = 0; i < fields.length; i += 3) if (fields[i] === lower) return true;
        return false;
    }
    set(name, value) {
        need(2, arguments.length, 'set');
        name = nameOf(name);
        value = valueOf(value);
        const lower = name.toLowerCase();
        const fields = this.#change();
        let at = -1;
        for (let i = fields.length - 3; i >= 0; i -= 3) {
            if (fields[i] !== lower) continue;
            if (at >= 0) fields.splice(at, 3);
            at = i;
        }
        if (at < 0) add(fields, lower, value, name);
        else {
            fields[at + 1] = value;
            fields[at + 2] = name;
        }
    }

    // [name, value] sorted and combined; cookies one by one.
    #sorted() {
        const fields = this.#all();
        const names = new Map();
        for (let i = 0; i < fields.length; i += 3) {
            const known = names.get(fields[i]);
            if (known === undefined) names.set(fields[i], [fields[i + 1]]);
            else known[known.length] = fields[i + 1];
        }
        const pairs = [];
        for (const name of [...names.keys()].sort()) {
            if (name === COOKIE) for (const value of names.get(name)) pairs[pairs.length] = [name, value];
            else pairs[pairs.length] = [name, names.get(name).join(', ')];
        }
        return pairs;
    }
    *#iterate(pick) {
        for (let i = 0; ; i++) { // What changes meanwhile is seen.
            const pairs = this.#sorted();
            if (i >= pairs.length) return;
            yield pick(pairs[i]);
        }
    }
    entries() {
        return iterator(this.#iterate((p) => p));
    }
    keys() {
        return iterator(this.#iterate((p) => p[0]));
    }
    values() {
        return iterator(this.#iterate((p) => p[1]));
    }
    forEach(fn, self = undefined) {
        if (typeof fn !== 'function') throw new TypeError("Failed to execute 'forEach': the callback is not a function.");
        for (const [name, value] of this.#iterate((p) => p)) fn.call(self, value, name, this);
    }
}
Object.defineProperty(Headers.prototype, Symbol.iterator, { value: Headers.prototype.entries, writable: true, configurable: true });

export const { lazy: lazyHeaders, flat: flatHeaders, freeze: freezeHeaders, is: isHeaders } = Headers.internals;
delete Headers.internals;
shape(Headers);

const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const HeadersIterator = Object.create(IteratorPrototype, {
    next: { value() { return this.inner.next(); }, writable: true, configurable: true, enumerable: true },
    [Symbol.toStringTag]: { value: 'Headers Iterator', configurable: true },
});
function iterator(inner) {
    return Object.create(HeadersIterator, { inner: { value: inner } });
}
