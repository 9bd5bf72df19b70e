// builtin.js: the modules that celld brings: cloudflare:* and node:*. runtime.md 3.4, 3.5.
import { workersModule } from './workers.js';

const made = new Map();
const makers = {
    'cloudflare:workers': () => workersModule(),
};

// Modules of Node are known without their prefix too, but for these.
const PREFIX_ONLY = new Set(['node:test', 'node:test/reporters', 'node:sqlite', 'node:sea']);

function makerOf(name) {
    if (Object.hasOwn(makers, name)) return name;
    const node = `node:${name}`;
    return Object.hasOwn(makers, node) && !PREFIX_ONLY.has(node) ? node : undefined;
}

// The exports of a module, made when it is first asked for; undefined when there is none of that name.
export function builtinModule(name) {
    name = makerOf(name);
    if (name === undefined) return undefined;
    let exports = made.get(name);
    if (exports === undefined) made.set(name, (exports = makers[name]()));
    return exports;
}

// What `require` of a module of Node gives; undefined when there is none of that name.
export const nodeModule = (name) => (makerOf(name)?.startsWith('node:') ? builtinModule(name).default : undefined);
export const nodeModuleNames = () => Object.keys(makers).filter((name) => name.startsWith('node:'));

export const provideModule = (name, make) => (makers[name] = make);
