#include "deploy/names.h"

#include "rig.h"

/* count times fill, with last behind it. */
static struct cd_str filled(char fill, size_t count, const char *last)
{
    static char text[1200];
    CD_ASSERT(count + strlen(last) < sizeof text);
    memset(text, fill, count);
    memcpy(text + count, last, strlen(last) + 1);
    return cd_str(text);
}

static void test_each_kind_of_name_has_its_length(void **state)
{
    (void)state;
    static const struct {
        const char *(*grammar)(struct cd_str name);
        size_t max;
    } kinds[] = {
        {deploy_name_script, 63}, {deploy_name_binding, 128}, {deploy_name_class, 190},
        {deploy_name_kv, 250},    {deploy_name_queue, 247},   {deploy_name_d1, 1024},
        {deploy_name_bucket, 64}, {deploy_name_table, 128},
    };
    for (size_t i = 0; i < CD_COUNT(kinds); i++) {
        assert_non_null(kinds[i].grammar(CD_STR("")));
        assert_null(kinds[i].grammar(CD_STR("a")));
        assert_null(kinds[i].grammar(filled('a', kinds[i].max, "")));
        assert_non_null(kinds[i].grammar(filled('a', kinds[i].max + 1, "")));
        assert_non_null(kinds[i].grammar(CD_STR("a\0b")));
        assert_int_equal(kinds[i].grammar(CD_STR("\xc3\xa4")) == NULL, kinds[i].grammar == deploy_name_d1);
        assert_int_equal(kinds[i].grammar(CD_STR("a b")) == NULL, kinds[i].grammar == deploy_name_d1);
        assert_int_equal(kinds[i].grammar(CD_STR("a/b")) == NULL, kinds[i].grammar == deploy_name_d1);
    }
}

static void test_each_kind_of_name_has_its_characters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool script, binding, class, scope, bucket, table;
    } rows[] = {
        {"abc-012", true, false, false, true, true, false},
        {"-a", false, false, false, true, false, false},
        {"a-", false, false, false, true, true, false},
        {"9", true, false, false, true, true, false},
        {"A", false, true, true, true, true, true},
        {"_a9", false, true, true, true, true, true},
        {"$", false, true, true, true, false, false},
        {"a$b", false, true, true, true, false, false},
        {"a.b:c", false, false, false, true, false, false},
        {".", false, false, false, false, false, false},
        {"..", false, false, false, false, false, false},
        {"...", false, false, false, true, false, false},
        {"9a", true, false, false, true, true, false},
        {"a\n", false, false, false, false, false, false},
        {"__KV", false, true, false, true, true, true},
        {"__D1Database", false, true, false, true, true, true},
        {"__Queue", false, true, false, true, true, true},
        {"__Workflow", false, true, false, true, true, true},
        {"__KVx", false, true, true, true, true, true},
        {"__Workflow.a", false, false, false, true, false, false},
        {".cron", false, false, false, true, false, false},
        {"__WorkflowX", false, true, true, true, true, true},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct cd_str name = cd_str(rows[i].name);
        assert_int_equal(deploy_name_script(name) == NULL, rows[i].script);
        assert_int_equal(deploy_name_binding(name) == NULL, rows[i].binding);
        assert_int_equal(deploy_name_class(name) == NULL, rows[i].class);
        assert_int_equal(deploy_name_kv(name) == NULL, rows[i].scope);
        assert_int_equal(deploy_name_queue(name) == NULL, rows[i].scope);
        assert_int_equal(deploy_name_bucket(name) == NULL, rows[i].bucket);
        assert_int_equal(deploy_name_table(name) == NULL, rows[i].table);
    }
}

static void test_paths_stay_in_the_project(void **state)
{
    (void)state;
    static const struct {
        const char *path, *file, *directory; /* What it becomes; NULL: refused. */
    } rows[] = {
        {"a", "a", "a"},
        {"./a/b.c", "a/b.c", "a/b.c"},
        {"a/", NULL, "a"},
        {"./", NULL, "."},
        {".", ".", "."},
        {"", NULL, NULL},
        {"/", NULL, NULL},
        {"/a", NULL, NULL},
        {"..", NULL, NULL},
        {"a/..", NULL, NULL},
        {"../a", NULL, NULL},
        {"./..", NULL, NULL},
        {"a//b", NULL, NULL},
        {"a//", NULL, NULL},
        {".//a", NULL, NULL},
        {"..a/b..", "..a/b..", "..a/b.."},
        {"a/.b/c", "a/.b/c", "a/.b/c"},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct cd_str out;
        for (int directory = 0; directory <= 1; directory++) {
            const char *want = directory ? rows[i].directory : rows[i].file;
            const char *wrong = deploy_name_path(cd_str(rows[i].path), directory, &out);
            assert_int_equal(wrong == NULL, want != NULL);
            if (want != NULL)
                assert_str_is(out, want);
        }
    }
    struct cd_str out;
    assert_non_null(deploy_name_path(CD_STR("a\0b"), false, &out));
}

CD_TESTS(names, cmocka_unit_test(test_each_kind_of_name_has_its_length),
         cmocka_unit_test(test_each_kind_of_name_has_its_characters),
         cmocka_unit_test(test_paths_stay_in_the_project))
