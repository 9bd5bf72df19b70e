// htmlrewriter.js: HTMLRewriter. runtime.md 5.7.
//
// A document goes through as tokens, one after the other; handlers may wait. What nobody changed goes out as it came in. Elements are
// what the tags say: a tag that is missing is not invented, and an end tag closes what is open inside of it.
import { expose } from './core.js';
import { TextDecoder, encodeUtf8 } from './encoding.js';
import { isResponse, Response } from './http.js';
import { ReadableStream, bytesOf, ownStream } from './streams.js';
import { COMMENT, DOCTYPE, END, RAW, START, TEXT, Tokenizer, readDoctype } from './html_tokens.js';
import { Selector } from './html_selectors.js';

const DEAD = 'This content token is no longer valid. Content tokens are only valid during the execution of the relevant content handler.';
const MODIFIED = 'The attributes of this element have been modified during iteration. You must create a new iterator after modifying attributes.';
const parserError = (why) => new TypeError(`Parser error: ${why}`);

// ---- Content that handlers add

const escapeText = (text) => text.replace(/[&<>]/g, (c) => (c === '&' ? '&amp;' : c === '<' ? '&lt;' : '&gt;'));

// A piece is a string as it goes out, or { stream, html }.
function piece(content, options, streams = true) {
    const html = Boolean(options?.html);
    const stream = content instanceof ReadableStream ? content : isResponse(content) ? content.body : undefined;
    if (stream !== undefined) {
        if (!streams) throw new TypeError('Replacing content in HTML comments using a ReadableStream or Response object is not implemented. You must provide a string.');
        return stream === null ? '' : { stream, html };
    }
    const text = `${content}`.toWellFormed();
    return html ? text : escapeText(text);
}

async function writeStream({ stream, html }, write) {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const reader = stream.getReader();
    const decode = (bytes, more) => {
        try {
            return decoder.decode(bytes, { stream: more });
        } catch {
            throw parserError('Invalid UTF-8');
        }
    };
    const put = (text) => write(html ? text : escapeText(text));
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        put(decode(bytesOf(value), true));
    }
    put(decode(undefined, false));
}

// What handlers did to a token.
class Edit {
    constructor() {
        this.before = [];
        this.after = [];
        this.replacement = [];
        this.removed = false;
    }
}

// ---- Tokens as handlers see them

