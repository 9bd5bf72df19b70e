// service_remote.js: bindings to other scripts of the application: calls that cross from one isolate to another. runtime.md 6.2, 6.5.
//
// A call and its answer are values by structured clone, and pipes for streams (../event_call.c, ../pipe.c):
//
//     call:   { kind, entrypoint, props, depth, ... }
//             fetch: method, url, fields, cf, body      rpc: path, message; undefined: the property's value is wanted
//     answer: { answer } or { failure: message }
//
// In a message for the wire, beside says by number what stands for the objects beside: a pipe's number, a service's address.
import { checkDepth, runIn, startFor } from './core.js';
import { BodyState, goesInline, knownBody } from './body.js';
import { abortSignal, newSignal, offAbort, onAbort } from './abort.js';
import { inboundRequest } from './http.js';
import { decode, dropMessage, encodeThrown } from './rpc_message.js';
import { shareReadable } from './rpc_streams.js';
import { Call, Deferred, Failure, Group, PendingClient } from './rpc_target.js';
import { CellChannel } from './durable.js';
import { LoopbackChannel, callContext, serveCall, serveFetch } from './service_local.js';
import { scriptName } from './bindings.js';
import { ReadableStream, bytesOf, ownStream, sourceStream } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { hide, push } from './primordials.js';

const { call_start, call_cancel, call_reply, pipe_open, pipe_write, pipe_close, source_read, source_close, ws_pack, ws_unpack } = host;

const CROSS = 'RPC stubs cannot cross isolate boundaries yet';
const nothing = () => {};

// ---- Streams through pipes

// Reads the stream into the pipe, for its event, which lasts as long.
async function pump(context, read, cancel, pipe, done) {
    try {
        for (;;) {
            const { done: last, value } = await read();
            const bytes = last ? undefined : bytesOf(value);
            if (!last && bytes.length === 0) continue;
            try {
                await startFor(context, pipe_write, pipe, bytes, last);
            } catch (error) {
                if (!last) cancel(error);
                return;
            }
            if (last) return;
        }
    } catch {
        // The reader at the other side sees that the pipe breaks off.
    } finally {
        pipe_close(pipe);
        done();
    }
}

// A pipe that the stream of a share or body is read into; its other end is to be sent.
function outgoing(context, share) {
    const pipe = pipe_open(context.id, true);
    runIn(context.frame, () => pump(context, () => share.call('read'), (error) => share.call('cancel', error).catch(nothing), pipe, () => share.done()));
    return pipe;
}

const outgoingBody = (context, stream, holds) => outgoing(context, shareReadable(stream, context, holds));

// What the other side writes goes to the writer of a share.
function incoming(context, share) {
    const pipe = pipe_open(context.id, false);
    (async () => {
        try {
            for (let chunk; (chunk = await startFor(context, source_read, pipe)) !== undefined;) await share.call('write', chunk);
            await share.call('close');
            share.done();
        } catch {
            source_close(pipe);
            share.release();
        }
    })();
    return pipe;
}

class PipeReadable {
    constructor(pipe) {
        this.pipe = pipe;
    }
    open(context) {
        return runIn(context.frame, sourceStream, undefined, this.pipe);
    }
    release() {
        source_close(this.pipe);
    }
}
class PipeWritable {
    constructor(pipe) {
        this.pipe = pipe;
    }
    open(context) {
        const { pipe } = this;
        const write = (bytes, last) => startFor(context, pipe_write, pipe, bytes, last);
        return new WritableStream({
            write: (chunk) => write(bytesOf(chunk), false),
            close: () => write(undefined, true).finally(() => pipe_close(pipe)),
            abort: () => pipe_close(pipe),
        });
    }
    release() {
        pipe_close(this.pipe);
    }
}

// A pipe on which the reason comes when the signal is aborted; it ends with the event.
function watched(context, signal) {
    const pipe = pipe_open(context.id, true);
    onAbort(signal, () => {
        if (context.ended) return;
        const reason = ws_pack(ship(encodeThrown(signal.reason, context), context, []));
        startFor(context, pipe_write, pipe, reason, true).catch(nothing);
    });
    return pipe;
}
// The signal at the other side: never aborted if its sender ends first.
function watching(context, pipe) {
    const signal = newSignal(context);
    startFor(context, source_read, pipe).then((bytes) => {
        if (bytes !== undefined) abortSignal(signal, decode(unship(ws_unpack(bytes), [], context), new Group(context)));
    }, nothing);
    return signal;
}

