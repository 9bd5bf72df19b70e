/* js/cell_splice.h: WebSockets of clients whose other end is a cell, without JavaScript in between.
 *
 * A Worker that answers a client with the socket of a cell has nothing more to do with it: its event ends,
 * and what the client sends goes to the cell's wire as it is (js/wire_format.h), and back. Such sockets
 * belong to the loop that accepted them, so a new deployment does not cut them. runtime.md 5.5;
 * services.md 1.8. */
#ifndef JS_CELL_SPLICE_H
#define JS_CELL_SPLICE_H

#include "io/io.h"

struct cell_wire;
struct http_ws;
struct http_ws_host;
struct js_splices;

/* One for each loop that accepts clients; given to its sites (js_site_opts.splices). */
struct js_splices *js_splices_new(struct io *io);
/* Closes all sockets with 1012, cuts those that have not ended after grace_ns. done comes when none is left,
 * and s is freed. Once; the sites have been closed before. */
void js_splices_stop(struct js_splices *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done);

/* Where the sockets are to be accepted. */
struct http_ws_host *js_splices_host(struct js_splices *s);
/* Joins an open socket of that host that nobody listens to with the caller's end of a wire that nobody is
 * attached to; both are taken over. */
void js_splice(struct http_ws *ws, struct cell_wire *wire);

#endif