class ContentToken {
    #target;
    constructor(target) {
        this.#target = target;
    }
    static of(token) {
        const target = token.#target;
        if (target === null) throw new TypeError(DEAD);
        return target;
    }
    static end = (token) => (token.#target = null);
}
const { of: targetOf, end: endToken } = ContentToken;
delete ContentToken.of;
delete ContentToken.end;

class Text extends ContentToken {
    get text() {
        return targetOf(this).token.text;
    }
    get lastInTextNode() {
        return targetOf(this).token.last;
    }
    get removed() {
        return targetOf(this).edit.removed;
    }
    before(content, options) {
        targetOf(this).edit.before.push(piece(content, options));
        return this;
    }
    after(content, options) {
        targetOf(this).edit.after.unshift(piece(content, options));
        return this;
    }
    replace(content, options) {
        const { edit } = targetOf(this);
        edit.replacement = [piece(content, options)];
        edit.removed = true;
        return this;
    }
    remove() {
        const { edit } = targetOf(this);
        edit.replacement = [];
        edit.removed = true;
        return this;
    }
}

class Comment extends ContentToken {
    get text() {
        const t = targetOf(this);
        return t.text ?? t.token.text;
    }
    set text(value) {
        const t = targetOf(this);
        const text = `${value}`;
        if (text.includes('-->')) throw parserError("Comment text shouldn't contain comment closing sequence (`-->`).");
        t.text = text;
    }
    get removed() {
        return targetOf(this).edit.removed;
    }
    before(content, options) {
        targetOf(this).edit.before.push(piece(content, options, false));
        return this;
    }
    after(content, options) {
        targetOf(this).edit.after.unshift(piece(content, options, false));
        return this;
    }
    replace(content, options) {
        const { edit } = targetOf(this);
        edit.replacement = [piece(content, options, false)];
        edit.removed = true;
        return this;
    }
    remove() {
        const { edit } = targetOf(this);
        edit.replacement = [];
        edit.removed = true;
        return this;
    }
}

class Doctype extends ContentToken {
    get name() {
        return targetOf(this).doctype.name;
    }
    get publicId() {
        return targetOf(this).doctype.publicId;
    }
    get systemId() {
        return targetOf(this).doctype.systemId;
    }
}

class DocumentEnd extends ContentToken {
    append(content, options) {
        targetOf(this).pieces.push(piece(content, options));
        return this;
    }
}

function tagName(value) {
    const name = `${value}`;
    if (name === '') throw parserError("Tag name can't be empty.");
    if (!/^[A-Za-z]/.test(name)) throw parserError('The first character of the tag name should be an ASCII alphabetical character.');
    const bad = /[ \n\r\t\f/>]/.exec(name);
    if (bad !== null) throw parserError(`\`${bad[0]}\` character is forbidden in the tag name`);
    return name;
}

class EndTag extends ContentToken {
    get name() {
        const t = targetOf(this);
        return t.name ?? t.token.name;
    }
    set name(value) {
        targetOf(this).name = tagName(value);
    }
    before(content, options) {
        targetOf(this).edit.before.push(piece(content, options));
        return this;
    }
    after(content, options) {
        targetOf(this).edit.after.unshift(piece(content, options));
        return this;
    }
    remove() {
        targetOf(this).edit.removed = true;
        return this;
    }
}

class AttributesIterator {
    #token;
    #version;
    #at = 0;
    constructor(token) {
        this.#token = token;
        this.#version = targetOf(token).version;
    }
    next() {
        const t = targetOf(this.#token);
        if (t.version !== this.#version) throw new TypeError(MODIFIED);
        const list = t.token.attributes;
        if (this.#at >= list.length) return { value: undefined, done: true };
        const { name, value } = list[this.#at++];
        return { value: [name, value], done: false };
    }
}
delete AttributesIterator.prototype.constructor;
Object.setPrototypeOf(AttributesIterator.prototype, Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));

class Element extends ContentToken {
    get tagName() {
        const t = targetOf(this);
        return t.newName ?? t.token.name;
    }
    set tagName(value) {
        targetOf(this).newName = tagName(value);
    }
    get namespaceURI() {
        return targetOf(this).token.namespace;
    }
    get attributes() {
        return new AttributesIterator(this);
    }
    get removed() {
        return targetOf(this).edit.removed;
    }
    getAttribute(name) {
        const lower = `${name}`.toLowerCase();
        return targetOf(this).token.attributes.find((a) => a.name === lower)?.value ?? null;
    }
    hasAttribute(name) {
        const lower = `${name}`.toLowerCase();
        return targetOf(this).token.attributes.some((a) => a.name === lower);
    }
    setAttribute(name, value) {
        const t = targetOf(this);
        const lower = `${name}`.toLowerCase();
        if (lower === '') throw parserError("Attribute name can't be empty.");
        const bad = /[ \n\r\t\f/>=]/.exec(lower);
        if (bad !== null) throw parserError(`\`${bad[0]}\` character is forbidden in the attribute name`);
        const text = `${value}`.toWellFormed();
        const entry = { name: lower, value: text, raw: `${name}="${text.replaceAll('"', '&quot;')}"` };
        const list = t.token.attributes;
        const at = list.findIndex((a) => a.name === lower);
        if (at < 0) list.push(entry);
        else list[at] = entry;
        t.version++;
        return this;
    }
    removeAttribute(name) {
        const t = targetOf(this);
        const lower = `${name}`.toLowerCase();
        const list = t.token.attributes;
        const at = list.findIndex((a) => a.name === lower);
        if (at >= 0) list.splice(at, 1);
        t.version++;
        return this;
    }
    before(content, options) {
        targetOf(this).edit.before.push(piece(content, options));
        return this;
    }
    after(content, options) {
        targetOf(this).edit.after.unshift(piece(content, options));
        return this;
    }
    prepend(content, options) {
        const t = targetOf(this);
        const p = piece(content, options);
        if (t.token.hasContent) t.prepended.unshift(p);
        return this;
    }
    append(content, options) {
        const t = targetOf(this);
        const p = piece(content, options);
        if (t.token.hasContent) t.appended.push(p);
        return this;
    }
    setInnerContent(content, options) {
        const t = targetOf(this);
        const p = piece(content, options);
        if (t.token.hasContent) {
            t.dropContent();
            t.prepended = [p];
        }
        return this;
    }
    replace(content, options) {
        const t = targetOf(this);
        t.edit.replacement = [piece(content, options)];
        t.edit.removed = true;
        t.dropContent();
        return this;
    }
    remove() {
        const t = targetOf(this);
        t.edit.replacement = [];
        t.edit.removed = true;
        t.dropContent();
        return this;
    }
    removeAndKeepContent() {
        targetOf(this).edit.removed = true;
        return this;
    }
    onEndTag(handler) {
        const t = targetOf(this);
        if (typeof handler !== 'function') throw new TypeError("Failed to execute 'onEndTag' on 'Element': parameter 1 is not of type 'Function'.");
        if (!t.token.hasContent) throw parserError('No end tag.');
        t.endHandlers.push(handler);
    }
}
const internal = (cls, name) => Object.defineProperty(cls.prototype, Symbol.toStringTag, { value: name, configurable: true });
for (const [name, cls] of Object.entries({ Element, EndTag, Comment, Doctype, DocumentEnd })) internal(cls, name);
internal(Text, 'Text');

// An element from its start tag to its end tag.
class Frame {
    constructor(token, index, typeIndex) {
        this.token = token;
        this.index = index;
        this.typeIndex = typeIndex;
        this.children = 0;
        this.types = null; // Map: name -> how many children
        this.matched = null; // registrations whose scope this is
        this.edited = null; // the element's ElementEdit, if a handler saw it
    }
}

class ElementEdit {
    constructor(token) {
        this.token = token;
        this.edit = new Edit();
        this.newName = undefined;
        this.version = 0;
        this.prepended = [];
        this.appended = [];
        this.contentDropped = false;
        this.endHandlers = [];
    }
    dropContent() {
        this.contentDropped = true;
        this.prepended = [];
        this.appended = [];
    }
    startTag() {
        const { token } = this;
        if (this.version === 0 && this.newName === undefined) return token.raw;
        const attributes = token.attributes.map((a) => ` ${a.raw}`).join('');
        return `<${this.newName ?? token.written}${attributes}${token.selfClosing ? ' /' : ''}>`;
    }
}

// ---- One document on its way

class Rewriting {
    constructor(elements, documents) {
        this.elements = elements; // [{ selector, handlers, scope }]
        this.documents = documents;
        this.tokenizer = new Tokenizer();
        this.stack = [];
        this.root = new Frame(null, 0, 0);
        this.counts = elements.some((r) => r.selector.counts);
        this.dropped = 0; // open elements whose content goes nowhere
        this.out = '';
    }

    async feed(text) {
        this.tokenizer.push(text);
        await this.#run();
    }
    async end() {
        this.tokenizer.end();
        await this.#run();
        const pieces = [];
        for (const handlers of this.documents) {
            if (typeof handlers.end === 'function') {
                const waits = this.#call(handlers, handlers.end, new DocumentEnd({ pieces }));
                if (waits !== undefined) await waits;
            }
        }
        this.dropped = 0;
        await this.#put(pieces);
    }
    async #run() {
        for (let token; (token = this.tokenizer.next()) !== null; ) {
            const waits = this.#handle(token);
            if (waits !== undefined) await waits;
        }
    }

    // A promise when something has to be waited for.
    #handle(token) {
        switch (token.kind) {
            case START: return this.#start(token);
            case END: return this.#end(token);
            case TEXT: return this.#simple(token, 'text', Text);
            case COMMENT: return this.#simple(token, 'comments', Comment);
            case DOCTYPE: return this.#doctype(token);
            case RAW: this.#write(token.raw);
        }
    }

    #write(text) {
        if (this.dropped === 0) this.out += text;
    }
    // Pieces in order. A promise when one of them is a stream.
    #put(pieces) {
        for (let i = 0; i < pieces.length; i++) {
            if (typeof pieces[i] !== 'string') return this.#putSlowly(pieces.slice(i));
            this.#write(pieces[i]);
        }
    }
    async #putSlowly(pieces) {
        for (const p of pieces) {
            if (typeof p === 'string') this.#write(p);
            else await writeStream(p, (text) => this.#write(text));
        }
    }

