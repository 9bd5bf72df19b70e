// A GraphQL endpoint over the reference implementation.
import { buildSchema, graphql } from 'graphql';

const schema = buildSchema(`
    type Author { name: String!  books: [Book!]! }
    type Book { id: ID!  title: String!  year: Int  author: Author! }
    type Query { book(id: ID!): Book  books(after: Int): [Book!]! }
    type Mutation { addBook(title: String!, year: Int): Book! }
`);
const author = { name: 'Jane Austen', books: () => books };
const books = [
    { id: '1', title: 'Emma', year: 1815, author },
    { id: '2', title: 'Persuasion', year: 1817, author },
];
const rootValue = {
    book: ({ id }) => books.find((b) => b.id === id),
    books: async ({ after }) => books.filter((b) => b.year > (after ?? 0)),
    addBook({ title, year }) {
        if (title === '') throw new Error('A book needs a title');
        const book = { id: String(books.length + 1), title, year, author };
        books.push(book);
        return book;
    },
};

export default {
    async fetch(request) {
        if (request.method !== 'POST') return new Response('POST a query', { status: 405, headers: { allow: 'POST' } });
        const { query, variables, operationName } = await request.json();
        const result = await graphql({ schema, rootValue, source: query, variableValues: variables, operationName });
        return Response.json(result, { status: result.data === undefined ? 400 : 200 });
    },
};
