// node/fs.js: node:fs and node:fs/promises over the functions that answer at once.
import { Buffer } from './buffer.js';
import { fs as numbers } from './constants.js';
import { AbortError, err, notImplemented, validateFunction, validateObject } from './errors.js';
import { Dir, Dirent, Stats } from './fs_types.js';
import { makeStreams } from './fs_streams.js';
import * as sync from './fs_sync.js';
import { PROMISE_ARGS } from './util.js';

const constants = Object.freeze({ __proto__: null, ...numbers });
const nextTick = (fn, ...args) => globalThis.process.nextTick(fn, ...args);

// The arguments are checked at once; failures of the file system come to the callback.
const isArgumentError = (error) => typeof error?.code === 'string' && error.code.startsWith('ERR_') && !error.code.startsWith('ERR_FS_') && error.syscall === undefined;

// Makes name(...args, callback) of nameSync(...args). last: how many arguments it takes at most.
function withCallback(name, fn, results) {
    const wrapped = {
        [name](...args) {
            const callback = args.pop();
            validateFunction(callback, typeof callback === 'function' ? 'callback' : 'cb');
            let out;
            try {
                out = [null, ...results(fn(...args), args)];
            } catch (error) {
                if (isArgumentError(error)) throw error;
                out = [error];
            }
            nextTick(callback, ...out);
        },
    }[name];
    return wrapped;
}
const one = (v) => (v === undefined ? [] : [v]);
const withBuffer = (v, args) => [v, args[1]];

const CALLBACKS = [
    'access', 'appendFile', 'chmod', 'chown', 'copyFile', 'cp', 'fchmod', 'fchown', 'fdatasync', 'fstat', 'fsync', 'ftruncate', 'futimes', 'lchmod', 'lchown',
    'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'open', 'opendir', 'readdir', 'readFile', 'readlink', 'realpath', 'rename', 'rm', 'rmdir', 'stat', 'statfs',
    'symlink', 'truncate', 'unlink', 'utimes', 'writeFile',
];
const PROMISES = [
    'access', 'appendFile', 'chmod', 'chown', 'copyFile', 'lchmod', 'lchown', 'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'opendir', 'readdir', 'readlink',
    'realpath', 'rename', 'rm', 'rmdir', 'stat', 'statfs', 'symlink', 'truncate', 'unlink', 'utimes',
];

const fs = {};
for (const [name, fn] of Object.entries(sync)) if (name.endsWith('Sync')) fs[name] = fn;
for (const name of CALLBACKS) fs[name] = withCallback(name, (...args) => fs[`${name}Sync`](...args), one);
fs.realpath.native = fs.realpath;
fs.read = withCallback('read', (fd, buffer, ...rest) => sync.readSync(fd, buffer, ...rest), withBuffer);
// read(fd, callback) and read(fd, { buffer, ... }, callback) bring a buffer of their own.
const readPlain = fs.read;
fs.read = function read(fd, ...args) {
    sync.fdOf(fd);
    if (args.length === 1 && typeof args[0] === 'function') args.unshift({});
    if (!ArrayBuffer.isView(args[0]) && args[0] !== null && typeof args[0] === 'object') {
        const { buffer = Buffer.alloc(16384), offset, length, position } = args[0];
        args.splice(0, 1, buffer, offset, length, position);
    }
    readPlain(fd, ...args);
};
fs.write = withCallback('write', (fd, ...rest) => sync.writeSync(fd, ...rest), withBuffer);
fs.readv = withCallback('readv', (fd, buffers, position) => sync.readvSync(fd, buffers, position), withBuffer);
fs.writev = withCallback('writev', (fd, buffers, position) => sync.writevSync(fd, buffers, position), withBuffer);
fs.read[PROMISE_ARGS] = ['bytesRead', 'buffer'];
fs.write[PROMISE_ARGS] = ['bytesWritten', 'buffer'];
fs.readv[PROMISE_ARGS] = ['bytesRead', 'buffers'];
fs.writev[PROMISE_ARGS] = ['bytesWritten', 'buffers'];
fs.close = function close(fd, callback) {
    sync.fdOf(fd);
    if (callback !== undefined) validateFunction(callback, 'cb');
    let error = null;
    try {
        sync.closeSync(fd);
    } catch (e) {
        error = e;
    }
    if (callback !== undefined) nextTick(callback, error);
    else if (error !== null) throw error;
};
fs.exists = function exists(path, callback) {
    validateFunction(callback, 'cb');
    nextTick(callback, sync.existsSync(path));
};
Object.defineProperty(fs.exists, Symbol.for('nodejs.util.promisify.custom'), { value: async (path) => sync.existsSync(path) });

async function openAsBlob(path, options) {
    validateObject(options ?? {}, 'options');
    return new globalThis.Blob([sync.readFileSync(path)], { type: options?.type ?? '' });
}

// ---- Promises

const checkSignal = (options) => {
    const signal = options?.signal;
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
};

