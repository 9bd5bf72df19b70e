// storage_sql.js: ctx.storage.sql. services.md 1.5.
//
// The host answers with many rows as one flat list (../ops_sql.c): most queries are a single call of it.
import { shape } from './core.js';

const { sql_all, sql_close, sql_exec, sql_next, sql_size } = host;

// Places in an answer of the host.
const OWNER = 0, NUMBER = 1, SHAPE = 2, NAMES = 3, ROWS_READ = 4, ROWS_WRITTEN = 5, VALUES = 6;

const SHAPES_MAX = 256; // Texts of queries whose columns are remembered.

// Names of columns, as the host numbers their shapes.
class Shape {
    constructor(number, names) {
        this.number = number;
        this.names = names;
        this.odd = false; // A name that plain assignment would not make a property of.
        for (let i = 0; i < names.length; i++) if (names[i] === '__proto__') this.odd = true;
    }
}

function rowOf({ names, odd }, values, at) {
    const row = {};
    if (!odd) {
        for (let i = 0; i < names.length; i++) row[names[i]] = values[at + i];
    } else {
        for (let i = 0; i < names.length; i++) {
            Object.defineProperty(row, names[i], { value: values[at + i], writable: true, enumerable: true, configurable: true });
        }
    }
    return row;
}

function listOf(values, at, count) {
    const list = new Array(count);
    for (let i = 0; i < count; i++) list[i] = values[at + i];
    return list;
}

const MAKE = {}; // Who has it may make what users may not.

export class SqlStorageCursor {
    #storage;
    #shape;
    #values; // the host's last answer
    #at = VALUES; // of the next row in it
    constructor(key, storage, shape, values) {
        if (key !== MAKE) throw new TypeError('Illegal constructor');
        this.#storage = storage;
        this.#shape = shape;
        this.#values = values;
    }
    // Where the next row is in #values; -1 at the end.
    #step() {
        if (this.#at >= this.#values.length && !this.#more()) return -1;
        const at = this.#at;
        this.#at += this.#shape.names.length;
        return at;
    }
    #more() {
        const old = this.#values;
        if (old[OWNER] === undefined) return false;
        const nothing = [undefined, 0, old[SHAPE], undefined, old[ROWS_READ], old[ROWS_WRITTEN]];
        this.#values = nothing; // Should it fail.
        this.#at = VALUES;
        this.#values = sql_next(this.#storage, old[NUMBER], this.#shape.number);
        const names = this.#values[NAMES];
        if (names !== undefined) this.#shape = new Shape(this.#values[SHAPE], names);
        return this.#at < this.#values.length;
    }
    next() {
        const at = this.#step();
        return at < 0 ? { done: true, value: undefined } : { done: false, value: rowOf(this.#shape, this.#values, at) };
    }
    toArray() {
        sql_all();
        const rows = [];
        for (let at = this.#step(); at >= 0; at = this.#step()) rows[rows.length] = rowOf(this.#shape, this.#values, at);
        return rows;
    }
    one() {
        const at = this.#step();
        if (at < 0) throw new Error('Expected exactly one result from SQL query, but got no results.');
        const row = rowOf(this.#shape, this.#values, at);
        if (this.#step() >= 0) {
            this.#close();
            throw new Error('Expected exactly one result from SQL query, but got multiple results.');
        }
        return row;
    }
    // What is left is not read.
    #close() {
        const [owner, number, shape, , read, written] = this.#values;
        this.#values = [undefined, 0, shape, undefined, read, written];
        this.#at = VALUES;
        if (owner !== undefined) sql_close(this.#storage, number);
    }
    raw() {
        return new RawIterator(MAKE, () => {
            const at = this.#step();
            return at < 0 ? undefined : listOf(this.#values, at, this.#shape.names.length);
        });
    }
    get columnNames() {
        const { names } = this.#shape;
        return listOf(names, 0, names.length);
    }
    // Those that nobody has looked at yet do not count.
    get rowsRead() {
        const width = this.#shape.names.length;
        return this.#values[ROWS_READ] - (width === 0 ? 0 : Math.max(0, this.#values.length - this.#at) / width);
    }
    get rowsWritten() {
        return this.#values[ROWS_WRITTEN];
    }
    [Symbol.iterator]() {
        return this;
    }
}
shape(SqlStorageCursor, 'Cursor');

class RawIterator {
    #next;
    constructor(key, next) {
        if (key !== MAKE) throw new TypeError('Illegal constructor');
        this.#next = next;
    }
    next() {
        const value = this.#next();
        return value === undefined ? { done: true, value } : { done: false, value };
    }
    toArray() {
        sql_all();
        const rows = [];
        for (let row = this.#next(); row !== undefined; row = this.#next()) rows[rows.length] = row;
        return rows;
    }
    [Symbol.iterator]() {
        return this;
    }
}
Object.defineProperty(RawIterator.prototype, Symbol.toStringTag, { value: 'RawIterator', configurable: true });

// What sql.prepare() would give; it is not there, but code may ask whether something is one.
export class SqlStorageStatement {
    constructor() {
        throw new TypeError('Illegal constructor');
    }
}
shape(SqlStorageStatement, 'Statement');

export class SqlStorage {
    #storage;
    #enabled;
    #shapes = new Map(); // text of a query -> Shape
    constructor(storage, enabled) {
        this.#storage = storage;
        this.#enabled = enabled;
    }
    // The storage's number, if the class may use SQL.
    #use() {
        if (!this.#enabled) {
            throw new Error(
                'SQL is not enabled for this Durable Object class. To enable it, list the class under `new_sqlite_classes` of a migration in the configuration of your Worker.',
            );
        }
        return this.#storage;
    }
    exec(query, ...bindings) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'exec' on 'SqlStorage': 1 argument required, but only 0 present.");
        const text = typeof query === 'string' ? query : `${query}`;
        let known = this.#shapes.get(text);
        const values = sql_exec(this.#use(), text, known === undefined ? 0 : known.number, ...bindings);
        const names = values[NAMES];
        if (names !== undefined) {
            known = new Shape(values[SHAPE], names);
            if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
            this.#shapes.set(text, known);
        }
        return new SqlStorageCursor(MAKE, this.#storage, known, values);
    }
    get databaseSize() {
        return sql_size(this.#use());
    }
    get Cursor() {
        return SqlStorageCursor;
    }
    get Statement() {
        return SqlStorageStatement;
    }
}
shape(SqlStorage);
