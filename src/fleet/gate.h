/* fleet/gate.h: whether a node that starts may tell the world that it serves. fleet.md 9.6;
 * operations.md 5.11.
 *
 * Before the first "healthy" only: it keeps a rollout from going on while the fleet is short of memory, still
 * takes over what the last node gave away, or drains. Afterwards no state of the fleet takes readiness back.
 */
#ifndef FLEET_GATE_H
#define FLEET_GATE_H

#include "fleet/claim.h"

/* What was read: all leases, the token, and what the last drain found. */
struct fleet_gate_facts {
    const struct fleet_self *self;
    const struct store_lease *lease; /* With our own. */
    unsigned leases;
    int64_t now_ms;
    bool drained; /* Another node has the token. */
    const struct fleet_gate_baseline { /* Of the last token. */
        char node[STORE_NODE_MAX + 1];
        uint64_t restoring;
    } *baseline;
    unsigned baselines;
    uint64_t owned; /* Ours. */
    uint64_t activations; /* CELLD_ACTIVATIONS */
};
/* NULL: it may; else what it waits for, a literal. *successor: it takes less than the busiest has, so counts
 * of cells did not matter. */
const char *fleet_gate_closed(const struct fleet_gate_facts *f, bool *successor);

struct fleet_gate {
    struct io *io; /* In, with all of these; borrowed. */
    struct io_bucket *bucket;
    const struct fleet_self *self;
    uint64_t owned, activations;
};
/* In a fiber: one look. IO_OK: *why is NULL, or what it waits for. Any other status: the fleet could not be
 * read. */
CD_MUST_USE int fleet_gate_look(const struct fleet_gate *g, const char **why, bool *successor);

#endif
