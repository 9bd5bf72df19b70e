/* sim/cell_truth_owner.c: ownership records and leases. I1, I4. */
#include "sim/cell_truth_internal.h"

/* ---- owner.json: the table of fleet.md 2.3 ---- */

static bool same_node(const char *a, const char *b)
{
    struct cd_str x, y;
    return store_session_split(cd_str(a), &x, NULL) && store_session_split(cd_str(b), &y, NULL) &&
           cd_str_eq(x, y);
}

static void released(struct cell_truth *t, const struct truth_cell *cell, const struct store_owner *was)
{
    const struct truth_session *s = truth_session(t, cd_str(was->session));
    const struct truth_row *r = truth_uncovered(s, cell, UINT64_MAX);
    if (r != NULL)
        truth_break(t, "I4", "%s was released, and transaction %llu of epoch %llu is in no object",
                    cell->scope, (unsigned long long)r->max_txid, (unsigned long long)r->epoch);
}

static void claimed(struct cell_truth *t, struct truth_cell *cell, const struct store_owner *was,
                    const struct store_owner *now)
{
    t->counts.claims++;
    if (was != NULL && was->session[0] != 0 && strcmp(was->session, now->session) != 0) {
        const struct truth_session *s = truth_session(t, cd_str(was->session));
        t->counts.takeovers++;
        if (!truth_ended(s))
            truth_break(t, "I4", "%s takes %s from %s, whose log is %s", now->session, cell->scope,
                        was->session,
                        s->recovering ? "being recovered"
                        : s->opened   ? "open"
                                      : "not sealed");
    }
    struct truth_epoch *e = truth_epoch(cell, now->epoch);
    struct truth_session *s = truth_session(t, cd_str(now->session));
    if (e->owner != NULL && e->owner != s)
        truth_break(t, "I1", "%s epoch %llu belongs to %s, and now to %s", cell->scope,
                    (unsigned long long)now->epoch, e->owner->name, s->name);
    e->owner = s;
}

void truth_owner_change(struct cell_truth *t, struct cd_str scope, const struct cell_change *c,
                        const struct cd_str *before)
{
    struct store_owner was = {0}, now = {0};
    struct cd_buf why = {0};
    struct truth_cell *cell = truth_cell(t, scope);
    const struct truth_session *writer = cd_map_get(&t->writers, c->by);
    if (before != NULL && store_owner_read(&was, *before, NULL) != 0)
        return; /* It was judged when it was written. */
    if (!c->there)
        truth_break(t, "I1", "the owner of %s was deleted", cell->scope);
    else if (store_owner_read(&now, c->body, &why) != 0)
        truth_break(t, "I1", "the owner of %s: %s", cell->scope, cd_buf_cstr(&why));
    else if (now.session[0] == 0 && (before == NULL || was.session[0] == 0 || now.epoch != was.epoch))
        truth_break(t, "I1", "%s is released at epoch %llu; it was at %llu of %s", cell->scope,
                    (unsigned long long)now.epoch, (unsigned long long)was.epoch,
                    was.session[0] == 0 ? "nobody" : was.session);
    else if (now.session[0] != 0 && now.epoch != was.epoch + 1)
        truth_break(t, "I1", "%s goes from epoch %llu to %llu", cell->scope, (unsigned long long)was.epoch,
                    (unsigned long long)now.epoch);
    else if (now.session[0] != 0 && writer != NULL && strcmp(writer->name, now.session) != 0)
        truth_break(t, "I1", "%s writes %s into the record of %s", writer->name, now.session, cell->scope);
    else if (now.session[0] == 0 && writer != NULL && !same_node(writer->name, was.session))
        truth_break(t, "I1", "%s releases %s, which is %s's", writer->name, cell->scope, was.session);
    else if (now.session[0] == 0)
        released(t, cell, &was);
    else
        claimed(t, cell, before == NULL ? NULL : &was, &now);
    cd_buf_deinit(&why);
}

/* ---- Leases, and the log record in them ---- */

