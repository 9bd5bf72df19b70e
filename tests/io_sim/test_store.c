/* The simulated store: what the contract of io.h does not say. Its contract is
 * tests/io/test_contract_store*.c. */
#include "io_sim/sim_store.h"

#include "rig.h"
#include "store/selftest.h"

struct stage {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct io_bucket *bucket;
    int status;
    enum io_outcome outcome;
    char token[IO_TOKEN_MAX];
    unsigned count;
    bool more;
    struct store_selftest test;
};

static void stage_open(struct stage *g, const struct sim_store_opts *o, const struct sim_opts *sim)
{
    *g = (struct stage){.sim = sim_new(sim)};
    g->node = rig_node(g->sim, "n1");
    g->io = sim_io(g->node, 0);
    sim_store_set(g->sim, o);
    g->bucket = sim_bucket(g->io, "");
}

static void stage_play(struct stage *g, void (*flow)(void *arg))
{
    (void)io_spawn(g->io, "flow", flow, g);
    assert_true(rig_run(g->sim, g->node, NULL));
}

static void put_flow(void *arg)
{
    struct stage *g = arg;
    struct io_store s = {.timeout_ns = IO_SEC(5)};
    io_store_put(&s, g->bucket, CD_STR("log/1"), CD_STR("bytes"), IO_PUT_IF_ABSENT, NULL);
    g->status = io_await(&s.op, IO_FOREVER);
    g->outcome = s.outcome;
    if (g->status == IO_OK)
        memcpy(g->token, s.token, sizeof g->token);
}

static bool truth_is(struct sim *sim, const char *key, const char *body)
{
    struct sim_object o;
    bool there = sim_store_get_truth(sim, cd_str(key), &o);
    return body == NULL ? !there : there && cd_str_eq(o.body, cd_str(body));
}

static void selftest_flow(void *arg)
{
    struct stage *g = arg;
    g->test.ranges = true;
    g->status = store_selftest_run(g->io, g->bucket, &g->test);
}

static void test_a_store_that_ignores_conditions_is_refused(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, &(struct sim_store_opts){.ignores_conditions = true}, NULL);
    stage_play(&g, selftest_flow);
    assert_int_equal(g.status, IO_OK);
    assert_int_equal(g.test.verdict, STORE_VIOLATION);
    assert_string_equal(g.test.which, "reject-create");
    sim_free(g.sim);
}

static void test_a_write_lands_after_its_node_died(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, &(struct sim_store_opts){0}, NULL);
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_LATE, .ns = IO_SEC(20)});
    (void)io_spawn(g.io, "flow", put_flow, &g);
    sim_run_for(g.sim, IO_MS(100));
    sim_crash_wait(g.node, SIM_POWER);
    assert_int_equal(g.status, IO_CANCELED);
    assert_int_equal(g.outcome, IO_UNKNOWN);
    assert_true(truth_is(g.sim, "log/1", NULL));
    assert_int_equal(sim_store_under_way(g.sim), 1);
    sim_run_for(g.sim, IO_SEC(30));
    assert_true(truth_is(g.sim, "log/1", "bytes"));
    assert_int_equal(sim_store_under_way(g.sim), 0);
    sim_free(g.sim);
}

static void test_a_death_before_the_request_left_undoes_it(void **state)
{
    (void)state;
    struct stage g;
    bool hit = false;
    stage_open(&g, &(struct sim_store_opts){0}, NULL);
    assert_true(sim_at_call(g.node, "store.put", 1, SIM_DIE_KILL, 0, &hit));
    (void)io_spawn(g.io, "flow", put_flow, &g);
    sim_run_for(g.sim, IO_SEC(60));
    assert_true(hit);
    assert_int_equal(g.outcome, IO_REJECTED);
    assert_true(truth_is(g.sim, "log/1", NULL));
    sim_free(g.sim);
}

static void test_over_a_cut_link_a_write_is_refused_or_lands_after_the_heal(void **state)
{
    (void)state;
    unsigned refused = 0, unknown = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stage g;
        stage_open(&g, &(struct sim_store_opts){0}, &(struct sim_opts){.seed = seed});
        sim_cut_both(g.sim, g.node, sim_store_node(g.sim));
        stage_play(&g, put_flow);
        assert_true(truth_is(g.sim, "log/1", NULL));
        sim_heal_all(g.sim);
        sim_run_for(g.sim, IO_SEC(60));
        assert_true(truth_is(g.sim, "log/1", g.outcome == IO_UNKNOWN ? "bytes" : NULL));
        refused += g.status == IO_UNREACHABLE && g.outcome == IO_REJECTED;
        unknown += g.status == IO_TIMEDOUT && g.outcome == IO_UNKNOWN;
        sim_free(g.sim);
    }
    assert_int_equal(refused + unknown, 20);
    assert_true(refused > 0 && unknown > 0);
}

