/* sim/jobs.h: runs in processes of their own, some at a time. Libraries have process state, so one run is one
 * process.
 *
 * The only place besides child.c and runner.c where the simulator uses the system; no run does. */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "base/buf.h"

#define JOBS_OUTPUT_MAX (64u << 20)
#define JOBS_ERROR_MAX (64u << 10) /* Of what a child says on stderr, the first bytes are kept. */
#define JOBS_REAL_TIME_MAX_S 900 /* A child that takes longer hangs: it is ended. */

struct job_end {
    struct cd_str out, err; /* What it wrote to its pipe and to stderr. */
    int status; /* As of waitpid. */
    bool timed_out;
};

struct jobs {
    unsigned limit; /* At a time. */
    uint64_t count;
    /* In the child: writes its result to out and returns; the process then ends. */
    void (*run)(void *arg, uint64_t job, int out);
    /* In the parent, as they end, in any order. False: no further jobs are started. */
    bool (*done)(void *arg, uint64_t job, const struct job_end *end);
    /* While waiting, about once a second. May be NULL. */
    void (*tick)(void *arg);
    void *arg;
};

/* CD_EINVAL with a reason when the system has no more processes or pipes. */
CD_MUST_USE int jobs_run(const struct jobs *j, struct cd_buf *why);

uint64_t jobs_real_ns(void);
uint64_t jobs_cpu_ns(void); /* Of this process: what a run costs, however busy the machine is. */
unsigned jobs_cpus(void);

#endif
