// e2e/dev.cjs: `celld dev` and `celld deploy` with real projects, a real bundler and the real node.
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { check, equal, ok, until, sleep, run, spawn } = require('./harness.cjs');

const celld = process.argv[3];
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-dev-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));

// The bundler, which notes each run.
const tools = path.join(root, 'bin');
fs.mkdirSync(tools);
fs.writeFileSync(path.join(tools, 'esbuild'), `#!/bin/sh\necho run >> "${root}/runs"\nexec /usr/bin/esbuild "$@"\n`, { mode: 0o755 });
const runs = () => (fs.existsSync(`${root}/runs`) ? fs.readFileSync(`${root}/runs`, 'utf8').split('\n').length - 1 : 0);

let projects = 0;
class Project {
    constructor(name, files = {}, config = {}) {
        this.name = name;
        this.dir = path.join(root, `p${++projects}`);
        this.put('wrangler.json', JSON.stringify({ name, main: 'src/index.js', compatibility_date: '2026-01-01', ...config }));
        for (const [file, text] of Object.entries(files)) this.put(file, text);
    }
    put(file, text) {
        const full = path.join(this.dir, file);
        fs.mkdirSync(path.dirname(full), { recursive: true });
        fs.writeFileSync(full, text);
    }
    path(file) {
        return path.join(this.dir, file);
    }
}
const says = (text) => `export default { fetch() { return new Response(${JSON.stringify(text)}); } };\n`;
const hello = (text = 'hello') => new Project('hello', { 'src/index.js': says(text) });

let port = 20000 + (process.pid % 12000); // Below the ports that the system gives out.
const start = (args, options = {}) => {
    const at = ++port;
    const env = { PATH: `${tools}:/usr/bin:/bin`, HOME: root, ...options.env };
    for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS']) if (process.env[name]) env[name] = process.env[name];
    const program = spawn(celld, ['dev', ...args, '--port', String(options.port ?? at)], { env, cwd: options.cwd ?? root });
    program.port = at;
    program.get = async (url = '/') => (await fetch(`http://127.0.0.1:${at}${url}`, { headers: { connection: 'close' } })).text();
    program.ready = async () => {
        const is = () => /^ready {2}http:\/\/127\.0\.0\.1:\d+$/m.test(program.stdout);
        const gone = program.exited.then((code) => {
            if (!is()) throw new Error(`exit ${code}: ${program.stderr}`);
        });
        await Promise.race([until(is, 'ready', 30000), gone]); // Machines are busy.
        gone.catch(() => {});
        return program;
    };
    program.node = () => {
        const pid = program.child.pid;
        return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
    };
    program.answers = (text, url) => until(async () => (await program.get(url)) === text, `the answer ${text}`, 10000);
    // Ends it as Ctrl-C does.
    program.end = async () => {
        program.child.kill('SIGINT');
        equal(await program.exited, 0, 'exit code');
        equal(program.stderr, '', 'standard error');
    };
    // Waits for an end that is a failure.
    program.fails = async (code = 1) => {
        equal(await program.exited, code, 'exit code');
        return program.stderr;
    };
    return program;
};
const dev = (project, args = [], options) => start([project.dir, ...args], options).ready();
const alive = (pid) => fs.existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
const count = (text, pattern) => (text.match(pattern) ?? []).length;

