/* io_sim/clock.c: the clocks of nodes, timers, random bytes.
 *
 * A node's monotonic clock starts anywhere (so that times of two nodes cannot be compared by mistake) and
 * runs at its own rate. A timer is kept in local time: when the rate changes, it is scheduled anew, and it is
 * never early. */
#include "io_sim/kernel.h"

#define PPM 1000000
#define TURN_NS                                                                                              \
    1000u /* A turn takes time: who sleeps for 0 again and again would stop the clock otherwise. */
__extension__ typedef __int128 wide;

static uint64_t local_of(const struct sim_node *n, uint64_t true_ns)
{
    wide d = (wide)(true_ns - n->true_ref_ns);
    return n->local_ref_ns + (uint64_t)(d + d * n->drift_ppm / PPM);
}

static uint64_t local_now(const struct sim_node *n)
{
    return local_of(n, n->sim->now_ns);
}

/* The least true time from now at which the local clock shows at_ns or more. */
static uint64_t true_delay(const struct sim_node *n, uint64_t at_ns)
{
    uint64_t now = local_now(n);
    if (at_ns <= now)
        return 0;
    wide d = (wide)(at_ns - now) * PPM / (PPM + n->drift_ppm);
    uint64_t delay = (uint64_t)d;
    while (local_of(n, n->sim->now_ns + delay) < at_ns)
        delay++;
    return delay;
}

void sim_clock_boot(struct sim_node *n)
{
    uint64_t draw = sim_draw(n->sim, "boot clock", cd_hash64(0, n->name, strlen(n->name)), n->life);
    n->wall_offset_ns += (int64_t)((wide)(n->sim->now_ns - n->true_ref_ns) * n->drift_ppm / PPM);
    n->true_ref_ns = n->sim->now_ns;
    n->local_ref_ns = IO_SEC(3600) + draw % IO_SEC(30 * 86400);
}

uint64_t io_now_ns(struct io *io)
{
    return local_now(sim_loop_of(io)->node);
}

int64_t io_wall_us(struct io *io)
{
    const struct sim_node *n = sim_loop_of(io)->node;
    const struct sim *sim = n->sim;
    /* The wall clock keeps the drift it has gathered: wall_offset_ns holds what is past, the rest is since
     * true_ref. */
    wide d = (wide)(sim->now_ns - n->true_ref_ns);
    wide ns = (wide)sim->opts.wall_ms * 1000000 + sim->now_ns + n->wall_offset_ns + d * n->drift_ppm / PPM;
    return (int64_t)(ns / 1000);
}

int64_t sim_wall_ms(const struct sim *sim)
{
    return sim->opts.wall_ms + (int64_t)(sim->now_ns / 1000000u);
}

int64_t io_wall_ms(struct io *io)
{
    int64_t us = io_wall_us(io);
    return us >= 0 ? us / 1000 : -((-us + 999) / 1000);
}

void sim_clock_step(struct sim_node *n, int64_t wall_ms)
{
    n->wall_offset_ns += wall_ms * 1000000;
}

void sim_clock_drift(struct sim_node *n, int32_t ppm)
{
    CD_ASSERT(ppm > -PPM && ppm < PPM);
    uint64_t local = local_now(n);
    n->wall_offset_ns += (int64_t)((wide)(n->sim->now_ns - n->true_ref_ns) * n->drift_ppm / PPM);
    n->true_ref_ns = n->sim->now_ns;
    n->local_ref_ns = local;
    n->drift_ppm = ppm;
    if (n->loop == NULL)
        return;
    for (unsigned i = 0; i < n->loops; i++) {
        struct cd_list *events = &n->loop[i]->actor.events;
        for (struct cd_link *k = cd_list_first(events); k != NULL; k = cd_list_next(events, k)) {
            struct sim_event *e = CD_CONTAINER(k, struct sim_event, all);
            if (e->kind == SIM_TIMER && !e->settled)
                sim_schedule(n->sim, e, true_delay(n, e->num));
        }
    }
}

static void timer_fire(struct sim *sim, struct sim_event *e)
{
    const struct sim_node *n = e->actor->node;
    CD_ASSERT(local_now(n) >= e->num); /* Never early. */
    sim_op_done(sim, e, IO_OK);
}

void io_timer_start(struct io_timer *t, struct io *io, uint64_t after_ns, io_done_fn *done)
{
    struct sim_event *e = sim_op_begin(&t->op, io, done, SIM_TIMER);
    if (e == NULL)
        return;
    struct sim_node *n = sim_loop_of(io)->node;
    uint64_t now = local_now(n), furthest = UINT64_MAX / 4;
    if (after_ns > furthest)
        after_ns = furthest; /* Two centuries are for ever. */
    t->at_ns = e->num = now + after_ns;
    e->fire = timer_fire;
    uint64_t delay = true_delay(n, e->num);
    sim_schedule(n->sim, e, delay < TURN_NS ? TURN_NS : delay);
}

void io_random(struct io *io, enum io_rand use, void *out, size_t len)
{
    CD_ASSERT((unsigned)use < IO_RAND_COUNT);
    cd_rng_fill(&sim_loop_of(io)->random[use], out, len);
}
