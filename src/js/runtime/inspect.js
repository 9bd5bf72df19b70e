// inspect.js: values as text, for console and node:util. The format is that of Node's util.inspect.
import { webInterfaces } from './core.js';
import { validateObject } from './node/errors.js';
import { BIT, classOf } from './node/types.js';

const { preview, proxy_parts, promise_state, class_name } = host;
const { getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, getPrototypeOf, keys: ownKeys } = Object;
const hasOwn = (object, key) => Reflect.apply(Object.prototype.hasOwnProperty, object, [key]);
const { propertyIsEnumerable } = Object.prototype;

export const custom = Symbol.for('nodejs.util.inspect.custom');

const DEFAULTS = {
    showHidden: false,
    depth: 2,
    colors: false,
    customInspect: true,
    showProxy: false,
    maxArrayLength: 100,
    maxStringLength: 10000,
    breakLength: 80,
    compact: 3,
    sorted: false,
    getters: false,
    numericSeparator: false,
};

const FG = 39;
const BG = 49;
const COLORS = {
    __proto__: null,
    reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28],
    strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, FG], red: [31, FG], green: [32, FG], yellow: [33, FG], blue: [34, FG],
    magenta: [35, FG], cyan: [36, FG], white: [37, FG], bgBlack: [40, BG], bgRed: [41, BG], bgGreen: [42, BG], bgYellow: [43, BG],
    bgBlue: [44, BG], bgMagenta: [45, BG], bgCyan: [46, BG], bgWhite: [47, BG], framed: [51, 54], overlined: [53, 55], gray: [90, FG],
    redBright: [91, FG], greenBright: [92, FG], yellowBright: [93, FG], blueBright: [94, FG], magentaBright: [95, FG], cyanBright: [96, FG],
    whiteBright: [97, FG], bgGray: [100, BG], bgRedBright: [101, BG], bgGreenBright: [102, BG], bgYellowBright: [103, BG],
    bgBlueBright: [104, BG], bgMagentaBright: [105, BG], bgCyanBright: [106, BG], bgWhiteBright: [107, BG],
};
const ALIASES = {
    grey: 'gray', blackBright: 'gray', bgGrey: 'bgGray', bgBlackBright: 'bgGray', faint: 'dim', crossedout: 'strikethrough',
    strikeThrough: 'strikethrough', crossedOut: 'strikethrough', conceal: 'hidden', swapColors: 'inverse', swapcolors: 'inverse',
    doubleUnderline: 'doubleunderline',
};
for (const [alias, name] of Object.entries(ALIASES)) {
    Object.defineProperty(COLORS, alias, {
        get: () => COLORS[name],
        set: (v) => (COLORS[name] = v),
        configurable: true,
        enumerable: false,
    });
}
const STYLES = {
    __proto__: null,
    special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green', symbol: 'green',
    date: 'magenta', regexp: 'red', module: 'underline',
};

const plain = (text) => text;
function colored(text, style) {
    const color = COLORS[STYLES[style]];
    return color === undefined ? text : `\x1b[${color[0]}m${text}\x1b[${color[1]}m`;
}

const ANSI = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\\|\u009c))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;
export const stripColors = (text) => text.replace(ANSI, '');

// ---- One inspection

class Ctx {
    constructor(options) {
        Object.assign(this, DEFAULTS);
        this.stylize = plain;
        this.seen = [];
        this.circular = undefined; // Map: object -> number of its <ref>
        this.indentation = 0;
        this.current = 0; // depth of the object whose entries are written
        this.budget = {};
        this.user = undefined; // options of the caller that are none of ours
        if (options !== undefined) {
            for (const key of ownKeys(options)) {
                if (hasOwn(DEFAULTS, key) || key === 'stylize') this[key] = options[key];
                else this.user ??= options;
            }
        }
        if (this.colors) this.stylize = colored;
        if (this.maxArrayLength === null) this.maxArrayLength = Infinity;
        if (this.maxStringLength === null) this.maxStringLength = Infinity;
    }
    // What [inspect.custom] gets as its options.
    optionsFor(depth, isForeign) {
        const options = { stylize: this.stylize };
        for (const key of ownKeys(DEFAULTS)) options[key] = this[key];
        options.depth = depth;
        Object.assign(options, this.user);
        if (!isForeign) options.stylize = this.stylize;
        return options;
    }
}

export function inspect(value, options, ...legacy) {
    let ctx;
    if (typeof options === 'boolean' || legacy.length > 0) {
        ctx = new Ctx(typeof options === 'object' && options !== null ? options : undefined);
        if (typeof options === 'boolean') ctx.showHidden = options;
        if (legacy[0] !== undefined) ctx.depth = legacy[0];
        if (legacy[1] !== undefined) ctx.colors = legacy[1];
        if (ctx.colors) ctx.stylize = colored;
    } else {
        ctx = new Ctx(options === null || typeof options !== 'object' ? undefined : options);
    }
    return formatValue(ctx, value, 0, false);
}
inspect.custom = custom;
inspect.colors = COLORS;
inspect.styles = STYLES;
Object.defineProperty(inspect, 'defaultOptions', {
    get: () => DEFAULTS,
    set(options) {
        validateObject(options, 'options');
        return Object.assign(DEFAULTS, options);
    },
});

const tooDeep = (ctx, depth) => ctx.depth !== null && depth > ctx.depth;

