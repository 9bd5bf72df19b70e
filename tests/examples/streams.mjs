import { gunzipSync } from 'node:zlib';
export default async ({ get, equal }) => {
    const lines = Array.from({ length: 1000 }, (_, i) => `${i + 1}\n`);
    equal(await (await get('/count?to=3')).text(), '1\n2\n3\n');
    equal(gunzipSync(Buffer.from(await (await get('/gzip')).arrayBuffer())).toString(), lines.join(''));
    const long = 'grüße '.repeat(300000);
    equal(await (await get('/upper', { method: 'POST', body: long })).text(), long.toUpperCase());
};
