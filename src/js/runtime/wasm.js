// wasm.js: WebAssembly without shared memories. V8 counts what a memory takes, but not for those that threads could share, of which
// there are none here: a few of them would fill the machine. They are refused where they are made: by new WebAssembly.Memory(), and in
// modules that define one. Modules of the bundle are looked at in modules.c.
import { isAnyArrayBuffer } from './node/types.js';

const { wasm_shares } = host;
const { apply, construct, defineProperty } = Reflect;
const { isView } = ArrayBuffer;
const Bytes = Uint8Array;
const refused = Promise.reject.bind(Promise);
const REFUSED = 'shared memories are not supported: a Worker has no threads';

let CompileError;

// What is looked at is what is compiled: a copy. What is no bytes V8 refuses, or it is a module already.
function looked(what, source) {
    let bytes;
    try {
        if (isView(source)) bytes = new Bytes(new Bytes(source.buffer, source.byteOffset, source.byteLength));
        else if (isAnyArrayBuffer(source)) bytes = new Bytes(new Bytes(source));
        else return source;
    } catch {
        return new Bytes(0); // Detached.
    }
    if (wasm_shares(bytes)) throw new CompileError(`${what}: ${REFUSED}`);
    return bytes;
}

// A class of WebAssembly whose constructor looks at its first argument.
function guard(cls, look) {
    const guarded = new Proxy(cls, {
        construct(target, args, made) {
            if (args.length > 0) args[0] = look(args[0]);
            return construct(target, args, made === guarded ? target : made);
        },
    });
    defineProperty(cls.prototype, 'constructor', { value: guarded, writable: true, enumerable: false, configurable: true });
    defineProperty(WebAssembly, cls.name, { value: guarded, writable: true, enumerable: false, configurable: true });
}

// Of setup(): the snapshot that the prelude is in has no WebAssembly yet.
export function refuseSharedMemories() {
    const { Memory, Module, compile, instantiate } = WebAssembly;
    CompileError = WebAssembly.CompileError;
    guard(Module, (source) => looked('WebAssembly.Module()', source));
    guard(Memory, (descriptor) => {
        if (descriptor === null || (typeof descriptor !== 'object' && typeof descriptor !== 'function')) return descriptor;
        const { address, initial, maximum, minimum, shared } = descriptor; // Each is asked for once.
        if (shared) throw new TypeError(`WebAssembly.Memory(): ${REFUSED}`);
        const plain = {};
        if (address !== undefined) plain.address = address;
        if (initial !== undefined) plain.initial = initial;
        if (maximum !== undefined) plain.maximum = maximum;
        if (minimum !== undefined) plain.minimum = minimum;
        return plain;
    });
    const looking = (method) =>
        function (source, ...rest) {
            const what = `WebAssembly.${method.name}()`;
            let bytes;
            try {
                bytes = looked(what, source);
            } catch (error) {
                return refused(error);
            }
            return arguments.length === 0 ? apply(method, WebAssembly, []) : apply(method, WebAssembly, [bytes, ...rest]);
        };
    for (const method of [compile, instantiate]) {
        const value = looking(method);
        defineProperty(value, 'name', { value: method.name, configurable: true });
        defineProperty(value, 'length', { value: 1, configurable: true });
        defineProperty(WebAssembly, method.name, { value, writable: true, enumerable: true, configurable: true });
    }
}
