#include "fleet/data_dir.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define DIR_ "/var/lib/celld"

struct stage {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
};

static struct stage stage_open(void)
{
    struct stage g = {.sim = sim_new(NULL)};
    g.node = sim_node(g.sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g.sim, 1);
    g.io = sim_io(g.node, 0);
    return g;
}

static bool there(struct stage *g, const char *path)
{
    struct io_path_info info;
    return io_path_stat(g->io, path, &info) == IO_OK;
}

static void test_it_is_made_and_one_process_has_it(void **state)
{
    (void)state;
    struct stage g = stage_open();
    struct fleet_data_dir first = {0}, second = {0};
    struct cd_buf why = {0};
    assert_int_equal(fleet_data_dir_open(&first, g.io, DIR_, &why), IO_OK);
    assert_int_equal(fleet_data_dir_open(&second, g.io, DIR_, &why), IO_BUSY);
    assert_non_null(strstr(cd_buf_cstr(&why), "used by another celld"));
    fleet_data_dir_close(&first);
    assert_int_equal(fleet_data_dir_open(&second, g.io, DIR_, &why), IO_OK);
    fleet_data_dir_close(&second);
    cd_buf_deinit(&why);
    sim_free(g.sim);
}

static void name_found(void *arg, const char *name)
{
    *(bool *)arg = *(bool *)arg || strcmp(name, "celld") == 0;
}

static void test_a_power_loss_does_not_take_it(void **state)
{
    (void)state;
    struct stage g = stage_open();
    struct fleet_data_dir d = {0};
    struct cd_buf why = {0};
    bool durable = false;
    /* Whoever made it was killed before anything was synced. */
    assert_int_equal(io_path_mkdir(g.io, "/var"), IO_OK);
    assert_int_equal(io_path_mkdir(g.io, "/var/lib"), IO_OK);
    assert_int_equal(fleet_data_dir_open(&d, g.io, DIR_, &why), IO_OK);
    sim_disk_names(g.node, "/var/lib", name_found, &durable);
    assert_true(durable);
    fleet_data_dir_close(&d);
    cd_buf_deinit(&why);
    sim_free(g.sim);
}

static void test_a_disk_that_is_full_says_so(void **state)
{
    (void)state;
    struct stage g = stage_open();
    struct fleet_data_dir d = {0};
    struct cd_buf why = {0};
    bool ok = sim_at_call(g.node, "any", 1, SIM_FAIL, IO_NOSPACE, NULL);
    assert_true(ok);
    assert_int_equal(fleet_data_dir_open(&d, g.io, DIR_, &why), IO_NOSPACE);
    assert_non_null(strstr(cd_buf_cstr(&why), DIR_));
    cd_buf_deinit(&why);
    sim_free(g.sim);
}

static void test_only_clean_snapshots_survive_a_start(void **state)
{
    (void)state;
    static const char *const files[] = {
        DIR_ "/cells/Room:x/e3/db.sqlite",
        DIR_ "/cells/Room:x/e3/ltx/tmp/a",
        DIR_ "/cells/Room:y/e1/evicted.sqlite",
        DIR_ "/cells/Room:y/e1/evicted.json",
        DIR_ "/cells/Room:y/e1/db.sqlite.tmp",
        DIR_ "/cells/Room:y/e2/evicted.sqlite",
        DIR_ "/cells/Room:z/e1/evicted.json",
        DIR_ "/peerlog/b/1/batch",
        DIR_ "/objects.sqlite3",
    };
    struct stage g = stage_open();
    for (size_t i = 0; i < CD_COUNT(files); i++)
        sim_disk_put(g.node, files[i], CD_STR("x"));
    unsigned removed = 0;
    fleet_data_dir_clean(g.io, DIR_, &removed);
    assert_int_equal(removed, 3);
    for (size_t i = 0; i < CD_COUNT(files); i++)
        assert_int_equal(there(&g, files[i]), i == 2 || i == 3 || i >= 7);
    assert_true(there(&g, DIR_ "/cells/Room:x")); /* Its name is what an inventory asks for. */
    assert_false(there(&g, DIR_ "/cells/Room:y/e2"));
    assert_false(there(&g, DIR_ "/cells/Room:z/e1"));
    fleet_data_dir_clean(g.io, DIR_, &removed);
    assert_int_equal(removed, 0);
    fleet_data_dir_clean(g.io, "/nowhere", &removed);
    sim_free(g.sim);
}

CD_TESTS(data_dir, cmocka_unit_test(test_it_is_made_and_one_process_has_it),
         cmocka_unit_test(test_a_power_loss_does_not_take_it),
         cmocka_unit_test(test_a_disk_that_is_full_says_so),
         cmocka_unit_test(test_only_clean_snapshots_survive_a_start))
