// ctx.storage.sql. The host of the cell is played by testStorage() of storage_host.h.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

function open() {
    const host = testStorage();
    const cell = { sql: true, hasAlarm: () => true, block: async (fn) => fn(), synced: async () => {} };
    const storage = host.open(cell);
    return { host, storage, sql: storage.sql };
}
const numbers = (n) => `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<${n}) SELECT i FROM n`;

test('values', () => {
    const { sql } = open();
    sql.exec('CREATE TABLE t(i INTEGER, r REAL, s TEXT, b BLOB, n)');
    const blob = Uint8Array.of(1, 2, 3);
    sql.exec('INSERT INTO t VALUES(?,?,?,?,?)', 5, 1.5, 'ä\u{1F600}\0z', blob, null);
    sql.exec('INSERT INTO t VALUES(?,?,?,?,?)', 2 ** 53, -0.25, '', blob.buffer, undefined);
    sql.exec('INSERT INTO t VALUES(?,?,?,?,?)', 9007199254740993n, 1e300, 'x', new DataView(blob.buffer, 1, 2), true);
    const rows = sql.exec('SELECT * FROM t').toArray();
    same(Object.keys(rows[0]), ['i', 'r', 's', 'b', 'n']);
    equal(rows[0].i, 5);
    equal(rows[0].s, 'ä\u{1F600}\0z');
    ok(rows[0].b instanceof ArrayBuffer);
    same([...new Uint8Array(rows[0].b)], [1, 2, 3]);
    equal(rows[0].n, null);
    equal(rows[1].i, 2 ** 53);
    equal(rows[1].s, '');
    equal(rows[1].n, null);
    equal(rows[2].i, 9007199254740992); // More than a double can hold.
    same([...new Uint8Array(rows[2].b)], [2, 3]);
    equal(rows[2].n, 1);
    same(sql.exec('SELECT typeof(?) a, typeof(?) b, typeof(?) c', 1, 1n, false).one(), { a: 'real', b: 'integer', c: 'integer' });
    equal(sql.exec("SELECT CAST(x'ff41' AS TEXT) AS s").one().s, '\uFFFDA');
    equal(sql.exec('SELECT -2147483649 AS v').one().v, -2147483649);
    for (const bad of [{}, [], () => {}, Symbol('x'), new Date()]) throws(() => sql.exec('SELECT ?', bad), 'TypeError');
    throws(() => sql.exec('SELECT ?', 2n ** 63n), 'RangeError');
});

test('cursors', () => {
    const { sql } = open();
    sql.exec('CREATE TABLE t(a, b); INSERT INTO t VALUES(1,2),(3,4),(5,6)');
    const cursor = sql.exec('SELECT * FROM t');
    same(cursor.columnNames, ['a', 'b']);
    same(cursor.next(), { done: false, value: { a: 1, b: 2 } });
    same([...cursor], [{ a: 3, b: 4 }, { a: 5, b: 6 }]);
    same(cursor.next(), { done: true });
    same(cursor.toArray(), []);
    same(sql.exec('SELECT * FROM t').raw().toArray(), [[1, 2], [3, 4], [5, 6]]);
    const mixed = sql.exec('SELECT a FROM t');
    const raw = mixed.raw();
    same(raw.next(), { done: false, value: [1] });
    same(mixed.next(), { done: false, value: { a: 3 } });
    same([...raw], [[5]]);
    same(raw.next(), { done: true });
    same(sql.exec('SELECT 1 AS x, 2 AS x').toArray(), [{ x: 2 }]);
    same(sql.exec('SELECT 1 AS x, 2 AS x').raw().toArray(), [[1, 2]]);
    same(sql.exec('SELECT a FROM t WHERE a=3').one(), { a: 3 });
    throws(() => sql.exec('SELECT a FROM t WHERE a=9').one(), 'Error', 'Expected exactly one result from SQL query, but got no results.');
    throws(() => sql.exec('SELECT a FROM t').one(), 'Error', 'Expected exactly one result from SQL query, but got multiple results.');
    const none = sql.exec('SELECT a, b FROM t WHERE 0');
    same(none.columnNames, ['a', 'b']);
    same(none.toArray(), []);
    same(sql.exec('DELETE FROM t').columnNames, []);
    const row = sql.exec('SELECT 1 AS __proto__, 2 AS "constructor", 3 AS "0"').one();
    ok(Object.hasOwn(row, '__proto__') && row.constructor === 2 && row[0] === 3);
    ok(cursor instanceof sql.Cursor);
    throws(() => new sql.Cursor(), 'TypeError', 'Illegal constructor');
    throws(() => new sql.Statement(), 'TypeError', 'Illegal constructor');
    equal(sql.prepare, undefined);
    throws(() => sql.exec(), 'TypeError');
});

