/* js/cells.h: cells in V8: the code of the cells of a site. runtime.md 1.3, 2; services.md 1.3.
 *
 * A cell worker is a worker of a script that hosts cells, many in one isolate. Everything that a cell starts
 * hangs on one js_event from the cell's start to its stop: operations outlive the delivery that began them,
 * and every delivery of the cell may use what another one made (runtime.md 2.6, 2.7). The input gate is the
 * prelude's (runtime/gate.js): completed operations, timers, frames and calls pass it in the order in which
 * they arrive. The output gate is src/cell's; js_effect() is how a host function waits for it.
 *
 * Everything is called on the loop of the site, outside of fibers. */
#ifndef JS_CELLS_H
#define JS_CELLS_H

#include "js/worker_internal.h"

struct cell;
struct js_cell;
struct js_site;

/* The code of a site's cells for src/cell: a struct cell_code whose argument is the struct js_site. */
struct cell_code;
const struct cell_code *js_cell_code(void);

/* ---- For host functions ---- */

/* The cell that an event is of; NULL: it is no cell's. */
struct js_cell *js_cell_of(struct js_event *e);
/* The cell whose event's id is an argument; throws when it has ended. Whatever the cell has written when the
 * turn ends is committed then. */
CD_MUST_USE int js_arg_cell(struct js_args *a, unsigned index, struct js_cell **out);
struct cell *js_cell_cell(struct js_cell *c);

/* Something that the world will see: it happens when all that its cell has written is proven. runtime.md 2.5.
 */
struct js_effect {
    void (*go)(struct js_effect *x, int status);
    struct js_event *event;
};

#endif
