/* sim/run.h: one run of a scenario, in one process: boot, chaos, heal, settle, audit. simulation.md 5.
 *
 * A run is pure: it depends on the scenario and the seed alone, and reaches the system only through what its
 * setup lends it (a sink for the trace, a clock for statistics). */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "io_sim/io_sim.h"
#include "sim/options.h"
#include "sim/result.h"
#include "sim/scn.h"

/* After the heal, and after the last pause has ended, everything has to be answered within this time. It is
 * longer than any timeout a run can have, one after the other; and 30 s more than 4 leases where that is more
 * (simulation.md 5). */
#define RUN_SETTLE_NS IO_SEC(90)

/* Where the run is, for whoever watches the process from outside: a crash leaves it as it was. */
struct run_progress {
    uint64_t events, now_ns;
    int output_errno; /* Why the rest of the trace could not be written to standard output; 0: it could. */
};

struct run_setup {
    const struct scn *scn; /* Available (scn_available). */
    uint64_t seed;
    bool all_steps; /* A step that has not come by the end of the run is a mistake of the scenario. */
    uint64_t until_ns; /* 0: to the end. Else the run ends there, without heal and audit. */
    uint64_t break_event; /* 0: never. Before that event trap is called. */
    void (*trap)(void);
    enum run_trace trace;
    uint64_t trace_from; /* First event to be shown. */
    void (*trace_write)(void *arg, struct cd_str text); /* Wanted with trace. */
    void *trace_arg;
    struct run_progress *progress; /* May be NULL. */
    uint64_t (*cpu_ns)(void); /* May be NULL: statistics of time are 0 then. */
    /* A node does not unwind: the result says so, and the process cannot go on. Does not return. */
    void (*give_up)(void *arg, struct run_result *result);
    void *give_up_arg;
};

void run_execute(const struct run_setup *setup, struct run_result *result);

/* ---- For the parts of a run: the fleet, the steps, the workloads ---- */

struct run;
struct cells_nodes;

struct fleet_node {
    struct run *run;
    unsigned index; /* n1 is 1. */
    struct sim_node *node; /* NULL: has not joined. */
    uint64_t paused_until_ns;
    bool restarting; /* A restart waits for the end of its crash. */
    bool wipe; /* The next restart has an empty disk. */
    bool draining; /* It ends by itself soon. */
    bool again; /* And is to be started again then. */
    bool crash_hit; /* Set when the armed call was made. */
    enum scn_memory memory;
    bool retired; /* Switched off for good: the last audit does without it. */
};

/* A workload. load is what start made; all but finish run inside of the simulation. */
struct load_kind {
    const char *name;
    enum scn_group group;
    enum scn_setting lasts; /* How long its load goes on. */
    void *(*start)(struct run *run);
    void (*boot)(void *load, struct fleet_node *n, struct io *io); /* Once per loop and life. */
    /* As of struct sim_program; freeze may be NULL. */
    void (*freeze)(void *load, struct fleet_node *n, struct io *io);
    void (*unwind)(void *load, struct fleet_node *n, struct io *io);
    /* Whether its disk may be lost now: false and why, when it has the last copy of something. NULL: always.
     */
    bool (*spare)(void *load, struct fleet_node *n, struct cd_buf *why);
    void (*wiped)(void *load, struct fleet_node *n); /* Its disk is gone, and that is excused. */
    void (*quiet)(void *load); /* No new work from now on. */
    /* Whether all work is done and answered; else says in why (may be NULL) what is not, one line each. */
    bool (*settled)(void *load, struct cd_buf *why);
    /* Nodes were just started anew: check again, then be settled. */
    void (*audit)(void *load);
    /* Ends the node in order, so that it can be switched off; it then ends by itself. False: it cannot, for
     * want of being ready. NULL: nothing has to end, a node can be switched off at any time. */
    bool (*drain)(void *load, struct fleet_node *n);
    void (*finish)(void *load); /* After the end of the simulation: frees. */
};
extern const struct load_kind load_http, load_files;
extern const struct load_kind load_ledger, load_storage, load_alarms; /* Of cells: cells.h. */
extern const struct load_kind load_js; /* Of celld-sim-js alone: sim/js. */
#define RUN_LOADS_MAX 6

/* What this program is called and can do: kinds.c, or sim/js/kinds.c in its place. */
extern const char *const run_program;
extern const struct load_kind *const run_kinds[];
extern const unsigned run_kind_count;
bool run_has_kind(enum scn_group group);

struct timed_step { /* What an event of the plan is told. */
    struct run *run;
    unsigned step;
};

/* RUN_DRAIN and RUN_REBUILD are for loads that keep what counts in the bucket: all nodes end in order, their
 * disks are thrown away, one node starts from the bucket alone, and everything is looked at again. */
enum run_phase { RUN_CHAOS, RUN_SETTLE, RUN_AUDIT, RUN_DRAIN, RUN_REBUILD, RUN_OVER };

struct run {
    const struct run_setup *setup;
    const struct scn *scn;
    struct sim *sim;
    struct run_result *result;
    enum run_phase phase;
    bool healed;
    uint64_t end_of_chaos_ns, healed_ns, settled_ns;
    struct fleet_node node[SCN_NODES_MAX + 1]; /* From 1. */
    unsigned nodes; /* Indices up to this one may be in use. */
    unsigned boots_left; /* Loops of the first lives that have not booted yet. */
    struct sim_node *client[SCN_CLIENTS_MAX + 1]; /* From 1; made by the http workload. */
    unsigned clients;
    const struct load_kind *load_kind[RUN_LOADS_MAX];
    void *load[RUN_LOADS_MAX];
    unsigned loads;
    struct cells_nodes *cells; /* cells_nodes.c */
    void *cells_load; /* The load that boots them: the first one of cells. */
    unsigned watching; /* Steps that wait for a mark or event. */
    struct timed_step *timed; /* owned; per step */
    bool *fired; /* owned; per step: it has come */
    unsigned *seen; /* owned; per step: how often its event came */
    struct cd_buf line; /* For the trace. */
};

/* Records a violation; the run ends after this event. */
void run_fail(struct run *run, enum run_code code, const char *invariant, const char *format, ...)
    CD_PRINTF(4, 5);
bool run_failed(const struct run *run);
bool run_clocks_differ(const struct run *run); /* Of several nodes, by a step of the plan. */
bool run_traced(const struct run *run); /* Notes are seen by somebody. */
/* A line in the trace that is no event: what the plan did, what was excused. */
void run_note(struct run *run, const char *format, ...) CD_PRINTF(2, 3);

/* fleet.c */
void fleet_start(struct run *run);
void fleet_join(struct run *run, unsigned index);
void fleet_crash(struct fleet_node *n, enum sim_crash how);
void fleet_restart(struct fleet_node *n, bool wipe);
bool fleet_drain(struct fleet_node *n); /* False: not now. */
void fleet_heal(struct run *run);
void fleet_faults(struct run *run, bool on); /* The rates of the scenario, or none. */
bool fleet_up(struct run *run, struct cd_buf *why); /* Every node that has joined runs and is not paused. */
void fleet_report(struct run *run, struct cd_buf *out); /* What each node is waiting for. */

/* steps.c */
void steps_start(struct run *run);
void steps_watch(struct run *run); /* After an event: fires the steps whose mark has come. */
void steps_do(struct run *run, const struct scn_step *p);
void steps_judge(struct run *run); /* At the end: fails a run that came there without some of its steps. */

#endif
