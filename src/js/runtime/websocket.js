// websocket.js: WebSocket, WebSocketPair. runtime.md 5.5.
//
// What a socket sends goes to its `link`: a Wire, which is a socket of the host, or a Local, the other half of a pair. What comes in
// is given to the socket with receive(). A half of a pair that is returned in a response is coupled: its other half talks to the wire
// from then on.
import { arrive, checkContext, currentContext, currentFrame, expose, limits, needContext, setFrame, startFor, startTimer } from './core.js';
import { CloseEvent, DOMException, ErrorEvent, Event, EventTarget, dispatch, handlerAttributes, messageEvent, reportUncaught, trust } from './events.js';
import { Blob, blobBytes, blobOf } from './blob.js';
import { compatibility } from './globals.js';
import { parseUrlParts } from './url.js';
import { Map, hide, push, then } from './primordials.js';

const { answer_websocket, ws_connect, ws_listen, ws_send, ws_unsent, ws_close, ws_abort, ws_pack, ws_unpack, utf8_encode } = host;

const CONNECTING = 0, WAITING = 1, ACCEPTED = 2, RELEASED = 3; // WAITING: for accept() or a response
export const MESSAGE = 0, CLOSING = 1, ENDED = 2; // what a link tells; the host's numbers

const REASON_MAX = 123;
const ATTACHMENT_MAX = 16384;
const NO_STATUS = 1005;
const LOST = 'WebSocket disconnected without sending Close frame.';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const UNACCEPTED = 'You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.';

// ---- Links

const wires = new Map(); // handle -> Wire

class Wire {
    constructor(handle, context) {
        this.handle = handle;
        this.context = context;
        this.target = null; // whose receive() hears of it
        this.onEnded = null;
        wires.set(handle, this);
    }
    send(data) {
        if (this.handle !== 0) ws_send(this.handle, data);
    }
    close(code, reason) {
        if (this.handle !== 0) ws_close(this.handle, code, reason);
    }
    abort() {
        if (this.handle === 0) return;
        ws_abort(this.handle);
        this.gone();
        this.onEnded?.();
    }
    unsent() {
        return this.handle !== 0 ? ws_unsent(this.handle) : 0;
    }
    listen(target) {
        this.target = target;
        if (this.handle !== 0) ws_listen(this.handle, true);
    }
    gone() {
        wires.delete(this.handle);
        this.handle = 0;
    }
}

// Called by the host. While something waits at the input gate of a cell, the host keeps what follows, and then does not read on.
export function socketEvent(handle, kind, a, b, c) {
    const wire = wires.get(handle);
    if (wire === undefined) return;
    if (kind === ENDED) wire.gone();
    let waited = false;
    arrive(wire.target.frame ?? wire.context.frame, () => {
        if (waited && wire.handle !== 0) ws_listen(wire.handle, true);
        waited = true;
        wire.target.receive(kind, a, b, c);
        if (kind === ENDED) wire.onEnded?.();
    });
    if (waited || wire.handle === 0) return;
    waited = true;
    ws_listen(wire.handle, false);
}

// The other half of a pair, as long as both are in this isolate.
class Local {
    constructor(peer) {
        this.peer = peer;
    }
    send(data) {
        this.peer.post(MESSAGE, typeof data === 'string' ? data : data.slice().buffer);
    }
    close(code, reason) {
        this.peer.post(CLOSING, code, reason);
    }
    abort() {
        this.peer.post(ENDED, 1006, '', false);
    }
    unsent() {
        return 0;
    }
}

// Passes on what comes in: a socket that was returned in a response and has no other half here.
class Pump {
    constructor(to) {
        this.to = to;
    }
    receive(kind, a, b, clean) {
        if (kind === MESSAGE) this.to.send(typeof a === 'string' ? a : new Uint8Array(a));
        else if (kind === CLOSING) this.to.close(a, b);
        else if (!clean) this.to.abort();
    }
    lost() { // The cell's wire, and nothing is known about the socket there. runtime.md 5.5.
        this.to.close(1012, '');
    }
}

// ---- WebSocket

