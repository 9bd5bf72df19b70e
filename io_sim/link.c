/* io_sim/link.c: the wires between nodes: settings, cuts, clogs, and how long a message takes.
 *
 * Draws are hashes of (seed, wire or connection, ordinal): cutting one wire leaves the luck of all others
 * alone. */
#include "io_sim/net.h"

#define ANY UINT32_MAX
#define LOSS_TRIES 6u /* Lost so often in a row: the connection is reset. */
#define RETRY_NS IO_MS(200) /* First retransmission; doubled each time. */
#define BACK_NS IO_MS(1) /* From a heal to the first byte. */
#define DELAY_NS 100000u /* Of wires that nobody set. */
#define LOOPBACK_NS 10000u

static uint64_t wire_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

struct sim_net *sim_net(struct sim *sim)
{
    if (sim->net == NULL) {
        sim->net = cd_new(struct sim_net);
        sim->net->version = 1;
        cd_list_init(&sim->net->conns);
    }
    return sim->net;
}

struct sim_wire *sim_wire(struct sim *sim, struct sim_node *from, struct sim_node *to)
{
    struct sim_net *net = sim_net(sim);
    struct sim_wire *w = cd_map_get_u64(&net->wires, wire_key(from->id, to->id));
    if (w != NULL)
        return w;
    w = cd_new(struct sim_wire);
    w->from = from;
    w->to = to;
    w->id = sim_mix(cd_hash64(1, from->name, strlen(from->name)), cd_hash64(2, to->name, strlen(to->name)));
    cd_list_init(&w->waiting);
    (void)cd_map_put_u64(&net->wires, wire_key(from->id, to->id), w);
    return w;
}

/* ---- Settings ---- */

void sim_link_set(struct sim *sim, struct sim_node *from, struct sim_node *to, const struct sim_link *link)
{
    struct sim_net *net = sim_net(sim);
    uint64_t key = wire_key(from == NULL ? ANY : from->id, to == NULL ? ANY : to->id);
    struct sim_link *own = cd_map_get_u64(&net->rules, key);
    if (own == NULL) {
        own = cd_new(struct sim_link);
        (void)cd_map_put_u64(&net->rules, key, own);
    }
    *own = *link;
    net->version++;
}

/* The most special rule for the wire. */
static struct sim_link rule_of(struct sim *sim, const struct sim_node *from, const struct sim_node *to)
{
    const struct sim_net *net = sim_net(sim);
    const struct sim_link *l = cd_map_get_u64(&net->rules, wire_key(from->id, to->id));
    if (l == NULL && from == to)
        return (struct sim_link){.delay_ns = LOOPBACK_NS};
    if (l == NULL)
        l = cd_map_get_u64(&net->rules, wire_key(from->id, ANY));
    if (l == NULL)
        l = cd_map_get_u64(&net->rules, wire_key(ANY, to->id));
    if (l == NULL)
        l = cd_map_get_u64(&net->rules, wire_key(ANY, ANY));
    return l == NULL ? (struct sim_link){.delay_ns = DELAY_NS} : *l;
}

const struct sim_link *sim_wire_link(struct sim *sim, struct sim_wire *w)
{
    uint64_t version = sim_net(sim)->version;
    if (w->version != version) {
        w->link = rule_of(sim, w->from, w->to);
        w->version = version;
    }
    return &w->link;
}

void sim_link_get(struct sim *sim, struct sim_node *from, struct sim_node *to, struct sim_link *out)
{
    *out = *sim_wire_link(sim, sim_wire(sim, from, to));
}

uint64_t sim_give_up_ns(struct sim *sim, struct sim_wire *w)
{
    uint64_t ns = sim_wire_link(sim, w)->give_up_ns;
    return ns == 0 ? SIM_GIVE_UP_NS : ns;
}

uint64_t sim_wire_delay(struct sim *sim, struct sim_wire *w, uint64_t bytes, uint64_t draw)
{
    const struct sim_link *l = sim_wire_link(sim, w);
    uint64_t delay = l->delay_ns, retry = RETRY_NS;
    if (l->jitter_ns > 0)
        delay += sim_mix(draw, 1) % (l->jitter_ns + 1);
    if (l->bytes_per_s > 0 && bytes > 0) {
        uint64_t from = w->busy_until_ns > sim->now_ns ? w->busy_until_ns : sim->now_ns;
        w->busy_until_ns = from + bytes * 1000000000u / l->bytes_per_s;
        delay += w->busy_until_ns - sim->now_ns;
    }
    for (unsigned i = 0; l->loss_ppm > 0; i++) {
        if (!sim_strikes(sim_mix(draw, 2 + i), l->loss_ppm))
            break;
        if (i == LOSS_TRIES)
            return UINT64_MAX;
        delay += retry;
        retry *= 2;
    }
    return delay;
}

