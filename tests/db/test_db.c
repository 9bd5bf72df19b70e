/* What a commit hands out, case by case. test_property.c has the random ones. */
#include "db/db_internal.h"
#include "rig.h"

static const struct db_position NONE = {0, 0};

static struct ltx_file last(struct rig *r)
{
    struct ltx_file f = {0};
    assert_true(r->rows > 0);
    assert_int_equal(ltx_file_open(&f, cd_buf_str(&r->row[r->rows - 1]), NULL, NULL), 0);
    return f;
}

/* The first of this program: db_setup comes before all else. */
static void test_an_open_database_takes_little_memory(void **state)
{
    (void)state;
    db_setup();
    struct rig r;
    rig_init(&r, 1);
    int64_t before = sqlite3_memory_used();
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    int64_t taken = sqlite3_memory_used() - before;
    assert_true(taken > 0 && taken < 48 * 1024);
    rig_deinit(&r);
}

static void test_the_first_row_of_a_cell_is_a_whole_image(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    assert_int_equal(db_position(r.db).txid, 0);
    rig_txn(&r, "SELECT 1"); /* Reading leaves no trace. */
    assert_int_equal(r.rows, 0);
    rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    assert_int_equal(r.rows, 1);
    struct ltx_file f = last(&r);
    assert_int_equal(f.h.flags, LTX_SNAPSHOT | LTX_DBSUM);
    assert_int_equal(f.h.min_txid, 1);
    assert_int_equal(f.h.epoch, 1);
    assert_int_equal(f.h.commit, 2);
    assert_int_equal(f.h.timestamp_ms, io_wall_ms(r.io));
    assert_int_equal(db_position(r.db).epoch, 1);
    assert_int_equal(db_position(r.db).txid, 1);
    rig_same(&r, 1);
    rig_deinit(&r);
}

static void test_a_row_holds_the_pages_that_changed_and_no_others(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a INTEGER PRIMARY KEY, b)");
    rig_txn(&r, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<500) "
                "INSERT INTO t SELECT i, printf('%0200d', i) FROM n");
    assert_true(db_pages(r.db) > 20);
    rig_txn(&r, "UPDATE t SET b = 'x' WHERE a = 250");
    struct ltx_file f = last(&r);
    assert_int_equal(f.h.page_count, 1);
    assert_true(ltx_file_entry(&f, 0).pgno > 1);
    rig_txn(&r, "UPDATE t SET b = 'y' WHERE a = 1; UPDATE t SET b = 'y' WHERE a = 500");
    assert_int_equal(last(&r).h.page_count, 2);
    assert_int_equal(r.last.min_txid, 4);
    rig_same(&r, 1);
    rig_deinit(&r);
}

static void test_what_is_rolled_back_leaves_nothing(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a)");
    assert_int_equal(db_begin(r.db, NULL), 0);
    assert_false(db_has_open_write(r.db));
    rig_sql(&r, "INSERT INTO t VALUES(1)");
    assert_true(db_has_open_write(r.db));
    db_rollback(r.db);
    db_rollback(r.db); /* No effect. */
    assert_false(db_in_transaction(r.db));
    assert_int_equal(r.rows, 1);
    assert_int_equal(rig_int(&r, "SELECT count(*) FROM t"), 0);
    rig_txn(&r, "SAVEPOINT s; INSERT INTO t VALUES(2); ROLLBACK TO s; RELEASE s; INSERT INTO t VALUES(3)");
    assert_int_equal(rig_int(&r, "SELECT sum(a) FROM t"), 3);
    rig_same(&r, 1);
    rig_deinit(&r);
}

static void test_nobody_else_commits(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a)");
    assert_int_equal(rig_try(&r, "INSERT INTO t VALUES(1)") & 0xff, SQLITE_CONSTRAINT);
    assert_int_equal(rig_int(&r, "SELECT count(*) FROM t"), 0);
    assert_int_equal(r.rows, 1);
    rig_deinit(&r);
}

