/* sim/cells_nodes.c: the nodes of a run as owners of cells: lives, supervision. */
#include <stdio.h>

#include "io_sim/sim_store.h"
#include "sim/cells.h"
#include "sim/cells_code.h"
#include "sim/cells_life.h"
#include "sim/cells_observe.h"

#define DRAIN_POLL_NS IO_MS(10)
#define HIGH_MIB 100u /* Of memory; 80 is the low watermark. */
#define USED_MIB 40u
#define RELEASES 8u
#define ABSENT_NS IO_SEC(8)
#define ABSENT_POLL_NS IO_SEC(1)
#define SUPERVISOR_NS IO_MS(500) /* How soon a process that ended by itself is started again. */

struct cells_place { /* A node over all its lives. */
    struct cells_nodes *nodes;
    struct fleet_node *node;
    char id[8];
    struct cells_life *life;
    unsigned lives; /* Which of its lives that is. */
    unsigned most; /* Cells in memory since it is short. */
    bool leaving; /* The supervisor has been told. */
};

struct cells_nodes {
    struct run *run;
    struct cells_hooks hooks;
    struct cells_load *alarms;
    struct cells_observe *observe;
    struct cells_place place[SCN_NODES_MAX + 1];
};

/* "Alarm:7" is 7. */
static unsigned number_of(struct cd_str scope)
{
    uint64_t n;
    size_t colon = cd_str_find(scope, ':', 0);
    int rc = colon == SIZE_MAX ? CD_ESYNTAX : cd_str_u64(cd_str_sub(scope, colon + 1, SIZE_MAX), &n);
    CD_ASSERT(rc == 0); /* Our clients name no other. */
    return (unsigned)n;
}

static void alarm_runs(void *arg, struct cell *c, uint64_t id, const struct cell_alarm_run *run)
{
    struct cells_nodes *nodes = arg;
    struct cd_buf why = {0};
    if (sim_node_life(sim_node_of(cell_io(c))) != SIM_UP)
        return; /* Of a dead process, whose call ends here. */
    const char *broken = cells_alarm_ran(nodes->alarms, number_of(cell_scope(c)), id, run->scheduled_ms,
                                         run->retry_count, io_wall_ms(cell_io(c)), &why);
    if (broken != NULL)
        run_fail(nodes->run, RUN_SAFETY, broken, "%s: %s", sim_node_name(sim_node_of(cell_io(c))),
                 cd_buf_cstr(&why));
    cd_buf_deinit(&why);
}

static void committed(void *arg, struct cell *c)
{
    struct cells_nodes *nodes = arg;
    const struct sim_node *node = sim_node_of(cell_io(c));
    for (unsigned i = 1; i <= SCN_NODES_MAX; i++) {
        const struct cells_place *p = &nodes->place[i];
        if (p->node != NULL && p->node->node == node && sim_node_life(node) == SIM_UP)
            cells_observe_commit(nodes->observe, cells_life_session(p->life), c);
    }
}

/* The budget: recovery gives a follower up whose lease ran out 20 s ago and who cannot be reached (fleet.md
 * 7.3). One that has what no slot has is started again before that. */
static void absent_poll(struct sim *sim, void *arg)
{
    struct cells_nodes *nodes = arg;
    struct run *run = nodes->run;
    if (run->phase > RUN_SETTLE)
        return;
    for (unsigned i = 1; i <= run->nodes; i++) {
        const struct cells_place *p = &nodes->place[i];
        if (p->node == NULL || sim_node_life(p->node->node) != SIM_DEAD || p->node->restarting ||
            !cells_observe_holds(nodes->observe, p->id, ABSENT_NS))
            continue;
        run_note(run, "budget: n%u is started again: it has what no slot has", i);
        fleet_restart(p->node, false);
    }
    sim_at(sim, ABSENT_POLL_NS, absent_poll, nodes);
}

static struct cells_nodes *nodes_of(struct run *run)
{
    if (run->cells == NULL) {
        run->cells = cd_new(struct cells_nodes);
        run->cells->run = run;
        run->cells->observe = cells_observe_new(run);
        run->cells->hooks =
            (struct cells_hooks){.alarm = alarm_runs, .committed = committed, .arg = run->cells};
        if (scn_get(run->scn, SCN_FLEET_DURABILITY) == 1)
            sim_at(run->sim, ABSENT_POLL_NS, absent_poll, run->cells);
    }
    return run->cells;
}

