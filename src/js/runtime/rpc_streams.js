// rpc_streams.js: streams that pass from one event to another of the same isolate. runtime.md 6.3.
//
// The stream stays with the event that made it, locked, and its own code runs for that event; the other event gets a new stream that
// asks it chunk by chunk, so that back-pressure goes through. Chunks are copied.
import { offAbort, onAbort } from './abort.js';
import { runIn } from './core.js';
import { trafficOf } from './rpc_target.js';
import { ReadableStream, ownStream } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { hide } from './primordials.js';

const { message_copy } = host;

export const PREMATURE = 'ReadableStream received over RPC disconnected prematurely.';
export const GONE = 'WritableStream received over RPC was disconnected because the remote execution context has ended.';

const quiet = () => {};
const copyOf = (chunk) => (chunk instanceof Uint8Array ? chunk.slice() : message_copy(chunk));

const ofBytes = (stream) => {
    try {
        stream.getReader({ mode: 'byob' }).releaseLock();
        return true;
    } catch {
        return false;
    }
};

class Share {
    #context;
    #held;
    // holds: the event lives until the stream is through. That is for what a callee returns; what a caller sends ends with the caller.
    constructor(end, context, holds) {
        this.end = end; // A reader or a writer
        this.#context = context;
        this.#held = holds;
        if (holds) context.hold();
    }
    get lost() {
        return this.#context.ended;
    }
    // A method of the reader or writer, run for the event it belongs to.
    call(name, ...args) {
        return runIn(this.#context.frame, this.end[name], this.end, ...args);
    }
    onLost(fn) {
        this.#context.onEnd(fn);
    }
    offLost(fn) {
        this.#context.offEnd(fn);
    }
    done() {
        if (!this.#held) return;
        this.#held = false;
        this.#context.release();
    }
}
class ReadableShare extends Share {
    open(context) {
        return openReadable(this, context);
    }
    release() { // Nobody wants it.
        if (!this.lost) this.call('cancel', new Error(PREMATURE)).catch(quiet);
        this.done();
    }
}
class WritableShare extends Share {
    open(context) {
        return openWritable(this, context);
    }
    release() {
        if (!this.lost) this.call('abort', new Error(GONE)).catch(quiet);
        this.done();
    }
}

export function shareReadable(stream, context, holds) {
    if (stream.locked) throw new TypeError('The ReadableStream has been locked to a reader.');
    const bytes = ofBytes(stream);
    const share = new ReadableShare(stream.getReader(), context, holds);
    share.bytes = bytes;
    return share;
}

// failure: turns what went wrong at the other end into what the reader sees. Aborted by signal, the stream fails with the reason.
export function openReadable(share, context, failure = () => new Error(PREMATURE), signal = null) {
    let open = true;
    let stop = quiet, lost = quiet;
    const { calls } = trafficOf(context);
    const ending = { cancel: () => drop() }; // When the reader's event ends.
    const close = (end = 'done') => {
        open = false;
        calls.delete(ending);
        share.offLost(lost);
        if (signal !== null) offAbort(signal, stop);
        share[end]();
    };
    const drop = () => {
        if (open) close('release');
    };
    calls.add(ending);
    const source = {
        start(controller) {
            lost = () => {
                close();
                controller.error(failure(new Error(PREMATURE)));
            };
            share.onLost(lost);
            if (signal === null) return;
            stop = () => {
                if (!open) return;
                drop();
                controller.error(signal.reason);
            };
            onAbort(signal, stop);
        },
        async pull(controller) {
            let result;
            try {
                if (share.lost) throw new Error(PREMATURE);
                result = await share.call('read');
            } catch (error) {
                close();
                throw failure(error);
            }
            if (!result.done) {
                if (!share.bytes || result.value.byteLength > 0) controller.enqueue(copyOf(result.value));
                return;
            }
            close();
            controller.close();
            controller.byobRequest?.respond(0);
        },
        cancel(reason) {
            if (!open || share.lost) return undefined;
            const cancelled = share.call('cancel', reason);
            close();
            return cancelled;
        },
    };
    if (share.bytes) source.type = 'bytes';
    return ownStream(new ReadableStream(source, { highWaterMark: 0 }), context);
}

export function shareWritable(stream, context, holds) {
    if (stream.locked) throw new TypeError('The WritableStream has been locked to a writer.');
    const share = new WritableShare(stream.getWriter(), context, holds);
    share.end.closed.catch(quiet);
    share.end.ready.catch(quiet);
    return share;
}

export function openWritable(share, context) {
    let open = true;
    const { calls } = trafficOf(context);
    const end = () => {
        if (open) share.release();
        open = false;
        calls.delete(ending);
    };
    const ending = { cancel: end }; // When the writer's event ends.
    calls.add(ending);
    const use = (name, ...args) => {
        if (share.lost) throw new Error(GONE);
        return share.call(name, ...args);
    };
    return new WritableStream({
        write: (chunk) => use('write', copyOf(chunk)),
        async close() {
            open = false;
            calls.delete(ending);
            try {
                await use('close');
            } finally {
                share.done();
            }
        },
        abort: end,
    });
}

hide(Share);
