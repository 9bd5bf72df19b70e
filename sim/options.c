/* sim/options.c: one table of options; the parser walks it, so that none is known to half of the code only.
 */
#include "sim/options.h"

#include "sim/quantity.h"

typedef int option_take_fn(struct run_options *o, const char *value, struct cd_buf *why);

struct option {
    const char *name;
    option_take_fn *take;
    const char *value; /* What the option's value is called; NULL: it takes none. */
};

static int take_seed(struct run_options *o, const char *value, struct cd_buf *why)
{
    struct cd_str text = cd_str(value);
    size_t dots = cd_str_find_str(text, CD_STR(".."), 0);
    struct cd_str first = dots == SIZE_MAX ? text : cd_str_sub(text, 0, dots);
    struct cd_str last = dots == SIZE_MAX ? text : cd_str_sub(text, dots + 2, SIZE_MAX);
    if (cd_str_u64(first, &o->seed_first) != 0 || cd_str_u64(last, &o->seed_last) != 0) {
        cd_buf_addf(why, "--seed %s: want a number N or a range A..B", value);
        return CD_EINVAL;
    }
    if (o->seed_last < o->seed_first || o->seed_last - o->seed_first >= RUN_SEEDS_MAX) {
        cd_buf_addf(why, "--seed %s: want A <= B and at most %u seeds", value, RUN_SEEDS_MAX);
        return CD_EINVAL;
    }
    o->has_seed = true;
    return 0;
}

static int take_trace(struct run_options *o, const char *value, struct cd_buf *why)
{
    if (strcmp(value, "text") == 0) {
        o->trace = RUN_TRACE_TEXT;
        return 0;
    }
    if (strcmp(value, "json") == 0) {
        o->trace = RUN_TRACE_JSON;
        return 0;
    }
    if (strcmp(value, "html") == 0) {
        o->trace = RUN_TRACE_HTML;
        return 0;
    }
    cd_buf_addf(why, "--trace %s: want text, json or html", value);
    return CD_EINVAL;
}

static int take_until(struct run_options *o, const char *value, struct cd_buf *why)
{
    if (quantity_duration(cd_str(value), &o->until_ns) != 0 || o->until_ns == 0) {
        cd_buf_addf(why, "--until %s: want a time with a unit, like 90s or 1500ms", value);
        return CD_EINVAL;
    }
    o->has_until = true;
    return 0;
}

static int take_break(struct run_options *o, const char *value, struct cd_buf *why)
{
    if (cd_str_u64(cd_str(value), &o->break_serial) != 0) {
        cd_buf_addf(why, "--break-at %s: want the number of an event", value);
        return CD_EINVAL;
    }
    o->has_break = true;
    return 0;
}

static int take_jobs(struct run_options *o, const char *value, struct cd_buf *why)
{
    uint64_t jobs;
    if (cd_str_u64(cd_str(value), &jobs) != 0 || jobs == 0 || jobs > RUN_JOBS_MAX) {
        cd_buf_addf(why, "--jobs %s: want a number from 1 to %d", value, RUN_JOBS_MAX);
        return CD_EINVAL;
    }
    o->jobs = (unsigned)jobs;
    return 0;
}

static int take_rev(struct run_options *o, const char *value, struct cd_buf *why)
{
    (void)why;
    o->rev = value;
    return 0;
}

#define TAKE_FLAG(field)                                                                                     \
    static int take_##field(struct run_options *o, const char *value, struct cd_buf *why)                    \
    {                                                                                                        \
        (void)value;                                                                                         \
        (void)why;                                                                                           \
        o->field = true;                                                                                     \
        return 0;                                                                                            \
    }
TAKE_FLAG(check)
TAKE_FLAG(dump)
TAKE_FLAG(shrink)
TAKE_FLAG(quiet)
TAKE_FLAG(list_marks)
TAKE_FLAG(help)
TAKE_FLAG(version)

static const struct option options[] = {
    {"--seed", take_seed, "N or A..B"},
    {"--check", take_check, NULL},
    {"--trace", take_trace, "text, json or html"},
    {"--until", take_until, "a time"},
    {"--break-at", take_break, "an event's number"},
    {"--dump", take_dump, NULL},
    {"--shrink", take_shrink, NULL},
    {"--jobs", take_jobs, "a number"},
    {"--rev", take_rev, "a commit"},
    {"--quiet", take_quiet, NULL},
    {"--list-marks", take_list_marks, NULL},
    {"--help", take_help, NULL},
    {"--version", take_version, NULL},
};

