/* cell/cell.h: the cells of a shard: who is in memory, who comes, who goes. fleet.md 4.3 to 4.12.
 *
 * A cell is one named object with a database. Its code is behind struct cell_code: V8 in a node, C in tests.
 * Everything here belongs to the loop of the shard; only cell_call and cell_wake_scope cross loops.
 *
 * A struct cell is good from code.start until cell_stopped returns. Between code.stop and cell_stopped only
 * accessors, cell_wire_close and cell_stopped may be called with it. */
#ifndef CELL_CELL_H
#define CELL_CELL_H

#include "cell/gate.h"
#include "cell/wire.h"
#include "io/io.h"
#include "ltx/keep.h"

struct cell_shard;
struct db;
struct fleet_self;
struct log;
struct log_folder;
struct storage;

enum cell_stop {
    CELL_STOP_EVICT, /* Idle, or memory is short, or the node stops: nothing runs. A clean close. */
    CELL_STOP_RESET, /* A failed proof, a fault of storage, cell_abort: memory is not to be trusted. */
    CELL_STOP_FENCE, /* The node may not serve any more. */
};

enum cell_alarm_end {
    CELL_ALARM_OK,
    CELL_ALARM_FAILED, /* Counts towards the limit of retries. */
    CELL_ALARM_EXCUSED, /* Budget overrun, abort: a retry that does not count. */
};

struct cell_alarm_run {
    int64_t scheduled_ms;
    unsigned retry_count;
};

/* What runs in cells. All calls come from the loop, outside of fibers; answers may come from inside them. */
struct cell_code {
    /* Makes the instance: constructor and all. Answer: cell_started. */
    void (*start)(void *arg, struct cell *c);
    /* A call. The wire's end is the code's: it attaches hooks and closes it. In order of arrival. */
    void (*open)(void *arg, struct cell *c, struct cell_wire *w);
    /* Runs the alarm handler. Answer: cell_alarm_done. */
    void (*alarm)(void *arg, struct cell *c, const struct cell_alarm_run *run);
    /* A parked socket has frames (cell_wake): deliver them. May come again while it is being done. */
    void (*wake)(void *arg, struct cell *c);
    /* Ends the instance: no JavaScript of it runs any more, all its wires but the parked ones are closed, all
     * held effects are forgotten. why is for its events; borrowed. Answer: cell_stopped. */
    void (*stop)(void *arg, struct cell *c, enum cell_stop cause, struct cd_str why);
    /* Memory is short and cells have gone since the last call, or more have gone than are left: gives back
     * what they left. May take as long as a collection of garbage does. NULL: nothing can be given back. */
    void (*shrink)(void *arg);
};

/* Answers of the code. why NULL: it runs. Else the constructor failed: the calls that wait are closed with
 * the text, and the cell goes (no stop is called). */
void cell_started(struct cell *c, const char *why);
void cell_alarm_done(struct cell *c, enum cell_alarm_end end);
void cell_stopped(struct cell *c);

/* ---- A cell, for its code ---- */

struct io *cell_io(const struct cell *c);
struct cell_shard *cell_shard_of(const struct cell *c);
struct cd_str cell_scope(const struct cell *c);
struct cd_str cell_script(const struct cell *c); /* Of the first call; empty: none yet. */
struct cd_str cell_name(const struct cell *c); /* As far as a caller, or the database, told it; else empty. */
uint64_t cell_epoch(const struct cell *c);
struct db *cell_db(const struct cell *c);
struct storage *cell_storage(const struct cell *c);
void cell_set_user(struct cell *c, void *user); /* A pointer for the code; NULL at first. */
void *cell_user(const struct cell *c);

/* Resets the cell: every event of it fails with the reason, what is not committed is dropped, the next event
 * starts a new instance. Safe from inside any call of the code; stop comes from the loop. */
void cell_abort(struct cell *c, struct cd_str reason);
/* A pin keeps the cell resident: an event, a stream, a regular or an outbound socket. Wires that are open
 * (and not parked), held outputs and a running alarm do so by themselves. */
