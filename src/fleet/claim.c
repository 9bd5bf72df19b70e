#include "fleet/claim.h"

#include <stdio.h>

#include "fleet/claim_rule.h"
#include "fleet/finish.h"
#include "store/retry.h"

#define RECONCILES_MAX 3u
#define PASSES_MAX 16u /* Of one call: each ends in a decision on a fresh read. */
#define FINISHED_MAX 4096u

void fleet_finished_deinit(struct fleet_finished *f)
{
    cd_map_deinit(&f->sessions);
}

/* One call under way. */
struct pass {
    struct fleet_claim *c;
    struct cd_buf key;
    bool exists;
    struct store_owner owner; /* With exists, and the token it was read with. */
    char token[IO_TOKEN_MAX];
    bool lease_read, lease_exists; /* Of the owner's node, since the record was read. */
    struct store_lease lease;
    char finished[STORE_SESSION_MAX + 1]; /* The session that this call saw finished. */
};

static int say(struct fleet_claim *c, enum fleet_claim_end end, const char *what, const char *detail)
{
    c->end = end;
    (void)snprintf(c->why, sizeof c->why, "%.140s%s%.110s", what, detail[0] != 0 ? ": " : "", detail);
    return IO_OK;
}

static struct store_policy policy(const struct fleet_claim *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    uint64_t now = io_now_ns(c->io);
    uint64_t left = c->deadline_ns > now ? c->deadline_ns - now : 1;
    if (left < p.whole_ns)
        p.whole_ns = left;
    return p;
}

/* IO_OK: read, or absent. CD_ECORRUPT and the like: there, and not to be understood. */
static int read_record(struct pass *p, struct cd_str key, struct io_store *s, bool *exists)
{
    struct store_policy how = policy(p->c);
    int status = store_retry_get(s, p->c->io, p->c->bucket, key, 0, IO_WHOLE, &how);
    *exists = status == IO_OK;
    if (status == IO_NOENT)
        return IO_OK;
    if (status == IO_OK && s->token[0] == 0) {
        (void)snprintf(s->why, sizeof s->why, "the store gave no token");
        return IO_PROTOCOL;
    }
    return status;
}

static int read_owner(struct pass *p)
{
    struct io_store s = {0};
    struct cd_buf why = {0};
    int rc = read_record(p, cd_buf_str(&p->key), &s, &p->exists);
    if (rc == IO_OK && p->exists) {
        memcpy(p->token, s.token, sizeof p->token);
        rc = store_owner_read(&p->owner, cd_buf_str(&s.body), &why);
        p->c->unreadable = rc != 0;
    }
    if (rc != IO_OK && rc != IO_CANCELED)
        (void)say(p->c, FLEET_CLAIM_FAILED, cd_buf_cstr(&p->key), why.len != 0 ? cd_buf_cstr(&why) : s.why);
    cd_buf_deinit(&s.body);
    cd_buf_deinit(&why);
    return rc;
}

static int read_lease(struct pass *p, struct cd_str node)
{
    struct io_store s = {0};
    struct cd_buf key = {0}, why = {0};
    store_key_lease(&key, node);
    int rc = read_record(p, cd_buf_str(&key), &s, &p->lease_exists);
    if (rc == IO_OK && p->lease_exists) {
        rc = store_lease_read(&p->lease, node, cd_buf_str(&s.body), &why);
        p->c->unreadable = rc != 0;
    }
    if (rc != IO_OK && rc != IO_CANCELED)
        (void)say(p->c, FLEET_CLAIM_FAILED, cd_buf_cstr(&key), why.len != 0 ? cd_buf_cstr(&why) : s.why);
    cd_buf_deinit(&s.body);
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
    return rc;
}

/* ---- Finished sessions ---- */

static bool known_finished(const struct pass *p)
{
    if (!p->exists || p->owner.session[0] == 0)
        return false;
    return strcmp(p->finished, p->owner.session) == 0 ||
           (p->c->finished != NULL &&
            cd_map_get(&p->c->finished->sessions, cd_str(p->owner.session)) != NULL);
}

