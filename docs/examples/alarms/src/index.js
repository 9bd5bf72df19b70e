// Reminders of a person: POST /NAME?in=SECONDS with a text is answered at once, GET /NAME lists what is due later and what
// has come. An object has one alarm, set to the earliest of its reminders; it rings even if celld was restarted in between.
import { DurableObject } from 'cloudflare:workers';

export class Reminders extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        this.sql = ctx.storage.sql;
        this.sql.exec(`CREATE TABLE IF NOT EXISTS reminders (
            id INTEGER PRIMARY KEY, text TEXT NOT NULL, due INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0)`);
        this.sql.exec('CREATE INDEX IF NOT EXISTS by_due ON reminders (done, due)');
    }

    async add(text, seconds) {
        this.sql.exec('INSERT INTO reminders (text, due) VALUES (?, ?)', text, Date.now() + seconds * 1000);
        await this.setNext();
    }

    list() {
        const texts = (done) => this.sql.exec('SELECT text FROM reminders WHERE done = ? ORDER BY due', done).toArray().map((r) => r.text);
        return { later: texts(0), come: texts(1) };
    }

    // May run twice for one time, if it fails or the machine does: marking a reminder again does no harm.
    async alarm() {
        for (const { id, text } of this.sql.exec('SELECT id, text FROM reminders WHERE done = 0 AND due <= ?', Date.now()).toArray()) {
            console.log(`reminder for ${this.ctx.id.name}: ${text}`); // Here a real one would send a mail.
            this.sql.exec('UPDATE reminders SET done = 1 WHERE id = ?', id);
        }
        await this.setNext();
    }

    async setNext() {
        const { due } = this.sql.exec('SELECT min(due) AS due FROM reminders WHERE done = 0').one();
        if (due !== null) await this.ctx.storage.setAlarm(due);
    }
}

export default {
    async fetch(request, env) {
        const url = new URL(request.url);
        const reminders = env.REMINDERS.getByName(url.pathname.slice(1) || 'me');
        if (request.method === 'GET') return Response.json(await reminders.list());
        const seconds = Number(url.searchParams.get('in') ?? NaN);
        if (request.method !== 'POST' || !(seconds >= 0)) return new Response('POST a text to /NAME?in=SECONDS\n', { status: 400 });
        await reminders.add(await request.text(), seconds);
        return new Response('You will be reminded.\n', { status: 202 });
    },
};
