/* cell/turn.c: what a loop does for its cells at its next turn, and what only time brings about. */
#include "cell/cell_internal.h"

#define SWEEP_NS IO_MS(250)
#define SHRINK_CELLS 16 /* Fewer leave too little to look for. */
#define VICTIMS_LOOKED_AT_MAX 64u /* Of the cells that were idle for longest. */

static void turn_done(struct io_op *op, int status);

static void turn_soon(struct cell_shard *s)
{
    if (!io_busy(&s->turn_op))
        io_defer(&s->turn_op, s->o.io, IO_OK, turn_done);
}

void cell_poke(struct cell *c)
{
    if (!cd_link_linked(&c->turn))
        cd_list_push(&c->shard->turn, &c->turn);
    turn_soon(c->shard);
}

void cell_shard_pump(struct cell_shard *s)
{
    s->grant = true;
    turn_soon(s);
}

static void grant(struct cell_shard *s)
{
    struct cd_link *k;
    s->grant = false;
    while (s->activating < s->o.limits.activations_max && (k = cd_list_pop(&s->permits)) != NULL) {
        s->activating++;
        cell_feed(CD_CONTAINER(k, struct cell, queue), CELL_EV_PERMIT);
    }
    while (!s->press.engaged && s->slots < s->o.limits.resident_max &&
           (k = cd_list_pop(&s->slot_queue)) != NULL) {
        s->slots++;
        cell_feed(CD_CONTAINER(k, struct cell, queue), CELL_EV_SLOT);
    }
    cell_refuse_placed(s);
    cell_look_elsewhere(s);
    cell_shard_evict_for(s);
    cell_drain_go_on(s, false);
}

/* ---- Victims ---- */

static const char *refusal(const struct cell *c, bool pressed)
{
    struct storage_alarm a = {0};
    if (c->storage != NULL)
        a = storage_alarm(c->storage);
    return cell_evict_refusal(&(struct cell_evict_facts){
        .phase = c->state.phase,
        .active = cell_active(c),
        .alarm_runs = c->alarm_runs,
        .alarm_armed = a.armed,
        .alarm_due_ms = a.due_ms,
        .now_ms = io_wall_ms(c->shard->o.io),
        .alarm_resident_ms = c->shard->o.limits.alarm_resident_ms,
        .pressed = pressed,
    });
}

void cell_evict_begin(struct cell *c)
{
    const struct cell_shard *s = c->shard;
    c->shed = s->press.engaged && !s->closing;
    /* The sockets that are parked on a cell stay here: so does the cell. */
    c->release = c->shed && s->press.release && c->parked == NULL;
    cell_feed(c, CELL_EV_EVICT);
}

bool cell_may_try(const struct cell *c)
{
    return c->refused_ns == 0 || io_now_ns(c->shard->o.io) - c->refused_ns >= SWEEP_NS;
}

/* Those of a list, the longest idle first, and at least for idle_ns. Returns how many more are wanted. */
static uint64_t evict_from(struct cell_shard *s, struct cd_list *list, uint64_t count, uint64_t idle_ns)
{
    uint64_t now = io_now_ns(s->o.io);
    bool near = list == &s->near;
    struct cd_link *next;
    unsigned looked = 0;
    for (struct cd_link *k = cd_list_first(list); k != NULL && count > 0; k = next) {
        next = cd_list_next(list, k);
        struct cell *c = CD_CONTAINER(k, struct cell, idle);
        if (s->evicting >= s->o.limits.evictions_max || looked >= VICTIMS_LOOKED_AT_MAX)
            return 0;
        if (c->state.phase != CELL_RESIDENT || now - c->used_ns < idle_ns || !cell_may_try(c)) {
            looked++;
        } else if (refusal(c, s->press.engaged || near) == NULL) {
            count--;
            cell_evict_begin(c);
        } else { /* Its alarm is near. Each comes here once while it is idle, so it is not counted. */
            looked += near;
            cd_link_remove(k);
            cd_list_push(&s->near, k);
        }
    }
    return count;
}

/* Evicts up to count idle cells: who could not go at the last try comes later, those with a near alarm last,
 * and not for their idleness alone. */