static void remember_finished(struct pass *p)
{
    memcpy(p->finished, p->owner.session, sizeof p->finished);
    struct fleet_finished *f = p->c->finished;
    if (f == NULL)
        return;
    if (f->sessions.count >= FINISHED_MAX)
        cd_map_deinit(&f->sessions); /* Costs reads, nothing else. */
    (void)cd_map_put(&f->sessions, cd_str(p->owner.session), f);
}

/* IO_OK with true: go on. */
static int finish(struct pass *p, bool *go_on)
{
    struct fleet_claim *c = p->c;
    *go_on = false;
    if (c->self->finisher == NULL)
        return say(c, FLEET_CLAIM_FAILED, "the owner's session is not finished", p->owner.session);
    struct fleet_finish f = {.io = c->io,
                             .finisher = c->self->finisher,
                             .session = cd_str(p->owner.session),
                             .mode = LOG_RECOVER_TAKEOVER,
                             .deadline_ns = c->recovery_deadline_ns};
    uint64_t start = io_now_ns(c->io);
    int rc = fleet_finish(&f);
    if (rc != IO_OK)
        return rc;
    if (c->deadline_ns != IO_FOREVER)
        c->deadline_ns += io_now_ns(c->io) - start; /* It has a deadline of its own. */
    switch (f.end) {
    case LOG_RECOVER_FINISHED: remember_finished(p); break;
    case LOG_RECOVER_ALIVE: break; /* Its lease was renewed: the next read tells. */
    case LOG_RECOVER_REFUSED: return say(c, FLEET_CLAIM_REFUSED, "recovery of the owner is refused", f.why);
    case LOG_RECOVER_BUSY:
    case LOG_RECOVER_FAILED: return say(c, FLEET_CLAIM_RECOVERING, "recovery of the owner", f.why);
    }
    *go_on = true;
    return IO_OK;
}

/* ---- The CAS ---- */

/* An ambiguous CAS: looks until the record is no longer as it was before. IO_OK: p has it, moved by us or
 * not. What is not seen to land may land later, with its own guard only: harmless once the record has moved.
 */
static int reconcile(struct pass *p)
{
    char before[IO_TOKEN_MAX];
    bool existed = p->exists;
    memcpy(before, p->token, sizeof before);
    CD_MARK("fleet.claim_ambiguous");
    for (unsigned i = 0; i < RECONCILES_MAX; i++) {
        uint64_t dice;
        io_random(p->c->io, IO_RAND_JITTER, &dice, sizeof dice);
        if (i > 0 && io_sleep(p->c->io, store_backoff_ns(i, 0, dice)) != IO_OK)
            return IO_CANCELED;
        int rc = read_owner(p);
        if (rc == IO_CANCELED)
            return rc;
        if (rc == IO_OK && (p->exists != existed || (p->exists && strcmp(before, p->token) != 0)))
            return IO_OK;
    }
    return IO_TIMEDOUT;
}

enum cas {
    CAS_APPLIED,
    CAS_LOST, /* The record is another one: read it. */
    CAS_MOVED, /* The same, and p has it. */
    CAS_NOT_COMMITTED,
    CAS_UNKNOWN,
};

/* Puts owner in place of what p has. IO_OK or IO_CANCELED. */
static int cas(struct pass *p, const struct store_owner *owner, enum io_put how, enum cas *end)
{
    struct fleet_claim *c = p->c;
    struct cd_buf body = {0};
    store_owner_write(&body, owner);
    struct io_store s = {.lane = IO_LANE_CONTROL};
    memcpy(s.token, p->token, sizeof s.token);
    io_store_put(&s, c->bucket, cd_buf_str(&p->key), cd_buf_str(&body), how, NULL);
    int status = io_await(&s.op, c->deadline_ns);
    cd_buf_deinit(&body);
    (void)say(c, FLEET_CLAIM_FAILED, "the write of owner.json", s.why);
    if (s.outcome == IO_DONE) {
        memcpy(p->token, s.token, sizeof p->token);
        *end = CAS_APPLIED;
        return IO_OK;
    }
    if (status == IO_CANCELED)
        return status;
    if (s.outcome == IO_REJECTED) {
        *end = status == IO_CONFLICT ? CAS_LOST : CAS_NOT_COMMITTED;
        return IO_OK;
    }
    status = reconcile(p);
    if (status == IO_CANCELED)
        return status;
    *end = CAS_UNKNOWN;
    (void)say(c, FLEET_CLAIM_FAILED, "the write of owner.json", "its outcome stayed unknown");
    if (status == IO_OK) {
        bool ours =
            p->exists && p->owner.epoch == owner->epoch && strcmp(p->owner.session, owner->session) == 0;
        *end = ours ? CAS_APPLIED : CAS_MOVED;
    }
    return IO_OK;
}

