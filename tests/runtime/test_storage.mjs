// ctx.storage: pairs, transactions, the alarm. The host of the cell is played by testStorage() of storage_host.h.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

function open({ sql = true, alarm = true } = {}) {
    const host = testStorage();
    let before = Promise.resolve();
    const cell = {
        sql,
        syncs: 0,
        hasAlarm: () => alarm,
        block(fn) {
            const result = before.then(fn);
            before = result.catch(() => {});
            return result;
        },
        async synced() {
            this.syncs++;
        },
    };
    return { host, cell, storage: host.open(cell), reopen: () => host.reopen(cell) };
}

test('put, get, delete', async () => {
    const { storage, host, reopen } = open();
    equal(await storage.get('a'), undefined);
    const value = { n: 1, list: [1n, new Date(5), new Map([[1, new Set([2])]])], bytes: Uint8Array.of(1, 2) };
    const put = storage.put('a', value);
    value.n = 2; // Too late: it was cloned by the call.
    equal(await put, undefined);
    const got = await storage.get('a', { allowConcurrency: true, noCache: true });
    equal(got.n, 1);
    equal(got.list[0], 1n);
    ok(got.list[1] instanceof Date && got.list[2].get(1).has(2));
    same([...got.bytes], [1, 2]);
    equal(await storage.delete('a'), true);
    equal(await storage.delete('a'), false);
    for (const v of [null, 0, '', false, NaN, -0, 2n ** 70n, 'ä\u{1F600}\0']) {
        storage.put('v', v);
        equal(await storage.get('v'), v);
    }
    storage.put(7, 'seven');
    equal(await storage.get('7'), 'seven');
    equal(host.turn(), undefined);
    equal(host.commits(), 1);
    storage.put('a', 'lost');
    equal(await reopen().get('a'), undefined);
});

test('undefined values of several are left out', async () => {
    const { storage } = open();
    await storage.put({ a: 1, b: undefined });
    await storage.put(new Map([['c', undefined], ['d', 2]]));
    same([...(await storage.list())], [['a', 1], ['d', 2]]);
});

test('several at once', async () => {
    const { storage, host } = open();
    await storage.put({ c: 3, a: 1, b: 2 });
    await storage.put(new Map([['d', 4], ['\u{10000}', 5], ['\uFFFF', 6]]));
    const got = await storage.get(['d', 'nope', 'a', 'd', '\uFFFF', '\u{10000}']);
    ok(got instanceof Map);
    same([...got], [['a', 1], ['d', 4], ['\uFFFF', 6], ['\u{10000}', 5]]); // In the order of UTF-8.
    equal(await storage.delete(['a', 'b', 'nope', 'a']), 2);
    same([...(await storage.list()).keys()], ['c', 'd', '\uFFFF', '\u{10000}']);
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i]));
    await storage.put(many);
    equal((await storage.get(Object.keys(many))).size, 300);
    await storage.put({});
    equal(host.turn(), undefined);
});

test('what cannot be put', async () => {
    const { storage } = open();
    await rejects(storage.put('a', undefined), 'TypeError', 'put() called with undefined value.');
    await rejects(storage.put('a', () => {}), 'DataCloneError');
    await rejects(storage.put({ a: 1, b: () => {} }), 'DataCloneError');
    await rejects(storage.put('a', new Headers()), 'DataCloneError');
    await rejects(storage.put('a', new SharedArrayBuffer(1)), 'DataCloneError');
    await rejects(storage.put(), 'TypeError');
    await rejects(storage.put('a', { get x() { throw new SyntaxError('mine'); } }), 'SyntaxError', 'mine');
    const big = 'k'.repeat(2049);
    await rejects(storage.put(big, 1), 'RangeError', 'Keys cannot be larger than 2048 bytes. A key of size 2049 was provided.');
    await rejects(storage.get(big), 'RangeError');
    await rejects(storage.delete([big]), 'RangeError');
    await storage.put('ä'.repeat(1024), 1);
    await rejects(storage.put('ä'.repeat(1025), 1), 'RangeError');
    await rejects(storage.put('a', 'x'.repeat(2200000)), 'Error', 'string or blob too big: SQLITE_TOOBIG');
    await rejects(storage.put({ a: 1, b: 'x'.repeat(2200000) }), 'Error', 'string or blob too big: SQLITE_TOOBIG');
    equal(await storage.get('a'), undefined); // Nothing of a batch is left.
    await storage.put('a', 'x'.repeat(2199000));
    equal((await storage.get('a')).length, 2199000);
});

