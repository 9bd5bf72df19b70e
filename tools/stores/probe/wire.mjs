// Settings of the probe, and requests signed here, so that nothing hides a status code.
import http from 'node:http';
import https from 'node:https';
import crypto from 'node:crypto';

const argv = process.argv.slice(2);
export const kind = argv[0];
export const flag = (n) => argv.includes('--' + n);
const opt = (n, env, dflt) => {
  const i = argv.indexOf('--' + n);
  if (i >= 0 && i + 1 < argv.length) return argv[i + 1];
  if (env && process.env[env]) return process.env[env];
  return dflt;
};
if (!['s3', 'gcs', 'azure'].includes(kind)) {
  console.error('usage: conditional-probe.mjs s3|gcs|azure --endpoint URL ... (see the head of the file)');
  process.exit(2);
}
export const cfg = {
  endpoint: opt('endpoint', 'CELLD_STORE_ENDPOINT'),
  bucket: opt('bucket') || opt('container') || process.env.CELLD_STORE_BUCKET,
  ak: opt('access-key') || opt('account') || process.env.CELLD_STORE_ACCESS_KEY,
  sk: opt('secret-key') || opt('key') || process.env.CELLD_STORE_SECRET_KEY,
  region: opt('region', 'CELLD_STORE_REGION', 'us-east-1'),
  contenders: Number(opt('contenders', null, '24')),
  verbose: flag('verbose'),
};
for (const k of ['endpoint', 'bucket', 'ak', 'sk']) {
  if (!cfg[k]) {
    console.error(`missing option: ${k}`);
    process.exit(2);
  }
}

export const base = new URL(cfg.endpoint);
const lib = base.protocol === 'https:' ? https : http;
const agent = new lib.Agent({ keepAlive: true, maxSockets: 64 });
export const run = Date.now().toString(36) + crypto.randomBytes(3).toString('hex');

export const sha256hex = (b) => crypto.createHash('sha256').update(b).digest('hex');
export const md5b64 = (b) => crypto.createHash('md5').update(b).digest('base64');
const hmac = (k, s) => crypto.createHmac('sha256', k).update(s).digest();
export const enc = (s) =>
  encodeURIComponent(s).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
export const encPath = (p) => p.split('/').map(enc).join('/');
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

export function wire(method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const req = lib.request(
      {
        host: base.hostname,
        port: base.port || undefined,
        method,
        path,
        headers,
        agent,
        timeout: 30000,
      },
      (res) => {
        const parts = [];
        res.on('data', (d) => parts.push(d));
        res.on('error', reject);
        res.on('end', () => {
          const buf = Buffer.concat(parts);
          const shown = /xml/.test(res.headers['content-type'] || '') ? buf.toString().slice(0, 300) : '';
          if (cfg.verbose) console.error(`${method} ${path} -> ${res.statusCode} ${buf.length}B ${shown}`);
          resolve({ status: res.statusCode, headers: res.headers, body: buf, text: buf.toString() });
        });
      },
    );
    req.on('timeout', () => req.destroy(new Error('timeout')));
    req.on('error', reject);
    if (body && body.length) req.write(body);
    req.end();
  });
}

// ---- S3 and the GCS XML API share one signer (AWS4-HMAC-SHA256) -------------
export async function s3(method, key, o = {}) {
  const body = o.body === undefined ? Buffer.alloc(0) : Buffer.from(o.body);
  const path = encPath(
    (base.pathname === '/' ? '' : base.pathname.replace(/\/$/, '')) +
      '/' +
      (o.bucket ?? cfg.bucket) +
      (key === null ? '' : '/' + key),
  );
  const query = Object.entries(o.query || {})
    .map(([k, v]) => [enc(k), enc(String(v))])
    .sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
    .map(([k, v]) => `${k}=${v}`)
    .join('&');
  const amzdate = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = amzdate.slice(0, 8);
  const hash = o.contentSha ?? sha256hex(body);
  const h = { host: base.host, 'x-amz-date': amzdate, 'x-amz-content-sha256': hash };
  for (const [k, v] of Object.entries(o.headers || {})) h[k.toLowerCase()] = v;
  const names = Object.keys(h).sort();
  const canonical = [
    method,
    path,
    query,
    ...names.map((n) => `${n}:${String(h[n]).trim()}`),
    '',
    names.join(';'),
    hash,
  ].join('\n');
  const scope = `${day}/${cfg.region}/s3/aws4_request`;
  const sts = ['AWS4-HMAC-SHA256', amzdate, scope, sha256hex(canonical)].join('\n');
  const sk = o.secret ?? cfg.sk;
  const sig = hmac(hmac(hmac(hmac(hmac('AWS4' + sk, day), cfg.region), 's3'), 'aws4_request'), sts).toString(
    'hex',
  );
  const signed = names.join(';');
  const credential = `${cfg.ak}/${scope}`;
  h.authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signed}, Signature=${sig}`;
  if (method === 'PUT' || method === 'POST') h['content-length'] = body.length;
  return wire(method, path + (query ? '?' + query : ''), h, body);
}

// ---- Azure Shared Key ------------------------------------------------------
const AZ_VERSION = opt('api-version', null, '2021-12-02');
export async function az(method, blob, o = {}) {
  const body = o.body === undefined ? Buffer.alloc(0) : Buffer.from(o.body);
  const prefix = base.pathname.replace(/\/$/, '');
  const path = encPath(prefix + '/' + cfg.bucket + (blob === null ? '' : '/' + blob));
  const query = o.query || {};
  const h = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': AZ_VERSION };
  for (const [k, v] of Object.entries(o.headers || {})) h[k.toLowerCase()] = v;
  if (method === 'PUT') h['content-length'] = String(body.length);
  const xms = Object.keys(h)
    .filter((k) => k.startsWith('x-ms-'))
    .sort()
    .map((k) => `${k}:${h[k]}\n`)
    .join('');
  const res =
    `/${cfg.ak}${path}` +
    Object.keys(query)
      .sort()
      .map((k) => `\n${k.toLowerCase()}:${query[k]}`)
      .join('');
  const sts =
    [
      method,
      h['content-encoding'] || '',
      h['content-language'] || '',
      h['content-length'] && h['content-length'] !== '0' ? h['content-length'] : '',
      h['content-md5'] || '',
      h['content-type'] || '',
      '',
      h['if-modified-since'] || '',
      h['if-match'] || '',
      h['if-none-match'] || '',
      h['if-unmodified-since'] || '',
      h.range || '',
    ].join('\n') +
    '\n' +
    xms +
    res;
  const sig = crypto
    .createHmac('sha256', Buffer.from(o.secret ?? cfg.sk, 'base64'))
    .update(sts, 'utf8')
    .digest('base64');
  h.authorization = `SharedKey ${cfg.ak}:${sig}`;
  const qs = Object.entries(query)
    .map(([k, v]) => `${enc(k)}=${enc(String(v))}`)
    .join('&');
  return wire(method, path + (qs ? '?' + qs : ''), h, body);
}
