// Notebooks, each with a SQLite database of its own:
//   GET /BOOK?tag=&find=    notes, the newest first      POST /BOOK          {"text", "tags": []}: a new one
//   GET /BOOK/ID            one                          PUT, DELETE /BOOK/ID
import { DurableObject } from 'cloudflare:workers';

interface Env {
    NOTEBOOKS: DurableObjectNamespace<Notebook>;
}

type Note = { id: number; text: string; tags: string[] };
type Row = { id: number; text: string; tags: string };

// Each step runs once in each notebook, when it is next used.
const STEPS = [
    `CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK (text <> ''));
     CREATE TABLE tags (note INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE, tag TEXT NOT NULL, PRIMARY KEY (note, tag));`,
    'CREATE INDEX notes_of_tag ON tags (tag, note);',
];

export class Notebook extends DurableObject<Env> {
    private sql = this.ctx.storage.sql;

    constructor(ctx: DurableObjectState, env: Env) {
        super(ctx, env);
        const done = ctx.storage.kv.get<number>('steps') ?? 0;
        for (const step of STEPS.slice(done)) this.sql.exec(step);
        if (done < STEPS.length) ctx.storage.kv.put('steps', STEPS.length);
    }

    list(tag: string | null, find: string | null): Note[] {
        return this.notes(
            `WHERE (?1 IS NULL OR notes.id IN (SELECT note FROM tags WHERE tag = ?1)) AND (?2 IS NULL OR instr(text, ?2) > 0)
             GROUP BY notes.id ORDER BY notes.id DESC LIMIT 100`,
            tag,
            find,
        );
    }

    get(id: number): Note | undefined {
        return this.notes('WHERE notes.id = ? GROUP BY notes.id', id)[0];
    }

    add(text: string, tags: string[]): number {
        // Both tables or neither.
        return this.ctx.storage.transactionSync(() => {
            const { id } = this.sql.exec<{ id: number }>('INSERT INTO notes (text) VALUES (?) RETURNING id', text).one();
            for (const tag of tags) this.sql.exec('INSERT INTO tags VALUES (?, ?)', id, tag);
            return id;
        });
    }

    change(id: number, text: string): boolean {
        return this.sql.exec('UPDATE notes SET text = ? WHERE id = ? RETURNING id', text, id).toArray().length > 0;
    }

    remove(id: number): boolean {
        return this.sql.exec('DELETE FROM notes WHERE id = ? RETURNING id', id).toArray().length > 0;
    }

    private notes(rest: string, ...values: (string | number | null)[]): Note[] {
        const rows = this.sql.exec<Row>(
            `SELECT notes.id, text, json_group_array(tag ORDER BY tag) FILTER (WHERE tag IS NOT NULL) AS tags
             FROM notes LEFT JOIN tags ON tags.note = notes.id ${rest}`,
            ...values,
        );
        return rows.toArray().map((row) => ({ ...row, tags: JSON.parse(row.tags) }));
    }
}

export default {
    async fetch(request, env) {
        const url = new URL(request.url);
        const [, name, id] = url.pathname.split('/');
        if (!name) return new Response('GET /BOOK\n', { status: 404 });
        const book = env.NOTEBOOKS.getByName(name);
        const { searchParams: query } = url;
        try {
            switch (`${request.method} ${id === undefined ? 'book' : 'note'}`) {
                case 'GET book':
                    return Response.json(await book.list(query.get('tag'), query.get('find')));
                case 'POST book': {
                    const { text, tags = [] } = await request.json<Omit<Note, 'id'>>();
                    const location = `/${name}/${await book.add(text, tags)}`;
                    return new Response(null, { status: 201, headers: { location } });
                }
                case 'GET note': {
                    const note = await book.get(Number(id));
                    return note ? Response.json(note) : new Response(null, { status: 404 });
                }
                case 'PUT note':
                    return new Response(null, { status: (await book.change(Number(id), await request.text())) ? 204 : 404 });
                case 'DELETE note':
                    return new Response(null, { status: (await book.remove(Number(id))) ? 204 : 404 });
                default:
                    return new Response(null, { status: 405, headers: { allow: 'GET, POST, PUT, DELETE' } });
            }
        } catch (error) {
            // A constraint of the database, or a body that is no note.
            return Response.json({ error: (error as Error).message }, { status: 422 });
        }
    },
} satisfies ExportedHandler<Env>;
