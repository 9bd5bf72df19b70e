import { Buffer } from 'node:buffer';
import { caught, check } from '../case.js';

const { createHash, createHmac, createPublicKey, createPrivateKey, createSecretKey, createCipheriv, createDecipheriv, generateKeyPairSync, getHashes, hkdfSync, pbkdf2, randomFillSync, scrypt, sign, verify, pbkdf2Sync, randomBytes, randomInt, randomUUID, scryptSync, timingSafeEqual, webcrypto } = await import('node:crypto').catch(() => ({}));
const code = (fn) => { try { fn(); } catch (e) { return e.code ?? e.name; } };
check('hashes', () => [createHash('sha256').update('a').update('bc').digest('hex').slice(0, 8), createHash('md5').update('abc').digest('base64'), createHmac('sha1', 'key').update('x').digest('hex').length, createHash('sha512').copy().digest().length], ['ba7816bf', 'kAFQmDzST7DWlj99KOF/cg==', 40, 64]);
check('random', () => [randomBytes(8).length, randomUUID().length, randomInt(5) < 5, timingSafeEqual(Buffer.from('a'), Buffer.from('a')), webcrypto === crypto || typeof webcrypto.subtle], [8, 36, true, true, true], {});
check('derived keys', () => [pbkdf2Sync('password', 'salt', 1, 20, 'sha1').toString('hex'), scryptSync('', '', 16, { N: 16, r: 1, p: 1 }).toString('hex'), Buffer.from(hkdfSync('sha256', 'key', 'salt', 'info', 8)).length], ['0c60c80f961f0e71f3a9b524af6012062fe037a6', '77d6576238657b203b19ca42c18a0497', 8]);
check('what is not known', () => [caught(() => createHash('nope')), caught(() => timingSafeEqual(Buffer.alloc(1), Buffer.alloc(2))) !== 'nothing was thrown'], ['Error', true]);
check('a hash in steps', () => {
    const h = createHash('sha256');
    h.update('a');
    const early = h.copy().digest('hex');
    h.update(Buffer.from('bc')).update(new Uint8Array(0));
    return [early.slice(0, 8), h.digest('base64url').slice(0, 8), code(() => h.update('x'))];
}, ['ca978112', 'ungWv48B', 'ERR_CRYPTO_HASH_FINALIZED']);
check('a hash twice', () => {
    const h = createHash('sha1').update('x');
    h.digest();
    return code(() => h.digest());
}, 'ERR_CRYPTO_HASH_FINALIZED');
check('encodings of HMAC', () => ['hex', 'base64'].map((e) => createHmac('sha256', 'key').update('data').digest(e)), ['5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0', 'UDH+PZicbRU3oBP6bnOdojRj/a7DtwE32Cjjas4iG9A=']);
check('callbacks', async () => [(await new Promise((resolve, reject) => pbkdf2('p', 's', 1, 4, 'sha256', (e, k) => (e ? reject(e) : resolve(k))))).length, (await new Promise((resolve, reject) => scrypt('p', 's', 8, (e, k) => (e ? reject(e) : resolve(k))))).length,
    (await new Promise((resolve, reject) => randomBytes(3, (e, b) => (e ? reject(e) : resolve(b))))).length], [4, 8, 3]);
check('a secret key', () => {
    const key = createSecretKey(Buffer.from('0123456789abcdef'));
    return [key.type, key.symmetricKeySize, key.export().toString(), key.export({ format: 'jwk' }).kty, createHmac('sha1', key).update('x').digest('hex').length];
}, ['secret', 16, '0123456789abcdef', 'oct', 40]);
check('AES-CBC', () => {
    const [key, iv] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
    const seal = createCipheriv('aes-128-cbc', key, iv);
    const sealed = Buffer.concat([seal.update(Buffer.from('some text')), seal.final()]);
    const open = createDecipheriv('aes-128-cbc', key, iv);
    return [sealed.length, Buffer.concat([open.update(sealed), open.final()]).toString()];
}, [16, 'some text']);
check('AES-GCM', () => {
    const [key, iv] = [Buffer.alloc(32, 1), Buffer.alloc(12, 2)];
    const seal = createCipheriv('aes-256-gcm', key, iv);
    seal.setAAD(Buffer.from('aad'));
    const sealed = Buffer.concat([seal.update(Buffer.from('text')), seal.final()]);
    const tag = seal.getAuthTag();
    const open = createDecipheriv('aes-256-gcm', key, iv);
    open.setAAD(Buffer.from('aad'));
    open.setAuthTag(tag);
    return [sealed.length, tag.length, Buffer.concat([open.update(sealed), open.final()]).toString()];
}, [4, 16, 'text']);
check('Ed25519', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const signature = sign(null, Buffer.from('m'), privateKey);
    return [signature.length, verify(null, Buffer.from('m'), publicKey, signature), verify(null, Buffer.from('n'), publicKey, signature), publicKey.asymmetricKeyType];
}, [64, true, false, 'ed25519']);
check('keys as PEM', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const again = createPrivateKey(pem);
    const spki = createPublicKey(again).export({ type: 'spki', format: 'der' });
    return [pem.split('\n')[0], again.asymmetricKeyType, spki.equals(publicKey.export({ type: 'spki', format: 'der' }))];
}, ['-----BEGIN PRIVATE KEY-----', 'ec', true]);
check('randomFillSync and randomInt', () => [randomFillSync(Buffer.alloc(4)).length, randomInt(3, 4), code(() => randomInt(4, 3))], [4, 3, 'ERR_OUT_OF_RANGE']);
check('getHashes', () => ['sha1', 'sha256', 'md5'].filter((name) => !getHashes().map((h) => h.toLowerCase()).includes(name)), []);
