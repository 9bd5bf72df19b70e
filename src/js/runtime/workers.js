// workers.js: the module cloudflare:workers. runtime.md 3.4.
import { needContext } from './core.js';
import { env } from './bindings.js';

export class WorkerEntrypoint {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
}

export class RpcTarget {}

export const waitUntil = (promise) => needContext().waitUntil(promise);

export const workersModule = (exports) => ({
    WorkerEntrypoint,
    RpcTarget,
    waitUntil,
    env: env(),
    exports,
});
