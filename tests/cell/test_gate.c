#include "cell/rig.h"

#include "cell/id.h"

static void test_an_answer_waits_for_the_proof_of_what_it_reveals(void **state)
{
    (void)state;
    rig_open();
    fake.prove_ns = IO_MS(500);
    struct call *c = rig_call("C:1", "add 5");
    rig_run(400);
    assert_int_equal(c->messages, 0);
    rig_run(300);
    assert_string_equal(c->got, "5 ");
    rig_free();
}

static void test_a_reader_waits_for_the_commits_before_it_and_order_is_kept(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "get");
    fake.prove_ns = IO_MS(500);
    struct call *c = rig_call("C:1", "add 5");
    rig_run(10);
    struct call *reader = rig_call("C:1", "get");
    rig_run(1);
    rig_send(c, "get");
    rig_send(c, "add 1");
    rig_send(c, "end");
    rig_run(300);
    assert_int_equal(c->messages + reader->messages, 0);
    assert_false(c->closed);
    rig_run(1000);
    assert_string_equal(c->got, "5 5 6 ");
    assert_string_equal(reader->got, "5 ");
    assert_true(c->closed);
    assert_string_equal(c->why, "");
    rig_free();
}

static void test_a_caller_that_leaves_takes_what_was_held_for_it(void **state)
{
    (void)state;
    rig_open();
    fake.prove_ns = IO_MS(500);
    struct call *c = rig_call("C:1", "add 5");
    rig_run(10);
    rig_hang_up(c);
    rig_run(1); /* Nothing is held any more, and no sweep has seen that. */
    struct call *next = rig_call("C:1", "add 1");
    rig_run(2000);
    assert_int_equal(c->messages, 0);
    assert_string_equal(next->got, "6 ");
    rig_free();
}

static void test_with_nothing_unproven_an_answer_leaves_at_once(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 5");
    fake.stall = true;
    assert_string_equal(rig_ask("C:1", "get"), "5");
    rig_free();
}

static void test_a_proof_that_does_not_come_resets_the_cell(void **state)
{
    (void)state;
    rig_open();
    assert_string_equal(rig_ask("C:1", "add 5"), "5");
    fake.stall = fake.uncut = true;
    struct call *c = rig_call("C:1", "add 1");
    struct call *reader = rig_call("C:1", "get");
    rig_run(9000);
    assert_false(c->closed);
    rig_run(3000);
    assert_true(c->closed && c->reset && !c->retryable);
    assert_int_equal(c->messages + reader->messages, 0);
    assert_non_null(strstr(c->why, "durability unproven"));
    assert_true(reader->closed && reader->reset);
    assert_int_equal(rig.stops[CELL_STOP_RESET], 1);
    assert_int_equal(fake.open_now, 0);
    /* The row was not cut: the write is gone, and the next residence does not know it. */
    fake.stall = fake.uncut = false;
    assert_string_equal(rig_ask("C:1", "get"), "5");
    assert_int_equal(cell_epoch(rig.last), 2);
    rig_free();
}

static void test_a_row_that_was_cut_is_history_although_its_gate_failed(void **state)
{
    (void)state;
    rig_open();
    fake.stall = true;
    struct call *c = rig_call("C:1", "add 7");
    rig_run(12000);
    assert_true(c->closed && c->reset);
    c = rig_call("C:1", "get");
    rig_run(1000);
    assert_string_equal(rig_phase("C:1"), "folding_tail"); /* It waits for the proof of what was cut. */
    fake.stall = false;
    rig_run(1000);
    assert_string_equal(c->got, "7 ");
    assert_int_equal(fake.folds, 1);
    rig_free();
}

static void test_an_activation_whose_tail_is_not_proven_fails_and_keeps_the_duty(void **state)
{
    (void)state;
    rig_open();
    fake.stall = true;
    (void)rig_call("C:1", "add 7");
    rig_run(12000);
    struct call *c = rig_call("C:1", "get");
    rig_run(16000);
    assert_true(c->closed);
    assert_string_equal(c->why, "what the log holds of the cell could not be folded: timed out");
    assert_true(c->retryable);
    fake.stall = false;
    fake.fold_status = IO_CANCELED;
    c = rig_call("C:1", "get");
    rig_run(1000);
    assert_true(c->closed);
    fake.fold_status = IO_OK;
    assert_string_equal(rig_ask("C:1", "get"), "7");
    rig_free();
}

