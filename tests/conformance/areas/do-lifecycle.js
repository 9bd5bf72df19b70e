import { DurableObject } from 'cloudflare:workers';
import { Cell as Base, caught, check, inside, message, objectOf as at, sleep } from '../case.js';

let made = 0;
export class Cell extends Base {
    number = ++made;
    called() { return this.ctx.id.name; }
    text() { return this.ctx.id.toString(); }
    who() { return this.number; }
    remember(value) { this.value = value; }
    recall() { return this.value; }
    abort(...args) { this.ctx.abort(...args); }
    async put(key, value) { await this.ctx.storage.put(key, value); }
    get(key) { return this.ctx.storage.get(key); }
    async putAndAbort() {
        await this.ctx.storage.put('first', 1);
        this.ctx.storage.put('second', 2);
        this.ctx.abort('after put');
    }
    async wait(ms) {
        await sleep(ms);
        return 'waited';
    }
    block(fn) { return this.ctx.blockConcurrencyWhile(fn); }
    async blockFor(ms, value) {
        return this.ctx.blockConcurrencyWhile(async () => {
            await sleep(ms);
            return value;
        });
    }
    async blockAndThrow(text) {
        try {
            await this.ctx.blockConcurrencyWhile(async () => { throw new RangeError(text); });
        } catch (e) {
            return `caught ${e.message}`;
        }
    }
    fetch(request) { return new Response(`${request.method} ${new URL(request.url).pathname}`); }
}
// Reads its state before the first event.
export class Reader extends Base {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.blockConcurrencyWhile(async () => {
            this.starts = ((await ctx.storage.get('starts')) ?? 0) + 1;
            await sleep(5);
            await ctx.storage.put('starts', this.starts);
        });
    }
    started() { return this.starts; }
    abort() { this.ctx.abort('again'); }
}
export class Thrower extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        throw new RangeError('not made');
    }
    hello() { return 'hello'; }
}
let tries = 0;
export class Second extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        if (++tries === 1) throw new Error('the first time');
    }
    hello() { return `hello ${tries}`; }
}
let thirds = 0;
export class Third extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        if (++thirds === 1) throw new Error('the first time');
    }
    hello() { return 'hello'; }
}
export class Late extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.blockConcurrencyWhile(async () => { this.list = [this.value]; });
        this.value = 'set behind the call';
    }
    seen() { return this.list; }
}
export class Blocked extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.blockConcurrencyWhile(async () => {
            await sleep(1);
            throw new RangeError('in the block');
        });
    }
    hello() { return 'hello'; }
}
export class Bare {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
    hello() { return 'hello'; }
    async fetch(request) { return Response.json([this.ctx.id.name, typeof this.env]); }
}
export class Early extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS t (x)');
        ctx.storage.kv.put('made', (ctx.storage.kv.get('made') ?? 0) + 1);
    }
    count() { return [this.ctx.storage.sql.exec('SELECT count(*) AS n FROM t').one().n, this.ctx.storage.kv.get('made')]; }
}

// What is said of a reset.
const reset = (text, name = 'Error') => ({ name, message: text, retryable: undefined, overloaded: undefined, reset: true });
const told = async (promise) => {
    try {
        return await promise;
    } catch (e) {
        return { name: e.name, message: e.message, retryable: e.retryable, overloaded: e.overloaded, reset: e.durableObjectReset };
    }
};

// ---- Instances

check('an object is made once', async (t) => {
    const stub = at(t, 'once');
    return [(await stub.who()) === (await stub.who()), (await at(t, 'once').who()) === (await stub.who()), (await at(t, 'other').who()) === (await stub.who())];
}, [true, true, false]);
check('memory is kept between events', async (t) => {
    await at(t, 'memory').remember({ a: [1] });
    return at(t, 'memory').recall();
}, { a: [1] });
check('memory is not shared between objects', async (t) => {
    await at(t, 'mine').remember(1);
    return at(t, 'yours').recall();
}, undefined);
inside('ctx', ({ ctx, self }) => [String(ctx), ctx.constructor.name, self.ctx === ctx, ctx.id === ctx.id, ctx.storage === ctx.storage, typeof ctx.exports, typeof ctx.props, ctx.container],
    ['[object DurableObjectState]', 'DurableObjectState', true, true, true, 'object', 'object', undefined]);
