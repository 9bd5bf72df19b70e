/* db/db.c: a database is opened, a transaction becomes a segment. */
#include "db/db.h"

#include <stdio.h>

#include "db/db_internal.h"

void db_setup(void)
{
    /* Of the cache of a database: allocated page by page, instead of twenty at once when it is opened. */
    int rc = sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
    CD_ASSERT(rc == SQLITE_OK);
}

struct db_host *db_host_new(struct io *io)
{
    struct db_host *h = cd_new(struct db_host);
    uint64_t id;
    io_random(io, IO_RAND_ID, &id, sizeof id);
    h->io = io;
    (void)snprintf(h->name, sizeof h->name, "celld-%016llx", (unsigned long long)id);
    h->zstd = ltx_zstd_new();
    db_vfs_init(h);
    int rc = sqlite3_vfs_register(&h->vfs, 0);
    CD_ASSERT(rc == SQLITE_OK);
    return h;
}

void db_host_free(struct db_host *h)
{
    if (h == NULL)
        return;
    CD_ASSERT(h->open == 0);
    (void)sqlite3_vfs_unregister(&h->vfs);
    ltx_zstd_free(h->zstd);
    cd_free(h);
}

struct ltx_zstd *db_host_zstd(struct db_host *h)
{
    return h->zstd;
}

const char *db_path(struct cd_buf *out, const char *dir, const char *name)
{
    cd_buf_clear(out);
    cd_buf_addf(out, "%s/%s", dir, name);
    return cd_buf_cstr(out);
}

int db_fail(struct db *d, const char *what, int rc, struct cd_buf *why)
{
    if (why != NULL) {
        const char *text = d->broken           ? "the disk failed, or could not be trusted"
                           : d->sqlite == NULL ? sqlite3_errstr(rc)
                                               : sqlite3_errmsg(d->sqlite);
        cd_buf_addf(why, "%s: %s", what, text);
    }
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return CD_ECORRUPT;
    case SQLITE_FULL: return CD_EFULL;
    case SQLITE_BUSY: return IO_BUSY;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return IO_FAULT;
    default: return CD_EINVAL;
    }
}

/* A transaction that db_commit does not end is nobody's row: it must not happen. */
static int on_commit_hook(void *arg)
{
    const struct db *d = arg;
    return !d->committing;
}

static void on_rollback_hook(void *arg)
{
    struct db *d = arg;
    d->refused = d->dirty = d->alarm_changed = false;
    if (ltx_builder_empty(&d->written))
        return;
    io_mark(d->host->io, "db.overflow_undone");
    ltx_builder_cut(&d->written, d->page_size, d->commit_pages);
    if (ltx_builder_size(&d->written) > d->written_max / 2)
        d->broken = true; /* The next row would carry all this: a fresh start costs less. */
}

/* Runs a statement of our own to its end. */
static int run(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    int again = sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : again != SQLITE_OK ? again : rc;
}

