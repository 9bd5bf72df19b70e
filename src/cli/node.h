/* cli/node.h: how a command that runs loops gets them. main puts the real system under it; tests another one.
 */
#ifndef CLI_NODE_H
#define CLI_NODE_H

#include "base/event.h"
#include "io/io.h"

#define CLI_SHARDS_MAX 256

struct cli;

/* All borrowed for the call. */
struct cli_node {
    unsigned shards; /* Loops besides the control loop, at most CLI_SHARDS_MAX. */
    struct cd_str bucket; /* A bucket URL (operations.md 3.1); empty: none. */
    struct cd_str dev_store; /* Folder of the embedded store, in place of a bucket; empty: none. */
    struct cd_str log_filter;
    enum cd_event_format log_format;
    void (*entry)(struct io *io, void *arg); /* The first callback of every loop, on its thread. */
    void (*signaled)(struct io *io, int signal,
                     void *arg); /* SIGINT, SIGTERM, SIGHUP, on the control loop. */
    void *arg;
    uint64_t *fd_limit; /* Out, before entry: how many files the process may have open. */
};

/* Runs the loops until each was stopped and nothing is pending: 0. Else it did not start, and c->error says
 * why. Blocks. */
typedef int cli_node_fn(struct cli *c, const struct cli_node *n);

/* For what no orderly end gets past: writes out what was logged, as far as that takes no time, and ends the
 * process with the code. On the control loop. */
typedef void cli_give_up_fn(struct io *control, int code);

/* Opens the embedded store of a folder for a control loop that runs without one: it is io_bucket(io) from now
 * until the loops end. Once per run, on the loop. 0, or c->error says why not. */
typedef int cli_store_fn(struct cli *c, struct io *io, struct cd_str dev_store);

#endif
