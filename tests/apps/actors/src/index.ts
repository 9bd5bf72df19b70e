// Gardens that water themselves: persistent properties, migrations, several alarms, sockets, calls to one another.
import { Actor, type ActorConfiguration, handler, Persist } from '@cloudflare/actors';

export class Garden extends Actor<object> {
    @Persist
    visits = 0;

    @Persist
    settings: { sprinkler?: boolean; zones: string[] } = { zones: [] };

    starts = 0;

    static async nameFromRequest(request: Request) {
        return new URL(request.url).pathname.split('/')[1] || undefined;
    }

    static configuration(_request: Request): ActorConfiguration {
        return { sockets: { upgradePath: `/${'socket'}`, autoResponse: { ping: 'ping', pong: 'pong' } } } as ActorConfiguration;
    }

    constructor(ctx: DurableObjectState, env: object) {
        super(ctx, env);
        if (ctx === undefined) return;
        this.storage.migrations = [
            { idMonotonicInc: 1, description: 'plants', sql: 'CREATE TABLE plants (name TEXT PRIMARY KEY, water INTEGER NOT NULL)' },
            { idMonotonicInc: 2, description: 'when', sql: "ALTER TABLE plants ADD COLUMN at TEXT DEFAULT 'never'" },
        ];
    }

    async onInit() {
        this.starts++;
        await this.storage.runMigrations();
    }

    async onRequest(request: Request) {
        const [, name, verb, ...rest] = new URL(request.url).pathname.split('/');
        this.visits++;
        switch (verb) {
            case 'plant':
                for (const plant of rest) this.sql`INSERT INTO plants (name, water) VALUES (${plant}, 0)`;
                return Response.json(this.plants());
            case 'water':
                await this.alarms.schedule(Number(rest[1] ?? 1), 'water', { plant: rest[0] });
                return Response.json(this.alarms.getSchedules().length);
            case 'settings':
                this.settings.sprinkler = true;
                this.settings.zones.push(rest[0]);
                return Response.json(this.settings);
            case 'give': {
                const other = Garden.get(rest[0]);
                return Response.json(await other.take(name, rest[1]));
            }
            case 'tracked':
                return Response.json(await (Garden.get('_cf_actors') as any).__studio({ type: 'query', statement: 'SELECT identifier FROM actors ORDER BY identifier' }));
            case 'both':
                return Response.json(
                    await this.storage.__studio({ type: 'transaction', statements: ['UPDATE plants SET water = water + 10', 'SELECT name, water FROM plants ORDER BY name'] } as any),
                );
            default:
                return Response.json({ name: this.name, visits: this.visits, starts: this.starts, settings: this.settings, plants: this.plants(), due: this.alarms.getSchedules().length });
        }
    }

    async take(from: string, plant: string) {
        this.sql`INSERT INTO plants (name, water) VALUES (${`${plant} of ${from}`}, 1)`;
        return { here: this.name, plants: this.plants() };
    }

    water({ plant }: { plant: string }) {
        this.sql`UPDATE plants SET water = water + 1, at = 'today' WHERE name = ${plant}`;
        this.sockets.message(`${plant} watered`);
    }

    plants() {
        return this.sql`SELECT name, water, at FROM plants ORDER BY name`.map(({ name, water, at }: any) => `${name} ${water} ${at}`);
    }

    shouldUpgradeSocket() {
        return true;
    }

    onWebSocketMessage(_ws: WebSocket, message: string) {
        this.sockets.message(`heard ${message}`);
    }
}

const gardens = handler(Garden, { track: { enabled: true } });

export default {
    // The package finds its actors by the first part of a path, its sockets by the whole.
    async fetch(request: Request, env: any, ctx: ExecutionContext) {
        const url = new URL(request.url);
        if (!url.pathname.endsWith('/socket')) return gardens.fetch!(request as any, env, ctx);
        const garden = Garden.get(url.pathname.split('/')[1]) as any;
        return garden.fetch(new Request('http://garden/socket', request));
    },
};
