/* The generator and the hash of the simulator: known answers, since traces and seeds depend on every bit. */
#include "base/rng.h"
#include "support/death.h"
#include "support/test.h"

#include <string.h>

static void test_xoshiro256_plus_plus_gives_its_published_numbers(void **state)
{
    static const uint64_t want[] = {41943041u,
                                    58720359u,
                                    3588806011781223u,
                                    3591011842654386u,
                                    9228616714210784205u,
                                    9973669472204895162u,
                                    14011001112246962877u,
                                    12406186145184390807u,
                                    15849039046786891736u,
                                    10450023813501588000u};
    struct cd_rng r = {{1, 2, 3, 4}};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(want); i++)
        assert_true(cd_rng_next(&r) == want[i]);
}

static void test_seed_and_label_choose_the_stream(void **state)
{
    struct cd_rng a, b;
    (void)state;
    cd_rng_seed(&a, 1, CD_STR("plan"));
    cd_rng_seed(&b, 1, CD_STR("plan"));
    for (int i = 0; i < 100; i++)
        assert_true(cd_rng_next(&a) == cd_rng_next(&b));
    cd_rng_seed(&a, 1, CD_STR("plan"));
    cd_rng_seed(&b, 2, CD_STR("plan"));
    assert_true(cd_rng_next(&a) != cd_rng_next(&b));
    cd_rng_seed(&b, 1, CD_STR("plans"));
    assert_true(cd_rng_next(&a) != cd_rng_next(&b));
    cd_rng_seed(&a, 0, (struct cd_str){NULL, 0});
    assert_true((a.s[0] | a.s[1] | a.s[2] | a.s[3]) != 0);
}

static void test_below_is_below_and_reaches_everything(void **state)
{
    struct cd_rng r;
    unsigned seen[7] = {0};
    (void)state;
    cd_rng_seed(&r, 4, CD_STR("below"));
    for (int i = 0; i < 70000; i++) {
        uint64_t x = cd_rng_below(&r, 7);
        assert_true(x < 7);
        seen[x]++;
    }
    for (size_t i = 0; i < 7; i++)
        assert_true(seen[i] >= 9600 && seen[i] <= 10400); /* 4 sigma. */
    assert_true(cd_rng_below(&r, 1) == 0);
    for (int i = 0; i < 100; i++)
        assert_true(cd_rng_below(&r, UINT64_MAX) < UINT64_MAX);
}

/* With n = 2^63 + 1 nearly half of all draws have to be thrown away; without that, small results come twice
 * as often as large ones. */
static void test_below_has_no_bias(void **state)
{
    const uint64_t n = (UINT64_C(1) << 63) + 1;
    struct cd_rng r;
    unsigned small = 0;
    (void)state;
    cd_rng_seed(&r, 5, CD_STR("bias"));
    for (int i = 0; i < 40000; i++)
        small += cd_rng_below(&r, n) < n / 2;
    assert_true(small >= 19600 && small <= 20400);
}

static void zero_choices(void)
{
    struct cd_rng r = {{1, 2, 3, 4}};
    (void)cd_rng_below(&r, 0);
}

static void test_no_choice_is_a_mistake(void **state)
{
    (void)state;
    assert_dies(zero_choices, "n > 0");
}

static void test_fill_writes_just_what_was_asked_in_little_endian(void **state)
{
    (void)state;
    for (size_t len = 0; len < 40; len++) {
        struct cd_rng a, b;
        unsigned char out[48];
        memset(out, 0xee, sizeof out);
        cd_rng_seed(&a, 6, CD_STR("fill"));
        b = a;
        cd_rng_fill(&a, out, len);
        for (size_t i = 0; i < len; i += 8) {
            uint64_t x = cd_rng_next(&b);
            for (size_t k = i; k < i + 8 && k < len; k++, x >>= 8)
                assert_int_equal(out[k], x & 0xff);
        }
        for (size_t i = len; i < sizeof out; i++)
            assert_int_equal(out[i], 0xee);
        assert_true(cd_rng_next(&a) == cd_rng_next(&b));
    }
}

static void test_seeded_numbers_and_hashes_never_change(void **state)
{
    struct cd_rng r;
    (void)state;
    cd_rng_seed(&r, 17, CD_STR("schedule"));
    assert_true(cd_rng_next(&r) == UINT64_C(193241491626729061));
    assert_true(cd_hash64(0, "", 0) == UINT64_C(2302960717420908478));
    assert_true(cd_hash64(1, "celld", 5) == UINT64_C(10779903790051024000));
    assert_true(cd_hash64(0, "0123456789abcdefghijklmnopqrstuvwxyz", 36) == UINT64_C(11385858374034567786));
}

static unsigned bits_set(uint64_t x)
{
    unsigned n = 0;
    for (; x != 0; x &= x - 1)
        n++;
    return n;
}

static void test_every_bit_of_the_input_reaches_the_hash(void **state)
{
    (void)state;
    for (size_t len = 1; len < 25; len++) {
        unsigned char bytes[24] = {0};
        uint64_t plain = cd_hash64(9, bytes, len);
        size_t changed = 0;
        for (size_t bit = 0; bit < len * 8; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            unsigned n = bits_set(cd_hash64(9, bytes, len) ^ plain);
            assert_true(n > 8);
            changed += n;
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        assert_true(changed >= 26 * 8 * len && changed <= 38 * 8 * len);
    }
}

static void test_zeros_of_different_length_hash_differently(void **state)
{
    static const unsigned char zeros[64];
    uint64_t h[65];
    (void)state;
    for (size_t len = 0; len <= 64; len++) {
        h[len] = cd_hash64(0, zeros, len);
        for (size_t k = 0; k < len; k++)
            assert_true(h[k] != h[len]);
    }
    assert_true(cd_hash64(0, NULL, 0) == h[0]);
    assert_true(cd_hash64(1, NULL, 0) != h[0]);
}

CD_TESTS(rng, cmocka_unit_test(test_xoshiro256_plus_plus_gives_its_published_numbers),
         cmocka_unit_test(test_seed_and_label_choose_the_stream),
         cmocka_unit_test(test_below_is_below_and_reaches_everything),
         cmocka_unit_test(test_below_has_no_bias), cmocka_unit_test(test_no_choice_is_a_mistake),
         cmocka_unit_test(test_fill_writes_just_what_was_asked_in_little_endian),
         cmocka_unit_test(test_seeded_numbers_and_hashes_never_change),
         cmocka_unit_test(test_every_bit_of_the_input_reaches_the_hash),
         cmocka_unit_test(test_zeros_of_different_length_hash_differently))
