// node:http without a server, node:readline, node:worker_threads, node:cluster, node:repl, node:tty.
import cluster from 'node:cluster';
import dns from 'node:dns';
import { Resolver } from 'node:dns/promises';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import readline from 'node:readline';
import repl from 'node:repl';
import { PassThrough, Readable } from 'node:stream';
import tls from 'node:tls';
import tty from 'node:tty';
import { getEnvironmentData, isMainThread, setEnvironmentData, Worker } from 'node:worker_threads';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';

test('http: a request knows its headers', () => {
    const req = http.request({ hostname: 'a.example', port: 8080, path: '/x?y', headers: { 'X-A': 'b', Accept: ['c', 'd'] }, auth: 'u:p' });
    req.on('error', () => {});
    equal(req.getHeader('host'), 'a.example:8080');
    equal(req.getHeader('authorization'), 'Basic dTpw');
    same(req.getHeader('accept'), ['c', 'd']);
    same(req.getHeaderNames(), ['x-a', 'accept', 'host', 'authorization']);
    req.removeHeader('x-a');
    equal(req.hasHeader('X-A'), false);
    equal(throws(() => req.setHeader('bad name', 'x'), 'TypeError').code, 'ERR_INVALID_HTTP_TOKEN');
    equal(throws(() => req.setHeader('a', 'x\ny'), 'TypeError').code, 'ERR_INVALID_CHAR');
    req.destroy();
    equal(https.globalAgent.defaultPort, 443);
    equal(http.STATUS_CODES[404], 'Not Found');
    equal(throws(() => http.createServer(), 'Error').code, 'ERR_METHOD_NOT_IMPLEMENTED');
});

test('http: a path names no other host', async () => {
    for (const path of ['http://evil.example/', '//evil.example/', '/\\evil.example/']) {
        equal(throws(() => http.request({ hostname: 'a.example', path }), 'TypeError').code, 'ERR_INVALID_ARG_VALUE');
    }
    const req = http.request({ hostname: 'a.example', path: '/ok' });
    req.path = '//evil.example';
    equal((await new Promise((resolve) => req.on('error', resolve).end())).code, 'ERR_INVALID_ARG_VALUE');
});

test('http: a request that cannot be made', async () => {
    const error = await new Promise((resolve) => http.get('http://127.0.0.1:1/').on('error', resolve));
    ok(error instanceof Error);
    const gone = http.request('http://127.0.0.1:1/');
    const hungUp = new Promise((resolve) => gone.on('error', resolve));
    gone.destroy();
    equal((await hungUp).code, 'ECONNRESET');
});

test('http: headers of a message', () => {
    const message = new http.IncomingMessage();
    const dest = {};
    for (const [name, value] of [['Set-Cookie', 'a'], ['set-cookie', 'b'], ['Vary', 'x'], ['vary', 'y'], ['Host', '1'], ['host', '2'], ['Cookie', 'p'], ['cookie', 'q']]) message._addHeaderLine(name, value, dest);
    same(dest, { 'set-cookie': ['a', 'b'], vary: 'x, y', host: '1', cookie: 'p; q' });
});

test('readline: lines of a stream', async () => {
    const rl = readline.createInterface({ input: Readable.from([Buffer.from('one\nt'), Buffer.from('wo\r\nthree')]) });
    const lines = [];
    for await (const line of rl) lines.push(line);
    same(lines, ['one', 'two', 'three']);
    const out = new PassThrough();
    readline.cursorTo(out, 3, 4);
    readline.clearLine(out, 0);
    equal(out.read().toString(), '\x1b[5;4H\x1b[2K');
    equal(readline.clearLine(null, 0), false);
    const input = new PassThrough();
    const asked = readline.promises.createInterface({ input }).question('q? ');
    input.write('answer\n');
    equal(await asked, 'answer');
});

test('modules of one thread', async () => {
    equal(isMainThread, true);
    setEnvironmentData('k', 1);
    equal(getEnvironmentData('k'), 1);
    throws(() => new Worker('x'), 'Error', 'The worker_threads.Worker API is not implemented in celld');
    equal(cluster.isPrimary, true);
    throws(() => cluster.fork(), 'Error', 'The cluster.fork API is not implemented in celld');
    ok(new repl.Recoverable(new Error('x')) instanceof SyntaxError);
    ok(repl.builtinModules.includes('fs'));
    equal(tty.isatty(1), false);
    same(dns.getServers(), []);
    const resolver = new Resolver();
    resolver.setServers(['1.1.1.1']);
    same(resolver.getServers(), ['1.1.1.1']);
    throws(() => dns.lookup('a.example', () => {}), 'Error', 'The dns.lookup API is not implemented in celld');
    equal(throws(() => tls.connect({ checkServerIdentity() {} }), 'Error').code, 'ERR_OPTION_NOT_IMPLEMENTED');
    equal(throws(() => tls.connect({ port: 1 }), 'Error').code, 'ERR_METHOD_NOT_IMPLEMENTED');
});

test('process.chdir moves what relative paths of node:fs mean', () => {
    fs.mkdirSync('/tmp/where');
    process.chdir('/tmp/where');
    fs.writeFileSync('f', 'x');
    equal(fs.readFileSync('/tmp/where/f', 'utf8'), 'x');
    equal(process.cwd(), '/tmp/where');
    process.chdir('/bundle');
    equal(throws(() => process.chdir('/none'), 'Error').code, 'ENOENT');
});

export default run;
