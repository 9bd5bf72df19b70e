/* Whole nodes, from their start to their end and again, and what their clients were told. */
#include "fleet/peer_auth.h"
#include "support/test.h"
#include "town.h"

static bool read_lease(struct town *t, const char *id, struct store_lease *l)
{
    struct cd_buf key = {0};
    struct sim_object o;
    store_key_lease(&key, cd_str(id));
    bool there = sim_store_get_truth(t->sim, cd_buf_str(&key), &o);
    cd_buf_deinit(&key);
    if (there)
        assert_int_equal(store_lease_read(l, cd_str(id), o.body, NULL), 0);
    return there;
}

struct slots {
    char session[STORE_SESSION_MAX + 1];
    unsigned sessions, objects;
};

static void each_log(void *arg, struct cd_str key, const struct sim_object *o)
{
    (void)o;
    struct slots *s = arg;
    struct store_log_name n;
    assert_true(store_log_name_parse(&n, key));
    s->objects++;
    if (!cd_str_eq(n.session, cd_str(s->session))) {
        s->sessions++;
        memset(s->session, 0, sizeof s->session);
        memcpy(s->session, n.session.ptr, n.session.len);
    }
}

static struct slots logs(struct town *t)
{
    struct slots s = {0};
    sim_store_each(t->sim, CD_STR("log/"), each_log, &s);
    return s;
}

static void test_a_node_starts_serves_and_stops_in_order(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    town_start(&t, 0, "n1", "a");
    struct town_node *n = &t.node[0];
    assert_true(sim_run_until(t.sim, town_acked_more, n, IO_SEC(30)));
    sim_run_for(t.sim, IO_SEC(20));
    struct store_lease l;
    assert_true(read_lease(&t, "a", &l));
    assert_true(l.has_log && l.log.state == STORE_LOG_OPEN && !l.ephemeral);
    assert_int_equal(l.load.bucket_format, 2);
    char first[STORE_GENERATION_LEN + 1];
    memcpy(first, l.generation, sizeof first);
    unsigned acks = n->acks;
    town_restart(n);
    /* The log was sealed, nothing has to be recovered: the next process is ready at once. */
    assert_true(read_lease(&t, "a", &l));
    assert_int_equal(l.log.state, STORE_LOG_SEALED);
    assert_true(l.log.seal > 0);
    uint64_t start = sim_now_ns(t.sim);
    assert_true(sim_run_until(t.sim, town_ready, n, IO_SEC(5)));
    assert_true(n->ready_ns - start < IO_SEC(1));
    sim_run_for(t.sim, IO_SEC(20));
    assert_true(n->acks > acks);
    assert_int_equal(n->fences, 0);
    assert_true(read_lease(&t, "a", &l));
    assert_int_not_equal(strcmp(l.generation, first), 0);
    /* Of the first session its seal stays, for ever, and nothing else. */
    struct slots s = logs(&t);
    assert_int_equal(s.sessions, 2);
    town_restart(n);
    assert_true(sim_run_until(t.sim, town_ready, n, IO_SEC(5)));
    t.node[0].leaving = true; /* Writes no more. */
    sim_run_for(t.sim, IO_SEC(30));
    s = logs(&t);
    assert_true(s.objects <= 2 + 8);
    town_close(&t);
}

static void test_after_a_kill_the_next_process_waits_for_the_lease_and_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct town t;
        town_open(&t, seed);
        town_start(&t, 0, "n1", "a");
        struct town_node *n = &t.node[0];
        assert_true(sim_run_until(t.sim, town_acked_more, n, IO_SEC(30)));
        sim_run_for(t.sim, IO_MS(cd_rng_below(&t.rng, 9000)));
        unsigned restores = n->restores, acked = t.acked;
        town_kill(n, IO_MS(100));
        uint64_t killed = sim_now_ns(t.sim);
        sim_run_for(t.sim, IO_MS(500));
        assert_int_equal(n->lives, 2);
        assert_true(sim_run_until(t.sim, town_ready, n, IO_SEC(60)));
        assert_true(n->ready_ns - killed > IO_MS(TOWN_TTL_MS) / 3);
        sim_run_for(t.sim, IO_SEC(10));
        assert_true(n->restores > restores);
        assert_true(t.acked > acked);
        town_close(&t);
    }
}

