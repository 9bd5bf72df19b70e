#include "world.h"

#include "log/bytes.h"

void world_break(struct world *w, const char *rule, const char *format, ...)
{
    if (w->broken != NULL)
        return;
    w->broken = rule;
    va_list args;
    va_start(args, format);
    cd_buf_addf(&w->why, "seed %llu at %llu us: %s: ", (unsigned long long)w->opts.seed,
                (unsigned long long)(sim_now_ns(w->sim) / 1000), rule);
    cd_buf_vaddf(&w->why, format, args);
    va_end(args);
}

/* ---- Rows ---- */

static void row_key(struct cd_buf *out, const char *scope, size_t len, uint64_t epoch, uint64_t txid)
{
    cd_buf_addf(out, "%.*s/%llu/%llu", (int)len, scope, (unsigned long long)epoch, (unsigned long long)txid);
}

static struct world_row *row_find(struct world *w, struct cd_str scope, uint64_t epoch, uint64_t txid)
{
    struct cd_buf key = {0};
    row_key(&key, scope.ptr, scope.len, epoch, txid);
    struct world_row *r = cd_map_get(&w->row, cd_buf_str(&key));
    cd_buf_deinit(&key);
    return r;
}

static char byte_of(uint64_t epoch, uint64_t txid, size_t at)
{
    return (char)('a' + (epoch * 7 + txid * 3 + at) % 26);
}

struct log_row *world_row_new(struct world_shard *s, struct world_cell *c, size_t len)
{
    struct world_row *r = cd_new(struct world_row);
    struct log_row *row = log_row_new(cd_str(c->scope), c->epoch);
    struct cd_buf key = {0};
    row->min_txid = row->max_txid = ++c->txid;
    for (size_t i = 0; i < len; i++)
        cd_buf_add_byte(&row->ltx, byte_of(c->epoch, c->txid, i));
    (void)snprintf(r->scope, sizeof r->scope, "%s", c->scope);
    r->epoch = c->epoch;
    r->txid = c->txid;
    r->len = len;
    row_key(&key, c->scope, strlen(c->scope), r->epoch, r->txid);
    assert_null(cd_map_put(&s->w->row, cd_buf_str(&key), r));
    cd_buf_deinit(&key);
    if (s->rows == s->cap) {
        s->cap = s->cap == 0 ? 64 : s->cap * 2;
        s->row = cd_realloc(s->row, s->cap * sizeof *s->row);
    }
    s->row[s->rows++] = r;
    return row;
}

/* ---- The bucket ---- */

static bool bytes_right(const struct world_row *r, struct cd_str bytes)
{
    bool right = bytes.len == r->len;
    for (size_t i = 0; right && i < bytes.len; i++)
        right = bytes.ptr[i] == byte_of(r->epoch, r->txid, i);
    return right;
}

static void batch_came(struct world *w, uint64_t slot, const struct log_batch *b)
{
    struct cd_str rest = b->table;
    struct log_entry e;
    while (log_batch_next(b, &rest, &e)) {
        struct world_row *r = row_find(w, e.cell, e.epoch, e.min_txid);
        if (r == NULL || r->slot != 0 || r->dropped)
            world_break(w, "C-LOG", "slot %llu has row %llu of %.*s: %s", (unsigned long long)slot,
                        (unsigned long long)e.min_txid, (int)e.cell.len, e.cell.ptr,
                        r == NULL      ? "nobody committed it"
                        : r->slot != 0 ? "another slot has it too"
                                       : "it was dropped at a reset");
        else if (e.kind == LOG_ROW_BYTES && !bytes_right(r, e.ltx))
            world_break(w, "C-LOG", "slot %llu has other bytes of %s", (unsigned long long)slot, r->scope);
        if (r == NULL)
            return;
        r->slot = slot;
        r->apart = e.kind == LOG_ROW_APART;
        memcpy(r->id, e.id, sizeof r->id);
    }
}

