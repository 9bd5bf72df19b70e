/* sim/report.h: what people read: progress, totals, failures and the last line. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "base/map.h"
#include "sim/result.h"

#define REPORT_FAILURES_MAX 50

struct report {
    const char *rev;
    uint64_t runs, passed, events, virtual_ns, cpu_ns, boot_ns_max;
    struct cd_map marks; /* name -> struct run_mark *, owned */
    struct run_result failure[REPORT_FAILURES_MAX]; /* owned; ascending by seed, then scenario */
    const char *failure_scenario[REPORT_FAILURES_MAX]; /* NULL: the swarm. Borrowed. */
    unsigned failures;
};

void report_deinit(struct report *r);
/* Takes a result in; it is moved when it is a failure, freed otherwise. */
void report_add(struct report *r, struct run_result *result, const char *scenario);
enum run_code report_code(const struct report *r); /* Of the first failure; RUN_PASS without one. */

void report_print_failure(struct cd_buf *out, const struct report *r, unsigned index);
void report_print_totals(struct cd_buf *out, const struct report *r);
void report_print_marks(struct cd_buf *out, const struct report *r);
/* "celld-sim --seed N --rev <commit> # <invariant> at <time>": how the first failure is run again. */
void report_print_last(struct cd_buf *out, const struct report *r);
void report_print_time(struct cd_buf *out, uint64_t ns); /* 12.345s */

#endif
