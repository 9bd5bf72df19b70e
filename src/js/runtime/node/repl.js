// node/repl.js: node:repl: its names; there is no terminal to talk to.
import EventEmitter from './events.js';
import { err, notImplemented } from './errors.js';
import { builtinModules as all } from './module.js';

const builtinModules = all.filter((name) => !name.startsWith('_'));

class Recoverable extends SyntaxError {
    constructor(error) {
        super();
        this.err = error;
    }
}
class REPLServer extends EventEmitter {
    constructor() {
        super();
        throw err.ERR_METHOD_NOT_IMPLEMENTED('repl.REPLServer');
    }
}
for (const name of ['setupHistory', 'defineCommand', 'displayPrompt', 'clearBufferedCommand']) REPLServer.prototype[name] = notImplemented(`repl.REPLServer.${name}`);

export default {
    REPLServer,
    REPL_MODE_SLOPPY: Symbol('repl-sloppy'),
    REPL_MODE_STRICT: Symbol('repl-strict'),
    Recoverable,
    _builtinLibs: builtinModules,
    builtinModules,
    start: notImplemented('repl.start'),
    writer: notImplemented('repl.writer'),
};
