// Documents that several people write at once. What each update adds is stored when they pause.
import { type Connection, routePartykitRequest } from 'partyserver';
import { YServer } from 'y-partyserver';
import * as Y from 'yjs';

export class Document extends YServer {
    static options = { hibernate: true };
    static callbackOptions = { debounceWait: 100, debounceMaxWait: 500 };

    async onLoad() {
        this.sql`CREATE TABLE IF NOT EXISTS documents (id TEXT PRIMARY KEY, state BLOB, loads INTEGER NOT NULL DEFAULT 0)`;
        this.sql`INSERT INTO documents (id, loads) VALUES (${this.name}, 1) ON CONFLICT (id) DO UPDATE SET loads = loads + 1`;
        const [{ state }] = this.sql`SELECT state FROM documents WHERE id = ${this.name}` as { state: ArrayBuffer | null }[];
        if (state !== null) Y.applyUpdate(this.document, new Uint8Array(state));
    }

    async onSave() {
        const state = Y.encodeStateAsUpdate(this.document);
        this.sql`UPDATE documents SET state = ${state as any} WHERE id = ${this.name}`;
    }

    onCustomMessage(connection: Connection, message: string) {
        if (message === 'who') this.sendCustomMessage(connection, String(this.document.awareness.getStates().size));
        else this.broadcastCustomMessage(message, connection);
    }

    onRequest() {
        const [{ loads, bytes }] = this.sql`SELECT loads, length(state) AS bytes FROM documents` as { loads: number; bytes: number }[];
        return Response.json({ text: this.document.getText('body').toString(), list: this.document.getArray('list').toJSON(), loads, bytes });
    }
}

export default {
    async fetch(request: Request, env: object) {
        return (await routePartykitRequest(request, env as any)) ?? new Response(null, { status: 404 });
    },
};