static void test_without_authority_nothing_leaves_and_nothing_comes_in(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "add 1");
    rig_run(100);
    assert_string_equal(c->got, "1 ");
    fake.authority.deadline_ns = 1;
    rig_send(c, "get");
    rig_run(1000);
    assert_int_equal(c->messages, 1);
    struct call *late = rig_call("C:1", "get");
    rig_run(10);
    assert_true(late->closed && late->retryable);
    fake.authority.deadline_ns = UINT64_MAX; /* Renewed. */
    rig_run(1000);
    assert_string_equal(c->got, "1 1 ");
    rig_free();
}

static void test_a_failed_commit_resets_the_cell(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "add 1");
    fake.commit_fails = true;
    struct call *c = rig_call("C:1", "add 1");
    rig_run(100);
    assert_true(c->closed && c->reset);
    assert_string_equal(c->why, "disk I/O error");
    assert_int_equal(c->messages, 0);
    fake.commit_fails = false;
    assert_string_equal(rig_ask("C:1", "get"), "1");
    rig_free();
}

static void test_abort_fails_what_runs_and_the_next_call_finds_a_new_instance(void **state)
{
    (void)state;
    rig_open();
    struct call *other = rig_call("C:1", "hang");
    struct call *c = rig_call("C:1", "abort enough");
    rig_run(200);
    assert_true(c->closed && c->reset && other->closed && other->reset);
    assert_string_equal(other->why, "enough");
    assert_string_equal(rig_ask("C:1", "get"), "0");
    assert_int_equal(rig.starts, 2);
    rig_free();
}

static void test_a_cell_that_calls_another_holds_the_call_behind_its_own_gate(void **state)
{
    (void)state;
    rig_open();
    (void)rig_ask("C:1", "get");
    (void)rig_ask("C:2", "get");
    fake.stall = true;
    struct call *c = rig_call("C:1", "put 3"); /* Unproven. */
    rig_run(10);
    rig_send(c, "call C:2");
    rig_run(500);
    assert_string_equal(rig_ask("C:2", "get"), "0");
    fake.stall = false;
    rig_run(500);
    assert_string_equal(rig_ask("C:2", "get"), "1");
    rig_free();
}

/* ---- Wires ---- */

static void test_either_end_may_go_first(void **state)
{
    (void)state;
    for (unsigned when = 0; when < 40; when++) {
        rig_open();
        fake.claim_ns = IO_MS(5);
        struct call *c = rig_call("C:1", "add 1");
        struct call *d = rig_call("C:1", "end");
        rig_run(when);
        rig_send(c, "end");
        rig_hang_up(c);
        rig_hang_up(d);
        rig_send(c, "get"); /* Too late: nobody is there. */
        rig_run(100);
        /* Left while the cell was being claimed: nobody has it, and nobody executes it. */
        assert_string_equal(rig_ask("C:1", "get"), IO_MS(when) < fake.claim_ns ? "0" : "1");
        rig_free();
    }
}

static void test_a_parked_wire_does_not_keep_the_cell_and_wakes_it(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "served");
    rig_send(c, "park");
    rig_run(100);
    rig_evict("C:1");
    assert_string_equal(rig.evicted, "evicted");
    assert_string_equal(rig_phase("C:1"), "dormant");
    assert_false(c->closed);
    struct cell_shard *s = rig_shard_of("C:1");
    cell_wake(s, CD_STR("C:1"));
    rig_run(500);
    assert_int_equal(rig.wakes, 1);
    assert_int_equal(rig.starts, 2);
    assert_string_equal(rig_phase("C:1"), "resident");
    rig_hang_up(c);
    rig_run(10);
    rig_free();
}

