/* db/snapshot.c: the file of a cleanly closed database, kept for the next epoch on this node (fleet.md 5.9).
 *
 * The sidecar is what makes a file a snapshot: it is durable only after the file is, and goes before the file
 * is used. A crash in between leaves a file that nobody looks at. */
#include "base/json.h"
#include "db/db_internal.h"

#define STEP (1u << 20) /* Of reading, between other events of the loop. */
#define SIDECAR_MAX 4096u

static int told(struct cd_buf *why, const char *what, const char *path, int rc)
{
    if (why != NULL)
        cd_buf_addf(why, "%s %s: %s", what, path, cd_err_text(rc));
    return rc;
}

/* For files that nobody will use: what stays costs room, no more. */
static void drop(struct io *io, const char *path)
{
    int rc = io_path_remove(io, path);
    (void)rc;
}

/* Where in dir what lies. */
struct paths {
    struct cd_buf db, kept, sidecar;
};

static struct paths paths_of(const char *dir)
{
    struct paths p = {{0}, {0}, {0}};
    (void)db_path(&p.db, dir, "db.sqlite");
    (void)db_path(&p.kept, dir, "evicted.sqlite");
    (void)db_path(&p.sidecar, dir, "evicted.json");
    return p;
}

static void paths_deinit(struct paths *p)
{
    cd_buf_deinit(&p->db);
    cd_buf_deinit(&p->kept);
    cd_buf_deinit(&p->sidecar);
}

static int sum_file(struct io *io, struct io_file *f, uint32_t page_size, uint32_t pages, uint64_t *sum)
{
    char *bytes = cd_alloc(STEP);
    uint64_t s = LTX_DBSUM_START, size = (uint64_t)page_size * pages;
    uint32_t pgno = 1, lock = ltx_lock_page(page_size);
    int rc = IO_OK;
    for (uint64_t at = 0; at < size && rc == IO_OK;) {
        size_t want = size - at < STEP ? (size_t)(size - at) : STEP, got = 0;
        rc = io_file_pread(f, bytes, want, at, &got);
        if (rc == IO_OK && got != want)
            rc = CD_ECORRUPT;
        for (size_t k = 0; rc == IO_OK && k < want; k += page_size, pgno++) {
            if (pgno != lock)
                s = ltx_dbsum_add(s, pgno, bytes + k, page_size);
        }
        at += want;
        if (rc == IO_OK && at < size)
            rc = io_sleep(io, 0);
    }
    cd_free(bytes);
    if (rc == IO_OK)
        *sum = s;
    return rc;
}

static int sync_file(struct io_file *f)
{
    struct io_op op = {0};
    io_file_sync_start(f, &op, NULL);
    return io_await(&op, IO_FOREVER); /* As long as the disk takes: it answers or fails. */
}

static void sidecar_text(struct cd_buf *out, struct cd_str scope, const struct db_snapshot *s)
{
    struct cd_json_out o;
    struct cd_buf sum = {0};
    cd_buf_addf(&sum, "%016llx", (unsigned long long)s->post_checksum);
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "v");
    cd_json_out_u64(&o, 1);
    cd_json_out_key(&o, "scope");
    cd_json_out_str(&o, scope);
    cd_json_out_key(&o, "epoch");
    cd_json_out_u64(&o, s->epoch);
    cd_json_out_key(&o, "at");
    cd_json_out_array(&o);
    cd_json_out_u64(&o, s->at.epoch);
    cd_json_out_u64(&o, s->at.txid);
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "page_size");
    cd_json_out_u64(&o, s->page_size);
    cd_json_out_key(&o, "pages");
    cd_json_out_u64(&o, s->pages);
    cd_json_out_key(&o, "post_checksum");
    cd_json_out_str(&o, cd_buf_str(&sum));
    cd_json_out_key(&o, "bytes");
    cd_json_out_u64(&o, (uint64_t)s->page_size * s->pages);
    cd_json_out_end(&o, '}');
    cd_buf_deinit(&sum);
}

static int write_sidecar(struct io *io, const char *path, struct cd_str text)
{
    struct io_file f = {0};
    int rc = io_file_open(&f, io, path, IO_FILE_CREATE | IO_FILE_TRUNCATE);
    if (rc != IO_OK)
        return rc;
    rc = io_file_pwrite(&f, text.ptr, text.len, 0);
    if (rc == IO_OK)
        rc = sync_file(&f);
    int closed = io_file_close(&f);
    return rc == IO_OK ? closed : rc;
}

