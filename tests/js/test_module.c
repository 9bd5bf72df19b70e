#include "fixture.h"

/* A bundle as the tests see it: names and texts. Modules are compiled once and found again by name. */
struct file {
    const char *name, *text;
};
struct bundle {
    const struct file *file;
    size_t count;
    struct js_ref module[8];
    struct cd_buf asked; /* Every import as the hook saw it. */
};

static int bundle_module(struct fixture *f, struct bundle *b, size_t i, js_value *module)
{
    if (js_ref_is_set(&b->module[i])) {
        *module = js_ref_get(f->js, &b->module[i]);
        return 0;
    }
    const struct js_source source = {cd_str(b->file[i].text), cd_str(b->file[i].name), {NULL, 0}};
    int rc = js_module_compile(f->js, &source, module, NULL);
    if (rc == 0)
        js_ref_set(f->js, &b->module[i], *module);
    return rc;
}

static int resolve(struct fixture *f, const struct js_import *import, js_value *module)
{
    struct bundle *b = f->arg;
    cd_buf_addf(&b->asked, "%.*s<-%.*s", (int)import->specifier.len, import->specifier.ptr,
                (int)import->referrer.len, import->referrer.ptr);
    if (import->type.len > 0)
        cd_buf_addf(&b->asked, " type=%.*s", (int)import->type.len, import->type.ptr);
    if (import->other.len > 0)
        cd_buf_addf(&b->asked, " other=%.*s", (int)import->other.len, import->other.ptr);
    cd_buf_addf(&b->asked, import->dynamic ? " dynamic\n" : "\n");
    for (size_t i = 0; i < b->count; i++) {
        if (cd_str_eq(import->specifier, cd_str(b->file[i].name)))
            return bundle_module(f, b, i, module);
    }
    return js_throw_error(f->js, JS_ERROR, "No such module \"%.*s\".", (int)import->specifier.len,
                          import->specifier.ptr);
}

static void bundle_open(struct fixture *f, struct bundle *b, const struct file *file, size_t count)
{
    fixture_open(f);
    *b = (struct bundle){.file = file, .count = count};
    f->resolve = resolve;
    f->arg = b;
}

static void bundle_close(struct fixture *f, struct bundle *b)
{
    for (size_t i = 0; i < CD_COUNT(b->module); i++)
        js_ref_clear(&b->module[i]);
    cd_buf_deinit(&b->asked);
    fixture_close(f);
}

/* Compiles, links and evaluates the first file; microtasks are run. */
static js_value bundle_load(struct fixture *f, struct bundle *b, js_value *promise)
{
    js_value module;
    CHECK_INT(bundle_module(f, b, 0, &module), 0);
    CHECK_INT(js_module_state(module), JS_MODULE_NEW);
    CHECK_INT(js_module_link(f->js, module), 0);
    CHECK_INT(js_module_state(module), JS_MODULE_LINKED);
    CHECK_INT(js_module_evaluate(f->js, module, promise), 0);
    CHECK_INT(js_microtasks(f->js), 0);
    return module;
}

static js_value export_of(struct fixture *f, js_value module, const char *name)
{
    js_value v;
    CHECK_INT(js_get_text(f->js, js_module_namespace(module), name, &v), 0);
    return v;
}

static void test_a_graph_is_linked_and_evaluated_once(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main",
         "import { n } from 'a'; import b from 'b'; export const sum = n + b; export default () => 7"},
        {"a", "globalThis.runs = (globalThis.runs ?? 0) + 1; export let n = 1"},
        {"b", "import { n } from 'a'; export default n + 10"},
    };
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    assert_int_equal(js_promise_state(promise), JS_FULFILLED);
    assert_int_equal(js_module_state(module), JS_MODULE_EVALUATED);
    assert_false(js_module_is_async(module));
    TEXT_IS(&f, export_of(&f, module, "sum"), "12");
    assert_true(js_is(export_of(&f, module, "default"), JS_IS_FUNCTION));
    assert_true(js_is(js_module_namespace(module), JS_IS_NAMESPACE));
    RUN_IS(&f, "runs", "1");
    assert_str_is(cd_buf_str(&b.asked), "a<-main\nb<-main\na<-b\n");
    assert_int_equal(js_module_link(f.js, module), 0);
    js_value again;
    assert_int_equal(js_module_evaluate(f.js, module, &again), 0);
    assert_true(js_same(promise, again));
    bundle_close(&f, &b);
}

static void test_cycles_work(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main", "import { b } from 'b'; export const a = 'A'; export const both = () => a + b()"},
        {"b", "import { a } from 'main'; export const b = () => a + 'B'"},
    };
    struct fixture f;
    struct bundle b;
    js_value promise, v;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    assert_int_equal(js_call(f.js, export_of(&f, module, "both"), js_undefined(f.js), NULL, 0, &v), 0);
    TEXT_IS(&f, v, "AAB");
    bundle_close(&f, &b);
}

