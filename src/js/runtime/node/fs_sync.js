// node/fs_sync.js: the functions of node:fs that answer at once. The others are made of these (fs.js).
import { Buffer } from './buffer.js';
import { fs as constants } from './constants.js';
import { err, validateAbortSignal, validateBoolean, validateFunction, validateInteger, validateObject, validateOneOf, validateString } from './errors.js';
import { Dir as DirHandle, Dirent, Stats } from './fs_types.js';
import { isDate } from './types.js';
import { fileURLToPath } from './url.js';
import { closeDescriptor, descriptor, Dir, File, find, fsError, Link, namesIn, needWritable, openNode, walk } from './vfs.js';

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC, O_DIRECTORY, F_OK, R_OK, W_OK, X_OK, COPYFILE_EXCL } = constants;

// ---- Arguments

// A path as a text from the root on.
export function pathOf(path, name = 'path') {
    if (path instanceof globalThis.URL) path = fileURLToPath(path);
    else if (Buffer.isBuffer(path) || path instanceof Uint8Array) path = Buffer.from(path).toString();
    if (typeof path !== 'string') throw err.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'URL'], path);
    if (path.includes('\0')) throw err.ERR_INVALID_ARG_VALUE(name, path, 'must be a string, Uint8Array, or URL without null bytes');
    if (path === '') return '';
    return path.startsWith('/') ? path : `${globalThis.process.cwd()}/${path}`;
}

export function fdOf(fd) {
    validateInteger(fd, 'fd', 0, 2147483647);
    return fd;
}

const MODES = {
    r: O_RDONLY, rs: O_RDONLY | O_SYNC, 'r+': O_RDWR, 'rs+': O_RDWR | O_SYNC, w: O_TRUNC | O_CREAT | O_WRONLY, wx: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL,
    'w+': O_TRUNC | O_CREAT | O_RDWR, 'wx+': O_TRUNC | O_CREAT | O_RDWR | O_EXCL, a: O_APPEND | O_CREAT | O_WRONLY,
    ax: O_APPEND | O_CREAT | O_WRONLY | O_EXCL, as: O_APPEND | O_CREAT | O_WRONLY | O_SYNC, 'a+': O_APPEND | O_CREAT | O_RDWR,
    'ax+': O_APPEND | O_CREAT | O_RDWR | O_EXCL, 'as+': O_APPEND | O_CREAT | O_RDWR | O_SYNC,
};
for (const [a, b] of [['xw', 'wx'], ['xw+', 'wx+'], ['xa', 'ax'], ['xa+', 'ax+'], ['sr', 'rs'], ['sr+', 'rs+'], ['sa', 'as'], ['sa+', 'as+']]) MODES[a] = MODES[b];
export function flagsOf(flags, name = 'flags') {
    if (typeof flags === 'number') {
        validateInteger(flags, name, 0, 2147483647);
        return flags;
    }
    if (flags === undefined || flags === null) return O_RDONLY;
    const mode = typeof flags === 'string' && Object.hasOwn(MODES, flags) ? MODES[flags] : undefined;
    if (mode === undefined) throw err.ERR_INVALID_ARG_VALUE(name, flags);
    return mode;
}
export function modeOf(mode, name = 'mode', dflt = 0o666) {
    if (mode === undefined || mode === null) return dflt;
    if (typeof mode === 'string') {
        if (!/^[0-7]+$/.test(mode)) throw err.ERR_INVALID_ARG_VALUE(name, mode, 'must be a 32-bit unsigned integer or an octal string');
        mode = Number.parseInt(mode, 8);
    }
    validateInteger(mode, name, 0, 4294967295);
    return mode;
}

