// worker.js: loads a Worker and delivers its events. runtime.md 2, 3.2, 4.
import { contextOf, eachContext, limits, markPlatform, newContext, replaceable, setFrame, shape, startFor, startTimer } from './core.js';
import { inboundRequest, isResponse, flatHeaders, ownStatusText, responseEncoding } from './http.js';
import { bodyState, BodyState, encodedBody } from './body.js';
import { ReadableStream, bytesOf } from './streams.js';
import { answerWebSocket } from './websocket.js';
import { makeBindings, checkBindings, env } from './bindings.js';
import { newExport } from './service.js';
import { newNamespace } from './durable.js';
import { overloadOf, refusalOf } from './cell_reset.js';
import { hangUp } from './service_local.js';
import { refuseSharedMemories } from './wasm.js';
import { DurableObject, WorkerEntrypoint, WorkflowEntrypoint } from './workers.js';
import { setCompatibility } from './globals.js';
import { Map, hide, resolved, then } from './primordials.js';

const { now, request_head, answer, answer_start, answer_write, event_still, report, run_failed } = host;

let config; // of the bundle, see setup
let handlers; // the entry's default export

// config: { script, bindings: [{ type, name, ... }], flags: [...], sqliteClasses: [...] }
export function setup(text) {
    config = JSON.parse(text);
    markPlatform();
    refuseSharedMemories();
    setCompatibility(config.flags);
    for (const name of Object.keys(limits)) limits[name] = config[name] ?? limits[name];
    makeBindings(config);
}

export function load(ns) {
    handlers = ns.default;
    for (const [name, value] of Object.entries(ns)) {
        if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
            throw new TypeError(`Incorrect type for map entry '${name}': the provided value is not of type 'function or ExportedHandler'.`);
        }
        exported.set(name, { value, kind: kindOf(value) });
    }
    if (!handlesEvents()) throw new TypeError('The Worker has no registered event handlers: its main module needs a default export with a handler such as fetch(), or an exported class.');
    checkBindings(entrypoint, findCellClass);
}

// Whether there is anything that an event could be delivered to.
function handlesEvents() {
    for (const [, { value, kind }] of exported) {
        if (kind !== OBJECT) return true;
        for (let object = value; object !== null && object !== Object.prototype; object = Reflect.getPrototypeOf(object)) {
            for (const key of Reflect.ownKeys(object)) if (typeof value[key] === 'function') return true;
        }
    }
    return false;
}

// ---- What the entry module exports: runtime.md 3.2

const exported = new Map(); // name -> { value, kind }
const OBJECT = 1, ENTRYPOINT = 2, CELL = 3, WORKFLOW = 4, CLASS = 5, FUNCTION = 6;

// Works through a Proxy around a class, too.
function kindOf(value) {
    if (typeof value === 'object') return OBJECT;
    for (let cls = value; typeof cls === 'function'; cls = Reflect.getPrototypeOf(cls)) {
        if (cls === WorkerEntrypoint) return ENTRYPOINT;
        if (cls === DurableObject) return CELL;
        if (cls === WorkflowEntrypoint) return WORKFLOW;
    }
    return Reflect.getOwnPropertyDescriptor(value, 'prototype')?.writable === false ? CLASS : FUNCTION;
}

const addressable = (name, kind) => kind === OBJECT || kind === ENTRYPOINT || (name === 'default' && kind !== CELL && kind !== WORKFLOW);

// The handlers, or the class, behind the name of an entrypoint. Throws TypeError when there is none.
export function entrypoint(name) {
    const found = exported.get(name);
    if (found !== undefined && addressable(name, found.kind)) return found.value;
    if (found !== undefined && (found.kind === CELL || found.kind === CLASS)) {
        throw new TypeError(`The entrypoint name ${name} refers to a Durable Object class, but the incoming request is trying to invoke it as a stateless worker.`);
    }
    throw new TypeError(`The entrypoint name ${name} was not found in this worker.`);
}

function findCellClass(name) {
    const found = exported.get(name);
    return found !== undefined && (found.kind === CELL || found.kind === CLASS) ? found.value : undefined;
}
// The class of a cell. Throws TypeError when there is none of that name.
export function cellClass(name) {
    const found = findCellClass(name);
    if (found !== undefined) return found;
    throw new TypeError(`The Durable Object class "${name}" was not found in this worker.`);
}

// Whether a migration gave the class SQL.
export function hasSql(name) {
    for (const cls of config.sqliteClasses ?? []) if (cls === name) return true;
    return false;
}

// ctx.exports, made when somebody asks for it first.
let made;
export function loopback() {
    if (made === undefined) {
        made = {};
        for (const [name, { kind }] of exported) {
            if (addressable(name, kind)) made[name] = newExport(name);
            else if (kind === CELL && hasSql(name)) made[name] = newNamespace(config.script, name);
        }
    }
    return made;
}

