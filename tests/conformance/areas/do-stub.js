import { DurableObject } from 'cloudflare:workers';
import { caught, check, message } from '../case.js';

let made = 0;
export class Room extends DurableObject {
    count = 0;
    number = ++made;
    up() { return ++this.count; }
    which() { return this.number; }
    who() { return [this.ctx.id.toString(), this.ctx.id.name ?? null]; }
    shape() {
        const { ctx } = this;
        return [ctx.constructor.name, ctx.id.constructor.name, ctx.storage.constructor.name, Object.prototype.toString.call(ctx), ctx.id === ctx.id, ctx.storage === ctx.storage];
    }
    fields() { return Object.keys(this); }
    members() {
        const { ctx } = this;
        const names = ['id', 'storage', 'props', 'exports', 'waitUntil', 'blockConcurrencyWhile', 'abort', 'acceptWebSocket', 'getWebSockets', 'getTags', 'setWebSocketAutoResponse',
            'getWebSocketAutoResponse', 'getWebSocketAutoResponseTimestamp', 'setHibernatableWebSocketEventTimeout', 'getHibernatableWebSocketEventTimeout'];
        return names.map((name) => typeof ctx[name]).join(' ');
    }
    sameId(text) {
        const id = this.env.Room.idFromString(text);
        return [this.ctx.id.equals(id), id.equals(this.ctx.id)];
    }
    props() { return [this.ctx.props, this.ctx.container === undefined]; }
    fail() { throw new Error('of a method'); }
    async neighbour(name) { return (await this.env.Other.getByName(name).who())[1]; }
    bindings() { return Object.keys(this.env).sort(); }
    viaExports() { return this.ctx.exports.Other.getByName('exported').who(); }
}
export class Other extends Room {}
export class Heir extends Room {
    up() { return super.up() + 100; }
    own() { return 'of the heir'; }
}
export class Plain {
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
    fetch() { return new Response(`${this.ctx.id.name} ${typeof this.env.Room}`); }
    hello() { return 'never'; }
}
const tried = new Set();
export class Failing extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        if (tried.has(ctx.id.name)) return;
        tried.add(ctx.id.name);
        throw Object.assign(new RangeError('not yet'), { code: 7 });
    }
    fine() { return 'made'; }
}

// ---- Namespaces

check('names of the classes', ({ env: { Room } }) => [Room, Room.idFromName('a'), Room.newUniqueId(), Room.getByName('a')].map((v) => [typeof v, v.constructor.name, Object.prototype.toString.call(v)].join(' ')),
    ['object DurableObjectNamespace [object DurableObjectNamespace]', 'object DurableObjectId [object DurableObjectId]', 'object DurableObjectId [object DurableObjectId]', 'object DurableObject [object DurableObject]']);
check('what a namespace has', ({ env: { Room } }) => ['newUniqueId', 'idFromName', 'idFromString', 'get', 'getByName', 'jurisdiction'].map((name) => typeof Room[name]), Array(6).fill('function'));
check('nobody constructs them', ({ env: { Room } }) => [Room, Room.idFromName('a'), Room.getByName('a')].map((v) => message(() => new v.constructor())), Array(3).fill('TypeError: Illegal constructor'));
check('the same namespace each time', ({ env }) => env.Room === env.Room, true);
check('methods need a namespace', ({ env: { Room } }) => caught(() => Room.idFromName.call({}, 'a')), 'TypeError');
check('own properties of ids and stubs', ({ env: { Room } }) => [Object.keys(Room), Object.keys(Room.newUniqueId()), Object.keys(Room.getByName('a'))], [[], ['jurisdiction', 'name'], ['name', 'id']],
    { celld: [[], [], []], why: 'attributes are accessors of the prototype, as in Web IDL' });
check('an id as JSON', ({ env: { Room } }) => JSON.stringify({ id: Room.newUniqueId() }), '{"id":{}}');
check('namespaces of ctx.exports', async ({ ctx, env }) => {
    const id = ctx.exports.Room.idFromName('x');
    return [id.equals(env.Room.idFromName('x')), (await ctx.exports.Room.get(id).who())[1]];
}, [true, 'x']);

// ---- Ids

