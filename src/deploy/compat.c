/* deploy/compat.c: the compatibility switches that celld honours (runtime.md 7). */
#include "deploy/app.h"

struct compat_switch {
    const char *name, *opposite; /* opposite may be NULL. */
    const char *since; /* The date from which it holds by itself; NULL: by its flag alone. */
};

static const struct compat_switch switches[DEPLOY_COMPAT_COUNT] = {
    [DEPLOY_COMPAT_DELETE_ALL_DELETES_ALARM] = {"delete_all_deletes_alarm", "delete_all_preserves_alarm",
                                                "2026-02-24"},
    [DEPLOY_COMPAT_FETCHER_NO_GET_PUT_DELETE] = {"fetcher_no_get_put_delete", "fetcher_has_get_put_delete",
                                                 "2024-03-26"},
    [DEPLOY_COMPAT_JS_RPC] = {"js_rpc", NULL, NULL},
    [DEPLOY_COMPAT_WEBSOCKET_STANDARD_BINARY_TYPE] = {"websocket_standard_binary_type",
                                                      "no_websocket_standard_binary_type", "2026-03-17"},
    [DEPLOY_COMPAT_WEB_SOCKET_AUTO_REPLY_TO_CLOSE] = {"web_socket_auto_reply_to_close",
                                                      "web_socket_manual_reply_to_close", "2026-04-07"},
    [DEPLOY_COMPAT_QUEUES_JSON_MESSAGES] = {"queues_json_messages", "no_queues_json_messages", "2024-03-18"},
    [DEPLOY_COMPAT_ASSETS_NAVIGATION_PREFERS_ASSET_SERVING] = {"assets_navigation_prefers_asset_serving",
                                                               "assets_navigation_has_no_effect",
                                                               "2025-04-01"},
    [DEPLOY_COMPAT_RPC_PARAMS_DUP_STUBS] = {"rpc_params_dup_stubs", "rpc_params_transfer_stubs",
                                            "2026-01-20"},
    [DEPLOY_COMPAT_ENHANCED_ERROR_SERIALIZATION] = {"enhanced_error_serialization",
                                                    "legacy_error_serialization", "2026-04-21"},
    [DEPLOY_COMPAT_NODEJS_COMPAT_POPULATE_PROCESS_ENV] = {"nodejs_compat_populate_process_env",
                                                          "nodejs_compat_do_not_populate_process_env",
                                                          "2025-04-01"},
    [DEPLOY_COMPAT_WORKFLOWS_PRESERVE_NON_RETRYABLE_ERROR_MESSAGE] =
        {"workflows_preserve_non_retryable_error_message", NULL, "2026-05-14"},
    [DEPLOY_COMPAT_SQLITE_VEC] = {"sqlite_vec", NULL, NULL},
};

CD_STATIC_ASSERT(DEPLOY_COMPAT_COUNT <= 64, "the switches are bits of one word");

const char *deploy_compat_name(enum deploy_compat what)
{
    CD_ASSERT(what < DEPLOY_COMPAT_COUNT);
    return switches[what].name;
}

const char *deploy_compat_opposite(enum deploy_compat what)
{
    CD_ASSERT(what < DEPLOY_COMPAT_COUNT);
    return switches[what].opposite;
}

static bool has_flag(const struct cd_str *flags, unsigned count, const char *name)
{
    for (unsigned i = 0; name != NULL && i < count; i++) {
        if (cd_str_eq(flags[i], cd_str(name)))
            return true;
    }
    return false;
}

int deploy_compat_resolve(struct cd_str date, const struct cd_str *flags, unsigned count, uint64_t *out,
                          struct cd_buf *why)
{
    uint64_t on = 0;
    for (unsigned i = 0; i < DEPLOY_COMPAT_COUNT; i++) {
        const struct compat_switch *s = &switches[i];
        bool yes = has_flag(flags, count, s->name), no = has_flag(flags, count, s->opposite);
        if (yes && no) {
            cd_buf_addf(why, "compatibility_flags: \"%s\" and \"%s\" contradict each other; keep one",
                        s->name, s->opposite);
            return CD_EINVAL;
        }
        /* Dates of this form are ordered like their texts; the empty one is the oldest. */
        bool by_date = s->since != NULL && cd_str_cmp(date, cd_str(s->since)) >= 0;
        if (yes || (by_date && !no))
            on |= UINT64_C(1) << i;
    }
    *out = on;
    return 0;
}
