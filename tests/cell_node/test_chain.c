/* Chains in the bucket stay short and clean, whatever a cell does: a whole node, with its real database, log
 * and folder. */
#include <stdlib.h>

#include "cell_node/node.h"
#include "log/restore.h"
#include "log/shorten.h"
#include "store/records.h"

/* ---- What a restore would read ---- */

struct reader {
    const char *scope;
    struct log_restore r;
    bool done;
};

static void read_flow(void *arg)
{
    struct reader *a = arg;
    int rc = log_restore(&a->r);
    assert_int_equal(rc, IO_OK);
    a->done = true;
}

static void read_start(struct io *io, void *arg)
{
    struct reader *a = arg;
    a->r = (struct log_restore){.io = io, .bucket = io_bucket(io), .scope = cd_str(a->scope)};
    (void)io_spawn(io, "read", read_flow, a);
}

static bool read_done(void *arg)
{
    return ((struct reader *)arg)->done;
}

static struct log_restore chain_of(const char *scope)
{
    struct reader a = {.scope = scope};
    sim_in_loop(node.node, 0, read_start, &a);
    bool ended = sim_run_until(node.sim, read_done, &a, IO_SEC(60));
    assert_true(ended);
    assert_int_equal(a.r.end, LOG_RESTORE_DONE);
    return a.r;
}

static unsigned images(const char *scope)
{
    unsigned n = 0;
    for (unsigned epoch = 0; epoch < 64; epoch++) {
        char prefix[96];
        (void)snprintf(prefix, sizeof prefix, "cells/%s/ltx/e%016x/0009/", scope, epoch);
        n += node_keys(prefix);
    }
    return n;
}

static void wipe_and_check(const char *scope, int64_t want)
{
    node_crash(SIM_KILL);
    node_restart(true); /* Nothing but the bucket is left. */
    node_ready();
    assert_int_equal(node_ask(scope, "get"), want);
}

/* CHAIN_ROUNDS=200 tells how long a chain becomes in the long run, CHAIN_KEEP=0 how long without all this. */
static unsigned number(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : (unsigned)strtoul(text, NULL, 10);
}

/* ---- Tests ---- */

static void test_waking_writing_and_sleeping_leaves_a_short_chain(void **state)
{
    (void)state;
    unsigned rounds = number("CHAIN_ROUNDS", 24);
    node_open(NULL);
    if (number("CHAIN_KEEP", 1) == 0)
        node.limits.keep =
            (struct ltx_keep){.delta_bytes = UINT64_MAX, .epochs = 1u << 30, .objects = 1u << 30};
    node_ready();
    for (unsigned i = 1; i <= rounds; i++) {
        assert_int_equal(node_ask("C:1", "add 1"), i);
        node_evict("C:1");
        node_run(200); /* What it leaves behind goes on in the background. */
    }
    struct log_restore r = chain_of("C:1");
    if (getenv("CHAIN_ROUNDS") != NULL)
        print_message("%u rounds: %u objects, %u bytes, %u epochs in the chain; %u objects in the bucket\n",
                      rounds, (unsigned)r.objects, (unsigned)r.bytes, (unsigned)r.epochs,
                      node_keys("cells/C:1/ltx/"));
    if (number("CHAIN_KEEP", 1) != 0)
        assert_true(r.objects <= 9 && r.epochs <= 9);
    assert_int_equal(r.base_txid, rounds);
    wipe_and_check("C:1", rounds);
    node_free();
}

static void test_epochs_that_nothing_reads_go_when_they_are_old(void **state)
{
    (void)state;
    node_open(NULL);
    node.limits.keep.epochs = 2;
    node.limits.keep.retention_ms = 1;
    node_ready();
    for (int i = 1; i <= 20; i++) {
        assert_int_equal(node_ask("C:1", "add 1"), i);
        node_evict("C:1");
        node_run(200);
    }
    assert_true(node_keys("cells/C:1/ltx/") < 12);
    assert_int_equal(node_keys("cells/C:1/ltx/retired.json"), 1);
    wipe_and_check("C:1", 20);
    node_free();
}

struct gc {
    struct log_retirable g;
    bool done;
};

static void gc_flow(void *arg)
{
    struct gc *a = arg;
    int rc = log_retirable(&a->g);
    assert_int_equal(rc, IO_OK);
    a->done = true;
}

static void gc_start(struct io *io, void *arg)
{
    struct gc *a = arg;
    a->g.io = io;
    a->g.bucket = io_bucket(io);
    (void)io_spawn(io, "gc", gc_flow, a);
}

static bool gc_done(void *arg)
{
    return ((struct gc *)arg)->done;
}

static struct log_retirable gc(const char *scope, uint64_t grace_ms)
{
    struct gc a = {.g = {.scope = cd_str(scope), .grace_ms = grace_ms}};
    sim_in_loop(node.node, 0, gc_start, &a);
    assert_true(sim_run_until(node.sim, gc_done, &a, IO_SEC(60)));
    cd_buf_deinit(&a.g.why);
    cd_free(a.g.epoch);
    return a.g; /* Its numbers. */
}

