#include "fleet/sweep.h"
#include "rig.h"

struct stage {
    struct sim *sim;
    struct sim_node *node;
    struct fleet_authority authority;
    struct fleet_self self;
    struct fleet_sweep sweep;
    int rc;
};

static void own_flow(void *arg)
{
    struct stage *g = arg;
    g->rc = fleet_sweep_own(&g->sweep);
}

static void put(struct stage *g, void (*key)(struct cd_buf *out, struct cd_str session), const char *session)
{
    struct cd_buf k = {0};
    key(&k, cd_str(session));
    sim_store_put_truth(g->sim, cd_buf_str(&k), CD_STR("x"));
    cd_buf_deinit(&k);
}

static void row_key(struct cd_buf *out, struct cd_str session)
{
    store_key_row(out, session, CD_STR("0123456789abcdef0123456789abcdef"));
}

static void put_lease(struct stage *g, char digit)
{
    struct store_lease l = {.node = "a", .seq = 1, .ttl_ms = RIG_TTL_MS, .expires_ms = 1, .peer_protocol = 1};
    memcpy(l.generation, rig_generation(digit), STORE_GENERATION_LEN);
    memcpy(l.probe_key, rig_generation(digit), STORE_GENERATION_LEN);
    store_load_init(&l.load);
    struct cd_buf body = {0};
    store_lease_write(&body, &l);
    sim_store_put_truth(g->sim, CD_STR("nodes/a.json"), cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static void one_more(void *arg, struct cd_str key, const struct sim_object *o)
{
    (void)key;
    (void)o;
    ++*(unsigned *)arg;
}

static unsigned count(struct stage *g)
{
    unsigned n = 0;
    sim_store_each(g->sim, CD_STR("log/"), one_more, &n);
    return n;
}

static void sweep_own(struct stage *g)
{
    (void)io_spawn(sim_io(g->node, 0), "own", own_flow, g);
    sim_run_for(g->sim, IO_SEC(30));
    assert_int_equal(g->rc, IO_OK);
}

static void test_what_a_later_process_of_the_same_id_writes_is_no_leftover(void **state)
{
    (void)state;
    struct stage g = {.sim = sim_new(NULL), .rc = -1};
    g.node = sim_node(g.sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g.sim, 1);
    struct io *io = sim_io(g.node, 0);
    (void)snprintf(g.self.node, sizeof g.self.node, "a");
    memcpy(g.self.generation, rig_generation('1'), STORE_GENERATION_LEN);
    (void)snprintf(g.self.session, sizeof g.self.session, "a/%s", rig_generation('1'));
    g.self.authority = &g.authority;
    g.sweep = (struct fleet_sweep){.io = io, .bucket = sim_bucket(io, ""), .self = &g.self};
    char other[STORE_SESSION_MAX + 1];
    (void)snprintf(other, sizeof other, "a/%s", rig_generation('2'));
    put(&g, row_key, other);
    put(&g, store_key_floor, other);
    put(&g, row_key, g.self.session);
    put_lease(&g, '2'); /* It replaced us, and we have not heard of it yet. */
    sweep_own(&g);
    assert_int_equal(count(&g), 3);
    put_lease(&g, '1'); /* The lease is ours: what was there before is of the past. */
    sweep_own(&g);
    assert_int_equal(count(&g), 1); /* Our own. */
    fleet_sweep_deinit(&g.sweep);
    sim_free(g.sim);
}

/* ---- The leases of dead nodes ---- */

static void dead_lease(struct stage *g, const char *node, bool ephemeral, int64_t dead_for_ms)
{
    struct cd_buf key = {0}, body = {0};
    struct store_lease l = {.seq = 1, .ttl_ms = RIG_TTL_MS, .peer_protocol = 1, .ephemeral = ephemeral};
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    memcpy(l.generation, rig_generation('3'), STORE_GENERATION_LEN);
    memcpy(l.probe_key, rig_generation('3'), STORE_GENERATION_LEN);
    l.expires_ms = (uint64_t)(io_wall_ms(sim_io(g->node, 0)) - dead_for_ms);
    l.has_log = true;
    l.log.state = STORE_LOG_SEALED;
    store_load_init(&l.load);
    store_key_lease(&key, cd_str(node));
    store_lease_write(&body, &l);
    sim_store_put_truth(g->sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static void pass_flow(void *arg)
{
    struct stage *g = arg;
    g->rc = fleet_sweep_pass(&g->sweep);
}

static void pass(struct stage *g)
{
    (void)io_spawn(sim_io(g->node, 0), "pass", pass_flow, g);
    sim_run_for(g->sim, IO_SEC(30));
    assert_int_equal(g->rc, IO_OK);
}

/* Milliseconds, 0: ended for good, -1: there is none. */
static int64_t expiry(struct stage *g, const char *node)
{
    struct store_lease l;
    return rig_lease(g->sim, node, &l) ? (int64_t)l.expires_ms : -1;
}

#define HOUR_MS INT64_C(3600000)

static void test_leases_of_the_dead_end_and_those_of_made_ids_go_after_a_day(void **state)
{
    (void)state;
    struct stage g = {.sim = sim_new(NULL), .rc = -1};
    bool role = false;
    g.node = sim_node(g.sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g.sim, 1);
    struct io *io = sim_io(g.node, 0);
    (void)snprintf(g.self.node, sizeof g.self.node, "a");
    g.self.authority = &g.authority;
    g.sweep = (struct fleet_sweep){.io = io, .bucket = sim_bucket(io, ""), .self = &g.self, .role = &role};
    dead_lease(&g, "named", false, 1000);
    dead_lease(&g, "made_long_ago", true, 25 * HOUR_MS);
    dead_lease(&g, "made", true, HOUR_MS);
    dead_lease(&g, "alive", true, -HOUR_MS * 48);
    dead_lease(&g, "restarts", false, -25000);
    pass(&g);
    assert_true(expiry(&g, "named") > 0 && expiry(&g, "made_long_ago") > 0 && expiry(&g, "made") > 0);
    role = true;
    pass(&g);
    assert_int_equal(expiry(&g, "named"), 0);
    assert_int_equal(expiry(&g, "made_long_ago"), -1);
    assert_true(expiry(&g, "made") > 0 && expiry(&g, "alive") > 0);
    assert_true(expiry(&g, "restarts") > 0); /* A recovery may still have to know since when it is away. */
    uint64_t puts = sim_calls(g.node, "store.put");
    sim_run_for(g.sim, IO_SEC(22 * 3600));
    pass(&g);
    assert_true(expiry(&g, "made") > 0);
    sim_run_for(g.sim, IO_SEC(2 * 3600));
    sim_store_rule(g.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "delete", .times = 1});
    pass(&g);
    assert_int_equal(expiry(&g, "made"), 0); /* It is not clear what became of the delete. */
    sim_run_for(g.sim, IO_SEC(25 * 3600));
    pass(&g);
    assert_int_equal(expiry(&g, "made"), -1);
    assert_int_equal(expiry(&g, "named"), 0);
    assert_true(expiry(&g, "alive") > 0);
    assert_int_equal(expiry(&g, "restarts"), 0);
    assert_int_equal(sim_calls(g.node, "store.put"), puts + 2);
    fleet_sweep_deinit(&g.sweep);
    sim_free(g.sim);
}

static void test_a_lease_that_was_taken_meanwhile_is_left_alone(void **state)
{
    (void)state;
    struct stage g = {.sim = sim_new(NULL), .rc = -1};
    bool role = true;
    g.node = sim_node(g.sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g.sim, 1);
    struct io *io = sim_io(g.node, 0);
    (void)snprintf(g.self.node, sizeof g.self.node, "a");
    g.self.authority = &g.authority;
    g.sweep = (struct fleet_sweep){.io = io, .bucket = sim_bucket(io, ""), .self = &g.self, .role = &role};
    dead_lease(&g, "b", false, HOUR_MS);
    sim_store_rule(
        g.sim, &(struct sim_store_rule){.effect = SIM_STORE_LATE, .op = "put", .ns = IO_SEC(2), .times = 1});
    (void)io_spawn(io, "pass", pass_flow, &g);
    sim_run_for(g.sim, IO_SEC(1));
    dead_lease(&g, "b", false, -HOUR_MS); /* Its next process. */
    sim_run_for(g.sim, IO_SEC(29));
    assert_int_equal(g.rc, IO_OK);
    assert_true(expiry(&g, "b") > 0);
    fleet_sweep_deinit(&g.sweep);
    sim_free(g.sim);
}

static unsigned strays(struct stage *g)
{
    unsigned n = 0;
    sim_store_each(g->sim, CD_STR("node-cells/"), one_more, &n);
    return n;
}

static void test_what_lies_below_node_cells_goes(void **state)
{
    (void)state;
    struct stage g = {.sim = sim_new(NULL), .rc = -1};
    bool role = false;
    g.node = sim_node(g.sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g.sim, 1);
    struct io *io = sim_io(g.node, 0);
    (void)snprintf(g.self.node, sizeof g.self.node, "a");
    g.self.authority = &g.authority;
    g.sweep = (struct fleet_sweep){.io = io, .bucket = sim_bucket(io, ""), .self = &g.self, .role = &role};
    sim_store_put_truth(g.sim, CD_STR("node-cells/a/Room:1"), CD_STR("x"));
    sim_store_put_truth(g.sim, CD_STR("node-cells/b"), CD_STR("x"));
    pass(&g);
    assert_int_equal(strays(&g), 2); /* That is for who has the role. */
    role = true;
    sim_store_rule(g.sim,
                   &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "delete", .for_ns = IO_SEC(60)});
    pass(&g);
    assert_int_equal(strays(&g), 2);
    sim_run_for(g.sim, IO_SEC(3600));
    pass(&g);
    assert_int_equal(strays(&g), 0);
    fleet_sweep_deinit(&g.sweep);
    sim_free(g.sim);
}

CD_TESTS(sweep, cmocka_unit_test(test_what_lies_below_node_cells_goes),
         cmocka_unit_test(test_leases_of_the_dead_end_and_those_of_made_ids_go_after_a_day),
         cmocka_unit_test(test_a_lease_that_was_taken_meanwhile_is_left_alone),
         cmocka_unit_test(test_what_a_later_process_of_the_same_id_writes_is_no_leftover))
