/* cell/gate.h: the output gate of a cell. runtime.md 2.5, fleet.md 6.8.
 *
 * It holds each effect back until the newest commit of the cell that it could reveal is proven. The input
 * gate is src/js/runtime/gate.js. */
#ifndef CELL_GATE_H
#define CELL_GATE_H

#include "base/buf.h"
#include "base/list.h"

struct cell;

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

#endif
