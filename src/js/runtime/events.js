// events.js: Event, EventTarget, DOMException. runtime.md 5.6.
import { expose } from './core.js';

export class DOMException extends Error {
    #name;
    constructor(message = '', name = 'Error') {
        super(message);
        this.#name = String(name);
    }
    get name() {
        return this.#name;
    }
}
expose({ DOMException });
