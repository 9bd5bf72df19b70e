#include "rig.h"

static void test_what_is_wrong_with_assets_is_said(void **state)
{
    (void)state;
    rig_refused("\"assets\": \"public\"", "wrangler.jsonc:1:77: assets: must be an object, not a string\n");
    rig_refused("\"assets\": {}", "wrangler.jsonc:1:77: assets.directory: required\n");
    rig_refused("\"assets\": {\"directory\": \"/public\"}",
                "wrangler.jsonc:1:91: assets.directory: must be a path relative to the project file, not an "
                "absolute one; found \"/public\"\n");
    rig_refused("\"assets\": {\"directory\": \"\"}",
                "wrangler.jsonc:1:91: assets.directory: must be a path inside the project, not empty; found "
                "\"\"\n");
    rig_refused(
        "\"assets\": {\"directory\": \"a//b\"}",
        "wrangler.jsonc:1:91: assets.directory: must be a path without empty segments; found \"a//b\"\n");
    rig_refused("\"assets\": {\"directory\": \"a/../b\"}",
                "wrangler.jsonc:1:91: assets.directory: must be a path inside the project, without ..; found "
                "\"a/../b\"\n");
    rig_refused("\"assets\": {\"directory\": \"a\", \"binding\": \"1\", \"html_handling\": \"x\", "
                "\"not_found_handling\": 1, "
                "\"run_worker_first\": \"yes\", \"experimental\": 1}",
                "wrangler.jsonc: unsupported configuration key(s): assets.experimental\n"
                "wrangler.jsonc:1:107: assets.binding: must be 1 to 128 of A-Z, a-z, 0-9, _ and $, not "
                "starting with a digit; found \"1\"\n"
                "wrangler.jsonc:1:129: assets.html_handling: must be auto-trailing-slash, "
                "force-trailing-slash, drop-trailing-slash or none\n"
                "wrangler.jsonc:1:156: assets.not_found_handling: must be a string, not a number\n"
                "wrangler.jsonc:1:179: assets.run_worker_first: must be a boolean or an array of rules, not "
                "a string\n"
                "wrangler.jsonc:1:186: assets.experimental: unknown key\n");
    rig_refused("\"assets\": {\"directory\": \"a\", \"run_worker_first\": []}",
                "wrangler.jsonc:1:116: assets.run_worker_first: must have 1 to 100 rules\n");
    rig_refused(
        "\"assets\": {\"directory\": \"a\", \"run_worker_first\": [\"api\", \"!\", 1, \"/a\", \"/a\"]}",
        "wrangler.jsonc:1:117: assets.run_worker_first[0]: must start with / or !/ and have at most "
        "100 characters\n"
        "wrangler.jsonc:1:124: assets.run_worker_first[1]: must start with / or !/ and have at most "
        "100 characters\n"
        "wrangler.jsonc:1:129: assets.run_worker_first[2]: must be a string, not a number\n"
        "wrangler.jsonc:1:138: assets.run_worker_first[4]: given twice\n");
    rig_refused("\"assets\": {\"directory\": \"a\", \"run_worker_first\": [\"!/a\", \"!/b\"]}",
                "wrangler.jsonc:1:116: assets.run_worker_first: needs at least one rule that does not start "
                "with !\n");
}

static void test_what_is_wrong_with_triggers_is_said(void **state)
{
    (void)state;
    rig_refused("\"triggers\": []", "wrangler.jsonc:1:79: triggers: must be an object, not an array\n");
    rig_refused("\"triggers\": {}", "wrangler.jsonc:1:79: triggers.crons: required\n");
    rig_refused("\"triggers\": {\"crons\": \"* * * * *\"}",
                "wrangler.jsonc:1:89: triggers.crons: must be an array, not a string\n");
    rig_refused("\"triggers\": {\"crons\": [\"* * * *\", \"60 * * * *\", 1, \"0 0 30 2 *\"]}",
                "wrangler.jsonc:1:90: triggers.crons[0]: fields are missing: a cron expression has exactly "
                "five: minute, hour, day of month, month, day of week\n"
                "wrangler.jsonc:1:101: triggers.crons[1]: minute \"60\": 60 is not within 0 to 59\n"
                "wrangler.jsonc:1:115: triggers.crons[2]: must be a string, not a number\n"
                "wrangler.jsonc:1:118: triggers.crons[3]: \"0 0 30 2 *\": no day of any year matches\n");
}

