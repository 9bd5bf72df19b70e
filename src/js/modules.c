/* js/modules.c: the modules of a bundle and those that celld brings. runtime.md 3.1. */
#include "js/module.h"

#include "js/parcel.h"
#include "js/wasm_scan.h"
#include "js/worker_internal.h"

struct js_module_record {
    struct js_ref module; /* Empty until somebody imports it. */
};

/* ---- Names ---- */

/* specifier as a name of the bundle: relative ones start at the folder of the referrer. False: it climbs out
 * of the bundle. */
static bool name_resolve(struct cd_str referrer, struct cd_str specifier, struct cd_buf *out)
{
    struct cd_str piece, rest = specifier;
    if (cd_str_starts(specifier, CD_STR("./")) || cd_str_starts(specifier, CD_STR("../"))) {
        size_t slash = referrer.len;
        while (slash > 0 && referrer.ptr[slash - 1] != '/')
            slash--;
        cd_buf_add(out, referrer.ptr, slash); /* With its slash, or nothing. */
    } else if (cd_str_starts(specifier, CD_STR("file:///bundle/"))) {
        rest = cd_str_sub(specifier, 15, SIZE_MAX);
    } else {
        cd_buf_add_str(out, specifier);
        return true;
    }
    while (cd_str_next(&rest, '/', &piece)) {
        if (piece.len == 0 || cd_str_eq(piece, CD_STR(".")))
            continue;
        if (cd_str_eq(piece, CD_STR(".."))) {
            if (out->len == 0)
                return false;
            out->len--;
            while (out->len > 0 && out->ptr[out->len - 1] != '/')
                out->len--;
            continue;
        }
        cd_buf_add_str(out, piece);
        cd_buf_add_byte(out, '/');
    }
    if (out->len > 0)
        out->len--; /* The slash behind the last piece. */
    return true;
}

static int find(const struct js_bundle *b, struct cd_str name)
{
    for (unsigned i = 0; i < b->count; i++) {
        if (cd_str_eq(b->module[i].name, name))
            return (int)i;
    }
    return -1;
}

/* ---- Modules of the bundle ---- */

static int with_default(struct js_worker *w, struct cd_str name, js_value v, js_value *module)
{
    static const char *const names[] = {"default"};
    return js_module_synthetic(w->js, name, names, &v, 1, module);
}

static int module_make(struct js_worker *w, const struct js_bundle_module *m, js_value *module)
{
    struct js_isolate *js = w->js;
    const struct js_source source = {.text = m->bytes, .name = m->name};
    js_value v;
    int rc = 0;
    switch (m->kind) {
    case JS_MODULE_ESM: return js_module_compile(js, &source, module, NULL);
    case JS_MODULE_TEXT: rc = js_string(js, m->bytes, &v); break;
    case JS_MODULE_DATA: rc = js_buffer_copy(js, m->bytes, &v); break;
    case JS_MODULE_JSON: rc = js_json_parse(js, m->bytes, &v); break;
    case JS_MODULE_WASM:
        if (js_wasm_shares(m->bytes))
            return js_throw_error(js, JS_TYPE_ERROR,
                                  "shared WebAssembly memories are not supported: a Worker has no threads");
        rc = js_wasm_compile(js, m->bytes, &v);
        break;
    }
    return rc == 0 ? with_default(w, m->name, v, module) : rc;
}

static int module_get(struct js_worker *w, unsigned index, js_value *module)
{
    struct js_module_record *r = &w->modules[index];
    if (js_ref_is_set(&r->module)) {
        *module = js_ref_get(w->js, &r->module);
        return 0;
    }
    int rc = module_make(w, &w->bundle->module[index], module);
    if (rc == 0)
        js_ref_set(w->js, &r->module, *module);
    return rc;
}

/* ---- Modules of celld: node:*, cloudflare:* ---- */

#define EXPORTS_MAX 512

static int builtin_make(struct js_worker *w, struct cd_str specifier, js_value exports, js_value *module)
{
    struct js_isolate *js = w->js;
    js_value keys;
    int rc = js_keys(js, exports, &keys);
    if (rc != 0)
        return rc;
    unsigned count = js_array_len(keys);
    CD_ASSERT(count <= EXPORTS_MAX);
    const char **names = cd_alloc(sizeof(*names) * (count + 1));
    js_value *values = cd_alloc(sizeof(*values) * (count + 1));
    struct cd_buf *texts = cd_alloc(sizeof(*texts) * (count + 1));
    for (unsigned i = 0; i < count && rc == 0; i++) {
        js_value key;
        rc = js_get_index(js, keys, i, &key);
        if (rc == 0)
            rc = js_get(js, exports, key, &values[i]);
        if (rc == 0) {
            js_string_add(js, key, &texts[i]);
            names[i] = cd_buf_cstr(&texts[i]);
        }
    }
    if (rc == 0)
        rc = js_module_synthetic(js, specifier, names, values, count, module);
    for (unsigned i = 0; i < count; i++)
        cd_buf_deinit(&texts[i]);
    cd_free(texts);
    cd_free(values);
    cd_free(names);
    return rc;
}

