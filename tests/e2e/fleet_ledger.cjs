// e2e/fleet_ledger.cjs: a journal of what clients asked a fleet for and what they were told, and a checker over it.
//
// An entry is written by attempts, each under a name of its own: one that was refused (503) or whose connection was lost
// is followed by the next. So a name that is there twice was executed twice, and one that was refused and is there was not
// refused.
'use strict';
const { sleep } = require('./harness.cjs');

exports.SOURCE = `
import { DurableObject } from 'cloudflare:workers';
export class Journal extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS entry (pos INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT)');
    }
    add(id) {
        const { pos } = this.ctx.storage.sql.exec('INSERT INTO entry (id) VALUES (?) RETURNING pos', id).one();
        this.ctx.storage.kv.put('count', pos);
        return pos;
    }
    count() { return this.ctx.storage.kv.get('count') ?? 0; }
    all() {
        return { count: this.count(), rows: [...this.ctx.storage.sql.exec('SELECT pos, id FROM entry ORDER BY pos').raw()] };
    }
}
export default {
    async fetch(request, env) {
        const [, what, name, id] = new URL(request.url).pathname.split('/');
        const journal = env.JOURNAL.getByName(name);
        if (what === 'add') return Response.json(await journal.add(id));
        return Response.json(await (what === 'count' ? journal.count() : journal.all()));
    },
};`;

// What became of an attempt. lost: the connection, or the time; it may have been executed, or may be still.
const outcome = (status) => (status === 200 ? 'done' : status === 503 ? 'refused' : status === 0 ? 'lost' : 'failed');

const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];