void cell_pin(struct cell *c);
void cell_unpin(struct cell *c);
/* A further request. False: the cell has as many as it may (CELLD_MAX_CELL_REQUESTS), or the node's log has
 * more to prove than it may (log_feed_full); refuse with CELL_OVERLOAD_TEXT. In the second case alarms and
 * what comes over wires whose call was served, messages of sockets above all, wait. */
CD_MUST_USE bool cell_request_begin(struct cell *c);
void cell_request_end(struct cell *c);
#define CELL_OVERLOAD_TEXT "cell overload: admission refused"
#define CELL_CAPACITY_TEXT                                                                                   \
    "CapacityExhausted: the node had no room for the cell within the operation deadline"

/* ---- Parked sockets (cell/sockets.h is theirs) ---- */

/* Something waits for this cell's code (a frame of a parked socket): it is made resident when it is not, is
 * not evicted before code.wake was called, and code.wake comes. Safe in any phase. */
void cell_wake(struct cell_shard *s, struct cd_str scope);
/* What sockets keep for a scope while no instance is there; the record of the cell stays as long as it is not
 * NULL. Not owned. */
void cell_set_parked(struct cell_shard *s, struct cd_str scope, void *parked);
void *cell_parked(struct cell_shard *s, struct cd_str scope); /* NULL: nothing. */

/* ---- A shard ---- */

/* What all loops of a node share to find the cells: made before they run, freed after they ended. */
struct cell_router *cell_router_new(unsigned loops);
void cell_router_free(struct cell_router *r);

struct cell_limits {
    unsigned resident_max; /* Of this shard: the node's CELLD_MAX_RESIDENT_CELLS divided by its shards. */
    unsigned activations_max; /* The same of CELLD_ACTIVATIONS. */
    unsigned requests_max; /* CELLD_MAX_CELL_REQUESTS. */
    unsigned evictions_max; /* 4. */
    uint64_t operation_ns; /* CELLD_OPERATION_DEADLINE_MS. */
    uint64_t recovery_retry_ns; /* CELLD_RECOVERY_RETRY_MS; doubles up to 5 s after some. */
    unsigned recovery_retries; /* CELLD_RECOVERY_RETRIES: then the calls that wait fail. */
    uint64_t proof_ns; /* CELLD_LTX_DURABILITY_TIMEOUT_SECS. */
    uint64_t idle_ns; /* CELLD_IDLE_EVICT_S; 0: off. */
    int64_t alarm_resident_ms; /* CELLD_ALARM_RESIDENT_MS. */
    bool verify_local; /* CELLD_VERIFY_LOCAL. */
    uint32_t page_size; /* Of new databases; 0: DB_PAGE_SIZE. For tests. */
    struct ltx_keep keep; /* When chains are shortened, and what of them goes. */
    unsigned compactions_max; /* Attempts of the whole node at that: CELLD_LTX_COMPACTIONS. */
    size_t image_step; /* Read of an image between two turns; 0: 1 MiB. For tests. */
    uint64_t cache_bytes; /* Of kept snapshots; this shard's part of CELLD_LOCAL_CACHE_MAX_BYTES. 0: none. */
};
struct cell_limits cell_limits_default(unsigned shards, unsigned cpus, unsigned fd_limit);

struct cell_shard_opts {
    struct io *io; /* Of the shard; io_bucket(io) is the fleet's bucket. */
    struct cell_router *router;
    const struct cell_code *code; /* Borrowed, with arg, until the shard is closed. */
    void *code_arg;
    const struct fleet_self *self; /* Borrowed. */
    struct log *log; /* The shard opens its own feed. */
    const char *data_dir; /* Absolute; cells live in its folder "cells". Borrowed. */
    struct log_folder *folder;
    struct cell_limits limits;
};

/* From now on calls that are routed to this loop find it. */
struct cell_shard *cell_shard_new(const struct cell_shard_opts *opts);
/* Refuses new work, lets running events end until deadline_ns (io_now_ns time), stops every cell, proves and
 * folds what they wrote, keeps their files. Then done, and the shard is freed. */
