// conformance/lib/project.mjs: the Worker project of an area: the same modules for both engines.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

export const DATE = '2026-08-01';
const FLAGS = ['nodejs_compat', 'enable_request_signal'];

const KINDS = [[/\.m?js$/, 'js'], [/\.json$/, 'json'], [/\.txt$/, 'text'], [/\.bin$/, 'data'], [/\.wasm$/, 'wasm']];
const kindOf = (name) => KINDS.find(([pattern]) => pattern.test(name))?.[1];

const entry = (area) => `export * from ${JSON.stringify(area)};\nimport ${JSON.stringify(area)};\nexport { worker as default } from "./case.js";\n`;

// An area of one file is bundled; what esbuild emits beside index.js (wasm) stays a module of its own.
function bundle(here, area, to) {
    const stdin = entry(`./areas/${area.name}.js`);
    const args = ['--bundle', '--format=esm', '--platform=browser', '--target=es2024', '--charset=utf8', '--log-level=warning'];
    args.push('--external:cloudflare:*', '--external:node:*', '--external:path', '--loader:.wasm=copy', '--loader:.bin=binary', '--loader:.txt=text');
    args.push('--entry-names=index', '--asset-names=[name]-[hash]', `--outdir=${to}`, '--sourcefile=index.js', '--keep-names');
    execFileSync('esbuild', args, { cwd: here, input: stdin, stdio: ['pipe', 'inherit', 'inherit'] });
    for (const name of readdirSync(to)) if (name === 'stdin.js') throw new Error('esbuild did not call its output index.js');
}

// An area of several files is taken as it is.
function copy(here, area, to) {
    cpSync(`${here}/areas/${area.name}`, to, { recursive: true });
    cpSync(`${here}/case.js`, `${to}/case.js`);
    writeFileSync(`${to}/index.js`, entry('./main.js'));
}

export function makeProject(here, work, area, vars) {
    const dir = `${work}/${area.name}`;
    const to = `${dir}/modules`;
    const published = existsSync(`${here}/areas/${area.name}`);
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(to, { recursive: true });
    (published ? copy : bundle)(here, area, to);
    const names = readdirSync(to, { recursive: true }).filter((name) => kindOf(name) !== undefined).sort();
    const modules = names.map((name) => ({ name, kind: kindOf(name), bytes: readFileSync(`${to}/${name}`) }));
    modules.sort((a, b) => (b.name === 'index.js') - (a.name === 'index.js')); // workerd: the first is the main one.
    return {
        name: `conformance-${area.name.replaceAll('_', '-')}`,
        dir,
        published,
        modules,
        date: DATE,
        flags: [...FLAGS, ...(area.flags ?? [])],
        vars: { ...vars, ...area.vars },
        services: area.services ?? [],
        classes: area.classes ?? [],
    };
}