exports.Ledger = class {
    constructor(names) {
        this.names = names;
        this.objects = new Map(names.map((n) => [n, { attempts: new Map(), high: 0, last: 0, gap: 0 }]));
        this.next = 0;
        this.wrong = []; // What must never be.
        this.homes = new Set(); // Of clients that were answered by the node they start at.
        this.window();
    }
    // From now on: counts and the longest time between two answers of each object.
    window() {
        const now = Date.now();
        this.counts = { done: 0, refused: 0, lost: 0, failed: 0 };
        this.failures = new Map();
        this.latency = [];
        for (const o of this.objects.values()) (o.last = now), (o.gap = 0);
    }
    // One request; ask(path) goes to the node that the client chose.
    async #ask(ask, path, name, judge) {
        const o = this.objects.get(name);
        const from = Date.now();
        const known = o.high; // Whoever asks now has to see all of this.
        const { status, text } = await ask(path);
        const how = outcome(status);
        this.counts[how]++;
        if (how === 'done') {
            const now = Date.now(), value = JSON.parse(text);
            judge(value, known);
            o.gap = Math.max(o.gap, now - o.last);
            o.last = now;
            this.latency.push(now - from);
        } else if (how !== 'refused') {
            const why = `${status} ${text.slice(0, 100)}`;
            this.failures.set(why, (this.failures.get(why) ?? 0) + 1);
        }
        return how;
    }
    async write(ask, name, id = `w${this.next++}.0`) {
        const o = this.objects.get(name);
        const attempt = { how: 'lost', pos: null };
        o.attempts.set(id, attempt);
        attempt.how = await this.#ask(ask, `/add/${name}/${id}`, name, (pos, known) => {
            if (pos <= known) this.wrong.push(`${name}: ${id} was told ${pos}, after somebody had been told ${known}`);
            attempt.pos = pos;
            o.high = Math.max(o.high, pos);
        });
        return attempt.how;
    }
    read(ask, name) {
        return this.#ask(ask, `/count/${name}`, name, (count, known) => {
            if (count < known) this.wrong.push(`${name}: stale: ${count} where ${known} had been told`);
        });
    }
    // A client for each object and each node, which starts at that node and goes on to the next one when it is refused or cut.
    // Two writes, one read. asks: functions as above. Returns what ends them.
    start(asks, { think = 25 } = {}) {
        let on = true;
        const client = async (name, home) => {
            for (let n = 0; on; n++) {
                let at = home;
                const entry = this.next++;
                for (let k = 0; on; k++) {
                    const how = n % 3 === 2 ? await this.read(asks[at], name) : await this.write(asks[at], name, `w${entry}.${k}`);
                    if (how === 'done' && at === home) this.homes.add(`${name} ${home}`);
                    if (how === 'done' || how === 'failed') break;
                    at = (at + 1) % asks.length;
                    await sleep(10);
                }
                await sleep(think * (0.5 + Math.random()));
            }
        };
        const all = Promise.all(this.names.flatMap((name) => asks.map((_, i) => client(name, i))));
        return () => ((on = false), all);
    }
    // Longest gaps of the window by object, in ms; an object that nobody has heard of since counts up to now.
    gaps() {
        return [...this.objects.values()].map((o) => Math.max(o.gap, Date.now() - o.last)).sort((x, y) => x - y);
    }
    report(what) {
        const { done, refused, lost, failed } = this.counts;
        const gaps = this.gaps(), times = this.latency.sort((x, y) => x - y);
        const told = [...this.failures].map(([why, n]) => `${n} x ${why}`).join('; ');
        console.log(`     ${what}: ${done} done (p50 ${percentile(times, 0.5)} p99 ${percentile(times, 0.99)} ms), ${refused} refused, ${lost} lost, ${failed} failed; longest gap of an object: p50 ${percentile(gaps, 0.5)} p99 ${percentile(gaps, 0.99)} ms${told && '; '}${told}`);
    }
    // Reads everything back through each of asks; throws with all that is wrong.
    async check(asks, ms = 30000) {
        const found = { losses: 0, duplicates: 0, 'refused but there': 0, other: this.wrong.length };
        const say = (kind, text) => (found[kind]++, this.wrong.push(text));
        let unheard = 0;
        for (const name of this.names) {
            let before = [], answer;
            for (const [i, ask] of asks.entries()) {
                const end = Date.now() + ms;
                while ((answer = await ask(`/all/${name}`)).status !== 200 && Date.now() < end) await sleep(50);
                if (answer.status !== 200) throw new Error(`${name} cannot be read through node ${i}: ${answer.status} ${answer.text}`);
                // What nobody heard of may still be executed; what was told once stays.
                const { rows } = JSON.parse(answer.text);
                if (before.some(([pos, id], k) => rows[k]?.[0] !== pos || rows[k][1] !== id)) say('other', `${name}: node ${i} tells something else than the one before`);
                before = rows;
            }
            const { count, rows } = JSON.parse(answer.text);
            const { attempts } = this.objects.get(name);
            const at = new Map();
            rows.forEach(([pos, id], i) => {
                const a = attempts.get(id);
                if (pos !== i + 1) say('other', `${name}: position ${pos} follows ${i}`);
                if (a === undefined) say('other', `${name}: ${id} was never sent`);
                if (at.has(id)) say('duplicates', `${name}: ${id} is there twice, at ${at.get(id)} and ${pos}`);
                if (a?.how === 'refused') say('refused but there', `${name}: ${id} was refused, and is there at ${pos}`);
                unheard += a?.how === 'lost' || a?.how === 'failed';
                at.set(id, pos);
            });
            if (count !== rows.length) say('other', `${name}: ${rows.length} rows, and ${count} stored beside them`);
            for (const [id, a] of attempts)
                if (a.how === 'done' && a.pos !== null && at.get(id) !== a.pos) say('losses', `${name}: ${id} was acknowledged at ${a.pos} and is at ${at.get(id)}`);
        }
        const total = [...this.objects.values()].reduce((n, o) => n + o.high, 0);
        console.log(`     ledger: ${total} entries; ${Object.entries(found).map(([k, n]) => `${k} ${n}`).join(', ')}; there without an answer: ${unheard}`);
        if (this.wrong.length > 0) throw new Error(`${this.wrong.length} wrong: ${this.wrong.slice(0, 10).join('\n')}`);
    }
};
