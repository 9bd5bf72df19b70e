// e2e/fleet_nodes.cjs: three nodes in processes of their own, with proxies between them and between each of them and the
// bucket, so that both can be cut. Proxies rather than network namespaces: those need rights that not every CI gives.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const { ok, equal, until, sleep } = require('./harness.cjs');
const { project, deploy, node, fresh, port, ask } = require('./cells_nodes.cjs');
const { SOURCE } = require('./fleet_ledger.cjs');

// One way to a port. cut: connections are reset, new ones too. silent: nothing goes through, as behind a firewall that
// drops. refuses: nodes that get no connection; who calls is read from the head of the first request.
class Way {
    constructor(target) {
        Object.assign(this, { target, state: 'open', refuses: new Set(), pairs: new Set() });
        this.server = net.createServer({ pauseOnConnect: true }, (from) => this.#accept(from));
    }
    async open() {
        await new Promise((done, failed) => this.server.once('error', failed).listen(0, '127.0.0.1', done));
        this.port = this.server.address().port;
        this.server.unref();
        return this;
    }
    #accept(from) {
        if (this.state === 'cut') return from.resetAndDestroy();
        const pair = { from, to: net.connect(this.target, '127.0.0.1'), who: undefined };
        this.pairs.add(pair);
        const end = () => (this.pairs.delete(pair), from.destroy(), pair.to.destroy());
        for (const socket of [from, pair.to]) socket.setNoDelay(true).on('error', end).on('close', end);
        from.once('data', (head) => {
            pair.who = /^x-celld-peer-source: (\S+)\r$/im.exec(head.toString('latin1'))?.[1];
            if (this.refuses.has(pair.who)) return from.resetAndDestroy();
            pair.to.write(head);
            pair.flows = true;
            this.#flow(pair);
        });
        if (this.state === 'open') from.resume();
    }
    #flow({ from, to, flows }) {
        if (this.state !== 'open') return from.unpipe().pause(), to.unpipe().pause();
        if (!flows) return from.resume();
        from.pipe(to);
        to.pipe(from);
    }
    set(state) {
        this.state = state;
        for (const pair of this.pairs) state === 'cut' ? pair.from.resetAndDestroy() : this.#flow(pair);
    }
    refuse(who, on) {
        if (!on) return this.refuses.delete(who);
        this.refuses.add(who);
        for (const pair of this.pairs) if (pair.who === who) pair.from.resetAndDestroy();
    }
}

const stores = {
    file: () => ({ bucket: `file://${fresh('bucket')}`, env: {} }),
    // The real server's address; each node gets a way of its own to it.
    s3: () => {
        const set = (name) => process.env[name] ?? (console.error(`${name} is not set; run tools/stores/fleet`), process.exit(1));
        return {
            bucket: `s3://${set('CELLD_STORE_BUCKET')}/fleet-${process.pid}-${port()}`,
            env: { AWS_REGION: set('CELLD_STORE_REGION'), AWS_ACCESS_KEY_ID: set('CELLD_STORE_ACCESS_KEY'), AWS_SECRET_ACCESS_KEY: set('CELLD_STORE_SECRET_KEY') },
            endpoint: set('CELLD_STORE_ENDPOINT'),
        };
    },
};

// A node of the fleet, and who starts it again: after it fenced it is started as it is, after any other end it was not
// told of the fleet has failed.
class Member {
    constructor(fleet, name) {
        Object.assign(this, { fleet, name, work: fresh(`work-${name}`), internal: port(), fences: 0, up: false, told: false });
        this.ask = (path, options) => (this.up ? ask(this.program.port, path, { ms: fleet.patience, ...options }) : sleep(20).then(() => ({ status: 0, text: 'not up' })));
    }
    async start(env = {}) {
        const { fleet } = this;
        this.way ??= await new Way(this.internal).open();
        const own = { CELLD_TTL_MS: String(fleet.ttl), CELLD_DURABILITY: fleet.posture, CELLD_INTERNAL_ADDR: `127.0.0.1:${this.internal}`, CELLD_ADVERTISE: `127.0.0.1:${this.way.port}` };
        if (fleet.store.endpoint !== undefined) {
            this.bucket ??= await new Way(Number(new URL(fleet.store.endpoint).port)).open();
            own.S3_ENDPOINT = `http://127.0.0.1:${this.bucket.port}`;
        }
        this.told = false;
        const program = node(fleet.store.bucket, { name: this.name, work: this.work, env: { ...fleet.store.env, ...own, ...fleet.env, ...env } });
        this.program = program;
        program.exited.then((code) => {
            this.up = false;
            this.code = code;
            if (this.told) return;
            const fence = code === 3 && /^SELF-FENCE: /m.test(program.stderr);
            if (!fence) return (fleet.failed ??= new Error(`${this.name}: exit ${code}: ${program.stderr} ${program.stdout.slice(-3000)}`));
            this.fences++;
            console.log(`     ${this.name} fenced: ${program.stderr.trim().slice(0, 200)}`);
            if (this.stays_down) return;
            sleep(200).then(() => this.start()).catch((e) => (fleet.failed ??= e));
        });
        await program.ready(90000);
        this.up = true;
        return this;
    }
    kill() {
        this.told = true;
        return this.program.kill();
    }
    wipe() {
        fs.rmSync(this.work, { recursive: true, force: true });
        this.work = fresh(`work-${this.name}`);
    }
    async end() {
        this.told = true;
        this.program.child.kill('SIGTERM');
        equal(await this.program.exited, 0, `${this.name}: ${this.program.stderr} ${this.program.stdout.slice(-3000)}`);
    }
    async state() {
        const { status, text } = await ask(this.internal, '/state');
        equal(status, 200, text);
        return JSON.parse(text);
    }
    seen(event) {
        return this.program.stdout.split(event).length - 1;
    }
}

exports.Fleet = class {
    // patience: how long clients wait for an answer.
    constructor({ store, posture, ttl = 4000, patience = 2000, env = {}, names = ['a', 'b', 'c'] }) {
        Object.assign(this, { posture, ttl, patience, env, store: stores[store](), kind: store });
        this.members = names.map((name) => new Member(this, name));
        this.asks = this.members.map((m) => m.ask);
    }
    async open() {
        const env = { ...this.store.env, ...(this.store.endpoint && { S3_ENDPOINT: this.store.endpoint }) };
        await deploy(project(SOURCE, ['Journal']), this.store.bucket, env);
        await Promise.all(this.members.map((m) => m.start()));
        return this;
    }
    // Each of a and b, in both directions.
    part(a, b, on) {
        a.way.refuse(b.name, on);
        b.way.refuse(a.name, on);
    }
    // Who has the most objects in memory, first.
    async by_residents() {
        const found = await Promise.all(this.members.map(async (m) => [m, (await m.state()).residents.length]));
        return found.sort((x, y) => y[1] - x[1]).map(([m]) => m);
    }
    async proven_by_followers() {
        await until(() => this.members.every((m) => m.seen('ensemble_named') > 0), 'all nodes have followers', 20000);
    }
    check() {
        if (this.failed) throw this.failed;
    }
    async close() {
        this.check();
        const from = Date.now();
        for (const m of this.members) m.told = true;
        await Promise.all(this.members.map((m) => m.kill()));
        ok(Date.now() - from < 10000, 'killed');
    }
};