function closeAll(pipes) {
    for (const pipe of pipes) {
        pipe_close(pipe);
        source_close(pipe);
    }
}

// ---- Messages on the wire

// pipes: numbers of the pipes that go along, to be added to.
function ship(message, context, pipes) {
    const { data, live } = message;
    if (live === null) return { plain: true, data };
    const { types } = data;
    for (const type of types) {
        if (type !== 'stub' && type !== 'promise') continue;
        dropMessage(message);
        throw new Error(CROSS);
    }
    const beside = types.map((type, i) => {
        switch (type) {
            case 'readable': return push(pipes, outgoing(context, live[i])) - 1;
            case 'writable': return push(pipes, incoming(context, live[i])) - 1;
            case 'signal': return live[i].aborted ? -1 : push(pipes, watched(context, live[i])) - 1;
            case 'service': return live[i].address;
            default: return null;
        }
    });
    return { plain: false, data, beside };
}

function unship(wire, pipes, context) {
    if (wire.plain) return { data: wire.data, live: null, given: null };
    const live = wire.beside.map((what, i) => {
        switch (wire.data.types[i]) {
            case 'readable': return new PipeReadable(pipes[what]);
            case 'writable': return new PipeWritable(pipes[what]);
            case 'signal': return what < 0 ? null : watching(context, pipes[what]);
            case 'service': return channelAt(what);
            default: return null;
        }
    });
    return { data: wire.data, live, given: null };
}

// The channel to a cell, or to an entrypoint of any script of the application.
export const channelAt = ({ script, entrypoint, props, cell }) => cell !== undefined ? new CellChannel(script, ...cell) : (script === scriptName() ? new LoopbackChannel(entrypoint, props) : new RemoteChannel(script, entrypoint, props));

function shipBody(state, context, pipes, holds) {
    if (state === null) return null;
    if (goesInline(state)) {
        const known = knownBody(state);
        return { kind: known.kind, value: known.value, length: known.length };
    }
    const bytes = state.kind === 'bytes' ? state.value.length : state.length;
    const stream = runIn(context.frame, () => state.stream);
    return { kind: 'source', value: push(pipes, outgoingBody(context, stream, holds)) - 1, length: bytes };
}

const unshipBody = (body, pipes) => (body === null ? null : new BodyState(body.kind, body.kind === 'source' ? pipes[body.value] : body.value, null, body.length));

// ---- The caller

class RemoteCall {
    id = 0;
    constructor(context) {
        this.context = context;
    }
    // A promise of [value, pipes]; rejected with Failure.
    async start(script, value, pipes) {
        let answer;
        try {
            const started = (event, id) => {
                call_start(event, id, script, value, pipes);
                this.id = id;
            };
            answer = await startFor(this.context, started);
        } catch (error) {
            closeAll(pipes);
            throw new Failure(error?.status === undefined ? error : new Error(error.message));
        }
        if (answer[0].failure !== undefined) throw new Failure(undefined, unship(answer[0].failure, answer[1], this.context));
        return answer;
    }
    cancel() {
        if (this.id !== 0 && !this.context.ended) call_cancel(this.context.id, this.id);
    }
}

