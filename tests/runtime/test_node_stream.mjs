// node:stream and its relatives.
import { Duplex, PassThrough, Readable, Transform, Writable, pipeline } from 'node:stream';
import { finished, pipeline as promised } from 'node:stream/promises';
import consumers from 'node:stream/consumers';
import { ReadableStream as WebReadable } from 'node:stream/web';
import { equal, ok, rejects, run, same, test } from 'harness.js';

test('a pipeline of readable, transform and writable', async () => {
    const chunks = [];
    await promised(
        Readable.from(['a', 'b', 'c']),
        new Transform({ transform: (chunk, encoding, done) => done(null, chunk.toString().toUpperCase()) }),
        new Writable({
            write(chunk, encoding, done) {
                chunks.push(chunk.toString());
                done();
            },
        }),
    );
    same(chunks, ['A', 'B', 'C']);
});

test('chunks are Buffers, errors come through', async () => {
    const r = new Readable({ read() {} });
    r.push('abc');
    r.push(null);
    for await (const chunk of r) ok(Buffer.isBuffer(chunk));
    await rejects(
        promised(
            new Readable({
                read() {
                    this.destroy(new Error('broken'));
                },
            }),
            new PassThrough(),
        ),
        'Error',
        'broken',
    );
});

test('backpressure: write says false, drain follows', async () => {
    const done = [];
    const w = new Writable({ highWaterMark: 2, write: (chunk, encoding, cb) => done.push(cb) });
    equal(w.write('a'), true);
    equal(w.write('bc'), false);
    const drained = new Promise((resolve) => w.on('drain', resolve));
    while (done.length > 0) {
        done.shift()();
        await null;
        await null;
    }
    await drained;
});

test('callbacks', async () => {
    await new Promise((resolve, reject) => pipeline(Readable.from(['x']), new PassThrough(), async function* (source) { for await (const c of source) yield c; }, new Writable({ write: (c, e, cb) => cb() }), (error) => (error ? reject(error) : resolve())));
    const p = new PassThrough();
    p.end('x');
    p.resume();
    await finished(p);
});

test('consumers', async () => {
    equal(await consumers.text(Readable.from(['a', 'ä'])), 'aä');
    same(await consumers.json(Readable.from(['{"a":', '1}'])), { a: 1 });
    equal((await consumers.buffer(Readable.from([Buffer.from('xy')]))).toString(), 'xy');
});

test('from and to the streams of the platform', async () => {
    const web = Readable.toWeb(Readable.from([Buffer.from('ab'), Buffer.from('c')]));
    ok(web instanceof WebReadable);
    equal(await new Response(web).text(), 'abc');
    equal(await consumers.text(Readable.fromWeb(new Response('body').body)), 'body');
});

test('operators and duplexes', async () => {
    same(await Readable.from([1, 2, 3]).map((x) => x * 2).filter((x) => x > 2).toArray(), [4, 6]);
    const d = Duplex.from(async function* (source) {
        for await (const c of source) yield String(c).toUpperCase();
    });
    d.end('q');
    equal(await consumers.text(d), 'Q');
});

export default run;
