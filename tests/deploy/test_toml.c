#include "rig.h"

static void test_keys_are_bare_quoted_or_dotted(void **state)
{
    (void)state;
    rig_tree_is(toml, "", "{}");
    rig_tree_is(toml, "a = 1\nb-_9=2\n1234 = 3", "{\"a\":1,\"b-_9\":2,\"1234\":3}");
    rig_tree_is(toml, "\"a.b\" = 1\n'c \"d' = 2\n\"\" = 3\n\"\\u00e4\" = 4",
                "{\"a.b\":1,\"c \\\"d\":2,\"\":3,\"\xc3\xa4\":4}");
    rig_tree_is(toml, "a . b.\"c\" = 1\na.d = 2", "{\"a\":{\"b\":{\"c\":1},\"d\":2}}");
    rig_tree_is(toml, "3.14 = 1", "{\"3\":{\"14\":1}}");
    rig_tree_is(toml, "= 1", "1:1: expected a key, found '='");
    rig_tree_is(toml, "a.=1", "1:3: expected a key, found '='");
    rig_tree_is(toml, "a b = 1", "1:3: expected '=', found 'b'");
    rig_tree_is(toml, "a", "1:2: the file ends where '=' was expected");
    rig_tree_is(toml, "a =\nb = 1", "1:4: the line ends where a value was expected");
    rig_tree_is(toml, "a = 1 b = 2", "1:7: expected the end of the line, found 'b'");
    rig_tree_is(toml, "\"\"\"a\"\"\" = 1", "1:1: a key cannot have several lines");
    rig_tree_is(toml, "\xc3\xa4 = 1", "1:1: expected a key, found '\xc3\xa4'");
}

static void test_comments_and_blank_lines(void **state)
{
    (void)state;
    rig_tree_is(toml, "# first\r\n\r\n \ta = 1 # \xc3\xa4 \"\n#last", "{\"a\":1}");
    rig_tree_is(toml,
                "\xef\xbb\xbf"
                "a = 1",
                "{\"a\":1}");
    rig_tree_is(toml, "a = 1 # \x01", "1:9: control character 0x01 in a comment");
    rig_tree_is(toml, "a = 1 # \r x", "1:9: control character 0x0d in a comment");
    rig_tree_is(toml, "a = 1 \r b = 2", "1:7: expected the end of the line, found '\\r'");
    rig_tree_is(toml, "a = 1\n\xff", "2:1: byte 0xff is not UTF-8");
}

static void test_strings_of_one_line(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = \"\\b\\t\\n\\f\\r\\\"\\\\ \\u20AC \\U0001F600 '\"",
                "{\"a\":\"\\u0008\\t\\n\\u000c\\r\\\"\\\\ \xe2\x82\xac \xf0\x9f\x98\x80 '\"}");
    rig_tree_is(toml, "a = 'C:\\x\\u \"q\"\t'", "{\"a\":\"C:\\\\x\\\\u \\\"q\\\"\\t\"}");
    rig_tree_is(toml, "a = ''\nb = \"\"", "{\"a\":\"\",\"b\":\"\"}");
    rig_tree_is(toml, "a = \"x\nb = 1", "1:5: this string has no end in its line");
    rig_tree_is(toml, "a = 'x", "1:5: this string has no end");
    rig_tree_is(toml, "a = \"\\", "1:6: no escape of TOML");
    rig_tree_is(toml, "a = \"\\e\"", "1:6: no escape of TOML");
    rig_tree_is(toml, "a = \"\\x41\"", "1:6: no escape of TOML");
    rig_tree_is(toml, "a = \"\\u12\"", "1:6: \\u needs 4 hexadecimal digits");
    rig_tree_is(toml, "a = \"\\U0000004\"", "1:6: \\U needs 8 hexadecimal digits");
    rig_tree_is(toml, "a = \"\\uD800\"", "1:6: no character of Unicode");
    rig_tree_is(toml, "a = \"\\U00110000\"", "1:6: no character of Unicode");
    rig_tree_is(toml, "a = \"\x7f\"", "1:6: control character 0x7f in a string");
    rig_tree_is(toml, "a = '\x01'", "1:6: control character 0x01 in a string");
    rig_tree_is(toml, "a = 'it''s'", "1:9: expected the end of the line, found '''");
}

