// Web Crypto: known answers, refusals, round trips. runtime.md 5.4.
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';
import * as v from 'crypto_vectors.js';

const { subtle } = crypto;
const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, '0')).join('');
const unhex = (text) => new Uint8Array(text.length / 2).map((_, i) => parseInt(text.substr(2 * i, 2), 16));
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const un64 = (text) => {
    const out = [];
    for (let i = 0, bits = 0, count = 0; i < text.length && text[i] !== '='; i++) {
        bits = (bits << 6) | alphabet.indexOf(text[i]);
        count += 6;
        if (count >= 8) out.push((bits >> (count -= 8)) & 0xff);
    }
    return new Uint8Array(out);
};
const message = utf8(v.text);
const key16 = unhex('000102030405060708090a0b0c0d0e0f'), key24 = unhex('000102030405060708090a0b0c0d0e0f1011121314151617');
const iv = unhex('101112131415161718191a1b1c1d1e1f');
const secret = (bytes, algorithm, usages, extractable = true) => subtle.importKey('raw', bytes, algorithm, extractable, usages);

// ---- crypto itself

test('random values fill integer views only', () => {
    const a = new Uint8Array(40);
    equal(crypto.getRandomValues(a), a);
    ok(a.some((x) => x !== 0));
    const wide = crypto.getRandomValues(new BigUint64Array(4));
    ok(wide.some((x) => x > 0xffffffffn));
    const part = new Uint8Array(12);
    crypto.getRandomValues(part.subarray(4, 8));
    same([...part.subarray(0, 4), ...part.subarray(8)], [0, 0, 0, 0, 0, 0, 0, 0]);
    throws(() => crypto.getRandomValues(new Float32Array(4)), 'TypeMismatchError');
    throws(() => crypto.getRandomValues(new DataView(new ArrayBuffer(4))), 'TypeMismatchError');
    throws(() => crypto.getRandomValues(new Uint8Array(65537)), 'QuotaExceededError', /64K but provided 65537 bytes/);
    throws(() => crypto.getRandomValues([1]), 'TypeError');
    throws(() => crypto.getRandomValues(), 'TypeError');
    equal(crypto.getRandomValues(new Uint8Array(65536)).length, 65536);
    equal(crypto.getRandomValues(new Uint8Array(0)).length, 0);
});

test('UUIDs are of version 4 and differ', () => {
    const a = crypto.randomUUID();
    ok(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(a), a);
    ok(a !== crypto.randomUUID());
});

test('classes have the shapes of the platform', () => {
    equal(String(crypto), '[object Crypto]');
    equal(String(subtle), '[object SubtleCrypto]');
    equal(crypto.subtle, subtle);
    for (const cls of [Crypto, SubtleCrypto, CryptoKey]) throws(() => new cls(), 'TypeError', 'Illegal constructor');
    throws(() => Crypto.prototype.subtle, 'TypeError');
    throws(() => crypto.randomUUID.call({}), 'TypeError');
    same(Reflect.ownKeys(crypto), []);
});

test('methods of something else reject', async () => {
    await rejects(subtle.digest.call({}, 'SHA-1', message), 'TypeError', 'Illegal invocation');
    await rejects(subtle.digest('SHA-1'), 'TypeError', /2 arguments required, but only 1 present/);
    await rejects(subtle.digest('SHA-1', 'text'), 'TypeError');
    await rejects(subtle.digest('SHA-7', message), 'NotSupportedError', 'Unrecognized or unimplemented digest algorithm "SHA-7" requested.');
    await rejects(subtle.digest({}, message), 'TypeError');
    await rejects(subtle.sign('HMAC', {}, message), 'TypeError');
});

test('timingSafeEqual', () => {
    equal(subtle.timingSafeEqual(utf8('abc'), utf8('abc').buffer), true);
    equal(subtle.timingSafeEqual(utf8('abc'), utf8('abd')), false);
    throws(() => subtle.timingSafeEqual(utf8('abc'), utf8('ab')), 'TypeError', 'Input buffers must have the same byte length.');
    throws(() => subtle.timingSafeEqual('abc', 'abc'), 'TypeError');
});

