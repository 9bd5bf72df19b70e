// TextEncoder, TextDecoder with every encoding of the standard, atob and btoa.
import { equal, ok, run, same, test, throws } from 'harness.js';

const bytes = (...b) => Uint8Array.from(b);
const hash = (h, c) => (Math.imul(h, 31) + c) >>> 0;

test('encode', () => {
    const e = new TextEncoder();
    equal(e.encoding, 'utf-8');
    same([...e.encode('aé€😺')], [0x61, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0xba]);
    same([...e.encode('\ud800x\udc00')], [0xef, 0xbf, 0xbd, 0x78, 0xef, 0xbf, 0xbd]);
    equal(e.encode().length, 0);
    equal(e.encode(undefined).length, 0);
    same([...e.encode(null)], [...e.encode('null')]);
    throws(() => e.encode(Symbol()), 'TypeError');
    throws(() => TextEncoder.prototype.encode.call({}, ''), 'TypeError');
    throws(() => TextEncoder(), 'TypeError');
});

test('encodeInto writes whole characters', () => {
    const e = new TextEncoder();
    const to = new Uint8Array(8).fill(0xff);
    same(e.encodeInto('a😺b€€', to), { read: 4, written: 6 });
    same([...to], [0x61, 0xf0, 0x9f, 0x98, 0xba, 0x62, 0xff, 0xff]);
    same(e.encodeInto('😺', to.subarray(0, 3)), { read: 0, written: 0 });
    same(e.encodeInto('\ud83d', to.subarray(0, 3)), { read: 1, written: 3 });
    same(e.encodeInto('x'.repeat(1000), to), { read: 8, written: 8 });
    same(e.encodeInto('abc', new Uint8Array(0)), { read: 0, written: 0 });
    throws(() => e.encodeInto('', new Uint16Array(1)), 'TypeError');
    throws(() => e.encodeInto('', new ArrayBuffer(1)), 'TypeError');
    throws(() => e.encodeInto(''), 'TypeError');
    const detached = new Uint8Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    same(e.encodeInto('abc', detached), { read: 0, written: 0 });
});

test('decode UTF-8', () => {
    const d = new TextDecoder();
    equal(d.encoding, 'utf-8');
    equal(d.fatal, false);
    equal(d.ignoreBOM, false);
    equal(d.decode(), '');
    equal(d.decode(bytes(0xef, 0xbb, 0xbf, 0x61)), 'a');
    equal(d.decode(bytes(0xef, 0xbb, 0xbf, 0x61).buffer), 'a');
    equal(new TextDecoder('utf8', { ignoreBOM: true }).decode(bytes(0xef, 0xbb, 0xbf, 0x61)), '\ufeffa');
    equal(d.decode(bytes(0xf0, 0x9f, 0x61, 0xe0, 0x80, 0xff)), '\ufffda\ufffd\ufffd\ufffd');
    equal(d.decode(new DataView(bytes(0x61, 0x62, 0x63).buffer, 1, 1)), 'b');
    throws(() => d.decode('x'), 'TypeError');
    throws(() => d.decode(null), 'TypeError');
    throws(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes(0x61, 0x80)), 'TypeError', 'Failed to decode input.');
});

test('decode UTF-8 in pieces of every size', () => {
    const text = 'aé€😺\ufeffz\ufffd';
    const all = new TextEncoder().encode('\ufeff' + text);
    for (const fatal of [false, true]) {
        for (let size = 1; size <= all.length; size++) {
            const d = new TextDecoder('utf-8', { fatal });
            for (let again = 0; again < 2; again++) {
                let got = '';
                for (let i = 0; i < all.length; i += size) got += d.decode(all.subarray(i, i + size), { stream: true });
                equal(got + d.decode(), text, `size ${size}`);
            }
        }
    }
});

test('what is cut off is malformed once', () => {
    for (const part of [[0xf0], [0xf0, 0x9f], [0xf0, 0x9f, 0x98], [0xe2, 0x82], [0xc3]]) {
        const d = new TextDecoder();
        equal(d.decode(bytes(...part), { stream: true }), '');
        equal(d.decode(), '\ufffd');
        equal(d.decode(bytes(...part), { stream: true }) + d.decode(bytes(0x61)), '\ufffda');
    }
    // These cannot become anything any more.
    for (const part of [[0xe0, 0x80], [0xed, 0xa0], [0xf4, 0x90], [0xf0, 0x8f], [0xc0], [0xf5]]) {
        const d = new TextDecoder();
        equal(d.decode(bytes(...part), { stream: true }), '\ufffd'.repeat(part.length));
        equal(d.decode(), '');
    }
    const f = new TextDecoder('utf-8', { fatal: true });
    equal(f.decode(bytes(0xe2, 0x82), { stream: true }), '');
    throws(() => f.decode(), 'TypeError');
    equal(f.decode(bytes(0x61)), 'a');
    equal(f.decode(bytes(0xe2), { stream: true }), '');
    throws(() => f.decode(bytes(0xe2), { stream: true }), 'TypeError');
    equal(f.decode(bytes(0x62)), 'b');
});