/* ---- Cuts and clogs ---- */

bool sim_wire_held(const struct sim_wire *w)
{
    return w->cut || w->clogged_until_ns > w->from->sim->now_ns;
}

/* What was held goes on in its old order. */
static void wire_flush(struct sim *sim, struct sim_wire *w, uint64_t delay_ns)
{
    if (sim_wire_held(w))
        return;
    struct cd_link *k;
    while ((k = cd_list_pop(&w->waiting)) != NULL)
        sim_schedule(sim, CD_CONTAINER(k, struct sim_event, link), delay_ns);
}

void sim_cut(struct sim *sim, struct sim_node *from, struct sim_node *to)
{
    sim_wire(sim, from, to)->cut = true;
}

void sim_cut_both(struct sim *sim, struct sim_node *a, struct sim_node *b)
{
    sim_cut(sim, a, b);
    sim_cut(sim, b, a);
}

void sim_heal(struct sim *sim, struct sim_node *from, struct sim_node *to)
{
    struct sim_wire *w = sim_wire(sim, from, to);
    w->cut = false;
    wire_flush(sim, w, BACK_NS);
}

void sim_heal_both(struct sim *sim, struct sim_node *a, struct sim_node *b)
{
    sim_heal(sim, a, b);
    sim_heal(sim, b, a);
}

void sim_heal_all(struct sim *sim)
{
    struct sim_net *net = sim_net(sim);
    for (struct cd_map_node *k = cd_map_first(&net->wires); k != NULL; k = cd_map_next(k)) {
        struct sim_wire *w = cd_map_value(k);
        w->cut = false;
        w->clogged_until_ns = 0;
        wire_flush(sim, w, BACK_NS);
    }
}

static void unclog_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_wire *w = e->owner;
    sim_event_free(sim, e);
    wire_flush(sim, w, 0);
}

void sim_clog(struct sim *sim, struct sim_node *from, struct sim_node *to, uint64_t ns)
{
    struct sim_wire *w = sim_wire(sim, from, to);
    if (w->clogged_until_ns >= sim->now_ns + ns)
        return;
    w->clogged_until_ns = sim->now_ns + ns;
    struct sim_event *e = sim_event_new(sim, &sim->wire, SIM_WIRE, unclog_fire);
    e->owner = w;
    sim_schedule(sim, e, ns);
}

static void clog_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_wire *w = e->owner;
    uint64_t ns = e->num;
    sim_event_free(sim, e);
    sim_clog(sim, w->from, w->to, ns);
}

void sim_swizzle(struct sim_node *n, uint64_t ns)
{
    struct sim *sim = n->sim;
    uint64_t draw = sim_draw(sim, "swizzle", n->id, sim->now_ns);
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL; k = cd_list_next(&sim->nodes, k)) {
        struct sim_node *other = CD_CONTAINER(k, struct sim_node, link);
        if (other == n || other->parent != NULL)
            continue; /* Children use their parent's wires. */
        for (unsigned way = 0; way < 2; way++) {
            uint64_t d = sim_mix(sim_mix(draw, other->id), way);
            /* Each begins somewhere in the first half and ends somewhere in the second. */
            uint64_t from = d % (ns / 2 + 1), until = ns / 2 + sim_mix(d, 1) % (ns / 2 + 1);
            struct sim_event *e = sim_event_new(sim, &sim->plan, SIM_PLAN, clog_fire);
            e->owner = way == 0 ? sim_wire(sim, n, other) : sim_wire(sim, other, n);
            e->num = until - from;
            sim_schedule(sim, e, from);
        }
    }
}

/* ---- Messages that are not streams ---- */

enum sim_transit sim_transit(struct sim *sim, struct sim_node *from, struct sim_node *to, uint64_t bytes,
                             uint64_t ordinal, uint64_t *delay_ns)
{
    struct sim_wire *w = sim_wire(sim, from, to);
    uint64_t draw = sim_mix(sim_mix(sim_label(sim, "transit"), w->id), ordinal);
    uint64_t delay = sim_wire_delay(sim, w, bytes, draw);
    *delay_ns = delay == UINT64_MAX ? sim_give_up_ns(sim, w) : delay;
    if (w->cut)
        return SIM_CUT;
    return sim_wire_held(w) ? SIM_CLOGGED : SIM_ARRIVES;
}

void sim_wait_link(struct sim *sim, struct sim_node *from, struct sim_node *to, struct sim_event *e)
{
    struct sim_wire *w = sim_wire(sim, from, to);
    sim_unschedule(sim, e);
    if (!sim_wire_held(w)) {
        sim_schedule(sim, e, 0);
        return;
    }
    cd_list_push(&w->waiting, &e->link);
}
