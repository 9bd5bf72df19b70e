/* cell/close.c: the beginning and the end of a shard, and looking into it. */
#include "cell/cell_internal.h"

struct cell_limits cell_limits_default(unsigned shards, unsigned cpus, unsigned fd_limit)
{
    CD_ASSERT(shards > 0);
    unsigned activations = 8 * cpus < 16 ? 16 : 8 * cpus > 128 ? 128 : 8 * cpus;
    unsigned resident = fd_limit / 8;
    return (struct cell_limits){
        .resident_max = resident / shards > 0 ? resident / shards : 1,
        .activations_max = activations / shards > 0 ? activations / shards : 1,
        .requests_max = 64,
        .evictions_max = 4,
        .operation_ns = IO_SEC(15),
        .recovery_retry_ns = IO_SEC(1),
        .recovery_retries = 240,
        .proof_ns = IO_SEC(10),
        .alarm_resident_ms = 3600000,
        .keep = ltx_keep_default(),
        .compactions_max = 2,
        .cache_bytes = (UINT64_C(2) << 30) / shards,
    };
}

struct cell_shard *cell_shard_new(const struct cell_shard_opts *opts)
{
    struct cell_shard *s = cd_new(struct cell_shard);
    unsigned loop = io_loop_index(opts->io);
    s->o = *opts;
    s->feed = log_feed_open(opts->log, opts->io);
    s->host = db_host_new(opts->io);
    cd_list_init(&s->permits);
    cd_list_init(&s->slot_queue);
    cd_list_init(&s->placed);
    cd_list_init(&s->recovering);
    cd_list_init(&s->turn);
    cd_list_init(&s->idle);
    cd_list_init(&s->refused);
    cd_list_init(&s->near);
    cd_list_init(&s->holding);
    cd_list_init(&s->flows);
    cd_list_init(&s->routes);
    cd_list_init(&s->stalled);
    cd_list_init(&s->again);
    cd_list_init(&s->going);
    CD_ASSERT(loop < opts->router->loops && opts->router->shard[loop] == NULL);
    opts->router->shard[loop] = s;
    cell_cache_open(s);
    return s;
}

/* ---- The end ---- */

static void feed_closed(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, feed_op);
    struct io *io = s->o.io;
    struct io_op *done = s->close_op;
    (void)status;
    struct cd_map_node *n;
    while ((n = cd_map_first(&s->cells)) != NULL)
        cell_forget(cd_map_value(n));
    CD_ASSERT(!io_busy(&s->turn_op) && !io_busy(&s->sweep.op) && !io_busy(&s->alarm.op));
    cd_map_deinit(&s->cells);
    CD_ASSERT(s->forwards.count == 0 && s->serves.count == 0 && !io_busy(&s->posts_op));
    cd_buf_deinit(&s->posts);
    cell_timers_free(s);
    cell_chain_free(s);
    cell_cache_free(s);
    cell_owned_free(s);
    db_host_free(s->host);
    cd_buf_deinit(&s->why);
    cd_free(s);
    if (done != NULL)
        io_defer(done, io, IO_OK, done->done);
}

/* Everything that could still call back is gone, or is asked to go. */
void cell_shard_settle(struct cell_shard *s)
{
    if (!s->closing || s->feed_closing || s->runtimes > 0 || !cd_list_empty(&s->flows))
        return;
    for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n)) {
        const struct cell *c = cd_map_value(n);
        if (!cell_asleep(c) || io_busy(&c->proof.op) || !cd_list_empty(&c->wires))
            return;
    }
    if (s->forwards.count > 0 || s->serves.count > 0 || io_busy(&s->turn_op) || io_busy(&s->posts_op))
        return; /* They come here again. */
    if (io_busy(&s->sweep.op) || io_busy(&s->alarm.op) || io_busy(&s->again_timer.op)) {
        io_cancel(&s->sweep.op);
        io_cancel(&s->alarm.op);
        io_cancel(&s->again_timer.op);
        return;
    }
    s->feed_closing = true;
    s->o.router->shard[io_loop_index(s->o.io)] = NULL;
    log_feed_close(s->feed, &s->feed_op, feed_closed);
}