const bytesOf = (v) => (ArrayBuffer.isView(v) ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength) : new Uint8Array(v));
const isBuffer = (v) => v instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && v instanceof SharedArrayBuffer);
const MAKE = Object.freeze({});

// The receiving end of a socket, which user code cannot reach.
class End {
    constructor(socket) {
        this.socket = socket;
        this.state = CONNECTING;
        this.link = null;
        this.peer = null; // End of the other half
        this.frame = undefined; // of the event that accepted it
        this.owner = currentContext(); // who may use it. runtime.md 2.7
        this.waiting = null; // [kind, a, b, c, ...] that cannot be delivered yet
        this.draining = false;
        this.binary = compatibility('websocket_standard_binary_type') ? 'blob' : 'arraybuffer';
        this.halfOpen = !compatibility('web_socket_auto_reply_to_close');
        this.closedIn = this.closedOut = this.aborted = this.failed = false;
        this.accepting = null; // called once it is accepted
        this.hibernation = null; // of a cell's hibernatable socket: who hears of what comes
        this.done = null; // called once it is closed
    }

    // From a Local: kept until this end is accepted, and then delivered in a task.
    post(kind, a, b, c) {
        if (this.state === RELEASED) return;
        const waiting = (this.waiting ??= []);
        const at = waiting.length;
        waiting[at] = kind;
        waiting[at + 1] = a;
        waiting[at + 2] = b;
        waiting[at + 3] = c;
        if (this.state === ACCEPTED) this.#drain();
    }
    #drain() {
        const context = this.frame.context;
        if (this.draining || this.waiting === null || context.ended) return;
        this.draining = true;
        startTimer(context, 0, () => {
            this.draining = false;
            const waiting = this.waiting;
            this.waiting = null;
            for (let i = 0; i < waiting.length; i += 4) this.receive(waiting[i], waiting[i + 1], waiting[i + 2], waiting[i + 3]);
        });
    }

    accept(frame) {
        this.state = ACCEPTED;
        this.frame = frame;
        this.#drain();
        this.accepting?.();
        this.accepting = null;
    }

    receive(kind, a, b, c) {
        if (this.frame.context.ended) return;
        if (this.hibernation !== null) return this.hibernation.receive(this, kind, a, b, c);
        setFrame(this.frame);
        if (kind === MESSAGE) {
            if (typeof a !== 'string' && this.binary === 'blob') a = blobOf(new Uint8Array(a), '');
            if (!this.closedIn) this.fire(messageEvent(a));
        } else if (kind === CLOSING) this.#closing(a, b);
        else this.#ended(a, b, c);
    }
    #closing(code, reason) {
        if (this.closedIn) return;
        this.closedIn = true;
        if (!this.halfOpen && !this.closedOut && !this.aborted) {
            this.closedOut = true;
            this.link.close(code, reason);
        }
        this.fire(new CloseEvent('close', { code, reason, wasClean: true }));
        this.release();
        this.settle();
    }
    #ended(code, reason, clean) {
        if (clean || this.closedIn) return;
        this.closedIn = this.aborted = true;
        if (code !== 1006) { // What the peer did wrong.
            this.error(new Error(`WebSocket protocol error; protocolError.statusCode = ${code}; protocolError.description = ${reason}`));
            this.fire(new CloseEvent('close', { code, reason, wasClean: false }));
        } else this.fire(new CloseEvent('close', { code, reason: LOST, wasClean: false }));
        this.settle();
    }
    error(error) {
        if (this.failed) return;
        this.failed = this.aborted = true;
        this.fire(new ErrorEvent('error', { message: `Uncaught ${error.name}: ${error.message}`, error }));
    }
    fire(event) {
        try {
            dispatch(this.socket, trust(event));
        } catch (error) {
            reportUncaught(error, 'websocket');
        }
    }
    release() {
        if (this.closedIn && this.closedOut && this.link instanceof Local) this.state = RELEASED;
    }
    check() {
        if (this.owner !== undefined) checkContext(this.owner, 'Native');
    }
    get over() {
        return (this.closedIn && (this.closedOut || this.aborted)) || this.failed;
    }
    settle() {
        if (this.done === null || !this.over) return;
        this.done();
        this.done = null;
    }
}

