/* log/recover_seal.c: ends the slots of a dead session: freeze, listing, seal (fleet.md 7.3).
 *
 * The freeze comes before the listing: after it the leader deletes no slot above the floor, so what the
 * listing lacks there was never stored, or is a loss. The seal goes into the first free slot behind the
 * unbroken run, by conditional create: whoever comes second, the leader or another recoverer, learns of it.
 */
#include "log/bytes.h"
#include "log/recover_internal.h"

#define FREEZE_TRIES 8u
#define SEAL_SENDS 64u

/* ---- Freeze ---- */

static int freeze_once(struct rec *c, struct cd_str key, bool *frozen)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    struct cd_buf body = {0}, why = {0};
    uint64_t now_ms = (uint64_t)io_wall_ms(c->io);
    int rc = store_retry_get(&s, c->io, c->bucket, key, 0, IO_WHOLE, &p);
    if (rc == IO_NOENT) {
        c->floor = (struct store_floor){.frozen_ms = now_ms};
        memcpy(c->floor.frozen_by, c->claim_id, sizeof c->floor.frozen_by);
        store_floor_write(&body, &c->floor);
        s.token[0] = 0;
    } else if (rc != IO_OK) {
        rc = log_rec_failed(c, key, rc, s.why);
        goto done;
    } else if (store_floor_read(&c->floor, cd_buf_str(&s.body), &why) != 0) {
        rc = log_rec_corrupt(c, "log_floor_corrupt", key, cd_buf_cstr(&why));
        goto done;
    } else if (c->floor.frozen_by[0] != 0 || CD_PLANT("recover.no-freeze")) {
        *frozen = true;
        goto done;
    } else {
        rc = store_floor_frozen(&body, cd_buf_str(&s.body), c->me, now_ms, NULL);
        CD_ASSERT(rc == 0);
    }
    s.lane = IO_LANE_CONTROL;
    io_store_put(&s, c->bucket, key, cd_buf_str(&body), s.token[0] == 0 ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH,
                 NULL);
    rc = io_await(&s.op, IO_FOREVER);
    *frozen = s.outcome == IO_DONE;
    /* Rejected or unclear: the next read tells. */
    rc = rc == IO_CANCELED ? rc : 0;
done:
    cd_buf_deinit(&s.body);
    cd_buf_deinit(&body);
    cd_buf_deinit(&why);
    return rc;
}

int log_rec_freeze(struct rec *c)
{
    struct cd_buf key = {0};
    bool frozen = false;
    int rc = 0;
    store_key_floor(&key, c->session);
    for (unsigned tries = 0; tries < FREEZE_TRIES && rc == 0 && !frozen; tries++)
        rc = freeze_once(c, cd_buf_str(&key), &frozen);
    if (rc == 0 && !frozen)
        rc = log_rec_failed(c, cd_buf_str(&key), IO_CONFLICT, "it could not be frozen");
    cd_buf_deinit(&key);
    c->batch = c->last_batch = c->floor.batch;
    return rc;
}

/* ---- Listing ---- */

static void listed_key(struct rec *c, const struct io_entry *e)
{
    struct store_log_name name;
    if (!store_log_name_parse(&name, e->key) || !cd_str_eq(name.session, c->session))
        return;
    uint64_t consent;
    if (name.kind == STORE_LOG_SLOT && name.number > c->floor.floor) {
        log_listed_slot(&c->listed, name.number, e->size);
    } else if (name.kind == STORE_LOG_LOSS && store_loss_slot_parse(&consent, e->key) &&
               consent > c->floor.floor) {
        log_listed_consent(&c->listed, consent);
    } else if (name.kind == STORE_LOG_RECOVERED) {
        struct rec_key *k = cd_new(struct rec_key);
        cd_buf_add_str(&k->key, e->key);
        cd_list_push(&c->recovered, &k->link);
    }
}

int log_rec_list(struct rec *c)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf prefix = {0}, after = {0};
    struct io_list page = {0};
    int rc;
    store_key_log(&prefix, c->session);
    do {
        rc = store_retry_list(&page, c->io, c->bucket, cd_buf_str(&prefix), cd_buf_str(&after), IO_LIST_MAX,
                              &p);
        if (rc != IO_OK)
            break;
        for (unsigned i = 0; i < page.count; i++)
            listed_key(c, &page.entry[i]);
        cd_buf_clear(&after);
        if (page.count > 0)
            cd_buf_add_str(&after, page.entry[page.count - 1].key);
    } while (page.more);
    if (rc != IO_OK && !(rc != IO_CANCELED && CD_PLANT("recover.list-error-is-empty")))
        rc = log_rec_failed(c, cd_buf_str(&prefix), rc, page.why);
    else
        rc = 0;
    io_list_deinit(&page);
    cd_buf_deinit(&prefix);
    cd_buf_deinit(&after);
    return rc;
}

/* ---- The seal ---- */

