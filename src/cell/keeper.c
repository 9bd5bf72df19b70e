#include "cell/keeper.h"

#include "cell/cell_internal.h"
#include "cell/pressure.h"
#include "io/backend.h"

#define SAMPLE_NS IO_SEC(1)

/* What a loop tells of itself. */
struct report {
    struct cell_tally tally;
    unsigned sockets;
};

/* One message goes to each loop and comes back. While it is away, only that loop may touch press and found.
 */
struct post {
    struct io_msg msg;
    struct cell_keeper *keeper;
    bool away;
    struct cell_press press;
    struct report found;
    struct report known; /* Of the message before: the control loop reads it at any time. */
};

struct cell_keeper {
    struct cell_keeper_opts o;
    struct io_timer timer;
    struct io_op *stop; /* Of cell_keeper_stop. */
    uint64_t sampled_ns;
    uint64_t trimmed; /* Cells shed at the last trim. */
    struct cell_pressure pressure;
    struct cell_load load;
    unsigned loops;
    struct post post[]; /* By loop; that of the control loop is not used. */
};

static void settle(struct cell_keeper *k)
{
    if (k->stop == NULL || io_busy(&k->timer.op))
        return;
    for (unsigned i = 1; i < k->loops; i++) {
        if (k->post[i].away)
            return;
    }
    io_complete_later(k->stop, IO_OK);
    cd_free(k);
}

/* ---- Shards ---- */

static void back(struct io *at, struct io_msg *m)
{
    struct post *p = CD_CONTAINER(m, struct post, msg);
    (void)at;
    p->away = false;
    p->known = p->found;
    settle(p->keeper);
}

static void there(struct io *at, struct io_msg *m)
{
    struct post *p = CD_CONTAINER(m, struct post, msg);
    struct cell_shard *s = p->keeper->o.router->shard[io_loop_index(at)];
    p->found = (struct report){0};
    if (s != NULL) {
        cell_shard_press(s, &p->press);
        p->found.tally = cell_shard_tally(s);
    }
    if (p->keeper->o.sockets != NULL)
        p->found.sockets = p->keeper->o.sockets(p->keeper->o.arg, io_loop_index(at));
    p->msg.handle = back;
    io_post(at, 0, &p->msg);
}

/* Each shard its share, by the idle cells that it has. */
static void tell(struct cell_keeper *k)
{
    const struct cell_tally *all = &k->load.cells;
    uint64_t stay = all->occupied - all->leaving;
    uint64_t excess = stay > k->pressure.floor ? stay - k->pressure.floor : 0;
    uint64_t idle = all->idle;
    for (unsigned i = 1; i < k->loops; i++) {
        struct post *p = &k->post[i];
        uint64_t share = idle == 0 ? 0 : excess * p->known.tally.idle / idle;
        idle -= p->known.tally.idle; /* What was rounded down goes to those behind. */
        excess -= share;
        if (p->away)
            continue;
        stay = p->known.tally.occupied - p->known.tally.leaving;
        p->press = (struct cell_press){.engaged = k->load.shedding != NULL,
                                       .release = k->o.release,
                                       .floor = stay > share ? stay - share : 0};
        p->away = true;
        p->msg.handle = there;
        io_post(k->o.io, i, &p->msg);
    }
}

/* ---- Samples ---- */

void cell_tally_add(struct cell_tally *to, const struct cell_tally *t)
{
    to->occupied += t->occupied;
    to->leaving += t->leaving;
    to->resident += t->resident;
    to->idle += t->idle;
    to->activating += t->activating;
    to->activation_waiting += t->activation_waiting;
    to->capacity_waiting += t->capacity_waiting;
    to->owned += t->owned;
    to->inventoried += t->inventoried;
    to->handed_off += t->handed_off;
    to->handoff_failed += t->handoff_failed;
    to->rebalanced += t->rebalanced;
    to->rebalance_failed += t->rebalance_failed;
    to->stops += t->stops;
    to->route_refreshes += t->route_refreshes;
    to->published += t->published;
    to->shed += t->shed;
}

static void read_usage(struct cell_keeper *k)
{
    struct cell_load *l = &k->load;
    uint64_t now = io_now_ns(k->o.io), before_us = l->usage.cpu_us;
    io_usage_read(k->o.io, &l->usage);
    l->at_ms = io_wall_ms(k->o.io);
    l->in_use = cell_in_use(&l->usage);
    l->cpu_percent_x100 = IO_ABSENT;
    uint64_t passed_us = (now - k->sampled_ns) / 1000;
    if (k->sampled_ns != 0 && passed_us > 0)
        l->cpu_percent_x100 = (l->usage.cpu_us - before_us) * 10000 / passed_us;
    k->sampled_ns = now;
}

