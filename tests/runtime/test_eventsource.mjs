// EventSource over a stream and over a fetcher.
import { equal, ok, run, same, test, throws } from 'harness.js';

const stream = (...chunks) => new Response(chunks.join('')).body;
const drops = (text) => {
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    return new ReadableStream({ pull: (c) => (at < bytes.length ? c.enqueue(bytes.slice(at, ++at)) : c.close()) });
};
const hear = (source, ...types) =>
    new Promise((resolve) => {
        const heard = [];
        for (const type of ['message', ...types]) source.addEventListener(type, (e) => heard.push([e.type, e.data, e.lastEventId]));
        source.onerror = () => resolve(heard);
    });

test('lines and fields', async () => {
    const text = '\ufeffdata: one\n\ndata:two\r\ndata:  lines\r\n\r\n: comment\rid: 7\rdata\r\revent: mine\ndata: {"a":1}\nnonsense: x\nnothing\n\nid: bad\0id\ndata: after\n\nid\ndata: reset\n\nevent: empty\n\ndata: unfinished';
    const want = [['message', 'one', ''], ['message', 'two\n lines', ''], ['mine', '{"a":1}', '7'], ['message', 'after', '7'], ['message', 'reset', '']];
    for (const make of [stream, drops]) same(await hear(EventSource.from(make(text)), 'mine', 'empty'), want);
});

test('a stream is read once', async () => {
    const source = EventSource.from(stream('data: x\n\n'));
    same([source.readyState, source.url, source.withCredentials], [EventSource.OPEN, '', false]);
    let opened = false;
    source.onopen = () => (opened = source.readyState === EventSource.OPEN);
    await new Promise((resolve) => (source.onerror = resolve));
    same([opened, source.readyState], [true, EventSource.CLOSED]);
    const locked = stream('x');
    locked.getReader();
    throws(() => EventSource.from(locked), 'TypeError', 'This ReadableStream is locked.');
    throws(() => EventSource.from('x'), 'TypeError');
});

const event = (text) => new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
const fetcher = (...answers) => {
    const asked = [];
    return {
        asked,
        fetch: async (url, init) => {
            asked.push([url, new Headers(init.headers).get('accept'), new Headers(init.headers).get('last-event-id')]);
            return answers.shift()();
        },
    };
};

test('it connects again, and says what it has seen', async () => {
    const server = fetcher(() => event('retry: 1\nid: 5\ndata: first\n\n'), () => event('data: second\n\n'));
    const source = new EventSource('http://h/stream', { fetcher: server });
    const errors = [];
    source.onerror = (e) => errors.push(e.error.message, source.readyState);
    const seen = [];
    await new Promise((resolve) => {
        source.onmessage = (e) => {
            seen.push(e.data, e.lastEventId, e.origin);
            if (seen.length === 6) resolve();
        };
    });
    source.close();
    same(seen, ['first', '5', 'http://h', 'second', '5', 'http://h']);
    same(errors, ['The server disconnected.', EventSource.CONNECTING]);
    same(server.asked, [['http://h/stream', 'text/event-stream', null], ['http://h/stream', 'text/event-stream', '5']]);
    equal(source.readyState, EventSource.CLOSED);
});

test('answers that are no event stream', async () => {
    for (const [answer, why] of [
        [() => new Response('x', { status: 404 }), 'The response status code was 404.'],
        [() => new Response('x'), "The content type 'text/plain;charset=UTF-8' is invalid."],
        [() => { throw new Error('no network'); }, 'no network'],
    ]) {
        const source = new EventSource('http://h/', { fetcher: fetcher(answer) });
        const e = await new Promise((resolve) => (source.onerror = resolve));
        same([e.error.message, source.readyState], [why, EventSource.CLOSED]);
    }
});

test('a listener that throws ends it', async () => {
    addEventListener('error', (e) => e.preventDefault(), { once: true });
    const source = EventSource.from(stream('data: a\n\ndata: b\n\n'));
    const seen = [];
    source.onmessage = (e) => {
        seen.push(e.data);
        throw new Error('mine');
    };
    await new Promise((resolve) => (source.onerror = resolve));
    same([seen, source.readyState], [['a'], EventSource.CLOSED]);
});

test('any type of event has its attribute; dispose closes', async () => {
    const source = EventSource.from(stream('event: mine\ndata: x\n\n'));
    const e = await new Promise((resolve) => (source.onmine = resolve));
    equal(e.data, 'x');
    source[Symbol.dispose]();
    equal(source.readyState, EventSource.CLOSED);
});

test('no content once is tried again, twice is the end', async () => {
    const none = () => new Response(null, { status: 204, headers: { 'content-type': 'text/event-stream' } });
    const source = new EventSource('http://h/', { fetcher: fetcher(none, none) });
    const states = [];
    await new Promise((resolve) => (source.onerror = () => states.push(source.readyState) === 2 && resolve()));
    same(states, [EventSource.CONNECTING, EventSource.CLOSED]);
});

test('arguments', () => {
    throws(() => new EventSource('http://this is invalid/'), 'SyntaxError');
    throws(() => new EventSource('http://h/', { withCredentials: true }), 'NotSupportedError');
    throws(() => new EventSource(), 'TypeError');
    ok(EventSource.OPEN === 1 && EventSource.prototype.CLOSED === 2, 'constants');
});

export default run;
