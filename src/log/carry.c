/* log/carry.c: brings slots to the bucket: does what the machine asks for, and tells it what came of it. */
#include <stdlib.h>

#include "log/log_internal.h"
#include "store/retry.h"

#define SLOW_KNOWN_MIN 8u /* So many PUTs have to be known before one is slow. */
#define SLOW_MIN_NS IO_MS(100) /* A second PUT that saves less than this costs more than it gains. */
#define KEPT_BYTES (64u << 10) /* Buffers up to this stay for the next slot of the place. */

static void answered(struct carrier *c, struct log_event *e)
{
    struct log *l = c->log;
    e->slot = c->slot;
    e->op = c->op;
    log_step(l, e);
    log_ended(l);
}

/* The node dies, or the log closes: nothing is known and nothing follows. */
static bool over(const struct carrier *c, int status)
{
    return c->log->closing || status == IO_CANCELED || c->op == 0;
}

/* fleet.md 3.3. */
static enum log_put outcome(const struct io_store *s, int status)
{
    switch (s->outcome) {
    case IO_DONE: return LOG_PUT_APPLIED;
    case IO_REJECTED: return status == IO_CONFLICT ? LOG_PUT_REJECTED : LOG_PUT_NOT_COMMITTED;
    case IO_UNKNOWN: return LOG_PUT_UNKNOWN;
    }
    CD_UNREACHABLE();
}

/* ---- PUTs ---- */

