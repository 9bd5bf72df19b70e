/* io_real/watch.c: watching directories with inotify. One descriptor for all directories of a watcher; the
 * kernel's number of a directory is ours. */
#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "io_real/real.h"

/* Not IN_CLOSE_WRITE: who opens a file for writing and writes nothing has changed nothing. */
#define CHANGES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY)
#define EVENTS_BYTES 4096u /* At least one event with the longest name. */

struct watcher {
    struct real_watch watch;
    struct real_grave grave;
    struct real_loop *loop;
    struct io_op *waiting;
    bool readable; /* Until a read finds nothing. */
    size_t at, len; /* Of events: those that were read and not taken yet. */
    _Alignas(struct inotify_event) char events[EVENTS_BYTES];
};

static void watcher_ready(struct real_loop *l, struct real_watch *w, uint32_t events)
{
    struct watcher *x = CD_CONTAINER(w, struct watcher, watch);
    struct io_op *op = x->waiting;
    (void)events;
    x->readable = true;
    if (op == NULL)
        return;
    x->waiting = NULL;
    real_enter(l);
    io_complete(op, IO_OK);
    real_leave(l);
}

int io_watch_open(struct io_watch *w, struct io *io)
{
    struct real_loop *l = real_loop(io);
    CD_ASSERT(w->io == NULL);
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return real_status(errno);
    struct watcher *x = cd_new(struct watcher);
    x->loop = l;
    real_watch_init(&x->watch, watcher_ready);
    int rc = real_watch_start(l, &x->watch, fd, EPOLLIN | EPOLLET);
    if (rc != IO_OK) {
        (void)close(fd);
        cd_free(x);
        return rc;
    }
    l->open++;
    w->io = io;
    w->impl = x;
    return IO_OK;
}

int io_watch_add(struct io_watch *w, const char *path, unsigned *dir)
{
    struct watcher *x = w->impl;
    int number = inotify_add_watch(x->watch.fd, path, CHANGES | IN_ONLYDIR | IN_EXCL_UNLINK);
    if (number < 0)
        return errno == ENOTDIR ? IO_NOENT : real_status(errno);
    *dir = (unsigned)number;
    return IO_OK;
}

/* Whether there are events to take. */
static bool fill(struct watcher *x)
{
    ssize_t n;
    if (x->at < x->len)
        return true;
    do {
        n = read(x->watch.fd, x->events, sizeof x->events);
    } while (n < 0 && errno == EINTR);
    x->at = 0;
    x->len = n > 0 ? (size_t)n : 0;
    x->readable = n > 0;
    return n > 0;
}

bool io_watch_next(struct io_watch *w, struct io_change *out)
{
    struct watcher *x = w->impl;
    while (fill(x)) {
        const struct inotify_event *e = (const struct inotify_event *)(const void *)(x->events + x->at);
        x->at += sizeof *e + e->len;
        *out = (struct io_change){.dir = (unsigned)e->wd,
                                  .is_dir = (e->mask & IN_ISDIR) != 0,
                                  .lost = (e->mask & IN_Q_OVERFLOW) != 0};
        if (out->lost)
            return true;
        if ((e->mask & CHANGES) == 0 || e->len == 0)
            continue; /* The directory itself is gone. */
        (void)snprintf(out->name, sizeof out->name, "%s", e->name);
        return true;
    }
    return false;
}

static void wait_cancel(struct io_op *op)
{
    struct watcher *x = op->impl;
    x->waiting = NULL;
    io_complete_later(op, IO_CANCELED);
}

void io_watch_wait(struct io_watch *w, struct io_op *op, io_done_fn *done)
{
    struct watcher *x = w->impl;
    CD_ASSERT(w->io != NULL && x->waiting == NULL);
    if (!real_begin(x->loop, op, done, wait_cancel))
        return;
    op->impl = x;
    if (x->readable && fill(x)) {
        op->cancel = NULL;
        io_complete_later(op, IO_OK);
        return;
    }
    x->waiting = op;
}

static void watcher_free(struct real_grave *g)
{
    cd_free(CD_CONTAINER(g, struct watcher, grave));
}

void io_watch_close(struct io_watch *w)
{
    struct watcher *x = w->impl;
    int fd = x->watch.fd;
    CD_ASSERT(w->io != NULL && x->waiting == NULL);
    real_watch_stop(x->loop, &x->watch);
    (void)close(fd);
    x->loop->open--;
    real_bury(x->loop, &x->grave, watcher_free);
    w->io = NULL;
    w->impl = NULL;
}
