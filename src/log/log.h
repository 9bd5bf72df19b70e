/* log/log.h: the node log of this session: its leader, on the control loop (fleet.md 6.2, 6.3, 9.3).
 *
 * Rows of all feeds are cut into batches and stored as slots by conditional create, at most `pipeline` at
 * once. A batch is durable when its slot and all lower ones are known to be stored (the prefix rule); then
 * its rows go to the folder and their shards hear of it. A slot that holds anything but our own object means
 * that somebody sealed the session: that is a fence, and the end. With an ensemble of followers batches are
 * proven by their disks, and slots follow lazily (6.6). All calls are made on the control loop and none
 * blocks, but for log_ensemble. */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include "log/feed.h"
#include "log/health.h"

#define LOG_PIPELINE_MAX 64u
#define LOG_TARGET_BYTES (8u << 20) /* Of a batch, of a slot; a larger row is stored apart. */
#define LOG_WAITING_BYTES (64u << 20) /* Waiting rows beyond this are worth a warning. */
#define LOG_UNPROVEN_BYTES (256u << 20) /* Rows beyond this that are not proven: no new events (5.6). */

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
    uint64_t unproven_bytes; /* 0: LOG_UNPROVEN_BYTES; tests make it small. */
    uint64_t flush_ns; /* CELLD_LOG_FLUSH_MS: how long a batch that followers can prove stays un-slotted. */
    uint64_t window, window_bytes; /* Backlog at which cutting waits; 0: 8192, 64 MiB. */
    struct log_health_opts health; /* When a follower is replaced. */
    const struct log_peers *peers; /* NULL: there is no ensemble, ever. Outlives the log. */
    /* The ensemble is given up for it, with whichever of its members this is. May be NULL. */
    void (*member_evicted)(void *arg, const char *node, enum log_evict why);
    void *arg;
    /* Puts the log record into the session's own lease (6.2). Ends with IO_OK when the CAS was applied,
     * CD_EFENCED when the lease is lost; after anything else the leader asks again (open) or leaves the log
     * open (sealed). */
    void (*publish)(void *arg, const struct store_log_record *r, struct io_op *op, io_done_fn *done);
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
    uint64_t proven_batch; /* By the bucket or by followers. */
    uint64_t log_epoch; /* Of the ensemble that is active; 0: none is. */
    uint64_t backlog_batches, backlog_bytes; /* Cut and not durable yet. */
    bool opened; /* The record is published: slots may exist. */
    bool fenced;
};
void log_numbers(const struct log *l, struct log_numbers *out);

/* In a fiber, one at a time: names another ensemble in the record and ships to it from the next batch on. The
 * one before is given up, whatever comes of this. IO_OK; CD_EFULL: the bucket does not have yet all that the
 * last one credited, ask again; CD_ECLOSED: the log is not open; or a status of the publication. */
CD_MUST_USE int log_ensemble(struct log *l, const struct log_peer *member, unsigned count);
void log_degrade(struct log *l); /* Credits nothing to the ensemble any more. */

/* The last batch that is proven. Those up to it go into slots now, where they waited for their turn. */
uint64_t log_want_stored(struct log *l);

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
