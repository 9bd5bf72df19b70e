// console.js: console. runtime.md 5.7.
import { inspect, inspectArgs } from './inspect.js';
import { table } from './table.js';

const write = host.console;
const counts = new Map();
const times = new Map();
let indent = '';

const print = (level, args) => {
    const text = inspectArgs(args);
    write(level, indent === '' ? text : indent + text.replaceAll('\n', '\n' + indent));
};

const label = (l) => (l === undefined ? 'default' : String(l));
const elapsed = (name) => `${name}: ${Date.now() - times.get(name)}ms`;

const methods = {
    log: (...args) => print(1, args),
    info: (...args) => print(1, args),
    debug: (...args) => print(0, args),
    warn: (...args) => print(2, args),
    error: (...args) => print(3, args),
    trace(...args) {
        const where = { name: 'Trace', message: inspectArgs(args) };
        Error.captureStackTrace(where, methods.trace);
        print(1, ['%s', where.stack]);
    },
    assert(condition, ...args) {
        if (condition) return;
        if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
        else args.unshift('Assertion failed');
        print(3, args);
    },
    dir: (value, options) => print(1, [inspect(value, { customInspect: false, ...options })]),
    dirxml: (...args) => print(1, args),
    table(value, properties) {
        if (properties !== undefined && !Array.isArray(properties)) throw new TypeError('The "properties" argument must be an instance of Array.');
        print(1, [table(value, properties) ?? value]);
    },
    group(...args) {
        if (args.length > 0) print(1, args);
        indent += '  ';
    },
    groupCollapsed: (...args) => methods.group(...args),
    groupEnd() {
        indent = indent.slice(2);
    },
    count(l) {
        const name = label(l);
        counts.set(name, (counts.get(name) ?? 0) + 1);
        print(1, [`${name}: ${counts.get(name)}`]);
    },
    countReset: (l) => void counts.delete(label(l)),
    time(l) {
        const name = label(l);
        if (times.has(name)) print(2, [`Timer '${name}' already exists`]);
        else times.set(name, Date.now());
    },
    timeLog(l, ...args) {
        const name = label(l);
        if (times.has(name)) print(1, [elapsed(name), ...args]);
        else print(2, [`Timer '${name}' does not exist`]);
    },
    timeEnd(l) {
        const name = label(l);
        if (times.has(name)) print(1, [elapsed(name)]);
        else print(2, [`Timer '${name}' does not exist`]);
        times.delete(name);
    },
    clear() {},
    timeStamp() {},
    profile() {},
    profileEnd() {},
};

export const console = Object.create({});
Object.assign(console, methods);
Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
Object.defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true, enumerable: false });
