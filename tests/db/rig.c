#include "rig.h"

void rig_init(struct rig *r, uint64_t seed)
{
    *r = (struct rig){.page_size = 4096};
    r->sim = sim_new(&(struct sim_opts){.seed = seed});
    r->node = sim_node(r->sim, &(struct sim_node_opts){.name = "n1"});
    r->io = sim_io(r->node, 0);
    sim_run_for(r->sim, 1);
    assert_int_equal(io_path_mkdir(r->io, "/d"), IO_OK);
    assert_int_equal(io_path_sync(r->io, "/"), IO_OK);
    r->host = db_host_new(r->io);
}

void rig_deinit(struct rig *r)
{
    db_close(r->db);
    db_host_free(r->host);
    for (unsigned i = 0; i < r->rows; i++)
        cd_buf_deinit(&r->row[i]);
    cd_buf_deinit(&r->copy);
    sim_free(r->sim);
}

const char *rig_dir(uint64_t epoch, char out[32])
{
    (void)snprintf(out, 32, "/d/e%llu", (unsigned long long)epoch);
    return out;
}

static void apply(struct rig *r, const struct ltx_file *f)
{
    char page[LTX_PAGE_MAX];
    size_t size = (size_t)f->h.commit * f->h.page_size;
    if (r->copy.len < size)
        cd_buf_add_zero(&r->copy, size - r->copy.len);
    r->copy.len = size;
    for (uint32_t i = 0; i < f->h.page_count; i++) {
        assert_int_equal(ltx_file_page(db_host_zstd(r->host), f, i, page, NULL), 0);
        memcpy(r->copy.ptr + (size_t)(ltx_file_entry(f, i).pgno - 1) * f->h.page_size, page, f->h.page_size);
    }
}

static void on_commit(void *arg, struct db_commit *c)
{
    struct rig *r = arg;
    struct ltx_file f;
    struct cd_buf why = {0};
    struct ltx_name name = {CD_STR(RIG_SCOPE), db_epoch(r->db), LTX_L0, c->min_txid, c->max_txid};
    if (ltx_file_open(&f, cd_buf_str(&c->ltx), &name, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    assert_int_equal(ltx_file_verify(db_host_zstd(r->host), &f, NULL), 0);
    assert_int_equal(c->min_txid, c->max_txid);
    assert_int_equal(c->pages, f.h.page_count);
    apply(r, &f);
    assert_true(r->rows < RIG_ROWS_MAX);
    r->row[r->rows++] = c->ltx;
    r->last = *c;
}

int rig_try_open(struct rig *r, uint64_t epoch, struct db_position base, struct cd_buf *why)
{
    char dir[32];
    (void)rig_dir(epoch, dir);
    return db_open(&r->db,
                   &(struct db_opts){.host = r->host,
                                     .dir = dir,
                                     .scope = CD_STR(RIG_SCOPE),
                                     .epoch = epoch,
                                     .base = base,
                                     .page_size = r->page_size,
                                     .cache_pages = r->cache_pages,
                                     .fault = r->fault,
                                     .commit = on_commit,
                                     .arg = r},
                   why);
}

void rig_open(struct rig *r, uint64_t epoch, struct db_position base)
{
    struct cd_buf why = {0};
    char dir[32];
    int rc = io_path_mkdir(r->io, rig_dir(epoch, dir));
    assert_true(rc == IO_OK || rc == IO_EXISTS);
    assert_int_equal(io_path_sync(r->io, "/d"), IO_OK);
    if (rig_try_open(r, epoch, base, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
}

int rig_try(struct rig *r, const char *sql)
{
    return sqlite3_exec(db_sqlite(r->db), sql, NULL, NULL, NULL);
}

void rig_sql(struct rig *r, const char *sql)
{
    if (rig_try(r, sql) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db_sqlite(r->db)));
}

void rig_commit(struct rig *r)
{
    struct cd_buf why = {0};
    if (db_commit(r->db, &why) != 0)
        fail_msg("%s", cd_buf_cstr(&why));
}

void rig_txn(struct rig *r, const char *sql)
{
    assert_int_equal(db_begin(r->db, NULL), 0);
    rig_sql(r, sql);
    rig_commit(r);
}

int64_t rig_int(struct rig *r, const char *sql)
{
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db_sqlite(r->db), sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return v;
}

void rig_same(struct rig *r, uint64_t epoch)
{
    char dir[32];
    struct cd_buf path = {0};
    cd_buf_addf(&path, "%s/db.sqlite", rig_dir(epoch, dir));
    struct io_file f = {0};
    assert_int_equal(io_file_open(&f, r->io, cd_buf_cstr(&path), IO_FILE_READONLY), IO_OK);
    uint64_t size = 0;
    assert_int_equal(io_file_size(&f, &size), IO_OK);
    assert_int_equal(size, r->copy.len);
    char *bytes = cd_alloc(size + 1);
    size_t got = 0;
    assert_int_equal(io_file_pread(&f, bytes, size, 0, &got), IO_OK);
    for (size_t at = 0; at < size; at += r->page_size) {
        if (memcmp(bytes + at, r->copy.ptr + at, r->page_size) != 0)
            fail_msg("page %zu differs after txid %llu", at / r->page_size + 1,
                     (unsigned long long)db_txid(r->db));
    }
    cd_free(bytes);
    assert_int_equal(io_file_close(&f), IO_OK);
    cd_buf_deinit(&path);
}
