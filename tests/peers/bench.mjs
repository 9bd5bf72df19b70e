// bench.mjs: the measuring half of `tools/bench js`, which says how it is called.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { cpu, dir, freePort, launch, line, median, memory, millis, servers, sleep } from './peers.mjs';

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
const ORDER = JSON.stringify({
    customer: 'Ada', labels: ['new', 'paid'], address: { street: 'Long Lane 1', town: 'Northton', zip: '12345' },
    lines: [{ sku: 'A-1', count: 2, price: 3.5 }, { sku: 'B-2', count: 1, price: 12 }, { sku: 'C-3', count: 10, price: 0.25 }],
});

const pinned = (core, command) => (opts['one-core'] ? ['taskset', '-c', core, ...command] : command);

async function start(name, app) {
    const port = await freePort();
    return launch(pinned('0', servers[name](app, port)), port);
}

// ---- Load

const lua = path.join(dir, 'post.lua');
fs.writeFileSync(lua, `wrk.method = "POST"\nwrk.body = ${JSON.stringify(ORDER)}\nwrk.headers["Content-Type"] = "application/json"\n`);

// wrk starves connections whose answers are large: bodies.py says why.
async function bodies(server, connections, seconds) {
    const command = pinned('1', ['python3', path.join(import.meta.dirname, 'bodies.py'), String(server.port), String(connections), String(seconds)]);
    const before = cpu(server.pid);
    const { stdout } = await run(command[0], command.slice(1));
    const { requests, rps, p99 } = JSON.parse(stdout);
    return { rps, p99, cpu: (cpu(server.pid) - before) / requests };
}

async function load(server, app, connections, seconds) {
    if (app === 'stream') return bodies(server, connections, seconds);
    const args = ['-t', connections > 1 && !opts['one-core'] ? '2' : '1', '-c', String(connections), '-d', `${seconds}s`, '--latency', '--timeout', '10s'];
    if (app === 'json') args.push('-s', lua);
    const command = pinned('1', ['wrk', ...args, server.url]);
    const before = cpu(server.pid);
    const { stdout } = await run(command[0], command.slice(1));
    const used = cpu(server.pid) - before;
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
    const requests = Number(stdout.match(/(\d+) requests in/)[1]);
    return { rps: Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)[1]), p99: millis(stdout.match(/^ +99%\s+(\S+)/m)[1]), cpu: used / requests };
}

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
        for (const [connections, r] of Object.entries(results)) {
            for (const [key, what, unit] of [['cpu', 'CPU per request', 'us'], ['rps', 'requests/s', ''], ['p99', 'p99', 'ms']]) {
                line(app, `${what}, ${connections} conns`, unit, median(r.celld.map((x) => x[key])), median(r.workerd.map((x) => x[key])));
            }
        }
        line(app, 'start to first answer', 'ms', median(starts.celld), median(starts.workerd));
        line(app, 'peak memory', 'MiB', median(memories.celld), median(memories.workerd));
    }
} finally {
    fs.rmSync(dir, { recursive: true, force: true });
}
