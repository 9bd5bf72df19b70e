/* cell/place.c: a cell for which this node has no room: whoever has it needs none here, and one that nobody
 * has may go to a node with room. fleet.md 4.4, 4.6.
 *
 * The cell keeps its place in the queue meanwhile: when its turn comes first, it comes in, and the look is
 * forgotten. Only a cell that waits in vain lets another one be evicted for it. */
#include "cell/cell_internal.h"
#include "fleet/sample.h"

#define ROUTE_MS                                                                                             \
    5000 /* So long calls go there without a look at the record, which names the node by then.               \
          */
#define AGAIN_NS IO_SEC(5) /* By then nodes have told anew what room they have. */

/* ---- A node with room ---- */

void cell_place_free(struct cell_place *p)
{
    cd_free(p);
}

static bool wants_place(const struct cell *c)
{
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = cd_list_next(&c->calls, k)) {
        const struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (!w->foreign && !w->activate)
            return true;
    }
    return false; /* Alarms never go elsewhere. */
}

/* True: the route leads there. */
static bool find_place(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    struct cell_router *r = s->o.router;
    struct io_op op = {0};
    if (r->place == NULL)
        return false;
    struct cell_place *p = cd_new(struct cell_place);
    p->router = r;
    p->loop = io_loop_index(s->o.io);
    io_signal_init(&p->answer);
    r->place(r, s->o.io, p);
    io_signal_wait(&p->answer, s->o.io, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* It is answered in any case. */
    if (!p->answered) {
        p->abandoned = true;
        return false;
    }
    bool found = p->found && f->cell != NULL;
    if (found) { /* Epoch 0: nobody has it yet. */
        struct fleet_claim to = {.end = FLEET_CLAIM_REMOTE, .until_ms = io_wall_ms(s->o.io) + ROUTE_MS};
        memcpy(to.live, p->session, sizeof to.live);
        memcpy(to.addr, p->addr, sizeof to.addr);
        CD_MARK("cell.placed_elsewhere");
        cell_route_set(f->cell, &to);
    }
    cell_place_free(p);
    return found;
}

static void look(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    f->event = CELL_EV_LOOKED;
    if (f->cell == NULL)
        return;
    char *scope = cd_str_dup(cd_str(f->cell->scope));
    struct fleet_claim c = {.io = s->o.io,
                            .bucket = io_bucket(s->o.io),
                            .self = s->o.self,
                            .scope = cd_str(scope),
                            .only_ours = cell_only_foreign(f->cell),
                            .look_only = true,
                            .deadline_ns = io_now_ns(s->o.io) + s->o.limits.operation_ns};
    int rc = fleet_claim(&c);
    cd_free(scope);
    if (rc != IO_OK || f->cell == NULL)
        return;
    if (c.end == FLEET_CLAIM_REMOTE || c.end == FLEET_CLAIM_NOT_OURS) {
        CD_MARK("cell.full_and_remote");
        cell_owned_drop(s, cd_str(f->cell->scope));
        cell_route_set(f->cell, &c);
        f->event = CELL_EV_REMOTE;
    } else if (c.end == FLEET_CLAIM_LOOKED && !s->draining &&
               (c.from == FLEET_CLAIM_FRESH || c.from == FLEET_CLAIM_RELEASED) && wants_place(f->cell) &&
               find_place(f)) {
        f->event = CELL_EV_REMOTE;
    }
}

/* Who waits for a slot has a permit: these are few, however many wait for one. */
void cell_look_elsewhere(struct cell_shard *s)
{
    uint64_t now = io_now_ns(s->o.io);
    if (s->o.router->tunnels == NULL || s->o.self->sole || s->closing || s->fenced)
        return;
    for (struct cd_link *k = cd_list_first(&s->slot_queue); k != NULL; k = cd_list_next(&s->slot_queue, k)) {
        struct cell *c = CD_CONTAINER(k, struct cell, queue);
        if (c->flow != NULL || (c->placed_ns != 0 && now - c->placed_ns < AGAIN_NS))
            continue;
        c->placed_ns = now;
        (void)cell_flow_start(c, "look", look);
    }
}

unsigned cell_lookers(const struct cell_shard *s)
{
    unsigned n = 0;
    for (struct cd_link *k = cd_list_first(&s->slot_queue); k != NULL; k = cd_list_next(&s->slot_queue, k))
        n += CD_CONTAINER(k, struct cell, queue)->flow != NULL;
    return n;
}

/* ---- Cells of others that have no room ---- */

/* True: none of its calls was sent here for our room, or none is any more. */
static bool refuse_placed(struct cell *c)
{
    bool waits = c->state.phase == CELL_WAITING_PERMIT || c->state.phase == CELL_WAITING_SLOT;
    bool any = false;
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = next) {
        next = cd_list_next(&c->calls, k);
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (!w->foreign || w->epoch != 0)
            continue;
        if (!waits)
            return false;
        CD_MARK("cell.place_refused");
        any = true;
        cell_wire_refuse(w, &(struct cell_close){.text = CD_STR(CELL_CAPACITY_TEXT),
                                                 .overloaded = true,
                                                 .retryable = true,
                                                 .refusal = CELL_REFUSED_CAPACITY});
    }
    if (any && cd_list_empty(&c->calls) && !c->wake && !c->look)
        cell_feed(c, CELL_EV_GIVE_UP);
    return true;
}

void cell_refuse_placed(struct cell_shard *s)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&s->placed); k != NULL; k = next) {
        next = cd_list_next(&s->placed, k);
        struct cell *c = CD_CONTAINER(k, struct cell, placed);
        if (refuse_placed(c))
            cd_link_remove(&c->placed);
    }
}

/* ---- Giving away (fleet.md 9.9) ---- */

struct candidate {
    struct cell *cell;
    uint64_t used_ns;
};

static bool older(const struct candidate *a, const struct candidate *b)
{
    return a->used_ns != b->used_ns ? a->used_ns < b->used_ns : strcmp(a->cell->scope, b->cell->scope) < 0;
}

/* Asleep, with nothing that would have to be folded first. What this session alone may know of its alarm has
 * to be known to us: nobody asks the log of a session that lives. */
static bool may_move(const struct cell *c, const struct cell_owned *o)
{
    return (o->known || o->adopted || o->inherited) &&
           (c->state.phase == CELL_DORMANT || c->state.phase == CELL_INACTIVE) && c->flow == NULL &&
           c->tail.txid == 0 && !cell_active(c);
}

void cell_shard_donate(struct cell_shard *s, unsigned count)
{
    struct candidate best[FLEET_BALANCE_BATCH];
    unsigned found = 0;
    if (s->draining || s->closing || s->fenced || s->handing > 0 || !cd_list_empty(&s->going) || count == 0)
        return;
    count = count < FLEET_BALANCE_BATCH ? count : FLEET_BALANCE_BATCH;
    for (struct cd_map_node *n = cd_map_first(&s->owned); n != NULL; n = cd_map_next(n)) {
        const struct cell_owned *o = cd_map_value(n);
        struct cell *c = cell_find(s, cd_map_key(n), true);
        struct candidate one = {c, o->used_ns};
        cell_poke(c); /* Who is not taken is forgotten again. */
        if (!may_move(c, o) || (found == count && !older(&one, &best[found - 1])))
            continue;
        unsigned at = found < count ? found++ : found - 1;
        for (; at > 0 && older(&one, &best[at - 1]); at--)
            best[at] = best[at - 1];
        best[at] = one;
    }
    s->window = count;
    for (unsigned i = 0; i < found; i++)
        cd_list_push(&s->going, &best[i].cell->going);
    cell_shard_pump(s);
}
