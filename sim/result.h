/* sim/result.h: what a run came to, and its form on the pipe from the process that ran it. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "base/buf.h"

/* Also the exit codes of celld-sim. simulation.md 5. */
enum run_code {
    RUN_PASS = 0,
    RUN_NOT_DETERMINISTIC = 2,
    RUN_SAFETY = 3,
    RUN_LIVENESS = 4,
    RUN_ASSERTION = 5,
    RUN_LEAK = 6,
    RUN_HARNESS = 7,
};
const char *run_code_text(enum run_code code);

#define RUN_INVARIANT_MAX 64

struct run_mark {
    char name[RUN_INVARIANT_MAX];
    uint64_t count;
};

/* Zeroed: a pass without a single event. */
struct run_result {
    enum run_code code;
    char invariant[RUN_INVARIANT_MAX]; /* What failed: "files.acked-lost", "liveness", "assertion"; empty for
                                          a pass. */
    struct cd_buf detail; /* owned; for people, may have several lines */
    uint64_t seed, failed_at_ns;
    uint64_t events, virtual_ns, hash;
    uint64_t boot_ns, cpu_ns; /* CPU time: of the fleet's boot, and of the whole run. Not part of the hash. */
    uint64_t *checkpoint; /* owned; the trace hash after each SIM_CHECKPOINT_EVENTS events */
    size_t checkpoints;
    struct run_mark *mark; /* owned */
    size_t marks;
};

void run_result_deinit(struct run_result *r);
/* Records a failure with its detail; the first one stays, because later ones may follow from it. */
void run_result_fail(struct run_result *r, enum run_code code, const char *invariant, uint64_t at_ns,
                     const char *format, ...) CD_PRINTF(5, 6);
void run_result_vfail(struct run_result *r, enum run_code code, const char *invariant, uint64_t at_ns,
                      const char *format, va_list args) CD_PRINTF(5, 0);

void run_result_write(struct cd_buf *out, const struct run_result *r);
/* CD_ESYNTAX when bytes are no whole result: its process ended before. r is zeroed then. */
CD_MUST_USE int run_result_read(struct run_result *r, struct cd_str bytes);

#endif
