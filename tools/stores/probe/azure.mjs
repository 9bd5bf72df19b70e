// The checks of Azure Blob Storage.
import crypto from 'node:crypto';
import { az, base, cfg, encPath, flag, md5b64, sleep, wire } from './wire.mjs';
import { check, code, maybe, note, st, want, xml1, xmlAll } from './report.mjs';
import { P, raceChecks, rangeChecks } from './races.mjs';

export async function probeAzure() {
  const put = (key, body, headers) =>
    az('PUT', key, {
      body,
      headers: { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'application/octet-stream', ...headers },
    });
  const get = (key, headers) => az('GET', key, { headers });
  const list = (query) => az('GET', null, { query: { restype: 'container', comp: 'list', ...query } });
  const blobs = (r) => xmlAll(r.text, 'Blob').map((b) => xml1(b, 'Name'));
  if (flag('create')) {
    const r = await az('PUT', null, { query: { restype: 'container' } });
    if (r.status >= 300 && r.status !== 409) note(`create container: ${r.status} ${code(r)}`);
  }
  {
    const r = await list({ maxresults: 1 });
    if (r.status !== 200) {
      console.log(`FAIL reach the container  -- ${r.status} ${code(r)}`);
      process.exit(2);
    }
    note(`server: ${r.headers.server || '(no Server header)'}, x-ms-version ${r.headers['x-ms-version']}`);
  }
  const k = `${P}obj`;
  let e1, e2;
  await check('put blob, then get: bytes, length, ETag', async () => {
    const w = await put(k, 'hello one');
    st(w, 201);
    e1 = w.headers.etag;
    want(e1, 'no ETag');
    const g = await get(k);
    st(g, 200);
    want(g.text === 'hello one' && g.headers.etag === e1, `${g.text} ${g.headers.etag}`);
    return `etag ${e1}`;
  });
  await check('get and head of an absent blob: 404', async () => {
    const r = await get(`${P}absent`);
    st(r, 404);
    want(code(r) === 'BlobNotFound', code(r));
    st(await az('HEAD', `${P}absent`), 404);
  });
  await check('zero-byte blob', async () => {
    st(await put(`${P}zero`, ''), 201);
    const g = await get(`${P}zero`);
    st(g, 200);
    want(g.body.length === 0, 'not empty');
  });
  await check('If-None-Match:* on a new blob creates (201)', async () => {
    st(await put(`${P}inm`, 'first', { 'if-none-match': '*' }), 201);
  });
  await check('If-None-Match:* on an existing blob: 409 BlobAlreadyExists, old bytes stay', async () => {
    const w = await put(`${P}inm`, 'second', { 'if-none-match': '*' });
    st(w, 409, 412);
    want((await get(`${P}inm`)).text === 'first', 'overwritten');
    return `${w.status} ${code(w)}`;
  });
  await check('If-None-Match:* after a delete creates again', async () => {
    st(await az('DELETE', `${P}inm`), 202);
    st(await put(`${P}inm`, 'third', { 'if-none-match': '*' }), 201);
  });
  await check('If-Match:<current> overwrites (201) and gives a new ETag', async () => {
    const w = await put(k, 'hello two', { 'if-match': e1 });
    st(w, 201);
    e2 = w.headers.etag;
    want(e2 && e2 !== e1, `${e2}`);
  });
  await check('If-Match:<stale>: 412 ConditionNotMet, current bytes stay', async () => {
    const w = await put(k, 'hello three', { 'if-match': e1 });
    st(w, 412);
    want((await get(k)).text === 'hello two', 'overwritten');
    return code(w);
  });
  await check('If-Match on an absent blob: refused, nothing created', async () => {
    const w = await put(`${P}im-absent`, 'x', { 'if-match': e1 });
    st(w, 412, 404);
    st(await get(`${P}im-absent`), 404);
    return `${w.status} ${code(w)}`;
  });
  await check('the same bytes again give another ETag', async () => {
    const a = await put(`${P}same`, 's');
    await sleep(5);
    const b = await put(`${P}same`, 's');
    want(a.headers.etag !== b.headers.etag, a.headers.etag);
  });
  await raceChecks({
    put,
    create: (key, b) => put(key, b, { 'if-none-match': '*' }),
    swap: (key, v, b) => put(key, b, { 'if-match': v }),
    read: async (key) => {
      const r = await get(key);
      return { ...r, version: r.headers.etag };
    },
  });
  const R = `${P}range`;
  const text = 'abcdefghijklmnopqrstuvwxyz';
  const rw = await put(R, text);
  await rangeChecks((key, range) => get(key, { range }), R, text);
  await check('range by x-ms-range', async () => {
    const r = await get(R, { 'x-ms-range': 'bytes=2-5' });
    st(r, 206);
    want(r.text === 'cdef', r.text);
  });
  await check('get with If-Match: 200 on the current ETag, 412 on another', async () => {
    st(await get(R, { 'if-match': rw.headers.etag }), 200);
    st(await get(R, { 'if-match': '"0x8D000000000000"' }), 412);
  });
  await check('get with If-None-Match:<current>: 304', async () => {
    st(await get(R, { 'if-none-match': rw.headers.etag }), 304);
  });
  // listing
  const L = `${P}list/`;
  const names = ['a/1', 'a/2', 'a.txt', 'b/1', 'b/c/2', 'd', 'e', 'e+f g', 'z'].map((s) => L + s);
  for (const n of names) st(await put(n, 'x'), 201);
  const sorted = [...names].sort();
  await check('list: prefix, every blob once, in order, right after the writes', async () => {
    const r = await list({ prefix: L });
    st(r, 200);
    want(JSON.stringify(blobs(r)) === JSON.stringify(sorted), JSON.stringify(blobs(r)));
    want(/<Etag>/i.test(r.text), 'no Etag in the list');
  });
  await check('list: delimiter gives BlobPrefix', async () => {
    const r = await list({ prefix: L, delimiter: '/' });
    st(r, 200);
    const bp = xmlAll(r.text, 'BlobPrefix').map((b) => xml1(b, 'Name'));
    want(JSON.stringify(bp) === JSON.stringify([L + 'a/', L + 'b/']), JSON.stringify(bp));
    want(
      JSON.stringify(blobs(r)) === JSON.stringify(sorted.filter((n) => !n.slice(L.length).includes('/'))),
      JSON.stringify(blobs(r)),
    );
  });
  await check('list: maxresults and NextMarker walk every blob once', async () => {
    let got = [],
      marker,
      pages = 0;
    do {
      const r = await list({ prefix: L, maxresults: 3, ...(marker ? { marker } : {}) });
      st(r, 200);
      got.push(...blobs(r));
      marker = xml1(r.text, 'NextMarker');
    } while (marker && ++pages < 20);
    want(JSON.stringify(got) === JSON.stringify(sorted), JSON.stringify(got));
    return `${pages + 1} pages`;
  });
  await check('list: a deleted blob is gone at once', async () => {
    st(await az('DELETE', L + 'd'), 202);
    want(!blobs(await list({ prefix: L })).includes(L + 'd'), 'still listed');
  });
  await check('delete of an absent blob: 404', async () => {
    st(await az('DELETE', `${P}never`), 404);
  });
  // block list
  const M = `${P}blocks`;
  const p1 = crypto.randomBytes(5 * 1024 * 1024),
    p2 = crypto.randomBytes(1234567);
  const bid = (i) => Buffer.from(`block-${String(i).padStart(6, '0')}`).toString('base64');
  const putBlock = (key, i, body) => az('PUT', key, { query: { comp: 'block', blockid: bid(i) }, body });
  const commit = (key, ids, headers) =>
    az('PUT', key, {
      query: { comp: 'blocklist' },
      body:
        '<?xml version="1.0" encoding="utf-8"?>' +
        `<BlockList>${ids.map((i) => `<Latest>${bid(i)}</Latest>`).join('')}</BlockList>`,
      headers,
    });
  await check('block list: two blocks, whole blob and a range across the seam', async () => {
    st(await putBlock(M, 1, p1), 201);
    st(await putBlock(M, 2, p2), 201);
    const before = await get(M);
    st(before, 404);
    st(await commit(M, [1, 2]), 201);
    const g = await get(M);
    st(g, 200);
    want(Buffer.compare(g.body, Buffer.concat([p1, p2])) === 0, 'bytes differ');
    const a = p1.length - 3;
    const r = await get(M, { range: `bytes=${a}-${a + 7}` });
    st(r, 206);
    want(Buffer.compare(r.body, Buffer.concat([p1, p2]).subarray(a, a + 8)) === 0, 'range differs');
  });
  await check('block list: commit with If-None-Match:* on an existing blob is refused', async () => {
    const before = (await az('HEAD', M)).headers.etag;
    st(await putBlock(M, 3, p2), 201);
    const c = await commit(M, [3], { 'if-none-match': '*' });
    st(c, 409, 412);
    want((await az('HEAD', M)).headers.etag === before, 'replaced');
    return `${c.status} ${code(c)}`;
  });
  await check('block list: commit with If-Match: stale 412, current 201', async () => {
    const cur = (await az('HEAD', M)).headers.etag;
    st(await putBlock(M, 4, p2), 201);
    st(await commit(M, [4], { 'if-match': '"0x8D000000000000"' }), 412);
    st(await putBlock(M, 4, p2), 201);
    st(await commit(M, [4], { 'if-match': cur }), 201);
  });
  await check('block list: an unknown block id is refused', async () => {
    const c = await commit(`${P}nb`, [99]);
    st(c, 400);
    return code(c);
  });
  await check('user metadata comes back', async () => {
    st(await put(`${P}meta`, 'm', { 'x-ms-meta-celld_epoch': '42' }), 201);
    const r = await az('HEAD', `${P}meta`);
    want(r.headers['x-ms-meta-celld_epoch'] === '42', JSON.stringify(r.headers));
  });
  await maybe('a wrong key is refused (403)', async () => {
    st(await az('GET', R, { secret: Buffer.from('wrong').toString('base64') }), 403);
  });
  await maybe('an unsigned request is refused', async () => {
    const r = await wire(
      'GET',
      encPath(base.pathname.replace(/\/$/, '') + '/' + cfg.bucket + '/' + R),
      { 'x-ms-version': AZ_VERSION },
      null,
    );
    want(r.status >= 400, `status ${r.status}`);
    return `${r.status}`;
  });
  await maybe('a body that does not match Content-MD5 is refused (400)', async () => {
    st(await put(`${P}md5`, 'tampered', { 'content-md5': md5b64('original') }), 400);
  });
  await maybe('delete with a stale If-Match: 412 and the blob stays', async () => {
    st(await az('DELETE', R, { headers: { 'if-match': '"0x8D000000000000"' } }), 412);
    st(await get(R), 200);
  });
  await maybe('lease: a leased blob refuses a write without the lease id (412)', async () => {
    st(await put(`${P}lease`, 'l'), 201);
    const a = await az('PUT', `${P}lease`, {
      query: { comp: 'lease' },
      headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' },
    });
    st(a, 201);
    st(await put(`${P}lease`, 'm'), 412);
    st(await put(`${P}lease`, 'm', { 'x-ms-lease-id': a.headers['x-ms-lease-id'] }), 201);
    st(
      await az('PUT', `${P}lease`, {
        query: { comp: 'lease' },
        headers: { 'x-ms-lease-action': 'release', 'x-ms-lease-id': a.headers['x-ms-lease-id'] },
      }),
      200,
    );
  });
  for (let i = 0; i < 20; i++) {
    const bs = blobs(await list({ prefix: P }));
    if (!bs.length) break;
    await Promise.all(bs.map((x) => az('DELETE', x)));
  }
}
