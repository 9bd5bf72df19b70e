#include "cell/rig.h"

#include "cell/id.h"

static void test_a_cell_answers_and_remembers(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask("C:1", "add 5"), "5");
    assert_string_equal(rig_ask("C:1", "add 2"), "7");
    assert_string_equal(rig_ask("C:2", "get"), "0");
    assert_int_equal(rig.starts, 2);
    assert_string_equal(rig_phase("C:1"), "resident");
    rig_free();
}

static void test_calls_that_come_together_start_one_instance_and_keep_their_order(void **state)
{
    (void)state;
    rig_open();
    fake.claim_ns = IO_MS(100);
    for (unsigned i = 0; i < 20; i++)
        (void)rig_call("C:1", "add 1");
    rig_run(1000);
    assert_int_equal(rig.starts, 1);
    assert_int_equal(fake.claims, 1);
    for (unsigned i = 0; i < 20; i++) {
        char want[16];
        (void)snprintf(want, sizeof want, "%u ", i + 1);
        assert_string_equal(rig.call[i].got, want);
    }
    rig_free();
}

static void test_a_call_too_many_is_refused_as_overload(void **state)
{
    (void)state;
    rig_open();
    for (unsigned i = 0; i < 65; i++)
        (void)rig_call("C:1", "hang");
    rig_run(100);
    assert_false(rig.call[63].closed);
    assert_true(rig.call[64].closed && rig.call[64].overloaded);
    assert_string_equal(rig.call[64].why, CELL_OVERLOAD_TEXT);
    rig_send(&rig.call[0], "served"); /* A stub that is only kept counts no more. */
    rig_run(10);
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_hang_up(&rig.call[1]);
    rig_run(10);
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_free();
}

static void test_the_name_of_the_caller_reaches_the_cell(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "get");
    assert_str_is(cell_name(rig.last), "me");
    assert_str_is(cell_script(rig.last), "test");
    assert_str_is(cell_scope(rig.last), "C:1");
    assert_int_equal(cell_epoch(rig.last), 1);
    rig_free();
}

static void test_an_idle_cell_is_evicted_and_comes_back_from_its_snapshot(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "evicted");
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 1);
    assert_int_equal(fake.open_now, 0);
    assert_string_equal(rig_phase("C:1"), "unknown"); /* Not worth a record. */
    assert_string_equal(rig_ask("C:1", "get"), "5");
    assert_int_equal(fake.snapshots_taken, 1);
    assert_int_equal(fake.restores, 0);
    assert_int_equal(cell_epoch(rig.last), 2);
    rig_free();
}

static void test_a_cell_that_works_is_not_evicted(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "hang");
    rig_run(100);
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "cell_active");
    rig_hang_up(c);
    rig_run(10);
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "evicted");
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "evicted"); /* Already absent. */
    rig_free();
}

static void ignore(void *arg, const char *reason)
{
    (void)arg;
    (void)reason;
}

static void start_evict(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
    cell_evict(rig_shard_of("C:1"), CD_STR("C:1"), ignore, NULL);
}

static void test_a_call_while_the_code_stops_restarts_it_at_the_same_epoch(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    rig.stop_late = true;
    rig_on("C:1", start_evict, NULL);
    rig_run(20);
    assert_string_equal(rig_phase("C:1"), "stopping");
    assert_string_equal(rig_ask("C:1", "add 1"), "6");
    assert_int_equal(rig.starts, 2);
    assert_int_equal(fake.claims, 1);
    assert_int_equal(cell_epoch(rig.last), 1);
    rig_free();
}

static void test_a_call_during_the_proof_ends_the_eviction(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    fake.stall = true;
    struct call *c = rig_call("C:1", "put 9");
    rig_run(10);
    rig_hang_up(c);
    rig_run(10);
    rig_on("C:1", start_evict, NULL);
    rig_run(100);
    assert_string_equal(rig_phase("C:1"), "ensuring_durability");
    c = rig_call("C:1", "hang");
    rig_run(100);
    assert_string_equal(rig_phase("C:1"), "resident");
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 0);
    rig_free();
}

static void test_a_full_shard_makes_room_by_evicting_who_is_idle(void **state)
{
    (void)state;
    rig_open();
    rig.limits.resident_max = 2;
    rig_crash();
    rig_restart();
    /* Enough cells for one shard to be full. */
    for (unsigned i = 0; i < 12; i++) {
        char scope[16];
        (void)snprintf(scope, sizeof scope, "C:%u", i);
        assert_string_equal(rig_ask(scope, "add 1"), "1");
    }
    for (unsigned i = 0; i < 12; i++) {
        char scope[16];
        (void)snprintf(scope, sizeof scope, "C:%u", i);
        assert_string_equal(rig_ask(scope, "add 1"), "2");
    }
    assert_true(rig.stops[CELL_STOP_EVICT] >= 8);
    rig_free();
}

