export default async ({ get, equal, same }) => {
    for (const alg of ['HS256', 'RS256', 'ES256', 'EdDSA']) {
        // One connection, so that one isolate makes the keys and uses them.
        const token = await (await get(`/token?alg=${alg}`)).text();
        const check = (t) => get(`/check?alg=${alg}`, { headers: { authorization: `Bearer ${t}` } });
        const good = await check(token);
        same(await good.json(), { sub: 'ada', scope: 'read' }, alg);
        const [head, body, signature] = token.split('.');
        const forged = await check(`${head}.${btoa(JSON.stringify({ ...JSON.parse(atob(body)), sub: 'eve' })).replace(/=+$/, '')}.${signature}`);
        equal(forged.status, 401);
        same(await forged.json(), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' }, alg);
    }
    equal(await (await get('/seal')).text(), 'sealed');
};