test('long results come in parts', () => {
    const { sql } = open();
    equal(sql.exec(numbers(5000)).toArray().reduce((sum, row) => sum + row.i, 0), 12502500);
    let seen = 0;
    for (const [i] of sql.exec(numbers(1000)).raw()) {
        equal(i, ++seen);
        // The same text while it is open, and other work between two rows.
        if (i === 300) equal(sql.exec(numbers(1000)).next().value.i, 1);
        if (i === 301) sql.exec('CREATE TABLE t(x)');
    }
    equal(seen, 1000);
    const long = 'x'.repeat(50000);
    equal(sql.exec(`SELECT ? AS s FROM (${numbers(10)})`, long).toArray().filter((r) => r.s === long).length, 10);
    // Without an end: it is read only as far as somebody asks.
    const endless = sql.exec('WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT i FROM n');
    for (let i = 1; i <= 600; i++) equal(endless.next().value.i, i);
    for (const row of sql.exec(numbers(600))) if (row.i === 2) break;
});

test('an error behind rows', () => {
    const { sql } = open();
    const cursor = sql.exec(`SELECT i, CASE WHEN i=300 THEN abs(-9223372036854775808) ELSE i END AS v FROM (${numbers(400)})`);
    for (let i = 1; i < 300; i++) equal(cursor.next().value.v, i);
    throws(() => cursor.next(), 'Error', 'integer overflow: SQLITE_ERROR');
    same(cursor.next(), { done: true });
});

test('RETURNING is done at once', () => {
    const { sql, host } = open();
    sql.exec('CREATE TABLE t(x)');
    const cursor = sql.exec(`INSERT INTO t SELECT i FROM (${numbers(700)}) RETURNING x`);
    equal(cursor.next().value.x, 1);
    equal(cursor.rowsWritten, 700);
    equal(host.turn(), undefined); // Nothing is half done.
    equal(cursor.toArray().length, 699);
    throws(() => sql.exec("INSERT INTO t SELECT CASE WHEN i=500 THEN abs(-9223372036854775808) ELSE i END FROM (" + numbers(700) + ') RETURNING x'), 'Error', 'integer overflow: SQLITE_ERROR');
    equal(sql.exec('SELECT count(*) AS n FROM t').one().n, 700);
});

test('counts', () => {
    const { sql } = open();
    sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, x)');
    const insert = sql.exec('INSERT INTO t(x) VALUES(1),(2),(3)');
    equal(insert.rowsWritten, 3);
    equal(insert.rowsRead, 0);
    const select = sql.exec('SELECT * FROM t');
    for (let i = 1; i <= 3; i++) {
        select.next();
        equal(select.rowsRead, i);
    }
    select.next();
    equal(select.rowsRead, 3);
    equal(select.rowsWritten, 0);
    equal(sql.exec('SELECT * FROM t WHERE x=2').rowsRead >= 1, true);
    const filtered = sql.exec('SELECT * FROM t WHERE x=3');
    filtered.toArray();
    equal(filtered.rowsRead, 3);
    equal(sql.exec('UPDATE t SET x=5 WHERE id<3').rowsWritten, 2);
    equal(sql.exec('DELETE FROM t').rowsWritten, 3);
});

