/* sim/shrink.h: a failing scenario made small. simulation.md 9.
 *
 * Pure: whether a candidate still fails (by the same invariant) is asked of the caller, who runs it. A change
 * is kept exactly when the answer is yes, so the result fails as the first scenario did. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/scn.h"

struct shrink {
    /* Whether s fails as the scenario at hand does; when it does, *failed_at_ns is set to the time of the
     * failure. */
    bool (*fails)(void *arg, const struct scn *s, uint64_t *failed_at_ns);
    void *arg;
    unsigned tries_max; /* Runs at most. */
    uint64_t failed_at_ns; /* In: when the scenario at hand failed. Out: when the result does. */
    unsigned tries, kept; /* Out. */
};

/* Makes s smaller in place. s fails already. */
void shrink_run(struct shrink *k, struct scn *s);

#endif
