// wire_cell.js: what a wire leads to at a cell: its instance. runtime.md 2.1, 6.1.
import { scriptName } from './bindings.js';
import { parts } from './cells.js';
import { newId } from './durable.js';
import { compatibility } from './globals.js';
import { encodeThrown } from './rpc_message.js';
import { Call, Failure, PendingClient, classReceiver, serve } from './rpc_target.js';
import { serveSessions } from './wire_session.js';

const NO_RPC =
    'The receiving Durable Object does not support RPC, because its class was not declared with `extends DurableObject`. In order to enable RPC, make sure your class ' +
    'extends the special class `DurableObject`, which can be imported from the module "cloudflare:workers".';

class CellServer {
    constructor(cell) {
        this.cell = cell;
        this.receiver = () => {
            if (!cell.callable && !compatibility('js_rpc')) throw new TypeError(NO_RPC);
            return classReceiver(cell.instance);
        };
    }
    fetch(request) {
        return this.cell.deliver('fetch', () => this.cell.fetch(request));
    }
    // As of a client.
    call(context, path, message) {
        let enter;
        let call; // Once the input gate has let it in.
        const result = this.cell.deliver('rpc', () => {
            call = serve(context, this.receiver, path, message, true, false);
            enter?.(call.pipeline);
            return call.result;
        }).catch((error) => {
            throw error instanceof Failure ? error : new Failure(undefined, encodeThrown(error, context)); // It took too long.
        });
        if (call !== undefined) return new Call(result, call.pipeline);
        return new Call(result, new PendingClient(new Promise((resolve) => (enter = resolve))));
    }
}

serveSessions(({ cell }) => (cell === null ? undefined : (cell.server ??= new CellServer(cell))));
parts.newId = (className, text, name) => newId(text, name, scriptName(), className);
