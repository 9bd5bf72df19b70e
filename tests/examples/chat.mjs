export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, socket, restart, sleep, equal, same }) => {
    equal((await get('/den')).status, 426);
    const ann = await socket('/den?name=ann');
    equal(await ann.next(), '* ann has joined');
    const bob = await socket('/den?name=bob');
    for (const s of [ann, bob]) equal(await s.next(), '* bob has joined');
    ann.send('hello');
    for (const s of [ann, bob]) equal(await s.next(), 'ann: hello');
    const other = await socket('/elsewhere?name=eve');
    equal(await other.next(), '* eve has joined');
    // Idle for a while, the room is out of memory: it answers pings all the same, and knows who is who.
    await sleep(2000);
    bob.send('ping');
    equal(await bob.next(), 'pong');
    bob.send('anybody here?');
    for (const s of [ann, bob]) equal(await s.next(), 'bob: anybody here?');
    bob.ws.close(1000);
    equal((await bob.closed()).code, 1000);
    equal(await ann.next(), '* bob has left');
    for (const [signal, code] of [['SIGTERM', 1012], ['SIGKILL', 1006]]) {
        const s = await socket('/den?name=dan');
        same([await s.next(), await s.next(), await s.next()], ['ann: hello', 'bob: anybody here?', '* dan has joined']);
        await restart(signal);
        equal((await s.closed()).code, code, signal);
    }
};
