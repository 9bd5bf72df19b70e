// wire_fetch.js: requests and their answers over a wire. docs/rpc.md, "Wires".
//
// A request is one message with its body, and so is an answer, unless the body is a stream or large.
import { runIn } from './core.js';
import { BodyState, goesInline, knownBody } from './body.js';
import { offAbort, onAbort } from './abort.js';
import { inboundRequest } from './http.js';
import { encodeThrown, reportThrown } from './rpc_message.js';
import { shareReadable } from './rpc_streams.js';
import { Deferred, Failure } from './rpc_target.js';
import { answerRequest } from './service_local.js';
import { parkWebSocket, receivedWebSocket, returnWebSocket } from './websocket.js';
import { need } from './wire_session.js';
import { WireSocket } from './wire_socket.js';
import { ReceivedReadable, SentReadable } from './wire_streams.js';
import { FAILURE, FETCH, HEAD } from './wire_kinds.js';
import { hide } from './primordials.js';

const { isArray } = Array;

// ---- Bodies: [text or bytes, length] or [number of a stream, length, true]

function outBody(session, state, holds) {
    if (goesInline(state)) {
        const known = knownBody(state);
        return [known.value, known.length];
    }
    const bytes = state.kind === 'bytes' ? state.value.length : state.length;
    const share = runIn(session.context.frame, () => shareReadable(state.stream, session.context, holds));
    return [session.flow(new SentReadable(session, share, true)), bytes, true];
}
const asStream = (state) => state !== null && !goesInline(state);

function inBody(session, body, signal) {
    if (body === null) return null;
    need(isArray(body) && typeof body[1] === 'number', 'a body');
    const [value, length, streams] = body;
    if (streams === true) {
        const flow = session.join(new ReceivedReadable(session, true), value);
        const failure = (error) => error;
        return new BodyState('stream', flow.open(session.context, failure, signal), null, length);
    }
    if (typeof value === 'string') return new BodyState('text', value, null, length);
    need(value instanceof Uint8Array, 'a body');
    return new BodyState('bytes', value, null, length);
}

const textFields = (fields) => isArray(fields) && fields.length % 2 === 0 && fields.every((text) => typeof text === 'string');

// ---- The caller

// As fetch of a channel (service.js), over a new session.
export function fetchOver(session, { method, url, fields, cf, state }, signal) {
    const asked = new Asked(session, signal);
    try {
        if (asStream(state)) session.post(FETCH, asked.id, () => [method, url, fields, cf, outBody(session, state, false)]);
        else session.send(FETCH, asked.id, [method, url, fields, cf, state === null ? null : outBody(session, state, false)]);
    } catch (error) {
        session.close();
        throw error;
    }
    session.expect(asked.id, asked);
    if (signal !== null) onAbort(signal, asked.stop);
    return asked.result;
}

class Asked {
    #deferred = new Deferred();
    constructor(session, signal) {
        this.session = session;
        this.frame = session.frame;
        this.signal = signal;
        this.id = session.newId();
        this.stop = () => {
            this.#settled(this.#deferred.reject, new Failure(signal.reason));
            session.close();
        };
    }
    get result() {
        return this.#deferred.promise;
    }
    #settled(how, value) {
        if (this.signal !== null) offAbort(this.signal, this.stop);
        how(value);
    }
    answered(kind, value) {
        const { session } = this;
        if (kind === FAILURE) this.#settled(this.#deferred.reject, new Failure(undefined, session.unship(value)));
        else {
            need(kind === HEAD && isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'string' && textFields(value[2]), 'an answer');
            const [status, statusText, fields, body, protocol] = value;
            let webSocket = null;
            if (protocol !== undefined) {
                need(status === 101 && typeof protocol === 'string', 'a socket');
                webSocket = receivedWebSocket(new WireSocket(session), protocol);
            }
            const state = inBody(session, body, this.signal);
            this.#settled(this.#deferred.resolve, { status, statusText, fields, state, webSocket });
        }
        session.finish(this.id);
    }
    // Also after the answer, when finish() closes the wire: an error would be made, with its stack, for nobody.
    lost() {
        if (!this.#deferred.settled) this.#settled(this.#deferred.reject, this.session.failure);
    }
}

// ---- The cell

// A request that came, to be served with run(); an answer as of wire_session.js.
export class ServedFetch {
    gone = null; // as of a Context: called when the caller is gone
    let = false;
    settled = false;
    #request;
    constructor(session, id, value) {
        need(isArray(value) && value.length === 5 && typeof value[0] === 'string' && typeof value[1] === 'string' && textFields(value[2]), 'a request');
        const [method, url, fields, cf, body] = value;
        this.session = session;
        this.id = id;
        this.#request = inboundRequest(method, url, () => fields, inBody(session, body, null), cf, session.context, this);
    }
    run() {
        const request = this.#request;
        this.#request = undefined;
        answerRequest(
            () => this.session.server.fetch(request),
            (parts) => this.#respond(parts),
            (error) => this.#fail(error),
        );
    }
    #respond({ status, statusText, fields, state, webSocket }) {
        const { session, id } = this;
        if (session.over || this.settled) {
            state?.cancel()?.catch(() => {});
            return;
        }
        this.settled = true;
        let protocol;
        try {
            if (webSocket !== null) protocol = returnWebSocket(webSocket, () => new WireSocket(session), fields);
            if (asStream(state)) session.post(HEAD, id, () => [status, statusText, fields, outBody(session, state, true), protocol]);
            else session.send(HEAD, id, [status, statusText, fields, state === null ? null : outBody(session, state, true), protocol]);
        } catch (error) {
            return this.#fail(error);
        }
        session.socket?.start();
        session.settled(id);
        if (webSocket !== null) parkWebSocket(webSocket, session);
    }
    #fail(error) {
        this.settled = true;
        reportThrown('fetch', error);
        this.session.fail(this.id, encodeThrown(error, this.session.context));
    }
    cancel() {
        const { gone } = this;
        this.gone = null;
        if (!this.settled) gone?.();
    }
    lost() {
        this.cancel();
    }
}

hide(Asked, ServedFetch);
