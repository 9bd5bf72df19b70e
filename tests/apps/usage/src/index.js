// What each user has used: an object for each counts, and hands the sum to the bill when its period ends, by an alarm.
// A period is billed once, however often the alarm has to be tried: the bill knows each by its number.
import { DurableObject } from 'cloudflare:workers';

const PERIOD_MS = 700;

export class User extends DurableObject {
    async use(amount) {
        const { storage } = this.ctx;
        const used = ((await storage.get('used')) ?? 0) + amount;
        await storage.put('used', used);
        if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + PERIOD_MS);
        return used;
    }

    async alarm({ retryCount, isRetry }) {
        const { storage, id } = this.ctx;
        const { used = 0, period = 0, faults = 0 } = Object.fromEntries(await storage.get(['used', 'period', 'faults']));
        if (used > 0) await this.env.BILLING.getByName('all').bill(id.name, period, used);
        if (faults > 0) {
            await this.ctx.storage.transaction(async (txn) => {
                await txn.put({ faults: faults - 1, seen: { retryCount, isRetry } });
            });
            await storage.sync();
            throw new Error(`fault ${faults}`);
        }
        await storage.put({ used: ((await storage.get('used')) ?? 0) - used, period: period + 1 });
    }

    async fail(times) {
        await this.ctx.storage.put('faults', times);
    }

    async state() {
        const map = await this.ctx.storage.get(['used', 'period', 'faults', 'seen']);
        return { ...Object.fromEntries(map), armed: (await this.ctx.storage.getAlarm()) !== null };
    }

    async forget() {
        await this.ctx.storage.deleteAlarm();
        await this.ctx.storage.deleteAll();
    }
}

export class Billing extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS bills (user TEXT, period INTEGER, amount INTEGER, tries INTEGER, PRIMARY KEY (user, period)) WITHOUT ROWID');
    }

    bill(user, period, amount) {
        this.ctx.storage.sql.exec('INSERT INTO bills VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET tries = tries + 1', user, period, amount);
    }

    bills(user) {
        return this.ctx.storage.sql.exec('SELECT period, amount, tries FROM bills WHERE user = ? ORDER BY period', user).toArray();
    }

    total() {
        return this.ctx.storage.sql.exec('SELECT total(amount) AS total, count(DISTINCT user) AS users FROM bills').one();
    }
}

export default {
    async fetch(request, env) {
        const [, name, verb, arg] = new URL(request.url).pathname.split('/');
        const user = env.USERS.getByName(name), billing = env.BILLING.getByName('all');
        switch (`${request.method} ${verb}`) {
            case 'POST use': return Response.json(await user.use(Number(arg)));
            case 'POST fail': return Response.json(await user.fail(Number(arg)) ?? null);
            case 'DELETE undefined': return Response.json(await user.forget() ?? null);
            case 'GET state': return Response.json(await user.state());
            case 'GET bills': return Response.json(await billing.bills(name));
            case 'GET total': return Response.json(await billing.total());
            default: return new Response(null, { status: 404 });
        }
    },
};
