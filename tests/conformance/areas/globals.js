import { caught, check } from '../case.js';

const NAMES = `AbortController AbortSignal Blob ByteLengthQueuingStrategy CloseEvent CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream ErrorEvent Event EventSource EventTarget
    ExtendableEvent FetchEvent File FixedLengthStream FormData HTMLRewriter Headers IdentityTransformStream MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver
    PromiseRejectionEvent ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request Response ScheduledEvent SubtleCrypto TailEvent
    TextDecoder TextDecoderStream TextEncoder TextEncoderStream TraceEvent TransformStream TransformStreamDefaultController URL URLPattern URLSearchParams WebSocket WebSocketPair WebSocketRequestResponsePair WorkerGlobalScope
    ServiceWorkerGlobalScope WritableStream WritableStreamDefaultController WritableStreamDefaultWriter`.split(/\s+/);

check('every class exists', () => NAMES.filter((name) => typeof globalThis[name] !== 'function'), []);
check('every class has its name', () => NAMES.filter((name) => typeof globalThis[name] === 'function' && globalThis[name].name !== name && name !== 'TraceEvent'), []);
check('classes are not enumerable', () => NAMES.filter((name) => name !== 'ServiceWorkerGlobalScope' && Object.getOwnPropertyDescriptor(globalThis, name)?.enumerable), []);
check('functions', () => ['fetch', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'structuredClone', 'atob', 'btoa', 'reportError', 'addEventListener', 'removeEventListener', 'dispatchEvent']
    .filter((name) => typeof globalThis[name] !== 'function'), []);
check('objects', () => ['crypto', 'caches', 'console', 'navigator', 'performance', 'scheduler', 'self', 'process', 'Buffer', 'WebAssembly', 'Cloudflare'].filter((name) => !['object', 'function'].includes(typeof globalThis[name])), []);
check('self and global are globalThis', () => [self === globalThis, global === globalThis], [true, true]);
check('the global object', () => [Object.prototype.toString.call(globalThis), typeof window, typeof document], ['[object ServiceWorkerGlobalScope]', 'undefined', 'undefined'], {});
check('what is not there', () => ['Worker', 'SharedWorker', 'XMLHttpRequest', 'localStorage', 'require', 'module'].filter((name) => name in globalThis), []);
check('navigator', () => [navigator.userAgent, navigator instanceof Navigator, navigator.language, navigator.hardwareConcurrency], ['Cloudflare-Workers', true, 'en', 1]);
check('navigator.platform', () => navigator.platform, '', { celld: 'Linux', why: 'runtime.md 5.7' });
check('Cloudflare.compatibilityFlags', () => [typeof Cloudflare.compatibilityFlags, Cloudflare.compatibilityFlags.nodejs_compat, Object.isFrozen(Cloudflare.compatibilityFlags)], ['object', true, true], {});
check('origin', () => origin, 'null', {});
check('console has its methods', () => ['log', 'info', 'warn', 'error', 'debug', 'trace', 'assert', 'dir', 'table', 'group', 'groupEnd', 'count', 'countReset', 'time', 'timeLog', 'timeEnd'].filter((name) => typeof console[name] !== 'function'), []);
check('console returns nothing', () => [console.log('x', { a: 1 }, 5n, Symbol('s'), undefined), console.error(new Error('x'))], [undefined, undefined]);
check('globals can be replaced', () => {
    const before = globalThis.fetch;
    globalThis.fetch = () => 'mine';
    const seen = fetch();
    globalThis.fetch = before;
    globalThis.own = 1;
    const own = globalThis.own;
    delete globalThis.own;
    return [seen, own, 'own' in globalThis];
}, ['mine', 1, false]);
check('Intl and time zones', () => [new Intl.NumberFormat('de-DE').format(1234567.89), new Intl.DateTimeFormat('en-US', { timeZone: 'Asia/Tokyo', timeStyle: 'short' }).format(new Date(0)).replace(/\s/, ' '), 'ä'.localeCompare('z', 'de') < 0, new Date(0).getTimezoneOffset()],
    ['1.234.567,89', '9:00 AM', true, 0]);
check('Intl.Segmenter, ListFormat, PluralRules', () => [[...new Intl.Segmenter('en', { granularity: 'word' }).segment('a bc')].length, new Intl.ListFormat('en').format(['a', 'b', 'c']), new Intl.PluralRules('en', { type: 'ordinal' }).select(2)], [3, 'a, b, and c', 'two']);
check('normalize and locales', () => ['A\u030a'.normalize('NFC'), 'İ'.toLowerCase().length, 'ı'.toLocaleUpperCase('tr')], ['Å', 2, 'I']);
check('recent JavaScript', () => [Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even')), [3, 1].toSorted(), new Set([1, 2]).union(new Set([3])).size, [1, 2].at(-1), 'a-b'.replaceAll('-', '+'), /\p{Lu}/v.test('Ä'), Promise.withResolvers !== undefined],
    [{ odd: [1, 3], even: [2] }, [1, 3], 3, 2, 'a+b', true, true]);
check('iterator helpers and Array.fromAsync', async () => [[1, 2, 3].values().map((x) => x * 2).filter((x) => x > 2).toArray(), await Array.fromAsync([Promise.resolve(1), 2]), Iterator.from([1]).next().value], [[4, 6], [1, 2], 1]);
check('WeakRef and FinalizationRegistry', () => [typeof new WeakRef({}).deref(), typeof new FinalizationRegistry(() => {}).register], ['object', 'function']);
check('SharedArrayBuffer and Atomics', () => [Atomics.add(new Int32Array(new SharedArrayBuffer(4)), 0, 5), caught(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1))], [0, 'TypeError']);
check('WebAssembly has its parts', () => [typeof WebAssembly.Module, typeof WebAssembly.instantiate, typeof WebAssembly.Memory, new WebAssembly.Memory({ initial: 1 }).buffer.byteLength], ['function', 'function', 'function', 65536]);
check('an instance with memory and imports', async () => {
    const { Instance, Memory, Table } = WebAssembly;
    return [typeof Instance, new Table({ element: 'anyfunc', initial: 2 }).length, new Memory({ initial: 1, maximum: 2 }).grow(1)];
}, ['function', 2, 1]);
check('caches', async () => {
    const { default: cache } = caches;
    return [typeof cache.put, typeof cache.match, typeof cache.delete, typeof caches.open, cache instanceof Cache];
}, ['function', 'function', 'function', 'function', true]);
check('Buffer and process are lazy globals', () => [Buffer.from('ü').toString('hex'), process.platform, typeof process.nextTick], ['c3bc', 'linux', 'function']);
check('host objects are not reachable', () => Object.getOwnPropertyNames(globalThis).filter((name) => /^(host|__|internal|native|bootstrap)/i.test(name)), []);
check('proxies, symbols, generators', () => {
    const seen = [];
    const p = new Proxy({}, { get: (t, key) => (seen.push(key), 1) });
    return [p.a + p.b, seen, Symbol.for('x') === Symbol.for('x'), [...(function* () { yield* [1, 2]; })()]];
}, [2, ['a', 'b'], true, [1, 2]]);
check('monkey-patched built-ins harm nothing', async () => {
    const { push } = Array.prototype;
    const { then } = Promise.prototype;
    Array.prototype.push = () => { throw new Error('push'); };
    Promise.prototype.then = function (...args) { return Reflect.apply(then, this, args); };
    try {
        return [await new Response('fine').text(), new Headers({ a: '1' }).get('a'), new URL('http://a/b').pathname];
    } finally {
        Array.prototype.push = push;
        Promise.prototype.then = then;
    }
}, ['fine', '1', '/b']);
