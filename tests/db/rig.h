/* tests/db/rig.h: a database on the simulator's disk, and a copy made of nothing but its segments. */
#ifndef TESTS_DB_RIG_H
#define TESTS_DB_RIG_H

#include "base/rng.h"
#include "db/db.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define RIG_SCOPE "Counter:a"
#define RIG_ROWS_MAX 4096

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct db_host *host;
    struct db *db;
    uint32_t page_size, cache_pages;
    int (*fault)(void *arg, struct db *d, uint32_t pgno); /* For db_open, with the rig as arg. */
    struct cd_buf copy; /* The file as the segments say. */
    struct cd_buf row[RIG_ROWS_MAX]; /* All segments. */
    unsigned rows;
    struct db_commit last; /* Without its bytes. */
};

void rig_init(struct rig *r, uint64_t seed);
void rig_deinit(struct rig *r);
int rig_try_open(struct rig *r, uint64_t epoch, struct db_position base, struct cd_buf *why);
void rig_open(struct rig *r, uint64_t epoch, struct db_position base); /* In /d/e<epoch>. */
const char *rig_dir(uint64_t epoch, char out[32]);
int rig_try(struct rig *r, const char *sql); /* SQLite's code. */
void rig_sql(struct rig *r, const char *sql); /* Inside of a transaction, or reading. */
void rig_commit(struct rig *r);
void rig_txn(struct rig *r, const char *sql); /* begin, sql, commit. */
int64_t rig_int(struct rig *r, const char *sql);
/* Whether the file is, byte for byte, what the segments made. */
void rig_same(struct rig *r, uint64_t epoch);

#endif
