// apps/run.cjs: projects under `celld dev`, unmodified, with what a check module expects of each.
// usage: run.cjs CELLD WORK PROJECTS [CHECKS [NAME...]]: PROJECTS holds a folder for each; its check is CHECKS/NAME.mjs, or the
// project's own check.mjs where CHECKS is not given or "-". They run as copies in WORK/run: node_modules of WORK is theirs.
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

async function run(app) {
    // A copy beside node_modules, where a user has it.
    const project = path.resolve(work, 'run', app);
    fs.rmSync(project, { recursive: true, force: true });
    fs.cpSync(path.join(projects, app), project, { recursive: true });
    const port = await freePort();
    const child = spawn(celld, ['dev', ...commandLine(project), '--port', String(port), '--no-watch', '--logs'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const ready = new Promise((resolve, reject) => {
        const more = (d) => {
            output += d;
            if (output.includes('ready  http')) resolve();
        };
        child.stdout.on('data', more);
        child.stderr.on('data', more);
        child.on('exit', (code) => reject(new Error(`celld dev ended with ${code}`)));
        setTimeout(() => reject(new Error('celld dev is not ready after 40 s')), 40000).unref();
    });
    const ended = new Promise((resolve) => child.on('exit', resolve));
    try {
        await ready;
        const { default: check } = await import(checkOf(app));
        await check({ get: client(port), origin: `http://127.0.0.1:${port}`, equal, same, ok });
    } catch (error) {
        error.message += `\n${output}`;
        throw error;
    } finally {
        ready.catch(() => {});
        child.kill('SIGTERM');
        await ended;
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
