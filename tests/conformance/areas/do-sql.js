import { Cell, caught, inside, message, sleep } from '../case.js';

export { Cell };

const rows = (cursor) => cursor.toArray();
const entries = 'services.md 1.5: rows are counted, as SQLite tells of them; workerd counts each entry of a table or an index that its own SQLite touches';
const no = 'Error: not authorized: SQLITE_AUTH';
// A table t(id, name) with so many rows; index: also one of name.
function table(sql, count, index = false) {
    sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)');
    if (index) sql.exec('CREATE INDEX by_name ON t (name)');
    for (let i = 1; i <= count; i++) sql.exec('INSERT INTO t VALUES (?, ?)', i, `n${i}`);
}
const counts = (cursor) => [cursor.rowsRead, cursor.rowsWritten];
const after = (cursor) => (rows(cursor), counts(cursor));

inside('exec and its rows', ({ sql }) => {
    table(sql, 2);
    return rows(sql.exec('SELECT * FROM t'));
}, [{ id: 1, name: 'n1' }, { id: 2, name: 'n2' }]);
inside('rows outlive their event', [
    ({ sql }) => void table(sql, 1),
    ({ sql }) => sql.exec('SELECT name FROM t').one(),
], [undefined, { name: 'n1' }]);
inside('types of values', ({ sql }) => {
    const row = sql.exec("SELECT 1 AS i, 1.5 AS r, 'ä' AS t, x'0102' AS b, NULL AS n, 9007199254740993 AS big, -1 AS minus, 1e400 AS inf, '' AS e, x'' AS eb").one();
    return row;
}, { i: 1, r: 1.5, t: 'ä', b: new Uint8Array([1, 2]).buffer, n: null, big: 9007199254740992, minus: -1, inf: Infinity, e: '', eb: new ArrayBuffer(0) });
inside('types of bindings', ({ sql }) => rows(sql.exec('SELECT typeof(?1) a, typeof(?2) b, typeof(?3) c, typeof(?4) d, typeof(?5) e, typeof(?6) f, typeof(?7) g', 1, 1.5, 'x', null, new Uint8Array(1), new ArrayBuffer(1), undefined))[0],
    { a: 'real', b: 'real', c: 'text', d: 'null', e: 'blob', f: 'blob', g: 'null' });
inside('a column decides about numbers', ({ sql }) => {
    sql.exec('CREATE TABLE t (i INTEGER, r REAL, t TEXT, b BLOB, n)');
    sql.exec('INSERT INTO t VALUES (?, ?, ?, ?, ?)', 3, 3, 3, 3, 3);
    return sql.exec('SELECT typeof(i), typeof(r), typeof(t), typeof(b), typeof(n), t FROM t').raw().next().value;
}, ['integer', 'real', 'text', 'real', 'real', '3.0']);
inside('a binding of a boolean', ({ sql }) => caught(() => sql.exec('SELECT ? AS a', true).one().a), 'nothing was thrown');
inside('the value of a boolean', ({ sql }) => sql.exec('SELECT ? AS a, ? AS b', true, false).one(), { a: 'true', b: 'false' },
    { celld: { a: 1, b: 0 }, why: 'services.md 1.5: 1 and 0, as everywhere in SQLite; workerd binds a text' });
inside('a binding of a BigInt', ({ sql }) => message(() => sql.exec('SELECT ? AS a', 5n)), 'TypeError: Cannot convert a BigInt value to a number',
    { celld: 'nothing was thrown', why: 'services.md 1.5: an INTEGER, as far as 64 bits reach' });
inside('a binding of a symbol', ({ sql }) => caught(() => sql.exec('SELECT ? AS a', Symbol('s'))), 'TypeError');
inside('bindings of objects', ({ sql }) => [caught(() => sql.exec('SELECT ?', {})), caught(() => sql.exec('SELECT ?', new Date(0))), caught(() => sql.exec('SELECT ?', [1]))], Array(3).fill('nothing was thrown'),
    { celld: Array(3).fill('TypeError'), why: 'services.md 1.5: a TypeError; workerd binds what String() makes of them, "[object Object]"' });
