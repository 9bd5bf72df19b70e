// conformance/lib/client.mjs: sends a case's request to an engine; what came is the observation.
import { request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';

const WebSocket = createRequire('/usr/share/nodejs/')('ws'); // Of the build root.

const TIMEOUT_MS = 30000; // Machines are busy.

// Fields of the connection, of the clock, or of who answers: not the Worker's.
const NOT_OBSERVED = /^(date|connection|keep-alive|transfer-encoding|server|via|content-length)$/;

const timeout = (what) => new Promise((_, reject) => setTimeout(reject, TIMEOUT_MS, new Error(`${what}: nothing after ${TIMEOUT_MS} ms`)).unref());

const headersFor = (name, extra) => ({ host: 'conformance.test', ...(name && { 'x-case': encodeURIComponent(name) }), ...extra });

function observe(response, method) {
    const headers = {};
    for (let i = 0; i < response.rawHeaders.length; i += 2) {
        const name = response.rawHeaders[i].toLowerCase();
        const keep = !NOT_OBSERVED.test(name) || (name === 'content-length' && method === 'HEAD');
        if (keep) (headers[name] ??= []).push(response.rawHeaders[i + 1]);
    }
    for (const name of Object.keys(headers)) headers[name] = headers[name].join(' | ');
    return { status: response.statusCode, statusText: response.statusMessage, headers };
}

// One request: { status, statusText, headers, body, aborted? }.
export function send(port, name, { method = 'GET', path = '/', headers, body, abort, latin1 } = {}) {
    const exchange = new Promise((resolve, reject) => {
        const request = httpRequest({ host: '127.0.0.1', port, method, path, headers: headersFor(name, headers), agent: false });
        let seen = null;
        const parts = [];
        const finish = (aborted) => {
            if (seen === null) return aborted ? resolve({ aborted: true }) : reject(new Error('no answer'));
            const body = Buffer.concat(parts);
            resolve({ ...seen, body: latin1 ? body.toString('latin1') : body.toString('utf8'), ...(aborted && { aborted: true }) });
        };
        request.on('error', () => finish(true));
        request.on('response', (response) => {
            seen = observe(response, method);
            response.on('data', (part) => parts.push(part));
            response.on('end', () => finish(false));
            response.on('error', () => finish(true));
        });
        if (abort !== undefined) setTimeout(() => request.destroy(), abort);
        if (Array.isArray(body)) sendParts(request, body);
        else request.end(body?.fill === undefined ? body : Buffer.alloc(body.size, body.fill));
    });
    return Promise.race([exchange, timeout(`${method} ${path}`)]);
}

// A body in parts: chunked, with a pause between them.
function sendParts(request, parts) {
    const [first, ...rest] = parts;
    if (first === undefined) return request.end();
    request.write(first);
    setTimeout(sendParts, 10, request, rest);
}

export async function sendAll(port, name, requests) {
    if (!Array.isArray(requests)) return send(port, name, requests);
    const seen = [];
    for (const one of requests) seen.push(await send(port, name, one));
    return seen;
}

// A WebSocket client that follows a script: the list of what came, up to the close.
export function converse(port, name, script, { path = '/', protocols = [], headers } = {}) {
    const talk = new Promise((resolve) => {
        const seen = [];
        const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers: headersFor(name, headers), perMessageDeflate: false });
        socket.on('open', async () => {
            if (socket.protocol) seen.push(`protocol ${socket.protocol}`);
            for (const [what, ...args] of script) await steps[what](socket, ...args);
        });
        socket.on('message', (data, binary) => seen.push(binary ? `bytes ${data.toString('hex')}` : `text ${data}`));
        socket.on('unexpected-response', (request, response) => {
            seen.push(`status ${response.statusCode}`);
            socket.terminate();
        });
        socket.on('error', () => {});
        socket.on('close', (code, reason) => {
            seen.push(`close ${code}${reason.length > 0 ? ` ${reason}` : ''}`);
            resolve(seen);
        });
    });
    return Promise.race([talk, timeout('WebSocket')]);
}

const steps = {
    wait: (socket, ms) => new Promise((wake) => setTimeout(wake, ms)),
    text: (socket, text) => socket.send(text),
    bytes: (socket, list) => socket.send(Uint8Array.from(list)),
    close: (socket, code, reason) => socket.close(code, reason),
};
