// itty-router: AutoRouter with parameters, middleware, errors and CORS.
import { AutoRouter, cors, error, json, status, text } from 'itty-router';

const { preflight, corsify } = cors({ origin: 'https://example.com', allowMethods: ['GET', 'POST'] });
const withUser = (request) => {
    request.user = request.headers.get('x-user') ?? undefined;
    if (request.user === undefined) return error(401, 'Who are you?');
};

const router = AutoRouter({ before: [preflight], finally: [corsify], missing: () => error(404, 'No such page') });
router
    .get('/', () => 'plain text')
    .get('/add/:a/:b', ({ a, b }) => ({ sum: Number(a) + Number(b) }))
    .get('/find', ({ query }) => ({ query }))
    .post('/echo', async (request) => json(await request.json(), { status: 202 }))
    .get('/me', withUser, ({ user }) => text(`you are ${user}`))
    .delete('/thing', () => status(204))
    .get('/files/:path+', ({ path }) => path)
    .get('/fail', () => {
        throw new Error('did not work');
    });

export default { ...router };