inside('a view binds the bytes that it shows', ({ sql }) => sql.exec('SELECT ? AS a', new Uint8Array([1, 2, 3, 4]).subarray(1, 3)).one().a, new Uint8Array([2, 3]).buffer);
inside('numbers that are no integers', ({ sql }) => sql.exec('SELECT ? AS nan, ? AS inf, ? AS zero, ? AS max', NaN, Infinity, -0, Number.MAX_VALUE).one(), { nan: null, inf: Infinity, zero: -0, max: Number.MAX_VALUE });
inside('a text with NUL', ({ sql }) => {
    const row = sql.exec('SELECT ? AS a, length(?1) AS l', 'a\0b').one();
    return row;
}, { a: 'a\0b', l: 1 });
inside('a lone surrogate in a text', ({ sql }) => sql.exec('SELECT ?1 AS s, hex(?1) AS h', '\ud800').one(), { s: '\ufffd\ufffd\ufffd', h: 'EDA080' },
    { celld: { s: '\ufffd', h: 'EFBFBD' }, why: 'Encoding standard: a lone surrogate becomes one U+FFFD; workerd stores bytes that are no UTF-8' });
inside('text that is not UTF-8', ({ sql }) => sql.exec("SELECT CAST(x'41ff42' AS TEXT) AS a").one().a, 'A\ufffdB');
inside('the count of bindings', ({ sql }) => [message(() => sql.exec('SELECT ?')), message(() => sql.exec('SELECT 1', 1)), message(() => sql.exec('SELECT ?, ?', 1))],
    Array(3).fill('Error: Wrong number of parameter bindings for SQL query.'));
inside('named parameters', ({ sql }) => [sql.exec('SELECT ?2 AS a, ?1 AS b', 1, 2).one(), sql.exec('SELECT :x AS a', 1).one(), message(() => sql.exec('SELECT ?3', 1))],
    [{ a: 2, b: 1 }, { a: 1 }, 'Error: Wrong number of parameter bindings for SQL query.']);
inside('several statements', ({ sql }) => rows(sql.exec('CREATE TABLE a (x); INSERT INTO a VALUES (1); INSERT INTO a VALUES (2); SELECT x FROM a WHERE x > ?', 1)), [{ x: 2 }]);
inside('bindings are for the last statement', ({ sql }) => {
    sql.exec('CREATE TABLE a (x)');
    return [rows(sql.exec('INSERT INTO a VALUES (7); SELECT x, ? AS y FROM a', 2)), message(() => sql.exec('INSERT INTO a VALUES (?); SELECT 1', 1)), sql.exec('SELECT count(*) AS n FROM a').one().n];
}, [[{ x: 7, y: 2 }], 'Error: When executing multiple SQL statements in a single call, only the last statement can have parameters.', 1]);
inside('an error in a later statement', ({ sql }) => {
    sql.exec('CREATE TABLE a (x)');
    return [message(() => sql.exec('INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (1); INSERT INTO a VALUES (2)')), sql.exec('SELECT count(*) AS n FROM a').one().n];
}, ['Error: no such table: nowhere: SQLITE_ERROR', 1]);
inside('texts without a statement', ({ sql }) => [message(() => sql.exec('')), message(() => sql.exec('   ')), message(() => sql.exec('-- only a comment')), message(() => sql.exec(';'))],
    Array(4).fill('Error: SQL code did not contain a statement.'));
