// wire_socket.js: a WebSocket over a wire: the answer to a request has brought it, and from then on the wire carries its messages.
//
// It is a link of websocket.js. Its messages are plain bytes, so that neither end needs JavaScript for them.
import { startTimer } from './core.js';
import { CLOSING as TOLD_CLOSING, ENDED as TOLD_ENDED, MESSAGE as TOLD_MESSAGE } from './websocket.js';
import { need } from './wire_session.js';
import { BINARY, CLOSING, ENDED, TEXT } from './wire_kinds.js';
import { hide, push } from './primordials.js';

const { wire_listen, wire_unsent } = host;

const WAITING_MAX = 1 << 20; // Until somebody listens; the rest waits in the wire.
const UNSENT_MAX = 64 << 20, TOO_SLOW = 1008; // As in ../wire_format.h.
const TOO_SLOW_TEXT = 'the other side takes messages too slowly: 64 MiB wait for it';

export class WireSocket {
    target = null; // whose receive() hears of it
    onEnded = null;
    #waiting = []; // what came before somebody listened
    #bytes = 0; // of that
    #slow = false;
    #sent = null; // what is to be sent once the answer has been
    #open = true;
    #in = true; // The other side may send.
    #out = true;

    constructor(session) {
        this.session = session;
        if (session.server !== undefined) this.#sent = [];
        else wire_listen(session.handle, false); // What comes can wait where it is, until somebody listens.
        session.socket = this;
        session.hold();
    }
    // At the caller's end: the wire, for the host.
    get number() {
        return this.session.handle;
    }
    // The host has taken the wire.
    leave() {
        this.#open = false;
        this.session.leave();
        this.onEnded?.();
    }
    // At the cell's end: the answer has been sent.
    start() {
        const sent = this.#sent ?? [];
        this.#sent = null;
        for (const [kind, id, value] of sent) this.#post(kind, id, value);
    }
    #post(kind, id, value) {
        if (!this.#open) return;
        if (this.#sent !== null) push(this.#sent, [kind, id, value]);
        else if (this.session.send(kind, id, value) > UNSENT_MAX && !this.#slow) {
            this.#slow = true; // Nothing of the sender is called from inside its send().
            startTimer(this.session.context, 0, () => this.#lose(TOO_SLOW, TOO_SLOW_TEXT));
        }
        if (kind === CLOSING) {
            this.#out = false;
            this.#settle();
        }
    }
    send(data) {
        this.#post(typeof data === 'string' ? TEXT : BINARY, 0, data);
    }
    close(code, reason) {
        this.#post(CLOSING, code, reason);
    }
    abort() {
        this.#post(ENDED, 1006, '');
        this.#end();
    }
    unsent() {
        return wire_unsent(this.session.handle);
    }
    listen(target) {
        this.target = target;
        if (this.session.server === undefined || this.#bytes >= WAITING_MAX) wire_listen(this.session.handle, true);
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const [kind, a, b, c] of waiting) target.receive(kind, a, b, c);
    }

    receive(kind, id, value) {
        need(this.#in, 'after the last of a socket');
        if (kind === TEXT) this.#tell(TOLD_MESSAGE, value);
        else if (kind === BINARY) this.#tell(TOLD_MESSAGE, value.buffer);
        else if (kind === CLOSING) {
            this.#in = false;
            this.#tell(TOLD_CLOSING, id, value, true);
            this.#settle();
        } else this.#lose(id, value);
    }
    lost() {
        if (this.#in && this.target?.lost !== undefined) this.target.lost();
        else if (this.#in) this.#lose(1006, '');
        this.#end();
    }
    #lose(code, reason) {
        this.#in = false;
        if (this.#open) this.#tell(TOLD_ENDED, code, reason, false);
        this.#end();
    }
    #tell(kind, a, b, c) {
        if (this.target === null) {
            push(this.#waiting, [kind, a, b, c]);
            this.#bytes += typeof a === 'string' ? a.length : a?.byteLength ?? 0;
            if (this.#bytes >= WAITING_MAX) wire_listen(this.session.handle, false);
        } else this.target.receive(kind, a, b, c);
    }
    #settle() {
        if (!this.#in && !this.#out) this.#end();
    }
    #end() {
        if (!this.#open) return;
        this.#open = false;
        this.onEnded?.();
        if (this.session.socket === this) this.session.socket = null;
        this.session.drop();
    }
}

hide(WireSocket);
