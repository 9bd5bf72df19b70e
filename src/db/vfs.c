/* db/vfs.c: SQLite's files as io files, and the capture of what is written to them.
 *
 * With the rollback journal in memory and one exclusive connection SQLite writes whole pages to the database
 * file only: at a commit each changed page once and in order; when its cache overflows some earlier; and when
 * it rolls back after that, the old versions again. Whatever the order, the pages written since the last
 * commit, in their last version, are all that the file's content can differ in. That is the segment. */
#include "db/db_internal.h"

struct vfs_file {
    sqlite3_file base;
    struct db *db;
};

static struct db *db_of(sqlite3_file *f)
{
    return CD_CONTAINER(f, struct vfs_file, base)->db;
}

static int x_close(sqlite3_file *f)
{
    struct db *d = db_of(f);
    return d->file.io != NULL && io_file_close(&d->file) != IO_OK ? SQLITE_IOERR_CLOSE : SQLITE_OK;
}

static int x_read(sqlite3_file *f, void *out, int len, sqlite3_int64 at)
{
    struct db *d = db_of(f);
    size_t want = (size_t)len, got = 0;
    int rc = d->absent == NULL ? SQLITE_OK : db_paged_read(d, (uint64_t)at, want);
    if (rc != SQLITE_OK)
        return rc;
    if (io_file_pread(&d->file, out, want, (uint64_t)at, &got) != IO_OK) {
        d->broken = true;
        return SQLITE_IOERR_READ;
    }
    if (got == want)
        return SQLITE_OK;
    memset((char *)out + got, 0, want - got); /* SQLite counts on it. */
    return SQLITE_IOERR_SHORT_READ;
}

static int x_write(sqlite3_file *f, const void *bytes, int len, sqlite3_int64 at)
{
    struct db *d = db_of(f);
    uint64_t end = (uint64_t)at + (uint64_t)len;
    if (len != (int)d->page_size || (uint64_t)at % d->page_size != 0 || d->broken) {
        d->broken = true;
        return SQLITE_IOERR_WRITE;
    }
    if (!d->refused && ltx_builder_size(&d->written) > d->written_max) {
        io_mark(d->host->io, "db.too_much_for_a_row");
        d->refused = d->too_big = true;
        return SQLITE_FULL;
    }
    uint32_t pgno = (uint32_t)((uint64_t)at / d->page_size) + 1;
    if (d->image != NULL)
        db_image_before_write(d->image, pgno);
    int rc = io_file_pwrite(&d->file, bytes, (size_t)len, (uint64_t)at);
    if (rc == IO_NOSPACE && !d->refused) {
        io_mark(d->host->io, "db.disk_full");
        d->refused = true;
        return SQLITE_FULL;
    }
    if (rc != IO_OK) {
        d->broken = true;
        return SQLITE_IOERR_WRITE;
    }
    d->size = end > d->size ? end : d->size;
    d->dirty = true;
    if (d->absent != NULL)
        db_paged_present(d, pgno, pgno);
    ltx_builder_page(&d->written, d->host->zstd, pgno, bytes, d->page_size);
    return SQLITE_OK;
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct db *d = db_of(f);
    if (d->image != NULL)
        db_image_before_truncate(d->image, (uint32_t)((uint64_t)size / d->page_size));
    if (d->broken || io_file_truncate(&d->file, (uint64_t)size) != IO_OK) {
        d->broken = true;
        return SQLITE_IOERR_TRUNCATE;
    }
    d->size = (uint64_t)size;
    if (d->absent != NULL)
        db_paged_present(d, (uint32_t)(d->size / d->page_size) + 1, UINT32_MAX);
    return SQLITE_OK;
}

/* Durable is what the log says is durable (db.h). */
static int x_sync(sqlite3_file *f, int flags)
{
    (void)f;
    (void)flags;
    return SQLITE_OK;
}

static int x_file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)db_of(f)->size;
    return SQLITE_OK;
}

