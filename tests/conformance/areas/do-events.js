import { DurableObject } from 'cloudflare:workers';
import { answer, caught, check, message, sleep, utf8 } from '../case.js';

let made = 0;
export class Subject extends DurableObject {
    log = [];
    number = ++made;
    which() { return this.number; }
    logged() { return this.log; }
    note(x) { this.log.push(x); }
    add(a, b) { return a + b; }
    async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/abort') this.ctx.abort('from fetch');
        if (pathname === '/hang') return new Promise(() => {});
        if (pathname === '/stream') {
            return new Response(new ReadableStream({
                start(c) { c.enqueue(utf8('begun')); },
                pull: () => new Promise(() => {}),
            }));
        }
        if (pathname === '/background') {
            this.ctx.waitUntil(sleep(10).then(() => this.log.push('background')));
            return new Response('answered first');
        }
        return new Response('fetched');
    }

    // ---- waitUntil
    background(ms) {
        this.ctx.waitUntil(sleep(ms).then(() => this.log.push('done')));
        return this.log.length;
    }
    rejected() {
        this.ctx.waitUntil(Promise.reject(new Error('in the background')));
        return 'fine';
    }
    badWait() {
        const seen = [];
        for (const args of [[], [5], ['text'], [undefined]]) {
            try {
                seen.push(typeof this.ctx.waitUntil(...args));
            } catch (e) {
                seen.push(e.name);
            }
        }
        return seen;
    }
    unwaited() {
        setTimeout(() => this.log.push('timer'), 5);
        sleep(10).then(() => this.log.push('promise'));
    }
    interval() {
        const id = setInterval(() => {
            this.log.push('tick');
            if (this.log.length === 3) clearInterval(id);
        }, 2);
    }
    lost() { Promise.reject(new Error('left alone')); }
    failingTimer() { setTimeout(() => { throw new Error('in a timer'); }, 1); }

    // ---- blockConcurrencyWhile
    block(ms, x) {
        return this.ctx.blockConcurrencyWhile(async () => {
            this.log.push(`${x} begins`);
            await sleep(ms);
            this.log.push(`${x} ends`);
            return x;
        });
    }
    async blockValues() {
        return [await this.ctx.blockConcurrencyWhile(() => 5), await this.ctx.blockConcurrencyWhile(async () => ({ a: 1 })), await this.ctx.blockConcurrencyWhile(() => {}), this.ctx.blockConcurrencyWhile(() => 1) instanceof Promise];
    }
    blockNothing() { return Promise.all([undefined, null, 5, {}].map((v) => caught(() => this.ctx.blockConcurrencyWhile(v)))); }
    nested() {
        return this.ctx.blockConcurrencyWhile(async () => {
            this.log.push('outer');
            const inner = await this.ctx.blockConcurrencyWhile(async () => {
                await sleep(2);
                this.log.push('inner');
                return 'from inside';
            });
            this.log.push('outer again');
            return inner;
        });
    }
    atOnce() {
        this.log.push('before');
        const p = this.ctx.blockConcurrencyWhile(() => this.log.push('inside'));
        this.log.push('after');
        return p.then(() => this.log);
    }
    blockFails() { return this.ctx.blockConcurrencyWhile(async () => { await sleep(5); throw new RangeError('inside'); }); }
    async blockFailsCaught() {
        try {
            await this.ctx.blockConcurrencyWhile(async () => { throw new RangeError('caught inside'); });
        } catch (e) {
            return `caught ${e.message}`;
        }
        return 'nothing';
    }
    callBeforeBlock() {
        this.env.Subject.getByName('called-from-outside').add(1, 1).then(() => this.log.push('a call from outside'));
        return this.ctx.blockConcurrencyWhile(async () => {
            await sleep(30);
            this.log.push('block ends');
        });
    }
    fetchInBlock() { return this.ctx.blockConcurrencyWhile(async () => (await fetch(`${this.env.ORIGIN}/text`)).text()); }
    callInBlock(name) { return this.ctx.blockConcurrencyWhile(() => this.env.Subject.getByName(name).add(20, 22)); }
    blockAndStore() {
        return this.ctx.blockConcurrencyWhile(async () => {
            await this.ctx.storage.put('k', 1);
            return this.ctx.storage.get('k');
        });
    }

    // ---- Gates
    async increment() {
        const n = (await this.ctx.storage.get('n')) ?? 0;
        await this.ctx.storage.put('n', n + 1);
        return n + 1;
    }
    async readThenSleep(x) {
        this.log.push(`${x} begins`);
        await this.ctx.storage.get('n');
        this.log.push(`${x} has read`);
        await sleep(5);
        this.log.push(`${x} ends`);
    }
    async put(key, value) { await this.ctx.storage.put(key, value); return 'put'; }
    putUnwaited(key, value) { this.ctx.storage.put(key, value); return 'put'; }
    get(key) { return this.ctx.storage.get(key); }
    clock() {
        const before = Date.now();
        for (let i = 0; i < 1e6; i++);
        return before <= Date.now();
    }

    // ---- Abort
    abort(reason) { this.ctx.abort(reason); }
    abortPlain() { this.ctx.abort(); }
    abortWith(i) { this.ctx.abort([new RangeError('as an error'), new Error('plain'), 5, 'TypeError: as a text', {}, null][i]); }
    abortCaught() {
        try {
            this.ctx.abort('uncatchable');
        } catch {
            this.log.push('caught');
            return 'caught';
        } finally {
            this.log.push('finally');
        }
    }
    async abortLater(ms, reason) {
        this.ctx.waitUntil(sleep(ms).then(() => this.ctx.abort(reason)));
        return 'answered';
    }
    async putAndAbort(key, value) {
        this.ctx.storage.put(key, value);
        this.ctx.abort('after a put');
    }
    async putSyncAndAbort(key, value) {
        await this.ctx.storage.put(key, value);
        await this.ctx.storage.sync();
        this.ctx.abort('after a sync');
    }
    hang() { return new Promise(() => {}); }
    async slow(ms) { await sleep(ms); return 'slow'; }
    counter() { let n = 0; return () => ++n; }
    async abortNeighbour(name) {
        try {
            await this.env.Subject.getByName(name).abort('told to');
        } catch (e) {
            return [e.message, this.number > 0];
        }
    }
}