void cell_shard_close(struct cell_shard *s, uint64_t deadline_ns, struct io_op *op, io_done_fn *done);
/* The node may not serve any more (fleet.md 4.2): everything fails, nothing is written, no call comes in. */
void cell_shard_fence(struct cell_shard *s, struct cd_str why);
/* For the unwinding of a crash, also while s closes (with the same op): a fence, and s is freed when its code
 * and its flows are gone. op may be NULL. */
void cell_shard_unwind(struct cell_shard *s, struct io_op *op, io_done_fn *done);

/* An alarm may be due (a wake entry, another loop says so): the cell's owner looks. From any loop. */
void cell_wake_scope(struct cell_router *r, struct io *from, struct cd_str scope);

/* An object of a cell was stored by the folder (log/fold.h): its owner looks whether its chain has become too
 * long. From any loop. */
void cell_folded(struct cell_router *r, struct io *from, struct cd_str scope, uint64_t epoch,
                 uint64_t max_txid, uint64_t bytes);

/* ---- Looking ---- */

struct cell_view {
    struct cd_str scope; /* Borrowed for the call. */
    const char *phase; /* "resident", "restoring", ... fleet.md 4.3. */
    uint64_t epoch;
    unsigned requests;
    bool active;
    uint64_t idle_ns;
    uint64_t
        proven_txid; /* This much of epoch is proven, or more; 0: nothing of this residence is known to be. */
};
/* What it takes to shed cells, and what a scaler reads: counted, so that asking costs nothing. */
struct cell_tally {
    uint64_t occupied; /* Cells with a slot. */
    uint64_t leaving; /* Of these, on their way out. */
    uint64_t resident; /* With code in memory. */
    uint64_t idle; /* Of these, not active. */
    uint64_t activating, activation_waiting; /* With a permit, and waiting for one. */
    uint64_t capacity_waiting; /* With a permit, and waiting for a slot. */
    uint64_t owned; /* Cells whose record names this node, in memory or not. */
    uint64_t inventoried; /* Shards: 1 when owned has those of earlier processes, too (fleet.md 9.5). */
    /* Since the start: */
    uint64_t handed_off, handoff_failed; /* Cells that another node took; that nobody took. */
    uint64_t rebalanced, rebalance_failed; /* Of these, for even shares (fleet.md 9.9). */
    uint64_t stops; /* Of code in cells. */
    uint64_t route_refreshes; /* Looks that found a cell at another node. */
    uint64_t published; /* Rows that are proven. */
    uint64_t shed; /* Let go of because memory was short. */
};
struct cell_tally cell_shard_tally(const struct cell_shard *s);
void cell_tally_add(struct cell_tally *to, const struct cell_tally *t);

/* What the control loop says of memory (cell/keeper.h). */
struct cell_press {
    bool engaged; /* Memory is short: no cell comes in. */
    bool release; /* Cells that go give up their ownership too (CELLD_PRESSURE_OWNERSHIP). */
    uint64_t floor; /* Idle cells go while more than these have a slot and are not on their way out. */
};
void cell_shard_press(struct cell_shard *s, const struct cell_press *p);

/* Begins to hand all cells of the shard to other nodes until until_ns, at most window at a time
 * (fleet.md 9.2, pace.h): no cell is claimed any more. Again: nothing. */
void cell_shard_drain(struct cell_shard *s, unsigned window, uint64_t until_ns);
struct cell_drained {
    uint64_t left; /* Cells that are this node's, or are on their way to it or away. */
    uint64_t handed; /* Taken by others. */
};
struct cell_drained cell_shard_drained(const struct cell_shard *s);

struct cell_counts {
    unsigned known, resident, activating, waiting; /* Cells; waiting: for a permit or a slot. */
    uint64_t held; /* Effects behind output gates. */
};
/* In order of scope, from the first one behind after. each returns false to end. */
void cell_shard_each(struct cell_shard *s, struct cd_str after,
                     bool (*each)(void *arg, const struct cell_view *v), void *arg);
struct cell_counts cell_shard_counts(const struct cell_shard *s);
/* Evicts a cell that is idle; done hears NULL (it is out of memory) or the reason of fleet.md 4.8, a literal.
 * It may come from inside the call. */
void cell_evict(struct cell_shard *s, struct cd_str scope, void (*done)(void *arg, const char *reason),
                void *arg);

#endif
