/* log/follower.h: what this node keeps of other nodes' logs: the follower's store (fleet.md 6.4, 6.5, 7.3).
 *
 * On the control loop; every request is answered by a call in a fiber of the caller's. Requests about one
 * session are answered one after the other. What was confirmed is on the disk: the file and the directory
 * entry that leads to it were synced before the answer. After a restart nothing is appended before the
 * leader's lease was read again, and what the disk cannot show whole is never certified. */
#ifndef LOG_FOLLOWER_H
#define LOG_FOLLOWER_H

#include "io/io.h"

struct log_follower_opts {
    struct io *io; /* The control loop. */
    struct io_bucket *bucket;
    struct cd_str data_dir; /* Absolute and there; <data_dir>/peerlog is ours. Copied, as is node. */
    struct cd_str node; /* Our node id: whom a leader's lease has to name. */
    bool (*may)(void *arg); /* This process is authoritative and past its start: appends are taken. */
    void *arg;
};

struct log_follower;
struct log_follower *log_follower_new(const struct log_follower_opts *o);
void log_follower_free(struct log_follower *f); /* No call is in progress. */

/* In a fiber. The body of a POST to LOG_PATH_APPEND, LOG_PATH_SEAL, LOG_PATH_TAIL (log/peer_wire.h); what is
 * to be answered is appended to answer. Return the HTTP status: 200; 400 a body that is none, 503 not now
 * (append: this process may not), 500 the disk failed; with these answer is a text for people. IO_CANCELED:
 * nothing is to be answered. */
CD_MUST_USE int log_follower_append(struct log_follower *f, struct cd_str body, struct cd_buf *answer);
CD_MUST_USE int log_follower_seal(struct log_follower *f, struct cd_str body, struct cd_buf *answer);
CD_MUST_USE int log_follower_tail(struct log_follower *f, struct cd_str body, struct cd_buf *answer);

/* In a fiber, every ten minutes: gives up the batches of fragments that nobody will ask for any more: the
 * session is finished, or its leader has gone on to another ensemble (fleet.md 6.10). That they take no
 * appends stays on the disk for a day. Where the lease or a directory cannot be read, all is kept. IO_OK or
 * IO_CANCELED. */
CD_MUST_USE int log_follower_gc(struct log_follower *f);

#endif
