/* The observers of cells against hand-written histories: a good one of two sessions, and each bad one, which
 * is caught by the invariant named for it. */
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
    const char *by; /* Whose requests these are. */
    struct cd_buf key, body;
    char pages[2 * PAGE]; /* The database of CELL. */
};

/* A transaction of CELL that writes both pages of its database. */
struct tx {
    uint64_t epoch, min, max, base_epoch, base_txid; /* max 0: min */
    bool marker, note, unseen; /* unseen: the workload says nothing of it. */
    unsigned seed;
    uint64_t due_ms, seq; /* The alarm; due_ms 0: not armed */
};

static void setup(struct history *h)
{
    *h = (struct history){.t = cell_truth_new(), .z = ltx_zstd_new(), .now_ns = 1000000000, .by = ""};
}

static void teardown(struct history *h)
{
    cell_truth_free(h->t);
    ltx_zstd_free(h->z);
    cd_buf_deinit(&h->key);
    cd_buf_deinit(&h->body);
}

static void ends_at(struct history *h, const char *want, int line)
{
    const char *why, *got = cell_truth_broken(h->t, &why);
    if (want == NULL ? got != NULL : got == NULL || strcmp(got, want) != 0)
        fail_msg("line %d: got %s (%s), want %s", line, got == NULL ? "nothing" : got, why,
                 want == NULL ? "nothing" : want);
    assert_true((got == NULL) == (why[0] == 0));
    teardown(h);
}

#define ends(h, want) ends_at(h, want, __LINE__)

static void put(struct history *h)
{
    h->now_ns += 1000000;
    cell_truth_change(h->t, &(struct cell_change){cd_buf_str(&h->key), true, cd_buf_str(&h->body),
                                                  cd_str(h->by), h->now_ns});
    cd_buf_clear(&h->key);
    cd_buf_clear(&h->body);
}

static void delete (struct history *h)
{
    h->now_ns += 1000000;
    cell_truth_change(h->t, &(struct cell_change){.key = cd_buf_str(&h->key), .now_ns = h->now_ns});
    cd_buf_clear(&h->key);
}

static void owner(struct history *h, const char *session, uint64_t epoch)
{
    struct store_owner o = {.epoch = epoch};
    (void)snprintf(o.session, sizeof o.session, "%s", session);
    store_key_owner(&h->key, CD_STR(CELL));
    store_owner_write(&h->body, &o);
    put(h);
}

/* state: -1: no log yet; else enum store_log_state. */
static void lease(struct history *h, const char *session, int state, uint64_t seal)
{
    struct store_lease l = {
        .expires_ms = h->now_ns / 1000000 + TTL_MS, .ttl_ms = TTL_MS, .seq = h->now_ns, .peer_protocol = 1};
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
        if (l.log.state == STORE_LOG_RECOVERING) {
            (void)snprintf(l.log.claimant, sizeof l.log.claimant, "%s", B);
            l.log.claimed_ms = 1;
        }
    }
    store_key_lease(&h->key, node);
    store_lease_write(&h->body, &l);
    put(h);
}

static struct cd_buf segment(struct history *h, const struct tx *x)
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
static void slot_of(struct history *h, const char *session, uint64_t number, uint64_t batch, uint8_t id,
                    const struct tx *x)
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

static void slot(struct history *h, const char *session, uint64_t number, const struct tx *x)
{
    slot_of(h, session, number, number, 1, x);
}

static void seal(struct history *h, const char *session, const char *by, uint64_t number)
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

static void object(struct history *h, const struct tx *x)
{
    ltx_key(&h->key,
            &(struct ltx_name){CD_STR(CELL), x->epoch, LTX_L0, x->min, x->max == 0 ? x->min : x->max});
    struct cd_buf bytes = segment(h, x);
    cd_buf_add_str(&h->body, cd_buf_str(&bytes));
    cd_buf_deinit(&bytes);
    put(h);
}

static void floor_at(struct history *h, const char *session, uint64_t number)
{
    struct store_floor f = {.floor = number, .batch = number};
    store_key_floor(&h->key, cd_str(session));
    store_floor_write(&h->body, &f);
    put(h);
}

static void slot_goes(struct history *h, const char *session, uint64_t number)
{
    log_slot_key(&h->key, cd_str(session), number);
    delete (h);
}

