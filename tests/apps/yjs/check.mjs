import YProvider from 'y-partyserver/provider';
import * as Y from 'yjs';

export const env = { CELLD_IDLE_EVICT_S: '1' };

export default async ({ get, origin, restart, until, sleep, equal, same, ok }) => {
    const stored = async () => (await get('/parties/document/plan')).json();
    const open = [];
    // disableBc: otherwise the clients of this one process would talk to each other without celld.
    const client = () => {
        const doc = new Y.Doc();
        const provider = new YProvider(origin.slice(7), 'plan', doc, { party: 'document', disableBc: true, maxBackoffTime: 200 });
        open.push(provider);
        return { doc, provider, body: doc.getText('body'), list: doc.getArray('list') };
    };
    const text = ({ body }) => body.toString();
    try {
        const a = client(), b = client();
        await until(() => a.provider.synced && b.provider.synced, 'both are in sync');
        a.body.insert(0, 'hello');
        await until(() => text(b) === 'hello', 'what one writes, the other has');
        // At once, in the same place: both end with the same text.
        a.body.insert(5, ' from a');
        b.body.insert(5, ' from b');
        a.list.push([1, { deep: ['yes', null] }]);
        b.list.insert(0, ['first']);
        await until(() => text(a) === text(b) && text(a).length === 19 && a.list.length === 3 && b.list.length === 3, 'they agree');
        same(a.list.toJSON(), b.list.toJSON());
        a.provider.awareness.setLocalStateField('user', { name: 'Ann' });
        await until(() => [...b.provider.awareness.getStates().values()].some((s) => s.user?.name === 'Ann'), 'who is here');
        const heard = [];
        b.provider.on('custom-message', (m) => heard.push(m));
        a.provider.sendMessage('ping');
        await until(() => heard.length === 1 && heard[0] === 'ping', 'a message beside the document');
        // A large edit, of many frames' size.
        const long = 'lorem ipsum '.repeat(40000);
        a.doc.transact(() => a.doc.getText('long').insert(0, long));
        await until(() => b.doc.getText('long').toString() === long, 'a large edit');

        // The document leaves memory and comes back from storage when somebody writes.
        await until(async () => (await stored()).bytes > long.length, 'it is stored');
        const { loads } = await stored();
        await sleep(2500);
        b.body.insert(0, '> ');
        await until(() => text(a).startsWith('> hello'), 'after hibernation');
        const now = await stored();
        equal(now.loads, loads + 1, 'times it was loaded:');
        equal(now.text, text(a));

        for (const signal of ['SIGKILL', 'SIGTERM']) {
            a.body.insert(0, `${signal} `);
            await until(() => text(b) === text(a), 'in sync');
            await sleep(400); // It is stored a moment after the last edit.
            const want = text(a);
            await restart(signal);
            const fresh = client(); // One that knows nothing.
            await until(() => text(fresh) === want, `the document after ${signal}`);
            equal(fresh.doc.getText('long').toString(), long);
            await until(() => a.provider.wsconnected && b.provider.wsconnected, 'the others are back');
            b.body.insert(0, '! ');
            await until(() => text(fresh) === `! ${want}` && text(a) === `! ${want}`, 'all write on');
        }
        ok(Buffer.from(Y.encodeStateVector(a.doc)).length > 1);
        same(JSON.parse(JSON.stringify(a.list.toJSON())), (await stored()).list);
    } finally {
        for (const provider of open) provider.destroy();
    }
};