static void test_what_could_go_is_told_and_stays(void **state)
{
    (void)state;
    node_open(NULL);
    node.limits.keep.epochs = 2;
    node.limits.keep.retention_ms = 0;
    node_ready();
    for (int i = 1; i <= 20; i++) {
        assert_int_equal(node_ask("C:1", "add 1"), i);
        node_evict("C:1");
        node_run(200);
    }
    unsigned objects = node_keys("cells/C:1/ltx/");
    struct log_retirable g = gc("C:1", 0);
    assert_true(g.base > 2 && g.base <= node.epoch);
    assert_true(g.epochs > 0 && g.epochs < g.base && g.bytes > 0);
    assert_int_equal(gc("C:1", 3600 * 1000).epochs, 0);
    assert_int_equal(gc("C:2", 0).epochs, 0); /* There is no such cell. */
    assert_int_equal(node_keys("cells/C:1/ltx/"), objects);
    /* A pass of a later owner goes before what we have read. */
    struct cd_buf mark = {0};
    store_retired_epochs_write(&mark, 99);
    sim_store_put_truth(node.sim, CD_STR("cells/C:1/ltx/retired.json"), cd_buf_str(&mark));
    cd_buf_deinit(&mark);
    assert_int_equal(gc("C:1", 0).epochs, 0);
    node_free();
}

static void test_an_image_is_made_of_an_open_database(void **state)
{
    (void)state;
    node_open(NULL);
    node.fold_rows = 4;
    node.limits.keep = (struct ltx_keep){.delta_bytes = 1024, .epochs = 8, .objects = 64};
    node.limits.image_step = 512;
    node_ready();
    for (int i = 1; i <= 60; i++)
        assert_int_equal(node_ask("C:1", "add 1"), i);
    node_run(1000);
    assert_true(images("C:1") > 0);
    assert_int_equal(node.epoch, 1); /* It was never put away for it. */
    assert_true(sim_marks(node.sim, "cell.image") > 0);
    wipe_and_check("C:1", 60);
    node_free();
}

static void test_objects_of_an_epoch_are_compacted(void **state)
{
    (void)state;
    node_open(NULL);
    node.fold_rows = 2;
    node.limits.keep.compact_txids = 8;
    node_ready();
    for (int i = 1; i <= 40; i++)
        assert_int_equal(node_ask("C:1", "add 1"), i);
    node_run(2000);
    struct log_restore r = chain_of("C:1");
    assert_true(sim_marks(node.sim, "cell.compaction") > 0);
    assert_true(r.objects < 12);
    wipe_and_check("C:1", 40);
    node_free();
}

static void test_what_does_not_work_is_tried_again_later(void **state)
{
    (void)state;
    node_open(NULL);
    node.fold_rows = 2;
    node.limits.keep = (struct ltx_keep){.delta_bytes = 1, .epochs = 8, .objects = 64};
    node_ready();
    sim_store_rule(node.sim, &(struct sim_store_rule){.effect = SIM_STORE_LOSE_REQUEST,
                                                      .op = "put",
                                                      .pattern = "*/0009/*",
                                                      .for_ns = IO_SEC(90)});
    for (int i = 1; i <= 12; i++)
        assert_int_equal(node_ask("C:1", "add 1"), i); /* Nothing waits for it. */
    node_run(80000);
    assert_int_equal(images("C:1"), 0);
    node_run(200000); /* 30 s, 60 s, 120 s. */
    assert_true(images("C:1") > 0);
    assert_int_equal(chain_of("C:1").objects, 1);
    node_free();
}

static void test_kept_files_stay_within_their_bound(void **state)
{
    (void)state;
    node_open(NULL);
    node.limits.cache_bytes = 100000; /* Of a shard; a counter's file has a few pages. */
    node_ready();
    for (int i = 1; i <= 30; i++) {
        char scope[16];
        (void)snprintf(scope, sizeof scope, "C:%d", i);
        assert_int_equal(node_ask(scope, "add 7"), 7);
        node_evict(scope);
    }
    assert_true(sim_marks(node.sim, "cell.cache_trimmed") > 0);
    for (int i = 1; i <= 30; i++) { /* Kept or not, each comes back. */
        char scope[16];
        (void)snprintf(scope, sizeof scope, "C:%d", i);
        assert_int_equal(node_ask(scope, "get"), 7);
    }
    node_stop();
    unsigned trimmed = (unsigned)sim_marks(node.sim, "cell.cache_trimmed");
    node.limits.cache_bytes = 1; /* What an earlier process left counts too. */
    node_restart(false);
    node_ready();
    node_run(10);
    assert_true(sim_marks(node.sim, "cell.cache_trimmed") > trimmed);
    assert_int_equal(node_ask("C:3", "get"), 7);
    node_free();
}

CD_TESTS(chain, cmocka_unit_test(test_waking_writing_and_sleeping_leaves_a_short_chain),
         cmocka_unit_test(test_epochs_that_nothing_reads_go_when_they_are_old),
         cmocka_unit_test(test_what_could_go_is_told_and_stays),
         cmocka_unit_test(test_an_image_is_made_of_an_open_database),
         cmocka_unit_test(test_objects_of_an_epoch_are_compacted),
         cmocka_unit_test(test_what_does_not_work_is_tried_again_later),
         cmocka_unit_test(test_kept_files_stay_within_their_bound))
