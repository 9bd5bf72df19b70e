#include "rig.h"

static void test_what_is_wrong_with_d1_is_said(void **state)
{
    (void)state;
    rig_refused("\"d1_databases\": [{}]", "wrangler.jsonc:1:84: d1_databases[0].binding: required\n"
                                          "wrangler.jsonc:1:84: d1_databases[0].database_name: required\n");
    rig_refused("\"d1_databases\": [{\"binding\": \"A\", \"database_name\": \"\", \"database_id\": 1}]",
                "wrangler.jsonc:1:118: d1_databases[0].database_name: must be 1 to 1024 bytes without NUL; "
                "found \"\"\n"
                "wrangler.jsonc:1:137: d1_databases[0].database_id: must be a string, not a number\n");
    rig_refused("\"d1_databases\": [{\"binding\": \"A\", \"database_name\": \"a\", \"database_id\": \"\", "
                "\"migrations_dir\": \"../m\", \"migrations_table\": \"a b\"}]",
                "wrangler.jsonc:1:138: d1_databases[0].database_id: must be 1 to 1024 bytes without NUL; "
                "found \"\"\n"
                "wrangler.jsonc:1:160: d1_databases[0].migrations_dir: must be a path inside the project, "
                "without ..; found \"../m\"\n"
                "wrangler.jsonc:1:188: d1_databases[0].migrations_table: must be 1 to 128 of A-Z, a-z, 0-9 "
                "and _, not starting with a digit; found \"a b\"\n");
    rig_refused(
        "\"d1_databases\": [{\"binding\": \"A\", \"database_name\": \"a\", \"migrations_pattern\": \"*\", "
        "\"remote\": true}]",
        "wrangler.jsonc: unsupported configuration key(s): d1_databases[0].migrations_pattern, "
        "d1_databases[0].remote\n"
        "wrangler.jsonc:1:123: d1_databases[0].migrations_pattern: migrations are the files of "
        "migrations_dir that start with a number\n"
        "wrangler.jsonc:1:150: d1_databases[0].remote: remote bindings are not available: all "
        "services run in this fleet\n");
}

static void test_what_is_wrong_with_kv_is_said(void **state)
{
    (void)state;
    rig_refused("\"kv_namespaces\": [{}]", "wrangler.jsonc:1:85: kv_namespaces[0].binding: required\n"
                                           "wrangler.jsonc:1:85: kv_namespaces[0].id: required\n");
    rig_refused("\"kv_namespaces\": [{\"binding\": \"A\", \"id\": \"a b\"}]",
                "wrangler.jsonc:1:108: kv_namespaces[0].id: must be 1 to 250 of A-Z, a-z, 0-9, _ . : $ and "
                "-, but not . or ..; found \"a b\"\n");
    rig_refused("\"kv_namespaces\": [{\"binding\": \"A\", \"id\": \"..\"}]",
                "wrangler.jsonc:1:108: kv_namespaces[0].id: must be 1 to 250 of A-Z, a-z, 0-9, _ . : $ and "
                "-, but not . or ..; found \"..\"\n");
    rig_refused("\"kv_namespaces\": [{\"binding\": \"A\", \"id\": \"a\", \"remote\": true}]",
                "wrangler.jsonc: unsupported configuration key(s): kv_namespaces[0].remote\n"
                "wrangler.jsonc:1:113: kv_namespaces[0].remote: remote bindings are not available: all "
                "services run in this fleet\n");
    rig_refused(
        "\"kv_namespaces\": [{\"binding\": \"A\", \"id\": \"a\"}, {\"binding\": \"B\", \"id\": \"a\"}]",
        "wrangler.jsonc:1:137: kv_namespaces[1].id: this namespace is bound twice\n");
}

static void test_what_is_wrong_with_r2_is_said(void **state)
{
    (void)state;
    rig_refused("\"r2_buckets\": [{}]", "wrangler.jsonc:1:82: r2_buckets[0].binding: required\n"
                                        "wrangler.jsonc:1:82: r2_buckets[0].bucket_name: required\n");
    rig_refused("\"r2_buckets\": [{\"binding\": \"A\", \"bucket_name\": \"-a\", \"jurisdiction\": \"eu\"}]",
                "wrangler.jsonc: unsupported configuration key(s): r2_buckets[0].jurisdiction\n"
                "wrangler.jsonc:1:114: r2_buckets[0].bucket_name: must be 1 to 64 of A-Z, a-z, 0-9, _ and -, "
                "not starting with -; found \"-a\"\n"
                "wrangler.jsonc:1:120: r2_buckets[0].jurisdiction: jurisdictions are not available: the "
                "bucket of the fleet decides\n");
    rig_refused("\"r2_buckets\": [{\"binding\": \"A\", \"bucket_name\": \"a\"}, {\"binding\": \"B\", "
                "\"bucket_name\": \"a\"}]",
                "wrangler.jsonc:1:152: r2_buckets[1].bucket_name: this bucket is bound twice\n");
}