// ---- Hashes

test('digests', async () => {
    for (const [name, want] of Object.entries(v.digest)) {
        equal(hex(await subtle.digest(name.toLowerCase(), message)), want, name);
        equal(hex(await subtle.digest({ name }, message.buffer)), want, name);
    }
    ok((await subtle.digest('SHA-1', new Uint8Array(0))) instanceof ArrayBuffer);
});

test('a digest is of what was there at the call', async () => {
    const bytes = message.slice();
    const promise = subtle.digest('SHA-256', bytes);
    bytes.fill(0);
    equal(hex(await promise), v.digest['SHA-256']);
});

test('what getters of parameters do to the data is seen', async () => {
    const key = await secret(key16, 'AES-GCM', ['encrypt']), hmac = await secret(key16, { name: 'HMAC', hash: 'SHA-1' }, ['sign']);
    const gone = (bytes) => structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    const a = new Uint8Array(64), b = new Uint8Array(64), c = new Uint8Array(16);
    equal((await subtle.encrypt({ name: 'AES-GCM', get iv() { gone(a); return iv; } }, key, a)).byteLength, 16);
    equal(hex(await subtle.sign({ name: 'HMAC', get hash() { gone(b); return undefined; } }, hmac, b)), hex(await subtle.sign('HMAC', hmac, new Uint8Array(0))));
    await rejects(subtle.importKey('raw', c, { name: 'AES-GCM', get length() { gone(c); return 128; } }, true, ['encrypt']), 'DataError');
});

test('DigestStream', async () => {
    for (const [name, want] of [...Object.entries(v.digest), ...Object.entries(v.crc)]) {
        const stream = new crypto.DigestStream(name);
        const writer = stream.getWriter();
        await writer.write(message.subarray(0, 5));
        await writer.write(message.slice(5).buffer);
        await writer.close();
        equal(hex(await stream.digest), want, name);
        equal(stream.bytesWritten, 27n);
    }
    const stream = new crypto.DigestStream({ name: 'SHA-256' });
    const writer = stream.getWriter();
    writer.write(v.text);
    writer.close();
    equal(hex(await stream.digest), v.digest['SHA-256']);
    throws(() => new crypto.DigestStream('foo'), 'NotSupportedError');
    const broken = new crypto.DigestStream('MD5');
    const reason = new Error('enough');
    await broken.abort(reason);
    equal(await broken.digest.catch((e) => e), reason);
    const disposed = new crypto.DigestStream('MD5');
    disposed[Symbol.dispose]();
    disposed[Symbol.dispose]();
    await rejects(disposed.digest, 'TypeError', 'The DigestStream was disposed.');
    await rejects(disposed.getWriter().write(message), 'TypeError', 'The DigestStream was disposed.');
    await rejects(new crypto.DigestStream('MD5').getWriter().write(5), 'TypeError', /received an object of non-ArrayBuffer/);
});

// ---- Secrets

