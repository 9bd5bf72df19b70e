/* Chains from listings: by hand, and exhaustively over small sets of objects. */
#include "ltx/keep.h"
#include "support/test.h"

#define O(level, min, max) {7, (level), (min), (max), 100, 0}

static void check_plan(const struct ltx_object *o, size_t n, uint64_t limit, enum ltx_fault fault,
                       uint64_t reach, const char *want)
{
    size_t plan[16], planned = 0;
    uint64_t got = 0;
    assert_int_equal(ltx_plan_epoch(o, n, limit, plan, &planned, &got), fault);
    assert_int_equal(got, reach);
    char text[64] = "";
    for (size_t i = 0; i < planned; i++)
        (void)snprintf(text + 2 * i, sizeof text - 2 * i, "%zu ", plan[i]);
    assert_string_equal(text, want);
}

static void test_within_an_epoch_the_object_that_leads_farthest_is_next(void **state)
{
    (void)state;
    static const struct ltx_object o[] = {O(LTX_L0, 5, 6),   O(LTX_L0, 7, 9), O(LTX_L1, 5, 8),
                                          O(LTX_L0, 10, 10), O(LTX_L1, 7, 9), O(LTX_L9, 1, 6)};
    check_plan(o, 2, UINT64_MAX, LTX_FAULT_NONE, 9, "0 1 ");
    check_plan(o, 3, UINT64_MAX, LTX_FAULT_NONE, 9, "2 1 "); /* Overlapping. */
    check_plan(o, 4, UINT64_MAX, LTX_FAULT_NONE, 10, "2 1 3 ");
    check_plan(o, 5, UINT64_MAX, LTX_FAULT_NONE, 10, "2 4 3 "); /* The same range: the higher level. */
    check_plan(o, 6, UINT64_MAX, LTX_FAULT_NONE, 10, "5 4 3 ");
    check_plan(o, 6, 9, LTX_FAULT_NONE, 9, "5 4 ");
    check_plan(o, 6, 8, LTX_FAULT_NONE, 8, "5 2 "); /* 7..9 is dropped as a whole. */
    check_plan(o, 6, 4, LTX_FAULT_NONE, 0, "");
    check_plan(o, 0, UINT64_MAX, LTX_FAULT_NONE, 0, "");
}

static void test_a_gap_is_never_passed(void **state)
{
    (void)state;
    static const struct ltx_object o[] = {O(LTX_L0, 1, 2), O(LTX_L0, 4, 5)};
    size_t plan[2], planned = 0;
    uint64_t reach = 0;
    assert_int_equal(ltx_plan_epoch(o, 2, UINT64_MAX, plan, &planned, &reach), LTX_FAULT_GAP);
    assert_int_equal(ltx_plan_epoch(o, 2, 4, plan, &planned, &reach), LTX_FAULT_NONE); /* Beyond the cut. */
    assert_int_equal(reach, 2);
}

/* Every set of three ranges within 1..5, against the plain meaning: all txids from the first to the last that
 * is there are covered, or it is a gap. */
static void test_every_small_set_of_ranges(void **state)
{
    (void)state;
    struct ltx_object all[15];
    size_t n = 0;
    for (uint64_t min = 1; min <= 5; min++) {
        for (uint64_t max = min; max <= 5; max++)
            all[n++] = (struct ltx_object){7, LTX_L0, min, max, 1, 0};
    }
    for (size_t set = 0; set < 15 * 15 * 15; set++) {
        for (uint64_t limit = 1; limit <= 6; limit++) {
            struct ltx_object o[3] = {all[set % 15], all[set / 15 % 15], all[set / 225]};
            bool has[7] = {false};
            uint64_t first = 9, last = 0;
            for (unsigned i = 0; i < 3; i++) {
                if (o[i].max_txid > limit)
                    continue;
                first = o[i].min_txid < first ? o[i].min_txid : first;
                last = o[i].max_txid > last ? o[i].max_txid : last;
                for (uint64_t t = o[i].min_txid; t <= o[i].max_txid; t++)
                    has[t] = true;
            }
            uint64_t end = first;
            while (end <= 5 && has[end])
                end++;
            size_t plan[3], planned = 0;
            uint64_t reach = 0;
            enum ltx_fault fault = ltx_plan_epoch(o, 3, limit, plan, &planned, &reach);
            assert_int_equal(fault, last != 0 && end <= last ? LTX_FAULT_GAP : LTX_FAULT_NONE);
            if (last != 0 && fault == LTX_FAULT_NONE)
                assert_int_equal(reach, last);
            uint64_t cur = first - 1; /* The plan itself has no gap and repeats nothing whole. */
            for (size_t i = 0; i < planned; i++) {
                assert_true(o[plan[i]].min_txid <= cur + 1 && o[plan[i]].max_txid > cur);
                cur = o[plan[i]].max_txid;
            }
            if (limit == 6)
                assert_int_equal(ltx_coverage(o, 3, 0), end - 1);
        }
    }
}

