/* cell/body.c: the database of a cell, the storage in it, and the rows that come out of them. */
#include "cell/cell_internal.h"
#include "log/row.h"
#include "store/wake.h"

void cell_dir(struct cd_buf *out, const struct cell_shard *s, struct cd_str scope, uint64_t epoch)
{
    cd_buf_addf(out, "%s/cells/%.*s/e%llu", s->o.data_dir, (int)scope.len, scope.ptr,
                (unsigned long long)epoch);
}

int cell_dir_make(const struct cell_shard *s, struct cd_str scope, uint64_t epoch, struct cd_buf *out,
                  struct cd_buf *why)
{
    cell_dir(out, s, scope, epoch);
    char *path = cd_buf_reserve(out, 1);
    (void)cd_buf_cstr(out);
    /* Level by level, from the data directory on. */
    for (size_t at = strlen(s->o.data_dir) + 1; at <= out->len; at++) {
        path = out->ptr;
        if (at < out->len && path[at] != '/')
            continue;
        char kept = path[at];
        path[at] = '\0';
        int rc = io_path_mkdir(s->o.io, path);
        if (rc != 0 && rc != IO_EXISTS) {
            cd_buf_addf(why, "%s: %s", path, cd_err_text(rc));
            path[at] = kept;
            return rc;
        }
        path[at] = kept;
    }
    return 0;
}

/* ---- From commits to rows ---- */

static void hand_over(struct cell *c, struct log_row *row, const struct db_alarm *a)
{
    row->alarm = (struct log_alarm){a->armed, a->armed ? a->due_ms : 0, a->inst_seq};
    c->seq = log_feed_row(c->shard->feed, row);
    cell_alarm_committed(c, a->armed, a->due_ms, a->inst_seq);
}

static void committed(void *arg, struct db_commit *d)
{
    struct cell *c = arg;
    struct log_row *row = log_row_new(cd_str(c->scope), c->epoch);
    row->min_txid = d->min_txid;
    row->max_txid = d->max_txid;
    row->ltx = cd_buf_move(&d->ltx);
    c->txid = d->max_txid;
    hand_over(c, row, &d->alarm);
    if (c->mark.seq == 0 || cell_proven(c, c->mark.seq)) {
        c->mark.proven_txid = c->mark.txid;
        c->mark.seq = c->seq;
        c->mark.txid = c->txid;
    }
}

void cell_body_alarm(struct cell *c, bool note)
{
    struct cell_shard *s = c->shard;
    struct db_alarm a = db_alarm(c->db);
    if (!a.armed)
        return;
    if (note) {
        struct log_row *row = log_row_new(cd_str(c->scope), c->epoch);
        row->kind = LOG_ROW_NOTE;
        hand_over(c, row, &a);
    }
    struct store_alarm duty = {cd_str(c->scope), {c->epoch, a.inst_seq}, (uint64_t)a.due_ms};
    log_folder_alarm(s->o.folder, s->o.io, &duty);
}

static int begin(void *arg, struct cd_buf *why)
{
    return db_begin(((struct cell *)arg)->db, why);
}

static int commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    struct cell *c = arg;
    struct db_alarm before = db_alarm(c->db);
    if (alarm->inst_seq != before.inst_seq)
        db_alarm_changed(c->db);
    return db_commit(c->db, why);
}

static void rollback(void *arg)
{
    db_rollback(((struct cell *)arg)->db);
}

static int open_storage(struct cell *c, struct cd_buf *why)
{
    return storage_open(
        &c->storage,
        &(struct storage_opts){
            .sqlite = db_sqlite(c->db), .begin = begin, .commit = commit, .rollback = rollback, .arg = c},
        why);
}

/* What the database says of the cell itself. */
static void learn(struct cell *c)
{
    struct cd_buf name = {0};
    if (storage_name(c->storage, &name) == 0) {
        cd_buf_deinit(&c->name);
        c->name = cd_buf_move(&name);
        c->named = true;
    } else {
        c->named = false;
    }
    cd_buf_deinit(&name);
    struct storage_alarm a = storage_alarm(c->storage);
    c->had_alarm = a.inst_seq > 0;
}

int cell_body_open(struct cell *c, struct cd_str dir, uint64_t base_epoch, uint64_t base_txid,
                   struct cd_buf *why)
{
    char *path = cd_str_dup(dir);
    int rc = db_open(&c->db,
                     &(struct db_opts){.host = c->shard->host,
                                       .dir = path,
                                       .scope = cd_str(c->scope),
                                       .epoch = c->epoch,
                                       .base = {base_epoch, base_txid},
                                       .page_size = c->shard->o.limits.page_size,
                                       .commit = committed,
                                       .arg = c},
                     why);
    cd_free(path);
    if (rc != 0)
        return rc;
    rc = open_storage(c, why);
    if (rc != 0) {
        db_close(c->db);
        c->db = NULL;
        return rc;
    }
    c->txid = c->seq = 0;
    c->mark.txid = c->mark.seq = c->mark.proven_txid = 0;
    c->storage_used = false;
    learn(c);
    return 0;
}

int cell_body_restart(struct cell *c, struct cd_buf *why)
{
    storage_close(c->storage);
    c->storage = NULL;
    c->storage_used = false;
    return open_storage(c, why);
}

void cell_body_close(struct cell *c, bool keep)
{
    if (c->storage != NULL)
        storage_close(c->storage);
    c->storage = NULL;
    if (c->db == NULL)
        return;
    /* Keeping it waits for the disk: a fence may come meanwhile, and c be forgotten. */
    struct cell_shard *s = c->shard;
    struct db *db = c->db;
    uint64_t epoch = c->epoch;
    c->db = NULL;
    struct cd_buf why = {0};
    struct cd_buf scope = {0};
    struct cd_buf dir = {0};
    cd_buf_add_str(&scope, cd_str(c->scope));
    cell_dir(&dir, s, cd_str(c->scope), c->epoch);
    keep = keep && s->o.limits.cache_bytes > 0;
    if (!keep || db_close_snapshot(db, s->o.limits.verify_local, &why) != 0) {
        if (keep)
            cd_event(s->o.io, CD_WARN, "cell_snapshot_failed", CD_S("scope", cd_buf_str(&scope)),
                     CD_S("why", cd_buf_str(&why)));
        else
            db_close(db);
        int rc = db_remove(s->o.io, cd_buf_cstr(&dir));
        CD_MAYBE(rc == 0); /* The next start sweeps what stays. */
    } else {
        cell_cache_kept(s, cd_buf_str(&scope), epoch);
    }
    cd_buf_deinit(&why);
    cd_buf_deinit(&scope);
    cd_buf_deinit(&dir);
}
