#include "rig.h"

#include "deploy/compat_flags.h"

static uint64_t decide(const char *date, const char *a, const char *b)
{
    struct cd_str flags[2] = {cd_str(a), cd_str(b)};
    struct deploy_compat c = {.date = cd_str(date),
                              .flag = flags,
                              .flags = a == NULL   ? 0
                                       : b == NULL ? 1
                                                   : 2};
    deploy_compat_decide(&c);
    return c.on;
}

/* The contract with user code: names, opposites and dates of runtime.md 7. */
static const struct {
    enum deploy_switch which;
    const char *flag, *opposite, *date;
} table[] = {
    {DEPLOY_DELETE_ALL_DELETES_ALARM, "delete_all_deletes_alarm", "delete_all_preserves_alarm", "2026-02-24"},
    {DEPLOY_FETCHER_NO_GET_PUT_DELETE, "fetcher_no_get_put_delete", "fetcher_has_get_put_delete",
     "2024-03-26"},
    {DEPLOY_JS_RPC, "js_rpc", NULL, NULL},
    {DEPLOY_WEBSOCKET_BLOBS, "websocket_standard_binary_type", "no_websocket_standard_binary_type",
     "2026-03-17"},
    {DEPLOY_WEBSOCKET_CLOSE_REPLY, "web_socket_auto_reply_to_close", "web_socket_manual_reply_to_close",
     "2026-04-07"},
    {DEPLOY_QUEUES_JSON, "queues_json_messages", "no_queues_json_messages", "2024-03-18"},
    {DEPLOY_ASSETS_NAVIGATION, "assets_navigation_prefers_asset_serving", "assets_navigation_has_no_effect",
     "2025-04-01"},
    {DEPLOY_RPC_DUP_STUBS, "rpc_params_dup_stubs", "rpc_params_transfer_stubs", "2026-01-20"},
    {DEPLOY_ENHANCED_ERRORS, "enhanced_error_serialization", "legacy_error_serialization", "2026-04-21"},
    {DEPLOY_PROCESS_ENV, "nodejs_compat_populate_process_env", "nodejs_compat_do_not_populate_process_env",
     "2025-04-01"},
    {DEPLOY_WORKFLOW_ERROR_TEXT, "workflows_preserve_non_retryable_error_message",
     "workflows_replace_non_retryable_error_message", "2026-05-14"},
    {DEPLOY_SQLITE_VEC, "sqlite_vec", NULL, NULL},
};

static void test_a_switch_is_on_from_its_date_or_by_its_flag(void **state)
{
    (void)state;
    assert_int_equal(CD_COUNT(table), DEPLOY_SWITCH_COUNT);
    for (size_t i = 0; i < CD_COUNT(table); i++) {
        uint64_t bit = UINT64_C(1) << table[i].which;
        assert_string_equal(deploy_switch_name(table[i].which), table[i].flag);
        assert_true((decide("2021-01-01", table[i].flag, NULL) & bit) != 0);
        assert_true((decide("", table[i].flag, "nodejs_compat") & bit) != 0);
        assert_true((decide("", NULL, NULL) & bit) == 0);
        assert_true((decide("2999-01-01", NULL, NULL) & bit) == (table[i].date != NULL ? bit : 0));
        assert_int_equal(deploy_flag_kind(cd_str(table[i].flag)), DEPLOY_FLAG_SWITCH);
        if (table[i].date != NULL) {
            char before[11];
            (void)snprintf(before, sizeof before, "%s", table[i].date);
            before[9]--; /* A text that sorts right before the date. */
            assert_true((decide(table[i].date, NULL, NULL) & bit) != 0);
            assert_true((decide(before, NULL, NULL) & bit) == 0);
        }
        if (table[i].opposite == NULL) {
            assert_null(deploy_flag_opposite(cd_str(table[i].flag)));
            continue;
        }
        assert_true((decide("2999-01-01", "x", table[i].opposite) & bit) == 0);
        assert_int_equal(deploy_flag_kind(cd_str(table[i].opposite)), DEPLOY_FLAG_SWITCH);
        assert_string_equal(deploy_flag_opposite(cd_str(table[i].flag)), table[i].opposite);
        assert_string_equal(deploy_flag_opposite(cd_str(table[i].opposite)), table[i].flag);
    }
}

