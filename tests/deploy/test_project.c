#include "rig.h"

static void test_a_small_project_is_read(void **state)
{
    (void)state;
    struct rig r =
        rig_jsonc("// My Worker.\n"
                  "{\n"
                  "  \"name\": \"my-worker\", /* unique */\n"
                  "  \"main\": \"./src/index.ts\",\n"
                  "  \"compatibility_date\": \"2026-02-24\",\n"
                  "  \"compatibility_flags\": [\"nodejs_compat\", \"no_queues_json_messages\",],\n"
                  "  \"vars\": {\"TEXT\": \"a\\u00e4\", \"DATA\": {\"b\": [1, true, null], \"a\": 2.50}},\n"
                  "}\n");
    assert_string_equal(cd_buf_cstr(&r.errors), "");
    assert_string_equal(cd_buf_cstr(&r.warnings), "");
    struct deploy_project *p = &r.project;
    assert_str_is(p->root, "/project");
    assert_str_is(p->file, "/project/wrangler.jsonc");
    assert_str_is(p->name, "my-worker");
    assert_str_is(p->main, "src/index.ts");
    assert_str_is(p->compat.date, "2026-02-24");
    assert_int_equal(p->compat.flags, 2);
    assert_str_is(p->compat.flag[1], "no_queues_json_messages");
    assert_true(deploy_compat_has(&p->compat, DEPLOY_DELETE_ALL_DELETES_ALARM));
    assert_false(deploy_compat_has(&p->compat, DEPLOY_QUEUES_JSON));
    assert_int_equal(p->vars, 2);
    assert_str_is(p->var[0].name, "DATA");
    assert_true(p->var[0].json);
    assert_str_is(p->var[0].value, "{\"b\":[1,true,null],\"a\":2.50}");
    assert_str_is(p->var[1].name, "TEXT");
    assert_false(p->var[1].json);
    assert_str_is(p->var[1].value, "a\xc3\xa4");
    rig_end(&r);
}

static void test_all_problems_are_printed_together_in_the_order_of_the_file(void **state)
{
    (void)state;
    struct rig r =
        rig_jsonc("{\n"
                  "  \"name\": \"My App\",\n"
                  "  \"main\": \"../index.js\",\n"
                  "  \"routes\": [],\n"
                  "  \"compatability_date\": \"2026-01-01\",\n"
                  "  \"vars\": {\"A-B\": 1, \"C\": null},\n"
                  "  \"kv_namespaces\": [{\"binding\": \"KV\", \"id\": \"x\", \"colour\": 1}, {\"id\": 7}]\n"
                  "}");
    assert_int_equal(r.rc, CD_EINVAL);
    assert_string_equal(
        cd_buf_cstr(&r.errors),
        "wrangler.jsonc: unsupported configuration key(s): routes, compatability_date, "
        "kv_namespaces[0].colour\n"
        "wrangler.jsonc:2:11: name: must be 1 to 63 of a-z, 0-9 and -, with no - at either end; found \"My "
        "App\"\n"
        "wrangler.jsonc:3:11: main: must be a path inside the project, without ..; found \"../index.js\"\n"
        "wrangler.jsonc:4:3: routes: celld does not route hostnames; use the ingress proxy\n"
        "wrangler.jsonc:5:3: compatability_date: unknown key; did you mean compatibility_date?\n"
        "wrangler.jsonc:6:19: vars.A-B: the name of a variable must be 1 to 128 of A-Z, a-z, 0-9, _ and $, "
        "not "
        "starting with a digit\n"
        "wrangler.jsonc:6:27: vars.C: null is no value of a variable: give it a value or take it out\n"
        "wrangler.jsonc:7:50: kv_namespaces[0].colour: unknown key\n"
        "wrangler.jsonc:7:64: kv_namespaces[1].binding: required\n"
        "wrangler.jsonc:7:71: kv_namespaces[1].id: must be a string, not a number\n");
    rig_end(&r);
}

