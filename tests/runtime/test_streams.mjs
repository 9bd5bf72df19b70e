// Streams of every kind; web-platform-tests have more of the standard's own.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const bytes = (...b) => Uint8Array.from(b);
const text = (s) => new TextEncoder().encode(s);
const collect = async (stream) => {
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
};
const numbers = (count, strategy) => {
    let i = 0;
    return new ReadableStream({ pull: (c) => (i < count ? c.enqueue(i++) : c.close()) }, strategy);
};

test('reading in order, to the end', async () => {
    const reader = numbers(3).getReader();
    same([await reader.read(), await reader.read(), await reader.read(), await reader.read()], [{ value: 0, done: false }, { value: 1, done: false }, { value: 2, done: false }, { done: true }]);
    equal(await reader.closed, undefined);
});

test('locks', async () => {
    const s = numbers(1);
    const reader = s.getReader();
    equal(s.locked, true);
    throws(() => s.getReader(), 'TypeError', 'This ReadableStream is currently locked to a reader.');
    throws(() => s.tee(), 'TypeError');
    await rejects(s.cancel(), 'TypeError');
    const pending = numbers(0, { highWaterMark: 0 });
    reader.releaseLock();
    equal(s.locked, false);
    await rejects(reader.read(), 'TypeError', 'This ReadableStream reader has been released.');
    await rejects(reader.closed, 'TypeError');
    await rejects(pending.pipeTo({}), 'TypeError');
    const w = new WritableStream();
    w.getWriter();
    throws(() => w.getWriter(), 'TypeError', 'This WritableStream is currently locked to a writer.');
    throws(() => new ReadableStreamDefaultReader({}), 'TypeError');
    throws(() => new ReadableStreamDefaultController(), 'TypeError');
    throws(() => Object.getOwnPropertyDescriptor(ReadableStream.prototype, 'locked').get.call({}), 'TypeError');
});

test('errors reach the readers', async () => {
    let controller;
    const s = new ReadableStream({ start: (c) => (controller = c) });
    const reader = s.getReader();
    const read = reader.read();
    controller.error(new RangeError('boom'));
    await rejects(read, 'RangeError', 'boom');
    await rejects(reader.closed, 'RangeError', 'boom');
    await rejects(reader.read(), 'RangeError', 'boom');
    throws(() => controller.enqueue(1), 'TypeError');
    await rejects(new ReadableStream({ pull() { throw new SyntaxError('p'); } }).getReader().read(), 'SyntaxError');
    await rejects(new ReadableStream({ start() { throw new SyntaxError('s'); } }).getReader().read(), 'SyntaxError', 's');
    await rejects(new WritableStream({ start() { throw new SyntaxError('s'); } }).getWriter().write(1), 'SyntaxError', 's');
});

test('backpressure', async () => {
    let pulls = 0;
    const s = new ReadableStream({ pull(c) { pulls++; c.enqueue('abc'); } }, { highWaterMark: 5, size: (chunk) => chunk.length });
    await scheduler.wait(1);
    equal(pulls, 2);
    const reader = s.getReader();
    await reader.read();
    await scheduler.wait(1);
    equal(pulls, 3);
    throws(() => new ReadableStream({}, { highWaterMark: -1 }), 'RangeError');
    equal(new CountQueuingStrategy({ highWaterMark: 3 }).size(), 1);
    equal(new ByteLengthQueuingStrategy({ highWaterMark: 3 }).size(bytes(1, 2)), 2);
});

test('cancel', async () => {
    let why;
    const s = new ReadableStream({ cancel: (reason) => (why = reason) });
    equal(await s.cancel('because'), undefined);
    equal(why, 'because');
    same(await s.getReader().read(), { done: true });
});

test('async iteration', async () => {
    same(await collect(numbers(4)), [0, 1, 2, 3]);
    let why = 'no';
    const s = new ReadableStream({ pull: (c) => c.enqueue(1), cancel: (reason) => (why = reason) });
    for await (const v of s) if (v === 1) break;
    equal(why, undefined);
    equal(s.locked, false);
    const kept = numbers(3);
    for await (const v of kept.values({ preventCancel: true })) if (v === 0) break;
    same(await collect(kept), [1, 2]);
    equal(ReadableStream.prototype[Symbol.asyncIterator], ReadableStream.prototype.values);
});

