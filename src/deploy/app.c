/* deploy/app.c: the names of things in a deployment. */
#include "deploy/app.h"

#include "deploy/app_internal.h"
#include "deploy/compat.h"

static const char *const binding_types[DEPLOY_BINDING_KINDS] = {
    [DEPLOY_DURABLE_OBJECT] = "durable_object_namespace",
    [DEPLOY_SERVICE] = "service",
    [DEPLOY_PLAIN_TEXT] = "plain_text",
    [DEPLOY_JSON] = "json",
    [DEPLOY_ASSETS] = "assets",
    [DEPLOY_D1] = "d1",
    [DEPLOY_KV] = "kv",
    [DEPLOY_QUEUE] = "queue",
    [DEPLOY_R2_BUCKET] = "r2_bucket",
    [DEPLOY_WORKFLOW] = "workflow",
    [DEPLOY_WORKER_LOADER] = "worker_loader",
};

static const char *const module_kinds[] = {
    [DEPLOY_MODULE_JS] = "", /* The manifest does not say it. */
    [DEPLOY_MODULE_WASM] = "wasm", [DEPLOY_MODULE_TEXT] = "text",
    [DEPLOY_MODULE_DATA] = "data", [DEPLOY_MODULE_JSON] = "json",
};

const char *deploy_binding_type(enum deploy_binding_kind kind)
{
    CD_ASSERT(kind < DEPLOY_BINDING_KINDS);
    return binding_types[kind];
}

bool deploy_binding_kind_named(struct cd_str type, enum deploy_binding_kind *out)
{
    for (unsigned i = 0; i < DEPLOY_BINDING_KINDS; i++) {
        if (cd_str_eq(type, cd_str(binding_types[i]))) {
            *out = (enum deploy_binding_kind)i;
            return true;
        }
    }
    return false;
}

const char *deploy_module_kind_name(enum deploy_module_kind kind)
{
    CD_ASSERT(kind < CD_COUNT(module_kinds));
    return module_kinds[kind];
}

bool deploy_module_kind_named(struct cd_str name, enum deploy_module_kind *out)
{
    for (unsigned i = 0; i < CD_COUNT(module_kinds); i++) {
        if (cd_str_eq(name, cd_str(module_kinds[i]))) {
            *out = (enum deploy_module_kind)i;
            return true;
        }
    }
    return false;
}

/* What a deployment may need that not every celld has (config.md 7.1), in the order of the manifest. Whoever
 * builds a part sets .here. */
static const struct deploy_feature features[] = {
    {"assets-v1", "static assets", DEPLOY_USES_BINDING(DEPLOY_ASSETS), false},
    {"cron-v1", "cron triggers", DEPLOY_USES_CRON, false},
    {"containers-v1", "containers", 0, false},
    {"d1-v1", "D1 databases", DEPLOY_USES_BINDING(DEPLOY_D1), false},
    {"workflows-v1", "workflows", DEPLOY_USES_BINDING(DEPLOY_WORKFLOW), false},
    {"kv-v1", "KV namespaces", DEPLOY_USES_BINDING(DEPLOY_KV), false},
    {"queues-v1", "queues", DEPLOY_USES_BINDING(DEPLOY_QUEUE) | DEPLOY_USES_CONSUMER, false},
    {"r2-v1", "R2 buckets", DEPLOY_USES_BINDING(DEPLOY_R2_BUCKET), false},
    {"sqlite-vec-v1", "the sqlite_vec flag", DEPLOY_USES_VEC, false},
    {"wasm-v1", "WebAssembly modules", DEPLOY_USES_WASM, true},
};

const struct deploy_feature *deploy_feature(size_t index)
{
    return index < CD_COUNT(features) ? &features[index] : NULL;
}

uint32_t deploy_app_uses(const struct deploy_app *a)
{
    uint32_t uses = a->cron_count > 0 ? DEPLOY_USES_CRON : 0;
    for (unsigned i = 0; i < a->binding_count; i++)
        uses |= DEPLOY_USES_BINDING(a->bindings[i].kind);
    for (unsigned i = 0; i < a->module_count; i++)
        uses |= a->modules[i].kind == DEPLOY_MODULE_WASM ? DEPLOY_USES_WASM : 0;
    if ((a->compat >> DEPLOY_SQLITE_VEC & 1) != 0)
        uses |= DEPLOY_USES_VEC;
    return uses;
}

const struct deploy_feature *deploy_app_lacks(const struct deploy_app *a)
{
    uint32_t uses = deploy_app_uses(a);
    for (size_t i = 0; i < CD_COUNT(features); i++) {
        if ((features[i].uses & uses) != 0 && !features[i].here)
            return &features[i];
    }
    return NULL;
}

bool deploy_module_name_ok(struct cd_str name)
{
    struct cd_str segment;
    if (name.len == 0 || name.len > DEPLOY_MODULE_NAME_MAX || !cd_str_is_utf8(name))
        return false;
    if (cd_str_eq(name, CD_STR("manifest.json")) || cd_str_eq(name, CD_STR("assets.json")))
        return false; /* Other objects have these keys. */
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f || name.ptr[i] == '\\')
            return false;
    }
    while (cd_str_next(&name, '/', &segment)) {
        if (segment.len == 0 || cd_str_eq(segment, CD_STR(".")) || cd_str_eq(segment, CD_STR("..")))
            return false;
    }
    return true;
}

void deploy_app_free(struct deploy_app *a)
{
    if (a == NULL)
        return;
    for (unsigned i = 0; i < a->module_count; i++) {
        cd_buf_deinit(&a->modules[i].bytes);
        cd_buf_deinit(&a->modules[i].source_map);
    }
    cd_free(a->modules);
    cd_free(a->bindings);
    cd_free(a->compatibility_flags);
    cd_free(a->do_classes);
    cd_free(a->sqlite_classes);
    cd_free(a->crons);
    cd_arena_deinit(&a->arena);
    cd_free(a);
}