static const struct {
    const char *text, *said;
} whole[] = {
    {"[]", "wrangler.jsonc:1:1: a project file is an object, not an array\n"},
    {"\"x\"", "wrangler.jsonc:1:1: a project file is an object, not a string\n"},
    {"", "wrangler.jsonc:1:1: the file ends where a value was expected\n"},
    {"{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-1-01\"}",
     "wrangler.jsonc:1:53: compatibility_date: must be a date that exists, as YYYY-MM-DD\n"},
    {"{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-02-29\"}",
     "wrangler.jsonc:1:53: compatibility_date: must be a date that exists, as YYYY-MM-DD\n"},
    {"{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": 20260101}",
     "wrangler.jsonc:1:53: compatibility_date: must be a string, not a number\n"},
    {"{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-11-18\"}",
     "wrangler.jsonc:1:53: warning: compatibility_date: later than 2026-11-17, the newest date "
     "that this version of celld knows: it behaves as of that date\n"},
    {"{\"name\": \"x\", \"main\": \"m.js\"}",
     "wrangler.jsonc: warning: compatibility_date: not given: every switch behaves as it did at "
     "the oldest date; set it to the date of today\n"},
    {"{}", "wrangler.jsonc:1:1: name: required\n"
           "wrangler.jsonc:1:1: main: required, unless the project has static assets alone (assets)\n"},
    {"{\"name\": \"x\"}",
     "wrangler.jsonc:1:1: main: required, unless the project has static assets alone (assets)\n"},
    {"{\"name\": \"\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:10: name: must be 1 to 63 of a-z, 0-9 and -, with no - at either end; "
     "found \"\"\n"},
    {"{\"name\": \"-x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:10: name: must be 1 to 63 of a-z, 0-9 and -, with no - at either end; "
     "found \"-x\"\n"},
    {"{\"name\": \"x_y\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:10: name: must be 1 to 63 of a-z, 0-9 and -, with no - at either end; "
     "found \"x_y\"\n"},
    {"{\"name\": 1, \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:10: name: must be a string, not a number\n"},
    {"{\"name\": \"x\", \"main\": \"m.py\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: Python Workers are not supported\n"},
    {"{\"name\": \"x\", \"main\": \"m\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: must be a file that ends in .js .mjs .cjs .ts .mts .cts .jsx or "
     ".tsx\n"},
    {"{\"name\": \"x\", \"main\": \"/m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: must be a path relative to the project file, not an absolute "
     "one; found \"/m.js\"\n"},
    {"{\"name\": \"x\", \"main\": \"a//m.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: must be a path without empty segments; found \"a//m.js\"\n"},
    {"{\"name\": \"x\", \"main\": \"m\\u0000.js\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: must be a path without NUL; found \"m\\u0000.js\"\n"},
    {"{\"name\": \"x\", \"main\": \"\", \"compatibility_date\": \"2026-01-01\"}",
     "wrangler.jsonc:1:23: main: must be a path inside the project, not empty; found \"\"\n"},
    {"{\"name\": \"x\", \"assets\": {\"directory\": \"./public/\", \"binding\": \"A\", "
     "\"run_worker_first\": "
     "true}, \"vars\": {}, \"services\": [], \"durable_objects\": {\"bindings\": []}, \"migrations\": "
     "[], "
     "\"worker_loaders\": [], \"d1_databases\": [], \"kv_namespaces\": [], \"r2_buckets\": [], "
     "\"queues\": "
     "{}, \"workflows\": [], \"triggers\": {\"crons\": []}, \"no_bundle\": false}",
     "wrangler.jsonc:1:63: assets.binding: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:88: assets.run_worker_first: needs main: this project has static assets "
     "alone\n"
     "wrangler.jsonc:1:103: vars: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:119: services: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:142: durable_objects: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:174: migrations: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:196: worker_loaders: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:216: d1_databases: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:237: kv_namespaces: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:255: r2_buckets: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:269: queues: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:286: workflows: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:302: triggers: needs main: this project has static assets alone\n"
     "wrangler.jsonc:1:330: no_bundle: needs main: this project has static assets alone\n"},
};

