// node/diagnostics_channel.js: node:diagnostics_channel.
import { queueMicrotask } from '../timers.js';
import { err, validateFunction } from './errors.js';

const channels = new Map(); // name -> Channel
const state = new WeakMap(); // Channel -> { subscribers: [fn], stores: Map(storage -> transform) }

const report = (error) =>
    queueMicrotask(() => {
        throw error;
    });

export class Channel {
    constructor(name) {
        if (typeof name !== 'string' && typeof name !== 'symbol') throw err.ERR_INVALID_ARG_TYPE('channel', ['string', 'symbol'], name);
        this.name = name;
        state.set(this, { subscribers: [], stores: new Map() });
    }
    get hasSubscribers() {
        const s = state.get(this);
        return s.subscribers.length > 0 || s.stores.size > 0;
    }
    subscribe(fn) {
        validateFunction(fn, 'subscription');
        const s = state.get(this);
        s.subscribers = [...s.subscribers, fn];
    }
    unsubscribe(fn) {
        const s = state.get(this);
        const at = s.subscribers.indexOf(fn);
        if (at === -1) return false;
        s.subscribers = s.subscribers.toSpliced(at, 1);
        return true;
    }
    publish(message) {
        for (const fn of state.get(this).subscribers) {
            try {
                fn(message, this.name);
            } catch (error) {
                report(error); // A subscriber's mistake is not the publisher's.
            }
        }
    }
    bindStore(storage, transform) {
        state.get(this).stores.set(storage, transform);
    }
    unbindStore(storage) {
        return state.get(this).stores.delete(storage);
    }
    runStores(data, fn, self, ...args) {
        let run = () => {
            this.publish(data);
            return Reflect.apply(fn, self, args);
        };
        for (const [storage, transform] of state.get(this).stores) {
            const inner = run;
            run = () => {
                let value = data;
                if (transform !== undefined) {
                    try {
                        value = transform(data);
                    } catch (error) {
                        report(error);
                        return inner();
                    }
                }
                return storage.run(value, inner);
            };
        }
        return run();
    }
}

export function channel(name) {
    let c = channels.get(name);
    if (c === undefined) {
        c = new Channel(name);
        channels.set(name, c);
    }
    return c;
}
export const subscribe = (name, fn) => channel(name).subscribe(fn);
export const unsubscribe = (name, fn) => channel(name).unsubscribe(fn);
export const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

export class TracingChannel {
    constructor(source) {
        if (typeof source === 'string') {
            for (const name of EVENTS) this[name] = channel(`tracing:${source}:${name}`);
        } else if (source !== null && typeof source === 'object') {
            for (const name of EVENTS) {
                if (!(source[name] instanceof Channel)) throw err.ERR_INVALID_ARG_TYPE(`nameOrChannels.${name}`, ['Channel'], source[name]);
                this[name] = source[name];
            }
        } else {
            throw err.ERR_INVALID_ARG_TYPE('nameOrChannels', ['string', 'object', 'Channel'], source);
        }
    }
    get hasSubscribers() {
        return EVENTS.some((name) => this[name].hasSubscribers);
    }
    subscribe(handlers) {
        for (const name of EVENTS) if (handlers[name]) this[name].subscribe(handlers[name]);
    }
    unsubscribe(handlers) {
        let done = true;
        for (const name of EVENTS) if (handlers[name] && !this[name].unsubscribe(handlers[name])) done = false;
        return done;
    }
    traceSync(fn, context = {}, self, ...args) {
        if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
        return this.start.runStores(context, () => {
            try {
                return (context.result = Reflect.apply(fn, self, args));
            } catch (error) {
                context.error = error;
                this.error.publish(context);
                throw error;
            } finally {
                this.end.publish(context);
            }
        });
    }
    tracePromise(fn, context = {}, self, ...args) {
        if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
        const settled = (key, value) => {
            context[key] = value;
            if (key === 'error') this.error.publish(context);
            this.asyncStart.publish(context);
            this.asyncEnd.publish(context);
        };
        return this.start.runStores(context, () => {
            try {
                let promise = Reflect.apply(fn, self, args);
                if (!(promise instanceof Promise)) promise = Promise.resolve(promise);
                return promise.then(
                    (result) => {
                        settled('result', result);
                        return result;
                    },
                    (error) => {
                        settled('error', error);
                        throw error;
                    },
                );
            } catch (error) {
                context.error = error;
                this.error.publish(context);
                throw error;
            } finally {
                this.end.publish(context);
            }
        });
    }
    traceCallback(fn, position = -1, context = {}, self, ...args) {
        if (!this.hasSubscribers) return Reflect.apply(fn, self, args);
        const { asyncStart, asyncEnd, error: errorChannel } = this;
        const callback = args.at(position);
        validateFunction(callback, 'callback');
        function wrapped(error, result) {
            if (error) {
                context.error = error;
                errorChannel.publish(context);
            } else {
                context.result = result;
            }
            return asyncStart.runStores(context, () => {
                try {
                    return Reflect.apply(callback, this, arguments);
                } finally {
                    asyncEnd.publish(context);
                }
            });
        }
        args.splice(position, 1, wrapped);
        return this.start.runStores(context, () => {
            try {
                return Reflect.apply(fn, self, args);
            } catch (error) {
                context.error = error;
                this.error.publish(context);
                throw error;
            } finally {
                this.end.publish(context);
            }
        });
    }
}
export const tracingChannel = (source) => new TracingChannel(source);

export default { Channel, channel, hasSubscribers, subscribe, tracingChannel, unsubscribe };
