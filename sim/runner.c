/* sim/runner.c: what celld-sim does with its options: which runs there are, who runs them, what is said about
 * them. */
#include "sim/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io_sim/plant.h"
#include "sim/check.h"
#include "sim/jobs.h"
#include "sim/report.h"
#include "sim/rev.h"
#include "sim/shrink.h"
#include "sim/swarm.h"
#include "sim/trace_html.h"

#define SCENARIO_BYTES_MAX (1u << 20)
#define SHRINK_TRIES_MAX 2000u
#define PROGRESS_NS UINT64_C(2000000000)

struct runner {
    struct run_options options;
    char *const *argv;
    struct scn scenario[RUN_SCENARIOS_MAX]; /* owned */
    unsigned scenarios;
    struct child_target *target; /* owned */
    uint64_t targets;
    struct run_progress *progress; /* Shared with the children; one per target. */
    /* Per target, with --check: the result of the run that ended first. */
    struct run_result *first; /* owned */
    bool *has_first; /* owned */
    struct report report;
    uint64_t said_ns;
    int output_errno; /* Of the first output to standard output that failed, here or in a child. */
};

/* ---- Scenarios and targets ---- */

static int read_file(const char *path, struct cd_buf *out, struct cd_buf *why)
{
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        cd_buf_addf(why, "%s: %s", path, strerror(errno));
        return CD_EINVAL;
    }
    size_t got = fread(cd_buf_reserve(out, SCENARIO_BYTES_MAX + 1), 1, SCENARIO_BYTES_MAX + 1, f);
    out->len += got;
    bool bad = ferror(f) != 0;
    (void)fclose(f);
    if (!bad && got <= SCENARIO_BYTES_MAX)
        return 0;
    cd_buf_addf(why, bad ? "%s: cannot be read" : "%s: larger than a scenario can be", path);
    return CD_EINVAL;
}

static int load_scenario(struct runner *r, const char *path, struct cd_buf *why)
{
    struct scn *s = &r->scenario[r->scenarios];
    struct cd_buf text = {0};
    int rc = read_file(path, &text, why);
    if (rc == 0)
        rc = scn_parse(s, cd_buf_str(&text), path, why);
    if (rc == 0) {
        r->scenarios++;
        rc = scn_available(s, path, why);
    }
    if (rc == 0 && s->plant[0] != 0 && !sim_plant_set(s->plant)) {
        cd_buf_addf(why,
                    "%s:%u: this binary contains no planted bugs; celld-sim-planted does: tools/build sim "
                    "celld-sim-planted",
                    path, s->plant_line);
        rc = CD_EUNSUPPORTED;
    }
    cd_buf_deinit(&text);
    return rc;
}

static void make_targets(struct runner *r)
{
    const struct run_options *o = &r->options;
    uint64_t seeds = o->seed_last - o->seed_first + 1;
    r->targets = r->scenarios == 0 ? seeds : r->scenarios * seeds;
    r->target = cd_alloc(r->targets * sizeof *r->target);
    for (uint64_t i = 0; i < r->targets; i++) {
        struct child_target *t = &r->target[i];
        t->seed = o->seed_first + i % seeds;
        if (r->scenarios == 0)
            continue;
        t->scenario = (unsigned)(i / seeds);
        t->scn = &r->scenario[t->scenario];
        if (!o->has_seed && t->scn->has_seed)
            t->seed = t->scn->seed;
    }
}

static const char *target_name(const struct runner *r, const struct child_target *t)
{
    return t->scn == NULL ? NULL : r->options.scenarios[t->scenario];
}

/* ---- Saying things ---- */

static void note_output(struct runner *r, int error)
{
    if (r->output_errno == 0)
        r->output_errno = error;
}

static void say(struct runner *r, FILE *to, struct cd_buf *text)
{
    errno = 0;
    bool whole = fwrite(text->ptr, 1, text->len, to) == text->len;
    if ((fflush(to) != 0 || !whole) && to == stdout)
        note_output(r, errno == 0 ? EIO : errno);
    cd_buf_deinit(text);
}

static void progress(void *arg)
{
    struct runner *r = arg;
    uint64_t now = jobs_real_ns();
    if (r->options.quiet || now - r->said_ns < PROGRESS_NS)
        return;
    r->said_ns = now;
    (void)fprintf(stderr, "celld-sim: %llu of %llu runs, %u failed\n", (unsigned long long)r->report.runs,
                  (unsigned long long)r->targets, r->report.failures);
}

