// A JSON API whose input is checked by zod.
import { z } from 'zod';

const Order = z.object({
    customer: z.email(),
    items: z.array(z.object({ sku: z.string().regex(/^[A-Z]-\d+$/), quantity: z.number().int().positive().default(1) })).min(1),
    note: z.string().trim().max(20).optional(),
    due: z.coerce.date().transform((d) => d.toISOString().slice(0, 10)),
    total: z.union([z.number(), z.string().transform(Number)]).pipe(z.number().nonnegative()),
});

export default {
    async fetch(request: Request): Promise<Response> {
        let input: unknown;
        try {
            input = await request.json();
        } catch {
            return Response.json({ error: 'That is no JSON.' }, { status: 400 });
        }
        const order = Order.safeParse(input);
        if (!order.success) return Response.json({ error: z.flattenError(order.error).fieldErrors }, { status: 422 });
        return Response.json(order.data, { status: 201 });
    },
};
