/* The ordered map: against a sorted array, and its shape under friendly and hostile orders of keys. */
#include "base/map_internal.h"
#include "base/rng.h"
#include "support/death.h"
#include "support/test.h"

#include <string.h>

/* Checks order, links, heights and count; returns the height. */
static unsigned check_shape(const struct cd_map *m)
{
    size_t count = 0;
    assert_true(m->root == NULL || m->root->parent == NULL);
    for (struct cd_map_node *n = cd_map_first(m); n != NULL; n = cd_map_next(n)) {
        unsigned height[2] = {0, 0};
        for (unsigned side = 0; side < 2; side++) {
            if (n->child[side] != NULL) {
                assert_ptr_equal(n->child[side]->parent, n);
                height[side] = n->child[side]->height;
            }
        }
        assert_true(height[0] <= height[1] + 1 && height[1] <= height[0] + 1);
        assert_int_equal(n->height, 1 + (height[0] > height[1] ? height[0] : height[1]));
        struct cd_map_node *next = cd_map_next(n);
        assert_true(next == NULL || cd_str_cmp(cd_map_key(n), cd_map_key(next)) < 0);
        count++;
    }
    assert_int_equal(count, m->count);
    return m->root == NULL ? 0 : m->root->height;
}

/* An AVL tree of n nodes is never higher than 1.44 * log2(n + 2). */
static unsigned height_limit(size_t n)
{
    unsigned log2 = 0;
    while ((size_t)1 << log2 < n + 2)
        log2++;
    return log2 * 144 / 100 + 1;
}

#define MODEL_KEYS 400

struct model {
    struct cd_map map;
    struct cd_str key[MODEL_KEYS]; /* Sorted. */
    void *value[MODEL_KEYS]; /* NULL: absent. */
    size_t count;
};

static int by_bytes(const void *a, const void *b)
{
    return cd_str_cmp(*(const struct cd_str *)a, *(const struct cd_str *)b);
}

/* Short keys over three bytes, so that many are prefixes of others; one is empty, some hold NUL or 0xff. */
static void model_keys(struct model *m, char *store)
{
    static const char letter[3] = {'\0', 'a', '\xff'};
    unsigned n = 0;
    for (size_t len = 0; len < 6; len++) {
        unsigned all = 1;
        for (size_t i = 0; i < len; i++)
            all *= 3;
        for (unsigned v = 0; v < all && n < MODEL_KEYS; v++) {
            unsigned rest = v;
            for (size_t i = 0; i < len; i++, rest /= 3)
                store[i] = letter[rest % 3];
            m->key[n++] = cd_str_of(store, len);
            store += len;
        }
    }
    assert_true(n > 360);
    /* And longer ones: half with a common front, half of nothing but zeros. */
    for (unsigned i = 0; n < MODEL_KEYS; i++, store += 40) {
        size_t len = i % 2 == 0 ? 40 : 6 + i / 2;
        memset(store, i % 2 == 0 ? 'x' : '\0', 40);
        if (i % 2 == 0)
            store[39] = (char)(unsigned char)n;
        m->key[n++] = cd_str_of(store, len);
    }
    qsort(m->key, n, sizeof m->key[0], by_bytes);
}

static void check_all(struct model *m)
{
    struct cd_map_node *n = cd_map_first(&m->map), *last = NULL;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (m->value[i] == NULL)
            continue;
        assert_non_null(n);
        assert_true(cd_str_eq(cd_map_key(n), m->key[i]));
        assert_ptr_equal(cd_map_value(n), m->value[i]);
        assert_ptr_equal(cd_map_prev(n), last);
        last = n;
        n = cd_map_next(n);
    }
    assert_null(n);
    assert_ptr_equal(cd_map_last(&m->map), last);
    assert_int_equal(m->map.count, m->count);
}

static void check_at_or_after(struct model *m, size_t at)
{
    struct cd_map_node *n = cd_map_at_or_after(&m->map, m->key[at]);
    while (at < MODEL_KEYS && m->value[at] == NULL)
        at++;
    if (at == MODEL_KEYS) {
        assert_null(n);
    } else {
        assert_non_null(n);
        assert_true(cd_str_eq(cd_map_key(n), m->key[at]));
    }
}