static void test_strings_of_several_lines(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = \"\"\"\nx\ny\"\"\"", "{\"a\":\"x\\ny\"}");
    rig_tree_is(toml, "a = '''\r\nx\r\ny'''", "{\"a\":\"x\\ny\"}"); /* However the file ends its lines. */
    rig_tree_is(toml, "a = \"\"\"x\\\n\n  \t y \\  \n z\"\"\"", "{\"a\":\"xy z\"}");
    rig_tree_is(toml, "a = '''x\\\ny'''", "{\"a\":\"x\\\\\\ny\"}");
    rig_tree_is(toml, "a = \"\"\"\"\"\"\nb = ''''''", "{\"a\":\"\",\"b\":\"\"}");
    rig_tree_is(toml, "a = \"\"\"x\"\"y\"\"\"\"\"", "{\"a\":\"x\\\"\\\"y\\\"\\\"\"}");
    rig_tree_is(toml, "a = '''''x''''", "{\"a\":\"''x'\"}");
    rig_tree_is(toml, "a = \"\"\"x\"\"\"\"\"\"", "1:14: expected the end of the line, found '\\\"'");
    rig_tree_is(toml, "a = \"\"\"x\\\"\"\"\"", "{\"a\":\"x\\\"\"}");
    rig_tree_is(toml, "a = \"\"\"x \\ y\"\"\"", "1:10: no escape of TOML");
    rig_tree_is(toml, "\na = \"\"\"x\n\"\"", "2:5: this string has no end");
    rig_tree_is(toml, "a = \"\"\"\r\"\"\"", "1:8: control character 0x0d in a string");
}

static void test_integers_become_numbers_of_json(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = [0, +0, -0, +17, -17, 1_000, 5_3_4]", "{\"a\":[0,0,0,17,-17,1000,534]}");
    rig_tree_is(toml, "a = [0xDEAD_beef, 0o755, 0b1101, 0x00]", "{\"a\":[3735928559,493,13,0]}");
    rig_tree_is(toml, "a = [9223372036854775807, -9223372036854775808, 0x7fffffffffffffff]",
                "{\"a\":[9223372036854775807,-9223372036854775808,9223372036854775807]}");
    rig_tree_is(toml, "a = 9223372036854775808", "1:5: an integer has at most 63 bits");
    rig_tree_is(toml, "a = -9223372036854775809", "1:5: an integer has at most 63 bits");
    rig_tree_is(toml, "a = 0x8000000000000000", "1:5: an integer has at most 63 bits");
    rig_tree_is(toml,
                "a = 0b"
                "1"
                "000000000000000000000000000000000000000000000000000000000000000",
                "1:5: an integer has at most 63 bits");
    rig_tree_is(toml, "a = 01", "1:5: a number does not start with 0");
    rig_tree_is(toml, "a = 0_1", "1:5: a number does not start with 0");
    rig_tree_is(toml, "a = 1__0", "1:5: not a number");
    rig_tree_is(toml, "a = 1_", "1:5: not a number");
    rig_tree_is(toml, "a = _1", "1:5: expected a value, found '_'");
    rig_tree_is(toml, "a = +_1", "1:5: not a number");
    rig_tree_is(toml, "a = +", "1:5: not a number");
    rig_tree_is(toml, "a = +0x1", "1:5: a number in base 16, 8 or 2 has no sign");
    rig_tree_is(toml, "a = 0X1", "1:6: expected the end of the line, found 'X'");
    rig_tree_is(toml, "a = 0x", "1:5: not a number");
    rig_tree_is(toml, "a = 0x_1", "1:5: not a number");
    rig_tree_is(toml, "a = 0o8", "1:5: not a number");
    rig_tree_is(toml, "a = 0b2", "1:5: not a number");
}

static void test_floats_keep_their_value(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = [1.0, +1.5, -0.0, 5e+22, 1e06, 6.626e-34, 9_224.1_2, 1E3]",
                "{\"a\":[1.0,1.5,-0.0,5e+22,1e06,6.626e-34,9224.12,1e3]}");
    rig_tree_is(toml, "a = [inf, +inf, -inf, nan, -nan]", "{\"a\":[<inf>,<+inf>,<-inf>,<nan>,<-nan>]}");
    rig_tree_is(toml, "a = 1.", "1:5: digits are missing behind the point");
    rig_tree_is(toml, "a = .7", "1:5: expected a value, found '.'");
    rig_tree_is(toml, "a = 3.e+20", "1:5: digits are missing behind the point");
    rig_tree_is(toml, "a = 1e", "1:5: digits are missing in the exponent");
    rig_tree_is(toml, "a = 1e1.0", "1:8: expected the end of the line, found '.'");
    rig_tree_is(toml, "a = 1._0", "1:5: digits are missing behind the point");
    rig_tree_is(toml, "a = 03.14", "1:5: a number does not start with 0");
    rig_tree_is(toml, "a = Inf", "1:5: expected a value, found 'I'");
}

