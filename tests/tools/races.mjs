// tools/races.mjs LOG...: what the thread sanitizer said of celld, without what it cannot know. Exit code 1 when a race is left.
// V8's locks are in a library that is not built for it, so all it says of what happens inside of V8 is dropped: the first
// frame of either stack that is not the sanitizer's or of a standard library tells where that is.
import fs from 'node:fs';

const NOBODYS = /libtsan|libsanitizer|libstdc|libc\.so|\/bits\/|\/atomic:|src\/base\/cd\.c:/;
// Queues of tasks are handed from thread to thread under V8's locks.
const V8S = /libnode|v8-internal\.h|js_tasks::|js_isolate_alloc/;

const found = new Map();
let reports = 0;
for (const file of process.argv.slice(2))
    for (const report of fs.readFileSync(file, 'utf8').split(/^={18}$/m)) {
        if (!report.includes('WARNING: ThreadSanitizer')) continue;
        reports++;
        const stacks = report.trim().split('\n\n').slice(0, 2);
        const places = stacks.map((s) => s.split('\n').find((line) => /^\s+#\d/.test(line) && !NOBODYS.test(line)) ?? '?');
        if (!places.some((place) => V8S.test(place))) found.set(places.map((p) => p.replace(/^.*#\d+ | \(celld.*/g, '')).join(' and '), report);
    }
// What is dropped is always there: without it the sanitizer was not.
if (reports === 0) console.log('the thread sanitizer said nothing, not even of V8: was it there?');
for (const [places, report] of found) console.log(`${places}\n${report}`);
console.log(`${reports} reports, ${found.size} races of celld`);
process.exit(reports > 0 && found.size === 0 ? 0 : 1);
