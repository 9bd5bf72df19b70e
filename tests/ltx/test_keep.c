#include "ltx/keep.h"
#include "support/test.h"

static void test_when_a_chain_is_shortened(void **state)
{
    (void)state;
    const uint64_t mb = 1u << 20;
    const struct ltx_keep keep = ltx_keep_default();
    static const struct {
        struct ltx_weight w; /* Bytes in MiB. */
        bool handoff;
        enum ltx_shorten want;
    } rows[] = {
        {{1, 4, 10, 2}, false, LTX_KEEP},     {{1, 5, 10, 2}, false, LTX_IMAGE},
        {{100, 100, 10, 2}, false, LTX_KEEP}, {{100, 101, 10, 2}, false, LTX_IMAGE},
        {{100, 5, 10, 2}, true, LTX_IMAGE},   {{100, 4, 10, 2}, true, LTX_KEEP},
        {{100, 24, 65, 2}, false, LTX_JOIN},  {{100, 25, 65, 2}, false, LTX_IMAGE},
        {{100, 1, 9, 9}, false, LTX_JOIN},    {{100, 1, 64, 8}, false, LTX_KEEP},
        {{0, 0, 9, 9}, false, LTX_IMAGE},     {{400, 64, 65, 2}, false, LTX_JOIN},
        {{400, 65, 65, 2}, false, LTX_IMAGE},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct ltx_weight w = rows[i].w;
        w.image_bytes *= mb;
        w.delta_bytes *= mb;
        if (ltx_shorten_decide(&w, &keep, rows[i].handoff) != rows[i].want)
            fail_msg("row %zu", i);
    }
}

static void test_when_an_l1_is_due(void **state)
{
    (void)state;
    struct ltx_keep k = {.compact_txids = 256, .compact_bytes = 100};
    assert_true(ltx_compact_due(266, 10, 0, 2, &k) && !ltx_compact_due(265, 10, 0, 2, &k));
    assert_true(ltx_compact_due(11, 10, 100, 2, &k) && !ltx_compact_due(11, 10, 99, 2, &k));
    assert_false(ltx_compact_due(10, 10, 1000, 2, &k));
    assert_false(ltx_compact_due(266, 10, 1000, 1, &k)); /* One object is not made of one. */
    k.compact_txids = 0;
    assert_false(ltx_compact_due(266, 10, 1000, 2, &k)); /* Off. */
}

/* ---- Epoch GC ---- */

#define AT(e, ms) {.epoch = (e), .min_txid = 1, .max_txid = 1, .size = 10, .modified_ms = (ms)}

static void test_the_base_is_the_image_that_the_chain_ends_in(void **state)
{
    (void)state;
    /* Epoch 9 joined what was behind the image of epoch 3; one of epoch 5 landed later. Its marker leads past
     * that one, down to epoch 3. */
    struct ltx_object o[] = {{3, LTX_L9, 1, 4, 10, 0}, {9, LTX_L1, 5, 12, 10, 0}};
    struct ltx_chain c = {.object = o, .count = 2, .epochs = 2, .reach_epoch = 9, .reach_txid = 12};
    assert_int_equal(ltx_retire_base(&c), 3);
}

static void test_which_epochs_may_go(void **state)
{
    (void)state;
    static const struct ltx_object o[] = {AT(1, 50),  AT(2, 50), AT(2, 900), AT(3, 100),
                                          AT(4, 899), AT(7, 1),  AT(8, 1),   AT(9, 1)};
    struct ltx_keep k = {.retention_ms = 100};
    uint64_t out[LTX_RETIRE_MAX];
    assert_int_equal(ltx_retire_pick(o, 8, 7, 9, 1000, &k, out), 3); /* Epoch 2 has a young object. */
    assert_true(out[0] == 1 && out[1] == 3 && out[2] == 4);
    assert_int_equal(ltx_retire_pick(o, 8, 4, 9, 1000, &k, out), 2); /* Nothing at or above the base. */
    assert_int_equal(ltx_retire_pick(o, 8, 9, 9, 1000, &k, out), 4); /* The epoch before ours stays. */
    assert_int_equal(out[3], 7);
    assert_int_equal(ltx_retire_pick(o, 8, 7, 9, 40, &k, out), 0); /* A clock that is behind. */
    k.retention_ms = 0;
    assert_int_equal(ltx_retire_pick(o, 8, 7, 9, 1000, &k, out), 0); /* Off. */
}

static void test_a_pass_takes_the_oldest_epochs(void **state)
{
    (void)state;
    static struct ltx_object o[LTX_RETIRE_MAX + 10];
    uint64_t out[LTX_RETIRE_MAX];
    for (unsigned i = 0; i < CD_COUNT(o); i++)
        o[i] = (struct ltx_object){.epoch = i + 1, .min_txid = 1, .max_txid = 1};
    struct ltx_keep k = {.retention_ms = 1};
    assert_int_equal(ltx_retire_pick(o, CD_COUNT(o), 1000, 1000, 1000, &k, out), LTX_RETIRE_MAX);
    assert_true(out[0] == 1 && out[LTX_RETIRE_MAX - 1] == LTX_RETIRE_MAX);
}

CD_TESTS(keep, cmocka_unit_test(test_when_a_chain_is_shortened), cmocka_unit_test(test_when_an_l1_is_due),
         cmocka_unit_test(test_the_base_is_the_image_that_the_chain_ends_in),
         cmocka_unit_test(test_which_epochs_may_go), cmocka_unit_test(test_a_pass_takes_the_oldest_epochs))
