// node/assert.js: node:assert and node:assert/strict.
import { inspect } from '../inspect.js';
import { AssertionError } from './assertion_error.js';
import { isDeepEqual, isDeepStrictEqual, isPartialStrictEqual } from './compare.js';
import { err, validateFunction } from './errors.js';
import { isPromise, isRegExp } from './types.js';

function fails(details) {
    if (details.message instanceof Error) throw details.message;
    throw new AssertionError(details);
}

function truthy(fn, count, value, message) {
    if (value) return;
    const generated = message === undefined || message === null;
    if (count === 0) message = 'No value argument passed to `assert.ok()`';
    else if (message instanceof Error) throw message;
    else if (generated) message = 'The expression evaluated to a falsy value.';
    const error = new AssertionError({ actual: value, expected: true, message, operator: '==', stackStartFn: fn });
    error.generatedMessage = generated;
    throw error;
}

function assert(...args) {
    truthy(assert, args.length, ...args);
}
assert.ok = function ok(...args) {
    truthy(ok, args.length, ...args);
};

assert.fail = function fail(actual, expected, message, operator, stackStartFn) {
    const count = arguments.length;
    let generated = false;
    if (actual === undefined || actual === null ? count <= 1 : false) {
        generated = true;
        message = 'Failed';
    } else if (count === 1) {
        message = actual;
        actual = undefined;
    } else if (count === 2) {
        operator = '!=';
    }
    if (message instanceof Error) throw message;
    const details = { actual, expected, operator: operator === undefined ? 'fail' : operator, stackStartFn: stackStartFn ?? fail };
    if (message !== undefined) details.message = message;
    const error = new AssertionError(details);
    if (generated) error.generatedMessage = true;
    throw error;
};

// name -> [holds(actual, expected), operator]
const COMPARISONS = {
    equal: [(a, e) => a == e || (a !== a && e !== e), '=='],
    notEqual: [(a, e) => !(a == e || (a !== a && e !== e)), '!='],
    deepEqual: [isDeepEqual, 'deepEqual'],
    notDeepEqual: [(a, e) => !isDeepEqual(a, e), 'notDeepEqual'],
    deepStrictEqual: [isDeepStrictEqual, 'deepStrictEqual'],
    notDeepStrictEqual: [(a, e) => !isDeepStrictEqual(a, e), 'notDeepStrictEqual'],
    strictEqual: [Object.is, 'strictEqual'],
    notStrictEqual: [(a, e) => !Object.is(a, e), 'notStrictEqual'],
    partialDeepStrictEqual: [isPartialStrictEqual, 'partialDeepStrictEqual'],
};
for (const [name, [holds, operator]] of Object.entries(COMPARISONS)) {
    assert[name] = {
        [name](actual, expected, message) {
            if (arguments.length < 2) throw err.ERR_MISSING_ARGS('actual', 'expected');
            if (!holds(actual, expected)) fails({ actual, expected, message, operator, stackStartFn: assert[name] });
        },
    }[name];
}

// ---- What is thrown

// The properties of an error that a comparison named, for the message.
class Comparison {
    constructor(object, keys, actual) {
        for (const key of keys) {
            if (!(key in object)) continue;
            if (actual !== undefined && typeof actual[key] === 'string' && isRegExp(object[key]) && object[key].exec(actual[key]) !== null) this[key] = actual[key];
            else this[key] = object[key];
        }
    }
}

function compareKey(actual, expected, key, message, keys, fn) {
    if (key in actual && isDeepStrictEqual(actual[key], expected[key])) return;
    if (message !== undefined) fails({ actual, expected, message, operator: fn.name, stackStartFn: fn });
    const a = new Comparison(actual, keys);
    const b = new Comparison(expected, keys, actual);
    const error = new AssertionError({ actual: a, expected: b, operator: 'deepStrictEqual', stackStartFn: fn });
    error.actual = actual;
    error.expected = expected;
    error.operator = fn.name;
    throw error;
}