static void evict_idle(struct cell_shard *s, uint64_t count, uint64_t idle_ns)
{
    count = evict_from(s, &s->idle, count, idle_ns);
    count = evict_from(s, &s->refused, count, idle_ns);
    /* The timer brings it back. Cells with alarms would otherwise fill the shard and keep all others out. */
    if (idle_ns == 0 && !CD_PLANT("cell.near_alarms_stay"))
        (void)evict_from(s, &s->near, count, 0);
}

void cell_shard_evict_for(struct cell_shard *s)
{
    unsigned served = s->evicting + cell_lookers(s); /* One victim for each who waits for nothing else. */
    if (!s->press.engaged && s->slot_waiters > served)
        evict_idle(s, s->slot_waiters - served, 0);
}

void cell_shard_shed(struct cell_shard *s)
{
    uint64_t stay = s->slots - s->evicting;
    if (s->press.engaged && !s->closing && !s->fenced && stay > s->press.floor)
        evict_idle(s, stay - s->press.floor, 0);
}

static void shrink(struct cell_shard *s)
{
    s->gone = 0;
    if (s->o.code->shrink != NULL)
        s->o.code->shrink(s->o.code_arg);
}

/* What cells leave behind stays while memory is not short, and 20,000 parked sockets of cells that sleep have
 * room in half of it. With more gone than left the price, some 20 ms, is theirs and not of those that stay.
 */
static bool much_is_left_behind(const struct cell_shard *s)
{
    return s->gone >= SHRINK_CELLS && s->gone > s->slots && !s->closing && !s->fenced;
}

void cell_shard_press(struct cell_shard *s, const struct cell_press *p)
{
    bool was = s->press.engaged;
    s->press = *p;
    if (was && !p->engaged)
        cell_shard_pump(s); /* Those who wait may come in. */
    if (p->engaged && (!was || s->gone > 0))
        shrink(s);
    cell_shard_shed(s);
}

void cell_evict(struct cell_shard *s, struct cd_str scope, void (*done)(void *arg, const char *reason),
                void *arg)
{
    if (s->closing || s->fenced || !fleet_authoritative(s->o.self->authority, io_now_ns(s->o.io))) {
        done(arg, "node_unavailable");
        return;
    }
    struct cell *c = cell_find(s, scope, false);
    if (c == NULL || cell_asleep(c)) {
        done(arg, NULL);
        return;
    }
    bool join = c->leaving && c->evict_done == NULL;
    const char *why = join                    ? NULL
                      : c->evict_done != NULL ? "cell_transitioning"
                                              : refusal(c, s->press.engaged);
    if (why == NULL && !join && s->evicting >= s->o.limits.evictions_max)
        why = "eviction_limit";
    if (why != NULL) {
        done(arg, why);
        return;
    }
    c->evict_done = done;
    c->evict_arg = arg;
    if (!join)
        cell_evict_begin(c);
}

/* ---- Turns ---- */

static bool forgettable(const struct cell *c)
{
    return cell_asleep(c) && c->flow == NULL && c->parked == NULL && !c->wake_later && c->tail.txid == 0 &&
           !cell_active(c) && cd_list_empty(&c->wires) && !io_busy(&c->proof.op) && c->relays == 0 &&
           c->route == NULL;
}

static void turn(struct cell *c)
{
    struct cell_shard *s = c->shard;
    if (c->doomed && c->state.runtime && !c->gate_failed)
        cell_feed(c, CELL_EV_RESET);
    cell_touch(c);
    if (c->state.phase == CELL_PROVING && cell_active(c) && !s->closing)
        cell_feed(c, CELL_EV_DEMAND);
    if (cell_phase_awake(c->state.phase)) {
        if (c->state.phase == CELL_RESIDENT && (!cd_list_empty(&c->calls) || c->wake || c->look))
            cell_feed(c, CELL_EV_DEMAND);
    } else if (c->state.phase != CELL_STOPPING || !c->state.again) {
        if (!s->closing && (!cd_list_empty(&c->calls) || c->wake || c->look))
            cell_feed(c, CELL_EV_DEMAND);
    }
    if (s->draining)
        cell_leaving_turn(c);
    if (s->closing)
        cell_closing_turn(c);
    else if (!cd_list_empty(&s->slot_queue))
        cell_shard_evict_for(s);
}

