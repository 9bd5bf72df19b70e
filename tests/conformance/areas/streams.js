import { bytes, caught, check, drain, message, sleep, streamOf, text, utf8 } from '../case.js';

const numbers = (n, strategy) => {
    let i = 0;
    return new ReadableStream({ pull(c) { if (i === n) c.close(); else c.enqueue(i++); } }, strategy);
};
const into = (list) => new WritableStream({ write(chunk) { list.push(chunk); }, close() { list.push('closed'); }, abort(why) { list.push(`aborted ${why}`); } });

check('chunks in order', () => drain(numbers(4)), [0, 1, 2, 3]);
check('start, pull and cancel', async () => {
    const log = [];
    const s = new ReadableStream({ start() { log.push('start'); }, pull(c) { log.push('pull'); c.enqueue(1); }, cancel(why) { log.push(`cancel ${why}`); } });
    const reader = s.getReader();
    await reader.read();
    await reader.cancel('enough');
    return [log[0], log[1], log.at(-1), await reader.read()];
}, ['start', 'pull', 'cancel enough', { done: true, value: undefined }]);
check('a reader locks', () => {
    const s = numbers(1);
    const before = s.locked;
    const reader = s.getReader();
    const seen = [before, s.locked, caught(() => s.getReader()), caught(s.cancel())];
    reader.releaseLock();
    return Promise.all([...seen, s.locked]);
}, [false, true, 'TypeError', 'TypeError', false]);
check('reads that wait are rejected at release', async () => {
    const reader = new ReadableStream({}).getReader();
    const pending = reader.read();
    reader.releaseLock();
    return [await caught(pending), await caught(reader.read()), await caught(reader.closed)];
}, ['TypeError', 'TypeError', 'TypeError']);
check('closed', async () => {
    const reader = numbers(0).getReader();
    await reader.read();
    return reader.closed;
}, undefined);
check('an error reaches every reader', async () => {
    const s = new ReadableStream({ start(c) { c.error(new RangeError('bad')); } });
    const reader = s.getReader();
    return [await message(reader.read()), await message(reader.closed)];
}, ['RangeError: bad', 'RangeError: bad']);
check('what pull throws is the error', async () => message(new ReadableStream({ pull() { throw new RangeError('in pull'); } }).getReader().read()), 'RangeError: in pull');
check('enqueue after close', () => {
    let controller;
    new ReadableStream({ start(c) { controller = c; } });
    controller.close();
    return [caught(() => controller.enqueue(1)), caught(() => controller.close()), controller.desiredSize];
}, ['TypeError', 'TypeError', 0]);
check('backpressure: pull comes when there is room', async () => {
    let pulls = 0;
    const s = new ReadableStream({ pull(c) { pulls++; c.enqueue(pulls); } }, new CountQueuingStrategy({ highWaterMark: 3 }));
    await sleep(5);
    const before = pulls;
    const reader = s.getReader();
    await reader.read();
    await reader.read();
    await sleep(5);
    return [before, pulls <= 5];
}, [3, true]);
check('desiredSize', () => {
    const seen = [];
    new ReadableStream({ start(c) { seen.push(c.desiredSize); c.enqueue('abc'); seen.push(c.desiredSize); } }, { highWaterMark: 5, size: (chunk) => chunk.length });
    return seen;
}, [5, 2]);
check('queuing strategies', () => [new CountQueuingStrategy({ highWaterMark: 2 }).size('x'), new ByteLengthQueuingStrategy({ highWaterMark: 9 }).size(bytes(1, 2)), new ByteLengthQueuingStrategy({ highWaterMark: 9 }).highWaterMark], [1, 2, 9]);
check('tee', async () => {
    const [a, b] = numbers(3).tee();
    return [await drain(a), await drain(b)];
}, [[0, 1, 2], [0, 1, 2]]);
check('tee cancels when both are cancelled', async () => {
    let why;
    const [a, b] = new ReadableStream({ cancel(reason) { why = reason; } }).tee();
    const first = a.cancel('one');
    const before = why;
    await Promise.all([first, b.cancel('two')]);
    return [before, why !== undefined];
}, [undefined, true]);
check('async iteration', async () => {
    const seen = [];
    for await (const n of numbers(3)) seen.push(n);
    return seen;
}, [0, 1, 2]);
check('leaving an iteration cancels', async () => {
    let cancelled = false;
    const s = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel() { cancelled = true; } });
    for await (const _ of s) break;
    return [cancelled, s.locked];
}, [true, false]);
check('values({ preventCancel })', async () => {
    const s = numbers(3);
    for await (const _ of s.values({ preventCancel: true })) break;
    return drain(s);
}, [1, 2]);
check('pipeTo', async () => {
    const seen = [];
    await numbers(3).pipeTo(into(seen));
    return seen;
}, [0, 1, 2, 'closed']);
check('pipeTo({ preventClose })', async () => {
    const seen = [];
    const to = into(seen);
    await numbers(2).pipeTo(to, { preventClose: true });
    await to.getWriter().write('more');
    return seen;
}, [0, 1, 'more']);
check('pipeTo aborts the writer when the source fails', async () => {
    const seen = [];
    const failure = await message(new ReadableStream({ start(c) { c.error(new Error('source')); } }).pipeTo(into(seen)));
    return [failure, seen];
}, ['Error: source', ['aborted Error: source']]);
check('pipeTo cancels the source when the writer fails', async () => {
    let why;
    const source = new ReadableStream({ pull(c) { c.enqueue(1); }, cancel(reason) { why = reason.message; } });
    return [await message(source.pipeTo(new WritableStream({ write() { throw new Error('sink'); } }))), why];
}, ['Error: sink', 'sink']);
check('pipeTo with a signal', async () => {
    const controller = new AbortController();
    const pipe = new ReadableStream({ async pull(c) { await sleep(1); c.enqueue(1); } }).pipeTo(new WritableStream({ write() {} }), { signal: controller.signal });
    setTimeout(() => controller.abort(new RangeError('stop')), 10);
    return message(pipe);
}, 'RangeError: stop');
check('pipeThrough', () => drain(numbers(3).pipeThrough(new TransformStream({ transform(n, c) { c.enqueue(n * 2); if (n === 2) c.enqueue('last'); } }))), [0, 2, 4, 'last']);
check('TransformStream: start and flush', () => drain(numbers(1).pipeThrough(new TransformStream({ start(c) { c.enqueue('first'); }, flush(c) { c.enqueue('end'); } }))), ['first', 0, 'end']);
check('TransformStream without a transformer passes on', () => drain(numbers(2).pipeThrough(new TransformStream())), [0, 1]);
check('TransformStream: an error on both sides', async () => {
    const { readable, writable } = new TransformStream({ transform() { throw new RangeError('no'); } });
    const writer = writable.getWriter();
    const wrote = writer.write(1);
    wrote.catch(() => {});
    writer.closed.catch(() => {});
    return [await message(readable.getReader().read()), await message(wrote)];
}, ['RangeError: no', 'RangeError: no']);
check('TransformStream: terminate', async () => {
    const { readable, writable } = new TransformStream({ transform(chunk, c) { c.enqueue(chunk); c.terminate(); } });
    const writer = writable.getWriter();
    writer.write(1).catch(() => {});
    writer.closed.catch(() => {});
    return [await drain(readable), await caught(writer.write(2))];
}, [[1], 'TypeError']);
check('a writer', async () => {
    const seen = [];
    const writer = into(seen).getWriter();
    const size = writer.desiredSize;
    await writer.ready;
    await writer.write('a');
    await writer.close();
    return [size, seen, await writer.closed, await caught(writer.write('b'))];
}, [1, ['a', 'closed'], undefined, 'TypeError']);
check('writes wait for each other', async () => {
    const log = [];
    const writer = new WritableStream({ async write(chunk) { log.push(`in ${chunk}`); await sleep(2); log.push(`out ${chunk}`); } }).getWriter();
    writer.write(1);
    writer.write(2);
    await writer.close();
    return log;
}, ['in 1', 'out 1', 'in 2', 'out 2']);
check('ready waits for room', async () => {
    let release;
    const writer = new WritableStream({ write: () => new Promise((resolve) => { release = resolve; }) }).getWriter();
    await writer.ready;
    writer.write(1);
    const size = writer.desiredSize;
    let ready = false;
    writer.ready.then(() => { ready = true; });
    await sleep(2);
    const before = ready;
    release();
    await sleep(2);
    return [size, before, ready];
}, [0, false, true]);
check('abort of a writer', async () => {
    const seen = [];
    const writer = into(seen).getWriter();
    writer.closed.catch(() => {});
    await writer.abort('why');
    return [seen, await message(writer.write(1).catch((e) => { throw new Error(String(e)); }))];
}, [['aborted why'], 'Error: why']);
check('the signal of a controller', async () => {
    let signal;
    const writer = new WritableStream({ start(c) { signal = c.signal; } }).getWriter();
    writer.closed.catch(() => {});
    await writer.abort(new RangeError('x'));
    return [signal.aborted, signal.reason.name];
}, [true, 'RangeError']);
check('a byte stream', async () => {
    const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(bytes(1, 2, 3)); c.close(); } });
    return drain(s);
}, [bytes(1, 2, 3)]);
check('a BYOB reader fills the buffer given', async () => {
    const s = new ReadableStream({ type: 'bytes', pull(c) { c.enqueue(bytes(1, 2, 3)); } });
    const reader = s.getReader({ mode: 'byob' });
    const buffer = new ArrayBuffer(2);
    const first = await reader.read(new Uint8Array(buffer));
    const second = await reader.read(new Uint8Array(2));
    return [first.value, second.value, buffer.byteLength];
}, [bytes(1, 2), bytes(3), 0]);
check('byobRequest', async () => {
    const s = new ReadableStream({
        type: 'bytes',
        pull(c) {
            const { view } = c.byobRequest;
            view[0] = 7;
            c.byobRequest.respond(1);
        },
    });
    const { value } = await s.getReader({ mode: 'byob' }).read(new Uint8Array(4));
    return [value, value.buffer.byteLength];
}, [bytes(7), 4]);
check('a BYOB reader at the end', async () => {
    const s = new ReadableStream({ type: 'bytes', start(c) { c.close(); } });
    const reader = s.getReader({ mode: 'byob' });
    const pending = reader.read(new Uint8Array(3));
    const { done, value } = await pending;
    return [done, value.byteLength];
}, [true, 0]);
check('min of a BYOB read', async () => {
    const list = [bytes(1), bytes(2, 3), bytes(4)];
    const s = new ReadableStream({ type: 'bytes', pull(c) { c.enqueue(list.shift()); } });
    return (await s.getReader({ mode: 'byob' }).read(new Uint8Array(4), { min: 3 })).value;
}, bytes(1, 2, 3));
check('readAtLeast of a body', async ({ origin }) => {
    const reader = (await fetch(`${origin}/chunks?count=3`)).body.getReader({ mode: 'byob' });
    const { value } = await reader.readAtLeast(10, new Uint8Array(12));
    return value.byteLength >= 10;
}, true);
check('BYOB readers are for byte streams', () => caught(() => numbers(1).getReader({ mode: 'byob' })), 'TypeError');
check('autoAllocateChunkSize', async () => {
    const s = new ReadableStream({ type: 'bytes', autoAllocateChunkSize: 8, pull(c) { c.byobRequest.view[0] = 5; c.byobRequest.respond(1); } });
    return (await s.getReader().read()).value;
}, bytes(5));
check('ReadableStream.from', async () => [await drain(ReadableStream.from([1, 2])), await drain(ReadableStream.from((async function* () { yield 'a'; })()))], [[1, 2], ['a']]);
check('IdentityTransformStream carries bytes', async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const wrote = writer.write(utf8('hi')).then(() => writer.close());
    const seen = await text(readable);
    await wrote;
    return [seen, await caught(new IdentityTransformStream().writable.getWriter().write(1))];
}, ['hi', 'TypeError']);
check('FixedLengthStream with too much', async () => {
    const { readable, writable } = new FixedLengthStream(2);
    const writer = writable.getWriter();
    const read = caught(text(readable));
    const wrote = caught(writer.write(bytes(1, 2, 3)));
    return Promise.race([read, wrote.then((w) => (w === 'nothing was thrown' ? sleep(20, w) : w))]);
}, 'TypeError');
check('FixedLengthStream with too little', async () => {
    const { readable, writable } = new FixedLengthStream(3);
    const writer = writable.getWriter();
    const read = caught(text(readable));
    await writer.write(bytes(1));
    writer.close().catch(() => {});
    return read;
}, 'TypeError');
check('pipes in a chain', () => text(streamOf('a', 'b').pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream({ transform(s, c) { c.enqueue(s.toUpperCase()); } })).pipeThrough(new TextEncoderStream())), 'AB');
check('the classes are there', () => ['ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableStreamDefaultController', 'ReadableByteStreamController', 'WritableStream',
    'WritableStreamDefaultWriter', 'WritableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'CountQueuingStrategy', 'ByteLengthQueuingStrategy'].filter((name) => globalThis[name]?.name !== name), []);
check('a reader of one\'s own making', () => {
    const s = numbers(1);
    const reader = new ReadableStreamDefaultReader(s);
    return [s.locked, reader instanceof ReadableStreamDefaultReader, caught(() => new ReadableStreamDefaultController())];
}, [true, true, 'TypeError']);
check('a WritableStream is locked once', () => {
    const w = new WritableStream();
    w.getWriter();
    return Promise.all([w.locked, caught(() => w.getWriter()), caught(w.close())]);
}, [true, 'TypeError', 'TypeError']);
