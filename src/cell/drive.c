/* cell/drive.c: drives the machine of a cell: events in, deeds out. */
#include "cell/cell_internal.h"

#define RECOVERY_RETRY_MAX_NS IO_SEC(5)
#define RECOVERY_STEADY 5u

/* ---- Deeds ---- */

void cell_refuse_calls(struct cell *c, const struct cell_close *why)
{
    struct cd_link *k;
    while ((k = cd_list_first(&c->calls)) != NULL)
        cell_wire_refuse(CD_CONTAINER(k, struct cell_wire, queued), why);
}

static void fail_calls(struct cell *c)
{
    struct cell_close why = {.text = cd_buf_str(&c->why),
                             .retryable = c->why_retryable,
                             .reset = c->why_reset,
                             .refusal =
                                 c->why_retryable && !c->why_reset ? CELL_REFUSED_FAILED : CELL_NOT_REFUSED};
    if (why.text.len == 0 || c->shard->closing || c->shard->draining)
        why = (struct cell_close){
            .text = CD_STR("the node is stopping"), .retryable = true, .refusal = CELL_REFUSED_DRAINING};
    cell_refuse_calls(c, &why);
    /* An alarm that is due, and frames that wait, try again when their timer says so. */
    if (c->wake && !c->shard->closing)
        cell_alarm_retry(c);
    c->wake = c->look = false;
    cell_poke(c);
}

static void admit(struct cell *c)
{
    struct cell_shard *s = c->shard;
    struct cd_link *k;
    while (!c->doomed && (k = cd_list_pop(&c->calls)) != NULL) {
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (w->activate) {
            cell_wire_close(w, NULL);
            continue;
        }
        if (w->foreign)
            cell_wire_started(w);
        s->o.code->open(s->o.code_arg, c, w);
    }
    if (c->wake && !c->doomed) {
        c->wake = false;
        s->o.code->wake(s->o.code_arg, c);
    }
    if (!c->doomed && (c->look || !c->looked)) {
        c->looked = true;
        cell_alarm_look(c);
    }
    cell_touch(c);
}

/* The wires that the code has. Parked ones live on where nothing of them is lost. */
void cell_fail_wires(struct cell *c, const struct cell_close *why)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&c->wires); k != NULL; k = next) {
        next = cd_list_next(&c->wires, k);
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, of_cell);
        bool lives_on = w->parked && !w->user_gone && w->held == 0 && !c->shard->closing &&
                        !c->shard->fenced && c->state.phase != CELL_REMOTE;
        if (w->is_cells && !cd_link_linked(&w->queued) && !lives_on)
            cell_wire_fail(w, why);
    }
}

static void fail_gate(struct cell *c)
{
    struct cell_close why = {.text = cd_buf_str(&c->why), .retryable = c->why_retryable, .reset = true};
    cell_fail_wires(c, &why);
    cell_gate_fail(c);
    cell_alarm_lost(c);
}

static void start(struct cell *c)
{
    struct cell_shard *s = c->shard;
    struct cd_buf why = {0};
    cell_gate_open(c);
    cd_buf_clear(&c->why);
    c->looked = c->look = false;
    s->runtimes++;
    if (c->storage_used && cell_body_restart(c, &why) != 0) {
        cell_started(c, cd_buf_cstr(&why));
    } else {
        c->storage_used = true;
        s->o.code->start(s->o.code_arg, c);
    }
    cd_buf_deinit(&why);
}

static void stop(struct cell *c)
{
    struct cell_shard *s = c->shard;
    if (!c->gate_failed) { /* Nothing is at it; events that still run are those of a node that stops. */
        cell_fail_wires(c, &(struct cell_close){.text = CD_STR("the node is stopping"), .retryable = true});
        cell_gate_fail(c);
        if (c->alarm_runs)
            cell_alarm_lost(c);
    }
    cell_idle_set(c, false);
    s->o.code->stop(s->o.code_arg, c, c->state.cause, cd_buf_str(&c->why));
}

/* fleet.md 7.8. Most recoveries take a second or two, and whoever waits for one is to hear of it: it doubles
 * after that only. */
