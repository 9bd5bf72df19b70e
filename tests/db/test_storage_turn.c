/* Turns, transactions, the alarm. */
#include "bare.h"
#include "support/test.h"

static void test_the_writes_of_a_turn_are_one_transaction(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    assert_string_equal(bare_sql(b, "SELECT 1"), "1");
    bare_turn(b);
    assert_int_equal(b->begins, 0);
    bare_put(b, "a", "1");
    assert_string_equal(bare_sql(b, "CREATE TABLE t(x); INSERT INTO t VALUES(1)"), "");
    assert_true(storage_uncommitted(b->s));
    bare_turn(b);
    assert_false(storage_uncommitted(b->s));
    assert_int_equal(b->begins, 1);
    assert_int_equal(b->commits, 1);
    bare_put(b, "a", "2");
    bare_reopen(b); /* The turn did not end. */
    assert_int_equal(b->rollbacks, 1);
    assert_string_equal(bare_get(b, "a"), "1");
    bare_free(b);
}

static void test_levels_are_kept_or_undone_one_by_one(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bare_put(b, "a", "0");
    assert_int_equal(storage_begin(b->s, true), 0);
    assert_int_equal(b->commits, 1); /* What was before. */
    bare_put(b, "a", "1");
    assert_int_equal(storage_begin(b->s, true), 0);
    assert_int_equal(b->commits, 1);
    bare_put(b, "a", "2");
    assert_int_equal(storage_alarm_set(b->s, 7), 0);
    bare_turn(b); /* Commits nothing: a level is open. */
    assert_int_equal(b->commits, 1);
    assert_int_equal(storage_end(b->s, false), 0);
    assert_false(storage_alarm(b->s).armed);
    assert_string_equal(bare_get(b, "a"), "1");
    assert_int_equal(storage_end(b->s, true), 0);
    assert_true(storage_uncommitted(b->s));
    bare_turn(b);
    assert_int_equal(b->commits, 2);
    assert_string_equal(bare_get(b, "a"), "1");
    bare_free(b);
}

static void test_a_table_whose_making_was_undone_is_made_again(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    assert_int_equal(storage_begin(b->s, true), 0);
    bare_put(b, "a", "1");
    assert_int_equal(storage_end(b->s, false), 0);
    assert_null(bare_get(b, "a"));
    bare_put(b, "a", "2");
    bare_turn(b);
    assert_string_equal(bare_get(b, "a"), "2");
    bare_free(b);
}

static void test_levels_have_a_limit(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    for (unsigned i = 0; i < STORAGE_DEPTH_MAX; i++)
        assert_int_equal(storage_begin(b->s, false), 0);
    assert_int_equal(storage_begin(b->s, false), CD_EINVAL);
    for (unsigned i = 0; i < STORAGE_DEPTH_MAX; i++)
        assert_int_equal(storage_end(b->s, true), 0);
    bare_turn(b);
    bare_free(b);
}

static void test_a_failed_commit_breaks_the_storage(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf why = {0};
    bare_put(b, "a", "1");
    b->refuse = true;
    assert_int_equal(storage_turn_end(b->s, &why), CD_ECLOSED);
    assert_true(cd_str_starts(cd_buf_str(&why), CD_STR("refused")));
    assert_non_null(storage_broken(b->s));
    assert_int_equal(storage_kv_put(b->s, CD_STR("a"), CD_STR("1")), CD_ECLOSED);
    assert_true(cd_str_starts(storage_error(b->s), CD_STR("refused")));
    assert_true(strncmp(bare_sql(b, "SELECT 1"), "error: refused", 14) == 0);
    cd_buf_deinit(&why);
    bare_free(b);
}

/* The limit is set behind the storage's back, while it is closed. */
static void limit_pages(struct bare *b, const char *pragma)
{
    (void)sqlite3_set_authorizer(b->db, NULL, NULL);
    assert_int_equal(sqlite3_exec(b->db, pragma, NULL, NULL, NULL), SQLITE_OK);
}

static void test_a_full_disk_that_loses_the_transaction_breaks_the_storage(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf why = {0};
    bare_sql(b, "CREATE TABLE t(x)");
    bare_put(b, "a", "1");
    bare_turn(b);
    limit_pages(b, "PRAGMA max_page_count=4");
    assert_int_equal(storage_begin(b->s, false), 0);
    bare_put(b, "a", "2");
    assert_string_equal(bare_sql(b, "INSERT INTO t VALUES(zeroblob(100000))"),
                        "error: database or disk is full: SQLITE_FULL");
    assert_int_equal(b->rollbacks, 1);
    assert_int_equal(storage_end(b->s, true), CD_ECLOSED);
    assert_true(cd_str_eq(storage_error(b->s),
                          CD_STR("Cannot commit transaction due to an earlier SQL critical error")));
    assert_int_equal(storage_turn_end(b->s, &why), CD_ECLOSED);
    assert_string_equal(cd_buf_cstr(&why), "database or disk is full: SQLITE_FULL");
    bare_reopen(b);
    assert_string_equal(bare_get(b, "a"), "1");
    cd_buf_deinit(&why);
    bare_free(b);
}

