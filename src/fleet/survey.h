/* fleet/survey.h: what `celld diagnose` finds out about a bucket and the nodes that use it. fleet.md 10.6,
 * operations.md 1.5.
 *
 * Takes no lease and changes nothing but what the storage test writes and deletes under probe/. Each finding
 * is told at once, in its order. */
#ifndef FLEET_SURVEY_H
#define FLEET_SURVEY_H

#include "io/io.h"

enum fleet_finding { FLEET_FINDING_OK, FLEET_FINDING_FAIL, FLEET_FINDING_SKIP };

struct fleet_survey {
    struct io *io; /* In, all of these; borrowed for the call. */
    struct io_bucket *bucket;
    struct cd_str bucket_name; /* "s3://NAME/PREFIX" */
    bool read_only; /* Not the storage test. */
    bool public_ok; /* CELLD_UNSAFE_PUBLIC_ADVERTISE */
    const struct cd_str *peer; /* Node ids; none: all that have a lease. */
    unsigned peers;
    /* detail may be empty. The texts are good during the call. */
    void (*found)(void *arg, enum fleet_finding what, struct cd_str subject, struct cd_str detail);
    void *arg;
    unsigned failed_peers; /* Out. */
};

/* In a fiber. IO_OK: the survey is complete, with failed_peers of it; else why it is not. */
CD_MUST_USE int fleet_survey(struct fleet_survey *s, struct cd_buf *why);

#endif
