/* Random SQL under seeds: after every commit the segments alone make the file, byte for byte. */
#include "rig.h"

struct work {
    struct rig r;
    struct cd_rng rng;
    struct cd_buf sql;
    unsigned savepoints;
};

static unsigned below(struct work *w, unsigned n)
{
    return (unsigned)cd_rng_below(&w->rng, n);
}

/* One statement of some kind: small changes mostly, now and then large blobs, many rows, or a new table. */
static void statement(struct work *w)
{
    unsigned key = below(w, 200), size = below(w, 4) == 0 ? below(w, 40000) : below(w, 300);
    cd_buf_clear(&w->sql);
    switch (below(w, 11)) {
    case 0: cd_buf_addf(&w->sql, "DELETE FROM t WHERE k BETWEEN %u AND %u", key, key + below(w, 100)); break;
    case 1: cd_buf_addf(&w->sql, "UPDATE t SET v = zeroblob(%u) WHERE k = %u", size, key); break;
    case 2: cd_buf_addf(&w->sql, "UPDATE t SET n = n + 1"); break;
    case 3:
        cd_buf_addf(&w->sql,
                    "CREATE TABLE IF NOT EXISTS x%u(a, b); INSERT INTO x%u VALUES(%u, hex(zeroblob(%u)))",
                    key % 5, key % 5, key, size / 2);
        break;
    case 4: cd_buf_addf(&w->sql, "DROP TABLE IF EXISTS x%u", key % 5); break;
    case 5:
        cd_buf_addf(&w->sql,
                    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<%u) "
                    "INSERT OR REPLACE INTO t SELECT i*7%%200, i, printf('%%0*d', i%%900, i) FROM c",
                    1 + below(w, 60));
        break;
    default:
        cd_buf_addf(&w->sql, "INSERT OR REPLACE INTO t VALUES(%u, %u, printf('%%0*d', %u, %u))", key, key,
                    size, below(w, 100000));
        break;
    }
    rig_sql(&w->r, cd_buf_cstr(&w->sql));
}

static void savepoint(struct work *w)
{
    cd_buf_clear(&w->sql);
    if (w->savepoints == 0 || below(w, 3) == 0)
        cd_buf_addf(&w->sql, "SAVEPOINT s%u", ++w->savepoints);
    else if (below(w, 2) == 0)
        cd_buf_addf(&w->sql, "ROLLBACK TO s%u", 1 + below(w, w->savepoints));
    else
        cd_buf_addf(&w->sql, "RELEASE s%u", w->savepoints--);
    rig_sql(&w->r, cd_buf_cstr(&w->sql));
    if (strncmp(w->sql.ptr, "ROLLBACK", 8) == 0)
        w->savepoints = (unsigned)(w->sql.ptr[w->sql.len - 1] - '0');
}

static void transaction(struct work *w, uint64_t epoch)
{
    assert_int_equal(db_begin(w->r.db, NULL), 0);
    w->savepoints = 0;
    for (unsigned n = 1 + below(w, 8); n > 0; n--) {
        if (below(w, 4) == 0 && w->savepoints < 9)
            savepoint(w);
        else
            statement(w);
    }
    if (below(w, 5) == 0) {
        db_rollback(w->r.db);
        return;
    }
    unsigned rows = w->r.rows;
    rig_commit(&w->r);
    assert_true(w->r.rows <= rows + 1);
    if (w->r.rows > rows)
        rig_same(&w->r, epoch);
}

/* The file goes on in the next epoch. */
static uint64_t reopen(struct work *w, uint64_t epoch)
{
    char from[64], to[64];
    struct db_position at = db_position(w->r.db);
    db_close(w->r.db);
    w->r.db = NULL;
    (void)snprintf(from, sizeof from, "/d/e%u/db.sqlite", (unsigned)epoch);
    (void)snprintf(to, sizeof to, "/d/e%u/db.sqlite", (unsigned)epoch + 1);
    /* A restore would bring what the segments say. */
    sim_disk_put(w->r.node, to, cd_buf_str(&w->r.copy));
    rig_open(&w->r, epoch + 1, at);
    return epoch + 1;
}