static void test_rules_fit_by_node_operation_key_count_and_time(void **state)
{
    (void)state;
    static const struct {
        const char *op, *pattern;
        bool strikes;
    } rows[] = {{NULL, NULL, true},      {"put", "log/*", true},  {"put", "*1", true},
                {"put", "l*g/*", true},  {"get", "log/*", false}, {"put", "log", false},
                {"put", "*/2", false},   {"put", "log/1*", true}, {"put", "", false},
                {"delete", NULL, false}, {"put", "*", true}};
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct stage g;
        stage_open(&g, &(struct sim_store_opts){0}, NULL);
        struct sim_node *other = rig_node(g.sim, "n2");
        sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .node = other});
        sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_THROTTLE,
                                                       .op = rows[i].op,
                                                       .pattern = rows[i].pattern,
                                                       .node = g.node,
                                                       .times = 1});
        stage_play(&g, put_flow);
        assert_int_equal(g.status, rows[i].strikes ? IO_THROTTLED : IO_OK);
        if (rows[i].strikes)
            stage_play(&g, put_flow); /* Used up. */
        assert_int_equal(g.status, IO_OK);
        sim_free(g.sim);
    }
    struct stage g;
    stage_open(&g, &(struct sim_store_opts){0}, NULL);
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .for_ns = IO_SEC(1)});
    stage_play(&g, put_flow);
    assert_int_equal(g.status, IO_REFUSED);
    sim_run_for(g.sim, IO_SEC(2));
    stage_play(&g, put_flow);
    assert_int_equal(g.status, IO_OK);
    sim_free(g.sim);
}

static void overwrite_flow(void *arg)
{
    struct stage *g = arg;
    struct io_store s = {0};
    memcpy(s.token, g->token, sizeof s.token);
    io_store_put(&s, g->bucket, CD_STR("log/1"), CD_STR("bytes"), IO_PUT_IF_MATCH, NULL);
    g->status = io_await(&s.op, IO_FOREVER);
    memcpy(g->token, s.token, sizeof g->token);
}

static void test_tokens_are_made_of_the_content_or_of_a_generation(void **state)
{
    (void)state;
    for (unsigned by_generation = 0; by_generation < 2; by_generation++) {
        struct stage g;
        char first[IO_TOKEN_MAX];
        stage_open(&g, &(struct sim_store_opts){.tokens_by_generation = by_generation == 1}, NULL);
        stage_play(&g, put_flow);
        memcpy(first, g.token, sizeof first);
        stage_play(&g, overwrite_flow);
        assert_int_equal(g.status, IO_OK);
        assert_int_equal(strcmp(first, g.token) != 0, by_generation == 1); /* The same bytes again. */
        sim_free(g.sim);
    }
}

static void list_flow(void *arg)
{
    struct stage *g = arg;
    struct io_list l = {0};
    io_store_list(&l, g->bucket, CD_STR(""), CD_STR(""), 100, NULL);
    g->status = io_await(&l.op, IO_FOREVER);
    g->count = l.count;
    g->more = l.more;
    io_list_deinit(&l);
}

static void test_listings_lag_and_have_short_pages_when_asked_to(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, &(struct sim_store_opts){.list_lag_ns = IO_SEC(10)}, NULL);
    sim_store_put_truth(g.sim, CD_STR("a"), CD_STR("1"));
    sim_store_put_truth(g.sim, CD_STR("b"), CD_STR("1"));
    stage_play(&g, list_flow);
    assert_int_equal(g.count, 0);
    sim_run_for(g.sim, IO_SEC(11));
    stage_play(&g, list_flow);
    assert_int_equal(g.count, 2);
    sim_store_delete_truth(g.sim, CD_STR("a"));
    assert_true(truth_is(g.sim, "a", NULL));
    stage_play(&g, list_flow);
    assert_int_equal(g.count, 2);
    sim_run_for(g.sim, IO_SEC(11));
    stage_play(&g, list_flow);
    assert_int_equal(g.count, 1);
    sim_store_set(g.sim, &(struct sim_store_opts){.page_max = 1});
    sim_store_put_truth(g.sim, CD_STR("c"), CD_STR("1"));
    stage_play(&g, list_flow);
    assert_true(g.count == 1 && g.more);
    sim_free(g.sim);
}

struct seen {
    unsigned creates, changes, deletes;
    const struct sim_node *by;
};

static void on_change(void *arg, const struct sim_store_change *change)
{
    struct seen *s = arg;
    s->creates += change->before == NULL;
    s->deletes += change->after == NULL;
    s->changes += change->before != NULL && change->after != NULL;
    if (change->by != NULL)
        s->by = change->by;
}

