/* sim/fleet.c: the nodes of a run: their lives, their rates of faults, what is left of a crashed one. */
#include <stdio.h>

#include "io_sim/sim_store.h"
#include "sim/run.h"

#define RESTART_POLL_NS IO_MS(1) /* How often a restart looks whether the crash is over. */

/* ---- Programs ---- */

static void node_boot(struct io *io, void *arg)
{
    struct fleet_node *n = arg;
    struct run *run = n->run;
    if (run->boots_left > 0)
        run->boots_left--;
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->boot(run->load[i], n, io);
}

static void node_freeze(struct io *io, void *arg)
{
    struct fleet_node *n = arg;
    struct run *run = n->run;
    for (unsigned i = 0; i < run->loads; i++) {
        if (run->load_kind[i]->freeze != NULL)
            run->load_kind[i]->freeze(run->load[i], n, io);
    }
}

static void node_unwind(struct io *io, void *arg)
{
    struct fleet_node *n = arg;
    struct run *run = n->run;
    for (unsigned i = 0; i < run->loads; i++)
        run->load_kind[i]->unwind(run->load[i], n, io);
}

void fleet_join(struct run *run, unsigned index)
{
    CD_ASSERT(index >= 1 && index <= SCN_NODES_MAX);
    struct fleet_node *n = &run->node[index];
    if (n->node != NULL) {
        run_note(run, "join n%u: is here already", index);
        return;
    }
    char name[8];
    (void)snprintf(name, sizeof name, "n%u", index);
    n->run = run;
    n->index = index;
    struct sim_node_opts opts = {.name = name, .loops = 1 + (unsigned)scn_get(run->scn, SCN_FLEET_SHARDS)};
    opts.program = (struct sim_program){node_boot, node_unwind, n, node_freeze};
    n->node = sim_node(run->sim, &opts);
    if (index > run->nodes)
        run->nodes = index;
    run_note(run, "n%u: life 1 begins", index);
}

void fleet_start(struct run *run)
{
    unsigned nodes = (unsigned)scn_get(run->scn, SCN_FLEET_NODES);
    run->boots_left = nodes * (1 + (unsigned)scn_get(run->scn, SCN_FLEET_SHARDS));
    for (unsigned i = 1; i <= nodes; i++)
        fleet_join(run, i);
    fleet_faults(run, true);
}

/* ---- Rates of faults ---- */

static uint32_t ppm(const struct run *run, enum scn_setting id, bool on)
{
    return on ? (uint32_t)scn_get(run->scn, id) : 0;
}

static void link_faults(struct run *run, bool on)
{
    const struct scn *s = run->scn;
    struct sim_link l = {
        .delay_ns = scn_get(s, SCN_NET_DELAY),
        .jitter_ns = scn_get(s, SCN_NET_JITTER),
        .bytes_per_s = scn_get(s, SCN_NET_BANDWIDTH),
        .window = (uint32_t)scn_get(s, SCN_NET_WINDOW),
        .loss_ppm = ppm(run, SCN_NET_LOSS, on),
        .split_ppm = ppm(run, SCN_NET_SPLIT, on),
        .refuse_ppm = ppm(run, SCN_NET_REFUSE, on),
        .reset_ppm = ppm(run, SCN_NET_RESET, on),
        .half_open_ppm = ppm(run, SCN_NET_HALF_OPEN, on),
        .slow_ppm = ppm(run, SCN_NET_SLOW, on),
        .slow_ns = scn_get(s, SCN_NET_SLOW_BY),
        .give_up_ns = scn_get(s, SCN_NET_GIVE_UP),
    };
    sim_link_set(run->sim, NULL, NULL, &l);
}

static void store_faults(struct run *run, bool on)
{
    const struct scn *s = run->scn;
    const struct scn_value *latency = &s->value[SCN_STORE_LATENCY];
    sim_store_set(run->sim, &(struct sim_store_opts){
                                .latency_ns = latency->lo,
                                .jitter_ns = latency->hi - latency->lo,
                                .tokens_by_generation = scn_get(s, SCN_STORE_TOKENS) == 1,
                                .page_max = (unsigned)scn_get(s, SCN_STORE_PAGE),
                                .throttle_ppm = ppm(run, SCN_STORE_THROTTLED, on),
                                .fail_ppm = ppm(run, SCN_STORE_FAILS, on),
                                .lose_request_ppm = ppm(run, SCN_STORE_LOSES_REQUEST, on),
                                .lose_answer_ppm = ppm(run, SCN_STORE_LOSES_ANSWER, on),
                                .late_ppm = ppm(run, SCN_STORE_LATE, on),
                                .late_ns = scn_get(s, SCN_STORE_LATE_BY),
                            });
}

static void disk_faults(struct fleet_node *n, bool on)
{
    struct run *run = n->run;
    const struct scn *s = run->scn;
    struct sim_disk d = {
        .capacity = scn_get(s, SCN_DISK_CAPACITY),
        .read_ns = scn_get(s, SCN_DISK_READ),
        .write_ns = scn_get(s, SCN_DISK_WRITE),
        .sync_ns = scn_get(s, SCN_DISK_SYNC),
        .sync_jitter_ns = scn_get(s, SCN_DISK_SYNC_JITTER),
        .read_fail_ppm = ppm(run, SCN_DISK_READ_FAIL, on),
        .write_fail_ppm = ppm(run, SCN_DISK_WRITE_FAIL, on),
        .sync_fail_ppm = ppm(run, SCN_DISK_SYNC_FAIL, on),
        .stuck_ppm = ppm(run, SCN_DISK_STUCK, on),
        .stuck_ns = scn_get(s, SCN_DISK_STUCK_FOR),
        .keep = (uint32_t)scn_get(s, SCN_DISK_KEEP),
        .drop = (uint32_t)scn_get(s, SCN_DISK_DROP),
        .tear = (uint32_t)scn_get(s, SCN_DISK_TEAR),
    };
    sim_disk_set(n->node, &d);
    sim_disk_full(n->node, false);
    sim_disk_flip(n->node, "/", ppm(run, SCN_DISK_FLIP, on));
    if (!on)
        sim_disk_fail_syncs(n->node, "/", 0);
}

