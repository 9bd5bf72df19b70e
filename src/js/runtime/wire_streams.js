// wire_streams.js: streams over a wire. runtime.md 6.3; docs/rpc.md, "Wires".
//
// A stream stays, locked, with the side that sent it; the other side gets a new one. Who sends chunks may send as long as it has
// credit; who gets them gives credit back as they are used. Bytes count as bytes, a chunk that is another value as VALUE_COST.
import { offAbort, onAbort } from './abort.js';
import { decodeThrown, encodeThrown } from './rpc_message.js';
import { GONE, PREMATURE } from './rpc_streams.js';
import { Group } from './rpc_target.js';
import { currentFrame, runIn } from './core.js';
import { ReadableStream, bytesOf, ownStream } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { need } from './wire_session.js';
import { CHUNK, CREDIT, END, STOP, VALUE } from './wire_kinds.js';
import { hide, push } from './primordials.js';

const WINDOW = 65536;
const VALUE_COST = 4096;
const nothing = () => {};

const costOf = (kind, chunk) => (kind === CHUNK ? chunk.byteLength : VALUE_COST);

class Flow {
    id = 0;
    alive = true;
    constructor(session) {
        this.session = session;
        this.frame = currentFrame(); // The section that it was made in.
        session.hold();
    }
    start() {}
    // It is over on this side: nothing of it comes or goes any more.
    finish() {
        if (!this.alive) return false;
        this.alive = false;
        this.session.part(this);
        this.session.drop();
        return true;
    }
    stop(error) {
        const { session } = this;
        if (session.over || session.context.ended) return;
        const message = encodeThrown(error, session.context);
        session.post(STOP, this.id, () => session.ship(message));
    }
    // What a STOP says.
    errorOf(value) {
        return decodeThrown(this.session.unship(value), new Group(this.session.context));
    }
}

// ---- Sending chunks

class Sender extends Flow {
    #credit = WINDOW;
    #wake = null;
    // undefined when there is room; else a promise.
    room() {
        return this.#credit > 0 || !this.alive ? undefined : new Promise((resolve) => (this.#wake = resolve));
    }
    chunk(value, raw) {
        const kind = raw ? CHUNK : VALUE;
        const chunk = raw ? bytesOf(value) : value;
        if (raw && chunk.byteLength === 0) return;
        this.session.send(kind, this.id, chunk);
        this.#credit -= costOf(kind, chunk);
    }
    credited(count) {
        this.#credit += count;
        need(count > 0 && this.#credit <= WINDOW, 'credit');
        this.wake();
    }
    wake() {
        this.#wake?.();
        this.#wake = null;
    }
    finish() {
        const was = super.finish();
        this.wake();
        return was;
    }
}

// A ReadableStream of this side. share: of rpc_streams.js.
export class SentReadable extends Sender {
    constructor(session, share, raw = share.bytes) {
        super(session);
        this.share = share;
        this.raw = raw;
    }
    start() {
        this.#pump();
    }
    async #pump() {
        const { share } = this;
        try {
            while (this.alive) {
                const { done, value } = await share.call('read');
                if (!this.alive) return;
                if (done) {
                    this.session.send(END, this.id);
                    break;
                }
                this.chunk(value, this.raw);
                const wait = this.room();
                if (wait !== undefined) await wait;
            }
            if (this.finish()) share.done();
        } catch (error) {
            if (!this.alive) return;
            this.stop(error);
            this.finish();
            share.release();
        }
    }
    receive(kind, value) {
        if (kind === CREDIT) return this.credited(value);
        need(kind === STOP, 'for a stream that is being sent');
        const reason = this.errorOf(value);
        if (!this.finish()) return;
        this.share.call('cancel', reason).catch(nothing);
        this.share.done();
    }
    lost() {
        if (this.finish()) this.share.release();
    }
}

