#include "rig.h"

static void test_what_is_wrong_with_vars_is_said(void **state)
{
    (void)state;
    rig_refused("\"vars\": []", "wrangler.jsonc:1:75: vars: must be an object, not an array\n");
    rig_refused("\"vars\": {\"1A\": 1}",
                "wrangler.jsonc:1:82: vars.1A: the name of a variable must be 1 to 128 of A-Z, a-z, 0-9, _ "
                "and $, not starting with a digit\n");
    rig_refused(
        "\"vars\": {\"A\": null}",
        "wrangler.jsonc:1:81: vars.A: null is no value of a variable: give it a value or take it out\n");
    rig_refused(
        "\"vars\": {\"A\": 1, \"A B\": 2}",
        "wrangler.jsonc:1:91: vars.\"A B\": the name of a variable must be 1 to 128 of A-Z, a-z, 0-9, "
        "_ and $, not starting with a digit\n");
}

static void test_what_is_wrong_with_services_is_said(void **state)
{
    (void)state;
    rig_refused("\"services\": {}", "wrangler.jsonc:1:79: services: must be an array, not an object\n");
    rig_refused("\"services\": [1]", "wrangler.jsonc:1:80: services[0]: must be an object, not a number\n");
    rig_refused("\"services\": [{}]", "wrangler.jsonc:1:80: services[0].binding: required\n"
                                      "wrangler.jsonc:1:80: services[0].service: required\n");
    rig_refused("\"services\": [{\"binding\": \"A\", \"service\": \"Other\"}]",
                "wrangler.jsonc:1:108: services[0].service: must be 1 to 63 of a-z, 0-9 and -, with no - at "
                "either end; found \"Other\"\n");
    rig_refused("\"services\": [{\"binding\": \"A-B\", \"service\": \"other\", \"entrypoint\": \"x y\"}]",
                "wrangler.jsonc:1:92: services[0].binding: must be 1 to 128 of A-Z, a-z, 0-9, _ and $, not "
                "starting with a digit; found \"A-B\"\n"
                "wrangler.jsonc:1:133: services[0].entrypoint: must be the name of a class: 1 to 190 of A-Z, "
                "a-z, 0-9, _ and $, not starting with a digit; found \"x y\"\n");
    rig_refused(
        "\"services\": [{\"binding\": \"A\", \"service\": \"other\", \"props\": {}, \"remote\": true, "
        "\"environment\": \"e\", \"entry\": 1}]",
        "wrangler.jsonc: unsupported configuration key(s): services[0].props, services[0].remote, "
        "services[0].environment, services[0].entry\n"
        "wrangler.jsonc:1:117: services[0].props: props of a service binding are not available\n"
        "wrangler.jsonc:1:130: services[0].remote: remote bindings are not available: all services "
        "run in this fleet\n"
        "wrangler.jsonc:1:146: services[0].environment: environments are not available\n"
        "wrangler.jsonc:1:166: services[0].entry: unknown key\n");
}

static void test_a_name_is_bound_once_over_all_kinds(void **state)
{
    (void)state;
    rig_refused("\"services\": [{\"binding\": \"A\", \"service\": \"other\"}, {\"binding\": \"A\", "
                "\"service\": \"other\"}]",
                "wrangler.jsonc:1:130: services[1].binding: the name A is taken twice: by a service here, by "
                "a service in line 1\n");
    rig_refused("\"vars\": {\"A\": 1}, \"kv_namespaces\": [{\"binding\": \"A\", \"id\": \"a\"}]",
                "wrangler.jsonc:1:115: kv_namespaces[0].binding: the name A is taken twice: by a KV "
                "namespace here, by a variable in line 1\n");
    rig_refused("\"assets\": {\"directory\": \"d\", \"binding\": \"A\"}, \"vars\": {\"A\": 1}",
                "wrangler.jsonc:1:127: vars.A: the name A is taken twice: by a variable here, by the static "
                "assets in line 1\n");
}