check('a project is built and served, and Ctrl-C ends everything', async () => {
    const program = await dev(hello());
    equal(await program.get(), 'hello');
    ok(program.stdout.startsWith('celld dev\n  Project '), program.stdout);
    ok(/^ {2}Logs {4}hidden \(use --logs\)$/m.test(program.stdout), program.stdout);
    ok(/^ {2}Watch {3}enabled$/m.test(program.stdout), program.stdout);
    ok(!program.stdout.includes('\x1b'), 'color without a terminal');
    const node = program.node();
    // A terminal's signals go to our group; the node has its own.
    const group = (pid) => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[2];
    equal(group(node), String(node), 'process group of the node');
    // It began as a copy of celld dev, which is sooner than from its file.
    const words = (pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    equal(words(node), words(program.child.pid), 'words of the node');
    await program.end();
    ok(!alive(node), 'the node is still there');
});

check('a change is built and adopted without a restart', async () => {
    const project = hello('one');
    const program = await dev(project);
    const node = program.node();
    project.put('src/index.js', says('two'));
    await program.answers('two');
    equal(program.node(), node, 'the node');
    ok(program.stdout.includes('● change detected; rebuilding the application'), program.stdout);
    // A directory that is new, and one below it.
    project.put('src/deep/er/text.txt', 'three');
    project.put('src/index.js', `import text from './deep/er/text.txt'; export default { fetch: () => new Response(text) };`);
    await program.answers('three');
    project.put('src/deep/er/text.txt', 'four');
    await program.answers('four');
    // The same again: no new version.
    await sleep(1000);
    const before = count(program.stdout, /^ready/gm);
    const builds = count(program.stdout, /rebuilding/g);
    project.put('src/deep/er/text.txt', 'four');
    await until(() => count(program.stdout, /rebuilding/g) > builds, 'a rebuild');
    await sleep(1000);
    equal(count(program.stdout, /^ready/gm), before, 'ready lines');
    await program.end();
}, 120);

check('what fails leaves the last good version serving', async () => {
    const project = hello('good');
    const program = await dev(project);
    project.put('src/index.js', 'export default {');
    await program.line(/error reload failed: esbuild failed:\n[^]*src\/index\.js:1/);
    equal(await program.get(), 'good');
    project.put('src/index.js', 'throw new Error("at load"); export default {};');
    await program.line(/error reload failed: [^]*at load/);
    equal(await program.get(), 'good');
    equal(program.stdout.split('Error: at load').length, 2, 'told once');
    project.put('src/index.js', 'export default { notAFunction: 1 };');
    await program.line(/error reload failed: [^]*no registered event handlers/);
    equal(await program.get(), 'good');
    project.put('wrangler.json', '{"name": "hello", "main": "src/index.js", "routes": []}');
    await program.line(/error reload failed: [^]*routes/);
    equal(await program.get(), 'good');
    project.put('wrangler.json', '{"name": "hello", "main": "src/index.js", "compatibility_date": "2026-01-01"}');
    project.put('src/index.js', says('better'));
    await program.answers('better');
    await program.end();
}, 120);

check('a first build that fails ends it', async () => {
    const project = hello();
    project.put('src/index.js', 'export default {');
    let error = await start([project.dir]).fails();
    ok(error.startsWith('Error: esbuild failed:\n') && error.includes('[ERROR]'), error);
    project.put('wrangler.json', '{"name": "Hello", "main": "src/index.js", "routes": [],}');
    error = await start([project.dir]).fails();
    ok(error.includes('name') && error.includes('routes'), error);
    project.put('wrangler.json', JSON.stringify({ name: 'Hello', main: 'src/none.js', compatibility_date: 'x', kv_namespaces: [{ binding: 'KV', id: 'k' }] }));
    project.put('.dev.vars', 'nonsense');
    error = await start([project.dir]).fails();
    for (const place of ['name: ', 'main: src/none.js: there is no such file', 'compatibility_date: ', 'kv_namespaces: ']) ok(error.includes(`wrangler.json:1:`) && error.includes(place), error);
    ok(error.includes(`${project.dir}/.dev.vars:1: expected NAME=value`), error);
    const mute = hello();
    mute.put('src/index.js', 'console.log(1);');
    error = await start([mute.dir]).fails();
    ok(error.startsWith('Error: src/index.js has no registered event handlers') && error.includes('Service Worker syntax is not supported'), error);
    mute.put('src/index.js', 'const all = []; for (;;) all.push(new Array(100).fill(all.length)); export default { fetch() {} };');
    error = await start([mute.dir], { env: { CELLD_HEAP_LIMIT_MB: '16' } }).fails();
    ok(error.includes('the Worker did not finish loading. Its heap may take 16 MiB (CELLD_HEAP_LIMIT_MB)'), error);
    error = await start([path.join(root, 'absent')]).fails();
    ok(error.includes('there is no such file or directory'), error);
    const bad = hello();
    bad.put('src/index.js', 'throw new Error("too early"); export default {};');
    error = await start([bad.dir]).fails();
    ok(/^Error: the Worker does not load: Error: too early\n    at .*index\.js:1/.test(error) && error.includes('the local celld node exited with 1'), error);
}, 120);

check('a class that is bound must be exported', async () => {
    const project = hello();
    const config = { name: 'hello', main: 'src/index.js', compatibility_date: '2026-01-01', durable_objects: { bindings: [{ name: 'ROOM', class_name: 'Room' }] } };
    const bind = (more) => project.put('wrangler.json', JSON.stringify({ ...config, ...more }));
    bind({});
    let error = await start([project.dir]).fails();
    ok(error.startsWith('Error: binding "ROOM": src/index.js exports no class "Room"'), error);
    bind({ no_bundle: true }); // The node sees it then.
    error = await start([project.dir]).fails();
    ok(error.startsWith('Error: the Worker does not load: TypeError: Binding "ROOM": "hello" exports no class "Room" for Durable Objects.'), error);
}, 120);

check('a second start serves what is there without building', async () => {
    const project = hello('kept');
    await (await dev(project)).end();
    let before = runs();
    let program = await dev(project);
    equal(await program.get(), 'kept');
    equal(runs(), before, 'runs of the bundler');
    ok(!program.stdout.includes('building'), program.stdout);
    await program.end();
    // Another time and the same bytes.
    project.put('src/index.js', says('kept'));
    program = await dev(project);
    equal(runs(), before, 'runs of the bundler');
    await program.end();
    // Other bytes of the same size and time: found by the close look, after the start.
    const { atime, mtime } = fs.statSync(project.path('src/index.js'));
    project.put('src/index.js', says('kexx'));
    fs.utimesSync(project.path('src/index.js'), atime, mtime);
    program = await dev(project);
    await program.answers('kexx');
    await program.end();
    // Other bytes; a file that would be found first; other variables.
    project.put('src/index.js', "import t from './t'; export default { fetch: (r, env) => new Response(t + (env.V ?? '')) };");
    project.put('src/t.js', 'export default "js";');
    program = await dev(project);
    equal(await program.get(), 'js');
    await program.end();
    project.put('src/t.ts', 'export default "ts";');
    program = await dev(project);
    equal(await program.get(), 'ts');
    await program.end();
    project.put('.dev.vars', 'V = "!"');
    program = await dev(project);
    equal(await program.get(), 'ts!');
    await program.end();
    // Somebody else has published since.
    before = runs();
    fs.rmSync(project.path('.celld/dev/objects.sqlite3'));
    fs.rmSync(project.path('.celld/dev/objects.sqlite3-wal'), { force: true });
    fs.rmSync(project.path('.celld/dev/objects.sqlite3-shm'), { force: true });
    program = await dev(project);
    await program.answers('ts!');
    ok(runs() > before, 'it was not published again');
    await program.end();
}, 120);

check('variables come from .dev.vars, and a change of it is adopted', async () => {
    const project = new Project('vars', { 'src/index.js': 'export default { fetch: (r, env) => Response.json(env) };' }, { vars: { A: 'file', B: { deep: 1 } } });
    project.put('.dev.vars', '# local\nA=mine\n');
    const program = await dev(project);
    equal(await program.get(), '{"A":"mine","B":{"deep":1}}');
    project.put('.dev.vars', 'A=other\nC=new\n');
    await until(async () => (await program.get()).includes('"other"'), 'the new variable');
    project.put('.dev.vars', 'nonsense\n');
    await program.line(/error reload failed: [^]*\.dev\.vars:1: expected NAME=value/);
    await program.end();
}, 120);

check('scripts of several projects call each other', async () => {
    const front = new Project('front', { 'src/index.js': 'export default { fetch: (r, env) => env.API.fetch(r) };' }, { services: [{ binding: 'API', service: 'api' }] });
    const api = new Project('api', { 'src/index.js': says('from api') });
    const program = await start([front.dir, '-c', api.dir]).ready();
    equal(await program.get(), 'from api');
    api.put('src/index.js', says('from api 2'));
    await program.answers('from api 2');
    await program.end();
}, 120);

check('further projects are published for others to bind', async () => {
    const front = hello('front');
    const api = new Project('api', { 'src/index.js': says('api') });
    const keys = () => {
        const store = new DatabaseSync(front.path('.celld/dev/objects.sqlite3'), { readOnly: true });
        const rows = store.prepare('select key from objects').all().map((row) => Buffer.from(row.key).toString());
        store.close();
        return rows;
    };
    const program = await start([front.dir, '-c', api.dir]).ready();
    equal(await program.get(), 'front');
    ok(/^ {2}Service .*\(api\)$/m.test(program.stdout), program.stdout);
    ok(keys().includes('deploy/api/current.json'), keys().join(' '));
    const before = keys().filter((key) => /^deploy\/api\/.*\/manifest.json$/.test(key)).length;
    api.put('src/index.js', says('api 2'));
    await until(() => keys().filter((key) => /^deploy\/api\/.*\/manifest.json$/.test(key)).length > before, 'the next version');
    equal(await program.get(), 'front');
    await program.end();
    const twice = await start([front.dir, '--config', front.dir]).fails();
    ok(twice.includes('have the same name, hello'), twice);
}, 90);

check('scripts call each other, each in an isolate of its own', async () => {
    const front = `export default { async fetch(request, env) {
        const response = await env.API.fetch(request);
        return new Response(\`\${response.status} \${await response.text()} \${await env.MATH.add(1, 2)} \${await env.SELF.twice(4)}\`);
    } };
    import { WorkerEntrypoint } from 'cloudflare:workers';
    export class Self extends WorkerEntrypoint { twice(x) { return 2 * x; } }`;
    const back = `import { WorkerEntrypoint } from 'cloudflare:workers';
    export class Math extends WorkerEntrypoint { add(a, b) { return a + b; } }
    export default { fetch: async (request) => new Response(\`\${request.method} \${await request.text()}\`, { status: 201 }) };`;
    const services = [{ binding: 'API', service: 'back' }, { binding: 'MATH', service: 'back', entrypoint: 'Math' }, { binding: 'SELF', service: 'front', entrypoint: 'Self' }];
    const one = new Project('front', { 'src/index.js': front }, { services });
    const two = new Project('back', { 'src/index.js': back });
    const program = await start(['-c', one.dir, '-c', two.dir]).ready();
    const answer = await fetch(`http://127.0.0.1:${program.port}/`, { method: 'POST', body: 'hello', headers: { connection: 'close' } });
    equal(await answer.text(), '201 POST hello 3 8');
    await program.end();
});

check('a service that is not there is named', async () => {
    const one = new Project('front', { 'src/index.js': says('x') }, { services: [{ binding: 'API', service: 'nobody' }] });
    const text = await start([one.dir, '--no-watch']).fails();
    ok(/binding "API" of "front": there is no service "nobody"; deploy the project/.test(text), text);
});

check('what is ignored starts no build', async () => {
    const project = hello();
    project.put('node_modules/x/index.js', '');
    project.put('gen/a.txt', '');
    const program = await dev(project, ['--watch-ignore', 'gen/**', '--watch-ignore', '*.md']);
    project.put('node_modules/x/index.js', 'changed');
    project.put('node_modules/y/index.js', 'new');
    project.put('gen/a.txt', 'changed');
    project.put('gen/b/c.txt', 'new');
    project.put('NOTES.md', 'changed');
    project.put('.git/HEAD', 'changed');
    fs.readFileSync(project.path('src/index.js'));
    fs.utimesSync(project.path('src/index.js'), new Date(), new Date());
    await sleep(700);
    ok(!program.stdout.includes('rebuilding'), program.stdout);
    await program.end();
    const unwatched = hello(); // Built by this start: an older build would be looked at again behind the first answer.
    const still = await dev(unwatched, ['--no-watch']);
    ok(/^ {2}Watch {3}disabled$/m.test(still.stdout), still.stdout);
    unwatched.put('src/index.js', says('not seen'));
    await sleep(500);
    equal(await still.get(), 'hello');
    await still.end();
}, 120);

check('one celld dev for a project, one program for a port', async () => {
    const project = hello();
    const program = await dev(project);
    let error = await start([project.dir]).fails();
    equal(error, `Error: another celld dev is running for this project (pid ${program.child.pid})\n`);
    error = await start([hello().dir], { port: program.port }).fails();
    equal(error, `Error: cannot listen on 127.0.0.1:${program.port}: address already in use; choose another --port\n`);
    equal(await program.get(), 'hello');
    await program.end();
}, 120);

check('--clean discards the state and nothing else', async () => {
    const project = hello();
    let program = await dev(project, ['--clean']);
    ok(/^ {2}Clean {3}no local state to discard$/m.test(program.stdout), program.stdout);
    await program.end();
    project.put('.celld/dev/deep/mine', 'state');
    project.put('.celld/other', 'kept');
    equal(fs.readFileSync(project.path('.celld/.gitignore'), 'utf8'), '*\n');
    fs.symlinkSync(project.path('src'), project.path('.celld/dev/link'));
    program = await dev(project, ['--clean']);
    ok(/^ {2}Clean {3}discarded the existing local state$/m.test(program.stdout), program.stdout);
    ok(!fs.existsSync(project.path('.celld/dev/deep')), 'the state is still there');
    ok(fs.existsSync(project.path('src/index.js')) && fs.existsSync(project.path('.celld/other')), 'too much is gone');
    await program.end();
    fs.rmSync(project.path('.celld/dev'), { recursive: true });
    fs.symlinkSync(project.path('src'), project.path('.celld/dev'));
    const error = await start([project.dir, '--clean']).fails();
    ok(error.includes('is a symbolic link'), error);
    ok(fs.existsSync(project.path('src/index.js')), 'it followed the link');
}, 120);

check('the node ends with celld dev, and celld dev with the node', async () => {
    let program = await dev(hello());
    let node = program.node();
    program.child.kill('SIGKILL');
    await program.exited;
    await until(() => !alive(node), 'the end of the node');
    program = await dev(hello());
    process.kill(program.node(), 'SIGKILL');
    const error = await program.fails();
    equal(error, 'Error: the local celld node exited with signal 9\n');
    // Without a node the copy that waits goes too.
    const help = spawn(celld, ['dev', '--port', '0'], { cwd: root });
    equal(await help.exited, 1, 'exit code');
    // A node that does not go: the second Ctrl-C does not wait.
    program = await dev(hello());
    node = program.node();
    process.kill(node, 'SIGSTOP');
    program.child.kill('SIGINT');
    await sleep(300);
    ok(alive(program.child.pid), 'it did not wait for the node');
    program.child.kill('SIGINT');
    equal(await program.exited, 1, 'exit code');
    ok(!alive(node), 'the node is still there');
    // SIGTERM is as good as Ctrl-C.
    program = await dev(hello());
    program.child.kill('SIGTERM');
    equal(await program.exited, 0, 'exit code');
}, 120);

check('what the Worker says and is asked is shown; what the node says, when asked for', async () => {
    const project = new Project('logs', {
        'src/index.ts': [
            'export default {',
            '    fetch(request: Request) {',
            '        console.log("said so", { a: [1] });',
            '        console.warn("take care");',
            '        if (request.url.endsWith("/bad")) throw new Error("oh no");',
            '        return new Response("ok");',
            '    },',
            '};',
        ].join('\n'),
    }, { main: 'src/index.ts' });
    let program = await dev(project);
    await program.get('/page?secret=1');
    await program.get('/bad');
    await program.line(/^GET \/bad 500/m);
    ok(/^said so \{ a: \[ 1 \] \}\ntake care\nGET \/page 200/m.test(program.stdout), program.stdout);
    ok(/^error uncaught in fetch: Error: oh no\n {4}at .*src\/index\.ts:5:\d+\)?$/m.test(program.stdout), program.stdout);
    ok(!program.stdout.includes('deployment_adopted') && !program.stdout.includes('secret'), program.stdout);
    await program.end();
    program = await dev(project, ['--logs']);
    ok(/^ {2}Logs {4}shown$/m.test(program.stdout), program.stdout);
    await program.line(/^INFO celld: deployment_adopted script="/m);
    await program.end();
}, 120);

check('celld deploy publishes to a bucket that nodes serve from', async () => {
    const project = new Project('shop', { 'src/index.js': 'export default { fetch: (r, env) => new Response(env.GREETING + " " + process.env.NODE_ENV) };' }, { vars: { GREETING: 'hi' } });
    project.put('.dev.vars', 'GREETING=not-for-the-bucket');
    const bucket = path.join(root, 'bucket');
    fs.mkdirSync(bucket);
    const url = `file://${bucket}`;
    const env = { ...process.env, PATH: `${tools}:/usr/bin:/bin` };
    const deploy = async (...args) => {
        const program = spawn(celld, ['deploy', project.dir, ...args], { cwd: root, env });
        program.code = await program.exited;
        return program;
    };
    let done = await deploy('--dry-run');
    equal(done.code, 0, done.stderr);
    const version = done.stdout.match(/^Current Version ID: ([0-9a-f]{16}) \(dry run; nothing written\)\n$/)[1];
    done = await deploy('--bucket', url, '--json');
    equal(done.code, 0, done.stderr);
    equal(done.stdout, `{"worker":"shop","version":"${version}","location":"${url}/deploy/shop/${version}/","dry_run":false}\n`);
    ok(done.stderr.includes('env.GREETING') && done.stderr.includes('Environment Variable'), done.stderr);
    ok(!done.stderr.includes('hi\n') && !fs.existsSync(project.path('.celld/dev')), done.stderr);
    done = await deploy('--bucket', url);
    equal(done.stdout, `Current Version ID: ${version}\n`);
    for (const file of fs.readdirSync(bucket)) ok(!fs.readFileSync(path.join(bucket, file)).includes('not-for-the-bucket'), file);
    const at = ++port;
    const node = spawn(celld, ['--bucket', url, '--listen', `127.0.0.1:${at}`], { cwd: root, env: { ...env, CELLD_DEPLOY_POLL_S: '1' } });
    const answer = async () => (await fetch(`http://127.0.0.1:${at}/`, { headers: { connection: 'close' } })).text();
    await until(() => node.stdout.includes('celld internal listening on'), 'the node', 30000);
    equal(await answer(), 'hi production');
    project.put('src/index.js', 'export default { fetch: () => new Response("second") };');
    equal((await deploy('--bucket', url)).code, 0);
    await until(async () => (await answer()) === 'second', 'the second version', 20000);
    project.put('src/index.js', 'throw new Error("not this one"); export default {};');
    equal((await deploy('--bucket', url)).code, 0);
    await until(() => count(node.stdout, /deployment_adoption_failed.*not this one/g) > 0, 'the refusal', 20000);
    await sleep(2500);
    equal(count(node.stdout, /event="deployment_adoption_failed"/g), 1, 'tries');
    equal(await answer(), 'second');
    node.child.kill('SIGTERM');
    equal(await node.exited, 0, node.stderr);
    project.put('src/index.js', 'export default {');
    done = await deploy('--bucket', url);
    equal(done.code, 1, 'exit code');
    ok(done.stderr.startsWith('Error: esbuild failed:\n'), done.stderr);
}, 120);

check('hosts, colors and relative paths', async () => {
    const project = hello();
    const program = start(['.', '--host', '0.0.0.0'], { cwd: project.dir, env: { FORCE_COLOR: '1' } });
    await program.line(new RegExp(`ready\x1b\\[0m {2}http://localhost:${program.port} {2}\\(bound to 0\\.0\\.0\\.0:${program.port}\\)`));
    ok(program.stdout.startsWith('\x1b[1;36mcelld dev\x1b[0m\n'), JSON.stringify(program.stdout.slice(0, 80)));
    equal(await program.get(), 'hello');
    await program.end();
    const help = spawn(celld, ['dev', '--help'], { cwd: root });
    equal(await help.exited, 0);
    for (const flag of ['--host', '--port', '--logs', '--no-watch', '--clean', '--watch-ignore', '--config', 'Sources outside'])
        ok(help.stdout.includes(flag), `help lacks ${flag}`);
}, 120);

run();
