#include "cell_node/node.h"

static void test_a_counter_survives_the_crash_of_its_node(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    for (int i = 1; i <= 20; i++)
        assert_int_equal(node_ask("C:1", "add 1"), i);
    node_crash(SIM_KILL);
    node_restart(false);
    node_ready();
    assert_int_equal(node_ask("C:1", "get"), 20);
    assert_int_equal(node_ask("C:1", "add 1"), 21);
    node_crash(SIM_POWER);
    node_restart(true); /* Another machine: nothing but the bucket is left. */
    node_ready();
    assert_int_equal(node_ask("C:1", "get"), 21);
    node_free();
}

static void test_a_stop_leaves_nothing_to_recover_and_the_next_life_uses_the_files(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    (void)node_ask("C:1", "add 5");
    node_stop();
    node_restart(false);
    node_ready();
    assert_int_equal(node_ask("C:1", "get"), 5);
    assert_int_equal(node.epoch, 2);
    node_free();
}

static void test_an_evicted_counter_comes_back_with_its_value(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(node_ask("C:1", "add 1"), i);
        node_evict("C:1");
    }
    assert_int_equal(node_ask("C:1", "get"), 5);
    assert_int_equal(node.starts, 6);
    assert_int_equal(node.epoch, 6);
    node_evict("C:1"); /* It wrote nothing: the position stays. */
    assert_int_equal(node_ask("C:1", "get"), 5);
    node_crash(SIM_KILL);
    node_restart(true);
    node_ready();
    assert_int_equal(node_ask("C:1", "get"), 5);
    node_free();
}

static void test_an_alarm_survives_the_crash_of_its_node(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    (void)node_ask("C:1", "alarm 30000");
    node_crash(SIM_KILL);
    node_restart(true);
    node_ready();
    node_run(15000);
    assert_int_equal(node.alarms, 0);
    node_run(20000); /* At its time, not when the waker looks again. */
    assert_int_equal(node.alarms, 1);
    assert_string_equal(node.name, "lobby"); /* Nobody called it in this life: the database knew. */
    assert_int_equal(node_ask("C:1", "get"), 1000);
    node_free();
}

/* What a dead session leaves in wake/ is settled by the cells it speaks of, and goes. */
static void test_what_a_dead_session_leaves_for_the_waker_is_settled(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    (void)node_ask("C:1", "alarm 30000");
    (void)node_ask("C:2", "alarm 3600000");
    node_crash(SIM_KILL);
    node_restart(true);
    node_ready();
    assert_int_not_equal(node_keys("wake/packs/"), 0);
    node_run(120000);
    assert_int_equal(node.alarms, 1);
    (void)node_ask("C:2",
                   "get"); /* Its alarm is not due: it is settled when it comes in for something else. */
    node_run(200000);
    assert_int_equal(node.alarms, 1);
    assert_int_equal(node_keys("wake/packs/"), 0);
    assert_int_equal(node_keys("wake/retired/"), 2);
    unsigned starts = node.starts;
    node_run(300000);
    assert_int_equal(node.starts, starts); /* Nobody is woken for nothing any more. */
    node_free();
}

/* A hint makes a cell settle what is in wake/ with its state of the epoch at hand: that state has to be in
 * the log, or the next one to recover the session would find an older one and take it for settled. */
static void test_an_alarm_that_was_settled_after_a_hint_survives(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    (void)node_ask("C:1", "alarm 4000000");
    node_evict("C:1");
    node_run(1000);
    cell_wake_scope(node.router, sim_io(node.node, 0), CD_STR("C:1"));
    node_run(5000);
    assert_int_equal(node_keys("wake/retired/"), 1);
    node_crash(SIM_POWER);
    node_restart(true);
    node_ready();
    node_run(4300000);
    assert_int_equal(node.alarms, 1);
    node_free();
}

/* Every add is answered with its value, or its fate is open: the sum of both bounds what is there. */
struct tally {
    int64_t acked;
    unsigned open;
};