/* The next scope of the first shard. */
static const char *next_scope(unsigned *i)
{
    static char scope[16];
    do
        (void)snprintf(scope, sizeof scope, "C:%u", (*i)++);
    while (cell_scope_loop(cd_str(scope), RIG_LOOPS) != 1);
    return scope;
}

static void test_cells_that_may_not_go_do_not_hide_those_that_may(void **state)
{
    (void)state;
    rig_open();
    rig.limits.resident_max = 72;
    rig_crash();
    rig_restart();
    unsigned i = 0;
    for (unsigned n = 0; n < 70; n++)
        assert_string_equal(rig_ask(next_scope(&i), "alarm 3000000"), "ok");
    for (unsigned n = 0; n < 8; n++)
        assert_string_equal(rig_ask(next_scope(&i), "add 1"), "1");
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 6);
    assert_int_equal(cell_shard_counts(rig.shard[1]).resident, 72);
    rig_free();
}

static void test_near_alarms_do_not_keep_others_out(void **state)
{
    (void)state;
    rig_open();
    rig.limits.resident_max = 70;
    rig_crash();
    rig_restart();
    unsigned i = 0;
    for (unsigned n = 0; n < 70; n++)
        assert_string_equal(rig_ask(next_scope(&i), "alarm 60000"), "ok");
    for (unsigned n = 0; n < 8; n++)
        assert_string_equal(rig_ask(next_scope(&i), "add 1"), "1");
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 8);
    assert_int_equal(cell_shard_counts(rig.shard[1]).resident, 70);
    rig_run(70000);
    assert_int_equal(rig.alarms, 70);
    rig_free();
}

static void test_a_call_for_which_there_is_no_room_is_refused_in_time(void **state)
{
    (void)state;
    rig_open();
    rig.limits.resident_max = 1;
    rig_crash();
    rig_restart();
    for (unsigned i = 0; i < 8; i++) {
        char scope[16];
        (void)snprintf(scope, sizeof scope, "C:%u", i);
        (void)rig_call(scope, "hang");
    }
    rig_run(14000);
    unsigned refused = 0;
    for (unsigned i = 0; i < 8; i++)
        refused += rig.call[i].closed;
    assert_int_equal(refused, 0);
    rig_run(2000);
    for (unsigned i = 0; i < 8; i++) {
        refused += rig.call[i].closed;
        assert_true(!rig.call[i].closed || (rig.call[i].overloaded && rig.call[i].retryable));
    }
    assert_int_equal(refused, 6);
    rig_free();
}

/* Its place among the cell's requests is free at once; the cell keeps its own for the next call, for a while.
 */
static void test_a_call_that_its_caller_leaves_while_it_waits_is_forgotten(void **state)
{
    (void)state;
    rig_open();
    rig.limits.resident_max = 1;
    rig.limits.requests_max = 1;
    rig_crash();
    rig_restart();
    unsigned i = 0;
    struct call *busy = rig_call(next_scope(&i), "hang");
    rig_run(100);
    char other[16];
    (void)snprintf(other, sizeof other, "%s", next_scope(&i));
    struct call *left = rig_call(other, "add 1");
    rig_run(100);
    assert_string_equal(rig_phase(other), "waiting_capacity");
    rig_hang_up(left);
    struct call *again = rig_call(other, "add 2");
    rig_run(100);
    assert_false(again->closed);
    rig_hang_up(again);
    rig_run(13000);
    assert_string_equal(rig_phase(other), "waiting_capacity");
    rig_run(3000);
    assert_string_equal(rig_phase(other), "unknown");
    rig_hang_up(busy);
    assert_string_equal(rig_ask(other, "get"), "0");
    rig_free();
}

static void test_a_cell_that_is_idle_for_long_enough_goes_by_itself(void **state)
{
    (void)state;
    rig_open();
    rig.limits.idle_ns = IO_SEC(30);
    rig_crash();
    rig_restart();
    (void)rig_ask("C:1", "add 1");
    struct call *c = rig_call("C:2", "hang");
    rig_run(29000);
    assert_string_equal(rig_phase("C:1"), "resident");
    rig_run(2000);
    assert_string_equal(rig_phase("C:1"), "unknown");
    assert_string_equal(rig_phase("C:2"), "resident");
    assert_false(c->closed);
    assert_string_equal(rig_ask("C:1", "get"), "1");
    rig_free();
}