static int prepare(struct db *d, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v3(d->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

static int alarm_read(struct db *d, struct db_alarm *out)
{
    sqlite3_stmt *s = NULL;
    *out = (struct db_alarm){0};
    int rc = prepare(d, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_cf_alarm'", &s);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    (void)sqlite3_finalize(s);
    if (rc == SQLITE_ROW) {
        rc = prepare(d, "SELECT due_ms, inst_seq FROM _cf_alarm LIMIT 1", &s);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(s);
        if (rc == SQLITE_ROW) {
            out->armed = sqlite3_column_type(s, 0) != SQLITE_NULL;
            out->due_ms = sqlite3_column_int64(s, 0);
            out->inst_seq = (uint64_t)sqlite3_column_int64(s, 1);
        }
        (void)sqlite3_finalize(s);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- Chance ---- */

/* SQLite's generator is one for the process, shared by all threads and seeded once. These draw from the loop,
 * so a run of the simulator draws the same again. */
static void sql_random(sqlite3_context *x, int count, sqlite3_value **arg)
{
    const struct db_host *h = sqlite3_user_data(x);
    int64_t v;
    (void)count, (void)arg;
    io_random(h->io, IO_RAND_JS, &v, sizeof v);
    sqlite3_result_int64(x, v < 0 ? -(v & INT64_MAX) : v); /* abs() of it is never too large. */
}

static void sql_randomblob(sqlite3_context *x, int count, sqlite3_value **arg)
{
    const struct db_host *h = sqlite3_user_data(x);
    sqlite3_int64 size = sqlite3_value_int64(arg[0]);
    (void)count;
    size = size < 1 ? 1 : size;
    if (size > sqlite3_limit(sqlite3_context_db_handle(x), SQLITE_LIMIT_LENGTH, -1)) {
        sqlite3_result_error_toobig(x);
        return;
    }
    void *bytes = sqlite3_malloc64((sqlite3_uint64)size);
    if (bytes == NULL) {
        sqlite3_result_error_nomem(x);
        return;
    }
    io_random(h->io, IO_RAND_JS, bytes, (size_t)size);
    sqlite3_result_blob64(x, bytes, (sqlite3_uint64)size, sqlite3_free);
}

static int install_chance(struct db *d)
{
    const int how = SQLITE_UTF8 | SQLITE_INNOCUOUS; /* As the built-in ones: also in defaults and triggers. */
    int rc = sqlite3_create_function_v2(d->sqlite, "random", 0, how, d->host, sql_random, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(d->sqlite, "randomblob", 1, how, d->host, sql_randomblob, NULL, NULL,
                                        NULL);
    return rc;
}

/* journal_mode is the last to look at the file. The rest is for one process, with memory that is counted. */
static int configure(struct db *d, const struct db_opts *o)
{
    struct cd_buf sql = {0};
    cd_buf_addf(&sql,
                "PRAGMA page_size=%u;PRAGMA cache_size=%u;PRAGMA synchronous=OFF;PRAGMA temp_store=MEMORY;"
                "PRAGMA mmap_size=0;PRAGMA locking_mode=EXCLUSIVE;PRAGMA journal_mode=MEMORY;",
                o->page_size == 0 ? DB_PAGE_SIZE : o->page_size,
                o->cache_pages == 0 ? DB_CACHE_PAGES : o->cache_pages);
    /* 48 KiB for each connection, to save a third of the time of small allocations. */
    (void)sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    (void)sqlite3_commit_hook(d->sqlite, on_commit_hook, d);
    (void)sqlite3_rollback_hook(d->sqlite, on_rollback_hook, d);
    int rc = sqlite3_exec(d->sqlite, cd_buf_cstr(&sql), NULL, NULL, NULL);
    cd_buf_deinit(&sql);
    if (rc == SQLITE_OK)
        rc = install_chance(d);
    if (rc == SQLITE_OK)
        rc = prepare(d, "BEGIN", &d->begin);
    if (rc == SQLITE_OK)
        rc = prepare(d, "COMMIT", &d->commit);
    if (rc == SQLITE_OK)
        rc = prepare(d, "ROLLBACK", &d->rollback);
    return rc;
}

/* What a restore or a snapshot left: a header whose page size divides the file. */
static int check_file(struct db *d, struct cd_buf *why)
{
    unsigned char head[100];
    size_t got = 0;
    if (io_file_pread(&d->file, head, sizeof head, 0, &got) != IO_OK) {
        d->broken = true;
        return db_fail(d, "read", SQLITE_IOERR, why);
    }
    uint32_t size = got < sizeof head ? 0 : (uint32_t)head[16] << 8 | head[17];
    size = size == 1 ? LTX_PAGE_MAX : size;
    bool fits = size >= LTX_PAGE_MIN && (size & (size - 1)) == 0 && d->size % size == 0;
    if (!fits || memcmp(head, "SQLite format 3", 16) != 0) {
        if (why != NULL)
            cd_buf_addf(why, "%s: %llu bytes, not a database of whole pages", d->path,
                        (unsigned long long)d->size);
        return CD_ECORRUPT;
    }
    d->page_size = size;
    d->commit_pages = (uint32_t)(d->size / size);
    return 0;
}

static int open_file(struct db *d, const struct db_opts *o, struct cd_buf *why)
{
    if (d->base.txid == 0) {
        int gone = io_path_remove(o->host->io, d->path);
        if (gone != IO_OK && gone != IO_NOENT) {
            if (why != NULL)
                cd_buf_addf(why, "remove %s: %s", d->path, cd_err_text(gone));
            return gone;
        }
    }
    o->host->opening = d;
    int rc = sqlite3_open_v2(d->path, &d->sqlite,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             o->host->name);
    o->host->opening = NULL;
    if (rc != SQLITE_OK)
        return db_fail(d, "open", rc, why);
    if (d->base.txid != 0) {
        int bad = check_file(d, why);
        if (bad != 0)
            return bad;
        if (d->fault != NULL)
            db_paged_init(d);
    }
    rc = configure(d, o);
    if (rc == SQLITE_OK && d->base.txid != 0)
        rc = alarm_read(d, &d->alarm);
    return rc == SQLITE_OK ? 0 : db_fail(d, "open", rc, why);
}

int db_open(struct db **out, const struct db_opts *o, struct cd_buf *why)
{
    CD_ASSERT(o->epoch > 0 && o->base.epoch < o->epoch);
    CD_ASSERT((o->base.epoch == 0) == (o->base.txid == 0));
    struct cd_buf path = {0};
    struct db *d = cd_new(struct db);
    d->host = o->host;
    d->dir = cd_str_dup(cd_str(o->dir));
    d->path = cd_str_dup(cd_str(db_path(&path, o->dir, "db.sqlite")));
    d->scope = cd_str_dup(o->scope);
    d->scope_hash = ltx_scope_hash(o->scope);
    d->epoch = o->epoch;
    d->base = o->base;
    d->txid = o->base.txid;
    d->page_size = o->page_size == 0 ? DB_PAGE_SIZE : o->page_size;
    d->written_max = DB_SEGMENT_MAX;
    d->fault = o->fault;
    d->on_commit = o->commit;
    d->arg = o->arg;
    cd_buf_deinit(&path);
    o->host->open++;
    int rc = open_file(d, o, why);
    if (rc != 0) {
        db_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

void db_close(struct db *d)
{
    if (d == NULL)
        return;
    if (d->image != NULL)
        db_image_detach(d->image);
    (void)sqlite3_finalize(d->begin);
    (void)sqlite3_finalize(d->commit);
    (void)sqlite3_finalize(d->rollback);
    int rc = sqlite3_close(d->sqlite);
    CD_ASSERT(rc == SQLITE_OK); /* Somebody's statement is still there. */
    ltx_builder_deinit(&d->written);
    cd_free(d->absent);
    d->host->open--;
    cd_free(d->dir);
    cd_free(d->path);
    cd_free(d->scope);
    cd_free(d);
}

int db_begin(struct db *d, struct cd_buf *why)
{
    if (d->broken)
        return db_fail(d, "begin", SQLITE_IOERR, why);
    d->too_big = false;
    int rc = run(d->begin);
    return rc == SQLITE_OK ? 0 : db_fail(d, "begin", rc, why);
}

/* The row of the transaction that just ended. */
static void deliver(struct db *d)
{
    struct ltx_header h = {
        .page_size = d->page_size,
        .commit = (uint32_t)(d->size / d->page_size),
        .min_txid = d->txid + 1,
        .max_txid = d->txid + 1,
        .epoch = d->epoch,
        .timestamp_ms = io_wall_ms(d->host->io),
        .scope_hash = d->scope_hash,
    };
    if (d->txid == 0) {
        h.flags = LTX_SNAPSHOT | LTX_DBSUM;
    } else if (d->txid == d->base.txid) {
        h.flags = LTX_MARKER;
        h.base_epoch = d->base.epoch;
        h.base_txid = d->base.txid;
        if (h.base_epoch > 1 && CD_PLANT("db.wrong-base"))
            h.base_epoch--;
    }
    struct db_commit c = {.min_txid = h.min_txid, .max_txid = h.max_txid, .alarm = d->alarm};
    ltx_builder_finish(&d->written, d->host->zstd, &h, d->commit_pages, &c.ltx);
    c.pages = cd_get_u32(c.ltx.ptr + c.ltx.len - LTX_TRAILER_SIZE + 32);
    d->txid = h.max_txid;
    d->commit_pages = h.commit;
    d->dirty = false;
    d->on_commit(d->arg, &c);
}

int db_commit(struct db *d, struct cd_buf *why)
{
    struct db_alarm alarm = d->alarm;
    int rc = d->broken ? SQLITE_IOERR : SQLITE_OK;
    if (rc == SQLITE_OK && d->alarm_changed)
        rc = alarm_read(d, &alarm);
    if (rc == SQLITE_OK) {
        d->committing = true;
        rc = run(d->commit);
        d->committing = false;
    }
    if (rc != SQLITE_OK || d->broken) {
        int code = db_fail(d, "commit", rc, why);
        db_rollback(d);
        return d->too_big ? CD_ETOOBIG : code;
    }
    d->alarm = alarm;
    d->alarm_changed = false;
    if (d->dirty)
        deliver(d);
    return 0;
}

void db_rollback(struct db *d)
{
    if (sqlite3_get_autocommit(d->sqlite) == 0 && run(d->rollback) != SQLITE_OK)
        d->broken = true;
}

sqlite3 *db_sqlite(struct db *d)
{
    return d->sqlite;
}

uint64_t db_epoch(const struct db *d)
{
    return d->epoch;
}

bool db_in_transaction(struct db *d)
{
    return sqlite3_get_autocommit(d->sqlite) == 0;
}

bool db_has_open_write(struct db *d)
{
    return db_in_transaction(d) && sqlite3_txn_state(d->sqlite, "main") == SQLITE_TXN_WRITE;
}

bool db_broken(const struct db *d)
{
    return d->broken;
}

uint64_t db_txid(const struct db *d)
{
    return d->txid;
}

struct db_position db_position(const struct db *d)
{
    return d->txid == d->base.txid ? d->base : (struct db_position){d->epoch, d->txid};
}

uint32_t db_pages(const struct db *d)
{
    return d->commit_pages;
}

struct db_alarm db_alarm(const struct db *d)
{
    return d->alarm;
}

void db_alarm_changed(struct db *d)
{
    d->alarm_changed = true;
}
