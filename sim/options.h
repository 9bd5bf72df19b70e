/* sim/options.h: the command line of celld-sim. Parsing is strict and pure: an unknown word, a bad number or
 * two options that exclude each other are errors with a text that says what was wanted. */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "base/buf.h"

#define RUN_SCENARIOS_MAX 64
#define RUN_JOBS_MAX 256
#define RUN_SEEDS_MAX 10000000u

enum run_trace { RUN_TRACE_NONE, RUN_TRACE_TEXT, RUN_TRACE_JSON, RUN_TRACE_HTML };

struct run_options {
    const char *scenarios[RUN_SCENARIOS_MAX]; /* Borrowed from argv. */
    unsigned scenario_count;
    bool has_seed;
    uint64_t seed_first, seed_last; /* Inclusive. Without has_seed both are 1. */
    bool check, dump, shrink, quiet, list_marks, help, version;
    enum run_trace trace;
    bool has_until, has_break;
    uint64_t until_ns;
    uint64_t break_serial;
    unsigned jobs; /* 0: as many as the machine has CPUs. */
    const char *rev; /* What --rev said; NULL without it. Borrowed. */
};

/* CD_EINVAL with the reason in why. args are argv without the program's name. */
CD_MUST_USE int run_options_parse(struct run_options *o, const char *const *args, unsigned count,
                                  struct cd_buf *why);

/* The text of --help. */
const char *run_options_help(void);

#endif
