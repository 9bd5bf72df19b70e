// node/vfs.js: the file system that a Worker sees: /bundle has its modules, /tmp is its own for each event, /dev a few devices.
// runtime.md 3.5. Everything is in memory; nothing of the machine is visible.
import { currentContext } from '../core.js';
import { ERRNO } from './errno.js';

const UV = {}; // code -> [errno, text]
for (const [errno, [code, text]] of ERRNO) UV[code] = [errno, text];

const { bundle_names, bundle_bytes, random_fill } = host;

export const S_IFREG = 0o100000;
export const S_IFDIR = 0o040000;
export const S_IFLNK = 0o120000;
export const S_IFCHR = 0o020000;
const FILE_MAX = 128 * 1024 * 1024;
const LINKS_MAX = 40;
const PATH_MAX = 4096;
const PIECES_MAX = 48;
const tooLong = (message) => Object.assign(new Error(message), { code: 'ENAMETOOLONG', errno: -36 });

let lastInode = 0;

// An error as the system makes it: code, errno, syscall, and the paths.
export function fsError(code, syscall, path, dest) {
    const [errno, text] = UV[code];
    let message = code === 'EBADF' ? text : `${code}: ${text}, ${syscall}`;
    if (path !== undefined) message += ` '${path}'`;
    if (dest !== undefined) message += ` -> '${dest}'`;
    const error = new Error(message);
    error.errno = errno;
    error.code = code;
    error.syscall = syscall;
    if (path !== undefined) error.path = path;
    if (dest !== undefined) error.dest = dest;
    return error;
}

class Node {
    constructor(kind, mode) {
        this.kind = kind;
        this.mode = mode;
        this.ino = ++lastInode;
        this.nlink = kind === S_IFDIR ? 2 : 1;
        this.atime = this.mtime = this.ctime = this.birthtime = Date.now();
    }
    get isDir() {
        return this.kind === S_IFDIR;
    }
    get isFile() {
        return this.kind === S_IFREG;
    }
    get isLink() {
        return this.kind === S_IFLNK;
    }
    touch() {
        this.mtime = this.ctime = Date.now();
    }
}

export class Dir extends Node {
    constructor(writable, children = new Map()) {
        super(S_IFDIR, writable ? 0o777 : 0o555);
        this.writable = writable;
        this.children = children;
    }
    get(name) {
        return this.children.get(name);
    }
}

