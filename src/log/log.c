#include "log/log.h"

#include "log/log_internal.h"
#include "store/names.h"

/* ---- Making and ending ---- */

struct log *log_new(const struct log_opts *opts)
{
    CD_ASSERT(io_loop_index(opts->io) == 0 && store_session_valid(opts->session));
    CD_ASSERT(opts->target_bytes <= LOG_TARGET_BYTES);
    struct log *l = cd_new(struct log);
    l->opts = *opts;
    l->io = opts->io;
    cd_buf_add_str(&l->session, opts->session);
    log_leader_init(&l->leader, opts->pipeline);
    log_health_init(&l->health, &opts->health);
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++)
        l->carrier[i].log = l;
    l->kept = 1;
    io_signal_init(&l->named);
    cd_list_init(&l->waiting);
    cd_list_init(&l->detached);
    l->lanes = io_loop_count(l->io);
    l->lane = cd_alloc(l->lanes * sizeof *l->lane);
    io_signal_init(&l->flushed);
    io_signal_init(&l->sealed);
    io_signal_init(&l->closed);
    return l;
}

static void log_free(struct log *l)
{
    CD_ASSERT(l->apart.count == 0 && cd_list_empty(&l->detached));
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++) {
        cd_buf_deinit(&l->carrier[i].bytes);
        cd_buf_deinit(&l->carrier[i].key);
    }
    log_batches_deinit(l);
    log_rows_free(&l->waiting);
    for (unsigned i = 0; i < l->lanes; i++) {
        CD_ASSERT(l->lane[i].feed == NULL);
        cd_buf_deinit(&l->lane[i].marks);
    }
    cd_free(l->lane);
    cd_map_deinit(&l->apart);
    cd_buf_deinit(&l->session);
    cd_free(l);
}

void log_ended(struct log *l)
{
    CD_ASSERT(l->busy > 0);
    if (--l->busy > 0 || !l->closing)
        return;
    io_signal_wake(&l->closed, IO_OK);
    log_free(l);
}

void log_close(struct log *l, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!l->closing);
    l->closing = true;
    io_signal_wait(&l->closed, l->io, op, done);
    io_signal_wake(&l->flushed, IO_CANCELED);
    io_signal_wake(&l->sealed, IO_CANCELED);
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++) {
        io_cancel(&l->carrier[i].store.op);
        io_cancel(&l->carrier[i].second.op);
        io_cancel(&l->carrier[i].timer.op);
    }
    io_cancel(&l->publish);
    io_cancel(&l->publish_acks);
    io_cancel(&l->publish_ensemble);
    io_cancel(&l->flush_timer.op);
    io_cancel(&l->slow_timer.op);
    log_ship_stop(l);
    io_cancel(&l->open_timer.op);
    log_apart_cancel(l);
    l->busy++; /* Ours, until here. */
    log_ended(l);
}

/* ---- The record ---- */

static void published(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, publish);
    struct log_event e = {
        .kind = LOG_EVENT_PUBLISHED, .op = l->open_op, .ok = status == IO_OK, .lost = status == CD_EFENCED};
    if (!l->closing && status != IO_CANCELED) {
        if (e.ok)
            cd_event_to(l->io, CD_INFO, "log", "log_opened", CD_S("session", log_session(l)));
        log_step(l, &e);
    }
    log_ended(l);
}

static void open_waited(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, open_timer.op);
    if (!l->closing && status != IO_CANCELED)
        log_step(l, &(struct log_event){.kind = LOG_EVENT_WAITED, .op = l->open_op});
    log_ended(l);
}

static void acks_published(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, publish_acks);
    if (!l->closing && status != IO_CANCELED) {
        bool ok = status == IO_OK;
        if (ok && l->record.epoch == l->acks_epoch)
            l->record.may_have_fleet_acks = true;
        log_step(l, &(struct log_event){.kind = LOG_EVENT_ACKS, .op = l->acks_epoch, .ok = ok});
    }
    log_ended(l);
}

static void seal_published(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, publish);
    cd_event_to(l->io, CD_INFO, "log", "log_sealed", CD_U("slot", l->leader.next_slot),
                CD_Z("record", status == IO_OK ? "sealed" : cd_err_text(status)));
    io_signal_wake(&l->sealed, status);
    log_ended(l);
}

void log_open(struct log *l)
{
    log_step(l, &(struct log_event){.kind = LOG_EVENT_OPEN});
}