static void test_what_is_wrong_with_durable_objects_is_said(void **state)
{
    (void)state;
    rig_refused("\"durable_objects\": []",
                "wrangler.jsonc:1:86: durable_objects: must be an object, not an array\n");
    rig_refused("\"durable_objects\": {}", "wrangler.jsonc:1:86: durable_objects.bindings: required\n");
    rig_refused("\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"B\"}], \"x\": 1}",
                "wrangler.jsonc: unsupported configuration key(s): durable_objects.x\n"
                "wrangler.jsonc:1:135: durable_objects.x: unknown key\n");
    rig_refused("\"durable_objects\": {\"bindings\": [{}]}",
                "wrangler.jsonc:1:100: durable_objects.bindings[0].name: required\n"
                "wrangler.jsonc:1:100: durable_objects.bindings[0].class_name: required\n");
    rig_refused("\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"a-b\"}]}",
                "wrangler.jsonc:1:128: durable_objects.bindings[0].class_name: must be the name of a class: "
                "1 to 190 of A-Z, a-z, 0-9, _ and $, not starting with a digit; found \"a-b\"\n");
    rig_refused(
        "\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"__KV\"}, {\"name\": \"B\", "
        "\"class_name\": \"__Workflow.x\"}, {\"name\": \"C\", \"class_name\": \".cron\"}]}",
        "wrangler.jsonc:1:128: durable_objects.bindings[0].class_name: must be a class of your own: "
        "celld supplies this one itself; found \"__KV\"\n"
        "wrangler.jsonc:1:165: durable_objects.bindings[1].class_name: must be a class of your own: "
        "celld supplies this one itself; found \"__Workflow.x\"\n"
        "wrangler.jsonc:1:210: durable_objects.bindings[2].class_name: must be a class of your own: "
        "celld supplies this one itself; found \".cron\"\n");
    rig_refused("\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"B\", "
                "\"script_name\": \"other\"}]}",
                "wrangler.jsonc:1:148: durable_objects.bindings[0].script_name: a class of another script "
                "cannot be bound yet: leave it out or give this script's name\n");
    rig_refused(
        "\"durable_objects\": {\"bindings\": [{\"name\": \"A\", \"class_name\": \"B\", \"script_name\": 1, "
        "\"environment\": \"x\"}]}",
        "wrangler.jsonc: unsupported configuration key(s): durable_objects.bindings[0].environment\n"
        "wrangler.jsonc:1:148: durable_objects.bindings[0].script_name: must be a string, not a "
        "number\n"
        "wrangler.jsonc:1:151: durable_objects.bindings[0].environment: environments are not "
        "available\n");
}

static void test_what_is_wrong_with_migrations_is_said(void **state)
{
    (void)state;
    rig_refused("\"migrations\": {}", "wrangler.jsonc:1:81: migrations: must be an array, not an object\n");
    rig_refused("\"migrations\": [{}]", "wrangler.jsonc:1:82: migrations[0].tag: required\n");
    rig_refused("\"migrations\": [{\"tag\": \"\"}]",
                "wrangler.jsonc:1:90: migrations[0].tag: must be a text, not empty and without NUL\n");
    rig_refused("\"migrations\": [{\"tag\": \"v1\", \"new_sqlite_classes\": \"A\"}]",
                "wrangler.jsonc:1:118: migrations[0].new_sqlite_classes: must be an array, not a string\n");
    rig_refused(
        "\"migrations\": [{\"tag\": \"v1\", \"new_sqlite_classes\": [\"A\", \"A\"]}, {\"tag\": \"v1\", "
        "\"new_sqlite_classes\": [\"A\", 1, \"__Queue\"]}]",
        "wrangler.jsonc:1:124: migrations[0].new_sqlite_classes[1]: this class is introduced twice\n"
        "wrangler.jsonc:1:139: migrations[1].tag: this tag is given twice\n"
        "wrangler.jsonc:1:168: migrations[1].new_sqlite_classes[0]: this class is introduced twice\n"
        "wrangler.jsonc:1:173: migrations[1].new_sqlite_classes[1]: must be a string, not a number\n"
        "wrangler.jsonc:1:176: migrations[1].new_sqlite_classes[2]: must be a class of your own: "
        "celld supplies this one itself; found \"__Queue\"\n");
    rig_refused(
        "\"migrations\": [{\"tag\": \"v1\", \"new_sqlite_classes\": [\"A\"], \"new_classes\": [\"A\"]}]",
        "wrangler.jsonc:1:141: migrations[0].new_classes[0]: this class is introduced twice\n");
    rig_refused("\"migrations\": [{\"tag\": \"v1\", \"renamed_classes\": [], "
                "\"deleted_classes\": "
                "[], \"transferred_classes\": []}]",
                "wrangler.jsonc: unsupported configuration key(s): migrations[0].renamed_classes, "
                "migrations[0].deleted_classes, migrations[0].transferred_classes\n"
                "wrangler.jsonc:1:96: migrations[0].renamed_classes: this changes stored state, which no "
                "deploy does: it needs a procedure of the operator\n"
                "wrangler.jsonc:1:119: migrations[0].deleted_classes: this changes stored state, which no "
                "deploy does: it needs a procedure of the operator\n"
                "wrangler.jsonc:1:142: migrations[0].transferred_classes: this changes stored state, which "
                "no deploy does: it needs a procedure of the operator\n");
}

