// dataurl.js: data: URLs for fetch. Fetch standard, 6.
import { BodyState } from './body.js';
import { receivedResponse } from './http.js';
import { encodeUtf8 } from './encoding.js';

const TYPE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+\/[!#$%&'*+\-.^_`|~0-9A-Za-z]+[\t ]*(;.*)?$/;
const BASE64 = /; *base64$/i;

export function fetchData(url, method) {
    const text = url.slice(5).replace(/#.*$/s, '');
    const comma = text.indexOf(',');
    if (comma < 0) throw new TypeError(`Fetch API cannot load: ${url}`);
    let type = text.slice(0, comma).replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '');
    let bytes = percentDecode(text.slice(comma + 1));
    if (BASE64.test(type)) {
        type = type.replace(BASE64, '');
        bytes = fromBase64(bytes, url);
    }
    if (type.startsWith(';')) type = `text/plain${type}`;
    if (!TYPE.test(type)) type = 'text/plain;charset=US-ASCII';
    const state = method === 'HEAD' ? null : new BodyState('bytes', bytes, null, bytes.length);
    return receivedResponse(200, 'OK', ['Content-Type', type], url, false, state, null);
}

function percentDecode(text) {
    const from = encodeUtf8(text);
    const to = new Uint8Array(from.length);
    let length = 0;
    for (let i = 0; i < from.length; i++) {
        const value = from[i] === 0x25 ? Number.parseInt(text2(from, i + 1), 16) : NaN;
        if (value >= 0) i += 2;
        to[length++] = value >= 0 ? value : from[i];
    }
    return to.slice(0, length);
}
// Two hexadecimal digits at a place, or something that is no number.
function text2(bytes, at) {
    const pair = String.fromCharCode(bytes[at], bytes[at + 1]);
    return /^[0-9A-Fa-f]{2}$/.test(pair) ? pair : 'x';
}

function fromBase64(bytes, url) {
    const decoded = host.atob(host.utf8_decode(bytes, false));
    if (decoded === undefined) throw new TypeError(`Fetch API cannot load: ${url}`);
    return Uint8Array.from(decoded, (c) => c.charCodeAt(0));
}