test('a value that cannot be read any more', async () => {
    const { storage, host } = open();
    await storage.put({ a: 1, b: 2, c: 3 });
    host.spoil('b');
    const text = 'actor storage deserialization failed; actorId = test-cell; key = b';
    await rejects(storage.get('b'), 'Error', text);
    await rejects(storage.get(['a', 'b']), 'Error', text);
    await rejects(storage.list(), 'Error', text);
    throws(() => storage.kv.get('b'), 'Error', text);
    equal(await storage.get('a'), 1);
    await storage.delete('b');
    equal((await storage.list()).size, 2);
});

test('list', async () => {
    const { storage } = open();
    await storage.put({ a: 1, ab: 2, abc: 3, b: 4, ba: 5, 'ÿ': 6, '\u{10FFFF}': 7, '\u{10FFFF}x': 8 });
    const keys = async (options) => [...(await storage.list(options)).keys()].join(' ');
    equal(await keys(), 'a ab abc b ba ÿ \u{10FFFF} \u{10FFFF}x');
    equal(await keys({ limit: 2, reverse: true }), '\u{10FFFF}x \u{10FFFF}');
    equal(await keys({ start: 'ab', end: 'ba' }), 'ab abc b');
    equal(await keys({ startAfter: 'ab', end: 'ba' }), 'abc b');
    equal(await keys({ prefix: 'ab' }), 'ab abc');
    equal(await keys({ prefix: 'ab', reverse: true, limit: 1 }), 'abc');
    equal(await keys({ prefix: 'a', start: 'ab' }), 'ab abc');
    equal(await keys({ prefix: 'a', startAfter: 'ab' }), 'abc');
    equal(await keys({ prefix: 'a', end: 'abc' }), 'a ab');
    equal(await keys({ prefix: 'b', start: 'a', end: 'z' }), 'b ba');
    equal(await keys({ prefix: 'b', startAfter: 'a' }), 'b ba');
    equal(await keys({ prefix: '\u{10FFFF}' }), '\u{10FFFF} \u{10FFFF}x');
    equal(await keys({ prefix: 'ÿ' }), 'ÿ');
    equal(await keys({ prefix: '' , limit: 1 }), 'a');
    equal(await keys({ start: 'b', end: 'a' }), '');
    equal(await keys({ end: '' }), '');
    await rejects(storage.list({ start: 'a', startAfter: 'b' }), 'TypeError', 'list() cannot be called with both start and startAfter values.');
    for (const limit of [0, -1, 'x']) await rejects(storage.list({ limit }), 'TypeError', 'List limit must be positive.');
    await rejects(storage.list(1), 'TypeError');
    equal((await storage.list()).get('abc'), 3);
});

