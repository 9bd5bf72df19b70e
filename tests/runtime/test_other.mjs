// Bindings to another script, which runs in an isolate of its own.
import { equal, ok, rejects, run, same, test } from 'harness.js';
import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

export class Deep extends WorkerEntrypoint {
    down(depth) {
        return depth === 0 ? 'bottom' : this.env.API.back(depth - 1);
    }
}

export class Greeter extends WorkerEntrypoint {
    greet(name) {
        return `${this.ctx.props.greeting} ${name}`;
    }
}

let sent = 0;
export class Leaver extends WorkerEntrypoint {
    async leave() {
        const { PEER, API } = this.env;
        const nothing = () => {};
        PEER.fetch(`${url}/wait`).catch(nothing);
        API.hang().catch(nothing);
        const endless = () => new ReadableStream({
            async pull(controller) {
                await scheduler.wait(1);
                sent++;
                controller.enqueue(new Uint8Array(10));
            },
            cancel: () => void (sent = -1e6),
        }, { highWaterMark: 0 });
        await PEER.fetch(`${url}/echo`, { method: 'POST', body: endless() });
        API.lengths(endless()).catch(nothing);
        const reader = (await PEER.fetch(`${url}/endless`)).body.getReader();
        await reader.read();
        await scheduler.wait(10);
        return sent > 3;
    }
}

const url = 'http://peer';
const settle = () => scheduler.wait(10);

test('a request and its answer', async ({ PEER, API }) => {
    const response = await PEER.fetch(`${url}/echo`, { method: 'POST', body: 'hello' });
    same([response.status, response.statusText, response.headers.get('x-method'), response.headers.getSetCookie(), response.url], [202, 'Fine', 'POST', ['a', 'b'], `${url}/echo`]);
    equal(await response.text(), 'hello');
    equal((await PEER.fetch(`${url}/none`)).body, null);
    same(await (await PEER.fetch(`${url}/env`, { cf: { a: 1 } })).json(), [['SECRET', 'BACK'], { a: 1 }]);
    equal((await PEER.fetch(url)).status, 404);
    same([PEER.constructor.name, PEER.SECRET === undefined], ['Fetcher', false]);
    await rejects(() => PEER.SECRET, 'TypeError', 'The RPC receiver does not implement the method "SECRET".');
    await rejects(() => API.env, 'TypeError', 'The RPC receiver does not implement the method "env".');
});

test('large bodies, and streams both ways', async ({ PEER }) => {
    equal(await (await PEER.fetch(`${url}/text`, { method: 'PUT', body: 'x'.repeat(3 << 20) })).text(), String(3 << 20));
    let pulled = 0;
    const body = new ReadableStream({
        async pull(controller) {
            await scheduler.wait(1);
            if (pulled++ < 4) controller.enqueue(new TextEncoder().encode(`${pulled} `));
            else controller.close();
        },
    }, { highWaterMark: 0 });
    equal(await (await PEER.fetch(`${url}/echo`, { method: 'POST', body })).text(), '1 2 3 4 ');
    equal(await (await PEER.fetch(`${url}/slow`)).text(), '1 2 3 ');
});

test('the reader sets the pace', async ({ PEER, API }) => {
    await API.seen();
    const reader = (await PEER.fetch(`${url}/endless`)).body.getReader();
    await reader.read();
    await scheduler.wait(30);
    ok((await API.seen()).length <= 3, 'it does not run ahead');
    await reader.cancel();
    await settle();
    equal((await API.seen()).at(-1), 'cancelled');
});

test('what goes wrong', async ({ PEER, API, WRONG }) => {
    const error = await rejects(PEER.fetch(`${url}/throw`), 'TypeError', 'not here');
    same([error instanceof TypeError, error.remote, error.stack.includes('peer')], [true, true, false]);
    await rejects(PEER.fetch(`${url}/nothing`), 'TypeError', "Incorrect type for Promise: the Promise did not resolve to 'Response'.");
    await rejects(PEER.fetch('/x'), 'TypeError');
    await rejects((await PEER.fetch(`${url}/broken`)).text(), 'Error', 'Network connection lost.');
    await rejects(WRONG.fetch(url), 'TypeError', 'The entrypoint name Nobody was not found in this worker.');
    await rejects(() => WRONG.x(), 'TypeError', 'The entrypoint name Nobody was not found in this worker.');
    const over = await rejects(() => API.fail(), 'RangeError', 'over there');
    same([over.code, over.remote, 'f' in over], [9, true, false]);
    await rejects(() => API.over(), 'Error', 'stopped there');
    await rejects(() => PEER.fetch(`${url}/socket`), 'Error', /^A WebSocket cannot cross isolate boundaries yet/);
});

test('exports that are no entrypoints', async (env) => {
    for (const name of ['Cell', 'Legacy']) {
        await rejects(() => env[name].fetch(url), 'TypeError', `The entrypoint name ${name} refers to a Durable Object class, but the incoming request is trying to invoke it as a stateless worker.`);
    }
    await rejects(() => env.Helper.x(), 'TypeError', 'The entrypoint name helper was not found in this worker.');
});