// ---- What handlers get as ctx

export class ExecutionContext {
    #context;
    constructor(context, props) {
        this.#context = context;
        this.props = props;
    }
    waitUntil(promise) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'waitUntil' on 'ExecutionContext': 1 argument required, but only 0 present.");
        if (this.#context.ended) throw new Error('waitUntil() was called after the event had ended.');
        this.#context.waitUntil(promise);
    }
    passThroughOnException() {}
    // The event ends here, and who waits for it gets the reason.
    abort(reason = new Error('The event was ended by ctx.abort().')) {
        abort(this.#context, reason);
    }
    get exports() {
        return loopback();
    }
    get access() {
        return undefined;
    }
}
shape(ExecutionContext);

function abort(context, reason) {
    if (context.ended) return;
    context.aborted = { reason };
    if (context.task !== null && context.settledAt === null) fail(context, reason);
    context.end();
}
replaceable(ExecutionContext, 'exports');

// handler `name` of an entrypoint, bound: a class is made anew for each call.
export function entrypointHandler(target, name, context, props = {}) {
    const ctx = new ExecutionContext(context, props);
    if (typeof target === 'function') {
        const instance = new target(ctx, env());
        const fn = instance[name];
        return typeof fn === 'function' ? (arg) => fn.call(instance, arg) : undefined;
    }
    const fn = target?.[name];
    return typeof fn === 'function' ? (arg) => fn.call(target, arg, env(), ctx) : undefined;
}

// ---- fetch events from the public listener

// What a fetch event is about: its handler, and the answer.
class Task {
    constructor(context) {
        this.context = context;
        this.answered = false;
        this.gone = false; // the client
        this.reader = null; // of the answer's body while it is sent
    }
    done() {
        if (this.answered) return;
        this.answered = true;
        this.context.settledAt = now();
        this.context.release();
    }
    // The client is gone: the handler hears of it, and after one more turn nothing but waitUntil keeps the event. runtime.md 2.6.
    clientGone() {
        if (this.gone) return;
        this.gone = true;
        this.reader?.cancel(new Error('The client has disconnected')).catch(() => {});
        startTimer(this.context, 0, () => this.done());
    }
}
hide(Task);


// Called by the host every few seconds while events run: ends those that are over their time. runtime.md 2.6.
export function sweep() {
    const at = now();
    eachContext((context) => {
        context.cell?.sweep(at);
        if (context.leave !== null) return sweepCall(context, at);
        if (context.task === null || context.sockets > 0) return;
        context.startedAt ??= at; // Seen for the first time: a few seconds in the event's favour.
        if (at - (context.settledAt ?? context.startedAt) < limits.handlerBudgetMs) return;
        if (context.settledAt === null) {
            report('fetch', new Error(`The handler did not settle within ${limits.handlerBudgetMs / 1000} seconds.`));
            answer(context.id, 500, '', ['content-type', 'text/plain; charset=utf-8'], `Worker failed: the handler did not settle within ${limits.handlerBudgetMs / 1000} seconds`);
        } else {
            if (context.task.reader === null || context.task.answered) reportLate();
            else if (event_still(context.id) < limits.handlerBudgetMs) return; // Somebody still reads the answer.
            else report('response body', new Error(`Nothing could come of the response body for ${limits.handlerBudgetMs / 1000} seconds: nobody works on it.`));
        }
        context.end();
    });
}
const reportLate = () => report('waitUntil', new Error(`waitUntil() did not settle within ${limits.handlerBudgetMs / 1000} seconds of the answer.`));

// A call ends with its caller; what its waitUntil() promised has its own time after that. Who holds a stub of it, holds it.
function sweepCall(context, at) {
    if (context.settledAt === null || context.holds > context.background || at - context.settledAt < limits.handlerBudgetMs) return;
    reportLate();
    context.end();
}

// Content-Length: 0 tells of a body without bytes.
function emptyBody(method, head) {
    if (method === 'GET' || method === 'HEAD') return null;
    const fields = head();
    for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === 'content-length') return new BodyState('bytes', new Uint8Array(0), null, 0);
    return null;
}

// source: the host's handle of the body, or undefined; collected: how many bytes of it the host has already, all of them then;
// loops: how often the request has come through Workers of a celld.
export function fetch(id, method, url, source, collected, loops) {
    const context = newContext(id);
    context.depth = loops;
    context.task = new Task(context);
    setFrame(context.frame);
    let fields;
    const head = () => (fields ??= request_head(id));
    const body = collected > 0 ? new BodyState('collected', id, null, collected) : source !== undefined ? new BodyState('source', source) : emptyBody(method, head);
    const request = inboundRequest(method, url, head, body, { httpProtocol: 'HTTP/1.1' }, context);
    let result;
    try {
        const handler = entrypointHandler(handlers, 'fetch', context);
        if (handler === undefined) throw new Error('Handler does not export a fetch() function.');
        result = handler(request);
    } catch (error) {
        return fail(context, error);
    }
    if (isResponse(result)) return respond(context, method, result);
    then(
        resolved(result),
        (response) => {
            if (isResponse(response)) respond(context, method, response);
            else fail(context, new TypeError("Incorrect type for Promise: the Promise did not resolve to 'Response'."));
        },
        (error) => fail(context, error),
    );
}

