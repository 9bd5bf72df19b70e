/* io_sim/kernel.c: one run: virtual time, the scheduler's policies, one step. simulation.md 3.
 *
 * Nothing here knows what events do. Draws of the scheduler are hashes of (seed, actor, the actor's event
 * ordinal), so an actor's lateness does not change when another one does less. */
#include "io_sim/kernel.h"

#include <stdlib.h>

#define WALL_MS_DEFAULT INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define FIBER_SLICES_MAX 1000000u /* More in one event is a fiber that wakes itself for ever. */
#define RANKS 1024u

static struct io *current;

struct io **io_current_slot(void)
{
    return &current;
}

/* ---- Draws ---- */

uint64_t sim_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t sim_label(const struct sim *sim, const char *purpose)
{
    return cd_hash64(sim_mix(sim->opts.seed, 0), purpose, strlen(purpose));
}

uint64_t sim_draw(const struct sim *sim, const char *purpose, uint64_t what, uint64_t ordinal)
{
    return sim_mix(sim_mix(sim_label(sim, purpose), what), ordinal);
}

void sim_rng(const struct sim *sim, const char *purpose, struct cd_rng *out)
{
    cd_rng_seed(out, sim->opts.seed, cd_str(purpose));
}

/* ---- Actors and the schedule ---- */

void sim_actor_init(struct sim *sim, struct sim_actor *a, const char *name)
{
    *a = (struct sim_actor){.id = cd_hash64(0, name, strlen(name))};
    a->rank = sim_mix(sim_mix(sim->schedule_label, a->id), 1) % RANKS;
    cd_list_init(&a->events);
}

void sim_actor_deinit(struct sim *sim, struct sim_actor *a)
{
    struct cd_link *k;
    while ((k = cd_list_first(&a->events)) != NULL)
        sim_event_free(sim, CD_CONTAINER(k, struct sim_event, all));
}

void sim_schedule(struct sim *sim, struct sim_event *e, uint64_t delay_ns)
{
    sim_unschedule(sim, e);
    struct sim_actor *a = e->actor;
    uint64_t slack = sim->opts.slack_ns, late = 0;
    e->tie = sim->next_tie++;
    switch (sim->opts.policy) {
    case SIM_FIFO: break;
    case SIM_RANDOM: {
        uint64_t draw = sim_mix(sim_mix(sim->schedule_label, a->id), a->ordinal);
        late = slack == 0 ? 0 : draw % (slack + 1);
        e->tie = sim_mix(draw, 1);
        break;
    }
    case SIM_PCT:
        late = a->rank >= RANKS ? slack : slack * a->rank / RANKS;
        e->tie = a->rank;
        break;
    }
    a->ordinal++;
    CD_ASSERT(delay_ns < UINT64_MAX - sim->now_ns - late);
    e->at_ns = sim->now_ns + delay_ns + late;
    sim_heap_push(sim, e);
}

void sim_charge(struct sim *sim, struct sim_actor *a, uint64_t ns)
{
    uint64_t from = a->free_at_ns > sim->now_ns ? a->free_at_ns : sim->now_ns;
    a->free_at_ns = from + ns;
}

/* Later than any time of a run. */
#define STOPPED_NS (UINT64_MAX / 4)

void sim_actor_stop(struct sim_actor *a)
{
    a->free_at_ns = STOPPED_NS;
}

void sim_actor_continue(struct sim *sim, struct sim_actor *a)
{
    if (a->free_at_ns != STOPPED_NS)
        return;
    a->free_at_ns = sim->now_ns;
    for (struct cd_link *k = cd_list_first(&a->events); k != NULL; k = cd_list_next(&a->events, k)) {
        struct sim_event *e = CD_CONTAINER(k, struct sim_event, all);
        if (e->index != SIM_PARKED && e->at_ns == STOPPED_NS)
            sim_schedule(sim, e, 0);
    }
}

