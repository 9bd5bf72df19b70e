// node/assertion_error.js: AssertionError and its texts, with what differs line by line.
import { inspect } from '../inspect.js';
import { validateObject } from './errors.js';

const EXPECTED = {
    deepStrictEqual: 'Expected values to be strictly deep-equal:',
    partialDeepStrictEqual: 'Expected values to be partially and strictly deep-equal:',
    strictEqual: 'Expected values to be strictly equal:',
    strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
    deepEqual: 'Expected values to be loosely deep-equal:',
    notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
    notStrictEqual: 'Expected "actual" to be strictly unequal to:',
    notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
    notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
    notIdentical: 'Values have same structure but are not reference-equal:',
    notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
};
const SHORT = 12; // characters of two values that fit on one line

const show = (value) =>
    inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, showHidden: false, showProxy: false, breakLength: Infinity, sorted: true, getters: true });

// A line that became the last one differs in its comma only.
const alike = (a, b) => a === b || a === `${b},` || b === `${a},`;
const longer = (a, b) => (a.length >= b.length ? a : b);

// The shortest edit of lines: [[' ' | '+' | '-', line], ...]; '+' is of actual.
export function diffLines(actual, expected) {
    let start = 0;
    let endA = actual.length;
    let endE = expected.length;
    while (start < endA && start < endE && alike(actual[start], expected[start])) start++;
    while (endA > start && endE > start && alike(actual[endA - 1], expected[endE - 1])) endA--, endE--;
    const a = actual.slice(start, endA);
    const e = expected.slice(start, endE);
    const middle = [];
    if (a.length * e.length > 4e6) {
        for (const line of a) middle.push(['+', line]);
        for (const line of e) middle.push(['-', line]);
    } else {
        // lengths[i][j]: of the longest common part of a from i on and e from j on
        const width = e.length + 1;
        const lengths = new Uint32Array((a.length + 1) * width);
        for (let i = a.length - 1; i >= 0; i--) {
            for (let j = e.length - 1; j >= 0; j--) {
                lengths[i * width + j] = alike(a[i], e[j]) ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
            }
        }
        let i = 0;
        let j = 0;
        while (i < a.length || j < e.length) {
            if (i < a.length && j < e.length && alike(a[i], e[j])) {
                middle.push([' ', longer(a[i], e[j])]);
                i++, j++;
            } else if (i < a.length && (j === e.length || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
                middle.push(['+', a[i++]]);
            } else {
                middle.push(['-', e[j++]]);
            }
        }
    }
    const same = (x, y) => x.map((line, k) => [' ', longer(line, y[k])]);
    return [...same(actual.slice(0, start), expected), ...middle, ...same(actual.slice(endA), expected.slice(endE))];
}

// Long runs of equal lines shrink to their ends.
function diffText(diff) {
    const out = [];
    let skipped = false;
    for (let i = 0; i < diff.length; ) {
        if (diff[i][0] !== ' ') {
            out.push(`${diff[i][0]} ${diff[i][1]}`);
            i++;
            continue;
        }
        let end = i;
        while (end < diff.length && diff[end][0] === ' ') end++;
        const run = diff.slice(i, end).map(([, line]) => `  ${line}`);
        const head = i === 0 ? 1 : 2;
        const tail = end === diff.length ? 1 : 2;
        if (run.length > 5 && run.length > head + tail + 1) {
            skipped = true;
            out.push(...run.slice(0, head), '...', ...run.slice(run.length - tail));
        } else {
            out.push(...run);
        }
        i = end;
    }
    return [out.join('\n'), skipped];
}

const plain = (v) => (typeof v !== 'object' || v === null) && typeof v !== 'function';

// Stacks of two errors always differ: they are not what a comparison is about.
function withoutStack(error) {
    const copy = Object.assign(Object.create(Object.getPrototypeOf(error)), error);
    Object.defineProperty(copy, 'message', { value: error.message });
    if (Object.hasOwn(error, 'cause')) Object.defineProperty(copy, 'cause', { value: error.cause instanceof Error ? withoutStack(error.cause) : error.cause });
    return copy;
}

function difference(actual, expected, operator) {
    const errors = actual instanceof Error && expected instanceof Error;
    const mine = show(errors ? withoutStack(actual) : actual);
    const theirs = show(errors ? withoutStack(expected) : expected);
    const objects = typeof actual === 'object' && actual !== null && typeof expected === 'object' && expected !== null;
    if (operator === 'strictEqual' && ((objects && actual !== expected) || (typeof actual === 'function' && typeof expected === 'function'))) operator = 'strictEqualObject';
    const a = mine.split('\n');
    const e = theirs.split('\n');
    if (a.length === 1 && e.length === 1 && mine !== theirs && mine.length + theirs.length <= SHORT && plain(actual) && plain(expected) && (actual !== 0 || expected !== 0)) {
        return `${EXPECTED[operator]}\n\n${mine} !== ${theirs}\n`;
    }
    if (mine === theirs) {
        const lines = a.length > 50 ? [...a.slice(0, 46), '...'] : a;
        return `${EXPECTED.notIdentical}\n\n${lines.join('\n')}\n`;
    }
    const [text, skipped] = diffText(diffLines(a, e));
    return `${EXPECTED[operator]}\n+ actual - expected${skipped ? '\n... Skipped lines' : ''}\n\n${text}\n`;
}

const clip = (text, max = 512) => (text.length > max ? `${text.slice(0, max)}...` : text);

function messageFor(actual, expected, operator) {
    if (operator === 'deepStrictEqual' || operator === 'strictEqual' || operator === 'partialDeepStrictEqual') return difference(actual, expected, operator);
    if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') {
        let base = EXPECTED[operator];
        const lines = show(actual).split('\n');
        if (operator === 'notStrictEqual' && ((typeof actual === 'object' && actual !== null) || typeof actual === 'function')) base = EXPECTED.notStrictEqualObject;
        if (lines.length > 50) lines.splice(46, lines.length, '...');
        return lines.length === 1 ? `${base}${lines[0].length > 5 ? '\n\n' : ' '}${lines[0]}` : `${base}\n\n${lines.join('\n')}\n`;
    }
    let mine = show(actual);
    let theirs = show(expected);
    if (operator === 'notDeepEqual' && mine === theirs) {
        mine = `${EXPECTED.notDeepEqual}\n\n${mine}`;
        return mine.length > 1024 ? `${mine.slice(0, 1021)}...` : mine;
    }
    mine = clip(mine);
    theirs = clip(theirs);
    if (operator === 'deepEqual') return `${EXPECTED.deepEqual}\n\n${mine}\n\nshould loosely deep-equal\n\n${theirs}`;
    if (operator === 'notDeepEqual') return `${EXPECTED.notDeepEqualUnequal}\n\n${mine}\n\nshould not loosely deep-equal\n\n${theirs}`;
    return `${mine} ${operator} ${theirs}`;
}

