#ifndef FLEET_FAKE_RECOVER_H
#define FLEET_FAKE_RECOVER_H

#include "log/recover.h"
#include "support/test.h"

struct fake_recoverer {
    enum log_recover_end end;
    uint64_t ns; /* How long it takes. */
    unsigned calls;
    void (*then)(void *arg, struct cd_str session); /* What it does to the bucket. */
    void *arg;
};

#endif
