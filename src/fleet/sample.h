/* fleet/sample.h: the leases of all nodes as somebody listed them a moment ago, shared by the fleet in one
 * object: fleet/capacity-v1.json. fleet.md 2.6, 9.8; who takes a new cell: 4.6; who gives cells away: 9.9.
 *
 * Advisory: placement and balancing rest on it, and nothing that must be true does. On the control loop, in
 * fibers; the choices are functions of plain values. */
#ifndef FLEET_SAMPLE_H
#define FLEET_SAMPLE_H

#include "fleet/claim.h"
#include "fleet/drain.h"

#define FLEET_SAMPLE_KEY "fleet/capacity-v1.json"
#define FLEET_SAMPLE_MAX 256u /* Nodes. */

struct fleet_sampled {
    struct store_lease lease;
    bool live; /* At the instant of the sample, by the clock of who made it. */
    /* Ours, until the node has sampled itself anew. */
    uint64_t reserved; /* Cells that were sent there. */
    bool refused; /* It had no room. */
};

struct fleet_sample {
    struct io *io; /* In, with all up to ttl_ms; borrowed. */
    struct io_bucket *bucket;
    const struct fleet_self *self;
    uint64_t interval_ms; /* How old it may be. */
    uint64_t ttl_ms; /* Of leases. */
    int64_t started_ms; /* Out: when it was made; 0: there is none. */
    unsigned count; /* Out */
    struct fleet_sampled *node; /* Out; owned */
};
void fleet_sample_deinit(struct fleet_sample *s);
bool fleet_sample_fresh(const struct fleet_sample *s); /* No read is needed. */
/* In a fiber, one at a time: reads the object, makes a new one when its turn has come. IO_OK: s is fresh, or
 * what another node's refresh is about to replace. Else there is none that may be used, and s->count is 0. */
CD_MUST_USE int fleet_sample_read(struct fleet_sample *s);

/* Where a cell of nobody's may go that has no room here, by the order of 4.6; counts it as reserved. NULL: to
 * nobody. */
struct fleet_sampled *fleet_sample_place(struct fleet_sample *s);
/* The node of that session had no room: not again before its next sample of itself. */
void fleet_sample_refused(struct fleet_sample *s, struct cd_str session);

/* Whether this node gives dormant cells away, and to whom: the receivers with their room, in out. owned: what
 * this node owns now. Returns how many cells; 0: none. ceiling: CELLD_ACTIVATIONS. */
#define FLEET_BALANCE_BATCH 32u
unsigned fleet_sample_surplus(struct fleet_sample *s, uint64_t owned, uint64_t ceiling,
                              struct fleet_receiver out[FLEET_RECEIVERS_MAX], unsigned *count);
/* One cell went there. */
void fleet_sample_gave(struct fleet_sample *s, struct cd_str session);

#endif