static const char help[] =
    "usage: celld-sim [SCENARIO.scn...] [OPTIONS]\n"
    "\n"
    "Runs a whole fleet in virtual time, under seeded faults, and checks what it promised. Without a "
    "scenario the\n"
    "run is drawn from the seed. The same seed and binary give the same run.\n"
    "\n"
    "  --seed N | A..B     the seed, or a range of seeds; default 1, or the one the scenario names\n"
    "  --check             run each seed twice under different circumstances and compare the trace hashes\n"
    "  --trace text|json   print every event of the run (one seed only)\n"
    "  --trace html        the same as a page to look at: a timeline that needs nothing but a browser\n"
    "  --until T           end the run at that virtual time, without healing and audit: 90s, 1500ms\n"
    "  --break-at SERIAL   stop with SIGTRAP before that event, for a debugger (one seed only)\n"
    "  --dump              print the seed's draw and plan as a scenario instead of running it\n"
    "  --shrink            after a failure look for the smallest scenario that still fails (one seed only)\n"
    "  --jobs N            runs at a time; default: the CPUs of the machine\n"
    "  --rev COMMIT        refuse to run unless this binary was built from that commit\n"
    "  --quiet             no progress on stderr\n"
    "  --list-marks        say after the runs which marks were hit, and how often\n"
    "  --help, --version\n"
    "\n"
    "exit codes: 0 pass, 2 not deterministic, 3 safety, 4 liveness, 5 assertion or sanitizer, 6 leak, 7 "
    "harness\n";

const char *run_options_help(void)
{
    return help;
}

static const struct option *option_find(struct cd_str name)
{
    for (size_t i = 0; i < CD_COUNT(options); i++) {
        if (cd_str_eq(name, cd_str(options[i].name)))
            return &options[i];
    }
    return NULL;
}

/* Options that ask for contradictory things are refused, because ignoring one would mislead. */
static int options_agree(const struct run_options *o, struct cd_buf *why)
{
    bool one_run = o->seed_first == o->seed_last && o->scenario_count <= 1;
    const char *alone = o->trace != RUN_TRACE_NONE ? "--trace"
                        : o->has_break             ? "--break-at"
                        : o->dump                  ? "--dump"
                        : o->shrink                ? "--shrink"
                                                   : NULL;
    if (alone != NULL && !one_run) {
        cd_buf_addf(why, "%s: want one seed and at most one scenario", alone);
        return CD_EINVAL;
    }
    if (o->check && (o->trace != RUN_TRACE_NONE || o->has_break || o->dump || o->shrink)) {
        cd_buf_addf(why, "--check and %s exclude each other", alone);
        return CD_EINVAL;
    }
    if (o->dump && (o->shrink || o->trace != RUN_TRACE_NONE || o->has_break)) {
        cd_buf_addf(why, "--dump runs nothing: leave out --shrink, --trace and --break-at");
        return CD_EINVAL;
    }
    if (o->shrink && (o->trace != RUN_TRACE_NONE || o->has_break)) {
        cd_buf_addf(why, "--shrink excludes --trace and --break-at");
        return CD_EINVAL;
    }
    return 0;
}

/* One word of the command line, with the next one for options that want a value; *at moves behind what was
 * used. */
static int option_take(struct run_options *o, const char *const *args, unsigned count, unsigned *at,
                       struct cd_buf *why)
{
    const char *word = args[(*at)++];
    if (word[0] != '-') {
        if (o->scenario_count == RUN_SCENARIOS_MAX) {
            cd_buf_addf(why, "%s: at most %d scenarios", word, RUN_SCENARIOS_MAX);
            return CD_EINVAL;
        }
        o->scenarios[o->scenario_count++] = word;
        return 0;
    }
    struct cd_str name = cd_str(word);
    size_t equals = cd_str_find(name, '=', 0);
    const char *value = equals == SIZE_MAX ? NULL : word + equals + 1;
    if (equals != SIZE_MAX)
        name.len = equals;
    const struct option *found = option_find(name);
    if (found == NULL) {
        cd_buf_addf(why, "unknown option %s, see --help", word);
        return CD_EINVAL;
    }
    if (found->value == NULL && value != NULL) {
        cd_buf_addf(why, "%s takes no value", found->name);
        return CD_EINVAL;
    }
    if (found->value != NULL && value == NULL) {
        if (*at == count) {
            cd_buf_addf(why, "%s wants %s", found->name, found->value);
            return CD_EINVAL;
        }
        value = args[(*at)++];
    }
    return found->take(o, value, why);
}

int run_options_parse(struct run_options *o, const char *const *args, unsigned count, struct cd_buf *why)
{
    *o = (struct run_options){.seed_first = 1, .seed_last = 1};
    for (unsigned at = 0; at < count;) {
        int rc = option_take(o, args, count, &at, why);
        if (rc != 0)
            return rc;
    }
    return options_agree(o, why);
}