test('HMAC', async () => {
    for (const [hash, want] of Object.entries(v.hmac)) {
        const key = await secret(utf8('a key of mine'), { name: 'hmac', hash }, ['sign', 'verify']);
        equal(hex(await subtle.sign('HMAC', key, message)), want);
        equal(await subtle.verify('HMAC', key, unhex(want), message), true);
        equal(await subtle.verify('HMAC', key, unhex(want).subarray(1), message), false);
        equal(await subtle.verify('HMAC', key, unhex(want), message.subarray(1)), false);
        same(key.algorithm, { name: 'HMAC', hash: { name: hash }, length: 104 });
    }
    const key = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-384' }, true, ['sign']);
    equal(key.algorithm.length, 1024);
    const jwk = await subtle.exportKey('jwk', key);
    same([jwk.kty, jwk.alg, jwk.key_ops, jwk.ext, jwk.k.length], ['oct', 'HS384', ['sign'], true, 171]);
    const again = await subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-384' }, false, ['sign']);
    equal(hex(await subtle.sign('HMAC', again, message)), hex(await subtle.sign('HMAC', key, message)));
    await rejects(subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']), 'DataError');
    await rejects(subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-384' }, false, ['verify']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...jwk, ext: false }, { name: 'HMAC', hash: 'SHA-384' }, true, ['sign']), 'DataError');
    await rejects(secret(utf8(''), { name: 'HMAC', hash: 'SHA-1' }, ['sign']), 'DataError');
    await rejects(secret(utf8('abc'), { name: 'HMAC', hash: 'SHA-1', length: 25 }, ['sign']), 'DataError');
    await rejects(secret(utf8('abc'), { name: 'HMAC', hash: 'SHA-1' }, []), 'SyntaxError');
    await rejects(secret(utf8('abc'), { name: 'HMAC', hash: 'SHA-1' }, ['encrypt']), 'SyntaxError', 'Attempt to import secret HMAC key with invalid usage "encrypt".');
    await rejects(secret(utf8('abc'), { name: 'HMAC' }, ['sign']), 'TypeError');
    await rejects(subtle.verify('HMAC', again, new Uint8Array(48), message), 'InvalidAccessError', 'Requested key usage "verify" does not match any usage listed in this CryptoKey.');
    await rejects(subtle.exportKey('raw', again), 'InvalidAccessError', 'Attempt to export non-extractable HMAC key.');
    await rejects(subtle.exportKey('spki', key), 'NotSupportedError');
});

test('AES-GCM', async () => {
    const key = await secret(key24, 'AES-GCM', ['encrypt', 'decrypt']);
    const parameters = { name: 'AES-GCM', iv: iv.subarray(0, 12), additionalData: utf8('head') };
    equal(hex(await subtle.encrypt(parameters, key, message)), v.gcm);
    equal(hex(await subtle.decrypt(parameters, key, unhex(v.gcm))), hex(message));
    await rejects(subtle.decrypt({ ...parameters, additionalData: utf8('heat') }, key, unhex(v.gcm)), 'OperationError', /^Decryption failed/);
    await rejects(subtle.decrypt(parameters, key, unhex(v.gcm).subarray(0, 8)), 'OperationError');
    await rejects(subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(0) }, key, message), 'OperationError', 'AES-GCM IV must not be empty.');
    await rejects(subtle.encrypt({ ...parameters, tagLength: 100 }, key, message), 'OperationError', 'Invalid AES-GCM tag length 100.');
    await rejects(subtle.encrypt({ name: 'AES-GCM' }, key, message), 'TypeError', 'Missing field "iv" in "algorithm".');
    await rejects(subtle.encrypt({ name: 'AES-CBC', iv }, key, message), 'InvalidAccessError', 'Requested algorithm "AES-CBC" does not match this CryptoKey\'s algorithm "AES-GCM".');
    for (const tagLength of [96, 104, 112, 120, 128]) {
        const p = { name: 'AES-GCM', iv: message, tagLength };
        const out = await subtle.encrypt(p, key, new Uint8Array(0));
        equal(out.byteLength, tagLength / 8);
        equal((await subtle.decrypt(p, key, out)).byteLength, 0);
    }
    const large = new Uint8Array(300000).fill(5);
    const out = await subtle.encrypt(parameters, key, large);
    equal(out.byteLength, 300016);
    equal(subtle.timingSafeEqual(await subtle.decrypt(parameters, key, out), large), true);
});