// { encoding, ... } from a text, an object or nothing.
export function optionsOf(options, dflt) {
    if (options === undefined || options === null || typeof options === 'function') options = {};
    else if (typeof options === 'string') options = { encoding: options };
    else if (typeof options !== 'object') throw err.ERR_INVALID_ARG_TYPE('options', ['string', 'Object'], options);
    const { encoding } = options;
    if (encoding !== undefined && encoding !== null && encoding !== 'buffer' && !Buffer.isEncoding(encoding)) {
        throw err.ERR_INVALID_ARG_VALUE('encoding', encoding, 'is invalid encoding');
    }
    if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
    return { ...dflt, ...options };
}
export const encoded = (text, encoding) => (encoding === 'buffer' ? Buffer.from(text) : encoding && encoding !== 'utf8' && encoding !== 'utf-8' ? Buffer.from(text).toString(encoding) : text);

function bytesOf(data, encoding, name = 'data') {
    if (typeof data === 'string') return Buffer.from(data, encoding ?? 'utf8');
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw err.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'TypedArray', 'DataView'], data);
}
const seconds = (time, name) => {
    if (typeof time === 'string' && time.trim() !== '' && !Number.isNaN(Number(time))) return Number(time) * 1000;
    if (typeof time === 'number' && Number.isFinite(time)) return time < 0 ? Date.now() : time * 1000;
    if (isDate(time)) return time.getTime();
    throw err.ERR_INVALID_ARG_TYPE(name, ['Date', 'Time in seconds'], time);
};
const bigintOption = (options) => {
    if (options === undefined || options === null || typeof options === 'function') return {};
    validateObject(options, 'options');
    if (options.bigint !== undefined) validateBoolean(options.bigint, 'options.bigint');
    if (options.throwIfNoEntry !== undefined) validateBoolean(options.throwIfNoEntry, 'options.throwIfNoEntry');
    return options;
};

// ---- Looking

