/* The log as a whole, many seeds: what was proven is in the bucket, whatever the bucket does. */
#include "world.h"

static void seeds(struct world_opts opts, uint64_t from, uint64_t to, unsigned *fenced, unsigned *sealed)
{
    for (opts.seed = from; opts.seed <= to; opts.seed++) {
        struct world w;
        world_run(&w, &opts);
        if (w.broken != NULL)
            fail_msg("%s", cd_buf_cstr(&w.why));
        *fenced += w.fenced;
        *sealed += w.published_seal;
        if (w.published_seal)
            assert_int_equal(w.seal_slot, w.prefix + 1);
        world_deinit(&w);
    }
}

static void test_a_healthy_bucket_proves_every_row_and_the_log_ends_sealed(void **state)
{
    (void)state;
    unsigned fenced = 0, sealed = 0;
    seeds((struct world_opts){.large = true, .resets = true}, 1, 4, &fenced, &sealed);
    assert_int_equal(fenced, 0);
    assert_int_equal(sealed, 4);
}

static void test_a_bucket_with_faults_loses_nothing_that_was_proven(void **state)
{
    (void)state;
    unsigned fenced = 0, sealed = 0;
    seeds((struct world_opts){.faults = true, .large = true, .resets = true}, 100, 109, &fenced, &sealed);
    assert_int_equal(fenced, 0);
    assert_true(sealed > 5);
}

static void test_a_sealed_session_fences_and_proves_nothing_at_or_beyond_the_seal(void **state)
{
    (void)state;
    unsigned fenced = 0, sealed = 0;
    seeds((struct world_opts){.faults = true, .seal = true, .large = true}, 200, 208, &fenced, &sealed);
    assert_true(fenced > 2);
}

static void test_a_node_that_dies_leaves_what_was_proven_and_no_op(void **state)
{
    (void)state;
    unsigned fenced = 0, sealed = 0;
    seeds(
        (struct world_opts){
            .faults = true, .crash = true, .large = true, .resets = true, .for_ns = IO_SEC(2)},
        300, 318, &fenced, &sealed);
    assert_int_equal(fenced, 0);
}

static void test_a_slot_that_lands_after_its_place_was_found_empty_is_our_own(void **state)
{
    (void)state;
    struct world_opts opts = {.rows_per_s = 20, .late_ns = IO_MS(15030), .for_ns = IO_SEC(60)};
    uint64_t nothing = 0, ours = 0;
    for (opts.seed = 400; opts.seed <= 403; opts.seed++) {
        struct world w;
        world_run(&w, &opts);
        if (w.broken != NULL)
            fail_msg("%s", cd_buf_cstr(&w.why));
        assert_true(w.published_seal && !w.fenced);
        nothing += sim_marks(w.sim, "log.read_nothing");
        ours += sim_marks(w.sim, "log.read_ours");
        world_deinit(&w);
    }
    assert_true(nothing > 0 && ours > 0);
}

CD_TESTS(world, cmocka_unit_test(test_a_slot_that_lands_after_its_place_was_found_empty_is_our_own),
         cmocka_unit_test(test_a_healthy_bucket_proves_every_row_and_the_log_ends_sealed),
         cmocka_unit_test(test_a_bucket_with_faults_loses_nothing_that_was_proven),
         cmocka_unit_test(test_a_sealed_session_fences_and_proves_nothing_at_or_beyond_the_seal),
         cmocka_unit_test(test_a_node_that_dies_leaves_what_was_proven_and_no_op))
