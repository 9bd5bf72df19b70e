// Tokens with jose: symmetric and asymmetric signatures, encryption, a key set.
import { CompactEncrypt, compactDecrypt, createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT, importJWK } from 'jose';

const secret = new TextEncoder().encode('a secret of at least thirty-two bytes');
let keys; // Made by the first request: there is no entropy to wait for at load time.

async function keySet() {
    keys ??= (async () => {
        const pairs = {};
        for (const alg of ['RS256', 'ES256', 'EdDSA']) {
            const pair = await generateKeyPair(alg, { extractable: true });
            pairs[alg] = { private: pair.privateKey, public: { ...(await exportJWK(pair.publicKey)), kid: alg, alg } };
        }
        return pairs;
    })();
    return keys;
}

export default {
    async fetch(request) {
        const url = new URL(request.url);
        const alg = url.searchParams.get('alg') ?? 'HS256';
        const pairs = await keySet();
        if (url.pathname === '/token') {
            const key = alg === 'HS256' ? secret : pairs[alg].private;
            return new Response(
                await new SignJWT({ scope: 'read' }).setProtectedHeader({ alg, kid: alg }).setSubject('ada').setIssuer('celld').setIssuedAt().setExpirationTime('1h').sign(key),
            );
        }
        if (url.pathname === '/check') {
            const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
            const key = alg === 'HS256' ? secret : createLocalJWKSet({ keys: Object.values(pairs).map((p) => p.public) });
            try {
                const { payload } = await jwtVerify(token, key, { issuer: 'celld' });
                return Response.json({ sub: payload.sub, scope: payload.scope });
            } catch (error) {
                return Response.json({ code: error.code }, { status: 401 });
            }
        }
        const key = await importJWK({ kty: 'oct', k: 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA' }, 'A256GCM');
        const sealed = await new CompactEncrypt(new TextEncoder().encode('sealed')).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key);
        const { plaintext } = await compactDecrypt(sealed, key);
        return new Response(new TextDecoder().decode(plaintext));
    },
};
