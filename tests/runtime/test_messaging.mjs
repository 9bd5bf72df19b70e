// MessageChannel, MessagePort, BroadcastChannel.
import { RpcTarget } from 'cloudflare:workers';
import { equal, ok, run, same, test, throws } from 'harness.js';

test('messages go both ways, in order, cloned', async () => {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    const value = { a: [1] };
    port1.postMessage(value);
    value.a.push(2);
    port1.postMessage('second');
    const done = new Promise((resolve) => {
        port2.onmessage = (e) => {
            seen.push(e.data, e.isTrusted);
            if (seen.length === 4) port2.postMessage('back');
        };
        port1.addEventListener('message', (e) => resolve(e.data));
    });
    port1.start();
    equal(await done, 'back');
    same(seen, [{ a: [1] }, true, 'second', true]);
});

test('a message is a task, not a microtask', async () => {
    const { port1, port2 } = new MessageChannel();
    let got = false;
    port2.onmessage = () => (got = true);
    port1.postMessage(1);
    for (let i = 0; i < 20; i++) await null;
    equal(got, false);
    await scheduler.wait(1);
    equal(got, true);
});

test('closing ends both', async () => {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    port1.onclose = port2.onclose = (e) => seen.push(e.type);
    port2.onmessage = () => seen.push('message');
    port1.close();
    port1.close();
    port1.postMessage('nope');
    port2.postMessage('nope');
    await scheduler.wait(1);
    same(seen, ['close', 'close']);
});

test('what cannot be sent', () => {
    const { port1 } = new MessageChannel();
    const error = throws(() => port1.postMessage(() => {}), 'DataCloneError');
    ok(error instanceof DOMException && error.code === 25, 'a DOMException of the host');
    throws(() => port1.postMessage(1, [new ArrayBuffer(1)]), 'Error', 'Transfer list is not supported');
    throws(() => port1.postMessage(1, { transfer: [1] }), 'Error', 'Transfer list is not supported');
    throws(() => port1.postMessage(), 'TypeError');
    throws(() => port1.postMessage(new (class extends RpcTarget {})()), 'DataCloneError');
    throws(() => new MessagePort(), 'TypeError', 'Illegal constructor');
    port1.postMessage(1, []);
});

test('objects of the platform', async () => {
    for (const value of [new URL('http://x/'), new URLSearchParams(), new Event('x'), new EventTarget(), new Request('http://x/')]) throws(() => structuredClone(value), 'DataCloneError');
    equal(structuredClone(new Headers({ a: 'b' })).get('a'), 'b');
    const file = structuredClone(new File(['text'], 'name', { type: 'a/b', lastModified: 5 }));
    same([file.name, file.type, file.lastModified, await file.text()], ['name', 'a/b', 5, 'text']);
    const e = structuredClone(new DOMException('m', 'AbortError'));
    same([e.name, e.message, e.code], ['AbortError', 'm', 20]);
});

test('BroadcastChannel is a name', () => throws(() => new BroadcastChannel('x'), 'Error', 'BroadcastChannel is not implemented in celld.'));

export default run;
