// runtime/harness.js: cases of the runtime's tests, inside the Worker. A test module imports from "harness.js", names its
// cases with test(), and exports run() as its default export's `test`.
const cases = [];
export const test = (name, fn) => cases.push({ name, fn });

const show = (v) => {
    try {
        return typeof v === 'string' ? JSON.stringify(v) : typeof v === 'object' && v !== null ? JSON.stringify(v) : String(v);
    } catch {
        return Object.prototype.toString.call(v);
    }
};

export function equal(got, want, what = '') {
    if (!Object.is(got, want)) throw new Error(`${what} got ${show(got)}, want ${show(want)}`);
}
// The same as JSON.
export const same = (got, want, what) => equal(JSON.stringify(got), JSON.stringify(want), what);
export function ok(holds, what = '') {
    if (!holds) throw new Error(`does not hold: ${what}`);
}

const check = (error, name, message) => {
    if (name !== undefined) equal(error?.name, name, `name of the error (${error?.message})`);
    if (message instanceof RegExp) ok(message.test(error.message), `${message} matches ${show(error.message)}`);
    else if (message !== undefined) equal(error.message, message);
    return error;
};
export function throws(fn, name, message) {
    try {
        fn();
    } catch (error) {
        return check(error, name, message);
    }
    throw new Error(`did not throw ${name ?? ''}`);
}
export async function rejects(promise, name, message) {
    try {
        await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
        return check(error, name, message);
    }
    throw new Error(`did not reject ${name ?? ''}`);
}

export const run = {
    async test(env, ctx) {
        let failed = 0;
        for (const { name, fn } of cases) {
            try {
                await fn(env, ctx);
            } catch (error) {
                failed++;
                console.log(`FAIL ${name}: ${error?.stack ?? error}`);
            }
        }
        console.log(`${cases.length - failed} passed, ${failed} failed`);
        if (failed > 0 || cases.length === 0) throw new Error(`${failed} of ${cases.length} cases failed`);
    },
};