function formatValue(ctx, value, depth, typed) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return primitive(ctx.stylize, value, ctx);
    const outer = value;
    let proxied = 0;
    for (let parts = proxy_parts(value); parts !== undefined; parts = proxy_parts(value)) {
        if (ctx.showProxy && proxied === 0) return proxy(ctx, parts, depth);
        value = parts[0];
        if (value === null) return wrapProxy(ctx, ctx.stylize('<Revoked Proxy>', 'special'), proxied);
        proxied++;
    }
    if (ctx.customInspect) {
        const fn = value[custom];
        // The prototype of a class that has the method is not an instance.
        if (typeof fn === 'function' && fn !== inspect && !(hasOwn(value, 'constructor') && getOwnPropertyDescriptor(value, 'constructor').value?.prototype === value)) {
            const left = ctx.depth === null ? null : ctx.depth - depth;
            const foreign = proxied > 0 || !(outer instanceof Object);
            const result = Reflect.apply(fn, outer, [left, ctx.optionsFor(left, foreign), inspect]);
            if (result !== outer) {
                if (typeof result !== 'object' || result === null) return String(result);
                return formatValue(ctx, result, depth, false).replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
            }
        }
    }
    if (ctx.seen.includes(value)) {
        ctx.circular ??= new Map();
        let index = ctx.circular.get(value);
        if (index === undefined) ctx.circular.set(value, (index = ctx.circular.size + 1));
        return ctx.stylize(`[Circular *${index}]`, 'special');
    }
    return wrapProxy(ctx, formatObject(ctx, value, depth, typed), proxied);
}

function wrapProxy(ctx, text, times) {
    for (; times > 0; times--) text = `${ctx.stylize('Proxy(', 'special')}${text}${ctx.stylize(')', 'special')}`;
    return text;
}

function proxy(ctx, [target, handler], depth) {
    if (target === null) return ctx.stylize('<Revoked Proxy>', 'special');
    if (tooDeep(ctx, depth)) return ctx.stylize('Proxy [Array]', 'special');
    ctx.indentation += 2;
    const entries = [formatValue(ctx, target, depth + 1, false), formatValue(ctx, handler, depth + 1, false)];
    ctx.indentation -= 2;
    return combine(ctx, entries, '', ['Proxy [', ']'], ARRAY_EXTRAS, depth, undefined);
}

// ---- Primitives

const ESCAPED = /[\x00-\x1f\\\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const SHORT = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\' };
const escape = (c) => {
    const code = c.charCodeAt(0);
    if (code > 0xff) return `\\u${code.toString(16)}`;
    return SHORT[code] ?? `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`;
};

export function quote(text) {
    let q = "'";
    if (text.includes("'")) {
        if (!text.includes('"')) q = '"';
        else if (!text.includes('`') && !text.includes('${')) q = '`';
    }
    let out = text.replace(ESCAPED, escape);
    if (q === "'") out = out.replaceAll("'", "\\'");
    return q + out + q;
}

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '_');
function number(value, separators) {
    if (Object.is(value, -0)) return separators ? '0' : '-0';
    const text = `${value}`;
    if (!separators || /[^\d.-]/.test(text)) return text;
    const [whole, fraction] = text.split('.');
    const left = whole.replace(/\d+/, grouped);
    return fraction === undefined ? left : `${left}.${fraction.replace(/(\d{3})(?=\d)/g, '$1_')}`;
}

function primitive(stylize, value, ctx) {
    switch (typeof value) {
        case 'string': {
            let rest = '';
            if (value.length > ctx.maxStringLength) {
                const more = value.length - ctx.maxStringLength;
                value = value.slice(0, ctx.maxStringLength);
                rest = `... ${more} more character${more > 1 ? 's' : ''}`;
            }
            // Long texts of several lines are split at the lines.
            if (ctx.compact !== true && value.length > 16 && value.length > ctx.breakLength - ctx.indentation - 4) {
                const lines = value.match(/[^\n]*\n|[^\n]+$/g) ?? [];
                return lines.map((line) => stylize(quote(line), 'string')).join(` +\n${' '.repeat(ctx.indentation + 2)}`) + rest;
            }
            return stylize(quote(value), 'string') + rest;
        }
        case 'number':
            return stylize(number(value, ctx.numericSeparator), 'number');
        case 'bigint':
            return stylize(`${ctx.numericSeparator ? `${value}`.replace(/\d+/, grouped) : value}n`, 'bigint');
        case 'boolean':
            return stylize(`${value}`, 'boolean');
        case 'symbol':
            return stylize(Symbol.prototype.toString.call(value), 'symbol');
        case 'undefined':
            return stylize('undefined', 'undefined');
        default:
            return stylize('null', 'null');
    }
}

// ---- Names of classes

// Made late: the platform's classes are to be there, and some of V8's come with the isolate only.
let builtin;
const isBuiltin = (name) => (builtin ??= new Set(getOwnPropertyNames(globalThis).filter((n) => /^[A-Z][a-zA-Z0-9]+$/.test(n)))).has(name);

const isInstance = (value, cls) => {
    try {
        return value instanceof cls;
    } catch {
        return false;
    }
};

// The name of the class of an object; null: it has no prototype. inherited: gets the accessors of its classes, for showHidden.
function constructorName(object, ctx, depth, inherited) {
    let first;
    const original = object;
    while (object !== null && object !== undefined) {
        const d = getOwnPropertyDescriptor(object, 'constructor');
        if (d !== undefined && typeof d.value === 'function' && d.value.name !== '' && isInstance(original, d.value)) {
            if (inherited !== undefined && (first !== object || !isBuiltin(d.value.name))) {
                inheritedProperties(ctx, original, first ?? original, depth, inherited);
            }
            return String(d.value.name);
        }
        object = getPrototypeOf(object);
        first ??= object;
    }
    if (first === null || first === undefined) return null;
    const own = class_name(original);
    if (tooDeep(ctx, depth)) return `${own} <Complex prototype>`;
    const proto = constructorName(first, ctx, depth + 1, inherited);
    if (proto === null) return `${own} <${inspect(first, { ...ctx.optionsFor(-1, true), customInspect: false, depth: -1 })}>`;
    return `${own} <${proto}>`;
}

