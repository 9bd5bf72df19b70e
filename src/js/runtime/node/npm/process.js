// node/npm/process.js: what the package readable-stream finds as process. Not the real one: that one needs streams.
import { queueMicrotask } from '../../timers.js';

export const nextTick = (fn, ...args) => queueMicrotask(() => fn(...args));
export const emitWarning = (...args) => globalThis.process.emitWarning(...args);
export const env = {};
