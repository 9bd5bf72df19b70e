export default async ({ get, origin, restart, sleep, equal, same, ok }) => {
    const ask = (name) => get('/', { headers: { 'x-client': name } });
    // Over many connections at once: exactly as many pass as there are tokens.
    const burst = async (name, n) => {
        const answers = await Promise.all(Array.from({ length: n }, () => fetch(origin, { headers: { 'x-client': name } })));
        await Promise.all(answers.map((a) => a.text()));
        return answers.filter(({ status }) => status === 200).length;
    };
    const first = await ask('ann');
    same([first.status, await first.text(), first.headers.get('x-remaining')], [200, 'welcome', '4']);
    equal(await burst('bob', 40), 5);
    const late = await ask('bob');
    same([late.status, late.headers.get('retry-after'), await late.text()], [429, late.headers.get('retry-after'), 'slow down (bucket)']);
    const wait = Number(late.headers.get('x-retry-ms'));
    ok(wait > 0 && wait <= 2000, 'a token every two seconds');
    equal((await ask('ann')).status, 200, 'another client is not concerned:');
    await sleep(wait + 20);
    equal(await burst('bob', 10), 1, 'one token has come:');

    // The window counts on, however celld ended; more tokens have come than it leaves.
    await restart('SIGKILL', () => sleep(4100));
    equal(await burst('bob', 20), 2, 'what the window leaves:');
    const day = await ask('bob');
    same([day.status, await day.text()], [429, 'slow down (window)']);
    ok(Number(day.headers.get('retry-after')) > 40, 'not before the window has moved');
    await restart('SIGTERM');
    equal(await (await ask('bob')).text(), 'slow down (window)');
    equal((await ask('eve')).status, 200);
};
