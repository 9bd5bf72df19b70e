#include "fleet/lease.h"

#include "fleet/claim_rule.h"
#include "fleet/lease_machine.h"
#include "io/backend.h"
#include "store/retry.h"

/* A body as it was sent: a read-back recognises it by its bytes. */
struct sent {
    uint64_t seq;
    struct cd_buf body;
};

struct publisher {
    struct cd_link link;
    uint64_t number;
    struct io_signal signal; /* The one op that waits. */
};

struct fleet_lease {
    struct fleet_lease_opts o;
    char *node, *generation, *addr; /* owned; o has them as texts */
    struct cd_buf key;
    struct fleet_lease_machine m;
    struct sent sent[FLEET_LEASE_ATTEMPTS]; /* By index of m.attempt. */
    struct sent held; /* Of m.held. */
    struct cd_buf predecessor; /* The session to recover; empty: look for logs without a record. */
    bool has_log; /* What is published: m.wanted is its number. */
    struct store_log_record log;
    struct cd_list publishers; /* Ascending by number. */
    struct io_fiber *fiber; /* NULL: ended. */
    struct io_timer watchdog;
    struct io_signal nudge;
    struct io_op *stop; /* Of fleet_lease_stop. */
    uint64_t granted_ns;
    char token[IO_TOKEN_MAX]; /* Of the event under way. */
    bool told_held, told_end;
};

static void settle(struct fleet_lease *l);

/* ---- One step of the machine ---- */

static enum fleet_lease_action_kind step(struct fleet_lease *l, struct fleet_lease_event *e)
{
    e->now_ns = io_now_ns(l->o.io);
    uint64_t held = l->m.held.seq;
    enum fleet_lease_action_kind act = fleet_lease_step(&l->m, e);
    fleet_lease_validate(&l->m);
    if (l->m.held.seq != held) {
        for (unsigned i = 0; i < FLEET_LEASE_ATTEMPTS; i++) {
            if (l->sent[i].seq == l->m.held.seq) {
                cd_buf_deinit(&l->held.body);
                l->held = (struct sent){l->sent[i].seq, cd_buf_move(&l->sent[i].body)};
            }
        }
    }
    settle(l);
    return act;
}

static void watchdog_done(struct io_op *op, int status)
{
    struct fleet_lease *l = CD_CONTAINER(op, struct fleet_lease, watchdog.op);
    uint64_t deadline = fleet_lease_deadline_ns(&l->m);
    struct fleet_lease_event e = {.kind = FLEET_LEASE_TICK};
    if (status != IO_OK)
        e.kind = FLEET_LEASE_STOP; /* We are over, or this life of the loop is. */
    else if (deadline == 0 || io_now_ns(l->o.io) < deadline) {
        settle(l); /* The lease was renewed meanwhile. */
        return;
    }
    (void)step(l, &e);
}

static void publishers_wake(struct fleet_lease *l, bool all, int status)
{
    struct cd_link *k;
    while ((k = cd_list_first(&l->publishers)) != NULL) {
        struct publisher *p = CD_CONTAINER(k, struct publisher, link);
        if (!all && (!l->m.acquired || p->number > l->m.held.publication))
            return;
        cd_link_remove(k);
        io_signal_wake(&p->signal, status);
        cd_free(p);
    }
}

static bool is_over(const struct fleet_lease *l)
{
    return l->m.state == FLEET_LEASE_FENCED || l->m.state == FLEET_LEASE_STOPPED;
}

/* What the others see follows what the machine knows. */
static void settle(struct fleet_lease *l)
{
    uint64_t deadline = fleet_lease_deadline_ns(&l->m);
    if (deadline != l->granted_ns)
        fleet_authority_grant(l->o.authority, l->granted_ns = deadline);
    if (!is_over(l)) {
        if (deadline != 0 && !io_busy(&l->watchdog.op)) {
            uint64_t now = io_now_ns(l->o.io);
            io_timer_start(&l->watchdog, l->o.io, deadline > now ? deadline - now : 0, watchdog_done);
        }
        publishers_wake(l, false, IO_OK);
        if (l->m.acquired && !l->told_held) {
            l->told_held = true;
            cd_event(l->o.io, CD_INFO, "node_lease_acquired", CD_Z("node", l->node),
                     CD_U("seq", l->m.held.seq));
            if (l->o.held != NULL)
                l->o.held(l->o.arg);
        }
        return;
    }
    if (!l->told_end) {
        l->told_end = true;
        if (l->fiber != NULL && l->fiber != io_fiber_current())
            io_fiber_cancel(l->fiber);
        publishers_wake(l, true, CD_EFENCED);
        if (l->m.state == FLEET_LEASE_FENCED) {
            fleet_authority_fence(l->o.authority);
            cd_event(l->o.io, CD_ERROR, l->m.cause, CD_Z("node", l->node), CD_Z("generation", l->generation));
            if (l->o.fence != NULL)
                l->o.fence(l->o.arg, l->m.cause);
        }
    }
    if (io_busy(&l->watchdog.op))
        io_cancel(&l->watchdog.op);
    if (l->stop != NULL && l->fiber == NULL && !io_busy(&l->watchdog.op)) {
        io_complete_later(l->stop, IO_OK);
        l->stop = NULL;
    }
}

