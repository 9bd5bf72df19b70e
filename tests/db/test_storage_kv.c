#include "bare.h"
#include "support/test.h"

static void test_a_pair_is_put_read_and_deleted(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bool existed = true;
    assert_null(bare_get(b, "k"));
    assert_int_equal(storage_kv_delete(b->s, CD_STR("k"), &existed), 0);
    assert_false(existed);
    assert_int_equal(b->begins, 0); /* Nothing was written so far. */
    bare_put(b, "k", "one");
    bare_put(b, "k", "two");
    bare_put(b, "", "");
    assert_string_equal(bare_get(b, "k"), "two");
    assert_string_equal(bare_get(b, ""), "");
    assert_int_equal(storage_kv_delete(b->s, CD_STR("k"), &existed), 0);
    assert_true(existed);
    assert_null(bare_get(b, "k"));
    bare_turn(b);
    assert_int_equal(b->commits, 1);
    bare_free(b);
}

static void test_keys_and_values_have_their_limits(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    char *big = cd_alloc(STORAGE_ROW_MAX + 1);
    memset(big, 'x', STORAGE_ROW_MAX);
    struct cd_str value;
    assert_int_equal(storage_kv_put(b->s, cd_str_of(big, STORAGE_KEY_MAX), CD_STR("v")), 0);
    assert_int_equal(storage_kv_get(b->s, cd_str_of(big, STORAGE_KEY_MAX + 1), &value), CD_ETOOBIG);
    assert_true(cd_str_eq(storage_error(b->s), CD_STR("Keys cannot be larger than 2048 bytes. A key of size "
                                                      "2049 was provided.")));
    assert_int_equal(storage_kv_put(b->s, CD_STR("k"), cd_str_of(big, STORAGE_ROW_MAX)), CD_EINVAL);
    assert_true(cd_str_eq(storage_error(b->s), CD_STR("string or blob too big: SQLITE_TOOBIG")));
    assert_int_equal(storage_kv_put(b->s, CD_STR("k"), cd_str_of(big, STORAGE_ROW_MAX - 64)), 0);
    assert_int_equal(storage_kv_get(b->s, CD_STR("k"), &value), 0);
    assert_int_equal(value.len, STORAGE_ROW_MAX - 64);
    cd_free(big);
    bare_free(b);
}

static void test_a_list_is_a_range_in_the_order_of_bytes(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct storage_range all = {0};
    assert_string_equal(bare_list(b, all), "");
    bare_put(b, "b", "2");
    bare_put(b, "a", "1");
    bare_put(b, "\xC3\xA4", "5"); /* Behind all of ASCII. */
    bare_put(b, "c", "3");
    bare_put(b, "c1", "4");
    assert_string_equal(bare_list(b, all), "a=1 b=2 c=3 c1=4 \xC3\xA4=5");
    assert_string_equal(bare_list(b, (struct storage_range){.start = CD_STR("b"), .end = CD_STR("c1")}),
                        "b=2 c=3");
    assert_string_equal(bare_list(b, (struct storage_range){.start = CD_STR("b"), .after = true, .limit = 2}),
                        "c=3 c1=4");
    assert_string_equal(bare_list(b, (struct storage_range){.end = CD_STR("c"), .reverse = true}), "b=2 a=1");
    assert_string_equal(bare_list(b, (struct storage_range){.reverse = true, .limit = 1}), "\xC3\xA4=5");
    assert_string_equal(bare_list(b, (struct storage_range){.start = CD_STR("x"), .end = CD_STR("")}), "");
    bare_free(b);
}

static int stop_at_once(void *arg, struct cd_str key, struct cd_str value)
{
    (void)key, (void)value;
    ++*(unsigned *)arg;
    return CD_ETOOBIG;
}

static void test_a_list_ends_when_its_reader_says_so(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bare_put(b, "a", "1");
    bare_put(b, "b", "2");
    unsigned calls = 0;
    assert_int_equal(storage_kv_list(b->s, &(struct storage_range){0}, stop_at_once, &calls), CD_ETOOBIG);
    assert_int_equal(calls, 1);
    assert_string_equal(bare_list(b, (struct storage_range){0}), "a=1 b=2");
    bare_free(b);
}

static void test_delete_all_leaves_nothing_but_the_name_and_the_alarm(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bare_put(b, "a", "1");
    assert_int_equal(storage_name_set(b->s, CD_STR("me")), 0);
    assert_int_equal(storage_alarm_set(b->s, 5), 0);
    static const char *const made[] = {
        "CREATE TABLE parent(id INTEGER PRIMARY KEY)",
        "CREATE TABLE child(p INTEGER REFERENCES parent(id) ON DELETE RESTRICT)",
        "INSERT INTO parent VALUES(1)",
        "INSERT INTO child VALUES(1)",
        "CREATE VIEW v AS SELECT * FROM child",
        "CREATE TABLE log(t)",
        "CREATE TRIGGER t AFTER DELETE ON child BEGIN INSERT INTO log VALUES(1); END",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "INSERT INTO words VALUES('hello')",
        "CREATE TABLE \"odd \"\" name\"(x INTEGER PRIMARY KEY AUTOINCREMENT)",
        "CREATE INDEX i ON log(t)",
    };
    for (unsigned i = 0; i < CD_COUNT(made); i++)
        assert_string_equal(bare_sql(b, made[i]), "");
    bare_turn(b);
    struct storage_cursor *open;
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT * FROM parent"), NULL, 0, &open), 0);
    if (storage_delete_all(b->s, false) != 0)
        fail_msg("%.*s", (int)storage_error(b->s).len, storage_error(b->s).ptr);
    assert_int_equal(storage_cursor_next(open), CD_ECLOSED);
    storage_cursor_close(open);
    bare_turn(b);
    assert_string_equal(
        bare_sql(b, "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1"),
        "_cf_alarm;_cf_meta");
    assert_null(bare_get(b, "a"));
    assert_true(storage_alarm(b->s).armed);
    assert_int_equal(storage_delete_all(b->s, true), 0);
    assert_false(storage_alarm(b->s).armed);
    bare_put(b, "a", "2"); /* The tables are made again. */
    bare_turn(b);
    assert_string_equal(bare_get(b, "a"), "2");
    assert_int_equal(storage_begin(b->s, false), 0);
    assert_int_equal(storage_delete_all(b->s, false), CD_EINVAL);
    assert_true(cd_str_eq(storage_error(b->s), CD_STR("Cannot call deleteAll() within a transaction")));
    assert_int_equal(storage_end(b->s, true), 0);
    bare_free(b);
}

static void test_the_name_is_kept(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf name = {0};
    assert_int_equal(storage_name(b->s, &name), CD_ENOTFOUND);
    assert_int_equal(storage_name_set(b->s, CD_STR("caf\xC3\xA9")), 0);
    bare_turn(b);
    bare_reopen(b);
    assert_int_equal(storage_name(b->s, &name), 0);
    assert_string_equal(cd_buf_cstr(&name), "caf\xC3\xA9");
    cd_buf_deinit(&name);
    bare_free(b);
}

CD_TESTS(storage_kv, cmocka_unit_test(test_a_pair_is_put_read_and_deleted),
         cmocka_unit_test(test_keys_and_values_have_their_limits),
         cmocka_unit_test(test_a_list_is_a_range_in_the_order_of_bytes),
         cmocka_unit_test(test_a_list_ends_when_its_reader_says_so),
         cmocka_unit_test(test_delete_all_leaves_nothing_but_the_name_and_the_alarm),
         cmocka_unit_test(test_the_name_is_kept))