static uint64_t recovery_wait(const struct cell *c)
{
    uint64_t first = c->shard->o.limits.recovery_retry_ns;
    unsigned doublings = c->recoveries < RECOVERY_STEADY ? 0 : c->recoveries - RECOVERY_STEADY + 1;
    uint64_t wait = first << (doublings < 3 ? doublings : 3);
    uint64_t most = first > RECOVERY_RETRY_MAX_NS ? first : RECOVERY_RETRY_MAX_NS;
    return wait < most ? wait : most;
}

void cell_recovery_again(struct cell *c)
{
    if (c->recoveries <= c->shard->o.limits.recovery_retries) {
        cell_feed(c, CELL_EV_RETRY);
        return;
    }
    CD_MARK("cell.recovery_given_up");
    cell_refuse_calls(c, &(struct cell_close){.text = CD_STR("the log of the node that had the cell was not "
                                                             "recovered in CELLD_RECOVERY_RETRIES tries"),
                                              .retryable = true,
                                              .refusal = CELL_REFUSED_FAILED});
    c->wake = c->look = false;
    cell_feed(c, CELL_EV_GIVE_UP);
}

/* In the order of the bits: see machine.h. */
static void act(struct cell *c, unsigned todo)
{
    struct cell_shard *s = c->shard;
    if (todo & CELL_DO_LEAVE_QUEUE)
        cd_link_remove(&c->queue);
    if (todo & CELL_DO_CANCEL_FLOW)
        cell_flow_abandon(c);
    if (todo & CELL_DO_FAIL_GATE)
        fail_gate(c);
    if (todo & CELL_DO_FAIL_CALLS)
        fail_calls(c);
    if (todo & CELL_DO_DROP_PERMIT)
        s->activating--;
    if (todo & CELL_DO_DROP_SLOT) {
        s->slots--;
        s->gone++;
    }
    if (todo & CELL_DO_WANT_PERMIT)
        cd_list_push(&s->permits, &c->queue);
    if (todo & CELL_DO_WANT_SLOT) {
        c->placed_ns = 0;
        cd_list_push(&s->slot_queue, &c->queue);
    }
    if (todo & CELL_DO_ACTIVATE)
        cell_activate(c);
    if (todo & CELL_DO_RETRY_LATER) {
        c->retry_ns = io_now_ns(s->o.io) + recovery_wait(c);
        c->recoveries++;
        cd_list_push(&s->recovering, &c->queue);
    }
    if (todo & CELL_DO_PROVE)
        cell_prove(c);
    if (todo & CELL_DO_KEEP)
        cell_keep(c);
    if (todo & CELL_DO_DISCARD)
        cell_discard(c);
    if (todo & CELL_DO_CLOSE)
        cell_body_close(c, false);
    if (todo & CELL_DO_FORWARD)
        cell_forward(c);
    if (todo & CELL_DO_ADMIT)
        admit(c);
    if (todo & CELL_DO_RELEASE)
        cell_give(c);
    if (todo & CELL_DO_OFFER)
        cell_offer(c);
    if (todo & CELL_DO_START)
        start(c);
    if (todo & CELL_DO_STOP)
        stop(c);
}

/* Who asked for an eviction hears how it ended. */
static void evict_answer(struct cell *c, enum cell_phase before)
{
    enum cell_phase now = c->state.phase;
    if (c->evict_done == NULL || now == before || c->leaving)
        return;
    void (*done)(void *arg, const char *reason) = c->evict_done;
    c->evict_done = NULL;
    done(c->evict_arg, now == CELL_FENCED         ? "node_fenced"
                       : cell_asleep(c)           ? NULL
                       : now == CELL_DISCARDING   ? "durability_failed"
                       : c->refused               ? c->refusal
                       : c->look || c->alarm_runs ? "alarm_activity"
                                                  : "new_activity");
}

