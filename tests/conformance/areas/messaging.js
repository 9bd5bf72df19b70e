import { bytes, caught, check, sleep } from '../case.js';

check('messages arrive at the other port, in order', async () => {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    port2.onmessage = (e) => seen.push(e.data);
    port1.postMessage('a');
    port1.postMessage({ b: [1] });
    const at_once = seen.length;
    await sleep(5);
    return [at_once, seen];
}, [0, ['a', { b: [1] }]]);
check('both ways', async () => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = (e) => port2.postMessage(e.data + 1);
    const got = new Promise((resolve) => { port1.onmessage = (e) => resolve(e.data); });
    port1.postMessage(1);
    return got;
}, 2);
check('messages wait for start', async () => {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    port1.postMessage('early');
    port2.addEventListener('message', (e) => seen.push(e.data));
    await sleep(5);
    const before = seen.length;
    port2.start();
    await sleep(5);
    return [before, seen];
}, [0, ['early']]);
check('data is cloned', async () => {
    const { port1, port2 } = new MessageChannel();
    const data = { list: [1], bytes: bytes(1, 2) };
    const got = new Promise((resolve) => { port2.onmessage = (e) => resolve(e.data); });
    port1.postMessage(data);
    data.list.push(2);
    return [await got, (await got) !== data];
}, [{ list: [1], bytes: bytes(1, 2) }, true]);
check('what cannot be cloned', () => caught(() => new MessageChannel().port1.postMessage(() => {})), 'DataCloneError');
check('close', async () => {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    port2.onmessage = (e) => seen.push(e.data);
    port2.close();
    port1.postMessage('lost');
    await sleep(5);
    return seen;
}, []);
check('the classes', () => {
    const { port1 } = new MessageChannel();
    return [port1 instanceof MessagePort, port1 instanceof EventTarget, caught(() => new MessagePort()), Object.prototype.toString.call(port1)];
}, [true, true, 'TypeError', '[object MessagePort]']);
check('the event', async () => {
    const { port1, port2 } = new MessageChannel();
    const got = new Promise((resolve) => { port2.onmessage = resolve; });
    port1.postMessage(7);
    const e = await got;
    return [e instanceof MessageEvent, e.type, e.data];
}, [true, 'message', 7]);
check('BroadcastChannel is a name', () => [typeof BroadcastChannel, caught(() => new BroadcastChannel('x')) !== 'nothing was thrown'], ['undefined', true],
    { celld: ['function', true], why: 'runtime.md 5.6: the class exists so that bundles load; its constructor throws' });
