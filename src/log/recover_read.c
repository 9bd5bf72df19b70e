/* log/recover_read.c: the history of a dead session: its slots from the floor to the seal (fleet.md 7.5).
 *
 * Windows of slots are read, checked against their keys and against each other, and folded. Nothing is
 * skipped: a slot that cannot be read ends the recovery, unless an operator declared it lost. */
#include "log/bytes.h"
#include "log/recover_internal.h"

#define READ_TRIES 3u

int log_rec_get(struct rec *c, struct cd_str key, const uint8_t *sha256, struct cd_buf *body,
                struct cd_buf *why)
{
    struct io_store get = {0};
    struct store_policy p = store_policy_of(IO_LANE_DATA, 0);
    int rc = 0;
    for (unsigned tries = 0; tries < READ_TRIES; tries++) {
        uint8_t digest[LOG_SHA256_SIZE];
        if (tries > 0 && (rc = io_sleep(c->io, IO_MS(100))) != IO_OK)
            break;
        rc = store_retry_get(&get, c->io, c->bucket, key, 0, IO_WHOLE, &p);
        if (rc == IO_NOENT)
            continue;
        if (rc != IO_OK || sha256 == NULL)
            break;
        log_sha256(cd_buf_str(&get.body), (struct cd_str){0}, digest);
        if (memcmp(digest, sha256, sizeof digest) == 0)
            break;
        rc = CD_ECORRUPT;
    }
    if (rc == IO_OK)
        *body = cd_buf_move(&get.body);
    else if (rc == IO_NOENT)
        cd_buf_addf(why, "it is not there");
    else
        cd_buf_addf(why, "%s", rc == CD_ECORRUPT ? "not the bytes that were stored there" : get.why);
    cd_buf_deinit(&get.body);
    return rc == IO_NOENT ? CD_ENOTFOUND : rc;
}

/* ---- A window ---- */

struct window {
    struct cd_buf *body; /* owned, with the array: one for each of its slots */
    struct log_slot *slot; /* Of those that are open. */
    bool *open;
    int *missed; /* Of those that are not: why; 0: an operator consented to it. */
    uint64_t first;
    size_t count;
};

static void window_deinit(struct window *w)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->open[i])
            log_slot_deinit(&w->slot[i]);
        cd_buf_deinit(&w->body[i]);
    }
    cd_free(w->body);
    cd_free(w->slot);
    cd_free(w->open);
    cd_free(w->missed);
    *w = (struct window){0};
}

/* A slot that is bad once may be whole the next time: tried three times before anybody believes it. */
static int slot_read(struct rec *c, uint64_t number, struct cd_buf *body, struct log_slot *slot,
                     struct cd_buf *why)
{
    struct cd_buf key = {0};
    int rc = 0;
    log_slot_key(&key, c->session, number);
    for (unsigned tries = 0; tries < READ_TRIES; tries++) {
        cd_buf_clear(why);
        cd_buf_deinit(body);
        rc = log_rec_get(c, cd_buf_str(&key), NULL, body, why);
        if (rc == 0)
            rc = log_slot_open(slot, cd_buf_str(body), c->session, number, why);
        if (rc != CD_ECORRUPT)
            break;
    }
    cd_buf_deinit(&key);
    return rc;
}

static int slot_bad(struct rec *c, uint64_t number, int status, const char *why)
{
    struct cd_buf key = {0};
    log_slot_key(&key, c->session, number);
    int rc = status == CD_ENOTFOUND  ? log_rec_corrupt(c, "log_slot_missing", cd_buf_str(&key), why)
             : status == CD_ECORRUPT ? log_rec_corrupt(c, "log_slot_corrupt", cd_buf_str(&key), why)
                                     : log_rec_failed(c, cd_buf_str(&key), status, why);
    cd_buf_deinit(&key);
    return rc;
}

/* It is to come from the members, as far as there are any. */
static int slot_missed(struct rec *c, struct window *w, size_t i, int status, const char *why)
{
    bool gone = status == CD_ENOTFOUND || status == CD_ECORRUPT;
    if (!gone || c->copies.count == 0 || CD_PLANT("recover.unfilled"))
        return slot_bad(c, w->first + i, status, why);
    w->missed[i] = status;
    return 0;
}

static void slot_ask(struct rec *c, struct io_store *get, struct cd_buf *key, uint64_t slot)
{
    log_slot_key(key, c->session, slot);
    get->lane = IO_LANE_DATA;
    get->timeout_ns = store_policy_of(IO_LANE_DATA, LOG_SLOT_BYTES_MAX).attempt_ns;
    io_store_get(get, c->bucket, cd_buf_str(key), 0, IO_WHOLE, NULL);
}