test('calls', async ({ API }) => {
    equal(await API.add(1, 2), 3);
    const value = { map: new Map([[1, new Date(5)]]), bytes: new Uint8Array([1, 2]), error: new RangeError('x'), headers: new Headers({ a: 'b' }) };
    value.self = value;
    const got = await API.echo(value);
    ok(got.self === got && got !== value, 'cycles');
    same([got.map.get(1).getTime(), [...got.bytes], got.error instanceof RangeError, got.headers.get('a')], [5, [1, 2], true, 'b']);
    same(await API.plain.a, { b: 2 });
    equal(await API.plain.double(4), 8);
    equal(await API.echo(new Blob(['ab'])).then((b) => b.text()), 'ab');
    same(await Promise.all([1, 2, 3].map((i) => API.echo(i))), [1, 2, 3]);
    await rejects(() => API.echo(new Uint8Array(33 << 20)), 'Error', /^Serialized RPC arguments or return values are limited to 32MiB/);
});

test('stubs stay at home', async ({ API }) => {
    const cross = 'RPC stubs cannot cross isolate boundaries yet';
    await rejects(() => API.echo(() => {}), 'Error', cross);
    await rejects(() => API.echo({ a: [new (class extends RpcTarget {})()] }), 'Error', cross);
    await rejects(() => API.target(), 'Error', cross);
    await rejects(() => API.config, 'Error', cross);
    await rejects(() => API.echo({}).x, 'Error', /await it first/);
});

test('services travel', async ({ API, PEER }, ctx) => {
    const api = await API.echo(API);
    equal(await api.add(1, 2), 3);
    equal((await (await API.echo({ peer: PEER })).peer.fetch(`${url}/none`)).status, 204);
    equal(await API.greet(ctx.exports.Greeter({ props: { greeting: 'Hi' } }), 'Ann'), 'Hi Ann');
    const mine = await API.mine('Yo');
    same([await mine.props(), mine.constructor.name], [{ greeting: 'Yo' }, 'Fetcher']);
    same(await (await mine.fetch(url)).json(), { greeting: 'Yo' });
});

test('signals travel', async ({ API }) => {
    const controller = new AbortController();
    const answer = API.aborted(controller.signal);
    await settle();
    controller.abort(new RangeError('changed'));
    const reason = await answer;
    same([reason instanceof RangeError, reason.message], [true, 'changed']);
    equal(await API.aborted(AbortSignal.abort('before')), 'before');
    const signal = await API.echo(new AbortController().signal);
    same([signal instanceof AbortSignal, signal.aborted], [true, false]);
});

test('streams in calls', async ({ API }) => {
    const response = await API.response();
    same([response.status, response.headers.get('a'), await response.text()], [201, 'b', '1 2 3 ']);
    const parts = [new Uint8Array(5), new Uint8Array(7)];
    const written = [];
    await API.write(new WritableStream({ write: (chunk) => void written.push([...chunk]), close: () => void written.push('closed') }));
    same(written, [[1, 2], [3], 'closed']);
    same(await API.lengths(new ReadableStream({ pull: (c) => (parts.length > 0 ? c.enqueue(parts.shift()) : c.close()) })), [5, 7]);
});

test('a caller that goes away', async ({ PEER, API }) => {
    await API.seen();
    const controller = new AbortController();
    const answer = PEER.fetch(`${url}/wait`, { signal: controller.signal });
    await settle();
    controller.abort(new Error('enough'));
    await rejects(answer, 'Error', 'enough');
    await settle();
    same(await API.seen(), ['The client has disconnected']);
    const late = new AbortController();
    const reader = (await PEER.fetch(`${url}/endless`, { signal: late.signal })).body.getReader();
    await reader.read();
    late.abort(new Error('later'));
    await rejects(reader.read(), 'Error', 'later');
    await settle();
    equal((await API.seen()).at(-1), 'cancelled');
});

test('what an event leaves behind ends with it', async ({ API }, ctx) => {
    await API.seen();
    equal(await ctx.exports.Leaver.leave(), true);
    await settle();
    const seen = await API.seen();
    same([seen.includes('The client has disconnected'), seen.at(-1)], [true, 'cancelled']);
    await settle();
    const before = sent;
    await settle();
    equal(sent, before);
});

test('chains through both scripts have an end', async ({ API }) => {
    equal(await API.back(3), 'bottom');
    await rejects(() => API.back(50), 'Error', 'Subrequest depth limit exceeded.');
});

test('an isolate that dies takes its calls along, and is replaced', async ({ PEER, API }) => {
    equal(await API.count(), 1);
    const waiting = API.hang();
    waiting.catch(() => {}); // It fails before somebody asks.
    const body = (await PEER.fetch(`${url}/endless`)).body.getReader();
    await body.read();
    await rejects(() => API.devour(), 'Error', 'Worker exceeded memory limit.');
    await rejects(() => waiting, 'Error', 'Worker exceeded memory limit.');
    await rejects(async () => {
        for (;;) await body.read();
    }, 'Error', 'Network connection lost.');
    equal(await API.count(), 1, 'a new isolate:');
});

export default run;
