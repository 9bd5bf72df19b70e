/* What a clean close keeps, and what of it may be used again. */
#include "rig.h"

static const struct db_position NONE = {0, 0};

/* What a flow of a test works on; in a fiber, so CHECK and not assert. */
struct task {
    struct rig r;
    struct db_snapshot s;
    bool sum, full;
    int kept, taken;
    bool done;
    struct cd_buf why;
};

static void keep_flow(void *arg)
{
    struct task *t = arg;
    t->kept = db_close_snapshot(t->r.db, t->sum, &t->why);
    t->r.db = NULL;
    t->done = true;
}

static void take_flow(void *arg)
{
    struct task *t = arg;
    t->taken = db_snapshot_take(t->r.io, "/d/e1", CD_STR(RIG_SCOPE), 1, "/d/e2", t->full, &t->s, &t->why);
    t->done = true;
}

static bool is_done(void *arg)
{
    return ((struct task *)arg)->done;
}

static void run(struct task *t, void (*flow)(void *arg))
{
    t->done = false;
    (void)io_spawn(t->r.io, "snapshot", flow, t);
    assert_true(sim_run_until(t->r.sim, is_done, t, IO_SEC(10)));
}

static bool exists(struct task *t, const char *path)
{
    struct io_path_info info;
    return io_path_stat(t->r.io, path, &info) == IO_OK;
}

/* A database with two rows, closed and kept. */
static struct task *kept(bool sum)
{
    struct task *t = cd_new(struct task);
    rig_init(&t->r, 1);
    t->sum = t->full = sum;
    rig_open(&t->r, 1, NONE);
    rig_txn(&t->r, "CREATE TABLE t(a); INSERT INTO t VALUES(7)");
    rig_txn(&t->r, "INSERT INTO t VALUES(zeroblob(3000000))");
    run(t, keep_flow);
    assert_int_equal(t->kept, 0);
    assert_true(exists(t, "/d/e1/evicted.sqlite") && exists(t, "/d/e1/evicted.json"));
    assert_false(exists(t, "/d/e1/db.sqlite"));
    assert_int_equal(io_path_mkdir(t->r.io, "/d/e2"), IO_OK);
    return t;
}

static void done(struct task *t)
{
    cd_buf_deinit(&t->why);
    rig_deinit(&t->r);
    cd_free(t);
}

static void test_the_next_epoch_goes_on_with_what_was_kept(void **state)
{
    (void)state;
    for (int sum = 0; sum < 2; sum++) {
        struct task *t = kept(sum == 1);
        run(t, take_flow);
        assert_int_equal(t->taken, 0);
        assert_int_equal(t->s.at.epoch, 1);
        assert_int_equal(t->s.at.txid, 2);
        assert_int_equal(t->s.post_checksum != 0, sum);
        assert_false(exists(t, "/d/e1/evicted.sqlite") || exists(t, "/d/e1/evicted.json"));
        rig_open(&t->r, 2, t->s.at);
        assert_int_equal(rig_int(&t->r, "SELECT a FROM t LIMIT 1"), 7);
        rig_txn(&t->r, "INSERT INTO t VALUES(8)");
        rig_same(&t->r, 2);
        run(t, take_flow); /* Once only. */
        assert_int_equal(t->taken, CD_ENOTFOUND);
        done(t);
    }
}

static void test_an_epoch_that_wrote_nothing_keeps_the_position_it_was_opened_at(void **state)
{
    (void)state;
    struct task *t = kept(true);
    run(t, take_flow);
    rig_open(&t->r, 2, t->s.at);
    run(t, keep_flow);
    assert_int_equal(t->kept, 0);
    struct cd_buf text = {0};
    assert_int_equal(sim_disk_durable(t->r.node, "/d/e2/evicted.json", &text), IO_OK);
    assert_non_null(strstr(cd_buf_cstr(&text), "\"epoch\":2,\"at\":[1,2],"));
    cd_buf_deinit(&text);
    done(t);
}

static void test_a_cell_without_data_keeps_nothing(void **state)
{
    (void)state;
    struct task *t = cd_new(struct task);
    rig_init(&t->r, 1);
    rig_open(&t->r, 1, NONE);
    run(t, keep_flow);
    assert_int_equal(t->kept, CD_ENOTFOUND);
    assert_false(exists(t, "/d/e1/evicted.json"));
    done(t);
}