test('pairs without promises', () => {
    const { storage, host } = open();
    const { kv } = storage;
    equal(kv, storage.kv);
    equal(kv.get('a'), undefined);
    equal(kv.put('a', { x: 1 }), undefined);
    kv.put('b', 2);
    kv.put('c', 3);
    equal(kv.get('a').x, 1);
    equal(kv.delete('c'), true);
    equal(kv.delete('c'), false);
    throws(() => kv.put('a', undefined), 'TypeError', 'put() called with undefined value.');
    throws(() => kv.put('a', () => {}), 'DataCloneError');
    throws(() => kv.get('k'.repeat(2049)), 'RangeError');
    throws(() => kv.list({ limit: 0 }), 'TypeError');
    const it = kv.list();
    same(it.next(), { done: false, value: ['a', { x: 1 }] });
    kv.put('ab', 'new'); // Seen: it lies before the iterator.
    kv.delete('b');
    same([...it], [['ab', 'new']]);
    same(it.next(), { done: true });
    const first = kv.list();
    const second = kv.list({ reverse: true, limit: 1 });
    throws(() => first.next(), 'Error', /only one such iterator can exist/);
    same([...second], [['ab', 'new']]);
    same([...kv.list({ prefix: 'ab' })], [['ab', 'new']]);
    for (const pair of kv.list()) {
        equal(pair[0], 'a');
        break;
    }
    equal(host.turn(), undefined);
});

test('deleteAll', async () => {
    const { storage, host, reopen } = open();
    await storage.put('a', 1);
    storage.sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES(1)');
    await storage.setAlarm(Date.now() + 1e6);
    equal(host.turn(), undefined);
    await storage.deleteAll();
    await storage.put('b', 2); // With it or not at all.
    equal((await reopen().get('a')), 1);
    const again = host.reopen(open().cell);
    await again.deleteAll();
    equal(host.turn(), undefined);
    equal((await again.list()).size, 0);
    throws(() => again.sql.exec('SELECT * FROM t'), 'Error', 'no such table: t: SQLITE_ERROR');
    ok((await again.getAlarm()) > 0);
    await rejects(again.transaction(() => again.deleteAll()), 'Error', 'Cannot call deleteAll() within a transaction');
    await rejects(again.transaction((txn) => txn.deleteAll()), 'Error', 'Cannot call deleteAll() within a transaction');
});

test('transactions', async () => {
    const { storage, host, reopen } = open();
    storage.put('before', 1);
    const result = await storage.transaction(async (txn) => {
        equal(host.commits(), 1); // What was before is not part of it.
        equal(await txn.get('before'), 1);
        await txn.put('a', 1);
        await txn.put({ b: 2, c: 3 });
        equal(await txn.delete('c'), true);
        same([...(await txn.list({ prefix: 'b' }))], [['b', 2], ['before', 1]]);
        equal(host.turn(), undefined); // Its turns commit nothing.
        equal(host.commits(), 1);
        equal(await storage.get('a'), 1);
        return 'done';
    });
    equal(result, 'done');
    equal(host.commits(), 2);
    await rejects(storage.transaction(async (txn) => {
        await txn.put('a', 2);
        await storage.put('x', 1);
        throw new RangeError('mine');
    }), 'RangeError', 'mine');
    equal(await storage.get('a'), 1);
    equal(await storage.get('x'), undefined);
    await rejects(storage.transaction(() => { throw undefined; }).catch((e) => { throw new Error(`${e}`); }), 'Error', 'undefined');
    await rejects(storage.transaction(1), 'TypeError');
    equal(await reopen().get('a'), 1);
});

test('a transaction that a reset cuts off', async () => {
    const { storage, reopen } = open();
    let inside;
    storage.transaction((txn) => {
        txn.put('a', 1);
        inside();
        return new Promise(() => {});
    });
    await new Promise((resolve) => (inside = resolve));
    const next = reopen();
    equal(await next.get('a'), undefined);
    await rejects(storage.get('a'), 'Error', 'This storage is closed.');
    await next.put('a', 2);
    equal(await next.get('a'), 2);
});

test('rollback', async () => {
    const { storage } = open();
    let kept;
    equal(await storage.transaction(async (txn) => {
        kept = txn;
        await txn.put('a', 1);
        equal(txn.rollback(), undefined);
        txn.rollback();
        await rejects(txn.get('a'), 'Error', 'Cannot get() on rolled back transaction');
        await rejects(txn.setAlarm(5), 'Error', 'Cannot setAlarm() on rolled back transaction');
        return 5;
    }), 5);
    equal(await storage.get('a'), undefined);
    await storage.transaction(async (txn) => (kept = txn));
    await rejects(kept.put('a', 1), 'Error', 'Cannot call put() on transaction that has already committed: did you move `txn` outside of the closure?');
    throws(() => kept.rollback(), 'Error', /^Cannot call rollback\(\) on transaction/);
});