test('labels', () => {
    for (const [label, name] of [['latin1', 'windows-1252'], [' ASCII\n', 'windows-1252'], ['UTF-16', 'utf-16le'], ['x-sjis', 'shift_jis'], ['gb2312', 'gbk'], ['logical', 'iso-8859-8-i'], ['unicode11utf8', 'utf-8']]) {
        equal(new TextDecoder(label).encoding, name, label);
    }
    for (const label of ['replacement', 'iso-2022-kr', '', 'utf-7', 'utf-8\0', '\u00a0utf-8']) throws(() => new TextDecoder(label), 'RangeError', `"${label}" is not a valid encoding.`);
    throws(() => new TextDecoder('utf-8', 1), 'TypeError');
});

// The hashes are those of the standard's indexes; U+FFFD stands for what is not in them.
const SINGLE = {
    ibm866: 2662636726, 'iso-8859-2': 3969021669, 'iso-8859-3': 2061171665, 'iso-8859-4': 3679352588, 'iso-8859-5': 1434866820,
    'iso-8859-6': 1114122382, 'iso-8859-7': 1019939404, 'iso-8859-8': 1188933385, 'iso-8859-10': 1872192297,
    'iso-8859-13': 572417587, 'iso-8859-14': 688495671, 'iso-8859-15': 3727320124, 'iso-8859-16': 1205135672, 'koi8-r': 2706884444,
    'koi8-u': 1339419344, macintosh: 223334593, 'windows-874': 3146147010, 'windows-1250': 1054258614, 'windows-1251': 1746477756,
    'windows-1252': 3886690378, 'windows-1253': 3160047858, 'windows-1254': 1493409314, 'windows-1255': 397343358,
    'windows-1256': 355591461, 'windows-1257': 3152100135, 'windows-1258': 1875106349, 'x-mac-cyrillic': 3167572631,
};
test('single-byte encodings are those of the standard', () => {
    const upper = Uint8Array.from({ length: 128 }, (_, i) => i + 128);
    const lower = Uint8Array.from({ length: 128 }, (_, i) => i);
    for (const [name, want] of Object.entries(SINGLE)) {
        const d = new TextDecoder(name);
        const text = d.decode(upper);
        equal(text.length, 128, name);
        let h = 0;
        for (let i = 0; i < 128; i++) h = hash(h, text.charCodeAt(i));
        equal(h, want, name);
        equal(d.decode(lower), String.fromCharCode(...lower), name);
    }
    equal(new TextDecoder('iso-8859-8-i').decode(upper), new TextDecoder('iso-8859-8').decode(upper));
    equal(new TextDecoder('x-user-defined').decode(bytes(0x41, 0x80, 0xff)), 'A\uf780\uf7ff');
    throws(() => new TextDecoder('windows-1253', { fatal: true }).decode(bytes(0xaa)), 'TypeError');
});

const trail = (t, gap) => t + (t < 0x3f ? 0x40 : 0x40 + gap);
const MULTI = [
    ['big5', 19782, (p) => [(p / 157 | 0) + 0x81, trail(p % 157, 0x22)], 728780188],
    ['euc-kr', 23940, (p) => [(p / 190 | 0) + 0x81, p % 190 + 0x41], 757319927],
    ['gb18030', 23940, (p) => [(p / 190 | 0) + 0x81, trail(p % 190, 1)], 1453256724],
    ['gb18030', 39420, (p) => [0x81 + (p / 12600 | 0), 0x30 + (p / 1260 | 0) % 10, 0x81 + (p / 10 | 0) % 126, 0x30 + p % 10], 2738636267],
    ['shift_jis', 11280, (p) => [(p / 188 | 0) + (p < 0x1f * 188 ? 0x81 : 0xc1), trail(p % 188, 1)], 932597110],
    ['euc-jp', 8836, (p) => [(p / 94 | 0) + 0xa1, p % 94 + 0xa1], 850511790],
    ['euc-jp', 8836, (p) => [0x8f, (p / 94 | 0) + 0xa1, p % 94 + 0xa1], 2424393005],
];
test('multi-byte encodings are those of the standard', () => {
    for (const [name, count, at, want] of MULTI) {
        const d = new TextDecoder(name);
        let h = 0;
        for (let p = 0; p < count; p++) h = hash(h, d.decode(bytes(...at(p))).codePointAt(0));
        equal(h, want, name);
    }
});