static void test_booleans_have_one_spelling(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = true\nb = false", "{\"a\":true,\"b\":false}");
    rig_tree_is(toml, "a = True", "1:5: expected a value, found 'T'");
    rig_tree_is(toml, "a = falsey", "1:10: expected the end of the line, found 'y'");
    rig_tree_is(toml, "a = null", "1:5: expected a value, found 'n'");
}

static void test_dates_and_times_are_told_from_numbers(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = 1979-05-27T07:32:00Z", "{\"a\":<date 1979-05-27T07:32:00Z>}");
    rig_tree_is(toml, "a = 1979-05-27 07:32:00.999999-07:00 # x",
                "{\"a\":<date 1979-05-27 07:32:00.999999-07:00>}");
    rig_tree_is(toml, "a = 1979-05-27t07:32:60z", "{\"a\":<date 1979-05-27t07:32:60z>}");
    rig_tree_is(toml, "a = 1979-05-27T00:32:00", "{\"a\":<date 1979-05-27T00:32:00>}");
    rig_tree_is(toml, "a = [2024-02-29, 07:32:00, 00:00:00.5]",
                "{\"a\":[<date 2024-02-29>,<date 07:32:00>,<date 00:00:00.5>]}");
    rig_tree_is(toml, "a = 1979-05-27 # x", "{\"a\":<date 1979-05-27>}");
    rig_tree_is(toml, "a = 2023-02-29", "1:5: 2023-02-29 is no date and no time");
    rig_tree_is(toml, "a = 2023-13-01", "1:5: 2023-13-01 is no date and no time");
    rig_tree_is(toml, "a = 2023-00-01", "1:5: 2023-00-01 is no date and no time");
    rig_tree_is(toml, "a = 2023-1-01", "1:5: 2023-1-01 is no date and no time");
    rig_tree_is(toml, "a = 2023-01-01T25:00:00Z", "1:5: 2023-01-01T25:00:00Z is no date and no time");
    rig_tree_is(toml, "a = 2023-01-01T10:00", "1:5: 2023-01-01T10:00 is no date and no time");
    rig_tree_is(toml, "a = 2023-01-01T10:00:00.", "1:5: 2023-01-01T10:00:00. is no date and no time");
    rig_tree_is(toml, "a = 2023-01-01T10:00:00+24:00",
                "1:5: 2023-01-01T10:00:00+24:00 is no date and no time");
    rig_tree_is(toml, "a = 2023-01-01T", "1:5: 2023-01-01T is no date and no time");
    rig_tree_is(toml, "a = 07:32", "1:5: 07:32 is no date and no time");
    rig_tree_is(toml, "a = 07:32:61", "1:5: 07:32:61 is no date and no time");
    rig_tree_is(toml, "a = 07:32:00Z", "1:5: 07:32:00Z is no date and no time");
}

static void test_arrays_may_have_lines_comments_and_a_last_comma(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = []\nb = [ [1,2], [\"x\", 1.5], ]", "{\"a\":[],\"b\":[[1,2],[\"x\",1.5]]}");
    rig_tree_is(toml, "a = [ # x\n\n  1, # y\r\n  2 # z\n  ,\n]\nb = 1", "{\"a\":[1,2],\"b\":1}");
    rig_tree_is(toml, "a = [{b = 1}, {b = 2}]", "{\"a\":[{\"b\":1},{\"b\":2}]}");
    rig_tree_is(toml, "a = [1 2]", "1:8: expected ',' or ']', found '2'");
    rig_tree_is(toml, "a = [,]", "1:6: expected a value, found ','");
    rig_tree_is(toml, "a = [1,,2]", "1:8: expected a value, found ','");
    rig_tree_is(toml, "a = [1,", "1:8: the file ends where a value was expected");
    rig_tree_is(toml, "a = [1", "1:7: the file ends where ',' or ']' was expected");
}

static void test_inline_tables_stand_in_one_line_and_are_complete(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = {}\nb = { c = 1, d.e = 2, d.f = { g = [1,\n2] } }",
                "{\"a\":{},\"b\":{\"c\":1,\"d\":{\"e\":2,\"f\":{\"g\":[1,2]}}}}");
    rig_tree_is(toml, "a = { b = 1, }", "1:14: expected a key, found '}'");
    rig_tree_is(toml, "a = { b = 1\n}", "1:12: the line ends where ',' or '}' was expected");
    rig_tree_is(toml, "a = { b = 1 # x\n}", "1:13: expected ',' or '}', found '#'");
    rig_tree_is(toml, "a = {,}", "1:6: expected a key, found ','");
    rig_tree_is(toml, "a = {", "1:6: the file ends where a key was expected");
    rig_tree_is(toml, "a = {b = 1, b = 2}", "1:13: b, which line 1, column 6 has defined: duplicate key");
    rig_tree_is(toml, "a = {b = 1}\na.c = 2",
                "2:1: a, which line 1, column 1 has defined: dotted keys cannot add to it");
    rig_tree_is(toml, "a = {b = 1}\n[a.c]",
                "2:2: a, which line 1, column 1 has defined: an inline table is complete");
    rig_tree_is(toml, "a = {b = 1}\n[a]",
                "2:2: a, which line 1, column 1 has defined: a table is defined once");
    rig_tree_is(toml, "a = {b.c = 1, b = 2}", "1:15: b, which line 1, column 6 has defined: duplicate key");
    rig_tree_is(toml, "a = {b = {c = 1}, b.d = 2}",
                "1:19: b, which line 1, column 6 has defined: dotted keys cannot add to it");
}

