/* io_real/child.c: child processes. Their standard streams are pipes, as programs expect, and ours are the
 * other ends. The end of a process is an event of its pidfd. Cancelling the op kills the child: done comes
 * when nothing of it is left to wait for.
 *
 * Not by uv_spawn: between fork and exec a tied child has to ask for the signal that it gets when we die. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_real/net.h"
#include "io_real/spare.h"

#define SPARE_FLAGS (IO_CHILD_SELF | IO_CHILD_GROUP | IO_CHILD_TIED)

struct child {
    struct real_watch watch; /* Of the pidfd. */
    struct real_grave grave;
    struct io_child *owner;
    pid_t pid;
    bool group;
};

/* ---- Between fork and exec: nothing but system calls ---- */

struct birth {
    const char *const *argv, *const *env;
    const char *cwd;
    int stream[3]; /* What its descriptors 0, 1, 2 become. */
    int failed; /* Where it writes why it could not start. */
    unsigned flags;
    pid_t parent;
};

CD_NORETURN static void birth_failed(const struct birth *b)
{
    int error = errno;
    ssize_t n = write(b->failed, &error, sizeof error);
    CD_MAYBE(n == sizeof error);
    _exit(127);
}

/* Ignored signals and the mask are inherited by programs, which do not expect that. */
static void signals_reset(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL); /* Some numbers are the C library's own: they fail. */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

CD_NORETURN static void birth_run(const struct birth *b)
{
    static char *no_env[] = {NULL};
    if ((b->flags & IO_CHILD_GROUP) != 0 && setpgid(0, 0) != 0)
        birth_failed(b);
    if ((b->flags & IO_CHILD_TIED) != 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            birth_failed(b);
        if (getppid() != b->parent)
            _exit(127); /* It died before it could be told. */
    }
    for (int i = 0; i < 3; i++) {
        if (b->stream[i] != i && dup2(b->stream[i], i) < 0)
            birth_failed(b);
    }
    if (b->cwd != NULL && chdir(b->cwd) != 0)
        birth_failed(b);
    signals_reset();
    /* The search is on the PATH of env, and both only read. */
    environ = b->env == NULL ? no_env : (char **)(uintptr_t)b->env;
    (void)execvp(b->argv[0], (char **)(uintptr_t)b->argv);
    birth_failed(b);
}

