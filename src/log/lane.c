/* log/lane.c: the leader's side of the feeds: which rows of a shard are proven, in order. */
#include "log/log_internal.h"

static struct lane *lane_of(struct log_feed *f)
{
    struct lane *lane = &f->log->lane[f->loop];
    CD_ASSERT(lane->feed == f);
    return lane;
}

void log_lane_open(struct io *at, struct io_msg *m)
{
    struct log_feed *f = CD_CONTAINER(m, struct log_feed, msg);
    struct log *l = f->log;
    (void)at;
    CD_ASSERT(f->loop < l->lanes);
    struct lane *lane = &l->lane[f->loop];
    CD_ASSERT(lane->feed == NULL && lane->proven == 0 && lane->marks.len == 0); /* Numbers never repeat. */
    lane->feed = f;
    l->busy++;
    if (l->leader.phase == LOG_FENCED)
        log_feed_tell(l, f, 0, true);
}

static uint64_t unproven_max(const struct log *l)
{
    return l->opts.unproven_bytes != 0 ? l->opts.unproven_bytes : LOG_UNPROVEN_BYTES;
}

void log_lane_row(struct io *at, struct io_msg *m)
{
    struct log_row *row = CD_CONTAINER(m, struct log_row, msg);
    struct log *l = row->feed->log;
    struct lane *lane = lane_of(row->feed);
    CD_ASSERT(row->seq == lane->proven + (lane->marks.len - lane->gone) + 1);
    cd_buf_add_byte(&lane->marks, 0);
    row->came_ns = io_now_ns(at);
    l->waiting_rows++;
    l->waiting_bytes += row->ltx.len;
    if (!l->full && l->waiting_bytes > LOG_WAITING_BYTES) {
        l->full = true;
        cd_event_to(l->io, CD_WARN, "log", "log_backlog_full", CD_U("rows", l->waiting_rows),
                    CD_U("bytes", l->waiting_bytes), CD_U("in_flight", l->leader.backlog_batches));
    }
    l->unproven_bytes += row->ltx.len;
    if (!l->refuses && l->unproven_bytes > unproven_max(l)) {
        l->refuses = true;
        log_pump(l);
    }
    log_take(l, row);
}

void log_lane_done(struct log *l, const struct log_row *row)
{
    struct lane *lane = &l->lane[row->loop];
    CD_ASSERT(row->seq > lane->proven && row->seq - lane->proven <= lane->marks.len - lane->gone);
    lane->marks.ptr[lane->gone + (row->seq - lane->proven) - 1] = 1;
    l->unproven_bytes -= row->ltx.len;
    if (l->unproven_bytes <= unproven_max(l) / 2)
        l->refuses = false;
    while (lane->gone < lane->marks.len && lane->marks.ptr[lane->gone] == 1) {
        lane->gone++;
        lane->proven++;
    }
    if (lane->gone == lane->marks.len || lane->gone > 4096) {
        cd_buf_drop(&lane->marks, lane->gone);
        lane->gone = 0;
    }
}

void log_lanes_tell(struct log *l)
{
    for (unsigned i = 0; i < l->lanes; i++) {
        struct lane *lane = &l->lane[i];
        bool news = lane->told != lane->proven || lane->told_full != l->refuses;
        if (!news || l->leader.phase == LOG_FENCED)
            continue;
        lane->told = lane->proven;
        lane->told_full = l->refuses;
        if (lane->feed != NULL)
            log_feed_tell(l, lane->feed, lane->proven, false);
    }
}

void log_lanes_lost(struct log *l)
{
    for (unsigned i = 0; i < l->lanes; i++)
        if (l->lane[i].feed != NULL)
            log_feed_tell(l, l->lane[i].feed, l->lane[i].told, true);
}

/* ---- A reset ---- */

struct dropping {
    struct log *log;
    struct log_drop *drop;
};

static void dropped(void *arg, struct log_row *row)
{
    struct dropping *g = arg;
    if (row->min_txid > 0 && row->min_txid - 1 < g->drop->cut_txid)
        g->drop->cut_txid = row->min_txid - 1;
    g->log->waiting_rows--;
    g->log->waiting_bytes -= row->ltx.len;
    log_lane_done(g->log, row);
}

/* Wrong, and planted: takes cut rows with it, whose batch is then never stored. */
static void drop_cut_rows(struct log *l, struct cd_str scope)
{
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++) {
        struct carrier *c = &l->carrier[i];
        for (uint64_t n = c->first; c->slot != 0 && n != 0 && n <= c->batch; n++) {
            struct cut_batch *b = log_batch_at(l, n);
            for (struct cd_link *k = cd_list_first(&b->rows); k != NULL; k = cd_list_next(&b->rows, k))
                if (cd_str_eq(cd_str(CD_CONTAINER(k, struct log_row, link)->scope), scope))
                    c->op = 0;
        }
    }
}

void log_lane_drop(struct io *at, struct io_msg *m)
{
    struct log_drop *d = CD_CONTAINER(m, struct log_drop, msg);
    struct log_feed *f = d->feed;
    struct log *l = f->log;
    CD_ASSERT(lane_of(f)->feed == f);
    struct cd_str scope = cd_str(d->scope);
    struct dropping g = {l, d};
    d->status = l->leader.phase == LOG_FENCED ? CD_EFENCED : IO_OK;
    for (struct cd_link *k = cd_list_first(&l->waiting), *next; d->status == IO_OK && k != NULL; k = next) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        next = cd_list_next(&l->waiting, k);
        if (row->epoch != d->epoch || !cd_str_eq(cd_str(row->scope), scope))
            continue;
        CD_MARK("log.row_dropped");
        cd_link_remove(k);
        dropped(&g, row);
        log_row_free(row);
    }
    if (d->status == IO_OK) {
        log_apart_drop(l, scope, d->epoch, dropped, &g);
        if (CD_PLANT("log.drop-cut"))
            drop_cut_rows(l, scope);
    }
    log_pump(l);
    d->msg.handle = log_feed_dropped;
    io_post(at, f->loop, &d->msg);
}

void log_lane_close(struct io *at, struct io_msg *m)
{
    struct log_feed *f = CD_CONTAINER(m, struct log_feed, bye);
    struct log *l = f->log;
    lane_of(f)->feed = NULL;
    f->bye.handle = log_feed_closed;
    io_post(at, f->loop, &f->bye);
    log_ended(l);
}
