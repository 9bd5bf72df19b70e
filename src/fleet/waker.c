#include "fleet/waker.h"

#include "fleet/claim_rule.h"
#include "fleet/waker_internal.h"
#include "store/retry.h"

static struct store_policy policy(void)
{
    return store_policy_of(IO_LANE_CONTROL, 0);
}

void fleet_pack_forget(struct fleet_waker *w, struct cd_str key)
{
    struct fleet_pack *p = cd_map_remove(&w->packs, key);
    if (p == NULL)
        return;
    w->pack_bytes -= p->bytes;
    store_alarms_deinit(&p->alarms);
    cd_free(p->settled);
    cd_free(p);
}

void fleet_waker_deinit(struct fleet_waker *w)
{
    struct cd_map_node *n;
    while ((n = cd_map_first(&w->packs)) != NULL)
        fleet_pack_forget(w, cd_map_key(n));
    cd_map_deinit(&w->packs);
    cd_buf_deinit(&w->cursor);
}

/* ---- Reading ---- */

int fleet_reads_run(struct fleet_waker *w, struct fleet_reads *r)
{
    int rc = IO_OK;
    for (unsigned i = 0; i < r->count; i++) {
        r->get[i].lane = IO_LANE_CONTROL;
        io_store_get(&r->get[i], w->bucket, cd_buf_str(&r->key[i]), 0, IO_WHOLE, NULL);
    }
    for (unsigned i = 0; i < r->count; i++) {
        if (io_await(&r->get[i].op, IO_FOREVER) == IO_CANCELED) /* Their own timeouts bound them. */
            rc = IO_CANCELED;
    }
    return rc;
}

void fleet_reads_clear(struct fleet_reads *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        cd_buf_deinit(&r->get[i].body);
        cd_buf_deinit(&r->key[i]);
    }
    memset(r, 0, sizeof *r);
}

/* Every page below prefix. */
static int list_all(struct fleet_waker *w, struct cd_str prefix, char delimiter,
                    void (*each)(struct fleet_waker *w, const struct io_entry *e, void *arg), void *arg)
{
    struct store_policy p = policy();
    struct io_list l = {.delimiter = delimiter};
    struct cd_buf after = {0};
    int rc;
    do {
        rc = store_retry_list(&l, w->io, w->bucket, prefix, cd_buf_str(&after), IO_LIST_MAX, &p);
        for (unsigned i = 0; rc == IO_OK && i < l.count; i++)
            each(w, &l.entry[i], arg);
        if (rc == IO_OK && l.count > 0) {
            cd_buf_clear(&after);
            cd_buf_add_str(&after, l.entry[l.count - 1].key);
        }
    } while (rc == IO_OK && l.more);
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event(w->io, CD_WARN, "wake_list_failed", CD_S("prefix", prefix), CD_Z("error", l.why));
    cd_buf_deinit(&after);
    io_list_deinit(&l);
    return rc;
}

static uint64_t wall(const struct fleet_waker *w)
{
    int64_t now = io_wall_ms(w->io);
    return now > 0 ? (uint64_t)now : 0;
}

/* ---- The role ---- */

