// cells_sockets.js: hibernatable WebSockets: what a cell accepted with ctx.acceptWebSocket(). services.md 1.8.
//
// The host keeps such a socket (../cell_sockets.c): its wire, tags, attachment. A WebSocket here is only how the instance of now sees
// it, made when it is first needed; there is one for each as long as the instance lives.
import { CLOSING, MESSAGE, hibernate, hibernationOf, revive, isWebSocket, WebSocketRequestResponsePair } from './websocket.js';

const {
    cell_socket_new, cell_socket_park, cell_socket_info, cell_socket_attach, cell_socket_send, cell_socket_unsent, cell_socket_close, cell_socket_drop, cell_sockets,
    cell_auto_response, cell_auto_time, cell_event_timeout, utf8_encode,
} = host;

const TAGS_MAX = 10, TAG_MAX = 256, AUTO_MAX = 2048;
const TIMEOUT_MAX = 604800000;
const nothing = () => {};

// How a socket that the host keeps is spoken to: a link of websocket.js. What comes is told to receive(), so nobody listens to it.
class HostLink {
    constructor(cell, id) {
        this.cell = cell;
        this.id = id;
    }
    send(data) {
        cell_socket_send(this.cell.eventId, this.id, data);
    }
    close(code, reason) {
        cell_socket_close(this.cell.eventId, this.id, code, reason);
    }
    abort() {
        cell_socket_drop(this.cell.eventId, this.id, true);
    }
    unsent() {
        return cell_socket_unsent(this.cell.eventId, this.id);
    }
}

class Hibernation {
    socket = null;
    constructor(cell, id, tags) {
        this.cell = cell;
        this.id = id;
        this.tags = tags;
    }
    attach(bytes) {
        cell_socket_attach(this.cell.eventId, this.id, bytes);
    }
    // The request was answered with the other half: the wire carries the socket from now on, and belongs to the host.
    park(end, wire) {
        end.link = new HostLink(this.cell, this.id);
        cell_socket_park(this.cell.eventId, this.id, wire, end.closedOut);
    }
    receive(end, kind, a, b, clean) {
        const { cell, socket } = this;
        if (end.closedIn) return;
        if (kind === MESSAGE) return this.#run('webSocketMessage', socket, a);
        end.closedIn = true;
        if (kind === CLOSING) {
            const answer = () => {
                if (end.halfOpen || end.closedOut) return;
                end.closedOut = true;
                end.link.close(a, b);
            };
            return this.#last(end, answer, 'webSocketClose', socket, a, b, true); // It may close with a code of its own.
        }
        end.aborted = true;
        if (typeof cell.instance.webSocketError === 'function') return this.#last(end, nothing, 'webSocketError', socket, new Error(a === 1006 ? 'WebSocket disconnected without sending Close frame.' : `WebSocket protocol error ${a}: ${b}`));
        return this.#last(end, nothing, 'webSocketClose', socket, a, b, clean);
    }
    #run(name, ...args) {
        const { cell } = this;
        const call = () => {
            const { instance } = cell;
            return typeof instance[name] === 'function' ? instance[name](...args) : undefined;
        };
        return cell.run(name, call, cell_event_timeout(cell.eventId)).catch((error) => cell.fail(name, error));
    }
    #last(end, answer, name, ...args) {
        this.#run(name, ...args).then(() => {
            if (!this.cell.context.ended) answer();
            end.aborted = true;
            this.cell.sockets.delete(this.id);
            if (!this.cell.context.ended) cell_socket_drop(this.cell.eventId, this.id, !end.closedOut);
        }, nothing);
    }
}

// The WebSocket of that number.
function socketOf(cell, id) {
    cell.sockets ??= new Map();
    let socket = cell.sockets.get(id);
    if (socket !== undefined) return socket;
    const info = cell_socket_info(cell.eventId, id);
    if (info === undefined) return undefined;
    const [tags, attachment, closedIn, closedOut] = info;
    const hibernation = new Hibernation(cell, id, tags);
    socket = revive(new HostLink(cell, id), hibernation, cell.context.frame, attachment, closedIn, closedOut);
    hibernation.socket = socket;
    cell.sockets.set(id, socket);
    return socket;
}