inside('blanks and comments behind a statement', ({ sql }) => [sql.exec('SELECT 1 AS a;').one(), sql.exec('SELECT 1 AS a; ').one(), sql.exec('/* before */ SELECT 1 AS a;\n').one(), sql.exec('SELECT /* in */ 1 AS a -- end').one()], Array(4).fill({ a: 1 }));
inside('a comment behind the last semicolon', ({ sql }) => [message(() => sql.exec('SELECT 1; -- end')), message(() => sql.exec('SELECT 1;;'))], Array(2).fill('Error: SQL code did not contain a statement.'),
    { celld: Array(2).fill('nothing was thrown'), why: 'a comment, or a semicolon too many, is no statement; workerd takes it for one' });
inside('syntax errors', ({ sql }) => [message(() => sql.exec('SELECTT 1')), message(() => sql.exec('SELECT')), message(() => sql.exec('SELECT 1; SELECT FROM'))], [
    'Error: near "SELECTT": syntax error at offset 0: SQLITE_ERROR', 'Error: incomplete input: SQLITE_ERROR', 'Error: near "FROM": syntax error at offset 7: SQLITE_ERROR']);
inside('names that are not there', ({ sql }) => [message(() => sql.exec('SELECT * FROM nowhere')), message(() => sql.exec('SELECT missing')), message(() => sql.exec('SELECT nofunction(1)'))], [
    'Error: no such table: nowhere: SQLITE_ERROR', 'Error: no such column: missing at offset 7: SQLITE_ERROR', 'Error: no such function: nofunction at offset 7: SQLITE_ERROR']);
inside('constraints', ({ sql }) => {
    sql.exec("CREATE TABLE c (id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, k CHECK (k > 0)); INSERT INTO c (id, u) VALUES (1, 1)");
    return ['(id) VALUES (1)', '(u) VALUES (1)', '(n) VALUES (NULL)', '(k) VALUES (-1)'].map((what) => message(() => sql.exec(`INSERT INTO c ${what}`)));
}, ['Error: UNIQUE constraint failed: c.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)', 'Error: UNIQUE constraint failed: c.u: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)',
    'Error: NOT NULL constraint failed: c.n: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_NOTNULL)', 'Error: CHECK constraint failed: k > 0: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)']);
inside('foreign keys are on', ({ sql }) => {
    sql.exec('CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id))');
    return message(() => sql.exec('INSERT INTO c VALUES (1)'));
}, 'Error: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)');
inside('raise in a trigger', ({ sql }) => {
    sql.exec("CREATE TABLE a (x); CREATE TRIGGER r BEFORE INSERT ON a BEGIN SELECT raise(ABORT, 'not so'); END");
    return message(() => sql.exec('INSERT INTO a VALUES (1)'));
}, 'Error: not so: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_TRIGGER)');
inside('a statement that fails leaves nothing', ({ sql }) => {
    table(sql, 1);
    return [caught(() => sql.exec("INSERT INTO t VALUES (5, 'a'), (1, 'b')")), sql.exec('SELECT count(*) AS n FROM t').one().n];
}, ['Error', 1]);

// ---- Cursors

inside('one', ({ sql }) => [sql.exec('SELECT 1 AS a').one(), message(() => sql.exec('SELECT 1 WHERE 0').one()), message(() => sql.exec('SELECT 1 UNION SELECT 2').one())], [
    { a: 1 }, 'Error: Expected exactly one result from SQL query, but got no results.', 'Error: Expected exactly one result from SQL query, but got multiple results.']);