static void test_what_does_not_fit_its_sidecar_is_not_used(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 7; kind++) {
        struct task *t = kept(kind != 0);
        struct cd_buf text = {0}, file = {0};
        t->full = true;
        assert_int_equal(sim_disk_durable(t->r.node, "/d/e1/evicted.json", &text), IO_OK);
        assert_int_equal(sim_disk_durable(t->r.node, "/d/e1/evicted.sqlite", &file), IO_OK);
        switch (kind) {
        case 0: break; /* Without a checksum, where one is demanded. */
        case 1: file.len -= 4096; break;
        case 2: file.ptr[file.len - 1] ^= 1; break;
        case 3: text.len -= 1; break;
        case 4: memcpy(strstr(text.ptr, "Counter"), "Kounter", 7); break;
        case 5: memcpy(strstr(text.ptr, "\"epoch\":1"), "\"epoch\":3", 9); break;
        case 6: memcpy(strstr(text.ptr, "\"v\":1"), "\"v\":2", 5); break;
        default: break;
        }
        sim_disk_put(t->r.node, "/d/e1/evicted.json", cd_buf_str(&text));
        sim_disk_put(t->r.node, "/d/e1/evicted.sqlite", cd_buf_str(&file));
        run(t, take_flow);
        assert_int_equal(t->taken, CD_ECORRUPT);
        assert_true(t->why.len > 0);
        assert_false(exists(t, "/d/e1/evicted.sqlite") || exists(t, "/d/e1/evicted.json"));
        assert_false(exists(t, "/d/e2/db.sqlite"));
        cd_buf_deinit(&text);
        cd_buf_deinit(&file);
        done(t);
    }
}

/* The machine stops in any call of keeping: afterwards there is a snapshot with all its bytes, or none. */
static void test_a_snapshot_is_whole_or_not_there_after_a_crash(void **state)
{
    (void)state;
    bool none = false;
    for (uint64_t k = 1;; k++) {
        struct task *t = cd_new(struct task);
        rig_init(&t->r, k);
        t->sum = t->full = true;
        rig_open(&t->r, 1, NONE);
        rig_txn(&t->r, "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(20000))");
        bool hit = false;
        assert_true(sim_at_call(t->r.node, "any", k, SIM_DIE_POWER, IO_FAULT, &hit));
        run(t, keep_flow);
        assert_true(sim_at_call(t->r.node, "any", 0, SIM_FAIL, 0, NULL)); /* Not in what follows. */
        assert_int_equal(t->kept == 0, !hit);
        db_host_free(t->r.host);
        if (!hit)
            sim_crash(t->r.node, SIM_POWER);
        sim_crash_wait(t->r.node, SIM_POWER);
        sim_restart(t->r.node, false);
        sim_run_for(t->r.sim, 1);
        t->r.io = sim_io(t->r.node, 0);
        t->r.host = db_host_new(t->r.io);
        int rc = io_path_mkdir(t->r.io, "/d/e2");
        assert_true(rc == IO_OK || rc == IO_NOENT);
        run(t, take_flow);
        none = none || t->taken == CD_ENOTFOUND;
        assert_true(t->taken == 0 || (hit && (t->taken == CD_ENOTFOUND || t->taken == CD_ECORRUPT)));
        if (t->taken == 0) {
            rig_open(&t->r, 2, t->s.at);
            rig_same(&t->r, 2);
        }
        done(t);
        if (!hit)
            break;
    }
    assert_true(none);
}

static void test_an_epochs_directory_goes_as_a_whole(void **state)
{
    (void)state;
    struct task *t = kept(false);
    assert_int_equal(db_remove(t->r.io, "/d/e1"), 0);
    assert_false(exists(t, "/d/e1"));
    assert_int_equal(db_remove(t->r.io, "/d/e1"), 0);
    rig_open(&t->r, 2, NONE);
    db_close(t->r.db);
    t->r.db = NULL;
    assert_int_equal(db_remove(t->r.io, "/d/e2"), 0);
    assert_false(exists(t, "/d/e2"));
    done(t);
}

CD_TESTS(snapshot, cmocka_unit_test(test_the_next_epoch_goes_on_with_what_was_kept),
         cmocka_unit_test(test_an_epoch_that_wrote_nothing_keeps_the_position_it_was_opened_at),
         cmocka_unit_test(test_a_cell_without_data_keeps_nothing),
         cmocka_unit_test(test_what_does_not_fit_its_sidecar_is_not_used),
         cmocka_unit_test(test_a_snapshot_is_whole_or_not_there_after_a_crash),
         cmocka_unit_test(test_an_epochs_directory_goes_as_a_whole))
