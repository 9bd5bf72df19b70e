// streams/iterate.js: streams as async iterables, and the other way round. Streams standard, 4.2.5 and 4.9.1.
import { apply, deferred, rejected, resolved, then } from './base.js';
import { READABLE, cancelStream, checkReadable } from './readable.js';

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

class Position {
    #reader;
    #preventCancel;
    #ended = false;
    #going = undefined; // the promise of the call before, until it is settled
    constructor(reader, preventCancel) {
        this.#reader = reader;
        this.#preventCancel = preventCancel;
    }
    #queue(step) {
        const promise = this.#going === undefined ? step() : then(this.#going, step, step);
        this.#going = promise;
        const done = () => {
            if (this.#going === promise) this.#going = undefined;
        };
        then(promise, done, done);
        return promise;
    }
    #read() {
        if (this.#ended) return resolved({ value: undefined, done: true });
        const { promise, resolve, reject } = deferred();
        this.#reader.read({
            chunk: (value) => resolve({ value, done: false }),
            close: () => {
                this.#end();
                resolve({ value: undefined, done: true });
            },
            error: (error) => {
                this.#end();
                reject(error);
            },
        });
        return then(promise, (result) => result);
    }
    #end() {
        this.#ended = true;
        if (this.#reader.stream !== undefined) this.#reader.release();
    }
    #finish(value) {
        if (this.#ended) return resolved({ value, done: true });
        const { stream } = this.#reader;
        if (this.#preventCancel) {
            this.#end();
            return resolved({ value, done: true });
        }
        const cancelled = cancelStream(stream, value);
        this.#end();
        return then(cancelled, () => ({ value, done: true }));
    }
    static next(it) {
        const { stream } = it.#reader;
        try {
            if (stream !== undefined) checkReadable(stream);
        } catch (error) {
            return rejected(error);
        }
        if (it.#going === undefined && !it.#ended && stream.state === READABLE && stream.controller.queue.length > 0) {
            stream.disturbed = true;
            return resolved({ value: stream.controller.take(), done: false });
        }
        return it.#queue(() => it.#read());
    }
    static finish(it, value) {
        return it.#queue(() => it.#finish(value));
    }
}
const { next, finish } = Position;
const StreamIterator = Object.create(AsyncIteratorPrototype, {
    [Symbol.toStringTag]: { value: 'ReadableStream AsyncIterator', configurable: true },
});
for (const [key, value] of Object.entries({
    next() {
        try {
            return next(this);
        } catch (error) {
            return rejected(error);
        }
    },
    return(value) {
        try {
            return finish(this, value);
        } catch (error) {
            return rejected(error);
        }
    },
})) Object.defineProperty(StreamIterator, key, { value, writable: true, configurable: true, enumerable: true });

export const iteratorOf = (reader, preventCancel) => Object.setPrototypeOf(new Position(reader, preventCancel), StreamIterator);

// ---- ReadableStream.from

const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';

// A sync iterator as an async one: the values of its results are awaited.
function asyncOf(iterator) {
    const nextOf = iterator.next;
    const unwrap = (result) => {
        if (!isObject(result)) throw new TypeError('The result of the iterator is not an object.');
        const done = Boolean(result.done);
        return then(resolved(result.value), (value) => ({ value, done }));
    };
    return {
        next: () => unwrap(apply(nextOf, iterator, [])),
        return(reason) {
            const fn = iterator.return;
            return fn === undefined || fn === null ? { done: true, value: reason } : unwrap(apply(fn, iterator, [reason]));
        },
    };
}

function iteratorFrom(iterable) {
    if (iterable === undefined || iterable === null) throw new TypeError('The argument of ReadableStream.from() is not iterable.');
    const method = iterable[Symbol.asyncIterator];
    if (method !== undefined && method !== null) {
        if (typeof method !== 'function') throw new TypeError('The argument of ReadableStream.from() is not iterable.');
        const iterator = apply(method, iterable, []);
        if (!isObject(iterator)) throw new TypeError('The iterator is not an object.');
        return [iterator, iterator.next];
    }
    const sync = iterable[Symbol.iterator];
    if (typeof sync !== 'function') throw new TypeError('The argument of ReadableStream.from() is not iterable.');
    const iterator = apply(sync, iterable, []);
    if (!isObject(iterator)) throw new TypeError('The iterator is not an object.');
    const wrapped = asyncOf(iterator);
    return [wrapped, wrapped.next];
}

// { pull, cancel } for newReadable.
export function sourceOfIterable(iterable) {
    const [iterator, nextOf] = iteratorFrom(iterable);
    return {
        pull(controller) {
            return then(resolved(apply(nextOf, iterator, [])), (result) => {
                if (!isObject(result)) throw new TypeError('The result of the iterator is not an object.');
                if (result.done) controller.close();
                else controller.enqueue(result.value);
            });
        },
        cancel(reason) {
            const fn = iterator.return;
            if (fn === undefined || fn === null) return undefined;
            return then(resolved(apply(fn, iterator, [reason])), (result) => {
                if (!isObject(result)) throw new TypeError('The result of the iterator is not an object.');
            });
        },
    };
}
