#include "deploy/fixture.h"

#define ROOM 16u

struct deploy_module *fixture_module(struct deploy_app *a, const char *name, enum deploy_module_kind kind,
                                     const char *bytes)
{
    assert_true(a->module_count < ROOM);
    struct deploy_module *m = &a->modules[a->module_count++];
    m->name = cd_arena_copy(&a->arena, cd_str(name));
    m->kind = kind;
    cd_buf_add_str(&m->bytes, cd_str(bytes));
    return m;
}

struct deploy_binding *fixture_binding(struct deploy_app *a, const char *name, enum deploy_binding_kind kind)
{
    assert_true(a->binding_count < ROOM);
    struct deploy_binding *b = &a->bindings[a->binding_count++];
    b->name = cd_arena_copy(&a->arena, cd_str(name));
    b->kind = kind;
    return b;
}

struct deploy_app *fixture_app(const char *script, const char *text)
{
    struct deploy_app *a = cd_new(struct deploy_app);
    a->modules = cd_alloc(ROOM * sizeof *a->modules);
    a->bindings = cd_alloc(ROOM * sizeof *a->bindings);
    a->script = cd_arena_copy(&a->arena, cd_str(script));
    a->compatibility_date = CD_STR("2026-03-01");
    a->main_module = fixture_module(a, "index.js", DEPLOY_MODULE_JS, text);
    (void)fixture_module(a, "add.wasm", DEPLOY_MODULE_WASM, "\1\2\3");
    struct deploy_binding *b = fixture_binding(a, "API", DEPLOY_SERVICE);
    b->service.service = CD_STR("api");
    b->service.entrypoint = CD_STR("Admin");
    fixture_binding(a, "GREETING", DEPLOY_PLAIN_TEXT)->text = CD_STR("hello \"you\"");
    fixture_binding(a, "LIMITS", DEPLOY_JSON)->json =
        CD_STR("{\"max\":18446744073709551616,\"of\":[1,null]}");
    return a;
}
