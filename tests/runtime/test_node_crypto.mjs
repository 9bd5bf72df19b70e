// node:crypto: known answers, refusals, round trips. runtime.md 3.5.
import crypto, { createHash, createHmac, randomBytes } from 'node:crypto';
import bare from 'crypto';
import { Buffer } from 'node:buffer';
import { equal, ok, rejects, run, same, test, throws } from 'harness.js';
import * as v from 'crypto_vectors.js';

const text = v.text, bytes = Buffer.from(text);
const key16 = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex'), key24 = Buffer.from('000102030405060708090a0b0c0d0e0f1011121314151617', 'hex');
const iv = Buffer.from('101112131415161718191a1b1c1d1e1f', 'hex');
const code = (fn, want) => equal(throws(fn).code, want);
const call = (fn, ...args) => new Promise((resolve, reject) => fn(...args, (error, ...values) => (error ? reject(error) : resolve(values.length > 1 ? values : values[0]))));

test('one module by two names', () => {
    equal(bare, crypto);
    equal(crypto.webcrypto, globalThis.crypto);
    equal(crypto.subtle, globalThis.crypto.subtle);
    equal(crypto.getRandomValues(new Uint8Array(4)).length, 4);
});

test('createHash', () => {
    for (const [name, want] of Object.entries(v.digest)) {
        const node = name.replace('-', '').toLowerCase();
        equal(createHash(node).update(text).digest('hex'), want);
        equal(createHash(node).update(bytes.subarray(0, 3)).update(new Uint8Array(bytes.subarray(3))).digest('hex'), want);
        equal(crypto.hash(node, text), want);
    }
    equal(createHash('RSA-SHA256').update(text).digest('hex'), v.digest['SHA-256']);
    equal(createHash('sha256').update(bytes.toString('hex'), 'hex').digest().toString('hex'), v.digest['SHA-256']);
    ok(Buffer.isBuffer(createHash('md5').digest()));
    equal(createHash('sha256').update(text).digest('base64'), Buffer.from(v.digest['SHA-256'], 'hex').toString('base64'));
    equal(createHash('sha3-256').update('').digest('hex'), 'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a');
    equal(createHash('shake128', { outputLength: 5 }).update('').digest('hex'), '7f9c2ba4e8');
    ok(crypto.Hash('sha1') instanceof crypto.Hash);
    throws(() => createHash('nothing'), 'Error', 'Digest method not supported');
    throws(() => createHash(5), 'TypeError');
});

test('a hash is copied and ends', () => {
    const a = createHash('sha256').update(bytes.subarray(0, 10));
    const b = a.copy();
    equal(a.update(bytes.subarray(10)).digest('hex'), v.digest['SHA-256']);
    equal(b.update(bytes.subarray(10)).digest('hex'), v.digest['SHA-256']);
    code(() => a.digest(), 'ERR_CRYPTO_HASH_FINALIZED');
    code(() => a.update('x'), 'ERR_CRYPTO_HASH_FINALIZED');
    code(() => a.copy(), 'ERR_CRYPTO_HASH_FINALIZED');
    code(() => createHash('sha1').update(5), 'ERR_INVALID_ARG_TYPE');
    throws(() => createHash('sha1', { outputLength: 19 }), 'Error');
    equal(createHash('sha1', { outputLength: 20 }).digest().length, 20);
});

test('hashes are streams', async () => {
    const hash = createHash('sha256');
    hash.write(text.slice(0, 5));
    hash.end(text.slice(5));
    const chunks = [];
    for await (const chunk of hash) chunks.push(chunk);
    equal(hash.digest('hex'), v.digest['SHA-256']);
    equal(Buffer.concat(chunks).toString('hex'), v.digest['SHA-256']);
});

