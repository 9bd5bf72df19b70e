#include "db/image.h"

#include "base/map.h"
#include "db/db_internal.h"

struct db_image {
    struct db_host *host;
    struct db *db; /* Whose file is read; NULL: own, or closed. */
    struct io_file own;
    struct ltx_image w;
    struct cd_map aside; /* Page number: its bytes, owned. */
    uint64_t aside_max;
    int failed;
    bool ready;
};

static struct db_image *image_new(struct db_host *h, struct cd_str scope, struct db_position at,
                                  uint32_t page_size, uint32_t pages)
{
    struct db_image *i = cd_new(struct db_image);
    i->host = h;
    i->w.h = (struct ltx_header){.page_size = page_size,
                                 .commit = pages,
                                 .max_txid = at.txid,
                                 .epoch = at.epoch,
                                 .timestamp_ms = io_wall_ms(h->io),
                                 .scope_hash = ltx_scope_hash(scope)};
    uint64_t quarter = (uint64_t)page_size * pages / 4;
    i->aside_max = quarter > DB_IMAGE_ASIDE_MIN ? quarter : DB_IMAGE_ASIDE_MIN;
    return i;
}

int db_image_open(struct db_image **out, struct db *d, struct cd_buf *why)
{
    CD_ASSERT(d->image == NULL && !db_in_transaction(d));
    if (d->broken)
        return db_fail(d, "image", SQLITE_IOERR, why);
    if (d->txid == 0 || db_page_next_absent(d, 1) != 0)
        return CD_ENOTFOUND;
    struct db_image *i = image_new(d->host, cd_str(d->scope), db_position(d), d->page_size, d->commit_pages);
    i->db = d;
    d->image = i;
    *out = i;
    return 0;
}

int db_image_open_file(struct db_image **out, struct db_host *h, const char *path, struct cd_str scope,
                       const struct db_snapshot *s, struct cd_buf *why)
{
    struct io_file f = {0};
    int rc = io_file_open(&f, h->io, path, IO_FILE_READONLY);
    if (rc != IO_OK) {
        if (why != NULL)
            cd_buf_addf(why, "image of %s: %s", path, cd_err_text(rc));
        return rc;
    }
    struct db_image *i = image_new(h, scope, s->at, s->page_size, s->pages);
    i->own = f;
    *out = i;
    return 0;
}

struct db_position db_image_at(const struct db_image *i)
{
    return (struct db_position){i->w.h.epoch, i->w.h.max_txid};
}

static void aside_clear(struct db_image *i)
{
    struct cd_map_node *n;
    while ((n = cd_map_first(&i->aside)) != NULL)
        cd_free(cd_map_remove_u64(&i->aside, cd_map_key_u64(n)));
}

static int read_page(struct db_image *i, uint32_t pgno, void *page)
{
    uint32_t size = i->w.h.page_size;
    char *kept = cd_map_remove_u64(&i->aside, pgno);
    if (kept != NULL) {
        memcpy(page, kept, size);
        cd_free(kept);
        return 0;
    }
    struct io_file *f = i->db != NULL ? &i->db->file : &i->own;
    size_t got = 0;
    int rc = io_file_pread(f, page, size, (uint64_t)(pgno - 1) * size, &got);
    return rc != IO_OK ? rc : got != size ? CD_ECORRUPT : 0;
}

/* Page pgno is about to change in the file. */
static void keep_aside(struct db_image *i, uint32_t pgno)
{
    if (pgno == ltx_lock_page(i->w.h.page_size) || cd_map_get_u64(&i->aside, pgno) != NULL)
        return;
    if ((i->aside.count + 1) * (uint64_t)i->w.h.page_size > i->aside_max) {
        i->failed = CD_ETOOBIG;
        return;
    }
    io_mark(i->host->io, "db.image_page_aside");
    char *page = cd_alloc(i->w.h.page_size);
    i->failed = read_page(i, pgno, page);
    (void)cd_map_put_u64(&i->aside, pgno, page);
}

void db_image_before_write(struct db_image *i, uint32_t pgno)
{
    uint32_t next = i->w.next == 0 ? 1 : i->w.next;
    if (CD_PLANT("db.image-forgets-page"))
        return;
    if (i->failed == 0 && pgno >= next && pgno <= i->w.h.commit)
        keep_aside(i, pgno);
}

void db_image_before_truncate(struct db_image *i, uint32_t pages)
{
    uint32_t next = i->w.next == 0 ? 1 : i->w.next;
    for (uint32_t pgno = pages < next ? next : pages + 1; pgno <= i->w.h.commit && i->failed == 0; pgno++)
        keep_aside(i, pgno);
}

void db_image_detach(struct db_image *i)
{
    i->db = NULL;
    i->failed = CD_ECLOSED;
}

int db_image_step(struct db_image *i, size_t bytes, struct cd_buf *out, bool *last, struct cd_buf *why)
{
    size_t from = out->len;
    if (i->failed == 0 && i->w.next == 0) {
        struct ltx_header h = i->w.h;
        ltx_image_start(&i->w, &h, out);
    }
    char *page = cd_alloc(i->w.h.page_size);
    uint32_t pgno = 0;
    while (i->failed == 0 && out->len - from < bytes && (pgno = ltx_image_wants(&i->w)) != 0) {
        i->failed = read_page(i, pgno, page);
        if (i->failed == 0)
            ltx_image_page(&i->w, i->host->zstd, page, out);
    }
    cd_free(page);
    if (i->failed != 0) {
        if (why != NULL)
            cd_buf_addf(why, "image at txid %llu: %s", (unsigned long long)i->w.h.max_txid,
                        cd_err_text(i->failed));
        return i->failed;
    }
    if (!i->ready && ltx_image_wants(&i->w) == 0) {
        ltx_image_finish(&i->w, out);
        i->ready = true;
    }
    *last = i->ready;
    return 0;
}

void db_image_close(struct db_image *i)
{
    if (i == NULL)
        return;
    if (i->db != NULL)
        i->db->image = NULL;
    if (i->own.io != NULL)
        (void)io_file_close(&i->own);
    aside_clear(i);
    cd_map_deinit(&i->aside);
    ltx_image_deinit(&i->w);
    cd_free(i);
}
