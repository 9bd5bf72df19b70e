// formdata.js: FormData and its two encodings. runtime.md 5.1.
import { expose } from './core.js';
import { File, blobBytes, fileOf, isBlob } from './blob.js';
import { encodeUtf8 } from './encoding.js';
import { extractMime } from './mime.js';

const { random_fill, utf8_decode } = host;

const need = (what, given, count) => {
    if (given < count) throw new TypeError(`Failed to execute '${what}' on 'FormData': ${count} argument${count > 1 ? 's' : ''} required, but only ${given} present.`);
};
const text = (v) => `${v}`.toWellFormed();

// filename undefined: not given.
function valueOf(what, name, value, filename) {
    if (isBlob(value)) {
        const file = value instanceof File;
        if (file && filename === undefined) return value;
        return fileOf(blobBytes(value), filename === undefined ? name : text(filename), value.type, file ? value.lastModified : undefined);
    }
    if (filename !== undefined) throw new TypeError(`Failed to execute '${what}' on 'FormData': parameter 2 is not of type 'Blob'.`);
    return text(value);
}

export class FormData {
    #entries = []; // name, value, name, value, ...

    constructor(form = undefined) {
        if (form !== undefined) throw new TypeError("Failed to construct 'FormData': parameter 1 is not of type 'HTMLFormElement'.");
    }
    static entries = (f) => f.#entries;

