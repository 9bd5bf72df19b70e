/* log/cut.c: cuts batches from the rows that wait, and slots from batches (fleet.md 6.3). */
#include "log/log_internal.h"

#define ROW_WEIGHT 384u /* What a row adds to a batch beside its segment, at most. */
#define KEPT_BYTES (64u << 10) /* A buffer up to this stays for the next batch. */
#define WINDOW 8192u
#define WINDOW_BYTES (64u << 20)

struct cut_batch *log_batch_at(const struct log *l, uint64_t batch)
{
    return cd_map_get_u64(&l->batches, batch);
}

/* ---- Batches ---- */

static struct cut_batch *batch_new(struct log *l)
{
    struct cut_batch *b = l->spare;
    l->spare = NULL;
    if (b == NULL) {
        b = cd_new(struct cut_batch);
        cd_list_init(&b->rows);
    }
    cd_buf_clear(&b->bytes);
    return b;
}

static void batch_free(struct log *l, struct cut_batch *b)
{
    CD_ASSERT(cd_list_empty(&b->rows));
    if (l->spare == NULL && b->bytes.cap <= KEPT_BYTES) {
        l->spare = b;
        return;
    }
    cd_buf_deinit(&b->bytes);
    cd_free(b);
}

void log_batches_drop(struct log *l)
{
    const struct log_leader *m = &l->leader;
    for (; l->kept <= m->durable_batch; l->kept++) {
        bool shipped = m->fleet != LOG_FLEET_ACTIVE || l->kept < m->first_batch || l->kept <= m->confirmed;
        struct cut_batch *b = log_batch_at(l, l->kept);
        if (!shipped || !cd_list_empty(&b->rows))
            return;
        (void)cd_map_remove_u64(&l->batches, l->kept);
        batch_free(l, b);
    }
}

void log_batches_deinit(struct log *l)
{
    for (struct cd_map_node *n = cd_map_first(&l->batches); n != NULL; n = cd_map_next(n)) {
        struct cut_batch *b = cd_map_value(n);
        log_rows_free(&b->rows);
        cd_buf_deinit(&b->bytes);
        cd_free(b);
    }
    cd_map_deinit(&l->batches);
    if (l->spare != NULL)
        cd_buf_deinit(&l->spare->bytes);
    cd_free(l->spare);
}

/* The waiting rows, in the order they came, up to the target size. */
static void take_rows(struct log *l, struct cut_batch *b)
{
    uint64_t weight = 0;
    struct cd_link *k;
    while ((k = cd_list_first(&l->waiting)) != NULL) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        uint64_t more = ROW_WEIGHT + (row->kind == LOG_ROW_BYTES ? row->ltx.len : 0);
        if (weight > 0 && weight + more > log_target(l))
            break;
        if (weight == 0)
            b->oldest_ns = row->came_ns;
        weight += more;
        l->waiting_rows--;
        l->waiting_bytes -= row->ltx.len;
        cd_link_remove(k);
        cd_list_push(&b->rows, k);
    }
    if (l->waiting_bytes < LOG_WAITING_BYTES / 2)
        l->full = false;
    b->weight = weight;
}

static void serialise(struct log *l, struct cut_batch *b)
{
    struct log_batch_out out;
    cd_buf_clear(&b->bytes);
    log_batch_begin(&out, &b->bytes, log_session(l), b->batch, b->log_epoch,
                    b->log_epoch == 0 ? 0 : l->leader.first_batch);
    b->row_count = 0;
    for (struct cd_link *k = cd_list_first(&b->rows); k != NULL; k = cd_list_next(&b->rows, k)) {
        struct log_row *row = CD_CONTAINER(k, struct log_row, link);
        row->batch = b->batch;
        log_batch_add(&out, row);
        b->row_count++;
    }
    log_batch_end(&out, b->digest);
}

static void cut_batch(struct log *l)
{
    struct cut_batch *b = batch_new(l);
    b->batch = l->leader.next_batch;
    b->log_epoch = l->leader.fleet == LOG_FLEET_ACTIVE ? l->leader.log_epoch : 0;
    b->cut_ns = io_now_ns(l->io);
    take_rows(l, b);
    serialise(l, b);
    (void)cd_map_put_u64(&l->batches, b->batch, b);
    log_step(l, &(struct log_event){.kind = LOG_EVENT_CUT, .bytes = b->weight});
    CD_ASSERT(l->leader.next_batch == b->batch + 1);
}

/* ---- Slots ---- */

