/* sim/cells_observe.h: the observers of cells (cell_truth.h) in a run: what they are fed with, and a run that
 * fails when they say so. */
#ifndef SIM_CELLS_OBSERVE_H
#define SIM_CELLS_OBSERVE_H

#include "cell/cell.h"
#include "sim/cells_life.h"
#include "sim/run.h"

struct cells_observe;
struct cells_observe *cells_observe_new(struct run *run); /* Before any node has booted. */
void cells_observe_free(struct cells_observe *o); /* After the simulation. */

/* A cell of a node, whose session that is, has just committed what it had to. */
void cells_observe_commit(struct cells_observe *o, struct cd_str session, struct cell *c);
void cells_observe_output(struct cells_observe *o, const struct cells_output *out);
/* The process of session (empty: it has none yet) has fenced itself, or is dead. */
void cells_observe_end(struct cells_observe *o, struct cd_str session, const char *cause);
void cells_observe_audit(struct cells_observe *o);
/* Whether the disk of node may be lost (cell_truth_spare). */
bool cells_observe_spare(struct cells_observe *o, const char *node, struct cd_buf *why);
bool cells_observe_holds(struct cells_observe *o, const char *node, uint64_t ago_ns); /* cell_truth_holds */

#endif
