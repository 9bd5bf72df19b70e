/* sim/child.c: see child.h. */
#include "sim/child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/jobs.h"
#include "sim/memory.h"
#include "sim/swarm.h"
#include "sim/trace_html.h"

#define PADDING_BYTES 6000u /* How much larger the environment is in the second run of a check. */
#define STACK_BYTES (192u << 10) /* How much of the stack is filled with a pattern there. */
#define LEAK_EXIT_CODE 23 /* Of the leak sanitizer. */

/* The leak sanitizer's, where there is one. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* ---- Output ---- */

struct sink {
    int fd;
    int error; /* errno of the first write that failed; nothing is written after it. */
    struct cd_buf buffer;
};

/* 0, or an errno. */
static int write_all(int fd, struct cd_str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? EIO : errno;
        bytes = cd_str_sub(bytes, (size_t)n, SIZE_MAX);
    }
    return 0;
}

/* For our parent, over a pipe. */
static void tell_parent(int fd, struct cd_str bytes)
{
    if (write_all(fd, bytes) != 0)
        _exit(1); /* Nobody reads: the parent is gone or has seen enough. */
}

/* Standard output that fails says nothing about the run, which goes on. */
static void sink_flush(struct sink *s)
{
    if (s->fd != STDOUT_FILENO)
        tell_parent(s->fd, cd_buf_str(&s->buffer));
    else if (s->error == 0)
        s->error = write_all(s->fd, cd_buf_str(&s->buffer));
    cd_buf_clear(&s->buffer);
}

static void sink_write(void *arg, struct cd_str text)
{
    struct sink *s = arg;
    cd_buf_add_str(&s->buffer, text);
    if (s->buffer.len >= (32u << 10))
        sink_flush(s);
}

/* The records come one after the other. */
static void sink_write_html(void *arg, struct cd_str text)
{
    struct sink *s = arg;
    trace_html_add(&s->buffer, text);
    sink_write(s, (struct cd_str){0});
}

/* A run that dies takes its trace out first: its last lines are those that count. */
static const struct sink *dying;

static void write_last(int signo)
{
    if (dying != NULL)
        (void)write_all(dying->fd, cd_buf_str(&dying->buffer));
    dying = NULL;
    (void)raise(signo); /* By its default now. */
}

static void write_when_dying(const struct sink *s)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    dying = s;
    for (size_t i = 0; i < CD_COUNT(signals); i++) {
        struct sigaction now, act = {.sa_handler = write_last, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) /* Else a sanitizer's. */
            (void)sigaction(signals[i], &act, NULL);
    }
}

struct ending {
    int out;
    bool traced;
    struct sink *sink;
    struct run_progress *progress;
};

static void write_result(const struct ending *e, const struct run_result *r)
{
    if (e->sink != NULL) {
        dying = NULL;
        sink_flush(e->sink);
        if (e->progress != NULL)
            e->progress->output_errno = e->sink->error;
    }
    if (e->traced)
        return;
    struct cd_buf bytes = {0};
    run_result_write(&bytes, r);
    tell_parent(e->out, cd_buf_str(&bytes));
    cd_buf_deinit(&bytes);
}

CD_NORETURN static void give_up(void *arg, struct run_result *r)
{
    write_result(arg, r);
    _exit(0);
}

static void trap(void)
{
    (void)raise(SIGTRAP);
}

/* ---- The run ---- */

static void run_here(const struct run_options *o, const struct child_target *t, const struct child_mode *m,
                     int out, struct run_progress *progress)
{
    struct scn drawn;
    struct sink sink = {.fd = m->traced ? out : STDOUT_FILENO};
    struct ending ending = {.out = out, .traced = m->traced, .progress = progress};
    struct run_setup setup = {
        .seed = t->seed, .until_ns = o->until_ns, .break_event = o->break_serial, .trap = trap};
    setup.scn = t->scn;
    /* A person wrote the file and means each step; what the shrinker tries may leave some without effect. */
    setup.all_steps = t->scn != NULL && !o->shrink;
    if (t->scn == NULL) {
        swarm_draw(&drawn, t->seed);
        setup.scn = &drawn;
    }
    setup.trace = m->traced ? RUN_TRACE_TEXT : o->trace;
    setup.trace_from = m->trace_from;
    if (setup.trace != RUN_TRACE_NONE) {
        ending.sink = &sink;
        setup.trace_write = setup.trace == RUN_TRACE_HTML ? sink_write_html : sink_write;
        setup.trace_arg = &sink;
        (void)cd_buf_reserve(&sink.buffer, 1); /* Before the run: its blocks are counted. */
        if (setup.trace == RUN_TRACE_HTML)
            trace_html_begin(&sink.buffer, setup.scn, t->seed);
        write_when_dying(&sink);
    }
    setup.progress = progress;
    setup.cpu_ns = jobs_cpu_ns;
    setup.give_up = give_up;
    setup.give_up_arg = &ending;
    struct run_result result;
    run_execute(&setup, &result);
    if (t->scn == NULL)
        scn_deinit(&drawn);
    bool passed = result.code == RUN_PASS;
    if (passed && __lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0)
        run_result_fail(&result, RUN_LEAK, "leak.memory", result.virtual_ns,
                        "the leak sanitizer found memory");
    write_result(&ending, &result);
    run_result_deinit(&result);
    cd_buf_deinit(&sink.buffer);
}