static void test_what_cells_leave_behind_is_looked_for_when_most_have_gone(void **state)
{
    struct call *busy[50];
    char scope[16];
    (void)state;
    rig_open();
    rig.limits.idle_ns = IO_SEC(30);
    rig.limits.resident_max = 100;
    rig_crash();
    rig_restart();
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(scope, sizeof scope, "C:%u", i);
        if (i < CD_COUNT(busy))
            busy[i] = rig_call(scope, "hang");
        else
            (void)rig_ask(scope, "get");
    }
    rig_run(32000);
    assert_string_equal(rig_phase("C:59"), "unknown");
    assert_int_equal(rig.shrinks, 0); /* Ten of sixty. */
    for (unsigned i = 0; i < CD_COUNT(busy); i++)
        rig_hang_up(busy[i]);
    rig_run(32000);
    unsigned shrinks = rig.shrinks;
    assert_true(shrinks >= 1 && shrinks <= 6); /* Once each time half of what is there has gone. */
    rig_run(5000);
    assert_int_equal(rig.shrinks, shrinks);
    rig_free();
}

static void test_a_constructor_that_throws_fails_the_calls_and_runs_again_for_the_next(void **state)
{
    (void)state;
    rig_open();
    rig.start_fails = "no luck";
    struct call *c = rig_call("C:1", "get");
    rig_run(500);
    assert_true(c->closed && c->reset && !c->retryable);
    assert_string_equal(c->why, "no luck");
    rig.start_fails = NULL;
    assert_string_equal(rig_ask("C:1", "get"), "0");
    assert_int_equal(rig.starts, 2);
    rig_free();
}

static void test_a_failed_restore_is_told_and_tried_again_at_a_higher_epoch(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 1");
    rig_crash();
    rig_restart();
    fake.restore_fails = true;
    struct call *c = rig_call("C:1", "get");
    rig_run(500);
    assert_true(c->closed);
    assert_non_null(strstr(c->why, "could not be restored"));
    fake.restore_fails = false;
    assert_string_equal(rig_ask("C:1", "get"), "1");
    assert_int_equal(cell_epoch(rig.last), 3);
    rig_free();
}

static void test_a_database_that_does_not_open_fails_the_call(void **state)
{
    (void)state;
    rig_open();
    fake.open_fails = true;
    assert_string_equal(rig_ask("C:1", "get"), "the cell's database could not be opened: no such disk");
    fake.open_fails = false;
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_free();
}

static void test_a_cell_whose_dead_owner_is_being_recovered_waits_without_a_permit(void **state)
{
    (void)state;
    rig_open();
    fake.claim_end = FLEET_CLAIM_RECOVERING;
    struct call *c = rig_call("C:1", "get");
    rig_run(500);
    assert_string_equal(rig_phase("C:1"), "recovering_owner_log");
    assert_int_equal(cell_shard_counts(rig_shard_of("C:1")).activating, 0);
    fake.claim_end = FLEET_CLAIM_OWNED;
    rig_run(2000);
    assert_string_equal(c->got, "0 ");
    rig_free();
}

static void test_a_recovery_that_does_not_come_about_is_given_up_in_the_end(void **state)
{
    (void)state;
    rig_open();
    rig.limits.recovery_retries = 3;
    rig_crash();
    rig_restart();
    fake.claim_end = FLEET_CLAIM_RECOVERING;
    struct call *c = rig_call("C:1", "get");
    rig_run(3500); /* Tries at 0, 1, 2 and 3 s, and a last second. */
    assert_false(c->closed);
    rig_run(1500);
    assert_true(c->closed && c->retryable);
    assert_non_null(strstr(c->why, "CELLD_RECOVERY_RETRIES"));
    fake.claim_end = FLEET_CLAIM_OWNED;
    assert_string_equal(rig_ask("C:1", "get"), "0");
    rig_free();
}

static void test_a_closing_shard_lets_running_work_end_and_keeps_what_it_wrote(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    struct call *c = rig_call("C:2", "hang");
    rig_run(10);
    rig_close_shards(3000);
    assert_true(c->closed);
    assert_string_equal(c->why, "the node is stopping");
    assert_int_equal(fake_cell(CD_STR("C:1"))->snapshot_epoch, 1);
    assert_string_equal(rig_ask("C:1", "get"), "the node is starting or stopping");
    rig_free();
}

