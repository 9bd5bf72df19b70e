#include "fleet/sweep.h"

#include "fleet/claim_rule.h"
#include "log/recover.h"
#include "log/recover_rule.h"
#include "store/retry.h"

#define RECOVERY_NS IO_SEC(30) /* Of one session; the next pass goes on. */
#define KEPT_MS INT64_C(86400000) /* The lease of an id that never comes again, after its end. */
#define RETRY_MS 30000u /* Doubles up to 64 times. */
#define NEVER INT64_MAX
#define STRAYS_NS IO_SEC(3600) /* Between two looks for them. */

/* A lease object as it was listed, whose log is gone. It is written anew by whoever takes the node id next.
 */
struct fleet_swept {
    int64_t modified_ms;
    uint64_t size;
    int64_t due_ms; /* Before this, wall clock, nothing is to be done about it. */
    unsigned failures;
};

static void forget(struct fleet_sweep *s)
{
    for (struct cd_map_node *n = cd_map_first(&s->done); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&s->done);
}

void fleet_sweep_deinit(struct fleet_sweep *s)
{
    forget(s);
}

static bool has_role(const struct fleet_sweep *s)
{
    return s->role != NULL && *s->role;
}

static bool is_done(const struct fleet_sweep *s, const struct io_entry *e)
{
    const struct fleet_swept *d = cd_map_get(&s->done, e->key);
    bool same = d != NULL && d->modified_ms == e->modified_ms && d->size == e->size;
    return same && (!has_role(s) || io_wall_ms(s->io) < d->due_ms);
}

/* What is known of the object as it is now. */
static struct fleet_swept *swept(struct fleet_sweep *s, const struct io_entry *e)
{
    struct fleet_swept *d = cd_map_get(&s->done, e->key);
    if (d == NULL) {
        d = cd_new(struct fleet_swept);
        (void)cd_map_put(&s->done, e->key, d);
    }
    if (d->modified_ms != e->modified_ms || d->size != e->size)
        *d = (struct fleet_swept){.modified_ms = e->modified_ms, .size = e->size};
    return d;
}

/* get has the body and its token; the caller frees the body. */
static int read_lease(struct fleet_sweep *s, struct cd_str key, struct cd_str node, struct io_store *get,
                      struct store_lease *out)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf why = {0};
    int rc = store_retry_get(get, s->io, s->bucket, key, 0, IO_WHOLE, &p);
    if (rc == IO_OK)
        rc = store_lease_read(out, node, cd_buf_str(&get->body), &why);
    if (rc != IO_OK && rc != IO_CANCELED && rc != IO_NOENT)
        cd_event(s->io, CD_WARN, "sweep_lease_unreadable", CD_S("key", key),
                 CD_Z("error", why.len > 0 ? cd_buf_cstr(&why) : get->why));
    cd_buf_deinit(&why);
    return rc;
}

/* Deletes what a sealed session left. IO_OK: nothing is left. */
static int clean(struct fleet_sweep *s, struct cd_str session, uint64_t seal)
{
    int rc = log_clean(s->io, s->bucket, session, seal);
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event(s->io, CD_WARN, "session_not_cleaned", CD_S("session", session),
                 CD_Z("error", cd_err_text(rc)));
    return rc;
}

/* ---- The lease of a session that is finished and cleaned up (7.10) ---- */

/* The same record, expired for good: by CAS, so a successor's is not touched. */
static int expire(struct fleet_sweep *s, struct cd_str key, const struct io_store *get)
{
    struct io_store put = {.lane = IO_LANE_CONTROL};
    struct cd_buf body = {0};
    int rc = store_lease_expired(&body, cd_buf_str(&get->body), NULL);
    if (rc == 0) {
        memcpy(put.token, get->token, sizeof put.token);
        io_store_put(&put, s->bucket, key, cd_buf_str(&body), IO_PUT_IF_MATCH, NULL);
        rc = io_await(&put.op, IO_FOREVER); /* Its own timeout bounds it. */
    }
    cd_buf_deinit(&body);
    return rc;
}

/* No condition can guard a delete, and one that lands late would take a successor's record with it. So only
 * those go whose id was made for one process. */
static int bury(struct fleet_sweep *s, struct cd_str key, const struct store_lease *l,
                const struct io_store *get)
{
    int rc = l->expires_ms == 0 ? IO_OK : expire(s, key, get);
    if (rc != IO_OK || !(l->ephemeral || CD_PLANT("fleet.lease_of_configured_id_deleted")))
        return rc;
    struct io_store del = {.lane = IO_LANE_CONTROL};
    io_store_delete(&del, s->bucket, key, NULL);
    rc = io_await(&del.op, IO_FOREVER);
    if (rc == IO_OK)
        cd_event(s->io, CD_INFO, "dead_node_deleted", CD_Z("node", l->node));
    return rc;
}

