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

CD_TESTS(sweep, cmocka_unit_test(test_what_a_later_process_of_the_same_id_writes_is_no_leftover))