static void test_top_level_await_keeps_the_promise_pending(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main", "import { v } from 'slow'; export const got = v"},
        {"slow", "export const v = await new Promise(r => { globalThis.go = r })"},
    };
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    assert_true(js_module_is_async(module));
    assert_int_equal(js_promise_state(promise), JS_PENDING);
    fixture_run(&f, "go(42)");
    assert_int_equal(js_microtasks(f.js), 0);
    assert_int_equal(js_promise_state(promise), JS_FULFILLED);
    TEXT_IS(&f, export_of(&f, module, "got"), "42");
    bundle_close(&f, &b);
}

static void test_an_exception_at_load_rejects_with_it(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main", "import 'bad'"},
        {"bad", "\nthrow new TypeError('at load')"},
    };
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    assert_int_equal(js_promise_state(promise), JS_REJECTED);
    assert_int_equal(js_module_state(module), JS_MODULE_FAILED);
    struct js_problem p = {0};
    js_problem_of(f.js, js_promise_result(promise), &p);
    assert_str_is(cd_buf_str(&p.message), "at load");
    assert_str_is(cd_buf_str(&p.script), "bad");
    assert_int_equal(p.line, 2);
    assert_true(js_same(js_module_error(module), js_promise_result(promise)));
    js_problem_deinit(&p);
    bundle_close(&f, &b);
}

static void test_a_missing_module_or_export_fails_the_link(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main", "import 'none'"},
        {"other", "import { nope } from 'a'"},
        {"a", "export const yes = 1"},
    };
    struct fixture f;
    struct bundle b;
    js_value module;
    bundle_open(&f, &b, files, CD_COUNT(files));
    assert_int_equal(bundle_module(&f, &b, 0, &module), 0);
    assert_int_equal(js_module_link(f.js, module), JS_THREW);
    THREW(&f, "Error: No such module \"none\".");
    assert_int_equal(js_module_state(module), JS_MODULE_NEW);
    assert_int_equal(bundle_module(&f, &b, 1, &module), 0);
    assert_int_equal(js_module_link(f.js, module), JS_THREW);
    THREW(&f, "SyntaxError: The requested module 'a' does not provide an export named 'nope'");
    f.resolve = NULL;
    assert_int_equal(bundle_module(&f, &b, 0, &module), 0);
    assert_int_equal(js_module_link(f.js, module), JS_THREW);
    THREW(&f, "Error: No such module \"none\": not found");
    bundle_close(&f, &b);
}

static void test_a_syntax_error_names_its_place(void **state)
{
    (void)state;
    static const struct file files[] = {{"main", "export const a = 1;\nexport const a = 2;"}};
    struct fixture f;
    struct bundle b;
    js_value module;
    struct js_problem p = {0};
    bundle_open(&f, &b, files, CD_COUNT(files));
    assert_int_equal(bundle_module(&f, &b, 0, &module), JS_THREW);
    js_try_problem(&f.caught, &p);
    assert_str_is(cd_buf_str(&p.name), "SyntaxError");
    assert_str_is(cd_buf_str(&p.script), "main");
    assert_int_equal(p.line, 2);
    assert_int_equal(p.column, 14);
    js_problem_deinit(&p);
    js_try_clear(&f.caught);
    bundle_close(&f, &b);
}

static void test_dynamic_import_uses_the_same_rules(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main",
         "export const p = import('a').then(m => m.n); export const q = import('none').catch(e => e.message);"
         "export const self = import('main').then(m => m.one); export const one = 1;"
         "export const bad = import('bad').catch(e => 'caught ' + e)"},
        {"a", "export const n = 5"},
        {"bad", "throw 'thrown'"},
    };
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    static const char *const names[] = {"p", "q", "self", "bad"};
    static const char *const want[] = {"5", "No such module \"none\".", "1", "caught thrown"};
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        js_value p = export_of(&f, module, names[i]);
        assert_int_equal(js_promise_state(p), JS_FULFILLED);
        TEXT_IS(&f, js_promise_result(p), want[i]);
    }
    assert_str_is(cd_buf_str(&b.asked),
                  "a<-main dynamic\nnone<-main dynamic\nmain<-main dynamic\nbad<-main dynamic\n");
    /* Twice the same module, also from a script. */
    js_value p = fixture_run(&f, "Promise.all([import('a'), import('a')]).then(([x, y]) => x === y)");
    assert_int_equal(js_microtasks(f.js), 0);
    TEXT_IS(&f, js_promise_result(p), "true");
    bundle_close(&f, &b);
}

static void test_import_attributes_reach_the_hook(void **state)
{
    (void)state;
    static const struct file files[] = {
        {"main", "import 'a' with { type: 'json' }; import('a', { with: { type: 'text' } });"
                 "import('a', { with: { flavour: 'x' } })"},
        {"a", ""},
    };
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    bundle_load(&f, &b, &promise);
    assert_str_is(cd_buf_str(&b.asked), "a<-main type=json\na<-main type=text dynamic\na<-main other=flavour "
                                        "dynamic\n");
    bundle_close(&f, &b);
}