/* What became proven goes to the shards, what became durable in the bucket to the folder, in order. */
static void tell(struct log *l)
{
    while (l->told_batch < log_leader_proven(&l->leader)) {
        struct cut_batch *b = log_batch_at(l, ++l->told_batch);
        for (struct cd_link *k = cd_list_first(&b->rows); k != NULL; k = cd_list_next(&b->rows, k)) {
            struct log_row *row = CD_CONTAINER(k, struct log_row, link);
            log_lane_done(l, row);
        }
    }
    while (l->told_slot < l->leader.durable_slot) {
        struct carrier *c = &l->carrier[++l->told_slot % LOG_PIPELINE_MAX];
        CD_ASSERT(c->slot == l->told_slot);
        for (uint64_t n = c->first; n <= c->batch; n++) {
            struct log_durable d = {.slot = c->slot, .batch = n};
            struct cut_batch *b = log_batch_at(l, n);
            struct cd_link *k;
            cd_list_init(&d.rows);
            while ((k = cd_list_pop(&b->rows)) != NULL)
                cd_list_push(&d.rows, k);
            l->opts.durable(l->opts.arg, &d);
            CD_ASSERT(cd_list_empty(&d.rows));
        }
        log_carrier_free(c);
    }
    log_batches_drop(l);
    log_lanes_tell(l);
}

static void plant_hole_batch(struct log *l, struct carrier *c, struct cut_batch *b)
{
    if (CD_PLANT("log.hole"))
        for (struct cd_link *k = cd_list_first(&b->rows); k != NULL; k = cd_list_next(&b->rows, k)) {
            struct log_row *row = CD_CONTAINER(k, struct log_row, link);
            struct log_feed *f = l->lane[row->loop].feed;
            if (f != NULL)
                log_feed_tell(l, f, row->seq, false);
        }
    if (CD_PLANT("log.fold-above-hole") && !cd_list_empty(&b->rows)) {
        const struct log_row *row = CD_CONTAINER(cd_list_first(&b->rows), struct log_row, link);
        struct log_durable d = {.slot = c->slot, .batch = b->batch};
        struct log_row *copy = log_row_new(cd_str(row->scope), row->epoch);
        copy->min_txid = row->min_txid;
        copy->max_txid = row->max_txid;
        cd_list_init(&d.rows);
        cd_list_push(&d.rows, &copy->link);
        l->opts.durable(l->opts.arg, &d);
    }
}

/* Wrong, and planted: shards hear of a slot, or the folder gets it, although a lower one is not stored. */
static void plant_hole(struct log *l)
{
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++) {
        struct carrier *c = &l->carrier[i];
        const struct log_place *p = c->slot == 0 ? NULL : log_leader_place(&l->leader, c->slot);
        if (p == NULL || p->state != LOG_PLACE_STORED)
            continue;
        for (uint64_t n = c->first; n <= c->batch; n++)
            plant_hole_batch(l, c, log_batch_at(l, n));
    }
}

static bool still(const struct log *l)
{
    return l->waiting_rows == 0 && l->leader.backlog_batches == 0;
}

static void pumped(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, pump);
    if (!l->closing && status == IO_OK) {
        if (CD_PLANT("log.hole") || CD_PLANT("log.fold-above-hole"))
            plant_hole(l);
        tell(l);
        if (!cd_list_empty(&l->waiting) && l->leader.phase == LOG_CLOSED)
            log_open(l);
        log_cut_all(l);
        log_ship_wake(l);
        bool over = l->leader.phase == LOG_FENCED || l->leader.phase == LOG_LEFT;
        if (over || still(l))
            io_signal_wake(&l->flushed, still(l) ? IO_OK : CD_EFENCED);
    }
    log_ended(l);
}

void log_pump(struct log *l)
{
    if (io_busy(&l->pump) || l->closing)
        return;
    l->busy++;
    io_defer(&l->pump, l->io, IO_OK, pumped);
}

void log_row_ready(struct log *l, struct log_row *row)
{
    cd_list_push(&l->waiting, &row->link);
    log_pump(l);
}

/* ---- The machine ---- */

static void fence(struct log *l, uint64_t slot)
{
    cd_event_to(l->io, CD_ERROR, "log", "node_log_sealed_fence", CD_S("session", log_session(l)),
                CD_U("slot", slot));
    log_lanes_lost(l);
    io_signal_wake(&l->sealed, CD_EFENCED);
    log_pump(l);
    l->opts.fence(l->opts.arg, "node_log_sealed_fence");
}

