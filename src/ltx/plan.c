#include "ltx/plan.h"

#include <limits.h>
#include <stdlib.h>

const char *ltx_fault_name(enum ltx_fault fault)
{
    switch (fault) {
    case LTX_FAULT_NONE: return "none";
    case LTX_FAULT_NO_DATA: return "no data";
    case LTX_FAULT_GAP: return "gap";
    case LTX_FAULT_CORRUPT: return "corrupt";
    case LTX_FAULT_NOT_AVAILABLE: return "transaction not available";
    }
    CD_UNREACHABLE();
}

/* Whether a is the better next object than b, both fitting. */
static bool better(const struct ltx_object *a, const struct ltx_object *b)
{
    if (a->max_txid != b->max_txid)
        return a->max_txid > b->max_txid;
    if (a->min_txid != b->min_txid)
        return a->min_txid < b->min_txid;
    if (a->level != b->level)
        return a->level > b->level;
    return a->modified_ms < b->modified_ms;
}

#define NONE SIZE_MAX

/* Walks from object to object, in the order of their first txids: each is looked at once. */
struct walk {
    const struct ltx_object *object; /* Borrowed. */
    struct walk_step {
        uint64_t min_txid;
        size_t index;
    } *step; /* owned */
    size_t count, next;
    size_t best; /* Of those that begin at or before the last place asked for. */
};

static int by_min(const void *a, const void *b)
{
    const struct walk_step *x = a, *y = b;
    if (x->min_txid != y->min_txid)
        return x->min_txid < y->min_txid ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

#define ANY_LEVEL UINT_MAX

static void walk_start(struct walk *w, const struct ltx_object *object, size_t count, uint64_t limit,
                       unsigned level)
{
    *w = (struct walk){.object = object, .best = NONE};
    w->step = cd_alloc(count * sizeof *w->step + 1);
    for (size_t i = 0; i < count; i++) {
        if (object[i].max_txid <= limit && (level == ANY_LEVEL || object[i].level == level))
            w->step[w->count++] = (struct walk_step){object[i].min_txid, i};
    }
    if (w->count > 1)
        qsort(w->step, w->count, sizeof *w->step, by_min);
}

/* The object that leads farthest from cur on, which only rises. */
static size_t walk_next(struct walk *w, uint64_t cur)
{
    for (; w->next < w->count && w->step[w->next].min_txid - 1 <= cur; w->next++) {
        size_t at = w->step[w->next].index;
        if (w->best == NONE || better(&w->object[at], &w->object[w->best]))
            w->best = at;
    }
    return w->best != NONE && w->object[w->best].max_txid > cur ? w->best : NONE;
}

static void walk_end(struct walk *w)
{
    cd_free(w->step);
}

enum ltx_fault ltx_plan_epoch(const struct ltx_object *object, size_t count, uint64_t limit, size_t *plan,
                              size_t *planned, uint64_t *reach)
{
    uint64_t start = UINT64_MAX, last = 0;
    size_t image = NONE, n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ltx_object *o = &object[i];
        if (o->max_txid > limit)
            continue;
        start = o->min_txid < start ? o->min_txid : start;
        last = o->max_txid > last ? o->max_txid : last;
        if (o->level == LTX_L9 && (image == NONE || better(o, &object[image])))
            image = i;
    }
    uint64_t cur = last == 0 ? 0 : start - 1;
    if (image != NONE) {
        plan[n++] = image;
        cur = object[image].max_txid;
    }
    struct walk w;
    walk_start(&w, object, count, limit, ANY_LEVEL);
    for (size_t next; last != 0 && (next = walk_next(&w, cur)) != NONE;) {
        plan[n++] = next;
        cur = object[next].max_txid;
    }
    walk_end(&w);
    *planned = n;
    *reach = n == 0 ? 0 : cur;
    return cur < last && !CD_PLANT("ltx.gap_ignored") ? LTX_FAULT_GAP : LTX_FAULT_NONE;
}

uint64_t ltx_coverage(const struct ltx_object *object, size_t count, uint64_t first_txid)
{
    uint64_t start = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        start = object[i].min_txid < start ? object[i].min_txid : start;
    if (count == 0 || (first_txid != 0 && start > first_txid))
        return 0;
    uint64_t cur = (first_txid == 0 ? start : first_txid) - 1, from = cur;
    struct walk w;
    walk_start(&w, object, count, UINT64_MAX, ANY_LEVEL);
    for (size_t next; (next = walk_next(&w, cur)) != NONE;)
        cur = object[next].max_txid;
    walk_end(&w);
    return cur == from ? 0 : cur;
}

/* ---- Compaction ---- */

/* What is as good as compacted. */
static bool compact(const struct ltx_object *o)
{
    return o->level != LTX_L0 || o->size > LTX_COMPACT_BYTES;
}

uint64_t ltx_compacted(const struct ltx_object *object, size_t count, uint64_t first_txid)
{
    uint64_t reach = first_txid - 1;
    struct walk w;
    for (size_t i = 0; i < count; i++) {
        if (object[i].level != LTX_L0 && object[i].max_txid > reach)
            reach = object[i].max_txid;
    }
    walk_start(&w, object, count, UINT64_MAX, ANY_LEVEL);
    for (size_t next; (next = walk_next(&w, reach)) != NONE && compact(&object[next]);)
        reach = object[next].max_txid;
    walk_end(&w);
    return reach;
}

