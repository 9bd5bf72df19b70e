// node/util.js: node:util.
import { custom, format, formatWithOptions as formatWith, inspect, stripColors } from '../inspect.js';
import { isDeepStrictEqual } from './compare.js';
import { ERRNO } from './errno.js';
import { err, nodeError, validateAbortSignal, validateBoolean, validateFunction, validateInteger, validateObject, validateOneOf, validateString } from './errors.js';
import { MIMEParams, MIMEType } from './mime.js';
import { queueMicrotask, setImmediate, setTimeout } from '../timers.js';
import { parseArgs } from './parse_args.js';
import * as types from './types.js';

const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom');
export const PROMISE_ARGS = Symbol('names of the arguments of a callback');

export function formatWithOptions(options, ...args) {
    validateObject(options, 'inspectOptions', { array: true, functions: true });
    return formatWith(options, ...args);
}

export function promisify(original) {
    validateFunction(original, 'original');
    if (original[PROMISIFIED]) {
        const fn = original[PROMISIFIED];
        validateFunction(fn, 'util.promisify.custom');
        return Object.defineProperty(fn, PROMISIFIED, { value: fn, enumerable: false, writable: false, configurable: true });
    }
    const names = original[PROMISE_ARGS];
    function fn(...args) {
        return new Promise((resolve, reject) => {
            Reflect.apply(original, this, [
                ...args,
                (error, ...values) => {
                    if (error) return reject(error);
                    if (names !== undefined && values.length > 1) return resolve(Object.fromEntries(names.map((name, i) => [name, values[i]])));
                    resolve(values[0]);
                },
            ]);
        });
    }
    Object.setPrototypeOf(fn, Object.getPrototypeOf(original));
    Object.defineProperty(fn, PROMISIFIED, { value: fn, enumerable: false, writable: false, configurable: true });
    const own = Object.getOwnPropertyDescriptors(original);
    delete own.prototype;
    for (const key of Reflect.ownKeys(own)) Object.defineProperty(fn, key, own[key]);
    return fn;
}
promisify.custom = PROMISIFIED;
for (const [fn, promised] of [
    [setTimeout, (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value))],
    [setImmediate, (value) => new Promise((resolve) => setImmediate(resolve, value))],
]) {
    Object.defineProperty(fn, PROMISIFIED, { value: promised, configurable: true });
}

export function callbackify(original) {
    validateFunction(original, 'original');
    function callbackified(...args) {
        const callback = args.pop();
        validateFunction(callback, 'last argument');
        const done = callback.bind(this);
        Reflect.apply(original, this, args).then(
            (value) => queueMicrotask(() => done(null, value)),
            (reason) => {
                if (!reason) {
                    const error = err.ERR_FALSY_VALUE_REJECTION();
                    error.reason = reason;
                    reason = error;
                }
                queueMicrotask(() => done(reason));
            },
        );
    }
    const own = Object.getOwnPropertyDescriptors(original);
    if (typeof own.length?.value === 'number') own.length.value++;
    if (typeof own.name?.value === 'string') own.name.value += 'Callbackified';
    for (const key of Reflect.ownKeys(own)) if (key !== 'prototype') Object.defineProperty(callbackified, key, own[key]);
    return callbackified;
}

