/* The shrinker against made-up failures: it keeps what the failure needs and drops the rest, within its
 * budget. */
#include "sim/shrink.h"
#include "sim/swarm.h"
#include "support/test.h"

static unsigned count(const struct scn *s, enum scn_action action)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->steps; i++)
        n += s->step[i].action == action;
    return n;
}

/* Fails whenever a crash and a pause are planned, records are large, and at least two clients are there. */
static bool needs_crash_and_pause(void *arg, const struct scn *s, uint64_t *failed_at_ns)
{
    (void)arg;
    *failed_at_ns = 12500000000u;
    return count(s, SCN_CRASH) > 0 && count(s, SCN_PAUSE) > 0 && scn_get(s, SCN_FILES_RECORD) > 3000 &&
           s->has[SCN_LOAD_HTTP] && scn_get(s, SCN_HTTP_CLIENTS) >= 2;
}

static bool available(const struct scn *s)
{
    struct cd_buf why = {0};
    bool yes = scn_available(s, "drawn", &why) == 0;
    cd_buf_deinit(&why);
    return yes;
}

/* With nine clients instead of the drawn number: a draw with a step about c10 is passed over, since the
 * shrinker starts from what can be run and asks about nothing else. */
static void drawn(struct scn *s)
{
    for (uint64_t seed = 1;; seed++) {
        uint64_t at;
        swarm_draw(s, seed);
        scn_set(s, SCN_FILES_RECORD, 4096);
        scn_set(s, SCN_HTTP_CLIENTS, 9);
        if (s->steps > 25 && available(s) && needs_crash_and_pause(NULL, s, &at) &&
            s->step[0].at_ns < 12000000000u)
            return;
        scn_deinit(s);
    }
}

static void test_only_what_the_failure_needs_is_left(void **state)
{
    (void)state;
    struct scn s;
    drawn(&s);
    struct shrink k = {.fails = needs_crash_and_pause, .tries_max = 5000, .failed_at_ns = 12500000000u};
    shrink_run(&k, &s);
    uint64_t at;
    assert_true(needs_crash_and_pause(NULL, &s, &at));
    assert_int_equal(s.steps, 2);
    assert_int_equal(scn_get(&s, SCN_HTTP_CLIENTS), 2);
    assert_int_equal(scn_get(&s, SCN_FLEET_NODES), 1);
    assert_false(s.has[SCN_NET]);
    assert_false(s.has[SCN_SCHED]);
    assert_true(s.has[SCN_LOAD_FILES]);
    assert_int_equal(s.step[0].at_ns % 1000000000u, 0);
    struct cd_buf text = {0};
    scn_print(&text, &s);
    unsigned lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    assert_true(lines < 12);
    cd_buf_deinit(&text);
    scn_deinit(&s);
}

/* Fails whenever two clients ask two cells. Notes whether it was asked about a load that ends behind that. */
static bool needs_cells(void *arg, const struct scn *s, uint64_t *failed_at_ns)
{
    *failed_at_ns = 3500000000u;
    *(bool *)arg |= scn_get(s, SCN_LEDGER_FOR) == 4000000000u;
    return s->has[SCN_LOAD_LEDGER] && scn_get(s, SCN_LEDGER_CLIENTS) >= 2 &&
           scn_get(s, SCN_LEDGER_CELLS) >= 2;
}

static void test_loads_of_cells_become_small_too(void **state)
{
    (void)state;
    struct scn s;
    struct cd_buf why = {0};
    assert_int_equal(
        scn_parse(&s,
                  CD_STR("scn 1\nfleet nodes=3 shards=2\n"
                         "load ledger cells=9 clients=7 rate=20/s for=30s\nat 20s pause n2 1s\n"),
                  "cells", &why),
        0);
    bool cut = false;
    struct shrink k = {.fails = needs_cells, .arg = &cut, .tries_max = 500, .failed_at_ns = 3500000000u};
    shrink_run(&k, &s);
    assert_true(cut);
    assert_int_equal(s.steps, 0);
    assert_int_equal(scn_get(&s, SCN_LEDGER_CLIENTS), 2);
    assert_int_equal(scn_get(&s, SCN_LEDGER_CELLS), 2);
    assert_int_equal(scn_get(&s, SCN_LEDGER_FOR), 1000000000u);
    scn_deinit(&s);
    cd_buf_deinit(&why);
}

static bool always(void *arg, const struct scn *s, uint64_t *failed_at_ns)
{
    (void)s;
    ++*(unsigned *)arg;
    *failed_at_ns = 1;
    return true;
}

static bool never(void *arg, const struct scn *s, uint64_t *failed_at_ns)
{
    (void)s;
    (void)failed_at_ns;
    ++*(unsigned *)arg;
    return false;
}

static void test_the_budget_of_runs_is_kept(void **state)
{
    (void)state;
    for (unsigned tries = 0; tries < 40; tries += 13) {
        struct scn s;
        unsigned asked = 0;
        drawn(&s);
        struct shrink k = {.fails = never, .arg = &asked, .tries_max = tries, .failed_at_ns = 12500000000u};
        shrink_run(&k, &s);
        assert_int_equal(asked, tries);
        assert_int_equal(k.tries, tries);
        assert_int_equal(k.kept, 0);
        scn_deinit(&s);
    }
}

static void test_a_failure_that_needs_nothing_ends_with_one_load(void **state)
{
    (void)state;
    struct scn s;
    unsigned asked = 0;
    drawn(&s);
    struct shrink k = {.fails = always, .arg = &asked, .tries_max = 5000, .failed_at_ns = 12500000000u};
    shrink_run(&k, &s);
    assert_int_equal(s.steps, 0);
    unsigned groups = 0;
    for (unsigned i = 0; i < SCN_GROUP_COUNT; i++)
        groups += s.has[i];
    assert_int_equal(groups, 2); /* One load, and a fleet of one node. */
    assert_int_equal(k.failed_at_ns, 1);
    assert_true(s.has_seed);
    scn_deinit(&s);
}

static void test_a_failure_that_goes_away_leaves_the_scenario_as_it_was(void **state)
{
    (void)state;
    struct scn s, before;
    unsigned asked = 0;
    drawn(&s);
    scn_copy(&before, &s);
    struct shrink k = {.fails = never, .arg = &asked, .tries_max = 5000, .failed_at_ns = 12500000000u};
    shrink_run(&k, &s);
    assert_true(scn_equal(&s, &before));
    assert_true(asked > 20);
    scn_deinit(&s);
    scn_deinit(&before);
}

CD_TESTS(shrink, cmocka_unit_test(test_only_what_the_failure_needs_is_left),
         cmocka_unit_test(test_loads_of_cells_become_small_too),
         cmocka_unit_test(test_the_budget_of_runs_is_kept),
         cmocka_unit_test(test_a_failure_that_needs_nothing_ends_with_one_load),
         cmocka_unit_test(test_a_failure_that_goes_away_leaves_the_scenario_as_it_was))
