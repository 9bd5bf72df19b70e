#include "rig.h"

#define SOURCES 4

struct run {
    struct cd_buf bytes[SOURCES];
    struct ltx_file file[SOURCES];
    size_t count;
};

static struct run make(struct ltx_zstd *z, const struct rig_segment *s, size_t count)
{
    struct run r = {.count = count};
    for (size_t i = 0; i < count; i++) {
        r.bytes[i] = rig_make(z, &s[i]);
        assert_int_equal(ltx_file_open(&r.file[i], cd_buf_str(&r.bytes[i]), NULL, NULL), 0);
    }
    return r;
}

static void drop(struct run *r)
{
    for (size_t i = 0; i < r->count; i++)
        cd_buf_deinit(&r->bytes[i]);
}

/* want: pages as {number, seed}. */
static void check(struct ltx_zstd *z, const struct cd_buf *bytes, const uint32_t (*want)[2], uint32_t count)
{
    struct ltx_file f;
    assert_int_equal(ltx_file_open(&f, cd_buf_str(bytes), NULL, NULL), 0);
    assert_int_equal(ltx_file_verify(z, &f, NULL), 0);
    assert_int_equal(f.h.page_count, count);
    for (uint32_t i = 0; i < count; i++) {
        char got[RIG_PAGE], page[RIG_PAGE];
        assert_int_equal(ltx_file_entry(&f, i).pgno, want[i][0]);
        rig_page(page, want[i][0], want[i][1]);
        assert_int_equal(ltx_file_page(z, &f, i, got, NULL), 0);
        assert_memory_equal(got, page, RIG_PAGE);
    }
}

static void test_the_newest_page_wins_and_what_was_cut_off_goes(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    static const struct rig_segment s[] = {
        {.min = 4,
         .epoch = 2,
         .base_epoch = 1,
         .base_txid = 3,
         .flags = LTX_MARKER,
         .old_commit = 6,
         .commit = 9,
         .pages = {1, 5, 7, 8, 9},
         .seed = 1},
        {.min = 5, .epoch = 2, .old_commit = 9, .commit = 5, .pages = {1, 2}, .seed = 2},
        {.min = 6, .max = 8, .epoch = 2, .old_commit = 5, .commit = 7, .pages = {2, 6}, .seed = 3},
    };
    struct run r = make(z, s, 3);
    struct cd_buf out = {0};
    assert_int_equal(ltx_merge(&out, r.file, 3, NULL, NULL), 0);
    static const uint32_t want[][2] = {{1, 2}, {2, 3}, {5, 1}, {6, 3}, {7, 0}};
    check(z, &out, want, CD_COUNT(want));
    struct ltx_header h;
    assert_int_equal(ltx_header_read(cd_buf_str(&out), NULL, &h, NULL), 0);
    assert_int_equal(h.flags, LTX_MARKER);
    assert_int_equal(h.base_txid, 3);
    assert_int_equal(h.min_txid, 4);
    assert_int_equal(h.max_txid, 8);
    assert_int_equal(h.commit, 7);
    assert_int_equal(h.timestamp_ms, r.file[2].h.timestamp_ms);
    cd_buf_deinit(&out);
    drop(&r);
    ltx_zstd_free(z);
}

static void test_in_small_steps_it_is_the_same(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    static const struct rig_segment s[] = {
        {.min = 1,
         .flags = LTX_SNAPSHOT | LTX_DBSUM,
         .commit = 9,
         .pages = {1, 2, 3, 4, 5, 6, 7, 8, 9},
         .seed = 3},
        {.min = 2, .old_commit = 9, .commit = 9, .pages = {1, 5, 9}, .seed = 2},
    };
    struct run r = make(z, s, 2);
    struct cd_buf whole = {0};
    assert_int_equal(ltx_merge(&whole, r.file, 2, NULL, NULL), 0);
    static const uint32_t want[][2] = {{1, 2}, {2, 3}, {3, 3}, {4, 3}, {5, 2},
                                       {6, 3}, {7, 3}, {8, 3}, {9, 2}};
    check(z, &whole, want, CD_COUNT(want));
    struct ltx_merge *m = NULL;
    assert_int_equal(ltx_merge_new(&m, r.file, 2, NULL, NULL), 0);
    unsigned steps = 1;
    for (; !ltx_merge_step(m, 100); steps++)
        assert_true(steps < 100);
    assert_true(steps > 9);
    struct cd_buf parts = ltx_merge_take(m);
    ltx_merge_free(m);
    assert_true(cd_str_eq(cd_buf_str(&parts), cd_buf_str(&whole)));
    struct ltx_header h;
    assert_int_equal(ltx_header_read(cd_buf_str(&parts), NULL, &h, NULL), 0);
    assert_int_equal(h.flags, LTX_SNAPSHOT); /* Still a whole image, of which nobody computed the sum. */
    cd_buf_deinit(&parts);
    cd_buf_deinit(&whole);
    drop(&r);
    ltx_zstd_free(z);
}

