/* io_sim/node.c: nodes: their lives, crashes, pauses, and what is left of a life. simulation.md 4. */
#include <stdio.h>
#include <stdlib.h>

#include "io_sim/kernel.h"
#include "io_sim/peers.h"

struct sim *sim_of(struct io *io)
{
    return sim_loop_of(io)->sim;
}

struct sim_node *sim_node_of(struct io *io)
{
    return sim_loop_of(io)->node;
}

const char *sim_node_name(const struct sim_node *n)
{
    return n->name;
}

unsigned sim_node_id(const struct sim_node *n)
{
    return n->id;
}

unsigned sim_node_lives(const struct sim_node *n)
{
    return n->life;
}

enum sim_life sim_node_life(const struct sim_node *n)
{
    return n->state;
}

struct sim_node *sim_store_node(struct sim *sim)
{
    return sim->store_node;
}

struct sim_node *sim_world_node(struct sim *sim)
{
    return sim->world_node;
}

struct sim_node *sim_node_find(struct sim *sim, const char *name)
{
    return cd_map_get(&sim->node_by_name, cd_str(name));
}

struct io *sim_io(struct sim_node *n, unsigned loop)
{
    CD_ASSERT(loop < n->loops);
    return n->loop == NULL ? NULL : &n->loop[loop]->io;
}

/* ---- Making nodes ---- */

static struct sim_node *node_new(struct sim *sim, const char *name)
{
    CD_ASSERT(name != NULL && sim_node_find(sim, name) == NULL);
    struct sim_node *n = cd_new(struct sim_node);
    n->sim = sim;
    n->name = cd_str_dup(cd_str(name));
    n->id = sim->next_node_id++;
    n->state = SIM_DEAD;
    cd_list_push(&sim->nodes, &n->link);
    (void)cd_map_put(&sim->node_by_name, cd_str(name), n);
    return n;
}

struct sim_node *sim_pseudo_node(struct sim *sim, const char *name)
{
    struct sim_node *n = node_new(sim, name);
    n->pseudo = true;
    n->state = SIM_UP;
    return n;
}

static void boot_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_loop *loop = e->actor->loop;
    sim_event_free(sim, e);
    loop->booted = true;
    if (loop->node->program.boot != NULL)
        loop->node->program.boot(&loop->io, loop->node->program.arg);
}

static void life_start(struct sim_node *n)
{
    struct sim *sim = n->sim;
    n->life++;
    n->state = SIM_UP;
    n->unwound = 0;
    n->next_port = 0;
    sim_clock_boot(n);
    n->loop = cd_alloc(n->loops * sizeof(struct sim_loop *));
    for (unsigned i = 0; i < n->loops; i++)
        n->loop[i] = sim_loop_new(n, i);
    for (unsigned i = 0; i < n->loops; i++)
        sim_schedule(sim, sim_event_new(sim, &n->loop[i]->actor, SIM_RUN, boot_fire), 0);
}

struct sim_node *sim_node(struct sim *sim, const struct sim_node_opts *opts)
{
    struct sim_node *n = node_new(sim, opts->name);
    n->loops = opts->loops == 0 ? 1 : opts->loops;
    n->program = opts->program;
    n->client = opts->client;
    life_start(n);
    return n;
}

struct sim_node *sim_child_node(struct sim_node *parent, const char *name)
{
    struct sim_node *n = node_new(parent->sim, name);
    n->loops = 1;
    n->client = true;
    n->parent = parent;
    life_start(n);
    return n;
}

void sim_node_free(struct sim_node *n)
{
    CD_ASSERT(n->loop == NULL);
    (void)cd_map_remove(&n->sim->node_by_name, cd_str(n->name));
    cd_link_remove(&n->link);
    sim_parts_wipe(n);
    sim_console_free(n);
    cd_free(n->name);
    cd_free(n);
}

