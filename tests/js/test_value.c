#include "fixture.h"

static void test_kinds_tell_values_apart(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        enum js_kind kind;
    } cases[] = {
        {"undefined", JS_UNDEFINED}, {"null", JS_NULL},   {"true", JS_BOOL},
        {"1.5", JS_NUMBER},          {"10n", JS_BIGINT},  {"'a'", JS_STRING},
        {"Symbol()", JS_SYMBOL},     {"({})", JS_OBJECT}, {"(() => 1)", JS_OBJECT},
    };
    struct fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < CD_COUNT(cases); i++)
        assert_int_equal(js_kind(fixture_run(&f, cases[i].source)), cases[i].kind);
    assert_true(js_is_int32(fixture_run(&f, "7")));
    assert_false(js_is_int32(fixture_run(&f, "7.5")));
    fixture_close(&f);
}

static void test_classes_tell_objects_apart(void **state)
{
    (void)state;
    static const char *const source[JS_CLASS_COUNT] = {
        [JS_IS_FUNCTION] = "(function () {})",
        [JS_IS_ASYNC_FUNCTION] = "(async () => {})",
        [JS_IS_ARRAY] = "[]",
        [JS_IS_PROMISE] = "Promise.resolve()",
        [JS_IS_PROXY] = "new Proxy({}, {})",
        [JS_IS_DATE] = "new Date(5)",
        [JS_IS_REGEXP] = "/a/",
        [JS_IS_ERROR] = "new (class A extends Error {})",
        [JS_IS_MAP] = "new Map",
        [JS_IS_SET] = "new Set",
        [JS_IS_ARRAY_BUFFER] = "new ArrayBuffer(1)",
        [JS_IS_SHARED_ARRAY_BUFFER] = "new SharedArrayBuffer(1)",
        [JS_IS_VIEW] = "new DataView(new ArrayBuffer(1))",
        [JS_IS_TYPED_ARRAY] = "new Int16Array(1)",
        [JS_IS_UINT8_ARRAY] = "new Uint8Array(1)",
        [JS_IS_DATA_VIEW] = "new DataView(new ArrayBuffer(1))",
        [JS_IS_GENERATOR] = "(function* () {})()",
        [JS_IS_WASM_MODULE] = "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))",
    };
    struct fixture f;
    fixture_open(&f);
    js_value plain = fixture_run(&f, "({})");
    for (unsigned i = 0; i < JS_CLASS_COUNT; i++) {
        assert_false(js_is(plain, (enum js_class)i));
        if (source[i] != NULL)
            assert_true(js_is(fixture_run(&f, source[i]), (enum js_class)i));
    }
    assert_true(js_is(js_external(f.js, &f), JS_IS_EXTERNAL));
    assert_ptr_equal(js_as_external(js_external(f.js, &f)), &f);
    fixture_close(&f);
}

static void test_numbers_and_bigints_go_both_ways(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    bool lossless;
    double d;
    int32_t i;
    TEXT_IS(&f, js_int(f.js, -5), "-5");
    TEXT_IS(&f, js_number(f.js, 0.25), "0.25");
    TEXT_IS(&f, js_bigint(f.js, INT64_MIN), "-9223372036854775808");
    TEXT_IS(&f, js_bigint_u64(f.js, UINT64_MAX), "18446744073709551615");
    assert_true(js_as_i64(fixture_run(&f, "-(2n ** 63n)"), &lossless) == INT64_MIN && lossless);
    assert_true(js_as_u64(fixture_run(&f, "2n ** 64n + 3n"), &lossless) == 3 && !lossless);
    assert_true(js_as_number(fixture_run(&f, "1 / 4")) == 0.25);
    assert_int_equal(js_to_number(f.js, fixture_run(&f, "({ valueOf: () => 12 })"), &d), 0);
    assert_true(d == 12);
    assert_int_equal(js_to_int32(f.js, fixture_run(&f, "2 ** 32 + 7"), &i), 0);
    assert_int_equal(i, 7);
    assert_int_equal(js_to_number(f.js, fixture_run(&f, "Symbol()"), &d), JS_THREW);
    THREW(&f, "TypeError: Cannot convert a Symbol value to a number");
    assert_true(js_to_bool(f.js, fixture_run(&f, "[]")));
    assert_false(js_to_bool(f.js, fixture_run(&f, "''")));
    assert_true(js_same(js_int(f.js, 1), js_number(f.js, 1)));
    assert_false(js_same(js_number(f.js, 0.0 / 0.0), js_number(f.js, 0.0 / 0.0)));
    assert_true(js_same_value(js_number(f.js, 0.0 / 0.0), js_number(f.js, 0.0 / 0.0)));
    assert_true(js_same(js_bool(f.js, true), fixture_run(&f, "true")));
    assert_true(js_same(js_null(f.js), fixture_run(&f, "null")));
    fixture_close(&f);
}