function expectedError(actual, expected, message, fn) {
    let generated = false;
    let throwIt = false;
    if (typeof expected !== 'function') {
        if (isRegExp(expected)) {
            const text = String(actual);
            if (expected.exec(text) !== null) return;
            if (message === undefined || message === null) {
                generated = true;
                message = `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`;
            }
            throwIt = true;
        } else if (typeof actual !== 'object' || actual === null) {
            const error = new AssertionError({ actual, expected, message, operator: 'deepStrictEqual', stackStartFn: fn });
            error.operator = fn.name;
            throw error;
        } else {
            const keys = Object.keys(expected);
            if (expected instanceof Error) keys.push('name', 'message');
            else if (keys.length === 0) throw err.ERR_INVALID_ARG_VALUE('error', expected, 'may not be an empty object');
            for (const key of keys) {
                if (typeof actual[key] === 'string' && isRegExp(expected[key]) && expected[key].exec(actual[key]) !== null) continue;
                compareKey(actual, expected, key, message, keys, fn);
            }
            return;
        }
    } else if (expected.prototype !== undefined && actual instanceof expected) {
        return;
    } else if (expected === Error || Error.isPrototypeOf(expected)) {
        if (message === undefined || message === null) {
            generated = true;
            message = `The error is expected to be an instance of "${expected.name}". Received `;
            message += actual instanceof Error ? `"${actual.name}"` : `"${inspect(actual, { depth: -1 })}"`;
            if (actual instanceof Error && actual.message !== undefined) message += `\n\nError message:\n\n${actual.message}`;
        }
        throwIt = true;
    } else {
        const result = Reflect.apply(expected, {}, [actual]);
        if (result === true) return;
        if (message === undefined || message === null) {
            generated = true;
            message = `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(result)}`;
            if (actual instanceof Error) message += `\n\nCaught error:\n\n${actual}`;
        }
        throwIt = true;
    }
    if (throwIt) {
        if (message instanceof Error) throw message;
        const error = new AssertionError({ actual, expected, message, operator: fn.name, stackStartFn: fn });
        error.generatedMessage = generated;
        throw error;
    }
}

const NONE = Symbol('none');

function thrownBy(fn) {
    validateFunction(fn, 'fn');
    try {
        fn();
    } catch (error) {
        return error;
    }
    return NONE;
}

// Promises of RPC are functions, too.
const isThenable = (v) => isPromise(v) || (((typeof v === 'object' && v !== null) || typeof v === 'function') && typeof v.then === 'function' && typeof v.catch === 'function');

async function rejectionOf(promise) {
    if (typeof promise === 'function' && !isThenable(promise)) {
        const made = promise();
        if (!isThenable(made)) throw err.ERR_INVALID_RETURN_VALUE('instance of Promise', 'promiseFn', made);
        promise = made;
    } else if (!isThenable(promise)) {
        throw err.ERR_INVALID_ARG_TYPE('promiseFn', ['Function', 'Promise'], promise);
    }
    try {
        await promise;
    } catch (error) {
        return error;
    }
    return NONE;
}

function expectsError(fn, actual, error, message, count) {
    if (typeof error === 'string') {
        if (count === 3) throw err.ERR_INVALID_ARG_TYPE('error', ['Object', 'Error', 'Function', 'RegExp'], error);
        const same = typeof actual === 'object' && actual !== null ? actual.message === error : actual === error;
        if (same && actual !== NONE) throw err.ERR_AMBIGUOUS_ARGUMENT('error/message', `The error ${typeof actual === 'object' ? 'message ' : ''}"${error}" is identical to the message.`);
        message = error;
        error = undefined;
    } else if (error !== undefined && error !== null && typeof error !== 'object' && typeof error !== 'function') {
        throw err.ERR_INVALID_ARG_TYPE('error', ['Object', 'Error', 'Function', 'RegExp'], error);
    }
    if (actual === NONE) {
        let details = '';
        if (error?.name) details += ` (${error.name})`;
        details += message ? `: ${message}` : '.';
        const kind = fn === assert.rejects ? 'rejection' : 'exception';
        if (message instanceof Error) throw message;
        throw new AssertionError({ actual: undefined, expected: error, operator: fn.name, message: `Missing expected ${kind}${details}`, stackStartFn: fn });
    }
    if (error !== undefined && error !== null) expectedError(actual, error, message, fn);
}

function expectsNone(fn, actual, error, message) {
    if (actual === NONE) return;
    if (typeof error === 'string') {
        message = error;
        error = undefined;
    }
    if (!error || matches(actual, error)) {
        const details = message ? `: ${message}` : '.';
        const kind = fn === assert.doesNotReject ? 'rejection' : 'exception';
        throw new AssertionError({
            actual,
            expected: error,
            operator: fn.name,
            message: `Got unwanted ${kind}${details}\nActual message: "${actual?.message}"`,
            stackStartFn: fn,
        });
    }
    throw actual;
}

function matches(actual, expected) {
    if (typeof expected !== 'function') {
        if (isRegExp(expected)) return expected.exec(String(actual)) !== null;
        throw err.ERR_INVALID_ARG_TYPE('expected', ['Function', 'RegExp'], expected);
    }
    if (expected.prototype !== undefined && actual instanceof expected) return true;
    if (expected === Error || Error.isPrototypeOf(expected)) return false;
    return Reflect.apply(expected, {}, [actual]) === true;
}

