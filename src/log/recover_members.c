/* log/recover_members.c: the followers of a dead session (fleet.md 7.3, 7.4).
 *
 * Each member is told to take no more appends, then asked for what it has. One that has everything it ever
 * confirmed is enough: a batch is credited only when all members have it. As long as a member may turn out to
 * be one, nothing is sealed in the bucket; when certainly none is, the loss is declared by name. */
#include "base/json.h"
#include "log/recover_internal.h"

#define CALL_NS IO_SEC(5)
#define TAIL_NS IO_SEC(30)
#define TAIL_BYTES_MAX (192u << 20) /* Twice the backlog's limit, and a batch. */

struct asked {
    struct rec *c;
    unsigned index; /* In the ensemble. */
    struct log_peer peer;
    struct log_member m;
    struct cd_buf tail_body; /* owned */
};

static int member_lease(struct asked *a)
{
    struct rec *c = a->c;
    struct cd_buf key = {0};
    struct io_store get = {0};
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct store_lease *lease = cd_new(struct store_lease);
    store_key_lease(&key, cd_str(a->peer.node));
    int rc = store_retry_get(&get, c->io, c->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    if (rc == IO_OK && store_lease_read(lease, cd_str(a->peer.node), cd_buf_str(&get.body), NULL) == 0) {
        a->m.has_lease = true;
        a->m.expired_ms = log_rec_wall_ms(c) - (int64_t)lease->expires_ms;
        a->m.ttl_ms = lease->ttl_ms;
        memcpy(a->peer.addr, lease->addr, sizeof a->peer.addr);
    }
    if (rc == IO_NOENT)
        rc = 0;
    else if (rc != IO_OK)
        rc = log_rec_failed(c, cd_buf_str(&key), rc, get.why);
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&key);
    cd_free(lease);
    return rc;
}

/* The status, as struct log_member has it; answer is owned by the caller. 0: none came. */
static int ask(struct asked *a, const char *path, struct cd_str body, uint64_t ns, struct cd_buf *answer)
{
    const struct log_peers *peers = log_recoverer_peers(a->c->rr);
    struct log_call call = {.peer = &a->peer,
                            .path = path,
                            .body = body,
                            .deadline_ns = io_now_ns(a->c->io) + ns,
                            .answer_max = TAIL_BYTES_MAX};
    int rc = peers->call(peers->arg, &call);
    a->m.reached = a->m.reached || call.reached;
    *answer = cd_buf_move(&call.answer);
    return rc == IO_OK ? call.status : rc == IO_CANCELED ? IO_CANCELED : 0;
}

static int member_seal(struct asked *a)
{
    struct cd_buf body = {0}, answer = {0};
    log_seal_ask_write(&body, a->c->session, a->c->lease->log.epoch);
    int rc = CD_PLANT("recover.followers-unsealed")
                 ? 200
                 : ask(a, LOG_PATH_SEAL, cd_buf_str(&body), CALL_NS, &answer);
    if (rc == 200 && !CD_PLANT("recover.followers-unsealed") &&
        log_seal_answer_read(&a->m.seal, cd_buf_str(&answer)) != 0)
        rc = 0;
    a->m.seal_status = rc;
    cd_buf_deinit(&body);
    cd_buf_deinit(&answer);
    return rc == IO_CANCELED ? rc : 0;
}

static int member_tail(struct asked *a)
{
    struct cd_buf body = {0};
    log_tail_ask_write(&body, a->c->session);
    int rc = ask(a, LOG_PATH_TAIL, cd_buf_str(&body), TAIL_NS, &a->tail_body);
    if (rc == 200 && log_tail_read(&a->m.tail, a->c->session, cd_buf_str(&a->tail_body), NULL) != 0)
        rc = 0;
    if (rc == 200 && CD_PLANT("recover.followers-unsealed"))
        a->m.seal = (struct log_seal_answer){a->m.tail.base, a->m.tail.end, a->m.tail.epoch,
                                             a->m.tail.complete ? a->m.tail.epoch : 0};
    a->m.tail_status = rc;
    cd_buf_deinit(&body);
    return rc == IO_CANCELED ? rc : 0;
}

/* ---- Copies ---- */

