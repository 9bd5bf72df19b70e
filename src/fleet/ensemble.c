#include "fleet/ensemble.h"

#include "base/encode.h"
#include "fleet/claim_rule.h"
#include "log/peer_wire.h"
#include "store/retry.h"

#define LOOK_NS IO_SEC(30) /* While an ensemble is active. */
#define AGAIN_NS IO_SEC(1)
#define AGAIN_MAX_NS IO_SEC(10)
#define AVOID_NS IO_SEC(10) /* How long a member that was slow, or failed, is passed over. */
#define QUARANTINE_NS IO_SEC(300) /* And one that takes no appends at all. */
#define ASK_NS IO_SEC(2)
#define STEADY_NS IO_SEC(10) /* An ensemble that lasted so long was no failure. */
#define CANDIDATES_MAX 64u

struct avoided {
    uint64_t until_ns;
};

/* ---- Calls ---- */

static int call_self(struct fleet_ensemble *e, struct log_call *c)
{
    int rc = strcmp(c->path, LOG_PATH_SEAL) == 0   ? log_follower_seal(e->follower, c->body, &c->answer)
             : strcmp(c->path, LOG_PATH_TAIL) == 0 ? log_follower_tail(e->follower, c->body, &c->answer)
                                                   : log_follower_append(e->follower, c->body, &c->answer);
    c->reached = true;
    if (rc < 0)
        return rc;
    c->status = rc;
    return IO_OK;
}

static int call(void *arg, struct log_call *c)
{
    struct fleet_ensemble *e = arg;
    if (strcmp(c->peer->node, e->self->node) == 0)
        return call_self(e, c); /* A recoverer that is a member itself. */
    if (e->caller == NULL)
        return CD_EUNSUPPORTED;
    struct fleet_peer peer = {0};
    memcpy(peer.node, c->peer->node, sizeof peer.node);
    memcpy(peer.generation, c->peer->generation, sizeof peer.generation);
    memcpy(peer.addr, c->peer->addr, sizeof peer.addr);
    struct fleet_peer_call f = {.peer = &peer,
                                .target = cd_str(c->path),
                                .body = c->body,
                                .deadline_ns = c->deadline_ns,
                                .answer_max = c->answer_max};
    int rc = fleet_peer_call(e->caller, &f);
    c->reached = f.status != 0 || f.end != FLEET_PEER_NOT_STARTED;
    c->status = rc == IO_OK ? f.status : 0;
    c->unable = f.status == 404 || f.status == 405 || f.status == 501;
    if (f.status != 0)
        e->suspect = false; /* It is not us who cannot be heard. */
    c->answer = cd_buf_move(&f.answer);
    return rc;
}

void fleet_ensemble_init(struct fleet_ensemble *e)
{
    e->peers = (struct log_peers){.arg = e, .call = call};
}

void fleet_ensemble_deinit(struct fleet_ensemble *e)
{
    for (struct cd_map_node *n = cd_map_first(&e->avoided); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&e->avoided);
}

/* ---- Endpoints ---- */

static void serve(struct fleet_ensemble *e, struct fleet_peer_request *r,
                  int (*answer)(struct log_follower *f, struct cd_str body, struct cd_buf *answer))
{
    r->status = e->follower == NULL ? 503 : answer(e->follower, r->body, &r->answer);
    if (r->status < 0)
        r->status = 0; /* The node stops. */
}

static void serve_append(void *arg, struct fleet_peer_request *r)
{
    serve(arg, r, log_follower_append);
}

static void serve_seal(void *arg, struct fleet_peer_request *r)
{
    serve(arg, r, log_follower_seal);
}

static void serve_tail(void *arg, struct fleet_peer_request *r)
{
    serve(arg, r, log_follower_tail);
}

void fleet_ensemble_serve(struct fleet_ensemble *e, struct fleet_peer_server *s)
{
    struct fleet_peer_route append = {.method = "POST",
                                      .path = LOG_PATH_APPEND,
                                      .body_max = LOG_APPEND_BYTES_MAX,
                                      .handle = serve_append,
                                      .arg = e};
    struct fleet_peer_route seal = {.method = "POST",
                                    .path = LOG_PATH_SEAL,
                                    .any_process = true,
                                    .in_startup = true,
                                    .handle = serve_seal,
                                    .arg = e};
    struct fleet_peer_route tail = seal;
    tail.path = LOG_PATH_TAIL;
    tail.handle = serve_tail;
    fleet_peer_server_route(s, &append);
    fleet_peer_server_route(s, &seal);
    fleet_peer_server_route(s, &tail);
}

