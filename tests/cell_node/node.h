/* tests/cell_node/node.h: a whole node on the simulator (lease, log, folder, recovery, waker, two shards)
 * whose cells are counters in C, and callers on its control loop. One at a time. */
#ifndef CELL_NODE_NODE_H
#define CELL_NODE_NODE_H

#include "cell/cell.h"
#include "fleet/node.h"
#include "io_sim/io_sim.h"
#include "io_sim/sim_store.h"
#include "support/test.h"

#define NODE_LOOPS 3
#define NODE_CALLS_MAX 4096

struct node_call {
    struct cell_wire *wire;
    char scope[64], text[64];
    bool answered, closed;
    int64_t value;
    char why[160];
};

struct node {
    struct sim *sim;
    struct sim_node *node;
    struct cell_limits limits;
    uint64_t fold_rows; /* Unfolded rows of a cell that start a fold; 0: as usual. */
    struct node_call call[NODE_CALLS_MAX];
    unsigned calls;
    /* Of the life at hand. */
    struct cell_router *router;
    struct fleet_node *fleet;
    struct cell_shard *shard[NODE_LOOPS];
    unsigned shards; /* That are there. */
    bool ready, stopped, ending;
    struct io_op shard_op[NODE_LOOPS], fleet_op;
    struct io_msg gone[NODE_LOOPS];
    char halt[160];
    unsigned starts, alarms, alive; /* Over all lives; alive: instances now. */
    char name[32]; /* Of the cell whose alarm ran last. */
    uint64_t epoch; /* Of the cell that started last. */
};
extern struct node node;

void node_open(const struct sim_opts *opts);
void node_ready(void); /* Runs until it serves. */
void node_crash(enum sim_crash how);
void node_restart(bool wipe);
void node_stop(void); /* Gracefully; then the process ends. */
void node_free(void);
void node_run(unsigned ms);

/* "get", "add N", "alarm MS". */
struct node_call *node_send(const char *scope, const char *text);
/* The answer, asked again until there is one. */
int64_t node_ask(const char *scope, const char *text);
void node_evict(const char *scope);
unsigned node_keys(const char *prefix); /* How many objects the bucket has below it. */

#endif
