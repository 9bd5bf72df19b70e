import { bytes, caught, check } from '../case.js';

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
check('Uint8Array as base64 and hex', () => {
    const data = Uint8Array.from([0, 251, 255, 190, 1]);
    const into = new Uint8Array(4);
    return [
        data.toBase64(), data.toBase64({ alphabet: 'base64url', omitPadding: true }), data.toHex(),
        Uint8Array.fromBase64(' +/++AQ = = '), Uint8Array.fromBase64('-_--AQ', { alphabet: 'base64url' }), Uint8Array.fromHex('00fbFF'),
        into.setFromBase64('AAECAwQFBgc='), into, into.setFromHex('0a0b'), into,
        ['AA=', 'A', 'AB==', '+-'].map((text) => caught(() => Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' }))),
        ['0', 'zz'].map((text) => caught(() => Uint8Array.fromHex(text))),
        caught(() => Uint8Array.fromBase64('AA', { alphabet: 'none' })), caught(() => Uint8Array.fromBase64(1)), caught(() => Uint8Array.prototype.toHex.call([])),
    ];
}, [
    'APv/vgE=', 'APv_vgE', '00fbffbe01', bytes(251, 255, 190, 1), bytes(251, 255, 190, 1), bytes(0, 251, 255),
    { read: 4, written: 3 }, bytes(10, 11, 2, 0), { read: 4, written: 2 }, bytes(10, 11, 2, 0),
    Array(4).fill('SyntaxError'), Array(2).fill('SyntaxError'), 'TypeError', 'TypeError', 'TypeError',
]);
check('base64 of what changes meanwhile', () => {
    const data = new Uint8Array(new ArrayBuffer(4096, { maxByteLength: 8192 }));
    const shrinking = (fn) => caught(() => fn({ get alphabet() { data.buffer.resize(0); return 'base64'; } }));
    const detaching = (fn) => {
        const gone = new Uint8Array(4096);
        return caught(() => fn(gone, { get alphabet() { structuredClone(gone.buffer, { transfer: [gone.buffer] }); return 'base64'; } }));
    };
    return [shrinking((o) => data.toBase64(o)), shrinking((o) => data.setFromBase64('A'.repeat(4096), o)), detaching((gone, o) => gone.setFromBase64('A'.repeat(4096), o)), detaching((gone, o) => gone.toBase64(o))];
}, ['nothing was thrown', 'nothing was thrown', 'TypeError', 'TypeError']);
check('base64 that is not complete', () => {
    const seen = [];
    for (const text of ['AAAAB', 'AAAABB', 'AAAABB=', 'AAAABB==', 'AAAABB= =', 'AAAABBB', 'AAAABBB=', 'AAAABBB==', 'AAAA=', '=', ' ', 'AA\u00e9A', 'AAAA AAAAAAA', 'AAAAAAA*']) {
        for (const lastChunkHandling of ['loose', 'strict', 'stop-before-partial']) {
            for (const size of [0, 5, 9]) {
                const into = new Uint8Array(size).fill(7);
                try {
                    const { read, written } = into.setFromBase64(text, { lastChunkHandling });
                    seen.push(`${read}/${written} ${into.toHex().replace(/(07)+$/, '')}`);
                } catch (error) {
                    seen.push(`${error.name === 'SyntaxError' ? '!' : error.name} ${into.toHex().replace(/(07)+$/, '')}`);
                }
            }
        }
    }
    const hex = new Uint8Array(3);
    seen.push(caught(() => hex.setFromHex('0102zz')), hex.toHex(), caught(() => hex.setFromHex('010')), Uint8Array.fromBase64.length, hex.setFromHex.length, hex.toBase64.length, 'prototype' in hex.toHex);
    return seen.join(', ').match(/.{1,140}(, |$)/g);
}, [
    '0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ! 000000, 0/0 , 4/3 000000, 4/3 000000, 0/0 , 6/4 00000004, 6/4 00000004, 0/0 , ! 000000, ! 000000, ',
    '0/0 , 4/3 000000, 4/3 000000, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ! 000000, 0/0 , 4/3 000000, 4/3 000000, 0/0 , 8/4 00000004, ',
    '8/4 00000004, 0/0 , ! 000000, ! 000000, 0/0 , 8/4 00000004, 8/4 00000004, 0/0 , 9/4 00000004, 9/4 00000004, 0/0 , ! 000000, ! 000000, 0/0 , ',
    '9/4 00000004, 9/4 00000004, 0/0 , 7/5 0000000410, 7/5 0000000410, 0/0 , ! 000000, ! 000000, 0/0 , 4/3 000000, 4/3 000000, 0/0 , ',
    '8/5 0000000410, 8/5 0000000410, 0/0 , ! 000000, ! 000000, 0/0 , 8/5 0000000410, 8/5 0000000410, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ',
    '! 000000, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ! 000000, 0/0 , ! , ! , 0/0 , ! , ! , ',
    '0/0 , ! , ! , 0/0 , 1/0 , 1/0 , 0/0 , 1/0 , 1/0 , 0/0 , 1/0 , 1/0 , 0/0 , ! , ! , 0/0 , ! , ! , 0/0 , ! , ! , 0/0 , 4/3 000000, ',
    '12/8 0000000000000000, 0/0 , 4/3 000000, ! 000000000000, 0/0 , 4/3 000000, 9/6 000000000000, 0/0 , ! 000000, ! 000000, 0/0 , ! 000000, ',
    '! 000000, 0/0 , ! 000000, ! 000000, SyntaxError, 010200, SyntaxError, 1, 1, 0, false',
]);
check('what V8 has had since 13.7', () => [Math.sumPrecise, Iterator.concat, Map.prototype.getOrInsert, Map.prototype.getOrInsertComputed, WebAssembly.Suspending, WebAssembly.promising].map((f) => typeof f),
    Array(6).fill('function'), { celld: Array(6).fill('undefined'), why: 'celld runs on V8 13.6, which does not have Math.sumPrecise, Iterator.concat, Map.prototype.getOrInsert and WebAssembly.Suspending' });
check('WebAssembly is compiled from bytes', () => caught(() => new WebAssembly.Module(bytes(0, 97, 115, 109, 1, 0, 0, 0))), 'CompileError',
    { celld: 'nothing was thrown', why: 'runtime.md 3.3: new WebAssembly.Module(bytes) and WebAssembly.compile() are permitted' });
check('a memory that threads could share', () => caught(() => new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true })), 'nothing was thrown',
    { celld: 'TypeError', why: 'V8 counts nowhere what such a memory takes, and a Worker has no threads: it is refused, and so is a module that defines one' });
check('a cache', async () => {
    await caches.default.put('https://example.com/x', new Response('x', { headers: { 'cache-control': 'max-age=60' } }));
    return (await caches.default.match('https://example.com/x')) ?? null;
}, { threw: 'Error: No Cache was configured' }, { celld: null, why: 'runtime.md 5.7: caches keeps nothing: put() takes what a cache would, and match() never finds it' });
