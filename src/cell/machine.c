/* cell/machine.c: the phases of a cell. See machine.h. */
#include "cell/machine.h"

const char *cell_phase_name(enum cell_phase p)
{
    switch (p) {
#define X(name, text)                                                                                        \
    case name: return text;
        CELL_PHASES(X)
#undef X
    case CELL_PHASE_COUNT: break;
    }
    CD_UNREACHABLE();
}

bool cell_phase_awake(enum cell_phase p)
{
    return p == CELL_RESIDENT || p == CELL_QUIESCING || p == CELL_PROVING;
}

/* Back to where it is in no memory. */
static unsigned sleep_as(struct cell_state *s, enum cell_phase p)
{
    unsigned todo =
        (s->permit ? (unsigned)CELL_DO_DROP_PERMIT : 0) | (s->slot ? (unsigned)CELL_DO_DROP_SLOT : 0);
    *s = (struct cell_state){.phase = p};
    return todo;
}

static unsigned stop_for(struct cell_state *s, enum cell_stop cause)
{
    unsigned todo = s->permit ? (unsigned)CELL_DO_DROP_PERMIT : 0;
    s->permit = false;
    s->phase = CELL_STOPPING;
    s->cause = cause;
    s->again = false;
    s->handoff = s->handoff && cause == CELL_STOP_EVICT;
    return todo | CELL_DO_STOP;
}

static unsigned fence(struct cell_state *s)
{
    switch (s->phase) {
    case CELL_FENCED: return 0;
    case CELL_STARTING:
    case CELL_RESIDENT:
    case CELL_QUIESCING:
    case CELL_PROVING: return stop_for(s, CELL_STOP_FENCE) | CELL_DO_FAIL_GATE | CELL_DO_FAIL_CALLS;
    case CELL_STOPPING: /* What it was stopped for is not done any more. */
        s->cause = CELL_STOP_FENCE;
        s->handoff = false;
        return CELL_DO_FAIL_CALLS;
    case CELL_WAITING_PERMIT:
    case CELL_WAITING_SLOT:
        return sleep_as(s, CELL_FENCED) | CELL_DO_LEAVE_QUEUE | CELL_DO_CANCEL_FLOW | CELL_DO_FAIL_CALLS;
    case CELL_CLAIMING:
    case CELL_FOLDING:
    case CELL_RESTORING:
    case CELL_KEEPING:
    case CELL_DISCARDING:
    case CELL_RELEASING:
    case CELL_ADOPTING:
        return sleep_as(s, CELL_FENCED) | CELL_DO_CANCEL_FLOW | CELL_DO_FAIL_CALLS | CELL_DO_CLOSE;
    case CELL_INACTIVE:
    case CELL_DORMANT:
    case CELL_REMOTE:
    case CELL_RECOVERING: return sleep_as(s, CELL_FENCED) | CELL_DO_FAIL_CALLS;
    case CELL_PHASE_COUNT: break;
    }
    CD_UNREACHABLE();
}

static unsigned wait_for_permit(struct cell_state *s)
{
    s->phase = CELL_WAITING_PERMIT;
    return CELL_DO_WANT_PERMIT;
}

static unsigned step_waiting(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_GIVE_UP)
        return sleep_as(s, CELL_INACTIVE) | CELL_DO_LEAVE_QUEUE | CELL_DO_CANCEL_FLOW;
    if (e == CELL_EV_REMOTE && s->phase == CELL_WAITING_SLOT) /* It needs no room here (place.c). */
        return sleep_as(s, CELL_REMOTE) | CELL_DO_LEAVE_QUEUE | CELL_DO_FORWARD;
    if (e == CELL_EV_PERMIT && s->phase == CELL_WAITING_PERMIT) {
        s->permit = true;
        s->phase = CELL_WAITING_SLOT;
        return CELL_DO_WANT_SLOT;
    }
    if (e == CELL_EV_SLOT && s->phase == CELL_WAITING_SLOT) {
        s->slot = true;
        s->phase = CELL_CLAIMING;
        return CELL_DO_CANCEL_FLOW | CELL_DO_ACTIVATE;
    }
    return 0;
}

static unsigned step_activating(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_FAILED) /* Once claimed it is ours: the next request claims the next epoch. */
        return sleep_as(s, s->phase == CELL_CLAIMING ? CELL_INACTIVE : CELL_DORMANT) | CELL_DO_FAIL_CALLS;
    if (e == CELL_EV_CLAIMED && s->phase == CELL_CLAIMING) {
        s->phase = CELL_FOLDING;
    } else if (e == CELL_EV_REMOTE && s->phase == CELL_CLAIMING) {
        return sleep_as(s, CELL_REMOTE) | CELL_DO_FORWARD;
    } else if (e == CELL_EV_RECOVERING && s->phase == CELL_CLAIMING) {
        return sleep_as(s, CELL_RECOVERING) | CELL_DO_RETRY_LATER; /* A long recovery pins no permit. */
    } else if (e == CELL_EV_FOLDED && s->phase == CELL_FOLDING) {
        s->phase = CELL_RESTORING;
    } else if (e == CELL_EV_OPENED && s->phase == CELL_RESTORING) {
        s->phase = CELL_STARTING;
        s->database = s->runtime = true;
        return CELL_DO_START;
    }
    return 0;
}