const MESSAGE_MAX = 8192; // Of what a client is told.

const message = (error) => {
    try {
        const text = error instanceof Error ? String(error.message) : String(error);
        return text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX)} ... (cut: ${text.length} characters)`;
    } catch {
        return 'an error without a text';
    }
};

// runtime.md 2.11: the client sees the message, the log the stack. operations.md 8: a call that a cell did not take stays a refusal,
// as it is one in what fetch() of a stub gives.
function fail(context, error) {
    const left = context.ended && context.task.gone; // By the end of what it waited for: nobody is there any more.
    if (!left) report('fetch', error);
    let refused;
    try {
        refused = overloadOf(error) ?? refusalOf(error);
    } catch {} // A Proxy whose traps throw.
    if (!context.ended && refused !== undefined) {
        answer(context.id, refused.status, refused.statusText, refused.fields, refused.text);
    } else if (!context.ended) {
        answer(context.id, 500, '', ['content-type', 'text/plain; charset=utf-8'], `Worker failed: ${message(error)}`, true);
    }
    context.task.done();
}

function respond(context, method, response) {
    if (context.ended) return;
    if (response.webSocket !== null) {
        then(answerWebSocket(context, response.webSocket, flatHeaders(response.headers)), () => context.task.done(), (error) => fail(context, error));
        return;
    }
    if (response.status === 0) return fail(context, new TypeError('Return value from serve handler must not be an error response (like Response.error())'));
    let state = bodyState(response);
    try {
        state?.need();
        if (state === null && method === 'HEAD') state = nobodyKnows(); // What the author says of its length stays.
        if (state !== null && responseEncoding(response) === 'automatic') state = encodedBody(state, response.headers.get('content-encoding'));
        if (state === null || state.kind === 'text' || state.kind === 'bytes') {
            if (state !== null) state.used = true;
            answer(context.id, response.status, ownStatusText(response), flatHeaders(response.headers), state === null ? undefined : state.value);
            context.task.done();
            return;
        }
    } catch (error) {
        return fail(context, error);
    }
    then(
        stream(context, response, state),
        () => context.task.done(),
        (error) => {
            if (!context.task.gone) report('response body', error);
            context.end(); // The answer is cut off: a client must not take it for complete.
        },
    );
}

// A body of unknown length, of which nothing comes.
const nobodyKnows = () => new BodyState('stream', new ReadableStream({ start: (controller) => controller.close() }), null, -1);

async function stream(context, response, state) {
    const reader = state.stream.getReader();
    context.task.reader = reader;
    context.settledAt = now();
    const send = (op, ...args) =>
        startFor(context, op, ...args).catch((error) => {
            context.task.clientGone(); // A write fails for no other reason.
            throw error;
        });
    try {
        await startFor(context, answer_start, response.status, ownStatusText(response), flatHeaders(response.headers), state.length, undefined);
    } catch (error) {
        reader.cancel(error).catch(() => {});
        if (error.status === undefined) return fail(context, error); // The head cannot be sent: nothing has gone out.
        context.task.clientGone();
        throw error;
    }
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            const bytes = bytesOf(value);
            if (bytes.length > 0) await send(answer_write, bytes, false);
        }
        await send(answer_write, undefined, true);
    } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
    }
}


// The client has left. runtime.md 2.6.
export function gone(id) {
    const context = contextOf(id);
    if (context === undefined) return;
    setFrame(context.frame);
    if (context.leave !== null) return hangUp(context); // A call's
    context.gone?.();
    context.task?.clientGone();
}

// The host knows that what the event waits for never comes. runtime.md 2.6.
export function hung(id) {
    const context = contextOf(id);
    setFrame(context.frame);
    abort(context, new Error("The Workers runtime canceled this request because it detected that your Worker's code had hung and would never generate a response."));
}

// ---- Runs without a client, for tools and tests: default[name](env, ctx)

export function run(id, name) {
    const context = newContext(id);
    setFrame(context.frame);
    const target = typeof handlers === 'function' ? new handlers(new ExecutionContext(context, {}), env()) : handlers;
    new Promise((resolve) => resolve(target[name](env(), new ExecutionContext(context, {})))).then(
        () => context.release(),
        (error) => {
            run_failed(id, error);
            context.release();
        },
    );
}