static void shows(struct history *h, const char *session, uint64_t epoch, uint64_t txid)
{
    cell_truth_output(h->t, &(struct cell_output){cd_str(session), CD_STR(CELL), epoch, txid, h->now_ns});
}

static void pack(struct history *h, const char *session, uint64_t epoch, uint64_t seq)
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
static void two(struct history *h)
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
static void sealing(struct history *h)
{
    h->by = "n2.1";
    lease(h, B, -1, 0);
    lease(h, A, STORE_LOG_RECOVERING, 0);
    seal(h, A, B, 3);
}

static void folding(struct history *h)
{
    object(h, &T1);
    object(h, &T2);
}

/* B has taken the cell over and written to it. */
static void taken(struct history *h)
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

static void test_a_takeover_by_the_rules_is_fine(void **state)
{
    (void)state;
    struct history h;
    taken(&h);
    cell_truth_audit(h.t);
    slot_goes(&h, A, 1);
    slot_goes(&h, A, 2);
    object(&h, &U3);
    floor_at(&h, B, 1);
    slot_goes(&h, B, 1);
    seal(&h, B, B, 2);
    lease(&h, B, STORE_LOG_SEALED, 2);
    owner(&h, "", 2);
    cell_truth_audit_rest(h.t);
    struct cell_truth_counts n = cell_truth_counts(h.t);
    assert_int_equal(n.rows, 3);
    assert_int_equal(n.takeovers, 1);
    assert_int_equal(n.revealing, 2);
    assert_true(n.restores >= 2);
    ends(&h, NULL);
}

static void test_I1_epochs_and_transitions(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    owner(&h, A, 1);
    ends(&h, "I1"); /* Again. */
    two(&h);
    owner(&h, A, 3);
    ends(&h, "I1"); /* Skipped one. */
    two(&h);
    owner(&h, "", 2);
    ends(&h, "I1"); /* Released at an epoch that it had not. */
    two(&h);
    store_key_owner(&h.key, CD_STR(CELL));
    delete (&h);
    ends(&h, "I1");
    two(&h);
    h.by = "n2.1";
    lease(&h, B, -1, 0);
    folding(&h);
    owner(&h, "", 1);
    ends(&h, "I1"); /* B releases what is A's. */
    two(&h);
    h.by = "n2.1";
    lease(&h, B, STORE_LOG_OPEN, 0);
    slot(&h, B, 1, &T3);
    ends(&h, "I1"); /* Two sessions write one epoch. */
    two(&h);
    cell_truth_runs(h.t, cd_str(B), CD_STR(CELL), 1);
    ends(&h, "I1");
    two(&h);
    object(&h, &T1);
    object(&h, &T2);
    object(&h, &T3);
    ends(&h, "I1"); /* An object of a row that nobody proved. */
    two(&h);
    owner(&h, A, 2);
    slot(&h, A, 3, &U3);
    slot(&h, A, 4, &T3);
    ends(&h, "I1"); /* The epoch was over. */
}

static void test_I2_what_is_shown_is_in_the_bucket(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    shows(&h, A, 1, 1);
    shows(&h, A, 1, 2);
    ends(&h, NULL);
    two(&h);
    shows(&h, A, 1, 3);
    ends(&h, "I2"); /* Not sent yet. */
    two(&h);
    slot_of(&h, A, 4, 4, 1, &(struct tx){.epoch = 1, .min = 4, .seed = 4});
    shows(&h, A, 1, 4);
    ends(&h, "I2"); /* Slot 3 is not there. */
    two(&h);
    sealing(&h);
    slot(&h, A, 4, &T3);
    shows(&h, A, 1, 3);
    ends(&h, "I2"); /* Above the seal. */
    taken(&h);
    shows(&h, B, 2, 4);
    ends(&h, "I2");
    two(&h);
    owner(&h, A, 2);
    shows(&h, A, 2, 2); /* Read only: what its predecessor had. */
    ends(&h, NULL);
    two(&h);
    owner(&h, A, 2);
    shows(&h, A, 2, 3);
    ends(&h, "I2");
    two(&h);
    folding(&h);
    floor_at(&h, A, 2);
    slot_goes(&h, A, 1);
    slot_goes(&h, A, 2);
    shows(&h, A, 1, 2);
    ends(&h, NULL); /* Folded. */
}