test('AES-CBC, AES-CTR, AES-KW', async () => {
    const cbc = await secret(key16, 'AES-CBC', ['encrypt', 'decrypt']);
    equal(hex(await subtle.encrypt({ name: 'AES-CBC', iv }, cbc, message)), v.cbc);
    equal(hex(await subtle.decrypt({ name: 'AES-CBC', iv }, cbc, unhex(v.cbc))), hex(message));
    await rejects(subtle.decrypt({ name: 'AES-CBC', iv }, cbc, unhex(v.cbc).subarray(1)), 'OperationError');
    await rejects(subtle.decrypt({ name: 'AES-CBC', iv }, cbc, new Uint8Array(0)), 'OperationError');
    await rejects(subtle.encrypt({ name: 'AES-CBC', iv: iv.subarray(1) }, cbc, message), 'OperationError', 'AES-CBC IV must be 16 bytes long (provided 15 bytes).');

    const ctr = await secret(key16, 'AES-CTR', ['encrypt', 'decrypt']);
    const counter = iv.slice();
    counter[15] = 0xff;
    equal(hex(await subtle.encrypt({ name: 'AES-CTR', counter, length: 64 }, ctr, new Uint8Array(40).fill(7))), v.ctr);
    equal(hex(await subtle.encrypt({ name: 'AES-CTR', counter, length: 128 }, ctr, new Uint8Array(40).fill(7))), v.ctr);
    equal(hex(await subtle.decrypt({ name: 'AES-CTR', counter, length: 4 }, ctr, new Uint8Array(32))), v.ctr4);
    equal((await subtle.decrypt({ name: 'AES-CTR', counter, length: 4 }, ctr, new Uint8Array(256))).byteLength, 256);
    await rejects(subtle.decrypt({ name: 'AES-CTR', counter, length: 4 }, ctr, new Uint8Array(257)), 'OperationError', 'Counter block values will repeat.');
    await rejects(subtle.encrypt({ name: 'AES-CTR', counter, length: 0 }, ctr, message), 'OperationError');
    await rejects(subtle.encrypt({ name: 'AES-CTR', counter, length: 300 }, ctr, message), 'TypeError');

    const kw = await secret(key24, 'AES-KW', ['wrapKey', 'unwrapKey']);
    const payload = await secret(new Uint8Array(24).fill(9), 'AES-GCM', ['encrypt']);
    const wrapped = await subtle.wrapKey('raw', payload, kw, 'AES-KW');
    equal(hex(wrapped), v.kw);
    const back = await subtle.unwrapKey('raw', wrapped, kw, 'AES-KW', 'AES-GCM', true, ['encrypt']);
    equal(hex(await subtle.exportKey('raw', back)), '09'.repeat(24));
    await rejects(subtle.unwrapKey('raw', new Uint8Array(32), kw, 'AES-KW', 'AES-GCM', true, ['encrypt']), 'OperationError');
    const asJson = await subtle.wrapKey('jwk', payload, kw, 'AES-KW');
    equal(asJson.byteLength % 8, 0);
    equal((await subtle.unwrapKey('jwk', asJson, kw, 'AES-KW', 'AES-GCM', false, ['encrypt'])).algorithm.length, 192);
    await rejects(secret(key16.subarray(1), 'AES-KW', ['wrapKey']), 'DataError');
    await rejects(secret(key16, 'AES-KW', ['encrypt']), 'SyntaxError');
    await rejects(subtle.generateKey({ name: 'AES-GCM', length: 129 }, true, ['encrypt']), 'OperationError');
    await rejects(subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, []), 'SyntaxError');
    await rejects(subtle.generateKey({ name: 'AES-XYZ', length: 128 }, true, []), 'NotSupportedError', 'Unrecognized key generation algorithm "AES-XYZ" requested.');
});

test('PBKDF2 and HKDF', async () => {
    const password = await secret(utf8('secret'), 'PBKDF2', ['deriveBits', 'deriveKey'], false);
    const parameters = { name: 'PBKDF2', hash: 'SHA-384', salt: utf8('salt & pepper'), iterations: 1000 };
    equal(hex(await subtle.deriveBits(parameters, password, 320)), v.pbkdf2);
    const key = await subtle.deriveKey(parameters, password, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
    equal(hex(await subtle.exportKey('raw', key)), v.pbkdf2.slice(0, 64));
    await rejects(subtle.deriveBits({ ...parameters, iterations: 100001 }, password, 320), 'NotSupportedError', /iteration counts above 100000 are not supported \(requested 100001\)/);
    await rejects(subtle.deriveBits({ ...parameters, iterations: 0 }, password, 320), 'OperationError');
    await rejects(subtle.deriveBits(parameters, password), 'OperationError');
    await rejects(subtle.deriveBits(parameters, password, 7), 'OperationError');
    await rejects(secret(utf8('secret'), 'PBKDF2', ['deriveBits'], true), 'SyntaxError');
    await rejects(subtle.exportKey('raw', password), 'NotSupportedError');

    const ikm = await secret(utf8('ikm of ours'), 'HKDF', ['deriveBits', 'deriveKey'], false);
    const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: utf8('salted'), info: utf8('info here') };
    equal(hex(await subtle.deriveBits(hkdf, ikm, 336)), v.hkdf);
    const hmac = await subtle.deriveKey(hkdf, ikm, { name: 'HMAC', hash: 'SHA-1' }, true, ['sign']);
    equal(hmac.algorithm.length, 512);
    await rejects(subtle.deriveBits(hkdf, ikm, 255 * 256 + 8), 'OperationError');
    await rejects(subtle.deriveBits({ ...hkdf, salt: undefined }, ikm, 8), 'TypeError');
});

