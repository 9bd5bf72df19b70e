/* tests/sim/cell_history.h: a bucket written by hand, for the tests of the observers of cells: sessions a and
 * b, one cell, its transactions. */
#ifndef TESTS_SIM_CELL_HISTORY_H
#define TESTS_SIM_CELL_HISTORY_H

#include "sim/cell_truth.h"

#include "log/slot.h"
#include "ltx/ltx.h"
#include "store/records.h"
#include "store/wake.h"
#include "support/test.h"

#define A "a/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define A2 "a/1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "b/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CELL "Room:x"
#define PAGE 512u
#define DUE 6000000
#define TTL_MS 10000u

struct history {
    struct cell_truth *t;
    struct ltx_zstd *z;
    uint64_t now_ns;
    int64_t clock_ms; /* Set forward by so much. */
    const char *by; /* Whose requests these are. */
    struct cd_buf key, body;
    char pages[2 * PAGE]; /* The database of CELL. */
    /* The followers of a session, n2 and n3, when it has any. */
    uint64_t log_epoch; /* 0: none. */
    bool acks;
    unsigned held[2]; /* Batches behind the second on their disks. */
};

/* A transaction of CELL that writes both pages of its database. */
struct tx {
    uint64_t epoch, min, max, base_epoch, base_txid; /* max 0: min */
    bool marker, note, unseen; /* unseen: the workload says nothing of it. */
    unsigned seed;
    uint64_t due_ms, seq; /* The alarm; due_ms 0: not armed */
};

static inline void setup(struct history *h)
{
    *h = (struct history){.t = cell_truth_new(), .z = ltx_zstd_new(), .now_ns = 1000000000, .by = ""};
}

static inline void teardown(struct history *h)
{
    cell_truth_free(h->t);
    ltx_zstd_free(h->z);
    cd_buf_deinit(&h->key);
    cd_buf_deinit(&h->body);
}

static inline void ends_at(struct history *h, const char *want, int line)
{
    const char *why, *got = cell_truth_broken(h->t, &why);
    if (want == NULL ? got != NULL : got == NULL || strcmp(got, want) != 0)
        fail_msg("line %d: got %s (%s), want %s", line, got == NULL ? "nothing" : got, why,
                 want == NULL ? "nothing" : want);
    assert_true((got == NULL) == (why[0] == 0));
    teardown(h);
}

#define ends(h, want) ends_at(h, want, __LINE__)

static inline void put(struct history *h)
{
    h->now_ns += 1000000;
    cell_truth_change(h->t, &(struct cell_change){cd_buf_str(&h->key), true, cd_buf_str(&h->body),
                                                  cd_str(h->by), h->now_ns});
    cd_buf_clear(&h->key);
    cd_buf_clear(&h->body);
}

static inline void delete (struct history *h)
{
    h->now_ns += 1000000;
    cell_truth_change(h->t, &(struct cell_change){.key = cd_buf_str(&h->key), .now_ns = h->now_ns});
    cd_buf_clear(&h->key);
}

static inline void owner(struct history *h, const char *session, uint64_t epoch)
{
    struct store_owner o = {.epoch = epoch};
    (void)snprintf(o.session, sizeof o.session, "%s", session);
    store_key_owner(&h->key, CD_STR(CELL));
    store_owner_write(&h->body, &o);
    put(h);
}

/* state: -1: no log yet; else enum store_log_state. */
static inline void lease(struct history *h, const char *session, int state, uint64_t seal)
{
    struct store_lease l = {.expires_ms = (uint64_t)((int64_t)(h->now_ns / 1000000) + h->clock_ms) + TTL_MS,
                            .ttl_ms = TTL_MS,
                            .seq = h->now_ns,
                            .peer_protocol = 1};
    struct cd_str node, generation;
    assert_true(store_session_split(cd_str(session), &node, &generation));
    memcpy(l.node, node.ptr, node.len);
    memcpy(l.generation, generation.ptr, generation.len);
    memset(l.probe_key, 'a', STORE_GENERATION_LEN);
    store_load_init(&l.load);
    if (state >= 0) {
        l.has_log = true;
        l.log.state = (enum store_log_state)state;
        l.log.seal = seal;
        l.log.epoch = h->log_epoch;
        l.log.may_have_fleet_acks = h->acks;
        l.log.ensemble_count = h->log_epoch == 0 ? 0 : 2;
        memcpy(l.log.ensemble[0], "n2", 3);
        memcpy(l.log.ensemble[1], "n3", 3);
        if (l.log.state == STORE_LOG_RECOVERING) {
            (void)snprintf(l.log.claimant, sizeof l.log.claimant, "%s", B);
            l.log.claimed_ms = 1;
        }
    }
    store_key_lease(&h->key, node);
    store_lease_write(&h->body, &l);
    put(h);
}

static inline struct cd_buf segment(struct history *h, const struct tx *x)
{
    struct ltx_builder b = {0};
    struct cd_buf out = {0};
    bool whole = !x->marker && x->min == 1;
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(h->pages + i * PAGE, PAGE, "page %u of %u", i, x->seed);
        ltx_builder_page(&b, h->z, i + 1, h->pages + i * PAGE, PAGE);
    }
    struct ltx_header head = {.flags = whole       ? LTX_SNAPSHOT
                                       : x->marker ? LTX_MARKER
                                                   : 0,
                              .page_size = PAGE,
                              .commit = 2,
                              .min_txid = x->min,
                              .max_txid = x->max == 0 ? x->min : x->max,
                              .epoch = x->epoch,
                              .scope_hash = ltx_scope_hash(CD_STR(CELL)),
                              .base_epoch = x->base_epoch,
                              .base_txid = x->base_txid};
    ltx_builder_finish(&b, h->z, &head, whole ? 0 : 2, &out);
    return out;
}

