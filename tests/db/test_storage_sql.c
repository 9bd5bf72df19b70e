#include "bare.h"
#include "db/storage_internal.h"
#include "support/test.h"

static const char not_authorized[] = "error: not authorized: SQLITE_AUTH";

static void test_values_go_in_and_come_out(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    const struct storage_value v[] = {{.type = STORAGE_NULL},
                                      {.type = STORAGE_INTEGER, .integer = INT64_MIN},
                                      {.type = STORAGE_REAL, .real = 1.5},
                                      {.type = STORAGE_REAL, .real = 3},
                                      {.type = STORAGE_TEXT, .bytes = CD_STR("a\0b")},
                                      {.type = STORAGE_TEXT},
                                      {.type = STORAGE_BLOB, .bytes = CD_STR("xyz")},
                                      {.type = STORAGE_BLOB}};
    bare_sql(b, "CREATE TABLE t(a, b, c, d INTEGER, e, f, g, h)");
    assert_string_equal(bare_bind(b, "INSERT INTO t VALUES(?,?,?,?,?,?,?,?)", v, CD_COUNT(v)), "");
    assert_string_equal(bare_sql(b, "SELECT typeof(a), b, typeof(c), d, length(e), length(f), g, h, "
                                    "typeof(f), typeof(h) FROM t"),
                        "null,-9223372036854775808,real,3,1,0,blob3,blob0,text,blob");
    struct storage_cursor *c;
    struct storage_value got;
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT e AS one, c AS two FROM t"), NULL, 0, &c), 0);
    assert_int_equal(storage_cursor_columns(c), 2);
    assert_true(cd_str_eq(storage_cursor_name(c, 1), CD_STR("two")));
    storage_cursor_value(c, 0, &got);
    assert_true(got.type == STORAGE_TEXT && cd_str_eq(got.bytes, CD_STR("a\0b")));
    storage_cursor_value(c, 1, &got);
    assert_true(got.type == STORAGE_REAL && got.real == 1.5);
    storage_cursor_close(c);
    bare_free(b);
}

static void test_several_statements_run_in_one_call(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    const struct storage_value one = {.type = STORAGE_INTEGER, .integer = 41};
    assert_string_equal(bare_bind(b,
                                  "CREATE TABLE t(x); -- ; a comment\n INSERT INTO t VALUES(1) ;; /* ; */\n"
                                  "INSERT INTO t VALUES(';'); SELECT ?+1, count(*) FROM t; -- the end",
                                  &one, 1),
                        "42,2");
    assert_string_equal(bare_sql(b, ""), "error: SQL code did not contain a statement.");
    assert_string_equal(bare_sql(b, " ; -- nothing"), "error: SQL code did not contain a statement.");
    assert_string_equal(bare_sql(b, "SELECT ?"), "error: Wrong number of parameter bindings for SQL query.");
    assert_string_equal(bare_bind(b, "SELECT 1", &one, 1),
                        "error: Wrong number of parameter bindings for SQL query.");
    assert_string_equal(bare_sql(b, "INSERT INTO t VALUES(3); SELEC"),
                        "error: near \"SELEC\": syntax error at offset 0: SQLITE_ERROR");
    assert_string_equal(bare_sql(b, "SELECT 1; SELECT ("), "error: incomplete input: SQLITE_ERROR");
    assert_string_equal(bare_bind(b, "INSERT INTO t VALUES(4); INSERT INTO t VALUES(?); SELECT 1", &one, 1),
                        "error: When executing multiple SQL statements in a single call, only the last "
                        "statement can have parameters.");
    assert_string_equal(bare_sql(b, "SELECT count(*) FROM t"), "4");
    bare_free(b);
}