/* Asks for all, REC_GETS at once; each that fails is tried again alone. */
static int window_read(struct rec *c, struct window *w, uint64_t first, size_t count)
{
    struct io_store *get = cd_alloc(count * sizeof *get);
    struct cd_buf *key = cd_alloc(count * sizeof *key);
    int rc = 0;
    w->count = count;
    w->body = cd_alloc(count * sizeof *w->body);
    w->slot = cd_alloc(count * sizeof *w->slot);
    w->open = cd_alloc(count * sizeof *w->open);
    w->missed = cd_alloc(count * sizeof *w->missed);
    w->first = first;
    for (size_t i = 0; i < count && i < REC_GETS; i++)
        slot_ask(c, &get[i], &key[i], first + i);
    for (size_t i = 0; i < count; i++) {
        (void)io_await(&get[i].op, IO_FOREVER); /* The op has a time limit of its own. */
        if (i + REC_GETS < count)
            slot_ask(c, &get[i + REC_GETS], &key[i + REC_GETS], first + i + REC_GETS);
        if (get[i].op.status == IO_OK) {
            w->body[i] = cd_buf_move(&get[i].body);
            w->open[i] =
                log_slot_open(&w->slot[i], cd_buf_str(&w->body[i]), c->session, first + i, NULL) == 0;
        }
        cd_buf_deinit(&get[i].body);
        cd_buf_deinit(&key[i]);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct cd_buf why = {0};
        if (!w->open[i]) {
            int bad = slot_read(c, first + i, &w->body[i], &w->slot[i], &why);
            w->open[i] = bad == 0;
            bool lost = (bad == CD_ECORRUPT || bad == CD_ENOTFOUND) &&
                        (log_listed_consented(&c->listed, first + i) || CD_PLANT("recover.skips-slot"));
            if (bad != 0 && !lost)
                rc = slot_missed(c, w, i, bad, cd_buf_cstr(&why));
            else if (bad != 0)
                cd_event_to(c->io, CD_WARN, "log", "recovery_loss", CD_S("session", c->session),
                            CD_U("slot", first + i), CD_S("why", cd_buf_str(&why)));
        }
        cd_buf_deinit(&why);
    }
    cd_free(get);
    cd_free(key);
    return rc;
}

/* ---- What is in it ---- */

static void row_add(struct rec *c, const struct log_entry *e, uint64_t slot)
{
    struct rec_cell *cell = log_rec_cell_of(c, e->cell, e->epoch);
    if (cell->count == cell->cap) {
        cell->cap = cell->cap == 0 ? 8 : cell->cap * 2;
        cell->row = cd_realloc(cell->row, cell->cap * sizeof *cell->row);
    }
    cell->row[cell->count++] = (struct rec_row){*e, slot};
}

static void rows_take(struct rec *c, const struct log_batch *b, uint64_t slot)
{
    struct cd_str rest = b->table;
    struct log_entry e;
    while (log_batch_next(b, &rest, &e)) {
        if (b->batch > c->alarms_through)
            log_alarms_apply(&c->alarms, e.cell, (struct store_identity){e.epoch, e.alarm.inst_seq},
                             e.alarm.armed, (uint64_t)e.alarm.due_ms, b->batch);
        if (e.kind != LOG_ROW_NOTE)
            row_add(c, &e, slot);
    }
}

static int missing_bad(struct rec *c)
{
    uint64_t slot = c->missing;
    c->missing = 0;
    return slot_bad(c, slot, c->missing_status, "and no follower holds all batches between its neighbours");
}

