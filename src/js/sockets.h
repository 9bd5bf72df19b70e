/* js/sockets.h: WebSockets as JavaScript holds them: a handle for each, over http/ws.h. runtime.md 5.5.
 *
 * JavaScript hears of what comes through the prelude's socket(handle, kind, ...), one turn for each message.
 * A socket belongs to an event and is cut when that ends. */
#ifndef JS_SOCKETS_H
#define JS_SOCKETS_H

#include "http/ws.h"
#include "js/worker_internal.h"

/* What the sockets of a worker share; made with the first of them, owned by the worker. */
struct js_sockets;
struct http_ws_host *js_sockets_host(struct js_worker *w);
struct http_client *js_sockets_client(struct js_worker *w);
/* Once, when the worker closes and its events have ended: js_async_end of the worker follows. */
void js_sockets_stop(struct js_worker *w);

/* Takes an open, parked socket: its handle. Nothing is read before ws_listen(handle). */
uint64_t js_socket_new(struct js_worker *w, struct js_event *event, struct http_ws *ws);

#endif
