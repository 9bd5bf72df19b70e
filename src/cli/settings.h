/* cli/settings.h: the one table of everything celld reads from its environment (operations.md 2), and its
 * values.
 *
 * The environment is read once, into struct cli_settings; later code asks that and never the environment.
 * --help, validation and docs/settings.md all come from the table. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "base/buf.h"

/* The listeners of a node, unless something else is said. */
#define CLI_LISTEN_DEFAULT "127.0.0.1:8080"
#define CLI_INTERNAL_DEFAULT "127.0.0.1:0"

/* In the order of operations.md 2, which is the order of help and of messages. */
enum cli_set {
    /* Identity, listeners, storage */
    CLI_SET_BUCKET,
    CLI_SET_ENDPOINT,
    CLI_SET_REGION,
    CLI_SET_DEFAULT_REGION,
    CLI_SET_ADDR,
    CLI_SET_INTERNAL_ADDR,
    CLI_SET_ADVERTISE,
    CLI_SET_UNSAFE_PUBLIC_ADVERTISE,
    CLI_SET_TRUST_FORWARDED_HEADERS,
    CLI_SET_NODE,
    CLI_SET_WATCH,
    CLI_SET_THREADS,
    CLI_SET_LOG,
    CLI_SET_LOG_FORMAT,
    /* Admission, capacity, memory */
    CLI_SET_ACTIVATIONS,
    CLI_SET_MAX_RESIDENT_CELLS,
    CLI_SET_MAX_CELL_REQUESTS,
    CLI_SET_MAX_REQUESTS,
    CLI_SET_ADMISSION_WAIT_MS,
    CLI_SET_MAX_STATELESS_ISOLATES,
    CLI_SET_MAX_CELLS_PER_ISOLATE,
    CLI_SET_HEAP_LIMIT_MB,
    CLI_SET_MAX_RSS_MB,
    CLI_SET_PRESSURE_OWNERSHIP,
    CLI_SET_IDLE_EVICT_S,
    CLI_SET_MAX_OUTBOUND_WEBSOCKETS,
    CLI_SET_MAX_REQUEST_BODY_BYTES,
    CLI_SET_MAX_DYNAMIC_WORKER_CODE_BYTES,
    CLI_SET_FETCH_TIMEOUT_S,
    CLI_SET_HANDLER_BUDGET_S,
    CLI_SET_ALARM_RESIDENT_MS,
    CLI_SET_WAKER_TICK_MS,
    CLI_SET_LOCAL_CACHE_MAX_BYTES,
    CLI_SET_VERIFY_LOCAL,
    CLI_SET_ASSET_CACHE_BYTES,
    CLI_SET_ASSET_CACHE_DIR,
    /* Ownership, timing, shutdown, placement */
    CLI_SET_TTL_MS,
    CLI_SET_OPERATION_DEADLINE_MS,
    CLI_SET_RELEASES,
    CLI_SET_SHUTDOWN_TOTAL_MS,
    CLI_SET_READY_FLEET_GATE_MS,
    CLI_SET_PLACEMENT_WEIGHT,
    CLI_SET_REBALANCE_INTERVAL_MS,
    CLI_SET_RECOVERY_RETRY_MS,
    CLI_SET_RECOVERY_RETRIES,
    CLI_SET_DEPLOY_POLL_S,
    CLI_SET_DEPLOY_MAX_AGE_S,
    /* Durability, log, replication */
    CLI_SET_DURABILITY,
    CLI_SET_LOG_PIPELINE,
    CLI_SET_LOG_FLUSH_MS,
    CLI_SET_LOG_HEDGE_MS,
    CLI_SET_LOG_TRANSPORT,
    CLI_SET_LOG_WINDOW,
    CLI_SET_LOG_WINDOW_BYTES,
    CLI_SET_LOG_FOLD_MS,
    CLI_SET_LOG_EVICT_BUDGET_MS,
    CLI_SET_LOG_EVICT_SUSTAIN_MS,
    CLI_SET_LOG_EVICT_BACKSTOP_MS,
    CLI_SET_LOG_EVICT_QUARANTINE_MS,
    CLI_SET_LTX_DURABILITY_TIMEOUT_SECS,
    CLI_SET_LTX_COMPACTION,
    CLI_SET_LTX_COMPACTIONS,
    CLI_SET_LTX_COMPACTION_MIN_TXIDS,
    CLI_SET_LTX_COMPACTION_MIN_MB,
    CLI_SET_LTX_TRUNCATE_PAGES,
    CLI_SET_LTX_PAGED,
    CLI_SET_LTX_PAGED_MIN_MB,
    CLI_SET_LTX_HYDRATE_MBPS,
    CLI_SET_LTX_RETENTION_SECS,
    CLI_SET_S3_ETAG_MODE,
    /* Deploy and development */
    CLI_SET_ESBUILD,
    CLI_SET_MAX_ASSET_FILE_BYTES,
    CLI_SET_DOCKER,
    CLI_SET_CONTAINER_PLATFORM,
    CLI_SET_NO_COLOR,
    CLI_SET_FORCE_COLOR,
    CLI_SET_INTERNAL_DEV_STORE,
    CLI_SET_VERSION,
    /* Telemetry */
    CLI_SET_OTEL,
    CLI_SET_OTEL_BUCKET,
    CLI_SET_OTEL_RETENTION,
    CLI_SET_OTEL_FLUSH_MS,
    CLI_SET_OTEL_FLUSH_BYTES,
    CLI_SET_OTEL_SAMPLER,
    CLI_SET_OTEL_SAMPLER_ARG,
    CLI_SET_OTEL_HEADERS,
    CLI_SET_OTEL_TIMEOUT,
    CLI_SET_OTEL_SERVICE_NAME,
    /* Bucket credentials */
    CLI_SET_AWS_ACCESS_KEY_ID,
    CLI_SET_AWS_SECRET_ACCESS_KEY,
    CLI_SET_AWS_SESSION_TOKEN,
    CLI_SET_AWS_WEB_IDENTITY_TOKEN_FILE,
    CLI_SET_AWS_ROLE_ARN,
    CLI_SET_AWS_ROLE_SESSION_NAME,
    CLI_SET_AWS_CONTAINER_FULL_URI,
    CLI_SET_AWS_CONTAINER_RELATIVE_URI,
    CLI_SET_AWS_CONTAINER_TOKEN,
    CLI_SET_AWS_CONTAINER_TOKEN_FILE,
    CLI_SET_GOOGLE_KEY,
    CLI_SET_GOOGLE_CREDENTIALS,
    CLI_SET_AZURE_ACCOUNT_NAME,
    CLI_SET_AZURE_ACCOUNT_KEY,
    CLI_SET_AZURE_CLIENT_ID,
    CLI_SET_AZURE_OBJECT_ID,
    CLI_SET_AZURE_MSI_RESOURCE_ID,
    CLI_SET_AZURE_AUTHORITY_HOST,
    CLI_SET_AZURE_TENANT_ID,
    CLI_SET_AZURE_FEDERATED_TOKEN_FILE,
    CLI_SET_AZURE_USE_EMULATOR,
    CLI_SET_COUNT
};