void cells_nodes_alarms(struct run *run, struct cells_load *l)
{
    nodes_of(run)->alarms = l;
}

bool cells_nodes_started(const struct run *run, struct cd_buf *why)
{
    bool all = true;
    for (unsigned i = 1; i <= run->nodes; i++) {
        const struct fleet_node *n = &run->node[i];
        if (n->node == NULL || n->retired)
            continue;
        const struct cells_place *p = &run->cells->place[i];
        bool started = p->life != NULL && p->lives == sim_node_lives(n->node) && cells_life_started(p->life);
        all = all && started;
        if (why != NULL && !started)
            cd_buf_addf(why, "n%u has not got its lease\n", i);
    }
    return all;
}

/* It was told to end, and has: the process exits. */
static void drain_poll(struct sim *sim, void *arg)
{
    struct cells_place *p = arg;
    if (p->nodes->run->phase == RUN_OVER || !p->node->draining || sim_node_life(p->node->node) != SIM_UP)
        return;
    if (cells_life_stopped(p->life))
        fleet_crash(p->node, SIM_KILL);
    else
        sim_at(sim, DRAIN_POLL_NS, drain_poll, p);
}

static void drain(struct io *io, void *arg)
{
    struct cells_place *p = arg;
    if (!p->leaving)
        cells_life_stop(p->life, io);
}

bool cells_nodes_drain(struct run *run, struct fleet_node *n)
{
    struct cells_place *p = &run->cells->place[n->index];
    if (sim_node_life(n->node) != SIM_UP || p->life == NULL || p->lives != sim_node_lives(n->node))
        return false;
    if (p->node->draining)
        return true;
    sim_in_loop(n->node, 0, drain, p);
    sim_at(run->sim, DRAIN_POLL_NS, drain_poll, p);
    return true;
}

static void supervise(struct sim *sim, void *arg)
{
    struct cells_place *p = arg;
    (void)sim;
    if (p->nodes->run->phase == RUN_OVER || !p->leaving)
        return;
    p->leaving = false;
    if (sim_node_life(p->node->node) == SIM_UP) {
        fleet_crash(p->node, SIM_KILL);
        if (p->nodes->run->phase != RUN_DRAIN)
            fleet_restart(p->node, false);
    }
}

/* The process says that it has to end. */
static void halted(void *arg, bool fenced, const char *why)
{
    struct cells_place *p = arg;
    cells_observe_end(p->nodes->observe, cells_life_session(p->life), why);
    run_note(p->nodes->run, "n%u %s: %s", p->node->index, fenced ? "fences itself" : "cannot start", why);
    CD_MARK("cells.node_halted");
    if (!p->leaving)
        sim_at(p->nodes->run->sim, SUPERVISOR_NS, supervise, p);
    p->leaving = true;
}

static void output(void *arg, const struct cells_output *out)
{
    struct cells_place *p = arg;
    if (sim_node_life(p->node->node) == SIM_UP) /* Else it died in this very call, and nothing leaves it. */
        cells_observe_output(p->nodes->observe, out);
}