test('several statements', () => {
    const { sql } = open();
    equal(sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES(1); INSERT INTO t VALUES(2); SELECT max(x)+? AS m FROM t; -- end', 10).one().m, 12);
    throws(() => sql.exec('INSERT INTO t VALUES(?); SELECT 1', 5), 'Error', 'When executing multiple SQL statements in a single call, only the last statement can have parameters.');
    throws(() => sql.exec('SELECT ?', 1, 2), 'Error', 'Wrong number of parameter bindings for SQL query.');
    throws(() => sql.exec('SELECT 1', ...new Array(101).fill(0)), 'Error', 'Wrong number of parameter bindings for SQL query.');
    throws(() => sql.exec(''), 'Error', 'SQL code did not contain a statement.');
    throws(() => sql.exec('SELEC 1'), 'Error', 'near "SELEC": syntax error at offset 0: SQLITE_ERROR');
    throws(() => sql.exec('SELECT 1; SELECT'), 'Error', 'incomplete input: SQLITE_ERROR');
    equal(sql.exec('SELECT ' + new Array(100).fill('?').map((q, i) => `${q} AS c${i}`), ...Array.from({ length: 100 }, (_, i) => i)).one().c99, 99);
});

test('errors', () => {
    const { sql } = open();
    sql.exec('CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES(1)');
    throws(() => sql.exec("INSERT INTO t VALUES('1')"), 'Error', 'UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)');
    throws(() => sql.exec('SELECT * FROM nope'), 'Error', 'no such table: nope: SQLITE_ERROR');
    throws(() => sql.exec('BEGIN'), 'Error', /state\.storage\.transaction\(\)/);
    throws(() => sql.exec('CREATE TABLE _cf_x(y)'), 'Error', 'not authorized: SQLITE_AUTH');
    throws(() => sql.exec("SELECT 'x' || ?", 'y'.repeat(2200001)), 'Error', 'string or blob too big: SQLITE_TOOBIG');
    throws(() => sql.exec('SELECT zeroblob(2200001)'), 'Error', 'string or blob too big: SQLITE_TOOBIG');
});

test('columns that change', () => {
    const { sql } = open();
    sql.exec('CREATE TABLE t(a); INSERT INTO t VALUES(1)');
    const query = 'SELECT * FROM t';
    same(sql.exec(query).one(), { a: 1 });
    sql.exec('ALTER TABLE t ADD COLUMN b DEFAULT 2');
    same(sql.exec(query).one(), { a: 1, b: 2 });
    sql.exec('ALTER TABLE t RENAME COLUMN a TO c');
    same(sql.exec(query).one(), { c: 1, b: 2 });
});

test('transactions', async () => {
    const { sql, storage, host } = open();
    sql.exec('CREATE TABLE t(x)');
    throws(() => storage.transactionSync(() => {
        sql.exec('INSERT INTO t VALUES(1)');
        throw new Error('mine');
    }), 'Error', 'mine');
    equal(sql.exec('SELECT count(*) AS n FROM t').one().n, 0);
    await storage.transaction(async (txn) => {
        sql.exec('INSERT INTO t VALUES(1)');
        await txn.put('a', 1);
        txn.rollback();
    });
    equal(sql.exec('SELECT count(*) AS n FROM t').one().n, 0);
    equal(host.turn(), undefined);
    sql.exec('CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p)');
    throws(() => sql.exec('INSERT INTO c VALUES(1)'), 'Error', /^FOREIGN KEY constraint failed: SQLITE_CONSTRAINT/);
    equal(host.turn(), undefined);
    sql.exec('PRAGMA defer_foreign_keys=ON'); // Holds until the next commit, so it needs a transaction.
    const rejected = await storage.transaction(async () => {
        sql.exec('PRAGMA defer_foreign_keys=ON');
        sql.exec('INSERT INTO c VALUES(1)');
    }).then(() => 'kept', (e) => e.message);
    equal(rejected, 'commit: FOREIGN KEY constraint failed');
    throws(() => sql.exec('SELECT 1'), 'Error', 'commit: FOREIGN KEY constraint failed'); // The cell is to be reset.
    equal(host.turn(), 'commit: FOREIGN KEY constraint failed');
});

test('cursors that nobody ends', async () => {
    const { sql, storage, host } = open();
    sql.exec(`CREATE TABLE t AS ${numbers(1000)}`);
    const kept = sql.exec('SELECT * FROM t');
    for (let i = 0; i < 200; i++) sql.exec('SELECT * FROM t').next();
    ok(host.busy() > 2);
    await new Promise((resolve) => setTimeout(resolve, 1));
    host.gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
    equal(host.busy(), 1);
    throws(() => sql.exec('DROP TABLE t'), 'Error', 'database table is locked: SQLITE_LOCKED');
    equal(host.turn(), undefined);
    await storage.deleteAll(); // Would find its table locked.
    equal(kept.next().value.i, 1); // Of the part that was read.
    throws(() => kept.toArray(), 'Error', /closed/);
    const lost = sql.exec(numbers(1000));
    host.reopen({ sql: true });
    throws(() => lost.toArray(), 'Error', 'This storage is closed.');
});
test('size', () => {
    const { sql } = open();
    const before = sql.databaseSize;
    sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(100000))');
    ok(sql.databaseSize >= before + 100000 && sql.databaseSize % 4096 === 0);
});

test('interrupted by nobody: a long statement runs to its end', () => {
    const { sql } = open();
    equal(sql.exec(`SELECT count(*) AS n FROM (${numbers(200000)})`).one().n, 200000);
});

export default run;