// Its constructor takes some time.
export class Slow extends DurableObject {
    log = [];
    constructor(ctx, env) {
        super(ctx, env);
        this.log.push('constructor');
        ctx.blockConcurrencyWhile(async () => {
            await sleep(30);
            this.value = (await ctx.storage.get('value')) ?? 'default';
            this.log.push('ready');
        });
        this.log.push('constructed');
    }
    async fetch() { return new Response(this.value); }
    read(x) {
        this.log.push(`read ${x}`);
        return this.value;
    }
    logged() { return this.log; }
}

// What its constructor does the first time depends on its name.
const tried = new Set();
export class Doomed extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        const name = ctx.id.name;
        if (tried.has(name)) return;
        tried.add(name);
        if (name === 'block') ctx.blockConcurrencyWhile(async () => { await sleep(5); throw new RangeError('in the block of the constructor'); });
        else if (name === 'abort') ctx.abort('in the constructor');
        else if (name === 'throw') throw new TypeError('of the constructor');
        else if (name === 'waitUntil') ctx.waitUntil(Promise.reject(new Error('in the background')));
        else if (name === 'timer') setTimeout(() => (this.timer = true), 1);
        else if (name === 'return') return { fetch() {}, alive() { return 'not an instance'; } };
    }
    alive() { return 'alive'; }
    async timed() {
        await sleep(20);
        return this.timer === true;
    }
    fetch() { return new Response('alive'); }
}

