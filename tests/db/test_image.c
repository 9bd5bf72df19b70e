/* Whole images, of closed files and of open ones that are written to meanwhile. */
#include "db/image.h"

#include "rig.h"

static const struct db_position NONE = {0, 0};

/* Whether object is a sound image of exactly these bytes. */
static void check_image(struct rig *r, const struct cd_buf *object, const struct cd_buf *want, uint64_t epoch,
                        uint64_t txid)
{
    struct ltx_file f;
    struct cd_buf why = {0};
    struct ltx_name name = {CD_STR(RIG_SCOPE), epoch, LTX_L9, 1, txid};
    if (ltx_file_open(&f, cd_buf_str(object), &name, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    assert_int_equal(f.h.flags, LTX_SNAPSHOT | LTX_DBSUM);
    assert_int_equal(ltx_file_verify(db_host_zstd(r->host), &f, NULL), 0);
    assert_int_equal((size_t)f.h.commit * f.h.page_size, want->len);
    char page[LTX_PAGE_MAX];
    for (uint32_t i = 0; i < f.h.page_count; i++) {
        assert_int_equal(ltx_file_page(db_host_zstd(r->host), &f, i, page, NULL), 0);
        assert_memory_equal(page, want->ptr + (size_t)i * f.h.page_size, f.h.page_size);
    }
}

static void rows(struct rig *r, unsigned count, unsigned bytes)
{
    struct cd_buf sql = {0};
    cd_buf_addf(&sql,
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%u) "
                "INSERT INTO t SELECT i, printf('%%0%ud', i) FROM n",
                count, bytes);
    rig_txn(r, cd_buf_cstr(&sql));
    cd_buf_deinit(&sql);
}

static void test_an_image_of_a_file_that_changes_is_that_of_its_beginning(void **state)
{
    (void)state;
    static const char *const change[] = {
        "UPDATE t SET b = 'x'",
        "DELETE FROM t WHERE a % 2 = 0",
        "DELETE FROM t; PRAGMA incremental_vacuum",
        "INSERT INTO t SELECT a + 1000, b FROM t",
        "DROP TABLE t; PRAGMA incremental_vacuum(10)",
    };
    bool shrank = false;
    uint64_t aside = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rig r;
        struct cd_rng rng;
        cd_rng_seed(&rng, seed, CD_STR("image"));
        rig_init(&r, seed);
        r.page_size = 512;
        r.cache_pages = cd_rng_below(&rng, 2) == 0 ? 8 : 0;
        rig_open(&r, 1, NONE);
        rig_txn(&r, "PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE t(a, b)");
        rows(&r, 300, 100);
        struct cd_buf want = {0}, object = {0};
        cd_buf_add_str(&want, cd_buf_str(&r.copy));
        struct db_image *image = NULL;
        assert_int_equal(db_image_open(&image, r.db, NULL), 0);
        bool last = false;
        while (!last) {
            assert_int_equal(db_image_step(image, 1 + cd_rng_below(&rng, 3000), &object, &last, NULL), 0);
            if (cd_rng_below(&rng, 2) != 0)
                continue;
            assert_int_equal(db_begin(r.db, NULL), 0);
            (void)rig_try(&r, change[cd_rng_below(&rng, CD_COUNT(change))]); /* t may be gone. */
            if (cd_rng_below(&rng, 4) == 0)
                db_rollback(r.db);
            else
                rig_commit(&r);
            shrank = shrank || (size_t)db_pages(r.db) * r.page_size < want.len;
        }
        assert_int_equal(db_image_at(image).txid, 2);
        db_image_close(image);
        check_image(&r, &object, &want, 1, 2);
        rig_same(&r, 1);
        aside += sim_marks(r.sim, "db.image_page_aside");
        cd_buf_deinit(&want);
        cd_buf_deinit(&object);
        rig_deinit(&r);
    }
    assert_true(shrank && aside > 0);
}

static void test_an_image_of_a_closed_file(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a, b)");
    rows(&r, 100, 400);
    struct db_snapshot s = {.at = db_position(r.db), .page_size = 4096, .pages = db_pages(r.db)};
    db_close(r.db);
    r.db = NULL;
    struct db_image *image = NULL;
    struct cd_buf object = {0}, why = {0};
    assert_int_equal(db_image_open_file(&image, r.host, "/d/e1/nowhere", CD_STR(RIG_SCOPE), &s, &why),
                     IO_NOENT);
    assert_true(why.len > 0);
    assert_int_equal(db_image_open_file(&image, r.host, "/d/e1/db.sqlite", CD_STR(RIG_SCOPE), &s, NULL), 0);
    bool last = false;
    while (!last)
        assert_int_equal(db_image_step(image, 1000, &object, &last, NULL), 0);
    db_image_close(image);
    check_image(&r, &object, &r.copy, 1, 2);
    s.pages++; /* Shorter than it is said to be. */
    assert_int_equal(db_image_open_file(&image, r.host, "/d/e1/db.sqlite", CD_STR(RIG_SCOPE), &s, NULL), 0);
    assert_int_equal(db_image_step(image, SIZE_MAX, &object, &last, NULL), CD_ECORRUPT);
    db_image_close(image);
    cd_buf_deinit(&object);
    cd_buf_deinit(&why);
    rig_deinit(&r);
}

static void test_a_close_ends_an_image(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    rig_open(&r, 1, NONE);
    struct db_image *image = NULL;
    assert_int_equal(db_image_open(&image, r.db, NULL), CD_ENOTFOUND); /* Nothing to make one of. */
    rig_txn(&r, "CREATE TABLE t(a, b)");
    rows(&r, 100, 400);
    assert_int_equal(db_image_open(&image, r.db, NULL), 0);
    bool last = false;
    struct cd_buf object = {0};
    assert_int_equal(db_image_step(image, 1, &object, &last, NULL), 0);
    assert_false(last);
    db_close(r.db);
    r.db = NULL;
    assert_int_equal(db_image_step(image, 1, &object, &last, NULL), CD_ECLOSED);
    db_image_close(image);
    rig_open(&r, 1, NONE);
    rig_txn(&r, "CREATE TABLE t(a, b)");
    assert_int_equal(db_image_open(&image, r.db, NULL), 0);
    db_image_close(image); /* The other order. */
    rig_txn(&r, "INSERT INTO t VALUES(1, 2)");
    cd_buf_deinit(&object);
    rig_deinit(&r);
}

CD_TESTS(image, cmocka_unit_test(test_an_image_of_a_file_that_changes_is_that_of_its_beginning),
         cmocka_unit_test(test_an_image_of_a_closed_file), cmocka_unit_test(test_a_close_ends_an_image))
