/* db/paged.c: a database whose pages come when they are needed.
 *
 * The file is the base's with holes. A page is absent until it was brought, written or cut off, and never
 * again after that: what arrives late must not replace what a transaction wrote. */
#include "db/db_internal.h"

#define FAULTS_MAX 3u

static bool is_absent(const struct db *d, uint32_t pgno)
{
    uint32_t i = pgno - 1;
    return d->absent != NULL && i < d->absent_pages && (d->absent[i / 64] >> (i % 64) & 1) != 0;
}

void db_paged_init(struct db *d)
{
    d->absent_pages = d->commit_pages;
    d->absent = cd_alloc((d->absent_pages + 63u) / 64 * sizeof *d->absent);
    uint32_t lock = ltx_lock_page(d->page_size);
    for (uint32_t i = 1; i < d->absent_pages; i++) {
        if (i + 1 != lock)
            d->absent[i / 64] |= (uint64_t)1 << (i % 64);
    }
}

void db_paged_present(struct db *d, uint32_t from, uint32_t to)
{
    for (uint32_t i = from - 1; i < to && i < d->absent_pages; i++)
        d->absent[i / 64] &= ~((uint64_t)1 << (i % 64));
}

bool db_page_absent(const struct db *d, uint32_t pgno)
{
    CD_ASSERT(pgno > 0);
    return is_absent(d, pgno);
}

uint32_t db_page_next_absent(const struct db *d, uint32_t pgno)
{
    CD_ASSERT(pgno > 0);
    if (d->absent == NULL)
        return 0;
    for (uint32_t i = pgno - 1; i < d->absent_pages; i++) {
        if (d->absent[i / 64] >> (i % 64) == 0)
            i |= 63; /* No more in this word. */
        else if (is_absent(d, i + 1))
            return i + 1;
    }
    return 0;
}

int db_page_put(struct db *d, uint32_t pgno, const void *page)
{
    if (!db_page_absent(d, pgno)) {
        io_mark(d->host->io, "db.page_late");
        return 0;
    }
    int rc = io_file_pwrite(&d->file, page, d->page_size, (uint64_t)(pgno - 1) * d->page_size);
    if (rc == IO_OK)
        db_paged_present(d, pgno, pgno);
    return rc;
}

int db_paged_read(struct db *d, uint64_t at, size_t len)
{
    uint32_t first = (uint32_t)(at / d->page_size) + 1, last = (uint32_t)((at + len - 1) / d->page_size) + 1;
    for (uint32_t pgno = first; pgno <= last; pgno++) {
        if (!is_absent(d, pgno))
            continue;
        if (d->broken)
            return SQLITE_IOERR_READ;
        if (d->fault(d->arg, d, pgno) != 0 || is_absent(d, pgno)) {
            d->broken = ++d->faults_failed >= FAULTS_MAX;
            return SQLITE_IOERR_READ;
        }
        d->faults_failed = 0;
    }
    return SQLITE_OK;
}
