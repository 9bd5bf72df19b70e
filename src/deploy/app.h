/* deploy/app.h: a deployment as a node loads it: modules, bindings, compatibility (config.md 5, 7, 8).
 *
 * deploy_load reads a pointer, its manifest and its modules, checks all of them, and returns a value that
 * never changes; the caller owns it and may hand it to other loops. Texts borrow from the app. */
#ifndef DEPLOY_APP_H
#define DEPLOY_APP_H

#include "base/arena.h"
#include "base/buf.h"

#define DEPLOY_VERSION_LEN 16 /* Hex digits. */
#define DEPLOY_SHA256_LEN 64 /* Hex digits. */
#define DEPLOY_SCRIPT_MAX 63
#define DEPLOY_BYTES_MAX (64u << 20) /* Of all modules of a script. */

struct io;
struct io_bucket;

enum deploy_module_kind {
    DEPLOY_MODULE_JS, /* An ES module. */
    DEPLOY_MODULE_WASM,
    DEPLOY_MODULE_TEXT,
    DEPLOY_MODULE_DATA,
    DEPLOY_MODULE_JSON,
};

struct deploy_module {
    struct cd_str name; /* "index.js", "add-3FQZ.wasm": what an import of it says, without "./". */
    enum deploy_module_kind kind;
    struct cd_buf bytes; /* owned */
    /* owned; a source map (version 3) of the bytes as JSON, without sourcesContent; empty: none is known. Of
     * the main module only, and only celld dev stores it. Its sources are relative to the project. */
    struct cd_buf source_map;
    char sha256[DEPLOY_SHA256_LEN + 1]; /* Of the bytes, for caches. */
    uint64_t size; /* Of the bytes, also before they are loaded; likewise those of the map: */
    char map_sha256[DEPLOY_SHA256_LEN + 1]; /* Empty: there is none. */
    uint64_t map_size;
};

/* In the order of config.md 5. The name of each in the manifest is in app.c. */
enum deploy_binding_kind {
    DEPLOY_DURABLE_OBJECT,
    DEPLOY_SERVICE,
    DEPLOY_PLAIN_TEXT,
    DEPLOY_JSON,
    DEPLOY_ASSETS,
    DEPLOY_D1,
    DEPLOY_KV,
    DEPLOY_QUEUE,
    DEPLOY_R2_BUCKET,
    DEPLOY_WORKFLOW,
    DEPLOY_WORKER_LOADER,
    DEPLOY_BINDING_KINDS
};

/* One member of env. */
struct deploy_binding {
    enum deploy_binding_kind kind;
    struct cd_str name; /* The key in env. */
    union {
        struct {
            struct cd_str class_name;
            struct cd_str script_name; /* Empty: of this script. */
        } durable_object;
        struct {
            struct cd_str service; /* A script's name; may be this script's own. */
            struct cd_str entrypoint; /* A named export; empty: the default one. */
        } service;
        struct cd_str text; /* plain_text */
        struct cd_str json; /* json: JSON text to be parsed afresh in each isolate. */
        struct {
            struct cd_str database_name, database_id; /* The id may be empty. */
        } d1;
        struct cd_str kv_id;
        struct {
            struct cd_str queue;
            uint64_t delivery_delay_s;
        } queue;
        struct cd_str bucket_name; /* r2_bucket */
        struct {
            struct cd_str workflow_name, class_name;
        } workflow;
    };
};

struct deploy_app {
    struct cd_arena arena; /* owned: the texts. */
    struct cd_str script;
    struct cd_str prefix; /* "deploy/<script>/<version>" */
    char version[DEPLOY_VERSION_LEN + 1];
    char manifest_sha256[DEPLOY_SHA256_LEN + 1];
    struct deploy_module *modules; /* owned; sorted by name */
    unsigned module_count;
    const struct deploy_module *main_module; /* In modules; NULL: assets alone. */
    struct deploy_binding *bindings; /* owned; names are unique. */
    unsigned binding_count;
    struct cd_str compatibility_date; /* "2026-01-31", or empty. */
    struct cd_str *compatibility_flags; /* owned; all that were given, known or not. */
    unsigned compatibility_flag_count;
    uint64_t
        compat; /* The switches of runtime.md 7: bit n is the n-th of enum deploy_switch, deploy/compat.h. */
    struct cd_str *do_classes, *sqlite_classes, *crons; /* owned */
    unsigned do_class_count, sqlite_class_count, cron_count;
};

/* In a fiber: loads the application of the fleet (script empty: deploy/current.json) or the script that a
 * service binding names (deploy/<script>/current.json). Nothing of it runs; targets of service bindings are
 * loaded by further calls. On success *out is the caller's.
 *
 * IO_NOENT: there is no such pointer. CD_ECORRUPT: bytes are not those that were published. CD_EUNSUPPORTED:
 * it needs a later celld. CD_EINVAL: it names what cannot be. Others: the store's. The reason, for people, is
 * in why, also for IO_NOENT. */
CD_MUST_USE int deploy_load(struct deploy_app **out, struct io *io, struct io_bucket *bucket,
                            struct cd_str script, struct cd_buf *why);
void deploy_app_free(struct deploy_app *a); /* NULL is fine. */

#endif