/* One cell of a shard that closes, from its turn. */
void cell_closing_turn(struct cell *c)
{
    struct cell_shard *s = c->shard;
    uint64_t now = io_now_ns(s->o.io);
    if (cell_asleep(c)) /* Parked sockets: who has them hears of the end when their other end answers. */
        cell_fail_wires(c, &(struct cell_close){.text = CD_STR("the node is stopping"), .retryable = true});
    if (c->state.phase == CELL_WAITING_PERMIT || c->state.phase == CELL_WAITING_SLOT ||
        c->state.phase == CELL_RECOVERING)
        cell_feed(c, CELL_EV_GIVE_UP);
    if (log_feed_lost(s->feed)) { /* Its last commits will not be proven: trying again would be for ever. */
        if (cell_phase_awake(c->state.phase))
            cell_reset(c, CD_STR("the node is stopping, and its log is lost"));
        return;
    }
    if (c->state.phase == CELL_RESIDENT && (!cell_active(c) || now >= s->close_deadline_ns) && !c->doomed &&
        cell_may_try(c))
        cell_evict_begin(c);
    if (c->state.phase == CELL_QUIESCING && now >= s->close_deadline_ns && !c->doomed && cell_may_try(c))
        cell_feed(c, CELL_EV_EVICT);
    if (cell_phase_awake(c->state.phase) && now >= s->close_deadline_ns + 2 * s->o.limits.proof_ns)
        cell_reset(c, CD_STR("the node is stopping, and the log stores nothing"));
}

static void refuse_all(struct cell_shard *s, const char *why)
{
    for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n)) {
        struct cell *c = cd_map_value(n);
        cell_refuse_calls(c, &(struct cell_close){
                                 .text = cd_str(why), .retryable = true, .refusal = CELL_REFUSED_DRAINING});
        c->wake = c->look = false;
        cell_poke(c);
    }
}

void cell_shard_close(struct cell_shard *s, uint64_t deadline_ns, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!s->closing && !io_busy(op));
    op->done = done;
    s->closing = true;
    s->close_op = op;
    s->close_deadline_ns = deadline_ns;
    s->o.limits.evictions_max = UINT32_MAX;
    refuse_all(s, "the node is stopping");
    cell_relays_look(s, io_now_ns(s->o.io));
    cell_flows_cancel(s);
    cell_shard_stir(s);
    cell_shard_pump(s);
}

void cell_shard_fence(struct cell_shard *s, struct cd_str why)
{
    if (s->fenced)
        return;
    s->fenced = true;
    cd_buf_add_str(&s->why, why);
    cell_flows_cancel(s);
    for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n)) {
        struct cell *c = cd_map_value(n);
        cd_buf_clear(&c->why);
        cd_buf_add_str(&c->why, why);
        c->why_retryable = c->why_reset = false;
        c->wake = c->look = false;
        cell_feed(c, CELL_EV_FENCE);
        cell_fail_wires(c, &(struct cell_close){.text = why});
        cell_poke(c);
    }
    cell_relays_end(s, &(struct cell_close){.text = why});
}

void cell_shard_unwind(struct cell_shard *s, struct io_op *op, io_done_fn *done)
{
    if (op != NULL)
        op->done = done;
    s->close_op = op;
    if (s->feed_closing)
        return; /* It was closing, and nothing but the feed is left. */
    cell_shard_fence(s, CD_STR("the node has crashed"));
    s->closing = true;
    cell_shard_pump(s);
}

/* ---- Looking ---- */

static uint64_t proven_txid(const struct cell *c)
{
    if (c->seq > 0 && cell_proven(c, c->seq))
        return c->txid;
    return c->mark.seq > 0 && cell_proven(c, c->mark.seq) ? c->mark.txid : c->mark.proven_txid;
}