/* ---- Who ---- */

bool fleet_candidate_of(struct fleet_candidate *out, const struct store_lease *lease,
                        const struct fleet_self *self, int64_t now_ms)
{
    if (strcmp(lease->node, self->node) == 0 || (int64_t)lease->expires_ms <= now_ms || lease->addr[0] == 0 ||
        lease->peer_protocol != FLEET_PEER_PROTOCOL || lease->load.draining)
        return false;
    *out = (struct fleet_candidate){.pressured = lease->load.pressured,
                                    .restoring =
                                        lease->load.restoring == STORE_ABSENT ? 0 : lease->load.restoring};
    memcpy(out->peer.node, lease->node, sizeof out->peer.node);
    memcpy(out->peer.generation, lease->generation, sizeof out->peer.generation);
    memcpy(out->peer.addr, lease->addr, sizeof out->peer.addr);
    out->hash = cd_crc64(0, self->session, strlen(self->session));
    out->hash = cd_crc64(out->hash, lease->node, strlen(lease->node));
    return true;
}

static bool better(const struct fleet_candidate *a, const struct fleet_candidate *b)
{
    if (a->current != b->current)
        return a->current;
    if (a->restoring != b->restoring)
        return a->restoring < b->restoring;
    if (a->pressured != b->pressured)
        return b->pressured;
    return a->hash != b->hash ? a->hash < b->hash : strcmp(a->peer.node, b->peer.node) < 0;
}

void fleet_candidates_order(struct fleet_candidate *c, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct fleet_candidate x = c[i];
        size_t at = i;
        for (; at > 0 && better(&x, &c[at - 1]); at--)
            c[at] = c[at - 1];
        c[at] = x;
    }
}

static bool same_process(const struct log_peer *a, const struct log_peer *b)
{
    return strcmp(a->node, b->node) == 0 && strcmp(a->generation, b->generation) == 0;
}

void fleet_ensemble_evicted(struct fleet_ensemble *e, const char *node, enum log_evict why)
{
    if (why == LOG_EVICT_SELF) {
        e->suspect = true;
        cd_event_to(e->io, CD_WARN, "log", "suspect_self", CD_Z("node", e->self->node),
                    CD_Z("hint", "no follower answers: writes wait for the bucket until a node does"));
        return;
    }
    uint64_t quarantine = e->quarantine_ns != 0 ? e->quarantine_ns : QUARANTINE_NS;
    struct avoided *a = cd_new(struct avoided);
    a->until_ns = io_now_ns(e->io) + (why == LOG_EVICT_UNABLE ? quarantine : AVOID_NS);
    cd_free(cd_map_put(&e->avoided, cd_str(node), a));
}

/* Whether somebody answers at all: an empty append, which changes nothing wherever it comes to. */
static int ask_around(struct fleet_ensemble *e, const struct fleet_candidate *c, size_t count)
{
    struct cd_buf body = {0};
    int rc = IO_OK;
    log_append_write(
        &body, &(struct log_append){.leader = cd_str(e->self->session), .log_epoch = 1, .first_batch = 1});
    for (size_t i = 0; i < count && e->suspect && rc != IO_CANCELED; i++) {
        struct log_call call = {.peer = &c[i].peer,
                                .path = LOG_PATH_APPEND,
                                .body = cd_buf_str(&body),
                                .deadline_ns = io_now_ns(e->io) + ASK_NS,
                                .answer_max = 4096};
        rc = e->peers.call(e->peers.arg, &call);
        cd_buf_deinit(&call.answer);
    }
    cd_buf_deinit(&body);
    return rc == IO_CANCELED ? rc : IO_OK;
}