inside('next, and for of', ({ sql }) => {
    table(sql, 3);
    const cursor = sql.exec('SELECT id FROM t');
    const first = cursor.next();
    const rest = [];
    for (const { id } of cursor) rest.push(id);
    return [first, rest, cursor.next(), cursor.toArray()];
}, [{ done: false, value: { id: 1 } }, [2, 3], { done: true, value: undefined }, []]);
inside('raw', ({ sql }) => {
    table(sql, 2);
    const raw = sql.exec('SELECT id, name FROM t').raw();
    return [raw.next(), [...raw], sql.exec('SELECT id FROM t').raw().toArray(), raw[Symbol.iterator]() === raw];
}, [{ done: false, value: [1, 'n1'] }, [[2, 'n2']], [[1], [2]], true]);
inside('rows and raw are of one cursor', ({ sql }) => {
    table(sql, 3);
    const cursor = sql.exec('SELECT id FROM t');
    return [cursor.next().value, cursor.raw().next().value, cursor.one()];
}, [{ id: 1 }, [2], { id: 3 }]);
inside('columnNames', ({ sql }) => {
    table(sql, 1);
    return [sql.exec('SELECT id, name AS n, 1+1 FROM t').columnNames, sql.exec('DELETE FROM t').columnNames, sql.exec('CREATE TABLE x (y)').columnNames, sql.exec('SELECT id FROM t WHERE 0').columnNames];
}, [['id', 'n', '1+1'], [], [], ['id']]);
inside('columns of the same name', ({ sql }) => {
    const text = 'SELECT 1 AS a, 2 AS b, 3 AS a';
    return [sql.exec(text).one(), sql.exec(text).raw().next().value, sql.exec(text).columnNames];
}, [{ a: 3, b: 2 }, [1, 2, 3], ['a', 'b', 'a']]);
inside('odd column names', ({ sql }) => {
    const row = sql.exec('SELECT 1 AS "", 2 AS "0", 3 AS "constructor", 4 AS "a b"').one();
    return [row, Object.keys(row).sort()];
}, [{ '': 1, 0: 2, constructor: 3, 'a b': 4 }, ['', '0', 'a b', 'constructor']]);
inside('statements that change give no rows', ({ sql }) => {
    table(sql, 1);
    return [rows(sql.exec("UPDATE t SET name = 'x'")), sql.exec('DELETE FROM t').next(), message(() => sql.exec('DELETE FROM t').one())];
}, [[], { done: true, value: undefined }, 'Error: Expected exactly one result from SQL query, but got no results.']);
inside('RETURNING', ({ sql }) => {
    table(sql, 0);
    return [rows(sql.exec("INSERT INTO t VALUES (1, 'a'), (2, 'b') RETURNING *")), sql.exec("UPDATE t SET name = 'c' WHERE id = 1 RETURNING name").one(), rows(sql.exec('DELETE FROM t RETURNING id'))];
}, [[{ id: 1, name: 'a' }, { id: 2, name: 'b' }], { name: 'c' }, [{ id: 1 }, { id: 2 }]]);
inside('two cursors of one text', ({ sql }) => {
    table(sql, 3);
    const [a, b] = [sql.exec('SELECT id FROM t'), sql.exec('SELECT id FROM t')];
    return [a.next().value.id, b.next().value.id, a.next().value.id, rows(b), rows(a)];
}, [1, 1, 2, [{ id: 2 }, { id: 3 }], [{ id: 3 }]]);
inside('one text with other bindings while a cursor is open', ({ sql }) => {
    table(sql, 3);
    const a = sql.exec('SELECT id FROM t WHERE id >= ?', 1);
    a.next();
    const b = rows(sql.exec('SELECT id FROM t WHERE id >= ?', 3));
    return [b, rows(a)];
}, [[{ id: 3 }], [{ id: 2 }, { id: 3 }]]);
inside('a cursor over an await', async ({ sql }) => {
    table(sql, 3);
    const cursor = sql.exec('SELECT id FROM t');
    cursor.next();
    await sleep(1);
    return rows(cursor);
}, [{ id: 2 }, { id: 3 }]);
inside('a cursor over two events', [
    ({ sql, self }) => {
        table(sql, 3);
        self.cursor = sql.exec('SELECT id FROM t');
        return self.cursor.next().value;
    },
    ({ self }) => rows(self.cursor),
], [{ id: 1 }, [{ id: 2 }, { id: 3 }]]);
inside('a schema that changes', ({ sql }) => {
    table(sql, 1);
    const before = sql.exec('SELECT * FROM t').columnNames;
    sql.exec('ALTER TABLE t ADD COLUMN more DEFAULT 7');
    return [before, rows(sql.exec('SELECT * FROM t')), sql.exec('SELECT * FROM t').columnNames];
}, [['id', 'name'], [{ id: 1, name: 'n1', more: 7 }], ['id', 'name', 'more']]);
inside('what sql is', ({ sql }) => {
    const cursor = sql.exec('SELECT 1');
    return [String(sql), String(cursor), cursor instanceof sql.Cursor, sql.Cursor.name, sql.Statement.name, typeof sql.prepare, caught(() => new sql.Cursor())];
}, ['[object SqlStorage]', '[object Cursor]', true, 'Cursor', 'Statement', 'undefined', 'TypeError']);
inside('the text is converted', ({ sql }) => [caught(() => sql.exec()), caught(() => sql.exec(1)), sql.exec({ toString: () => 'SELECT 1 AS a' }).one()], ['TypeError', 'Error', { a: 1 }]);