static void test_errors_name_sqlites_code(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bare_sql(b, "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT UNIQUE, y CHECK(y < 5))");
    bare_sql(b, "INSERT INTO t VALUES(1, 'a', 1)");
    assert_string_equal(bare_sql(b, "SELECT * FROM nope"), "error: no such table: nope: SQLITE_ERROR");
    assert_string_equal(bare_sql(b, "SELECT zzz FROM t"),
                        "error: no such column: zzz at offset 7: SQLITE_ERROR");
    assert_string_equal(bare_sql(b, "INSERT INTO t VALUES(2, 'a', 1)"),
                        "error: UNIQUE constraint failed: t.x: SQLITE_CONSTRAINT (extended: "
                        "SQLITE_CONSTRAINT_UNIQUE)");
    assert_string_equal(bare_sql(b, "INSERT INTO t VALUES(1, 'b', 1)"),
                        "error: UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT (extended: "
                        "SQLITE_CONSTRAINT_PRIMARYKEY)");
    assert_string_equal(bare_sql(b, "INSERT INTO t VALUES(2, 'b', 9)"),
                        "error: CHECK constraint failed: y < 5: SQLITE_CONSTRAINT (extended: "
                        "SQLITE_CONSTRAINT_CHECK)");
    assert_string_equal(bare_sql(b, "SELECT zeroblob(2200001)"),
                        "error: string or blob too big: SQLITE_TOOBIG");
    assert_null(storage_broken(b->s));
    assert_string_equal(bare_sql(b, "SELECT count(*) FROM t"), "1");
    bare_free(b);
}