bool log_rec_held(const struct rec *c, uint64_t first, uint64_t last)
{
    for (uint64_t n = first; n <= last; n++)
        if (cd_map_get_u64(&c->copies, n) == NULL)
            return false;
    return first <= last;
}

void log_rec_copies_deinit(struct rec *c)
{
    for (struct cd_map_node *n = cd_map_first(&c->copies); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&c->copies);
    for (unsigned i = 0; i < LOG_MEMBERS_MAX; i++)
        cd_buf_deinit(&c->held[i]);
}

static int differ(struct rec *c, uint64_t batch, unsigned a, unsigned b)
{
    struct cd_buf key = {0}, why = {0};
    store_key_log(&key, c->session);
    cd_buf_addf(&why, "batch %llu is not the same at %s and at %s", (unsigned long long)batch,
                c->lease->log.ensemble[a], c->lease->log.ensemble[b]);
    int rc = log_rec_corrupt(c, "log_copies_differ", cd_buf_str(&key), cd_buf_cstr(&why));
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* Also those of a member that is no witness: each batch vouches for itself (7.4). */
static int copies_take(struct asked *a)
{
    struct rec *c = a->c;
    struct cd_str rest = a->m.tail.frames, bytes;
    struct log_batch b;
    c->held[a->index] = cd_buf_move(&a->tail_body);
    while (log_frame_next(&rest, &bytes)) {
        if (log_batch_open(&b, bytes, NULL) != 0)
            continue; /* It was checked when it came. */
        const struct rec_copy *other = cd_map_get_u64(&c->copies, b.batch);
        if (other != NULL && !cd_str_eq(other->bytes, bytes) && !CD_PLANT("recover.copies-unread"))
            return differ(c, b.batch, other->member, a->index);
        if (other != NULL)
            continue;
        struct rec_copy *copy = cd_new(struct rec_copy);
        *copy = (struct rec_copy){bytes, a->index};
        (void)cd_map_put_u64(&c->copies, b.batch, copy);
    }
    return 0;
}

/* ---- Verdicts ---- */

/* Why a member is none, for the declaration. */
static void note_loss(struct rec *c, const struct asked *a)
{
    struct cd_json_out j;
    bool same = a->m.seal.held == c->lease->log.epoch;
    if (c->losses.len > 0)
        cd_buf_add_byte(&c->losses, ',');
    cd_json_out_init(&j, &c->losses);
    cd_json_out_object(&j);
    cd_json_out_key(&j, "node");
    cd_json_out_str(&j, cd_str(a->peer.node));
    cd_json_out_key(&j, "verdict");
    cd_json_out_str(&j, cd_str(!a->m.reached ? "lease_long_dead"
                               : same        ? "incomplete_range"
                                             : "other_fragment"));
    cd_json_out_key(&j, "base");
    cd_json_out_u64(&j, a->m.seal.base);
    cd_json_out_key(&j, "end");
    cd_json_out_u64(&j, a->m.seal.end);
    cd_json_out_end(&j, '}');
}

static int member_judge(struct asked *a)
{
    struct rec *c = a->c;
    static const char *const names[] = {"witness", "none", "unknown"};
    enum log_verdict v = log_member_verdict(&a->m, c->lease->log.epoch);
    cd_event_to(c->io, CD_INFO, "log", "recovery_member", CD_S("session", c->session),
                CD_Z("node", a->peer.node), CD_Z("verdict", names[v]), CD_U("base", a->m.seal.base),
                CD_U("end", a->m.seal.end));
    switch (v) {
    case LOG_MEMBER_WITNESS:
        if (!c->witnessed || c->tail.end < a->m.tail.end)
            c->tail = a->m.tail;
        c->witnessed = true;
        return copies_take(a);
    case LOG_MEMBER_NONE:
        note_loss(c, a);
        return a->m.tail_status == 200 && a->m.tail.epoch == c->lease->log.epoch ? copies_take(a) : 0;
    case LOG_MEMBER_UNKNOWN:
        if (c->r->why[0] == 0)
            (void)log_rec_end(c, LOG_RECOVER_FAILED,
                              "%s may hold acknowledged writes of %.*s and gives no clear answer (%s, %s)",
                              a->peer.node, (int)c->session.len, c->session.ptr,
                              a->m.reached ? "reached" : "not reached",
                              !a->m.has_lease       ? "without a lease"
                              : a->m.expired_ms > 0 ? "its lease expired"
                                                    : "its lease is live");
        return 0;
    }
    CD_UNREACHABLE();
}

static int member_ask(struct rec *c, unsigned index)
{
    struct asked a = {.c = c, .index = index};
    const char *node = c->lease->log.ensemble[index];
    memcpy(a.peer.node, node, strlen(node));
    int rc = member_lease(&a);
    if (rc == 0 && a.m.has_lease && a.peer.addr[0] != 0) {
        rc = member_seal(&a);
        if (rc == 0 && a.m.seal_status == 200)
            rc = member_tail(&a);
    }
    if (rc == 0)
        rc = member_judge(&a);
    cd_buf_deinit(&a.tail_body);
    return rc;
}

int log_rec_members(struct rec *c)
{
    struct store_log_record log = c->lease->log; /* As it was: heartbeats read it anew. */
    if (!log.may_have_fleet_acks)
        return 0; /* The slots are everything. */
    if (log_recoverer_peers(c->rr) == NULL)
        return log_rec_end(
            c, LOG_RECOVER_REFUSED,
            "%.*s: its followers may hold acknowledged writes, and this process cannot call them",
            (int)c->session.len, c->session.ptr);
    c->r->why[0] = 0;
    for (unsigned i = 0; i < log.ensemble_count; i++) {
        int rc = member_ask(c, i);
        if (rc == 0)
            rc = log_rec_beat(c);
        if (rc != 0)
            return rc;
    }
    if (c->witnessed) {
        c->r->why[0] = 0;
        return 0;
    }
    if (c->r->why[0] != 0)
        return REC_ENDED; /* One of them may be a witness: ask again later (7.8). */
    c->lost = true;
    return 0;
}

int log_rec_declare(struct rec *c)
{
    if (!c->lost)
        return 0;
    const struct store_log_record *log = &c->lease->log;
    struct cd_buf key = {0}, body = {0};
    struct io_store put = {.lane = IO_LANE_CONTROL};
    struct cd_str by = c->me;
    (void)store_session_split(c->me, &by, NULL);
    store_key_log(&key, c->session);
    cd_buf_addf(&key, "loss/e%llu.json", (unsigned long long)log->epoch);
    cd_buf_addf(
        &body,
        "{\"v\":1,\"leader\":\"%.*s\",\"epoch\":%llu,\"seal\":%llu,\"batch\":%llu,\"declared_ms\":%lld,"
        "\"declared_by\":\"%.*s\",\"ensemble\":[",
        (int)c->session.len, c->session.ptr, (unsigned long long)log->epoch, (unsigned long long)c->seal,
        (unsigned long long)c->last_batch, (long long)io_wall_ms(c->io), (int)by.len, by.ptr);
    for (unsigned i = 0; i < log->ensemble_count; i++) /* Names of nodes need no escapes. */
        cd_buf_addf(&body, "%s\"%s\"", i > 0 ? "," : "", log->ensemble[i]);
    cd_buf_addf(&body, "],\"members\":[%.*s],\"note\":\"no member holds what it confirmed\"}",
                (int)c->losses.len, c->losses.len > 0 ? c->losses.ptr : "");
    int rc = IO_OK;
    if (!CD_PLANT("recover.loss-undeclared")) {
        io_store_put(&put, c->bucket, cd_buf_str(&key), cd_buf_str(&body), IO_PUT_IF_ABSENT, NULL);
        rc = io_await(&put.op, IO_FOREVER);
    }
    if (rc == IO_OK || rc == IO_CONFLICT) { /* Declared already: by us, or by another recoverer. */
        cd_event_to(c->io, CD_ERROR, "log", "ensemble_loss_declared", CD_S("session", c->session),
                    CD_U("log_epoch", log->epoch), CD_U("batch", c->last_batch));
        c->lossy = true;
        rc = 0;
    } else {
        rc = log_rec_failed(c, cd_buf_str(&key), rc, put.why); /* Also an unclear one: the next pass knows. */
    }
    cd_buf_deinit(&put.body);
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}
