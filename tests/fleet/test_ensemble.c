#include "fleet/ensemble.h"

#include "log/log.h"
#include "town.h"

/* ---- Who ---- */

static void test_members_stay_and_others_come_by_load_and_then_by_hash(void **state)
{
    (void)state;
    struct fleet_candidate c[4] = {{.peer = {.node = "a"}, .hash = 1, .restoring = 3},
                                   {.peer = {.node = "b"}, .hash = 2, .pressured = true},
                                   {.peer = {.node = "c"}, .hash = 9},
                                   {.peer = {.node = "d"}, .hash = 12, .current = true, .restoring = 9}};
    fleet_candidates_order(c, 4);
    assert_string_equal(c[0].peer.node, "d");
    assert_string_equal(c[1].peer.node, "c");
    assert_string_equal(c[2].peer.node, "b");
    assert_string_equal(c[3].peer.node, "a");
}

/* ---- Whole nodes ---- */

static bool shipped(void *arg)
{
    struct town_node *n = arg;
    struct log_numbers k;
    if (!n->ready || n->node == NULL || sim_node_life(n->sim) != SIM_UP)
        return false;
    log_numbers(fleet_node_log(n->node), &k);
    return k.log_epoch != 0 && k.proven_batch > k.durable_batch;
}

static void open_town(struct town *t, uint64_t seed, bool steady)
{
    static const char *const ids[] = {"a", "b", "c"};
    town_open(t, seed);
    t->followers = true;
    t->steady = steady;
    for (unsigned i = 0; i < TOWN_NODES; i++) {
        town_start(t, i, ids[i], ids[i]);
        assert_true(sim_run_until(t->sim, town_ready, &t->node[i], IO_SEC(60)));
    }
}

static struct town_node *writer(struct town *t)
{
    for (unsigned i = 0; i < TOWN_NODES; i++)
        if (t->node[i].acks > 0)
            return &t->node[i];
    return NULL;
}

static bool somebody_writes(void *arg)
{
    return writer(arg) != NULL;
}

/* The record names both others, and they have proven more than the bucket. */
static bool shipped_to_both(void *arg)
{
    struct town_node *n = arg;
    struct cd_buf key = {0};
    struct sim_object o;
    store_key_lease(&key, cd_str(n->id));
    bool both = shipped(n) && sim_store_get_truth(n->town->sim, cd_buf_str(&key), &o);
    cd_buf_deinit(&key);
    if (!both)
        return false;
    struct store_lease *l = cd_new(struct store_lease);
    both = store_lease_read(l, cd_str(n->id), o.body, NULL) == 0 && l->log.ensemble_count == 2;
    cd_free(l);
    return both;
}

/* Somebody writes through two followers. */
static struct town_node *ship(struct town *t)
{
    assert_true(sim_run_until(t->sim, somebody_writes, t, IO_SEC(60)));
    struct town_node *w = writer(t);
    assert_true(sim_run_until(t->sim, shipped_to_both, w, IO_SEC(90)));
    return w;
}

static struct town_node *another(struct town_node *n)
{
    struct town *t = n->town;
    return n == &t->node[0] ? &t->node[1] : &t->node[0];
}

/* The writer dies with its disk, nobody restarts; whether somebody else acknowledges then. What the actors
 * restore is checked by them. */
static bool taken_over_from(struct town_node *w)
{
    struct town *t = w->town;
    t->calm = true;
    sim_crash_wait(w->sim, SIM_POWER);
    for (unsigned i = 0; i < TOWN_NODES; i++)
        t->node[i].acks = 0;
    sim_store_heal(t->sim);
    return sim_run_until(t->sim, somebody_writes, t, IO_SEC(120));
}

static const struct sim_store_rule no_slots = {.effect = SIM_STORE_DOWN, .op = "put", .pattern = "log/*"};