static void test_a_store_of_ones_own_is_served_at_once_after_a_kill(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    t.node[0].sole = true;
    town_start(&t, 0, "n1", "a");
    struct town_node *n = &t.node[0];
    for (unsigned i = 0; i < 5; i++) {
        assert_true(sim_run_until(t.sim, town_ready, n, IO_SEC(5)));
        sim_run_for(t.sim, IO_SEC(3));
        unsigned restores = n->restores;
        town_kill(n, IO_MS(1));
        sim_run_for(t.sim, IO_MS(20));
        uint64_t start = sim_now_ns(t.sim);
        assert_false(n->ready);
        assert_true(sim_run_until(t.sim, town_ready, n, IO_SEC(5)));
        assert_true(n->ready_ns - start < IO_SEC(1)); /* With 10 to 30 ms for each request. */
        sim_run_for(t.sim, IO_SEC(1));
        assert_true(n->restores > restores);
    }
    town_close(&t);
}

static void test_a_dead_node_is_taken_over_and_its_log_is_finished(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    t.calm = true;
    town_start(&t, 0, "n1", "a");
    assert_true(sim_run_until(t.sim, town_acked_more, &t.node[0], IO_SEC(30)));
    town_start(&t, 1, "n2", "b");
    assert_true(sim_run_until(t.sim, town_ready, &t.node[1], IO_SEC(30)));
    sim_run_for(t.sim, IO_SEC(3));
    assert_int_equal(t.node[1].claims, 0); /* It lives: its cell stays where it is. */
    assert_true(strstr(t.node[1].why, "alive") != NULL);
    sim_crash(t.node[0].sim, SIM_KILL);
    assert_true(sim_run_until(t.sim, town_acked_more, &t.node[1], IO_SEC(60)));
    struct store_lease l;
    assert_true(read_lease(&t, "a", &l));
    assert_int_equal(l.log.state, STORE_LOG_SEALED);
    town_close(&t);
}

static void test_a_paused_node_fences_and_its_successor_has_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct town t;
        town_open(&t, seed);
        t.calm = true;
        town_start(&t, 0, "n1", "a");
        assert_true(sim_run_until(t.sim, town_acked_more, &t.node[0], IO_SEC(30)));
        town_start(&t, 1, "n2", "b");
        sim_run_for(t.sim, IO_MS(2000 + cd_rng_below(&t.rng, 3000)));
        sim_pause(t.node[0].sim, IO_SEC(40));
        assert_true(sim_run_until(t.sim, town_acked_more, &t.node[1], IO_SEC(60)));
        sim_run_for(t.sim, IO_SEC(60));
        assert_int_equal(t.node[0].fences, 1);
        assert_int_equal(t.node[1].fences, 0);
        town_close(&t);
    }
}

static void test_a_second_process_with_the_same_id_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct town t;
        town_open(&t, seed);
        t.calm = true;
        town_start(&t, 0, "n1", "a");
        sim_run_for(t.sim, IO_MS(cd_rng_below(&t.rng, 4000))); /* With and without a log of its own. */
        town_start(&t, 1, "n2", "a");
        sim_run_for(t.sim, IO_SEC(40));
        if (t.node[1].fences + t.node[0].fences > 0) /* One of them ended the other before it had a log, */
            assert_true(town_acked_more(&t.node[t.node[0].fences]));
        else /* or waits for the end of the one that has. */
            assert_true(town_acked_more(&t.node[0]) && !t.node[1].ready);
        town_close(&t);
    }
}

static void test_a_bucket_of_another_format_is_refused(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    sim_store_put_truth(t.sim, CD_STR("wake/format.json"), CD_STR("{\"format\":3,\"state\":\"ready\"}"));
    town_start(&t, 0, "n1", "a");
    sim_run_for(t.sim, IO_SEC(5));
    assert_int_equal(t.node[0].refused, 1);
    assert_true(strstr(t.node[0].why, "format") != NULL);
    struct store_lease l;
    assert_false(read_lease(&t, "a", &l));
    town_close(&t);
}

static bool has_secret(struct town *t)
{
    struct sim_object o;
    return sim_store_get_truth(t->sim, CD_STR(STORE_KEY_PEER_AUTH), &o);
}

static void test_nodes_of_a_fleet_share_a_secret_and_a_sole_one_needs_none(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    town_start(&t, 0, "n1", "a");
    town_start(&t, 1, "n2", "b");
    assert_true(sim_run_until(t.sim, town_ready, &t.node[0], IO_SEC(5)));
    assert_true(sim_run_until(t.sim, town_ready, &t.node[1], IO_SEC(5)));
    const struct fleet_secret *a = fleet_node_secret(t.node[0].node), *b = fleet_node_secret(t.node[1].node);
    assert_memory_equal(a->key, b->key, sizeof a->key);
    assert_non_null(fleet_node_caller(t.node[0].node));
    assert_true(has_secret(&t));
    town_close(&t);

    town_open(&t, 3);
    t.node[0].sole = true;
    town_start(&t, 0, "n1", "a");
    assert_true(sim_run_until(t.sim, town_ready, &t.node[0], IO_SEC(5)));
    assert_null(fleet_node_secret(t.node[0].node));
    assert_null(fleet_node_caller(t.node[0].node));
    assert_false(has_secret(&t));
    town_close(&t);
}

