// conformance/case.js: what a case is, and the Worker that runs the cases of one area.
//
//     check('name', (t) => value, expected, options)        what the function returns, or throws, is the observation
//     answer('name', (request, env, ctx) => response, expected, options)      the handler itself: what a client sees
//     socket('name', (request, env, ctx) => response, script, expected, options)   likewise, of a WebSocket client
//     inside('name', (o) => value, expected, options)         as check, in a Durable Object that the case has for itself; or a list
//                                                             of steps: each an event of its own, or milliseconds to wait before
//                                                             the next one; a list is observed, without the waits
//
// t = { request, env, ctx, origin }; origin is the address of the server in lib/origin.mjs.
// o = { ctx, env, storage, sql, self }: of the object, which self is.
// expected of answer: { status, body, headers: { name: value, or null: absent }, aborted } of those that matter.
// script of socket: [['text', 'hello'], ['bytes', [1, 2]], ['close', 1000, 'bye'], ['wait', ms]]; expected: the list of what came.
// options:
//     request: { method, path, headers, body, abort: ms }, or a list of them: one after the other, a list is observed
//     class: of the object that `inside` runs in, `Cell` without it. An area names its classes in areas.mjs; the area's file exports
//         them, each extends Cell (and an area that needs no own one exports Cell itself)
//     celld, why: what celld does otherwise by design, and the reason; `expected` is then what workerd does
import { DurableObject } from 'cloudflare:workers';

const cases = new Map();

function add(entry, options = {}) {
    if (cases.has(entry.name)) throw new Error(`two cases have the name ${entry.name}`);
    cases.set(entry.name, { ...entry, ...options });
}
export const check = (name, run, expected, options) => add({ kind: 'check', name, run, expected }, options);
export const answer = (name, run, expected, options) => add({ kind: 'answer', name, run, expected }, options);
export const inside = (name, steps, expected, options) => add({ kind: 'check', name, run: (t) => walk(t, cases.get(name)), steps, expected }, options);
export const socket = (name, run, script, expected, options) => add({ kind: 'socket', name, run, script, expected }, options);

// ---- Observations as JSON

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(' ');

export function plain(v) {
    if (v === null || typeof v === 'string' || typeof v === 'boolean') return v;
    if (typeof v === 'number') return Number.isFinite(v) && !Object.is(v, -0) ? v : `«${Object.is(v, -0) ? '-0' : v}»`;
    if (typeof v === 'bigint') return `«${v}n»`;
    if (typeof v === 'function') return `«function ${v.name}»`;
    if (typeof v !== 'object') return `«${String(v)}»`;
    if (Array.isArray(v)) return v.map(plain);
    if (v instanceof Error) return `«${v.name}: ${v.message}»`;
    if (v instanceof ArrayBuffer) return `«ArrayBuffer ${hex(new Uint8Array(v))}»`;
    if (ArrayBuffer.isView(v)) return `«${v.constructor.name} ${hex(new Uint8Array(v.buffer, v.byteOffset, v.byteLength))}»`;
    if (v instanceof Date) return `«Date ${Number.isNaN(v.getTime()) ? 'invalid' : v.toISOString()}»`;
    if (v instanceof RegExp) return `«RegExp ${v}»`;
    if (v instanceof Map) return { '«Map»': Array.from(v, plain) };
    if (v instanceof Set) return { '«Set»': Array.from(v, plain) };
    const proto = Object.getPrototypeOf(v);
    const own = Object.fromEntries(Object.entries(v).map(([key, value]) => [key, plain(value)]));
    return proto === null || proto === Object.prototype ? own : { [`«${proto.constructor?.name}»`]: own };
}

// ---- Helpers of cases

// The name of what a function throws or a promise rejects with.
export const caught = (fn) => failure(fn, (e) => (e instanceof Error || e instanceof DOMException ? e.name : `not an error: ${String(e)}`));
// The same with its message, where applications rely on the text.
export const message = (fn) => failure(fn, (e) => `${e.name}: ${e.message}`);
function failure(fn, tell) {
    try {
        const result = typeof fn === 'function' ? fn() : fn;
        if (typeof result?.then !== 'function') return 'nothing was thrown';
        return result.then(() => 'nothing was thrown', tell);
    } catch (error) {
        return tell(error);
    }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const text = (stream) => new Response(stream).text();
export const bytes = (...list) => new Uint8Array(list);
export const utf8 = (string) => new TextEncoder().encode(string);
export const toHex = (data) => hex(new Uint8Array(data)).replaceAll(' ', '');
export const fromHex = (string) => Uint8Array.from(string.match(/../g) ?? [], (pair) => parseInt(pair, 16));
// All chunks of a stream.
export async function drain(stream) {
    const chunks = [];
    const reader = stream.getReader();
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return chunks;
        chunks.push(value);
    }
}
export const streamOf = (...chunks) =>
    new ReadableStream({
        start(controller) {
            for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? utf8(chunk) : chunk);
            controller.close();
        },
    });

async function observe(run, subject) {
    try {
        return plain(await run(subject));
    } catch (error) {
        return { threw: error instanceof Error ? `${error.name}: ${error.message}` : plain(error) };
    }
}

// ---- Objects

// The object of the class that belongs to this case.
export const objectOf = (t, name, of = 'Cell') => t.env[of].getByName(name);

// A new stub for each step: one that saw its object reset stays broken.
async function walk(t, { name, steps, class: of }) {
    const step = async (i) => JSON.parse(await objectOf(t, name, of).step(name, i));
    if (!Array.isArray(steps)) return step(null);
    const seen = [];
    for (const [i, what] of steps.entries()) {
        if (typeof what === 'number') await sleep(what);
        else seen.push(await observe(step, i));
    }
    return seen;
}

export class Cell extends DurableObject {
    async step(name, i) {
        const { steps } = cases.get(name);
        const { ctx, env } = this;
        return JSON.stringify(await observe(i === null ? steps : steps[i], { ctx, env, storage: ctx.storage, sql: ctx.storage.sql, self: this }));
    }
}

// ---- The Worker

const listed = ({ run, steps, expected, celld, ...rest }) => ({ ...rest, expected: plain(expected), ...('why' in rest && { celld: plain(celld) }) });

export const worker = {
    async fetch(request, env, ctx) {
        const name = request.headers.get('x-case');
        if (name === null) return Response.json(Array.from(cases.values(), listed));
        const c = cases.get(decodeURIComponent(name));
        if (c.kind !== 'check') return c.run(request, env, ctx);
        return Response.json(await observe(c.run, { request, env, ctx, origin: env.ORIGIN }));
    },
};
