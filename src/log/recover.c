/* log/recover.c: who may recover a session, and the steps in their order (fleet.md 7.1, 7.2, 7.6). */
#include "log/recover.h"

#include "log/fold_internal.h"
#include "log/recover_internal.h"
#include "store/reconcile.h"

#define PASSES_MAX 5u
#define POLL_MS 250u
#define BEAT_MS 5000u
#define SEAL_TRIES 3u

struct log_recoverer {
    struct io *io;
    struct io_bucket *bucket;
    char session[STORE_SESSION_MAX + 1];
    bool sole;
    const _Atomic uint64_t *ahead_ms;
    uint64_t window_bytes;
    unsigned page;
    const struct log_peers *peers;
    struct cd_map busy; /* Of struct in_progress, by session. */
};

struct in_progress {
    struct io_signal ended;
};

const char *log_recover_end_name(enum log_recover_end end)
{
    switch (end) {
    case LOG_RECOVER_FINISHED: return "finished";
    case LOG_RECOVER_ALIVE: return "alive";
    case LOG_RECOVER_BUSY: return "busy";
    case LOG_RECOVER_REFUSED: return "refused";
    case LOG_RECOVER_FAILED: return "failed";
    }
    CD_UNREACHABLE();
}

struct log_recoverer *log_recoverer_new(const struct log_recoverer_opts *o)
{
    struct log_recoverer *rr = cd_new(struct log_recoverer);
    CD_ASSERT(store_session_valid(o->session));
    rr->io = o->io;
    rr->bucket = o->bucket;
    rr->sole = o->sole;
    rr->ahead_ms = o->ahead_ms;
    rr->peers = o->peers;
    rr->window_bytes = o->window_bytes != 0 ? o->window_bytes : 64u << 20;
    rr->page = o->page != 0 ? o->page : 32u;
    memcpy(rr->session, o->session.ptr, o->session.len);
    return rr;
}

void log_recoverer_free(struct log_recoverer *rr)
{
    if (rr == NULL)
        return;
    CD_ASSERT(rr->busy.count == 0);
    cd_map_deinit(&rr->busy);
    cd_free(rr);
}

const struct log_peers *log_recoverer_peers(const struct log_recoverer *rr)
{
    return rr->peers;
}

unsigned log_recoverer_page(const struct log_recoverer *rr)
{
    return rr->page;
}

uint64_t log_recoverer_window(const struct log_recoverer *rr)
{
    return rr->window_bytes;
}

/* ---- How it ends ---- */

int log_rec_end(struct rec *c, enum log_recover_end end, const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    c->r->end = end;
    size_t len = text.len < sizeof c->r->why - 1 ? text.len : sizeof c->r->why - 1;
    if (len > 0)
        memcpy(c->r->why, text.ptr, len);
    c->r->why[len] = 0;
    cd_buf_deinit(&text);
    return REC_ENDED;
}

int log_rec_failed(struct rec *c, struct cd_str key, int status, const char *why)
{
    if (status == IO_CANCELED)
        return IO_CANCELED;
    return log_rec_end(c, LOG_RECOVER_FAILED, "%.*s: %s", (int)key.len, key.ptr,
                       why != NULL && why[0] != 0 ? why : cd_err_text(status));
}

int log_rec_missed(struct rec *c)
{
    int rc = log_rec_lease_read(c);
    if (rc != 0)
        return rc;
    bool over = c->lease == NULL || !cd_str_eq(cd_str(c->lease->generation), c->generation) ||
                c->lease->log.state == STORE_LOG_SEALED;
    return over ? REC_AGAIN : 0;
}

int log_rec_corrupt(struct rec *c, const char *event, struct cd_str key, const char *why)
{
    int rc = log_rec_missed(c);
    if (rc != 0)
        return rc;
    cd_event_to(c->io, CD_ERROR, "log", event, CD_S("session", c->session), CD_S("key", key),
                CD_Z("why", why));
    return log_rec_end(c, LOG_RECOVER_REFUSED, "%s: %.*s: %s", event, (int)key.len, key.ptr, why);
}

/* ---- The record ---- */

