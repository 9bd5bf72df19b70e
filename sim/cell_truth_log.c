/* sim/cell_truth_log.c: sessions' logs: slots, rows, seals, floors. I3, I5. */
#include "sim/cell_truth_internal.h"

#include "base/encode.h"

static void batch_free(struct truth_batch *b)
{
    while (b->row != NULL) {
        struct truth_row *r = b->row;
        b->row = r->next;
        cd_free(r);
    }
    cd_buf_deinit(&b->bytes);
    cd_free(b);
}

void truth_session_free(struct truth_session *s)
{
    for (struct cd_map_node *n = cd_map_first(&s->slots); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    for (struct cd_map_node *n = cd_map_first(&s->batches); n != NULL; n = cd_map_next(n))
        batch_free(cd_map_value(n));
    cd_map_deinit(&s->slots);
    cd_map_deinit(&s->batches);
    cd_free((void *)(uintptr_t)s->gone);
    cd_free(s);
}

static bool row_covered(const struct truth_row *r)
{
    return r->note || r->max_txid <= truth_epoch(r->cell, r->epoch)->covered;
}

const struct truth_row *truth_uncovered(const struct truth_session *s, const struct truth_cell *cell,
                                        uint64_t upto_slot)
{
    for (struct cd_map_node *n = cd_map_first(&s->batches); n != NULL; n = cd_map_next(n)) {
        const struct truth_batch *b = cd_map_value(n);
        if (upto_slot != UINT64_MAX && (b->slot == 0 || b->slot > upto_slot))
            continue;
        for (const struct truth_row *r = b->row; r != NULL; r = r->next)
            if (r->counts && (cell == NULL || r->cell == cell) && !row_covered(r))
                return r;
    }
    return NULL;
}

/* ---- Slots ---- */

void truth_batches_count(struct cell_truth *t, struct truth_session *s, uint64_t upto)
{
    for (const struct truth_batch *b;
         t->broken == NULL && s->proven < upto && (b = cd_map_get_u64(&s->batches, s->proven + 1)) != NULL;
         s->proven++) {
        for (struct truth_row *r = b->row; r != NULL && t->broken == NULL; r = r->next)
            truth_row_counts(t, r);
    }
}

/* The unbroken row may have become longer: its rows are history now, until a seal ends it. */
static void advance(struct cell_truth *t, struct truth_session *s)
{
    const struct truth_slot *slot;
    while (t->broken == NULL && (slot = cd_map_get_u64(&s->slots, s->prefix + 1)) != NULL && !slot->seal) {
        s->prefix++;
        if (slot->first_batch != s->prefix_batch + 1)
            truth_break(t, "I3", "%s: slot %llu begins with batch %llu, behind batch %llu", s->name,
                        (unsigned long long)s->prefix, (unsigned long long)slot->first_batch,
                        (unsigned long long)s->prefix_batch);
        s->prefix_batch = slot->last_batch;
        truth_batches_count(t, s, s->prefix_batch);
    }
}

static void row_begins(struct cell_truth *t, struct truth_row *r, struct cd_str bytes)
{
    struct ltx_header h;
    struct cd_buf why = {0};
    if (bytes.len < LTX_HEADER_SIZE ||
        ltx_header_read(cd_str_sub(bytes, 0, LTX_HEADER_SIZE), NULL, &h, &why) != 0) {
        truth_break(t, "I3", "%s epoch %llu: row %llu is no segment: %s", r->cell->scope,
                    (unsigned long long)r->epoch, (unsigned long long)r->max_txid, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return;
    }
    r->whole = (h.flags & LTX_SNAPSHOT) != 0;
    r->marker = (h.flags & LTX_MARKER) != 0;
    r->base_epoch = h.base_epoch;
    r->base_txid = h.base_txid;
    cd_buf_deinit(&why);
}

static void row_seen(struct cell_truth *t, struct truth_session *s, struct truth_batch *b,
                     const struct log_batch *bytes_of, const struct log_entry *e)
{
    struct truth_row *r = cd_new(struct truth_row);
    *r = (struct truth_row){.batch = b,
                            .cell = truth_cell(t, e->cell),
                            .session = s,
                            .epoch = e->epoch,
                            .min_txid = e->min_txid,
                            .max_txid = e->max_txid,
                            .note = e->kind == LOG_ROW_NOTE,
                            .apart = e->kind == LOG_ROW_APART,
                            .alarm = e->alarm,
                            .length = (size_t)e->length};
    memcpy(r->id, e->id, sizeof r->id);
    *b->tail = r;
    b->tail = &r->next;
    t->counts.rows++;
    struct cd_str bytes = e->ltx;
    if (r->apart) {
        struct cd_buf key = {0};
        log_apart_key(&key, cd_str(s->name), r->id);
        if (!truth_get(t, cd_buf_str(&key), &bytes))
            truth_break(t, "I3", "batch %llu of %s names %s, which is not there",
                        (unsigned long long)b->number, s->name, cd_buf_cstr(&key));
        cd_buf_deinit(&key);
    } else if (!r->note) {
        r->offset = (size_t)(e->ltx.ptr - bytes_of->bytes.ptr);
    }
    if (!r->note && t->broken == NULL)
        row_begins(t, r, bytes);
}

static struct truth_batch *batch_new(struct cell_truth *t, struct truth_session *s, const struct log_batch *b)
{
    struct truth_batch *known = cd_new(struct truth_batch);
    struct cd_str rest = b->table;
    struct log_entry e;
    known->number = b->batch;
    known->tail = &known->row;
    memcpy(known->digest, b->digest, sizeof known->digest);
    (void)cd_map_put_u64(&s->batches, b->batch, known);
    while (log_batch_next(b, &rest, &e) && t->broken == NULL)
        row_seen(t, s, known, b, &e);
    return known;
}

void truth_batch_seen(struct cell_truth *t, struct truth_session *s, const struct log_batch *b, uint64_t slot,
                      size_t offset)
{
    struct truth_batch *known = cd_map_get_u64(&s->batches, b->batch);
    if (known == NULL) {
        known = batch_new(t, s, b);
    } else if (memcmp(known->digest, b->digest, sizeof known->digest) != 0) {
        truth_break(t, "I3", "%s: batch %llu has another content in slot %llu", s->name,
                    (unsigned long long)b->batch, (unsigned long long)slot);
    } else if (slot != 0 && known->slot != 0) {
        truth_break(t, "I3", "%s: batch %llu is in slot %llu and in slot %llu", s->name,
                    (unsigned long long)b->batch, (unsigned long long)known->slot, (unsigned long long)slot);
    }
    if (slot != 0) {
        known->slot = slot;
        known->offset = offset;
        cd_buf_deinit(&known->bytes);
    } else if (known->slot == 0 && known->bytes.len == 0) {
        cd_buf_add_str(&known->bytes, b->bytes);
    }
}

static void batches_stored(struct cell_truth *t, struct truth_session *s, const struct log_slot *o)
{
    struct cd_buf why = {0};
    for (size_t i = 0; i < log_slot_batches(o) && t->broken == NULL; i++) {
        struct log_batch b;
        if (log_slot_batch_open(o, i, &b, &why) != 0)
            truth_break(t, "I3", "slot %llu of %s: %s", (unsigned long long)o->head.slot, s->name,
                        cd_buf_cstr(&why));
        else
            truth_batch_seen(t, s, &b, o->head.slot, (size_t)(b.bytes.ptr - o->bytes.ptr));
    }
    cd_buf_deinit(&why);
}

static void seal_stored(struct cell_truth *t, struct truth_session *s, const struct log_slot *o)
{
    uint64_t at = o->head.slot;
    bool own = cd_str_eq(o->seal.recoverer, cd_str(s->name));
    t->counts.seals++;
    if (s->sealed) /* Of a recoverer that is late: nobody looks there any more. */
        return;
    if (!own && !s->recovering)
        truth_break(t, "I3", "%s is sealed at %llu by %.*s, while its record says nothing of a recovery",
                    s->name, (unsigned long long)at, (int)o->seal.recoverer.len, o->seal.recoverer.ptr);
    else if (s->seal != 0)
        truth_break(t, "I3", "%s has a second seal at %llu; the first is at %llu", s->name,
                    (unsigned long long)at, (unsigned long long)s->seal);
    else if (at != s->prefix + 1)
        truth_break(t, "I3", "%s is sealed at %llu; its first free slot is %llu", s->name,
                    (unsigned long long)at, (unsigned long long)s->prefix + 1);
    else if (o->head.last_batch != s->prefix_batch)
        truth_break(t, "I3", "the seal of %s ends with batch %llu, the slots below it with %llu", s->name,
                    (unsigned long long)o->head.last_batch, (unsigned long long)s->prefix_batch);
    s->seal = at;
}

static void slot_created(struct cell_truth *t, struct truth_session *s, uint64_t number, struct cd_str body)
{
    struct log_slot o;
    struct cd_buf why = {0};
    if (log_slot_open(&o, body, cd_str(s->name), number, &why) != 0) {
        truth_break(t, "I3", "slot %llu of %s: %s", (unsigned long long)number, s->name, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return;
    }
    struct truth_slot *known = cd_map_get_u64(&s->slots, number), *slot = known;
    uint64_t digest = cd_crc64(0, body.ptr, body.len);
    bool late = s->sealed; /* Whatever comes now changes nothing. */
    if (known == NULL) {
        slot = cd_new(struct truth_slot);
        *slot = (struct truth_slot){.seal = o.head.kind == LOG_SLOT_SEAL,
                                    .first_batch = o.head.first_batch,
                                    .last_batch = o.head.last_batch,
                                    .digest = digest};
        (void)cd_map_put_u64(&s->slots, number, slot);
    }
    t->counts.slots++;
    if (known != NULL) {
        /* It was deleted, and a request of long ago lands. */
        if (known->digest != digest && !late)
            truth_break(t, "I3", "slot %llu of %s came back with another content", (unsigned long long)number,
                        s->name);
    } else if (slot->seal) {
        seal_stored(t, s, &o);
    } else if (!late) {
        if (!s->opened)
            truth_break(t, "I3", "%s stored slot %llu before its record says that its log is open", s->name,
                        (unsigned long long)number);
        if (s->seal == 0 && number > s->prefix + o.head.pipeline)
            truth_break(t, "I3", "%s stored slot %llu; %llu and a window of %u were allowed", s->name,
                        (unsigned long long)number, (unsigned long long)s->prefix, o.head.pipeline);
        batches_stored(t, s, &o);
        advance(t, s);
    }
    log_slot_deinit(&o);
    cd_buf_deinit(&why);
}

static const struct truth_row *slot_uncovered(const struct truth_session *s, const struct truth_slot *slot)
{
    for (uint64_t n = slot->first_batch; n <= slot->last_batch; n++) {
        const struct truth_batch *b = cd_map_get_u64(&s->batches, n);
        for (const struct truth_row *r = b == NULL ? NULL : b->row; r != NULL; r = r->next)
            if (!row_covered(r))
                return r;
    }
    return NULL;
}

static void slot_deleted(struct cell_truth *t, struct truth_session *s, uint64_t number)
{
    const struct truth_slot *slot = cd_map_get_u64(&s->slots, number);
    const struct truth_row *r = slot == NULL || slot->seal ? NULL : slot_uncovered(s, slot);
    if (slot != NULL && slot->seal && number == s->seal)
        truth_break(t, "I5", "the seal of %s at %llu was deleted", s->name, (unsigned long long)number);
    else if (s->sealed || slot == NULL)
        return;
    else if (number > s->floor.floor)
        truth_break(t, "I5", "slot %llu of %s was deleted; its floor is %llu", (unsigned long long)number,
                    s->name, (unsigned long long)s->floor.floor);
    else if (r != NULL)
        truth_break(t, "I5",
                    "slot %llu of %s was deleted, and transaction %llu of %s epoch %llu is in no object",
                    (unsigned long long)number, s->name, (unsigned long long)r->max_txid, r->cell->scope,
                    (unsigned long long)r->epoch);
}

/* ---- The rest of a log ---- */

static void floor_changed(struct cell_truth *t, struct truth_session *s, const struct cell_change *c)
{
    struct store_floor f = {0};
    struct cd_buf why = {0};
    if (s->sealed)
        return; /* Clean-up, or garbage of a late recoverer. */
    if (!c->there)
        truth_break(t, "I5", "the floor of %s was deleted", s->name);
    else if (store_floor_read(&f, c->body, &why) != 0)
        truth_break(t, "I5", "the floor of %s: %s", s->name, cd_buf_cstr(&why));
    else if (s->floor.frozen_by[0] != 0)
        truth_break(t, "I5", "the floor of %s was written although it is frozen", s->name);
    else if (f.floor < s->floor.floor)
        truth_break(t, "I5", "the floor of %s fell from %llu to %llu", s->name,
                    (unsigned long long)s->floor.floor, (unsigned long long)f.floor);
    else if (f.floor > s->prefix)
        truth_break(t, "I5", "the floor of %s is %llu, its unbroken row of slots ends with %llu", s->name,
                    (unsigned long long)f.floor, (unsigned long long)s->prefix);
    cd_buf_deinit(&why);
    if (t->broken != NULL)
        return;
    s->floor = f;
    const struct truth_row *r = truth_uncovered(s, NULL, f.floor);
    if (r != NULL)
        truth_break(t, "I5",
                    "the floor of %s passes slot %llu, and transaction %llu of %s epoch %llu is in no object",
                    s->name, (unsigned long long)r->batch->slot, (unsigned long long)r->max_txid,
                    r->cell->scope, (unsigned long long)r->epoch);
    truth_alarms_found(t, "the floor rises");
}

static void apart_deleted(struct cell_truth *t, struct truth_session *s, struct cd_str key)
{
    struct cd_buf named = {0};
    if (s->sealed)
        return;
    for (struct cd_map_node *n = cd_map_first(&s->batches); n != NULL; n = cd_map_next(n))
        for (const struct truth_row *r = ((struct truth_batch *)cd_map_value(n))->row; r != NULL;
             r = r->next) {
            if (!r->apart || row_covered(r))
                continue;
            cd_buf_clear(&named);
            log_apart_key(&named, cd_str(s->name), r->id);
            if (cd_str_eq(cd_buf_str(&named), key))
                truth_break(t, "I5", "%.*s was deleted, and its transaction %llu of %s is in no object",
                            (int)key.len, key.ptr, (unsigned long long)r->max_txid, r->cell->scope);
        }
    cd_buf_deinit(&named);
}

void truth_log_change(struct cell_truth *t, const struct store_log_name *name, const struct cell_change *c,
                      const struct cd_str *before)
{
    struct truth_session *s = truth_session(t, name->session);
    if (name->kind == STORE_LOG_FLOOR) {
        floor_changed(t, s, c);
    } else if (name->kind == STORE_LOG_ROW && !c->there) {
        apart_deleted(t, s, c->key);
    } else if (name->kind == STORE_LOG_LOSS && c->there) {
        truth_follow_lost(t, s);
    } else if (name->kind == STORE_LOG_SLOT && !c->there) {
        slot_deleted(t, s, name->number);
    } else if (name->kind == STORE_LOG_SLOT && before != NULL) {
        truth_break(t, "I3", "slot %llu of %s was written again", (unsigned long long)name->number, s->name);
    } else if (name->kind == STORE_LOG_SLOT) {
        struct cd_str body;
        if (truth_get(t, c->key, &body))
            slot_created(t, s, name->number, body);
    }
}