// ---- Key pairs

test('RSA signatures', async () => {
    const pkcs1 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const private_ = await subtle.importKey('pkcs8', un64(v.rsaPkcs8), pkcs1, true, ['sign']);
    const public_ = await subtle.importKey('spki', un64(v.rsaSpki), pkcs1, true, ['verify']);
    const signature = await subtle.sign(pkcs1.name, private_, message);
    equal(hex(signature), hex(un64(v.rs256)));
    equal(await subtle.verify(pkcs1.name, public_, signature, message), true);
    equal(await subtle.verify(pkcs1.name, public_, signature, message.subarray(1)), false);
    same({ ...public_.algorithm, publicExponent: [...public_.algorithm.publicExponent] }, { name: pkcs1.name, modulusLength: 2048, publicExponent: [1, 0, 1], hash: { name: 'SHA-256' } });
    const jwk = await subtle.exportKey('jwk', private_);
    for (const name of ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi']) equal(jwk[name], v.rsaPriv[name], name);
    same([jwk.kty, jwk.alg, jwk.key_ops, jwk.ext], ['RSA', 'RS256', ['sign'], true]);
    equal(hex(await subtle.exportKey('pkcs8', private_)), hex(un64(v.rsaPkcs8)));
    equal(hex(await subtle.exportKey('spki', public_)), hex(un64(v.rsaSpki)));
    await rejects(subtle.exportKey('spki', private_), 'InvalidAccessError');
    await rejects(subtle.exportKey('raw', public_), 'NotSupportedError');

    const pss = { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 };
    const pssPublic = await subtle.importKey('jwk', { kty: 'RSA', n: v.rsaPriv.n, e: v.rsaPriv.e }, pss, false, ['verify']);
    equal(await subtle.verify(pss, pssPublic, un64(v.ps256), message), true);
    equal(await subtle.verify({ ...pss, saltLength: 20 }, pssPublic, un64(v.ps256), message), false);
    const pssPrivate = await subtle.importKey('jwk', v.rsaPriv, pss, false, ['sign']);
    equal(await subtle.verify(pss, pssPublic, await subtle.sign(pss, pssPrivate, message), message), true);
    await rejects(subtle.sign({ ...pss, saltLength: 300 }, pssPrivate, message), 'OperationError');
    await rejects(subtle.importKey('jwk', { ...v.rsaPriv, dp: v.rsaPriv.dq }, pss, false, ['sign']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...v.rsaPriv, alg: 'RS256' }, pss, false, ['sign']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...v.rsaPriv, alg: 1024 }, pss, false, ['sign']), 'DataError', /^Unrecognized or unimplemented algorithm "1024"/);
    await rejects(subtle.importKey('spki', un64(v.rsaSpki + 'AAAA'), pss, false, ['verify']), 'DataError');
    await rejects(subtle.importKey('spki', new Uint8Array([...un64(v.rsaSpki), 0]), pss, false, ['verify']), 'DataError');
    await rejects(subtle.importKey('spki', un64(v.ecSpki), pss, false, ['verify']), 'DataError');
});

