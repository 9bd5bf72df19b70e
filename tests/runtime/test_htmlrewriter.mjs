// HTMLRewriter.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const bytes = (text) => new TextEncoder().encode(text);
// The text through a rewriter, in one piece and byte by byte: the result must be the same.
async function rewrite(html, set) {
    const whole = await set(new HTMLRewriter()).transform(new Response(html)).text();
    const all = bytes(html);
    let at = 0;
    const drops = new ReadableStream({ pull: (c) => (at < all.length ? c.enqueue(all.slice(at, ++at)) : c.close()) });
    equal(await set(new HTMLRewriter()).transform(new Response(drops)).text(), whole, 'byte by byte:');
    return whole;
}
const seen = async (html, selector) => {
    const list = [];
    await new HTMLRewriter().on(selector, { element: (e) => void list.push(e.getAttribute('id') ?? e.tagName) }).transform(new Response(html)).text();
    return list.join(' ');
};

test('what nobody changes goes through as it came', async () => {
    for (const html of ['', 'x < y', '<P Class=a  b=\'c\' ><br/></p >', '<!-- a --><!doctype html><?x?><!x></>', '<a href="x>y">', '<a', '<!--', '<script>if (a</b>) "</scr"</script>', '<title><b></title>', '&amp;&lt;']) {
        equal(await rewrite(html, (r) => r.on('*', { element() {}, comments() {}, text() {} }).onDocument({ text() {}, comments() {}, doctype() {}, end() {} })), html);
    }
});

test('elements: content around and inside', async () => {
    const html = '<div id=a><p>x</p></div>';
    equal(await rewrite(html, (r) => r.on('p', {
        element(e) {
            e.before('1').before('<2>').after('3').after('<4>', { html: true });
            e.prepend('5').prepend('6').append('7').append('<b>8</b>', { html: true });
        },
    })), '<div id=a>1&lt;2&gt;<p>65x7<b>8</b></p><4>3</div>');
    equal(await rewrite(html, (r) => r.on('p', { element: (e) => void e.setInnerContent('<i>') })), '<div id=a><p>&lt;i&gt;</p></div>');
    equal(await rewrite(html, (r) => r.on('p', { element: (e) => void e.replace('<i>', { html: true }) })), '<div id=a><i></div>');
    equal(await rewrite(html, (r) => r.on('div', { element: (e) => void e.remove().before('b').after('a') })), 'ba');
    equal(await rewrite(html, (r) => r.on('div', { element: (e) => void e.removeAndKeepContent() })), '<p>x</p>');
    equal(await rewrite('<img src=a><br>', (r) => r.on('*', { element: (e) => void e.after('!').append('no').prepend('no') })), '<img src=a>!<br>!');
});

test('elements: names and attributes', async () => {
    const html = '<A Href=x Data-b="1 \'2\'" c>t</A>';
    equal(await rewrite(html, (r) => r.on('a', { element: (e) => void (e.tagName = 'b') })), '<b Href=x Data-b="1 \'2\'" c>t</b>');
    equal(await rewrite(html, (r) => r.on('a', {
        element(e) {
            same([e.tagName, e.getAttribute('HREF'), e.getAttribute('data-b'), e.getAttribute('c'), e.getAttribute('d'), e.hasAttribute('C')], ['a', 'x', "1 '2'", '', null, true]);
            same([...e.attributes], [['href', 'x'], ['data-b', "1 '2'"], ['c', '']]);
            e.setAttribute('href', 'say "hi"').removeAttribute('c');
            e.setAttribute('new', 5);
            const iterator = e.attributes;
            iterator.next();
            e.removeAttribute('new');
            throws(() => iterator.next(), 'TypeError', /modified during iteration/);
            for (const bad of ['', 'a b', 'a=']) throws(() => e.setAttribute(bad, 'x'), 'TypeError');
            for (const bad of ['', '1', 'a b', 'a>']) throws(() => (e.tagName = bad), 'TypeError');
        },
    })), '<A href="say &quot;hi&quot;" Data-b="1 \'2\'">t</A>');
    equal(await rewrite('<svg><circle r=1 /><p></svg>', (r) => r.on('circle', { element: (e) => void e.setAttribute('x', '1') })), '<svg><circle r=1 x="1" /><p></svg>');
});

test('end tags', async () => {
    equal(await rewrite('<div><p>x</div></p>', (r) => r.on('div', {
        element: (e) => e.onEndTag((end) => {
            equal(end.name, 'div');
            end.before('!').after('<>').name = 'section';
        }),
    })), '<div><p>x!</section>&lt;&gt;</p>');
    equal(await rewrite('<p>x</p>', (r) => r.on('p', { element: (e) => e.onEndTag((end) => void end.remove()) })), '<p>x');
    let error;
    await rewrite('<br>', (r) => r.on('br', { element: (e) => void (error = captured(() => e.onEndTag(() => {}))) }));
    same([error.name, error.message], ['TypeError', 'Parser error: No end tag.']);
});
const captured = (fn) => {
    try {
        fn();
    } catch (error) {
        return error;
    }
};

test('text comes in chunks, the last is empty', async () => {
    const chunks = [];
    const stream = new ReadableStream({
        start(c) {
            for (const s of ['<p>one', ' two<b>three</b></p>']) c.enqueue(bytes(s));
            c.close();
        },
    });
    const out = await new HTMLRewriter().on('p', {
        text(t) {
            chunks.push([t.text, t.lastInTextNode]);
            if (t.lastInTextNode) t.before('|');
            if (t.text === 'three') t.replace('<3>').before('(').after(')');
        },
    }).transform(new Response(stream)).text();
    same(chunks, [['one', false], [' two', false], ['', true], ['three', false], ['', true]]);
    equal(out, '<p>one two|<b>(&lt;3&gt;)|</b></p>');
});

