/* log/retire.c: epochs that no restore reads any more go (fleet.md 5.13).
 *
 * Whoever finds rows of such an epoch in a log later, a recovery above all, must not bring it back: so
 * retired.json says first that they are gone, and only then they go. */
#include "log/recover_internal.h"
#include "log/restore.h"
#include "log/shorten.h"
#include "store/records.h"

/* retired.json says at least base. Our own unclear write is answered for by the next look. */
static int retired_raise(struct log_shorten *s, uint64_t base)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf key = {0}, body = {0};
    store_key_retired_epochs(&key, s->scope);
    store_retired_epochs_write(&body, base);
    int rc = IO_BUSY;
    for (unsigned tries = 0; rc == IO_BUSY && tries < 4; tries++) {
        struct io_store at = {0};
        uint64_t below = 0;
        rc = store_retry_get(&at, s->io, s->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
        bool absent = rc == IO_NOENT;
        if (rc == IO_OK)
            rc = store_retired_epochs_read(&below, cd_buf_str(&at.body), &s->why);
        else if (!absent)
            cd_buf_addf(&s->why, "%s: %s", cd_buf_cstr(&key), at.why);
        cd_buf_deinit(&at.body);
        if ((rc != IO_OK && !absent) || below >= base)
            break;
        at.lane = IO_LANE_CONTROL;
        io_store_put(&at, s->bucket, cd_buf_str(&key), cd_buf_str(&body),
                     absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
        rc = io_await(&at.op, IO_FOREVER); /* Its own timeout bounds it. */
        if (rc != IO_OK && rc != IO_CANCELED)
            rc = IO_BUSY; /* Lost, or unclear: what is there tells. */
    }
    if (rc == IO_BUSY)
        cd_buf_addf(&s->why, "%s could not be raised to %llu", cd_buf_cstr(&key), (unsigned long long)base);
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}

static int still_owner(struct log_shorten *s, struct cd_str session)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store at = {0};
    struct store_owner owner;
    struct cd_buf key = {0};
    store_key_owner(&key, s->scope);
    int rc = store_retry_get(&at, s->io, s->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    if (rc == IO_OK)
        rc = store_owner_read(&owner, cd_buf_str(&at.body), &s->why);
    if (rc == IO_OK && (owner.epoch != s->epoch || !cd_str_eq(cd_str(owner.session), session)))
        rc = CD_EFENCED;
    cd_buf_deinit(&at.body);
    cd_buf_deinit(&key);
    return rc;
}

static bool among(const uint64_t *epoch, size_t count, uint64_t wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (epoch[i] == wanted)
            return true;
    }
    return false;
}

static int epochs_delete(struct log_shorten *s, const struct ltx_object *object, size_t count,
                         const uint64_t *epoch, size_t epochs)
{
    for (size_t at = 0; at < count;) {
        struct cd_buf key[LOG_DELETES] = {0};
        unsigned n = 0;
        for (; at < count && n < LOG_DELETES; at++) {
            const struct ltx_object *o = &object[at];
            if (among(epoch, epochs, o->epoch))
                ltx_key(&key[n++],
                        &(struct ltx_name){s->scope, o->epoch, o->level, o->min_txid, o->max_txid});
        }
        unsigned gone = log_delete_some(s->bucket, key, n);
        for (unsigned i = 0; i < n; i++)
            cd_buf_deinit(&key[i]);
        s->objects += gone;
        if (gone < n) {
            cd_buf_addf(&s->why, "%u objects could not be deleted", n - gone);
            return IO_RESET; /* They stay for the next pass. */
        }
    }
    return IO_OK;
}