/* Slot number of session with one batch of the same number and one row; id tells slots apart. */
static inline void slot_of(struct history *h, const char *session, uint64_t number, uint64_t batch,
                           uint8_t id, const struct tx *x)
{
    struct log_slot_out out;
    struct log_batch_out in;
    uint8_t digest[LOG_SHA256_SIZE];
    struct log_slot_head head = {
        .kind = LOG_SLOT_BATCHES, .slot = number, .first_batch = batch, .last_batch = batch, .pipeline = 2};
    memset(head.id, id, sizeof head.id);
    struct log_row *r = log_row_new(CD_STR(CELL), x->epoch);
    r->kind = x->note ? LOG_ROW_NOTE : LOG_ROW_BYTES;
    r->alarm = (struct log_alarm){x->due_ms > 0, (int64_t)x->due_ms, x->seq};
    if (!x->note) {
        r->min_txid = x->min;
        r->max_txid = x->max == 0 ? x->min : x->max;
        r->ltx = segment(h, x);
        if (!x->unseen)
            cell_truth_commit(h->t, CD_STR(CELL), x->epoch, r->max_txid,
                              cell_truth_pages(cd_str_of(h->pages, sizeof h->pages), PAGE));
    }
    log_slot_begin(&out, &h->body, cd_str(session), &head);
    log_batch_begin(&in, &h->body, cd_str(session), batch, 0, 0);
    log_batch_add(&in, r);
    log_batch_end(&in, digest);
    log_slot_batch(&out, digest);
    log_slot_end(&out);
    log_row_free(r);
    log_slot_key(&h->key, cd_str(session), number);
    put(h);
}

static inline void slot(struct history *h, const char *session, uint64_t number, const struct tx *x)
{
    slot_of(h, session, number, number, 1, x);
}

static inline void seal(struct history *h, const char *session, const char *by, uint64_t number)
{
    struct log_slot_head head = {.kind = LOG_SLOT_SEAL,
                                 .slot = number,
                                 .first_batch = number,
                                 .last_batch = number - 1,
                                 .pipeline = 2};
    log_slot_seal(&h->body, cd_str(session), &head, &(struct log_seal_text){cd_str(by), 1, 2});
    log_slot_key(&h->key, cd_str(session), number);
    put(h);
}

static inline void object(struct history *h, const struct tx *x)
{
    ltx_key(&h->key,
            &(struct ltx_name){CD_STR(CELL), x->epoch, LTX_L0, x->min, x->max == 0 ? x->min : x->max});
    struct cd_buf bytes = segment(h, x);
    cd_buf_add_str(&h->body, cd_buf_str(&bytes));
    cd_buf_deinit(&bytes);
    put(h);
}

static inline void floor_at(struct history *h, const char *session, uint64_t number)
{
    struct store_floor f = {.floor = number, .batch = number};
    store_key_floor(&h->key, cd_str(session));
    store_floor_write(&h->body, &f);
    put(h);
}

static inline void slot_goes(struct history *h, const char *session, uint64_t number)
{
    log_slot_key(&h->key, cd_str(session), number);
    delete (h);
}

static inline void shows(struct history *h, const char *session, uint64_t epoch, uint64_t txid)
{
    cell_truth_output(h->t, &(struct cell_output){cd_str(session), CD_STR(CELL), epoch, txid, h->now_ns});
}

static inline void pack(struct history *h, const char *session, uint64_t epoch, uint64_t seq)
{
    struct store_alarm a = {CD_STR(CELL), {epoch, seq}, DUE};
    store_pack_write(&h->body, &h->key, cd_str(session), &a, 1);
    put(h);
}

static const struct tx T1 = {.epoch = 1, .min = 1, .seed = 1}, T2 = {.epoch = 1, .min = 2, .seed = 2},
                       T3 = {.epoch = 1, .min = 3, .seed = 3};
/* The first of the next owner. */
static const struct tx U3 = {
    .epoch = 2, .min = 3, .marker = true, .base_epoch = 1, .base_txid = 2, .seed = 7};

/* A owns the cell and has two transactions in its slots. */
static inline void two(struct history *h)
{
    setup(h);
    h->by = "n1.1";
    lease(h, A, -1, 0);
    owner(h, A, 1);
    lease(h, A, STORE_LOG_OPEN, 0);
    slot(h, A, 1, &T1);
    slot(h, A, 2, &T2);
}

/* Of the dead A: sealed behind its slots, by B. */
static inline void sealing(struct history *h)
{
    h->by = "n2.1";
    lease(h, B, -1, 0);
    lease(h, A, STORE_LOG_RECOVERING, 0);
    seal(h, A, B, 3);
}

static inline void folding(struct history *h)
{
    object(h, &T1);
    object(h, &T2);
}

/* B has taken the cell over and written to it. */
static inline void taken(struct history *h)
{
    two(h);
    shows(h, A, 1, 2);
    sealing(h);
    folding(h);
    lease(h, A, STORE_LOG_SEALED, 3);
    owner(h, B, 2);
    lease(h, B, STORE_LOG_OPEN, 0);
    slot(h, B, 1, &U3);
    shows(h, B, 2, 3);
}

#endif
