/* fleet/node_internal.h: the state of a node, for node.c (the start) and node_stop.c. */
#ifndef FLEET_NODE_INTERNAL_H
#define FLEET_NODE_INTERNAL_H

#include "fleet/data_dir.h"
#include "fleet/ensemble.h"
#include "fleet/finish.h"
#include "fleet/key.h"
#include "fleet/node.h"
#include "fleet/probe.h"
#include "fleet/secret.h"
#include "fleet/sweep.h"
#include "fleet/waker.h"
#include "log/fold.h"
#include "log/log.h"
#include "log/recover.h"

/* A fiber that does one pass after another. */
struct fleet_task {
    struct fleet_node *node;
    uint64_t every_ns;
    int (*pass)(struct fleet_node *n);
    struct io_fiber *fiber; /* NULL: ended. */
};

enum { FLEET_TASKS_MAX = 5 };

struct fleet_node {
    struct fleet_node_opts o;
    struct io_bucket *bucket;
    char *data_dir, *addr; /* owned; o has them as texts */
    bool generated_id;
    struct fleet_self self;
    struct fleet_authority authority;
    struct fleet_key key;
    struct fleet_data_dir data;
    struct fleet_secret secret; /* All zero when sole. */
    struct fleet_probed probed;
    struct fleet_peer_server *peers;
    struct fleet_peer_client *caller; /* NULL: not yet, or sole. */
    struct fleet_ensemble ensemble; /* Its follower is NULL when sole. */
    /* Made by the start in this order, ended by the stop in the other. NULL: not there. */
    struct log_recoverer *recoverer;
    struct fleet_finisher finisher;
    struct fleet_lease *lease;
    struct log *log;
    struct log_folder *folder;
    struct fleet_sweep sweep;
    struct fleet_waker waker;
    struct fleet_task task[FLEET_TASKS_MAX];
    unsigned tasks;
    struct io_fiber *starting; /* NULL: ended. */
    struct io_signal changed; /* The lease was acquired, a fiber ended. */
    struct io_op *stop; /* Of fleet_node_stop. */
    struct io_op closing; /* Of what is being closed. */
    bool ready, halted, sealed, peers_stopped, caller_stopped, lease_stopped, over;
};

/* Tells once why this node cannot go on. */
void fleet_node_halt(struct fleet_node *n, enum fleet_halt how, const char *why);

#endif
