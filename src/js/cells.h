/* js/cells.h: cells in V8: the code of the cells of a shard. runtime.md 1.3, 2; services.md 1.3.
 *
 * A cell runs in a worker of its script that hosts cells, many in one isolate, from its start to its stop.
 * Everything that it starts hangs on one js_event, which lasts as long: operations outlive the delivery that
 * began them, and every delivery may use what another one made (runtime.md 2.6, 2.7). The input gate is the
 * prelude's (runtime/gate.js): completed operations, timers, frames and calls pass it in the order of their
 * arrival. The output gate is that of src/cell: js_effect_* below is how a host function waits for it.
 *
 * Everything is called on the loop of the shard, outside of fibers. */
#ifndef JS_CELLS_H
#define JS_CELLS_H

#include "cell/cell.h"
#include "js/worker_internal.h"

struct js_cell;
struct js_cells;
struct js_site;

/* ---- For the shard ---- */

struct js_cells_opts {
    struct io *io;
    uint64_t deploy_max_age_ns; /* How long a cell may stay with a site that was replaced; 0: not at all. */
};
struct js_cells *js_cells_new(const struct js_cells_opts *opts);
/* Closes the hibernatable WebSockets of its cells: their clients see 1012. */
void js_cells_hang_up(struct js_cells *h);
/* When its shard is closed and its cells have been stopped. Closes what WebSockets are left. */
void js_cells_free(struct js_cells *h);
/* The table for cell_shard_new; its argument is the struct js_cells. */
const struct cell_code *js_cells_code(void);
/* Cells that start from now on run the code of site; NULL: none can start. Those that run move when they are
 * idle: they are evicted, and start again with their next event. After deploy_max_age_ns they are reset. A
 * site may be closed (js_site_close) as soon as another one has taken its place: it waits for its cells. */
void js_cells_serve(struct js_cells *h, struct js_site *site);

/* ---- For host functions ---- */

struct js_cell *js_cell_of(struct js_event *e); /* NULL: the event is not a cell's. */
struct cell *js_cell_cell(const struct js_cell *c);
/* Its end was decided: nothing may be delivered to it any more. */
bool js_cell_ends(const struct js_cell *c);
/* The cell whose event's id is an argument; throws when it has ended. What it has written when the turn ends
 * is committed then, so host functions of storage find their cell by this. */
CD_MUST_USE int js_arg_cell(struct js_args *a, unsigned index, struct js_cell **out);
/* Why its wires are closed when its event ends: NULL, or of a reset. */
const struct cell_close *js_cell_close(const struct js_cell *c);

/* Before a host function does what the world can see: commits what the event's cell has written, so that the
 * effect is stamped behind it. Throws what is wrong with that: then the effect must not happen. Events that
 * are not a cell's pass both functions at once. runtime.md 2.5. */
CD_MUST_USE int js_effect_begin(struct js_args *a, struct js_event *e);
/* js_async_begin behind js_effect_begin, for its event. */
CD_MUST_USE int js_effect_async(struct js_args *a, struct js_async *s, void (*cancel)(struct js_async *s));
/* An operation that is such an effect. Zeroed is idle. */
struct js_effect {
    struct cell_held held;
    struct io *io;
    struct io_op *op;
    io_done_fn *done;
    void (*go)(struct js_effect *x); /* Submits op with done. */
    bool waiting; /* For the proof. */
};
/* go comes when what the event's cell wrote is proven, maybe from inside the call; if it never is, op
 * completes with CD_ECLOSED. */
void js_effect_start(struct js_effect *x, struct js_event *e, struct io_op *op, io_done_fn *done,
                     void (*go)(struct js_effect *x));
/* io_cancel, also of one that waits. */
void js_effect_cancel(struct js_effect *x);

/* ---- For the worker ---- */

/* Something of the cell ran in the turn; no effect on other events. */
void js_cell_touch(struct js_event *e);
/* The isolate ends, or is not to be trusted, and with it the event: what the ends of its wires say when they
 * close, if it is a cell. */
void js_cell_ending(struct js_event *e, const char *why);
/* After each turn: commits what cells wrote in it, notes which are active, resets the one that said so. */
void js_cells_turn_end(struct js_worker *w);

#endif
