import { Cell as Base, caught, inside, message, sleep } from '../case.js';

// Its alarm does what a step has told it to, and notes what it saw.
export class Cell extends Base {
    runs = [];
    async alarm(info) {
        const { storage } = this.ctx;
        const run = { retry: info?.retryCount, isRetry: info?.isRetry, keys: Object.keys(info ?? {}).sort(), seen: await storage.getAlarm(), at: Date.now(), scheduled: info?.scheduledTime };
        this.runs.push(run);
        await storage.put('runs', ((await storage.get('runs')) ?? 0) + 1);
        return this.onAlarm?.(run, info);
    }
}
export class Without extends Base {}

const later = 60 * 60 * 1000;
const ran = ({ self }) => self.runs.length;
const until = async (what, ms = 5000) => {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(10)) if (await what()) return true;
    return false;
};

inside('no alarm', ({ storage }) => storage.getAlarm(), null);
inside('an alarm that is set', async ({ storage }) => {
    const at = Date.now() + later;
    const set = await storage.setAlarm(at);
    return [set, (await storage.getAlarm()) === at, await storage.deleteAlarm(), await storage.getAlarm(), await storage.deleteAlarm()];
}, [undefined, true, undefined, null, undefined]);
inside('an alarm outlives its event', [
    ({ storage }) => storage.setAlarm(Date.now() + later),
    async ({ storage }) => (await storage.getAlarm()) > Date.now(),
    ({ storage }) => storage.deleteAlarm(),
    ({ storage }) => storage.getAlarm(),
], [undefined, true, undefined, null]);
inside('a Date', async ({ storage }) => {
    const at = new Date(Date.now() + later);
    await storage.setAlarm(at);
    return (await storage.getAlarm()) === at.getTime();
}, true);
inside('the last one counts', async ({ storage }) => {
    const at = Date.now() + later;
    await storage.setAlarm(at);
    storage.setAlarm(at + 5);
    await storage.setAlarm(at + 1);
    return (await storage.getAlarm()) - at;
}, 1);
inside('times that are wrong', async ({ storage }) => [
    await message(storage.setAlarm(0)), await message(storage.setAlarm(-1)), await caught(() => storage.setAlarm()), await caught(() => storage.setAlarm(NaN)), await caught(() => storage.setAlarm('x')),
    await caught(() => storage.setAlarm(new Date(NaN))), await storage.getAlarm(),
], ['TypeError: setAlarm() cannot be called with an alarm time <= 0', 'TypeError: setAlarm() cannot be called with an alarm time <= 0', 'TypeError', 'TypeError', 'TypeError', 'TypeError', null]);
inside('a fraction of a millisecond', async ({ storage }) => {
    const at = Date.now() + later;
    await storage.setAlarm(at + 0.7);
    return (await storage.getAlarm()) - at;
}, 0);
inside('a class without alarm()', async ({ storage }) => [await message(storage.setAlarm(Date.now() + later)), await storage.getAlarm(), await storage.deleteAlarm()],
    ['TypeError: Your Durable Object class must have an alarm() handler in order to call setAlarm()', null, undefined], { class: 'Without' });