// ---- rowsRead, rowsWritten

inside('rowsRead of a scan', ({ sql }) => {
    table(sql, 5);
    return [after(sql.exec('SELECT * FROM t')), after(sql.exec('SELECT * FROM t WHERE name = ?', 'n2')), after(sql.exec('SELECT * FROM t LIMIT 2')), after(sql.exec('SELECT sum(id) FROM t'))];
}, [[5, 0], [5, 0], [2, 0], [5, 0]]);
inside('rowsRead of count(*)', ({ sql }) => {
    table(sql, 5);
    return after(sql.exec('SELECT count(*) FROM t'));
}, [5, 0], { celld: [1, 0], why: entries });
inside('rowsRead of a key', ({ sql }) => {
    table(sql, 5);
    return [after(sql.exec('SELECT * FROM t WHERE id = 3')), after(sql.exec('SELECT * FROM t WHERE id > 3')), after(sql.exec('SELECT max(id) FROM t'))];
}, [[1, 0], [2, 0], [1, 0]]);
inside('rowsRead of keys that are looked for', ({ sql }) => {
    table(sql, 5);
    return [after(sql.exec('SELECT * FROM t WHERE id = 30')), after(sql.exec('SELECT * FROM t WHERE id IN (1, 2)'))];
}, [[1, 0], [4, 0]], { celld: [[0, 0], [2, 0]], why: entries });
inside('rowsRead by an index', ({ sql }) => {
    table(sql, 5, true);
    return [after(sql.exec('SELECT * FROM t ORDER BY name')), after(sql.exec('SELECT max(name) FROM t')), after(sql.exec('SELECT name FROM t'))];
}, [[5, 0], [1, 0], [5, 0]]);
inside('rowsRead of an entry of an index', ({ sql }) => {
    table(sql, 5, true);
    return [after(sql.exec('SELECT * FROM t WHERE name = ?', 'n2')), after(sql.exec('SELECT name FROM t WHERE name = ?', 'n2'))];
}, [[2, 0], [2, 0]], { celld: [[1, 0], [1, 0]], why: entries });
inside('rowsRead of a join', ({ sql }) => {
    table(sql, 3);
    return [after(sql.exec('SELECT * FROM t a JOIN t b ON a.id = b.id')), after(sql.exec('SELECT * FROM t a, t b')), after(sql.exec('SELECT * FROM t ORDER BY name DESC'))];
}, [[6, 0], [12, 0], [6, 0]], { celld: [[3, 0], [9, 0], [3, 0]], why: entries });
inside('rowsRead of a function', ({ sql }) => after(sql.exec("SELECT * FROM json_each('[1,2,3]')")), [3, 0]);
inside('rowsRead without a table', ({ sql }) => [after(sql.exec('SELECT 1')), after(sql.exec('VALUES (1), (2)'))], [[0, 0], [0, 0]], { celld: [[1, 0], [2, 0]], why: entries });
inside('rowsRead grows as rows are read', ({ sql }) => {
    table(sql, 5);
    const cursor = sql.exec('SELECT * FROM t');
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push(cursor.rowsRead), cursor.next();
    return [seen[0] < seen[1], seen[1] < seen[3], cursor.toArray(), cursor.rowsRead];
}, [true, true, [], 5]);
inside('rowsWritten of an insert', ({ sql }) => {
    sql.exec('CREATE TABLE a (x)');
    return [counts(sql.exec('INSERT INTO a VALUES (1)')), counts(sql.exec('INSERT INTO a VALUES (1), (2), (3)')), sql.exec('INSERT INTO a SELECT x FROM a').rowsWritten];
}, [[0, 1], [0, 3], 4]);
inside('rowsWritten of an update', ({ sql }) => {
    table(sql, 3);
    return ["UPDATE t SET name = 'b'", "UPDATE t SET name = 'b' WHERE id = 1", "UPDATE t SET name = 'b' WHERE id = 99", "INSERT INTO t VALUES (1, 'x') ON CONFLICT DO NOTHING"].map((text) => sql.exec(text).rowsWritten);
}, [3, 1, 0, 0]);
inside('rowsWritten of entries of an index', ({ sql }) => {
    table(sql, 0, true);
    return ["INSERT INTO t VALUES (1, 'a')", "UPDATE t SET name = 'b'"].map((text) => sql.exec(text).rowsWritten);
}, [2, 2], { celld: [1, 1], why: entries });
inside('rowsWritten of unique columns', ({ sql }) => {
    sql.exec('CREATE TABLE u (id TEXT PRIMARY KEY, n UNIQUE)');
    return ["INSERT INTO u VALUES ('a', 1)", "INSERT OR REPLACE INTO u VALUES ('a', 2)", "INSERT INTO u VALUES ('a', 3) ON CONFLICT (id) DO UPDATE SET n = 4", "INSERT OR IGNORE INTO u VALUES ('a', 5)"].map((text) => sql.exec(text).rowsWritten);
}, [3, 3, 2, 0], { celld: [1, 1, 1, 0], why: entries });
inside('rowsWritten of a table without rowid', ({ sql }) => {
    sql.exec('CREATE TABLE w (id TEXT PRIMARY KEY, n) WITHOUT ROWID');
    return ["INSERT INTO w VALUES ('a', 1)", 'UPDATE w SET n = 2', 'DELETE FROM w'].map((text) => sql.exec(text).rowsWritten);
}, [1, 1, 1]);
inside('rowsWritten of statements about the schema', ({ sql }) => ['CREATE TABLE a (x)', 'CREATE INDEX i ON a (x)', 'ALTER TABLE a ADD COLUMN y', 'DROP TABLE a'].map((text) => sql.exec(text).rowsWritten), [2, 1, 1, 0], { celld: [0, 0, 0, 0], why: entries });
inside('rowsWritten of a deletion', ({ sql }) => {
    table(sql, 4, true);
    return ['DELETE FROM t WHERE id < 3', 'DELETE FROM t WHERE id = 99', 'DELETE FROM t'].map((text) => sql.exec(text).rowsWritten);
}, [2, 0, 2]);
inside('rowsWritten by a trigger', ({ sql }) => {
    sql.exec('CREATE TABLE a (x); CREATE TABLE b (x); CREATE TRIGGER r AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.x); END');
    return counts(sql.exec('INSERT INTO a VALUES (1)'));
}, [0, 2]);
inside('counts of several statements', ({ sql }) => {
    table(sql, 2);
    return after(sql.exec("INSERT INTO t VALUES (3, 'x'); SELECT * FROM t"));
}, [3, 0]);