static void test_20000_random_calls_agree_with_a_sorted_array(void **state)
{
    static char store[40 * MODEL_KEYS];
    static struct model m;
    struct cd_rng rng;
    (void)state;
    cd_rng_seed(&rng, 1, CD_STR("map"));
    m = (struct model){0};
    model_keys(&m, store);
    for (unsigned step = 0; step < 20000; step++) {
        size_t at = cd_rng_below(&rng, MODEL_KEYS);
        /* Phases of growing and of shrinking, so that it is full and empty now and then. */
        bool grow = cd_rng_below(&rng, 8) < (step / 2500 % 2 == 0 ? 6u : 2u);
        void *had = m.value[at];
        assert_ptr_equal(cd_map_get(&m.map, m.key[at]), had);
        if (grow) {
            void *value = store + cd_rng_below(&rng, sizeof store);
            assert_ptr_equal(cd_map_put(&m.map, m.key[at], value), had);
            m.value[at] = value;
            m.count += had == NULL;
        } else {
            assert_ptr_equal(cd_map_remove(&m.map, m.key[at]), had);
            m.value[at] = NULL;
            m.count -= had != NULL;
        }
        check_at_or_after(&m, cd_rng_below(&rng, MODEL_KEYS));
        if (step % 16 == 0) {
            check_all(&m);
            assert_true(check_shape(&m.map) <= height_limit(m.count));
        }
    }
    cd_map_deinit(&m.map);
}

/* Every order of inserting and every order of removing seven keys: each case of the rebalancing. */
static void next_permutation(unsigned char *p, size_t n)
{
    size_t i = n - 1, k = n - 1;
    while (i > 0 && p[i - 1] > p[i])
        i--;
    if (i > 0) {
        while (p[k] < p[i - 1])
            k--;
        unsigned char swap = p[i - 1];
        p[i - 1] = p[k];
        p[k] = swap;
    }
    for (k = n - 1; i < k; i++, k--) {
        unsigned char swap = p[i];
        p[i] = p[k];
        p[k] = swap;
    }
}

static void test_every_order_of_seven_keys_keeps_its_shape(void **state)
{
    unsigned char in[7] = {0, 1, 2, 3, 4, 5, 6}, out[7] = {0, 1, 2, 3, 4, 5, 6};
    (void)state;
    for (unsigned i = 0; i < 5040; i++) {
        struct cd_map m = {0};
        for (size_t k = 0; k < 7; k++) {
            assert_null(cd_map_put_u64(&m, in[k], in));
            (void)check_shape(&m);
        }
        for (size_t k = 0; k < 7; k++) {
            assert_ptr_equal(cd_map_remove_u64(&m, out[k]), in);
            (void)check_shape(&m);
        }
        assert_null(m.root);
        next_permutation(in, 7);
        for (unsigned skip = 0; skip < 11; skip++) /* 11 and 5040 share no factor: all pairs get mixed. */
            next_permutation(out, 7);
    }
}

static uint64_t key_sorted(uint64_t i)
{
    return i;
}

static uint64_t key_falling(uint64_t i)
{
    return UINT64_MAX - i;
}

static uint64_t key_from_both_ends(uint64_t i)
{
    return i % 2 == 0 ? i : UINT64_MAX - i;
}

/* The order that a treap with known priorities degenerates under: the key is the i-th output of splitmix64.
 */
