/* cli/generation.c: from a deployment to what a worker runs. */
#include "cli/generation.h"

#include "base/json.h"
#include "deploy/compat.h"

static const char *const kinds[] = {[DEPLOY_SERVICE] = "service",
                                    [DEPLOY_PLAIN_TEXT] = "plain_text",
                                    [DEPLOY_JSON] = "json",
                                    [DEPLOY_DURABLE_OBJECT] = "durable_object"};

/* One binding for the prelude (runtime/bindings.js). CD_EUNSUPPORTED for kinds that nothing serves yet. */
static int binding_add(struct cd_json_out *o, const struct deploy_binding *b, struct cd_buf *why)
{
    if ((size_t)b->kind >= CD_COUNT(kinds) || kinds[b->kind] == NULL) {
        cd_buf_addf(why, "binding \"%.*s\": its type is not available in this version of celld",
                    (int)b->name.len, b->name.ptr);
        return CD_EUNSUPPORTED;
    }
    cd_json_out_object(o);
    cd_json_out_key(o, "type");
    cd_json_out_str(o, cd_str(kinds[b->kind]));
    cd_json_out_key(o, "name");
    cd_json_out_str(o, b->name);
    if (b->kind == DEPLOY_SERVICE) {
        cd_json_out_key(o, "service");
        cd_json_out_str(o, b->service.service);
        cd_json_out_key(o, "entrypoint");
        cd_json_out_str(o, b->service.entrypoint);
    } else if (b->kind == DEPLOY_DURABLE_OBJECT) {
        cd_json_out_key(o, "class");
        cd_json_out_str(o, b->durable_object.class_name);
        cd_json_out_key(o, "script"); /* Empty: its own. */
        cd_json_out_str(o, b->durable_object.script_name);
    } else {
        cd_json_out_key(o, "text");
        cd_json_out_str(o, b->kind == DEPLOY_JSON ? b->json : b->text);
    }
    cd_json_out_end(o, '}');
    return 0;
}

static int config_make(struct cd_buf *out, const struct deploy_app *app, const struct cli_limits *limits,
                       struct cd_buf *why)
{
    struct cd_json_out o;
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "script");
    cd_json_out_str(&o, app->script);
    cd_json_out_key(&o, "handlerBudgetMs");
    cd_json_out_u64(&o, limits->handler_budget_s * 1000);
    cd_json_out_key(&o, "fetchTimeoutMs");
    cd_json_out_u64(&o, limits->fetch_timeout_s * 1000);
    cd_json_out_key(&o, "flags");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < DEPLOY_SWITCH_COUNT; i++) {
        if ((app->compat >> i & 1) != 0)
            cd_json_out_str(&o, cd_str(deploy_switch_name((enum deploy_switch)i)));
    }
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "sqliteClasses");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < app->sqlite_class_count; i++)
        cd_json_out_str(&o, app->sqlite_classes[i]);
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "bindings");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < app->binding_count; i++) {
        int rc = binding_add(&o, &app->bindings[i], why);
        if (rc != 0)
            return rc;
    }
    cd_json_out_end(&o, ']');
    cd_json_out_end(&o, '}');
    return 0;
}

static enum js_module_kind module_kind(enum deploy_module_kind kind)
{
    switch (kind) {
    case DEPLOY_MODULE_JS: return JS_MODULE_ESM;
    case DEPLOY_MODULE_WASM: return JS_MODULE_WASM;
    case DEPLOY_MODULE_TEXT: return JS_MODULE_TEXT;
    case DEPLOY_MODULE_DATA: return JS_MODULE_DATA;
    case DEPLOY_MODULE_JSON: return JS_MODULE_JSON;
    }
    CD_UNREACHABLE();
}

