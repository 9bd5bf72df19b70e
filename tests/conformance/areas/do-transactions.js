import { Cell as Base, caught, check, inside, message, objectOf, sleep } from '../case.js';

export class Cell extends Base {
    put(key, value) { return this.ctx.storage.put(key, value); }
    get(key) { return this.ctx.storage.get(key); }
    slowly(key, value, ms) {
        return this.ctx.storage.transaction(async (txn) => {
            await sleep(ms);
            await txn.put(key, value);
        });
    }
}

const stop = (text = 'stop') => { throw new Error(text); };
const keysOf = async (list) => [...(await list).keys()];

inside('a transaction that ends well', async ({ storage }) => [await storage.transaction(async (txn) => {
    await txn.put('a', 1);
    return [await txn.get('a'), await storage.get('a')];
}), await storage.get('a')], [[1, 1], 1]);
inside('a transaction that throws', async ({ storage }) => {
    await storage.put('a', 0);
    return [await message(storage.transaction(async (txn) => {
        await txn.put('a', 1);
        await txn.put('b', 1);
        stop();
    })), await storage.list()];
}, ['Error: stop', new Map([['a', 0]])]);
inside('a transaction that throws leaves nothing for the next event', [
    ({ storage }) => message(storage.transaction(async (txn) => {
        await txn.put('a', 1);
        stop();
    })),
    ({ storage }) => storage.get('a'),
], ['Error: stop', undefined]);
inside('a closure without async', async ({ storage }) => [await storage.transaction((txn) => (txn.put('a', 1), 'value')), await message(storage.transaction(() => stop())), await storage.get('a')], ['value', 'Error: stop', 1]);
inside('what a transaction throws is thrown', async ({ storage }) => {
    const error = new RangeError('mine');
    try {
        await storage.transaction(async () => { throw error; });
    } catch (e) {
        return e === error;
    }
}, true);
inside('all operations of txn', async ({ storage }) => storage.transaction(async (txn) => [
    await txn.put('a', 1), await txn.put({ b: 2, c: 3 }), await txn.get('a'), await txn.get(['b', 'c']), await txn.delete('a'), await txn.delete(['b', 'x']), await txn.list(), await txn.list({ prefix: 'x' }),
]), [undefined, undefined, 1, new Map([['b', 2], ['c', 3]]), true, 1, new Map([['c', 3]]), new Map()]);
inside('errors of txn', async ({ storage }) => storage.transaction(async (txn) => [
    await message(txn.put('a', undefined)), await caught(txn.put('a', () => 1)), await message(txn.list({ limit: 0 })), await txn.list(),
]), ['TypeError: put() called with undefined value.', 'DataCloneError', 'TypeError: List limit must be positive.', new Map()]);
inside('what txn is', async ({ storage }) => storage.transaction(async (txn) => [
    String(txn), ['get', 'put', 'delete', 'list', 'getAlarm', 'setAlarm', 'deleteAlarm', 'rollback', 'deleteAll', 'transaction', 'sync', 'sql', 'kv'].map((name) => typeof txn[name]).join(' '),
]), ['[object DurableObjectTransaction]', 'function function function function function function function function function undefined undefined undefined undefined']);
inside('rollback', async ({ storage }) => {
    await storage.put('a', 0);
    const value = await storage.transaction(async (txn) => {
        await txn.put('a', 1);
        txn.rollback();
        return 'no error';
    });
    return [value, await storage.get('a')];
}, ['no error', 0]);
inside('a transaction after its rollback', async ({ storage }) => storage.transaction(async (txn) => {
    txn.rollback();
    const second = message(() => txn.rollback());
    return [second, await message(async () => txn.get('a')), await message(async () => txn.put('a', 1)), await message(async () => txn.delete('a')), await message(async () => txn.list())];
}), ['nothing was thrown', ...['get', 'put', 'delete', 'list'].map((what) => `Error: Cannot ${what}() on rolled back transaction`)]);
inside('a transaction after its end', async ({ storage }) => {
    let outside;
    await storage.transaction(async (txn) => { outside = txn; });
    return [await message(async () => outside.get('a')), await message(async () => outside.put('a', 1)), await message(async () => outside.rollback())];
}, ['get', 'put', 'rollback'].map((what) => `Error: Cannot call ${what}() on transaction that has already committed: did you move \`txn\` outside of the closure?`));
inside('a transaction after it failed', async ({ storage }) => {
    let outside;
    await message(storage.transaction(async (txn) => { outside = txn; stop(); }));
    return message(async () => outside.get('a'));
}, 'Error: Cannot get() on rolled back transaction');
inside('deleteAll in a transaction', async ({ storage }) => {
    await storage.put('a', 1);
    return [await storage.transaction((txn) => message(async () => txn.deleteAll())), await storage.get('a')];
}, ['Error: Cannot call deleteAll() within a transaction', 1]);
inside('storage.deleteAll in a transaction', async ({ storage }) => {
    await storage.put('a', 1);
    return [await storage.transaction(() => message(storage.deleteAll())), await storage.get('a')];
}, ['Error: Cannot call deleteAll() within a transaction', 1]);
inside('transactions one after the other', async ({ storage }) => {
    await storage.put('n', 0);
    const add = () => storage.transaction(async (txn) => {
        const n = await txn.get('n');
        await sleep(2);
        await txn.put('n', n + 1);
    });
    await Promise.all([add(), add(), add()]);
    return storage.get('n');
}, 3);
inside('the order of transactions', async ({ storage }) => {
    const seen = [];
    await Promise.all([1, 2, 3].map((i) => storage.transaction(async () => {
        seen.push(`in ${i}`);
        await sleep(i === 1 ? 5 : 1);
        seen.push(`out ${i}`);
    })));
    return seen;
}, ['in 1', 'out 1', 'in 2', 'out 2', 'in 3', 'out 3']);
inside('a transaction inside a transaction', async ({ storage }) => {
    await storage.transaction(async (txn) => {
        await txn.put('a', 1);
        await storage.transaction(async (inner) => {
            await inner.put('b', 2);
        });
    });
    return storage.list();
}, new Map([['a', 1], ['b', 2]]));
inside('an inner transaction that fails', async ({ storage }) => {
    await storage.transaction(async (txn) => {
        await txn.put('a', 1);
        await message(storage.transaction(async (inner) => {
            await inner.put('a', 2);
            stop();
        }));
        await txn.put('c', await txn.get('a'));
    });
    return storage.list();
}, new Map([['a', 1], ['c', 1]]));
inside('an outer transaction that fails takes the inner one along', async ({ storage }) => {
    await message(storage.transaction(async () => {
        await storage.transaction((inner) => inner.put('b', 2));
        stop();
    }));
    return storage.list();
}, new Map());
inside('SQL in a transaction', async ({ storage, sql }) => {
    sql.exec('CREATE TABLE t (x)');
    await storage.transaction(async () => { sql.exec('INSERT INTO t VALUES (1)'); });
    await message(storage.transaction(async (txn) => {
        sql.exec('INSERT INTO t VALUES (2)');
        await txn.put('a', 1);
        await sleep(1);
        stop();
    }));
    return [sql.exec('SELECT x FROM t').toArray(), await storage.get('a')];
}, [[{ x: 1 }], undefined]);
inside('a table made in a transaction that fails', async ({ storage, sql }) => {
    await message(storage.transaction(async () => {
        sql.exec('CREATE TABLE t (x)');
        stop();
    }));
    return message(() => sql.exec('SELECT * FROM t'));
}, 'Error: no such table: t: SQLITE_ERROR');
inside('an SQL error does not end the transaction', async ({ storage, sql }) => {
    await storage.transaction(async (txn) => {
        await txn.put('a', 1);
        message(() => sql.exec('SELECT * FROM nowhere'));
        await txn.put('b', 1);
    });
    return keysOf(storage.list());
}, ['a', 'b']);
inside('the arguments of transaction', async ({ storage }) => [await caught(() => storage.transaction()), await caught(() => storage.transaction('x')), await caught(() => storage.transactionSync()), await storage.transaction(async (...args) => args.length)], ['TypeError', 'TypeError', 'TypeError', 1]);
inside('sync in a transaction', async ({ storage }) => storage.transaction(async (txn) => {
    await txn.put('a', 1);
    return caught(storage.sync());
}), 'nothing was thrown', { celld: 'Error', why: 'services.md 1.4: nothing of a transaction is durable before it ends; workerd does not wait for it' });
inside('sync', async ({ storage }) => {
    storage.put('a', 1);
    return [await storage.sync(), await storage.get('a')];
}, [undefined, 1]);

