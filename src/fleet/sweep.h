/* fleet/sweep.h: maintenance over the leases of a fleet: dead sessions are finished and cleaned up (fleet.md
 * 7.2 mode sweep, 7.6, 7.9), and their leases end (7.10). On the control loop. */
#ifndef FLEET_SWEEP_H
#define FLEET_SWEEP_H

#include "fleet/claim.h"

struct log_recoverer;

struct fleet_sweep {
    struct io *io; /* In */
    struct io_bucket *bucket; /* In */
    const struct fleet_self *self; /* In */
    struct log_recoverer *recoverer; /* In */
    const bool *role; /* In: whether this node ends leases (the role of the waker). NULL: it does not. */
    /* Lease objects of which nothing is left to do now, as they were listed: key -> struct fleet_swept. */
    struct cd_map done;
    uint64_t strays_ns; /* When node-cells/ is looked at next. */
};
void fleet_sweep_deinit(struct fleet_sweep *s);

/* In a fiber: one look at every lease but our own. IO_CANCELED, or IO_OK: what did not work is tried by the
 * next pass. */
CD_MUST_USE int fleet_sweep_pass(struct fleet_sweep *s);
/* In a fiber, once our own lease is held: cleans up what earlier sessions of this node id have left (7.9).
 * Each is finished, since our lease is over it. */
CD_MUST_USE int fleet_sweep_own(struct fleet_sweep *s);
/* In a fiber, when our own record is absent: IO_OK when no earlier session of this node id has a log that
 * nobody finished (7.1); else CD_ECORRUPT, and why names it. */
CD_MUST_USE int fleet_sweep_before_create(struct fleet_sweep *s, struct cd_buf *why);

#endif
