// Timers, microtasks, console, contexts.
import { equal, rejects, run, same, test, throws } from 'harness.js';

let early;
try {
    setTimeout(() => {}, 1);
} catch (error) {
    early = error.message;
}

test('timers are for handlers', () => equal(early.startsWith('Disallowed operation called within global scope.'), true));

test('timers fire in order, with their arguments', async () => {
    const seen = [];
    await new Promise((resolve) => {
        setTimeout(() => seen.push('b'), 5);
        setTimeout((x) => seen.push(x), 0, 'a');
        setTimeout(resolve, 10);
    });
    same(seen, ['a', 'b']);
});

test('an interval goes on until it is cleared', async () => {
    let count = 0;
    await new Promise((resolve) => {
        const id = setInterval(() => {
            if (++count === 3) {
                clearInterval(id);
                resolve();
            }
        }, 1);
    });
    await scheduler.wait(10);
    equal(count, 3);
});

test('a cleared timeout does not fire', async () => {
    let fired = false;
    clearTimeout(setTimeout(() => (fired = true), 1));
    clearTimeout(undefined);
    clearTimeout(99999);
    await scheduler.wait(5);
    equal(fired, false);
});

test('the callback is a function', () => throws(() => setTimeout('x = 1'), 'TypeError'));

test('the clock stands still in a turn', async () => {
    const before = Date.now();
    for (let i = 0; i < 3e6; i++);
    equal(Date.now(), before);
    await scheduler.wait(5);
    equal(Date.now() > before, true);
});

test('code from strings is for the load only', () => {
    throws(() => new Function('return 1'), 'EvalError', 'Code generation from strings disallowed for this context');
});

test('modules that are not there', async () => {
    await rejects(import('./nothing.js'), 'Error', /^No such module "\.\/nothing\.js"/);
});

test('nothing of the host is reachable', () => {
    equal(typeof host, 'undefined');
    equal(Reflect.ownKeys(globalThis).includes('host'), false);
});

export default run;
