/* A session's whole life, by seeds: nothing of it is lost, and nothing that is not its own comes to be. */
#include "life.h"

static void run_seeds(const struct life_opts *opts, unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct life l;
        struct life_opts o = *opts;
        o.seed = seed;
        life_run(&l, &o);
        if (l.broken != NULL)
            fail_msg("seed %u: %s", seed, cd_buf_cstr(&l.why));
        life_deinit(&l);
    }
}

static void test_a_killed_session_is_recovered(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.large = true}, 6);
}

static void test_a_session_that_closes_in_order_leaves_nothing_to_do(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.graceful = true, .large = true}, 6);
}

static void test_a_faulty_bucket_delays_and_loses_nothing(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.faults = true, .large = true}, 10);
}

static void test_two_recoverers_race_and_crash(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.racers = true, .crashes = true, .large = true, .holes = true}, 10);
    run_seeds(&(struct life_opts){.racers = true, .crashes = true, .faults = true}, 10);
}

static void test_a_session_taken_for_dead_loses_to_the_seal(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.zombie = true, .slots = 40}, 6);
    run_seeds(
        &(struct life_opts){.zombie = true, .faults = true, .stale = true, .holes = true, .racers = true},
        20);
}

static void test_a_missing_or_corrupt_slot_stops_recovery_until_it_is_there(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.lost = true}, 8);
    run_seeds(&(struct life_opts){.rotten = true}, 8);
}

static void test_a_long_recovery_that_dies_goes_on_from_its_checkpoints(void **state)
{
    (void)state;
    unsigned checkpoints = 0;
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct life l;
        life_run(&l, &(struct life_opts){.seed = seed, .slots = 80, .unfolded = true, .crashes = true});
        if (l.broken != NULL)
            fail_msg("seed %u: %s", seed, cd_buf_cstr(&l.why));
        checkpoints += l.checkpoints;
        life_deinit(&l);
    }
    assert_true(checkpoints > 0);
}

static void test_a_session_that_never_logged_is_sealed_for_ever(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.silent = true}, 2);
}

CD_TESTS(life, cmocka_unit_test(test_a_killed_session_is_recovered),
         cmocka_unit_test(test_a_session_that_closes_in_order_leaves_nothing_to_do),
         cmocka_unit_test(test_a_faulty_bucket_delays_and_loses_nothing),
         cmocka_unit_test(test_two_recoverers_race_and_crash),
         cmocka_unit_test(test_a_session_taken_for_dead_loses_to_the_seal),
         cmocka_unit_test(test_a_missing_or_corrupt_slot_stops_recovery_until_it_is_there),
         cmocka_unit_test(test_a_long_recovery_that_dies_goes_on_from_its_checkpoints),
         cmocka_unit_test(test_a_session_that_never_logged_is_sealed_for_ever))
