/* Databases whose pages come out of segments when they are needed. */
#include "db/image.h"
#include "ltx/pagemap.h"

#include "rig.h"

/* The base as segments, and its page map; fail: how many faults end badly first. */
struct paged {
    struct rig r;
    struct ltx_pagemap map;
    unsigned base_rows, faults, fail;
};

static bool absent(void *arg, uint32_t pgno)
{
    return db_page_absent(((struct paged *)arg)->r.db, pgno);
}

static void bring(struct paged *p, struct db *d, uint32_t pgno)
{
    struct ltx_run run = ltx_pagemap_run(&p->map, pgno, 4, absent, p);
    struct cd_str bytes = cd_str_sub(cd_buf_str(&p->r.row[run.object]), run.offset, run.len);
    char page[LTX_PAGE_MAX];
    for (uint32_t i = 0; i < run.count; i++) {
        assert_int_equal(ltx_run_page(db_host_zstd(p->r.host), &p->map, &run, bytes, pgno + i, page, NULL),
                         0);
        assert_int_equal(db_page_put(d, pgno + i, page), 0);
    }
}

static int fault(void *arg, struct db *d, uint32_t pgno)
{
    struct paged *p = CD_CONTAINER(arg, struct paged, r);
    p->faults++;
    if (p->fail > 0) {
        p->fail--;
        return IO_UNREACHABLE;
    }
    if (p->r.db == NULL) { /* Inside of db_open. */
        p->r.db = d;
        bring(p, d, pgno);
        p->r.db = NULL;
    } else {
        bring(p, d, pgno);
    }
    return 0;
}

/* Epoch 1 with its rows, closed; then epoch 2 over holes. */
static struct paged *make(uint64_t seed, uint32_t page_size, uint32_t cache_pages)
{
    struct paged *p = cd_new(struct paged);
    struct rig *r = &p->r;
    rig_init(r, seed);
    r->page_size = page_size;
    r->cache_pages = cache_pages;
    rig_open(r, 1, (struct db_position){0, 0});
    rig_txn(r, "CREATE TABLE t(k INTEGER PRIMARY KEY, v); CREATE TABLE u(a)");
    rig_txn(r, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400) "
               "INSERT INTO t SELECT i, printf('%0200d', i) FROM n");
    rig_txn(r, "UPDATE t SET v = printf('%0200d', -k) WHERE k % 37 = 0");
    struct db_position at = db_position(r->db);
    uint32_t pages = db_pages(r->db);
    db_close(r->db);
    r->db = NULL;
    p->base_rows = r->rows;
    ltx_pagemap_init(&p->map, page_size, pages);
    for (uint32_t i = 0; i < r->rows; i++) {
        struct ltx_file f;
        assert_int_equal(ltx_file_open(&f, cd_buf_str(&r->row[i]), NULL, NULL), 0);
        for (uint32_t k = 0; k < f.h.page_count; k++) {
            struct ltx_entry e = ltx_file_entry(&f, k);
            ltx_pagemap_add(&p->map, i, &e, 1);
        }
    }
    assert_int_equal(ltx_pagemap_check(&p->map, NULL), 0);
    struct cd_buf sparse = {0};
    cd_buf_add(&sparse, r->copy.ptr, page_size);
    cd_buf_add_zero(&sparse, r->copy.len - page_size);
    sim_disk_put(r->node, "/d/e2/db.sqlite", cd_buf_str(&sparse));
    cd_buf_deinit(&sparse);
    r->fault = fault;
    rig_open(r, 2, at);
    return p;
}

static void drop(struct paged *p)
{
    ltx_pagemap_deinit(&p->map);
    rig_deinit(&p->r);
    cd_free(p);
}

static void hydrate(struct paged *p)
{
    for (uint32_t pgno = 1; (pgno = db_page_next_absent(p->r.db, pgno)) != 0;)
        bring(p, p->r.db, pgno);
}

static void test_pages_come_when_they_are_read(void **state)
{
    (void)state;
    struct paged *p = make(1, 4096, 0);
    unsigned before = p->faults;
    assert_int_equal(rig_int(&p->r, "SELECT v FROM t WHERE k = 370"), -370);
    assert_true(p->faults > before && p->faults - before <= 3);
    before = p->faults;
    assert_int_equal(rig_int(&p->r, "SELECT v FROM t WHERE k = 370"), -370);
    assert_int_equal(p->faults, before);
    assert_true(db_page_next_absent(p->r.db, 1) != 0);
    struct db_image *image = NULL;
    assert_int_equal(db_image_open(&image, p->r.db, NULL), CD_ENOTFOUND); /* Not of holes. */
    hydrate(p);
    assert_int_equal(db_page_next_absent(p->r.db, 1), 0);
    rig_same(&p->r, 2);
    before = p->faults;
    assert_int_equal(rig_int(&p->r, "SELECT count(*) FROM t"), 400);
    assert_int_equal(p->faults, before);
    drop(p);
}