/* ---- Elsewhere ---- */

/* What was on the stack before is what an uninitialised variable has. */
__attribute__((noinline)) static void fill_stack(void)
{
    volatile char bytes[STACK_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)0xa5;
}

CD_NORETURN static void exec_elsewhere(const struct child_target *t, const struct child_mode *m, int out,
                                       char *const *argv)
{
    char order[128];
    unsigned scenario = t->scn == NULL ? UINT_MAX : t->scenario;
    (void)snprintf(order, sizeof order, "%d %u %llu %d %llu", out, scenario, (unsigned long long)t->seed,
                   m->traced, (unsigned long long)m->trace_from);
    char padding[PADDING_BYTES + 1];
    memset(padding, 'x', PADDING_BYTES);
    padding[PADDING_BYTES] = 0;
    if (setenv(CHILD_VARIABLE, order, 1) != 0 || setenv("CELLD_SIM_PADDING", padding, 1) != 0 ||
        setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0", 1) != 0)
        _exit(1);
    /* The other layout: addresses at random where ours are fixed, and the other way round. Where the system
     * does not allow the change the new image still has its own random layout. */
    int now = personality(0xffffffffu);
    if (now >= 0)
        (void)personality((unsigned long)now ^ ADDR_NO_RANDOMIZE);
    (void)execv("/proc/self/exe", argv);
    (void)fprintf(stderr, "cannot start a second image of this program: %s\n", strerror(errno));
    _exit(1);
}

void child_run(const struct run_options *o, const struct child_target *t, const struct child_mode *m, int out,
               char *const *argv, struct run_progress *progress)
{
    if (m->elsewhere)
        exec_elsewhere(t, m, out, argv);
    run_here(o, t, m, out, progress);
}

int child_order_read(struct child_order *o)
{
    *o = (struct child_order){.given = false};
    const char *text = getenv(CHILD_VARIABLE);
    if (text == NULL)
        return 0;
    uint64_t number[5];
    struct cd_str rest = cd_str(text), piece;
    for (unsigned i = 0; i < CD_COUNT(number); i++) {
        if (!cd_str_next(&rest, ' ', &piece) || cd_str_u64(piece, &number[i]) != 0)
            return CD_ESYNTAX;
    }
    if (rest.ptr != NULL || number[0] > INT_MAX || number[1] > UINT_MAX || number[3] > 1)
        return CD_ESYNTAX;
    o->given = true;
    o->out = (int)number[0];
    o->target.scenario = (unsigned)number[1];
    o->target.seed = number[2];
    o->mode.traced = number[3] == 1;
    o->mode.trace_from = number[4];
    memory_shuffle(o->target.seed * 2 + 0x9e3779b97f4a7c15u);
    fill_stack();
    return 0;
}

/* ---- What the end means ---- */

/* What a child said, without a warning that the address sanitizer gives about every program with fibers. */
static void add_said(struct cd_buf *out, struct cd_str err)
{
    struct cd_str line;
    while (err.len > 0 && cd_str_next(&err, '\n', &line)) {
        if (line.len > 0 && cd_str_find_str(line, CD_STR("fully support makecontext"), 0) == SIZE_MAX)
            cd_buf_addf(out, "\n%.*s", (int)line.len, line.ptr);
    }
}

void child_result(struct run_result *r, const struct child_target *t, struct cd_str out, struct cd_str err,
                  int status, bool timed_out, const struct run_progress *progress)
{
    bool whole = run_result_read(r, out) == 0;
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (whole && well) {
        if (r->code != RUN_PASS)
            add_said(&r->detail, err);
        return;
    }
    run_result_deinit(r);
    r->seed = t->seed;
    r->events = progress == NULL ? 0 : progress->events;
    r->virtual_ns = progress == NULL ? 0 : progress->now_ns;
    if (timed_out)
        run_result_fail(r, RUN_LIVENESS, "liveness.real-time", r->virtual_ns,
                        "no end after %d s of real time", JOBS_REAL_TIME_MAX_S);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == LEAK_EXIT_CODE)
        run_result_fail(r, RUN_LEAK, "leak.memory", r->virtual_ns, "the leak sanitizer ended the run");
    else if (WIFSIGNALED(status))
        run_result_fail(r, RUN_ASSERTION, "assertion", r->virtual_ns, "event %llu ended by signal %d",
                        (unsigned long long)r->events, WTERMSIG(status));
    else
        run_result_fail(r, RUN_ASSERTION, "sanitizer", r->virtual_ns, "event %llu ended with code %d",
                        (unsigned long long)r->events, WEXITSTATUS(status));
    add_said(&r->detail, err);
}
