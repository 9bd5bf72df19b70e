// url.js: URL and URLSearchParams over ada. runtime.md 5.3.
import { expose } from './core.js';

const { url_parse } = host;

// The URL as the WHATWG writes it, or a TypeError that says what is wrong.
export function parseUrl(text, message) {
    const parts = url_parse(text, undefined);
    if (parts === undefined) throw new TypeError(`${message}${text}`);
    return parts[0];
}

export class URLSearchParams {}
expose({ URLSearchParams });
