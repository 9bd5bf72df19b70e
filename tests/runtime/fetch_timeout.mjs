// CELLD_FETCH_TIMEOUT_S inside a Worker; e2e/fetch.cjs is the server and sets it to 0.2 s.
import { rejects, run, test } from 'harness.js';

test('a server that does not answer in time', async (env) => {
    await rejects(fetch(`${env.ORIGIN}/slow`), 'Error', 'The server did not answer within 0.2 seconds.');
});

export default run;
