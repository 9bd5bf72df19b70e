/* cell/evict.c: out of memory. fleet.md 4.8, 4.9. */
#include "cell/cell_internal.h"
#include "log/restore.h"

/* ---- Proof ---- */

static void prove(struct cell_flow *f)
{
    if (f->cell == NULL)
        return;
    uint64_t until = io_now_ns(f->shard->o.io) + f->shard->o.limits.proof_ns;
    int rc = cell_flow_proven(f, f->cell->seq, until);
    f->event = rc == IO_OK ? CELL_EV_PROVED : CELL_EV_NOT_PROVED;
}

void cell_prove(struct cell *c)
{
    (void)cell_flow_start(c, "prove", prove);
}

/* ---- Putting away ---- */

/* Whether a successor could restore the position that the cell has now (5.8). */
static bool restorable(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    struct db_position at = db_position(f->cell->db);
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    struct log_restore r = {.io = s->o.io, .bucket = io_bucket(s->o.io), .scope = cd_str(scope)};
    int rc = log_restore(&r);
    cd_free(scope);
    return rc == IO_OK && r.end == LOG_RESTORE_DONE && r.base_epoch == at.epoch && r.base_txid == at.txid;
}

static void keep(struct cell_flow *f)
{
    struct cell *c = f->cell;
    f->event = CELL_EV_KEPT;
    if (c == NULL)
        return;
    bool keep = c->txid == 0; /* It wrote nothing: the prefix is as the restore found it. */
    if (!keep) {
        c->tail.epoch = c->epoch;
        c->tail.txid = c->txid;
        c->tail.seq = c->seq;
        keep = cell_fold_tail(f) == IO_OK && f->cell != NULL && restorable(f);
    } else {
        keep = db_position(c->db).txid != 0;
    }
    if (f->cell != NULL)
        cell_body_close(f->cell, keep);
}

void cell_keep(struct cell *c)
{
    (void)cell_flow_start(c, "snapshot", keep);
}

/* ---- Discarding ---- */

static void discard(struct cell_flow *f)
{
    struct cell *c = f->cell;
    f->event = CELL_EV_DISCARDED;
    if (c == NULL)
        return;
    if (c->txid != 0) {
        char *scope = cd_str_dup(cd_str(c->scope));
        struct log_drop d = {.scope = scope, .epoch = c->epoch, .cut_txid = c->txid};
        log_feed_drop(f->shard->feed, &d, NULL);
        int rc = io_await(&d.op, IO_FOREVER); /* A message to the control loop and back. */
        cd_free(scope);
        if (f->cell == NULL)
            return;
        if (rc == IO_OK && d.cut_txid != 0) {
            c->tail.epoch = c->epoch;
            c->tail.txid = d.cut_txid;
            c->tail.seq = c->seq;
        }
    }
    cell_body_close(c, false);
}

void cell_discard(struct cell *c)
{
    (void)cell_flow_start(c, "reset", discard);
}