static int settle(struct fleet_sweep *s, const struct io_entry *e, const struct store_lease *l,
                  const struct io_store *get)
{
    struct fleet_swept *d = swept(s, e);
    int64_t now = io_wall_ms(s->io), ended = l->expires_ms == 0 ? e->modified_ms : (int64_t)l->expires_ms;
    if (l->ephemeral)
        d->due_ms = ended + KEPT_MS;
    else if (l->expires_ms == 0)
        d->due_ms = NEVER; /* The id's next process writes over it. */
    else if (d->due_ms < ended + log_member_long_dead_ms(l->ttl_ms) && !CD_PLANT("fleet.lease_ended_early"))
        /* Its node may be a follower that only restarts: a recovery that needs it reads here for how long it
         * has been away, and a record that has ended for good says for ever. */
        d->due_ms = ended + log_member_long_dead_ms(l->ttl_ms);
    if (now < d->due_ms || !has_role(s))
        return IO_OK;
    int rc = bury(s, e->key, l, get);
    if (rc == IO_OK) {
        cd_free(cd_map_remove(&s->done, e->key)); /* What is there now is another object, or none. */
        return IO_OK;
    }
    d->due_ms = now + (int64_t)(RETRY_MS << (d->failures < 6 ? d->failures : 6));
    d->failures++;
    return rc;
}

static int sweep_dead(struct fleet_sweep *s, const struct io_entry *e, const struct store_lease *l,
                      const struct io_store *get)
{
    struct cd_buf session = {0};
    int rc = IO_OK;
    store_lease_session(&session, l);
    if (!l->has_log || l->log.state != STORE_LOG_SEALED) {
        struct log_recover r = {.session = cd_buf_str(&session),
                                .mode = LOG_RECOVER_SWEEP,
                                .deadline_ns = io_now_ns(s->io) + RECOVERY_NS};
        rc = log_recover(s->recoverer, &r);
        if (rc == IO_OK && r.end != LOG_RECOVER_FINISHED && r.end != LOG_RECOVER_ALIVE &&
            r.end != LOG_RECOVER_BUSY)
            cd_event(s->io, CD_WARN, "session_not_recovered", CD_S("session", cd_buf_str(&session)),
                     CD_Z("end", log_recover_end_name(r.end)), CD_Z("error", r.why));
        /* The next pass reads the seal's slot in the record. */
    } else if (l->log.seal == 0 || (rc = clean(s, cd_buf_str(&session), l->log.seal)) == IO_OK) {
        rc = settle(s, e, l, get);
    }
    cd_buf_deinit(&session);
    return rc;
}

static int sweep_one(struct fleet_sweep *s, const struct io_entry *e, struct cd_str node)
{
    struct store_lease l;
    struct io_store get = {0};
    int rc = read_lease(s, e->key, node, &get, &l);
    if (rc == IO_OK && fleet_lease_dead(&l, io_wall_ms(s->io), s->self->authority->ahead_ms, s->self->sole))
        rc = sweep_dead(s, e, &l, &get);
    cd_buf_deinit(&get.body);
    return rc;
}

/* Calls each with every entry below prefix until it fails. */
static int each_entry(struct fleet_sweep *s, struct cd_str prefix, char delimiter,
                      int (*each)(struct fleet_sweep *s, const struct io_entry *e, void *arg), void *arg)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_list l = {.delimiter = delimiter};
    struct cd_buf after = {0};
    int rc;
    do {
        rc = store_retry_list(&l, s->io, s->bucket, prefix, cd_buf_str(&after), IO_LIST_MAX, &p);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++)
            rc = each(s, &l.entry[i], arg);
        if (rc == IO_OK && l.count > 0) {
            cd_buf_clear(&after);
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
        }
    } while (rc == IO_OK && l.more);
    cd_buf_deinit(&after);
    io_list_deinit(&l);
    return rc;
}

static int each_lease(struct fleet_sweep *s, const struct io_entry *e, void *arg)
{
    struct cd_str node;
    (void)arg;
    if (!store_lease_name_parse(&node, e->key) || cd_str_eq(node, cd_str(s->self->node)) || is_done(s, e))
        return IO_OK;
    return sweep_one(s, e, node) == IO_CANCELED ? IO_CANCELED : IO_OK;
}

/* node-cells/ is reserved and unused (2.1): what lies there is of nobody. */
static int each_stray(struct fleet_sweep *s, const struct io_entry *e, void *arg)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store del = {0};
    (void)arg;
    int rc = store_retry_delete(&del, s->io, s->bucket, e->key, &p);
    if (rc == IO_OK)
        cd_event(s->io, CD_INFO, "stray_deleted", CD_S("key", e->key));
    return rc;
}