inside('the methods of ctx', ({ ctx }) => ['waitUntil', 'blockConcurrencyWhile', 'abort', 'acceptWebSocket', 'getWebSockets', 'getTags', 'setWebSocketAutoResponse', 'getWebSocketAutoResponse', 'getWebSocketAutoResponseTimestamp', 'setHibernatableWebSocketEventTimeout', 'getHibernatableWebSocketEventTimeout', 'passThroughOnException']
    .map((name) => typeof ctx[name]), [...Array(11).fill('function'), 'undefined']);
inside('env is the Worker\'s', ({ env }) => [typeof env.ORIGIN, typeof env.Cell.idFromName], ['string', 'function']);
check('a class without a base', async (t) => (await at(t, 'bare', 'Bare').fetch('http://x/')).json(), ['bare', 'object']);
check('methods of a class without a base', (t) => caught(at(t, 'bare', 'Bare').hello()), 'TypeError');
check('the constructor may use storage', async (t) => [await at(t, 'early', 'Early').count(), await at(t, 'early', 'Early').count()], [[0, 1], [0, 1]]);
inside('waitUntil of an object', [
    ({ ctx, self }) => {
        ctx.waitUntil((async () => {
            await sleep(20);
            self.late = 'late';
        })());
        return 'first';
    },
    60,
    ({ self }) => self.late,
], ['first', 'late']);
inside('work goes on after the answer', [
    ({ self, storage }) => {
        setTimeout(async () => {
            await storage.put('late', 1);
            self.late = true;
        }, 20);
    },
    80,
    async ({ self, storage }) => [self.late, await storage.get('late')],
], [undefined, [true, 1]]);

// ---- The constructor

check('a constructor that throws', (t) => told(at(t, 'thrower', 'Thrower').hello()), reset('not made', 'RangeError'));
check('a constructor that throws, with fetch', (t) => told(at(t, 'thrower', 'Thrower').fetch('http://x/')), reset('not made', 'RangeError'));
check('a stub after a constructor that throws', async (t) => {
    const stub = at(t, 'stub second', 'Third');
    return [await message(stub.hello()), await message(stub.hello()), await at(t, 'stub second', 'Third').hello()];
}, ['Error: the first time', 'Error: the first time', 'hello']);
check('the next event makes it anew', async (t) => [await message(at(t, 'second', 'Second').hello()), await at(t, 'second', 'Second').hello()], ['Error: the first time', 'hello 2']);
check('blockConcurrencyWhile in the constructor', async (t) => {
    const stub = at(t, 'reader', 'Reader');
    return Promise.all([stub.started(), stub.started()]);
}, [1, 1]);
check('blockConcurrencyWhile in the constructor, again', async (t) => {
    const first = await at(t, 'reader again', 'Reader').started();
    await message(at(t, 'reader again', 'Reader').abort());
    return [first, await at(t, 'reader again', 'Reader').started()];
}, [1, 2]);
check('blockConcurrencyWhile that fails in the constructor', async (t) => [await told(at(t, 'blocked', 'Blocked').hello()), await told(at(t, 'blocked', 'Blocked').hello())], [reset('in the block', 'RangeError'), reset('in the block', 'RangeError')]);

// ---- blockConcurrencyWhile

