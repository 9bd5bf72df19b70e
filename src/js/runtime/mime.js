// mime.js: MIME types: MIME Sniffing standard, 4; Fetch standard, 2.2.2 (extract a MIME type).
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const QUOTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;
const SPACE = /^[\t\n\r ]+|[\t\n\r ]+$/g;

// A quoted string whose opening quote is at `at`: [text, index behind it].
function quoted(input, at) {
    let text = '';
    for (at++; at < input.length && input[at] !== '"'; at++) {
        if (input[at] === '\\' && at + 1 < input.length) at++;
        text += input[at];
    }
    return [text, at + 1];
}

// { essence, parameters: Map }, or null.
export function parseMime(input) {
    input = input.replace(SPACE, '');
    const end = input.indexOf(';');
    const essence = (end < 0 ? input : input.slice(0, end)).replace(SPACE, '').toLowerCase();
    const slash = essence.indexOf('/');
    if (slash < 0 || !TOKEN.test(essence.slice(0, slash)) || !TOKEN.test(essence.slice(slash + 1))) return null;
    const parameters = new Map();
    for (let at = end < 0 ? input.length : end; at < input.length;) {
        for (at++; at < input.length && /[\t\n\r ]/.test(input[at]); at++);
        let stop = at;
        while (stop < input.length && input[stop] !== ';' && input[stop] !== '=') stop++;
        const name = input.slice(at, stop).toLowerCase();
        at = stop;
        if (at >= input.length || input[at] === ';') continue;
        at++;
        let value;
        if (input[at] === '"') {
            [value, at] = quoted(input, at);
            while (at < input.length && input[at] !== ';') at++;
        } else {
            stop = input.indexOf(';', at);
            if (stop < 0) stop = input.length;
            value = input.slice(at, stop).replace(/[\t\n\r ]+$/, '');
            at = stop;
            if (value === '') continue;
        }
        if (TOKEN.test(name) && QUOTABLE.test(value) && !parameters.has(name)) parameters.set(name, value);
    }
    return { essence, parameters };
}

export function mimeText({ essence, parameters }) {
    let text = essence;
    for (const [name, value] of parameters) text += `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`;
    return text;
}

// The MIME type of a Content-Type field, whose values may have been joined with commas; null when there is none.
export function extractMime(field) {
    let charset = null, essence = null, found = null;
    for (let at = 0; at <= field.length;) {
        let stop = at;
        while (stop < field.length && field[stop] !== ',') stop = field[stop] === '"' ? quoted(field, stop)[1] : stop + 1;
        const mime = parseMime(field.slice(at, stop));
        at = stop + 1;
        if (mime === null || mime.essence === '*/*') continue;
        found = mime;
        if (mime.essence !== essence) {
            charset = mime.parameters.get('charset') ?? null;
            essence = mime.essence;
        } else if (!mime.parameters.has('charset') && charset !== null) mime.parameters.set('charset', charset);
    }
    return found;
}