inside('an alarm runs', [
    ({ storage }) => storage.setAlarm(Date.now() + 10),
    ({ self }) => until(() => self.runs.length > 0),
    async ({ self, storage }) => [self.runs.length, self.runs[0].seen, self.runs[0].retry, self.runs[0].isRetry, await storage.getAlarm(), await storage.get('runs')],
], [undefined, true, [1, null, 0, false, null, 1]]);
inside('what alarm() is given', [
    async ({ storage, self }) => {
        self.at = Date.now() + 10;
        await storage.setAlarm(self.at);
    },
    ({ self }) => until(() => self.runs.length > 0),
    ({ self }) => [self.runs[0].keys, self.runs[0].scheduled === self.at, self.runs[0].at >= self.at],
], [undefined, true, [['isRetry', 'retryCount', 'scheduledTime'], true, true]]);
inside('an alarm of the past', [
    ({ storage }) => storage.setAlarm(1000),
    ({ self }) => until(() => self.runs.length > 0),
    ({ self, storage }) => storage.getAlarm(),
], [undefined, true, null]);
inside('an alarm of the past is one of now', async ({ storage }) => {
    const before = Date.now();
    storage.setAlarm(1000);
    const seen = await storage.getAlarm();
    return seen === null || seen >= before;
}, true);
inside('an alarm that is deleted does not run', [
    async ({ storage }) => {
        await storage.setAlarm(Date.now() + 60);
        await storage.deleteAlarm();
    },
    150,
    ran,
], [undefined, 0]);
inside('an alarm that is moved runs once', [
    async ({ storage }) => {
        await storage.setAlarm(Date.now() + 20);
        await storage.setAlarm(Date.now() + 60);
    },
    ({ self }) => until(() => self.runs.length > 0),
    100,
    ran,
], [undefined, true, 1]);
inside('an alarm set in alarm()', [
    ({ storage, self }) => {
        self.onAlarm = async (run) => {
            if (self.runs.length < 3) await storage.setAlarm(Date.now() + 5);
            run.after = (await storage.getAlarm()) !== null;
        };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 3),
    50,
    ({ self }) => self.runs.map((run) => [run.seen, run.retry, run.after]),
], [undefined, true, [[null, 0, true], [null, 0, true], [null, 0, false]]]);
inside('an alarm set and deleted in alarm()', [
    ({ storage, self }) => {
        self.onAlarm = async (run) => {
            await storage.setAlarm(Date.now() + 30);
            await storage.deleteAlarm();
            run.after = await storage.getAlarm();
        };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 1),
    100,
    ({ self }) => [self.runs.length, self.runs[0].after],
], [undefined, true, [1, null]]);
inside('getAlarm of another event while alarm() runs', [
    ({ storage, self }) => {
        self.onAlarm = () => sleep(300);
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 1),
    async ({ storage, self }) => [self.runs.length, await storage.getAlarm()],
], [undefined, true, [1, null]]);
inside('an alarm that fails is tried again', [
    ({ storage, self }) => {
        self.onAlarm = (run) => { if (run.retry === 0) throw new Error('not yet'); };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 2, 6000),
    async ({ self, storage }) => {
        const [first, second] = self.runs;
        return [second.retry, second.isRetry, second.at - first.at >= 1900, second.seen, await storage.getAlarm(), await storage.get('runs')];
    },
], [undefined, true, [1, true, true, null, null, 2]]);
inside('writes of an alarm that fails stay', [
    ({ storage, self }) => {
        self.onAlarm = () => { throw new Error('always'); };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 1),
    50,
    async ({ storage }) => [await storage.get('runs'), await storage.deleteAlarm()],
], [undefined, true, [1, undefined]]);
inside('getAlarm while a retry waits', [
    ({ storage, self }) => {
        self.onAlarm = () => { throw new Error('always'); };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 1),
    100,
    async ({ storage }) => (await storage.getAlarm()) !== null,
], [undefined, true, true]);
inside('deleteAlarm while a retry waits', [
    ({ storage, self }) => {
        self.onAlarm = () => { throw new Error('always'); };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 1),
    100,
    ({ storage }) => storage.deleteAlarm(),
    2500,
    ran,
], [undefined, true, undefined, 1]);
inside('an alarm set by one that fails', [
    ({ storage, self }) => {
        self.onAlarm = async (run) => {
            if (self.runs.length > 1) return;
            await storage.setAlarm(Date.now() + 50);
            throw new Error('not so');
        };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs.length >= 2, 1500),
    ({ self }) => self.runs.map((run) => run.retry),
], [undefined, true, [0, 0]]);
inside('deleteAll takes the alarm along', async ({ storage }) => {
    await storage.put('a', 1);
    await storage.setAlarm(Date.now() + later);
    await storage.deleteAll();
    return storage.getAlarm();
}, null);
inside('deleteAll of an alarm alone', async ({ storage }) => {
    await storage.setAlarm(Date.now() + later);
    await storage.deleteAll();
    return storage.getAlarm();
}, null);
inside('deleteAll in alarm()', [
    ({ storage, self }) => {
        self.onAlarm = async (run) => {
            await storage.deleteAll();
            run.after = [await storage.getAlarm(), (await storage.list()).size];
        };
        return storage.setAlarm(Date.now() + 5);
    },
    ({ self }) => until(() => self.runs[0]?.after !== undefined),
    100,
    async ({ self, storage }) => [self.runs.length, self.runs[0].after, await storage.getAlarm()],
], [undefined, true, [1, [null, 0], null]]);
inside('an alarm in a transaction', async ({ storage }) => {
    const at = Date.now() + later;
    const inner = await storage.transaction(async (txn) => {
        await txn.setAlarm(at);
        return [(await txn.getAlarm()) === at, (await storage.getAlarm()) === at];
    });
    return [inner, (await storage.getAlarm()) === at, await storage.transaction((txn) => txn.deleteAlarm()), await storage.getAlarm()];
}, [[true, true], true, undefined, null]);
inside('an alarm of a transaction that fails', async ({ storage }) => {
    const at = Date.now() + later;
    await storage.setAlarm(at);
    await message(storage.transaction(async (txn) => {
        await txn.setAlarm(at + 1);
        throw new Error('stop');
    }));
    const set = (await storage.getAlarm()) - at;
    await message(storage.transaction(async (txn) => {
        await txn.deleteAlarm();
        throw new Error('stop');
    }));
    return [set, (await storage.getAlarm()) - at];
}, [0, 0]);
inside('an alarm of a transaction that was rolled back does not run', [
    ({ storage }) => storage.transaction(async (txn) => {
        await txn.setAlarm(Date.now() + 10);
        txn.rollback();
    }),
    100,
    ran,
], [undefined, 0]);
inside('an alarm of transactionSync that fails', async ({ storage }) => {
    message(() => storage.transactionSync(() => {
        storage.setAlarm(Date.now() + later);
        throw new Error('stop');
    }));
    return storage.getAlarm();
}, null);
inside('options of alarms', async ({ storage }) => [await storage.setAlarm(Date.now() + later, { allowUnconfirmed: true, allowConcurrency: true }), (await storage.getAlarm({ allowConcurrency: true })) !== null, await storage.deleteAlarm({ allowUnconfirmed: true })], [undefined, true, undefined]);
inside('an alarm waits for blockConcurrencyWhile', [
    async ({ storage, ctx, self }) => {
        await storage.setAlarm(Date.now() + 5);
        await ctx.blockConcurrencyWhile(async () => {
            await sleep(100);
            self.inside = self.runs.length;
        });
    },
    ({ self }) => until(() => self.runs.length > 0),
    ({ self }) => self.inside,
], [undefined, true, 0]);
inside('an alarm runs while a request waits', [
    async ({ storage, self }) => {
        await storage.setAlarm(Date.now() + 50);
        const before = self.runs.length;
        await until(() => self.runs.length > 0);
        return [before, self.runs.length];
    },
], [[0, 1]]);
inside('alarms of many objects', async ({ env }) => {
    const stubs = Array.from({ length: 5 }, (_, i) => env.Cell.getByName(`many ${i}`));
    await Promise.all(stubs.map((stub) => stub.arm(10)));
    return until(async () => (await Promise.all(stubs.map((stub) => stub.count()))).every((n) => n === 1));
}, true);
Cell.prototype.arm = function (ms) { return this.ctx.storage.setAlarm(Date.now() + ms); };
Cell.prototype.count = function () { return this.runs.length; };
inside('alarm() is not for callers', ({ env }) => caught(env.Cell.getByName('called').alarm()), 'TypeError');