// What is written to a WritableStream of the other side.
export class ReceivedWritable extends Sender {
    #closed = null; // { resolve, reject } of close()
    #controller = null;
    open() {
        return new WritableStream({
            start: (controller) => {
                this.#controller = controller;
            },
            write: (chunk) => {
                if (!this.alive) throw new Error(GONE);
                this.chunk(chunk, chunk instanceof Uint8Array);
                return this.room();
            },
            close: () => {
                if (!this.alive) throw new Error(GONE);
                this.session.send(END, this.id);
                return new Promise((resolve, reject) => (this.#closed = { resolve, reject }));
            },
            abort: (reason) => {
                this.stop(reason);
                this.finish();
            },
        });
    }
    receive(kind, value) {
        if (kind === CREDIT) return this.credited(value);
        need(kind === END || kind === STOP, 'for a stream that is written');
        const error = kind === STOP ? this.errorOf(value) : undefined;
        if (this.finish()) this.#settle(error);
    }
    #settle(error) {
        if (error === undefined) return this.#closed?.resolve();
        this.#closed?.reject(error);
        this.#controller?.error(error);
    }
    lost() {
        if (this.finish()) this.#settle(new Error(GONE));
    }
    release() { // Nobody opens it.
        if (!this.alive) return;
        this.stop(new Error(GONE));
        this.finish();
    }
}

// ---- Getting chunks

class Receiver extends Flow {
    #owed = 0; // came and not credited yet
    #used = 0; // of that, used already
    came(kind, chunk) {
        need(this.#owed < WINDOW, 'more of a stream than there is room for');
        const cost = costOf(kind, chunk);
        this.#owed += cost;
        return cost;
    }
    used(cost) {
        this.#used += cost;
        if (this.#used < WINDOW / 2 || !this.alive) return;
        this.session.send(CREDIT, this.id, this.#used);
        this.#owed -= this.#used;
        this.#used = 0;
    }
}

// A ReadableStream of the other side.
export class ReceivedReadable extends Receiver {
    #queue = []; // { kind, value, cost }, the last one may be END or STOP
    #pull = null; // waits for the next
    constructor(session, bytes) {
        super(session);
        this.bytes = bytes;
    }
    receive(kind, value) {
        need(kind === CHUNK || kind === VALUE || kind === END || kind === STOP, 'for a stream that comes');
        if (kind === STOP) value = this.errorOf(value);
        this.#push({ kind, value, cost: kind === CHUNK || kind === VALUE ? this.came(kind, value) : 0 });
        if (kind === END || kind === STOP) this.finish();
    }
    lost(error) {
        if (this.finish()) this.#push({ kind: STOP, value: error, cost: 0 });
    }
    #push(item) {
        push(this.#queue, item);
        this.#pull?.();
        this.#pull = null;
    }
    // failure: turns what went wrong there into what the reader sees. Aborted by signal, the stream fails with the reason.
    open(context, failure = () => new Error(PREMATURE), signal = null) {
        let stop = nothing, over = false;
        const end = () => {
            over = true;
            if (signal !== null) offAbort(signal, stop);
        };
        const source = {
            start: (controller) => {
                if (signal === null) return;
                stop = () => {
                    end();
                    this.release();
                    controller.error(signal.reason);
                };
                onAbort(signal, stop);
            },
            pull: async (controller) => {
                while (this.#queue.length === 0) await new Promise((resolve) => (this.#pull = resolve));
                if (over) return;
                const { kind, value, cost } = this.#queue.shift();
                if (kind === CHUNK || kind === VALUE) {
                    controller.enqueue(value);
                    return this.used(cost);
                }
                end();
                if (kind === STOP) throw failure(value);
                controller.close();
                controller.byobRequest?.respond(0);
            },
            cancel: (reason) => {
                end();
                this.release(reason);
            },
        };
        if (this.bytes) source.type = 'bytes';
        return runIn(context.frame, () => ownStream(new ReadableStream(source, { highWaterMark: 0 })));
    }
    release(reason = new Error(PREMATURE)) { // Nobody wants it.
        if (!this.alive) return;
        this.stop(reason);
        this.finish();
        this.#queue.length = 0;
        this.#push({ kind: STOP, value: reason, cost: 0 });
    }
}

// A WritableStream of this side, which the other side writes to. share: of rpc_streams.js.
export class SentWritable extends Receiver {
    #last = Promise.resolve();
    constructor(session, share) {
        super(session);
        this.share = share;
    }
    receive(kind, value) {
        const { share } = this;
        if (kind === STOP) {
            const reason = this.errorOf(value);
            if (!this.finish()) return;
            share.call('abort', reason).catch(nothing);
            return share.done();
        }
        need(kind === CHUNK || kind === VALUE || kind === END, 'for a stream that is written to');
        const cost = kind === END ? 0 : this.came(kind, value);
        this.#last = this.#last.then(async () => {
            if (!this.alive) return;
            try {
                if (kind === END) {
                    await share.call('close');
                    this.session.send(END, this.id);
                    if (this.finish()) share.done();
                } else {
                    await share.call('write', value);
                    this.used(cost);
                }
            } catch (error) {
                if (!this.alive) return;
                this.stop(error);
                this.finish();
                share.done();
            }
        });
    }
    lost() {
        if (this.finish()) this.share.release();
    }
}

hide(Flow);
