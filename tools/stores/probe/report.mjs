// What a check is and how its result is said.
export const count = { passed: 0, failed: 0, ok: 0, miss: 0 };
export class No extends Error {}
export const want = (cond, msg) => {
  if (!cond) throw new No(msg);
};
export const st = (r, ...codes) =>
  want(
    codes.includes(r.status),
    `status ${r.status}, wanted ${codes.join('/')}${r.text ? ' ' + code(r) : ''}`,
  );
export const code = (r) =>
  r.headers['x-ms-error-code'] ||
  (/<Code>([^<]*)</.exec(r.text) || [])[1] ||
  r.text.slice(0, 80).replace(/\s+/g, ' ');
export async function check(name, fn, required = true) {
  try {
    const d = await fn();
    count[required ? 'passed' : 'ok']++;
    console.log(`${required ? 'PASS' : 'OK  '} ${name}${d ? '  (' + d + ')' : ''}`);
    return true;
  } catch (e) {
    count[required ? 'failed' : 'miss']++;
    console.log(`${required ? 'FAIL' : 'MISS'} ${name}  -- ${e instanceof No ? e.message : e.stack || e}`);
    return false;
  }
}
export const maybe = (name, fn) => check(name, fn, false);
export const note = (t) => console.log(`NOTE ${t}`);
export const xmlAll = (t, tag) =>
  [...t.matchAll(new RegExp(`<${tag}(?:\\s[^>]*)?>([\\s\\S]*?)</${tag}>`, 'g'))].map((m) => unx(m[1]));
export const xml1 = (t, tag) => xmlAll(t, tag)[0];
const unx = (s) =>
  s
    .replace(/&quot;|&#34;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&apos;|&#39;/g, "'")
    .replace(/&amp;/g, '&');
export const tally = (rs) => {
  const m = {};
  for (const r of rs) {
    const k = r.status + (r.status >= 400 ? ' ' + code(r) : '');
    m[k] = (m[k] || 0) + 1;
  }
  return Object.entries(m)
    .map(([k, v]) => `${v}x${k}`)
    .join(', ');
};
