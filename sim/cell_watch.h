/* sim/cell_watch.h: tells the observers of cells (cell_truth.h) of every change of the simulated bucket. */
#ifndef SIM_CELL_WATCH_H
#define SIM_CELL_WATCH_H

#include "io_sim/sim_store.h"
#include "sim/cell_truth.h"

struct cell_watch {
    struct sim *sim;
    struct cell_truth *truth;
};
/* From now on; before anything writes to the bucket. w and t must outlive the simulation. */
void cell_watch(struct cell_watch *w, struct sim *sim, struct cell_truth *t);

#endif
