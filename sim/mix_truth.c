/* sim/mix_truth.c: steps from numbers, states from steps, and the chain of states. */
#include "sim/mix_truth.h"

#include <stdio.h>

#include "base/rng.h"

#define ULL(v) ((unsigned long long)(v))
#define LARGE 9000u /* Bytes that take a few pages of any size. */

/* ---- Steps ---- */

static void draw_step(struct cd_rng *r, unsigned *open, struct mix_step *s)
{
    static const enum mix_kind kinds[] = {MIX_PUT,    MIX_PUT,    MIX_PUT, MIX_DELETE, MIX_INSERT, MIX_INSERT,
                                          MIX_INSERT, MIX_REMOVE, MIX_ADD, MIX_BEGIN,  MIX_KEEP,   MIX_UNDO};
    *s = (struct mix_step){.kind = kinds[cd_rng_below(r, CD_COUNT(kinds))]};
    if ((s->kind == MIX_KEEP || s->kind == MIX_UNDO) && *open == 0)
        s->kind = MIX_BEGIN;
    bool pair = s->kind == MIX_PUT || s->kind == MIX_DELETE;
    s->at = (unsigned)cd_rng_below(r, pair ? MIX_PAIRS : MIX_ROWS) + (pair ? 0 : 1);
    bool large = cd_rng_below(r, 16) == 0;
    s->len = (unsigned)cd_rng_below(r, large ? LARGE : 120);
    if (s->kind == MIX_REMOVE || s->kind == MIX_ADD)
        s->len = 1 + s->len % 8;
    s->value = cd_rng_next(r) >> 2;
    *open += s->kind == MIX_BEGIN;
    *open -= s->kind == MIX_KEEP || s->kind == MIX_UNDO;
}

unsigned mix_steps(uint64_t id, uint64_t seed, struct mix_step *out)
{
    struct cd_rng r;
    unsigned open = 0, count = 0;
    cd_rng_seed(&r, seed + id, CD_STR("mix"));
    if (cd_rng_below(&r, 64) == 0)
        out[count++] = (struct mix_step){.kind = MIX_CLEAR};
    unsigned want = count + 1 + (unsigned)cd_rng_below(&r, MIX_STEPS_MAX / 2);
    while (count < want)
        draw_step(&r, &open, &out[count++]);
    while (open > 0) { /* Each was one step, so there is room to end it by another. */
        out[count++] = (struct mix_step){.kind = cd_rng_below(&r, 2) == 0 ? MIX_KEEP : MIX_UNDO};
        open--;
    }
    CD_ASSERT(count <= MIX_STEPS_MAX + 2);
    return count;
}

void mix_bytes(struct cd_buf *out, uint64_t value, unsigned len)
{
    /* Half of it repeats, so that some pages can be compressed and some cannot. */
    for (unsigned i = 0; i < len; i++)
        cd_buf_add_byte(out, (char)('a' + (i % 2 == 0 ? value >> i % 61 : value) % 26));
}

/* ---- States ---- */

void mix_apply(struct mix_state *s, const struct mix_step *step, unsigned steps)
{
    struct mix_state kept[MIX_STEPS_MAX];
    unsigned depth = 0;
    for (unsigned i = 0; i < steps; i++) {
        const struct mix_step *p = &step[i];
        unsigned end = p->at + p->len > MIX_ROWS + 1 ? MIX_ROWS + 1 : p->at + p->len;
        switch (p->kind) {
        case MIX_PUT: s->pair[p->at] = (struct mix_pair){true, p->len, p->value}; break;
        case MIX_DELETE: s->pair[p->at].there = false; break;
        case MIX_INSERT:
            s->row[p->at] = (struct mix_row){true, p->len, p->value, (int64_t)(p->value % 1000)};
            break;
        case MIX_REMOVE:
            for (unsigned k = p->at; k < end; k++)
                s->row[k].there = false;
            break;
        case MIX_ADD:
            for (unsigned k = p->at; k < end; k++)
                s->row[k].n += (int64_t)(p->value % 1000);
            break;
        case MIX_BEGIN: kept[depth++] = *s; break;
        case MIX_KEEP: depth--; break;
        case MIX_UNDO: *s = kept[--depth]; break;
        case MIX_CLEAR: *s = (struct mix_state){0}; break;
        }
    }
}

uint64_t mix_digest_pair(uint64_t digest, struct cd_str key, struct cd_str value)
{
    return cd_hash64(cd_hash64(digest, key.ptr, key.len), value.ptr, value.len);
}

uint64_t mix_digest_row(uint64_t digest, uint64_t id, int64_t n, struct cd_str v)
{
    uint64_t numbers[] = {id, (uint64_t)n};
    return cd_hash64(cd_hash64(digest, numbers, sizeof numbers), v.ptr, v.len);
}

uint64_t mix_digest(const struct mix_state *s)
{
    struct cd_buf bytes = {0};
    uint64_t digest = 0;
    for (unsigned i = 0; i < MIX_PAIRS; i++) {
        char key[8];
        if (!s->pair[i].there)
            continue;
        (void)snprintf(key, sizeof key, "k%02u", i);
        cd_buf_clear(&bytes);
        mix_bytes(&bytes, s->pair[i].value, s->pair[i].len);
        digest = mix_digest_pair(digest, cd_str(key), cd_buf_str(&bytes));
    }
    for (unsigned i = 1; i <= MIX_ROWS; i++) {
        if (!s->row[i].there)
            continue;
        cd_buf_clear(&bytes);
        mix_bytes(&bytes, s->row[i].value, s->row[i].len);
        digest = mix_digest_row(digest, i, s->row[i].n, cd_buf_str(&bytes));
    }
    cd_buf_deinit(&bytes);
    return digest;
}