assert.throws = function throws(fn, ...args) {
    expectsError(throws, thrownBy(fn), args[0], args[1], args.length + 1);
};
assert.rejects = async function rejects(promise, ...args) {
    expectsError(rejects, await rejectionOf(promise), args[0], args[1], args.length + 1);
};
assert.doesNotThrow = function doesNotThrow(fn, ...args) {
    expectsNone(doesNotThrow, thrownBy(fn), ...args);
};
assert.doesNotReject = async function doesNotReject(promise, ...args) {
    expectsNone(doesNotReject, await rejectionOf(promise), ...args);
};

assert.ifError = function ifError(error) {
    if (error === null || error === undefined) return;
    let message = 'ifError got unwanted exception: ';
    if (typeof error === 'object' && typeof error.message === 'string') {
        message += error.message.length === 0 && error.constructor ? error.constructor.name : error.message;
    } else {
        message += inspect(error);
    }
    const wrapped = new AssertionError({ actual: error, expected: null, operator: 'ifError', message, stackStartFn: ifError });
    wrapped.generatedMessage = false;
    if (typeof error.stack === 'string') {
        const from = error.stack.indexOf('\n    at');
        if (from !== -1) wrapped.stack = `${wrapped.stack}\n${error.stack.slice(from + 1)}`;
    }
    throw wrapped;
};

function matching(text, pattern, message, fn) {
    if (!isRegExp(pattern)) throw err.ERR_INVALID_ARG_TYPE('regexp', 'RegExp', pattern);
    const wanted = fn === assert.match;
    if (typeof text === 'string' && (pattern.exec(text) !== null) === wanted) return;
    if (message instanceof Error) throw message;
    const generated = !message;
    message ||=
        typeof text !== 'string'
            ? `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`
            : `${wanted ? 'The input did not match the regular expression ' : 'The input was expected to not match the regular expression '}${inspect(pattern)}. Input:\n\n${inspect(text)}\n`;
    const error = new AssertionError({ actual: text, expected: pattern, message, operator: fn.name, stackStartFn: fn });
    error.generatedMessage = generated;
    throw error;
}
assert.match = function match(text, pattern, message) {
    matching(text, pattern, message, match);
};
assert.doesNotMatch = function doesNotMatch(text, pattern, message) {
    matching(text, pattern, message, doesNotMatch);
};

// Counts calls, for tests that must see a callback run. Deprecated in Node, and still in use.
class CallTracker {
    #checks = new Map();
    calls(fn, expected = 1) {
        if (typeof fn === 'number') [fn, expected] = [undefined, fn];
        const record = { expected, calls: [], name: fn?.name ?? 'calls', stack: new Error() };
        const tracked = new Proxy(fn ?? (() => {}), {
            apply(target, self, args) {
                record.calls.push({ thisArg: self, arguments: args });
                return Reflect.apply(target, self, args);
            },
        });
        this.#checks.set(tracked, record);
        return tracked;
    }
    #of(tracked) {
        const record = this.#checks.get(tracked);
        if (record === undefined) throw err.ERR_INVALID_ARG_VALUE('tracked', tracked, 'is not a tracked function');
        return record;
    }
    getCalls(tracked) {
        return this.#of(tracked).calls.slice();
    }
    reset(tracked) {
        if (tracked === undefined) for (const record of this.#checks.values()) record.calls.length = 0;
        else this.#of(tracked).calls.length = 0;
    }
    report() {
        return [...this.#checks.values()]
            .filter((r) => r.calls.length !== r.expected)
            .map((r) => ({
                message: `Expected the ${r.name} function to be executed ${r.expected} time(s) but was executed ${r.calls.length} time(s).`,
                actual: r.calls.length,
                expected: r.expected,
                operator: r.name,
                stack: r.stack,
            }));
    }
    verify() {
        const errors = this.report();
        if (errors.length === 0) return;
        throw new AssertionError({ message: errors.length === 1 ? errors[0].message : 'Functions were not called the expected number of times', details: errors });
    }
}

assert.AssertionError = AssertionError;
assert.CallTracker = CallTracker;

const strict = Object.assign(function strict(...args) {
    truthy(strict, args.length, ...args);
}, assert, {
    equal: assert.strictEqual,
    deepEqual: assert.deepStrictEqual,
    notEqual: assert.notStrictEqual,
    notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict = strict;
strict.strict = strict;

export { assert as default, strict };
