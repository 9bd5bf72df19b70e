/* When a node that starts may say that it serves: fleet.md 9.6, operations.md 5.11. */
#include "fleet/gate.h"

#include "fleet/drain.h"
#include "io_sim/io_sim.h"
#include "io_sim/sim_store.h"
#include "support/test.h"

static struct fleet_authority authority;
static const struct fleet_self self = {.node = "a", .authority = &authority};
static struct store_lease lease[5];
static struct fleet_gate_baseline base[1];
static struct fleet_gate_facts f;

static void make(unsigned nodes)
{
    memset(lease, 0, sizeof lease);
    for (unsigned i = 0; i < nodes; i++) {
        struct store_lease *l = &lease[i];
        l->node[0] = (char)('a' + i);
        memset(l->generation, '0', STORE_GENERATION_LEN);
        memset(l->probe_key, '0', STORE_GENERATION_LEN);
        l->expires_ms = 5000;
        l->ttl_ms = 10000;
        l->peer_protocol = 1;
        store_load_init(&l->load);
        l->load.sampled_ms = 1;
        l->load.memory_headroom = true;
        l->load.restoring = 0;
        l->load.owned_cells = 10;
    }
    f = (struct fleet_gate_facts){
        .self = &self, .lease = lease, .leases = nodes, .now_ms = 1000, .baseline = base, .activations = 16};
}

static const char *closed(void)
{
    bool successor;
    const char *why = fleet_gate_closed(&f, &successor);
    return why == NULL ? successor ? "successor" : "open" : why;
}

static void test_a_fleet_of_one_and_one_at_rest_are_open(void **state)
{
    (void)state;
    make(1);
    assert_string_equal(closed(), "open");
    f.leases = 0;
    assert_string_equal(closed(), "own_lease"); /* The listing does not have us. */
    make(3);
    assert_string_equal(closed(), "open");
    f.now_ms = 5000;
    assert_string_equal(closed(), "own_lease");
}

static void test_it_waits_for_a_drain_for_memory_and_for_what_the_last_drain_left(void **state)
{
    (void)state;
    make(3);
    f.drained = true;
    assert_string_equal(closed(), "drain");
    make(3);
    lease[2].load.memory_headroom = false;
    assert_string_equal(closed(), "memory");
    lease[2].expires_ms = 1000; /* It is dead. */
    assert_string_equal(closed(), "open");
    lease[1].load.sampled_ms = STORE_ABSENT; /* It tells of no headroom. */
    lease[1].load.memory_headroom = false;
    assert_string_equal(closed(), "open");
    lease[1].load.pressured = true;
    assert_string_equal(closed(), "memory");
    make(3);
    lease[1].load.restoring = 21;
    assert_string_equal(closed(), "open"); /* Nobody drained: it is not known what is usual. */
    (void)snprintf(base[0].node, sizeof base[0].node, "b");
    base[0].restoring = 4;
    f.baselines = 1;
    assert_string_equal(closed(), "restore_backlog");
    lease[1].load.restoring = 20;
    assert_string_equal(closed(), "open");
}

static void test_shares_have_to_be_even_unless_cells_will_come_to_us(void **state)
{
    (void)state;
    make(4);
    f.owned = 100;
    lease[1].load.owned_cells = 40;
    lease[2].load.owned_cells = 10;
    lease[3].load.owned_cells = 10;
    assert_string_equal(closed(), "open"); /* 40 <= 20 + 40 / 2 */
    lease[1].load.owned_cells = 44;
    assert_string_equal(closed(), "ownership"); /* 44 > 21.3 + 22 */
    lease[0].paced_handoff = true;
    assert_string_equal(closed(), "ownership"); /* We have more ourselves. */
    f.owned = 43;
    assert_string_equal(closed(), "successor");
    lease[0].paced_handoff = false;
    lease[2].load.owned_cells = STORE_ABSENT;
    lease[1].load.owned_cells = 10;
    assert_string_equal(closed(), "ownership"); /* Not all of them tell yet. */
    make(2);
    lease[1].load.owned_cells = STORE_ABSENT;
    assert_string_equal(closed(), "open"); /* One incumbent: nothing to be even with. */
}

/* ---- Reading ---- */

static bool told;

static void put_lease(struct sim *sim, const struct store_lease *l)
{
    struct cd_buf key = {0}, body = {0};
    store_key_lease(&key, cd_str(l->node));
    store_lease_write(&body, l);
    sim_store_put_truth(sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static const char *look(struct io *io)
{
    struct fleet_gate g = {.io = io, .bucket = io_bucket(io), .self = &self, .activations = 16};
    const char *why = "unread";
    bool successor;
    assert_int_equal(fleet_gate_look(&g, &why, &successor), IO_OK);
    return why == NULL ? "open" : why;
}

static void look_flow(void *arg)
{
    struct io *io = arg;
    struct sim *sim = sim_of(io);
    struct fleet_drain_token t = {.io = io, .bucket = io_bucket(io), .node = CD_STR("c")};
    make(3);
    for (unsigned i = 0; i < 3; i++)
        lease[i].expires_ms = (uint64_t)io_wall_ms(io) + 1000000;
    assert_string_equal(look(io), "own_lease");
    for (unsigned i = 0; i < 3; i++)
        put_lease(sim, &lease[i]);
    assert_string_equal(look(io), "open");
    assert_int_equal(fleet_drain_take(&t, CD_STR("[{\"node\":\"b\",\"restoring\":2}]")), IO_OK);
    assert_string_equal(look(io), "drain");
    fleet_drain_release(&t, CD_STR("[{\"node\":\"b\",\"restoring\":2}]"));
    assert_string_equal(look(io), "open");
    lease[1].load.restoring = 19;
    put_lease(sim, &lease[1]);
    assert_string_equal(look(io), "restore_backlog"); /* Of the token that was given back. */
    told = true;
}

static void boot(struct io *io, void *arg)
{
    (void)arg;
    (void)sim_bucket(io, "");
    (void)io_spawn(io, "look", look_flow, io);
}

static void unwind(struct io *io, void *arg)
{
    (void)io, (void)arg;
}

static bool is_told(void *arg)
{
    (void)arg;
    return told;
}

static void test_it_is_read_from_leases_and_the_token(void **state)
{
    (void)state;
    authority = (struct fleet_authority){0};
    struct sim *sim = sim_new(NULL);
    (void)sim_node(
        sim, &(struct sim_node_opts){.name = "n", .loops = 1, .program = {.boot = boot, .unwind = unwind}});
    told = false;
    assert_true(sim_run_until(sim, is_told, NULL, IO_SEC(300)));
    sim_free(sim);
}

CD_TESTS(gate, cmocka_unit_test(test_a_fleet_of_one_and_one_at_rest_are_open),
         cmocka_unit_test(test_it_waits_for_a_drain_for_memory_and_for_what_the_last_drain_left),
         cmocka_unit_test(test_shares_have_to_be_even_unless_cells_will_come_to_us),
         cmocka_unit_test(test_it_is_read_from_leases_and_the_token))