static void turn_done(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, turn_op);
    struct cd_list now;
    struct cd_link *k;
    (void)status;
    if (s->grant)
        grant(s);
    cd_list_init(&now); /* One turn each: who is poked again waits for the others. */
    while ((k = cd_list_pop(&s->turn)) != NULL)
        cd_list_push(&now, k);
    while ((k = cd_list_pop(&now)) != NULL) {
        struct cell *c = CD_CONTAINER(k, struct cell, turn);
        turn(c);
        if (forgettable(c) && !cd_link_linked(&c->turn))
            cell_forget(c);
    }
    cell_shard_shed(s);
    cell_check(s);
    cell_shard_settle(s);
}

/* ---- What only time brings about ---- */

/* Calls that waited for too long are refused; an alarm's wake stays. */
static void expire(struct cell *c, uint64_t now)
{
    struct cd_link *k;
    while ((k = cd_list_first(&c->calls)) != NULL) {
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (w->deadline_ns > now || CD_PLANT("cell.queue_without_deadline"))
            return;
        CD_MARK("cell.queue_deadline");
        cell_wire_refuse(w, &(struct cell_close){.text = CD_STR(CELL_CAPACITY_TEXT),
                                                 .overloaded = true,
                                                 .retryable = true,
                                                 .refusal = CELL_REFUSED_CAPACITY});
    }
    if (!c->wake && !c->look && c->wanted_until_ns <= now)
        cell_feed(c, CELL_EV_GIVE_UP);
}

static void expire_all(struct cd_list *list, uint64_t now)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(list); k != NULL; k = next) {
        next = cd_list_next(list, k);
        struct cell *c = CD_CONTAINER(k, struct cell, queue);
        if (c->state.phase == CELL_RECOVERING && c->retry_ns <= now) {
            cell_recovery_again(c);
            continue;
        }
        expire(c, now);
    }
}

static void sweep_done(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, sweep.op);
    uint64_t now = io_now_ns(s->o.io);
    struct cd_link *next;
    if (status != IO_OK) {
        cell_shard_settle(s);
        return;
    }
    if (log_feed_proven(s->feed) != s->proven) {
        s->proven = log_feed_proven(s->feed);
        s->proven_moved_ns = now;
    }
    for (struct cd_link *k = cd_list_first(&s->holding); k != NULL; k = next) {
        next = cd_list_next(&s->holding, k);
        cell_gate_look(CD_CONTAINER(k, struct cell, holding), now);
    }
    expire_all(&s->permits, now);
    expire_all(&s->slot_queue, now);
    expire_all(&s->recovering, now);
    if (!log_feed_full(s->feed) || s->closing) {
        for (struct cd_link *k; (k = cd_list_first(&s->stalled)) != NULL;)
            cell_wire_go_on(CD_CONTAINER(k, struct cell_wire, stalled));
    }
    cell_routes_look(s, now);
    cell_relays_look(s, now);
    cell_refuse_placed(s);
    cell_look_elsewhere(s);
    cell_shard_evict_for(s);
    cell_chain_sweep(s);
    cell_drain_go_on(s, true);
    if (s->o.limits.idle_ns > 0 && !s->press.engaged)
        evict_idle(s, UINT64_MAX, s->o.limits.idle_ns);
    if (much_is_left_behind(s) && s->evicting == 0)
        shrink(s);
    if (s->closing || s->draining) {
        for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n))
            cell_poke(cd_map_value(n));
    }
    cell_shard_stir(s);
    cell_shard_settle(s);
}

void cell_shard_stir(struct cell_shard *s)
{
    bool waits = !cd_list_empty(&s->holding) || !cd_list_empty(&s->permits) ||
                 !cd_list_empty(&s->slot_queue) || !cd_list_empty(&s->recovering) ||
                 !cd_list_empty(&s->routes) || !cd_list_empty(&s->stalled) || s->forwards.count > 0 ||
                 ((s->closing || s->draining) && !s->fenced) ||
                 (s->chains.count > 0 && !s->closing && !s->fenced) ||
                 (s->o.limits.idle_ns > 0 && s->idle_count > 0) || much_is_left_behind(s);
    if (!waits || io_busy(&s->sweep.op))
        return;
    if (s->proven_moved_ns == 0 || io_now_ns(s->o.io) - s->swept_ns > 2 * SWEEP_NS) {
        s->proven = log_feed_proven(s->feed);
        s->proven_moved_ns = io_now_ns(s->o.io);
    }
    s->swept_ns = io_now_ns(s->o.io);
    io_timer_start(&s->sweep, s->o.io, SWEEP_NS, sweep_done);
}
