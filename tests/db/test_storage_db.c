/* A storage over struct db: what the turn wrote is in the row of its commit, the alarm's state beside it. */
#include "db/storage.h"
#include "rig.h"

static int on_begin(void *arg, struct cd_buf *why)
{
    return db_begin(((struct rig *)arg)->db, why);
}

static int on_commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    struct rig *r = arg;
    if (alarm->inst_seq != db_alarm(r->db).inst_seq)
        db_alarm_changed(r->db);
    return db_commit(r->db, why);
}

static void on_rollback(void *arg)
{
    db_rollback(((struct rig *)arg)->db);
}

static struct storage *open_storage(struct rig *r)
{
    struct storage *s;
    struct cd_buf why = {0};
    int rc = storage_open(&s,
                          &(struct storage_opts){.sqlite = db_sqlite(r->db),
                                                 .begin = on_begin,
                                                 .commit = on_commit,
                                                 .rollback = on_rollback,
                                                 .arg = r},
                          &why);
    if (rc != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    return s;
}

static void turn(struct storage *s)
{
    struct cd_buf why = {0};
    if (storage_turn_end(s, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
}

static int64_t sql(struct storage *s, const char *text)
{
    struct storage_cursor *c;
    struct storage_value v = {.type = STORAGE_NULL, .integer = 0};
    if (storage_sql(s, cd_str(text), NULL, 0, &c) != 0)
        fail_msg("%s: %.*s", text, (int)storage_error(s).len, storage_error(s).ptr);
    if (storage_cursor_row(c))
        storage_cursor_value(c, 0, &v);
    storage_cursor_close(c);
    return v.integer;
}

static void test_a_turn_is_one_row_with_the_alarm(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r, 1);
    rig_open(&r, 1, (struct db_position){0});
    struct storage *s = open_storage(&r);
    turn(s);
    assert_int_equal(r.rows, 0); /* Opening and looking write nothing. */
    assert_int_equal(storage_kv_put(s, CD_STR("a"), CD_STR("1")), 0);
    sql(s, "CREATE TABLE t(x)");
    sql(s, "INSERT INTO t VALUES(5)");
    assert_int_equal(storage_alarm_set(s, 1234), 0);
    turn(s);
    assert_int_equal(r.rows, 1);
    assert_true(r.last.alarm.armed);
    assert_int_equal(r.last.alarm.due_ms, 1234);
    assert_int_equal(r.last.alarm.inst_seq, 1);
    sql(s, "SELECT x FROM t");
    assert_int_equal(storage_begin(s, true), 0);
    sql(s, "INSERT INTO t VALUES(6)");
    assert_int_equal(storage_end(s, false), 0);
    turn(s);
    assert_int_equal(r.rows, 1); /* A transaction that was undone leaves none. */
    assert_int_equal(storage_alarm_delete(s), 0);
    turn(s);
    assert_int_equal(r.rows, 2);
    assert_false(r.last.alarm.armed);
    sql(s, "INSERT INTO t SELECT zeroblob(5000) FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3)");
    turn(s);
    assert_int_equal(storage_delete_all(s, true), 0);
    assert_int_equal(storage_kv_put(s, CD_STR("b"), CD_STR("2")), 0);
    turn(s);
    assert_int_equal(r.rows, 4);
    storage_trim(s);
    assert_int_equal(storage_kv_put(s, CD_STR("lost"), CD_STR("2")), 0);
    storage_close(s);
    db_close(r.db);
    r.db = NULL;
    rig_same(&r, 1);

    rig_deinit(&r);
}

static void test_a_reset_keeps_what_was_committed(void **state)
{
    struct rig r;
    struct cd_str value;
    (void)state;
    rig_init(&r, 2);
    rig_open(&r, 1, (struct db_position){0});
    struct storage *s = open_storage(&r);
    assert_int_equal(storage_kv_put(s, CD_STR("a"), CD_STR("1")), 0);
    assert_int_equal(storage_alarm_set(s, 1234), 0);
    turn(s);
    assert_int_equal(storage_kv_put(s, CD_STR("a"), CD_STR("2")), 0);
    assert_int_equal(storage_alarm_set(s, 99), 0);
    storage_close(s);
    s = open_storage(&r);
    assert_int_equal(storage_alarm(s).due_ms, 1234);
    assert_int_equal(storage_kv_get(s, CD_STR("a"), &value), 0);
    assert_str_is(value, "1");
    storage_close(s);
    rig_deinit(&r);
}

CD_TESTS(storage_db, cmocka_unit_test(test_a_turn_is_one_row_with_the_alarm),
         cmocka_unit_test(test_a_reset_keeps_what_was_committed))
