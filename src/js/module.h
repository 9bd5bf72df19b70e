/* js/module.h: ES modules: compile, link, evaluate; synthetic modules; the code cache. runtime.md 3.1.
 *
 * A module is a js_value of its own kind: it may be kept in a js_ref and given to the calls here, and to
 * nothing else. Which module a specifier means is decided by hooks.resolve, for static and for dynamic
 * imports alike. */
#ifndef JS_MODULE_H
#define JS_MODULE_H

#include "js/engine.h"

/* One import as hooks.resolve sees it. It gives the module, or throws. The texts are good for the call. */
struct js_import {
    struct cd_str specifier;
    struct cd_str referrer; /* Name of the module or script that imports. */
    struct cd_str type; /* Import attribute "type"; empty: none. */
    struct cd_str other; /* The key of another attribute; empty: none. */
    bool dynamic; /* import(). */
};

struct js_source {
    struct cd_str text; /* UTF-8. */
    struct cd_str name; /* In stacks, and the referrer of its imports. */
    struct cd_str cache; /* What js_module_cache gave for the same text; may be empty. */
};

/* SyntaxError is thrown. cache_used (may be NULL): the cache was taken, not refused. */
CD_MUST_USE int js_module_compile(struct js_isolate *js, const struct js_source *source, js_value *module,
                                  bool *cache_used);
/* Code of the functions compiled so far. V8's checks refuse it for another text, version or set of flags; its
 * bytes must come from a place as trusted as the program. */
CD_MUST_USE int js_module_cache(struct js_isolate *js, js_value module, struct cd_buf *out);

/* A module with the given exports (json, text, data, wasm, builtin). names and values are copied. */
CD_MUST_USE int js_module_synthetic(struct js_isolate *js, struct cd_str name, const char *const *names,
                                    const js_value *values, unsigned count, js_value *module);
/* Changes an export of an evaluated synthetic module, for all that import it. */
CD_MUST_USE int js_module_export(struct js_isolate *js, js_value module, const char *name, js_value v);

enum js_module_state { JS_MODULE_NEW, JS_MODULE_LINKED, JS_MODULE_EVALUATED, JS_MODULE_FAILED };
enum js_module_state js_module_state(js_value module);
/* Resolves the whole graph through hooks.resolve and links it. */
CD_MUST_USE int js_module_link(struct js_isolate *js, js_value module);
/* Evaluates a linked graph. promise is pending while a top-level await is. Evaluating again gives the same
 * promise. */
CD_MUST_USE int js_module_evaluate(struct js_isolate *js, js_value module, js_value *promise);
js_value js_module_namespace(js_value module); /* Linked ones. */
js_value js_module_error(js_value module); /* Of a failed one. */
bool js_module_is_async(js_value module); /* A linked graph with a top-level await in it. */

#endif