static void test_what_is_forbidden(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "ATTACH 'x' AS y",
        "DETACH main",
        "VACUUM",
        " /* */ vacuum INTO 'x'",
        "CREATE TEMP TABLE t(x)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TABLE _cf_t(x)",
        "CREATE TABLE _CF_KV(x)",
        "CREATE VIRTUAL TABLE _cf USING fts5(x)",
        "CREATE INDEX _cf_i ON mine(x)",
        "ALTER TABLE mine RENAME TO _cf_t",
        "CREATE TABLE child(k REFERENCES _cf_KV)",
        "CREATE TABLE child(k, FOREIGN KEY (k) REFERENCES \"_CF_kv\"(key))",
        "ALTER TABLE mine ADD COLUMN k REFERENCES _cf_alarm",
        "DROP TABLE _cf_KV",
        "DELETE FROM _cf_KV",
        "INSERT INTO _cf_alarm VALUES(1,1,1,1,1,'x')",
        "CREATE VIRTUAL TABLE z USING dbstat",
        "CREATE VIRTUAL TABLE z USING fts3(x)",
        "PRAGMA journal_mode=WAL",
        "PRAGMA journal_mode",
        "PRAGMA writable_schema=ON",
        "PRAGMA page_size=512",
        "PRAGMA synchronous=FULL",
        "PRAGMA wal_checkpoint",
        "PRAGMA max_page_count=5",
        "PRAGMA foreign_keys='off; x'",
        "PRAGMA table_info(_cf_KV)",
        "PRAGMA hard_heap_limit=1",
        "PRAGMA optimize=x",
    };
    struct bare *b = bare_new();
    bare_put(b, "a", "1");
    assert_int_equal(storage_alarm_set(b->s, 1), 0);
    bare_sql(b, "CREATE TABLE mine(x)");
    bare_turn(b);
    for (unsigned i = 0; i < CD_COUNT(refused); i++) {
        const char *got = bare_sql(b, refused[i]);
        if (strcmp(got, not_authorized) != 0)
            fail_msg("%s: %s", refused[i], got);
    }
    assert_string_equal(bare_sql(b, "SELECT name FROM sqlite_schema WHERE name LIKE 'mine'"), "mine");
    assert_string_equal(bare_sql(b, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'child'"), "0");
    assert_string_equal(bare_sql(b, "CREATE TABLE named(a DEFAULT '_cf_')"), "");
    static const char *const transactions[] = {"BEGIN",          "COMMIT",    "END",          "ROLLBACK",
                                               "SAVEPOINT here", "RELEASE x", "ROLLBACK TO x"};
    for (unsigned i = 0; i < CD_COUNT(transactions); i++)
        assert_non_null(strstr(bare_sql(b, transactions[i]), "state.storage.transaction()"));
    assert_string_equal(bare_sql(b, "SELECT * FROM _cf_KV"),
                        "error: access to _cf_KV.key is prohibited: SQLITE_AUTH");
    assert_non_null(strstr(bare_sql(b, "SELECT data FROM sqlite_dbpage"), "SQLITE_AUTH"));
    assert_non_null(strstr(bare_sql(b, "UPDATE sqlite_schema SET sql='x'"), "may not be modified"));
    static const char *const calls[] = {"sqlite_version()", "load_extension('x')", "sqlite_source_id()",
                                        "sqlite_compileoption_get(1)", "fts3_tokenizer('x')"};
    for (unsigned i = 0; i < CD_COUNT(calls); i++) {
        struct cd_buf sql = {0};
        cd_buf_addf(&sql, "SELECT %s", calls[i]);
        assert_non_null(strstr(bare_sql(b, cd_buf_cstr(&sql)), "not authorized to use function"));
        cd_buf_deinit(&sql);
    }
    bare_free(b);
}

static void test_what_is_allowed(void **state)
{
    (void)state;
    static const char *const good[] = {
        "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT, y)",
        "ALTER TABLE t ADD COLUMN z",
        "ALTER TABLE t RENAME COLUMN z TO w",
        "ALTER TABLE t DROP COLUMN w",
        "CREATE INDEX i ON t(x) WHERE x IS NOT NULL",
        "ALTER TABLE t RENAME TO u",
        "INSERT INTO u(x,y) VALUES('a',json_object('k',1)), (upper('b'),'{}')",
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT sum(i) FROM n",
        "SELECT row_number() OVER (ORDER BY x), x->>'$.k', lag(x) OVER (ORDER BY y) FROM u WHERE x LIKE 'z%'",
        "SELECT * FROM json_each('[1,2]'), json_tree('{}')",
        "CREATE VIRTUAL TABLE f USING fts5(body)",
        "INSERT INTO f VALUES('some words'), ('other')",
        "SELECT highlight(f,0,'<','>'), bm25(f) FROM f('words')",
        "CREATE VIRTUAL TABLE fv USING fts5vocab('f','row')",
        "SELECT * FROM fv",
        "CREATE VIRTUAL TABLE r USING rtree(id,a,b)",
        "INSERT INTO r VALUES(1,0,1)",
        "SELECT * FROM r WHERE a>=0",
        "CREATE VIRTUAL TABLE ri USING rtree_i32(id,a,b)",
        "ANALYZE",
        "REINDEX",
        "PRAGMA optimize",
        "PRAGMA optimize(0x10002)",
        "PRAGMA data_version",
        "PRAGMA page_size",
        "PRAGMA table_list",
        "PRAGMA foreign_keys",
        "PRAGMA defer_foreign_keys=ON",
        "PRAGMA case_sensitive_like=true",
        "PRAGMA table_info(u)",
        "PRAGMA index_list('u')",
        "PRAGMA foreign_key_check",
        "PRAGMA quick_check",
        "SELECT name FROM pragma_table_info('u')",
        "SELECT * FROM sqlite_sequence, sqlite_master, sqlite_stat1",
        "SELECT changes(), last_insert_rowid(), total_changes(), date('now'), random(), sqrt(2)",
        "CREATE TRIGGER tr AFTER INSERT ON u BEGIN UPDATE u SET y=1 WHERE id=new.id; END",
        "EXPLAIN QUERY PLAN SELECT * FROM u",
        "DROP TABLE f",
    };
    struct bare *b = bare_new();
    for (unsigned i = 0; i < CD_COUNT(good); i++) {
        const char *got = bare_sql(b, good[i]);
        if (strncmp(got, "error", 5) == 0)
            fail_msg("%s: %s", good[i], got);
        if (i % 3 == 0)
            bare_turn(b);
    }
    bare_free(b);
}

/* The list is searched by halves: each of these is found only if it is in order. */
static void test_functions_are_found_in_any_case(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    sqlite3_stmt *all;
    unsigned count = 0;
    (void)sqlite3_set_authorizer(b->db, NULL, NULL);
    assert_int_equal(
        sqlite3_prepare_v2(b->db,
                           "SELECT DISTINCT name FROM pragma_function_list WHERE builtin AND name "
                           "NOT GLOB 'sqlite_*' AND name NOT IN ('load_extension','fts3_tokenizer',"
                           "'matchinfo','offsets','optimize','fts5_source_id')",
                           -1, &all, NULL),
        SQLITE_OK);
    while (sqlite3_step(all) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(all, 0);
        if (!storage_rules_function(name))
            fail_msg("%s() is not allowed", name);
        count++;
    }
    assert_true(count > 100);
    sqlite3_finalize(all);
    assert_true(storage_rules_function("SUBSTR"));
    assert_false(storage_rules_function("sqlite_version"));
    bare_free(b);
}

static void test_limits(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf sql = {0};
    cd_buf_addf(&sql, "SELECT 1");
    for (unsigned i = 0; i < 100; i++)
        cd_buf_addf(&sql, ",?");
    assert_non_null(strstr(bare_sql(b, cd_buf_cstr(&sql)), "too many"));
    cd_buf_clear(&sql);
    cd_buf_addf(&sql, "SELECT ?101");
    assert_non_null(strstr(bare_sql(b, cd_buf_cstr(&sql)), "variable number must be between"));
    cd_buf_clear(&sql);
    cd_buf_addf(&sql, "SELECT '");
    for (unsigned i = 0; i < STORAGE_SQL_MAX; i++)
        cd_buf_add_byte(&sql, 'x');
    cd_buf_addf(&sql, "'");
    assert_string_equal(bare_sql(b, cd_buf_cstr(&sql)), "error: statement too long: SQLITE_TOOBIG");
    assert_non_null(strstr(bare_sql(b, "SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 "
                                       "UNION SELECT 6"),
                           "too many terms in compound SELECT"));
    assert_non_null(
        strstr(bare_sql(b, "SELECT 'x' LIKE '0123456789012345678901234567890123456789012345678901'"),
               "LIKE or GLOB pattern too complex"));
    cd_buf_deinit(&sql);
    bare_free(b);
}

static void test_the_same_text_can_be_open_twice(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct storage_cursor *c[3];
    struct storage_value v;
    bare_sql(b, "CREATE TABLE t(x); INSERT INTO t VALUES(1),(2),(3)");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(storage_sql(b->s, CD_STR("SELECT x FROM t"), NULL, 0, &c[i]), 0);
        for (unsigned k = 0; k < i; k++)
            assert_int_equal(storage_cursor_next(c[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        storage_cursor_value(c[i], 0, &v);
        assert_int_equal(v.integer, i + 1);
    }
    assert_true(storage_cursor_shape(c[0]) != storage_cursor_shape(c[1]));
    uint64_t shape = storage_cursor_shape(c[0]);
    storage_cursor_close(c[0]);
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT x FROM t"), NULL, 0, &c[0]), 0);
    assert_int_equal(storage_cursor_shape(c[0]), shape); /* The kept one. */
    for (unsigned i = 0; i < 3; i++)
        storage_cursor_close(c[i]);
    bare_sql(b, "ALTER TABLE t ADD COLUMN y");
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT x FROM t"), NULL, 0, &c[0]), 0);
    assert_int_not_equal(storage_cursor_shape(c[0]), shape); /* SQLite compiled it again. */
    storage_cursor_close(c[0]);
    bare_free(b);
}

static void test_rows_are_counted(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct storage_cursor *c;
    bare_sql(b, "CREATE TABLE t(id INTEGER PRIMARY KEY, x)");
    assert_int_equal(
        storage_sql(b->s, CD_STR("INSERT INTO t(x) VALUES(1),(2),(3),(4) RETURNING id"), NULL, 0, &c), 0);
    assert_true(storage_cursor_writes(c));
    while (storage_cursor_row(c))
        assert_int_equal(storage_cursor_next(c), 0);
    assert_int_equal(storage_cursor_written(c), 4);
    storage_cursor_close(c);
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT * FROM t"), NULL, 0, &c), 0);
    assert_false(storage_cursor_writes(c));
    assert_int_equal(storage_cursor_read(c), 1);
    while (storage_cursor_row(c))
        assert_int_equal(storage_cursor_next(c), 0);
    assert_int_equal(storage_cursor_read(c), 4);
    assert_int_equal(storage_cursor_written(c), 0);
    assert_int_equal(storage_cursor_columns(c), 2); /* Also at the end. */
    storage_cursor_close(c);
    assert_int_equal(storage_sql(b->s, CD_STR("SELECT max(x) FROM t"), NULL, 0, &c), 0);
    assert_int_equal(storage_cursor_read(c), 4);
    storage_cursor_close(c);
    bare_free(b);
}

static void test_kept_statements_have_a_bound(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    struct cd_buf sql = {0};
    sqlite3_int64 before = sqlite3_memory_used();
    for (unsigned i = 0; i < 2000; i++) {
        cd_buf_clear(&sql);
        cd_buf_addf(&sql, "SELECT %u, 'some text to fill it', abs(-1), length('x')", i);
        bare_sql(b, cd_buf_cstr(&sql));
    }
    assert_true(sqlite3_memory_used() - before < 2 * STORAGE_CACHE_MAX);
    storage_trim(b->s);
    assert_true(sqlite3_memory_used() - before < 20000);
    assert_string_equal(bare_sql(b, "SELECT 5"), "5");
    cd_buf_deinit(&sql);
    bare_free(b);
}

static bool interrupt(void *arg)
{
    return ++*(unsigned *)arg > 2;
}

static void test_a_long_statement_can_be_interrupted(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    unsigned looks = 0;
    storage_interruptible(b->s, interrupt, &looks);
    assert_string_equal(bare_sql(b, "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT "
                                    "count(*) FROM n"),
                        "error: interrupted: SQLITE_INTERRUPT");
    assert_int_equal(looks, 3);
    bare_free(b);
}

static void test_a_failed_alter_leaves_what_was_before(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    bare_sql(b, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    assert_string_equal(bare_sql(b, "ALTER TABLE t RENAME TO _cf_other"), not_authorized);
    assert_non_null(strstr(bare_sql(b, "ALTER TABLE t RENAME COLUMN nope TO y"), "no such column"));
    assert_int_equal(storage_depth(b->s), 0);
    bare_turn(b);
    assert_string_equal(bare_sql(b, "SELECT x FROM t"), "1");
    bare_free(b);
}

static void test_the_size_counts_pages_in_use(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    uint64_t empty, full, after;
    assert_int_equal(storage_size(b->s, &empty), 0);
    assert_int_equal(empty, 0);
    bare_sql(b, "CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(1000000))");
    assert_int_equal(storage_size(b->s, &full), 0);
    assert_true(full > 1000000);
    bare_sql(b, "DELETE FROM t");
    assert_int_equal(storage_size(b->s, &after), 0);
    assert_int_equal(after, 2 * 4096);
    bare_free(b);
}

CD_TESTS(storage_sql, cmocka_unit_test(test_values_go_in_and_come_out),
         cmocka_unit_test(test_several_statements_run_in_one_call),
         cmocka_unit_test(test_errors_name_sqlites_code), cmocka_unit_test(test_what_is_forbidden),
         cmocka_unit_test(test_what_is_allowed), cmocka_unit_test(test_functions_are_found_in_any_case),
         cmocka_unit_test(test_limits), cmocka_unit_test(test_the_same_text_can_be_open_twice),
         cmocka_unit_test(test_rows_are_counted), cmocka_unit_test(test_kept_statements_have_a_bound),
         cmocka_unit_test(test_a_long_statement_can_be_interrupted),
         cmocka_unit_test(test_a_failed_alter_leaves_what_was_before),
         cmocka_unit_test(test_the_size_counts_pages_in_use))
