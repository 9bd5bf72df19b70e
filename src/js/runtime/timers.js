// timers.js: setTimeout and its family, queueMicrotask, scheduler. runtime.md 5.7.
import { currentContext, expose, needContext, startTimer, stopTimer } from './core.js';
import { reportUncaught } from './events.js';
import { Map, Set } from './primordials.js';

const MAX_TIMERS = 10000;

let lastId = 0;
const running = new Map(); // number that users see -> { timer, context }

function add(fn, ms, args, repeat) {
    if (typeof fn !== 'function') throw new TypeError('The callback of a timer must be a function.');
    const context = needContext();
    const id = ++lastId;
    const delay = Math.min(Math.max(Number(ms) || 0, 0), 2 ** 31 - 1);
    if (context.timers !== null && context.timers.size >= MAX_TIMERS) {
        throw new Error(`You have exceeded the number of active timeouts you may set. max active timeouts: ${MAX_TIMERS}, current active timeouts: ${context.timers.size}, finished timeouts: 0`);
    }
    const entry = { timer: 0, context };
    const fire = () => {
        if (repeat) arm();
        else forget(id, context);
        try {
            fn.apply(globalThis, args);
        } catch (error) {
            reportUncaught(error, 'timer');
        }
    };
    const arm = () => (entry.timer = startTimer(context, repeat ? Math.max(delay, 1) : delay, fire));
    arm();
    running.set(id, entry);
    if (context.timerNumbers === null) {
        const numbers = (context.timerNumbers = new Set());
        context.onEnd(() => numbers.forEach((n) => running.delete(n)));
    }
    context.timerNumbers.add(id);
    return id;
}

function forget(id, context) {
    running.delete(id);
    context.timerNumbers.delete(id);
}

function stop(id) {
    const entry = running.get(Number(id));
    if (entry === undefined || entry.context !== currentContext()) return; // Of another event: not theirs to stop. runtime.md 2.7
    forget(Number(id), entry.context);
    stopTimer(entry.timer);
}

export const setTimeout = (fn, ms = 0, ...args) => add(fn, ms, args, false);
export const setInterval = (fn, ms = 0, ...args) => add(fn, ms, args, true);
export const setImmediate = (fn, ...args) => add(fn, 0, args, false);
export const clearTimeout = (id) => stop(id);
export const clearInterval = (id) => stop(id);
export const clearImmediate = (id) => stop(id);

const resolved = Promise.resolve();
export function queueMicrotask(fn) {
    if (typeof fn !== 'function') throw new TypeError("Failed to execute 'queueMicrotask' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'.");
    resolved.then(() => {
        try {
            fn();
        } catch (error) {
            reportUncaught(error, 'microtask');
        }
    });
}

export class Scheduler {
    async wait(ms, options) {
        const signal = options?.signal;
        signal?.throwIfAborted();
        return new Promise((resolve, reject) => {
            const id = setTimeout(() => {
                signal?.removeEventListener('abort', aborted);
                resolve();
            }, ms);
            function aborted() {
                clearTimeout(id);
                reject(signal.reason);
            }
            signal?.addEventListener('abort', aborted, { once: true });
        });
    }
}

for (const [name, value] of Object.entries({ setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, queueMicrotask })) {
    Object.defineProperty(value, 'name', { value: name, configurable: true }); // The bundler renames some.
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
}
expose({ Scheduler });
Object.defineProperty(globalThis, 'scheduler', { value: new Scheduler(), writable: true, configurable: true, enumerable: true });
