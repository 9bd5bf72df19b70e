/* sim/cell_truth_chain.c: what cells' objects and rows come to. I7, and what of I1 is about rows. */
#include "sim/cell_truth_internal.h"

/* ---- Rows ---- */

/* The first row of an epoch goes on from the newest position that there is. */
static void epoch_begins(struct cell_truth *t, const struct truth_row *r, struct truth_epoch *e)
{
    uint64_t epoch = 0, last = 0;
    struct truth_epoch *p;
    if (truth_newest(r->cell, r->epoch, &epoch, &p))
        last = p->last;
    if (r->whole ? epoch != 0 : !r->marker || r->base_epoch != epoch || r->base_txid != last)
        truth_break(t, "I7",
                    "%s epoch %llu goes on from (%llu, %llu); the history of the cell ends at (%llu, %llu)",
                    r->cell->scope, (unsigned long long)r->epoch, (unsigned long long)r->base_epoch,
                    (unsigned long long)r->base_txid, (unsigned long long)epoch, (unsigned long long)last);
    e->begun = true;
    e->base_epoch = epoch;
    e->base_txid = e->last = last;
}

void truth_row_counts(struct cell_truth *t, struct truth_row *r)
{
    struct truth_epoch *e = truth_epoch(r->cell, r->epoch), *newest;
    uint64_t epoch;
    if (r->counts)
        return;
    r->counts = true;
    if (e->owner != r->session)
        truth_break(t, "I1", "%s epoch %llu is %s's; batch %llu of %s has a row of it", r->cell->scope,
                    (unsigned long long)r->epoch, e->owner == NULL ? "nobody" : e->owner->name,
                    (unsigned long long)r->batch->number, r->session->name);
    truth_alarm_counts(r);
    if (r->note || t->broken != NULL)
        return;
    if (truth_newest(r->cell, UINT64_MAX, &epoch, &newest) && epoch > r->epoch)
        truth_break(t, "I1", "%s epoch %llu: transaction %llu, when epoch %llu had begun", r->cell->scope,
                    (unsigned long long)r->epoch, (unsigned long long)r->max_txid, (unsigned long long)epoch);
    if (!e->begun)
        epoch_begins(t, r, e);
    else if (r->marker || r->whole)
        truth_break(t, "I7", "%s epoch %llu: row %llu is not the first, and says that it is", r->cell->scope,
                    (unsigned long long)r->epoch, (unsigned long long)r->min_txid);
    if (r->min_txid != e->last + 1)
        truth_break(t, "I7", "%s epoch %llu: row %llu-%llu behind %llu", r->cell->scope,
                    (unsigned long long)r->epoch, (unsigned long long)r->min_txid,
                    (unsigned long long)r->max_txid, (unsigned long long)e->last);
    e->last = r->max_txid;
}

/* ---- Objects ---- */

struct piece { /* Of a chain: an object, or a row that is in no object yet. */
    struct ltx_object o;
    struct cd_str bytes;
};

struct pieces {
    struct piece *piece; /* owned */
    size_t count, cap;
};

static void piece_add(struct pieces *p, struct ltx_object o, struct cd_str bytes)
{
    if (p->count == p->cap) {
        p->cap = p->cap == 0 ? 64 : 2 * p->cap;
        p->piece = cd_realloc(p->piece, p->cap * sizeof *p->piece);
    }
    o.size = bytes.len;
    p->piece[p->count++] = (struct piece){o, bytes};
}

static void objects(const struct cell_truth *t, struct cd_str prefix, struct pieces *out)
{
    struct ltx_name n;
    for (struct cd_map_node *at = cd_map_at_or_after(&t->objects, prefix);
         at != NULL && cd_str_starts(cd_map_key(at), prefix); at = cd_map_next(at))
        if (ltx_key_parse(cd_map_key(at), &n) == 0)
            piece_add(out,
                      (struct ltx_object){
                          .epoch = n.epoch, .level = n.level, .min_txid = n.min_txid, .max_txid = n.max_txid},
                      cd_buf_str(&((struct truth_object *)cd_map_value(at))->body));
}

