// bench.mjs: the measuring half of `tools/bench js`, which says how it is called.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

const top = process.argv[2];
const { values: opts } = parseArgs({
    args: process.argv.slice(3),
    options: {
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '4' },
        apps: { type: 'string', default: 'hello,json,stream,cpu' },
        connections: { type: 'string', default: '1,16,64' },
        'one-core': { type: 'boolean', default: false },
    },
});
const run = promisify(execFile);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-bench-'));
const HZ = 100;
const ORDER = JSON.stringify({
    customer: 'Ada', labels: ['new', 'paid'], address: { street: 'Long Lane 1', town: 'Northton', zip: '12345' },
    lines: [{ sku: 'A-1', count: 2, price: 3.5 }, { sku: 'B-2', count: 1, price: 12 }, { sku: 'C-3', count: 10, price: 0.25 }],
});

const freePort = () =>
    new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => resolve(port));
        });
    });

// ---- The two servers: a command that serves an app at a port

function celld(app, port) {
    const project = path.join(dir, 'celld', app);
    if (!fs.existsSync(project)) fs.cpSync(path.join(top, 'tests/peers/apps', app), project, { recursive: true });
    return [path.join(top, 'build/release/celld'), 'dev', project, '--port', String(port), '--no-watch'];
}

function workerd(app, port) {
    const project = path.join(dir, 'workerd', app);
    fs.mkdirSync(project, { recursive: true });
    fs.copyFileSync(path.join(top, 'tests/peers/apps', app, 'src/index.js'), path.join(project, 'index.js'));
    fs.writeFileSync(path.join(project, 'config.capnp'), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .app)], sockets = [(name = "http", http = (), service = "main")]);
const app :Workerd.Worker = (modules = [(name = "index.js", esModule = embed "index.js")], compatibilityDate = "2026-08-01");
`);
    const bin = path.join(top, 'build/packages/tests/peers/node_modules/@cloudflare/workerd-linux-64/bin/workerd');
    return [bin, 'serve', path.join(project, 'config.capnp'), 'config', '--socket-addr', `http=127.0.0.1:${port}`];
}
const servers = { celld, workerd };

// ---- Processes

const children = (pid) => {
    try {
        return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).flatMap((c) => [Number(c), ...children(c)]);
    } catch {
        return [];
    }
};
const tree = (pid) => [pid, ...children(pid)];
function ticks(pid) {
    let sum = 0;
    for (const p of tree(pid)) {
        const stat = fs.readFileSync(`/proc/${p}/stat`, 'utf8');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        sum += Number(fields[11]) + Number(fields[12]);
    }
    return sum;
}
const memory = (pid, what) =>
    tree(pid).reduce((sum, p) => sum + Number(fs.readFileSync(`/proc/${p}/status`, 'utf8').match(new RegExp(`${what}:\\s+(\\d+)`))?.[1] ?? 0), 0) / 1024;

const pinned = (core, command) => (opts['one-core'] ? ['taskset', '-c', core, ...command] : command);

// Starts it; resolves with the milliseconds to its first answer.
async function start(name, app) {
    const port = await freePort();
    const command = pinned('0', servers[name](app, port));
    const from = process.hrtime.bigint();
    const child = spawn(command[0], command.slice(1), { stdio: 'ignore' });
    for (;;) {
        if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${command.join(' ')}`);
        if (await answers(port)) break;
        if (process.hrtime.bigint() - from > 60n * 1000000000n) throw new Error(`${name} does not answer`);
    }
    const ms = Number(process.hrtime.bigint() - from) / 1e6;
    return { pid: child.pid, url: `http://127.0.0.1:${port}/`, ms, stop: () => new Promise((resolve) => (child.on('exit', resolve), child.kill('SIGTERM'))) };
}
// One attempt a millisecond, by hand: fetch would measure itself.
const answers = (port) =>
    new Promise((resolve) => {
        const s = net.connect(port, '127.0.0.1', () => s.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));
        const end = (yes) => (s.destroy(), setTimeout(resolve, 1, yes));
        s.once('data', (d) => end(d.toString('latin1').startsWith('HTTP/1.1 200')));
        s.once('error', () => end(false));
        s.once('close', () => end(false));
    });

// ---- Load

const lua = path.join(dir, 'post.lua');
fs.writeFileSync(lua, `wrk.method = "POST"\nwrk.body = ${JSON.stringify(ORDER)}\nwrk.headers["Content-Type"] = "application/json"\n`);
const micro = (text) => Number.parseFloat(text) * (text.endsWith('us') ? 1 : text.endsWith('ms') ? 1e3 : 1e6);

async function load(server, app, connections, seconds) {
    const args = ['-t', connections > 1 && !opts['one-core'] ? '2' : '1', '-c', String(connections), '-d', `${seconds}s`, '--latency', '--timeout', '10s'];
    if (app === 'json') args.push('-s', lua);
    const command = pinned('1', ['wrk', ...args, server.url]);
    const before = ticks(server.pid);
    const { stdout } = await run(command[0], command.slice(1));
    const used = ticks(server.pid) - before;
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
    const requests = Number(stdout.match(/(\d+) requests in/)[1]);
    return { rps: Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)[1]), p99: micro(stdout.match(/99%\s+(\S+)/)[1]) / 1000, cpu: ((used / HZ) * 1e6) / requests };
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) / 2)];
const figure = (x) => (x >= 1000 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

console.log(`celld beside workerd, ${opts.rounds} rounds of ${opts.seconds} s, ${opts['one-core'] ? 'servers on core 0, load on core 1' : 'all on all cores'}; ratio: celld / workerd`);
try {
    for (const app of opts.apps.split(',')) {
        const starts = { celld: [], workerd: [] }, memories = { celld: [], workerd: [] };
        await (await start('celld', app)).stop(); // Builds the project.
        const results = {};
        for (let round = 0; round < Number(opts.rounds); round++) {
            for (const name of round % 2 === 0 ? ['celld', 'workerd'] : ['workerd', 'celld']) {
                const server = await start(name, app);
                starts[name].push(server.ms);
                for (const connections of opts.connections.split(',').map(Number)) {
                    await load(server, app, connections, 1);
                    const r = await load(server, app, connections, Number(opts.seconds));
                    ((results[connections] ??= { celld: [], workerd: [] })[name]).push(r);
                }
                memories[name].push(memory(server.pid, 'VmHWM'));
                await server.stop();
                await sleep(100);
            }
        }
        const line = (what, unit, a, b) => console.log(`${app.padEnd(7)} ${what.padEnd(26)} celld ${figure(a).padStart(8)}  workerd ${figure(b).padStart(8)} ${unit.padEnd(4)}  ratio ${figure(a / b)}`);
        for (const [connections, r] of Object.entries(results)) {
            for (const [key, what, unit] of [['cpu', 'CPU per request', 'us'], ['rps', 'requests/s', ''], ['p99', 'p99', 'ms']]) {
                line(`${what}, ${connections} conns`, unit, median(r.celld.map((x) => x[key])), median(r.workerd.map((x) => x[key])));
            }
        }
        line('start to first answer', 'ms', median(starts.celld), median(starts.workerd));
        line('peak memory', 'MiB', median(memories.celld), median(memories.workerd));
    }
} finally {
    fs.rmSync(dir, { recursive: true, force: true });
}
