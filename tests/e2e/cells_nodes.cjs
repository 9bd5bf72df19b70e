// e2e/cells_nodes.cjs: nodes with Durable Objects in processes of their own, and a ledger that holds what each write was told.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { equal, ok, until, spawn } = require('./harness.cjs');

const celld = process.argv[3];
// What the stores' scripts set is for us, not for celld, which knows no such settings.
const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^CELLD_(STORES?_|FAULT_|CELLS_|FLEET_)/.test(name)));
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-cells-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));
exports.root = root;
exports.fresh = (name) => fs.mkdtempSync(path.join(root, `${name}-`));

// Each write is a row of its own with the position it is told; the number of rows is stored beside them, so a write
// that came apart shows.
exports.LEDGER = `
import { DurableObject } from 'cloudflare:workers';
export class Ledger extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS ledger (pos INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, body TEXT)');
    }
    add(id, size) {
        const { pos } = this.ctx.storage.sql.exec('INSERT INTO ledger (id, body) VALUES (?, ?) RETURNING pos', id, 'x'.repeat(size)).one();
        this.ctx.storage.kv.put('count', pos);
        return pos;
    }
    all() {
        const rows = [...this.ctx.storage.sql.exec('SELECT pos, id FROM ledger ORDER BY pos').raw()];
        return { count: this.ctx.storage.kv.get('count') ?? 0, rows };
    }
}
export default {
    async fetch(request, env) {
        const [, name, id, size] = new URL(request.url).pathname.split('/');
        const ledger = env.LEDGER.getByName(name);
        return Response.json(id ? await ledger.add(id, Number(size ?? 10)) : await ledger.all());
    },
};`;

exports.project = (source, classes) => {
    const dir = exports.fresh('project');
    const bindings = classes.map((c) => ({ name: c.toUpperCase(), class_name: c }));
    const config = { name: 'cells', main: 'index.js', compatibility_date: '2026-08-01', durable_objects: { bindings }, migrations: [{ tag: 'v1', new_sqlite_classes: classes }] };
    fs.writeFileSync(path.join(dir, 'wrangler.json'), JSON.stringify(config));
    fs.writeFileSync(path.join(dir, 'index.js'), source);
    return dir;
};

exports.deploy = async (project, bucket, env = {}) => {
    const program = spawn(celld, ['deploy', project, '--bucket', bucket], { env: { ...own, ...env } });
    const code = await program.exited;
    if (code !== 0) throw new Error(`deploy: exit ${code}: ${program.stderr}`);
};

let port = 10000 + (process.pid % 90) * 100; // Below those that the system gives out, and those of the other tests.
exports.port = () => ++port;

// Requests over kept connections; a lost connection is an answer with status 0.
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
exports.ask = (at, target, { method = 'GET', body, ms = 30000 } = {}) =>
    new Promise((resolve) => {
        const lost = (e) => resolve({ status: 0, text: e.code ?? e.message });
        const r = http.request({ port: at, host: '127.0.0.1', path: target, method, agent }, (answer) => {
            let text = '';
            answer.setEncoding('utf8');
            answer.on('data', (d) => (text += d)).on('error', lost);
            answer.on('end', () => (answer.complete ? resolve({ status: answer.statusCode, text }) : lost({ code: 'cut' })));
        });
        r.setTimeout(ms, () => r.destroy(new Error('too late')));
        r.on('error', lost).end(body);
    });

// A program that serves at program.port once ready() has resolved.
const serving = (program, sign) => {
    program.ask = (target, options) => exports.ask(program.port, target, options);
    program.json = async (target, options) => {
        const r = await program.ask(target, options);
        if (r.status !== 200) throw new Error(`${target}: ${r.status} ${r.text}`);
        return JSON.parse(r.text);
    };
    program.ready = async (ms = 30000) => {
        const gone = program.exited.then((code) => {
            throw new Error(`exit ${code}: ${program.stderr} ${program.stdout.slice(-2000)}`);
        });
        gone.catch(() => {});
        let found;
        await Promise.race([until(() => (found = program.stdout.match(sign)), `${sign}: ${program.stdout}`, ms), gone]);
        program.port = Number(found[1]);
        return program;
    };
    program.kill = async () => {
        program.child.kill('SIGKILL');
        await program.exited;
    };
    return program;
};

// A node on a bucket. before: words that start it, a shell with limits for example.
exports.node = (bucket, { name = 'one', work, env = {}, before = [] } = {}) => {
    const words = [...before, celld, '--bucket', bucket, '--listen', '127.0.0.1:0'];
    const all = { ...own, CELLD_THREADS: '2', CELLD_NODE: name, CELLD_WATCH: work ?? exports.fresh('work'), ...env };
    return serving(spawn(words[0], words.slice(1), { env: all }), /^celld listening on 127.0.0.1:(\d+) /m);
};
exports.dev = (project, env = {}) => {
    const words = ['dev', project, '--port', exports.port(), '--no-watch'];
    return serving(spawn(celld, words, { env: { ...own, CELLD_THREADS: '2', ...env } }), /^ready {2}http:\/\/127\.0\.0\.1:(\d+)$/m);
};

// What several objects were told. write() sends one write; check() reads them all back.
exports.Ledger = class {
    constructor(names) {
        this.names = names;
        this.sent = new Map(names.map((n) => [n, new Map()])); // id -> position, or null when it was not told.
        this.next = 0;
        this.acknowledged = 0;
    }
    async write(ask, name = this.names[this.next % this.names.length], size = 10) {
        const id = `w${this.next++}`;
        this.sent.get(name).set(id, null);
        const answer = await ask(`/${name}/${id}/${size}`);
        if (answer.status === 200) {
            this.sent.get(name).set(id, JSON.parse(answer.text));
            this.acknowledged++;
        }
        return answer;
    }
    // count writers that never wait but for their answers, until stop() or the connection is lost.
    start(ask, count, { size, patient = false } = {}) {
        let stopped = false;
        const one = async () => {
            while (!stopped) {
                const answer = await this.write(ask, undefined, size);
                if (answer.status === 0 && !patient) return;
                if (answer.status !== 200) await new Promise((done) => setTimeout(done, 20));
            }
        };
        const all = Promise.all(Array.from({ length: count }, one));
        return () => ((stopped = true), all);
    }
    async check(ask, ms = 30000) {
        for (const name of this.names) {
            let answer;
            await until(async () => (answer = await ask(`/${name}`)).status === 200, `${name} reads: ${JSON.stringify(answer)}`, ms).catch((e) => {
                throw new Error(`${e.message}; last: ${JSON.stringify(answer)}`);
            });
            const { count, rows } = JSON.parse(answer.text);
            const at = new Map();
            rows.forEach(([pos, id], i) => {
                equal(pos, i + 1, `${name}: positions without holes`);
                ok(!at.has(id), `${name}: ${id} is there twice, at ${at.get(id)} and ${pos}`);
                ok(this.sent.get(name).has(id), `${name}: ${id} was never sent`);
                at.set(id, pos);
            });
            equal(count, rows.length, `${name}: rows and the number stored beside them`);
            for (const [id, pos] of this.sent.get(name)) {
                if (pos !== null) equal(at.get(id), pos, `${name}: acknowledged write ${id}`);
            }
        }
    }
};