/* Takes app over. */
static int script_add(struct cli_generation *g, struct deploy_app *app, struct cd_buf *why)
{
    unsigned i = g->count++;
    g->app[i] = app;
    if (app->main_module == NULL) {
        cd_buf_addf(why, "\"%.*s\" has static assets alone, which this version of celld does not serve yet",
                    (int)app->script.len, app->script.ptr);
        return CD_EUNSUPPORTED;
    }
    int rc = config_make(&g->config[i], app, &g->limits, why);
    if (rc != 0)
        return rc;
    struct js_bundle_module *module = cd_alloc(sizeof(*module) * app->module_count);
    for (unsigned m = 0; m < app->module_count; m++)
        module[m] = (struct js_bundle_module){.name = app->modules[m].name,
                                              .kind = module_kind(app->modules[m].kind),
                                              .bytes = cd_buf_str(&app->modules[m].bytes),
                                              .source_map = cd_buf_str(&app->modules[m].source_map)};
    g->bundle[i] = (struct js_bundle){.script = app->script,
                                      .module = module,
                                      .count = app->module_count,
                                      .main = (unsigned)(app->main_module - app->modules),
                                      .config = cd_buf_str(&g->config[i])};
    return 0;
}

static bool has(const struct cli_generation *g, struct cd_str script)
{
    for (unsigned i = 0; i < g->count; i++) {
        if (cd_str_eq(g->app[i]->script, script))
            return true;
    }
    return false;
}

/* The other script that a binding leads to; empty: none. */
static struct cd_str target_of(const struct deploy_binding *b)
{
    if (b->kind == DEPLOY_SERVICE)
        return b->service.service;
    return b->kind == DEPLOY_DURABLE_OBJECT ? b->durable_object.script_name : (struct cd_str){0};
}

/* Loads what the scripts bind until nothing is missing: the list grows while it is walked. */
static int targets_load(struct cli_generation *g, struct io *io, struct io_bucket *bucket, struct cd_buf *why)
{
    for (unsigned i = 0; i < g->count; i++) {
        const struct deploy_app *app = g->app[i];
        for (unsigned b = 0; b < app->binding_count; b++) {
            struct cd_str target = target_of(&app->bindings[b]);
            if (target.len == 0 || has(g, target))
                continue;
            if (g->count == CLI_SCRIPTS_MAX) {
                cd_buf_addf(why, "more than %d scripts bind each other", CLI_SCRIPTS_MAX);
                return CD_ETOOBIG;
            }
            struct deploy_app *loaded;
            struct cd_buf reason = {0};
            int rc = deploy_load(&loaded, io, bucket, target, &reason);
            if (rc == 0)
                rc = script_add(g, loaded, &reason);
            if (rc == IO_NOENT)
                cd_buf_addf(
                    why,
                    "binding \"%.*s\" of \"%.*s\": there is no service \"%.*s\"; deploy the project of "
                    "that name first, or give it to celld dev, too (-c PROJECT)",
                    (int)app->bindings[b].name.len, app->bindings[b].name.ptr, (int)app->script.len,
                    app->script.ptr, (int)target.len, target.ptr);
            else if (rc != 0)
                cd_buf_addf(why, "binding \"%.*s\" of \"%.*s\": service \"%.*s\": %s",
                            (int)app->bindings[b].name.len, app->bindings[b].name.ptr, (int)app->script.len,
                            app->script.ptr, (int)target.len, target.ptr, cd_buf_cstr(&reason));
            cd_buf_deinit(&reason);
            if (rc != 0)
                return rc == IO_NOENT ? CD_EINVAL : rc; /* IO_NOENT says that nothing was deployed at all. */
        }
    }
    return 0;
}

int cli_generation_load(struct cli_generation **out, struct io *io, struct io_bucket *bucket,
                        const struct cli_limits *limits, struct cd_buf *why)
{
    struct deploy_app *app;
    *out = NULL;
    int rc = deploy_load(&app, io, bucket, (struct cd_str){0}, why);
    if (rc != 0)
        return rc;
    struct cli_generation *g = cd_new(struct cli_generation);
    g->limits = *limits;
    rc = script_add(g, app, why);
    if (rc == 0)
        rc = targets_load(g, io, bucket, why);
    if (rc == 0)
        *out = g;
    else
        cli_generation_free(g);
    return rc;
}

void cli_generation_free(struct cli_generation *g)
{
    if (g == NULL)
        return;
    for (unsigned i = 0; i < g->count; i++) {
        struct js_bundle_module *module = (struct js_bundle_module *)(uintptr_t)g->bundle[i].module;
        cd_free(module);
        cd_buf_deinit(&g->config[i]);
        deploy_app_free(g->app[i]);
    }
    cd_free(g);
}

bool cli_generation_has_cells(const struct cli_generation *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        if (g->app[i]->do_class_count > 0)
            return true;
    }
    return false;
}