test('from', async () => {
    same(await collect(ReadableStream.from([1, Promise.resolve(2)])), [1, 2]);
    same(await collect(ReadableStream.from((async function* () { yield 'a'; yield 'b'; })())), ['a', 'b']);
    same(await collect(ReadableStream.from(numbers(2))), [0, 1]);
    throws(() => ReadableStream.from(1), 'TypeError');
    throws(() => ReadableStream.from(null), 'TypeError');
    let returned;
    const s = ReadableStream.from({ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return: (v) => { returned = v; return {}; } }) });
    await s.cancel('x');
    equal(returned, 'x');
});

test('tee', async () => {
    const [a, b] = numbers(5).tee();
    same([await collect(a), await collect(b)], [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]);
    let why;
    const [c, d] = new ReadableStream({ cancel: (reason) => (why = reason) }).tee();
    await c.cancel(1);
    equal(why, undefined);
    await d.cancel(2);
    same(why, [1, 2]);
    const [e, f] = new Blob(['hello']).stream().tee();
    equal(await new Response(e).text(), 'hello');
    const reader = f.getReader({ mode: 'byob' });
    same([...(await reader.read(new Uint8Array(3))).value], [...text('hel')]);
    same([...(await reader.read(new Uint8Array(3))).value], [...text('lo')]);
});

test('bytes: byob readers fill and detach their buffers', async () => {
    const s = new ReadableStream({
        type: 'bytes',
        pull(c) {
            const { view } = c.byobRequest;
            view[0] = 7;
            view[1] = 8;
            c.byobRequest.respond(2);
        },
    });
    const reader = s.getReader({ mode: 'byob' });
    const view = new Uint8Array(8);
    const { value, done } = await reader.read(view);
    equal(done, false);
    same([...value], [7, 8]);
    equal(view.byteLength, 0);
    equal(value.buffer.byteLength, 8);
    same([...(await reader.read(new Uint8Array(4), { min: 4 })).value], [7, 8, 7, 8]);
    same([...(await reader.readAtLeast(3, new Uint8Array(8))).value], [7, 8, 7, 8]);
    same([...(await reader.read(new Uint16Array(1))).value], [0x807]);
    await rejects(reader.read(new Uint8Array(0)), 'TypeError');
    await rejects(reader.read('x'), 'TypeError');
    await rejects(reader.readAtLeast(9, new Uint8Array(8)), 'TypeError', 'Minimum bytes to read (9) exceeds size of buffer (8).');
    await rejects(reader.read(new Uint8Array(2), { min: 3 }), 'RangeError');
    throws(() => numbers(1).getReader({ mode: 'byob' }), 'TypeError', 'This ReadableStream does not support BYOB reads.');
});

test('bytes: what is enqueued is split and joined', async () => {
    const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(bytes(1, 2, 3)); c.enqueue(bytes(4, 5)); c.close(); } });
    const reader = s.getReader({ mode: 'byob' });
    same([...(await reader.read(new Uint8Array(2))).value], [1, 2]);
    same([...(await reader.read(new Uint8Array(2))).value], [3, 4]);
    same([...(await reader.readAtLeast(1, new Uint8Array(2))).value], [5]);
    const end = await reader.read(new Uint8Array(2));
    equal(end.done, true);
    equal(end.value.byteLength, 0);
    const c = await collect(new ReadableStream({ type: 'bytes', autoAllocateChunkSize: 4, pull(k) { k.byobRequest.view[0] = 1; k.byobRequest.respond(1); k.close(); } }));
    same([...c[0]], [1]);
    throws(() => new ReadableStream({ type: 'bytes', autoAllocateChunkSize: 0 }), 'TypeError');
    new ReadableStream({ type: 'bytes', start: (k) => throws(() => k.enqueue(bytes()), 'TypeError', 'Cannot enqueue a zero-length ArrayBuffer.') });
});

test('bytes: default readers read into a buffer of their own', async () => {
    const s = new ReadableStream({ type: 'bytes', pull(c) { c.byobRequest.view[0] = 9; c.byobRequest.respond(1); c.close(); } });
    same((await collect(s)).map((c) => [...c]), [[9]]);
    const joined = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(bytes(1)); c.enqueue(bytes(2)); c.enqueue(new Uint8Array(5000)); c.close(); } });
    same((await collect(joined)).map((c) => c.length), [2, 5000]);
});