test('comments and doctypes', async () => {
    const types = [];
    const out = await rewrite('<!DOCTYPE html PUBLIC "a" \'b\'><!--x--><p><!--y--></p>', (r) => r.onDocument({
        doctype: (d) => void types.push([d.name, d.publicId, d.systemId]),
        comments(c) {
            if (c.text === 'x') c.text = 'z';
            throws(() => (c.text = '-->'), 'TypeError');
        },
    }).on('p', { comments: (c) => void c.remove().after('gone') }));
    equal(out, '<!DOCTYPE html PUBLIC "a" \'b\'><!--z--><p>gone</p>');
    same(types[0], ['html', 'a', 'b']);
});

test('removed content is still heard, not written', async () => {
    let text = '';
    equal(await rewrite('<div><p>x</p></div>y', (r) => r.on('div', { element: (e) => void e.setInnerContent('new') }).on('p', { text: (t) => void (text += t.text), element: (e) => void e.after('no') })), '<div>new</div>y');
    ok(text.startsWith('x'), text);
});

test('selectors', async () => {
    const html = '<div id=a class="x y"><p id=b lang=en-US><b id=c></b></p><p id=d title="Hello World"></p></div><section id=e><p id=f></p><i id=g></i><p id=h></p></section>';
    const expected = {
        p: 'b d f h', '*': 'a b c d e f g h', '#d': 'd', '.x.y': 'a', '.z': '', 'div p': 'b d', 'div > b': '', 'div b': 'c', 'p > b, section': 'c e',
        '[title]': 'd', '[lang|=en]': 'b', '[title~=World]': 'd', '[title^="Hello"]': 'd', '[title$="world" i]': 'd', '[title*="lo W"]': 'd', '[id="a"]': 'a',
        'p:first-child': 'b f', 'p:nth-child(2)': 'd', ':nth-child(2n+1)': 'a b c f h', 'p:nth-of-type(2)': 'd h', 'i:first-of-type': 'g', 'p:not(#b):not([title])': 'f h', 'section :not(p, b)': 'g',
    };
    for (const [selector, ids] of Object.entries(expected)) equal(await seen(html, selector), ids, selector);
    for (const bad of ['', 'a +b', 'a ~ b', 'p:hover', 'p::before', 'a >', '[x', ':not(', ',', 'a b)', '!']) throws(() => new HTMLRewriter().on(bad, {}), 'TypeError', /^Parser error: /);
});

test('foreign content', async () => {
    const namespaces = [];
    await new HTMLRewriter().on('*', { element: (e) => void namespaces.push(`${e.tagName} ${e.namespaceURI.split('/').pop()}`) }).transform(new Response('<svg><title><a/></title><path/><foreignObject><p></p></foreignObject></svg><math><mi><b></b></mi></math><svg><div></div>')).text();
    same(namespaces, ['svg svg', 'title svg', 'a xhtml', 'path svg', 'foreignobject svg', 'p xhtml', 'math MathML', 'mi MathML', 'b xhtml', 'svg svg', 'div xhtml']);
});

test('handlers that wait, streams as content', async () => {
    const stream = (text) => new Response(text).body;
    equal(await rewrite('<p>x</p>', (r) => r.on('p', {
        async element(e) {
            await scheduler.wait(1);
            e.prepend(stream('<a>')).append(new Response('<b>'), { html: true });
        },
    }).onDocument({ end: (end) => void end.append('<end>', { html: true }) })), '<p>&lt;a&gt;x<b></p><end>');
    await rejects(new HTMLRewriter().on('p', { element: (e) => void e.prepend(new Response(new Uint8Array([0xe2, 0x28]))) }).transform(new Response('<p>')).text(), 'TypeError', 'Parser error: Invalid UTF-8');
});

test('errors end the response', async () => {
    for (const text of [() => { throw new RangeError('boom'); }, async () => { throw new RangeError('boom'); }]) {
        await rejects(new HTMLRewriter().on('*', { text }).transform(new Response('<p>x</p>')).text(), 'RangeError', 'boom');
    }
    throws(() => new HTMLRewriter().transform(new Response('x', { headers: { 'content-type': 'text/html; charset=nonsense' } })), 'TypeError', 'Parser error: Unknown character encoding has been provided.');
    throws(() => new HTMLRewriter().transform('x'), 'TypeError');
    throws(() => new HTMLRewriter().on('p'), 'TypeError');
});

test('a token is good inside of its handler only', async () => {
    let kept;
    await new HTMLRewriter().on('p', { element: (e) => void (kept = e) }).transform(new Response('<p>')).text();
    throws(() => kept.tagName, 'TypeError', /^This content token is no longer valid/);
});

test('status and headers stay, the length does not', async () => {
    const r = new HTMLRewriter().on('p', { element: (e) => void e.after('x') }).transform(new Response('<p>', { status: 201, headers: { 'content-length': '3', 'x-a': 'b' } }));
    same([r.status, r.headers.get('x-a'), r.headers.get('content-length')], [201, 'b', null]);
    const latin = new HTMLRewriter().on('p', { element: (e) => void e.append('ü€') }).transform(new Response(new Uint8Array([60, 112, 62, 0xe4, 60, 47, 112, 62]), { headers: { 'content-type': 'text/html; charset=iso-8859-1' } }));
    same([...(await latin.bytes())], [60, 112, 62, 0xe4, 0xfc, 0x80, 60, 47, 112, 62]);
});

export default run;