export function existsSync(path) {
    try {
        find(pathOf(path), 'access');
        return true;
    } catch {
        return false;
    }
}
export function accessSync(path, mode = F_OK) {
    path = pathOf(path);
    validateInteger(mode, 'mode', 0, F_OK | R_OK | W_OK | X_OK);
    const { node, fail } = find(path, 'access');
    if (mode & W_OK && !node.writable) throw fail('EACCES');
    if (mode & X_OK && !node.isDir) throw fail('EACCES');
}
function stat(path, options, follow) {
    path = pathOf(path);
    const { bigint = false, throwIfNoEntry = true } = bigintOption(options);
    try {
        return new Stats(find(path, follow ? 'stat' : 'lstat', follow).node, bigint);
    } catch (error) {
        if (!throwIfNoEntry && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
        throw error;
    }
}
export const statSync = (path, options) => stat(path, options, true);
export const lstatSync = (path, options) => stat(path, options, false);
export function fstatSync(fd, options) {
    fdOf(fd);
    const { bigint = false } = bigintOption(options);
    if (fd <= 2) return new Stats(new File(true), bigint);
    return new Stats(descriptor(fd, 'fstat').node, bigint);
}
export function statfsSync(path, options) {
    path = pathOf(path);
    const { bigint = false } = bigintOption(options);
    find(path, 'statfs');
    const n = bigint ? BigInt : Number;
    return { type: n(0), bsize: n(0), blocks: n(0), bfree: n(0), bavail: n(0), files: n(0), ffree: n(0) };
}
export function realpathSync(path, options) {
    path = pathOf(path);
    const { encoding } = optionsOf(options);
    return encoded(find(path, 'realpath').path, encoding);
}
realpathSync.native = (path, options) => realpathSync(path, options);
export function readlinkSync(path, options) {
    path = pathOf(path);
    const { encoding } = optionsOf(options);
    const { node, fail } = find(path, 'readlink', false);
    if (!node.isLink) throw fail('EINVAL');
    return encoded(node.target, encoding);
}

function entries(dir, path, prefix, recursive, out) {
    for (const name of namesIn(dir).sort()) {
        const node = dir.get(name);
        out.push([prefix + name, name, path, node]);
        if (recursive && node instanceof Dir) entries(node, `${path === '/' ? '' : path}/${name}`, `${prefix}${name}/`, recursive, out);
    }
    return out;
}
export function readdirSync(path, options) {
    const given = typeof path === 'string' ? path.replace(/(.)\/+$/, '$1') : path;
    path = pathOf(path);
    const { encoding, withFileTypes = false, recursive = false } = optionsOf(options);
    validateBoolean(recursive, 'options.recursive');
    validateBoolean(withFileTypes, 'options.withFileTypes');
    const { node, fail } = find(path, 'scandir');
    if (!node.isDir) throw fail('ENOTDIR');
    const list = entries(node, typeof given === 'string' ? given : path, '', recursive, []);
    if (withFileTypes) return list.map(([, name, parent, n]) => new Dirent(encoded(name, encoding), parent, n.kind));
    return list.map(([name]) => encoded(name, encoding));
}
export function opendirSync(path, options) {
    const { encoding, bufferSize = 32, recursive = false } = optionsOf(options);
    validateInteger(bufferSize, 'options.bufferSize', 1, 4294967295);
    const text = pathOf(path);
    return new DirHandle(typeof path === 'string' ? path : text, readdirSync(path, { encoding, recursive, withFileTypes: true }));
}

// ---- Changing the tree

function makeIn(at, node) {
    needWritable(at.parent, at.fail);
    at.parent.children.set(at.name, node);
    at.parent.touch();
    return node;
}
function removeFrom(at) {
    needWritable(at.parent, at.fail);
    at.parent.children.delete(at.name);
    at.parent.touch();
    at.node.nlink--;
}

export function mkdirSync(path, options) {
    path = pathOf(path);
    let recursive = false;
    let mode = 0o777;
    if (typeof options === 'number' || typeof options === 'string') mode = modeOf(options, 'mode');
    else if (options !== undefined && options !== null) {
        if (options.recursive !== undefined) validateBoolean((recursive = options.recursive), 'options.recursive');
        mode = modeOf(options.mode, 'options.mode', 0o777);
    }
    const add = (at) => (makeIn(at, new Dir(true)).mode = mode & 0o777);
    if (!recursive) {
        const at = walk(path.replace(/(.)\/+$/, '$1'), 'mkdir', false);
        if (at.node !== undefined) throw at.fail('EEXIST');
        add(at);
        return undefined;
    }
    let first;
    let sofar = '';
    for (const piece of path.split('/').filter(Boolean)) {
        sofar += `/${piece}`;
        const at = walk(sofar, 'mkdir');
        if (at.node === undefined) {
            add(at);
            first ??= sofar;
        } else if (!at.node.isDir) throw fsError(sofar === path ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
    }
    return first;
}
export function mkdtempSync(prefix, options) {
    if (typeof prefix !== 'string' && !(prefix instanceof Uint8Array) && !(prefix instanceof globalThis.URL)) throw err.ERR_INVALID_ARG_TYPE('prefix', ['string', 'Buffer', 'URL'], prefix);
    const { encoding } = optionsOf(options);
    const base = pathOf(prefix, 'prefix');
    for (;;) {
        const tail = Math.random().toString(36).slice(2, 8).padEnd(6, 'x');
        if (existsSync(base + tail)) continue;
        mkdirSync(base + tail);
        return encoded(base + tail, encoding);
    }
}
export function rmdirSync(path, options) {
    path = pathOf(path);
    let recursive = false;
    if (options !== undefined && options !== null) {
        validateObject(options, 'options');
        for (const key of ['maxRetries', 'retryDelay']) if (options[key] !== undefined) validateInteger(options[key], `options.${key}`, 0);
        if (options.recursive !== undefined) validateBoolean((recursive = options.recursive), 'options.recursive');
    }
    const at = find(path, 'rmdir', false);
    if (!at.node.isDir) throw at.fail('ENOTDIR');
    if (at.path === '/' || at.path === '/tmp') throw at.fail('EPERM');
    if (!recursive && at.node.children.size > 0) throw at.fail('ENOTEMPTY');
    removeFrom(at);
}
export function unlinkSync(path) {
    const at = find(pathOf(path), 'unlink', false);
    if (at.node.isDir) throw at.fail('EISDIR');
    removeFrom(at);
}
export function rmSync(path, options) {
    path = pathOf(path);
    let recursive = false;
    let force = false;
    if (options !== undefined && options !== null) {
        validateObject(options, 'options');
        for (const key of ['maxRetries', 'retryDelay']) if (options[key] !== undefined) validateInteger(options[key], `options.${key}`, 0);
        if (options.force !== undefined) validateBoolean((force = options.force), 'options.force');
        if (options.recursive !== undefined) validateBoolean((recursive = options.recursive), 'options.recursive');
    }
    const at = walk(path, 'rm', false);
    if (at.node === undefined) {
        if (force) return;
        throw at.fail('ENOENT');
    }
    if (at.node.isDir && !recursive) throw Object.assign(fsError('EISDIR', 'rm', path), { code: 'ERR_FS_EISDIR' });
    if (at.path === '/' || at.path === '/tmp') throw at.fail('EPERM');
    removeFrom(at);
}
export function renameSync(oldPath, newPath) {
    const from = pathOf(oldPath, 'oldPath');
    const to = pathOf(newPath, 'newPath');
    const a = walk(from, 'rename', false, [from, to]);
    if (a.node === undefined) throw a.fail('ENOENT');
    const b = walk(to, 'rename', false, [from, to]);
    if (a.node === b.node) return;
    needWritable(a.parent, a.fail);
    needWritable(b.parent, b.fail);
    if (b.node !== undefined) {
        if (b.node.isDir && !a.node.isDir) throw b.fail('EISDIR');
        if (!b.node.isDir && a.node.isDir) throw b.fail('ENOTDIR');
        if (b.node.isDir && b.node.children.size > 0) throw b.fail('ENOTEMPTY');
    }
    if (a.node.isDir && `${b.path}/`.startsWith(`${a.path}/`)) throw b.fail('EINVAL');
    a.parent.children.delete(a.name);
    b.parent.children.set(b.name, a.node);
    a.node.ctime = Date.now();
}
// A name for a link: it cannot end in a slash, nor be in what is no folder.
function newEntry(path, syscall, paths) {
    if (path.endsWith('/')) throw fsError('EINVAL', syscall, ...paths);
    try {
        return walk(path, syscall, false, paths);
    } catch (error) {
        throw error.code === 'ENOTDIR' ? fsError('EINVAL', syscall, ...paths) : error;
    }
}
export function linkSync(existingPath, newPath) {
    const from = pathOf(existingPath, 'existingPath');
    const to = pathOf(newPath, 'newPath');
    const a = walk(from, 'link', true, [from, to]);
    if (a.node === undefined) throw a.fail('ENOENT');
    if (a.node.isDir) throw a.fail('EPERM');
    const b = newEntry(to, 'link', [from, to]);
    if (b.node !== undefined) throw b.fail('EEXIST');
    makeIn(b, a.node).nlink++;
}
export function symlinkSync(target, path, type) {
    if (type !== undefined && type !== null) validateOneOf(type, 'type', ['dir', 'file', 'junction']);
    if (target instanceof globalThis.URL) target = fileURLToPath(target);
    else if (target instanceof Uint8Array) target = Buffer.from(target).toString();
    else validateTarget(target);
    const at = newEntry(pathOf(path), 'symlink', [target, pathOf(path)]);
    if (at.node !== undefined) throw at.fail('EEXIST');
    makeIn(at, new Link(target));
}
function validateTarget(target) {
    if (typeof target !== 'string') throw err.ERR_INVALID_ARG_TYPE('target', ['string', 'Buffer', 'URL'], target);
}
function changeMode(node, mode, fail) {
    if (!node.writable && !node.isLink) throw fail('EPERM');
    node.mode = mode & 0o777;
    node.ctime = Date.now();
}
export function chmodSync(path, mode) {
    path = pathOf(path);
    mode = modeOf(mode);
    const { node, fail } = find(path, 'chmod');
    changeMode(node, mode, fail);
}
export function lchmodSync(path, mode) {
    path = pathOf(path);
    mode = modeOf(mode);
    const { node, fail } = find(path, 'lchmod', false);
    changeMode(node, mode, fail);
}
export function fchmodSync(fd, mode) {
    fdOf(fd);
    mode = modeOf(mode);
    changeMode(descriptor(fd, 'fchmod').node, mode, (code) => fsError(code, 'fchmod'));
}
const owner = (uid, gid) => {
    validateInteger(uid, 'uid', -1, 4294967295);
    validateInteger(gid, 'gid', -1, 4294967295);
};
export function chownSync(path, uid, gid) {
    path = pathOf(path);
    owner(uid, gid);
    find(path, 'chown');
}
export function lchownSync(path, uid, gid) {
    path = pathOf(path);
    owner(uid, gid);
    find(path, 'lchown', false);
}
export function fchownSync(fd, uid, gid) {
    fdOf(fd);
    owner(uid, gid);
    descriptor(fd, 'fchown');
}
function setTimes(node, atime, mtime) {
    node.atime = seconds(atime, 'atime');
    node.mtime = seconds(mtime, 'mtime');
    node.ctime = Date.now();
}
export function utimesSync(path, atime, mtime) {
    path = pathOf(path);
    seconds(atime, 'atime');
    seconds(mtime, 'mtime');
    const { node, fail } = find(path, 'utime');
    if (!node.writable) throw fail('EPERM');
    setTimes(node, atime, mtime);
}
export function lutimesSync(path, atime, mtime) {
    path = pathOf(path);
    seconds(atime, 'atime');
    seconds(mtime, 'mtime');
    setTimes(find(path, 'lutime', false).node, atime, mtime);
}
export function futimesSync(fd, atime, mtime) {
    fdOf(fd);
    seconds(atime, 'atime');
    seconds(mtime, 'mtime');
    setTimes(descriptor(fd, 'futime').node, atime, mtime);
}

// ---- Files

export function openSync(path, flags = 'r', mode = 0o666) {
    path = pathOf(path);
    const bits = flagsOf(flags);
    mode = modeOf(mode);
    const access = bits & 3;
    const write = access !== O_RDONLY;
    const at = walk(path, 'open', !(bits & O_EXCL && bits & O_CREAT));
    let { node } = at;
    if (node === undefined) {
        if (!(bits & O_CREAT)) throw at.fail('ENOENT');
        node = makeIn(at, new File(true));
        node.mode = mode & 0o777;
    } else {
        if (bits & O_CREAT && bits & O_EXCL) throw at.fail('EEXIST');
        if (node.isDir && write) throw at.fail('EISDIR');
        if (bits & O_DIRECTORY && !node.isDir) throw at.fail('ENOTDIR');
        if (write && !node.writable) throw at.fail('EPERM');
        if (bits & O_TRUNC && write) node.resize(0);
    }
    return openNode(node, { read: access !== O_WRONLY, write, append: (bits & O_APPEND) !== 0, path });
}
export function closeSync(fd) {
    fdOf(fd);
    if (fd <= 2) return; // Those of process stay.
    descriptor(fd, 'close');
    closeDescriptor(fd);
}
export function fsyncSync(fd) {
    fdOf(fd);
    descriptor(fd, 'fsync');
}
export function fdatasyncSync(fd) {
    fdOf(fd);
    descriptor(fd, 'fdatasync');
}

const positionOf = (position) => {
    if (position === undefined || position === null || position === -1 || position === -1n) return null;
    if (typeof position !== 'bigint') validateInteger(position, 'position', 0);
    return Number(position);
};
// (buffer, offset, length, position) or (buffer, { offset, length, position }).
function range(buffer, offset, length, position, name = 'buffer', outside = err.ERR_OUT_OF_RANGE) {
    if (!ArrayBuffer.isView(buffer)) throw err.ERR_INVALID_ARG_TYPE(name, ['Buffer', 'TypedArray', 'DataView'], buffer);
    if (offset !== null && typeof offset === 'object') ({ offset = 0, length, position } = offset);
    else if (offset !== undefined && offset !== null && typeof offset !== 'number') throw err.ERR_INVALID_ARG_TYPE('offset', 'number', offset);
    offset ??= 0;
    validateInteger(offset, 'offset', 0);
    if (offset > buffer.byteLength) throw outside('offset', `>= 0 && <= ${buffer.byteLength}`, offset);
    length ??= buffer.byteLength - offset;
    validateInteger(length, 'length', 0);
    if (length > buffer.byteLength - offset) throw outside('length', `>= 0 && <= ${buffer.byteLength - offset}`, length);
    return [new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length), positionOf(position)];
}
function readAt(d, bytes, position) {
    if (!d.read) throw fsError('EBADF', 'read');
    if (d.node.isDir) throw fsError('EISDIR', 'read');
    const count = d.node.read(bytes, position ?? d.position);
    if (position === null) d.position += count;
    d.node.atime = Date.now();
    return count;
}
function writeAt(d, bytes, position) {
    if (!d.write) throw fsError('EBADF', 'write');
    if (d.append) position = d.node.size;
    const count = d.node.write(bytes, position ?? d.position);
    if (d.append) d.position = d.node.size;
    else if (position === null) d.position += count;
    return count;
}
export function readSync(fd, buffer, offset, length, position) {
    fdOf(fd);
    const [bytes, at] = range(buffer, offset, length, position);
    if (fd <= 2) return 0;
    return readAt(descriptor(fd, 'read'), bytes, at);
}
const views = (buffers) => {
    if (!Array.isArray(buffers)) throw err.ERR_INVALID_ARG_TYPE('buffers', 'ArrayBufferView[]', buffers);
    for (const b of buffers) if (!ArrayBuffer.isView(b)) throw err.ERR_INVALID_ARG_TYPE('buffers', 'ArrayBufferView[]', buffers);
    return buffers.map((b) => new Uint8Array(b.buffer, b.byteOffset, b.byteLength));
};
export function readvSync(fd, buffers, position) {
    fdOf(fd);
    const list = views(buffers);
    let at = positionOf(position);
    const d = descriptor(fd, 'read');
    let total = 0;
    for (const bytes of list) {
        const count = readAt(d, bytes, at);
        total += count;
        if (at !== null) at += count;
        if (count < bytes.length) break;
    }
    return total;
}
export function writeSync(fd, buffer, offset, length, position) {
    fdOf(fd);
    if (typeof buffer === 'string') {
        // (fd, text, position, encoding)
        if (offset !== undefined && offset !== null && typeof offset !== 'number' && typeof offset !== 'bigint') throw err.ERR_INVALID_ARG_TYPE('position', 'number', offset);
        if (length !== undefined && length !== null) {
            validateString(length, 'encoding');
            if (!Buffer.isEncoding(length)) throw err.ERR_INVALID_ARG_VALUE('encoding', length, `is invalid for data of length ${buffer.length}`);
        }
        return writeOut(fd, Buffer.from(buffer, length ?? 'utf8'), positionOf(offset));
    }
    const [bytes, at] = range(buffer, offset, length, position, 'buffer', err.ERR_BUFFER_OUT_OF_BOUNDS);
    return writeOut(fd, bytes, at);
}
function writeOut(fd, bytes, at) {
    if (fd <= 2) {
        if (fd !== 0) globalThis.process[fd === 1 ? 'stdout' : 'stderr'].write(Buffer.from(bytes));
        return bytes.length;
    }
    return writeAt(descriptor(fd, 'write'), bytes, at);
}
export function writevSync(fd, buffers, position) {
    fdOf(fd);
    const list = views(buffers);
    let at = positionOf(position);
    let total = 0;
    for (const bytes of list) {
        const count = writeOut(fd, bytes, at);
        total += count;
        if (at !== null) at += count;
    }
    return total;
}
export function ftruncateSync(fd, length = 0) {
    fdOf(fd);
    length ??= 0;
    validateInteger(length, 'len', 0);
    const d = descriptor(fd, 'ftruncate');
    if (!d.write) throw fsError('EINVAL', 'ftruncate');
    d.node.resize(Math.max(0, length));
}
export function truncateSync(path, length = 0) {
    length ??= 0;
    path = pathOf(path);
    validateInteger(length, 'len', 0);
    const { node, fail } = find(path, 'open');
    if (node.isDir) throw fail('EISDIR');
    if (!node.writable) throw fail('EPERM');
    node.resize(Math.max(0, length));
    return undefined;
}

export function readFileSync(path, options) {
    const { encoding, flag } = optionsOf(options, { flag: 'r' });
    let bytes;
    if (typeof path === 'number') {
        const d = descriptor(fdOf(path), 'read');
        if (d.node.isDir) throw fsError('EISDIR', 'read');
        bytes = d.node.bytes; // From the beginning, as in workerd.
        d.position = d.node.size;
    } else {
        const text = pathOf(path);
        const bits = flagsOf(flag, 'options.flag');
        if (bits & O_CREAT) closeSync(openSync(text, flag));
        const { node } = find(text, 'open');
        if (node.isDir) throw fsError('EISDIR', 'read');
        bytes = node.bytes;
    }
    const b = Buffer.from(bytes);
    return encoding && encoding !== 'buffer' ? b.toString(encoding) : b;
}
export function writeFileSync(path, data, options) {
    const { encoding, flag, mode, flush = false } = optionsOf(options, { flag: 'w', mode: 0o666 });
    validateBoolean(flush, 'options.flush');
    const fd = typeof path === 'number' ? fdOf(path) : undefined;
    const text = fd === undefined ? pathOf(path) : undefined;
    const bytes = bytesOf(data, encoding);
    if (fd !== undefined) return void writeOut(fd, bytes, null);
    const opened = openSync(text, flag, mode);
    try {
        writeAt(descriptor(opened, 'write'), bytes, null);
    } finally {
        closeSync(opened);
    }
    return undefined;
}
export const appendFileSync = (path, data, options) => writeFileSync(path, data, optionsOf(options, { flag: 'a', mode: 0o666 }));

export function copyFileSync(src, dest, mode = 0) {
    const from = pathOf(src, 'src');
    const to = pathOf(dest, 'dest');
    validateInteger(mode, 'mode', 0, 7);
    if (mode & constants.COPYFILE_FICLONE_FORCE) throw Object.assign(fsError('ENOTSUP', 'copyfile', from, to), { message: 'COPYFILE_FICLONE_FORCE is unsupported' });
    const a = walk(from, 'copyfile', true, [from, to]);
    if (a.node === undefined) throw a.fail('ENOENT');
    if (a.node.isDir) throw a.fail('EISDIR');
    const b = walk(to, 'copyfile', true, [from, to]);
    if (b.node !== undefined) {
        if (mode & COPYFILE_EXCL) throw b.fail('EEXIST');
        if (b.node.isDir) throw b.fail('EISDIR');
        if (b.node === a.node) return;
        if (!b.node.writable) throw b.fail('EPERM');
        b.node.resize(0);
        b.node.write(a.node.bytes, 0);
    } else {
        makeIn(b, new File(true, a.node.bytes.slice()));
    }
}

// ---- cp: files and whole folders

const cpError = (code, message, path) => Object.assign(new Error(message), { name: 'SystemError', code, path, errno: -1, syscall: 'cp' });

export function cpOptions(options) {
    const o = { dereference: false, errorOnExist: false, force: true, mode: 0, preserveTimestamps: false, recursive: false, verbatimSymlinks: false };
    if (options !== undefined && options !== null) {
        validateObject(options, 'options');
        Object.assign(o, Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)));
    }
    for (const key of ['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'recursive', 'verbatimSymlinks']) validateBoolean(o[key], `options.${key}`);
    validateInteger(o.mode, 'options.mode', 0, 7);
    if (o.mode & constants.COPYFILE_FICLONE_FORCE) throw err.ERR_INVALID_ARG_VALUE('options.mode', o.mode);
    if (o.dereference && o.verbatimSymlinks) throw err.ERR_INCOMPATIBLE_OPTION_PAIR('dereference', 'verbatimSymlinks');
    if (o.filter !== undefined) validateFunction(o.filter, 'options.filter');
    return o;
}

export function cpSync(src, dest, options) {
    const o = cpOptions(options);
    const from = pathOf(src, 'src');
    const to = pathOf(dest, 'dest');
    copy(from, to, o);
}
function copy(from, to, o) {
    if (o.filter !== undefined && !o.filter(from, to)) return;
    const a = find(from, 'cp', o.dereference);
    const parent = to.slice(0, to.replace(/\/+$/, '').lastIndexOf('/'));
    if (parent !== '' && !existsSync(parent)) mkdirSync(parent, { recursive: true });
    const b = walk(to, 'cp', o.dereference);
    if (b.node !== undefined) {
        if (a.node.isLink && b.node.isDir) throw b.fail('ENOTDIR');
        if (a.node === b.node) throw cpError('ERR_FS_CP_EINVAL', `Invalid src or dest: cp returned EINVAL (src and dest cannot be the same) ${to}`, to);
        if (a.node.isDir && !b.node.isDir) throw cpError('ERR_FS_CP_DIR_TO_NON_DIR', `Cannot overwrite non-directory ${to} with directory ${from}`, to);
        if (!a.node.isDir && b.node.isDir) throw cpError('ERR_FS_CP_NON_DIR_TO_DIR', `Cannot overwrite directory ${to} with non-directory ${from}`, to);
    }
    if (a.node.isDir && `${b.path}/`.startsWith(`${a.path}/`)) throw cpError('ERR_FS_CP_EINVAL', `Cannot copy ${from} to a subdirectory of self ${to}`, to);
    if (a.node.isDir) {
        if (!o.recursive) throw cpError('ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: ${from}`, from);
        if (b.node === undefined) mkdirSync(to);
        for (const name of namesIn(a.node)) copy(`${from}/${name}`, `${to}/${name}`, o);
    } else if (a.node.isLink) {
        const target = o.verbatimSymlinks || a.node.target.startsWith('/') ? a.node.target : `${a.path.slice(0, a.path.lastIndexOf('/'))}/${a.node.target}`;
        if (b.node !== undefined) {
            if (!present(o, to)) return;
            unlinkSync(to);
        }
        symlinkSync(target, to);
    } else {
        if (b.node !== undefined) {
            if (!present(o, to)) return;
            unlinkSync(to);
        }
        copyFileSync(from, to, o.mode & ~COPYFILE_EXCL);
    }
    if (o.preserveTimestamps) {
        const made = walk(to, 'cp', false).node;
        if (made !== undefined) [made.atime, made.mtime] = [a.node.atime, a.node.mtime];
    }
}
// Whether what is there already is to be replaced.
function present(o, to) {
    if (o.force) return true;
    if (o.errorOnExist) throw cpError('ERR_FS_CP_EEXIST', `Target already exists: cp returned EEXIST (${to} already exists)`, to);
    return false;
}
