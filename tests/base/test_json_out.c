/* Writing JSON: exact text, and that the reader gives back what was written. */
#include "base/json.h"
#include "base/rng.h"
#include "support/death.h"
#include "support/test.h"

#include <string.h>

static void check_quote(struct cd_str s, const char *want)
{
    struct cd_buf out = {0};
    cd_json_quote(&out, s);
    assert_str_is(cd_buf_str(&out), want);
    cd_buf_deinit(&out);
}

static void test_quote_escapes_what_json_and_a_terminal_cannot_take(void **state)
{
    (void)state;
    check_quote((struct cd_str){NULL, 0}, "\"\"");
    check_quote(CD_STR("a/b 'c'"), "\"a/b 'c'\"");
    check_quote(CD_STR("\"\\\n\r\t"), "\"\\\"\\\\\\n\\r\\t\"");
    check_quote(CD_STR("\0\x1b\x1f\x7f"), "\"\\u0000\\u001b\\u001f\\u007f\"");
    check_quote(CD_STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    /* The second set of control characters and the line breaks of Unicode. */
    check_quote(CD_STR("\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f\xc2\xa0"),
                "\"\\u0080\\u0085\\u009b\\u009f\xc2\xa0\"");
    check_quote(CD_STR("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"),
                "\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\"");
}

static void test_each_bad_byte_becomes_the_replacement_character(void **state)
{
    (void)state;
    check_quote(CD_STR("a\xff"
                       "b"),
                "\"a\xef\xbf\xbd"
                "b\"");
    check_quote(CD_STR("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_quote(CD_STR("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check_quote(CD_STR("\xc0\x80\""), "\"\xef\xbf\xbd\xef\xbf\xbd\\\"\"");
}

static void test_every_code_point_comes_back(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 257) {
        char bytes[4];
        size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        uint32_t rest = c;
        for (size_t i = len - 1; i > 0; i--, rest >>= 6)
            bytes[i] = (char)(0x80 | (rest & 63));
        bytes[0] = (char)(len == 1 ? rest : (0xf00u >> len & 0xffu) | rest);
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        struct cd_buf out = {0};
        struct cd_json_doc *doc;
        struct cd_str s;
        cd_json_quote(&out, cd_str_of(bytes, len));
        assert_int_equal(cd_json_parse(&doc, cd_buf_str(&out), NULL), 0);
        assert_int_equal(cd_json_str(cd_json_root(doc), &s), 0);
        assert_int_equal(s.len, len);
        assert_memory_equal(s.ptr, bytes, len);
        cd_json_free(doc);
        cd_buf_deinit(&out);
    }
}

static void test_commas_and_brackets_come_by_themselves(void **state)
{
    struct cd_buf out = {0};
    struct cd_json_out o;
    (void)state;
    cd_json_out_init(&o, &out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "a");
    cd_json_out_u64(&o, UINT64_MAX);
    cd_json_out_key(&o, "b\"");
    cd_json_out_array(&o);
    cd_json_out_i64(&o, INT64_MIN);
    cd_json_out_bool(&o, true);
    cd_json_out_bool(&o, false);
    cd_json_out_null(&o);
    cd_json_out_object(&o);
    cd_json_out_end(&o, '}');
    cd_json_out_array(&o);
    cd_json_out_end(&o, ']');
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "c");
    cd_json_out_raw(&o, CD_STR("{\"x\":1}"));
    cd_json_out_key(&o, "d");
    cd_json_out_str(&o, CD_STR("\n"));
    cd_json_out_end(&o, '}');
    assert_str_is(cd_buf_str(&out),
                  "{\"a\":18446744073709551615,\"b\\\"\":[-9223372036854775808,true,false,null,"
                  "{},[]],\"c\":{\"x\":1},\"d\":\"\\n\"}");
    cd_buf_deinit(&out);
}

static void test_a_value_may_stand_alone(void **state)
{
    struct cd_buf out = {0};
    struct cd_json_out o;
    (void)state;
    cd_buf_add_str(&out, CD_STR("data: "));
    cd_json_out_init(&o, &out);
    cd_json_out_str(&o, CD_STR("x"));
    assert_str_is(cd_buf_str(&out), "data: \"x\"");
    cd_buf_deinit(&out);
}

static void test_as_deep_as_the_reader_reads(void **state)
{
    struct cd_buf out = {0};
    struct cd_json_out o;
    struct cd_json_doc *doc;
    (void)state;
    cd_json_out_init(&o, &out);
    for (unsigned i = 0; i < CD_JSON_DEPTH_MAX; i++)
        cd_json_out_array(&o);
    cd_json_out_null(&o);
    for (unsigned i = 0; i < CD_JSON_DEPTH_MAX; i++)
        cd_json_out_end(&o, ']');
    assert_int_equal(cd_json_parse(&doc, cd_buf_str(&out), NULL), 0);
    cd_json_free(doc);
    cd_buf_deinit(&out);
}

/* Writes a random tree and says the same tree as a list of words, to be compared with what is read back. */
static void write_random(struct cd_json_out *o, struct cd_rng *rng, struct cd_buf *said)
{
    unsigned open = 0;
    char close[CD_JSON_DEPTH_MAX];
    cd_json_out_object(o);
    close[open++] = '}';
    cd_buf_add_str(said, CD_STR("{"));
    while (open > 0) {
        uint64_t kind = cd_rng_below(rng, 15); /* Closes a little more often than it opens. */
        if (kind < 5 || open == CD_JSON_DEPTH_MAX) {
            cd_json_out_end(o, close[--open]);
            cd_buf_add_byte(said, close[open]);
            continue;
        }
        if (close[open - 1] == '}') {
            cd_json_out_key(o, kind % 2 == 0 ? "k" : "other");
            cd_buf_addf(said, "%s:", kind % 2 == 0 ? "k" : "other");
        }
        if (kind < 8) {
            char bytes[6];
            cd_rng_fill(rng, bytes, sizeof bytes);
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] &= 0x7f;
            cd_json_out_str(o, cd_str_of(bytes, sizeof bytes));
            cd_buf_add(said, bytes, sizeof bytes);
        } else if (kind < 11) {
            uint64_t n = cd_rng_next(rng) >> (11 + cd_rng_below(rng, 50));
            cd_json_out_u64(o, n);
            cd_buf_addf(said, "%llu;", (unsigned long long)n);
        } else {
            close[open++] = kind < 13 ? '}' : ']';
            if (kind < 13)
                cd_json_out_object(o);
            else
                cd_json_out_array(o);
            cd_buf_add_byte(said, kind < 13 ? '{' : '[');
        }
    }
}

