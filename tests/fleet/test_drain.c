/* How long a drain may take, whose turn it is, and who takes the cells. fleet.md 2.5, 9.1, 9.9;
 * operations.md 5.13. */
#include "fleet/drain.h"

#include "fleet/claim.h"
#include "io_sim/io_sim.h"
#include "io_sim/sim_store.h"
#include "support/test.h"

static void budget(uint64_t total, uint64_t token, uint64_t progress, uint64_t reserve, uint64_t grace)
{
    struct fleet_drain_budget b = fleet_drain_budget(total);
    assert_true(b.token_wait_ms == token);
    assert_true(b.no_progress_ms == progress);
    assert_true(b.reserve_ms == reserve);
    assert_true(b.grace_ms == grace);
}

static void test_all_budgets_follow_from_the_total(void **state)
{
    (void)state;
    budget(1, 0, 1, 0, 0);
    budget(3, 2, 1, 0, 0);
    budget(7, 5, 4, 0, 1);
    budget(40000, 30000, 25000, 1000, 2000);
    budget(UINT64_MAX, 13835058055282163711u, 11529215046068469759u, 1000, 2000);
}

static struct store_lease lease(const char *node, uint64_t cells)
{
    struct store_lease l = {.expires_ms = 5000, .peer_protocol = 1, .paced_handoff = true};
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    (void)snprintf(l.addr, sizeof l.addr, "%s:1", node);
    store_load_init(&l.load);
    l.load.resident_cells = cells;
    return l;
}

static void test_who_may_take_cells(void **state)
{
    (void)state;
    struct fleet_authority authority = {0};
    struct fleet_self self = {.node = "a", .authority = &authority};
    struct store_lease l = lease("b", 1);
    assert_true(fleet_may_receive(&l, &self, 4999));
    assert_false(fleet_may_receive(&l, &self, 5000)); /* Its lease has ended. */
    authority.ahead_ms = 10;
    assert_true(fleet_may_receive(&l, &self, 5000)); /* By a clock that is ahead. */
    l.load.draining = true;
    assert_false(fleet_may_receive(&l, &self, 0));
    l = lease("b", 1);
    l.load.pressured = true;
    assert_false(fleet_may_receive(&l, &self, 0));
    l = lease("b", 1);
    l.peer_protocol = 2;
    assert_false(fleet_may_receive(&l, &self, 0));
    l = lease("b", 1);
    l.paced_handoff = false;
    assert_false(fleet_may_receive(&l, &self, 0));
    l = lease("b", 1);
    l.addr[0] = 0;
    assert_false(fleet_may_receive(&l, &self, 0));
    l = lease("a", 1);
    assert_false(fleet_may_receive(&l, &self, 0)); /* Ourselves. */
}

static void test_the_one_with_the_fewest_cells_is_asked_first(void **state)
{
    (void)state;
    struct fleet_receiver r[] = {{.peer.node = "c", .until_ms = 10, .cells = 2},
                                 {.peer.node = "b", .until_ms = 10, .cells = 1},
                                 {.peer.node = "a", .until_ms = 10, .cells = 1}};
    assert_ptr_equal(fleet_receiver_pick(r, 3, 9), &r[2]);
    r[2].refused = true;
    assert_ptr_equal(fleet_receiver_pick(r, 3, 9), &r[1]);
    r[1].cells = 3;
    assert_ptr_equal(fleet_receiver_pick(r, 3, 9), &r[0]);
    r[0].until_ms = 9;
    assert_ptr_equal(fleet_receiver_pick(r, 3, 9), &r[1]);
    assert_null(fleet_receiver_pick(r, 3, 10));
}

/* ---- The token ---- */

static bool told;

static void token_flow(void *arg)
{
    struct io *io = arg;
    struct fleet_drain_token a = {.io = io, .bucket = sim_bucket(io, ""), .node = CD_STR("a")}, b = a;
    b.node = CD_STR("b");
    assert_int_equal(fleet_drain_take(&a, CD_STR("[]")), IO_OK);
    assert_int_equal(fleet_drain_take(&b, CD_STR("[]")), IO_BUSY);
    assert_false(b.held);
    assert_int_equal(fleet_drain_take(&a, CD_STR("[]")), IO_OK); /* A renewal. */
    fleet_drain_release(&a, CD_STR("[]"));
    assert_int_equal(fleet_drain_take(&b, CD_STR("[{\"node\":\"c\",\"restoring\":1}]")), IO_OK);
    assert_int_equal(io_sleep(io, IO_MS(FLEET_DRAIN_TTL_MS - 1000)), IO_OK);
    assert_int_equal(fleet_drain_take(&a, CD_STR("[]")), IO_BUSY);
    assert_int_equal(io_sleep(io, IO_SEC(2)), IO_OK);
    assert_int_equal(fleet_drain_take(&a, CD_STR("[]")), IO_OK); /* Its holder never came back. */
    told = true;
}

static void boot(struct io *io, void *arg)
{
    (void)arg;
    (void)io_spawn(io, "token", token_flow, io);
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

static void test_one_node_at_a_time_has_the_token_and_never_for_ever(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    (void)sim_node(
        sim, &(struct sim_node_opts){.name = "n", .loops = 1, .program = {.boot = boot, .unwind = unwind}});
    told = false;
    assert_true(sim_run_until(sim, is_told, NULL, IO_SEC(300)));
    sim_free(sim);
}

CD_TESTS(drain, cmocka_unit_test(test_all_budgets_follow_from_the_total),
         cmocka_unit_test(test_who_may_take_cells),
         cmocka_unit_test(test_the_one_with_the_fewest_cells_is_asked_first),
         cmocka_unit_test(test_one_node_at_a_time_has_the_token_and_never_for_ever))
