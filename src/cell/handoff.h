/* cell/handoff.h: cells go from one node to another, on the control loop of both. fleet.md 9.2, 10.5.
 *
 * A node that stops gives back what it owns and asks a peer to adopt each cell, so that the next call finds
 * an owner at once instead of waiting for a lease to end. The adopter answers when the record names it and it
 * answers for the alarm; so whatever gets lost on the way, somebody does. */
#ifndef CELL_HANDOFF_H
#define CELL_HANDOFF_H

#include "base/str.h"
#include "io/io.h"

struct cell_handoff;
struct cell_router;
struct fleet_node;
struct store_load;

struct cell_handoff_opts {
    struct io *io; /* The control loop. */
    struct cell_router *router; /* Borrowed, with the node, until cell_handoff_free. */
    struct fleet_node *node; /* Just started. */
    uint64_t ttl_ms; /* CELLD_TTL_MS; 0: cells are handed off only, not placed and balanced (a node without
                        others). */
    uint64_t interval_ms; /* CELLD_REBALANCE_INTERVAL_MS */
    uint64_t activations; /* CELLD_ACTIVATIONS */
    void (*load)(void *arg,
                 struct store_load *load); /* As of fleet_node_opts: a node short of memory takes none. */
    void *arg;
};
/* From now on peers may hand cells to this node. */
struct cell_handoff *cell_handoff_new(const struct cell_handoff_opts *o);

/* In a fiber, once: hands all cells of this node to its peers, window of them at a time, until none is left,
 * nobody takes any for too long, or the time of total_ms (CELLD_SHUTDOWN_TOTAL_MS) since start_ns is over.
 * Returns at once when there is nobody to take them. The shards are to be closed next. */
void cell_handoff_drain(struct cell_handoff *h, uint64_t start_ns, uint64_t total_ms, unsigned window);
/* How that goes, for people. On the control loop. */
struct cell_handoff_view {
    bool draining; /* Else the rest says nothing. */
    int64_t started_ms;
    const char *token; /* "waiting", "held", "none" */
    uint64_t no_progress_ms_left, total_ms_left;
};
struct cell_handoff_view cell_handoff_view(const struct cell_handoff *h);
void cell_handoff_free(struct cell_handoff *h); /* When the node has stopped and no shard is left. */

/* An offer of a peer, in a fiber. For the endpoint, and for tests. */
struct cell_adopt {
    struct cd_str scope;
    uint64_t epoch; /* The donor released it at. */
    bool armed; /* As the donor says; else it does not answer for an alarm. */
    int64_t due_ms;
    uint64_t inst_seq;
    char token[IO_TOKEN_MAX]; /* Of the record as it was released; empty: it is read. Out: of ours. */
    bool wanted; /* Calls wait for it: it is activated at once. */
    /* Out */
    uint64_t taken; /* Ours. */
    const char *reason; /* Why not; a literal. */
};
/* The status of the answer: 200: it is ours, and so is its alarm. 409: refused; 503: not certain. */
CD_MUST_USE int cell_handoff_adopt(struct cell_handoff *h, struct cell_adopt *a);

#endif