void sim_restart(struct sim_node *n, bool wipe)
{
    CD_ASSERT(n->state == SIM_DEAD && !n->sim->ending);
    if (wipe)
        sim_parts_wipe(n);
    life_start(n);
}

void sim_restart_with(struct sim_node *n, bool wipe, const struct sim_program *program)
{
    n->program = *program;
    sim_restart(n, wipe);
}

void sim_nodes_free(struct sim *sim)
{
    struct cd_link *k;
    while ((k = cd_list_first(&sim->nodes)) != NULL)
        sim_node_free(CD_CONTAINER(k, struct sim_node, link));
    cd_map_deinit(&sim->node_by_name);
}

static void run_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_loop *loop = e->actor->loop;
    void (*fn)(struct io *io, void *arg) = (void (*)(struct io *, void *))e->fn;
    void *arg = e->owner;
    sim_event_free(sim, e);
    fn(&loop->io, arg);
}

static void run_in_loop(struct sim_loop *loop, void (*fn)(struct io *io, void *arg), void *arg)
{
    struct sim_event *e = sim_event_new(loop->sim, &loop->actor, SIM_RUN, run_fire);
    e->fn = (void (*)(void))fn;
    e->owner = arg;
    sim_schedule(loop->sim, e, 0);
}

void sim_in_loop(struct sim_node *n, unsigned loop, void (*fn)(struct io *io, void *arg), void *arg)
{
    CD_ASSERT(loop < n->loops);
    if (n->loop != NULL && !n->loop[loop]->frozen)
        run_in_loop(n->loop[loop], fn, arg);
}

void sim_pause(struct sim_node *n, uint64_t ns)
{
    if (n->state != SIM_UP || n->pseudo)
        return;
    for (unsigned i = 0; i < n->loops; i++)
        sim_charge(n->sim, &n->loop[i]->actor, ns);
}

/* ---- Crash and unwinding ---- */

void sim_crash(struct sim_node *n, enum sim_crash how)
{
    if (n->pseudo || n->state != SIM_UP)
        return;
    n->state = SIM_DYING;
    n->how = how;
    n->unwound = 0;
    sim_note(n->loop[0], SIM_CRASHED, 0, NULL, (uint64_t)how, how == SIM_KILL ? "kill" : "power");
    sim_parts_crash(n, how);
    for (unsigned i = 0; i < n->loops; i++)
        sim_loop_freeze(n->loop[i]);
    struct sim *sim = n->sim;
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL; k = cd_list_next(&sim->nodes, k)) {
        struct sim_node *child = CD_CONTAINER(k, struct sim_node, link);
        if (child->parent == n)
            sim_crash(child, how);
    }
}

static bool node_dead(void *arg)
{
    return ((struct sim_node *)arg)->state == SIM_DEAD;
}

void sim_crash_wait(struct sim_node *n, enum sim_crash how)
{
    sim_crash(n, how);
    if (!sim_run_until(n->sim, node_dead, n, UINT64_MAX))
        sim_report_stuck(n->sim);
}

static bool loop_quiet(const struct sim_loop *loop)
{
    return loop->frozen && loop->actor.scheduled == 0 && loop->io.busy == 0 && loop->io.fibers == 0 &&
           (loop->unwound || !loop->booted || loop->node->program.unwind == NULL);
}

CD_NORETURN static void leak(struct sim_node *n)
{
    struct cd_buf report = {0};
    size_t left = sim_left(n, &report);
    cd_buf_addf(&report, "%zu left of node %s after %llu events of unwinding\n", left, n->name,
                (unsigned long long)n->unwound);
    const char *text = cd_buf_cstr(&report);
    if (n->sim->opts.leak != NULL)
        n->sim->opts.leak(n->sim->opts.leak_arg, n->name, text);
    fputs(text, stderr);
    abort();
}

