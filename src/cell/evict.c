/* cell/evict.c: out of memory. fleet.md 4.8, 4.9. */
#include "cell/cell_internal.h"
#include "fleet/waker.h"

/* ---- Proof ---- */

/* The cell is about to be released: then its alarm needs somebody who finds it (8.3). */
static bool cover(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    struct cell *c = f->cell;
    struct db_alarm a = db_alarm(c->db);
    c->covered = a.inst_seq;
    if (!a.armed || CD_PLANT("cell.release_without_entry"))
        return true;
    char *scope = cd_str_dup(cd_str(c->scope));
    struct store_alarm entry = {cd_str(scope), {c->epoch, a.inst_seq}, (uint64_t)a.due_ms};
    c->entries = true; /* Also when we do not hear that it is there. */
    int rc = fleet_wake_entry(s->o.io, io_bucket(s->o.io), &entry);
    cd_free(scope);
    return rc == IO_OK || CD_PLANT("cell.entry_unconfirmed");
}

static void prove(struct cell_flow *f)
{
    f->event = CELL_EV_NOT_PROVED;
    if (f->cell == NULL)
        return;
    uint64_t until = io_now_ns(f->shard->o.io) + f->shard->o.limits.proof_ns;
    int rc = cell_flow_proven(f, f->cell->seq, until);
    if (f->cell == NULL)
        return;
    f->cell->refusal = rc == IO_TIMEDOUT ? "durability_timeout" : "durability_failed";
    if (rc == IO_OK && f->cell->release && !cover(f)) {
        rc = IO_FAULT;
        if (f->cell != NULL)
            f->cell->refusal = "alarm_uncovered";
    }
    if (rc == IO_OK)
        f->event = CELL_EV_PROVED;
}

void cell_prove(struct cell *c)
{
    (void)cell_flow_start(c, "prove", prove);
}

/* ---- Putting away ---- */

/* Whether a successor could restore the position that the cell has now (5.8). */
bool cell_restorable(struct cell_flow *f, uint64_t epoch, uint64_t txid, struct log_restore *plan)
{
    struct cell_shard *s = f->shard;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    struct log_restore r = {.io = s->o.io, .bucket = io_bucket(s->o.io), .scope = cd_str(scope)};
    int rc = log_restore(&r);
    cd_free(scope);
    *plan = r;
    if (rc != IO_OK || f->cell == NULL)
        return false;
    if (r.end == LOG_RESTORE_NO_DATA)
        return txid == 0;
    return r.end == LOG_RESTORE_DONE && r.base_epoch == epoch && r.base_txid == txid;
}

/* The record goes to nobody. Its file is gone, and no row of the epoch follows. settled: its alarm is
 * another's matter, or has an entry; else this session answers for it still. */
bool cell_give_back(struct cell_flow *f, uint64_t epoch, bool settled)
{
    struct cell_shard *s = f->shard;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    const struct cell_owned *o = cell_owned(s, cd_str(scope), false);
    char token[IO_TOKEN_MAX] = "";
    if (o != NULL && o->epoch == epoch)
        memcpy(token, o->token, sizeof token);
    int rc = fleet_release(s->o.io, io_bucket(s->o.io), s->o.self, cd_str(scope), epoch,
                           io_now_ns(s->o.io) + s->o.limits.operation_ns, token);
    if (rc == IO_OK) {
        if (f->cell != NULL)
            memcpy(f->cell->leave.token, token, sizeof token);
        CD_MARK("cell.released");
        if (settled)
            log_folder_released(s->o.folder, s->o.io, cd_str(scope), epoch);
        cell_timer_clear(s, cd_str(scope));
        cd_event(s->o.io, CD_DEBUG, "cell_released", CD_Z("scope", scope), CD_U("epoch", epoch));
    }
    if (rc == IO_OK || rc == CD_EFENCED) /* Or it is not ours any more. */
        cell_owned_drop(s, cd_str(scope));
    cd_free(scope);
    return rc == IO_OK; /* Else it may be ours still: we go on answering for it. */
}

static void keep(struct cell_flow *f)
{
    struct cell *c = f->cell;
    f->event = CELL_EV_KEPT;
    if (c == NULL)
        return;
    uint64_t epoch = c->epoch;
    bool wrote = c->txid != 0; /* Else the prefix is as the restore found it. */
    bool release = c->state.handoff || (c->release && db_alarm(c->db).inst_seq == c->covered);
    bool whole = true;
    struct log_restore plan = {0};
    if (wrote) {
        c->tail.epoch = epoch;
        c->tail.txid = c->txid;
        c->tail.seq = c->seq;
        whole = (release && CD_PLANT("cell.release_unfolded")) || cell_fold_tail(f) == IO_OK;
    }
    if (f->cell != NULL && whole && (wrote || release)) {
        struct db_position at = db_position(c->db);
        whole =
            (release && CD_PLANT("cell.release_unfolded")) || cell_restorable(f, at.epoch, at.txid, &plan);
    }
    if (f->cell == NULL)
        return;
    cell_owned_note(c);
    f->shard->shed += c->shed;
    cell_body_close(c, whole && !release && db_position(c->db).txid != 0);
    if (f->cell != NULL && whole && release && cell_give_back(f, epoch, !c->state.handoff))
        f->event = CELL_EV_RELEASED;
    else if (whole && wrote && f->cell != NULL)
        cell_chain_evicted(f->shard, cd_str(c->scope), epoch, &plan, cell_chain_compacts(c));
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
