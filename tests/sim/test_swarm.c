/* The swarm: what a seed stands for is the same everywhere, varied, within bounds, and can be run. */
#include "sim/swarm.h"
#include "support/test.h"

static void test_a_seed_draws_the_same_scenario_each_time_and_survives_its_text(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct scn a, b, read;
        struct cd_buf text = {0}, why = {0};
        swarm_draw(&a, seed);
        swarm_draw(&b, seed);
        assert_true(scn_equal(&a, &b));
        assert_true(a.has_seed && a.seed == seed);
        scn_print(&text, &a);
        if (scn_parse(&read, cd_buf_str(&text), "drawn", &why) != 0 ||
            scn_available(&read, "drawn", &why) != 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, cd_buf_cstr(&why));
        assert_true(scn_equal(&a, &read));
        scn_deinit(&a);
        scn_deinit(&b);
        scn_deinit(&read);
        cd_buf_deinit(&text);
    }
}

/* How long its loads go on. */
static uint64_t chaos_of(const struct scn *s)
{
    static const struct {
        enum scn_group group;
        enum scn_setting lasts;
    } loads[] = {{SCN_LOAD_HTTP, SCN_HTTP_FOR},
                 {SCN_LOAD_LEDGER, SCN_LEDGER_FOR},
                 {SCN_LOAD_STORAGE, SCN_STORAGE_FOR},
                 {SCN_LOAD_ALARMS, SCN_ALARMS_FOR}};
    for (size_t i = 0; i < CD_COUNT(loads); i++) {
        if (s->has[loads[i].group])
            return scn_get(s, loads[i].lasts);
    }
    fail_msg("no load");
    return 0;
}

static void test_each_fault_is_off_in_about_half_of_the_runs(void **state)
{
    (void)state;
    static const enum scn_setting faults[] = {SCN_NET_LOSS,      SCN_NET_SPLIT,      SCN_NET_RESET,
                                              SCN_NET_HALF_OPEN, SCN_DISK_READ_FAIL, SCN_DISK_SYNC_FAIL,
                                              SCN_DISK_STUCK};
    unsigned flips = 0, cells = 0, files = 0;
    unsigned on[CD_COUNT(faults)] = {0}, nodes[5] = {0}, with[SCN_ACTION_COUNT] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct scn s;
        bool seen[SCN_ACTION_COUNT] = {false};
        swarm_draw(&s, seed);
        for (size_t i = 0; i < CD_COUNT(faults); i++)
            on[i] += scn_get(&s, faults[i]) > 0;
        /* Of four only where there are cells: half of the fleets of three get one more. */
        assert_true(scn_get(&s, SCN_FLEET_NODES) <= (s.has[SCN_STORE] ? 4 : 3));
        assert_true(scn_get(&s, SCN_DISK_FLIP) == 0 || s.has[SCN_LOAD_FILES]);
        flips += scn_get(&s, SCN_DISK_FLIP) > 0;
        files += s.has[SCN_LOAD_FILES];
        cells += s.has[SCN_STORE];
        nodes[scn_get(&s, SCN_FLEET_NODES)]++;
        for (unsigned i = 0; i < s.steps; i++)
            seen[s.step[i].action] = true;
        for (unsigned i = 0; i < SCN_ACTION_COUNT; i++)
            with[i] += seen[i];
        scn_deinit(&s);
    }
    for (size_t i = 0; i < CD_COUNT(faults); i++)
        assert_uint_in_range(on[i], 150, 250);
    assert_int_equal(files + cells, 400);
    assert_uint_in_range(cells, 100, 170);
    assert_uint_in_range(flips, files / 2 - 40, files / 2 + 40);
    assert_uint_in_range(nodes[4], 10, 40);
    nodes[3] += nodes[4];
    for (unsigned n = 1; n <= 3; n++)
        assert_uint_in_range(nodes[n], 100, 170);
    static const enum scn_action half[] = {SCN_CRASH, SCN_PAUSE,   SCN_CUT, SCN_CLOG,
                                           SCN_RESET, SCN_SWIZZLE, SCN_SKEW};
    for (size_t i = 0; i < CD_COUNT(half); i++)
        assert_uint_in_range(with[half[i]], 150, 250);
    assert_int_equal(with[SCN_HEAL], 400);
}

static void test_steps_are_in_the_order_of_time_and_end_with_the_heal(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct scn s;
        swarm_draw(&s, seed);
        uint64_t last = 0;
        for (unsigned i = 0; i < s.steps; i++) {
            assert_true(s.step[i].trigger == SCN_AT && s.step[i].at_ns >= last);
            last = s.step[i].at_ns;
        }
        assert_true(chaos_of(&s) >= 30000000000u);
        assert_true(last <= chaos_of(&s)); /* A dump replays: each of its steps comes. */
        scn_deinit(&s);
    }
}

CD_TESTS(swarm, cmocka_unit_test(test_a_seed_draws_the_same_scenario_each_time_and_survives_its_text),
         cmocka_unit_test(test_each_fault_is_off_in_about_half_of_the_runs),
         cmocka_unit_test(test_steps_are_in_the_order_of_time_and_end_with_the_heal))
