// html_tokens.js: HTML as tokens, as far as a streaming rewriter needs them. HTML standard, 13.2.5.
//
// Tokens hold the text they were made of; attributes are read when somebody asks. A tag or comment is waited for as a whole, text is
// given as it comes. Entities stay as they are written.
export const TEXT = 0, START = 1, END = 2, COMMENT = 3, DOCTYPE = 4, RAW = 5; // RAW: passed on, no token of the document

export const HTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg', MATH = 'http://www.w3.org/1998/Math/MathML';

const VOID = new Set(['area', 'base', 'basefont', 'bgsound', 'br', 'col', 'embed', 'frame', 'hr', 'img', 'input', 'keygen', 'link', 'meta', 'param', 'source', 'track', 'wbr']);
const RAW_TEXT = new Set(['style', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript', 'textarea', 'title', 'script']);
// What ends foreign content.
const BREAKOUT = new Set(['b', 'big', 'blockquote', 'body', 'br', 'center', 'code', 'dd', 'div', 'dl', 'dt', 'em', 'embed', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'head', 'hr', 'i', 'img', 'li', 'listing', 'menu', 'meta', 'nobr', 'ol', 'p', 'pre', 'ruby', 's', 'small', 'span', 'strong', 'strike', 'sub', 'sup', 'table', 'tt', 'u', 'ul', 'var']);
// Foreign elements whose content is HTML again.
const INTEGRATION = { [SVG]: new Set(['foreignobject', 'desc', 'title']), [MATH]: new Set(['mi', 'mo', 'mn', 'ms', 'mtext', 'annotation-xml']) };

const isLetter = (c) => (c >= 97 && c <= 122) || (c >= 65 && c <= 90);
const isSpace = (c) => c === 32 || c === 10 || c === 9 || c === 12 || c === 13;

export class Token {
    constructor(kind, raw) {
        this.kind = kind;
        this.raw = raw;
        this.last = false; // TEXT: the empty one that ends a node
        this.written = ''; // START, END: the name as it is written
        this.name = ''; // and in lower case
        this.namespace = HTML;
        this.selfClosing = false;
        this.hasContent = true; // START: an end tag may follow
        this.text = raw; // TEXT, COMMENT
        this.list = null; // [{ name, value, raw }]
    }
    // [{ name (lower case), value, raw }], the first of each name.
    get attributes() {
        return (this.list ??= readAttributes(this.raw, 1 + this.written.length));
    }
}

function readAttributes(raw, at) {
    const list = [];
    const seen = new Set();
    const end = raw.length - 1; // >
    for (;;) {
        while (at < end && (isSpace(raw.charCodeAt(at)) || raw[at] === '/')) at++;
        if (at >= end) return list;
        const from = at;
        if (raw[at] === '=') at++;
        while (at < end && !isSpace(raw.charCodeAt(at)) && raw[at] !== '/' && raw[at] !== '=') at++;
        const name = raw.slice(from, at).toLowerCase();
        let value = '';
        let next = at;
        while (next < end && isSpace(raw.charCodeAt(next))) next++;
        if (raw[next] === '=' && next < end) {
            at = next + 1;
            while (at < end && isSpace(raw.charCodeAt(at))) at++;
            const quote = raw[at];
            if (at < end && (quote === '"' || quote === "'")) {
                const close = raw.indexOf(quote, at + 1);
                value = raw.slice(at + 1, close);
                at = close + 1;
            } else {
                const start = at;
                while (at < end && !isSpace(raw.charCodeAt(at))) at++;
                value = raw.slice(start, at);
            }
        }
        if (seen.has(name)) continue;
        seen.add(name);
        list.push({ name, value, raw: raw.slice(from, at) });
    }
}

// The position behind the > of the tag whose name begins at; -1: it is not there yet.
function tagEnd(text, at) {
    let state = 0; // 0 between, 1 in a name, 2 behind =, 3 unquoted
    for (let i = at; i < text.length; i++) {
        const c = text.charCodeAt(i);
        if (c === 62) return i + 1;
        if (state === 2) {
            if (isSpace(c)) continue;
            if (c === 34 || c === 39) {
                i = text.indexOf(c === 34 ? '"' : "'", i + 1);
                if (i < 0) return -1;
                state = 0;
            } else state = 3;
        } else if (isSpace(c)) {
            if (state === 3) state = 0;
        } else if (state !== 3) {
            state = c === 61 && state === 1 ? 2 : c === 47 ? 0 : 1;
        }
    }
    return -1;
}

export class Tokenizer {
    #text = '';
    #at = 0;
    #final = false;
    #inText = false; // a text node is open
    #raw = ''; // the element whose text has no tags
    #script = 0; // in a script: 1 inside <!--, 2 inside <!-- <script
    #foreign = []; // { name, namespace } of open foreign elements and integration points

    push(text) {
        this.#text = this.#at === this.#text.length ? text : this.#text.slice(this.#at) + text;
        this.#at = 0;
    }
    end() {
        this.#final = true;
    }

    // The next token; null: more input is needed, or at the end nothing is left.
    next() {
        if (this.#at === this.#text.length) return this.#final ? this.#textEnd() : null;
        if (this.#raw !== '') return this.#nextRaw();
        const text = this.#text, at = this.#at;
        if (text[at] !== '<') return this.#takeText(this.#textLimit(at));
        const kind = this.#markup(at);
        if (kind === TEXT) return this.#takeText(this.#textLimit(at + 1));
        const end = kind < 0 ? -1 : this.#markupEnd(kind, at);
        if (end < 0) {
            if (!this.#final) return null;
            return this.#textEnd() ?? this.#take(RAW, text.length); // The document ends inside: passed on.
        }
        const last = this.#textEnd();
        if (last !== null) return last;
        return this.#make(kind, end);
    }

    #textLimit(from) {
        const next = this.#text.indexOf('<', from);
        return next < 0 ? this.#text.length : next;
    }
    #takeText(end) {
        this.#inText = true;
        return this.#take(TEXT, end);
    }
    #take(kind, end) {
        const token = new Token(kind, this.#text.slice(this.#at, end));
        this.#at = end;
        return token;
    }
    // The empty token that ends a text node; null: none is open.
    #textEnd() {
        if (!this.#inText) return null;
        this.#inText = false;
        const token = new Token(TEXT, '');
        token.last = true;
        return token;
    }

    // What begins at a <. -1: it cannot be said yet.
    #markup(at) {
        const text = this.#text;
        const c = text.charCodeAt(at + 1);
        if (isLetter(c)) return START;
        if (c === 33 || c === 63) return COMMENT; // ! ?
        if (c === 47) {
            const d = text.charCodeAt(at + 2);
            return isLetter(d) ? END : Number.isNaN(d) && !this.#final ? -1 : Number.isNaN(d) ? TEXT : COMMENT;
        }
        return Number.isNaN(c) && !this.#final ? -1 : TEXT;
    }
    #markupEnd(kind, at) {
        const text = this.#text;
        if (kind !== COMMENT) return tagEnd(text, at + (kind === START ? 1 : 2));
        if (text.startsWith('<!--', at)) {
            if (text.startsWith('>', at + 4)) return at + 5;
            if (text.startsWith('->', at + 4)) return at + 6;
            const one = text.indexOf('-->', at + 4), two = text.indexOf('--!>', at + 4);
            if (one < 0 && two < 0) return -1;
            return two >= 0 && (one < 0 || two < one) ? two + 4 : one + 3;
        }
        if (!this.#final && text.length - at < 9 && '<![CDATA['.startsWith(text.slice(at))) return -1;
        if (this.#isForeign && text.startsWith('<![CDATA[', at)) {
            const end = text.indexOf(']]>', at + 9);
            return end < 0 ? -1 : end + 3;
        }
        const end = text.indexOf('>', at);
        return end < 0 ? -1 : end + 1;
    }

    #make(kind, end) {
        const token = this.#take(kind, end);
        const { raw } = token;
        if (kind === START || kind === END) this.#tag(token, kind === START ? 1 : 2);
        else if (/^<!doctype/i.test(raw)) token.kind = DOCTYPE;
        else if (raw.startsWith('<!--')) token.text = raw.length <= 6 ? '' : raw.slice(4, raw.endsWith('--!>') ? -4 : -3);
        else if (this.#isForeign && raw.startsWith('<![CDATA[')) {
            token.kind = TEXT;
            token.text = raw;
            this.#inText = true;
        } else token.text = raw.slice(raw[1] === '?' ? 1 : 2, -1);
        return token;
    }

    #tag(token, from) {
        const { raw } = token;
        let end = from;
        for (let c; (c = raw.charCodeAt(end)) !== 62 && c !== 47 && !isSpace(c); ) end++;
        token.written = raw.slice(from, end);
        const name = (token.name = token.written.toLowerCase());
        if (token.kind === END) {
            token.list = [];
            for (let i = this.#foreign.length - 1; i >= 0; i--) {
                if (this.#foreign[i].name !== name) continue;
                this.#foreign.length = i;
                break;
            }
            return;
        }
        token.selfClosing = raw.at(-2) === '/' && !unquotedEnd(raw, end);
        let space = this.#namespace;
        if (space !== HTML && (BREAKOUT.has(name) || (name === 'font' && token.attributes.some((a) => a.name === 'color' || a.name === 'face' || a.name === 'size')))) {
            while (this.#foreign.length > 0 && this.#isForeign) this.#foreign.pop();
            space = HTML;
        }
        if (space === HTML && name === 'svg') space = SVG;
        else if (space === HTML && name === 'math') space = MATH;
        token.namespace = space;
        if (space !== HTML) {
            token.hasContent = !token.selfClosing;
            if (token.hasContent) this.#foreign.push({ name, namespace: INTEGRATION[space].has(name) ? HTML : space });
            return;
        }
        token.hasContent = !VOID.has(name);
        if (RAW_TEXT.has(name) || name === 'plaintext') {
            this.#raw = name;
            this.#script = 0;
        }
    }
    get #namespace() {
        return this.#foreign.length === 0 ? HTML : this.#foreign.at(-1).namespace;
    }
    get #isForeign() {
        return this.#namespace !== HTML;
    }

    // Text up to the end tag of its element.
    #nextRaw() {
        const text = this.#text, at = this.#at;
        if (this.#raw === 'plaintext') return this.#takeText(text.length);
        const end = this.#raw === 'script' ? this.#scriptEnd(at) : this.#rawEnd(at);
        if (end > at) return this.#takeText(end);
        if (end < 0) return this.#final ? this.#takeText(text.length) : null;
        const close = tagEnd(text, at + 2);
        if (close < 0) return this.#final ? this.#takeText(text.length) : null;
        const last = this.#textEnd();
        if (last !== null) return last;
        this.#raw = '';
        return this.#make(END, close);
    }
    // Where text ends for now: at the end tag, or where one may begin. -1: at once, and more input is needed.
    #rawEnd(at) {
        const text = this.#text;
        const close = new RegExp(`</${this.#raw}(?=[\\t\\n\\f\\r />])`, 'gi');
        close.lastIndex = at;
        const found = close.exec(text);
        if (found !== null) return found.index;
        return this.#held(text.lastIndexOf('<'), at, this.#raw.length + 3);
    }
    #scriptEnd(at) {
        const text = this.#text;
        const mark = /<!--|-->|<\/?script(?=[\t\n\f\r />])/gi;
        mark.lastIndex = at;
        for (let found; (found = mark.exec(text)) !== null; ) {
            const what = found[0].toLowerCase();
            if (what === '<!--') {
                this.#script ||= 1;
                mark.lastIndex -= 2; // <!--> ends at once.
            } else if (what === '-->') this.#script = 0;
            else if (what === '<script') this.#script = this.#script === 0 ? 0 : 2;
            else if (this.#script === 2) this.#script = 1;
            else return found.index;
            if (mark.lastIndex < text.length - 12 || this.#final) continue;
            // What has been seen is not looked at again.
            return mark.lastIndex > at && what !== '<!--' ? mark.lastIndex : this.#held(found.index, at, 4096);
        }
        return this.#held(Math.max(text.lastIndexOf('<'), text.lastIndexOf('--')), at, 9);
    }
    #held(from, at, most) {
        const text = this.#text;
        if (this.#final || from < at || text.length - from > most) return text.length;
        return from > at ? from : -1;
    }
}

// Whether the last character before > belongs to an unquoted value, as in <a href=x/>.
function unquotedEnd(raw, from) {
    const found = /=\s*[^\s"'>][^\s>]*\/>$/.exec(raw.slice(from));
    return found !== null;
}

// name, publicId, systemId of a doctype; null where there is none.
export function readDoctype(raw) {
    const found = /^<!doctype\s*([^\s>]*)\s*(?:(public|system)\s*(?:"([^"]*)"|'([^']*)')?\s*(?:"([^"]*)"|'([^']*)')?)?/i.exec(raw);
    const [, name, keyword, a1, a2, b1, b2] = found;
    const first = a1 ?? a2 ?? null, second = b1 ?? b2 ?? null;
    const isPublic = keyword?.toLowerCase() === 'public';
    return { name: name === '' ? null : name.toLowerCase(), publicId: isPublic ? first : null, systemId: isPublic ? second : keyword === undefined ? null : first };
}
