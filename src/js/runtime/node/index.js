// node/index.js: which node: modules there are. Each is evaluated when it is first asked for. runtime.md 3.5.
import { provideModule } from '../builtin.js';

// The bundler renames what several files call the same; to users things are called as they are exported.
function named(object) {
    for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
        const { value } = d;
        if (typeof value === 'function' && value.name !== key && /^\w+\d$/.test(value.name) && value.name.startsWith(key)) {
            Object.defineProperty(value, 'name', { value: key, configurable: true });
        }
    }
    return object;
}

function provide(name, make) {
    provideModule(`node:${name}`, () => {
        const object = named(make());
        return { ...object, default: object };
    });
}

provide('assert', () => require('./assert.js').default);
provide('assert/strict', () => require('./assert.js').strict);
provide('test', () => require('./test.js').default);
provide('util', () => require('./util.js').default);
provide('util/types', () => require('./util.js').utilTypes);
provide('sys', () => require('./util.js').default);
