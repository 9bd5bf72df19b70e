// load.mjs: clients by hand, where wrk has none: each path once, and WebSockets.
import net from 'node:net';

export const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const ascending = (list) => list.sort((a, b) => a - b);

const connect = (port) =>
    new Promise((resolve, reject) => {
        const s = net.connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(s));
        s.once('error', reject);
    });

// Whether a whole answer is there: with a Content-Length, or chunked.
function whole(text) {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const length = text.slice(0, end).match(/content-length: *(\d+)/i);
    return length ? text.length >= end + 4 + Number(length[1]) : text.endsWith('0\r\n\r\n');
}

async function ask(socket, path) {
    let text = '';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await new Promise((resolve, reject) => {
        const closed = () => reject(new Error(`${path}: the connection was closed`));
        const take = (d) => {
            text += d.toString('latin1');
            if (!whole(text)) return;
            socket.off('data', take).off('close', closed);
            resolve();
        };
        socket.on('data', take).on('close', closed);
    });
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(`${path}: ${text.split('\r\n')[0]} ${text.slice(text.indexOf('\r\n\r\n') + 4).trim()}`);
}

// GET prefix + i for each i once; the times in milliseconds, ascending.
export async function sequence(port, prefix, from, to, connections) {
    const times = [];
    let next = from;
    await Promise.all(Array.from({ length: Math.min(connections, to - from) }, async () => {
        const socket = await connect(port);
        while (next < to) {
            const path = `${prefix}${next++}`, begun = performance.now();
            await ask(socket, path);
            times.push(performance.now() - begun);
        }
        socket.destroy();
    }));
    return ascending(times);
}

async function open(port, path) {
    const socket = await connect(port);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`);
    const answer = await new Promise((resolve, reject) => {
        socket.once('data', (d) => resolve(d.toString('latin1')));
        socket.once('close', () => reject(new Error(`${path}: the connection was closed`)));
    });
    if (!answer.startsWith('HTTP/1.1 101')) throw new Error(`${path}: ${answer.split('\r\n')[0]}`);
    return socket;
}

// `count` WebSockets to `objects` objects in turn.
export async function sockets(port, prefix, count, objects) {
    const list = [];
    for (let i = 0; i < count; i += 16) {
        list.push(...(await Promise.all(Array.from({ length: Math.min(16, count - i) }, (_, k) => open(port, `${prefix}${(i + k) % objects}`)))));
    }
    return list;
}

// A text frame of 64 bytes with the mask 0, which leaves the bytes as they are; the echo of it.
const FRAME = Buffer.concat([Buffer.from([0x81, 0x80 | 64, 0, 0, 0, 0]), Buffer.alloc(64, 'x')]);
const ECHO_BYTES = 66;

// Each socket sends the next message when the echo of the last has come.
export async function echo(list, seconds) {
    const times = [], until = performance.now() + seconds * 1000, begun = performance.now();
    await Promise.all(list.map((socket) => new Promise((resolve, reject) => {
        let got = 0, sent = performance.now();
        const closed = () => reject(new Error('a socket was closed'));
        const take = (d) => {
            got += d.length;
            if (got < ECHO_BYTES) return;
            got = 0;
            const now = performance.now();
            times.push(now - sent);
            if (now >= until) {
                socket.off('data', take).off('close', closed);
                return resolve();
            }
            sent = now;
            socket.write(FRAME);
        };
        socket.on('data', take).on('close', closed);
        socket.write(FRAME);
    })));
    ascending(times);
    return { trips: times.length, seconds: (performance.now() - begun) / 1000, p50: at(times, 0.5), p99: at(times, 0.99) };
}