static int owned(struct pass *p, uint64_t epoch, enum fleet_claim_from from, const char *prior)
{
    p->c->end = FLEET_CLAIM_OWNED;
    p->c->epoch = epoch;
    p->c->from = from;
    memcpy(p->c->prior, prior, sizeof p->c->prior);
    memcpy(p->c->token, p->token, sizeof p->c->token);
    p->c->why[0] = 0;
    cd_event(p->c->io, CD_DEBUG, "cell_claimed", CD_S("scope", p->c->scope), CD_U("epoch", epoch));
    return IO_OK;
}

/* What the record allows was read: take it. *again: it was lost to somebody; *have: p has the record of now.
 */
static int take(struct pass *p, enum fleet_claim_rule rule, enum fleet_claim_from from, bool *again,
                bool *have)
{
    struct fleet_claim *c = p->c;
    struct store_owner next = {.epoch = p->exists ? p->owner.epoch + 1 : 1};
    char prior[STORE_SESSION_MAX + 1] = "";
    if (p->exists)
        memcpy(prior, p->owner.session, sizeof prior);
    memcpy(next.session, c->self->session, sizeof next.session);
    *again = false;
    if (next.epoch > STORE_NUMBER_MAX)
        return say(c, FLEET_CLAIM_REFUSED, "owner.json", "no epoch is left");
    if (from == FLEET_CLAIM_LOCAL && CD_PLANT("fleet.wake_reuses_epoch"))
        return owned(p, p->owner.epoch, from, prior);
    /* Asked at the last moment: nothing is awaited between this and the send (S4). */
    if (!fleet_authoritative(c->self->authority, io_now_ns(c->io)))
        return say(c, FLEET_CLAIM_REFUSED, "this node has no authority", "its lease is not held");
    enum io_put how = rule == FLEET_RULE_TAKE ? IO_PUT_IF_MATCH : IO_PUT_IF_ABSENT;
    if (rule == FLEET_RULE_CREATE && CD_PLANT("fleet.create_overwrites_record"))
        how = IO_PUT_ANY;
    enum cas end;
    int rc = cas(p, &next, how, &end);
    if (rc != IO_OK)
        return rc;
    if (end == CAS_MOVED &&
        CD_PLANT("fleet.ambiguous_claim_is_lost")) /* The wanted epoch, over whatever is there. */
        rc = cas(p, &next, IO_PUT_IF_MATCH, &end);
    if (end == CAS_LOST && CD_PLANT("fleet.rejected_claim_is_ours"))
        end = CAS_APPLIED;
    *have = end == CAS_MOVED;
    if (*have) /* The lease that was read is that of the owner before: of this one it says nothing. */
        p->lease_read = p->lease_exists = false;
    *again = end == CAS_MOVED || end == CAS_LOST;
    return end == CAS_APPLIED ? owned(p, next.epoch, from, prior) : rc;
}

static int remote(struct pass *p)
{
    struct fleet_claim *c = p->c;
    (void)say(c, FLEET_CLAIM_REMOTE, "the cell is owned by another node that is alive", p->owner.session);
    memcpy(c->owner, p->owner.session, sizeof c->owner);
    struct cd_buf live = {0};
    store_lease_session(&live, &p->lease);
    (void)snprintf(c->live, sizeof c->live, "%s", cd_buf_cstr(&live));
    cd_buf_deinit(&live);
    c->epoch = p->owner.epoch;
    memcpy(c->addr, p->lease.addr, sizeof c->addr);
    c->until_ms = (int64_t)(p->lease.expires_ms + c->self->authority->ahead_ms);
    return IO_OK;
}