/* Advisory: two holders only look twice. */
static int renew_role(struct fleet_waker *w)
{
    struct store_policy p = policy();
    struct io_store s = {0};
    struct store_waker role;
    uint64_t now = wall(w);
    int rc = store_retry_get(&s, w->io, w->bucket, CD_STR(STORE_KEY_WAKER), 0, IO_WHOLE, &p);
    bool absent = rc == IO_NOENT;
    if (rc != IO_OK && !absent) {
        cd_buf_deinit(&s.body);
        return rc == IO_CANCELED ? rc : IO_OK; /* Held or not, as before. */
    }
    store_waker_read(&role, cd_buf_str(&s.body));
    bool ours = strcmp(role.node, w->self->node) == 0;
    if (absent || ours || w->self->sole || role.expires_ms <= now) {
        struct store_waker next = {.expires_ms = now + 3 * w->tick_ms};
        struct cd_buf body = {0};
        memcpy(next.node, w->self->node, sizeof next.node);
        store_waker_write(&body, &next);
        io_store_put(&s, w->bucket, CD_STR(STORE_KEY_WAKER), cd_buf_str(&body),
                     absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
        rc = io_await(&s.op, IO_FOREVER); /* Its own timeout bounds it. */
        ours = s.outcome == IO_DONE;
        cd_buf_deinit(&body);
    }
    w->holds_role = ours;
    cd_buf_deinit(&s.body);
    return rc == IO_CANCELED ? rc : IO_OK;
}

/* ---- What is due ---- */

/* Before the next pass comes. A hint is no more than a look: the cell's own timer then keeps the time
 * exactly. */
static uint64_t horizon(struct fleet_waker *w)
{
    return wall(w) + w->tick_ms;
}

struct due {
    uint64_t minute; /* Of the horizon. */
    struct cd_map minutes; /* Prefixes of due entries. */
    struct cd_map cells; /* By scope: each once, whatever speaks for it. */
    struct cd_map packs; /* Keys of due packs. */
};

static void each_minute(struct fleet_waker *w, const struct io_entry *e, void *arg)
{
    (void)w;
    struct due *d = arg;
    size_t head = sizeof STORE_PREFIX_WAKE_ENTRIES - 1;
    uint64_t minute;
    if (e->is_prefix && e->key.len == head + STORE_MINUTE_DIGITS + 1 &&
        cd_str_u64(cd_str_sub(e->key, head, STORE_MINUTE_DIGITS), &minute) == 0 && minute <= d->minute)
        (void)cd_map_put(&d->minutes, e->key, d);
}

static void each_due_entry(struct fleet_waker *w, const struct io_entry *e, void *arg)
{
    (void)w;
    struct due *d = arg;
    struct store_wake_name n;
    if (store_wake_entry_parse(&n, e->key)) /* What does not parse is nobody's. */
        (void)cd_map_put(&d->cells, n.scope, d);
}

static void each_pack(struct fleet_waker *w, const struct io_entry *e, void *arg)
{
    (void)w;
    struct due *d = arg;
    struct store_pack_name n;
    if (store_pack_name_parse(&n, e->key) && n.minute <= d->minute)
        (void)cd_map_put(&d->packs, e->key, d);
}

static int open_pack(struct fleet_waker *w, struct cd_str key)
{
    struct store_policy p = policy();
    struct io_store s = {0};
    struct cd_buf why = {0};
    struct fleet_pack *pack = cd_new(struct fleet_pack);
    int rc = store_retry_get(&s, w->io, w->bucket, key, 0, IO_WHOLE, &p);
    if (rc == IO_OK && store_pack_read(&pack->alarms, key, cd_buf_str(&s.body), &why) == 0) {
        pack->left = pack->alarms.count;
        pack->settled = cd_alloc(pack->left * sizeof *pack->settled);
        pack->bytes = s.body.len;
        w->pack_bytes += pack->bytes;
        (void)cd_map_put(&w->packs, key, pack);
    } else {
        cd_free(pack);
        if (rc == IO_OK)
            cd_event(w->io, CD_ERROR, "wake_pack_unreadable", CD_S("key", key),
                     CD_S("error", cd_buf_str(&why)));
    }
    cd_buf_deinit(&s.body);
    cd_buf_deinit(&why);
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int look_into_packs(struct fleet_waker *w, struct due *d)
{
    uint64_t until = horizon(w);
    int rc = IO_OK;
    /* What is not listed any more was collected by somebody. */
    for (struct cd_map_node *n = cd_map_first(&w->packs); n != NULL;) {
        struct cd_map_node *next = cd_map_next(n);
        if (cd_map_get(&d->packs, cd_map_key(n)) == NULL || w->pack_bytes > FLEET_PACKS_BYTES) {
            struct cd_buf key = {0};
            cd_buf_add_str(&key, cd_map_key(n));
            fleet_pack_forget(w, cd_buf_str(&key));
            next = cd_map_at_or_after(&w->packs, cd_buf_str(&key));
            cd_buf_deinit(&key);
        }
        n = next;
    }
    for (struct cd_map_node *n = cd_map_first(&d->packs); rc == IO_OK && n != NULL; n = cd_map_next(n)) {
        if (cd_map_get(&w->packs, cd_map_key(n)) == NULL)
            rc = open_pack(w, cd_map_key(n));
        const struct fleet_pack *p = cd_map_get(&w->packs, cd_map_key(n));
        for (size_t i = 0; p != NULL && i < p->alarms.count; i++) {
            if (!p->settled[i] && p->alarms.item[i].due_ms <= until)
                (void)cd_map_put(&d->cells, p->alarms.item[i].cell, d);
        }
    }
    return rc;
}

/* ---- Who looks ---- */

/* What the waker does about a due cell. */
enum rule { NOT_OURS, HINT, READ_LEASE };

/* owner NULL: no record. lease: of the owner's node, once read. */
static enum rule decide(const struct store_owner *owner, const char *node, bool holds_role, bool lease_read,
                        bool lease_dead)
{
    struct cd_str of = {0};
    bool named = owner != NULL && owner->session[0] != 0;
    if (named && !store_session_split(cd_str(owner->session), &of, NULL))
        return NOT_OURS;
    if (named && cd_str_eq(of, cd_str(node)))
        return HINT;
    if (!holds_role || CD_PLANT("fleet.waker_only_own_cells"))
        return NOT_OURS;
    if (!named)
        return HINT;
    if (!lease_read)
        return READ_LEASE;
    return lease_dead ? HINT : NOT_OURS;
}

/* Whether the node of owner has no live lease. Each node is read once in a pass. */
static int node_is_dead(struct fleet_waker *w, struct cd_map *nodes, const struct store_owner *owner,
                        bool *dead)
{
    static const char is_dead = 0, is_alive = 0;
    struct cd_str node;
    *dead = false;
    if (!store_session_split(cd_str(owner->session), &node, NULL))
        return IO_OK;
    const void *known = cd_map_get(nodes, node);
    if (known == NULL) {
        struct store_policy p = policy();
        struct io_store s = {0};
        struct cd_buf key = {0};
        struct store_lease l;
        store_key_lease(&key, node);
        int rc = store_retry_get(&s, w->io, w->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
        bool gone = rc == IO_NOENT;
        if (rc == IO_OK && store_lease_read(&l, node, cd_buf_str(&s.body), NULL) == 0)
            gone = fleet_lease_dead(&l, io_wall_ms(w->io), w->self->authority->ahead_ms, w->self->sole);
        cd_buf_deinit(&s.body);
        cd_buf_deinit(&key);
        if (rc == IO_CANCELED)
            return rc;
        known = gone ? &is_dead : &is_alive; /* A read that failed: the next pass asks again. */
        (void)cd_map_put(nodes, node, (void *)(uintptr_t)known);
    }
    *dead = known == &is_dead;
    return IO_OK;
}

static int resolve(struct fleet_waker *w, struct cd_map *nodes, const struct fleet_reads *r,
                   const struct cd_str *scope)
{
    int rc = IO_OK;
    for (unsigned i = 0; rc == IO_OK && i < r->count; i++) {
        struct store_owner owner;
        bool absent = r->get[i].op.status == IO_NOENT, dead = false;
        if (!absent && (r->get[i].op.status != IO_OK ||
                        store_owner_read(&owner, cd_buf_str(&r->get[i].body), NULL) != 0))
            continue; /* Its entry stays, so the next pass asks again. */
        const struct store_owner *o = absent ? NULL : &owner;
        enum rule rule = decide(o, w->self->node, w->holds_role, false, false);
        if (rule == READ_LEASE) {
            rc = node_is_dead(w, nodes, &owner, &dead);
            rule = decide(o, w->self->node, w->holds_role, true, dead);
        }
        if (rc == IO_OK && rule == HINT)
            w->hint(w->arg, scope[i]);
    }
    return rc;
}

static int hint_due(struct fleet_waker *w, struct due *d)
{
    struct fleet_reads *r = cd_new(struct fleet_reads);
    struct cd_map nodes = {0};
    int rc = IO_OK;
    struct cd_map_node *n = cd_map_first(&d->cells);
    while (rc == IO_OK && n != NULL) {
        struct cd_str scope[FLEET_READS_MAX];
        for (; n != NULL && r->count < FLEET_READS_MAX; n = cd_map_next(n)) {
            scope[r->count] = cd_map_key(n);
            store_key_owner(&r->key[r->count++], cd_map_key(n));
        }
        rc = fleet_reads_run(w, r);
        if (rc == IO_OK)
            rc = resolve(w, &nodes, r, scope);
        fleet_reads_clear(r);
    }
    cd_map_deinit(&nodes);
    cd_free(r);
    return rc;
}

static int discover(struct fleet_waker *w)
{
    struct due d = {.minute = store_minute_of(horizon(w))};
    int rc = list_all(w, CD_STR(STORE_PREFIX_WAKE_ENTRIES), '/', each_minute, &d);
    for (struct cd_map_node *n = cd_map_first(&d.minutes); rc == IO_OK && n != NULL; n = cd_map_next(n))
        rc = list_all(w, cd_map_key(n), 0, each_due_entry, &d);
    if (rc == IO_OK)
        rc = list_all(w, CD_STR(STORE_PREFIX_WAKE_PACKS), 0, each_pack, &d);
    if (rc == IO_OK)
        rc = look_into_packs(w, &d);
    if (rc == IO_OK)
        rc = hint_due(w, &d);
    cd_map_deinit(&d.minutes);
    cd_map_deinit(&d.cells);
    cd_map_deinit(&d.packs);
    return rc;
}

int fleet_waker_pass(struct fleet_waker *w)
{
    int rc = renew_role(w);
    if (rc != IO_CANCELED)
        rc = discover(w);
    if (rc != IO_CANCELED)
        rc = fleet_collect_pass(w);
    return rc == IO_CANCELED ? rc : IO_OK;
}