export class File extends Node {
    #bytes;
    #length;
    constructor(writable, bytes = new Uint8Array(0)) {
        super(S_IFREG, writable ? 0o666 : 0o444);
        this.writable = writable;
        this.#bytes = bytes;
        this.#length = bytes.length;
    }
    get size() {
        return this.#length;
    }
    get bytes() {
        return this.#bytes.subarray(0, this.#length);
    }
    resize(length) {
        if (length > FILE_MAX) throw Object.assign(fsError('EFBIG', 'write'), { message: 'File size limit exceeded' });
        if (length > this.#bytes.length) {
            const more = new Uint8Array(Math.max(length, Math.min(this.#bytes.length * 2, FILE_MAX)));
            more.set(this.bytes);
            this.#bytes = more;
        } else if (length < this.#length) {
            this.#bytes.fill(0, length, this.#length);
        }
        this.#length = length;
        this.touch();
    }
    read(into, at) {
        if (at >= this.#length) return 0;
        const part = this.bytes.subarray(at, at + into.length);
        into.set(part);
        return part.length;
    }
    write(from, at) {
        if (at + from.length > this.#length) this.resize(at + from.length);
        this.#bytes.set(from, at);
        this.touch();
        return from.length;
    }
}

export class Link extends Node {
    constructor(target) {
        super(S_IFLNK, 0o777);
        this.target = target;
    }
    get size() {
        return this.target.length;
    }
}

class Device extends Node {
    constructor(read, write) {
        super(S_IFCHR, 0o666);
        this.writable = true;
        this.read = read;
        this.write = write;
        this.size = 0;
    }
    resize() {}
    get bytes() {
        return new Uint8Array(0);
    }
}

// Modules are files, and the folders of their names.
class BundleFile extends File {
    #name;
    #own;
    constructor(name) {
        super(false);
        this.#name = name;
    }
    get bytes() {
        return (this.#own ??= bundle_bytes(this.#name));
    }
    get size() {
        return this.bytes.length;
    }
    read(into, at) {
        const part = this.bytes.subarray(at, at + into.length);
        into.set(part);
        return part.length;
    }
}

function makeBundle() {
    const root = new Dir(false);
    for (const name of bundle_names()) {
        const pieces = name.split('/').filter((p) => p !== '' && p !== '.');
        const last = pieces.pop();
        let dir = root;
        for (const piece of pieces) {
            if (!(dir.get(piece) instanceof Dir)) dir.children.set(piece, new Dir(false));
            dir = dir.get(piece);
        }
        dir.children.set(last, new BundleFile(name));
    }
    return root;
}

const temporary = new WeakMap(); // Context -> its /tmp
const GLOBAL = {}; // the global scope has one too
function tmpDir() {
    const key = currentContext() ?? GLOBAL;
    let dir = temporary.get(key);
    if (dir === undefined) temporary.set(key, (dir = new Dir(true)));
    return dir;
}

let root;
export function rootDir() {
    if (root !== undefined) return root;
    root = new Dir(false);
    const dev = new Dir(false);
    const nothing = () => 0;
    const all = (from) => from.length;
    dev.children.set('null', new Device(nothing, all));
    dev.children.set('zero', new Device((into) => into.fill(0).length, all));
    dev.children.set('full', new Device((into) => into.fill(0).length, () => {
        throw fsError('ENOSPC', 'write');
    }));
    dev.children.set('random', new Device((into) => (random_fill(into), into.length), all));
    root.children.set('bundle', makeBundle());
    root.children.set('dev', dev);
    root.get = (name) => (name === 'tmp' ? tmpDir() : root.children.get(name));
    root.names = () => ['bundle', 'dev', 'tmp'];
    return root;
}
export const namesIn = (dir) => (dir.names !== undefined ? dir.names() : [...dir.children.keys()]);

// ---- Paths

// { parent, name, node, path }: node undefined: the last piece is not there. follow: a link at the end is followed.
export function walk(path, syscall, follow = true, dest = undefined) {
    const fail = (code) => fsError(code, syscall, dest === undefined ? path : dest[0], dest?.[1]);
    let pieces = path.split('/');
    const trail = []; // [dir, name] of each step
    let dir = rootDir();
    let node = dir;
    let name = '';
    let parent = dir;
    let links = 0;
    const mustBeDir = path.length > 1 && path.endsWith('/');
    pieces = pieces.filter((p) => p !== '' && p !== '.');
    if (path.length > PATH_MAX) throw tooLong('File path is too long');
    if (pieces.length > PIECES_MAX) throw tooLong('File path has too many segments');
    while (pieces.length > 0) {
        const piece = pieces.shift();
        if (!(node instanceof Dir)) throw fail(node === undefined ? 'ENOENT' : 'ENOTDIR');
        dir = node;
        if (piece === '..') {
            const up = trail.pop();
            node = up === undefined ? rootDir() : up[0];
            parent = trail.length > 0 ? trail[trail.length - 1][0] : rootDir();
            name = trail.length > 0 ? trail[trail.length - 1][1] : '';
            continue;
        }
        if (piece.length > 4096) throw fail('ENAMETOOLONG');
        const next = dir.get(piece);
        if (next instanceof Link && (pieces.length > 0 || follow || mustBeDir)) {
            if (++links > LINKS_MAX) throw fail('ELOOP');
            const target = next.target.split('/').filter((p) => p !== '' && p !== '.');
            pieces.unshift(...target);
            if (next.target.startsWith('/')) {
                trail.length = 0;
                node = rootDir();
                parent = node;
                name = '';
            }
            continue;
        }
        trail.push([dir, piece]);
        parent = dir;
        name = piece;
        node = next;
    }
    if (mustBeDir && node !== undefined && !(node instanceof Dir)) throw fail('ENOTDIR');
    return { parent, name, node, path: `/${trail.map((t) => t[1]).join('/')}`, fail };
}

export function find(path, syscall, follow = true) {
    const at = walk(path, syscall, follow);
    if (at.node === undefined) throw at.fail('ENOENT');
    return at;
}
export function needWritable(dir, fail) {
    if (!dir.writable) throw fail('EPERM');
}

// ---- Open files

const open = new Map(); // number -> { node, flags, position, path }
let lastFd = 2;
export function openNode(node, options) {
    const fd = ++lastFd;
    open.set(fd, { node, position: 0, ...options });
    return fd;
}
export function descriptor(fd, syscall) {
    const d = open.get(fd);
    if (d === undefined) throw fsError('EBADF', syscall);
    return d;
}
export const closeDescriptor = (fd) => open.delete(fd);