static void test_a_closing_shard_whose_log_is_lost_does_not_try_to_prove_for_ever(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "get");
    fake.stall = true;
    (void)rig_call("C:1", "add 5");
    rig_run(10);
    fake.lost = true;
    uint64_t events = sim_events(rig.sim), began_ns = sim_now_ns(rig.sim);
    rig_close_shards(1000);
    assert_true(sim_now_ns(rig.sim) - began_ns < IO_SEC(3));
    assert_true(sim_events(rig.sim) - events < 1000);
    assert_int_equal(rig.stops[CELL_STOP_RESET], 1);
    fake.lost = false;
    rig_free();
}

static void fence(struct io *io, void *arg)
{
    (void)io;
    cell_shard_fence(rig_shard_of(arg), CD_STR("node_fenced"));
}

static void test_a_fence_fails_everything_and_writes_nothing(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    fake.stall = true;
    struct call *c = rig_call("C:1", "add 1");
    rig_run(100);
    char scope[] = "C:1";
    rig_on("C:1", fence, scope);
    rig_run(100);
    assert_true(c->closed);
    assert_string_equal(c->why, "node_fenced");
    assert_int_equal(c->messages, 0);
    assert_int_equal(rig.stops[CELL_STOP_FENCE], 1);
    assert_int_equal(fake_cell(CD_STR("C:1"))->snapshot_epoch, 0);
    assert_string_equal(rig_ask("C:1", "get"), "the node is stopping");
    rig_free();
}

static void test_a_crash_at_any_moment_leaves_nothing_behind(void **state)
{
    (void)state;
    for (unsigned at = 0; at < 60; at++) {
        rig_open();
        rig.stop_late = at % 2 == 1;
        fake.claim_ns = IO_MS(3);
        for (unsigned i = 0; i < 4; i++) {
            char scope[16];
            (void)snprintf(scope, sizeof scope, "C:%u", i);
            (void)rig_call(scope, i % 2 ? "add 1" : "alarm 20");
        }
        struct call *c = rig_call("C:1", "call C:2");
        rig_run(at);
        CD_MAYBE(c->closed);
        rig_on("C:1", start_evict, NULL);
        rig_run(at / 3);
        rig_crash(); /* sim_crash_wait stops the test at a leak. */
        rig_restart();
        assert_int_equal(strtol(rig_ask("C:1", "add 1"), NULL, 10) > 0, 1);
        rig_free();
    }
}

CD_TESTS(life, cmocka_unit_test(test_a_closing_shard_whose_log_is_lost_does_not_try_to_prove_for_ever),
         cmocka_unit_test(test_a_cell_answers_and_remembers),
         cmocka_unit_test(test_calls_that_come_together_start_one_instance_and_keep_their_order),
         cmocka_unit_test(test_a_call_too_many_is_refused_as_overload),
         cmocka_unit_test(test_the_name_of_the_caller_reaches_the_cell),
         cmocka_unit_test(test_an_idle_cell_is_evicted_and_comes_back_from_its_snapshot),
         cmocka_unit_test(test_a_cell_that_works_is_not_evicted),
         cmocka_unit_test(test_a_call_while_the_code_stops_restarts_it_at_the_same_epoch),
         cmocka_unit_test(test_a_call_during_the_proof_ends_the_eviction),
         cmocka_unit_test(test_a_full_shard_makes_room_by_evicting_who_is_idle),
         cmocka_unit_test(test_cells_that_may_not_go_do_not_hide_those_that_may),
         cmocka_unit_test(test_near_alarms_do_not_keep_others_out),
         cmocka_unit_test(test_a_call_for_which_there_is_no_room_is_refused_in_time),
         cmocka_unit_test(test_a_call_that_its_caller_leaves_while_it_waits_is_forgotten),
         cmocka_unit_test(test_a_cell_that_is_idle_for_long_enough_goes_by_itself),
         cmocka_unit_test(test_what_cells_leave_behind_is_looked_for_when_most_have_gone),
         cmocka_unit_test(test_a_constructor_that_throws_fails_the_calls_and_runs_again_for_the_next),
         cmocka_unit_test(test_a_failed_restore_is_told_and_tried_again_at_a_higher_epoch),
         cmocka_unit_test(test_a_database_that_does_not_open_fails_the_call),
         cmocka_unit_test(test_a_cell_whose_dead_owner_is_being_recovered_waits_without_a_permit),
         cmocka_unit_test(test_a_recovery_that_does_not_come_about_is_given_up_in_the_end),
         cmocka_unit_test(test_a_closing_shard_lets_running_work_end_and_keeps_what_it_wrote),
         cmocka_unit_test(test_a_fence_fails_everything_and_writes_nothing),
         cmocka_unit_test(test_a_crash_at_any_moment_leaves_nothing_behind))
