/* cell/tunnel_peers.c: the streams of tunnels, from the internal listeners of the fleet. fleet.md 10.4. */
#include <stdio.h>

#include "cell/tunnel.h"
#include "fleet/node.h"
#include "fleet/peer.h"

#define PATH "/peer/tunnel"
#define PROTOCOL "celld-tunnel"
#define DIAL_NS IO_SEC(5)

static void answer(void *arg, struct fleet_peer_request *r)
{
    (void)arg;
    r->status = 101;
}

static void upgraded(void *arg, struct fleet_peer_request *r, struct io_stream *stream, struct cd_buf *rest)
{
    cell_tunnels_accept(arg, r->io, stream, rest);
}

static int dial(void *arg, struct cell_dial *d)
{
    struct fleet_peer_client *caller = fleet_node_caller(arg);
    struct fleet_peer to = {0};
    struct cd_str node, generation;
    if (caller == NULL || !store_session_split(d->target, &node, &generation)) {
        (void)snprintf(d->why, sizeof d->why, "this node calls no others");
        return IO_REFUSED;
    }
    (void)snprintf(to.node, sizeof to.node, "%.*s", (int)node.len, node.ptr);
    (void)snprintf(to.generation, sizeof to.generation, "%.*s", (int)generation.len, generation.ptr);
    (void)snprintf(to.addr, sizeof to.addr, "%.*s", (int)d->addr.len, d->addr.ptr);
    struct fleet_peer_call call = {.peer = &to,
                                   .target = CD_STR(PATH),
                                   .upgrade = CD_STR(PROTOCOL),
                                   .deadline_ns = io_now_ns(d->io) + DIAL_NS};
    int rc = fleet_peer_upgrade(caller, &call, &d->stream, &d->rest);
    (void)snprintf(d->why, sizeof d->why, "%s", call.why);
    cd_buf_deinit(&call.answer);
    return rc;
}

void cell_tunnels_join(struct cell_tunnels *t, struct io *io, struct fleet_node *n)
{
    fleet_peer_server_route(fleet_node_peers(n), &(struct fleet_peer_route){.method = "POST",
                                                                            .path = PATH,
                                                                            .handle = answer,
                                                                            .upgrade = PROTOCOL,
                                                                            .upgraded = upgraded,
                                                                            .arg = t});
    cell_tunnels_start(t, &(struct cell_tunnels_opts){
                              .io = io, .authority = fleet_node_authority(n), .dial = dial, .arg = n});
}