    // Calls a handler with a token that is good as long as it works.
    #call(handlers, fn, token) {
        let waits;
        try {
            waits = fn.call(handlers, token);
        } catch (error) {
            endToken(token);
            throw error;
        }
        if (typeof waits?.then !== 'function') return endToken(token), undefined;
        return Promise.resolve(waits).then(() => endToken(token), (error) => {
            endToken(token);
            throw error;
        });
    }

    // Those who want `what` of a token that is no tag: document handlers, and elements that are open.
    #listeners(what) {
        const list = [];
        for (const handlers of this.documents) if (typeof handlers[what] === 'function') list.push(handlers);
        for (const r of this.elements) if (r.scope > 0 && typeof r.handlers[what] === 'function') list.push(r.handlers);
        return list;
    }
    #simple(token, what, cls) {
        const list = this.#listeners(what);
        if (list.length === 0) return this.#write(token.raw);
        return this.#simpleSlowly(token, what, cls, list);
    }
    async #simpleSlowly(token, what, cls, list) {
        const target = { token, edit: new Edit(), text: undefined };
        for (const handlers of list) {
            const waits = this.#call(handlers, handlers[what], new cls(target));
            if (waits !== undefined) await waits;
        }
        const { edit } = target;
        const own = edit.removed ? edit.replacement : [target.text !== undefined ? `<!--${target.text}-->` : token.raw];
        await this.#put([...edit.before, ...own, ...edit.after]);
    }
    async #doctype(token) {
        for (const handlers of this.documents) {
            if (typeof handlers.doctype !== 'function') continue;
            const waits = this.#call(handlers, handlers.doctype, new Doctype({ doctype: readDoctype(token.raw) }));
            if (waits !== undefined) await waits;
        }
        this.#write(token.raw);
    }

    #start(token) {
        const { stack } = this;
        const frame = this.#frame(token);
        let matched = null;
        let handled = false;
        for (const r of this.elements) {
            if (!r.selector.matches(frame, stack)) continue;
            (matched ??= []).push(r);
            handled ||= typeof r.handlers.element === 'function';
        }
        if (!handled) {
            this.#write(token.raw);
            this.#open(frame, matched);
            return;
        }
        return this.#startSlowly(frame, matched);
    }
    #frame(token) {
        if (!this.counts) return new Frame(token, 0, 0);
        const parent = this.stack.at(-1) ?? this.root;
        const types = (parent.types ??= new Map());
        const typeIndex = (types.get(token.name) ?? 0) + 1;
        types.set(token.name, typeIndex);
        return new Frame(token, ++parent.children, typeIndex);
    }
    #open(frame, matched) {
        if (!frame.token.hasContent) return;
        frame.matched = matched;
        if (matched !== null) for (const r of matched) r.scope++;
        this.stack.push(frame);
    }
    async #startSlowly(frame, matched) {
        const { token } = frame;
        const e = new ElementEdit(token);
        for (const { handlers } of matched) {
            if (typeof handlers.element !== 'function') continue;
            const waits = this.#call(handlers, handlers.element, new Element(e));
            if (waits !== undefined) await waits;
        }
        const { edit } = e;
        const own = edit.removed ? edit.replacement : [e.startTag()];
        await this.#put([...edit.before, ...own, ...e.prepended]);
        if (!token.hasContent) await this.#put(edit.after);
        frame.edited = e;
        this.#open(frame, matched);
        if (token.hasContent && e.contentDropped) this.dropped++;
    }

    #close(frame) {
        if (frame.matched !== null) for (const r of frame.matched) r.scope--;
        if (frame.edited?.contentDropped) this.dropped--;
    }
    #end(token) {
        const { stack } = this;
        let at = stack.length - 1;
        while (at >= 0 && stack[at].token.name !== token.name) at--;
        if (at < 0) return this.#write(token.raw); // Of nothing that is open.
        while (stack.length > at + 1) this.#close(stack.pop());
        const frame = stack.pop();
        this.#close(frame);
        if (frame.edited === null) return this.#write(token.raw);
        return this.#endSlowly(frame.edited, token);
    }
    async #endSlowly(e, token) {
        const target = { token, edit: new Edit(), name: e.newName };
        target.edit.removed = e.edit.removed;
        for (const handler of e.endHandlers) {
            const waits = this.#call(undefined, handler, new EndTag(target));
            if (waits !== undefined) await waits;
        }
        const own = target.edit.removed ? [] : [target.name === undefined ? token.raw : `</${target.name}>`];
        await this.#put([...e.appended, ...target.edit.before, ...own, ...target.edit.after, ...e.edit.after]);
    }
}