static void test_followers_acknowledge_through_an_outage_and_witness_for_a_lost_disk(void **state)
{
    (void)state;
    struct town t;
    open_town(&t, 1, true);
    struct town_node *w = ship(&t);
    struct log_numbers before, after;
    log_numbers(fleet_node_log(w->node), &before);
    unsigned acks = w->acks;
    /* No slot gets through; leases do, so everybody stays who he is. */
    sim_store_rule(t.sim, &no_slots);
    sim_run_for(t.sim, IO_SEC(5));
    log_numbers(fleet_node_log(w->node), &after);
    assert_int_equal(after.durable_slot, before.durable_slot);
    assert_true(w->acks >= acks + 5 && after.proven_batch > after.durable_batch);
    assert_true(taken_over_from(w)); /* Only the followers have the rest. */
    assert_true(sim_marks(t.sim, "recover.batch_of_witness") > 0);
    town_close(&t);
}

static void test_a_batch_needs_all_members(void **state)
{
    (void)state;
    struct town t;
    open_town(&t, 2, true);
    struct town_node *w = ship(&t);
    sim_store_rule(t.sim, &no_slots);
    sim_pause(another(w)->sim, IO_MS(1500)); /* Shorter than what ends an ensemble. */
    sim_run_for(t.sim, IO_MS(200));
    unsigned acks = w->acks;
    sim_run_for(t.sim, IO_SEC(1));
    assert_int_equal(w->acks, acks);
    sim_run_for(t.sim, IO_SEC(2));
    assert_true(w->acks > acks);
    town_close(&t);
}

/* Answers of n take so long, and what it is asked. */
static void slow_link(struct town_node *n, uint64_t ns)
{
    const struct sim_link slow = {.delay_ns = ns};
    sim_link_set(n->town->sim, NULL, n->sim, &slow);
    sim_link_set(n->town->sim, n->sim, NULL, &slow);
}

/* How many followers the record of w names, and whether n is one of them. */
static unsigned members_of(struct town_node *w, const struct town_node *n, bool *is)
{
    struct cd_buf key = {0};
    struct sim_object o;
    struct store_lease *l = cd_new(struct store_lease);
    store_key_lease(&key, cd_str(w->id));
    CHECK(sim_store_get_truth(w->town->sim, cd_buf_str(&key), &o));
    CHECK_INT(store_lease_read(l, cd_str(w->id), o.body, NULL), 0);
    unsigned count = l->log.ensemble_count;
    *is = false;
    for (unsigned i = 0; i < count; i++)
        *is = *is || strcmp(l->log.ensemble[i], n->id) == 0;
    cd_free(l);
    cd_buf_deinit(&key);
    return count;
}

static void test_a_slow_follower_is_replaced_and_acknowledgements_go_on(void **state)
{
    (void)state;
    struct town t;
    bool is;
    open_town(&t, 5, true);
    struct town_node *w = ship(&t), *slow = another(w);
    slow_link(slow, IO_MS(150));
    unsigned acks = w->acks;
    sim_run_for(t.sim, IO_SEC(2));
    assert_true(w->acks >= acks + 3); /* Slowly. */
    assert_int_equal(members_of(w, slow, &is), 2); /* For as long as the sustain time it is put up with. */
    sim_run_for(t.sim, IO_SEC(8));
    assert_int_equal(members_of(w, slow, &is), 1);
    assert_true(!is && shipped(w));
    acks = w->acks;
    sim_run_for(t.sim, IO_SEC(2));
    assert_true(w->acks >= acks + 10);
    slow_link(slow, IO_MS(1)); /* Well again, it is taken back. */
    assert_true(sim_run_until(t.sim, shipped_to_both, w, IO_SEC(60)));
    assert_int_equal(w->fences, 0);
    town_close(&t);
}

