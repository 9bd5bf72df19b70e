/* sim/child.h: the process of one run: what it is told, how it runs, how it ends.
 *
 * For --check the second run of a seed is a new process image (exec) with another layout of addresses, a
 * larger environment, shuffled and patterned memory. It is told what to do through one environment variable,
 * which is internal and may change at any time. */
#ifndef SIM_CHILD_H
#define SIM_CHILD_H

#include "sim/run.h"

#define CHILD_VARIABLE "CELLD_SIM_CHILD"

struct child_target { /* What is run. */
    const struct scn *scn; /* NULL: the draw of the seed. */
    unsigned scenario; /* Its index on the command line, for the new image. */
    uint64_t seed;
};

struct child_mode {
    bool elsewhere; /* Under other circumstances: as a new image. */
    bool traced; /* Text lines to the pipe instead of a result. */
    uint64_t trace_from; /* First event of them. */
};

/* In the child. Writes a result (or, traced, lines) to out; ends the process where it cannot go on. argv is
 * ours. */
void child_run(const struct run_options *o, const struct child_target *t, const struct child_mode *m, int out,
               char *const *argv, struct run_progress *progress);

/* In a process that was started by child_run: whether it is one, and then what it was told. CD_ESYNTAX when
 * the variable is set to something else. */
struct child_order {
    bool given;
    struct child_mode mode;
    struct child_target target; /* scn is NULL; scenario is UINT_MAX for a draw. */
    int out;
};
CD_MUST_USE int child_order_read(struct child_order *o);

/* What the end of a child means: its result, or what it died of. */
void child_result(struct run_result *r, const struct child_target *t, struct cd_str out, struct cd_str err,
                  int status, bool timed_out, const struct run_progress *progress);

#endif