static void test_tables_and_arrays_of_tables(void **state)
{
    (void)state;
    rig_tree_is(toml, "x = 0\n[a]\nb = 1\n[ c . \"d\" ]\n[c]\ne = 2",
                "{\"x\":0,\"a\":{\"b\":1},\"c\":{\"d\":{},\"e\":2}}");
    rig_tree_is(toml, "[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2\n[[a.e]]\n[[a.e]]\nf = 3",
                "{\"a\":[{\"b\":1},{\"c\":{\"d\":2},\"e\":[{},{\"f\":3}]}]}");
    rig_tree_is(toml, "[[ a . b ]] # x\n[a]\nc = 1", "{\"a\":{\"b\":[{}],\"c\":1}}");
    rig_tree_is(toml, "[a.b]\nc = 1\n[a.d]\n[a]\ne = 1", "{\"a\":{\"b\":{\"c\":1},\"d\":{},\"e\":1}}");
    rig_tree_is(toml, "[]", "1:2: expected a key, found ']'");
    rig_tree_is(toml, "[a", "1:3: the file ends where ']' was expected");
    rig_tree_is(toml, "[a.]", "1:4: expected a key, found ']'");
    rig_tree_is(toml, "[[a]", "1:4: expected ']]', found ']'");
    rig_tree_is(toml, "[ [a]]", "1:3: expected a key, found '['");
    rig_tree_is(toml, "[a] b = 1", "1:5: expected the end of the line, found 'b'");
}

static void test_a_table_is_said_once(void **state)
{
    (void)state;
    rig_tree_is(toml, "a = 1\na = 2", "2:1: a, which line 1, column 1 has defined: duplicate key");
    rig_tree_is(toml, "a = 1\n\"a\" = 2", "2:1: a, which line 1, column 1 has defined: duplicate key");
    rig_tree_is(toml, "[a]\n[a]", "2:2: a, which line 1, column 2 has defined: a table is defined once");
    rig_tree_is(toml, "[a.b]\n[a]\n[a.b]",
                "3:4: a.b, which line 1, column 4 has defined: a table is defined once");
    rig_tree_is(toml, "[a]\nb = 1\n[a.b]", "3:4: a.b, which line 2, column 1 has defined: not a table");
    rig_tree_is(toml, "[a]\nb = 1\n[a.b.c]", "3:4: a.b, which line 2, column 1 has defined: not a table");
    rig_tree_is(toml, "a = []\n[[a]]", "2:3: a, which line 1, column 1 has defined: not an array of tables");
    rig_tree_is(toml, "[a]\n[[a]]", "2:3: a, which line 1, column 2 has defined: not an array of tables");
    rig_tree_is(toml, "[[a]]\n[a]", "2:2: a, which line 1, column 3 has defined: not a table");
    rig_tree_is(toml, "[a.b]\n[[a]]", "2:3: a, which line 1, column 2 has defined: not an array of tables");
    rig_tree_is(toml, "a = [{}]\n[a.b]", "2:2: a, which line 1, column 1 has defined: not a table");
    rig_tree_is(toml, "a = 1\na.b = 2", "2:1: a, which line 1, column 1 has defined: not a table");
    rig_tree_is(toml, "[[a.b]]\n[a]\nb.c = 1", "3:1: a.b, which line 1, column 5 has defined: not a table");
}

