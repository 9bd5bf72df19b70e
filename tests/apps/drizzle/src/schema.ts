import { relations, sql } from 'drizzle-orm';
import { blob, check, index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const authors = sqliteTable('authors', {
    id: integer('id').primaryKey({ autoIncrement: true }),
    name: text('name').notNull().unique(),
    born: integer('born', { mode: 'timestamp' }),
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull().default([]),
    alive: integer('alive', { mode: 'boolean' }).notNull().default(true),
    portrait: blob('portrait', { mode: 'buffer' }),
});

export const books = sqliteTable(
    'books',
    {
        id: integer('id').primaryKey({ autoIncrement: true }),
        title: text('title').notNull(),
        authorId: integer('author_id').notNull().references(() => authors.id, { onDelete: 'cascade' }),
        copies: integer('copies').notNull().default(1),
        price: real('price'),
    },
    (t) => [index('books_author').on(t.authorId), check('copies_check', sql`${t.copies} >= 0`)],
);

export const authorsRelations = relations(authors, ({ many }) => ({ books: many(books) }));
export const booksRelations = relations(books, ({ one }) => ({ author: one(authors, { fields: [books.authorId], references: [authors.id] }) }));
