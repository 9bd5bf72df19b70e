// sockets.js: the module cloudflare:sockets: TCP connections. runtime.md 5.8.
import { checkContext, needContext, shape, startFor } from './core.js';
import { provideModule } from './builtin.js';
import { ReadableStream, bytesOf } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { parseUrlParts } from './url.js';

const { tcp_connect, tcp_write, tcp_abort, source_read, source_close } = host;
const MAKE = Object.freeze({});
const NO_TLS = 'because its sockets have no TLS';
const nothing = () => {};

class Socket {
    #context;
    #secure;
    #halfOpen;
    #opened;
    #handle; // a promise of the host's number
    #closed = Promise.withResolvers();
    #isClosed = false;
    #readable;
    #writable;
    #writeEnded = false;
    #readEnded = false;
    #failure = null; // { error }: it broke, or was never there

    constructor(make, { hostname, port }, secure, halfOpen) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        const context = (this.#context = needContext());
        this.#secure = secure;
        this.#halfOpen = halfOpen;
        const connected = startFor(context, tcp_connect, hostname, port);
        this.#handle = connected.then(([handle]) => handle);
        this.#opened = connected.then(([, remoteAddress]) => ({ remoteAddress, localAddress: undefined }));
        connected.catch((error) => this.#lost(error));
        this.#handle.catch(nothing);
        this.#opened.catch(nothing);
        this.#closed.promise.catch(nothing);
        this.#readable = new ReadableStream({
            type: 'bytes',
            pull: (controller) => this.#pull(controller),
            cancel: () => this.close(),
        }, { highWaterMark: 0 });
        this.#writable = new WritableStream({
            write: (chunk) => this.#write(chunk),
            close: () => this.#finish(),
            abort: (reason) => this.#abort(reason),
        });
    }

    async #pull(controller) {
        checkContext(this.#context, 'Socket');
        if (this.#failure !== null) throw this.#failure.error;
        let chunk;
        try {
            chunk = this.#isClosed ? undefined : await startFor(this.#context, source_read, await this.#handle);
        } catch (error) {
            if (!this.#isClosed) {
                this.#lost(error);
                throw error;
            }
        }
        if (chunk !== undefined) return controller.enqueue(chunk);
        controller.close();
        controller.byobRequest?.respond(0);
        this.#readEnded = true;
        if (!this.#halfOpen || this.#writeEnded) await this.close();
    }
    async #write(chunk) {
        checkContext(this.#context, 'Socket');
        const bytes = bytesOf(chunk);
        if (bytes.byteLength === 0) return;
        try {
            await startFor(this.#context, tcp_write, await this.#handle, bytes);
        } catch (error) {
            this.#lost(error);
            throw error;
        }
    }
    async #finish() {
        this.#writeEnded = true;
        if (this.#isClosed) return;
        await startFor(this.#context, tcp_write, await this.#handle, undefined);
        if (this.#readEnded) await this.close();
    }
    async #abort(reason) {
        this.#isClosed = true;
        tcp_abort(await this.#handle);
        this.#closed.reject(reason);
    }
    #lost(error) {
        if (this.#isClosed) return;
        this.#isClosed = true;
        this.#failure = { error };
        this.#handle.then((handle) => source_close(handle), nothing);
        this.#closed.reject(error);
    }

    get readable() {
        return this.#readable;
    }
    get writable() {
        return this.#writable;
    }
    get opened() {
        return this.#opened;
    }
    get closed() {
        return this.#closed.promise;
    }
    get upgraded() {
        return false;
    }
    get secureTransport() {
        return this.#secure;
    }
    // What was written is still sent.
    close() {
        if (this.#isClosed) return this.#closed.promise.catch(nothing);
        this.#isClosed = true;
        return this.#handle.then((handle) => {
            source_close(handle);
            this.#closed.resolve();
        }, nothing);
    }
    startTls() {
        if (this.#secure !== 'starttls') throw new TypeError("The `secureTransport` socket option must be set to 'starttls' for startTls to be used.");
        throw new Error(`startTls() is not implemented in celld, ${NO_TLS}.`);
    }
}
shape(Socket);

function addressOf(address) {
    if (typeof address === 'object' && address !== null) {
        const hostname = `${address.hostname}`, port = Number(address.port);
        if (address.hostname === undefined) throw new TypeError('Specified address is missing hostname.');
        if (address.port === undefined) throw new TypeError('Specified address is missing port.');
        return { hostname, port };
    }
    const parts = parseUrlParts(`fake://${address}`);
    if (parts === undefined) throw new TypeError('Specified address could not be parsed.');
    if (parts.hostname === '') throw new TypeError('Specified address is missing hostname.');
    if (parts.port === '') throw new TypeError('Specified address is missing port.');
    return { hostname: parts.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(parts.port) };
}

export function connect(address, options = undefined) {
    if (arguments.length === 0) throw new TypeError("Failed to execute 'connect': 1 argument required, but only 0 present.");
    const where = addressOf(address);
    if (!/^[\w.:%-]+$/.test(where.hostname)) throw new TypeError('Specified address is empty string, contains unsupported characters or is too long.');
    const secure = options?.secureTransport === undefined ? 'off' : `${options.secureTransport}`;
    if (secure !== 'off' && secure !== 'on' && secure !== 'starttls') throw new TypeError(`Unsupported value in secureTransport socket option: ${secure}`);
    if (secure === 'on') throw new Error(`connect() with secureTransport "on" is not implemented in celld, ${NO_TLS}.`);
    return new Socket(MAKE, where, secure, Boolean(options?.allowHalfOpen));
}

provideModule('cloudflare:sockets', () => ({ connect, Socket, default: { connect } }));