static void test_dotted_keys_and_headers_do_not_mix(void **state)
{
    (void)state;
    rig_tree_is(toml, "[f]\na.c = 1\na.t.s = true\n[f.a.x]\ny = 1",
                "{\"f\":{\"a\":{\"c\":1,\"t\":{\"s\":true},\"x\":{\"y\":1}}}}");
    rig_tree_is(toml, "[f]\na.c = 1\n[f.a]",
                "3:4: f.a, which line 2, column 1 has defined: a table is defined once");
    rig_tree_is(toml, "[f]\na.t.s = 1\n[f.a.t]",
                "3:6: f.a.t, which line 2, column 3 has defined: a table is defined once");
    rig_tree_is(toml, "[a.b.c]\nz = 9\n[a]\nb.c.t = 1",
                "4:3: a.b.c, which line 1, column 6 has defined: dotted keys cannot add to it");
    rig_tree_is(toml, "[a.b.c.d]\n[a]\nb.c.d.k.t = 1",
                "3:5: a.b.c.d, which line 1, column 8 has defined: dotted keys cannot add to it");
    rig_tree_is(toml, "[p.q.r]\n[p]\nq.z = 1\n[p.q]",
                "4:4: p.q, which line 1, column 4 has defined: a table is defined once");
    rig_tree_is(toml, "a.b = 1\n[a]", "2:2: a, which line 1, column 1 has defined: a table is defined once");
}

static void test_nesting_has_a_limit_whatever_makes_it(void **state)
{
    (void)state;
    struct cd_buf text = {0};
    cd_buf_add_str(&text, CD_STR("a = "));
    for (unsigned i = 0; i < DEPLOY_DEPTH_MAX; i++)
        cd_buf_add_byte(&text, '[');
    assert_string_equal(rig_tree_toml(cd_buf_str(&text)), "1:68: nested deeper than 64 levels");

    cd_buf_clear(&text);
    for (unsigned i = 0; i < DEPLOY_DEPTH_MAX; i++)
        cd_buf_add_str(&text, CD_STR("a."));
    cd_buf_add_str(&text, CD_STR("a = 1"));
    assert_string_equal(rig_tree_toml(cd_buf_str(&text)), "1:127: nested deeper than 64 levels");
    cd_buf_drop(&text, 2); /* One part less: 63 tables in the root. */
    struct rig r = rig_bytes("/p/x.toml", cd_buf_str(&text));
    assert_null(strstr(cd_buf_cstr(&r.errors), "nested"));
    rig_end(&r);

    cd_buf_clear(&text);
    cd_buf_add_byte(&text, '[');
    for (unsigned i = 0; i < DEPLOY_DEPTH_MAX; i++)
        cd_buf_addf(&text, "%sa", i == 0 ? "" : ".");
    cd_buf_add_byte(&text, ']');
    assert_string_equal(rig_tree_toml(cd_buf_str(&text)), "1:128: nested deeper than 64 levels");

    cd_buf_clear(&text);
    for (unsigned i = 0; i < DEPLOY_DEPTH_MAX; i++)
        cd_buf_add_str(&text, CD_STR("a = {"));
    assert_string_equal(rig_tree_toml(cd_buf_str(&text)), "1:320: nested deeper than 64 levels");
    cd_buf_deinit(&text);
}

CD_TESTS(toml, cmocka_unit_test(test_keys_are_bare_quoted_or_dotted),
         cmocka_unit_test(test_comments_and_blank_lines), cmocka_unit_test(test_strings_of_one_line),
         cmocka_unit_test(test_strings_of_several_lines),
         cmocka_unit_test(test_integers_become_numbers_of_json),
         cmocka_unit_test(test_floats_keep_their_value), cmocka_unit_test(test_booleans_have_one_spelling),
         cmocka_unit_test(test_dates_and_times_are_told_from_numbers),
         cmocka_unit_test(test_arrays_may_have_lines_comments_and_a_last_comma),
         cmocka_unit_test(test_inline_tables_stand_in_one_line_and_are_complete),
         cmocka_unit_test(test_tables_and_arrays_of_tables), cmocka_unit_test(test_a_table_is_said_once),
         cmocka_unit_test(test_dotted_keys_and_headers_do_not_mix),
         cmocka_unit_test(test_nesting_has_a_limit_whatever_makes_it))
