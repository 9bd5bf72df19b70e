// The Worker behind the binding. It has no address of its own: only other Workers reach it.
import { WorkerEntrypoint } from 'cloudflare:workers';

export default class extends WorkerEntrypoint {
    greet(name, { loud = false } = {}) {
        if (name === '') throw new RangeError('Whom shall I greet?');
        const text = `${this.env.GREETING}, ${name}`;
        return { text: loud ? text.toUpperCase() : text, length: text.length };
    }
    async fetch(request) {
        return new Response(`greeter got ${request.method} with ${(await request.text()).length} characters\n`);
    }
}

export class Admin extends WorkerEntrypoint {
    greeting() {
        return this.env.GREETING;
    }
}