static int lease_parse(struct rec *c)
{
    struct cd_buf why = {0};
    if (c->lease == NULL)
        c->lease = cd_new(struct store_lease);
    int rc = store_lease_read(c->lease, c->node, cd_buf_str(&c->lease_at.body), &why);
    if (rc != 0)
        rc = log_rec_end(c, LOG_RECOVER_REFUSED, "%s: %s", cd_buf_cstr(&c->lease_key), cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    return rc;
}

int log_rec_lease_read(struct rec *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    int rc = store_retry_get(&c->lease_at, c->io, c->bucket, cd_buf_str(&c->lease_key), 0, IO_WHOLE, &p);
    if (rc == IO_NOENT) {
        cd_free(c->lease);
        c->lease = NULL;
        return 0;
    }
    if (rc != IO_OK)
        return log_rec_failed(c, cd_buf_str(&c->lease_key), rc, c->lease_at.why);
    return lease_parse(c);
}

/* One CAS of the log object. 0: applied. REC_AGAIN: the record is another one, or the answer is not clear. */
static int lease_cas(struct rec *c, const struct store_log_record *log)
{
    struct cd_buf body = {0}, why = {0};
    struct io_store put = {.lane = IO_LANE_CONTROL};
    enum store_fate fate = STORE_FATE_OPEN;
    int rc = store_lease_with_log(&body, cd_buf_str(&c->lease_at.body), log, &why);
    if (rc != 0) {
        rc = log_rec_end(c, LOG_RECOVER_REFUSED, "%s: %s", cd_buf_cstr(&c->lease_key), cd_buf_cstr(&why));
        goto done;
    }
    memcpy(put.token, c->lease_at.token, sizeof put.token);
    io_store_put(&put, c->bucket, cd_buf_str(&c->lease_key), cd_buf_str(&body), IO_PUT_IF_MATCH, NULL);
    rc = io_await(&put.op, IO_FOREVER);
    if (put.outcome == IO_UNKNOWN && rc != IO_CANCELED) {
        struct store_write w = {cd_buf_str(&c->lease_key), cd_buf_str(&body), IO_PUT_IF_MATCH, {0}};
        struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
        memcpy(w.guard, c->lease_at.token, sizeof w.guard);
        rc = store_read_back(&put, c->io, c->bucket, &w, &p, &fate);
        if (rc == IO_OK)
            rc = fate == STORE_FATE_OURS ? IO_OK : IO_CONFLICT;
    }
    if (rc == IO_OK) {
        cd_buf_deinit(&c->lease_at.body);
        c->lease_at.body = cd_buf_move(&body);
        memcpy(c->lease_at.token, put.token, sizeof put.token);
        c->beat_ns = io_now_ns(c->io);
        rc = lease_parse(c);
    } else if (rc == IO_CONFLICT) {
        rc = REC_AGAIN;
    } else {
        rc = log_rec_failed(c, cd_buf_str(&c->lease_key), rc, put.why);
    }
done:
    cd_buf_deinit(&put.body);
    cd_buf_deinit(&body);
    cd_buf_deinit(&why);
    return rc;
}

static int claim(struct rec *c)
{
    struct store_log_record log = c->lease->log;
    log.state = STORE_LOG_RECOVERING;
    memcpy(log.claimant, c->claim_id, sizeof log.claimant);
    log.claimed_ms = (uint64_t)io_wall_ms(c->io);
    int rc = CD_PLANT("recover.no-claim") ? 0 : lease_cas(c, &log);
    if (rc == 0)
        cd_event_to(c->io, CD_INFO, "log", "recovery_claimed", CD_S("session", c->session));
    return rc;
}

int log_rec_beat(struct rec *c)
{
    if (io_now_ns(c->io) - c->beat_ns < IO_MS(BEAT_MS))
        return 0;
    struct store_log_record log = c->lease->log;
    uint64_t now_ms = (uint64_t)io_wall_ms(c->io);
    log.claimed_ms = now_ms > log.claimed_ms ? now_ms : log.claimed_ms + 1; /* Never the same body again. */
    return lease_cas(c, &log);
}

/* The record of a session that never wrote a log: its absence becomes permanent. */
static int seal_absent(struct rec *c)
{
    struct store_log_record log = {.state = STORE_LOG_SEALED};
    int rc = lease_cas(c, &log);
    return rc == 0 ? log_rec_end(c, LOG_RECOVER_FINISHED, "%s", "") : rc;
}

static int seal_record(struct rec *c)
{
    struct store_log_record log;
    int rc = REC_AGAIN;
    for (unsigned tries = 0; tries < SEAL_TRIES && rc == REC_AGAIN; tries++) {
        if (c->lease == NULL || c->lease->log.state != STORE_LOG_RECOVERING ||
            strcmp(c->lease->log.claimant, c->claim_id) != 0)
            return REC_AGAIN;
        log = c->lease->log;
        log.state = STORE_LOG_SEALED;
        log.claimant[0] = 0;
        log.claimed_ms = 0;
        log.seal = c->seal;
        rc = lease_cas(c, &log);
        int read = rc == REC_AGAIN ? log_rec_lease_read(c) : 0;
        if (read != 0)
            return read;
    }
    if (rc == 0)
        cd_event_to(c->io, CD_INFO, "log", "recovery_sealed", CD_S("session", c->session),
                    CD_U("seal", c->seal), CD_U("rows", c->r->rows), CD_U("cells", c->r->cells),
                    CD_U("packs", c->r->packs));
    return rc;
}

/* ---- The steps ---- */

static int packs(struct rec *c)
{
    size_t count;
    struct store_alarm *items = log_alarms_list(&c->alarms, &count);
    int rc = log_packs_write(c->io, c->bucket, c->session, items, count, &c->r->packs);
    cd_free(items);
    return rc == 0 ? 0 : log_rec_failed(c, CD_STR(STORE_PREFIX_WAKE_PACKS), rc, NULL);
}

static int early_seal(struct rec *c)
{
    return CD_PLANT("recover.seal-before-packs") ? seal_record(c) : 0;
}

/* The record says that we recover: from here on the session can write nothing but slots, until the seal. */
static int recover_claimed(struct rec *c)
{
    static int (*const step[])(struct rec *) = {
        log_rec_members,    log_rec_freeze,  log_rec_list, log_rec_seal, log_rec_declare,
        log_rec_notes_read, log_rec_history, early_seal,   packs,        seal_record};
    for (size_t i = 0; i < CD_COUNT(step); i++) {
        int rc = step[i](c);
        if (rc == 0 && i + 1 < CD_COUNT(step))
            rc = log_rec_beat(c);
        if (rc != 0)
            return rc;
    }
    c->r->seal = c->seal;
    (void)log_rec_end(c, LOG_RECOVER_FINISHED, "%s", "");
    /* What it leaves is any node's sweep to delete: a failure here is not one of the recovery. */
    return log_clean(c->io, c->bucket, c->session, c->seal) == IO_CANCELED ? IO_CANCELED : REC_ENDED;
}

/* Without a lease only the listing tells (7.1). */
static int no_lease(struct rec *c)
{
    bool batches;
    int rc = log_remains(c->io, c->bucket, c->session, &batches);
    if (rc != IO_OK)
        return log_rec_failed(c, c->session, rc, NULL);
    if (!batches)
        return log_rec_end(c, LOG_RECOVER_FINISHED, "%s", "");
    cd_event_to(c->io, CD_ERROR, "log", "log_without_lease", CD_S("session", c->session));
    return log_rec_end(c, LOG_RECOVER_REFUSED, "log_without_lease: %.*s has batches, and its lease is gone",
                       (int)c->session.len, c->session.ptr);
}

int64_t log_rec_wall_ms(const struct rec *c)
{
    return io_wall_ms(c->io) - (c->rr->ahead_ms == NULL ? 0 : (int64_t)*c->rr->ahead_ms);
}

static int alive(struct rec *c)
{
    int64_t left_ms = (int64_t)c->lease->expires_ms - log_rec_wall_ms(c);
    uint64_t now = io_now_ns(c->io);
    if (c->r->mode != LOG_RECOVER_BOOT)
        return log_rec_end(c, LOG_RECOVER_ALIVE, "its lease is live for %lld ms", (long long)left_ms);
    if (now >= c->r->deadline_ns)
        return log_rec_end(c, LOG_RECOVER_FAILED, "the predecessor's lease is live for %lld ms",
                           (long long)left_ms);
    uint64_t wait_ns = IO_MS(left_ms < 1 ? 1 : (uint64_t)left_ms);
    if (wait_ns > c->r->deadline_ns - now)
        wait_ns = c->r->deadline_ns - now;
    int rc = io_sleep(c->io, wait_ns);
    return rc == IO_OK ? REC_AGAIN : rc;
}

static int others(struct rec *c)
{
    if (c->r->mode == LOG_RECOVER_SWEEP || io_now_ns(c->io) >= c->r->deadline_ns)
        return log_rec_end(c, LOG_RECOVER_BUSY, "%s recovers it", c->lease->log.claimant);
    cd_event_to(c->io, CD_DEBUG, "log", "recovery_waiting", CD_S("session", c->session));
    int rc = io_sleep(c->io, IO_MS(POLL_MS));
    return rc == IO_OK ? REC_AGAIN : rc;
}

static void rec_reset(struct rec *c)
{
    log_listed_deinit(&c->listed);
    log_alarms_deinit(&c->alarms);
    for (struct cd_map_node *n = cd_map_first(&c->cells); n != NULL; n = cd_map_next(n)) {
        struct rec_cell *cell = cd_map_value(n);
        cd_free((char *)(uintptr_t)cell->scope.ptr);
        cd_free(cell->row);
        cd_buf_deinit(&cell->object);
        cd_free(cell);
    }
    cd_map_deinit(&c->cells);
    struct cd_link *k;
    while ((k = cd_list_pop(&c->recovered)) != NULL) {
        struct rec_key *key = CD_CONTAINER(k, struct rec_key, link);
        cd_buf_deinit(&key->key);
        cd_free(key);
    }
    c->alarms.keep = true;
    c->floor = (struct store_floor){0};
    c->batch = c->seal = c->last_batch = c->pipeline = c->alarms_through = 0;
    c->lossy = c->gap = c->witnessed = c->lost = false;
    log_rec_copies_deinit(c);
    cd_buf_deinit(&c->losses);
    c->missing = 0;
    log_rec_note_wait(c);
    c->notes = 0;
    c->note->count = 0;
}

/* One pass. *waited: it only waited for somebody else. */
static int pass(struct rec *c, bool *waited)
{
    rec_reset(c);
    int rc = log_rec_lease_read(c);
    if (rc != 0)
        return rc;
    *waited = false;
    switch (log_gate_decide(c->lease, c->generation, c->me, c->r->mode, log_rec_wall_ms(c), c->rr->sole)) {
    case LOG_GATE_FINISHED: return log_rec_end(c, LOG_RECOVER_FINISHED, "%s", "");
    case LOG_GATE_ALIVE: *waited = true; return alive(c);
    case LOG_GATE_NEVER_LOGGED: return seal_absent(c);
    case LOG_GATE_OTHERS: *waited = true; return others(c);
    case LOG_GATE_NO_LEASE: return no_lease(c);
    case LOG_GATE_CLAIM: rc = claim(c); return rc == 0 ? recover_claimed(c) : rc;
    case LOG_GATE_OURS: return recover_claimed(c);
    }
    CD_UNREACHABLE();
}

static int run(struct log_recoverer *rr, struct log_recover *r)
{
    struct rec *c = cd_new(struct rec);
    int rc = REC_AGAIN;
    c->rr = rr;
    c->r = r;
    c->io = rr->io;
    c->bucket = rr->bucket;
    c->session = r->session;
    c->me = cd_str(rr->session);
    memcpy(c->claim_id, rr->session, sizeof c->claim_id);
    c->note = cd_new(struct store_recovered);
    cd_list_init(&c->recovered);
    CD_ASSERT(store_session_split(r->session, &c->node, &c->generation));
    store_key_lease(&c->lease_key, c->node);
    for (unsigned passes = 0; rc == REC_AGAIN;) {
        bool waited = false;
        rc = pass(c, &waited);
        if (!waited && ++passes == PASSES_MAX && rc == REC_AGAIN)
            rc = log_rec_end(c, LOG_RECOVER_FAILED, "%s", "the record changed under five attempts");
    }
    rec_reset(c);
    cd_free(c->note);
    cd_free(c->lease);
    cd_buf_deinit(&c->lease_at.body);
    cd_buf_deinit(&c->lease_key);
    cd_free(c);
    return rc == REC_ENDED ? IO_OK : rc;
}

int log_recover(struct log_recoverer *rr, struct log_recover *r)
{
    struct in_progress *other;
    r->why[0] = 0;
    r->seal = r->rows = r->cells = r->packs = 0;
    while ((other = cd_map_get(&rr->busy, r->session)) != NULL) {
        struct io_op op = {0};
        r->end = LOG_RECOVER_BUSY;
        if (r->mode == LOG_RECOVER_SWEEP)
            return IO_OK;
        io_signal_wait(&other->ended, rr->io, &op, NULL);
        int rc = io_await(&op, r->deadline_ns);
        if (rc != IO_OK)
            return rc == IO_TIMEDOUT ? IO_OK : rc;
    }
    struct in_progress *mine = cd_new(struct in_progress);
    io_signal_init(&mine->ended);
    cd_map_put(&rr->busy, r->session, mine);
    int rc = run(rr, r);
    cd_map_remove(&rr->busy, r->session);
    io_signal_wake(&mine->ended, IO_OK);
    cd_free(mine);
    return rc;
}
