// node/cluster.js: node:cluster: a primary that can have no workers.
import EventEmitter from './events.js';
import { notImplemented } from './errors.js';

// A worker that is not connected to anything, and so is dead.
class Worker extends EventEmitter {
    constructor(options) {
        super(options);
        this._connected = false;
        this.id = 0;
        this.exitedAfterDisconnect = false;
    }
    get process() {
        return globalThis.process;
    }
    isConnected() {
        return this._connected;
    }
    isDead() {
        return true;
    }
    send() {
        return false;
    }
    kill() {
        this._connected = false;
    }
    destroy() {
        this._connected = false;
    }
    disconnect() {
        this._connected = false;
        return this;
    }
}
Object.defineProperty(Worker, 'name', { value: 'Worker', configurable: true });

class Cluster extends EventEmitter {
    SCHED_NONE = 1;
    SCHED_RR = 2;
    Worker = Worker;
    isMaster = true;
    isPrimary = true;
    isWorker = false;
    schedulingPolicy = 2;
    settings = {};
    workers = {};
    disconnect = notImplemented('cluster.disconnect');
    fork = notImplemented('cluster.fork');
    setupMaster = notImplemented('cluster.setupMaster');
    setupPrimary = notImplemented('cluster.setupPrimary');
}
const cluster = new Cluster();
// Named imports are of own properties.
const METHODS = [
    'on', 'once', 'off', 'emit', 'addListener', 'removeListener', 'removeAllListeners', 'setMaxListeners', 'getMaxListeners', 'listeners', 'rawListeners',
    'listenerCount', 'prependListener', 'prependOnceListener', 'eventNames',
];
for (const name of METHODS) cluster[name] = cluster[name].bind(cluster);
export default cluster;
