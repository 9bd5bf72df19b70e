// cell_reset.js: what a reset says to those who wait for the cell: a text, through which an error keeps its name. runtime.md 2.4, 6.4.
import { DOMException } from './events.js';

const NAMED = /^(Error|EvalError|RangeError|ReferenceError|SyntaxError|TypeError|URIError|DataCloneError|AbortError|TimeoutError): /;
export const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

// The name comes first: always when it is one of those above but Error, and Error where the text would be misread without it.
export function textOfReset(reason) {
    try {
        if (!(reason instanceof Error)) return plain(`${reason}`);
        const text = `${reason.name}: ${reason.message}`;
        return reason.name !== 'Error' && NAMED.test(text) ? text : plain(`${reason.message}`);
    } catch {
        return 'an error without a text';
    }
}
const plain = (text) => (NAMED.test(text) ? `Error: ${text}` : text);

export function errorOfReset(text) {
    const [start, name] = NAMED.exec(text) ?? ['', 'Error'];
    const message = text.slice(start.length);
    return Object.hasOwn(ERRORS, name) ? new ERRORS[name](message) : new DOMException(message, name);
}