const subject = ({ env }, name) => env.Subject.getByName(name);
const told = (promise) => promise.then((value) => value, (e) => [e.name, e.message]);
const flags = (promise) => promise.then((value) => value, (e) => [e.name, e.message, e.durableObjectReset, e.overloaded]);
async function until(get, what) {
    for (let i = 0; i < 200; i++) {
        const value = await get();
        if (what(value)) return value;
        await sleep(5);
    }
    throw new Error('it did not come');
}

// ---- Work in the background

check('waitUntil', async (t) => {
    const stub = subject(t, 'waits');
    return [await stub.background(10), await until(() => stub.logged(), (log) => log.length > 0)];
}, [0, ['done']]);
check('waitUntil of a request', async (t) => {
    const stub = subject(t, 'waits-fetch');
    return [await (await stub.fetch('http://x/background')).text(), await until(() => stub.logged(), (log) => log.length > 0)];
}, ['answered first', ['background']]);
check('waitUntil with a rejection', async (t) => {
    const stub = subject(t, 'rejected');
    return [await stub.rejected(), await stub.add(1, 2)];
}, ['fine', 3]);
check('waitUntil of what is no promise', (t) => subject(t, 'bad-wait').badWait(), ['TypeError', 'undefined', 'undefined', 'undefined']);
check('work goes on without waitUntil', async (t) => {
    const stub = subject(t, 'unwaited');
    await stub.unwaited();
    return until(() => stub.logged(), (log) => log.length > 1);
}, ['timer', 'promise']);
check('an interval', async (t) => {
    const stub = subject(t, 'interval');
    await stub.interval();
    await until(() => stub.logged(), (log) => log.length > 2);
    await sleep(10);
    return stub.logged();
}, ['tick', 'tick', 'tick']);
check('a rejection that nobody waits for', async (t) => {
    const stub = subject(t, 'left-alone');
    const number = await stub.which();
    await stub.lost();
    await sleep(5);
    return (await stub.which()) === number;
}, true);
check('a timer that throws', async (t) => {
    const stub = subject(t, 'failing-timer');
    const number = await stub.which();
    await stub.failingTimer();
    await sleep(10);
    return (await stub.which()) === number;
}, true);

// ---- blockConcurrencyWhile