static unsigned step_running(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_RESET)
        return stop_for(s, CELL_STOP_RESET) | CELL_DO_FAIL_GATE;
    if (s->phase == CELL_STARTING && e == CELL_EV_STARTED) {
        unsigned todo = s->permit ? (unsigned)CELL_DO_DROP_PERMIT : 0;
        s->permit = false;
        s->phase = CELL_RESIDENT;
        return todo | CELL_DO_ADMIT;
    }
    if (s->phase == CELL_STARTING && e == CELL_EV_START_FAILED) {
        unsigned todo = s->permit ? (unsigned)CELL_DO_DROP_PERMIT : 0;
        s->permit = s->runtime = false;
        s->phase = CELL_DISCARDING;
        return todo | CELL_DO_FAIL_GATE | CELL_DO_FAIL_CALLS | CELL_DO_DISCARD;
    }
    if (s->phase == CELL_RESIDENT && e == CELL_EV_EVICT) {
        s->phase = CELL_PROVING;
        return CELL_DO_PROVE;
    }
    if (s->phase == CELL_RESIDENT && e == CELL_EV_DEMAND)
        return CELL_DO_ADMIT;
    if ((s->phase == CELL_RESIDENT || s->phase == CELL_PROVING) && e == CELL_EV_HAND_OFF && !s->handoff) {
        s->phase = CELL_QUIESCING;
        s->handoff = true;
        return 0;
    }
    if (s->phase == CELL_QUIESCING && e == CELL_EV_EVICT) {
        s->phase = CELL_PROVING;
        return CELL_DO_PROVE;
    }
    if (s->phase == CELL_PROVING && s->handoff && e != CELL_EV_PROVED) {
        if (e == CELL_EV_NOT_PROVED)
            s->phase = CELL_QUIESCING; /* Once more, as long as the drain lasts. */
        return 0;
    }
    if (s->phase == CELL_PROVING) {
        if (e == CELL_EV_DEMAND || e == CELL_EV_NOT_PROVED) { /* The eviction is off. */
            s->phase = CELL_RESIDENT;
            return CELL_DO_ADMIT;
        }
        if (e == CELL_EV_PROVED)
            return stop_for(s, CELL_STOP_EVICT);
    }
    return 0;
}

static unsigned step_stopping(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_DEMAND) {
        s->again = !s->handoff;
        return 0;
    }
    if (e == CELL_EV_RESET && s->cause == CELL_STOP_EVICT) {
        s->cause = CELL_STOP_RESET;
        s->handoff = false;
    }
    if (e != CELL_EV_STOPPED)
        return 0;
    s->runtime = false;
    if (s->cause == CELL_STOP_FENCE) {
        return sleep_as(s, CELL_FENCED) | CELL_DO_CLOSE;
    }
    if (s->cause == CELL_STOP_RESET) {
        s->again = false; /* Demand is looked at anew when it is gone. */
        s->phase = CELL_DISCARDING;
        return CELL_DO_DISCARD;
    }
    if (s->again) { /* Nothing was published yet: the same database at the same epoch (fleet.md 4.8). */
        s->again = false;
        s->runtime = true;
        s->phase = CELL_STARTING;
        return CELL_DO_START;
    }
    s->phase = CELL_KEEPING;
    return CELL_DO_KEEP;
}

/* Nothing of it is in memory: it is given back and offered to others. */
static unsigned step_handoff(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_RELEASED && s->phase != CELL_ADOPTING)
        return sleep_as(s, CELL_ADOPTING) | CELL_DO_OFFER;
    if (e == CELL_EV_KEPT && s->phase != CELL_ADOPTING)
        return sleep_as(s, CELL_DORMANT);
    if (e == CELL_EV_REMOTE && s->phase == CELL_ADOPTING)
        return sleep_as(s, CELL_REMOTE) | CELL_DO_FORWARD;
    if (e == CELL_EV_FAILED && s->phase == CELL_ADOPTING) /* Nobody took it: anybody may claim it, we too. */
        return sleep_as(s, CELL_INACTIVE);
    return 0;
}

