/* fleet/finish.h: asks the control loop to finish a dead session (fleet.md 7.1), from any loop. */
#ifndef FLEET_FINISH_H
#define FLEET_FINISH_H

#include "log/recover.h"

struct fleet_finish {
    struct io *io; /* In: the loop of the calling fiber. */
    struct log_recoverer *recoverer; /* In: lives on loop 0. */
    struct cd_str session; /* In */
    enum log_recover_mode mode; /* In */
    uint64_t deadline_ns; /* In */
    enum log_recover_end end; /* Out */
    char why[320]; /* Out */
};
/* In a fiber. IO_OK: end says what happened. IO_CANCELED: the recovery goes on without us. */
CD_MUST_USE int fleet_finish(struct fleet_finish *f);

#endif
