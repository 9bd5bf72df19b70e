// node/types.js: node:util/types, by what V8 says an object is: no JavaScript of the object runs.
const { type_of } = host;

// The order of enum js_class in ../../value.h.
const BITS = [
    'function', 'asyncFunction', 'array', 'promise', 'proxy', 'date', 'regExp', 'error', 'map', 'set', 'arrayBuffer', 'sharedArrayBuffer',
    'view', 'typedArray', 'uint8Array', 'dataView', 'external', 'wasmModule', 'namespace', 'generator', 'generatorFunction', 'weakMap',
    'weakSet', 'mapIterator', 'setIterator', 'arguments', 'numberObject', 'stringObject', 'booleanObject', 'bigintObject', 'symbolObject',
];
export const BIT = {};
BITS.forEach((name, i) => (BIT[name] = 2 ** i));
const BOXED = BIT.numberObject | BIT.stringObject | BIT.booleanObject | BIT.bigintObject | BIT.symbolObject;

// The bits of a value; 0 for primitives.
export const classOf = (v) => ((typeof v === 'object' && v !== null) || typeof v === 'function' ? type_of(v) : 0);
const is = (mask) => (v) => (classOf(v) & mask) !== 0;

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const { apply } = Reflect;
const typed = (name) => (v) => apply(tagOf, v, []) === name;

export const isExternal = is(BIT.external);
export const isDate = is(BIT.date);
export const isArgumentsObject = is(BIT.arguments);
export const isBigIntObject = is(BIT.bigintObject);
export const isBooleanObject = is(BIT.booleanObject);
export const isNumberObject = is(BIT.numberObject);
export const isStringObject = is(BIT.stringObject);
export const isSymbolObject = is(BIT.symbolObject);
export const isBoxedPrimitive = is(BOXED);
export const isNativeError = is(BIT.error);
export const isRegExp = is(BIT.regExp);
export const isAsyncFunction = is(BIT.asyncFunction);
export const isGeneratorFunction = is(BIT.generatorFunction);
export const isGeneratorObject = is(BIT.generator);
export const isPromise = is(BIT.promise);
export const isMap = is(BIT.map);
export const isSet = is(BIT.set);
export const isMapIterator = is(BIT.mapIterator);
export const isSetIterator = is(BIT.setIterator);
export const isWeakMap = is(BIT.weakMap);
export const isWeakSet = is(BIT.weakSet);
export const isArrayBuffer = is(BIT.arrayBuffer);
export const isDataView = is(BIT.dataView);
export const isSharedArrayBuffer = is(BIT.sharedArrayBuffer);
export const isProxy = is(BIT.proxy);
export const isModuleNamespaceObject = is(BIT.namespace);
export const isAnyArrayBuffer = is(BIT.arrayBuffer | BIT.sharedArrayBuffer);
export const isArrayBufferView = ArrayBuffer.isView;
export const isTypedArray = is(BIT.typedArray);
export const isUint8Array = is(BIT.uint8Array);
export const isUint8ClampedArray = typed('Uint8ClampedArray');
export const isUint16Array = typed('Uint16Array');
export const isUint32Array = typed('Uint32Array');
export const isInt8Array = typed('Int8Array');
export const isInt16Array = typed('Int16Array');
export const isInt32Array = typed('Int32Array');
export const isFloat16Array = typed('Float16Array');
export const isFloat32Array = typed('Float32Array');
export const isFloat64Array = typed('Float64Array');
export const isBigInt64Array = typed('BigInt64Array');
export const isBigUint64Array = typed('BigUint64Array');
export const isKeyObject = (v) => v !== null && typeof v === 'object' && v.constructor?.name?.endsWith('KeyObject') === true;
export const isCryptoKey = (v) => v instanceof (globalThis.CryptoKey ?? class {});
export const isEventTarget = (v) => v instanceof (globalThis.EventTarget ?? class {});