static void test_an_epoch_continues_by_a_marker(void **state)
{
    (void)state;
    struct rig r;
    char from[64], to[64];
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    rig_txn(&r, "INSERT INTO t VALUES(2)");
    for (uint64_t epoch = 2; epoch <= 4; epoch++) {
        struct db_position at = db_position(r.db);
        db_close(r.db);
        assert_int_equal(io_path_mkdir(r.io, rig_dir(epoch, to)), IO_OK);
        (void)snprintf(from, sizeof from, "/d/e%u/db.sqlite", (unsigned)epoch - 1);
        (void)snprintf(to, sizeof to, "/d/e%u/db.sqlite", (unsigned)epoch);
        assert_int_equal(io_path_rename(r.io, from, to), IO_OK);
        rig_open(&r, epoch, at);
        assert_int_equal(db_position(r.db).epoch, 1); /* Two activations that only read. */
        assert_int_equal(rig_int(&r, "SELECT count(*) FROM t"), 2);
    }
    rig_txn(&r, "INSERT INTO t VALUES(3)");
    struct ltx_file f = last(&r);
    assert_int_equal(f.h.flags, LTX_MARKER);
    assert_int_equal(f.h.base_epoch, 1); /* Not those that wrote nothing. */
    assert_int_equal(f.h.base_txid, 2);
    assert_int_equal(f.h.min_txid, 3);
    assert_int_equal(f.h.epoch, 4);
    rig_txn(&r, "INSERT INTO t VALUES(4)");
    assert_int_equal(last(&r).h.flags, 0);
    assert_int_equal(db_position(r.db).epoch, 4);
    rig_same(&r, 4);
    rig_deinit(&r);
}

static void test_the_row_carries_the_alarm_after_it(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE _cf_alarm(due_ms, inst_seq)");
    assert_int_equal(r.last.alarm.inst_seq, 0);
    assert_int_equal(db_begin(r.db, NULL), 0);
    rig_sql(&r, "INSERT INTO _cf_alarm VALUES(1234, 1)");
    db_alarm_changed(r.db);
    rig_commit(&r);
    assert_true(r.last.alarm.armed && r.last.alarm.due_ms == 1234 && r.last.alarm.inst_seq == 1);
    assert_int_equal(db_begin(r.db, NULL), 0);
    rig_sql(&r, "UPDATE _cf_alarm SET due_ms = NULL, inst_seq = 2");
    db_alarm_changed(r.db);
    db_rollback(r.db);
    assert_true(db_alarm(r.db).armed);
    rig_txn(&r, "CREATE TABLE t(a)");
    assert_true(r.last.alarm.armed && r.last.alarm.inst_seq == 1);
    struct db_position at = db_position(r.db);
    db_close(r.db);
    assert_int_equal(io_path_mkdir(r.io, "/d/e2"), IO_OK);
    assert_int_equal(io_path_rename(r.io, "/d/e1/db.sqlite", "/d/e2/db.sqlite"), IO_OK);
    rig_open(&r, 2, at);
    assert_true(db_alarm(r.db).armed && db_alarm(r.db).due_ms == 1234); /* As the file says. */
    assert_int_equal(db_begin(r.db, NULL), 0);
    rig_sql(&r, "UPDATE _cf_alarm SET due_ms = NULL, inst_seq = 2");
    db_alarm_changed(r.db);
    rig_commit(&r);
    assert_false(r.last.alarm.armed);
    assert_int_equal(r.last.alarm.inst_seq, 2);
    rig_deinit(&r);
}

static void test_an_old_file_in_the_place_of_a_new_database_goes(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a)");
    db_close(r.db);
    rig_open(&r, 1, NONE);
    assert_int_equal(rig_int(&r, "SELECT count(*) FROM sqlite_schema"), 0);
    rig_deinit(&r);
}

static void test_what_is_no_database_is_not_opened(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "SQLite format 3", "nonsense"};
    for (unsigned i = 0; i < CD_COUNT(bad); i++) {
        struct rig r;
        struct cd_buf why = {0};
        rig_init(&r, 1);
        sim_disk_put(r.node, "/d/e2/db.sqlite", cd_str(bad[i]));
        assert_int_equal(rig_try_open(&r, 2, (struct db_position){1, 7}, &why), CD_ECORRUPT);
        assert_true(why.len > 0);
        cd_buf_deinit(&why);
        rig_deinit(&r);
    }
    struct rig r;
    rig_init(&r, 1);
    assert_int_equal(rig_try_open(&r, 2, (struct db_position){1, 7}, NULL), IO_FAULT); /* Nothing there. */
    rig_deinit(&r);
}