/* node:x and x are one module: the other one's, if it is there. */
static struct js_ref *builtin_alias(struct js_worker *w, struct cd_str specifier)
{
    static const struct cd_str prefix = CD_STR("node:");
    if (cd_str_starts(specifier, prefix))
        return cd_map_get(&w->builtins, cd_str_sub(specifier, prefix.len, SIZE_MAX));
    struct cd_buf name = {0};
    cd_buf_add_str(&name, prefix);
    cd_buf_add_str(&name, specifier);
    struct js_ref *known = cd_map_get(&w->builtins, cd_buf_str(&name));
    cd_buf_deinit(&name);
    return known;
}

/* CD_ENOTFOUND: there is none of that name. */
static int builtin_get(struct js_worker *w, struct cd_str specifier, js_value *module)
{
    struct js_ref *known = cd_map_get(&w->builtins, specifier);
    if (known != NULL) {
        *module = js_ref_get(w->js, known);
        return 0;
    }
    js_value name, exports;
    int rc = js_string(w->js, specifier, &name);
    if (rc == 0)
        rc = js_invoke(w, JS_EXPORT_BUILTIN, &name, 1, &exports);
    if (rc != 0)
        return rc;
    if (js_kind(exports) != JS_OBJECT)
        return CD_ENOTFOUND;
    known = builtin_alias(w, specifier);
    if (known != NULL)
        *module = js_ref_get(w->js, known);
    else
        rc = builtin_make(w, specifier, exports, module);
    if (rc != 0)
        return rc;
    known = cd_new(struct js_ref);
    js_ref_set(w->js, known, *module);
    cd_map_put(&w->builtins, specifier, known);
    return 0;
}

/* ---- Hooks ---- */

int js_modules_resolve(struct js_isolate *js, const struct js_import *import, js_value *module)
{
    struct js_worker *w = js_isolate_user(js);
    if (import->other.len > 0)
        return js_throw_error(js, JS_TYPE_ERROR, "Import attribute \"%.*s\" is not supported.",
                              (int)import->other.len, import->other.ptr);
    if (import->type.len > 0 && !cd_str_eq(import->type, CD_STR("json")))
        return js_throw_error(js, JS_TYPE_ERROR, "Import attribute type \"%.*s\" is not supported.",
                              (int)import->type.len, import->type.ptr);
    int rc = builtin_get(w, import->specifier, module);
    if (rc != CD_ENOTFOUND)
        return rc;
    struct cd_buf name = {0};
    int index =
        name_resolve(import->referrer, import->specifier, &name) ? find(w->bundle, cd_buf_str(&name)) : -1;
    cd_buf_deinit(&name);
    if (index < 0)
        index = find(w->bundle, import->specifier);
    if (index < 0)
        return js_throw_error(js, JS_ERROR, "No such module \"%.*s\".\n  imported from \"%.*s\"",
                              (int)import->specifier.len, import->specifier.ptr, (int)import->referrer.len,
                              import->referrer.ptr);
    if (import->type.len > 0 && w->bundle->module[index].kind != JS_MODULE_JSON)
        return js_throw_error(js, JS_TYPE_ERROR, "Module \"%.*s\" is not a JSON module.",
                              (int)import->specifier.len, import->specifier.ptr);
    return module_get(w, (unsigned)index, module);
}

int js_modules_meta(struct js_isolate *js, struct cd_str name, js_value meta)
{
    struct js_worker *w = js_isolate_user(js);
    struct cd_buf url = {0};
    js_value v;
    cd_buf_addf(&url, "file:///bundle/%.*s", (int)name.len, name.ptr);
    int rc = js_string(js, cd_buf_str(&url), &v);
    cd_buf_deinit(&url);
    if (rc == 0)
        rc = js_set_text(js, meta, "url", v);
    if (rc == 0)
        rc = js_set_text(js, meta, "main",
                         js_bool(js, cd_str_eq(name, w->bundle->module[w->bundle->main].name)));
    return rc;
}

/* ---- Loading ---- */

int js_modules_load(struct js_worker *w, js_value *ns)
{
    struct js_isolate *js = w->js;
    js_value module, promise;
    w->modules = cd_alloc(sizeof(*w->modules) * w->bundle->count);
    int rc = module_get(w, w->bundle->main, &module);
    if (rc == 0)
        rc = js_module_link(js, module);
    if (rc == 0)
        rc = js_module_evaluate(js, module, &promise);
    if (rc == 0)
        rc = js_microtasks(js);
    if (rc != 0)
        return rc;
    switch (js_promise_state(promise)) {
    case JS_PENDING:
        return js_throw_error(js, JS_ERROR,
                              "Top-level await in module is unsettled. It can only wait for what "
                              "needs no I/O.");
    case JS_REJECTED: js_promise_handled(promise); return js_throw(js, js_promise_result(promise));
    case JS_FULFILLED: break;
    }
    *ns = js_module_namespace(module);
    return 0;
}

void js_modules_free(struct js_worker *w)
{
    for (unsigned i = 0; w->modules != NULL && i < w->bundle->count; i++)
        js_ref_clear(&w->modules[i].module);
    cd_free(w->modules);
    for (struct cd_map_node *n = cd_map_first(&w->builtins); n != NULL; n = cd_map_next(n)) {
        js_ref_clear(cd_map_value(n));
        cd_free(cd_map_value(n));
    }
    cd_map_deinit(&w->builtins);
}
