// A rate limiter: one object for each client. A bucket of tokens for bursts, kept in memory and written when it
// changes; a sliding window for the day, kept in SQL; an alarm clears what nobody uses any more.
import { DurableObject } from 'cloudflare:workers';

interface Env {
    LIMITER: DurableObjectNamespace<Limiter>;
    BUCKET: number;
    REFILL_MS: number;
    WINDOW_LIMIT: number;
    WINDOW_MS: number;
}

type Verdict = { allowed: boolean; remaining: number; retryAfterMs: number; by?: 'bucket' | 'window' };

export class Limiter extends DurableObject<Env> {
    tokens: number;
    at: number;

    constructor(ctx: DurableObjectState, env: Env) {
        super(ctx, env);
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS hits (at INTEGER NOT NULL)');
        const { tokens, at } = ctx.storage.kv.get<{ tokens: number; at: number }>('bucket') ?? { tokens: env.BUCKET, at: Date.now() };
        this.tokens = tokens;
        this.at = at;
    }

    take(): Verdict {
        const now = Date.now();
        const { BUCKET, REFILL_MS, WINDOW_LIMIT, WINDOW_MS } = this.env;
        const { sql, kv } = this.ctx.storage;
        const gained = Math.floor((now - this.at) / REFILL_MS);
        this.tokens = Math.min(BUCKET, this.tokens + gained);
        this.at = this.tokens === BUCKET ? now : this.at + gained * REFILL_MS;
        sql.exec('DELETE FROM hits WHERE at <= ?', now - WINDOW_MS);
        const { n, first } = sql.exec<{ n: number; first: number }>('SELECT count(*) AS n, min(at) AS first FROM hits').one();
        if (n >= WINDOW_LIMIT) return { allowed: false, remaining: 0, retryAfterMs: first + WINDOW_MS - now, by: 'window' };
        if (this.tokens === 0) return { allowed: false, remaining: 0, retryAfterMs: this.at + REFILL_MS - now, by: 'bucket' };
        this.tokens--;
        sql.exec('INSERT INTO hits VALUES (?)', now);
        kv.put('bucket', { tokens: this.tokens, at: this.at });
        this.ctx.storage.setAlarm(now + WINDOW_MS);
        return { allowed: true, remaining: Math.min(this.tokens, WINDOW_LIMIT - n - 1), retryAfterMs: 0 };
    }

    async alarm() {
        await this.ctx.storage.deleteAll();
        this.ctx.abort('unused');
    }
}

export default {
    async fetch(request: Request, env: Env) {
        const client = request.headers.get('x-client') ?? request.headers.get('cf-connecting-ip');
        if (client === null) return new Response('who are you?', { status: 400 });
        const { allowed, remaining, retryAfterMs, by } = await env.LIMITER.getByName(client).take();
        const headers = { 'x-remaining': String(remaining) };
        if (allowed) return new Response('welcome', { headers });
        return new Response(`slow down (${by})`, { status: 429, headers: { ...headers, 'retry-after': String(Math.ceil(retryAfterMs / 1000)), 'x-retry-ms': String(retryAfterMs) } });
    },
} satisfies ExportedHandler<Env>;
