#include "cell/rig.h"

#include "cell/id.h"

static uint64_t now_ms(void)
{
    return sim_now_ns(rig.sim) / 1000000;
}

static void test_an_alarm_runs_when_it_is_due_and_once(void **state)
{
    (void)state;
    rig_open();
    uint64_t start = now_ms();
    assert_string_equal(rig_ask("C:1", "alarm 5000"), "ok");
    rig_run(4800);
    assert_int_equal(rig.alarms, 0);
    rig_run(1000);
    assert_int_equal(rig.alarms, 1);
    assert_true(rig.last_alarm_ns / 1000000 >= start + 5000);
    assert_int_equal(rig.last_alarm.retry_count, 0);
    rig_run(120000);
    assert_int_equal(rig.alarms, 1);
    assert_string_equal(rig_ask("C:1", "get"), "100");
    rig_free();
}

static void test_a_near_alarm_is_not_held_up_by_one_that_a_step_of_the_clock_made_due(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 3600000");
    sim_clock_step(rig.node, 7200000);
    const char *const near[] = {"C:2", "C:3", "C:4", "C:5", "C:6", "C:7"}; /* On both shards. */
    for (unsigned i = 0; i < CD_COUNT(near); i++)
        (void)rig_ask(near[i], "alarm 500");
    rig_run(2000);
    assert_int_equal(rig.alarms, 1 + CD_COUNT(near));
    rig_free();
}

static void test_a_failed_alarm_is_retried_after_two_and_four_seconds(void **state)
{
    (void)state;
    rig_open();
    rig.alarm_fails = 2;
    (void)rig_ask("C:1", "alarm 100");
    rig_run(1000);
    assert_int_equal(rig.alarms, 1);
    uint64_t first = rig.last_alarm_ns;
    rig_run(1500);
    assert_int_equal(rig.alarms, 2);
    assert_int_equal(rig.last_alarm.retry_count, 1);
    uint64_t second = rig.last_alarm_ns;
    assert_true(second - first >= IO_MS(2000) && second - first < IO_MS(2500));
    rig_run(4500);
    assert_int_equal(rig.alarms, 3);
    assert_true(rig.last_alarm_ns - second >= IO_MS(4000));
    rig_run(60000);
    assert_int_equal(rig.alarms, 3);
    rig_free();
}

static void test_a_dormant_cell_wakes_for_its_alarm(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 7200000"); /* Far enough to let it go. */
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "evicted");
    assert_string_equal(rig_phase("C:1"), "unknown");
    rig_run(7100000);
    assert_int_equal(rig.starts, 1);
    rig_run(200000);
    assert_int_equal(rig.starts, 2);
    assert_int_equal(rig.alarms, 1);
    rig_free();
}

static void test_an_alarm_that_is_near_keeps_the_cell(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 60000");
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "alarm_imminent");
    rig_free();
}

static void test_a_hint_makes_the_owner_look_and_fires_only_what_is_due(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 60000");
    rig_crash(); /* The timers of that process are gone. */
    rig_restart();
    rig_run(100000);
    assert_int_equal(rig.alarms, 0);
    cell_wake_scope(rig.router, sim_io(rig.node, 0), CD_STR("C:1"));
    rig_run(1000);
    assert_int_equal(rig.alarms, 1);
    (void)rig_ask("C:1", "alarm 60000");
    rig_crash();
    rig_restart();
    cell_wake_scope(rig.router, sim_io(rig.node, 0), CD_STR("C:1"));
    rig_run(1000);
    assert_int_equal(rig.alarms, 1);
    rig_run(60000);
    assert_int_equal(rig.alarms, 2);
    assert_true(fake.duties >= 2);
    assert_true(fake.retired >= 2); /* Whatever hinted is settled. */
    rig_free();
}

static void test_an_alarm_whose_wake_fails_is_looked_at_again(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 7200000");
    rig_evict("C:1");
    fake.claim_end = FLEET_CLAIM_FAILED;
    rig_run(7300000);
    assert_int_equal(rig.alarms, 0);
    fake.claim_end = FLEET_CLAIM_OWNED;
    rig_run(60000);
    assert_int_equal(rig.alarms, 1);
    rig_free();
}

static void test_an_alarm_whose_commit_is_not_proven_runs_again(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask("C:1", "alarm 5000"), "ok");
    rig_run(4000);
    fake.stall = fake.uncut = true;
    rig_run(10000);
    assert_int_equal(rig.alarms, 1);
    rig_run(3000);
    assert_int_equal(rig.stops[CELL_STOP_RESET], 1);
    fake.stall = fake.uncut = false;
    rig_run(5000);
    assert_true(rig.alarms >= 2); /* At least once. */
    assert_string_equal(rig_ask("C:1", "get"), "100"); /* But its effect counts once. */
    rig_free();
}

static void test_an_alarm_that_resets_its_cell_comes_back_less_and_less_often(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "alarm 100");
    rig.alarm_aborts = true;
    rig_run(60000);
    assert_int_in_range(rig.alarms, 6, 10);
    rig.alarm_aborts = false;
    rig_run(120000);
    assert_string_equal(rig_ask("C:1", "get"), "100");
    rig_free();
}

static void test_a_request_while_an_alarm_runs_is_served(void **state)
{
    (void)state;
    rig_open();
    rig.alarm_hangs = true;
    (void)rig_ask("C:1", "alarm 100");
    rig_run(500);
    assert_int_equal(rig.alarms, 1);
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "cell_active");
    rig_free();
}

CD_TESTS(alarm, cmocka_unit_test(test_an_alarm_runs_when_it_is_due_and_once),
         cmocka_unit_test(test_a_near_alarm_is_not_held_up_by_one_that_a_step_of_the_clock_made_due),
         cmocka_unit_test(test_a_failed_alarm_is_retried_after_two_and_four_seconds),
         cmocka_unit_test(test_a_dormant_cell_wakes_for_its_alarm),
         cmocka_unit_test(test_an_alarm_that_is_near_keeps_the_cell),
         cmocka_unit_test(test_a_hint_makes_the_owner_look_and_fires_only_what_is_due),
         cmocka_unit_test(test_an_alarm_whose_wake_fails_is_looked_at_again),
         cmocka_unit_test(test_an_alarm_whose_commit_is_not_proven_runs_again),
         cmocka_unit_test(test_an_alarm_that_resets_its_cell_comes_back_less_and_less_often),
         cmocka_unit_test(test_a_request_while_an_alarm_runs_is_served))