export class RemoteChannel {
    #script;
    #entrypoint;
    #props;
    constructor(script, entrypoint, props = undefined) {
        this.#script = script;
        this.#entrypoint = entrypoint;
        this.#props = props;
    }
    get address() {
        return { script: this.#script, entrypoint: this.#entrypoint, props: this.#props };
    }
    retain() {
        return this;
    }
    release() {}

    call(from, path, message) {
        const remote = new RemoteCall(from);
        const result = this.#call(remote, from, path, message);
        const pipeline = result.then(() => {
            throw new Failure(new Error('Calls on a result that has not come yet are not possible across isolates: await it first.'));
        });
        return new Call(result, new PendingClient(pipeline), () => remote.cancel());
    }
    async #call(remote, from, path, message) {
        const pipes = [];
        let value;
        try {
            checkDepth(from);
            value = { kind: 'rpc', entrypoint: this.#entrypoint, props: this.#props, depth: from.depth + 1, path, message: message === undefined ? undefined : ship(message, from, pipes) };
        } catch (error) {
            throw new Failure(error);
        }
        const [{ answer }, came] = await remote.start(this.#script, value, pipes);
        return { message: unship(answer, came, from), disposer: false };
    }

    fetch(from, { method, url, fields, cf, state }, signal) {
        checkDepth(from);
        const pipes = [];
        const remote = new RemoteCall(from);
        const deferred = new Deferred();
        const body = shipBody(state, from, pipes, false);
        const started = remote.start(this.#script, { kind: 'fetch', entrypoint: this.#entrypoint, props: this.#props, depth: from.depth + 1, method, url, fields, cf, body }, pipes);
        const stop = () => {
            deferred.reject(new Failure(signal.reason));
            remote.cancel();
        };
        if (signal !== null) onAbort(signal, stop);
        const settled = () => {
            if (signal !== null) offAbort(signal, stop);
        };
        started.then(
            ([{ answer }, came]) => {
                settled();
                const answered = unshipBody(answer.body, came);
                if (answered?.kind === 'source') {
                    if (deferred.settled) return source_close(answered.value);
                    if (signal !== null) return deferred.resolve({ ...answer, webSocket: null, state: new BodyState('stream', abortable(from, answered.value, signal), null, answered.length) });
                }
                return deferred.resolve({ ...answer, webSocket: null, state: answered });
            },
            (failure) => {
                settled();
                deferred.reject(failure);
            },
        );
        return deferred.promise;
    }
}

// The stream of a body that fails when the signal is aborted.
function abortable(context, source, signal) {
    let stop = nothing;
    const end = () => offAbort(signal, stop);
    return ownStream(new ReadableStream({
        type: 'bytes',
        start(controller) {
            stop = () => {
                source_close(source);
                controller.error(signal.reason);
            };
            onAbort(signal, stop);
        },
        async pull(controller) {
            let chunk;
            try {
                chunk = await startFor(context, source_read, source);
            } catch (error) {
                end();
                throw signal.aborted ? signal.reason : error;
            }
            if (signal.aborted) return;
            if (chunk !== undefined) return controller.enqueue(chunk);
            end();
            controller.close();
            controller.byobRequest?.respond(0);
        },
        cancel() {
            end();
            source_close(source);
        },
    }, { highWaterMark: 0 }));
}

// ---- The callee: called by the host

export function call(id, value, pipes) {
    const context = callContext(id, value.depth);
    context.onEnd(() => { // ctx.abort(): the last that the caller hears.
        if (context.aborted !== null) call_reply(id, { failure: ship(encodeThrown(context.aborted.reason, context), context, []) }, []);
    });
    runIn(context.frame, value.kind === 'fetch' ? callFetch : callMethod, undefined, context, value, pipes);
}

// Sends the answer that make(pipes) gives; what is wrong with it goes instead.
function reply(context, make) {
    if (context.ended) return;
    const pipes = [];
    try {
        call_reply(context.id, make(pipes), pipes);
    } catch (error) {
        closeAll(pipes);
        call_reply(context.id, { failure: ship(encodeThrown(error, context), context, []) }, []);
    }
}
// A failure whose properties hold what cannot cross goes without them.
function fail(context, message) {
    reply(context, (pipes) => ({ failure: ship(message, context, pipes) }));
}

function callFetch(context, { entrypoint, props, method, url, fields, cf, body }, pipes) {
    const request = inboundRequest(method, url, () => fields, unshipBody(body, pipes), cf, context);
    const respond = ({ status, statusText, fields: answered, state, webSocket }) =>
        reply(context, (sent) => {
            if (webSocket !== null) throw new Error('A WebSocket cannot cross isolate boundaries yet: answer it in the script that the client reaches.');
            return { answer: { status, statusText, fields: answered, body: shipBody(state, context, sent, true) } };
        });
    serveFetch(context, entrypoint, props, request, respond, (message) => fail(context, message));
}

function callMethod(context, { entrypoint, props, path, message }, pipes) {
    const served = serveCall(context, entrypoint, props, path, message === undefined ? undefined : unship(message, pipes, context), false);
    served.result.then(
        ({ message: result }) => {
            reply(context, (sent) => ({ answer: ship(result, context, sent) }));
            served.pipeline.release();
            context.leave();
        },
        (failure) => {
            fail(context, failure.message ?? encodeThrown(failure.error, context));
            context.leave();
        },
    );
}

hide(RemoteCall);
