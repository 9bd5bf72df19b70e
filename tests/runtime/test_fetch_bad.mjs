// fetch: what needs no server.
import { equal, rejects, run, test } from 'harness.js';

test('unknown schemes', async () => {
    await rejects(fetch('ftp://example.com/x'), 'TypeError', 'Fetch API cannot load: ftp://example.com/x');
});

test('a port where nobody listens', async () => {
    const error = await rejects(fetch('http://127.0.0.1:9/'), 'Error', 'Network connection lost.');
    equal(error.retryable, true);
});

test('a relative URL', async () => {
    await rejects(fetch('/x'), 'TypeError');
});

test('a GET has no body', async () => {
    await rejects(fetch('http://127.0.0.1:9/', { body: 'x' }), 'TypeError', 'Request with a GET or HEAD method cannot have a body.');
});

test('headers have a bound', async () => {
    const message = 'The headers of a request take more than 131072 bytes.';
    const headers = { 'x-long': 'y'.repeat(140000) };
    await rejects(fetch('http://127.0.0.1:9/', { headers }), 'TypeError', message);
    await rejects(fetch('http://127.0.0.1:9/', { headers: { 'x-wide': '\u4e16'.repeat(50000) } }), 'TypeError', message);
    await rejects(fetch('http://127.0.0.1:9/', { headers: { ...headers, upgrade: 'websocket' } }), 'TypeError', message);
});

export default run;