const promises = { constants };
for (const name of PROMISES) promises[name] = { [name]: async (...args) => sync[`${name}Sync`](...args) }[name];
promises.access = async (path, mode) => sync.accessSync(path, mode);
promises.cp = async (src, dest, options) => cpAsync(src, dest, options);
async function cpAsync(src, dest, options) {
    const o = sync.cpOptions(options);
    if (o.filter === undefined) return sync.cpSync(src, dest, o);
    // A filter may be asynchronous: it is asked for every path before anything is copied.
    const answers = new Map();
    const ask = async (from, to) => {
        answers.set(from, Boolean(await o.filter(from, to)));
        if (!answers.get(from) || !o.recursive) return;
        const s = sync.lstatSync(from, { throwIfNoEntry: false });
        if (s?.isDirectory()) for (const name of sync.readdirSync(from)) await ask(`${from}/${name}`, `${to}/${name}`);
    };
    await ask(sync.pathOf(src, 'src'), sync.pathOf(dest, 'dest'));
    return sync.cpSync(src, dest, { ...o, filter: (from) => answers.get(from) ?? false });
}
promises.readFile = async (path, options) => {
    checkSignal(options);
    return sync.readFileSync(path instanceof FileHandle ? path.fd : path, options);
};
async function dataOf(data, encoding) {
    if (typeof data === 'string' || ArrayBuffer.isView(data)) return data;
    if (data !== null && typeof data === 'object' && (data[Symbol.asyncIterator] || data[Symbol.iterator])) {
        const chunks = [];
        for await (const chunk of data) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
        return Buffer.concat(chunks);
    }
    throw err.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
}
const writer = (append) => async (path, data, options) => {
    const o = sync.optionsOf(options);
    checkSignal(o);
    data = await dataOf(data, o.encoding);
    const target = path instanceof FileHandle ? path.fd : path;
    return append ? sync.appendFileSync(target, data, options) : sync.writeFileSync(target, data, options);
};
promises.writeFile = writer(false);
promises.appendFile = writer(true);
promises.open = async (path, flags, mode) => new FileHandle(OPEN, sync.openSync(path, flags ?? 'r', mode));
promises.glob = notImplemented('fs.promises.glob');
promises.watch = notImplemented('fs.promises.watch');

const OPEN = Symbol('open');
const EventEmitter = require('./events.js').default;
class FileHandle extends EventEmitter {
    #fd;
    constructor(open, fd) {
        if (open !== OPEN) throw new TypeError('Illegal constructor');
        super();
        this.#fd = fd;
    }
    get fd() {
        return this.#fd;
    }
    async close() {
        if (this.#fd === -1) return;
        const fd = this.#fd;
        this.#fd = -1;
        sync.closeSync(fd);
        this.emit('close');
    }
    #need() {
        if (this.#fd === -1) {
            const error = new Error('file closed');
            throw Object.assign(error, { code: 'EBADF', errno: -9, syscall: 'read' });
        }
        return this.#fd;
    }
    async appendFile(data, options) {
        return sync.writeFileSync(this.#need(), await dataOf(data), options);
    }
    async chmod(mode) {
        sync.fchmodSync(this.#need(), mode);
    }
    async chown(uid, gid) {
        sync.fchownSync(this.#need(), uid, gid);
    }
    async datasync() {
        sync.fdatasyncSync(this.#need());
    }
    async sync() {
        sync.fsyncSync(this.#need());
    }
    async read(buffer, offset, length, position) {
        if (buffer === undefined || (buffer !== null && typeof buffer === 'object' && !ArrayBuffer.isView(buffer))) {
            ({ buffer = Buffer.alloc(16384), offset, length, position } = buffer ?? {});
        }
        return { bytesRead: sync.readSync(this.#need(), buffer, offset, length, position), buffer };
    }
    async readv(buffers, position) {
        return { bytesRead: sync.readvSync(this.#need(), buffers, position), buffers };
    }
    async readFile(options) {
        checkSignal(options);
        return sync.readFileSync(this.#need(), options);
    }
    readLines(options) {
        void options;
        throw err.ERR_METHOD_NOT_IMPLEMENTED('fs.FileHandle.readLines');
    }
    readableWebStream() {
        return require('./stream.js').default.Readable.toWeb(this.createReadStream());
    }
    createReadStream(options) {
        return new fs.ReadStream(null, { ...options, fd: this });
    }
    createWriteStream(options) {
        return new fs.WriteStream(null, { ...options, fd: this });
    }
    async stat(options) {
        return sync.fstatSync(this.#need(), options);
    }
    async truncate(length) {
        sync.ftruncateSync(this.#need(), length);
    }
    async utimes(atime, mtime) {
        sync.futimesSync(this.#need(), atime, mtime);
    }
    async write(buffer, ...rest) {
        return { bytesWritten: sync.writeSync(this.#need(), buffer, ...rest), buffer };
    }
    async writev(buffers, position) {
        return { bytesWritten: sync.writevSync(this.#need(), buffers, position), buffers };
    }
    async writeFile(data, options) {
        return sync.writeFileSync(this.#need(), await dataOf(data), options);
    }
    async [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
        await this.close();
    }
}

// ---- The module

Object.assign(fs, {
    constants,
    promises,
    Dir,
    Dirent,
    Stats,
    openAsBlob,
    cp(src, dest, options, callback) {
        if (typeof options === 'function') [callback, options] = [options, undefined];
        validateFunction(callback, 'cb');
        sync.pathOf(src, 'src');
        sync.pathOf(dest, 'dest');
        const o = sync.cpOptions(options);
        cpAsync(src, dest, o).then(
            () => callback(null),
            (error) => callback(error),
        );
    },
    _toUnixTimestamp: (time) => (typeof time === 'number' ? time : Number(time) / 1000),
    F_OK: 0,
    R_OK: 4,
    W_OK: 2,
    X_OK: 1,
    ...makeStreams(fs, FileHandle),
});
for (const name of ['watch', 'watchFile', 'unwatchFile', 'glob', 'globSync']) fs[name] = notImplemented(`fs.${name}`);

export default fs;
export { promises };
