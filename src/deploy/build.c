/* deploy/build.c: the app of a project. */
#include "deploy/build.h"

/* A list of texts that grows. */
static void text_add(struct deploy_app *a, struct cd_str **list, unsigned *count, struct cd_str text)
{
    for (unsigned i = 0; i < *count; i++) {
        if (cd_str_eq((*list)[i], text))
            return;
    }
    *list = cd_realloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = cd_arena_copy(&a->arena, text);
}

static struct deploy_binding *binding_add(struct deploy_app *a, struct cd_str name,
                                          enum deploy_binding_kind kind)
{
    a->bindings = cd_realloc(a->bindings, (a->binding_count + 1) * sizeof *a->bindings);
    struct deploy_binding *b = &a->bindings[a->binding_count++];
    *b = (struct deploy_binding){.kind = kind, .name = cd_arena_copy(&a->arena, name)};
    return b;
}

static struct cd_str copy(struct deploy_app *a, struct cd_str text)
{
    return text.len == 0 ? text : cd_arena_copy(&a->arena, text);
}

static void vars_add(struct deploy_app *a, const struct deploy_project *p, bool json)
{
    for (size_t i = 0; i < p->vars; i++) {
        const struct deploy_var *v = &p->var[i];
        if (v->json != json)
            continue;
        struct deploy_binding *b = binding_add(a, v->name, json ? DEPLOY_JSON : DEPLOY_PLAIN_TEXT);
        if (json)
            b->json = copy(a, v->value);
        else
            b->text = copy(a, v->value);
    }
}

static void stores_add(struct deploy_app *a, const struct deploy_project *p)
{
    for (size_t i = 0; i < p->d1s; i++) {
        struct deploy_binding *b = binding_add(a, p->d1[i].binding, DEPLOY_D1);
        b->d1.database_name = copy(a, p->d1[i].database_name);
        b->d1.database_id = copy(a, p->d1[i].database_id);
    }
    for (size_t i = 0; i < p->kvs; i++)
        binding_add(a, p->kv[i].binding, DEPLOY_KV)->kv_id = copy(a, p->kv[i].id);
    for (size_t i = 0; i < p->producers; i++) {
        const struct deploy_producer *q = &p->producer[i];
        struct deploy_binding *b = binding_add(a, q->binding, DEPLOY_QUEUE);
        b->queue.queue = copy(a, q->queue);
        b->queue.delivery_delay_s = q->delivery_delay_s == DEPLOY_UNSET ? 0 : q->delivery_delay_s;
    }
    for (size_t i = 0; i < p->r2s; i++)
        binding_add(a, p->r2[i].binding, DEPLOY_R2_BUCKET)->bucket_name = copy(a, p->r2[i].bucket_name);
}

/* In the order of config.md 5: by kind, then as in the file. */
static void bindings_add(struct deploy_app *a, const struct deploy_project *p)
{
    for (size_t i = 0; i < p->durables; i++)
        binding_add(a, p->durable[i].binding, DEPLOY_DURABLE_OBJECT)->durable_object.class_name =
            copy(a, p->durable[i].class_name);
    for (size_t i = 0; i < p->services; i++) {
        struct deploy_binding *b = binding_add(a, p->service[i].binding, DEPLOY_SERVICE);
        b->service.service = copy(a, p->service[i].service);
        b->service.entrypoint = copy(a, p->service[i].entrypoint);
    }
    vars_add(a, p, false);
    vars_add(a, p, true);
    if (p->assets.given && p->assets.binding.len > 0)
        (void)binding_add(a, p->assets.binding, DEPLOY_ASSETS);
    stores_add(a, p);
    for (size_t i = 0; i < p->workflows; i++) {
        struct deploy_binding *b = binding_add(a, p->workflow[i].binding, DEPLOY_WORKFLOW);
        b->workflow.workflow_name = copy(a, p->workflow[i].name);
        b->workflow.class_name = copy(a, p->workflow[i].class_name);
    }
    for (size_t i = 0; i < p->worker_loaders; i++)
        (void)binding_add(a, p->worker_loader[i].binding, DEPLOY_WORKER_LOADER);
}

static void class_add(struct deploy_app *a, struct cd_str name, bool sqlite)
{
    text_add(a, &a->do_classes, &a->do_class_count, name);
    if (sqlite)
        text_add(a, &a->sqlite_classes, &a->sqlite_class_count, name);
}

