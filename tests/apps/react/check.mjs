export default async ({ get, equal, ok }) => {
    const streamed = await (await get('/')).text();
    ok(streamed.includes('<h1>Shell</h1>'), 'shell');
    ok(streamed.includes('<p>loading</p>'), 'fallback');
    ok(streamed.indexOf('came later') > streamed.indexOf('loading'), 'the slow part comes later');
    const whole = await get('/whole');
    equal(whole.headers.get('x-errors'), '');
    ok((await whole.text()).includes('<p id="slow">came later</p>'), 'whole');
};