/* Wrong, and planted: a slot that is sent again is not the one that was sent before. */
static void plant_other_bytes(struct carrier *c)
{
    if (c->sends > 0 && CD_PLANT("log.other-id")) {
        c->id[0] ^= 0xff;
        log_cut_repack(c, false);
    }
    if (c->sends > 0 && CD_PLANT("log.packed-again"))
        log_cut_repack(c, true);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A PUT that takes longer is sent again; UINT64_MAX: too few are known yet. */
static uint64_t slow_ns(const struct log *l)
{
    uint64_t sorted[LOG_PACE_PUTS];
    size_t count = l->puts < LOG_PACE_PUTS ? (size_t)l->puts : LOG_PACE_PUTS;
    if (count < SLOW_KNOWN_MIN)
        return UINT64_MAX;
    memcpy(sorted, l->put_ns, sizeof sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    uint64_t slow = 4 * sorted[count / 2];
    return slow > SLOW_MIN_NS ? slow : SLOW_MIN_NS;
}

static void put_event(struct carrier *c, const struct io_store *s, enum log_put put, int status)
{
    struct log *l = c->log;
    uint64_t now = io_now_ns(l->io);
    cd_event_to(l->io, put == LOG_PUT_APPLIED ? CD_DEBUG : CD_INFO, "log", "log_slot", CD_U("slot", c->slot),
                CD_U("batch", c->batch), CD_U("rows", c->row_count), CD_U("bytes", c->bytes.len),
                CD_U("wait_us", (c->cut_ns - c->oldest_ns) / 1000),
                CD_U("store_us", (now - c->cut_ns) / 1000), CD_U("sends", c->sends),
                CD_Z("outcome", status == IO_OK ? "applied" : cd_err_text(status)),
                CD_Z("why", status == IO_OK ? "" : s->why));
    if (put == LOG_PUT_APPLIED && c->slot != l->leader.durable_slot + 1)
        CD_MARK("log.stored_above_hole");
    if (put == LOG_PUT_UNKNOWN)
        CD_MARK("log.slot_unclear");
}

/* One of two: the first answer counts that says more than "not stored", the other is given up. */
static void put_ended(struct carrier *c, struct io_store *s, struct io_store *other, int status)
{
    struct log *l = c->log;
    if (!c->decided && over(c, status)) {
        c->puts = false;
        log_ended(l);
        return;
    }
    if (!c->decided) {
        c->put = outcome(s, status);
        put_event(c, s, c->put, status);
        if (c->put == LOG_PUT_APPLIED && s == &c->store)
            l->put_ns[l->puts++ % LOG_PACE_PUTS] = io_now_ns(l->io) - c->sent_ns;
        if (c->put == LOG_PUT_NOT_COMMITTED && io_busy(&other->op)) {
            log_ended(l);
            return;
        }
        c->decided = true;
        io_cancel(&other->op);
    }
    if (io_busy(&other->op)) {
        log_ended(l);
        return;
    }
    c->puts = c->decided = false;
    if (l->closing || c->op == 0) {
        log_ended(l);
        return;
    }
    answered(c, &(struct log_event){.kind = LOG_EVENT_PUT, .put = c->put});
}

static void put_done(struct io_op *op, int status)
{
    struct carrier *c = CD_CONTAINER(op, struct carrier, store.op);
    put_ended(c, &c->store, &c->second, status);
}

static void second_done(struct io_op *op, int status)
{
    struct carrier *c = CD_CONTAINER(op, struct carrier, second.op);
    put_ended(c, &c->second, &c->store, status);
}

static void put(struct carrier *c, struct io_store *s, io_done_fn *done)
{
    struct log *l = c->log;
    struct store_policy p = store_policy_of(IO_LANE_LOG, c->bytes.len);
    l->busy++;
    c->sends++;
    s->lane = p.lane;
    s->timeout_ns = p.attempt_ns;
    io_store_put(s, l->opts.bucket, cd_buf_str(&c->key), cd_buf_str(&c->bytes),
                 CD_PLANT("log.plain-put") ? IO_PUT_ANY : IO_PUT_IF_ABSENT, done);
}

static void look_for_slow(struct log *l);

static void slow_waited(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, slow_timer.op);
    if (status == IO_OK && !l->closing)
        look_for_slow(l);
    log_ended(l);
}

/* Sends again what is slow, and looks again when the next one is. */
static void look_for_slow(struct log *l)
{
    uint64_t slow = slow_ns(l), now = io_now_ns(l->io), next = UINT64_MAX;
    for (unsigned i = 0; slow != UINT64_MAX && i < LOG_PIPELINE_MAX; i++) {
        struct carrier *c = &l->carrier[i];
        if (!c->puts || c->hedged || c->decided || c->op == 0)
            continue;
        if (now - c->sent_ns < slow) {
            next = c->sent_ns + slow < next ? c->sent_ns + slow : next;
            continue;
        }
        CD_MARK("log.slot_hedged");
        c->hedged = true;
        plant_other_bytes(c);
        put(c, &c->second, second_done);
    }
    if (next == UINT64_MAX || io_busy(&l->slow_timer.op))
        return;
    l->busy++;
    io_timer_start(&l->slow_timer, l->io, next - now, slow_waited);
}

static void read_done(struct io_op *op, int status)
{
    struct carrier *c = CD_CONTAINER(op, struct carrier, store.op);
    struct log *l = c->log;
    if (over(c, status)) {
        cd_buf_deinit(&c->store.body);
        log_ended(l);
        return;
    }
    struct log_event e = {.kind = LOG_EVENT_READ, .found = LOG_FOUND_ERROR};
    struct log_slot_head head;
    if (status == IO_OK && log_slot_head_read(&head, cd_buf_str(&c->store.body), NULL) == 0 &&
        head.slot == c->slot && memcmp(head.id, c->id, sizeof c->id) == 0) {
        CD_MARK("log.read_ours");
        e.found = LOG_FOUND_OURS;
    } else if (status == IO_OK || status == IO_EOF) { /* Also an object that is empty. */
        CD_MARK("log.read_other");
        e.found = LOG_FOUND_OTHER;
    } else if (status == IO_NOENT) {
        CD_MARK("log.read_nothing");
        e.found = LOG_FOUND_NOTHING;
    }
    cd_buf_deinit(&c->store.body);
    answered(c, &e);
}

static void waited(struct io_op *op, int status)
{
    struct carrier *c = CD_CONTAINER(op, struct carrier, timer.op);
    struct log *l = c->log;
    if (over(c, status)) {
        log_ended(l);
        return;
    }
    answered(c, &(struct log_event){.kind = LOG_EVENT_WAITED});
}

void log_carry(struct carrier *c, const struct log_action *a)
{
    struct log *l = c->log;
    struct store_policy p = store_policy_of(IO_LANE_LOG, 0);
    c->op = a->op;
    switch (a->kind) {
    case LOG_DO_SEND:
        plant_other_bytes(c);
        c->puts = true;
        c->sent_ns = io_now_ns(l->io);
        put(c, &c->store, put_done);
        look_for_slow(l);
        return;
    case LOG_DO_READ:
        l->busy++;
        c->store.lane = p.lane;
        c->store.timeout_ns = p.attempt_ns;
        io_store_get(&c->store, l->opts.bucket, cd_buf_str(&c->key), 0, LOG_SLOT_HEAD_SIZE, read_done);
        return;
    case LOG_DO_WAIT:
        l->busy++;
        io_timer_start(&c->timer, l->io, a->wait_ns, waited);
        return;
    case LOG_DO_NOTHING:
    case LOG_DO_PUBLISH:
    case LOG_DO_LOOK:
    case LOG_DO_FENCE:
    case LOG_DO_PUBLISH_ACKS:
    case LOG_DO_SEALED:
    case LOG_DO_LEAVE: break;
    }
    CD_UNREACHABLE();
}

void log_carrier_free(struct carrier *c)
{
    if (c->bytes.cap > KEPT_BYTES)
        cd_buf_deinit(&c->bytes);
    cd_buf_clear(&c->bytes);
    c->slot = c->op = c->first = c->batch = 0;
    c->hedged = false;
}