/* Bound classes, those that migrations introduce, and the reserved ones of services in use. */
static void classes_add(struct deploy_app *a, const struct deploy_project *p)
{
    for (size_t i = 0; i < p->durables; i++)
        class_add(a, p->durable[i].class_name, false);
    for (size_t i = 0; i < p->migrations; i++) {
        for (size_t j = 0; j < p->migration[i].sqlite_classes; j++)
            class_add(a, p->migration[i].sqlite_class[j], true);
        for (size_t j = 0; j < p->migration[i].plain_classes; j++)
            class_add(a, p->migration[i].plain_class[j], false);
    }
    if (p->d1s > 0)
        class_add(a, CD_STR("__D1Database"), true);
    if (p->kvs > 0)
        class_add(a, CD_STR("__KV"), true);
    if (p->producers + p->consumers > 0)
        class_add(a, CD_STR("__Queue"), true);
    if (p->workflows > 0)
        class_add(a, CD_STR("__Workflow"), true);
}

struct deploy_app *deploy_app_of_project(const struct deploy_project *p)
{
    struct deploy_app *a = cd_new(struct deploy_app);
    a->script = copy(a, p->name);
    a->compatibility_date = copy(a, p->compat.date);
    for (size_t i = 0; i < p->compat.flags; i++)
        text_add(a, &a->compatibility_flags, &a->compatibility_flag_count, p->compat.flag[i]);
    a->compat = p->compat.on;
    bindings_add(a, p);
    classes_add(a, p);
    for (size_t i = 0; i < p->crons; i++)
        text_add(a, &a->crons, &a->cron_count, p->cron[i].text);
    return a;
}

/* The modules of the bundle become the app's. */
static void modules_move(struct deploy_app *a, struct deploy_bundle *bundle)
{
    a->modules = bundle->modules;
    a->module_count = bundle->count;
    a->main_module = &a->modules[0];
    for (unsigned i = 0; i < a->module_count; i++)
        a->modules[i].name = cd_arena_copy(&a->arena, a->modules[i].name);
    bundle->modules = NULL;
    bundle->count = 0;
}

/* What a node would refuse, said before anything is published: a module without exports handles no event, and
 * classes that are bound must be exported. */
static int exports_check(const struct deploy_project *p, const struct deploy_bundle *bundle,
                         struct cd_buf *why)
{
    int rc = 0;
    if (bundle->exports == NULL)
        return 0;
    if (bundle->export_count == 0) {
        cd_buf_addf(
            why,
            "%.*s has no registered event handlers: it exports nothing, and needs a default export with "
            "a handler such as fetch(), or a class (addEventListener(\"fetch\", ...): Service Worker syntax "
            "is "
            "not supported)",
            (int)p->main.len, p->main.ptr);
        return CD_EINVAL;
    }
    for (size_t i = 0; i < p->durables; i++) {
        size_t at = 0;
        while (at < bundle->export_count && !cd_str_eq(bundle->exports[at], p->durable[i].class_name))
            at++;
        if (at < bundle->export_count)
            continue;
        cd_buf_addf(why, "%sbinding \"%.*s\": %.*s exports no class \"%.*s\"", rc != 0 ? "\n" : "",
                    (int)p->durable[i].binding.len, p->durable[i].binding.ptr, (int)p->main.len, p->main.ptr,
                    (int)p->durable[i].class_name.len, p->durable[i].class_name.ptr);
        rc = CD_EINVAL;
    }
    return rc;
}

int deploy_build_run(struct deploy_build *b, struct cd_buf *why)
{
    struct deploy_bundle bundle = {0};
    int rc = deploy_bundle_make(&b->bundling, &bundle, why);
    if (rc == 0 && (rc = exports_check(b->bundling.project, &bundle, why)) != 0)
        deploy_bundle_deinit(&bundle);
    if (rc != 0)
        return rc;
    struct deploy_app *a = deploy_app_of_project(b->bundling.project);
    modules_move(a, &bundle);
    const struct deploy_feature *lacks = deploy_app_lacks(a);
    if (lacks != NULL) {
        cd_buf_addf(why, "%.*s uses %s, which this version of celld cannot serve yet", (int)a->script.len,
                    a->script.ptr, lacks->what);
        deploy_app_free(a);
        deploy_bundle_deinit(&bundle);
        return CD_EUNSUPPORTED;
    }
    deploy_app_seal(a, &b->manifest);
    b->app = a;
    b->warnings = cd_buf_move(&bundle.warnings);
    b->arena = bundle.arena;
    b->inputs = bundle.inputs;
    b->input_count = bundle.input_count;
    bundle.arena = (struct cd_arena){0};
    bundle.inputs = NULL;
    deploy_bundle_deinit(&bundle);
    return 0;
}

void deploy_build_deinit(struct deploy_build *b)
{
    deploy_app_free(b->app);
    cd_buf_deinit(&b->manifest);
    cd_buf_deinit(&b->warnings);
    cd_arena_deinit(&b->arena);
    cd_free(b->inputs);
    struct deploy_bundling in = b->bundling;
    *b = (struct deploy_build){.bundling = in};
}
