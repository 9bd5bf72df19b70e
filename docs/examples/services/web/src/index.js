// Two Workers: this one is public and asks the other, by its methods or with a request.
//   celld dev docs/examples/services/web -c docs/examples/services/greeter
export default {
    async fetch(request, env) {
        const { pathname, searchParams } = new URL(request.url);
        const name = searchParams.get('name') ?? 'you';
        switch (pathname) {
            case '/rpc': // A call like any other, only that it runs in the other Worker.
                return Response.json(await env.GREETER.greet(name, { loud: searchParams.has('loud') }));
            case '/fetch': // The request goes on, body and all.
                return env.GREETER.fetch(request);
            case '/admin': // Another entrypoint of the same Worker.
                return new Response(await env.ADMIN.greeting());
            case '/error':
                try {
                    return Response.json(await env.GREETER.greet(''));
                } catch (error) {
                    return new Response(`${error.name}: ${error.message}`, { status: 422 });
                }
            default:
                return new Response('Try /rpc?name=Ada, /fetch, /admin or /error.\n', { status: 404 });
        }
    },
};