static void record_sealed(struct cell_truth *t, struct truth_session *s, uint64_t seal)
{
    const struct truth_row *r = truth_uncovered(s, NULL, UINT64_MAX);
    if (seal != s->seal)
        truth_break(t, "I4", "the record of %s says that its seal is %llu; it is %llu", s->name,
                    (unsigned long long)seal, (unsigned long long)s->seal);
    else if (seal == 0 && s->prefix > 0)
        truth_break(t, "I4", "the record of %s says that it has no log; it has slots", s->name);
    else if (r != NULL)
        truth_break(t, "I4",
                    "the record of %s is sealed, and transaction %llu of %s epoch %llu is in no object",
                    s->name, (unsigned long long)r->max_txid, r->cell->scope, (unsigned long long)r->epoch);
    s->sealed = true;
    truth_follow_sealed(t, s);
    truth_alarms_found(t, "a record is sealed");
}

static void log_record(struct cell_truth *t, struct truth_session *s, const struct store_lease *l)
{
    if (!l->has_log) {
        if (s->opened || s->sealed)
            truth_break(t, "I4", "the record of %s has lost its log", s->name);
        return;
    }
    if (s->sealed && l->log.state != STORE_LOG_SEALED)
        truth_break(t, "I4", "the record of %s was sealed, and is %s", s->name,
                    store_log_state_name(l->log.state));
    else if (s->recovering && l->log.state == STORE_LOG_OPEN)
        truth_break(t, "I4", "the record of %s was being recovered, and is open", s->name);
    else if (l->log.state == STORE_LOG_SEALED && !s->sealed)
        record_sealed(t, s, l->log.seal);
    else if (!s->sealed)
        truth_follow_record(t, s, &l->log);
    s->opened |= l->log.state != STORE_LOG_SEALED;
    s->recovering |= l->log.state == STORE_LOG_RECOVERING;
}

/* A new session has the lease: what was before must have ended. */
static void installed(struct cell_truth *t, struct truth_session *s, const struct store_lease *was,
                      const struct cell_change *c)
{
    struct cd_buf name = {0};
    if (was != NULL) {
        store_lease_session(&name, was);
        struct truth_session *old = truth_session(t, cd_buf_str(&name));
        if (old->opened && !old->sealed)
            truth_break(t, "I4", "%s installs its lease over the log of %s", s->name, old->name);
        old->replaced = true;
    }
    if (c->by.len > 0)
        (void)cd_map_put(&t->writers, c->by, s);
    cd_buf_deinit(&name);
}

void truth_lease_change(struct cell_truth *t, struct cd_str node, const struct cell_change *c,
                        const struct cd_str *before)
{
    struct store_lease was, now;
    struct cd_buf why = {0}, name = {0};
    bool had = before != NULL && store_lease_read(&was, node, *before, NULL) == 0;
    if (!c->there) {
        if (!had)
            return;
        store_lease_session(&name, &was);
        const struct truth_session *s = truth_session(t, cd_buf_str(&name));
        if (s->opened && !s->sealed)
            truth_break(t, "I4", "the lease of %s was deleted over its log", s->name);
    } else if (store_lease_read(&now, node, c->body, &why) != 0) {
        truth_break(t, "I4", "a lease: %s", cd_buf_cstr(&why));
    } else {
        store_lease_session(&name, &now);
        struct truth_session *s = truth_session(t, cd_buf_str(&name));
        if (!had || strcmp(was.generation, now.generation) != 0)
            installed(t, s, had ? &was : NULL, c);
        /* Also an earlier time, when a clock was set back; a recoverer leaves it as it is. */
        if (!s->leased || now.expires_ms != s->expires_ms) {
            s->leased = true;
            s->expires_ms = now.expires_ms;
            s->ttl_ms = now.ttl_ms;
            s->leased_ns = c->now_ns;
        }
        log_record(t, s, &now);
    }
    cd_buf_deinit(&why);
    cd_buf_deinit(&name);
}