/* The heads of the last LOG_SEAL_WINDOW listed slots: a seal among them, and the batch that the run ends
 * with. */
struct heads {
    struct log_slot_head head[LOG_SEAL_WINDOW];
    bool read[LOG_SEAL_WINDOW]; /* False: unreadable, which the fold names if the slot counts. */
    uint64_t slot[LOG_SEAL_WINDOW]; /* By their keys. */
    size_t from, count; /* head[0] is that of listed.slot[from]. */
};

/* Asked for in one go; each that fails is tried again alone. */
static int heads_read_some(struct rec *c, struct heads *h, size_t at, size_t n)
{
    struct io_store *get = cd_alloc(n * sizeof *get);
    struct cd_buf *key = cd_alloc(n * sizeof *key);
    struct store_policy p = store_policy_of(IO_LANE_LOG, 0);
    int rc = 0;
    p.retries = 2;
    for (size_t i = 0; i < n; i++) {
        log_slot_key(&key[i], c->session, c->listed.slot[h->from + at + i]);
        get[i].lane = p.lane;
        get[i].timeout_ns = p.attempt_ns;
        io_store_get(&get[i], c->bucket, cd_buf_str(&key[i]), 0, LOG_SLOT_HEAD_SIZE, NULL);
    }
    for (size_t i = 0; i < n; i++)
        (void)io_await(&get[i].op, IO_FOREVER); /* The op has a time limit of its own. */
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = store_get_end(&get[i], c->io, c->bucket, cd_buf_str(&key[i]), 0, LOG_SLOT_HEAD_SIZE, &p);
        if (rc == IO_OK)
            h->read[at + i] = log_slot_head_read(&h->head[at + i], cd_buf_str(&get[i].body), NULL) == 0;
        else if (rc == IO_NOENT || rc == IO_EOF)
            rc = 0; /* Not there, or empty: as if it could not be read. */
        else
            rc = log_rec_failed(c, cd_buf_str(&key[i]), rc, get[i].why);
    }
    for (size_t i = 0; i < n; i++) {
        cd_buf_deinit(&key[i]);
        cd_buf_deinit(&get[i].body);
    }
    cd_free(get);
    cd_free(key);
    return rc;
}

static int heads_read(struct rec *c, struct heads *h)
{
    h->count = c->listed.count < LOG_SEAL_WINDOW ? c->listed.count : LOG_SEAL_WINDOW;
    h->from = c->listed.count - h->count;
    for (size_t i = 0; i < h->count; i++)
        h->slot[i] = c->listed.slot[h->from + i];
    for (size_t at = 0; at < h->count; at += REC_GETS) {
        size_t n = h->count - at < REC_GETS ? h->count - at : REC_GETS;
        int rc = heads_read_some(c, h, at, n);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* The last batch of the highest readable slot up to slot; the floor's when there is none. */
static uint64_t batch_below(const struct rec *c, const struct heads *h, uint64_t slot)
{
    uint64_t batch = c->floor.batch;
    for (size_t i = 0; i < h->count; i++)
        if (h->read[i] && h->head[i].kind == LOG_SLOT_BATCHES && h->slot[i] <= slot)
            batch = h->head[i].last_batch;
    return batch;
}

/* Somebody was faster at the slot where our seal was to go, or so it seems: what is there? */
static int seal_look(struct rec *c, struct cd_str key, bool *sealed, bool *taken)
{
    struct store_policy p = store_policy_of(IO_LANE_LOG, 0);
    struct io_store get = {0};
    struct cd_buf why = {0};
    struct log_slot_head head;
    p.retries = 2;
    int rc = store_retry_get(&get, c->io, c->bucket, key, 0, LOG_SLOT_HEAD_SIZE, &p);
    if (rc == IO_NOENT) {
        rc = 0;
    } else if (rc != IO_OK) {
        rc = log_rec_failed(c, key, rc, get.why);
    } else if (log_slot_head_read(&head, cd_buf_str(&get.body), &why) != 0) {
        rc = log_rec_corrupt(c, "log_slot_corrupt", key, cd_buf_cstr(&why));
    } else if (head.kind == LOG_SLOT_SEAL) {
        *sealed = true;
    } else {
        *taken = true;
        c->last_batch = head.last_batch;
        log_listed_slot(&c->listed, head.slot, get.size);
    }
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&why);
    return rc;
}

static void seal_build(struct rec *c, struct cd_buf *body, uint64_t slot)
{
    struct log_slot_head head = {.kind = LOG_SLOT_SEAL,
                                 .slot = slot,
                                 .first_batch = c->last_batch + 1,
                                 .last_batch = c->last_batch,
                                 .pipeline = (uint16_t)(c->pipeline == 0 ? 1 : c->pipeline)};
    io_random(c->io, IO_RAND_ID, head.id, sizeof head.id);
    cd_buf_clear(body);
    log_slot_seal(body, c->session, &head,
                  &(struct log_seal_text){c->me, (int64_t)c->lease->log.claimed_ms, io_wall_ms(c->io)});
}

/* Creates the seal at the first free slot from slot on. */
static int seal_create(struct rec *c, uint64_t slot)
{
    struct cd_buf key = {0}, body = {0};
    bool sealed = false;
    int rc = 0;
    for (unsigned sends = 0; sends < SEAL_SENDS && rc == 0 && !sealed; sends++) {
        bool taken = false;
        struct io_store put = {.lane = IO_LANE_LOG};
        cd_buf_clear(&key);
        log_slot_key(&key, c->session, slot);
        seal_build(c, &body, slot);
        io_store_put(&put, c->bucket, cd_buf_str(&key), cd_buf_str(&body), IO_PUT_IF_ABSENT, NULL);
        rc = io_await(&put.op, IO_FOREVER);
        if (rc == IO_CANCELED)
            break;
        sealed = put.outcome == IO_DONE;
        bool look = put.outcome == IO_UNKNOWN || (put.outcome == IO_REJECTED && rc == IO_CONFLICT);
        uint64_t wait_ns = store_backoff_ns(sends + 1 < 6 ? sends + 1 : 6, put.retry_after_ns, 0);
        rc = 0;
        if (look)
            rc = seal_look(c, cd_buf_str(&key), &sealed, &taken);
        if (taken)
            slot++;
        else if (rc == 0 && !sealed)
            rc = io_sleep(c->io, wait_ns); /* Not sent, or gone again: once more. */
        if (rc == 0 && !sealed)
            rc = log_rec_beat(c); /* When another has sealed and cleaned up, the record tells. */
    }
    if (rc == 0 && !sealed)
        rc = log_rec_failed(c, cd_buf_str(&key), IO_CONFLICT, "the seal could not be created");
    c->seal = slot;
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
    return rc;
}

/* The lowest seal that is listed, with what lies below it. 0 when none is. */
static uint64_t seal_listed(const struct rec *c, const struct heads *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->read[i] && h->head[i].kind == LOG_SLOT_SEAL)
            return c->listed.slot[h->from + i];
    return 0;
}

