// Event, EventTarget, DOMException, the global scope as an EventTarget, uncaught errors.
import { equal, ok, run, same, test, throws } from 'harness.js';

test('an event has what it was made with', () => {
    const e = new Event('x', { bubbles: 1, cancelable: true });
    same([e.type, e.bubbles, e.cancelable, e.composed, e.isTrusted, e.eventPhase], ['x', true, true, false, false, 0]);
    same(e.composedPath(), []);
    e.preventDefault();
    same([e.defaultPrevented, e.returnValue], [true, false]);
    equal(Object.prototype.toString.call(e), '[object Event]');
    throws(() => new Event(), 'TypeError');
    throws(() => new Event('x', 1), 'TypeError');
    throws(() => Object.getOwnPropertyDescriptor(Event.prototype, 'type').get.call({}), 'TypeError');
    same([Event.NONE, Event.CAPTURING_PHASE, Event.AT_TARGET, Event.BUBBLING_PHASE], [0, 1, 2, 3]);
});

test('what cannot be cancelled is not', () => {
    const e = new Event('x');
    e.preventDefault();
    equal(e.defaultPrevented, false);
});

test('listeners are called in order, each once, with the target as this', () => {
    const t = new EventTarget();
    const seen = [];
    const one = function (e) {
        seen.push('one');
        equal(this, t);
        equal(e.currentTarget, t);
        equal(e.eventPhase, 2);
        same(e.composedPath().length, 1);
        throws(() => t.dispatchEvent(e), 'InvalidStateError');
    };
    const two = { handleEvent() { seen.push('two'); equal(this, two); } };
    t.addEventListener('x', one);
    t.addEventListener('x', one);
    t.addEventListener('x', two);
    equal(t.dispatchEvent(new Event('x')), true);
    t.removeEventListener('x', one);
    t.dispatchEvent(new Event('x'));
    t.dispatchEvent(new Event('y'));
    same(seen, ['one', 'two', 'two']);
});

test('listeners added during a dispatch wait, removed ones are not called', () => {
    const t = new EventTarget();
    const seen = [];
    const late = () => seen.push('late');
    const gone = () => seen.push('gone');
    t.addEventListener('x', () => {
        t.addEventListener('x', late);
        t.removeEventListener('x', gone);
    });
    t.addEventListener('x', gone);
    t.dispatchEvent(new Event('x'));
    same(seen, []);
    t.dispatchEvent(new Event('x'));
    same(seen, ['late']);
});

test('once, signal, stopImmediatePropagation', () => {
    const t = new EventTarget();
    let count = 0;
    t.addEventListener('x', () => count++, { once: true });
    t.dispatchEvent(new Event('x'));
    t.dispatchEvent(new Event('x'));
    equal(count, 1);
    const c = new AbortController();
    t.addEventListener('x', () => count++, { signal: c.signal });
    t.addEventListener('x', () => count++, { signal: AbortSignal.abort() });
    c.abort();
    t.dispatchEvent(new Event('x'));
    equal(count, 1);
    t.addEventListener('x', (e) => e.stopImmediatePropagation());
    t.addEventListener('x', () => count++);
    t.dispatchEvent(new Event('x'));
    equal(count, 1);
    throws(() => t.addEventListener('x', () => {}, { signal: {} }), 'TypeError');
});

test('capture and passive are refused', () => {
    const t = new EventTarget();
    for (const options of [true, { capture: true }, { passive: true }]) throws(() => t.addEventListener('x', () => {}, options), 'TypeError');
    throws(() => t.removeEventListener('x', () => {}, { capture: true }), 'TypeError');
    t.addEventListener('x', () => {}, false);
    t.addEventListener('x', null);
    t.addEventListener('x', null, { capture: true });
    t.removeEventListener('x', null, true);
    throws(() => t.addEventListener('x', null, { signal: null }), 'TypeError');
    t.addEventListener('x', undefined);
    for (const bad of [{}, 'f', 1]) throws(() => t.addEventListener('x', bad), 'TypeError');
});

test('an exception of a listener reaches the dispatcher, and the event can be dispatched again', () => {
    const t = new EventTarget();
    const e = new Event('x');
    t.addEventListener('x', () => { throw new RangeError('boom'); }, { once: true });
    throws(() => t.dispatchEvent(e), 'RangeError', 'boom');
    equal(e.eventPhase, 0);
    equal(t.dispatchEvent(e), true);
});

test('preventDefault is what dispatchEvent returns', () => {
    const t = new EventTarget();
    t.addEventListener('x', (e) => e.preventDefault());
    equal(t.dispatchEvent(new Event('x', { cancelable: true })), false);
});

test('subclasses', () => {
    class Mine extends EventTarget { constructor() { super(); this.n = 0; this.addEventListener('x', () => this.n++); } }
    class Special extends Event { constructor() { super('x'); } get bubbles() { return 'yes'; } }
    const m = new Mine();
    const e = new Special();
    m.dispatchEvent(e);
    same([m.n, e.bubbles, e.type], [1, 'yes', 'x']);
});