static void test_what_is_wrong_with_queues_is_said(void **state)
{
    (void)state;
    rig_refused("\"queues\": []", "wrangler.jsonc:1:77: queues: must be an object, not an array\n");
    rig_refused("\"queues\": {\"producer\": []}",
                "wrangler.jsonc: unsupported configuration key(s): queues.producer\n"
                "wrangler.jsonc:1:78: queues.producer: unknown key; did you mean producers?\n");
    rig_refused("\"queues\": {\"producers\": [{}], \"consumers\": [{}]}",
                "wrangler.jsonc:1:92: queues.producers[0].binding: required\n"
                "wrangler.jsonc:1:92: queues.producers[0].queue: required\n"
                "wrangler.jsonc:1:111: queues.consumers[0].queue: required\n");
    rig_refused(
        "\"queues\": {\"producers\": [{\"binding\": \"A\", \"queue\": \"a\", \"delivery_delay\": 86401}]}",
        "wrangler.jsonc:1:141: queues.producers[0].delivery_delay: must be a whole number from 0 to "
        "86400; found 86401\n");
    rig_refused(
        "\"queues\": {\"producers\": [{\"binding\": \"A\", \"queue\": \"a\", \"delivery_delay\": \"1\"}]}",
        "wrangler.jsonc:1:141: queues.producers[0].delivery_delay: must be a number, not a string\n");
    rig_refused("\"queues\": {\"producers\": [{\"binding\": \"A\", \"queue\": \"a/b\", \"remote\": true}]}",
                "wrangler.jsonc: unsupported configuration key(s): queues.producers[0].remote\n"
                "wrangler.jsonc:1:118: queues.producers[0].queue: must be 1 to 247 of A-Z, a-z, 0-9, _ . : $ "
                "and -, but not . or ..; found \"a/b\"\n"
                "wrangler.jsonc:1:125: queues.producers[0].remote: remote bindings are not available: all "
                "services run in this fleet\n");
    rig_refused(
        "\"queues\": {\"consumers\": [{\"queue\": \"a\", \"max_batch_size\": 0, \"max_batch_timeout\": 61, "
        "\"max_retries\": 101, \"max_concurrency\": 251, \"retry_delay\": 86401}]}",
        "wrangler.jsonc:1:125: queues.consumers[0].max_batch_size: must be a whole number from 1 to "
        "100; found 0\n"
        "wrangler.jsonc:1:149: queues.consumers[0].max_batch_timeout: must be a whole number from 0 "
        "to 60; found 61\n"
        "wrangler.jsonc:1:168: queues.consumers[0].max_retries: must be a whole number from 0 to "
        "100; found 101\n"
        "wrangler.jsonc:1:192: queues.consumers[0].max_concurrency: must be a whole number from 1 to "
        "250; found 251\n"
        "wrangler.jsonc:1:212: queues.consumers[0].retry_delay: must be a whole number from 0 to "
        "86400; found 86401\n");
    rig_refused(
        "\"queues\": {\"consumers\": [{\"queue\": \"a\", \"max_batch_size\": 1.5, \"max_batch_timeout\": -1, "
        "\"max_retries\": null, \"max_concurrency\": 0}]}",
        "wrangler.jsonc:1:125: queues.consumers[0].max_batch_size: must be a whole number from 1 to "
        "100; found 1.5\n"
        "wrangler.jsonc:1:151: queues.consumers[0].max_batch_timeout: must be a whole number from 0 "
        "to 60; found -1\n"
        "wrangler.jsonc:1:170: queues.consumers[0].max_retries: must be a number, not null\n"
        "wrangler.jsonc:1:195: queues.consumers[0].max_concurrency: must be a whole number from 1 to "
        "250; found 0\n");
    rig_refused("\"queues\": {\"consumers\": [{\"queue\": \"a\", \"dead_letter_queue\": \"a\"}]}",
                "wrangler.jsonc:1:128: queues.consumers[0].dead_letter_queue: a queue cannot be its own dead "
                "letter queue\n");
    rig_refused("\"queues\": {\"consumers\": [{\"queue\": \"a\", \"type\": \"http_pull\", "
                "\"visibility_timeout_ms\": 1, "
                "\"script_name\": \"x\"}]}",
                "wrangler.jsonc: unsupported configuration key(s): queues.consumers[0].type, "
                "queues.consumers[0].visibility_timeout_ms, queues.consumers[0].script_name\n"
                "wrangler.jsonc:1:107: queues.consumers[0].type: there are no pull consumers: celld calls "
                "the queue() handler of this script\n"
                "wrangler.jsonc:1:128: queues.consumers[0].visibility_timeout_ms: there are no pull "
                "consumers: celld calls the queue() handler of this script\n"
                "wrangler.jsonc:1:156: queues.consumers[0].script_name: a script consumes for itself only\n");
    rig_refused("\"queues\": {\"consumers\": [{\"queue\": \"a\"}, {\"queue\": \"a\"}]}",
                "wrangler.jsonc:1:118: queues.consumers[1].queue: this queue has a consumer already\n");
}

