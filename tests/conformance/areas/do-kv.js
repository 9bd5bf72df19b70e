import { RpcTarget } from 'cloudflare:workers';
import { Cell, caught, inside, message } from '../case.js';

export { Cell };
export class Plain extends Cell {}

// Each of the keys, with its own name as the value.
const fill = (storage, ...keys) => storage.put(Object.fromEntries(keys.map((key) => [key, key])));
const tooLong = (size) => `RangeError: Keys cannot be larger than 2048 bytes. A key of size ${size} was provided.`;
const limited = 'services.md 1.4: the limits of keys and values hold; workerd by itself has none';
const keysOf = async (list) => [...(await list).keys()];

inside('put and get', async ({ storage }) => {
    await storage.put('a', 1);
    return [await storage.get('a'), await storage.get('b')];
}, [1, undefined]);
inside('a value outlives its event', [
    ({ storage }) => storage.put('a', { n: 1 }),
    ({ storage }) => storage.get('a'),
    20,
    ({ storage }) => storage.delete('a'),
    ({ storage }) => storage.get('a'),
], [undefined, { n: 1 }, true, undefined]);
inside('objects do not share their storage', async ({ storage }) => (await storage.list()).size, 0);
inside('what the methods give', async ({ storage }) => [await storage.put('a', 1), await storage.put({ b: 1 }), await storage.delete('a'), await storage.delete('a'), await storage.deleteAll()],
    [undefined, undefined, true, false, undefined]);
inside('get of several keys', async ({ storage }) => {
    await fill(storage, 'a', 'b', 'c');
    return [await storage.get(['c', 'x', 'a']), await storage.get(['a', 'a']), await storage.get([])];
}, [new Map([['a', 'a'], ['c', 'c']]), new Map([['a', 'a']]), new Map()]);
inside('get of more than 128 keys', async ({ storage }) => {
    await storage.put('7', 1);
    return (await storage.get(Array.from({ length: 129 }, (_, i) => `${i}`))).size;
}, 1);
inside('delete of several keys', async ({ storage }) => {
    await fill(storage, 'a', 'b', 'c', 'd');
    return [await storage.delete(['a', 'x']), await storage.delete(['b', 'c', 'c']), await storage.delete([]), await keysOf(storage.list())];
}, [1, 2, 0, ['d']]);
inside('put of undefined', async ({ storage }) => [await message(storage.put('a', undefined)), await message(storage.put('a'))],
    ['TypeError: put() called with undefined value.', 'TypeError: put() called with undefined value.']);
inside('an undefined property of put() is left out', async ({ storage }) => {
    await storage.put({ a: 1, b: undefined });
    return storage.list();
}, new Map([['a', 1]]));
inside('put of a Map', async ({ storage }) => {
    await storage.put(new Map([['a', 1]]));
    return storage.list();
}, new Map(), { celld: new Map([['a', 1]]), why: 'services.md 1.4: a Map is taken too; workerd stores nothing of it' });
inside('what cannot be cloned', async ({ storage }) => {
    const seen = [];
    for (const value of [() => 1, Symbol('s'), new WeakMap(), Promise.resolve()]) seen.push(await caught(storage.put('a', value)));
    return [seen, await storage.get('a')];
}, [['DataCloneError', 'DataCloneError', 'DataCloneError', 'DataCloneError'], undefined]);
inside('one that cannot be cloned stops all of a put()', async ({ storage }) => [await caught(storage.put({ a: 1, b() {}, c: 3 })), await storage.list()],
    ['DataCloneError', new Map()]);
inside('objects of the platform cannot be stored', async ({ storage }) => {
    const seen = [];
    for (const value of [new Response('x'), new ReadableStream(), new RpcTarget(), new AbortController().signal]) seen.push(await caught(storage.put('a', value)));
    return seen;
}, ['DataCloneError', 'DataCloneError', 'DataCloneError', 'DataCloneError']);
inside('Headers cannot be stored', ({ storage }) => caught(storage.put('a', new Headers())), 'nothing was thrown',
    { celld: 'DataCloneError', why: 'services.md 1.4: stored is what structuredClone takes; workerd stores Headers too' });
