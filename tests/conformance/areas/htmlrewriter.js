import { caught, check, message, streamOf } from '../case.js';

const html = (body) => new Response(body, { headers: { 'content-type': 'text/html' } });
const rewrite = (body, ...handlers) => handlers.reduce((r, [selector, handler]) => r.on(selector, handler), new HTMLRewriter()).transform(html(body)).text();

check('attributes', () => rewrite('<a href="x" id=1>t</a>', ['a', { element(e) { e.setAttribute('href', e.getAttribute('href') + '?y'); e.removeAttribute('id'); e.setAttribute('new', '"'); } }]), '<a href="x?y" new="&quot;">t</a>');
check('reading an element', async () => {
    let seen;
    await rewrite('<DIV class="a b" data-x>t</DIV>', ['div', { element(e) { seen = [e.tagName, e.hasAttribute('class'), e.getAttribute('none'), [...e.attributes], e.removed, e.namespaceURI]; } }]);
    return seen;
}, ['div', true, null, [['class', 'a b'], ['data-x', '']], false, 'http://www.w3.org/1999/xhtml']);
check('before, after, prepend, append', () => rewrite('<p>x</p>', ['p', { element(e) { e.before('1'); e.after('4'); e.prepend('2'); e.append('3'); } }]), '1<p>2x3</p>4');
check('text is escaped, html is not', () => rewrite('<p></p>', ['p', { element(e) { e.append('<b>'); e.append('<i></i>', { html: true }); } }]), '<p>&lt;b&gt;<i></i></p>');
check('setInnerContent, replace, remove, removeAndKeepContent', () => rewrite('<a>1</a><b>2</b><i>3</i><u>4</u>', ['a', { element(e) { e.setInnerContent('new'); } }], ['b', { element(e) { e.replace('<hr>', { html: true }); } }], ['i', { element(e) { e.remove(); } }], ['u', { element(e) { e.removeAndKeepContent(); } }]),
    '<a>new</a><hr>4');
check('tagName can be changed', () => rewrite('<b>x</b>', ['b', { element(e) { e.tagName = 'strong'; } }]), '<strong>x</strong>');
check('text', async () => {
    let seen = '';
    const out = await rewrite('<p>a &amp; b</p>', ['p', { text(t) { seen += t.text; if (!t.lastInTextNode) t.replace(t.text.toUpperCase(), { html: true }); } }]);
    return [seen, out];
}, ['a &amp; b', '<p>A &AMP; B</p>']);
check('comments', () => rewrite('<p><!-- c --></p>', ['p', { comments(c) { c.text = c.text.trim() + '!'; } }]), '<p><!--c!--></p>');
check('end tags', () => rewrite('<p>x</p>', ['p', { element(e) { e.onEndTag((t) => { t.before('<', {}); t.name = 'div'; }); } }]), '<p>x&lt;</div>');
check('selectors', async () => {
    const selectors = ['#i', '.c', 'p.c', '[a]', '[a="1"]', '[a^="1"]', '[a~="2"]', 'div p', 'div > p', 'p:nth-child(2)', 'p:first-child', 'p:not(.c)', '*'];
    const counts = {};
    await rewrite('<div><p id="i" a="1 2">1</p><p class="c">2</p></div><p a="1">3</p>', ...selectors.map((s) => [s, { element() { counts[s] = (counts[s] ?? 0) + 1; } }]));
    return selectors.map((s) => counts[s] ?? 0);
}, [1, 1, 1, 2, 1, 2, 1, 2, 2, 2, 1, 2, 4]);
check('several handlers', () => rewrite('<p>x</p>', ['p', { element(e) { e.append('1'); } }], ['p', { element(e) { e.append('2'); } }]), '<p>x12</p>');
check('handlers may wait', () => rewrite('<p>x</p>', ['p', { async element(e) { await new Promise((r) => setTimeout(r, 2)); e.append('late'); } }]), '<p>xlate</p>');
check('onDocument', async () => {
    const seen = [];
    const out = await new HTMLRewriter().onDocument({ doctype(d) { seen.push(d.name); }, comments(c) { seen.push(c.text); }, text(t) { if (t.text) seen.push(t.text); }, end(e) { e.append('<!--end-->', { html: true }); } }).transform(html('<!DOCTYPE html><!--c-->t')).text();
    return [seen, out];
}, [['html', 'c', 't'], '<!DOCTYPE html><!--c-->t<!--end-->']);
check('a stream in pieces', () => new HTMLRewriter().on('b', { element(e) { e.setAttribute('x', 'y'); } }).transform(new Response(streamOf('<p', '><', 'b>in', ' pieces</', 'b></p>'))).text(), '<p><b x="y">in pieces</b></p>');
check('what is not touched stays as it is', () => rewrite('<P  CLASS=a >&nbsp;<br/><img src=x>'), '<P  CLASS=a >&nbsp;<br/><img src=x>');
check('a handler that throws', () => message(rewrite('<p>', ['p', { element() { throw new RangeError('in a handler'); } }])), 'RangeError: in a handler');
check('a selector that cannot be', () => caught(() => new HTMLRewriter().on('p[', {})), 'TypeError');
check('an element outside its handler', async () => {
    let kept;
    await rewrite('<p>', ['p', { element(e) { kept = e; } }]);
    return caught(() => kept.getAttribute('x'));
}, 'TypeError');
check('status and headers stay', () => {
    const r = new HTMLRewriter().transform(new Response('<p>', { status: 201, headers: { 'x-a': '1', 'content-length': '3' } }));
    return [r.status, r.headers.get('x-a')];
}, [201, '1']);
check('a response without a body', async () => new HTMLRewriter().transform(new Response(null)).text(), '');
