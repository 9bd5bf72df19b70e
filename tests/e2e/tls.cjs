// e2e/tls.cjs BIN: TLS of a Worker's sockets: tests/runtime/tls.mjs runs inside, this is the other side: servers with certificates
// of an authority that the machine trusts (SSL_CERT_FILE), and of one that nobody does.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const http2 = require('node:http2');
const https = require('node:https');
const { WebSocketServer } = require('ws');
const { check, equal, program, run, until } = require('./harness.cjs');

const runtime = path.join(__dirname, '../runtime');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-tls-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

// A certificate that is its own authority.
function certificate(name, alt) {
    const key = path.join(dir, `${name}.key`);
    const cert = path.join(dir, `${name}.pem`);
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=celld', '-addext', `subjectAltName=${alt}`, '-keyout', key, '-out', cert], { stdio: 'pipe' });
    return { key: fs.readFileSync(key), cert: fs.readFileSync(cert), path: cert };
}

const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

check('TLS against real servers', async () => {
    const good = certificate('good', 'DNS:localhost,IP:127.0.0.1');
    const other = certificate('other', 'DNS:other.example'); // Trusted, for another name.
    const foreign = certificate('foreign', 'DNS:localhost,IP:127.0.0.1'); // Nobody trusts it.
    fs.writeFileSync(path.join(dir, 'trusted.pem'), Buffer.concat([good.cert, other.cert]));
    const open = new Set();
    const seen = (socket) => {
        open.add(socket);
        socket.on('close', () => open.delete(socket)).on('error', () => {});
        return socket;
    };
    // Sends back what comes; ends when the client does, or at an "e", and is cut without a word at an "x".
    const echo = (socket) => {
        seen(socket).on('data', (data) => {
            if (data.toString() === 'x') socket.destroy();
            else if (data.toString() === 'e') socket.end('bye');
            else socket.write(data);
        });
    };
    const ports = {};
    for (const [name, c] of Object.entries({ good, other, foreign })) ports[name] = await listen(tls.createServer({ ...c, allowHalfOpen: true }, (s) => echo(s.on('end', () => s.end()))));
    // Speaks in the clear until it is told to start.
    ports.start = await listen(net.createServer((socket) => {
        socket.on('error', () => {}).once('data', (data) => {
            equal(data.toString(), 'STARTTLS');
            socket.write('GO', () => echo(new tls.TLSSocket(socket, { isServer: true, ...good })));
        });
    }));
    ports.plain = await listen(net.createServer((socket) => seen(socket).resume().end('no TLS here, but more bytes than a record has in its head')));
    ports.silent = await listen(net.createServer((socket) => seen(socket).resume()));
    const web = https.createServer(good, (request, response) => response.end('over https'));
    ports.web = await listen(web);
    new WebSocketServer({ server: web }).on('connection', (ws) => ws.on('message', (data, binary) => ws.send(data, { binary })));
    // Says how it was asked; a body comes back in capitals, in the order of its pieces.
    const second = http2.createSecureServer({ ...good, allowHTTP1: true }, (request, response) => {
        seen(request.socket);
        response.setHeader('x-version', request.httpVersion);
        response.setHeader('x-connection', `${request.socket.remotePort}`);
        if (request.url === '/slow') return setTimeout(() => response.end('slow'), 300);
        if (request.url === '/reset') return request.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
        request.on('data', (data) => response.write(data.toString().toUpperCase())).on('end', () => response.end());
    });
    ports.second = await listen(second);
    // Where proxies would be: nobody may come.
    let proxied = 0;
    const proxy = await listen(net.createServer((socket) => socket.destroy(void proxied++)));
    const bindings = Object.entries(ports).map(([name, port]) => ({ type: 'plain_text', name: name.toUpperCase(), text: `${port}` }));
    const config = { script: 'test', flags: [], bindings };
    const env = { ...process.env, SSL_CERT_FILE: path.join(dir, 'trusted.pem'), SSL_CERT_DIR: dir + '/none' };
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']) env[name] = `http://127.0.0.1:${proxy}`;
    delete env.NO_PROXY;
    delete env.no_proxy;
    const p = program('../runtime/js_run', ['--config', JSON.stringify(config), `${runtime}/tls.mjs`, `harness.js=${runtime}/harness.js`], { env });
    const code = await p.exited;
    if (code !== 0) console.log(p.stdout + p.stderr);
    equal(code, 0, 'exit code');
    equal(proxied, 0, 'connections to a proxy');
    await until(() => open.size === 0, 'all connections closed');
}, 90);

run();