static void test_what_is_wrong_with_workflows_is_said(void **state)
{
    (void)state;
    rig_refused("\"workflows\": [{}]", "wrangler.jsonc:1:81: workflows[0].name: required\n"
                                       "wrangler.jsonc:1:81: workflows[0].binding: required\n"
                                       "wrangler.jsonc:1:81: workflows[0].class_name: required\n");
    rig_refused("\"workflows\": [{\"name\": \"-a\", \"binding\": \"A\", \"class_name\": \"B\"}]",
                "wrangler.jsonc:1:90: workflows[0].name: must be 1 to 64 of A-Z, a-z, 0-9, _ and -, not "
                "starting with -; found \"-a\"\n");
    rig_refused("\"workflows\": [{\"name\": \"a\", \"binding\": \"A\", \"class_name\": \"B\", "
                "\"script_name\": \"y\", "
                "\"schedules\": [], \"limits\": {}}]",
                "wrangler.jsonc: unsupported configuration key(s): workflows[0].schedules, "
                "workflows[0].limits\n"
                "wrangler.jsonc:1:145: workflows[0].script_name: a workflow of another script cannot be "
                "bound yet: leave it out or give this script's name\n"
                "wrangler.jsonc:1:150: workflows[0].schedules: schedules are not available: use "
                "triggers.crons and create instances there\n"
                "wrangler.jsonc:1:167: workflows[0].limits: limits of workflows are not set here\n");
    rig_refused("\"workflows\": [{\"name\": \"a\", \"binding\": \"A\", \"class_name\": \"B\"}, {\"name\": "
                "\"a\", \"binding\": "
                "\"C\", \"class_name\": \"B\"}]",
                "wrangler.jsonc:1:140: workflows[1].name: this workflow is declared twice\n");
}

static void test_what_is_wrong_with_worker_loaders_is_said(void **state)
{
    (void)state;
    rig_refused("\"worker_loaders\": [{}]", "wrangler.jsonc:1:86: worker_loaders[0].binding: required\n");
    rig_refused("\"worker_loaders\": [{\"binding\": \"A\", \"limits\": {}, \"tails\": [], "
                "\"allowExperimental\": true, "
                "\"x\": 1}]",
                "wrangler.jsonc: unsupported configuration key(s): worker_loaders[0].limits, "
                "worker_loaders[0].tails, worker_loaders[0].allowExperimental, worker_loaders[0].x\n"
                "wrangler.jsonc:1:103: worker_loaders[0].limits: limits are given to each Worker that is "
                "loaded\n"
                "wrangler.jsonc:1:117: worker_loaders[0].tails: tails are given to each Worker that is "
                "loaded\n"
                "wrangler.jsonc:1:130: worker_loaders[0].allowExperimental: experimental features cannot be "
                "allowed\n"
                "wrangler.jsonc:1:157: worker_loaders[0].x: unknown key\n");
}