static void test_a_reader_may_stay_open_over_a_commit(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1),(2),(3)");
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db_sqlite(r.db), "SELECT a FROM t", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    rig_txn(&r, "INSERT INTO t VALUES(4)");
    assert_int_equal(r.rows, 2);
    rig_same(&r, 1);
    for (int a = 2; a <= 4; a++) {
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(s, 0), a);
    }
    assert_int_equal(sqlite3_step(s), SQLITE_DONE);
    (void)sqlite3_finalize(s);
    rig_deinit(&r);
}

static void test_time_is_the_nodes(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    sim_clock_step(r.node, 86400000);
    assert_int_equal(rig_int(&r, "SELECT unixepoch()"), io_wall_ms(r.io) / 1000);
    rig_deinit(&r);
}

/* A disk that is full when a commit writes: the transaction is undone, and the next one is whole. */
static void test_a_full_disk_undoes_the_transaction(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    for (uint64_t k = 1; k <= 3; k++) {
        assert_int_equal(db_begin(r.db, NULL), 0);
        rig_sql(&r, "UPDATE t SET a = a + 1; INSERT INTO t VALUES(zeroblob(10000))");
        bool hit = false;
        assert_true(sim_at_call(r.node, "file.write", k, SIM_FAIL, IO_NOSPACE, &hit));
        struct cd_buf why = {0};
        assert_int_equal(db_commit(r.db, &why), CD_EFULL);
        assert_true(hit && why.len > 0);
        cd_buf_deinit(&why);
        assert_false(db_broken(r.db));
        assert_false(db_in_transaction(r.db));
        assert_int_equal(r.rows, 1 + k - 1);
        rig_txn(&r, "INSERT INTO t VALUES(5)");
        rig_same(&r, 1);
        assert_int_equal(rig_int(&r, "SELECT count(*) FROM t"), 1 + (int64_t)k);
        assert_int_equal(rig_int(&r, "SELECT min(a) FROM t"), 1);
    }
    rig_deinit(&r);
}

#define NOISE(rows)                                                                                          \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" rows ") "                        \
    "INSERT INTO t SELECT randomblob(3000) FROM n"

static void test_a_transaction_that_is_too_much_for_a_row_is_undone(void **state)
{
    (void)state;
    for (unsigned spills = 0; spills < 2; spills++) {
        struct rig r;
        rig_init(&r, 1);
        r.cache_pages = spills ? 5 : 1000;
        rig_open(&r, 1, NONE);
        rig_txn(&r, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
        r.db->written_max = 100000;
        assert_int_equal(db_begin(r.db, NULL), 0);
        int rc = rig_try(&r, NOISE("100")); /* Its pages reach the file now, or at the commit. */
        assert_int_equal(rc & 0xff, spills ? SQLITE_FULL : SQLITE_OK);
        assert_int_equal(db_in_transaction(r.db), !spills);
        if (!spills)
            assert_int_equal(db_commit(r.db, NULL), CD_ETOOBIG);
        assert_int_equal(sim_marks(r.sim, "db.too_much_for_a_row"), 1);
        assert_false(db_broken(r.db) || db_in_transaction(r.db));
        assert_int_equal(r.rows, 1);
        assert_int_equal(rig_int(&r, "SELECT count(*) FROM t"), 1);
        rig_txn(&r, NOISE("20")); /* What fits goes on. */
        rig_same(&r, 1);
        rig_deinit(&r);
    }
}

static void test_where_the_undone_leaves_more_than_half_a_row_one_starts_afresh(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    r.cache_pages = 5;
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a)");
    rig_txn(&r, NOISE("100"));
    r.db->written_max = 100000;
    assert_int_equal(db_begin(r.db, NULL), 0);
    assert_int_equal(rig_try(&r, "UPDATE t SET a = randomblob(3000)") & 0xff, SQLITE_FULL);
    assert_true(db_broken(r.db));
    assert_int_equal(db_begin(r.db, NULL), IO_FAULT);
    assert_int_equal(r.rows, 2);
    rig_deinit(&r);
}

/* Every call to the disk fails once: the caller hears of it, and what was handed out is what was committed.
 */