test('createHmac', () => {
    for (const [name, want] of Object.entries(v.hmac)) {
        const node = name.replace('-', '').toLowerCase();
        equal(createHmac(node, 'a key of mine').update(text).digest('hex'), want);
        equal(createHmac(node, crypto.createSecretKey('a key of mine', 'utf8')).update(bytes).digest('hex'), want);
    }
    code(() => createHmac('nothing', 'x'), 'ERR_CRYPTO_INVALID_DIGEST');
    const twice = createHmac('sha1', 'k');
    ok(twice.digest().length === 20 && twice.digest().length === 0);
    code(() => createHmac('sha1', undefined), 'ERR_INVALID_ARG_TYPE');
    code(() => createHmac('sha1', crypto.createPublicKey(v.rsaPem)), 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE');
});

test('random bytes, integers and UUIDs', async () => {
    equal(randomBytes(7).length, 7);
    ok(!randomBytes(16).equals(randomBytes(16)));
    equal((await call(randomBytes, 9)).length, 9);
    code(() => randomBytes(-1), 'ERR_OUT_OF_RANGE');
    code(() => randomBytes('1'), 'ERR_INVALID_ARG_TYPE');
    const seen = new Set();
    for (let i = 0; i < 200; i++) {
        const n = crypto.randomInt(3);
        ok(n >= 0 && n < 3);
        seen.add(n);
    }
    equal(seen.size, 3);
    ok((await call(crypto.randomInt, 5, 7)) >= 5);
    code(() => crypto.randomInt(5, 5), 'ERR_OUT_OF_RANGE');
    ok(/^[0-9a-f-]{36}$/.test(crypto.randomUUID()));
    const buffer = Buffer.alloc(10);
    equal(crypto.randomFillSync(buffer, 4, 3), buffer);
    same([...buffer.subarray(0, 4), ...buffer.subarray(7)], [0, 0, 0, 0, 0, 0, 0]);
    equal(await call(crypto.randomFill, buffer), buffer);
    code(() => crypto.randomFillSync(buffer, 11), 'ERR_OUT_OF_RANGE');
});

test('timingSafeEqual', () => {
    equal(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), true);
    equal(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b')), false);
    code(() => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('bc')), 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH');
    code(() => crypto.timingSafeEqual('a', Buffer.from('bc')), 'ERR_INVALID_ARG_TYPE');
});

test('hkdf, pbkdf2, scrypt', async () => {
    equal(Buffer.from(crypto.hkdfSync('sha256', 'ikm of ours', 'salted', 'info here', 42)).toString('hex'), v.hkdf);
    equal(Buffer.from(await call(crypto.hkdf, 'sha256', Buffer.from('ikm of ours'), 'salted', 'info here', 42)).toString('hex'), v.hkdf);
    code(() => crypto.hkdfSync('sha256', 'k', '', '', 255 * 32 + 1), 'ERR_CRYPTO_INVALID_KEYLEN');
    equal(crypto.pbkdf2Sync('secret', 'salt & pepper', 1000, 40, 'sha384').toString('hex'), v.pbkdf2);
    equal((await call(crypto.pbkdf2, 'secret', 'salt & pepper', 1000, 40, 'sha384')).toString('hex'), v.pbkdf2);
    throws(() => crypto.pbkdf2Sync('a', 'b', 1, 255 * 20 + 1, 'sha1'), 'RangeError');
    equal((await call(crypto.pbkdf2, 'a', 'b', 1, 8, 'nothing').catch((e) => e)).code, 'ERR_CRYPTO_INVALID_DIGEST');
    throws(() => crypto.pbkdf2Sync('a', 'b', 100001, 8, 'sha1'), 'NotSupportedError', /above 100000 are not supported/);
    code(() => crypto.pbkdf2Sync('a', 'b', 1, 8, 'nothing'), 'ERR_CRYPTO_INVALID_DIGEST');
    code(() => crypto.pbkdf2Sync('a', 'b', 0, 8, 'sha1'), 'ERR_OUT_OF_RANGE');
    equal(crypto.scryptSync('secret', 'salt & pepper', 33, { N: 1024, r: 4, p: 2 }).toString('hex'), v.scrypt);
    equal((await call(crypto.scrypt, 'secret', 'salt & pepper', 33, { cost: 1024, blockSize: 4, parallelization: 2 })).toString('hex'), v.scrypt);
    code(() => crypto.scryptSync('a', 'b', 8, { N: 1000 }), 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS');
    code(() => crypto.scryptSync('a', 'b', 8, { N: 65536 }), 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS');
    throws(() => crypto.scryptSync('a', 'b', 8, { N: 65536, r: 8, p: 4, maxmem: 1 << 28 }), 'RangeError', 'Scrypt failed: cost exceeds maximum (1048576).');
    code(() => crypto.scryptSync('a', 'b', 8, { N: 1024, cost: 1024 }), 'ERR_INCOMPATIBLE_OPTION_PAIR');
});

test('secret KeyObjects', async () => {
    const key = crypto.createSecretKey(key16);
    same([key.type, key.symmetricKeySize, key.export().toString('hex')], ['secret', 16, key16.toString('hex')]);
    same(key.export({ format: 'jwk' }), { kty: 'oct', k: key16.toString('base64url'), ext: true });
    equal(key.equals(crypto.createSecretKey(key16.toString('hex'), 'hex')), true);
    equal(key.equals(crypto.createSecretKey(key24)), false);
    equal(crypto.generateKeySync('aes', { length: 192 }).symmetricKeySize, 24);
    equal((await call(crypto.generateKey, 'hmac', { length: 64 })).symmetricKeySize, 8);
    const web = await key.toCryptoKey({ name: 'AES-GCM' }, true, ['encrypt']);
    equal(crypto.KeyObject.from(web).equals(key), true);
    const kept = crypto.KeyObject.from(await key.toCryptoKey({ name: 'AES-GCM' }, false, ['encrypt']));
    code(() => kept.export(), 'ERR_CRYPTO_OPERATION_FAILED');
    equal(kept.equals(key), false);
    same(Reflect.ownKeys(key), []);
});

test('asymmetric keys come in and go out', () => {
    const rsa = crypto.createPrivateKey(v.rsaPem);
    same([rsa.type, rsa.asymmetricKeyType, rsa.asymmetricKeyDetails.modulusLength, String(rsa.asymmetricKeyDetails.publicExponent)], ['private', 'rsa', 2048, '65537']);
    equal(rsa.export({ type: 'pkcs1', format: 'pem' }), v.rsaPem);
    equal(rsa.export({ type: 'pkcs8', format: 'der' }).toString('base64'), v.rsaPkcs8);
    same(rsa.export({ format: 'jwk' }), { kty: 'RSA', n: v.rsaPriv.n, e: v.rsaPriv.e, d: v.rsaPriv.d, p: v.rsaPriv.p, q: v.rsaPriv.q, dp: v.rsaPriv.dp, dq: v.rsaPriv.dq, qi: v.rsaPriv.qi });
    equal(crypto.createPublicKey(rsa).export({ type: 'spki', format: 'der' }).toString('base64'), v.rsaSpki);
    equal(crypto.createPublicKey(v.rsaPem).equals(crypto.createPublicKey({ key: Buffer.from(v.rsaSpki, 'base64'), format: 'der', type: 'spki' })), true);
    equal(crypto.createPrivateKey({ key: v.rsaEnc, passphrase: 'open sesame' }).equals(rsa), true);
    code(() => crypto.createPrivateKey(v.rsaEnc), 'ERR_MISSING_PASSPHRASE');
    throws(() => crypto.createPrivateKey({ key: v.rsaEnc, passphrase: 'close sesame' }), 'Error');
    const sealed = rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' });
    ok(sealed.startsWith('-----BEGIN ENCRYPTED PRIVATE KEY-----'));
    equal(crypto.createPrivateKey({ key: sealed, passphrase: 'x' }).equals(rsa), true);
    const legacy = rsa.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' });
    equal(crypto.createPrivateKey({ key: legacy, passphrase: 'x' }).equals(rsa), true);

    const ec = crypto.createPrivateKey(v.ecSec1);
    same([ec.asymmetricKeyType, ec.asymmetricKeyDetails], ['ec', { namedCurve: 'prime256v1' }]);
    equal(ec.export({ type: 'sec1', format: 'pem' }), v.ecSec1);
    equal(ec.equals(crypto.createPrivateKey({ key: v.ecJwk, format: 'jwk' })), true);
    const ed = crypto.createPrivateKey({ key: Buffer.from(v.edPkcs8, 'base64'), format: 'der', type: 'pkcs8' });
    same([ed.asymmetricKeyType, ed.export({ format: 'jwk' }).x], ['ed25519', v.edJwk.x]);
    throws(() => crypto.createPrivateKey('nonsense'), 'Error', 'Failed to parse private key');
    code(() => ed.export({ type: 'pkcs1', format: 'pem' }), 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS');
    code(() => crypto.createPublicKey(crypto.createPublicKey(ec)), 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE');
    code(() => crypto.createPublicKey(5), 'ERR_INVALID_ARG_TYPE');
    throws(() => new crypto.KeyObject('secret', {}), 'TypeError');
});

test('signatures', async () => {
    const rsa = crypto.createPrivateKey(v.rsaPem), ec = crypto.createPrivateKey({ key: v.ecJwk, format: 'jwk' });
    equal(crypto.sign('sha256', bytes, rsa).toString('base64'), v.rs256);
    equal(crypto.verify('RSA-SHA256', bytes, v.rsaPem, Buffer.from(v.rs256, 'base64')), true);
    const pss = { key: rsa, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    equal(crypto.verify('sha256', bytes, pss, Buffer.from(v.ps256, 'base64')), true);
    equal(crypto.verify('sha256', bytes, { ...pss, saltLength: 20 }, crypto.sign('sha256', bytes, pss)), false);
    equal(crypto.verify('sha256', bytes, ec, Buffer.from(v.es256der, 'base64')), true);
    equal(crypto.verify('sha256', bytes, { key: ec, dsaEncoding: 'ieee-p1363' }, Buffer.from(v.es256, 'base64')), true);
    equal(crypto.verify(null, bytes, { key: v.edJwk, format: 'jwk' }, Buffer.from(v.eddsa, 'base64')), true);
    equal((await call(crypto.sign, null, bytes, { key: v.edJwk, format: 'jwk' })).toString('base64'), v.eddsa);
    equal(await call(crypto.verify, 'sha256', bytes, ec, Buffer.from(v.es256der, 'base64').fill(0, 9)), false);

    equal(crypto.createSign('sha256').update(text.slice(0, 4)).update(text.slice(4)).sign(rsa, 'base64'), v.rs256);
    equal(crypto.createVerify('RSA-SHA256').update(text).verify(v.rsaPem, v.rs256, 'base64'), true);
    const sign = crypto.createSign('sha384');
    sign.write(text);
    sign.end();
    const made = sign.sign({ key: ec, dsaEncoding: 'ieee-p1363' });
    equal(made.length, 64);
    equal(crypto.createVerify('sha384').update(text).verify({ key: ec, dsaEncoding: 'ieee-p1363' }, made), true);
    throws(() => sign.sign(ec), 'Error', 'Signing context has already been finalized');
    code(() => crypto.createSign('sha256').sign(), 'ERR_CRYPTO_SIGN_KEY_REQUIRED');
    code(() => crypto.createSign('nothing'), 'ERR_CRYPTO_INVALID_DIGEST');
    code(() => crypto.sign('sha256', bytes, crypto.createPublicKey(rsa)), 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE');
});

test('key pairs are made', async () => {
    const [publicKey, privateKey] = await call(crypto.generateKeyPair, 'rsa', { modulusLength: 1024 });
    equal(crypto.verify('sha1', bytes, publicKey, crypto.sign('sha1', bytes, privateKey)), true);
    for (const [type, options] of [['ec', { namedCurve: 'prime256v1' }], ['ec', { namedCurve: 'P-384' }], ['ed25519']]) {
        const pair = crypto.generateKeyPairSync(type, options);
        const hash = type === 'ec' ? 'sha256' : null;
        equal(crypto.verify(hash, bytes, pair.publicKey, crypto.sign(hash, bytes, pair.privateKey)), true);
    }
    const pem = crypto.generateKeyPairSync('x25519', { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'jwk' } });
    ok(pem.publicKey.startsWith('-----BEGIN PUBLIC KEY-----'));
    equal(pem.privateKey.crv, 'X25519');
    code(() => crypto.generateKeyPairSync('ec', { namedCurve: 'nothing' }), 'ERR_CRYPTO_INVALID_CURVE');
    code(() => crypto.generateKeyPairSync('rsa', { modulusLength: 8192 }), 'ERR_OUT_OF_RANGE');
    code(() => crypto.generateKeyPairSync('dh', { groupName: 'modp14' }), 'ERR_METHOD_NOT_IMPLEMENTED');
    code(() => crypto.generateKeyPairSync('dsa', { modulusLength: 1024 }), 'ERR_INVALID_ARG_VALUE');
});

test('ciphers', () => {
    const cbc = crypto.createCipheriv('aes-128-cbc', key16, iv);
    equal(cbc.update(text.slice(0, 9), 'utf8', 'hex') + cbc.update(text.slice(9), 'utf8', 'hex') + cbc.final('hex'), v.cbc);
    const back = crypto.createDecipheriv('aes-128-cbc', crypto.createSecretKey(key16), iv);
    equal(back.update(v.cbc, 'hex', 'utf8') + back.final('utf8'), text);
    const gcm = crypto.createCipheriv('aes-192-gcm', key24, iv.subarray(0, 12)).setAAD(Buffer.from('head'));
    equal(gcm.update(text, 'utf8', 'hex') + gcm.final('hex') + gcm.getAuthTag().toString('hex'), v.gcm);
    const sealed = Buffer.from(v.gcm, 'hex');
    const open = (tag) => {
        const d = crypto.createDecipheriv('aes-192-gcm', key24, iv.subarray(0, 12)).setAAD(Buffer.from('head')).setAuthTag(tag);
        return d.update(sealed.subarray(0, -16), undefined, 'utf8') + d.final('utf8');
    };
    equal(open(sealed.subarray(-16)), text);
    throws(() => open(Buffer.alloc(16)), 'Error', 'Unsupported state or unable to authenticate data');
    const ctr = crypto.createCipheriv('aes-128-ctr', key16, Buffer.concat([iv.subarray(0, 15), Buffer.from([255])]));
    equal(Buffer.concat([ctr.update(Buffer.alloc(40, 7)), ctr.final()]).toString('hex'), v.ctr);
    const chacha = crypto.createCipheriv('chacha20-poly1305', Buffer.alloc(32), Buffer.alloc(12), { authTagLength: 16 });
    equal(chacha.update('', 'utf8', 'hex') + chacha.final('hex') + chacha.getAuthTag().toString('hex'), '4eb972c9a8fb3a1b382bb4d36f5ffad1');
    const bad = crypto.createDecipheriv('aes-128-cbc', key16, iv);
    bad.update(Buffer.alloc(16));
    equal(throws(() => bad.final()).code, 'ERR_OSSL_BAD_DECRYPT');
    const ecb = crypto.createCipheriv('aes-128-ecb', key16, null).setAutoPadding(false);
    equal(Buffer.concat([ecb.update(Buffer.alloc(16)), ecb.final()]).length, 16);
    code(() => crypto.createCipheriv('nothing', key16, iv), 'ERR_CRYPTO_UNKNOWN_CIPHER');
    code(() => crypto.createCipheriv('aes-128-cbc', key24, iv), 'ERR_CRYPTO_INVALID_KEYLEN');
    code(() => crypto.createCipheriv('aes-128-cbc', key16, iv.subarray(1)), 'ERR_CRYPTO_INVALID_IV');
    code(() => gcm.update('x'), 'ERR_CRYPTO_INVALID_STATE');
    same(crypto.getCipherInfo('AES-128-CBC'), { name: 'aes-128-cbc', nid: 419, blockSize: 16, ivLength: 16, keyLength: 16, mode: 'cbc' });
    equal(crypto.getCipherInfo('nothing'), undefined);
    ok(crypto.getCiphers().includes('aes-256-gcm'));
    ok(crypto.getHashes().every((name) => createHash(name).digest().length > 0));
    ok(crypto.getCurves().includes('prime256v1'));
});

test('encryption with RSA', () => {
    const data = crypto.publicEncrypt(v.rsaPem, bytes);
    equal(crypto.privateDecrypt(v.rsaPem, data).toString(), text);
    equal(crypto.privateDecrypt({ key: v.rsaPem, oaepHash: 'sha256', oaepLabel: Buffer.from('label') }, Buffer.from(v.oaep, 'base64')).toString(), text);
    equal(crypto.publicDecrypt(v.rsaPem, crypto.privateEncrypt(v.rsaPem, bytes)).toString(), text);
    throws(() => crypto.privateDecrypt(v.rsaPem, Buffer.alloc(256)), 'Error');
    code(() => crypto.publicEncrypt(v.rsaPem), 'ERR_MISSING_ARGS');
});

test('Diffie-Hellman', async () => {
    const a = crypto.createECDH('prime256v1'), b = crypto.createECDH('prime256v1');
    a.setPrivateKey(Buffer.from(v.ecJwk.d, 'base64url'));
    const peer = Buffer.concat([Buffer.from([4]), Buffer.from(v.ec2Jwk.x, 'base64url'), Buffer.from(v.ec2Jwk.y, 'base64url')]);
    equal(a.computeSecret(peer, null, 'hex'), v.ecdh);
    equal(a.getPublicKey('hex'), '04' + Buffer.from(v.ecJwk.x, 'base64url').toString('hex') + Buffer.from(v.ecJwk.y, 'base64url').toString('hex'));
    b.generateKeys();
    equal(a.computeSecret(b.getPublicKey('hex', 'compressed'), 'hex', 'hex'), b.computeSecret(a.getPublicKey()).toString('hex'));
    equal(crypto.ECDH.convertKey(a.getPublicKey(null, 'compressed'), 'prime256v1').toString('hex'), a.getPublicKey('hex'));
    code(() => a.computeSecret(peer.fill(1, 40)), 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY');
    code(() => crypto.createECDH('nothing'), 'ERR_CRYPTO_INVALID_CURVE');
    const own = crypto.createPrivateKey({ key: v.x1, format: 'jwk' }), other = crypto.createPublicKey({ key: v.x2, format: 'jwk' });
    equal(crypto.diffieHellman({ privateKey: own, publicKey: other }).toString('hex'), v.x);

    const g = crypto.getDiffieHellman('modp14'), h = crypto.createDiffieHellman(g.getPrime(), 2);
    g.generateKeys();
    h.generateKeys();
    equal(g.computeSecret(h.getPublicKey(), null, 'hex'), h.computeSecret(g.getPublicKey('hex'), 'hex', 'hex'));
    equal(g.getPrime().length, 256);
    const small = crypto.createDiffieHellman('17', 'hex', 5);
    small.setPrivateKey('06', 'hex');
    equal(small.generateKeys('hex'), '08'); // 5^6 mod 23
    equal(small.computeSecret('13', 'hex', 'hex'), '02'); // 19^6 mod 23
    code(() => g.computeSecret(Buffer.from([1])), 'ERR_CRYPTO_INVALID_KEYLEN');
    equal(crypto.createDiffieHellman('05', 'hex').generateKeys().length, 1);
    same([g.verifyError, crypto.createDiffieHellman('21', 'hex').verifyError], [0, 3]); // 33 is no prime.
    code(() => crypto.getDiffieHellman('modp99'), 'ERR_CRYPTO_UNKNOWN_DH_GROUP');
});

test('primes', async () => {
    const p = crypto.generatePrimeSync(64, { bigint: true });
    equal(p.toString(2).length, 64);
    equal(crypto.checkPrimeSync(p), true);
    equal(crypto.checkPrimeSync(p + 1n), false);
    equal(crypto.generatePrimeSync(32, { add: 12n, rem: 11n, bigint: true, safe: true }) % 12n, 11n);
    equal((await call(crypto.generatePrime, 32)).byteLength, 4);
    code(() => crypto.generatePrimeSync(64, { add: 7n, rem: 1n }), 'ERR_OUT_OF_RANGE');
});

test('certificates', () => {
    const { pem, key, fingerprint256, validTo } = v.certificate, x = new crypto.X509Certificate(pem);
    same([x.subject, x.issuer, x.serialNumber, x.ca], ['C=DE\nO=celld\nCN=test.example', x.subject, '1234ABCD', true]);
    same([x.fingerprint256, x.validTo, x.toString()], [fingerprint256, validTo, pem]);
    equal(x.subjectAltName, 'DNS:test.example, DNS:*.wild.example, IP Address:127.0.0.1, email:a@test.example');
    same([x.checkHost('a.wild.example'), x.checkHost('other.example'), x.checkIP('127.0.0.1'), x.checkIP('::1'), x.checkEmail('a@test.example')], ['*.wild.example', undefined, '127.0.0.1', undefined, 'a@test.example']);
    equal(x.verify(x.publicKey) && x.checkIssued(x) && x.checkPrivateKey(crypto.createPrivateKey(key)), true);
    equal(x.verify(crypto.createPublicKey(v.ecSec1)) || x.checkPrivateKey(crypto.createPrivateKey(v.ecSec1)), false);
    equal(crypto.createPublicKey(pem).equals(x.publicKey), true);
    equal(new crypto.X509Certificate(x.raw).fingerprint256, fingerprint256);
    same(x.toLegacyObject().subject, { C: 'DE', O: 'celld', CN: 'test.example' });
    code(() => new crypto.X509Certificate('nothing'), 'ERR_INVALID_ARG_VALUE');
    const { Certificate } = crypto;
    same([Certificate.verifySpkac(v.spkac), Certificate.exportChallenge(v.spkac).toString(), Certificate.verifySpkac('AAAA')], [true, 'hello', false]);
    equal(crypto.createPublicKey(Certificate.exportPublicKey(v.spkac)).equals(x.publicKey), true);
});

test('what is missing names itself', () => {
    for (const name of ['createCipher', 'setEngine', 'setFips']) equal(throws(() => crypto[name]()).code, 'ERR_METHOD_NOT_IMPLEMENTED');
});

export default run;
