// e2e/harness.cjs: starts our programs, runs named checks one after the other, and tells what failed.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');

const checks = [];
// E2E_ONLY: a part of the names of those that are to run.
exports.check = (name, run, seconds = 20) => name.includes(process.env.E2E_ONLY ?? '') && checks.push({ name, run, seconds });

exports.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

exports.equal = (got, want, what = '') => {
    if (got !== want) throw new Error(`${what} got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};
exports.ok = (holds, what) => {
    if (!holds) throw new Error(what);
};

// Waits until the condition holds.
exports.until = async (holds, what, ms = 5000) => {
    for (const end = Date.now() + ms; Date.now() < end; await exports.sleep(10)) {
        if (await holds()) return;
    }
    throw new Error(`never: ${what}`);
};

// A check that fails leaves its programs running: they end with us.
const programs = new Set();
process.on('exit', () => programs.forEach((child) => child.kill('SIGKILL')));

// The address sanitizer keeps freed memory for a while, up to 256 MiB: what these checks measure would be its
// hoard. A short one leaves the memory that the program holds.
const sparing = (env) => ({ ...env, ASAN_OPTIONS: [env.ASAN_OPTIONS, 'quarantine_size_mb=4'].filter(Boolean).join(':') });

// A program of ours; stdout by lines, stderr whole.
class Program {
    constructor(path, args, options = {}) {
        this.child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options, env: sparing(options.env ?? process.env) });
        this.stdout = '';
        this.stderr = '';
        this.child.stdout.on('data', (d) => (this.stdout += d));
        this.child.stderr.on('data', (d) => (this.stderr += d));
        programs.add(this.child);
        this.child.on('close', () => programs.delete(this.child));
        this.exited = new Promise((resolve) => this.child.on('close', (code, signal) => resolve(code ?? signal)));
    }
    async line(pattern) {
        let found;
        const gone = this.exited.then((code) => {
            throw new Error(`exit ${code}: ${this.stderr}`);
        });
        await Promise.race([
            exports.until(() => (found = this.stdout.match(pattern)), `output ${pattern}`, 30000), // Machines are busy.
            gone,
        ]);
        gone.catch(() => {});
        return found;
    }
    // Resident bytes: now, or the most there were.
    memory(what = 'VmRSS') {
        const status = fs.readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
        return Number(status.match(new RegExp(`${what}:\\s+(\\d+) kB`))[1]) * 1024;
    }
    // Ends it with SIGTERM: it has to end by itself, with nothing left open and nothing said by a sanitizer.
    async stop() {
        this.child.kill('SIGTERM');
        const code = await this.exited;
        if (code !== 0 || this.stderr !== '') throw new Error(`exit ${code}: ${this.stderr}`);
    }
}
exports.Program = Program;
exports.spawn = (path, args, options) => new Program(path, args.map(String), options);

const bin = process.argv[2];
exports.program = (name, args = [], options = undefined) => new Program(`${bin}/${name}`, args.map(String), options);
exports.serve = async (options = {}) => {
    const program = exports.program('http_serve', Object.entries(options).map(([k, v]) => `${k}=${v}`));
    program.port = Number((await program.line(/listening (\d+)/))[1]);
    program.origin = `http://127.0.0.1:${program.port}`;
    program.stats = async () => (await fetch(`${program.origin}/stats`, { headers: { connection: 'close' } })).json();
    return program;
};

// A raw connection: what came so far, and whether and how it ended.
class Raw {
    constructor(port) {
        this.got = Buffer.alloc(0);
        this.end = null;
        this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        this.socket.setNoDelay(true);
        this.socket.on('data', (d) => (this.got = Buffer.concat([this.got, d])));
        this.socket.on('end', () => (this.end ??= 'end'));
        this.socket.on('error', (e) => (this.end ??= e.code));
        this.socket.on('close', () => (this.end ??= 'close'));
        this.open = new Promise((resolve, reject) => {
            this.socket.once('connect', resolve);
            this.socket.once('error', reject);
        });
        this.open.catch(() => {});
    }
    send(bytes) {
        return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
    }
    text() {
        return this.got.toString('latin1');
    }
    ended(what, ms) {
        return exports.until(() => this.end !== null, `end of ${what}`, ms);
    }
    destroy() {
        this.socket.destroy();
    }
}
exports.raw = async (port) => {
    const raw = new Raw(port);
    await raw.open;
    return raw;
};

exports.run = async () => {
    let failed = 0;
    for (const { name, run, seconds } of checks) {
        const from = Date.now();
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000);
        });
        try {
            await Promise.race([run(), late]);
            console.log(`ok   ${name} (${Date.now() - from} ms)`);
        } catch (error) {
            failed++;
            console.log(`FAIL ${name}: ${error.stack ?? error}`);
        }
        clearTimeout(timer);
    }
    process.exit(failed === 0 ? 0 : 1);
};
