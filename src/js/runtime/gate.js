// gate.js: the input gate of a cell. runtime.md 2.3, 2.4.
//
// It is open, or held by one critical section. While it is held nothing comes in but what the section itself waits for. What is refused
// waits in the order of its arrival, and so do those who want to hold the gate; each gets a turn of its own when the gate has opened.
import { startTimer } from './core.js';
import { push } from './primordials.js';

const DEPTH_MAX = 64;

// What runs in it carries it along in its frame.
export class Section {
    depth = 1; // nested calls of blockConcurrencyWhile()
    enter() {
        if (this.depth >= DEPTH_MAX) throw new Error(`blockConcurrencyWhile() calls are nested too deeply. The limit is ${DEPTH_MAX}.`);
        this.depth++;
    }
}

export class Gate {
    #context;
    #holder = null; // Section
    #waiting = []; // functions
    #turning = false; // A turn for the next one was asked for.
    #entering = false; // One that waited comes in: it does not wait again.

    constructor(context) {
        this.#context = context;
    }
    // Whether something for that section, undefined for the cell at large, may come in now.
    lets(section) {
        return this.#holder === null ? this.#entering || this.#waiting.length === 0 : section === this.#holder;
    }
    holds(section) {
        return section !== undefined && section === this.#holder;
    }
    // fn runs in a turn of its own when everything before it has come in.
    queue(fn) {
        push(this.#waiting, fn);
        this.#next();
    }
    // Closes it for the section, at once even before those that wait: what asks for it has come in already. False: another one holds it;
    // then taken() follows in its turn.
    take(section, taken) {
        const free = this.#holder === null;
        if (free) this.#holder = section;
        else {
            this.queue(() => {
                this.#holder = section;
                taken();
            });
        }
        return free;
    }
    release(section) {
        if (this.#holder !== section) return;
        this.#holder = null;
        this.#next();
    }
    #next() {
        if (this.#turning || this.#holder !== null || this.#waiting.length === 0 || this.#context.ended) return;
        this.#turning = true;
        startTimer(this.#context, 0, () => {
            this.#turning = false;
            if (this.#holder !== null) return; // It will come here again.
            const fn = this.#waiting.shift();
            this.#next();
            this.#entering = true;
            try {
                fn();
            } finally {
                this.#entering = false;
            }
        }, true);
    }
}