static unsigned step_asleep(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_ADOPTED) {
        s->phase = CELL_DORMANT;
        return 0;
    }
    if (e == CELL_EV_HAND_OFF && s->phase != CELL_REMOTE) {
        s->phase = CELL_RELEASING;
        return CELL_DO_RELEASE;
    }
    if (s->phase == CELL_REMOTE && e == CELL_EV_DEMAND)
        return CELL_DO_FORWARD;
    return e == (s->phase == CELL_REMOTE ? CELL_EV_RETRY : CELL_EV_DEMAND) ? wait_for_permit(s) : 0;
}

unsigned cell_step(struct cell_state *s, enum cell_event e)
{
    if (e == CELL_EV_FENCE)
        return fence(s);
    switch (s->phase) {
    case CELL_INACTIVE:
    case CELL_DORMANT:
    case CELL_REMOTE: return step_asleep(s, e);
    case CELL_WAITING_PERMIT:
    case CELL_WAITING_SLOT: return step_waiting(s, e);
    case CELL_RECOVERING:
        if (e == CELL_EV_GIVE_UP)
            return sleep_as(s, CELL_INACTIVE);
        return e == CELL_EV_RETRY ? wait_for_permit(s) : 0;
    case CELL_CLAIMING:
    case CELL_FOLDING:
    case CELL_RESTORING: return step_activating(s, e);
    case CELL_STARTING:
    case CELL_RESIDENT:
    case CELL_QUIESCING:
    case CELL_PROVING: return step_running(s, e);
    case CELL_STOPPING: return step_stopping(s, e);
    case CELL_RELEASING:
    case CELL_ADOPTING: return step_handoff(s, e);
    case CELL_KEEPING:
        if (s->handoff)
            return step_handoff(s, e);
        if (e == CELL_EV_RELEASED)
            return sleep_as(s, CELL_INACTIVE);
        return e == CELL_EV_KEPT ? sleep_as(s, CELL_DORMANT) : 0;
    case CELL_DISCARDING: return e == CELL_EV_DISCARDED ? sleep_as(s, CELL_INACTIVE) : 0;
    case CELL_FENCED: return e == CELL_EV_DEMAND ? CELL_DO_FAIL_CALLS : 0;
    case CELL_PHASE_COUNT: break;
    }
    CD_UNREACHABLE();
}

/* ---- Checks ---- */

/* The columns of fleet.md 4.3. */
static const struct {
    bool permit_may, slot, runtime, database;
} columns[CELL_PHASE_COUNT] = {
    [CELL_WAITING_SLOT] = {.permit_may = true},
    [CELL_CLAIMING] = {.permit_may = true, .slot = true},
    [CELL_FOLDING] = {.permit_may = true, .slot = true},
    [CELL_RESTORING] = {.permit_may = true, .slot = true},
    /* Without a permit when it was given back. */
    [CELL_STARTING] = {.permit_may = true, .slot = true, .runtime = true, .database = true},
    [CELL_RESIDENT] = {.slot = true, .runtime = true, .database = true},
    [CELL_QUIESCING] = {.slot = true, .runtime = true, .database = true},
    [CELL_PROVING] = {.slot = true, .runtime = true, .database = true},
    [CELL_STOPPING] = {.slot = true, .runtime = true, .database = true},
    [CELL_KEEPING] = {.slot = true, .database = true},
    [CELL_DISCARDING] = {.slot = true, .database = true},
};

const char *cell_state_check(const struct cell_state *s)
{
    if ((unsigned)s->phase >= CELL_PHASE_COUNT)
        return "no such phase";
    if (s->permit && !columns[s->phase].permit_may)
        return "a permit in a phase without one";
    if (!s->permit && columns[s->phase].permit_may && s->phase != CELL_STARTING)
        return "an activation without a permit";
    if (s->slot != columns[s->phase].slot)
        return "a slot where there is none, or none where there is one";
    if (s->runtime != columns[s->phase].runtime)
        return "code where there is none, or none where there is some";
    if (s->database != columns[s->phase].database)
        return "a database where there is none, or none where there is one";
    if (s->handoff != (s->phase == CELL_QUIESCING) && s->phase != CELL_PROVING && s->phase != CELL_STOPPING &&
        s->phase != CELL_KEEPING)
        return "a handoff where there is none, or none where there is one";
    if (s->again && s->phase != CELL_STOPPING)
        return "a give-back outside of a stop";
    return NULL;
}

const char *cell_evict_refusal(const struct cell_evict_facts *f)
{
    if (!cell_phase_awake(f->phase) || f->phase == CELL_QUIESCING)
        return "cell_transitioning";
    if (f->active)
        return "cell_active";
    if (f->alarm_runs)
        return "alarm_imminent";
    if (f->alarm_armed && !f->pressed &&
        (f->alarm_due_ms <= f->now_ms || f->alarm_due_ms - f->now_ms <= f->alarm_resident_ms))
        return "alarm_imminent";
    return NULL;
}
