// TCP from inside a Worker; e2e/tcp.cjs is the other side. env.PORT echoes; a first byte of "x" makes it vanish, "e" end.
import { connect } from 'cloudflare:sockets';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

const text = (bytes) => new TextDecoder().decode(bytes);
const bytes = (s) => new TextEncoder().encode(s);

test('bytes go both ways', async (env) => {
    const socket = connect({ hostname: '127.0.0.1', port: Number(env.PORT) }, { allowHalfOpen: true });
    same([socket.secureTransport, socket.upgraded], ['off', false]);
    const { remoteAddress } = await socket.opened;
    equal(remoteAddress, `127.0.0.1:${env.PORT}`);
    const writer = socket.writable.getWriter();
    await writer.write(bytes('hello'));
    const reader = socket.readable.getReader();
    equal(text((await reader.read()).value), 'hello');
    await writer.close();
    equal((await reader.read()).done, true);
    await socket.closed;
});

test('a megabyte', async (env) => {
    const socket = connect(`localhost:${env.PORT}`, { allowHalfOpen: true });
    const writer = socket.writable.getWriter();
    const sent = (async () => {
        for (let i = 0; i < 16; i++) await writer.write(new Uint8Array(65536).fill(i));
        await writer.close();
    })();
    let length = 0;
    for await (const chunk of socket.readable) length += chunk.length;
    await sent;
    equal(length, 1 << 20);
});

test('the other side ends', async (env) => {
    const socket = connect(`127.0.0.1:${env.PORT}`);
    const writer = socket.writable.getWriter();
    await writer.write(bytes('e'));
    equal(text(await new Response(socket.readable).bytes()), 'bye');
    await socket.closed;
    await rejects(writer.write(bytes('late')), 'Error');
});

test('the other side vanishes', async (env) => {
    const socket = connect(`127.0.0.1:${env.PORT}`);
    await socket.writable.getWriter().write(bytes('x'));
    await rejects(socket.readable.getReader().read(), 'Error', 'Network connection lost.');
    await rejects(socket.closed, 'Error', 'Network connection lost.');
});

test('close() ends it', async (env) => {
    const socket = connect(`127.0.0.1:${env.PORT}`);
    await socket.opened;
    await socket.close();
    await socket.closed;
    equal((await socket.readable.getReader().read()).done, true);
});

test('nobody there', async () => {
    const socket = connect('127.0.0.1:1');
    await rejects(socket.opened, 'Error', 'proxy request failed, cannot connect to the specified address');
    await rejects(socket.closed, 'Error');
    await rejects(socket.readable.getReader().read(), 'Error');
});

test('what is no address', () => {
    throws(() => connect('nope'), 'TypeError', 'Specified address is missing port.');
    throws(() => connect(':80'), 'TypeError', 'Specified address could not be parsed.');
    throws(() => connect('a b:80'), 'TypeError', 'Specified address could not be parsed.');
    throws(() => connect({ hostname: 'x' }), 'TypeError', 'Specified address is missing port.');
    throws(() => connect({ port: 1 }), 'TypeError', 'Specified address is missing hostname.');
    throws(() => connect('x:1', { secureTransport: 'maybe' }), 'TypeError', 'Unsupported value in secureTransport socket option: maybe');
    throws(() => connect('127.0.0.1:1').startTls(), 'TypeError');
});

let early;
try {
    connect('127.0.0.1:1');
} catch (error) {
    early = error.message;
}
test('not in the global scope', () => ok(early.startsWith('Disallowed operation called within global scope'), early));

export default run;