inside('blockConcurrencyWhile gives the value', async ({ ctx }) => [await ctx.blockConcurrencyWhile(async () => 5), await ctx.blockConcurrencyWhile(() => 6)], [5, 6]);
inside('blockConcurrencyWhile runs nothing before the code that asks for it lets go', async ({ ctx }) => {
    const seen = [];
    const done = ctx.blockConcurrencyWhile(async () => { seen.push('in'); });
    seen.push('out');
    await done;
    return seen;
}, ['out', 'in']);
check('a constructor goes on before its block', (t) => at(t, 'goes on', 'Late').seen(), ['set behind the call']);
inside('blockConcurrencyWhile of what is no function', async ({ ctx }) => {
    const seen = [];
    for (const given of [[], [Promise.resolve()]]) seen.push(await ctx.blockConcurrencyWhile(...given).catch((e) => e.name));
    return seen;
}, ['TypeError', 'TypeError']);
inside('blockConcurrencyWhile inside itself', ({ ctx }) => ctx.blockConcurrencyWhile(async () => [1, await ctx.blockConcurrencyWhile(async () => 2)]), [1, 2]);
check('other events wait for blockConcurrencyWhile', async (t) => {
    const stub = at(t, 'waits');
    const seen = [];
    await Promise.all([stub.blockFor(60, 'block').then((v) => seen.push(v)), stub.who().then(() => seen.push('who'))]);
    return seen;
}, ['block', 'who']);
check('blocks of two events', async (t) => {
    const stub = at(t, 'two blocks');
    return Promise.all([stub.blockFor(20, 'a'), stub.blockFor(1, 'b')]);
}, ['a', 'b']);
check('blockConcurrencyWhile that throws resets the object', async (t) => {
    await at(t, 'breaks').remember('x');
    await at(t, 'breaks').put('kept', 1);
    return [await told(at(t, 'breaks').blockAndThrow('broken')), await at(t, 'breaks').recall(), await at(t, 'breaks').get('kept')];
}, [reset('broken', 'RangeError'), undefined, 1]);
check('calls of others wait for blockConcurrencyWhile', async (t) => {
    const seen = [];
    await Promise.all([
        at(t, 'calls').blockFor(40, 'first').then((v) => seen.push(v)), at(t, 'calls').blockFor(1, 'second').then((v) => seen.push(v)),
        (await at(t, 'calls').fetch('http://x/third')).text().then((v) => seen.push(v)),
    ]);
    return seen;
}, ['first', 'second', 'GET /third']);

// ---- abort

check('abort', async (t) => {
    await at(t, 'aborts').remember(1);
    return [await told(at(t, 'aborts').abort('enough')), await at(t, 'aborts').recall()];
}, [reset('enough'), undefined]);
check('abort without a reason', (t) => told(at(t, 'no reason').abort()), reset('Application called abort() to reset Durable Object.'));
check('abort with an error', async (t) => [await told(at(t, 'an error').callAbort(0)), await told(at(t, 'an error').callAbort(1)), await told(at(t, 'an error').callAbort(2))],
    [reset('RangeError: mine'), reset('Error: mine'), reset('5')]);
Cell.prototype.callAbort = function (i) { this.ctx.abort([new RangeError('mine'), new Error('mine'), 5][i]); };
check('abort ends the calls that run', async (t) => {
    const stub = at(t, 'running');
    await stub.who();
    const running = told(stub.wait(2000));
    await sleep(20);
    const aborts = await told(at(t, 'running').abort('all of it'));
    return [(await running).message, aborts.message];
}, ['all of it', 'all of it']);
check('a stub after a reset', async (t) => {
    const stub = at(t, 'stub');
    const first = await told(stub.abort('gone'));
    const second = await told(stub.who());
    return [first.message, second.message ?? 'works', typeof (await at(t, 'stub').who())];
}, ['gone', 'gone', 'number']);
check('what was put in the turn of abort is lost', async (t) => {
    const seen = await told(at(t, 'turn').putAndAbort());
    return [seen.message, await at(t, 'turn').get('first'), await at(t, 'turn').get('second')];
}, ['after put', undefined, undefined]);
check('what sync() waited for is kept', async (t) => {
    await told(at(t, 'synced').syncAndAbort());
    return at(t, 'synced').get('first');
}, 1);
Cell.prototype.syncAndAbort = async function () {
    this.ctx.storage.put('first', 1);
    await this.ctx.storage.sync();
    this.ctx.abort('synced');
};
check('abort runs nothing behind it', async (t) => {
    await told(at(t, 'behind').abortAndPut());
    return at(t, 'behind').get('behind');
}, undefined);
Cell.prototype.abortAndPut = async function () {
    try {
        this.ctx.abort('x');
    } catch {
        // It cannot be caught.
    }
    await this.ctx.storage.put('behind', 1);
};

