/* log/batch.h: a batch: rows of many cells that were cut together, as bytes (fleet.md 2.10).
 *
 * A batch is serialised once, when it is cut; the same bytes go into its slot and to followers. Pure. */
#ifndef LOG_BATCH_H
#define LOG_BATCH_H

#include "log/row.h"

#define LOG_BATCH_BYTES_MAX (64u << 20)

/* Writing: begin, one row after the other, end. */
struct log_batch_out {
    struct cd_buf *to; /* Appended to. */
    size_t start; /* Of the batch in to. */
    struct cd_buf table; /* owned, until end */
    uint32_t rows;
};
/* log_epoch 0: not handed to an ensemble; then first_batch is 0 too. */
void log_batch_begin(struct log_batch_out *o, struct cd_buf *to, struct cd_str session, uint64_t batch,
                     uint64_t log_epoch, uint64_t first_batch);
/* Sets row->length, and row->offset to where the segment lies in o->to (0 for other kinds). */
void log_batch_add(struct log_batch_out *o, struct log_row *row);
void log_batch_end(struct log_batch_out *o, uint8_t digest[LOG_SHA256_SIZE]);
/* What a batch weighs beside its segments, at most. */
size_t log_batch_overhead(size_t rows);

/* Reading: everything is checked by open; walking cannot fail then. Borrows the bytes. */
struct log_batch {
    struct cd_str session;
    uint64_t batch, log_epoch, first_batch;
    uint32_t rows;
    uint8_t digest[LOG_SHA256_SIZE];
    struct cd_str bytes; /* The whole batch. */
    struct cd_str table; /* The entries alone. */
};
struct log_entry {
    struct cd_str cell;
    uint64_t epoch, min_txid, max_txid;
    enum log_row_kind kind;
    struct log_alarm alarm;
    uint64_t length; /* Of the segment. */
    struct cd_str ltx; /* LOG_ROW_BYTES: the segment; else empty. */
    uint8_t id[LOG_ID_SIZE], sha256[LOG_SHA256_SIZE]; /* LOG_ROW_APART. */
};
/* bytes are exactly one batch. CD_ECORRUPT with what is wrong in why (may be NULL). */
CD_MUST_USE int log_batch_open(struct log_batch *b, struct cd_str bytes, struct cd_buf *why);
/* Takes the next entry off the front of rest, which starts as b->table. False: that was the last. */
bool log_batch_next(const struct log_batch *b, struct cd_str *rest, struct log_entry *e);

#endif