/* Why it could not start, or 0. The pipe closes by itself when the program has begun. */
static int birth_error(int fd)
{
    int error = 0;
    ssize_t n;
    do {
        n = read(fd, &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

/* IO_OK with the child's pid, or why not; then nothing is left of it. */
static int child_fork(struct birth *b, pid_t *out)
{
    int ends[2];
    sigset_t all, was;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return real_status(errno);
    b->failed = ends[1];
    b->parent = getpid();
    /* No handler of ours may run in the child before its signals are reset. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &was);
    pid_t pid = fork();
    if (pid == 0)
        birth_run(b);
    int error = pid < 0 ? errno : 0;
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    (void)close(ends[1]);
    if (pid > 0)
        error = birth_error(ends[0]);
    (void)close(ends[0]);
    if (pid > 0 && error != 0)
        (void)waitpid(pid, NULL, 0);
    *out = pid;
    return real_status(error);
}

/* ---- The end ---- */

static void child_free(struct real_grave *g)
{
    cd_free(CD_CONTAINER(g, struct child, grave));
}

static void child_ended(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    struct child *x = CD_CONTAINER(w, struct child, watch);
    struct io_child *c = x->owner;
    int fd = w->fd, state = 0;
    (void)events;
    pid_t got = waitpid(x->pid, &state, WNOHANG);
    if (got == 0)
        return;
    CD_ASSERT(got == x->pid); /* Nobody else waits for it. */
    real_watch_stop(l, w);
    (void)close(fd);
    real_enter(l);
    c->impl = NULL;
    c->code = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    int status = c->exited.canceling ? IO_CANCELED : IO_OK;
    real_bury(l, &x->grave, child_free);
    l->open--;
    io_complete(&c->exited, status);
    real_leave(l);
}

static void child_cancel(struct io_op *op)
{
    io_child_kill(CD_CONTAINER(op, struct io_child, exited), SIGKILL);
}

void io_child_kill(struct io_child *c, int number)
{
    struct child *x = c->impl;
    if (x != NULL)
        (void)kill(x->group ? -x->pid : x->pid,
                   number); /* Not waited for yet, so the pid is still its own. */
}

/* ---- The start ---- */

static int child_spawn(struct io_child *c, struct real_loop *l, struct birth *b)
{
    struct child *x = cd_new(struct child);
    x->owner = c;
    x->group = (c->flags & IO_CHILD_GROUP) != 0;
    real_watch_init(&x->watch, child_ended);
    int rc = IO_OK, fd = -1;
    if ((c->flags & SPARE_FLAGS) == SPARE_FLAGS)
        x->pid = real_spare_take(b->argv, b->env, b->cwd, b->stream);
    if (x->pid == 0)
        rc = child_fork(b, &x->pid);
    if (rc != IO_OK)
        goto free_child;
    fd = pidfd_open(x->pid, 0);
    rc = fd < 0 ? real_status(errno) : real_watch_start(l, &x->watch, fd, EPOLLIN);
    if (rc != IO_OK)
        goto kill_it;
    c->impl = x;
    l->open++;
    return IO_OK;

kill_it:
    (void)kill(x->pid, SIGKILL);
    (void)waitpid(x->pid, NULL, 0);
    if (fd >= 0)
        (void)close(fd);
free_child:
    cd_free(x);
    return rc;
}

/* Opens a stream of ours; *theirs is the other end, for the caller to close. */
static int child_pipe(struct real_loop *l, bool reads, struct io_stream *ours, int *theirs)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return real_status(errno);
    int here = ends[reads ? 0 : 1], there = ends[reads ? 1 : 0], flags = fcntl(here, F_GETFL);
    struct real_stream *s = NULL;
    if (flags >= 0 && fcntl(here, F_SETFL, flags | O_NONBLOCK) == 0)
        s = real_stream_new(l, here, reads ? REAL_PIPE_IN : REAL_PIPE_OUT); /* Closes it when it fails. */
    else
        (void)close(here);
    if (s == NULL) {
        (void)close(there);
        return IO_FAULT;
    }
    real_stream_open(s, ours);
    *theirs = there;
    return IO_OK;
}

void io_child_start(struct io_child *c, struct io *io, const char *const argv[], const char *const env[],
                    const char *cwd, io_done_fn *exited)
{
    struct real_loop *l = real_loop(io);
    struct birth b = {.argv = argv, .env = env, .cwd = cwd, .stream = {-1, -1, -1}, .flags = c->flags};
    CD_ASSERT(argv[0] != NULL);
    CD_ASSERT((c->flags & IO_CHILD_TIED) == 0 || l->index == 0); /* The signal comes when a thread ends. */
    c->code = 0;
    c->impl = NULL;
    c->in = c->out = c->err = (struct io_stream){0};
    io_begin(&c->exited, io, exited);
    int rc = child_pipe(l, false, &c->in, &b.stream[0]);
    if (rc == IO_OK)
        rc = child_pipe(l, true, &c->out, &b.stream[1]);
    if (rc == IO_OK && (c->flags & IO_CHILD_ERR) != 0)
        rc = child_pipe(l, true, &c->err, &b.stream[2]);
    else
        b.stream[2] = STDERR_FILENO;
    if (rc == IO_OK)
        rc = l->stopping ? IO_CANCELED : child_spawn(c, l, &b);
    for (int i = 0; i < 3; i++) {
        if (b.stream[i] >= 0 && b.stream[i] != STDERR_FILENO)
            (void)close(b.stream[i]);
    }
    if (rc != IO_OK) {
        io_complete_later(&c->exited, rc);
        return;
    }
    c->exited.cancel = child_cancel;
}
