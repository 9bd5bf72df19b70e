// node/process.js: process. runtime.md 3.6.
import { env as bindings } from '../bindings.js';
import { nodeModule } from '../builtin.js';
import { queueMicrotask } from '../timers.js';
import EventEmitter from './events.js';
import { fsError } from './vfs.js';
import { err, notImplemented, validateArray, validateFunction, validateNumber, validateString } from './errors.js';

const write = host.console;
const VERSION = '22.19.0';

// Variables are texts, whatever is assigned. The Worker's bindings of text are there from the beginning.
function makeEnv() {
    const values = {};
    for (const [name, value] of Object.entries(bindings())) if (typeof value === 'string') values[name] = value;
    return new Proxy(values, {
        set(target, key, value) {
            if (typeof key === 'symbol' || typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
            target[key] = String(value);
            return true;
        },
        defineProperty(target, key, d) {
            if ('value' in d && !(d.configurable && d.writable && d.enumerable)) {
                throw err.ERR_INVALID_ARG_VALUE('descriptor', d, "'process.env' only accepts a configurable, writable, and enumerable data descriptor");
            }
            if ('get' in d || 'set' in d) throw err.ERR_INVALID_ARG_VALUE('descriptor', d, "'process.env' does not accept an accessor(getter/setter) descriptor");
            return Reflect.defineProperty(target, key, { ...d, value: String(d.value) });
        },
    });
}

class Process extends EventEmitter {}
Object.defineProperty(Process, 'name', { value: 'process' });
Object.defineProperty(Process.prototype, Symbol.toStringTag, { value: 'process', configurable: true });
const process = new Process();

// Fields made when they are first read.
function lazy(name, make) {
    Object.defineProperty(process, name, {
        get() {
            const value = make();
            Object.defineProperty(process, name, { value, writable: true, configurable: true, enumerable: true });
            return value;
        },
        set(value) {
            Object.defineProperty(process, name, { value, writable: true, configurable: true, enumerable: true });
        },
        configurable: true,
        enumerable: true,
    });
}

function stdStream(fd, level) {
    const { Writable } = require('./stream.js').default;
    let rest = '';
    const stream = new Writable({
        decodeStrings: false,
        write(chunk, encoding, done) {
            const lines = (rest + (typeof chunk === 'string' ? chunk : chunk.toString())).split('\n');
            rest = lines.pop();
            for (const line of lines) write(level, line);
            // What has no line end yet must not be lost with the event.
            if (rest !== '') {
                queueMicrotask(() => {
                    if (rest !== '') write(level, rest);
                    rest = '';
                });
            }
            done();
        },
    });
    return Object.assign(stream, { fd, isTTY: false, _type: 'pipe', columns: undefined });
}

let cwd = '/bundle';
const began = Date.now();
const nowNs = () => BigInt(Math.round(Date.now() * 1e6));

function hrtime(before) {
    const ns = nowNs();
    const time = [Number(ns / 1000000000n), Number(ns % 1000000000n)];
    if (before === undefined) return time;
    validateArray(before, 'time');
    if (before.length !== 2) throw err.ERR_OUT_OF_RANGE('time', 2, before.length);
    let seconds = time[0] - before[0];
    let rest = time[1] - before[1];
    if (rest < 0) {
        seconds--;
        rest += 1e9;
    }
    return [seconds, rest];
}
hrtime.bigint = () => nowNs();

function emitWarning(warning, type, code, ctor) {
    let detail;
    if (type !== null && typeof type === 'object' && !Array.isArray(type)) {
        ctor = type.ctor;
        code = type.code;
        if (typeof type.detail === 'string') detail = type.detail;
        type = type.type || 'Warning';
    } else if (typeof type === 'function') {
        ctor = type;
        code = '';
        type = 'Warning';
    }
    if (type !== undefined) validateString(type, 'type');
    if (typeof code === 'function') {
        ctor = code;
        code = '';
    } else if (code !== undefined) validateString(code, 'code');
    if (typeof warning === 'string') {
        const error = new Error(warning);
        error.name = String(type || 'Warning');
        if (code !== undefined && code !== '') error.code = code;
        if (detail !== undefined) error.detail = detail;
        Error.captureStackTrace?.(error, ctor || emitWarning);
        warning = error;
    } else if (!(warning instanceof Error)) {
        throw err.ERR_INVALID_ARG_TYPE('warning', ['Error', 'string'], warning);
    }
    if (warning.name === 'DeprecationWarning' && process.noDeprecation) return;
    if (warning.name === 'DeprecationWarning' && process.throwDeprecation) {
        queueMicrotask(() => {
            throw warning;
        });
        return;
    }
    queueMicrotask(() => {
        if (process.listenerCount('warning') === 0) write(2, `(celld) ${warning.code ? `[${warning.code}] ` : ''}${warning.name}: ${warning.message}`);
        process.emit('warning', warning);
    });
}

Object.assign(process, {
    version: `v${VERSION}`,
    versions: { node: VERSION, v8: '13.6.233', modules: '127', ares: '1.34.5', brotli: '1.1.0', llhttp: '9.3.0', uv: '1.51.0', zlib: '1.3.1' },
    arch: 'x64',
    platform: 'linux',
    release: { name: 'node', lts: 'Jod', sourceUrl: '', headersUrl: '' },
    title: 'workerd',
    argv: ['workerd'],
    argv0: 'workerd',
    execArgv: [],
    execPath: '',
    pid: 1,
    ppid: 0,
    exitCode: undefined,
    config: { target_defaults: {}, variables: {} },
    features: { inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: true, tls_sni: true, tls_ocsp: false, tls: true, cached_builtins: true, require_module: false, typescript: false },
    allowedNodeEnvironmentFlags: new Set(),
    moduleLoadList: [],
    noDeprecation: false,
    throwDeprecation: false,
    traceDeprecation: false,
    sourceMapsEnabled: false,
    connected: false,
    debugPort: 0,
    cwd: () => cwd,
    chdir(directory) {
        validateString(directory, 'directory');
        const { realpathSync, statSync } = nodeModule('fs');
        if (!statSync(directory).isDirectory()) throw fsError('ENOTDIR', 'chdir', directory);
        cwd = realpathSync(directory);
    },
    nextTick(callback, ...args) {
        validateFunction(callback, 'callback');
        queueMicrotask(() => callback(...args));
    },
    hrtime,
    uptime: () => (Date.now() - began) / 1000,
    memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
    constrainedMemory: () => 0,
    availableMemory: () => 0,
    cpuUsage: () => ({ user: 0, system: 0 }),
    resourceUsage: () => ({
        userCPUTime: 0, systemCPUTime: 0, maxRSS: 0, sharedMemorySize: 0, unsharedDataSize: 0, unsharedStackSize: 0, minorPageFault: 0, majorPageFault: 0,
        swappedOut: 0, fsRead: 0, fsWrite: 0, ipcSent: 0, ipcReceived: 0, signalsCount: 0, voluntaryContextSwitches: 0, involuntaryContextSwitches: 0,
    }),
    getActiveResourcesInfo: () => [],
    umask(mask) {
        if (mask !== undefined) validateNumber(mask, 'mask');
        return 18;
    },
    emitWarning,
    exit(code = process.exitCode) {
        throw new Error(`process.exit(${code ?? ''}) was called: a Worker cannot end the process.`);
    },
    reallyExit(code) {
        process.exit(code);
    },
    abort() {
        throw new Error('process.abort() was called: a Worker cannot end the process.');
    },
    kill: notImplemented('process.kill'),
    dlopen: notImplemented('process.dlopen'),
    initgroups: notImplemented('process.initgroups'),
    setgroups: notImplemented('process.setgroups'),
    getBuiltinModule(name) {
        validateString(name, 'id');
        return nodeModule(name);
    },
    ref() {},
    unref() {},
    loadEnvFile: notImplemented('process.loadEnvFile'),
    setSourceMapsEnabled() {},
    setUncaughtExceptionCaptureCallback() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED('process.setUncaughtExceptionCaptureCallback');
    },
    hasUncaughtExceptionCaptureCallback: () => false,
    permission: { has: () => true },
    finalization: { register() {}, unregister() {}, registerBeforeExit() {} },
    binding(name) {
        throw new Error(`No such module: ${name}`);
    },
});
for (const name of ['getuid', 'geteuid', 'getgid', 'getegid']) process[name] = () => 0;
process.getgroups = () => [0];
for (const name of ['setuid', 'seteuid', 'setgid', 'setegid']) process[name] = notImplemented(`process.${name}`);
process.report = { compact: false, directory: '', filename: '', excludeNetwork: false, signal: 'SIGUSR2', reportOnFatalError: false, reportOnSignal: false, reportOnUncaughtException: false, getReport: () => ({}), writeReport: () => '' };
lazy('env', makeEnv);
lazy('stdout', () => stdStream(1, 1));
lazy('stderr', () => stdStream(2, 3));
lazy('stdin', () => {
    const { Readable } = require('./stream.js').default;
    const stdin = new Readable({ read() {} });
    stdin.push(null);
    return Object.assign(stdin, { fd: 0, isTTY: false });
});

// Rejections come as events of the platform; they are asked for with the first listener.
let listening = false;
process.on('newListener', (name) => {
    if (listening || (name !== 'unhandledRejection' && name !== 'rejectionHandled')) return;
    listening = true;
    globalThis.addEventListener('unhandledrejection', (event) => {
        if (process.emit('unhandledRejection', event.reason, event.promise)) event.preventDefault();
    });
    globalThis.addEventListener('rejectionhandled', (event) => process.emit('rejectionHandled', event.promise));
});

export default process;
