/* log/log.h: the node log of this session: its leader, on the control loop (fleet.md 6.2, 6.3, 9.3).
 *
 * Rows of all feeds are cut into batches and stored as slots by conditional create, at most `pipeline` at
 * once. A batch is durable when its slot and all lower ones are known to be stored (the prefix rule); then
 * its rows go to the folder and their shards hear of it. A slot that holds anything but our own object means
 * that somebody sealed the session: that is a fence, and the end. Bucket proofs only: there are no followers
 * yet, batches carry log epoch 0. All calls are made on the control loop and none blocks. */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include "log/feed.h"

#define LOG_PIPELINE_MAX 64u
#define LOG_TARGET_BYTES (8u << 20) /* Of a batch, of a slot; a larger row is stored apart. */
#define LOG_WAITING_BYTES (64u << 20) /* Waiting rows beyond this are worth a warning. */

/* A batch that became durable. Batches come in order, each once. */
struct log_durable {
    uint64_t slot, batch;
    struct cd_list rows; /* struct log_row.link, in cut order; the receiver takes and frees them. */
};

struct log_opts {
    struct io *io;
    struct io_bucket *bucket;
    struct cd_str session; /* "<node>/<generation>"; copied. */
    unsigned pipeline; /* P, 1..LOG_PIPELINE_MAX */
    uint64_t target_bytes; /* 0: LOG_TARGET_BYTES; tests make it small. */
    void *arg;
    /* Puts the log record into the session's own lease (6.2): state open, or sealed with the slot of the
     * seal. Ends with IO_OK when the CAS was applied, CD_EFENCED when the lease is lost; after anything else
     * the leader asks again (open) or leaves the log open (sealed). */
    void (*publish)(void *arg, bool sealed, uint64_t seal, struct io_op *op, io_done_fn *done);
    /* Once, at most: "node_log_sealed_fence". The node fences itself (4.2). */
    void (*fence)(void *arg, const char *cause);
    void (*durable)(void *arg, struct log_durable *d);
};

struct log *log_new(const struct log_opts *opts);
/* Publishes the record now; else the first row does. */
void log_open(struct log *l);

/* Where the log stands: for the lease (slot), the folder and /state. */
struct log_numbers {
    uint64_t next_batch, next_slot, durable_slot, durable_batch;
    uint64_t backlog_batches, backlog_bytes; /* Cut and not durable yet. */
    uint64_t waiting_rows, waiting_bytes; /* Not cut yet, those that are stored apart included. */
    bool opened; /* The record is published: slots may exist. */
    bool fenced;
};
void log_numbers(const struct log *l, struct log_numbers *out);

/* Ends with IO_OK when no row waits and every batch is durable: at once when that holds already. CD_EFENCED.
 */
void log_flush(struct log *l, struct io_op *op, io_done_fn *done);
/* The graceful seal (9.3), once: no row is cut from now on. The caller has flushed the log, folded every row
 * above the floor, written its packs, and hands no more rows over. Creates our own seal in the first free
 * slot and publishes the record. IO_OK: sealed, or never opened, so there was nothing to seal. Anything else:
 * the log stays open for a successor to recover, which is always safe. */
void log_seal(struct log *l, struct io_op *op, io_done_fn *done);
/* Cancels what is in flight, waits until all feeds are closed, and frees l when done comes. Seals nothing. */
void log_close(struct log *l, struct io_op *op, io_done_fn *done);

#endif
