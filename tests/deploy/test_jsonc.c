#include "rig.h"

static void test_json_is_read_in_the_order_of_the_file(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "{\"b\":1,\"a\":[true,false,null,\"x\",{}],\"c\":{\"d\":[]}}",
                "{\"b\":1,\"a\":[true,false,null,\"x\",{}],\"c\":{\"d\":[]}}");
    rig_tree_is(jsonc, " \t\r\n7\n", "7");
    rig_tree_is(jsonc, "\"\"", "\"\"");
}

static void test_comments_and_trailing_commas_are_blank(void **state)
{
    (void)state;
    rig_tree_is(
        jsonc,
        "// first\n{ /* a * / \" */ \"a\" /**/ : // b\n 1 , /* c */ } // last, without an end of the line",
        "{\"a\":1}");
    rig_tree_is(jsonc, "[1,2,]", "[1,2]");
    rig_tree_is(jsonc, "{\"a\":[{},],}", "{\"a\":[{}]}");
    rig_tree_is(jsonc, "{\"url\":\"http://x/*y*/\"}",
                "{\"url\":\"http://x/*y*/\"}"); /* Strings stay as they are. */
    rig_tree_is(jsonc, "\xef\xbb\xbf{}", "{}");
    rig_tree_is(jsonc, "[,]", "1:2: expected a value, found ','");
    rig_tree_is(jsonc, "{,}", "1:2: expected a key in double quotes or '}', found ','");
    rig_tree_is(jsonc, "[1,,2]", "1:4: expected a value, found ','");
    rig_tree_is(jsonc, "{} /* x", "1:4: this comment has no end");
    rig_tree_is(jsonc, "{ /*/ }", "1:3: this comment has no end");
    rig_tree_is(jsonc, "{} # x", "1:4: expected the end of the file, found '#'");
}

static void test_strings_are_those_of_json(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\t\"");
    rig_tree_is(jsonc, "\"\\u0041\\u00e4\\u20AC\\ud83d\\ude00\"",
                "\"A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    rig_tree_is(jsonc, "\"\\u0000\"", "\"\\u0000\"");
    rig_tree_is(jsonc, "\"\xc3\xa4\"", "\"\xc3\xa4\"");
    rig_tree_is(jsonc, "[\"\\ud83d\"]", "1:3: half of a surrogate pair is no character");
    rig_tree_is(jsonc, "[\"\\ude00\"]", "1:3: half of a surrogate pair is no character");
    rig_tree_is(jsonc, "[\"\\ud83d\\u0041\"]", "1:3: half of a surrogate pair is no character");
    rig_tree_is(jsonc, "\"\\u12g4\"", "1:4: \\u needs four hexadecimal digits");
    rig_tree_is(jsonc, "\"\\u12", "1:4: \\u needs four hexadecimal digits");
    rig_tree_is(jsonc, "\"\\x41\"", "1:2: no escape of JSON");
    rig_tree_is(jsonc, "\"\\", "1:2: no escape of JSON");
    rig_tree_is(jsonc, "\"a\tb\"", "1:3: control character 0x09 in a string: write \\u0009");
    rig_tree_is(jsonc, "\"a\0b\"", "1:3: control character 0x00 in a string: write \\u0000");
    rig_tree_is(jsonc, "{\n \"a\n\": 1}", "2:2: this string has no end in its line");
    rig_tree_is(jsonc, "\"abc", "1:1: this string has no end in its line");
    rig_tree_is(jsonc, "{'a': 1}", "1:2: expected a key in double quotes or '}', found '''");
    rig_tree_is(jsonc, "{a: 1}", "1:2: expected a key in double quotes or '}', found 'a'");
}

static void test_numbers_are_those_of_json_and_keep_their_spelling(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "[0,-0,10,1.50,-2e+10,3E-7,123456789012345678901234567890]",
                "[0,-0,10,1.50,-2e+10,3E-7,123456789012345678901234567890]");
    rig_tree_is(jsonc, "01", "1:1: a number does not start with 0");
    rig_tree_is(jsonc, "-", "1:2: the file ends where a digit was expected");
    rig_tree_is(jsonc, "1.", "1:3: the file ends where a digit was expected");
    rig_tree_is(jsonc, "[1.e5]", "1:4: expected a digit, found 'e'");
    rig_tree_is(jsonc, "[1e]", "1:4: expected a digit, found ']'");
    rig_tree_is(jsonc, "+1", "1:1: expected a value, found '+'");
    rig_tree_is(jsonc, ".5", "1:1: expected a value, found '.'");
    rig_tree_is(jsonc, "0x10", "1:2: expected the end of the file, found 'x'");
    rig_tree_is(jsonc, "[1_000]", "1:3: expected ',' or ']', found '_'");
    rig_tree_is(jsonc, "NaN", "1:1: expected a value, found 'N'");
}

