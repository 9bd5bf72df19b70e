/* log/ship.c: sends batches to the followers of the ensemble, in one ordered lane for each (fleet.md 6.6).
 *
 * A lane has one append under way, with all batches that its member lacks up to a bound; so batches group by
 * themselves under load. An append that takes long goes out a second time: whichever of the two is confirmed
 * first lets the lane go on, and the first alone tells how the member does (health.h). The first append that
 * fails ends the ensemble: what it credited stays credited, the rest is the bucket's. */
#include "log/log_internal.h"

#include "log/peer_wire.h"

#define LANE_BYTES (8u << 20)
#define PROBE_NS IO_SEC(2) /* A member that is quiet for so long is asked whether its disk still works. */
#define GRACE_NS IO_MS(100)

struct ship_lane {
    struct ship *ship;
    unsigned index;
    struct log_peer peer;
    uint64_t confirmed;
    struct io_signal more; /* There are batches to send. */
    struct io_signal taken; /* An append was confirmed. */
    struct io_fiber *fiber;
};

struct ship {
    struct log *log; /* NULL: stopped; it frees itself with its last fiber. */
    struct io *io;
    struct cd_buf session; /* owned: the log may be gone before a lane ends */
    uint64_t log_epoch, first_batch;
    const struct log_peers *peers;
    unsigned lanes, running; /* running: fibers of lanes and of appends. */
    struct cd_list copies; /* struct copy.link: every append that is under way, the oldest first */
    struct ship_lane lane[LOG_MEMBERS_MAX];
};

struct append { /* Sent once, or twice. */
    struct cd_buf body; /* owned */
    uint64_t last;
    bool confirmed;
    unsigned users;
};

struct copy {
    struct cd_link link;
    struct ship_lane *lane;
    struct append *append;
    bool second;
    uint64_t sent_ns, deadline_ns;
    struct io_fiber *fiber;
};

static void append_leave(struct append *a)
{
    if (--a->users > 0)
        return;
    cd_buf_deinit(&a->body);
    cd_free(a);
}

/* A fiber of s ends. */
static void ship_leave(struct ship *s)
{
    if (--s->running > 0)
        return;
    if (s->log != NULL)
        log_degrade(s->log); /* Stops s. */
    cd_buf_deinit(&s->session);
    cd_free(s);
}