inside('values are structured clones', async ({ storage }) => {
    const value = {
        date: new Date(5), regexp: /a+/gi, map: new Map([[{ k: 1 }, new Set([1])]]), big: 2n ** 70n, bytes: new Uint8Array([1, 2]), floats: new Float32Array([0.5]),
        buffer: new Uint8Array([7]).buffer, nan: NaN, zero: -0, nothing: undefined, none: null, text: 'ä\0\ud800', array: [1, , 3].length,
    };
    await storage.put('a', value);
    return storage.get('a');
}, {
    date: new Date(5), regexp: /a+/gi, map: new Map([[{ k: 1 }, new Set([1])]]), big: 2n ** 70n, bytes: new Uint8Array([1, 2]), floats: new Float32Array([0.5]),
    buffer: new Uint8Array([7]).buffer, nan: NaN, zero: -0, nothing: undefined, none: null, text: 'ä\0\ud800', array: 3,
});
inside('cycles, shared objects and holes are kept', async ({ storage }) => {
    const shared = { n: 1 };
    const value = { a: shared, b: shared, holes: [1, , 3] };
    value.self = value;
    await storage.put('a', value);
    const seen = await storage.get('a');
    return [seen.self === seen, seen.a === seen.b, 1 in seen.holes, seen.holes.length];
}, [true, true, false, 3]);
inside('errors are kept', async ({ storage }) => {
    await storage.put('a', new RangeError('r', { cause: 1 }));
    const seen = await storage.get('a');
    return [seen instanceof RangeError, seen.message, seen.cause];
}, [true, 'r', 1]);
inside('an instance of a class is an object', async ({ storage }) => {
    await storage.put('a', new (class Point { x = 1; get y() { return 2; } })());
    const seen = await storage.get('a');
    return [seen, Object.getPrototypeOf(seen) === Object.prototype];
}, [{ x: 1 }, true]);
inside('a view is stored with its buffer', async ({ storage }) => {
    await storage.put('a', new Uint8Array(1000).subarray(10, 12));
    const seen = await storage.get('a');
    return [seen.length, seen.byteOffset];
}, [2, 10]);
inside('put takes the value as it is then', async ({ storage }) => {
    const value = { n: 1 };
    const done = storage.put('a', value);
    value.n = 2;
    await done;
    const [one, two] = [await storage.get('a'), await storage.get('a')];
    return [one.n, one === two];
}, [1, false]);
inside('a getter that throws', async ({ storage }) => [await message(storage.put('a', { get x() { throw new RangeError('mine'); } })), await storage.get('a')],
    ['RangeError: mine', undefined]);
inside('what nobody waits for is there for the next get', async ({ storage }) => {
    storage.put('a', 1);
    storage.put('a', 2);
    storage.delete('b');
    return storage.get('a');
}, 2);
inside('errors come as rejections', ({ storage }) => {
    const result = storage.put('a', () => 1);
    result.catch(() => {});
    return result instanceof Promise;
}, true);

inside('keys become texts', async ({ storage }) => {
    await storage.put(1, 'one');
    await storage.put(true, 'yes');
    await storage.put(undefined, 'none');
    return [await storage.get('1'), await storage.get(1), await storage.get([true]), await keysOf(storage.list())];
}, ['one', 'one', new Map([['true', 'yes']]), ['1', 'true', 'undefined']]);
inside('odd keys', async ({ storage }) => {
    await fill(storage, '', 'a\0b', 'ä', '__proto__', '\u{1F600}');
    return [await keysOf(storage.list()), await storage.get(''), await storage.get('a\0b')];
}, [['', '__proto__', 'a\0b', 'ä', '\u{1F600}'], '', 'a\0b']);
inside('a lone surrogate in a key', async ({ storage }) => {
    await storage.put('\ud800', 1);
    return keysOf(storage.list());
}, ['\ufffd\ufffd\ufffd'], { celld: ['\ufffd'], why: 'Encoding standard: a lone surrogate becomes one U+FFFD; workerd stores bytes that are no UTF-8' });
inside('the longest key', async ({ storage }) => {
    await storage.put('k'.repeat(2048), 1);
    return storage.get('k'.repeat(2048));
}, 1);
inside('keys that are too long', async ({ storage }) => {
    const long = 'k'.repeat(2049);
    return [await message(storage.put(long, 1)), await message(storage.get(long)), await message(storage.delete(long)), await message(storage.put('ä'.repeat(1025), 1))];
}, Array(4).fill('nothing was thrown'), { celld: [...Array(3).fill(tooLong(2049)), tooLong(2050)], why: limited });
inside('a key that is too long among several', async ({ storage }) => [await caught(storage.put({ a: 1, ['k'.repeat(2049)]: 2 })), (await storage.list()).size],
    ['nothing was thrown', 2], { celld: ['RangeError', 0], why: limited });
inside('a value of two million bytes', async ({ storage }) => {
    await storage.put('a', 'x'.repeat(2000000));
    return (await storage.get('a')).length;
}, 2000000);
inside('a value that is too big', async ({ storage }) => [await message(storage.put('a', 'x'.repeat(2300000))), (await storage.get('a'))?.length],
    ['nothing was thrown', 2300000], { celld: ['Error: string or blob too big: SQLITE_TOOBIG', undefined], why: limited });

