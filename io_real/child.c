/* io_real/child.c: child processes through libuv. Their standard streams are pipes, as programs expect, and
 * ours are the other ends. Cancelling the op kills the child: done comes when nothing of it is left to wait
 * for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "io_real/net.h"

struct child {
    uv_process_t process;
    struct real_loop *loop;
    struct io_child *owner;
};

static void pipe_close(int ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            (void)close(ends[i]);
    }
}

static bool unblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void closed_cb(uv_handle_t *h)
{
    cd_free(CD_CONTAINER(h, struct child, process));
}

static void exit_cb(uv_process_t *p, int64_t code, int signal)
{
    struct child *x = CD_CONTAINER(p, struct child, process);
    struct io_child *c = x->owner;
    real_enter(x->loop);
    c->impl = NULL;
    c->code = signal != 0 ? 128 + signal : (int)code;
    int status = c->exited.canceling ? IO_CANCELED : IO_OK;
    uv_close((uv_handle_t *)p, closed_cb);
    x->loop->open--;
    io_complete(&c->exited, status);
    real_leave(x->loop);
}

static void child_cancel(struct io_op *op)
{
    io_child_kill(CD_CONTAINER(op, struct io_child, exited), SIGKILL);
}

static int child_spawn(struct io_child *c, struct real_loop *l, const char *const argv[],
                       const char *const env[], const char *cwd, int in, int out)
{
    static char *no_env[] = {NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_INHERIT_FD, .data.fd = in},
        {.flags = UV_INHERIT_FD, .data.fd = out},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    const uv_process_options_t options = {
        .exit_cb = exit_cb,
        .file = argv[0],
        .args = (char **)(uintptr_t)argv, /* libuv only reads them. */
        .env = env == NULL ? no_env : (char **)(uintptr_t)env,
        .cwd = cwd,
        .stdio_count = 3,
        .stdio = stdio,
    };
    struct child *x = cd_new(struct child);
    x->loop = l;
    x->owner = c;
    int rc = uv_spawn(&l->uv, &x->process, &options);
    if (rc != 0) {
        uv_close((uv_handle_t *)&x->process, closed_cb);
        return real_uv_status(rc);
    }
    c->impl = x;
    l->open++;
    return IO_OK;
}

/* Makes our two streams. On success the child's ends are in *in and *out, for the caller to close. */
static int child_pipes(struct io_child *c, struct real_loop *l, int *in, int *out)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || !unblock(to[1]) || !unblock(from[0])) {
        int error = errno;
        pipe_close(to);
        pipe_close(from);
        return real_status(error);
    }
    struct real_stream *writes = real_stream_new(l, to[1], REAL_PIPE_OUT);
    struct real_stream *reads = real_stream_new(l, from[0], REAL_PIPE_IN);
    if (writes == NULL || reads == NULL) {
        if (writes != NULL)
            real_stream_free(writes);
        if (reads != NULL)
            real_stream_free(reads);
        (void)close(to[0]);
        (void)close(from[1]);
        return IO_FAULT;
    }
    real_stream_open(writes, &c->in);
    real_stream_open(reads, &c->out);
    *in = to[0];
    *out = from[1];
    return IO_OK;
}

void io_child_start(struct io_child *c, struct io *io, const char *const argv[], const char *const env[],
                    const char *cwd, io_done_fn *exited)
{
    struct real_loop *l = real_loop(io);
    CD_ASSERT(argv[0] != NULL);
    c->code = 0;
    c->impl = NULL;
    c->in = c->out = (struct io_stream){0};
    io_begin(&c->exited, io, exited);
    int in = -1, out = -1;
    int rc = child_pipes(c, l, &in, &out);
    if (rc == IO_OK) {
        rc = l->stopping ? IO_CANCELED : child_spawn(c, l, argv, env, cwd, in, out);
        (void)close(in);
        (void)close(out);
    }
    if (rc != IO_OK) {
        io_complete_later(&c->exited, rc);
        return;
    }
    c->exited.cancel = child_cancel;
}

void io_child_kill(struct io_child *c, int signal)
{
    struct child *x = c->impl;
    if (x != NULL)
        (void)uv_process_kill(&x->process, signal); /* Fails only when it has just ended. */
}
