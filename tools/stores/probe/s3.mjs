// The checks of S3.
import crypto from 'node:crypto';
import { cfg, encPath, flag, md5b64, s3, sha256hex, wire } from './wire.mjs';
import { check, code, maybe, note, st, want, xml1, xmlAll } from './report.mjs';
import { P, raceChecks, rangeChecks } from './races.mjs';

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

export async function probeS3() {
  const put = (key, body, headers, o) => s3('PUT', key, { body, headers, ...o });
  const get = (key, headers) => s3('GET', key, { headers });
  const list = (query) => s3('GET', null, { query: { 'list-type': 2, ...query } });
  const keysOf = (r) => xmlAll(r.text, 'Contents').map((c) => xml1(c, 'Key'));
  if (flag('create')) {
    const r = await s3('PUT', null);
    if (r.status >= 300 && r.status !== 409) note(`create bucket: ${r.status} ${code(r)}`);
  }
  {
    const r = await list({ 'max-keys': 1 });
    if (r.status !== 200) {
      console.log(`FAIL reach the bucket  -- ${r.status} ${code(r)}`);
      process.exit(2);
    }
    note(`server: ${r.headers.server || '(no Server header)'}`);
  }
  let k = `${P}obj`;
  let e1, e2;
  await check('put, then get: bytes, length, ETag', async () => {
    const w = await put(k, 'hello one');
    st(w, 200);
    e1 = w.headers.etag;
    want(e1, 'no ETag on PUT');
    const g = await get(k);
    st(g, 200);
    want(g.text === 'hello one' && g.headers['content-length'] === '9', `body ${g.text}`);
    want(g.headers.etag === e1, `ETag ${g.headers.etag} after ${e1}`);
    return `etag ${e1}`;
  });
  await check('head: length and ETag', async () => {
    const r = await s3('HEAD', k);
    st(r, 200);
    want(r.headers['content-length'] === '9' && r.headers.etag === e1, JSON.stringify(r.headers));
  });
  await check('get and head of an absent key: 404', async () => {
    const r = await get(`${P}absent`);
    st(r, 404);
    want(code(r) === 'NoSuchKey', `code ${code(r)}`);
    st(await s3('HEAD', `${P}absent`), 404);
  });
  await check('zero-byte object', async () => {
    st(await put(`${P}zero`, ''), 200);
    const r = await get(`${P}zero`);
    st(r, 200);
    want(r.body.length === 0, 'not empty');
  });
  // conditional create
  await check('If-None-Match:* on a new key creates (200)', async () => {
    const w = await put(`${P}inm`, 'first', { 'if-none-match': '*' });
    st(w, 200);
    want(w.headers.etag, 'no ETag');
  });
  await check('If-None-Match:* on an existing key: 412 and the old bytes stay', async () => {
    const w = await put(`${P}inm`, 'second', { 'if-none-match': '*' });
    const g = await get(`${P}inm`);
    st(w, 412);
    want(code(w) === 'PreconditionFailed', `code ${code(w)}`);
    want(g.text === 'first', `object now reads ${g.text}`);
  });
  await check('If-None-Match:* after a delete creates again', async () => {
    st(await s3('DELETE', `${P}inm`), 204, 200);
    st(await get(`${P}inm`), 404);
    st(await put(`${P}inm`, 'third', { 'if-none-match': '*' }), 200);
    want((await get(`${P}inm`)).text === 'third', 'not written');
  });
  // conditional overwrite
  await check('If-Match:<current> overwrites (200) and gives a new ETag', async () => {
    const w = await put(k, 'hello two', { 'if-match': e1 });
    st(w, 200);
    e2 = w.headers.etag;
    want(e2 && e2 !== e1, `ETag ${e2}`);
    want((await get(k)).text === 'hello two', 'not overwritten');
  });
  await check('If-Match:<stale>: 412 and the current bytes stay', async () => {
    const w = await put(k, 'hello three', { 'if-match': e1 });
    const g = await get(k);
    st(w, 412);
    want(g.text === 'hello two', `object now reads ${g.text}`);
  });
  await check('If-Match on an absent key: refused, nothing created', async () => {
    const w = await put(`${P}im-absent`, 'x', { 'if-match': e1 });
    const g = await get(`${P}im-absent`);
    want(w.status >= 400, `status ${w.status}`);
    st(g, 404);
    st(w, 404, 412);
    return `${w.status} ${code(w)}`;
  });
  await maybe('If-Match accepts an unquoted ETag', async () => {
    const cur = (await s3('HEAD', k)).headers.etag;
    st(await put(k, 'hello 2b', { 'if-match': cur.replace(/"/g, '') }), 200);
  });
  const api = {
    put: (key, b) => put(key, b),
    create: (key, b) => put(key, b, { 'if-none-match': '*' }),
    swap: (key, v, b) => put(key, b, { 'if-match': v }),
    read: async (key) => {
      const r = await get(key);
      return { ...r, version: r.headers.etag };
    },
  };
  await raceChecks(api);
  // conditional and ranged reads
  const R = `${P}range`;
  const text = 'abcdefghijklmnopqrstuvwxyz';
  const rw = await put(R, text);
  await rangeChecks((key, range) => get(key, { range }), R, text);
  await check('range: suffix bytes=-3', async () => {
    const r = await get(R, { range: 'bytes=-3' });
    st(r, 206);
    want(r.text === 'xyz', `body ${r.text}`);
  });
  await check('get with If-Match: 200 on the current ETag, 412 on another', async () => {
    st(await get(R, { 'if-match': rw.headers.etag }), 200);
    st(await get(R, { 'if-match': '"0123456789abcdef0123456789abcdef"' }), 412);
  });
  await check('get with If-None-Match:<current>: 304', async () => {
    st(await get(R, { 'if-none-match': rw.headers.etag }), 304);
  });
  await maybe('ranged get with If-Match (pinned read)', async () => {
    const r = await get(R, { 'if-match': rw.headers.etag, range: 'bytes=0-0' });
    st(r, 206);
    want(r.text === 'a', r.text);
    st(await get(R, { 'if-match': '"0123456789abcdef0123456789abcdef"', range: 'bytes=0-0' }), 412);
  });
  // listing
  const L = `${P}list/`;
  const names = ['a/1', 'a/2', 'a.txt', 'b/1', 'b/c/2', 'd', 'e', 'e+f g', 'é', 'z'].map((s) => L + s);
  for (const n of names) st(await put(n, 'x'), 200);
  const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  await check('list: prefix, every key once, in UTF-8 byte order, right after the writes', async () => {
    const r = await list({ prefix: L });
    st(r, 200);
    want(
      JSON.stringify(keysOf(r)) === JSON.stringify(sorted),
      JSON.stringify(keysOf(r).map((x) => x.slice(L.length))),
    );
    want(xml1(r.text, 'KeyCount') === String(sorted.length), `KeyCount ${xml1(r.text, 'KeyCount')}`);
    want(xml1(r.text, 'IsTruncated') === 'false', 'IsTruncated');
    const c = xmlAll(r.text, 'Contents')[0];
    want(xml1(c, 'ETag') && xml1(c, 'Size') === '1', `entry ${c}`);
  });
  await check('list: delimiter gives CommonPrefixes', async () => {
    const r = await list({ prefix: L, delimiter: '/' });
    st(r, 200);
    const cp = xmlAll(r.text, 'CommonPrefixes').map((c) => xml1(c, 'Prefix'));
    want(JSON.stringify(cp) === JSON.stringify([L + 'a/', L + 'b/']), `prefixes ${JSON.stringify(cp)}`);
    want(
      JSON.stringify(keysOf(r)) === JSON.stringify(sorted.filter((n) => !n.slice(L.length).includes('/'))),
      `keys ${JSON.stringify(keysOf(r))}`,
    );
  });
  await check('list: start-after', async () => {
    const r = await list({ prefix: L, 'start-after': L + 'b/1' });
    st(r, 200);
    want(
      JSON.stringify(keysOf(r)) ===
        JSON.stringify(sorted.filter((n) => Buffer.compare(Buffer.from(n), Buffer.from(L + 'b/1')) > 0)),
      JSON.stringify(keysOf(r)),
    );
  });
  await check('list: max-keys and continuation-token walk every key once', async () => {
    let got = [],
      token,
      pages = 0;
    do {
      const r = await list({ prefix: L, 'max-keys': 3, ...(token ? { 'continuation-token': token } : {}) });
      st(r, 200);
      got.push(...keysOf(r));
      token = xml1(r.text, 'NextContinuationToken');
      want((xml1(r.text, 'IsTruncated') === 'true') === !!token, 'IsTruncated and the token disagree');
    } while (token && ++pages < 20);
    want(JSON.stringify(got) === JSON.stringify(sorted), JSON.stringify(got));
    return `${pages + 1} pages`;
  });
  await check('list: delimiter with paging', async () => {
    let got = [],
      token,
      pages = 0;
    do {
      const r = await list({
        prefix: L,
        delimiter: '/',
        'max-keys': 2,
        ...(token ? { 'continuation-token': token } : {}),
      });
      st(r, 200);
      got.push(...keysOf(r), ...xmlAll(r.text, 'CommonPrefixes').map((c) => xml1(c, 'Prefix')));
      token = xml1(r.text, 'NextContinuationToken');
    } while (token && ++pages < 20);
    const w = [...sorted.filter((n) => !n.slice(L.length).includes('/')), L + 'a/', L + 'b/'].sort();
    want(JSON.stringify(got.sort()) === JSON.stringify(w), JSON.stringify(got));
  });
  await maybe('list: encoding-type=url', async () => {
    const r = await list({ prefix: L + 'e+', 'encoding-type': 'url' });
    st(r, 200);
    const got = keysOf(r)[0] || '';
    want(/%2B/i.test(got), `key came back as ${got}`);
  });
  await check('list: a deleted key is gone at once', async () => {
    st(await s3('DELETE', L + 'd'), 204, 200);
    const r = await list({ prefix: L });
    want(!keysOf(r).includes(L + 'd'), 'still listed');
  });
  await check('delete of an absent key succeeds', async () => {
    st(await s3('DELETE', `${P}never`), 204, 200);
  });
  await check('DeleteObjects removes several keys, absent ones included', async () => {
    const del = [L + 'a/1', L + 'a/2', L + 'e+f g', L + 'é', L + 'nothere'];
    const objects = del.map((d) => `<Object><Key>${d.replace(/&/g, '&amp;')}</Key></Object>`).join('');
    const body = `<?xml version="1.0" encoding="UTF-8"?><Delete xmlns="${NAMESPACE}">${objects}</Delete>`;
    const r = await s3('POST', null, {
      query: { delete: '' },
      body,
      headers: { 'content-md5': md5b64(body), 'content-type': 'application/xml' },
    });
    st(r, 200);
    want(!/<Error>/.test(r.text), r.text.slice(0, 200));
    const left = keysOf(await list({ prefix: L }));
    want(!del.some((d) => left.includes(d)), `left ${JSON.stringify(left)}`);
  });
  // multipart
  const M = `${P}multi`;
  const p1 = crypto.randomBytes(5 * 1024 * 1024),
    p2 = crypto.randomBytes(1234567);
  const start = async (key) => {
    const r = await s3('POST', key, { query: { uploads: '' } });
    st(r, 200);
    const id = xml1(r.text, 'UploadId');
    want(id, 'no UploadId');
    return id;
  };
  const part = async (key, id, n, body) => {
    const r = await s3('PUT', key, { query: { partNumber: n, uploadId: id }, body });
    st(r, 200);
    want(r.headers.etag, 'no part ETag');
    return r.headers.etag;
  };
  const complete = (key, id, tags, headers) => {
    const part = (t, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${t}</ETag></Part>`;
    const parts = tags.map(part).join('');
    const body = `<CompleteMultipartUpload xmlns="${NAMESPACE}">${parts}</CompleteMultipartUpload>`;
    return s3('POST', key, { query: { uploadId: id }, body, headers });
  };
  await check('multipart: two parts, whole object and a range across the seam', async () => {
    const id = await start(M);
    const t = [await part(M, id, 1, p1), await part(M, id, 2, p2)];
    st(await get(M), 404);
    const c = await complete(M, id, t);
    st(c, 200);
    want(!/<Error>/.test(c.text), c.text.slice(0, 200));
    const g = await get(M);
    st(g, 200);
    want(Buffer.compare(g.body, Buffer.concat([p1, p2])) === 0, 'bytes differ');
    const a = p1.length - 3;
    const r = await get(M, { range: `bytes=${a}-${a + 7}` });
    st(r, 206);
    want(Buffer.compare(r.body, Buffer.concat([p1, p2]).subarray(a, a + 8)) === 0, 'range differs');
    return `etag ${g.headers.etag}`;
  });
  await check('multipart: abort leaves nothing', async () => {
    const key = `${P}multi-abort`;
    const id = await start(key);
    await part(key, id, 1, p2);
    st(await s3('DELETE', key, { query: { uploadId: id } }), 204, 200);
    st(await get(key), 404);
  });
  await check('multipart: a wrong part ETag is refused', async () => {
    const key = `${P}multi-bad`;
    const id = await start(key);
    await part(key, id, 1, p2);
    const c = await complete(key, id, ['"00000000000000000000000000000000"']);
    want(c.status >= 400 || /<Error>/.test(c.text), `status ${c.status}`);
    st(await get(key), 404);
    await s3('DELETE', key, { query: { uploadId: id } });
  });
  await maybe('multipart: complete with If-None-Match:* on an existing key: 412', async () => {
    const before = (await s3('HEAD', M)).headers.etag;
    const id = await start(M);
    const t = [await part(M, id, 1, p2)];
    const c = await complete(M, id, t, { 'if-none-match': '*' });
    const after = (await s3('HEAD', M)).headers.etag;
    if (c.status >= 300) await s3('DELETE', M, { query: { uploadId: id } });
    st(c, 412);
    want(before === after, 'object replaced');
  });
  await maybe('multipart: complete with If-Match: stale 412, current 200', async () => {
    const cur = (await s3('HEAD', M)).headers.etag;
    let id = await start(M);
    let t = [await part(M, id, 1, p2)];
    const c = await complete(M, id, t, { 'if-match': '"0123456789abcdef0123456789abcdef"' });
    if (c.status >= 300) await s3('DELETE', M, { query: { uploadId: id } });
    st(c, 412);
    id = await start(M);
    t = [await part(M, id, 1, p2)];
    const d = await complete(M, id, t, { 'if-match': cur });
    st(d, 200);
  });
  // integrity and the rest
  await check('user metadata comes back', async () => {
    st(await put(`${P}meta`, 'm', { 'x-amz-meta-celld-epoch': '42' }), 200);
    const r = await s3('HEAD', `${P}meta`);
    want(r.headers['x-amz-meta-celld-epoch'] === '42', JSON.stringify(r.headers));
  });
  await maybe('a wrong secret is refused (403)', async () => {
    st(await s3('GET', R, { secret: 'wrong-secret' }), 403);
  });
  await maybe('an unsigned request is refused (403)', async () => {
    st(await wire('GET', '/' + encPath(cfg.bucket + '/' + R), {}, null), 403);
  });
  await maybe('a body that does not match x-amz-content-sha256 is refused', async () => {
    const r = await put(`${P}sha`, 'tampered', {}, { contentSha: sha256hex('original') });
    want(r.status >= 400, `status ${r.status}`);
    st(await get(`${P}sha`), 404);
  });
  await maybe('a body that does not match Content-MD5 is refused', async () => {
    const r = await put(`${P}md5`, 'tampered', { 'content-md5': md5b64('original') });
    st(r, 400);
    st(await get(`${P}md5`), 404);
  });
  await maybe('delete with a stale If-Match: 412 and the object stays', async () => {
    const r = await s3('DELETE', R, { headers: { 'if-match': '"0123456789abcdef0123456789abcdef"' } });
    const g = await get(R);
    st(r, 412);
    st(g, 200);
  });
  await maybe('copy with x-amz-copy-source-if-match', async () => {
    const cur = (await s3('HEAD', M)).headers.etag;
    st(
      await put(`${P}copy`, '', {
        'x-amz-copy-source': '/' + encPath(cfg.bucket + '/' + M),
        'x-amz-copy-source-if-match': '"0123456789abcdef0123456789abcdef"',
      }),
      412,
    );
    st(
      await put(`${P}copy`, '', {
        'x-amz-copy-source': '/' + encPath(cfg.bucket + '/' + M),
        'x-amz-copy-source-if-match': cur,
      }),
      200,
    );
  });
  // leave nothing behind
  for (let i = 0; i < 20; i++) {
    const r = await list({ prefix: P });
    const ks = keysOf(r);
    if (!ks.length) break;
    await Promise.all(ks.map((x) => s3('DELETE', x)));
  }
}