/* The objects of one epoch as a list of their own; cd_free it. */
static struct ltx_object *of_epoch(const struct pieces *p, uint64_t epoch, size_t *count)
{
    struct ltx_object *list = cd_alloc((p->count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->piece[i].o.epoch == epoch)
            list[(*count)++] = p->piece[i].o;
    return list;
}

static uint64_t coverage(const struct cell_truth *t, const struct truth_cell *c, uint64_t epoch,
                         uint64_t first)
{
    struct cd_buf prefix = {0};
    struct pieces p = {0};
    size_t count;
    ltx_key_epoch(&prefix, cd_str(c->scope), epoch);
    objects(t, cd_buf_str(&prefix), &p);
    struct ltx_object *list = of_epoch(&p, epoch, &count);
    uint64_t covered = count == 0 ? 0 : ltx_coverage(list, count, first);
    cd_free(list);
    cd_free(p.piece);
    cd_buf_deinit(&prefix);
    return covered;
}

/* Brings image to what it is after f. */
static bool add_pages(struct cell_truth *t, const struct ltx_file *f, struct cd_buf *image,
                      struct cd_buf *why)
{
    size_t size = (size_t)f->h.commit * f->h.page_size;
    if (image->len < size)
        cd_buf_add_zero(image, size - image->len);
    image->len = size;
    for (uint32_t k = 0; k < f->h.page_count; k++) {
        struct ltx_entry e = ltx_file_entry(f, k);
        if (ltx_file_page(t->zstd, f, k, image->ptr + (size_t)(e.pgno - 1) * f->h.page_size, why) != 0)
            return false;
    }
    return true;
}

static void object_deleted(struct cell_truth *t, const struct truth_cell *cell, uint64_t epoch)
{
    struct cd_buf key = {0};
    struct cd_str body;
    uint64_t below = 0;
    store_key_retired_epochs(&key, cd_str(cell->scope));
    if (!truth_get(t, cd_buf_str(&key), &body) || store_retired_epochs_read(&below, body, NULL) != 0)
        below = 0;
    if (epoch >= below)
        truth_break(t, "I5", "an object of %s epoch %llu was deleted; epochs below %llu are retired",
                    cell->scope, (unsigned long long)epoch, (unsigned long long)below);
    cd_buf_deinit(&key);
}

/* A whole image has what was committed at its position. */
static void judge_image(struct cell_truth *t, const struct truth_cell *cell, const struct truth_epoch *e,
                        const struct ltx_file *f)
{
    const uint64_t *want = cd_map_get_u64(&e->commits, f->h.max_txid);
    struct cd_buf image = {0}, why = {0};
    if (want == NULL)
        return;
    if (!add_pages(t, f, &image, &why) || cell_truth_pages(cd_buf_str(&image), f->h.page_size) != *want)
        truth_break(t, "I7", "%s epoch %llu: the image of %llu has other pages than were committed %s",
                    cell->scope, (unsigned long long)f->h.epoch, (unsigned long long)f->h.max_txid,
                    cd_buf_cstr(&why));
    cd_buf_deinit(&image);
    cd_buf_deinit(&why);
}

void truth_object_change(struct cell_truth *t, const struct ltx_name *n, const struct cell_change *c)
{
    struct truth_cell *cell = truth_cell(t, n->scope);
    struct truth_epoch *e = truth_epoch(cell, n->epoch);
    struct ltx_file f;
    struct cd_buf why = {0};
    if (!c->there) {
        object_deleted(t, cell, n->epoch);
        return;
    }
    t->counts.folds++;
    if (!e->begun || n->max_txid > e->last)
        truth_follow_folded(t, cell, n->epoch, n->max_txid);
    uint64_t from = e->covered > e->base_txid ? e->covered : e->base_txid;
    if (ltx_file_open(&f, c->body, n, &why) != 0 || ltx_file_verify(t->zstd, &f, &why) != 0)
        truth_break(t, "I7", "%s epoch %llu %llu-%llu: %s", cell->scope, (unsigned long long)n->epoch,
                    (unsigned long long)n->min_txid, (unsigned long long)n->max_txid, cd_buf_cstr(&why));
    else if (!e->begun || n->max_txid > e->last)
        truth_break(t, "I1", "%s epoch %llu: an object has rows up to %llu, the history %llu", cell->scope,
                    (unsigned long long)n->epoch, (unsigned long long)n->max_txid,
                    (unsigned long long)(e->begun ? e->last : 0));
    else if (n->min_txid > from + 1)
        truth_break(t, "I7", "%s epoch %llu: an object %llu-%llu behind %llu", cell->scope,
                    (unsigned long long)n->epoch, (unsigned long long)n->min_txid,
                    (unsigned long long)n->max_txid, (unsigned long long)from);
    else if (n->level == LTX_L9)
        judge_image(t, cell, e, &f);
    cd_buf_deinit(&why);
    uint64_t covered = coverage(t, cell, n->epoch, e->base_txid + 1);
    if (covered > e->covered) /* Else a late one of an epoch that has been retired and deleted meanwhile. */
        e->covered = covered;
}

/* ---- A restore ---- */

static struct cd_str row_bytes(const struct cell_truth *t, const struct truth_row *r)
{
    struct cd_buf key = {0};
    struct cd_str body = {0};
    if (!r->apart && r->batch->slot == 0)
        return cd_str_sub(cd_buf_str(&r->batch->bytes), r->offset, r->length);
    if (r->apart)
        log_apart_key(&key, cd_str(r->session->name), r->id);
    else
        log_slot_key(&key, cd_str(r->session->name), r->batch->slot);
    bool there = truth_get(t, cd_buf_str(&key), &body);
    cd_buf_deinit(&key);
    return there && !r->apart ? cd_str_sub(body, r->batch->offset + r->offset, r->length) : body;
}

/* Everything that a recovery of all sessions would leave for a restore of the cell. */
static void gather(const struct cell_truth *t, const struct truth_cell *c, struct pieces *out)
{
    struct cd_buf prefix = {0};
    ltx_key_cell(&prefix, cd_str(c->scope));
    objects(t, cd_buf_str(&prefix), out);
    cd_buf_deinit(&prefix);
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL; n = cd_map_next(n)) {
        const struct truth_session *s = cd_map_value(n);
        for (struct cd_map_node *k = cd_map_first(&s->batches); k != NULL; k = cd_map_next(k))
            for (const struct truth_row *r = ((struct truth_batch *)cd_map_value(k))->row; r != NULL;
                 r = r->next) {
                const struct truth_epoch *e = cd_map_get_u64(&c->epochs, r->epoch);
                if (r->cell == c && r->counts && !r->note && r->max_txid > e->covered)
                    piece_add(out,
                              (struct ltx_object){
                                  .epoch = r->epoch, .min_txid = r->min_txid, .max_txid = r->max_txid},
                              row_bytes(t, r));
            }
    }
}

