#include "fixture.h"

static void test_a_problem_says_what_where_and_which_line(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    struct js_problem p = {0};
    assert_int_equal(js_run(f.js, CD_STR("let a = 1;\n  a.b.c = 2;"), "app.js", &v), JS_THREW);
    assert_true(js_try_caught(&f.caught));
    assert_false(js_try_terminated(&f.caught));
    js_try_problem(&f.caught, &p);
    assert_str_is(cd_buf_str(&p.name), "TypeError");
    assert_str_is(cd_buf_str(&p.message), "Cannot set properties of undefined (setting 'c')");
    assert_str_is(cd_buf_str(&p.script), "app.js");
    assert_str_is(cd_buf_str(&p.source_line), "  a.b.c = 2;");
    assert_int_equal(p.line, 2);
    assert_int_equal(p.column, 9);
    assert_true(cd_str_find_str(cd_buf_str(&p.stack), CD_STR("at app.js:2:9"), 0) != SIZE_MAX);
    js_try_clear(&f.caught);
    assert_false(js_try_caught(&f.caught));
    assert_int_equal(js_run(f.js, CD_STR("1 +\n  );"), "bad.js", &v), JS_THREW);
    js_try_problem(&f.caught, &p);
    assert_str_is(cd_buf_str(&p.name), "SyntaxError");
    assert_str_is(cd_buf_str(&p.message), "Unexpected token ')'");
    assert_int_equal(p.line, 2);
    assert_int_equal(p.column, 3);
    js_problem_deinit(&p);
    fixture_close(&f);
}

static void test_anything_can_be_thrown(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    RUN_THROWS(&f, "throw null", ": null");
    RUN_THROWS(&f, "throw undefined", ": undefined");
    RUN_THROWS(&f, "throw 'text'", ": text");
    RUN_THROWS(&f, "throw Symbol('s')", ": Symbol(s)");
    RUN_THROWS(&f, "throw {}", ": [object Object]");
    RUN_THROWS(&f, "throw { name: 'N', message: 'M' }", "N: M");
    RUN_THROWS(&f, "throw Object.create(null)", ": an error without a text");
    RUN_THROWS(&f, "throw () => 1", ": () => 1");
    RUN_THROWS(&f, "throw { toString() { throw 1 } }", ": an error without a text");
    RUN_THROWS(&f, "throw { get name() { throw 1 }, message: 'M', get stack() { throw 2 } }", ": M");
    RUN_THROWS(&f, "throw new Proxy({}, { get() { throw 1 } })", ": an error without a text");
    RUN_THROWS(&f, "throw new (class Mine extends Error { name = 'Mine' })('m')", "Mine: m");
    fixture_close(&f);
}

static void test_each_kind_of_error_is_what_it_says(void **state)
{
    (void)state;
    static const struct {
        enum js_error_kind kind;
        const char *want;
    } cases[] = {{JS_ERROR, "Error: 5 of x"},
                 {JS_TYPE_ERROR, "TypeError: 5 of x"},
                 {JS_RANGE_ERROR, "RangeError: 5 of x"},
                 {JS_SYNTAX_ERROR, "SyntaxError: 5 of x"},
                 {JS_WASM_COMPILE_ERROR, "CompileError: 5 of x"}};
    struct fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < CD_COUNT(cases); i++) {
        assert_int_equal(js_throw_error(f.js, cases[i].kind, "%d of %s", 5, "x"), JS_THREW);
        THREW(&f, cases[i].want);
    }
    assert_int_equal(js_throw(f.js, js_error_new(f.js, JS_ERROR, CD_STR("made"))), JS_THREW);
    assert_true(js_is(js_try_exception(&f.caught), JS_IS_ERROR));
    THREW(&f, "Error: made");
    assert_null(js_try_exception(&f.caught));
    fixture_close(&f);
}