int log_retire(struct log_shorten *s, struct cd_str session, uint64_t base, const struct ltx_keep *k)
{
    struct ltx_object *object = NULL;
    size_t count = 0;
    uint64_t epoch[LTX_RETIRE_MAX];
    struct cd_buf prefix = {0};
    s->objects = 0;
    ltx_key_cell(&prefix, s->scope);
    int rc = log_objects_list(s, cd_buf_str(&prefix), &object, &count);
    size_t epochs =
        rc == IO_OK ? ltx_retire_pick(object, count, base, s->epoch, io_wall_ms(s->io), k, epoch) : 0;
    if (epochs == 0)
        goto out;
    if (!CD_PLANT("retire.delete-first"))
        rc = retired_raise(s, base);
    if (rc == IO_OK)
        rc = still_owner(s, session);
    if (rc == IO_OK)
        rc = epochs_delete(s, object, count, epoch, epochs);
    if (rc == IO_OK)
        cd_event_to(s->io, CD_DEBUG, "store", "ltx_retired", CD_S("scope", s->scope), CD_U("base", base),
                    CD_U("epochs", epochs), CD_U("objects", s->objects));

out:
    cd_free(object);
    cd_buf_deinit(&prefix);
    return rc;
}

/* ---- What would go ---- */

static int retired_read(struct log_retirable *g, uint64_t *below)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store at = {0};
    struct cd_buf key = {0};
    store_key_retired_epochs(&key, g->scope);
    *below = 0;
    int rc = store_retry_get(&at, g->io, g->bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    if (rc == IO_OK)
        rc = store_retired_epochs_read(below, cd_buf_str(&at.body), &g->why);
    else if (rc != IO_NOENT)
        cd_buf_addf(&g->why, "%s: %s", cd_buf_cstr(&key), at.why);
    cd_buf_deinit(&at.body);
    cd_buf_deinit(&key);
    return rc == IO_NOENT ? IO_OK : rc;
}

/* All of them: log_retire takes some at a pass. */
static void pick_all(struct log_retirable *g, const struct ltx_object *object, size_t count)
{
    const struct ltx_keep keep = {.retention_ms = g->grace_ms > 0 ? g->grace_ms : 1};
    uint64_t some[LTX_RETIRE_MAX];
    size_t n, at = 0;
    do {
        n = ltx_retire_pick(object + at, count - at, g->base, object[count - 1].epoch, io_wall_ms(g->io),
                            &keep, some);
        g->epoch = cd_realloc(g->epoch, (g->epochs + n + 1) * sizeof *g->epoch);
        memcpy(g->epoch + g->epochs, some, n * sizeof *some);
        g->epochs += n;
        while (n > 0 && at < count && object[at].epoch <= some[n - 1])
            at++;
    } while (n == LTX_RETIRE_MAX);
    for (size_t i = 0; i < count; i++)
        g->bytes += among(g->epoch, g->epochs, object[i].epoch) ? object[i].size : 0;
}

int log_retirable(struct log_retirable *g)
{
    struct log_shorten s = {.io = g->io, .bucket = g->bucket, .scope = g->scope};
    struct ltx_chain chain = {0};
    struct log_restore r = {.io = g->io, .bucket = g->bucket, .scope = g->scope, .chain = &chain};
    struct ltx_object *object = NULL;
    size_t count = 0;
    uint64_t below = 0;
    struct cd_buf prefix = {0};
    ltx_key_cell(&prefix, g->scope);
    int rc = log_restore(&r);
    if (rc == IO_OK && r.end != LOG_RESTORE_DONE && r.end != LOG_RESTORE_NO_DATA) {
        cd_buf_addf(&g->why, "%s", r.why);
        rc = CD_ECORRUPT;
    }
    bool any = rc == IO_OK && r.end == LOG_RESTORE_DONE;
    if (any)
        rc = retired_read(g, &below);
    if (any && rc == IO_OK)
        rc = log_objects_list(&s, cd_buf_str(&prefix), &object, &count);
    if (any && rc == IO_OK) {
        g->base = ltx_retire_base(&chain);
        if (below <= g->base && count > 0)
            pick_all(g, object, count);
    }
    cd_buf_add_str(&g->why, cd_buf_str(&s.why));
    cd_buf_deinit(&s.why);
    cd_buf_deinit(&prefix);
    cd_free(object);
    ltx_chain_deinit(&chain);
    return rc;
}
