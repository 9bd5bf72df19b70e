/* The observers of cells against hand-written histories: a good one of two sessions, and each bad one, which
 * is caught by the invariant named for it. */
#include "cell_history.h"

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
    cell_truth_audit_rest(h.t, false);
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
    cell_truth_audit_rest(h.t, false);
    ends(&h, "I4"); /* Left in the end. */
    two(&h);
    sealing(&h);
    cell_truth_audit_rest(h.t, false);
    ends(&h, "I4"); /* Its recovery, too, */
    two(&h);
    sealing(&h);
    cell_truth_audit_rest(h.t, true);
    ends(&h, NULL); /* but not where its node took a living one for dead. */
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
    two(&h);
    folding(&h);
    store_key_retired_epochs(&h.key, CD_STR(CELL));
    store_retired_epochs_write(&h.body, 2);
    put(&h);
    for (uint64_t txid = 1; txid <= 2; txid++) {
        ltx_key(&h.key, &(struct ltx_name){CD_STR(CELL), 1, LTX_L0, txid, txid});
        delete (&h);
    }
    object(&h, &T2);
    floor_at(&h, A, 2);
    ends(&h, NULL); /* A late object of an epoch that is gone. */
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
    h.now_ns += (uint64_t)TTL_MS * 500000;
    h.clock_ms = -(int64_t)TTL_MS;
    lease(&h, A, STORE_LOG_OPEN, 0);
    h.now_ns += (uint64_t)TTL_MS * 900000;
    shows(&h, A, 1, 0);
    ends(&h, NULL); /* Renewed, after a clock was set back. */
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
