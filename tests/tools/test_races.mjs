// tools/test_races.mjs: races.mjs lets V8's pass, finds ours, and notices when the sanitizer was not there.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'celld-races-'));
const report = (one, other) => `${'='.repeat(18)}
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8 at 0x7b by thread T4:
    #0 memcpy ../../../../src/libsanitizer/x.inc:117 (libtsan.so.2+0x87789)
    #1 ${one}

  Previous read of size 8 at 0x7b by thread T5:
    #0 ${other}

SUMMARY: ThreadSanitizer: data race
${'='.repeat(18)}
`;
const v8 = '<null> <null> (libnode.so.137+0x1b9010a)';
const keeper = 'there ../../src/cell/keeper.c:57 (celld+0xb5271)', sample = 'sample ../../src/cell/keeper.c:141 (celld+0xb5915)';
const cases = [[report(v8, v8), 0, '1 reports, 0 races'], [report(v8, v8) + report(keeper, sample), 1, 'keeper.c:57'], [report(keeper, v8), 0, '0 races'], ['', 1, 'was it there?']];
for (const [text, code, says] of cases) {
    const log = path.join(dir, 'log.1');
    fs.writeFileSync(log, text);
    const { status, stdout } = spawnSync(process.execPath, [path.join(import.meta.dirname, 'races.mjs'), log], { encoding: 'utf8' });
    if (status !== code || !stdout.includes(says)) throw new Error(`exit ${status}, want ${code} and "${says}":\n${stdout}`);
}
fs.rmSync(dir, { recursive: true });
