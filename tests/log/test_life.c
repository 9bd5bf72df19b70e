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
    run_seeds(&(struct life_opts){.large = true}, 10);
}

static void test_a_session_that_closes_in_order_leaves_nothing_to_do(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.graceful = true, .large = true}, 10);
}

static void test_a_faulty_bucket_delays_and_loses_nothing(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.faults = true, .large = true}, 20);
}

static void test_two_recoverers_race_and_crash(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.racers = true, .crashes = true, .large = true, .holes = true}, 20);
    run_seeds(&(struct life_opts){.racers = true, .crashes = true, .faults = true}, 20);
}

static void test_a_session_taken_for_dead_loses_to_the_seal(void **state)
{
    (void)state;
    run_seeds(&(struct life_opts){.zombie = true, .slots = 40}, 10);
    run_seeds(
        &(struct life_opts){.zombie = true, .faults = true, .stale = true, .holes = true, .racers = true},
        20);
}

CD_TESTS(life, cmocka_unit_test(test_a_killed_session_is_recovered),
         cmocka_unit_test(test_a_session_that_closes_in_order_leaves_nothing_to_do),
         cmocka_unit_test(test_a_faulty_bucket_delays_and_loses_nothing),
         cmocka_unit_test(test_two_recoverers_race_and_crash),
         cmocka_unit_test(test_a_session_taken_for_dead_loses_to_the_seal))
