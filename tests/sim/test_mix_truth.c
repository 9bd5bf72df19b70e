/* The oracle of the storage workload against hand-written histories. */
#include "sim/mix_truth.h"
#include "support/test.h"

static uint64_t after(uint64_t seed, uint64_t first, uint64_t second)
{
    struct mix_state s = {0};
    struct mix_step step[MIX_STEPS_MAX + 2];
    mix_apply(&s, step, mix_steps(first, seed, step));
    if (second != 0)
        mix_apply(&s, step, mix_steps(second, seed, step));
    return mix_digest(&s);
}

static void test_steps_follow_from_the_number_and_savepoints_are_balanced(void **state)
{
    (void)state;
    unsigned undone = 0, cleared = 0;
    for (uint64_t id = 1; id <= 2000; id++) {
        struct mix_step a[MIX_STEPS_MAX + 2], b[MIX_STEPS_MAX + 2];
        unsigned count = mix_steps(id, 5, a), depth = 0;
        assert_int_equal(count, mix_steps(id, 5, b));
        for (unsigned i = 0; i < count; i++) {
            assert_true(a[i].kind == b[i].kind && a[i].at == b[i].at && a[i].value == b[i].value);
            depth += a[i].kind == MIX_BEGIN;
            assert_true(depth > 0 || (a[i].kind != MIX_KEEP && a[i].kind != MIX_UNDO));
            depth -= a[i].kind == MIX_KEEP || a[i].kind == MIX_UNDO;
            undone += a[i].kind == MIX_UNDO;
            cleared += a[i].kind == MIX_CLEAR;
        }
        assert_int_equal(depth, 0);
    }
    assert_true(undone > 100 && cleared > 10);
}

static void test_an_undone_savepoint_leaves_nothing(void **state)
{
    (void)state;
    static const struct mix_step step[] = {{MIX_PUT, 1, 5, 9},
                                           {.kind = MIX_BEGIN},
                                           {MIX_PUT, 1, 6, 8},
                                           {MIX_INSERT, 3, 1, 1},
                                           {.kind = MIX_UNDO}};
    struct mix_state s = {0}, same = {0};
    mix_apply(&s, step, CD_COUNT(step));
    mix_apply(&same, step, 1);
    assert_int_equal(mix_digest(&s), mix_digest(&same));
    mix_apply(&same, &step[3], 1);
    assert_int_not_equal(mix_digest(&s), mix_digest(&same));
}

static void test_done_transactions_stay_done(void **state)
{
    (void)state;
    struct mix_truth t;
    struct cd_buf why = {0};
    mix_truth_init(&t, 1, 7);
    uint64_t id = mix_truth_begin(&t, 1);
    assert_null(mix_truth_done(&t, id, 0, after(7, id, 0), &why));
    assert_string_equal(mix_truth_state(&t, 1, mix_truth_floor(&t, 1), 0, t.cell[1].link[0].digest, &why),
                        "mix.lost");
    mix_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_other_bytes_are_seen(void **state)
{
    (void)state;
    struct mix_truth t;
    struct cd_buf why = {0};
    mix_truth_init(&t, 1, 7);
    uint64_t id = mix_truth_begin(&t, 1);
    assert_string_equal(mix_truth_done(&t, id, 0, after(7, id, 0) + 1, &why), "mix.digest");
    mix_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_one_of_two_that_are_unknown_may_be_the_next_link(void **state)
{
    (void)state;
    struct mix_truth t;
    struct cd_buf why = {0};
    mix_truth_init(&t, 1, 7);
    uint64_t a = mix_truth_begin(&t, 1), b = mix_truth_begin(&t, 1);
    assert_null(mix_truth_state(&t, 1, 0, b, after(7, b, 0), &why));
    assert_string_equal(mix_truth_state(&t, 1, 0, a, after(7, a, 0), &why),
                        "mix.lost"); /* It can be no more. */
    mix_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_what_was_refused_is_no_link(void **state)
{
    (void)state;
    struct mix_truth t;
    struct cd_buf why = {0};
    mix_truth_init(&t, 1, 7);
    uint64_t a = mix_truth_begin(&t, 1);
    assert_null(mix_truth_refuse(&t, a, &why));
    assert_string_equal(mix_truth_state(&t, 1, 0, a, after(7, a, 0), &why), "mix.refused");
    assert_string_equal(mix_truth_state(&t, 1, 0, 77, 1, &why), "mix.invented");
    mix_truth_deinit(&t);
    cd_buf_deinit(&why);
}

CD_TESTS(mix_truth, cmocka_unit_test(test_steps_follow_from_the_number_and_savepoints_are_balanced),
         cmocka_unit_test(test_an_undone_savepoint_leaves_nothing),
         cmocka_unit_test(test_done_transactions_stay_done), cmocka_unit_test(test_other_bytes_are_seen),
         cmocka_unit_test(test_one_of_two_that_are_unknown_may_be_the_next_link),
         cmocka_unit_test(test_what_was_refused_is_no_link))