// Called by cells.js when something has come for a socket and the input gate lets it in.
export function receive(cell, id, kind, a, b, clean) {
    const socket = socketOf(cell, id);
    if (socket !== undefined) hibernationOf(socket).receive(kind, a, b, clean);
}

function checkTags(tags) {
    if (tags === undefined || tags === null) return [];
    if (typeof tags !== 'object') throw new TypeError("Failed to execute 'acceptWebSocket' on 'DurableObjectState': parameter 2 is not a list of tags.");
    const list = [...new Set([...tags].map((tag) => `${tag}`))];
    if (list.length > TAGS_MAX) throw new Error(`a Hibernatable WebSocket cannot have more than ${TAGS_MAX} tags`);
    for (const tag of list) if (tag.length > TAG_MAX) throw new Error(`"${tag}" is longer than the max tag length (${TAG_MAX} characters).`);
    return list;
}

export function acceptWebSocket(cell, socket, tags) {
    if (!isWebSocket(socket)) throw new TypeError("Failed to execute 'acceptWebSocket' on 'DurableObjectState': parameter 1 is not of type 'WebSocket'.");
    const list = checkTags(tags);
    hibernate(socket, cell.context.frame, () => {
        const hibernation = new Hibernation(cell, cell_socket_new(cell.eventId, list), list);
        hibernation.socket = socket;
        (cell.sockets ??= new Map()).set(hibernation.id, socket);
        return hibernation;
    });
}

export const getWebSockets = (cell, tag) => cell_sockets(cell.eventId, tag === undefined ? undefined : `${tag}`).map((id) => socketOf(cell, id));

// The record of a socket that this cell accepted.
function own(cell, socket, what) {
    if (!isWebSocket(socket)) throw new TypeError('The parameter is not of type WebSocket.');
    const hibernation = hibernationOf(socket)?.hibernation;
    if (hibernation === undefined || hibernation.cell !== cell) throw new Error(what);
    return hibernation;
}

export const getTags = (cell, socket) => [...own(cell, socket, 'only hibernatable websockets can have tags.').tags];

export function setAutoResponse(cell, pair) {
    if (pair === undefined || pair === null) return cell_auto_response(cell.eventId, null);
    if (!(pair instanceof WebSocketRequestResponsePair)) throw new TypeError("Failed to execute 'setWebSocketAutoResponse' on 'DurableObjectState': parameter 1 is not of type 'WebSocketRequestResponsePair'.");
    for (const [what, text] of [['Request', pair.request], ['Response', pair.response]]) {
        const { length } = utf8_encode(text);
        if (length > AUTO_MAX) throw new RangeError(`${what} cannot be larger than ${AUTO_MAX} bytes. A ${what.toLowerCase()} of size ${length} was provided.`);
    }
    return cell_auto_response(cell.eventId, pair.request, pair.response);
}
export function getAutoResponse(cell) {
    const pair = cell_auto_response(cell.eventId);
    return pair === undefined ? null : new WebSocketRequestResponsePair(pair[0], pair[1]);
}
export function getAutoResponseTimestamp(cell, socket) {
    const ms = cell_auto_time(cell.eventId, own(cell, socket, 'only hibernatable websockets have auto-responses.').id);
    return ms < 0 ? null : new Date(ms);
}

export function setEventTimeout(cell, ms) {
    if (ms === undefined || ms === null) return void cell_event_timeout(cell.eventId, 0);
    ms = Math.trunc(Number(ms));
    if (!(ms >= 0)) throw new TypeError('An event timeout is a number of milliseconds that is not negative.');
    if (ms > TIMEOUT_MAX) throw new Error(`Event timeout should not exceed ${TIMEOUT_MAX} ms.`);
    cell_event_timeout(cell.eventId, ms);
}
export const getEventTimeout = (cell) => cell_event_timeout(cell.eventId) ?? null;
