/* tests/cli/test_cells.c: `celld cell list` and `celld cell gc --dry-run` over a simulated bucket
 * (operations.md 1.3, 1.7, 11.5). What is deletable is tested in tests/cell_node/test_chain.c. */
#include "cli/cells.h"
#include "cli/rig.h"
#include "io_sim/sim_store.h"
#include "ltx/name.h"

struct stage {
    struct rig r;
    struct cli_out out;
    struct cli_cells l;
    int rc;
    bool done;
};

static void put(struct stage *g, const char *format, unsigned n)
{
    char key[128];
    (void)snprintf(key, sizeof key, format, n); /* Of this file alone. */
    sim_store_put_truth(g->r.sim, cd_str(key), CD_STR("x"));
}

static void stage_open(struct stage *g, unsigned cells)
{
    *g = (struct stage){.rc = -1};
    rig_open(&g->r);
    (void)sim_bucket(sim_io(g->r.node, 0), "");
    for (unsigned i = 0; i < cells; i++)
        put(g, "cells/Room:%04u/owner.json", i);
}

static void stage_close(struct stage *g)
{
    rig_close(&g->r);
}

static void flow(void *arg)
{
    struct stage *g = arg;
    g->rc = cli_cells_run(&g->l);
    g->done = true;
}

static bool is_done(void *arg)
{
    return ((struct stage *)arg)->done;
}

static void run(struct stage *g, const struct cli_cells *l)
{
    struct io *io = sim_io(g->r.node, 0);
    struct cd_buf why = {0};
    sim_console_clear(g->r.node, IO_STDOUT);
    sim_console_clear(g->r.node, IO_STDERR);
    cli_out_init(&g->out, io);
    g->l = *l;
    g->l.io = io;
    g->l.bucket = io_bucket(io);
    g->l.out = &g->out;
    g->done = false;
    (void)io_spawn(io, "cells", flow, g);
    assert_true(sim_run_until(g->r.sim, is_done, g, IO_SEC(600)));
    assert_int_equal(cli_out_end(&g->out, &why), 0);
    cli_out_deinit(&g->out);
    cd_buf_deinit(&why);
}

static unsigned lines(struct cd_str text)
{
    unsigned n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

static void test_rows_come_in_pages_and_each_once(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 2500);
    const char *after[] = {"", "Room:0999", "Room:1999"};
    for (unsigned i = 0; i < 3; i++) {
        run(&g, &(struct cli_cells){.limit = 1000, .after = cd_str(after[i])});
        assert_int_equal(lines(rig_out(&g.r)), i < 2 ? 1000 : 500);
        char first[16];
        (void)snprintf(first, sizeof first, "Room:%04u\n", i * 1000);
        assert_true(cd_str_starts(rig_out(&g.r), cd_str(first)));
    }
    assert_int_equal(rig_err(&g.r).len, 0);
    run(&g, &(struct cli_cells){.limit = 1000});
    assert_str_is(rig_err(&g.r), "1000 cells shown; more exist. Continue with --after Room:0999\n");
    run(&g, &(struct cli_cells){.limit = 1});
    assert_str_is(rig_err(&g.r), "1 cell shown; more exist. Continue with --after Room:0000\n");
    run(&g, &(struct cli_cells){.limit = 1500, .after = CD_STR("Room:0999")}); /* Just all of them. */
    assert_int_equal(lines(rig_out(&g.r)), 1500);
    assert_int_equal(rig_err(&g.r).len, 0);
    run(&g, &(struct cli_cells){.limit = 0});
    assert_int_equal(lines(rig_out(&g.r)), 2500);
    assert_true(rig_has(rig_err(&g.r), "2500 cells, 3 requests, "));
    stage_close(&g);
}

static void test_a_class_and_json(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    put(&g, "cells/__KV:sessions/owner.json", 0);
    put(&g, "cells/Roomy:%u/owner.json", 7);
    put(&g, "cells/no class/owner.json", 0); /* Nothing that celld has written. */
    put(&g, "cells/stray", 0);
    run(&g, &(struct cli_cells){.limit = 10, .json = true});
    assert_str_is(rig_out(&g.r),
                  "{\"scope\":\"Room:0000\",\"class\":\"Room\",\"id\":\"0000\",\"reserved\":false}\n"
                  "{\"scope\":\"Roomy:7\",\"class\":\"Roomy\",\"id\":\"7\",\"reserved\":false}\n"
                  "{\"scope\":\"__KV:sessions\",\"class\":\"__KV\",\"id\":\"sessions\",\"reserved\":true}\n");
    run(&g, &(struct cli_cells){.limit = 10, .class_name = CD_STR("Room")});
    assert_str_is(rig_out(&g.r), "Room:0000\n");
    run(&g, &(struct cli_cells){.limit = 10, .class_name = CD_STR("Hall")});
    assert_str_is(rig_err(&g.r), "no cells of class Hall\n");
    assert_int_equal(rig_out(&g.r).len, 0);
    stage_close(&g);
}

static void test_an_empty_bucket_and_one_that_cannot_be_read(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 0);
    run(&g, &(struct cli_cells){.limit = 10});
    assert_int_equal(g.rc, IO_OK);
    assert_str_is(rig_err(&g.r), "no cells\n");
    run(&g, &(struct cli_cells){.limit = 10, .gc = true});
    assert_str_is(rig_err(&g.r), "no superseded epochs to delete\n");
    const struct ltx_name broken = {CD_STR("Room:1"), 3, LTX_L9, 1, 1};
    struct cd_buf key = {0};
    ltx_key(&key, &broken);
    put(&g, cd_buf_cstr(&key), 0);
    cd_buf_deinit(&key);
    put(&g, "cells/Room:2/owner.json", 0);
    run(&g, &(struct cli_cells){.limit = 10, .gc = true});
    assert_int_equal(g.l.unreadable, 1);
    assert_true(cd_str_starts(rig_err(&g.r), CD_STR("skipped Room:1: ")));
    cd_buf_deinit(&g.l.why);
    sim_store_rule(g.r.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "list"});
    run(&g, &(struct cli_cells){.limit = 10});
    assert_int_not_equal(g.rc, IO_OK);
    assert_true(rig_has(cd_buf_str(&g.l.why), "cannot list cells/: "));
    cd_buf_deinit(&g.l.why);
    stage_close(&g);
}

CD_TESTS(cells, cmocka_unit_test(test_rows_come_in_pages_and_each_once),
         cmocka_unit_test(test_a_class_and_json),
         cmocka_unit_test(test_an_empty_bucket_and_one_that_cannot_be_read))
