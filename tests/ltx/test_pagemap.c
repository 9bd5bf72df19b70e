#include "ltx/pagemap.h"

#include "rig.h"

struct fixture {
    struct ltx_zstd *z;
    struct cd_buf bytes[3];
    struct ltx_pagemap map;
};

/* An image of nine pages, then two changes; the last one cuts it to eight. */
static void init(struct fixture *f)
{
    static const struct rig_segment s[] = {
        {.min = 1, .flags = LTX_SNAPSHOT, .commit = 9, .pages = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .seed = 1},
        {.min = 2, .old_commit = 9, .commit = 9, .pages = {3, 4, 9}, .seed = 2},
        {.min = 3, .old_commit = 9, .commit = 8, .pages = {4, 7}, .seed = 3},
    };
    f->z = ltx_zstd_new();
    ltx_pagemap_init(&f->map, RIG_PAGE, 8);
    for (uint32_t i = 0; i < 3; i++) {
        f->bytes[i] = rig_make(f->z, &s[i]);
        struct ltx_file file;
        struct ltx_entry e[9];
        assert_int_equal(ltx_file_open(&file, cd_buf_str(&f->bytes[i]), NULL, NULL), 0);
        for (uint32_t k = 0; k < file.h.page_count; k++)
            e[k] = ltx_file_entry(&file, k);
        if (i == 0)
            assert_int_equal(ltx_pagemap_check(&f->map, NULL), CD_ECORRUPT);
        ltx_pagemap_add(&f->map, i, e, file.h.page_count);
    }
    assert_int_equal(ltx_pagemap_check(&f->map, NULL), 0);
}

static void deinit(struct fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        cd_buf_deinit(&f->bytes[i]);
    ltx_pagemap_deinit(&f->map);
    ltx_zstd_free(f->z);
}

static bool all(void *arg, uint32_t pgno)
{
    (void)arg;
    (void)pgno;
    return true;
}

static bool not_six(void *arg, uint32_t pgno)
{
    (void)arg;
    return pgno != 6;
}

static void test_runs_are_pages_that_lie_together_in_one_object(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    static const uint32_t want[][3] = {{1, 0, 2}, {3, 1, 1}, {4, 2, 1}, {5, 0, 2}, {7, 2, 1}, {8, 0, 1}};
    static const unsigned seed[8] = {1, 1, 2, 3, 1, 1, 3, 1};
    uint32_t pgno = 1;
    for (size_t i = 0; i < CD_COUNT(want); i++) {
        struct ltx_run run = ltx_pagemap_run(&f.map, pgno, 256, all, NULL);
        assert_int_equal(run.first, want[i][0]);
        assert_int_equal(run.object, want[i][1]);
        assert_int_equal(run.count, want[i][2]);
        struct cd_str bytes = cd_str_sub(cd_buf_str(&f.bytes[run.object]), run.offset, run.len);
        for (uint32_t k = 0; k < run.count; k++, pgno++) {
            char got[RIG_PAGE], page[RIG_PAGE];
            rig_page(page, pgno, seed[pgno - 1]);
            assert_int_equal(ltx_run_page(f.z, &f.map, &run, bytes, pgno, got, NULL), 0);
            assert_memory_equal(got, page, RIG_PAGE);
        }
        bytes.len--;
        char got[RIG_PAGE];
        assert_int_equal(ltx_run_page(f.z, &f.map, &run, bytes, run.first, got, NULL), CD_ECORRUPT);
    }
    assert_int_equal(pgno, 9);
    assert_int_equal(ltx_pagemap_run(&f.map, 1, 1, all, NULL).count, 1);
    assert_int_equal(ltx_pagemap_run(&f.map, 5, 256, not_six, NULL).count, 1);
    deinit(&f);
}

CD_TESTS(pagemap, cmocka_unit_test(test_runs_are_pages_that_lie_together_in_one_object))
