/* tests/fleet/peers.h: a node that peers can call and one that calls, on the simulator. */
#ifndef TESTS_FLEET_PEERS_H
#define TESTS_FLEET_PEERS_H

#include "fleet/probe.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

#define PEERS_PORT 82

struct peers {
    struct sim *sim;
    struct sim_link link;
    struct sim_node *called, *caller;
    struct io *io; /* Of the caller. */
    struct fleet_secret secret;
    char generation; /* The called process's, as a digit; each life has the next one. */
    const char *node; /* The name under which the called process knows itself; NULL: "b". */
    bool closed; /* It knows no secret. */
    bool starting; /* It is not ready. */
    /* Of the called process. */
    struct http_server *http;
    struct fleet_peer_server *server;
    struct fleet_key key; /* Of its life. */
    struct fleet_probed probed;
    struct io_op stop_http, stop_server;
    unsigned runs; /* Endpoints that ran, over all lives. */
    struct cd_buf bodies; /* Of echo and deny, one behind the other. */
    struct cd_buf never; /* The test's. */
    void *arg; /* The test's. */
    struct cd_buf heard; /* What streams of /peer/tunnel got. */
    /* Of the caller. */
    struct fleet_peer_client *client;
    struct fleet_peer peer; /* b, of the first life. */
    void (*flow)(struct peers *p);
    bool flow_done;
    struct io_op stop_client;
};

/* Routes of the called node: POST /peer/echo answers 200 with source and body; POST /peer/again allows any
 * process; POST /peer/slow answers after 2 s, /peer/deny with 409; /peer/tunnel echoes in capitals. */
void peers_open(struct peers *p, uint64_t seed);
void peers_flow(struct peers *p, void (*flow)(struct peers *p));
void peers_close(struct peers *p);

/* In the flow: one call with a deadline of 10 s. */
int peers_call(struct peers *p, struct fleet_peer_call *call, const char *target, const char *body);
/* How often an endpoint ran with that body, which ends in ';'. */
unsigned peers_runs_of(const struct peers *p, const char *body);
/* The called process is killed, and the next one starts soon. Outside of flows. */
void peers_kill(struct peers *p);
/* The called process is killed and the next one starts. In the flow. */
void peers_restart(struct peers *p);

#endif
