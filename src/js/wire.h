/* js/wire.h: ends of wires (cell/wire.h) in JavaScript's hands. docs/rpc.md, "Wires".
 *
 * The prelude knows an end by the number of its handle and speaks to it with wire_send and wire_close; what
 * comes reaches its function wire(). Everything is called on the worker's loop, outside of fibers. */
#ifndef JS_WIRE_H
#define JS_WIRE_H

#include "js/worker_internal.h"

struct cell_wire;

/* A call has come for the cell whose event is e: from now on w is the event's, and the prelude serves it
 * (runtime/wire_session.js). It is closed with the event, for the reason that js_cell_close gives. */
void js_wire_attach(struct js_event *e, struct cell_wire *w);
/* Takes the end whose number is an argument out of JavaScript's hands, with nothing attached to it. NULL: it
 * is closed. */
struct cell_wire *js_wire_take(struct js_args *a, unsigned index);
void js_wire_drop(struct cell_wire *w); /* Closes one that was taken. */

#endif