test('events with something in them', () => {
    same([new CustomEvent('c').detail, new CustomEvent('c', { detail: 5 }).detail], [null, 5]);
    const error = new ErrorEvent('error', { message: 'm', filename: 'f', lineno: 1, colno: 2, error: 'e' });
    same([error.message, error.filename, error.lineno, error.colno, error.error], ['m', 'f', 1, 2, 'e']);
    const m = new MessageEvent('message', { data: { a: 1 }, lastEventId: '7', origin: 'o' });
    same([m.data, m.lastEventId, m.origin, m.source, m.ports], [{ a: 1 }, '7', 'o', null, []]);
    const c = new CloseEvent('close', { code: 1000, reason: 'bye', wasClean: true });
    same([c.code, c.reason, c.wasClean], [1000, 'bye', true]);
    const promise = Promise.resolve();
    const p = new PromiseRejectionEvent('unhandledrejection', { promise, reason: 3 });
    equal(p.promise, promise);
    equal(p.reason, 3);
    throws(() => new PromiseRejectionEvent('x', {}), 'TypeError');
    for (const name of ['ExtendableEvent', 'FetchEvent', 'ScheduledEvent', 'TailEvent', 'TraceEvent']) throws(() => new globalThis[name]('x'), 'TypeError', 'Illegal constructor');
    ok(FetchEvent.prototype instanceof ExtendableEvent && ExtendableEvent.prototype instanceof Event, 'FetchEvent is an ExtendableEvent is an Event');
});

test('DOMException', () => {
    const e = new DOMException('what', 'AbortError');
    same([e.message, e.name, e.code], ['what', 'AbortError', 20]);
    ok(e instanceof Error && e instanceof DOMException, 'is an Error');
    equal(String(e), 'AbortError: what');
    ok(/^AbortError: what\n\s+at /.test(e.stack), e.stack);
    equal(Object.hasOwn(e, 'message'), false);
    equal(Object.getPrototypeOf(DOMException), Function.prototype);
    equal(Object.prototype.toString.call(e), '[object DOMException]');
    same([DOMException.DATA_CLONE_ERR, e.INDEX_SIZE_ERR, new DOMException().name, new DOMException().message, new DOMException().code], [25, 1, 'Error', '', 0]);
    class Mine extends DOMException {}
    const mine = new Mine('m', 'NotFoundError');
    ok(mine instanceof Mine && mine.code === 8, 'subclass');
    throws(() => DOMException('x'), 'TypeError');
    throws(() => Object.getOwnPropertyDescriptor(DOMException.prototype, 'name').get.call(new Error()), 'TypeError');
});

test('the global scope is an EventTarget', () => {
    ok(globalThis instanceof EventTarget && globalThis instanceof ServiceWorkerGlobalScope && globalThis instanceof WorkerGlobalScope, 'its classes');
    let count = 0;
    addEventListener('mine', () => count++, { once: true });
    dispatchEvent(new Event('mine'));
    globalThis.dispatchEvent(new Event('mine'));
    equal(count, 1);
    throws(() => addEventListener('fetch', () => {}), 'Error', /^Service Worker syntax is not supported/);
});

test('reportError gives an error event', () => {
    const error = new Error('nobody');
    let seen;
    addEventListener('error', (e) => {
        seen = e;
        e.preventDefault();
    }, { once: true });
    reportError(error);
    same([seen.type, seen.message, seen.error === error, seen.isTrusted, seen.lineno > 0], ['error', 'Uncaught Error: nobody', true, true, true]);
    throws(() => reportError(), 'TypeError');
});

test('rejections nobody handles, and that somebody handles late', async () => {
    const seen = [];
    const listen = (e) => {
        seen.push(e.type, e.reason);
        e.preventDefault();
    };
    addEventListener('unhandledrejection', listen);
    addEventListener('rejectionhandled', listen);
    const promise = Promise.reject('why');
    Promise.reject('at once').catch(() => {});
    await scheduler.wait(1);
    same(seen, ['unhandledrejection', 'why']);
    promise.catch(() => {});
    await scheduler.wait(1);
    same(seen, ['unhandledrejection', 'why', 'rejectionhandled', null]);
    removeEventListener('unhandledrejection', listen);
    removeEventListener('rejectionhandled', listen);
});

test('errors of timers and microtasks are error events', async () => {
    const seen = [];
    const listen = (e) => {
        seen.push(e.error.message);
        e.preventDefault();
    };
    addEventListener('error', listen);
    setTimeout(() => { throw new Error('timer'); });
    queueMicrotask(() => { throw new Error('microtask'); });
    await scheduler.wait(2);
    removeEventListener('error', listen);
    same(seen, ['microtask', 'timer']);
});

export default run;
