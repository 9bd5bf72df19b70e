// caches.js: caches, a cache that never holds anything. runtime.md 5.7.
//
// It checks what it is given as a cache would, so that a mistake shows, and reads what is put into it to the end.
import { expose, needContext } from './core.js';
import { illegalClass } from './events.js';
import { isRequest, isResponse, Request } from './http.js';

const CACHE_NAME_MAX = 1024;
const make = (cls) => Object.create(cls.prototype);

const keyOf = (request) => (isRequest(request) ? request : new Request(request));
const needArguments = (count, given, what) => {
    if (given < count) throw new TypeError(`Failed to execute '${what}' on 'Cache': ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};

export const Cache = illegalClass('Cache');
Object.assign(Cache.prototype, {
    async match(request) {
        needArguments(1, arguments.length, 'match');
        needContext();
        keyOf(request);
        return undefined;
    },
    async delete(request) {
        needArguments(1, arguments.length, 'delete');
        needContext();
        keyOf(request);
        return false;
    },
    async put(request, response) {
        needArguments(2, arguments.length, 'put');
        needContext();
        const key = keyOf(request);
        if (!isResponse(response)) throw new TypeError("Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'.");
        if (response.type === 'error') throw new TypeError('Cache is unable to store an error response');
        if (key.method !== 'GET') throw new TypeError('Cannot cache response to non-GET request.');
        if (response.status === 206) throw new TypeError('Cannot cache response to a range request (206 Partial Content).');
        if ((response.headers.get('vary') ?? '').includes('*')) throw new TypeError("Cannot cache response with 'Vary: *' header.");
        if (response.webSocket !== null || response.status === 101) throw new TypeError('Cannot cache WebSocket upgrade response.');
        if (response.bodyUsed || response.body?.locked) throw new TypeError('Body has already been used. It can only be used once. Use tee() first if you need to read it twice.');
        if (response.body === null) return;
        const reader = response.body.getReader();
        while (!(await reader.read()).done);
    },
});

const all = make(Cache);
export const CacheStorage = illegalClass('CacheStorage');
Object.defineProperty(CacheStorage.prototype, 'default', { get: () => all, enumerable: true, configurable: true });
Object.assign(CacheStorage.prototype, {
    async open(name) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'open' on 'CacheStorage': 1 argument required, but only 0 present.");
        if (`${name}`.length >= CACHE_NAME_MAX) throw new TypeError(`The name of a cache has fewer than ${CACHE_NAME_MAX} characters.`);
        return make(Cache);
    },
});

expose({ Cache, CacheStorage });
Object.defineProperty(globalThis, 'caches', { value: make(CacheStorage), writable: true, configurable: true, enumerable: true });
