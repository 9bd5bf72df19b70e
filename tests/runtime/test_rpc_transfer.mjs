// JS RPC before rpc_params_dup_stubs: a stub in arguments is given away.
import { equal, rejects, run, same, test } from 'harness.js';
import { RpcStub, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';

class Counter extends RpcTarget {
    disposed = 0;
    #value = 0;
    add(by) {
        return (this.#value += by);
    }
    dup() {
        throw new Error('not called');
    }
    [Symbol.dispose]() {
        this.disposed++;
    }
}
export class Service extends WorkerEntrypoint {
    use(counter, by) {
        return counter.add(by);
    }
    fail(counter) {
        throw new Error('no');
    }
}

test('a stub in arguments is disposed of', async ({ S }) => {
    const counter = new Counter();
    const stub = new RpcStub(counter);
    const mine = stub.dup();
    equal(await S.use(stub, 2), 2);
    await rejects(() => stub.add(1), 'Error', 'RPC stub used after being disposed.');
    await rejects(() => S.use(stub, 1), 'Error', 'RPC stub used after being disposed.');
    equal(await mine.add(1), 3);
    equal(counter.disposed, 0);
    mine[Symbol.dispose]();
    await scheduler.wait(1);
    equal(counter.disposed, 1);
});

test('a target goes when the callee is done with it, also after a failure', async ({ S }) => {
    const counter = new Counter();
    equal(await S.use(counter, 2), 2);
    await scheduler.wait(1);
    equal(counter.disposed, 1);
    await rejects(() => S.fail(counter), 'Error', 'no');
    await scheduler.wait(1);
    equal(counter.disposed, 2);
});

test('arguments that cannot be sent leave the stubs beside them alone', async ({ S }) => {
    const stub = new RpcStub(new Counter());
    await rejects(() => S.use(stub, Symbol('x')), 'DataCloneError');
    equal(await stub.add(4), 4);
    same(await Promise.all([stub.add(1), stub.add(1)]), [5, 6]);
});

export default run;