static int sweep_strays(struct fleet_sweep *s)
{
    if (!has_role(s) || io_now_ns(s->io) < s->strays_ns)
        return IO_OK;
    s->strays_ns = io_now_ns(s->io) + STRAYS_NS;
    return each_entry(s, CD_STR("node-cells/"), 0, each_stray, NULL);
}

int fleet_sweep_pass(struct fleet_sweep *s)
{
    int rc = each_entry(s, CD_STR(STORE_PREFIX_NODES), 0, each_lease, NULL);
    if (rc != IO_CANCELED)
        rc = sweep_strays(s);
    return rc == IO_CANCELED ? rc : IO_OK;
}

/* ---- Earlier sessions of our own node id ---- */

/* What log/<node>/ holds of one generation, while its keys go by. */
struct generation {
    char session[STORE_SESSION_MAX + 1];
    unsigned slots, others;
    struct cd_map unclean; /* Sessions with more than the seal that stays for ever. */
};

#define UNCLEAN_MAX 1000u /* Of one start; the next one finds the others. */

static void generation_ended(struct generation *g)
{
    if ((g->slots > 1 || g->others > 0) && g->unclean.count < UNCLEAN_MAX)
        (void)cd_map_put(&g->unclean, cd_str(g->session), g);
    g->slots = g->others = 0;
}

static int each_log_key(struct fleet_sweep *s, const struct io_entry *e, void *arg)
{
    struct generation *g = arg;
    struct store_log_name n;
    if (!store_log_name_parse(&n, e->key) || cd_str_eq(n.session, cd_str(s->self->session)))
        return IO_OK;
    if (!cd_str_eq(n.session, cd_str(g->session))) {
        generation_ended(g);
        memset(g->session, 0, sizeof g->session);
        memcpy(g->session, n.session.ptr, n.session.len);
    }
    if (n.kind == STORE_LOG_SLOT)
        g->slots++;
    else if (n.kind != STORE_LOG_LOSS)
        g->others++;
    return IO_OK;
}

static void own_prefix(const struct fleet_sweep *s, struct cd_buf *out)
{
    cd_buf_addf(out, "log/%s/", s->self->node);
}

/* Whether the lease names us. What was listed before that is of earlier sessions: a later one, of a second
 * process with our id, writes its lease before its log. Without this its slots would look like leftovers. */
static int still_ours(struct fleet_sweep *s, bool *ours)
{
    struct store_lease l;
    struct io_store get = {0};
    struct cd_buf key = {0};
    store_key_lease(&key, cd_str(s->self->node));
    int rc = read_lease(s, cd_buf_str(&key), cd_str(s->self->node), &get, &l);
    cd_buf_deinit(&get.body);
    *ours = rc == IO_OK && strcmp(l.generation, s->self->generation) == 0;
    cd_buf_deinit(&key);
    return rc;
}

int fleet_sweep_own(struct fleet_sweep *s)
{
    struct cd_buf prefix = {0};
    struct generation g = {0};
    bool ours = false;
    own_prefix(s, &prefix);
    int rc = each_entry(s, cd_buf_str(&prefix), 0, each_log_key, &g);
    generation_ended(&g);
    if (rc == IO_OK && g.unclean.count > 0)
        rc = still_ours(s, &ours);
    if (CD_PLANT("fleet.sweep_own_without_lease"))
        ours = true;
    for (struct cd_map_node *n = cd_map_first(&g.unclean); ours && rc != IO_CANCELED && n != NULL;
         n = cd_map_next(n))
        rc = clean(s, cd_map_key(n), LOG_SEAL_LISTED);
    cd_map_deinit(&g.unclean);
    cd_buf_deinit(&prefix);
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int each_generation(struct fleet_sweep *s, const struct io_entry *e, void *arg)
{
    struct cd_buf *why = arg;
    if (!e->is_prefix)
        return IO_OK;
    struct cd_str session = cd_str_sub(e->key, 4, e->key.len - 5); /* "log/" ... "/" */
    if (!store_session_valid(session))
        return IO_OK;
    struct log_recover r = {
        .session = session, .mode = LOG_RECOVER_BOOT, .deadline_ns = io_now_ns(s->io) + RECOVERY_NS};
    int rc = log_recover(s->recoverer, &r);
    if (rc != IO_OK || r.end == LOG_RECOVER_FINISHED)
        return rc;
    cd_buf_addf(why, "%.*s: %s", (int)session.len, session.ptr, r.why);
    return r.end == LOG_RECOVER_REFUSED ? CD_ECORRUPT : IO_TIMEDOUT;
}

int fleet_sweep_before_create(struct fleet_sweep *s, struct cd_buf *why)
{
    struct cd_buf prefix = {0};
    own_prefix(s, &prefix);
    int rc = each_entry(s, cd_buf_str(&prefix), '/', each_generation, why);
    cd_buf_deinit(&prefix);
    return rc;
}