static void test_who_keeps_a_parked_wire_answers_without_the_cell(void **state)
{
    (void)state;
    rig_open();
    struct call *c = rig_call("C:1", "served");
    rig_send(c, "park");
    rig_run(100);
    assert_string_equal(rig_ask("C:1", "add 1"), "1");
    rig_evict("C:1");
    assert_string_equal(rig_phase("C:1"), "dormant");
    rig_send(c, "pong");
    rig_run(10);
    assert_string_equal(c->got, "pong ");
    assert_string_equal(rig_phase("C:1"), "dormant");
    assert_int_equal(rig.starts, 1);
    /* After a reset as well. */
    assert_string_equal(rig_ask("C:1", "abort on purpose"), "on purpose");
    rig_run(1000);
    rig_send(c, "pong");
    rig_run(10);
    assert_string_equal(c->got, "pong pong ");
    assert_false(c->closed);
    rig_hang_up(c);
    rig_run(10);
    rig_free();
}

static void test_parked_wires_end_with_the_node(void **state)
{
    (void)state;
    rig_open();
    struct call *asleep = rig_call("C:1", "served");
    rig_send(asleep, "park");
    struct call *awake = rig_call("C:2", "served");
    rig_send(awake, "park");
    rig_run(100);
    rig_evict("C:1");
    rig_close_shards(1000);
    rig_run(10);
    assert_true(asleep->closed && awake->closed);
    assert_string_equal(asleep->why, "the node is stopping");
    rig_free();
}

static void test_a_parked_wire_outlives_a_reset_unless_something_of_it_is_held(void **state)
{
    (void)state;
    rig_open();
    struct call *quiet = rig_call("C:1", "served");
    rig_send(quiet, "park");
    (void)rig_ask("C:1", "abort enough");
    rig_run(200);
    assert_false(quiet->closed);
    fake.stall = true;
    struct call *held = rig_call("C:1", "served");
    rig_run(100);
    rig_send(held, "add 1"); /* Its answer waits for the proof. */
    rig_send(held, "park");
    rig_run(15000);
    assert_true(held->closed && held->reset);
    assert_false(quiet->closed);
    rig_free();
}

static void commit_too_late(struct io *io, void *arg)
{
    (void)io;
    struct cd_buf *why = arg;
    cell_abort(rig.last, CD_STR("enough"));
    assert_int_equal(fake_set(cell_storage(rig.last), 77), 0);
    assert_int_equal(cell_flush(rig.last, why), CD_ECLOSED);
}

static void test_what_is_not_committed_at_an_abort_never_is(void **state)
{
    (void)state;
    rig_open();
    struct cd_buf why = {0};
    (void)rig_ask("C:1", "add 1");
    rig_on("C:1", commit_too_late, &why);
    rig_run(100);
    assert_str_is(cd_buf_str(&why), "enough");
    assert_string_equal(rig_ask("C:1", "get"), "1");
    cd_buf_deinit(&why);
    rig_free();
}

CD_TESTS(gate, cmocka_unit_test(test_who_keeps_a_parked_wire_answers_without_the_cell),
         cmocka_unit_test(test_parked_wires_end_with_the_node),
         cmocka_unit_test(test_a_parked_wire_outlives_a_reset_unless_something_of_it_is_held),
         cmocka_unit_test(test_what_is_not_committed_at_an_abort_never_is),
         cmocka_unit_test(test_an_answer_waits_for_the_proof_of_what_it_reveals),
         cmocka_unit_test(test_a_reader_waits_for_the_commits_before_it_and_order_is_kept),
         cmocka_unit_test(test_a_caller_that_leaves_takes_what_was_held_for_it),
         cmocka_unit_test(test_with_nothing_unproven_an_answer_leaves_at_once),
         cmocka_unit_test(test_a_proof_that_does_not_come_resets_the_cell),
         cmocka_unit_test(test_a_row_that_was_cut_is_history_although_its_gate_failed),
         cmocka_unit_test(test_an_activation_whose_tail_is_not_proven_fails_and_keeps_the_duty),
         cmocka_unit_test(test_without_authority_nothing_leaves_and_nothing_comes_in),
         cmocka_unit_test(test_a_failed_commit_resets_the_cell),
         cmocka_unit_test(test_abort_fails_what_runs_and_the_next_call_finds_a_new_instance),
         cmocka_unit_test(test_a_cell_that_calls_another_holds_the_call_behind_its_own_gate),
         cmocka_unit_test(test_either_end_may_go_first),
         cmocka_unit_test(test_a_parked_wire_does_not_keep_the_cell_and_wakes_it))