static void read_tree(const struct cd_json *root, struct cd_buf *said)
{
    const struct cd_json *in[CD_JSON_DEPTH_MAX + 1] = {root}, *at[CD_JSON_DEPTH_MAX + 1] = {NULL};
    unsigned open = 1;
    cd_buf_add_byte(said, '{');
    while (open > 0) {
        bool object = cd_json_kind(in[open - 1]) == CD_JSON_OBJECT;
        struct cd_str key, s;
        uint64_t n;
        const struct cd_json *v = at[open - 1] = cd_json_next(in[open - 1], at[open - 1], &key);
        if (v == NULL) {
            cd_buf_add_byte(said, object ? '}' : ']');
            open--;
            continue;
        }
        if (object) {
            cd_buf_add_str(said, key);
            cd_buf_add_byte(said, ':');
        }
        if (cd_json_str(v, &s) == 0) {
            cd_buf_add_str(said, s);
        } else if (cd_json_u64(v, &n) == 0) {
            cd_buf_addf(said, "%llu;", (unsigned long long)n);
        } else {
            cd_buf_add_byte(said, cd_json_kind(v) == CD_JSON_OBJECT ? '{' : '[');
            in[open] = v;
            at[open++] = NULL;
        }
    }
}

static void test_what_is_written_is_read_back(void **state)
{
    struct cd_rng rng;
    struct cd_buf text = {0}, written = {0}, read = {0};
    size_t longest = 0;
    (void)state;
    cd_rng_seed(&rng, 8, CD_STR("json"));
    for (unsigned i = 0; i < 2000; i++) {
        struct cd_json_out o;
        struct cd_json_doc *doc;
        cd_buf_clear(&text);
        cd_buf_clear(&written);
        cd_buf_clear(&read);
        cd_json_out_init(&o, &text);
        write_random(&o, &rng, &written);
        assert_int_equal(cd_json_parse(&doc, cd_buf_str(&text), NULL), 0);
        read_tree(cd_json_root(doc), &read);
        assert_int_equal(read.len, written.len);
        assert_memory_equal(read.ptr, written.ptr, read.len);
        longest = read.len > longest ? read.len : longest;
        cd_json_free(doc);
    }
    assert_true(longest > 1000);
    cd_buf_deinit(&text);
    cd_buf_deinit(&written);
    cd_buf_deinit(&read);
}

static struct cd_json_out begun(void (*with)(struct cd_json_out *o))
{
    static struct cd_buf out;
    struct cd_json_out o;
    cd_json_out_init(&o, &out);
    with(&o);
    return o;
}

static void wrong_bracket(void)
{
    struct cd_json_out o = begun(cd_json_out_array);
    cd_json_out_end(&o, '}');
}

static void value_without_key(void)
{
    struct cd_json_out o = begun(cd_json_out_object);
    cd_json_out_u64(&o, 1);
}

static void key_without_value(void)
{
    struct cd_json_out o = begun(cd_json_out_object);
    cd_json_out_key(&o, "a");
    cd_json_out_end(&o, '}');
}

static void key_after_key(void)
{
    struct cd_json_out o = begun(cd_json_out_object);
    cd_json_out_key(&o, "a");
    cd_json_out_key(&o, "b");
}

static void key_in_array(void)
{
    struct cd_json_out o = begun(cd_json_out_array);
    cd_json_out_key(&o, "a");
}

static void two_values(void)
{
    struct cd_json_out o = begun(cd_json_out_null);
    cd_json_out_null(&o);
}

static void close_nothing(void)
{
    struct cd_json_out o = begun(cd_json_out_null);
    cd_json_out_end(&o, ']');
}

static void too_deep(void)
{
    struct cd_json_out o = begun(cd_json_out_array);
    for (unsigned i = 0; i < CD_JSON_DEPTH_MAX; i++)
        cd_json_out_array(&o);
}

static void test_a_structure_that_is_no_json_is_caught(void **state)
{
    void (*const mistakes[])(void) = {wrong_bracket, value_without_key, key_without_value, key_after_key,
                                      key_in_array,  two_values,        close_nothing,     too_deep};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(mistakes); i++)
        assert_dies(mistakes[i], "json.c:");
}

CD_TESTS(json_out, cmocka_unit_test(test_quote_escapes_what_json_and_a_terminal_cannot_take),
         cmocka_unit_test(test_each_bad_byte_becomes_the_replacement_character),
         cmocka_unit_test(test_every_code_point_comes_back),
         cmocka_unit_test(test_commas_and_brackets_come_by_themselves),
         cmocka_unit_test(test_a_value_may_stand_alone), cmocka_unit_test(test_as_deep_as_the_reader_reads),
         cmocka_unit_test(test_what_is_written_is_read_back),
         cmocka_unit_test(test_a_structure_that_is_no_json_is_caught))
