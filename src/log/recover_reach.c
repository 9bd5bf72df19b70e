/* log/recover_reach.c: how far the prefixes of cells reach (fleet.md 5.10, 7.5 item 4).
 *
 * A cell's own listing would cost a request for each of thousands. Cells that are neighbours in the bucket
 * share listings instead: the cells, in the order of their keys, are cut into runs, and a run is walked by
 * pages that begin at the next cell that is wanted. Pages are small as long as they show one cell each, and
 * grow while they show more. A page proves nothing about what lies behind its last key: a cell is settled
 * when a key behind its objects was seen, or the end of the listing. */
#include <stdlib.h>

#include "log/recover_internal.h"
#include "ltx/plan.h"

#define RUN_LEAST 4u /* Cells of a run, if there are so many. */
#define GROWTH 4u
#define ALL CD_STR("cells/")

struct asked {
    struct rec_cell *cell;
    struct cd_buf prefix, start; /* owned: what its objects of any epoch, and those of this one, begin with */
    bool later; /* It has objects of a later epoch. */
};

struct run {
    struct asked *asked; /* Of all: */
    size_t at, end; /* the next one that is wanted, and where the run ends. */
    struct io_list page;
    unsigned first, max; /* Entries of its first page, and of the next one. */
    struct cd_buf after; /* owned */
    struct ltx_object *object; /* owned: what was seen of the cell at `at` */
    size_t count, cap;
};

static int by_key(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    return cd_str_cmp(cd_buf_str(&x->start), cd_buf_str(&y->start));
}

static void object_add(struct run *r, const struct ltx_name *n, const struct io_entry *e)
{
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 64 : r->cap * 2;
        r->object = cd_realloc(r->object, r->cap * sizeof *r->object);
    }
    r->object[r->count++] =
        (struct ltx_object){n->epoch, n->level, n->min_txid, n->max_txid, e->size, e->modified_ms};
}

/* Whether the entry lies behind all objects of the cell's epoch; what is one of them is added. */
static bool passes(struct run *r, struct asked *a, const struct io_entry *e)
{
    struct ltx_name n;
    if (cd_str_cmp(e->key, cd_buf_str(&a->start)) < 0)
        return false;
    if (!cd_str_starts(e->key, cd_buf_str(&a->prefix)))
        return true;
    if (ltx_key_parse(e->key, &n) != 0)
        return false; /* Nothing of ours. */
    a->later = n.epoch > a->cell->epoch;
    if (!a->later)
        object_add(r, &n, e);
    return a->later;
}

static void settle(struct run *r, struct asked *a)
{
    a->cell->covered = r->count == 0 ? 0 : ltx_coverage(r->object, r->count, 0);
    a->cell->known = true;
    r->count = 0;
}

static void page_take(struct run *r)
{
    const struct io_list *page = &r->page;
    size_t from = r->at;
    unsigned i = 0;
    while (r->at < r->end) {
        struct asked *a = &r->asked[r->at];
        while (i < page->count && !passes(r, a, &page->entry[i]))
            i++;
        bool more = page->more && !CD_PLANT("recover.page-is-all");
        if (i == page->count && more)
            break;
        settle(r, a);
        r->at++;
    }
    if (r->at - from == 1) /* Else it showed several cells, or not all of one. */
        r->max = r->first;
    else
        r->max = r->max * GROWTH < IO_LIST_MAX ? r->max * GROWTH : IO_LIST_MAX;
}

/* Of the next page: behind the last one, or where the next cell begins, when that is later. */
static void after_next(struct run *r)
{
    struct cd_str start = cd_buf_str(&r->asked[r->at].start);
    struct cd_str last = r->page.count == 0 ? (struct cd_str){0} : r->page.entry[r->page.count - 1].key;
    struct cd_buf next = {0};
    cd_buf_add_str(&next, cd_str_cmp(last, start) > 0 ? last : start);
    cd_buf_deinit(&r->after);
    r->after = next;
}

/* One page of each run that is not at its end, at once; each that fails is tried again alone. */
static int pages_ask(struct rec *c, struct run *run, size_t runs, bool *more)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    int rc = 0;
    *more = false;
    for (size_t i = 0; i < runs; i++) {
        struct run *r = &run[i];
        if (r->at == r->end)
            continue;
        *more = true;
        after_next(r);
        r->page.lane = p.lane;
        r->page.timeout_ns = p.attempt_ns;
        io_store_list(&r->page, c->bucket, ALL, cd_buf_str(&r->after), r->max, NULL);
    }
    for (size_t i = 0; i < runs; i++) {
        if (run[i].at < run[i].end)
            (void)io_await(&run[i].page.op, IO_FOREVER); /* The op has a time limit of its own. */
    }
    for (size_t i = 0; i < runs && rc == 0; i++) {
        struct run *r = &run[i];
        if (r->at == r->end)
            continue;
        rc = r->page.op.status;
        if (rc != IO_OK)
            rc = store_retry_list(&r->page, c->io, c->bucket, ALL, cd_buf_str(&r->after), r->max, &p);
        if (rc == IO_OK)
            page_take(r);
        else
            rc = log_rec_failed(c, cd_buf_str(&r->asked[r->at].start), rc, r->page.why);
    }
    return rc == 0 ? log_rec_beat(c) : rc;
}

