// Chat rooms over WebSockets: connect to /ROOM?name=NAME, send text, hear what everybody says.
// A room that nobody speaks in leaves memory; its sockets stay open, and the next message brings it back.
import { DurableObject } from 'cloudflare:workers';

const HISTORY = 20;

export class Room extends DurableObject {
    constructor(ctx, env) {
        super(ctx, env);
        // Runs again whenever the room comes back to memory: what has to last is in storage, or attached to a socket.
        ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS lines (id INTEGER PRIMARY KEY, line TEXT NOT NULL)');
        // Answered without waking the room.
        ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
    }

    fetch(request) {
        const name = new URL(request.url).searchParams.get('name') ?? 'somebody';
        const [client, server] = Object.values(new WebSocketPair());
        this.ctx.acceptWebSocket(server); // Not server.accept(): that would keep the room in memory.
        server.serializeAttachment({ name });
        const last = this.ctx.storage.sql.exec('SELECT line FROM lines ORDER BY id DESC LIMIT ?', HISTORY).toArray();
        for (const { line } of last.reverse()) server.send(line);
        this.tell(`* ${name} has joined`);
        return new Response(null, { status: 101, webSocket: client });
    }

    webSocketMessage(ws, message) {
        const { name } = ws.deserializeAttachment();
        const line = `${name}: ${message}`;
        this.ctx.storage.sql.exec('INSERT INTO lines (line) VALUES (?)', line);
        this.tell(line); // Leaves when the line above cannot be lost any more.
    }

    webSocketClose(ws) {
        this.tell(`* ${ws.deserializeAttachment().name} has left`, ws);
    }

    tell(line, except) {
        for (const ws of this.ctx.getWebSockets()) if (ws !== except) ws.send(line);
    }
}

export default {
    fetch(request, env) {
        if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
            return new Response('Connect with a WebSocket to /ROOM?name=NAME.\n', { status: 426, headers: { upgrade: 'websocket' } });
        }
        const room = new URL(request.url).pathname.slice(1) || 'lobby';
        return env.ROOMS.getByName(room).fetch(request);
    },
};