/* One decision on what p knows. *more: another round. */
static int round_of(struct pass *p, bool *have, bool *more)
{
    struct fleet_claim *c = p->c;
    enum fleet_claim_from from;
    struct fleet_claim_facts facts = {
        .node = c->self->node,
        .generation = c->self->generation,
        .owner = p->exists ? &p->owner : NULL,
        .finished = known_finished(p),
        .lease_read = p->lease_read,
        .lease = p->lease_exists ? &p->lease : NULL,
        .now_ms = io_wall_ms(c->io),
        .ahead_ms = c->self->authority->ahead_ms,
        .sole = c->self->sole,
    };
    enum fleet_claim_rule rule = fleet_claim_decide(&facts, &from);
    if (c->only_ours && from != FLEET_CLAIM_LOCAL) {
        *more = false;
        return say(c, FLEET_CLAIM_NOT_OURS, "the record names no session of this node", "");
    }
    if (c->look_only && (rule == FLEET_RULE_CREATE || rule == FLEET_RULE_TAKE || rule == FLEET_RULE_FINISH)) {
        *more = false;
        c->from = from;
        return say(c, FLEET_CLAIM_LOOKED, "no other node has the cell", "");
    }
    *more = true;
    int rc = IO_OK;
    switch (rule) {
    case FLEET_RULE_CREATE:
    case FLEET_RULE_TAKE:
        if (from == FLEET_CLAIM_LOCAL && p->lease_read)
            remember_finished(p); /* An earlier session of this node: our own lease is over it. */
        return take(p, rule, from, more, have);
    case FLEET_RULE_READ_LEASE:
    case FLEET_RULE_READ_OWN_LEASE: {
        struct cd_str node;
        (void)store_session_split(cd_str(p->owner.session), &node, NULL);
        rc = read_lease(p, node);
        p->lease_read = rc == IO_OK;
        *more = *have = rc == IO_OK;
        return rc == IO_CANCELED ? rc : IO_OK;
    }
    case FLEET_RULE_FINISH:
        *have = false; /* Ownership and lease may have moved meanwhile. */
        return finish(p, more);
    case FLEET_RULE_REMOTE: *more = false; return remote(p);
    case FLEET_RULE_OTHER_PROTOCOL:
        *more = false;
        return say(c, FLEET_CLAIM_REFUSED, "the owner speaks another peer protocol", p->owner.session);
    case FLEET_RULE_REPLACED:
        *more = false;
        return say(c, FLEET_CLAIM_REFUSED, "another process has this node id", p->owner.session);
    }
    CD_UNREACHABLE();
}

int fleet_claim(struct fleet_claim *c)
{
    CD_ASSERT(store_scope_valid(c->scope));
    struct pass *p = cd_new(struct pass);
    p->c = c;
    store_key_owner(&p->key, c->scope);
    bool have = false, more = true;
    int rc = IO_OK;
    for (unsigned i = 0; more && rc == IO_OK; i++) {
        if (i == PASSES_MAX) {
            rc = say(c, FLEET_CLAIM_FAILED, "owner.json", "it changes all the time");
            break;
        }
        if (!have) {
            rc = read_owner(p);
            p->lease_read = p->lease_exists = false;
            if (rc != IO_OK)
                break;
        }
        have = false;
        rc = round_of(p, &have, &more);
    }
    cd_buf_deinit(&p->key);
    cd_free(p);
    return rc == IO_CANCELED ? rc : IO_OK; /* All else is told in c. */
}

/* Of this session or an earlier one: a later one has a higher epoch. */
static bool of_our_node(const struct pass *p)
{
    struct cd_str node;
    return store_session_split(cd_str(p->owner.session), &node, NULL) &&
           cd_str_eq(node, cd_str(p->c->self->node));
}

