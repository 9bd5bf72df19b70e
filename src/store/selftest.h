/* store/selftest.h: whether a bucket keeps the promises that celld rests on (fleet.md 3.7,
 * operations.md 3.2). Every node runs it before it serves; it cannot be switched off. */
#ifndef STORE_SELFTEST_H
#define STORE_SELFTEST_H

#include "io/io.h"

enum store_verdict {
    STORE_CONFORMANT,
    STORE_VIOLATION, /* Refuse to start. */
    STORE_AMBIGUOUS, /* Three attempts ended in transport failures: start with a warning. */
};

struct store_selftest {
    bool ranges; /* In: also the ranged read. */
    enum store_verdict verdict; /* Out, with what follows for people when it is not STORE_CONFORMANT: */
    const char *which; /* "create", "reject-create", "update", "reject-stale" or "exact range". */
    char why[280];
    int status; /* Of the op that decided; IO_DENIED suggests --read-only. */
    unsigned attempts;
};

/* In a fiber, on lane IO_LANE_CONTROL: IO_OK with a verdict, or IO_CANCELED. Its objects are under probe/
 * with fresh names for each attempt, and are deleted on every path; after a cancel a fiber of its own does
 * that. */
int store_selftest_run(struct io *io, struct io_bucket *b, struct store_selftest *t);

#endif
