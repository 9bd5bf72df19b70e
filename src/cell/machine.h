/* cell/machine.h: the phases of a cell. fleet.md 4.3, 4.8, 4.9. Values only: no I/O, no clock, no memory.
 *
 * Whoever drives the machine carries the actions out in the order of their bits, after the state has changed.
 */
#ifndef CELL_MACHINE_H
#define CELL_MACHINE_H

#include "cell/cell.h"

#define CELL_PHASES(X)                                                                                       \
    X(CELL_INACTIVE, "inactive")                                                                             \
    X(CELL_WAITING_PERMIT, "waiting_activation")                                                             \
    X(CELL_WAITING_SLOT, "waiting_capacity")                                                                 \
    X(CELL_CLAIMING, "acquiring")                                                                            \
    X(CELL_RECOVERING, "recovering_owner_log")                                                               \
    X(CELL_FOLDING, "folding_tail")                                                                          \
    X(CELL_RESTORING, "restoring")                                                                           \
    X(CELL_STARTING, "starting")                                                                             \
    X(CELL_RESIDENT, "resident")                                                                             \
    X(CELL_QUIESCING, "quiescing")                                                                           \
    X(CELL_PROVING, "ensuring_durability")                                                                   \
    X(CELL_STOPPING, "stopping")                                                                             \
    X(CELL_KEEPING, "snapshotting")                                                                          \
    X(CELL_DISCARDING, "discarding")                                                                         \
    X(CELL_RELEASING, "releasing")                                                                           \
    X(CELL_ADOPTING, "adopting")                                                                             \
    X(CELL_DORMANT, "dormant")                                                                               \
    X(CELL_REMOTE, "remote")                                                                                 \
    X(CELL_FENCED, "fenced")

enum cell_phase {
#define X(name, text) name,
    CELL_PHASES(X)
#undef X
        CELL_PHASE_COUNT
};

enum cell_event {
    CELL_EV_DEMAND, /* Something waits for the cell: a call, an alarm, a frame. */
    CELL_EV_GIVE_UP, /* Nothing waits any more. */
    CELL_EV_PERMIT, /* Its turn to activate. */
    CELL_EV_SLOT, /* There is room for it. */
    CELL_EV_LOOKED, /* No other node has it, or takes it: it goes on waiting for room. */
    CELL_EV_CLAIMED, /* It is ours at a new epoch. */
    CELL_EV_REMOTE, /* Another node that lives has it. */
    CELL_EV_RECOVERING, /* Its dead owner's log is not recovered yet. */
    CELL_EV_RETRY, /* Time to look again. */
    CELL_EV_FOLDED, /* The per-cell prefix reaches all that this session knows. */
    CELL_EV_OPENED, /* Its database is open. */
    CELL_EV_FAILED, /* The activation ended. */
    CELL_EV_STARTED,
    CELL_EV_START_FAILED,
    CELL_EV_EVICT, /* It is to leave memory; it is idle. */
    CELL_EV_HAND_OFF, /* It is to go to another node: what was accepted ends, what comes waits. */
    CELL_EV_ADOPTED, /* Another node handed it to us: ours, and not needed yet. */
    CELL_EV_PROVED,
    CELL_EV_NOT_PROVED,
    CELL_EV_STOPPED, /* The code is gone. */
    CELL_EV_KEPT, /* Folded and put away, or not; the database is closed. */
    CELL_EV_RELEASED, /* The same, and nobody owns it any more. */
    CELL_EV_DISCARDED, /* The database and what was not cut are gone. */
    CELL_EV_RESET, /* Memory and file are not to be trusted. */
    CELL_EV_FENCE,
    CELL_EVENT_COUNT
};

enum cell_action {
    CELL_DO_LEAVE_QUEUE = 1 << 0, /* Of permits or slots. */
    CELL_DO_CANCEL_FLOW = 1 << 1,
    CELL_DO_FAIL_GATE = 1 << 2, /* Held outputs, wires. */
    CELL_DO_FAIL_CALLS = 1 << 3, /* Those that wait to be opened. */
    CELL_DO_DROP_PERMIT = 1 << 4,
    CELL_DO_DROP_SLOT = 1 << 5,
    CELL_DO_WANT_PERMIT = 1 << 6,
    CELL_DO_WANT_SLOT = 1 << 7,
    CELL_DO_ACTIVATE = 1 << 8, /* Claim, fold, restore, open. */
    CELL_DO_RETRY_LATER = 1 << 9,
    CELL_DO_PROVE = 1 << 10,
    CELL_DO_KEEP = 1 << 11,
    CELL_DO_DISCARD = 1 << 12,
    CELL_DO_CLOSE = 1 << 13, /* The database; no file is touched. */
    CELL_DO_FORWARD = 1 << 14, /* What waits goes to the other node. */
    CELL_DO_ADMIT = 1 << 15, /* Open what waits. */
    CELL_DO_RELEASE = 1 << 16, /* Fold what is left, give the record back. */
    CELL_DO_OFFER = 1 << 17, /* Find a node that adopts it. */
    CELL_DO_START = 1 << 18, /* These two call the code, which may answer at once: always last. */
    CELL_DO_STOP = 1 << 19,
};

struct cell_state {
    enum cell_phase phase;
    enum cell_stop cause; /* In CELL_STOPPING. */
    bool permit, slot; /* Held. */
    bool runtime, database; /* There is one. */
    bool again; /* Demand came while it was being stopped for an eviction. */
    bool handoff; /* From quiescing to snapshotting: it goes to another node. */
};

/* The next state, and what to do. An event that means nothing in a phase changes nothing: late completions
 * are dropped by whoever knows their flow. */
CD_MUST_USE unsigned cell_step(struct cell_state *s, enum cell_event e);
/* fleet.md 4.12 for one cell: NULL, or what does not fit. */
const char *cell_state_check(const struct cell_state *s);

const char *cell_phase_name(enum cell_phase p);
bool cell_phase_awake(enum cell_phase p); /* Its code runs and takes calls. */

/* ---- May it be evicted? fleet.md 4.8 ---- */

struct cell_evict_facts {
    enum cell_phase phase;
    bool active; /* Pins, held outputs, waiting calls. */
    bool alarm_runs;
    bool alarm_armed;
    int64_t alarm_due_ms, now_ms, alarm_resident_ms;
    bool pressed; /* Shedding, or the node stops: an alarm does not keep it. */
};
const char *cell_evict_refusal(const struct cell_evict_facts *f); /* NULL: it may; else the reason. */

#endif
