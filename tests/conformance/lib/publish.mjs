// conformance/lib/publish.mjs: publishes a project of several modules into an embedded store, as config.md 7 has it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');

const bindingsOf = (project) => [
    ...Object.entries(project.vars).map(([name, value]) =>
        typeof value === 'string' ? { type: 'plain_text', name, text: value } : { type: 'json', name, json: value }),
    ...project.services.map(({ binding, entrypoint }) => ({ type: 'service', name: binding, service: project.name, ...(entrypoint && { entrypoint }) })),
];

function objectsOf(project) {
    const metadata = {
        bindings: bindingsOf(project),
        main_module: 'index.js',
        compatibility_date: project.date,
        compatibility_flags: project.flags,
    };
    const modules = project.modules.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const version = sha256(...modules.flatMap((m) => [m.name, '\0', m.bytes]), JSON.stringify(metadata)).slice(0, 16);
    const prefix = `deploy/${project.name}/${version}`;
    const manifest = JSON.stringify({
        schema_version: 1,
        version,
        script_name: project.name,
        main_module: 'index.js',
        do_classes: [],
        sqlite_classes: [],
        modules: modules.map((m) => ({ name: m.name, bytes: m.bytes.length, sha256: sha256(m.bytes), ...(m.kind !== 'js' && { kind: m.kind }) })),
        crons: [],
        queue_consumers: [],
        containers: [],
        required_features: modules.some((m) => m.kind === 'wasm') ? ['wasm-v1'] : [],
        raw_metadata: metadata,
    });
    const pointer = JSON.stringify({ script_name: project.name, version, prefix, rollout: { percent: 100 }, manifest_sha256: sha256(manifest) });
    return [
        ...modules.map((m) => [`${prefix}/${m.name}`, m.bytes]),
        [`${prefix}/manifest.json`, manifest],
        [`deploy/${project.name}/current.json`, pointer],
        ['deploy/current.json', pointer],
    ];
}

function isMade(file) {
    if (!existsSync(file)) return false;
    const db = new DatabaseSync(file, { readOnly: true });
    try {
        return db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'objects'").get() !== undefined;
    } catch {
        return false; // It is being made.
    } finally {
        db.close();
    }
}

// The store itself is made by celld: a node that finds nothing to serve.
async function makeStore(dir, binary) {
    const child = spawn(binary, ['--bucket', `file://${dir}`, '--listen', '127.0.0.1:0'], { stdio: 'ignore' });
    const exited = new Promise((resolve) => child.on('exit', resolve));
    for (const until = Date.now() + 10000; Date.now() < until && !isMade(`${dir}/objects.sqlite3`); await sleep(20));
    child.kill('SIGTERM');
    await exited;
}

export async function publish(project, dir, binary) {
    await makeStore(dir, binary);
    const db = new DatabaseSync(`${dir}/objects.sqlite3`);
    const put = db.prepare('INSERT OR REPLACE INTO objects(key, modified_ms, body) VALUES (?, ?, ?)');
    for (const [key, body] of objectsOf(project)) put.run(Buffer.from(key), Date.now(), Buffer.from(body));
    db.close();
}
