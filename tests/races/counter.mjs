// A node that is killed, told to end and started again, with clients on all shards: what tools/test runs under the thread sanitizer.
// It asks for little, and with patience: everything is slow there.
export default async ({ get, origin, restart, until, equal }) => {
    const names = Array.from({ length: 12 }, (_, i) => `cell${i}`);
    const count = (name) => fetch(`${origin}/${name}`, { method: 'POST' }).then((r) => r.text());
    let told = 0;
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGTERM']) {
        told++;
        for (const text of await Promise.all(names.map(count))) equal(text, `${told}\n`);
        await restart(signal);
        await until(async () => (await get('/cell0')).status === 200, `an answer after ${signal}`, 60);
    }
};
