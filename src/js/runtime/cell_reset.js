// cell_reset.js: what those hear who wait for a cell that was reset, or that did not take their call. A reset is a text, through which an
// error keeps its name. runtime.md 2.4, 2.10, 6.4.
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

const REFUSALS = [
    [/^cell overload: admission refused/, 'cell admission refused', ['x-celld-overload', 'cell', 'x-celld-reason', 'cell_overload']],
    [/^CapacityExhausted:/, 'CapacityExhausted', ['x-celld-reason', 'capacity']],
];

// What a client hears of a call that a cell, or a node without room for it, did not take; undefined: the error is of something else.
export function refusalOf(error) {
    if (!(error instanceof Error) || error.overloaded !== true) return undefined;
    const found = REFUSALS.find(([text]) => text.test(error.message));
    if (found === undefined) return undefined;
    return { status: 503, statusText: 'Service Unavailable', fields: ['content-type', 'application/json', 'retry-after', '1', ...found[2]], text: `{"error":"${found[1]}"}` };
}
