// User code that patches what every script shares: it sees nothing of the runtime's own, and requests are answered all the same.
import { equal, run, same, test } from 'harness.js';
import { WorkerEntrypoint } from 'cloudflare:workers';

export class Other extends WorkerEntrypoint {
    async fetch(request) {
        switch (new URL(request.url).pathname) {
            case '/json': return Response.json({ a: [1] }, { headers: { 'x-a': 'b', 'set-cookie': 'c=1' } });
            case '/stream': return new Response(new Blob(['one ', 'two']).stream());
            case '/socket': {
                const pair = new WebSocketPair();
                pair[1].accept();
                pair[1].addEventListener('message', ({ data }) => pair[1].send(`echo ${data}`));
                return new Response(null, { status: 101, webSocket: pair[0] });
            }
            case '/wait':
                setTimeout(() => {}, 1000);
                AbortSignal.timeout(1000);
                this.ctx.waitUntil(scheduler.wait(1));
                await scheduler.wait(1);
        }
        return new Response(`got ${await request.text()}`);
    }
}

// What a Worker does; what it gets.
async function work(env) {
    const { signal } = new AbortController();
    const text = await (await env.OTHER.fetch('http://x/wait', { method: 'POST', body: 'text', signal })).text();
    const json = await env.OTHER.fetch('http://x/json');
    const { webSocket } = await env.OTHER.fetch('http://x/socket');
    webSocket.accept();
    const answer = new Promise((resolve) => webSocket.addEventListener('message', ({ data }) => resolve(data)));
    webSocket.send('hi');
    const { port1, port2 } = new MessageChannel();
    const posted = new Promise((resolve) => (port2.onmessage = ({ data }) => resolve(data)));
    port1.postMessage('post');
    const lost = await fetch('http://127.0.0.1:1/').catch((error) => error.message);
    const dead = new WebSocket('ws://127.0.0.1:1/');
    const failed = new Promise((resolve) => dead.addEventListener('close', ({ code }) => resolve(code)));
    return [text, json.headers.get('x-a'), (await json.json()).a[0], await (await env.OTHER.fetch('http://x/stream')).text(), await answer, await posted, lost, await failed];
}
const RESULT = ['got text', 'b', 1, 'one two', 'echo hi', 'post', 'Network connection lost.', 1006];

// A context of an event, or something that leads to one. Plain data of the runtime shows by its properties.
const holdsContext = (v, depth = 3) => {
    if (v === null || (typeof v !== 'object' && typeof v !== 'function') || depth === 0) return false;
    const has = (key) => Object.getOwnPropertyDescriptor(v, key) !== undefined;
    if (has('holds') && has('settledAt')) return true;
    return Reflect.ownKeys(v).some((key) => {
        const d = Object.getOwnPropertyDescriptor(v, key);
        return 'value' in d && holdsContext(d.value, depth - 1);
    });
};

// Runs fn while the functions are replaced by ones that keep what they see, and says which of them saw a context.
async function watching(places, fn) {
    const seen = [];
    let at = 0;
    const undo = places.map(([object, key]) => {
        const before = Object.getOwnPropertyDescriptor(object, key);
        const original = before.value;
        const { apply } = Reflect;
        const replaced = function (...args) {
            seen[at++] = [key, this, args];
            return apply(original, this, args);
        };
        Object.defineProperty(object, key, { ...before, value: replaced });
        return () => Object.defineProperty(object, key, before);
    });
    let result;
    try {
        result = await fn();
    } finally {
        undo.forEach((f) => f());
    }
    const leaks = seen.filter(([, self, args]) => holdsContext(self) || args.some((arg) => holdsContext(arg)));
    return [result, [...new Set(leaks.map(([key]) => String(key)))]];
}

const methodsOf = (...classes) =>
    classes.flatMap(({ prototype }) => Reflect.ownKeys(prototype).filter((key) => key !== 'constructor' && typeof Object.getOwnPropertyDescriptor(prototype, key).value === 'function').map((key) => [prototype, key]));

test('collections and their iterators', async (env) => {
    const iterators = [new Map(), new Set()].map((c) => [Object.getPrototypeOf(c[Symbol.iterator]()), 'next']);
    const [result, leaks] = await watching([...methodsOf(Map, Set, WeakMap, WeakSet), ...iterators], () => work(env));
    same(result, RESULT);
    same(leaks, []);
});
test('arrays, promises, functions', async (env) => {
    const places = [...methodsOf(Array), [Promise.prototype, 'then'], [Promise, 'resolve'], [Reflect, 'apply'], [Function.prototype, 'call'], [Function.prototype, 'apply']];
    const [result, leaks] = await watching(places, () => work(env));
    same(result, RESULT);
    same(leaks, []);
});
test('setters of Object.prototype', async (env) => {
    const names = ['context', 'frame', 'store', 'section', 'owner', 'task', 'wire', 'target', 'link', 'peer', 'session', 'gate', 'traffic', 'timers', 'leave', 'reject'];
    let at = 0;
    const seen = [];
    for (const name of names) {
        Object.defineProperty(Object.prototype, name, {
            configurable: true,
            set(value) {
                seen[at++] = [name, this, value];
                Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true });
            },
        });
    }
    let result;
    try {
        result = await work(env);
    } finally {
        for (const name of names) delete Object.prototype[name];
    }
    same(result, RESULT);
    same([...new Set(seen.filter(([, self, value]) => holdsContext(self) || holdsContext(value)).map(([name]) => name))], []);
});
test('push() that fails', async (env) => {
    const { push } = Array.prototype;
    Array.prototype.push = () => {
        throw new Error('patched');
    };
    try {
        const [answer, stream] = [await env.OTHER.fetch('http://x/json'), await env.OTHER.fetch('http://x/stream')];
        const result = [[...answer.headers], answer.headers.get('x-a'), await answer.text(), await stream.text()];
        Array.prototype.push = push;
        same(result, [[['content-type', 'application/json'], ['set-cookie', 'c=1'], ['x-a', 'b']], 'b', '{"a":[1]}', 'one two']);
    } finally {
        Array.prototype.push = push;
    }
});
test('Object.prototype.then sees no chunk of a body', async () => {
    const utf8 = new TextEncoder();
    const streamOf = (...chunks) => new ReadableStream({
        start(controller) {
            for (const chunk of chunks) controller.enqueue(utf8.encode(chunk));
            controller.close();
        },
    });
    const late = () => {
        let n = 0;
        return new ReadableStream({ pull: (controller) => (n++ < 2 ? controller.enqueue(utf8.encode('late ')) : controller.close()) }, { highWaterMark: 0 });
    };
    const bodies = [new Response(streamOf('one ', 'two')), new Response(late()), new Response(new Blob(['blob']).stream()), new Request('http://x/', { method: 'POST', body: streamOf('posted') })];
    const seen = [];
    Object.prototype.then = function (resolve) {
        delete Object.prototype.then; // Once: the promise that settles now may be resolved with anything.
        seen[seen.length] = this;
        resolve('instead');
    };
    let texts;
    try {
        texts = [];
        for (const body of bodies) texts[texts.length] = await body.text();
    } finally {
        delete Object.prototype.then;
    }
    same(texts, ['one two', 'late late ', 'blob', 'posted']);
    same(seen, []);
});
test('the patches are gone', async (env) => {
    same(await work(env), RESULT);
    equal(new Map([[1, 2]]).get(1), 2);
});

export default run;
