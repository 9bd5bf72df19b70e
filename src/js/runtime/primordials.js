// primordials.js: what user code may replace later, taken while the prelude is made. Modules that hold contexts of events import the
// names from here and use them as ever: nothing that user code patches sees what goes through them.
//
// What it does not cover is written so that nothing is looked up: no destructuring of arrays that hold a context.
const { apply, defineProperty, getOwnPropertyDescriptor, ownKeys, setPrototypeOf } = Reflect;
const uncurry = (fn) => Function.prototype.call.bind(fn);

export { apply };
const OwnPromise = Promise;
export { OwnPromise as Promise };
export const push = uncurry(Array.prototype.push);
export const then = uncurry(Promise.prototype.then);
export const resolved = Promise.resolve.bind(Promise);

// Objects of these classes find nothing that user code puts on Object.prototype: no setter sees what becomes a property of theirs.
export function hide(...classes) {
    for (const cls of classes) setPrototypeOf(cls.prototype, null);
}

// A value that a promise resolves with: an object that is not boxed is asked for its then(), and Object.prototype may have one.
export const boxed = (value) => ({ __proto__: null, value });

// An iterator of a collection, without the prototypes of iterators.
class Walk {
    constructor(iterator, next) {
        this.iterator = iterator;
        this.step = next;
    }
    next() {
        return apply(this.step, this.iterator, []);
    }
    [Symbol.iterator]() {
        return this;
    }
}
hide(Walk);

// The class with a prototype of its own, where its methods are as they were.
function ownClass(Base) {
    const cls = class extends Base {};
    const { prototype } = cls;
    for (const key of ownKeys(Base.prototype)) if (key !== 'constructor') defineProperty(prototype, key, getOwnPropertyDescriptor(Base.prototype, key));
    if (Symbol.iterator in prototype) {
        const { next } = Object.getPrototypeOf(new Base()[Symbol.iterator]());
        for (const key of ['keys', 'values', 'entries', Symbol.iterator]) {
            const walk = Base.prototype[key];
            defineProperty(prototype, key, { value() { return new Walk(apply(walk, this, []), next); } });
        }
    }
    hide(cls);
    return cls;
}
const OwnMap = ownClass(Map), OwnSet = ownClass(Set), OwnWeakMap = ownClass(WeakMap), OwnWeakSet = ownClass(WeakSet);
export { OwnMap as Map, OwnSet as Set, OwnWeakMap as WeakMap, OwnWeakSet as WeakSet };