static void test_a_request_that_hangs_costs_the_wait_for_a_second_one(void **state)
{
    (void)state;
    struct town t;
    open_town(&t, 6, true);
    struct town_node *w = ship(&t), *other = another(w);
    sim_store_rule(t.sim, &no_slots);
    uint64_t worst = 0, hedges = sim_marks(t.sim, "log.hedge_won");
    struct sim_link hole;
    sim_link_get(t.sim, w->sim, other->sim, &hole);
    sim_run_for(t.sim, IO_SEC(4)); /* The windows know what is usual. */
    hole.half_open_ppm = 500000; /* Of new connections every other one stops somewhere. */
    sim_link_set(t.sim, w->sim, other->sim, &hole);
    (void)sim_reset(t.sim, w->sim, other->sim);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t began = sim_now_ns(t.sim);
        w->acks = 0;
        assert_true(sim_run_until(t.sim, town_acked_more, w, IO_SEC(10)));
        uint64_t took = sim_now_ns(t.sim) - began;
        worst = took > worst ? took : worst;
    }
    assert_true(sim_marks(t.sim, "log.hedge_won") > hedges); /* Else nothing was tried. */
    assert_true(worst < IO_MS(700)); /* A quarter of a second, and the actor's own pause. */
    town_close(&t);
}

static void test_a_node_that_hears_nobody_suspects_itself_and_asks_around(void **state)
{
    (void)state;
    struct town t;
    bool is;
    open_town(&t, 7, true);
    struct town_node *w = ship(&t);
    for (unsigned i = 0; i < TOWN_NODES; i++)
        if (&t.node[i] != w)
            sim_cut_both(t.sim, w->sim, t.node[i].sim);
    unsigned acks = w->acks;
    sim_run_for(t.sim, IO_SEC(12));
    assert_true(w->acks > acks + 5 && !shipped(w)); /* By the bucket. */
    assert_int_equal(members_of(w, w, &is), 2); /* No other one was named. */
    sim_heal_all(t.sim);
    assert_true(sim_run_until(t.sim, shipped_to_both, w, IO_SEC(30))); /* Nobody is passed over for it. */
    assert_int_equal(w->fences, 0);
    town_close(&t);
}

static uint64_t log_epoch_of(const struct town_node *n)
{
    struct log_numbers k;
    log_numbers(fleet_node_log(n->node), &k);
    return k.log_epoch;
}

static void test_a_quiet_fleet_keeps_its_ensemble_and_misses_who_is_gone(void **state)
{
    (void)state;
    struct town t;
    bool is;
    open_town(&t, 8, true);
    struct town_node *w = ship(&t), *other = another(w);
    t.quiet = true;
    for (unsigned turn = 0; turn < 2; turn++) { /* The second time none has taken the log epoch yet. */
        uint64_t before = log_epoch_of(w);
        sim_cut_both(t.sim, w->sim, other->sim);
        sim_run_for(t.sim, IO_SEC(8));
        assert_true(members_of(w, other, &is) == 1 && !is); /* No write was needed. */
        sim_heal_all(t.sim);
        sim_run_for(t.sim, IO_SEC(45));
        uint64_t named = log_epoch_of(w);
        assert_true(named >= before + 2); /* Without it, and with it again. */
        sim_run_for(t.sim, IO_SEC(60));
        assert_int_equal(log_epoch_of(w), named);
        assert_true(members_of(w, other, &is) == 2 && is);
    }
    uint64_t named = log_epoch_of(w);
    t.quiet = false;
    assert_true(sim_run_until(t.sim, shipped_to_both, w, IO_SEC(5)));
    assert_int_equal(log_epoch_of(w), named); /* The first batch was taken. */
    town_close(&t);
}

static void test_a_leader_that_was_taken_for_dead_credits_nothing_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct town t;
        open_town(&t, seed, false);
        struct town_node *w = ship(&t);
        sim_clock_step(another(w)->sim, 30000); /* Whose clock says that its lease is long over. */
        sim_run_for(t.sim, IO_SEC(20));
        assert_int_equal(w->fences, 1);
        town_close(&t);
    }
}

