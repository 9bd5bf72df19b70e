/* log/restore.h: a cell's database from the objects of its prefix. fleet.md 5.8, 5.10, 5.11.
 *
 * Plans the chain (ltx/plan.h) over fresh listings, downloads, verifies and applies it. In a fiber of any
 * loop. Never falls back to an older epoch: a gap, a corrupt object or a link that does not end at its cut is
 * an error of that name. */
#ifndef LOG_RESTORE_H
#define LOG_RESTORE_H

#include "io/io.h"
#include "ltx/keep.h"

enum log_restore_end {
    LOG_RESTORE_DONE,
    LOG_RESTORE_NO_DATA, /* No epoch has an object. */
    LOG_RESTORE_REFUSED, /* The bucket has data at an epoch not below the claimed one (4.5 rule 3). */
    LOG_RESTORE_GAP,
    LOG_RESTORE_CORRUPT,
    LOG_RESTORE_CUT_MISSED, /* A link does not end exactly where its successor began. */
    LOG_RESTORE_FAILED, /* Store or disk; may go away. */
};
const char *log_restore_end_name(enum log_restore_end end);

struct log_restore {
    struct io *io; /* In */
    struct io_bucket *bucket; /* In */
    struct cd_str scope; /* In */
    uint64_t epoch; /* In: the claimed epoch; data at or above it is refused. 0: no such limit (inspect). */
    /* In: the database file to make, "<dir>/db.sqlite", in a directory that exists. NULL: plan only (5.8). */
    const char *path;
    struct ltx_zstd *zstd; /* In: of this loop; not needed for a plan. */
    struct ltx_chain *chain; /* In: where the plan goes, for the caller to deinit; zeroed. NULL: nowhere. */
    /* Out */
    enum log_restore_end end;
    uint64_t base_epoch, base_txid; /* DONE: the position restored. */
    uint32_t page_size, pages;
    uint64_t objects, bytes, epochs; /* Of the chain. */
    struct ltx_weight weight; /* The same, as what decides whether it is to be shortened. */
    /* There are epochs below the chain's (5.13); of the lowest of them, when it was last written to, as far
     * as one page of a listing told: else 0. */
    bool garbage;
    int64_t garbage_ms;
    char why[256]; /* For people: names the object. */
};

/* In a fiber. IO_OK: end says what happened; only with DONE path exists, and is complete. It is not synced: a
 * live database is not trusted after a crash. IO_CANCELED: nothing but path + ".tmp" may be left. */
CD_MUST_USE int log_restore(struct log_restore *r);

#endif