static void count_object(void *arg, struct cd_str key, const struct sim_object *o)
{
    assert_true(cd_str_starts(key, CD_STR("log/")) && o->token[0] != 0);
    ++*(unsigned *)arg;
}

static void test_checkers_see_each_change_of_the_truth(void **state)
{
    (void)state;
    struct stage g;
    struct seen seen = {0};
    unsigned count = 0;
    stage_open(&g, &(struct sim_store_opts){0}, NULL);
    sim_on_store(g.sim, on_change, &seen);
    stage_play(&g, put_flow);
    assert_ptr_equal(seen.by, g.node);
    stage_play(&g, put_flow); /* A conflict changes nothing. */
    assert_int_equal(g.status, IO_CONFLICT);
    stage_play(&g, overwrite_flow);
    sim_store_put_truth(g.sim, CD_STR("other"), CD_STR("x"));
    sim_store_each(g.sim, CD_STR("log/"), count_object, &count);
    assert_int_equal(count, 1);
    sim_store_delete_truth(g.sim, CD_STR("other"));
    assert_true(seen.creates == 2 && seen.deletes == 1);
    sim_free(g.sim);
}

static uint64_t faulty_run(uint64_t seed, unsigned *verdicts)
{
    struct stage g;
    struct sim_store_opts o = {.latency_ns = IO_MS(5),
                               .jitter_ns = IO_MS(50),
                               .throttle_ppm = 100000,
                               .fail_ppm = 100000,
                               .lose_request_ppm = 50000,
                               .lose_answer_ppm = 50000,
                               .late_ppm = 50000};
    stage_open(&g, &o, &(struct sim_opts){.seed = seed, .policy = SIM_RANDOM, .slack_ns = 10000});
    for (unsigned i = 0; i < 5; i++) {
        stage_play(&g, selftest_flow);
        assert_int_not_equal(g.test.verdict, STORE_VIOLATION); /* Faults are no breach. */
        verdicts[g.test.verdict]++;
    }
    uint64_t hash = sim_hash(g.sim);
    sim_free(g.sim);
    return hash;
}

static void test_faults_replay_from_the_seed_and_never_look_like_a_breach(void **state)
{
    (void)state;
    unsigned verdicts[3] = {0};
    uint64_t last = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t hash = faulty_run(seed, verdicts);
        assert_true(hash == faulty_run(seed, verdicts) && hash != last);
        last = hash;
    }
    assert_true(verdicts[STORE_CONFORMANT] > 0 && verdicts[STORE_AMBIGUOUS] > 0);
}

static void test_the_self_test_survives_each_failing_call(void **state)
{
    (void)state;
    FOR_EACH_FAULT(sweep)
    {
        struct stage g;
        stage_open(&g, &(struct sim_store_opts){0}, NULL);
        sweep.status = IO_TIMEDOUT;
        sim_sweep_arm(&sweep, g.node);
        stage_play(&g, selftest_flow);
        assert_int_equal(g.test.verdict, STORE_CONFORMANT); /* By the next attempt. */
        sim_free(g.sim);
    }
}

static void test_a_crash_at_any_call_of_the_self_test_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t k = 1; k < 60; k++) {
        struct stage g;
        bool hit = false;
        stage_open(&g, &(struct sim_store_opts){.latency_ns = IO_MS(1)}, NULL);
        assert_true(sim_at_call(g.node, "store", k, SIM_DIE_KILL, 0, &hit));
        (void)io_spawn(g.io, "flow", selftest_flow, &g);
        sim_run_for(g.sim, IO_SEC(30));
        assert_int_equal(sim_node_life(g.node) == SIM_DEAD, hit);
        sim_free(g.sim); /* Asserts that nothing is left. */
        if (!hit)
            return;
    }
    assert_true(false); /* The self-test makes fewer calls. */
}

CD_TESTS(store, cmocka_unit_test(test_a_store_that_ignores_conditions_is_refused),
         cmocka_unit_test(test_a_write_lands_after_its_node_died),
         cmocka_unit_test(test_a_death_before_the_request_left_undoes_it),
         cmocka_unit_test(test_over_a_cut_link_a_write_is_refused_or_lands_after_the_heal),
         cmocka_unit_test(test_rules_fit_by_node_operation_key_count_and_time),
         cmocka_unit_test(test_tokens_are_made_of_the_content_or_of_a_generation),
         cmocka_unit_test(test_listings_lag_and_have_short_pages_when_asked_to),
         cmocka_unit_test(test_checkers_see_each_change_of_the_truth),
         cmocka_unit_test(test_faults_replay_from_the_seed_and_never_look_like_a_breach),
         cmocka_unit_test(test_the_self_test_survives_each_failing_call),
         cmocka_unit_test(test_a_crash_at_any_call_of_the_self_test_leaves_nothing))