static void test_an_overlap_is_fine_and_a_gap_is_not(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    static const struct rig_segment s[] = {
        {.min = 4, .max = 6, .old_commit = 9, .commit = 9, .pages = {1, 5}, .seed = 1},
        {.min = 5, .max = 9, .old_commit = 9, .commit = 9, .pages = {5, 6}, .seed = 2},
        {.min = 11, .old_commit = 9, .commit = 9, .pages = {5}, .seed = 4},
        {.min = 5, .max = 6, .old_commit = 9, .commit = 9, .pages = {5}, .seed = 4},
    };
    struct run r = make(z, s, 4);
    struct cd_buf out = {0}, why = {0};
    assert_int_equal(ltx_merge(&out, r.file, 2, NULL, NULL), 0);
    static const uint32_t want[][2] = {{1, 1}, {5, 2}, {6, 2}};
    check(z, &out, want, CD_COUNT(want));
    cd_buf_clear(&out);
    assert_int_equal(ltx_merge(&out, r.file, 3, NULL, &why), CD_ECORRUPT);
    assert_str_is(cd_buf_str(&why), "source 2 has txids 11 to 11 where 10 is next");
    const struct ltx_file back[] = {r.file[0], r.file[3]}; /* It reaches no farther. */
    assert_int_equal(ltx_merge(&out, back, 2, NULL, NULL), CD_ECORRUPT);
    cd_buf_deinit(&out);
    cd_buf_deinit(&why);
    drop(&r);
    ltx_zstd_free(z);
}

static void test_a_run_that_starts_later_is_no_first_row(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    static const struct rig_segment s[] = {
        {.min = 1, .max = 6, .flags = LTX_SNAPSHOT, .commit = 3, .pages = {1, 2, 3}, .seed = 1},
        {.min = 7, .old_commit = 3, .commit = 3, .pages = {2}, .seed = 2},
    };
    struct run r = make(z, s, 2);
    struct cd_buf out = {0};
    assert_int_equal(ltx_merge(&out, r.file, 2, &(struct ltx_merge_opts){.min_txid = 5}, NULL), 0);
    struct ltx_header h;
    assert_int_equal(ltx_header_read(cd_buf_str(&out), NULL, &h, NULL), 0);
    assert_int_equal(h.flags, 0);
    assert_int_equal(h.min_txid, 5);
    cd_buf_clear(&out);
    assert_int_equal(ltx_merge(&out, r.file, 2, &(struct ltx_merge_opts){.min_txid = 7}, NULL), CD_ECORRUPT);
    cd_buf_deinit(&out);
    drop(&r);
    ltx_zstd_free(z);
}

static void test_a_join_takes_epochs_together_as_a_marker(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    static const struct rig_segment s[] = {
        {.epoch = 2, .min = 4, .max = 6, .old_commit = 9, .commit = 9, .pages = {1, 5}, .seed = 1},
        {.epoch = 3,
         .min = 7,
         .base_epoch = 2,
         .base_txid = 6,
         .flags = LTX_MARKER,
         .old_commit = 9,
         .commit = 10,
         .pages = {5, 10},
         .seed = 2},
    };
    struct run r = make(z, s, 2);
    struct cd_buf out = {0};
    assert_int_equal(ltx_merge(&out, r.file, 2, NULL, NULL), CD_ECORRUPT); /* Not without being asked to. */
    struct ltx_merge_opts o = {.epoch = 3, .base_epoch = 2, .base_txid = 3};
    assert_int_equal(ltx_merge(&out, r.file, 2, &o, NULL), 0);
    static const uint32_t want[][2] = {{1, 1}, {5, 2}, {10, 2}};
    check(z, &out, want, CD_COUNT(want));
    struct ltx_header h;
    assert_int_equal(ltx_header_read(cd_buf_str(&out), NULL, &h, NULL), 0);
    assert_int_equal(h.flags, LTX_MARKER);
    assert_int_equal(h.epoch, 3);
    assert_int_equal(h.base_epoch, 2);
    assert_int_equal(h.min_txid, 4);
    assert_int_equal(h.max_txid, 7);
    cd_buf_clear(&out);
    o.epoch = 2; /* Below its own sources. */
    assert_int_equal(ltx_merge(&out, r.file, 2, &o, NULL), CD_ECORRUPT);
    cd_buf_deinit(&out);
    drop(&r);
    ltx_zstd_free(z);
}

CD_TESTS(merge, cmocka_unit_test(test_the_newest_page_wins_and_what_was_cut_off_goes),
         cmocka_unit_test(test_in_small_steps_it_is_the_same),
         cmocka_unit_test(test_an_overlap_is_fine_and_a_gap_is_not),
         cmocka_unit_test(test_a_run_that_starts_later_is_no_first_row),
         cmocka_unit_test(test_a_join_takes_epochs_together_as_a_marker))