// ---- transactionSync

inside('transactionSync', ({ storage, sql }) => {
    sql.exec('CREATE TABLE t (x)');
    const value = storage.transactionSync((...args) => {
        sql.exec('INSERT INTO t VALUES (1)');
        return args.length;
    });
    const failed = message(() => storage.transactionSync(() => {
        sql.exec('INSERT INTO t VALUES (2)');
        storage.kv.put('a', 1);
        stop();
    }));
    return [value, failed, sql.exec('SELECT x FROM t').toArray(), storage.kv.get('a')];
}, [0, 'Error: stop', [{ x: 1 }], undefined]);
inside('transactionSync inside transactionSync', ({ storage }) => {
    storage.transactionSync(() => {
        storage.kv.put('a', 1);
        message(() => storage.transactionSync(() => {
            storage.kv.put('a', 2);
            storage.kv.put('b', 2);
            stop();
        }));
        storage.transactionSync(() => storage.kv.put('c', 3));
    });
    return [...storage.kv.list()];
}, [['a', 1], ['c', 3]]);
inside('transactionSync inside transaction', async ({ storage }) => {
    await storage.transaction(async (txn) => {
        await txn.put('a', 1);
        message(() => storage.transactionSync(() => {
            storage.kv.put('a', 2);
            stop();
        }));
        storage.transactionSync(() => storage.kv.put('b', 2));
    });
    return storage.list();
}, new Map([['a', 1], ['b', 2]]));
inside('transactionSync undoes what was put without await before in it alone', async ({ storage }) => {
    storage.put('a', 1);
    message(() => storage.transactionSync(() => {
        storage.put('a', 2);
        stop();
    }));
    return storage.get('a');
}, 1);
inside('a closure of transactionSync with a promise', ({ storage }) => {
    let seen = 'a promise';
    try {
        storage.transactionSync(async () => { storage.kv.put('a', 1); });
    } catch (e) {
        seen = e.name;
    }
    return [seen, storage.kv.get('a')];
}, ['a promise', 1], { celld: ['TypeError', undefined], why: 'services.md 1.4: an asynchronous closure is a mistake, and says so' });
inside('a cursor over the end of transactionSync', ({ storage, sql }) => {
    sql.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)');
    const cursor = storage.transactionSync(() => {
        const c = sql.exec('SELECT x FROM t');
        c.next();
        return c;
    });
    return cursor.toArray();
}, [{ x: 2 }, { x: 3 }]);

