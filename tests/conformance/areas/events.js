import { caught, check, message, sleep } from '../case.js';

check('an event', () => {
    const e = new Event('x', { bubbles: true, cancelable: true, composed: true });
    return [e.type, e.bubbles, e.cancelable, e.composed, e.defaultPrevented, e.isTrusted, e.target, e.currentTarget, e.eventPhase, typeof e.timeStamp];
}, ['x', true, true, true, false, false, undefined, undefined, 0, 'number']);
check('dispatch calls listeners in order', () => {
    const t = new EventTarget();
    const seen = [];
    t.addEventListener('x', () => seen.push(1));
    t.addEventListener('x', { handleEvent(e) { seen.push(this === e.currentTarget ? 'target' : 'object'); } });
    t.addEventListener('y', () => seen.push('never'));
    const result = t.dispatchEvent(new Event('x'));
    return [seen, result];
}, [[1, 'object'], true]);
check('target and phase while it runs', () => {
    const t = new EventTarget();
    let seen;
    t.addEventListener('x', function (e) { seen = [e.target === t, e.currentTarget === t, e.eventPhase, this === t, e.composedPath().length]; });
    const e = new Event('x');
    t.dispatchEvent(e);
    return [seen, e.target === t, e.eventPhase, e.composedPath()];
}, [[true, true, 2, true, 1], true, 0, []]);
check('preventDefault', () => {
    const t = new EventTarget();
    t.addEventListener('x', (e) => e.preventDefault());
    return t.dispatchEvent(new Event('x', { cancelable: true }));
}, false);
check('preventDefault of what is not cancelable', () => {
    const t = new EventTarget();
    t.addEventListener('x', (e) => e.preventDefault());
    return t.dispatchEvent(new Event('x'));
}, false, { celld: true, why: 'DOM standard: it has no effect; workerd returns false' });
check('stopImmediatePropagation', () => {
    const t = new EventTarget();
    const seen = [];
    t.addEventListener('x', (e) => { seen.push(1); e.stopImmediatePropagation(); });
    t.addEventListener('x', () => seen.push(2));
    t.dispatchEvent(new Event('x'));
    return seen;
}, [1]);
check('once', () => {
    const t = new EventTarget();
    let n = 0;
    t.addEventListener('x', () => n++, { once: true });
    t.dispatchEvent(new Event('x'));
    t.dispatchEvent(new Event('x'));
    return n;
}, 1);
check('a listener is added once and can be removed', () => {
    const t = new EventTarget();
    let n = 0;
    const f = () => n++;
    t.addEventListener('x', f);
    t.addEventListener('x', f);
    t.dispatchEvent(new Event('x'));
    t.removeEventListener('x', f);
    t.dispatchEvent(new Event('x'));
    return n;
}, 1);
check('a signal removes a listener', () => {
    const t = new EventTarget();
    const controller = new AbortController();
    let n = 0;
    t.addEventListener('x', () => n++, { signal: controller.signal });
    t.dispatchEvent(new Event('x'));
    controller.abort();
    t.dispatchEvent(new Event('x'));
    return n;
}, 1);
check('capture is refused', () => caught(() => new EventTarget().addEventListener('x', () => {}, { capture: true })), 'TypeError');
check('a listener that throws stops dispatch', () => {
    const t = new EventTarget();
    t.addEventListener('x', () => { throw new RangeError('in a listener'); });
    return message(() => t.dispatchEvent(new Event('x')));
}, 'RangeError: in a listener');
check('what is dispatched must be an event', () => [caught(() => new EventTarget().dispatchEvent({ type: 'x' })), caught(() => new EventTarget().dispatchEvent())], ['TypeError', 'TypeError']);
check('an event that is being dispatched', () => {
    const t = new EventTarget();
    let seen;
    t.addEventListener('x', (e) => { seen = caught(() => t.dispatchEvent(e)); });
    t.dispatchEvent(new Event('x'));
    return seen;
}, 'InvalidStateError');
check('CustomEvent', () => {
    const e = new CustomEvent('x', { detail: { a: 1 } });
    return [e.detail, e instanceof Event, String(e)];
}, [{ a: 1 }, true, '[object CustomEvent]']);
check('detail of a CustomEvent without one', () => new CustomEvent('y').detail, undefined, { celld: null, why: 'DOM standard: null; workerd has undefined' });
check('own subclasses', () => {
    class Mine extends EventTarget {}
    class Sent extends Event { constructor() { super('sent'); this.more = 1; } }
    const m = new Mine();
    let seen;
    m.addEventListener('sent', (e) => { seen = [e instanceof Sent, e.more]; });
    m.dispatchEvent(new Sent());
    return seen;
}, [true, 1]);
check('MessageEvent, CloseEvent, ErrorEvent', () => {
    const m = new MessageEvent('m', { data: 1, origin: 'o', lastEventId: 'i' });
    const c = new CloseEvent('c', { code: 1000, reason: 'r', wasClean: true });
    const e = new ErrorEvent('e', { message: 'bad', error: new Error('bad'), filename: 'f', lineno: 1, colno: 2 });
    return [m.data, c.code, c.reason, c.wasClean, e.message, e.error, e.filename, e.lineno, e.colno];
}, [1, 1000, 'r', true, 'bad', new Error('bad'), 'f', 1, 2]);
check('origin and lastEventId of a MessageEvent', () => {
    const m = new MessageEvent('m', { data: 1, origin: 'o', lastEventId: 'i' });
    return [m.origin, m.lastEventId];
}, [null, ''], { celld: ['o', 'i'], why: 'HTML standard: what the constructor was given; workerd drops them' });
check('defaults of events', () => [new CloseEvent('c').code, new CloseEvent('c').wasClean, new MessageEvent('m', { data: null }).data, new Event('x').cancelBubble, new Event('x').returnValue], [0, false, null, false, true]);
check('an event needs a type', () => [caught(() => new Event()), new Event(null).type], ['TypeError', 'null']);
check('constants', () => [Event.NONE, Event.CAPTURING_PHASE, Event.AT_TARGET, Event.BUBBLING_PHASE, new Event('x').AT_TARGET], [0, 1, 2, 3, 2]);
check('globalThis is an EventTarget', () => {
    let seen = 0;
    const f = () => seen++;
    globalThis.addEventListener('own', f);
    globalThis.dispatchEvent(new Event('own'));
    removeEventListener('own', f);
    dispatchEvent(new Event('own'));
    return seen;
}, 1);
check('unhandledrejection and rejectionhandled', async () => {
    const seen = [];
    const un = (e) => { seen.push([e.type, e.reason.message, e.promise instanceof Promise, e instanceof PromiseRejectionEvent]); e.preventDefault(); };
    const handled = (e) => seen.push(e.type);
    addEventListener('unhandledrejection', un);
    addEventListener('rejectionhandled', handled);
    const p = Promise.reject(new Error('left alone'));
    await sleep(2);
    p.catch(() => {});
    await sleep(2);
    removeEventListener('unhandledrejection', un);
    removeEventListener('rejectionhandled', handled);
    return seen;
}, [['unhandledrejection', 'left alone', true, true], 'rejectionhandled']);
check('reportError dispatches error', async () => {
    const seen = [];
    const f = (e) => { seen.push(e.error.message, e instanceof ErrorEvent); e.preventDefault(); };
    addEventListener('error', f);
    reportError(new Error('reported'));
    await sleep(1);
    removeEventListener('error', f);
    return seen;
}, ['reported', true]);
check('DOMException', () => {
    const e = new DOMException('m', 'NotFoundError');
    return [e.name, e.message, e.code, e instanceof Error, DOMException.NOT_FOUND_ERR, new DOMException().name, new DOMException('x', 'Own').code, String(e), typeof e.stack];
}, ['NotFoundError', 'm', 8, true, 8, 'Error', 0, 'NotFoundError: m', 'string']);
check('codes of DOMException', () => ['IndexSizeError', 'InvalidCharacterError', 'SyntaxError', 'AbortError', 'QuotaExceededError', 'TimeoutError', 'DataCloneError', 'InvalidStateError', 'OperationError'].map((n) => new DOMException('', n).code),
    [1, 5, 12, 20, 22, 23, 25, 11, 0]);
