// builtin.js: the modules that celld brings: cloudflare:* and node:*. runtime.md 3.4, 3.5.
import { workersModule } from './workers.js';

let loopback = {};
export const setExports = (ns) => (loopback = ns);

const made = new Map();
const makers = {
    'cloudflare:workers': () => workersModule(loopback),
};

// The exports of a module, made when it is first asked for; undefined when there is none of that name.
export function builtinModule(name) {
    if (!Object.hasOwn(makers, name)) return undefined;
    let exports = made.get(name);
    if (exports === undefined) made.set(name, (exports = makers[name]()));
    return exports;
}

export const provideModule = (name, make) => (makers[name] = make);