static void test_a_secret_of_another_version_is_refused(void **state)
{
    (void)state;
    struct town t;
    town_open(&t, 3);
    sim_store_put_truth(t.sim, CD_STR(STORE_KEY_PEER_AUTH), CD_STR("{\"v\":2,\"keys\":[]}"));
    town_start(&t, 0, "n1", "a");
    sim_run_for(t.sim, IO_SEC(5));
    assert_int_equal(t.node[0].refused, 1);
    assert_true(strstr(t.node[0].why, STORE_KEY_PEER_AUTH) != NULL);
    struct store_lease l;
    assert_false(read_lease(&t, "a", &l));
    town_close(&t);
}

/* Rough weather: kills, stops, pauses, jumps of the clock, faults of the bucket. What the checks of the town
 * say must hold, and when all is calm again somebody serves. */
static uint64_t storm(uint64_t seed, unsigned *acks, unsigned *fences)
{
    struct town t;
    town_open(&t, seed);
    sim_store_set(t.sim, &(struct sim_store_opts){.latency_ns = IO_MS(10),
                                                  .jitter_ns = IO_MS(60),
                                                  .tokens_by_generation = seed % 2 == 0,
                                                  .throttle_ppm = 5000,
                                                  .fail_ppm = 10000,
                                                  .lose_request_ppm = 10000,
                                                  .lose_answer_ppm = 10000,
                                                  .late_ppm = 5000,
                                                  .late_ns = IO_SEC(20)});
    town_start(&t, 0, "n1", "a");
    town_start(&t, 1, "n2", seed % 3 == 0 ? "a" : "b");
    for (unsigned i = 0; i < 14; i++) {
        struct town_node *n = &t.node[cd_rng_below(&t.rng, 2)];
        sim_run_for(t.sim, IO_MS(cd_rng_below(&t.rng, 8000)));
        switch (cd_rng_below(&t.rng, 5)) {
        case 0: town_kill(n, IO_MS(cd_rng_below(&t.rng, 10000))); break;
        case 1: town_restart(n); break;
        case 2: sim_pause(n->sim, IO_MS(cd_rng_below(&t.rng, 15000))); break;
        case 3: sim_clock_step(n->sim, (int64_t)cd_rng_below(&t.rng, 20000) - 10000); break;
        default: break;
        }
    }
    sim_store_heal(t.sim);
    unsigned before = t.acked;
    sim_run_for(t.sim, IO_SEC(120));
    if (t.acked == before)
        fprintf(stderr, "seed %llu: nobody serves: %s / %s\n", (unsigned long long)seed, t.node[0].why,
                t.node[1].why);
    assert_true(t.acked > before);
    for (unsigned i = 0; i < 2; i++) {
        *acks += t.node[i].acks;
        *fences += t.node[i].fences;
    }
    uint64_t hash = sim_hash(t.sim);
    town_close(&t);
    return hash;
}

static void test_storms_lose_nothing_and_end(void **state)
{
    (void)state;
    unsigned acks = 0, fences = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint64_t hash = storm(seed, &acks, &fences);
        if (seed <= 2)
            assert_true(hash == storm(seed, &acks, &fences));
    }
    assert_true(acks > 300);
    assert_true(fences > 2);
}

CD_TESTS(node, cmocka_unit_test(test_a_node_starts_serves_and_stops_in_order),
         cmocka_unit_test(test_after_a_kill_the_next_process_waits_for_the_lease_and_loses_nothing),
         cmocka_unit_test(test_a_store_of_ones_own_is_served_at_once_after_a_kill),
         cmocka_unit_test(test_a_dead_node_is_taken_over_and_its_log_is_finished),
         cmocka_unit_test(test_a_paused_node_fences_and_its_successor_has_everything),
         cmocka_unit_test(test_a_second_process_with_the_same_id_loses_nothing),
         cmocka_unit_test(test_a_bucket_of_another_format_is_refused),
         cmocka_unit_test(test_nodes_of_a_fleet_share_a_secret_and_a_sole_one_needs_none),
         cmocka_unit_test(test_a_secret_of_another_version_is_refused),
         cmocka_unit_test(test_storms_lose_nothing_and_end))
