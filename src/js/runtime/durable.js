// durable.js: DurableObjectNamespace, its ids and stubs: how Workers get at cells. services.md 1.2.
import { BodyState } from './body.js';
import { errorOfReset, overloadOf, textOfReset } from './cell_reset.js';
import { shape } from './core.js';
import { newObjectStub } from './service.js'; // Before the next ones: the modules of calls need each other.
import { Map } from './primordials.js';
import { dropMessage, settleMessage } from './rpc_message.js';
import { failedCall, pendingCall } from './rpc_target.js';
import { fetchOver } from './wire_fetch.js';
import { Session } from './wire_session.js';

const { cell_namespace, cell_id_of_name, cell_id_unique, cell_id_parse, wire_open } = host;

const NAME_MAX = 1024; // UTF-8 bytes of a name that the cell is told
const IDS_MAX = 512; // ids of names that a namespace remembers: an HMAC is more than looking one up
const ID_NAME_MAX = 128; // UTF-16 units of such a name

// ---- Channels

// A cell as a channel (service.js): each call is a wire of its own.
export class CellChannel {
    #script;
    #className;
    #id;
    #name;
    #broken = null; // After a reset the stub fails as the call did. runtime.md 6.4
    constructor(script, className, id, name = undefined) {
        this.#script = script;
        this.#className = className;
        this.#id = id;
        this.#name = name;
    }
    get address() {
        return { script: this.#script, cell: [this.#className, this.#id, this.#name] };
    }
    get id() {
        return new DurableObjectId(MAKE, this.#id, this.#name, this.#script, this.#className);
    }
    get name() {
        return this.#name;
    }
    // What user code has of it.
    object() {
        return newObjectStub(this);
    }
    withProps() {
        throw new TypeError('A Durable Object takes no props.');
    }
    retain() {
        return this;
    }
    release() {}

    #open(from) {
        if (this.#broken !== null) throw this.#broken();
        const session = new Session(wire_open(from.id, this.#script, `${this.#className}:${this.#id}`, this.#name), from);
        session.onLost = (error) => {
            if (error.durableObjectReset === true) this.#broken = () => Object.assign(errorOfReset(textOfReset(error)), error);
        };
        return session;
    }
    call(from, path, message) {
        const waits = settleMessage(message);
        if (waits === undefined) return this.#call(from, path, message);
        return pendingCall(waits, message, () => this.#call(from, path, message));
    }
    #call(from, path, message) {
        let session;
        try {
            session = this.#open(from);
        } catch (error) {
            dropMessage(message);
            return failedCall(error);
        }
        return session.ask(0, path, message);
    }
    async fetch(from, request, signal) {
        try {
            return await fetchOver(this.#open(from), request, signal);
        } catch (failure) {
            const refused = overloadOf(failure.error);
            if (refused === undefined) throw failure;
            const { text, ...head } = refused;
            return { ...head, state: new BodyState('text', text, null, text.length), webSocket: null };
        }
    }
}

// ---- What users see

const MAKE = Object.freeze({});
const illegal = () => {
    throw new TypeError('Illegal constructor');
};
const argument = (name, cls, count) => {
    if (count === 0) throw new TypeError(`Failed to execute '${name}' on '${cls}': 1 argument required, but only 0 present.`);
};
const jurisdictions = () => new Error('Jurisdiction restrictions are not implemented');

export class DurableObjectId {
    #text;
    #name;
    #script;
    #className;
    constructor(make, text, name, script, className) {
        if (make !== MAKE) illegal();
        this.#text = text;
        this.#name = name;
        this.#script = script;
        this.#className = className;
    }
    toString() {
        return this.#text;
    }
    equals(other) {
        argument('equals', 'DurableObjectId', arguments.length);
        if (typeof other !== 'object' || other === null || !(#text in other)) throw new TypeError("Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'.");
        return this.#text === other.#text;
    }
    get name() {
        return this.#name;
    }
    get jurisdiction() {
        return undefined;
    }
    static internals = {
        // The text of an id of that class, and its name.
        parts(id, script, className) {
            if (typeof id !== 'object' || id === null || !(#text in id)) throw new TypeError("Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type 'DurableObjectId'.");
            if (id.#script !== script || id.#className !== className) throw new TypeError('Durable Object ID is not valid for this namespace.');
            return [id.#text, id.#name];
        },
    };
}
const { parts } = DurableObjectId.internals;
delete DurableObjectId.internals;
shape(DurableObjectId);
// For ctx.id of a cell.
export const newId = (text, name, script, className) => new DurableObjectId(MAKE, text, name, script, className);

const known = (name) => (name !== undefined && utf8Length(name) <= NAME_MAX ? name : undefined);
const utf8Length = (text) => (text.length * 3 <= NAME_MAX ? text.length : host.utf8_encode(text).length);

export class DurableObjectNamespace {
    #script;
    #className;
    #key; // made when it is first needed
    #ids = new Map(); // name -> text of its id
    constructor(make, script, className) {
        if (make !== MAKE) illegal();
        this.#script = script;
        this.#className = className;
    }
    #namespace() {
        return (this.#key ??= cell_namespace(this.#script, this.#className));
    }
    #idOfName(name) {
        let text = this.#ids.get(name);
        if (text !== undefined) return text;
        text = cell_id_of_name(this.#namespace(), name);
        if (name.length > ID_NAME_MAX) return text;
        if (this.#ids.size >= IDS_MAX) this.#ids.clear();
        this.#ids.set(name, text);
        return text;
    }
    newUniqueId(options = undefined) {
        if (options?.jurisdiction !== undefined) throw jurisdictions();
        return newId(cell_id_unique(this.#namespace()), undefined, this.#script, this.#className);
    }
    idFromName(name) {
        argument('idFromName', 'DurableObjectNamespace', arguments.length);
        name = `${name}`;
        return newId(this.#idOfName(name), known(name), this.#script, this.#className);
    }
    idFromString(text) {
        argument('idFromString', 'DurableObjectNamespace', arguments.length);
        const id = cell_id_parse(this.#namespace(), `${text}`);
        if (id === undefined) throw new TypeError('Invalid Durable Object ID: must be 64 hex digits');
        if (id === null) throw new TypeError('Durable Object ID is not valid for this namespace.');
        return newId(id, undefined, this.#script, this.#className);
    }
    get(id, options = undefined) {
        argument('get', 'DurableObjectNamespace', arguments.length);
        const [text, name] = parts(id, this.#script, this.#className);
        return new CellChannel(this.#script, this.#className, text, name).object();
    }
    getByName(name, options = undefined) {
        argument('getByName', 'DurableObjectNamespace', arguments.length);
        return this.get(this.idFromName(name), options);
    }
    getExisting() {
        throw new Error('DurableObjectNamespace.getExisting() is not implemented in celld.');
    }
    jurisdiction(which) {
        if (which === null || which === undefined) return this;
        throw jurisdictions();
    }
}
shape(DurableObjectNamespace);

// The class `className` of a script.
export const newNamespace = (script, className) => new DurableObjectNamespace(MAKE, script, className);
