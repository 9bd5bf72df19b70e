// A small JSON API in TypeScript: variables of the project, checks of the input, errors as JSON.
interface Env {
    CURRENCY: string;
    RATES: Record<string, number>; // An object in wrangler.jsonc arrives as an object.
}

const problem = (status: number, error: string) => Response.json({ error }, { status });

export default {
    async fetch(request: Request, env: Env): Promise<Response> {
        const { pathname } = new URL(request.url);
        if (pathname !== '/price') return problem(404, 'There is only /price.');
        if (request.method !== 'POST') return problem(405, 'POST a price.');
        let order: { net?: unknown; rate?: string };
        try {
            order = await request.json();
        } catch {
            return problem(400, 'The body is no JSON.');
        }
        const rate = env.RATES[order.rate ?? 'standard'];
        if (typeof order.net !== 'number' || rate === undefined) {
            return problem(422, `"net" must be a number and "rate" one of ${Object.keys(env.RATES).join(', ')}.`);
        }
        const tax = Math.round(order.net * rate * 100) / 100;
        return Response.json({ net: order.net, tax, gross: order.net + tax, currency: env.CURRENCY });
    },
};
