/* fleet/finish.h: finishing dead sessions (fleet.md 7.1) on the control loop, asked for from any loop. */
#ifndef FLEET_FINISH_H
#define FLEET_FINISH_H

#include "log/recover.h"

/* Of the control loop; other loops only carry the pointer. */
struct fleet_finisher {
    struct io *io;
    struct log_recoverer *recoverer;
    int (*recover)(struct log_recoverer *rr, struct log_recover *r); /* log_recover; tests put another one. */
    struct cd_list running; /* What other loops asked for. */
    struct io_op *stop; /* Of fleet_finisher_stop. */
    bool stopped;
};
void fleet_finisher_init(struct fleet_finisher *f, struct io *io, struct log_recoverer *recoverer);
/* Cancels what runs for other loops, and refuses what comes. Nothing runs when done comes. */
void fleet_finisher_stop(struct fleet_finisher *f, struct io_op *op, io_done_fn *done);

struct fleet_finish {
    struct io *io; /* In: the loop of the calling fiber. */
    struct fleet_finisher *finisher; /* In */
    struct cd_str session; /* In */
    enum log_recover_mode mode; /* In */
    uint64_t deadline_ns; /* In */
    enum log_recover_end end; /* Out */
    char why[320]; /* Out */
};
/* In a fiber. IO_OK: end says what happened. IO_CANCELED: the recovery goes on without us. */
CD_MUST_USE int fleet_finish(struct fleet_finish *f);

#endif
