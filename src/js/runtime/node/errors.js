// node/errors.js: errors as Node makes them: with a code, which their text shows too.
import { inspect } from '../inspect.js';

const { defineProperty } = Object;

// An error of class Base whose stack begins `Name [CODE]: message`.
export function nodeError(Base, code, message) {
    const error = new Base(message);
    const { stack } = error;
    const head = `${error.name} [${code}]`;
    if (typeof stack === 'string' && stack.startsWith(`${error.name}: `)) {
        defineProperty(error, 'stack', { value: head + stack.slice(error.name.length), writable: true, configurable: true });
    }
    defineProperty(error, 'toString', {
        value() {
            return `${this.name} [${code}]: ${this.message}`;
        },
        writable: true,
        configurable: true,
    });
    error.code = code;
    return error;
}

const list = (words, last) =>
    words.length < 3 ? words.join(` ${last} `) : `${words.slice(0, -1).join(', ')}, ${last} ${words[words.length - 1]}`;

const TYPES = new Set(['string', 'function', 'number', 'object', 'Function', 'Object', 'boolean', 'bigint', 'symbol']);

// What a value is, behind "Received ".
export function received(value) {
    if (value === undefined || value === null) return `Received ${value}`;
    if (typeof value === 'function') return `Received function ${value.name}`;
    if (typeof value === 'object') {
        if (value.constructor?.name) return `Received an instance of ${value.constructor.name}`;
        return `Received ${inspect(value, { depth: -1 })}`;
    }
    let text = inspect(value, { colors: false });
    if (text.length > 28) text = `${text.slice(0, 25)}...`;
    return `Received type ${typeof value} (${text})`;
}

function wanted(expected) {
    expected = Array.isArray(expected) ? expected : [expected];
    const types = [];
    const instances = [];
    const others = [];
    for (const e of expected) {
        if (TYPES.has(e)) types.push(e.toLowerCase());
        else if (/^([A-Z][a-z0-9]*)+$/.test(e)) instances.push(e);
        else others.push(e);
    }
    if (instances.length > 0 && types.includes('object')) {
        types.splice(types.indexOf('object'), 1);
        instances.push('Object');
    }
    const parts = [];
    if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${list(types, 'or')}`);
    if (instances.length > 0) parts.push(`an instance of ${list(instances, 'or')}`);
    if (others.length > 1) parts.push(`one of ${list(others, 'or')}`);
    else if (others.length === 1) parts.push(others[0].toLowerCase() === others[0] ? others[0] : `an ${others[0]}`);
    return parts.join(' or ');
}

const the = (name) => (name.endsWith(' argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`);

// Digits in groups of three, as Node writes large integers in errors.
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, '_');

