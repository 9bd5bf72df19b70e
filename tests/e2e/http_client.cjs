// e2e/http_client.cjs BIN: our client on the real system against Node's http server and raw answers.
'use strict';
const http = require('node:http');
const net = require('node:net');
const { check, equal, ok, program, run } = require('./harness.cjs');

const MiB = 1024 * 1024;
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

// Runs the steps against a server and returns the lines.
const ask = async (port, ...steps) => {
    const p = program('http_ask', [port, ...steps]);
    const code = await p.exited;
    equal(p.stderr, '');
    equal(code, 0, 'exit');
    return p.stdout.trimEnd().split('\n');
};

const node = async (handler, use) => {
    const server = http.createServer(handler);
    const sockets = new Set();
    server.on('connection', (s) => sockets.add(s));
    const port = await listen(server);
    try {
        return await use(port, sockets);
    } finally {
        sockets.forEach((s) => s.destroy());
        server.close();
    }
};

check('node: connections are kept, bodies both ways', () =>
    node(
        async (request, response) => {
            let bytes = 0;
            for await (const d of request) bytes += d.length;
            const shape = `${request.method} ${bytes} ${request.headers['transfer-encoding'] ?? ''}`;
            if (request.url === '/chunked') {
                response.write(shape);
                response.end('!');
            } else if (request.url === '/close') {
                response.writeHead(200, { connection: 'close' });
                response.end(shape);
            } else if (request.url === '/hints') {
                response.writeEarlyHints({ link: '</style.css>; rel=preload' });
                response.end(shape);
            } else {
                response.end(shape);
            }
        },
        async (port, sockets) => {
            const lines = await ask(port, 'GET:/', 'POST:/:1000', 'PUT:/:70000:chunked', 'GET:/chunked', 'HEAD:/', 'GET:/hints');
            equal(lines.join('|'), `200 ${'GET 0 '.length}|200 ${'POST 1000 '.length}|200 ${'PUT 70000 chunked'.length}|200 7|200 0|200 6`);
            equal(sockets.size, 1, 'connections');
            equal((await ask(port, 'GET:/close', 'GET:/close')).join('|'), '200 6|200 6');
            equal(sockets.size, 3, 'connections');
        },
    ),
);

check('node: 100 MiB up and 100 MiB down in bounded memory', () =>
    node(
        async (request, response) => {
            let bytes = 0;
            for await (const d of request) bytes += d.length;
            if (request.url === '/up') {
                response.end(String(bytes));
                return;
            }
            const chunk = Buffer.alloc(65536, 'x');
            for (let left = 100 * MiB; left > 0; left -= chunk.length) {
                if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve));
            }
            response.end();
        },
        async (port) => {
            const p = program('http_ask', [port, `POST:/up:${100 * MiB}`, `POST:/up:${100 * MiB}:chunked`, 'GET:/down', 'sleep:/:300']);
            await p.line(/(.*\n){3}/);
            ok(p.memory('VmHWM') < 64 * MiB, `${p.memory('VmHWM')} bytes`); // A third of it when quiet.
            equal(await p.exited, 0);
            equal(p.stdout, `200 9\n200 9\n200 ${100 * MiB}\n`);
        },
    ), 60,
);

check('node: an early answer to a large upload', () =>
    node(
        (request, response) => {
            response.writeHead(413, { connection: 'close' });
            response.end('no');
        },
        async (port) => {
            const [line] = await ask(port, `POST:/:${50 * MiB}`);
            // The server may reset before the answer has been read: then nobody can know.
            ok(line === '413 2' || /^error (connection reset|.*) (maybe|answered) /.test(line), line);
        },
    ),
);

// Answers by hand.
const raw = async (answers, steps, want) => {
    let n = 0;
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
        const answer = answers[n++];
        socket.on('error', () => {});
        socket.once('data', () => {
            if (answer === null) socket.resetAndDestroy();
            else socket.end(answer);
        });
    });
    const port = await listen(server);
    try {
        equal((await ask(port, ...steps)).join('\n'), want.join('\n'));
    } finally {
        server.close();
    }
};

check('raw: answers that end, break, and lie', () =>
    raw(
        [
            'HTTP/1.1 200 OK\r\n\r\nuntil the end',
            'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort',
            null,
            '',
            'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
            'SMTP ready\r\n',
        ],
        ['GET:/', 'GET:/', 'GET:/', 'GET:/', 'GET:/', 'GET:/'],
        [
            '200 13',
            'error connection reset answered connection ended inside a message',
            'error connection reset maybe the connection broke',
            'error connection reset maybe the connection ended before the answer',
            "error peer broke the protocol maybe Transfer-Encoding can't be present with Content-Length",
            'error peer broke the protocol maybe Expected HTTP/, RTSP/ or ICE/',
        ],
    ),
);

check('nobody listens', async () => {
    const server = net.createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    equal((await ask(port, 'GET:/'))[0], 'error connection refused unsent could not connect');
});

run();
