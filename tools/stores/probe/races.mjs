// Checks that are the same for the three protocols. A store's conditional write is seen the same way:
// create(key, body) / swap(key, version, body) / read(key) -> {status, version, body}
import { cfg, run } from './wire.mjs';
import { No, check, code, st, tally, want } from './report.mjs';

export const P = `probe-${run}/`;
export async function raceChecks(api) {
  const n = cfg.contenders;
  await check(`race: ${n} concurrent creates of one key, one winner`, async () => {
    const rounds = 6;
    let lost = '';
    for (let r = 0; r < rounds; r++) {
      const key = `${P}race-create-${r}`;
      const rs = await Promise.all(Array.from({ length: n }, (_, i) => api.create(key, `writer-${i}`)));
      const won = rs.map((x, i) => [x, i]).filter(([x]) => x.status < 300);
      want(won.length === 1, `${won.length} winners in round ${r}: ${tally(rs)}`);
      const bad = rs.filter((x) => x.status >= 300 && x.status !== 412 && x.status !== 409);
      want(!bad.length, `losers must see 412 or 409: ${tally(rs)}`);
      const g = await api.read(key);
      want(g.body.toString() === `writer-${won[0][1]}`, `the winner's bytes are not there: ${g.body}`);
      lost = tally(rs);
    }
    return `${rounds} rounds, last: ${lost}`;
  });
  await check(`race: ${n} concurrent overwrites of one version, one winner`, async () => {
    const rounds = 6;
    const key = `${P}race-swap`;
    let last = '';
    st(await api.create(key, 'gen-0'), 200, 201);
    for (let r = 0; r < rounds; r++) {
      const cur = await api.read(key);
      const rs = await Promise.all(
        Array.from({ length: n }, (_, i) => api.swap(key, cur.version, `round-${r}-writer-${i}`)),
      );
      const won = rs.map((x, i) => [x, i]).filter(([x]) => x.status < 300);
      want(won.length === 1, `${won.length} winners in round ${r}: ${tally(rs)}`);
      const bad = rs.filter((x) => x.status >= 300 && x.status !== 412 && x.status !== 409);
      want(!bad.length, `losers must see 412 or 409: ${tally(rs)}`);
      const g = await api.read(key);
      want(
        g.body.toString() === `round-${r}-writer-${won[0][1]}`,
        `the winner's bytes are not there: ${g.body}`,
      );
      last = tally(rs);
    }
    return `${rounds} rounds, last: ${last}`;
  });
  await check('race: 8 writers add to one counter by compare-and-swap, none lost', async () => {
    const key = `${P}counter`;
    const per = 12;
    let tries = 0;
    st(await api.create(key, JSON.stringify({ n: 0, by: 'start' })), 200, 201);
    await Promise.all(
      Array.from({ length: 8 }, async (_, w) => {
        for (let i = 0; i < per; i++) {
          for (;;) {
            if (++tries > 5000) throw new No('5000 tries spent');
            const cur = await api.read(key);
            st(cur, 200);
            const v = JSON.parse(cur.body.toString());
            const r = await api.swap(key, cur.version, JSON.stringify({ n: v.n + 1, by: `${w}.${i}` }));
            if (r.status < 300) break;
            want(r.status === 412 || r.status === 409, `status ${r.status} ${code(r)}`);
          }
        }
      }),
    );
    const end = JSON.parse((await api.read(key)).body.toString());
    want(end.n === 8 * per, `counter ${end.n}, wanted ${8 * per}: updates were lost`);
    return `${end.n} updates in ${tries} tries`;
  });
  await check('read sees the last acknowledged write (50 writes, each read back at once)', async () => {
    const key = `${P}raw`;
    for (let i = 0; i < 50; i++) {
      const w = await api.put(key, `v${i}`);
      st(w, 200, 201);
      const g = await api.read(key);
      want(g.body.toString() === `v${i}`, `read ${g.body} after writing v${i}`);
    }
  });
}

export async function rangeChecks(get, key, text) {
  const len = text.length;
  await check('range: bytes=2-5 gives 206 and Content-Range', async () => {
    const r = await get(key, 'bytes=2-5');
    st(r, 206);
    want(r.text === text.slice(2, 6), `body ${r.text}`);
    want(r.headers['content-range'] === `bytes 2-5/${len}`, `Content-Range ${r.headers['content-range']}`);
    want(r.headers.etag, 'no ETag');
  });
  await check('range: open-ended bytes=7-', async () => {
    const r = await get(key, 'bytes=7-');
    st(r, 206);
    want(r.text === text.slice(7), `body ${r.text}`);
  });
  await check('range: end past the object is cut', async () => {
    const r = await get(key, `bytes=4-${len + 100}`);
    st(r, 206);
    want(r.text === text.slice(4), `body ${r.text}`);
    want(
      r.headers['content-range'] === `bytes 4-${len - 1}/${len}`,
      `Content-Range ${r.headers['content-range']}`,
    );
  });
  await check('range: start past the end gives 416', async () => {
    st(await get(key, `bytes=${len + 10}-${len + 20}`), 416);
  });
}