static void test_dom_exceptions_are_the_preludes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    bool is;
    assert_int_equal(js_throw_dom(f.js, "DataCloneError", "%s cannot", "it"), JS_THREW);
    js_value e = js_try_exception(&f.caught);
    THREW(&f, "DataCloneError: it cannot");
    assert_int_equal(js_instance_of(f.js, e, fixture_run(&f, "DOMException"), &is), 0);
    assert_true(is);
    fixture_close(&f);
}

static void test_an_inner_try_can_keep_or_pass_on(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    struct js_try inner;
    js_try_begin(f.js, &inner);
    assert_int_equal(js_run(f.js, CD_STR("throw 1"), "a.js", &v), JS_THREW);
    assert_true(js_try_caught(&inner));
    js_try_end(&inner);
    assert_false(js_try_caught(&f.caught));
    js_try_begin(f.js, &inner);
    assert_int_equal(js_run(f.js, CD_STR("throw new Error('on')"), "a.js", &v), JS_THREW);
    assert_int_equal(js_try_rethrow(&inner), JS_THREW);
    js_try_end(&inner);
    THREW(&f, "Error: on");
    fixture_close(&f);
}

static int call_back(struct js_args *a)
{
    struct js_try t;
    js_value v;
    js_try_begin(a->js, &t);
    int rc = js_call(a->js, js_arg(a, 0), js_undefined(a->js), NULL, 0, &v);
    if (rc == JS_THREW && js_kind(js_try_exception(&t)) == JS_NUMBER) {
        js_try_clear(&t);
        rc = 0;
        v = js_text(a->js, "swallowed a number");
    }
    if (rc == 0)
        js_return(a, v);
    else
        rc = js_try_rethrow(&t);
    js_try_end(&t);
    return rc;
}

static void test_a_host_function_can_catch_what_its_callback_throws(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value fn;
    assert_int_equal(js_function_new(f.js, call_back, NULL, &fn), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "back", fn), 0);
    RUN_IS(&f, "back(() => 5)", "5");
    RUN_IS(&f, "back(() => { throw 5 })", "swallowed a number");
    RUN_THROWS(&f, "back(() => { throw new TypeError('up') })", "TypeError: up");
    RUN_IS(&f, "try { back(() => back(() => { throw new Error('two up') })) } catch (e) { e.message }",
           "two up");
    fixture_close(&f);
}

static void test_a_rejection_can_be_described_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_problem p = {0};
    js_value e = fixture_run(&f, "\n\n   new RangeError('late')");
    js_problem_of(f.js, e, &p);
    assert_str_is(cd_buf_str(&p.name), "RangeError");
    assert_str_is(cd_buf_str(&p.message), "late");
    assert_str_is(cd_buf_str(&p.script), "test.js");
    assert_int_equal(p.line, 3);
    js_problem_of(f.js, js_int(f.js, 3), &p);
    assert_str_is(cd_buf_str(&p.name), "");
    assert_str_is(cd_buf_str(&p.message), "3");
    js_problem_deinit(&p);
    fixture_close(&f);
}

static void test_deep_recursion_is_a_range_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    RUN_THROWS(&f, "(function f() { f() })()", "RangeError: Maximum call stack size exceeded");
    RUN_IS(&f, "1 + 1", "2");
    fixture_close(&f);
}

CD_TESTS(error, cmocka_unit_test(test_a_problem_says_what_where_and_which_line),
         cmocka_unit_test(test_anything_can_be_thrown),
         cmocka_unit_test(test_each_kind_of_error_is_what_it_says),
         cmocka_unit_test(test_dom_exceptions_are_the_preludes),
         cmocka_unit_test(test_an_inner_try_can_keep_or_pass_on),
         cmocka_unit_test(test_a_host_function_can_catch_what_its_callback_throws),
         cmocka_unit_test(test_a_rejection_can_be_described_too),
         cmocka_unit_test(test_deep_recursion_is_a_range_error))