size_t ltx_compact_pick(const struct ltx_object *object, size_t count, uint64_t first_txid,
                        size_t source[LTX_COMPACT_SOURCES])
{
    uint64_t cur = ltx_compacted(object, count, first_txid), bytes = 0;
    size_t n = 0;
    struct walk w;
    walk_start(&w, object, count, UINT64_MAX, LTX_L0);
    for (size_t next; n < LTX_COMPACT_SOURCES && (next = walk_next(&w, cur)) != NONE;) {
        bytes += object[next].size;
        if (bytes > LTX_COMPACT_BYTES)
            break;
        source[n++] = next;
        cur = object[next].max_txid;
    }
    walk_end(&w);
    return n;
}

/* ---- The chain ---- */

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static enum ltx_chain_step fail(struct ltx_chain *c, enum ltx_fault fault, const char *format, ...)
    CD_PRINTF(3, 4);

static enum ltx_chain_step fail(struct ltx_chain *c, enum ltx_fault fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&c->why, format, args);
    va_end(args);
    c->fault = fault;
    return LTX_CHAIN_FAILED;
}

static enum ltx_chain_step next_candidate(struct ltx_chain *c)
{
    if (c->candidates == 0)
        return fail(c, LTX_FAULT_NO_DATA, "no epoch of the cell has an object");
    c->epoch = c->candidate[--c->candidates];
    return LTX_CHAIN_LIST;
}

enum ltx_chain_step ltx_chain_start(struct ltx_chain *c, const uint64_t *epochs, size_t count,
                                    uint64_t newest, uint64_t limit)
{
    c->candidate = cd_alloc(count * sizeof *c->candidate + 1);
    for (size_t i = 0; i < count; i++) {
        if (epochs[i] <= newest)
            c->candidate[c->candidates++] = epochs[i];
    }
    if (c->candidates > 1)
        qsort(c->candidate, c->candidates, sizeof *c->candidate, by_number);
    c->need = UINT64_MAX;
    c->limit = limit;
    return next_candidate(c);
}

/* Room for more objects in front of those that are there: older epochs come later and are applied first. */
static void make_room(struct ltx_chain *c, size_t more)
{
    if (c->head >= more)
        return;
    size_t cap = 2 * c->cap + more;
    struct ltx_object *bigger = cd_alloc(cap * sizeof *bigger);
    size_t used = c->cap - c->head;
    if (used > 0)
        memcpy(bigger + cap - used, c->object + c->head, used * sizeof *bigger);
    cd_free(c->object);
    c->object = bigger;
    c->head = cap - used;
    c->cap = cap;
}

enum ltx_chain_step ltx_chain_listed(struct ltx_chain *c, const struct ltx_object *object, size_t count)
{
    bool newest = c->epochs == 0;
    uint64_t limit = newest ? c->limit : c->need, reach = 0;
    size_t *plan = cd_alloc(count * sizeof *plan + 1), planned = 0;
    enum ltx_fault fault = ltx_plan_epoch(object, count, limit, plan, &planned, &reach);
    enum ltx_chain_step step = LTX_CHAIN_HEAD;
    if (fault != LTX_FAULT_NONE) {
        step = fail(c, fault, "epoch %llu: nothing leads on from txid %llu", (unsigned long long)c->epoch,
                    (unsigned long long)reach);
    } else if (newest && planned == 0) {
        step = next_candidate(c); /* An activation that wrote nothing, or rows beyond the limit only. */
    } else if (!newest && reach != c->need && !CD_PLANT("ltx.link_unchecked")) {
        step = fail(c, LTX_FAULT_NOT_AVAILABLE, "epoch %llu ends at txid %llu, its successor continues %llu",
                    (unsigned long long)c->epoch, (unsigned long long)reach, (unsigned long long)c->need);
    } else {
        make_room(c, planned);
        c->head -= planned;
        for (size_t i = 0; i < planned; i++)
            c->object[c->head + i] = object[plan[i]];
        c->first = object[plan[0]];
        if (newest) {
            c->reach_epoch = c->epoch;
            c->reach_txid = reach;
        }
        c->epochs++;
    }
    cd_free(plan);
    return step;
}

static bool listed(const struct ltx_chain *c, uint64_t epoch)
{
    for (size_t i = 0; i < c->candidates; i++) {
        if (c->candidate[i] == epoch)
            return true;
    }
    return false;
}

enum ltx_chain_step ltx_chain_head(struct ltx_chain *c, const struct ltx_header *h)
{
    if (h->epoch != c->epoch || h->min_txid != c->first.min_txid || h->max_txid != c->first.max_txid)
        return fail(c, LTX_FAULT_CORRUPT, "epoch %llu: its first object has the header of another",
                    (unsigned long long)c->epoch);
    if ((h->flags & LTX_SNAPSHOT) != 0) {
        c->count = c->cap - c->head;
        memmove(c->object, c->object + c->head, c->count * sizeof *c->object);
        c->head = 0;
        c->cap = c->count;
        c->image_only = c->count == 1;
        return LTX_CHAIN_DONE;
    }
    if ((h->flags & LTX_MARKER) == 0)
        return fail(c, LTX_FAULT_CORRUPT, "epoch %llu begins at txid %llu with neither an image nor a marker",
                    (unsigned long long)c->epoch, (unsigned long long)h->min_txid);
    if (h->base_epoch >= c->epoch || !listed(c, h->base_epoch))
        return fail(c, LTX_FAULT_CORRUPT, "epoch %llu continues epoch %llu, which has no objects",
                    (unsigned long long)c->epoch, (unsigned long long)h->base_epoch);
    c->need = h->base_txid;
    c->epoch = h->base_epoch;
    return LTX_CHAIN_LIST;
}

void ltx_chain_deinit(struct ltx_chain *c)
{
    cd_free(c->object);
    cd_free(c->candidate);
    cd_buf_deinit(&c->why);
    *c = (struct ltx_chain){0};
}