test('bytes: the end comes with what was read, and without respond(0)', async () => {
    const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(bytes(1, 2, 3)); setTimeout(() => c.close(), 1); } });
    const reader = s.getReader({ mode: 'byob' });
    const some = await reader.readAtLeast(8, new Uint8Array(8));
    equal(some.done, false);
    same([...some.value], [1, 2, 3]);
    equal((await reader.readAtLeast(8, new Uint8Array(8))).done, true);
    const wide = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(bytes(1, 0)); c.enqueue(bytes(2, 0, 3)); } });
    same([...(await wide.getReader({ mode: 'byob' }).readAtLeast(2, new Uint16Array(4))).value], [1, 2]);
});

test('bytes: the branches of a tee read at their own pace', async () => {
    let c;
    const [a, b] = new ReadableStream({ type: 'bytes', start: (k) => (c = k) }).tee();
    const one = a.getReader({ mode: 'byob' }), two = b.getReader({ mode: 'byob' });
    const reads = [one.read(new Uint8Array(2)), two.read(new Uint8Array(3))];
    c.enqueue(text('hello'));
    same((await Promise.all(reads)).map((r) => [...r.value]), [[...text('he')], [...text('hel')]]);
    same([...(await one.read(new Uint8Array(9))).value], [...text('llo')]);
    same([...(await two.read(new Uint8Array(9))).value], [...text('lo')]);
});

test('writing', async () => {
    const seen = [];
    let aborted;
    const s = new WritableStream({ write: (chunk) => void seen.push(chunk), close: () => void seen.push('end') }, { highWaterMark: 2 });
    const writer = s.getWriter();
    equal(writer.desiredSize, 2);
    await writer.ready;
    const one = writer.write(1);
    writer.write(2);
    equal(writer.desiredSize, 0);
    await one;
    await writer.close();
    same(seen, [1, 2, 'end']);
    equal(await writer.closed, undefined);
    await rejects(writer.write(3), 'TypeError', 'This WritableStream has been closed.');
    const w = new WritableStream({ abort: (reason) => (aborted = reason), write: () => new Promise(() => {}) });
    const other = w.getWriter();
    await other.abort('why');
    equal(aborted, 'why');
    await other.write(1).then(() => ok(false), (error) => equal(error, 'why'));
    throws(() => new WritableStream({ type: 'x' }), 'RangeError');
    let signal;
    const z = new WritableStream({ start: (c) => (signal = c.signal) });
    z.abort(5);
    equal(signal.reason, 5);
});

test('pipes', async () => {
    const seen = [];
    const source = numbers(3);
    const promise = source.pipeTo(new WritableStream({ write: (v) => void seen.push(v), close: () => void seen.push('end') }));
    equal(source.locked, true);
    equal(await promise, undefined);
    same(seen, [0, 1, 2, 'end']);
    equal(source.locked, false);
    let why;
    await rejects(new ReadableStream({ pull() { throw new RangeError('s'); } }).pipeTo(new WritableStream({ abort: (e) => (why = e) })), 'RangeError', 's');
    equal(why.message, 's');
    let cancelled;
    await rejects(new ReadableStream({ pull: (c) => c.enqueue(1), cancel: (e) => (cancelled = e) }).pipeTo(new WritableStream({ write() { throw new RangeError('w'); } })), 'RangeError', 'w');
    equal(cancelled.message, 'w');
    const abort = new AbortController();
    const stuck = new ReadableStream().pipeTo(new WritableStream(), { signal: abort.signal });
    abort.abort(new Error('stop'));
    await rejects(stuck, 'Error', 'stop');
    const done = new WritableStream();
    await done.close();
    await rejects(numbers(1).pipeTo(done), 'TypeError', 'This destination writable stream is closed.');
});

test('transforms', async () => {
    const twice = new TransformStream({
        transform(v, c) { c.enqueue(v); c.enqueue(v); },
        flush: (c) => c.enqueue('end'),
    });
    same(await collect(numbers(2).pipeThrough(twice)), [0, 0, 1, 1, 'end']);
    same(await collect(numbers(2).pipeThrough(new TransformStream())), [0, 1]);
    const bad = new TransformStream({ transform() { throw new RangeError('t'); } });
    await rejects(collect(numbers(2).pipeThrough(bad)), 'RangeError', 't');
    const early = new TransformStream({ transform: (v, c) => c.terminate() });
    same(await collect(numbers(9).pipeThrough(early)), []);
    throws(() => new TransformStream({ readableType: 'bytes' }), 'RangeError');
});

