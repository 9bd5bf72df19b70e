/* Memory that goes all at once. */
#include "base/arena.h"
#include "base/rng.h"
#include "support/death.h"
#include "support/test.h"

#include <stdalign.h>
#include <string.h>

static void test_every_piece_is_zero_aligned_and_its_own(void **state)
{
    struct cd_arena a = {0};
    struct cd_rng rng;
    unsigned char *piece[500];
    size_t size[500];
    (void)state;
    cd_rng_seed(&rng, 9, CD_STR("arena"));
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < 500; i++) {
            size[i] = cd_rng_below(&rng, i % 50 == 0 ? 20000 : 100);
            piece[i] = cd_arena_alloc(&a, size[i]);
            assert_int_equal((uintptr_t)piece[i] % alignof(max_align_t), 0);
            for (size_t k = 0; k < size[i]; k++)
                assert_int_equal(piece[i][k], 0);
            memset(piece[i], (int)(i % 255) + 1, size[i]);
        }
        for (size_t i = 0; i < 500; i++) {
            for (size_t k = 0; k < size[i]; k++)
                assert_int_equal(piece[i][k], i % 255 + 1);
        }
        cd_arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    cd_arena_deinit(&a);
}

static void test_a_steady_load_keeps_its_block(void **state)
{
    struct cd_arena a = {0};
    (void)state;
    void *first = cd_arena_alloc(&a, 100);
    for (int i = 0; i < 100; i++) {
        cd_arena_reset(&a);
        assert_ptr_equal(cd_arena_alloc(&a, 100), first);
    }
    cd_arena_deinit(&a);
    cd_arena_reset(&a);
    assert_null(a.blocks);
}

/* A request that once was large must not cost its connection that memory for ever. */
static void test_a_large_block_does_not_outlive_its_request(void **state)
{
    struct cd_arena a = {0};
    (void)state;
    (void)cd_arena_alloc(&a, 1 << 20);
    (void)cd_arena_alloc(&a, 10);
    cd_arena_reset(&a);
    assert_null(a.blocks);
    (void)cd_arena_alloc(&a, 10);
    (void)cd_arena_alloc(&a, 1 << 20);
    cd_arena_reset(&a);
    assert_non_null(a.blocks);
    cd_arena_deinit(&a);
}

static void test_copies_end_with_nul(void **state)
{
    struct cd_arena a = {0};
    (void)state;
    struct cd_str copy = cd_arena_copy(&a, cd_str_of("abcdef", 3));
    assert_str_is(copy, "abc");
    assert_int_equal(copy.ptr[3], 0);
    copy = cd_arena_copy(&a, (struct cd_str){NULL, 0});
    assert_int_equal(copy.len, 0);
    assert_int_equal(copy.ptr[0], 0);
    cd_arena_deinit(&a);
}

static void ask_too_much(void)
{
    struct cd_arena a = {0};
    (void)cd_arena_alloc(&a, SIZE_MAX - 8);
}

static void test_a_size_that_would_wrap_is_caught(void **state)
{
    (void)state;
    assert_dies(ask_too_much, "cd_arena_alloc: assertion failed");
}

CD_TESTS(arena, cmocka_unit_test(test_every_piece_is_zero_aligned_and_its_own),
         cmocka_unit_test(test_a_steady_load_keeps_its_block),
         cmocka_unit_test(test_a_large_block_does_not_outlive_its_request),
         cmocka_unit_test(test_copies_end_with_nul), cmocka_unit_test(test_a_size_that_would_wrap_is_caught))