// ---- Writes of one turn

inside('writes before an error of the handler stay', [
    async ({ storage }) => {
        await storage.put('a', 1);
        stop();
    },
    ({ storage }) => storage.get('a'),
], [{ threw: 'Error: stop' }, 1]);
inside('writes of a turn that throws at once stay', [
    ({ storage, sql }) => {
        sql.exec('CREATE TABLE t (x)');
        storage.put('a', 1);
        stop();
    },
    async ({ storage, sql }) => [await storage.get('a'), sql.exec('SELECT count(*) AS n FROM t').one().n],
], [{ threw: 'Error: stop' }, [1, 0]]);
check('other events wait for a transaction', async (t) => {
    const stub = objectOf(t, 'others wait');
    await stub.put('a', 0);
    const seen = [];
    await Promise.all([stub.slowly('a', 1, 40).then(() => seen.push('transaction')), stub.get('a').then((value) => seen.push(value))]);
    return seen;
}, ['transaction', 1]);
inside('what is put behind the call of transaction() is not part of it', async ({ storage }) => {
    const txn = storage.transaction(async (t) => {
        await t.put('a', 1);
        stop();
    });
    storage.put('b', 1);
    await message(txn);
    return storage.list();
}, new Map([['b', 1]]));
inside('a transaction does not start before the code that asks for it lets go', async ({ storage }) => {
    const seen = [];
    const txn = storage.transaction(async () => { seen.push('in'); });
    seen.push('out');
    await txn;
    return seen;
}, ['out', 'in']);
inside('writes of the same event while a transaction is open', async ({ storage }) => {
    let go, started;
    const waits = new Promise((resolve) => { go = resolve; });
    const begun = new Promise((resolve) => { started = resolve; });
    const txn = storage.transaction(async (t) => {
        started();
        await t.put('a', 1);
        await waits;
        stop();
    });
    await begun;
    storage.put('b', 1);
    go();
    await message(txn);
    return storage.list();
}, new Map());
