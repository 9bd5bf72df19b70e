// wire_session.js: what goes on between a caller and a cell over one wire: calls, results, stubs. docs/rpc.md, "Wires".
//
// Both ends run a Session. The caller's end is made for one call or request to the cell; everything that comes of it (calls on results
// that have not come yet, stubs in either direction, streams, a WebSocket) goes over the same wire. An end that has nothing open any
// more closes the wire.
import { contextOf, currentFrame, runIn } from './core.js';
import { errorOfReset, markRefused } from './cell_reset.js';
import { newSignal, abortSignal, onAbort, offAbort } from './abort.js';
import { decode, dropMessage, encodeThrown, knownType, settleMessage } from './rpc_message.js';
import { Call, Deferred, Failure, Group, NO_LONGER, failedCall, pendingCall, trafficOf, valueTarget } from './rpc_target.js';
import { channelAt } from './service_remote.js';
import { ServedFetch } from './wire_fetch.js';
import { ReceivedReadable, ReceivedWritable, SentReadable, SentWritable } from './wire_streams.js';
import { ABORTED, CALL, CANCEL, CLOSED, FAILURE, FETCH, FINISH, HEAD, RELEASE, RESULT, TEXT } from './wire_kinds.js';
import { Map, hide, push } from './primordials.js';

const { wire_call_begin, wire_call_end, wire_close, wire_listen, wire_send, wire_served } = host;
const { isInteger } = Number;
const { isArray } = Array;

const ID_MAX = 0xffffffff;
const NEVER = 'The script will never generate a response.';

const sessions = new Map(); // the number of a wire's end -> Session

// What the other side says makes no sense: the wire is closed.
class IllFormed extends Error {}
export const need = (holds, what) => {
    if (!holds) throw new IllFormed(`ill-formed message on a wire: ${what}`);
};

// why: [text, overloaded, retryable, reset, refusal] of a wire that was closed for a reason.
function lossError(why) {
    if (why === undefined) return new Error(NEVER);
    const error = errorOfReset(why[0]);
    if (why[1]) error.overloaded = true;
    if (why[2]) error.retryable = true;
    if (why[3]) error.durableObjectReset = true;
    if (why[4] !== undefined) markRefused(error, why[4]);
    return error;
}

export class Session {
    #next;
    #open = 0; // What keeps the wire: see hold()
    #questions = null; // id -> who waits for the answer
    #answers = null; // id -> Answer
    #exports = null; // id -> Export: what the other side can call
    #exported = null; // client -> Export
    #imports = null; // id -> WireClient: what this side can call
    #flows = null; // id -> streams, signals, the socket: receive(kind, value), lost(error)
    #after = null; // what is to be done when the message that is being made has been sent, or not
    #why = undefined;
    #queued = 0; // messages that wait for the input gate
    #deaf = false; // Those behind them wait in the wire: clients of a socket must not fill the isolate.

    // server: at the cell's end, what the wire leads to: call(path, message) gives a Call, fetch(request) what the handler gives.
    constructor(handle, context, server = undefined) {
        this.handle = handle;
        this.context = context;
        this.server = server;
        this.frame = server === undefined ? currentFrame() : context.frame;
        this.over = false;
        this.onLost = null; // called with the error, when the other side closed the wire for a reason
        this.socket = null; // wire_socket.js, since the answer brought one
        this.#next = server === undefined ? 1 : 2;
        sessions.set(handle, this);
        trafficOf(context).calls.add(this); // cancel() comes when the event ends.
    }