test('malformed characters leave the ASCII that follows', () => {
    for (const [name, input, want] of [
        ['big5', [0x80], '\ufffd'], ['big5', [0x81, 0x40], '\ufffd@'], ['big5', [0x87, 0x87, 0x40], '\ufffd@'], ['big5', [0x81, 0x81], '\ufffd'],
        ['big5', [0x88, 0x62, 0x88, 0xa5], '\u00ca\u0304\u00ea\u030c'],
        ['euc-jp', [0x8d, 0x8d], '\ufffd\ufffd'], ['euc-jp', [0x8e, 0x8e], '\ufffd'], ['euc-jp', [0x8f, 0xa1, 0x41], '\ufffdA'], ['euc-jp', [0x8e, 0xb1], '\uff71'],
        ['shift_jis', [0x81, 0x20, 0xb1, 0x80], '\ufffd \uff71\x80'], ['euc-kr', [0x81, 0x20], '\ufffd '], ['euc-kr', [0xb0, 0xa1], '가'],
        ['gb18030', [0x81, 0x30, 0x81, 0x40], '\ufffd0\u4e02'], ['gb18030', [0x84, 0x31, 0xa5, 0x30], '\ufffd'], ['gb18030', [0x80, 0xff], '€\ufffd'],
        ['gb18030', [0x90, 0x30, 0x81, 0x30, 0xe3, 0x32, 0x9a, 0x35], '\u{10000}\u{10ffff}'], ['gb18030', [0xe3, 0x32, 0x9a, 0x36], '\ufffd'],
        ['gbk', [0x80, 0x81, 0x30, 0x81, 0x30], '€\u0080'],
        ['iso-2022-jp', [0x1b, 0x24], '\ufffd$'], ['iso-2022-jp', [0x1b, 0x24, 0x40, 0x1b, 0x24], '\ufffd\ufffd'],
        ['iso-2022-jp', [0x1b, 0x24, 0x42, 0x30, 0x21, 0x1b, 0x28, 0x42, 0x41], '亜A'], ['iso-2022-jp', [0x1b, 0x28, 0x49, 0x31], '\uff71'],
        ['iso-2022-jp', [0x1b, 0x28, 0x4a, 0x5c, 0x7e], '¥‾'], ['iso-2022-jp', [0x1b, 0x28, 0x4a, 0x1b, 0x28, 0x42, 0x41], '\ufffdA'],
        ['utf-16le', [0x41, 0, 0x3d, 0xd8, 0x3a, 0xde], 'A😺'], ['utf-16be', [0xd8, 0x3d, 0xde, 0x3a], '😺'], ['utf-16le', [0xff, 0xfe, 0x41, 0], 'A'],
        ['utf-16le', [0x3d, 0xd8, 0x41, 0], '\ufffdA'], ['utf-16le', [0x3a, 0xde, 0x41], '\ufffd\ufffd'], ['utf-16le', [0x3d, 0xd8, 0x41], '\ufffd'],
    ]) {
        equal(new TextDecoder(name).decode(bytes(...input)), want, `${name} ${input}`);
        const d = new TextDecoder(name);
        let got = '';
        for (const b of input) got += d.decode(bytes(b), { stream: true });
        equal(got + d.decode(), want, `${name} ${input} byte by byte`);
        if (want.includes('\ufffd')) throws(() => new TextDecoder(name, { fatal: true }).decode(bytes(...input)), 'TypeError');
    }
});

test('any bytes in pieces are what they are in one', () => {
    const lead = [0x1b, 0x24, 0x28, 0x42, 0x4a, 0x81, 0x8e, 0x8f, 0x88, 0xa1, 0xd8, 0xdc, 0x30, 0x62, 0xff];
    for (const name of ['big5', 'euc-jp', 'euc-kr', 'gb18030', 'iso-2022-jp', 'shift_jis', 'utf-16be', 'utf-16le', 'utf-8', 'windows-1255']) {
        for (let seed = 1, round = 0; round < 50; round++) {
            const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 16;
            const input = Uint8Array.from({ length: 64 }, () => (random() % 2 ? lead[random() % lead.length] : random()));
            const d = new TextDecoder(name);
            let got = '';
            for (let at = 0; at < input.length;) got += d.decode(input.subarray(at, (at += 1 + random() % 5)), { stream: true });
            equal(got + d.decode(), new TextDecoder(name).decode(input), `${name} ${input}`);
        }
    }
});

test('every decoder begins anew after the end', () => {
    for (const name of ['big5', 'euc-jp', 'gb18030', 'iso-2022-jp', 'shift_jis', 'utf-16le']) {
        const d = new TextDecoder(name);
        equal(d.decode(bytes(name === 'iso-2022-jp' ? 0x1b : name === 'euc-jp' ? 0xa4 : 0x81), { stream: true }), '', name);
        equal(d.decode(new Uint8Array(0), { stream: true }), '', name);
        equal(d.decode(), '\ufffd', name);
        equal(d.decode(name === 'utf-16le' ? bytes(0x41, 0) : bytes(0x41)), 'A', name);
    }
});

test('atob and btoa', () => {
    equal(btoa('\0\xff~'), 'AP9+');
    equal(atob('AP9+'), '\0\xff~');
    equal(atob(' A\tP\n9\f+\r'), '\0\xff~');
    equal(atob('YQ'), 'a');
    equal(atob('YR=='), 'a');
    equal(atob(''), '');
    equal(btoa(''), '');
    equal(btoa(12), 'MTI=');
    for (const bad of ['Y', 'YQ=', 'YQ===', '=', 'Y=Q=', 'YW-_', 'YWJj=', '\u0100AAA', 'YQ==YQ==']) throws(() => atob(bad), 'InvalidCharacterError');
    throws(() => btoa('\u0100'), 'InvalidCharacterError');
    throws(() => atob(), 'TypeError');
    ok(atob(btoa('x'.repeat(100000))).length === 100000);
});

export default run;
