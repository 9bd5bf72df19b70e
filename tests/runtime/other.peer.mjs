// bindings: [{"type":"plain_text","name":"SECRET","text":"not for you"},{"type":"service","name":"BACK","service":"test","entrypoint":"Deep"}]
// The other script of test_other.mjs.
import { DurableObject, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

const seen = [];
let loads = 0;

export class Api extends WorkerEntrypoint {
    echo(value) {
        return value;
    }
    add(a, b) {
        return a + b;
    }
    get config() {
        return { a: 1, b: (x) => x };
    }
    get plain() {
        return { a: { b: 2 }, double: (x) => x * 2 };
    }
    seen() {
        return seen.splice(0);
    }
    fail() {
        throw Object.assign(new RangeError('over there'), { code: 9, f() {} });
    }
    target() {
        return new (class extends RpcTarget {})();
    }
    hang() {
        this.ctx.waitUntil(scheduler.wait(3).then(() => seen.push('waited')));
        return new Promise(() => {});
    }
    over() {
        this.ctx.abort(new Error('stopped there'));
        return 1;
    }
    response() {
        return new Response(slowly(3), { status: 201, headers: { a: 'b' } });
    }
    async lengths(stream) {
        const lengths = [];
        for await (const chunk of stream) lengths.push(chunk.length);
        return lengths;
    }
    async write(stream) {
        const writer = stream.getWriter();
        await writer.write(new Uint8Array([1, 2]));
        await writer.write(new Uint8Array([3]));
        await writer.close();
    }
    devour() {
        const all = [];
        for (;;) all.push(new Array(100000).fill(1.5));
    }
    count() {
        return ++loads;
    }
    greet(greeter, name) {
        return greeter.greet(name);
    }
    mine(greeting) {
        return this.ctx.exports.Propped({ props: { greeting } });
    }
    async aborted(signal) {
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return signal.reason;
    }
    back(depth) {
        return this.env.BACK.down(depth);
    }
}

export class Propped extends WorkerEntrypoint {
    props() {
        return this.ctx.props;
    }
    fetch() {
        return Response.json(this.ctx.props);
    }
}
export class Cell extends DurableObject {}
export class Legacy {
    fetch() {}
}
export function helper() {}

function slowly(count, fail = false) {
    let n = 0;
    return new ReadableStream({
        async pull(controller) {
            await scheduler.wait(1);
            seen.push(`pull ${n}`);
            if (n++ < count) controller.enqueue(new TextEncoder().encode(`${n} `));
            else if (fail) controller.error(new Error('broken there'));
            else controller.close();
        },
        cancel() {
            seen.push('cancelled');
        },
    }, { highWaterMark: 0 });
}

export default {
    async fetch(request, env) {
        const url = new URL(request.url);
        switch (url.pathname) {
            case '/echo': return new Response(request.body, { status: 202, statusText: 'Fine', headers: [['x-method', request.method], ['set-cookie', 'a'], ['set-cookie', 'b']] });
            case '/text': return new Response((await request.text()).length);
            case '/env': return Response.json([Object.keys(env), request.cf]);
            case '/slow': return new Response(slowly(3));
            case '/broken': return new Response(slowly(1, true));
            case '/endless': return new Response(slowly(1e9));
            case '/none': return new Response(null, { status: 204 });
            case '/throw': throw new TypeError('not here');
            case '/nothing': return 5;
            case '/wait':
                request.signal.addEventListener('abort', () => seen.push(request.signal.reason.message));
                await scheduler.wait(10000);
                return new Response('late');
            case '/socket': return new Response(null, { status: 101, webSocket: new WebSocketPair()[0] });
            default: return new Response('?', { status: 404 });
        }
    },
};
