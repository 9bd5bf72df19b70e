#include "deploy/vars.h"

#include "rig.h"

/* What .dev.vars makes of a project with vars B (a number) and A (a text); or the errors. */
static const char *merged(struct cd_str text)
{
    static char last[2048];
    struct rig r =
        rig_accepted("\"vars\": {\"B\": 1, \"A\": \"a\"}, \"kv_namespaces\": [{\"binding\": \"KV\", \"id\": "
                     "\"k\"}], \"services\": [{\"binding\": \"S\", \"service\": \"s\"}]");
    struct deploy_problems problems = {0};
    struct cd_buf out = {0};
    if (deploy_vars_merge(&r.project, text, &problems) != 0)
        deploy_problems_errors(&out, &problems);
    for (size_t i = 0; problems.errors == 0 && i < r.project.vars; i++) {
        const struct deploy_var *v = &r.project.var[i];
        cd_buf_addf(&out, "%s%s=[%s]", v->dev ? "*" : v->json ? "#" : "", v->name.ptr, v->value.ptr);
    }
    if (problems.errors > 0) { /* Nothing has changed. */
        assert_int_equal(r.project.vars, 2);
        assert_str_is(r.project.var[0].value, "a");
    }
    (void)snprintf(last, sizeof last, "%s", cd_buf_cstr(&out));
    cd_buf_deinit(&out);
    deploy_problems_deinit(&problems);
    rig_end(&r);
    return last;
}

static void test_lines_are_names_and_values(void **state)
{
    (void)state;
    assert_string_equal(merged(CD_STR("")), "A=[a]#B=[1]");
    assert_string_equal(merged(CD_STR("C=c")), "A=[a]#B=[1]*C=[c]");
    assert_string_equal(merged(CD_STR("\n  \t \n# C=1\n  #\nexport C = c d \r\n export\tD=d\n")),
                        "A=[a]#B=[1]*C=[c d]*D=[d]");
    assert_string_equal(merged(CD_STR("\xef\xbb\xbf"
                                      "C=c")),
                        "A=[a]#B=[1]*C=[c]");
    assert_string_equal(merged(CD_STR("C==c=\nD=\nE= ")), "A=[a]#B=[1]*C=[=c=]*D=[]*E=[]");
    assert_string_equal(merged(CD_STR("export=1")), "A=[a]#B=[1]*export=[1]");
}

static void test_one_pair_of_quotes_goes_and_nothing_else(void **state)
{
    (void)state;
    assert_string_equal(merged(CD_STR("C=\" c \"\nD=' d\"'\nE=\"e'\nF=\"\nG=\"\"\nH=\"\"h\"\"")),
                        "A=[a]#B=[1]*C=[ c ]*D=[ d\"]*E=[\"e']*F=[\"]*G=[]*H=[\"h\"]");
    assert_string_equal(merged(CD_STR("C=c # no comment\nD=\"d\" # x\nE=\"a\\nb\"\nF=$C ${C}")),
                        "A=[a]#B=[1]*C=[c # no comment]*D=[\"d\" # x]*E=[a\\nb]*F=[$C ${C}]");
}

static void test_they_take_the_place_of_vars(void **state)
{
    (void)state;
    assert_string_equal(merged(CD_STR("B=2\nA=x")), "*A=[x]*B=[2]");
    assert_string_equal(merged(CD_STR("C=1\nC=2")), "A=[a]#B=[1]*C=[2]");
}

static void test_malformed_lines_are_named_by_number(void **state)
{
    (void)state;
    assert_string_equal(merged(CD_STR("C=1\n\nsecret\n=secret\nA-B=secret\n1=secret\nexport =1")),
                        ".dev.vars:3: expected NAME=value\n"
                        ".dev.vars:4: expected NAME=value\n"
                        ".dev.vars:5: expected NAME=value\n"
                        ".dev.vars:6: expected NAME=value\n"
                        ".dev.vars:7: expected NAME=value\n");
    assert_string_equal(merged(CD_STR("C=\"a\nb\"")), ".dev.vars:2: expected NAME=value\n");
    assert_string_equal(merged(CD_STR("C=\xff")), ".dev.vars:1: not UTF-8\n");
}

static void test_they_do_not_take_the_name_of_another_binding(void **state)
{
    (void)state;
    assert_string_equal(merged(CD_STR("KV=1\nS=secret")),
                        ".dev.vars:1: the name KV is taken by a KV namespace\n"
                        ".dev.vars:2: the name S is taken by a service\n");
    struct rig r = rig_accepted(
        "\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"X\"}]},"
        "\"d1_databases\": [{\"binding\": \"B\", \"database_name\": \"b\"}], \"assets\": {\"directory\": "
        "\"a\", "
        "\"binding\": \"C\"}, \"queues\": {\"producers\": [{\"binding\": \"D\", \"queue\": \"d\"}]},"
        "\"r2_buckets\": [{\"binding\": \"E\", \"bucket_name\": \"e\"}], \"worker_loaders\": [{\"binding\": "
        "\"F\"}],"
        "\"workflows\": [{\"binding\": \"G\", \"name\": \"g\", \"class_name\": \"W\"}]");
    struct deploy_problems problems = {0};
    struct cd_buf out = {0};
    assert_int_equal(deploy_vars_merge(&r.project, CD_STR("A=\nB=\nC=\nD=\nE=\nF=\nG=\n"), &problems),
                     CD_EINVAL);
    deploy_problems_errors(&out, &problems);
    assert_string_equal(cd_buf_cstr(&out), ".dev.vars:1: the name A is taken by a Durable Object\n"
                                           ".dev.vars:2: the name B is taken by a D1 database\n"
                                           ".dev.vars:3: the name C is taken by the static assets\n"
                                           ".dev.vars:4: the name D is taken by a queue\n"
                                           ".dev.vars:5: the name E is taken by an R2 bucket\n"
                                           ".dev.vars:6: the name F is taken by a worker loader\n"
                                           ".dev.vars:7: the name G is taken by a workflow\n");
    cd_buf_deinit(&out);
    deploy_problems_deinit(&problems);
    rig_end(&r);
}

static void test_a_project_of_assets_alone_takes_none(void **state)
{
    (void)state;
    struct deploy_problems problems = {0};
    struct rig r = rig_jsonc("{\"name\": \"x\", \"assets\": {\"directory\": \"a\"}}");
    assert_int_equal(deploy_vars_merge(&r.project, CD_STR("A=1\nbad"), &problems), 0);
    assert_int_equal(r.project.vars, 0);
    deploy_problems_deinit(&problems);
    rig_end(&r);
}

CD_TESTS(vars, cmocka_unit_test(test_lines_are_names_and_values),
         cmocka_unit_test(test_one_pair_of_quotes_goes_and_nothing_else),
         cmocka_unit_test(test_they_take_the_place_of_vars),
         cmocka_unit_test(test_malformed_lines_are_named_by_number),
         cmocka_unit_test(test_they_do_not_take_the_name_of_another_binding),
         cmocka_unit_test(test_a_project_of_assets_alone_takes_none))
