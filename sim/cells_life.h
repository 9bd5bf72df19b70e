/* sim/cells_life.h: one life of a node that serves cells, as `celld serve` puts one together: lease, log,
 * folder, recovery, waker and the endpoints for peers of src/fleet on the control loop, a shard of src/cell
 * and an HTTP server on each other loop. Its lease names its host and CELLS_PEER_PORT.
 *
 * Its cells run C (struct cell_code). Every call comes over HTTP: POST /Class/instance, the body is the
 * message, the cell's first message is the answer. A process that fences or cannot start says so (halted) and
 * is ended by whoever supervises it. */
#ifndef SIM_CELLS_LIFE_H
#define SIM_CELLS_LIFE_H

#include "base/buf.h"
#include "ltx/keep.h"

#define CELLS_PORT 81u
#define CELLS_PEER_PORT 82u /* Of the internal listener. */
#define CELLS_DATA_DIR "/d"
#define CELLS_LOOPS_MAX 4u

struct cell_code;
struct io;

/* What left a node: the answer of a cell, at the moment it is given to the server. */
struct cells_output {
    struct cd_str session, scope, text;
};

struct cells_life_opts {
    const char *node; /* Its id. Borrowed, like code. */
    unsigned loops;
    const struct cell_code *code;
    void *code_arg;
    uint64_t ttl_ms, waker_ms, fold_ms;
    uint64_t balance_ms; /* CELLD_REBALANCE_INTERVAL_MS */
    unsigned pipeline;
    bool sole;
    bool followers; /* CELLD_DURABILITY=fleet */
    uint64_t flush_ms, window, backstop_ns; /* CELLD_LOG_FLUSH_MS, _WINDOW, _EVICT_BACKSTOP_MS */
    uint64_t batch_bytes, fold_rows, fold_slots, fold_cache, fold_range; /* 0: as in production. */
    uint32_t page_size;
    unsigned releases; /* Handoffs at a time. */
    unsigned resident_max, requests_max, activations_max;
    uint64_t idle_ns, proof_ns, operation_ns;
    int64_t alarm_resident_ms;
    uint64_t high_mib; /* CELLD_MAX_RSS_MB */
    bool release; /* CELLD_PRESSURE_OWNERSHIP */
    struct ltx_keep keep;
    uint64_t cache_bytes;
    void (*halted)(void *arg, bool fenced, const char *why);
    void (*output)(void *arg, const struct cells_output *o);
    void *arg;
};

struct cells_life;
/* Copies opts. Made before its loops boot. */
struct cells_life *cells_life_new(const struct cells_life_opts *opts);
void cells_life_free(struct cells_life *l); /* After the node is dead. NULL is fine. */

/* Each loop of the node, at its boot and at the unwinding of its crash. */
void cells_life_boot(struct cells_life *l, struct io *io);
void cells_life_unwind(struct cells_life *l, struct io *io);

/* It has had its lease, and so its predecessor's log is sealed. */
bool cells_life_started(const struct cells_life *l);
/* On the control loop: serves no more, lets go of every cell, seals the log where it can. stopped follows. */
void cells_life_stop(struct cells_life *l, struct io *io);
bool cells_life_stopped(const struct cells_life *l);
/* Cells with code in memory. */
unsigned cells_life_residents(const struct cells_life *l);
/* The session of this life; empty before it has one. */
struct cd_str cells_life_session(const struct cells_life *l);

#endif