/* The closed database file becomes durable under its other name, then the sidecar that vouches for it. */
static int keep(struct io *io, const char *dir, struct cd_str scope, struct db_snapshot *s, bool sum,
                struct cd_buf *why)
{
    struct paths p = paths_of(dir);
    const char *db = cd_buf_cstr(&p.db), *kept = cd_buf_cstr(&p.kept), *sidecar = cd_buf_cstr(&p.sidecar);
    struct io_file f = {0};
    struct cd_buf text = {0};
    const char *at = db;
    int rc = io_file_open(&f, io, db, 0);
    if (rc == IO_OK) {
        rc = sum ? sum_file(io, &f, s->page_size, s->pages, &s->post_checksum) : IO_OK;
        if (rc == IO_OK)
            rc = sync_file(&f);
        int closed = io_file_close(&f);
        rc = rc == IO_OK ? closed : rc;
    }
    if (rc == IO_OK)
        rc = io_path_rename(io, db, at = kept);
    if (rc == IO_OK)
        rc = io_path_sync(io, at = dir);
    if (rc == IO_OK) {
        sidecar_text(&text, scope, s);
        rc = write_sidecar(io, at = sidecar, cd_buf_str(&text));
        if (rc == IO_OK)
            rc = io_path_sync(io, at = dir);
        if (rc != IO_OK)
            drop(io, sidecar); /* It may be whole, but nobody promised it. */
    }
    if (rc != IO_OK)
        (void)told(why, "keep", at, rc);
    cd_buf_deinit(&text);
    paths_deinit(&p);
    return rc;
}

int db_close_snapshot(struct db *d, bool sum, struct cd_buf *why)
{
    struct db_snapshot s = {
        .epoch = d->epoch, .at = db_position(d), .page_size = d->page_size, .pages = d->commit_pages};
    struct io *io = d->host->io;
    char *dir = cd_str_dup(cd_str(d->dir)), *scope = cd_str_dup(cd_str(d->scope));
    bool broken = d->broken, whole = db_page_next_absent(d, 1) == 0;
    db_close(d);
    int rc = 0;
    if (broken)
        rc = told(why, "keep", dir, IO_FAULT);
    else if (s.at.txid == 0 || !whole)
        rc = CD_ENOTFOUND;
    else
        rc = keep(io, dir, cd_str(scope), &s, sum, why);
    cd_free(dir);
    cd_free(scope);
    return rc;
}

/* ---- Using one ---- */

static int parse_sidecar(struct cd_str text, struct cd_str scope, uint64_t epoch, struct db_snapshot *out)
{
    struct cd_json_doc *doc = NULL;
    if (cd_json_parse(&doc, text, NULL) != 0)
        return CD_ECORRUPT;
    const struct cd_json *root = cd_json_root(doc), *at = cd_json_get(root, "at");
    struct cd_str name = {0}, sum = {0};
    uint64_t v = 0, page_size = 0, pages = 0;
    struct db_snapshot s = {0};
    bool ok = cd_json_u64(cd_json_get(root, "v"), &v) == 0 && v == 1 &&
              cd_json_str(cd_json_get(root, "scope"), &name) == 0 && cd_str_eq(name, scope) &&
              cd_json_u64(cd_json_get(root, "epoch"), &s.epoch) == 0 && s.epoch == epoch &&
              cd_json_u64(cd_json_item(at, 0), &s.at.epoch) == 0 &&
              cd_json_u64(cd_json_item(at, 1), &s.at.txid) == 0 && s.at.epoch > 0 && s.at.epoch <= epoch &&
              s.at.txid > 0 && cd_json_u64(cd_json_get(root, "page_size"), &page_size) == 0 &&
              page_size >= LTX_PAGE_MIN && page_size <= LTX_PAGE_MAX && (page_size & (page_size - 1)) == 0 &&
              cd_json_u64(cd_json_get(root, "pages"), &pages) == 0 && pages > 0 && pages < UINT32_MAX &&
              cd_json_str(cd_json_get(root, "post_checksum"), &sum) == 0 && sum.len == 16 &&
              cd_str_hex_u64(sum, &s.post_checksum) == 0;
    s.page_size = (uint32_t)page_size;
    s.pages = (uint32_t)pages;
    cd_json_free(doc);
    if (!ok)
        return CD_ECORRUPT;
    *out = s;
    return 0;
}

