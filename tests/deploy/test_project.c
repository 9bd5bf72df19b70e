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

CD_TESTS(project, cmocka_unit_test(test_a_small_project_is_read),
         cmocka_unit_test(test_all_problems_are_printed_together_in_the_order_of_the_file))