    newId() {
        const id = this.#next;
        need(id <= ID_MAX, 'too many of them');
        this.#next += 2;
        return id;
    }
    // One for each thing that needs the wire.
    hold() {
        this.#open++;
    }
    drop() {
        if (--this.#open === 0 && !this.over) this.close();
    }
    send(kind, id, value) {
        return this.over ? 0 : wire_send(this.handle, kind, id, value);
    }
    // Sends what make() gives; what it put into the tables is taken back if that cannot be sent.
    post(kind, id, make) {
        this.#after = [];
        let after;
        try {
            const value = make();
            after = this.#after;
            wire_send(this.handle, kind, id, value);
        } catch (error) {
            for (const step of after ?? this.#after) step(false);
            throw error;
        } finally {
            this.#after = null;
        }
        for (const step of after) step(true);
    }
    // This end has nothing to say any more. text: why the other side must not go on.
    close(text = undefined) {
        if (this.over) return;
        sessions.delete(this.handle);
        wire_close(this.handle, text);
        this.#end(text === undefined ? undefined : [text, false, false, false]);
    }
    // The event of this end is over.
    cancel() {
        if (this.over) return;
        const { aborted, cell } = this.context;
        if (cell !== null) { // The host closes the wires of a cell, and says why.
            sessions.delete(this.handle);
            return this.#end(undefined);
        }
        const reason = aborted === null ? new Error(this.server === undefined ? NO_LONGER : NEVER) : aborted.reason;
        this.#answers?.forEach((answer, id) => {
            if (!answer.settled) this.fail(id, encodeThrown(reason, this.context));
        });
        this.close();
    }
    // The host takes the wire, with what comes over it: its number.
    leave() {
        sessions.delete(this.handle);
        this.over = true;
        trafficOf(this.context).calls.delete(this);
        return this.handle;
    }
    get failure() {
        return new Failure(lossError(this.#why));
    }
    #end(why) {
        this.over = true;
        this.#why = why;
        const { context } = this;
        trafficOf(context).calls.delete(this);
        if (why !== undefined) this.onLost?.(lossError(why));
        const { socket } = this;
        this.socket = null;
        runIn(context.frame, () => {
            socket?.lost();
            for (const flow of this.#flows?.values() ?? []) flow.lost(lossError(why));
            for (const answer of this.#answers?.values() ?? []) answer.lost();
            for (const { client } of this.#exports?.values() ?? []) client.release();
            for (const question of this.#questions?.values() ?? []) question.lost();
        });
        this.#flows = this.#answers = this.#exports = this.#exported = this.#imports = this.#questions = null;
    }

    // ---- What comes

    // At a cell the input gate lets messages in, those for a critical section before others; but they keep their order.
    arrive(kind, id, value) {
        const { gate } = this.context;
        const frame = this.#frameOf(kind, id, value);
        if (gate !== null && kind !== FETCH && (this.#queued > 0 || (kind !== FINISH && kind !== RELEASE && !gate.lets(frame.section)))) this.#queue(frame, kind, id, value);
        else runIn(frame, this.receive, this, kind, id, value);
    }
    #queue(frame, kind, id, value) {
        this.#queued++;
        if (this.socket !== null && !this.#deaf) this.#listen(false);
        this.context.gate.queue(() => {
            if (--this.#queued === 0 && this.#deaf) this.#listen(true);
            runIn(frame, this.receive, this, kind, id, value);
        });
    }
    #listen(on) {
        this.#deaf = !on;
        if (!this.over) wire_listen(this.handle, on);
    }
    #frameOf(kind, id, value) {
        if (kind === CALL) return this.#exports?.get(value?.[0])?.client.frame ?? this.frame; // A stub may lead into a section.
        const asked = kind === RESULT || kind === HEAD || kind === FAILURE ? this.#questions?.get(id) : kind > RELEASE ? this.#flows?.get(id) : this;
        return asked?.frame ?? this.frame;
    }
    receive(kind, id, value) {
        if (this.over) return;
        if (kind === CLOSED) {
            sessions.delete(this.handle);
            this.#end(value);
            return;
        }
        try {
            if (kind >= TEXT) this.socket?.receive(kind, id, value);
            else if (kind > RELEASE) this.#flows?.get(id)?.receive(kind, value); // Late ones find nothing.
            else this.#receive(kind, id, value);
        } catch (error) {
            if (!(error instanceof IllFormed)) throw error;
            this.close(error.message);
        }
    }
    #receive(kind, id, value) {
        switch (kind) {
            case CALL: return this.#serve(id, value);
            case FETCH: {
                need(this.server !== undefined && this.#answers?.has(id) !== true, 'a request');
                const served = new ServedFetch(this, id, value);
                this.#answer(id, served);
                return served.run();
            }
            case RESULT: case HEAD: case FAILURE: {
                const question = this.#questions?.get(id);
                need(question !== undefined, 'an answer that nobody waits for');
                question.answered(kind, value); // If it makes no sense, the question is still there to hear so.
                this.#questions?.delete(id); // There is none if that has ended the session.
                return undefined;
            }
            case FINISH: return this.#finished(id);
            case CANCEL: return this.#answers?.get(id)?.cancel();
            case RELEASE: return this.#released(id, value);
            default: return need(false, `kind ${kind}`);
        }
    }

    // ---- Calls that this side makes

    // target: 0 for what the wire leads to, the number of an import, or the negative number of a question for what it will give.
    ask(target, path, message, parent = null) {
        const waits = settleMessage(message);
        if (waits !== undefined) {
            this.hold();
            const call = pendingCall(waits, message, () => this.#ask(target, path, message, parent));
            const drop = () => this.drop();
            waits.then(drop, drop); // After that.
            return call;
        }
        return this.#ask(target, path, message, parent);
    }
    #ask(target, path, message, parent) {
        if (this.over) {
            dropMessage(message);
            return failedCall(this.failure);
        }
        const id = this.newId();
        const question = new Question(this, id, parent, path, message !== undefined);
        try {
            if (message === undefined || message.live === null) this.send(CALL, id, [target, path, message === undefined ? undefined : [message.data]]);
            else this.post(CALL, id, () => [target, path, this.ship(message)]);
        } catch (error) {
            if (this.#open === 0) this.close();
            return failedCall(error);
        }
        this.expect(id, question);
        return new Call(question.result, question, () => this.send(CANCEL, id));
    }
    // question: answered(kind, value), lost(). It keeps the wire until finish().
    expect(id, question) {
        (this.#questions ??= new Map()).set(id, question);
        this.#open++;
    }
    finish(id) {
        if (this.over) return;
        if (this.#open > 1) this.send(FINISH, id);
        this.drop();
    }

    // ---- Calls that the other side makes

    #serve(id, value) {
        need(isArray(value) && value.length === 3 && this.#answers?.has(id) !== true, 'a call');
        const [target, path, wire] = value;
        need(isInteger(target) && isArray(path) && path.every((name) => typeof name === 'string'), 'a call');
        const client = this.#target(target);
        const message = wire === undefined ? undefined : this.unship(wire);
        const counts = this.#counts(target) && wire_call_begin(this.handle);
        const call = this.#counts(target) && !counts ? refusedCall(message) : client.call(this.context, path, message);
        const answer = new Answer(call);
        this.#answer(id, answer);
        call.result.then(
            (result) => {
                if (counts) wire_call_end(this.handle);
                answer.settled = true;
                if (this.over) {
                    dropMessage(result.message);
                    call.pipeline.release();
                } else this.#give(id, answer, result);
            },
            (failure) => {
                if (counts) wire_call_end(this.handle);
                this.fail(id, failure.message ?? encodeThrown(failure.error, this.context));
            },
        );
    }
    // Whether a call takes one of the cell's requests: the wire counts for its first one, and for what is asked of that before it is answered.
    #counts(target) {
        return this.server !== undefined && (target > 0 || this.#answers?.get(-target)?.settled === true);
    }
    #target(target) {
        if (target === 0) {
            need(this.server !== undefined, 'a call of a caller');
            return this.server;
        }
        const client = target > 0 ? this.#exports?.get(target)?.client : this.#answers?.get(-target)?.call?.pipeline;
        need(client !== undefined, `a call of ${target}, which is nothing`);
        return client;
    }
    #answer(id, answer) {
        if (this.over) return answer.lost();
        (this.#answers ??= new Map()).set(id, answer);
        this.#open++;
    }
    #give(id, answer, { message, disposer }) {
        try {
            if (message.live === null) this.send(RESULT, id, [disposer, [message.data]]);
            else this.post(RESULT, id, () => [disposer, this.ship(message)]);
        } catch (error) {
            return this.fail(id, encodeThrown(error, this.context));
        }
        // Calls on plain data need nobody here: the caller has it.
        if (message.live === null && !disposer) this.settled(id);
        else wire_served(this.handle);
    }
    // The answer has been sent, and what it gave is not needed here any more.
    settled(id) {
        const answer = this.#answers?.get(id);
        if (answer === undefined || answer.let) return;
        answer.settled = answer.let = true;
        if (this.#open > 1) wire_served(this.handle);
        this.drop();
    }
    fail(id, message) {
        if (this.over || this.#answers?.has(id) !== true) return dropMessage(message);
        try {
            if (message.live === null) this.send(FAILURE, id, [message.data]);
            else this.post(FAILURE, id, () => this.ship(message));
        } catch (error) {
            this.send(FAILURE, id, this.ship(encodeThrown(new Error(`${error.message}`), this.context))); // It holds what cannot be sent.
        }
        this.settled(id);
    }
    #finished(id) {
        const answer = this.#answers?.get(id);
        need(answer !== undefined, 'the end of a call');
        this.#answers.delete(id);
        answer.lost();
        if (!answer.let) this.drop();
    }

    // ---- Messages

    // The message as it is sent, inside post(). It is taken over.
    ship(message) {
        const { data, live } = message;
        if (live === null) return [data];
        message.live = []; // Taken.
        return [data, data.types.map((type, i) => this.#shipped(type, live[i]))];
    }
    #shipped(type, what) {
        switch (type) {
            case 'stub': return this.#export(what);
            case 'promise': return this.ship(what);
            case 'readable': return [this.flow(new SentReadable(this, what)), what.bytes];
            case 'writable': return this.flow(new SentWritable(this, what));
            case 'signal': return what.aborted ? 0 : this.flow(new SentSignal(this, what));
            case 'service': return what.address;
            default: return null;
        }
    }
    // Gives the thing an id, by which both sides speak of it, once the message has been sent.
    flow(thing) {
        thing.id = this.newId();
        push(this.#after, (sent) => {
            if (sent) {
                (this.#flows ??= new Map()).set(thing.id, thing);
                thing.start();
            } else thing.lost(new Error('It could not be sent.'));
        });
        return thing.id;
    }
    // One that came, or that goes along with an answer.
    join(thing, id) {
        need(isInteger(id) && id > 0 && this.#flows?.has(id) !== true, 'a stream');
        thing.id = id;
        (this.#flows ??= new Map()).set(id, thing);
        return thing;
    }
    part(thing) {
        this.#flows?.delete(thing.id);
    }
    #export(client) {
        if (client instanceof WireClient && client.session === this && !this.over) { // It goes home.
            push(this.#after, () => client.release());
            return -client.id;
        }
        let it = this.#exported?.get(client);
        if (it === undefined) {
            it = { id: this.newId(), client, refs: 0 };
            (this.#exports ??= new Map()).set(it.id, it);
            (this.#exported ??= new Map()).set(client, it);
            this.#open++;
        } else push(this.#after, () => client.release());
        it.refs++;
        push(this.#after, (sent) => sent || this.#released(it.id, 1));
        return it.id;
    }
    #released(id, count) {
        const it = this.#exports?.get(id);
        need(it !== undefined && it.refs >= count && count > 0, 'a release');
        it.refs -= count;
        if (it.refs > 0) return;
        this.#exports.delete(id);
        this.#exported.delete(it.client);
        it.client.release();
        this.drop();
    }

    // The message that was sent so.
    unship(wire) {
        need(isArray(wire) && (wire.length === 1 || wire.length === 2), 'a value');
        if (wire.length === 1) return { data: wire[0], live: null, given: null };
        const [data, beside] = wire;
        need(typeof data === 'object' && data !== null && isArray(data.types) && isArray(data.slots) && isArray(data.payloads), 'a value');
        const { types, slots, payloads } = data;
        need(isArray(beside) && beside.length === types.length && payloads.length === types.length && slots.length % 3 === 0 && types.every(knownType), 'a value');
        for (let i = 0; i < slots.length; i += 3) need(typeof slots[i] === 'object' && slots[i] !== null && types[slots[i + 2]] !== undefined, 'a value');
        return { data, live: types.map((type, i) => this.#unshipped(type, beside[i])), given: null };
    }
    #unshipped(type, what) {
        switch (type) {
            case 'stub': return this.#import(what);
            case 'promise': return this.unship(what);
            case 'readable':
                need(isArray(what), 'a stream');
                return this.join(new ReceivedReadable(this, what[1] === true), what[0]);
            case 'writable': return this.join(new ReceivedWritable(this), what);
            case 'signal': return what === 0 ? null : this.join(new ReceivedSignal(this), what).signal;
            case 'service':
                need(typeof what === 'object' && what !== null && typeof what.script === 'string', 'a service');
                return channelAt(what);
            default: return null;
        }
    }
    #import(id) {
        need(isInteger(id), 'a stub');
        if (id < 0) {
            const it = this.#exports?.get(-id);
            need(it !== undefined, 'a stub that came home');
            return it.client.retain();
        }
        let client = this.#imports?.get(id);
        if (client === undefined) {
            client = new WireClient(this, id);
            (this.#imports ??= new Map()).set(id, client);
            this.#open++;
        } else client.again();
        return client;
    }
    forget(client, count) {
        if (this.over) return;
        this.#imports.delete(client.id);
        if (this.#open > 1) this.send(RELEASE, client.id, count);
        this.drop();
    }
}

// Something that the other side lets this one call.
class WireClient {
    #refs = 1;
    #came = 1; // how often: so often it is to be given back
    constructor(session, id) {
        this.session = session;
        this.id = id;
    }
    again() {
        this.#came++;
        this.#refs++;
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs === 0) this.session.forget(this, this.#came);
    }
    call(context, path, message) {
        return this.session.ask(this.id, path, message);
    }
}

// A call of the cell, or of what it gave, that waits for its result; and the client of the result.
class Question {
    #deferred = new Deferred(); // of { message, disposer }
    #refs = 1;
    // Since the answer: { data } if it was plain data, { failure }, or { call } if it was given by what an earlier answer had brought.
    #outcome = null;
    constructor(session, id, parent, path, calls) {
        this.session = session;
        this.id = id;
        this.frame = currentFrame(); // The section that waits for it.
        this.parent = parent;
        this.path = path;
        this.calls = calls;
    }
    get result() {
        return this.#deferred.promise;
    }
    answered(kind, value) {
        need(kind !== HEAD, 'an answer');
        if (kind === FAILURE) return this.#fail(new Failure(undefined, this.session.unship(value)));
        need(isArray(value) && value.length === 2, 'a result');
        const message = this.session.unship(value[1]);
        const disposer = value[0] === true;
        if (message.live === null && !disposer) this.#outcome = { data: message.data };
        if (!this.#deferred.resolve({ message, disposer })) dropMessage(message);
    }
    #fail(failure) {
        this.#outcome = { failure };
        this.#deferred.reject(failure);
    }
    // The wire is gone. The other side does not wait for calls on plain data or on a failure: they are answered here.
    lost() {
        const outcome = this.parent === null ? null : this.parent.#outcome;
        if (outcome === null) return this.#fail(this.session.failure);
        const call = this.parent.#here(this.session.context, this.path, this.calls ? { data: [], live: null, given: null } : undefined);
        this.#outcome = { call };
        call.result.then(this.#deferred.resolve, this.#deferred.reject);
        if (this.#refs === 0) call.pipeline.release();
    }
    #here(context, path, message) {
        const { data, failure, call } = this.#outcome;
        if (failure !== undefined) return failedCall(failure);
        return (call !== undefined ? call.pipeline : valueTarget(context, data)).call(context, path, message);
    }
    retain() {
        this.#refs++;
        return this;
    }
    release() {
        if (--this.#refs !== 0) return;
        this.session.finish(this.id);
        this.#outcome?.call?.pipeline.release();
    }
    call(context, path, message) {
        if (this.#outcome === null) return this.session.ask(-this.id, path, message, this);
        return this.#here(context, path, message);
    }
}

// A call that the other side made.
function refusedCall(message) {
    if (message !== undefined) dropMessage(message);
    return failedCall(Object.assign(new Error('cell overload: admission refused'), { overloaded: true, retryable: true }));
}

class Answer {
    settled = false;
    let = false; // It does not keep the wire any more.
    constructor(call) {
        this.call = call;
    }
    cancel() {
        if (!this.settled) this.call.cancel();
    }
    // Nobody calls on what it gives any more.
    lost() {
        if (this.settled) this.call.pipeline.release();
        else this.call.cancel();
    }
}

// ---- Signals

class SentSignal {
    constructor(session, signal) {
        this.session = session;
        this.signal = signal;
        this.step = () => {
            session.part(this);
            if (session.over || session.context.ended) return;
            const reason = encodeThrown(signal.reason, session.context);
            session.post(ABORTED, this.id, () => session.ship(reason));
        };
    }
    start() {
        onAbort(this.signal, this.step);
    }
    receive() {}
    lost() {
        offAbort(this.signal, this.step);
    }
}
class ReceivedSignal {
    constructor(session) {
        this.session = session;
        this.signal = newSignal(session.context);
    }
    receive(kind, value) {
        need(kind === ABORTED, 'for a signal');
        this.session.part(this);
        const reason = decode(this.session.unship(value), new Group(this.session.context));
        abortSignal(this.signal, reason);
    }
    lost() {} // It is never aborted then.
}

// ---- Called by the host

let serverOf = () => undefined; // context -> server
// How the calls of cells are served: see Session's constructor.
export const serveSessions = (fn) => (serverOf = fn);

// event: whose the end of the wire is. An end that the prelude does not know is one that came.
export function wireMessage(handle, event, kind, id, value) {
    let session = sessions.get(handle);
    if (session === undefined) {
        const context = contextOf(event);
        const server = context === undefined || kind === CLOSED ? undefined : serverOf(context);
        if (server === undefined) return wire_close(handle, kind === CLOSED ? undefined : NEVER);
        session = new Session(handle, context, server);
    }
    session.arrive(kind, id, value);
}

hide(Session, WireClient, Question, Answer, SentSignal, ReceivedSignal);