void cell_shard_each(struct cell_shard *s, struct cd_str after,
                     bool (*each)(void *arg, const struct cell_view *v), void *arg)
{
    uint64_t now = io_now_ns(s->o.io);
    for (struct cd_map_node *n = cd_map_at_or_after(&s->cells, after); n != NULL; n = cd_map_next(n)) {
        const struct cell *c = cd_map_value(n);
        if (after.len > 0 && cd_str_eq(cd_map_key(n), after))
            continue;
        struct cell_view v = {.scope = cd_str(c->scope),
                              .phase = cell_phase_name(c->state.phase),
                              .epoch = c->epoch,
                              .requests = c->requests,
                              .active = cell_active(c),
                              .idle_ns = cd_link_linked(&c->idle) ? now - c->used_ns : 0,
                              .proven_txid = proven_txid(c)};
        if (!each(arg, &v))
            return;
    }
}

struct cell_tally cell_shard_tally(const struct cell_shard *s)
{
    struct cell_tally t = {.occupied = s->slots,
                           .leaving = s->evicting,
                           .resident = s->runtimes,
                           .idle = s->idle_count,
                           .activating = s->activating,
                           .capacity_waiting = s->slot_waiters,
                           .handed_off = s->handed,
                           .handoff_failed = s->not_handed,
                           .stops = s->stops,
                           .route_refreshes = s->route_refreshes,
                           .published = log_feed_proven(s->feed),
                           .shed = s->shed,
                           .owned = s->owned.count,
                           .rebalanced = s->rebalanced,
                           .rebalance_failed = s->rebalance_failed,
                           .inventoried = s->inventoried};
    for (struct cd_link *k = cd_list_first(&s->permits); k != NULL; k = cd_list_next(&s->permits, k))
        t.activation_waiting++;
    return t;
}

struct cell_counts cell_shard_counts(const struct cell_shard *s)
{
    struct cell_counts out = {.known = (unsigned)s->cells.count, .activating = s->activating};
    for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n)) {
        const struct cell *c = cd_map_value(n);
        out.resident += cell_phase_awake(c->state.phase);
        out.waiting += c->state.phase == CELL_WAITING_PERMIT || c->state.phase == CELL_WAITING_SLOT;
        for (struct cd_link *k = cd_list_first(&c->held); k != NULL; k = cd_list_next(&c->held, k))
            out.held++;
    }
    return out;
}

/* ---- validate(), fleet.md 4.12 ---- */

#define CHECKED_MAX 64u /* Looking at more cells than these at each turn would be felt. */
#define CHECK_EVERY 1024u /* So with more of them only some turns are checked. */

void cell_check(struct cell_shard *s)
{
    unsigned waiters = 0;
    unsigned slots = 0;
    unsigned permits = 0;
    unsigned leaving = 0;
    unsigned handing = 0;
    uint64_t idle = 0;
    if (s->cells.count > CHECKED_MAX && s->checks++ % CHECK_EVERY != 0)
        return;
    for (struct cd_map_node *n = cd_map_first(&s->cells); n != NULL; n = cd_map_next(n)) {
        const struct cell *c = cd_map_value(n);
        slots += c->state.slot;
        permits += c->state.permit;
        leaving += c->leaving;
        handing += c->handing;
        idle += cd_link_linked(&c->idle);
        waiters += c->state.phase == CELL_WAITING_SLOT;
        bool queued = c->state.phase == CELL_WAITING_PERMIT || c->state.phase == CELL_WAITING_SLOT ||
                      c->state.phase == CELL_RECOVERING;
        CD_ASSERT(queued == cd_link_linked(&c->queue) || c->state.phase == CELL_REMOTE);
        CD_ASSERT(cd_list_empty(&c->held) || cell_phase_awake(c->state.phase) ||
                  c->state.phase == CELL_STARTING);
        CD_ASSERT(!c->alarm_runs || cell_phase_awake(c->state.phase));
        CD_ASSERT((c->db != NULL) == c->state.database || c->flow != NULL);
        CD_ASSERT(!s->fenced || c->state.phase == CELL_FENCED || c->state.phase == CELL_STOPPING);
    }
    CD_ASSERT(slots == s->slots && slots <= s->o.limits.resident_max);
    CD_ASSERT(permits == s->activating && permits <= s->o.limits.activations_max);
    CD_ASSERT(handing == s->handing && handing <= s->window);
    CD_ASSERT(leaving == s->evicting && waiters == s->slot_waiters && idle == s->idle_count);
}
