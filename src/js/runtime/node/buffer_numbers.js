// node/buffer_numbers.js: Buffer's readInt32LE and its many relatives.
import { err } from './errors.js';

function checkOffset(b, offset, size) {
    if (typeof offset !== 'number') throw err.ERR_INVALID_ARG_TYPE('offset', 'number', offset);
    if (Number.isInteger(offset) && offset >= 0 && offset + size <= b.length) return;
    outside(offset, b.length - size);
}
function outside(offset, max, name = 'offset') {
    if (Math.floor(offset) !== offset) throw err.ERR_OUT_OF_RANGE(name, 'an integer', offset);
    if (max < 0) throw err.ERR_BUFFER_OUT_OF_BOUNDS();
    throw err.ERR_OUT_OF_RANGE(name, `>= ${name === 'offset' ? 0 : 1} and <= ${max}`, offset);
}

function checkValue(value, min, max, size) {
    if (!(value > max || value < min)) return; // NaN is written as 0.
    const n = typeof min === 'bigint' ? 'n' : '';
    const bits = size * 8;
    let range = `>= ${min}${n} and <= ${max}${n}`;
    if (size > 4) {
        range = min === 0 || min === 0n ? `>= 0${n} and < 2${n} ** ${bits}${n}` : `>= -(2${n} ** ${bits - 1}${n}) and < 2${n} ** ${bits - 1}${n}`;
    }
    throw err.ERR_OUT_OF_RANGE('value', range, value);
}

// size bytes as a number, 1 to 6.
function read(b, offset, size, little, signed) {
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + b[little ? offset + size - 1 - i : offset + i];
    return signed && value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value;
}
function write(b, value, offset, size, little) {
    value = Math.trunc(value) || 0;
    if (value < 0) value += 2 ** (size * 8);
    for (let i = 0; i < size; i++) {
        b[little ? offset + i : offset + size - 1 - i] = value % 256;
        value = Math.floor(value / 256);
    }
    return offset + size;
}

const limits = (size, signed) => (signed ? [-(2 ** (size * 8 - 1)), 2 ** (size * 8 - 1) - 1] : [0, 2 ** (size * 8) - 1]);

function checkSize(size) {
    if (typeof size !== 'number') throw err.ERR_OUT_OF_RANGE('byteLength', 'an integer', size); // As workerd; Node has a TypeError.
    if (!Number.isInteger(size) || size < 1 || size > 6) outside(size, 6, 'byteLength');
}

export function addNumbers(methods) {
    const add = (name, fn) => (methods[name] = { [name]: fn }[name]);
    const both = (name, fn) => {
        add(name, fn);
        if (name.includes('UInt')) methods[name.replace('UInt', 'Uint')] = methods[name];
    };
    for (const signed of [false, true]) {
        const kind = signed ? 'Int' : 'UInt';
        for (const size of [1, 2, 4]) {
            for (const little of size === 1 ? [true] : [true, false]) {
                const name = `${kind}${size * 8}${size === 1 ? '' : little ? 'LE' : 'BE'}`;
                const [min, max] = limits(size, signed);
                both(`read${name}`, function (offset = 0) {
                    checkOffset(this, offset, size);
                    return read(this, offset, size, little, signed);
                });
                both(`write${name}`, function (value, offset = 0) {
                    value = +value;
                    checkValue(value, min, max, size);
                    checkOffset(this, offset, size);
                    return write(this, value, offset, size, little);
                });
            }
        }
        for (const little of [true, false]) {
            const name = `${kind}${little ? 'LE' : 'BE'}`;
            both(`read${name}`, function (offset, size) {
                if (offset === undefined) throw err.ERR_INVALID_ARG_TYPE('offset', 'number', offset);
                checkSize(size);
                checkOffset(this, offset, size);
                return read(this, offset, size, little, signed);
            });
            both(`write${name}`, function (value, offset, size) {
                checkSize(size);
                value = +value;
                checkValue(value, ...limits(size, signed), size);
                checkOffset(this, offset, size);
                return write(this, value, offset, size, little);
            });
        }
    }
    const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength);
    for (const little of [true, false]) {
        const end = little ? 'LE' : 'BE';
        for (const signed of [false, true]) {
            const type = signed ? 'BigInt64' : 'BigUint64';
            const min = signed ? -(2n ** 63n) : 0n;
            const max = signed ? 2n ** 63n - 1n : 2n ** 64n - 1n;
            const names = signed ? [type] : ['BigUInt64', 'BigUint64'];
            add(`read${names[0]}${end}`, function (offset = 0) {
                checkOffset(this, offset, 8);
                return view(this)[`get${type}`](offset, little);
            });
            add(`write${names[0]}${end}`, function (value, offset = 0) {
                checkValue(value, min, max, 8);
                checkOffset(this, offset, 8);
                view(this)[`set${type}`](offset, value & (2n ** 64n - 1n), little); // Throws for what is no BigInt.
                return offset + 8;
            });
            for (const op of ['read', 'write']) if (names.length > 1) methods[`${op}${names[1]}${end}`] = methods[`${op}${names[0]}${end}`];
        }
        for (const [name, type, size] of [
            ['Float', 'Float32', 4],
            ['Double', 'Float64', 8],
        ]) {
            add(`read${name}${end}`, function (offset = 0) {
                checkOffset(this, offset, size);
                return view(this)[`get${type}`](offset, little);
            });
            add(`write${name}${end}`, function (value, offset = 0) {
                value = +value;
                checkOffset(this, offset, size);
                view(this)[`set${type}`](offset, value, little);
                return offset + size;
            });
        }
    }
}