// Three levels of what an object has from classes of the user, as Node shows it for showHidden.
function inheritedProperties(ctx, main, object, depth, out) {
    const seen = new Set();
    for (let level = 0; level < 3; level++) {
        if (level !== 0 || main === object) {
            object = getPrototypeOf(object);
            if (object === null) return;
            const d = getOwnPropertyDescriptor(object, 'constructor');
            if (d !== undefined && typeof d.value === 'function' && isBuiltin(d.value.name)) return;
        }
        ctx.seen.push(main);
        for (const key of Reflect.ownKeys(object)) {
            if (key === 'constructor' || hasOwn(main, key) || seen.has(key)) continue;
            seen.add(key);
            const d = getOwnPropertyDescriptor(object, key);
            if (typeof d.value === 'function') continue;
            const text = property(ctx, object, depth, key, OBJECT, d, main);
            out.push(ctx.colors ? `\x1b[2m${text}\x1b[22m` : text);
        }
        ctx.seen.pop();
    }
}

const prefix = (name, tag, fallback, size = '') => {
    if (name === null) return tag !== '' && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
    return tag !== '' && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
};

// ---- Objects

const OBJECT = 0;
const ARRAY = 1; // an entry of an array
const ARRAY_EXTRAS = 2; // an array, with more than its elements

const sizeOfMap = getOwnPropertyDescriptor(Map.prototype, 'size').get;
const sizeOfSet = getOwnPropertyDescriptor(Set.prototype, 'size').get;
const TypedArray = getPrototypeOf(Uint8Array);
const lengthOf = getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;
const typedTag = getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;
const bufferLength = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
const detached = getOwnPropertyDescriptor(ArrayBuffer.prototype, 'detached')?.get;
const call = (fn, self, ...args) => Reflect.apply(fn, self, args);

function keysOf(value, showHidden) {
    const symbols = getOwnPropertySymbols(value);
    let names;
    if (showHidden) {
        names = getOwnPropertyNames(value);
        if (symbols.length > 0) names.push(...symbols);
        return names;
    }
    try {
        names = ownKeys(value);
    } catch {
        names = getOwnPropertyNames(value); // A module whose exports are not there yet.
    }
    for (const s of symbols) if (call(propertyIsEnumerable, value, s)) names.push(s);
    return names;
}

const INDEX = /^(0|[1-9][0-9]*)$/;
const keysWithoutIndices = (value, showHidden) => keysOf(value, showHidden).filter((k) => typeof k === 'symbol' || !INDEX.test(k) || Number(k) >= 2 ** 32 - 1);

// The accessors of a class of the web platform are what its objects show.
function webKeys(value) {
    const keys = [];
    for (let p = getPrototypeOf(value); p !== null; p = getPrototypeOf(p)) {
        if (!webInterfaces.has(p)) continue;
        const own = [];
        for (const key of ownKeys(p)) {
            const d = getOwnPropertyDescriptor(p, key);
            if (d.get !== undefined && !keys.includes(key)) own.push(key);
        }
        keys.unshift(...own);
    }
    return keys;
}
const isWeb = (value) => {
    for (let p = getPrototypeOf(value), i = 0; p !== null && i < 8; p = getPrototypeOf(p), i++) if (webInterfaces.has(p)) return true;
    return false;
};