// ---- Encodings

// The charset of a content type, or utf-8.
function charsetOf(contentType) {
    const found = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/i.exec(contentType ?? '');
    return found === null ? 'utf-8' : found[1] ?? found[2];
}

// Text back into the document's encoding: what that cannot say becomes a character reference.
function encoderFor(label) {
    const { encoding } = new TextDecoder(label);
    if (encoding === 'utf-8') return encodeUtf8;
    const codes = new Map();
    const probe = new TextDecoder(label);
    for (let byte = 128; byte < 256; byte++) {
        const c = probe.decode(new Uint8Array([byte]));
        if (c.length === 1 && c !== '\ufffd') codes.set(c, byte);
    }
    return (text) => {
        const bytes = [];
        for (const c of text) {
            const code = c.codePointAt(0);
            if (code < 128) bytes.push(code);
            else if (codes.has(c)) bytes.push(codes.get(c));
            else bytes.push(...encodeUtf8(`&#${code};`));
        }
        return new Uint8Array(bytes);
    };
}

// ---- HTMLRewriter

const needHandlers = (handlers, method) => {
    if (typeof handlers !== 'object' && typeof handlers !== 'function' || handlers === null) throw new TypeError(`Failed to execute '${method}' on 'HTMLRewriter': the handlers are not an object.`);
};

