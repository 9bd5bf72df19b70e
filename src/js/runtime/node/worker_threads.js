// node/worker_threads.js: node:worker_threads: there is one thread.
import { err, notImplemented } from './errors.js';

const path = (name) => `worker_threads.${name}`;
const environment = new Map();
const untransferable = new WeakSet();
const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
const rejecting = (name) => ({
    async [name]() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED(path(`Worker.${name}`));
    },
})[name];

class Worker extends require('./events.js').default {
    constructor() {
        super();
        throw err.ERR_METHOD_NOT_IMPLEMENTED(path('Worker'));
    }
}
for (const name of ['postMessage', 'postMessageToThread', 'ref', 'unref']) Worker.prototype[name] = notImplemented(path(`Worker.${name}`));
for (const name of ['terminate', 'getHeapSnapshot', 'getHeapStatistics']) Worker.prototype[name] = rejecting(name);
Object.defineProperty(Worker.prototype, Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose'), { value: Worker.prototype.terminate, writable: true, configurable: true });

class BroadcastChannel {
    constructor() {
        throw err.ERR_METHOD_NOT_IMPLEMENTED(path('BroadcastChannel'));
    }
}

export default {
    BroadcastChannel,
    MessageChannel: globalThis.MessageChannel,
    MessagePort: globalThis.MessagePort,
    SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
    Worker,
    getEnvironmentData: (key) => environment.get(key),
    isInternalThread: false,
    isMainThread: true,
    isMarkedAsUntransferable: (v) => isObject(v) && untransferable.has(v),
    markAsUncloneable() {},
    markAsUntransferable(v) {
        if (isObject(v)) untransferable.add(v);
    },
    moveMessagePortToContext: notImplemented(path('moveMessagePortToContext')),
    parentPort: null,
    postMessageToThread: notImplemented(path('postMessageToThread')),
    receiveMessageOnPort: () => undefined, // Messages come as events; none waits in a port.
    resourceLimits: {},
    setEnvironmentData(key, value) {
        if (value === undefined) environment.delete(key);
        else environment.set(key, value);
    },
    threadId: 0,
    workerData: null,
};