check('an id of a name', ({ env: { Room } }) => [/^[0-9a-f]{64}$/.test(`${Room.idFromName('a')}`), Room.idFromName('a').toString() === Room.idFromName('a').toString(), Room.idFromName('a').name], [true, true, 'a']);
check('other names, other ids', ({ env: { Room } }) => new Set(['a', 'b', 'A', ' a', 'a ', '', 'ä', 'a\u0308'].map((name) => `${Room.idFromName(name)}`)).size, 8);
check('other classes, other ids', ({ env: { Room, Other } }) => `${Room.idFromName('a')}` === `${Other.idFromName('a')}`, false);
check('unique ids', ({ env: { Room } }) => {
    const ids = Array.from({ length: 50 }, () => Room.newUniqueId());
    return [new Set(ids.map(String)).size, ids.every((id) => /^[0-9a-f]{64}$/.test(id.toString())), ids[0].name];
}, [50, true, undefined]);
check('equality', ({ env: { Room, Other } }) => {
    const a = Room.idFromName('a');
    return [a.equals(a), a.equals(Room.idFromName('a')), a.equals(Room.idFromName('b')), a.equals(Room.idFromString(`${a}`)), a.equals(Other.idFromName('a')), Room.newUniqueId().equals(Room.newUniqueId()), a == Room.idFromName('a')];
}, [true, true, false, true, false, false, false]);
check('equality with what is no id', ({ env: { Room } }) => {
    const id = Room.idFromName('a');
    return [caught(() => id.equals(`${id}`)), caught(() => id.equals(null)), caught(() => id.equals({})), caught(() => id.equals())];
}, Array(4).fill('TypeError'));
check('there and back as text', ({ env: { Room } }) => {
    const id = Room.newUniqueId();
    const back = Room.idFromString(id.toString());
    return [back.toString() === id.toString(), back.name, Room.idFromString(`${Room.idFromName('named')}`).name];
}, [true, undefined, undefined]);
check('a text with capital letters', ({ env: { Room } }) => {
    const id = Room.newUniqueId();
    return Room.idFromString(id.toString().toUpperCase()).equals(id);
}, true);
check('texts that are no ids', ({ env: { Room } }) => ['', 'abc', 'g'.repeat(64), '0'.repeat(63), '0'.repeat(65)].map((text) => message(() => Room.idFromString(text))), Array(5).fill('TypeError: Invalid Durable Object ID: must be 64 hex digits'));
check('ids of another class', ({ env: { Room, Other } }) => [message(() => Room.idFromString(Other.newUniqueId().toString())), message(() => Room.idFromString('0'.repeat(64)))],
    Array(2).fill('TypeError: Durable Object ID is not valid for this namespace.'));
check('an id of another class is refused by get()', ({ env: { Room, Other } }) => caught(() => Room.get(Other.newUniqueId())), 'nothing was thrown',
    { celld: 'TypeError', why: 'services.md 1.2: such an id is not valid for the namespace; workerd makes an object of it that no other id leads to' });
check('get() of what is no id', ({ env: { Room } }) => [caught(() => Room.get('a')), caught(() => Room.get({})), caught(() => Room.get(null)), caught(() => Room.get())], Array(4).fill('TypeError'));
check('arguments that are missing', ({ env: { Room } }) => ['idFromName', 'idFromString', 'getByName'].map((name) => caught(() => Room[name]())), Array(3).fill('TypeError'));
check('names are strings', ({ env: { Room } }) => [Room.idFromName(5).name, Room.idFromName(null).name, Room.idFromName(true).name, Room.idFromName({}).name, caught(() => Room.idFromName(Symbol('s')))],
    ['5', 'null', 'true', '[object Object]', 'TypeError']);
check('long names', ({ env: { Room } }) => [Room.idFromName('x'.repeat(1024)).name?.length, Room.idFromName('x'.repeat(100000)).toString().length], [1024, 64]);
check('names beyond ASCII', async ({ env: { Room } }) => {
    const names = ['grüße', '日本', '😀', 'a/b?c#d', 'a\0b', ' '];
    const seen = await Promise.all(names.map(async (name) => (await Room.getByName(name).who())[1]));
    return seen.map((name, i) => name === names[i]);
}, Array(6).fill(true));
check('an empty name', async ({ env: { Room } }) => [Room.idFromName('').name, (await Room.getByName('').who())[1]], ['', ''], { celld: ['', null], why: 'an empty name leads to an object, which is told none' });
check('a jurisdiction', ({ env: { Room } }) => [message(() => Room.newUniqueId({ jurisdiction: 'eu' })), message(() => Room.jurisdiction('eu'))].map((text) => text.slice(0, 46)), Array(2).fill('Error: Jurisdiction restrictions are not imple'));
check('no jurisdiction', ({ env: { Room } }) => [Room.jurisdiction(null).idFromName('a').equals(Room.idFromName('a')), Room.jurisdiction(undefined).idFromName('a').equals(Room.idFromName('a')), Room.idFromName('a').jurisdiction, Room.newUniqueId({}).jurisdiction],
    [true, true, undefined, undefined]);

// ---- Stubs