static void test_assets_are_read(void **state)
{
    (void)state;
    struct rig r = rig_accepted("\"assets\": {\"directory\": \"./public/\"}");
    const struct deploy_assets *a = &r.project.assets;
    assert_true(a->given);
    assert_str_is(a->directory, "public");
    assert_str_is(a->binding, "");
    assert_int_equal(a->html_handling, DEPLOY_HTML_AUTO);
    assert_int_equal(a->not_found_handling, DEPLOY_MISSING_NONE);
    assert_int_equal(a->run_worker_first, DEPLOY_ASSETS_FIRST);
    rig_end(&r);

    r = rig_accepted("\"assets\": {\"directory\": \".\", \"binding\": \"ASSETS\", \"html_handling\": "
                     "\"drop-trailing-slash\", \"not_found_handling\": \"404-page\", "
                     "\"run_worker_first\": [\"/api/*\", \"!/api/docs\", \"/\"]}");
    a = &r.project.assets;
    assert_str_is(a->directory, ".");
    assert_str_is(a->binding, "ASSETS");
    assert_int_equal(a->html_handling, DEPLOY_HTML_DROP);
    assert_int_equal(a->not_found_handling, DEPLOY_MISSING_404);
    assert_int_equal(a->run_worker_first, DEPLOY_WORKER_FIRST_RULES);
    assert_int_equal(a->rules, 3);
    assert_str_is(a->rule[1], "!/api/docs");
    rig_end(&r);

    r = rig_accepted(
        "\"assets\": {\"directory\": \"a/b\", \"html_handling\": \"none\", \"not_found_handling\": "
        "\"single-page-application\", \"run_worker_first\": true}");
    assert_int_equal(r.project.assets.html_handling, DEPLOY_HTML_NONE);
    assert_int_equal(r.project.assets.not_found_handling, DEPLOY_MISSING_SPA);
    assert_int_equal(r.project.assets.run_worker_first, DEPLOY_WORKER_FIRST);
    rig_end(&r);
}

static void test_rules_have_a_limit_of_count_and_of_length(void **state)
{
    (void)state;
    struct cd_buf members = {0}, rule = {0};
    cd_buf_addf(&rule, "/");
    while (rule.len < 99)
        cd_buf_add_byte(&rule, 'a');
    cd_buf_addf(&members, "\"assets\": {\"directory\": \"a\", \"run_worker_first\": [");
    for (unsigned i = 0; i < 100; i++)
        cd_buf_addf(&members, "%s\"%s%u\"", i == 0 ? "" : ",", i < 10 ? cd_buf_cstr(&rule) : "/", i);
    size_t all = members.len;
    cd_buf_addf(&members, "]}");
    struct rig r = rig_accepted(cd_buf_cstr(&members));
    assert_int_equal(r.project.assets.rules, 100);
    rig_end(&r);
    members.len = all;
    cd_buf_addf(&members, ",\"/x\"]}");
    rig_refused(cd_buf_cstr(&members),
                "wrangler.jsonc:1:116: assets.run_worker_first: must have 1 to 100 rules\n");
    cd_buf_clear(&members);
    cd_buf_addf(&members, "\"assets\": {\"directory\": \"a\", \"run_worker_first\": [\"%saa\"]}",
                cd_buf_cstr(&rule));
    rig_refused(cd_buf_cstr(&members),
                "wrangler.jsonc:1:117: assets.run_worker_first[0]: must start with / or !/ and "
                "have at most 100 characters\n");
    cd_buf_deinit(&members);
    cd_buf_deinit(&rule);
}

static void test_crons_are_trimmed_and_stand_once(void **state)
{
    (void)state;
    struct rig r =
        rig_accepted("\"triggers\": {\"crons\": [\"0 0 * * *\", \"0 0 * * * \", \" 5 4 * * MON\\n\"]}");
    assert_int_equal(r.project.crons, 2);
    assert_str_is(r.project.cron[0].text, "0 0 * * *");
    assert_str_is(r.project.cron[1].text, "5 4 * * MON");
    rig_end(&r);
}

CD_TESTS(check_assets, cmocka_unit_test(test_what_is_wrong_with_assets_is_said),
         cmocka_unit_test(test_what_is_wrong_with_triggers_is_said), cmocka_unit_test(test_assets_are_read),
         cmocka_unit_test(test_rules_have_a_limit_of_count_and_of_length),
         cmocka_unit_test(test_crons_are_trimmed_and_stand_once))