static void test_deferred_constraints_fail_at_the_commit(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf why = {0};
    bare_sql(b, "CREATE TABLE p(id INTEGER PRIMARY KEY)");
    bare_sql(b, "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
    bare_turn(b);
    assert_string_equal(bare_sql(b, "INSERT INTO c VALUES(1)"), "");
    assert_int_equal(storage_turn_end(b->s, &why), CD_ECLOSED);
    assert_string_equal(cd_buf_cstr(&why), "refused: FOREIGN KEY constraint failed");
    cd_buf_deinit(&why);
    bare_free(b);
}

static void test_an_alarm_is_set_moved_and_deleted(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    assert_false(storage_alarm(b->s).armed);
    assert_int_equal(storage_alarm_delete(b->s), 0);
    assert_int_equal(b->begins, 0);
    assert_int_equal(storage_alarm_set(b->s, 1000), 0);
    assert_int_equal(storage_alarm_set(b->s, 2000), 0);
    bare_turn(b);
    assert_true(b->alarm.armed);
    assert_int_equal(b->alarm.due_ms, 2000);
    assert_int_equal(b->alarm.inst_seq, 2);
    bare_reopen(b);
    assert_int_equal(storage_alarm(b->s).due_ms, 2000);
    assert_int_equal(storage_alarm_delete(b->s), 0);
    bare_turn(b);
    assert_false(b->alarm.armed);
    assert_int_equal(b->alarm.inst_seq, 3);
    bare_reopen(b);
    assert_int_equal(storage_alarm(b->s).inst_seq, 3); /* The number is never forgotten. */
    bare_free(b);
}

static void test_a_run_consumes_its_alarm_only(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bool dropped;
    assert_int_equal(storage_alarm_set(b->s, 1000), 0);
    storage_alarm_begin(b->s);
    assert_false(storage_alarm_seen(b->s).armed);
    assert_int_equal(storage_alarm_delete(b->s), 0); /* No effect: the run's own. */
    assert_true(storage_alarm(b->s).armed);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_OK, 1000, &dropped), 0);
    assert_false(storage_alarm(b->s).armed);

    assert_int_equal(storage_alarm_set(b->s, 1000), 0);
    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_set(b->s, 9000), 0);
    assert_true(storage_alarm_seen(b->s).armed);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_OK, 1000, &dropped), 0);
    assert_int_equal(storage_alarm(b->s).due_ms, 9000);

    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_set(b->s, 10000), 0);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_COUNTED, 9000, &dropped), 0);
    assert_int_equal(storage_alarm(b->s).due_ms, 10000); /* In place of a retry. */
    assert_int_equal(storage_alarm(b->s).retry_count, 0);

    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_set(b->s, 20000), 0);
    assert_int_equal(storage_alarm_delete(b->s), 0);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_COUNTED, 10000, &dropped), 0);
    assert_int_equal(storage_alarm(b->s).due_ms, 12000); /* Deleting does not stop a retry. */
    bare_free(b);
}

static void test_six_retries_then_the_alarm_is_dropped(void **state)
{
    (void)state;
    static const int64_t after[] = {2000, 4000, 8000, 16000, 32000, 64000};
    struct bare *b = bare_new();
    bool dropped;
    assert_int_equal(storage_alarm_set(b->s, 0), 0);
    for (unsigned i = 0; i < CD_COUNT(after); i++) {
        storage_alarm_begin(b->s);
        assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_COUNTED, 100, &dropped), 0);
        assert_false(dropped);
        assert_int_equal(storage_alarm(b->s).due_ms, 100 + after[i]);
        assert_int_equal(storage_alarm(b->s).retry_count, i + 1);
        bare_turn(b);
        bare_reopen(b);
    }
    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_EXCUSED, 100, &dropped), 0);
    assert_false(dropped);
    assert_int_equal(storage_alarm(b->s).due_ms, 100 + 128000);
    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_EXCUSED, 100, &dropped), 0);
    assert_int_equal(storage_alarm(b->s).due_ms, 100 + 128000); /* It doubles no further. */
    storage_alarm_begin(b->s);
    assert_int_equal(storage_alarm_end(b->s, STORAGE_ALARM_COUNTED, 100, &dropped), 0);
    assert_true(dropped);
    assert_false(storage_alarm(b->s).armed);
    bare_free(b);
}

CD_TESTS(storage_turn, cmocka_unit_test(test_the_writes_of_a_turn_are_one_transaction),
         cmocka_unit_test(test_levels_are_kept_or_undone_one_by_one),
         cmocka_unit_test(test_a_table_whose_making_was_undone_is_made_again),
         cmocka_unit_test(test_levels_have_a_limit),
         cmocka_unit_test(test_a_failed_commit_breaks_the_storage),
         cmocka_unit_test(test_a_full_disk_that_loses_the_transaction_breaks_the_storage),
         cmocka_unit_test(test_deferred_constraints_fail_at_the_commit),
         cmocka_unit_test(test_an_alarm_is_set_moved_and_deleted),
         cmocka_unit_test(test_a_run_consumes_its_alarm_only),
         cmocka_unit_test(test_six_retries_then_the_alarm_is_dropped))