static void pack(struct log *l, struct carrier *c)
{
    struct log_slot_head head = {.kind = LOG_SLOT_BATCHES,
                                 .slot = c->slot,
                                 .first_batch = c->first,
                                 .last_batch = c->batch,
                                 .pipeline = (uint16_t)l->opts.pipeline};
    struct log_slot_out slot;
    memcpy(head.id, c->id, sizeof head.id);
    cd_buf_clear(&c->bytes);
    c->row_count = 0;
    log_slot_begin(&slot, &c->bytes, log_session(l), &head);
    for (uint64_t n = c->first; n <= c->batch; n++) {
        struct cut_batch *b = log_batch_at(l, n);
        for (struct cd_link *k = cd_list_first(&b->rows); k != NULL; k = cd_list_next(&b->rows, k)) {
            struct log_row *row = CD_CONTAINER(k, struct log_row, link);
            row->slot = c->slot;
            if (row->kind == LOG_ROW_BYTES) /* It was that in the batch. */
                row->offset += c->bytes.len;
        }
        c->row_count += b->row_count;
        cd_buf_add_str(&c->bytes, cd_buf_str(&b->bytes));
        log_slot_batch(&slot, b->digest);
    }
    log_slot_end(&slot);
}

static void cut_slot(struct log *l)
{
    uint64_t slot = l->leader.next_slot, weight = 0;
    struct carrier *c = &l->carrier[slot % LOG_PIPELINE_MAX];
    CD_ASSERT(c->slot == 0 && !io_busy(&c->store.op) && !io_busy(&c->second.op) && !io_busy(&c->timer.op));
    c->slot = slot;
    c->first = l->leader.slotted + 1;
    c->sends = 0;
    c->cut_ns = io_now_ns(l->io);
    c->oldest_ns = log_batch_at(l, c->first)->oldest_ns;
    for (c->batch = c->first - 1; c->batch + 1 < l->leader.next_batch; c->batch++) {
        uint64_t more = log_batch_at(l, c->batch + 1)->weight;
        if (weight > 0 && weight + more > log_target(l))
            break;
        weight += more;
    }
    io_random(l->io, IO_RAND_ID, c->id, sizeof c->id);
    cd_buf_clear(&c->key);
    log_slot_key(&c->key, log_session(l), slot);
    pack(l, c);
    log_step(l, &(struct log_event){.kind = LOG_EVENT_SLOT, .batch = c->batch, .bytes = weight});
    CD_ASSERT(l->leader.next_slot == slot + 1);
}

void log_cut_repack(struct carrier *c, bool more)
{
    for (uint64_t n = c->first; n <= c->batch; n++) {
        struct cut_batch *b = log_batch_at(c->log, n);
        uint64_t weight = b->weight;
        if (more && n == c->batch)
            take_rows(c->log, b);
        b->weight = weight;
        serialise(c->log, b);
    }
    pack(c->log, c);
}

/* ---- When ---- */

static struct log_pace pace(const struct log *l)
{
    const struct log_leader *m = &l->leader;
    struct log_pace p = {.now_ns = io_now_ns(l->io),
                         .flush_ns = l->opts.flush_ns,
                         .target_bytes = log_target(l),
                         .window = l->opts.window != 0 ? l->opts.window : WINDOW,
                         .window_bytes = l->opts.window_bytes != 0 ? l->opts.window_bytes : WINDOW_BYTES};
    p.unslotted_ns = p.backlog_ns = p.now_ns;
    if (m->slotted + 1 < m->next_batch)
        p.unslotted_ns = log_batch_at(l, m->slotted + 1)->cut_ns;
    if (m->durable_batch + 1 < m->next_batch)
        p.backlog_ns = log_batch_at(l, m->durable_batch + 1)->cut_ns;
    return p;
}

static void flush_waited(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, flush_timer.op);
    if (status == IO_OK)
        log_pump(l);
    log_ended(l);
}

/* What is un-slotted is looked at again when it is time. */
static void flush_later(struct log *l, const struct log_pace *p)
{
    if (l->leader.slotted + 1 == l->leader.next_batch || l->leader.fleet != LOG_FLEET_ACTIVE ||
        io_busy(&l->flush_timer.op))
        return;
    uint64_t half = LOG_BACKLOG_AGE_NS / 2;
    uint64_t at = p->unslotted_ns + (p->flush_ns < half ? p->flush_ns : half);
    l->busy++;
    io_timer_start(&l->flush_timer, l->io, at > p->now_ns ? at - p->now_ns : IO_MS(10), flush_waited);
}

void log_cut_all(struct log *l)
{
    for (;;) {
        struct log_pace p = pace(l);
        if (!l->ending && log_leader_slot_due(&l->leader, &p)) {
            cut_slot(l);
        } else if (!l->ending && !cd_list_empty(&l->waiting) && log_leader_may_cut(&l->leader, &p)) {
            cut_batch(l);
        } else {
            flush_later(l, &p);
            return;
        }
    }
}