/* The record as the caller knows it, by its token: a write that compares with it tells whether it is so. */
static bool known(struct pass *p, const char *session, uint64_t epoch, const char token[IO_TOKEN_MAX])
{
    p->exists = true;
    p->owner = (struct store_owner){.epoch = epoch};
    memcpy(p->owner.session, session, strlen(session) + 1);
    memcpy(p->token, token, sizeof p->token);
    return token[0] != 0;
}

int fleet_release(struct io *io, struct io_bucket *bucket, const struct fleet_self *self, struct cd_str scope,
                  uint64_t epoch, uint64_t deadline_ns, char token[IO_TOKEN_MAX])
{
    struct fleet_claim c = {
        .io = io, .bucket = bucket, .self = self, .scope = scope, .deadline_ns = deadline_ns};
    struct pass *p = cd_new(struct pass);
    p->c = &c;
    store_key_owner(&p->key, scope);
    struct store_owner next = {.epoch = epoch};
    bool done = false;
    int rc = IO_OK;
    for (unsigned i = 0; rc == IO_OK && !done && i < RECONCILES_MAX; i++) {
        if (i > 0 || !known(p, self->session, epoch, token))
            rc = read_owner(p);
        if (rc != IO_OK)
            break;
        bool same = p->exists && p->owner.epoch == epoch;
        done = same && p->owner.session[0] == 0;
        if (done)
            break;
        if ((!same || !of_our_node(p)) && !(p->exists && CD_PLANT("fleet.release_without_looking")))
            rc = CD_EFENCED;
        else if (!fleet_authoritative(self->authority, io_now_ns(io)))
            rc = IO_DENIED;
        enum cas end = CAS_LOST;
        if (rc == IO_OK)
            rc = cas(p, &next, IO_PUT_IF_MATCH, &end);
        if (rc == IO_OK && (end == CAS_NOT_COMMITTED || end == CAS_UNKNOWN))
            rc = IO_TIMEDOUT;
        done = rc == IO_OK && end == CAS_APPLIED;
    }
    memcpy(token, p->token, sizeof p->token);
    cd_buf_deinit(&p->key);
    cd_free(p);
    return rc == IO_OK && !done ? IO_BUSY : rc;
}

int fleet_adopt(struct io *io, struct io_bucket *bucket, const struct fleet_self *self, struct cd_str scope,
                uint64_t epoch, uint64_t deadline_ns, char token[IO_TOKEN_MAX], uint64_t *taken)
{
    struct fleet_claim c = {
        .io = io, .bucket = bucket, .self = self, .scope = scope, .deadline_ns = deadline_ns};
    struct pass *p = cd_new(struct pass);
    p->c = &c;
    store_key_owner(&p->key, scope);
    struct store_owner next = {.epoch = epoch + 1};
    memcpy(next.session, self->session, sizeof next.session);
    bool done = false;
    int rc = IO_OK;
    for (unsigned i = 0; rc == IO_OK && !done && i < RECONCILES_MAX; i++) {
        if (i > 0 || !known(p, "", epoch, token))
            rc = read_owner(p);
        if (rc != IO_OK)
            break;
        done = p->exists && strcmp(p->owner.session, self->session) == 0 && p->owner.epoch > epoch;
        *taken = done ? p->owner.epoch : epoch + 1;
        if (done || CD_PLANT("fleet.adopt_unheard"))
            break;
        if (!p->exists || p->owner.session[0] != 0 || p->owner.epoch != epoch)
            rc = CD_EFENCED;
        else if (!fleet_authoritative(self->authority, io_now_ns(io)))
            rc = IO_DENIED;
        enum cas end = CAS_LOST;
        if (rc == IO_OK)
            rc = cas(p, &next, IO_PUT_IF_MATCH, &end);
        if (rc == IO_OK && (end == CAS_NOT_COMMITTED || end == CAS_UNKNOWN))
            rc = IO_TIMEDOUT;
        done = rc == IO_OK && end == CAS_APPLIED;
    }
    memcpy(token, p->token, sizeof p->token);
    cd_buf_deinit(&p->key);
    cd_free(p);
    return rc == IO_OK && !done && !CD_PLANT("fleet.adopt_unheard") ? IO_BUSY : rc;
}
