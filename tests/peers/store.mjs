// store.mjs PORT DELAY_MS: as much of S3 as celld needs, in memory, each answer DELAY_MS after its request came. GET /requests
// tells how many of each method there were, by: of each access key, kinds: of each method and first name of the key. Signatures
// are not checked.
import http from 'node:http';

const [port, delay] = process.argv.slice(2).map(Number);
const objects = new Map(); // Key to { body, etag, modified }
const names = []; // Their keys in order: a bucket with 10,000 cells is listed 10,000 times
const counts = {}, by = {}, kinds = {};
let version = 0;

const text = (s) => s.replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`);
const place = (key) => { // Of the first name that is not below it
    let from = 0, to = names.length;
    while (from < to) {
        const mid = (from + to) >> 1;
        if (names[mid] < key) from = mid + 1;
        else to = mid;
    }
    return from;
};
const failure = (status, code) => [status, {}, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`];
const head = (o) => ({ etag: o.etag, 'last-modified': o.modified.toUTCString() });

function list(query) {
    const prefix = query.get('prefix') ?? '', delimiter = query.get('delimiter') ?? '';
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '', max = Number(query.get('max-keys') ?? 1000);
    const found = new Map(); // What is listed to the last key that it stands for
    let truncated = false;
    for (let i = place(after > prefix ? after : prefix); i < names.length && names[i].startsWith(prefix); i++) {
        const key = names[i];
        if (key <= after) continue;
        const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
        const name = cut < 0 ? key : key.slice(0, cut + delimiter.length);
        if (!found.has(name) && found.size === max) {
            truncated = true;
            break;
        }
        if (cut < 0 || name > after) found.set(name, key);
    }
    const rows = [...found].map(([name, key]) => {
        if (name !== key) return `<CommonPrefixes><Prefix>${encodeURIComponent(name)}</Prefix></CommonPrefixes>`;
        const o = objects.get(key);
        return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>${o.modified.toISOString()}</LastModified><Size>${o.body.length}</Size></Contents>`;
    });
    const next = truncated ? `<NextContinuationToken>${text([...found.values()].at(-1))}</NextContinuationToken>` : '';
    return [200, { 'content-type': 'application/xml' }, `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${truncated}</IsTruncated>${next}${rows.join('')}</ListBucketResult>`];
}

function put(key, body, headers) {
    const old = objects.get(key);
    if (headers['if-none-match'] === '*' && old !== undefined) return failure(412, 'PreconditionFailed');
    if (headers['if-match'] !== undefined && old === undefined) return failure(404, 'NoSuchKey');
    if (headers['if-match'] !== undefined && headers['if-match'] !== old.etag) return failure(412, 'PreconditionFailed');
    const o = { body, etag: `"${++version}"`, modified: new Date() };
    if (old === undefined) names.splice(place(key), 0, key);
    objects.set(key, o);
    return [200, { etag: o.etag }, ''];
}

function get(key, headers, method) {
    const o = objects.get(key);
    if (o === undefined) return failure(404, 'NoSuchKey');
    const range = headers.range?.match(/^bytes=(\d+)-(\d*)$/);
    if (!range) return [200, { ...head(o), 'content-length': o.body.length }, method === 'HEAD' ? '' : o.body];
    const from = Number(range[1]), to = Math.min(range[2] === '' ? Infinity : Number(range[2]), o.body.length - 1);
    if (from >= o.body.length) return failure(416, 'InvalidRange');
    return [206, { ...head(o), 'content-range': `bytes ${from}-${to}/${o.body.length}` }, o.body.subarray(from, to + 1)];
}

function answer(method, url, headers, body) {
    const { pathname, searchParams } = new URL(url, 'http://store');
    const key = decodeURIComponent(pathname.split('/').slice(2).join('/'));
    if (pathname === '/requests') return [200, {}, JSON.stringify({ ...counts, by, kinds })];
    const count = (where, what) => (where[what] = (where[what] ?? 0) + 1);
    count(counts, method);
    count(by, headers.authorization?.match(/Credential=([^/]*)/)?.[1] ?? 'nobody');
    count(kinds, key === '' ? `LIST ${searchParams.get('prefix')?.split('/')[0] ?? ''}/` : `${method} ${key.split('/')[0]}/`);
    if (method === 'PUT') return put(key, body, headers);
    if (method === 'DELETE') {
        if (objects.delete(key)) names.splice(place(key), 1);
        return [204, {}, ''];
    }
    if (method === 'HEAD' || key !== '') return get(key, headers, method);
    return list(searchParams);
}

const server = http.createServer((request, response) => {
    const chunks = [], due = performance.now() + (request.url === '/' || request.url === '/requests' ? 0 : delay);
    request.on('data', (d) => chunks.push(d));
    request.on('end', () => {
        if (request.url === '/') return response.end();
        setTimeout(() => {
            const [status, headers, text] = answer(request.method, request.url, request.headers, Buffer.concat(chunks));
            response.writeHead(status, { 'content-length': text.length, ...headers }).end(text);
        }, Math.max(0, due - performance.now()));
    });
});
server.keepAliveTimeout = 0;
server.listen(port, '127.0.0.1');