inside('list gives a Map in the order of keys', async ({ storage }) => {
    await fill(storage, 'b', 'a', 'B', '10', '9');
    return storage.list();
}, new Map(['10', '9', 'B', 'a', 'b'].map((key) => [key, key])));
inside('the order is that of UTF-8', async ({ storage }) => {
    await fill(storage, '\u{10000}', '\uffff', 'z', 'ä');
    return [await keysOf(storage.list()), await keysOf(storage.get(['\u{10000}', '\uffff']))];
}, [['z', 'ä', '\uffff', '\u{10000}'], ['\uffff', '\u{10000}']]);
inside('start, startAfter and end', async ({ storage }) => {
    await fill(storage, 'a', 'b', 'c', 'd');
    const seen = [];
    for (const o of [{ start: 'b' }, { startAfter: 'b' }, { end: 'c' }, { start: 'b', end: 'd' }, { startAfter: 'a', end: 'c' }, { start: 'bb' }, { start: 'c', end: 'b' }, { end: '' }, { start: '' }]) {
        seen.push((await keysOf(storage.list(o))).join(''));
    }
    return seen;
}, ['bcd', 'cd', 'ab', 'bc', 'b', 'cd', '', '', 'abcd']);
inside('prefix', async ({ storage }) => {
    await fill(storage, 'a', 'a:', 'a:1', 'a:2', 'a;', 'b');
    const seen = [];
    for (const o of [{ prefix: 'a:' }, { prefix: '' }, { prefix: 'x' }, { prefix: 'a:', start: 'a:2' }, { prefix: 'a:', end: 'a:2' }, { prefix: 'a:', start: 'b' }, { prefix: 'a:', start: '0', end: 'z' }, { prefix: 'a:', startAfter: 'a:1' }]) {
        seen.push((await keysOf(storage.list(o))).join(' '));
    }
    return seen;
}, ['a: a:1 a:2', 'a a: a:1 a:2 a; b', '', 'a:2', 'a: a:1', '', 'a: a:1 a:2', 'a:2']);
inside('a prefix at the end of all keys', async ({ storage }) => {
    await fill(storage, '\u{10ffff}', '\u{10ffff}a', 'z');
    return (await keysOf(storage.list({ prefix: '\u{10ffff}' }))).length;
}, 2);
inside('reverse and limit', async ({ storage }) => {
    await fill(storage, 'a', 'b', 'c', 'd');
    const seen = [];
    for (const o of [{ reverse: true }, { limit: 2 }, { reverse: true, limit: 2 }, { reverse: true, start: 'b', end: 'd' }, { reverse: true, startAfter: 'b' }, { limit: 99 }, { reverse: false, limit: 1 }]) {
        seen.push((await keysOf(storage.list(o))).join(''));
    }
    return seen;
}, ['dcba', 'ab', 'dc', 'cb', 'dc', 'abcd', 'a']);
inside('options of list that are wrong', async ({ storage }) => [
    await message(storage.list({ start: 'a', startAfter: 'b' })), await message(storage.list({ limit: 0 })), await message(storage.list({ limit: -1 })),
], ['TypeError: list() cannot be called with both start and startAfter values.', 'TypeError: List limit must be positive.', 'TypeError: List limit must be positive.']);
inside('options of list that are converted', async ({ storage }) => {
    await fill(storage, '1', '2', '3');
    const seen = [];
    for (const o of [{ limit: '2' }, { limit: 1.9 }, { start: 2 }, { reverse: 1 }, { limit: undefined, start: undefined }, undefined, {}]) seen.push((await keysOf(storage.list(o))).join(''));
    return seen;
}, ['12', '1', '23', '321', '123', '123', '123']);
inside('list options that are no object', async ({ storage }) => [await caught(storage.list(1)), await caught(storage.list('a'))], ['TypeError', 'TypeError']);
inside('options without effect', async ({ storage }) => {
    const o = { allowConcurrency: true, noCache: true, allowUnconfirmed: true };
    await storage.put('a', 1, o);
    await storage.put({ b: 2 }, o);
    return [await storage.get('a', o), await storage.get(['b'], o), await storage.list(o), await storage.delete('a', o), await storage.delete(['b'], o)];
}, [1, new Map([['b', 2]]), new Map([['a', 1], ['b', 2]]), true, 1]);
inside('deleteAll', [
    async ({ storage }) => {
        await fill(storage, 'a', 'b');
        await storage.deleteAll();
        await storage.put('c', 1);
        return storage.list();
    },
    ({ storage }) => storage.list(),
    ({ storage }) => storage.deleteAll(),
    ({ storage }) => storage.list(),
], [new Map([['c', 1]]), new Map([['c', 1]]), undefined, new Map()]);
inside('deleteAll of nothing', ({ storage }) => storage.deleteAll(), undefined);
inside('arguments that are missing', async ({ storage }) => [await caught(() => storage.get()), await caught(() => storage.put()), await caught(() => storage.delete()), await caught(() => storage.kv.get()), await caught(() => storage.kv.put('a'))],
    ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError']);
inside('what storage is', ({ storage }) => [String(storage), storage.constructor.name, typeof storage.get, storage.sql === storage.sql, storage.kv === storage.kv],
    ['[object DurableObjectStorage]', 'DurableObjectStorage', 'function', true, true]);
inside('methods need their storage', ({ storage }) => {
    const { get } = storage;
    return caught(() => get('a'));
}, 'TypeError');

// ---- kv

inside('kv: get, put and delete', ({ storage: { kv } }) => [kv.put('a', { n: 1 }), kv.get('a'), kv.get('b'), kv.delete('a'), kv.delete('a'), kv.get('a')], [undefined, { n: 1 }, undefined, true, false, undefined]);
inside('kv and the methods with promises see the same', async ({ storage }) => {
    storage.kv.put('a', 1);
    await storage.put('b', 2);
    return [await storage.get('a'), storage.kv.get('b')];
}, [1, 2]);
inside('kv: list', ({ storage: { kv } }) => {
    for (const key of ['b', 'a', 'c']) kv.put(key, key);
    const list = kv.list();
    return [[...list], [...kv.list({ reverse: true, limit: 2 })], [...kv.list({ prefix: 'b' })], [...kv.list({ startAfter: 'a', end: 'c' })], list instanceof Map];
}, [[['a', 'a'], ['b', 'b'], ['c', 'c']], [['c', 'c'], ['b', 'b']], [['b', 'b']], [['b', 'b']], false]);
inside('kv: what list() gives', ({ storage: { kv } }) => {
    kv.put('a', 1);
    const list = kv.list();
    return [typeof list.next, typeof list[Symbol.iterator], list[Symbol.iterator]() === list, list.next(), list.next(), list.next()];
}, ['function', 'function', true, { done: false, value: ['a', 1] }, { done: true, value: undefined }, { done: true, value: undefined }]);
inside('kv: a list that was left', ({ storage: { kv } }) => {
    for (const key of ['a', 'b', 'c']) kv.put(key, 1);
    const seen = [];
    for (const [key] of kv.list()) {
        seen.push(key);
        break;
    }
    return [seen, [...kv.list()].length];
}, [['a'], 3]);
inside('kv: a second list ends the first', ({ storage: { kv } }) => {
    for (const key of ['a', 'b', 'c']) kv.put(key, 1);
    const first = kv.list();
    const one = first.next().value;
    const second = kv.list();
    return [one, caught(() => first.next()), second.next().value];
}, [['a', 1], 'Error', ['a', 1]]);
inside('kv: changes while a list is open', ({ storage: { kv } }) => {
    for (const key of ['a', 'b', 'c']) kv.put(key, 1);
    const list = kv.list();
    list.next();
    kv.delete('b');
    kv.put('d', 2);
    return [...list];
}, [['c', 1], ['d', 2]]);
inside('kv: errors', ({ storage: { kv } }) => [
    caught(() => kv.put('a', () => 1)), message(() => kv.list({ limit: 0 })), message(() => kv.list({ start: 'a', startAfter: 'b' })),
], ['DataCloneError', 'TypeError: List limit must be positive.', 'TypeError: list() cannot be called with both start and startAfter values.']);
inside('kv: put of undefined', ({ storage: { kv } }) => [message(() => kv.put('a', undefined)), kv.get('a'), [...kv.list()].length], ['nothing was thrown', undefined, 1],
    { celld: ['TypeError: put() called with undefined value.', undefined, 0], why: 'services.md 1.4: the same rules as with promises; workerd stores a value that is as good as none' });
inside('kv: what is too big', ({ storage: { kv } }) => [message(() => kv.put('a', 'x'.repeat(2300000))), message(() => kv.put('k'.repeat(2049), 1))], ['nothing was thrown', 'nothing was thrown'],
    { celld: ['Error: string or blob too big: SQLITE_TOOBIG', tooLong(2049)], why: limited });
inside('kv: one key at a time', ({ storage: { kv } }) => {
    kv.put(['a', 'b'], 1);
    return [...kv.list()];
}, [['a,b', 1]]);

// ---- Without SQL

inside('a class without SQL has key-value storage', async ({ storage }) => {
    await storage.put('a', 1);
    return [await storage.get('a'), await storage.list({ limit: 1 })];
}, [1, new Map([['a', 1]])], { class: 'Plain' });
inside('a class without SQL says so', ({ storage }) => [caught(() => storage.sql.exec('SELECT 1')), /new_sqlite_classes/.test(message(() => storage.sql.exec('SELECT 1')))], ['Error', true], { class: 'Plain' });
inside('transactions of a class without SQL', async ({ storage }) => {
    await message(storage.transaction(async (txn) => {
        await txn.put('a', 1);
        throw new Error('x');
    }));
    return storage.get('a');
}, undefined, { class: 'Plain' });