static int read_sidecar(struct io *io, const char *path, struct cd_buf *out)
{
    struct io_file f = {0};
    int rc = io_file_open(&f, io, path, IO_FILE_READONLY);
    if (rc != IO_OK)
        return rc == IO_NOENT ? CD_ENOTFOUND : rc;
    size_t got = 0;
    rc = io_file_pread(&f, cd_buf_reserve(out, SIDECAR_MAX), SIDECAR_MAX, 0, &got);
    out->len = got;
    (void)io_file_close(&f);
    return rc;
}

/* What a snapshot's file has to be like. */
static int check_kept(struct io *io, const char *path, const struct db_snapshot *s, bool full)
{
    struct io_file f = {0};
    uint64_t size = 0, sum = 0;
    int rc = io_file_open(&f, io, path, IO_FILE_READONLY);
    if (rc != IO_OK)
        return rc == IO_NOENT ? CD_ECORRUPT : rc;
    rc = io_file_size(&f, &size);
    if (rc == IO_OK && size != (uint64_t)s->page_size * s->pages)
        rc = CD_ECORRUPT;
    if (rc == IO_OK && full)
        rc = sum_file(io, &f, s->page_size, s->pages, &sum);
    if (rc == IO_OK && full && sum != s->post_checksum)
        rc = CD_ECORRUPT; /* Also one that was kept without its checksum. */
    (void)io_file_close(&f);
    return rc;
}

int db_snapshot_take(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                     const char *next_dir, bool full, struct db_snapshot *out, struct cd_buf *why)
{
    struct paths p = paths_of(dir), next = paths_of(next_dir);
    const char *sidecar = cd_buf_cstr(&p.sidecar), *kept = cd_buf_cstr(&p.kept);
    struct cd_buf text = {0};
    struct db_snapshot s = {0};
    int rc = read_sidecar(io, sidecar, &text);
    if (rc == 0)
        rc = parse_sidecar(cd_buf_str(&text), scope, epoch, &s);
    if (rc == 0)
        rc = check_kept(io, kept, &s, full);
    if (rc == CD_ECORRUPT) {
        drop(io, sidecar);
        drop(io, kept);
    }
    if (rc == 0)
        rc = io_path_remove(io, sidecar); /* From here on it is no snapshot any more. */
    if (rc == 0)
        rc = io_path_sync(io, dir); /* Not even after a crash: the file will be written to. */
    if (rc == 0)
        rc = io_path_rename(io, kept, cd_buf_cstr(&next.db));
    if (rc == 0)
        *out = s;
    else if (rc != CD_ENOTFOUND)
        (void)told(why, "snapshot in", dir, rc);
    cd_buf_deinit(&text);
    paths_deinit(&p);
    paths_deinit(&next);
    return rc;
}

void db_snapshot_path(struct cd_buf *out, const char *dir)
{
    cd_buf_addf(out, "%s/evicted.sqlite", dir);
}

int db_snapshot_look(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                     struct db_snapshot *out)
{
    struct paths p = paths_of(dir);
    struct cd_buf text = {0};
    int rc = read_sidecar(io, cd_buf_cstr(&p.sidecar), &text);
    if (rc == 0)
        rc = parse_sidecar(cd_buf_str(&text), scope, epoch, out);
    if (rc == 0)
        rc = check_kept(io, cd_buf_cstr(&p.kept), out, false);
    cd_buf_deinit(&text);
    paths_deinit(&p);
    return rc == 0 ? 0 : CD_ENOTFOUND;
}

int db_remove(struct io *io, const char *dir)
{
    struct paths p = paths_of(dir);
    const char *const name[] = {cd_buf_cstr(&p.sidecar), cd_buf_cstr(&p.kept), cd_buf_cstr(&p.db), dir};
    int rc = IO_OK;
    for (unsigned i = 0; i < CD_COUNT(name) && rc == IO_OK; i++) {
        int gone = io_path_remove(io, name[i]);
        rc = gone == IO_NOENT ? IO_OK : gone;
    }
    paths_deinit(&p);
    return rc;
}
