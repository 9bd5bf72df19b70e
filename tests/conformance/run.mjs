// conformance/run.mjs: runs the cases of all areas on celld and on workerd, and compares. tools/conformance starts it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AREAS } from './areas.mjs';
import { converse, sendAll } from './lib/client.mjs';
import { startCelld, startWorkerd } from './lib/engines.mjs';
import { asText, judge } from './lib/judge.mjs';
import { startOrigin } from './lib/origin.mjs';
import { DATE, makeProject } from './lib/project.mjs';
import { OPEN } from './open.mjs';
import { compatibility } from './lib/report.mjs';

const here = import.meta.dirname;
const top = resolve(here, '../..');
const work = `${top}/build/conformance`;
const docs = `${top}/docs/compatibility.md`;

const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { celld: { type: 'string' }, workerd: { type: 'string' }, docs: { type: 'boolean' }, case: { type: 'string' }, verbose: { type: 'boolean' } },
});

// ---- One case

async function observe(engine, c) {
    try {
        if (c.kind === 'socket') return await converse(engine.port, c.name, c.script, c.request);
        const seen = await sendAll(engine.port, c.name, c.request ?? {});
        if (c.kind === 'answer') return seen;
        if (seen.status !== 200 || seen.aborted) return { lost: seen };
        return JSON.parse(seen.body);
    } catch (error) {
        return { lost: error.message };
    }
}

// ---- One area

const stop = (engine) => engine.stop(engine.name === 'celld' ? 10000 : 500);

async function runArea(area, origin) {
    const project = makeProject(here, work, area, { ORIGIN: origin });
    const engines = [];
    const start = async (begin, binary) => {
        const engine = await begin(project, binary);
        engines.push(engine);
        return { engine, list: await engine.ready() };
    };
    try {
        const [celld, workerd] = await Promise.all([start(startCelld, options.celld), start(startWorkerd, options.workerd)]);
        if (asText(celld.list) !== asText(workerd.list)) throw new Error('the two engines list different cases');
        const cases = [];
        for (const c of workerd.list) {
            if (options.case !== undefined && !c.name.includes(options.case)) continue;
            const [ours, theirs] = await Promise.all([observe(celld.engine, c), observe(workerd.engine, c)]);
            const open = OPEN[area.name]?.[c.name];
            cases.push({ ...c, open, seen: { celld: ours, workerd: theirs }, ...judge({ ...c, open }, ours, theirs) });
            if (celld.engine.end !== undefined) throw new Error(`celld ended with ${celld.engine.end} in the case ${c.name}; see ${celld.engine.log}`);
        }
        const gone = Object.keys(OPEN[area.name] ?? {}).filter((name) => !workerd.list.some((c) => c.name === name));
        if (gone.length > 0) throw new Error(`open.mjs names no case of ${area.name}: ${gone.join(', ')}`);
        await Promise.all(engines.splice(0).map(stop));
        return { ...area, cases };
    } catch (error) {
        await Promise.allSettled(engines.map(stop));
        return { ...area, cases: [], problem: error.message };
    }
}

// ---- All of them

const tell = (what, value) => console.log(`    ${what.padEnd(9)}${asText(value)}`);

function print(area) {
    const failed = area.cases.filter((c) => c.verdict === 'failed');
    const count = (verdict) => area.cases.filter((c) => c.verdict === verdict).length;
    const extra = [['known', count('known')], ['open', count('open')], ['failed', failed.length]].filter(([, n]) => n > 0).map(([what, n]) => `, ${n} ${what}`);
    console.log(`${area.problem || failed.length > 0 ? 'FAIL' : 'ok  '} ${area.name.padEnd(18)} ${count('same')}/${area.cases.length}${extra.join('')}`);
    if (area.problem) console.log(`  ${area.problem}`);
    for (const c of options.verbose ? area.cases : failed) {
        console.log(`  ${c.name}: ${c.problem ?? c.verdict}`);
        tell('expected', c.why !== undefined ? { workerd: c.expected, celld: c.celld } : c.expected);
        tell('celld', c.seen.celld);
        tell('workerd', c.seen.workerd);
    }
}

async function main() {
    const chosen = AREAS.filter((area) => positionals.length === 0 || positionals.includes(area.name));
    const unknown = positionals.filter((name) => !AREAS.some((area) => area.name === name));
    if (unknown.length > 0) throw new Error(`no area ${unknown.join(', ')}; there are ${AREAS.map((a) => a.name).join(', ')}`);
    mkdirSync(work, { recursive: true });
    const origin = await startOrigin();
    const begin = Date.now();
    const done = [];
    const waiting = [...chosen];
    const one = async () => {
        for (let area; (area = waiting.shift()) !== undefined; ) {
            const result = await runArea(area, origin.url);
            done.push(result);
            print(result);
        }
    };
    await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, one));
    origin.close();

    done.sort((a, b) => chosen.findIndex((x) => x.name === a.name) - chosen.findIndex((x) => x.name === b.name));
    const workerd = JSON.parse(readFileSync(`${here}/package.json`, 'utf8')).dependencies.workerd;
    const results = { workerd, date: DATE, areas: done };
    writeFileSync(`${work}/results.json`, JSON.stringify(results, null, 2));

    const all = done.flatMap((area) => area.cases);
    const count = (verdict) => all.filter((c) => c.verdict === verdict).length;
    const bad = count('failed') + done.filter((area) => area.problem).length;
    console.log(`${all.length} cases in ${done.length} areas, ${((Date.now() - begin) / 1000).toFixed(1)} s: ${count('same')} the same on both, ` +
        `${count('known')} known differences, ${count('open')} open, ${bad} failed`);
    return bad === 0 && all.length > 0 && document(results);
}

// The document has to be what the results say; a part of the cases says nothing about it.
function document(results) {
    const whole = positionals.length === 0 && options.case === undefined;
    if (!whole) return true;
    const text = compatibility(results, readFileSync(`${here}/notes.md`, 'utf8'));
    if (options.docs) writeFileSync(docs, text);
    let written = '';
    try {
        written = readFileSync(docs, 'utf8');
    } catch {
        // Told below.
    }
    if (written !== text) console.log('docs/compatibility.md is not what the results say; run tools/conformance --docs');
    return written === text;
}

main().then(
    (ok) => process.exit(ok ? 0 : 1),
    (error) => {
        console.error(`tools/conformance: ${error.message}`);
        process.exit(1);
    },
);
