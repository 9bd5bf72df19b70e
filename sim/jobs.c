/* sim/jobs.c: forks, collects what the children write, waits. */
#include "sim/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/options.h"

#define TICK_MS 1000
#define READ_PIECE (64u << 10)

struct slot {
    bool used, timed_out;
    uint64_t job, began_ns;
    pid_t pid;
    int fd[2]; /* Results, stderr; -1: at its end. */
    struct cd_buf text[2];
};

struct pool {
    const struct jobs *jobs;
    struct slot *slot; /* owned */
    unsigned limit, running;
    uint64_t next;
    bool enough;
};

uint64_t jobs_real_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t jobs_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned jobs_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > RUN_JOBS_MAX ? RUN_JOBS_MAX : (unsigned)n;
}

CD_NORETURN static void be_child(const struct jobs *j, uint64_t job, const int out[2], const int err[2],
                                 pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* It ended before we asked. */
    (void)close(out[0]);
    (void)close(err[0]);
    if (dup2(err[1], STDERR_FILENO) < 0)
        _exit(1);
    (void)close(err[1]);
    j->run(j->arg, job, out[1]);
    (void)fflush(stdout);
    _exit(0);
}

static int start(struct pool *p, struct slot *s, struct cd_buf *why)
{
    int out[2], err[2];
    if (pipe(out) != 0) {
        cd_buf_addf(why, "no pipe: %s", strerror(errno));
        return CD_EINVAL;
    }
    if (pipe(err) != 0) {
        cd_buf_addf(why, "no pipe: %s", strerror(errno));
        goto close_out;
    }
    (void)fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        cd_buf_addf(why, "no process: %s", strerror(errno));
        goto close_err;
    }
    if (pid == 0)
        be_child(p->jobs, p->next, out, err, parent);
    (void)close(out[1]);
    (void)close(err[1]);
    *s = (struct slot){.used = true, .job = p->next, .pid = pid, .fd = {out[0], err[0]}};
    s->began_ns = jobs_real_ns();
    p->next++;
    p->running++;
    return 0;

close_err:
    (void)close(err[0]);
    (void)close(err[1]);
close_out:
    (void)close(out[0]);
    (void)close(out[1]);
    return CD_EINVAL;
}

static void take_bytes(struct slot *s, unsigned which)
{
    struct cd_buf *text = &s->text[which];
    size_t most = which == 0 ? JOBS_OUTPUT_MAX : JOBS_ERROR_MAX;
    char piece[READ_PIECE];
    ssize_t n = read(s->fd[which], piece, sizeof piece);
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0) {
        (void)close(s->fd[which]);
        s->fd[which] = -1;
        return;
    }
    size_t room = text->len < most ? most - text->len : 0;
    cd_buf_add(text, piece, (size_t)n < room ? (size_t)n : room);
}

static void end(struct pool *p, struct slot *s)
{
    struct job_end e = {
        .out = cd_buf_str(&s->text[0]), .err = cd_buf_str(&s->text[1]), .timed_out = s->timed_out};
    while (waitpid(s->pid, &e.status, 0) < 0 && errno == EINTR)
        ;
    p->running--;
    s->used = false;
    if (!p->jobs->done(p->jobs->arg, s->job, &e))
        p->enough = true;
    cd_buf_deinit(&s->text[0]);
    cd_buf_deinit(&s->text[1]);
}

static void end_hanging(struct pool *p)
{
    uint64_t now = jobs_real_ns();
    for (unsigned i = 0; i < p->limit; i++) {
        struct slot *s = &p->slot[i];
        if (!s->used || s->timed_out || now - s->began_ns < JOBS_REAL_TIME_MAX_S * UINT64_C(1000000000))
            continue;
        s->timed_out = true;
        (void)kill(s->pid, SIGKILL);
    }
}

/* Waits for anything to read, and reads it; children that are through are reported. */
static void wait_some(struct pool *p)
{
    struct pollfd fds[2 * RUN_JOBS_MAX];
    struct slot *of[2 * RUN_JOBS_MAX];
    nfds_t count = 0;
    for (unsigned i = 0; i < p->limit; i++) {
        for (unsigned which = 0; which < 2; which++) {
            if (!p->slot[i].used || p->slot[i].fd[which] < 0)
                continue;
            of[count] = &p->slot[i];
            fds[count++] = (struct pollfd){.fd = p->slot[i].fd[which], .events = POLLIN};
        }
    }
    int ready = poll(fds, count, TICK_MS);
    if (ready == 0 && p->jobs->tick != NULL)
        p->jobs->tick(p->jobs->arg);
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        if (fds[i].revents != 0)
            take_bytes(of[i], fds[i].fd == of[i]->fd[0] ? 0 : 1);
    }
    end_hanging(p);
    for (unsigned i = 0; i < p->limit; i++) {
        struct slot *s = &p->slot[i];
        if (s->used && s->fd[0] < 0 && s->fd[1] < 0)
            end(p, s);
    }
}

int jobs_run(const struct jobs *j, struct cd_buf *why)
{
    CD_ASSERT(j->limit >= 1 && j->limit <= RUN_JOBS_MAX);
    struct pool p = {.jobs = j, .limit = j->limit};
    int rc = 0;
    p.slot = cd_alloc(p.limit * sizeof *p.slot);
    while (p.running > 0 || (rc == 0 && !p.enough && p.next < j->count)) {
        for (unsigned i = 0; rc == 0 && i < p.limit && !p.enough && p.next < j->count; i++) {
            if (!p.slot[i].used)
                rc = start(&p, &p.slot[i], why);
        }
        if (p.running > 0)
            wait_some(&p);
    }
    cd_free(p.slot);
    return rc;
}
