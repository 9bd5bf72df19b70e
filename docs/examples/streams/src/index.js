// Streams: an answer that is made while it is read, a request that is changed while it passes, and compression.
const encoder = new TextEncoder();

// Numbers, a line each; the next one is made when the client has taken the last ones.
function count(to) {
    let n = 0;
    return new ReadableStream({
        pull(controller) {
            if (n < to) controller.enqueue(encoder.encode(`${++n}\n`));
            else controller.close();
        },
    });
}

const upper = () =>
    new TransformStream({
        transform(text, controller) {
            controller.enqueue(text.toUpperCase());
        },
    });

export default {
    fetch(request) {
        const url = new URL(request.url);
        switch (url.pathname) {
            case '/count':
                return new Response(count(Number(url.searchParams.get('to') ?? 10)));
            case '/upper': // Nothing of it is ever in memory as a whole.
                return new Response(request.body?.pipeThrough(new TextDecoderStream()).pipeThrough(upper()).pipeThrough(new TextEncoderStream()));
            case '/gzip':
                return new Response(count(1000).pipeThrough(new CompressionStream('gzip')), { headers: { 'content-type': 'application/gzip' } });
            default:
                return new Response('Try /count?to=5, /gzip, or POST a text to /upper.\n', { status: 404 });
        }
    },
};
