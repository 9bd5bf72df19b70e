// A Hono application: middleware, parameters, validation, cookies, streaming, errors.
import { Hono } from 'hono';
import { bearerAuth } from 'hono/bearer-auth';
import { getCookie, setCookie } from 'hono/cookie';
import { cors } from 'hono/cors';
import { etag } from 'hono/etag';
import { HTTPException } from 'hono/http-exception';
import { stream, streamSSE, streamText } from 'hono/streaming';

type Env = { Bindings: { SECRET: string }; Variables: { started: number } };
const app = new Hono<Env>();
const books = new Map<string, { id: string; title: string }>();

app.use('*', async (c, next) => {
    c.set('started', Date.now());
    await next();
    c.header('x-took', String(Date.now() - c.get('started')));
});
app.use('/api/*', cors({ origin: 'https://example.com' }));
app.use('/tagged', etag());
app.use('/private/*', (c, next) => bearerAuth({ token: c.env.SECRET.replace(' ', '-') })(c, next));

app.get('/', (c) => c.text('hello from hono'));
app.get('/api/books/:id', (c) => {
    const book = books.get(c.req.param('id'));
    return book ? c.json(book) : c.notFound();
});
app.post('/api/books', async (c) => {
    const { title } = await c.req.json<{ title: string }>();
    const book = { id: String(books.size + 1), title };
    books.set(book.id, book);
    return c.json(book, 201);
});
app.post('/form', async (c) => {
    const body = await c.req.parseBody();
    const file = body.file as File;
    return c.json({ name: body.name, file: file.name, size: file.size, type: file.type, text: await file.text() });
});
app.get('/cookie', (c) => {
    setCookie(c, 'seen', 'yes', { httpOnly: true, maxAge: 60 });
    return c.text(getCookie(c, 'seen') ?? 'no');
});
app.get('/tagged', (c) => c.text('the same every time'));
app.get('/private/page', (c) => c.text('inside'));
app.get('/text', (c) =>
    streamText(c, async (s) => {
        for (const word of ['one', 'two', 'three']) {
            await s.writeln(word);
            await s.sleep(5);
        }
    }),
);
app.get('/events', (c) =>
    streamSSE(c, async (s) => {
        for (let id = 0; id < 3; id++) await s.writeSSE({ data: `tick ${id}`, event: 'tick', id: String(id) });
    }),
);
app.get('/pipe', (c) => stream(c, async (s) => s.pipe(new Blob(['piped through']).stream())));
app.get('/teapot', () => {
    throw new HTTPException(418, { message: 'short and stout' });
});
app.get('/broken', () => {
    throw new Error('on purpose');
});
app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text(`caught: ${error.message}`, 500)));
app.notFound((c) => c.json({ error: 'nothing here', path: c.req.path }, 404));

export default app;