static void take_result(struct runner *r, const struct child_target *t, struct run_result *result)
{
    unsigned before = r->report.failures;
    uint64_t seed = result->seed;
    report_add(&r->report, result, target_name(r, t));
    for (unsigned i = 0; r->report.failures > before && i < r->report.failures; i++) {
        if (r->report.failure[i].seed != seed || r->report.failure_scenario[i] != target_name(r, t))
            continue;
        struct cd_buf text = {0};
        report_print_failure(&text, &r->report, i);
        say(r, stderr, &text);
        break;
    }
    progress(r);
}

/* The end of the program: totals and, after a failure, how to run it again. */
static int conclude(struct runner *r, FILE *to)
{
    struct cd_buf text = {0};
    enum run_trace trace = r->options.trace;
    if (trace == RUN_TRACE_HTML) {
        trace_html_end(&text, &r->report);
        say(r, stdout, &text);
    }
    if (trace == RUN_TRACE_HTML || trace == RUN_TRACE_JSON)
        to = stderr; /* Standard output is the trace's alone. */
    if (r->options.list_marks)
        report_print_marks(&text, &r->report);
    report_print_totals(&text, &r->report);
    report_print_last(&text, &r->report);
    say(r, to, &text);
    return (int)report_code(&r->report);
}

/* ---- Running ---- */

/* With --check jobs come in pairs: the run here, then the run elsewhere. */
static const struct child_target *job_target(const struct runner *r, uint64_t job, struct child_mode *m)
{
    uint64_t index = r->options.check ? job / 2 : job;
    *m = (struct child_mode){.elsewhere = r->options.check && job % 2 == 1};
    return &r->target[index];
}

static void job_run(void *arg, uint64_t job, int out)
{
    struct runner *r = arg;
    struct child_mode m;
    const struct child_target *t = job_target(r, job, &m);
    child_run(&r->options, t, &m, out, r->argv, &r->progress[t - r->target]);
}

static void compare_pair(struct runner *r, uint64_t index, struct run_result *second)
{
    const struct child_target *t = &r->target[index];
    struct run_result *first = &r->first[index];
    struct cd_buf why = {0};
    if (!check_same(first, second, &why)) {
        check_locate(&r->options, t, check_from(first, second), r->argv, &why);
        struct run_result differs = {
            .seed = t->seed, .events = first->events, .virtual_ns = first->virtual_ns};
        uint64_t at = check_from(first, second) - 1;
        run_result_fail(&differs, RUN_NOT_DETERMINISTIC, "determinism", first->virtual_ns,
                        "two runs were the same up to event %llu, then\n%s", (unsigned long long)at,
                        cd_buf_cstr(&why));
        run_result_deinit(first);
        *first = differs;
    }
    cd_buf_deinit(&why);
    run_result_deinit(second);
    take_result(r, t, first);
}

static bool job_done(void *arg, uint64_t job, const struct job_end *end)
{
    struct runner *r = arg;
    struct child_mode m;
    const struct child_target *t = job_target(r, job, &m);
    uint64_t index = (uint64_t)(t - r->target);
    struct run_result result;
    child_result(&result, t, end->out, end->err, end->status, end->timed_out,
                 m.elsewhere ? NULL : &r->progress[index]);
    note_output(r, r->progress[index].output_errno);
    if (!r->options.check) {
        take_result(r, t, &result);
    } else if (!r->has_first[index]) {
        r->has_first[index] = true;
        r->first[index] = result;
    } else {
        compare_pair(r, index, &result);
    }
    return r->report.failures < REPORT_FAILURES_MAX && r->output_errno == 0;
}

