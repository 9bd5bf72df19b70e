// node:async_hooks, node:events, node:timers, node:diagnostics_channel, process, node:module, and what is only there by name.
import { AsyncLocalStorage, AsyncResource, createHook } from 'node:async_hooks';
import * as bareEvents from 'events';
import EventEmitter, { on, once } from 'node:events';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { createRequire, builtinModules } from 'node:module';
import timers from 'node:timers';
import { setInterval as ticks, setTimeout as wait } from 'node:timers/promises';
import childProcess, { spawn } from 'node:child_process';
import vm from 'node:vm';
import net from 'node:net';
import util from 'node:util';
import fsConstants from 'node:constants';
import importedProcess from 'node:process';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

test('AsyncLocalStorage follows promises, timers and microtasks', async () => {
    const als = new AsyncLocalStorage();
    equal(als.getStore(), undefined);
    const seen = await als.run('a', async () => {
        await null;
        const inTimer = await new Promise((resolve) => setTimeout(() => resolve(als.getStore()), 1));
        const inner = als.run('b', () => als.getStore());
        const inMicrotask = await new Promise((resolve) => queueMicrotask(() => resolve(als.getStore())));
        return [als.getStore(), inTimer, inner, inMicrotask, als.exit(() => als.getStore())];
    });
    same(seen, ['a', 'a', 'b', 'a', null]);
    equal(als.getStore(), undefined);
});

test('two stores do not meet, snapshots come back', () => {
    const a = new AsyncLocalStorage();
    const b = new AsyncLocalStorage({ defaultValue: 7, name: 'b' });
    equal(b.getStore(), 7);
    equal(b.name, 'b');
    a.run(1, () =>
        b.run(2, () => {
            const snapshot = AsyncLocalStorage.snapshot();
            const bound = AsyncLocalStorage.bind(() => [a.getStore(), b.getStore()]);
            a.run(3, () => {
                same([a.getStore(), b.getStore()], [3, 2]);
                same(snapshot(() => [a.getStore(), b.getStore()]), [1, 2]);
                same(bound(), [1, 2]);
            });
        }),
    );
    a.enterWith(9);
    equal(a.getStore(), 9);
    a.disable();
    equal(a.getStore(), undefined);
});

test('AsyncResource runs in the context of its making', () => {
    const als = new AsyncLocalStorage();
    const resource = als.run('made', () => new AsyncResource('thing'));
    equal(resource.runInAsyncScope((x) => x + als.getStore(), null, 'was '), 'was made');
    equal(als.run('now', () => resource.bind(() => als.getStore())()), 'made');
    throws(() => createHook({}), 'Error', 'The async_hooks.createHook API is not implemented in celld');
});

test('timers keep the store of who set them, for an interval too', async () => {
    const als = new AsyncLocalStorage();
    const seen = [];
    await als.run('x', () => new Promise((resolve) => {
        const id = setInterval(() => {
            seen.push(als.getStore());
            if (seen.length === 2) {
                clearInterval(id);
                resolve();
            }
        }, 1);
    }));
    same(seen, ['x', 'x']);
});

test('EventEmitter', () => {
    const e = new EventEmitter();
    const seen = [];
    e.on('x', (...args) => seen.push(args));
    e.once('x', () => seen.push('once'));
    e.prependListener('x', () => seen.push('first'));
    equal(e.emit('x', 1, 2), true);
    equal(e.emit('x'), true);
    same(seen, ['first', [1, 2], 'once', 'first', []]);
    equal(e.listenerCount('x'), 2);
    same(e.eventNames(), ['x']);
    e.removeAllListeners();
    equal(e.emit('x'), false);
    throws(() => e.emit('error', new RangeError('bad')), 'RangeError', 'bad');
    equal(throws(() => e.emit('error', { a: 1 }), 'Error').code, 'ERR_UNHANDLED_ERROR');
    equal(bareEvents.default, EventEmitter);
    throws(() => e.on('x', 1), 'TypeError', 'The "listener" argument must be of type function. Received type number (1)');
    class Mine extends EventEmitter {}
    ok(new Mine() instanceof EventEmitter);
});

