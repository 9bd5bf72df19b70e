/* JSON: strict, bounded reading with readable reasons; writing that a reader gives back. */
#include "base/json.h"
#include "base/rng.h"
#include "support/death.h"
#include "support/test.h"

#include <string.h>

static struct cd_json_doc *parsed(struct cd_str text)
{
    struct cd_json_doc *doc = NULL;
    struct cd_buf why = {0};
    if (cd_json_parse(&doc, text, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    assert_int_equal(why.len, 0);
    cd_buf_deinit(&why);
    return doc;
}

static void check_refused(struct cd_str text, const char *reason)
{
    struct cd_json_doc *doc = (struct cd_json_doc *)(uintptr_t)1;
    struct cd_buf why = {0};
    cd_buf_add_str(&why, CD_STR("manifest: "));
    if (cd_json_parse(&doc, text, &why) != CD_ESYNTAX)
        fail_msg("accepted: %.*s", (int)text.len, text.ptr);
    assert_ptr_equal(doc, (void *)(uintptr_t)1);
    if (reason != NULL && strstr(cd_buf_cstr(&why), reason) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", cd_buf_cstr(&why), reason);
    assert_true(cd_str_starts(cd_buf_str(&why), CD_STR("manifest: line ")));
    assert_int_equal(cd_json_parse(&doc, text, NULL), CD_ESYNTAX);
    cd_buf_deinit(&why);
}

static void test_a_record_is_read(void **state)
{
    struct cd_str s = {NULL, 0};
    uint64_t n = 0;
    bool b = false;
    (void)state;
    struct cd_json_doc *doc =
        parsed(CD_STR(" {\"epoch\": 7, \"node\":\"n1\",\t\"ok\":true,\r\n\"list\":[1,[2,3],null,-1.5e3]} "));
    const struct cd_json *root = cd_json_root(doc);
    assert_int_equal(cd_json_kind(root), CD_JSON_OBJECT);
    assert_int_equal(cd_json_count(root), 4);
    assert_int_equal(cd_json_u64(cd_json_get(root, "epoch"), &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(cd_json_str(cd_json_get(root, "node"), &s), 0);
    assert_str_is(s, "n1");
    assert_int_equal(cd_json_bool(cd_json_get(root, "ok"), &b), 0);
    assert_true(b);
    const struct cd_json *list = cd_json_get(root, "list");
    assert_int_equal(cd_json_count(list), 4);
    assert_int_equal(cd_json_kind(cd_json_item(list, 0)), CD_JSON_NUMBER);
    assert_int_equal(cd_json_kind(cd_json_item(list, 1)), CD_JSON_ARRAY);
    assert_int_equal(cd_json_kind(cd_json_item(list, 2)), CD_JSON_NULL);
    assert_int_equal(cd_json_kind(cd_json_item(list, 3)), CD_JSON_NUMBER);
    assert_null(cd_json_item(list, 4));
    assert_null(cd_json_item(root, 0));
    cd_json_free(doc);
    cd_json_free(NULL);
}

static void test_lookups_chain_through_what_is_missing(void **state)
{
    struct cd_str s = CD_STR("kept");
    uint64_t n = 77;
    bool b = true;
    (void)state;
    struct cd_json_doc *doc = parsed(CD_STR("{\"a\":{\"b\":\"x\"}}"));
    const struct cd_json *missing = cd_json_get(cd_json_get(cd_json_get(cd_json_root(doc), "z"), "b"), "c");
    assert_null(missing);
    assert_int_equal(cd_json_kind(missing), CD_JSON_NULL);
    assert_int_equal(cd_json_count(missing), 0);
    assert_null(cd_json_item(missing, 0));
    assert_null(cd_json_member(missing, 0, NULL));
    assert_null(cd_json_next(missing, NULL, NULL));
    assert_int_equal(cd_json_str(missing, &s), CD_EINVAL);
    assert_int_equal(cd_json_u64(missing, &n), CD_EINVAL);
    assert_int_equal(cd_json_bool(missing, &b), CD_EINVAL);
    const struct cd_json *x = cd_json_get(cd_json_get(cd_json_root(doc), "a"), "b");
    assert_null(cd_json_get(x, "b"));
    assert_int_equal(cd_json_u64(x, &n), CD_EINVAL);
    assert_int_equal(cd_json_bool(x, &b), CD_EINVAL);
    assert_int_equal(cd_json_str(cd_json_root(doc), &s), CD_EINVAL);
    assert_str_is(s, "kept");
    assert_int_equal(n, 77);
    assert_true(b);
    cd_json_free(doc);
}

static void test_members_come_in_document_order(void **state)
{
    static const char *const want[] = {"b", "a", "", "a", "z"};
    struct cd_str key;
    size_t i = 0;
    (void)state;
    struct cd_json_doc *doc = parsed(CD_STR("{\"b\":[1,[],{}],\"a\":{\"x\":{}},\"\":[],\"a\":{},\"z\":0}"));
    const struct cd_json *root = cd_json_root(doc);
    for (const struct cd_json *v = NULL; (v = cd_json_next(root, v, &key)) != NULL; i++) {
        assert_str_is(key, want[i]);
        assert_ptr_equal(cd_json_member(root, i, &key), v);
        assert_str_is(key, want[i]);
    }
    assert_int_equal(i, 5);
    assert_null(cd_json_member(root, 5, &key));
    /* Of two members with one name the first counts. */
    assert_int_equal(cd_json_count(cd_json_get(root, "a")), 1);
    const struct cd_json *b = cd_json_get(root, "b"), *v = NULL;
    for (i = 0; (v = cd_json_next(b, v, NULL)) != NULL; i++)
        assert_ptr_equal(cd_json_item(b, i), v);
    assert_int_equal(i, 3);
    assert_null(cd_json_next(cd_json_get(root, ""), NULL, &key));
    assert_null(cd_json_next(cd_json_item(b, 2), NULL, &key));
    assert_null(cd_json_next(cd_json_get(root, "z"), NULL, &key));
    cd_json_free(doc);
}

/* A peer can send a megabyte of members: walking them may not take the square of it. */
static void test_walking_a_large_document_is_linear(void **state)
{
    const unsigned members = 200000;
    struct cd_buf text = {0};
    (void)state;
    cd_buf_add_byte(&text, '{');
    for (unsigned i = 0; i < members; i++)
        cd_buf_addf(&text, "%s\"k%u\":[%u,[]]", i == 0 ? "" : ",", i, i);
    cd_buf_add_byte(&text, '}');
    struct cd_json_doc *doc = parsed(cd_buf_str(&text));
    unsigned seen = 0;
    uint64_t n;
    struct cd_str key;
    for (const struct cd_json *v = NULL; (v = cd_json_next(cd_json_root(doc), v, &key)) != NULL; seen++) {
        assert_int_equal(cd_json_u64(cd_json_item(v, 0), &n), 0);
        assert_int_equal(n, seen);
        assert_int_equal(key.ptr[0], 'k');
    }
    assert_int_equal(seen, members);
    cd_json_free(doc);
    cd_buf_deinit(&text);
}

static void test_strings_are_decoded_and_may_hold_nul(void **state)
{
    static const char want[] = "a\0\"\\/\b\f\n\r\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
    struct cd_str s;
    (void)state;
    struct cd_json_doc *doc =
        parsed(CD_STR("\"a\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\xe2\x82\xac\\uD83D\\uDE00\""));
    assert_int_equal(cd_json_str(cd_json_root(doc), &s), 0);
    assert_int_equal(s.len, sizeof want - 1);
    assert_memory_equal(s.ptr, want, s.len);
    cd_json_free(doc);
}

static void test_what_rfc_8259_does_not_allow_is_refused(void **state)
{
    static const char *const bad[] = {
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":}",
        "[,]",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "0x10",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "True",
        "nulll",
        "1 2",
        "{} {}",
        "[]]",
        "// c\n1",
        "1 /* c */",
        "\"",
        "\"\\\"",
        "\"\\x41\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\n\"",
        "\"\t\"",
        "\"\x01\"",
        "\xef\xbb\xbf\x31",
        "]",
        "}",
        "undefined",
        "[1,\f2]",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xe2\x82\"",
        "\xff",
    };
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        check_refused(cd_str(bad[i]), NULL);
    check_refused(CD_STR("1\0"), NULL);
    check_refused(CD_STR("\"a\0b\""), NULL);
    check_refused(CD_STR(" \n "), NULL);
    check_refused(CD_STR(""), "line 1, column 1: empty text");
    check_refused((struct cd_str){NULL, 0}, "line 1, column 1: empty text");
}

static void test_the_reason_names_line_and_column(void **state)
{
    (void)state;
    check_refused(CD_STR("{\n  \"a\": 1,\n  \"b\": x\n}"), "manifest: line 3, column 8: ");
    check_refused(CD_STR("[1,\n"), "manifest: line 2, column 1: ");
    check_refused(CD_STR("x"), "manifest: line 1, column 1: ");
}

static void nested(struct cd_buf *text, unsigned depth, bool objects)
{
    cd_buf_clear(text);
    for (unsigned i = 0; i < depth; i++)
        cd_buf_add_str(text, objects && i % 2 == 1 ? CD_STR("{\"[{\\\"[[\":") : CD_STR("["));
    cd_buf_add_str(text, CD_STR("\"[[[[{{{{\\\\\""));
    for (unsigned i = depth; i-- > 0;)
        cd_buf_add_byte(text, objects && i % 2 == 1 ? '}' : ']');
}

static void test_64_levels_are_read_and_65_are_not(void **state)
{
    struct cd_buf text = {0};
    (void)state;
    for (unsigned objects = 0; objects < 2; objects++) {
        nested(&text, CD_JSON_DEPTH_MAX, objects != 0);
        struct cd_json_doc *doc = parsed(cd_buf_str(&text));
        const struct cd_json *v = cd_json_root(doc);
        for (unsigned i = 0; i < CD_JSON_DEPTH_MAX; i++)
            v = cd_json_next(v, NULL, NULL);
        assert_int_equal(cd_json_kind(v), CD_JSON_STRING);
        cd_json_free(doc);
        nested(&text, CD_JSON_DEPTH_MAX + 1, objects != 0);
        check_refused(cd_buf_str(&text), "nested deeper than 64 levels");
    }
    check_refused(CD_STR("]]]]}}}}[[[["), "line 1, column 1: ");
    cd_buf_deinit(&text);
}

static void test_bombs_of_100000_brackets_are_refused(void **state)
{
    static const char *const piece[] = {"[", "{\"a\":", "[{\"a\":", "[[],"};
    (void)state;
    for (size_t k = 0; k < CD_COUNT(piece); k++) {
        struct cd_buf text = {0};
        for (unsigned i = 0; i < 100000; i++)
            cd_buf_add_str(&text, cd_str(piece[k]));
        check_refused(cd_buf_str(&text), "nested deeper than 64 levels");
        cd_buf_deinit(&text);
    }
}

static void test_many_flat_brackets_are_not_deep(void **state)
{
    struct cd_buf text = {0};
    (void)state;
    cd_buf_add_byte(&text, '[');
    for (unsigned i = 0; i < 100000; i++)
        cd_buf_add_str(&text, CD_STR("[],{},"));
    cd_buf_add_str(&text, CD_STR("\"]\"]"));
    struct cd_json_doc *doc = parsed(cd_buf_str(&text));
    assert_int_equal(cd_json_count(cd_json_root(doc)), 200001);
    cd_json_free(doc);
    cd_buf_deinit(&text);
}

static void test_integers_are_exact_up_to_2_to_53_minus_1(void **state)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"9007199254740991", 0, (UINT64_C(1) << 53) - 1},
        {"9007199254740992", CD_ETOOBIG, 77},
        {"9007199254740993", CD_ETOOBIG, 77},
        {"18446744073709551615", CD_ETOOBIG, 77},
        {"18446744073709551616", CD_ETOOBIG, 77},
        {"123456789012345678901234567890", CD_ETOOBIG, 77},
        {"1e300", CD_EINVAL, 77},
        {"-1", CD_EINVAL, 77},
        {"-0", CD_EINVAL, 77},
        {"-18446744073709551616", CD_EINVAL, 77},
        {"1.0", CD_EINVAL, 77},
        {"1e3", CD_EINVAL, 77},
        {"0.5", CD_EINVAL, 77},
        {"\"5\"", CD_EINVAL, 77},
        {"true", CD_EINVAL, 77},
        {"null", CD_EINVAL, 77},
        {"[1]", CD_EINVAL, 77},
    };
    (void)state;
    for (size_t i = 0; i < CD_COUNT(cases); i++) {
        uint64_t v = 77;
        struct cd_json_doc *doc = parsed(cd_str(cases[i].text));
        if (cd_json_u64(cd_json_root(doc), &v) != cases[i].rc)
            fail_msg("%s", cases[i].text);
        assert_true(v == cases[i].value);
        cd_json_free(doc);
    }
}

static void test_a_number_beyond_all_doubles_is_a_number_that_nobody_reads(void **state)
{
    uint64_t v = 77;
    (void)state;
    struct cd_json_doc *doc = parsed(CD_STR("1e400"));
    assert_int_equal(cd_json_kind(cd_json_root(doc)), CD_JSON_NUMBER);
    assert_int_equal(cd_json_u64(cd_json_root(doc), &v), CD_EINVAL);
    assert_int_equal(v, 77);
    cd_json_free(doc);
}

static void test_the_text_is_copied(void **state)
{
    char text[] = "{\"a\":\"x\\ny\"}", before[sizeof text];
    struct cd_str s;
    (void)state;
    memcpy(before, text, sizeof text);
    struct cd_json_doc *doc = parsed(cd_str(text));
    assert_memory_equal(text, before, sizeof text);
    memset(text, 'z', sizeof text);
    assert_int_equal(cd_json_str(cd_json_get(cd_json_root(doc), "a"), &s), 0);
    assert_str_is(s, "x\ny");
    cd_json_free(doc);
}

static void test_a_value_is_written_back_as_it_was(void **state)
{
    static const char text[] =
        "{\"a\":[1,-2.5,1e400,18446744073709551616,true,null],\"b\":\"\\n\xc3\xa4\",\"b\":{}}";
    struct cd_json_doc *doc;
    struct cd_buf out = {0};
    (void)state;
    assert_int_equal(cd_json_parse(&doc, cd_str(text), NULL), 0);
    cd_json_text(&out, cd_json_root(doc));
    assert_str_is(cd_buf_str(&out), text);
    cd_buf_deinit(&out);
    cd_json_free(doc);
}

CD_TESTS(json, cmocka_unit_test(test_a_record_is_read),
         cmocka_unit_test(test_a_value_is_written_back_as_it_was),
         cmocka_unit_test(test_lookups_chain_through_what_is_missing),
         cmocka_unit_test(test_members_come_in_document_order),
         cmocka_unit_test(test_walking_a_large_document_is_linear),
         cmocka_unit_test(test_strings_are_decoded_and_may_hold_nul),
         cmocka_unit_test(test_what_rfc_8259_does_not_allow_is_refused),
         cmocka_unit_test(test_the_reason_names_line_and_column),
         cmocka_unit_test(test_64_levels_are_read_and_65_are_not),
         cmocka_unit_test(test_bombs_of_100000_brackets_are_refused),
         cmocka_unit_test(test_many_flat_brackets_are_not_deep),
         cmocka_unit_test(test_integers_are_exact_up_to_2_to_53_minus_1),
         cmocka_unit_test(test_a_number_beyond_all_doubles_is_a_number_that_nobody_reads),
         cmocka_unit_test(test_the_text_is_copied))