enum cli_kind {
    CLI_BOOL, /* 0 or 1. */
    CLI_UINT, /* min..max; an empty value is an error. */
    CLI_CHOICE, /* One word of choices. */
    CLI_TEXT, /* Not empty. */
    CLI_OPTIONAL, /* Any text; empty or blank counts as unset. Commands check those that mirror a flag. */
    CLI_NODE_ID, /* A node-session ID. */
    CLI_FILTER, /* A log filter, operations.md 7.2. */
    CLI_OTEL, /* 0, 1 or an http(s) URL. */
    CLI_RETENTION, /* <n>d or none. */
    CLI_RATIO, /* 0..1 with decimals; num is in millionths. */
    CLI_PAIRS, /* k=v,k=v; values percent-encoded. */
    CLI_PRESENCE /* Set with any value, even empty. */
};

enum cli_group {
    CLI_GROUP_NODE,
    CLI_GROUP_CAPACITY,
    CLI_GROUP_OWNERSHIP,
    CLI_GROUP_DURABILITY,
    CLI_GROUP_DEPLOY,
    CLI_GROUP_TELEMETRY,
    CLI_GROUP_CREDENTIALS,
    CLI_GROUP_COUNT
};

struct cli_setting {
    const char *name;
    const char *alias; /* Another name for it, or NULL. */
    const char *flag; /* The flag it mirrors, or NULL. */
    const char *type; /* For people, when the kind does not say it: "path", "URL". */
    enum cli_kind kind;
    enum cli_group group;
    uint64_t min, max, fallback; /* Of CLI_BOOL and CLI_UINT. */
    const char *otherwise; /* What holds when it is unset, for people; NULL: fallback says it. */
    const char *choices; /* Of CLI_CHOICE: "release|sticky". */
    const char *wanted; /* Of CLI_CHOICE, in messages: "release or sticky". */
    const char *help;
    const char *part; /* The part of celld it steers. */
    bool secret; /* Its value is never shown. */
    bool hidden; /* Not in help. */
    bool effective; /* False: accepted and checked, but the part it steers is not built yet. */
};

const struct cli_setting *cli_setting(enum cli_set id);
const char *cli_group_title(enum cli_group group);

struct cli_value {
    bool set;
    const char *name; /* The variable it came from: the name or the alias. */
    struct cd_str text; /* Borrowed from the environment. */
    uint64_t num; /* Of numbers: the value, or fallback when unset. */
};

struct cli_settings {
    struct cli_value value[CLI_SET_COUNT];
};

/* The value of NAME=value in env (ending with NULL), the first if there are several. False: it is not there.
 */
bool cli_env_get(const char *const *env, const char *name, struct cd_str *value);

/* Reads and checks all settings in the order of operations.md 2.1. Each failure is a line in errors, the
 * first one first. CD_EINVAL when there is one. */
CD_MUST_USE int cli_settings_read(struct cli_settings *s, const char *const *env, struct cd_buf *errors);

static inline uint64_t cli_num(const struct cli_settings *s, enum cli_set id)
{
    return s->value[id].num;
}

static inline bool cli_is_set(const struct cli_settings *s, enum cli_set id)
{
    return s->value[id].set;
}

/* Names of env that start with CELLD_ and are in no table, each with the known name that it is probably meant
 * to be (NULL: none is near). */
void cli_settings_unknown(const char *const *env,
                          void (*each)(void *arg, struct cd_str name, const char *near), void *arg);

/* Removed variables (operations.md 2.8). NULL at the end of the table. */
struct cli_removed {
    const char *name;
    const char *advice;
};
const struct cli_removed *cli_removed(size_t index);
#define CLI_REMOVED_PREFIX "CELLD_VAR_"

#endif