/* ---- Crash and restart ---- */

void fleet_crash(struct fleet_node *n, enum sim_crash how)
{
    if (n->node == NULL || sim_node_life(n->node) != SIM_UP) {
        run_note(n->run, "crash n%u: is down already", n->index);
        return;
    }
    n->paused_until_ns = 0;
    n->draining = false;
    sim_crash(n->node, how);
    if (n->again) {
        n->again = false;
        fleet_restart(n, false);
    }
}

/* The fault budget of simulation.md 4: the last copy of what followers proved is not taken away. */
static bool may_wipe(struct fleet_node *n)
{
    struct run *run = n->run;
    struct cd_buf why = {0};
    bool may = true;
    for (unsigned i = 0; i < run->loads && may; i++)
        may = run->load_kind[i]->spare == NULL || run->load_kind[i]->spare(run->load[i], n, &why);
    if (!may)
        run_note(run, "budget: the disk of n%u is not lost: nobody else has %s", n->index, cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    return may;
}

static void restart_now(struct fleet_node *n)
{
    struct run *run = n->run;
    n->restarting = n->draining = n->again = false;
    bool wipe = n->wipe && may_wipe(n);
    n->wipe = false;
    if (wipe) {
        /* The fault budget of simulation.md 4: what only this disk had is gone, and nobody may be blamed for
         * it. */
        run_note(run, "budget: the disk of n%u is lost; what it had acknowledged is excused", n->index);
        for (unsigned i = 0; i < run->loads; i++)
            run->load_kind[i]->wiped(run->load[i], n);
    }
    sim_restart(n->node, wipe);
    run_note(run, "n%u: life %u begins", n->index, sim_node_lives(n->node));
    if (wipe)
        disk_faults(n, !run->healed); /* The rules went with the disk. */
}

static void restart_poll(struct sim *sim, void *arg)
{
    struct fleet_node *n = arg;
    if (n->run->phase == RUN_OVER)
        return;
    if (sim_node_life(n->node) == SIM_DEAD)
        restart_now(n);
    else
        sim_at(sim, RESTART_POLL_NS, restart_poll, n);
}

void fleet_restart(struct fleet_node *n, bool wipe)
{
    if (n->node != NULL && n->draining && sim_node_life(n->node) == SIM_UP) {
        run_note(n->run, "restart n%u: when it has ended", n->index);
        n->again = true;
        n->wipe |= wipe;
        return;
    }
    if (n->node == NULL || sim_node_life(n->node) == SIM_UP) {
        run_note(n->run, "restart n%u: is up", n->index);
        return;
    }
    n->wipe |= wipe;
    if (n->restarting)
        return;
    n->restarting = true;
    restart_poll(n->run->sim, n);
}

bool fleet_drain(struct fleet_node *n)
{
    struct run *run = n->run;
    bool drains = false;
    for (unsigned i = 0; i < run->loads; i++) {
        if (run->load_kind[i]->drain != NULL)
            drains |= run->load_kind[i]->drain(run->load[i], n);
    }
    if (drains && !n->draining)
        run_note(run, "n%u: drains", n->index);
    n->draining = n->draining || drains;
    return drains;
}

/* ---- Faults ---- */

void fleet_faults(struct run *run, bool on)
{
    link_faults(run, on);
    store_faults(run, on);
    for (unsigned i = 1; i <= run->nodes; i++) {
        if (run->node[i].node != NULL)
            disk_faults(&run->node[i], on);
    }
}

/* Ends every fault. What the faults have done stays: connections that are holes, bytes in flight, a wall
 * clock that is off. */
void fleet_heal(struct run *run)
{
    sim_heal_all(run->sim);
    sim_store_heal(run->sim);
    fleet_faults(run, false);
    for (unsigned i = 1; i <= run->nodes; i++) {
        struct fleet_node *n = &run->node[i];
        if (n->node == NULL)
            continue;
        sim_clock_drift(n->node, 0);
        n->memory = SCN_MEMORY_OK;
        bool known = sim_at_call(n->node, "any", 0, SIM_FAIL, IO_FAULT, NULL);
        CD_ASSERT(known);
        if (sim_node_life(n->node) != SIM_UP || n->draining)
            fleet_restart(n, false);
    }
}

/* ---- Looking on ---- */

bool fleet_up(struct run *run, struct cd_buf *why)
{
    bool up = true;
    for (unsigned i = 1; i <= run->nodes; i++) {
        const struct fleet_node *n = &run->node[i];
        if (n->node == NULL || n->retired)
            continue;
        bool runs = sim_node_life(n->node) == SIM_UP;
        bool paused = n->paused_until_ns > sim_now_ns(run->sim);
        up = up && runs && !paused;
        if (why != NULL && (!runs || paused))
            cd_buf_addf(why, "n%u is %s\n", i, runs ? "paused" : "down");
    }
    return up;
}

void fleet_report(struct run *run, struct cd_buf *out)
{
    for (unsigned i = 1; i <= run->nodes; i++) {
        if (run->node[i].node != NULL)
            (void)sim_left(run->node[i].node, out);
    }
    for (unsigned i = 1; i <= run->clients; i++)
        (void)sim_left(run->client[i], out);
}