static void test_a_loss_of_all_followers_is_declared_by_name(void **state)
{
    (void)state;
    struct town t;
    struct log_numbers k;
    struct cd_buf key = {0};
    struct sim_object o;
    open_town(&t, 3, true);
    struct town_node *w = ship(&t);
    log_numbers(fleet_node_log(w->node), &k);
    store_key_log(&key, cd_str(fleet_node_self(w->node)->session));
    cd_buf_addf(&key, "loss/e%llu.json", (unsigned long long)k.log_epoch);
    sim_store_rule(t.sim, &no_slots);
    sim_run_for(t.sim, IO_SEC(3));
    t.calm = t.lossy = true;
    for (unsigned i = 0; i < TOWN_NODES; i++)
        sim_crash_wait(t.node[i].sim, SIM_POWER);
    sim_store_heal(t.sim);
    for (unsigned i = 0; i < TOWN_NODES; i++) {
        t.node[i].ready = false;
        t.node[i].acks = 0;
        if (&t.node[i] != w)
            sim_restart(t.node[i].sim, true);
    }
    assert_true(sim_run_until(t.sim, somebody_writes, &t, IO_SEC(180)));
    assert_true(sim_store_get_truth(t.sim, cd_buf_str(&key), &o));
    cd_buf_deinit(&key);
    town_close(&t);
}

static void test_batches_of_all_ensembles_are_history(void **state)
{
    (void)state;
    struct town t;
    struct log_numbers before, after;
    open_town(&t, 4, true);
    struct town_node *w = ship(&t);
    sim_run_for(t.sim, IO_SEC(3));
    log_numbers(fleet_node_log(w->node), &before);
    t.calm = true;
    sim_crash_wait(another(w)->sim, SIM_POWER);
    sim_run_for(t.sim, IO_SEC(1));
    assert_true(sim_run_until(t.sim, shipped, w, IO_SEC(60)));
    log_numbers(fleet_node_log(w->node), &after);
    assert_true(after.log_epoch > before.log_epoch);
    assert_true(taken_over_from(w)); /* One follower is left, and no row is in an object. */
    town_close(&t);
}

static void test_nodes_that_come_and_go_lose_nothing(void **state)
{
    (void)state;
    uint64_t witnessed = 0;
    unsigned acks = 0;
    for (uint64_t seed = 5; seed <= 10; seed++) {
        struct town t;
        open_town(&t, seed, false);
        sim_store_set(t.sim, &(struct sim_store_opts){.latency_ns = IO_MS(10),
                                                      .jitter_ns = IO_MS(20),
                                                      .fail_ppm = 10000,
                                                      .lose_answer_ppm = 10000});
        for (unsigned turn = 0; turn < 5; turn++) {
            sim_run_for(t.sim, IO_SEC(3 + cd_rng_below(&t.rng, 20)));
            struct town_node *n = &t.node[cd_rng_below(&t.rng, TOWN_NODES)];
            if (cd_rng_below(&t.rng, 4) == 0)
                town_restart(n);
            else
                town_kill(n, IO_SEC(1 + cd_rng_below(&t.rng, 12)));
        }
        sim_run_for(t.sim, IO_SEC(40));
        for (unsigned i = 0; i < TOWN_NODES; i++)
            acks += t.node[i].acks;
        witnessed += sim_marks(t.sim, "recover.batch_of_witness");
        town_close(&t);
    }
    assert_true(acks > 200 && witnessed > 0);
}

CD_TESTS(ensemble, cmocka_unit_test(test_members_stay_and_others_come_by_load_and_then_by_hash),
         cmocka_unit_test(test_followers_acknowledge_through_an_outage_and_witness_for_a_lost_disk),
         cmocka_unit_test(test_a_batch_needs_all_members),
         cmocka_unit_test(test_a_slow_follower_is_replaced_and_acknowledgements_go_on),
         cmocka_unit_test(test_a_request_that_hangs_costs_the_wait_for_a_second_one),
         cmocka_unit_test(test_a_node_that_hears_nobody_suspects_itself_and_asks_around),
         cmocka_unit_test(test_a_quiet_fleet_keeps_its_ensemble_and_misses_who_is_gone),
         cmocka_unit_test(test_a_leader_that_was_taken_for_dead_credits_nothing_more),
         cmocka_unit_test(test_a_loss_of_all_followers_is_declared_by_name),
         cmocka_unit_test(test_batches_of_all_ensembles_are_history),
         cmocka_unit_test(test_nodes_that_come_and_go_lose_nothing))
