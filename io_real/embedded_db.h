/* io_real/embedded_db.h: one connection to the file of the embedded object store, and its operations as SQL.
 * Blocking; for the threads of embedded.c.
 *
 * One table, one row per object. Its integer key is the generation, made by AUTOINCREMENT: it only grows,
 * over deletes too, so a token never comes back. WAL with synchronous=FULL: a commit that returned is on the
 * disk, and no reader sees it before. */
#ifndef IO_REAL_EMBEDDED_DB_H
#define IO_REAL_EMBEDDED_DB_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "io_real/embedded.h"

struct embedded_file {
    dev_t dev;
    ino_t ino;
};

#define EMBEDDED_FILES 3u /* The database, its log, the log's index. */

struct embedded_db {
    const char *path; /* The caller's, outlives this. */
    struct embedded_file files[EMBEDDED_FILES]; /* As they were found when it was opened. */
    sqlite3 *db; /* owned */
    sqlite3_stmt *begin, *commit, *rollback, *read, *find, *put, *del, *list; /* owned */
    unsigned wal_pages; /* In the log after the last commit. */
};

/* Makes file and table when they are not there. IO_* with the reason in why. */
CD_MUST_USE int embedded_db_open(struct embedded_db *d, const char *path, struct cd_buf *why);
void embedded_db_close(struct embedded_db *d); /* Zeroed: no effect. */
/* Whether the names still lead to the files that are open. Else what is written there nobody finds again. */
CD_MUST_USE bool embedded_db_in_place(const struct embedded_db *d); /* Zeroed: true. */
CD_MUST_USE bool embedded_file_is(const char *path, const struct embedded_file *f);

/* All return SQLite's extended result code. A write: SQLITE_BUSY while another process writes. */
CD_MUST_USE int embedded_db_begin(struct embedded_db *d, bool write);
CD_MUST_USE int embedded_db_commit(struct embedded_db *d);
void embedded_db_rollback(struct embedded_db *d); /* No effect outside of a transaction. */
/* Inside a transaction. SQLITE_OK: the job's status and results are set, as they hold once it is committed.
 * Else nothing of the transaction may be kept. */
CD_MUST_USE int embedded_db_run(struct embedded_db *d, struct embedded_job *j);
/* Moves what is in the log into the file, as far as readers allow. */
void embedded_db_checkpoint(struct embedded_db *d);
/* Outside of a transaction, on a full disk: the same, and gives the log's room back. Waits shortly for
 * readers and writers. False: some of the log is still in use. */
CD_MUST_USE bool embedded_db_make_room(struct embedded_db *d);

/* The status of a failed result code: IO_NOSPACE, IO_DENIED, IO_BUSY, IO_FAULT. */
int embedded_db_status(const struct embedded_db *d, int rc);

#endif