/* All rows as one segment make the same file as one after another. Of several epochs: joined. */
static void check_merged(struct work *w, unsigned from, unsigned to)
{
    struct ltx_file *f = cd_alloc((to - from) * sizeof *f);
    for (unsigned i = from; i < to; i++)
        assert_int_equal(ltx_file_open(&f[i - from], cd_buf_str(&w->r.row[i]), NULL, NULL), 0);
    struct cd_buf merged = {0};
    assert_int_equal(ltx_merge(&merged, f, to - from, NULL, NULL), 0);
    struct ltx_file m;
    assert_int_equal(ltx_file_open(&m, cd_buf_str(&merged), NULL, NULL), 0);
    assert_int_equal(m.h.flags, LTX_SNAPSHOT);
    char page[LTX_PAGE_MAX];
    assert_int_equal((size_t)m.h.commit * m.h.page_size, w->r.copy.len);
    assert_int_equal(m.h.page_count, m.h.commit);
    for (uint32_t i = 0; i < m.h.page_count; i++) {
        assert_int_equal(ltx_file_page(db_host_zstd(w->r.host), &m, i, page, NULL), 0);
        assert_memory_equal(page, w->r.copy.ptr + (size_t)i * m.h.page_size, m.h.page_size);
    }
    cd_buf_deinit(&merged);
    cd_free(f);
}

static void run(uint64_t seed, uint64_t *undone)
{
    struct work *w = cd_new(struct work);
    rig_init(&w->r, seed);
    cd_rng_seed(&w->rng, seed, CD_STR("work"));
    w->r.page_size = 512u << below(w, 4);
    w->r.cache_pages = below(w, 2) == 0 ? 4 + below(w, 8) : 0; /* Half of them spill all the time. */
    uint64_t epoch = 1;
    rig_open(&w->r, epoch, (struct db_position){0, 0});
    rig_txn(&w->r, "CREATE TABLE t(k PRIMARY KEY, n, v); CREATE INDEX i ON t(n)");
    for (unsigned i = 0; i < 40; i++)
        transaction(w, epoch);
    check_merged(w, 0, w->r.rows);
    for (unsigned i = 0; i < 40; i++) {
        transaction(w, epoch);
        if (below(w, 8) == 0)
            epoch = reopen(w, epoch);
    }
    int64_t sum = rig_int(&w->r, "SELECT total(n) + total(length(v)) FROM t");
    (void)reopen(w, epoch);
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db_sqlite(w->r.db), "PRAGMA integrity_check", -1, &s, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
    (void)sqlite3_finalize(s);
    assert_int_equal(rig_int(&w->r, "SELECT total(n) + total(length(v)) FROM t"), sum);
    *undone += sim_marks(w->r.sim, "db.overflow_undone");
    cd_buf_deinit(&w->sql);
    rig_deinit(&w->r);
    cd_free(w);
}

static void test_the_segments_make_the_file(void **state)
{
    (void)state;
    const char *only = getenv("DB_SEED"), *many = getenv("DB_SEEDS");
    uint64_t first = 1, count = 30, undone = 0;
    if (only != NULL)
        assert_int_equal(cd_str_u64(cd_str(only), &first), 0);
    else if (many != NULL)
        assert_int_equal(cd_str_u64(cd_str(many), &count), 0);
    for (uint64_t seed = first; seed < first + (only != NULL ? 1 : count); seed++) {
        (void)printf("DB_SEED=%llu\r", (unsigned long long)seed);
        run(seed, &undone);
    }
    assert_true(only != NULL || undone > 0); /* The case that the capture is made for came up. */
    (void)printf("                \r");
}

CD_TESTS(property, cmocka_unit_test(test_the_segments_make_the_file))
