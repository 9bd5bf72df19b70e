import { answer, caught, check, message, sleep } from '../case.js';

check('a loop of many awaits', async () => {
    let n = 0;
    for (let i = 0; i < 100000; i++) n += await 1;
    return n;
}, 100000);
check('a recursion without end', () => {
    const deep = () => deep() + 1;
    return caught(deep);
}, 'RangeError');
check('10 MiB of buffers', () => Array.from({ length: 10 }, () => new Uint8Array(1 << 20)).reduce((n, b) => n + b.length, 0), 10 << 20);
check('a string that is too long', () => caught(() => 'x'.repeat(2 ** 30)), 'RangeError');
check('1,000 timers', async () => {
    let n = 0;
    for (let i = 0; i < 1000; i++) setTimeout(() => n++, 1);
    await sleep(50);
    return n;
}, 1000);
check('100 fetches at once', async ({ origin }) => (await Promise.all(Array.from({ length: 100 }, async () => (await fetch(`${origin}/text`)).status))).filter((s) => s === 200).length, 100);
check('code from strings is refused', () => [caught(() => globalThis.eval('1 + 1')), caught(() => new Function('return 1')), caught(() => setTimeout('1', 0))], ['EvalError', 'EvalError', 'TypeError']);
check('the message of eval', () => message(() => (0, eval)('1')), 'EvalError: Code generation from strings disallowed for this context');
answer('a URL of 8,000 characters', (request) => new Response(String(request.url.length)), { status: 200, body: String('http://conformance.test/'.length + 8000) }, { request: { path: `/${'p'.repeat(8000)}` } });
answer('a header of 8,000 characters', (request) => new Response(String(request.headers.get('x-long').length)), { status: 200, body: '8000' }, { request: { headers: { 'x-long': 'h'.repeat(8000) } } });
answer('100 headers', (request) => new Response(String([...request.headers.keys()].filter((n) => n.startsWith('x-n-')).length)), { status: 200, body: '100' },
    { request: { headers: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-n-${i}`, 'v'])) } });
answer('a body of 8 MiB', async (request) => new Response(String((await request.arrayBuffer()).byteLength)), { status: 200, body: String(8 << 20) }, { request: { method: 'POST', body: { fill: 'b', size: 8 << 20 } } });
