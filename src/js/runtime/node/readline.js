// node/readline.js: node:readline: lines of a stream, and the escape sequences of terminals. There is no terminal: without an input
// no line ever comes, and a question is answered with nothing.
import EventEmitter from './events.js';
import { StringDecoder } from './string_decoder.js';
import { AbortError, validateAbortSignal } from './errors.js';

// Writes a sequence to a stream that can be written; false: there is none.
function send(stream, sequence, callback) {
    if (stream === null || typeof stream !== 'object' || typeof stream.write !== 'function') {
        if (typeof callback === 'function') globalThis.process.nextTick(callback, null);
        return false;
    }
    return stream.write(sequence, callback);
}
const CLEAR_LINE = { '-1': '\x1b[1K', 0: '\x1b[2K', 1: '\x1b[0K' };
const to = (x, y) => (typeof y === 'number' ? `\x1b[${y + 1};${x + 1}H` : `\x1b[${x + 1}G`);
function by(dx, dy) {
    let text = '';
    if (dx < 0) text += `\x1b[${-dx}D`;
    else if (dx > 0) text += `\x1b[${dx}C`;
    if (dy < 0) text += `\x1b[${-dy}A`;
    else if (dy > 0) text += `\x1b[${dy}B`;
    return text;
}
export const clearLine = (stream, dir, callback) => send(stream, CLEAR_LINE[Math.sign(dir) || 0], callback);
export const clearScreenDown = (stream, callback) => send(stream, '\x1b[0J', callback);
export function cursorTo(stream, x, y, callback) {
    if (typeof y === 'function') [callback, y] = [y, undefined];
    return send(stream, to(Number(x) || 0, y), callback);
}
export const moveCursor = (stream, dx, dy, callback) => send(stream, by(Number(dx) || 0, Number(dy) || 0), callback);
export function emitKeypressEvents() {} // No input is a keyboard.

const isStream = (v) => v !== null && typeof v === 'object' && typeof v.on === 'function';

export class Interface extends EventEmitter {
    #decoder = new StringDecoder('utf8');
    #rest = '';
    #prompt;
    #asked; // callback of a question
    #input;
    #output;
    constructor(options, output) {
        super();
        if (isStream(options)) options = { input: options, output };
        options ??= {};
        this.terminal = false;
        this.line = '';
        this.cursor = 0;
        this.closed = false;
        this.#prompt = options.prompt ?? '';
        this.input = this.#input = isStream(options.input) ? options.input : undefined;
        this.output = this.#output = options.output;
        if (this.#input === undefined) return;
        this.#input.on('data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk)));
        this.#input.on('end', () => {
            const last = this.#rest + this.#decoder.end();
            this.#rest = '';
            if (last !== '') this.#line(last);
            this.close();
        });
        this.#input.on('error', (error) => this.emit('error', error));
        options.signal?.addEventListener('abort', () => this.close(), { once: true });
    }
    #take(text) {
        const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)|[\u2028\u2029]/);
        this.#rest = lines.pop();
        for (const line of lines) this.#line(line);
    }
    #line(line) {
        const asked = this.#asked;
        this.#asked = undefined;
        if (asked !== undefined) asked(line);
        else this.emit('line', line);
    }
    getPrompt() {
        return this.#prompt;
    }
    setPrompt(prompt) {
        this.#prompt = prompt;
    }
    prompt() {
        send(this.#output, this.#prompt);
    }
    question(query, options, callback) {
        if (typeof options === 'function') [callback, options] = [options, {}];
        send(this.#output, query);
        if (this.#input === undefined) return callback('');
        const signal = options?.signal;
        validateAbortSignal(signal, 'options.signal');
        signal?.addEventListener('abort', () => (this.#asked = undefined), { once: true });
        this.#asked = callback;
        return undefined;
    }
    pause() {
        this.#input?.pause();
        this.emit('pause');
        return this;
    }
    resume() {
        this.#input?.resume();
        this.emit('resume');
        return this;
    }
    close() {
        if (this.closed) return;
        this.closed = true;
        this.#input?.pause();
        this.emit('close');
    }
    write(data) {
        if (data !== undefined && data !== null && !this.closed) this.#take(String(data));
    }
    getCursorPos() {
        return { rows: 0, cols: 0 };
    }
    async *[Symbol.asyncIterator]() {
        const lines = [];
        let wake;
        const more = (line) => {
            if (line !== undefined) lines.push(line);
            wake?.();
        };
        this.on('line', more);
        this.on('close', () => more());
        for (;;) {
            while (lines.length > 0) yield lines.shift();
            if (this.closed) return;
            await new Promise((resolve) => (wake = resolve));
        }
    }
    [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
        this.close();
    }
}

// ---- node:readline/promises

class PromisesInterface extends Interface {
    question(query, options = {}) {
        const { signal } = options;
        return new Promise((resolve, reject) => {
            if (signal?.aborted) return reject(new AbortError(undefined, { cause: signal.reason }));
            signal?.addEventListener('abort', () => reject(new AbortError(undefined, { cause: signal.reason })), { once: true });
            return super.question(query, options, resolve);
        });
    }
}
class Readline {
    #stream;
    #auto;
    #todo = '';
    constructor(stream, options = {}) {
        this.#stream = stream;
        this.#auto = options.autoCommit === true;
    }
    #add(sequence) {
        if (this.#auto) send(this.#stream, sequence);
        else this.#todo += sequence;
        return this;
    }
    clearLine(dir) {
        return this.#add(CLEAR_LINE[Math.sign(dir) || 0]);
    }
    clearScreenDown() {
        return this.#add('\x1b[0J');
    }
    cursorTo(x, y) {
        return this.#add(to(x, y));
    }
    moveCursor(dx, dy) {
        return this.#add(by(dx, dy));
    }
    commit() {
        return new Promise((resolve) => {
            const todo = this.#todo;
            this.#todo = '';
            send(this.#stream, todo, () => resolve());
        });
    }
    rollback() {
        this.#todo = '';
        return this;
    }
}
Object.defineProperty(PromisesInterface, 'name', { value: 'Interface', configurable: true });

export const promises = { Interface: PromisesInterface, Readline, createInterface: (...args) => new PromisesInterface(...args) };
export default {
    Interface,
    clearLine,
    clearScreenDown,
    createInterface: (...args) => new Interface(...args),
    cursorTo,
    emitKeypressEvents,
    moveCursor,
    promises,
};
