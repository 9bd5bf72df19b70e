/* db/db_internal.h: what the files of the database core share. */
#ifndef DB_DB_INTERNAL_H
#define DB_DB_INTERNAL_H

#include "db/db.h"

struct db_image;

struct db_host {
    struct io *io;
    sqlite3_vfs vfs;
    char name[32]; /* Of the VFS. SQLite's list of them is the process's: no two hosts share one. */
    struct ltx_zstd *zstd; /* owned */
    struct db *opening; /* Whose file the next xOpen is for. */
    unsigned open;
};

struct db {
    struct db_host *host;
    sqlite3 *sqlite; /* owned */
    sqlite3_stmt *begin, *commit, *rollback; /* owned */
    struct io_file file;
    char *dir, *path, *scope; /* owned */
    uint64_t scope_hash, epoch, txid;
    struct db_position base;
    uint32_t page_size;
    uint32_t commit_pages; /* Size at the last captured commit. */
    uint64_t size; /* Of the file. */
    /* What the file got since the last commit. A transaction that was rolled back after SQLite's cache
     * overflowed leaves pages here: its free pages are not what they were, which matters to nobody but to
     * those who compare. */
    struct ltx_builder written;
    uint64_t written_max; /* DB_SEGMENT_MAX; tests have less patience. */
    /* A write was refused for lack of room: SQLite rolls back now, and those writes must go through. */
    bool refused;
    bool too_big; /* The open transaction, or the one that ended last. */
    bool dirty; /* The open transaction has written to the file. */
    bool committing; /* Inside db_commit: only there a transaction may commit. */
    bool broken;
    bool alarm_changed;
    struct db_alarm alarm;
    struct db_image *image; /* That reads the file meanwhile, or NULL. */
    int (*fault)(void *arg, struct db *d, uint32_t pgno);
    uint64_t *absent; /* owned. A bit for each page of the base that is not in the file yet; NULL: none. */
    uint32_t absent_pages; /* How many bits it has. */
    unsigned faults_failed; /* One after another. */
    void (*on_commit)(void *arg, struct db_commit *c);
    void *arg;
};

/* db/image.c: a page, or all behind a size, is about to change; the database is about to be closed. */
void db_image_before_write(struct db_image *i, uint32_t pgno);
void db_image_before_truncate(struct db_image *i, uint32_t pages);
void db_image_detach(struct db_image *i);

/* db/paged.c */
void db_paged_init(struct db *d); /* All but page 1 are absent. */
/* Before SQLite reads bytes: brings the pages they lie in. SQLite's code. */
int db_paged_read(struct db *d, uint64_t at, size_t len);
void db_paged_present(struct db *d, uint32_t from, uint32_t to); /* Written, or cut off. */

void db_vfs_init(struct db_host *h);
/* "<dir>/<name>" as a C string in out, which is emptied first. */
const char *db_path(struct cd_buf *out, const char *dir, const char *name);
/* Appends to why what failed, for SQLite's and for our codes, and returns one of ours. */
int db_fail(struct db *d, const char *what, int rc, struct cd_buf *why);

#endif
