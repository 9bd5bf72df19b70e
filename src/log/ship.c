/* log/ship.c: sends batches to the followers of the ensemble, in one ordered lane for each (fleet.md 6.6).
 *
 * A lane has one append under way, with all batches that its member lacks up to a bound; so batches group by
 * themselves under load. The first append that fails ends the ensemble: what it credited stays credited, the
 * rest is the bucket's. */
#include "log/log_internal.h"

#include "log/peer_wire.h"

#define LANE_BYTES (8u << 20)
#define PROBE_NS IO_SEC(2) /* A member that is quiet for so long is asked whether its disk still works. */
#define BACKSTOP_NS IO_SEC(2)
#define GRACE_NS IO_MS(100)

struct ship_lane {
    struct ship *ship;
    struct log_peer peer;
    uint64_t confirmed;
    struct io_signal more;
    struct io_fiber *fiber;
};

struct ship {
    struct log *log; /* NULL: stopped; it frees itself with its last lane. */
    struct io *io;
    struct cd_buf session; /* owned: the log may be gone before a lane ends */
    uint64_t log_epoch, first_batch, backstop_ns;
    const struct log_peers *peers;
    unsigned lanes, running;
    struct ship_lane lane[LOG_MEMBERS_MAX];
};

static void failed(struct ship *s, const struct ship_lane *lane, const char *why)
{
    struct log *l = s->log;
    if (l == NULL)
        return;
    cd_event_to(l->io, CD_WARN, "log", "ensemble_degraded", CD_Z("member", lane->peer.node),
                CD_U("log_epoch", s->log_epoch), CD_Z("error", why));
    if (l->opts.member_failed != NULL)
        l->opts.member_failed(l->opts.arg, lane->peer.node);
    log_degrade(l);
}

static void confirmed(struct ship *s, struct ship_lane *lane, uint64_t last)
{
    struct log *l = s->log;
    uint64_t all = last;
    lane->confirmed = last;
    for (unsigned i = 0; i < s->lanes; i++) {
        uint64_t has = s->lane[i].confirmed;
        if (CD_PLANT("log.one-is-enough") ? has > all : has < all)
            all = has;
    }
    log_step(l, &(struct log_event){.kind = LOG_EVENT_CONFIRMED, .batch = all});
}

/* The next append of the lane: none to send is an empty one. Returns its last batch. */
static uint64_t collect(struct ship *s, struct ship_lane *lane, struct cd_buf *body)
{
    struct cd_buf frames = {0};
    struct log_append a = {.leader = cd_buf_str(&s->session),
                           .log_epoch = s->log_epoch,
                           .first_batch = s->first_batch,
                           .truncate_to = s->log->leader.durable_batch};
    uint64_t last = lane->confirmed;
    const struct cut_batch *b;
    if (CD_PLANT("log.truncate-ahead"))
        a.truncate_to = s->log->leader.slotted;
    while (a.count < LOG_FRAMES_MAX && (b = log_batch_at(s->log, last + 1)) != NULL) {
        if (a.count > 0 && frames.len + b->bytes.len > LANE_BYTES)
            break;
        CD_ASSERT(b->log_epoch == s->log_epoch);
        log_frame_add(&frames, cd_buf_str(&b->bytes));
        a.count++;
        last++;
    }
    a.frames = cd_buf_str(&frames);
    cd_buf_clear(body);
    log_append_write(body, &a);
    cd_buf_deinit(&frames);
    return last;
}

/* NULL: the member has everything up to last. */
static const char *append(struct ship *s, struct ship_lane *lane, struct cd_str body, uint64_t last)
{
    struct log_append_answer a;
    struct log_call c = {.peer = &lane->peer,
                         .path = LOG_PATH_APPEND,
                         .body = body,
                         .deadline_ns = io_now_ns(s->io) + s->backstop_ns + GRACE_NS,
                         .answer_max = 4096};
    const char *why = NULL;
    int rc = s->peers->call(s->peers->arg, &c);
    if (rc != IO_OK)
        why = cd_err_text(rc);
    else if (c.status != 200)
        why = "it answered with an error";
    else if (log_append_answer_read(&a, cd_buf_str(&c.answer)) != 0)
        why = "its answer cannot be read";
    else if (!a.ok && !(a.epoch == s->log_epoch && a.end >= last && last >= s->first_batch))
        why = "it refused";
    cd_buf_deinit(&c.answer);
    return why;
}

static bool wait_for_more(struct ship *s, struct ship_lane *lane)
{
    struct io_op op = {0};
    io_signal_wait(&lane->more, s->io, &op, NULL);
    int rc = io_await(&op, io_now_ns(s->io) + PROBE_NS);
    return rc == IO_OK || rc == IO_TIMEDOUT;
}

