// storage.js: ctx.storage: key-value pairs, transactions, the alarm. services.md 1.4, 1.6.
//
// Everything happens at once, inside the call: the promises only carry the outcome. A turn's writes are one transaction of the host,
// committed when the turn ends; what is opened here are levels inside it (../../db/storage.h).
import { Frame, currentFrame, replaceable, runIn, shape } from './core.js';
import { compatibility } from './globals.js';
import { SqlStorage } from './storage_sql.js';

const {
    entries, storage_alarm, storage_alarm_delete, storage_alarm_set, storage_begin, storage_clear, storage_commit, storage_delete, storage_depth, storage_end, storage_get,
    storage_get_all, storage_list, storage_put, storage_put_all,
} = host;

const TIMEOUT = 'Durable Object storage operation exceeded timeout which caused object to be reset.';

// ---- Operations on the storage with that number; `who` is what was called, for messages

const text = (key) => (typeof key === 'string' ? key : `${key}`);
const texts = (keys) => {
    const list = [];
    for (let i = 0; i < keys.length; i++) list[i] = text(keys[i]);
    return list;
};

// [key, value, ...] as a Map.
function mapOf(flat) {
    const map = new Map();
    for (let i = 0; i < flat.length; i += 2) map.set(flat[i], flat[i + 1]);
    return map;
}

function need(count, what, args) {
    if (args.length < count) throw new TypeError(`Failed to execute '${what}' on 'DurableObjectStorage': ${count} argument${count === 1 ? '' : 's'} required, but only ${args.length} present.`);
}

function get(number, key) {
    return Array.isArray(key) ? mapOf(storage_get_all(number, texts(key))) : storage_get(number, text(key));
}

const undefinedValue = () => new TypeError('put() called with undefined value.');

function putAll(number, pairs) {
    const flat = [];
    const add = (key, value) => {
        if (value !== undefined) flat[flat.length] = key, flat[flat.length] = value; // As in workerd: undefined ones are left out.
    };
    const map = entries(pairs);
    if (map !== undefined) {
        for (let i = 0; i < map.length; i += 2) add(text(map[i]), map[i + 1]);
    } else {
        for (const key of Object.keys(pairs)) add(key, pairs[key]);
    }
    storage_put_all(number, flat);
}

function put(number, key, value) {
    if (typeof key === 'object' && key !== null) return putAll(number, key);
    if (value === undefined) throw undefinedValue();
    storage_put(number, text(key), value);
}

function remove(number, key) {
    if (!Array.isArray(key)) return storage_delete(number, text(key));
    let count = 0;
    for (const one of new Set(texts(key))) if (storage_delete(number, one)) count++;
    return count;
}

const optional = (value) => (value === undefined ? undefined : text(value));

// The options of a list, as storage_list takes them.
function listOptions(options = {}) {
    if (options === null || typeof options !== 'object') throw new TypeError('The options of list() are not an object.');
    const start = optional(options.start), startAfter = optional(options.startAfter), end = optional(options.end), prefix = optional(options.prefix);
    if (start !== undefined && startAfter !== undefined) throw new TypeError('list() cannot be called with both start and startAfter values.');
    const { limit } = options;
    if (limit !== undefined && !(Math.trunc(limit) > 0)) throw new TypeError('List limit must be positive.');
    return { start, startAfter, end, prefix, reverse: Boolean(options.reverse), limit: limit === undefined ? 0 : Math.min(Math.trunc(limit), Number.MAX_SAFE_INTEGER) };
}

const listFlat = (number, o) => storage_list(number, o.start, o.startAfter, o.end, o.prefix, o.reverse, o.limit);

function setAlarm(number, cell, time) {
    const at = time instanceof Date ? Date.prototype.getTime.call(time) : Number(time);
    if (Number.isNaN(at)) throw new TypeError('setAlarm() takes a Date or a number of milliseconds.');
    if (!(at > 0)) throw new TypeError('setAlarm() cannot be called with an alarm time <= 0');
    if (!cell.hasAlarm()) throw new TypeError('Your Durable Object class must have an alarm() handler in order to call setAlarm()');
    storage_alarm_set(number, Math.min(Math.max(Math.floor(at), wallNow()), 8.64e15)); // The past is now.
}
const wallNow = Date.now;

// ---- Transactions

