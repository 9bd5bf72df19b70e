/* What recovery decides, by tables. */
#include "fixture.h"

#include "log/alarms.h"
#include "log/recover_rule.h"

#define GEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_who_may_recover_a_session_and_when(void **state)
{
    (void)state;
    static const struct {
        int64_t expires_ms;
        bool log, fleet, mine, sole;
        enum store_log_state is;
        int64_t claimed_ms;
        enum log_recover_mode mode;
        enum log_gate want;
    } rows[] = {
        {101, true, false, false, false, STORE_LOG_OPEN, 0, LOG_RECOVER_SWEEP, LOG_GATE_ALIVE},
        {101, true, false, false, true, STORE_LOG_OPEN, 0, LOG_RECOVER_SWEEP, LOG_GATE_CLAIM},
        {100, true, false, false, false, STORE_LOG_OPEN, 0, LOG_RECOVER_SWEEP, LOG_GATE_CLAIM},
        {100, false, false, false, false, STORE_LOG_OPEN, 0, LOG_RECOVER_TAKEOVER, LOG_GATE_NEVER_LOGGED},
        {100, true, true, false, false, STORE_LOG_OPEN, 0, LOG_RECOVER_TAKEOVER, LOG_GATE_CLAIM},
        {101, true, false, false, false, STORE_LOG_SEALED, 0, LOG_RECOVER_TAKEOVER, LOG_GATE_ALIVE},
        {101, true, false, false, false, STORE_LOG_SEALED, 0, LOG_RECOVER_BOOT, LOG_GATE_FINISHED},
        {100, true, true, false, false, STORE_LOG_SEALED, 0, LOG_RECOVER_SWEEP, LOG_GATE_FINISHED},
        {100, true, false, true, false, STORE_LOG_RECOVERING, 0, LOG_RECOVER_SWEEP, LOG_GATE_OURS},
        {100, true, false, false, false, STORE_LOG_RECOVERING, 100 - 29999, LOG_RECOVER_SWEEP,
         LOG_GATE_OTHERS},
        {100, true, false, false, false, STORE_LOG_RECOVERING, 100 - 30000, LOG_RECOVER_SWEEP,
         LOG_GATE_CLAIM},
        {100, true, false, false, true, STORE_LOG_RECOVERING, 100, LOG_RECOVER_BOOT, LOG_GATE_CLAIM},
    };
    const int64_t later = 1000000; /* So that no time is negative. */
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct store_lease l = {.generation = GEN,
                                .expires_ms = (uint64_t)(rows[i].expires_ms + later),
                                .has_log = rows[i].log,
                                .log = {.state = rows[i].is,
                                        .may_have_fleet_acks = rows[i].fleet,
                                        .claimed_ms = (uint64_t)(rows[i].claimed_ms + later)}};
        memcpy(l.log.claimant, rows[i].mine ? OTHER : SESSION, sizeof SESSION);
        enum log_gate got =
            log_gate_decide(&l, CD_STR(GEN), CD_STR(OTHER), rows[i].mode, 100 + later, rows[i].sole);
        if (got != rows[i].want)
            fail_msg("row %zu: %d, want %d", i, (int)got, (int)rows[i].want);
    }
    struct store_lease next = {.expires_ms = UINT32_MAX};
    memset(next.generation, 'f', STORE_GENERATION_LEN);
    assert_int_equal(log_gate_decide(&next, CD_STR(GEN), CD_STR(OTHER), LOG_RECOVER_SWEEP, 1, false),
                     LOG_GATE_FINISHED);
    assert_int_equal(log_gate_decide(NULL, CD_STR(GEN), CD_STR(OTHER), LOG_RECOVER_SWEEP, 1, false),
                     LOG_GATE_NO_LEASE);
}

static void test_the_run_of_slots_and_what_is_missing_in_it(void **state)
{
    (void)state;
    struct log_listed l = {0};
    static const uint64_t slots[] = {9, 4, 5, 7, 4};
    assert_int_equal(log_listed_run(&l, 3), 3);
    assert_int_equal(log_listed_missing(&l, 3, 3, 0), 0);
    assert_int_equal(log_listed_missing(&l, 3, 4, 0), 4);
    for (size_t i = 0; i < CD_COUNT(slots); i++)
        log_listed_slot(&l, slots[i], 10 * slots[i]);
    assert_int_equal(l.count, 4);
    assert_int_equal(l.size[log_listed_find(&l, 7)], 70);
    assert_true(log_listed_find(&l, 6) == SIZE_MAX);
    assert_int_equal(log_listed_run(&l, 3), 5);
    assert_int_equal(log_listed_missing(&l, 5, 5, 4), 0); /* 7 and 9 are what the pipeline left. */
    assert_int_equal(log_listed_missing(&l, 5, 5, 3), 6); /* 9 was written only when 6 was stored. */
    assert_int_equal(log_listed_missing(&l, 5, 6, 4), 6);
    log_listed_consent(&l, 6);
    assert_true(log_listed_consented(&l, 6));
    assert_int_equal(log_listed_run(&l, 3), 7);
    log_listed_deinit(&l);
}

