#include "fleet/gate.h"

#include <stdio.h>

#include "fleet/claim_rule.h"
#include "fleet/drain.h"
#include "store/retry.h"

/* ---- The rule ---- */

static bool lives(const struct fleet_gate_facts *f, const struct store_lease *l)
{
    return !fleet_lease_dead(l, f->now_ms, f->self->authority->ahead_ms, false);
}

static bool is_self(const struct fleet_gate_facts *f, const struct store_lease *l)
{
    return strcmp(l->node, f->self->node) == 0;
}

/* Who tells of no sample is judged by his latch. */
static bool short_of_memory(const struct store_load *l)
{
    bool sampled = l->sampled_ms != STORE_ABSENT && l->sampled_ms != 0;
    return sampled ? !l->memory_headroom : l->pressured;
}

static bool still_restores(const struct fleet_gate_facts *f, const struct store_lease *l)
{
    for (unsigned i = 0; i < f->baselines; i++) {
        if (strcmp(f->baseline[i].node, l->node) == 0)
            return l->load.restoring != STORE_ABSENT &&
                   l->load.restoring > f->baseline[i].restoring + f->activations;
    }
    return false;
}

/* Those that were there before us have shares as even as one more node of their size would leave them. */
static bool shares_are_even(const struct fleet_gate_facts *f, bool *successor)
{
    uint64_t most = 0, all = 0, n = 0;
    bool told = true, paced = false;
    for (unsigned i = 0; i < f->leases; i++) {
        const struct store_lease *l = &f->lease[i];
        if (is_self(f, l)) {
            paced = l->paced_handoff;
            continue;
        }
        if (!lives(f, l))
            continue;
        told = told && l->load.owned_cells != STORE_ABSENT;
        uint64_t owned = l->load.owned_cells == STORE_ABSENT ? 0 : l->load.owned_cells;
        most = owned > most ? owned : most;
        all += owned;
        n++;
    }
    *successor = n >= 2 && paced && f->owned < most;
    if (n < 2 || *successor)
        return true;
    /* max <= mean + ceil(max / (n - 1)) */
    return told && most * n <= all + n * ((most + n - 2) / (n - 1));
}

const char *fleet_gate_closed(const struct fleet_gate_facts *f, bool *successor)
{
    bool here = false;
    *successor = false;
    for (unsigned i = 0; i < f->leases; i++)
        here = here || (is_self(f, &f->lease[i]) && lives(f, &f->lease[i]));
    if (!here)
        return "own_lease";
    if (f->drained)
        return "drain";
    for (unsigned i = 0; i < f->leases; i++) {
        const struct store_lease *l = &f->lease[i];
        if (lives(f, l) && short_of_memory(&l->load))
            return "memory";
        if (lives(f, l) && still_restores(f, l))
            return "restore_backlog";
    }
    return shares_are_even(f, successor) ? NULL : "ownership";
}

/* ---- Reading ---- */

#define NODES_MAX 256u

struct look {
    const struct fleet_gate *g;
    struct store_lease *lease; /* owned */
    struct fleet_gate_baseline *baseline; /* owned */
    struct fleet_gate_facts f;
};

static void add_lease(void *arg, const struct store_lease *l)
{
    struct look *k = arg;
    if (k->f.leases < NODES_MAX)
        k->lease[k->f.leases++] = *l;
}

static void read_baseline(struct look *k, struct cd_str text)
{
    struct cd_json_doc *doc;
    if (text.len == 0 || cd_json_parse(&doc, text, NULL) != 0)
        return;
    const struct cd_json *root = cd_json_root(doc);
    for (const struct cd_json *v = cd_json_next(root, NULL, NULL); v != NULL;
         v = cd_json_next(root, v, NULL)) {
        struct fleet_gate_baseline *b = &k->baseline[k->f.baselines];
        struct cd_str node;
        if (k->f.baselines == NODES_MAX || cd_json_str(cd_json_get(v, "node"), &node) != 0 ||
            !store_node_valid(node) || cd_json_u64(cd_json_get(v, "restoring"), &b->restoring) != 0)
            continue;
        (void)snprintf(b->node, sizeof b->node, "%.*s", (int)node.len, node.ptr);
        k->f.baselines++;
    }
    cd_json_free(doc);
}

int fleet_gate_look(const struct fleet_gate *g, const char **why, bool *successor)
{
    struct look k = {.g = g, .lease = cd_alloc(NODES_MAX * sizeof *k.lease)};
    struct cd_buf baseline = {0};
    k.baseline = cd_alloc(NODES_MAX * sizeof *k.baseline);
    k.f = (struct fleet_gate_facts){.self = g->self,
                                    .lease = k.lease,
                                    .baseline = k.baseline,
                                    .owned = g->owned,
                                    .activations = g->activations};
    int rc = fleet_drain_seen(g->io, g->bucket, cd_str(g->self->node), &k.f.drained, &baseline);
    if (rc == IO_OK)
        rc = fleet_leases_read(g->io, g->bucket, add_lease, &k);
    if (rc == IO_OK) {
        read_baseline(&k, cd_buf_str(&baseline));
        k.f.now_ms = io_wall_ms(g->io);
        *why = fleet_gate_closed(&k.f, successor);
    }
    cd_buf_deinit(&baseline);
    cd_free(k.lease);
    cd_free(k.baseline);
    return rc;
}
