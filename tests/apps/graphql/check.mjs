export default async ({ get, equal, same }) => {
    const ask = async (query, variables) => {
        const r = await get('/', { method: 'POST', body: JSON.stringify({ query, variables }) });
        return { status: r.status, ...(await r.json()) };
    };
    equal((await get('/')).status, 405);
    same(await ask('query($y: Int) { books(after: $y) { title author { name books { id } } } }', { y: 1816 }), {
        status: 200,
        data: { books: [{ title: 'Persuasion', author: { name: 'Jane Austen', books: [{ id: '1' }, { id: '2' }] } }] },
    });
    same(await ask('{ book(id: "1") { ...f } missing: book(id: "9") { id } } fragment f on Book { title year }'), {
        status: 200,
        data: { book: { title: 'Emma', year: 1815 }, missing: null },
    });
    const wrong = await ask('{ nope }');
    equal(wrong.status, 400);
    equal(wrong.errors[0].message, 'Cannot query field "nope" on type "Query".');
    equal((await ask('mutation { addBook(title: "") { id } }')).errors[0].message, 'A book needs a title');
};
