import { bytes, caught, check, fromHex, streamOf, toHex, utf8 } from '../case.js';

const { subtle } = crypto;
const digest = async (name, data) => toHex(await subtle.digest(name, typeof data === 'string' ? utf8(data) : data));
const raw = (key, algorithm, usages, extractable = true) => subtle.importKey('raw', key, algorithm, extractable, usages);
const key16 = fromHex('000102030405060708090a0b0c0d0e0f');

check('digests', async () => [await digest('SHA-1', 'abc'), await digest('SHA-256', 'abc'), await digest('SHA-384', 'abc'), await digest('SHA-512', 'abc'), await digest('MD5', 'abc')], [
    'a9993e364706816aba3e25717850c26c9cd0d89d', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    '900150983cd24fb0d6963f7d28e17f72',
]);
check('a digest by name, object, and in lower case', async () => [await digest({ name: 'SHA-256' }, ''), await digest('sha-256', '')].map((d) => d.slice(0, 8)), ['e3b0c442', 'e3b0c442']);
check('a digest of nothing that is known', () => caught(subtle.digest('SHA-9', bytes(1))), 'NotSupportedError');
check('a digest of views', () => digest('SHA-256', new Uint8Array([9, 97, 98, 99]).subarray(1)).then((d) => d.slice(0, 8)), 'ba7816bf');
check('a digest of text is refused', () => caught(subtle.digest('SHA-256', 'text')), 'TypeError');
check('getRandomValues', () => {
    const a = new Uint8Array(32);
    const b = crypto.getRandomValues(a);
    return [a === b, a.some((x) => x !== 0), caught(() => crypto.getRandomValues(new Uint8Array(65537))), caught(() => crypto.getRandomValues(new Float32Array(1))), crypto.getRandomValues(new BigInt64Array(2)).length];
}, [true, true, 'QuotaExceededError', 'TypeMismatchError', 2]);
check('randomUUID', () => [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), crypto.randomUUID() !== crypto.randomUUID()], [true, true]);
check('timingSafeEqual', () => [subtle.timingSafeEqual(bytes(1, 2), bytes(1, 2)), subtle.timingSafeEqual(bytes(1, 2), bytes(1, 3)), caught(() => subtle.timingSafeEqual(bytes(1), bytes(1, 2)))], [true, false, 'TypeError']);
check('HMAC', async () => {
    const key = await raw(utf8('key'), { name: 'HMAC', hash: 'SHA-256' }, ['sign', 'verify']);
    const signature = await subtle.sign('HMAC', key, utf8('The quick brown fox jumps over the lazy dog'));
    return [toHex(signature), await subtle.verify('HMAC', key, signature, utf8('The quick brown fox jumps over the lazy dog')), await subtle.verify('HMAC', key, signature, utf8('another'))];
}, ['f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8', true, false]);
check('properties of an HMAC key', async () => {
    const key = await raw(key16, { name: 'HMAC', hash: 'SHA-512' }, ['sign'], false);
    return [key.type, key.extractable, key.usages, key.algorithm.name, key.algorithm.hash.name, key.algorithm.length, key instanceof CryptoKey];
}, ['secret', false, ['sign'], 'HMAC', 'SHA-512', 128, true]);
check('HMAC as JWK', async () => {
    const jwk = await subtle.exportKey('jwk', await raw(key16, { name: 'HMAC', hash: 'SHA-256' }, ['sign']));
    const back = await subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
    return [jwk.kty, jwk.k, jwk.alg, jwk.key_ops, jwk.ext, toHex(await subtle.exportKey('raw', back))];
}, ['oct', 'AAECAwQFBgcICQoLDA0ODw', 'HS256', ['sign'], true, '000102030405060708090a0b0c0d0e0f']);
check('AES-GCM', async () => {
    const key = await raw(key16, 'AES-GCM', ['encrypt', 'decrypt']);
    const iv = new Uint8Array(12);
    const sealed = await subtle.encrypt({ name: 'AES-GCM', iv, additionalData: utf8('aad') }, key, utf8('secret'));
    const open = await subtle.decrypt({ name: 'AES-GCM', iv, additionalData: utf8('aad') }, key, sealed);
    return [toHex(sealed), new TextDecoder().decode(open), await caught(subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed))];
}, ['3ab3e421fcefc859ea2b7a769fed628360fd7f874d72', 'secret', 'OperationError']);
check('AES-CBC', async () => {
    const key = await raw(key16, 'AES-CBC', ['encrypt', 'decrypt']);
    const iv = new Uint8Array(16);
    const sealed = await subtle.encrypt({ name: 'AES-CBC', iv }, key, utf8('sixteen bytes!!!'));
    return [sealed.byteLength, new TextDecoder().decode(await subtle.decrypt({ name: 'AES-CBC', iv }, key, sealed)), await caught(subtle.decrypt({ name: 'AES-CBC', iv }, key, bytes(1, 2)))];
}, [32, 'sixteen bytes!!!', 'OperationError']);
check('AES-CTR', async () => {
    const key = await raw(key16, 'AES-CTR', ['encrypt', 'decrypt']);
    const algorithm = { name: 'AES-CTR', counter: new Uint8Array(16), length: 64 };
    const sealed = await subtle.encrypt(algorithm, key, utf8('any length'));
    return [sealed.byteLength, toHex(sealed), new TextDecoder().decode(await subtle.decrypt(algorithm, key, sealed))];
}, [10, 'a7cf4217ebea35e51b27', 'any length']);
check('AES keys are generated', async () => {
    const key = await subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']);
    return [key.type, key.algorithm, (await subtle.exportKey('raw', key)).byteLength, await caught(subtle.generateKey({ name: 'AES-GCM', length: 100 }, true, ['encrypt']))];
}, ['secret', { name: 'AES-GCM', length: 256 }, 32, 'OperationError']);
check('AES as JWK', async () => (await subtle.exportKey('jwk', await raw(key16, 'AES-GCM', ['encrypt']))).alg, 'A128GCM');
check('PBKDF2', async () => {
    const key = await raw(utf8('password'), 'PBKDF2', ['deriveBits', 'deriveKey'], false);
    const bits = await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: utf8('salt'), iterations: 2 }, key, 256);
    const derived = await subtle.deriveKey({ name: 'PBKDF2', hash: 'SHA-256', salt: utf8('salt'), iterations: 2 }, key, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
    return [toHex(bits), toHex(await subtle.exportKey('raw', derived)) === toHex(bits)];
}, ['ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43', true]);
check('HKDF', async () => {
    const key = await raw(fromHex('0b'.repeat(22)), 'HKDF', ['deriveBits'], false);
    return toHex(await subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: fromHex('000102030405060708090a0b0c'), info: fromHex('f0f1f2f3f4f5f6f7f8f9') }, key, 336));
}, '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865');
check('ECDSA', async () => {
    const { privateKey, publicKey } = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
    const signature = await subtle.sign(algorithm, privateKey, utf8('data'));
    return [signature.byteLength, await subtle.verify(algorithm, publicKey, signature, utf8('data')), await subtle.verify(algorithm, publicKey, signature, utf8('date')), privateKey.usages, publicKey.usages, publicKey.type];
}, [64, true, false, ['sign'], ['verify'], 'public']);
check('ECDSA keys in every format', async () => {
    const { privateKey, publicKey } = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const curve = { name: 'ECDSA', namedCurve: 'P-256' };
    const signer = await subtle.importKey('pkcs8', await subtle.exportKey('pkcs8', privateKey), curve, true, ['sign']);
    const jwk = await subtle.exportKey('jwk', publicKey);
    const verifiers = [await subtle.importKey('spki', await subtle.exportKey('spki', publicKey), curve, true, ['verify']), await subtle.importKey('raw', await subtle.exportKey('raw', publicKey), curve, true, ['verify']),
        await subtle.importKey('jwk', jwk, curve, true, ['verify'])];
    const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, signer, utf8('x'));
    return [jwk.kty, jwk.crv, ...(await Promise.all(verifiers.map((v) => subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, v, signature, utf8('x')))))];
}, ['EC', 'P-256', true, true, true]);
check('ECDH', async () => {
    const [a, b] = await Promise.all([0, 1].map(() => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits'])));
    const [x, y] = await Promise.all([[a, b], [b, a]].map(([p, q]) => subtle.deriveBits({ name: 'ECDH', public: q.publicKey }, p.privateKey, 256)));
    return [x.byteLength, toHex(x) === toHex(y)];
}, [32, true]);
check('Ed25519 of a known key', async () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    const key = await subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign']);
    return toHex(await subtle.sign('Ed25519', key, bytes()));
}, 'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b');
check('Ed25519, generated', async () => {
    const { privateKey, publicKey } = await subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    const signature = await subtle.sign('Ed25519', privateKey, utf8('m'));
    const back = await subtle.importKey('raw', await subtle.exportKey('raw', publicKey), 'Ed25519', true, ['verify']);
    return [signature.byteLength, await subtle.verify('Ed25519', back, signature, utf8('m')), await subtle.verify('Ed25519', back, signature, utf8('n')), publicKey.algorithm];
}, [64, true, false, { name: 'Ed25519' }]);
check('RSASSA-PKCS1-v1_5', async () => {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: bytes(1, 0, 1), hash: 'SHA-256' };
    const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const signature = await subtle.sign('RSASSA-PKCS1-v1_5', privateKey, utf8('x'));
    const jwk = await subtle.exportKey('jwk', publicKey);
    const verifier = await subtle.importKey('jwk', jwk, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['verify']);
    return [signature.byteLength, await subtle.verify('RSASSA-PKCS1-v1_5', verifier, signature, utf8('x')), jwk.alg, jwk.e, publicKey.algorithm.modulusLength];
}, [256, true, 'RS256', 'AQAB', 2048]);
check('a key that may not be used for it', async () => {
    const key = await raw(key16, 'AES-GCM', ['decrypt']);
    return caught(subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, bytes(1)));
}, 'InvalidAccessError');
check('a key of another algorithm', async () => {
    const key = await raw(key16, { name: 'HMAC', hash: 'SHA-256' }, ['sign']);
    return caught(subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, bytes(1)));
}, 'InvalidAccessError');
check('a key that is not extractable', async () => caught(subtle.exportKey('raw', await raw(key16, 'AES-GCM', ['encrypt'], false))), 'InvalidAccessError');
check('usages that are none, and keys that are none', async () => [await caught(raw(key16, 'AES-GCM', ['sign'])), await caught(raw(key16, 'AES-GCM', [])), await caught(raw(bytes(1, 2), 'AES-GCM', ['encrypt']))], ['SyntaxError', 'SyntaxError', 'DataError']);
check('algorithms that are not known', () => caught(raw(key16, 'ROT13', ['encrypt'])), 'NotSupportedError');
check('DigestStream', async () => {
    const stream = new crypto.DigestStream('SHA-256');
    await streamOf('a', 'bc').pipeTo(stream);
    return [toHex(await stream.digest).slice(0, 8), Number(stream.bytesWritten)];
}, ['ba7816bf', 3]);
check('DigestStream that is aborted', async () => {
    const stream = new crypto.DigestStream('SHA-256');
    const outcome = caught(stream.digest);
    await stream.getWriter().abort(new RangeError('stop'));
    return outcome;
}, 'RangeError');
check('the classes', () => [crypto instanceof Crypto, subtle instanceof SubtleCrypto, caught(() => new CryptoKey()), caught(() => new Crypto()), String(crypto)], [true, true, 'TypeError', 'TypeError', '[object Crypto]']);
check('wrapKey and unwrapKey', async () => {
    const wrapping = await raw(key16, 'AES-GCM', ['wrapKey', 'unwrapKey']);
    const algorithm = { name: 'AES-GCM', iv: new Uint8Array(12) };
    const wrapped = await subtle.wrapKey('raw', await raw(fromHex('ff'.repeat(32)), 'AES-CBC', ['encrypt']), wrapping, algorithm);
    const back = await subtle.unwrapKey('raw', wrapped, wrapping, algorithm, 'AES-CBC', true, ['encrypt']);
    return toHex(await subtle.exportKey('raw', back));
}, 'ff'.repeat(32));
check('data is read at the call', async () => {
    const data = utf8('abc');
    const pending = subtle.digest('SHA-256', data);
    data[0] = 0;
    return toHex(await pending).slice(0, 8);
}, 'ba7816bf');
