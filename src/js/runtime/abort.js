// abort.js: AbortController and AbortSignal. runtime.md 5.6; DOM standard, 3.
//
// A signal made by any() is known to its sources weakly, so that a long-lived source does not collect the short-lived signals that
// depend on it; as long as somebody listens to one, it is kept by its sources.
import { checkContext, currentContext, expose, needContext, startTimer } from './core.js';
import { Set } from './primordials.js';
import { DOMException, Event, EventTarget, dispatch, handlerAttributes, hears, provideSignals, trust } from './events.js';

const MAKE = Object.freeze({});

export class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #steps = null; // Set of functions: what the runtime does first
    #sources = null; // of any(): Set of signals
    #dependents = null; // Set of WeakRef
    #kept = null; // Set of dependents that somebody listens to
    #context; // who may use it

    constructor(make, context = currentContext()) {
        if (make !== MAKE) throw new TypeError('Illegal constructor');
        super();
        this.#context = context;
    }
    #check() {
        if (this.#context !== undefined) checkContext(this.#context, 'RefcountedCanceler');
    }

    static abort(reason = new DOMException('The operation was aborted', 'AbortError')) {
        const signal = new AbortSignal(MAKE);
        signal.#aborted = true;
        signal.#reason = reason;
        return signal;
    }

    static timeout(milliseconds) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'timeout' on 'AbortSignal': 1 argument required, but only 0 present.");
        const ms = Number(milliseconds);
        if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) throw new TypeError("Failed to execute 'timeout' on 'AbortSignal': the value is outside of the range of an unsigned long long.");
        const signal = new AbortSignal(MAKE);
        startTimer(needContext(), Math.trunc(ms), () => signal.#abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
        return signal;
    }

    static any(signals) {
        if (arguments.length === 0) throw new TypeError("Failed to execute 'any' on 'AbortSignal': 1 argument required, but only 0 present.");
        const given = [...signals];
        for (const s of given) if (!isSignal(s)) throw new TypeError("Failed to execute 'any' on 'AbortSignal': an element is not an AbortSignal.");
        const signal = new AbortSignal(MAKE);
        for (const s of given) {
            s.#check();
            if (s.#aborted) {
                signal.#aborted = true;
                signal.#reason = s.#reason;
                return signal;
            }
        }
        const sources = (signal.#sources = new Set());
        for (const s of given) {
            if (s.#sources === null) sources.add(s);
            else for (const source of s.#sources) sources.add(source);
        }
        for (const source of sources) source.#adopt(signal);
        return signal;
    }

    #adopt(signal) {
        const dependents = (this.#dependents ??= new Set());
        dependents.add(new WeakRef(signal));
        if (dependents.size % 64 === 0) for (const ref of dependents) if (ref.deref() === undefined) dependents.delete(ref);
    }

    // Somebody listens to a signal that depends on others, or nobody does any more.
    #keep() {
        if (this.#sources === null || this.#aborted) return;
        const heard = this.#steps !== null || hears(this, 'abort');
        for (const source of this.#sources) {
            if (heard) (source.#kept ??= new Set()).add(this);
            else source.#kept?.delete(this);
        }
    }

    get aborted() {
        this.#check();
        return this.#aborted;
    }
    get reason() {
        return this.#reason;
    }
    throwIfAborted() {
        this.#check();
        if (this.#aborted) throw this.#reason;
    }

    #abort(reason) {
        if (this.#aborted) return;
        const all = [this];
        this.#mark(reason);
        if (this.#dependents !== null) {
            for (const ref of this.#dependents) {
                const signal = ref.deref();
                if (signal === undefined || signal.#aborted) continue;
                signal.#mark(reason);
                all[all.length] = signal;
            }
        }
        this.#dependents = this.#kept = null;
        let failed = false;
        let failure;
        for (const signal of all) {
            try {
                signal.#tell();
            } catch (error) {
                if (!failed) [failed, failure] = [true, error];
            }
        }
        if (failed) throw failure;
    }
    #mark(reason) {
        this.#aborted = true;
        this.#reason = reason;
        for (const source of this.#sources ?? []) source.#kept?.delete(this);
        this.#sources = null;
    }
    #tell() {
        const steps = this.#steps;
        this.#steps = null;
        if (steps !== null) for (const step of steps) step();
        if (hears(this, 'abort')) dispatch(this, trust(new Event('abort')));
    }

    static internals = {
        make: (context) => new AbortSignal(MAKE, context),
        checkSignal: (signal) => signal.#check(),
        changed: (signal) => signal.#keep(),
        isSignal: (v) => typeof v === 'object' && v !== null && #aborted in v,
        abortSignal: (signal, reason) => signal.#abort(reason),
        onAbort(signal, step) {
            (signal.#steps ??= new Set()).add(step);
            signal.#keep();
        },
        offAbort(signal, step) {
            const steps = signal.#steps;
            if (steps === null) return;
            steps.delete(step);
            if (steps.size === 0) signal.#steps = null;
            signal.#keep();
        },
    };
}
// newSignal(context): of the event that runs now, when no context is given. onAbort(signal, step): step() is called before the listeners, once; it must not throw. Nothing is called for a signal that was
// aborted before.
export const { make: newSignal, isSignal, abortSignal, onAbort, offAbort } = AbortSignal.internals;
const { changed, checkSignal } = AbortSignal.internals;
delete AbortSignal.internals;
provideSignals(isSignal, onAbort, changed);
handlerAttributes(AbortSignal, 'abort');

export class AbortController {
    #signal = newSignal();
    get signal() {
        return this.#signal;
    }
    abort(reason = new DOMException('The operation was aborted', 'AbortError')) {
        checkSignal(this.#signal);
        abortSignal(this.#signal, reason);
    }
}

expose({ AbortSignal, AbortController });