/* ---- What the machine asks for ---- */

static uint64_t attempt_ns(const struct fleet_lease *l)
{
    uint64_t half = IO_MS(l->o.ttl_ms) / 2;
    return half < IO_SEC(15) ? half : IO_SEC(15);
}

/* The newest attempt as bytes. What it says of the clock is of this instant: the machine's anchor. */
static void serialise(struct fleet_lease *l, struct cd_buf *out)
{
    const struct fleet_lease_attempt *a = &l->m.attempt[l->m.attempts - 1];
    struct store_lease r = {
        .seq = a->seq,
        .ttl_ms = l->o.ttl_ms,
        .peer_protocol = FLEET_PEER_PROTOCOL,
        .paced_handoff = l->addr[0] != 0,
        .ephemeral = l->o.ephemeral,
        .has_log = l->has_log && !CD_PLANT("fleet.renewal_drops_log"),
    };
    CD_ASSERT(a->anchor_ns == io_now_ns(l->o.io));
    int64_t wall = io_wall_ms(l->o.io);
    r.expires_ms = (wall > 0 ? (uint64_t)wall : 0) + l->o.ttl_ms;
    memcpy(r.node, l->node, strlen(l->node));
    memcpy(r.generation, l->generation, STORE_GENERATION_LEN);
    memcpy(r.probe_key, l->generation, STORE_GENERATION_LEN);
    memcpy(r.addr, l->addr, strlen(l->addr));
    if (r.has_log) {
        r.log = l->log;
        if (l->o.slot != NULL && r.log.state == STORE_LOG_OPEN)
            r.log.slot = l->o.slot(l->o.arg);
    }
    store_load_init(&r.load);
    if (l->o.load != NULL)
        l->o.load(l->o.arg, &r.load);
    store_lease_write(out, &r);
}

static void store_event(struct fleet_lease *l, const char *name, const char *outcome, uint64_t start_ns,
                        const char *why)
{
    cd_event_to(l->o.io, CD_DEBUG, "store", name, CD_Z("outcome", outcome), CD_S("key", cd_buf_str(&l->key)),
                CD_U("duration_ms", (io_now_ns(l->o.io) - start_ns) / 1000000),
                CD_Z("generation", l->generation), CD_Z("error", why));
}

static enum fleet_lease_outcome outcome_of(const struct io_store *s, int status)
{
    switch (s->outcome) {
    case IO_DONE: return s->token[0] != 0 ? FLEET_LEASE_APPLIED : FLEET_LEASE_AMBIGUOUS;
    case IO_REJECTED: return status == IO_CONFLICT ? FLEET_LEASE_REJECTED : FLEET_LEASE_NOT_COMMITTED;
    case IO_UNKNOWN: return FLEET_LEASE_AMBIGUOUS;
    }
    CD_UNREACHABLE();
}

/* Every answer tells the store's clock anew; sent_ms: ours before the request. */
static void clock_look(struct fleet_lease *l, int64_t sent_ms, const struct io_store *s)
{
    if (s->date_ms == 0)
        return;
    uint64_t before = l->o.authority->ahead_ms, ahead = fleet_clock_ahead(sent_ms, s->date_ms, l->o.ttl_ms);
    if ((before == 0) != (ahead == 0))
        cd_event(l->o.io, ahead > 0 ? CD_WARN : CD_INFO, "clock_ahead", CD_U("excess_ms", ahead));
    fleet_authority_clock(l->o.authority, ahead);
}