hide(Wire, Local, Pump, End);

export class WebSocket extends EventTarget {
    #end;
    #url = null;
    #protocol = '';
    #extensions = '';
    #attachment = null;

    constructor(url, protocols = undefined) {
        super();
        this.#end = new End(this);
        if (url === MAKE) {
            this.#end.state = WAITING;
            return;
        }
        if (arguments.length === 0) throw new TypeError("Failed to construct 'WebSocket': 1 argument required, but only 0 present.");
        const target = targetOf(`${url}`);
        const offered = protocolsOf(protocols);
        const context = needContext();
        this.#url = target.href.replace(/^http/, 'ws');
        this.#end.frame = currentFrame();
        this.#connect(context, target, offered);
    }

    #connect(context, target, offered) {
        const end = this.#end;
        then(
            connect(context, target, [], offered, false),
            (answer) => {
                const wire = answer[2], protocol = answer[3];
                if (end.state !== CONNECTING) return wire.abort(); // close() came first
                this.#protocol = protocol;
                end.state = WAITING;
                end.link = wire;
                end.accept(end.frame);
                end.fire(new Event('open'));
                wire.listen(end);
            },
            (error) => {
                if (end.state !== CONNECTING) return;
                end.state = RELEASED;
                fail(end, error);
            },
        );
    }

    accept(options = undefined) {
        const end = this.#end;
        end.check();
        if (end.state === CONNECTING || this.#url !== null) throw new TypeError("Websockets obtained from the 'new WebSocket()' constructor cannot call accept");
        if (end.state === RELEASED) throw new TypeError("Can't accept() WebSocket that was already used in a response.");
        if (end.hibernation !== null) throw new TypeError("Can't accept() WebSocket after enabling hibernation.");
        if (end.state === ACCEPTED) return;
        if (options?.allowHalfOpen !== undefined) end.halfOpen = Boolean(options.allowHalfOpen);
        needContext();
        end.accept(currentFrame());
        if (!(end.link instanceof Local)) end.link.listen(end);
    }

    send(message) {
        const end = this.#end;
        if (arguments.length === 0) throw new TypeError("Failed to execute 'send' on 'WebSocket': 1 argument required, but only 0 present.");
        if (typeof message !== 'string') {
            if (ArrayBuffer.isView(message) || isBuffer(message)) message = bytesOf(message);
            else if (message instanceof Blob) message = blobBytes(message);
            else message = `${message}`;
        }
        end.check();
        if (end.closedOut) throw new TypeError("Can't call WebSocket send() after close().");
        if (end.aborted || end.state === RELEASED) return;
        if (end.state === CONNECTING) throw new DOMException('The WebSocket is still connecting.', 'InvalidStateError');
        if (end.state !== ACCEPTED) throw new TypeError(UNACCEPTED);
        end.link.send(message);
    }

    close(code = undefined, reason = undefined) {
        const end = this.#end;
        if (code !== undefined) {
            code = Math.round(Math.min(Math.max(Number(code) || 0, 0), 0xffff));
            if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException(`Invalid WebSocket close code: ${code}.`, 'InvalidAccessError');
        }
        if (reason !== undefined) {
            reason = `${reason}`.toWellFormed();
            if (utf8_encode(reason).length > REASON_MAX) throw new DOMException('WebSocket close reason must not be longer than 123 bytes when UTF-8 encoded.', 'SyntaxError');
            if (code === undefined) throw new DOMException('If you specify a WebSocket close reason, you must also specify a code.', 'InvalidAccessError');
        }
        end.check();
        if (end.state === CONNECTING) {
            end.state = RELEASED;
            end.closedOut = true;
            startTimer(end.frame.context, 0, () => fail(end, new Error('Called close before connection was established.')));
            return;
        }
        if (end.closedOut || end.aborted || end.state === RELEASED) return;
        if (end.state !== ACCEPTED) throw new TypeError(UNACCEPTED);
        end.closedOut = true;
        end.link.close(code ?? NO_STATUS, reason ?? '');
        end.release();
        end.settle();
    }

    get readyState() {
        const end = this.#end;
        end.check();
        if (end.over) return 3;
        if (end.closedIn || end.closedOut) return 2;
        return end.state === CONNECTING ? 0 : 1;
    }
    get url() {
        return this.#url;
    }
    get protocol() {
        return this.#protocol;
    }
    get extensions() {
        return this.#extensions;
    }
    get bufferedAmount() {
        return this.#end.link?.unsent() ?? 0;
    }
    get binaryType() {
        return this.#end.binary;
    }
    set binaryType(value) {
        if (value === 'blob' || value === 'arraybuffer') this.#end.binary = value;
    }
    serializeAttachment(value) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'serializeAttachment' on 'WebSocket': 1 argument required, but only 0 present.");
        const bytes = ws_pack(value);
        if (bytes.length > ATTACHMENT_MAX) throw new Error(`A WebSocket 'attachment' cannot be larger than ${ATTACHMENT_MAX} bytes. 'attachment' was ${bytes.length} bytes.`);
        this.#attachment = bytes;
        this.#end.hibernation?.attach(bytes);
    }
    deserializeAttachment() {
        return this.#attachment === null ? null : ws_unpack(this.#attachment);
    }

    static internals = {
        isWebSocket: (v) => typeof v === 'object' && v !== null && #end in v,
        endOf: (socket) => socket.#end,
        // A hibernatable one, after the cell has come back.
        revive(link, hibernation, frame, attachment, closedIn, closedOut) {
            const socket = new WebSocket(MAKE);
            const end = socket.#end;
            Object.assign(end, { state: ACCEPTED, link, hibernation, frame, owner: frame.context, closedIn, closedOut });
            socket.#attachment = attachment ?? null;
            return socket;
        },
        // An open socket of the host that nobody has accepted yet.
        received(wire, protocol) {
            const socket = new WebSocket(MAKE);
            socket.#end.link = wire;
            socket.#protocol = protocol;
            return socket;
        },
    };
}
export const { isWebSocket } = WebSocket.internals;
const { endOf, received } = WebSocket.internals;
export const { revive } = WebSocket.internals;
delete WebSocket.internals;
handlerAttributes(WebSocket, 'open', 'message', 'close', 'error');
for (const [name, value] of Object.entries({ CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 })) {
    for (const target of [WebSocket, WebSocket.prototype]) {
        Object.defineProperty(target, name, { value, enumerable: true });
        Object.defineProperty(target, `READY_STATE_${name}`, { value, enumerable: true });
    }
}