/* The event that runs next is put last for good: what PCT does at its change points. */
static void pct_change(struct sim *sim, struct sim_actor *a)
{
    while (sim->pct_next < sim->pct_count && sim->pct_at[sim->pct_next] <= sim->events) {
        sim->pct_next++;
        a->rank = RANKS + sim->pct_next;
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void pct_init(struct sim *sim)
{
    if (sim->opts.policy != SIM_PCT)
        return;
    uint64_t horizon = sim->opts.pct_horizon == 0 ? 100000 : sim->opts.pct_horizon;
    sim->pct_count = sim->opts.pct_points == 0 ? 3 : sim->opts.pct_points;
    sim->pct_at = cd_alloc(sim->pct_count * sizeof *sim->pct_at);
    struct cd_rng rng;
    sim_rng(sim, "pct", &rng);
    for (unsigned i = 0; i < sim->pct_count; i++)
        sim->pct_at[i] = cd_rng_below(&rng, horizon);
    qsort(sim->pct_at, sim->pct_count, sizeof *sim->pct_at, compare_u64);
}

/* ---- One step ---- */

/* The next event whose actor is free; NULL when there is none. Events of busy actors move to when they are
 * free. */
static struct sim_event *next_event(struct sim *sim, uint64_t limit_ns)
{
    while (sim->heap_len > 0 && sim->heap[0].at_ns <= limit_ns) {
        struct sim_event *e = sim_heap_pop(sim);
        if (e->actor->free_at_ns <= e->at_ns)
            return e;
        e->at_ns = e->actor->free_at_ns;
        sim_heap_push(sim, e);
    }
    return NULL;
}

static void fire(struct sim *sim, struct sim_event *e)
{
    struct sim_loop *loop = e->actor->loop;
    if (loop == NULL) {
        e->fire(sim, e);
        return;
    }
    /* The turn may end the loop's life: only sim_loop_settle frees it, after everything else. */
    io_enter(&loop->io);
    e->fire(sim, e);
    unsigned slices = 0;
    while (io_fiber_run_one(&loop->io))
        CD_ASSERT(++slices < FIBER_SLICES_MAX);
    io_leave(&loop->io);
    sim_lent_end(loop);
}

/* Fires the next event at or before limit_ns. False: there is none. */
static bool step_until(struct sim *sim, uint64_t limit_ns)
{
    CD_ASSERT(current == NULL);
    struct sim_event *e = next_event(sim, limit_ns);
    if (e == NULL)
        return false;
    CD_ASSERT(e->at_ns >= sim->now_ns);
    sim->now_ns = e->at_ns;
    sim->events++;
    pct_change(sim, e->actor);
    struct sim_loop *loop = e->actor->loop;
    sim->record = (struct sim_record){
        .event = sim->events,
        .at_ns = sim->now_ns,
        .node = e->actor->node,
        .loop = loop == NULL ? 0 : loop->index,
        .kind = sim_kind_name(e->kind),
        .serial = e->op != NULL ? e->op->serial : e->serial,
    };
    sim->record_kind = e->kind;
    fire(sim, e);
    sim_trace_event(sim);
    if (loop != NULL && loop->frozen)
        sim_loop_settle(loop);
    return true;
}

bool sim_step(struct sim *sim)
{
    return step_until(sim, UINT64_MAX);
}

bool sim_run_until(struct sim *sim, bool (*holds)(void *arg), void *arg, uint64_t limit_ns)
{
    uint64_t end_ns = limit_ns > UINT64_MAX - sim->now_ns ? UINT64_MAX : sim->now_ns + limit_ns;
    while (!holds(arg)) {
        if (step_until(sim, end_ns))
            continue;
        if (sim->heap_len > 0)
            sim->now_ns = end_ns;
        return false;
    }
    return true;
}

void sim_run_for(struct sim *sim, uint64_t ns)
{
    uint64_t end_ns = sim->now_ns + ns;
    while (step_until(sim, end_ns))
        ;
    sim->now_ns = end_ns;
}

/* ---- Life of a run ---- */

struct sim *sim_new(const struct sim_opts *opts)
{
    struct sim *sim = cd_new(struct sim);
    sim->opts = opts == NULL ? (struct sim_opts){.seed = 1} : *opts;
    if (sim->opts.wall_ms == 0)
        sim->opts.wall_ms = WALL_MS_DEFAULT;
    sim->log_level = CD_INFO;
    cd_list_init(&sim->pool);
    cd_list_init(&sim->blocks);
    cd_list_init(&sim->nodes);
    sim->schedule_label = sim_label(sim, "schedule");
    sim->hash = sim_mix(sim->opts.seed, 0x5eed);
    pct_init(sim);
    sim_actor_init(sim, &sim->plan, "plan");
    sim_actor_init(sim, &sim->wire, "wire");
    sim_actor_init(sim, &sim->store_actor, "store");
    sim->store_node = sim_pseudo_node(sim, "store");
    sim->world_node = sim_pseudo_node(sim, "world");
    return sim;
}

static bool all_dead(void *arg)
{
    struct sim *sim = arg;
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL; k = cd_list_next(&sim->nodes, k)) {
        struct sim_node *n = CD_CONTAINER(k, struct sim_node, link);
        if (!n->pseudo && n->state != SIM_DEAD)
            return false;
    }
    return true;
}

void sim_free(struct sim *sim)
{
    CD_ASSERT(current == NULL); /* Not from inside of a callback. */
    sim->ending = true;
    sim_actor_deinit(sim, &sim->plan); /* Nothing is planned beyond the end. */
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL; k = cd_list_next(&sim->nodes, k))
        sim_crash(CD_CONTAINER(k, struct sim_node, link), SIM_KILL);
    sim_heal_all(sim);
    if (!sim_run_until(sim, all_dead, sim, UINT64_MAX))
        sim_report_stuck(sim);
    if (sim->store_free != NULL)
        sim->store_free(sim);
    if (sim->entropy_free != NULL)
        sim->entropy_free(sim);
    sim_parts_free(sim);
    CD_ASSERT(cd_list_empty(&sim->plan.events));
    sim_actor_deinit(sim, &sim->wire);
    sim_actor_deinit(sim, &sim->store_actor);
    sim_nodes_free(sim);
    sim_trace_deinit(sim);
    sim_pool_deinit(sim);
    cd_free(sim->pct_at);
    cd_free(sim);
}

uint64_t sim_now_ns(const struct sim *sim)
{
    return sim->now_ns;
}

uint64_t sim_seed(const struct sim *sim)
{
    return sim->opts.seed;
}

uint64_t sim_events(const struct sim *sim)
{
    return sim->events;
}

static void plan_fire(struct sim *sim, struct sim_event *e)
{
    void (*fn)(struct sim *sim, void *arg) = (void (*)(struct sim *, void *))e->fn;
    void *arg = e->owner;
    sim_event_free(sim, e);
    fn(sim, arg);
}

void sim_at(struct sim *sim, uint64_t after_ns, void (*fn)(struct sim *sim, void *arg), void *arg)
{
    if (sim->ending)
        return; /* Nothing is planned beyond the end: a node may be fenced while it dies. */
    struct sim_event *e = sim_event_new(sim, &sim->plan, SIM_PLAN, plan_fire);
    e->fn = (void (*)(void))fn;
    e->owner = arg;
    sim_schedule(sim, e, after_ns);
}
