/* cell/pressure.h: whether a node has too much in memory, and how many cells it lets go of. fleet.md 4.10.
 *
 * Pure values: cell/keeper.c samples once a second, asks here, and tells the shards. Evicting cells frees
 * memory only when it was cells that took it. So cells go in cuts of a tenth, and after a cut the next one
 * follows only if what came back so far says that the rest can suffice; else the node keeps what it has and
 * admits nobody (the futility stop). */
#ifndef CELL_PRESSURE_H
#define CELL_PRESSURE_H

#include "io/io.h"

/* Watermarks in bytes; 0: none. What engaged at one holds until 80 % of it. */
struct cell_marks {
    uint64_t high; /* Of the larger one of in use and control group. */
    uint64_t hard; /* Of the raw resident size. */
};
/* high_mib: CELLD_MAX_RSS_MB, 0 turns both off; CELL_HIGH_DEFAULT: 80 % of what there is. */
#define CELL_HIGH_DEFAULT UINT64_MAX
struct cell_marks cell_marks_of(uint64_t high_mib, const struct io_usage *u);

uint64_t cell_in_use(const struct io_usage *u); /* Without what the allocator holds back. */

struct cell_pressure {
    struct cell_marks marks; /* In. */
    bool memory, hard; /* The latches. */
    /* The last cut; none: false. */
    bool cut, by_rss; /* by_rss: the sample was the resident size. */
    uint64_t sample, occupied;
    uint64_t floor; /* Cells that may stay, when cut. */
};

/* One sample. occupied: cells with a slot, those that are on their way out included. Afterwards p->floor says
 * how many are to stay; without a latch: as many as there are. */
void cell_pressure_step(struct cell_pressure *p, const struct io_usage *u, uint64_t occupied);
const char *cell_pressure_reason(const struct cell_pressure *p); /* "rss-hard", "memory"; NULL: no latch. */
bool cell_headroom(const struct cell_marks *m,
                   const struct io_usage *u); /* All below their low watermarks. */

#endif