static void test_coverage_counts_from_the_first_row(void **state)
{
    (void)state;
    static const struct ltx_object o[] = {O(LTX_L0, 5, 6), O(LTX_L0, 7, 9), O(LTX_L0, 11, 12)};
    assert_int_equal(ltx_coverage(o, 3, 5), 9);
    assert_int_equal(ltx_coverage(o, 3, 0), 9);
    assert_int_equal(ltx_coverage(o, 3, 4), 0); /* Row 4 is not there. */
    assert_int_equal(ltx_coverage(o + 1, 2, 5), 0);
    assert_int_equal(ltx_coverage(o, 0, 1), 0);
    static const struct ltx_object join[] = {O(LTX_L1, 2, 6),
                                             O(LTX_L0, 7, 9)}; /* Reaches into older epochs. */
    assert_int_equal(ltx_coverage(join, 2, 5), 9);
}

static void test_compaction_goes_on_where_it_ended(void **state)
{
    (void)state;
    static const struct ltx_object o[] = {O(LTX_L0, 5, 6),   O(LTX_L0, 7, 9),   O(LTX_L1, 5, 8),
                                          O(LTX_L0, 10, 10), O(LTX_L0, 12, 12), O(LTX_L9, 1, 12)};
    size_t source[LTX_COMPACT_SOURCES];
    assert_int_equal(ltx_compacted(o, 2, 5), 4);
    assert_int_equal(ltx_compact_pick(o, 2, 5, source), 2);
    assert_true(source[0] == 0 && source[1] == 1);
    assert_int_equal(ltx_compacted(o, 5, 5), 8);
    assert_int_equal(ltx_compact_pick(o, 5, 5, source), 2); /* Up to the gap at 11. */
    assert_true(source[0] == 1 && source[1] == 3);
    assert_int_equal(ltx_compacted(o, 6, 5), 12); /* What an image has needs no L1. */
    assert_int_equal(ltx_compact_pick(o, 1, 4, source), 0); /* The first row is not there yet. */
    assert_int_equal(ltx_compact_pick(o, 0, 5, source), 0);
}

static void test_compaction_stays_within_its_bounds(void **state)
{
    (void)state;
    static struct ltx_object o[300];
    size_t source[LTX_COMPACT_SOURCES];
    for (unsigned i = 0; i < 300; i++)
        o[i] = (struct ltx_object){7, LTX_L0, i + 1, i + 1, 1000, 0};
    assert_int_equal(ltx_compact_pick(o, 300, 1, source), 256);
    o[3].size = LTX_COMPACT_BYTES - 3000;
    assert_int_equal(ltx_compact_pick(o, 300, 1, source), 4);
    o[0].size = LTX_COMPACT_BYTES + 1; /* Too large to be merged: it stays, and the next L1 begins behind. */
    assert_int_equal(ltx_compacted(o, 300, 1), 1);
    o[3].size = 1000;
    assert_int_equal(ltx_compact_pick(o, 300, 1, source), 256);
    assert_int_equal(source[0], 1);
    o[9].size = LTX_COMPACT_BYTES + 1;
    assert_int_equal(ltx_compact_pick(o, 300, 1, source), 8);
}

/* ---- Chains across epochs ---- */

struct store {
    struct ltx_object object[16];
    struct ltx_header head[16]; /* flags and base; the rest follows from the object. */
    size_t count;
};