// One open level of a storage. Its children come one after the other, and it ends after them.
class Level {
    constructor(number) {
        this.number = number;
        this.state = OPEN;
        this.children = 0;
        this.last = undefined; // the promise of the child that started last
    }
    end(keep) {
        this.state = keep ? COMMITTED : ROLLED_BACK;
        storage_end(this.number, keep);
    }
    // Runs fn when the children before it have ended.
    async queue(fn) {
        const before = this.last;
        const { promise, resolve } = Promise.withResolvers();
        this.last = promise;
        this.children++;
        try {
            if (before !== undefined) await before;
            return await fn();
        } finally {
            this.children--;
            resolve();
        }
    }
    async quiet() {
        while (this.children > 0) await this.last;
    }
}
const OPEN = 0, COMMITTED = 1, ROLLED_BACK = 2;

// Runs closure(txn) in a level of its own. Never rejects: { failed, value or error }.
async function runLevel(key, cell, number, closure, top) {
    let level;
    try {
        storage_begin(number, top);
        level = new Level(number);
        const frame = currentFrame();
        const inner = Object.assign(new Frame(), frame, { store: new Map(frame?.store ?? []).set(key, level) });
        const value = await runIn(inner, closure, undefined, new DurableObjectTransaction(LEVEL, cell, level));
        await level.quiet();
        if (level.state === OPEN) {
            level.end(true);
            if (top) storage_commit(number);
        }
        return { failed: false, value };
    } catch (error) {
        if (level !== undefined) await level.quiet();
        if (level?.state === OPEN) level.end(false);
        return { failed: true, error };
    }
}

const LEVEL = {}; // Who has it may make what users may not.

