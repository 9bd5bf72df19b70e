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

export default run;