static void test_dates_and_the_clock_are_the_platforms(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value date;
    assert_int_equal(js_date(f.js, 86400000, &date), 0);
    assert_true(js_as_date(date) == 86400000);
    RUN_IS(&f, "new Date(0).toISOString()", "1970-01-01T00:00:00.000Z");
    RUN_IS(&f, "Date.now()", "1700000000000");
    fixture_wall_ms += 5;
    RUN_IS(&f, "Date.now() + ' ' + +new Date()", "1700000000005 1700000000005");
    fixture_wall_ms -= 5;
    fixture_close(&f);
}

static void test_text_goes_in_as_utf8_and_comes_out_as_utf8(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "a",
        "plain ascii that is longer than one word",
        "gr\xc3\xbc\xc3\x9f",
        "\xe2\x82\xac and \xc3\xa9",
        "\xf0\x9f\x98\x80 smile",
    };
    struct fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < CD_COUNT(texts); i++) {
        js_value v;
        assert_int_equal(js_string(f.js, cd_str(texts[i]), &v), 0);
        TEXT_IS(&f, v, texts[i]);
        TEXT_IS(&f, js_text(f.js, texts[i]), texts[i]);
    }
    js_value v;
    assert_int_equal(js_string(f.js, CD_STR("\xf0\x9f\x98\x80"), &v), 0);
    assert_int_equal(js_string_len(v), 2);
    assert_int_equal(js_string(f.js, CD_STR("a\0b"), &v), 0);
    assert_int_equal(js_string_len(v), 3);
    assert_int_equal(js_string(f.js, CD_STR("x\xff\xe2\x82y"), &v), 0);
    TEXT_IS(&f, v, "x\xef\xbf\xbd\xef\xbf\xbdy");
    assert_int_equal(js_to_utf8(f.js, fixture_run(&f, "({ toString() { throw 1 } })"), &f.log), JS_THREW);
    THREW(&f, ": 1");
    fixture_close(&f);
}

static void test_lone_surrogates_come_out_as_the_replacement_character(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    RUN_IS(&f, "'a\\ud800b'",
           "a\xef\xbf\xbd"
           "b");
    RUN_IS(&f, "'\\udc00\\ud800'", "\xef\xbf\xbd\xef\xbf\xbd");
    RUN_IS(&f, "'\\ud83d\\ude00'", "\xf0\x9f\x98\x80");
    const uint16_t units[] = {0x41, 0xd83d, 0xde00, 0xdead};
    js_value v;
    assert_int_equal(js_string_utf16(f.js, units, CD_COUNT(units), &v), 0);
    TEXT_IS(&f, v, "A\xf0\x9f\x98\x80\xef\xbf\xbd");
    assert_int_equal(js_string_utf16(f.js, NULL, 0, &v), 0);
    assert_int_equal(js_string_len(v), 0);
    fixture_close(&f);
}

