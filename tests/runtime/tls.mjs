// TLS of connect() and of WebSockets; tests/e2e/tls.cjs is the other side and says where it listens.
import { connect } from 'cloudflare:sockets';
import { env } from 'cloudflare:workers';
import { equal, ok, rejects, same, test, throws, run } from 'harness.js';

const at = (name, host = 'localhost') => `${host}:${env[name]}`;
const text = (bytes) => new TextDecoder().decode(bytes);
const all = async (reader) => {
    let got = '';
    for (let part; !(part = await reader.read()).done;) got += text(part.value);
    return got;
};

test('a socket with TLS from the start', async () => {
    const socket = connect(at('GOOD'), { secureTransport: 'on', allowHalfOpen: true });
    same([socket.secureTransport, socket.upgraded], ['on', false]);
    ok((await socket.opened).remoteAddress.startsWith('127.0.0.1:'), 'its address');
    const writer = socket.writable.getWriter(), reader = socket.readable.getReader();
    await writer.write(new TextEncoder().encode('hello'));
    equal(text((await reader.read()).value), 'hello');
    // More than is under way at once, both ways.
    const big = new Uint8Array(3 << 20).map((_, i) => i * 31);
    const sent = writer.write(big).then(() => writer.close());
    let length = 0, same_ = true;
    for (let part; !(part = await reader.read()).done; length += part.value.length) part.value.forEach((b, i) => (same_ &&= b === big[length + i]));
    await sent;
    same([length, same_], [big.length, true]);
    throws(() => socket.startTls(), 'TypeError');
    await socket.close();
});

test('by address', async () => {
    const socket = connect(at('GOOD', '127.0.0.1'), { secureTransport: 'on' });
    const writer = socket.writable.getWriter();
    await writer.write(new TextEncoder().encode('e'));
    equal(await all(socket.readable.getReader()), 'bye');
});

test('certificates that are refused', async () => {
    for (const [name, why] of [['OTHER', /hostname mismatch|name/i], ['FOREIGN', /self-signed|certificate/i]]) {
        const socket = connect(at(name), { secureTransport: 'on' });
        await rejects(socket.opened, 'Error', why);
        await rejects(socket.closed, 'Error', why);
    }
    const plain = connect(at('PLAIN'), { secureTransport: 'on' });
    await rejects(plain.opened, 'Error', /TLS/);
});

test('a peer that breaks off without saying so is no end', async () => {
    const socket = connect(at('GOOD'), { secureTransport: 'on' });
    const writer = socket.writable.getWriter();
    await writer.write(new TextEncoder().encode('x'));
    await rejects(all(socket.readable.getReader()), 'Error');
});

test('TLS in the middle', async () => {
    const socket = connect(at('START'), { secureTransport: 'starttls' });
    const writer = socket.writable.getWriter(), reader = socket.readable.getReader();
    await writer.write(new TextEncoder().encode('STARTTLS'));
    equal(text((await reader.read()).value), 'GO');
    writer.releaseLock();
    reader.releaseLock();
    const inner = socket.startTls();
    await socket.closed;
    same([socket.upgraded, inner.secureTransport, inner.upgraded], [true, 'on', false]);
    throws(() => socket.startTls(), 'TypeError');
    const innerWriter = inner.writable.getWriter();
    await innerWriter.write(new TextEncoder().encode('e'));
    equal(await all(inner.readable.getReader()), 'bye');
    await inner.closed;
});

test('another name than that of the connection', async () => {
    const socket = connect(at('START'), { secureTransport: 'starttls' });
    const writer = socket.writable.getWriter(), reader = socket.readable.getReader();
    await writer.write(new TextEncoder().encode('STARTTLS'));
    await reader.read();
    const inner = socket.startTls({ expectedServerHostname: 'elsewhere.example' });
    await rejects(inner.opened, 'Error', /name/i);
});

test('a server that says nothing can be left', async () => {
    const socket = connect(at('SILENT'), { secureTransport: 'on' });
    socket.opened.catch(() => {});
    await scheduler.wait(50);
    await Promise.race([socket.close(), scheduler.wait(1000)]);
});

const next = (ws, type) => new Promise((resolve) => ws.addEventListener(type, resolve, { once: true }));

test('wss', async () => {
    const ws = new WebSocket(`wss://${at('WEB')}/`);
    await next(ws, 'open');
    ws.send('hello');
    equal((await next(ws, 'message')).data, 'hello');
    ws.close(1000, 'done');
    equal((await next(ws, 'close')).code, 1000);
    const bad = new WebSocket(`wss://${at('OTHER')}/`);
    ok(/certificate/i.test((await next(bad, 'error')).message), 'says why');
});

test('fetch of https that becomes a WebSocket', async () => {
    const response = await fetch(`https://${at('WEB')}/`, { headers: { upgrade: 'websocket' } });
    equal(response.status, 101);
    const ws = response.webSocket;
    ws.accept();
    ws.send('x');
    equal((await next(ws, 'message')).data, 'x');
    ws.close();
});

test('fetch over HTTP/2', async () => {
    const url = `https://${at('SECOND')}`;
    const one = await fetch(url, { method: 'POST', body: 'hello' });
    same([one.status, one.headers.get('x-version'), await one.text()], [200, '2.0', 'HELLO']);
    const pieces = new ReadableStream({
        async start(controller) {
            for (let i = 0; i < 50; i++) {
                await scheduler.wait(1);
                controller.enqueue(new TextEncoder().encode(`piece ${i};`.repeat(100)));
            }
            controller.close();
        },
    });
    const streamed = await (await fetch(url, { method: 'POST', body: pieces })).text();
    equal(streamed, Array.from({ length: 50 }, (_, i) => `PIECE ${i};`.repeat(100)).join(''));
    // At once, they share a connection.
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/slow`)));
    same(await Promise.all(answers.map((r) => r.text())), Array(20).fill('slow'));
    const connections = new Set(answers.map((r) => r.headers.get('x-connection'))).size;
    ok(connections < 20, `${connections} connections for 20 requests`);
    await rejects(fetch(`${url}/reset`), 'Error', 'Network connection lost.');
    equal((await fetch(url)).status, 200);
});

test('https with a certificate that is refused', async () => {
    await rejects(fetch(`https://${at('OTHER')}/`), 'Error', /certificate|SSL/i);
    await rejects(fetch(`https://${at('FOREIGN')}/`), 'Error', /certificate|SSL/i);
});

export default run;
