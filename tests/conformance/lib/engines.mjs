// conformance/lib/engines.mjs: starts and stops the two engines, each with the project of one area.
import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { publish } from './publish.mjs';

const START_MS = 15000;

const freePort = () =>
    new Promise((resolve) => {
        const server = createServer();
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });

// Programs of ours that still run end with us.
const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

class Engine {
    constructor(name, port, command, args, { log, env = process.env, cwd }) {
        this.name = name;
        this.port = port;
        this.log = log;
        this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env, cwd });
        children.add(this.child);
        const out = createWriteStream(log);
        this.child.stdout.pipe(out, { end: false });
        this.child.stderr.pipe(out, { end: false });
        this.exited = new Promise((resolve) =>
            this.child.on('exit', (code, signal) => {
                children.delete(this.child);
                this.end = signal ?? `code ${code}`;
                resolve();
            }),
        );
    }
    async ready() {
        for (const until = Date.now() + START_MS; Date.now() < until; await sleep(10)) {
            if (this.end !== undefined) throw new Error(`${this.name} ended with ${this.end} before it served; see ${this.log}`);
            const answer = await fetch(`http://127.0.0.1:${this.port}/`, { signal: AbortSignal.timeout(START_MS) }).catch(() => null);
            if (answer?.status === 200) return answer.json();
            await answer?.body?.cancel();
        }
        throw new Error(`${this.name} does not serve the cases after ${START_MS} ms; see ${this.log}`);
    }
    // Within `patience` ms; what does not end by itself is an error of celld, and none of the reference.
    async stop(patience) {
        this.child.kill('SIGTERM');
        const late = new AbortController();
        const ended = await Promise.race([this.exited.then(() => true), sleep(patience, false, { signal: late.signal })]);
        late.abort();
        if (ended && (this.name !== 'celld' || this.end === 'code 0')) return;
        if (ended) throw new Error(`celld ended with ${this.end} after SIGTERM; see ${this.log}`);
        this.child.kill('SIGKILL');
        await this.exited;
        if (this.name === 'celld') throw new Error(`celld did not end within ${patience} ms of SIGTERM`);
    }
}

// ---- workerd

const quote = (string) => JSON.stringify(string);
const KINDS = { js: 'esModule', json: 'json', text: 'text', data: 'data', wasm: 'wasm' };

function capnp(project, port) {
    const modules = project.modules.map(({ name, kind }) => `(name = ${quote(name)}, ${KINDS[kind]} = embed ${quote(`modules/${name}`)})`);
    const bindings = Object.entries(project.vars).map(([name, value]) =>
        typeof value === 'string' ? `(name = ${quote(name)}, text = ${quote(value)})` : `(name = ${quote(name)}, json = ${quote(JSON.stringify(value))})`);
    for (const { binding, entrypoint } of project.services) {
        bindings.push(`(name = ${quote(binding)}, service = (name = "main"${entrypoint ? `, entrypoint = ${quote(entrypoint)}` : ''}))`);
    }
    const objects = project.classes.length > 0;
    const namespaces = project.classes.map(({ name, sql = true }) => {
        bindings.push(`(name = ${quote(name)}, durableObjectNamespace = ${quote(name)})`);
        return `(className = ${quote(name)}, uniqueKey = ${quote(`${project.name}.${name}`)}, enableSql = ${sql})`;
    });
    return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),${objects ? `
    (name = "objects", disk = (path = ${quote(`${project.dir}/objects`)}, writable = true)),` : ''}
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    ${modules.join(',\n    ')}
  ],
  bindings = [
    ${bindings.join(',\n    ')}
  ],
  compatibilityDate = ${quote(project.date)},
  compatibilityFlags = [${project.flags.map(quote).join(', ')}],${objects ? `
  durableObjectNamespaces = [${namespaces.join(', ')}],
  durableObjectStorage = (localDisk = "objects"),` : ''}
);
`;
}

export async function startWorkerd(project, binary) {
    const port = await freePort();
    const config = `${project.dir}/workerd.capnp`;
    if (project.classes.length > 0) mkdirSync(`${project.dir}/objects`);
    writeFileSync(config, capnp(project, port));
    return new Engine('workerd', port, binary, ['serve', config], { log: `${project.dir}/workerd.log` });
}

// ---- celld

// celld dev takes a bundle as it is (no_bundle); modules of other kinds than JavaScript's main one and wasm reach a node only as a
// published version.
export async function startCelld(project, binary) {
    const port = await freePort();
    // Module state is one isolate's, and each thread has its own.
    const options = { log: `${project.dir}/celld.log`, cwd: project.dir, env: { ...process.env, CELLD_THREADS: '1' } };
    if (project.published) {
        const store = `${project.dir}/store`;
        rmSync(store, { recursive: true, force: true });
        mkdirSync(store);
        await publish(project, store, binary);
        return new Engine('celld', port, binary, ['--bucket', `file://${store}`, '--listen', `127.0.0.1:${port}`], options);
    }
    const config = {
        name: project.name,
        main: 'modules/index.js',
        no_bundle: true,
        compatibility_date: project.date,
        compatibility_flags: project.flags,
        vars: project.vars,
        services: project.services.map((s) => ({ ...s, service: project.name })),
        durable_objects: { bindings: project.classes.map(({ name }) => ({ name, class_name: name })) },
        migrations: [{ tag: 'v1', new_sqlite_classes: project.classes.filter(({ sql = true }) => sql).map(({ name }) => name) }],
    };
    writeFileSync(`${project.dir}/wrangler.jsonc`, JSON.stringify(config, null, 4));
    return new Engine('celld', port, binary, ['dev', '.', '--port', String(port), '--no-watch', '--logs', '--clean'], options);
}