test('RSA-OAEP', async () => {
    const oaep = { name: 'RSA-OAEP', hash: 'SHA-256' };
    const private_ = await subtle.importKey('pkcs8', un64(v.rsaPkcs8), oaep, false, ['decrypt', 'unwrapKey']);
    const public_ = await subtle.importKey('spki', un64(v.rsaSpki), oaep, true, ['encrypt', 'wrapKey']);
    equal(hex(await subtle.decrypt({ name: 'RSA-OAEP', label: utf8('label') }, private_, un64(v.oaep))), hex(message));
    await rejects(subtle.decrypt({ name: 'RSA-OAEP' }, private_, un64(v.oaep)), 'OperationError');
    const out = await subtle.encrypt({ name: 'RSA-OAEP' }, public_, message);
    equal(hex(await subtle.decrypt({ name: 'RSA-OAEP' }, private_, out)), hex(message));
    await rejects(subtle.encrypt({ name: 'RSA-OAEP' }, public_, new Uint8Array(191)), 'OperationError', /at most 190 bytes/);
    const aes = await subtle.generateKey({ name: 'AES-CBC', length: 256 }, true, ['encrypt']);
    const wrapped = await subtle.wrapKey('raw', aes, public_, 'RSA-OAEP');
    const back = await subtle.unwrapKey('raw', wrapped, private_, 'RSA-OAEP', 'AES-CBC', true, ['encrypt']);
    equal(hex(await subtle.exportKey('raw', back)), hex(await subtle.exportKey('raw', aes)));
});

test('RSA keys are generated within bounds', async () => {
    const parameters = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-1', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) };
    const { publicKey, privateKey } = await subtle.generateKey(parameters, false, ['sign', 'verify']);
    same([publicKey.type, publicKey.extractable, publicKey.usages], ['public', true, ['verify']]);
    same([privateKey.type, privateKey.extractable, privateKey.usages], ['private', false, ['sign']]);
    equal(await subtle.verify(parameters.name, publicKey, await subtle.sign(parameters.name, privateKey, message), message), true);
    await rejects(subtle.generateKey({ ...parameters, modulusLength: 8192 }, false, ['sign']), 'OperationError', /between 512 and 4096, but 8192 was requested/);
    await rejects(subtle.generateKey({ ...parameters, publicExponent: new Uint8Array([4]) }, false, ['sign']), 'OperationError');
    await rejects(subtle.generateKey({ ...parameters, publicExponent: [1, 0, 1] }, false, ['sign']), 'TypeError');
    await rejects(subtle.generateKey(parameters, false, ['verify']), 'SyntaxError');
});

test('ECDSA', async () => {
    const p256 = { name: 'ECDSA', namedCurve: 'P-256' }, how = { name: 'ECDSA', hash: 'SHA-256' };
    const private_ = await subtle.importKey('jwk', v.ecJwk, p256, true, ['sign']);
    const public_ = await subtle.importKey('spki', un64(v.ecSpki), p256, true, ['verify']);
    equal(await subtle.verify(how, public_, un64(v.es256), message), true);
    equal(await subtle.verify(how, public_, un64(v.es256der), message), false);
    equal(await subtle.verify(how, public_, un64(v.es256).reverse(), message), false);
    const signature = await subtle.sign(how, private_, message);
    equal(signature.byteLength, 64);
    equal(await subtle.verify(how, public_, signature, message), true);
    equal(hex(await subtle.exportKey('pkcs8', private_)), hex(un64(v.ecPkcs8)));
    const jwk = await subtle.exportKey('jwk', private_);
    same([jwk.x, jwk.y, jwk.d, jwk.crv, jwk.kty, 'alg' in jwk], [v.ecJwk.x, v.ecJwk.y, v.ecJwk.d, 'P-256', 'EC', false]);
    const raw = await subtle.exportKey('raw', public_);
    equal(hex(raw), hex(un64(v.ecSpki)).slice(-130));
    equal(await subtle.verify(how, await subtle.importKey('raw', raw, p256, true, ['verify']), signature, message), true);
    raw.constructor === ArrayBuffer && (new Uint8Array(raw)[40] ^= 1);
    await rejects(subtle.importKey('raw', raw, p256, true, ['verify']), 'DataError');
    await rejects(subtle.importKey('raw', new Uint8Array([0]), p256, true, ['verify']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...v.ecJwk, d: v.ecJwk.x }, p256, true, ['sign']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...v.ecJwk, crv: 'P-384' }, p256, true, ['sign']), 'DataError');
    await rejects(subtle.importKey('spki', un64(v.ecSpki), { name: 'ECDSA', namedCurve: 'P-384' }, true, ['verify']), 'DataError');
    await rejects(subtle.importKey('spki', un64(v.ecSpki), { name: 'ECDSA', namedCurve: 'P-192' }, true, ['verify']), 'NotSupportedError', 'Unrecognized or unimplemented EC curve "P-192" requested.');
    await rejects(subtle.sign('ECDSA', private_, message), 'TypeError');
    for (const [namedCurve, hash, size] of [['P-384', 'SHA-512', 96], ['P-521', 'SHA-1', 132]]) {
        const pair = await subtle.generateKey({ name: 'ECDSA', namedCurve }, true, ['sign', 'verify']);
        const s = await subtle.sign({ name: 'ECDSA', hash }, pair.privateKey, message);
        equal(s.byteLength, size);
        equal(await subtle.verify({ name: 'ECDSA', hash }, pair.publicKey, s, message), true);
        const again = await subtle.importKey('pkcs8', await subtle.exportKey('pkcs8', pair.privateKey), { name: 'ECDSA', namedCurve }, true, ['sign']);
        same(await subtle.exportKey('jwk', again), await subtle.exportKey('jwk', pair.privateKey));
    }
});