static void test_import_meta_is_filled_by_the_hook(void **state)
{
    (void)state;
    static const struct file files[] = {{"file:///bundle/main", "export const url = import.meta.url"}};
    struct fixture f;
    struct bundle b;
    js_value promise;
    bundle_open(&f, &b, files, CD_COUNT(files));
    js_value module = bundle_load(&f, &b, &promise);
    TEXT_IS(&f, export_of(&f, module, "url"), "file:///bundle/main");
    bundle_close(&f, &b);
}

static int resolve_synthetic(struct fixture *f, const struct js_import *import, js_value *module)
{
    (void)import;
    struct js_ref *made = f->arg;
    if (!js_ref_is_set(made)) {
        static const char *const names[] = {"default", "extra"};
        js_value values[] = {js_text(f->js, "text"), js_int(f->js, 5)};
        int rc = js_module_synthetic(f->js, CD_STR("note.txt"), names, values, 2, module);
        if (rc != 0)
            return rc;
        js_ref_set(f->js, made, *module);
    }
    *module = js_ref_get(f->js, made);
    return 0;
}

static void test_synthetic_modules_have_the_given_exports(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_ref made = {0};
    f.resolve = resolve_synthetic;
    f.arg = &made;
    const struct js_source source = {
        CD_STR("import t, { extra } from './note.txt'; export default () => t + extra"),
        CD_STR("main"),
        {NULL, 0}};
    js_value module, promise, v, unused;
    static const char *const one[] = {"a"};
    js_value value[] = {js_int(f.js, 1)};
    /* One that nobody evaluates goes with the isolate. */
    assert_int_equal(js_module_synthetic(f.js, CD_STR("unused"), one, value, 1, &unused), 0);
    assert_int_equal(js_module_compile(f.js, &source, &module, NULL), 0);
    assert_int_equal(js_module_link(f.js, module), 0);
    assert_int_equal(js_module_evaluate(f.js, module, &promise), 0);
    assert_int_equal(js_microtasks(f.js), 0);
    js_value fn = export_of(&f, module, "default");
    assert_int_equal(js_call(f.js, fn, js_undefined(f.js), NULL, 0, &v), 0);
    TEXT_IS(&f, v, "text5");
    assert_int_equal(js_module_export(f.js, js_ref_get(f.js, &made), "extra", js_int(f.js, 6)), 0);
    assert_int_equal(js_call(f.js, fn, js_undefined(f.js), NULL, 0, &v), 0);
    TEXT_IS(&f, v, "text6");
    assert_int_equal(js_module_export(f.js, js_ref_get(f.js, &made), "none", js_int(f.js, 6)), JS_THREW);
    THREW(&f, "ReferenceError: Export 'none' is not defined in module");
    js_ref_clear(&made);
    fixture_close(&f);
}

static void test_the_code_cache_is_taken_for_the_same_text_only(void **state)
{
    (void)state;
    struct fixture f;
    struct cd_buf cache = {0};
    js_value module, promise;
    bool used = true;
    struct js_source source = {
        CD_STR("function a() { return 1 }\nexport const v = a()"), CD_STR("main"), {NULL, 0}};
    fixture_open(&f);
    assert_int_equal(js_module_compile(f.js, &source, &module, &used), 0);
    assert_false(used);
    assert_int_equal(js_module_link(f.js, module), 0);
    assert_int_equal(js_module_evaluate(f.js, module, &promise), 0);
    assert_int_equal(js_module_cache(f.js, module, &cache), 0);
    fixture_close(&f);
    fixture_open(&f);
    source.cache = cd_buf_str(&cache);
    assert_int_equal(js_module_compile(f.js, &source, &module, &used), 0);
    assert_true(used);
    assert_int_equal(js_module_link(f.js, module), 0);
    assert_int_equal(js_module_evaluate(f.js, module, &promise), 0);
    TEXT_IS(&f, export_of(&f, module, "v"), "1");
    fixture_close(&f);
    fixture_open(&f);
    source.text = CD_STR("export const v = 2");
    assert_int_equal(js_module_compile(f.js, &source, &module, &used), 0);
    assert_false(used);
    assert_int_equal(js_module_link(f.js, module), 0);
    assert_int_equal(js_module_evaluate(f.js, module, &promise), 0);
    TEXT_IS(&f, export_of(&f, module, "v"), "2");
    cd_buf_deinit(&cache);
    fixture_close(&f);
}

CD_TESTS(module, cmocka_unit_test(test_a_graph_is_linked_and_evaluated_once),
         cmocka_unit_test(test_cycles_work), cmocka_unit_test(test_top_level_await_keeps_the_promise_pending),
         cmocka_unit_test(test_an_exception_at_load_rejects_with_it),
         cmocka_unit_test(test_a_missing_module_or_export_fails_the_link),
         cmocka_unit_test(test_a_syntax_error_names_its_place),
         cmocka_unit_test(test_dynamic_import_uses_the_same_rules),
         cmocka_unit_test(test_import_attributes_reach_the_hook),
         cmocka_unit_test(test_import_meta_is_filled_by_the_hook),
         cmocka_unit_test(test_synthetic_modules_have_the_given_exports),
         cmocka_unit_test(test_the_code_cache_is_taken_for_the_same_text_only))