static int differs(struct rec *c, const struct log_batch *b, const struct rec_copy *copy, uint64_t slot)
{
    struct cd_buf key = {0}, why = {0};
    log_slot_key(&key, c->session, slot);
    cd_buf_addf(&why, "batch %llu in it is not what %s holds", (unsigned long long)b->batch,
                c->lease->log.ensemble[copy->member]);
    int rc = log_rec_corrupt(c, "log_copies_differ", cd_buf_str(&key), cd_buf_cstr(&why));
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* What a member holds takes the place of a batch of the slot. */
static void copy_take(struct rec *c, uint64_t batch, uint64_t slot, int status)
{
    const struct rec_copy *copy = cd_map_get_u64(&c->copies, batch);
    struct log_batch b;
    int rc = log_batch_open(&b, copy->bytes, NULL);
    CD_ASSERT(rc == 0); /* It was opened when it came. */
    CD_MARK("recover.batch_filled");
    cd_event_to(c->io, CD_WARN, "log", "log_slot_filled", CD_S("session", c->session), CD_U("slot", slot),
                CD_Z("why", cd_err_text(status)), CD_U("batch", batch),
                CD_Z("of", c->lease->log.ensemble[copy->member]));
    rows_take(c, &b, slot);
}

/* The slots from c->missing on had the batches up to last: what the members hold of them takes their place.
 */
static int fill(struct rec *c, uint64_t last)
{
    uint64_t first = c->batch + 1;
    int rc = log_rec_missed(c);
    if (rc != 0)
        return rc;
    if (c->gap || !log_rec_held(c, first, last))
        return missing_bad(c);
    for (uint64_t n = first; n <= last; n++)
        copy_take(c, n, c->missing, c->missing_status);
    c->missing = 0;
    c->batch = last;
    return 0;
}

/* A batch of a slot fails its checksum, while the rest may be whole. */
static int batch_damaged(struct rec *c, const struct log_slot *s, uint64_t batch, const char *why)
{
    int rc = log_rec_held(c, batch, batch) && !CD_PLANT("recover.unfilled") ? log_rec_missed(c) : CD_ECORRUPT;
    if (rc == CD_ECORRUPT)
        return slot_bad(c, s->head.slot, CD_ECORRUPT, why);
    if (rc == 0)
        copy_take(c, batch, s->head.slot, CD_ECORRUPT);
    return rc;
}

static int batch_take(struct rec *c, const struct log_slot *s, size_t index)
{
    struct log_batch b;
    struct cd_buf why = {0};
    int rc = log_slot_batch_open(s, index, &b, &why);
    if (rc != 0) {
        rc = batch_damaged(c, s, s->head.first_batch + index, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return rc;
    }
    const struct rec_copy *copy = cd_map_get_u64(&c->copies, b.batch);
    if (copy != NULL && !cd_str_eq(copy->bytes, b.bytes) && !CD_PLANT("recover.copies-unread"))
        return differs(c, &b, copy, s->head.slot);
    if (b.log_epoch != 0 && b.log_epoch != c->lease->log.epoch && CD_PLANT("recover.this-epoch-only"))
        return 0;
    rows_take(c, &b, s->head.slot);
    return 0;
}

static int slot_take(struct rec *c, const struct log_slot *s)
{
    if (c->missing != 0) {
        int rc = fill(c, s->head.first_batch - 1);
        if (rc != 0)
            return rc;
    }
    /* Behind a slot whose loss was declared the batches go on at any later number. */
    bool follows = c->gap ? s->head.first_batch > c->batch : s->head.first_batch == c->batch + 1;
    c->gap = false;
    if (!follows) {
        struct cd_buf why = {0};
        cd_buf_addf(&why, "it starts with batch %llu, the slot before it ends with %llu",
                    (unsigned long long)s->head.first_batch, (unsigned long long)c->batch);
        int rc = slot_bad(c, s->head.slot, CD_ECORRUPT, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return rc;
    }
    for (size_t i = 0; i < log_slot_batches(s); i++) {
        int rc = batch_take(c, s, i);
        if (rc != 0)
            return rc;
    }
    c->batch = s->head.last_batch;
    return 0;
}

/* Others of the loop come in between. */
static int yield_turn(struct io *io)
{
    struct io_op op = {0};
    io_defer(&op, io, IO_OK, NULL);
    return io_await(&op, IO_FOREVER);
}

static int window_take(struct rec *c, struct window *w, uint64_t *end)
{
    for (size_t i = 0; i < w->count; i++) {
        if (i % REC_GETS == REC_GETS - 1 && yield_turn(c->io) != IO_OK)
            return IO_CANCELED;
        if (!w->open[i] && w->missed[i] != 0) { /* The next one tells which batches it had. */
            c->missing_status = c->missing == 0 ? w->missed[i] : c->missing_status;
            c->missing = c->missing == 0 ? w->first + i : c->missing;
            continue;
        }
        if (!w->open[i] && c->missing != 0)
            return missing_bad(c);
        if (!w->open[i]) {
            c->lossy = c->gap = true;
            continue;
        }
        /* The lowest seal is the seal for every reader, also when the search did not reach down to it. */
        if (w->slot[i].head.kind == LOG_SLOT_SEAL && CD_PLANT("recover.past-the-seal")) {
            c->gap = true;
            continue;
        }
        if (w->slot[i].head.kind == LOG_SLOT_SEAL) {
            if (c->missing != 0)
                return missing_bad(c);
            *end = c->seal = w->slot[i].head.slot;
            return 0;
        }
        int rc = slot_take(c, &w->slot[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- All of it ---- */

static int alarms_start(struct rec *c)
{
    if (!c->floor.has_alarms)
        return 0;
    struct cd_buf key = {0}, body = {0}, why = {0};
    struct store_alarms a = {0};
    store_key_alarms(&key, c->session, c->floor.alarms_n);
    int rc = log_rec_get(c, cd_buf_str(&key), NULL, &body, &why);
    if (rc == 0)
        rc = store_alarms_read(&a, c->session, cd_buf_str(&body), &why);
    if (rc == 0 && a.through != c->floor.alarms_through) {
        cd_buf_addf(&why, "through batch %llu, the floor says %llu", (unsigned long long)a.through,
                    (unsigned long long)c->floor.alarms_through);
        rc = CD_ECORRUPT;
    }
    if (rc == 0) {
        for (size_t i = 0; i < a.count; i++)
            log_alarms_apply(&c->alarms, a.item[i].cell, a.item[i].identity, true, a.item[i].due_ms, 0);
        c->alarms_through = a.through;
    } else if (rc == CD_ECORRUPT || rc == CD_EUNSUPPORTED || rc == CD_ETOOBIG || rc == CD_ENOTFOUND) {
        rc = log_rec_corrupt(c, rc == CD_ENOTFOUND ? "log_alarms_missing" : "log_alarms_corrupt",
                             cd_buf_str(&key), cd_buf_cstr(&why));
    } else {
        rc = log_rec_failed(c, cd_buf_str(&key), rc, cd_buf_cstr(&why));
    }
    store_alarms_deinit(&a);
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    cd_buf_deinit(&why);
    return rc;
}

/* How many slots from slot on, below end, make up the next window. */
static size_t window_size(const struct rec *c, uint64_t slot, uint64_t end)
{
    uint64_t bytes = 0;
    size_t n = 0;
    while (slot + n < end && n < REC_SLOTS) {
        size_t at = log_listed_find(&c->listed, slot + n);
        bytes += at == SIZE_MAX ? 0 : c->listed.size[at];
        if (n > 0 && bytes > log_recoverer_window(c->rr))
            break;
        n++;
    }
    return n;
}

/* What only the witness holds: its batches behind those of the slots. */
static int tail_take(struct rec *c)
{
    struct cd_str rest = c->tail.frames, bytes;
    if (!c->witnessed)
        return 0;
    if (c->tail.base > c->batch && !c->lossy) {
        struct cd_buf key = {0}, why = {0};
        log_slot_key(&key, c->session, c->seal);
        cd_buf_addf(&why, "the slots below it end with batch %llu, the followers gave up those to %llu",
                    (unsigned long long)c->batch, (unsigned long long)c->tail.base);
        int rc = log_rec_corrupt(c, "log_slot_missing", cd_buf_str(&key), cd_buf_cstr(&why));
        cd_buf_deinit(&key);
        cd_buf_deinit(&why);
        return rc;
    }
    while (log_frame_next(&rest, &bytes)) {
        struct log_batch b;
        if (log_batch_open(&b, bytes, NULL) != 0 || b.batch <= c->batch)
            continue; /* It was checked when it came; older ones are in the slots. */
        CD_MARK("recover.batch_of_witness");
        rows_take(c, &b, c->seal);
        c->batch = b.batch;
    }
    return log_rec_fold(c);
}

int log_rec_history(struct rec *c)
{
    uint64_t end = c->seal;
    if (log_listed_find(&c->listed, end + 1) != SIZE_MAX && CD_PLANT("recover.past-the-seal"))
        end += 2;
    int rc = alarms_start(c);
    if (rc == 0 && CD_PLANT("recover.tail-first"))
        rc = tail_take(c);
    for (uint64_t slot = c->floor.floor + 1; rc == 0 && slot < end;) {
        struct window w = {0};
        size_t count = window_size(c, slot, end);
        rc = window_read(c, &w, slot, count);
        if (rc == 0)
            rc = window_take(c, &w, &end);
        if (rc == 0)
            rc = log_rec_fold(c);
        window_deinit(&w); /* The rows borrowed from it. */
        if (rc == 0)
            rc = log_rec_beat(c);
        slot += count;
    }
    if (rc == 0 && c->missing != 0)
        rc = missing_bad(c); /* Nothing behind it says which batches it had. */
    if (rc == 0)
        rc = tail_take(c);
    return rc;
}
