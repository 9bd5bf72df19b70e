/* cell/leave.c: the cells of a shard go to other nodes, because this one stops. fleet.md 9.2.
 *
 * Residents first, those with the most requests before others, then what is in no memory: each is quiesced,
 * proven, stopped, folded, given back, and offered to the control loop, which finds a node that adopts it.
 * What comes for it meanwhile waits, and follows it. */
#include <stdlib.h>

#include "cell/cell_internal.h"
#include "fleet/waker.h"

/* ---- What this session owns ---- */

struct cell_owned *cell_owned(struct cell_shard *s, struct cd_str scope, bool make)
{
    struct cell_owned *o = cd_map_get(&s->owned, scope);
    if (o == NULL && make) {
        o = cd_new(struct cell_owned);
        (void)cd_map_put(&s->owned, scope, o);
    }
    return o;
}

void cell_owned_drop(struct cell_shard *s, struct cd_str scope)
{
    cd_free(cd_map_remove(&s->owned, scope));
}

void cell_owned_free(struct cell_shard *s)
{
    for (struct cd_map_node *n = cd_map_first(&s->owned); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&s->owned);
}

void cell_owned_note(struct cell *c)
{
    struct cell_owned *o = cell_owned(c->shard, cd_str(c->scope), false);
    if (o == NULL || o->epoch != c->epoch)
        return;
    struct db_alarm a = db_alarm(c->db);
    o->known = true;
    o->armed = a.armed;
    o->due_ms = a.armed ? a.due_ms : 0;
    o->inst_seq = a.inst_seq;
    o->entries = c->entries;
    o->used_ns = c->used_ns;
    c->leave = *o;
}

/* ---- The record ---- */

static void give(struct cell_flow *f)
{
    f->event = CELL_EV_KEPT;
    if (f->cell == NULL)
        return;
    const struct cell_owned *o = cell_owned(f->shard, cd_str(f->cell->scope), false);
    if (o == NULL)
        return;
    uint64_t epoch = o->epoch, tail_epoch = f->cell->tail.epoch, tail = f->cell->tail.txid;
    int rc = cell_fold_tail(f);
    if (rc != IO_OK || f->cell == NULL)
        return;
    struct log_restore plan;
    if (tail != 0 && !cell_restorable(f, tail_epoch, tail, &plan))
        return;
    if (f->cell != NULL && cell_give_back(f, epoch, false))
        f->event = CELL_EV_RELEASED;
}

void cell_give(struct cell *c)
{
    const struct cell_owned *o = cell_owned(c->shard, cd_str(c->scope), false);
    c->leave = o == NULL ? (struct cell_owned){0} : *o;
    (void)cell_flow_start(c, "release", give);
}

/* ---- The next owner ---- */

void cell_offer_free(struct cell_offer *o)
{
    cd_free(o->scope);
    cd_free(o);
}

/* Nobody answers for its alarm: then an entry does. */
static bool enter(struct cell_shard *s, const struct cell_offer *o)
{
    if (CD_PLANT("cell.handoff_forgets_alarm"))
        return true;
    struct store_alarm entry = {cd_str(o->scope), {o->epoch, o->alarm.inst_seq}, (uint64_t)o->alarm.due_ms};
    return fleet_wake_entry(s->o.io, io_bucket(s->o.io), &entry) == IO_OK;
}

static void taken(struct cell_flow *f, const struct cell_offer *o)
{
    struct cell_shard *s = f->shard;
    s->handed++;
    s->rebalanced += o->balance;
    if (f->cell == NULL)
        return;
    struct fleet_claim found = {.end = FLEET_CLAIM_REMOTE, .epoch = o->taken_epoch, .until_ms = o->until_ms};
    memcpy(found.live, o->session, sizeof found.live);
    memcpy(found.addr, o->addr, sizeof found.addr);
    cell_route_set(f->cell, &found);
    f->event = CELL_EV_REMOTE;
}

static void offer(struct cell_flow *f)
{
    struct cell_shard *s = f->shard;
    struct cell_router *r = s->o.router;
    f->event = CELL_EV_FAILED;
    f->retryable = true;
    if (f->cell == NULL)
        return;
    struct cell_offer *o = cd_new(struct cell_offer);
    o->router = r;
    o->loop = io_loop_index(s->o.io);
    o->scope = cd_str_dup(cd_str(f->cell->scope));
    o->epoch = f->cell->leave.epoch;
    o->alarm = f->cell->leave;
    o->wanted = !cd_list_empty(&f->cell->calls);
    o->balance = !s->draining;
    io_signal_init(&o->answer);
    if (r->offer != NULL) {
        struct io_op op = {0};
        r->offer(r, s->o.io, o);
        io_signal_wait(&o->answer, s->o.io, &op, NULL);
        (void)io_await(&op, IO_FOREVER); /* Its calls have deadlines, and it is answered in any case. */
        if (!o->answered) { /* A fence, or a crash. */
            o->abandoned = true;
            return;
        }
    }
    bool settled = o->alarm.known && (o->taken || !o->alarm.armed || enter(s, o));
    if (settled)
        log_folder_released(s->o.folder, s->o.io, cd_str(o->scope), o->epoch);
    if (o->taken) {
        taken(f, o);
    } else {
        s->not_handed++;
        s->rebalance_failed += o->balance;
    }
    cd_event(s->o.io, o->taken ? CD_DEBUG : CD_WARN, o->taken ? "cell_handed_off" : "cell_handoff_refused",
             CD_Z("scope", o->scope), CD_Z("to", o->session));
    cell_offer_free(o);
}