// code -> [class, text]
const CODES = {
    ERR_INVALID_ARG_TYPE: [TypeError, (name, expected, actual) => `${the(name)} must be ${wanted(expected)}. ${received(actual)}`],
    ERR_INVALID_ARG_VALUE: [
        TypeError,
        (name, value, reason = 'is invalid') => {
            let text = inspect(value);
            if (text.length > 128) text = `${text.slice(0, 128)}...`;
            return `The ${name.includes('.') ? 'property' : 'argument'} '${name}' ${reason}. Received ${text}`;
        },
    ],
    ERR_OUT_OF_RANGE: [
        RangeError,
        (name, range, value) => {
            let text;
            if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) text = grouped(value);
            else if (typeof value === 'bigint') text = `${value > 2n ** 32n || value < -(2n ** 32n) ? grouped(value) : value}n`;
            else text = inspect(value);
            return `The value of "${name}" is out of range. It must be ${range}. Received ${text}`;
        },
    ],
    ERR_MISSING_ARGS: [
        TypeError,
        (...names) => {
            const quoted = names.map((n) => (Array.isArray(n) ? n.map((x) => `"${x}"`).join(' or ') : `"${n}"`));
            return `The ${list(quoted, 'and')} argument${names.length > 1 ? 's' : ''} must be specified`;
        },
    ],
    ERR_METHOD_NOT_IMPLEMENTED: [Error, (name) => `The ${name} API is not implemented in celld`],
    ERR_AMBIGUOUS_ARGUMENT: [TypeError, (name, why) => `The "${name}" argument is ambiguous. ${why}`],
    ERR_INVALID_RETURN_VALUE: [
        TypeError,
        (expected, name, value) => {
            const type = value?.constructor?.name ? `an instance of ${value.constructor.name}` : `type ${typeof value}`;
            return `Expected ${expected} to be returned from the "${name}" function but got ${value === null || value === undefined ? value : type}.`;
        },
    ],
    ERR_INVALID_THIS: [TypeError, (name) => `Value of "this" must be of type ${name}`],
    ERR_UNKNOWN_ENCODING: [TypeError, (name) => `Unknown encoding: ${name}`],
    ERR_BUFFER_OUT_OF_BOUNDS: [
        RangeError,
        (name) => (name ? `"${name}" is outside of buffer bounds` : 'Attempt to access memory outside buffer bounds'),
    ],
    ERR_INVALID_BUFFER_SIZE: [RangeError, (size) => `Buffer size must be a multiple of ${size}`],
    ERR_STRING_TOO_LONG: [Error, (max) => `Cannot create a string longer than 0x${max.toString(16)} characters`],
    ERR_INVALID_STATE: [Error, (text) => `Invalid state: ${text}`],
    ERR_UNHANDLED_ERROR: [Error, (text) => (text === undefined ? 'Unhandled error.' : `Unhandled error. (${text})`)],
    ERR_FALSY_VALUE_REJECTION: [Error, () => 'Promise was rejected with falsy value'],
    ERR_INVALID_URL: [TypeError, () => 'Invalid URL'],
    ERR_INVALID_URL_SCHEME: [TypeError, (scheme) => `The URL must be of scheme ${scheme}`],
    ERR_INVALID_FILE_URL_PATH: [TypeError, (why) => `File URL path ${why}`],
    ERR_INVALID_FILE_URL_HOST: [TypeError, (platform) => `File URL host must be "localhost" or empty on ${platform}`],
    ERR_INVALID_URI: [URIError, () => 'URI malformed'],
    ERR_PARSE_ARGS_INVALID_OPTION_VALUE: [TypeError, (text) => text],
    ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: [TypeError, (arg) => `Unexpected argument '${arg}'. This command does not take positional arguments`],
    ERR_PARSE_ARGS_UNKNOWN_OPTION: [
        TypeError,
        (option, positionals) =>
            `Unknown option '${option}'${positionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(option)}` : ''}`,
    ],
    ERR_ASYNC_CALLBACK: [TypeError, (name) => `${name} must be a function`],
    ERR_ASYNC_TYPE: [TypeError, (name) => `Invalid name for async "type": ${name}`],
    ERR_INVALID_ASYNC_ID: [RangeError, (name, value) => `Invalid ${name} value: ${value}`],
    ERR_UNKNOWN_SIGNAL: [TypeError, (name) => `Unknown signal: ${name}`],
    ERR_UNKNOWN_BUILTIN_MODULE: [Error, (id) => `No such built-in module: ${id}`],
    MODULE_NOT_FOUND: [Error, (id) => `Cannot find module '${id}'`],
    ERR_INVALID_MIME_SYNTAX: [
        TypeError,
        (production, text, index) => `The MIME syntax for a ${production} in ${JSON.stringify(text)} is invalid${index !== -1 ? ` at ${index}` : ''}`,
    ],
    ERR_CONSTRUCT_CALL_REQUIRED: [TypeError, (name) => `Class constructor ${name} cannot be invoked without \`new\``],
    ERR_EVENT_RECURSION: [Error, (type) => `The event "${type}" is already being dispatched`],
    ERR_BUFFER_TOO_LARGE: [RangeError, (max) => `Cannot create a Buffer larger than ${max} bytes`],
    ERR_FEATURE_UNAVAILABLE_ON_PLATFORM: [TypeError, (name) => `The feature ${name} is unavailable on the current platform, which is being used to run Node.js`],
    ERR_ZSTD_INVALID_PARAM: [RangeError, (name) => `${name} is not a valid zstd parameter`],
    ERR_DIR_CLOSED: [Error, () => 'Directory handle was closed'],
    ERR_INCOMPATIBLE_OPTION_PAIR: [TypeError, (a, b) => `Option "${a}" cannot be used in combination with option "${b}"`],
    ERR_USE_AFTER_CLOSE: [Error, (name) => `${name} was closed`],
    ERR_ZLIB_INITIALIZATION_FAILED: [Error, () => 'Initialization failed'],
    ERR_BROTLI_INVALID_PARAM: [RangeError, (name) => `${name} is not a valid Brotli parameter`],
};