static void test_a_row_attaches_to_what_its_prefix_has(void **state)
{
    (void)state;
    assert_int_equal(log_attach(7, 6, 7, false), LOG_ATTACH_COVERED);
    assert_int_equal(log_attach(7, 6, 8, false), LOG_ATTACH_NEXT);
    assert_int_equal(log_attach(7, 8, 8, false), LOG_ATTACH_NEXT);
    assert_int_equal(log_attach(7, 9, 9, true), LOG_ATTACH_GAP);
    assert_int_equal(log_attach(0, 1, 1, false), LOG_ATTACH_GAP);
    assert_int_equal(log_attach(0, 5, 5, true), LOG_ATTACH_NEXT);
}

static void test_the_higher_identity_of_an_alarm_wins(void **state)
{
    (void)state;
    struct log_alarms a = {.keep = true};
    struct cd_str x = CD_STR("Room:x");
    size_t count;
    log_alarms_apply(&a, x, (struct store_identity){2, 5}, true, 50, 3);
    log_alarms_apply(&a, x, (struct store_identity){1, 9}, true, 90, 4);
    assert_true(log_alarms_need_checkpoint(&a, 3));
    assert_false(log_alarms_need_checkpoint(&a, 2));
    log_alarms_apply(&a, x, (struct store_identity){2, 5}, true, 50, 6); /* A later row says it again. */
    assert_false(log_alarms_need_checkpoint(&a, 5));
    struct store_alarm *list = log_alarms_list(&a, &count);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].due_ms, 50);
    cd_free(list);
    log_alarms_apply(&a, x, (struct store_identity){2, 6}, false, 0, 7);
    log_alarms_apply(&a, x, (struct store_identity){2, 5}, true, 50,
                     8); /* An old state does not come back. */
    assert_null(log_alarms_list(&a, &count));
    log_alarms_apply(&a, x, (struct store_identity){3, 6}, true, 60, 9);
    log_alarms_remove(&a, x, 2); /* Of an epoch before: not its alarm. */
    assert_int_equal(a.armed, 1);
    log_alarms_remove(&a, x, 3);
    assert_int_equal(a.armed, 0);
    log_alarms_deinit(&a);
}

static void test_a_member_is_a_witness_or_none_only_when_that_is_certain(void **state)
{
    (void)state;
    struct log_member good = {.has_lease = true,
                              .expired_ms = -1000,
                              .ttl_ms = 10000,
                              .reached = true,
                              .seal_status = 200,
                              .tail_status = 200,
                              .seal = {.base = 4, .end = 9, .held = 3, .certified = 3},
                              .tail = {.epoch = 3, .base = 4, .end = 9, .complete = true}};
    struct log_member m = good;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_WITNESS);
    m.expired_ms = 100000; /* What it says counts, however long its lease is over. */
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_WITNESS);
    assert_int_equal(log_member_verdict(&m, 4), LOG_MEMBER_NONE); /* It holds another fragment. */
    m.seal_status = 503;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    m = good;
    m.tail_status = 0;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    assert_int_equal(log_member_verdict(&m, 4), LOG_MEMBER_UNKNOWN);
    m = good;
    m.tail.end = 8;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    m = good;
    m.tail.complete = false;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN); /* It contradicts itself. */
    m.seal.certified = 0;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_NONE);
    m = (struct log_member){.has_lease = true, .ttl_ms = 10000, .expired_ms = 30000};
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    m.expired_ms = 30001;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_NONE);
    m.ttl_ms = 1000; /* Twenty seconds at least. */
    m.expired_ms = 20000;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    m.expired_ms = 20001;
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_NONE);
    m.reached = true; /* Something took the connection: it may live. */
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN);
    m = (struct log_member){.ttl_ms = 10000, .expired_ms = 90000};
    assert_int_equal(log_member_verdict(&m, 3), LOG_MEMBER_UNKNOWN); /* Without a lease: who knows where. */
}

CD_TESTS(recover_rule, cmocka_unit_test(test_a_member_is_a_witness_or_none_only_when_that_is_certain),
         cmocka_unit_test(test_who_may_recover_a_session_and_when),
         cmocka_unit_test(test_the_run_of_slots_and_what_is_missing_in_it),
         cmocka_unit_test(test_a_row_attaches_to_what_its_prefix_has),
         cmocka_unit_test(test_the_higher_identity_of_an_alarm_wins))