check('a stub knows its id', ({ env: { Room } }) => {
    const id = Room.newUniqueId();
    const named = Room.getByName('a');
    return [Room.get(id).id.equals(id), Room.get(id).name, named.id.equals(Room.idFromName('a')), named.name, named.id.name];
}, [true, undefined, true, 'a', 'a']);
check('a stub is no promise', async ({ env: { Room } }) => {
    const stub = Room.getByName('a');
    return [stub.then, 'then' in stub, (await stub) === stub, typeof stub.fetch, typeof stub.anything];
}, [undefined, false, true, 'function', 'function']);
check('stubs are objects of their own', ({ env: { Room } }) => Room.getByName('a') === Room.getByName('a'), false);
check('options of get()', async ({ env: { Room } }) => [await Room.get(Room.idFromName('hint'), { locationHint: 'weur' }).up(), await Room.getByName('hint', { locationHint: 'enam' }).up(), await Room.getByName('hint', {}).up()], [1, 2, 3]);
check('a stub is not cloned', ({ env: { Room } }) => [caught(() => structuredClone(Room.getByName('a'))), caught(() => structuredClone(Room.newUniqueId())), caught(() => structuredClone(Room))], Array(3).fill('DataCloneError'));
check('a stub can be read after the id is gone', async ({ env: { Room } }) => {
    const text = Room.newUniqueId().toString();
    return (await Room.get(Room.idFromString(text)).who())[0] === text;
}, true);

// ---- Objects

check('one object for one id', async ({ env: { Room } }) => {
    const id = Room.idFromName('one');
    return [await Room.get(id).up(), await Room.get(id).up(), await Room.getByName('one').up(), await Room.get(Room.idFromString(`${id}`)).up()];
}, [1, 2, 3, 4]);
check('an object for each id', async ({ env: { Room } }) => {
    const stubs = Array.from({ length: 5 }, () => Room.get(Room.newUniqueId()));
    const numbers = await Promise.all(stubs.map((stub) => stub.which()));
    return [new Set(numbers).size, await Promise.all(stubs.map((stub) => stub.up()))];
}, [5, [1, 1, 1, 1, 1]]);
check('the constructor runs once', async ({ env: { Room } }) => {
    const stub = Room.getByName('once');
    const numbers = await Promise.all([stub.which(), stub.which(), Room.getByName('once').which()]);
    return new Set(numbers).size;
}, 1);
check('the id of an object', async ({ env: { Room } }) => {
    const id = Room.idFromName('known');
    const [text, name] = await Room.get(id).who();
    return [text === `${id}`, name, (await Room.get(Room.newUniqueId()).who())[1], await Room.get(id).sameId(text)];
}, [true, 'known', null, [true, true]]);
check('an object reached by the text of its id has no name', async ({ env: { Room } }) => (await Room.get(Room.idFromString(`${Room.idFromName('unnamed')}`)).who())[1], null);
check('what an object is given', ({ env: { Room } }) => Room.getByName('shape').shape(), ['DurableObjectState', 'DurableObjectId', 'DurableObjectStorage', '[object DurableObjectState]', true, true]);
check('what ctx has', ({ env: { Room } }) => Room.getByName('shape').members(), 'object object object object' + ' function'.repeat(11));
check('own fields of an instance', ({ env: { Room } }) => Room.getByName('shape').fields(), ['ctx', 'env', 'count', 'number']);
check('ctx.props', ({ env: { Room } }) => Room.getByName('shape').props(), [{}, true]);
check('env of an object', ({ env: { Room } }) => Room.getByName('shape').bindings(), ['Failing', 'Heir', 'ORIGIN', 'Other', 'Plain', 'Room']);
check('an object calls another one', ({ env: { Room } }) => Room.getByName('caller').neighbour('called'), 'called');
check('ctx.exports of an object', async ({ env: { Room } }) => (await Room.getByName('exporting').viaExports())[1], 'exported');
check('a class that extends another one', async ({ env: { Heir } }) => {
    const stub = Heir.getByName('heir');
    return [await stub.up(), await stub.own(), (await stub.who())[1]];
}, [101, 'of the heir', 'heir']);
check('a method that throws breaks nothing', async ({ env: { Room } }) => {
    const stub = Room.getByName('lives');
    return [await stub.up(), await message(stub.fail()), await stub.up()];
}, [1, 'Error: of a method', 2]);
check('a class that does not extend DurableObject', async ({ env: { Plain } }) => {
    const stub = Plain.getByName('plain');
    return [await (await stub.fetch('http://x/')).text(), await message(stub.hello())];
}, ['plain object', 'TypeError: The receiving Durable Object does not support RPC, because its class was not declared with `extends DurableObject`. In order to enable RPC, make sure your class extends the special class `DurableObject`, which can be imported from the module "cloudflare:workers".']);
check('a constructor that throws', async ({ env: { Failing } }) => {
    try {
        return await Failing.getByName('throws').fine();
    } catch (e) {
        return [e.name, e.message, e instanceof RangeError, e.durableObjectReset];
    }
}, ['RangeError', 'not yet', true, true]);
check('the constructor is tried again', async ({ env: { Failing } }) => {
    const seen = [];
    for (let i = 0; i < 2; i++) seen.push(await Failing.getByName('again').fine().catch((e) => e.message));
    return seen;
}, ['not yet', 'made']);
check('a stub that saw the constructor throw', async ({ env: { Failing } }) => {
    const stub = Failing.getByName('broken');
    const seen = [];
    for (let i = 0; i < 2; i++) seen.push(await stub.fine().catch((e) => e.message));
    return [seen, await Failing.getByName('broken').fine()];
}, [['not yet', 'not yet'], 'made']);