export class AssertionError extends Error {
    constructor(options) {
        validateObject(options, 'options');
        const { message, operator, actual, expected, stackStartFn, stackStartFunction } = options;
        const limit = Error.stackTraceLimit;
        if (message !== undefined && message !== null) super(String(message));
        else super(messageFor(actual, expected, operator));
        Error.stackTraceLimit = limit;
        this.generatedMessage = message === undefined || message === null;
        Object.defineProperty(this, 'name', { value: 'AssertionError [ERR_ASSERTION]', enumerable: false, writable: true, configurable: true });
        this.code = 'ERR_ASSERTION';
        this.actual = actual;
        this.expected = expected;
        this.operator = operator;
        Error.captureStackTrace?.(this, stackStartFn ?? stackStartFunction);
        void this.stack;
        this.name = 'AssertionError';
        Object.defineProperty(this, 'name', { enumerable: false });
    }
    toString() {
        return `${this.name} [${this.code}]: ${this.message}`;
    }
    [inspect.custom](depth, options) {
        // The values are in the text already: they are not shown in full.
        const short = (v) => (typeof v === 'string' && v.split('\n').length > 10 ? `${v.split('\n').slice(0, 10).join('\n')}\n...` : v);
        const { actual, expected } = this;
        this.actual = short(actual);
        this.expected = short(expected);
        const text = inspect(this, { ...options, customInspect: false, depth: 0 });
        this.actual = actual;
        this.expected = expected;
        return text;
    }
}
