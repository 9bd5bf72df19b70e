/* The oracle of the alarms workload against hand-written histories. */
#include "sim/alarm_truth.h"
#include "support/test.h"

static struct alarm_truth truth;
static struct cd_buf why;

static uint64_t acked(int64_t due_ms, uint64_t seq)
{
    uint64_t floor = alarm_truth_floor(&truth, 1), id = alarm_truth_begin(&truth, 1, due_ms);
    assert_null(alarm_truth_ack(&truth, id, floor, seq, &why));
    return id;
}

static int setup(void **state)
{
    (void)state;
    alarm_truth_init(&truth, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alarm_truth_deinit(&truth);
    cd_buf_deinit(&why);
    return 0;
}

static void test_an_alarm_runs_at_its_time_and_again_until_it_is_seen_done(void **state)
{
    (void)state;
    uint64_t id = acked(1000, 1);
    assert_null(alarm_truth_run(&truth, 1, id, 1000, 0, 1000, &why));
    assert_null(alarm_truth_run(&truth, 1, id, 1000, 0, 1500, &why)); /* The first run's commit was lost. */
    assert_null(alarm_truth_state(&truth, 1, 1, 1, id, false, &why));
    assert_string_equal(alarm_truth_run(&truth, 1, id, 1000, 0, 2000, &why), "alarm.again");
}

static void test_an_alarm_before_its_time_is_early(void **state)
{
    (void)state;
    uint64_t id = acked(1000, 1);
    assert_string_equal(alarm_truth_run(&truth, 1, id, 1000, 0, 999, &why), "alarm.early");
    assert_string_equal(alarm_truth_run(&truth, 1, id, 900, 0, 1000, &why), "alarm.early");
    assert_null(alarm_truth_run(&truth, 1, id, 3000, 1, 3000, &why)); /* A retry has a time of its own. */
}

static void test_an_alarm_that_vanishes_without_a_run_is_lost(void **state)
{
    (void)state;
    uint64_t id = acked(1000, 1);
    assert_null(alarm_truth_state(&truth, 1, 1, 1, id, true, &why));
    assert_string_equal(alarm_truth_state(&truth, 1, 1, 1, id, false, &why), "alarm.lost");
    assert_string_equal(alarm_truth_state(&truth, 1, 1, 0, 0, false, &why), "alarm.lost");
}

static void test_nothing_runs_after_a_cancel_was_acknowledged(void **state)
{
    (void)state;
    uint64_t id = acked(1000, 1), cancel = alarm_truth_begin(&truth, 1, 0);
    assert_null(alarm_truth_run(&truth, 1, id, 1000, 0, 1000, &why)); /* It is not acknowledged yet. */
    assert_null(alarm_truth_ack(&truth, cancel, 1, 2, &why));
    assert_string_equal(alarm_truth_run(&truth, 1, id, 1000, 0, 1000, &why), "alarm.late");
    assert_string_equal(alarm_truth_state(&truth, 1, 2, 2, cancel, true, &why), "alarm.late");
}

static void test_refused_changes_do_nothing(void **state)
{
    (void)state;
    uint64_t id = alarm_truth_begin(&truth, 1, 1000);
    assert_null(alarm_truth_refuse(&truth, id, &why));
    assert_string_equal(alarm_truth_run(&truth, 1, id, 1000, 0, 1000, &why), "alarm.refused");
    assert_string_equal(alarm_truth_state(&truth, 1, 0, 1, id, true, &why), "alarm.refused");
    assert_string_equal(alarm_truth_run(&truth, 2, id, 1000, 0, 1000, &why), "alarm.invented");
}

CD_TESTS(alarm_truth,
         cmocka_unit_test_setup_teardown(test_an_alarm_runs_at_its_time_and_again_until_it_is_seen_done,
                                         setup, teardown),
         cmocka_unit_test_setup_teardown(test_an_alarm_before_its_time_is_early, setup, teardown),
         cmocka_unit_test_setup_teardown(test_an_alarm_that_vanishes_without_a_run_is_lost, setup, teardown),
         cmocka_unit_test_setup_teardown(test_nothing_runs_after_a_cancel_was_acknowledged, setup, teardown),
         cmocka_unit_test_setup_teardown(test_refused_changes_do_nothing, setup, teardown))