/* ---- The oracle ---- */

static void add_link(struct mix_cell *c, uint64_t id, uint64_t digest)
{
    if (c->links == c->cap) {
        c->cap = c->cap == 0 ? 16 : c->cap * 2;
        c->link = cd_realloc(c->link, c->cap * sizeof *c->link);
    }
    c->link[c->links++] = (struct mix_link){id, digest};
}

void mix_truth_init(struct mix_truth *t, unsigned cells, uint64_t seed)
{
    *t = (struct mix_truth){.cells = cells, .seed = seed};
    t->cell = cd_alloc((cells + 1) * sizeof *t->cell);
    for (unsigned i = 1; i <= cells; i++)
        add_link(&t->cell[i], 0, mix_digest(&t->cell[i].now));
}

void mix_truth_deinit(struct mix_truth *t)
{
    for (unsigned i = 1; i <= t->cells; i++)
        cd_free(t->cell[i].link);
    cd_free(t->cell);
    cd_free(t->op);
    *t = (struct mix_truth){0};
}

uint64_t mix_truth_begin(struct mix_truth *t, unsigned cell)
{
    CD_ASSERT(cell >= 1 && cell <= t->cells);
    if (t->ops == t->ops_cap) {
        t->ops_cap = t->ops_cap == 0 ? 64 : t->ops_cap * 2;
        t->op = cd_realloc(t->op, t->ops_cap * sizeof *t->op);
    }
    const struct mix_cell *c = &t->cell[cell];
    t->op[t->ops++] = (struct mix_op){.cell = cell, .before = c->link[c->links - 1].id};
    return t->ops;
}

uint64_t mix_truth_before(const struct mix_truth *t, uint64_t id)
{
    return t->op[id - 1].before;
}

size_t mix_truth_floor(const struct mix_truth *t, unsigned cell)
{
    return t->cell[cell].links - 1;
}

/* The place of a transaction in the chain; SIZE_MAX: it has none. */
static size_t place(const struct mix_cell *c, uint64_t id)
{
    for (size_t i = c->links; i > 0; i--) {
        if (c->link[i - 1].id == id)
            return i - 1;
    }
    return SIZE_MAX;
}

/* A transaction of unknown fate turns out to be the next link. */
static const char *extend(struct mix_truth *t, unsigned cell, uint64_t id, struct cd_buf *why)
{
    struct mix_cell *c = &t->cell[cell];
    const struct mix_op *op = id >= 1 && id <= t->ops ? &t->op[id - 1] : NULL;
    struct mix_step step[MIX_STEPS_MAX + 2];
    if (op == NULL || op->cell != cell) {
        cd_buf_addf(why, "cell %u is said to be behind transaction %llu, which nobody asked of it", cell,
                    ULL(id));
        return "mix.invented";
    }
    if (op->refused) {
        cd_buf_addf(why, "cell %u is behind transaction %llu, which was refused", cell, ULL(id));
        return "mix.refused";
    }
    if (op->before != c->link[c->links - 1].id) {
        cd_buf_addf(why,
                    "cell %u is behind transaction %llu, which goes on from %llu, but %llu had been done",
                    cell, ULL(id), ULL(op->before), ULL(c->link[c->links - 1].id));
        return "mix.lost";
    }
    unsigned steps = mix_steps(id, t->seed, step);
    mix_apply(&c->now, step, steps);
    add_link(c, id, mix_digest(&c->now));
    return NULL;
}

const char *mix_truth_state(struct mix_truth *t, unsigned cell, size_t floor, uint64_t last, uint64_t digest,
                            struct cd_buf *why)
{
    struct mix_cell *c = &t->cell[cell];
    size_t at = place(c, last);
    if (at == SIZE_MAX) {
        const char *broken = extend(t, cell, last, why);
        if (broken != NULL)
            return broken;
        at = c->links - 1;
    }
    if (at < floor) {
        cd_buf_addf(why, "cell %u is behind transaction %llu, but %llu had been done before", cell, ULL(last),
                    ULL(c->link[floor].id));
        return "mix.lost";
    }
    if (c->link[at].digest != digest) {
        cd_buf_addf(why, "cell %u holds something else than transaction %llu made of it", cell, ULL(last));
        return "mix.digest";
    }
    return NULL;
}

const char *mix_truth_done(struct mix_truth *t, uint64_t id, size_t floor, uint64_t digest,
                           struct cd_buf *why)
{
    t->done++;
    return mix_truth_state(t, t->op[id - 1].cell, floor, id, digest, why);
}

const char *mix_truth_refuse(struct mix_truth *t, uint64_t id, struct cd_buf *why)
{
    struct mix_op *op = &t->op[id - 1];
    op->refused = true;
    t->refused++;
    if (place(&t->cell[op->cell], id) == SIZE_MAX)
        return NULL;
    cd_buf_addf(why, "transaction %llu was refused, but cell %u is or was behind it", ULL(id), op->cell);
    return "mix.refused";
}
