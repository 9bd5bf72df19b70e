// h2_site.cjs KEY CERT: a server that offers HTTP/2 over TLS, and HTTP/1.1 to who does not take it. Prints its port,
// ends when its input does. Paths:
//   /version    "VERSION CONNECTION", the latter counted from 1
//   /echo       the request's body, and its fields of interest as x-seen
//   /gate?N     as /version, once N requests wait here
//   /big?N      N bytes as fast as they are taken; /sent tells how many were
//   /silent     nothing
//   /cut        five of ten bytes, then the stream breaks
//   /refuse     the stream is refused as one that was not processed; /refused tells how often
'use strict';
const fs = require('node:fs');
const http2 = require('node:http2');

const connections = new Map();
const connectionOf = (req) => {
    const socket = req.stream ? req.stream.session : req.socket;
    if (!connections.has(socket)) connections.set(socket, connections.size + 1);
    return connections.get(socket);
};
const version = (req) => `${req.httpVersion} ${connectionOf(req)}`;
const piece = Buffer.alloc(65536, 'x');
let waiting = [];
let sent = 0;
let refused = 0;

const big = (res, left) => {
    while (left > 0) {
        const n = Math.min(left, piece.length);
        left -= n;
        sent += n;
        if (!res.write(piece.subarray(0, n)) && left > 0) return res.once('drain', () => big(res, left));
    }
    res.end();
};

const paths = {
    version: (req, res) => res.end(version(req)),
    echo: (req, res) => {
        const of = ['content-length', 'transfer-encoding', 'user-agent', 'x-empty'];
        res.setHeader('x-seen', of.filter((name) => name in req.headers).map((name) => `${name}=${req.headers[name]}`).join());
        req.pipe(res);
    },
    gate: (req, res, n) => {
        waiting.push([req, res]);
        if (waiting.length < n) return;
        waiting.forEach(([a, b]) => b.end(version(a)));
        waiting = [];
    },
    big: (req, res, n) => big(res, n),
    sent: (req, res) => res.end(`${sent}`),
    silent: () => {},
    cut: (req, res) => {
        res.setHeader('content-length', 10);
        res.write('half!', () => res.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
    },
    refuse: (req, res) => {
        refused++;
        res.stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    },
    refused: (req, res) => res.end(`${refused}`),
};

const [key, cert] = process.argv.slice(2).map((path) => fs.readFileSync(path));
const server = http2.createSecureServer({ key, cert, allowHTTP1: true }, (req, res) => {
    const [path, n] = req.url.slice(1).split('?');
    paths[path](req, res, Number(n));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