static void test_databases_namespaces_and_buckets_are_read(void **state)
{
    (void)state;
    struct rig r =
        rig_accepted("\"d1_databases\": [{\"binding\": \"A\", \"database_name\": \"my db \\u00e4\"},"
                     "  {\"binding\": \"B\", \"database_name\": \"b\", \"database_id\": \"0-1\", "
                     "\"preview_database_id\": \"p\","
                     "   \"migrations_dir\": \"./sql/up/\", \"migrations_table\": \"_done\"}],"
                     "\"kv_namespaces\": [{\"binding\": \"C\", \"id\": \"a.b:c$-_\", \"preview_id\": \"p\"}],"
                     "\"r2_buckets\": [{\"binding\": \"D\", \"bucket_name\": \"_files-1\", "
                     "\"preview_bucket_name\": \"p\"}]");
    const struct deploy_project *p = &r.project;
    assert_int_equal(p->d1s, 2);
    assert_str_is(p->d1[0].database_name, "my db \xc3\xa4");
    assert_str_is(p->d1[0].database_id, "");
    assert_str_is(p->d1[0].identity, "my db \xc3\xa4");
    assert_str_is(p->d1[0].migrations_dir, "migrations");
    assert_str_is(p->d1[0].migrations_table, "d1_migrations");
    assert_str_is(p->d1[1].database_name, "b");
    assert_str_is(p->d1[1].identity, "0-1");
    assert_str_is(p->d1[1].migrations_dir, "sql/up");
    assert_str_is(p->d1[1].migrations_table, "_done");
    assert_int_equal(p->kvs, 1);
    assert_str_is(p->kv[0].binding, "C");
    assert_str_is(p->kv[0].id, "a.b:c$-_");
    assert_int_equal(p->r2s, 1);
    assert_str_is(p->r2[0].bucket_name, "_files-1");
    rig_end(&r);
}

static void test_queues_have_their_defaults_and_limits(void **state)
{
    (void)state;
    struct rig r = rig_accepted("\"queues\": {\"producers\": [{\"binding\": \"A\", \"queue\": \"a\"},"
                                "  {\"binding\": \"B\", \"queue\": \"a\", \"delivery_delay\": 0}],"
                                " \"consumers\": [{\"queue\": \"a\"}, {\"queue\": \"b\", \"max_batch_size\": "
                                "100, \"max_batch_timeout\": 0,"
                                "  \"max_retries\": 0, \"dead_letter_queue\": \"a\", \"max_concurrency\": 1, "
                                "\"retry_delay\": 86400}]}");
    const struct deploy_project *p = &r.project;
    assert_int_equal(p->producers, 2);
    assert_true(p->producer[0].delivery_delay_s == DEPLOY_UNSET);
    assert_str_is(p->producer[1].queue, "a");
    assert_int_equal(p->producer[1].delivery_delay_s, 0);
    assert_int_equal(p->consumers, 2);
    const struct deploy_consumer *a = &p->consumer[0], *b = &p->consumer[1];
    assert_int_equal(a->max_batch_size, 10);
    assert_int_equal(a->max_batch_timeout_s, 5);
    assert_int_equal(a->max_retries, 3);
    assert_str_is(a->dead_letter_queue, "");
    assert_true(a->max_concurrency == DEPLOY_UNSET && a->retry_delay_s == DEPLOY_UNSET);
    assert_int_equal(b->max_batch_size, 100);
    assert_int_equal(b->max_batch_timeout_s, 0);
    assert_int_equal(b->max_retries, 0);
    assert_str_is(b->dead_letter_queue, "a");
    assert_int_equal(b->max_concurrency, 1);
    assert_int_equal(b->retry_delay_s, 86400);
    rig_end(&r);
}

CD_TESTS(check_stores, cmocka_unit_test(test_what_is_wrong_with_d1_is_said),
         cmocka_unit_test(test_what_is_wrong_with_kv_is_said),
         cmocka_unit_test(test_what_is_wrong_with_r2_is_said),
         cmocka_unit_test(test_what_is_wrong_with_queues_is_said),
         cmocka_unit_test(test_databases_namespaces_and_buckets_are_read),
         cmocka_unit_test(test_queues_have_their_defaults_and_limits))