static void evict(struct ship *s, const struct ship_lane *lane, enum log_evict why, const char *error)
{
    struct log *l = s->log;
    cd_event_to(l->io, CD_WARN, "log", "ensemble_degraded", CD_Z("member", lane->peer.node),
                CD_U("log_epoch", s->log_epoch), CD_Z("cause", log_evict_name(why)), CD_Z("error", error));
    if (l->opts.member_evicted != NULL)
        l->opts.member_evicted(l->opts.arg, lane->peer.node, why);
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

/* The next append of the lane: none to send is an empty one. */
static struct append *collect(struct ship *s, struct ship_lane *lane)
{
    struct cd_buf frames = {0};
    struct append *out = cd_new(struct append);
    struct log_append a = {.leader = cd_buf_str(&s->session),
                           .log_epoch = s->log_epoch,
                           .first_batch = s->first_batch,
                           .truncate_to = s->log->leader.durable_batch};
    const struct cut_batch *b;
    out->last = lane->confirmed;
    if (CD_PLANT("log.truncate-ahead"))
        a.truncate_to = s->log->leader.slotted;
    while (a.count < LOG_FRAMES_MAX && (b = log_batch_at(s->log, out->last + 1)) != NULL) {
        if (a.count > 0 && frames.len + b->bytes.len > LANE_BYTES)
            break;
        CD_ASSERT(b->log_epoch == s->log_epoch);
        log_frame_add(&frames, cd_buf_str(&b->bytes));
        a.count++;
        out->last++;
    }
    a.frames = cd_buf_str(&frames);
    log_append_write(&out->body, &a);
    cd_buf_deinit(&frames);
    return out;
}

/* ---- One append ---- */

/* NONE: the member has everything up to the append's last batch, if that is one of this log epoch. */
static enum log_evict call(const struct copy *k, const char **why, bool *timed_out)
{
    struct ship_lane *lane = k->lane;
    struct ship *s = lane->ship;
    struct log_append_answer a;
    struct log_call c = {.peer = &lane->peer,
                         .path = LOG_PATH_APPEND,
                         .body = cd_buf_str(&k->append->body),
                         .deadline_ns = k->deadline_ns,
                         .answer_max = 4096};
    enum log_evict e = LOG_EVICT_FAILED;
    int rc = s->peers->call(s->peers->arg, &c);
    *timed_out = rc == IO_TIMEDOUT;
    if (c.unable || (rc == IO_OK && c.status == 501)) {
        e = LOG_EVICT_UNABLE;
        *why = "it takes no appends";
    } else if (rc != IO_OK) {
        *why = cd_err_text(rc);
    } else if (c.status != 200) {
        *why = "it answered with an error";
    } else if (log_append_answer_read(&a, cd_buf_str(&c.answer)) != 0) {
        e = LOG_EVICT_UNABLE;
        *why = "its answer cannot be read";
    } else if (!log_append_heard(&a, s->log_epoch, s->first_batch, k->append->last)) {
        *why = "it refused";
    } else {
        e = LOG_EVICT_NONE;
        *why = "";
    }
    cd_buf_deinit(&c.answer);
    return e;
}

/* Since when the oldest first copy of each lane is under way. */
static void heads(const struct ship *s, uint64_t *head_ns)
{
    memset(head_ns, 0, LOG_MEMBERS_MAX * sizeof *head_ns);
    for (struct cd_link *l = cd_list_first(&s->copies); l != NULL; l = cd_list_next(&s->copies, l)) {
        const struct copy *k = CD_CONTAINER(l, struct copy, link);
        if (!k->second && head_ns[k->lane->index] == 0)
            head_ns[k->lane->index] = k->sent_ns;
    }
}

static void copy_flow(void *arg)
{
    struct copy *k = arg;
    struct ship_lane *lane = k->lane;
    struct ship *s = lane->ship;
    const char *why;
    bool timed_out;
    enum log_evict e = call(k, &why, &timed_out);
    uint64_t now = io_now_ns(s->io), head_ns[LOG_MEMBERS_MAX];
    k->fiber = NULL;
    if (s->log != NULL && e == LOG_EVICT_NONE && !k->append->confirmed) {
        k->append->confirmed = true;
        if (k->second)
            CD_MARK("log.hedge_won");
        if (k->append->last > lane->confirmed)
            confirmed(s, lane, k->append->last);
        io_signal_wake(&lane->taken, IO_OK);
    }
    if (s->log != NULL && !k->second) { /* The first copy alone says how the member does. */
        if (e == LOG_EVICT_NONE && (e = log_health_confirmed(&s->log->health, lane->index, k->sent_ns, now)))
            why = "its appends take too long";
        heads(s, head_ns);
        if (e == LOG_EVICT_FAILED)
            e = log_health_failed(&s->log->health, timed_out, head_ns, now);
        if (e != LOG_EVICT_NONE)
            evict(s, lane, e, why);
    }
    cd_link_remove(&k->link);
    append_leave(k->append);
    cd_free(k);
    ship_leave(s);
}

static void send(struct ship_lane *lane, struct append *a, bool second)
{
    struct ship *s = lane->ship;
    struct copy *k = cd_new(struct copy);
    k->lane = lane;
    k->append = a;
    k->second = second;
    k->sent_ns = io_now_ns(s->io);
    k->deadline_ns = k->sent_ns + s->log->health.o.backstop_ns + GRACE_NS;
    a->users++;
    s->running++;
    cd_list_push(&s->copies, &k->link);
    k->fiber = io_spawn(s->io, "log_append", copy_flow, k);
}

/* ---- A lane ---- */

static bool wait_for(struct ship *s, struct io_signal *what, uint64_t ns)
{
    struct io_op op = {0};
    uint64_t now = io_now_ns(s->io);
    io_signal_wait(what, s->io, &op, NULL);
    int rc = io_await(&op, ns < IO_FOREVER - now ? now + ns : IO_FOREVER);
    return rc == IO_OK || rc == IO_TIMEDOUT;
}

/* Until one of its copies is confirmed, or the ensemble has ended. */
static void append_run(struct ship_lane *lane, struct append *a)
{
    struct ship *s = lane->ship;
    uint64_t hedge_ns = log_health_hedge_ns(&s->log->health, lane->index, io_now_ns(s->io));
    bool hedged = hedge_ns == UINT64_MAX, go = true;
    a->users++;
    send(lane, a, false);
    while (go && s->log != NULL && !a->confirmed) {
        go = wait_for(s, &lane->taken, hedged ? UINT64_MAX : hedge_ns);
        if (go && s->log != NULL && !a->confirmed && !hedged) {
            hedged = true;
            CD_MARK("log.hedged");
            send(lane, a, true);
        }
    }
    append_leave(a);
}

static void lane_flow(void *arg)
{
    struct ship_lane *lane = arg;
    struct ship *s = lane->ship;
    while (s->log != NULL) {
        if (log_batch_at(s->log, lane->confirmed + 1) == NULL && !wait_for(s, &lane->more, PROBE_NS))
            break;
        if (s->log != NULL)
            append_run(lane, collect(s, lane));
    }
    lane->fiber = NULL;
    ship_leave(s);
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
    for (struct cd_link *k = cd_list_first(&s->copies); k != NULL; k = cd_list_next(&s->copies, k)) {
        struct copy *c = CD_CONTAINER(k, struct copy, link);
        if (c->fiber != NULL && c->fiber != io_fiber_current())
            io_fiber_cancel(c->fiber);
    }
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
    cd_list_init(&s->copies);
    s->peers = l->opts.peers;
    s->lanes = s->running = count;
    l->ship = s;
    log_health_begin(&l->health, count);
    for (unsigned i = 0; i < count; i++) {
        struct ship_lane *lane = &s->lane[i];
        lane->ship = s;
        lane->index = i;
        lane->peer = member[i];
        lane->confirmed = s->first_batch - 1;
        io_signal_init(&lane->more);
        io_signal_init(&lane->taken);
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