test('identity streams pass bytes on and keep none', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    let written = false;
    const write = writer.write(text('hello')).then(() => (written = true));
    await scheduler.wait(1);
    equal(written, false);
    const reader = readable.getReader({ mode: 'byob' });
    same([...(await reader.read(new Uint8Array(2))).value], [...text('he')]);
    await scheduler.wait(1);
    equal(written, false);
    same([...(await reader.read(new Uint8Array(9))).value], [...text('llo')]);
    await write;
    const close = writer.close();
    equal((await reader.read(new Uint8Array(1))).done, true);
    await close;
    ok(new IdentityTransformStream() instanceof TransformStream);
    await rejects(new IdentityTransformStream().writable.getWriter().write({}), 'TypeError', /non-ArrayBuffer/);
    const strings = new IdentityTransformStream();
    strings.writable.getWriter().write('é');
    same([...(await strings.readable.getReader().read()).value], [...text('é')]);
});

test('identity streams read at least so many bytes', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const reader = readable.getReader({ mode: 'byob' });
    const writer = writable.getWriter();
    const writes = Promise.all([writer.write(new Uint8Array(100)), writer.write(new Uint8Array(1)), writer.write(new Uint8Array(100)), writer.close()]);
    const sizes = [];
    for (let r; !(r = await reader.readAtLeast(100, new Uint8Array(100))).done;) sizes.push(r.value.length);
    same(sizes, [100, 100, 1]);
    await writes;
});

test('every class is there', () => {
    for (const name of ['ReadableStreamDefaultController', 'ReadableByteStreamController', 'ReadableStreamBYOBRequest', 'WritableStreamDefaultController', 'TransformStreamDefaultController']) {
        equal(globalThis[name].name, name);
        throws(() => new globalThis[name](), 'TypeError');
    }
});

test('fixed lengths', async () => {
    const exact = new FixedLengthStream(4);
    const writer = exact.writable.getWriter();
    writer.write(text('abcd'));
    writer.close();
    equal(await new Response(exact.readable).text(), 'abcd');
    const more = new FixedLengthStream(1n).writable.getWriter();
    await rejects(more.write(text('ab')), 'TypeError', 'Attempt to write too many bytes through a FixedLengthStream.');
    const less = new FixedLengthStream(3);
    const reading = new Response(less.readable).text();
    await rejects(less.writable.getWriter().close(), 'TypeError', 'FixedLengthStream did not see all expected bytes before close().');
    await rejects(reading, 'TypeError');
    equal(new FixedLengthStream(10n, { highWaterMark: 100 }).writable.getWriter().desiredSize, 10);
    throws(() => new FixedLengthStream(-1), 'TypeError');
    throws(() => new FixedLengthStream(), 'TypeError');
});

test('bodies of streams', async () => {
    equal(await new Response(new ReadableStream({ start(c) { c.enqueue(text('a')); c.enqueue(text('b').buffer); c.close(); } })).text(), 'ab');
    await rejects(new Response(numbers(1)).text(), 'TypeError', 'This ReadableStream did not return bytes.');
    const used = new Response('x');
    await used.text();
    equal(used.bodyUsed, true);
    const s = numbers(1);
    s.getReader().read();
    throws(() => new Response(s), 'TypeError');
    const r = new Response(new Blob(['abc']).stream());
    equal(await r.clone().text(), 'abc');
    equal(await r.text(), 'abc');
});

test('patched prototypes break nothing and see nothing', async () => {
    const { then } = Promise.prototype;
    const { push } = Array.prototype;
    let calls = 0;
    Promise.prototype.then = function (...args) { calls++; return then.apply(this, args); };
    Array.prototype.push = () => { throw new Error('push'); };
    try {
        const reader = numbers(2).pipeThrough(new TransformStream()).getReader();
        equal((await reader.read()).value, 0);
        equal((await reader.read()).value, 1);
        equal((await reader.read()).done, true);
    } finally {
        Promise.prototype.then = then;
        Array.prototype.push = push;
    }
    equal(calls, 0);
});

export default run;
