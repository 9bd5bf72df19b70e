// sockets.js: the module cloudflare:sockets: TCP connections. runtime.md 5.8.
import { checkContext, needContext, shape, startFor } from './core.js';
import { provideModule } from './builtin.js';
import { ReadableStream, bytesOf } from './streams.js';
import { WritableStream } from './streams/writable.js';
import { parseUrlParts } from './url.js';

const { tcp_connect, tcp_secure, tcp_write, tcp_abort, source_read, source_close } = host;
const MAKE = Object.freeze({});
const nothing = () => {};

class Socket {
    #context;
    #where;
    #secure;
    #halfOpen;
    #connected; // a promise of [handle, address]
    #upgraded = false;
    #opened;
    #handle; // a promise of the host's number
    #closed = Promise.withResolvers();
    #isClosed = false;
    #readable;
    #writable;
    #writeEnded = false;
    #readEnded = false;
    #failure = null; // { error }: it broke, or was never there

    // A socket to there, or one that goes on where another, which stays without TLS, has ended: from, a promise of [handle, address].
    constructor(make, where, secure, halfOpen, from = undefined, name = where.hostname) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        const context = (this.#context = needContext());
        this.#where = where;
        this.#secure = secure;
        this.#halfOpen = halfOpen;
        const connected = this.#start(context, from ?? startFor(context, tcp_connect, where.hostname, where.port), name);
        this.#connected = connected;
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

    async #start(context, from, name) {
        const connected = await from;
        if (this.#secure === 'on') {
            try {
                await startFor(context, tcp_secure, connected[0], name);
            } catch (error) {
                source_close(connected[0]);
                throw error;
            }
        }
        return connected;
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
        return this.#upgraded;
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
    // The connection goes on in the socket that this gives; this one ends.
    startTls(options = undefined) {
        if (this.#secure === 'on') throw new TypeError('Cannot startTls on a TLS socket.');
        if (this.#secure !== 'starttls') throw new TypeError("The `secureTransport` socket option must be set to 'starttls' for startTls to be used.");
        if (this.#upgraded) throw new TypeError('The socket has been upgraded already.');
        if (this.#isClosed) throw new TypeError('The socket is closed.');
        checkContext(this.#context, 'Socket');
        const name = options?.expectedServerHostname === undefined ? this.#where.hostname : `${options.expectedServerHostname}`;
        this.#upgraded = this.#isClosed = true;
        this.#closed.resolve();
        return new Socket(MAKE, this.#where, 'on', this.#halfOpen, this.#connected, name);
    }
}
shape(Socket);

// Web IDL: a number of type `unsigned short`, or `unsigned long long`, checked as workerd does.
function integer(value, max) {
    const n = Math.trunc(Number(value));
    if (!Number.isFinite(n)) throw new TypeError('The value cannot be converted because it is not an integer.');
    if (n < 0) throw new TypeError('The value cannot be converted because it is negative and this API expects a positive number.');
    if (n > max) throw new TypeError(`Value out of range. Must be less than or equal to ${max}.`);
    return n;
}

function addressOf(address) {
    if (typeof address === 'object' && address !== null) {
        const { hostname, port } = address;
        if (hostname === undefined) throw new TypeError('Specified address is missing hostname.');
        if (port === undefined) throw new TypeError('Specified address is missing port.');
        return { hostname: `${hostname}`.replace(/^\[(.*)\]$/, '$1'), port: integer(port, 65535) };
    }
    const parts = parseUrlParts(`fake://${address}`);
    if (parts === undefined) throw new TypeError('Specified address could not be parsed.');
    if (parts.hostname === '') throw new TypeError('Specified address is missing hostname.');
    if (parts.port === '') throw new TypeError('Specified address is missing port.');
    return { hostname: parts.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(parts.port) };
}

const HOST_NAME = /^[\w.:%-]{1,255}$/;

export function connect(address, options = undefined) {
    if (arguments.length === 0) throw new TypeError("Failed to execute 'connect': 1 argument required, but only 0 present.");
    if (options === null || (options !== undefined && typeof options !== 'object' && typeof options !== 'function')) {
        throw new TypeError("Failed to execute 'connect': parameter 2 is not of type 'SocketOptions'.");
    }
    const where = addressOf(address);
    if (options?.highWaterMark !== undefined) integer(options.highWaterMark, Number.MAX_SAFE_INTEGER); // Nothing is buffered beyond a write.
    if (!HOST_NAME.test(where.hostname)) throw new TypeError('Specified address is empty string, contains unsupported characters or is too long.');
    const secure = options?.secureTransport === undefined ? 'off' : `${options.secureTransport}`;
    if (secure !== 'off' && secure !== 'on' && secure !== 'starttls') throw new TypeError(`Unsupported value in secureTransport socket option: ${secure}`);
    return new Socket(MAKE, where, secure, Boolean(options?.allowHalfOpen));
}

provideModule('cloudflare:sockets', () => ({ connect, Socket, default: { connect } }));
