// Chat rooms whose sockets outlive their server in memory, and a room of cursors that is held in memory while it has sockets.
import { type Connection, type ConnectionContext, getServerByName, routePartykitRequest, Server, type WSMessage } from 'partyserver';

type Person = { name: string; said: number };

export class Chat extends Server {
    static options = { hibernate: true };

    life = crypto.randomUUID();

    onStart() {
        this.sql`CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, author TEXT NOT NULL, body TEXT NOT NULL)`;
        this.sql`CREATE TABLE IF NOT EXISTS lives (id TEXT PRIMARY KEY)`;
        this.sql`INSERT INTO lives VALUES (${this.life})`;
    }

    getConnectionTags(_connection: Connection, { request }: ConnectionContext) {
        return new URL(request.url).searchParams.has('moderator') ? ['moderator'] : [];
    }

    onConnect(connection: Connection<Person>, { request }: ConnectionContext) {
        const name = new URL(request.url).searchParams.get('name')!;
        connection.setState({ name, said: 0 });
        connection.send(JSON.stringify({ room: this.name, history: this.history() }));
        this.broadcast(JSON.stringify({ joined: name }), [connection.id]);
    }

    async onMessage(connection: Connection<Person>, message: WSMessage) {
        if (typeof message !== 'string') {
            connection.send(new Uint8Array(message as ArrayBuffer).reverse());
            return;
        }
        if (message === '/life') return connection.send(this.life);
        if (message === '/quit') return connection.close(4001, 'as you wish');
        if (message === '/fail') throw new Error('a message that fails');
        const { name, said } = connection.setState(({ name, said }) => ({ name, said: said + 1 }))!;
        this.sql`INSERT INTO messages (author, body) VALUES (${name}, ${message})`;
        this.broadcast(JSON.stringify({ name, said, message }));
    }

    onClose(connection: Connection<Person>, code: number, reason: string) {
        this.broadcast(JSON.stringify({ left: connection.state!.name, code, reason }), [connection.id]);
    }

    async onRequest(request: Request) {
        if (request.method === 'POST') {
            await this.ctx.storage.setAlarm(Date.now() + 300);
            return new Response(null, { status: 202 });
        }
        const names = (tag?: string) => [...this.getConnections<Person>(tag)].map(({ state }) => state!.name).sort();
        const [{ lives }] = this.sql`SELECT count(*) AS lives FROM lives` as { lives: number }[];
        return Response.json({ history: this.history(), here: names(), moderators: names('moderator'), lives });
    }

    onAlarm() {
        this.broadcast(JSON.stringify({ alarm: this.name }));
    }

    announce(text: string) {
        this.broadcast(JSON.stringify({ announcement: text }));
        return [...this.getConnections()].length;
    }

    history() {
        return this.sql`SELECT author, body FROM messages ORDER BY id`.map(({ author, body }: any) => `${author}: ${body}`);
    }
}

export class Cursors extends Server {
    places = new Map<string, string>();

    onConnect(connection: Connection) {
        connection.send(JSON.stringify(Object.fromEntries(this.places)));
    }

    onMessage(connection: Connection, message: WSMessage) {
        this.places.set(connection.id, String(message));
        this.broadcast(`${connection.id} at ${message}`, [connection.id]);
    }

    onClose(connection: Connection) {
        this.places.delete(connection.id);
        this.broadcast(`${connection.id} is gone`);
    }
}

export default {
    async fetch(request: Request, env: { CHAT: DurableObjectNamespace<Chat> }) {
        const url = new URL(request.url);
        const [, verb, room] = url.pathname.split('/');
        if (verb === 'announce') {
            const chat = await getServerByName(env.CHAT, room);
            return Response.json({ reached: await chat.announce(await request.text()) });
        }
        const answer = await routePartykitRequest(request, env as any, {
            cors: true,
            onBeforeConnect: (request) => (new URL(request.url).searchParams.has('name') || request.url.includes('cursors')
                ? undefined
                : new Response('who are you?', { status: 401 })),
        });
        return answer ?? new Response('no such room', { status: 404 });
    },
};
