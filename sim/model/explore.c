#include <stdio.h>
#include <string.h>

#include "sim/model/slot_log.h"

#define TRACE_MAX 500u

void model_init(struct model *m, uint32_t limit)
{
    m->limit = limit;
    m->buckets = 1u << 10;
    while (m->buckets < limit + limit / 2)
        m->buckets *= 2;
    m->seen = cd_alloc((size_t)limit * sizeof *m->seen);
    m->parent = cd_alloc((size_t)limit * sizeof *m->parent);
    m->how = cd_alloc((size_t)limit * sizeof *m->how);
    m->table = cd_alloc((size_t)m->buckets * sizeof *m->table);
}

void model_deinit(struct model *m)
{
    cd_free(m->seen);
    cd_free(m->parent);
    cd_free(m->how);
    cd_free(m->table);
}

static uint64_t hash(const uint8_t *key)
{
    uint64_t h = 1469598103934665603u, v;
    for (size_t i = 0; i < MODEL_PACKED; i += 8) {
        memcpy(&v, key + i, 8);
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h ^ h >> 32;
}

static void pack(const struct state *s, uint8_t out[MODEL_PACKED])
{
    unsigned field[2 * MODEL_PACKED] = {0};
    memcpy(field, s, sizeof *s);
    for (size_t i = 0; i < MODEL_PACKED; i++) {
        CD_ASSERT((field[2 * i] | field[2 * i + 1]) < 16);
        out[i] = (uint8_t)(field[2 * i] | field[2 * i + 1] << 4);
    }
}

static void unpack(const uint8_t key[MODEL_PACKED], struct state *s)
{
    unsigned field[2 * MODEL_PACKED];
    for (size_t i = 0; i < MODEL_PACKED; i++) {
        field[2 * i] = key[i] & 15u;
        field[2 * i + 1] = key[i] >> 4;
    }
    memcpy(s, field, sizeof *s);
}

struct state *model_fork(struct model *m, const struct state *s)
{
    m->next = *s;
    return &m->next;
}

/* Members are alike: of two states that differ in their order alone one is enough. */
static void order_members(struct state *s)
{
    unsigned *const field[] = {s->confirmed, s->ship, s->fragment, s->base, s->end, s->sealed_to, s->lost};
    size_t i = 0;
    while (i < CD_COUNT(field) && field[i][0] == field[i][1])
        i++;
    if (i == CD_COUNT(field) || field[i][0] > field[i][1])
        return;
    for (i = 0; i < CD_COUNT(field); i++) {
        unsigned first = field[i][0];
        field[i][0] = field[i][1];
        field[i][1] = first;
    }
}

void model_add(struct model *m, const char *step)
{
    uint8_t key[MODEL_PACKED];
    struct state s = m->next; /* The caller may go on with the other. */
    if (m->members == 2)
        order_members(&s);
    pack(&s, key);
    uint64_t h = hash(key) & (m->buckets - 1);
    for (; m->table[h] != 0; h = (h + 1) & (m->buckets - 1))
        if (memcmp(m->seen[m->table[h] - 1], key, MODEL_PACKED) == 0)
            return;
    if (m->count == m->limit) {
        m->verdict = "LIMIT";
        return;
    }
    memcpy(m->seen[m->count], key, MODEL_PACKED);
    m->parent[m->count] = m->at;
    m->how[m->count] = step;
    m->table[h] = ++m->count;
}

static void visit(struct model *m, const struct state *s)
{
    unsigned durable = model_durable_batch(m, s);
    unsigned acked = durable > s->credited ? durable : s->credited;
    if (s->ended && !s->declared && (model_up_to(acked) & ~s->cells) != 0) {
        m->verdict = "VIOLATION acknowledged batch lost";
        return;
    }
    if (!s->fenced)
        model_leader(m, s);
    if (m->verdict == NULL)
        model_landings(m, s);
    for (unsigned q = 0; q < m->recoverers && m->verdict == NULL; q++)
        model_recoverer(m, s, q);
}

const char *model_run(struct model *m)
{
    struct state s = {0};
    memset(m->table, 0, (size_t)m->buckets * sizeof *m->table);
    m->count = m->at = 0;
    m->verdict = NULL;
    (void)model_fork(m, &s);
    model_add(m, "start");
    for (uint32_t i = 0; i < m->count && m->verdict == NULL; i++) {
        m->at = i;
        unpack(m->seen[i], &s);
        visit(m, &s);
    }
    if (m->verdict == NULL)
        m->verdict = "COMPLETE";
    return m->verdict;
}

void model_trace(const struct model *m)
{
    uint32_t path[TRACE_MAX];
    unsigned n = 0;
    for (uint32_t i = m->at; i != 0 && n < TRACE_MAX; i = m->parent[i])
        path[n++] = i;
    while (n > 0)
        printf("  %s\n", m->how[path[--n]]);
}
