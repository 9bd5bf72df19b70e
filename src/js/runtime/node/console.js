// node/console.js: node:console: the global console, and consoles that write to streams.
import { inspect, formatWithOptions } from '../inspect.js';
import { table } from '../table.js';
import { err, notImplemented } from './errors.js';

export function Console(options, stderrArgument, ignoreErrors) {
    if (!new.target) return new Console(options, stderrArgument, ignoreErrors);
    if (!options || typeof options.write === 'function') options = { stdout: options, stderr: stderrArgument };
    const { stdout, stderr = stdout, inspectOptions } = options;
    if (!stdout || typeof stdout.write !== 'function') throw err.ERR_INVALID_ARG_TYPE('stdout', 'Stream', stdout);
    if (!stderr || typeof stderr.write !== 'function') throw err.ERR_INVALID_ARG_TYPE('stderr', 'Stream', stderr);
    let indent = '';
    const counts = new Map();
    const times = new Map();
    const print = (stream, args) => {
        const text = formatWithOptions(inspectOptions, ...args);
        stream.write(`${indent === '' ? text : indent + text.replaceAll('\n', `\n${indent}`)}\n`);
    };
    const out = (...args) => print(stdout, args);
    const bad = (...args) => print(stderr, args);
    const label = (l = 'default') => `${l}`;
    Object.assign(this, {
        log: out, info: out, debug: out, warn: bad, error: bad,
        dir: (value, o) => out(inspect(value, { customInspect: false, ...inspectOptions, ...o })),
        dirxml: out,
        table: (data, properties) => out(table(data, properties) ?? data),
        trace(...args) {
            const where = { name: 'Trace', message: formatWithOptions(inspectOptions, ...args) };
            Error.captureStackTrace(where, this.trace);
            bad(where.stack);
        },
        assert(holds, ...args) {
            if (holds) return;
            if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
            else args.unshift('Assertion failed');
            bad(...args);
        },
        group(...args) {
            if (args.length > 0) out(...args);
            indent += '  ';
        },
        groupEnd() {
            indent = indent.slice(2);
        },
        count(l) {
            const n = (counts.get(label(l)) ?? 0) + 1;
            counts.set(label(l), n);
            out(`${label(l)}: ${n}`);
        },
        countReset: (l) => void counts.delete(label(l)),
        time: (l) => void times.set(label(l), Date.now()),
        timeLog: (l, ...args) => out(`${label(l)}: ${Date.now() - times.get(label(l))}ms`, ...args),
        timeEnd(l) {
            out(`${label(l)}: ${Date.now() - times.get(label(l))}ms`);
            times.delete(label(l));
        },
        clear() {}, timeStamp() {}, profile() {}, profileEnd() {},
    });
    this.groupCollapsed = this.group;
    return this;
}
const { console } = globalThis;
console.Console = Console;
console.context = notImplemented('console.context');
console.createTask = notImplemented('console.createTask');
export default console;
