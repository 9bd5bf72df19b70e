/* fleet/collect.c: deletes wake entries and packs that are settled. fleet.md 8.3, 8.4. */
#include "fleet/waker_internal.h"
#include "store/retry.h"

#define PAGE_MAX 128u /* Entries, and items of packs, of one pass. */

/* Whether the record that was read settles identity. What cannot be read settles nothing. */
static bool settles(const struct io_store *get, struct store_identity identity)
{
    struct store_wake_retired r;
    return get->op.status == IO_OK && store_wake_retired_read(&r, cd_buf_str(&get->body), NULL) == 0 &&
           store_wake_settled(&r, identity);
}

static int delete_key(struct fleet_waker *w, struct cd_str key)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    int rc = store_retry_delete(&s, w->io, w->bucket, key, &p);
    return rc == IO_CANCELED ? rc : IO_OK; /* The next round of the cursor finds it again. */
}

/* A window of entries whose cells' retirements were read. */
static int delete_settled(struct fleet_waker *w, struct fleet_reads *r, const struct io_entry *const *entry,
                          const struct store_identity *identity)
{
    int rc = fleet_reads_run(w, r);
    for (unsigned i = 0; rc == IO_OK && i < r->count; i++) {
        if (settles(&r->get[i], identity[i]))
            rc = delete_key(w, entry[i]->key);
    }
    fleet_reads_clear(r);
    return rc;
}

static int collect_entries(struct fleet_waker *w, struct fleet_reads *r)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_list l = {0};
    const struct io_entry *entry[FLEET_READS_MAX];
    struct store_identity identity[FLEET_READS_MAX];
    int rc = store_retry_list(&l, w->io, w->bucket, CD_STR(STORE_PREFIX_WAKE_ENTRIES), cd_buf_str(&w->cursor),
                              PAGE_MAX, &p);
    bool listed = rc == IO_OK;
    cd_buf_clear(&w->cursor); /* After an error, and after the last page, from the front. */
    if (listed && l.more)
        cd_buf_add_str(&w->cursor, l.entry[l.count - 1].key);
    for (unsigned i = 0; rc == IO_OK && listed && i < l.count; i++) {
        struct store_wake_name n;
        if (store_wake_entry_parse(&n, l.entry[i].key)) {
            entry[r->count] = &l.entry[i];
            identity[r->count] = n.identity;
            store_key_wake_retired(&r->key[r->count++], n.scope);
        }
        if (r->count == FLEET_READS_MAX || (r->count > 0 && i + 1 == l.count))
            rc = delete_settled(w, r, entry, identity);
    }
    io_list_deinit(&l);
    return rc == IO_CANCELED ? rc : IO_OK;
}

/* Reads the retirements of the next items of a pack that are not known to be settled. */
static int settle_items(struct fleet_waker *w, struct fleet_pack *p, struct fleet_reads *r, size_t *at,
                        unsigned *budget)
{
    size_t item[FLEET_READS_MAX];
    for (; *at < p->alarms.count && r->count < FLEET_READS_MAX && *budget > 0; ++*at) {
        if (p->settled[*at])
            continue;
        --*budget;
        item[r->count] = *at;
        store_key_wake_retired(&r->key[r->count++], p->alarms.item[*at].cell);
    }
    int rc = fleet_reads_run(w, r);
    for (unsigned i = 0; rc == IO_OK && i < r->count; i++) {
        if (settles(&r->get[i], p->alarms.item[item[i]].identity)) {
            p->settled[item[i]] = true;
            p->left--;
        }
    }
    fleet_reads_clear(r);
    return rc;
}

static int collect_packs(struct fleet_waker *w, struct fleet_reads *r)
{
    unsigned budget = PAGE_MAX;
    int rc = IO_OK;
    struct cd_buf key = {0};
    struct cd_map_node *n = cd_map_first(&w->packs);
    while (rc == IO_OK && n != NULL && budget > 0) {
        struct fleet_pack *p = cd_map_value(n);
        cd_buf_clear(&key);
        cd_buf_add_str(&key, cd_map_key(n));
        for (size_t at = 0; rc == IO_OK && at < p->alarms.count && budget > 0;)
            rc = settle_items(w, p, r, &at, &budget);
        bool all = p->left == 0 || (p->left < p->alarms.count && CD_PLANT("fleet.pack_deleted_early"));
        if (rc == IO_OK && all) {
            fleet_pack_forget(w, cd_buf_str(&key));
            rc = delete_key(w, cd_buf_str(&key));
        }
        cd_buf_add_byte(&key, 0); /* Behind this one. */
        n = cd_map_at_or_after(&w->packs, cd_buf_str(&key));
    }
    cd_buf_deinit(&key);
    return rc;
}

int fleet_collect_pass(struct fleet_waker *w)
{
    struct fleet_reads *r = cd_new(struct fleet_reads);
    int rc = collect_entries(w, r);
    if (rc == IO_OK)
        rc = collect_packs(w, r);
    cd_free(r);
    return rc;
}

/* ---- What an owner tells ---- */

int fleet_wake_entry(struct io *io, struct io_bucket *bucket, const struct store_alarm *a)
{
    struct cd_buf key = {0}, body = {0};
    store_key_wake_entry(&key, a->cell, a->due_ms, a->identity);
    store_wake_entry_write(&body, a);
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, body.len);
    struct io_store s = {0};
    int rc = store_retry_put(&s, io, bucket, cd_buf_str(&key), cd_buf_str(&body), &p);
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event(io, CD_WARN, "wake_entry_failed", CD_S("scope", a->cell), CD_Z("error", s.why));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}

/* One look and one CAS. IO_BUSY: try again. */
static int retire_once(struct io *io, struct io_bucket *bucket, struct cd_str key,
                       const struct store_wake_retired *state)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    struct store_wake_retired old;
    struct cd_buf body = {0};
    int rc = store_retry_get(&s, io, bucket, key, 0, IO_WHOLE, &p);
    bool absent = rc == IO_NOENT;
    if (rc == IO_OK)
        rc = store_wake_retired_read(&old, cd_buf_str(&s.body), NULL);
    if (rc != IO_OK && !absent)
        goto out;
    int order = absent ? -1 : store_identity_cmp(old.identity, state->identity);
    if (order == 0)
        rc = old.armed == state->armed && old.at_ms == state->at_ms ? IO_OK : CD_ECORRUPT;
    if (order >= 0)
        goto out; /* A larger one has won. */
    store_wake_retired_write(&body, state);
    io_store_put(&s, bucket, key, cd_buf_str(&body), absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
    rc = io_await(&s.op, IO_FOREVER); /* Its own timeout bounds it. */
    if (rc != IO_OK && rc != IO_CANCELED)
        rc = IO_BUSY; /* Lost, or unclear: what is there tells. */

out:
    cd_buf_deinit(&s.body);
    cd_buf_deinit(&body);
    return rc;
}

int fleet_wake_retire(struct io *io, struct io_bucket *bucket, struct cd_str scope,
                      const struct store_wake_retired *state)
{
    struct cd_buf key = {0};
    store_key_wake_retired(&key, scope);
    int rc = IO_BUSY;
    for (unsigned i = 0; rc == IO_BUSY && i < 4; i++) /* Three tries, and a look at the last one. */
        rc = retire_once(io, bucket, cd_buf_str(&key), state);
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event(io, CD_WARN, "wake_retire_failed", CD_S("scope", scope), CD_Z("error", cd_err_text(rc)));
    cd_buf_deinit(&key);
    return rc;
}
