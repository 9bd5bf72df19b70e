/* tests/log/world.h: a node with a log on the simulator, and observers that know the truth (fleet.md 11.4).
 *
 * Shards commit rows of their cells, some too large for a batch, and reset cells; the bucket has faults;
 * somebody may seal the session, the node may die. The observers look at the bucket itself and at each proof
 * when it arrives. The first broken rule is kept. */
#ifndef TESTS_LOG_WORLD_H
#define TESTS_LOG_WORLD_H

#include "fixture.h"

#include "base/map.h"
#include "base/rng.h"
#include "io_sim/sim_store.h"
#include "log/log.h"

#define WORLD_LOOPS 3u
#define WORLD_CELLS 4u /* Per shard. */

struct world_opts {
    uint64_t seed;
    unsigned pipeline; /* 0: drawn */
    uint64_t target_bytes; /* 0: 2000 */
    unsigned rows_per_s; /* Per shard; 0: 60 */
    uint64_t for_ns; /* 0: 8 s */
    bool faults, seal, crash, resets, large; /* What the run has. */
    uint64_t late_ns; /* Some slots land so late; 0: none beside what faults has. */
    bool blind_folder; /* What the folder gets is not judged. */
};

struct world_row { /* What was handed over. */
    char scope[32];
    uint64_t epoch, txid;
    size_t len;
    uint64_t slot; /* Where the bucket has it; 0: nowhere. */
    bool apart;
    uint8_t id[LOG_ID_SIZE];
    bool acked, in_doubt, dropped, folded;
};

struct world_cell {
    char scope[32];
    uint64_t epoch, txid;
};

struct world_shard {
    struct world *w;
    struct io *io;
    struct log_feed *feed; /* NULL: none, or closing. */
    struct world_row **row; /* By number - 1. */
    size_t rows, cap;
    uint64_t acked;
    struct world_cell cell[WORLD_CELLS];
    struct cd_rng rng;
    bool ended;
    struct io_msg start;
};

struct world {
    struct world_opts opts;
    struct sim *sim;
    struct sim_node *node;
    struct cd_rng rng;
    struct log *log;
    struct world_shard shard[WORLD_LOOPS];
    struct cd_map row; /* owned: "scope/epoch/txid" to struct world_row */
    /* The bucket. */
    bool opened; /* The record is. */
    uint64_t prefix, prefix_batch; /* Unbroken row of slots of the session. */
    uint64_t sealed; /* Slot of the foreign seal; 0: none. */
    uint64_t puts; /* Slot objects that came to be. */
    /* The node. */
    uint64_t folded_batch;
    bool quiet, fenced, published_seal, crashed, ended;
    uint64_t seal_slot; /* As published. */
    int seal_status;
    struct io_signal publishing;
    struct io_timer publish_timer;
    unsigned publish_fails;
    bool publish_seal;
    uint64_t publish_slot;
    /* The verdict. */
    const char *broken; /* The rule; NULL: none. */
    struct cd_buf why; /* owned */
};

/* Runs to the end, the graceful one where nothing stands against it. Then w->broken, and what else one wants
 * to know. */
void world_run(struct world *w, const struct world_opts *opts);
void world_deinit(struct world *w);
void world_break(struct world *w, const char *rule, const char *format, ...) CD_PRINTF(3, 4);

/* world_truth.c */
void world_stored(void *arg, const struct sim_store_change *change);
void world_event(void *arg, const struct sim_record *r); /* Judges the proofs that have come. */
void world_folded(struct world *w, struct log_durable *d);
void world_audit(struct world *w); /* At the end. */
struct log_row *world_row_new(struct world_shard *s, struct world_cell *c, size_t len);
void world_dropped(struct world_shard *s, const struct world_cell *c, uint64_t cut_txid);

#endif