static uint64_t key_splitmix(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void test_50000_keys_in_hostile_orders_stay_balanced(void **state)
{
    uint64_t (*const order[])(uint64_t) = {key_sorted, key_falling, key_from_both_ends, key_splitmix};
    (void)state;
    for (size_t k = 0; k < CD_COUNT(order); k++) {
        struct cd_map m = {0};
        for (uint64_t i = 0; i < 50000; i++)
            assert_null(cd_map_put_u64(&m, order[k](i), &m));
        assert_true(check_shape(&m) <= height_limit(50000));
        for (uint64_t i = 0; i < 40000; i++) /* Also when one end is eaten away. */
            assert_non_null(cd_map_remove_u64(&m, order[k](i)));
        assert_true(check_shape(&m) <= height_limit(10000));
        cd_map_deinit(&m);
    }
}

static void test_an_empty_map_answers_everything(void **state)
{
    struct cd_map m = {0};
    (void)state;
    assert_null(cd_map_first(&m));
    assert_null(cd_map_last(&m));
    assert_null(cd_map_get(&m, CD_STR("a")));
    assert_null(cd_map_remove(&m, CD_STR("a")));
    assert_null(cd_map_at_or_after(&m, CD_STR("")));
    assert_null(cd_map_at_or_after_u64(&m, 0));
    cd_map_deinit(&m);
}

static void test_the_empty_key_is_a_key(void **state)
{
    struct cd_map m = {0};
    int a, b;
    (void)state;
    assert_null(cd_map_put(&m, (struct cd_str){NULL, 0}, &a));
    assert_ptr_equal(cd_map_put(&m, CD_STR(""), &b), &a);
    assert_null(cd_map_put(&m, CD_STR("\0"), &a));
    assert_ptr_equal(cd_map_get(&m, (struct cd_str){NULL, 0}), &b);
    assert_int_equal(cd_map_key(cd_map_first(&m)).len, 0);
    assert_ptr_equal(cd_map_value(cd_map_at_or_after(&m, (struct cd_str){NULL, 0})), &b);
    cd_map_deinit(&m);
    assert_int_equal(m.count, 0);
    assert_null(cd_map_first(&m));
}

static void test_numbers_order_by_value(void **state)
{
    static const uint64_t ascending[] = {
        0,         1, 255, 256, 65535, 65536, (UINT64_C(1) << 53) - 1, INT64_MAX, (uint64_t)INT64_MAX + 1,
        UINT64_MAX};
    struct cd_map m = {0};
    (void)state;
    for (size_t i = CD_COUNT(ascending); i-- > 0;)
        assert_null(cd_map_put_u64(&m, ascending[i], (void *)(uintptr_t)&ascending[i]));
    size_t i = 0;
    for (struct cd_map_node *n = cd_map_first(&m); n != NULL; n = cd_map_next(n), i++) {
        assert_true(cd_map_key_u64(n) == ascending[i]);
        assert_ptr_equal(cd_map_value(n), &ascending[i]);
        assert_ptr_equal(cd_map_get_u64(&m, ascending[i]), &ascending[i]);
    }
    assert_int_equal(i, CD_COUNT(ascending));
    assert_true(cd_map_key_u64(cd_map_at_or_after_u64(&m, 257)) == 65535);
    assert_true(cd_map_key_u64(cd_map_at_or_after_u64(&m, UINT64_MAX)) == UINT64_MAX);
    assert_ptr_equal(cd_map_remove_u64(&m, UINT64_MAX), &ascending[CD_COUNT(ascending) - 1]);
    assert_null(cd_map_at_or_after_u64(&m, UINT64_MAX));
    cd_map_deinit(&m);
}

static void test_a_key_may_be_the_map_s_own(void **state)
{
    struct cd_map m = {0};
    int a, b;
    (void)state;
    assert_null(cd_map_put(&m, CD_STR("own"), &a));
    assert_ptr_equal(cd_map_put(&m, cd_map_key(cd_map_first(&m)), &b), &a);
    assert_ptr_equal(cd_map_remove(&m, cd_map_key(cd_map_first(&m))), &b);
    assert_int_equal(m.count, 0);
}

static void put_null(void)
{
    struct cd_map m = {0};
    (void)cd_map_put(&m, CD_STR("key"), NULL);
}

static void read_bytes_as_number(void)
{
    struct cd_map m = {0};
    (void)cd_map_put(&m, CD_STR("seven"), &m);
    (void)cd_map_key_u64(cd_map_first(&m));
}

static void test_misuse_is_caught(void **state)
{
    (void)state;
    assert_dies(put_null, "value != NULL");
    assert_dies(read_bytes_as_number, "len == 8");
}

CD_TESTS(map, cmocka_unit_test(test_20000_random_calls_agree_with_a_sorted_array),
         cmocka_unit_test(test_every_order_of_seven_keys_keeps_its_shape),
         cmocka_unit_test(test_50000_keys_in_hostile_orders_stay_balanced),
         cmocka_unit_test(test_an_empty_map_answers_everything),
         cmocka_unit_test(test_the_empty_key_is_a_key), cmocka_unit_test(test_numbers_order_by_value),
         cmocka_unit_test(test_a_key_may_be_the_map_s_own), cmocka_unit_test(test_misuse_is_caught))
