/* tests/fleet/town.h: whole nodes (fleet/node.h) over one bucket, each with one actor that claims a cell,
 * restores it, writes rows through the node log and takes what is proven for acknowledged. Observers know the
 * truth: each row names the one that it was written upon, so an acknowledged row has to be an ancestor of
 * whatever anybody restores later (S2), and epochs of the record only rise (S6). */
#ifndef FLEET_TOWN_H
#define FLEET_TOWN_H

#include "base/rng.h"
#include "fleet/node.h"
#include "http/server.h"
#include "io_sim/sim_store.h"
#include "log/feed.h"
#include "log/restore.h"
#include "ltx/rig.h"

#define TOWN_NODES 3u
#define TOWN_ROWS 4096u
#define TOWN_TTL_MS 6000u

struct town;

/* One process after another on one machine. */
struct town_node {
    struct town *town;
    struct sim_node *sim;
    const char *id;
    bool sole;
    bool configured;
    /* Of this life. */
    struct fleet_node *node;
    struct http_server *internal; /* NULL: no followers in this town. */
    char addr[64];
    struct log_feed *feed;
    struct io_fiber *actor;
    struct io_op closing;
    bool leaving; /* The actor ends: the process stops, or dies. */
    bool ready, halted;
    /* Of all. */
    unsigned lives, readies, fences, refused, stops, restores, claims, acks, hints;
    char why[256]; /* Of the last halt, refusal or failed restore. */
    uint64_t ready_ns; /* When it was ready last. */
};

struct town {
    struct sim *sim;
    struct cd_rng rng;
    struct ltx_zstd *zstd;
    struct town_node node[TOWN_NODES];
    unsigned parent[TOWN_ROWS]; /* By row; 0: none. */
    unsigned rows;
    unsigned acked; /* The newest acknowledged row; 0: none. */
    uint64_t epoch; /* Of the record. */
    bool followers; /* Set after town_open: nodes follow each other's logs. */
    bool lossy; /* Acknowledged rows may be lost now: what is restored next is what counts. */
    bool steady; /* Set after town_open: an activation goes on, and nothing is folded meanwhile. */
    bool calm; /* Processes that fenced are not started again. */
    bool quiet; /* Nobody writes. */
};

void town_open(struct town *t, uint64_t seed);
/* Adds the machine of node[i]; its first process starts. */
void town_start(struct town *t, unsigned i, const char *host, const char *id);
void town_close(struct town *t);
/* The process ends in order (fleet.md 9.3), then the next one starts. */
void town_restart(struct town_node *n);
/* It is killed; a supervisor starts the next one after so long. */
void town_kill(struct town_node *n, uint64_t after_ns);
bool town_acked_more(void *arg); /* struct town_node: its actor got an acknowledgement in this life. */
bool town_ready(void *arg);

#endif