void sim_report_stuck(struct sim *sim)
{
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL; k = cd_list_next(&sim->nodes, k)) {
        struct sim_node *n = CD_CONTAINER(k, struct sim_node, link);
        if (!n->pseudo && n->state == SIM_DYING)
            leak(n);
    }
    CD_UNREACHABLE();
}

static void life_end(struct sim_node *n)
{
    if (sim_left(n, NULL) != 0)
        leak(n);
    struct sim_loop **loops = n->loop;
    n->loop = NULL;
    n->state = SIM_DEAD;
    for (unsigned i = 0; i < n->loops; i++)
        sim_loop_free(loops[i]);
    cd_free(loops);
    if (n->dead != NULL)
        n->dead(n);
}

static void unwind_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_loop *loop = e->actor->loop;
    sim_event_free(sim, e);
    loop->node->program.unwind(&loop->io, loop->node->program.arg);
}

/* Waits for signals that nobody will send any more. False: there was none. */
static bool cancel_waits(struct sim_loop *loop)
{
    bool any = false;
    for (struct cd_link *k = cd_list_first(&loop->io.ops); k != NULL; k = cd_list_next(&loop->io.ops, k)) {
        struct io_op *op = CD_CONTAINER(k, struct io_op, all);
        if (op->impl == NULL && !op->canceling) {
            io_cancel(op);
            any = true;
        }
    }
    return any;
}

void sim_loop_settle(struct sim_loop *loop)
{
    struct sim_node *n = loop->node;
    if (n->state == SIM_DYING && ++n->unwound > SIM_UNWIND_EVENTS)
        leak(n); /* A loop that was stopped alone may live on: messages of the others still come. */
    if (loop->actor.scheduled > 0)
        return;
    if (loop->booted && !loop->unwound && n->program.unwind != NULL) {
        loop->unwound = true;
        sim_schedule(n->sim, sim_event_new(n->sim, &loop->actor, SIM_RUN, unwind_fire), 0);
        return;
    }
    if (loop->io.busy > 0 && cancel_waits(loop))
        return;
    bool stuck = true;
    for (unsigned i = 0; i < n->loops; i++) {
        if (!n->loop[i]->frozen || n->loop[i]->actor.scheduled > 0 || !cd_list_empty(&n->loop[i]->children))
            return;
        stuck = stuck && loop_quiet(n->loop[i]);
    }
    if (!stuck)
        leak(n); /* No loop has anything to do, and yet something waits. */
    life_end(n);
}

/* ---- What is left ---- */

struct left {
    size_t count;
    struct cd_buf *report;
    const char *node;
    unsigned loop;
};

static void left_fiber(void *arg, const char *name, uint64_t op_serial)
{
    struct left *l = arg;
    l->count++;
    if (l->report != NULL)
        cd_buf_addf(l->report, "%s/%u fiber %s awaits op %llu\n", l->node, l->loop, name,
                    (unsigned long long)op_serial);
}

static void left_ops(struct sim_loop *loop, struct left *l)
{
    for (struct cd_link *k = cd_list_first(&loop->io.ops); k != NULL; k = cd_list_next(&loop->io.ops, k)) {
        const struct io_op *op = CD_CONTAINER(k, struct io_op, all);
        const struct sim_event *e = op->impl;
        l->count++;
        if (l->report != NULL)
            cd_buf_addf(l->report, "%s/%u op %s serial %llu\n", l->node, l->loop,
                        e == NULL ? "signal" : sim_kind_name(e->kind), (unsigned long long)op->serial);
    }
}

size_t sim_left(struct sim_node *n, struct cd_buf *report)
{
    struct left l = {.report = report, .node = n->name};
    if (n->loop == NULL)
        return 0;
    for (unsigned i = 0; i < n->loops; i++) {
        struct sim_loop *loop = n->loop[i];
        l.loop = i;
        left_ops(loop, &l);
        io_fibers_each(&loop->io, left_fiber, &l);
        l.count += sim_parts_left(loop, report);
    }
    return l.count;
}