static void test_a_flag_touches_its_own_switch_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < CD_COUNT(table); i++)
        assert_true(decide("", table[i].flag, NULL) == UINT64_C(1) << table[i].which);
    assert_true(decide("", "nodejs_compat", "no_such_flag") == 0);
}

static void test_published_flags_are_known_and_sorted_and_stand_once(void **state)
{
    (void)state;
    struct cd_map seen = {0};
    assert_true(deploy_known_flag_count > 150);
    for (size_t i = 0; i < deploy_known_flag_count; i++) {
        const struct deploy_known_flag *k = &deploy_known_flags[i];
        if (i > 0)
            assert_true(strcmp(deploy_known_flags[i - 1].flag, k->flag) < 0);
        assert_int_equal(deploy_flag_kind(cd_str(k->flag)), DEPLOY_FLAG_KNOWN); /* No switch. */
        assert_null(cd_map_put(&seen, cd_str(k->flag), &seen));
        if (k->opposite == NULL)
            continue;
        assert_int_equal(deploy_flag_kind(cd_str(k->opposite)), DEPLOY_FLAG_KNOWN);
        assert_string_equal(deploy_flag_opposite(cd_str(k->opposite)), k->flag);
        assert_null(cd_map_put(&seen, cd_str(k->opposite), &seen));
    }
    cd_map_deinit(&seen);
    static const char *const some[] = {
        "nodejs_compat", "nodejs_compat_v2",        "nodejs_als",
        "rpc",           "python_workers",          "global_fetch_strictly_public",
        "experimental",  "python_workers_20250116", "url_standard"};
    for (size_t i = 0; i < CD_COUNT(some); i++)
        assert_int_equal(deploy_flag_kind(cd_str(some[i])), DEPLOY_FLAG_KNOWN);
    assert_int_equal(deploy_flag_kind(CD_STR("nodejs_compta")), DEPLOY_FLAG_UNKNOWN);
    assert_int_equal(deploy_flag_kind(CD_STR("")), DEPLOY_FLAG_UNKNOWN);
    assert_null(deploy_flag_opposite(CD_STR("nodejs_compta")));
}

static void test_a_date_is_one_of_the_calendar(void **state)
{
    (void)state;
    static const char *const good[] = {"2021-11-02", "2024-02-29", "2000-02-29", "9999-12-31", "0001-01-01"};
    static const char *const bad[] = {
        "",          "2023-02-29", "1900-02-29", "2024-13-01",  "2024-00-10", "2024-01-00", "2024-04-31",
        "2024-1-01", "2024/01/01", "20240101",   "2024-01-01 ", "2024-01-0a", "+024-01-01", "2024-01-011"};
    for (size_t i = 0; i < CD_COUNT(good); i++)
        assert_true(deploy_date_is_real(cd_str(good[i])));
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_false(deploy_date_is_real(cd_str(bad[i])));
    assert_true(deploy_date_is_real(CD_STR(DEPLOY_COMPAT_NEWEST)));
}

static void test_a_flag_on_no_list_gets_a_warning_and_no_effect(void **state)
{
    (void)state;
    struct rig r =
        rig_jsonc("{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2021-01-01\",\n"
                  "  \"compatibility_flags\": [\"js_rpc\", \"nodejs_compta\", \"nodejs_compat\"]}");
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.project.compat.flags, 3);
    assert_true(r.project.compat.on == UINT64_C(1) << DEPLOY_JS_RPC);
    assert_string_equal(cd_buf_cstr(&r.warnings),
                        "wrangler.jsonc:2:37: warning: compatibility_flags[1]: no flag that "
                        "celld knows: it has no effect; is it misspelt?\n");
    rig_end(&r);
}

CD_TESTS(compat, cmocka_unit_test(test_a_switch_is_on_from_its_date_or_by_its_flag),
         cmocka_unit_test(test_a_flag_touches_its_own_switch_alone),
         cmocka_unit_test(test_published_flags_are_known_and_sorted_and_stand_once),
         cmocka_unit_test(test_a_date_is_one_of_the_calendar),
         cmocka_unit_test(test_a_flag_on_no_list_gets_a_warning_and_no_effect))
