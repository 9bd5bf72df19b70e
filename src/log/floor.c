/* log/floor.c: the floor: up to where everything is in the prefixes, so that slots may go
 * (fleet.md 6.7, 8.4).
 *
 * The order is what keeps it safe: alarm checkpoint, then the CAS of floor.json, then the deletes. A floor
 * that is only written, not applied, deletes nothing. */
#include "log/fold_internal.h"
#include "log/recover_internal.h"
#include "store/reconcile.h"

#define FLOOR_MS 30000u
#define CHECKPOINT_MS 30000u
#define CHECKPOINT_BYTES_PER_S (256u << 10)

uint64_t log_floor_reach(const struct log_folder *f)
{
    uint64_t reach = f->floor.floor;
    for (;;) {
        const struct fold_slot *s = cd_map_get_u64(&f->slots, reach + 1);
        bool folded = s != NULL && (s->unfolded == 0 || CD_PLANT("floor.uncovered"));
        if (!folded || reach + 1 > f->durable_slot)
            return reach;
        reach++;
    }
}

static void fence(struct log_folder *f)
{
    if (f->fenced)
        return;
    f->fenced = true;
    f->fence(f->arg, "node_log_sealed_fence");
}

/* ---- Alarm checkpoints ---- */

/* Writes the armed cells as of now. Its name is used once, whatever becomes of it. */
static int checkpoint_write(struct log_folder *f, struct store_floor *next)
{
    size_t count;
    struct cd_buf body = {0}, key = {0};
    struct io_store put = {0};
    uint64_t through = f->durable_batch + (CD_PLANT("floor.checkpoint-ahead") ? 4 : 0),
             n = f->checkpoints + 1;
    struct store_alarm *items = log_alarms_list(&f->alarms, &count);
    int rc = store_alarms_write(&body, cd_str(f->session), through, items, count);
    cd_free(items);
    if (rc == 0) {
        struct store_policy p = store_policy_of(IO_LANE_DATA, body.len);
        f->checkpoints = n;
        uint64_t ms = body.len / (CHECKPOINT_BYTES_PER_S / 1000);
        f->checkpoint_ns = io_now_ns(f->io) + IO_MS(ms > CHECKPOINT_MS ? ms : CHECKPOINT_MS);
        store_key_alarms(&key, cd_str(f->session), n);
        rc = store_retry_put(&put, f->io, f->bucket, cd_buf_str(&key), cd_buf_str(&body), &p);
    }
    if (rc == 0) {
        next->has_alarms = true;
        next->alarms_n = n;
        next->alarms_through = through;
    }
    cd_buf_deinit(&body);
    cd_buf_deinit(&key);
    return rc;
}

/* What the next floor, up to batch, says of alarms. The checkpoint of the last one serves as long as it
 * reaches up to batch: rows behind it are in the slots that stay. CD_EFULL: a checkpoint is needed, and it is
 * too early. */
static int next_alarms(struct log_folder *f, struct store_floor *next)
{
    if (CD_PLANT("floor.no-checkpoint"))
        return 0;
    if (f->floor.has_alarms && f->floor.alarms_through >= next->batch) {
        next->has_alarms = true;
        next->alarms_n = f->floor.alarms_n;
        next->alarms_through = f->floor.alarms_through;
        return 0;
    }
    if (!log_alarms_need_checkpoint(&f->alarms, next->batch))
        return 0;
    if (f->checkpoints > 0 && io_now_ns(f->io) < f->checkpoint_ns)
        return CD_EFULL;
    return checkpoint_write(f, next);
}

/* ---- The record ---- */

/* What stands in floor.json is not what we wrote last: an earlier floor of ours that landed late, or a
 * freeze. */
static int floor_reread(struct log_folder *f, const struct io_store *got, int status)
{
    struct cd_buf why = {0};
    struct store_floor there;
    if (status == IO_NOENT)
        return CD_EFENCED; /* Nobody but a clean-up of a sealed session deletes it. */
    int rc = store_floor_read(&there, cd_buf_str(&got->body), &why);
    if (rc != 0)
        cd_event_to(f->io, CD_ERROR, "log", "log_floor_corrupt", CD_S("why", cd_buf_str(&why)));
    else if (there.frozen_by[0] != 0)
        rc = CD_EFENCED;
    else
        memcpy(f->floor_token, got->token, sizeof f->floor_token);
    cd_buf_deinit(&why);
    return rc;
}

/* One CAS. IO_OK: applied. CD_EFENCED. IO_CONFLICT: the token was old and is new now. */
static int floor_cas(struct log_folder *f, struct store_write *w)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    enum store_fate fate;
    w->how = f->floor_token[0] == 0 ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH;
    if (CD_PLANT("floor.plain-put"))
        w->how = IO_PUT_ANY;
    memcpy(w->guard, f->floor_token, sizeof w->guard);
    memcpy(s.token, f->floor_token, sizeof s.token);
    io_store_put(&s, f->bucket, w->key, w->body, w->how, NULL);
    int rc = io_await(&s.op, IO_FOREVER);
    if (s.outcome == IO_DONE) {
        memcpy(f->floor_token, s.token, sizeof f->floor_token);
        return IO_OK;
    }
    if (s.outcome == IO_REJECTED && rc != IO_CONFLICT)
        return rc; /* Not committed: the next pass tries again. */
    rc = store_read_back(&s, f->io, f->bucket, w, &p, &fate);
    if (rc == IO_OK) {
        switch (fate) {
        case STORE_FATE_OURS: memcpy(f->floor_token, s.token, sizeof f->floor_token); break;
        case STORE_FATE_OPEN: rc = IO_RESET; break; /* It may land yet: then with the token that we have. */
        case STORE_FATE_OTHERS:
            rc = floor_reread(f, &s, s.token[0] == 0 ? IO_NOENT : IO_OK);
            rc = rc == 0 ? IO_CONFLICT : rc;
            break;
        }
    }
    cd_buf_deinit(&s.body);
    return rc;
}

