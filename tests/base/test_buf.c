/* Owned bytes: growth, moving, little-endian integers. */
#include "support/death.h"
#include "support/test.h"

#include <string.h>

static void test_a_zeroed_buffer_is_empty_and_usable(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    assert_str_is(cd_buf_str(&b), "");
    cd_buf_add(&b, NULL, 0);
    cd_buf_add_str(&b, (struct cd_str){NULL, 0});
    cd_buf_add_zero(&b, 0);
    cd_buf_drop(&b, 0);
    cd_buf_clear(&b);
    assert_null(cd_buf_reserve(&b, 0));
    assert_null(b.ptr);
    cd_buf_add_byte(&b, 'x');
    assert_str_is(cd_buf_str(&b), "x");
    cd_buf_deinit(&b);
    assert_null(b.ptr);
    assert_int_equal(b.cap, 0);
    cd_buf_deinit(&b);
}

static void test_bytes_survive_growth(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        cd_buf_add_byte(&b, (char)(i * 7 % 251));
        assert_true(b.cap >= b.len && b.cap <= (b.len < 32 ? 64 : 2 * b.len));
    }
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(b.ptr[i], (char)(i * 7 % 251));
    cd_buf_deinit(&b);
}

static void test_reserve_gives_room_and_adds_nothing(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    cd_buf_add_str(&b, CD_STR("head"));
    char *at = cd_buf_reserve(&b, 1000);
    assert_ptr_equal(at, b.ptr + 4);
    assert_true(b.cap - b.len >= 1000);
    assert_int_equal(b.len, 4);
    memset(at, 'y', 1000);
    b.len += 1000;
    assert_int_equal(b.ptr[1003], 'y');
    cd_buf_deinit(&b);
}

static void test_clear_keeps_the_memory(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    cd_buf_add_zero(&b, 500);
    char *had = b.ptr;
    cd_buf_clear(&b);
    assert_int_equal(b.len, 0);
    cd_buf_add_zero(&b, 500);
    assert_ptr_equal(b.ptr, had);
    for (size_t i = 0; i < 500; i++)
        assert_int_equal(b.ptr[i], 0);
    cd_buf_deinit(&b);
}

static void test_printf_of_any_length(void **state)
{
    char text[301];
    (void)state;
    memset(text, 'q', 300);
    for (int len = 0; len <= 300; len++) {
        for (size_t before = 0; before < 130; before += 43) {
            struct cd_buf b = {0};
            cd_buf_add_zero(&b, before);
            cd_buf_addf(&b, "%.*s|%d", len, text, len);
            assert_int_equal(b.len, before + (size_t)len + 2 + (len > 9) + (len > 99));
            assert_int_equal(b.ptr[before + (size_t)len], '|');
            assert_int_equal(strtol(cd_buf_cstr(&b) + before + len + 1, NULL, 10), len);
            cd_buf_deinit(&b);
        }
    }
}

static void test_integers_are_little_endian(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    cd_buf_add_u16(&b, 0x0102);
    cd_buf_add_u32(&b, 0x03040506);
    cd_buf_add_u64(&b, 0x0708090a0b0c0d0eu);
    assert_int_equal(b.len, 14);
    assert_memory_equal(b.ptr, "\x02\x01\x06\x05\x04\x03\x0e\x0d\x0c\x0b\x0a\x09\x08\x07", 14);
    assert_int_equal(cd_get_u16(b.ptr), 0x0102);
    assert_int_equal(cd_get_u32(b.ptr + 2), 0x03040506);
    assert_true(cd_get_u64(b.ptr + 6) == 0x0708090a0b0c0d0eu);
    assert_true(cd_get_u64("\xff\xff\xff\xff\xff\xff\xff\xff") == UINT64_MAX);
    assert_int_equal(cd_get_u16("\xff\x80"), 0x80ff);
    assert_true(cd_get_u32("\x00\x00\x00\x80") == 0x80000000u);
    cd_buf_deinit(&b);
}

static void test_drop_moves_the_rest_to_the_front(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    cd_buf_add_str(&b, CD_STR("abcdef"));
    cd_buf_drop(&b, 2);
    assert_str_is(cd_buf_str(&b), "cdef");
    cd_buf_drop(&b, 0);
    assert_str_is(cd_buf_str(&b), "cdef");
    cd_buf_drop(&b, 1);
    assert_str_is(cd_buf_str(&b), "def");
    cd_buf_add_zero(&b, 1);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.ptr, "def", 4);
    cd_buf_drop(&b, 4);
    assert_str_is(cd_buf_str(&b), "");
    cd_buf_deinit(&b);
}

static void test_move_gives_the_bytes_away(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    cd_buf_add_str(&b, CD_STR("mine"));
    char *bytes = b.ptr;
    struct cd_buf given = cd_buf_move(&b);
    assert_ptr_equal(given.ptr, bytes);
    assert_null(b.ptr);
    assert_int_equal(b.len + b.cap, 0);
    cd_buf_add_str(&b, CD_STR("new"));
    assert_str_is(cd_buf_str(&given), "mine");
    cd_buf_deinit(&given);
    cd_buf_deinit(&b);
}

static void test_cstr_does_not_count_its_nul(void **state)
{
    struct cd_buf b = {0};
    (void)state;
    assert_string_equal(cd_buf_cstr(&b), "");
    for (size_t len = 1; len < 200; len++) {
        cd_buf_add_byte(&b, 'z');
        assert_int_equal(strlen(cd_buf_cstr(&b)), len);
        assert_int_equal(b.len, len);
    }
    cd_buf_deinit(&b);
}

static void add_itself(void)
{
    struct cd_buf b = {0};
    cd_buf_add_str(&b, CD_STR("abc"));
    cd_buf_add_str(&b, cd_str_sub(cd_buf_str(&b), 2, 1));
}

static void reserve_too_much(void)
{
    struct cd_buf b = {0};
    (void)cd_buf_reserve(&b, SIZE_MAX / 2);
}

static void drop_too_much(void)
{
    struct cd_buf b = {0};
    cd_buf_add_str(&b, CD_STR("abc"));
    cd_buf_drop(&b, 4);
}

static void test_misuse_is_caught(void **state)
{
    (void)state;
    assert_dies(add_itself, "cd_buf_add: assertion failed");
    assert_dies(reserve_too_much, "cd_buf_reserve: assertion failed");
    assert_dies(drop_too_much, "count <= b->len");
}

CD_TESTS(buf, cmocka_unit_test(test_a_zeroed_buffer_is_empty_and_usable),
         cmocka_unit_test(test_bytes_survive_growth),
         cmocka_unit_test(test_reserve_gives_room_and_adds_nothing),
         cmocka_unit_test(test_clear_keeps_the_memory), cmocka_unit_test(test_printf_of_any_length),
         cmocka_unit_test(test_integers_are_little_endian),
         cmocka_unit_test(test_drop_moves_the_rest_to_the_front),
         cmocka_unit_test(test_move_gives_the_bytes_away), cmocka_unit_test(test_cstr_does_not_count_its_nul),
         cmocka_unit_test(test_misuse_is_caught))
