// node/index.js: which node: modules there are. Each is evaluated when it is first asked for. runtime.md 3.5.
import { provideModule } from '../builtin.js';
import { stub, stubNames } from './stubs.js';

// The bundler renames what several files call the same; to users things are called as they are exported.
function named(object) {
    for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
        const { value } = d;
        if (typeof value === 'function' && value.name !== key && /^_?\w+?\d*$/.test(value.name) && value.name.replace(/^_|\d+$/g, '') === key) {
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

for (const name of stubNames) provide(name, () => stub(name));
provide('assert', () => require('./assert.js').default);
provide('assert/strict', () => require('./assert.js').strict);
provide('async_hooks', () => require('./async_hooks.js').default);
provide('buffer', () => require('./buffer.js').default);
provide('console', () => require('./console.js').default);
provide('constants', () => require('./constants.js').default);
provide('crypto', () => require('./crypto/index.js').default);
provide('diagnostics_channel', () => require('./diagnostics_channel.js').default);
provide('events', () => require('./events.js').default);
provide('fs', () => require('./fs.js').default);
provide('fs/promises', () => require('./fs.js').promises);
provide('cluster', () => require('./cluster.js').default);
provide('readline', () => require('./readline.js').default);
provide('readline/promises', () => require('./readline.js').promises);
provide('repl', () => require('./repl.js').default);
provide('tty', () => require('./tty.js').default);
provide('worker_threads', () => require('./worker_threads.js').default);
provide('dns', () => require('./dns.js').dns);
provide('dns/promises', () => require('./dns.js').promises);
provide('http', () => require('./http.js').http);
provide('https', () => require('./http.js').https);
provide('_http_agent', () => ({ Agent: require('./http.js').http.Agent, globalAgent: require('./http.js').http.globalAgent }));
provide('_http_client', () => ({ ClientRequest: require('./http.js').http.ClientRequest }));
provide('_http_incoming', () => ({ IncomingMessage: require('./http.js').http.IncomingMessage, readStart() {}, readStop() {} }));
provide('module', () => require('./module.js').default);
provide('os', () => require('./os.js').default);
provide('path', () => require('./path.js').default);
provide('path/posix', () => require('./path.js').posix);
provide('path/win32', () => require('./path.js').win32);
provide('perf_hooks', () => require('./perf_hooks.js').default);
provide('process', () => require('./process.js').default);
provide('punycode', () => require('./punycode.js').default);
provide('querystring', () => require('./querystring.js').default);
provide('stream', () => require('./stream.js').default);
provide('stream/consumers', () => require('./stream_consumers.js').default);
provide('stream/promises', () => require('./stream.js').default.promises);
provide('stream/web', () => require('./stream_web.js').default);
provide('string_decoder', () => require('./string_decoder.js').default);
provide('sys', () => require('./util.js').default);
provide('test', () => require('./test.js').default);
provide('timers', () => require('./timers.js').default);
provide('timers/promises', () => require('./timers.js').promises);
provide('url', () => require('./url.js').default);
provide('util', () => require('./util.js').default);
provide('util/types', () => require('./util.js').utilTypes);
provide('zlib', () => require('./zlib.js').default);

// Globals that are made when they are first used.
function lazyGlobal(name, make) {
    const set = (value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    Object.defineProperty(globalThis, name, {
        get() {
            const value = make();
            set(value);
            return value;
        },
        set,
        configurable: true,
        enumerable: false,
    });
}
lazyGlobal('Buffer', () => require('./buffer.js').Buffer);
lazyGlobal('process', () => require('./process.js').default);
