/* tests/cell/rig.h: a simulated node with a control loop and two shards, cells that are C actors, and callers
 * on the control loop; or two nodes, with the callers on the first. One rig at a time. */
#ifndef CELL_RIG_H
#define CELL_RIG_H

#include "cell/cell.h"
#include "cell/fake.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define RIG_LOOPS 3
#define RIG_CALLS_MAX 2048

/* A caller's end. */
struct call {
    struct cell_wire *wire;
    char scope[256], first[64];
    char got[256]; /* All that came, each followed by a space. */
    unsigned messages;
    bool closed, overloaded, retryable, reset;
    char why[160];
    bool sent_close;
    unsigned drained; /* So often its end was told that it is not full any more. */
};

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct cell_router *router;
    struct cell_shard *shard[RIG_LOOPS];
    /* Of rig_open_two: the node "m", and what connects both. */
    struct rig_peer {
        struct sim_node *node;
        struct cell_router *router;
        struct cell_shard *shard[RIG_LOOPS];
    } other;
    unsigned dials;
    struct cell_limits limits;
    struct call call[RIG_CALLS_MAX];
    unsigned calls;
    /* What the actors are to do, and did. */
    const char *start_fails; /* The constructor throws this. */
    bool start_hangs, stop_late, alarm_hangs, alarm_aborts;
    unsigned alarm_fails; /* So many runs fail. */
    size_t longest; /* Message that came. */
    unsigned filled; /* Messages of rig_fill that came. */
    void *deaf; /* Who takes nothing, by the command. */
    unsigned starts, stops[4], alarms, wakes, alive, shrinks;
    struct cell_alarm_run last_alarm;
    uint64_t last_alarm_ns;
    struct cell *last; /* The cell that started last. */
    bool closed; /* All shards. */
    unsigned shards_closed;
    char evicted[64]; /* What the last rig_evict came to. */
};
extern struct rig rig;

void rig_open(void); /* Fakes are reset, the node is up. */
void rig_open_with(const struct sim_opts *opts);
void rig_open_two(void); /* Every cell is m's (fake.owner). */
void rig_free(void); /* The node's shards close first; what is left is a leak. */
void rig_crash(void); /* And all callers with it; the same disk and bucket. */
void rig_restart(void);

/* Commands of an actor: "get", "add N" (both answer the value), "put N" (no answer), "alarm MS" (from now;
 * answers "ok"), "quiet" (sets the alarm without an answer), "hang" (no answer), "end" (closes), "abort WHY",
 * "served", "park", "deaf" (takes nothing until rig_hear), "enter", "leave", "call SCOPE" (adds 1 there,
 * through its own gate). */
struct call *rig_call(const char *scope, const char *first);
void rig_send(struct call *c, const char *message);
void rig_fill(struct call *c, size_t len); /* A message that means nothing. */
void rig_hear(void);
void rig_hang_up(struct call *c);
void rig_run(unsigned ms);
/* A call that is answered, or closed, within a minute; then it is hung up. */
const char *rig_ask(const char *scope, const char *message);
const char *rig_phase(const char *scope);
struct cell_shard *rig_shard_of(const char *scope);
void rig_evict(const char *scope); /* And a run until it answered. */
void rig_close_shards(unsigned deadline_ms); /* Runs until they are closed. */
void rig_close_other(void); /* The shards of m, at once. */
/* Runs fn on the loop of the scope. */
void rig_on(const char *scope, void (*fn)(struct io *io, void *arg), void *arg);

#endif
