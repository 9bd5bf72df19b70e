import { readFileSync, writeFileSync } from 'node:fs';

export default async ({ get, project, restart, equal, same, ok }) => {
    const call = async (method, ...args) => (await get(`/city/${method}`, { method: 'POST', body: JSON.stringify(args) })).json();
    same(await call('applied'), [1764500000000]);
    same(await call('fill'), [
        { id: 1, name: 'Jane Austen', born: '1775-12-16T00:00:00.000Z', tags: ['novel', 'irony'], alive: false, portrait: null },
        { id: 2, name: 'Zadie Smith', born: '1975-10-25T00:00:00.000Z', tags: [], alive: true, portrait: [137, 80, 78, 71] },
        { id: 3, name: 'Nobody', born: null, tags: [], alive: true, portrait: null },
    ]);
    const want = {
        joined: [{ title: 'Emma', by: 'Jane Austen' }, { title: 'Persuasion', by: 'Jane Austen' }, { title: 'White Teeth', by: 'Zadie Smith' }],
        left: [{ authors: { id: 3, name: 'Nobody', born: null, tags: [], alive: true, portrait: null }, books: null }],
        groups: [
            { name: 'Jane Austen', titles: 2, copies: 4, dear: 7.5, mean: '6.875' },
            { name: 'Zadie Smith', titles: 1, copies: 2, dear: 9.99, mean: '9.99' },
        ],
        relational: [
            { name: 'Jane Austen', born: '1775-12-16T00:00:00.000Z', alive: false, tags: ['novel', 'irony'], books: [{ title: 'Emma' }, { title: 'Persuasion' }] },
            { name: 'Zadie Smith', born: '1975-10-25T00:00:00.000Z', alive: true, tags: [], books: [{ title: 'White Teeth' }] },
            { name: 'Nobody', born: null, alive: true, tags: [], books: [] },
        ],
        first: { id: 3, title: 'White Teeth', authorId: 2, copies: 2, price: 9.99, author: { name: 'Zadie Smith' } },
        prepared: [3, 0],
        some: [{ n: 1 }],
        raw: { up: 'ABC', number: 2.5 },
        values: [['Emma', 'Emma']],
        cte: [{ n: 2 }],
        counted: 3,
    };
    same(await call('read'), want);
    same(await call('undo'), [5, 'DrizzleError', 4, 'all of it', 3]);

    // Constraints hold, and what failed has changed nothing.
    equal(await call('lend', 'Persuasion'), 0);
    const none = await call('lend', 'Persuasion');
    ok(/CHECK constraint failed: copies_check/.test(`${none.error} ${none.cause}`), JSON.stringify(none));
    const twice = await call('fill');
    ok(/UNIQUE constraint failed: authors.name/.test(`${twice.error} ${twice.cause}`), JSON.stringify(twice));
    same(await call('upsert', 'Persuasion', 1), { copies: 1 });

    // At once: no copy is lent twice.
    same(await call('upsert', 'White Teeth', 20), { copies: 20 });
    const lent = await Promise.all(Array.from({ length: 20 }, () => call('lend', 'White Teeth')));
    same(lent.sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i));
    same(await call('upsert', 'White Teeth', 2), { copies: 2 });

    same(await (await get('/village/applied')).json(), [1764500000000]);
    await restart('SIGKILL');
    same(await call('read'), want);

    // A release with one more migration.
    await restart('SIGTERM', () => {
        const file = (name) => `${project}/drizzle/${name}`;
        writeFileSync(file('0001_years.sql'), "ALTER TABLE `books` ADD `year` integer;--> statement-breakpoint\nUPDATE `books` SET `year` = 1815 WHERE `title` = 'Emma';");
        const journal = JSON.parse(readFileSync(file('meta/_journal.json')));
        journal.entries.push({ idx: 1, version: '6', when: 1764600000000, tag: '0001_years', breakpoints: true });
        writeFileSync(file('meta/_journal.json'), JSON.stringify(journal));
        writeFileSync(file('migrations.js'), "import journal from './meta/_journal.json';\nimport m0000 from './0000_begin.sql';\nimport m0001 from './0001_years.sql';\nexport default { journal, migrations: { m0000, m0001 } };\n");
    });
    same(await call('applied'), [1764500000000, 1764600000000]);
    same(await call('columns'), ['id', 'title', 'author_id', 'copies', 'price', 'year']);
    same(await call('read'), want);
    equal(await call('remove', 'Jane Austen'), 1, 'her books go with her, the others stay:');
    await restart('SIGKILL');
    equal((await call('read')).counted, 1);
    same(await (await get('/village/columns')).json(), ['id', 'title', 'author_id', 'copies', 'price', 'year']);
};
