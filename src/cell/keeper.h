/* cell/keeper.h: keeps the memory of a node in bounds, from its control loop. fleet.md 4.10;
 * operations.md 7.6.
 *
 * Once a second it reads what the process uses and hears from every shard how many cells it has, decides for
 * the whole node (cell/pressure.h), and tells each shard its share. A shard that does not answer, because a
 * handler runs long there, is left out until it does. */
#ifndef CELL_KEEPER_H
#define CELL_KEEPER_H

#include "cell/cell.h"
#include "store/records.h"

struct cell_keeper;

struct cell_keeper_opts {
    struct io *io; /* The control loop. */
    struct cell_router *router; /* Outlives the keeper. */
    uint64_t high_mib; /* CELLD_MAX_RSS_MB, or CELL_HIGH_DEFAULT of cell/pressure.h. */
    bool release; /* CELLD_PRESSURE_OWNERSHIP=release */
    uint64_t weight; /* CELLD_PLACEMENT_WEIGHT; 0: not told. */
    /* On each shard's loop: WebSockets of clients that it has. NULL: not told. */
    unsigned (*sockets)(void *arg, unsigned loop);
    void *arg;
};

/* The last sample. */
struct cell_load {
    int64_t at_ms; /* Wall clock. */
    struct io_usage usage;
    uint64_t in_use; /* Of the resident size, without what the allocator holds back. */
    uint64_t cpu_percent_x100; /* Of the last second; IO_ABSENT before the second sample. */
    const char *shedding; /* "rss-hard", "memory"; NULL: there is no pressure. */
    bool headroom; /* Every measure is below its low watermark. */
    struct cell_tally cells; /* Of all shards, as each told last. */
    uint64_t sockets; /* The same. */
    bool confirmed; /* cells.owned is all that this node owns. */
};

/* Takes the first sample at once. */
struct cell_keeper *cell_keeper_new(const struct cell_keeper_opts *opts);
const struct cell_load *cell_keeper_load(const struct cell_keeper *k); /* Good until it is stopped. */
/* The same as the load block of a lease. What it does not know stays as it is. */
void cell_keeper_tell(const struct cell_keeper *k, struct store_load *out);
/* No sample follows. k is freed when done comes; the loops run until then. Once. */
void cell_keeper_stop(struct cell_keeper *k, struct io_op *op, io_done_fn *done);

#endif