static void test_latin1_bytes_are_units(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    assert_int_equal(js_string_latin1(f.js, CD_STR("\xe9t\xe9"), &v), 0);
    TEXT_IS(&f, v, "\xc3\xa9t\xc3\xa9");
    assert_true(js_string_add_latin1(f.js, v, &f.log));
    assert_str_is(cd_buf_str(&f.log), "\xe9t\xe9");
    assert_false(js_string_add_latin1(f.js, fixture_run(&f, "'\\u20ac'"), &f.log));
    /* A two-byte string whose units all fit. */
    assert_true(
        js_string_add_latin1(f.js, fixture_run(&f, "'\\u20ac\\xff'.slice(1) + 'abcdefghijklmnop'"), &f.log));
    assert_true(js_string_eq(f.js, fixture_run(&f, "'ab' + 'c'"), "abc"));
    assert_false(js_string_eq(f.js, fixture_run(&f, "'abd'"), "abc"));
    fixture_close(&f);
}

static void count_release(void *arg)
{
    ++*(int *)arg;
}

static void test_external_strings_are_released_once(void **state)
{
    (void)state;
    static char bytes[4096];
    memset(bytes, 'e', sizeof bytes);
    struct fixture f;
    fixture_open(&f);
    int small = 0, large = 0;
    js_value v;
    assert_int_equal(js_string_external(f.js, cd_str_of(bytes, 5), count_release, &small, &v), 0);
    assert_int_equal(small, 1);
    TEXT_IS(&f, v, "eeeee");
    struct js_scope scope;
    js_scope_open(f.js, &scope);
    assert_int_equal(js_string_external(f.js, cd_str_of(bytes, sizeof bytes), count_release, &large, &v), 0);
    assert_int_equal(js_string_len(v), sizeof bytes);
    js_scope_close(&scope);
    assert_int_equal(large, 0);
    js_gc(f.js);
    assert_int_equal(large, 1);
    assert_int_equal(js_string_external(f.js, cd_str_of(bytes, sizeof bytes), count_release, &large, &v), 0);
    fixture_close(&f);
    assert_int_equal(large, 2);
}

static void test_a_string_over_the_limit_is_a_range_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    /* The bytes are not touched: the length alone decides. */
    assert_int_equal(js_string_latin1(f.js, cd_str_of("", (size_t)JS_STRING_MAX + 1), &v), JS_THREW);
    THREW(&f, "RangeError: Invalid string length");
    assert_int_equal(js_string(f.js, cd_str_of("", (size_t)INT32_MAX + 1), &v), JS_THREW);
    THREW(&f, "RangeError: Invalid string length");
    RUN_THROWS(&f, "'x'.repeat(2 ** 29)", "RangeError: Invalid string length");
    fixture_close(&f);
}

static void test_symbols_can_be_made_and_the_well_known_are_known(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    assert_int_equal(js_kind(js_symbol(f.js, "mine")), JS_SYMBOL);
    assert_true(js_same(js_symbol_well_known(f.js, JS_SYMBOL_ITERATOR), fixture_run(&f, "Symbol.iterator")));
    assert_true(js_same(js_symbol_well_known(f.js, JS_SYMBOL_ASYNC_ITERATOR),
                        fixture_run(&f, "Symbol.asyncIterator")));
    assert_true(
        js_same(js_symbol_well_known(f.js, JS_SYMBOL_TO_STRING_TAG), fixture_run(&f, "Symbol.toStringTag")));
    fixture_close(&f);
}

CD_TESTS(value, cmocka_unit_test(test_kinds_tell_values_apart),
         cmocka_unit_test(test_classes_tell_objects_apart),
         cmocka_unit_test(test_numbers_and_bigints_go_both_ways),
         cmocka_unit_test(test_dates_and_the_clock_are_the_platforms),
         cmocka_unit_test(test_text_goes_in_as_utf8_and_comes_out_as_utf8),
         cmocka_unit_test(test_lone_surrogates_come_out_as_the_replacement_character),
         cmocka_unit_test(test_latin1_bytes_are_units),
         cmocka_unit_test(test_external_strings_are_released_once),
         cmocka_unit_test(test_a_string_over_the_limit_is_a_range_error),
         cmocka_unit_test(test_symbols_can_be_made_and_the_well_known_are_known))
