// conformance/lib/origin.mjs: the server that cases fetch from. Its answers are the same for both engines.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

async function bodyOf(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return Buffer.concat(parts);
}

// Fields that the client's engine chooses by itself: not for comparison.
const OWN = /^(host|connection|accept-encoding|user-agent|content-length|transfer-encoding|accept|cf-.*|cdn-loop|traceparent)$/;

const routes = {
    async '/echo'(request, response, url) {
        const body = await bodyOf(request);
        const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OWN.test(name)));
        const answer = { method: request.method, path: url.pathname + url.search, headers, body: body.toString('latin1') };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(answer));
    },
    // Whether a body came with its length or in chunks.
    async '/framing'(request, response) {
        const length = (await bodyOf(request)).length;
        response.end(JSON.stringify([request.headers['content-length'] ?? null, request.headers['transfer-encoding'] ?? null, length]));
    },
    '/status'(request, response, url) {
        response.writeHead(Number(url.searchParams.get('code')), url.searchParams.get('text') ?? undefined);
        response.end();
    },
    '/redirect'(request, response, url) {
        response.writeHead(Number(url.searchParams.get('code') ?? 302), { location: url.searchParams.get('to') });
        response.end('moved');
    },
    '/around'(request, response) {
        response.writeHead(302, { location: '/around' });
        response.end();
    },
    '/hops'(request, response, url) {
        const left = Number(url.searchParams.get('left'));
        if (left === 0) return response.end('arrived');
        response.writeHead(302, { location: `/hops?left=${left - 1}` });
        response.end();
    },
    '/headers'(request, response) {
        response.writeHead(200, [['X-One', '1'], ['X-Two', 'a'], ['X-Two', 'b'], ['Set-Cookie', 'a=1; Path=/'], ['Set-Cookie', 'b=2']].flat());
        response.end();
    },
    // What echo leaves out.
    '/loops'(request, response) {
        response.end(request.headers['cdn-loop'] ?? 'none');
    },
    // Values beyond ASCII: UTF-8, and a byte that is none.
    '/wide'(request, response) {
        response.writeHead(200, { 'x-utf': Buffer.from('gr\u00fc\u00dfe \u4e16').toString('latin1'), 'x-byte': 'caf\u00e9' });
        response.end();
    },
    '/text'(request, response) {
        response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
        response.end('grüße');
    },
    '/chunks'(request, response, url) {
        let left = Number(url.searchParams.get('count') ?? 3);
        const next = () => {
            if (left-- === 0) return response.end();
            response.write(`chunk ${left};`);
            setTimeout(next, 5);
        };
        next();
    },
    '/big'(request, response, url) {
        response.end(Buffer.alloc(Number(url.searchParams.get('size')), 'abcdefgh'));
    },
    async '/digest'(request, response) {
        const body = await bodyOf(request);
        response.end(`${body.length} ${createHash('sha256').update(body).digest('hex')}`);
    },
    '/gzip': (request, response) => packed(response, 'gzip', gzipSync),
    '/deflate': (request, response) => packed(response, 'deflate', deflateSync),
    '/br': (request, response) => packed(response, 'br', brotliCompressSync),
    '/never'() {},
    '/slow'(request, response, url) {
        setTimeout(() => response.end('late'), Number(url.searchParams.get('ms')));
    },
    // A body that breaks off.
    '/broken'(request, response) {
        response.writeHead(200, { 'content-length': '100' });
        response.write('only this', () => response.destroy());
    },
    '/hangup'(request) {
        request.socket.destroy();
    },
    // What the listener of /watch saw last.
    '/multipart'(request, response) {
        response.writeHead(200, { 'content-type': 'multipart/form-data; boundary=frontier' });
        response.end(
            '--frontier\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' +
                '--frontier\r\nContent-Disposition: form-data; name="f"; filename="x.txt"\r\nContent-Type: text/plain\r\n\r\nfile\r\n--frontier--\r\n',
        );
    },
};

function packed(response, encoding, pack) {
    response.writeHead(200, { 'content-encoding': encoding, 'content-type': 'text/plain' });
    response.end(pack('unpacked '.repeat(100)));
}

// An echo of WebSocket frames: just enough of RFC 6455 for small text and binary frames and Close.
function upgrade(request, socket) {
    socket.on('error', () => {});
    if (request.url === '/refused') {
        return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nX-Why: members only\r\nContent-Length: 9\r\n\r\nno socket');
    }
    if (request.url === '/moved') return socket.end('HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /socket\r\nContent-Length: 0\r\n\r\n');
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    const protocol = request.headers['sec-websocket-protocol']?.split(',')[0].trim();
    socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n` +
            (protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : '') + '\r\n',
    );
    let got = Buffer.alloc(0);
    socket.on('data', (data) => {
        got = Buffer.concat([got, data]);
        while (got.length >= 6) {
            const short = got[1] & 127;
            const at = short === 126 ? 4 : 2;
            const length = short === 126 ? got.readUInt16BE(2) : short;
            if (got.length < at + 4 + length) return;
            const payload = got.subarray(at + 4, at + 4 + length).map((b, i) => b ^ got[at + (i & 3)]);
            const opcode = got[0] & 15;
            got = got.subarray(at + 4 + length);
            if (opcode === 1 && payload.toString() === 'close me') {
                const reason = Buffer.from('as you wish');
                socket.write(Buffer.concat([Buffer.from([0x88, 2 + reason.length, 4001 >> 8, 4001 & 255]), reason]));
            } else {
                socket.write(Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]));
            }
            if (opcode === 8) socket.end();
        }
    });
}

export async function startOrigin() {
    const server = createServer((request, response) => {
        const url = new URL(request.url, 'http://origin');
        const route = routes[url.pathname];
        if (route === undefined) {
            response.writeHead(404);
            response.end('no such route');
        } else {
            Promise.resolve(route(request, response, url)).catch((error) => response.destroy(error));
        }
    });
    server.on('upgrade', upgrade);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        url: `http://127.0.0.1:${server.address().port}`,
        close() {
            server.closeAllConnections();
            server.close();
        },
    };
}