static void sample(struct cell_keeper *k)
{
    struct cell_load *l = &k->load;
    const char *before = l->shedding;
    if (before != NULL && l->cells.shed != k->trimmed) {
        k->trimmed = l->cells.shed;
        io_usage_trim(k->o.io);
    }
    read_usage(k);
    l->cells = (struct cell_tally){0};
    l->sockets = 0;
    for (unsigned i = 1; i < k->loops; i++) {
        cell_tally_add(&l->cells, &k->post[i].known.tally);
        l->sockets += k->post[i].known.sockets;
    }
    l->confirmed = l->cells.inventoried == k->loops - 1;
    k->pressure.marks = cell_marks_of(k->o.high_mib, &l->usage); /* A group's limit may be changed. */
    cell_pressure_step(&k->pressure, &l->usage, l->cells.occupied);
    l->shedding = cell_pressure_reason(&k->pressure);
    l->headroom = cell_headroom(&k->pressure.marks, &l->usage);
    if (l->shedding != before)
        cd_event(k->o.io, l->shedding != NULL ? CD_WARN : CD_INFO, "memory_pressure",
                 CD_Z("reason", l->shedding == NULL ? "none" : l->shedding), CD_U("rss_bytes", l->usage.rss),
                 CD_U("in_use_bytes", l->in_use), CD_U("high_bytes", k->pressure.marks.high),
                 CD_U("hard_bytes", k->pressure.marks.hard), CD_U("cells", l->cells.occupied),
                 CD_U("shed_cells", l->cells.shed));
    tell(k);
}

static void sample_due(struct io_op *op, int status)
{
    struct cell_keeper *k = CD_CONTAINER(op, struct cell_keeper, timer.op);
    if (status != IO_OK || k->stop != NULL) {
        settle(k);
        return;
    }
    sample(k);
    io_timer_start(&k->timer, k->o.io, SAMPLE_NS, sample_due);
}

struct cell_keeper *cell_keeper_new(const struct cell_keeper_opts *opts)
{
    unsigned loops = io_loop_count(opts->io);
    struct cell_keeper *k = cd_alloc(sizeof *k + loops * sizeof k->post[0]);
    k->o = *opts;
    k->loops = loops;
    for (unsigned i = 0; i < loops; i++)
        k->post[i].keeper = k;
    sample(k);
    io_timer_start(&k->timer, k->o.io, SAMPLE_NS, sample_due);
    return k;
}

const struct cell_load *cell_keeper_load(const struct cell_keeper *k)
{
    return &k->load;
}

void cell_keeper_tell(const struct cell_keeper *k, struct store_load *out)
{
    const struct cell_load *l = &k->load;
    CD_STATIC_ASSERT(IO_ABSENT == STORE_ABSENT, "what is not known here is not known there");
    out->sampled_ms = l->at_ms > 0 ? (uint64_t)l->at_ms : 0;
    out->owned_cells = l->confirmed ? l->cells.owned : STORE_ABSENT;
    out->placement_weight = k->o.weight == 0 ? STORE_ABSENT : k->o.weight;
    out->resident_cells = l->cells.resident;
    out->host_websockets = k->o.sockets == NULL ? STORE_ABSENT : l->sockets;
    out->open_fds = l->usage.fds;
    out->fd_limit = l->usage.fd_limit;
    out->shed_cells = l->cells.shed;
    out->rss_bytes = l->usage.rss;
    out->in_use_bytes = l->in_use;
    out->cgroup_working_set_bytes = l->usage.cgroup_working_set;
    out->cgroup_current_bytes = l->usage.cgroup_current;
    out->cpu_percent_x100 = l->cpu_percent_x100;
    out->restoring = l->cells.activating + l->cells.activation_waiting;
    out->pressured = l->shedding != NULL;
    out->memory_headroom = l->headroom;
}

void cell_keeper_stop(struct cell_keeper *k, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(k->stop == NULL);
    io_begin(op, k->o.io, done); /* It cannot be cancelled: messages are under way. */
    k->stop = op;
    io_cancel(&k->timer.op);
    settle(k);
}
