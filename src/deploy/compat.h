/* deploy/compat.h: compatibility dates and flags (runtime.md 7). Pure.
 *
 * A switch is a behaviour that celld has in two forms. Its name as a flag turns it on, its opposite turns it
 * off, and without either the date decides. All other published flags are known by name and have no effect
 * here: celld behaves the modern way whatever the date. */
#ifndef DEPLOY_COMPAT_H
#define DEPLOY_COMPAT_H

#include "base/str.h"

/* enum, flag, opposite (NULL: none), date from which it is on (NULL: by flag only) */
#define DEPLOY_SWITCHES(X)                                                                                   \
    X(DEPLOY_DELETE_ALL_DELETES_ALARM, "delete_all_deletes_alarm", "delete_all_preserves_alarm",             \
      "2026-02-24")                                                                                          \
    X(DEPLOY_FETCHER_NO_GET_PUT_DELETE, "fetcher_no_get_put_delete", "fetcher_has_get_put_delete",           \
      "2024-03-26")                                                                                          \
    X(DEPLOY_JS_RPC, "js_rpc", NULL, NULL)                                                                   \
    X(DEPLOY_WEBSOCKET_BLOBS, "websocket_standard_binary_type", "no_websocket_standard_binary_type",         \
      "2026-03-17")                                                                                          \
    X(DEPLOY_WEBSOCKET_CLOSE_REPLY, "web_socket_auto_reply_to_close", "web_socket_manual_reply_to_close",    \
      "2026-04-07")                                                                                          \
    X(DEPLOY_QUEUES_JSON, "queues_json_messages", "no_queues_json_messages", "2024-03-18")                   \
    X(DEPLOY_ASSETS_NAVIGATION, "assets_navigation_prefers_asset_serving",                                   \
      "assets_navigation_has_no_effect", "2025-04-01")                                                       \
    X(DEPLOY_RPC_DUP_STUBS, "rpc_params_dup_stubs", "rpc_params_transfer_stubs", "2026-01-20")               \
    X(DEPLOY_ENHANCED_ERRORS, "enhanced_error_serialization", "legacy_error_serialization", "2026-04-21")    \
    X(DEPLOY_PROCESS_ENV, "nodejs_compat_populate_process_env", "nodejs_compat_do_not_populate_process_env", \
      "2025-04-01")                                                                                          \
    X(DEPLOY_WORKFLOW_ERROR_TEXT, "workflows_preserve_non_retryable_error_message",                          \
      "workflows_replace_non_retryable_error_message", "2026-05-14")                                         \
    X(DEPLOY_SQLITE_VEC, "sqlite_vec", NULL, NULL)

enum deploy_switch {
#define X(name, flag, opposite, date) name,
    DEPLOY_SWITCHES(X)
#undef X
        DEPLOY_SWITCH_COUNT
};
const char *deploy_switch_name(enum deploy_switch which);

/* Dates later than this get a warning: nobody has looked yet at what they change. */
#define DEPLOY_COMPAT_NEWEST "2026-11-17"

/* What a project asks for. */
struct deploy_compat {
    struct cd_str date; /* YYYY-MM-DD; empty: none given, the oldest behaviour of every switch. */
    struct cd_str *flag; /* In the order of the file, known or not, each once. */
    size_t flags;
    uint64_t on; /* Bit n: switch n is on. */
};
static inline bool deploy_compat_has(const struct deploy_compat *c, enum deploy_switch which)
{
    return (c->on >> which & 1) != 0;
}

bool deploy_date_is_real(struct cd_str date); /* YYYY-MM-DD of a day that exists. */

enum deploy_flag_kind {
    DEPLOY_FLAG_UNKNOWN, /* On no list: likely misspelt. */
    DEPLOY_FLAG_KNOWN, /* Published; no effect in celld. */
    DEPLOY_FLAG_SWITCH /* Turns a switch on or off. */
};
enum deploy_flag_kind deploy_flag_kind(struct cd_str flag);
/* The flag that says the contrary, NULL when there is none. Of known flags too. */
const char *deploy_flag_opposite(struct cd_str flag);
/* Sets c->on from the rest of c. No flag may stand beside its opposite. */
void deploy_compat_decide(struct deploy_compat *c);

#endif
