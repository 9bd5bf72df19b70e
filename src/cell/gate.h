/* cell/gate.h: the two gates of a cell. runtime.md 2.3 to 2.5, fleet.md 6.8.
 *
 * The output gate holds each effect back until the newest commit of the cell that it could reveal is proven.
 * The input gate lets only one event's deliveries reach the cell while that event holds it. */
#ifndef CELL_GATE_H
#define CELL_GATE_H

#include "base/buf.h"
#include "base/list.h"

struct cell;

/* ---- Output ---- */

struct cell_held;
/* 0: let it go. CD_ECLOSED: never; the gate failed or the node is fenced, why says it (borrowed). Releasing
 * h's memory in here is fine. */
typedef void cell_held_fn(struct cell_held *h, int status, struct cd_str why);

/* Embedded in what waits. Zeroed is idle. */
struct cell_held {
    struct cd_link link;
    uint64_t stamp;
    cell_held_fn *done;
};

/* Commits what the code has written so far, so that effects are stamped behind it. To be called at the end of
 * each turn, and before an effect where an error can still be thrown: CD_EINVAL with a text for an Error in
 * why (an unfinished write cursor), else a code of the storage; the cell is reset by itself where it must be.
 */
CD_MUST_USE int cell_flush(struct cell *c, struct cd_buf *why);
/* Flushes; the position that an effect produced now depends on. 0: nothing of this residence. */
uint64_t cell_stamp(struct cell *c);
/* Runs done once the position of now is proven: at once, from inside this call, when nothing is unproven,
 * else from the loop, in the order of the calls. The cell counts as active meanwhile. */
void cell_gate(struct cell *c, struct cell_held *h, cell_held_fn *done);
void cell_gate_cancel(struct cell_held *h); /* done will not come. No effect on an idle one. */
/* Fleet.md 6.8: nothing leaves by mistake what is not proven. For assertions on the second path. */
bool cell_proven(const struct cell *c, uint64_t stamp);

/* ---- Input ---- */

#define CELL_INPUT_NEST_MAX 64u

/* event is a name, compared and never followed: whoever works for the same event gives the same one. */
struct cell_waiter;
typedef void cell_waiter_fn(struct cell_waiter *w, int status); /* 0, or CD_ECLOSED: the cell stops. */
struct cell_waiter {
    struct cd_link link;
    const void *event;
    cell_waiter_fn *done;
};

/* Whether a delivery of this event may enter now. */
bool cell_input_open_for(const struct cell *c, const void *event);
/* Takes the gate, or nests. IO_BUSY: another event has it. CD_ETOOBIG: nested 64 deep. */
CD_MUST_USE int cell_input_enter(struct cell *c, const void *event);
void cell_input_leave(struct cell *c, const void *event);
void cell_input_abandon(struct cell *c,
                        const void *event); /* The event died: its hold ends, however nested. */
/* done comes once the gate lets the event in, in the order of the calls, from the loop; one per cell and
 * round, so that cells of a shard take turns. done may enter the gate; the rest then waits on. */
void cell_input_wait(struct cell *c, struct cell_waiter *w, const void *event, cell_waiter_fn *done);
void cell_input_cancel(struct cell_waiter *w); /* done will not come. No effect on an idle one. */

#endif
