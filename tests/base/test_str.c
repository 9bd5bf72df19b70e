/* Borrowed text: cutting, comparing, searching, strict numbers, UTF-8. */
#include "support/test.h"

#include <string.h>

static const struct cd_str none = {NULL, 0};

static void test_sub_is_cut_to_what_there_is(void **state)
{
    (void)state;
    struct cd_str s = CD_STR("abcdef");
    assert_str_is(cd_str_sub(s, 2, 3), "cde");
    assert_str_is(cd_str_sub(s, 2, SIZE_MAX), "cdef");
    assert_str_is(cd_str_sub(s, 6, 1), "");
    assert_str_is(cd_str_sub(s, 7, 1), "");
    assert_str_is(cd_str_sub(s, SIZE_MAX, SIZE_MAX), "");
    assert_null(cd_str_sub(none, 1, 1).ptr);
}

static void test_equality_knows_empty_text_with_and_without_a_pointer(void **state)
{
    (void)state;
    assert_true(cd_str_eq(none, CD_STR("")));
    assert_true(cd_str_eq(none, none));
    assert_false(cd_str_eq(none, CD_STR("a")));
    assert_true(cd_str_eq(cd_str(NULL), CD_STR("")));
    assert_true(cd_str_eq(CD_STR("a\0b"), cd_str_of("a\0b", 3)));
    assert_false(cd_str_eq(CD_STR("a\0b"), CD_STR("a\0c")));
    assert_false(cd_str_eq(CD_STR("ab"), CD_STR("abc")));
}

static void test_nocase_folds_ascii_letters_and_nothing_else(void **state)
{
    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            char x = (char)a, y = (char)b;
            bool letters = (a | 32) >= 'a' && (a | 32) <= 'z';
            bool want = a == b || (letters && (a ^ b) == 32);
            assert_int_equal(cd_str_eq_nocase(cd_str_of(&x, 1), cd_str_of(&y, 1)), want);
        }
    }
    assert_true(cd_str_eq_nocase(CD_STR("Content-Type"), CD_STR("cONTENT-tYPE")));
    assert_true(cd_str_eq_nocase(none, CD_STR("")));
    assert_false(cd_str_eq_nocase(CD_STR("ab"), CD_STR("a")));
}

