/* cell/activate.c: from a name to an open database. fleet.md 4.4, 7.7.
 *
 * The flow holds a permit and a slot. After each await the cell may be gone (a fence): nothing is touched
 * then. A claim that is not used is harmless: the next one takes a higher epoch. */
#include "cell/cell_internal.h"

static void fail(struct cell_flow *f, bool retryable, const char *what, const char *why)
{
    f->event = CELL_EV_FAILED;
    f->retryable = retryable;
    cd_buf_clear(&f->why);
    cd_buf_addf(&f->why, "%s: %s", what, why);
}

/* True: the cell is ours, at a new epoch. */
static bool claim(struct cell_flow *f, struct fleet_claim *out)
{
    struct cell_shard *s = f->shard;
    struct io *io = s->o.io;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    uint64_t until = io_now_ns(io) + s->o.limits.operation_ns;
    *out = (struct fleet_claim){.io = io,
                                .bucket = io_bucket(io),
                                .self = s->o.self,
                                .scope = cd_str(scope),
                                .only_ours = cell_only_foreign(f->cell),
                                .look_only = s->draining,
                                .deadline_ns = until,
                                .recovery_deadline_ns = until};
    struct cell_owned *o = cell_owned(s, cd_str(scope), false);
    int rc = IO_OK;
    /* The epoch that it was adopted at is one that nobody has used: it needs no other. */
    if (o != NULL && o->adopted && !s->draining && fleet_authoritative(s->o.self->authority, io_now_ns(io))) {
        out->end = FLEET_CLAIM_OWNED;
        out->from = FLEET_CLAIM_RELEASED;
        out->epoch = o->epoch;
        memcpy(out->token, o->token, sizeof out->token);
    } else {
        rc = fleet_claim(out);
    }
    cd_free(scope);
    out->scope = (struct cd_str){0};
    if (f->cell == NULL)
        return false;
    if (rc != IO_OK) {
        fail(f, true, "the cell could not be claimed", cd_err_text(rc));
        return false;
    }
    switch (out->end) {
    case FLEET_CLAIM_OWNED: return true;
    case FLEET_CLAIM_RECOVERING: f->event = CELL_EV_RECOVERING; return false;
    case FLEET_CLAIM_REMOTE:
    case FLEET_CLAIM_NOT_OURS:
        if (s->o.router->tunnels == NULL) {
            fail(f, true, "another node owns the cell", out->owner);
            return false;
        }
        cell_owned_drop(s, cd_str(f->cell->scope));
        cell_route_set(f->cell, out);
        f->event = CELL_EV_REMOTE;
        return false;
    case FLEET_CLAIM_LOOKED:
        fail(f, true, "the cell could not be claimed", "the node is stopping");
        return false;
    case FLEET_CLAIM_REFUSED:
    case FLEET_CLAIM_FAILED:
        fail(f, !out->unreadable, "the cell could not be claimed", out->why);
        return false;
    }
    CD_UNREACHABLE();
}

int cell_fold_tail(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    if (f->cell->tail.txid == 0)
        return IO_OK;
    uint64_t until = io_now_ns(s->o.io) + s->o.limits.operation_ns;
    uint64_t epoch = f->cell->tail.epoch;
    uint64_t upto = f->cell->tail.txid;
    int rc = cell_flow_proven(f, f->cell->tail.seq, until);
    if (rc != IO_OK || f->cell == NULL)
        return rc != IO_OK ? rc : IO_CANCELED;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    struct log_fold w = {.scope = scope, .epoch = epoch, .upto = upto};
    log_fold(s->o.folder, s->o.io, &w, NULL);
    rc = io_await(&w.op, until);
    cd_free(scope);
    if (rc == IO_OK && f->cell != NULL && f->cell->tail.epoch == epoch && f->cell->tail.txid == upto)
        f->cell->tail.txid = 0;
    return rc;
}

/* A snapshot that this node kept of the epoch before. False: there is none to use. */
static bool reuse(struct cell_flow *f, uint64_t epoch, struct cd_str dir, struct db_position *base)
{
    struct cell_shard *s = f->shard;
    struct cd_buf old = {0};
    struct cd_buf why = {0};
    struct db_snapshot found;
    char *to = cd_str_dup(dir);
    cell_dir(&old, s, cd_str(f->cell->scope), epoch - 1);
    int rc = db_snapshot_take(s->o.io, cd_buf_cstr(&old), cd_str(f->cell->scope), epoch - 1, to,
                              s->o.limits.verify_local, &found, &why);
    if (rc == CD_ECORRUPT)
        cd_event(s->o.io, CD_WARN, "cell_snapshot_refused", CD_Z("scope", f->cell->scope),
                 CD_S("why", cd_buf_str(&why)));
    if (rc == 0) {
        *base = found.at;
        cell_cache_taken(s, cd_str(f->cell->scope)); /* Whoever reads the file stops before it changes. */
    }
    cd_free(to);
    cd_buf_deinit(&old);
    cd_buf_deinit(&why);
    return rc == 0;
}