export class DurableObjectTransaction {
    #cell;
    #level;
    constructor(key, cell, level) {
        if (key !== LEVEL) throw new TypeError('Illegal constructor');
        this.#cell = cell;
        this.#level = level;
    }
    // The storage's number, while the transaction is open.
    #use(what) {
        const { number, state } = this.#level;
        if (state === ROLLED_BACK) throw new Error(`Cannot ${what} on rolled back transaction`);
        if (state === COMMITTED) throw new Error(`Cannot call ${what} on transaction that has already committed: did you move \`txn\` outside of the closure?`);
        return number;
    }
    async get(key, options = undefined) {
        return get(this.#use('get()'), key);
    }
    async put(key, value, options = undefined) {
        put(this.#use('put()'), key, value);
    }
    async delete(key, options = undefined) {
        return remove(this.#use('delete()'), key);
    }
    async list(options = undefined) {
        return mapOf(listFlat(this.#use('list()'), listOptions(options)));
    }
    async getAlarm(options = undefined) {
        return storage_alarm(this.#use('getAlarm()'));
    }
    async setAlarm(time, options = undefined) {
        setAlarm(this.#use('setAlarm()'), this.#cell, time);
    }
    async deleteAlarm(options = undefined) {
        storage_alarm_delete(this.#use('deleteAlarm()'));
    }
    async deleteAll() {
        throw new Error('Cannot call deleteAll() within a transaction');
    }
    rollback() {
        if (this.#level.state === ROLLED_BACK) return;
        this.#use('rollback()');
        if (this.#level.children > 0) throw new Error('Cannot call rollback() while a transaction inside this one is running');
        this.#level.end(false);
    }
}
shape(DurableObjectTransaction);

// ---- The same without promises

class KvIterator {
    #next;
    constructor(key, next) {
        if (key !== LEVEL) throw new TypeError('Illegal constructor');
        this.#next = next;
    }
    next() {
        const pair = this.#next();
        return pair === undefined ? { done: true, value: undefined } : { done: false, value: pair };
    }
    return(value = undefined) {
        this.#next = () => undefined;
        return { done: true, value };
    }
    [Symbol.iterator]() {
        return this;
    }
}

export class SyncKvStorage {
    #number;
    #lists = 0; // how many were begun
    constructor(key, number) {
        if (key !== LEVEL) throw new TypeError('Illegal constructor');
        this.#number = number;
    }
    get(key) {
        need(1, 'get', arguments);
        return storage_get(this.#number, text(key));
    }
    put(key, value) {
        need(1, 'put', arguments);
        if (value === undefined) throw undefinedValue();
        storage_put(this.#number, text(key), value);
    }
    delete(key) {
        need(1, 'delete', arguments);
        return storage_delete(this.#number, text(key));
    }
    // Each step looks anew for the pair behind the last one: it holds nothing, and sees what was changed meanwhile.
    list(options = undefined) {
        const o = listOptions(options);
        const mine = ++this.#lists;
        let left = o.limit === 0 ? Infinity : o.limit;
        o.limit = 1;
        return new KvIterator(LEVEL, () => {
            if (mine !== this.#lists) throw new Error('This iterator was invalidated by a later call of kv.list(): only one such iterator can exist at a time.');
            if (left <= 0) return undefined;
            const pair = listFlat(this.#number, o);
            if (pair.length === 0) {
                left = 0;
                return undefined;
            }
            left--;
            if (o.reverse) o.end = pair[0];
            else (o.start = undefined), (o.startAfter = pair[0]);
            return pair;
        });
    }
}
shape(SyncKvStorage);

// ---- ctx.storage

const noBookmarks = () => new Error('Point-in-time recovery is not implemented in celld');

export class DurableObjectStorage {
    #number;
    #cell;
    #sql;
    #kv;
    #root; // of the levels: for the order of transactions only
    constructor(key, number, cell) {
        if (key !== LEVEL) throw new TypeError('Illegal constructor');
        this.#number = number;
        this.#cell = cell;
        this.#root = new Level(number);
    }
    async get(key, options = undefined) {
        need(1, 'get', arguments);
        return get(this.#number, key);
    }
    async put(key, value, options = undefined) {
        need(1, 'put', arguments);
        put(this.#number, key, value);
    }
    async delete(key, options = undefined) {
        need(1, 'delete', arguments);
        return remove(this.#number, key);
    }
    async list(options = undefined) {
        return mapOf(listFlat(this.#number, listOptions(options)));
    }
    async deleteAll(options = undefined) {
        storage_clear(this.#number, compatibility('delete_all_deletes_alarm'));
    }
    async getAlarm(options = undefined) {
        return storage_alarm(this.#number);
    }
    async setAlarm(time, options = undefined) {
        need(1, 'setAlarm', arguments);
        setAlarm(this.#number, this.#cell, time);
    }
    async deleteAlarm(options = undefined) {
        storage_alarm_delete(this.#number);
    }
    // The cell's other events wait until the closure has ended; transactions inside it are undone by themselves.
    async transaction(closure, options = undefined) {
        if (typeof closure !== 'function') throw new TypeError("Failed to execute 'transaction' on 'DurableObjectStorage': parameter 1 is not of type 'Function'.");
        const parent = currentFrame()?.store?.get(this);
        const run = (top) => runLevel(this, this.#cell, this.#number, closure, top);
        const nested = parent !== undefined && parent.state === OPEN;
        const result = await (nested ? parent.queue(() => run(false)) : this.#cell.block(() => this.#root.queue(() => run(true)), TIMEOUT));
        if (result.failed) throw result.error;
        return result.value;
    }
    transactionSync(closure) {
        if (typeof closure !== 'function') throw new TypeError("Failed to execute 'transactionSync' on 'DurableObjectStorage': parameter 1 is not of type 'Function'.");
        const number = this.#number;
        storage_begin(number, false);
        let value;
        try {
            value = closure();
            if (typeof value?.then === 'function') throw new TypeError('The callback of transactionSync() must not return a promise: use transaction() for what is asynchronous.');
        } catch (error) {
            storage_end(number, false);
            throw error;
        }
        storage_end(number, true);
        return value;
    }
    async sync() {
        if (storage_depth(this.#number) > 0) throw new Error('sync() cannot be called while a transaction is open: nothing of it is durable before it ends.');
        storage_commit(this.#number);
        await this.#cell.synced();
    }
    get sql() {
        return (this.#sql ??= new SqlStorage(this.#number, this.#cell.sql));
    }
    get kv() {
        return (this.#kv ??= new SyncKvStorage(LEVEL, this.#number));
    }
    async getCurrentBookmark() {
        throw noBookmarks();
    }
    async getBookmarkForTime() {
        throw noBookmarks();
    }
    async onNextSessionRestoreBookmark() {
        throw noBookmarks();
    }
}
shape(DurableObjectStorage);
replaceable(DurableObjectStorage, 'sql', 'kv');

// The storage whose number the host gave. cell: what it belongs to:
//   sql             whether its class may use SQL
//   hasAlarm()      whether its class has the handler
//   block(fn, text) runs fn while no other event of the cell runs, transactions of one event one after the other or inside each other;
//                   when it takes too long, the cell is reset with the text
//   synced()        a promise: all that was committed is proven
export const newStorage = (number, cell) => new DurableObjectStorage(LEVEL, number, cell);
