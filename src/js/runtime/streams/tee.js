// streams/tee.js: one stream becomes two. Streams standard, 4.9.1 (tee).
import { U8, deferred, lengthOf, resolved, sliceBuffer, then, window } from './base.js';
import { ByteController } from './byte.js';
import { CLOSED, READABLE, Reader, ReadableState, cancelStream, newReadable } from './readable.js';

export function tee(stream) {
    return stream.controller instanceof ByteController ? new ByteTee(stream).branches : new ValueTee(stream).branches;
}
const later = (fn) => then(resolved(undefined), fn);

// What both kinds do about cancellation: the stream is cancelled when both branches are. As on Workers, who cancels the first one
// does not wait for the other.
class Tee {
    stream; reading; cancelled; reasons; cancel;
    constructor(stream) {
        this.stream = stream;
        this.reading = false;
        this.cancelled = [false, false];
        this.reasons = [undefined, undefined];
        this.cancel = deferred();
    }
    cancelBranch(i, reason) {
        this.cancelled[i] = true;
        this.reasons[i] = reason;
        if (!this.cancelled[1 - i]) return undefined;
        this.cancel.resolve(cancelStream(this.stream, [this.reasons[0], this.reasons[1]]));
        return this.cancel.promise;
    }
    get allCancelled() {
        return this.cancelled[0] && this.cancelled[1];
    }
    failWith(reader, still = () => true) {
        then(reader.closed.promise, undefined, (error) => {
            if (!still()) return;
            for (const branch of this.branches) branch.controller.error(error);
            if (!this.allCancelled) this.cancel.resolve(undefined);
        });
    }
}

class ValueTee extends Tee {
    reader; again; branches;
    constructor(stream) {
        super(stream);
        this.reader = new Reader(stream, false);
        this.again = false;
        const pull = () => this.pull();
        this.branches = [0, 1].map((i) => newReadable(pull, (reason) => this.cancelBranch(i, reason)));
        this.failWith(this.reader);
    }
    pull() {
        if (this.reading) {
            this.again = true;
            return;
        }
        this.reading = true;
        this.reader.read(this);
    }
    chunk(value) {
        later(() => {
            this.again = false;
            for (let i = 0; i < 2; i++) if (!this.cancelled[i]) enqueue(this.branches[i].controller, value);
            this.reading = false;
            if (this.again) this.pull();
        });
    }
    close() {
        this.reading = false;
        for (let i = 0; i < 2; i++) if (!this.cancelled[i]) this.branches[i].controller.close();
        if (!this.allCancelled) this.cancel.resolve(undefined);
    }
    error() {
        this.reading = false;
    }
}
// A branch that was closed in the meantime takes nothing.
function enqueue(controller, value) {
    if (controller.open) controller.enqueue(value);
}

class ByteTee extends Tee {
    again; reader; branches;
    constructor(stream) {
        super(stream);
        this.again = [false, false];
        this.reader = new Reader(stream, false);
        this.branches = [0, 1].map((i) => {
            const branch = new ReadableState();
            new ByteController(branch, 0, () => this.pull(i), (reason) => this.cancelBranch(i, reason), undefined).begin(undefined);
            return branch;
        });
        this.watch();
    }
    watch() {
        const { reader } = this;
        this.failWith(reader, () => reader === this.reader);
    }
    use(byob) {
        if (this.reader.byob === byob) return;
        this.reader.release();
        this.reader = new Reader(this.stream, byob);
        this.watch();
    }
    pull(i) {
        if (this.reading) {
            this.again[i] = true;
            return;
        }
        this.reading = true;
        const { byobRequest } = this.branches[i].controller;
        if (byobRequest === null) this.readChunk();
        else this.readInto(i, byobRequest.view);
    }
    goOn() {
        this.reading = false;
        if (this.again[0]) this.pull(0);
        else if (this.again[1]) this.pull(1);
    }
    copyOf(chunk) {
        try {
            const w = window(chunk);
            return new U8(sliceBuffer(w.buffer, w.at, w.at + w.length));
        } catch (error) {
            for (const branch of this.branches) branch.controller.error(error);
            this.cancel.resolve(cancelStream(this.stream, error));
            return undefined;
        }
    }
    readChunk() {
        this.use(false);
        this.reader.read({
            chunk: (chunk) => later(() => {
                this.again[0] = this.again[1] = false;
                let other = chunk;
                if (!this.cancelled[0] && !this.cancelled[1]) {
                    other = this.copyOf(chunk);
                    if (other === undefined) return;
                }
                if (!this.cancelled[0]) this.branches[0].controller.enqueue(chunk);
                if (!this.cancelled[1]) this.branches[1].controller.enqueue(other);
                this.goOn();
            }),
            close: () => {
                this.reading = false;
                for (let i = 0; i < 2; i++) if (!this.cancelled[i]) this.branches[i].controller.close();
                for (const { controller } of this.branches) if (controller.intos.length > 0) controller.respond(0);
                if (!this.allCancelled) this.cancel.resolve(undefined);
            },
            error: () => (this.reading = false),
        });
    }
    // The other branch gets at once what the reader's buffer had no room for, too: it may have asked for more.
    share(others, mine, cancelled, bytes) {
        const { controller } = this.stream;
        if (this.stream.state === READABLE && controller.total > 0) {
            const rest = controller.take();
            const joined = new U8(bytes.byteLength + rest.byteLength);
            joined.set(bytes);
            joined.set(rest, bytes.byteLength);
            others.controller.enqueue(joined);
            if (!cancelled) mine.controller.enqueue(rest);
        } else others.controller.enqueue(bytes);
    }
    readInto(i, view) {
        this.use(true);
        const mine = this.branches[i], others = this.branches[1 - i];
        this.reader.readInto(window(view), 1, {
            chunk: (chunk) => later(() => {
                this.again[0] = this.again[1] = false;
                if (this.cancelled[1 - i]) {
                    if (!this.cancelled[i]) mine.controller.respondWithNewView(window(chunk));
                } else {
                    const other = this.copyOf(chunk);
                    if (other === undefined) return;
                    if (!this.cancelled[i]) mine.controller.respondWithNewView(window(chunk));
                    this.share(others, mine, this.cancelled[i], other);
                }
                this.goOn();
            }),
            close: (chunk) => {
                this.reading = false;
                if (!this.cancelled[i]) mine.controller.close();
                if (!this.cancelled[1 - i]) others.controller.close();
                if (chunk !== undefined) {
                    if (!this.cancelled[i] && mine.state === CLOSED && mine.controller.intos.length > 0 && lengthOf(window(chunk).buffer) > 0) mine.controller.respondWithNewView(window(chunk));
                    if (!this.cancelled[1 - i] && others.controller.intos.length > 0) others.controller.respond(0);
                }
                if (!this.allCancelled) this.cancel.resolve(undefined);
            },
            error: () => (this.reading = false),
        });
    }
}
