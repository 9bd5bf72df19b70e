/* What a process finds of those before it: fleet.md 9.5. */
#include "cell_node/node.h"

static uint64_t owned, confirmed;

static void look(struct io *io, void *arg)
{
    (void)arg;
    struct cell_tally t = cell_shard_tally(node.shard[io_loop_index(io)]);
    owned += t.owned;
    confirmed += t.inventoried;
}

static unsigned there;

static void stat_it(struct io *io, void *arg)
{
    struct io_path_info info;
    there += io_path_stat(io, arg, &info) == IO_OK;
}

static uint64_t owned_now(void)
{
    owned = confirmed = 0;
    for (unsigned i = 1; i < NODE_LOOPS; i++)
        sim_in_loop(node.node, i, look, NULL);
    node_run(5);
    return owned;
}

static void use(unsigned cells)
{
    char name[16];
    for (unsigned i = 0; i < cells; i++) {
        (void)snprintf(name, sizeof name, "C:%u", i);
        assert_int_equal(node_ask(name, "add 1"), 1);
    }
}

static void test_cells_of_the_process_before_are_counted_once_their_records_were_read(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    node_run(2000);
    assert_int_equal(owned_now(), 0);
    assert_int_equal(confirmed, NODE_LOOPS - 1); /* There was nothing to read. */
    use(20);
    node_evict("C:3");
    assert_int_equal(owned_now(), 20);
    node_crash(SIM_KILL);
    node_restart(false);
    node_ready();
    assert_int_equal(owned_now(), 0);
    assert_int_equal(confirmed, 0); /* Not yet: nothing is said of it. */
    node_run(2000);
    assert_int_equal(owned_now(), 20);
    assert_int_equal(confirmed, NODE_LOOPS - 1);
    assert_int_equal(node_ask("C:3", "get"), 1);
    assert_int_equal(node_ask("C:4", "get"), 1);
    assert_int_equal(owned_now(), 20);
    node_free();
}

static void test_a_cell_of_somebody_else_is_not_counted_and_its_directory_goes(void **state)
{
    static const char other[] =
        "{\"v\":1,\"session\":\"m/"
        "0000000000000000000000000000000000000000000000000000000000000000\",\"epoch\":9}";
    (void)state;
    node_open(NULL);
    node_ready();
    use(2);
    node_crash(SIM_KILL);
    sim_store_put_truth(node.sim, CD_STR("cells/C:1/owner.json"), cd_str(other));
    node_restart(false);
    node_ready();
    node_run(3000);
    assert_int_equal(owned_now(), 1);
    sim_in_loop(node.node, 1, stat_it, (void *)(uintptr_t)"/d/cells/C:0");
    sim_in_loop(node.node, 2, stat_it, (void *)(uintptr_t)"/d/cells/C:1");
    node_run(5);
    assert_int_equal(there, 1);
    node_free();
}

CD_TESTS(inventory,
         cmocka_unit_test(test_cells_of_the_process_before_are_counted_once_their_records_were_read),
         cmocka_unit_test(test_a_cell_of_somebody_else_is_not_counted_and_its_directory_goes))