static void test_order_is_by_unsigned_bytes_shorter_first(void **state)
{
    static const struct cd_str ascending[] = {
        {NULL, 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1},    {"a\0", 2},  {"a\0z", 3},   {"aa", 2},
        {"ab", 2}, {"b", 1},  {"\x7f", 1}, {"\x80", 1}, {"\xff", 1}, {"\xff\0", 2}, {"\xff\xff", 2}};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(ascending); i++) {
        for (size_t k = 0; k < CD_COUNT(ascending); k++) {
            int order = cd_str_cmp(ascending[i], ascending[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    assert_int_equal(cd_str_cmp(none, CD_STR("")), 0);
}

static void test_starts_and_ends(void **state)
{
    (void)state;
    assert_true(cd_str_starts(CD_STR("log/17"), CD_STR("log/")));
    assert_true(cd_str_starts(CD_STR("log"), none));
    assert_true(cd_str_starts(none, none));
    assert_false(cd_str_starts(CD_STR("log"), CD_STR("log/")));
    assert_true(cd_str_ends(CD_STR("a.json"), CD_STR(".json")));
    assert_true(cd_str_ends(none, CD_STR("")));
    assert_false(cd_str_ends(CD_STR("json"), CD_STR(".json")));
}

static void test_find_byte(void **state)
{
    (void)state;
    struct cd_str s = CD_STR("a,b\0,c");
    assert_int_equal(cd_str_find(s, ',', 0), 1);
    assert_int_equal(cd_str_find(s, ',', 1), 1);
    assert_int_equal(cd_str_find(s, ',', 2), 4);
    assert_int_equal(cd_str_find(s, '\0', 0), 3);
    assert_true(cd_str_find(s, ',', 5) == SIZE_MAX);
    assert_true(cd_str_find(s, ',', 6) == SIZE_MAX);
    assert_true(cd_str_find(s, ',', SIZE_MAX) == SIZE_MAX);
    assert_true(cd_str_find(none, ',', 0) == SIZE_MAX);
}

static void test_find_text(void **state)
{
    (void)state;
    struct cd_str s = CD_STR("abcabcab");
    assert_int_equal(cd_str_find_str(s, CD_STR("abc"), 0), 0);
    assert_int_equal(cd_str_find_str(s, CD_STR("abc"), 1), 3);
    assert_true(cd_str_find_str(s, CD_STR("abc"), 4) == SIZE_MAX);
    assert_true(cd_str_find_str(s, CD_STR("abcabcabc"), 0) == SIZE_MAX);
    assert_int_equal(cd_str_find_str(s, none, 8), 8);
    assert_true(cd_str_find_str(s, none, 9) == SIZE_MAX);
    assert_int_equal(cd_str_find_str(none, none, 0), 0);
    assert_true(cd_str_find_str(none, CD_STR("a"), 0) == SIZE_MAX);
}

static void test_trim(void **state)
{
    (void)state;
    assert_str_is(cd_str_trim(CD_STR(" \t\r\na b\n ")), "a b");
    assert_str_is(cd_str_trim(CD_STR(" \t\r\n")), "");
    assert_str_is(cd_str_trim(none), "");
    assert_str_is(cd_str_trim(CD_STR("\va\f")), "\va\f");
}

static void check_pieces(struct cd_str text, const char *want)
{
    struct cd_buf got = {0};
    struct cd_str piece;
    while (cd_str_next(&text, ',', &piece))
        cd_buf_addf(&got, "[%.*s]", (int)piece.len, piece.len == 0 ? "" : piece.ptr);
    assert_null(text.ptr);
    assert_str_is(cd_buf_str(&got), want);
    cd_buf_deinit(&got);
}

static void test_next_gives_every_piece_also_the_empty_ones(void **state)
{
    (void)state;
    check_pieces(CD_STR("a,,b"), "[a][][b]");
    check_pieces(CD_STR(""), "[]");
    check_pieces(CD_STR("a,"), "[a][]");
    check_pieces(CD_STR(","), "[][]");
    check_pieces(none, "");
}

static void test_decimal_is_digits_only(void **state)
{
    static const char *const bad[] = {"",    " 1", "1 ", "+1",  "-1", "-0",   "0x1", "1e3",
                                      "1.0", "1_", "a",  "12a", "/",  "\xb2", ":",   "99999999999999999999x"};
    uint64_t v = 77;
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_int_equal(cd_str_u64(cd_str(bad[i]), &v), CD_ESYNTAX);
    assert_int_equal(cd_str_u64(CD_STR("1\0"), &v), CD_ESYNTAX);
    assert_int_equal(cd_str_u64(none, &v), CD_ESYNTAX);
    assert_int_equal(v, 77);
}

static void test_decimal_ends_at_64_bits(void **state)
{
    uint64_t v = 77;
    (void)state;
    assert_int_equal(cd_str_u64(CD_STR("18446744073709551616"), &v), CD_ETOOBIG);
    assert_int_equal(cd_str_u64(CD_STR("18446744073709551620"), &v), CD_ETOOBIG);
    assert_int_equal(cd_str_u64(CD_STR("99999999999999999999"), &v), CD_ETOOBIG);
    assert_int_equal(cd_str_u64(CD_STR("184467440737095516150"), &v), CD_ETOOBIG);
    assert_int_equal(v, 77);
    assert_int_equal(cd_str_u64(CD_STR("18446744073709551615"), &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(cd_str_u64(CD_STR("0000000000000000000000007"), &v), 0);
    assert_int_equal(v, 7);
    assert_int_equal(cd_str_u64(CD_STR("0"), &v), 0);
    assert_int_equal(v, 0);
}

static void test_hexadecimal_is_strict_too(void **state)
{
    static const char *const bad[] = {"", "0x1", "g", "G", "-1", " f", "f ", "`", "@", "fffffffffffffffffg"};
    uint64_t v = 77;
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_int_equal(cd_str_hex_u64(cd_str(bad[i]), &v), CD_ESYNTAX);
    assert_int_equal(cd_str_hex_u64(CD_STR("10000000000000000"), &v), CD_ETOOBIG);
    assert_int_equal(v, 77);
    assert_int_equal(cd_str_hex_u64(CD_STR("ffffFFFFffffFFFF"), &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(cd_str_hex_u64(CD_STR("00000000000000000a9"), &v), 0);
    assert_int_equal(v, 0xa9);
}

/* The plainest encoder there is; surrogates are left to the caller. */
static size_t encode_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)((0xf00 >> len & 0xff) | c);
    return len;
}

static void test_every_code_point_is_utf8_and_no_surrogate_is(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char bytes[5];
        size_t len = encode_utf8(c, bytes);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(cd_utf8_len(cd_str_of(bytes, len)), surrogate ? 0 : len);
        bytes[len] = 'x';
        assert_int_equal(cd_utf8_len(cd_str_of(bytes, len + 1)), surrogate ? 0 : len);
        assert_int_equal(cd_utf8_len(cd_str_of(bytes, len - 1)), 0);
    }
}

/* All sequences of three bytes, counted by the length of what stands at their front: nothing but what the
 * encoder makes is accepted. */
static void test_nothing_but_code_points_is_utf8(void **state)
{
    size_t count[5] = {0};
    (void)state;
    for (uint32_t v = 0; v < 1u << 24; v++) {
        unsigned char p[3] = {(unsigned char)(v >> 16), (unsigned char)(v >> 8), (unsigned char)v};
        count[cd_utf8_len(cd_str_of(p, 3))]++;
    }
    assert_int_equal(count[1], 0x80u << 16);
    assert_int_equal(count[2], 0x780u << 8);
    assert_int_equal(count[3], 0x10000 - 0x800 - 0x800);
    assert_int_equal(count[4], 0);
}

static void test_malformed_utf8_is_refused(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",         "\xe2\x82",         "ab\xc3",           "\xe2\x28\xa1"};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_false(cd_str_is_utf8(cd_str(bad[i])));
    assert_true(cd_str_is_utf8(none));
    assert_true(cd_str_is_utf8(CD_STR("a\0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")));
}

static void test_a_bad_byte_is_seen_wherever_it_stands(void **state)
{
    char text[41];
    (void)state;
    for (size_t len = 0; len <= sizeof text; len++) {
        memset(text, 'a', sizeof text);
        assert_true(cd_str_is_utf8(cd_str_of(text, len)));
        for (size_t at = 0; at < len; at++) {
            text[at] = '\x80';
            assert_false(cd_str_is_utf8(cd_str_of(text, len)));
            text[at] = '\xc3';
            assert_false(cd_str_is_utf8(cd_str_of(text, len)));
            if (at + 1 < len) {
                text[at + 1] = '\xa4';
                assert_true(cd_str_is_utf8(cd_str_of(text, len)));
                text[at + 1] = 'a';
            }
            text[at] = 'a';
        }
    }
}

static void test_dup_copies_and_ends_with_nul(void **state)
{
    (void)state;
    char *copy = cd_str_dup(cd_str_of("abcdef", 3));
    assert_string_equal(copy, "abc");
    cd_free(copy);
    copy = cd_str_dup(none);
    assert_string_equal(copy, "");
    cd_free(copy);
}

CD_TESTS(str, cmocka_unit_test(test_sub_is_cut_to_what_there_is),
         cmocka_unit_test(test_equality_knows_empty_text_with_and_without_a_pointer),
         cmocka_unit_test(test_nocase_folds_ascii_letters_and_nothing_else),
         cmocka_unit_test(test_order_is_by_unsigned_bytes_shorter_first),
         cmocka_unit_test(test_starts_and_ends), cmocka_unit_test(test_find_byte),
         cmocka_unit_test(test_find_text), cmocka_unit_test(test_trim),
         cmocka_unit_test(test_next_gives_every_piece_also_the_empty_ones),
         cmocka_unit_test(test_decimal_is_digits_only), cmocka_unit_test(test_decimal_ends_at_64_bits),
         cmocka_unit_test(test_hexadecimal_is_strict_too),
         cmocka_unit_test(test_every_code_point_is_utf8_and_no_surrogate_is),
         cmocka_unit_test(test_nothing_but_code_points_is_utf8),
         cmocka_unit_test(test_malformed_utf8_is_refused),
         cmocka_unit_test(test_a_bad_byte_is_seen_wherever_it_stands),
         cmocka_unit_test(test_dup_copies_and_ends_with_nul))
