/* log/row.h: one committed transaction of one cell, as the node log carries it (fleet.md 1.1, 2.10).
 *
 * A row is made by the shard that committed it and handed to its feed (log/feed.h); from then on the log owns
 * it, and once its batch is durable the folder does. */
#ifndef LOG_ROW_H
#define LOG_ROW_H

#include "io/io.h"

#define LOG_ID_SIZE 16u
#define LOG_SHA256_SIZE 32u

enum log_row_kind {
    LOG_ROW_BYTES = 1, /* The segment lies in the batch. */
    LOG_ROW_APART = 2, /* The segment is the object log/<session>/rows/<id>. The leader makes these. */
    LOG_ROW_NOTE = 3, /* No segment, both txids 0: only tells the alarm state (8.2). */
};

/* The cell's alarm after the row. With the row's epoch it gives the installation identity (8.1). */
struct log_alarm {
    bool armed;
    int64_t due_ms; /* 0 when not armed; never negative. */
    uint64_t inst_seq;
};

struct log_feed;
struct log_row {
    struct cd_link link; /* Of the list it is in; the owner's. */
    char *scope; /* owned; store_scope_valid */
    uint64_t epoch, min_txid, max_txid;
    enum log_row_kind kind; /* In: LOG_ROW_BYTES or LOG_ROW_NOTE. */
    struct log_alarm alarm;
    struct cd_buf ltx; /* owned; empty for a note */
    /* The feed's: */
    uint64_t seq; /* Counts the rows of this shard from 1. */
    unsigned loop;
    struct log_feed *feed;
    /* The leader's, good from the moment the row is cut: */
    uint64_t batch, slot;
    uint64_t offset, length; /* Of the segment in the slot object, or of the object that it is (offset 0). */
    uint8_t id[LOG_ID_SIZE], sha256[LOG_SHA256_SIZE]; /* LOG_ROW_APART only. */
    struct io_msg msg;
    uint64_t came_ns; /* When the leader got it. */
};

/* A row of kind LOG_ROW_BYTES; the caller fills in txids, alarm and segment. */
struct log_row *log_row_new(struct cd_str scope, uint64_t epoch);
void log_row_free(struct log_row *r);
void log_rows_free(struct cd_list *rows); /* All of a list, by their link. */

#endif