void cell_feed(struct cell *c, enum cell_event e)
{
    struct cell_shard *s = c->shard;
    enum cell_phase before = c->state.phase;
    if (e == CELL_EV_NOT_PROVED) { /* Before its end is told: others go first from now on. */
        c->refused = true;
        c->refused_ns = io_now_ns(s->o.io);
        if (cd_link_linked(&c->idle))
            cell_idle_set(c, true);
    }
    unsigned todo = cell_step(&c->state, e);
    const char *wrong = cell_state_check(&c->state);
    CD_ASSERT(wrong == NULL);
    if (e == CELL_EV_LOOKED)
        cell_shard_pump(s); /* Now room is to be made for it. */
    if (before != c->state.phase && (before == CELL_RECOVERING || before == CELL_REMOTE))
        cd_link_remove(&c->queue);
    if (before == CELL_REMOTE && c->state.phase != CELL_REMOTE)
        cell_route_drop(c);
    if (before == CELL_PROVING && c->state.phase != CELL_PROVING)
        cell_flow_abandon(c); /* No effect when it has just ended. */
    s->slot_waiters += c->state.phase == CELL_WAITING_SLOT;
    s->slot_waiters -= before == CELL_WAITING_SLOT;
    bool leaving =
        c->state.phase == CELL_PROVING || c->state.phase == CELL_STOPPING || c->state.phase == CELL_KEEPING;
    if (leaving != c->leaving)
        s->evicting = leaving ? s->evicting + 1 : s->evicting - 1;
    c->leaving = leaving;
    bool handing = c->state.handoff || c->state.phase == CELL_RELEASING || c->state.phase == CELL_ADOPTING;
    if (handing && !c->handing) {
        s->handing++;
        c->handing_ns = io_now_ns(s->o.io);
    } else if (c->handing && !handing) {
        s->handing--;
        cell_handed(c);
        cell_shard_pump(s); /* The next one. */
    }
    c->handing = handing;
    if (c->state.phase == CELL_INACTIVE || c->state.phase == CELL_REMOTE || c->state.phase == CELL_STARTING)
        c->recoveries = 0;
    if (before != c->state.phase)
        cell_poke(c);
    act(c, todo);
    evict_answer(c, before);
    if (todo & (CELL_DO_DROP_PERMIT | CELL_DO_DROP_SLOT | CELL_DO_WANT_PERMIT | CELL_DO_WANT_SLOT))
        cell_shard_pump(s);
    if (todo & (CELL_DO_DROP_SLOT | CELL_DO_WANT_PERMIT | CELL_DO_WANT_SLOT | CELL_DO_RETRY_LATER))
        cell_shard_stir(s);
}

void cell_reset(struct cell *c, struct cd_str why)
{
    if (c->doomed || c->gate_failed || c->state.phase == CELL_KEEPING || !c->state.runtime)
        return;
    c->doomed = true;
    c->why_retryable = false;
    c->why_reset = true;
    struct cd_buf text = {0}; /* why may lie in c. */
    cd_buf_add_str(&text, why);
    cd_buf_deinit(&c->why);
    c->why = text;
    cd_event(c->shard->o.io, CD_WARN, "cell_reset", CD_Z("scope", c->scope), CD_U("epoch", c->epoch));
    cell_poke(c);
}

void cell_abort(struct cell *c, struct cd_str reason)
{
    cell_reset(c, reason);
}

/* ---- The code's answers ---- */

void cell_started(struct cell *c, const char *why)
{
    if (c->state.phase != CELL_STARTING)
        return; /* A reset or a fence came first: the answer is cell_stopped. */
    if (why == NULL) {
        cell_feed(c, CELL_EV_STARTED);
        return;
    }
    c->shard->runtimes--;
    c->doomed = false;
    c->why_retryable = false;
    c->why_reset = true;
    cd_buf_clear(&c->why);
    cd_buf_add_str(&c->why, cd_str(why));
    cell_feed(c, CELL_EV_START_FAILED);
}

void cell_stopped(struct cell *c)
{
    CD_ASSERT(c->state.phase == CELL_STOPPING && c->shard->runtimes > 0);
    c->shard->runtimes--;
    c->shard->stops++;
    c->doomed = false;
    c->user = NULL;
    c->pins = c->requests = 0;
    for (struct cd_link *k = cd_list_first(&c->wires); k != NULL; k = cd_list_next(&c->wires, k)) {
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, of_cell);
        if (!w->is_cells || w->user_gone || w->parked)
            continue;
        CD_ASSERT(cd_link_linked(&w->queued)); /* The code closes what it was given. */
        c->pins++;
        c->requests++;
    }
    cell_feed(c, CELL_EV_STOPPED);
    cell_shard_settle(c->shard);
}
