/* log/feed.h: what a shard sees of the node log (fleet.md 6.3, 6.8; architecture.md 5).
 *
 * One feed per loop that has cells. Every call is made on that loop and none blocks; rows travel to the
 * leader on the control loop as messages, proofs travel back. The rows of one feed become proven in the order
 * of their numbers as far as it tells: a row that is stored apart holds the number back. So one number says
 * it all: what may reveal row n leaves when log_feed_proven is n or more. */
#ifndef LOG_FEED_H
#define LOG_FEED_H

#include "log/row.h"

struct log;
struct log_feed;

/* On the shard's loop, once per loop and log. The log waits with its end for the feeds that it knows: the
 * message that tells it of this one is on its way when this returns. */
struct log_feed *log_feed_open(struct log *log, struct io *io);
/* Waits end with IO_CANCELED; f is freed when done comes. Rows handed over before stay in the log. */
void log_feed_close(struct log_feed *f, struct io_op *op, io_done_fn *done);

/* Hands over a row (owned from now on) and gives it the shard's next number, which it returns. Rows of a cell
 * come in commit order. The segment has at most IO_BODY_MAX bytes: a larger one never becomes proven. */
uint64_t log_feed_row(struct log_feed *f, struct log_row *row);
uint64_t log_feed_last(const struct log_feed *f); /* The number of the last row handed over; 0: none yet. */
uint64_t log_feed_proven(const struct log_feed *f); /* All rows up to here are proven, or were dropped. */
/* The node has more bytes of unproven rows than it may: new events of cells are refused until half of them is
 * proven (5.6). Rows are taken nevertheless. */
bool log_feed_full(const struct log_feed *f);
/* The session is lost (fenced): nothing becomes proven any more. The node ends itself. */
bool log_feed_lost(const struct log_feed *f);

struct log_wait {
    struct io_op op;
    uint64_t seq; /* In. */
};
/* Ends with IO_OK when log_feed_proven reaches w->seq (at the next turn when it has), with CD_EFENCED when
 * the session is lost, with IO_CANCELED when cancelled or when the feed closes. Waits end in the order of
 * seq. */
void log_feed_wait(struct log_feed *f, struct log_wait *w, io_done_fn *done);

/* A reset (4.9): the rows of the cell that are not cut yet are forgotten, those that are cut stay and become
 * history. Ends with IO_OK always (CD_EFENCED when lost: cut_txid is unchanged then). The dropped rows count
 * as proven for log_feed_proven, so the cell fails its own gates first. Once log_feed_proven reaches the
 * number of the cell's last row, all that was cut of it is proven. */
struct log_drop {
    struct io_op op;
    const char *scope; /* In; stays until done. */
    uint64_t epoch; /* In. */
    uint64_t cut_txid; /* In: max_txid of the last row handed over. Out: the highest txid that was cut. */
    struct io_msg msg; /* The feed's, as the rest. */
    struct log_feed *feed;
    int status;
};
void log_feed_drop(struct log_feed *f, struct log_drop *d, io_done_fn *done);

#endif