test('ECDH', async () => {
    const p256 = { name: 'ECDH', namedCurve: 'P-256' };
    const own = await subtle.importKey('jwk', v.ecJwk, p256, true, ['deriveBits', 'deriveKey']);
    const peer = await subtle.importKey('jwk', v.ec2Jwk, p256, true, []);
    equal(hex(await subtle.deriveBits({ name: 'ECDH', public: peer }, own, 256)), v.ecdh);
    equal(hex(await subtle.deriveBits({ name: 'ECDH', public: peer }, own)), v.ecdh);
    equal(hex(await subtle.deriveBits({ name: 'ECDH', public: peer }, own, 12)), v.ecdh.slice(0, 3) + '0');
    const key = await subtle.deriveKey({ name: 'ECDH', public: peer }, own, { name: 'AES-GCM', length: 128 }, true, ['encrypt']);
    equal(hex(await subtle.exportKey('raw', key)), v.ecdh.slice(0, 32));
    await rejects(subtle.deriveBits({ name: 'ECDH', public: peer }, own, 264), 'OperationError');
    await rejects(subtle.deriveBits({ name: 'ECDH', public: own }, own, 256), 'InvalidAccessError');
    const other = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-384' }, true, ['deriveBits']);
    await rejects(subtle.deriveBits({ name: 'ECDH', public: other.publicKey }, own, 256), 'InvalidAccessError');
    await rejects(subtle.importKey('jwk', v.ec2Jwk, p256, true, ['deriveBits']), 'SyntaxError');
    same(other.publicKey.usages, []);
});