static enum ltx_fault walk(struct ltx_chain *c, const struct store *s, uint64_t newest, uint64_t limit)
{
    uint64_t epochs[16];
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        bool seen = false;
        for (size_t k = 0; k < n; k++)
            seen = seen || epochs[k] == s->object[i].epoch;
        if (!seen)
            epochs[n++] = s->object[i].epoch;
    }
    enum ltx_chain_step step = ltx_chain_start(c, epochs, n, newest, limit);
    for (unsigned turns = 0; turns < 100; turns++) {
        if (step == LTX_CHAIN_LIST) {
            struct ltx_object o[16];
            size_t m = 0;
            for (size_t i = 0; i < s->count; i++) {
                if (s->object[i].epoch == c->epoch && s->object[i].max_txid != 0)
                    o[m++] = s->object[i];
            }
            step = ltx_chain_listed(c, o, m);
        } else if (step == LTX_CHAIN_HEAD) {
            size_t i = 0;
            while (memcmp(&s->object[i], &c->first, sizeof c->first) != 0)
                i++;
            struct ltx_header h = s->head[i];
            h.epoch = c->epoch;
            h.min_txid = c->first.min_txid;
            h.max_txid = c->first.max_txid;
            step = ltx_chain_head(c, &h);
        } else {
            assert_int_equal(step == LTX_CHAIN_FAILED, c->fault != LTX_FAULT_NONE);
            assert_int_equal(c->why.len > 0, c->fault != LTX_FAULT_NONE);
            return c->fault;
        }
    }
    fail_msg("it never ends");
    return LTX_FAULT_NONE;
}

/* The objects of the chain as "epoch:min-max ". */
static void check_chain(const struct store *s, uint64_t newest, uint64_t limit, enum ltx_fault fault,
                        const char *want)
{
    struct ltx_chain c = {0};
    struct cd_buf text = {0};
    assert_int_equal(walk(&c, s, newest, limit), fault);
    if (fault == LTX_FAULT_NONE) {
        for (size_t i = 0; i < c.count; i++)
            cd_buf_addf(&text, "%u:%u-%u ", (unsigned)c.object[i].epoch, (unsigned)c.object[i].min_txid,
                        (unsigned)c.object[i].max_txid);
        assert_string_equal(cd_buf_cstr(&text), want);
    }
    cd_buf_deinit(&text);
    ltx_chain_deinit(&c);
}

static const struct store three = {.object = {{1, LTX_L0, 1, 4, 10, 0},
                                              {1, LTX_L0, 5, 6, 10, 0},
                                              {3, LTX_L0, 6, 8, 10, 0},
                                              {3, LTX_L0, 9, 9, 10, 0},
                                              {7, LTX_L0, 9, 12, 10, 0},
                                              {1, LTX_L0, 7, 7, 10, 0}},
                                   .head = {{.flags = LTX_SNAPSHOT},
                                            {0},
                                            {.flags = LTX_MARKER, .base_epoch = 1, .base_txid = 5},
                                            {0},
                                            {.flags = LTX_MARKER, .base_epoch = 3, .base_txid = 8},
                                            {0}},
                                   .count = 5};

static void test_markers_lead_down_to_the_image(void **state)
{
    (void)state;
    struct store s = three;
    s.object[1].max_txid = 5;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_NONE, "1:1-4 1:5-5 3:6-8 7:9-12 ");
    /* What landed late in epoch 1 beyond the cut is left out. */
    s.object[5] = (struct ltx_object){1, LTX_L0, 6, 7, 10, 0};
    s.count = 6;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_NONE, "1:1-4 1:5-5 3:6-8 7:9-12 ");
    check_chain(&s, 3, UINT64_MAX, LTX_FAULT_NONE, "1:1-4 1:5-5 3:6-8 3:9-9 "); /* As of epoch 3. */
    check_chain(&s, 1, 5, LTX_FAULT_NONE, "1:1-4 1:5-5 ");
}

static void test_a_link_must_end_exactly_at_the_cut(void **state)
{
    (void)state;
    /* Epoch 1 has 5..6 where epoch 3 continues 5: that object is beyond the cut as a whole. */
    check_chain(&three, UINT64_MAX, UINT64_MAX, LTX_FAULT_NOT_AVAILABLE, "");
}

static void test_epochs_without_data_count_only_above_the_newest_with_data(void **state)
{
    (void)state;
    struct store s = three;
    s.object[1].max_txid = 5;
    s.object[5] = (struct ltx_object){9, LTX_L0, 0, 0, 0, 0}; /* A prefix with foreign names only. */
    s.count = 6;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_NONE, "1:1-4 1:5-5 3:6-8 7:9-12 ");
    struct store none = {.count = 0};
    check_chain(&none, UINT64_MAX, UINT64_MAX, LTX_FAULT_NO_DATA, "");
}

