#include "log/feed.h"

#include "io/backend.h"
#include "log/log_internal.h"

struct log_feed *log_feed_open(struct log *log, struct io *io)
{
    struct log_feed *f = cd_new(struct log_feed);
    f->log = log;
    f->io = io;
    f->loop = io_loop_index(io);
    cd_list_init(&f->waits);
    io_signal_init(&f->closed);
    f->msg.handle = log_lane_open;
    io_post(io, 0, &f->msg);
    return f;
}

/* ---- Waiting for proofs ---- */

static struct log_wait *wait_of(struct cd_link *k)
{
    return CD_CONTAINER(CD_CONTAINER(k, struct io_op, link), struct log_wait, op);
}

static void wait_cancel(struct io_op *op)
{
    cd_link_remove(&op->link);
    io_complete_later(op, IO_CANCELED);
}

void log_feed_wait(struct log_feed *f, struct log_wait *w, io_done_fn *done)
{
    io_begin(&w->op, f->io, done);
    w->op.cancel = wait_cancel;
    if (w->seq <= f->proven || f->lost || f->closing) {
        io_complete_later(&w->op, w->seq <= f->proven ? IO_OK : f->lost ? CD_EFENCED : IO_CANCELED);
        return;
    }
    struct cd_link *at = &f->waits.head; /* Before this one; from the back, where it nearly always belongs. */
    while (at->prev != &f->waits.head && wait_of(at->prev)->seq > w->seq)
        at = at->prev;
    cd_list_insert_before(at, &w->op.link);
}

static void waits_end(struct log_feed *f)
{
    struct cd_link *k;
    while ((k = cd_list_first(&f->waits)) != NULL) {
        bool proven = wait_of(k)->seq <= f->proven;
        if (!proven && !f->lost && !f->closing)
            return;
        cd_link_remove(k);
        io_complete_later(CD_CONTAINER(k, struct io_op, link), proven    ? IO_OK
                                                               : f->lost ? CD_EFENCED
                                                                         : IO_CANCELED);
    }
}

/* ---- What the leader says ---- */

struct news {
    struct io_msg msg;
    struct log_feed *feed;
    uint64_t proven;
    bool lost, full;
};

static void news_come(struct io *at, struct io_msg *m)
{
    struct news *n = CD_CONTAINER(m, struct news, msg);
    struct log_feed *f = n->feed;
    (void)at;
    if (n->proven > f->proven)
        f->proven = n->proven;
    f->lost = f->lost || n->lost;
    f->full = n->full;
    cd_free(n);
    waits_end(f);
}

void log_feed_tell(const struct log *l, struct log_feed *f, uint64_t proven, bool lost)
{
    struct news *n = cd_new(struct news);
    *n =
        (struct news){.msg.handle = news_come, .feed = f, .proven = proven, .lost = lost, .full = l->refuses};
    io_post(l->io, f->loop, &n->msg);
}

/* ---- Rows, resets, the end ---- */

uint64_t log_feed_row(struct log_feed *f, struct log_row *row)
{
    CD_ASSERT(!f->closing && row->kind != LOG_ROW_APART);
    CD_ASSERT(row->kind == LOG_ROW_NOTE
                  ? row->ltx.len == 0 && row->min_txid == 0 && row->max_txid == 0
                  : row->ltx.len > 0 && row->min_txid > 0 && row->min_txid <= row->max_txid);
    row->seq = ++f->last;
    row->loop = f->loop;
    row->feed = f;
    row->msg.handle = log_lane_row;
    io_post(f->io, 0, &row->msg);
    return f->last;
}

uint64_t log_feed_last(const struct log_feed *f)
{
    return f->last;
}

uint64_t log_feed_proven(const struct log_feed *f)
{
    return f->proven;
}

bool log_feed_full(const struct log_feed *f)
{
    return f->full;
}

bool log_feed_lost(const struct log_feed *f)
{
    return f->lost;
}

void log_feed_drop(struct log_feed *f, struct log_drop *d, io_done_fn *done)
{
    CD_ASSERT(!f->closing);
    io_begin(&d->op, f->io, done); /* Cannot be hurried: the leader looks at it. */
    d->feed = f;
    d->msg.handle = log_lane_drop;
    f->drops++;
    io_post(f->io, 0, &d->msg);
}

void log_feed_dropped(struct io *at, struct io_msg *m)
{
    struct log_drop *d = CD_CONTAINER(m, struct log_drop, msg);
    (void)at;
    d->feed->drops--;
    io_complete_later(&d->op, d->status);
}

void log_feed_close(struct log_feed *f, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!f->closing);
    f->closing = true;
    waits_end(f);
    io_signal_wait(&f->closed, f->io, op, done);
    f->bye.handle = log_lane_close;
    io_post(f->io, 0, &f->bye);
}

void log_feed_closed(struct io *at, struct io_msg *m)
{
    struct log_feed *f = CD_CONTAINER(m, struct log_feed, bye);
    (void)at;
    CD_ASSERT(f->drops == 0 && cd_list_empty(&f->waits));
    io_signal_wake(&f->closed, IO_OK);
    cd_free(f);
}
