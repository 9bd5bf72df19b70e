// A WebSocket that answers what it hears, in capitals, and says how many messages there were when asked to end.
export default {
    fetch(request) {
        if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
            return new Response('Connect with a WebSocket.\n', { status: 426, headers: { upgrade: 'websocket' } });
        }
        const [client, server] = Object.values(new WebSocketPair());
        let heard = 0;
        server.accept();
        server.addEventListener('message', ({ data }) => {
            heard++;
            if (data === 'bye') server.close(1000, `${heard} messages`);
            else if (typeof data === 'string') server.send(data.toUpperCase());
            else server.send(data); // Binary: as it came.
        });
        return new Response(null, { status: 101, webSocket: client });
    },
};