export function inherits(ctor, parent) {
    if (ctor === undefined || ctor === null) throw err.ERR_INVALID_ARG_TYPE('ctor', 'Function', ctor);
    if (parent === undefined || parent === null) throw err.ERR_INVALID_ARG_TYPE('superCtor', 'Function', parent);
    if (parent.prototype === undefined) throw err.ERR_INVALID_ARG_TYPE('superCtor.prototype', 'Object', parent.prototype);
    Object.defineProperty(ctor, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(ctor.prototype, parent.prototype);
}

const warned = new Set();
export function deprecate(fn, message, code) {
    validateFunction(fn, 'fn');
    let done = false;
    function deprecated(...args) {
        if (!done) {
            done = true;
            if (code === undefined || !warned.has(code)) {
                if (code !== undefined) warned.add(code);
                globalThis.process?.emitWarning?.(message, 'DeprecationWarning', code, deprecated);
            }
        }
        return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
    }
    Object.setPrototypeOf(deprecated, fn);
    if (fn.prototype) deprecated.prototype = fn.prototype;
    Object.defineProperty(deprecated, 'length', { value: fn.length, configurable: true });
    return deprecated;
}

// Sections are switched on by NODE_DEBUG.
export function debuglog(section, ready) {
    const on = () => {
        const wanted = globalThis.process?.env?.NODE_DEBUG ?? '';
        return wanted.split(',').some((w) => new RegExp(`^${w.trim().replace(/[|\\{}()[\]^$+?.]/g, '\\$&').replaceAll('*', '.*')}$`, 'i').test(section) && w.trim() !== '');
    };
    let enabled;
    const log = (...args) => {
        enabled ??= on();
        if (enabled) console.error(`${section.toUpperCase()} 1: ${format(...args)}`);
        ready?.(log);
        ready = undefined;
    };
    Object.defineProperty(log, 'enabled', { get: () => (enabled ??= on()), configurable: true, enumerable: true });
    return log;
}

export function stripVTControlCharacters(text) {
    validateString(text, 'str');
    return stripColors(text);
}

export function styleText(formats, text, options = {}) {
    validateString(text, 'text');
    validateObject(options, 'options');
    const { validateStream = true, stream } = options;
    validateBoolean(validateStream, 'options.validateStream');
    if (validateStream && stream !== undefined) {
        if (stream === null || typeof stream !== 'object' || (typeof stream.write !== 'function' && typeof stream.read !== 'function' && typeof stream.getReader !== 'function' && typeof stream.getWriter !== 'function')) {
            throw err.ERR_INVALID_ARG_TYPE('stream', ['ReadableStream', 'WritableStream', 'Stream'], stream);
        }
        if (!stream.isTTY) formats = [];
    }
    let open = '';
    let close = '';
    for (const name of Array.isArray(formats) ? formats : [formats]) {
        if (name === 'none') continue;
        const codes = inspect.colors[name];
        if (codes === undefined) validateOneOf(name, 'format', Object.keys(inspect.colors));
        open += `\x1b[${codes[0]}m`;
        close = `\x1b[${codes[1]}m${close}`;
    }
    return `${open}${text}${close}`;
}

export const toUSVString = (text) => String(text).toWellFormed();

export function getSystemErrorName(errno) {
    if (typeof errno !== 'number') throw err.ERR_INVALID_ARG_TYPE('err', 'number', errno);
    if (errno >= 0 || !Number.isSafeInteger(errno)) throw err.ERR_OUT_OF_RANGE('err', 'a negative integer', errno);
    return ERRNO.get(errno)?.[0];
}
export const getSystemErrorMap = () => new Map(ERRNO);
export const getSystemErrorMessage = (errno) => ERRNO.get(errno)?.[1];

export async function aborted(signal, resource) {
    if (signal === undefined) throw err.ERR_INVALID_ARG_TYPE('signal', 'AbortSignal', signal);
    validateAbortSignal(signal, 'signal');
    validateObject(resource, 'resource', { functions: true });
    if (signal.aborted) return;
    await new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export function parseEnv(content) {
    validateString(content, 'content');
    const env = {};
    const line = /^\s*(?:export\s+)?([\w.-]+)\s*=[^\S\n]*("(?:\\.|[^"])*"|'[^']*'|`[^`]*`|[^#\n]*)?[^\n]*$/gm;
    for (const [, key, raw = ''] of content.replace(/\r\n?/g, '\n').matchAll(line)) {
        let value = raw.trim();
        const q = value[0];
        if ((q === '"' || q === "'" || q === '`') && value.length > 1 && value.endsWith(q)) {
            value = value.slice(1, -1);
            if (q === '"') value = value.replaceAll('\\n', '\n');
        }
        env[key] = value;
    }
    return env;
}

export function getCallSites(count = 10, options) {
    if (typeof count === 'object') [count, options] = [10, count];
    validateInteger(count, 'frameCount', 1, 200);
    const { prepareStackTrace, stackTraceLimit } = Error;
    try {
        Error.stackTraceLimit = count;
        Error.prepareStackTrace = (_, sites) => sites;
        const holder = {};
        Error.captureStackTrace(holder, getCallSites);
        return holder.stack.map((s) => ({
            functionName: s.getFunctionName() ?? '',
            scriptId: String(s.getScriptNameOrSourceURL?.() ?? ''),
            scriptName: s.getFileName() ?? '',
            lineNumber: s.getLineNumber(),
            columnNumber: s.getColumnNumber(),
            column: s.getColumnNumber(),
        }));
    } finally {
        Error.prepareStackTrace = prepareStackTrace;
        Error.stackTraceLimit = stackTraceLimit;
    }
}

export function _extend(target, source) {
    if (source === null || typeof source !== 'object') return target;
    return Object.assign(target, source);
}
export const log = (...args) => console.log('%s - %s', new Date().toLocaleTimeString(), format(...args));

// An error of the system as Node's callbacks get it.
export function _errnoException(errno, syscall, original) {
    const name = getSystemErrorName(errno);
    const error = new Error(original ? `${syscall} ${name} ${original}` : `${syscall} ${name}`);
    return Object.assign(error, { errno, code: name, syscall });
}
export function _exceptionWithHostPort(errno, syscall, address, port, additional) {
    const details = port > 0 ? ` ${address}:${port}` : address ? ` ${address}` : '';
    const error = new Error(`${syscall} ${getSystemErrorName(errno)}${details}${additional ? ` - Local (${additional})` : ''}`);
    Object.assign(error, { errno, code: getSystemErrorName(errno), syscall, address });
    if (port) error.port = port;
    return error;
}

export const isArray = (v) => Array.isArray(v);
const legacy = {
    isBoolean: (v) => typeof v === 'boolean',
    isBuffer: (v) => globalThis.Buffer.isBuffer(v),
    isDate: (v) => types.isDate(v),
    isError: (v) => types.isNativeError(v) || v instanceof Error,
    isFunction: (v) => typeof v === 'function',
    isNull: (v) => v === null,
    isNullOrUndefined: (v) => v === null || v === undefined,
    isNumber: (v) => typeof v === 'number',
    isObject: (v) => v !== null && typeof v === 'object',
    isPrimitive: (v) => v === null || (typeof v !== 'object' && typeof v !== 'function'),
    isRegExp: (v) => types.isRegExp(v),
    isString: (v) => typeof v === 'string',
    isSymbol: (v) => typeof v === 'symbol',
    isUndefined: (v) => v === undefined,
};

export const utilTypes = {};
for (const key of Object.keys(types)) if (key.startsWith('is')) utilTypes[key] = types[key];

const notSupported = (name) => () => {
    throw nodeError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', `The util.${name} API is not implemented in celld`);
};

export default {
    _errnoException,
    _exceptionWithHostPort,
    _extend,
    aborted,
    callbackify,
    debug: debuglog,
    debuglog,
    deprecate,
    format,
    formatWithOptions,
    getCallSite: getCallSites,
    getCallSites,
    getSystemErrorMap,
    getSystemErrorMessage,
    getSystemErrorName,
    inherits,
    inspect,
    isArray,
    ...legacy,
    isDeepStrictEqual,
    log,
    MIMEParams,
    MIMEType,
    parseArgs,
    parseEnv,
    promisify,
    stripVTControlCharacters,
    styleText,
    TextDecoder: globalThis.TextDecoder,
    TextEncoder: globalThis.TextEncoder,
    toUSVString,
    transferableAbortController: notSupported('transferableAbortController'),
    transferableAbortSignal: notSupported('transferableAbortSignal'),
    types: utilTypes,
};
export { custom };
