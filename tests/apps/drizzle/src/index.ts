// A library: its database is made by migrations when the object starts.
import { DurableObject } from 'cloudflare:workers';
import { and, asc, avg, count, desc, eq, gt, inArray, like, max, sql, sum } from 'drizzle-orm';
import { drizzle, type DrizzleSqliteDODatabase } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../drizzle/migrations.js';
import * as schema from './schema';

const { authors, books } = schema;

export class Library extends DurableObject {
    db: DrizzleSqliteDODatabase<typeof schema>;

    constructor(ctx: DurableObjectState, env: object) {
        super(ctx, env);
        this.db = drizzle(ctx.storage, { schema, logger: false });
        ctx.blockConcurrencyWhile(() => migrate(this.db, migrations));
    }

    applied() {
        return this.db.all<{ created_at: number }>(sql`SELECT created_at FROM __drizzle_migrations ORDER BY created_at`).map((m) => Number(m.created_at));
    }

    async fill() {
        const made = await this.db
            .insert(authors)
            .values([
                { name: 'Jane Austen', born: new Date('1775-12-16'), alive: false, tags: ['novel', 'irony'] },
                { name: 'Zadie Smith', born: new Date('1975-10-25'), portrait: Buffer.from([137, 80, 78, 71]) },
                { name: 'Nobody' },
            ])
            .returning();
        const [austen, smith] = made;
        const list = [
            { title: 'Emma', authorId: austen.id, copies: 3, price: 7.5 },
            { title: 'Persuasion', authorId: austen.id, price: 6.25 },
            { title: 'White Teeth', authorId: smith.id, copies: 2, price: 9.99 },
        ];
        await this.db.insert(books).values(list);
        return made.map(({ portrait, ...rest }) => ({ ...rest, portrait: portrait === null ? null : [...portrait] }));
    }

    async read() {
        const { db } = this;
        const byTitle = db.select().from(books).where(eq(books.title, sql.placeholder('title'))).prepare();
        return {
            joined: await db.select({ title: books.title, by: authors.name }).from(books).innerJoin(authors, eq(books.authorId, authors.id)).orderBy(asc(books.title)),
            left: await db.select().from(authors).leftJoin(books, eq(books.authorId, authors.id)).where(eq(authors.name, 'Nobody')),
            groups: await db
                .select({ name: authors.name, titles: count(books.id), copies: sum(books.copies).mapWith(Number), dear: max(books.price), mean: avg(books.price) })
                .from(authors)
                .leftJoin(books, eq(books.authorId, authors.id))
                .groupBy(authors.id)
                .having(({ titles }) => gt(titles, 0))
                .orderBy(({ titles }) => desc(titles)),
            relational: await db.query.authors.findMany({ columns: { name: true, born: true, alive: true, tags: true }, with: { books: { columns: { title: true }, orderBy: [asc(books.title)] } }, orderBy: [asc(authors.id)] }),
            first: await db.query.books.findFirst({ with: { author: { columns: { name: true } } }, where: like(books.title, 'White%') }),
            prepared: [byTitle.get({ title: 'Emma' })?.copies, byTitle.all({ title: 'nothing' }).length],
            some: await db.select({ n: count() }).from(books).where(and(inArray(books.title, ['Emma', 'Persuasion']), gt(books.price, 7))),
            raw: db.get(sql`SELECT upper(${'abc'}) AS up, ${1.5} + 1 AS number`),
            values: db.values(sql`SELECT title, title AS title FROM ${books} ORDER BY id LIMIT 1`),
            cte: await (() => {
                const many = db.$with('many').as(db.select({ id: books.id, copies: books.copies }).from(books).where(gt(books.copies, 1)));
                return db.with(many).select({ n: count() }).from(many);
            })(),
            counted: await db.$count(books),
        };
    }

    async lend(title: string) {
        return this.db.transaction((tx) => {
            const [book] = tx.update(books).set({ copies: sql`${books.copies} - 1` }).where(eq(books.title, title)).returning().all();
            return book?.copies ?? null;
        });
    }

    async upsert(title: string, copies: number) {
        const [id] = this.db.select({ id: books.id, authorId: books.authorId }).from(books).where(eq(books.title, title)).all();
        return this.db.insert(books).values({ ...id, title, copies }).onConflictDoUpdate({ target: books.id, set: { copies } }).returning({ copies: books.copies }).get();
    }

    // A failed part is undone alone, a failed whole as a whole.
    async undo() {
        const seen: unknown[] = [];
        const titles = (tx: any) => tx.select({ n: count() }).from(books).get().n;
        try {
            this.db.transaction((tx) => {
                tx.insert(books).values({ title: 'Outer', authorId: 1 }).run();
                try {
                    tx.transaction((inner) => {
                        inner.insert(books).values({ title: 'Inner', authorId: 1 }).run();
                        seen.push(titles(inner));
                        inner.rollback();
                    });
                } catch (error) {
                    seen.push((error as Error).name, titles(tx));
                }
                throw new Error('all of it');
            });
        } catch (error) {
            seen.push((error as Error).message);
        }
        seen.push(titles(this.db));
        return seen;
    }

    async remove(name: string) {
        await this.db.delete(authors).where(eq(authors.name, name));
        return this.db.$count(books);
    }

    // What a migration has added that the schema above does not know of.
    async columns() {
        return this.db.values(sql`SELECT name FROM pragma_table_info('books')`).flat();
    }
}

export default {
    async fetch(request: Request, env: { LIBRARY: DurableObjectNamespace<Library> }) {
        const url = new URL(request.url);
        const [, name, method] = url.pathname.split('/');
        const args = request.method === 'POST' ? await request.json<any[]>() : [];
        try {
            return Response.json(await (env.LIBRARY.getByName(name) as any)[method](...args));
        } catch (error) {
            const { cause, message } = error as Error;
            return Response.json({ error: message, cause: (cause as Error)?.message }, { status: 409 });
        }
    },
};