export class HTMLRewriter {
    #elements = []; // [{ selector, handlers }]
    #documents = [];

    on(selector, handlers) {
        if (arguments.length < 2) throw new TypeError(`Failed to execute 'on' on 'HTMLRewriter': 2 arguments required, but only ${arguments.length} present.`);
        needHandlers(handlers, 'on');
        this.#elements.push({ selector: new Selector(selector), handlers });
        return this;
    }
    onDocument(handlers) {
        if (arguments.length < 1) throw new TypeError("Failed to execute 'onDocument' on 'HTMLRewriter': 1 argument required, but only 0 present.");
        needHandlers(handlers, 'onDocument');
        this.#documents.push(handlers);
        return this;
    }
    transform(response) {
        if (!isResponse(response)) throw new TypeError("Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'.");
        if (response.type === 'error') throw new TypeError('HTMLRewriter cannot transform an error response');
        const label = charsetOf(response.headers.get('content-type'));
        let decoder, encode;
        try {
            decoder = new TextDecoder(label, { ignoreBOM: true });
            encode = encoderFor(label);
        } catch {
            throw parserError('Unknown character encoding has been provided.');
        }
        if (response.body === null) return new Response(null, response);
        const elements = this.#elements.map(({ selector, handlers }) => ({ selector, handlers, scope: 0 }));
        const rewriting = new Rewriting(elements, this.#documents.slice());
        const result = new Response(rewritten(response.body, rewriting, decoder, encode), response);
        result.headers.delete('content-length');
        return result;
    }
}

function rewritten(source, rewriting, decoder, encode) {
    const reader = source.getReader();
    return ownStream(new ReadableStream({
        type: 'bytes',
        async pull(controller) {
            try {
                for (;;) {
                    const { done, value } = await reader.read();
                    const text = done ? decoder.decode() : decoder.decode(bytesOf(value), { stream: true });
                    if (text !== '') await rewriting.feed(text);
                    if (done) await rewriting.end();
                    const { out } = rewriting;
                    rewriting.out = '';
                    if (out !== '') controller.enqueue(encode(out));
                    if (done) {
                        controller.close();
                        controller.byobRequest?.respond(0);
                        return;
                    }
                    if (out !== '') return;
                }
            } catch (error) {
                reader.cancel(error).catch(() => {});
                throw error;
            }
        },
        cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 }));
}

expose({ HTMLRewriter });
