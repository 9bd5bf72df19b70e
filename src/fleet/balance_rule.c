/* fleet/balance_rule.c: who takes a cell, and who gives cells away, as functions of a sample:
 * fleet.md 4.6, 9.9. */
#include <stdio.h>

#include "fleet/claim_rule.h"
#include "fleet/sample.h"

static bool is_self(const struct fleet_sample *s, const struct fleet_sampled *n)
{
    return strcmp(n->lease.node, s->self->node) == 0;
}

static uint64_t or_zero(uint64_t v)
{
    return v == STORE_ABSENT ? 0 : v;
}

static uint64_t memory(const struct store_load *l)
{
    return l->in_use_bytes != STORE_ABSENT ? l->in_use_bytes : or_zero(l->rss_bytes);
}

/* ---- Placement ---- */

static bool may_place(const struct fleet_sample *s, const struct fleet_sampled *n)
{
    const struct store_load *l = &n->lease.load;
    return n->live && !n->refused && !is_self(s, n) && n->lease.addr[0] != 0 &&
           n->lease.peer_protocol == FLEET_PEER_PROTOCOL && or_zero(l->sampled_ms) > 0 && !l->pressured &&
           !l->draining;
}

static bool lighter(const struct fleet_sampled *a, const struct fleet_sampled *b)
{
    const struct store_load *x = &a->lease.load, *y = &b->lease.load;
    uint64_t cells_a = or_zero(x->resident_cells) + a->reserved,
             cells_b = or_zero(y->resident_cells) + b->reserved;
    if (cells_a != cells_b)
        return cells_a < cells_b;
    if (or_zero(x->host_websockets) != or_zero(y->host_websockets))
        return or_zero(x->host_websockets) < or_zero(y->host_websockets);
    if (memory(x) != memory(y))
        return memory(x) < memory(y);
    return strcmp(a->lease.node, b->lease.node) < 0;
}

struct fleet_sampled *fleet_sample_place(struct fleet_sample *s)
{
    struct fleet_sampled *best = NULL;
    for (unsigned i = 0; i < s->count; i++) {
        struct fleet_sampled *n = &s->node[i];
        if (may_place(s, n) && (best == NULL || lighter(n, best)))
            best = n;
    }
    if (best != NULL)
        best->reserved++;
    return best;
}

static struct fleet_sampled *of_session(struct fleet_sample *s, struct cd_str session)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct cd_buf name = {0};
        store_lease_session(&name, &s->node[i].lease);
        bool same = cd_str_eq(cd_buf_str(&name), session);
        cd_buf_deinit(&name);
        if (same)
            return &s->node[i];
    }
    return NULL;
}

void fleet_sample_refused(struct fleet_sample *s, struct cd_str session)
{
    struct fleet_sampled *n = of_session(s, session);
    if (n != NULL && !CD_PLANT("fleet.refusal_forgotten"))
        n->refused = true;
}

/* ---- Balance ---- */

void fleet_sample_gave(struct fleet_sample *s, struct cd_str session)
{
    struct fleet_sampled *n = of_session(s, session);
    if (n != NULL)
        n->reserved++;
}

struct shares {
    uint64_t owned, weight; /* Of all that live. */
    const struct fleet_sampled *donor; /* The one with the most for its weight. */
};

__extension__ typedef unsigned __int128 wide;

/* What it owns, with what was given to it since it sampled itself. */
static uint64_t owns(const struct fleet_sample *s, const struct fleet_sampled *n, uint64_t own)
{
    return is_self(s, n) ? own : n->lease.load.owned_cells + n->reserved;
}

/* False: somebody does not tell, or does not want. */
static bool add_up(const struct fleet_sample *s, uint64_t own, struct shares *out)
{
    bool here = false;
    *out = (struct shares){0};
    for (unsigned i = 0; i < s->count; i++) {
        const struct fleet_sampled *n = &s->node[i];
        const struct store_load *l = &n->lease.load;
        if (!n->live)
            continue;
        if (l->owned_cells == STORE_ABSENT || l->placement_weight == STORE_ABSENT ||
            l->placement_weight == 0 || l->rebalance_paused)
            return false;
        here = here || is_self(s, n);
        out->owned += owns(s, n, own);
        out->weight += l->placement_weight;
        const struct fleet_sampled *d = out->donor;
        wide left = d == NULL ? 0 : (wide)owns(s, n, own) * d->lease.load.placement_weight;
        wide right = d == NULL ? 0 : (wide)owns(s, d, own) * l->placement_weight;
        if (d == NULL || left > right || (left == right && strcmp(n->lease.node, d->lease.node) < 0))
            out->donor = n;
    }
    return here;
}

unsigned fleet_sample_surplus(struct fleet_sample *s, uint64_t owned, uint64_t ceiling,
                              struct fleet_receiver out[FLEET_RECEIVERS_MAX], unsigned *count)
{
    struct shares all;
    *count = 0;
    if (!add_up(s, owned, &all) || !(is_self(s, all.donor) || CD_PLANT("fleet.everybody_donates")))
        return 0;
    uint64_t weight = 0, room = 0;
    for (unsigned i = 0; i < s->count; i++)
        weight = is_self(s, &s->node[i]) ? s->node[i].lease.load.placement_weight : weight;
    uint64_t target = (uint64_t)(((wide)all.owned * weight + all.weight - 1) / all.weight); /* Rounded up. */
    uint64_t surplus = owned > target ? owned - target : 0;
    for (unsigned i = 0; i < s->count && surplus > 0 && *count < FLEET_RECEIVERS_MAX; i++) {
        const struct fleet_sampled *n = &s->node[i];
        const struct store_load *l = &n->lease.load;
        if (!n->live || !fleet_may_receive(&n->lease, s->self, s->started_ms) ||
            or_zero(l->restoring) > ceiling)
            continue;
        uint64_t most = (uint64_t)((wide)all.owned * l->placement_weight * 98 / ((wide)all.weight * 100));
        uint64_t has = owns(s, n, owned);
        if (most <= has)
            continue;
        struct fleet_receiver *r = &out[(*count)++];
        fleet_receiver_of(r, &n->lease, s->self);
        r->cells = has;
        r->bounded = true;
        r->room = most - has;
        room += r->room;
    }
    uint64_t batch = surplus < room ? surplus : room;
    return batch < FLEET_BALANCE_BATCH ? (unsigned)batch : FLEET_BALANCE_BATCH;
}
