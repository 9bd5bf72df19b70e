// fetch inside a Worker; e2e/fetch.cjs is the server. env.ORIGIN is where it listens.
import { equal, ok, rejects, run, same, test } from 'harness.js';

test('text, status, headers', async (env) => {
    const r = await fetch(`${env.ORIGIN}/hello`);
    equal(r.status, 200);
    equal(r.statusText, 'OK');
    equal(r.ok, true);
    equal(r.redirected, false);
    equal(r.url, `${env.ORIGIN}/hello`);
    equal(await r.text(), 'hello');
    equal(r.bodyUsed, true);
    equal((await fetch(`${env.ORIGIN}/none`)).status, 404);
});

test('what the server sees', async (env) => {
    const r = await fetch(`${env.ORIGIN}/head`, { method: 'post', headers: { 'X-Thing': 'a', 'content-length': '999', host: 'evil' }, body: 'abc' });
    const { method, headers } = await r.json();
    equal(method, 'POST');
    equal(headers['x-thing'], 'a');
    equal(headers['content-length'], '3');
    equal(headers['content-type'], 'text/plain;charset=UTF-8');
    ok(headers.host.startsWith('127.0.0.1:'), headers.host);
    equal(headers['accept-encoding'], 'gzip, br');
});

test('headers of an answer are immutable', async (env) => {
    const r = await fetch(`${env.ORIGIN}/cookies`);
    same(r.headers.getSetCookie(), ['a=1', 'b=2']);
    await rejects(async () => r.headers.set('x', 'y'), 'TypeError', "Can't modify immutable headers.");
});

test('bodies of every kind go out', async (env) => {
    for (const body of ['text', new Uint8Array([116, 101, 120, 116]), new Uint8Array([116, 101, 120, 116]).buffer]) {
        const r = await fetch(`${env.ORIGIN}/echo`, { method: 'POST', body });
        equal(r.headers.get('x-length'), '4');
        equal(await r.text(), 'text');
    }
    const stream = new ReadableStream({
        start(c) {
            for (const part of ['one ', 'two ', 'three']) c.enqueue(new Uint8Array([...part].map((x) => x.charCodeAt(0))));
            c.close();
        },
    });
    const r = await fetch(`${env.ORIGIN}/echo`, { method: 'POST', body: stream });
    equal(r.headers.get('x-length'), 'none');
    equal(await r.text(), 'one two three');
});

test('redirects', async (env) => {
    const to = (status, path = '/head') => `${env.ORIGIN}/redirect?status=${status}&to=${encodeURIComponent(path)}`;
    let r = await fetch(to(302));
    equal(r.redirected, true);
    equal(r.url, `${env.ORIGIN}/head`);
    for (const [status, method] of [[301, 'GET'], [302, 'GET'], [303, 'GET'], [307, 'POST'], [308, 'POST']]) {
        r = await fetch(to(status), { method: 'POST', body: 'x' });
        const seen = await r.json();
        equal(seen.method, method, String(status));
        equal(seen.headers['content-length'], method === 'POST' ? '1' : undefined);
    }
    r = await fetch(to(301), { redirect: 'manual' });
    equal(r.status, 301);
    equal(await r.text(), 'moved');
    await rejects(fetch(`${env.ORIGIN}/loop`), 'TypeError', 'Too many redirects.');
    await rejects(fetch(to(302, 'http://['), {}), 'TypeError', /invalid URL/);
    await rejects(fetch(to(302, 'data:,x')), 'TypeError', 'Fetch API cannot load: data:,x'); // Only what the caller names.
});

test('a body that is cut off rejects', async (env) => {
    const r = await fetch(`${env.ORIGIN}/cut`);
    await rejects(r.text(), 'Error', 'Network connection lost.');
});

// Waits until the server has seen what it should.
async function seen(env, holds) {
    for (let i = 0; i < 500; i++) {
        if (holds(await (await fetch(`${env.ORIGIN}/seen`)).json())) return;
        await scheduler.wait(10);
    }
    throw new Error('the server never saw it');
}

test('abort before and after the head', async (env) => {
    const late = new AbortController();
    const waiting = fetch(`${env.ORIGIN}/slow`, { signal: late.signal });
    waiting.catch(() => {});
    await seen(env, ({ slow }) => slow === 1);
    late.abort();
    await rejects(waiting, 'AbortError');
    await rejects(fetch(`${env.ORIGIN}/hello`, { signal: AbortSignal.abort() }), 'AbortError');
    await rejects(fetch(`${env.ORIGIN}/slow`, { signal: AbortSignal.timeout(20) }), 'TimeoutError');
    const drip = new AbortController();
    const r = await fetch(`${env.ORIGIN}/drip`, { signal: drip.signal });
    const text = r.text();
    setTimeout(() => drip.abort(), 20);
    await rejects(text, 'AbortError');
    await seen(env, ({ aborted }) => aborted >= 2);
});

test('compressed answers are decoded', async (env) => {
    const r = await fetch(`${env.ORIGIN}/gzip`);
    equal(await r.text(), 'zipped '.repeat(1000));
});

test('20 MiB come through', async (env) => {
    const r = await fetch(`${env.ORIGIN}/big?bytes=${20 << 20}`);
    let bytes = 0;
    for await (const chunk of r.body) bytes += chunk.length;
    equal(bytes, 20 << 20);
});

export default run;
