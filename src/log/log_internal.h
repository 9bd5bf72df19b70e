/* log/log_internal.h: what the files of the leader share.
 *
 * log.c is the log and its end, cut.c cuts batches and slots, carry.c brings slots to the bucket as the
 * machine (leader.h) says, ship.c sends batches to followers, apart.c stores large rows, lane.c talks with
 * the shards. A row is in exactly one place: in waiting, in an apart (as its row or behind it), or in its
 * batch until the slot of that is durable. A batch lives on until every follower that is to have it has it.
 */
#ifndef LOG_LOG_INTERNAL_H
#define LOG_LOG_INTERNAL_H

#include "base/map.h"
#include "log/leader.h"
#include "log/slot.h"

struct cut_batch { /* A batch that was cut. */
    uint64_t batch, log_epoch;
    struct cd_buf bytes; /* owned: what it is everywhere, in slots and at followers */
    uint8_t digest[LOG_SHA256_SIZE];
    struct cd_list rows; /* owned: struct log_row.link; empty from its slot's durability on */
    uint64_t weight, oldest_ns, cut_ns; /* When its oldest row came, when it was cut. */
    unsigned row_count;
};

struct carrier { /* A slot on its way; that of slot n is at n % LOG_PIPELINE_MAX. */
    struct log *log;
    uint64_t slot, op;
    uint64_t first, batch; /* Its batches. A seal: 0. */
    uint8_t id[LOG_ID_SIZE];
    struct cd_buf key, bytes; /* owned */
    uint64_t oldest_ns, cut_ns;
    unsigned row_count, sends;
    struct io_store store;
    struct io_timer timer;
    /* A PUT that is slow is sent a second time (6.3). What one of them came to is acted on when both are
     * over: the bytes are theirs until then. */
    struct io_store second;
    uint64_t sent_ns; /* The first of them. */
    bool puts, hedged, decided; /* puts: the first is under way; hedged: this slot had its second. */
    enum log_put put; /* decided: what it is. */
};

#define LOG_PACE_PUTS 64u /* The window of the median. */

struct lane { /* What the leader knows of a shard. */
    struct log_feed *feed; /* NULL: none yet, or closed. */
    struct cd_buf marks; /* owned: a byte per row from proven + 1 on: 1 it is proven or dropped. */
    size_t gone; /* So many marks at the front are of rows up to proven. */
    uint64_t proven, told;
    bool told_full;
};

struct log {
    struct log_opts opts;
    struct io *io;
    struct cd_buf session; /* owned */
    struct log_leader leader;
    struct carrier carrier[LOG_PIPELINE_MAX];
    struct cd_map batches; /* owned: struct cut_batch by number, from `kept` on */
    uint64_t kept; /* The oldest batch that is still needed. */
    struct cut_batch *spare; /* owned; so that a lone batch costs no memory */
    uint64_t told_batch, told_slot; /* Up to here the shards know, and the folder. */
    struct store_log_record record; /* As it was last published. */
    struct ship *ship; /* owned; NULL: no ensemble is being shipped to */
    struct log_health health; /* Of its members. */
    struct io_timer flush_timer;
    struct io_timer slow_timer; /* Runs while PUTs of slots are under way. */
    uint64_t put_ns[LOG_PACE_PUTS]; /* How long the last ones took that were applied. */
    uint64_t puts; /* All of these so far. */
    struct cd_list waiting; /* owned: rows that may be cut, in the order they came. */
    struct cd_map apart; /* owned: scope to struct apart, for cells whose next row is being stored apart. */
    struct cd_list detached; /* struct apart of dropped rows that still end. */
    uint64_t waiting_rows, waiting_bytes; /* Also those apart. */
    bool full; /* It was said that too much waits. */
    uint64_t unproven_bytes; /* Of all rows that came and are not proven. */
    bool refuses; /* Too many of them; until half is proven. */
    struct lane *lane; /* owned: per loop */
    unsigned lanes;
    struct io_op pump, publish, publish_acks, publish_ensemble;
    uint64_t acks_epoch; /* Of publish_acks. */
    struct io_signal named; /* publish_ensemble has ended. */
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

/* cut.c */
void log_cut_all(struct log *l); /* What may be cut now: batches, slots. */
void log_cut_repack(struct carrier *c, bool more); /* Wrong, and planted. */
struct cut_batch *log_batch_at(const struct log *l, uint64_t batch); /* NULL: it is not kept. */
void log_batches_drop(struct log *l); /* Frees those that nobody needs any more. */
void log_batches_deinit(struct log *l);

/* ship.c */
void log_ship_wake(struct log *l); /* Batches were cut, or the bucket has more of them. */
void log_ship_stop(struct log *l); /* Nothing is sent any more. */

/* carry.c */
void log_carry(struct carrier *c, const struct log_action *a);
void log_carrier_free(struct carrier *c);

/* apart.c */
void log_take(struct log *l, struct log_row *row); /* A row has come. */
/* Drops the cell's rows of the epoch that are not in waiting; told of each. */
void log_apart_drop(struct log *l, struct cd_str scope, uint64_t epoch,
                    void (*dropped)(void *arg, struct log_row *row), void *arg);
void log_apart_cancel(struct log *l);

/* lane.c */
void log_lane_done(struct log *l, const struct log_row *row); /* Proven, or dropped. */
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
    bool lost, full, closing;
    struct cd_list waits; /* struct io_op.link of struct log_wait, ascending by seq */
    unsigned drops; /* Under way. */
    struct io_msg msg, bye; /* Of opening, of closing. */
    struct io_signal closed;
};
/* Posts what a lane knows to its feed. */
void log_feed_tell(const struct log *l, struct log_feed *f, uint64_t proven, bool lost);
void log_feed_dropped(struct io *at, struct io_msg *m);
void log_feed_closed(struct io *at, struct io_msg *m);

#endif