static const struct piece *piece_of(const struct pieces *p, const struct ltx_object *o)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct ltx_object *x = &p->piece[i].o;
        if (x->epoch == o->epoch && x->level == o->level && x->min_txid == o->min_txid &&
            x->max_txid == o->max_txid)
            return &p->piece[i];
    }
    CD_UNREACHABLE();
}

static enum ltx_chain_step plan(struct ltx_chain *chain, const struct pieces *p, uint64_t newest,
                                uint64_t limit)
{
    uint64_t *epochs = cd_alloc((p->count + 1) * sizeof *epochs);
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known |= epochs[k] == p->piece[i].o.epoch;
        if (!known)
            epochs[count++] = p->piece[i].o.epoch;
    }
    enum ltx_chain_step step = ltx_chain_start(chain, epochs, count, newest, limit);
    while (step == LTX_CHAIN_LIST || step == LTX_CHAIN_HEAD) {
        struct ltx_header h;
        if (step == LTX_CHAIN_LIST) {
            struct ltx_object *list = of_epoch(p, chain->epoch, &count);
            step = ltx_chain_listed(chain, list, count);
            cd_free(list);
        } else if (ltx_header_read(cd_str_sub(piece_of(p, &chain->first)->bytes, 0, LTX_HEADER_SIZE), NULL,
                                   &h, &chain->why) == 0) {
            step = ltx_chain_head(chain, &h);
        } else {
            step = LTX_CHAIN_FAILED;
        }
    }
    cd_free(epochs);
    return step;
}