static void test_I3_slots_and_seals(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    slot(&h, A, 2, &T3);
    ends(&h, "I3"); /* Written again. */
    two(&h);
    slot_of(&h, A, 3, 2, 1, &T3);
    ends(&h, "I3"); /* Batch 2 has another content. */
    two(&h);
    slot_of(&h, A, 3, 4, 1, &T3);
    ends(&h, "I3"); /* Batch 3 is nowhere. */
    two(&h);
    folding(&h);
    floor_at(&h, A, 1);
    slot_goes(&h, A, 1);
    slot(&h, A, 1, &T1);
    ends(&h, NULL); /* A late one of the same bytes. */
    two(&h);
    folding(&h);
    floor_at(&h, A, 1);
    slot_goes(&h, A, 1);
    slot_of(&h, A, 1, 1, 2, &T1);
    ends(&h, "I3"); /* Of another id. */
    two(&h);
    slot(&h, A, 5, &T3);
    ends(&h, "I3"); /* Beyond the window. */
    setup(&h);
    lease(&h, A, -1, 0);
    owner(&h, A, 1);
    slot(&h, A, 1, &T1);
    ends(&h, "I3"); /* Before the record says open. */
    two(&h);
    seal(&h, A, B, 3);
    ends(&h, "I3"); /* Before the record says recovering. */
    two(&h);
    seal(&h, A, A, 3);
    ends(&h, NULL); /* Its own. */
    two(&h);
    lease(&h, A, STORE_LOG_RECOVERING, 0);
    seal(&h, A, B, 4);
    ends(&h, "I3"); /* Not in the first free slot. */
    two(&h);
    sealing(&h);
    seal(&h, A, B, 4);
    ends(&h, "I3"); /* A second one. */
    two(&h);
    log_slot_key(&h.key, CD_STR(A), 3);
    cd_buf_add_str(&h.body, CD_STR("no slot"));
    put(&h);
    ends(&h, "I3");
}

static void test_I4_sealed_means_recovered(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    h.by = "n2.1";
    lease(&h, B, -1, 0);
    owner(&h, B, 2);
    ends(&h, "I4"); /* No seal at all. */
    two(&h);
    sealing(&h);
    folding(&h);
    owner(&h, B, 2);
    ends(&h, "I4"); /* Sealed, and the record does not say so. */
    two(&h);
    sealing(&h);
    object(&h, &T1);
    lease(&h, A, STORE_LOG_SEALED, 3);
    ends(&h, "I4"); /* T2 is not folded. */
    two(&h);
    object(&h, &T1);
    owner(&h, "", 1);
    ends(&h, "I4"); /* Released without a restore path. */
    two(&h);
    lease(&h, A, STORE_LOG_SEALED, 0);
    ends(&h, "I4"); /* Without a seal. */
    two(&h);
    h.by = "n1.2";
    lease(&h, A2, -1, 0);
    ends(&h, "I4"); /* A new process, over an open log. */
    two(&h);
    lease(&h, A, -1, 0);
    ends(&h, "I4"); /* A renewal drops the log. */
    two(&h);
    sealing(&h);
    lease(&h, A, STORE_LOG_OPEN, 0);
    ends(&h, "I4"); /* A renewal undoes the recovery. */
    two(&h);
    store_key_lease(&h.key, CD_STR("a"));
    delete (&h);
    ends(&h, "I4");
    two(&h);
    cell_truth_audit_rest(h.t);
    ends(&h, "I4"); /* Left in the end. */
    two(&h);
    folding(&h);
    owner(&h, "", 1);
    lease(&h, B, -1, 0);
    h.by = "n2.1";
    owner(&h, B, 2);
    ends(&h, NULL); /* Released, taken. */
}

static void test_I5_what_goes_is_covered(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    folding(&h);
    slot_goes(&h, A, 1);
    ends(&h, "I5"); /* Above the floor. */
    two(&h);
    object(&h, &T1);
    floor_at(&h, A, 2);
    ends(&h, "I5"); /* The floor passes T2. */
    two(&h);
    folding(&h);
    floor_at(&h, A, 2);
    floor_at(&h, A, 1);
    ends(&h, "I5"); /* It falls. */
    two(&h);
    folding(&h);
    floor_at(&h, A, 3);
    ends(&h, "I5"); /* It passes what is not there. */
    taken(&h);
    slot_goes(&h, A, 3);
    ends(&h, "I5"); /* The seal. */
    two(&h);
    object(&h, &T1);
    ltx_key(&h.key, &(struct ltx_name){CD_STR(CELL), 1, LTX_L0, 1, 1});
    delete (&h);
    ends(&h, "I5");
}

