/* cell/tunnel.h: the streams between nodes over which calls of cells go: fleet.md 10.4.
 *
 * A tunnel is one stream for all calls that one node makes of cells of another; tunnel_frame.h is what goes
 * over it. Tunnels live on the control loop. How a stream is had, and who may have one, is the matter of
 * whoever gives it (fleet/peer.h in a node). */
#ifndef CELL_TUNNEL_H
#define CELL_TUNNEL_H

#include "base/buf.h"
#include "io/io.h"

struct cell_router;
struct cell_tunnels;
struct fleet_authority;
struct fleet_node;

/* A stream to a session. */
struct cell_dial {
    struct io *io;
    struct cd_str target, addr; /* In: "node/generation", and where its lease says it listens. */
    struct io_stream stream; /* Out */
    struct cd_buf rest; /* Out: what has come on it already. The caller's to free. */
    char why[200]; /* Out: for people, when there is none. */
};

struct cell_tunnels_opts {
    struct io *io; /* The control loop. */
    const struct fleet_authority *authority; /* Borrowed. What cells say leaves while it lasts (S4). */
    /* In a fiber, which may be cancelled. IO_OK: stream is open and the caller's. */
    int (*dial)(void *arg, struct cell_dial *d);
    void *arg;
};

/* Made before the loops run and freed after they ended, before the router: from now on cells that other nodes
 * have are called there. */
struct cell_tunnels *cell_tunnels_new(struct cell_router *r);
void cell_tunnels_free(struct cell_tunnels *t); /* NULL is fine. */
/* On the control loop, as soon as this node has a session. Before it calls of other nodes' cells wait. */
void cell_tunnels_start(struct cell_tunnels *t, const struct cell_tunnels_opts *o);
/* The same over the peer calls of a node that has just been started: the endpoint, and dialing. */
void cell_tunnels_join(struct cell_tunnels *t, struct io *io, struct fleet_node *n);
/* In a fiber. A stream that another node asked for: it is ours from now on, and rest (emptied) is what came
 * behind. When we are stopping, the other node hears that none of its calls started, for a second at most. */
void cell_tunnels_accept(struct cell_tunnels *t, struct io *io, struct io_stream *stream,
                         struct cd_buf *rest);
/* When the shards are closed: sends what is left to send, waits for the calls that are left, for a second at
 * most, and closes all. at_once: of a crash. done comes when nothing is open. Once; also when it was never
 * started. */
void cell_tunnels_stop(struct cell_tunnels *t, struct io *io, bool at_once, struct io_op *op,
                       io_done_fn *done);

#endif