/* Applies the chain's objects to image. */
static bool apply(struct cell_truth *t, const struct ltx_chain *chain, const struct pieces *p,
                  struct cd_buf *image, uint32_t *page_size, struct cd_buf *why)
{
    for (size_t i = 0; i < chain->count; i++) {
        struct ltx_file f;
        if (ltx_file_open(&f, piece_of(p, &chain->object[i])->bytes, NULL, why) != 0)
            return false;
        *page_size = f.h.page_size;
        if (!add_pages(t, &f, image, why))
            return false;
    }
    return chain->count > 0;
}

/* Restores the cell as of the newest position that is not above (newest, limit), and compares it with what
 * was committed there. exact: it has to end at (newest, limit); else only if it does. */
static void restore(struct cell_truth *t, const struct truth_cell *c, const struct pieces *p, uint64_t newest,
                    uint64_t limit, bool exact)
{
    struct ltx_chain chain = {0};
    struct cd_buf image = {0}, why = {0};
    uint32_t page_size = 0;
    bool planned = plan(&chain, p, newest, limit) == LTX_CHAIN_DONE;
    bool there = planned && chain.reach_epoch == newest && chain.reach_txid == limit;
    const struct truth_epoch *e = cd_map_get_u64(&c->epochs, newest);
    const uint64_t *want = cd_map_get_u64(&e->commits, limit);
    if (!planned && exact)
        truth_break(t, "I7", "a restore of %s fails: %s, %s", c->scope, ltx_fault_name(chain.fault),
                    cd_buf_cstr(&chain.why));
    else if (!there && exact)
        truth_break(t, "I7", "a restore of %s ends at (%llu, %llu), the history at (%llu, %llu)", c->scope,
                    (unsigned long long)chain.reach_epoch, (unsigned long long)chain.reach_txid,
                    (unsigned long long)newest, (unsigned long long)limit);
    else if (there && !apply(t, &chain, p, &image, &page_size, &why))
        truth_break(t, "I7", "a restore of %s fails: %s", c->scope, cd_buf_cstr(&why));
    else if (there && want != NULL && cell_truth_pages(cd_buf_str(&image), page_size) != *want)
        truth_break(t, "I7", "a restore of %s at (%llu, %llu) has other pages than were committed", c->scope,
                    (unsigned long long)newest, (unsigned long long)limit);
    t->counts.restores += there ? 1 : 0;
    ltx_chain_deinit(&chain);
    cd_buf_deinit(&image);
    cd_buf_deinit(&why);
}

/* What was revealed is an ancestor of the newest position. */
static void judge_ancestors(struct cell_truth *t, const struct truth_cell *c, uint64_t newest, uint64_t last)
{
    uint64_t epoch = newest, txid = last;
    for (struct cd_map_node *n = cd_map_last(&c->epochs); n != NULL; n = cd_map_prev(n)) {
        const struct truth_epoch *e = cd_map_value(n);
        uint64_t at = cd_map_key_u64(n);
        if (e->revealed > (at == epoch ? txid : 0))
            truth_break(t, "I7",
                        "%s epoch %llu showed transaction %llu; what follows goes on from (%llu, %llu)",
                        c->scope, (unsigned long long)at, (unsigned long long)e->revealed,
                        (unsigned long long)epoch, (unsigned long long)txid);
        if (at == epoch) {
            epoch = e->base_epoch;
            txid = e->base_txid;
        }
    }
}

void truth_audit_cell(struct cell_truth *t, struct truth_cell *c)
{
    struct pieces p = {0};
    struct truth_epoch *e;
    uint64_t newest, earlier = 0;
    if (!truth_newest(c, UINT64_MAX, &newest, &e))
        return;
    gather(t, c, &p);
    restore(t, c, &p, newest, e->last, true);
    for (struct cd_map_node *n = cd_map_first(&e->commits); n != NULL && cd_map_key_u64(n) < e->last;
         n = cd_map_next(n))
        earlier = cd_map_key_u64(n);
    if (earlier > 0)
        restore(t, c, &p, newest, earlier, false);
    judge_ancestors(t, c, newest, e->last);
    cd_free(p.piece);
}
