// peers.mjs: what the benchmarks beside workerd share: the servers, their processes, figures.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

export const top = process.argv[2];
export const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-bench-'));
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const binary = path.join(top, 'build/release/celld');
const HZ = 100;

export const freePort = () =>
    new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => resolve(port));
        });
    });

// ---- The two servers: a command that serves an app at a port. A second one with the same app has its data.

const source = (app) => path.join(top, 'tests/peers/apps', app);

export function copyApp(app, to) {
    if (!fs.existsSync(to)) fs.cpSync(source(app), to, { recursive: true });
    return to;
}

const celld = (app, port) => [binary, 'dev', copyApp(app, path.join(dir, 'celld', app)), '--port', String(port), '--no-watch'];

// Objects on the local disk; { resident: true }: those that are idle stay in memory.
function workerd(app, port, { resident = false } = {}) {
    const project = path.join(dir, 'workerd', app), disk = path.join(project, 'disk');
    fs.mkdirSync(disk, { recursive: true });
    fs.copyFileSync(path.join(source(app), 'src/index.js'), path.join(project, 'index.js'));
    const objects = JSON.parse(fs.readFileSync(path.join(source(app), 'wrangler.jsonc'))).durable_objects?.bindings ?? [];
    const classes = objects.map((o) => `(className = "${o.class_name}", uniqueKey = "${o.class_name}", enableSql = true, preventEviction = ${resident})`);
    const bindings = objects.map((o) => `(name = "${o.name}", durableObjectNamespace = "${o.class_name}")`);
    fs.writeFileSync(path.join(project, 'config.capnp'), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
    services = [(name = "main", worker = .app), (name = "disk", disk = (path = ${JSON.stringify(disk)}, writable = true))],
    sockets = [(name = "http", http = (), service = "main")]);
const app :Workerd.Worker = (
    modules = [(name = "index.js", esModule = embed "index.js")], compatibilityDate = "2026-08-01",
    bindings = [${bindings}], durableObjectNamespaces = [${classes}]${objects.length > 0 ? ', durableObjectStorage = (localDisk = "disk")' : ''});
`);
    const bin = path.join(top, `build/packages/tests/peers/node_modules/@cloudflare/workerd-linux-${process.arch === 'arm64' ? 'arm64' : '64'}/bin/workerd`);
    return [bin, 'serve', path.join(project, 'config.capnp'), 'config', '--socket-addr', `http=127.0.0.1:${port}`];
}
export const servers = { celld, workerd };
export const forget = (name, app) => fs.rmSync(path.join(dir, name, app), { recursive: true, force: true });

// ---- Processes

const children = (pid) => {
    try {
        return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).flatMap((c) => [Number(c), ...children(c)]);
    } catch {
        return [];
    }
};
const tree = (pid) => [pid, ...children(pid)];

// CPU time of it and its children so far, user and system, in microseconds.
export function cpu(pid) {
    let sum = 0;
    for (const p of tree(pid)) {
        const stat = fs.readFileSync(`/proc/${p}/stat`, 'utf8');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        sum += Number(fields[11]) + Number(fields[12]);
    }
    return (sum / HZ) * 1e6;
}
// In MiB: VmRSS, VmHWM.
export const memory = (pid, what) =>
    tree(pid).reduce((sum, p) => sum + Number(fs.readFileSync(`/proc/${p}/status`, 'utf8').match(new RegExp(`${what}:\\s+(\\d+)`))?.[1] ?? 0), 0) / 1024;
export const descriptors = (pid) => tree(pid).reduce((sum, p) => sum + fs.readdirSync(`/proc/${p}/fd`).length, 0);

// One attempt a millisecond, by hand: fetch would measure itself.
const answers = (port) =>
    new Promise((resolve) => {
        const s = net.connect(port, '127.0.0.1', () => s.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));
        const end = (yes) => (s.destroy(), setTimeout(resolve, 1, yes));
        s.once('data', (d) => end(d.toString('latin1').startsWith('HTTP/1.1 200')));
        s.once('error', () => end(false));
        s.once('close', () => end(false));
    });

const running = new Set(); // Those that an error leaves end with us.
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

// Starts a command that serves at the port; resolves with the milliseconds to its first answer.
export async function launch(command, port, env = {}) {
    const from = process.hrtime.bigint();
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore'], env: { ...process.env, ...env } });
    running.add(child);
    for (;;) {
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${command.join(' ')}`);
        if (await answers(port)) break;
        if (process.hrtime.bigint() - from > 60n * 1000000000n) throw new Error(`does not answer: ${command.join(' ')}`);
    }
    const ms = Number(process.hrtime.bigint() - from) / 1e6;
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
    const stop = async () => {
        child.kill('SIGTERM');
        const how = await ended;
        running.delete(child);
        if (how !== 0 && how !== 'SIGTERM') throw new Error(`ended with ${how}: ${command.join(' ')}`);
    };
    return { pid: child.pid, port, url: `http://127.0.0.1:${port}/`, ms, stop };
}

// ---- Figures

export const median = (list) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) / 2)];
export const figure = (x) => (x === undefined ? '-' : x >= 1000 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));
export const line = (of, what, unit, a, b) =>
    console.log(`${of.padEnd(7)} ${what.padEnd(26)} celld ${figure(a).padStart(8)}  workerd ${figure(b).padStart(8)} ${unit.padEnd(4)}  ratio ${figure(b === undefined || a === undefined ? undefined : a / b)}`);
// wrk's times, in milliseconds.
export const millis = (text) => Number.parseFloat(text) * (text.endsWith('us') ? 1e-3 : text.endsWith('ms') ? 1 : 1e3);
