// FormData: entries, the multipart writer and reader, urlencoded forms.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const parse = (type, body) => new Response(body, { headers: { 'content-type': type } }).formData();
const plain = (form) => [...form].map(([k, v]) => `${k}=${v}`).join();

test('entries', () => {
    const f = new FormData();
    f.append('a', 1);
    f.append('b', 'x\ud800');
    f.append('a', undefined);
    equal(plain(f), 'a=1,b=x\ufffd,a=undefined');
    equal(f.get('a'), '1');
    same(f.getAll('a'), ['1', 'undefined']);
    equal(f.get('c'), null);
    f.set('a', null);
    equal(plain(f), 'a=null,b=x\ufffd');
    f.set('c', '');
    f.delete('b');
    equal(plain(f), 'a=null,c=');
    equal(f.has('b'), false);
    equal(f.has('c'), true);
    for (const bad of [() => f.append('a'), () => f.set('a'), () => f.get(), () => f.has(), () => f.delete(), () => f.getAll(), () => f.forEach(), () => f.forEach(1), () => f.append('a', 'b', 'c'), () => FormData.prototype.get.call({}, 'a')]) throws(bad, 'TypeError');
});

test('iteration sees what is added', () => {
    const f = new FormData();
    const early = f.entries();
    equal(early.next().done, true);
    f.append('k', '0');
    same(early.next().value, ['k', '0']);
    const seen = [];
    f.forEach(function (value, name, form) {
        equal(this, 1);
        seen.push(name);
        if (seen.length < 3) form.append(`n${seen.length}`, value);
    }, 1);
    same(seen, ['k', 'n1', 'n2']);
    same([...f.keys()], ['k', 'n1', 'n2']);
    same([...f.values()], ['0', '0', '0']);
    equal(f[Symbol.iterator], f.entries);
    equal(Object.prototype.toString.call(early), '[object FormData Iterator]');
});

test('blobs become files', () => {
    const f = new FormData();
    f.append('b', new Blob(['x'], { type: 'a/b' }));
    f.append('b', new Blob(['x']), 'name.txt');
    const file = new File(['y'], 'own.txt', { lastModified: 7 });
    f.append('b', file);
    f.append('b', file, 'other.txt');
    const [one, two, three, four] = f.getAll('b');
    ok(one instanceof File);
    equal(one.type, 'a/b');
    equal(one.name, 'b');
    equal(two.name, 'name.txt');
    equal(three, file);
    equal(four.name, 'other.txt');
    equal(four.lastModified, 7);
});

test('what is written can be read', async () => {
    const f = new FormData();
    f.append('text', 'ü\r\n--\r\n');
    f.append('quote"\r\n\\x', 'v');
    f.append('file', new File([Uint8Array.of(0, 255, 13, 10, 45, 45)], 'a\\b.bin', { type: 'x/y' }));
    f.append('empty', '');
    const r = new Response(f);
    const type = r.headers.get('content-type');
    ok(/^multipart\/form-data; boundary=[0-9a-f]{32}$/.test(type), type);
    const text = await r.clone().text();
    ok(text.includes('name="quote%22%0D%0A\\\\x"\r\n\r\nv\r\n'));
    ok(text.includes('filename="a\\\\b.bin"\r\nContent-Type: x/y\r\n\r\n'));
    const g = await r.formData();
    same([...g.keys()], ['text', 'quote%22%0D%0A\\x', 'file', 'empty']);
    equal(g.get('text'), 'ü\r\n--\r\n');
    equal(g.get('empty'), '');
    const file = g.get('file');
    equal(file.name, 'a\\b.bin');
    equal(file.type, 'x/y');
    same([...(await file.bytes())], [0, 255, 13, 10, 45, 45]);
    f.set('x\\', '');
    throws(() => new Response(f), 'TypeError', "Name or filename can't end with backslash");
    equal((await new Response(new FormData()).text()).length, 36);
});

test('lines of every kind', async () => {
    const form = await parse('multipart/form-data; boundary="+"', [
        'preamble\r\n',
        '--+\r\nContent-Disposition: form-data; name="a"\r\n\r\npart0\r\n',
        '--+\nCONTENT-DISPOSITION:\tform-data\t;\tname="b"\r\n\npart1\n',
        '--+\r\ncontent-disposition:form-data;name="a"\n\r\n\r\n',
        '--+\r\nContent-Type: text/plain\nContent-Disposition: form-data; name="b"; filename="q\\"u"\n\n\n',
        '--+--epilogue',
    ].join(''));
    same([...form.keys()], ['a', 'b', 'a', 'b']);
    same(form.getAll('a'), ['part0', '']);
    equal(form.get('b'), 'part1');
    equal(form.getAll('b')[1].name, 'q"u');
    equal(form.getAll('b')[1].type, 'text/plain');
    equal(form.getAll('b')[1].size, 0);
    equal(plain(await parse('multipart/form-data; boundary="+"', '--+--')), '');
});

test('malformed bodies', async () => {
    const type = 'multipart/form-data; boundary="+"';
    const head = '--+\r\nContent-Disposition: form-data; name="f"\r\n';
    for (const [body, message] of [
        ['', /^No initial boundary/], ['--x--', /^No initial boundary/], ['--+', /^No initial boundary/],
        [`${head}\r\nx\r\n-+--`, /^No subsequent boundary/], [`${head}\rx\r\n--+--`, /^No multipart message header/],
        [`${head}\r\nx\r\n--+\r--`, /^Boundary string was not succeeded/],
        ['--+\r\nX: form-data; name="f"\r\n\r\nx\r\n--+--', /^No valid Content-Disposition/],
        ['--+\r\nContent-Disposition: foobar\r\n\r\nx\r\n--+--', /must have the value "form-data", possibly followed by parameters. Got: "foobar"$/],
        ['--+\r\nContent-Disposition: form-data\r\n\r\nx\r\n--+--', /missing a name\.$/],
        ['--+\r\nContent-Disposition: form-data; name="a" b\r\n\r\nx\r\n--+--', /^Invalid Content-Disposition/],
        ['--+\r\nnothing\r\n\r\nx\r\n--+--', /invalid headers/],
    ]) await rejects(parse(type, body), 'TypeError', message);
    await rejects(parse('multipart/form-data; boundary=', '----'), 'TypeError', /^No boundary string/);
    await rejects(parse(`multipart/form-data; boundary=${'x'.repeat(71)}`, '--'), 'TypeError', /\[1, 70\]/);
    await rejects(parse('text/plain', 'a=b'), 'TypeError', /^Unrecognized Content-Type/);
    await rejects(new Response(Uint8Array.of(1)).formData(), 'TypeError', /requires a Content-Type/);
});

test('urlencoded', async () => {
    const type = 'application/x-www-form-urlencoded';
    equal(plain(await parse(type, 'a=b+%26+c&a=%zz%4&%C3%A9=%ff')), 'a=b & c,a=%zz%4,é=\ufffd');
    equal(plain(await parse(`${type};charset=UTF-8`, '&=&f&=p&q=')), '=,f=,=p,q=');
    equal(plain(await parse(type, '')), '');
    await rejects(parse(`${type}; charset=big5`, 'a'), 'TypeError', /^Non-utf-8/);
});

export default run;
