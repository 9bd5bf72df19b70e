// globalThis: every name of the Workers API, performance, navigator, caches, compatibility flags.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

// The members of ServiceWorkerGlobalScope and WorkerGlobalScope in @cloudflare/workers-types 5.20261117.1.
const NAMES = `DOMException WorkerGlobalScope btoa atob setTimeout clearTimeout setInterval clearInterval queueMicrotask structuredClone
    reportError fetch self crypto caches scheduler performance Cloudflare origin Event ExtendableEvent CustomEvent PromiseRejectionEvent
    FetchEvent TailEvent TraceEvent ScheduledEvent MessageEvent CloseEvent ReadableStreamDefaultReader ReadableStreamBYOBReader
    ReadableStream WritableStream WritableStreamDefaultWriter TransformStream ByteLengthQueuingStrategy CountQueuingStrategy ErrorEvent
    MessageChannel MessagePort EventSource ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableByteStreamController
    WritableStreamDefaultController TransformStreamDefaultController Buffer process global setImmediate clearImmediate
    CompressionStream DecompressionStream TextEncoderStream TextDecoderStream Headers Body Request Response WebSocket WebSocketPair
    WebSocketRequestResponsePair AbortController AbortSignal TextDecoder TextEncoder navigator Navigator URL URLSearchParams URLPattern
    Blob File FormData Crypto SubtleCrypto CryptoKey CacheStorage Cache FixedLengthStream IdentityTransformStream HTMLRewriter
    Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceResourceTiming PerformanceObserver
    PerformanceObserverEntryList EventTarget addEventListener removeEventListener dispatchEvent importScripts console WebAssembly
    ServiceWorkerGlobalScope BroadcastChannel`.split(/\s+/);
// Others bring these.
const LATER = new Set(['Buffer', 'process', 'crypto']);

test('every name of the Workers API exists', () => {
    same(NAMES.filter((name) => !(name in globalThis) && !LATER.has(name)), []);
    same(['Worker', 'SharedWorker', 'XMLHttpRequest', 'window', 'document'].filter((name) => name in globalThis), []);
});

test('classes are not enumerable, and know their names', () => {
    for (const name of NAMES) {
        const d = Object.getOwnPropertyDescriptor(globalThis, name);
        if (d === undefined || typeof d.value !== 'function' || !/^[A-Z]/.test(name)) continue;
        same([name, d.enumerable, d.value.name], [name, false, name]);
    }
});

test('navigator, origin, importScripts', () => {
    same([navigator.userAgent, navigator.hardwareConcurrency, navigator.platform, navigator.language, navigator.languages], ['Cloudflare-Workers', 1, 'Linux', 'en', ['en']]);
    ok(navigator instanceof Navigator, 'its class');
    throws(() => new Navigator(), 'TypeError');
    equal(origin, 'null');
    throws(() => importScripts('x'), 'Error', 'importScripts() is not implemented in celld.');
});

test('compatibility flags are those that are on', () => {
    const flags = Cloudflare.compatibilityFlags;
    ok(Object.isFrozen(flags) && Object.getPrototypeOf(flags) === null, 'frozen, bare');
    same([flags.url_standard, flags.js_rpc, flags.nonsense], [true, undefined, undefined]);
});

test('performance: the clock', async () => {
    equal(performance.timeOrigin, 0);
    equal(performance.now(), Date.now());
    ok(performance instanceof EventTarget && performance instanceof Performance, 'its classes');
    const before = performance.now();
    await scheduler.wait(3);
    ok(performance.now() > before, 'goes on');
    same(performance.toJSON(), { timeOrigin: 0 });
});

test('performance: marks and measures', () => {
    const mark = performance.mark('a', { startTime: 5, detail: { x: 1 } });
    ok(mark instanceof PerformanceMark && mark instanceof PerformanceEntry, 'a mark');
    same(mark, { name: 'a', entryType: 'mark', startTime: 5, duration: 0, detail: { x: 1 } });
    performance.mark('b', { startTime: 25 });
    const measure = performance.measure('m', 'a', 'b');
    same([measure.startTime, measure.duration, measure.entryType, measure.detail], [5, 20, 'measure', null]);
    same([performance.measure('n', { start: 1, duration: 4 }).duration, performance.measure('o', { end: 10, duration: 4 }).startTime], [4, 6]);
    same(performance.getEntries().map((e) => e.name), ['n', 'a', 'm', 'o', 'b']);
    same(performance.getEntriesByType('mark').map((e) => e.name), ['a', 'b']);
    same(performance.getEntriesByName('m', 'mark'), []);
    performance.clearMarks('a');
    performance.clearMeasures();
    same(performance.getEntries().map((e) => e.name), ['b']);
    performance.clearMarks();
    throws(() => performance.mark(), 'TypeError');
    throws(() => performance.mark('x', { startTime: -1 }), 'TypeError');
    throws(() => performance.measure('x', { start: 1 }, 'b'), 'TypeError');
    throws(() => performance.measure('x', { start: 1, end: 2, duration: 3 }), 'TypeError');
    throws(() => performance.measure('x', { duration: 3 }), 'TypeError');
    throws(() => new PerformanceEntry(), 'TypeError');
});

test('observers exist', () => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ entryTypes: ['mark'] });
    same([observer.takeRecords(), PerformanceObserver.supportedEntryTypes], [[], ['mark', 'measure']]);
});

test('a cache checks and holds nothing', async () => {
    const cache = await caches.open('mine');
    ok(cache instanceof Cache && caches.default instanceof Cache, 'its class');
    const response = new Response('body');
    equal(await cache.put('http://x/', response), undefined);
    equal(response.bodyUsed, true);
    equal(await cache.match('http://x/'), undefined);
    equal(await caches.default.delete(new Request('http://x/')), false);
    await rejects(cache.put(new Request('http://x/', { method: 'POST' }), new Response('')), 'TypeError', 'Cannot cache response to non-GET request.');
    await rejects(cache.put('http://x/', new Response('', { status: 206 })), 'TypeError', /206/);
    await rejects(cache.put('http://x/', new Response('', { headers: { Vary: 'a, *' } })), 'TypeError', /Vary/);
    await rejects(caches.open('n'.repeat(1024)), 'TypeError');
    await rejects(cache.match('nope'), 'TypeError');
});

export default run;
