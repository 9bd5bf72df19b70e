// runtime/bench_storage.mjs: what calls of ctx.storage cost: js_run tests/runtime/bench_storage.mjs, of a release build. Microseconds of the
// processor for one call each, over SQLite in memory: without files, segments and the log.
export default {
    test() {
        const host = testStorage();
        const storage = host.open({ sql: true, hasAlarm: () => true, block: (fn) => fn(), synced: async () => {} });
        const { kv, sql } = storage;
        sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n INTEGER)');
        let n = 0;
        const insert = () => sql.exec('INSERT INTO t(name, n) VALUES(?, ?)', 'name', n++);
        const measure = (name, fn) => {
            const count = 20000;
            for (let i = 0; i < 2000; i++) fn(i);
            const before = host.cpu();
            for (let i = 0; i < count; i++) fn(i);
            console.log(name, ((host.cpu() - before) / count).toFixed(2));
            host.turn();
        };
        measure('INSERT, turn', () => { insert(); host.turn(); });
        measure('SELECT of one row', (i) => sql.exec('SELECT id, name, n FROM t WHERE id = ?', (i % 1000) + 1).one());
        measure('SELECT of 10 rows', (i) => sql.exec('SELECT id, name, n FROM t WHERE id > ? LIMIT 10', i % 1000).toArray());
        measure('INSERT, SELECT, turn', (i) => { insert(); sql.exec('SELECT id, name, n FROM t WHERE id = ?', i + 1).toArray(); host.turn(); });
        measure('kv.put', (i) => kv.put('key', { a: i, b: 'text' }));
        measure('kv.put, turn', (i) => { kv.put('key', { a: i, b: 'text' }); host.turn(); });
        measure('kv.get', () => kv.get('key'));
        measure('get', () => storage.get('key'));
        measure('transactionSync with a put', (i) => storage.transactionSync(() => kv.put('key', i)));
    },
};