// ---- Ids

inside('ctx.id', ({ ctx, env }) => [String(ctx.id.constructor.name), /^[0-9a-f]{64}$/.test(ctx.id.toString()), ctx.id.name, ctx.id.equals(env.Cell.idFromName('ctx.id'))],
    ['DurableObjectId', true, 'ctx.id', true]);
check('an id of a name', (t) => {
    const id = t.env.Cell.idFromName('a name');
    return [id.name, id.toString() === t.env.Cell.idFromName('a name').toString(), id.equals(t.env.Cell.idFromName('a name')), id.equals(t.env.Cell.idFromName('b')), `${id}`.length];
}, ['a name', true, true, false, 64]);
check('ids of two classes differ', (t) => t.env.Cell.idFromName('a').toString() === t.env.Reader.idFromName('a').toString(), false);
check('unique ids', (t) => {
    const [a, b] = [t.env.Cell.newUniqueId(), t.env.Cell.newUniqueId()];
    return [a.equals(b), a.name, a.toString().length, a.equals(t.env.Cell.idFromString(a.toString()))];
}, [false, undefined, 64, true]);
check('an object of a unique id', async (t) => {
    const id = t.env.Cell.newUniqueId();
    const stub = t.env.Cell.get(id);
    return [await stub.called(), (await stub.text()) === id.toString(), stub.id.equals(id), stub.name];
}, [undefined, true, true, undefined]);
check('idFromString', async (t) => {
    const id = t.env.Cell.idFromName('by text');
    const again = t.env.Cell.idFromString(id.toString());
    await t.env.Cell.get(id).remember('x');
    return [again.equals(id), again.name, await t.env.Cell.get(again).recall(), t.env.Cell.idFromString(id.toString().toUpperCase()).equals(id)];
}, [true, undefined, 'x', true]);
const bad = 'TypeError: Invalid Durable Object ID: must be 64 hex digits';
check('idFromString of what is none', (t) => ['', 'abc', 'x'.repeat(64), '0'.repeat(64), '0'.repeat(63), t.env.Reader.idFromName('a').toString()].map((text) => message(() => t.env.Cell.idFromString(text))),
    [...Array(3).fill(bad), 'TypeError: Durable Object ID is not valid for this namespace.', bad, 'TypeError: Durable Object ID is not valid for this namespace.']);
check('an id of another namespace', (t) => message(() => t.env.Cell.get(t.env.Reader.idFromName('a'))), 'nothing was thrown',
    { celld: 'TypeError: Durable Object ID is not valid for this namespace.', why: 'services.md 1.2: an id belongs to its class; workerd looks only when an id comes as a text' });
check('the arguments of ids', (t) => [caught(() => t.env.Cell.idFromName()), t.env.Cell.idFromName(5).name, t.env.Cell.idFromName('').name, caught(() => t.env.Cell.get('a')), caught(() => t.env.Cell.get())], ['TypeError', '5', '', 'TypeError', 'TypeError']);
check('long names', async (t) => {
    const name = 'n'.repeat(3000);
    return [t.env.Cell.idFromName(name).name?.length, (await t.env.Cell.getByName(name).who()) > 0];
}, [3000, true], { celld: [undefined, true], why: 'services.md 1.2: an object knows a name of at most 1024 bytes, and an id has no longer one' });
check('names that differ in one character', (t) => new Set(['a', 'A', 'a ', 'ä', 'a\0', ''].map((name) => t.env.Cell.idFromName(name).toString())).size, 6);
check('jurisdictions', (t) => [caught(() => t.env.Cell.newUniqueId({ jurisdiction: 'eu' })), caught(() => t.env.Cell.jurisdiction('eu'))], ['Error', 'Error']);
check('fetch', async (t) => (await at(t, 'fetched').fetch('http://x/path', { method: 'PUT' })).text(), 'PUT /path');