/* The head of a slot of batches; NULL: it was not read. */
static const struct log_slot_head *head_of(const struct heads *h, uint64_t slot)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->slot[i] == slot)
            return h->read[i] && h->head[i].kind == LOG_SLOT_BATCHES ? &h->head[i] : NULL;
    return NULL;
}

/* Whether the members hold all batches of the slots from `missing` up to the next listed one, as the slots
 * around them tell. Then these count as listed: the fold fills them. */
static bool fills(struct rec *c, const struct heads *h, uint64_t missing)
{
    uint64_t above = 0;
    for (size_t i = c->listed.count; i > 0 && c->listed.slot[i - 1] > missing; i--)
        above = c->listed.slot[i - 1];
    const struct log_slot_head *low = head_of(h, missing - 1), *high = head_of(h, above);
    bool floor = missing - 1 == c->floor.floor;
    if (above == 0 || high == NULL || (low == NULL && !floor) || CD_PLANT("recover.unfilled") ||
        !log_rec_held(c, (floor ? c->floor.batch : low->last_batch) + 1, high->first_batch - 1))
        return false;
    for (uint64_t slot = missing; slot < above; slot++)
        log_listed_slot(&c->listed, slot, 0);
    return true;
}

int log_rec_seal(struct rec *c)
{
    struct heads *h = cd_new(struct heads);
    int rc = heads_read(c, h);
    if (rc != 0)
        goto done;
    for (size_t i = 0; i < h->count; i++)
        if (h->read[i])
            c->pipeline = h->head[i].pipeline;
    c->seal = seal_listed(c, h);
    if (c->seal != 0) {
        c->last_batch = batch_below(c, h, c->seal - 1);
        goto done;
    }
    uint64_t run, missing;
    do {
        run = log_listed_run(&c->listed, c->floor.floor);
        missing = log_listed_missing(&c->listed, run, c->lease->log.slot, c->pipeline);
    } while (missing != 0 && fills(c, h, missing));
    if (missing != 0) {
        struct cd_buf key = {0}, why = {0};
        log_slot_key(&key, c->session, missing);
        cd_buf_addf(&why, "it was stored once: the record says %llu, the last listed slot is %llu",
                    (unsigned long long)c->lease->log.slot,
                    (unsigned long long)(c->listed.count == 0 ? 0 : c->listed.slot[c->listed.count - 1]));
        rc = log_rec_corrupt(c, "log_slot_missing", cd_buf_str(&key), cd_buf_cstr(&why));
        cd_buf_deinit(&key);
        cd_buf_deinit(&why);
        goto done;
    }
    c->last_batch = batch_below(c, h, CD_PLANT("recover.batch-of-leftover") ? UINT64_MAX : run);
    rc = seal_create(c, run + 1);
done:
    cd_free(h);
    return rc;
}
