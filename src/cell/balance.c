/* cell/balance.c: cells among the nodes of a fleet, on the control loop: where a cell goes that has no room
 * here (fleet.md 4.6), and whether dormant cells go to nodes that have fewer (9.9). Both rest on the sample
 * that the fleet shares; one fiber reads it, when it is asked to and at each interval. */
#include <stdio.h>

#include "cell/handoff_internal.h"

#define INTERVAL_MS 5000u /* Of placement, when nothing is balanced. */
#define ALONE 6u /* Intervals between two looks of a node that has seen no other. */
#define FAILED_NS IO_SEC(1)

/* ---- Places ---- */

static void place_back(struct io *at, struct io_msg *m)
{
    struct cell_place *p = CD_CONTAINER(m, struct cell_place, msg);
    (void)at;
    if (p->abandoned) {
        cell_place_free(p);
        return;
    }
    p->answered = true;
    io_signal_wake(&p->answer, IO_OK);
}

static void place_answer(struct io *io, struct cell_place *p)
{
    unsigned loop = p->loop;
    p->msg.handle = place_back;
    io_post(io, loop, &p->msg);
}

static void choose(struct cell_handoff *h, struct cell_place *p)
{
    const struct fleet_sampled *n = fleet_sample_place(&h->sample);
    p->found = n != NULL;
    if (p->found) {
        (void)snprintf(p->session, sizeof p->session, "%s/%s", n->lease.node, n->lease.generation);
        memcpy(p->addr, n->lease.addr, sizeof p->addr);
    }
    place_answer(h->o.io, p);
}

static void place_there(struct io *at, struct io_msg *m)
{
    struct cell_place *p = CD_CONTAINER(m, struct cell_place, msg);
    struct cell_handoff *h = p->router->handoff;
    if (h == NULL || h->balancing == NULL || h->draining || io_now_ns(at) < h->not_before_ns) {
        place_answer(at, p);
    } else if (fleet_sample_fresh(&h->sample)) {
        choose(h, p);
    } else {
        cd_list_push(&h->places, &p->link);
        io_signal_wake(&h->wanted, IO_OK);
    }
}

static void place(struct cell_router *r, struct io *from, struct cell_place *p)
{
    (void)r;
    p->msg.handle = place_there;
    io_post(from, 0, &p->msg);
}

struct refused {
    struct io_msg msg;
    struct cell_router *router;
    char session[STORE_SESSION_MAX + 1];
};

static void refused_there(struct io *at, struct io_msg *m)
{
    struct refused *r = CD_CONTAINER(m, struct refused, msg);
    struct cell_handoff *h = r->router->handoff;
    (void)at;
    if (h != NULL)
        fleet_sample_refused(&h->sample, cd_str(r->session));
    cd_free(r);
}

static void refused(struct cell_router *router, struct io *from, const char *session)
{
    struct refused *r = cd_new(struct refused);
    r->router = router;
    (void)snprintf(r->session, sizeof r->session, "%s", session);
    r->msg.handle = refused_there;
    io_post(from, 0, &r->msg);
}

/* ---- Balance ---- */

struct donation {
    struct io_msg msg;
    struct cell_router *router;
    unsigned count;
};

static void donate_there(struct io *at, struct io_msg *m)
{
    struct donation *d = CD_CONTAINER(m, struct donation, msg);
    struct cell_shard *s = d->router->shard[io_loop_index(at)];
    if (s != NULL)
        cell_shard_donate(s, d->count);
    cd_free(d);
}

static void donate(struct cell_handoff *h, unsigned count)
{
    unsigned shards = h->loops - 1;
    for (unsigned i = 0; i < shards; i++) {
        struct donation *d = cd_new(struct donation);
        d->router = h->o.router;
        d->count = count / shards + (i < count % shards);
        d->msg.handle = donate_there;
        io_post(h->o.io, i + 1, &d->msg);
    }
}

static int read_sample(struct cell_handoff *h)
{
    int rc = fleet_sample_fresh(&h->sample) ? IO_OK : fleet_sample_read(&h->sample);
    if (rc != IO_OK)
        h->not_before_ns = io_now_ns(h->o.io) + FAILED_NS;
    return rc;
}

static int balance(struct cell_handoff *h)
{
    struct fleet_receiver *to;
    unsigned count, cells = 0;
    struct store_load load;
    store_load_init(&load);
    if (h->o.load != NULL)
        h->o.load(h->o.arg, &load);
    if (!fleet_authoritative(h->self->authority, io_now_ns(h->o.io)))
        return IO_OK;
    int rc = read_sample(h);
    if (rc != IO_OK || load.draining || load.pressured || load.rebalance_paused ||
        load.owned_cells == STORE_ABSENT || h->offers > 0)
        return rc;
    to = cd_alloc(FLEET_RECEIVERS_MAX * sizeof *to);
    cells = fleet_sample_surplus(&h->sample, load.owned_cells, h->o.activations, to, &count);
    bool drained = false;
    if (cells > 0)
        rc = fleet_drain_seen(h->o.io, h->bucket, cd_str(h->self->node), &drained, NULL);
    if (cells > 0 && rc == IO_OK && !drained && !h->draining) {
        CD_MARK("cell.balance");
        memcpy(h->receiver, to, sizeof h->receiver);
        h->receivers = count;
        cd_event(h->o.io, CD_INFO, "rebalance_batch", CD_U("cells", cells), CD_U("receivers", count));
        donate(h, cells);
    }
    cd_free(to);
    return rc;
}

static void answer_all(struct cell_handoff *h, bool choices)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&h->places)) != NULL) {
        struct cell_place *p = CD_CONTAINER(k, struct cell_place, link);
        if (choices)
            choose(h, p);
        else
            place_answer(h->o.io, p);
    }
}

static void balance_flow(void *arg)
{
    struct cell_handoff *h = arg;
    struct io *io = h->o.io;
    uint64_t every = IO_MS(h->sample.interval_ms), next = io_now_ns(io) + every;
    int rc = IO_OK;
    while (rc != IO_CANCELED && !h->draining && !h->gone) {
        struct io_op op = {0};
        io_signal_wait(&h->wanted, io, &op, NULL);
        rc = io_await(&op, cd_list_empty(&h->places) ? next : 0);
        if (rc != IO_CANCELED && !cd_list_empty(&h->places)) {
            rc = read_sample(h);
            answer_all(h, rc == IO_OK);
        }
        if (rc != IO_CANCELED && io_now_ns(io) >= next) {
            if (h->o.interval_ms > 0)
                rc = balance(h);
            next = io_now_ns(io) + every * (h->sample.count == 1 ? ALONE : 1);
        }
    }
    answer_all(h, false);
    fleet_sample_deinit(&h->sample);
    h->balancing = NULL;
    cell_handoff_news(h);
}

void cell_balance_start(struct cell_handoff *h)
{
    h->sample = (struct fleet_sample){.io = h->o.io,
                                      .bucket = h->bucket,
                                      .self = h->self,
                                      .interval_ms = h->o.interval_ms > 0 ? h->o.interval_ms : INTERVAL_MS,
                                      .ttl_ms = h->o.ttl_ms};
    io_signal_init(&h->wanted);
    cd_list_init(&h->places);
    h->o.router->place = place;
    h->o.router->place_refused = refused;
    h->balancing = io_spawn(h->o.io, "balance", balance_flow, h);
}

void cell_balance_end(struct cell_handoff *h)
{
    if (h->balancing != NULL)
        io_fiber_cancel(h->balancing);
}