static struct cells_life *new_life(struct cells_place *p)
{
    const struct scn *s = p->nodes->run->scn;
    struct cells_life_opts o = {
        .node = p->id,
        .loops = 1 + (unsigned)scn_get(s, SCN_FLEET_SHARDS),
        .code = &cells_code,
        .code_arg = &p->nodes->hooks,
        .ttl_ms = scn_get(s, SCN_FLEET_TTL) / IO_MS(1),
        .waker_ms = scn_get(s, SCN_CELLS_WAKER) / IO_MS(1),
        .fold_ms = scn_get(s, SCN_CELLS_FOLD) / IO_MS(1),
        .balance_ms = scn_get(s, SCN_CELLS_BALANCE) / IO_MS(1),
        .pipeline = (unsigned)scn_get(s, SCN_CELLS_PIPELINE),
        .releases = RELEASES,
        .resident_max = (unsigned)scn_get(s, SCN_CELLS_RESIDENT),
        .requests_max = (unsigned)scn_get(s, SCN_CELLS_REQUESTS),
        .activations_max = (unsigned)scn_get(s, SCN_CELLS_ACTIVATIONS),
        .idle_ns = scn_get(s, SCN_CELLS_IDLE),
        .proof_ns = scn_get(s, SCN_CELLS_PROOF),
        .operation_ns = scn_get(s, SCN_CELLS_OPERATION),
        .alarm_resident_ms = 3600000,
        .high_mib = HIGH_MIB,
        .release = scn_get(s, SCN_CELLS_STICKY) == 0,
        .keep = {.delta_bytes = scn_get(s, SCN_CELLS_CHAIN_BYTES),
                 .epochs = (unsigned)scn_get(s, SCN_CELLS_CHAIN_EPOCHS),
                 .objects = scn_get(s, SCN_CELLS_CHAIN_OBJECTS),
                 .compact_txids = scn_get(s, SCN_CELLS_COMPACT),
                 .compact_bytes = 32u << 20,
                 .retention_ms = scn_get(s, SCN_CELLS_RETENTION) / IO_MS(1)},
        .cache_bytes = scn_get(s, SCN_CELLS_CACHE),
        .sole = scn_get(s, SCN_CELLS_SOLE) == 1,
        .followers = scn_get(s, SCN_FLEET_DURABILITY) == 1,
        .flush_ms = scn_get(s, SCN_CELLS_FLUSH) / IO_MS(1),
        .window = scn_get(s, SCN_CELLS_WINDOW),
        .backstop_ns = scn_get(s, SCN_CELLS_BACKSTOP),
        .batch_bytes = scn_get(s, SCN_CELLS_BATCH),
        .fold_rows = scn_get(s, SCN_CELLS_FOLD_ROWS),
        .fold_slots = scn_get(s, SCN_CELLS_FOLD_SLOTS),
        .fold_cache = scn_get(s, SCN_CELLS_FOLD_CACHE),
        .fold_range = scn_get(s, SCN_CELLS_FOLD_RANGE),
        .page_size = (uint32_t)1 << scn_get(s, SCN_CELLS_PAGE),
        .halted = halted,
        .output = output,
        .arg = p,
    };
    return cells_life_new(&o);
}

/* Its memory is short because of its cells, until there are half as many; or because of anything else. */
static void usage(void *arg, struct io_usage *u)
{
    struct cells_place *p = arg;
    unsigned cells = p->life == NULL ? 0 : cells_life_residents(p->life);
    uint64_t mib = USED_MIB;
    if (p->node->memory == SCN_MEMORY_OK)
        p->most = 0;
    else if (cells > p->most)
        p->most = cells;
    if (p->node->memory == SCN_MEMORY_OTHER)
        mib = HIGH_MIB + 20;
    else if (p->most > 0)
        mib += (HIGH_MIB - USED_MIB + 20) * cells / p->most;
    u->rss = mib << 20;
}

/* The first of the loops to boot makes the life. */
static struct cells_life *life_of(struct run *run, struct fleet_node *n)
{
    struct cells_place *p = &nodes_of(run)->place[n->index];
    if (p->node == NULL) {
        p->nodes = run->cells;
        p->node = n;
        (void)snprintf(p->id, sizeof p->id, "n%u", n->index);
        sim_on_usage(n->node, usage, p);
    }
    unsigned lives = sim_node_lives(n->node);
    if (p->lives != lives) {
        cells_life_free(p->life);
        p->life = new_life(p);
        p->lives = lives;
        p->leaving = false;
    }
    return p->life;
}

void cells_nodes_boot(struct run *run, struct fleet_node *n, struct io *io)
{
    (void)sim_bucket(io, "");
    cells_life_boot(life_of(run, n), io);
}

void cells_nodes_freeze(struct run *run, struct fleet_node *n)
{
    struct cells_place *p = &nodes_of(run)->place[n->index];
    if (p->life != NULL && p->lives == sim_node_lives(n->node))
        cells_observe_end(run->cells->observe, cells_life_session(p->life), "its process is dead");
}

bool cells_nodes_spare(struct run *run, const struct fleet_node *n, struct cd_buf *why)
{
    return cells_observe_spare(nodes_of(run)->observe, sim_node_name(n->node), why);
}

void cells_nodes_audit(struct run *run)
{
    cells_observe_audit(nodes_of(run)->observe);
}

void cells_nodes_unwind(struct run *run, struct fleet_node *n, struct io *io)
{
    struct cells_place *p = &nodes_of(run)->place[n->index];
    if (p->life != NULL && p->lives == sim_node_lives(n->node))
        cells_life_unwind(p->life, io);
}

void cells_nodes_free(struct run *run)
{
    if (run->cells == NULL)
        return;
    for (unsigned i = 1; i <= SCN_NODES_MAX; i++)
        cells_life_free(run->cells->place[i].life);
    cells_observe_free(run->cells->observe);
    cd_free(run->cells);
    run->cells = NULL;
}