// ---- What SQL may do

inside('transactions by statement', ({ sql }) => ['BEGIN', 'BEGIN TRANSACTION', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', 'RELEASE a', 'END'].map((text) => /state\.storage\.transaction\(\)/.test(message(() => sql.exec(text)))), Array(7).fill(true));
inside('what is not authorized', ({ sql }) => ["ATTACH 'x' AS y", 'DETACH y', 'CREATE TEMP TABLE a (x)', 'SELECT sqlite_version()', 'PRAGMA journal_mode', 'PRAGMA user_version', 'PRAGMA integrity_check', 'CREATE TABLE _cf_x (y)', 'SELECT * FROM _cf_KV', 'CREATE VIEW _cf_v AS SELECT 1', 'CREATE VIRTUAL TABLE a USING csv(x)']
    .map((text) => message(() => sql.exec(text))), [no, no, no, 'Error: not authorized to use function: sqlite_version at offset 7: SQLITE_ERROR', no, no, no, no, 'Error: no such table: _cf_KV: SQLITE_ERROR', no, no]);
inside('VACUUM and extensions', ({ sql }) => [message(() => sql.exec('VACUUM')), message(() => sql.exec("SELECT load_extension('x')"))], ['Error: cannot VACUUM from within a transaction: SQLITE_ERROR', 'Error: not authorized: SQLITE_ERROR'],
    { celld: [no, 'Error: not authorized to use function: load_extension at offset 7: SQLITE_ERROR'], why: 'services.md 1.5: refused as all else is that may not be done' });
inside('pragmas that are there', ({ sql }) => {
    table(sql, 1, true);
    return ['PRAGMA table_info(t)', 'PRAGMA index_list(t)', 'PRAGMA index_info(by_name)', 'PRAGMA foreign_key_list(t)', 'PRAGMA foreign_key_check', 'PRAGMA foreign_keys', 'PRAGMA quick_check', 'PRAGMA case_sensitive_like = ON', 'PRAGMA optimize', 'PRAGMA defer_foreign_keys = ON', 'PRAGMA recursive_triggers', 'PRAGMA page_size', 'PRAGMA table_xinfo(t)']
        .map((text) => rows(sql.exec(text)).map((row) => Object.values(row).join()).join(';'));
}, ['0,id,INTEGER,0,,1;1,name,TEXT,0,,0', '0,by_name,0,c,0', '0,1,name', '', '', '1', 'ok', '', '', '', '0', '4096', '0,id,INTEGER,0,,1,0;1,name,TEXT,0,,0,0']);
inside('pragma table_list', ({ sql }) => {
    table(sql, 1);
    return rows(sql.exec('PRAGMA table_list')).map((row) => row.name).filter((name) => !/^(_cf_|sqlite_)/.test(name));
}, ['t']);
inside('functions', ({ sql }) => rows(sql.exec("SELECT sqrt(16.0) a, json_extract('{\"x\":[1,2]}', '$.x[1]') b, group_concat(value, '-') c, '{\"y\":1}' ->> 'y' d, upper('x') e, iif(1, 2, 3) f, printf('%05d', 42) g, unixepoch('2000-01-01') h, hex(zeroblob(2)) i FROM json_each('[1,2]')"))[0],
    { a: 4, b: 2, c: '1-2', d: 1, e: 'X', f: 2, g: '00042', h: 946684800, i: '0000' });
inside('window functions, CTE and upsert', ({ sql }) => {
    table(sql, 3);
    return [rows(sql.exec('WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT x, sum(x) OVER (ORDER BY x) AS s FROM n')),
        sql.exec("INSERT INTO t VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = excluded.name || '!' RETURNING name").one()];
}, [[{ x: 1, s: 1 }, { x: 2, s: 3 }, { x: 3, s: 6 }], { name: 'x!' }]);
inside('full text search', ({ sql }) => {
    sql.exec("CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES ('hello world'), ('goodbye')");
    return rows(sql.exec("SELECT rowid, highlight(f, 0, '[', ']') AS h FROM f WHERE f MATCH 'world'"));
}, [{ rowid: 1, h: 'hello [world]' }]);
inside('rtree', ({ sql }) => {
    sql.exec('CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO r VALUES (1, 0, 10), (2, 20, 30)');
    return rows(sql.exec('SELECT id FROM r WHERE a >= 15'));
}, [{ id: 2 }]);
inside('limits', ({ sql }) => [
    caught(() => sql.exec(`SELECT ${Array.from({ length: 100 }, (_, i) => `${i} AS c${i}`).join()}`)), message(() => sql.exec(`SELECT ${Array.from({ length: 101 }, (_, i) => `${i} AS c${i}`).join()}`)),
    message(() => sql.exec(`VALUES (${Array(100).fill('?').join()})`, ...Array(100).fill(1))), message(() => sql.exec(`SELECT ${Array(101).fill('1').join('+')}`)),
    message(() => sql.exec(`SELECT '${'x'.repeat(100000)}'`)), message(() => sql.exec(Array(6).fill('SELECT 1').join(' UNION ALL '))), message(() => sql.exec("SELECT 'x' LIKE ?", 'x'.repeat(51)).one()),
], ['nothing was thrown', 'Error: too many columns in result set: SQLITE_ERROR', 'nothing was thrown', 'Error: Expression tree is too large (maximum depth 100): SQLITE_ERROR', 'Error: statement too long: SQLITE_TOOBIG',
    'Error: too many terms in compound SELECT: SQLITE_ERROR', 'Error: LIKE or GLOB pattern too complex: SQLITE_ERROR']);
inside('more than 100 parameters', ({ sql }) => caught(() => sql.exec(`SELECT 1 WHERE 1 IN (${Array(101).fill('?').join()})`, ...Array(101).fill(1))), 'Error');
inside('values of more than two million bytes', ({ sql }) => [message(() => sql.exec('SELECT zeroblob(2200001)').one()), message(() => sql.exec('SELECT ?', 'x'.repeat(2200001)))], Array(2).fill('nothing was thrown'),
    { celld: Array(2).fill('Error: string or blob too big: SQLITE_TOOBIG'), why: 'services.md 1.5: 2 200 000 bytes; workerd by itself allows more' });
inside('databaseSize', ({ sql }) => {
    const before = sql.databaseSize;
    table(sql, 0);
    const empty = sql.databaseSize;
    sql.exec("INSERT INTO t VALUES (1, ?)", 'x'.repeat(100000));
    const full = sql.databaseSize;
    sql.exec('DELETE FROM t');
    return [before % 4096, empty >= 8192, full - empty >= 94208, sql.databaseSize < full];
}, [0, true, true, true]);
inside('sqlite_master shows own tables alone', async ({ storage, sql }) => {
    await storage.put('a', 1);
    table(sql, 0, true);
    return rows(sql.exec("SELECT type, name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name"));
}, [{ type: 'index', name: 'by_name' }, { type: 'table', name: 't' }]);
inside('deleteAll drops tables, views, triggers and indexes', [
    async ({ storage, sql }) => {
        table(sql, 3, true);
        sql.exec('CREATE VIEW v AS SELECT * FROM t; CREATE TABLE c (t REFERENCES t (id)); INSERT INTO c VALUES (1); CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM c; END; CREATE VIRTUAL TABLE f USING fts5(b)');
        await storage.put('a', 1);
        await storage.deleteAll();
        return [rows(sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'")), await storage.list()];
    },
    ({ sql }) => (table(sql, 1), sql.exec('SELECT * FROM t').one()),
], [[[], new Map()], { id: 1, name: 'n1' }]);
inside('AUTOINCREMENT and last_insert_rowid', ({ sql }) => {
    sql.exec('CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, x)');
    sql.exec('INSERT INTO a (x) VALUES (1)');
    sql.exec('DELETE FROM a');
    sql.exec('INSERT INTO a (x) VALUES (1)');
    return sql.exec('SELECT id, last_insert_rowid() AS last, changes() AS c FROM a').one();
}, { id: 2, last: 2, c: 1 });