    append(name, value, filename = undefined) {
        need('append', arguments.length, 2);
        name = text(name);
        this.#entries.push(name, valueOf('append', name, value, filename));
    }
    delete(name) {
        need('delete', arguments.length, 1);
        name = text(name);
        const list = this.#entries;
        let to = 0;
        for (let i = 0; i < list.length; i += 2) {
            if (list[i] === name) continue;
            list[to++] = list[i];
            list[to++] = list[i + 1];
        }
        list.length = to;
    }
    get(name) {
        need('get', arguments.length, 1);
        name = text(name);
        const list = this.#entries;
        for (let i = 0; i < list.length; i += 2) if (list[i] === name) return list[i + 1];
        return null;
    }
    getAll(name) {
        need('getAll', arguments.length, 1);
        name = text(name);
        const list = this.#entries;
        const values = [];
        for (let i = 0; i < list.length; i += 2) if (list[i] === name) values.push(list[i + 1]);
        return values;
    }
    has(name) {
        need('has', arguments.length, 1);
        name = text(name);
        const list = this.#entries;
        for (let i = 0; i < list.length; i += 2) if (list[i] === name) return true;
        return false;
    }
    set(name, value, filename = undefined) {
        need('set', arguments.length, 2);
        name = text(name);
        value = valueOf('set', name, value, filename);
        const list = this.#entries;
        let to = 0, found = false;
        for (let i = 0; i < list.length; i += 2) {
            let v = list[i + 1];
            if (list[i] === name) {
                if (found) continue;
                found = true;
                v = value;
            }
            list[to++] = list[i];
            list[to++] = v;
        }
        list.length = to;
        if (!found) list.push(name, value);
    }
    entries() {
        return iterator(this.#entries, 'entries');
    }
    keys() {
        return iterator(this.#entries, 'keys');
    }
    values() {
        return iterator(this.#entries, 'values');
    }
    forEach(callback, self = undefined) {
        need('forEach', arguments.length, 1);
        if (typeof callback !== 'function') throw new TypeError("Failed to execute 'forEach' on 'FormData': parameter 1 is not of type 'Function'.");
        const list = this.#entries;
        for (let i = 0; i < list.length; i += 2) Reflect.apply(callback, self, [list[i + 1], list[i], this]);
    }
}
const { entries: entriesOf } = FormData;
delete FormData.entries;
Object.defineProperty(FormData.prototype, Symbol.iterator, { value: FormData.prototype.entries, writable: true, configurable: true });

// What is added while somebody iterates is seen.
class Position {
    #list;
    #kind;
    #at = 0;
    constructor(list, kind) {
        this.#list = list;
        this.#kind = kind;
    }
    static next(it) {
        const list = it.#list, at = it.#at;
        if (at >= list.length) return { value: undefined, done: true };
        it.#at += 2;
        const value = it.#kind === 'keys' ? list[at] : it.#kind === 'values' ? list[at + 1] : [list[at], list[at + 1]];
        return { value, done: false };
    }
}
const { next } = Position;
const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const FormDataIterator = Object.create(IteratorPrototype, {
    next: { value: { next() { return next(this); } }.next, writable: true, configurable: true, enumerable: true },
    [Symbol.toStringTag]: { value: 'FormData Iterator', configurable: true },
});
const iterator = (list, kind) => Object.setPrototypeOf(new Position(list, kind), FormDataIterator);

// ---- multipart/form-data, out

// As Chrome writes names, but for the backslash: readers take one for an escape.
function escaped(name) {
    if (name.endsWith('\\')) throw new TypeError("Name or filename can't end with backslash");
    return name.replace(/["\r\n\\]/g, (c) => (c === '"' ? '%22' : c === '\r' ? '%0D' : c === '\n' ? '%0A' : '\\\\'));
}

function boundaryText() {
    const bytes = new Uint8Array(16);
    random_fill(bytes);
    let hex = '';
    for (let i = 0; i < 16; i++) hex += (bytes[i] + 256).toString(16).slice(1);
    return hex;
}

// { bytes, type }: a body, and the Content-Type it has.
export function formDataToBody(form) {
    const boundary = boundaryText();
    const list = entriesOf(form);
    const parts = [];
    let open = ''; // text that is not in parts yet
    for (let i = 0; i < list.length; i += 2) {
        const value = list[i + 1];
        open += `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(list[i])}"`;
        if (typeof value === 'string') {
            open += `\r\n\r\n${value}\r\n`;
            continue;
        }
        open += `; filename="${escaped(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`;
        parts.push(encodeUtf8(open), blobBytes(value));
        open = '\r\n';
    }
    parts.push(encodeUtf8(`${open}--${boundary}--`));
    let size = 0;
    for (let i = 0; i < parts.length; i++) size += parts[i].byteLength;
    const bytes = new Uint8Array(size);
    for (let i = 0, at = 0; i < parts.length; at += parts[i++].byteLength) bytes.set(parts[i], at);
    return { bytes, type: `multipart/form-data; boundary=${boundary}` };
}

// ---- multipart/form-data, in

const LF = 10, CR = 13, DASH = 45;

// Where bytes has `what` from `at` on, or -1. what begins with a line feed or a dash.
function find(bytes, what, at) {
    for (;;) {
        at = bytes.indexOf(what[0], at);
        if (at < 0 || at + what.length > bytes.length) return -1;
        let i = 1;
        while (i < what.length && bytes[at + i] === what[i]) i++;
        if (i === what.length) return at;
        at++;
    }
}

// Where the header that begins at `at` ends: [behind its last line, behind the empty line].
function headEnd(bytes, at) {
    for (let lf = bytes.indexOf(LF, at); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
        const next = bytes[lf + 1] === CR ? lf + 2 : lf + 1;
        if (bytes[next] === LF) return [lf, next + 1];
    }
    throw new TypeError('No multipart message header termination found.');
}

const PARAMETER = /;[\t ]*([^\s;="]+)[\t ]*=[\t ]*(?:"((?:[^"\\\n]|\\[^\n])*)"|([^\s;"]+))[\t ]*/y;

function disposition(value) {
    const kind = /^[\t ]*([-!#$%&'*+.^_`|~0-9A-Za-z]+)[\t ]*/.exec(value);
    const bad = () => new TypeError('Invalid Content-Disposition header found in FormData part.');
    if (kind === null) throw bad();
    if (kind[1] !== 'form-data') throw new TypeError(`Content-Disposition header for FormData part must have the value "form-data", possibly followed by parameters. Got: "${kind[1]}"`);
    const found = { name: undefined, filename: undefined };
    for (let at = kind[0].length; at < value.length;) {
        PARAMETER.lastIndex = at;
        const p = PARAMETER.exec(value);
        if (p === null) throw bad();
        at = PARAMETER.lastIndex;
        const key = p[1].toLowerCase();
        if (key === 'name' || key === 'filename') found[key] = p[2] !== undefined ? p[2].replace(/\\(.)/g, '$1') : p[3];
    }
    if (found.name === undefined) throw new TypeError('Content-Disposition header in FormData part is missing a name.');
    return found;
}

// { name, filename, type } of a part.
function headOf(head) {
    let field, type = '';
    for (const line of head.split(/\r?\n/)) {
        const colon = line.indexOf(':');
        if (colon <= 0) {
            if (line === '') continue;
            throw new TypeError('FormData part had invalid headers.');
        }
        const name = line.slice(0, colon).toLowerCase();
        if (name === 'content-disposition') field = line.slice(colon + 1).trim();
        else if (name === 'content-type') type = line.slice(colon + 1).trim();
    }
    if (field === undefined) throw new TypeError('No valid Content-Disposition header found in FormData part.');
    return { ...disposition(field), type };
}

function parseMultipart(bytes, boundary, list) {
    if (boundary.length < 1 || boundary.length > 70) throw new TypeError('Length of multipart/form-data boundary string must be in the range [1, 70].');
    const delimiter = encodeUtf8(`\n--${boundary}`);
    const first = delimiter.subarray(1);
    let at = find(bytes, first, 0);
    if (at < 0 || at + first.length === bytes.length) throw new TypeError('No initial boundary string (or you have a truncated message).');
    at += first.length;
    for (;;) {
        if (bytes[at] === LF) at++;
        else if (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
        else if (bytes[at] === DASH && bytes[at + 1] === DASH) return;
        else throw new TypeError("Boundary string was not succeeded by CRLF, LF, or '--'.");
        const [stop, start] = headEnd(bytes, at);
        const head = headOf(utf8_decode(bytes.subarray(at, stop), false));
        // An empty body may have its delimiter where the header ends.
        let end = find(bytes, delimiter, start - 1);
        if (end < 0) throw new TypeError('No subsequent boundary string after multipart message.');
        at = end + delimiter.length;
        if (end > start && bytes[end - 1] === CR) end--;
        const content = bytes.subarray(start, Math.max(start, end));
        list.push(head.name, head.filename === undefined ? utf8_decode(content, false) : fileOf(content, head.filename, head.type));
    }
}

// ---- application/x-www-form-urlencoded, in

const hex = (c) => (c >= 48 && c <= 57 ? c - 48 : c >= 65 && c <= 70 ? c - 55 : c >= 97 && c <= 102 ? c - 87 : -1);

function decoded(bytes) {
    const out = new Uint8Array(bytes.length);
    let to = 0;
    for (let i = 0; i < bytes.length; i++) {
        let b = bytes[i];
        if (b === 43) b = 32;
        else if (b === 37 && i + 2 < bytes.length && hex(bytes[i + 1]) >= 0 && hex(bytes[i + 2]) >= 0) {
            b = hex(bytes[i + 1]) * 16 + hex(bytes[i + 2]);
            i += 2;
        }
        out[to++] = b;
    }
    return utf8_decode(out.subarray(0, to), false);
}

function parseUrlencoded(bytes, list) {
    for (let at = 0; at <= bytes.length;) {
        let end = bytes.indexOf(38, at);
        if (end < 0) end = bytes.length;
        const pair = bytes.subarray(at, end);
        at = end + 1;
        if (pair.length === 0) continue;
        const equals = pair.indexOf(61);
        list.push(decoded(equals < 0 ? pair : pair.subarray(0, equals)), equals < 0 ? '' : decoded(pair.subarray(equals + 1)));
    }
}

const UTF8 = new Set(['utf-8', 'utf8', 'unicode-1-1-utf-8']);

// The form that a message's bytes are; nobody else has them. type: its Content-Type field, or null.
export function formDataOf(bytes, type) {
    if (type === null) throw new TypeError('Parsing a Body as FormData requires a Content-Type header.');
    const mime = extractMime(type);
    const form = new FormData();
    if (mime?.essence === 'multipart/form-data') {
        const boundary = mime.parameters.get('boundary');
        if (boundary === undefined) {
            throw new TypeError(
                'No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, ' +
                    "e.g. 'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC 7578, section 4.",
            );
        }
        parseMultipart(bytes, boundary, entriesOf(form));
    } else if (mime?.essence === 'application/x-www-form-urlencoded') {
        const charset = mime.parameters.get('charset');
        if (charset !== undefined && !UTF8.has(charset.toLowerCase())) throw new TypeError('Non-utf-8 application/x-www-form-urlencoded body.');
        parseUrlencoded(bytes, entriesOf(form));
    } else {
        throw new TypeError('Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded');
    }
    return form;
}
expose({ FormData });