static int floor_write(struct log_folder *f, const struct store_floor *next)
{
    struct cd_buf key = {0}, body = {0};
    store_key_floor(&key, cd_str(f->session));
    store_floor_write(&body, next);
    struct store_write w = {.key = cd_buf_str(&key), .body = cd_buf_str(&body)};
    int rc = IO_CONFLICT;
    for (unsigned tries = 0; tries < 3 && rc == IO_CONFLICT; tries++)
        rc = floor_cas(f, &w);
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}

/* ---- What goes below it ---- */

static bool slot_delete(struct log_folder *f, const struct fold_slot *s)
{
    size_t ids = s->apart.len / LOG_ID_SIZE, at = 0;
    bool gone = true;
    while (gone && at <= ids) { /* Its rows/ objects first: only it can name them. */
        struct cd_buf key[LOG_DELETES] = {0};
        unsigned n = 0;
        for (; n < LOG_DELETES && at < ids; n++, at++)
            log_apart_key(&key[n], cd_str(f->session),
                          (const uint8_t *)(const void *)(s->apart.ptr + at * LOG_ID_SIZE));
        if (n == 0) {
            log_slot_key(&key[n++], cd_str(f->session), s->slot);
            at++;
        }
        gone = log_delete_some(f->bucket, key, n) == n;
        for (unsigned i = 0; i < n; i++)
            cd_buf_deinit(&key[i]);
    }
    return gone;
}

static uint64_t slots_delete(struct log_folder *f, uint64_t upto)
{
    uint64_t deleted = 0;
    struct cd_map_node *n;
    while (!f->closing && (n = cd_map_first(&f->slots)) != NULL && cd_map_key_u64(n) <= upto) {
        struct cd_buf key[LOG_DELETES] = {0};
        struct fold_slot *slot[LOG_DELETES];
        unsigned count = 0, gone = 0;
        struct fold_slot *first = cd_map_value(n);
        if (first->apart.len > 0) {
            gone = slot_delete(f, first) ? 1 : 0;
            slot[0] = first;
            count = 1;
        } else {
            for (; n != NULL && count < LOG_DELETES && cd_map_key_u64(n) <= upto; n = cd_map_next(n)) {
                slot[count] = cd_map_value(n);
                if (slot[count]->apart.len > 0)
                    break;
                log_slot_key(&key[count], cd_str(f->session), slot[count]->slot);
                count++;
            }
            gone = log_delete_some(f->bucket, key, count);
        }
        for (unsigned i = 0; i < count; i++)
            cd_buf_deinit(&key[i]);
        for (unsigned i = 0; i < gone; i++) {
            (void)cd_map_remove_u64(&f->slots, slot[i]->slot);
            cd_buf_deinit(&slot[i]->apart);
            cd_free(slot[i]);
        }
        deleted += gone;
        if (gone < count)
            break; /* The rest stays for the next pass. */
    }
    return deleted;
}

static void checkpoints_delete(struct log_folder *f, uint64_t below)
{
    for (uint64_t n = f->checkpoints_gone + 1; n < below; n++) {
        struct cd_buf key = {0};
        store_key_alarms(&key, cd_str(f->session), n);
        bool gone = log_delete_some(f->bucket, &key, 1) == 1;
        cd_buf_deinit(&key);
        if (!gone)
            return;
        f->checkpoints_gone = n;
    }
}

/* ---- The pass ---- */

static void clean_below(struct log_folder *f)
{
    const struct store_floor *floor = &f->floor;
    uint64_t deleted = slots_delete(f, floor->floor);
    checkpoints_delete(f, f->checkpoints_needed);
    if (deleted > 0)
        cd_event_to(f->io, CD_DEBUG, "log", "log_floor", CD_U("floor", floor->floor),
                    CD_U("deleted", deleted), CD_U("checkpoint", floor->has_alarms ? floor->alarms_n : 0));
}

static void pass(struct log_folder *f)
{
    struct store_floor next = {.floor = log_floor_reach(f)};
    int rc = 0;
    if (next.floor > f->floor.floor) {
        const struct fold_slot *s = cd_map_get_u64(&f->slots, next.floor);
        next.batch = s->last_batch;
        if (CD_PLANT("floor.delete-first"))
            (void)slots_delete(f, next.floor);
        rc = next_alarms(f, &next);
        if (rc == 0)
            rc = floor_write(f, &next);
        if (rc == 0) {
            f->floor = next;
            /* Only now: what an attempt names that is not decided yet may still come to be named. */
            f->checkpoints_needed = next.has_alarms ? next.alarms_n : f->checkpoints + 1;
        }
        if (rc == CD_EFENCED)
            fence(f);
        else if (rc != 0 && rc != IO_CANCELED && rc != CD_EFULL)
            cd_event_to(f->io, CD_WARN, "log", "log_floor_failed", CD_U("floor", next.floor),
                        CD_Z("why", cd_err_text(rc)));
    }
    if (!f->closing && !f->fenced)
        clean_below(f);
}

void log_floor_flow(void *arg)
{
    struct log_folder *f = arg;
    while (!f->closing && !f->fenced) {
        struct io_op op = {0};
        io_signal_wait(&f->floor_wanted, f->io, &op, NULL);
        int status = io_await(&op, io_now_ns(f->io) + IO_MS(FLOOR_MS));
        if (status != IO_OK && status != IO_TIMEDOUT)
            break;
        pass(f);
    }
    f->floor_fiber = NULL;
    log_fold_fiber_ended(f);
}