static void test_what_is_wrong_with_a_whole_file_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(whole); i++) {
        struct rig r = rig_jsonc(whole[i].text);
        cd_buf_add_str(&r.errors, cd_buf_str(&r.warnings));
        assert_string_equal(cd_buf_cstr(&r.errors), whole[i].said);
        rig_end(&r);
    }
}

static void test_toml_and_jsonc_say_the_same(void **state)
{
    (void)state;
    struct rig j = rig_jsonc(
        "{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\", \"minify\": true,\n"
        "\"compatibility_flags\": [\"nodejs_compat\"], \"define\": {\"A.B\": \"1\"}, \"vars\": {\"T\": "
        "\"a\\nb\", \"N\": 17,"
        " \"F\": 1.5, \"B\": true, \"L\": [1, {\"x\": \"y\"}], \"O\": {\"p\": {\"q\": 0}}}, \"triggers\": "
        "{\"crons\": "
        "[\"0 * * * *\"]}, \"durable_objects\": {\"bindings\": [{\"name\": \"D\", \"class_name\": \"C\"}]}, "
        "\"migrations\": [{\"tag\": \"v1\", \"new_sqlite_classes\": [\"C\"]}], \"queues\": {\"consumers\": "
        "[{\"queue\": "
        "\"q\", \"max_retries\": 7}]}, \"assets\": {\"directory\": \"d\", \"run_worker_first\": [\"/a\"]}}");
    struct rig t =
        rig_toml("name = 'x'\nmain = \"m.js\"\ncompatibility_date = \"2026-01-01\"\nminify = true\n"
                 "compatibility_flags = [ \"nodejs_compat\", ]\ndefine.\"A.B\" = '1'\n"
                 "[vars]\nT = \"\"\"a\nb\"\"\"\nN = 0x11\nF = +1.5\nB = true\nL = [1, {x = 'y'}]\n"
                 "[vars.O.p]\nq = -0\n[triggers]\ncrons = [\"0 * * * *\"]\n"
                 "[[durable_objects.bindings]]\nname = \"D\"\nclass_name = \"C\"\n"
                 "[[migrations]]\ntag = \"v1\"\nnew_sqlite_classes = [\"C\"]\n"
                 "[[queues.consumers]]\nqueue = \"q\"\nmax_retries = 0b111\n"
                 "[assets]\ndirectory = \"d\"\nrun_worker_first = [\"/a\"]\n");
    assert_string_equal(cd_buf_cstr(&j.errors), "");
    assert_string_equal(cd_buf_cstr(&t.errors), "");
    const struct deploy_project *a = &j.project, *b = &t.project;
    assert_true(cd_str_eq(a->name, b->name) && cd_str_eq(a->main, b->main) && a->minify && b->minify);
    assert_true(cd_str_eq(a->compat.date, b->compat.date) && a->compat.on == b->compat.on);
    assert_true(a->compat.flags == 1 && b->compat.flags == 1);
    assert_true(cd_str_eq(a->define[0].name, b->define[0].name) && b->defines == 1);
    assert_int_equal(a->vars, 6);
    assert_int_equal(b->vars, 6);
    for (size_t i = 0; i < a->vars; i++) {
        assert_string_equal(b->var[i].name.ptr, a->var[i].name.ptr);
        assert_string_equal(b->var[i].value.ptr, a->var[i].value.ptr);
        assert_int_equal(b->var[i].json, a->var[i].json);
    }
    assert_str_is(b->cron[0].text, "0 * * * *");
    assert_str_is(b->durable[0].class_name, "C");
    assert_str_is(b->migration[0].sqlite_class[0], "C");
    assert_int_equal(b->consumer[0].max_retries, 7);
    assert_str_is(b->assets.rule[0], "/a");
    rig_end(&j);
    rig_end(&t);
}