static void test_I7_restores_give_what_was_committed(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    object(&h, &T1);
    object(&h, &(struct tx){.epoch = 1, .min = 2, .seed = 99});
    cell_truth_audit(h.t);
    ends(&h, "I7"); /* Other pages. */
    two(&h);
    cell_truth_audit(h.t);
    ends(&h, NULL); /* From slots alone. */
    two(&h);
    object(&h, &T2);
    ends(&h, "I7"); /* A gap. */
    two(&h);
    ltx_key(&h.key, &(struct ltx_name){CD_STR(CELL), 1, LTX_L0, 1, 1});
    cd_buf_add_str(&h.body, CD_STR("no segment"));
    put(&h);
    ends(&h, "I7");
    two(&h);
    slot(&h, A, 3, &(struct tx){.epoch = 1, .min = 4, .seed = 4});
    ends(&h, "I7"); /* Transaction 3 is in no row. */
    two(&h);
    owner(&h, A, 2);
    slot(&h, A, 3,
         &(struct tx){.epoch = 2, .min = 2, .marker = true, .base_epoch = 1, .base_txid = 1, .seed = 5});
    ends(&h, "I7"); /* It goes on from T1, and T2 is in the history. */
    two(&h);
    owner(&h, A, 2);
    slot(&h, A, 3, &(struct tx){.epoch = 2, .min = 1, .seed = 5});
    ends(&h, "I7"); /* It begins anew. */
    two(&h);
    owner(&h, A, 2);
    slot(&h, A, 3, &U3);
    slot(&h, A, 4,
         &(struct tx){.epoch = 2, .min = 4, .marker = true, .base_epoch = 1, .base_txid = 3, .seed = 5});
    ends(&h, "I7"); /* A marker in the middle. */
    two(&h);
    folding(&h);
    floor_at(&h, A, 2);
    slot_goes(&h, A, 1);
    slot_goes(&h, A, 2);
    object(&h, &(struct tx){.epoch = 1, .min = 1, .max = 2, .seed = 3});
    cell_truth_audit(h.t);
    ends(&h, "I7"); /* A merge that went wrong. */
}

static void test_I8_bounds(void **state)
{
    (void)state;
    struct history h;
    setup(&h);
    cell_truth_bound(h.t, "cells in memory", 4, 4);
    ends(&h, NULL);
    setup(&h);
    cell_truth_bound(h.t, "cells in memory", 5, 4);
    ends(&h, "I8");
}

static void test_I9_nothing_leaves_after_the_end(void **state)
{
    (void)state;
    struct history h;
    two(&h);
    cell_truth_fence(h.t, CD_STR(A), "its lease is lost");
    ends(&h, NULL);
    two(&h);
    cell_truth_fence(h.t, CD_STR(A), "its lease is lost");
    shows(&h, A, 1, 1);
    ends(&h, "I9");
    two(&h);
    h.now_ns += (uint64_t)TTL_MS * 1000000 - 50000000;
    shows(&h, A, 1, 0);
    ends(&h, NULL);
    two(&h);
    h.now_ns += (uint64_t)TTL_MS * 1000000 + 1000000000;
    shows(&h, A, 1, 0);
    ends(&h, "I9"); /* Its lease has run out. */
    two(&h);
    h.now_ns += (uint64_t)TTL_MS * 1000000 - 50000000;
    lease(&h, A, STORE_LOG_OPEN, 0);
    h.now_ns += (uint64_t)TTL_MS * 1000000 - 50000000;
    shows(&h, A, 1, 2);
    ends(&h, NULL); /* Renewed. */
}

static void armed(struct history *h)
{
    two(h);
    slot(h, A, 3, &(struct tx){.epoch = 1, .min = 3, .seed = 3, .due_ms = DUE, .seq = 4});
    object(h, &T1);
    object(h, &T2);
    object(h, &T3);
}

