/* The segment format: built, read whole and by ranges, and every kind of damage. */
#include "rig.h"

#include "base/encode.h"

static struct ltx_file open_ok(const struct cd_buf *bytes)
{
    struct ltx_file f = {0};
    struct cd_buf why = {0};
    int rc = ltx_file_open(&f, cd_buf_str(bytes), NULL, &why);
    if (rc != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    return f;
}

static void check_page(struct ltx_zstd *z, const struct ltx_file *f, uint32_t i, unsigned seed)
{
    char got[RIG_PAGE], want[RIG_PAGE];
    rig_page(want, ltx_file_entry(f, i).pgno, seed);
    assert_int_equal(ltx_file_page(z, f, i, got, NULL), 0);
    assert_memory_equal(got, want, RIG_PAGE);
}

static void test_pages_come_back_as_they_were_given(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    for (unsigned seed = 0; seed < 4; seed++) { /* Zeros, text, text, noise. */
        struct cd_buf b = rig_make(
            z,
            &(struct rig_segment){.min = 5, .old_commit = 9, .commit = 9, .pages = {2, 3, 9}, .seed = seed});
        struct ltx_file f = open_ok(&b);
        assert_int_equal(f.h.page_count, 3);
        assert_int_equal(f.h.commit, 9);
        assert_int_equal(f.h.min_txid, 5);
        assert_int_equal(f.h.max_txid, 5);
        assert_int_equal(f.h.timestamp_ms, 1700000000005);
        for (uint32_t i = 0; i < 3; i++)
            check_page(z, &f, i, seed);
        assert_int_equal(ltx_file_entry(&f, 0).stored == 0, seed == 0);
        assert_int_equal(ltx_file_entry(&f, 0).stored == RIG_PAGE, seed == 3);
        assert_int_equal(ltx_file_find(&f, 9), 2);
        assert_int_equal(ltx_file_find(&f, 4), UINT32_MAX);
        assert_int_equal(ltx_file_verify(z, &f, NULL), 0);
        cd_buf_deinit(&b);
    }
    ltx_zstd_free(z);
}

static void test_of_many_versions_the_last_counts_and_what_was_cut_off_goes(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct ltx_builder b = {0};
    char page[RIG_PAGE];
    static const uint32_t order[] = {7, 2, 4, 2, 12, 7, 2}; /* As spills and rollbacks write. */
    for (unsigned i = 0; i < CD_COUNT(order); i++) {
        rig_page(page, order[i], i + 1);
        ltx_builder_page(&b, z, order[i], page, RIG_PAGE);
    }
    struct cd_buf out = {0};
    struct ltx_header h = {.page_size = RIG_PAGE, .commit = 8, .min_txid = 3, .max_txid = 3, .epoch = 1};
    ltx_builder_finish(&b, z, &h, 5, &out);
    assert_int_equal(out.cap, out.len); /* The log keeps it for minutes. */
    struct ltx_file f = open_ok(&out);
    static const uint32_t want[][2] = {
        {2, 7}, {4, 3}, {6, 0}, {7, 6}, {8, 0}}; /* 6 and 8: grown, unwritten. */
    assert_int_equal(f.h.page_count, CD_COUNT(want));
    for (uint32_t i = 0; i < CD_COUNT(want); i++) {
        assert_int_equal(ltx_file_entry(&f, i).pgno, want[i][0]);
        check_page(z, &f, i, want[i][1]);
    }
    cd_buf_deinit(&out);
    ltx_zstd_free(z);
}

static void test_many_rewrites_of_one_page_need_no_more_room(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct ltx_builder b = {0};
    char *page = cd_alloc(LTX_PAGE_MAX);
    struct cd_rng r;
    cd_rng_seed(&r, 1, CD_STR("noise"));
    for (unsigned i = 0; i < 1000; i++) { /* 64 MB of noise. */
        cd_rng_fill(&r, page, LTX_PAGE_MAX);
        ltx_builder_page(&b, z, 1 + i % 3, page, LTX_PAGE_MAX);
        assert_true(ltx_builder_size(&b) < 18u << 20);
    }
    struct cd_buf out = {0};
    struct ltx_header h = {.flags = LTX_SNAPSHOT | LTX_DBSUM,
                           .page_size = LTX_PAGE_MAX,
                           .commit = 3,
                           .min_txid = 1,
                           .max_txid = 1,
                           .epoch = 1};
    ltx_builder_finish(&b, z, &h, 0, &out);
    struct ltx_file f = open_ok(&out);
    assert_int_equal(f.h.page_count, 3);
    assert_int_equal(ltx_file_verify(z, &f, NULL), 0);
    char *got = cd_alloc(LTX_PAGE_MAX);
    assert_int_equal(ltx_file_page(z, &f, 0, got, NULL), 0); /* 999 % 3 == 0: the last one went to page 1. */
    assert_memory_equal(got, page, LTX_PAGE_MAX);
    cd_free(got);
    cd_free(page);
    cd_buf_deinit(&out);
    ltx_zstd_free(z);
}

static void test_the_sum_of_a_database_is_that_of_its_pages_in_any_order(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = rig_make(
        z, &(struct rig_segment){
               .flags = LTX_SNAPSHOT | LTX_DBSUM, .min = 1, .commit = 3, .pages = {3, 1}, .seed = 1});
    struct ltx_file f = open_ok(&b);
    uint64_t sum = LTX_DBSUM_START;
    char page[RIG_PAGE];
    for (uint32_t pgno = 3; pgno > 0; pgno--) {
        rig_page(page, pgno, pgno == 2 ? 0 : 1);
        sum = ltx_dbsum_add(sum, pgno, page, RIG_PAGE);
    }
    assert_true(f.post_checksum == sum);
    assert_int_equal(ltx_file_verify(z, &f, NULL), 0);
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

static void test_the_lock_page_is_never_stored(void **state)
{
    (void)state;
    assert_int_equal(ltx_lock_page(4096), 262145);
    assert_int_equal(ltx_page_total(4096, 262144), 262144);
    assert_int_equal(ltx_page_total(4096, 262145), 262144);
    struct ltx_zstd *z = ltx_zstd_new();
    struct ltx_builder b = {0};
    char *page = cd_alloc(LTX_PAGE_MAX);
    uint32_t lock = ltx_lock_page(LTX_PAGE_MAX);
    ltx_builder_page(&b, z, lock, page, LTX_PAGE_MAX);
    assert_true(ltx_builder_empty(&b));
    struct cd_buf out = {0};
    struct ltx_header h = {
        .page_size = LTX_PAGE_MAX, .commit = lock + 1, .min_txid = 2, .max_txid = 2, .epoch = 1};
    ltx_builder_finish(&b, z, &h, lock - 2, &out); /* Grows by the page before, the lock page and one more. */
    struct ltx_file f = open_ok(&out);
    assert_int_equal(f.h.page_count, 2);
    assert_int_equal(ltx_file_entry(&f, 0).pgno, lock - 1);
    assert_int_equal(ltx_file_entry(&f, 1).pgno, lock + 1);
    cd_free(page);
    cd_buf_deinit(&out);
    ltx_zstd_free(z);
}

static void test_ranges_read_the_same(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = rig_make(
        z, &(struct rig_segment){.min = 2, .old_commit = 9, .commit = 9, .pages = {1, 4, 8}, .seed = 2});
    struct cd_str all = cd_buf_str(&b);
    struct ltx_header h;
    struct ltx_trailer t;
    struct ltx_entry e[3];
    assert_int_equal(
        ltx_trailer_read(cd_str_sub(all, all.len - LTX_TRAILER_SIZE, SIZE_MAX), all.len, &t, NULL), 0);
    assert_int_equal(ltx_header_read(cd_str_sub(all, 0, LTX_HEADER_SIZE), NULL, &h, NULL), 0);
    assert_int_equal(t.page_count, 3);
    assert_int_equal(ltx_index_read(cd_str_sub(all, t.index_offset, t.index_len), &h, &t, e, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        char page[RIG_PAGE], want[RIG_PAGE];
        struct cd_str frame = cd_str_sub(all, e[i].offset, LTX_FRAME_HEAD + e[i].stored);
        assert_int_equal(ltx_frame_page(z, frame, &e[i], RIG_PAGE, page, NULL), 0);
        rig_page(want, e[i].pgno, 2);
        assert_memory_equal(page, want, RIG_PAGE);
    }
    assert_int_equal(
        ltx_trailer_read(cd_str_sub(all, all.len - LTX_TRAILER_SIZE, SIZE_MAX), all.len + 1, &t, NULL),
        CD_ECORRUPT);
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

static void test_every_flipped_byte_and_every_cut_is_noticed(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = rig_make(
        z, &(struct rig_segment){.min = 2, .old_commit = 9, .commit = 9, .pages = {1, 4}, .seed = 1});
    struct ltx_file f;
    for (size_t i = 0; i < b.len; i++) {
        b.ptr[i] ^= 0x40;
        struct cd_buf why = {0};
        assert_int_equal(ltx_file_open(&f, cd_buf_str(&b), NULL, &why), CD_ECORRUPT);
        assert_true(why.len > 0);
        cd_buf_deinit(&why);
        b.ptr[i] ^= 0x40;
    }
    for (size_t len = 0; len < b.len; len++)
        assert_int_equal(ltx_file_open(&f, cd_str_of(b.ptr, len), NULL, NULL), CD_ECORRUPT);
    (void)open_ok(&b);
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

/* Checksums made right again, so that what they protect is looked at. */
static void reseal(struct cd_buf *b)
{
    uint32_t crc = cd_crc32c(0, b->ptr, 124);
    for (unsigned i = 0; i < 4; i++)
        b->ptr[124 + i] = (char)(crc >> (8 * i));
    size_t at = b->len - LTX_TRAILER_SIZE + 24;
    uint64_t file = cd_crc64(0, b->ptr, at);
    for (unsigned i = 0; i < 8; i++)
        b->ptr[at + i] = (char)(file >> (8 * i));
}

static void test_fields_that_cannot_be_are_refused_though_all_checksums_fit(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = rig_make(
        z, &(struct rig_segment){.min = 2, .old_commit = 9, .commit = 9, .pages = {1, 4}, .seed = 1});
    size_t index = (size_t)cd_get_u64(b.ptr + b.len - LTX_TRAILER_SIZE);
    size_t trailer = b.len - LTX_TRAILER_SIZE;
    const struct {
        size_t at;
        char value;
    } rows[] = {
        {4, 2}, /* version */
        {6, 1}, /* a snapshot that does not start at 1 */
        {6, 2}, /* a marker without base */
        {6, 4}, /* a sum without snapshot */
        {6, 8}, /* an unknown flag */
        {8, 1}, /* page size */
        {12, 3}, /* commit below page 4 */
        {12, 0}, /* commit 0 */
        {16, 0}, /* min 0 */
        {16, 3}, /* min above max */
        {32, 0}, /* epoch 0 */
        {60, 1}, /* reserved */
        {80, 1}, /* a base without marker */
        {96, 3}, /* page_count */
        {index, 0}, /* page 0 */
        {index, 5}, /* out of order */
        {index + 4, 9}, /* length: the next frame is elsewhere */
        {index + 8, 1}, /* offset */
        {trailer + 16, 1}, /* a sum without its flag */
        {trailer + 32, 3}, /* page_count */
        {trailer + 36, 1}, /* reserved */
    };
    struct ltx_file f;
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        char was = b.ptr[rows[i].at];
        b.ptr[rows[i].at] = rows[i].value;
        reseal(&b);
        if (ltx_file_open(&f, cd_buf_str(&b), NULL, NULL) != CD_ECORRUPT)
            fail_msg("row %zu", i);
        b.ptr[rows[i].at] = was;
    }
    reseal(&b);
    (void)open_ok(&b);
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

static void test_frames_that_lie_are_refused_when_they_are_read(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b =
        rig_make(z, &(struct rig_segment){.min = 2, .old_commit = 9, .commit = 9, .pages = {4}, .seed = 1});
    static const size_t at[] = {0, 4, 6, 8, 12, 16, 20}; /* pgno, flags, zero, stored, crc, payload */
    struct ltx_file f;
    for (size_t i = 0; i < CD_COUNT(at); i++) {
        b.ptr[LTX_HEADER_SIZE + at[i]] ^= 2;
        reseal(&b);
        f = open_ok(&b);
        char page[RIG_PAGE];
        struct cd_buf why = {0};
        assert_int_equal(ltx_file_page(z, &f, 0, page, &why), CD_ECORRUPT);
        assert_true(cd_str_starts(cd_buf_str(&why), CD_STR("page 4: ")));
        assert_int_equal(ltx_file_verify(z, &f, NULL), CD_ECORRUPT);
        cd_buf_deinit(&why);
        b.ptr[LTX_HEADER_SIZE + at[i]] ^= 2;
    }
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

static void test_a_segment_is_only_that_of_its_key(void **state)
{
    (void)state;
    struct ltx_zstd *z = ltx_zstd_new();
    struct cd_buf b = rig_make(
        z, &(struct rig_segment){
               .epoch = 3, .min = 2, .max = 4, .old_commit = 2, .commit = 2, .pages = {1}, .seed = 1});
    const struct ltx_name right = {RIG_SCOPE, 3, LTX_L0, 2, 4};
    struct ltx_name wrong[4] = {right, right, right, right};
    wrong[0].scope = CD_STR("Counter:b");
    wrong[1].epoch = 2;
    wrong[2].min_txid = 1;
    wrong[3].max_txid = 5;
    struct ltx_file f;
    assert_int_equal(ltx_file_open(&f, cd_buf_str(&b), &right, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ltx_file_open(&f, cd_buf_str(&b), &wrong[i], NULL), CD_ECORRUPT);
    cd_buf_deinit(&b);
    ltx_zstd_free(z);
}

CD_TESTS(codec, cmocka_unit_test(test_pages_come_back_as_they_were_given),
         cmocka_unit_test(test_of_many_versions_the_last_counts_and_what_was_cut_off_goes),
         cmocka_unit_test(test_many_rewrites_of_one_page_need_no_more_room),
         cmocka_unit_test(test_the_sum_of_a_database_is_that_of_its_pages_in_any_order),
         cmocka_unit_test(test_the_lock_page_is_never_stored), cmocka_unit_test(test_ranges_read_the_same),
         cmocka_unit_test(test_every_flipped_byte_and_every_cut_is_noticed),
         cmocka_unit_test(test_fields_that_cannot_be_are_refused_though_all_checksums_fit),
         cmocka_unit_test(test_frames_that_lie_are_refused_when_they_are_read),
         cmocka_unit_test(test_a_segment_is_only_that_of_its_key))