/* One connection, and one process: whoever owns the data directory. */
static int x_lock(sqlite3_file *f, int level)
{
    (void)f;
    (void)level;
    return SQLITE_OK;
}

static int x_check_reserved_lock(sqlite3_file *f, int *reserved)
{
    (void)f;
    *reserved = 0;
    return SQLITE_OK;
}

static int x_file_control(sqlite3_file *f, int op, void *arg)
{
    (void)f;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int x_sector_size(sqlite3_file *f)
{
    (void)f;
    return 512; /* Of a larger one SQLite would write all pages together. */
}

static int x_device_characteristics(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_file_size,
    .xLock = x_lock,
    .xUnlock = x_lock,
    .xCheckReservedLock = x_check_reserved_lock,
    .xFileControl = x_file_control,
    .xSectorSize = x_sector_size,
    .xDeviceCharacteristics = x_device_characteristics,
};

/* Only the database itself: its journal and all temporary files live in memory. */
static int x_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    struct db_host *h = v->pAppData;
    struct db *d = h->opening;
    f->pMethods = NULL;
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0 || d == NULL || strcmp(path, d->path) != 0)
        return SQLITE_CANTOPEN;
    unsigned how = d->base.txid == 0 ? IO_FILE_CREATE | IO_FILE_EXCLUSIVE : 0;
    if (io_file_open(&d->file, h->io, path, how) != IO_OK)
        return SQLITE_CANTOPEN;
    if (io_file_size(&d->file, &d->size) != IO_OK) {
        (void)io_file_close(&d->file);
        return SQLITE_CANTOPEN;
    }
    h->opening = NULL;
    CD_CONTAINER(f, struct vfs_file, base)->db = d;
    f->pMethods = &methods;
    if (out_flags != NULL)
        *out_flags = flags;
    return SQLITE_OK;
}

static int x_delete(sqlite3_vfs *v, const char *path, int sync_dir)
{
    (void)v;
    (void)path;
    (void)sync_dir;
    return SQLITE_IOERR_DELETE_NOENT; /* A journal that was never there. */
}

static int x_access(sqlite3_vfs *v, const char *path, int flags, int *out)
{
    (void)v;
    (void)path;
    (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int x_full_pathname(sqlite3_vfs *v, const char *path, int size, char *out)
{
    (void)v;
    size_t len = strlen(path);
    if (len >= (size_t)size)
        return SQLITE_CANTOPEN;
    memcpy(out, path, len + 1);
    return SQLITE_OK;
}

static int x_randomness(sqlite3_vfs *v, int size, char *out)
{
    const struct db_host *h = v->pAppData;
    io_random(h->io, IO_RAND_JS, out, (size_t)size);
    return size;
}

static int x_sleep(sqlite3_vfs *v, int us)
{
    (void)v;
    (void)us;
    return 0; /* Nobody to wait for. */
}

#define JULIAN_MS_OF_1970 INT64_C(210866760000000)

static int x_current_time_ms(sqlite3_vfs *v, sqlite3_int64 *out)
{
    const struct db_host *h = v->pAppData;
    *out = JULIAN_MS_OF_1970 + io_wall_ms(h->io);
    return SQLITE_OK;
}

static int x_current_time(sqlite3_vfs *v, double *out)
{
    sqlite3_int64 ms;
    (void)x_current_time_ms(v, &ms);
    *out = (double)ms / 86400000.0;
    return SQLITE_OK;
}

static int x_last_error(sqlite3_vfs *v, int size, char *out)
{
    (void)v;
    (void)size;
    (void)out;
    return 0;
}

void db_vfs_init(struct db_host *h)
{
    h->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(struct vfs_file),
        .mxPathname = 4096,
        .zName = h->name,
        .pAppData = h,
        .xOpen = x_open,
        .xDelete = x_delete,
        .xAccess = x_access,
        .xFullPathname = x_full_pathname,
        .xRandomness = x_randomness,
        .xSleep = x_sleep,
        .xCurrentTime = x_current_time,
        .xGetLastError = x_last_error,
        .xCurrentTimeInt64 = x_current_time_ms,
    };
}
