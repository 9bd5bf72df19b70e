#!/usr/bin/env node
// conditional-probe: checks that an object store really keeps the promises
// celld rests on (conditional writes, ranged reads, listing, multipart).
// Node's standard library only; every request is signed here, so nothing
// between the test and the wire hides a status code.
//
//   conditional-probe.mjs s3    --endpoint URL --bucket B --access-key K --secret-key S [--region R]
//   conditional-probe.mjs gcs   --endpoint URL --bucket B --access-key K --secret-key S [--region R]
//   conditional-probe.mjs azure --endpoint URL --account A --key BASE64 --container C
//
// Each option may also come from the environment: CELLD_STORE_ENDPOINT,
// CELLD_STORE_BUCKET, CELLD_STORE_ACCESS_KEY, CELLD_STORE_SECRET_KEY,
// CELLD_STORE_REGION (what the start scripts print).
//   --create      create the bucket or container first
//   --create-only create it and stop there
//   --contenders N  width of the race checks (default 24)
//   --verbose     print every exchange
// Lines: PASS|FAIL name (required), OK|MISS name (optional, does not fail the
// run), NOTE text. Exit 0 when every required check passed, 1 when one failed,
// 2 on a usage error or an unreachable endpoint.

import { az, cfg, flag, kind, s3 } from './probe/wire.mjs';
import { code, count, xml1 } from './probe/report.mjs';
import { probeS3 } from './probe/s3.mjs';
import { probeGcs } from './probe/gcs.mjs';
import { probeAzure } from './probe/azure.mjs';

if (flag('create-only')) {
  try {
    const r =
      kind === 'azure' ? await az('PUT', null, { query: { restype: 'container' } }) : await s3('PUT', null);
    if (r.status < 300 || r.status === 409) {
      if (kind === 's3') {
        // the first write and the first upload may set things up inside the store: not in a test's time
        await s3('PUT', '.warm', { body: 'w' });
        await s3('DELETE', '.warm');
        const id = xml1((await s3('POST', '.warm', { query: { uploads: '' } })).text, 'UploadId');
        if (id) await s3('DELETE', '.warm', { query: { uploadId: id } });
      }
      process.exit(0);
    }
    console.log(`creating ${cfg.bucket}: ${r.status} ${code(r)}`);
  } catch (e) {
    console.log(`creating ${cfg.bucket}: ${e.message}`);
  }
  process.exit(2);
}
try {
  await { s3: probeS3, gcs: probeGcs, azure: probeAzure }[kind]();
} catch (e) {
  console.log(`FAIL the probe itself stopped  -- ${e.stack || e}`);
  count.failed++;
}
console.log(`optional: ${count.ok} present, ${count.miss} missing`);
console.log(`probe: ${count.passed} passed, ${count.failed} failed`);
process.exit(count.failed ? 1 : 0);