static void lane_flow(void *arg)
{
    struct ship_lane *lane = arg;
    struct ship *s = lane->ship;
    struct cd_buf body = {0};
    bool go = true;
    while (go && s->log != NULL) {
        if (log_batch_at(s->log, lane->confirmed + 1) == NULL && !wait_for_more(s, lane))
            break;
        if (s->log == NULL)
            break;
        uint64_t last = collect(s, lane, &body);
        const char *why = append(s, lane, cd_buf_str(&body), last);
        if (s->log == NULL)
            break;
        go = why == NULL;
        if (go && last > lane->confirmed)
            confirmed(s, lane, last);
        else if (!go)
            failed(s, lane, why);
    }
    cd_buf_deinit(&body);
    lane->fiber = NULL;
    if (--s->running > 0)
        return;
    if (s->log != NULL)
        log_degrade(s->log); /* Stops s. */
    cd_buf_deinit(&s->session);
    cd_free(s);
}

void log_ship_wake(struct log *l)
{
    for (unsigned i = 0; l->ship != NULL && i < l->ship->lanes; i++)
        if (log_batch_at(l, l->ship->lane[i].confirmed + 1) != NULL)
            io_signal_wake(&l->ship->lane[i].more, IO_OK);
}

void log_ship_stop(struct log *l)
{
    struct ship *s = l->ship;
    if (s == NULL)
        return;
    l->ship = NULL;
    s->log = NULL;
    for (unsigned i = 0; i < s->lanes; i++)
        if (s->lane[i].fiber != NULL && s->lane[i].fiber != io_fiber_current())
            io_fiber_cancel(s->lane[i].fiber);
}

void log_degrade(struct log *l)
{
    log_ship_stop(l);
    log_step(l, &(struct log_event){.kind = LOG_EVENT_DEGRADE});
}

static void start(struct log *l, const struct log_peer *member, unsigned count)
{
    struct ship *s = cd_new(struct ship);
    s->log = l;
    s->io = l->io;
    cd_buf_add_str(&s->session, log_session(l));
    s->log_epoch = l->leader.log_epoch;
    s->first_batch = l->leader.first_batch;
    s->backstop_ns = l->opts.backstop_ns != 0 ? l->opts.backstop_ns : BACKSTOP_NS;
    s->peers = l->opts.peers;
    s->lanes = s->running = count;
    l->ship = s;
    for (unsigned i = 0; i < count; i++) {
        struct ship_lane *lane = &s->lane[i];
        lane->ship = s;
        lane->peer = member[i];
        lane->confirmed = s->first_batch - 1;
        io_signal_init(&lane->more);
        lane->fiber = io_spawn(l->io, "log_ship", lane_flow, lane);
    }
}

static void ensemble_published(struct io_op *op, int status)
{
    struct log *l = CD_CONTAINER(op, struct log, publish_ensemble);
    io_signal_wake(&l->named, status);
    log_ended(l);
}

int log_ensemble(struct log *l, const struct log_peer *member, unsigned count)
{
    CD_ASSERT(l->opts.peers != NULL && count >= 1 && count <= LOG_MEMBERS_MAX);
    log_degrade(l);
    if (l->leader.phase != LOG_OPEN || l->ending || l->closing)
        return CD_ECLOSED;
    if (!log_leader_barrier(&l->leader) || io_busy(&l->publish_ensemble))
        return CD_EFULL;
    struct store_log_record r = {
        .state = STORE_LOG_OPEN, .epoch = l->record.epoch + 1, .ensemble_count = count};
    for (unsigned i = 0; i < count; i++)
        memcpy(r.ensemble[i], member[i].node, sizeof r.ensemble[i]);
    l->record = r; /* Whatever comes of it: an epoch is never named twice. */
    struct io_op named = {0};
    io_signal_wait(&l->named, l->io, &named, NULL);
    l->busy++;
    l->opts.publish(l->opts.arg, &r, &l->publish_ensemble, ensemble_published);
    int rc = io_await(&named, IO_FOREVER); /* As long as the lease lives. */
    if (rc == IO_OK && (l->closing || l->ending || l->leader.phase != LOG_OPEN))
        rc = CD_ECLOSED;
    if (rc != IO_OK)
        return rc;
    log_step(l, &(struct log_event){.kind = LOG_EVENT_ENSEMBLE, .batch = r.epoch});
    CD_ASSERT(l->leader.fleet == LOG_FLEET_ACTIVE && l->leader.log_epoch == r.epoch);
    cd_event_to(l->io, CD_INFO, "log", "ensemble_named", CD_U("log_epoch", r.epoch), CD_U("members", count),
                CD_U("first_batch", l->leader.first_batch));
    start(l, member, count);
    return IO_OK;
}