test('once and on', async () => {
    const e = new EventEmitter();
    setTimeout(() => e.emit('x', 5), 1);
    same(await once(e, 'x'), [5]);
    setTimeout(() => e.emit('error', new Error('boom')), 1);
    await rejects(once(e, 'x'), 'Error', 'boom');
    const controller = new AbortController();
    setTimeout(() => {
        e.emit('y', 1);
        e.emit('y', 2);
        controller.abort();
    }, 1);
    const seen = [];
    await rejects(async () => {
        for await (const [v] of on(e, 'y', { signal: controller.signal })) seen.push(v);
    }, 'AbortError');
    same(seen, [1, 2]);
});

test('captureRejections', async () => {
    const e = new EventEmitter({ captureRejections: true });
    const got = new Promise((resolve) => e.on('error', resolve));
    e.on('x', async () => {
        throw new Error('async');
    });
    e.emit('x');
    equal((await got).message, 'async');
});

test('timers as objects', async () => {
    let fired = 0;
    const t = timers.setTimeout(() => fired++, 1);
    equal(t.hasRef(), true);
    equal(t.unref().hasRef(), false);
    equal(typeof +t, 'number');
    await wait(10);
    equal(fired, 1);
    t.refresh();
    await wait(10);
    equal(fired, 2);
    clearTimeout(timers.setTimeout(() => fired++, 1));
    await wait(5);
    equal(fired, 2);
    equal(await wait(1, 'v'), 'v');
    let n = 0;
    for await (const v of ticks(1, 'i')) if (v === 'i' && ++n === 3) break;
    equal(n, 3);
    await rejects(wait(1000, null, { signal: AbortSignal.abort() }), 'AbortError');
    equal(await util.promisify(setTimeout)(1, 'p'), 'p');
});

test('diagnostics_channel', () => {
    const c = channel('test');
    const seen = [];
    const fn = (message, name) => seen.push([message, name]);
    c.subscribe(fn);
    c.publish(1);
    c.unsubscribe(fn);
    c.publish(2);
    same(seen, [[1, 'test']]);
    const als = new AsyncLocalStorage();
    c.bindStore(als, (d) => d * 2);
    equal(c.runStores(4, () => als.getStore()), 8);
    const t = tracingChannel('op');
    const events = [];
    t.subscribe({ start: () => events.push('start'), end: () => events.push('end') });
    equal(t.traceSync((a) => a + 1, {}, null, 1), 2);
    same(events, ['start', 'end']);
});

test('process', async () => {
    equal(process, importedProcess);
    equal(process.platform, 'linux');
    equal(process.env.GREETING, 'hi', 'a binding of text');
    process.env.N = 5;
    equal(process.env.N, '5');
    equal(process.cwd(), '/bundle');
    const order = [];
    process.nextTick((v) => order.push(v), 'tick');
    await null;
    await null;
    same(order, ['tick']);
    equal(process.getBuiltinModule('node:util'), util);
    equal(process.getBuiltinModule('util'), util);
    equal(process.getBuiltinModule('nothing'), undefined);
    equal(typeof process.hrtime.bigint(), 'bigint');
    ok(/^v22\./.test(process.version), process.version);
    const warned = once(process, 'warning');
    process.emitWarning('careful', 'CustomWarning', 'C1');
    equal((await warned)[0].code, 'C1');
    equal(Object.prototype.toString.call(process), '[object process]');
});

test('process hears of rejections that nobody handles', async () => {
    const heard = once(process, 'unhandledRejection');
    const promise = Promise.reject(new Error('lost'));
    const [reason, which] = await heard;
    equal(reason.message, 'lost');
    equal(which, promise);
    process.removeAllListeners('unhandledRejection');
});

test('createRequire', () => {
    const require = createRequire('/bundle/index.js');
    equal(require('util'), util);
    equal(require('node:events'), EventEmitter);
    equal(throws(() => require('./x.js'), 'Error', "Cannot find module './x.js'").code, 'MODULE_NOT_FOUND');
    ok(builtinModules.includes('fs/promises') || builtinModules.includes('events'));
});

test('what is not there says so when it is used', async () => {
    equal(throws(() => spawn('ls'), 'Error', 'The child_process.spawn API is not implemented in celld').code, 'ERR_METHOD_NOT_IMPLEMENTED');
    throws(() => new vm.Script('1'), 'Error', 'The vm.Script API is not implemented in celld');
    equal(await Promise.resolve(childProcess), childProcess, 'not thenable');
    equal(net.isIP('::1'), 6);
    equal(net.isIP('1.2.3.4'), 4);
    equal(net.isIP('1.2.3'), 0);
    equal(fsConstants.O_RDONLY, 0);
});

export default run;