static void test_toml_says_what_json_cannot(void **state)
{
    (void)state;
    struct rig r = rig_toml("name = \"x\"\nmain = \"m.js\"\ncompatibility_date = 2026-01-01\n"
                            "[vars]\nA = 2026-01-01\nB = { c = [ 07:00:00 ] }\nC = inf\nD = [nan]\n");
    assert_string_equal(
        cd_buf_cstr(&r.errors),
        "wrangler.toml:3:22: compatibility_date: must be a string, not a date\n"
        "    TOML reads a bare date as a date: write it in quotes\n"
        "wrangler.toml:5:5: vars.A: a date cannot be in a variable: JSON has none\n"
        "    write it in quotes\n"
        "wrangler.toml:6:13: vars.B.c[0]: a date cannot be in a variable: JSON has none\n"
        "    write it in quotes\n"
        "wrangler.toml:7:5: vars.C: an infinite number or nan cannot be in a variable: JSON has none\n"
        "wrangler.toml:8:6: vars.D[0]: an infinite number or nan cannot be in a variable: JSON has none\n");
    rig_end(&r);
    r = rig_toml(
        "name = \"x\"\n[[kv_namespaces]]\nbinding = \"A\"\n\n[[kv_namespaces]]\nid = \"b\"\nremote = true\n"
        "[[queues]]\nx = 1");
    assert_string_equal(
        cd_buf_cstr(&r.errors),
        "wrangler.toml: unsupported configuration key(s): kv_namespaces[1].remote\n"
        "wrangler.toml:1:1: main: required, unless the project has static assets alone (assets)\n"
        "wrangler.toml:2:3: kv_namespaces[0].id: required\n"
        "wrangler.toml:5:3: kv_namespaces[1].binding: required\n"
        "wrangler.toml:7:1: kv_namespaces[1].remote: remote bindings are not available: all services run in "
        "this fleet\n"
        "wrangler.toml:8:3: queues: must be an object, not an array\n");
    rig_end(&r);
    r = rig_toml("name = \"x\"\nname = \"y\"\n");
    assert_string_equal(cd_buf_cstr(&r.errors),
                        "wrangler.toml:2:1: name, which line 1, column 1 has defined: duplicate key\n");
    rig_end(&r);
}

static void test_more_problems_than_anyone_reads_are_counted(void **state)
{
    (void)state;
    struct cd_buf text = {0};
    cd_buf_addf(&text, "{\"name\": \"x\", \"main\": \"m.js\", \"vars\": {");
    for (unsigned i = 0; i < 105; i++)
        cd_buf_addf(&text, "%s\"A%u\": null", i == 0 ? "" : ", ", i);
    cd_buf_addf(&text, "}}");
    struct rig r = rig_bytes("/p/wrangler.jsonc", cd_buf_str(&text));
    assert_int_equal(r.problems.errors, 105);
    size_t lines = 0;
    for (size_t i = 0; i < r.errors.len; i++)
        lines += r.errors.ptr[i] == '\n';
    assert_int_equal(lines, 101);
    assert_true(cd_str_ends(cd_buf_str(&r.errors), CD_STR("out\nand 5 more errors\n")));
    rig_end(&r);
    cd_buf_deinit(&text);
}

static void test_values_of_variables_never_stand_in_a_message(void **state)
{
    (void)state;
    struct rig r = rig_jsonc(
        "{\"name\": \"x\", \"main\": \"m.js\", \"vars\": {\"A-B\": \"secret\", \"C\": \"secret\", "
        "\"D\": {\"secret\": \"secret\"}, \"E\": null}, \"kv_namespaces\": [{\"binding\": \"C\"}]}");
    assert_int_equal(r.rc, CD_EINVAL);
    assert_null(strstr(cd_buf_cstr(&r.errors), "secret"));
    rig_end(&r);
}

CD_TESTS(project, cmocka_unit_test(test_a_small_project_is_read),
         cmocka_unit_test(test_all_problems_are_printed_together_in_the_order_of_the_file),
         cmocka_unit_test(test_what_is_wrong_with_a_whole_file_is_said),
         cmocka_unit_test(test_toml_and_jsonc_say_the_same),
         cmocka_unit_test(test_toml_says_what_json_cannot),
         cmocka_unit_test(test_more_problems_than_anyone_reads_are_counted),
         cmocka_unit_test(test_values_of_variables_never_stand_in_a_message))
