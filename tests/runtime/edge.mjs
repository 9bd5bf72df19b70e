// Requests as they come in, and handlers that never answer; e2e/edge.cjs asks.
const never = () => new Promise(() => {});
let promised;

export default {
    async fetch(request, env, ctx) {
        const { pathname } = new URL(request.url);
        switch (pathname) {
            case '/client': return Response.json([...request.headers].filter(([name]) => /^(cf-|x-)/.test(name)));
            case '/large': return new Response('x', { headers: { 'x-large': 'y'.repeat(Number(request.headers.get('x-size'))) } });
            case '/stream': return new Response(new ReadableStream(), { headers: { 'x-large': '\u4e16'.repeat(50000) } });
            case '/words': throw new Error('word '.repeat(4000));
            case '/stack': return new Response(new Headers([['a b', 'x']]));
            case '/fields': return new Response(String([...request.headers].filter(([name]) => name.startsWith('x-n')).length));
            case '/text': return new Response(await request.text());
            case '/never': return never();
            case '/read': await request.text(); return never();
            case '/late': await scheduler.wait(1); return never();
            case '/background': ctx.waitUntil(never()); return new Response('ok');
            case '/stopped': clearTimeout(setTimeout(() => {}, 60000)); return never();
            case '/wait': await scheduler.wait(300); return new Response('waited');
            case '/callee': return env.SELF.fetch('http://x/wait');
            case '/forgotten': return env.SELF.fetch('http://x/never');
            case '/far': return env.FAR.fetch('http://x/');
            case '/promised': return new Response(await new Promise((resolve) => (promised = resolve)));
            case '/keep': await scheduler.wait(300); promised('kept'); return new Response('ok');
            case '/busy': await scheduler.wait(1500); return new Response('ok');
        }
        return new Response(null, { status: 404 });
    },
};