static void test_what_comes_late_replaces_nothing(void **state)
{
    (void)state;
    struct paged *p = make(1, 4096, 0);
    char page[4096];
    memset(page, 'x', sizeof page);
    rig_txn(&p->r, "UPDATE t SET v = 'new' WHERE k = 200");
    struct ltx_file f;
    assert_int_equal(ltx_file_open(&f, cd_buf_str(&p->r.row[p->r.rows - 1]), NULL, NULL), 0);
    assert_int_equal(f.h.flags, LTX_MARKER); /* In the bucket it is an epoch like any other. */
    uint32_t changed = ltx_file_entry(&f, 0).pgno;
    assert_false(db_page_absent(p->r.db, changed));
    assert_int_equal(db_page_put(p->r.db, changed, page), 0);
    assert_int_equal(db_page_put(p->r.db, 1, page), 0);
    assert_int_equal(sim_marks(p->r.sim, "db.page_late"), 2);
    hydrate(p);
    rig_same(&p->r, 2);
    assert_int_equal(rig_int(&p->r, "SELECT v = 'new' FROM t WHERE k = 200"), 1);
    drop(p);
}

static void test_a_page_that_does_not_come_fails_the_statement_and_at_last_the_database(void **state)
{
    (void)state;
    struct paged *p = make(1, 4096, 0);
    p->fail = 2;
    assert_int_equal(rig_try(&p->r, "SELECT v FROM t WHERE k = 200") & 0xff, SQLITE_IOERR);
    assert_int_equal(rig_try(&p->r, "SELECT v FROM t WHERE k = 200") & 0xff, SQLITE_IOERR);
    assert_int_equal(rig_try(&p->r, "SELECT v FROM t WHERE k = 200"), SQLITE_OK);
    p->fail = 3; /* Two before and one now would be three, were they in a row. */
    assert_int_equal(rig_try(&p->r, "SELECT v FROM t WHERE k = 10") & 0xff, SQLITE_IOERR);
    assert_int_equal(db_begin(p->r.db, NULL), 0); /* A write that fails so is undone. */
    assert_int_equal(rig_try(&p->r, "INSERT INTO u VALUES(1); UPDATE t SET v = 1 WHERE k = 10") & 0xff,
                     SQLITE_IOERR);
    assert_false(db_broken(p->r.db));
    db_rollback(p->r.db);
    assert_int_equal(rig_try(&p->r, "SELECT v FROM t WHERE k = 10") & 0xff, SQLITE_IOERR);
    assert_true(db_broken(p->r.db));
    assert_int_equal(db_begin(p->r.db, NULL), IO_FAULT);
    assert_int_equal(p->r.rows, p->base_rows);
    drop(p);
}

/* Random changes over holes: after all pages have come the file is what the segments make. */
static void test_changes_over_holes_under_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct cd_rng rng;
        cd_rng_seed(&rng, seed, CD_STR("paged"));
        uint32_t cache = cd_rng_below(&rng, 2) == 0 ? 6 : 0;
        struct paged *p = make(seed, 512u << cd_rng_below(&rng, 3), cache);
        for (unsigned i = 0; i < 12; i++) {
            unsigned k = (unsigned)cd_rng_below(&rng, 400), n = (unsigned)cd_rng_below(&rng, 60);
            struct cd_buf sql = {0};
            switch (cd_rng_below(&rng, 5)) {
            case 0: cd_buf_addf(&sql, "DELETE FROM t WHERE k BETWEEN %u AND %u", k, k + n); break;
            case 1:
                cd_buf_addf(&sql, "UPDATE t SET v = zeroblob(%u) WHERE k %% 50 = %u", 20 * n, k % 50);
                break;
            case 2: cd_buf_addf(&sql, "INSERT OR REPLACE INTO t VALUES(%u, zeroblob(%u))", k, 100 * n); break;
            case 3: cd_buf_addf(&sql, "INSERT INTO u SELECT v FROM t WHERE k < %u", n); break;
            default: cd_buf_addf(&sql, "DELETE FROM u"); break;
            }
            assert_int_equal(db_begin(p->r.db, NULL), 0);
            rig_sql(&p->r, cd_buf_cstr(&sql));
            cd_buf_deinit(&sql);
            if (cd_rng_below(&rng, 4) == 0)
                db_rollback(p->r.db);
            else
                rig_commit(&p->r);
            uint32_t some = db_page_next_absent(p->r.db, 1 + (uint32_t)cd_rng_below(&rng, 100));
            if (some != 0)
                bring(p, p->r.db, some);
        }
        hydrate(p);
        rig_txn(&p->r, "UPDATE u SET a = 1; INSERT INTO u VALUES(2)"); /* Takes along what a rollback left. */
        rig_same(&p->r, 2);
        drop(p);
    }
}

CD_TESTS(paged, cmocka_unit_test(test_pages_come_when_they_are_read),
         cmocka_unit_test(test_what_comes_late_replaces_nothing),
         cmocka_unit_test(test_a_page_that_does_not_come_fails_the_statement_and_at_last_the_database),
         cmocka_unit_test(test_changes_over_holes_under_seeds))
