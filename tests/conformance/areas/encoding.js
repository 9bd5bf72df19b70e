import { bytes, caught, check, drain, streamOf, text } from '../case.js';

const decode = (label, list, options) => new TextDecoder(label, options).decode(bytes(...list));

check('TextEncoder', () => [new TextEncoder().encode('aü€😀'), new TextEncoder().encode(), new TextEncoder().encoding], [bytes(0x61, 0xc3, 0xbc, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80), bytes(), 'utf-8']);
check('lone surrogates become U+FFFD', () => new TextEncoder().encode('\udc00x'), bytes(0xef, 0xbf, 0xbd, 0x78));
check('encodeInto', () => {
    const to = new Uint8Array(4);
    return [new TextEncoder().encodeInto('a€b', to), to, new TextEncoder().encodeInto('€€', to)];
}, [{ read: 2, written: 4 }, bytes(0x61, 0xe2, 0x82, 0xac), { read: 1, written: 3 }].map((v, i) => (i === 1 ? bytes(0xe2, 0x82, 0xac, 0xac) : v)));
check('UTF-8 by default', () => [new TextDecoder().encoding, new TextDecoder().fatal, new TextDecoder().ignoreBOM, decode(undefined, [0xc3, 0xbc])], ['utf-8', false, false, 'ü']);
check('what is malformed becomes U+FFFD', () => decode('utf-8', [0xc3, 0x28, 0xf0, 0x9f, 0x98, 0x41, 0xed, 0xa0, 0x80]), '\ufffd(\ufffdA\ufffd\ufffd\ufffd');
check('fatal', () => [caught(() => decode('utf-8', [0xff], { fatal: true })), caught(() => decode('utf-8', [0xc3], { fatal: true })), decode('utf-8', [0x61], { fatal: true })], ['TypeError', 'TypeError', 'a']);
check('the byte order mark', () => [decode('utf-8', [0xef, 0xbb, 0xbf, 0x61]).length, decode('utf-8', [0xef, 0xbb, 0xbf, 0x61], { ignoreBOM: true }).length], [1, 2]);
check('streaming', () => {
    const d = new TextDecoder();
    return [d.decode(bytes(0xe2, 0x82), { stream: true }), d.decode(bytes(0xac), { stream: true }), d.decode(bytes(0xe2), { stream: true }), d.decode()];
}, ['', '€', '', '\ufffd']);
check('UTF-16', () => [decode('utf-16le', [0x61, 0, 0xac, 0x20]), decode('utf-16be', [0, 0x61, 0x20, 0xac]), decode('utf-16', [0xff, 0xfe, 0x61, 0])], ['a€', 'a€', 'a']);
check('UTF-16 with an odd byte', () => decode('utf-16le', [0x61, 0, 0x62]), 'a\ufffd');
check('one-byte encodings', () => [decode('latin1', [0xe9, 0x80]), decode('windows-1251', [0xcf, 0xf0]), decode('iso-8859-2', [0xa1]), decode('koi8-r', [0xc1]), decode('macintosh', [0x80])], ['é€', 'Пр', 'Ą', 'а', 'Ä']);
check('East Asian encodings', () => [decode('shift_jis', [0x93, 0xfa]), decode('euc-jp', [0xc6, 0xfc]), decode('gbk', [0xc4, 0xe3]), decode('gb18030', [0x81, 0x30, 0x84, 0x36]), decode('big5', [0xa7, 0x41]), decode('euc-kr', [0xb0, 0xa1])],
    ['日', '日', '你', '¥', '你', '가']);
check('labels are without case and space', () => [' UTF8 ', 'Latin1', 'ASCII', 'sjis', 'x-sjis', 'unicode-1-1-utf-8'].map((label) => new TextDecoder(label).encoding),
    ['utf-8', 'windows-1252', 'windows-1252', 'shift_jis', 'shift_jis', 'utf-8']);
check('unknown labels', () => ['nope', 'replacement', 'utf-7', ''].map((label) => caught(() => new TextDecoder(label))), Array(4).fill('RangeError'));
check('views and buffers', () => {
    const { buffer } = bytes(0x78, 0x61, 0x62);
    return [new TextDecoder().decode(buffer), new TextDecoder().decode(new Uint8Array(buffer, 1)), new TextDecoder().decode(new DataView(buffer, 2)), caught(() => new TextDecoder().decode('text'))];
}, ['xab', 'ab', 'b', 'TypeError']);
check('TextDecoder keeps nothing after fatal', () => {
    const d = new TextDecoder('utf-8', { fatal: true });
    return [caught(() => d.decode(bytes(0xff))), d.decode(bytes(0x61))];
}, ['TypeError', 'a']);
check('TextDecoderStream', () => text(streamOf(bytes(0xe2, 0x82), bytes(0xac)).pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream())), '€');
check('TextEncoderStream joins surrogates', async () => {
    const source = new ReadableStream({ start(c) { c.enqueue('\ud83d'); c.enqueue('\ude00'); c.close(); } });
    const chunks = await drain(source.pipeThrough(new TextEncoderStream()));
    return chunks.flatMap((c) => [...c]);
}, [0xf0, 0x9f, 0x98, 0x80]);
check('properties of the streams', () => [new TextDecoderStream('latin1').encoding, new TextEncoderStream().encoding, new TextDecoderStream('utf-8', { fatal: true }).fatal], ['windows-1252', 'utf-8', true]);
check('atob and btoa', () => [btoa('a\xff'), atob('Yf8='), atob(' Y f 8 = '), btoa(''), atob('YQ')], ['Yf8=', 'a\xff', 'a\xff', '', 'a']);
check('atob and btoa refuse', () => [caught(() => btoa('€')), caught(() => atob('a')), caught(() => atob('YQ=')), caught(() => atob('Y*Q='))], Array(4).fill('InvalidCharacterError'));
check('atob gives a DOMException', () => {
    try {
        return atob('*');
    } catch (e) {
        return [e instanceof DOMException, e.code];
    }
}, [true, 5]);
check('the classes', () => [String(new TextEncoder()), String(new TextDecoder()), caught(() => TextDecoder())], ['[object TextEncoder]', '[object TextDecoder]', 'TypeError']);