test('Ed25519 and X25519', async () => {
    const private_ = await subtle.importKey('pkcs8', un64(v.edPkcs8), 'Ed25519', true, ['sign']);
    equal(hex(await subtle.sign('Ed25519', private_, message)), hex(un64(v.eddsa)));
    const jwk = await subtle.exportKey('jwk', private_);
    same([jwk.kty, jwk.crv, jwk.x, jwk.d], ['OKP', 'Ed25519', v.edJwk.x, v.edJwk.d]);
    const public_ = await subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x: v.edJwk.x }, { name: 'ED25519' }, true, ['verify']);
    equal(await subtle.verify('Ed25519', public_, un64(v.eddsa), message), true);
    equal(await subtle.verify('Ed25519', public_, un64(v.eddsa).fill(1, 40), message), false);
    equal(await subtle.verify('Ed25519', public_, new Uint8Array(3), message), false);
    const raw = await subtle.exportKey('raw', public_);
    const node = await subtle.importKey('raw', raw, { name: 'NODE-ED25519', namedCurve: 'NODE-ED25519' }, true, ['verify']);
    equal(await subtle.verify('NODE-ED25519', node, un64(v.eddsa), message), true);
    same(node.algorithm, { name: 'NODE-ED25519', namedCurve: 'NODE-ED25519' });
    await rejects(subtle.importKey('raw', new Uint8Array(31), 'Ed25519', true, ['verify']), 'DataError');
    await rejects(subtle.importKey('jwk', { ...v.edJwk, x: v.x1.x }, 'Ed25519', true, ['sign']), 'DataError');

    const x1 = await subtle.importKey('jwk', v.x1, 'X25519', false, ['deriveBits']);
    const x2 = await subtle.importKey('jwk', v.x2, 'X25519', true, []);
    equal(hex(await subtle.deriveBits({ name: 'X25519', public: x2 }, x1, 256)), v.x);
    const zero = await subtle.importKey('raw', new Uint8Array(32), 'X25519', true, []);
    await rejects(subtle.deriveBits({ name: 'X25519', public: zero }, x1, 256), 'OperationError', /small order/);
    const pair = await subtle.generateKey('X25519', true, ['deriveBits']);
    equal((await subtle.exportKey('raw', pair.publicKey)).byteLength, 32);
    equal(pair.privateKey.algorithm.name, 'X25519');
});

// ---- What user code must not do

test('keys cannot be tampered with', async () => {
    const key = await secret(key16, 'AES-GCM', ['encrypt'], false);
    throws(() => {
        'use strict';
        key.extractable = true;
    }, 'TypeError');
    key.usages.push('decrypt');
    key.algorithm.name = 'AES-CBC';
    await rejects(subtle.decrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(20)), 'InvalidAccessError');
    equal((await subtle.encrypt({ name: 'AES-GCM', iv }, key, message)).byteLength, message.length + 16);
    same(Reflect.ownKeys(key), []);
    Object.setPrototypeOf(key, {});
    equal((await subtle.encrypt({ name: 'AES-GCM', iv }, key, message)).byteLength, message.length + 16);
    await rejects(subtle.encrypt({ name: 'AES-GCM', iv }, Object.create(key), message), 'TypeError');
});

test('secrets do not pass through what user code can replace', async () => {
    const U8 = globalThis.Uint8Array, view = Object.getPrototypeOf(U8.prototype);
    const before = Object.getOwnPropertyDescriptors(view), ranges = [];
    const x1 = await subtle.importKey('jwk', v.x1, 'X25519', false, ['deriveKey']), x2 = await subtle.importKey('jwk', v.x2, 'X25519', true, []);
    const wrapped = unhex(v.kw);
    const kw24 = await secret(key24, 'AES-KW', ['unwrapKey'], false);
    const spy = (bytes) => ranges.push(bytes?.constructor?.name);
    try {
        for (const name of ['slice', 'set', 'subarray', 'fill']) Object.defineProperty(view, name, { value() { spy(this); }, configurable: true });
        for (const name of ['length', 'buffer', 'byteLength']) Object.defineProperty(view, name, { get() { spy(this); return before[name].get.call(this); }, configurable: true });
        globalThis.Uint8Array = class extends U8 { constructor(...args) { super(...args); spy(this); } };
        await subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt']);
        await subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, false, ['sign']);
        await subtle.deriveKey({ name: 'X25519', public: x2 }, x1, { name: 'AES-GCM', length: 128 }, false, ['encrypt']);
        await subtle.unwrapKey('raw', wrapped, kw24, 'AES-KW', 'AES-GCM', false, ['encrypt']);
        await subtle.unwrapKey('raw', wrapped, kw24, 'AES-KW', { name: 'HMAC', hash: 'SHA-1' }, false, ['sign']);
    } finally {
        globalThis.Uint8Array = U8;
        Object.defineProperties(view, before);
    }
    same(ranges, []);
});

test('keys that nobody holds are freed', async () => {
    for (let i = 0; i < 200; i++) await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
    const stream = new crypto.DigestStream('SHA-256');
    await stream.getWriter().write(message);
});

export default run;