// err.ERR_X(...): an error of that code.
export const err = {};
for (const [code, [Base, text]] of Object.entries(CODES)) err[code] = (...args) => nodeError(Base, code, text(...args));

export class AbortError extends Error {
    constructor(message = 'The operation was aborted', options = undefined) {
        super(message, options);
        this.code = 'ABORT_ERR';
        this.name = 'AbortError';
    }
}

// A function that exists by name only. Never thenable: it is no object with a `then`.
export function notImplemented(name) {
    const fail = function () {
        throw err.ERR_METHOD_NOT_IMPLEMENTED(name);
    };
    defineProperty(fail, 'name', { value: name.slice(name.lastIndexOf('.') + 1), configurable: true });
    return fail;
}

// ---- Checks of arguments

export function validateString(value, name) {
    if (typeof value !== 'string') throw err.ERR_INVALID_ARG_TYPE(name, 'string', value);
}
export function validateBoolean(value, name) {
    if (typeof value !== 'boolean') throw err.ERR_INVALID_ARG_TYPE(name, 'boolean', value);
}
export function validateFunction(value, name) {
    if (typeof value !== 'function') throw err.ERR_INVALID_ARG_TYPE(name, 'Function', value);
}
export function validateArray(value, name, min = 0) {
    if (!Array.isArray(value)) throw err.ERR_INVALID_ARG_TYPE(name, 'Array', value);
    if (value.length < min) throw err.ERR_INVALID_ARG_VALUE(name, value, `must be longer than ${min}`);
}
export function validateObject(value, name, { nullable = false, array = false, functions = false } = {}) {
    if ((nullable && value === null) || (functions && typeof value === 'function')) return;
    if (value === null || typeof value !== 'object' || (!array && Array.isArray(value))) throw err.ERR_INVALID_ARG_TYPE(name, 'Object', value);
}
export function validateNumber(value, name, min, max) {
    if (typeof value !== 'number') throw err.ERR_INVALID_ARG_TYPE(name, 'number', value);
    if ((min !== undefined && value < min) || (max !== undefined && value > max) || ((min !== undefined || max !== undefined) && Number.isNaN(value))) {
        throw err.ERR_OUT_OF_RANGE(name, `${min !== undefined ? `>= ${min}` : ''}${min !== undefined && max !== undefined ? ' && ' : ''}${max !== undefined ? `<= ${max}` : ''}`, value);
    }
}
export function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
    if (typeof value !== 'number') throw err.ERR_INVALID_ARG_TYPE(name, 'number', value);
    if (!Number.isInteger(value)) throw err.ERR_OUT_OF_RANGE(name, 'an integer', value);
    if (value < min || value > max) throw err.ERR_OUT_OF_RANGE(name, `>= ${min} && <= ${max}`, value);
}
export const validateInt32 = (value, name, min = -2147483648, max = 2147483647) => validateInteger(value, name, min, max);
export const validateUint32 = (value, name, positive = false) => validateInteger(value, name, positive ? 1 : 0, 4294967295);
export function validateOneOf(value, name, allowed) {
    if (!allowed.includes(value)) {
        throw err.ERR_INVALID_ARG_VALUE(name, value, `must be one of: ${allowed.map((v) => (typeof v === 'string' ? `'${v}'` : String(v))).join(', ')}`);
    }
}
export function validateAbortSignal(signal, name) {
    if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
        throw err.ERR_INVALID_ARG_TYPE(name, 'AbortSignal', signal);
    }
}
export const validateBuffer = (value, name = 'buffer') => {
    if (!ArrayBuffer.isView(value)) throw err.ERR_INVALID_ARG_TYPE(name, ['Buffer', 'TypedArray', 'DataView'], value);
};