function formatObject(ctx, value, depth, typed) {
    const inherited = ctx.showHidden && (depth <= ctx.depth || ctx.depth === null) ? [] : undefined;
    const bits = classOf(value);
    let name = constructorName(value, ctx, depth, inherited);
    let tag = '';
    try {
        tag = value[Symbol.toStringTag];
    } catch {
        // A getter of the prototype that wants an instance.
    }
    if (typeof tag !== 'string' || (tag !== '' && (ctx.showHidden ? hasOwn(value, Symbol.toStringTag) : call(propertyIsEnumerable, value, Symbol.toStringTag)))) tag = '';
    const what = {
        base: '',
        keys: undefined,
        braces: ['{', '}'],
        kind: OBJECT,
        formatter: noEntries,
        noEntries: false,
        done: undefined,
    };
    describe(ctx, value, bits, name, tag, depth, typed, what);
    if (what.done !== undefined) return what.done;
    const keys = what.keys ?? keysOf(value, ctx.showHidden);
    if (inherited !== undefined && inherited.length > 0) what.noEntries = false;
    if (what.noEntries && keys.length === 0) return what.base !== '' ? what.base : `${what.braces[0]}${what.braces[1]}`;
    if (tooDeep(ctx, depth)) {
        let text = prefix(name, tag, bits & BIT.array ? 'Array' : fallbackName(value, name, tag)).slice(0, -1);
        if (name !== null) text = `[${text}]`;
        return ctx.stylize(text, 'special');
    }
    ctx.seen.push(value);
    ctx.current = depth;
    let entries;
    try {
        entries = what.formatter(ctx, value, depth + 1);
        for (const key of keys) entries.push(property(ctx, value, depth + 1, key, what.kind, what.web ? { enumerable: true, value: readWeb(value, key) } : undefined));
        if (inherited !== undefined) entries.push(...inherited);
    } catch (error) {
        if (error instanceof RangeError && /Maximum call stack/.test(error.message)) {
            ctx.seen.length = 0;
            return ctx.stylize(`[${name ?? 'Object'}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, 'special');
        }
        throw error;
    }
    if (ctx.circular !== undefined) {
        const index = ctx.circular.get(value);
        if (index !== undefined) {
            const ref = ctx.stylize(`<ref *${index}>`, 'special');
            if (ctx.compact === true) what.braces[0] = `${ref} ${what.braces[0]}`;
            else what.base = what.base === '' ? ref : `${ref} ${what.base}`;
        }
    }
    ctx.seen.pop();
    if (ctx.sorted) {
        const order = ctx.sorted === true ? undefined : ctx.sorted;
        if (what.kind === OBJECT) entries.sort(order);
        else if (keys.length > 1) entries.push(...entries.splice(entries.length - keys.length).sort(order));
    }
    const text = combine(ctx, entries, what.base, what.braces, what.kind, depth, value);
    const spent = (ctx.budget[ctx.indentation] ?? 0) + text.length;
    ctx.budget[ctx.indentation] = spent;
    if (spent > 2 ** 27) ctx.depth = -1; // An enormous tree is cut rather than written for minutes.
    return text;
}

const readWeb = (value, key) => {
    try {
        return value[key];
    } catch {
        return undefined;
    }
};

// What an object without a prototype was made by.
const fallbackName = (value, name, tag) => {
    const own = name === null ? class_name(value) : '';
    return own === tag ? 'Object' : own;
};

const noEntries = () => [];

// Fills what: braces, base, keys and formatter for each kind of object.
function describe(ctx, value, bits, name, tag, depth, typed, what) {
    if (bits & BIT.array) {
        const p = name !== 'Array' || tag !== '' ? prefix(name, tag, 'Array', `(${value.length})`) : '';
        what.keys = keysWithoutIndices(value, ctx.showHidden);
        what.braces = [`${p}[`, ']'];
        if (value.length === 0 && what.keys.length === 0) return void (what.done = `${what.braces[0]}]`);
        what.kind = ARRAY_EXTRAS;
        what.formatter = arrayEntries;
    } else if (bits & BIT.set) {
        const size = call(sizeOfSet, value);
        what.braces[0] = `${prefix(name, tag, 'Set', `(${size})`)}{`;
        what.formatter = setEntries;
        what.noEntries = size === 0;
    } else if (bits & BIT.map) {
        const size = call(sizeOfMap, value);
        what.braces[0] = `${prefix(name, tag, 'Map', `(${size})`)}{`;
        what.formatter = mapEntries;
        what.noEntries = size === 0;
    } else if (bits & BIT.typedArray) {
        what.keys = keysWithoutIndices(value, ctx.showHidden);
        const size = call(lengthOf, value);
        const fallback = call(typedTag, value);
        what.braces = [`${prefix(name, tag, fallback, `(${size})`)}[`, ']'];
        if (size === 0 && what.keys.length === 0 && !ctx.showHidden) return void (what.done = `${what.braces[0]}]`);
        what.formatter = typedEntries;
        what.kind = ARRAY_EXTRAS;
    } else if (bits & (BIT.mapIterator | BIT.setIterator)) {
        const kind = bits & BIT.mapIterator ? 'Map' : 'Set';
        const own = tag === '' || tag === `${kind} Iterator` ? '' : `${tag}] [`;
        what.braces[0] = `[${own}${kind} ${preview(value)[1] ? 'Entries' : 'Iterator'}] {`;
        what.formatter = iteratorEntries;
    } else {
        return describeOther(ctx, value, bits, name, tag, depth, typed, what);
    }
}

function describeOther(ctx, value, bits, name, tag, depth, typed, what) {
    if (bits & BIT.arguments) {
        what.braces[0] = '[Arguments] {';
        what.noEntries = true;
    } else if (bits & BIT.function) {
        what.base = functionBase(value, name, tag, bits);
        what.noEntries = true;
        what.keys = keysOf(value, ctx.showHidden);
        if (what.keys.length === 0) return void (what.done = ctx.stylize(what.base, 'special'));
    } else if (bits & BIT.regExp) {
        what.base = RegExp.prototype.toString.call(name !== null ? value : new RegExp(value));
        const p = prefix(name, tag, 'RegExp');
        if (p !== 'RegExp ') what.base = `${p}${what.base}`;
        what.keys = keysOf(value, ctx.showHidden);
        if (what.keys.length === 0 || tooDeep(ctx, depth)) return void (what.done = ctx.stylize(what.base, 'regexp'));
    } else if (bits & BIT.date) {
        what.base = Number.isNaN(Date.prototype.getTime.call(value)) ? Date.prototype.toString.call(value) : Date.prototype.toISOString.call(value);
        const p = prefix(name, tag, 'Date');
        if (p !== 'Date ') what.base = `${p}${what.base}`;
        what.keys = keysOf(value, ctx.showHidden);
        if (what.keys.length === 0) return void (what.done = ctx.stylize(what.base, 'date'));
    } else if (bits & BIT.error || isErrorLike(value)) {
        what.keys = keysOf(value, ctx.showHidden);
        what.base = errorBase(ctx, value, name, tag, what.keys);
        if (what.keys.length === 0) return void (what.done = what.base);
    } else if (bits & (BIT.arrayBuffer | BIT.sharedArrayBuffer)) {
        const p = prefix(name, tag, bits & BIT.arrayBuffer ? 'ArrayBuffer' : 'SharedArrayBuffer');
        what.keys = keysOf(value, ctx.showHidden);
        if (typed) what.formatter = noEntries;
        else what.formatter = bufferEntries;
        if (typed && what.keys.length === 0) {
            const length = bits & BIT.arrayBuffer ? call(bufferLength, value) : value.byteLength;
            return void (what.done = `${p}{ byteLength: ${primitive(ctx.stylize, length, ctx)} }`);
        }
        what.braces[0] = `${p}{`;
        what.keys.unshift('byteLength');
    } else if (bits & BIT.dataView) {
        what.braces[0] = `${prefix(name, tag, 'DataView')}{`;
        what.keys = keysOf(value, ctx.showHidden);
        what.keys.unshift('byteLength', 'byteOffset', 'buffer');
    } else if (bits & BIT.promise) {
        what.braces[0] = `${prefix(name, tag, 'Promise')}{`;
        what.formatter = promiseEntries;
    } else if (bits & (BIT.weakSet | BIT.weakMap)) {
        what.braces[0] = `${prefix(name, tag, bits & BIT.weakSet ? 'WeakSet' : 'WeakMap')}{`;
        what.formatter = ctx.showHidden ? weakEntries : unknownItems;
    } else if (bits & BIT.namespace) {
        what.braces[0] = `${prefix(name, tag, 'Module')}{`;
        what.keys = [];
        what.formatter = namespaceEntries;
    } else if (bits & BOXED) {
        const [base, keys] = boxed(ctx, value, bits, name, tag);
        what.base = base;
        what.keys = keys;
        if (keys.length === 0) return void (what.done = base);
    } else if (bits & BIT.external) {
        what.done = ctx.stylize('[External]', 'special');
    } else {
        what.keys = keysOf(value, ctx.showHidden);
        if (name !== null && isWeb(value)) {
            const web = webKeys(value);
            what.web = true;
            what.keys = [...web, ...what.keys.filter((key) => typeof key === 'symbol' || !key.startsWith('_'))];
            if (MULTIMAPS.has(name)) return multimap(value, name, what);
        }
        const p = prefix(name, tag, fallbackName(value, name, tag));
        if (bits & BIT.generator) what.braces[0] = `Object [${tag || 'Generator'}] {`;
        else what.braces[0] = p === 'Object ' ? '{' : `${p}{`;
        if (what.keys.length === 0) what.noEntries = true;
    }
}
const BOXED = BIT.numberObject | BIT.stringObject | BIT.booleanObject | BIT.bigintObject | BIT.symbolObject;

// What the platform has of lists of names and values.
const MULTIMAPS = new Set(['Headers', 'FormData', 'URLSearchParams']);
function multimap(value, name, what) {
    const list = [...value].flat();
    what.keys = [];
    what.braces[0] = `${name}(${list.length / 2}) {`;
    what.noEntries = list.length === 0;
    what.formatter = (ctx, v, depth) => mapEntries(ctx, v, depth, list);
}

// Also an object of a class that derives from Error without having been made by its constructor.
const isErrorLike = (value) => isInstance(value, Error);

function functionBase(value, name, tag, bits) {
    const source = Function.prototype.toString.call(value);
    if (source.startsWith('class') && source.endsWith('}')) {
        let base = `[class ${hasOwn(value, 'name') && value.name !== '' ? value.name : '(anonymous)'}`;
        if (name !== 'Function' && name !== null) base += ` [${name}]`;
        if (tag !== '' && name !== tag) base += ` [${tag}]`;
        if (name !== null) {
            const parent = getPrototypeOf(value)?.name;
            if (parent) base += ` extends ${parent}`;
        } else {
            base += ' extends [null prototype]';
        }
        return `${base}]`;
    }
    let type = 'Function';
    if (bits & BIT.generatorFunction) type = `Generator${type}`;
    if (bits & BIT.asyncFunction) type = `Async${type}`;
    let base = `[${type}`;
    if (name === null) base += ' (null prototype)';
    base += value.name === '' ? ' (anonymous)' : `: ${typeof value.name === 'string' ? value.name : inspect(value.name)}`;
    base += ']';
    if (name !== type && name !== null) base += ` ${name}`;
    if (tag !== '' && name !== tag) base += ` [${tag}]`;
    return base;
}

function boxed(ctx, value, bits, name, tag) {
    let type;
    let fn;
    if (bits & BIT.numberObject) [type, fn] = ['Number', Number.prototype.valueOf];
    else if (bits & BIT.stringObject) [type, fn] = ['String', String.prototype.valueOf];
    else if (bits & BIT.booleanObject) [type, fn] = ['Boolean', Boolean.prototype.valueOf];
    else if (bits & BIT.bigintObject) [type, fn] = ['BigInt', BigInt.prototype.valueOf];
    else [type, fn] = ['Symbol', Symbol.prototype.valueOf];
    const inner = call(fn, value);
    let keys = keysOf(value, ctx.showHidden);
    if (type === 'String') keys = keys.slice(inner.length);
    let base = `[${type}`;
    if (type !== name) base += name === null ? ' (null prototype)' : ` (${name})`;
    base += `: ${primitive(plain, inner, { ...ctx, compact: true, maxStringLength: Infinity })}]`;
    if (tag !== '' && tag !== name) base += ` [${tag}]`;
    return [keys.length > 0 || ctx.stylize === plain ? base : ctx.stylize(base, type.toLowerCase()), keys];
}

// ---- Errors

function errorBase(ctx, error, name, tag, keys) {
    const given = error.stack;
    let stack = typeof given === 'string' && given !== '' ? given : given ? inspect(given, { compact: false }) : Error.prototype.toString.call(error);
    // What the stack tells already is no property to show.
    if (!ctx.showHidden && keys.length > 0) {
        for (const key of ['name', 'message', 'stack']) {
            const at = keys.indexOf(key);
            if (at !== -1 && stack.includes(String(error[key]))) keys.splice(at, 1);
        }
    }
    if ('cause' in error && hasOwn(error, 'cause') && !keys.includes('cause')) keys.push('cause');
    if (hasOwn(error, 'errors') && Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
    stack = improve(stack, error, name, tag);
    const at = stack.indexOf('\n    at');
    const message = error.message ? stack.indexOf(error.message) : -1;
    const start = message !== -1 ? stack.indexOf('\n    at', message + error.message.length) : at;
    if (start === -1) stack = `[${stack}]`;
    else {
        const frames = stack.slice(start + 1).split('\n');
        const cause = hasOwn(error, 'cause') && isErrorLike(error.cause) ? String(error.cause.stack) : '';
        const from = cause.indexOf('\n    at');
        stack = `${stack.slice(0, start)}\n${(from === -1 ? frames : shorten(frames, cause.slice(from + 1).split('\n'))).join('\n')}`;
    }
    if (ctx.indentation !== 0) stack = stack.replaceAll('\n', `\n${' '.repeat(ctx.indentation)}`);
    return stack;
}
// The frames that the cause shows as well are left out, but for the first and the last.
function shorten(frames, cause) {
    let common = 0;
    while (common < frames.length && common < cause.length && frames[frames.length - 1 - common] === cause[cause.length - 1 - common]) common++;
    if (common <= 3) return frames;
    const first = frames.length - common;
    return [...frames.slice(0, first + 1), `    ... ${common - 2} lines matching cause stack trace ...`, frames[frames.length - 1]];
}

// The first word of the stack becomes the name of the class, when it says something else.
function improve(stack, error, name, tag) {
    const own = error.name === undefined || error.name === null ? 'Error' : String(error.name);
    if (error.name !== undefined && error.name !== null && typeof error.name !== 'string') return stack.replace(own, `${own} [${prefix(name, tag, 'Error').slice(0, -1)}]`);
    let length = own.length;
    let fallback = 'Error';
    if (name === null) {
        const m = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n {4}at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
        length = m === null ? 0 : m[1].length;
        if (m !== null) fallback = m[1];
    } else if (!own.endsWith('Error') || !stack.startsWith(own) || ![undefined, ':', '\n'].includes(stack[length])) {
        return stack;
    }
    const label = prefix(name, tag, fallback).slice(0, -1);
    if (own === label) return stack;
    if (!label.includes(own)) return `${label} [${own}]${stack.slice(length)}`;
    return length === 0 ? `${label}: ${stack}` : label + stack.slice(length);
}

// ---- Entries

function remaining(count) {
    return `... ${count} more item${count > 1 ? 's' : ''}`;
}

function arrayEntries(ctx, value, depth) {
    const out = [];
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
    let index = 0;
    while (index < value.length && out.length < shown) {
        if (hasOwn(value, index)) {
            out.push(property(ctx, value, depth, String(index), ARRAY));
            index++;
            continue;
        }
        // A hole: up to the next element that is there.
        let next = index + 1;
        if (value.length - index > 1000) {
            next = value.length;
            for (const k of ownKeys(value)) {
                if (INDEX.test(k) && Number(k) > index) {
                    next = Number(k);
                    break;
                }
            }
        } else {
            while (next < value.length && !hasOwn(value, next)) next++;
        }
        const count = next - index;
        out.push(ctx.stylize(`<${count} empty item${count > 1 ? 's' : ''}>`, 'undefined'));
        index = next;
    }
    if (index < value.length) out.push(remaining(value.length - index));
    return out;
}

function typedEntries(ctx, value, depth) {
    const length = call(lengthOf, value);
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), length);
    const out = new Array(shown);
    for (let i = 0; i < shown; i++) out[i] = primitive(ctx.stylize, value[i], ctx);
    if (shown < length) out.push(remaining(length - shown));
    if (ctx.showHidden) {
        ctx.indentation += 2;
        for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) {
            out.push(`[${key}]: ${formatValue(ctx, value[key], depth, true)}`);
        }
        ctx.indentation -= 2;
    }
    return out;
}

function bufferEntries(ctx, value) {
    if (detached !== undefined && classOf(value) & BIT.arrayBuffer && call(detached, value)) return [ctx.stylize('(detached)', 'special')];
    const bytes = new Uint8Array(value);
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), bytes.length);
    let text = '';
    for (let i = 0; i < shown; i++) text += `${i > 0 ? ' ' : ''}${bytes[i].toString(16).padStart(2, '0')}`;
    const more = bytes.length - shown;
    if (more > 0) text += ` ... ${more} more byte${more > 1 ? 's' : ''}`;
    return [`${ctx.stylize('[Uint8Contents]', 'special')}: <${text}>`];
}

function setEntries(ctx, value, depth, list = preview(value)[0]) {
    ctx.indentation += 2;
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), list.length);
    const out = [];
    for (let i = 0; i < shown; i++) out.push(formatValue(ctx, list[i], depth, false));
    if (shown < list.length) out.push(remaining(list.length - shown));
    ctx.indentation -= 2;
    return out;
}

function mapEntries(ctx, value, depth, list = preview(value)[0]) {
    ctx.indentation += 2;
    const size = list.length / 2;
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), size);
    const out = [];
    for (let i = 0; i < shown; i++) out.push(`${formatValue(ctx, list[i * 2], depth, false)} => ${formatValue(ctx, list[i * 2 + 1], depth, false)}`);
    if (shown < size) out.push(remaining(size - shown));
    ctx.indentation -= 2;
    return out;
}

function iteratorEntries(ctx, value, depth) {
    const [list, keyed] = preview(value);
    if (!keyed) return setEntries(ctx, value, depth, list);
    ctx.indentation += 2;
    const size = list.length / 2;
    const shown = Math.min(Math.max(0, ctx.maxArrayLength), size);
    const out = [];
    for (let i = 0; i < shown; i++) {
        const pair = [formatValue(ctx, list[i * 2], depth, false), formatValue(ctx, list[i * 2 + 1], depth, false)];
        out.push(combine(ctx, pair, '', ['[', ']'], ARRAY_EXTRAS, depth, undefined));
    }
    if (shown < size) out.push(remaining(size - shown));
    ctx.indentation -= 2;
    return out;
}

const unknownItems = (ctx) => [ctx.stylize('<items unknown>', 'special')];
function weakEntries(ctx, value, depth) {
    const [list, keyed] = preview(value);
    const out = keyed ? mapEntries(ctx, value, depth, list) : setEntries(ctx, value, depth, list);
    return out.sort();
}

function promiseEntries(ctx, value, depth) {
    const [state, result] = promise_state(value);
    if (state === 0) return [ctx.stylize('<pending>', 'special')];
    ctx.indentation += 2;
    const text = formatValue(ctx, result, depth, false);
    ctx.indentation -= 2;
    return [state === 2 ? `${ctx.stylize('<rejected>', 'special')} ${text}` : text];
}

function namespaceEntries(ctx, value, depth) {
    return getOwnPropertyNames(value).map((key) => {
        try {
            return property(ctx, value, depth, key, OBJECT);
        } catch {
            return `${keyText(ctx, key, { enumerable: true })}: ${ctx.stylize('<uninitialized>', 'special')}`;
        }
    });
}

const IDENTIFIER = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
function keyText(ctx, key, d) {
    if (typeof key === 'symbol') return d.enumerable === false ? `[${ctx.stylize(symbolText(key), 'symbol')}]` : ctx.stylize(symbolText(key), 'symbol');
    if (key === '__proto__') return "['__proto__']";
    if (d.enumerable === false) return `[${key.replace(ESCAPED, escape)}]`;
    if (IDENTIFIER.test(key)) return ctx.stylize(key, 'name');
    return ctx.stylize(quote(key), 'string');
}
const symbolText = (s) => Symbol.prototype.toString.call(s).replace(ESCAPED, escape);

function property(ctx, value, depth, key, kind, d, original = value) {
    let text;
    let space = ' ';
    d ??= getOwnPropertyDescriptor(value, key) ?? { value: value[key], configurable: true, enumerable: true };
    if (d.value !== undefined || (d.get === undefined && d.set === undefined)) {
        const diff = ctx.compact !== true || kind !== OBJECT ? 2 : 3;
        ctx.indentation += diff;
        text = formatValue(ctx, d.value, depth, false);
        if (diff === 3 && ctx.breakLength < text.length) space = `\n${' '.repeat(ctx.indentation)}`;
        ctx.indentation -= diff;
    } else if (d.get !== undefined) {
        text = getter(ctx, d, depth, original);
    } else {
        text = ctx.stylize('[Setter]', 'special');
    }
    return kind === ARRAY ? text : `${keyText(ctx, key, d)}:${space}${text}`;
}

function getter(ctx, d, depth, object) {
    const label = d.set !== undefined ? 'Getter/Setter' : 'Getter';
    const wanted = ctx.getters === true || (ctx.getters === 'get' && d.set === undefined) || (ctx.getters === 'set' && d.set !== undefined);
    if (!wanted) return ctx.stylize(`[${label}]`, 'special');
    ctx.indentation += 2;
    try {
        const v = call(d.get, object);
        if (v !== null && typeof v === 'object') return `${ctx.stylize(`[${label}]`, 'special')} ${formatValue(ctx, v, depth, false)}`;
        return `${ctx.stylize(`[${label}:`, 'special')} ${primitive(ctx.stylize, v, ctx)}${ctx.stylize(']', 'special')}`;
    } catch (error) {
        return ctx.stylize(`[${label}: <Inspection threw (${error?.message})>]`, 'special');
    } finally {
        ctx.indentation -= 2;
    }
}

// ---- From entries to text

const widthOf = (ctx, text) => (ctx.colors ? stripColors(text).length : text.length);

// Whether the entries fit on one line behind `start` columns.
function fits(ctx, entries, start, base) {
    let total = entries.length + start;
    if (total + entries.length > ctx.breakLength) return false;
    for (const e of entries) {
        total += widthOf(ctx, e);
        if (total > ctx.breakLength) return false;
    }
    return base === '' || !base.includes('\n');
}

function combine(ctx, entries, base, braces, kind, depth, value) {
    const space = base === '' ? '' : `${base} `;
    if (ctx.compact !== true) {
        if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
            const count = entries.length;
            if (kind === ARRAY_EXTRAS && count > 6) entries = columns(ctx, entries, value);
            if (ctx.current - depth < ctx.compact && count === entries.length) {
                const start = entries.length + ctx.indentation + braces[0].length + base.length + 10;
                if (fits(ctx, entries, start, base)) {
                    const joined = entries.join(', ');
                    if (!joined.includes('\n')) return `${space}${braces[0]} ${joined} ${braces[1]}`;
                }
            }
        }
        const indent = `\n${' '.repeat(ctx.indentation)}`;
        return `${space}${braces[0]}${indent}  ${entries.join(`,${indent}  `)}${indent}${braces[1]}`;
    }
    if (fits(ctx, entries, 0, base)) return `${braces[0]}${base === '' ? '' : ` ${base}`} ${entries.join(', ')} ${braces[1]}`;
    const indent = `\n${' '.repeat(ctx.indentation)}`;
    const lead = base === '' && braces[0].length === 1 ? ' ' : `${base === '' ? '' : ` ${base}`}${indent}  `;
    return `${braces[0]}${lead}${entries.join(`,${indent}  `)} ${braces[1]}`;
}

// Short elements of an array, several on a line and aligned.
function columns(ctx, entries, value) {
    let total = 0;
    let widest = 0;
    let count = entries.length;
    if (ctx.maxArrayLength < entries.length) count--; // "... more items" has a line of its own.
    const widths = new Array(count);
    for (let i = 0; i < count; i++) {
        widths[i] = widthOf(ctx, entries[i]);
        total += widths[i] + 2;
        widest = Math.max(widest, widths[i]);
    }
    const cell = widest + 2;
    if (!(cell * 3 + ctx.indentation < ctx.breakLength && (total / cell > 5 || widest <= 6))) return entries;
    const bias = Math.sqrt(cell - total / entries.length);
    const biased = Math.max(cell - 3 - bias, 1);
    const across = Math.min(
        Math.round(Math.sqrt(2.5 * biased * count) / biased),
        Math.floor((ctx.breakLength - ctx.indentation) / cell),
        ctx.compact * 4,
        15,
    );
    if (across <= 1) return entries;
    const column = [];
    for (let i = 0; i < across; i++) {
        let width = 0;
        for (let j = i; j < count; j += across) width = Math.max(width, widths[j]);
        column.push(width + 2);
    }
    let left = false;
    if (value !== undefined) {
        for (let i = 0; i < entries.length; i++) {
            if (typeof value[i] !== 'number' && typeof value[i] !== 'bigint') {
                left = true;
                break;
            }
        }
    } else {
        left = true;
    }
    const rows = [];
    for (let i = 0; i < count; i += across) {
        const end = Math.min(i + across, count);
        let row = '';
        let j = i;
        for (; j < end - 1; j++) {
            const text = `${entries[j]}, `;
            const pad = ' '.repeat(column[j - i] - widths[j] - 2);
            row += left ? text + pad : pad + text;
        }
        if (left) row += entries[j];
        else row += ' '.repeat(column[j - i] - 2 - widths[j]) + entries[j];
        rows.push(row);
    }
    if (count < entries.length) rows.push(entries[count]);
    return rows;
}

// ---- printf

const simple = (v) => typeof v !== 'object' && typeof v !== 'function';

// Whether String(v) is more telling than the inspection: a class of the user with a toString of its own.
function hasOwnText(v) {
    if (proxy_parts(v) !== undefined) return false;
    if (typeof v[Symbol.toPrimitive] === 'function' && !(v instanceof Date)) return true;
    if (typeof v.toString !== 'function') return false;
    if (hasOwn(v, 'toString')) return true;
    let p = v;
    do p = getPrototypeOf(p);
    while (p !== null && !hasOwn(p, 'toString'));
    const d = p === null ? undefined : getOwnPropertyDescriptor(p, 'constructor');
    return d !== undefined && typeof d.value === 'function' && !isBuiltin(d.value.name);
}

function stringOf(v, options) {
    if (typeof v === 'number') return number(v, options?.numericSeparator ?? DEFAULTS.numericSeparator);
    if (typeof v === 'bigint') return inspect(v, options);
    if (simple(v) || v === null || typeof v === 'function') return String(v);
    if (hasOwnText(v)) return String(v);
    return inspect(v, { ...options, depth: 0, colors: false, compact: 3 });
}

function directive(letter, v, options) {
    switch (letter) {
        case 's':
            return stringOf(v, options);
        case 'd':
            if (typeof v === 'bigint') return inspect(v, options);
            if (typeof v === 'symbol') return inspect(NaN, options);
            return inspect(typeof v === 'object' ? Number(v) : Number(v), options);
        case 'i':
            if (typeof v === 'bigint') return inspect(v, options);
            if (typeof v === 'symbol') return inspect(NaN, options);
            return inspect(Number.parseInt(v), options);
        case 'f':
            return typeof v === 'symbol' ? inspect(NaN, options) : inspect(Number.parseFloat(v), options);
        case 'j':
            try {
                return String(JSON.stringify(v));
            } catch (error) {
                if (String(error?.message).startsWith('Converting circular structure to JSON')) return '[Circular]';
                throw error;
            }
        case 'o':
            return inspect(v, { ...options, showHidden: true, showProxy: true, depth: 4 });
        case 'O':
            return inspect(v, options);
        default:
            return '';
    }
}

export function formatWithOptions(options, ...args) {
    let text = '';
    let used = 0;
    if (typeof args[0] === 'string' && args.length > 1) {
        used = 1;
        text = args[0].replace(/%([sdifjoOc%])/g, (all, letter) => {
            if (letter === '%') return '%';
            if (used >= args.length) return all;
            return directive(letter, args[used++], options);
        });
    }
    for (let i = used; i < args.length; i++) {
        if (i > 0) text += ' ';
        text += typeof args[i] === 'string' ? args[i] : inspect(args[i], options);
    }
    return text;
}
export const format = (...args) => formatWithOptions(undefined, ...args);

// What a call of console writes.
export const inspectArgs = (args) => formatWithOptions(undefined, ...args);
