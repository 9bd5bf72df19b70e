/* log/recover.h: makes a dead session finished: its history complete in the per-cell prefixes, its alarms in
 * packs, its record sealed (fleet.md 7.1 to 7.6). In fibers of the control loop.
 *
 * Any number of processes may recover one session at the same time, and each may stop anywhere: every step is
 * a CAS, a conditional create, or a plain PUT of bytes that are the same whoever writes them. What is missing
 * or corrupt is named and stops the recovery; it is never skipped. Where the record says that followers may
 * have acknowledged writes, they are sealed first, and one of them that has everything is the witness of what
 * only they hold. */
#ifndef LOG_RECOVER_H
#define LOG_RECOVER_H

#include "io/io.h"
#include "log/peers.h"
#include "store/records.h"

enum log_recover_mode {
    LOG_RECOVER_SWEEP, /* Maintenance: does not wait for another recoverer. */
    LOG_RECOVER_TAKEOVER, /* A cold route waits for it. */
    LOG_RECOVER_BOOT, /* The predecessor of this node id: waits for the expiry of a lease that still lives. */
};
enum log_recover_end {
    LOG_RECOVER_FINISHED, /* For ever. */
    LOG_RECOVER_ALIVE, /* Its lease is live: resolve the route again. */
    LOG_RECOVER_BUSY, /* Another recoverer is at it. */
    LOG_RECOVER_REFUSED, /* Only people can help; why names the object. */
    LOG_RECOVER_FAILED, /* Store or time; ask again (7.8). */
};
const char *log_recover_end_name(enum log_recover_end end);

/* The recoveries of this process: one per session at a time. */
struct log_recoverer;
struct log_recoverer_opts {
    struct io *io; /* The control loop. */
    struct io_bucket *bucket;
    struct cd_str session; /* Ours; copied. */
    bool sole; /* The bucket is private to this process: every other session is dead. */
    const _Atomic uint64_t *ahead_ms; /* Of our wall clock (4.4); NULL: 0. Outlives the recoverer. */
    uint64_t window_bytes; /* Of slots read at once; 0: 64 MiB. */
    unsigned page; /* Entries of a first listing of cells, which grows where it is of use; 0: 32. */
    const struct log_peers *peers; /* NULL: sessions that need their followers are refused. */
};
struct log_recoverer *log_recoverer_new(const struct log_recoverer_opts *o);
void log_recoverer_free(struct log_recoverer *r); /* No log_recover is in progress. */

struct log_recover {
    struct cd_str session; /* In: whose; borrowed until the call returns. */
    enum log_recover_mode mode; /* In */
    uint64_t deadline_ns; /* In: how long to wait for others (io_now_ns time). */
    /* Out */
    enum log_recover_end end;
    uint64_t seal; /* FINISHED by this call: the slot of the seal; 0: none, or it was finished before. */
    uint64_t rows, cells, packs; /* What this call wrote. */
    char why[320]; /* For people, when not FINISHED. */
};
/* In a fiber. IO_OK: end says what happened. IO_CANCELED: any part may have been done; the next one goes on.
 */
CD_MUST_USE int log_recover(struct log_recoverer *rr, struct log_recover *r);

/* In a fiber: whether a session whose lease is gone left batches in the bucket. Without any, and with its
 * seal as the only slot, it is finished (7.1). IO_OK, or why that cannot be known. */
CD_MUST_USE int log_remains(struct io *io, struct io_bucket *bucket, struct cd_str session, bool *batches);

/* In a fiber: deletes what a sealed session left in log/ and wake/sessions/, all but its seal and loss/
 * (7.6). The caller knows that session is sealed for ever: by its record (seal: the slot that it names, 0 for
 * none), or because a later session of its node id holds the lease (LOG_SEAL_LISTED: every seal object that
 * is found stays). IO_OK: a listing after it showed nothing left. */
#define LOG_SEAL_LISTED UINT64_MAX
CD_MUST_USE int log_clean(struct io *io, struct io_bucket *bucket, struct cd_str session, uint64_t seal);

#endif
