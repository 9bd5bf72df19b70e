// wrk.mjs: load of an app's objects by wrk.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { cpu, dir, millis } from './peers.mjs';

const run = promisify(execFile);

// The paths of an app's objects: one of them, or `count` in turn.
function script(prefix, count) {
    const file = path.join(dir, `names-${count}.lua`);
    fs.writeFileSync(file, `local i, at = 0, 0
function setup(t) t:set("at", i * 7919 % ${count}) i = i + 1 end
request = function() at = (at + 1) % ${count} return wrk.format("GET", "${prefix}" .. at) end
`);
    return file;
}

// GET prefix + number, `count` numbers in turn, for so long. cpu: of the server's processes, for each request.
export async function rate(server, prefix, count, conns, seconds) {
    const before = cpu(server.pid);
    const args = ['-t', conns > 1 ? '2' : '1', '-c', String(conns), '-d', `${seconds}s`, '--latency', '--timeout', '10s', '-s', script(prefix, count)];
    const { stdout } = await run('wrk', [...args, server.url]);
    const used = cpu(server.pid) - before;
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout.match(/.*(Non-2xx|Socket errors).*/)[0].trim());
    const requests = Number(stdout.match(/(\d+) requests in/)[1]);
    return { rps: Number(stdout.match(/Requests\/sec:\s+([\d.]+)/)[1]), p50: millis(stdout.match(/^ +50%\s+(\S+)/m)[1]), p99: millis(stdout.match(/^ +99%\s+(\S+)/m)[1]), cpu: used / requests, requests };
}