function fail(end, error) {
    setFrame(end.frame);
    end.closedIn = true;
    end.error(error);
    end.fire(new CloseEvent('close', { code: 1006, reason: 'Failed to establish websocket connection', wasClean: false }));
}

export class WebSocketPair {
    constructor() {
        const sockets = [new WebSocket(MAKE), new WebSocket(MAKE)];
        const ends = sockets.map(endOf);
        for (let i = 0; i < 2; i++) {
            ends[i].peer = ends[1 - i];
            ends[i].link = new Local(ends[1 - i]);
            this[i] = sockets[i];
        }
    }
    *[Symbol.iterator]() {
        yield this[0];
        yield this[1];
    }
}

export class WebSocketRequestResponsePair {
    #request;
    #response;
    constructor(request, response) {
        if (arguments.length < 2) throw new TypeError(`Failed to construct 'WebSocketRequestResponsePair': 2 arguments required, but only ${arguments.length} present.`);
        this.#request = `${request}`;
        this.#response = `${response}`;
    }
    get request() {
        return this.#request;
    }
    get response() {
        return this.#response;
    }
}

// ---- A socket in a response

// Throws when a socket cannot be returned.
function checkReturnable(end) {
    if (end.state === CONNECTING || end.socket.url !== null) throw new TypeError("Can't return WebSocket in a Response if it was created with `new WebSocket()`");
    if (end.state === RELEASED) throw new TypeError("Can't return WebSocket that was already used in a response.");
    if (end.state === ACCEPTED) throw new TypeError("Can't return WebSocket in a Response after calling accept().");
}

