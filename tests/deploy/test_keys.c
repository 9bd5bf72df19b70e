#include "rig.h"

/* Every key but those that each project has, and those of other tools. */
static const char *const accepted[] = {
    "\"$schema\": \"any\"",
    "\"no_bundle\": true",
    "\"compatibility_flags\": []",
    "\"durable_objects\": {\"bindings\": []}",
    "\"migrations\": []",
    "\"services\": []",
    "\"vars\": {}",
    "\"triggers\": {\"crons\": []}",
    "\"assets\": {\"directory\": \"public\"}",
    "\"d1_databases\": []",
    "\"kv_namespaces\": []",
    "\"queues\": {}",
    "\"workflows\": []",
    "\"r2_buckets\": []",
    "\"worker_loaders\": []",
    "\"define\": {}",
    "\"rules\": []",
    "\"alias\": {}",
    "\"minify\": true",
    "\"keep_names\": true",
    "\"tsconfig\": \"tsconfig.json\"",
    "\"jsx_factory\": \"h\"",
    "\"jsx_fragment\": \"F\"",
};

static void test_each_accepted_key_may_stand_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(accepted); i++) {
        struct rig r = rig_accepted(accepted[i]);
        assert_int_equal(r.project.keys, 4);
        assert_int_equal(r.project.key[3].at.line, 1);
        assert_int_equal(r.project.key[3].at.column, 67);
        rig_end(&r);
    }
}

static void test_each_accepted_key_stands_in_the_documentation(void **state)
{
    (void)state;
    struct cd_buf text = {0}, key = {0};
    FILE *f = fopen(CD_TESTS_DIR "/../docs/project-file.md", "r");
    assert_non_null(f);
    text.len += fread(cd_buf_reserve(&text, 65536), 1, 65536, f);
    assert_int_equal(fclose(f), 0);
    for (size_t i = 0; i < CD_COUNT(accepted); i++) {
        cd_buf_clear(&key);
        cd_buf_addf(&key, "`%.*s`", (int)strcspn(accepted[i] + 1, "\""), accepted[i] + 1);
        if (strstr(cd_buf_cstr(&text), cd_buf_cstr(&key)) == NULL)
            fail_msg("docs/project-file.md does not name %s", cd_buf_cstr(&key));
    }
    cd_buf_deinit(&text);
    cd_buf_deinit(&key);
}

static void test_keys_of_other_tools_are_ignored_with_a_note(void **state)
{
    (void)state;
    struct rig r = rig_jsonc("{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\",\n"
                             "  \"send_metrics\": false, \"dev\": {\"port\": 8787}}");
    assert_int_equal(r.rc, 0);
    assert_string_equal(cd_buf_cstr(&r.warnings),
                        "wrangler.jsonc:2:19: note: send_metrics: ignored: it steers other tools only\n"
                        "wrangler.jsonc:2:33: note: dev: ignored: it steers other tools only\n");
    rig_end(&r);
}

static void refuse_each(const char *const *keys, size_t count, const char *hint)
{
    for (size_t i = 0; i < count; i++) {
        struct cd_buf member = {0}, want = {0};
        cd_buf_addf(&member, "\"%s\": 1", keys[i]);
        cd_buf_addf(&want,
                    "wrangler.jsonc: unsupported configuration key(s): %s\nwrangler.jsonc:1:67: %s: %s\n",
                    keys[i], keys[i], hint);
        rig_refused(cd_buf_cstr(&member), cd_buf_cstr(&want));
        cd_buf_deinit(&member);
        cd_buf_deinit(&want);
    }
}
#define REFUSE(hint, ...)                                                                                    \
    do {                                                                                                     \
        static const char *const keys_[] = {__VA_ARGS__};                                                    \
        refuse_each(keys_, CD_COUNT(keys_), hint);                                                           \
    } while (0)

static void test_each_refused_key_has_a_hint(void **state)
{
    (void)state;
    REFUSE("celld does not route hostnames; use the ingress proxy", "routes", "route", "workers_dev",
           "preview_urls", "placement");
    REFUSE("a feature of the hosted platform; for logs and traces see the telemetry settings", "account_id",
           "logpush", "observability", "limits", "tail_consumers", "streaming_tail_consumers", "cache",
           "access", "compliance_region", "previews");
    REFUSE("this type of binding is not available", "ai", "ai_search", "ai_search_namespaces", "vectorize",
           "hyperdrive", "browser", "send_email", "images", "media", "stream", "analytics_engine_datasets",
           "pipelines", "secrets_store_secrets", "mtls_certificates", "dispatch_namespaces", "vpc_services",
           "vpc_networks", "version_metadata", "ratelimits", "unsafe", "artifacts", "agent_memory",
           "websearch", "connect", "flagship");
    REFUSE("run your build before the deploy and point main at its output", "build");
    REFUSE("from the time of Service Workers; use assets, or import the file", "site", "wasm_modules",
           "text_blobs", "data_blobs");
    REFUSE("this is a Pages project: make it a Worker with assets", "pages_build_output_dir");
    REFUSE("Node's modules are there without it: take it out", "node_compat");
    REFUSE("not available in celld", "find_additional_modules", "base_dir", "preserve_file_names",
           "upload_source_maps", "first_party_worker", "exports");
    REFUSE("Python Workers are not supported", "python_modules");
    REFUSE("containers are not available in this version", "containers");
    REFUSE("environments are not available: use a project file for each", "env");
    REFUSE("secrets are not declared in the project file: use .dev.vars for celld dev", "secrets");
    REFUSE("every deploy sets exactly the vars of the project file", "keep_vars");
}