test('transactions inside transactions', async () => {
    const { storage, host } = open();
    await storage.transaction(async (outer) => {
        await outer.put('a', 1);
        await rejects(storage.transaction(async (inner) => {
            await inner.put('a', 2);
            await storage.transaction((third) => third.put('b', 3));
            throw new Error('inner');
        }), 'Error', 'inner');
        equal(await outer.get('a'), 1);
        equal(await outer.get('b'), undefined);
        // Side by side they take turns; one that nobody waits for is waited for.
        const order = [];
        storage.transaction(async (txn) => {
            order.push('first');
            await null;
            await txn.put('c', 1);
            throws(() => outer.rollback(), 'Error', /inside this one/);
            order.push('first ends');
        });
        await storage.transaction(async (txn) => {
            same(order, ['first', 'first ends']);
            await txn.put('d', 1);
            txn.rollback();
        });
        storage.transaction((txn) => txn.put('e', 1));
    });
    equal(await storage.get('a'), 1);
    equal(await storage.get('c'), 1);
    equal(await storage.get('d'), undefined);
    equal(await storage.get('e'), 1);
    equal(host.commits(), 1);
});

test('transactions of several events come one after the other', async () => {
    const { storage } = open();
    const order = [];
    await Promise.all([1, 2, 3].map((n) => storage.transaction(async (txn) => {
        order.push(`${n} starts`);
        const was = (await txn.get('n')) ?? 0;
        await new Promise((resolve) => setTimeout(resolve, 1));
        await txn.put('n', was + n);
        order.push(`${n} ends`);
    })));
    equal(await storage.get('n'), 6);
    same(order, ['1 starts', '1 ends', '2 starts', '2 ends', '3 starts', '3 ends']);
});

test('transactionSync', async () => {
    const { storage, host } = open();
    equal(storage.transactionSync((...args) => {
        equal(args.length, 0);
        storage.kv.put('a', 1);
        throws(() => storage.transactionSync(() => {
            storage.kv.put('a', 2);
            throw new RangeError('mine');
        }), 'RangeError', 'mine');
        equal(storage.kv.get('a'), 1);
        storage.transactionSync(() => storage.kv.put('b', 1));
        return 'done';
    }), 'done');
    throws(() => storage.transactionSync(async () => storage.kv.put('a', 3)), 'TypeError', /must not return a promise/);
    throws(() => storage.transactionSync(), 'TypeError');
    equal(storage.kv.get('a'), 1);
    equal(storage.kv.get('b'), 1);
    equal(host.commits(), 0); // It is part of the turn.
    await storage.transaction(async (txn) => {
        throws(() => storage.transactionSync(() => {
            storage.kv.put('a', 5);
            throw new Error('x');
        }));
        equal(await txn.get('a'), 1);
    });
});

test('sync', async () => {
    const { storage, cell, host } = open();
    storage.put('a', 1);
    await storage.sync();
    equal(cell.syncs, 1);
    equal(host.commits(), 1);
    await storage.transaction(() => rejects(storage.sync(), 'Error', /while a transaction is open/));
});

