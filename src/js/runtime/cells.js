// cells.js: Durable Objects: instances, what they get as ctx, and the deliveries to them. runtime.md 2; services.md 1.3.
//
// A cell has one Context from its start to its stop: all its deliveries own the same I/O, and what they start outlives them.
import { Context, Frame, addContext, contextOf, currentFrame, limits, replaceable, runIn, shape, startTimer, stopTimer } from './core.js';
import { Gate, Section } from './gate.js';
import { env } from './bindings.js';
import { textOfReset } from './cell_reset.js';
import { cellClass, loopback } from './worker.js';
import { DurableObject } from './workers.js';
import * as sockets from './cells_sockets.js';

const { cell_abort, cell_busy, cell_alarm_done, cell_socket_entered, report, now } = host;

const BLOCK_MAX_MS = 30000;
const BLOCK_TIMEOUT = 'A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and the Durable Object was reset.';

// What neighbours put in: newStorage(cell), storage.js; newId(className, text, name), namespaces.
export const parts = { newStorage: undefined, newId: undefined };

// ---- Cells

class CellContext extends Context {
    constructor(id) {
        super(id);
        this.gate = new Gate(this);
    }
    // Beyond the first hold, which is its life, something runs.
    hold() {
        if (this.holds++ === 1 && !this.ended) cell_busy(this.id, true);
    }
    release() {
        if (--this.holds === 1 && !this.ended) cell_busy(this.id, false);
    }
}

// One event of a cell: from its entry until its handler has settled, or was given up.
class Delivery {
    // limitMs: of its own, to be kept to the millisecond.
    constructor(cell, kind, limitMs, reject) {
        this.cell = cell;
        this.kind = kind;
        this.limitMs = limitMs ?? limits.handlerBudgetMs;
        this.reject = reject;
        this.startedAt = now();
        this.timer = limitMs === undefined ? 0 : startTimer(cell.context, limitMs, () => this.overrun(), true);
        cell.deliveries.add(this);
    }
    end() {
        if (this.timer !== 0) stopTimer(this.timer);
        if (this.cell.deliveries.delete(this)) this.cell.context.release();
    }
    overrun() {
        const error = new Error(`The handler did not settle within ${this.limitMs / 1000} seconds.`);
        overruns.add(error);
        this.cell.report(this.kind, error);
        this.end();
        this.reject(error);
    }
}
const overruns = new WeakSet(); // errors of those that were given up

export class Cell {
    constructor(id, className, text, name) {
        this.className = className;
        this.idText = text; // what follows the class in its scope
        this.name = name; // undefined when nobody told
        this.context = addContext(new CellContext(id));
        this.context.cell = this;
        this.instance = undefined;
        this.deliveries = new Set();
        this.sockets = null; // cells_sockets.js: id -> WebSocket
        this.server = null; // wire_cell.js: how its calls are served
    }
    get eventId() {
        return this.context.id;
    }
    // Whether methods may be called. runtime.md 6.1
    get callable() {
        return this.instance instanceof DurableObject;
    }

    construct() {
        const cls = cellClass(this.className);
        this.instance = new cls(new DurableObjectState(this), env());
    }

    // An error of it goes to the log, with its scope.
    report(where, error) {
        runIn(this.context.frame, report, undefined, where, error);
    }

    // The same, and nothing of an event that was given up, which said so itself.
    fail(where, error) {
        if (!overruns.has(error)) this.report(where, error);
    }

