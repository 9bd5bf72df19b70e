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

static void open_town(struct town *t, uint64_t seed)
{
    static const char *const ids[] = {"a", "b", "c"};
    town_open(t, seed);
    t->followers = true;
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

static bool taken_over(void *arg)
{
    struct town *t = arg;
    for (unsigned i = 0; i < TOWN_NODES; i++)
        if (t->node[i].acks > 0)
            return true;
    return false;
}

static void test_followers_acknowledge_through_an_outage_and_witness_for_a_lost_disk(void **state)
{
    (void)state;
    struct town t;
    open_town(&t, 1);
    assert_true(sim_run_until(t.sim, somebody_writes, &t, IO_SEC(60)));
    struct town_node *w = writer(&t);
    assert_true(sim_run_until(t.sim, shipped, w, IO_SEC(60)));
    struct log_numbers before, after;
    log_numbers(fleet_node_log(w->node), &before);
    unsigned acks = w->acks;
    /* No slot gets through; leases do, so everybody stays who he is. */
    sim_store_rule(t.sim,
                   &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "put", .pattern = "log/*"});
    sim_run_for(t.sim, IO_SEC(5));
    log_numbers(fleet_node_log(w->node), &after);
    assert_int_equal(after.durable_slot, before.durable_slot);
    assert_true(w->acks >= acks + 5 && after.proven_batch > after.durable_batch);
    /* Its machine is lost with its disk: only the followers have the rest. */
    t.calm = true;
    sim_crash_wait(w->sim, SIM_POWER);
    for (unsigned i = 0; i < TOWN_NODES; i++)
        t.node[i].acks = 0;
    sim_store_heal(t.sim);
    assert_true(sim_run_until(t.sim, taken_over, &t, IO_SEC(120))); /* The actors check what they restore. */
    assert_true(sim_marks(t.sim, "recover.batch_of_witness") > 0);
    town_close(&t);
}

static void test_nodes_that_come_and_go_lose_nothing(void **state)
{
    (void)state;
    uint64_t witnessed = 0;
    unsigned acks = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct town t;
        open_town(&t, seed);
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
         cmocka_unit_test(test_nodes_that_come_and_go_lose_nothing))
