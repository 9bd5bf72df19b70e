/* Compatibility dates and flags become switches. */
#include "deploy/app.h"
#include "support/test.h"

static uint64_t resolve(const char *date, const char *flag, const char *other)
{
    struct cd_str flags[2];
    unsigned count = 0;
    uint64_t on = 0;
    struct cd_buf why = {0};
    if (flag != NULL)
        flags[count++] = cd_str(flag);
    if (other != NULL)
        flags[count++] = cd_str(other);
    assert_int_equal(deploy_compat_resolve(cd_str(date), flags, count, &on, &why), 0);
    assert_int_equal(why.len, 0);
    return on;
}

static bool has(uint64_t on, enum deploy_compat what)
{
    return (on >> what & 1) != 0;
}

static void test_a_date_turns_on_what_is_not_younger(void **state)
{
    (void)state;
    assert_int_equal(resolve("", NULL, NULL), 0);
    assert_false(has(resolve("2024-03-17", NULL, NULL), DEPLOY_COMPAT_QUEUES_JSON_MESSAGES));
    assert_true(has(resolve("2024-03-18", NULL, NULL), DEPLOY_COMPAT_QUEUES_JSON_MESSAGES));
    uint64_t late = resolve("2026-12-31", NULL, NULL);
    for (unsigned i = 0; i < DEPLOY_COMPAT_COUNT; i++)
        assert_int_equal(has(late, (enum deploy_compat)i),
                         i != DEPLOY_COMPAT_JS_RPC && i != DEPLOY_COMPAT_SQLITE_VEC);
}

static void test_flags_beat_the_date(void **state)
{
    (void)state;
    assert_true(has(resolve("", "rpc_params_dup_stubs", NULL), DEPLOY_COMPAT_RPC_PARAMS_DUP_STUBS));
    assert_false(
        has(resolve("2026-12-31", "rpc_params_transfer_stubs", NULL), DEPLOY_COMPAT_RPC_PARAMS_DUP_STUBS));
    assert_true(has(resolve("", "nodejs_compat", "js_rpc"), DEPLOY_COMPAT_JS_RPC));
}

static void test_a_flag_and_its_opposite_contradict_each_other(void **state)
{
    struct cd_str flags[] = {CD_STR("rpc_params_transfer_stubs"), CD_STR("rpc_params_dup_stubs")};
    struct cd_buf why = {0};
    uint64_t on = 7;
    (void)state;
    assert_int_equal(deploy_compat_resolve(CD_STR("2026-01-01"), flags, 2, &on, &why), CD_EINVAL);
    assert_int_equal(on, 7);
    assert_str_is(cd_buf_str(&why), "compatibility_flags: \"rpc_params_dup_stubs\" and "
                                    "\"rpc_params_transfer_stubs\" contradict each other; keep one");
    cd_buf_deinit(&why);
}

CD_TESTS(compat, cmocka_unit_test(test_a_date_turns_on_what_is_not_younger),
         cmocka_unit_test(test_flags_beat_the_date),
         cmocka_unit_test(test_a_flag_and_its_opposite_contradict_each_other))
