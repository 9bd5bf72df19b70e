/* sim/ledger_truth.c: places of lines, and what their neighbours say of them. */
#include "sim/ledger_truth.h"

#include "base/rng.h"

#define ULL(v) ((unsigned long long)(v))

void ledger_truth_init(struct ledger_truth *t, unsigned cells)
{
    *t = (struct ledger_truth){.cells = cells};
    t->cell = cd_alloc((cells + 1) * sizeof *t->cell);
}

void ledger_truth_deinit(struct ledger_truth *t)
{
    for (unsigned i = 1; i <= t->cells; i++)
        cd_free(t->cell[i].entry);
    cd_free(t->cell);
    cd_free(t->op);
    *t = (struct ledger_truth){0};
}

uint64_t ledger_hash(uint64_t before, uint64_t id)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(id >> 8 * i);
    return cd_hash64(before, bytes, sizeof bytes);
}

uint64_t ledger_truth_begin(struct ledger_truth *t, unsigned cell)
{
    CD_ASSERT(cell >= 1 && cell <= t->cells);
    if (t->ops == t->ops_cap) {
        t->ops_cap = t->ops_cap == 0 ? 64 : t->ops_cap * 2;
        t->op = cd_realloc(t->op, t->ops_cap * sizeof *t->op);
    }
    t->op[t->ops++] = (struct ledger_op){.cell = cell, .floor = t->cell[cell].floor};
    return t->ops;
}

uint64_t ledger_truth_floor(const struct ledger_truth *t, unsigned cell)
{
    return t->cell[cell].floor;
}

static struct ledger_op *op_of(struct ledger_truth *t, uint64_t id)
{
    return id >= 1 && id <= t->ops ? &t->op[id - 1] : NULL;
}

void ledger_truth_lose(struct ledger_truth *t, uint64_t id)
{
    struct ledger_op *op = op_of(t, id);
    CD_ASSERT(op != NULL && op->outcome == LEDGER_OPEN);
    op->outcome = LEDGER_UNKNOWN;
    t->unknown++;
}

const char *ledger_truth_refuse(struct ledger_truth *t, uint64_t id, struct cd_buf *why)
{
    struct ledger_op *op = op_of(t, id);
    CD_ASSERT(op != NULL && op->outcome == LEDGER_OPEN);
    op->outcome = LEDGER_REFUSED;
    t->refused++;
    if (op->at == 0)
        return NULL;
    cd_buf_addf(why, "append %llu to cell %u was refused, but it is line %llu", ULL(id), op->cell,
                ULL(op->at));
    return "ledger.refused";
}

static struct ledger_entry *place(struct ledger_cell *c, uint64_t at)
{
    if (at >= c->cap) {
        uint64_t cap = c->cap == 0 ? 64 : c->cap;
        while (cap <= at)
            cap *= 2;
        c->entry = cd_realloc(c->entry, cap * sizeof *c->entry);
        memset(c->entry + c->cap, 0, (cap - c->cap) * sizeof *c->entry);
        c->cap = cap;
    }
    return &c->entry[at];
}

/* Whether the line fits to the one before it. */
static const char *follows(const struct ledger_entry *before, const struct ledger_entry *e, unsigned cell,
                           uint64_t at, struct cd_buf *why)
{
    if (e->hash != ledger_hash(before->hash, e->id)) {
        cd_buf_addf(why, "cell %u: the hash of line %llu does not follow from the line before", cell,
                    ULL(at));
        return "ledger.hash";
    }
    if (e->epoch < before->epoch) {
        cd_buf_addf(why, "cell %u: line %llu is of epoch %llu, the line before of epoch %llu", cell, ULL(at),
                    ULL(e->epoch), ULL(before->epoch));
        return "ledger.epoch";
    }
    return NULL;
}

/* The line is there: for ever. */
static const char *pin(struct ledger_truth *t, unsigned cell, uint64_t at, const struct ledger_entry *e,
                       struct cd_buf *why)
{
    struct ledger_op *op = op_of(t, e->id);
    if (op == NULL || op->cell != cell) {
        cd_buf_addf(why, "cell %u: line %llu is append %llu, which nobody asked of it", cell, ULL(at),
                    ULL(e->id));
        return "ledger.invented";
    }
    struct ledger_entry *known = place(&t->cell[cell], at);
    if (known->id != 0 && (known->id != e->id || known->hash != e->hash || known->epoch != e->epoch)) {
        cd_buf_addf(why,
                    "cell %u: line %llu was append %llu of epoch %llu, now it is append %llu of epoch %llu",
                    cell, ULL(at), ULL(known->id), ULL(known->epoch), ULL(e->id), ULL(e->epoch));
        return "ledger.lost";
    }
    if (op->outcome == LEDGER_REFUSED) {
        cd_buf_addf(why, "cell %u: append %llu was refused, but it is line %llu", cell, ULL(e->id), ULL(at));
        return "ledger.refused";
    }
    if (op->at != 0 && op->at != at) {
        cd_buf_addf(why, "cell %u: append %llu is line %llu and line %llu", cell, ULL(e->id), ULL(op->at),
                    ULL(at));
        return "ledger.twice";
    }
    if (at <= op->floor) {
        cd_buf_addf(why, "cell %u: append %llu is line %llu, but line %llu was there before it began", cell,
                    ULL(e->id), ULL(at), ULL(op->floor));
        return "ledger.order";
    }
    *known = *e;
    op->at = at;
    if (at > t->cell[cell].floor)
        t->cell[cell].floor = at;
    return NULL;
}

/* Against the lines on both sides, as far as they were seen. */
static const char *neighbours(struct ledger_truth *t, unsigned cell, uint64_t at, struct cd_buf *why)
{
    static const struct ledger_entry nothing = {0};
    struct ledger_cell *c = &t->cell[cell];
    const struct ledger_entry *before = at == 1 ? &nothing : &c->entry[at - 1];
    const char *broken = NULL;
    if (at == 1 || before->id != 0)
        broken = follows(before, &c->entry[at], cell, at, why);
    if (broken == NULL && at + 1 < c->cap && c->entry[at + 1].id != 0)
        broken = follows(&c->entry[at], &c->entry[at + 1], cell, at + 1, why);
    return broken;
}

static const char *see(struct ledger_truth *t, unsigned cell, uint64_t at, const struct ledger_entry *e,
                       struct cd_buf *why)
{
    const char *broken = pin(t, cell, at, e, why);
    return broken != NULL ? broken : neighbours(t, cell, at, why);
}

const char *ledger_truth_ack(struct ledger_truth *t, uint64_t at, const struct ledger_entry *e,
                             struct cd_buf *why)
{
    struct ledger_op *op = op_of(t, e->id);
    CD_ASSERT(op != NULL && op->outcome == LEDGER_OPEN);
    op->outcome = LEDGER_ACKED;
    t->acked++;
    return see(t, op->cell, at, e, why);
}

const char *ledger_truth_read(struct ledger_truth *t, unsigned cell, uint64_t floor, uint64_t from,
                              const struct ledger_entry *e, uint64_t count, uint64_t total,
                              struct cd_buf *why)
{
    const char *broken = NULL;
    if (total < floor || from + count != total + 1) {
        cd_buf_addf(why,
                    "cell %u: a read from line %llu gave %llu of %llu lines, but %llu had been there before",
                    cell, ULL(from), ULL(count), ULL(total), ULL(floor));
        return "ledger.lost";
    }
    for (uint64_t i = 0; i < count && broken == NULL; i++)
        broken = see(t, cell, from + i, &e[i], why);
    return broken;
}