static void retired(struct history *h, uint64_t epoch, uint64_t seq, bool still)
{
    store_key_wake_retired(&h->key, CD_STR(CELL));
    store_wake_retired_write(&h->body,
                             &(struct store_wake_retired){{epoch, seq}, still, still ? (uint64_t)DUE : 0});
    put(h);
}

static void test_I10_somebody_finds_an_armed_alarm(void **state)
{
    (void)state;
    struct history h;
    struct cell_alarm_state a;
    armed(&h);
    assert_true(cell_truth_alarm(h.t, CD_STR(CELL), &a));
    assert_true(a.armed && a.due_ms == DUE && a.epoch == 1 && a.seq == 4);
    cell_truth_audit(h.t);
    ends(&h, NULL); /* Its session does. */
    armed(&h);
    floor_at(&h, A, 3);
    ends(&h, "I10"); /* A floor without a checkpoint. */
    armed(&h);
    seal(&h, A, A, 4);
    lease(&h, A, STORE_LOG_SEALED, 4);
    ends(&h, "I10"); /* Sealed without a pack. */
    armed(&h);
    pack(&h, A, 1, 4);
    seal(&h, A, A, 4);
    lease(&h, A, STORE_LOG_SEALED, 4);
    owner(&h, A, 2); /* Its next activation has not told of the alarm yet. */
    cell_truth_audit(h.t);
    ends(&h, NULL);
    armed(&h);
    pack(&h, A, 1, 4);
    seal(&h, A, A, 4);
    lease(&h, A, STORE_LOG_SEALED, 4);
    retired(&h, 2, 4, true);
    ends(&h, "I10"); /* Retired for a state that no history has. */
    armed(&h);
    slot(&h, A, 4, &(struct tx){.epoch = 1, .min = 4, .seed = 4, .seq = 5});
    object(&h, &(struct tx){.epoch = 1, .min = 4, .seed = 4});
    floor_at(&h, A, 4);
    retired(&h, 1, 5, false);
    cell_truth_audit(h.t);
    ends(&h, NULL); /* It was consumed. */
    armed(&h);
    pack(&h, A, 1, 4);
    lease(&h, B, -1, 0);
    lease(&h, A, STORE_LOG_RECOVERING, 0);
    seal(&h, A, B, 4);
    lease(&h, A, STORE_LOG_SEALED, 4);
    h.by = "n2.1";
    lease(&h, B, STORE_LOG_OPEN, 0);
    owner(&h, B, 2);
    slot(&h, B, 1, &(struct tx){.epoch = 2, .note = true, .due_ms = DUE, .seq = 4});
    retired(&h, 2, 4, true);
    cell_truth_audit(h.t);
    ends(&h, NULL); /* A note, and then the retirement. */
    armed(&h);
    store_key_wake_entry(&h.key, CD_STR(CELL), DUE + 60000, (struct store_identity){1, 4});
    cd_buf_add_str(&h.body, CD_STR("{}"));
    put(&h);
    seal(&h, A, A, 4);
    lease(&h, A, STORE_LOG_SEALED, 4);
    ends(&h, "I10"); /* An entry that is looked at too late. */
}

static void test_a_transaction_has_one_content(void **state)
{
    (void)state;
    struct history h;
    setup(&h);
    cell_truth_commit(h.t, CD_STR(CELL), 1, 1, 7);
    cell_truth_commit(h.t, CD_STR(CELL), 1, 1, 7);
    cell_truth_commit(h.t, CD_STR(CELL), 1, 1, 8);
    ends(&h, "I1");
}

CD_TESTS(cell_truth, cmocka_unit_test(test_a_takeover_by_the_rules_is_fine),
         cmocka_unit_test(test_I1_epochs_and_transitions),
         cmocka_unit_test(test_I2_what_is_shown_is_in_the_bucket), cmocka_unit_test(test_I3_slots_and_seals),
         cmocka_unit_test(test_I4_sealed_means_recovered), cmocka_unit_test(test_I5_what_goes_is_covered),
         cmocka_unit_test(test_I7_restores_give_what_was_committed), cmocka_unit_test(test_I8_bounds),
         cmocka_unit_test(test_I9_nothing_leaves_after_the_end),
         cmocka_unit_test(test_I10_somebody_finds_an_armed_alarm),
         cmocka_unit_test(test_a_transaction_has_one_content))