static int do_write(struct fleet_lease *l, struct fleet_lease_event *e)
{
    static const char *const names[] = {"applied", "rejected", "not_committed", "ambiguous"};
    struct sent *sent = &l->sent[l->m.attempts - 1];
    cd_buf_clear(&sent->body);
    sent->seq = l->m.attempt[l->m.attempts - 1].seq;
    serialise(l, &sent->body);
    struct io_store s = {.lane = IO_LANE_LEASE, .timeout_ns = attempt_ns(l)};
    memcpy(s.token, l->m.token, sizeof s.token);
    uint64_t start_ns = io_now_ns(l->o.io);
    int64_t sent_ms = io_wall_ms(l->o.io);
    io_store_put(&s, l->o.bucket, cd_buf_str(&l->key), cd_buf_str(&sent->body),
                 l->m.guard_absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
    int status = io_await(&s.op, IO_FOREVER); /* Its own timeout bounds it. */
    clock_look(l, sent_ms, &s);
    *e = (struct fleet_lease_event){.kind = FLEET_LEASE_WROTE, .outcome = outcome_of(&s, status)};
    store_event(l, "node_lease_write", names[e->outcome], start_ns, s.why);
    memcpy(l->token, s.token, sizeof l->token);
    e->token = l->token;
    return status;
}

/* What the record is to us. The bytes are the proof of our own attempts. */
static void classify(struct fleet_lease *l, struct cd_str body, struct fleet_lease_event *e)
{
    e->attempt = FLEET_LEASE_ATTEMPTS;
    for (unsigned i = 0; i < l->m.attempts; i++) {
        if (cd_str_eq(body, cd_buf_str(&l->sent[i].body)))
            e->attempt = i;
    }
    e->found = FLEET_LEASE_OURS;
    if (e->attempt < FLEET_LEASE_ATTEMPTS)
        return;
    e->found = FLEET_LEASE_OURS_PRIOR;
    if (l->m.acquired && cd_str_eq(body, cd_buf_str(&l->held.body)))
        return;
    struct store_lease r;
    struct cd_buf why = {0};
    if (store_lease_read(&r, cd_str(l->node), body, &why) != 0) {
        /* Once we hold it, a body that is not ours is a foreign one, whatever it says. Before, it is nothing
         * that we may overwrite. */
        e->found = l->m.acquired ? FLEET_LEASE_OTHER : FLEET_LEASE_FAILED;
        cd_event(l->o.io, CD_ERROR, "node_lease_unreadable", CD_S("key", cd_buf_str(&l->key)),
                 CD_S("error", cd_buf_str(&why)));
    } else if (strcmp(r.generation, l->generation) == 0) {
        bool changed = l->m.acquired || (r.has_log && r.log.state != STORE_LOG_OPEN);
        e->found = changed ? FLEET_LEASE_OURS_CHANGED : FLEET_LEASE_OURS;
    } else {
        e->found = r.has_log && r.log.state != STORE_LOG_SEALED ? FLEET_LEASE_OTHER_LOG : FLEET_LEASE_OTHER;
        cd_buf_clear(&l->predecessor);
        store_lease_session(&l->predecessor, &r);
    }
    cd_buf_deinit(&why);
}

static int do_read(struct fleet_lease *l, struct fleet_lease_event *e)
{
    struct store_policy p = store_policy_of(IO_LANE_LEASE, 0);
    p.attempt_ns = attempt_ns(l);
    struct io_store s = {0};
    uint64_t start_ns = io_now_ns(l->o.io);
    int64_t sent_ms = io_wall_ms(l->o.io);
    int status = store_retry_get(&s, l->o.io, l->o.bucket, cd_buf_str(&l->key), 0, IO_WHOLE, &p);
    clock_look(l, sent_ms, &s);
    *e = (struct fleet_lease_event){.kind = FLEET_LEASE_READ, .found = FLEET_LEASE_FAILED};
    if (status == IO_NOENT) {
        e->found = FLEET_LEASE_ABSENT;
        cd_buf_clear(&l->predecessor);
    } else if (status == IO_OK && s.token[0] != 0) {
        memcpy(l->token, s.token, sizeof l->token);
        e->token = l->token;
        classify(l, cd_buf_str(&s.body), e);
    }
    store_event(l, "node_lease_read",
                status == IO_OK      ? "found"
                : status == IO_NOENT ? "missing"
                                     : "error",
                start_ns, s.why);
    cd_buf_deinit(&s.body);
    return status;
}

static int do_recover(struct fleet_lease *l, struct fleet_lease_event *e)
{
    int rc = l->o.recover == NULL ? CD_EUNSUPPORTED : l->o.recover(l->o.arg, cd_buf_str(&l->predecessor));
    *e = (struct fleet_lease_event){.kind = FLEET_LEASE_RECOVERED, .ok = rc == 0};
    return rc;
}

static int do_wait(struct fleet_lease *l, struct fleet_lease_event *e)
{
    struct io_op op = {0};
    io_signal_wait(&l->nudge, l->o.io, &op, NULL);
    int status = io_await(&op, l->m.wake_ns);
    *e = (struct fleet_lease_event){.kind = FLEET_LEASE_TICK};
    return status;
}

static void lease_flow(void *arg)
{
    struct fleet_lease *l = arg;
    struct fleet_lease_event e = {.kind = FLEET_LEASE_START};
    int status = IO_OK;
    while (status != IO_CANCELED) {
        switch (step(l, &e)) {
        case FLEET_LEASE_DO_READ: status = do_read(l, &e); break;
        case FLEET_LEASE_DO_RECOVER: status = do_recover(l, &e); break;
        case FLEET_LEASE_DO_WRITE: status = do_write(l, &e); break;
        case FLEET_LEASE_DO_WAIT: status = do_wait(l, &e); break;
        case FLEET_LEASE_DO_NOTHING: CD_UNREACHABLE(); /* Nothing is in flight while we ask. */
        case FLEET_LEASE_DO_END: status = IO_CANCELED; break;
        }
    }
    l->fiber = NULL;
    /* A life that ends (io_stop, a crash) cancels us from below: then the lease has ended too. */
    e = (struct fleet_lease_event){.kind = FLEET_LEASE_STOP};
    (void)step(l, &e);
}

/* ---- The outside ---- */

struct fleet_lease *fleet_lease_new(const struct fleet_lease_opts *o)
{
    CD_ASSERT(store_node_valid(o->node) && store_generation_valid(o->generation));
    CD_ASSERT(o->addr.len <= STORE_ADDR_MAX && o->ttl_ms > 0 && o->authority != NULL);
    struct fleet_lease *l = cd_new(struct fleet_lease);
    l->o = *o;
    l->node = cd_str_dup(o->node);
    l->generation = cd_str_dup(o->generation);
    l->addr = cd_str_dup(o->addr);
    l->o.node = cd_str(l->node);
    l->o.generation = cd_str(l->generation);
    l->o.addr = cd_str(l->addr);
    store_key_lease(&l->key, l->o.node);
    fleet_lease_machine_init(&l->m, IO_MS(o->ttl_ms), o->configured_id);
    cd_list_init(&l->publishers);
    io_signal_init(&l->nudge);
    return l;
}

void fleet_lease_start(struct fleet_lease *l)
{
    CD_ASSERT(l->m.state == FLEET_LEASE_UNSTARTED && l->fiber == NULL);
    l->fiber = io_spawn(l->o.io, "lease", lease_flow, l);
}

void fleet_lease_stop(struct fleet_lease *l, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(l->stop == NULL);
    io_begin(op, l->o.io, done); /* It cannot be cancelled: memory is ours until it is done. */
    l->stop = op;
    struct fleet_lease_event e = {.kind = FLEET_LEASE_STOP};
    (void)step(l, &e);
}

struct cd_str fleet_lease_predecessor(const struct fleet_lease *l)
{
    return cd_buf_str(&l->predecessor);
}

void fleet_lease_free(struct fleet_lease *l)
{
    if (l == NULL)
        return;
    CD_ASSERT(l->fiber == NULL && !io_busy(&l->watchdog.op) && cd_list_empty(&l->publishers));
    for (unsigned i = 0; i < FLEET_LEASE_ATTEMPTS; i++)
        cd_buf_deinit(&l->sent[i].body);
    cd_buf_deinit(&l->held.body);
    cd_buf_deinit(&l->predecessor);
    cd_buf_deinit(&l->key);
    cd_free(l->node);
    cd_free(l->generation);
    cd_free(l->addr);
    cd_free(l);
}

void fleet_lease_publish(struct fleet_lease *l, const struct store_log_record *log, struct io_op *op,
                         io_done_fn *done)
{
    if (is_over(l)) {
        io_defer(op, l->o.io, CD_EFENCED, done);
        return;
    }
    l->log = *log;
    l->has_log = true;
    l->m.wanted++;
    struct publisher *p = cd_new(struct publisher);
    p->number = l->m.wanted;
    io_signal_init(&p->signal);
    io_signal_wait(&p->signal, l->o.io, op, done);
    cd_list_push(&l->publishers, &p->link);
    io_signal_wake(&l->nudge, IO_OK);
}

void fleet_lease_fence(struct fleet_lease *l, const char *cause)
{
    struct fleet_lease_event e = {.kind = FLEET_LEASE_LOST, .cause = cause};
    (void)step(l, &e);
}

void fleet_lease_refresh(struct fleet_lease *l)
{
    if (is_over(l) || !l->m.acquired)
        return;
    l->m.wanted++; /* A publication of what the lease has already. */
    io_signal_wake(&l->nudge, IO_OK);
}

bool fleet_lease_held(const struct fleet_lease *l)
{
    return l->m.acquired && !is_over(l);
}