static void adds(struct tally *t, unsigned count)
{
    unsigned first = node.calls;
    for (unsigned i = 0; i < count; i++) {
        (void)node_send(i % 3 == 2 ? "C:2" : "C:1", "add 1");
        node_run(7);
    }
    node_run(40);
    for (unsigned i = first; i < node.calls; i++) {
        const struct node_call *c = &node.call[i];
        if (strcmp(c->scope, "C:1") != 0)
            continue;
        if (c->answered && c->value > t->acked)
            t->acked = c->value;
        t->open += !c->answered;
    }
}

/* The node dies in its k-th call. False: it made fewer. */
static bool dies_at(uint64_t k)
{
    struct tally t = {0};
    bool hit = false;
    node_open(&(struct sim_opts){.seed = k});
    bool known = sim_at_call(node.node, "any", k, k % 2 == 0 ? SIM_DIE_KILL : SIM_DIE_POWER, IO_FAULT, &hit);
    assert_true(known);
    node_run(600);
    if (sim_node_life(node.node) == SIM_UP && node.ready)
        adds(&t, 12);
    node_crash(SIM_KILL); /* Or it is dead already. */
    known = sim_at_call(node.node, "any", 0, SIM_FAIL, IO_FAULT, NULL);
    assert_true(known);
    node_restart(k % 3 == 0);
    node_ready();
    int64_t value = node_ask("C:1", "get");
    if (value < t.acked || value > t.acked + t.open)
        print_error("call %llu: %lld, of which %lld answered and %u open\n", (unsigned long long)k,
                    (long long)value, (long long)t.acked, t.open);
    assert_true(value >= t.acked && value <= t.acked + t.open);
    node_free();
    return hit;
}

static void test_a_crash_at_any_call_loses_nothing_that_was_answered(void **state)
{
    (void)state;
    node_open(&(struct sim_opts){.seed = 1});
    node_ready();
    uint64_t serving = sim_calls(node.node, "any");
    node_free();
    for (uint64_t k = 1; k < serving; k += 1 + k / 3)
        assert_true(dies_at(k));
    unsigned count = 0;
    for (uint64_t k = serving; dies_at(k); k += 3)
        count++;
    assert_true(count >= 15);
}

static void test_unclear_answers_of_the_store_lose_and_repeat_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct tally t = {0};
        node_open(&(struct sim_opts){.seed = seed, .policy = SIM_RANDOM, .slack_ns = IO_MS(1)});
        node_ready();
        sim_store_set(node.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5),
                                                         .jitter_ns = IO_MS(10),
                                                         .lose_answer_ppm = 100000,
                                                         .lose_request_ppm = 100000,
                                                         .fail_ppm = 50000,
                                                         .throttle_ppm = 50000});
        adds(&t, 60);
        node_run(4000);
        node_crash(SIM_KILL);
        sim_store_heal(node.sim);
        node_restart(false);
        node_ready();
        int64_t value = node_ask("C:1", "get");
        assert_true(value >= t.acked && value <= t.acked + t.open);
        node_free();
    }
}

CD_TESTS(counter, cmocka_unit_test(test_a_counter_survives_the_crash_of_its_node),
         cmocka_unit_test(test_a_stop_leaves_nothing_to_recover_and_the_next_life_uses_the_files),
         cmocka_unit_test(test_an_evicted_counter_comes_back_with_its_value),
         cmocka_unit_test(test_an_alarm_survives_the_crash_of_its_node),
         cmocka_unit_test(test_what_a_dead_session_leaves_for_the_waker_is_settled),
         cmocka_unit_test(test_an_alarm_that_was_settled_after_a_hint_survives),
         cmocka_unit_test(test_a_crash_at_any_call_loses_nothing_that_was_answered),
         cmocka_unit_test(test_unclear_answers_of_the_store_lose_and_repeat_nothing))