check('nothing comes in between', async (t) => {
    const stub = subject(t, 'blocks');
    const [x] = await Promise.all([stub.block(20, 'a'), stub.note('from outside')]);
    return [x, await stub.logged()];
}, ['a', ['a begins', 'a ends', 'from outside']]);
check('one block after another', async (t) => {
    const stub = subject(t, 'blocks-twice');
    await Promise.all([stub.block(10, 'a'), stub.block(1, 'b'), stub.block(1, 'c')]);
    return stub.logged();
}, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
check('what a block gives', (t) => subject(t, 'values').blockValues(), [5, { a: 1 }, undefined, true]);
check('a block of what is no function', (t) => subject(t, 'no-function').blockNothing(), Array(4).fill('TypeError'));
check('a block inside a block', async (t) => {
    const stub = subject(t, 'nested');
    return [await stub.nested(), await stub.logged()];
}, ['from inside', ['outer', 'inner', 'outer again']]);
check('a block begins after what its caller still does', (t) => subject(t, 'at-once').atOnce(), ['before', 'after', 'inside']);
check('a block that fails resets the object', async (t) => {
    const stub = subject(t, 'block-fails');
    const number = await stub.which();
    return [await told(stub.blockFails()), (await subject(t, 'block-fails').which()) === number];
}, [['RangeError', 'inside'], false]);
check('catching what a block throws does not save the object', async (t) => {
    const stub = subject(t, 'block-caught');
    const number = await stub.which();
    await told(stub.blockFailsCaught());
    await sleep(5);
    return (await subject(t, 'block-caught').which()) === number;
}, false);
check('calls that wait for a block that fails', async (t) => {
    const stub = subject(t, 'block-fails-others');
    await stub.which();
    const failing = told(stub.blockFails());
    const other = told(subject(t, 'block-fails-others').add(1, 1));
    return [await failing, await other];
}, [['RangeError', 'inside'], ['RangeError', 'inside']]);
check('a call from before a block', async (t) => {
    const stub = subject(t, 'timer-block');
    await stub.callBeforeBlock();
    return until(() => stub.logged(), (log) => log.length > 1);
}, ['block ends', 'a call from outside']);
check('fetch in a block', (t) => subject(t, 'fetch-block').fetchInBlock(), 'grüße');
check('a call of another object in a block', (t) => subject(t, 'call-block').callInBlock('called-in-block'), 42);
check('storage in a block', (t) => subject(t, 'store-block').blockAndStore(), 1);
check('a request waits for a block', async (t) => {
    const stub = subject(t, 'block-fetch');
    const order = [];
    await Promise.all([stub.block(20, 'a').then(() => order.push('block')), stub.fetch('http://x/').then((r) => order.push(r.status))]);
    return order;
}, ['block', 200]);

// ---- Constructors

check('a constructor that blocks', async (t) => {
    const stub = t.env.Slow.getByName('blocks');
    return [await Promise.all([stub.read(1), stub.read(2)]), await stub.logged()];
}, [['default', 'default'], ['constructor', 'constructed', 'ready', 'read 1', 'read 2']]);
check('a constructor that blocks a request', async (t) => (await t.env.Slow.getByName('blocks-request').fetch('http://x/')).text(), 'default');
check('a constructor whose block fails', async (t) => {
    const stub = t.env.Doomed.getByName('block');
    return [await told(stub.alive()), await t.env.Doomed.getByName('block').alive()];
}, [['RangeError', 'in the block of the constructor'], 'alive']);
check('a constructor that aborts', async (t) => {
    const stub = t.env.Doomed.getByName('abort');
    return [await told(stub.alive()), await t.env.Doomed.getByName('abort').alive()];
}, [['Error', 'in the constructor'], 'alive']);
check('a constructor that throws at a request', async (t) => {
    const stub = t.env.Doomed.getByName('throw');
    return [await told(stub.fetch('http://x/')), await (await t.env.Doomed.getByName('throw').fetch('http://x/')).text()];
}, [['TypeError', 'of the constructor'], 'alive']);
check('waitUntil in a constructor', async (t) => {
    const stub = t.env.Doomed.getByName('waitUntil');
    return [await stub.alive(), await stub.alive()];
}, ['alive', 'alive']);
check('a timer in a constructor', (t) => t.env.Doomed.getByName('timer').timed(), true);

// ---- The input gate

check('reads and writes of one call belong together', async (t) => {
    const stub = subject(t, 'increment');
    const seen = await Promise.all(Array.from({ length: 20 }, () => stub.increment()));
    return [seen, await stub.get('n')];
}, [Array.from({ length: 20 }, (_, i) => i + 1), 20]);
check('storage keeps others out, timers let them in', async (t) => {
    const stub = subject(t, 'reads');
    await Promise.all([stub.readThenSleep('a'), stub.readThenSleep('b')]);
    return stub.logged();
}, ['a begins', 'a has read', 'b begins', 'b has read', 'a ends', 'b ends']);
check('a write that nobody waits for', async (t) => {
    const stub = subject(t, 'unwaited-put');
    return [await stub.putUnwaited('k', 'v'), await stub.get('k')];
}, ['put', 'v']);
check('clocks', (t) => subject(t, 'clock').clock(), true);

// ---- Abort

check('abort() ends the call', (t) => flags(subject(t, 'abort').abort('on purpose')), ['Error', 'on purpose', true, undefined]);
check('abort() without a reason', (t) => told(subject(t, 'abort-plain').abortPlain()), ['Error', 'Application called abort() to reset Durable Object.']);
check('reasons of abort()', (t) => Promise.all([0, 1, 2, 3, 4, 5].map((i) => told(subject(t, `abort-with-${i}`).abortWith(i)))),
    ['RangeError: as an error', 'Error: plain', '5', 'TypeError: as a text', '[object Object]', 'null'].map((text) => ['Error', text]));
check('abort() cannot be caught', async (t) => {
    const first = await told(subject(t, 'abort-caught').abortCaught());
    return [first, await subject(t, 'abort-caught').logged()];
}, [['Error', 'uncatchable'], []]);
check('a new object after abort()', async (t) => {
    const stub = subject(t, 'reborn');
    const number = await stub.which();
    await stub.note('lost');
    await told(stub.abort('away'));
    const other = subject(t, 'reborn');
    return [(await other.which()) === number, await other.logged()];
}, [false, []]);
check('a stub stays broken', async (t) => {
    const stub = subject(t, 'broken');
    await told(stub.abort('away'));
    return [await flags(stub.which()), await flags(stub.which()), await flags(stub.fetch('http://x/')), typeof (await subject(t, 'broken').which())];
}, [['Error', 'away', true, undefined], ['Error', 'away', true, undefined], ['Error', 'away', true, undefined], 'number']);
check('abort() in a request', async (t) => {
    const stub = subject(t, 'abort-fetch');
    return [await flags(stub.fetch('http://x/abort')), await (await subject(t, 'abort-fetch').fetch('http://x/')).text()];
}, [['Error', 'from fetch', true, undefined], 'fetched']);
check('abort() ends other calls', async (t) => {
    const stub = subject(t, 'abort-others');
    const waiting = [flags(stub.hang()), flags(subject(t, 'abort-others').hang()), flags(stub.fetch('http://x/hang'))];
    await sleep(10);
    await told(subject(t, 'abort-others').abort('all of you'));
    return Promise.all(waiting);
}, Array(3).fill(['Error', 'all of you', true, undefined]));
check('abort() breaks an answer off', async (t) => {
    const r = await subject(t, 'abort-stream').fetch('http://x/stream');
    const reader = r.body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    const next = reader.read();
    await told(subject(t, 'abort-stream').abort('in the middle'));
    return [first, await told(next)];
}, ['begun', ['Error', 'in the middle']]);
check('abort() later', async (t) => {
    const stub = subject(t, 'abort-later');
    const number = await stub.which();
    const answered = await stub.abortLater(5, 'later');
    await sleep(100);
    return [answered, (await subject(t, 'abort-later').which()) === number];
}, ['answered', false]);
check('abort() and stubs of the object', async (t) => {
    const stub = subject(t, 'abort-stubs');
    const count = await stub.counter();
    const first = await count();
    await told(subject(t, 'abort-stubs').abort('and the rest'));
    return [first, await caught(count())];
}, [1, 'Error']);
check('abort() of another object', (t) => subject(t, 'aborts-other').abortNeighbour('victim'), ['told to', true]);
check('a write before abort() in the same turn is dropped', async (t) => {
    await told(subject(t, 'put-abort').putAndAbort('k', 'v'));
    return (await subject(t, 'put-abort').get('k')) ?? null;
}, null);
check('a write that was synced survives abort()', async (t) => {
    await told(subject(t, 'sync-abort').putSyncAndAbort('k', 'v'));
    return subject(t, 'sync-abort').get('k');
}, 'v');
check('a write that was answered survives abort()', async (t) => {
    await subject(t, 'answered-abort').put('k', 'v');
    await told(subject(t, 'answered-abort').abort('after the answer'));
    return subject(t, 'answered-abort').get('k');
}, 'v');
answer('abort() at a request of a client', async (request, env) => {
    const stub = env.Subject.getByName('client-abort');
    try {
        return await stub.fetch('http://x/abort');
    } catch (e) {
        return new Response(`${e.message} ${e.durableObjectReset}`, { status: 503 });
    }
}, { status: 503, body: 'from fetch true' });
