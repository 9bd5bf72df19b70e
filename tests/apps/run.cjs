// apps/run.cjs: projects under `celld dev`, unmodified, with what a check module expects of each.
// usage: run.cjs CELLD WORK PROJECTS [CHECKS [NAME...]]: PROJECTS holds a folder for each; its check is CHECKS/NAME.mjs, or the
// project's own check.mjs where CHECKS is not given or "-". They run as copies in WORK/run: node_modules of WORK is theirs, and
// a check's own too. A check may export `env`, settings of its celld, and may restart celld: what a project keeps, it keeps.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');

const [celld, work, projects, checks = '-', ...only] = process.argv.slice(2);
const checkOf = (name) => path.resolve(checks === '-' ? path.join(projects, name, 'check.mjs') : path.join(checks, `${name}.mjs`));
const names = fs.readdirSync(projects).filter((name) => (only.length === 0 ? fs.existsSync(checkOf(name)) : only.includes(name)));

const show = (v) => JSON.stringify(v);
const equal = (got, want, what = '') => {
    if (!Object.is(got, want)) throw new Error(`${what} got ${show(got)}, want ${show(want)}`);
};
const same = (got, want, what) => equal(show(got), show(want), what);
const ok = (holds, what) => equal(Boolean(holds), true, what);

const freePort = () =>
    new Promise((resolve) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => resolve(port));
        });
    });

// Everything of an app over one kept connection: one isolate serves it, as module state needs.
function client(port) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    return async (target, init = {}) => {
        const ask = new Request(`http://127.0.0.1:${port}${target}`, init);
        const body = ask.body === null ? undefined : Buffer.from(await ask.arrayBuffer());
        return new Promise((resolve, reject) => {
            const headers = Object.fromEntries(ask.headers);
            if (body !== undefined) headers['content-length'] = body.length;
            const r = http.request({ agent, port, host: '127.0.0.1', path: target, method: ask.method, headers }, (answer) => {
                const chunks = [];
                answer.on('data', (d) => chunks.push(d));
                answer.on('error', reject);
                answer.on('end', () => {
                    const bodyless = [204, 304].includes(answer.statusCode);
                    const fields = [];
                    for (let i = 0; i < answer.rawHeaders.length; i += 2) fields.push([answer.rawHeaders[i], answer.rawHeaders[i + 1]]);
                    resolve(new Response(bodyless ? null : Buffer.concat(chunks), { status: answer.statusCode, headers: fields }));
                });
            });
            r.on('error', reject);
            r.setTimeout(20000, () => r.destroy(new Error(`no answer to ${target}`)));
            r.end(body);
        });
    };
}

// A project of several Workers has folders of its own; the one called "web" is the application.
function commandLine(project) {
    if (fs.existsSync(path.join(project, 'wrangler.jsonc'))) return [project];
    const workers = fs.readdirSync(project).filter((name) => fs.existsSync(path.join(project, name, 'wrangler.jsonc')));
    return [path.join(project, 'web'), ...workers.filter((name) => name !== 'web').flatMap((name) => ['-c', path.join(project, name)])];
}

// What a promise gives, unless that takes too long.
async function soon(promise, what) {
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`10 s without ${what}`)), 10000); });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A socket whose messages wait until they are asked for.
function socketTo(port) {
    return async (target, ...protocols) => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}${target}`, ...protocols);
        ws.binaryType = 'arraybuffer';
        const heard = [];
        let wake = () => {};
        ws.addEventListener('message', ({ data }) => { heard.push(data); wake(); });
        const close = new Promise((resolve) => ws.addEventListener('close', (e) => { resolve(e); wake(e); }));
        await new Promise((resolve, reject) => {
            ws.addEventListener('open', resolve, { once: true });
            ws.addEventListener('error', () => reject(new Error(`no socket at ${target}`)), { once: true });
        });
        const next = async () => {
            while (heard.length === 0) {
                const end = await soon(new Promise((resolve) => { wake = resolve; }), `a message from ${target}`);
                if (end !== undefined && heard.length === 0) throw new Error(`closed: ${end.code} ${end.reason}`);
            }
            return heard.shift();
        };
        return { ws, closed: () => soon(close, `the end of ${target}`), next, send: (data) => ws.send(data) };
    };
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(holds, what, seconds = 10) {
    for (const end = Date.now() + seconds * 1000; !(await holds()); await sleep(25)) ok(Date.now() < end, `within ${seconds} s: ${what}`);
}

// One run of celld on a project. It answers when it is ready.
async function start(project, port, env) {
    const child = spawn(celld, ['dev', ...commandLine(project), '--port', String(port), '--no-watch', '--logs'], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
    });
    const node = { output: '' };
    const ended = new Promise((resolve) => child.on('exit', resolve));
    node.stop = async (signal) => {
        child.kill(signal);
        return ended;
    };
    const ready = new Promise((resolve, reject) => {
        const more = (d) => {
            node.output += d;
            if (node.output.includes('ready  http')) resolve();
        };
        child.stdout.on('data', more);
        child.stderr.on('data', more);
        child.on('exit', (code) => reject(new Error(`celld dev ended with ${code}\n${node.output}`)));
        setTimeout(() => reject(new Error(`celld dev is not ready after 40 s\n${node.output}`)), 40000).unref();
    });
    try {
        await ready;
    } catch (error) {
        await node.stop('SIGKILL');
        throw error;
    }
    return node;
}

async function run(app) {
    // A copy beside node_modules, where a user has it, without the state of a `celld dev` that ran in the project itself.
    const project = path.resolve(work, 'run', app);
    fs.rmSync(project, { recursive: true, force: true });
    fs.cpSync(path.join(projects, app), project, { recursive: true, filter: (from) => path.basename(from) !== '.celld' });
    const { default: check, env } = await import(checks === '-' ? path.join(project, 'check.mjs') : checkOf(app));
    const port = await freePort();
    let node = await start(project, port, env);
    // With SIGKILL celld has no time to say good-bye. `change` runs between the two runs.
    const restart = async (signal = 'SIGTERM', change = () => {}) => {
        const code = await node.stop(signal);
        if (signal === 'SIGTERM') equal(code, 0, 'exit code of celld');
        await change();
        node = await start(project, port, env);
    };
    try {
        const origin = `http://127.0.0.1:${port}`;
        await check({ get: client(port), socket: socketTo(port), origin, project, restart, until, sleep, equal, same, ok });
    } catch (error) {
        error.message += `\n${node.output}`;
        throw error;
    } finally {
        await node.stop('SIGTERM');
    }
}

(async () => {
    let failed = 0;
    for (const app of names) {
        const from = Date.now();
        try {
            await run(app);
            console.log(`ok   ${app} (${Date.now() - from} ms)`);
        } catch (error) {
            failed++;
            console.log(`FAIL ${app}: ${error.stack}\n${error.message}`);
        }
    }
    if (names.length === 0) console.log(`no project with a check in ${projects}`);
    process.exit(failed === 0 && names.length > 0 ? 0 : 1);
})();
