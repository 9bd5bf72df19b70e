// React's streaming renderer: a shell at once, a part that suspends later.
import React, { Suspense, use } from 'react';
import { renderToReadableStream } from 'react-dom/server.edge';

const later = (value, ms) => new Promise((resolve) => setTimeout(() => resolve(value), ms));

function Slow({ promise }) {
    return <p id="slow">{use(promise)}</p>;
}

function Page({ promise }) {
    return (
        <html>
            <body>
                <h1>Shell</h1>
                <Suspense fallback={<p>loading</p>}>
                    <Slow promise={promise} />
                </Suspense>
            </body>
        </html>
    );
}

export default {
    async fetch(request) {
        const errors = [];
        const stream = await renderToReadableStream(<Page promise={later('came later', 30)} />, {
            signal: request.signal,
            onError: (error) => void errors.push(String(error)),
        });
        if (new URL(request.url).pathname === '/whole') await stream.allReady;
        return new Response(stream, { headers: { 'content-type': 'text/html', 'x-errors': errors.join() } });
    },
};
