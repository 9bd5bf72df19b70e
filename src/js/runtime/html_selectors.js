// html_selectors.js: the selectors of HTMLRewriter: types, classes, ids, attributes, :nth-child() and its like, :not(), descendants
// and children, lists.
//
// A selector is a list of alternatives, each a list of compounds from left to right; a compound is a list of tests and says how it
// is joined to the one before it. The tests see frames: open elements with { token, index, typeIndex }.
const fail = (why) => {
    throw new TypeError(`Parser error: ${why}`);
};

const NAME = /(?:[\w-]|[^\x00-\x7f]|\\.)+/y;
const unescape = (text) => text.replace(/\\(.)/g, '$1');

class Reader {
    constructor(text) {
        this.text = text;
        this.at = 0;
        this.counts = false; // whether a test needs positions
    }
    get done() {
        return this.at === this.text.length;
    }
    take(c) {
        if (!this.text.startsWith(c, this.at)) return false;
        this.at += c.length;
        return true;
    }
    spaces() {
        const from = this.at;
        while (/\s/.test(this.text[this.at] ?? '')) this.at++;
        return this.at > from;
    }
    name() {
        NAME.lastIndex = this.at;
        const found = NAME.exec(this.text);
        if (found === null) fail(this.done ? 'Unexpected end of selector.' : 'Unexpected token in selector.');
        this.at += found[0].length;
        return unescape(found[0]);
    }
    until(c) {
        const end = this.text.indexOf(c, this.at);
        if (end < 0) fail('Unexpected end of selector.');
        const text = this.text.slice(this.at, end);
        this.at = end + 1;
        return text;
    }
}

const attribute = (frame, name) => frame.token.attributes.find((a) => a.name === name)?.value;

function attributeTest(reader) {
    reader.spaces();
    const name = reader.name().toLowerCase();
    reader.spaces();
    if (reader.take(']')) return (frame) => attribute(frame, name) !== undefined;
    const operator = ['=', '~=', '|=', '^=', '$=', '*='].find((o) => reader.take(o)) ?? fail('Unexpected token in the attribute selector.');
    reader.spaces();
    let wanted = reader.take('"') ? unescape(reader.until('"')) : reader.take("'") ? unescape(reader.until("'")) : reader.name();
    reader.spaces();
    const ignoreCase = reader.take('i') || reader.take('I');
    if (!ignoreCase && !reader.take('s')) reader.take('S');
    reader.spaces();
    if (!reader.take(']')) fail('Unexpected token in the attribute selector.');
    if (ignoreCase) wanted = wanted.toLowerCase();
    const holds = {
        '=': (v) => v === wanted,
        '~=': (v) => wanted !== '' && !/\s/.test(wanted) && v.split(/[\t\n\f\r ]+/).includes(wanted),
        '|=': (v) => v === wanted || v.startsWith(`${wanted}-`),
        '^=': (v) => wanted !== '' && v.startsWith(wanted),
        '$=': (v) => wanted !== '' && v.endsWith(wanted),
        '*=': (v) => wanted !== '' && v.includes(wanted),
    }[operator];
    return (frame) => {
        const value = attribute(frame, name);
        return value !== undefined && holds(ignoreCase ? value.toLowerCase() : value);
    };
}

// an+b
function nth(text) {
    const t = text.trim().toLowerCase();
    if (t === 'odd') return [2, 1];
    if (t === 'even') return [2, 0];
    const found = /^(?:([+-]?\d*)n\s*(?:([+-])\s*(\d+))?|([+-]?\d+))$/.exec(t) ?? fail('Unexpected token in selector.');
    if (found[4] !== undefined) return [0, Number(found[4])];
    const a = found[1] === '' || found[1] === '+' ? 1 : found[1] === '-' ? -1 : Number(found[1]);
    return [a, found[3] === undefined ? 0 : Number(found[2] + found[3])];
}
const isNth = ([a, b], n) => (a === 0 ? n === b : (n - b) / a >= 0 && (n - b) % a === 0);

function pseudoTest(reader) {
    const name = reader.name().toLowerCase();
    if (name === 'not' && reader.take('(')) {
        const list = alternatives(reader, ')');
        if (list.some((compounds) => compounds.length > 1)) fail('Unexpected token in selector.');
        return (frame, stack, depth) => !list.some((compounds) => matchAt(compounds, 0, frame, stack, depth));
    }
    reader.counts = true;
    if (name === 'first-child') return (frame) => frame.index === 1;
    if (name === 'first-of-type') return (frame) => frame.typeIndex === 1;
    if (name === 'nth-child' || name === 'nth-of-type') {
        if (!reader.take('(')) fail('Unexpected token in selector.');
        const formula = nth(reader.until(')'));
        return name === 'nth-child' ? (frame) => isNth(formula, frame.index) : (frame) => isNth(formula, frame.typeIndex);
    }
    fail('Unsupported pseudo-class or pseudo-element in selector.');
}

function compound(reader) {
    const tests = [];
    if (reader.take('*')) tests.push(() => true);
    else if (/[^.#[:]/.test(reader.text[reader.at] ?? '.')) {
        const name = reader.name().toLowerCase();
        tests.push((frame) => frame.token.name === name);
    }
    for (;;) {
        if (reader.take('.')) {
            const name = reader.name();
            tests.push((frame) => attribute(frame, 'class')?.split(/[\t\n\f\r ]+/).includes(name) ?? false);
        } else if (reader.take('#')) {
            const name = reader.name();
            tests.push((frame) => attribute(frame, 'id') === name);
        } else if (reader.take('[')) tests.push(attributeTest(reader));
        else if (reader.take('::')) fail('Unsupported pseudo-class or pseudo-element in selector.');
        else if (reader.take(':')) tests.push(pseudoTest(reader));
        else break;
    }
    if (tests.length === 0) fail(reader.done ? 'Unexpected end of selector.' : 'Unexpected token in selector.');
    return tests;
}

function alternatives(reader, end) {
    const list = [];
    for (;;) {
        const compounds = [];
        let child = false;
        reader.spaces();
        for (;;) {
            compounds.push({ tests: compound(reader), child });
            const space = reader.spaces();
            const c = reader.text[reader.at];
            if (c === undefined || c === ',' || c === end) break;
            if (c === '+' || c === '~') fail(`Unsupported combinator \`${c}\` in selector.`);
            child = reader.take('>');
            if (!child && !space) fail('Unexpected token in selector.');
            reader.spaces();
            if (reader.done) fail('Dangling combinator in selector.');
        }
        list.push(compounds);
        if (reader.take(',')) continue;
        if (end === '' ? reader.done : reader.take(end)) return list;
        fail('Unexpected token in selector.');
    }
}

// Whether compounds[0..i] match with frame as the last; its ancestors are stack[0..depth).
function matchAt(compounds, i, frame, stack, depth) {
    const { tests, child } = compounds[i];
    for (const test of tests) if (!test(frame, stack, depth)) return false;
    if (i === 0) return true;
    if (child) return depth > 0 && matchAt(compounds, i - 1, stack[depth - 1], stack, depth - 1);
    for (let d = depth - 1; d >= 0; d--) if (matchAt(compounds, i - 1, stack[d], stack, d)) return true;
    return false;
}

export class Selector {
    constructor(text) {
        const reader = new Reader(`${text}`);
        if (reader.text.trim() === '') fail('The selector is empty.');
        this.list = alternatives(reader, '');
        this.counts = reader.counts;
    }
    matches(frame, stack) {
        for (const compounds of this.list) if (matchAt(compounds, compounds.length - 1, frame, stack, stack.length)) return true;
        return false;
    }
}
