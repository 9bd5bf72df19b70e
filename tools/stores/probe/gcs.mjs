// The checks of the XML API of Google Cloud Storage.
import { flag, s3 } from './wire.mjs';
import { check, code, note, st, want, xml1, xmlAll } from './report.mjs';
import { P, raceChecks, rangeChecks } from './races.mjs';

export async function probeGcs() {
  const put = (key, body, headers) => s3('PUT', key, { body, headers });
  const get = (key, headers) => s3('GET', key, { headers });
  const list = (query) => s3('GET', null, { query: { 'list-type': 2, ...query } });
  const keysOf = (r) => xmlAll(r.text, 'Contents').map((c) => xml1(c, 'Key'));
  if (flag('create')) {
    const r = await s3('PUT', null);
    if (r.status >= 300 && r.status !== 409) note(`create bucket: ${r.status} ${code(r)}`);
  }
  const k = `${P}obj`;
  let g1, g2;
  const gen = (r) => r.headers['x-goog-generation'];
  await check('x-goog-if-generation-match:0 on a new key creates and returns a generation', async () => {
    const w = await put(k, 'one', { 'x-goog-if-generation-match': '0' });
    st(w, 200, 201);
    g1 = gen(w);
    want(/^\d+$/.test(g1 || ''), `generation ${g1}`);
  });
  await check('x-goog-if-generation-match:0 on an existing key: 412 and the old bytes stay', async () => {
    st(await put(k, 'two', { 'x-goog-if-generation-match': '0' }), 412);
    want((await get(k)).text === 'one', 'overwritten');
  });
  await check('x-goog-if-generation-match:<current> overwrites with a new generation', async () => {
    const w = await put(k, 'two', { 'x-goog-if-generation-match': g1 });
    st(w, 200, 201);
    g2 = gen(w);
    want(g2 && g2 !== g1, `generation ${g2}`);
  });
  await check('x-goog-if-generation-match:<stale>: 412 and the current bytes stay', async () => {
    st(await put(k, 'three', { 'x-goog-if-generation-match': g1 }), 412);
    want((await get(k)).text === 'two', 'overwritten');
  });
  await raceChecks({
    put,
    create: (key, b) => put(key, b, { 'x-goog-if-generation-match': '0' }),
    swap: (key, v, b) => put(key, b, { 'x-goog-if-generation-match': v }),
    read: async (key) => {
      const r = await get(key);
      return { ...r, version: gen(r) };
    },
  });
  const R = `${P}range`;
  const text = 'abcdefghijklmnopqrstuvwxyz';
  await put(R, text);
  await rangeChecks((key, range) => get(key, { range }), R, text);
  await check('list: prefix and delimiter', async () => {
    for (const n of ['a/1', 'b/1', 'c']) st(await put(`${P}list/${n}`, 'x'), 200, 201);
    const r = await list({ prefix: `${P}list/`, delimiter: '/' });
    st(r, 200);
    want(JSON.stringify(keysOf(r)) === JSON.stringify([`${P}list/c`]), JSON.stringify(keysOf(r)));
    want(xmlAll(r.text, 'CommonPrefixes').length === 2, 'prefixes');
  });
  await check('delete with a stale generation: 412', async () => {
    st(await s3('DELETE', k, { headers: { 'x-goog-if-generation-match': g1 } }), 412);
    st(await get(k), 200);
  });
  for (let i = 0; i < 20; i++) {
    const ks = keysOf(await list({ prefix: P }));
    if (!ks.length) break;
    await Promise.all(ks.map((x) => s3('DELETE', x)));
  }
}
