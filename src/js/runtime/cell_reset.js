// cell_reset.js: what those hear who wait for a cell that was reset, or that did not take their call. A reset is a text, through which an
// error keeps its name. runtime.md 2.4, 2.10, 6.4.
import { DOMException } from './events.js';
import { WeakMap } from './primordials.js';

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

const CELL_OVERLOAD = /^cell overload: admission refused/;
const error = (name) => `{"error":"${name}"}`;
const ANSWERS = {
    capacity: error('CapacityExhausted'),
    draining: '{"ok":false,"draining":true}',
    not_ready: error('AcquireFailed'),
    route: error('NodeUnavailable'),
};

// A call that no cell got: error -> why, a key of ANSWERS.
const refused = new WeakMap();
export const markRefused = (error, why) => void refused.set(error, why);

const answer = (reason, text, fields = []) => ({ status: 503, statusText: 'Service Unavailable', fields: ['content-type', 'application/json', 'retry-after', '1', ...fields, 'x-celld-reason', reason], text });

// What fetch() of a stub gives where a limit refused the call; undefined: it throws. operations.md 8
export function overloadOf(error) {
    if (!(error instanceof Error) || error.overloaded !== true) return undefined;
    if (CELL_OVERLOAD.test(error.message)) return answer('cell_overload', '{"error":"cell admission refused"}', ['x-celld-overload', 'cell']);
    return refusalOf(error);
}

// What a client hears of a call that no cell got, where nobody catches the error; undefined: it is of something else.
export function refusalOf(error) {
    const why = error instanceof Error ? refused.get(error) : undefined;
    return why === undefined ? undefined : answer(why, ANSWERS[why]);
}