static int runs_walk(struct rec *c, struct asked *asked, size_t count)
{
    size_t most = (count + RUN_LEAST - 1) / RUN_LEAST, runs = most < REC_ASKS ? most : REC_ASKS;
    unsigned first = log_recoverer_page(c->rr);
    struct run *run = cd_alloc(runs * sizeof *run);
    bool more = true;
    int rc = 0;
    for (size_t i = 0; i < runs; i++)
        run[i] = (struct run){.asked = asked,
                              .at = count * i / runs,
                              .end = count * (i + 1) / runs,
                              .first = first,
                              .max = first};
    while (rc == 0 && more)
        rc = pages_ask(c, run, runs, &more);
    for (size_t i = 0; i < runs; i++) {
        io_list_deinit(&run[i].page);
        cd_buf_deinit(&run[i].after);
        cd_free(run[i].object);
    }
    cd_free(run);
    return rc;
}

/* ---- Retired epochs ---- */

/* Epochs below retired_below were deleted on purpose: nothing of them is to come back, and what objects a
 * failed delete has left says nothing. */
static int retired_take(struct rec *c, struct rec_cell *cell, struct io_store *get)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf key = {0}, why = {0};
    uint64_t below = 0;
    int rc = get->op.status;
    store_key_retired_epochs(&key, cell->scope);
    if (rc != IO_OK && rc != IO_NOENT)
        rc = store_retry_get(get, c->io, c->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    if (rc == IO_NOENT)
        rc = 0;
    else if (rc != IO_OK)
        rc = log_rec_failed(c, cd_buf_str(&key), rc, get->why);
    else if (store_retired_epochs_read(&below, cd_buf_str(&get->body), &why) != 0)
        rc = log_rec_corrupt(c, "cell_retired_corrupt", cd_buf_str(&key), cd_buf_cstr(&why));
    if (rc == 0 && cell->epoch < below)
        cell->covered = UINT64_MAX;
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* Only epochs with a later one can have been retired: the image that a chain then begins with is in one. */
static int retired_ask(struct rec *c, struct asked *asked, size_t count)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store *get = cd_alloc(REC_ASKS * sizeof *get);
    int rc = 0;
    for (size_t at = 0; at < count && rc == 0;) {
        struct rec_cell *cell[REC_ASKS];
        struct cd_buf key[REC_ASKS] = {{0}};
        size_t n = 0;
        for (; at < count && n < REC_ASKS; at++) {
            if (!asked[at].later)
                continue;
            cell[n] = asked[at].cell;
            store_key_retired_epochs(&key[n], cell[n]->scope);
            get[n].lane = p.lane;
            get[n].timeout_ns = p.attempt_ns;
            io_store_get(&get[n], c->bucket, cd_buf_str(&key[n]), 0, IO_WHOLE, NULL);
            n++;
        }
        for (size_t i = 0; i < n; i++)
            (void)io_await(&get[i].op, IO_FOREVER); /* The same. */
        for (size_t i = 0; i < n; i++) {
            rc = rc == 0 ? retired_take(c, cell[i], &get[i]) : rc;
            cd_buf_deinit(&get[i].body);
            cd_buf_deinit(&key[i]);
        }
        rc = rc == 0 ? log_rec_beat(c) : rc;
    }
    cd_free(get);
    return rc;
}

int log_rec_reach(struct rec *c, struct rec_cell **cell, size_t count)
{
    struct asked *asked = cd_alloc((count + 1) * sizeof *asked);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (cell[i]->known)
            continue;
        asked[n].cell = cell[i];
        ltx_key_cell(&asked[n].prefix, cell[i]->scope);
        ltx_key_epoch(&asked[n++].start, cell[i]->scope, cell[i]->epoch);
    }
    if (n > 1)
        qsort(asked, n, sizeof *asked, by_key);
    int rc = runs_walk(c, asked, n);
    if (rc == 0)
        rc = retired_ask(c, asked, n);
    for (size_t i = 0; i < n; i++) {
        cd_buf_deinit(&asked[i].prefix);
        cd_buf_deinit(&asked[i].start);
    }
    cd_free(asked);
    return rc;
}