// The socket of a response belongs to the event that got the response.
export function ownWebSocket(socket) {
    endOf(socket).owner = currentContext();
}

// A cell accepts one half of a pair for hibernation: make() gives what hears of it. Throws when that cannot be.
export function hibernate(socket, frame, make) {
    const end = endOf(socket);
    if (end.state === ACCEPTED && end.hibernation === null) throw new Error('Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`');
    if (end.state !== WAITING || end.peer === null || end.peer.state !== WAITING) throw new Error('Cannot call `acceptWebSocket()` on a WebSocket whose pair was already used, or that is no half of a pair');
    end.hibernation = make();
    end.accept(frame);
}
// The end of a hibernatable socket; undefined for others.
export function hibernationOf(socket) {
    const end = endOf(socket);
    return end.hibernation === null ? undefined : end;
}

// Connects a socket that nobody accepted with a wire.
function couple(end, wire) {
    end.state = RELEASED;
    const peer = end.peer;
    if (peer === null) { // It came in itself: pass everything on.
        const other = end.link;
        wire.listen(new Pump(other));
        other.listen(new Pump(wire));
        return;
    }
    const sent = end.waiting ?? [];
    end.waiting = null;
    peer.link = wire;
    for (let i = 0; i < sent.length; i += 4) {
        if (sent[i] === MESSAGE) wire.send(typeof sent[i + 1] === 'string' ? sent[i + 1] : new Uint8Array(sent[i + 1]));
        else if (sent[i] === CLOSING) wire.close(sent[i + 1], sent[i + 2]);
        else wire.abort();
    }
    if (peer.state === ACCEPTED) wire.listen(peer);
    else peer.accepting = () => wire.listen(peer);
}

// Answers the event's request with the socket of a response. fields: of the response's head. The event lives until the socket has
// closed. Throws, or rejects, when there is nothing to answer with.
export async function answerWebSocket(context, socket, fields) {
    const end = endOf(socket);
    checkReturnable(end);
    let protocol = '';
    const others = [];
    for (let i = 0; i < fields.length; i += 2) {
        const name = fields[i].toLowerCase();
        if (name === 'sec-websocket-protocol') protocol = fields[i + 1];
        else if (name !== 'upgrade' && name !== 'connection' && name !== 'content-length' && name !== 'transfer-encoding' && !name.startsWith('sec-websocket-')) push(others, fields[i], fields[i + 1]);
    }
    const far = end.peer === null ? end.link.number : undefined; // The socket of a cell.
    const handle = await startFor(context, answer_websocket, 101, '', others, protocol, far);
    end.state = RELEASED;
    if (handle === 0) return end.link.leave(); // The host passes on what comes.
    const wire = new Wire(handle, context);
    context.hold();
    context.sockets++;
    wire.onEnded = () => {
        context.sockets--;
        context.release();
    };
    couple(end, wire);
}

// The socket that an event gave to another one of this isolate, in a response: the event lives until the socket has closed, and hears
// when the other one ends.
export function lendWebSocket(socket, context, to) {
    const end = endOf(socket);
    checkReturnable(end);
    const { peer, link } = end;
    let open = true;
    const before = peer !== null ? peer.done : link.onEnded; // It may have come from a further event itself.
    context.hold();
    context.sockets++;
    const done = () => {
        if (!open) return;
        open = false;
        to.offEnd(lost);
        context.sockets--;
        context.release();
        before?.();
    };
    const lost = () => {
        if (peer !== null) peer.post(ENDED, 1006, '', false);
        else link.abort();
    };
    if (peer !== null) peer.done = done;
    else link.onEnded = done;
    to.onEnd(lost);
}

