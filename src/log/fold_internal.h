/* log/fold_internal.h: what the files of the folder share: fold.c (rows in, triggers, requests), fold_cell.c
 * (one cell's rows to its prefix), floor.c (the floor, its checkpoints, what goes below it). */
#ifndef LOG_FOLD_INTERNAL_H
#define LOG_FOLD_INTERNAL_H

#include "log/alarms.h"
#include "log/fold.h"
#include "log/log.h"

/* A slot above the floor, or below it and not deleted yet. */
struct fold_slot {
    uint64_t slot, last_batch;
    uint64_t unfolded; /* Rows that are in no per-cell object yet. */
    struct cd_buf apart; /* owned: the ids of the rows/ objects it names, LOG_ID_SIZE bytes each */
};

/* The unfolded rows of one epoch of one cell. */
struct fold_cell {
    char *scope; /* owned */
    uint64_t epoch;
    struct cd_list rows; /* struct log_row.link, in txid order; owned */
    uint64_t count, bytes;
    uint64_t since_ns; /* How long the oldest of them has waited, at least. */
    struct cd_link dirty; /* Of folder.dirty: by since_ns. */
    struct cd_link ready; /* Of folder.ready, when it waits for a place. */
    struct cd_list calls; /* struct log_fold_call.link */
    bool busy; /* A fiber folds it: */
    struct io_fiber *fiber;
    struct log_folder *folder;
};

struct log_fold_call {
    struct io_msg msg;
    struct cd_link link;
    struct log_folder *folder;
    struct log_fold *w; /* Of the asking loop; NULL: it was cancelled. */
    unsigned loop;
    char *scope; /* owned */
    uint64_t epoch, upto;
    uint64_t batch; /* Of held: its rows have all come with this one. */
    int status;
};

struct log_folder {
    struct io *io;
    struct io_bucket *bucket;
    char session[STORE_SESSION_MAX + 1];
    uint64_t fold_ms;
    struct log_folder_limits limits;
    void (*fence)(void *arg, const char *cause);
    uint64_t (*stored)(void *arg);
    void (*folded)(void *arg, struct cd_str scope, uint64_t epoch, uint64_t max_txid, uint64_t bytes);
    void *arg;

    struct cd_map cells; /* Of struct fold_cell, by scope and epoch. */
    struct cd_list dirty, ready;
    struct cd_list held; /* struct log_fold_call.link: proven rows of theirs are not in a slot yet */
    unsigned folding; /* Cells that have a fiber. */
    uint64_t rows, bytes, cached; /* Unfolded; cached: of these in memory. */
    struct io_timer age; /* The oldest row's. */
    struct io_signal progress; /* A cell got on, or the folder is closing. */
    bool finishing; /* Every cell is folded at once. */
    bool closing;
    bool stopped; /* The loop ends: nothing new begins. */
    unsigned fibers; /* Alive. */
    struct io_fiber *floor_fiber;
    struct io_op *closed; /* Ends when the last of them has. */

    struct cd_map slots; /* Of struct fold_slot, by number: those not deleted. */
    struct log_alarms alarms; /* The durable index (8.2), as of durable_batch. */
    uint64_t durable_slot, durable_batch;
    struct store_floor floor; /* As it was last applied. */
    char floor_token[IO_TOKEN_MAX]; /* Empty: floor.json is not there yet. */
    uint64_t checkpoints; /* Alarm checkpoints written, or maybe written. */
    uint64_t checkpoints_needed; /* From here on: the applied floor's, and those of attempts behind it. */
    uint64_t checkpoints_gone; /* Up to here they are deleted. */
    uint64_t checkpoint_ns; /* Not before, the next one. */
    struct io_signal floor_wanted;
    bool fenced;
};

/* fold_cell.c: a fiber. Folds what the cell has now, then asks fold.c for more. */
void log_fold_cell_flow(void *cell);
/* fold.c: row is in a per-cell object; frees it. */
void log_fold_row_done(struct log_folder *f, struct fold_cell *c, struct log_row *row);
void log_fold_cell_done(struct log_folder *f, struct fold_cell *c, uint64_t started_ns);
void log_fold_fiber_ended(struct log_folder *f);
/* fold.c: the key of an epoch of a cell in an ordered map. */
void log_cell_key(struct cd_buf *out, struct cd_str scope, uint64_t epoch);

/* floor.c: the fiber of the floor. */
void log_floor_flow(void *folder);
/* The slot up to which every row is folded, as far as D; the floor's own when there is no more. */
uint64_t log_floor_reach(const struct log_folder *f);

/* packs.c. In a fiber: writes items as packs of session, at most 8 at once. Sorts items. */
CD_MUST_USE int log_packs_write(struct io *io, struct io_bucket *bucket, struct cd_str session,
                                struct store_alarm *items, size_t count, uint64_t *packs);

#endif