static void test_vars_arrive_with_their_types(void **state)
{
    (void)state;
    struct rig r = rig_accepted("\"vars\": {\"S\": \"a\\u0000b\", \"E\": \"\", \"N\": -1.50, \"B\": false, "
                                "\"A\": [ 1, null ], \"O\": {\"z\": {}, \"a\": \"\\n\"}, \"$_1\": 0}");
    static const struct {
        const char *name, *value;
        bool json;
    } want[] = {{"$_1", "0", true}, {"A", "[1,null]", true}, {"B", "false", true},
                {"E", "", false},   {"N", "-1.50", true},    {"O", "{\"z\":{},\"a\":\"\\n\"}", true},
                {"S", "a", false}};
    assert_int_equal(r.project.vars, CD_COUNT(want));
    for (size_t i = 0; i < CD_COUNT(want); i++) {
        const struct deploy_var *v = &r.project.var[i];
        assert_str_is(v->name, want[i].name);
        assert_int_equal(v->json, want[i].json);
        assert_string_equal(v->value.ptr, want[i].value); /* Of S: up to its NUL. */
        assert_false(v->dev);
    }
    assert_int_equal(r.project.var[6].value.len, 3);
    assert_memory_equal(r.project.var[6].value.ptr, "a\0b", 3);
    rig_end(&r);
}

static void test_services_durable_objects_and_workflows_are_read(void **state)
{
    (void)state;
    struct rig r =
        rig_accepted("\"services\": [{\"binding\": \"A\", \"service\": \"a\"},"
                     "  {\"binding\": \"B\", \"service\": \"b-2\", \"entrypoint\": \"Admin\"},"
                     "  {\"binding\": \"C\", \"service\": \"x\", \"entrypoint\": \"default\"}],"
                     "\"durable_objects\": {\"bindings\": [{\"name\": \"D\", \"class_name\": \"Room\"},"
                     "  {\"name\": \"E\", \"class_name\": \"$Hall_1\", \"script_name\": \"x\"}]},"
                     "\"migrations\": [{\"tag\": \"v1\", \"new_sqlite_classes\": [\"Room\", \"$Hall_1\"]}, "
                     "{\"tag\": \"v2\"}],"
                     "\"workflows\": [{\"name\": \"_w-1\", \"binding\": \"F\", \"class_name\": \"W\", "
                     "\"script_name\": \"x\"}],"
                     "\"worker_loaders\": [{\"binding\": \"G\"}]");
    const struct deploy_project *p = &r.project;
    assert_int_equal(p->services, 3);
    assert_str_is(p->service[0].service, "a");
    assert_str_is(p->service[0].entrypoint, "");
    assert_str_is(p->service[1].binding, "B");
    assert_str_is(p->service[1].entrypoint, "Admin");
    assert_str_is(p->service[2].entrypoint, "");
    assert_int_equal(p->durables, 2);
    assert_str_is(p->durable[1].binding, "E");
    assert_str_is(p->durable[1].class_name, "$Hall_1");
    assert_int_equal(p->migrations, 2);
    assert_str_is(p->migration[0].tag, "v1");
    assert_int_equal(p->migration[0].sqlite_classes, 2);
    assert_str_is(p->migration[0].sqlite_class[0], "Room");
    assert_int_equal(p->migration[1].sqlite_classes, 0);
    assert_int_equal(p->workflows, 1);
    assert_str_is(p->workflow[0].name, "_w-1");
    assert_str_is(p->workflow[0].class_name, "W");
    assert_int_equal(p->worker_loaders, 1);
    assert_str_is(p->worker_loader[0].binding, "G");
    rig_end(&r);
}

CD_TESTS(check_bindings, cmocka_unit_test(test_what_is_wrong_with_vars_is_said),
         cmocka_unit_test(test_what_is_wrong_with_services_is_said),
         cmocka_unit_test(test_a_name_is_bound_once_over_all_kinds),
         cmocka_unit_test(test_what_is_wrong_with_durable_objects_is_said),
         cmocka_unit_test(test_what_is_wrong_with_migrations_is_said),
         cmocka_unit_test(test_what_is_wrong_with_workflows_is_said),
         cmocka_unit_test(test_what_is_wrong_with_worker_loaders_is_said),
         cmocka_unit_test(test_vars_arrive_with_their_types),
         cmocka_unit_test(test_services_durable_objects_and_workflows_are_read))