// A cell answers with a socket: makeLink() gives what it talks to from now on, a link like Wire. Returns the protocol that the answer
// names. Throws when it cannot be returned.
export function returnWebSocket(socket, makeLink, fields) {
    const end = endOf(socket);
    checkReturnable(end);
    couple(end, makeLink());
    for (let i = 0; i < fields.length; i += 2) if (fields[i].toLowerCase() === 'sec-websocket-protocol') return fields[i + 1];
    return '';
}
// Its other half was accepted for hibernation: the answer has gone out, and the wire goes over to the host. The session knows nothing of
// it from then on.
export function parkWebSocket(socket, session) {
    const { peer } = endOf(socket);
    if (peer !== null && peer.hibernation !== null && !session.over) peer.hibernation.park(peer, session.leave());
}
export { received as receivedWebSocket };

// ---- Sockets to servers

// Where a WebSocket goes, or a SyntaxError.
function targetOf(text) {
    const parts = parseUrlParts(text);
    if (parts === undefined) throw new DOMException('WebSocket Constructor: The url is invalid.', 'SyntaxError');
    if (parts.protocol !== 'ws:' && parts.protocol !== 'wss:' && parts.protocol !== 'http:' && parts.protocol !== 'https:') throw new DOMException('WebSocket Constructor: The url scheme must be ws or wss.', 'SyntaxError');
    if (parts.href.includes('#')) throw new DOMException('WebSocket Constructor: The url fragment must be empty.', 'SyntaxError');
    return parts;
}

function protocolsOf(protocols) {
    if (protocols === undefined || protocols === null) return [];
    const list = typeof protocols === 'object' && typeof protocols[Symbol.iterator] === 'function' ? [...protocols].map((p) => `${p}`) : [`${protocols}`];
    for (const p of list) if (!TOKEN.test(p)) throw new DOMException('WebSocket Constructor: The protocol header token is invalid.', 'SyntaxError');
    if (new Set(list.map((p) => p.toLowerCase())).size !== list.length) throw new DOMException('WebSocket Constructor: The protocols header cannot have repeating values.', 'SyntaxError');
    return list;
}

// A promise of [101, [], wire, protocol], or with `answers` of what came instead, [status, fields, body].
// target: { protocol, host, hostname, port, path }.
async function connect(context, target, fields, protocols, answers) {
    const secure = target.protocol === 'wss:' || target.protocol === 'https:';
    const hostname = target.hostname[0] === '[' ? target.hostname.slice(1, -1) : target.hostname;
    if (context.gate !== null && context.sockets >= limits.outboundWebSockets) throw new Error(`A Durable Object may have at most ${limits.outboundWebSockets} outbound WebSockets (CELLD_MAX_OUTBOUND_WEBSOCKETS).`);
    const answer = await startFor(context, ws_connect, hostname, target.port === '' ? (secure ? 443 : 80) : Number(target.port), target.host, target.path, fields, protocols.join(', '), secure, answers);
    if (answer[0] !== 101) return answer;
    const wire = (answer[2] = new Wire(answer[2], context));
    if (context.gate !== null) { // It keeps the cell in memory.
        context.hold();
        context.sockets++;
        wire.onEnded = () => {
            context.sockets--;
            context.release();
        };
    }
    return answer;
}

// What fetch asks with "Upgrade: websocket": { status, fields, source }, or { status: 101, fields, socket } that waits for accept().
export async function askWebSocket(context, url, fields) {
    const others = [];
    let protocols = [];
    for (let i = 0; i < fields.length; i += 2) {
        const name = fields[i].toLowerCase();
        if (name === 'sec-websocket-protocol') for (const p of fields[i + 1].split(',')) push(protocols, p.trim());
        else if (name !== 'upgrade' && name !== 'connection' && name !== 'host' && !name.startsWith('sec-websocket-')) push(others, fields[i], fields[i + 1]);
    }
    const answer = await connect(context, parseUrlParts(url), others, protocols, true);
    const status = answer[0], answered = answer[1];
    if (status !== 101) return { status, fields: answered, source: answer[2], socket: null };
    push(answered, 'Upgrade', 'websocket', 'Connection', 'Upgrade');
    if (answer[3] !== '') push(answered, 'Sec-WebSocket-Protocol', answer[3]);
    return { status, fields: answered, source: 0, socket: received(answer[2], answer[3]) };
}

expose({ WebSocket, WebSocketPair, WebSocketRequestResponsePair });
