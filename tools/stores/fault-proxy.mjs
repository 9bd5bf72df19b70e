#!/usr/bin/env node
// fault-proxy: an HTTP/1.1 proxy for loopback that stands between celld and an
// object store and misbehaves on request. It passes requests through byte for
// byte (headers in their order and case, so signatures stay valid) and can lose
// a request before the store sees it, lose the answer after the store has acted,
// answer with an error itself, delay, cut, hang, or be down altogether.
// Node's standard library only.
//
//   fault-proxy.mjs --listen PORT --target PORT --control PORT [--seed N]
//
// Control, on its own port:
//   PUT /rules     JSON array; replaces all rules. GET /rules reads, DELETE clears.
//   POST /down     refuse connections and reset the open ones;      POST /up ends it
//   POST /hang     accept and answer nothing, open requests included; POST /resume ends it
//   GET /stats     {requests, faults, by: {METHOD: n}}              DELETE /stats zeroes
//   GET /log       one JSON line per request (the last 10000)
// A rule: { "method": "PUT", "path": "^/celld/lease", "header": "if-match",
//           "do": ACTION, "skip": 0, "times": 1, "p": 1.0, ... }
//   method, path (a regular expression on the request target) and header (present)
//   all have to fit; the first 'skip' fits are let by, the next 'times' are hit
//   (default: every one), each with probability p (from the seed).
//   do: "delay"          wait "ms" (+ up to "jitter" ms) before passing it on
//       "delay-response" the store acts at once, the answer waits "ms"
//       "lose-request"   reset the connection; the store never sees the request
//       "lose-response"  the store acts, then the connection is reset
//       "status"         answer "status" (default 503) with "code" (default SlowDown)
//       "status-after"   the store acts, then answer "status" all the same
//       "truncate"       pass "bytes" of the answer's body, then reset
//       "hang"           the store acts, the answer never comes
//       "repeat"         the store gets the request twice; the second answer is passed on
import http from 'node:http';

const argv = process.argv.slice(2);
const opt = (n, d) => {
  const i = argv.indexOf('--' + n);
  return i >= 0 ? Number(argv[i + 1]) : d;
};
const listen = opt('listen'),
  target = opt('target'),
  control = opt('control');
if (!listen || !target || !control) {
  console.error('usage: fault-proxy.mjs --listen PORT --target PORT --control PORT [--seed N]');
  process.exit(2);
}
let seed = opt('seed', 1) >>> 0 || 1;
const random = () => {
  seed ^= seed << 13;
  seed >>>= 0;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  seed >>>= 0;
  return seed / 4294967296;
};

let rules = [],
  hanging = false,
  down = false;
let stats = { requests: 0, faults: 0, by: {} };
let log = [];
const waiting = new Set();
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const unhang = () => (hanging ? new Promise((r) => waiting.add(r)) : null);
const reset = (s) => {
  try {
    s.resetAndDestroy ? s.resetAndDestroy() : s.destroy();
  } catch {
    /* gone */
  }
};

function pick(req) {
  for (const r of rules) {
    if (r.method && r.method !== req.method) continue;
    if (r.path && !r.re.test(req.url)) continue;
    if (r.header && !(r.header.toLowerCase() in req.headers)) continue;
    r.seen = (r.seen || 0) + 1;
    if (r.seen <= (r.skip || 0)) continue;
    if (r.times !== undefined && (r.hit || 0) >= r.times) continue;
    if (r.p !== undefined && random() >= r.p) continue;
    r.hit = (r.hit || 0) + 1;
    return r;
  }
  return null;
}

