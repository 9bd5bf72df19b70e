/* db/db.h: the SQLite database of one cell on io files, with every commit captured as a segment (fleet.md 5).
 *
 * The file is never a recovery source: what counts is the row that db_commit hands out. So nothing is synced
 * but a snapshot at a clean close, and the rollback journal lives in memory: a database is one file and one
 * descriptor (docs/architecture.md has the figures). All calls are synchronous, made from the loop of their
 * host, and block for disk reads and writes only. */
#ifndef DB_DB_H
#define DB_DB_H

#include <sqlite3.h>

#include "io/io.h"
#include "ltx/ltx.h"

#define DB_PAGE_SIZE 4096u /* Of a new database, unless asked otherwise. */
#define DB_SEGMENT_MAX                                                                                       \
    (192u << 20) /* Of what one transaction may change, as stored: the log's rows end here. */
#define DB_CACHE_PAGES 128u /* Of one open database, at most, between transactions. */

/* Once per process, before anything of SQLite runs in any thread. Without it each open database takes 87 KB
 * for pages that it may never have. */
void db_setup(void);

/* What databases of one loop share: the VFS they are opened through, zstd's memory. */
struct db_host;
struct db_host *db_host_new(struct io *io);
void db_host_free(struct db_host *h); /* All its databases are closed. NULL is fine. */
struct ltx_zstd *db_host_zstd(struct db_host *h); /* For other users of segments on this loop. */

struct db_position {
    uint64_t epoch, txid; /* Both 0: a cell without data. */
};

/* State of table _cf_alarm (fleet.md 8.1). inst_seq 0: there was never an alarm. */
struct db_alarm {
    bool armed;
    int64_t due_ms;
    uint64_t inst_seq;
};

struct db_commit {
    uint64_t min_txid, max_txid; /* Equal: one transaction. */
    struct db_alarm alarm; /* After it. */
    struct cd_buf ltx; /* The receiver owns it. */
    uint32_t pages; /* Of the segment. */
};

struct db;
struct db_opts {
    struct db_host *host;
    /* <data>/cells/<scope>/e<E>, which exists. The database is db.sqlite in it. Copied. */
    const char *dir;
    struct cd_str scope; /* Copied. */
    uint64_t epoch;
    struct db_position base; /* What the file holds, put there by a restore or a snapshot. {0, 0}: no file. */
    uint32_t page_size; /* Of a new database; 0: DB_PAGE_SIZE. */
    uint32_t cache_pages; /* 0: DB_CACHE_PAGES. */
    /* Paged (fleet.md 5.12): the file has the base's size and page 1; the rest comes when it is needed. fault
     * is called from inside a statement that needs a page: it brings that one by db_page_put, and others that
     * come with it, before it returns 0. Any other answer fails the statement; three in a row break the
     * database. NULL: the file is whole. */
    int (*fault)(void *arg, struct db *d, uint32_t pgno);
    /* Called from inside db_commit, once for each transaction that changed something, in order. */
    void (*commit)(void *arg, struct db_commit *c);
    void *arg; /* Of both. */
};

/* With a base the file is opened, else made: an older file in its place goes first. CD_ECORRUPT when it is
 * not a database of whole pages. why gets the reason. */
CD_MUST_USE int db_open(struct db **out, const struct db_opts *opts, struct cd_buf *why);
/* All statements are finalized. A transaction in progress is rolled back. The file stays. NULL is fine. */
void db_close(struct db *d);
/* As db_close, in a fiber; then the file becomes evicted.sqlite with its sidecar evicted.json, durable, for
 * the next epoch on this node (fleet.md 5.9). The caller knows that the position is proven and in the bucket.
 * sum: with the checksum over all pages, which reads them all. On an error there is no sidecar, so no
 * snapshot; the database is closed in any case. CD_ENOTFOUND: a cell without data, or one with
 * pages missing, has nothing to keep. */
CD_MUST_USE int db_close_snapshot(struct db *d, bool sum, struct cd_buf *why);
/* Deletes what an epoch has left in dir: database, snapshot, sidecar, the directory itself. */
CD_MUST_USE int db_remove(struct io *io, const char *dir);

struct db_snapshot {
    uint64_t epoch; /* Of the directory it lies in. */
    struct db_position at; /* What it holds; the next epoch's base. */
    uint32_t page_size, pages;
    uint64_t post_checksum; /* 0: was not computed. */
};
/* In a fiber: looks for a snapshot of scope in the directory of an epoch, checks it (when full, by its
 * checksum, which must be there), and makes it the database in next_dir, which exists: db_open can follow
 * with base = out->at. CD_ENOTFOUND: none. CD_ECORRUPT: not to be used, and removed. */
CD_MUST_USE int db_snapshot_take(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                                 const char *next_dir, bool full, struct db_snapshot *out,
                                 struct cd_buf *why);

/* The snapshot that lies in dir, as it is: nothing is taken. CD_ENOTFOUND: there is none that could be. */
CD_MUST_USE int db_snapshot_look(struct io *io, const char *dir, struct cd_str scope, uint64_t epoch,
                                 struct db_snapshot *out);
/* Appends the path of its file, for db_image_open_file. */
void db_snapshot_path(struct cd_buf *out, const char *dir);

/* For statements, cursors, limits, functions and the authorizer; never for transactions at the top level, and
 * not for hooks of commit and rollback, which are ours. One connection, no mutex. */
sqlite3 *db_sqlite(struct db *d);
uint64_t db_epoch(const struct db *d);

/* The one transaction that a turn of a cell writes in. Savepoints inside it belong to the caller. Writing
 * outside of it fails with SQLITE_CONSTRAINT_COMMITHOOK. */
CD_MUST_USE int db_begin(struct db *d, struct cd_buf *why);
/* 0: committed, and commit was called if anything changed. Else nothing of it is in the database, unless
 * db_broken says that nobody knows. CD_ETOOBIG past DB_SEGMENT_MAX. */
CD_MUST_USE int db_commit(struct db *d, struct cd_buf *why);
void db_rollback(struct db *d); /* No effect outside of a transaction. */
/* Whether one is open. A statement's failure may have rolled it back. */
bool db_in_transaction(struct db *d);
/* Whether the open transaction has changed anything. Nothing has been captured of that yet. */
bool db_has_open_write(struct db *d);
/* Memory and file may differ from what was captured: a failed read or write of the disk, or a commit whose
 * segment could not be made. Every later call fails; the cell is reset (fleet.md 4.9). */
bool db_broken(const struct db *d);

uint64_t db_txid(const struct db *d); /* Captured. */
/* The epoch is ours once it has a row, the base's before. */
struct db_position db_position(const struct db *d);
uint32_t db_pages(const struct db *d); /* Size at the last commit. */

/* The alarm as of the last commit. Whoever changes table _cf_alarm says so in the same transaction, and it is
 * read again before the commit. */
struct db_alarm db_alarm(const struct db *d);
void db_alarm_changed(struct db *d);

/* ---- Paged databases ---- */

/* A page as the base has it. One that is there already, or was written or cut off since, stays as it is. */
CD_MUST_USE int db_page_put(struct db *d, uint32_t pgno, const void *page);
bool db_page_absent(const struct db *d, uint32_t pgno);
/* The next page from pgno on that is absent; 0: none. With pgno 1 and answer 0 the file is whole. */
uint32_t db_page_next_absent(const struct db *d, uint32_t pgno);

#endif