test('alarms', async () => {
    const { storage, host, reopen } = open();
    equal(await storage.getAlarm(), null);
    const at = Date.now() + 60000;
    await storage.setAlarm(at, { allowConcurrency: true });
    equal(await storage.getAlarm(), at);
    await storage.setAlarm(new Date(at + 5));
    equal(await storage.getAlarm(), at + 5);
    equal(host.turn(), undefined);
    equal(await reopen().getAlarm(), at + 5);
    const next = host.reopen(open().cell);
    await next.setAlarm(1.5);
    ok(Math.abs((await next.getAlarm()) - Date.now()) < 1000); // The past is now.
    for (const bad of [0, -1, new Date(0)]) await rejects(next.setAlarm(bad), 'TypeError', 'setAlarm() cannot be called with an alarm time <= 0');
    await rejects(next.setAlarm(NaN), 'TypeError');
    await rejects(next.setAlarm(), 'TypeError');
    await rejects(next.transaction(async (txn) => {
        await txn.setAlarm(at);
        equal(await txn.getAlarm(), at);
        await txn.deleteAlarm();
        equal(await txn.getAlarm(), null);
        throw new Error('undone');
    }), 'Error', 'undone');
    ok((await next.getAlarm()) < at);
    await next.deleteAlarm();
    equal(await next.getAlarm(), null);
    await rejects(open({ alarm: false }).storage.setAlarm(at), 'TypeError', 'Your Durable Object class must have an alarm() handler in order to call setAlarm()');
});

test('an alarm that runs', async () => {
    const { storage, host } = open();
    const at = Date.now() + 60000;
    await storage.setAlarm(at);
    host.alarmBegin();
    equal(await storage.getAlarm(), null);
    await storage.deleteAlarm();
    host.alarmEnd(false);
    equal(await storage.getAlarm(), 3000); // A retry, after two seconds of the host's time.
    host.alarmBegin();
    await storage.setAlarm(at);
    equal(await storage.getAlarm(), at);
    host.alarmEnd(true);
    equal(await storage.getAlarm(), at);
    host.alarmBegin();
    host.alarmEnd(true);
    equal(await storage.getAlarm(), null);
});

test('a storage of another cell', async () => {
    const { storage, host } = open();
    host.refuse(true);
    await rejects(storage.get('a'), 'Error', 'Cannot perform I/O on behalf of a different Durable Object.');
    throws(() => storage.sql.exec('SELECT 1'), 'Error', /different Durable Object/);
    throws(() => storage.transactionSync(() => {}), 'Error', /different Durable Object/);
    host.refuse(false);
    equal(await storage.get('a'), undefined);
});

test('what is not there', async () => {
    const { storage } = open({ sql: false });
    throws(() => storage.sql.exec('SELECT 1'), 'Error', /new_sqlite_classes/);
    throws(() => storage.sql.databaseSize, 'Error', /new_sqlite_classes/);
    for (const name of ['getCurrentBookmark', 'getBookmarkForTime', 'onNextSessionRestoreBookmark']) {
        await rejects(storage[name](), 'Error', 'Point-in-time recovery is not implemented in celld');
    }
    equal(storage.primary, undefined);
    throws(() => new storage.constructor(), 'TypeError', 'Illegal constructor');
    throws(() => new storage.kv.constructor(), 'TypeError', 'Illegal constructor');
    throws(() => structuredClone(storage), 'DataCloneError');
    equal(Object.prototype.toString.call(storage), '[object DurableObjectStorage]');
});

test('programs may put wrappers in its place', async () => {
    const { storage } = open();
    const cursor = storage.sql.exec('SELECT 1 AS n');
    for (const name of ['sql', 'kv']) {
        const wrapper = { of: storage[name] };
        storage[name] = wrapper;
        equal(storage[name], wrapper);
        ok(Object.keys(storage).includes(name));
    }
    same(cursor.toArray(), [{ n: 1 }]); // It needs nothing of what made it.
    ok(open().storage.sql.exec !== undefined, 'of this storage alone');
});

test('code that changed the world does not change the storage', async () => {
    const { storage } = open();
    const saved = { then: Promise.prototype.then, iterator: Array.prototype[Symbol.iterator], set: Map.prototype.set };
    Promise.prototype.then = () => { throw new Error('then'); };
    let got;
    try {
        storage.put({ a: 1, b: 2 });
        got = storage.kv.get('a');
    } finally {
        Promise.prototype.then = saved.then;
    }
    equal(got, 1);
});

export default run;