function forward(req, body) {
  return new Promise((resolve, reject) => {
    const headers = [];
    for (let i = 0; i < req.rawHeaders.length; i += 2)
      headers.push([req.rawHeaders[i], req.rawHeaders[i + 1]]);
    const up = http.request({
      host: '127.0.0.1',
      port: target,
      method: req.method,
      path: req.url,
      agent,
      setHost: false,
      headers: headers.flat(),
    });
    up.on('response', resolve);
    up.on('error', reject);
    if (body) up.end(body);
    else {
      req.pipe(up);
      req.on('aborted', () => up.destroy());
    }
  });
}
const whole = async (s) => {
  const parts = [];
  for await (const d of s) parts.push(d);
  return Buffer.concat(parts);
};
const answer = (res, rule) => {
  const code = rule.code || 'SlowDown';
  const b =
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Error><Code>${code}</Code><Message>injected</Message></Error>`;
  res.writeHead(rule.status || 503, {
    'content-type': 'application/xml',
    'content-length': Buffer.byteLength(b),
    ...(rule.headers || {}),
  });
  res.end(res.req.method === 'HEAD' ? undefined : b);
};

async function handle(req, res) {
  const rule = pick(req);
  const entry = {
    n: ++stats.requests,
    t: Date.now(),
    method: req.method,
    path: req.url,
    fault: rule ? rule.do : undefined,
  };
  stats.by[req.method] = (stats.by[req.method] || 0) + 1;
  if (rule) stats.faults++;
  log.push(entry);
  if (log.length > 10000) log = log.slice(-5000);
  try {
    await unhang();
    if (rule?.do === 'delay') await sleep((rule.ms || 0) + random() * (rule.jitter || 0));
    if (rule?.do === 'lose-request') {
      req.resume();
      await whole(req).catch(() => {});
      return reset(req.socket);
    }
    if (rule?.do === 'status') {
      await whole(req);
      entry.status = rule.status || 503;
      return answer(res, rule);
    }
    let up;
    if (rule?.do === 'repeat') {
      const body = await whole(req);
      const first = await forward(req, body);
      entry.first = first.statusCode;
      await whole(first);
      up = await forward(req, body);
    } else up = await forward(req, null);
    entry.status = up.statusCode;
    await unhang();
    switch (rule?.do) {
      case 'lose-response':
        await whole(up);
        return reset(req.socket);
      case 'hang':
        await whole(up);
        return;
      case 'status-after':
        await whole(up);
        return answer(res, rule);
      case 'delay-response': {
        const b = await whole(up);
        await sleep(rule.ms || 0);
        res.writeHead(up.statusCode, up.statusMessage, up.rawHeaders);
        return res.end(b);
      }
      case 'truncate': {
        const b = await whole(up);
        res.writeHead(up.statusCode, up.statusMessage, up.rawHeaders);
        res.flushHeaders();
        const n = Math.min(rule.bytes || 0, b.length);
        if (n) res.write(b.subarray(0, n));
        setTimeout(() => reset(req.socket), 20);
        return;
      }
      default:
        res.writeHead(up.statusCode, up.statusMessage, up.rawHeaders);
        up.pipe(res);
        up.on('aborted', () => reset(req.socket));
        up.on('error', () => reset(req.socket));
    }
  } catch (e) {
    entry.error = e.code || e.message;
    reset(req.socket);
  }
}

const sockets = new Set();
let server;
function up() {
  return new Promise((resolve, reject) => {
    server = http.createServer({ keepAliveTimeout: 60000, requestTimeout: 0 }, handle);
    server.on('checkContinue', (req, res) => {
      res.writeContinue();
      handle(req, res);
    });
    server.on('connection', (s) => {
      sockets.add(s);
      s.on('close', () => sockets.delete(s));
      s.on('error', () => {});
    });
    server.on('clientError', (e, s) => s.destroy());
    server.on('error', reject);
    server.listen(listen, '127.0.0.1', 511, () => {
      down = false;
      resolve();
    });
  });
}
http
  .createServer(async (req, res) => {
    const say = (code, v) => {
      const b = typeof v === 'string' ? v : JSON.stringify(v) + '\n';
      res.writeHead(code, { 'content-type': 'application/json' });
      res.end(b);
    };
    try {
      const body = (await whole(req)).toString();
      switch (`${req.method} ${req.url}`) {
        case 'PUT /rules':
          rules = JSON.parse(body).map((r) => ({ ...r, re: r.path ? new RegExp(r.path) : null }));
          return say(200, { rules: rules.length });
        case 'GET /rules':
          return say(
            200,
            rules.map(({ re, ...r }) => r),
          );
        case 'DELETE /rules':
          rules = [];
          return say(200, { rules: 0 });
        case 'POST /down':
          if (!down) {
            down = true;
            server.close();
            for (const s of sockets) reset(s);
          }
          return say(200, { down });
        case 'POST /up':
          if (down) await up();
          return say(200, { down });
        case 'POST /hang':
          hanging = true;
          return say(200, { hanging });
        case 'POST /resume':
          hanging = false;
          for (const r of waiting) r();
          waiting.clear();
          return say(200, { hanging });
        case 'GET /stats':
          return say(200, { ...stats, down, hanging });
        case 'DELETE /stats':
          stats = { requests: 0, faults: 0, by: {} };
          log = [];
          return say(200, stats);
        case 'GET /log':
          return say(200, log.map((e) => JSON.stringify(e)).join('\n') + (log.length ? '\n' : ''));
        default:
          return say(404, { error: 'unknown' });
      }
    } catch (e) {
      say(400, { error: e.message });
    }
  })
  .listen(control, '127.0.0.1');
await up();