static void test_what_cannot_be_a_chain_is_named(void **state)
{
    (void)state;
    struct store s = three;
    s.object[1].max_txid = 5;
    s.head[4].base_epoch = 2; /* Not there. */
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_CORRUPT, "");
    s.head[4] = (struct ltx_header){.flags = LTX_MARKER, .base_epoch = 7, .base_txid = 8}; /* Itself. */
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_CORRUPT, "");
    s.head[4] = (struct ltx_header){0}; /* It starts in the middle. */
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_CORRUPT, "");
    s = three;
    s.object[1] = (struct ltx_object){1, LTX_L0, 3, 5, 10, 0};
    s.object[0].max_txid = 1;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_GAP, "");
}

static void test_a_join_and_an_image_shorten_the_way(void **state)
{
    (void)state;
    struct store s = three;
    s.object[1].max_txid = 5;
    s.object[5] = (struct ltx_object){7, LTX_L1, 5, 12, 10, 0}; /* Joined behind 1:1-4. */
    s.head[5] = (struct ltx_header){.flags = LTX_MARKER, .base_epoch = 1, .base_txid = 4};
    s.count = 6;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_NONE, "1:1-4 7:5-12 ");
    s.object[6] = (struct ltx_object){7, LTX_L9, 1, 12, 10, 0};
    s.head[6] = (struct ltx_header){.flags = LTX_SNAPSHOT};
    s.count = 7;
    check_chain(&s, UINT64_MAX, UINT64_MAX, LTX_FAULT_NONE, "7:1-12 ");
    /* Clipped below both, the markers underneath still lead on. */
    s.object[7] = (struct ltx_object){7, LTX_L0, 9, 10, 10, 0};
    s.head[7] = (struct ltx_header){.flags = LTX_MARKER, .base_epoch = 3, .base_txid = 8};
    s.count = 8;
    check_chain(&s, 7, 11, LTX_FAULT_NONE, "1:1-4 1:5-5 3:6-8 7:9-10 ");
}

static void test_the_position_and_weight_of_a_chain(void **state)
{
    (void)state;
    struct store s = three;
    s.object[1].max_txid = 5;
    struct ltx_chain c = {0};
    assert_int_equal(walk(&c, &s, UINT64_MAX, UINT64_MAX), LTX_FAULT_NONE);
    assert_int_equal(c.reach_epoch, 7);
    assert_int_equal(c.reach_txid, 12);
    assert_false(c.image_only);
    struct ltx_weight w = ltx_chain_weight(&c);
    assert_int_equal(w.epochs, 3);
    assert_int_equal(w.image_bytes, 10);
    assert_int_equal(w.delta_bytes, 30);
    assert_int_equal(w.delta_objects, 3);
    struct ltx_merge_opts m;
    assert_true(ltx_join_opts(&c, 7, &m));
    assert_true(m.epoch == 7 && m.base_epoch == 1 && m.base_txid == 4 && m.min_txid == 0);
    assert_true(ltx_join_opts(&c, 1, &m));
    assert_true(m.epoch == 0 && m.min_txid == 5);
    ltx_chain_deinit(&c);
}

CD_TESTS(plan, cmocka_unit_test(test_within_an_epoch_the_object_that_leads_farthest_is_next),
         cmocka_unit_test(test_a_gap_is_never_passed), cmocka_unit_test(test_every_small_set_of_ranges),
         cmocka_unit_test(test_coverage_counts_from_the_first_row),
         cmocka_unit_test(test_compaction_goes_on_where_it_ended),
         cmocka_unit_test(test_compaction_stays_within_its_bounds),
         cmocka_unit_test(test_markers_lead_down_to_the_image),
         cmocka_unit_test(test_a_link_must_end_exactly_at_the_cut),
         cmocka_unit_test(test_epochs_without_data_count_only_above_the_newest_with_data),
         cmocka_unit_test(test_what_cannot_be_a_chain_is_named),
         cmocka_unit_test(test_a_join_and_an_image_shorten_the_way),
         cmocka_unit_test(test_the_position_and_weight_of_a_chain))
