// worker.js: the Worker that every node of the js workload serves. Each request has a number, op; the lines on
// the console tell the oracle (sim/ask_truth.h) what runs. What answers contain is part of the trace: the header
// fields make the clock and the collector's work show in it.
const encoder = new TextEncoder();
let collected = 0;
const registry = new FinalizationRegistry(() => collected++);
const names = new Map(); // by object: iteration and hashes must not depend on addresses

function rubbish(op) {
    const objects = Array.from({ length: 200 }, (_, i) => ({ op, i, text: `object ${i} of ${op}`, list: new Array(i % 50).fill(i) }));
    for (const object of objects) if (object.i % 20 === 0) registry.register(object, object.i);
    for (const key of names.keys()) if (names.size > 20) names.delete(key);
    names.set(objects[op % objects.length], op);
    return [...names.values()].reduce((sum, n) => sum + n, 0);
}

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');

const routes = {
    text: (op) => new Response(`text ${op}\n`, { headers: { 'x-names': String(rubbish(op)) } }),
    json: (op) => Response.json({ op, list: [op, undefined, true], nested: { text: `op ${op}` } }),
    echo: (op, n, request) => new Response(request.body),
    read: async (op, n, request) => new Response(new Uint8Array(await request.arrayBuffer())),
    timer: async (op, n) => {
        await scheduler.wait(n);
        return new Response(`timer ${op}\n`);
    },
    stream: (op, n) => {
        let i = 0;
        return new Response(new ReadableStream({
            cancel() {
                console.log(`fail ${op}`);
            },
            async pull(controller) {
                if (i === n) return controller.close();
                if (i % 3 === 1) await scheduler.wait(i);
                controller.enqueue(encoder.encode(`${op} line ${i++}\n`));
            },
        }));
    },
    random: (op) => {
        const bytes = crypto.getRandomValues(new Uint8Array(16));
        return new Response(`random ${op} ${Math.random()} ${crypto.randomUUID()} ${hex(bytes)}\n`);
    },
    throw: (op) => {
        throw new Error(`op ${op} fails`);
    },
};

export default {
    async fetch(request, env, ctx) {
        const url = new URL(request.url);
        const op = Number(url.searchParams.get('op'));
        console.log(`run ${op}`);
        ctx.waitUntil(scheduler.wait(100 + (op % 7) * 50).then(() => console.log(`late ${op}`)));
        let response;
        try {
            response = await routes[url.pathname.slice(1)](op, Number(url.searchParams.get('n')), request);
        } catch (error) {
            console.log(`fail ${op}`);
            throw error;
        }
        response.headers.set('x-now', new Date().toISOString());
        response.headers.set('x-collected', String(collected));
        return response;
    },
};
