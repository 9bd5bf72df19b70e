// Bodies: what data: URLs, compression and repeated reads make of them.
import { equal, rejects, run, same, test, throws } from 'harness.js';

test('data: URLs', async () => {
    const get = async (url) => {
        const r = await fetch(url);
        return [r.headers.get('content-type'), await r.text()];
    };
    same(await get('data:,hello%20there'), ['text/plain;charset=US-ASCII', 'hello there']);
    same(await get('data:text/html;charset=utf-8,%C3%BC#fragment'), ['text/html;charset=utf-8', 'ü']);
    same(await get('data:;charset=x,y'), ['text/plain;charset=x', 'y']);
    same(await get('data:application/x-a; base64,aGk='), ['application/x-a', 'hi']);
    same(await get('data:,100%,%zz'), ['text/plain;charset=US-ASCII', '100%,%zz']);
    await rejects(fetch('data:text/plain'), 'TypeError', 'Fetch API cannot load: data:text/plain');
    await rejects(fetch('data:;base64,*'), 'TypeError');
});

test('a body is read once', async () => {
    const r = new Response('x');
    equal(r.bodyUsed, false);
    await r.text();
    equal(r.bodyUsed, true);
    await rejects(r.json(), 'TypeError', 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.');
    throws(() => r.clone(), 'TypeError');
});

test('a clone is another body', async () => {
    for (const body of ['text', new Uint8Array([1, 2]), new Blob(['blob']), new Response('stream').body]) {
        const r = new Response(body);
        const copy = r.clone();
        same([...(await r.bytes())], [...(await copy.bytes())]);
    }
});

test('every reader', async () => {
    const r = () => new Response('{"a":1}', { headers: { 'content-type': 'application/json' } });
    same(await r().json(), { a: 1 });
    equal((await r().arrayBuffer()).byteLength, 7);
    equal((await r().bytes()).length, 7);
    const blob = await r().blob();
    equal(blob.type, 'application/json');
    equal(await blob.text(), '{"a":1}');
    equal(await new Response(new URLSearchParams({ q: 'a b' })).text(), 'q=a+b');
    equal((await new Response(new URLSearchParams({ q: 'a b' })).formData()).get('q'), 'a b');
});

export default run;
