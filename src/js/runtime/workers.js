// workers.js: the module cloudflare:workers. runtime.md 3.4.
import { currentFrame, frameWith, needContext, runIn, shape } from './core.js';
import { env } from './bindings.js';
import { RpcPromise, RpcProperty, RpcStub } from './rpc.js';
import { RpcTarget } from './rpc_target.js';
import { Fetcher } from './service.js';
import { loopback } from './worker.js';

export class WorkerEntrypoint {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
}
export class DurableObject {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
}
export class WorkflowEntrypoint {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
}
for (const cls of [WorkerEntrypoint, DurableObject, WorkflowEntrypoint]) shape(cls);

// ---- env and exports: what holds where the code runs

const NOTHING = Object.freeze({});
const ENV = { toString: () => 'env' }, EXPORTS = { toString: () => 'exports' }; // Keys of a frame's store.

// An object that is, at each access, the one of the frame, or else the worker's own.
function live(key, own) {
    const now = () => currentFrame()?.store?.get(key) ?? own();
    return new Proxy({}, {
        get: (_, name) => Reflect.get(now(), name),
        set: (_, name, value) => Reflect.set(now(), name, value),
        has: (_, name) => Reflect.has(now(), name),
        deleteProperty: (_, name) => Reflect.deleteProperty(now(), name),
        ownKeys: () => Reflect.ownKeys(now()),
        defineProperty: (_, name, d) => Reflect.defineProperty(now(), name, { ...d, configurable: true }),
        getOwnPropertyDescriptor(_, name) {
            const d = Reflect.getOwnPropertyDescriptor(now(), name);
            return d === undefined ? undefined : { ...d, configurable: true };
        },
    });
}

// Runs fn with other values of these, also in what it awaits.
function runWith(pairs, fn, what) {
    if (typeof fn !== 'function') throw new TypeError(`The last argument of ${what} is not a function.`);
    const frame = currentFrame();
    const store = new Map(frame?.store ?? []);
    for (const [key, value] of pairs) {
        if (value === null || value === undefined) store.set(key, NOTHING);
        else if (typeof value === 'object' || typeof value === 'function') store.set(key, value);
        else store.delete(key);
    }
    return runIn(frameWith(store), fn, undefined);
}

export const waitUntil = (promise) => needContext().waitUntil(promise);

export const workersModule = () => ({
    DurableObject,
    WorkerEntrypoint,
    WorkflowEntrypoint,
    RpcTarget,
    RpcStub,
    RpcPromise,
    RpcProperty,
    ServiceStub: Fetcher,
    waitUntil,
    env: live(ENV, env),
    exports: live(EXPORTS, loopback),
    withEnv: (value, fn) => runWith([[ENV, value]], fn, 'withEnv'),
    withExports: (value, fn) => runWith([[EXPORTS, value]], fn, 'withExports'),
    withEnvAndExports: (value, exports, fn) => runWith([[ENV, value], [EXPORTS, exports]], fn, 'withEnvAndExports'),
});