static void test_structure_that_is_wrong_is_told_where_it_is(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "", "1:1: the file ends where a value was expected");
    rig_tree_is(jsonc, "{", "1:2: the file ends where a key in double quotes or '}' was expected");
    rig_tree_is(jsonc, "{\"a\"", "1:5: the file ends where ':' was expected");
    rig_tree_is(jsonc, "{\"a\":}", "1:6: expected a value, found '}'");
    rig_tree_is(jsonc, "{\"a\":1", "1:7: the file ends where ',' or '}' was expected");
    rig_tree_is(jsonc, "{\n\t\"a\": 1\n\t\"b\": 2}", "3:2: expected ',' or '}', found '\\\"'");
    rig_tree_is(jsonc, "[1 2]", "1:4: expected ',' or ']', found '2'");
    rig_tree_is(jsonc, "[1}", "1:3: expected ',' or ']', found '}'");
    rig_tree_is(jsonc, "{}{}", "1:3: expected the end of the file, found '{'");
    rig_tree_is(jsonc, "truex", "1:5: expected the end of the file, found 'x'");
    rig_tree_is(jsonc, "[\xe2\x82\xac]", "1:2: expected a value, found '\xe2\x82\xac'");
    rig_tree_is(jsonc, "[\x1b]", "1:2: expected a value, found '\\u001b'");
    rig_tree_is(jsonc, "[\0]", "1:2: expected a value, found '\\u0000'");
}

static void test_a_key_stands_once_in_its_object(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "{\n  \"a\": 1,\n  \"b\": {\"a\": 1},\n  \"\\u0061\": 2\n}",
                "4:3: duplicate key \"a\", first at line 2, column 3");
    rig_tree_is(jsonc, "{\"\":1,\"\":2}", "1:7: duplicate key \"\", first at line 1, column 2");
    rig_tree_is(jsonc, "[{\"a\":1},{\"a\":1}]", "[{\"a\":1},{\"a\":1}]");
}

static void test_columns_count_characters(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "{\"\xc3\xa4\xe2\x82\xac\": x}", "1:8: expected a value, found 'x'");
    rig_tree_is(jsonc, "\xef\xbb\xbf[x]", "1:2: expected a value, found 'x'");
    rig_tree_is(jsonc, "[\r\n  x]", "2:3: expected a value, found 'x'");
}

static void test_bytes_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    rig_tree_is(jsonc, "{\"a\":\n\"\xff\"}", "2:2: byte 0xff is not UTF-8");
    rig_tree_is(jsonc, "[\"\xed\xa0\x80\"]", "1:3: byte 0xed is not UTF-8");
    rig_tree_is(jsonc, "// \xc3", "1:4: byte 0xc3 is not UTF-8");
}

static void test_nesting_and_size_have_limits(void **state)
{
    (void)state;
    char text[200] = {0};
    memset(text, '[', DEPLOY_DEPTH_MAX);
    memset(text + DEPLOY_DEPTH_MAX, ']', DEPLOY_DEPTH_MAX);
    assert_string_equal(rig_tree_jsonc(cd_str(text)), text);
    memset(text, '[', DEPLOY_DEPTH_MAX + 1);
    assert_string_equal(rig_tree_jsonc(cd_str(text)), "1:65: nested deeper than 64 levels");

    struct cd_buf large = {0};
    cd_buf_add_byte(&large, '7');
    while (large.len < DEPLOY_FILE_MAX)
        cd_buf_add_byte(&large, ' ');
    assert_string_equal(rig_tree_jsonc(cd_buf_str(&large)), "7");
    cd_buf_add_byte(&large, ' ');
    assert_string_equal(rig_tree_jsonc(cd_buf_str(&large)), "1:1: 1048577 bytes, at most 1048576");
    cd_buf_deinit(&large);
}

static void test_a_file_of_nothing_but_keys_is_read_in_its_share_of_time(void **state)
{
    (void)state;
    struct cd_buf text = {0};
    cd_buf_add_byte(&text, '{');
    for (unsigned i = 0; text.len < DEPLOY_FILE_MAX - 32; i++)
        cd_buf_addf(&text, "\"%x\":0,", i);
    cd_buf_add_byte(&text, '}');
    struct rig r = rig_bytes("/p/wrangler.json", cd_buf_str(&text)); /* Each is an unknown key besides. */
    assert_int_equal(r.rc, CD_EINVAL);
    assert_true(r.problems.errors > 80000);
    assert_true(r.errors.len < 20000);
    rig_end(&r);
    cd_buf_deinit(&text);
}

CD_TESTS(jsonc, cmocka_unit_test(test_json_is_read_in_the_order_of_the_file),
         cmocka_unit_test(test_comments_and_trailing_commas_are_blank),
         cmocka_unit_test(test_strings_are_those_of_json),
         cmocka_unit_test(test_numbers_are_those_of_json_and_keep_their_spelling),
         cmocka_unit_test(test_structure_that_is_wrong_is_told_where_it_is),
         cmocka_unit_test(test_a_key_stands_once_in_its_object),
         cmocka_unit_test(test_columns_count_characters),
         cmocka_unit_test(test_bytes_that_are_not_utf8_are_refused),
         cmocka_unit_test(test_nesting_and_size_have_limits),
         cmocka_unit_test(test_a_file_of_nothing_but_keys_is_read_in_its_share_of_time))