static void act(struct log *l, const struct log_action *a)
{
    struct store_log_record record;
    switch (a->kind) {
    case LOG_DO_NOTHING: return;
    case LOG_DO_PUBLISH:
        l->open_op = a->op;
        l->busy++;
        l->opts.publish(l->opts.arg, &(struct store_log_record){.state = STORE_LOG_OPEN}, &l->publish,
                        published);
        return;
    case LOG_DO_WAIT:
        if (a->slot == 0) {
            l->open_op = a->op;
            l->busy++;
            io_timer_start(&l->open_timer, l->io, a->wait_ns, open_waited);
            return;
        }
        log_carry(&l->carrier[a->slot % LOG_PIPELINE_MAX], a);
        return;
    case LOG_DO_SEND:
    case LOG_DO_READ: log_carry(&l->carrier[a->slot % LOG_PIPELINE_MAX], a); return;
    case LOG_DO_LOOK: log_pump(l); return;
    case LOG_DO_FENCE: fence(l, a->slot); return;
    case LOG_DO_SEALED:
        l->busy++;
        record = l->record;
        record.state = STORE_LOG_SEALED;
        record.seal = a->slot;
        l->opts.publish(l->opts.arg, &record, &l->publish, seal_published);
        return;
    case LOG_DO_PUBLISH_ACKS:
        if (io_busy(&l->publish_acks)) { /* Of an older ensemble, on its way still: without credits, then. */
            log_step(l, &(struct log_event){.kind = LOG_EVENT_ACKS, .op = a->op});
            return;
        }
        l->busy++;
        l->acks_epoch = a->op;
        record = l->record;
        record.may_have_fleet_acks = true;
        l->opts.publish(l->opts.arg, &record, &l->publish_acks, acks_published);
        return;
    case LOG_DO_LEAVE: io_signal_wake(&l->sealed, IO_FAULT); return;
    }
    CD_UNREACHABLE();
}

void log_step(struct log *l, const struct log_event *e)
{
    struct log_action a = log_leader_step(&l->leader, e);
#ifndef CELLD_PLANTS /* Planted bugs are for the checkers to catch. */
    CD_ASSERT(log_leader_validate(&l->leader) == NULL);
#endif
    act(l, &a);
}

/* ---- The graceful end ---- */

void log_flush(struct log *l, struct io_op *op, io_done_fn *done)
{
    io_signal_wait(&l->flushed, l->io, op, done);
    log_step(l, &(struct log_event){.kind = LOG_EVENT_HURRY, .batch = UINT64_MAX});
    log_pump(l);
}

uint64_t log_want_stored(struct log *l)
{
    uint64_t proven = log_leader_proven(&l->leader);
    if (proven > l->leader.slotted)
        log_step(l, &(struct log_event){.kind = LOG_EVENT_HURRY, .batch = proven});
    return proven;
}

void log_seal(struct log *l, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!l->ending && !l->closing);
    log_degrade(l);
    l->ending = true;
    if (l->leader.phase == LOG_CLOSED) { /* No slot was ever written: nothing is to be sealed. */
        (void)log_leader_step(&l->leader, &(struct log_event){.kind = LOG_EVENT_SEAL});
        io_defer(op, l->io, IO_OK, done);
        return;
    }
    io_signal_wait(&l->sealed, l->io, op, done);
    if (l->leader.phase == LOG_OPEN && still(l)) {
        uint64_t slot = l->leader.next_slot;
        struct carrier *c = &l->carrier[slot % LOG_PIPELINE_MAX];
        int64_t now_ms = io_wall_ms(l->io);
        struct log_slot_head head = {.kind = LOG_SLOT_SEAL,
                                     .slot = slot,
                                     .first_batch = l->leader.next_batch,
                                     .last_batch = l->leader.durable_batch,
                                     .pipeline = (uint16_t)l->opts.pipeline};
        io_random(l->io, IO_RAND_ID, c->id, sizeof c->id);
        memcpy(head.id, c->id, sizeof head.id);
        c->slot = slot;
        c->first = c->batch = 0;
        c->row_count = c->sends = 0;
        c->cut_ns = c->oldest_ns = io_now_ns(l->io);
        cd_buf_clear(&c->key);
        log_slot_key(&c->key, log_session(l), slot);
        cd_buf_clear(&c->bytes);
        log_slot_seal(&c->bytes, log_session(l), &head,
                      &(struct log_seal_text){log_session(l), now_ms, now_ms});
    }
    log_step(l, &(struct log_event){.kind = LOG_EVENT_SEAL});
    if (l->leader.phase == LOG_FENCED || l->leader.phase == LOG_LEFT)
        io_signal_wake(&l->sealed, l->leader.phase == LOG_FENCED ? CD_EFENCED : IO_FAULT);
}

void log_numbers(const struct log *l, struct log_numbers *out)
{
    const struct log_leader *m = &l->leader;
    *out = (struct log_numbers){.next_batch = m->next_batch,
                                .next_slot = m->next_slot,
                                .durable_slot = m->durable_slot,
                                .durable_batch = m->durable_batch,
                                .proven_batch = log_leader_proven(m),
                                .log_epoch = m->fleet == LOG_FLEET_ACTIVE ? m->log_epoch : 0,
                                .backlog_batches = m->backlog_batches,
                                .backlog_bytes = m->backlog_bytes,
                                .opened = m->phase != LOG_CLOSED && m->phase != LOG_OPENING,
                                .fenced = m->phase == LOG_FENCED};
}