static void test_each_failure_of_the_disk_is_told(void **state)
{
    (void)state;
    FOR_EACH_FAULT(sweep)
    {
        struct rig r;
        rig_init(&r, sweep.at + 1);
        sim_sweep_arm(&sweep, r.node);
        char dir[32];
        int rc = io_path_mkdir(r.io, rig_dir(1, dir));
        r.cache_pages = 4;
        r.page_size = 512;
        if (rc == IO_OK)
            rc = rig_try_open(&r, 1, NONE, NULL);
        for (unsigned i = 0; rc == 0 && i < 3; i++) {
            rc = db_begin(r.db, NULL);
            if (rc == 0)
                rc = rig_try(&r, i == 0
                                     ? "CREATE TABLE t(a)"
                                     : "INSERT INTO t VALUES(zeroblob(9000)); DELETE FROM t WHERE rowid = 1");
            if (rc == 0)
                rc = db_commit(r.db, NULL);
            assert_int_equal(r.rows, rc == 0 ? i + 1 : i);
        }
        assert_int_equal(rc != 0, sweep.hit);
        if (rc != 0 && r.db != NULL && !db_broken(r.db)) { /* It goes on where it was. */
            db_rollback(r.db);
            unsigned rows = r.rows;
            rig_txn(&r, "CREATE TABLE u(a)");
            assert_int_equal(r.rows, rows + 1);
            rig_same(&r, 1);
        }
        rig_deinit(&r);
    }
}

static void test_a_crash_in_any_call_leaves_nothing_behind_in_memory(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct rig r;
        rig_init(&r, k);
        rig_open(&r, 1, NONE);
        rig_txn(&r, "CREATE TABLE t(a)");
        bool hit = false;
        assert_true(sim_at_call(r.node, "any", k, SIM_DIE_POWER, IO_FAULT, &hit));
        int rc = db_begin(r.db, NULL);
        if (rc == 0)
            rc = rig_try(&r, "INSERT INTO t VALUES(zeroblob(9000))");
        if (rc == 0)
            rc = db_commit(r.db, NULL);
        assert_int_equal(rc != 0, hit);
        assert_int_equal(r.rows, hit ? 1 : 2);
        rig_deinit(&r);
        if (!hit)
            break;
    }
}

static void test_chance_in_sql_is_that_of_the_loop(void **state)
{
    (void)state;
    int64_t number[3], blob[3];
    for (unsigned i = 0; i < 3; i++) {
        struct rig r;
        rig_init(&r, i < 2 ? 1 : 2);
        rig_open(&r, 1, (struct db_position){0});
        number[i] = rig_int(&r, "SELECT random()");
        assert_true(rig_int(&r, "SELECT random()") != number[i]);
        blob[i] = rig_int(&r, "SELECT length(replace(hex(randomblob(4000)), 'A', ''))");
        assert_int_equal(rig_int(&r, "SELECT length(randomblob(0)) + length(randomblob(100))"), 101);
        assert_int_equal(rig_int(&r, "SELECT randomblob(16) = randomblob(16)"), 0);
        assert_int_equal(rig_try(&r, "SELECT randomblob(1 << 40)") & 0xff, SQLITE_TOOBIG);
        rig_txn(&r, "CREATE TABLE t(a DEFAULT (random())); INSERT INTO t DEFAULT VALUES");
        rig_deinit(&r);
    }
    assert_true(number[0] == number[1] && number[0] != number[2]);
    assert_int_equal(blob[0], blob[1]);
}

CD_TESTS(db, cmocka_unit_test(test_an_open_database_takes_little_memory),
         cmocka_unit_test(test_chance_in_sql_is_that_of_the_loop),
         cmocka_unit_test(test_the_first_row_of_a_cell_is_a_whole_image),
         cmocka_unit_test(test_a_row_holds_the_pages_that_changed_and_no_others),
         cmocka_unit_test(test_what_is_rolled_back_leaves_nothing),
         cmocka_unit_test(test_nobody_else_commits), cmocka_unit_test(test_an_epoch_continues_by_a_marker),
         cmocka_unit_test(test_the_row_carries_the_alarm_after_it),
         cmocka_unit_test(test_an_old_file_in_the_place_of_a_new_database_goes),
         cmocka_unit_test(test_what_is_no_database_is_not_opened),
         cmocka_unit_test(test_a_reader_may_stay_open_over_a_commit),
         cmocka_unit_test(test_time_is_the_nodes), cmocka_unit_test(test_a_full_disk_undoes_the_transaction),
         cmocka_unit_test(test_a_transaction_that_is_too_much_for_a_row_is_undone),
         cmocka_unit_test(test_where_the_undone_leaves_more_than_half_a_row_one_starts_afresh),
         cmocka_unit_test(test_each_failure_of_the_disk_is_told),
         cmocka_unit_test(test_a_crash_in_any_call_leaves_nothing_behind_in_memory))
