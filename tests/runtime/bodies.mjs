// Bodies of requests and responses; e2e/bodies.cjs asks.
export default {
    async fetch(request, env, ctx) {
        const { pathname, search } = new URL(request.url);
        switch (pathname) {
            case '/text': return new Response(await request.text());
            case '/stream': return new Response(request.body);
            case '/clone': return new Response(await request.clone().bytes());
            case '/buffer': return new Response(await request.arrayBuffer());
            case '/pass': return new Response(new Request('http://x/', request).body);
            case '/proxy': return fetch(env.ORIGIN);
            case '/decoded': return new Response(await (await fetch(env.ORIGIN)).text());
            case '/encode': return new Response('compress me', { headers: { 'content-encoding': search.slice(1) } });
            case '/manual': return new Response('compressed already, says the Worker', { encodeBody: 'manual', headers: { 'content-encoding': 'gzip' } });
            case '/twice': { // Whoever changes then() sees the runtime's callbacks, and can call them again.
                const { then } = Promise.prototype;
                Promise.prototype.then = function (done, failed) {
                    return then.call(this, (v) => (done?.(v), done?.(v)), failed);
                };
                queueMicrotask(() => (Promise.prototype.then = then));
                await 0;
                return new Response(new ReadableStream({ pull: (c) => (c.enqueue(new Uint8Array([120])), c.close()) }));
            }
            case '/never': return scheduler.wait(60000);
            case '/stalled': return new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([120])) }));
            case '/slow': { // Longer than the time budget, and something is on its way all the time.
                const { readable, writable } = new TransformStream();
                scheduler.wait(1700).then(() => writable.getWriter().close());
                return new Response(readable);
            }
            case '/callee': ctx.waitUntil(scheduler.wait(60000)); return new Response('left');
            case '/caller': return env.SELF.fetch('http://x/callee');
            case '/held': { // A WebSocket that it holds gives it no time.
                const [, socket] = Object.values(new WebSocketPair());
                socket.accept();
                return scheduler.wait(60000);
            }
            case '/error': return Response.error();
        }
        return new Response(null, { status: 404 });
    },
};
