/* fleet/authority.h: whether this process may own anything right now. fleet.md 4.1, S4, S5.
 *
 * The control loop renews the lease and writes here; every shard asks before it admits a request, fires an
 * alarm, starts an ownership write or releases an output. The deadline is that of the last lease write that
 * was applied, counted from before it was sent, so a process that was paused refuses by itself, before any
 * timer has run. */
#ifndef FLEET_AUTHORITY_H
#define FLEET_AUTHORITY_H

#include "base/cd.h"

/* Zeroed: no authority yet. One for a node, shared by its loops; outlives them. */
struct fleet_authority {
    _Atomic uint64_t deadline_ns; /* io_now_ns time. 0: none. */
    _Atomic bool fenced; /* For ever: only a new process may own again. */
    /* How far our wall clock was found to be ahead of the store's, beyond what is normal (4.4). It is added
     * to the expiry of every foreign lease. 0 too while it cannot be told. */
    _Atomic uint64_t ahead_ms;
};

/* Evaluated when asked, never kept: ask again after every await. */
static inline bool fleet_authoritative(const struct fleet_authority *a, uint64_t now_ns)
{
    if (CD_PLANT("fleet.authority_without_clock"))
        return a->deadline_ns != 0 && !a->fenced;
    return !a->fenced && now_ns < a->deadline_ns;
}

/* Of the control loop only. A fence is final: a grant after it changes nothing. */
void fleet_authority_grant(struct fleet_authority *a, uint64_t deadline_ns);
void fleet_authority_fence(struct fleet_authority *a);
void fleet_authority_clock(struct fleet_authority *a, uint64_t ahead_ms);

/* What of a wall clock that said sent_ms before a request is too much, when the store told date_ms in its
 * answer: the answer came later, and date_ms leaves out up to a second, so it is at least so far ahead. */
uint64_t fleet_clock_ahead(int64_t sent_ms, int64_t date_ms, uint64_t ttl_ms);

#endif
