/* io_sim/watch.c: watching directories of a simulated disk. Every change of a name or of a file's bytes is
 * told to all who watch its directory, in whatever process they are; a queue that is full becomes one "lost".
 */
#include <stdio.h>

#include "io_sim/fs.h"

#define QUEUE_MAX 1024u

struct watcher {
    struct cd_link link; /* Of sim_loop.watches. */
    struct cd_link told; /* Of sim_fs.watches. */
    struct sim_loop *loop;
    struct sim_inode **dir; /* owned, each of them held; its index is its number */
    unsigned dirs;
    struct cd_buf queue; /* struct io_change, oldest first */
    struct sim_event *waiting; /* NULL: nobody waits. */
};

int io_watch_open(struct io_watch *w, struct io *io)
{
    struct sim_loop *loop = sim_loop_of(io);
    CD_ASSERT(w->io == NULL);
    int rc = sim_call(loop, SIM_WATCH_OPEN);
    if (rc != 0)
        return rc;
    struct watcher *x = cd_new(struct watcher);
    x->loop = loop;
    cd_list_push(&loop->watches, &x->link);
    cd_list_push(&sim_fs(loop->node)->watches, &x->told);
    w->io = io;
    w->impl = x;
    return 0;
}

static unsigned number_of(struct watcher *x, struct sim_inode *dir)
{
    unsigned n = 0;
    while (n < x->dirs && x->dir[n] != dir)
        n++;
    return n;
}

int io_watch_add(struct io_watch *w, const char *path, unsigned *out)
{
    struct watcher *x = w->impl;
    struct sim_inode *dir;
    int rc = sim_call(x->loop, SIM_WATCH_ADD);
    if (rc != 0)
        return rc;
    rc = sim_fs_find(sim_fs(x->loop->node), path, false, &dir);
    if (rc == 0 && !dir->dir)
        rc = IO_NOENT;
    sim_note(x->loop, SIM_WATCH_ADD, rc, NULL, 0, path);
    if (rc != 0)
        return rc;
    unsigned number = number_of(x, dir);
    if (number == x->dirs) {
        x->dir = cd_realloc(x->dir, (x->dirs + 1) * sizeof(struct sim_inode *));
        x->dir[x->dirs++] = dir;
        sim_inode_hold(dir);
    }
    *out = number;
    return 0;
}

/* ---- Changes ---- */

static void enqueue(struct watcher *x, unsigned dir, struct cd_str name, bool is_dir)
{
    struct io_change c = {.dir = dir, .is_dir = is_dir};
    size_t count = x->queue.len / sizeof c;
    if (count == QUEUE_MAX)
        return; /* The last one says "lost". */
    if (count == QUEUE_MAX - 1)
        c = (struct io_change){.lost = true};
    else
        (void)snprintf(c.name, sizeof c.name, "%.*s", (int)name.len, name.ptr);
    cd_buf_add(&x->queue, &c, sizeof c);
    if (x->waiting != NULL) {
        struct sim_event *e = x->waiting;
        x->waiting = NULL;
        e->drop = NULL;
        sim_op_finish(e, IO_OK, 0);
    }
}

void sim_watch_tell(struct sim_inode *dir, struct cd_str name, bool is_dir)
{
    for (struct cd_link *k = cd_list_first(&dir->fs->watches); k != NULL;
         k = cd_list_next(&dir->fs->watches, k)) {
        struct watcher *x = CD_CONTAINER(k, struct watcher, told);
        unsigned number = number_of(x, dir);
        if (number < x->dirs && !x->loop->frozen)
            enqueue(x, number, name, is_dir);
    }
}

void sim_watch_tell_path(struct sim_fs *fs, const char *path)
{
    struct sim_inode *dir;
    struct cd_str name;
    if (!cd_list_empty(&fs->watches) && sim_fs_parent(fs, path, false, &dir, &name) == 0)
        sim_watch_tell(dir, name, false);
}

bool io_watch_next(struct io_watch *w, struct io_change *out)
{
    struct watcher *x = w->impl;
    if (x->queue.len == 0)
        return false;
    memcpy(out, x->queue.ptr, sizeof *out);
    cd_buf_drop(&x->queue, sizeof *out);
    return true;
}

/* ---- Waiting ---- */

static void wait_drop(struct sim *sim, struct sim_event *e)
{
    (void)sim;
    ((struct watcher *)e->owner)->waiting = NULL;
}

void io_watch_wait(struct io_watch *w, struct io_op *op, io_done_fn *done)
{
    struct watcher *x = w->impl;
    CD_ASSERT(w->io != NULL && x->waiting == NULL);
    struct sim_event *e = sim_op_begin(op, w->io, done, SIM_WATCH_WAIT);
    if (e == NULL)
        return;
    if (x->queue.len > 0) {
        sim_op_finish(e, IO_OK, 0);
        return;
    }
    e->owner = x;
    e->drop = wait_drop;
    x->waiting = e;
}

void io_watch_close(struct io_watch *w)
{
    struct watcher *x = w->impl;
    CD_ASSERT(w->io != NULL && x->waiting == NULL);
    for (unsigned i = 0; i < x->dirs; i++)
        sim_inode_release(x->dir[i]);
    cd_link_remove(&x->link);
    cd_link_remove(&x->told);
    cd_buf_deinit(&x->queue);
    cd_free(x->dir);
    cd_free(x);
    w->io = NULL;
    w->impl = NULL;
}

size_t sim_watches_left(struct sim_loop *loop, struct cd_buf *report)
{
    size_t n = 0;
    for (struct cd_link *k = cd_list_first(&loop->watches); k != NULL; k = cd_list_next(&loop->watches, k)) {
        n++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u watch\n", loop->node->name, loop->index);
    }
    return n;
}