    // Runs fn as an event of the cell once the input gate lets it in: a promise of what it gives. limitMs: how long it may take.
    deliver(kind, fn, limitMs = undefined) {
        return this.#start(kind, fn, limitMs, this.context.gate.lets(undefined));
    }
    // The same, for what the gate has let in.
    run(kind, fn, limitMs = undefined) {
        return this.#start(kind, fn, limitMs, true);
    }
    #start(kind, fn, limitMs, open) {
        const { context } = this;
        context.hold();
        return new Promise((resolve, reject) => {
            const enter = () => {
                const delivery = new Delivery(this, kind, limitMs, reject);
                const over = (settle, value) => {
                    delivery.end();
                    settle(value);
                };
                let result;
                try {
                    result = fn();
                } catch (error) {
                    return over(reject, error);
                }
                if ((typeof result !== 'object' && typeof result !== 'function') || result === null) return over(resolve, result);
                Promise.resolve(result).then((value) => over(resolve, value), (error) => over(reject, error));
            };
            if (open) runIn(context.frame, enter);
            else context.gate.queue(() => runIn(context.frame, enter));
        });
    }

    // What the instance's handler gives, or throws: for answerRequest() of service_local.js.
    fetch(request) {
        const { instance } = this;
        if (typeof instance.fetch !== 'function') throw new Error('Handler does not export a fetch() function.');
        return instance.fetch(request);
    }

    // Discards the instance; does not return. Whoever waits for the cell gets the text.
    reset(error) {
        cell_abort(this.eventId, textOfReset(error));
    }

    // Runs fn while no other event of the cell does: a promise of what it gives. When it takes too long the cell is reset with the
    // text; fatal: also when it throws.
    block(fn, text = BLOCK_TIMEOUT, fatal = false) {
        const frame = currentFrame();
        const { context } = this;
        const { gate } = context;
        if (gate.holds(frame?.section)) {
            frame.section.enter();
            return this.#blocked(frame, fn, text, fatal);
        }
        const inner = new Frame(context, frame?.store, new Section());
        if (gate.take(inner.section, () => waits.resolve(this.#blocked(inner, fn, text, fatal)))) return this.#blocked(inner, fn, text, fatal);
        const waits = Promise.withResolvers();
        return waits.promise;
    }
    // The section of the frame holds the gate.
    #blocked(frame, fn, text, fatal) {
        const { context } = this;
        const { section } = frame;
        context.hold();
        const timer = runIn(frame, startTimer, undefined, context, BLOCK_MAX_MS, () => this.reset(new Error(text)), true);
        const over = () => {
            stopTimer(timer);
            if (--section.depth === 0) context.gate.release(section);
            context.release();
        };
        // Not at once: a constructor goes on to its end first.
        return Promise.resolve().then(() => runIn(frame, fn)).then(
            (value) => {
                over();
                return value;
            },
            (error) => {
                if (fatal) {
                    report('blockConcurrencyWhile', error);
                    this.reset(error);
                }
                over();
                throw error;
            },
        );
    }

    // Called every few seconds: gives up what is over its time. runtime.md 2.6
    sweep(at) {
        for (const delivery of this.deliveries) if (at - delivery.startedAt >= delivery.limitMs) delivery.overrun();
    }
}

// ---- ctx

// Runs fn in a turn of its own: what its caller still does, a constructor above all, comes first.
const inTurn = (context, fn) =>
    new Promise((resolve, reject) => {
        const run = () => {
            try {
                resolve(fn());
            } catch (error) {
                reject(error);
            }
        };
        startTimer(context, 0, run, true);
    });

const absent = (name) => new Error(`${name} is not implemented in celld`);

export class DurableObjectState {
    #cell;
    #id;
    #storage;
    #props = {};
    constructor(cell) {
        if (!(cell instanceof Cell)) throw new TypeError('Illegal constructor');
        this.#cell = cell;
        this.#id = parts.newId?.(cell.className, cell.idText, cell.name);
        this.#storage = parts.newStorage?.(cell);
    }
    get id() {
        return this.#id;
    }
    get storage() {
        return this.#storage;
    }
    get props() {
        return this.#props;
    }
    get exports() {
        return loopback();
    }
    get container() {
        return undefined;
    }
    get facets() {
        throw absent('ctx.facets');
    }
    waitUntil(promise) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'waitUntil' on 'DurableObjectState': 1 argument required, but only 0 present.");
        this.#cell.context.waitUntil(promise);
    }
    async blockConcurrencyWhile(fn) {
        if (typeof fn !== 'function') throw new TypeError("Failed to execute 'blockConcurrencyWhile' on 'DurableObjectState': parameter 1 is not of type 'Function'.");
        return this.#cell.block(() => inTurn(this.#cell.context, fn), BLOCK_TIMEOUT, true);
    }
    acceptWebSocket(socket, tags = undefined) {
        sockets.acceptWebSocket(this.#cell, socket, tags);
    }
    getWebSockets(tag = undefined) {
        return sockets.getWebSockets(this.#cell, tag);
    }
    getTags(socket) {
        return sockets.getTags(this.#cell, socket);
    }
    setWebSocketAutoResponse(pair = undefined) {
        sockets.setAutoResponse(this.#cell, pair);
    }
    getWebSocketAutoResponse() {
        return sockets.getAutoResponse(this.#cell);
    }
    getWebSocketAutoResponseTimestamp(socket) {
        return sockets.getAutoResponseTimestamp(this.#cell, socket);
    }
    setHibernatableWebSocketEventTimeout(ms = undefined) {
        sockets.setEventTimeout(this.#cell, ms);
    }
    getHibernatableWebSocketEventTimeout() {
        return sockets.getEventTimeout(this.#cell);
    }
    abort(reason = 'Application called abort() to reset Durable Object.', options = undefined) {
        if (options?.retryAlarm === false) throw absent('The option retryAlarm of ctx.abort()');
        this.#cell.reset(`${reason}`);
    }
}
shape(DurableObjectState);
replaceable(DurableObjectState, 'id', 'storage', 'props', 'exports', 'container', 'facets');

// ---- What the host calls

// Undefined when the instance was made; else the text of what is wrong.
export function cellStart(id, className, text, name) {
    const cell = new Cell(id, className, text, name);
    try {
        runIn(cell.context.frame, () => cell.construct());
    } catch (error) {
        cell.report('constructor', error);
        cell.context.end();
        return textOfReset(error);
    }
    return undefined;
}

export function cellStop(id) {
    contextOf(id)?.end();
}

const ALARM_OK = 0, ALARM_FAILED = 1, ALARM_EXCUSED = 2;

export function cellAlarm(id, scheduledTime, retryCount) {
    const { cell } = contextOf(id);
    const run = () => {
        const { instance } = cell;
        if (typeof instance.alarm !== 'function') throw new TypeError('Your Durable Object class must have an alarm() handler: an alarm was set, and now there is none.');
        return instance.alarm({ scheduledTime, retryCount, isRetry: retryCount > 0 });
    };
    cell.deliver('alarm', run).then(
        () => cell_alarm_done(id, ALARM_OK),
        (error) => {
            cell.fail('alarm', error);
            cell_alarm_done(id, overruns.has(error) ? ALARM_EXCUSED : ALARM_FAILED);
        },
    );
}

// Something has come for a socket that the host keeps: kinds as of websocket.js. True: it waits at the input gate, and what comes for
// the socket after it is to wait in the host.
export function cellSocket(id, socket, kind, a, b, clean) {
    const { cell } = contextOf(id);
    const { frame, gate } = cell.context;
    const enter = () => runIn(frame, sockets.receive, undefined, cell, socket, kind, a, b, clean);
    if (gate.lets(undefined)) return void enter();
    gate.queue(() => {
        cell_socket_entered(id, socket);
        enter();
    });
    return true;
}