static int run_all(struct runner *r)
{
    struct cd_buf why = {0};
    unsigned cpus = r->options.jobs == 0 ? jobs_cpus() : r->options.jobs;
    struct jobs j = {.limit = cpus, .run = job_run, .done = job_done, .tick = progress, .arg = r};
    j.count = r->options.check ? 2 * r->targets : r->targets;
    int rc = jobs_run(&j, &why);
    if (rc != 0)
        (void)fprintf(stderr, "celld-sim: %s\n", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    int code = conclude(r, stdout);
    return rc != 0 ? RUN_HARNESS : code;
}

/* For a debugger: in this process, because following a fork is a nuisance there. */
static int run_unforked(struct runner *r)
{
    struct child_mode here = {0};
    struct run_result result;
    struct cd_buf bytes = {0};
    FILE *f = tmpfile();
    if (f == NULL) {
        (void)fprintf(stderr, "celld-sim: no temporary file: %s\n", strerror(errno));
        return RUN_HARNESS;
    }
    child_run(&r->options, &r->target[0], &here, fileno(f), r->argv, r->progress);
    rewind(f);
    for (int c; (c = getc(f)) != EOF;)
        cd_buf_add_byte(&bytes, (char)c);
    (void)fclose(f);
    child_result(&result, &r->target[0], cd_buf_str(&bytes), (struct cd_str){0}, 0, false, r->progress);
    note_output(r, r->progress->output_errno);
    cd_buf_deinit(&bytes);
    take_result(r, &r->target[0], &result);
    return conclude(r, stdout);
}

/* ---- Shrinking ---- */

struct attempt { /* One run of a scenario in memory. */
    struct runner *runner;
    struct child_target target;
    struct run_result result;
    const char *invariant;
    unsigned runs;
};

static void attempt_run(void *arg, uint64_t job, int out)
{
    struct attempt *a = arg;
    struct child_mode m = {0};
    (void)job;
    child_run(&a->runner->options, &a->target, &m, out, a->runner->argv, a->runner->progress);
}

static bool attempt_done(void *arg, uint64_t job, const struct job_end *end)
{
    struct attempt *a = arg;
    (void)job;
    child_result(&a->result, &a->target, end->out, end->err, end->status, end->timed_out,
                 a->runner->progress);
    note_output(a->runner, a->runner->progress->output_errno);
    return true;
}

static bool attempt(struct attempt *a, const struct scn *s)
{
    struct cd_buf why = {0};
    struct jobs j = {.limit = 1, .count = 1, .run = attempt_run, .done = attempt_done, .arg = a};
    run_result_deinit(&a->result);
    a->runs++;
    a->target.scn = s;
    a->target.seed = s->seed;
    *a->runner->progress = (struct run_progress){0};
    int rc = jobs_run(&j, &why);
    if (rc != 0)
        run_result_fail(&a->result, RUN_HARNESS, "process", 0, "%s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    return a->result.code != RUN_PASS;
}

static bool still_fails(void *arg, const struct scn *s, uint64_t *failed_at_ns)
{
    struct attempt *a = arg;
    if (!attempt(a, s) || strcmp(a->result.invariant, a->invariant) != 0)
        return false;
    *failed_at_ns = a->result.failed_at_ns;
    if (!a->runner->options.quiet)
        (void)fprintf(stderr, "celld-sim: run %u: still fails, at %llu ms, with %llu nodes and %u steps\n",
                      a->runs, (unsigned long long)(*failed_at_ns / 1000000),
                      (unsigned long long)scn_get(s, SCN_FLEET_NODES), s->steps);
    return true;
}

/* The scenario of a target, complete in itself. */
static void spell(const struct child_target *t, struct scn *s)
{
    if (t->scn == NULL)
        swarm_draw(s, t->seed);
    else
        scn_copy(s, t->scn);
    s->has_seed = true;
    s->seed = t->seed;
}

static int run_shrink(struct runner *r)
{
    struct scn s;
    struct attempt a = {.runner = r};
    spell(&r->target[0], &s);
    bool failed = attempt(&a, &s);
    struct run_result original = a.result;
    a.result = (struct run_result){0};
    struct shrink k = {.fails = still_fails, .arg = &a, .tries_max = SHRINK_TRIES_MAX};
    if (failed) {
        a.invariant = original.invariant;
        k.failed_at_ns = original.failed_at_ns;
        shrink_run(&k, &s);
        struct cd_buf text = {0};
        cd_buf_addf(&text, "# %s at ", original.invariant);
        report_print_time(&text, k.failed_at_ns);
        cd_buf_addf(&text, ", made smaller from seed %llu at %s in %u runs\n", (unsigned long long)s.seed,
                    CELLD_REV, k.tries);
        scn_print(&text, &s);
        say(r, stdout, &text);
    } else {
        (void)fprintf(stderr, "celld-sim: nothing to shrink: the run passes\n");
    }
    run_result_deinit(&a.result);
    take_result(r, &r->target[0], &original);
    scn_deinit(&s);
    return conclude(r, stderr);
}

static int dump(struct runner *r)
{
    struct scn s;
    struct cd_buf text = {0};
    spell(&r->target[0], &s);
    scn_print(&text, &s);
    say(r, stdout, &text);
    scn_deinit(&s);
    return RUN_PASS;
}

/* ---- The program ---- */

/* A descriptor that is closed would be given to the next pipe: its place is taken by one that cannot be
 * written. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDONLY);
    }
}

/* The exit code. A reader that has gone has seen what it wanted; a failure that was found stays the news. */
static int end_output(const struct runner *r, int code)
{
    if (r->output_errno == 0 || r->output_errno == EPIPE)
        return code;
    (void)fprintf(stderr, "celld-sim: write standard output: %s\n", strerror(r->output_errno));
    return code == RUN_PASS ? RUN_HARNESS : code;
}

static int refuse(struct cd_buf *why)
{
    (void)fprintf(stderr, "celld-sim: %s\n", cd_buf_cstr(why));
    cd_buf_deinit(why);
    return RUN_HARNESS;
}

/* Whether the binary is of that commit: either may be the shorter one. */
static bool rev_is(const char *wanted)
{
    size_t len = strlen(wanted), have = strlen(CELLD_REV);
    return len > 0 && strncmp(wanted, CELLD_REV, len < have ? len : have) == 0;
}

CD_NORETURN static void run_order(struct runner *r, struct child_order *order)
{
    struct child_mode here = order->mode;
    here.elsewhere = false; /* This is elsewhere. */
    if (order->target.scenario < r->scenarios)
        order->target.scn = &r->scenario[order->target.scenario];
    child_run(&r->options, &order->target, &here, order->out, r->argv, NULL);
    _exit(RUN_PASS); /* Without the leak sanitizer's last look: a failed run is not taken down. */
}

static int run(struct runner *r, struct child_order *order)
{
    struct cd_buf why = {0};
    for (unsigned i = 0; i < r->options.scenario_count; i++) {
        if (load_scenario(r, r->options.scenarios[i], &why) != 0)
            return refuse(&why);
    }
    if (order->given)
        run_order(r, order);
    make_targets(r);
    if (r->options.dump)
        return dump(r);
    size_t bytes = r->targets * sizeof *r->progress;
    r->progress = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->progress == MAP_FAILED) {
        cd_buf_addf(&why, "no shared memory: %s", strerror(errno));
        return refuse(&why);
    }
    r->first = cd_alloc(r->targets * sizeof *r->first);
    r->has_first = cd_alloc(r->targets * sizeof *r->has_first);
    int code = r->options.shrink ? run_shrink(r) : r->options.has_break ? run_unforked(r) : run_all(r);
    (void)munmap(r->progress, bytes);
    return code;
}

int runner_main(int argc, char **argv)
{
    static struct runner runner; /* One program, one runner: large, and it lives as long as the process. */
    struct runner *r = &runner;
    struct child_order order;
    struct cd_buf why = {0};
    hold_standard_streams();
    (void)signal(SIGPIPE, SIG_IGN); /* Failed writes are seen where they are made. */
    (void)setenv("TZ", "UTC", 1);
    (void)setenv("LC_ALL", "C", 1);
    *r = (struct runner){.argv = argv};
    r->report.rev = CELLD_REV;
    if (run_options_parse(&r->options, (const char *const *)argv + 1, argc < 1 ? 0 : (unsigned)argc - 1,
                          &why) != 0)
        return refuse(&why);
    if (r->options.help || r->options.version) {
        struct cd_buf text = {0};
        if (r->options.help)
            cd_buf_add_str(&text, cd_str(run_options_help()));
        else
            cd_buf_addf(&text, "celld-sim %s (%s)\n", CELLD_VERSION, CELLD_REV);
        say(r, stdout, &text);
        return end_output(r, RUN_PASS);
    }
    if (r->options.rev != NULL && !rev_is(r->options.rev)) {
        cd_buf_addf(&why, "this binary is of commit %s, not of %s: a seed belongs to a commit", CELLD_REV,
                    r->options.rev);
        return refuse(&why);
    }
    if (child_order_read(&order) != 0) {
        cd_buf_addf(&why, "%s is set, but not by celld-sim", CHILD_VARIABLE);
        return refuse(&why);
    }
    int code = run(r, &order);
    report_deinit(&r->report);
    for (unsigned i = 0; i < r->scenarios; i++)
        scn_deinit(&r->scenario[i]);
    cd_free(r->target);
    for (uint64_t i = 0; r->first != NULL && i < r->targets; i++)
        run_result_deinit(&r->first[i]);
    cd_free(r->first);
    cd_free(r->has_first);
    return end_output(r, code);
}
