import { PartySocket } from 'partysocket';

export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, socket, origin, restart, until, sleep, equal, same, ok }) => {
    const room = '/parties/chat/lounge';
    const state = async () => (await get(room)).json();
    const join = async (name, more = '') => {
        const s = await socket(`${room}?name=${name}&_pk=${name}-1${more}`);
        s.json = async () => JSON.parse(await s.next());
        return s;
    };
    equal((await get('/nowhere')).status, 404);
    equal((await get('/parties/nothing/room')).status, 400);
    const cors = await get(room);
    equal(cors.headers.get('access-control-allow-origin'), '*');
    same(await cors.json(), { history: [], here: [], moderators: [], lives: 1 });

    const ann = await join('ann', '&moderator');
    same(await ann.json(), { room: 'lounge', history: [] });
    const bob = await join('bob');
    same(await bob.json(), { room: 'lounge', history: [] });
    same(await ann.json(), { joined: 'bob' });
    ann.send('hello');
    for (const s of [ann, bob]) same(await s.json(), { name: 'ann', said: 1, message: 'hello' });
    bob.send(new Uint8Array([1, 2, 255]));
    equal(String(new Uint8Array(await bob.next())), '255,2,1');
    same(await (await get('/announce/lounge', { method: 'POST', body: 'tea is ready' })).json(), { reached: 2 });
    for (const s of [ann, bob]) same(await s.json(), { announcement: 'tea is ready' });
    same(await state(), { history: ['ann: hello'], here: ['ann', 'bob'], moderators: ['ann'], lives: 1 });

    // Out of memory while both sockets stay: the one that speaks first wakes it, their states are what they were.
    bob.send('/life');
    const life = await bob.next();
    await sleep(2500);
    bob.send('/life');
    ok((await bob.next()) !== life, 'another instance has woken up');
    ann.send('still here');
    for (const s of [ann, bob]) same(await s.json(), { name: 'ann', said: 2, message: 'still here' });
    bob.send('me too');
    for (const s of [ann, bob]) same(await s.json(), { name: 'bob', said: 1, message: 'me too' });
    same((await state()).moderators, ['ann']);

    // An alarm wakes it as well.
    equal((await get(room, { method: 'POST' })).status, 202);
    for (const s of [ann, bob]) same(await s.json(), { alarm: 'lounge' });

    // An exception in a handler harms neither the room nor the sockets.
    bob.send('/fail');
    bob.send('/quit');
    const quit = await bob.closed();
    same([quit.code, quit.reason, quit.wasClean], [4001, 'as you wish', true]);
    same(await ann.json(), { left: 'bob', code: 4001, reason: '' }); // Bob's client repeats the code alone.
    await until(async () => (await state()).here.join() === 'ann', 'bob has left');

    // Asleep again, a client that leaves wakes it.
    const eve = await join('eve');
    await eve.json();
    same(await ann.json(), { joined: 'eve' });
    await sleep(2500);
    eve.ws.close(3005, 'gone');
    same(await ann.json(), { left: 'eve', code: 3005, reason: 'gone' });
    const before = await state();
    ok(before.lives >= 3, 'it slept');
    same(before.here, ['ann']);

    // Clients that connect again by themselves find what was said, however celld ended.
    const said = [...before.history];
    const lines = [];
    const client = new PartySocket({ host: origin.slice(7), party: 'chat', room: 'lounge', query: { name: 'cat' }, minReconnectionDelay: 50, maxReconnectionDelay: 200 });
    client.addEventListener('message', ({ data }) => lines.push(JSON.parse(data)));
    await until(() => lines.length === 1, 'cat is in');
    same(lines[0].history, said);
    for (const signal of ['SIGTERM', 'SIGKILL']) {
        lines.length = 0;
        client.send(`before ${signal}`);
        said.push(`cat: before ${signal}`);
        await until(() => lines.some(({ message }) => message === `before ${signal}`), 'cat is heard');
        lines.length = 0;
        await restart(signal);
        await until(() => lines.length > 0, `cat is back after ${signal}`);
        same(lines[0], { room: 'lounge', history: said });
    }
    equal((await ann.closed()).code, 1012, 'what the others hear when celld goes:');
    same((await state()).here, ['cat']);
    client.close();
    await until(async () => (await state()).here.length === 0, 'cat has left');

    // Without hibernation the room stays in memory as long as somebody is in.
    const one = await socket('/parties/cursors/page?_pk=one');
    equal(await one.next(), '{}');
    one.send('3,4');
    await sleep(2500);
    const two = await socket('/parties/cursors/page?_pk=two');
    equal(await two.next(), '{"one":"3,4"}');
    two.send('5,6');
    equal(await one.next(), 'two at 5,6');
    two.ws.close(1000, 'done');
    equal((await two.closed()).code, 1000);
    equal(await one.next(), 'two is gone');
    one.ws.close(1000);
    equal((await one.closed()).code, 1000);
    let refused;
    await socket(`${room}?nameless`).catch((error) => { refused = error; });
    ok(refused, 'who has no name is not let in');
};
