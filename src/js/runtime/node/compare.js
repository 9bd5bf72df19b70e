// node/compare.js: deep equality as node:assert and util.isDeepStrictEqual define it.
import { BIT, classOf } from './types.js';

const { getPrototypeOf, keys: ownKeys, getOwnPropertySymbols } = Object;
const enumerable = (object, key) => Object.prototype.propertyIsEnumerable.call(object, key);
const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
const tagOf = (v) => Object.prototype.toString.call(v);
const INDEX = /^(0|[1-9][0-9]*)$/;

const LOOSE = 0;
const STRICT = 1;
const PARTIAL = 2; // strict, but actual may have more

const isObject = (v) => v !== null && (typeof v === 'object' || typeof v === 'function');
const bytesOf = (v) => (ArrayBuffer.isView(v) ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength) : new Uint8Array(v));

function sameBytes(a, b) {
    const x = bytesOf(a);
    const y = bytesOf(b);
    if (x.length !== y.length) return false;
    for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
    return true;
}

const BOXED = BIT.numberObject | BIT.stringObject | BIT.booleanObject | BIT.bigintObject | BIT.symbolObject;
// Kinds that only are equal to themselves.
const OPAQUE = BIT.promise | BIT.weakMap | BIT.weakSet;

class DeepWalk {
    constructor(mode) {
        this.mode = mode;
        this.pairs = new Map(); // an object of actual -> the object of expected that it is being compared with
    }
    equal(a, b) {
        if (a === b) return a !== 0 || this.mode === LOOSE || Object.is(a, b);
        if (this.mode !== LOOSE) {
            if (!isObject(a)) return typeof a === 'number' && Object.is(a, b);
            if (!isObject(b)) return false;
            if (typeof a === 'function' || typeof b === 'function') return false;
            if (this.mode === STRICT && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
        } else {
            if (a === null || typeof a !== 'object') return (b === null || typeof b !== 'object') && (a == b || (a !== a && b !== b));
            if (b === null || typeof b !== 'object') return false;
        }
        if (tagOf(a) !== tagOf(b)) return false;
        return this.objects(a, b);
    }
    objects(a, b) {
        const bits = classOf(a);
        const other = classOf(b);
        if ((bits & ~BIT.proxy) !== (other & ~BIT.proxy)) return false;
        if (bits & BIT.array) {
            if (this.mode === PARTIAL ? a.length < b.length : a.length !== b.length) return false;
            if (this.mode === PARTIAL) return this.partialArray(a, b);
            return this.nested(a, b, (k) => !INDEX.test(k), () => this.elements(a, b));
        }
        if (bits & OPAQUE) return false;
        if (bits & BIT.date) {
            if (!Object.is(Date.prototype.getTime.call(a), Date.prototype.getTime.call(b))) return false;
        } else if (bits & BIT.regExp) {
            if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
        } else if (bits & BIT.error || a instanceof Error) {
            if (a.message !== b.message || a.name !== b.name) return false;
            for (const key of ['cause', 'errors']) {
                if (has(a, key) !== has(b, key) && (this.mode !== PARTIAL || has(b, key))) return false;
                if (has(a, key) && !enumerable(a, key) && has(b, key) && !this.equal(a[key], b[key])) return false;
            }
        } else if (bits & BIT.view) {
            if (a.byteLength !== b.byteLength) return false;
            if (this.mode === LOOSE && /Float/.test(tagOf(a))) {
                for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
            } else if (!sameBytes(a, b)) {
                return false;
            }
            return this.nested(a, b, (k) => !INDEX.test(k));
        } else if (bits & (BIT.arrayBuffer | BIT.sharedArrayBuffer)) {
            if (!sameBytes(a, b)) return false;
        } else if (bits & BIT.set) {
            return (this.mode === PARTIAL ? a.size >= b.size : a.size === b.size) && this.nested(a, b, undefined, () => this.sets(a, b));
        } else if (bits & BIT.map) {
            return (this.mode === PARTIAL ? a.size >= b.size : a.size === b.size) && this.nested(a, b, undefined, () => this.maps(a, b));
        } else if (bits & BOXED) {
            const x = a.valueOf();
            if (!Object.is(x, b.valueOf())) return false;
            if (typeof x === 'string') return this.nested(a, b, (k) => !INDEX.test(k));
        } else if (globalThis.URL !== undefined && a instanceof globalThis.URL) {
            if (!(b instanceof globalThis.URL) || a.href !== b.href) return false;
        }
        return this.nested(a, b);
    }
    // The own properties, and then rest(); circular references are equal where they go the same way.
    nested(a, b, wanted, rest) {
        let theirs = ownKeys(b);
        if (wanted !== undefined) theirs = theirs.filter(wanted);
        if (this.mode !== PARTIAL) {
            let mine = ownKeys(a);
            if (wanted !== undefined) mine = mine.filter(wanted);
            if (mine.length !== theirs.length) return false;
        }
        for (const key of theirs) if (!has(a, key) || !enumerable(a, key)) return false;
        if (this.mode !== LOOSE) {
            const symbols = getOwnPropertySymbols(b).filter((s) => enumerable(b, s));
            for (const s of symbols) if (!enumerable(a, s)) return false;
            if (this.mode === STRICT && getOwnPropertySymbols(a).filter((s) => enumerable(a, s)).length !== symbols.length) return false;
            theirs = theirs.concat(symbols);
        }
        const known = this.pairs.get(a);
        if (known !== undefined) {
            if (known.has(b)) return true;
            known.add(b);
        } else {
            this.pairs.set(a, new Set([b]));
        }
        const ok = theirs.every((key) => this.equal(a[key], b[key])) && (rest === undefined || rest());
        const set = this.pairs.get(a);
        set.delete(b);
        if (set.size === 0) this.pairs.delete(a);
        return ok;
    }
    elements(a, b) {
        for (let i = 0; i < b.length; i++) {
            const there = has(b, i);
            if (has(a, i) !== there) return false;
            if (there && !this.equal(a[i], b[i])) return false;
        }
        return true;
    }
    // Each of expected in actual, in its order.
    partialArray(a, b) {
        let at = 0;
        for (let i = 0; i < b.length; i++) {
            while (at < a.length && !this.equal(a[at], b[i])) at++;
            if (at === a.length) return false;
            at++;
        }
        return this.nested(a, b, (k) => !INDEX.test(k));
    }
    sets(a, b) {
        const left = new Set(a);
        const open = [];
        for (const v of b) {
            if (left.delete(v)) continue;
            if (!isObject(v) && this.mode !== LOOSE) return false;
            open.push(v);
        }
        for (const v of open) {
            const found = [...left].find((x) => (this.mode === LOOSE || isObject(x)) && this.equal(x, v));
            if (found === undefined && !(this.mode === LOOSE && left.has(undefined))) return false;
            left.delete(found);
        }
        return true;
    }
    maps(a, b) {
        const left = new Map(a);
        const open = [];
        for (const [key, v] of b) {
            if (left.has(key) && (isObject(key) || this.mode !== LOOSE || this.equal(left.get(key), v))) {
                if (!this.equal(left.get(key), v)) return false;
                left.delete(key);
            } else if (!isObject(key) && this.mode !== LOOSE) {
                return false;
            } else {
                open.push([key, v]);
            }
        }
        for (const [key, v] of open) {
            let found = false;
            for (const [k, x] of left) {
                if (this.equal(k, key) && this.equal(x, v)) {
                    left.delete(k);
                    found = true;
                    break;
                }
            }
            if (!found) return false;
        }
        return true;
    }
}

export const isDeepEqual = (a, b) => new DeepWalk(LOOSE).equal(a, b);
export const isDeepStrictEqual = (a, b) => new DeepWalk(STRICT).equal(a, b);
export const isPartialStrictEqual = (a, b) => new DeepWalk(PARTIAL).equal(a, b);