/* Reads a listed lease; adds it when it can follow us. */
static int consider(struct fleet_ensemble *e, const struct io_entry *at, struct fleet_candidate *c,
                    size_t *count)
{
    struct cd_str node;
    struct io_store get = {0};
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    if (*count == CANDIDATES_MAX || !store_lease_name_parse(&node, at->key) ||
        cd_str_eq(node, cd_str(e->self->node)))
        return IO_OK;
    int rc = store_retry_get(&get, e->io, e->bucket, at->key, 0, IO_WHOLE, &p);
    struct store_lease *lease = cd_new(struct store_lease);
    if (rc == IO_OK && store_lease_read(lease, node, cd_buf_str(&get.body), NULL) == 0 &&
        fleet_candidate_of(&c[*count], lease, e->self, io_wall_ms(e->io))) {
        const struct avoided *a = cd_map_get(&e->avoided, node);
        for (unsigned i = 0; i < e->count; i++)
            c[*count].current = c[*count].current || same_process(&e->member[i], &c[*count].peer);
        if (a == NULL || a->until_ns <= io_now_ns(e->io))
            (*count)++;
    }
    cd_free(lease);
    cd_buf_deinit(&get.body);
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int look(struct fleet_ensemble *e, struct fleet_candidate *c, size_t *count)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_list l = {0};
    struct cd_buf after = {0};
    int rc;
    *count = 0;
    do {
        rc = store_retry_list(&l, e->io, e->bucket, CD_STR(STORE_PREFIX_NODES), cd_buf_str(&after),
                              IO_LIST_MAX, &p);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++)
            rc = consider(e, &l.entry[i], c, count);
        cd_buf_clear(&after);
        if (rc == IO_OK && l.count > 0)
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
    } while (rc == IO_OK && l.more);
    cd_buf_deinit(&after);
    io_list_deinit(&l);
    return rc;
}

/* ---- When ---- */

static void again(struct fleet_ensemble *e, bool failure)
{
    uint64_t wait = AGAIN_NS;
    for (unsigned i = 0; i < e->failures && wait < AGAIN_MAX_NS; i++)
        wait *= 2;
    if (failure)
        e->failures++;
    e->look_ns = io_now_ns(e->io) + (wait < AGAIN_MAX_NS ? wait : AGAIN_MAX_NS);
}

static int name(struct fleet_ensemble *e, const struct fleet_candidate *c, unsigned want)
{
    struct log_peer member[FLEET_ENSEMBLE_SIZE];
    for (unsigned i = 0; i < want; i++)
        member[i] = c[i].peer;
    int rc = log_ensemble(e->log, member, want);
    if (rc == IO_OK) {
        memcpy(e->member, member, sizeof e->member);
        e->count = want;
        e->named_ns = io_now_ns(e->io);
        e->look_ns = e->named_ns + LOOK_NS;
        return rc;
    }
    again(e, rc != CD_EFULL); /* What only the last one proves is on its way to the bucket. */
    return rc == IO_CANCELED ? rc : IO_OK;
}

int fleet_ensemble_pass(struct fleet_ensemble *e)
{
    struct log_numbers n;
    if (e->log == NULL)
        return IO_OK;
    log_numbers(e->log, &n);
    uint64_t now = io_now_ns(e->io);
    if (!n.opened || n.fenced)
        return IO_OK; /* The first row opens it: a node that writes nothing needs nobody. */
    if (n.log_epoch == 0 && e->count > 0) { /* It was given up since. */
        bool steady = now - e->named_ns >= STEADY_NS;
        e->count = 0;
        e->failures = steady ? 0 : e->failures;
        if (steady)
            e->look_ns = now;
        else
            again(e, true);
    }
    if (now < e->look_ns)
        return IO_OK;
    struct fleet_candidate *c = cd_alloc(CANDIDATES_MAX * sizeof *c);
    size_t count = 0;
    int rc = look(e, c, &count);
    if (rc == IO_OK && e->suspect)
        rc = ask_around(e, c, count);
    if (e->suspect)
        count = 0;
    fleet_candidates_order(c, count);
    unsigned want = count < FLEET_ENSEMBLE_SIZE ? (unsigned)count : FLEET_ENSEMBLE_SIZE, kept = 0;
    for (unsigned i = 0; i < want; i++)
        kept += c[i].current;
    if (rc == IO_OK && n.log_epoch != 0 && kept == e->count && want <= e->count) {
        e->look_ns = now + LOOK_NS; /* As good as it gets. */
    } else if (rc == IO_OK && want > 0) {
        rc = name(e, c, want);
    } else {
        if (rc == IO_OK && !e->hinted && !e->suspect)
            cd_event(e->io, CD_INFO, "no_followers", CD_Z("node", e->self->node),
                     CD_Z("hint", "every write waits for the bucket until another node joins the fleet"));
        e->hinted = e->hinted || !e->suspect;
        again(e, true);
        rc = rc == IO_CANCELED ? rc : IO_OK;
    }
    cd_free(c);
    return rc;
}