/* From the bucket. */
static int restore(struct cell_flow *f, uint64_t epoch, struct cd_str dir, struct db_position *base,
                   struct log_restore *out)
{
    struct cell_shard *s = f->shard;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    struct cd_buf path = {0};
    cd_buf_addf(&path, "%.*s/db.sqlite", (int)dir.len, dir.ptr);
    struct log_restore r = {.io = s->o.io,
                            .bucket = io_bucket(s->o.io),
                            .scope = cd_str(scope),
                            .epoch = epoch,
                            .path = cd_buf_cstr(&path),
                            .zstd = db_host_zstd(s->host)};
    int rc = log_restore(&r);
    cd_free(scope);
    cd_buf_deinit(&path);
    if (f->cell == NULL)
        return IO_CANCELED;
    if (rc == IO_OK && r.end != LOG_RESTORE_DONE && r.end != LOG_RESTORE_NO_DATA) {
        cd_event(s->o.io, CD_ERROR, "cell_restore_failed", CD_Z("scope", f->cell->scope),
                 CD_Z("end", log_restore_end_name(r.end)), CD_Z("why", r.why));
        fail(f, r.end == LOG_RESTORE_FAILED, "the cell could not be restored", r.why);
        return IO_FAULT;
    }
    if (rc != IO_OK)
        fail(f, true, "the cell could not be restored", cd_err_text(rc));
    *out = r;
    *base =
        r.end == LOG_RESTORE_DONE ? (struct db_position){r.base_epoch, r.base_txid} : (struct db_position){0};
    return rc;
}

static void open_database(struct cell_flow *f, const struct fleet_claim *claimed)
{
    struct cell_shard *s = f->shard;
    struct cd_buf dir = {0};
    struct cd_buf why = {0};
    struct db_position base = {0};
    struct log_restore restored = {.end = LOG_RESTORE_FAILED};
    int rc = cell_dir_make(s, cd_str(f->cell->scope), claimed->epoch, &dir, &why);
    if (rc == 0 && claimed->from != FLEET_CLAIM_FRESH &&
        !(claimed->from == FLEET_CLAIM_LOCAL && reuse(f, claimed->epoch, cd_buf_str(&dir), &base))) {
        rc = restore(f, claimed->epoch, cd_buf_str(&dir), &base, &restored);
        if (rc != IO_OK)
            goto done;
    }
    if (rc == 0)
        rc = cell_body_open(f->cell, cd_buf_str(&dir), base.epoch, base.txid, &why);
    if (rc != 0) {
        fail(f, true, "the cell's database could not be opened", cd_buf_cstr(&why));
        goto done;
    }
    cell_chain_opened(f->cell, restored.end == LOG_RESTORE_DONE ? &restored : NULL);
    /* The alarm that came with the data is this session's duty from now on: whatever shows it to anybody has
     * the note in the log before it. */
    bool foreign = claimed->from != FLEET_CLAIM_LOCAL || strcmp(claimed->prior, s->o.self->session) != 0;
    cell_body_alarm(f->cell, foreign);
    /* What is left of an earlier residence here counts too. */
    f->cell->entries = f->cell->entries || (foreign && claimed->from != FLEET_CLAIM_FRESH);
    f->cell->retiring = false;
    f->event = CELL_EV_OPENED;
    cd_event(s->o.io, CD_DEBUG, "cell_opened", CD_Z("scope", f->cell->scope), CD_U("epoch", claimed->epoch));
done:
    if (f->event != CELL_EV_OPENED && dir.len > 0) {
        rc = db_remove(s->o.io, cd_buf_cstr(&dir));
        CD_MAYBE(rc == 0); /* The next start sweeps what stays. */
    }
    cd_buf_deinit(&dir);
    cd_buf_deinit(&why);
}

static void activate(struct cell_flow *f)
{
    struct fleet_claim claimed;
    if (f->cell == NULL || !claim(f, &claimed))
        return;
    f->cell->epoch = claimed.epoch;
    struct cell_owned *o = cell_owned(f->shard, cd_str(f->cell->scope), true);
    f->cell->entries = f->cell->entries || o->entries;
    *o = (struct cell_owned){.epoch = claimed.epoch};
    memcpy(o->token, claimed.token, sizeof o->token);
    cell_feed(f->cell, CELL_EV_CLAIMED);
    int rc = cell_fold_tail(f);
    if (f->cell == NULL)
        return;
    if (rc != IO_OK) {
        fail(f, true, "what the log holds of the cell could not be folded", cd_err_text(rc));
        return;
    }
    cell_feed(f->cell, CELL_EV_FOLDED);
    open_database(f, &claimed);
}

void cell_activate(struct cell *c)
{
    (void)cell_flow_start(c, "activate", activate);
}