void cell_offer(struct cell *c)
{
    (void)cell_flow_start(c, "offer", offer);
}

/* ---- Which, and when ---- */

bool cell_quiet(const struct cell *c)
{
    unsigned queued = 0;
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = cd_list_next(&c->calls, k))
        queued++;
    return c->pins == queued && cd_list_empty(&c->held) && !c->doomed && !log_feed_lost(c->shard->feed);
}

void cell_leaving_turn(struct cell *c)
{
    if (c->state.phase == CELL_QUIESCING && cell_quiet(c) && cell_may_try(c)) {
        c->handing_ns = io_now_ns(c->shard->o.io); /* Until now it answered what it had begun. */
        cell_feed(c, CELL_EV_EVICT);
    }
}

static bool may_go(const struct cell *c)
{
    enum cell_phase p = c->state.phase;
    return p == CELL_RESIDENT || p == CELL_PROVING || p == CELL_DORMANT || p == CELL_INACTIVE;
}

static int by_requests(const void *a, const void *b)
{
    const struct cell *const *x = a, *const *y = b;
    bool awake_x = cell_phase_awake((*x)->state.phase), awake_y = cell_phase_awake((*y)->state.phase);
    if (awake_x != awake_y)
        return awake_x ? -1 : 1;
    if ((*x)->requests != (*y)->requests)
        return (*x)->requests > (*y)->requests ? -1 : 1;
    return strcmp((*x)->scope, (*y)->scope);
}

/* All that may go now, in their order. */
static void look(struct cell_shard *s)
{
    struct cell **found = cd_alloc((s->owned.count + 1) * sizeof *found);
    size_t n = 0;
    for (struct cd_map_node *k = cd_map_first(&s->owned); k != NULL; k = cd_map_next(k)) {
        struct cell *c = cell_find(s, cd_map_key(k), true);
        if (may_go(c) && !c->handing && c->flow == NULL)
            found[n++] = c;
        else if (cell_asleep(c))
            cell_poke(c); /* It may be forgotten again. */
    }
    qsort(found, n, sizeof *found, by_requests);
    for (size_t i = 0; i < n; i++)
        cd_list_push(&s->going, &found[i]->going);
    cd_free(found);
}

void cell_handed(struct cell *c)
{
    struct cell_shard *s = c->shard;
    if (s->draining)
        cell_pace_ended(&s->pace, c->handing_ns, io_now_ns(s->o.io), s->owned.count);
}

void cell_drain_go_on(struct cell_shard *s, bool again)
{
    struct cd_link *k;
    if ((!s->draining && cd_list_empty(&s->going)) || s->closing || s->fenced)
        return;
    if (s->draining && again && cd_list_empty(&s->going))
        look(s);
    while (s->handing < (s->draining ? s->pace.now : s->window) && (k = cd_list_pop(&s->going)) != NULL) {
        struct cell *c = CD_CONTAINER(k, struct cell, going);
        bool needed = !s->draining && (cell_phase_awake(c->state.phase) || cell_active(c));
        if (!needed && may_go(c) && (c->flow == NULL || c->state.phase == CELL_PROVING) &&
            cell_owned(s, cd_str(c->scope), false) != NULL) {
            c->release = c->shed = false;
            cell_feed(c, CELL_EV_HAND_OFF);
        }
    }
}

void cell_shard_drain(struct cell_shard *s, unsigned window, uint64_t until_ns)
{
    if (s->draining || s->closing || s->fenced)
        return;
    s->draining = true;
    s->window = window > s->handing ? window
                : s->handing > 0    ? s->handing
                                    : 1; /* Some may be given away now. */
    s->pace = cell_pace_begin(s->window, until_ns);
    look(s);
    cell_shard_pump(s);
    cell_shard_stir(s);
}

struct cell_drained cell_shard_drained(const struct cell_shard *s)
{
    uint64_t owned = s->owned.count; /* What is being released is among them; what is being adopted is not. */
    uint64_t moving = CD_PLANT("cell.drain_forgets_offers") ? 0 : s->handing;
    return (struct cell_drained){.left = s->fenced || s->closing ? 0 : owned + moving + s->activating,
                                 .handed = s->handed};
}
