// A counter for each name: GET /NAME tells it, POST /NAME counts. What POST has answered is never lost.
import { DurableObject } from 'cloudflare:workers';

export class Counter extends DurableObject {
    async value() {
        return (await this.ctx.storage.get('count')) ?? 0;
    }

    async increment(by = 1) {
        const count = (await this.value()) + by;
        await this.ctx.storage.put('count', count);
        return count;
    }
}

export default {
    async fetch(request, env) {
        const url = new URL(request.url);
        const counter = env.COUNTER.getByName(url.pathname.slice(1) || 'default');
        switch (request.method) {
            case 'GET': return new Response(`${await counter.value()}\n`);
            case 'POST': return new Response(`${await counter.increment()}\n`);
            default: return new Response(null, { status: 405, headers: { allow: 'GET, POST' } });
        }
    },
};
