// main.js: the prelude. What it exports is what C calls (../worker.c); what it gives to user code is on globalThis.
import './events.js';
import './console.js';
import './timers.js';
import { complete, expose, fireTimer } from './core.js';
import { Body } from './body.js';
import { Headers } from './headers.js';
import { Request, Response } from './http.js';
import { builtinModule } from './builtin.js';
import { fetch, gone, load, run, setup } from './worker.js';

const { report } = host;

expose({ Body, Headers, Request, Response });
for (const name of ['self', 'global']) {
    Object.defineProperty(globalThis, name, { value: globalThis, writable: true, configurable: true, enumerable: true });
}

// [unhandled?, promise, reason, ...] since the last look. runtime.md 2.11.
function rejections(list) {
    for (let i = 0; i < list.length; i += 3) {
        if (!list[i]) continue;
        let handled = false;
        for (let j = i + 3; j < list.length; j += 3) handled ||= !list[j] && list[j + 1] === list[i + 1];
        if (!handled) report('promise', list[i + 2]);
    }
}

export default { setup, builtin: builtinModule, load, complete, timer: fireTimer, fetch, run, gone, rejections };