static void slot_came(struct world *w, uint64_t slot, struct cd_str bytes)
{
    struct log_slot s;
    struct cd_buf why = {0};
    if (log_slot_open(&s, bytes, CD_STR(SESSION), slot, &why) != 0) {
        world_break(w, "C-LOG", "slot %llu: %s", (unsigned long long)slot, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return;
    }
    for (size_t i = 0; i < log_slot_batches(&s); i++) {
        struct log_batch b;
        if (log_slot_batch_open(&s, i, &b, &why) != 0)
            world_break(w, "C-LOG", "slot %llu: %s", (unsigned long long)slot, cd_buf_cstr(&why));
        else
            batch_came(w, slot, &b);
    }
    log_slot_deinit(&s);
    cd_buf_deinit(&why);
}

static bool slot_truth(struct world *w, uint64_t slot, struct log_slot_head *h)
{
    struct cd_buf key = {0};
    struct sim_object o;
    log_slot_key(&key, CD_STR(SESSION), slot);
    bool is = sim_store_get_truth(w->sim, cd_buf_str(&key), &o) && log_slot_head_read(h, o.body, NULL) == 0;
    cd_buf_deinit(&key);
    return is;
}

void world_stored(void *arg, const struct sim_store_change *change)
{
    struct world *w = arg;
    struct log_slot_head h;
    uint64_t slot;
    if (!log_slot_key_parse(change->key, CD_STR(SESSION), &slot))
        return;
    if (change->before != NULL) {
        world_break(w, "C-LOG", "slot %llu was written a second time", (unsigned long long)slot);
        return;
    }
    w->puts++;
    if (!w->opened)
        world_break(w, "C-LOG", "slot %llu before the record says open", (unsigned long long)slot);
    unsigned p = w->opts.pipeline;
    if (change->by != NULL && slot > p && slot - p > w->prefix)
        world_break(w, "C-LOG", "slot %llu while %llu is not there, P is %u", (unsigned long long)slot,
                    (unsigned long long)(w->prefix + 1), p);
    slot_came(w, slot, change->after->body);
    /* The unbroken row, which is all that counts; a seal ends it. */
    while (slot_truth(w, w->prefix + 1, &h) && h.kind == LOG_SLOT_BATCHES) {
        if (h.first_batch != w->prefix_batch + 1)
            world_break(w, "C-LOG", "slot %llu begins with batch %llu, want %llu", (unsigned long long)h.slot,
                        (unsigned long long)h.first_batch, (unsigned long long)w->prefix_batch + 1);
        w->prefix++;
        w->prefix_batch = h.last_batch;
    }
}

/* ---- Proofs ---- */

static bool apart_there(struct world *w, const struct world_row *r)
{
    struct cd_buf key = {0};
    struct sim_object o;
    log_apart_key(&key, CD_STR(SESSION), r->id);
    bool is = sim_store_get_truth(w->sim, cd_buf_str(&key), &o) && bytes_right(r, o.body);
    cd_buf_deinit(&key);
    return is;
}

static void judge(struct world *w, struct world_row *r)
{
    r->acked = true;
    if (r->in_doubt || r->dropped)
        return; /* Its cell was reset: its gates have failed, nobody hears of this. */
    if (r->slot == 0 || r->slot > w->prefix)
        world_break(w, "C-ACK", "row %llu of %s is proven, its slot is %llu, stored without a gap are %llu",
                    (unsigned long long)r->txid, r->scope, (unsigned long long)r->slot,
                    (unsigned long long)w->prefix);
    else if (r->apart && !apart_there(w, r))
        world_break(w, "C-SEAL", "row %llu of %s is proven, the object of its bytes is not stored",
                    (unsigned long long)r->txid, r->scope);
}

void world_event(void *arg, const struct sim_record *record)
{
    struct world *w = arg;
    (void)record;
    for (unsigned i = 1; i < WORLD_LOOPS; i++) {
        struct world_shard *s = &w->shard[i];
        while (s->feed != NULL && s->acked < log_feed_proven(s->feed)) {
            if (s->acked == s->rows) {
                world_break(w, "C-ACK", "%llu rows are proven, %zu were handed over",
                            (unsigned long long)log_feed_proven(s->feed), s->rows);
                return;
            }
            judge(w, s->row[s->acked++]);
        }
    }
}

void world_dropped(struct world_shard *s, const struct world_cell *c, uint64_t cut_txid)
{
    for (size_t i = 0; i < s->rows; i++) {
        struct world_row *r = s->row[i];
        if (!r->in_doubt || strcmp(r->scope, c->scope) != 0)
            continue;
        r->dropped = r->txid > cut_txid;
        r->in_doubt = false;
        if (r->dropped && r->slot != 0)
            world_break(s->w, "C-LOG", "row %llu of %s was dropped, slot %llu has it",
                        (unsigned long long)r->txid, r->scope, (unsigned long long)r->slot);
        if (r->acked)
            judge(s->w, r);
    }
}

/* ---- The folder, the end ---- */

void world_folded(struct world *w, struct log_durable *d)
{
    struct cd_link *k;
    if (w->opts.blind_folder)
        w->folded_batch = d->batch - 1;
    if (d->batch != ++w->folded_batch || (d->slot > w->prefix && !w->opts.blind_folder))
        world_break(w, "C-CHAIN", "the folder gets batch %llu of slot %llu, stored without a gap are %llu",
                    (unsigned long long)d->batch, (unsigned long long)d->slot, (unsigned long long)w->prefix);
    while ((k = cd_list_pop(&d->rows)) != NULL) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        struct world_row *r = row_find(w, cd_str(row->scope), row->epoch, row->min_txid);
        if (w->opts.blind_folder && r != NULL)
            r->folded = true;
        else if (r == NULL || r->folded || r->slot != d->slot || row->slot != d->slot)
            world_break(w, "C-CHAIN", "row %llu of %s does not belong to slot %llu",
                        (unsigned long long)row->min_txid, row->scope, (unsigned long long)d->slot);
        else
            r->folded = true;
        log_row_free(row);
    }
}

void world_audit(struct world *w)
{
    if (w->broken != NULL)
        return;
    for (unsigned i = 1; i < WORLD_LOOPS; i++)
        for (size_t k = 0; k < w->shard[i].rows; k++) {
            struct world_row *r = w->shard[i].row[k];
            if (r->dropped || r->in_doubt)
                continue;
            if (r->acked && (r->slot == 0 || r->slot > w->prefix || !r->folded))
                world_break(w, "C-ACK", "row %llu of %s was proven and is not there at the end",
                            (unsigned long long)r->txid, r->scope);
            if (!r->acked && !w->crashed && !w->fenced)
                world_break(w, "C-SETTLE", "row %llu of %s never becomes proven", (unsigned long long)r->txid,
                            r->scope);
        }
    if (w->fenced && w->sealed == 0)
        world_break(w, "C-LOG", "fenced, although nobody sealed the session");
}
