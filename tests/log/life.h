/* tests/log/life.h: a session from its first row to its end, on the simulator, and observers that know the
 * truth (fleet.md 11.4): what the folder and recovery do to a bucket.
 *
 * The leader is played: its slots are conditional creates of a node of the run, late, lost and in any order
 * within the pipeline. The folder and the recoverers are the real ones. Somebody kills the session, or takes
 * it for dead while it lives. The first broken rule is kept. */
#ifndef TESTS_LOG_LIFE_H
#define TESTS_LOG_LIFE_H

#include "fixture.h"

#include "base/map.h"
#include "base/rng.h"
#include "io_sim/sim_store.h"
#include "log/fold.h"
#include "log/log.h"
#include "log/recover.h"
#include "ltx/ltx.h"

#define LIFE_CELLS 5u
#define LIFE_PAGE 512u
#define LIFE_RACERS 2u

struct life_opts {
    uint64_t seed;
    unsigned slots; /* Before it is over; 0: 24 */
    bool faults; /* Of the bucket, from the start to the time when all is over. */
    bool zombie; /* It is taken for dead while it lives. */
    bool graceful; /* It closes in order instead. */
    bool racers; /* Two recoverers at once. */
    bool crashes; /* Recoverers die in the middle and start again. */
    bool holes; /* The leader dies with slots stored above one that is not. */
    bool large; /* Some rows are objects of their own. */
    bool lost, rotten; /* A stored slot is missing, or has a wrong byte, until somebody has complained. */
    bool unfolded; /* The folder has done nothing when it is over. */
    bool listless; /* The first listing of the log fails. */
    bool silent; /* It never opens its log. */
    bool stale; /* Listed floors and slots of long ago: late requests are very late. */
};

struct life_row {
    char scope[32];
    uint64_t epoch, txid, slot, batch;
    bool note, first, apart;
    uint8_t id[LOG_ID_SIZE];
    struct log_alarm alarm;
};

struct life_cell {
    char scope[32];
    uint64_t epoch, txid, base_epoch, base_txid;
    bool fresh; /* No row of the epoch yet. */
    uint64_t slot; /* Of its last row. */
    struct log_alarm alarm;
};

struct life_slot {
    struct life *l;
    struct cd_buf key, body;
    struct io_store put;
    uint64_t slot, batch;
    bool busy, stored, lost;
    struct log_row *row[16]; /* For the folder. */
    size_t rows;
};

struct life {
    struct life_opts opts;
    struct sim *sim;
    struct sim_node *leader, *racer[LIFE_RACERS];
    struct cd_rng rng;
    struct ltx_zstd *zstd;
    struct life_cell cell[LIFE_CELLS];
    struct life_row *row;
    size_t rows, cap;
    struct life_slot *slot[512]; /* By number; 0 is not used. */
    uint64_t cut, durable, batches;
    struct log_folder *folder;
    bool fenced, dead, finished, over;
    /* Of the bucket: */
    uint64_t seal; /* 0: none yet. */
    bool sealed; /* The record says so. */
    uint64_t floor;
    bool stored[512]; /* Slots that were there, once. */
    uint64_t harmed; /* The slot that is missing or rotten now; 0: none. */
    unsigned refusals, checkpoints; /* Of recovery. */
    struct racer {
        struct life *l;
        struct sim_node *node;
        struct log_recoverer *rr;
        unsigned n;
        bool done;
        enum log_recover_end end;
        char why[320];
    } of[LIFE_RACERS];
    const char *broken; /* The rule; NULL: none. */
    struct cd_buf why;
};

void life_run(struct life *l, const struct life_opts *opts);
void life_deinit(struct life *l);
void life_break(struct life *l, const char *rule, const char *format, ...) CD_PRINTF(3, 4);

/* life_truth.c */
void life_changed(void *arg, const struct sim_store_change *change);
uint64_t life_covered(struct life *l, const char *scope, uint64_t epoch);
void life_audit(struct life *l); /* When all is over. */

#endif
