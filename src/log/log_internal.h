/* log/log_internal.h: what the files of the leader share.
 *
 * log.c cuts and ends, carry.c brings slots to the bucket as the machine (leader.h) says, apart.c stores
 * large rows, lane.c talks with the shards. A row is in exactly one place: in waiting, in an apart (as its
 * row or behind it), or in the carrier of its slot until that is durable. */
#ifndef LOG_LOG_INTERNAL_H
#define LOG_LOG_INTERNAL_H

#include "base/map.h"
#include "log/leader.h"
#include "log/slot.h"

struct carrier { /* A slot on its way; that of slot n is at n % LOG_PIPELINE_MAX. */
    struct log *log;
    uint64_t slot, batch, op;
    uint8_t id[LOG_ID_SIZE];
    struct cd_buf key, bytes; /* owned */
    struct cd_list rows; /* owned: struct log_row.link */
    uint64_t oldest_ns, cut_ns;
    unsigned row_count, sends;
    struct io_store store;
    struct io_timer timer;
};

struct lane { /* What the leader knows of a shard. */
    struct log_feed *feed; /* NULL: none yet, or closed. */
    struct cd_buf marks; /* owned: a byte per row from proven + 1 on: 1 it is proven or dropped. */
    size_t gone; /* So many marks at the front are of rows up to proven. */
    uint64_t proven, told;
};

struct log {
    struct log_opts opts;
    struct io *io;
    struct cd_buf session; /* owned */
    struct log_leader leader;
    struct carrier carrier[LOG_PIPELINE_MAX];
    uint64_t told_slot; /* Up to here the folder and the shards know. */
    struct cd_list waiting; /* owned: rows that may be cut, in the order they came. */
    struct cd_map apart; /* owned: scope to struct apart, for cells whose next row is being stored apart. */
    struct cd_list detached; /* struct apart of dropped rows that still end. */
    uint64_t waiting_rows, waiting_bytes; /* Also those apart. */
    bool full; /* It was said that too much waits. */
    struct lane *lane; /* owned: per loop */
    unsigned lanes;
    struct io_op pump, publish;
    struct io_timer open_timer;
    uint64_t open_op;
    struct io_signal flushed, sealed, closed;
    bool ending; /* log_seal was called. */
    bool closing;
    unsigned busy; /* Ops and fibers of ours that have not ended, and open feeds. */
};

/* log.c */
void log_step(struct log *l, const struct log_event *e); /* An event of the machine, and what it asks for. */
void log_pump(struct log *l); /* Looks at the next turn whether something can be cut or told. */
void log_row_ready(struct log *l, struct log_row *row); /* May be cut now. */
void log_ended(struct log *l); /* One less busy. */
static inline struct cd_str log_session(const struct log *l)
{
    return cd_buf_str(&l->session);
}
static inline uint64_t log_target(const struct log *l)
{
    return l->opts.target_bytes != 0 ? l->opts.target_bytes : LOG_TARGET_BYTES;
}

/* carry.c */
void log_carry(struct carrier *c, const struct log_action *a);
void log_carrier_free(struct carrier *c);
void log_carrier_repack(struct carrier *c, bool more); /* log.c; wrong, and planted. */

/* apart.c */
void log_take(struct log *l, struct log_row *row); /* A row has come. */
/* Drops the cell's rows of the epoch that are not in waiting; told of each. */
void log_apart_drop(struct log *l, struct cd_str scope, uint64_t epoch,
                    void (*dropped)(void *arg, struct log_row *row), void *arg);
void log_apart_cancel(struct log *l);

/* lane.c */
void log_lane_done(struct log *l, unsigned loop, uint64_t seq); /* Proven, or dropped. */
void log_lanes_tell(struct log *l);
void log_lanes_lost(struct log *l);
/* Handlers of what a feed posts. */
void log_lane_open(struct io *at, struct io_msg *m);
void log_lane_row(struct io *at, struct io_msg *m);
void log_lane_drop(struct io *at, struct io_msg *m);
void log_lane_close(struct io *at, struct io_msg *m);

/* feed.c: a feed as both sides see it. The control loop reads log and loop only, which do not change. */
struct log_feed {
    struct log *log;
    struct io *io;
    unsigned loop;
    uint64_t last, proven;
    bool lost, closing;
    struct cd_list waits; /* struct io_op.link of struct log_wait, ascending by seq */
    unsigned drops; /* Under way. */
    struct io_msg msg, bye; /* Of opening, of closing. */
    struct io_signal closed;
};
/* Posts what a lane knows to its feed. */
void log_feed_tell(struct io *control, struct log_feed *f, uint64_t proven, bool lost);
void log_feed_dropped(struct io *at, struct io_msg *m);
void log_feed_closed(struct io *at, struct io_msg *m);

#endif
