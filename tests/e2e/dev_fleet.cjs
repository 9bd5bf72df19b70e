// e2e/dev_fleet.cjs BIN CELLD: `celld dev --nodes` as docs/local-fleet.md shows it: its session is read and done. The counter
// is a number too high or too low when a write is lost, or done twice.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { check, equal, ok, until, run, spawn } = require('./harness.cjs');
const { fresh, port, ask } = require('./cells_nodes.cjs');

const celld = process.argv[3];
const top = path.resolve(__dirname, '../..');
const NODES = 3, FIRST = 9876, TTL_MS = 6000; // The page's 4 s are short for a busy machine and the address sanitizer.

const start = (dir, args = []) => {
    const first = port();
    for (let i = 1; i < NODES; i++) port();
    const program = spawn(celld, ['dev', dir, '--nodes', NODES, '--port', first, ...args], { env: { ...process.env, CELLD_TTL_MS: String(TTL_MS) } });
    let seen = 0;
    // Waits for a line behind those that were waited for before.
    program.shows = async (line) => {
        const wanted = `\n${line.replaceAll(/127\.0\.0\.1:(\d+)/g, (_, p) => `127.0.0.1:${Number(p) - FIRST + first}`).replace('in 8 s', `in ${2 * TTL_MS / 1000} s`)}\n`;
        const found = () => program.stdout.indexOf(wanted, seen);
        await until(() => found() >= 0, `${wanted} in ${program.stdout.slice(seen)} ${program.stderr}`, 60000);
        return found();
    };
    program.past = (at) => (seen = Math.max(seen, at + 1));
    program.ask = (p, target, method = 'GET') => ask(p - FIRST + first, target, { method });
    program.end = async () => {
        const from = Date.now();
        program.child.kill('SIGINT');
        equal(await program.exited, 0, program.stderr);
        console.log(`# it ended in ${Date.now() - from} ms`);
    };
    return program;
};

async function ready(dev) {
    const all = [];
    for (let i = 0; i < NODES; i++) all.push(await dev.shows(`ready  http://127.0.0.1:${FIRST + i}  node ${i + 1}`));
    dev.past(Math.max(...all));
    return dev;
}

check('the session of docs/local-fleet.md', async () => {
    const page = fs.readFileSync(path.join(top, 'docs/local-fleet.md'), 'utf8');
    const session = page.match(/```text\n\$ celld dev \S+ --nodes 3\n([^]*?)```/)[1].trim().split('\n').slice(NODES);
    const dir = fresh('project');
    fs.cpSync(path.join(top, 'docs/examples/counter'), dir, { recursive: true, filter: (from) => path.basename(from) !== '.celld' });
    let dev = await ready(start(dir)), answer;
    ok(new RegExp(`^ {2}Nodes {3}${NODES}, at ports \\d+ to \\d+; their leases last ${TTL_MS} ms$`, 'm').test(dev.stdout), dev.stdout);
    let asked = 0;
    for (const line of session) {
        const curl = line.match(/^\$ curl (?:-X (\w+) )?http:\/\/127\.0\.0\.1:(\d+)(\S+)$/);
        if (curl) {
            answer = await dev.ask(Number(curl[2]), curl[3], curl[1]);
            asked++;
        } else if (line.startsWith('> ')) dev.child.stdin.write(`${line.slice(2)}\n`);
        else if (/^\d+$/.test(line)) equal(`${answer.status} ${answer.text}`, `200 ${line}\n`, `answer ${asked}`);
        else dev.past(await dev.shows(line));
    }
    ok(asked > 5, 'the page has a session');

    // A change is adopted by all.
    const file = path.join(dir, 'src/index.js');
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('status: 405', 'status: 418'));
    for (let i = 0; i < NODES; i++) await until(async () => (await dev.ask(FIRST + i, '/visits', 'PUT')).status === 418, `the change at node ${i + 1}`, 20000);
    dev.child.stdin.write('kill 9\nnodes\n');
    await dev.shows('● kill which node? kill 1 to kill 3');
    await dev.shows('● node 3 serves');
    await dev.end();
    dev = await ready(start(dir, ['--logs']));
    equal((await dev.ask(FIRST + 1, '/visits')).text, '7\n');
    await dev.end();
    ok(!dev.stdout.includes('shutdown_handed_off'), 'nodes that all end hand each other nothing');
}, 300);

run();
