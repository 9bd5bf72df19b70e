/* fleet/waker.h: finds alarms that no live owner's timer holds, and removes what is settled.
 * fleet.md 8.3, 8.4.
 *
 * One pass per tick, on the control loop. It only makes somebody look: a cell's database alone says whether
 * an alarm is due. Nothing here is deleted unless a retirement record settles it. */
#ifndef FLEET_WAKER_H
#define FLEET_WAKER_H

#include "fleet/claim.h"
#include "store/wake.h"

#define FLEET_PACKS_BYTES (64u << 20) /* Of open packs in memory; beyond it they are read again. */

struct fleet_waker {
    struct io *io; /* In */
    struct io_bucket *bucket; /* In */
    const struct fleet_self *self; /* In */
    uint64_t tick_ms; /* In: how often a pass comes. */
    void (*hint)(void *arg, struct cd_str scope); /* In */
    void *arg;
    /* The waker's. */
    bool holds_role; /* Responsible for the cells of nobody, too. Advisory. */
    struct cd_map packs; /* Open ones: key -> struct fleet_pack. */
    uint64_t pack_bytes;
    struct cd_buf cursor; /* Of the collector over the entries. */
};
void fleet_waker_deinit(struct fleet_waker *w);
/* In a fiber: IO_OK or IO_CANCELED. What did not work is tried by the next pass. */
CD_MUST_USE int fleet_waker_pass(struct fleet_waker *w);

/* What an owner tells of its own alarms. */

/* In a fiber of any loop: puts the entry that speaks for an armed alarm of a cell that is about to be
 * released (8.3). IO_OK: confirmed. */
CD_MUST_USE int fleet_wake_entry(struct io *io, struct io_bucket *bucket, const struct store_alarm *a);
/* In a fiber of any loop: retires every entry and item below identity, or up to it when nothing is armed. The
 * caller knows that this state is proven, and carried by a row or note of its epoch (8.3 steps 1 and 2).
 * IO_OK also when a later state was retired already. CD_ECORRUPT: the same identity was retired with another
 * time, which cannot be. Any other status: ask again later. */
CD_MUST_USE int fleet_wake_retire(struct io *io, struct io_bucket *bucket, struct cd_str scope,
                                  const struct store_wake_retired *state);

#endif