static void test_an_unknown_key_suggests_the_nearest_one(void **state)
{
    (void)state;
    REFUSE("unknown key; did you mean compatibility_date?", "compatibility-date", "compatibilitydate",
           "compatability_dates");
    REFUSE("unknown key; did you mean kv_namespaces?", "kv_namespace", "kv-namespaces", "k_namespaces");
    REFUSE("unknown key; did you mean main?", "mian", "Main", "mains");
    REFUSE("unknown key; did you mean dev?", "dew");
    REFUSE("unknown key", "compatibilit-dat", "compatibilty-daets", "entry", "VARS", "x", "vpc");
    rig_refused("\"\": 1, \"a b\\u001b\": 1",
                "wrangler.jsonc: unsupported configuration key(s): \"\", \"a b\\u001b\"\n"
                "wrangler.jsonc:1:67: \"\": unknown key\n"
                "wrangler.jsonc:1:74: \"a b\\u001b\": unknown key\n");
}

static void test_what_is_not_served_yet_is_named_with_its_line(void **state)
{
    (void)state;
    static const char *const members[] = {
        "assets\": {\"directory\": \"public\"}",
        "d1_databases\": [{\"binding\": \"A\", \"database_name\": \"a\"}]",
        "kv_namespaces\": [{\"binding\": \"A\", \"id\": \"a\"}]",
        "queues\": {\"producers\": [{\"binding\": \"A\", \"queue\": \"a\"}]}",
        "queues\": {\"consumers\": [{\"queue\": \"a\"}]}",
        "r2_buckets\": [{\"binding\": \"A\", \"bucket_name\": \"a\"}]",
        "workflows\": [{\"binding\": \"A\", \"name\": \"a\", \"class_name\": \"B\"}]",
        "worker_loaders\": [{\"binding\": \"A\"}]",
        "triggers\": {\"crons\": [\"* * * * *\"]}",
    };
    for (size_t i = 0; i < CD_COUNT(members); i++) {
        struct cd_buf member = {0}, want = {0}, got = {0};
        struct deploy_problems problems = {0};
        cd_buf_addf(&member, "\n  \"%s", members[i]);
        struct rig r = rig_accepted(cd_buf_cstr(&member));
        assert_int_equal(deploy_project_check_served(&r.project, &problems), CD_EUNSUPPORTED);
        deploy_problems_errors(&got, &problems);
        cd_buf_addf(&want, "wrangler.jsonc:2:3: %.*s: accepted, but not available in this version of celld\n",
                    (int)strcspn(members[i], "\""), members[i]);
        assert_string_equal(cd_buf_cstr(&got), cd_buf_cstr(&want));
        deploy_problems_deinit(&problems);
        rig_end(&r);
        cd_buf_deinit(&member);
        cd_buf_deinit(&want);
        cd_buf_deinit(&got);
    }
}

static void test_what_is_served_or_declares_nothing_passes(void **state)
{
    (void)state;
    struct deploy_problems problems = {0};
    struct rig r =
        rig_accepted("\"vars\": {\"A\": 1}, \"services\": [{\"binding\": \"B\", \"service\": \"b\"}],"
                     "\"define\": {\"C\": \"1\"}, \"alias\": {\"a\": \"b\"}, \"minify\": true,"
                     "\"rules\": [{\"type\": \"Text\", \"globs\": [\"*.md\"]}], \"$schema\": \"s\","
                     "\"durable_objects\": {\"bindings\": []}, \"migrations\": [], \"d1_databases\": [],"
                     "\"kv_namespaces\": [], \"queues\": {}, \"r2_buckets\": [], \"workflows\": [],"
                     "\"worker_loaders\": [], \"triggers\": {\"crons\": []}, \"keep_names\": true,"
                     "\"tsconfig\": \"t.json\", \"jsx_factory\": \"h\", \"jsx_fragment\": \"F\"");
    assert_int_equal(deploy_project_check_served(&r.project, &problems), 0);
    assert_null(problems.first);
    rig_end(&r);
    r = rig_accepted("\"no_bundle\": true");
    assert_int_equal(deploy_project_check_served(&r.project, &problems), 0);
    rig_end(&r);
    deploy_problems_deinit(&problems);
}

static void test_a_project_of_assets_alone_is_not_served_yet(void **state)
{
    (void)state;
    struct deploy_problems problems = {0};
    struct cd_buf got = {0};
    struct rig r = rig_jsonc("{\"name\": \"x\",\n\"assets\": {\"directory\": \"public\"}}");
    assert_int_equal(r.rc, 0);
    assert_string_equal(cd_buf_cstr(&r.warnings), "");
    assert_str_is(r.project.main, "");
    assert_int_equal(deploy_project_check_served(&r.project, &problems), CD_EUNSUPPORTED);
    deploy_problems_errors(&got, &problems);
    assert_string_equal(cd_buf_cstr(&got),
                        "wrangler.jsonc:2:1: assets: a project of static assets alone is accepted, "
                        "but not available in this version of celld\n");
    cd_buf_deinit(&got);
    deploy_problems_deinit(&problems);
    rig_end(&r);
}

CD_TESTS(keys, cmocka_unit_test(test_each_accepted_key_may_stand_alone),
         cmocka_unit_test(test_each_accepted_key_stands_in_the_documentation),
         cmocka_unit_test(test_keys_of_other_tools_are_ignored_with_a_note),
         cmocka_unit_test(test_each_refused_key_has_a_hint),
         cmocka_unit_test(test_an_unknown_key_suggests_the_nearest_one),
         cmocka_unit_test(test_what_is_not_served_yet_is_named_with_its_line),
         cmocka_unit_test(test_what_is_served_or_declares_nothing_passes),
         cmocka_unit_test(test_a_project_of_assets_alone_is_not_served_yet))
