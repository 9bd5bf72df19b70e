/* log/fold.h: the folder of this session: turns durable rows into per-cell objects, moves the floor behind
 * them, deletes the slots below it, and keeps the durable index of alarms (fleet.md 6.7, 7.7, 8.2, 8.4).
 *
 * It lives on the control loop. What it is given is proven (the leader's durable hook), so it never writes a
 * row that no proof covers. Nobody waits for it but those who ask with log_fold: no acknowledgement does. */
#ifndef LOG_FOLD_H
#define LOG_FOLD_H

#include "io/io.h"
#include "store/wake.h"

struct log_durable; /* log/log.h */
struct log_folder;

/* Zero in any of them: the constant of fleet.md Appendix D. For tests. */
struct log_folder_limits {
    uint64_t cell_bytes, cell_rows; /* Unfolded rows of a cell that start a fold. */
    uint64_t range_bytes; /* Of one object, unless it is one larger row. */
    uint64_t cache_bytes; /* Row bytes in memory; beyond it they are read back from their slots. */
    uint64_t total_bytes, slots; /* Unfolded bytes of the node, slots above the floor: beyond them the cells
                                    in the oldest slots are folded first. */
    unsigned uploads; /* Cells folded at once. */
};

struct log_folder_opts {
    struct io *io; /* The control loop. */
    struct io_bucket *bucket;
    struct cd_str session; /* Copied. */
    uint64_t fold_ms; /* CELLD_LOG_FOLD_MS */
    struct log_folder_limits limits;
    /* Once, at most: a recoverer froze the floor, so this session is dead to the others. */
    void (*fence)(void *arg, const char *cause);
    /* The last batch that is proven by now (log_want_stored): log_folder_durable tells of it soon, if it has
     * not. NULL: what is proven was always told of. */
    uint64_t (*stored)(void *arg);
    /* An object of so many bytes was stored: the cell's rows up to max_txid stand in its prefix. NULL: nobody
     * wants to know. */
    void (*folded)(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes);
    void *arg;
};

struct log_folder *log_folder_new(const struct log_folder_opts *o);
/* For /state. */
struct log_folder_numbers {
    uint64_t floor; /* The slot. */
    uint64_t unfolded_bytes, armed_alarms;
};
void log_folder_numbers(const struct log_folder *f, struct log_folder_numbers *out);
/* What log_opts.durable is to call. Takes the rows out of d. */
void log_folder_durable(struct log_folder *f, struct log_durable *d);
/* In a fiber of the control loop, when no row follows any more (9.3): folds every row, then writes the packs
 * of the cells that are armed. IO_OK: nothing of this session is missing in the prefixes or in wake/, so the
 * log may be sealed. Else it must be left open; why (may be NULL) says what was missing. */
CD_MUST_USE int log_folder_finish(struct log_folder *f, struct cd_buf *why);
/* Cancels what is in flight and frees f when done comes. No log_fold is in flight. */
void log_folder_close(struct log_folder *f, struct io_op *op, io_done_fn *done);

/* On any loop of the node: folds the cell's rows up to upto. Every row of it up to there is proven before the
 * call (log_feed_proven); then it ends with IO_OK once the prefix of the epoch reaches upto, at once when it
 * does. With upto 0 there is nothing to do. Ends with IO_CANCELED only when the folder closes or when it was
 * cancelled: then the rows stay the folder's duty. */
struct log_fold {
    struct io_op op;
    const char *scope; /* In; stays until done. */
    uint64_t epoch, upto; /* In. */
    struct log_fold_call *call; /* The folder's. */
};
void log_fold(struct log_folder *f, struct io *from, struct log_fold *w, io_done_fn *done);

/* On any loop, like the rest of its cell's messages in order: this session answers for an armed alarm that a
 * restore found (8.2). What a row or note says later replaces it. */
void log_folder_alarm(struct log_folder *f, struct io *from, const struct store_alarm *a);
/* The cell was released at epoch, and its alarm is answered for by an entry or by a successor, or is not
 * armed: the duty ends. */
void log_folder_released(struct log_folder *f, struct io *from, struct cd_str scope, uint64_t epoch);

#endif
