// node/fs_types.js: Stats, Dirent and Dir of node:fs.
import { err, validateFunction } from './errors.js';
import { S_IFCHR, S_IFDIR, S_IFLNK, S_IFREG } from './vfs.js';

const KIND = 0o170000;

function addKinds(prototype, kindOf) {
    for (const [name, kind] of [
        ['isFile', S_IFREG], ['isDirectory', S_IFDIR], ['isSymbolicLink', S_IFLNK], ['isCharacterDevice', S_IFCHR], ['isBlockDevice', 0o060000],
        ['isFIFO', 0o010000], ['isSocket', 0o140000],
    ]) {
        Object.defineProperty(prototype, name, {
            value: { [name]() { return kindOf(this) === kind; } }[name],
            writable: true,
            configurable: true,
        });
    }
}

export class Stats {
    constructor(node, bigint = false) {
        const n = bigint ? BigInt : Number;
        this.dev = n(node.isDir || node.isFile || node.isLink ? 1 : 2);
        this.mode = n(node.kind | node.mode);
        this.nlink = n(node.nlink);
        this.uid = n(0);
        this.gid = n(0);
        this.rdev = n(0);
        this.blksize = n(4096);
        this.ino = n(node.ino);
        this.size = n(node.isDir ? 0 : node.size);
        this.blocks = n(node.isDir ? 0 : Math.ceil(node.size / 512));
        for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[`${name}Ms`] = bigint ? BigInt(Math.trunc(node[name])) : node[name];
        if (bigint) for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[`${name}Ns`] = BigInt(Math.trunc(node[name] * 1e6));
        for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[name] = new Date(node[name]);
    }
}
addKinds(Stats.prototype, (s) => Number(s.mode) & KIND);

export class Dirent {
    #kind;
    constructor(name, path, kind) {
        this.name = name;
        this.parentPath = path;
        this.path = path;
        this.#kind = kind;
    }
    static kind = (d) => d.#kind;
}
const { kind } = Dirent;
delete Dirent.kind;
addKinds(Dirent.prototype, kind);

// A folder that is read entry by entry.
export class Dir {
    #entries;
    #path;
    #closed = false;
    constructor(path, entries) {
        this.#path = path;
        this.#entries = entries;
    }
    get path() {
        return this.#path;
    }
    #check() {
        if (this.#closed) throw err.ERR_DIR_CLOSED();
    }
    readSync() {
        this.#check();
        return this.#entries.shift() ?? null;
    }
    closeSync() {
        this.#check();
        this.#closed = true;
    }
    #async(fn, callback) {
        if (callback === undefined) return new Promise((resolve) => resolve(fn()));
        validateFunction(callback, 'callback');
        let result;
        try {
            result = fn();
        } catch (error) {
            globalThis.process.nextTick(callback, error);
            return undefined;
        }
        globalThis.process.nextTick(callback, null, result);
        return undefined;
    }
    read(callback) {
        return this.#async(() => this.readSync(), callback);
    }
    close(callback) {
        return this.#async(() => this.closeSync(), callback);
    }
    async *entries() {
        try {
            for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
        } finally {
            if (!this.#closed) this.closeSync();
        }
    }
    [Symbol.asyncIterator]() {
        return this.entries();
    }
    [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
        if (!this.#closed) this.closeSync();
    }
    async [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
        if (!this.#closed) this.closeSync();
    }
}
